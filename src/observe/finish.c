/*
 * observe/finish.c - what is done when a state is complete: units, derived figures, checks of totals, links.
 *
 * A Mem-Info is in kB: amounts become pages as soon as the size of a page is known (from its lists, else from figures
 * printed both ways). Totals that do not agree are reported here; nothing is corrected silently.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "observe/text_internal.h"

#define SANE_KB_MAX (1ull << 43) /* 8 PiB: more memory than any machine has */

static const char *zone_label(const struct fl_mem_zone *zone, char *to, size_t size)
{
	if (zone->node >= 0)
		snprintf(to, size, "Node %d %s", zone->node, zone->name);
	else
		snprintf(to, size, "%s", zone->name);
	return to;
}

/* --- the size of a page ------------------------------------------------------------------------------------------- */

static bool is_page_size(uint64_t bytes)
{
	return bytes >= 4096 && bytes <= 262144 && !(bytes & (bytes - 1));
}

/* The power of two nearest to kb/pages, if they are close to one (a share of 1/slack): the moments may differ. */
static uint32_t size_from_ratio(uint64_t kb, uint64_t pages, uint64_t slack)
{
	if (!pages || pages == FL_MEM_NONE || kb == FL_MEM_NONE || pages < 64 || kb > SANE_KB_MAX)
		return 0;
	for (uint64_t size_kb = 4; size_kb <= 256; size_kb *= 2)
		if (kb >= pages * size_kb - pages * size_kb / slack && kb <= pages * size_kb + pages * size_kb / slack)
			return (uint32_t)(size_kb * 1024);
	return 0;
}

static uint32_t size_from_nodes(const struct fl_text_reader *reader)
{
	static const char *const keys[] = { "active_anon", "inactive_anon", "active_file", "inactive_file" };
	uint32_t size = 0;

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]) && !size; i++)
		size = size_from_ratio(fl_mem_values_get(&reader->node_kb, keys[i]),
				       fl_mem_values_get(&reader->state->totals, keys[i]), 4);
	return size;
}

/* A PMD maps page_size / 8 pages. */
static uint32_t size_from_pmd(const struct fl_mem_state *state)
{
	const char *pmd = fl_mem_settings_get(&state->thp, "hpage_pmd_size");
	uint64_t bytes = 0;

	if (!pmd || !fl_text_number(&pmd, &bytes))
		return 0;
	for (uint64_t size = 4096; size <= 262144; size *= 2)
		if (bytes == size * size / 8)
			return (uint32_t)size;
	return 0;
}

static uint64_t sum_of_zones(const struct fl_mem_state *state, bool managed)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < state->zones_count; i++) {
		uint64_t pages = managed ? state->zones[i].managed : state->zones[i].free;

		sum += pages < SANE_KB_MAX ? pages : 0;
	}
	return sum;
}

/* What does not change between two files comes first: free memory may have doubled meanwhile. */
static uint32_t size_from_files(const struct fl_mem_state *state)
{
	uint64_t total = fl_mem_values_get(&state->meminfo, "MemTotal"), free_kb = fl_mem_values_get(&state->meminfo, "MemFree");
	uint32_t size = 0;

	if (fl_mem_values_get(&state->meminfo, "DirectMap4k") != FL_MEM_NONE)
		return 4096; /* x86 alone prints this */
	size = size_from_pmd(state);
	if (!size)
		size = size_from_ratio(total, sum_of_zones(state, true), 64);
	if (!size)
		size = size_from_ratio(free_kb, fl_mem_values_get(&state->vmstat, "nr_free_pages"), 4);
	if (!size)
		size = size_from_ratio(free_kb, sum_of_zones(state, false), 4);
	return size;
}

static void settle_page_size(struct fl_text_reader *reader)
{
	struct fl_mem_state *state = reader->state;

	if (!is_page_size(state->page_size))
		state->page_size = 0;
	if (!state->page_size)
		state->page_size = state->dump ? size_from_nodes(reader) : size_from_files(state);
	if (!state->page_size) {
		state->page_size = 4096;
		state->page_size_assumed = true;
	}
}

/* --- kB into pages ------------------------------------------------------------------------------------------------ */

static void note_wrapped(struct fl_text_reader *reader, struct fl_mem_zone *zone, unsigned int line, const char *what,
			 uint64_t value)
{
	char label[48];

	zone->wrapped = true;
	fl_mem_report_warn(reader->report, line,
			   "%s: %s is %llu%s: more than any machine has, so a counter of the kernel ran below zero and wrapped",
			   zone_label(zone, label, sizeof(label)), what, (unsigned long long)value,
			   reader->state->dump && strcmp(what, "lowmem_reserve") ? "kB" : " pages");
}

static void to_pages(uint64_t *kb, uint32_t page_size)
{
	if (*kb != FL_MEM_NONE)
		*kb /= page_size / 1024;
}

/* The figures of a zone: kB in a Mem-Info, pages in zoneinfo. Those that no machine has are said; kB become pages. */
static void settle_figures(struct fl_text_reader *reader, struct fl_mem_zone *zone)
{
	uint64_t *figures[] = {
		&zone->free, &zone->min, &zone->low, &zone->high, &zone->promo, &zone->boost, &zone->spanned,
		&zone->present, &zone->managed, &zone->free_cma, &zone->free_highatomic, &zone->reserved_highatomic,
		&zone->pcp_pages,
	};
	static const char *const names[] = {
		"free", "min", "low", "high", "promo", "boost", "spanned", "present", "managed", "free_cma",
		"free_highatomic", "reserved_highatomic", "free_pcp",
	};
	bool dump = reader->state->dump;
	uint64_t page_kb = reader->state->page_size / 1024;

	for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++) {
		if (*figures[i] != FL_MEM_NONE && *figures[i] > SANE_KB_MAX / (dump ? 1 : page_kb))
			note_wrapped(reader, zone, zone->line, names[i], *figures[i]);
		if (dump)
			to_pages(figures[i], reader->state->page_size);
	}
	for (size_t i = 0; dump && i < zone->stats.count; i++)
		to_pages(&zone->stats.items[i].value, reader->state->page_size);
	for (unsigned int i = 0; i < zone->protection_count; i++) {
		if (zone->protection[i] > SANE_KB_MAX / page_kb) {
			note_wrapped(reader, zone, zone->line, "lowmem_reserve", zone->protection[i]);
			break;
		}
	}
}

/* --- sums --------------------------------------------------------------------------------------------------------- */

/* Pages in the lists; saturates. */
static uint64_t lists_pages(const uint64_t *blocks, unsigned int orders)
{
	uint64_t sum = 0, pages;

	for (unsigned int o = 0; o < orders; o++)
		if (__builtin_mul_overflow(blocks[o], 1ull << o, &pages) || __builtin_add_overflow(sum, pages, &sum))
			return UINT64_MAX - 1;
	return sum;
}

static uint64_t difference(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

static void check_printed_sum(struct fl_text_reader *reader, const struct fl_mem_zone *zone, uint64_t sum_kb)
{
	char label[48];

	if (zone->lists_sum_kb == FL_MEM_NONE || zone->lists_incomplete || sum_kb == zone->lists_sum_kb)
		return;
	fl_mem_report_warn(reader->report, zone->lists_line,
			   "%s: the free lists add up to %llukB, the line says = %llukB: a count was mangled",
			   zone_label(zone, label, sizeof(label)), (unsigned long long)sum_kb,
			   (unsigned long long)zone->lists_sum_kb);
}

/* The kernel prints them one after the other while memory is used: only a gap of more than 5 % is worth a word. */
static void check_free(struct fl_text_reader *reader, const struct fl_mem_zone *zone, uint64_t sum)
{
	uint64_t gap = difference(zone->free, sum), slack = (zone->free > sum ? zone->free : sum) / 20;
	uint32_t kb = reader->state->page_size / 1024;
	char label[48];

	if (zone->lists_incomplete || zone->free == FL_MEM_NONE || zone->free > SANE_KB_MAX || gap <= slack || gap < 16)
		return;
	fl_mem_report_warn(reader->report, zone->lists_line,
			   "%s: free is %llukB but its free lists hold %llukB: the figures are of different moments, "
			   "or the accounting is off", zone_label(zone, label, sizeof(label)),
			   (unsigned long long)(zone->free * kb), (unsigned long long)(sum * kb));
}

/* lists_line without orders: "empty" */
static void check_lists(struct fl_text_reader *reader, struct fl_mem_zone *zone)
{
	uint64_t sum;

	if (!zone->lists_line)
		return;
	sum = lists_pages(zone->free_blocks, zone->orders_count);
	if (!reader->state->dump && sum > SANE_KB_MAX / (reader->state->page_size / 1024)) {
		note_wrapped(reader, zone, zone->lists_line, "the sum of the free lists", sum);
		return;
	}
	if (reader->state->dump)
		check_printed_sum(reader, zone, sum * (reader->state->page_size / 1024));
	if (zone->free == FL_MEM_NONE && zone->lists_sum_kb != FL_MEM_NONE)
		zone->free = zone->lists_sum_kb / (reader->state->page_size / 1024);
	else if (zone->free == FL_MEM_NONE && zone->orders_count && !zone->lists_incomplete)
		zone->free = sum;
	else
		check_free(reader, zone, sum);
}

static void sum_types(const struct fl_mem_state *state, const struct fl_mem_zone *zone, uint64_t *to)
{
	memset(to, 0, FL_MEM_ORDERS_MAX * sizeof(*to));
	for (unsigned int t = 0; t < state->types_count; t++)
		for (unsigned int o = 0; o < FL_MEM_ORDERS_MAX; o++)
			to[o] += zone->type_free[t][o];
}

static bool any_capped(const struct fl_mem_zone *zone)
{
	for (unsigned int t = 0; t < FL_MEM_TYPES_MAX; t++)
		for (unsigned int o = 0; o < FL_MEM_ORDERS_MAX; o++)
			if (zone->type_capped[t][o])
				return true;
	return false;
}

/* buddyinfo against pagetypeinfo of the same zone; without buddyinfo the rows by type are the lists. */
static void settle_types(struct fl_text_reader *reader, struct fl_mem_zone *zone)
{
	uint64_t by_type[FL_MEM_ORDERS_MAX], sum, lists;
	char label[48];

	if (!zone->has_type_rows)
		return;
	sum_types(reader->state, zone, by_type);
	if (!zone->lists_line) {
		memcpy(zone->free_blocks, by_type, sizeof(by_type));
		zone->orders_count = reader->state->orders_count;
		zone->lists_line = zone->types_line;
		zone->lists_from_types = true;
		return;
	}
	sum = lists_pages(by_type, FL_MEM_ORDERS_MAX);
	lists = lists_pages(zone->free_blocks, zone->orders_count);
	if (difference(sum, lists) <= (sum > lists ? sum : lists) / 20 + 16 || any_capped(zone))
		return;
	fl_mem_report_warn(reader->report, zone->types_line,
			   "%s: pagetypeinfo counts %llu free pages, buddyinfo %llu: taken at different moments%s",
			   zone_label(zone, label, sizeof(label)), (unsigned long long)sum, (unsigned long long)lists,
			   sum > 2 * lists || lists > 2 * sum ? " or on different machines" : "");
}

/* Gauges of vmstat that ran below zero (the kernel prints most of them as 0 then). */
static void check_vmstat(struct fl_text_reader *reader)
{
	const struct fl_mem_state *state = reader->state;

	for (size_t i = 0; i < state->vmstat.count; i++)
		if (!strncmp(state->vmstat.items[i].name, "nr_", 3) &&
		    state->vmstat.items[i].value > SANE_KB_MAX / (state->page_size / 1024))
			fl_mem_report_warn(reader->report, 0,
					   "vmstat: %s is %llu: more than any machine has, so a counter of the kernel ran "
					   "below zero and wrapped", state->vmstat.items[i].name,
					   (unsigned long long)state->vmstat.items[i].value);
}

static bool has_row(const struct fl_mem_zone *zone)
{
	return zone->lists_line && !zone->lists_from_types;
}

static unsigned int rows_with(const struct fl_mem_state *state, unsigned int columns)
{
	unsigned int count = 0;

	for (size_t i = 0; i < state->zones_count; i++)
		count += has_row(&state->zones[i]) && state->zones[i].orders_count == columns;
	return count;
}

/* The number of columns that most rows of buddyinfo have; where none is more frequent, what most kernels have. */
static unsigned int usual_columns(const struct fl_mem_state *state)
{
	unsigned int best = 0, most = 0;

	for (size_t i = 0; i < state->zones_count; i++) {
		unsigned int columns = state->zones[i].orders_count, rows = rows_with(state, columns);

		if (has_row(&state->zones[i]) && (rows > most || (rows == most && best != 11 && (columns == 11 || columns > best)))) {
			best = columns;
			most = rows;
		}
	}
	return best;
}

static void check_columns(struct fl_text_reader *reader)
{
	struct fl_mem_state *state = reader->state;
	unsigned int usual = usual_columns(state);

	for (size_t i = 0; i < state->zones_count; i++) {
		struct fl_mem_zone *zone = &state->zones[i];

		if (!has_row(zone) || zone->orders_count == usual)
			continue;
		fl_mem_report_warn(reader->report, zone->lists_line,
				   "zone %s has %u column%s where the other rows have %u: a column was lost or added, so "
				   "its orders are not certain", zone->name, zone->orders_count,
				   zone->orders_count == 1 ? "" : "s", usual);
		zone->lists_incomplete = zone->lists_incomplete || zone->orders_count < usual;
	}
}

/* A zone with memory that stands in one of two files only. */
static void check_zone_is_everywhere(struct fl_text_reader *reader, const struct fl_mem_zone *zone, bool lists, bool types,
				     bool figures)
{
	if (!fl_mem_zone_is_populated(zone))
		return;
	if (lists && types && zone->lists_line && zone->has_type_rows == zone->lists_from_types)
		fl_mem_report_warn(reader->report, zone->lists_line,
				   "zone %s is in only one of buddyinfo and pagetypeinfo: a row is missing, or they come "
				   "from different machines", zone->name);
	if (lists && !zone->lists_line && zone->line)
		fl_mem_report_warn(reader->report, zone->line,
				   "zone %s is in zoneinfo but has no row in buddyinfo: its free blocks are missing",
				   zone->name);
	if (figures && zone->lists_line && !zone->line)
		fl_mem_report_warn(reader->report, zone->lists_line,
				   "zone %s has free lists but is not in zoneinfo: its watermarks are missing", zone->name);
}

static void check_zones(struct fl_text_reader *reader)
{
	const struct fl_mem_state *state = reader->state;
	bool lists = false, types = false, figures = false;

	for (size_t i = 0; i < state->zones_count; i++) {
		const struct fl_mem_zone *zone = &state->zones[i];

		lists = lists || has_row(zone);
		types = types || zone->has_type_rows;
		figures = figures || zone->line;
	}
	for (size_t i = 0; i < state->zones_count; i++)
		check_zone_is_everywhere(reader, &state->zones[i], lists, types, figures);
}

static void check_files(struct fl_text_reader *reader)
{
	uint64_t vmstat = fl_mem_values_get(&reader->state->vmstat, "nr_free_pages"), sum = sum_of_zones(reader->state, false);

	check_zones(reader);
	check_vmstat(reader);
	if (vmstat != FL_MEM_NONE && vmstat < SANE_KB_MAX && sum && difference(vmstat, sum) > sum / 20 + 64)
		fl_mem_report_warn(reader->report, 0,
				   "vmstat says %llu free pages, the zones add up to %llu: taken at different moments",
				   (unsigned long long)vmstat, (unsigned long long)sum);
}

static void check_dump_total(struct fl_text_reader *reader)
{
	const struct fl_mem_state *state = reader->state;
	uint64_t total = fl_mem_values_get(&state->totals, "free"), sum = 0;

	if (total == FL_MEM_NONE)
		return;
	for (size_t i = 0; i < state->zones_count; i++) {
		if (state->zones[i].wrapped || state->zones[i].free == FL_MEM_NONE)
			return;
		sum += state->zones[i].free;
	}
	if (sum && difference(total, sum) > (total > sum ? total : sum) / 20 + 64)
		fl_mem_report_warn(reader->report, state->line_first,
				   "Mem-Info says free:%llu pages, the zones that are printed add up to %llu: a zone "
				   "is missing, or the figures are of different moments", (unsigned long long)total,
				   (unsigned long long)sum);
}

void fl_text_close_state(struct fl_text_reader *reader)
{
	struct fl_mem_state *state = reader->state;

	if (!state)
		return;
	if (reader->context == TEXT_LIST)
		fl_text_dump_end_list(reader);
	settle_page_size(reader);
	if (!state->dump)
		check_columns(reader);
	for (size_t i = 0; i < state->zones_count; i++) {
		settle_figures(reader, &state->zones[i]);
		if (!state->dump)
			settle_types(reader, &state->zones[i]);
		check_lists(reader, &state->zones[i]);
	}
	if (state->dump)
		check_dump_total(reader);
	else
		check_files(reader);
	fl_mem_values_fini(&reader->node_kb);
	reader->nodes_seen = 0;
	reader->zones_closed += state->zones_count;
	reader->zone_plus1 = 0;
	reader->state = NULL;
}

/* --- which state belongs to a request ----------------------------------------------------------------------------- */

static bool state_has_figures(const struct fl_mem_state *state)
{
	return state->zones_count || state->totals.count || state->meminfo.count;
}

static void link_request(const struct fl_mem_report *report, struct fl_mem_request *request)
{
	int before = -1, after = -1;

	for (size_t i = 0; i < report->states_count; i++) {
		const struct fl_mem_state *state = report->states[i];

		if (!state_has_figures(state))
			continue;
		if (state->line_first > request->line_first) {
			if (after < 0)
				after = (int)i;
		} else {
			before = (int)i;
		}
	}
	if (before >= 0 && report->states[before]->line_last >= request->line_first)
		after = before; /* in the middle of it: two CPUs printed at once */
	if (after >= 0 && (after == before || report->states[after]->line_first - request->line_first < 400)) {
		request->state = after;
	} else if (before >= 0 && request->line_first - report->states[before]->line_last < 40) {
		request->state = before;
		request->state_before = true;
	}
}

void fl_text_finish_report(struct fl_mem_report *report)
{
	bool *own = fl_xcalloc(report->states_count + 1, sizeof(*own));

	for (size_t i = 0; i < report->requests_count; i++)
		if (report->requests[i]->state >= 0 && !report->requests[i]->state_before)
			own[report->requests[i]->state] = true;
	for (size_t i = 0; i < report->requests_count; i++) {
		struct fl_mem_request *request = report->requests[i];

		if (request->state >= 0 && state_has_figures(report->states[request->state]))
			continue;
		link_request(report, request);
		request->state_shared = request->state >= 0 && !request->state_before && own[request->state];
	}
	free(own);
	if (report->requests_dropped)
		fl_mem_report_warn(report, 0, "%llu further requests were counted but not kept (limit %d)",
				   (unsigned long long)report->requests_dropped, FL_MEM_REQUESTS_MAX);
	if (report->states_dropped)
		fl_mem_report_warn(report, 0, "%llu further states of memory were not kept (limits: %d states, %d zones)",
				   (unsigned long long)report->states_dropped, FL_MEM_STATES_MAX, ZONES_TOTAL_MAX);
}
