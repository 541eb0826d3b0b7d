/*
 * live/plan.c - what is said before a run: what this host cannot do or measure, and, for --dry-run, what a run would do to it.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/size.h"
#include "live/conduct.h"
#include "live/events.h"
#include "live/live.h"
#include "live/request.h"

static bool may_use(const struct fl_backend_request *r, enum fl_verb verb)
{
	return r->verbs >> verb & 1;
}

static bool has_counter(uint32_t type, uint64_t config)
{
	struct perf_event_attr attr = { .type = type, .size = sizeof(attr), .config = config, .exclude_kernel = 1 };
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* ---- limits ---- */

static void say_measuring(const struct fl_backend_request *r, struct fl_text *to)
{
	struct fl_error error;

	if (fl_live_events_probe(&error))
		fl_text_add(to, "not measured: %s (%s)\n", fl_live_events_names, error.text);
	if (access("/proc/kpageflags", R_OK))
		fl_text_add(to, "not measured: the census (unmovable_pageblocks, mixed_pageblocks, pages_*, ...): /proc/kpageflags needs root\n");
	if (access("/proc/pagetypeinfo", R_OK))
		fl_text_add(to, "not measured: free chunks and pageblocks by migratetype: /proc/pagetypeinfo needs root\n");
	fl_text_add(to, "not measured on any live kernel: %s; polluted_pageblocks has no value, only polluted_pageblocks_least (no file "
		    "tells the types of pageblocks one by one)\n", fl_live_sampler_missing);
	if (may_use(r, FL_VERB_PERF) && !has_counter(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES))
		fl_text_add(to, "perf(): this host has no hardware counters: dtlb_load_misses and mcycles have no value\n");
}

static void say_verbs(const struct fl_backend_request *r, struct fl_text *to)
{
	char folder[64], type[16], device[64], size[32];
	struct fl_live_budget budget;

	if (may_use(r, FL_VERB_DRAIN))
		fl_text_add(to, "drain(), if called: no kernel offers it; it does nothing\n");
	if (may_use(r, FL_VERB_CREATE_FILES) && !fl_live_disk_find(folder, type))
		fl_text_add(to, "create_files() on a disk: no folder on one may be written; the run ends where it is asked for\n");
	if (may_use(r, FL_VERB_CREATE_FILES) && geteuid() && access("/dev/shm", W_OK))
		fl_text_add(to, "create_files() on tmpfs: /dev/shm may not be written; the run ends where it is asked for\n");
	if ((may_use(r, FL_VERB_COMPACT) && access("/proc/sys/vm/compact_memory", W_OK)) ||
	    (may_use(r, FL_VERB_DROP_CACHES) && access("/proc/sys/vm/drop_caches", W_OK)))
		fl_text_add(to, "compact() and drop_caches() need root; the run ends where they are called\n");
	if (!may_use(r, FL_VERB_READ_DEVICE))
		return;
	if (!fl_live_disk_find(folder, type))
		fl_text_add(to, "read_device(): neither a block device nor a folder on a disk is there; the run ends where it is called\n");
	else if (!fl_live_device_find(folder, device))
		fl_text_add(to, "read_device(): no block device may be read; an empty file on %s of that length stands in, whose page cache "
			    "is movable\n", type);
	else if (fl_live_budget_make("", r->scale_bytes, r->force, &budget, NULL) == 0)
		fl_text_add(to, "read_device(): reads %s, at most twice the load's limit (%s) in one call\n", device,
			    fl_size_format((int64_t)budget.limit * 2, size, sizeof(size)));
}

static void say_settings(const struct fl_backend_request *r, struct fl_text *to)
{
	struct fl_live_settings settings;

	if (fl_live_settings_of(r, &settings, NULL))
		return;
	for (unsigned int i = 0; i < settings.count; i++)
		if (settings.list[i].is_model_only)
			fl_text_add(to, "%s is a setting of the model's disk: ignored\n", settings.list[i].name);
}

void fl_live_say_limits(const struct fl_backend_request *r, struct fl_text *to)
{
	struct fl_live_budget budget;
	struct fl_live_group group;
	char why[256], load[32], there[32];

	say_measuring(r, to);
	say_verbs(r, to);
	say_settings(r, to);
	fl_live_group_find("", &group, why);
	if (!group.version)
		fl_text_add(to, "%s: the budget is not enforced; the load is ended when the host has little memory left\n", why);
	if (!r->ballast && fl_live_budget_make("", r->scale_bytes, r->force, &budget, NULL) == 0 && fl_live_ballast_bytes(&budget))
		fl_text_add(to, "the load (%s) leaves most of this host's memory (%s available) free: it meets no pressure but its own; "
			    "--ballast fills the rest first\n",
			    fl_size_format((int64_t)budget.scale, load, sizeof(load)),
			    fl_size_format((int64_t)(budget.available >> 20 << 20), there, sizeof(there)));
}

static bool begins(const char *name, const char *with)
{
	return !strncmp(name, with, strlen(with));
}

const char *fl_live_lacks_metric(const char *name)
{
	static const char *const of_events[] = { "extfrag_", "compaction_", "nonmovable_steals" };
	static const char *const of_census[] = { "unmovable_pageblocks", "mixed_pageblocks", "unmovable_pages", "movable_pages", "pages_",
						 "free_huge_slots", "reclaimable_huge_slots" };

	if (begins(name, "work_") || !strcmp(name, "type_count_gap"))
		return "no kernel counts it";
	if (!strcmp(name, "polluted_pageblocks") || !strcmp(name, "polluting_pages") || !strcmp(name, "stray_movable_pages"))
		return "no file tells the types of pageblocks one by one";
	for (size_t i = 0; i < sizeof(of_events) / sizeof(*of_events); i++)
		if (begins(name, of_events[i]) && fl_live_events_probe(NULL))
			return "it needs tracefs";
	for (size_t i = 0; i < sizeof(of_census) / sizeof(*of_census); i++)
		if (begins(name, of_census[i]) && access("/proc/kpageflags", R_OK))
			return "it needs /proc/kpageflags, which root may read";
	return NULL;
}

/* ---- plan ---- */

static void plan_settings(const struct fl_backend_request *r, struct fl_text *to)
{
	char path[FL_LIVE_SETTING_PATH_MAX], now[FL_LIVE_SETTING_VALUE_MAX];
	struct fl_live_settings settings;
	unsigned int said = 0;

	fl_live_settings_of(r, &settings, NULL);
	for (unsigned int i = 0; i < settings.count; i++) {
		if (settings.list[i].is_model_only || fl_live_setting_path(settings.list[i].name, path, NULL) ||
		    fl_live_setting_read("", path, now, NULL) || !strcmp(now, settings.list[i].value))
			continue;
		fl_text_add(to, "setting    /%s: %s, afterwards %s again\n", path, settings.list[i].value, now);
		said++;
	}
	if (!said)
		fl_text_add(to, "settings   none is changed before the start\n");
	if (may_use(r, FL_VERB_SET))
		fl_text_add(to, "settings   the scenario may set more with set(); all are put back\n");
}

static void plan_budget(const struct fl_backend_request *r, const struct fl_live_budget *b, struct fl_text *to)
{
	char scale[32], limit[32], available[32], low[32], critical[32];
	struct fl_live_group group;
	char why[256];

	fl_text_add(to, "budget     load of %s (%s available); ",
		    fl_size_format((int64_t)b->scale, scale, sizeof(scale)),
		    fl_size_format((int64_t)(b->available >> 20 << 20), available, sizeof(available)));
	fl_live_group_find("", &group, why);
	fl_size_format((int64_t)b->limit, limit, sizeof(limit));
	if (group.version)
		fl_text_add(to, "memory cgroup (version %d) %s/" FL_LIVE_NAME "PID with a limit of %s\n", group.version, group.path, limit);
	else
		fl_text_add(to, "%s\n", why);
	fl_size_format((int64_t)(b->low >> 20 << 20), low, sizeof(low));
	fl_size_format((int64_t)(b->critical >> 20 << 20), critical, sizeof(critical));
	if (r->ballast)
		fl_text_add(to, "ballast    %s in a process of its own, dropped when less than %s is available or all tasks stall\n",
			    fl_size_format((int64_t)fl_live_ballast_bytes(b), limit, sizeof(limit)), low);
	if (!r->force)
		fl_text_add(to, "watch      the load is ended when less than %s is available\n", critical);
}

static void plan_folders(const struct fl_backend_request *r, struct fl_text *to)
{
	char folder[64], type[16];

	if (!may_use(r, FL_VERB_CREATE_FILES))
		return;
	if (fl_live_disk_find(folder, type))
		fl_text_add(to, "folder     %s/" FL_LIVE_NAME "PID (%s), for files on a disk; removed afterwards\n",
			    strcmp(folder, "/") ? folder : "", type);
	fl_text_add(to, "folder     %s, for files in tmpfs; removed afterwards\n",
		    geteuid() ? "/dev/shm/" FL_LIVE_NAME "PID-tmpfs" : "a tmpfs of its own in a private mount namespace");
}

void fl_live_say_plan(const struct fl_backend_request *r, struct fl_text *to)
{
	struct fl_live_budget budget;
	struct utsname host;

	uname(&host);
	fl_text_add(to, "kernel     %s, which runs here\n", host.release);
	plan_settings(r, to);
	if (fl_live_budget_make("", r->scale_bytes, r->force, &budget, NULL) == 0)
		plan_budget(r, &budget, to);
	plan_folders(r, to);
	if (fl_live_events_probe(NULL) == 0)
		fl_text_add(to, "tracefs    an instance of its own, removed afterwards\n");
	fl_text_add(to, "processes  a guardian (puts everything back, also after SIGKILL of the others), and one for each process of the "
		    "scenario, with oom_score_adj 1000; one run at a time\n");
}
