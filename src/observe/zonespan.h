/*
 * observe/zonespan.h - where the zones of a host lie and how many pages their per-CPU lists hold.
 *
 * Just what a census needs of /proc/zoneinfo, and where RAM is, from /proc/iomem.
 */
#ifndef FL_OBSERVE_ZONESPAN_H
#define FL_OBSERVE_ZONESPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/census.h"
#include "base/error.h"

struct fl_zonespan {
	char name[16]; /* "Normal"; with several nodes "1/Normal" */
	int node;
	uint64_t start_pfn, spanned, present, managed, pcp, boost; /* pages */
	uint64_t min, low, high, promo, protection[4];             /* as printed: with the boost */
	uint64_t batch, high_min, high_max;                        /* of each per-CPU list; 0: not printed */
	unsigned int cpus;                                         /* with per-CPU lists */
};

/* Zones with pages, at most FL_CENSUS_ZONES_MAX of them, in the order of the file. INPUT when none is there. */
int fl_zonespan_parse(const char *zoneinfo, struct fl_zonespan *ret, unsigned int *ret_count, struct fl_error *reterr);

/* A stretch of RAM, last pfn excluded; a page that is only partly RAM does not count. */
struct fl_ram_range {
	uint64_t start_pfn, end_pfn;
};

/*
 * The System RAM lines of /proc/iomem, rising; *ret is allocated. Count 0 when the file does not tell (without root
 * every address is printed as 0).
 */
size_t fl_ram_ranges_parse(const char *iomem, uint32_t page_size, struct fl_ram_range **ret);

#endif
