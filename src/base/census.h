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
	FL_CENSUS_PGTABLE,   /* unmovable: this one and the next two */
	FL_CENSUS_SLAB,
	FL_CENSUS_KERNEL,    /* stacks, pipes, sockets, everything else */
	FL_CENSUS_RESERVED,  /* never managed: kernel image, memory map, firmware; also poisoned pages */
	FL_CENSUS_NOT_MANAGED, /* present, but not handed to the allocator yet: neither free nor fragmented */
	FL_CENSUS_HOLE,      /* no such memory */
	FL_CENSUS_CLASSES
};

struct fl_census_block {
	uint64_t start_pfn;
	uint8_t zone; /* index into fl_census.zone_names */
	uint8_t type; /* enum fl_census_type */
	uint16_t largest_free_order_plus_one; /* 0: no free chunk */
	uint32_t pages[FL_CENSUS_CLASSES];
	/* Part of pages[FL_CENSUS_KERNEL] that nothing identifies (live only): kernel memory or pages on per-CPU lists. */
	uint32_t unidentified;
};

#define FL_CENSUS_ZONES_MAX 32
#define FL_CENSUS_ORDERS 19 /* orders 0 to 18: up to 1 GiB of 4 KiB pages */

/*
 * What is known of a zone beyond its pageblocks. A slot of order n is a naturally aligned group of 2^n pages, all
 * inside the zone. A clean slot holds free and movable pages only, so it is a free slot once its movable pages have
 * moved. Slots above the pageblock order count too: alloc_contig_range() can have them, the buddy lists cannot.
 */
struct fl_census_zone {
	uint64_t start_pfn, spanned, present, managed; /* pages */
	uint64_t pcp;                                  /* pages on per-CPU lists at the time of the census */
	uint64_t free_slots[FL_CENSUS_ORDERS];         /* wholly free */
	uint64_t clean_slots[FL_CENSUS_ORDERS];        /* free and movable pages only; the free slots are among them */
	uint64_t clean_free_pages[FL_CENSUS_ORDERS];   /* free pages that lie in clean slots of that order */
};

struct fl_census {
	uint32_t page_size;        /* bytes */
	uint32_t pages_per_block;
	size_t blocks_count;
	struct fl_census_block *blocks; /* in rising pfn */
	unsigned int zones_count;
	char zone_names[FL_CENSUS_ZONES_MAX][16];
	struct fl_census_zone *zones; /* zones_count of them, owned; NULL where only the pageblocks are known */
	bool types_known;
};

/* The counts that the project reports, over all blocks or those of one zone. */
struct fl_census_counts {
	uint64_t pageblocks;             /* with at least one managed or reserved page */
	uint64_t polluted_pageblocks;    /* typed movable, hold unmovable pages; 0 where types are not known */
	uint64_t unmovable_pageblocks;   /* hold unmovable pages, of whatever type they are */
	uint64_t mixed_pageblocks;       /* hold both unmovable and movable pages */
	uint64_t unsure_pageblocks;      /* of unmovable_pageblocks: every such page is unidentified (live only) */
	uint64_t unmovable_pages;        /* page tables, slab, kernel */
	uint64_t unidentified_pages;     /* of unmovable_pages (live only) */
	uint64_t movable_pages, free_pages;
	uint64_t polluting_pages;        /* unmovable pages in blocks typed movable */
	uint64_t stray_movable_pages;    /* movable pages in blocks of other known types */
	uint64_t free_huge_slots;        /* blocks that are wholly free: huge pages that can be had now */
	uint64_t reclaimable_huge_slots; /* blocks of free, per-CPU and movable pages only; the free ones included */
	uint64_t class_pages[FL_CENSUS_CLASSES];
	uint64_t type_blocks[FL_CENSUS_TYPES];
};

#define FL_CENSUS_ALL_ZONES (-1)

/* Counts the blocks of one zone (an index into zone_names) or of all of them. */
void fl_census_count(const struct fl_census *census, int zone, struct fl_census_counts *ret);

/*
 * Fills zones[i].*_slots of the orders at and above the pageblock order from the blocks; those below it need the
 * single pages and are the filler's business. Allocates census->zones if it is NULL.
 */
void fl_census_fill_block_slots(struct fl_census *census);

/* Order of a pageblock: log2 of pages_per_block. */
unsigned int fl_census_block_order(const struct fl_census *census);

/* Frees what the census owns and empties it; harmless on a zeroed census. */
void fl_census_free(struct fl_census *census);

/* "free", "page tables", ...; "Unmovable", "Movable", ... as in pagetypeinfo. Never NULL. */
const char *fl_census_class_name(enum fl_census_class class);
const char *fl_census_type_name(enum fl_census_type type);

/*
 * Pages of a block that can never be moved: page tables, slab, other kernel pages. Reserved pages are not among
 * them: no kernel policy put them there, although they keep a huge page from forming just as well.
 */
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
