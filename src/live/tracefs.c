/*
 * live/tracefs.c - the counters of live/events.h from an instance in tracefs, by libtracefs and libtraceevent; without these
 * libraries there are no events, and that is said.
 *
 * What a number in an event means is asked of the kernel that runs: names of results stand in the event's format, those of
 * migratetypes in the order of /proc/pagetypeinfo. Buffers hold BUFFERS_BYTES on all CPUs together; what they lose is counted.
 */
#include "live/events.h"

#include <errno.h>

const char fl_live_events_names[] = "extfrag_*, nonmovable_steals, compaction_*, kcompactd_*, khugepaged_scan_*";

#ifndef FL_HAVE_TRACEFS

static int no_library(struct fl_error *reterr)
{
	return fl_error_set(reterr, FL_ERROR_LACKING, -ENOSYS, "this fraglab was built without libtracefs-dev and libtraceevent-dev");
}

int fl_live_events_probe(struct fl_error *reterr)
{
	return no_library(reterr);
}

int fl_live_events_open(struct fl_live_events **ret, struct fl_error *reterr)
{
	return no_library(reterr);
}

void fl_live_events_drain(struct fl_live_events *events)
{
}

void fl_live_events_read(struct fl_live_events *events, struct fl_live_counts *to)
{
}

uint64_t fl_live_events_lost(struct fl_live_events *events)
{
	return 0;
}

void fl_live_events_close(struct fl_live_events *events)
{
}

void fl_live_events_remove_left(void)
{
}

#else

#include <ctype.h>
#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <traceevent/event-parse.h>
#include <traceevent/kbuffer.h>
#include <tracefs/tracefs.h>
#include <unistd.h>


#define INSTANCE "fraglab-live"
#define PLACE "/sys/kernel/tracing"
#define TRACEFS_MAGIC_NUMBER 0x74726163
#define BUFFERS_BYTES (32u << 20)
#define BUFFER_CPU_BYTES (4u << 20) /* at most: some 80000 events between two drains */
#define ORDERS_MAX 16
#define TYPES_MAX 8
#define RESULTS_MAX 40
#define CPUS_MAX 1024
#define DAEMONS_MAX 256

/* ---- what is counted ---- */

enum actor { DIRECT, KSWAPD, KCOMPACTD, KHUGEPAGED, ACTORS };
static const char *const actor_words[ACTORS] = { "direct", "kswapd", "kcompactd", "khugepaged" };

enum kind { EXTFRAG, TRY, SUITABLE, FINISHED, BEGIN, END, DEFERRED, DEFER, DEFER_RESET, MIGRATEPAGES, WAKEUP_KCOMPACTD,
	    KCOMPACTD_WAKE, SCAN_PMD, KINDS };

/* An event, its fields that are read, and the one whose values have names. */
static const struct kind_of {
	const char *system, *name, *fields[4], *result;
} kinds[KINDS] = {
	[EXTFRAG] = { "kmem", "mm_page_alloc_extfrag",
		      { "alloc_migratetype", "fallback_migratetype", "fallback_order", "change_ownership" }, NULL },
	[TRY] = { "compaction", "mm_compaction_try_to_compact_pages", { NULL }, NULL },
	[SUITABLE] = { "compaction", "mm_compaction_suitable", { "ret" }, "ret" },
	[FINISHED] = { "compaction", "mm_compaction_finished", { "ret" }, "ret" },
	[BEGIN] = { "compaction", "mm_compaction_begin", { "sync" }, NULL },
	[END] = { "compaction", "mm_compaction_end", { "status", "sync" }, "status" },
	[DEFERRED] = { "compaction", "mm_compaction_deferred", { NULL }, NULL },
	[DEFER] = { "compaction", "mm_compaction_defer_compaction", { NULL }, NULL },
	[DEFER_RESET] = { "compaction", "mm_compaction_defer_reset", { NULL }, NULL },
	[MIGRATEPAGES] = { "compaction", "mm_compaction_migratepages", { "nr_migrated", "nr_failed" }, NULL },
	[WAKEUP_KCOMPACTD] = { "compaction", "mm_compaction_wakeup_kcompactd", { NULL }, NULL },
	[KCOMPACTD_WAKE] = { "compaction", "mm_compaction_kcompactd_wake", { NULL }, NULL },
	[SCAN_PMD] = { "huge_memory", "mm_khugepaged_scan_pmd", { "status" }, "status" },
};

/* One kind on this kernel. */
struct source {
	struct tep_event *event; /* NULL: this kernel has none */
	struct tep_format_field *fields[4];
	struct {
		long long value;
		char word[40];
	} results[RESULTS_MAX];
	unsigned int results_count;
	uint64_t count[ACTORS][2][RESULTS_MAX + 1]; /* [async, sync]; results without a name are the last */
	uint64_t sum[ACTORS][2];                    /* of the first two fields, where they are amounts */
};

struct fl_live_events {
	struct tracefs_instance *instance;
	struct tep_handle *tep;
	struct kbuffer *kbuf;
	struct tracefs_cpu *cpus[CPUS_MAX];
	unsigned int cpus_count;
	void *page;
	size_t page_bytes;
	struct source sources[KINDS];
	char types[TYPES_MAX][24]; /* migratetypes by number */
	unsigned int types_count;
	uint64_t extfrag[TYPES_MAX][TYPES_MAX][ORDERS_MAX][2];
	struct {
		int pid;
		enum actor actor;
	} daemons[DAEMONS_MAX];
	unsigned int daemons_count;
};

/* ---- the place ---- */

static bool is_mounted(void)
{
	struct statfs fs;

	return statfs(PLACE, &fs) == 0 && (unsigned long)fs.f_type == TRACEFS_MAGIC_NUMBER;
}

/* Are mounts of ours ours alone? So they are when the process that started us has others. */
static bool has_own_mounts(void)
{
	struct stat ours, theirs;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", (int)getppid());
	return stat("/proc/self/ns/mnt", &ours) == 0 && stat(path, &theirs) == 0 && ours.st_ino != theirs.st_ino;
}

static bool kernel_has_tracefs(void)
{
	char line[128];
	FILE *file = fopen("/proc/filesystems", "re");
	bool found = false;

	while (file && !found && fgets(line, sizeof(line), file))
		found = strstr(line, "\ttracefs\n") != NULL;
	if (file)
		fclose(file);
	return found;
}

int fl_live_events_probe(struct fl_error *reterr)
{
	if (!kernel_has_tracefs())
		return fl_error_set(reterr, FL_ERROR_LACKING, -ENODEV, "this kernel has no tracefs");
	if (geteuid() != 0 || (is_mounted() && access(PLACE "/instances", W_OK)))
		return fl_error_set(reterr, FL_ERROR_LACKING, -EACCES, "tracefs cannot be used (root can)");
	if (access(PLACE, F_OK))
		return fl_error_set(reterr, FL_ERROR_LACKING, -ENOENT, "there is no " PLACE);
	return 0;
}

static int make_place(struct fl_error *reterr)
{
	int error = fl_live_events_probe(reterr);

	if (error || is_mounted())
		return error;
	if (!has_own_mounts())
		return fl_error_set(reterr, FL_ERROR_LACKING, -EPERM, "tracefs is not mounted on " PLACE ", and mounts cannot be "
				    "made for this run alone");
	if (mount("tracefs", PLACE, "tracefs", MS_NOSUID | MS_NOEXEC | MS_NODEV, NULL) < 0)
		return fl_error_set(reterr, FL_ERROR_LACKING, -errno, "tracefs cannot be mounted: %s", strerror(errno));
	return 0;
}

/* ---- what numbers mean ---- */

/* Names of migratetypes in the order of their numbers: the lines of the first zone. */
static void read_types(struct fl_live_events *e)
{
	FILE *file = fopen("/proc/pagetypeinfo", "re");
	char line[512], zone[32] = "", this_zone[32], type[24];

	while (file && fgets(line, sizeof(line), file) && e->types_count < TYPES_MAX) {
		if (sscanf(line, "Node %*d, zone %31[^,], type %23s", this_zone, type) != 2)
			continue;
		if (zone[0] && strcmp(zone, this_zone))
			break;
		snprintf(zone, sizeof(zone), "%s", this_zone);
		for (char *c = type; *c; c++)
			*c = (char)tolower((unsigned char)*c);
		snprintf(e->types[e->types_count++], sizeof(e->types[0]), "%s", type);
	}
	if (file)
		fclose(file);
}

/* The table of names that the format prints a field with. */
static struct tep_print_flag_sym *symbols_of(struct tep_print_arg *arg, const char *field)
{
	for (; arg; arg = arg->next) {
		if (arg->type == TEP_PRINT_SYMBOL && arg->symbol.field->type == TEP_PRINT_FIELD &&
		    !strcmp(arg->symbol.field->field.name, field))
			return arg->symbol.symbols;
	}
	return NULL;
}

static void read_results(struct source *s, const char *field)
{
	struct tep_print_flag_sym *symbol = symbols_of(s->event->print_fmt.args, field);

	for (; symbol && s->results_count < RESULTS_MAX; symbol = symbol->next) {
		s->results[s->results_count].value = strtoll(symbol->value, NULL, 0);
		snprintf(s->results[s->results_count++].word, sizeof(s->results[0].word), "%s", symbol->str);
	}
}

/* False: this kernel's event is not the one that is known here. */
static bool read_source(struct fl_live_events *e, enum kind kind)
{
	struct source *s = &e->sources[kind];

	s->event = tep_find_event_by_name(e->tep, kinds[kind].system, kinds[kind].name);
	if (!s->event)
		return false;
	for (unsigned int i = 0; i < 4 && kinds[kind].fields[i]; i++) {
		s->fields[i] = tep_find_any_field(s->event, kinds[kind].fields[i]);
		if (!s->fields[i])
			return false;
	}
	if (kinds[kind].result)
		read_results(s, kinds[kind].result);
	return true;
}

/* Kernel threads whose work is named after them. */
static void find_daemons(struct fl_live_events *e)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;

	while (proc && (entry = readdir(proc)) && e->daemons_count < DAEMONS_MAX) {
		char path[300], comm[32] = "";
		FILE *file;

		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		snprintf(path, sizeof(path), "/proc/%s/comm", entry->d_name);
		file = fopen(path, "re");
		if (file && !fgets(comm, sizeof(comm), file))
			comm[0] = '\0';
		if (file)
			fclose(file);
		for (enum actor a = KSWAPD; a < ACTORS; a++) {
			if (strncmp(comm, actor_words[a], strlen(actor_words[a])))
				continue;
			e->daemons[e->daemons_count].pid = (int)strtol(entry->d_name, NULL, 10);
			e->daemons[e->daemons_count++].actor = a;
			break;
		}
	}
	if (proc)
		closedir(proc);
}

/* ---- opening ---- */

static int open_buffers(struct fl_live_events *e, struct fl_error *reterr)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	size_t bytes;

	if (cpus > CPUS_MAX)
		cpus = CPUS_MAX;
	bytes = BUFFERS_BYTES / (size_t)cpus < BUFFER_CPU_BYTES ? BUFFERS_BYTES / (size_t)cpus : BUFFER_CPU_BYTES;
	if (tracefs_instance_set_buffer_size(e->instance, bytes >> 10, -1) < 0)
		return fl_error_set(reterr, FL_ERROR_LACKING, -ENOMEM, "there are no %zu kB for a buffer of trace events", bytes >> 10);
	for (long cpu = 0; cpu < cpus; cpu++) {
		struct tracefs_cpu *one = tracefs_cpu_open(e->instance, (int)cpu, true);

		if (one)
			e->cpus[e->cpus_count++] = one;
	}
	if (!e->cpus_count)
		return fl_error_set(reterr, FL_ERROR_LACKING, -EACCES, "buffers of trace events cannot be read");
	e->page_bytes = (size_t)tracefs_cpu_read_size(e->cpus[0]);
	e->page = fl_xcalloc(1, e->page_bytes);
	e->kbuf = kbuffer_alloc(sizeof(long) == 8 ? KBUFFER_LSIZE_8 : KBUFFER_LSIZE_4,
				tep_is_local_bigendian(e->tep) ? KBUFFER_ENDIAN_BIG : KBUFFER_ENDIAN_LITTLE);
	return e->kbuf ? 0 : fl_error_set(reterr, FL_ERROR_FAILED, -ENOMEM, "no memory for trace events");
}

static int enable(struct fl_live_events *e, struct fl_error *reterr)
{
	unsigned int found = 0;

	for (unsigned int kind = 0; kind < KINDS; kind++) {
		if (!read_source(e, kind) || tracefs_event_enable(e->instance, kinds[kind].system, kinds[kind].name) < 0)
			e->sources[kind].event = NULL;
		else
			found++;
	}
	return found ? 0 : fl_error_set(reterr, FL_ERROR_LACKING, -ENOENT, "this kernel has none of the trace events");
}

static int open_all(struct fl_live_events *e, struct fl_error *reterr)
{
	static const char *const systems[] = { "kmem", "compaction", "huge_memory", NULL };
	int error = make_place(reterr);

	if (error)
		return error;
	tracefs_set_tracing_dir((char *)PLACE);
	fl_live_events_remove_left();
	e->tep = tracefs_local_events_system(PLACE, systems);
	if (!e->tep)
		return fl_error_set(reterr, FL_ERROR_LACKING, -EIO, "formats of trace events cannot be read in " PLACE);
	e->instance = tracefs_instance_create(INSTANCE);
	if (!e->instance)
		return fl_error_set(reterr, FL_ERROR_LACKING, -errno, "no instance can be made in " PLACE ": %s", strerror(errno));
	read_types(e);
	find_daemons(e);
	error = open_buffers(e, reterr);
	return error ? error : enable(e, reterr);
}

int fl_live_events_open(struct fl_live_events **ret, struct fl_error *reterr)
{
	struct fl_live_events *e = fl_xcalloc(1, sizeof(*e));
	int error = open_all(e, reterr);

	if (error)
		fl_live_events_close(e);
	else
		*ret = e;
	return error;
}

/* ---- counting ---- */

static enum actor actor_of(const struct fl_live_events *e, int pid)
{
	for (unsigned int i = 0; i < e->daemons_count; i++)
		if (e->daemons[i].pid == pid)
			return e->daemons[i].actor;
	return DIRECT;
}

static unsigned int result_of(const struct source *s, long long value)
{
	unsigned int i = 0;

	while (i < s->results_count && s->results[i].value != value)
		i++;
	return i < s->results_count ? i : RESULTS_MAX;
}

static void count_extfrag(struct fl_live_events *e, const long long *value)
{
	if (value[0] >= 0 && value[0] < TYPES_MAX && value[1] >= 0 && value[1] < TYPES_MAX && value[2] >= 0 &&
	    value[2] < ORDERS_MAX)
		e->extfrag[value[0]][value[1]][value[2]][value[3] ? 0 : 1]++;
}

static void count_event(struct fl_live_events *e, enum kind kind, enum actor actor, const long long *value)
{
	struct source *s = &e->sources[kind];

	switch (kind) {
	case EXTFRAG:
		count_extfrag(e, value);
		break;
	case END:
		s->count[actor][value[1] != 0][result_of(s, value[0])]++;
		break;
	case BEGIN:
		s->count[actor][value[0] != 0][0]++;
		break;
	case MIGRATEPAGES:
		s->sum[actor][0] += (uint64_t)value[0];
		s->sum[actor][1] += (uint64_t)value[1];
		break;
	default:
		s->count[actor][0][kinds[kind].result ? result_of(s, value[0]) : 0]++;
	}
}

static void take_event(struct fl_live_events *e, void *data, int bytes)
{
	struct tep_record record = { .data = data, .size = bytes };
	int id = tep_data_type(e->tep, &record);

	for (unsigned int kind = 0; kind < KINDS; kind++) {
		struct source *s = &e->sources[kind];
		long long value[4] = { 0 };

		if (!s->event || s->event->id != id)
			continue;
		for (unsigned int i = 0; i < 4 && s->fields[i]; i++) {
			unsigned long long raw = 0;

			tep_read_number_field(s->fields[i], data, &raw);
			value[i] = s->fields[i]->size == 4 ? (int)raw : (long long)raw;
		}
		count_event(e, kind, actor_of(e, tep_data_pid(e->tep, &record)), value);
		return;
	}
}

void fl_live_events_drain(struct fl_live_events *e)
{
	for (unsigned int i = 0; i < e->cpus_count; i++) {
		/* A page at a time, until the buffer is empty; no longer than all its pages take, should others fill it meanwhile. */
		for (size_t pages = BUFFER_CPU_BYTES / e->page_bytes; pages > 0; pages--) {
			unsigned long long when;
			void *data;

			if (tracefs_cpu_read(e->cpus[i], e->page, true) <= 0 || kbuffer_load_subbuffer(e->kbuf, e->page) < 0)
				break;
			for (data = kbuffer_read_event(e->kbuf, &when); data; data = kbuffer_next_event(e->kbuf, &when))
				take_event(e, data, kbuffer_event_size(e->kbuf));
		}
	}
}

/* ---- reading ---- */

/* From the buffers' own statistics. */
uint64_t fl_live_events_lost(struct fl_live_events *e)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; e && i < e->cpus_count; i++) {
		char name[64], *text, *line;

		snprintf(name, sizeof(name), "per_cpu/cpu%u/stats", i);
		text = tracefs_instance_file_read(e->instance, name, NULL);
		for (line = text; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
			unsigned long long n;

			if (sscanf(line, "overrun: %llu", &n) == 1 || sscanf(line, "dropped events: %llu", &n) == 1)
				sum += n;
		}
		free(text);
	}
	return sum;
}

static bool is_listed(const struct fl_live_events *e, unsigned int type)
{
	static const char *const words[] = { "unmovable", "movable", "reclaimable" };

	for (unsigned int i = 0; i < 3 && type < e->types_count; i++)
		if (!strcmp(e->types[type], words[i]))
			return true;
	return false;
}

static void read_extfrag(const struct fl_live_events *e, struct fl_live_counts *to)
{
	static const char *const how_words[] = { "claim", "steal" };
	uint64_t nonmovable_steals = 0;

	for (unsigned int want = 0; want < e->types_count; want++)
		for (unsigned int taken = 0; taken < e->types_count; taken++)
			for (unsigned int order = 0; order < ORDERS_MAX; order++)
				for (unsigned int how = 0; how < 2; how++) {
					uint64_t n = e->extfrag[want][taken][order][how];
					bool regular = want != taken && order <= 10 && is_listed(e, want) && is_listed(e, taken);

					if (how == 1 && strcmp(e->types[want], "movable") && !strcmp(e->types[taken], "movable"))
						nonmovable_steals += n;
					if (n || regular)
						fl_live_counts_addf(to, n, "extfrag_%s_%s_o%u_%s", e->types[want], e->types[taken],
								    order, how_words[how]);
				}
	fl_live_counts_add(to, "nonmovable_steals", nonmovable_steals);
}

/* Counts of one kind as NAME_actor_result, or NAME_actor where results have no names. */
static void read_kind(const struct fl_live_events *e, enum kind kind, unsigned int sync, const char *name,
		      struct fl_live_counts *to)
{
	const struct source *s = &e->sources[kind];

	for (unsigned int actor = 0; s->event && actor < ACTORS; actor++) {
		if (!kinds[kind].result)
			fl_live_counts_addf(to, s->count[actor][sync][0], "%s_%s", name, actor_words[actor]);
		for (unsigned int i = 0; kinds[kind].result && i < s->results_count; i++)
			fl_live_counts_addf(to, s->count[actor][sync][i], "%s_%s_%s", name, actor_words[actor], s->results[i].word);
		if (kinds[kind].result && s->count[actor][sync][RESULTS_MAX])
			fl_live_counts_addf(to, s->count[actor][sync][RESULTS_MAX], "%s_%s_unknown", name, actor_words[actor]);
	}
}

static uint64_t of_all_actors(const struct source *s, unsigned int result)
{
	uint64_t sum = 0;

	for (unsigned int actor = 0; actor < ACTORS; actor++)
		sum += s->count[actor][0][result];
	return sum;
}

/* What only a real kernel has. */
static void read_rest(const struct fl_live_events *e, struct fl_live_counts *to)
{
	const struct source *scan = &e->sources[SCAN_PMD], *moved = &e->sources[MIGRATEPAGES];

	for (unsigned int actor = 0; moved->event && actor < ACTORS; actor++) {
		fl_live_counts_addf(to, moved->sum[actor][0], "compaction_migrated_%s", actor_words[actor]);
		fl_live_counts_addf(to, moved->sum[actor][1], "compaction_migrate_failed_%s", actor_words[actor]);
	}
	if (e->sources[WAKEUP_KCOMPACTD].event)
		fl_live_counts_add(to, "kcompactd_wakeups_asked", of_all_actors(&e->sources[WAKEUP_KCOMPACTD], 0));
	if (e->sources[KCOMPACTD_WAKE].event)
		fl_live_counts_add(to, "kcompactd_wakes", of_all_actors(&e->sources[KCOMPACTD_WAKE], 0));
	for (unsigned int i = 0; scan->event && i < scan->results_count; i++)
		fl_live_counts_addf(to, of_all_actors(scan, i), "khugepaged_scan_%s", scan->results[i].word);
}

void fl_live_events_read(struct fl_live_events *e, struct fl_live_counts *to)
{
	fl_live_events_drain(e);
	if (e->sources[EXTFRAG].event && e->types_count)
		read_extfrag(e, to);
	read_kind(e, TRY, 0, "compaction_try", to);
	read_kind(e, SUITABLE, 0, "compaction_suitable", to);
	read_kind(e, END, 0, "compaction_end_async", to);
	read_kind(e, END, 1, "compaction_end_sync", to);
	read_kind(e, FINISHED, 0, "compaction_finished", to);
	read_kind(e, DEFERRED, 0, "compaction_deferred", to);
	read_kind(e, DEFER, 0, "compaction_defer", to);
	read_kind(e, DEFER_RESET, 0, "compaction_defer_reset", to);
	read_kind(e, BEGIN, 0, "compaction_begin_async", to);
	read_kind(e, BEGIN, 1, "compaction_begin_sync", to);
	read_rest(e, to);
	fl_live_counts_add(to, "trace_events_lost", fl_live_events_lost(e));
}

/* ---- the end ---- */

void fl_live_events_close(struct fl_live_events *e)
{
	if (!e)
		return;
	for (unsigned int i = 0; i < e->cpus_count; i++)
		tracefs_cpu_close(e->cpus[i]);
	kbuffer_free(e->kbuf);
	free(e->page);
	if (e->instance) {
		tracefs_instance_destroy(e->instance);
		tracefs_instance_free(e->instance);
	}
	tep_free(e->tep);
	free(e);
}

/* In a process of its own, whose mounts nobody else sees. Readers of a run that ends may hold the instance for a moment. */
static void remove_instance(void)
{
	if (!is_mounted() && (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
			      mount("tracefs", PLACE, "tracefs", 0, NULL) < 0))
		return;
	for (int tries = 0; tries < 50 && rmdir(PLACE "/instances/" INSTANCE) < 0 && errno == EBUSY; tries++)
		usleep(20000);
}

void fl_live_events_remove_left(void)
{
	pid_t child = fork();

	if (child == 0) {
		remove_instance();
		_exit(0);
	}
	if (child > 0)
		while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
			;
}

#endif
