/*
 * mm/pcp.h - per-CPU lists of free pages: sizing, refill, drain, decay. Part of mm/page_alloc.c.
 *
 * The lists are rings of pfns: semantically the kernel's lists (head allocated next, tail drained), without links in
 * the frames. Pages on them have the kind FL_KIND_PCP and are not in NR_FREE_PAGES.
 */
#ifndef FL_MM_PCP_H
#define FL_MM_PCP_H

#include "mm/page_alloc.h"

/* pcp_allowed_order(): orders 0..3 and the PMD order. */
static inline bool fl_pcp_allowed_order(const struct fl_mem *mem, unsigned int order)
{
	return order < FL_PCP_CACHED_ORDERS || order == mem->pmd_order;
}

#define FL_PCP_BATCH_SCALE_MAX 5 /* CONFIG_PCP_BATCH_SCALE_MAX */

/* order_to_pindex() */
static inline unsigned int fl_pcp_list_index(unsigned int order, unsigned int type)
{
	if (FL_UNLIKELY(order >= FL_PCP_CACHED_ORDERS))
		return FL_PCPTYPES * FL_PCP_CACHED_ORDERS + (type == FL_MOVABLE);
	return FL_PCPTYPES * order + type;
}

/* The ring: a deque of pfns that grows on demand. */
void fl_pcp_ring_grow(struct fl_pcp_list *list) __attribute__((cold));

static inline void fl_pcp_ring_reserve(struct fl_pcp_list *list)
{
	if (FL_UNLIKELY(list->count >= list->slots))
		fl_pcp_ring_grow(list);
}

static inline void fl_pcp_ring_push_front(struct fl_pcp_list *list, fl_pfn pfn)
{
	fl_pcp_ring_reserve(list);
	list->head = (list->head - 1) & (list->slots - 1);
	list->ring[list->head] = pfn;
	list->count++;
}

static inline fl_pfn fl_pcp_ring_pop_front(struct fl_pcp_list *list)
{
	fl_pfn pfn = list->ring[list->head];

	list->head = (list->head + 1) & (list->slots - 1);
	list->count--;
	return pfn;
}

/* __rmqueue_pcplist(): takes the head of the list, refilling it when empty; FL_PFN_NONE if nothing came. The frame is
 * left as FL_KIND_PCP for fl_page_prep(). */
fl_pfn fl_pcp_take(struct fl_mem *mem, struct fl_caller *who, struct fl_zone *zone, unsigned int order,
		   unsigned int type, uint32_t alloc_flags);

/* rmqueue_pcplist(): the same for a request; halves what the CPU counts as freed in a row. */
fl_pfn fl_pcp_alloc(struct fl_mem *mem, struct fl_caller *who, struct fl_zone *zone, unsigned int order,
		    unsigned int type, uint32_t alloc_flags);

/*
 * The usual case of fl_pcp_free(), with the same effects: nothing is drained and no limit moves, since the count stays
 * below a limit in range. False, and nothing done, in any other case.
 */
static inline bool fl_pcp_free_usual(struct fl_mem *mem, struct fl_zone *zone, struct fl_pcp *pcp, fl_pfn pfn,
				     unsigned int order, unsigned int type)
{
	struct fl_pcp_list *list = &pcp->list[fl_pcp_list_index(order, type)];
	uint32_t slots = list->slots, count = list->count, head = (list->head - 1) & (slots - 1);
	int pages = 1 << order, high = pcp->high, total = pcp->count + pages;

	if (FL_UNLIKELY((zone->flags & (FL_ZONE_RECLAIM_ACTIVE | FL_ZONE_BELOW_HIGH)) || pcp->prev_free_high_order ||
			(order && order <= FL_COSTLY_ORDER) || total >= high || high > pcp->high_max ||
			high < pcp->high_min || count >= slots))
		return false;
	pcp->alloc_factor >>= 1;
	fl_count(mem, FL_VM_pgfree, (unsigned int)pages);
	mem->frames.state[pfn] = fl_state(FL_KIND_PCP, order);
	list->head = head;
	list->ring[head] = pfn;
	list->count = count + 1;
	pcp->count = total;
	if (pcp->free_count < pcp->batch << FL_PCP_BATCH_SCALE_MAX)
		pcp->free_count += pages;
	return true;
}

/* free_frozen_page_commit(): puts a page on the caller's CPU and drains what is over the limit. `type` is the list. */
void fl_pcp_free(struct fl_mem *mem, struct fl_caller *who, struct fl_zone *zone, fl_pfn pfn, unsigned int order,
		 unsigned int type);

/* Drains this CPU's lists of one zone, or of all zones when zone is NULL (drain_local_pages). */
void fl_pcp_drain_cpu(struct fl_mem *mem, struct fl_caller *who, struct fl_zone *zone, unsigned int cpu);

/* drain_all_pages(): all CPUs; zone NULL: all zones. */
void fl_pcp_drain_all(struct fl_mem *mem, struct fl_caller *who, struct fl_zone *zone);

/* decay_pcp_high(): what vmstat_update does about once a second on each CPU for each zone. True while
 * there is more to do: it drained, or the limit is still above its least value. */
bool fl_pcp_decay(struct fl_mem *mem, struct fl_caller *who, struct fl_zone *zone, unsigned int cpu);

/* zone_batchsize(), zone_highsize(): pure functions of the zone's size, low watermark and CPU count. */
int fl_pcp_batch(uint32_t managed, unsigned int page_shift);
int fl_pcp_high(uint32_t managed, uint64_t low_wmark, unsigned int cpus, unsigned int high_fraction, int batch,
		bool max);

/* Recomputes batch, high_min and high_max of a zone (zone_pcp_update). */
void fl_pcp_update(struct fl_mem *mem, struct fl_zone *zone);

/* Pages on the lists of all CPUs of a zone. */
uint32_t fl_pcp_pages(const struct fl_mem *mem, const struct fl_zone *zone);

#endif
