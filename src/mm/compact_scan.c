/*
 * mm/compact_scan.c - the migrate scanner: from low pfns up, pageblock by pageblock, takes folios that can move.
 *
 * Mirrors isolate_migratepages_block(), isolate_migratepages(), fast_find_migrateblock() and the skip hints of
 * mm/compaction.c; facts section 3. A pageblock without a single takeable page is passed in one step, with all its
 * pages counted as scanned, exactly as the walk would have counted them. Order of the tests is the kernel's.
 */
#include "mm/compact_control.h"
#include "mm/swap.h"
#include "mm/sysctl.h"
#include "mm/vmscan.h"

/* ---- Skip hints and cached positions: facts 3.4 ---- */

bool fl_compact_pageblock_valid(const struct fl_mem *mem, const struct fl_zone *zone, fl_pfn start, fl_pfn end)
{
	const struct fl_pageblock *b = fl_pageblock_of(mem, start);
	const struct fl_geometry *g = &mem->geometry;
	fl_pfn section = ~((1u << (27 - mem->page_shift)) - 1); /* SECTION_SIZE_BITS: 128 MiB */

	if (start < zone->start || end > zone->end || start >= end)
		return false;
	if (FL_LIKELY(b->free | b->lru | b->unmovable))
		return true;
	for (unsigned int i = 0; i < g->ranges_count; i++)
		if (g->ranges[i].start <= (start | ~section) && g->ranges[i].end > (start & section))
			return true;
	return false;
}

bool fl_pageblock_skip_persistent(const struct fl_mem *mem, fl_pfn pfn)
{
	fl_pfn head = fl_frame_head(&mem->frames, pfn);
	uint32_t state;

	if (head == FL_PFN_NONE)
		return false;
	state = mem->frames.state[head];
	return fl_kind_is_allocated(fl_state_kind(state)) && fl_state_order(state) >= mem->pageblock_order;
}

/* Does any sample of the pageblock, one in 2^costly_order, show a page on an LRU list or a free chunk? */
static bool reset_isolation_sample(const struct fl_mem *mem, fl_pfn start, fl_pfn end, bool source, bool target)
{
	for (fl_pfn pfn = start; pfn < end; pfn += 1u << FL_COSTLY_ORDER) {
		uint32_t state = mem->frames.state[pfn];

		if (target && fl_state_kind(state) == FL_KIND_BUDDY)
			return true;
		if (!source)
			continue;
		if (fl_state_kind(state) == FL_KIND_INTERIOR) { /* PageLRU() of a tail is its head's */
			fl_pfn head = fl_frame_head(&mem->frames, pfn);

			state = head == FL_PFN_NONE ? 0 : mem->frames.state[head];
		}
		if (state & FL_LRU && fl_kind_is_movable(fl_state_kind(state)))
			return true;
	}
	return false;
}

/* __reset_isolation_pfn(): clears the hint of a pageblock that is worth a look again. */
static bool reset_isolation_pfn(struct fl_mem *mem, struct fl_zone *zone, fl_pfn pfn, bool source, bool target)
{
	struct fl_pageblock *b = fl_pageblock_of(mem, pfn);
	fl_pfn start = fl_pageblock_start(mem, pfn), end = fl_pageblock_end(mem, pfn);

	if (start < zone->start)
		start = zone->start;
	if (end > zone->end)
		end = zone->end;
	if (!fl_compact_pageblock_valid(mem, zone, start, end) || fl_pageblock_skip_persistent(mem, pfn))
		return false;
	if (source && target && !(b->flags & FL_PAGEBLOCK_SKIP))
		return true;
	if (!source && target && fl_pageblock_type(mem, pfn) != FL_MOVABLE)
		return false;
	if (!reset_isolation_sample(mem, start, end, source && b->lru, target && b->free))
		return false;
	b->flags &= (uint8_t)~FL_PAGEBLOCK_SKIP;
	return true;
}

void fl_zone_reset_isolation_suitable(struct fl_mem *mem, struct fl_caller *who, struct fl_zone *zone)
{
	struct fl_zone_compact *c = &zone->compact;
	int64_t migrate = zone->start, free = (int64_t)zone->end - 1, step = fl_pageblock_pages(mem);
	int64_t reset_migrate = free, reset_free = migrate;
	bool source_set = false, free_set = false;

	if (!c->blockskip_flush)
		return;
	c->blockskip_flush = false;
	for (; migrate < free; migrate += step, free -= step) {
		fl_charge(who->task, 2 * mem->cost->pageblock_skip);
		fl_cond_resched(who->task);
		if (reset_isolation_pfn(mem, zone, (fl_pfn)migrate, true, source_set) && migrate < reset_migrate) {
			source_set = true;
			reset_migrate = migrate;
			c->init_migrate_pfn = c->cached_migrate_pfn[0] = c->cached_migrate_pfn[1] = (fl_pfn)migrate;
		}
		if (reset_isolation_pfn(mem, zone, (fl_pfn)free, free_set, true) && free > reset_free) {
			free_set = true;
			reset_free = free;
			c->init_free_pfn = c->cached_free_pfn = (fl_pfn)free;
		}
	}
	if (reset_migrate >= reset_free) {
		c->cached_migrate_pfn[0] = c->cached_migrate_pfn[1] = (fl_pfn)migrate;
		c->cached_free_pfn = free < 0 ? 0 : (fl_pfn)free;
	}
}

void fl_reset_isolation_suitable(struct fl_mem *mem, struct fl_caller *who)
{
	for (unsigned int i = 0; i < FL_ZONES; i++)
		if (mem->zone[i].managed)
			fl_zone_reset_isolation_suitable(mem, who, &mem->zone[i]);
}

/* test_and_set_skip(): true if the hint was set already. */
static bool test_and_set_skip(struct fl_mem *mem, const struct fl_compact_control *cc, fl_pfn pfn)
{
	bool skip;

	if (cc->ignore_skip_hint)
		return false;
	skip = fl_pageblock_skip(mem, pfn);
	fl_pageblock_set_skip(mem, pfn);
	return skip;
}

/* update_cached_migrate(): later scans start behind this pageblock; only forward. `pfn` may be the end of it already,
 * and then the position lands one pageblock further, as in the kernel. */
static void update_cached_migrate(struct fl_mem *mem, struct fl_compact_control *cc, fl_pfn pfn)
{
	fl_pfn *cached = cc->zone->compact.cached_migrate_pfn;
	fl_pfn end = fl_pageblock_end(mem, pfn);

	if (end > cached[0])
		cached[0] = end;
	if (cc->mode != FL_MIGRATE_ASYNC && end > cached[1])
		cached[1] = end;
}

/* ---- One pageblock: facts 3.2 ---- */

/* too_many_isolated() of compaction */
static bool too_many_isolated(struct fl_mem *mem, const struct fl_compact_control *cc)
{
	const struct fl_lru *lru = mem->lru;
	uint64_t inactive = lru->size[FL_LRU_INACTIVE_FILE] + lru->size[FL_LRU_INACTIVE_ANON];
	uint64_t active = lru->size[FL_LRU_ACTIVE_FILE] + lru->size[FL_LRU_ACTIVE_ANON];

	if (cc->gfp & FL_GFP_FS) {
		inactive >>= 3;
		active >>= 3;
	}
	if (lru->isolated[0] + lru->isolated[1] > (inactive + active) / 2)
		return true;
	fl_wake_throttle_isolated(mem);
	return false;
}

/* Does the task wait until fewer pages are isolated? False: give up. May switch. */
static bool wait_for_isolated(struct fl_mem *mem, struct fl_caller *who, const struct fl_compact_control *cc)
{
	while (FL_UNLIKELY(too_many_isolated(mem, cc))) {
		if (cc->nr_migratepages || cc->mode == FL_MIGRATE_ASYNC)
			return false;
		fl_reclaim_throttle(mem, who, FL_THROTTLE_ISOLATED);
		if (fl_fatal_signal(who))
			return false;
	}
	return true;
}

static bool skip_on_order(const struct fl_mem *mem, const struct fl_compact_control *cc, unsigned int order)
{
	struct fl_skip_isolation_facts facts = {
		.target_order = cc->order,
		.folio_order = order,
		.pageblock_order = mem->pageblock_order,
		.proactive = cc->proactive_compaction,
		.run_score_order = cc->run_score_order,
		.run_always = cc->run_always,
	};

	fl_thp_orders_of(mem, &facts.thp);
	facts.score_order = mem->decide.proactive_score_order(&(struct fl_score_order_facts){ .thp = facts.thp });
	return mem->decide.compact_skip_folio(&facts);
}

/* May this folio on an LRU list be taken at all (facts 3.2 step 8)? */
static bool folio_is_takeable(const struct fl_mem *mem, const struct fl_compact_control *cc, fl_pfn pfn)
{
	uint32_t state = mem->frames.state[pfn];
	bool has_mapping = fl_state_kind(state) != FL_KIND_ANON || state & FL_SWAPCACHED;
	bool async_rules = cc->mode != FL_MIGRATE_SYNC;

	if (!has_mapping && (state & FL_PINNED || mem->frames.record[pfn].refcount > 1))
		return false;
	if (!(cc->gfp & FL_GFP_FS) && has_mapping)
		return false;
	if (state & FL_UNEVICTABLE && !mem->set.compact_unevictable_allowed)
		return false;
	if (async_rules && state & FL_WRITEBACK)
		return false;
	/* Every modelled mapping can migrate dirty pages; the folio lock is needed to see that. */
	if (((async_rules && state & FL_DIRTY) || (has_mapping && state & FL_UNEVICTABLE)) && state & FL_LOCKED)
		return false;
	return true;
}

/* Where a walk over one pageblock stands. */
struct scan {
	fl_pfn pfn, end;
	fl_pfn valid; /* first pfn of the pageblock when the walk saw it, else FL_PFN_NONE */
	fl_pfn next_skip;
	uint64_t scanned;
	uint32_t looks; /* pfns looked at one by one, for the cost */
	unsigned int isolated;
	bool skip_on_failure, skip_updated;
	bool locked; /* the LRU lock, since the first folio after a break */
	fl_ns locked_at;
};

static void scan_pay(struct fl_mem *mem, struct fl_caller *who, struct scan *s)
{
	fl_charge(who->task, s->looks * mem->cost->migrate_scan_pfn);
	s->looks = 0;
}

/* compact_lock_irqsave() */
static void scan_lock(struct fl_mem *mem, struct fl_caller *who, struct fl_compact_control *cc, struct scan *s)
{
	if (s->locked)
		return;
	scan_pay(mem, who, s);
	if (cc->mode == FL_MIGRATE_ASYNC && !cc->contended)
		cc->contended = fl_spin_is_contended(&mem->lru_lock, who->task);
	s->locked = true;
	s->locked_at = fl_task_now(who->task);
}

static void scan_unlock(struct fl_mem *mem, struct fl_caller *who, struct scan *s)
{
	scan_pay(mem, who, s);
	if (s->locked)
		fl_spin_held(&mem->lru_lock, who->task, fl_task_now(who->task) - s->locked_at);
	s->locked = false;
}

enum look { LOOK_PASS, LOOK_FAIL, LOOK_TAKEN, LOOK_ABORT };

static void jump_over(struct scan *s, unsigned int order)
{
	s->pfn += (1u << order) - 1;
	s->scanned += (1u << order) - 1;
}

/* The lru lock is first taken for a folio that was judged takeable: there the skip bit is tested and set, once a walk.
 * False: somebody else set it. */
static bool look_at_skip_bit(struct fl_mem *mem, struct fl_compact_control *cc, struct scan *s)
{
	if (s->skip_updated || s->valid == FL_PFN_NONE)
		return true;
	s->skip_updated = true;
	return !test_and_set_skip(mem, cc, s->valid) || cc->finish_pageblock;
}

/* Looks at the frame at s->pfn, in the kernel's order of tests, and takes it if it can. */
static enum look look_at(struct fl_mem *mem, struct fl_caller *who, struct fl_compact_control *cc, struct scan *s)
{
	uint32_t state = mem->frames.state[s->pfn];
	unsigned int kind = fl_state_kind(state), order = fl_state_order(state);

	if (kind == FL_KIND_BUDDY) {
		jump_over(s, order);
		return LOOK_PASS;
	}
	if (order && fl_kind_is_allocated(kind) && skip_on_order(mem, cc, order)) {
		jump_over(s, order);
		return LOOK_FAIL;
	}
	if (!(state & FL_LRU) || !fl_kind_is_movable(kind))
		return LOOK_FAIL;
	if (!folio_is_takeable(mem, cc, s->pfn))
		return LOOK_FAIL;
	scan_lock(mem, who, cc, s);
	if (!look_at_skip_bit(mem, cc, s)) {
		s->pfn = s->end;
		return LOOK_ABORT;
	}
	if (!fl_folio_isolate_lru(mem, s->pfn))
		return LOOK_FAIL;
	fl_charge(who->task, mem->cost->isolate);
	fl_pfn_list_add(&mem->frames, &cc->migratepages, s->pfn);
	cc->nr_migratepages += 1u << order;
	s->isolated += 1u << order;
	jump_over(s, order);
	return LOOK_TAKEN;
}

/* Async direct compaction: one page that stays makes its order-aligned area useless; give back what was taken of it. */
static void scan_failed(struct fl_mem *mem, struct fl_caller *who, struct fl_compact_control *cc, struct scan *s)
{
	if (!s->skip_on_failure)
		return;
	if (s->isolated) {
		scan_unlock(mem, who, s);
		fl_putback_movable_pages(mem, who, &cc->migratepages);
		cc->nr_migratepages = 0;
		s->isolated = 0;
	}
	if (s->pfn < s->next_skip) {
		s->pfn = s->next_skip - 1;
		s->next_skip += 1u << cc->order;
	}
}

/* Every 32 pfns the kernel drops the lock and may switch; false: a fatal signal ends the walk. May switch. */
static bool scan_pause(struct fl_mem *mem, struct fl_caller *who, struct fl_compact_control *cc, struct scan *s)
{
	if (fl_fatal_signal(who)) {
		cc->contended = true;
		return false;
	}
	scan_unlock(mem, who, s);
	fl_cond_resched(who->task);
	return true;
}

static fl_pfn next_order_boundary(fl_pfn pfn, int order)
{
	return (pfn | ((1u << order) - 1)) + 1;
}

enum walk { WALK_END, WALK_ABORT, WALK_SIGNAL };

static enum walk scan_walk(struct fl_mem *mem, struct fl_caller *who, struct fl_compact_control *cc, struct scan *s)
{
	for (; s->pfn < s->end; s->pfn++) {
		enum look look;

		if (s->skip_on_failure && s->pfn >= s->next_skip) {
			if (s->isolated)
				break;
			s->next_skip = next_order_boundary(s->pfn, cc->order);
		}
		if (!(s->pfn % FL_COMPACT_CLUSTER_MAX) && !scan_pause(mem, who, cc, s))
			return WALK_SIGNAL;
		s->scanned++;
		s->looks++;
		if (s->valid == FL_PFN_NONE && (fl_pageblock_aligned(mem, s->pfn) || s->pfn == cc->zone->start)) {
			if (!fl_isolation_suitable(mem, cc, s->pfn)) {
				s->pfn = s->end;
				return WALK_ABORT;
			}
			s->valid = s->pfn;
		}
		look = look_at(mem, who, cc, s);
		if (look == LOOK_ABORT)
			return WALK_ABORT;
		if (look == LOOK_FAIL)
			scan_failed(mem, who, cc, s);
		if (look == LOOK_TAKEN && cc->nr_migratepages >= FL_COMPACT_CLUSTER_MAX && !cc->finish_pageblock &&
		    !cc->contended) {
			s->pfn++;
			break;
		}
	}
	return WALK_END;
}

/*
 * The whole pageblock has nothing on an LRU list: what the walk would do to the counters, in one step. Only where the
 * walk looks at every page (no skip on failure). A free or compound chunk that reaches over the end is counted whole.
 */
static bool scan_hopeless_block(struct fl_mem *mem, struct fl_caller *who, struct fl_compact_control *cc,
				struct scan *s)
{
	const struct fl_pageblock *b = fl_pageblock_of(mem, s->pfn);
	unsigned int order = fl_state_order(mem->frames.state[s->pfn]), pages = s->end - s->pfn;
	unsigned int kind = fl_state_kind(mem->frames.state[s->pfn]);

	if (b->lru || s->skip_on_failure || !fl_pageblock_aligned(mem, s->pfn) || fl_fatal_signal(who))
		return false;
	s->scanned++;
	if (!fl_isolation_suitable(mem, cc, s->pfn)) {
		s->pfn = s->end;
		return true;
	}
	s->valid = s->pfn;
	s->scanned += pages - 1;
	s->looks = order ? 1 : pages - b->free + b->free / 4;
	if ((kind == FL_KIND_BUDDY || fl_kind_is_allocated(kind)) && 1u << order > pages)
		s->scanned += (1u << order) - pages;
	s->pfn = s->end;
	fl_charge(who->task, s->looks * mem->cost->migrate_scan_pfn);
	s->looks = 0;
	return true;
}

/* isolate_migratepages_block(): false: abort compaction of the zone. May switch. */
static bool isolate_migratepages_block(struct fl_mem *mem, struct fl_caller *who, struct fl_compact_control *cc,
				       fl_pfn low_pfn, fl_pfn end_pfn)
{
	struct scan s = { .pfn = low_pfn, .end = end_pfn, .valid = FL_PFN_NONE };
	enum walk walk = WALK_END;

	cc->migrate_pfn = low_pfn;
	if (!wait_for_isolated(mem, who, cc))
		return false;
	fl_cond_resched(who->task);
	if (cc->direct_compaction && cc->mode == FL_MIGRATE_ASYNC) {
		s.skip_on_failure = true;
		s.next_skip = next_order_boundary(low_pfn, cc->order);
	}
	if (!scan_hopeless_block(mem, who, cc, &s))
		walk = scan_walk(mem, who, cc, &s);
	if (s.pfn > s.end)
		s.pfn = s.end;
	if (walk != WALK_SIGNAL && s.pfn == s.end && (!s.isolated || cc->finish_pageblock)) {
		if (s.valid != FL_PFN_NONE && !s.skip_updated)
			fl_pageblock_set_skip(mem, s.valid);
		update_cached_migrate(mem, cc, s.pfn);
	}
	scan_unlock(mem, who, &s);
	cc->total_migrate_scanned += s.scanned;
	fl_count(mem, FL_VM_compact_isolated, s.isolated);
	cc->migrate_pfn = s.pfn;
	return walk != WALK_SIGNAL;
}

/* ---- Fast search for a source: facts 3.3 ---- */

static bool fast_find_applies(const struct fl_mem *mem, const struct fl_compact_control *cc)
{
	if (cc->ignore_skip_hint || cc->finish_pageblock)
		return false;
	if (cc->migrate_pfn != cc->zone->start && !fl_pageblock_aligned(mem, cc->migrate_pfn))
		return false;
	if (cc->order <= FL_COSTLY_ORDER)
		return false;
	return !cc->direct_compaction || cc->migratetype == FL_MOVABLE ||
	       mem->decide.compact_source(&(struct fl_source_facts){ .block_type = FL_MOVABLE,
								     .want = cc->migratetype,
								     .order = cc->order,
								     .pageblock_order = mem->pageblock_order,
								     .async = true });
}

/* move_freelist_tail(): entries up to this one go behind the last, so that a later search sees others first. */
static void rotate_behind(struct fl_frames *f, uint32_t head, uint32_t at)
{
	uint32_t next = fl_list_first(f, at);

	if (next == head)
		return;
	fl_list_del(f, head);
	fl_list_insert(f, head, at, next);
}

static void note_fast_start(struct fl_compact_control *cc, fl_pfn pfn)
{
	if (cc->fast_start_pfn == FL_PFN_NONE)
		return;
	if (!cc->fast_start_pfn || pfn < cc->fast_start_pfn)
		cc->fast_start_pfn = pfn;
}

static fl_pfn fast_find_missed(struct fl_compact_control *cc)
{
	cc->fast_search_fail++;
	if (cc->fast_start_pfn && cc->fast_start_pfn != FL_PFN_NONE) {
		cc->migrate_pfn = cc->fast_start_pfn;
		cc->fast_start_pfn = FL_PFN_NONE;
	}
	return cc->migrate_pfn;
}

/* Looks through one list; the pfn of a chunk in a pageblock worth scanning, or FL_PFN_NONE. */
static fl_pfn fast_find_on_list(struct fl_mem *mem, const struct fl_compact_control *cc, unsigned int order,
				fl_pfn high_pfn, unsigned int limit, unsigned int *scanned)
{
	struct fl_frames *f = &mem->frames;
	uint32_t head = fl_free_list(cc->zone, FL_MOVABLE, order);

	for (uint32_t at = fl_list_first(f, head); at != head; at = fl_list_first(f, at)) {
		if ((*scanned)++ >= limit) {
			rotate_behind(f, head, at);
			return FL_PFN_NONE;
		}
		if (at >= high_pfn || fl_pageblock_skip(mem, at))
			continue;
		rotate_behind(f, head, at);
		return at;
	}
	return FL_PFN_NONE;
}

/* fast_find_migrateblock(): the pfn at which to go on, which may be another pageblock that is partly free already. */
static fl_pfn fast_find_migrateblock(struct fl_mem *mem, struct fl_caller *who, struct fl_compact_control *cc)
{
	unsigned int limit = fl_freelist_scan_limit(cc), scanned = 0;
	fl_pfn distance, high_pfn, found = FL_PFN_NONE;

	if (!fast_find_applies(mem, cc))
		return cc->migrate_pfn;
	distance = (cc->free_pfn - cc->migrate_pfn) >> 1;
	if (cc->migrate_pfn != cc->zone->start)
		distance >>= 2;
	high_pfn = fl_pageblock_start(mem, cc->migrate_pfn + distance);
	for (int o = cc->order - 1; o >= FL_COSTLY_ORDER && found == FL_PFN_NONE && scanned < limit; o--)
		if (cc->zone->nr_free[o])
			found = fast_find_on_list(mem, cc, (unsigned int)o, high_pfn, limit, &scanned);
	cc->total_migrate_scanned += scanned;
	fl_charge(who->task, scanned * mem->cost->migrate_scan_pfn);
	if (found == FL_PFN_NONE)
		return fast_find_missed(cc);
	cc->fast_search_fail = 0;
	note_fast_start(cc, found);
	found = fl_pageblock_start(mem, found);
	return found < cc->zone->start ? cc->zone->start : found;
}

/* ---- Choosing pageblocks: facts 3.1 ---- */

/* suitable_migration_source() */
static bool suitable_migration_source(const struct fl_mem *mem, const struct fl_compact_control *cc, fl_pfn block_start)
{
	if (fl_pageblock_skip_persistent(mem, block_start))
		return false;
	if (!cc->direct_compaction)
		return true;
	return mem->decide.compact_source(&(struct fl_source_facts){
		.block_type = fl_pageblock_type(mem, block_start),
		.want = cc->migratetype,
		.order = cc->order,
		.pageblock_order = mem->pageblock_order,
		.async = cc->mode == FL_MIGRATE_ASYNC,
	});
}

enum fl_isolate_result fl_isolate_migratepages(struct fl_mem *mem, struct fl_caller *who,
					       struct fl_compact_control *cc)
{
	fl_pfn low_pfn = fast_find_migrateblock(mem, who, cc);
	fl_pfn block_start = fl_pageblock_start(mem, low_pfn), block_end = fl_pageblock_end(mem, low_pfn);
	bool fast_found = low_pfn != cc->migrate_pfn && !cc->fast_search_fail;

	if (block_start < cc->zone->start)
		block_start = cc->zone->start;
	for (; block_end <= cc->free_pfn;
	     fast_found = false, cc->migrate_pfn = low_pfn = block_start = block_end,
	     block_end += fl_pageblock_pages(mem)) {
		if (!(low_pfn % (FL_COMPACT_CLUSTER_MAX * fl_pageblock_pages(mem))))
			fl_cond_resched(who->task);
		fl_charge(who->task, mem->cost->pageblock_skip);
		if (!fl_compact_pageblock_valid(mem, cc->zone, block_start, block_end))
			continue;
		if ((fl_pageblock_aligned(mem, low_pfn) || low_pfn == cc->zone->start) && !fast_found &&
		    !fl_isolation_suitable(mem, cc, low_pfn))
			continue;
		if (!suitable_migration_source(mem, cc, block_start)) {
			update_cached_migrate(mem, cc, block_end);
			continue;
		}
		if (!isolate_migratepages_block(mem, who, cc, low_pfn, block_end))
			return FL_ISOLATE_ABORT;
		break;
	}
	return cc->nr_migratepages ? FL_ISOLATE_SUCCESS : FL_ISOLATE_NONE;
}
