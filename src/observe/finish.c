/*
 * observe/finish.c - what is done when a state is complete: units, derived figures, checks of totals, links.
 *
 * A Mem-Info is in kB: amounts become pages as soon as the size of a page is known (from its lists, else from figures
 * printed both ways). Totals that do not agree are reported here; nothing is corrected silently.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* The power of two nearest to kb/pages, if they are close to one: the figures may be of different moments. */
static uint32_t size_from_ratio(uint64_t kb, uint64_t pages)
{
	if (!pages || pages == FL_MEM_NONE || kb == FL_MEM_NONE || pages < 64 || kb > SANE_KB_MAX)
		return 0;
	for (uint64_t size_kb = 4; size_kb <= 256; size_kb *= 2)
		if (kb >= pages * size_kb - pages * size_kb / 4 && kb <= pages * size_kb + pages * size_kb / 4)
			return (uint32_t)(size_kb * 1024);
	return 0;
}

static uint32_t size_from_nodes(const struct fl_text_reader *reader)
{
	static const char *const keys[] = { "active_anon", "inactive_anon", "active_file", "inactive_file" };
	uint32_t size = 0;

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]) && !size; i++)
		size = size_from_ratio(fl_mem_values_get(&reader->node_kb, keys[i]),
				       fl_mem_values_get(&reader->state->totals, keys[i]));
	return size;
}

static uint32_t size_from_files(const struct fl_mem_state *state)
{
	uint64_t pages = fl_mem_values_get(&state->vmstat, "nr_free_pages"), sum = 0;
	uint64_t kb = fl_mem_values_get(&state->meminfo, "MemFree");
	uint32_t size = size_from_ratio(kb, pages);

	for (size_t i = 0; i < state->zones_count; i++)
		if (state->zones[i].free != FL_MEM_NONE && state->zones[i].free < SANE_KB_MAX)
			sum += state->zones[i].free;
	if (!size)
		size = size_from_ratio(kb, sum);
	if (!size && fl_mem_values_get(&state->meminfo, "DirectMap4k") != FL_MEM_NONE)
		size = 4096; /* x86 alone prints this */
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

static void note_wrapped(struct fl_text_reader *reader, struct fl_mem_zone *zone, const char *what, uint64_t value)
{
	char label[48];

	zone->wrapped = true;
	fl_mem_report_warn(reader->report, zone->line,
			   "%s: %s is %llu: more than any machine has, so a counter of the kernel ran below zero",
			   zone_label(zone, label, sizeof(label)), what, (unsigned long long)value);
}

static void to_pages(uint64_t *kb, uint32_t page_size)
{
	if (*kb != FL_MEM_NONE)
		*kb /= page_size / 1024;
}

static void convert_zone(struct fl_text_reader *reader, struct fl_mem_zone *zone)
{
	struct {
		const char *name;
		uint64_t *kb;
	} figures[] = {
		{ "free", &zone->free }, { "min", &zone->min }, { "low", &zone->low }, { "high", &zone->high },
		{ "promo", &zone->promo }, { "boost", &zone->boost }, { "spanned", &zone->spanned },
		{ "present", &zone->present }, { "managed", &zone->managed }, { "free_cma", &zone->free_cma },
		{ "free_highatomic", &zone->free_highatomic }, { "reserved_highatomic", &zone->reserved_highatomic },
		{ "free_pcp", &zone->pcp_pages },
	};

	for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++) {
		if (*figures[i].kb != FL_MEM_NONE && *figures[i].kb > SANE_KB_MAX)
			note_wrapped(reader, zone, figures[i].name, *figures[i].kb);
		to_pages(figures[i].kb, reader->state->page_size);
	}
	for (size_t i = 0; i < zone->stats.count; i++)
		to_pages(&zone->stats.items[i].value, reader->state->page_size);
	for (unsigned int i = 0; i < zone->protection_count; i++) {
		if (zone->protection[i] > SANE_KB_MAX / 4) {
			note_wrapped(reader, zone, "lowmem_reserve (pages)", zone->protection[i]);
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

static void check_files(struct fl_text_reader *reader)
{
	const struct fl_mem_state *state = reader->state;
	uint64_t vmstat = fl_mem_values_get(&state->vmstat, "nr_free_pages"), sum = 0;
	bool lists = false, types = false;

	for (size_t i = 0; i < state->zones_count; i++) {
		const struct fl_mem_zone *zone = &state->zones[i];

		if (zone->free != FL_MEM_NONE && zone->free < SANE_KB_MAX)
			sum += zone->free;
		lists = lists || (zone->lists_line && !zone->lists_from_types);
		types = types || zone->has_type_rows;
	}
	for (size_t i = 0; lists && types && i < state->zones_count; i++) {
		const struct fl_mem_zone *zone = &state->zones[i];

		if (zone->lists_line && fl_mem_zone_is_populated(zone) && zone->has_type_rows == zone->lists_from_types)
			fl_mem_report_warn(reader->report, zone->lists_line,
					   "zone %s is in only one of buddyinfo and pagetypeinfo: they may come from "
					   "different machines", zone->name);
	}
	if (vmstat != FL_MEM_NONE && sum && difference(vmstat, sum) > sum / 20 + 64)
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
	for (size_t i = 0; i < state->zones_count; i++) {
		if (state->dump)
			convert_zone(reader, &state->zones[i]);
		else
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
	bool *own = calloc(report->states_count + 1, sizeof(*own));

	for (size_t i = 0; own && i < report->requests_count; i++)
		if (report->requests[i]->state >= 0 && !report->requests[i]->state_before)
			own[report->requests[i]->state] = true;
	for (size_t i = 0; i < report->requests_count; i++) {
		struct fl_mem_request *request = report->requests[i];

		if (request->state >= 0 && state_has_figures(report->states[request->state]))
			continue;
		link_request(report, request);
		request->state_shared = own && request->state >= 0 && !request->state_before && own[request->state];
	}
	free(own);
	if (report->requests_dropped)
		fl_mem_report_warn(report, 0, "%llu further requests were counted but not kept (limit %d)",
				   (unsigned long long)report->requests_dropped, FL_MEM_REQUESTS_MAX);
	if (report->states_dropped)
		fl_mem_report_warn(report, 0, "%llu further states of memory were not kept (limits: %d states, %d zones)",
				   (unsigned long long)report->states_dropped, FL_MEM_STATES_MAX, ZONES_TOTAL_MAX);
}
