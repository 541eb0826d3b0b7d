/*
 * observe/inspect_json.c - the report as fraglab.inspect.v1.
 *
 * Amounts are pages unless the name says otherwise; what was not in the input is left out. Fields are only ever added.
 */
#include <stdio.h>
#include <string.h>

#include "observe/inspect.h"

static void set(json_t *object, const char *name, uint64_t value)
{
	if (value != FL_MEM_NONE)
		json_object_set_new(object, name, json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value));
}

/* jansson takes valid UTF-8 only: other bytes become '?'. */
static json_t *text(const char *from)
{
	json_t *value = json_string(from);
	char copy[1024];

	if (value)
		return value;
	snprintf(copy, sizeof(copy), "%s", from);
	for (char *p = copy; *p; p++)
		if ((unsigned char)*p >= 128)
			*p = '?';
	return json_string(copy);
}

static void set_text(json_t *object, const char *name, const char *value)
{
	if (value && *value)
		json_object_set_new(object, name, text(value));
}

static json_t *numbers(const uint64_t *values, unsigned int count)
{
	json_t *array = json_array();

	for (unsigned int i = 0; i < count; i++)
		json_array_append_new(array, json_integer(values[i] > INT64_MAX ? INT64_MAX : (json_int_t)values[i]));
	return array;
}

static json_t *types_json(const struct fl_mem_state *state, const struct fl_mem_zone *zone)
{
	json_t *array = json_array();

	for (unsigned int t = 0; t < state->types_count; t++) {
		json_t *type = json_object();

		set_text(type, "type", state->types[t].name);
		json_object_set_new(type, "free_blocks", numbers(zone->type_free[t], state->orders_count));
		if (zone->has_type_blocks)
			set(type, "pageblocks", zone->type_blocks[t]);
		json_array_append_new(array, type);
	}
	return array;
}

/* "U", "UM", ...: roles of the free blocks of an order. */
static json_t *letters_json(const struct fl_mem_zone *zone)
{
	static const char letters[FL_MEM_ROLES + 1] = "UMEHCI?";
	json_t *array = json_array();

	for (unsigned int o = 0; o < zone->orders_count; o++) {
		char word[FL_MEM_ROLES + 1] = "";
		size_t length = 0;

		for (unsigned int role = 0; role < FL_MEM_ROLES; role++)
			if (zone->letters[o] >> role & 1)
				word[length++] = letters[role];
		word[length] = '\0';
		json_array_append_new(array, json_string(word));
	}
	return array;
}

static void indices_json(json_t *object, const struct fl_mem_state *state, const struct fl_mem_zone *zone)
{
	json_t *unusable = json_array(), *fragmentation = json_array();

	for (unsigned int o = 0; o < state->orders_count; o++) {
		json_array_append_new(unusable, json_integer(fl_arith_unusable_index(zone->free_blocks, zone->orders_count, o)));
		json_array_append_new(fragmentation,
				      json_integer(fl_arith_fragmentation_index(zone->free_blocks, zone->orders_count, o)));
	}
	json_object_set_new(object, "unusable_index_milli", unusable);
	json_object_set_new(object, "fragmentation_index_milli", fragmentation);
}

/* The kernel's own figures, from debugfs. */
static void kernel_indices_json(json_t *object, const struct fl_mem_zone *zone)
{
	json_t *unusable = json_array(), *fragmentation = json_array();

	for (unsigned int o = 0; o < zone->orders_count; o++) {
		json_array_append_new(unusable, json_integer(zone->unusable_index[o]));
		json_array_append_new(fragmentation, json_integer(zone->fragmentation_index[o]));
	}
	if (zone->has_unusable_index)
		json_object_set(object, "kernel_unusable_index_milli", unusable);
	if (zone->has_fragmentation_index)
		json_object_set(object, "kernel_fragmentation_index_milli", fragmentation);
	json_decref(unusable);
	json_decref(fragmentation);
}

static void marks_json(json_t *object, const struct fl_mem_zone *zone)
{
	set(object, "free_pages", zone->free);
	set(object, "min_pages", zone->min);
	set(object, "low_pages", zone->low);
	set(object, "high_pages", zone->high);
	set(object, "promo_pages", zone->promo);
	if (zone->min != FL_MEM_NONE)
		set(object, "boost_pages", fl_arith_boost(zone));
	set(object, "spanned_pages", zone->spanned);
	set(object, "present_pages", zone->present);
	set(object, "managed_pages", zone->managed);
	set(object, "free_cma_pages", zone->free_cma);
	set(object, "reserved_highatomic_pages", zone->reserved_highatomic);
	set(object, "free_highatomic_pages", zone->free_highatomic);
	set(object, "pcp_pages", zone->pcp_pages);
	if (zone->protection_count)
		json_object_set_new(object, "protection_pages", numbers(zone->protection, zone->protection_count));
}

/* Line, and the file where several were read. */
static void set_place(json_t *object, const struct fl_mem_report *report, unsigned int line)
{
	const char *file;
	unsigned int number = fl_mem_report_place(report, line, &file);

	if (!line)
		return;
	set_text(object, "file", file);
	json_object_set_new(object, "line", json_integer(number));
}

static json_t *zone_json(const struct fl_mem_report *report, size_t index, const struct fl_mem_zone *zone)
{
	const struct fl_mem_state *state = report->states[index];
	json_t *object = json_object();

	json_object_set_new(object, "state", json_integer((json_int_t)index));
	if (zone->node >= 0)
		json_object_set_new(object, "node", json_integer(zone->node));
	set_text(object, "zone", zone->name);
	set_place(object, report, zone->line);
	json_object_set_new(object, "page_size", json_integer(state->page_size));
	marks_json(object, zone);
	if (zone->orders_count) {
		json_object_set_new(object, "free_blocks", numbers(zone->free_blocks, zone->orders_count));
		if (!zone->lists_incomplete)
			indices_json(object, state, zone);
		json_object_set_new(object, "complete", json_boolean(!zone->lists_incomplete));
	}
	kernel_indices_json(object, zone);
	if (zone->has_letters)
		json_object_set_new(object, "free_types", letters_json(zone));
	if (zone->has_type_rows || zone->has_type_blocks)
		json_object_set_new(object, "types", types_json(state, zone));
	if (zone->wrapped)
		json_object_set_new(object, "impossible", json_true());
	return object;
}

static json_t *strings(char *const *items, size_t count)
{
	json_t *array = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(array, text(items[i]));
	return array;
}

static json_t *evidence_json(const struct fl_mem_report *report, const struct fl_diagnosis *d)
{
	json_t *array = json_array();

	for (size_t i = 0; i < d->evidence_count; i++) {
		json_t *note = json_object();

		set_place(note, report, d->evidence[i].line);
		json_object_set_new(note, "text", text(d->evidence[i].text));
		json_array_append_new(array, note);
	}
	return array;
}

static json_t *advice_json(const struct fl_diagnosis *d)
{
	json_t *array = json_array();

	for (size_t i = 0; i < d->advice_count; i++) {
		json_t *item = json_object();

		json_object_set_new(item, "text", text(d->advice[i].text));
		set_text(item, "command", d->advice[i].command);
		json_array_append_new(array, item);
	}
	return array;
}

/* The test of one zone, every term. */
static json_t *check_json(const struct fl_zone_check *check)
{
	static const char *const uses[] = { "may_use", "not_allowed_by_flags", "not_allowed_by_nodes" };
	const struct fl_arith_test *test = &check->test;
	json_t *object = json_object();

	if (check->zone->node >= 0)
		json_object_set_new(object, "node", json_integer(check->zone->node));
	set_text(object, "zone", check->zone->name);
	set_text(object, "use", uses[check->use]);
	if (test->known) {
		set(object, "free_pages", test->free);
		set(object, "order_pages", test->order_pages);
		set(object, "cma_pages", test->cma_pages);
		set(object, "highatomic_pages", test->highatomic_pages);
		json_object_set_new(object, "usable_pages", json_integer(test->usable));
		set(object, "min_pages", test->min);
		set(object, "boost_pages", test->boost);
		set(object, "mark_pages", test->mark);
		set(object, "lowmem_reserve_pages", test->reserve);
		json_object_set_new(object, "above_mark", json_boolean(test->pages_ok));
	}
	if (test->lists_known) {
		set(object, "blocks", test->blocks);
		json_object_set_new(object, "has_block", json_boolean(test->block_ok));
	}
	json_object_set_new(object, "passes", json_boolean(check->passes));
	if (test->known && !check->passes && check->use == FL_ZONE_MAY_USE)
		set_text(object, "cause", fl_verdict_name(check->cause));
	return object;
}

static void diagnosis_json(json_t *object, const struct fl_mem_report *report, const struct fl_diagnosis *d)
{
	json_t *others = json_array(), *checks = json_array();

	for (unsigned int v = 0; v < FL_VERDICTS; v++)
		if (d->also >> v & 1)
			json_array_append_new(others, json_string(fl_verdict_name((enum fl_verdict)v)));
	for (size_t i = 0; i < d->checks_count; i++)
		json_array_append_new(checks, check_json(&d->checks[i]));
	set_text(object, "verdict", fl_verdict_name(d->verdict));
	json_object_set_new(object, "also", others);
	json_object_set_new(object, "summary", text(d->headline));
	json_object_set_new(object, "evidence", evidence_json(report, d));
	json_object_set_new(object, "zone_tests", checks);
	json_object_set_new(object, "advice", advice_json(d));
	json_object_set_new(object, "would_not_help", strings(d->useless, d->useless_count));
	set_text(object, "compare", d->lab);
}

static json_t *request_json(const struct fl_mem_report *report, const struct fl_mem_request *r, const struct fl_diagnosis *d)
{
	json_t *object = json_object();
	char raw[32];

	set_text(object, "kind", fl_mem_request_kind_name((enum fl_mem_request_kind)r->kind));
	set_place(object, report, r->line_first);
	set_text(object, "comm", r->comm);
	json_object_set_new(object, "order", r->has_order || !d->order_assumed ? json_integer(d->order) : json_null());
	if (r->has_gfp) {
		snprintf(raw, sizeof(raw), "0x%llx", (unsigned long long)r->gfp_raw);
		set_text(object, "gfp", r->gfp_names[0] ? r->gfp_names : raw);
		set_text(object, "gfp_raw", raw);
		json_object_set_new(object, "movable", json_boolean(d->flags.cma));
		json_object_set_new(object, "may_reclaim", json_boolean(d->flags.can_reclaim));
	}
	set_text(object, "nodemask", r->nodemask);
	set_text(object, "cpuset", r->cpuset);
	set_text(object, "mems_allowed", r->mems_allowed);
	set(object, "size_bytes", r->size_bytes);
	json_object_set_new(object, "state", r->state >= 0 ? json_integer(r->state) : json_null());
	json_object_set_new(object, "trace", strings(r->trace, r->trace_count));
	diagnosis_json(object, report, d);
	return object;
}

static json_t *values_json(const struct fl_mem_values *values)
{
	json_t *object = json_object();

	for (size_t i = 0; i < values->count; i++)
		set(object, values->items[i].name, values->items[i].value);
	return object;
}

static json_t *settings_json(const struct fl_mem_settings *settings)
{
	json_t *object = json_object();

	for (size_t i = 0; i < settings->count; i++)
		json_object_set_new(object, settings->items[i].name, text(settings->items[i].value));
	return object;
}

static json_t *thp_sizes_json(const struct fl_mem_state *state)
{
	json_t *array = json_array();

	for (size_t i = 0; i < state->thp_sizes_count; i++) {
		json_t *size = json_object();

		set(size, "size_kb", state->thp_sizes[i].size_kb);
		json_object_set_new(size, "settings", settings_json(&state->thp_sizes[i].settings));
		json_object_set_new(size, "stats", values_json(&state->thp_sizes[i].stats));
		json_array_append_new(array, size);
	}
	return array;
}

/* Lines of one text; a state that was read from the files of a host has none. */
static void set_lines(json_t *object, const struct fl_mem_report *report, const struct fl_mem_state *state)
{
	const char *file;
	unsigned int first = fl_mem_report_place(report, state->line_first, &file);

	if (file && !state->dump)
		return;
	set_text(object, "file", file);
	json_object_set_new(object, "line_first", json_integer(first));
	json_object_set_new(object, "line_last", json_integer(state->line_last - state->line_first + first));
}

static json_t *state_json(const struct fl_mem_report *report, const struct fl_mem_state *state)
{
	json_t *object = json_object();

	set_lines(object, report, state);
	json_object_set_new(object, "page_size", json_integer(state->page_size));
	json_object_set_new(object, "page_size_assumed", json_boolean(state->page_size_assumed));
	json_object_set_new(object, "orders", json_integer(state->orders_count));
	if (state->pageblock_order)
		json_object_set_new(object, "pageblock_order", json_integer(state->pageblock_order));
	set_text(object, "release", state->release);
	json_object_set_new(object, "totals", values_json(&state->totals));
	json_object_set_new(object, "vmstat", values_json(&state->vmstat));
	json_object_set_new(object, "meminfo", values_json(&state->meminfo));
	json_object_set_new(object, "sysctls", settings_json(&state->sysctls));
	json_object_set_new(object, "thp", settings_json(&state->thp));
	json_object_set_new(object, "thp_sizes", thp_sizes_json(state));
	return object;
}

/* Free blocks of each order now, as the free lists tell: no "moved", since nothing tells where pages lie. */
static json_t *lists_orders(const struct fl_mem_state *state, const struct fl_mem_zone *zone)
{
	json_t *orders = json_array();

	for (unsigned int o = 1; o < zone->orders_count; o++) {
		json_t *item = json_object();

		json_object_set_new(item, "order", json_integer(o));
		set(item, "size_bytes", (uint64_t)state->page_size << o);
		set(item, "now", fl_arith_blocks(zone->free_blocks, zone->orders_count, o));
		json_array_append_new(orders, item);
	}
	return orders;
}

static json_t *lists_capacity(const struct fl_mem_report *report)
{
	json_t *object = json_object(), *zones = json_array();

	for (size_t i = 0; i < report->states_count; i++) {
		const struct fl_mem_state *state = report->states[i];

		for (size_t z = 0; z < state->zones_count; z++) {
			const struct fl_mem_zone *zone = &state->zones[z];
			json_t *item;

			if (!zone->orders_count || zone->lists_incomplete)
				continue;
			item = json_object();
			set_text(item, "name", zone->name);
			json_object_set_new(item, "state", json_integer((json_int_t)i));
			if (zone->node >= 0)
				json_object_set_new(item, "node", json_integer(zone->node));
			json_object_set_new(item, "orders", lists_orders(state, zone));
			json_array_append_new(zones, item);
		}
	}
	json_object_set_new(object, "zones", zones);
	return object;
}

static json_t *capacity_json(const struct fl_inspect *inspect)
{
	json_t *object = inspect->capacity ? fl_capacity_json(inspect->capacity) : lists_capacity(inspect->report);

	json_object_set_new(object, "from", json_string(inspect->capacity ? "page_flags" : "free_lists"));
	return object;
}

static json_t *warnings_json(const struct fl_mem_report *report)
{
	json_t *array = json_array();

	for (size_t i = 0; i < report->warnings_count; i++) {
		json_t *warning = json_object();

		set_place(warning, report, report->warnings[i].line);
		json_object_set_new(warning, "text", text(report->warnings[i].text));
		json_array_append_new(array, warning);
	}
	return array;
}

static json_t *events_json(const struct fl_mem_report *report)
{
	json_t *object = json_object();

	set(object, "extfrag", report->events_extfrag);
	set(object, "extfrag_claimed", report->events_extfrag_claimed);
	set(object, "compactions", report->events_compaction);
	set(object, "compaction_ns", report->events_compaction_ns);
	set(object, "direct_reclaims", report->events_reclaim);
	set(object, "direct_reclaim_ns", report->events_reclaim_ns);
	return object;
}

json_t *fl_inspect_json(const struct fl_inspect *inspect)
{
	const struct fl_mem_report *report = inspect->report;
	json_t *document = json_object(), *states = json_array(), *zones = json_array(), *requests = json_array();

	for (size_t i = 0; i < report->states_count; i++) {
		json_array_append_new(states, state_json(report, report->states[i]));
		for (size_t z = 0; z < report->states[i]->zones_count; z++)
			if (fl_mem_zone_is_populated(&report->states[i]->zones[z]))
				json_array_append_new(zones, zone_json(report, i, &report->states[i]->zones[z]));
	}
	for (size_t i = 0; i < report->requests_count; i++)
		json_array_append_new(requests, request_json(report, report->requests[i], &inspect->diagnoses[i]));
	json_object_set_new(document, "schema", json_string("fraglab.inspect.v1"));
	set_text(document, "source", report->source);
	json_object_set_new(document, "live", json_boolean(report->live));
	set(document, "lines", report->lines);
	set(document, "lines_used", report->lines_used);
	json_object_set_new(document, "requests", requests);
	json_object_set_new(document, "states", states);
	json_object_set_new(document, "zones", zones);
	json_object_set_new(document, "capacity", capacity_json(inspect));
	json_object_set_new(document, "events", events_json(report));
	json_object_set_new(document, "warnings", warnings_json(report));
	set(document, "requests_dropped", report->requests_dropped);
	set(document, "warnings_dropped", report->warnings_dropped);
	return document;
}
