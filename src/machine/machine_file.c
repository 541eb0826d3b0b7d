/*
 * machine/machine_file.c - reads the description of a machine (--machine FILE): JSON with ranges, zones and reserved
 * memory, as addresses in bytes ("16M", 4096). Everything is checked: a machine that passes can boot.
 */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/layout_json.h"
#include "base/names.h"
#include "base/size.h"
#include "base/text.h"
#include "machine/geometry.h"

enum { SPAN_TIMES_MAX = 16 };

static const char *const zone_keys[FL_ZONES] = { "DMA", "DMA32", "Normal", "Movable" };

/* An address or size: a number of bytes or a text with a suffix; a whole number of pages. */
static int read_bytes(const struct fl_geometry *g, const json_t *value, const char *where, int64_t *ret,
		      struct fl_error *reterr)
{
	int64_t bytes = 0;
	int error = 0;

	if (json_is_integer(value))
		bytes = json_integer_value(value);
	else if (json_is_string(value))
		error = fl_size_parse(json_string_value(value), &bytes, reterr);
	else
		error = fl_error_input(reterr, "expected a size such as \"16M\" or a number of bytes");
	if (!error && (bytes < 0 || bytes >> g->page_shift >= FL_PFN_NONE))
		error = fl_error_input(reterr, "%lld bytes are out of range; expected 0 to %llu", (long long)bytes,
				       ((unsigned long long)FL_PFN_NONE << g->page_shift) - 1);
	if (!error && bytes & ((1 << g->page_shift) - 1))
		error = fl_error_input(reterr, "%lld bytes are not a whole number of pages of %d bytes",
				       (long long)bytes, 1 << g->page_shift);
	if (error)
		fl_error_prefix(reterr, "%s", where);
	else
		*ret = bytes;
	return error;
}

/* [start, end] -> range of pages. */
static int read_range(const struct fl_geometry *g, const json_t *pair, const char *where, struct fl_pfn_range *ret,
		      struct fl_error *reterr)
{
	int64_t start, end;
	int error;

	if (!json_is_array(pair) || json_array_size(pair) != 2)
		return fl_error_input(reterr, "%s: expected [start, end], as in [\"4G\", \"8G\"]", where);
	error = read_bytes(g, json_array_get(pair, 0), where, &start, reterr);
	if (!error)
		error = read_bytes(g, json_array_get(pair, 1), where, &end, reterr);
	if (error)
		return error;
	if (start >= end)
		return fl_error_input(reterr, "%s: the end is not above the start", where);
	*ret = (struct fl_pfn_range){ (fl_pfn)(start >> g->page_shift), (fl_pfn)(end >> g->page_shift) };
	return 0;
}

/* A rising list of ranges that do not overlap. */
static int read_ranges(const struct fl_geometry *g, const json_t *list, const char *name, struct fl_pfn_range *to,
		       unsigned int *ret_count, struct fl_error *reterr)
{
	char where[64];

	if (!list)
		return fl_error_input(reterr, "there are no \"%s\"; expected a list such as [[\"0\", \"3G\"], [\"4G\", \"17G\"]]", name);
	if (!json_is_array(list) || json_array_size(list) > FL_GEOMETRY_RANGES)
		return fl_error_input(reterr, "%s: expected a list of at most %d ranges", name, FL_GEOMETRY_RANGES);
	for (size_t i = 0; i < json_array_size(list); i++) {
		int error;

		snprintf(where, sizeof(where), "%s[%zu]", name, i);
		error = read_range(g, json_array_get(list, i), where, &to[i], reterr);
		if (error)
			return error;
		if (i && to[i].start < to[i - 1].end)
			return fl_error_input(reterr, "%s: starts below the end of the range before it", where);
	}
	*ret_count = (unsigned int)json_array_size(list);
	return 0;
}

static int read_zones(struct fl_geometry *g, const json_t *zones, struct fl_error *reterr)
{
	const char *name;
	json_t *pair;
	fl_pfn end = 0;

	if (!zones)
		return fl_error_input(reterr, "there are no \"zones\"; expected an object such as {\"Normal\": [\"0\", \"4G\"]}");
	if (!json_is_object(zones) || !json_object_size(zones))
		return fl_error_input(reterr, "zones: expected an object such as {\"Normal\": [\"0\", \"4G\"]}");
	json_object_foreach((json_t *)zones, name, pair) {
		unsigned int z = 0;
		char hint[128], where[64];
		int error;

		while (z < FL_ZONES && strcmp(name, zone_keys[z]))
			z++;
		if (z == FL_ZONES)
			return fl_error_input(reterr, "zones: there is no zone \"%s\"%s; expected DMA, DMA32, Normal or Movable", name,
					      fl_names_hint(name, zone_keys, FL_ZONES, hint, sizeof(hint)));
		snprintf(where, sizeof(where), "zones.%s", zone_keys[z]);
		error = read_range(g, pair, where, &g->zone[z], reterr);
		if (error)
			return error;
	}
	for (unsigned int z = 0; z < FL_ZONES; z++) {
		if (g->zone[z].start == g->zone[z].end)
			continue;
		if (g->zone[z].start < end)
			return fl_error_input(reterr, "zones.%s: starts inside the zone before it", zone_keys[z]);
		end = g->zone[z].end;
	}
	return 0;
}

static bool lies_inside(const struct fl_pfn_range *list, unsigned int count, struct fl_pfn_range what)
{
	for (unsigned int i = 0; i < count; i++)
		if (what.start >= list[i].start && what.end <= list[i].end)
			return true;
	return false;
}

static int check_inside(const struct fl_geometry *g, struct fl_error *reterr)
{
	for (unsigned int i = 0; i < g->ranges_count; i++) {
		fl_pfn covered = 0;

		for (unsigned int z = 0; z < FL_ZONES; z++) {
			fl_pfn a = g->zone[z].start > g->ranges[i].start ? g->zone[z].start : g->ranges[i].start;
			fl_pfn b = g->zone[z].end < g->ranges[i].end ? g->zone[z].end : g->ranges[i].end;

			covered += b > a ? b - a : 0;
		}
		if (covered != g->ranges[i].end - g->ranges[i].start)
			return fl_error_input(reterr, "ranges[%u]: not all of it lies in zones", i);
	}
	for (unsigned int i = 0; i < g->reserved_count; i++)
		if (!lies_inside(g->ranges, g->ranges_count, g->reserved[i]))
			return fl_error_input(reterr, "reserved[%u]: lies outside the ranges of memory", i);
	return 0;
}

static int read_number(const json_t *root, const char *name, int64_t min, int64_t max, unsigned int *to,
		       struct fl_error *reterr)
{
	const json_t *value = json_object_get(root, name);

	if (!value)
		return 0;
	if (!json_is_integer(value) || json_integer_value(value) < min || json_integer_value(value) > max)
		return fl_error_input(reterr, "%s: expected a whole number from %ld to %ld", name, (long)min,
				      (long)max);
	*to = (unsigned int)json_integer_value(value);
	return 0;
}

static int check_keys(const json_t *root, struct fl_error *reterr)
{
	static const char *const keys[] = { "page_size", "pageblock_order", "max_order", "pmd_order", "cpus", "swap",
					    "zones", "ranges", "reserved", "guard_minorder", "comment" };
	const char *name;
	json_t *value;

	if (!json_is_object(root))
		return fl_error_input(reterr, "expected an object");
	json_object_foreach((json_t *)root, name, value) {
		unsigned int i = 0;
		char hint[128];

		(void)value;
		while (i < sizeof(keys) / sizeof(*keys) && strcmp(name, keys[i]))
			i++;
		if (i == sizeof(keys) / sizeof(*keys))
			return fl_error_input(reterr, "a machine has no \"%s\"%s", name,
					      fl_names_hint(name, keys, i, hint, sizeof(hint)));
	}
	return 0;
}

/* A zone spans no further than the memory of the machine does (calculate_node_totalpages() clamps likewise). */
static void clamp_zones(struct fl_geometry *g)
{
	fl_pfn first = g->ranges[0].start, last = g->ranges[g->ranges_count - 1].end;

	for (unsigned int z = 0; z < FL_ZONES; z++) {
		struct fl_pfn_range *zone = &g->zone[z];

		if (zone->start < first)
			zone->start = first;
		if (zone->end > last)
			zone->end = last;
		if (zone->start >= zone->end)
			*zone = (struct fl_pfn_range){ 0, 0 };
	}
}

/* The model keeps a record of every frame between the lowest and the highest, present or not. */
static int check_span(struct fl_geometry *g, struct fl_error *reterr)
{
	uint64_t present = 0, top = g->ranges[g->ranges_count - 1].end, few = (UINT64_C(16) << 30) >> g->page_shift;

	for (unsigned int i = 0; i < g->ranges_count; i++)
		present += g->ranges[i].end - g->ranges[i].start;
	if (top > few && top / SPAN_TIMES_MAX > present)
		return fl_error_input(reterr, "ranges: addresses reach up to %llu MiB for %llu MiB of memory; expected at most %d "
				      "times as much", (unsigned long long)(top << g->page_shift >> 20),
				      (unsigned long long)(present << g->page_shift >> 20), SPAN_TIMES_MAX);
	return 0;
}

/* Page size and orders; defaults go by the page size. */
static int read_orders(struct fl_geometry *g, const json_t *root, struct fl_error *reterr)
{
	const json_t *size = json_object_get(root, "page_size");
	int64_t bytes = 4096;
	int error = 0;

	g->page_shift = 12;
	if (size)
		error = read_bytes(g, size, "page_size", &bytes, reterr);
	if (error)
		return error;
	if (bytes != 4096 && bytes != 16384 && bytes != 65536)
		return fl_error_input(reterr, "page_size: machines have pages of 4K, 16K or 64K");
	g->page_shift = bytes == 4096 ? 12 : bytes == 16384 ? 14 : 16;
	g->pmd_order = g->page_shift - 3; /* a table of 8-byte entries fills one page */
	g->pageblock_order = g->pmd_order;
	g->max_order = bytes == 4096 ? 10 : g->pmd_order;
	g->cpus = 4;
	error = read_number(root, "max_order", 1, FL_MAX_ORDERS - 1, &g->max_order, reterr);
	if (!error)
		error = read_number(root, "pageblock_order", 1, g->max_order, &g->pageblock_order, reterr);
	if (!error)
		error = read_number(root, "pmd_order", 1, g->max_order, &g->pmd_order, reterr);
	if (!error)
		error = read_number(root, "cpus", 1, FL_SIM_CPUS_MAX, &g->cpus, reterr);
	if (!error)
		error = read_number(root, "guard_minorder", 0, g->max_order / 2, &g->guard_minorder, reterr);
	return error;
}

static int read_machine(const json_t *root, struct fl_machine *m, struct fl_error *reterr)
{
	struct fl_geometry *g = &m->geometry;
	const json_t *swap = json_object_get(root, "swap"), *reserved = json_object_get(root, "reserved");
	int64_t swap_bytes = 0;
	int error = check_keys(root, reterr);

	if (!error)
		error = read_orders(g, root, reterr);
	if (!error && swap)
		error = read_bytes(g, swap, "swap", &swap_bytes, reterr);
	if (!error)
		error = read_zones(g, json_object_get(root, "zones"), reterr);
	if (!error)
		error = read_ranges(g, json_object_get(root, "ranges"), "ranges", g->ranges, &g->ranges_count, reterr);
	if (!error && reserved)
		error = read_ranges(g, reserved, "reserved", g->reserved, &g->reserved_count, reterr);
	if (!error && !g->ranges_count)
		error = fl_error_input(reterr, "ranges: there is no memory; expected one range or more");
	if (!error)
		error = check_inside(g, reterr);
	if (!error)
		error = check_span(g, reterr);
	if (!error)
		clamp_zones(g);
	m->swap_bytes = (uint64_t)swap_bytes;
	return error;
}

static int read_snapshot(const json_t *root, struct fl_machine *m, struct fl_error *reterr)
{
	struct fl_layout *layout = fl_xcalloc(1, sizeof(*layout));
	int error = fl_layout_read(root, layout, reterr);

	if (!error)
		return fl_machine_from_layout(layout, m, reterr);
	free(layout);
	return error;
}

int fl_machine_read(const struct fl_machine_wish *wish, struct fl_machine *ret, struct fl_error *reterr)
{
	struct fl_machine m = { 0 };
	json_t *root;
	int error;

	if (wish->memory_bytes)
		return fl_error_input(reterr, "the machine comes from %s, so --memory cannot be given", wish->file);
	error = fl_json_read_file(wish->file, &root, reterr);
	if (error)
		return error;
	error = fl_layout_is(root) ? read_snapshot(root, &m, reterr) : read_machine(root, &m, reterr);
	json_decref(root);
	if (error) {
		fl_error_prefix(reterr, "%s", wish->file);
		return error;
	}
	for (unsigned int i = 0; i < m.geometry.ranges_count && !m.layout; i++)
		m.memory_bytes += (uint64_t)(m.geometry.ranges[i].end - m.geometry.ranges[i].start)
				  << m.geometry.page_shift;
	if (wish->cpus > 0)
		m.geometry.cpus = (unsigned int)wish->cpus;
	*ret = m;
	return 0;
}
