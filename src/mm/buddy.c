/*
 * mm/buddy.c - the buddy lists of a zone. Mirrors the core of mm/page_alloc.c: __free_one_page, __rmqueue and what
 * they call. Owns nr_free, nonempty, NR_FREE_PAGES, the counts by type, and pageblock.free.
 */
#include "mm/buddy.h"

#include "mm/pageblock.h"
#include "mm/watermark.h"

/* ---- Lists: links and counts by order, no accounting of pages. ---- */

static inline bool zone_has(const struct fl_zone *zone, fl_pfn pfn)
{
	return pfn - zone->start < zone->spanned;
}

/* __add_to_free_list() */
static inline void list_chunk(struct fl_mem *mem, struct fl_zone *zone, fl_pfn pfn, unsigned int order,
			      unsigned int type, bool to_tail)
{
	uint32_t head = fl_free_list(zone, type, order);

	mem->frames.state[pfn] = fl_state(FL_KIND_BUDDY, order);
	if (to_tail)
		fl_list_add_tail(&mem->frames, head, pfn);
	else
		fl_list_add(&mem->frames, head, pfn);
	zone->nr_free[order]++;
	zone->nonempty[type] |= 1u << order;
	if (FL_UNLIKELY(order >= mem->pageblock_order && type != FL_ISOLATE))
		zone->nr_free_pages_blocks += 1L << order;
}

/* __del_page_from_free_list() */
static inline void unlist_chunk(struct fl_mem *mem, struct fl_zone *zone, fl_pfn pfn, unsigned int order,
				unsigned int type)
{
	fl_list_del(&mem->frames, pfn);
	mem->frames.state[pfn] = fl_state(FL_KIND_INTERIOR, 0);
	zone->nr_free[order]--;
	if (fl_list_empty(&mem->frames, fl_free_list(zone, type, order)))
		zone->nonempty[type] &= ~(1u << order);
	if (FL_UNLIKELY(order >= mem->pageblock_order && type != FL_ISOLATE))
		zone->nr_free_pages_blocks -= 1L << order;
}

/* account_freepages() */
static inline void account(struct fl_zone *zone, long pages, unsigned int type)
{
	zone->type_count[type] += pages;
	if (FL_UNLIKELY(type == FL_ISOLATE)) {
		zone->nr_isolated_free += pages;
		return;
	}
	zone->nr_free_pages += pages;
	if (FL_UNLIKELY(type == FL_HIGHATOMIC))
		zone->nr_free_highatomic += pages;
}

/* Keeps pageblock.free: pages of the pageblocks of [pfn, pfn + 2^order) enter or leave the lists. */
static inline void block_free_add(struct fl_mem *mem, fl_pfn pfn, unsigned int order, int sign)
{
	struct fl_pageblock *b = fl_pageblock_of(mem, pfn);
	unsigned int step = order < mem->pageblock_order ? order : mem->pageblock_order;

	for (unsigned int i = 0; i < 1u << (order - step); i++)
		b[i].free = (uint16_t)(b[i].free + sign * (int)(1u << step));
}

/* set_pageblock_migratetype() over a range (change_pageblock_range). */
static void retype_range(struct fl_mem *mem, fl_pfn pfn, unsigned int order, unsigned int type)
{
	for (unsigned int i = 0; i < 1u << (order - mem->pageblock_order); i++)
		fl_pageblock_set_type(mem, pfn + (i << mem->pageblock_order), type);
}

/*
 * expand(): cuts a chunk of order `high` (off the lists) down to `low`. The lower part is kept, upper parts go to the
 * heads of the lists of `type`. Returns the pages that went back to the lists; guards do not.
 */
static inline unsigned int expand(struct fl_mem *mem, struct fl_zone *zone, fl_pfn pfn, unsigned int low,
				  unsigned int high, unsigned int type)
{
	unsigned int listed = 0;

	while (high > low) {
		fl_pfn upper;

		high--;
		upper = pfn + (1u << high);
		if (FL_UNLIKELY(high < mem->guard_minorder)) {
			mem->frames.state[upper] = fl_state(FL_KIND_GUARD, high);
			block_free_add(mem, upper, high, -1);
			continue;
		}
		list_chunk(mem, zone, upper, high, type, false);
		listed += 1u << high;
	}
	return listed;
}

/* page_del_and_expand(): takes a listed chunk of order `high` of `from`, keeps 2^low pages, lists the rest as `to`. */
static inline void take_chunk(struct fl_mem *mem, struct fl_zone *zone, fl_pfn pfn, unsigned int low,
			      unsigned int high, unsigned int from, unsigned int to)
{
	unsigned int listed;

	unlist_chunk(mem, zone, pfn, high, from);
	block_free_add(mem, pfn, low, -1);
	listed = expand(mem, zone, pfn, low, high, to);
	if (FL_LIKELY(from == to)) {
		account(zone, (long)listed - (1L << high), from);
		return;
	}
	account(zone, -(1L << high), from);
	account(zone, listed, to);
}

void fl_del_from_free_list(struct fl_mem *mem, struct fl_zone *zone, fl_pfn pfn, unsigned int order,
			   unsigned int type)
{
	unlist_chunk(mem, zone, pfn, order, type);
	block_free_add(mem, pfn, order, -1);
	account(zone, -(1L << order), type);
}

static inline fl_pfn first_chunk(const struct fl_mem *mem, const struct fl_zone *zone, unsigned int type,
				 unsigned int order)
{
	return fl_list_first(&mem->frames, fl_free_list(zone, type, order));
}

/* ---- Taking ---- */

fl_pfn fl_rmqueue_smallest(struct fl_mem *mem, struct fl_caller *who, struct fl_zone *zone, unsigned int order,
			   unsigned int type)
{
	uint32_t orders = zone->nonempty[type] >> order;
	unsigned int found;
	fl_pfn pfn;

	if (!orders)
		return FL_PFN_NONE;
	found = order + (unsigned int)__builtin_ctz(orders);
	pfn = first_chunk(mem, zone, type, found);
	take_chunk(mem, zone, pfn, order, found, type, type);
	FL_TRACE(mem, who, mm_page_alloc_zone_locked, pfn, order, type,
		 (order < FL_PCP_CACHED_ORDERS || order == mem->pmd_order) && type < FL_PCPTYPES);
	return pfn;
}

/* Keeps pageblock.free: `pages` pages from pfn on leave the lists. */
static void block_free_take(struct fl_mem *mem, fl_pfn pfn, uint32_t pages)
{
	while (pages) {
		uint32_t in_block = fl_pageblock_pages(mem) - (pfn & (fl_pageblock_pages(mem) - 1));
		uint32_t n = pages < in_block ? pages : in_block;

		fl_pageblock_of(mem, pfn)->free = (uint16_t)(fl_pageblock_of(mem, pfn)->free - n);
		pfn += n;
		pages -= n;
	}
}

/*
 * Why one step does what so many would: the chunk is of the smallest order that holds anything, so the lists of the orders
 * below it are empty, and each piece that is split off next is the lower neighbour of what is left.
 */
unsigned int fl_rmqueue_run(struct fl_mem *mem, struct fl_zone *zone, unsigned int order, unsigned int type,
			    unsigned int want, fl_pfn *ret_first)
{
	uint32_t orders = zone->nonempty[type] >> order;
	unsigned int above, count, at;
	fl_pfn pfn;

	if (!orders || mem->guard_minorder || !fl_may_shorten(mem))
		return 0;
	above = (unsigned int)__builtin_ctz(orders);
	pfn = first_chunk(mem, zone, type, order + above);
	count = want < 1u << above ? want : 1u << above;
	unlist_chunk(mem, zone, pfn, order + above, type);
	for (at = count; at < 1u << above; at += at & -at)
		list_chunk(mem, zone, pfn + (at << order), order + (unsigned int)__builtin_ctz(at), type, false);
	block_free_take(mem, pfn, count << order);
	account(zone, -((long)count << order), type);
	*ret_first = pfn;
	return count;
}

/* Which types a request may take instead, best first (the table `fallbacks`). */
static const uint8_t fallback_types[FL_PCPTYPES][2] = {
	[FL_UNMOVABLE] = { FL_RECLAIMABLE, FL_MOVABLE },
	[FL_MOVABLE] = { FL_RECLAIMABLE, FL_UNMOVABLE },
	[FL_RECLAIMABLE] = { FL_UNMOVABLE, FL_MOVABLE },
};

int fl_find_fallback(const struct fl_zone *zone, unsigned int order, unsigned int want)
{
	for (unsigned int i = 0; i < 2; i++)
		if (zone->nonempty[fallback_types[want][i]] >> order & 1)
			return fallback_types[want][i];
	return -1;
}

/* The orders at which any fallback type has a chunk. */
static uint32_t fallback_orders(const struct fl_zone *zone, unsigned int want)
{
	return zone->nonempty[fallback_types[want][0]] | zone->nonempty[fallback_types[want][1]];
}

bool fl_worth_claiming(const struct fl_mem *mem, unsigned int found_order, unsigned int want)
{
	return found_order >= mem->pageblock_order / 2 || want != FL_MOVABLE || mem->set.grouping_disabled;
}

void fl_move_listed_chunk(struct fl_mem *mem, struct fl_zone *zone, fl_pfn pfn, unsigned int order, unsigned int from,
			  unsigned int to)
{
	unlist_chunk(mem, zone, pfn, order, from);
	list_chunk(mem, zone, pfn, order, to, true);
	account(zone, -(1L << order), from);
	account(zone, 1L << order, to);
}

unsigned int fl_move_freepages_block(struct fl_mem *mem, struct fl_zone *zone, fl_pfn block_start, unsigned int from,
				     unsigned int to)
{
	fl_pfn pfn = block_start, end = block_start + fl_pageblock_pages(mem);
	unsigned int moved = 0;

	while (pfn < end) {
		uint32_t state = mem->frames.state[pfn];
		unsigned int order = fl_state_order(state);

		if (fl_state_kind(state) == FL_KIND_BUDDY) {
			unlist_chunk(mem, zone, pfn, order, from);
			list_chunk(mem, zone, pfn, order, to, true);
			moved += 1u << order;
		}
		pfn += 1u << order;
	}
	account(zone, -(long)moved, from);
	account(zone, moved, to);
	return moved;
}

/* Claims the pageblock of a listed chunk below pageblock order, if the decision allows it (try_to_claim_block). */
static bool claim_partial(struct fl_mem *mem, struct fl_caller *who, struct fl_zone *zone, fl_pfn pfn,
			  unsigned int found, unsigned int type, uint32_t alloc_flags)
{
	struct fl_pageblock *b = fl_pageblock_of(mem, pfn);
	struct fl_claim_facts facts;
	fl_pfn start;

	/* The boost comes before the decision: a refused claim has raised it, too. */
	if (fl_boost_watermark(mem, zone) && (alloc_flags & FL_ALLOC_KSWAPD))
		zone->flags |= FL_ZONE_BOOSTED_WATERMARK;
	if (b->flags & FL_PAGEBLOCK_STRADDLES)
		return false;
	facts = (struct fl_claim_facts){
		.want = type,
		.block_type = b->type,
		.found_order = found,
		.pages = fl_pageblock_pages(mem),
		.free = b->free,
		.movable = b->lru,
		.grouping_disabled = mem->set.grouping_disabled,
	};
	fl_charge(who->task, mem->cost->alloc_fallback);
	if (!mem->decide.claim_block(&facts))
		return false;
	start = pfn & ~(fl_pageblock_pages(mem) - 1);
	fl_move_freepages_block(mem, zone, start, b->type, type);
	fl_pageblock_set_type(mem, start, type);
	return true;
}

static void report_extfrag(struct fl_mem *mem, struct fl_caller *who, fl_pfn pfn, unsigned int order,
			   unsigned int found, unsigned int want, unsigned int taken, enum fl_extfrag_how how)
{
	mem->extfrag[want][taken][found][how]++;
	FL_TRACE(mem, who, mm_page_alloc_extfrag, pfn, order, found, want, taken,
		 fl_pageblock_type(mem, pfn) == want);
}

/* __rmqueue_claim(): converts a whole pageblock, looking at the head chunk of each order from the largest down. */
static fl_pfn rmqueue_claim(struct fl_mem *mem, struct fl_caller *who, struct fl_zone *zone, unsigned int order,
			    unsigned int type, uint32_t alloc_flags)
{
	unsigned int min_order = order;

	if (order < mem->pageblock_order && (alloc_flags & FL_ALLOC_NOFRAGMENT))
		min_order = mem->pageblock_order;
	for (uint32_t orders = fallback_orders(zone, type) >> min_order << min_order; orders;) {
		unsigned int found = 31u - (unsigned int)__builtin_clz(orders);
		unsigned int from;
		fl_pfn pfn;

		orders &= ~(1u << found);
		if (!fl_worth_claiming(mem, found, type))
			return FL_PFN_NONE;
		from = (unsigned int)fl_find_fallback(zone, found, type);
		pfn = first_chunk(mem, zone, from, found);
		if (found >= mem->pageblock_order) {
			take_chunk(mem, zone, pfn, order, found, from, type);
			retype_range(mem, pfn, found, type);
		} else {
			if (!claim_partial(mem, who, zone, pfn, found, type, alloc_flags))
				continue;
			pfn = fl_rmqueue_smallest(mem, who, zone, order, type);
			FL_ASSERT(pfn != FL_PFN_NONE);
		}
		report_extfrag(mem, who, pfn, order, found, type, from, FL_EXTFRAG_CLAIM);
		return pfn;
	}
	return FL_PFN_NONE;
}

/* __rmqueue_steal(): takes one chunk, smallest first, and leaves the type of its pageblock. */
static fl_pfn rmqueue_steal(struct fl_mem *mem, struct fl_caller *who, struct fl_zone *zone, unsigned int order,
			    unsigned int type)
{
	for (uint32_t orders = fallback_orders(zone, type) >> order << order; orders; orders &= orders - 1) {
		unsigned int found = (unsigned int)__builtin_ctz(orders);

		for (unsigned int i = 0; i < 2; i++) {
			unsigned int from = fallback_types[type][i];
			struct fl_steal_facts facts;
			fl_pfn pfn;

			if (!(zone->nonempty[from] >> found & 1))
				continue;
			pfn = first_chunk(mem, zone, from, found);
			facts = (struct fl_steal_facts){
				.want = type,
				.from = from,
				.order = order,
				.found_order = found,
				.straddles = fl_pageblock_of(mem, pfn)->flags & FL_PAGEBLOCK_STRADDLES,
				.grouping_disabled = mem->set.grouping_disabled,
			};
			if (!mem->decide.steal_from(&facts))
				continue;
			take_chunk(mem, zone, pfn, order, found, from, from);
			report_extfrag(mem, who, pfn, order, found, type, from, FL_EXTFRAG_STEAL);
			return pfn;
		}
	}
	return FL_PFN_NONE;
}

fl_pfn fl_rmqueue(struct fl_mem *mem, struct fl_caller *who, struct fl_zone *zone, unsigned int order,
		  unsigned int type, uint32_t alloc_flags, enum fl_rmqueue_mode *mode)
{
	fl_pfn pfn;

	switch (*mode) {
	case FL_RMQUEUE_NORMAL:
		pfn = fl_rmqueue_smallest(mem, who, zone, order, type);
		if (pfn != FL_PFN_NONE)
			return pfn;
		/* fallthrough */
	case FL_RMQUEUE_CLAIM:
		pfn = rmqueue_claim(mem, who, zone, order, type, alloc_flags);
		if (pfn != FL_PFN_NONE) {
			/* The own lists hold something again. */
			*mode = FL_RMQUEUE_NORMAL;
			return pfn;
		}
		/* fallthrough */
	case FL_RMQUEUE_STEAL:
		if (alloc_flags & FL_ALLOC_NOFRAGMENT)
			return FL_PFN_NONE;
		pfn = rmqueue_steal(mem, who, zone, order, type);
		if (pfn != FL_PFN_NONE)
			*mode = FL_RMQUEUE_STEAL;
		return pfn;
	}
	fl_bug(__FILE__, __LINE__, "rmqueue mode is known", "");
}

/* ---- Freeing ---- */

/*
 * compaction_capture(): the compactor whose free this is takes the chunk if it is what it waits for. Kernel threads
 * never do (task_capc). Pageblocks of reserves keep their type whatever the verdict, since the reserve counts them.
 */
static bool capture(struct fl_mem *mem, struct fl_caller *who, struct fl_zone *zone, fl_pfn pfn, unsigned int order,
		    unsigned int type)
{
	struct fl_capture *capture = who->capture;
	struct fl_capture_facts facts;
	enum fl_capture_verdict verdict;

	if (capture->pfn != FL_PFN_NONE || capture->zone != zone->index || capture->order != order ||
	    type == FL_ISOLATE || (who->flags & FL_PF_KTHREAD))
		return false;
	facts = (struct fl_capture_facts){
		.want = capture->type,
		.block_type = type,
		.order = order,
		.pageblock_order = mem->pageblock_order,
		.straddles = fl_pageblock_of(mem, pfn)->flags & FL_PAGEBLOCK_STRADDLES,
	};
	verdict = mem->decide.capture_block(&facts);
	if (verdict == FL_CAPTURE_REFUSE)
		return false;
	if (order < mem->pageblock_order || !fl_migratetype_is_mergeable(type))
		verdict = FL_CAPTURE_TAKE;
	capture->pfn = pfn;
	if (type != capture->type && mem->decide.capture_reports_extfrag(&(struct fl_no_facts){ 0 }))
		FL_TRACE(mem, who, mm_page_alloc_extfrag, pfn, order, order, capture->type, type,
			 verdict == FL_CAPTURE_RETYPE);
	if (verdict == FL_CAPTURE_RETYPE)
		retype_range(mem, pfn, order, capture->type);
	return true;
}

/* buddy_merge_likely(): would the next merge succeed, were our buddy free? Then keep the chunk out of the way. */
static bool merge_likely(const struct fl_mem *mem, const struct fl_zone *zone, fl_pfn pfn, unsigned int order)
{
	fl_pfn parent, uncle;

	if (order + 1 >= mem->max_order)
		return false;
	parent = pfn & ~(1u << order);
	uncle = parent ^ 1u << (order + 1);
	return (mem->frames.state[uncle] == fl_state(FL_KIND_BUDDY, order + 1) ||
		mem->frames.state[uncle] == fl_state(FL_KIND_GUARD, order + 1)) && zone_has(zone, uncle);
}

/* Absorbs the free buddy of equal order; false when there is none or the types forbid it. */
static inline bool merge_buddy(struct fl_mem *mem, struct fl_zone *zone, fl_pfn buddy, unsigned int order,
			       unsigned int type)
{
	uint32_t state = mem->frames.state[buddy];
	unsigned int buddy_type = type;
	bool guard = state == fl_state(FL_KIND_GUARD, order);

	if ((state != fl_state(FL_KIND_BUDDY, order) && !guard) || !zone_has(zone, buddy))
		return false;
	if (FL_UNLIKELY(order >= mem->pageblock_order)) {
		buddy_type = fl_pageblock_type(mem, buddy);
		if (buddy_type != type &&
		    (!fl_migratetype_is_mergeable(type) || !fl_migratetype_is_mergeable(buddy_type)))
			return false;
	}
	if (FL_UNLIKELY(guard)) {
		mem->frames.state[buddy] = fl_state(FL_KIND_INTERIOR, 0);
		block_free_add(mem, buddy, order, 1);
		if (mem->decide.guard_merge_counts(&(struct fl_no_facts){ 0 }))
			account(zone, 1L << order, type);
	} else {
		unlist_chunk(mem, zone, buddy, order, buddy_type);
	}
	if (FL_UNLIKELY(buddy_type != type)) {
		retype_range(mem, buddy, order, type);
		if (mem->decide.merge_moves_type_count(&(struct fl_no_facts){ 0 })) {
			account(zone, -(1L << order), buddy_type);
			account(zone, 1L << order, type);
		}
	}
	return true;
}

/* __free_one_page(): order at most the pageblock's, except that a chunk of the largest order was cut before. */
static void free_one(struct fl_mem *mem, struct fl_caller *who, struct fl_zone *zone, fl_pfn pfn, unsigned int order,
		     bool to_tail)
{
	unsigned int type = fl_pageblock_type(mem, pfn);

	account(zone, 1L << order, type);
	block_free_add(mem, pfn, order, 1);
	while (order < mem->max_order) {
		fl_pfn buddy = pfn ^ 1u << order;

		if (FL_UNLIKELY(who->capture != NULL) && capture(mem, who, zone, pfn, order, type)) {
			account(zone, -(1L << order), type);
			block_free_add(mem, pfn, order, -1);
			return;
		}
		if (!merge_buddy(mem, zone, buddy, order, type))
			break;
		pfn &= buddy;
		order++;
	}
	if (!to_tail)
		to_tail = merge_likely(mem, zone, pfn, order);
	list_chunk(mem, zone, pfn, order, type, to_tail);
}

void fl_free_to_buddy(struct fl_mem *mem, struct fl_caller *who, struct fl_zone *zone, fl_pfn pfn,
		      unsigned int order, bool to_tail)
{
	unsigned int step = order < mem->pageblock_order ? order : mem->pageblock_order;

	for (fl_pfn end = pfn + (1u << order); pfn != end; pfn += 1u << step)
		free_one(mem, who, zone, pfn, step, to_tail);
}

/* ---- Compaction's free scanner ---- */

bool fl_isolate_free_page(struct fl_mem *mem, struct fl_zone *zone, fl_pfn pfn, unsigned int order)
{
	unsigned int type = fl_pageblock_type(mem, pfn);

	if (type != FL_ISOLATE &&
	    !fl_watermark_ok(mem, zone, 0, zone->wmark[FL_WMARK_MIN] + (UINT64_C(1) << order), 0, 0))
		return false;
	fl_del_from_free_list(mem, zone, pfn, order, type);
	mem->frames.state[pfn] = fl_state(FL_KIND_TARGET, order);
	if (order + 1 < mem->pageblock_order)
		return true;
	for (fl_pfn at = pfn; at < pfn + (1u << order); at += fl_pageblock_pages(mem)) {
		struct fl_pageblock *b = fl_pageblock_of(mem, at);

		if ((b->flags & (FL_PAGEBLOCK_STRADDLES | FL_PAGEBLOCK_ISOLATED)) ||
		    !fl_migratetype_is_mergeable(b->type))
			continue;
		/* The rest of a half-taken pageblock goes to the tails even when its type is Movable already. */
		if (order < mem->pageblock_order)
			fl_move_freepages_block(mem, zone, at & ~(fl_pageblock_pages(mem) - 1), b->type,
						fl_grouped_type(mem, FL_MOVABLE));
		fl_pageblock_set_type(mem, at, FL_MOVABLE);
	}
	return true;
}
