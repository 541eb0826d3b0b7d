/*
 * mm/page_alloc.c - requests for pages: zone list walk, removal, preparation, frees. Mirrors __alloc_pages,
 * get_page_from_freelist, rmqueue and free_unref_page (6.12; __alloc_frozen_pages and free_frozen_pages in 7.3).
 */
#include "mm/page_alloc.h"

#include "mm/buddy.h"
#include "mm/page_alloc_internal.h"
#include "mm/pageblock.h"
#include "mm/vmscan.h"

/* ---- Preparation and undoing ---- */

/* Keeps pageblock.unmovable for an allocation of an unmovable kind. */
static inline void block_unmovable_add(struct fl_mem *mem, fl_pfn pfn, unsigned int order, int sign)
{
	struct fl_pageblock *b = fl_pageblock_of(mem, pfn);
	unsigned int step = order < mem->pageblock_order ? order : mem->pageblock_order;

	for (unsigned int i = 0; i < 1u << (order - step); i++)
		b[i].unmovable = (uint16_t)(b[i].unmovable + sign * (int)(1u << step));
}

static inline void prep_usual(struct fl_mem *mem, fl_pfn pfn, unsigned int order, enum fl_kind kind)
{
	mem->frames.state[pfn] = fl_state(kind, order);
	fl_frame_set_counts(&mem->frames.record[pfn], 0, 1);
	if (fl_kind_is_unmovable(kind))
		fl_pageblock_of(mem, pfn)->unmovable += (uint16_t)(1u << order);
}

static inline void prep(struct fl_mem *mem, fl_pfn pfn, unsigned int order, enum fl_kind kind)
{
	mem->frames.state[pfn] = fl_state(kind, order);
	fl_frame_set_counts(&mem->frames.record[pfn], 0, 1);
	if (fl_kind_is_unmovable(kind))
		block_unmovable_add(mem, pfn, order, 1);
}

void fl_page_prep(struct fl_mem *mem, fl_pfn pfn, unsigned int order, enum fl_kind kind)
{
	prep(mem, pfn, order, kind);
}

void fl_page_set_kind(struct fl_mem *mem, fl_pfn pfn, enum fl_kind kind)
{
	uint32_t state = mem->frames.state[pfn];
	unsigned int order = fl_state_order(state);
	bool was = fl_kind_is_unmovable(fl_state_kind(state)), is = fl_kind_is_unmovable(kind);

	FL_ASSERT(fl_kind_is_allocated(fl_state_kind(state)) && fl_kind_is_allocated(kind));
	mem->frames.state[pfn] = (state & ~FL_STATE_KIND_MASK) | kind;
	if (was != is)
		block_unmovable_add(mem, pfn, order, is ? 1 : -1);
}

void fl_page_split(struct fl_mem *mem, fl_pfn pfn, unsigned int order)
{
	uint32_t state = mem->frames.state[pfn];

	FL_ASSERT(fl_state_order(state) == order && fl_kind_is_allocated(fl_state_kind(state)));
	for (unsigned int i = 0; i < 1u << order; i++) {
		mem->frames.state[pfn + i] = state & ~FL_STATE_ORDER_MASK;
		mem->frames.record[pfn + i].mapcount = 0;
		mem->frames.record[pfn + i].refcount = 1;
	}
}

/* ---- Taking from a zone ---- */

/* rmqueue_buddy(): straight from the buddy lists. */
static fl_pfn rmqueue_buddy(struct fl_mem *mem, struct fl_caller *who, struct fl_zone *zone,
			    const struct fl_alloc_context *ac, uint32_t alloc_flags)
{
	fl_pfn pfn = FL_PFN_NONE;

	fl_charge(who->task, mem->cost->alloc_buddy);
	fl_spin_held(&zone->lock, who->task, mem->cost->alloc_buddy);
	if (alloc_flags & FL_ALLOC_HIGHATOMIC)
		pfn = fl_rmqueue_smallest(mem, who, zone, ac->order, FL_HIGHATOMIC);
	if (pfn == FL_PFN_NONE) {
		enum fl_rmqueue_mode mode = FL_RMQUEUE_NORMAL;

		pfn = fl_rmqueue(mem, who, zone, ac->order, ac->type, alloc_flags, &mode);
	}
	/* The last reserve of those who cannot wait. */
	if (pfn == FL_PFN_NONE && (alloc_flags & (FL_ALLOC_OOM | FL_ALLOC_NON_BLOCK)))
		pfn = fl_rmqueue_smallest(mem, who, zone, ac->order, FL_HIGHATOMIC);
	if (pfn != FL_PFN_NONE && (alloc_flags & FL_ALLOC_HIGHATOMIC) &&
	    (alloc_flags & FL_ALLOC_WMARK_MASK) == FL_WMARK_MIN &&
	    mem->decide.highatomic_reserve_late(&(struct fl_no_facts){ 0 }))
		fl_reserve_highatomic(mem, zone, pfn, ac->order);
	return pfn;
}

/* rmqueue() */
static inline fl_pfn rmqueue(struct fl_mem *mem, struct fl_caller *who, struct fl_zone *zone,
			     const struct fl_alloc_context *ac, uint32_t alloc_flags)
{
	fl_pfn pfn = FL_PFN_NONE;

	if (FL_LIKELY(fl_pcp_allowed_order(mem, ac->order)))
		pfn = fl_pcp_alloc(mem, who, zone, ac->order, ac->type, alloc_flags);
	if (pfn == FL_PFN_NONE)
		pfn = rmqueue_buddy(mem, who, zone, ac, alloc_flags);
	if (FL_LIKELY(pfn != FL_PFN_NONE)) {
		fl_count(mem, FL_VM_pgalloc_dma + zone->index, UINT64_C(1) << ac->order);
		fl_count_numa_hits(mem, 1);
	}
	if (FL_UNLIKELY(zone->flags & FL_ZONE_BOOSTED_WATERMARK) && (alloc_flags & FL_ALLOC_KSWAPD)) {
		zone->flags &= ~FL_ZONE_BOOSTED_WATERMARK;
		fl_wakeup_kswapd(mem, who, zone, 0, 0, zone->index, FL_TRIGGER_BOOST);
	}
	return pfn;
}

/* The watermarks of one zone: may this request take from it? */
static inline bool zone_allows(struct fl_mem *mem, struct fl_zone *zone, const struct fl_alloc_context *ac,
			       uint32_t alloc_flags)
{
	uint64_t mark;

	if (!(zone->flags & FL_ZONE_BELOW_HIGH)) {
		mark = fl_wmark_pages(zone, FL_WMARK_HIGH);
		if (FL_LIKELY(fl_watermark_fast(mem, zone, ac->order, mark, ac->ceiling, alloc_flags, ac->gfp)))
			return true;
		zone->flags |= FL_ZONE_BELOW_HIGH;
	}
	mark = fl_wmark_pages(zone, alloc_flags & FL_ALLOC_WMARK_MASK);
	if (fl_watermark_fast(mem, zone, ac->order, mark, ac->ceiling, alloc_flags, ac->gfp))
		return true;
	return alloc_flags & FL_ALLOC_NO_WATERMARKS;
}

fl_pfn fl_get_page_from_freelist(struct fl_mem *mem, struct fl_caller *who, const struct fl_alloc_context *ac,
				 uint32_t alloc_flags)
{
	for (;;) {
		for (unsigned int z = ac->preferred + 1; z-- > 0;) {
			struct fl_zone *zone = &mem->zone[z];
			fl_pfn pfn;

			if (!zone->managed || !zone_allows(mem, zone, ac, alloc_flags))
				continue;
			pfn = rmqueue(mem, who, zone, ac, alloc_flags);
			if (pfn == FL_PFN_NONE)
				continue;
			fl_page_prep(mem, pfn, ac->order, ac->kind);
			if (FL_UNLIKELY(alloc_flags & FL_ALLOC_HIGHATOMIC) &&
			    !mem->decide.highatomic_reserve_late(&(struct fl_no_facts){ 0 }))
				fl_reserve_highatomic(mem, zone, pfn, ac->order);
			return pfn;
		}
		/* Rather mix types than go without, unless defrag_mode forbids it. */
		if (!(alloc_flags & FL_ALLOC_NOFRAGMENT) || mem->set.defrag_mode)
			return FL_PFN_NONE;
		alloc_flags &= ~FL_ALLOC_NOFRAGMENT;
	}
}

/* ---- Requests ---- */

uint32_t fl_alloc_flags_nofragment(const struct fl_mem *mem, const struct fl_alloc_context *ac)
{
	if (mem->set.defrag_mode)
		return FL_ALLOC_NOFRAGMENT;
	return ac->preferred == FL_ZONE_NORMAL ? FL_ALLOC_NOFRAGMENT : 0;
}

/* prepare_alloc_pages(): zone list, type and the flags of the first pass. */
static inline uint32_t prepare(const struct fl_mem *mem, struct fl_alloc_context *ac)
{
	uint32_t alloc_flags = FL_WMARK_LOW;

	ac->type = mem->set.grouping_disabled ? FL_UNMOVABLE : fl_gfp_migratetype(ac->gfp);
	ac->ceiling = fl_gfp_zone(ac->gfp);
	ac->preferred = mem->preferred[ac->ceiling]->index;
	if (ac->gfp & FL_GFP_KSWAPD_RECLAIM)
		alloc_flags |= FL_ALLOC_KSWAPD;
	if (ac->order && (ac->gfp & (FL_GFP_DIRECT_RECLAIM | FL_GFP_HIGH | FL_GFP_NOMEMALLOC)) == FL_GFP_HIGH &&
	    mem->decide.highatomic_first_pass(&(struct fl_no_facts){ 0 }))
		alloc_flags |= FL_ALLOC_HIGHATOMIC;
	return alloc_flags | fl_alloc_flags_nofragment(mem, ac);
}

/* Every request may go this way. */
static fl_pfn __attribute__((noinline)) alloc_long(struct fl_mem *mem, struct fl_caller *who, fl_gfp gfp,
						   unsigned int order, enum fl_kind kind)
{
	struct fl_alloc_context ac = { .gfp = gfp, .order = order, .kind = kind };
	uint32_t alloc_flags;
	fl_pfn pfn;

	FL_ASSERT(order <= mem->max_order);
	fl_charge(who->task, mem->cost->alloc_pcp);
	alloc_flags = prepare(mem, &ac);
	pfn = fl_get_page_from_freelist(mem, who, &ac, alloc_flags);
	if (FL_UNLIKELY(pfn == FL_PFN_NONE))
		pfn = fl_alloc_slowpath(mem, who, &ac);
	FL_TRACE(mem, who, mm_page_alloc, pfn, order, ac.type, gfp);
	return pfn;
}

static inline __attribute__((always_inline)) fl_pfn alloc_usual(struct fl_mem *mem, struct fl_caller *who, fl_gfp gfp,
								unsigned int order, enum fl_kind kind)
{
	fl_pfn pfn;

	if (FL_UNLIKELY(!fl_take_usual(mem, who, gfp, order, &pfn)))
		return alloc_long(mem, who, gfp, order, kind);
	prep_usual(mem, pfn, order, kind);
	return pfn;
}

static __attribute__((noinline)) fl_pfn alloc_high_order(struct fl_mem *mem, struct fl_caller *who, fl_gfp gfp,
							 unsigned int order, enum fl_kind kind)
{
	return alloc_usual(mem, who, gfp, order, kind);
}

/* Order 0 is most of all requests and has code of its own. */
fl_pfn fl_page_alloc(struct fl_mem *mem, struct fl_caller *who, fl_gfp gfp, unsigned int order, enum fl_kind kind)
{
	return FL_LIKELY(!order) ? alloc_usual(mem, who, gfp, 0, kind) : alloc_high_order(mem, who, gfp, order, kind);
}

/* The zone of a bulk: the first that stays above its low mark by all pages asked for. */
static struct fl_zone *bulk_zone(struct fl_mem *mem, const struct fl_alloc_context *ac, unsigned int count)
{
	for (unsigned int z = ac->preferred + 1; z-- > 0;) {
		struct fl_zone *zone = &mem->zone[z];
		uint64_t mark = fl_wmark_pages(zone, FL_WMARK_LOW) + count;

		if (zone->managed && fl_watermark_fast(mem, zone, 0, mark, ac->preferred, FL_WMARK_LOW, ac->gfp))
			return zone;
	}
	return NULL;
}

/* Up to `count` pages from the per-CPU list of one zone. No flag but the mark: a bulk may mix types at once, wakes nobody,
 * and does not count against a run of frees. */
static unsigned int bulk_from_zone(struct fl_mem *mem, struct fl_caller *who, struct fl_zone *zone,
				   const struct fl_alloc_context *ac, unsigned int count, fl_pfn *ret)
{
	unsigned int got = 0;

	for (; got < count; got++) {
		ret[got] = fl_pcp_take(mem, who, zone, 0, ac->type, FL_WMARK_LOW);
		if (ret[got] == FL_PFN_NONE)
			break;
		fl_page_prep(mem, ret[got], 0, ac->kind);
		fl_charge(who->task, mem->cost->alloc_pcp);
	}
	fl_count(mem, FL_VM_pgalloc_dma + zone->index, got);
	fl_count_numa_hits(mem, got);
	return got;
}

unsigned int fl_page_alloc_bulk(struct fl_mem *mem, struct fl_caller *who, fl_gfp gfp, unsigned int count,
				enum fl_kind kind, fl_pfn *ret)
{
	struct fl_alloc_context ac = { .gfp = gfp, .order = 0, .kind = kind };
	struct fl_zone *zone = NULL;
	unsigned int got;

	if (!count)
		return 0;
	/* One page is an ordinary request, and so is all that is charged to a memory cgroup. */
	if (count > 1 && !(gfp & FL_GFP_ACCOUNT)) {
		prepare(mem, &ac);
		zone = bulk_zone(mem, &ac, count);
	}
	got = zone ? bulk_from_zone(mem, who, zone, &ac, count, ret) : 0;
	if (got)
		return got;
	ret[0] = fl_page_alloc(mem, who, gfp, 0, kind);
	return ret[0] != FL_PFN_NONE;
}

/* ---- Frees ---- */

/* Every free may go this way. */
static void __attribute__((noinline)) free_long(struct fl_mem *mem, struct fl_caller *who, fl_pfn pfn,
						unsigned int order)
{
	struct fl_zone *zone = fl_zone_of(mem, pfn);
	unsigned int type = fl_pageblock_type(mem, pfn);

	FL_TRACE(mem, who, mm_page_free, pfn, order);
	fl_charge(who->task, mem->cost->free);
	if (fl_kind_is_unmovable(fl_state_kind(mem->frames.state[pfn])))
		block_unmovable_add(mem, pfn, order, -1);
	/* Pages of reserves go to the Movable list and find their block's list when they are drained. */
	if (fl_pcp_allowed_order(mem, order) && type != FL_ISOLATE) {
		fl_pcp_free(mem, who, zone, pfn, order, type < FL_PCPTYPES ? type : FL_MOVABLE);
		return;
	}
	fl_count(mem, FL_VM_pgfree, UINT64_C(1) << order);
	fl_charge(who->task, mem->cost->free_buddy);
	fl_spin_held(&zone->lock, who->task, mem->cost->free_buddy);
	mem->frames.state[pfn] = fl_state(FL_KIND_INTERIOR, 0);
	fl_free_to_buddy(mem, who, zone, pfn, order, false);
}

/* The usual free ends on a per-CPU list that stays below its limit (fl_pcp_free_usual). Calls only at its end. */
static inline __attribute__((always_inline)) void free_usual(struct fl_mem *mem, struct fl_caller *who, fl_pfn pfn,
							     unsigned int order)
{
	uint32_t state = mem->frames.state[pfn];
	struct fl_pageblock *block = fl_pageblock_of(mem, pfn);
	unsigned int kind = fl_state_kind(state), type = fl_pageblock_type(mem, pfn);
	struct fl_zone *zone = &mem->zone[FL_ZONE_NORMAL];

	FL_ASSERT_MSG(kind >= FL_KIND_ANON && (state & (FL_STATE_ORDER_MASK | FL_LRU | FL_BATCHED | FL_DEFERRED)) ==
						      order << FL_STATE_ORDER_SHIFT,
		      "a freed page is an allocated head of that order on no list");
	if (FL_UNLIKELY(pfn - zone->start >= zone->spanned)) {
		zone = &mem->zone[FL_ZONE_DMA32];
		if (pfn - zone->start >= zone->spanned)
			zone = NULL;
	}
	if (FL_UNLIKELY(!zone || type >= FL_PCPTYPES || !fl_is_usual_order(mem, order) || !fl_may_shorten(mem) ||
			!fl_pcp_free_usual(mem, zone, &zone->pcp[fl_caller_cpu(who)], pfn, order, type))) {
		free_long(mem, who, pfn, order);
		return;
	}
	fl_charge(who->task, mem->cost->free);
	if (fl_kind_is_unmovable(kind))
		block->unmovable -= (uint16_t)(1u << order);
}

static __attribute__((noinline)) void free_high_order(struct fl_mem *mem, struct fl_caller *who, fl_pfn pfn,
						      unsigned int order)
{
	free_usual(mem, who, pfn, order);
}

void fl_page_free(struct fl_mem *mem, struct fl_caller *who, fl_pfn pfn, unsigned int order)
{
	if (FL_LIKELY(!order))
		free_usual(mem, who, pfn, 0);
	else
		free_high_order(mem, who, pfn, order);
}
