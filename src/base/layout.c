/* base/layout.c - the plain struct of a snapshot and what follows from it: chunks, lists, deviations. */
#include "base/layout.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static const char *const zone_names[FL_LAYOUT_ZONES] = { "DMA", "DMA32", "Normal", "Movable" };

void fl_layout_init(struct fl_layout *layout)
{
	memset(layout, 0, sizeof(*layout));
	layout->nodes = 1;
}

void fl_layout_fini(struct fl_layout *layout)
{
	for (size_t i = 0; i < layout->settings_count; i++) {
		free(layout->settings[i].name);
		free(layout->settings[i].value);
	}
	for (size_t i = 0; i < layout->missing_count; i++)
		free(layout->missing[i]);
	free(layout->settings);
	free(layout->missing);
	free(layout->page);
	free(layout->order);
	free(layout->type);
	fl_layout_init(layout);
}

void fl_layout_set(struct fl_layout *layout, const char *name, const char *value)
{
	layout->settings = fl_xrealloc(layout->settings, (layout->settings_count + 1) * sizeof(*layout->settings));
	layout->settings[layout->settings_count++] =
		(struct fl_layout_setting){ fl_xstrdup(name), fl_xstrdup(value) };
}

void fl_layout_miss(struct fl_layout *layout, const char *fmt, ...)
{
	struct fl_text text;
	va_list ap;

	fl_text_init(&text);
	va_start(ap, fmt);
	fl_text_vadd(&text, fmt, ap);
	va_end(ap);
	layout->missing = fl_xrealloc(layout->missing, (layout->missing_count + 1) * sizeof(*layout->missing));
	layout->missing[layout->missing_count++] = fl_xstrdup(text.data);
	fl_text_fini(&text);
}

const char *fl_layout_zone_name(unsigned int zone)
{
	return zone_names[zone];
}

unsigned int fl_layout_zone_of(const struct fl_layout *layout, uint64_t pfn)
{
	for (unsigned int z = 0; z < FL_LAYOUT_ZONES; z++)
		if (pfn - layout->zone[z].start_pfn < layout->zone[z].spanned)
			return z;
	return FL_LAYOUT_ZONES;
}

/* Is [pfn, pfn + 2^order) free, of one zone and of one type? */
static bool is_free_group(const struct fl_layout *layout, uint64_t pfn, unsigned int order)
{
	uint64_t pages = 1u << order, block = 1u << layout->pageblock_order;
	unsigned int zone = fl_layout_zone_of(layout, pfn);

	if (pfn < layout->first_pfn || pfn + pages > layout->first_pfn + layout->pages ||
	    fl_layout_zone_of(layout, pfn + pages - 1) != zone)
		return false;
	for (uint64_t at = pfn; at < pfn + pages; at++)
		if (fl_layout_page(layout, at) != FL_CENSUS_FREE)
			return false;
	for (uint64_t at = pfn; at < pfn + pages; at += block)
		if (*fl_layout_type(layout, at) != *fl_layout_type(layout, pfn))
			return false;
	return true;
}

unsigned int fl_layout_chunk(const struct fl_layout *layout, uint64_t pfn)
{
	unsigned int order = 0;

	while (order < layout->max_order && !(pfn & ((2u << order) - 1)) &&
	       is_free_group(layout, pfn + (1u << order), order) && is_free_group(layout, pfn, order + 1))
		order++;
	return order;
}

void fl_layout_free(const struct fl_layout *layout, unsigned int zone, uint64_t ret[FL_LAYOUT_TYPES][FL_LAYOUT_ORDERS])
{
	const struct fl_layout_zone *z = &layout->zone[zone];
	uint64_t pfn = z->start_pfn, end = z->start_pfn + z->spanned;

	memset(ret, 0, FL_LAYOUT_TYPES * sizeof(*ret));
	while (layout->page && pfn < end) {
		unsigned int order = 0;

		if (fl_layout_page(layout, pfn) == FL_CENSUS_FREE) {
			unsigned int type = *fl_layout_type(layout, pfn);

			order = fl_layout_chunk(layout, pfn);
			ret[type < FL_LAYOUT_TYPES ? type : FL_CENSUS_MOVABLE][order]++;
		}
		pfn += 1u << order;
	}
}

uint64_t fl_layout_deviation(const struct fl_layout *layout, unsigned int zone)
{
	uint64_t ours[FL_LAYOUT_TYPES][FL_LAYOUT_ORDERS], pages = 0;
	const struct fl_layout_zone *z = &layout->zone[zone];

	if (!z->has_host_free)
		return 0;
	fl_layout_free(layout, zone, ours);
	for (unsigned int t = 0; t < FL_LAYOUT_TYPES; t++)
		for (unsigned int o = 0; o < FL_LAYOUT_ORDERS; o++) {
			uint64_t a = ours[t][o], b = z->host_free[t][o];

			pages += (a > b ? a - b : b - a) << o;
		}
	return pages;
}
