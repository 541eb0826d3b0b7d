/*
 * mm/page_alloc_internal.h - the short way of a request for pages, inline: shared by page_alloc.c and the short way of a
 * fault in memory.c. Nobody else includes this.
 */
#ifndef FL_MM_PAGE_ALLOC_INTERNAL_H
#define FL_MM_PAGE_ALLOC_INTERNAL_H

#include "mm/pcp.h"
#include "mm/watermark.h"

/* Orders of the short ways: those of per-CPU lists, inside one pageblock. */
static inline bool fl_is_usual_order(const struct fl_mem *mem, unsigned int order)
{
	return order < FL_PCP_CACHED_ORDERS || (order == mem->pmd_order && order <= mem->pageblock_order);
}

/* zone_statistics() with one node: requests, not pages; miss, foreign and other stay 0. */
static inline void fl_count_numa_hits(struct fl_mem *mem, unsigned int requests)
{
	fl_count(mem, FL_VM_numa_hit, requests);
	fl_count(mem, FL_VM_numa_local, requests);
}

/*
 * The usual request in one step, with the same effects as the long way: nobody listens, the preferred zone is above its
 * high mark, nothing is boosted or reclaiming, and the per-CPU list holds a page. FL_PFN_NONE, and nothing done, in any
 * other case. State word and counts of the frame are the caller's to set (fl_page_prep). Never switches.
 */
static inline __attribute__((always_inline)) fl_pfn fl_take_usual(struct fl_mem *mem, struct fl_caller *who, fl_gfp gfp,
								  unsigned int order)
{
	unsigned int ceiling = fl_gfp_zone(gfp);
	struct fl_zone *zone = mem->preferred[ceiling];
	long above = zone->nr_free_pages - (long)((1u << order) - 1) - zone->nr_free_highatomic;
	struct fl_pcp *pcp = &zone->pcp[fl_caller_cpu(who)];
	struct fl_pcp_list *list = &pcp->list[fl_pcp_list_index(order, fl_gfp_migratetype(gfp))];

	if (FL_UNLIKELY(zone->flags || !fl_is_usual_order(mem, order) || (gfp & FL_GFP_HIGH) ||
			mem->set.grouping_disabled || !fl_may_shorten(mem) ||
			above <= (long)(fl_wmark_pages(zone, FL_WMARK_HIGH) + zone->lowmem_reserve[ceiling])))
		return FL_PFN_NONE; /* also where the zone is empty and has no lists */
	if (order && !((zone->nonempty[FL_UNMOVABLE] | zone->nonempty[FL_MOVABLE] | zone->nonempty[FL_RECLAIMABLE]) >>
		       order))
		return FL_PFN_NONE;
	if (FL_UNLIKELY(!list->count))
		return FL_PFN_NONE;
	fl_charge(who->task, mem->cost->alloc_pcp);
	pcp->free_count >>= 1;
	pcp->count -= 1 << order;
	fl_count(mem, FL_VM_pgalloc_dma + zone->index, UINT64_C(1) << order);
	fl_count_numa_hits(mem, 1);
	return fl_pcp_ring_pop_front(list);
}

#endif
