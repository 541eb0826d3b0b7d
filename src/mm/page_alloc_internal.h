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

/* Free pages by which the zone passes its high mark for this request, in the quick compare. */
static inline long fl_pages_above_high(const struct fl_zone *zone, unsigned int order, unsigned int ceiling)
{
	return zone->nr_free_pages - (long)((1u << order) - 1) - zone->nr_free_highatomic -
	       (long)(fl_wmark_pages(zone, FL_WMARK_HIGH) + zone->lowmem_reserve[ceiling]);
}

/*
 * The usual request in one step, with the same effects as the long way: nobody listens, the preferred zone is above its
 * high mark, nothing is boosted or reclaiming, and the per-CPU list holds a page. False, and nothing done, in any other
 * case. State word and counts of the frame are the caller's to set (fl_page_prep). Never switches.
 */
static inline __attribute__((always_inline)) bool fl_take_usual(struct fl_mem *mem, struct fl_caller *who, fl_gfp gfp,
								unsigned int order, fl_pfn *ret)
{
	unsigned int ceiling = fl_gfp_zone(gfp);
	struct fl_zone *zone = mem->preferred[ceiling];
	struct fl_pcp_list *list;
	struct fl_pcp *pcp;

	if (FL_UNLIKELY(zone->flags | (gfp & FL_GFP_HIGH) | mem->set.grouping_disabled) || !fl_may_shorten(mem) ||
	    !fl_is_usual_order(mem, order))
		return false;
	if (FL_UNLIKELY(fl_pages_above_high(zone, order, ceiling) <= 0)) /* also where the zone is empty, without lists */
		return false;
	if (order && !((zone->nonempty[FL_UNMOVABLE] | zone->nonempty[FL_MOVABLE] | zone->nonempty[FL_RECLAIMABLE]) >>
		       order))
		return false;
	pcp = &zone->pcp[fl_caller_cpu(who)];
	list = &pcp->list[fl_pcp_list_index(order, fl_gfp_migratetype(gfp))];
	if (FL_UNLIKELY(!list->count))
		return false;
	fl_charge(who->task, mem->cost->alloc_pcp);
	pcp->free_count >>= 1;
	pcp->count -= 1 << order;
	fl_count(mem, FL_VM_pgalloc_dma + zone->index, UINT64_C(1) << order);
	fl_count_numa_hits(mem, 1);
	*ret = fl_pcp_ring_pop_front(list);
	return true;
}

#endif
