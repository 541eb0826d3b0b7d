/*
 * base/census.h - what every pageblock holds: the plain structs that a census fills and that maps and reports read.
 *
 * Filled by machine (from the model) and by observe (from /proc/kpageflags of a real kernel); read by report. All
 * counts are base pages. A page is counted in exactly one class, so the classes of a block add up to `pages`.
 */
#ifndef FL_BASE_CENSUS_H
#define FL_BASE_CENSUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Migratetypes under their own numbers, not those of any kernel (kernels differ, see kernel-facts). */
enum fl_census_type {
	FL_CENSUS_UNMOVABLE,
	FL_CENSUS_MOVABLE,
	FL_CENSUS_RECLAIMABLE,
	FL_CENSUS_HIGHATOMIC,
	FL_CENSUS_CMA,
	FL_CENSUS_ISOLATE,
	FL_CENSUS_TYPE_UNKNOWN, /* a live kernel does not tell the type of a block */
	FL_CENSUS_TYPES
};

enum fl_census_class {
	FL_CENSUS_FREE,      /* in the buddy lists */
	FL_CENSUS_PCP,       /* on per-CPU lists (live: cannot be told from KERNEL) */
	FL_CENSUS_ANON,      /* movable: base pages and mTHP of anonymous memory, on the LRU or in a batch, lazyfree too */
	FL_CENSUS_HUGE,      /* movable: folios of PMD order */
	FL_CENSUS_FILE,      /* movable: page cache, shmem */
	FL_CENSUS_MLOCKED,   /* movable by rule: unevictable */
	FL_CENSUS_DRIVER,    /* driver-movable (balloon, zsmalloc) */
	FL_CENSUS_HUGETLB,
	FL_CENSUS_PGTABLE,   /* unmovable from here on */
	FL_CENSUS_SLAB,
	FL_CENSUS_KERNEL,    /* stacks, pipes, sockets, everything else */
	FL_CENSUS_RESERVED,  /* never managed: kernel image, memory map, firmware */
	FL_CENSUS_HOLE,      /* no such memory */
	FL_CENSUS_CLASSES
};

struct fl_census_block {
	uint64_t start_pfn;
	uint8_t zone; /* index into fl_census.zone_names */
	uint8_t type; /* enum fl_census_type */
	uint16_t largest_free_order_plus_one; /* 0: no free chunk */
	uint32_t pages[FL_CENSUS_CLASSES];
};

struct fl_census {
	uint32_t page_size;        /* bytes */
	uint32_t pages_per_block;
	size_t blocks_count;
	struct fl_census_block *blocks; /* in rising pfn */
	unsigned int zones_count;
	char zone_names[8][16];
	bool types_known;
};

/* Pages of a block that can never be moved: page tables, slab, other kernel pages. */
static inline uint32_t fl_census_unmovable(const struct fl_census_block *b)
{
	return b->pages[FL_CENSUS_PGTABLE] + b->pages[FL_CENSUS_SLAB] + b->pages[FL_CENSUS_KERNEL];
}

/* Pages of a block that compaction may move. */
static inline uint32_t fl_census_movable(const struct fl_census_block *b)
{
	return b->pages[FL_CENSUS_ANON] + b->pages[FL_CENSUS_HUGE] + b->pages[FL_CENSUS_FILE] +
	       b->pages[FL_CENSUS_MLOCKED] + b->pages[FL_CENSUS_DRIVER];
}

#endif
