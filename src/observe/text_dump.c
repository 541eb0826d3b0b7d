/*
 * observe/text_dump.c - the Mem-Info of a kernel: totals, nodes, zones, lowmem_reserve and free lists.
 *
 * Mirrors show_free_areas() of mm/show_mem.c and its forms since 2.5. Amounts are kept in kB here; finish.c turns them
 * into pages when the size of a page is known.
 */
#include <ctype.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "observe/text_internal.h"

static struct fl_mem_zone *current_zone(struct fl_text_reader *reader)
{
	if (!reader->state || !reader->zone_plus1 || reader->zone_plus1 > reader->state->zones_count)
		return NULL;
	return &reader->state->zones[reader->zone_plus1 - 1];
}

/* The zone named in front of the current token ("Node 0 Normal", "Normal:"), NULL if there is no name. */
static struct fl_mem_zone *named_zone(struct fl_text_reader *reader, bool *ret_named)
{
	const char *name = reader->prev[0];
	bool after_node = !strcmp(reader->prev[2], "Node") && fl_text_is_number(reader->prev[1]);
	struct fl_mem_zone *zone;
	char bare[24];
	int node = after_node ? (int)strtol(reader->prev[1], NULL, 10) : -1;

	if (!strncmp(name, "Zone:", 5)) /* kernels 2.4 and 2.5 */
		name += 5;
	*ret_named = fl_text_is_zone_name(name, after_node);
	if (!*ret_named || !reader->state)
		return NULL;
	snprintf(bare, sizeof(bare), "%.*s", (int)strcspn(name, ":"), name);
	zone = fl_mem_state_zone(reader->state, node, bare);
	if (zone)
		reader->zone_plus1 = (size_t)(zone - reader->state->zones) + 1;
	return zone;
}

/* Is the zone that is named in front of this token there already with figures (lists false) or with lists? */
static bool zone_is_there(struct fl_text_reader *reader, bool lists)
{
	const struct fl_mem_zone *zone;
	bool named, after_node = !strcmp(reader->prev[2], "Node") && fl_text_is_number(reader->prev[1]);
	const char *name = reader->prev[0];
	char bare[24];

	if (!reader->state || !reader->state->dump)
		return false;
	if (!strncmp(name, "Zone:", 5))
		name += 5;
	named = fl_text_is_zone_name(name, after_node);
	if (!named)
		return false;
	snprintf(bare, sizeof(bare), "%.*s", (int)strcspn(name, ":"), name);
	zone = fl_mem_state_find_zone(reader->state, after_node ? (int)strtol(reader->prev[1], NULL, 10) : -1, bare);
	return zone && (lists ? zone->lists_line != 0 : zone->free != FL_MEM_NONE);
}

static const struct {
	const char *key;
	size_t offset;
} zone_figures[] = {
	{ "free", offsetof(struct fl_mem_zone, free) },
	{ "freepages", offsetof(struct fl_mem_zone, free) },
	{ "min", offsetof(struct fl_mem_zone, min) },
	{ "low", offsetof(struct fl_mem_zone, low) },
	{ "high", offsetof(struct fl_mem_zone, high) },
	{ "promo", offsetof(struct fl_mem_zone, promo) },
	{ "boost", offsetof(struct fl_mem_zone, boost) },
	{ "spanned", offsetof(struct fl_mem_zone, spanned) },
	{ "present", offsetof(struct fl_mem_zone, present) },
	{ "managed", offsetof(struct fl_mem_zone, managed) },
	{ "reserved_highatomic", offsetof(struct fl_mem_zone, reserved_highatomic) },
	{ "free_highatomic", offsetof(struct fl_mem_zone, free_highatomic) },
	{ "free_cma", offsetof(struct fl_mem_zone, free_cma) },
	{ "free_pcp", offsetof(struct fl_mem_zone, pcp_pages) },
};

/* Other keys of zone, node and total lines: known so that a broken line can be put together again. */
static const char *const other_keys[] = {
	"active_anon", "inactive_anon", "active_file", "inactive_file", "unevictable", "writepending", "mlocked",
	"kernel_stack", "pagetables", "sec_pagetables", "bounce", "local_pcp", "isolated(anon)", "isolated(file)",
	"isolated_anon", "isolated_file", "dirty", "writeback", "mapped", "shmem", "shmem_thp", "shmem_pmdmapped",
	"anon_thp", "writeback_tmp", "unstable", "slab_reclaimable", "slab_unreclaimable", "slab", "active", "inactive",
	"zspages", "kernel_misc_reclaimable", "pages_scanned", "file_thp", "file_pmdmapped", "shadow_call_stack",
	"Balloon", "gpu_active", "gpu_reclaim", "numa_misplaced", "shmem_huge", "foll_pin", "protections",
	"free_blocks", "Active", "sockets", "foreign",
};

static bool key_is(const char *key, size_t length, const char *name)
{
	return strlen(name) == length && !strncmp(key, name, length);
}

static uint64_t *zone_figure(struct fl_mem_zone *zone, const char *key, size_t length)
{
	for (size_t i = 0; i < sizeof(zone_figures) / sizeof(zone_figures[0]); i++)
		if (key_is(key, length, zone_figures[i].key))
			return (uint64_t *)((char *)zone + zone_figures[i].offset);
	return NULL;
}

static bool is_known_key(const char *key, size_t length)
{
	for (size_t i = 0; i < sizeof(zone_figures) / sizeof(zone_figures[0]); i++)
		if (key_is(key, length, zone_figures[i].key))
			return true;
	for (size_t i = 0; i < sizeof(other_keys) / sizeof(other_keys[0]); i++)
		if (key_is(key, length, other_keys[i]))
			return true;
	return false;
}

/* "free:123kB": value and unit. -1: not a number; 0: a count; 1: kB. A negative value saturates, as unsigned would. */
static int parse_amount(const char *text, uint64_t *ret)
{
	const char *p = text;
	bool negative = *p == '-';

	p += negative;
	if (!fl_text_number(&p, ret))
		return -1;
	if (negative && *ret)
		*ret = UINT64_MAX - *ret;
	if (!strncasecmp(p, "kB", 2))
		return 1;
	return *p == '\0' || *p == ',' || *p == ')' ? 0 : -1;
}

/* --- lists -------------------------------------------------------------------------------------------------------- */

void fl_text_dump_end_list(struct fl_text_reader *reader)
{
	struct fl_mem_zone *zone = current_zone(reader);

	if (reader->context == TEXT_LIST && zone && zone->lists_sum_kb == FL_MEM_NONE) {
		zone->lists_incomplete = true;
		fl_mem_report_warn(reader->report, zone->lists_line,
				   "the free lists of zone %s end without a sum: the line was cut after order %d, "
				   "larger orders are not known", zone->name, (int)reader->list_orders - 1);
	}
	reader->context = TEXT_NONE;
	reader->in_list_item = false;
}

/* A list without a name (kernel 2.5) belongs to the first zone that has figures and no list yet. */
static struct fl_mem_zone *first_zone_without_list(struct fl_text_reader *reader)
{
	struct fl_mem_state *state = reader->state;

	for (size_t i = 0; state && state->dump && i < state->zones_count; i++) {
		if (state->zones[i].free != FL_MEM_NONE && !state->zones[i].lists_line) {
			reader->zone_plus1 = i + 1;
			return &state->zones[i];
		}
	}
	return NULL;
}

static struct fl_mem_zone *begin_list(struct fl_text_reader *reader)
{
	struct fl_mem_zone *zone;
	bool named;

	if (reader->context == TEXT_LIST)
		fl_text_dump_end_list(reader);
	if (zone_is_there(reader, true))
		fl_text_begin_state(reader, true);
	else if (fl_text_is_zone_name(reader->prev[0], false) || !strcmp(reader->prev[2], "Node"))
		fl_text_state(reader, true);
	zone = named_zone(reader, &named);
	if (!named)
		zone = first_zone_without_list(reader);
	if (!zone)
		return NULL;
	reader->context = TEXT_LIST;
	reader->list_orders = 0;
	reader->list_base_kb = 0;
	zone->lists_line = reader->line;
	return zone;
}

static bool continues_list(const struct fl_text_reader *reader, uint64_t kb)
{
	return reader->context == TEXT_LIST && reader->list_orders && kb == reader->list_kb * 2 &&
	       reader->list_orders < FL_MEM_ORDERS_MAX;
}

static void list_item(struct fl_text_reader *reader, struct fl_mem_zone *zone, uint64_t count, uint64_t kb)
{
	unsigned int order = reader->list_orders;

	if (!order) {
		reader->list_base_kb = kb;
		if (!reader->state->page_size && kb && kb <= 1024 && !(kb & (kb - 1)))
			reader->state->page_size = (uint32_t)(kb * 1024);
	}
	zone->free_blocks[order] = count;
	reader->list_kb = kb;
	reader->list_orders = zone->orders_count = order + 1;
	if (reader->list_orders > reader->state->orders_count)
		reader->state->orders_count = reader->list_orders;
	reader->in_list_item = true;
}

/* "12*64kB" */
static bool list_token(struct fl_text_reader *reader, const char *token)
{
	struct fl_mem_zone *zone = current_zone(reader);
	const char *p = token;
	uint64_t count, kb;

	if (*p == '(')
		p++;
	if (!fl_text_number(&p, &count) || *p++ != '*' || !fl_text_number(&p, &kb) || strncasecmp(p, "kB", 2))
		return false;
	if (!continues_list(reader, kb)) {
		if (reader->context == TEXT_LIST && reader->list_orders && !fl_text_is_zone_name(reader->prev[0], true)) {
			fl_mem_report_warn(reader->report, reader->line,
					   "\"%s\" does not continue the list before it and was left out", token);
			return true;
		}
		zone = begin_list(reader);
		if (!zone) {
			if (kb != reader->dropped_kb * 2)
				fl_mem_report_warn(reader->report, reader->line,
						   "free list that begins with \"%s\" names no zone and was left out",
						   token);
			reader->dropped_kb = kb;
			return true;
		}
	}
	if (zone)
		list_item(reader, zone, count, kb);
	return true;
}

static uint32_t letter_role(char letter)
{
	switch (letter) {
	case 'U': return 1u << FL_MEM_UNMOVABLE;
	case 'M': return 1u << FL_MEM_MOVABLE;
	case 'E': return 1u << FL_MEM_RECLAIMABLE;
	case 'H': return 1u << FL_MEM_HIGHATOMIC;
	case 'R': return 1u << FL_MEM_HIGHATOMIC; /* Reserve, before 4.4 */
	case 'C': return 1u << FL_MEM_CMA;
	case 'I': return 1u << FL_MEM_ISOLATE;
	default: return 1u << FL_MEM_ROLE_UNKNOWN;
	}
}

/* "(UME)" behind an item */
static bool letters_token(struct fl_text_reader *reader, const char *token)
{
	struct fl_mem_zone *zone = current_zone(reader);
	size_t length = strlen(token);

	if (reader->context != TEXT_LIST || !reader->in_list_item || !zone || token[0] != '(' || length < 3 ||
	    token[length - 1] != ')' || !reader->list_orders)
		return false;
	for (size_t i = 1; i + 1 < length; i++) {
		if (!isupper((unsigned char)token[i]))
			return false;
		zone->letters[reader->list_orders - 1] |= letter_role(token[i]);
	}
	zone->has_letters = true;
	reader->in_list_item = false;
	return true;
}

static bool list_end_token(struct fl_text_reader *reader, const char *token)
{
	struct fl_mem_zone *zone = current_zone(reader);
	uint64_t kb;

	if (reader->context != TEXT_LIST || !zone)
		return false;
	if (!strcmp(reader->prev[0], "=") && !isalpha((unsigned char)reader->prev[1][0]) &&
	    parse_amount(token, &kb) == 1) { /* not "Free swap = 0kB" behind a list that was cut */
		zone->lists_sum_kb = kb;
		reader->context = TEXT_NONE;
		return true;
	}
	if (!strcmp(token, "<...>") || !strcmp(token, "...") || !strcmp(token, "[...]")) {
		zone->lists_incomplete = true;
		fl_mem_report_warn(reader->report, reader->line,
				   "the free lists of zone %s are elided after order %d; larger orders are not known",
				   zone->name, (int)reader->list_orders - 1);
		return true;
	}
	return !strcmp(token, "=");
}

/* "DMA32: empty" */
static bool empty_token(struct fl_text_reader *reader, const char *token)
{
	struct fl_mem_zone *zone;
	bool named;

	if (strcmp(token, "empty") || !fl_text_is_zone_name(reader->prev[0], false) || !strchr(reader->prev[0], ':'))
		return false;
	if (zone_is_there(reader, true) || !reader->state || !reader->state->dump)
		fl_text_begin_state(reader, true);
	zone = named_zone(reader, &named);
	if (zone) {
		zone->lists_line = reader->line;
		zone->lists_sum_kb = 0;
	}
	return true;
}

/* --- zones, nodes, totals ----------------------------------------------------------------------------------------- */

static void begin_zone(struct fl_text_reader *reader)
{
	struct fl_mem_zone *zone;
	bool named;

	if (reader->context == TEXT_LIST)
		fl_text_dump_end_list(reader);
	if (zone_is_there(reader, false))
		fl_text_begin_state(reader, true);
	else
		fl_text_state(reader, true);
	zone = named_zone(reader, &named);
	reader->context = zone ? TEXT_ZONE : TEXT_NONE;
	if (zone)
		zone->line = reader->line;
	else if (reader->state)
		fl_mem_report_warn(reader->report, reader->line,
				   "figures of a zone (\"%s\" stands before \"free:\") name no zone and were left out",
				   reader->prev[0]);
}

static void set_zone_amount(struct fl_text_reader *reader, const char *key, size_t length, uint64_t kb)
{
	struct fl_mem_zone *zone = current_zone(reader);
	uint64_t *figure;
	char name[64];

	if (!zone || !length || length >= sizeof(name))
		return;
	figure = zone_figure(zone, key, length);
	if (figure) {
		*figure = kb;
		return;
	}
	snprintf(name, sizeof(name), "%.*s", (int)length, key);
	fl_mem_values_set(&zone->stats, name, kb);
}

static void add_node_kb(struct fl_text_reader *reader, const char *key, size_t length, uint64_t kb)
{
	char name[64];
	uint64_t before;

	if (length >= sizeof(name))
		return;
	snprintf(name, sizeof(name), "%.*s", (int)length, key);
	before = fl_mem_values_get(&reader->node_kb, name);
	if (before != FL_MEM_NONE && !__builtin_add_overflow(kb, before, &kb))
		fl_mem_values_set(&reader->node_kb, name, kb);
	else
		fl_mem_values_set(&reader->node_kb, name, kb);
}

static void set_total(struct fl_text_reader *reader, const char *key, size_t length, uint64_t pages)
{
	char name[64];

	if (length >= sizeof(name) || !reader->state)
		return;
	snprintf(name, sizeof(name), "%.*s", (int)length, key);
	if (name[0] == 'A') /* "Active:" of old kernels */
		name[0] = 'a';
	fl_mem_values_set(&reader->state->totals, name, pages);
}

static void amount(struct fl_text_reader *reader, const char *key, size_t length, uint64_t value, bool kb)
{
	if (kb && reader->context == TEXT_ZONE)
		set_zone_amount(reader, key, length, value);
	else if (kb && reader->context == TEXT_NODE)
		add_node_kb(reader, key, length, value);
	else if (!kb && reader->context == TEXT_TOTALS)
		set_total(reader, key, length, value);
}

/* Does "key:value" open another kind of line? */
static void switch_context(struct fl_text_reader *reader, const char *key, size_t length, bool kb)
{
	bool after_node = !strcmp(reader->prev[1], "Node") && fl_text_is_number(reader->prev[0]);

	if ((kb && key_is(key, length, "free")) || key_is(key, length, "freepages")) {
		begin_zone(reader);
	} else if (kb && after_node) {
		fl_text_state(reader, true);
		reader->context = TEXT_NODE;
		reader->nodes_seen++;
	} else if (!kb && (key_is(key, length, "active_anon") || key_is(key, length, "Active"))) {
		if (!reader->state || !reader->state->dump || reader->state->totals.count)
			fl_text_begin_state(reader, true);
		reader->context = TEXT_TOTALS;
	} else if (!kb && reader->context == TEXT_NONE && reader->state && reader->state->dump &&
		   !reader->state->zones_count) {
		reader->context = TEXT_TOTALS;
	}
}

/* In a line of figures; elsewhere it may be what somebody wrote. */
static bool no_amount(struct fl_text_reader *reader, const char *token)
{
	bool figures = reader->context == TEXT_ZONE || reader->context == TEXT_NODE;
	bool totals = reader->context == TEXT_TOTALS ||
		      (reader->context == TEXT_NONE && reader->state && reader->state->dump && !reader->state->zones_count);
	struct fl_procline why = { .word = token, .length = strlen(token) };

	if (!figures && !totals)
		return false;
	why.expected = totals ? "a number of pages behind the colon"
			      : "an amount in kB behind the colon; the line was probably cut";
	fl_text_unread(reader, reader->line, &why);
	return true;
}

/* "key:value", "key:" whose value follows, "all_unreclaimable?" */
static bool amount_token(struct fl_text_reader *reader, const char *token)
{
	size_t length = strcspn(token, ":");
	uint64_t value;
	int unit;

	if (token[length] != ':' || !length || !is_known_key(token, length))
		return false;
	if (!token[length + 1]) {
		snprintf(reader->pending_key, sizeof(reader->pending_key), "%.*s", (int)length, token);
		if (key_is(token, length, "freepages")) {
			switch_context(reader, token, length, true);
			snprintf(reader->pending_key, sizeof(reader->pending_key), "freepages");
		}
		return true;
	}
	unit = parse_amount(token + length + 1, &value);
	if (unit < 0)
		return no_amount(reader, token);
	switch_context(reader, token, length, unit == 1);
	amount(reader, token, length, value, unit == 1);
	return true;
}

static bool pending_token(struct fl_text_reader *reader, const char *token)
{
	char key[sizeof(reader->pending_key)];
	uint64_t value;
	int unit = parse_amount(token, &value);

	if (!reader->pending_key[0])
		return false;
	memcpy(key, reader->pending_key, sizeof(key));
	reader->pending_key[0] = '\0';
	if (unit < 0)
		return false;
	amount(reader, key, strlen(key), value, unit == 1);
	return true;
}

static bool reserve_token(struct fl_text_reader *reader, const char *token)
{
	struct fl_mem_zone *zone = current_zone(reader);
	const char *p = token;
	uint64_t pages;

	if (!strcmp(token, "lowmem_reserve[]:") || !strcmp(token, "protections[]:")) {
		if (!zone)
			fl_mem_report_warn(reader->report, reader->line,
					   "lowmem_reserve without a zone before it was left out");
		reader->context = TEXT_RESERVE;
		return zone != NULL;
	}
	if (reader->context != TEXT_RESERVE)
		return false;
	if (!fl_text_number(&p, &pages) || *p) {
		reader->context = TEXT_NONE;
		return false;
	}
	if (zone && zone->protection_count < FL_MEM_PROTECTION_MAX)
		zone->protection[zone->protection_count++] = pages;
	return true;
}

/* --- the tail ----------------------------------------------------------------------------------------------------- */

static bool prev_number(const struct fl_text_reader *reader, int back, uint64_t *ret)
{
	const char *p = reader->prev[back];

	return fl_text_number(&p, ret) && !*p;
}

/* "4160841 pages RAM", "96567 pages reserved", "8192 pages cma reserved", "Free swap  = 0kB" */
static bool tail_token(struct fl_text_reader *reader, const char *token)
{
	struct fl_mem_values *totals = reader->state && reader->state->dump ? &reader->state->totals : NULL;
	uint64_t value;

	if (!totals)
		return false;
	if (!strcmp(token, "RAM")) {
		int back = !strcmp(reader->prev[0], "of") ? 1 : 0;

		if (strcmp(reader->prev[back], "pages") || !prev_number(reader, back + 1, &value))
			return false;
		fl_mem_values_set(totals, "ram_pages", value);
	} else if (!strcmp(token, "HighMem/MovableOnly") && prev_number(reader, 1, &value)) {
		fl_mem_values_set(totals, "highmem_or_movable_pages", value);
	} else if (!strcmp(token, "reserved") && !strcmp(reader->prev[0], "cma") && prev_number(reader, 2, &value)) {
		fl_mem_values_set(totals, "cma_reserved_pages", value);
	} else if (!strcmp(token, "reserved") && !strcmp(reader->prev[0], "pages") && prev_number(reader, 1, &value)) {
		fl_mem_values_set(totals, "reserved_pages", value);
	} else if (!strcmp(token, "pagecache") && !strcmp(reader->prev[0], "total") && prev_number(reader, 1, &value)) {
		fl_mem_values_set(totals, "pagecache_pages", value);
	} else if (!strcmp(reader->prev[0], "=") && !strcmp(reader->prev[1], "swap") && parse_amount(token, &value) == 1) {
		fl_mem_values_set(totals, !strcmp(reader->prev[2], "Free") ? "swap_free_kb" : "swap_total_kb", value);
	} else {
		return !strncmp(token, "hugepages_", 10);
	}
	return true;
}

static bool mem_info_token(struct fl_text_reader *reader, const char *token)
{
	if (strcasecmp(token, "Mem-Info:"))
		return false;
	if (reader->context == TEXT_LIST)
		fl_text_dump_end_list(reader);
	fl_text_begin_state(reader, true);
	reader->zone_plus1 = 0;
	return true;
}

static bool unreclaimable_token(struct fl_text_reader *reader, const char *token)
{
	struct fl_mem_zone *zone = current_zone(reader);

	if (strcmp(reader->prev[0], "all_unreclaimable?"))
		return false;
	if (!strcmp(token, "yes") && reader->context == TEXT_ZONE && zone)
		zone->all_unreclaimable = true;
	else if (!strcmp(token, "yes") && reader->context == TEXT_NODE && reader->state)
		fl_mem_values_set(&reader->state->totals, "all_unreclaimable_nodes", 1);
	return true;
}

bool fl_text_dump_token(struct fl_text_reader *reader, const char *token)
{
	if (pending_token(reader, token))
		return true;
	return mem_info_token(reader, token) || list_token(reader, token) || letters_token(reader, token) ||
	       list_end_token(reader, token) || reserve_token(reader, token) || amount_token(reader, token) ||
	       empty_token(reader, token) || unreclaimable_token(reader, token) || tail_token(reader, token);
}

/* The last token of a line of a zone or a list that has no unit: the line may have been cut inside it. */
bool fl_text_dump_should_hold(const struct fl_text_reader *reader, const char *token)
{
	size_t length = strlen(token);

	if (reader->context == TEXT_LIST)
		return isdigit((unsigned char)*token) && strspn(token, "0123456789*k") == length;
	if (reader->context != TEXT_ZONE && reader->context != TEXT_NODE)
		return false;
	if (strspn(token, "abcdefghijklmnopqrstuvwxyz_()") == length)
		return strcmp(token, "yes") && strcmp(token, "no");
	if (!strncmp(token, "pages_scanned:", 14))
		return false;
	return strchr(token, ':') && strspn(token, "abcdefghijklmnopqrstuvwxyz_():0123456789k") == length;
}

bool fl_text_dump_joins(const struct fl_text_reader *reader, const char *joined, const char *token)
{
	size_t length = strcspn(joined, ":"), own = strcspn(token, ":");
	uint64_t value;
	const char *p = joined;

	if (reader->context == TEXT_LIST)
		return (*token == '*' || !strchr(token, '*')) && fl_text_number(&p, &value) && *p++ == '*' &&
		       fl_text_number(&p, &value) && !strcasecmp(p, "kB");
	if (joined[length] != ':' || !is_known_key(joined, length) || parse_amount(joined + length + 1, &value) != 1)
		return false;
	return token[own] != ':' || !is_known_key(token, own);
}
