/*
 * observe/text_table.c - rows of /proc/buddyinfo, pagetypeinfo, zoneinfo and the indices of debugfs extfrag.
 *
 * A row begins with "Node N, zone NAME" and takes numbers until something else comes, so it may be wrapped. What kind
 * of row it is turns out by what stands behind the name: "type T" (free lists by type), numbers (buddyinfo, or the
 * blocks by type behind their header), nothing (zoneinfo).
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "observe/text_internal.h"

static const char *cut_comma(char *to, size_t size, const char *token)
{
	snprintf(to, size, "%.*s", (int)strcspn(token, ","), token);
	return to;
}

/* --- finished rows ------------------------------------------------------------------------------------------------ */

/* The zone of the row in a state of /proc files; `again`: this row is there already, so it belongs to a new state. */
static struct fl_mem_zone *row_zone(struct fl_text_reader *reader, bool again)
{
	struct fl_mem_state *state = again ? fl_text_begin_state(reader, false) : fl_text_state(reader, false);
	struct fl_mem_zone *zone;

	if (!state)
		return NULL;
	if (reader->row_line < state->line_first) /* a row is known to be over one line later */
		state->line_first = reader->row_line;
	zone = fl_mem_state_zone(state, reader->row_node, reader->row_zone);
	if (zone)
		reader->zone_plus1 = (size_t)(zone - state->zones) + 1;
	return zone;
}

static const struct fl_mem_zone *row_find(const struct fl_text_reader *reader)
{
	if (!reader->state || reader->state->dump)
		return NULL;
	return fl_mem_state_find_zone(reader->state, reader->row_node, reader->row_zone);
}

static unsigned int row_orders(struct fl_text_reader *reader)
{
	unsigned int count = reader->row_count;

	if (count > FL_MEM_ORDERS_MAX) {
		fl_mem_report_warn(reader->report, reader->row_line, "%u columns; only the first %d are used", count,
				   FL_MEM_ORDERS_MAX);
		count = FL_MEM_ORDERS_MAX;
	}
	if (reader->state && count > reader->state->orders_count)
		reader->state->orders_count = count;
	return count;
}

static void end_buddy_row(struct fl_text_reader *reader)
{
	const struct fl_mem_zone *there = row_find(reader);
	struct fl_mem_zone *zone = row_zone(reader, there && there->lists_line);
	unsigned int count;

	if (!zone)
		return;
	if (!reader->row_columns)
		reader->row_columns = reader->row_count;
	count = row_orders(reader);
	memcpy(zone->free_blocks, reader->row_values, count * sizeof(uint64_t));
	zone->orders_count = count;
	zone->lists_line = reader->row_line;
}

static void end_type_row(struct fl_text_reader *reader)
{
	const struct fl_mem_zone *there = row_find(reader);
	unsigned int type = FL_MEM_TYPES_MAX, count;
	struct fl_mem_zone *zone;
	bool again = false;

	if (there && there->has_type_rows)
		for (unsigned int i = 0; i < reader->state->types_count; i++)
			if (!strcmp(reader->state->types[i].name, reader->row_type))
				for (unsigned int o = 0; o < FL_MEM_ORDERS_MAX; o++)
					again = again || there->type_free[i][o];
	zone = row_zone(reader, again);
	if (zone)
		type = fl_mem_state_type(reader->state, reader->row_type);
	if (type >= FL_MEM_TYPES_MAX) {
		fl_mem_report_warn(reader->report, reader->row_line, "too many migratetypes; \"%s\" was left out",
				   reader->row_type);
		return;
	}
	count = row_orders(reader);
	if (!zone->has_type_rows)
		zone->types_line = reader->row_line;
	zone->has_type_rows = true;
	for (unsigned int o = 0; o < count; o++) {
		zone->type_free[type][o] = reader->row_values[o];
		zone->type_capped[type][o] = reader->row_capped >> o & 1;
	}
}

static void end_blocks_row(struct fl_text_reader *reader)
{
	struct fl_mem_zone *zone = row_zone(reader, false);

	if (!zone)
		return;
	if (reader->mixed_header)
		return; /* page_owner's count of mixed blocks: no place for it */
	if (reader->row_count != reader->header_types_count)
		fl_mem_report_warn(reader->report, reader->row_line,
				   "zone %s has %u counts of blocks for %u types; the missing ones are taken as "
				   "unknown",
				   zone->name, reader->row_count, reader->header_types_count);
	for (unsigned int i = 0; i < reader->row_count && i < reader->header_types_count; i++) {
		unsigned int type = fl_mem_state_type(reader->state, reader->header_types[i]);

		if (type < FL_MEM_TYPES_MAX)
			zone->type_blocks[type] = reader->row_values[i];
	}
	zone->has_type_blocks = true;
}

/* "Node 0, zone Normal 0.000 0.012 ..." of unusable_index, "-1.000 ..." of extfrag_index. */
static void end_index_row(struct fl_text_reader *reader)
{
	struct fl_mem_zone *zone = row_zone(reader, false);
	bool fragmentation = reader->row_negative_one || strstr(reader->file, "extfrag_index");
	unsigned int count;

	if (!zone)
		return;
	count = row_orders(reader);
	for (unsigned int o = 0; o < count; o++) {
		int value = reader->row_sign[o] * (int)(reader->row_values[o] > 100000 ? 100000 : reader->row_values[o]);

		if (fragmentation)
			zone->fragmentation_index[o] = value;
		else
			zone->unusable_index[o] = value;
	}
	if (fragmentation)
		zone->has_fragmentation_index = true;
	else
		zone->has_unusable_index = true;
}

static void begin_zoneinfo(struct fl_text_reader *reader)
{
	const struct fl_mem_zone *there = row_find(reader);

	if (!row_zone(reader, there && there->free != FL_MEM_NONE))
		return;
	reader->context = TEXT_ZONEINFO;
	reader->state->zones[reader->zone_plus1 - 1].line = reader->row_line;
	reader->in_pagesets = reader->in_node_stats = false;
}

void fl_text_table_end_row(struct fl_text_reader *reader)
{
	enum text_context was = reader->context;

	if (was != TEXT_ROW && was != TEXT_ROW_TYPE)
		return;
	reader->context = TEXT_NONE;
	if (was == TEXT_ROW_TYPE || (reader->row_has_type && !reader->row_count))
		fl_mem_report_warn(reader->report, reader->row_line, "the row of zone %s was cut before its figures",
				   reader->row_zone);
	else if (reader->row_has_type)
		end_type_row(reader);
	else if (!reader->row_count)
		begin_zoneinfo(reader);
	else if (reader->row_decimal)
		end_index_row(reader);
	else if (reader->blocks_header && (reader->row_count == reader->header_types_count || reader->row_count < 6))
		end_blocks_row(reader);
	else
		end_buddy_row(reader);
}

/* --- rows as they come -------------------------------------------------------------------------------------------- */

/* "12", ">100000", "0.012", "-1.000", "0.-500": values with a point are kept in thousandths. */
static bool cell(struct fl_text_reader *reader, const char *token)
{
	const char *p = token;
	bool capped = *p == '>', negative = *p == '-';
	uint64_t value, part = 0;
	unsigned int i = reader->row_count;

	p += capped || negative;
	if (!fl_procline_fits(p, strspn(p, "0123456789")) || !fl_text_number(&p, &value))
		return false;
	if (*p == '.' && p[1] == '-' && isdigit((unsigned char)p[2])) {
		negative = true;
		part = strtoul(p + 2, NULL, 10);
		p += 2 + strspn(p + 2, "0123456789");
		value = part < 1000 ? part : 999;
		reader->row_decimal = true;
	} else if (*p == '.' && isdigit((unsigned char)p[1]) && value < 1000000) {
		part = strtoul(p + 1, NULL, 10);
		p += 1 + strspn(p + 1, "0123456789");
		value = value * 1000 + (part < 1000 ? part : 999);
		reader->row_decimal = true;
	}
	if (*p || (negative && !reader->row_decimal))
		return false;
	if (negative && value == 1000)
		reader->row_negative_one = true;
	if (i < ROW_MAX) {
		reader->row_values[i] = value;
		reader->row_sign[i] = negative ? -1 : 1;
		reader->row_capped |= (uint32_t)capped << i;
	}
	reader->row_count = i < ROW_MAX ? i + 1 : i;
	return true;
}

static void begin_row(struct fl_text_reader *reader)
{
	reader->context = TEXT_ROW_NAME;
	reader->row_node = (int)strtol(reader->prev[0], NULL, 10);
	reader->row_line = reader->line;
	reader->row_count = 0;
	reader->row_capped = 0;
	reader->row_has_type = reader->row_decimal = reader->row_negative_one = false;
}

static bool is_row_head(const struct fl_text_reader *reader, const char *token)
{
	return !strcmp(token, "zone") && !strcmp(reader->prev[1], "Node") &&
	       isdigit((unsigned char)reader->prev[0][0]) && strchr(reader->prev[0], ',');
}

static bool header_token(struct fl_text_reader *reader, const char *token)
{
	if (!strcmp(token, "type") && !strcmp(reader->prev[0], "blocks")) {
		reader->blocks_header = true;
		reader->mixed_header = !strcmp(reader->prev[1], "mixed");
		reader->header_types_count = 0;
		reader->context = TEXT_TYPE_HEADER;
		return true;
	}
	if (reader->context != TEXT_TYPE_HEADER)
		return false;
	if (!strcmp(token, "Node") || !isalpha((unsigned char)*token)) {
		reader->context = TEXT_NONE;
		return false;
	}
	if (reader->header_types_count < FL_MEM_TYPES_MAX)
		snprintf(reader->header_types[reader->header_types_count++], 24, "%.23s", token);
	return true;
}

/* A word in the middle of a row that is neither a figure nor the begin of something else. */
static void wrong_cell(struct fl_text_reader *reader, const char *token)
{
	struct fl_procline why = { .word = token, .length = strlen(token) };
	unsigned int columns = reader->row_columns ? reader->row_columns : 10;

	if (reader->row_count >= columns || isupper((unsigned char)*token) || (!reader->row_count && !reader->row_has_type))
		return;
	why.too_large = strspn(token, "0123456789") == why.length;
	why.expected = "a figure for each order";
	fl_text_unread(reader, reader->line, &why);
}

static bool row_token(struct fl_text_reader *reader, const char *token)
{
	switch (reader->context) {
	case TEXT_ROW_NAME:
		cut_comma(reader->row_zone, sizeof(reader->row_zone), token);
		reader->context = TEXT_ROW;
		return true;
	case TEXT_ROW_TYPE:
		cut_comma(reader->row_type, sizeof(reader->row_type), token);
		reader->row_has_type = true;
		reader->context = TEXT_ROW;
		return true;
	case TEXT_ROW:
		if (!reader->row_count && !strcmp(token, "type")) {
			reader->context = TEXT_ROW_TYPE;
			return true;
		}
		if (cell(reader, token))
			return true;
		wrong_cell(reader, token);
		fl_text_table_end_row(reader);
		return false;
	default:
		return false;
	}
}

/* A new line ends a row unless it holds nothing but cells. */
void fl_text_table_new_line(struct fl_text_reader *reader, const char *line)
{
	if (!*line && reader->context == TEXT_ROW && !reader->row_count)
		return;
	if (reader->context == TEXT_ROW && (!*line || line[strspn(line, " 0123456789>.-")]))
		if (reader->row_count || strncmp(line, "type ", 5))
			fl_text_table_end_row(reader);
	if (reader->context == TEXT_TYPE_HEADER && !*line)
		reader->context = TEXT_NONE;
	if (!strncmp(line, "Free pages count per", 20))
		reader->blocks_header = false;
	if (reader->context == TEXT_ZONEINFO && reader->indented)
		reader->zoneinfo_indented = true;
}

/* --- zoneinfo ----------------------------------------------------------------------------------------------------- */

static struct fl_mem_zone *zoneinfo_zone(struct fl_text_reader *reader)
{
	if (!reader->state || !reader->zone_plus1 || reader->zone_plus1 > reader->state->zones_count)
		return NULL;
	return &reader->state->zones[reader->zone_plus1 - 1];
}

static uint64_t *zoneinfo_figure(struct fl_mem_zone *zone, const char *name)
{
	const struct {
		const char *name;
		uint64_t *figure;
	} figures[] = {
		{ "free", &zone->free },         { "boost", &zone->boost },     { "min", &zone->min },
		{ "low", &zone->low },           { "high", &zone->high },       { "promo", &zone->promo },
		{ "spanned", &zone->spanned },   { "present", &zone->present }, { "managed", &zone->managed },
		{ "cma", NULL },                 { "nr_free_cma", &zone->free_cma },
		{ "start_pfn:", &zone->start_pfn },
		{ "reserved_highatomic", &zone->reserved_highatomic },
		{ "free_highatomic", &zone->free_highatomic },
		{ "nr_free_highatomic", &zone->free_highatomic },
	};

	for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++)
		if (!strcmp(figures[i].name, name))
			return figures[i].figure;
	return NULL;
}

static bool protection_token(struct fl_text_reader *reader, struct fl_mem_zone *zone, const char *token)
{
	const char *p = token;
	uint64_t pages;

	if (*p == '(')
		p++;
	if (!fl_text_number(&p, &pages))
		return false;
	if (zone->protection_count < FL_MEM_PROTECTION_MAX)
		zone->protection[zone->protection_count++] = pages;
	if (strchr(p, ')'))
		reader->context = TEXT_ZONEINFO;
	return true;
}

static bool zoneinfo_value(struct fl_text_reader *reader, struct fl_mem_zone *zone, const char *name, uint64_t value)
{
	uint64_t *figure;
	char prefixed[96];

	if (reader->in_pagesets && !strcmp(name, "count:")) {
		zone->pcp_pages = zone->pcp_count ? zone->pcp_pages + value : value;
		zone->pcp_count++;
		return true;
	}
	if (reader->in_pagesets && strcmp(name, "start_pfn:"))
		return true; /* high, batch, threshold of one CPU */
	if (!isalpha((unsigned char)*name) || strlen(name) > 60)
		return false;
	figure = reader->in_node_stats ? NULL : zoneinfo_figure(zone, name);
	if (figure == &zone->free && zone->free != FL_MEM_NONE) {
		fl_mem_report_warn(reader->report, reader->line, "the figures of a zone begin here without its name: the line "
								 "\"Node N, zone NAME\" is missing, so they were left out");
		reader->zone_plus1 = 0;
		return true;
	}
	if (figure) {
		*figure = value;
		return true;
	}
	snprintf(prefixed, sizeof(prefixed), "%s%.*s", reader->in_node_stats ? "node_" : "", (int)strcspn(name, ":"), name);
	fl_mem_values_set(&zone->stats, prefixed, value);
	return true;
}

static bool zoneinfo_token(struct fl_text_reader *reader, const char *token)
{
	struct fl_mem_zone *zone = zoneinfo_zone(reader);
	const char *p = token;
	uint64_t value;

	if (!zone)
		return false;
	if (reader->context == TEXT_PROTECTION)
		return protection_token(reader, zone, token);
	if (reader->context != TEXT_ZONEINFO)
		return false;
	if (!strcmp(token, "protection:")) {
		zone->protection_count = 0;
		reader->context = TEXT_PROTECTION;
	} else if (!strcmp(token, "pagesets")) {
		reader->in_pagesets = true;
	} else if (!strcmp(token, "stats") && !strcmp(reader->prev[0], "per-node")) {
		reader->in_node_stats = true;
	} else if (!strcmp(token, "free") && !strcmp(reader->prev[0], "pages")) {
		reader->in_node_stats = false;
	} else if (fl_text_number(&p, &value) && !*p) {
		if (reader->in_pagesets && !strncmp(reader->prev[0], "nr_", 3))
			reader->in_pagesets = false; /* old kernels print the statistics behind the pagesets */
		return zoneinfo_value(reader, zone, reader->prev[0], value);
	}
	return true;
}

/* "Page block order: 9" */
static bool block_order_token(struct fl_text_reader *reader, const char *token)
{
	const char *p = token;
	uint64_t order;

	if (strcmp(reader->prev[0], "order:") || strcmp(reader->prev[1], "block") || !fl_text_number(&p, &order))
		return false;
	if (fl_text_state(reader, false) && order < FL_MEM_ORDERS_MAX)
		reader->state->pageblock_order = (unsigned int)order;
	return true;
}

bool fl_text_table_token(struct fl_text_reader *reader, const char *token)
{
	if (reader->context == TEXT_ROW || reader->context == TEXT_ROW_NAME || reader->context == TEXT_ROW_TYPE)
		if (row_token(reader, token))
			return true;
	if (is_row_head(reader, token)) {
		begin_row(reader);
		return true;
	}
	return header_token(reader, token) || block_order_token(reader, token) || zoneinfo_token(reader, token);
}

/* --- vmstat, meminfo: whole lines --------------------------------------------------------------------------------- */

static bool has_vmstat_prefix(const char *name)
{
	static const char *const prefixes[] = { "nr_", "pg", "thp_", "compact_", "numa_", "allocstall", "workingset_",
						"unevictable_", "kswapd_", "oom_kill", "htlb_", "swap_", "zswp", "ksm_",
						"direct_map_", "balloon_", "drop_", "slabs_scanned", "pageoutrun",
						"zone_reclaim_", "cow_ksm", "kcompactd_", "vma_lock_" };

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
			return true;
	return false;
}

/* Splits "name value" in place; false if the line is anything else. */
static bool name_and_number(char *line, char **ret_name, uint64_t *ret_value)
{
	size_t length = strcspn(line, " ");
	const char *p = line + length;

	if (!length || length > 60 || !islower((unsigned char)*line) || !*p)
		return false;
	for (size_t i = 0; i < length; i++)
		if (!islower((unsigned char)line[i]) && !isdigit((unsigned char)line[i]) && line[i] != '_')
			return false;
	p += strspn(p, " ");
	if (!fl_procline_fits(p, strspn(p, "0123456789")) || !fl_text_number(&p, ret_value) || *p)
		return false;
	line[length] = '\0';
	*ret_name = line;
	return true;
}

/* In zoneinfo the same names stand indented; a text that lost its blanks repeats nr_free_pages where vmstat begins. */
static bool belongs_to_zoneinfo(struct fl_text_reader *reader, const char *name)
{
	const struct fl_mem_zone *zone = zoneinfo_zone(reader);

	if (reader->context != TEXT_ZONEINFO || strstr(reader->file, "vmstat"))
		return false;
	if (reader->indented || !has_vmstat_prefix(name))
		return true;
	if (reader->zoneinfo_indented)
		return false;
	return !(zone && !strcmp(name, "nr_free_pages") && fl_mem_values_get(&zone->stats, name) != FL_MEM_NONE);
}

static bool vmstat_line(struct fl_text_reader *reader, char *line)
{
	char copy[96], *name;
	struct fl_mem_state *state;
	uint64_t value;

	if (strlen(line) >= sizeof(copy))
		return false;
	memcpy(copy, line, strlen(line) + 1);
	if (!name_and_number(copy, &name, &value))
		return false;
	if (reader->memcg_stats)
		return true; /* figures of a memory cgroup, printed with an OOM */
	if (belongs_to_zoneinfo(reader, name))
		return false;
	if (!reader->vmstat_active && !has_vmstat_prefix(name) && !strstr(reader->file, "vmstat"))
		return false;
	state = reader->state;
	if (!strcmp(name, "nr_free_pages") && state && !state->dump && fl_mem_values_get(&state->vmstat, name) != FL_MEM_NONE)
		state = fl_text_begin_state(reader, false);
	else
		state = fl_text_state(reader, false);
	reader->context = TEXT_NONE;
	reader->vmstat_active = true;
	if (state)
		fl_mem_values_set(&state->vmstat, name, value);
	return true;
}

/* "MemFree:  3725984 kB", "HugePages_Total:  0" */
static bool meminfo_line(struct fl_text_reader *reader, char *line)
{
	size_t length = strcspn(line, ":");
	struct fl_mem_state *state = reader->state;
	const char *p = line + length + 1;
	char name[48];
	uint64_t value;

	if (!isupper((unsigned char)*line) || line[length] != ':' || length < 3 || length >= sizeof(name))
		return false;
	for (size_t i = 0; i < length; i++)
		if (!isalnum((unsigned char)line[i]) && !strchr("_()", line[i]))
			return false;
	p += strspn(p, " ");
	if (!fl_procline_fits(p, strspn(p, "0123456789")) || !fl_text_number(&p, &value) ||
	    (strcmp(p, " kB") && (*p || strncmp(line, "HugePages_", 10))))
		return false;
	reader->meminfo_line = reader->line;
	snprintf(name, sizeof(name), "%.*s", (int)length, line);
	if (!strcmp(name, "MemTotal") && state && !state->dump && fl_mem_values_get(&state->meminfo, name) != FL_MEM_NONE)
		state = fl_text_begin_state(reader, false);
	else
		state = fl_text_state(reader, false);
	reader->context = TEXT_NONE;
	if (state)
		fl_mem_values_set(&state->meminfo, name, value);
	return true;
}

bool fl_text_table_line(struct fl_text_reader *reader, char *line)
{
	if (!strncmp(line, "Memory cgroup stats", 19) || !strncmp(line, "Memory cgroup out of", 20))
		reader->memcg_stats = true;
	if (vmstat_line(reader, line))
		return true;
	if (*line)
		reader->memcg_stats = reader->memcg_stats && !strncmp(line, "Memory cgroup stats", 19);
	return meminfo_line(reader, line);
}
