/* machine/exact.c - formulas of the model over the zones of a host. */
#include "machine/exact.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mm/pcp.h"
#include "mm/watermark.h"

static uint64_t setting(const struct fl_layout *host, const char *name, uint64_t otherwise)
{
	for (size_t i = 0; i < host->settings_count; i++)
		if (!strcmp(host->settings[i].name, name))
			return strtoull(host->settings[i].value, NULL, 10);
	return otherwise;
}

struct rows {
	struct fl_exact *list;
	size_t count, room;
	const char *zone;
};

static void add(struct rows *rows, const char *what, double real, double model)
{
	struct fl_exact *row;

	if (rows->count == rows->room)
		return;
	row = &rows->list[rows->count++];
	snprintf(row->name, sizeof(row->name), "%s %s", rows->zone, what);
	row->real = real;
	row->model = model;
}

static void add_zone(struct rows *rows, const struct fl_layout *host, unsigned int z, const uint64_t marks[FL_WMARKS],
		     const uint64_t reserve[FL_ZONES])
{
	const struct fl_layout_zone *zone = &host->zone[z];
	uint32_t managed = (uint32_t)zone->managed;
	unsigned int fraction = (unsigned int)setting(host, "vm.percpu_pagelist_high_fraction", 0);
	int batch = fl_pcp_batch(managed, (unsigned int)__builtin_ctz(host->page_size));
	uint64_t low = marks[FL_WMARK_LOW];
	char name[24];

	batch = batch < 1 ? 1 : batch; /* zone_set_pageset_high_and_batch() */

	rows->zone = fl_layout_zone_name(z);
	add(rows, "min", (double)zone->min, (double)marks[FL_WMARK_MIN]);
	add(rows, "low", (double)zone->low, (double)low);
	add(rows, "high", (double)zone->high, (double)marks[FL_WMARK_HIGH]);
	for (unsigned int i = 0; i < FL_ZONES; i++) {
		snprintf(name, sizeof(name), "protection[%u]", i);
		add(rows, name, (double)zone->protection[i], (double)reserve[i]);
	}
	if (!zone->high_max)
		return;
	add(rows, "pcp batch", (double)zone->batch, batch);
	add(rows, "pcp high_min", (double)zone->high_min, fl_pcp_high(managed, low, host->cpus, fraction, batch, false));
	add(rows, "pcp high_max", (double)zone->high_max, fl_pcp_high(managed, low, host->cpus, fraction, batch, true));
}

size_t fl_exact_marks(const struct fl_layout *host, struct fl_exact *ret, size_t room)
{
	struct fl_watermark_input in = { .page_shift = (unsigned int)__builtin_ctz(host->page_size),
					 .pageblock_order = host->pageblock_order,
					 .scale_factor = (uint32_t)setting(host, "vm.watermark_scale_factor", 10),
					 .reserve_ratio = { 256, 256, 32, 0 } };
	uint64_t marks[FL_ZONES][FL_WMARKS], reserve[FL_ZONES][FL_ZONES];
	struct rows rows = { .list = ret, .room = room };

	for (unsigned int z = 0; z < FL_ZONES; z++)
		in.managed[z] = host->zone[z].managed;
	fl_compute_wmarks(&in, setting(host, "vm.min_free_kbytes", 0), marks);
	fl_compute_lowmem_reserve(&in, reserve);
	for (unsigned int z = 0; z < FL_ZONES; z++)
		if (host->zone[z].managed && host->zone[z].has_marks)
			add_zone(&rows, host, z, marks[z], reserve[z]);
	return rows.count;
}

static struct fl_zone zone_of(const uint64_t *chunks, unsigned int orders)
{
	struct fl_zone zone = { 0 };

	for (unsigned int o = 0; o < orders && o < FL_MAX_ORDERS; o++) {
		zone.nr_free[o] = (uint32_t)chunks[o];
		zone.nr_free_pages += (long)(chunks[o] << o);
	}
	return zone;
}

int fl_exact_unusable_index(const uint64_t *chunks, unsigned int orders, unsigned int order)
{
	struct fl_zone zone = zone_of(chunks, orders);

	return fl_unusable_index(&zone, order);
}

int fl_exact_fragmentation_index(const uint64_t *chunks, unsigned int orders, unsigned int order)
{
	struct fl_zone zone = zone_of(chunks, orders);

	return fl_fragmentation_index(&zone, order);
}
