/*
 * observe/snapshot.c - building and freeing what the readers found.
 *
 * Owns every string and array inside struct fl_mem_report. The limits on states, requests, zones and warnings keep a
 * hostile or endless text from filling memory; what is left out is counted, so that the report can say so.
 */
#include "observe/snapshot.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"

#define VALUES_MAX 4096

static size_t grown(size_t capacity)
{
	return capacity ? capacity * 2 : 8;
}

void fl_mem_report_init(struct fl_mem_report *report, const char *source)
{
	memset(report, 0, sizeof(*report));
	report->source = fl_xstrdup(source);
}

static void zone_fini(struct fl_mem_zone *zone)
{
	fl_mem_values_fini(&zone->stats);
}

static void state_free(struct fl_mem_state *state)
{
	size_t i;

	for (i = 0; i < state->zones_count; i++)
		zone_fini(&state->zones[i]);
	for (i = 0; i < state->thp_sizes_count; i++) {
		fl_mem_settings_fini(&state->thp_sizes[i].settings);
		fl_mem_values_fini(&state->thp_sizes[i].stats);
	}
	fl_mem_values_fini(&state->vmstat);
	fl_mem_values_fini(&state->meminfo);
	fl_mem_values_fini(&state->totals);
	fl_mem_settings_fini(&state->sysctls);
	fl_mem_settings_fini(&state->thp);
	free(state->zones);
	free(state->thp_sizes);
	free(state);
}

static void request_free(struct fl_mem_request *request)
{
	for (unsigned int i = 0; i < request->trace_count; i++)
		free(request->trace[i]);
	free(request);
}

void fl_mem_report_fini(struct fl_mem_report *report)
{
	size_t i;

	for (i = 0; i < report->states_count; i++)
		state_free(report->states[i]);
	for (i = 0; i < report->requests_count; i++)
		request_free(report->requests[i]);
	for (i = 0; i < report->warnings_count; i++)
		free(report->warnings[i].text);
	for (i = 0; i < report->files_count; i++)
		free(report->files[i].name);
	free(report->files);
	free(report->states);
	free(report->requests);
	free(report->warnings);
	free(report->source);
	memset(report, 0, sizeof(*report));
}

struct fl_mem_state *fl_mem_report_add_state(struct fl_mem_report *report)
{
	struct fl_mem_state *state;

	if (report->states_count >= FL_MEM_STATES_MAX) {
		report->states_dropped++;
		return NULL;
	}
	if (report->states_count == report->states_capacity) {
		report->states_capacity = grown(report->states_capacity);
		report->states = fl_xrealloc(report->states, report->states_capacity * sizeof(*report->states));
	}
	state = fl_xcalloc(1, sizeof(*state));
	report->states[report->states_count++] = state;
	return state;
}

struct fl_mem_request *fl_mem_report_add_request(struct fl_mem_report *report)
{
	struct fl_mem_request *request;

	if (report->requests_count >= FL_MEM_REQUESTS_MAX) {
		report->requests_dropped++;
		return NULL;
	}
	if (report->requests_count == report->requests_capacity) {
		report->requests_capacity = grown(report->requests_capacity);
		report->requests = fl_xrealloc(report->requests,
					       report->requests_capacity * sizeof(*report->requests));
	}
	request = fl_xcalloc(1, sizeof(*request));
	request->state = -1;
	request->size_bytes = FL_MEM_NONE;
	request->memcg_usage_kb = request->memcg_limit_kb = FL_MEM_NONE;
	report->requests[report->requests_count++] = request;
	return request;
}

void fl_mem_report_warn(struct fl_mem_report *report, unsigned int line, const char *fmt, ...)
{
	struct fl_text text;
	va_list ap;

	if (report->warnings_count >= FL_MEM_WARNINGS_MAX) {
		report->warnings_dropped++;
		return;
	}
	if (report->warnings_count == report->warnings_capacity) {
		report->warnings_capacity = grown(report->warnings_capacity);
		report->warnings = fl_xrealloc(report->warnings,
					       report->warnings_capacity * sizeof(*report->warnings));
	}
	fl_text_init(&text);
	va_start(ap, fmt);
	fl_text_vadd(&text, fmt, ap);
	va_end(ap);
	report->warnings[report->warnings_count].line = line;
	report->warnings[report->warnings_count++].text = text.data;
}

void fl_mem_report_file(struct fl_mem_report *report, const char *name, unsigned int first_line)
{
	if (report->files_count == report->files_capacity) {
		report->files_capacity = grown(report->files_capacity);
		report->files = fl_xrealloc(report->files, report->files_capacity * sizeof(*report->files));
	}
	report->files[report->files_count].name = fl_xstrdup(name);
	report->files[report->files_count++].first_line = first_line;
}

unsigned int fl_mem_report_place(const struct fl_mem_report *report, unsigned int line, const char **ret_name)
{
	size_t low = 0, high = report->files_count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (report->files[middle].first_line <= line)
			low = middle + 1;
		else
			high = middle;
	}
	*ret_name = low ? report->files[low - 1].name : NULL;
	return low ? line - report->files[low - 1].first_line + 1 : line;
}

static void zone_init(struct fl_mem_zone *zone, int node, const char *name)
{
	memset(zone, 0, sizeof(*zone));
	zone->node = node;
	snprintf(zone->name, sizeof(zone->name), "%s", name);
	zone->kind = (uint8_t)fl_mem_zone_kind_of(name);
	zone->free = zone->min = zone->low = zone->high = zone->promo = zone->boost = FL_MEM_NONE;
	zone->spanned = zone->present = zone->managed = FL_MEM_NONE;
	zone->free_cma = zone->free_highatomic = zone->reserved_highatomic = FL_MEM_NONE;
	zone->pcp_pages = zone->start_pfn = zone->lists_sum_kb = FL_MEM_NONE;
}

const struct fl_mem_zone *fl_mem_state_find_zone(const struct fl_mem_state *state, int node, const char *name)
{
	for (size_t i = 0; i < state->zones_count; i++)
		if (state->zones[i].node == node && !strcmp(state->zones[i].name, name))
			return &state->zones[i];
	return NULL;
}

struct fl_mem_zone *fl_mem_state_zone(struct fl_mem_state *state, int node, const char *name)
{
	char cut[sizeof(state->zones->name)];
	const struct fl_mem_zone *found;

	snprintf(cut, sizeof(cut), "%s", name);
	found = fl_mem_state_find_zone(state, node, cut);
	if (found)
		return &state->zones[found - state->zones];
	if (state->zones_count >= FL_MEM_ZONES_MAX)
		return NULL;
	if (state->zones_count == state->zones_capacity) {
		state->zones_capacity = grown(state->zones_capacity);
		state->zones = fl_xrealloc(state->zones, state->zones_capacity * sizeof(*state->zones));
	}
	zone_init(&state->zones[state->zones_count], node, cut);
	return &state->zones[state->zones_count++];
}

static const struct {
	const char *name;
	enum fl_mem_role role;
} roles[] = {
	{ "Unmovable", FL_MEM_UNMOVABLE },   { "Movable", FL_MEM_MOVABLE },
	{ "Reclaimable", FL_MEM_RECLAIMABLE }, { "HighAtomic", FL_MEM_HIGHATOMIC },
	{ "Reserve", FL_MEM_HIGHATOMIC },    { "CMA", FL_MEM_CMA },
	{ "Isolate", FL_MEM_ISOLATE },
};

enum fl_mem_role fl_mem_role_of(const char *name)
{
	for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++)
		if (!strcasecmp(roles[i].name, name))
			return roles[i].role;
	return FL_MEM_ROLE_UNKNOWN;
}

const char *fl_mem_role_name(enum fl_mem_role role)
{
	for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++)
		if (roles[i].role == role)
			return roles[i].name;
	return "unknown";
}

enum fl_mem_kind_of_zone fl_mem_zone_kind_of(const char *name)
{
	static const char *const names[] = { "DMA", "DMA32", "Normal", "HighMem", "Movable", "Device" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(names[i], name))
			return (enum fl_mem_kind_of_zone)i;
	return FL_MEM_ZONE_OTHER;
}

unsigned int fl_mem_state_type(struct fl_mem_state *state, const char *name)
{
	struct fl_mem_type *type;
	char cut[sizeof(type->name)];

	snprintf(cut, sizeof(cut), "%s", name);
	for (unsigned int i = 0; i < state->types_count; i++)
		if (!strcmp(state->types[i].name, cut))
			return i;
	if (state->types_count >= FL_MEM_TYPES_MAX)
		return FL_MEM_TYPES_MAX;
	type = &state->types[state->types_count];
	memcpy(type->name, cut, sizeof(cut));
	type->role = (uint8_t)fl_mem_role_of(cut);
	return state->types_count++;
}

void fl_mem_values_set(struct fl_mem_values *values, const char *name, uint64_t value)
{
	for (size_t i = 0; i < values->count; i++) {
		if (!strcmp(values->items[i].name, name)) {
			values->items[i].value = value;
			return;
		}
	}
	if (values->count >= VALUES_MAX)
		return;
	if (values->count == values->capacity) {
		values->capacity = grown(values->capacity);
		values->items = fl_xrealloc(values->items, values->capacity * sizeof(*values->items));
	}
	values->items[values->count].name = fl_xstrdup(name);
	values->items[values->count++].value = value;
}

uint64_t fl_mem_values_get(const struct fl_mem_values *values, const char *name)
{
	for (size_t i = 0; i < values->count; i++)
		if (!strcmp(values->items[i].name, name))
			return values->items[i].value;
	return FL_MEM_NONE;
}

void fl_mem_values_fini(struct fl_mem_values *values)
{
	for (size_t i = 0; i < values->count; i++)
		free(values->items[i].name);
	free(values->items);
	memset(values, 0, sizeof(*values));
}

void fl_mem_settings_set(struct fl_mem_settings *settings, const char *name, const char *value)
{
	for (size_t i = 0; i < settings->count; i++) {
		if (!strcmp(settings->items[i].name, name)) {
			free(settings->items[i].value);
			settings->items[i].value = fl_xstrdup(value);
			return;
		}
	}
	if (settings->count >= VALUES_MAX)
		return;
	if (settings->count == settings->capacity) {
		settings->capacity = grown(settings->capacity);
		settings->items = fl_xrealloc(settings->items, settings->capacity * sizeof(*settings->items));
	}
	settings->items[settings->count].name = fl_xstrdup(name);
	settings->items[settings->count++].value = fl_xstrdup(value);
}

const char *fl_mem_settings_get(const struct fl_mem_settings *settings, const char *name)
{
	for (size_t i = 0; i < settings->count; i++)
		if (!strcmp(settings->items[i].name, name))
			return settings->items[i].value;
	return NULL;
}

void fl_mem_settings_fini(struct fl_mem_settings *settings)
{
	for (size_t i = 0; i < settings->count; i++) {
		free(settings->items[i].name);
		free(settings->items[i].value);
	}
	free(settings->items);
	memset(settings, 0, sizeof(*settings));
}

uint64_t fl_mem_zone_managed(const struct fl_mem_zone *zone)
{
	return zone->managed != FL_MEM_NONE ? zone->managed : zone->present;
}

bool fl_mem_zone_is_populated(const struct fl_mem_zone *zone)
{
	uint64_t managed = fl_mem_zone_managed(zone);

	if (managed != FL_MEM_NONE && managed > 0)
		return true;
	if (managed == FL_MEM_NONE && zone->orders_count)
		return true; /* lists are printed for populated zones only */
	if (zone->free != FL_MEM_NONE && zone->free > 0)
		return true;
	for (unsigned int order = 0; order < zone->orders_count; order++)
		if (zone->free_blocks[order])
			return true;
	return zone->has_type_rows;
}
