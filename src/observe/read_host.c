/*
 * observe/read_host.c - reading a host, or a directory laid out like one, through the text reader.
 *
 * Owns the lists of files. Order matters a little: files of /proc first, so that they make one state; kernel logs of a
 * sosreport after them, since a dump inside makes states of its own.
 */
#include "observe/read_host.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "observe/hostfile.h"
#include "observe/procline.h"
#include "observe/read_text.h"

#define THP_DIR "sys/kernel/mm/transparent_hugepage"
#define DEBUG_DIR "sys/kernel/debug/extfrag"
#define VM_DIR "proc/sys/vm"

struct host_file {
	const char *path;
	const char *figures; /* what is missing without it */
};

static const struct host_file proc_files[] = {
	{ "proc/buddyinfo", "free blocks by order" },
	{ "proc/pagetypeinfo", "free blocks and pageblocks by migratetype" },
	{ "proc/zoneinfo", "watermarks and sizes of zones" },
	{ "proc/vmstat", "event counters" },
	{ "proc/meminfo", "totals" },
};

/* The kernel's own indices: what is printed is computed from the free lists, so these are only to compare with. */
static const struct host_file debug_files[] = {
	{ DEBUG_DIR "/unusable_index", "the kernel's own unusable indices (ours do not need them)" },
	{ DEBUG_DIR "/extfrag_index", "the kernel's own fragmentation indices (ours do not need them)" },
};

static const char *const sysctls[] = {
	"min_free_kbytes", "watermark_boost_factor", "watermark_scale_factor", "lowmem_reserve_ratio",
	"compaction_proactiveness", "extfrag_threshold", "compact_unevictable_allowed", "percpu_pagelist_high_fraction",
	"zone_reclaim_mode", "swappiness", "overcommit_memory", "overcommit_ratio", "defrag_mode", "nr_hugepages",
	"nr_overcommit_hugepages", "user_reserve_kbytes", "admin_reserve_kbytes", "vfs_cache_pressure",
};

static const char *const thp_files[] = { "enabled", "defrag", "shmem_enabled", "use_zero_page", "hpage_pmd_size",
					 "khugepaged/defrag", "khugepaged/pages_to_scan",
					 "khugepaged/scan_sleep_millisecs", "khugepaged/alloc_sleep_millisecs",
					 "khugepaged/max_ptes_none", "khugepaged/max_ptes_swap",
					 "khugepaged/max_ptes_shared" };

static const char *const thp_size_files[] = { "enabled", "shmem_enabled", "stats/anon_fault_alloc",
					      "stats/anon_fault_fallback", "stats/anon_fault_fallback_charge",
					      "stats/split", "stats/split_failed", "stats/split_deferred",
					      "stats/nr_anon", "stats/nr_anon_partially_mapped", "stats/swpin",
					      "stats/swpout", "stats/swpout_fallback", "stats/zswpout",
					      "stats/shmem_alloc", "stats/shmem_fallback" };

/* Files of a sosreport outside proc/ and sys/: the first of each that is there. */
static const char *const sos_sysctl[] = { "sos_commands/kernel/sysctl_-a" };
static const char *const sos_logs[] = { "sos_commands/kernel/dmesg_-T", "sos_commands/kernel/dmesg",
					"sos_commands/general/dmesg", "sos_commands/kernel/dmesg_now",
					"var/log/dmesg", "var/log/kern.log", "var/log/messages", "var/log/syslog" };

struct host_reader {
	const char *root;
	struct fl_mem_report *report;
	struct fl_text_reader *text;
	unsigned int files;
	bool live;
};

static void warn_missing(struct host_reader *reader, const char *path, int error, const char *figures)
{
	const char *why = error == EACCES || error == EPERM ? "; root may read it" : "";

	fl_mem_report_warn(reader->report, 0, "%s could not be read (%s%s): missing are %s", path, strerror(error), why,
			   figures);
}

/* A link to nothing is there, though opening it says that there is no such file. */
static bool is_there(const char *full)
{
	struct stat st;

	return !lstat(full, &st);
}

/* Bytes that no text has: a file of /proc is never binary. */
static bool is_binary(const char *bytes, size_t length)
{
	size_t odd = 0;

	for (size_t i = 0; i < length; i++)
		odd += (unsigned char)bytes[i] < ' ' && (!bytes[i] || !strchr("\t\r\n\f\x1b", bytes[i]));
	return odd > length / 32;
}

/* Everything in the file through the text reader, and what is wrong with it as a whole. */
static void read_stream(struct host_reader *reader, FILE *file, const char *path, const char *figures)
{
	bool binary = false, empty = true, error;
	char bytes[65536];
	uint64_t good;
	size_t got;

	fl_text_reader_file(reader->text, path);
	while (!binary && (got = fread(bytes, 1, sizeof(bytes), file)) > 0) {
		binary = is_binary(bytes, got);
		if (!binary)
			fl_text_reader_feed(reader->text, bytes, got);
		empty = false;
	}
	error = ferror(file) != 0;
	good = fl_text_reader_end_file(reader->text);
	if (error)
		fl_mem_report_warn(reader->report, 0, "%s could not be read to its end (%s): missing are %s%s", path,
				   strerror(errno), good ? "some of " : "", figures);
	else if (binary)
		fl_mem_report_warn(reader->report, 0, "%s is binary, not text: missing are %s%s", path,
				   good ? "some of " : "", figures);
	else if (empty || (!good && fl_procfile_of(path) != FL_PROCFILE_ANY))
		fl_mem_report_warn(reader->report, 0, "%s %s: missing are %s", path,
				   empty ? "is empty" : "has no line that can be read", figures);
	reader->files++;
}

/* Opens a file under the root; never waits for one that is no plain file. NULL with errno. */
static FILE *open_file(const char *full)
{
	int fd = open(full, O_RDONLY | O_NONBLOCK | O_CLOEXEC), error;
	struct stat st;
	FILE *file;

	if (fd < 0)
		return NULL;
	error = fstat(fd, &st) ? errno : S_ISDIR(st.st_mode) ? EISDIR : S_ISREG(st.st_mode) ? 0 : EINVAL;
	file = error ? NULL : fdopen(fd, "r");
	if (file)
		return file;
	error = error ? error : errno;
	close(fd);
	errno = error;
	return NULL;
}

/*
 * The content of one file through the text reader; `optional`: many hosts do not have it, and nobody misses it then.
 * 1 read, 0 not.
 */
static int read_file(struct host_reader *reader, const char *path, const char *figures, bool optional)
{
	char *full = fl_hostfile_path(reader->root, path);
	FILE *file = open_file(full);
	int error = errno;

	if (file) {
		read_stream(reader, file, path, figures);
		fclose(file);
	} else if (error == EINVAL) {
		fl_mem_report_warn(reader->report, 0, "%s is no plain file: missing are %s", path, figures);
	} else if (error == ENOENT && is_there(full)) {
		fl_mem_report_warn(reader->report, 0, "%s is a link to a file that is not there: missing are %s", path,
				   figures);
	} else if (error != ENOENT || !optional) {
		warn_missing(reader, path, error, figures);
	}
	free(full);
	return file != NULL;
}

/* Can files be looked for in this folder? If not, one sentence stands for all of them. */
static bool has_folder(struct host_reader *reader, const char *path, const char *figures)
{
	char *full = fl_hostfile_path(reader->root, path);
	bool there = !access(full, X_OK);

	if (!there)
		warn_missing(reader, path, errno, figures);
	free(full);
	return there;
}

static void read_tables(struct host_reader *reader)
{
	read_file(reader, "proc/version", "the release of the kernel", true);
	for (size_t i = 0; i < sizeof(proc_files) / sizeof(proc_files[0]); i++)
		read_file(reader, proc_files[i].path, proc_files[i].figures, false);
	if (has_folder(reader, DEBUG_DIR, "the kernel's own indices of debugfs (ours do not need them)"))
		for (size_t i = 0; i < sizeof(debug_files) / sizeof(debug_files[0]); i++)
			read_file(reader, debug_files[i].path, debug_files[i].figures, false);
}

/* Every kernel has other settings: one that is not there at all is not missed. */
static void read_sysctls(struct host_reader *reader)
{
	char path[128], name[64];

	if (!has_folder(reader, VM_DIR, "the settings vm.*"))
		return;
	for (size_t i = 0; i < sizeof(sysctls) / sizeof(sysctls[0]); i++) {
		snprintf(path, sizeof(path), VM_DIR "/%s", sysctls[i]);
		snprintf(name, sizeof(name), "vm.%s", sysctls[i]);
		read_file(reader, path, name, true);
	}
}

static int by_size(const void *a, const void *b)
{
	long x = strtol(*(char *const *)a + strlen("hugepages-"), NULL, 10);
	long y = strtol(*(char *const *)b + strlen("hugepages-"), NULL, 10);

	return x < y ? -1 : x > y;
}

/* The per-size directories in rising size; the caller frees them. */
static size_t thp_sizes(struct host_reader *reader, char **names, size_t limit)
{
	char *full = fl_hostfile_path(reader->root, THP_DIR);
	DIR *dir = opendir(full);
	struct dirent *entry;
	size_t count = 0;

	if (!dir)
		warn_missing(reader, THP_DIR, errno, "settings and statistics by size");
	free(full);
	while (dir && (entry = readdir(dir)) && count < limit)
		if (!strncmp(entry->d_name, "hugepages-", 10))
			names[count++] = fl_xstrdup(entry->d_name);
	if (dir)
		closedir(dir);
	qsort(names, count, sizeof(*names), by_size);
	return count;
}

static void read_thp(struct host_reader *reader)
{
	char path[400], *names[64];
	size_t count;

	if (!has_folder(reader, THP_DIR, "settings of THP and statistics by size"))
		return;
	count = thp_sizes(reader, names, 64);
	for (size_t i = 0; i < sizeof(thp_files) / sizeof(thp_files[0]); i++) {
		snprintf(path, sizeof(path), THP_DIR "/%s", thp_files[i]);
		read_file(reader, path, "this setting of THP", true);
	}
	for (size_t n = 0; n < count; n++) {
		for (size_t i = 0; i < sizeof(thp_size_files) / sizeof(thp_size_files[0]); i++) {
			snprintf(path, sizeof(path), THP_DIR "/%s/%s", names[n], thp_size_files[i]);
			read_file(reader, path, "this figure", true);
		}
		free(names[n]);
	}
}

static void read_first(struct host_reader *reader, const char *const *paths, size_t count, const char *figures)
{
	for (size_t i = 0; i < count; i++)
		if (read_file(reader, paths[i], figures, true))
			return;
}

static bool is_live(const char *root)
{
	return !root || !*root || !strcmp(root, "/");
}

static int check_root(const char *root, struct fl_error *reterr)
{
	struct stat st;

	if (is_live(root))
		return 0;
	if (stat(root, &st))
		return fl_error_set(reterr, FL_ERROR_INPUT, -errno, "%s: %s", root, strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return fl_error_input(reterr, "%s: is not a directory; expected one with proc/ and sys/, as in a "
					      "sosreport",
				      root);
	if (access(root, X_OK))
		return fl_error_set(reterr, FL_ERROR_INPUT, -errno, "%s: may not be entered: %s", root, strerror(errno));
	return 0;
}

static int found_something(const struct host_reader *reader, struct fl_error *reterr)
{
	const struct fl_mem_report *report = reader->report;

	if (report->states_count || report->requests_count)
		return 0;
	if (reader->live)
		return fl_error_set(reterr, FL_ERROR_LACKING, -ENOENT,
				    "this host shows nothing of its memory under /proc; is it Linux, and is /proc "
				    "mounted?");
	if (reader->files && report->warnings_count)
		return fl_error_input(reterr, "%s: none of its files tells about memory; the first of %zu faults: %s", reader->root,
				      report->warnings_count, report->warnings[0].text);
	return fl_error_input(reterr,
			      "%s: holds no file that tells about memory; expected proc/buddyinfo, proc/zoneinfo, "
			      "proc/vmstat or the layout of a sosreport", reader->root);
}

static void settle_live_page_size(const struct host_reader *reader)
{
	long size = sysconf(_SC_PAGESIZE);

	for (size_t i = 0; reader->live && size > 0 && i < reader->report->states_count; i++) {
		reader->report->states[i]->page_size = (uint32_t)size;
		reader->report->states[i]->page_size_assumed = false;
	}
}

int fl_mem_read_host(const char *root, struct fl_mem_report *report, struct fl_error *reterr)
{
	struct host_reader reader = { .root = root, .report = report, .live = is_live(root) };
	int ret = check_root(root, reterr);

	if (ret)
		return ret;
	report->live = reader.live;
	reader.text = fl_text_reader_new(report);
	read_tables(&reader);
	read_sysctls(&reader);
	read_thp(&reader);
	if (!reader.live) {
		read_first(&reader, sos_sysctl, sizeof(sos_sysctl) / sizeof(sos_sysctl[0]), "settings");
		read_first(&reader, sos_logs, sizeof(sos_logs) / sizeof(sos_logs[0]), "requests that failed");
	}
	fl_text_reader_finish(reader.text);
	settle_live_page_size(&reader);
	return found_something(&reader, reterr);
}
