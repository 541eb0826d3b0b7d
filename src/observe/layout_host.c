/*
 * observe/layout_host.c - reads a live host into a snapshot: zones from zoneinfo, settings from /proc/sys and /sys, pages from
 * kpageflags, lists and numbers of pageblocks from pagetypeinfo.
 */
#include "observe/layout_host.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "observe/hostfile.h"
#include "observe/kpageflags.h"
#include "observe/read_host.h"
#include "observe/zonespan.h"

#define THP "sys/kernel/mm/transparent_hugepage/"

/* Settings as the model names them. */
static const struct {
	const char *name, *path;
} settings[] = {
	{ "vm.watermark_scale_factor", "proc/sys/vm/watermark_scale_factor" },
	{ "vm.watermark_boost_factor", "proc/sys/vm/watermark_boost_factor" },
	{ "vm.percpu_pagelist_high_fraction", "proc/sys/vm/percpu_pagelist_high_fraction" },
	{ "vm.extfrag_threshold", "proc/sys/vm/extfrag_threshold" },
	{ "vm.compaction_proactiveness", "proc/sys/vm/compaction_proactiveness" },
	{ "vm.compact_unevictable_allowed", "proc/sys/vm/compact_unevictable_allowed" },
	{ "vm.defrag_mode", "proc/sys/vm/defrag_mode" },
	{ "vm.swappiness", "proc/sys/vm/swappiness" },
	{ "vm.vfs_cache_pressure", "proc/sys/vm/vfs_cache_pressure" },
	{ "vm.page-cluster", "proc/sys/vm/page-cluster" },
	{ "vm.dirty_ratio", "proc/sys/vm/dirty_ratio" },
	{ "vm.dirty_background_ratio", "proc/sys/vm/dirty_background_ratio" },
	{ "vm.dirty_expire_centisecs", "proc/sys/vm/dirty_expire_centisecs" },
	{ "vm.dirty_writeback_centisecs", "proc/sys/vm/dirty_writeback_centisecs" },
	{ "thp.enabled", THP "enabled" },
	{ "thp.defrag", THP "defrag" },
	{ "thp.use_zero_page", THP "use_zero_page" },
	{ "thp.shrink_underused", THP "shrink_underused" },
	{ "khugepaged.defrag", THP "khugepaged/defrag" },
	{ "khugepaged.pages_to_scan", THP "khugepaged/pages_to_scan" },
	{ "khugepaged.scan_sleep_millisecs", THP "khugepaged/scan_sleep_millisecs" },
	{ "khugepaged.alloc_sleep_millisecs", THP "khugepaged/alloc_sleep_millisecs" },
	{ "khugepaged.max_ptes_none", THP "khugepaged/max_ptes_none" },
	{ "khugepaged.max_ptes_swap", THP "khugepaged/max_ptes_swap" },
	{ "khugepaged.max_ptes_shared", THP "khugepaged/max_ptes_shared" },
};

/* A number, or the word in brackets of "always [madvise] never". */
static void add_setting(struct fl_layout *l, const char *root, const char *name, const char *path)
{
	struct fl_text text;
	char *open, *close;

	fl_text_init(&text);
	if (fl_hostfile_read(root, path, &text, NULL) == 0) {
		open = strchr(text.data, '[');
		close = open ? strchr(open, ']') : NULL;
		if (close)
			*close = '\0';
		text.data[strcspn(text.data, "\n")] = '\0';
		fl_layout_set(l, name, close ? open + 1 : text.data);
	}
	fl_text_fini(&text);
}

/* min_free_kbytes last: writes of the THP settings recompute it. */
static void read_settings(struct fl_layout *l, const char *root)
{
	char name[64], path[128];

	for (size_t i = 0; i < sizeof(settings) / sizeof(*settings); i++)
		add_setting(l, root, settings[i].name, settings[i].path);
	for (unsigned int order = 2; order <= l->pmd_order; order++) {
		unsigned long kbytes = (unsigned long)l->page_size << order >> 10;

		snprintf(name, sizeof(name), "hugepages-%lukB.enabled", kbytes);
		snprintf(path, sizeof(path), THP "hugepages-%lukB/enabled", kbytes);
		add_setting(l, root, name, path);
	}
	add_setting(l, root, "vm.min_free_kbytes", "proc/sys/vm/min_free_kbytes");
}

static int zone_index(const char *name)
{
	for (unsigned int z = 0; z < FL_LAYOUT_ZONES; z++)
		if (!strcmp(name, fl_layout_zone_name(z)))
			return (int)z;
	return -1;
}

static void take_zone(struct fl_layout *l, const struct fl_zonespan *span)
{
	int z = zone_index(span->name);
	uint64_t boost = span->boost;

	if (z < 0) {
		fl_layout_miss(l, "zone %s is left out: the model has DMA, DMA32, Normal and Movable of one node", span->name);
		return;
	}
	l->zone[z] = (struct fl_layout_zone){ .start_pfn = span->start_pfn, .spanned = span->spanned, .present = span->present,
					      .managed = span->managed, .has_marks = span->high > 0, .boost = boost,
					      .min = span->min - boost, .low = span->low - boost, .high = span->high - boost,
					      .promo = span->promo > boost ? span->promo - boost : span->high - boost,
					      .batch = (int64_t)span->batch, .high_min = (int64_t)span->high_min,
					      .high_max = (int64_t)span->high_max };
	memcpy(l->zone[z].protection, span->protection, sizeof(span->protection));
	l->cpus = span->cpus > l->cpus ? span->cpus : l->cpus;
}

static int read_zones(struct fl_layout *l, const char *root, struct fl_error *reterr)
{
	struct fl_zonespan spans[FL_CENSUS_ZONES_MAX];
	struct fl_text text;
	unsigned int count = 0;
	int error;

	fl_text_init(&text);
	error = fl_hostfile_read(root, "proc/zoneinfo", &text, reterr);
	if (!error)
		error = fl_zonespan_parse(text.data, spans, &count, reterr);
	fl_text_fini(&text);
	for (unsigned int i = 0; !error && i < count; i++) {
		l->nodes = (unsigned int)spans[i].node + 1 > l->nodes ? (unsigned int)spans[i].node + 1 : l->nodes;
		take_zone(l, &spans[i]);
	}
	if (!l->cpus)
		l->cpus = 1;
	return error;
}

static unsigned int order_of(uint64_t pages)
{
	unsigned int order = 0;

	while (pages >>= 1)
		order++;
	return order;
}

/* Page size and orders, from what the text readers found. */
static void take_orders(struct fl_layout *l, const struct fl_mem_state *state, const char *root)
{
	uint64_t pmd = fl_hostfile_number(root, THP "hpage_pmd_size", 0);

	l->page_size = state->page_size ? state->page_size : 4096;
	l->pmd_order = pmd > l->page_size ? order_of(pmd / l->page_size) : order_of(l->page_size / 8);
	l->max_order = state->orders_count ? state->orders_count - 1 : l->pmd_order + 1;
	if (l->max_order >= FL_LAYOUT_ORDERS)
		l->max_order = FL_LAYOUT_ORDERS - 1;
	l->pageblock_order = state->pageblock_order ? state->pageblock_order : l->pmd_order;
	snprintf(l->release, sizeof(l->release), "%s", state->release);
	l->swap_bytes = fl_mem_values_get(&state->meminfo, "SwapTotal");
	l->swap_bytes = l->swap_bytes == FL_MEM_NONE ? 0 : l->swap_bytes << 10;
}

/* Rows of pagetypeinfo; a type that the model lacks counts as movable. */
static bool take_types(struct fl_layout *l, const struct fl_mem_state *state, unsigned int z, uint64_t blocks[FL_LAYOUT_TYPES])
{
	const struct fl_mem_zone *from = fl_mem_state_find_zone(state, 0, fl_layout_zone_name(z));
	struct fl_layout_zone *to = &l->zone[z];

	memset(blocks, 0, FL_LAYOUT_TYPES * sizeof(*blocks));
	if (!from || !from->has_type_blocks || !from->has_type_rows)
		return false;
	for (unsigned int i = 0; i < state->types_count; i++) {
		unsigned int type = state->types[i].role < FL_LAYOUT_TYPES ? state->types[i].role : FL_CENSUS_MOVABLE;

		if (from->type_blocks[i] != FL_MEM_NONE)
			blocks[type] += from->type_blocks[i];
		for (unsigned int o = 0; o <= l->max_order; o++) {
			if (from->type_capped[i][o])
				return true; /* more than the file counts: no lists to come near to */
			if (from->type_free[i][o] != FL_MEM_NONE)
				to->host_free[type][o] += from->type_free[i][o];
		}
	}
	to->has_host_free = true;
	return true;
}

/* ---- pages ---- */

struct candidate {
	uint64_t pfn;
	uint32_t rank;
};

static int by_rank(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->pfn < y->pfn ? -1 : 1;
}

/*
 * Pages on per-CPU lists look like kernel pages. As many as zoneinfo counts are taken from those that nothing identifies, first
 * where least else is unmovable: a kernel page is seldom alone in a pageblock of movable ones.
 */
static void mark_pcp(struct fl_layout *l, const struct fl_census_pages *pages, const struct fl_census_zone *zone)
{
	uint64_t block = 1u << l->pageblock_order, end = zone->start_pfn + zone->spanned, room = 0, n = 0;
	struct candidate *list = NULL;

	for (uint64_t pfn = zone->start_pfn & ~(block - 1); pfn < end; pfn += block) {
		uint32_t sure = 0;

		for (uint64_t at = pfn; at < pfn + block; at++)
			sure += !pages->unsure[at - pages->first_pfn] &&
				(fl_layout_page(l, at) == FL_CENSUS_KERNEL || fl_layout_page(l, at) == FL_CENSUS_SLAB ||
				 fl_layout_page(l, at) == FL_CENSUS_PGTABLE);
		for (uint64_t at = pfn < zone->start_pfn ? zone->start_pfn : pfn; at < pfn + block && at < end; at++) {
			if (!pages->unsure[at - pages->first_pfn])
				continue;
			if (n == room)
				list = fl_xrealloc(list, (room = room ? 2 * room : 1024) * sizeof(*list));
			list[n++] = (struct candidate){ at, sure };
		}
	}
	if (n)
		qsort(list, n, sizeof(*list), by_rank);
	for (uint64_t i = 0; i < n && i < zone->pcp; i++)
		l->page[list[i].pfn - l->first_pfn] = FL_CENSUS_PCP;
	free(list);
}

/* The pages say how many are managed; zoneinfo was read a moment before or after. */
static void settle_managed(struct fl_layout *l, unsigned int z)
{
	struct fl_layout_zone *zone = &l->zone[z];
	uint64_t managed = 0, present = 0;

	for (uint64_t pfn = zone->start_pfn; pfn < zone->start_pfn + zone->spanned; pfn++) {
		enum fl_census_class class = fl_layout_page(l, pfn);

		present += class != FL_CENSUS_HOLE;
		managed += class != FL_CENSUS_HOLE && class != FL_CENSUS_RESERVED && class != FL_CENSUS_NOT_MANAGED;
	}
	if (managed != zone->managed)
		fl_layout_miss(l, "zone %s: zoneinfo says %" PRIu64 " managed pages, its page flags say %" PRIu64
			       ", which is taken", fl_layout_zone_name(z), zone->managed, managed);
	zone->managed = managed;
	zone->present = present;
}

static int read_pages(struct fl_layout *l, const char *root, struct fl_error *reterr)
{
	struct fl_census census;
	struct fl_census_pages pages;
	int error = fl_census_read_pages(root, &census, &pages, reterr);

	if (error)
		return error;
	l->first_pfn = pages.first_pfn;
	l->pages = pages.count;
	l->page = pages.class;
	l->order = pages.order;
	l->type = fl_xmalloc((pages.count >> l->pageblock_order) + 1);
	memset(l->type, FL_CENSUS_MOVABLE, (pages.count >> l->pageblock_order) + 1);
	for (uint64_t i = 0; i < l->pages; i++)
		if (l->page[i] != FL_CENSUS_HOLE && fl_layout_zone_of(l, l->first_pfn + i) == FL_LAYOUT_ZONES)
			l->page[i] = FL_CENSUS_HOLE;
	for (unsigned int i = 0; i < census.zones_count; i++)
		if (zone_index(census.zone_names[i]) >= 0)
			mark_pcp(l, &pages, &census.zones[i]);
	free(pages.unsure);
	fl_census_free(&census);
	return 0;
}

static void say_deviation(struct fl_layout *l, unsigned int z)
{
	uint64_t pages = fl_layout_deviation(l, z);

	if (pages)
		fl_layout_miss(l, "zone %s: %" PRIu64 " free pages are on other lists than pagetypeinfo had them a moment before: it has "
			       "changed, or types of pageblocks, which the kernel does not print one by one, are guessed wrong",
			       fl_layout_zone_name(z), pages);
}

static void read_content(struct fl_layout *l, const struct fl_mem_state *state, const char *root)
{
	struct fl_error error;
	uint64_t blocks[FL_LAYOUT_TYPES];

	if (l->nodes > 1) {
		fl_layout_miss(l, "pages: a host of %u nodes; the model has one", l->nodes);
		return;
	}
	if (read_pages(l, root, &error) < 0) {
		fl_layout_miss(l, "what pages and free lists hold: %s", error.text);
		return;
	}
	for (unsigned int z = 0; z < FL_LAYOUT_ZONES; z++) {
		if (!l->zone[z].spanned)
			continue;
		settle_managed(l, z);
		if (!take_types(l, state, z, blocks))
			fl_layout_miss(l, "zone %s: pagetypeinfo could not be read, so every pageblock is taken as movable",
				       fl_layout_zone_name(z));
		fl_layout_guess_types(l, z, blocks);
		say_deviation(l, z);
	}
}

int fl_layout_read_host(const char *root, struct fl_layout *ret, struct fl_error *reterr)
{
	struct fl_mem_report report;
	int error;

	fl_layout_init(ret);
	fl_mem_report_init(&report, "this host");
	error = fl_mem_read_host(root, &report, reterr);
	if (!error && !report.states_count)
		error = fl_error_input(reterr, "nothing here tells about memory");
	if (!error)
		error = read_zones(ret, root, reterr);
	if (!error) {
		take_orders(ret, report.states[0], root);
		read_settings(ret, root);
		read_content(ret, report.states[0], root);
	}
	fl_mem_report_fini(&report);
	if (error)
		fl_layout_fini(ret);
	return error;
}
