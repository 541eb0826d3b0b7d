/*
 * mm/compact_free.c - the free scanner: from high pfns down, takes free chunks as targets of migration; hands them out.
 *
 * Mirrors isolate_freepages(), isolate_freepages_block(), fast_isolate_freepages(), compaction_alloc() and
 * compaction_free() of mm/compaction.c; facts section 4. Chunks are taken whole and kept by order; a folio of order n
 * needs a chunk of at least that order, small chunks are never merged.
 */
#include "mm/buddy.h"
#include "mm/compact_control.h"

/* Takes one free chunk as a target: __isolate_free_page() and the accounts of both callers. */
static bool take_target(struct fl_mem *mem, struct fl_caller *who, struct fl_compact_control *cc, fl_pfn pfn,
			unsigned int order)
{
	if (!fl_isolate_free_page(mem, cc->zone, pfn, order))
		return false;
	fl_charge(who->task, mem->cost->isolate_free);
	cc->nr_freepages += 1u << order;
	fl_pfn_list_add_tail(&mem->frames, &cc->freepages[order], pfn);
	fl_count(mem, FL_VM_compact_isolated, 1u << order);
	return true;
}

fl_pfn fl_release_free_list(struct fl_mem *mem, struct fl_caller *who, struct fl_compact_control *cc)
{
	fl_pfn pfn, high_pfn = 0;

	for (unsigned int o = 0; o <= mem->max_order; o++) {
		while ((pfn = fl_pfn_list_pop(&mem->frames, &cc->freepages[o])) != FL_PFN_NONE) {
			fl_page_prep(mem, pfn, o, FL_KIND_KERNEL);
			fl_page_free(mem, who, pfn, o);
			if (pfn > high_pfn)
				high_pfn = pfn;
		}
	}
	cc->nr_freepages = 0;
	return high_pfn;
}

/* ---- The linear scanner: facts 4.3 ---- */

bool fl_suitable_migration_target(const struct fl_mem *mem, const struct fl_compact_control *cc, fl_pfn block_start)
{
	uint32_t state = mem->frames.state[block_start];
	unsigned int keep = cc->order > 0 ? (unsigned int)cc->order : mem->pageblock_order;

	if (fl_state_kind(state) == FL_KIND_BUDDY && fl_state_order(state) >= keep)
		return false;
	return cc->ignore_block_suitable || fl_pageblock_type(mem, block_start) == FL_MOVABLE;
}

/* A walk over (part of) one pageblock. */
struct free_scan {
	fl_pfn pfn, end;
	uint64_t scanned;
	uint32_t looks;
	unsigned int isolated;
	bool locked; /* the zone lock, since the first free page after a break */
	fl_ns locked_at;
};

static void free_scan_pay(struct fl_mem *mem, struct fl_caller *who, struct free_scan *s)
{
	fl_charge(who->task, s->looks * mem->cost->free_scan_pfn);
	s->looks = 0;
}

/* compact_lock_irqsave() */
static void free_scan_lock(struct fl_mem *mem, struct fl_caller *who, struct fl_compact_control *cc, struct free_scan *s)
{
	if (s->locked)
		return;
	free_scan_pay(mem, who, s);
	if (cc->mode == FL_MIGRATE_ASYNC && !cc->contended)
		cc->contended = fl_spin_is_contended(&cc->zone->lock, who->task);
	s->locked = true;
	s->locked_at = fl_task_now(who->task);
}

static void free_scan_unlock(struct fl_mem *mem, struct fl_caller *who, struct fl_compact_control *cc,
			     struct free_scan *s)
{
	free_scan_pay(mem, who, s);
	if (s->locked)
		fl_spin_held(&cc->zone->lock, who->task, fl_task_now(who->task) - s->locked_at);
	s->locked = false;
}

/* Jumps over an allocated compound that ends in the pageblock. */
static void free_scan_compound(struct free_scan *s, unsigned int order)
{
	if (s->pfn + (1u << order) > s->end)
		return;
	s->pfn += (1u << order) - 1;
	s->scanned += (1u << order) - 1;
}

/* False: stop here, the watermark or the demand says so. */
static bool free_scan_buddy(struct fl_mem *mem, struct fl_caller *who, struct fl_compact_control *cc,
			    struct free_scan *s, unsigned int order)
{
	free_scan_lock(mem, who, cc, s);
	if (!take_target(mem, who, cc, s->pfn, order))
		return false;
	s->scanned += (1u << order) - 1;
	s->isolated += 1u << order;
	if (cc->nr_migratepages <= cc->nr_freepages) {
		s->pfn += 1u << order;
		return false;
	}
	s->pfn += (1u << order) - 1;
	return true;
}

static void free_scan_walk(struct fl_mem *mem, struct fl_caller *who, struct fl_compact_control *cc,
			   struct free_scan *s, unsigned int stride)
{
	for (; s->pfn < s->end; s->pfn += stride) {
		uint32_t state = mem->frames.state[s->pfn];
		unsigned int kind = fl_state_kind(state), order = fl_state_order(state);

		if (!(s->pfn % FL_COMPACT_CLUSTER_MAX)) {
			if (fl_fatal_signal(who)) {
				cc->contended = true;
				return;
			}
			free_scan_unlock(mem, who, cc, s);
		}
		s->scanned++;
		s->looks++;
		if (order && fl_kind_is_allocated(kind))
			free_scan_compound(s, order);
		else if (kind == FL_KIND_BUDDY && !free_scan_buddy(mem, who, cc, s, order))
			return;
	}
}

/* Nothing is free in the pageblock and every page would be looked at: the walk in one step. */
static bool free_scan_hopeless(struct fl_mem *mem, struct fl_caller *who, struct fl_compact_control *cc,
			       struct free_scan *s, unsigned int stride)
{
	if (stride != 1 || fl_pageblock_of(mem, s->pfn)->free || fl_fatal_signal(who))
		return false;
	s->scanned += s->end - s->pfn;
	s->looks += fl_state_order(mem->frames.state[s->pfn]) ? 1 : s->end - s->pfn;
	s->pfn = s->end;
	return true;
}

/*
 * isolate_freepages_block(): takes free chunks from *start on until there are targets for all isolated folios; *start
 * becomes where it stopped. Returns the pages taken. Does not switch: the caller does, between pageblocks.
 */
static unsigned int isolate_freepages_block(struct fl_mem *mem, struct fl_caller *who, struct fl_compact_control *cc,
					    fl_pfn *start, fl_pfn end, unsigned int stride)
{
	struct free_scan s = { .pfn = *start, .end = end };

	if (!free_scan_hopeless(mem, who, cc, &s, stride))
		free_scan_walk(mem, who, cc, &s, stride);
	free_scan_unlock(mem, who, cc, &s);
	*start = s.pfn < end ? s.pfn : end;
	cc->total_free_scanned += s.scanned;
	return s.isolated;
}

/* update_pageblock_skip(): walked to its end, so later scans begin below it. */
static void walked_to_the_end(struct fl_mem *mem, struct fl_compact_control *cc, fl_pfn block_start)
{
	int64_t below = (int64_t)block_start - fl_pageblock_pages(mem);

	fl_pageblock_set_skip(mem, block_start);
	if (below < (int64_t)cc->zone->compact.cached_free_pfn)
		cc->zone->compact.cached_free_pfn = below < 0 ? 0 : (fl_pfn)below;
}

/* isolate_freepages() after the fast search. May switch. */
static void isolate_freepages_linear(struct fl_mem *mem, struct fl_caller *who, struct fl_compact_control *cc)
{
	int64_t size = fl_pageblock_pages(mem), block = fl_pageblock_start(mem, cc->free_pfn);
	int64_t low = fl_pageblock_end(mem, cc->migrate_pfn), at = cc->free_pfn;
	int64_t end = block + size < cc->zone->end ? block + size : cc->zone->end;
	unsigned int stride = cc->mode == FL_MIGRATE_ASYNC ? FL_COMPACT_CLUSTER_MAX : 1;

	for (; block >= low; end = block, block -= size, at = block) {
		unsigned int taken;
		fl_pfn stopped;

		fl_charge(who->task, mem->cost->pageblock_skip);
		fl_cond_resched(who->task);
		if (!fl_compact_pageblock_valid(mem, cc->zone, (fl_pfn)block, (fl_pfn)end) ||
		    !fl_suitable_migration_target(mem, cc, (fl_pfn)block) ||
		    !fl_isolation_suitable(mem, cc, (fl_pfn)block))
			continue;
		stopped = (fl_pfn)at;
		taken = isolate_freepages_block(mem, who, cc, &stopped, (fl_pfn)end, stride);
		at = stopped;
		if (at == end)
			walked_to_the_end(mem, cc, (fl_pfn)block);
		if (cc->nr_freepages >= cc->nr_migratepages) {
			if (at >= end)
				at = block - size;
			break;
		}
		if (at < end)
			break; /* refused: not worth going on */
		stride = taken ? 1 : stride < FL_COMPACT_CLUSTER_MAX ? stride << 1 : FL_COMPACT_CLUSTER_MAX;
	}
	cc->free_pfn = at < 0 ? 0 : (fl_pfn)at;
}

/* ---- The fast search: facts 4.2 ---- */

struct fast_free {
	unsigned int limit, scanned, order_scanned;
	fl_pfn low_pfn, min_pfn; /* preferred from low_pfn on, acceptable from min_pfn on */
	fl_pfn highest;          /* start of the highest pageblock seen */
	fl_pfn candidate;        /* best below low_pfn on this list, or 0 */
	bool scan_start;
};

/* move_freelist_head(): entries before this one go behind the last. */
static void rotate_before(struct fl_frames *f, uint32_t head, uint32_t at)
{
	uint32_t prev = fl_list_last(f, at);

	if (prev == head)
		return;
	fl_list_del(f, head);
	fl_list_insert(f, head, prev, at);
}

/* next_search_order(): the next order of the round, or -1 after the last. */
static int next_search_order(struct fl_compact_control *cc, int order)
{
	if (--order < 0)
		order = cc->order - 1;
	if (order != cc->search_order)
		return order;
	if (--cc->search_order < 0)
		cc->search_order = cc->order - 1;
	return -1;
}

static void fast_free_init(const struct fl_mem *mem, const struct fl_compact_control *cc, struct fast_free *s)
{
	fl_pfn distance = cc->free_pfn - cc->migrate_pfn;

	*s = (struct fast_free){ .limit = fl_freelist_scan_limit(cc) >> 1 };
	if (!s->limit)
		s->limit = 1;
	if (cc->free_pfn >= cc->zone->compact.init_free_pfn) {
		s->limit = fl_pageblock_pages(mem) >> 1;
		s->scan_start = true;
	}
	s->low_pfn = fl_pageblock_start(mem, cc->free_pfn - (distance >> 2));
	s->min_pfn = fl_pageblock_start(mem, cc->free_pfn - (distance >> 1));
}

/* Looks through one list from its tail; the chunk to take, or FL_PFN_NONE. *at: where the list is to be turned. */
static fl_pfn fast_free_on_list(struct fl_mem *mem, struct fl_compact_control *cc, struct fast_free *s, int order,
				uint32_t head)
{
	struct fl_frames *f = &mem->frames;
	uint32_t at;

	s->order_scanned = 0;
	s->candidate = 0;
	for (at = fl_list_last(f, head); at != head; at = fl_list_last(f, at)) {
		s->order_scanned++;
		s->scanned++;
		if (at >= s->highest) {
			s->highest = fl_pageblock_start(mem, at);
			if (s->highest < cc->zone->start)
				s->highest = cc->zone->start;
		}
		if (at >= s->low_pfn) {
			cc->fast_search_fail = 0;
			cc->search_order = order;
			rotate_before(f, head, at);
			return at;
		}
		if (at >= s->min_pfn && at > s->candidate) {
			s->candidate = at;
			s->limit >>= 1;
		}
		if (s->order_scanned >= s->limit)
			break;
	}
	if (s->candidate)
		at = s->candidate;
	if (at != head)
		rotate_before(f, head, at);
	return s->candidate ? s->candidate : FL_PFN_NONE;
}

/* The search over the lists, round robin by order; the chunk taken, or FL_PFN_NONE. */
static fl_pfn fast_free_search(struct fl_mem *mem, struct fl_caller *who, struct fl_compact_control *cc,
			       struct fast_free *s)
{
	fl_pfn found = FL_PFN_NONE;

	if (cc->search_order > cc->order - 1)
		cc->search_order = cc->order - 1;
	for (int o = cc->search_order; found == FL_PFN_NONE && o >= 0; o = next_search_order(cc, o)) {
		if (!cc->zone->nr_free[o])
			continue;
		found = fast_free_on_list(mem, cc, s, o, fl_free_list(cc->zone, FL_MOVABLE, (unsigned int)o));
		if (found != FL_PFN_NONE) {
			if (take_target(mem, who, cc, found, (unsigned int)o)) {
				s->scanned += (1u << o) - 1;
			} else {
				found = FL_PFN_NONE;
				o = cc->search_order + 1; /* the round ends at the next step */
			}
		}
		if (cc->nr_freepages >= cc->nr_migratepages)
			break;
		if (s->order_scanned >= s->limit)
			s->limit = s->limit > 1 ? s->limit >> 1 : 1;
	}
	return found;
}

/* Nothing found: where the linear scanner shall start instead, and around which pageblock to look. */
static fl_pfn fast_free_missed(struct fl_mem *mem, struct fl_compact_control *cc, const struct fast_free *s)
{
	fl_pfn end, around = FL_PFN_NONE;

	cc->fast_search_fail++;
	if (!s->scan_start)
		return FL_PFN_NONE;
	if (s->highest >= s->min_pfn) {
		cc->free_pfn = s->highest;
		return s->highest;
	}
	if (!cc->direct_compaction)
		return FL_PFN_NONE;
	end = fl_pageblock_end(mem, s->min_pfn);
	if (fl_compact_pageblock_valid(mem, cc->zone, s->min_pfn, end < cc->zone->end ? end : cc->zone->end) &&
	    fl_suitable_migration_target(mem, cc, s->min_pfn))
		around = s->min_pfn;
	cc->free_pfn = s->min_pfn;
	return around;
}

/* fast_isolate_around(): more from the same pageblock. */
static void fast_free_around(struct fl_mem *mem, struct fl_caller *who, struct fl_compact_control *cc, fl_pfn pfn)
{
	fl_pfn start = fl_pageblock_start(mem, pfn), end = fl_pageblock_end(mem, pfn), block;

	if (cc->nr_freepages >= cc->nr_migratepages || (cc->direct_compaction && cc->mode == FL_MIGRATE_ASYNC))
		return;
	if (start < cc->zone->start)
		start = cc->zone->start;
	if (end > cc->zone->end)
		end = cc->zone->end;
	if (!fl_compact_pageblock_valid(mem, cc->zone, start, end))
		return;
	block = start;
	isolate_freepages_block(mem, who, cc, &start, end, 1);
	if (start == end)
		fl_pageblock_set_skip(mem, block);
}

/* fast_isolate_freepages() */
static void fast_isolate_freepages(struct fl_mem *mem, struct fl_caller *who, struct fl_compact_control *cc)
{
	fl_pfn *cached = &cc->zone->compact.cached_free_pfn;
	struct fast_free s;
	fl_pfn found;

	if (cc->order <= 0)
		return;
	fast_free_init(mem, cc, &s);
	found = fast_free_search(mem, who, cc, &s);
	if (found == FL_PFN_NONE)
		found = fast_free_missed(mem, cc, &s);
	if (s.highest && s.highest >= *cached)
		*cached = s.highest > fl_pageblock_pages(mem) ? s.highest - fl_pageblock_pages(mem) : 0;
	cc->total_free_scanned += s.scanned;
	fl_charge(who->task, s.scanned * mem->cost->free_scan_pfn);
	fl_spin_held(&cc->zone->lock, who->task, s.scanned * (fl_ns)mem->cost->free_scan_pfn);
	if (found != FL_PFN_NONE)
		fast_free_around(mem, who, cc, found);
}

void fl_isolate_freepages(struct fl_mem *mem, struct fl_caller *who, struct fl_compact_control *cc)
{
	fast_isolate_freepages(mem, who, cc);
	if (!cc->nr_freepages)
		isolate_freepages_linear(mem, who, cc);
}

/* ---- Handing out: facts 4.4 ---- */

/* The smallest kept order that is at least `order`, or -1. */
static int smallest_kept_order(const struct fl_mem *mem, const struct fl_compact_control *cc, unsigned int order)
{
	for (unsigned int o = order; o <= mem->max_order; o++)
		if (!fl_pfn_list_empty(&cc->freepages[o]))
			return (int)o;
	return -1;
}

fl_pfn fl_compaction_alloc(struct fl_mem *mem, struct fl_caller *who, fl_pfn src, void *arg)
{
	struct fl_compact_control *cc = arg;
	unsigned int order = fl_state_order(mem->frames.state[src]);
	int kept = smallest_kept_order(mem, cc, order);
	fl_pfn pfn;

	if (kept < 0) {
		fl_isolate_freepages(mem, who, cc);
		kept = smallest_kept_order(mem, cc, order);
		if (kept < 0)
			return FL_PFN_NONE;
	}
	pfn = fl_pfn_list_pop(&mem->frames, &cc->freepages[kept]);
	while (kept > (int)order) {
		fl_pfn half = pfn + (1u << --kept);

		mem->frames.state[half] = fl_state(FL_KIND_TARGET, (unsigned int)kept);
		fl_pfn_list_add(&mem->frames, &cc->freepages[kept], half);
	}
	mem->frames.state[pfn] = fl_state(FL_KIND_TARGET, order);
	cc->nr_freepages -= 1u << order;
	cc->nr_migratepages -= 1u << order;
	return pfn;
}

void fl_compaction_free(struct fl_mem *mem, struct fl_caller *who, fl_pfn dst, unsigned int order, void *arg)
{
	struct fl_compact_control *cc = arg;

	FL_ASSERT(fl_state_kind(mem->frames.state[dst]) == FL_KIND_TARGET);
	fl_pfn_list_add(&mem->frames, &cc->freepages[order], dst);
	cc->nr_freepages += 1u << order;
	cc->nr_migratepages += 1u << order;
}
