/*
 * observe/watch.c - samples of the counters of a host, their differences, and a block of text for each interval.
 *
 * compact_* of vmstat count every actor; compact_daemon_* only kcompactd, so the rest is direct compaction (faults,
 * khugepaged, writes to compact_memory). The boost is a figure of each zone that kswapd takes away again, so both its
 * rises and its value are told.
 */
#include "observe/watch.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/bug.h"
#include "observe/extfrag.h"
#include "observe/hostfile.h"
#include "observe/line.h"
#include "observe/procline.h"
#include "observe/zonespan.h"

#define SIZES_MAX 20
#define BAD_SHOWN 8
#define SLICE_NS 100000000u /* how late a Ctrl-C may be noticed */

enum counter {
	C_STALL, C_SUCCESS, C_FAIL, C_MIGRATE_SCANNED, C_FREE_SCANNED, C_ISOLATED, C_WAKE, C_DAEMON_MIGRATE_SCANNED,
	C_DAEMON_FREE_SCANNED, C_FAULT_ALLOC, C_FAULT_FALLBACK, C_COLLAPSE, C_COLLAPSE_FAILED, C_SPLIT, C_SCAN_KSWAPD,
	C_STEAL_KSWAPD, C_SCAN_DIRECT, C_STEAL_DIRECT, C_ALLOCSTALL, COUNTERS
};

static const char *const counter_names[COUNTERS] = {
	[C_STALL] = "compact_stall",
	[C_SUCCESS] = "compact_success",
	[C_FAIL] = "compact_fail",
	[C_MIGRATE_SCANNED] = "compact_migrate_scanned",
	[C_FREE_SCANNED] = "compact_free_scanned",
	[C_ISOLATED] = "compact_isolated",
	[C_WAKE] = "compact_daemon_wake",
	[C_DAEMON_MIGRATE_SCANNED] = "compact_daemon_migrate_scanned",
	[C_DAEMON_FREE_SCANNED] = "compact_daemon_free_scanned",
	[C_FAULT_ALLOC] = "thp_fault_alloc",
	[C_FAULT_FALLBACK] = "thp_fault_fallback",
	[C_COLLAPSE] = "thp_collapse_alloc",
	[C_COLLAPSE_FAILED] = "thp_collapse_alloc_failed",
	[C_SPLIT] = "thp_split_page",
	[C_SCAN_KSWAPD] = "pgscan_kswapd",
	[C_STEAL_KSWAPD] = "pgsteal_kswapd",
	[C_SCAN_DIRECT] = "pgscan_direct",
	[C_STEAL_DIRECT] = "pgsteal_direct",
	[C_ALLOCSTALL] = "allocstall_*", /* all zones together */
};

/* Faults that wanted a folio of one size, anonymous and shmem. */
struct size_counts {
	uint64_t size_kb;
	uint64_t alloc, fallback, shmem_alloc, shmem_fallback;
};

struct sample {
	uint64_t time_ns;
	uint64_t counters[COUNTERS];
	bool has[COUNTERS];
	struct size_counts sizes[SIZES_MAX];
	unsigned int sizes_count;
	struct fl_zonespan zones[FL_CENSUS_ZONES_MAX];
	unsigned int zones_count;
	struct fl_extfrag_counts extfrag; /* since the start */
	unsigned int failed; /* files that are there but could not be read this time; the first of them */
	char failed_first[160];
	uint64_t boost_rises[FL_CENSUS_ZONES_MAX]; /* pages by which the boost was seen to rise, since the start */
};

struct watch {
	const struct fl_watch_options *options;
	struct fl_extfrag_reader extfrag;
	bool has_events;
	struct sample first, last, now;
	struct fl_text text;
};

/* ---- sampling ---- */

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void take_counter(struct sample *sample, const char *name, uint64_t value)
{
	if (strncmp(name, "allocstall_", 11) == 0) {
		sample->counters[C_ALLOCSTALL] += value;
		sample->has[C_ALLOCSTALL] = true;
		return;
	}
	for (int i = 0; i < COUNTERS; i++) {
		if (strcmp(name, counter_names[i]) != 0)
			continue;
		sample->counters[i] = value;
		sample->has[i] = true;
	}
}

static int sample_vmstat(const char *root, struct sample *sample, struct fl_error *reterr)
{
	struct fl_text text;
	char name[64];
	uint64_t value;
	int code;

	fl_text_init(&text);
	code = fl_hostfile_read(root, "proc/vmstat", &text, reterr);
	for (char *line = text.data; code == 0 && *line; line += strcspn(line, "\n"), line += *line == '\n') {
		if (sscanf(line, "%63s %" SCNu64, name, &value) == 2)
			take_counter(sample, name, value);
	}
	fl_text_fini(&text);
	return code;
}

static void note_failed(struct sample *sample, const struct fl_error *error)
{
	if (!sample->failed++)
		snprintf(sample->failed_first, sizeof(sample->failed_first), "%.159s", error->text);
}

static void sample_zones(const char *root, struct sample *sample)
{
	struct fl_text text;
	struct fl_error error;

	fl_text_init(&text);
	if (fl_hostfile_read(root, "proc/zoneinfo", &text, &error) < 0 ||
	    fl_zonespan_parse(text.data, sample->zones, &sample->zones_count, &error) < 0) {
		note_failed(sample, &error);
		sample->zones_count = 0;
	}
	fl_text_fini(&text);
}

static void size_path(char *to, size_t length, uint64_t size_kb, const char *name)
{
	snprintf(to, length, "sys/kernel/mm/transparent_hugepage/hugepages-%" PRIu64 "kB/stats/%s", size_kb, name);
}

static uint64_t size_stat(const char *root, uint64_t size_kb, const char *name, struct sample *sample)
{
	struct fl_error error;
	struct fl_text text;
	char path[128];
	uint64_t value;
	int code;

	size_path(path, sizeof(path), size_kb, name);
	fl_text_init(&text);
	code = fl_hostfile_read(root, path, &text, &error);
	if (code < 0 && code != -ENOENT)
		note_failed(sample, &error);
	value = code < 0 ? 0 : strtoull(text.data, NULL, 10);
	fl_text_fini(&text);
	return value;
}

static bool is_number_or_not_there(const char *root, const char *path)
{
	struct fl_procline why;
	struct fl_text text;
	int code;
	bool good;

	fl_text_init(&text);
	code = fl_hostfile_read(root, path, &text, NULL);
	text.data[strcspn(text.data, "\n")] = '\0';
	good = code == -ENOENT ||
	       (code == 0 && *text.data && fl_procline_check(FL_PROCFILE_NUMBERS, text.data, &why));
	fl_text_fini(&text);
	return good;
}

static int compare_sizes(const void *a, const void *b)
{
	const struct size_counts *x = a, *y = b;

	return x->size_kb < y->size_kb ? -1 : x->size_kb > y->size_kb;
}

static void note_folder_failed(struct sample *sample, int code)
{
	struct fl_error error;

	fl_error_set(&error, FL_ERROR_FAILED, -code, "the statistics by size cannot be read: %s", strerror(code));
	note_failed(sample, &error);
}

static void sample_sizes(const char *root, struct sample *sample)
{
	char *path = fl_hostfile_path(root, "sys/kernel/mm/transparent_hugepage");
	DIR *folder = opendir(path);
	int code = errno;
	struct dirent *entry;

	free(path);
	if (!folder && code != ENOENT)
		note_folder_failed(sample, code);
	if (!folder)
		return;
	while ((entry = readdir(folder)) && sample->sizes_count < SIZES_MAX) {
		struct size_counts *size = &sample->sizes[sample->sizes_count];

		if (sscanf(entry->d_name, "hugepages-%" SCNu64 "kB", &size->size_kb) != 1)
			continue;
		size->alloc = size_stat(root, size->size_kb, "anon_fault_alloc", sample);
		size->fallback = size_stat(root, size->size_kb, "anon_fault_fallback", sample);
		size->shmem_alloc = size_stat(root, size->size_kb, "shmem_alloc", sample);
		size->shmem_fallback = size_stat(root, size->size_kb, "shmem_fallback", sample);
		sample->sizes_count++;
	}
	closedir(folder);
	qsort(sample->sizes, sample->sizes_count, sizeof(sample->sizes[0]), compare_sizes);
}

/* Boost that appeared since the sample before; what kswapd took away again does not count. */
static void add_boosts(const struct sample *before, struct sample *now)
{
	for (unsigned int i = 0; i < now->zones_count; i++) {
		uint64_t old = i < before->zones_count ? before->zones[i].boost : 0;

		now->boost_rises[i] = before->boost_rises[i];
		if (now->zones[i].boost > old)
			now->boost_rises[i] += now->zones[i].boost - old;
	}
}

static int take_sample(struct watch *watch, const struct sample *before, struct sample *ret, struct fl_error *reterr)
{
	const char *root = watch->options->root;
	int code;

	memset(ret, 0, sizeof(*ret));
	code = sample_vmstat(root, ret, reterr);
	if (code < 0)
		return code;
	sample_zones(root, ret);
	sample_sizes(root, ret);
	if (before) {
		ret->extfrag = before->extfrag;
		add_boosts(before, ret);
	}
	fl_extfrag_drain(&watch->extfrag, &ret->extfrag);
	ret->time_ns = now_ns();
	return 0;
}

/* ---- text ---- */

/* What is shown: the time between two samples. */
struct span {
	struct watch *watch;
	const struct sample *from, *to;
	double seconds;
	unsigned int lines; /* written so far: the first has the time in front */
};

static uint64_t delta(const struct span *span, enum counter counter)
{
	uint64_t a = span->from->counters[counter], b = span->to->counters[counter];

	return b > a ? b - a : 0;
}

static double rate(const struct span *span, uint64_t count)
{
	return (double)count / span->seconds;
}

/* "12.3/s", with as many digits as tell something; 16 bytes are enough for what hosts do. */
static const char *rate_text(const struct span *span, uint64_t count, char *buffer, size_t length)
{
	double r = rate(span, count);

	snprintf(buffer, length, r >= 100 ? "%.0f/s" : r >= 1 ? "%.1f/s" : "%.2f/s", r);
	return buffer;
}

static void start_line(struct span *span, const char *what)
{
	struct fl_text *to = &span->watch->text;
	double at = (double)(span->to->time_ns - span->watch->first.time_ns) * 1e-9;

	if (span->lines++ == 0)
		fl_text_add(to, "%7.1f s  %-12s", at, what);
	else
		fl_text_add(to, "%11s%-12s", "", what);
}

static void end_line(struct span *span)
{
	fl_text_add_char(&span->watch->text, '\n', 1);
}

static void add_rate(struct span *span, const char *before, uint64_t count, const char *after)
{
	char buffer[32];

	fl_text_add(&span->watch->text, "%s%s%s", before, rate_text(span, count, buffer, sizeof(buffer)), after);
}

static void show_extfrag_pair(struct span *span, unsigned int wanted, unsigned int taken)
{
	const struct fl_extfrag_counts *a = &span->from->extfrag, *b = &span->to->extfrag;
	uint64_t claimed = b->claimed[wanted][taken] - a->claimed[wanted][taken];
	uint64_t stolen = b->stolen[wanted][taken] - a->stolen[wanted][taken];

	if (!claimed && !stolen)
		return;
	start_line(span, "extfrag");
	fl_text_add(&span->watch->text, "%s took from %s: ", fl_extfrag_type_name(wanted), fl_extfrag_type_name(taken));
	add_rate(span, "claimed ", claimed, ", ");
	add_rate(span, "stolen ", stolen, "");
	end_line(span);
}

static void show_extfrag(struct span *span)
{
	uint64_t lost = span->to->extfrag.lost - span->from->extfrag.lost;

	for (unsigned int wanted = 0; wanted < FL_EXTFRAG_TYPES; wanted++) {
		for (unsigned int taken = 0; taken < FL_EXTFRAG_TYPES; taken++)
			show_extfrag_pair(span, wanted, taken);
	}
	if (!lost)
		return;
	start_line(span, "extfrag");
	fl_text_add(&span->watch->text, "%" PRIu64 " events lost: the rates above are too low", lost);
	end_line(span);
}

static uint64_t less(uint64_t all, uint64_t part)
{
	return all > part ? all - part : 0;
}

static void show_compaction(struct span *span)
{
	uint64_t migrate = delta(span, C_MIGRATE_SCANNED), free_scanned = delta(span, C_FREE_SCANNED);
	uint64_t daemon_migrate = delta(span, C_DAEMON_MIGRATE_SCANNED), daemon_free = delta(span, C_DAEMON_FREE_SCANNED);
	uint64_t stalls = delta(span, C_STALL), wakes = delta(span, C_WAKE);

	if (stalls || less(migrate, daemon_migrate) || less(free_scanned, daemon_free)) {
		start_line(span, "compaction");
		add_rate(span, "direct: ", stalls, "");
		fl_text_add(&span->watch->text, " (%" PRIu64 " succeeded, %" PRIu64 " failed), scanned ",
			    delta(span, C_SUCCESS), delta(span, C_FAIL));
		add_rate(span, "", less(migrate, daemon_migrate), " + ");
		add_rate(span, "", less(free_scanned, daemon_free), "");
		end_line(span);
	}
	if (wakes || daemon_migrate || daemon_free) {
		start_line(span, "compaction");
		add_rate(span, "kcompactd: woken ", wakes, ", scanned ");
		add_rate(span, "", daemon_migrate, " + ");
		add_rate(span, "", daemon_free, "");
		end_line(span);
	}
	if (delta(span, C_ISOLATED)) {
		start_line(span, "compaction");
		add_rate(span, "all actors: isolated ", delta(span, C_ISOLATED), "");
		end_line(span);
	}
}

/* Share of the faults that got the size they tried for. */
static void show_faults(struct span *span, const char *size, const char *kind, uint64_t alloc, uint64_t fallback)
{
	if (!alloc && !fallback)
		return;
	start_line(span, "THP faults");
	fl_text_add(&span->watch->text, "%s%s: ", size, kind);
	add_rate(span, "got ", alloc, ", ");
	add_rate(span, "fell back ", fallback, "");
	fl_text_add(&span->watch->text, " (%.1f %% of %" PRIu64 " tries)", (double)alloc * 100 / (double)(alloc + fallback),
		    alloc + fallback);
	end_line(span);
}

static const struct size_counts *find_size(const struct sample *sample, uint64_t size_kb)
{
	for (unsigned int i = 0; i < sample->sizes_count; i++) {
		if (sample->sizes[i].size_kb == size_kb)
			return &sample->sizes[i];
	}
	return NULL;
}

static void show_sizes(struct span *span)
{
	for (unsigned int i = 0; i < span->to->sizes_count; i++) {
		const struct size_counts *b = &span->to->sizes[i], *a = find_size(span->from, b->size_kb);
		char size[32];

		if (!a)
			continue;
		snprintf(size, sizeof(size), "%" PRIu64 " kB", b->size_kb);
		show_faults(span, size, "", less(b->alloc, a->alloc), less(b->fallback, a->fallback));
		show_faults(span, size, " shmem", less(b->shmem_alloc, a->shmem_alloc),
			    less(b->shmem_fallback, a->shmem_fallback));
	}
	/* Kernels before 6.10 tell the largest size only. */
	if (!span->to->sizes_count)
		show_faults(span, "PMD size", "", delta(span, C_FAULT_ALLOC), delta(span, C_FAULT_FALLBACK));
	if (delta(span, C_COLLAPSE) || delta(span, C_COLLAPSE_FAILED) || delta(span, C_SPLIT)) {
		start_line(span, "THP");
		add_rate(span, "khugepaged: got ", delta(span, C_COLLAPSE), ", ");
		add_rate(span, "failed ", delta(span, C_COLLAPSE_FAILED), "; ");
		add_rate(span, "split ", delta(span, C_SPLIT), "");
		end_line(span);
	}
}

static void show_reclaim(struct span *span)
{
	if (delta(span, C_SCAN_KSWAPD)) {
		start_line(span, "reclaim");
		add_rate(span, "kswapd: scanned ", delta(span, C_SCAN_KSWAPD), ", ");
		add_rate(span, "reclaimed ", delta(span, C_STEAL_KSWAPD), "");
		end_line(span);
	}
	if (delta(span, C_SCAN_DIRECT) || delta(span, C_ALLOCSTALL)) {
		start_line(span, "reclaim");
		add_rate(span, "direct: ", delta(span, C_ALLOCSTALL), " stalls, ");
		add_rate(span, "scanned ", delta(span, C_SCAN_DIRECT), ", ");
		add_rate(span, "reclaimed ", delta(span, C_STEAL_DIRECT), "");
		end_line(span);
	}
}

static void show_boosts(struct span *span)
{
	for (unsigned int i = 0; i < span->to->zones_count; i++) {
		uint64_t rise = span->to->boost_rises[i] - span->from->boost_rises[i];

		if (!rise && !span->to->zones[i].boost)
			continue;
		start_line(span, "boost");
		fl_text_add(&span->watch->text, "%s: rose by %" PRIu64 " pages, now %" PRIu64, span->to->zones[i].name, rise,
			    span->to->zones[i].boost);
		end_line(span);
	}
}

static void show_span(struct watch *watch, const struct sample *from, const struct sample *to)
{
	struct span span = {watch, from, to, (double)(to->time_ns - from->time_ns) * 1e-9, 0};

	show_extfrag(&span);
	show_compaction(&span);
	show_sizes(&span);
	show_reclaim(&span);
	show_boosts(&span);
	if (to->failed) {
		start_line(&span, "missing");
		fl_text_add(&watch->text, "%u file%s could not be read, so what they tell is wrong or missing above: %s%s",
			    to->failed, to->failed == 1 ? "" : "s", to->failed_first, to->failed == 1 ? "" : ", ...");
		end_line(&span);
	}
	if (!span.lines)
		fl_text_add(&watch->text, "%7.1f s  nothing\n", (double)(to->time_ns - watch->first.time_ns) * 1e-9);
}

/* Lines of a file that cannot be read, so that what they would tell is not shown. */
static void show_bad_lines(struct watch *watch, const char *path)
{
	unsigned int line = 0, bad = 0;
	struct fl_procline why;
	struct fl_error error;
	struct fl_text text;
	char say[256];

	fl_text_init(&text);
	if (fl_hostfile_read(watch->options->root, path, &text, &error) < 0)
		fl_text_add(&watch->text, "%s\n", error.text);
	for (size_t i = 0; i < text.length; i++)
		text.data[i] = text.data[i] ? text.data[i] : '?';
	for (char *p = text.data, *next; *p; p = next) {
		size_t length = strcspn(p, "\n");

		next = p + length + (p[length] == '\n');
		p[length] = '\0';
		line++;
		if (fl_procline_check(fl_procfile_of(path), fl_line_clean(p, &(bool){ false }), &why) || bad++ >= BAD_SHOWN)
			continue;
		fl_procline_say(&why, say, sizeof(say));
		fl_text_add(&watch->text, "%s:%u: %s\n", path, line, say);
	}
	if (bad > BAD_SHOWN)
		fl_text_add(&watch->text, "%s: and %u more lines that cannot be read\n", path, bad - BAD_SHOWN);
	fl_text_fini(&text);
}

/* Statistics of a size that are there but cannot be read; kernels differ in which there are. */
static void show_bad_sizes(struct watch *watch)
{
	static const char *const names[] = { "anon_fault_alloc", "anon_fault_fallback", "shmem_alloc", "shmem_fallback" };
	unsigned int missing = 0;
	char path[128];

	for (unsigned int i = 0; i < watch->first.sizes_count; i++) {
		for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++) {
			size_path(path, sizeof(path), watch->first.sizes[i].size_kb, names[n]);
			if (is_number_or_not_there(watch->options->root, path) || missing++ >= BAD_SHOWN)
				continue;
			fl_text_add(&watch->text, "%s%s", missing == 1 ? "cannot be read, so not shown: " : ", ", path);
		}
	}
	if (missing > BAD_SHOWN)
		fl_text_add(&watch->text, " and %u more", missing - BAD_SHOWN);
	if (missing)
		fl_text_add_char(&watch->text, '\n', 1);
}

static void show_missing(struct watch *watch, const struct fl_error *no_events)
{
	const char *before = "not in this kernel's /proc/vmstat, so not shown: ";

	if (watch->first.failed)
		fl_text_add(&watch->text, "could not be read: %s%s\n", watch->first.failed_first,
			    watch->first.failed == 1 ? "" : ", and others");
	show_bad_lines(watch, "proc/vmstat");
	show_bad_lines(watch, "proc/zoneinfo");
	show_bad_sizes(watch);

	if (!watch->has_events)
		fl_text_add(&watch->text, "extfrag events are missing: %s\n", no_events->text);
	for (int i = 0; i < COUNTERS; i++) {
		if (watch->first.has[i])
			continue;
		fl_text_add(&watch->text, "%s%s", before, counter_names[i]);
		before = ", ";
	}
	if (before[0] == ',')
		fl_text_add_char(&watch->text, '\n', 1);
	if (!watch->first.zones_count)
		fl_text_add(&watch->text, "boosts are missing: /proc/zoneinfo cannot be read, or not as a whole\n");
	if (!watch->first.sizes_count)
		fl_text_add(&watch->text, "THP faults by size are missing: no per-size statistics in sysfs (kernel before "
			    "6.10, or no THP)\n");
}

static void show_head(struct watch *watch, const struct fl_error *no_events)
{
	fl_text_add(&watch->text, "Rates over every %.3g s; compaction scanned is pages by the migrate + the free scanner.\n",
		    (double)watch->options->interval_ns * 1e-9);
	show_missing(watch, no_events);
}

/* ---- the loop ---- */

static int flush(struct watch *watch, struct fl_error *reterr)
{
	int code = watch->options->write(watch->options->opaque, watch->text.data, watch->text.length, reterr);

	fl_text_clear(&watch->text);
	return code;
}

static bool is_stopped(const struct watch *watch)
{
	return watch->options->stop && *watch->options->stop;
}

/* Sleeps until `until_ns`, or less when told to stop; the trace buffer is emptied meanwhile. */
static void wait_until(struct watch *watch, uint64_t until_ns, struct fl_extfrag_counts *counts)
{
	uint64_t now;

	while (!is_stopped(watch) && (now = now_ns()) < until_ns) {
		uint64_t ns = until_ns - now < SLICE_NS ? until_ns - now : SLICE_NS;
		struct timespec t = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};

		nanosleep(&t, NULL);
		fl_extfrag_drain(&watch->extfrag, counts);
	}
}

static int watch_interval(struct watch *watch, uint64_t until_ns, struct fl_error *reterr)
{
	int code;

	watch->last = watch->now;
	wait_until(watch, until_ns, &watch->last.extfrag);
	/* Events that came while waiting belong to this interval. */
	code = take_sample(watch, &watch->last, &watch->now, reterr);
	if (code < 0)
		return code;
	return 0;
}

static int watch_loop(struct watch *watch, struct fl_error *reterr)
{
	const struct fl_watch_options *options = watch->options;
	struct sample *from = fl_xmalloc(sizeof(*from));
	uint64_t n = 0;
	int code = 0;

	while (code == 0 && !is_stopped(watch) && (!options->intervals || n < options->intervals)) {
		*from = watch->now;
		code = watch_interval(watch, watch->first.time_ns + ++n * options->interval_ns, reterr);
		if (code == 0 && watch->now.time_ns > from->time_ns) {
			show_span(watch, from, &watch->now);
			code = flush(watch, reterr);
		}
	}
	free(from);
	if (code == 0 && n > 1) {
		fl_text_add(&watch->text, "over all:\n");
		show_span(watch, &watch->first, &watch->now);
		code = flush(watch, reterr);
	}
	return code;
}

static int open_events(struct watch *watch, struct fl_error *reterr)
{
	const struct fl_watch_options *options = watch->options;
	static const char *const places[] = {"sys/kernel/tracing", "sys/kernel/debug/tracing"};
	int code = -ENOENT;

	if (options->no_events)
		return fl_error_set(reterr, FL_ERROR_LACKING, -ENOENT, "switched off");
	if (options->tracefs)
		return fl_extfrag_open(options->tracefs, &watch->extfrag, reterr);
	for (size_t i = 0; code == -ENOENT && i < sizeof(places) / sizeof(places[0]); i++) {
		char *path = fl_hostfile_path(options->root, places[i]);
		struct fl_error error;

		code = fl_extfrag_open(path, &watch->extfrag, &error);
		if (code < 0 && (i == 0 || code != -ENOENT) && reterr)
			*reterr = error;
		free(path);
	}
	return code;
}

int fl_watch_run(const struct fl_watch_options *options, struct fl_error *reterr)
{
	struct watch *watch = fl_xcalloc(1, sizeof(*watch));
	struct fl_error no_events = {0};
	int code;

	FL_ASSERT(options->write && options->interval_ns >= SLICE_NS);
	watch->options = options;
	watch->extfrag.pipe_fd = -1;
	fl_text_init(&watch->text);
	code = take_sample(watch, NULL, &watch->first, reterr);
	if (code == 0) {
		watch->has_events = open_events(watch, &no_events) == 0;
		watch->now = watch->first;
		show_head(watch, &no_events);
		code = flush(watch, reterr);
	}
	if (code == 0)
		code = watch_loop(watch, reterr);
	fl_extfrag_close(&watch->extfrag);
	fl_text_fini(&watch->text);
	free(watch);
	return code;
}
