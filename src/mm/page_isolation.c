/*
 * mm/page_isolation.c - isolating pageblocks. Mirrors mm/page_isolation.c and move_freepages_block_isolate().
 */
#include "mm/page_isolation.h"

#include "mm/buddy.h"
#include "mm/pageblock.h"

/*
 * A free chunk that spans several pageblocks is cut into pageblocks, each listed under its own type: takes it off and
 * frees it again, which stops merging where the types forbid it (split_large_buddy).
 */
static void cut_spanning_chunk(struct fl_mem *mem, struct fl_caller *who, struct fl_zone *zone, fl_pfn head,
			       unsigned int order, unsigned int listed_type)
{
	fl_del_from_free_list(mem, zone, head, order, listed_type);
	fl_free_to_buddy(mem, who, zone, head, order, false);
}

/* Switches the isolation of a pageblock and moves its free pages to or from the Isolate lists. */
static void move_isolate(struct fl_mem *mem, struct fl_caller *who, fl_pfn start, bool isolate, unsigned int type)
{
	struct fl_zone *zone = fl_zone_of(mem, start);
	struct fl_pageblock *b = fl_pageblock_of(mem, start);
	fl_pfn head = fl_frame_head(&mem->frames, start);
	uint32_t state = head == FL_PFN_NONE ? 0 : mem->frames.state[head];
	unsigned int order = fl_state_order(state);
	unsigned int from = isolate ? b->type : FL_ISOLATE, to = isolate ? FL_ISOLATE : type;

	if (fl_state_kind(state) == FL_KIND_BUDDY && order > mem->pageblock_order) {
		b->flags ^= FL_PAGEBLOCK_ISOLATED;
		if (!isolate)
			fl_pageblock_set_type(mem, start, type);
		cut_spanning_chunk(mem, who, zone, head, order, from);
		return;
	}
	fl_move_freepages_block(mem, zone, start, from, to);
	b->flags ^= FL_PAGEBLOCK_ISOLATED;
	if (!isolate)
		fl_pageblock_set_type(mem, start, type);
}

/* Does this head keep its pageblock from being isolated? Free and per-CPU pages have no reference and do not; pages off
 * the LRU lists do, for whatever time, except what drivers can move. */
static bool is_in_the_way(uint32_t state, bool zone_movable)
{
	unsigned int kind = fl_state_kind(state);

	if (kind == FL_KIND_RESERVED || kind == FL_KIND_HOLE)
		return true;
	if (zone_movable || !fl_kind_is_allocated(kind) || kind == FL_KIND_DRIVER)
		return false;
	return !(state & FL_LRU);
}

/* has_unmovable_pages(); frames without memory are PG_reserved in the kernel. */
static bool has_unmovable_pages(struct fl_mem *mem, fl_pfn start)
{
	bool zone_movable = fl_zone_of(mem, start)->index == FL_ZONE_MOVABLE;
	fl_pfn pfn = start, end = start + fl_pageblock_pages(mem);

	while (pfn < end) {
		fl_pfn head = fl_frame_head(&mem->frames, pfn);
		uint32_t state;

		if (head == FL_PFN_NONE)
			return true;
		state = mem->frames.state[head];
		if (is_in_the_way(state, zone_movable))
			return true;
		pfn = head + (1u << fl_state_order(state));
	}
	return false;
}

bool fl_isolate_pageblock(struct fl_mem *mem, struct fl_caller *who, fl_pfn pfn)
{
	fl_pfn start = pfn & ~(fl_pageblock_pages(mem) - 1);
	struct fl_pageblock *b = fl_pageblock_of(mem, start);

	if ((b->flags & (FL_PAGEBLOCK_ISOLATED | FL_PAGEBLOCK_STRADDLES)) || has_unmovable_pages(mem, start))
		return false;
	move_isolate(mem, who, start, true, FL_ISOLATE);
	return true;
}

void fl_unisolate_pageblock(struct fl_mem *mem, struct fl_caller *who, fl_pfn pfn, unsigned int type)
{
	fl_pfn start = pfn & ~(fl_pageblock_pages(mem) - 1);
	struct fl_pageblock *b = fl_pageblock_of(mem, start);
	uint32_t whole = fl_state(FL_KIND_BUDDY, mem->pageblock_order);

	if (!(b->flags & FL_PAGEBLOCK_ISOLATED))
		return;
	if (mem->decide.isolation_keeps_type(&(struct fl_no_facts){ 0 }))
		type = b->type;
	type = fl_grouped_type(mem, type);
	if (mem->frames.state[start] == whole && mem->pageblock_order < mem->max_order &&
	    mem->frames.state[start ^ fl_pageblock_pages(mem)] == whole &&
	    fl_pageblock_type(mem, start ^ fl_pageblock_pages(mem)) != FL_ISOLATE) {
		/* A whole free pageblock beside a free one: take it out and put it back at the tail, so that they merge. */
		fl_del_from_free_list(mem, fl_zone_of(mem, start), start, mem->pageblock_order, FL_ISOLATE);
		b->flags &= (uint8_t)~FL_PAGEBLOCK_ISOLATED;
		fl_pageblock_set_type(mem, start, type);
		fl_free_to_buddy(mem, who, fl_zone_of(mem, start), start, mem->pageblock_order, true);
		return;
	}
	move_isolate(mem, who, start, false, type);
}
