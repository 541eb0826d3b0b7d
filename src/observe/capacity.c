/*
 * observe/capacity.c - large pages now, after perfect compaction, and without movable memory; what pins pageblocks.
 *
 * Mirrors no kernel file: it is the bound that compaction (mm/compaction.c) and alloc_contig_range() cannot beat.
 */
#include "observe/capacity.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"

static const char *const pinner_names[FL_CAPACITY_PINNERS] = {
	[FL_CAPACITY_PGTABLE] = "page tables",
	[FL_CAPACITY_SLAB] = "slab",
	[FL_CAPACITY_KERNEL] = "other kernel",
	[FL_CAPACITY_UNIDENTIFIED] = "unidentified",
	[FL_CAPACITY_RESERVED] = "reserved, nothing else",
	[FL_CAPACITY_HUGETLB] = "hugetlb, in use",
};

const char *fl_capacity_pinner_name(enum fl_capacity_pinner pinner)
{
	FL_ASSERT((unsigned int)pinner < FL_CAPACITY_PINNERS);
	return pinner_names[pinner];
}

/*
 * Movable pages that have to lie in clean slots: those that are there now, less the free pages outside of clean
 * slots, which take them first. The slots that they fill cannot be had.
 */
static uint64_t slots_after_moving(const struct fl_census_zone *zone, uint64_t free_pages, unsigned int order)
{
	uint64_t size = 1ull << order, clean = zone->clean_slots[order];
	uint64_t movable = clean * size - zone->clean_free_pages[order];
	uint64_t room = free_pages > zone->clean_free_pages[order] ? free_pages - zone->clean_free_pages[order] : 0;
	uint64_t left = movable > room ? movable - room : 0;
	uint64_t moved = clean - (left + size - 1) / size;

	/* Orders nest, so packing by whole slots never gives less than there is; rounding up may. */
	return moved > zone->free_slots[order] ? moved : zone->free_slots[order];
}

static void compute_orders(const struct fl_census *census, unsigned int index, struct fl_capacity_zone *ret)
{
	const struct fl_census_zone *zone = &census->zones[index];
	unsigned int block_order = fl_census_block_order(census);
	/* Without single pages the small orders are unknown, unless there is nothing that could be had. */
	bool small = zone->clean_slots[0] > 0 || ret->counts.free_pages + ret->counts.movable_pages == 0;

	for (unsigned int order = 0; order < FL_CENSUS_ORDERS; order++) {
		struct fl_capacity_order *o = &ret->orders[order];

		o->size_bytes = (uint64_t)census->page_size << order;
		o->known = order >= block_order || small;
		if (!o->known)
			continue;
		o->now = zone->free_slots[order];
		o->emptied = zone->clean_slots[order];
		o->moved = slots_after_moving(zone, ret->counts.free_pages, order);
	}
}

static void pins_of_block(const struct fl_census_block *b, uint64_t ret[FL_CAPACITY_PINNERS])
{
	ret[FL_CAPACITY_PGTABLE] = b->pages[FL_CENSUS_PGTABLE];
	ret[FL_CAPACITY_SLAB] = b->pages[FL_CENSUS_SLAB];
	ret[FL_CAPACITY_KERNEL] = b->pages[FL_CENSUS_KERNEL] - b->unidentified;
	ret[FL_CAPACITY_UNIDENTIFIED] = b->unidentified;
	ret[FL_CAPACITY_RESERVED] = fl_census_unmovable(b) ? 0 : b->pages[FL_CENSUS_RESERVED];
	ret[FL_CAPACITY_HUGETLB] = b->pages[FL_CENSUS_HUGETLB];
}

static void add_pins(struct fl_capacity_zone *zone, const struct fl_census_block *b)
{
	uint64_t pages[FL_CAPACITY_PINNERS];
	uint32_t unmovable = fl_census_unmovable(b);
	unsigned int kinds = 0;

	pins_of_block(b, pages);
	for (int i = 0; i < FL_CAPACITY_PINNERS; i++)
		kinds += pages[i] > 0;
	for (int i = 0; i < FL_CAPACITY_PINNERS; i++) {
		zone->pins[i].pages += pages[i];
		zone->pins[i].blocks += pages[i] > 0;
		zone->pins[i].blocks_alone += pages[i] > 0 && kinds == 1;
	}
	if (unmovable)
		zone->blocks_by_weight[unmovable == 1 ? 0 : unmovable <= 8 ? 1 : unmovable <= 64 ? 2 : 3]++;
}

static void add_counts(struct fl_census_counts *to, const struct fl_census_counts *c)
{
	/* Every member is a uint64_t, so the struct is a row of numbers. */
	uint64_t *sum = (uint64_t *)to;
	const uint64_t *value = (const uint64_t *)c;

	for (size_t i = 0; i < sizeof(*c) / sizeof(*value); i++)
		sum[i] += value[i];
}

static void add_zone(struct fl_capacity_zone *total, const struct fl_capacity_zone *zone, bool first)
{
	add_counts(&total->counts, &zone->counts);
	total->managed += zone->managed;
	total->pcp += zone->pcp;
	for (unsigned int i = 0; i < FL_CENSUS_ORDERS; i++) {
		total->orders[i].size_bytes = zone->orders[i].size_bytes;
		total->orders[i].known = zone->orders[i].known && (first || total->orders[i].known);
		total->orders[i].now += zone->orders[i].now;
		total->orders[i].moved += zone->orders[i].moved;
		total->orders[i].emptied += zone->orders[i].emptied;
	}
	for (int i = 0; i < FL_CAPACITY_PINNERS; i++) {
		total->pins[i].blocks += zone->pins[i].blocks;
		total->pins[i].blocks_alone += zone->pins[i].blocks_alone;
		total->pins[i].pages += zone->pins[i].pages;
	}
	for (int i = 0; i < FL_CAPACITY_WEIGHTS; i++)
		total->blocks_by_weight[i] += zone->blocks_by_weight[i];
}

static void compute_zone(const struct fl_census *census, unsigned int index, struct fl_capacity_zone *ret)
{
	memset(ret, 0, sizeof(*ret));
	snprintf(ret->name, sizeof(ret->name), "%s", census->zone_names[index]);
	ret->managed = census->zones[index].managed;
	ret->pcp = census->zones[index].pcp;
	fl_census_count(census, (int)index, &ret->counts);
	for (size_t i = 0; i < census->blocks_count; i++) {
		if (census->blocks[i].zone == index)
			add_pins(ret, &census->blocks[i]);
	}
	compute_orders(census, index, ret);
}

/* The census with the figures of its zones: a model's census may come without them. */
static void compute_with_zones(const struct fl_census *census, struct fl_capacity *ret)
{
	bool first = true;

	ret->page_size = census->page_size;
	ret->block_order = fl_census_block_order(census);
	ret->zones = fl_xcalloc(census->zones_count, sizeof(*ret->zones));
	snprintf(ret->total.name, sizeof(ret->total.name), "all");
	for (unsigned int i = 0; i < census->zones_count; i++) {
		struct fl_capacity_zone *zone = &ret->zones[ret->zones_count];

		compute_zone(census, i, zone);
		if (!zone->counts.pageblocks)
			continue;
		ret->zones_count++;
		add_zone(&ret->total, zone, first);
		first = false;
	}
}

void fl_capacity_compute(const struct fl_census *census, struct fl_capacity *ret)
{
	struct fl_census view = *census;

	memset(ret, 0, sizeof(*ret));
	if (!census->zones) {
		fl_census_fill_block_slots(&view);
		compute_with_zones(&view, ret);
		free(view.zones);
		return;
	}
	compute_with_zones(census, ret);
}

void fl_capacity_fini(struct fl_capacity *capacity)
{
	free(capacity->zones);
	memset(capacity, 0, sizeof(*capacity));
}

/* ---- text ---- */

static void print_size(uint64_t bytes, char *buffer, size_t length)
{
	if (bytes >= 1ull << 30)
		snprintf(buffer, length, "%" PRIu64 " GiB", bytes >> 30);
	else if (bytes >= 1u << 20)
		snprintf(buffer, length, "%" PRIu64 " MiB", bytes >> 20);
	else
		snprintf(buffer, length, "%" PRIu64 " kB", bytes >> 10);
}

/* Orders that people ask for: mTHP sizes (order 1 to that of a pageblock), and 1 GiB. */
static bool order_is_asked_for(const struct fl_capacity *capacity, unsigned int order)
{
	if (order == 0)
		return false;
	return order <= capacity->block_order || (uint64_t)capacity->page_size << order == 1ull << 30;
}

static void print_total(const struct fl_capacity *capacity, struct fl_text *to)
{
	char size[24];

	fl_text_add(to, "%-9s %12s %17s %17s   (all zones)\n", "size", "now", "movable moved", "movable gone");
	for (unsigned int order = 0; order < FL_CENSUS_ORDERS; order++) {
		const struct fl_capacity_order *o = &capacity->total.orders[order];

		if (!order_is_asked_for(capacity, order) || !o->known)
			continue;
		print_size(o->size_bytes, size, sizeof(size));
		fl_text_add(to, "%-9s %12" PRIu64 " %17" PRIu64 " %17" PRIu64 "\n", size, o->now, o->moved, o->emptied);
	}
}

/* "now/moved" of the zones [from, to_zone), one column each. */
static void print_zones(const struct fl_capacity *capacity, unsigned int from, unsigned int to_zone, struct fl_text *to)
{
	char text[64];

	fl_text_add(to, "\n%-9s", "now/moved");
	for (unsigned int z = from; z < to_zone; z++)
		fl_text_add(to, " %16s", capacity->zones[z].name);
	fl_text_add_char(to, '\n', 1);
	for (unsigned int order = 0; order < FL_CENSUS_ORDERS; order++) {
		if (!order_is_asked_for(capacity, order) || !capacity->total.orders[order].known)
			continue;
		print_size(capacity->total.orders[order].size_bytes, text, sizeof(text));
		fl_text_add(to, "%-9s", text);
		for (unsigned int z = from; z < to_zone; z++) {
			const struct fl_capacity_order *o = &capacity->zones[z].orders[order];

			snprintf(text, sizeof(text), "%" PRIu64 "/%" PRIu64, o->now, o->moved);
			fl_text_add(to, " %16s", text);
		}
		fl_text_add_char(to, '\n', 1);
	}
}

static void print_orders(const struct fl_capacity *capacity, struct fl_text *to)
{
	const unsigned int columns = 4;

	print_total(capacity, to);
	for (unsigned int z = 0; capacity->zones_count > 1 && z < capacity->zones_count; z += columns) {
		unsigned int end = z + columns < capacity->zones_count ? z + columns : capacity->zones_count;

		print_zones(capacity, z, end, to);
	}
}

static void print_pins(const struct fl_capacity_zone *all, struct fl_text *to)
{
	fl_text_add(to, "\n%-24s %10s %12s %12s\n", "what pins pageblocks", "blocks", "it alone", "pages");
	for (int i = 0; i < FL_CAPACITY_PINNERS; i++) {
		if (all->pins[i].blocks)
			fl_text_add(to, "%-24s %10" PRIu64 " %12" PRIu64 " %12" PRIu64 "\n", pinner_names[i],
				    all->pins[i].blocks, all->pins[i].blocks_alone, all->pins[i].pages);
	}
	fl_text_add(to, "\n%" PRIu64 " of %" PRIu64 " pageblocks hold unmovable pages: %" PRIu64 " of them one page, %" PRIu64
		    " 2 to 8,\n%" PRIu64 " 9 to 64, %" PRIu64 " more.\n", all->counts.unmovable_pageblocks,
		    all->counts.pageblocks, all->blocks_by_weight[0], all->blocks_by_weight[1],
		    all->blocks_by_weight[2], all->blocks_by_weight[3]);
	if (all->counts.unsure_pageblocks)
		fl_text_add(to, "In %" PRIu64 " of them every such page is unidentified; up to %" PRIu64 " of the %" PRIu64
			    " unidentified\npages are free pages on per-CPU lists, which pin nothing once drained.\n",
			    all->counts.unsure_pageblocks,
			    all->pcp < all->counts.unidentified_pages ? all->pcp : all->counts.unidentified_pages,
			    all->counts.unidentified_pages);
}

void fl_capacity_print(const struct fl_capacity *capacity, struct fl_text *to)
{
	print_orders(capacity, to);
	print_pins(&capacity->total, to);
	if (capacity->total.counts.class_pages[FL_CENSUS_NOT_MANAGED])
		fl_text_add(to, "%" PRIu64 " MiB are present but not managed yet; they are not in these figures.\n",
			    (capacity->total.counts.class_pages[FL_CENSUS_NOT_MANAGED] * capacity->page_size) >> 20);
}
