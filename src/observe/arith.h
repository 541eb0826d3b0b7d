/*
 * observe/arith.h - the arithmetic of the page allocator on figures that were read: whole numbers, no I/O.
 *
 * The watermark test of __zone_watermark_ok() for a request's gfp flags, order and ceiling zone, as kernels of each
 * age do it; which zones a request may use; the indices of mm/vmstat.c (debugfs extfrag/). Units are base pages.
 */
#ifndef FL_OBSERVE_ARITH_H
#define FL_OBSERVE_ARITH_H

#include <stdbool.h>
#include <stdint.h>

#include "observe/snapshot.h"

/* What the allocator makes of gfp flags before it tests a watermark. */
struct fl_arith_flags {
	bool min_reserve;  /* __GFP_HIGH: may go to half of min */
	bool harder;       /* non-blocking: another quarter less */
	bool cma;          /* ALLOC_CMA: movable requests */
	bool use_reserve;  /* highatomic pages are not subtracted */
	bool highatomic;   /* may take blocks of the highatomic reserve */
	bool skip_boost;   /* order 0 and atomic: tested again without the boost (since 5.9) */
	bool by_order;     /* before 4.4: the test goes through the orders and halves min each time */
	bool no_marks;     /* __GFP_MEMALLOC: no watermark at all */
	bool can_reclaim;  /* __GFP_DIRECT_RECLAIM: may reclaim and compact */
	enum fl_mem_kind_of_zone ceiling;
};

/* `release` as fl_release_number() gives it; 0 means a current kernel. */
void fl_arith_flags(const struct fl_mem_request *request, int order, unsigned int release, struct fl_arith_flags *ret);

/* Place of a kind of zone among the zones that this kernel has: the index into lowmem_reserve. */
unsigned int fl_arith_zone_index(const struct fl_mem_state *state, enum fl_mem_kind_of_zone kind);
/* lowmem_reserve of the zone against a request with this ceiling; FL_MEM_NONE when it was not printed. */
uint64_t fl_arith_reserve(const struct fl_mem_state *state, const struct fl_mem_zone *zone,
			  enum fl_mem_kind_of_zone ceiling);

/* The boost that is part of min: as printed, or worked out from low - min of a kernel that does not print it. */
uint64_t fl_arith_boost(const struct fl_mem_zone *zone);

/* Which terms to leave out: what would the test say without them? */
enum fl_arith_without {
	FL_ARITH_WITHOUT_BOOST = 1,
	FL_ARITH_WITHOUT_RESERVE = 2,
	FL_ARITH_WITHOUT_CMA = 4,        /* free CMA pages count as usable */
	FL_ARITH_WITHOUT_HIGHATOMIC = 8, /* so do those of the reserve */
	FL_ARITH_WITH_CMA_LOST = 16,     /* the other way: CMA pages are not usable even for a movable request */
};

struct fl_arith_test {
	bool known;       /* free and min were there */
	uint64_t free;
	uint64_t order_pages, cma_pages, highatomic_pages; /* subtracted */
	int64_t usable;   /* free minus these */
	uint64_t min;     /* the mark as printed (with its boost), before reductions */
	uint64_t boost;   /* part of it */
	uint64_t mark;    /* after reductions for this request */
	uint64_t reserve; /* lowmem_reserve; 0 when not printed */
	bool pages_ok;    /* usable > mark + reserve */
	bool by_order_failed; /* that holds, but too little of it is in larger orders (kernels before 4.4) */
	uint64_t by_order_pages, by_order_mark; /* where that test failed: what was left, what had to be exceeded */
	bool lists_known;
	bool block_ok;    /* a block of that order that this request may take; true for order 0 */
	bool ok;
	uint64_t blocks;  /* free blocks of that order, larger ones split up; any type */
	bool only_cma, only_highatomic; /* !block_ok, and there are blocks, all of this kind (or of both) */
};

/* The test against min with `free` pages (zone->free, or the sum of its lists). `without`: enum fl_arith_without. */
void fl_arith_test(const struct fl_mem_state *state, const struct fl_mem_zone *zone, uint64_t free,
		   const struct fl_arith_flags *flags, int order, unsigned int without, struct fl_arith_test *ret);

/* Pages in the free lists, saturating. */
uint64_t fl_arith_pages(const uint64_t *blocks, unsigned int orders);
/* Blocks of `order` in them when larger ones are split: the kernel's free_blocks_suitable. */
uint64_t fl_arith_blocks(const uint64_t *blocks, unsigned int orders, unsigned int order);
/* unusable_free_index() and fragmentation_index(), in thousandths; -1000: an allocation would succeed. */
int fl_arith_unusable_index(const uint64_t *blocks, unsigned int orders, unsigned int order);
int fl_arith_fragmentation_index(const uint64_t *blocks, unsigned int orders, unsigned int order);

/* The order of a page table's leaf at the next level, the size of a huge page: 9 for 4 KiB pages, 13 for 64 KiB. */
unsigned int fl_arith_pmd_order(uint32_t page_size);
/* Smallest order that holds so many bytes. */
int fl_arith_order_of(uint64_t bytes, uint32_t page_size);

/* Is `node` in a list as the kernel prints it, "0-1,3"? An empty list or "(null)" holds every node. */
bool fl_arith_node_in(const char *list, int node);

#endif
