/*
 * observe/layout_types.c - guesses the migratetype of each pageblock from its content and from the counts of pagetypeinfo.
 *
 * Pageblocks are joined to units where a free chunk covers several, since such a chunk has one type. The start is by content:
 * the units with most unmovable pages are not movable, and those of slab alone are reclaimable. Then pairs of units change
 * their types as long as that brings the lists nearer to the printed ones.
 */
#include "observe/layout_host.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define ROUNDS_MAX 12

struct unit {
	uint64_t pfn;
	uint32_t blocks;
	uint32_t unmovable, slab; /* pages */
	uint16_t free[FL_LAYOUT_ORDERS];
	uint8_t type;
	bool chosen; /* by its content */
};

struct guess {
	struct fl_layout *layout;
	const struct fl_layout_zone *zone;
	struct unit *unit;
	size_t count;
	int64_t off[FL_LAYOUT_TYPES][FL_LAYOUT_ORDERS]; /* chunks that we have, minus those of the host */
};

static void look_at_page(struct unit *u, enum fl_census_class class)
{
	u->unmovable += class == FL_CENSUS_PGTABLE || class == FL_CENSUS_SLAB || class == FL_CENSUS_KERNEL;
	u->slab += class == FL_CENSUS_SLAB;
}

/* A unit begins at each pageblock that no chunk from before reaches into. All have one type now, so chunks are as large as can be. */
static void make_units(struct guess *g)
{
	struct fl_layout *l = g->layout;
	uint64_t pages = 1u << l->pageblock_order, pfn = g->zone->start_pfn & ~(pages - 1);
	uint64_t end = g->zone->start_pfn + g->zone->spanned;

	g->unit = fl_xcalloc((end - pfn) / pages + 2, sizeof(*g->unit));
	while (pfn < end) {
		struct unit *u = &g->unit[g->count];
		uint64_t stop = pfn + pages;
		bool there = false;

		*u = (struct unit){ .pfn = pfn, .type = FL_CENSUS_MOVABLE };
		for (uint64_t at = pfn; at < stop;) {
			enum fl_census_class class = fl_layout_page(l, at);
			unsigned int order = 0;

			if (class == FL_CENSUS_FREE) {
				order = fl_layout_chunk(l, at);
				u->free[order]++;
			}
			there |= class != FL_CENSUS_HOLE && class != FL_CENSUS_RESERVED && class != FL_CENSUS_NOT_MANAGED;
			look_at_page(u, class);
			at += 1u << order;
			stop = at > stop ? at : stop;
		}
		u->blocks = (uint32_t)((stop - pfn) / pages);
		pfn = stop;
		g->count += there;
	}
}

static int by_unmovable(const void *a, const void *b)
{
	const struct unit *x = a, *y = b;

	if (x->unmovable != y->unmovable)
		return x->unmovable < y->unmovable ? 1 : -1;
	return x->pfn < y->pfn ? -1 : 1;
}

/* Of the units in [0, n), those with the largest share of slab become reclaimable. */
static void choose_reclaimable(struct guess *g, size_t n, uint64_t blocks)
{
	while (blocks) {
		size_t best = n;

		for (size_t i = 0; i < n; i++)
			if (g->unit[i].chosen && g->unit[i].type == FL_CENSUS_UNMOVABLE && g->unit[i].blocks <= blocks &&
			    (best == n || (uint64_t)g->unit[i].slab * g->unit[best].unmovable >
						  (uint64_t)g->unit[best].slab * g->unit[i].unmovable))
				best = i;
		if (best == n)
			return;
		g->unit[best].type = FL_CENSUS_RECLAIMABLE;
		blocks -= g->unit[best].blocks;
	}
}

/* Is the unit one free chunk of that order? */
static bool is_chunk(const struct fl_layout *l, const struct unit *u, unsigned int order)
{
	return u->free[order] == 1 && (u->blocks << l->pageblock_order) == 1u << order && !u->unmovable;
}

/* Wholly free units of the types that are not movable: as many as their lists hold, the lowest ones. */
static void choose_free(struct guess *g, uint64_t left[FL_LAYOUT_TYPES])
{
	for (unsigned int type = 0; type < FL_LAYOUT_TYPES; type++)
		for (unsigned int order = g->layout->max_order; type != FL_CENSUS_MOVABLE && order >= g->layout->pageblock_order; order--) {
			uint64_t chunks = g->zone->host_free[type][order];

			for (size_t i = 0; i < g->count && chunks; i++) {
				struct unit *u = &g->unit[i];

				if (u->type != FL_CENSUS_MOVABLE || !is_chunk(g->layout, u, order) || left[type] < u->blocks)
					continue;
				u->type = (uint8_t)type;
				left[type] -= u->blocks;
				chunks--;
			}
		}
}

static void start_by_content(struct guess *g, const uint64_t blocks[FL_LAYOUT_TYPES])
{
	uint64_t left[FL_LAYOUT_TYPES], wanted, atomic;
	size_t n = 0;

	memcpy(left, blocks, sizeof(left));
	choose_free(g, left);
	wanted = left[FL_CENSUS_UNMOVABLE] + left[FL_CENSUS_RECLAIMABLE] + left[FL_CENSUS_HIGHATOMIC];
	atomic = left[FL_CENSUS_HIGHATOMIC];
	qsort(g->unit, g->count, sizeof(*g->unit), by_unmovable);
	for (; n < g->count && wanted; n++) {
		if (g->unit[n].blocks > wanted || g->unit[n].type != FL_CENSUS_MOVABLE)
			continue;
		g->unit[n].chosen = true;
		g->unit[n].type = FL_CENSUS_UNMOVABLE;
		wanted -= g->unit[n].blocks;
	}
	choose_reclaimable(g, n, left[FL_CENSUS_RECLAIMABLE]);
	for (size_t i = n; i-- > 0 && atomic;)
		if (g->unit[i].chosen && g->unit[i].type == FL_CENSUS_UNMOVABLE && g->unit[i].blocks <= atomic) {
			g->unit[i].type = FL_CENSUS_HIGHATOMIC;
			atomic -= g->unit[i].blocks;
		}
}

static void measure(struct guess *g)
{
	for (unsigned int t = 0; t < FL_LAYOUT_TYPES; t++)
		for (unsigned int o = 0; o < FL_LAYOUT_ORDERS; o++)
			g->off[t][o] = -(int64_t)g->zone->host_free[t][o];
	for (size_t i = 0; i < g->count; i++)
		for (unsigned int o = 0; o < FL_LAYOUT_ORDERS; o++)
			g->off[g->unit[i].type][o] += g->unit[i].free[o];
}

static inline int64_t magnitude(int64_t x)
{
	return x < 0 ? -x : x;
}

/* What exchanging the types of a and b gains: pages on the right lists, and a share for unmovable pages in the right blocks. */
static int64_t gain(const struct guess *g, const struct unit *a, const struct unit *b)
{
	const int64_t *from = g->off[a->type], *to = g->off[b->type];
	int64_t sum = 0;

	for (unsigned int o = 0; o <= g->layout->max_order; o++) {
		int64_t d = (int64_t)b->free[o] - a->free[o];

		if (d)
			sum += (magnitude(from[o]) - magnitude(from[o] + d) + magnitude(to[o]) - magnitude(to[o] - d)) * (1 << o);
	}
	if (b->type == FL_CENSUS_MOVABLE)
		sum += ((int64_t)b->unmovable - a->unmovable) / 2;
	else if (a->type == FL_CENSUS_MOVABLE)
		sum += ((int64_t)a->unmovable - b->unmovable) / 2;
	return sum;
}

static void exchange(struct guess *g, struct unit *a, struct unit *b)
{
	uint8_t type = a->type;

	for (unsigned int o = 0; o <= g->layout->max_order; o++) {
		int64_t d = (int64_t)b->free[o] - a->free[o];

		g->off[a->type][o] += d;
		g->off[b->type][o] -= d;
	}
	a->type = b->type;
	b->type = type;
}

/* Each unit that is not movable is exchanged with the one that gains most. */
static bool improve(struct guess *g)
{
	bool better = false;

	for (size_t i = 0; i < g->count; i++) {
		size_t best = i;
		int64_t most = 0;

		if (g->unit[i].type == FL_CENSUS_MOVABLE)
			continue;
		for (size_t k = 0; k < g->count; k++) {
			int64_t gained;

			if (g->unit[k].type == g->unit[i].type || g->unit[k].blocks != g->unit[i].blocks)
				continue;
			gained = gain(g, &g->unit[i], &g->unit[k]);
			if (gained > most) {
				most = gained;
				best = k;
			}
		}
		if (best != i) {
			exchange(g, &g->unit[i], &g->unit[best]);
			better = true;
		}
	}
	return better;
}

void fl_layout_guess_types(struct fl_layout *layout, unsigned int zone, const uint64_t blocks[FL_LAYOUT_TYPES])
{
	struct guess g = { .layout = layout, .zone = &layout->zone[zone] };

	make_units(&g);
	start_by_content(&g, blocks);
	measure(&g);
	for (int round = 0; g.zone->has_host_free && round < ROUNDS_MAX && improve(&g); round++)
		;
	for (size_t i = 0; i < g.count; i++)
		for (uint32_t b = 0; b < g.unit[i].blocks; b++) {
			uint64_t pfn = g.unit[i].pfn + ((uint64_t)b << layout->pageblock_order);

			if (pfn - layout->first_pfn < layout->pages)
				*fl_layout_type(layout, pfn) = g.unit[i].type;
		}
	free(g.unit);
}
