/*
 * mm/compaction.c - control of compaction: suitability, deferral, the finish test, the loop over a zone, direct entry.
 *
 * Mirrors the second half of mm/compaction.c. The scanners are compact_scan.c (sources, from below) and compact_free.c
 * (targets, from above), the daemon is kcompactd.c. Facts: compaction sections 1, 2, 6 and 7.
 */
#include "mm/compaction.h"

#include <errno.h>

#include "mm/buddy.h"
#include "mm/compact_control.h"
#include "mm/internal.h"
#include "mm/pcp.h"
#include "mm/swap.h"
#include "mm/sysctl.h"
#include "mm/vmscan.h"

const char *fl_compact_result_name(enum fl_compact_result result)
{
	static const char *const names[FL_COMPACT_RESULTS] = {
		"not_suitable_zone", "skipped",	 "deferred",	    "no_suitable_page", "continue",
		"complete",	     "partial_skipped", "contended", "success",
	};

	FL_ASSERT(result < FL_COMPACT_RESULTS);
	return names[result];
}

/* ---- Suitability ---- */

unsigned int fl_compact_gap(const struct fl_mem *mem, unsigned int order)
{
	return mem->decide.compact_gap(&(struct fl_gap_facts){ .order = order });
}

static bool defrag_mode(const struct fl_mem *mem)
{
	return mem->set.defrag_mode && mem->decide.has_defrag_mode(&(struct fl_no_facts){ 0 });
}

long fl_zone_effective_free_pages(const struct fl_mem *mem, const struct fl_zone *zone, enum fl_free_test test,
				  unsigned int order)
{
	struct fl_effective_free_facts facts = {
		.test = test,
		.order = order,
		.pageblock_order = mem->pageblock_order,
		.defrag_mode = defrag_mode(mem),
	};
	unsigned long pages = 0;
	unsigned int from;

	fl_thp_orders_of(mem, &facts.thp);
	from = mem->decide.effective_free_order(&facts);
	if (!from)
		return zone->nr_free_pages;
	if (from == mem->pageblock_order)
		return zone->nr_free_pages_blocks;
	for (unsigned int o = from; o <= mem->max_order; o++)
		pages += (unsigned long)zone->nr_free[o] << o;
	return (long)pages;
}

/* __compaction_suitable(): are there free pages enough to serve as targets? */
static bool targets_suffice(const struct fl_mem *mem, const struct fl_zone *zone, unsigned int order, uint64_t mark,
			    unsigned int ceiling, long free_pages)
{
	uint64_t threshold = mem->decide.compact_suitable_mark(&(struct fl_suitable_facts){
		.order = order,
		.costly_order = FL_COSTLY_ORDER,
		.gap = fl_compact_gap(mem, order),
		.mark = mark,
		.min = fl_wmark_pages(zone, FL_WMARK_MIN),
		.low = fl_wmark_pages(zone, FL_WMARK_LOW),
	});

	return fl_watermark_ok_free(mem, zone, 0, threshold, ceiling, 0, free_pages);
}

bool fl_compaction_suitable(struct fl_mem *mem, struct fl_caller *who, struct fl_zone *zone, unsigned int order,
			    uint64_t mark, unsigned int ceiling)
{
	enum fl_compact_result result = FL_COMPACT_SKIPPED;

	if (targets_suffice(mem, zone, order, mark, ceiling,
			    fl_zone_effective_free_pages(mem, zone, FL_FREE_TEST_SUIT_GAP, order))) {
		int index = order > FL_COSTLY_ORDER ? fl_fragmentation_index(zone, order) : -1000;

		result = FL_COMPACT_CONTINUE;
		if (index >= 0 && index <= (int)mem->set.extfrag_threshold)
			result = FL_COMPACT_NOT_SUITABLE_ZONE;
	}
	FL_TRACE(mem, who, mm_compaction_suitable, zone->index, order, result);
	return result == FL_COMPACT_CONTINUE;
}

bool fl_compaction_zonelist_suitable(struct fl_mem *mem, const struct fl_alloc_context *ac)
{
	for (int i = (int)ac->ceiling; i >= 0; i--) {
		struct fl_zone *zone = &mem->zone[i];
		unsigned long available;

		if (!zone->managed)
			continue;
		available = fl_zone_reclaimable_pages(mem, zone) / ac->order;
		if (targets_suffice(mem, zone, ac->order, fl_wmark_pages(zone, FL_WMARK_MIN), ac->ceiling,
				    (long)available + zone->nr_free_pages))
			return true;
	}
	return false;
}

enum fl_compact_result fl_compaction_suit_allocation_order(struct fl_mem *mem, struct fl_caller *who,
							   struct fl_zone *zone, unsigned int order,
							   unsigned int ceiling, uint32_t alloc_flags, bool kcompactd)
{
	enum fl_free_test test = kcompactd ? FL_FREE_TEST_SUIT_KCOMPACTD : FL_FREE_TEST_SUIT_DIRECT;
	uint64_t mark = fl_wmark_pages(zone, alloc_flags & FL_ALLOC_WMARK_MASK);

	if (fl_watermark_ok_free(mem, zone, order, mark, ceiling, alloc_flags,
				 fl_zone_effective_free_pages(mem, zone, test, order)))
		return FL_COMPACT_SUCCESS;
	return fl_compaction_suitable(mem, who, zone, order, mark, ceiling) ? FL_COMPACT_CONTINUE : FL_COMPACT_SKIPPED;
}

/* ---- Deferral ---- */

#define TRACE_DEFER(name)                                                                                          \
	FL_TRACE(mem, who, name, zone->index, (uint64_t)order, (uint64_t)zone->compact.order_failed,               \
		 zone->compact.considered, zone->compact.defer_shift)

void fl_defer_compaction(struct fl_mem *mem, struct fl_caller *who, struct fl_zone *zone, int order)
{
	struct fl_zone_compact *c = &zone->compact;

	c->considered = 0;
	if (c->defer_shift < FL_COMPACT_MAX_DEFER_SHIFT)
		c->defer_shift++;
	if (order < c->order_failed)
		c->order_failed = order;
	TRACE_DEFER(mm_compaction_defer_compaction);
}

bool fl_compaction_deferred(struct fl_mem *mem, struct fl_caller *who, struct fl_zone *zone, int order)
{
	struct fl_zone_compact *c = &zone->compact;
	unsigned int limit = 1u << c->defer_shift;

	if (order < c->order_failed)
		return false;
	if (++c->considered >= limit) {
		c->considered = limit;
		return false;
	}
	TRACE_DEFER(mm_compaction_deferred);
	return true;
}

void fl_compaction_defer_reset(struct fl_mem *mem, struct fl_caller *who, struct fl_zone *zone, int order,
			       bool alloc_success)
{
	struct fl_zone_compact *c = &zone->compact;

	if (alloc_success)
		c->considered = c->defer_shift = 0;
	if (order >= c->order_failed)
		c->order_failed = order + 1;
	TRACE_DEFER(mm_compaction_defer_reset);
}

bool fl_compaction_restarting(const struct fl_zone *zone, int order)
{
	const struct fl_zone_compact *c = &zone->compact;

	return order >= c->order_failed && c->defer_shift == FL_COMPACT_MAX_DEFER_SHIFT &&
	       c->considered >= 1u << c->defer_shift;
}

/* ---- The finish test: facts 2.4 ---- */

static void reset_cached_positions(const struct fl_mem *mem, struct fl_zone *zone)
{
	zone->compact.cached_migrate_pfn[0] = zone->compact.cached_migrate_pfn[1] = zone->start;
	zone->compact.cached_free_pfn = fl_pageblock_start(mem, zone->end - 1);
}

static enum fl_compact_result finished_scanners_met(struct fl_mem *mem, struct fl_compact_control *cc)
{
	reset_cached_positions(mem, cc->zone);
	if (cc->direct_compaction)
		cc->zone->compact.blockskip_flush = true;
	return cc->whole_zone ? FL_COMPACT_COMPLETE : FL_COMPACT_PARTIAL_SKIPPED;
}

static enum fl_compact_result finished_proactive(struct fl_mem *mem, struct fl_compact_control *cc)
{
	unsigned int order = fl_proactive_score_order(mem);

	if (fl_kswapd_is_running(mem) && !fl_proactive_beside_kswapd(mem, false))
		return FL_COMPACT_PARTIAL_SKIPPED;
	if (fl_fragmentation_score_zone(cc->zone, order) > fl_fragmentation_score_wmark(mem, true))
		return FL_COMPACT_CONTINUE;
	return FL_COMPACT_SUCCESS;
}

/* Is a chunk of the order free that the request could take? No watermark is asked. */
static bool finished_page_is_free(const struct fl_mem *mem, const struct fl_compact_control *cc)
{
	for (unsigned int o = (unsigned int)cc->order; o <= mem->max_order; o++) {
		if (cc->zone->nonempty[cc->migratetype] >> o & 1)
			return true;
		if (fl_worth_claiming(mem, o, cc->migratetype) && fl_find_fallback(cc->zone, o, cc->migratetype) >= 0)
			return true;
	}
	return false;
}

static enum fl_compact_result finished_with_order(struct fl_mem *mem, struct fl_compact_control *cc)
{
	struct fl_zone *zone = cc->zone;

	if (!fl_pageblock_aligned(mem, cc->migrate_pfn))
		return FL_COMPACT_CONTINUE;
	if (!cc->direct_compaction && defrag_mode(mem))
		return fl_watermark_ok_free(mem, zone, (unsigned int)cc->order, fl_wmark_pages(zone, FL_WMARK_HIGH),
					    cc->highest_zoneidx, cc->alloc_flags, zone->nr_free_pages_blocks)
			       ? FL_COMPACT_SUCCESS
			       : FL_COMPACT_CONTINUE;
	return finished_page_is_free(mem, cc) ? FL_COMPACT_SUCCESS : FL_COMPACT_NO_SUITABLE_PAGE;
}

enum fl_compact_result fl_compact_finished(struct fl_mem *mem, struct fl_caller *who, struct fl_compact_control *cc)
{
	enum fl_compact_result result;

	if (fl_compact_scanners_met(mem, cc))
		result = finished_scanners_met(mem, cc);
	else if (cc->proactive_compaction)
		result = finished_proactive(mem, cc);
	else if (fl_compact_without_order(cc->order))
		result = FL_COMPACT_CONTINUE;
	else
		result = finished_with_order(mem, cc);
	if ((result == FL_COMPACT_NO_SUITABLE_PAGE ||
	     (cc->proactive_compaction && (result == FL_COMPACT_CONTINUE || result == FL_COMPACT_SUCCESS))) &&
	    (cc->contended || fl_fatal_signal(who)))
		result = FL_COMPACT_CONTENDED;
	FL_TRACE(mem, who, mm_compaction_finished, cc->zone->index, (uint64_t)cc->order, result);
	return result == FL_COMPACT_NO_SUITABLE_PAGE ? FL_COMPACT_CONTINUE : result;
}

/* ---- The loop over a zone: facts 2.5 ---- */

static void compact_zone_reset(struct fl_compact_control *cc)
{
	cc->total_migrate_scanned = cc->total_free_scanned = 0;
	cc->nr_migratepages = cc->nr_freepages = 0;
	fl_pfn_list_init(&cc->migratepages);
	for (unsigned int o = 0; o < FL_MAX_ORDERS; o++)
		fl_pfn_list_init(&cc->freepages[o]);
	cc->migratetype = fl_gfp_migratetype(cc->gfp);
	cc->fast_start_pfn = 0;
}

/* Where both scanners begin: at the ends of the zone, or where the last one stopped. */
static void compact_zone_positions(const struct fl_mem *mem, struct fl_compact_control *cc)
{
	struct fl_zone *zone = cc->zone;
	struct fl_zone_compact *c = &zone->compact;
	bool sync = cc->mode != FL_MIGRATE_ASYNC;

	if (cc->whole_zone) {
		cc->migrate_pfn = zone->start;
		cc->free_pfn = fl_pageblock_start(mem, zone->end - 1);
		return;
	}
	cc->migrate_pfn = c->cached_migrate_pfn[sync];
	cc->free_pfn = c->cached_free_pfn;
	if (cc->free_pfn < zone->start || cc->free_pfn >= zone->end)
		c->cached_free_pfn = cc->free_pfn = fl_pageblock_start(mem, zone->end - 1);
	if (cc->migrate_pfn < zone->start || cc->migrate_pfn >= zone->end)
		c->cached_migrate_pfn[0] = c->cached_migrate_pfn[1] = cc->migrate_pfn = zone->start;
	if (cc->migrate_pfn <= c->init_migrate_pfn)
		cc->whole_zone = true;
}

static bool captured(const struct fl_caller *who)
{
	return who->capture && who->capture->pfn != FL_PFN_NONE;
}

enum step { STEP_GO_ON, STEP_RESCAN, STEP_CONTENDED };

/* Migrates what was isolated; decides what a failure means. */
static enum step compact_zone_migrate(struct fl_mem *mem, struct fl_caller *who, struct fl_compact_control *cc,
				      fl_pfn *last_migrated)
{
	const struct fl_migrate_targets targets = { fl_compaction_alloc, fl_compaction_free, cc };
	unsigned int asked = cc->nr_migratepages, moved = 0;
	int err = fl_migrate_pages(mem, who, &cc->migratepages, &targets, cc->mode, &moved);

	FL_TRACE(mem, who, mm_compaction_migratepages, moved, asked > moved ? asked - moved : 0);
	fl_work_add(mem, who, FL_WORK_migrated, moved);
	cc->nr_migratepages = 0;
	if (!err)
		return STEP_GO_ON;
	fl_putback_movable_pages(mem, who, &cc->migratepages);
	if (err == -ENOMEM && !fl_compact_scanners_met(mem, cc))
		return STEP_CONTENDED;
	if (fl_pageblock_aligned(mem, cc->migrate_pfn) || cc->ignore_skip_hint || cc->finish_pageblock ||
	    cc->mode == FL_MIGRATE_SYNC)
		return STEP_GO_ON;
	cc->finish_pageblock = true;
	if (cc->order == (int)mem->pmd_order)
		*last_migrated = 0;
	return STEP_RESCAN;
}

/* The scanner has left the order-aligned area it migrated from: what was freed there shall merge now. */
static void compact_zone_drain(struct fl_mem *mem, struct fl_caller *who, struct fl_compact_control *cc,
			       fl_pfn *last_migrated)
{
	fl_pfn area;

	if (cc->order <= 0 || !*last_migrated)
		return;
	area = cc->migrate_pfn & ~((1u << cc->order) - 1);
	if (*last_migrated >= area)
		return;
	fl_lru_add_drain(mem, who);
	fl_pcp_drain_cpu(mem, who, cc->zone, fl_caller_cpu(who));
	fl_charge(who->task, mem->cost->drain_cpu);
	*last_migrated = 0;
}

static enum fl_compact_result compact_zone_loop(struct fl_mem *mem, struct fl_caller *who,
						struct fl_compact_control *cc)
{
	struct fl_zone_compact *c = &cc->zone->compact;
	enum fl_compact_result result;
	fl_pfn last_migrated = 0;
	bool update_cached = cc->mode == FL_MIGRATE_ASYNC && c->cached_migrate_pfn[0] == c->cached_migrate_pfn[1];

	while ((result = fl_compact_finished(mem, who, cc)) == FL_COMPACT_CONTINUE) {
		enum step step;

		cc->finish_pageblock =
			fl_pageblock_start(mem, last_migrated) == fl_pageblock_start(mem, cc->migrate_pfn);
		do {
			enum fl_isolate_result isolated = fl_isolate_migratepages(mem, who, cc);

			step = STEP_GO_ON;
			if (isolated == FL_ISOLATE_ABORT) {
				fl_putback_movable_pages(mem, who, &cc->migratepages);
				cc->nr_migratepages = 0;
				return FL_COMPACT_CONTENDED;
			}
			if (isolated == FL_ISOLATE_NONE) {
				if (update_cached)
					c->cached_migrate_pfn[1] = c->cached_migrate_pfn[0];
				break;
			}
			update_cached = false;
			last_migrated = fl_pageblock_start(mem, cc->migrate_pfn - 1);
			if (last_migrated < cc->zone->start)
				last_migrated = cc->zone->start;
			step = compact_zone_migrate(mem, who, cc, &last_migrated);
			if (step == STEP_CONTENDED)
				return FL_COMPACT_CONTENDED;
			if (step == STEP_GO_ON && captured(who))
				return FL_COMPACT_SUCCESS;
		} while (step == STEP_RESCAN);
		compact_zone_drain(mem, who, cc, &last_migrated);
	}
	return result;
}

static void compact_zone_finish(struct fl_mem *mem, struct fl_caller *who, struct fl_compact_control *cc)
{
	struct fl_zone_compact *c = &cc->zone->compact;

	if (cc->nr_freepages) {
		fl_pfn block = fl_pageblock_start(mem, fl_release_free_list(mem, who, cc));

		if (block > c->cached_free_pfn)
			c->cached_free_pfn = block;
	}
	fl_count(mem, FL_VM_compact_migrate_scanned, cc->total_migrate_scanned);
	fl_count(mem, FL_VM_compact_free_scanned, cc->total_free_scanned);
	fl_work_add(mem, who, FL_WORK_migrate_scanned, cc->total_migrate_scanned);
	fl_work_add(mem, who, FL_WORK_free_scanned, cc->total_free_scanned);
}

enum fl_compact_result fl_compact_zone(struct fl_mem *mem, struct fl_caller *who, struct fl_compact_control *cc)
{
	struct fl_zone *zone = cc->zone;
	enum fl_compact_result result;
	fl_pfn from_migrate, from_free;
	uint64_t begin = fl_task_cpu_ns(who->task);

	compact_zone_reset(cc);
	if (!fl_compact_without_order(cc->order)) {
		result = fl_compaction_suit_allocation_order(mem, who, zone, (unsigned int)cc->order,
							     cc->highest_zoneidx, cc->alloc_flags,
							     !cc->direct_compaction);
		if (result != FL_COMPACT_CONTINUE)
			return result;
	}
	fl_charge(who->task, mem->cost->compact_zone_base);
	if (fl_compaction_restarting(zone, cc->order))
		fl_zone_reset_isolation_suitable(mem, who, zone);
	compact_zone_positions(mem, cc);
	from_migrate = cc->migrate_pfn;
	from_free = cc->free_pfn;
	FL_TRACE(mem, who, mm_compaction_begin, zone->start, from_migrate, from_free, zone->end,
		 cc->mode != FL_MIGRATE_ASYNC);
	fl_lru_add_drain(mem, who);
	zone->lock.watchers += cc->mode == FL_MIGRATE_ASYNC;
	mem->lru_lock.watchers += cc->mode == FL_MIGRATE_ASYNC;
	result = compact_zone_loop(mem, who, cc);
	zone->lock.watchers -= cc->mode == FL_MIGRATE_ASYNC;
	mem->lru_lock.watchers -= cc->mode == FL_MIGRATE_ASYNC;
	compact_zone_finish(mem, who, cc);
	FL_TRACE(mem, who, mm_compaction_end, zone->start, cc->migrate_pfn, cc->free_pfn, zone->end,
		 cc->mode != FL_MIGRATE_ASYNC, result);
	fl_work_add_cpu(mem, who, begin);
	return result;
}

/* ---- Direct compaction: facts 1.3 ---- */

static enum fl_compact_result compact_zone_order(struct fl_mem *mem, struct fl_caller *who, struct fl_zone *zone,
						 const struct fl_alloc_context *ac, uint32_t alloc_flags,
						 enum fl_compact_priority priority)
{
	bool full = priority == FL_COMPACT_PRIO_MIN;
	struct fl_compact_control cc = {
		.zone = zone,
		.order = (int)ac->order,
		.search_order = (int)ac->order,
		.gfp = ac->gfp,
		.mode = priority == FL_COMPACT_PRIO_ASYNC ? FL_MIGRATE_ASYNC : FL_MIGRATE_SYNC_LIGHT,
		.alloc_flags = alloc_flags,
		.highest_zoneidx = ac->ceiling,
		.direct_compaction = true,
		.whole_zone = full,
		.ignore_skip_hint = full,
		.ignore_block_suitable = full,
	};
	enum fl_compact_result result;

	if (who->capture)
		who->capture->zone = zone->index;
	result = fl_compact_zone(mem, who, &cc);
	return captured(who) ? FL_COMPACT_SUCCESS : result;
}

/* One zone of the request; false: look at no further zone. */
static bool compact_try_zone(struct fl_mem *mem, struct fl_caller *who, struct fl_zone *zone,
			     const struct fl_alloc_context *ac, uint32_t alloc_flags,
			     enum fl_compact_priority priority, enum fl_compact_result *result)
{
	enum fl_compact_result status;
	int order = (int)ac->order;

	if (priority > FL_COMPACT_PRIO_MIN && fl_compaction_deferred(mem, who, zone, order)) {
		if (*result < FL_COMPACT_DEFERRED)
			*result = FL_COMPACT_DEFERRED;
		return true;
	}
	status = compact_zone_order(mem, who, zone, ac, alloc_flags, priority);
	if (status > *result)
		*result = status;
	if (status == FL_COMPACT_SUCCESS) {
		fl_compaction_defer_reset(mem, who, zone, order, false);
		return false;
	}
	if (priority != FL_COMPACT_PRIO_ASYNC &&
	    (status == FL_COMPACT_COMPLETE || status == FL_COMPACT_PARTIAL_SKIPPED))
		fl_defer_compaction(mem, who, zone, order);
	return !(priority == FL_COMPACT_PRIO_ASYNC && fl_need_resched(who->task)) && !fl_fatal_signal(who);
}

enum fl_compact_result fl_try_to_compact_pages(struct fl_mem *mem, struct fl_caller *who,
					       const struct fl_alloc_context *ac, uint32_t alloc_flags,
					       enum fl_compact_priority priority, fl_pfn *ret_captured)
{
	struct fl_capture capture = { .order = ac->order, .type = ac->type, .pfn = FL_PFN_NONE };
	struct fl_capture *outer = who->capture;
	enum fl_compact_result result = FL_COMPACT_SKIPPED;

	*ret_captured = FL_PFN_NONE;
	if (!(ac->gfp & FL_GFP_IO))
		return FL_COMPACT_SKIPPED;
	FL_TRACE(mem, who, mm_compaction_try_to_compact_pages, ac->order, ac->gfp, priority);
	who->capture = who->flags & FL_PF_KTHREAD ? NULL : &capture;
	for (int i = (int)ac->ceiling; i >= 0; i--)
		if (mem->zone[i].managed &&
		    !compact_try_zone(mem, who, &mem->zone[i], ac, alloc_flags, priority, &result))
			break;
	who->capture = outer;
	*ret_captured = capture.pfn;
	return result;
}

fl_pfn fl_compact_direct(struct fl_mem *mem, struct fl_caller *who, const struct fl_alloc_context *ac,
			 uint32_t alloc_flags, enum fl_compact_priority priority, enum fl_compact_result *ret_result)
{
	uint32_t memalloc = who->flags & FL_PF_MEMALLOC;
	fl_pfn pfn;

	FL_ASSERT(ac->order > 0);
	who->flags |= FL_PF_MEMALLOC;
	*ret_result = fl_try_to_compact_pages(mem, who, ac, alloc_flags, priority, &pfn);
	who->flags = (who->flags & ~FL_PF_MEMALLOC) | memalloc;
	if (*ret_result == FL_COMPACT_SKIPPED)
		return FL_PFN_NONE;
	if (*ret_result == FL_COMPACT_DEFERRED &&
	    !mem->decide.compact_stall_counts_deferred(&(struct fl_no_facts){ 0 }))
		return FL_PFN_NONE;
	fl_count(mem, FL_VM_compact_stall, 1);
	fl_work_add(mem, who, FL_WORK_stalls, 1);
	if (pfn != FL_PFN_NONE)
		fl_page_prep(mem, pfn, ac->order, ac->kind);
	else
		pfn = fl_get_page_from_freelist(mem, who, ac, alloc_flags);
	if (pfn != FL_PFN_NONE) {
		struct fl_zone *zone = fl_zone_of(mem, pfn);

		zone->compact.blockskip_flush = false;
		fl_compaction_defer_reset(mem, who, zone, (int)ac->order, true);
		fl_count(mem, FL_VM_compact_success, 1);
		return pfn;
	}
	fl_count(mem, FL_VM_compact_fail, 1);
	fl_cond_resched(who->task);
	return FL_PFN_NONE;
}
