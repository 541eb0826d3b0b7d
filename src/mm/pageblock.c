/*
 * mm/pageblock.c - types of pageblocks and highatomic reserves. Mirrors set_pageblock_migratetype() and the
 * highatomic part of mm/page_alloc.c.
 */
#include "mm/pageblock.h"

#include "mm/buddy.h"

void fl_pageblock_set_type(struct fl_mem *mem, fl_pfn pfn, unsigned int type)
{
	fl_pageblock_of(mem, pfn)->type = (uint8_t)fl_grouped_type(mem, type);
}

/* Moves the free chunks of a pageblock below pageblock order, and its type; false if it straddles its zone. */
static bool move_block(struct fl_mem *mem, struct fl_zone *zone, fl_pfn pfn, unsigned int to, unsigned int *ret_moved)
{
	struct fl_pageblock *b = fl_pageblock_of(mem, pfn);

	if (b->flags & FL_PAGEBLOCK_STRADDLES)
		return false;
	*ret_moved = fl_move_freepages_block(mem, zone, pfn & ~(fl_pageblock_pages(mem) - 1), b->type, to);
	fl_pageblock_set_type(mem, pfn, to);
	return true;
}

static void retype_blocks(struct fl_mem *mem, fl_pfn pfn, unsigned int order, unsigned int type)
{
	for (unsigned int i = 0; i < 1u << (order - mem->pageblock_order); i++)
		fl_pageblock_set_type(mem, pfn + (i << mem->pageblock_order), type);
}

void fl_reserve_highatomic(struct fl_mem *mem, struct fl_zone *zone, fl_pfn pfn, unsigned int order)
{
	long block = (long)fl_pageblock_pages(mem), percent = zone->managed / 100, max;
	unsigned int moved;

	if (percent < block)
		return;
	max = (percent + block - 1) / block * block;
	if (zone->nr_reserved_highatomic >= max || !fl_migratetype_is_mergeable(fl_pageblock_type(mem, pfn)))
		return;
	if (order < mem->pageblock_order) {
		if (move_block(mem, zone, pfn, FL_HIGHATOMIC, &moved))
			zone->nr_reserved_highatomic += block;
		return;
	}
	retype_blocks(mem, pfn, order, FL_HIGHATOMIC);
	zone->nr_reserved_highatomic += 1L << order;
}

/* Gives up the pageblock of the first free HighAtomic chunk of this order; pages moved. */
static unsigned int unreserve_one(struct fl_mem *mem, struct fl_zone *zone, unsigned int order, unsigned int type)
{
	fl_pfn pfn = fl_list_first(&mem->frames, fl_free_list(zone, FL_HIGHATOMIC, order));
	long size = order < mem->pageblock_order ? (long)fl_pageblock_pages(mem) : 1L << order;
	unsigned int moved = 0;

	if (size > zone->nr_reserved_highatomic)
		size = zone->nr_reserved_highatomic;
	zone->nr_reserved_highatomic -= size;
	if (order < mem->pageblock_order) {
		move_block(mem, zone, pfn, type, &moved);
		return moved;
	}
	for (unsigned int i = 0; i < 1u << (order - mem->pageblock_order); i++)
		FL_ASSERT(fl_pageblock_type(mem, pfn + (i << mem->pageblock_order)) == FL_HIGHATOMIC);
	fl_move_listed_chunk(mem, zone, pfn, order, FL_HIGHATOMIC, type);
	retype_blocks(mem, pfn, order, type);
	return 1;
}

bool fl_unreserve_highatomic(struct fl_mem *mem, const struct fl_alloc_context *ac, bool force)
{
	for (unsigned int z = ac->preferred + 1; z-- > 0;) {
		struct fl_zone *zone = &mem->zone[z];

		if (!zone->managed || (!force && zone->nr_reserved_highatomic <= (long)fl_pageblock_pages(mem)))
			continue;
		for (uint32_t orders = zone->nonempty[FL_HIGHATOMIC]; orders; orders = orders & (orders - 1))
			if (unreserve_one(mem, zone, (unsigned int)__builtin_ctz(orders), fl_grouped_type(mem, ac->type)))
				return true;
	}
	return false;
}
