/*
 * mm/pcp.c - per-CPU lists of free pages. Mirrors the pcp part of mm/page_alloc.c: rmqueue_pcplist, nr_pcp_alloc,
 * free_frozen_page_commit (free_unref_page_commit in 6.12), nr_pcp_high, nr_pcp_free, free_pcppages_bulk,
 * decay_pcp_high, zone_batchsize, zone_highsize. Owns struct fl_pcp.
 */
#include "mm/pcp.h"

#include "base/text.h"
#include "mm/buddy.h"
#include "mm/watermark.h"

static inline int min_int(int a, int b)
{
	return a < b ? a : b;
}

static inline int max_int(int a, int b)
{
	return a > b ? a : b;
}

/* clamp() of the kernel: the upper limit wins last. */
static inline int clamp_int(int x, int low, int high)
{
	return min_int(max_int(x, low), high);
}

/* ---- The ring ---- */

void fl_pcp_ring_grow(struct fl_pcp_list *list)
{
	uint32_t slots = list->slots ? list->slots * 2 : 64;
	uint32_t *ring = fl_xmalloc(slots * sizeof(*ring));

	for (uint32_t i = 0; i < list->count; i++)
		ring[i] = list->ring[(list->head + i) & (list->slots - 1)];
	fl_xfree(list->ring);
	list->ring = ring;
	list->slots = slots;
	list->head = 0;
}

static inline void ring_push_back(struct fl_pcp_list *list, fl_pfn pfn)
{
	fl_pcp_ring_reserve(list);
	list->ring[(list->head + list->count++) & (list->slots - 1)] = pfn;
}

static inline fl_pfn ring_pop_back(struct fl_pcp_list *list)
{
	return list->ring[(list->head + --list->count) & (list->slots - 1)];
}

/* ---- Indices and sizes ---- */

/* pindex_to_order() */
static inline unsigned int list_order(const struct fl_mem *mem, unsigned int index)
{
	return index < FL_PCPTYPES * FL_PCP_CACHED_ORDERS ? index / FL_PCPTYPES : mem->pmd_order;
}

int fl_pcp_batch(uint32_t managed, unsigned int page_shift)
{
	uint32_t batch = managed >> 10, megabyte = (1u << 20) >> page_shift;

	if (batch > megabyte)
		batch = megabyte;
	batch /= 4;
	if (batch < 1)
		batch = 1;
	batch += batch / 2;
	return (int)(1u << (31 - __builtin_clz(batch))) - 1;
}

int fl_pcp_high(uint32_t managed, uint64_t low_wmark, unsigned int cpus, unsigned int high_fraction, int batch,
		bool max)
{
	uint64_t pages = low_wmark;

	if (high_fraction)
		pages = managed / high_fraction;
	else if (max)
		pages = managed / 8; /* MIN_PERCPU_PAGELIST_HIGH_FRACTION */
	return max_int((int)(pages / cpus), batch * 4);
}

void fl_pcp_update(struct fl_mem *mem, struct fl_zone *zone)
{
	/* zone_set_pageset_high_and_batch(): a batch of 0 (tiny zone) counts as 1. */
	int batch = max_int(1, fl_pcp_batch(zone->managed, mem->page_shift));
	unsigned int fraction = mem->set.percpu_pagelist_high_fraction;
	uint64_t low = fl_wmark_pages(zone, FL_WMARK_LOW);
	int high_min = fl_pcp_high(zone->managed, low, mem->cpus, fraction, batch, false);
	int high_max = fl_pcp_high(zone->managed, low, mem->cpus, fraction, batch, true);

	for (unsigned int cpu = 0; zone->pcp && cpu < mem->cpus; cpu++) {
		zone->pcp[cpu].batch = batch;
		zone->pcp[cpu].high_min = high_min;
		zone->pcp[cpu].high_max = high_max;
	}
}

uint32_t fl_pcp_pages(const struct fl_mem *mem, const struct fl_zone *zone)
{
	uint32_t pages = 0;

	for (unsigned int cpu = 0; zone->pcp && cpu < mem->cpus; cpu++)
		pages += (uint32_t)zone->pcp[cpu].count;
	return pages;
}

/* ---- Allocation ---- */

/* nr_pcp_alloc(): how many chunks to take from the buddy lists at once. */
static int refill_chunks(const struct fl_zone *zone, struct fl_pcp *pcp, unsigned int order)
{
	int base = pcp->batch, batch, high, max_alloc;

	high = pcp->high = clamp_int(pcp->high, pcp->high_min, pcp->high_max);
	if (FL_UNLIKELY(high < base))
		return 1;
	batch = order ? base : base << pcp->alloc_factor;
	if (pcp->high_min != pcp->high_max && !(zone->flags & FL_ZONE_BELOW_HIGH))
		high = pcp->high = min_int(high + batch, pcp->high_max);
	if (!order) {
		max_alloc = max_int(high - pcp->count - base, base);
		if (batch <= max_alloc && pcp->alloc_factor < FL_PCP_BATCH_SCALE_MAX)
			pcp->alloc_factor++;
		batch = min_int(batch, max_alloc);
	}
	return batch > 1 ? max_int(batch >> order, 2) : batch;
}

/* Appends `run` chunks that lie in a row. */
static inline void list_run(struct fl_mem *mem, struct fl_pcp_list *list, fl_pfn pfn, unsigned int order,
			    unsigned int run)
{
	for (unsigned int i = 0; i < run; i++, pfn += 1u << order) {
		mem->frames.state[pfn] = fl_state(FL_KIND_PCP, order);
		ring_push_back(list, pfn);
	}
}

/* rmqueue_bulk(): appends to the tail, so that the head is the lowest pfn of a fresh split. */
static void refill(struct fl_mem *mem, struct fl_caller *who, struct fl_zone *zone, struct fl_pcp *pcp,
		   struct fl_pcp_list *list, unsigned int order, unsigned int type, uint32_t alloc_flags)
{
	int chunks = refill_chunks(zone, pcp, order), got = 0;
	enum fl_rmqueue_mode mode = FL_RMQUEUE_NORMAL;

	while (got < chunks) {
		unsigned int run = 0;
		fl_pfn pfn;

		if (mode == FL_RMQUEUE_NORMAL)
			run = fl_rmqueue_run(mem, zone, order, type, (unsigned int)(chunks - got), &pfn);
		if (!run) {
			pfn = fl_rmqueue(mem, who, zone, order, type, alloc_flags, &mode);
			if (pfn == FL_PFN_NONE)
				break;
			run = 1;
		}
		list_run(mem, list, pfn, order, run);
		got += (int)run;
	}
	pcp->count += got << order;
	/* One lock hold for all of them; each costs its removal. */
	fl_charge(who->task, mem->cost->alloc_buddy + (uint32_t)got * (mem->cost->alloc_buddy / 4));
	fl_spin_held(&zone->lock, who->task, mem->cost->alloc_buddy + (uint32_t)got * (mem->cost->alloc_buddy / 4));
}

fl_pfn fl_pcp_take(struct fl_mem *mem, struct fl_caller *who, struct fl_zone *zone, unsigned int order,
		   unsigned int type, uint32_t alloc_flags)
{
	struct fl_pcp *pcp = &zone->pcp[fl_caller_cpu(who)];
	struct fl_pcp_list *list = &pcp->list[fl_pcp_list_index(order, type)];

	if (FL_UNLIKELY(!list->count)) {
		if ((alloc_flags & FL_ALLOC_HIGHATOMIC) &&
		    !mem->decide.highatomic_refills_pcp(&(struct fl_no_facts){ 0 }))
			return FL_PFN_NONE;
		refill(mem, who, zone, pcp, list, order, type, alloc_flags);
		if (!list->count)
			return FL_PFN_NONE;
	}
	pcp->count -= 1 << order;
	return fl_pcp_ring_pop_front(list);
}

fl_pfn fl_pcp_alloc(struct fl_mem *mem, struct fl_caller *who, struct fl_zone *zone, unsigned int order,
		    unsigned int type, uint32_t alloc_flags)
{
	zone->pcp[fl_caller_cpu(who)].free_count >>= 1;
	return fl_pcp_take(mem, who, zone, order, type, alloc_flags);
}

/* ---- Freeing ---- */

/* free_pcppages_bulk(): from the tails, starting at one list, then cyclically, until n base pages are gone. */
static void drain(struct fl_mem *mem, struct fl_caller *who, struct fl_zone *zone, struct fl_pcp *pcp, int n,
		  unsigned int index)
{
	n = min_int(n, pcp->count);
	while (n > 0) {
		struct fl_pcp_list *list = &pcp->list[index];
		unsigned int order = list_order(mem, index);

		while (n > 0 && list->count) {
			unsigned int type;
			fl_pfn pfn;

			/* The frames of a drain are far apart: fetch ahead. */
			if (list->count > 8)
				fl_frame_fetch(&mem->frames,
					       list->ring[(list->head + list->count - 8) & (list->slots - 1)]);
			pfn = ring_pop_back(list);
			n -= 1 << order;
			pcp->count -= 1 << order;
			type = fl_pageblock_type(mem, pfn);
			mem->frames.state[pfn] = fl_state(FL_KIND_INTERIOR, 0);
			fl_free_to_buddy(mem, who, zone, pfn, order, false);
			FL_TRACE(mem, who, mm_page_pcpu_drain, pfn, order, type);
			fl_charge(who->task, mem->cost->free_buddy / 2);
			fl_spin_held(&zone->lock, who->task, mem->cost->free_buddy / 2);
		}
		index = index + 1 == FL_PCP_LISTS ? 0 : index + 1;
	}
}

/* nr_pcp_high(): pages that may stay, and adaptation of the limit. */
static int keep_pages(const struct fl_zone *zone, struct fl_pcp *pcp, bool free_high)
{
	int batch = pcp->batch, high, need;

	high = pcp->high = clamp_int(pcp->high, pcp->high_min, pcp->high_max);
	if (FL_UNLIKELY(!high))
		return 0;
	if (FL_UNLIKELY(free_high)) {
		pcp->high = max_int(high - (batch << FL_PCP_BATCH_SCALE_MAX), pcp->high_min);
		return 0;
	}
	if (zone->flags & FL_ZONE_RECLAIM_ACTIVE) {
		pcp->high = max_int(high - max_int(pcp->free_count, batch), pcp->high_min);
		return min_int(batch << 2, pcp->high);
	}
	if (pcp->high_min == pcp->high_max)
		return high;
	if (zone->flags & FL_ZONE_BELOW_HIGH) {
		pcp->high = max_int(high - max_int(pcp->free_count, batch), pcp->high_min);
		return max_int(pcp->count, pcp->high_min);
	}
	if (pcp->count >= high) {
		need = pcp->free_count + batch;
		if (pcp->high < need)
			pcp->high = clamp_int(need, pcp->high_min, pcp->high_max);
	}
	return high;
}

/* nr_pcp_free(): pages to drain. */
static int drain_pages(const struct fl_pcp *pcp, int high, bool free_high)
{
	if (FL_UNLIKELY(free_high))
		return min_int(pcp->count, pcp->batch << FL_PCP_BATCH_SCALE_MAX);
	if (FL_UNLIKELY(high < pcp->batch))
		return 1;
	return clamp_int(pcp->free_count, pcp->batch, high - pcp->batch);
}

/* Orders 1..3 in a row hurt when they pile up: let them go (free_high). */
static bool burst_of_high_orders(const struct fl_mem *mem, struct fl_pcp *pcp, unsigned int order)
{
	struct fl_pcp_facts facts = {
		.batch = (unsigned int)pcp->batch,
		.high_min = (unsigned int)pcp->high_min,
		.free_count = (unsigned int)pcp->free_count,
	};
	bool burst;

	if (!order || order > FL_COSTLY_ORDER) {
		pcp->prev_free_high_order = false;
		return false;
	}
	burst = pcp->prev_free_high_order && (!pcp->free_high_batch || pcp->count >= pcp->batch) &&
		mem->decide.pcp_free_high(&facts);
	pcp->prev_free_high_order = true;
	return burst;
}

void fl_pcp_free(struct fl_mem *mem, struct fl_caller *who, struct fl_zone *zone, fl_pfn pfn, unsigned int order,
		 unsigned int type)
{
	struct fl_pcp *pcp = &zone->pcp[fl_caller_cpu(who)];
	unsigned int index = fl_pcp_list_index(order, type);
	bool free_high;
	int high;

	pcp->alloc_factor >>= 1;
	fl_count(mem, FL_VM_pgfree, UINT64_C(1) << order);
	mem->frames.state[pfn] = fl_state(FL_KIND_PCP, order);
	fl_pcp_ring_push_front(&pcp->list[index], pfn);
	pcp->count += 1 << order;
	free_high = burst_of_high_orders(mem, pcp, order);
	if (pcp->free_count < pcp->batch << FL_PCP_BATCH_SCALE_MAX)
		pcp->free_count += 1 << order;
	high = keep_pages(zone, pcp, free_high);
	if (pcp->count < high)
		return;
	drain(mem, who, zone, pcp, drain_pages(pcp, high, free_high), index);
	if ((zone->flags & FL_ZONE_BELOW_HIGH) &&
	    fl_watermark_ok(mem, zone, 0, fl_wmark_pages(zone, FL_WMARK_HIGH), FL_ZONE_MOVABLE, 0))
		zone->flags &= ~FL_ZONE_BELOW_HIGH;
}

/* ---- Draining on demand ---- */

static void drain_zone_cpu(struct fl_mem *mem, struct fl_caller *who, struct fl_zone *zone, unsigned int cpu)
{
	struct fl_pcp *pcp;

	if (!zone->pcp)
		return;
	pcp = &zone->pcp[cpu];
	while (pcp->count)
		drain(mem, who, zone, pcp, min_int(pcp->count, pcp->batch << FL_PCP_BATCH_SCALE_MAX), 0);
}

void fl_pcp_drain_cpu(struct fl_mem *mem, struct fl_caller *who, struct fl_zone *zone, unsigned int cpu)
{
	if (zone) {
		drain_zone_cpu(mem, who, zone, cpu);
		return;
	}
	for (unsigned int z = 0; z < FL_ZONES; z++)
		drain_zone_cpu(mem, who, &mem->zone[z], cpu);
}

void fl_pcp_drain_all(struct fl_mem *mem, struct fl_caller *who, struct fl_zone *zone)
{
	for (unsigned int cpu = 0; cpu < mem->cpus; cpu++)
		fl_pcp_drain_cpu(mem, who, zone, cpu);
}

bool fl_pcp_decay(struct fl_mem *mem, struct fl_caller *who, struct fl_zone *zone, unsigned int cpu)
{
	struct fl_pcp *pcp;
	int excess;
	bool todo = false;

	if (!zone->pcp)
		return false;
	pcp = &zone->pcp[cpu];
	if (pcp->high > pcp->high_min) {
		pcp->high = max_int(max_int(pcp->count - (pcp->batch << FL_PCP_BATCH_SCALE_MAX),
					    pcp->high - (pcp->high >> 3)),
				    pcp->high_min);
		todo = pcp->high > pcp->high_min;
	}
	for (excess = pcp->count - pcp->high; excess > 0; excess -= pcp->batch) {
		drain(mem, who, zone, pcp, min_int(excess, pcp->batch), 0);
		todo = true;
	}
	return todo;
}
