/*
 * base/census.c - counts over a census.
 *
 * Mirrors no kernel file: the kernel itself never looks at more than one pageblock at a time. Rules:
 * a block is pinned when it holds unmovable pages (page tables, slab, kernel); reserved pages, poisoned pages, hugetlb
 * pages and memory that is not managed are not unmovable content, but a block with any of them is no huge slot either.
 */
#include "base/census.h"

#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/text.h"

static const char *const class_names[FL_CENSUS_CLASSES] = {
	[FL_CENSUS_FREE] = "free",
	[FL_CENSUS_PCP] = "per-CPU lists",
	[FL_CENSUS_ANON] = "anonymous",
	[FL_CENSUS_HUGE] = "huge (THP)",
	[FL_CENSUS_FILE] = "file",
	[FL_CENSUS_MLOCKED] = "mlocked",
	[FL_CENSUS_DRIVER] = "driver-movable",
	[FL_CENSUS_HUGETLB] = "hugetlb",
	[FL_CENSUS_PGTABLE] = "page tables",
	[FL_CENSUS_SLAB] = "slab",
	[FL_CENSUS_KERNEL] = "kernel",
	[FL_CENSUS_RESERVED] = "reserved",
	[FL_CENSUS_NOT_MANAGED] = "not managed",
	[FL_CENSUS_HOLE] = "hole",
};

static const char *const type_names[FL_CENSUS_TYPES] = {
	[FL_CENSUS_UNMOVABLE] = "Unmovable",
	[FL_CENSUS_MOVABLE] = "Movable",
	[FL_CENSUS_RECLAIMABLE] = "Reclaimable",
	[FL_CENSUS_HIGHATOMIC] = "HighAtomic",
	[FL_CENSUS_CMA] = "CMA",
	[FL_CENSUS_ISOLATE] = "Isolate",
	[FL_CENSUS_TYPE_UNKNOWN] = "unknown",
};

const char *fl_census_class_name(enum fl_census_class class)
{
	FL_ASSERT((unsigned int)class < FL_CENSUS_CLASSES);
	return class_names[class];
}

const char *fl_census_type_name(enum fl_census_type type)
{
	FL_ASSERT((unsigned int)type < FL_CENSUS_TYPES);
	return type_names[type];
}

unsigned int fl_census_block_order(const struct fl_census *census)
{
	FL_ASSERT(census->pages_per_block);
	return (unsigned int)__builtin_ctz(census->pages_per_block);
}

void fl_census_free(struct fl_census *census)
{
	free(census->blocks);
	free(census->zones);
	memset(census, 0, sizeof(*census));
}

static bool block_is_real(const struct fl_census *census, const struct fl_census_block *b)
{
	return b->pages[FL_CENSUS_HOLE] + b->pages[FL_CENSUS_NOT_MANAGED] < census->pages_per_block;
}

/* Pages that are free, or free once movable pages have moved and per-CPU lists have been drained. */
static uint32_t block_clean_pages(const struct fl_census_block *b)
{
	return b->pages[FL_CENSUS_FREE] + b->pages[FL_CENSUS_PCP] + fl_census_movable(b);
}

static void count_pinned(const struct fl_census_block *b, struct fl_census_counts *c)
{
	uint32_t unmovable = fl_census_unmovable(b);

	if (!unmovable)
		return;
	c->unmovable_pageblocks++;
	c->polluted_pageblocks += b->type == FL_CENSUS_MOVABLE;
	c->polluting_pages += b->type == FL_CENSUS_MOVABLE ? unmovable : 0;
	c->mixed_pageblocks += fl_census_movable(b) > 0;
	c->unsure_pageblocks += unmovable == b->unidentified;
}

static void count_block(const struct fl_census *census, const struct fl_census_block *b, struct fl_census_counts *c)
{
	for (int i = 0; i < FL_CENSUS_CLASSES; i++)
		c->class_pages[i] += b->pages[i];
	c->unmovable_pages += fl_census_unmovable(b);
	c->movable_pages += fl_census_movable(b);
	c->unidentified_pages += b->unidentified;
	if (b->type != FL_CENSUS_MOVABLE && b->type != FL_CENSUS_TYPE_UNKNOWN)
		c->stray_movable_pages += fl_census_movable(b);
	c->free_pages += b->pages[FL_CENSUS_FREE];
	if (!block_is_real(census, b))
		return;
	c->pageblocks++;
	c->type_blocks[b->type < FL_CENSUS_TYPES ? b->type : FL_CENSUS_TYPE_UNKNOWN]++;
	c->free_huge_slots += b->pages[FL_CENSUS_FREE] == census->pages_per_block;
	c->reclaimable_huge_slots += block_clean_pages(b) == census->pages_per_block;
	count_pinned(b, c);
}

void fl_census_count(const struct fl_census *census, int zone, struct fl_census_counts *ret)
{
	memset(ret, 0, sizeof(*ret));
	for (size_t i = 0; i < census->blocks_count; i++) {
		if (zone == FL_CENSUS_ALL_ZONES || census->blocks[i].zone == zone)
			count_block(census, &census->blocks[i], ret);
	}
	if (!census->types_known)
		ret->polluted_pageblocks = 0;
}

/* Counts one candidate slot of whole blocks: `count` blocks from index `first`, which follow each other. */
static void fill_slot(const struct fl_census *census, size_t first, size_t count, unsigned int order)
{
	struct fl_census_zone *zone = &census->zones[census->blocks[first].zone];
	uint64_t free_pages = 0, clean_pages = 0, pages = (uint64_t)count * census->pages_per_block;

	for (size_t i = first; i < first + count; i++) {
		free_pages += census->blocks[i].pages[FL_CENSUS_FREE];
		clean_pages += block_clean_pages(&census->blocks[i]);
	}
	if (clean_pages < pages)
		return;
	zone->clean_slots[order]++;
	zone->clean_free_pages[order] += free_pages;
	zone->free_slots[order] += free_pages == pages;
}

/* Whether the `count` blocks from `first` are one stretch of one zone. */
static bool is_stretch(const struct fl_census *census, size_t first, size_t count)
{
	const struct fl_census_block *a = &census->blocks[first], *z;

	if (first + count > census->blocks_count)
		return false;
	z = &census->blocks[first + count - 1];
	return a->zone == z->zone && z->start_pfn - a->start_pfn == (uint64_t)(count - 1) * census->pages_per_block;
}

void fl_census_fill_block_slots(struct fl_census *census)
{
	unsigned int block_order = fl_census_block_order(census);

	if (!census->zones)
		census->zones = fl_xcalloc(census->zones_count, sizeof(*census->zones));
	for (unsigned int order = block_order; order < FL_CENSUS_ORDERS; order++) {
		uint64_t pages = 1ull << order;

		for (unsigned int z = 0; z < census->zones_count; z++) {
			census->zones[z].free_slots[order] = 0;
			census->zones[z].clean_slots[order] = 0;
			census->zones[z].clean_free_pages[order] = 0;
		}
		for (size_t i = 0; i < census->blocks_count; i++) {
			if (census->blocks[i].start_pfn % pages == 0 && is_stretch(census, i, pages >> block_order))
				fill_slot(census, i, pages >> block_order, order);
		}
	}
}
