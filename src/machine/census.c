/*
 * machine/census.c - walks the frames of the model: by heads, so a chunk of any order is one step.
 *
 * The classes are those of base/census.h. A guard and a chunk taken by compaction's free scanner are free memory; a page on a
 * per-CPU list has a class of its own.
 */
#include "machine/census.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* The class + 1 of a kind, 0 for memory of the kernel; kinds with two classes are told apart in class_of(). A hole is also
 * what is met as INTERIOR: no memory is here. */
static const uint8_t class_plus_one[FL_STATE_KIND_MASK + 1] = {
	[FL_KIND_INTERIOR] = FL_CENSUS_HOLE + 1,
	[FL_KIND_HOLE] = FL_CENSUS_HOLE + 1,
	[FL_KIND_RESERVED] = FL_CENSUS_RESERVED + 1,
	[FL_KIND_BUDDY] = FL_CENSUS_FREE + 1,
	[FL_KIND_GUARD] = FL_CENSUS_FREE + 1,
	[FL_KIND_TARGET] = FL_CENSUS_FREE + 1,
	[FL_KIND_PCP] = FL_CENSUS_PCP + 1,
	[FL_KIND_ANON] = FL_CENSUS_ANON + 1,
	[FL_KIND_SWAPCACHE] = FL_CENSUS_ANON + 1,
	[FL_KIND_FILE] = FL_CENSUS_FILE + 1,
	[FL_KIND_SHMEM] = FL_CENSUS_FILE + 1,
	[FL_KIND_DRIVER] = FL_CENSUS_DRIVER + 1,
	[FL_KIND_PGTABLE] = FL_CENSUS_PGTABLE + 1,
	[FL_KIND_SLAB] = FL_CENSUS_SLAB + 1,
};

static inline enum fl_census_class class_of(const struct fl_mem *mem, uint32_t state)
{
	unsigned int plus_one = class_plus_one[fl_state_kind(state)];
	enum fl_census_class class = plus_one ? plus_one - 1 : FL_CENSUS_KERNEL;

	if (class != FL_CENSUS_ANON && class != FL_CENSUS_FILE)
		return class;
	if (state & (FL_MLOCKED | FL_UNEVICTABLE))
		return FL_CENSUS_MLOCKED;
	return class == FL_CENSUS_ANON && fl_state_order(state) >= mem->pmd_order ? FL_CENSUS_HUGE : class;
}

static enum fl_census_type type_of(const struct fl_mem *mem, fl_pfn pfn)
{
	static const enum fl_census_type types[FL_MIGRATETYPES] = {
		[FL_UNMOVABLE] = FL_CENSUS_UNMOVABLE,	  [FL_MOVABLE] = FL_CENSUS_MOVABLE,
		[FL_RECLAIMABLE] = FL_CENSUS_RECLAIMABLE, [FL_HIGHATOMIC] = FL_CENSUS_HIGHATOMIC,
		[FL_ISOLATE] = FL_CENSUS_ISOLATE,
	};

	return types[fl_pageblock_type(mem, pfn)];
}

enum fl_census_class fl_machine_class_of(const struct fl_mem *mem, fl_pfn head)
{
	return class_of(mem, mem->frames.state[head]);
}

enum fl_census_type fl_machine_type_of(const struct fl_mem *mem, fl_pfn pfn)
{
	return type_of(mem, pfn);
}

/* What is left of a chunk that began in an earlier block and reaches into this one. */
struct walk {
	enum fl_census_class class;
	unsigned int order; /* of the chunk */
	uint32_t left;      /* pages still to count */
};

/* How many pages in a row look like the single page at pfn, and so are of its class: most neighbours do. */
static inline uint32_t equal_pages(const struct fl_mem *mem, fl_pfn pfn, fl_pfn end)
{
	const uint32_t *state = mem->frames.state;
	uint32_t count = 1;

	while (pfn + count < end && state[pfn + count] == state[pfn])
		count++;
	return count;
}

/* Counts one block of frames from `start`. Holes and single pages are steps of one page. */
static void count_block(const struct fl_mem *mem, fl_pfn start, struct walk *walk, struct fl_census_block *b)
{
	fl_pfn pfn = start, end = start + fl_pageblock_pages(mem);

	while (pfn < end) {
		uint32_t step;

		if (!walk->left) {
			uint32_t state = mem->frames.state[pfn];

			walk->class = class_of(mem, state);
			walk->order = walk->class == FL_CENSUS_HOLE ? 0 : fl_state_order(state);
			walk->left = walk->order ? 1u << walk->order : equal_pages(mem, pfn, end);
		}
		if (walk->class == FL_CENSUS_FREE && walk->order + 1 > b->largest_free_order_plus_one)
			b->largest_free_order_plus_one = (uint16_t)(walk->order + 1);
		step = walk->left < end - pfn ? walk->left : end - pfn;
		b->pages[walk->class] += step;
		walk->left -= step;
		pfn += step;
	}
}

static unsigned int zone_of_block(const struct fl_mem *mem, const uint8_t *zone_index, fl_pfn start)
{
	for (unsigned int z = 0; z < FL_ZONES; z++)
		if (mem->zone[z].present && start + fl_pageblock_pages(mem) > mem->zone[z].start &&
		    start < mem->zone[z].end)
			return zone_index[z];
	return 0;
}

static void fill_zones(const struct fl_mem *mem, struct fl_census *c, uint8_t *zone_index)
{
	c->zones = fl_xcalloc(FL_ZONES, sizeof(*c->zones));
	for (unsigned int z = 0; z < FL_ZONES; z++) {
		const struct fl_zone *zone = &mem->zone[z];
		struct fl_census_zone *to = &c->zones[c->zones_count];

		if (!zone->present)
			continue;
		*to = (struct fl_census_zone){ .start_pfn = zone->start, .spanned = zone->spanned,
					       .present = zone->present, .managed = zone->managed };
		for (unsigned int cpu = 0; cpu < mem->cpus; cpu++)
			to->pcp += (uint64_t)zone->pcp[cpu].count;
		snprintf(c->zone_names[c->zones_count], sizeof(c->zone_names[0]), "%s", fl_zone_name(z));
		zone_index[z] = (uint8_t)c->zones_count++;
	}
}

/* ---- slots below the pageblock order ---- */

enum page_state { PAGE_FREE, PAGE_CLEAN, PAGE_DIRTY }; /* in rising badness: a group is as bad as its worst page */

static enum page_state state_of_class(enum fl_census_class class)
{
	if (class == FL_CENSUS_FREE)
		return PAGE_FREE;
	return class == FL_CENSUS_PCP || (class >= FL_CENSUS_ANON && class <= FL_CENSUS_DRIVER) ? PAGE_CLEAN : PAGE_DIRTY;
}

static void mark_pages(const struct fl_mem *mem, fl_pfn start, struct walk *walk, uint8_t *page)
{
	uint32_t pages = fl_pageblock_pages(mem);

	for (uint32_t i = 0; i < pages;) {
		uint32_t step;

		if (!walk->left) {
			uint32_t state = mem->frames.state[start + i];

			walk->class = class_of(mem, state);
			walk->left = walk->class == FL_CENSUS_HOLE ? 1 : 1u << fl_state_order(state);
		}
		step = walk->left < pages - i ? walk->left : pages - i;
		memset(page + i, state_of_class(walk->class), step);
		walk->left -= step;
		i += step;
	}
}

/* Pairs of groups become groups of the next order: the worst state and the sum of free pages. */
static void count_slots(const struct fl_mem *mem, uint8_t *page, uint16_t *free_pages, struct fl_census_zone *zone)
{
	for (uint32_t i = 0; i < fl_pageblock_pages(mem); i++)
		free_pages[i] = page[i] == PAGE_FREE;
	for (unsigned int order = 0; order < mem->pageblock_order; order++) {
		uint32_t groups = fl_pageblock_pages(mem) >> order;

		for (uint32_t i = 0; i < groups; i++) {
			zone->free_slots[order] += page[i] == PAGE_FREE;
			if (page[i] != PAGE_DIRTY) {
				zone->clean_slots[order]++;
				zone->clean_free_pages[order] += free_pages[i];
			}
		}
		for (uint32_t i = 0; i < groups / 2; i++) {
			page[i] = page[2 * i] > page[2 * i + 1] ? page[2 * i] : page[2 * i + 1];
			free_pages[i] = (uint16_t)(free_pages[2 * i] + free_pages[2 * i + 1]);
		}
	}
}

/* Blocks that lie in one zone only; those of two zones are two or three on a machine and have no slots. */
static void fill_small_slots(const struct fl_mem *mem, struct fl_census *c, const uint8_t *zone_index)
{
	uint32_t pages = fl_pageblock_pages(mem);
	uint8_t *page = fl_xmalloc(pages);
	uint16_t *free_pages = fl_xmalloc(pages * sizeof(*free_pages));
	struct walk walk = { 0 };

	for (fl_pfn start = 0; start < mem->frames.count; start += pages) {
		mark_pages(mem, start, &walk, page);
		count_slots(mem, page, free_pages, &c->zones[zone_of_block(mem, zone_index, start)]);
	}
	free(page);
	free(free_pages);
}

void fl_machine_census(const struct fl_mem *mem, bool with_slots, struct fl_census *ret)
{
	struct fl_census c = { .page_size = 1u << mem->page_shift, .pages_per_block = fl_pageblock_pages(mem),
			       .types_known = true };
	uint8_t zone_index[FL_ZONES] = { 0 };
	struct walk walk = { 0 };

	fill_zones(mem, &c, zone_index);
	c.blocks = fl_xcalloc(mem->pageblocks, sizeof(*c.blocks));
	for (fl_pfn start = 0; start < mem->frames.count; start += c.pages_per_block) {
		struct fl_census_block *b = &c.blocks[c.blocks_count];

		memset(b, 0, sizeof(*b));
		count_block(mem, start, &walk, b);
		if (b->pages[FL_CENSUS_HOLE] == c.pages_per_block)
			continue;
		b->start_pfn = start;
		b->zone = (uint8_t)zone_of_block(mem, zone_index, start);
		b->type = (uint8_t)type_of(mem, start);
		c.blocks_count++;
	}
	if (with_slots) {
		fill_small_slots(mem, &c, zone_index);
		fl_census_fill_block_slots(&c);
	}
	*ret = c;
}

/* ---- lists against counters ---- */

void fl_machine_list_pages(const struct fl_mem *mem, const struct fl_zone *zone, struct fl_list_pages *ret)
{
	memset(ret, 0, sizeof(*ret));
	for (unsigned int type = 0; type < FL_MIGRATETYPES; type++) {
		for (unsigned int order = 0; order <= mem->max_order; order++) {
			uint32_t head = fl_free_list(zone, type, order);

			for (uint32_t at = fl_list_first(&mem->frames, head); at != head;
			     at = mem->frames.record[at].next)
				ret->by_type[type] += UINT64_C(1) << order;
		}
		if (type != FL_ISOLATE)
			ret->total += ret->by_type[type];
	}
}

int64_t fl_machine_free_count_gap(const struct fl_zone *zone, const struct fl_list_pages *lists)
{
	return (int64_t)lists->total - zone->nr_free_pages;
}

int64_t fl_machine_type_count_gap(const struct fl_zone *zone, const struct fl_list_pages *lists)
{
	int64_t gap = 0;

	for (unsigned int type = 0; type < FL_MIGRATETYPES; type++)
		gap += llabs((int64_t)lists->by_type[type] - zone->type_count[type]);
	return gap;
}
