/*
 * mm/slowpath.c - what a request does when the first walk over the zones gave nothing: __alloc_pages_slowpath() and its
 * helpers in mm/page_alloc.c.
 *
 * The two trees differ in the order of the steps, so there are two shapes: 6.12 compacts before its loop, 7.3 inside it
 * (decision slowpath_compacts_in_loop). The steps themselves are shared and know nothing of the shape.
 */
#include "mm/slowpath.h"

#include "mm/compaction.h"
#include "mm/oom_kill.h"
#include "mm/pageblock.h"
#include "mm/pcp.h"
#include "mm/sysctl.h"
#include "mm/vmscan.h"
#include "mm/watermark.h"

/* One request on its way through the slow path. */
struct slowpath {
	struct fl_mem *mem;
	struct fl_caller *who;
	const struct fl_alloc_context *ac;
	struct fl_alloc_context reclaim_ac; /* order for reclaim and compaction: defrag_mode raises it */
	uint32_t alloc_flags;
	bool costly, can_reclaim, can_compact;
	unsigned long progress; /* did_some_progress of the last reclaim or kill */
	unsigned int no_progress_loops;
	unsigned int compact_retries;
	enum fl_compact_priority priority;
	enum fl_compact_result result;
};

uint32_t fl_slowpath_alloc_flags(const struct fl_caller *who, const struct fl_alloc_context *ac)
{
	uint32_t flags = FL_WMARK_MIN;

	if (ac->gfp & FL_GFP_HIGH)
		flags |= FL_ALLOC_MIN_RESERVE;
	if (ac->gfp & FL_GFP_KSWAPD_RECLAIM)
		flags |= FL_ALLOC_KSWAPD;
	if (!(ac->gfp & FL_GFP_DIRECT_RECLAIM)) {
		if (ac->gfp & FL_GFP_NOMEMALLOC)
			return flags;
		flags |= FL_ALLOC_NON_BLOCK;
		if (ac->order > 0 && (flags & FL_ALLOC_MIN_RESERVE))
			flags |= FL_ALLOC_HIGHATOMIC;
	} else if (who->flags & FL_PF_RT) {
		flags |= FL_ALLOC_MIN_RESERVE;
	}
	return flags;
}

uint32_t fl_reserve_flags(const struct fl_caller *who, fl_gfp gfp)
{
	if (gfp & FL_GFP_NOMEMALLOC)
		return 0;
	if ((gfp & FL_GFP_MEMALLOC) || (who->flags & FL_PF_MEMALLOC))
		return FL_ALLOC_NO_WATERMARKS;
	return who->flags & FL_PF_OOM_VICTIM ? FL_ALLOC_OOM : 0;
}

/* Does some zone pass the min mark at this order if all that is reclaimable were free? */
static bool some_zone_could_pass(struct fl_mem *mem, const struct fl_alloc_context *ac, uint32_t alloc_flags)
{
	for (int i = (int)ac->ceiling; i >= 0; i--) {
		struct fl_zone *zone = &mem->zone[i];
		long available;

		if (!zone->managed)
			continue;
		available = zone->nr_free_pages + (long)fl_zone_reclaimable_pages(mem, zone);
		if (fl_watermark_ok_free(mem, zone, ac->order, fl_wmark_pages(zone, FL_WMARK_MIN), ac->ceiling,
					 alloc_flags, available))
			return true;
	}
	return false;
}

bool fl_should_reclaim_retry(struct fl_mem *mem, struct fl_caller *who, const struct fl_alloc_context *ac,
			     uint32_t alloc_flags, bool did_some_progress, unsigned int *no_progress_loops)
{
	if (did_some_progress && ac->order <= FL_COSTLY_ORDER)
		*no_progress_loops = 0;
	else
		(*no_progress_loops)++;
	if (*no_progress_loops <= FL_MAX_RECLAIM_RETRIES && some_zone_could_pass(mem, ac, alloc_flags))
		return true;
	return fl_unreserve_highatomic(mem, ac, true);
}

bool fl_should_compact_retry(struct fl_mem *mem, const struct fl_caller *who, const struct fl_alloc_context *ac,
			     uint32_t alloc_flags, enum fl_compact_result result,
			     enum fl_compact_priority *priority, unsigned int *retries)
{
	unsigned int max_retries = FL_MAX_COMPACT_RETRIES;
	enum fl_compact_priority floor = FL_COMPACT_PRIO_MIN;

	if (ac->order == 0 || (who->flags & FL_PF_OOM_VICTIM))
		return false;
	if (result == FL_COMPACT_SKIPPED)
		return fl_compaction_zonelist_suitable(mem, ac);
	if (ac->order > FL_COSTLY_ORDER) {
		max_retries /= 4;
		floor = FL_COMPACT_PRIO_MIN_COSTLY;
	}
	if (result == FL_COMPACT_SUCCESS && ++*retries <= max_retries)
		return true;
	if (*priority <= floor)
		return false;
	(*priority)--;
	*retries = 0;
	return true;
}

bool fl_may_oom_kill(const struct fl_alloc_context *ac)
{
	return ac->order <= FL_COSTLY_ORDER && !(ac->gfp & (FL_GFP_RETRY_MAYFAIL | FL_GFP_THISNODE)) &&
	       ac->ceiling >= FL_ZONE_NORMAL;
}

/* ---- Steps that both shapes take ---- */

static void wake_kswapds(struct slowpath *s)
{
	if (s->alloc_flags & FL_ALLOC_KSWAPD)
		fl_wake_all_kswapds(s->mem, s->who, s->ac);
}

static fl_pfn try_freelist(struct slowpath *s)
{
	return fl_get_page_from_freelist(s->mem, s->who, s->ac, s->alloc_flags);
}

/* Reserves that this caller may dip into now; true if there are any. */
static bool apply_reserves(struct slowpath *s)
{
	uint32_t reserve = fl_reserve_flags(s->who, s->ac->gfp);

	if (reserve)
		s->alloc_flags = reserve | (s->alloc_flags & FL_ALLOC_KSWAPD);
	return reserve != 0;
}

/* __alloc_pages_direct_reclaim(): after progress without a page, what is held back elsewhere is let loose once. */
static fl_pfn direct_reclaim(struct slowpath *s)
{
	fl_pfn pfn;

	s->progress = fl_try_to_free_pages(s->mem, s->who, &s->reclaim_ac);
	if (s->progress == 0)
		return FL_PFN_NONE;
	pfn = try_freelist(s);
	if (pfn != FL_PFN_NONE)
		return pfn;
	fl_unreserve_highatomic(s->mem, s->ac, false);
	fl_pcp_drain_all(s->mem, s->who, NULL);
	return try_freelist(s);
}

static fl_pfn direct_compact(struct slowpath *s)
{
	if (s->ac->order == 0)
		return FL_PFN_NONE;
	return fl_compact_direct(s->mem, s->who, s->ac, s->alloc_flags, s->priority, &s->result);
}

/* __alloc_pages_may_oom(). Sets progress. */
static fl_pfn may_oom(struct slowpath *s)
{
	struct fl_alloc_context last = *s->ac;
	fl_pfn pfn;

	s->progress = 0;
	last.gfp &= ~FL_GFP_DIRECT_RECLAIM;
	pfn = fl_get_page_from_freelist(s->mem, s->who, &last, FL_WMARK_HIGH);
	if (pfn != FL_PFN_NONE || !fl_may_oom_kill(s->ac))
		return pfn;
	if (!fl_out_of_memory(s->mem, s->who, s->ac->gfp) && !(s->ac->gfp & FL_GFP_NOFAIL))
		return FL_PFN_NONE;
	s->progress = 1;
	/* The victim needs the CPU to exit: let the time that this request has used pass. */
	fl_task_settle(s->who->task);
	if (s->ac->gfp & FL_GFP_NOFAIL)
		pfn = fl_get_page_from_freelist(s->mem, s->who, s->ac, FL_ALLOC_NO_WATERMARKS);
	return pfn;
}

enum verdict { RETRY, FAIL, GOT };

/* From the NORETRY test to the kill: what follows a round of reclaim and compaction that gave no page. */
static enum verdict after_round(struct slowpath *s, fl_pfn *ret)
{
	fl_gfp gfp = s->ac->gfp;

	if (gfp & FL_GFP_NORETRY)
		return FAIL;
	if (s->costly && (!s->can_compact || !(gfp & FL_GFP_RETRY_MAYFAIL)))
		return FAIL;
	if (fl_should_reclaim_retry(s->mem, s->who, s->ac, s->alloc_flags, s->progress > 0, &s->no_progress_loops))
		return RETRY;
	if (s->progress > 0 && s->can_compact &&
	    fl_should_compact_retry(s->mem, s->who, s->ac, s->alloc_flags, s->result, &s->priority,
				    &s->compact_retries))
		return RETRY;
	if (s->alloc_flags & FL_ALLOC_NOFRAGMENT) { /* defrag_mode: before the kill */
		s->alloc_flags &= ~FL_ALLOC_NOFRAGMENT;
		return RETRY;
	}
	*ret = may_oom(s);
	if (*ret != FL_PFN_NONE)
		return GOT;
	if ((s->who->flags & FL_PF_OOM_VICTIM) &&
	    ((s->alloc_flags & FL_ALLOC_OOM) || (gfp & FL_GFP_NOMEMALLOC)))
		return FAIL;
	if (s->progress == 0)
		return FAIL;
	s->no_progress_loops = 0;
	return RETRY;
}

/* Does this request compact before it reclaims? 7.3 asks only this; 6.12 also spares those who may use reserves. */
static bool wants_compact_first(const struct slowpath *s)
{
	struct fl_compact_first_facts facts = { .order = s->ac->order,
						.costly_order = FL_COSTLY_ORDER,
						.type = s->ac->type };

	if (!s->can_reclaim || !s->can_compact || !s->ac->order)
		return false;
	for (unsigned int z = 0; z <= s->ac->ceiling && !facts.order_0_ok; z++)
		facts.order_0_ok = s->mem->zone[z].managed &&
				   fl_watermark_ok(s->mem, &s->mem->zone[z], 0,
						   fl_wmark_pages(&s->mem->zone[z], FL_WMARK_MIN), s->ac->ceiling, 0);
	fl_thp_orders_of(s->mem, &facts.thp);
	return s->mem->decide.compact_first(&facts);
}

/* ---- The shape of 6.12 ---- */

/* Compaction before the loop; FAIL for costly NORETRY requests that it cannot help. */
static enum verdict compact_first_612(struct slowpath *s, fl_pfn *ret)
{
	if (!wants_compact_first(s) || fl_reserve_flags(s->who, s->ac->gfp))
		return RETRY;
	s->priority = FL_COMPACT_PRIO_INIT;
	*ret = direct_compact(s);
	if (*ret != FL_PFN_NONE)
		return GOT;
	s->priority = FL_COMPACT_PRIO_DEF;
	if (!s->costly || !(s->ac->gfp & FL_GFP_NORETRY))
		return RETRY;
	if (s->result == FL_COMPACT_SKIPPED || s->result == FL_COMPACT_DEFERRED)
		return FAIL;
	if (s->ac->gfp & FL_GFP_THISNODE)
		return FAIL;
	s->priority = FL_COMPACT_PRIO_INIT;
	return RETRY;
}

static enum verdict round_612(struct slowpath *s, fl_pfn *ret)
{
	wake_kswapds(s);
	apply_reserves(s);
	*ret = try_freelist(s);
	if (*ret != FL_PFN_NONE)
		return GOT;
	if (!s->can_reclaim || (s->who->flags & FL_PF_MEMALLOC))
		return FAIL;
	*ret = direct_reclaim(s);
	if (*ret != FL_PFN_NONE)
		return GOT;
	*ret = direct_compact(s);
	if (*ret != FL_PFN_NONE)
		return GOT;
	return after_round(s, ret);
}

static enum verdict enter_612(struct slowpath *s, fl_pfn *ret)
{
	wake_kswapds(s);
	*ret = try_freelist(s);
	if (*ret != FL_PFN_NONE)
		return GOT;
	return compact_first_612(s, ret);
}

/* ---- The shape of 7.3 ---- */

/* One pass of the loop; *compact_first is cleared by the pass that used it up. */
static enum verdict round_73(struct slowpath *s, bool *compact_first, fl_pfn *ret)
{
	wake_kswapds(s);
	*ret = try_freelist(s);
	if (*ret == FL_PFN_NONE && apply_reserves(s))
		*ret = try_freelist(s);
	if (*ret != FL_PFN_NONE)
		return GOT;
	if (!s->can_reclaim) {
		if (!(s->alloc_flags & FL_ALLOC_NOFRAGMENT))
			return FAIL;
		s->alloc_flags &= ~FL_ALLOC_NOFRAGMENT;
		return RETRY;
	}
	if (s->who->flags & FL_PF_MEMALLOC)
		return FAIL;
	if (!*compact_first) {
		*ret = direct_reclaim(s);
		if (*ret != FL_PFN_NONE)
			return GOT;
	}
	*ret = direct_compact(s);
	if (*ret != FL_PFN_NONE)
		return GOT;
	if (*compact_first) {
		*compact_first = false;
		if ((s->ac->gfp & FL_GFP_NORETRY) && (s->ac->gfp & FL_GFP_THISNODE))
			return FAIL;
		if (!(s->ac->gfp & FL_GFP_NORETRY))
			s->priority = FL_COMPACT_PRIO_DEF;
		return RETRY;
	}
	return after_round(s, ret);
}

/* ---- Both ---- */

/* reclaim_compact_order(): with defrag_mode, non-movable requests make whole pageblocks. */
static unsigned int reclaim_order(const struct fl_mem *mem, const struct fl_alloc_context *ac)
{
	static const struct fl_no_facts none;

	if (!mem->set.defrag_mode || !mem->decide.has_defrag_mode(&none) || ac->type == FL_MOVABLE ||
	    ac->order >= mem->pageblock_order)
		return ac->order;
	return mem->pageblock_order;
}

static void begin(struct slowpath *s, struct fl_mem *mem, struct fl_caller *who, const struct fl_alloc_context *ac)
{
	static const struct fl_no_facts none;

	*s = (struct slowpath){
		.mem = mem,
		.who = who,
		.ac = ac,
		.reclaim_ac = *ac,
		.alloc_flags = fl_slowpath_alloc_flags(who, ac),
		.costly = ac->order > FL_COSTLY_ORDER,
		.can_reclaim = ac->gfp & FL_GFP_DIRECT_RECLAIM,
		.can_compact = ac->gfp & FL_GFP_IO,
		.priority = FL_COMPACT_PRIO_DEF,
		.result = FL_COMPACT_SKIPPED,
	};
	s->reclaim_ac.order = reclaim_order(mem, ac);
	if (mem->set.defrag_mode && mem->decide.has_defrag_mode(&none))
		s->alloc_flags |= fl_alloc_flags_nofragment(mem, ac);
}

/* NOFAIL after everything else: half of the min reserve, then once more from the start of the loop. */
static enum verdict nofail(struct slowpath *s, fl_pfn *ret)
{
	if (!(s->ac->gfp & FL_GFP_NOFAIL) || !s->can_reclaim)
		return FAIL;
	*ret = fl_get_page_from_freelist(s->mem, s->who, s->ac, FL_ALLOC_MIN_RESERVE);
	if (*ret != FL_PFN_NONE)
		return GOT;
	/* A kernel that has nobody left to kill panics here; the model must not loop for ever. */
	if ((s->who->flags & FL_PF_MEMALLOC) || fl_oom_without_victim(s->mem))
		return FAIL;
	fl_task_settle(s->who->task);
	return RETRY;
}

fl_pfn fl_alloc_slowpath(struct fl_mem *mem, struct fl_caller *who, const struct fl_alloc_context *ac)
{
	static const struct fl_no_facts none;
	bool in_loop = mem->decide.slowpath_compacts_in_loop(&none);
	enum verdict verdict = RETRY;
	fl_pfn pfn = FL_PFN_NONE;
	struct slowpath s;
	bool compact_first;

	begin(&s, mem, who, ac);
	compact_first = in_loop && wants_compact_first(&s);
	if (compact_first)
		s.priority = FL_COMPACT_PRIO_INIT;
	if (!in_loop)
		verdict = enter_612(&s, &pfn);
	while (verdict != GOT) {
		if (verdict == FAIL)
			verdict = nofail(&s, &pfn);
		if (verdict == FAIL)
			return FL_PFN_NONE;
		if (verdict == GOT)
			break;
		fl_charge(who->task, mem->cost->alloc_slow);
		if (s.can_reclaim)
			fl_cond_resched(who->task);
		verdict = in_loop ? round_73(&s, &compact_first, &pfn) : round_612(&s, &pfn);
	}
	return pfn;
}
