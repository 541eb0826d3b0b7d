/*
 * observe/inspect_text.c - the report for people: requests with verdict, evidence and advice, then states, warnings.
 *
 * Ratios are written as "x of y", never in per cent of something that the reader has to guess.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "observe/gfp.h"
#include "observe/inspect.h"

#define COLUMNS 80
#define REQUESTS_SHOWN 10
#define STATES_SHOWN 4
#define WARNINGS_SHOWN 60

typedef unsigned long long ull;

void fl_inspect_init(struct fl_inspect *inspect, const struct fl_mem_report *report, const struct fl_capacity *capacity)
{
	inspect->report = report;
	inspect->capacity = capacity;
	inspect->diagnoses = fl_xcalloc(report->requests_count, sizeof(*inspect->diagnoses));
	for (size_t i = 0; i < report->requests_count; i++)
		fl_diagnose(report, report->requests[i], &inspect->diagnoses[i]);
}

void fl_inspect_fini(struct fl_inspect *inspect)
{
	for (size_t i = 0; i < inspect->report->requests_count; i++)
		fl_diagnosis_fini(&inspect->diagnoses[i]);
	free(inspect->diagnoses);
	inspect->diagnoses = NULL;
}

/* `text` broken at blanks; the first line after `first`, the others indented by its length. */
static void add_wrapped(struct fl_text *to, const char *first, const char *text)
{
	size_t indent = strlen(first), column = indent;

	fl_text_add(to, "%s", first);
	while (*text) {
		size_t length = strcspn(text, " ");

		if (column > indent && column + 1 + length > COLUMNS) {
			fl_text_add(to, "\n");
			fl_text_add_char(to, ' ', indent);
			column = indent;
		} else if (column > indent) {
			fl_text_add(to, " ");
			column++;
		}
		fl_text_add_bytes(to, text, length);
		column += length;
		text += length;
		text += strspn(text, " ");
	}
	fl_text_add(to, "\n");
}

static void __attribute__((format(printf, 3, 4))) add_wrapped_format(struct fl_text *to, const char *first,
								      const char *fmt, ...)
{
	struct fl_text text;
	va_list ap;

	fl_text_init(&text);
	va_start(ap, fmt);
	fl_text_vadd(&text, fmt, ap);
	va_end(ap);
	add_wrapped(to, first, text.data);
	fl_text_fini(&text);
}

/* "512 KiB", "1.5 GiB": at most one decimal. */
static const char *human(uint64_t bytes, char *to, size_t size)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	unsigned int unit = 0;
	uint64_t tenths = bytes < UINT64_MAX / 10 ? bytes * 10 : UINT64_MAX / 16;

	while (tenths >= 10240 && unit < 6) {
		tenths = (tenths + 512) / 1024;
		unit++;
	}
	if (tenths % 10 && tenths < 1000)
		snprintf(to, size, "%" PRIu64 ".%" PRIu64 " %s", tenths / 10, tenths % 10, units[unit]);
	else
		snprintf(to, size, "%" PRIu64 " %s", (tenths + 5) / 10, units[unit]);
	return to;
}

static const char *human_pages(const struct fl_mem_state *state, uint64_t pages, char *to, size_t size)
{
	uint64_t bytes;

	if (pages == FL_MEM_NONE)
		snprintf(to, size, "?");
	else if (__builtin_mul_overflow(pages, (uint64_t)state->page_size, &bytes) || bytes > 1ull << 53)
		snprintf(to, size, "wrapped"); /* a counter of the kernel ran below zero; finish.c says so by line */
	else
		human(bytes, to, size);
	return to;
}

/* --- requests ----------------------------------------------------------------------------------------------------- */

const char *fl_mem_request_kind_name(enum fl_mem_request_kind kind)
{
	switch (kind) {
	case FL_MEM_REQUEST_PAGE: return "page_allocation_failure";
	case FL_MEM_REQUEST_OOM: return "oom";
	case FL_MEM_REQUEST_MEMCG: return "memcg_oom";
	case FL_MEM_REQUEST_VMALLOC: return "vmalloc";
	case FL_MEM_REQUEST_SLUB: return "slub";
	case FL_MEM_REQUEST_KMEM: return "kmem_alloc";
	case FL_MEM_REQUEST_WARNING: return "warning";
	case FL_MEM_REQUEST_STALL: return "allocation_stall";
	case FL_MEM_REQUEST_CMA: return "cma_alloc";
	}
	return "unknown";
}

static const char *kind_words(enum fl_mem_request_kind kind)
{
	switch (kind) {
	case FL_MEM_REQUEST_PAGE: return "page allocation failure";
	case FL_MEM_REQUEST_OOM: return "out of memory, OOM killer";
	case FL_MEM_REQUEST_MEMCG: return "out of memory in a memory cgroup";
	case FL_MEM_REQUEST_VMALLOC: return "vmalloc failure";
	case FL_MEM_REQUEST_SLUB: return "slab allocation failure";
	case FL_MEM_REQUEST_KMEM: return "possible allocation deadlock";
	case FL_MEM_REQUEST_WARNING: return "warning in mm/page_alloc.c";
	case FL_MEM_REQUEST_STALL: return "allocation stall";
	case FL_MEM_REQUEST_CMA: return "CMA allocation failure";
	}
	return "request";
}

/* A remark about a line: "line 12    text", or "proc/vmstat:12: text" where several files were read. */
static void add_note(struct fl_text *to, const struct fl_mem_report *report, const char *indent, unsigned int line,
		     const char *text)
{
	const char *file = NULL;
	unsigned int number = line ? fl_mem_report_place(report, line, &file) : 0;
	char first[32];

	if (report->files_count)
		snprintf(first, sizeof(first), "%s- ", indent);
	else if (line)
		snprintf(first, sizeof(first), "%sline %-5u ", indent, number);
	else
		snprintf(first, sizeof(first), "%s           ", indent);
	if (file)
		add_wrapped_format(to, first, "%s:%u: %s", file, number, text);
	else
		add_wrapped(to, first, text);
}

static void add_evidence(struct fl_text *to, const struct fl_mem_report *report, const struct fl_diagnosis *d)
{
	fl_text_add(to, "  Evidence\n");
	for (size_t i = 0; i < d->evidence_count; i++)
		add_note(to, report, "    ", d->evidence[i].line, d->evidence[i].text);
}

static void add_advice(struct fl_text *to, const struct fl_diagnosis *d)
{
	char first[32];

	if (d->advice_count)
		fl_text_add(to, "  %s\n", d->verdict == FL_VERDICT_UNKNOWN ? "What would tell" : "What would help, in this order");
	for (size_t i = 0; i < d->advice_count; i++) {
		snprintf(first, sizeof(first), "    %zu. ", i + 1);
		add_wrapped(to, first, d->advice[i].text);
		if (d->advice[i].command)
			fl_text_add(to, "         # %s\n", d->advice[i].command);
	}
	if (d->useless_count)
		fl_text_add(to, "  What would not help\n");
	for (size_t i = 0; i < d->useless_count; i++)
		add_wrapped(to, "    - ", d->useless[i]);
	if (d->lab)
		fl_text_add(to, "  To test this advice on a model of such a machine\n         $ %s\n", d->lab);
}

static void add_also(struct fl_text *to, const struct fl_diagnosis *d)
{
	bool first = true;

	for (unsigned int v = 0; v < FL_VERDICTS; v++) {
		if (!(d->also >> v & 1))
			continue;
		fl_text_add(to, "%s%s", first ? " (also: " : ", ", fl_verdict_name((enum fl_verdict)v));
		first = false;
	}
	fl_text_add(to, first ? "\n" : ")\n");
}

static void add_request(struct fl_text *to, const struct fl_inspect *inspect, size_t i)
{
	const struct fl_mem_request *r = inspect->report->requests[i];
	const struct fl_diagnosis *d = &inspect->diagnoses[i];
	const char *file;
	unsigned int line = fl_mem_report_place(inspect->report, r->line_first, &file);
	struct fl_text head;

	fl_text_init(&head);
	fl_text_add(&head, "Request %zu of %zu, %s%s%u: %s", i + 1, inspect->report->requests_count, file ? file : "line",
		    file ? ":" : " ", line, kind_words((enum fl_mem_request_kind)r->kind));
	if (r->comm[0])
		fl_text_add(&head, ", %s", r->comm);
	if (r->has_order)
		fl_text_add(&head, ", order %d", r->order);
	fl_text_add(to, "\n");
	add_wrapped(to, "", head.data);
	fl_text_fini(&head);
	fl_text_add(to, "  Verdict: %s", fl_verdict_name(d->verdict));
	add_also(to, d);
	add_wrapped(to, "  ", d->headline);
	add_evidence(to, inspect->report, d);
	add_advice(to, d);
}

static void add_requests(struct fl_text *to, const struct fl_inspect *inspect, bool all)
{
	const struct fl_mem_report *report = inspect->report;
	size_t counts[FL_VERDICTS] = { 0 }, shown = report->requests_count;

	if (!all && shown > REQUESTS_SHOWN)
		shown = REQUESTS_SHOWN;
	for (size_t i = 0; i < report->requests_count; i++)
		counts[inspect->diagnoses[i].verdict]++;
	if (report->requests_count > 1) {
		fl_text_add(to, "\nVerdicts:");
		for (unsigned int v = 0; v < FL_VERDICTS; v++)
			if (counts[v])
				fl_text_add(to, " %s %zu", fl_verdict_name((enum fl_verdict)v), counts[v]);
		fl_text_add(to, "\n");
	}
	for (size_t i = 0; i < shown; i++)
		add_request(to, inspect, i);
	if (shown < report->requests_count)
		fl_text_add(to, "\n%zu more requests; --all shows them.\n", report->requests_count - shown);
}

/* --- states ------------------------------------------------------------------------------------------------------- */

static int largest_order(const struct fl_mem_zone *zone)
{
	for (int o = (int)zone->orders_count - 1; o >= 0; o--)
		if (zone->free_blocks[o])
			return o;
	return -1;
}

static void add_index(struct fl_text *to, const struct fl_mem_zone *zone, unsigned int order)
{
	int index;

	if (!zone->orders_count || zone->lists_incomplete) {
		fl_text_add(to, " %8s", "?");
		return;
	}
	index = fl_arith_unusable_index(zone->free_blocks, zone->orders_count, order);
	fl_text_add(to, "    %d.%03d", index / 1000, index % 1000);
}

static void add_zone_row(struct fl_text *to, const struct fl_mem_state *state, const struct fl_mem_zone *zone,
			 unsigned int huge_order)
{
	char label[48], free_text[24], min[24], managed[24];

	fl_text_add(to, "  %-15s", fl_zone_label(zone, label, sizeof(label)));
	fl_text_add(to, "%10s", human_pages(state, fl_mem_zone_managed(zone), managed, sizeof(managed)));
	fl_text_add(to, "%10s", human_pages(state, zone->free, free_text, sizeof(free_text)));
	fl_text_add(to, "%10s", human_pages(state, zone->min, min, sizeof(min)));
	if (zone->orders_count && (!zone->lists_incomplete || huge_order < zone->orders_count))
		fl_text_add(to, "%8llu", (ull)fl_arith_blocks(zone->free_blocks, zone->orders_count, huge_order));
	else
		fl_text_add(to, "%8s", zone->orders_count || !zone->lists_line ? "?" : "0");
	if (largest_order(zone) >= 0)
		fl_text_add(to, "%6d%s", largest_order(zone), zone->lists_incomplete ? "+" : " ");
	else
		fl_text_add(to, "%6s ", zone->orders_count ? "none" : "?");
	add_index(to, zone, 3);
	add_index(to, zone, huge_order);
	fl_text_add(to, "\n");
}

/* Memory that the allocator does not have (yet): the rest of the table says nothing about it. */
static void add_not_managed_row(struct fl_text *to, const struct fl_mem_state *state, const struct fl_mem_zone *zone)
{
	char label[48], missing[24], present[24];

	if (zone->managed == FL_MEM_NONE || zone->present == FL_MEM_NONE || zone->wrapped || zone->managed > zone->present ||
	    zone->present - zone->managed <= zone->present / 4)
		return;
	add_wrapped_format(to, "  ", "%s: %s of %s are present but not managed (reserved at boot, or not handed over "
				     "yet): neither free nor fragmented", fl_zone_label(zone, label, sizeof(label)),
			   human_pages(state, zone->present - zone->managed, missing, sizeof(missing)),
			   human_pages(state, zone->present, present, sizeof(present)));
}

/* "Normal pageblocks: Unmovable 140, Movable 1337, Reclaimable 58" */
static void add_blocks_row(struct fl_text *to, const struct fl_mem_state *state, const struct fl_mem_zone *zone)
{
	struct fl_text text;
	uint64_t sum = 0;
	char label[48];
	bool first = true;

	if (!zone->has_type_blocks)
		return;
	for (unsigned int t = 0; t < state->types_count; t++)
		sum += zone->type_blocks[t];
	fl_text_init(&text);
	fl_text_add(&text, "%s: of %llu pageblocks", fl_zone_label(zone, label, sizeof(label)), (ull)sum);
	for (unsigned int t = 0; t < state->types_count; t++) {
		if (!zone->type_blocks[t])
			continue;
		fl_text_add(&text, "%s %llu %s", first ? "" : ",", (ull)zone->type_blocks[t], state->types[t].name);
		first = false;
	}
	add_wrapped(to, "  ", text.data);
	fl_text_fini(&text);
}

/* The kernel stops counting a list at 100000 and prints ">100000". */
static bool any_capped(const struct fl_mem_zone *zone, unsigned int type)
{
	for (unsigned int o = 0; o < FL_MEM_ORDERS_MAX; o++)
		if (zone->type_capped[type][o])
			return true;
	return false;
}

/* Which types hold the free memory: "Normal: free memory by type: Movable 95 of 100 MiB" */
static void add_types_row(struct fl_text *to, const struct fl_mem_state *state, const struct fl_mem_zone *zone)
{
	struct fl_text text;
	char label[48], amount[24];
	bool first = true;

	if (!zone->has_type_rows)
		return;
	fl_text_init(&text);
	fl_text_add(&text, "%s: free memory by type:", fl_zone_label(zone, label, sizeof(label)));
	for (unsigned int t = 0; t < state->types_count; t++) {
		uint64_t pages = fl_arith_pages(zone->type_free[t], FL_MEM_ORDERS_MAX);

		if (!pages)
			continue;
		fl_text_add(&text, "%s %s %s%s", first ? "" : ",", state->types[t].name,
			    human_pages(state, pages, amount, sizeof(amount)),
			    any_capped(zone, t) ? " or more" : "");
		first = false;
	}
	if (!first)
		add_wrapped(to, "  ", text.data);
	fl_text_fini(&text);
}

/* --- what a state shows without a request ------------------------------------------------------------------------- */

static void remark_marks(struct fl_text *to, const struct fl_mem_state *state, const struct fl_mem_zone *zone,
			 const char *label)
{
	char a[24], b[24];

	if (zone->min == FL_MEM_NONE || zone->free == FL_MEM_NONE || zone->wrapped)
		return;
	if (zone->free <= zone->min)
		add_wrapped_format(to, "  ", "%s: free (%s) is at or below min (%s): only requests that may use the reserve "
				   "get memory at once", label, human_pages(state, zone->free, a, sizeof(a)),
				   human_pages(state, zone->min, b, sizeof(b)));
	else if (zone->low != FL_MEM_NONE && zone->free <= zone->low)
		add_wrapped_format(to, "  ", "%s: free (%s) is below low (%s): kswapd is at work", label,
				   human_pages(state, zone->free, a, sizeof(a)),
				   human_pages(state, zone->low, b, sizeof(b)));
	if (fl_arith_boost(zone))
		add_wrapped_format(to, "  ", "%s: the watermarks are boosted by %s: pageblocks were mixed lately", label,
				   human_pages(state, fl_arith_boost(zone), a, sizeof(a)));
	if (zone->free_cma != FL_MEM_NONE && zone->free_cma > zone->free / 2 && zone->free_cma <= zone->free)
		add_wrapped_format(to, "  ", "%s: %s of the %s free are CMA, not for unmovable requests", label,
				   human_pages(state, zone->free_cma, a, sizeof(a)),
				   human_pages(state, zone->free, b, sizeof(b)));
}

/* The smallest order for which nine tenths of the free memory are in blocks that are too small; -1: none. */
static int fragmented_from(const struct fl_mem_zone *zone, unsigned int huge)
{
	for (unsigned int o = 1; o <= huge; o++)
		if (fl_arith_unusable_index(zone->free_blocks, zone->orders_count, o) > 900)
			return (int)o;
	return -1;
}

static void remark_lists(struct fl_text *to, const struct fl_mem_state *state, const struct fl_mem_zone *zone,
			 const char *label, unsigned int huge)
{
	uint64_t pages = fl_arith_pages(zone->free_blocks, zone->orders_count), large;
	int order = fragmented_from(zone, huge);
	char a[24], b[24], c[24];

	if (!zone->orders_count || zone->lists_incomplete || order < 0 || pages < 1024)
		return;
	large = fl_arith_blocks(zone->free_blocks, zone->orders_count, (unsigned int)order) << order;
	add_wrapped_format(to, "  ", "%s: only %s of the %s free are in blocks of order %d (%s) or larger: fragmented from "
			   "that order on", label, human_pages(state, large, a, sizeof(a)),
			   human_pages(state, pages, b, sizeof(b)), order,
			   human_pages(state, 1ull << order, c, sizeof(c)));
}

static void add_remarks(struct fl_text *to, const struct fl_mem_state *state, unsigned int huge)
{
	char label[48];

	for (size_t z = 0; z < state->zones_count; z++) {
		const struct fl_mem_zone *zone = &state->zones[z];

		if (!fl_mem_zone_is_populated(zone))
			continue;
		fl_zone_label(zone, label, sizeof(label));
		remark_marks(to, state, zone, label);
		remark_lists(to, state, zone, label, huge);
	}
}

static void add_pair(struct fl_text *to, const struct fl_mem_values *values, const char *good, const char *bad,
		     const char *words)
{
	uint64_t a = fl_mem_values_get(values, good), b = fl_mem_values_get(values, bad);

	if (a == FL_MEM_NONE || b == FL_MEM_NONE || !(a + b))
		return;
	add_wrapped_format(to, "  ", "%s: %llu of %llu failed", words, (ull)b, (ull)(a + b));
}

static void add_vmstat(struct fl_text *to, const struct fl_mem_state *state)
{
	uint64_t stalls = fl_mem_values_get(&state->vmstat, "compact_stall");

	add_pair(to, &state->vmstat, "compact_success", "compact_fail", "Direct compaction since boot");
	if (stalls != FL_MEM_NONE && stalls)
		add_wrapped_format(to, "  ", "Tasks that stalled in direct compaction since boot: %llu", (ull)stalls);
	add_pair(to, &state->vmstat, "thp_fault_alloc", "thp_fault_fallback", "Huge pages at page faults since boot");
	add_pair(to, &state->vmstat, "thp_collapse_alloc", "thp_collapse_alloc_failed",
		 "Huge pages for khugepaged since boot");
}

static void add_settings(struct fl_text *to, const struct fl_mem_state *state)
{
	static const char *const names[] = { "vm.min_free_kbytes", "vm.compaction_proactiveness", "vm.watermark_boost_factor",
					     "vm.watermark_scale_factor", "vm.extfrag_threshold", "vm.defrag_mode" };
	const char *enabled = fl_mem_settings_get(&state->thp, "enabled"), *defrag = fl_mem_settings_get(&state->thp, "defrag");
	struct fl_text text;

	fl_text_init(&text);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (fl_mem_settings_get(&state->sysctls, names[i]))
			fl_text_add(&text, "%s%s=%s", text.length ? ", " : "", names[i],
				    fl_mem_settings_get(&state->sysctls, names[i]));
	if (enabled)
		fl_text_add(&text, "%sTHP enabled=%s", text.length ? ", " : "", enabled);
	if (defrag)
		fl_text_add(&text, ", defrag=%s", defrag);
	if (text.length)
		add_wrapped(to, "  Settings: ", text.data);
	fl_text_fini(&text);
}

static void add_thp_sizes(struct fl_text *to, const struct fl_mem_state *state)
{
	for (size_t i = 0; i < state->thp_sizes_count; i++) {
		const struct fl_mem_thp_size *size = &state->thp_sizes[i];
		uint64_t good = fl_mem_values_get(&size->stats, "anon_fault_alloc");
		uint64_t bad = fl_mem_values_get(&size->stats, "anon_fault_fallback");
		const char *enabled = fl_mem_settings_get(&size->settings, "enabled");
		char amount[24];

		if ((good == FL_MEM_NONE || bad == FL_MEM_NONE || !(good + bad)) && (!enabled || !strcmp(enabled, "never")))
			continue;
		fl_text_add(to, "  Huge pages of %s: %s", human(size->size_kb * 1024, amount, sizeof(amount)),
			    enabled ? enabled : "setting not known");
		if (good != FL_MEM_NONE && bad != FL_MEM_NONE && good + bad)
			fl_text_add(to, "; faults that fell back: %llu of %llu", (ull)bad, (ull)(good + bad));
		fl_text_add(to, "\n");
	}
}

static unsigned int huge_order_of(const struct fl_mem_state *state)
{
	return fl_arith_pmd_order(state->page_size);
}

static void add_state_head(struct fl_text *to, const struct fl_inspect *inspect, size_t i)
{
	const struct fl_mem_state *state = inspect->report->states[i];
	struct fl_text text;
	unsigned int line;
	const char *file;
	char page[24];

	fl_text_init(&text);
	fl_text_add(&text, "State of memory");
	if (inspect->report->states_count > 1)
		fl_text_add(&text, " %zu of %zu", i + 1, inspect->report->states_count);
	line = fl_mem_report_place(inspect->report, state->line_first, &file);
	if (file && state->dump)
		fl_text_add(&text, ", %s:%u", file, line);
	else if (!file && !inspect->report->live)
		fl_text_add(&text, ", lines %u to %u", state->line_first, state->line_last);
	fl_text_add(&text, ", pages of %s%s", human(state->page_size, page, sizeof(page)),
		    state->page_size_assumed ? " (assumed)" : "");
	if (state->release[0])
		fl_text_add(&text, ", kernel %s", state->release);
	fl_text_add(to, "\n");
	add_wrapped(to, "", text.data);
	fl_text_fini(&text);
}

static void add_state(struct fl_text *to, const struct fl_inspect *inspect, size_t i)
{
	const struct fl_mem_state *state = inspect->report->states[i];
	unsigned int huge = huge_order_of(state);
	char size[24], index[24];

	add_state_head(to, inspect, i);
	human((uint64_t)state->page_size << huge, size, sizeof(size));
	snprintf(index, sizeof(index), "unus.%u", huge);
	if (state->zones_count)
		fl_text_add(to, "  %-15s%10s%10s%10s%8s%7s%9s%9s\n", "zone", "managed", "free", "min", size, "order", "unus.3",
			    index);
	for (size_t z = 0; z < state->zones_count; z++)
		if (fl_mem_zone_is_populated(&state->zones[z]))
			add_zone_row(to, state, &state->zones[z], huge);
	add_remarks(to, state, huge);
	for (size_t z = 0; z < state->zones_count; z++)
		add_not_managed_row(to, state, &state->zones[z]);
	for (size_t z = 0; z < state->zones_count; z++)
		add_types_row(to, state, &state->zones[z]);
	for (size_t z = 0; z < state->zones_count; z++)
		add_blocks_row(to, state, &state->zones[z]);
	add_vmstat(to, state);
	add_thp_sizes(to, state);
	add_settings(to, state);
}

static void add_states(struct fl_text *to, const struct fl_inspect *inspect, bool all)
{
	size_t shown = inspect->report->states_count;

	if (!all && shown > STATES_SHOWN)
		shown = STATES_SHOWN;
	for (size_t i = 0; i < shown; i++)
		add_state(to, inspect, i);
	if (shown)
		add_wrapped(to, "  ", "The column with a size counts free blocks of that size that can be had now; "
				      "\"order\" is the largest free block; \"unus.N\" is the unusable index for "
				      "order N: 0 when all free memory is in blocks of that order or larger, 1 when "
				      "none is.");
	if (shown < inspect->report->states_count)
		fl_text_add(to, "\n%zu more states of memory; --all shows them.\n",
				inspect->report->states_count - shown);
}

static void add_events(struct fl_text *to, const struct fl_mem_report *report)
{
	if (report->events_extfrag)
		add_wrapped_format(to, "", "\nTrace: %llu allocations fell back to another migratetype; %llu of them "
					   "claimed the pageblock.",
					   (ull)report->events_extfrag, (ull)report->events_extfrag_claimed);
	if (report->events_compaction)
		add_wrapped_format(to, "", "\nTrace: %llu compactions took %llu.%03llu ms.",
					   (ull)report->events_compaction,
				   (ull)(report->events_compaction_ns / 1000000),
				   (ull)(report->events_compaction_ns / 1000 % 1000));
	if (report->events_reclaim)
		add_wrapped_format(to, "", "Trace: %llu direct reclaims took %llu.%03llu ms.",
					   (ull)report->events_reclaim,
				   (ull)(report->events_reclaim_ns / 1000000), (ull)(report->events_reclaim_ns / 1000 % 1000));
}

static void add_warnings(struct fl_text *to, const struct fl_mem_report *report, bool all)
{
	size_t shown = report->warnings_count;

	if (!shown)
		return;
	if (!all && shown > WARNINGS_SHOWN)
		shown = WARNINGS_SHOWN;
	fl_text_add(to, "\nWhat could not be read or does not agree\n");
	for (size_t i = 0; i < shown; i++)
		add_note(to, report, "  ", report->warnings[i].line, report->warnings[i].text);
	if (shown < report->warnings_count + report->warnings_dropped)
		fl_text_add(to, "  and %llu more%s\n", (ull)(report->warnings_count + report->warnings_dropped - shown),
			    shown < report->warnings_count ? "; --all shows them" : "");
}

static void add_head(struct fl_text *to, const struct fl_mem_report *report)
{
	unsigned long long requests = report->requests_count + report->requests_dropped;
	struct fl_text text;

	fl_text_init(&text);
	fl_text_add(&text, "%s: ", report->source);
	if (requests)
		fl_text_add(&text, "%llu failed request%s", requests, requests == 1 ? "" : "s");
	else
		fl_text_add(&text, report->live ? "state of memory" : "no request in this text");
	if (!report->live)
		fl_text_add(&text, "; %zu state%s of memory; %llu of %llu lines told something", report->states_count,
			    report->states_count == 1 ? "" : "s", (ull)report->lines_used, (ull)report->lines);
	add_wrapped(to, "", text.data);
	fl_text_fini(&text);
}

void fl_inspect_text(const struct fl_inspect *inspect, bool all, struct fl_text *to)
{
	add_head(to, inspect->report);
	add_requests(to, inspect, all);
	add_states(to, inspect, all);
	add_events(to, inspect->report);
	if (inspect->capacity) {
		fl_text_add(to, "\n");
		fl_capacity_print(inspect->capacity, to);
	}
	add_warnings(to, inspect->report, all);
}
