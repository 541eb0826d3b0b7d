/*
 * machine/layout.c - from a snapshot to the geometry of a machine that can boot, and from a modelled machine back to a layout.
 */
#include "machine/layout.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "machine/census.h"
#include "machine/geometry.h"

#define MANAGED_MIN (16 << 20)
#define SWAP_MIN (UINT64_C(1) << 20)

/* ---- geometry ---- */

static void add_range(struct fl_pfn_range **list, size_t *count, uint64_t start, uint64_t end)
{
	if (start >= end)
		return;
	if (!(*count & (*count - 1)))
		*list = fl_xrealloc(*list, (*count ? 2 * *count : 1) * sizeof(**list));
	(*list)[(*count)++] = (struct fl_pfn_range){ (fl_pfn)start, (fl_pfn)end };
}

/* Stretches of pages that are there; the boot takes them, and the pages say later which of them are managed. */
static size_t present_ranges(const struct fl_layout *l, struct fl_pfn_range **ret)
{
	uint64_t start = 0, end = l->first_pfn + l->pages;
	size_t count = 0;
	bool in = false;

	*ret = NULL;
	for (uint64_t pfn = l->first_pfn; l->page && pfn < end; pfn++) {
		bool there = fl_layout_page(l, pfn) != FL_CENSUS_HOLE;

		if (there && !in)
			start = pfn;
		else if (!there && in)
			add_range(ret, &count, start, pfn);
		in = there;
	}
	if (in)
		add_range(ret, &count, start, end);
	for (unsigned int z = 0; !l->page && z < FL_LAYOUT_ZONES; z++)
		add_range(ret, &count, l->zone[z].start_pfn, l->zone[z].start_pfn + l->zone[z].present);
	return count;
}

/* The smallest gaps close until so many ranges are left. */
static size_t close_gaps(struct fl_pfn_range *list, size_t count, size_t most)
{
	while (count > most) {
		size_t least = 1;

		for (size_t i = 2; i < count; i++)
			if (list[i].start - list[i - 1].end < list[least].start - list[least - 1].end)
				least = i;
		list[least - 1].end = list[least].end;
		memmove(&list[least], &list[least + 1], (count - least - 1) * sizeof(*list));
		count--;
	}
	return count;
}

static void set_geometry(const struct fl_layout *l, struct fl_machine *m)
{
	struct fl_geometry *g = &m->geometry;
	struct fl_pfn_range *ranges;
	size_t count = present_ranges(l, &ranges);

	g->page_shift = (unsigned int)__builtin_ctz(l->page_size);
	g->pageblock_order = l->pageblock_order;
	g->max_order = l->max_order;
	g->pmd_order = l->pmd_order;
	g->cpus = l->cpus;
	count = close_gaps(ranges, count, FL_GEOMETRY_RANGES);
	for (size_t i = 0; i < count; i++)
		g->ranges[g->ranges_count++] = ranges[i];
	free(ranges);
	for (unsigned int z = 0; z < FL_ZONES; z++) {
		const struct fl_layout_zone *zone = &l->zone[z];
		uint64_t managed = zone->start_pfn + zone->managed, present = zone->start_pfn + zone->present;

		if (!zone->spanned)
			continue;
		g->zone[z] = (struct fl_pfn_range){ (fl_pfn)zone->start_pfn, (fl_pfn)(zone->start_pfn + zone->spanned) };
		m->memory_bytes += zone->present << g->page_shift;
		if (!l->page && managed < present)
			g->reserved[g->reserved_count++] = (struct fl_pfn_range){ (fl_pfn)managed, (fl_pfn)present };
	}
	m->swap_bytes = l->swap_bytes < SWAP_MIN ? 0 : l->swap_bytes & ~(uint64_t)(l->page_size - 1);
}

static int check(const struct fl_layout *layout, struct fl_error *reterr)
{
	uint64_t managed = 0;

	for (unsigned int z = 0; z < FL_LAYOUT_ZONES; z++)
		managed += layout->zone[z].managed;
	if (layout->cpus > FL_SIM_CPUS_MAX)
		return fl_error_input(reterr, "a snapshot of %u CPUs: the model has room for %d", layout->cpus,
				      FL_SIM_CPUS_MAX);
	if (managed << __builtin_ctz(layout->page_size) < MANAGED_MIN)
		return fl_error_input(reterr, "a snapshot with less than %d MiB of managed memory", MANAGED_MIN >> 20);
	return 0;
}

int fl_machine_from_layout(struct fl_layout *layout, struct fl_machine *ret, struct fl_error *reterr)
{
	struct fl_machine m = { .layout = layout };
	int error = check(layout, reterr);

	if (error) {
		fl_machine_fini(&m);
		return error;
	}
	set_geometry(layout, &m);
	*ret = m;
	return 0;
}

/* ---- the model as a layout ---- */

static void zone_of(const struct fl_mem *mem, unsigned int z, struct fl_layout_zone *to)
{
	const struct fl_zone *zone = &mem->zone[z];

	*to = (struct fl_layout_zone){ .start_pfn = zone->start, .spanned = zone->spanned, .present = zone->present,
				       .managed = zone->managed, .has_marks = true, .min = zone->wmark[FL_WMARK_MIN],
				       .low = zone->wmark[FL_WMARK_LOW], .high = zone->wmark[FL_WMARK_HIGH],
				       .promo = zone->wmark[FL_WMARK_PROMO], .boost = zone->watermark_boost };
	for (unsigned int i = 0; i < FL_ZONES; i++)
		to->protection[i] = zone->lowmem_reserve[i];
	if (zone->pcp) {
		to->batch = zone->pcp[0].batch;
		to->high_min = zone->pcp[0].high_min;
		to->high_max = zone->pcp[0].high_max;
	}
}

static void fill_pages(const struct fl_mem *mem, struct fl_layout *to)
{
	fl_pfn pfn = 0;

	while (pfn < mem->frames.count) {
		uint32_t pages = 1u << fl_state_order(mem->frames.state[pfn]);

		enum fl_census_class class = fl_machine_class_of(mem, pfn);

		memset(to->page + pfn, (int)class, pages);
		if (class == FL_CENSUS_ANON || class == FL_CENSUS_FILE || class == FL_CENSUS_MLOCKED)
			memset(to->order + pfn, (int)fl_state_order(mem->frames.state[pfn]), pages);
		pfn += pages;
	}
	for (uint32_t b = 0; b < mem->pageblocks; b++)
		to->type[b] = (uint8_t)fl_machine_type_of(mem, b << mem->pageblock_order);
}

void fl_machine_layout(const struct fl_mem *mem, struct fl_layout *ret)
{
	fl_layout_init(ret);
	snprintf(ret->release, sizeof(ret->release), "model");
	ret->page_size = 1u << mem->page_shift;
	ret->pageblock_order = mem->pageblock_order;
	ret->max_order = mem->max_order;
	ret->pmd_order = mem->pmd_order;
	ret->cpus = mem->cpus;
	for (unsigned int z = 0; z < FL_ZONES; z++)
		if (mem->zone[z].spanned)
			zone_of(mem, z, &ret->zone[z]);
	ret->pages = mem->frames.count;
	ret->page = fl_xcalloc(ret->pages, 1);
	ret->order = fl_xcalloc(ret->pages, 1);
	ret->type = fl_xcalloc(mem->pageblocks, 1);
	fill_pages(mem, ret);
}
