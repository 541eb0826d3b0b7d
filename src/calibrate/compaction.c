/*
 * calibrate/compaction.c - what scanners and migration take, from forced compaction: once where nothing is left to move, once
 * after every second page of an area was given back. Whole zones are scanned, so the free pages of the host matter to neither.
 *
 * vm.compact_memory works in the process that writes it, so its CPU time is what the work took; /proc/vmstat says how much
 * work that was. What other processes compact meanwhile counts as if it were ours; the median of the repetitions leaves it out.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "calibrate/bench.h"

struct work {
	double ns;
	uint64_t scanned, migrated; /* pfns of both scanners; pages */
};

static bool counters(struct fl_cal_bench *b, uint64_t *scanned, uint64_t *migrated)
{
	uint64_t free_scanned;

	if (!fl_cal_vmstat("compact_migrate_scanned", scanned) || !fl_cal_vmstat("compact_free_scanned", &free_scanned) ||
	    !fl_cal_vmstat("pgmigrate_success", migrated))
		return fl_cal_cannot(b, "/proc/vmstat has no counters of compaction");
	*scanned += free_scanned;
	return true;
}

static bool compact(struct fl_cal_bench *b, struct work *ret)
{
	uint64_t scanned, migrated;
	int fd = open("/proc/sys/vm/compact_memory", O_WRONLY | O_CLOEXEC);
	double start;
	bool done;

	if (fd < 0)
		return fl_cal_cannot(b, "vm.compact_memory cannot be written (%s); root can", strerror(errno));
	done = counters(b, &scanned, &migrated);
	start = fl_cal_now();
	if (done && write(fd, "1", 1) != 1)
		done = fl_cal_cannot(b, "vm.compact_memory: %s", strerror(errno));
	ret->ns = fl_cal_now() - start;
	close(fd);
	if (!done || !counters(b, &ret->scanned, &ret->migrated))
		return false;
	ret->scanned -= scanned;
	ret->migrated -= migrated;
	return true;
}

static bool measure_scan(struct fl_cal_bench *b, double *ret_ns)
{
	struct work first, second;

	if (!compact(b, &first) || !compact(b, &second)) /* the first one moves what there is to move */
		return false;
	if (second.scanned < 100000 || second.migrated * 1000 > second.scanned)
		return fl_cal_cannot(b, "compaction looked at %llu pages and moved %llu: memory was not at rest",
				     (unsigned long long)second.scanned, (unsigned long long)second.migrated);
	*ret_ns = second.ns / (double)second.scanned;
	return true;
}

/* One page moved: time of a compaction that had much to move, less its scanning at the rate of one that had not. */
static bool measure_migration(struct fl_cal_bench *b, double *ret_ns)
{
	struct work rest, holes;
	char *area;
	bool done;

	if (!compact(b, &rest) || !compact(b, &rest))
		return false;
	area = fl_cal_map(b, b->bytes);
	if (!area)
		return false;
	memset(area, 1, b->bytes);
	for (size_t at = 0; at < b->bytes; at += 2 * FL_CAL_PAGE)
		madvise(area + at, FL_CAL_PAGE, MADV_DONTNEED);
	done = compact(b, &holes);
	fl_cal_unmap(area, b->bytes);
	if (!done)
		return false;
	if (!rest.scanned || holes.migrated < b->bytes / FL_CAL_PAGE / 16)
		return fl_cal_cannot(b, "compaction moved only %llu pages of an area with holes",
				     (unsigned long long)holes.migrated);
	*ret_ns = (holes.ns - rest.ns / (double)rest.scanned * (double)holes.scanned) / (double)holes.migrated;
	return true;
}

const struct fl_cal_measurement fl_cal_compaction[] = {
	{ "compact_scan", "forced compaction with nothing left to move, by pages that its scanners looked at", "migrate_scan_pfn",
	  measure_scan, { { 0 } } },
	{ "compact_scan_free", "the same: the two scanners cannot be told apart", "free_scan_pfn", measure_scan, { { 0 } } },
	{ "migration", "forced compaction after every second page was given back, less its scanning, by pages moved", "migrate_base",
	  measure_migration, { { 1, "copy_4k" }, { 1, "isolate" }, { 1, "isolate_free" }, { 1, "unmap" }, { 1, "remap" } } },
	{ 0 },
};
