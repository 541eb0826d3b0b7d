/*
 * observe/evidence.c - the texts of a diagnosis: what the request asked for, what each zone says, with line numbers.
 *
 * Owns the memory of struct fl_diagnosis. Amounts are kB, as in the dumps themselves, so that they can be compared.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "observe/diagnose_internal.h"

const char *fl_zone_label(const struct fl_mem_zone *zone, char *to, size_t size)
{
	if (zone->node >= 0)
		snprintf(to, size, "Node %d %s", zone->node, zone->name);
	else
		snprintf(to, size, "%s", zone->name);
	return to;
}

/* --- room for texts ----------------------------------------------------------------------------------------------- */

char *fl_diagnosis_format(const char *fmt, va_list ap)
{
	struct fl_text text;

	fl_text_init(&text);
	fl_text_vadd(&text, fmt, ap);
	return text.data;
}

void fl_diagnosis_evidence(struct fl_diagnosis *d, unsigned int line, const char *fmt, ...)
{
	va_list ap;

	d->evidence = fl_xrealloc(d->evidence, (d->evidence_count + 1) * sizeof(*d->evidence));
	va_start(ap, fmt);
	d->evidence[d->evidence_count].line = line;
	d->evidence[d->evidence_count++].text = fl_diagnosis_format(fmt, ap);
	va_end(ap);
}

void fl_diagnosis_advice(struct fl_diagnosis *d, const char *command, const char *fmt, ...)
{
	va_list ap;

	d->advice = fl_xrealloc(d->advice, (d->advice_count + 1) * sizeof(*d->advice));
	va_start(ap, fmt);
	d->advice[d->advice_count].text = fl_diagnosis_format(fmt, ap);
	d->advice[d->advice_count++].command = command ? fl_xstrdup(command) : NULL;
	va_end(ap);
}

void fl_diagnosis_useless(struct fl_diagnosis *d, const char *fmt, ...)
{
	va_list ap;

	d->useless = fl_xrealloc(d->useless, (d->useless_count + 1) * sizeof(*d->useless));
	va_start(ap, fmt);
	d->useless[d->useless_count++] = fl_diagnosis_format(fmt, ap);
	va_end(ap);
}

void fl_diagnosis_fini(struct fl_diagnosis *d)
{
	size_t i;

	for (i = 0; i < d->evidence_count; i++)
		free(d->evidence[i].text);
	for (i = 0; i < d->advice_count; i++) {
		free(d->advice[i].text);
		free(d->advice[i].command);
	}
	for (i = 0; i < d->useless_count; i++)
		free(d->useless[i]);
	free(d->evidence);
	free(d->advice);
	free(d->useless);
	free(d->checks);
	free(d->headline);
	free(d->lab);
	memset(d, 0, sizeof(*d));
}

unsigned long long fl_diagnosis_kb(const struct fl_diagnosis *d, uint64_t pages)
{
	return pages == FL_MEM_NONE ? 0 : (ull)pages * (d->state->page_size / 1024);
}

static uint64_t stat_sum(const struct fl_mem_zone *zone, const char *const *names)
{
	uint64_t sum = FL_MEM_NONE;

	for (; *names; names++) {
		uint64_t value = fl_mem_values_get(&zone->stats, *names);

		if (value != FL_MEM_NONE && value < 1ull << 50)
			sum = sum == FL_MEM_NONE ? value : sum + value;
	}
	return sum;
}

static const char *const file_names[] = { "active_file", "inactive_file", "nr_zone_active_file", "nr_zone_inactive_file",
					  NULL };
static const char *const lru_names[] = { "active_anon", "inactive_anon", "active_file", "inactive_file", "active",
					 "inactive", "nr_zone_active_file", "nr_zone_inactive_file",
					 "nr_zone_active_anon", "nr_zone_inactive_anon", NULL };

uint64_t fl_diagnosis_lru(const struct fl_diagnosis *d, bool file_only)
{
	uint64_t sum = FL_MEM_NONE;

	for (size_t i = 0; i < d->checks_count; i++) {
		uint64_t value;

		if (d->checks[i].use != FL_ZONE_MAY_USE)
			continue;
		value = stat_sum(d->checks[i].zone, file_only ? file_names : lru_names);
		if (value != FL_MEM_NONE)
			sum = sum == FL_MEM_NONE ? value : sum + value;
	}
	if (sum == FL_MEM_NONE && d->state) { /* zone lines were cut: what Mem-Info says of the whole machine */
		uint64_t active = fl_mem_values_get(&d->state->totals, file_only ? "active_file" : "active_anon");
		uint64_t inactive = fl_mem_values_get(&d->state->totals, file_only ? "inactive_file" : "inactive_anon");

		if (active != FL_MEM_NONE && inactive != FL_MEM_NONE)
			sum = active + inactive;
	}
	return sum;
}

uint64_t fl_diagnosis_managed(const struct fl_diagnosis *d)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < d->checks_count; i++) {
		uint64_t managed = fl_mem_zone_managed(d->checks[i].zone);

		if (d->checks[i].use == FL_ZONE_MAY_USE && managed != FL_MEM_NONE)
			sum += managed;
	}
	if (!sum) { /* the zone lines were cut */
		uint64_t ram = fl_mem_values_get(&d->state->totals, "ram_pages");
		uint64_t reserved = fl_mem_values_get(&d->state->totals, "reserved_pages");

		return ram != FL_MEM_NONE && reserved != FL_MEM_NONE && reserved < ram ? ram - reserved : ram;
	}
	return sum;
}

/* --- evidence ----------------------------------------------------------------------------------------------------- */

static void add_terms(const struct fl_diagnosis *d, const struct fl_arith_test *test, struct fl_text *text)
{
	fl_text_add(text, "%llukB free", fl_diagnosis_kb(d, test->free));
	if (test->order_pages)
		fl_text_add(text, " - %llukB (order %d)", fl_diagnosis_kb(d, test->order_pages), d->order);
	if (test->cma_pages)
		fl_text_add(text, " - %llukB (CMA)", fl_diagnosis_kb(d, test->cma_pages));
	if (test->highatomic_pages)
		fl_text_add(text, " - %llukB (highatomic)", fl_diagnosis_kb(d, test->highatomic_pages));
	if (test->order_pages || test->cma_pages || test->highatomic_pages)
		fl_text_add(text, " = %lldkB", (long long)test->usable * (long long)(d->state->page_size / 1024));
	fl_text_add(text, " %s %llukB (min", test->usable > (int64_t)(test->mark + test->reserve) ? ">" : "<=",
		    fl_diagnosis_kb(d, test->mark));
	if (test->mark != test->min)
		fl_text_add(text, " %llukB, lowered for this request", fl_diagnosis_kb(d, test->min));
	if (test->boost)
		fl_text_add(text, ", %llukB of it boost", fl_diagnosis_kb(d, test->boost));
	fl_text_add(text, ")");
	if (test->reserve)
		fl_text_add(text, " + %llukB (lowmem_reserve) = %llukB", fl_diagnosis_kb(d, test->reserve),
			    fl_diagnosis_kb(d, test->mark + test->reserve));
}

/* Where the blocks are that the request may not take. Reserve is what kernels before 4.4 have. */
static const char *only_in(const struct fl_arith_test *test, bool old)
{
	if (test->only_cma && test->only_highatomic)
		return old ? "CMA and Reserve" : "CMA and the highatomic reserve";
	if (test->only_cma)
		return "CMA";
	if (test->only_highatomic)
		return old ? "Reserve" : "the highatomic reserve";
	return "isolated pageblocks";
}

static void add_blocks(const struct fl_diagnosis *d, const struct fl_zone_check *check, struct fl_text *text)
{
	const struct fl_arith_test *test = &check->test;

	if (d->order <= 0)
		return;
	if (test->by_order_failed)
		fl_text_add(text, "; but only %llukB of it in larger orders, where kernels before 4.4 want more than "
				  "%llukB",
			    fl_diagnosis_kb(d, test->by_order_pages), fl_diagnosis_kb(d, test->by_order_mark));
	else if (!test->lists_known)
		fl_text_add(text, "; its free lists are not in the text");
	else if (test->block_ok)
		fl_text_add(text, "; %llu free blocks of order %d", (ull)test->blocks, d->order);
	else if (!test->blocks)
		fl_text_add(text, "; no free block of order %d or larger%s", d->order,
			    check->zone->lists_incomplete ? " in the orders that were printed" : "");
	else
		fl_text_add(text, "; the free blocks of order %d or larger are in %s only, %s", d->order,
			    only_in(test, d->flags.by_order), d->flags.by_order && test->only_highatomic && !test->only_cma
							      ? "which this kernel gives out last"
							      : "not for this request");
}

static const char *zone_word(const struct fl_zone_check *check)
{
	if (check->use == FL_ZONE_ABOVE_CEILING)
		return "not for this request (gfp flags)";
	if (check->use == FL_ZONE_OTHER_NODE)
		return "not for this request (nodes)";
	if (!check->test.known)
		return "cannot be tested";
	if (check->passes)
		return "passes";
	if (!check->test.pages_ok)
		return check->cause == FL_VERDICT_SHORTAGE ? "fails"
							   : "fails, and would pass without this term";
	return check->test.lists_known ? "fails for want of a block" : "passes as far as can be told";
}

const char *fl_zone_deciding_term(const struct fl_zone_check *check)
{
	switch (check->cause) {
	case FL_VERDICT_CMA: return "CMA";
	case FL_VERDICT_BOOST: return "boost";
	case FL_VERDICT_HIGHATOMIC: return "highatomic";
	case FL_VERDICT_LOWMEM_RESERVE: return "lowmem_reserve";
	default: return NULL;
	}
}

static void zone_evidence(struct fl_diagnosis *d, const struct fl_zone_check *check)
{
	const char *term = check->test.known && !check->test.pages_ok ? fl_zone_deciding_term(check) : NULL;
	struct fl_text text;
	char label[48];

	fl_text_init(&text);
	fl_text_add(&text, "%s: ", fl_zone_label(check->zone, label, sizeof(label)));
	if (check->test.known)
		add_terms(d, &check->test, &text);
	else if (check->zone->wrapped)
		fl_text_add(&text, "impossible figures");
	else if (check->zone->free != FL_MEM_NONE)
		fl_text_add(&text, "%llukB free, watermarks not in the text", fl_diagnosis_kb(d, check->zone->free));
	else
		fl_text_add(&text, "free pages and watermarks not in the text");
	if (check->use == FL_ZONE_MAY_USE)
		add_blocks(d, check, &text);
	if (term)
		fl_text_add(&text, ": fails; without %s it would pass", term);
	else
		fl_text_add(&text, ": %s", zone_word(check));
	fl_diagnosis_evidence(d, check->zone->line ? check->zone->line : check->zone->lists_line, "%s", text.data);
	fl_text_fini(&text);
}

void fl_evidence_of_request(struct fl_diagnosis *d)
{
	const struct fl_mem_request *r = d->request;
	struct fl_text text;

	fl_text_init(&text);
	if (r->comm[0])
		fl_text_add(&text, "%s", r->comm);
	else
		fl_text_add(&text, r->kind == FL_MEM_REQUEST_OOM ? "whoever met the OOM killer" : "someone");
	fl_text_add(&text, " asked for order %d", d->order);
	if (d->state)
		fl_text_add(&text, " (%llukB in one piece)", d->order < 30 ? fl_diagnosis_kb(d, 1ull << d->order) : 0);
	if (r->has_gfp)
		fl_text_add(&text, ", gfp 0x%llx%s%s%s", (ull)r->gfp_raw, r->gfp_names[0] ? " (" : "", r->gfp_names,
			    r->gfp_names[0] ? ")" : "");
	fl_text_add(&text, ": %s", d->flags.cma ? "movable" : "not movable");
	fl_text_add(&text, ", %s", d->flags.can_reclaim ? "may reclaim and compact" : "may neither reclaim nor compact");
	if (d->order_assumed)
		fl_text_add(&text, " (the text gives no order; 0 is assumed)");
	fl_diagnosis_evidence(d, r->line_first, "%s", text.data);
	fl_text_fini(&text);
	if (r->state_shared)
		fl_diagnosis_evidence(d, d->state ? d->state->line_first : 0,
				      "the state of memory was printed for another request: this one came without "
				      "(rate limit)");
	if (r->state_before && r->kind != FL_MEM_REQUEST_OOM)
		fl_diagnosis_evidence(d, d->state ? d->state->line_first : 0,
				      "the state of memory was printed before this request: it may have changed");
}

void fl_evidence_of_zones(struct fl_diagnosis *d)
{
	for (size_t i = d->checks_count; i-- > 0;)
		zone_evidence(d, &d->checks[i]);
}

/* Types of the free blocks of an order, as in "Unmovable, Movable"; "" when the text does not tell. */
static void add_types_at(const struct fl_diagnosis *d, const struct fl_mem_zone *zone, unsigned int order,
			 struct fl_text *text)
{
	bool any = false;

	for (unsigned int role = 0; zone->has_letters && role < FL_MEM_ROLES; role++) {
		if (!(zone->letters[order] >> role & 1))
			continue;
		fl_text_add(text, "%s%s", any ? ", " : " of type ", fl_mem_role_name((enum fl_mem_role)role));
		any = true;
	}
	for (unsigned int t = 0; !zone->has_letters && zone->has_type_rows && t < d->state->types_count; t++) {
		if (!zone->type_free[t][order])
			continue;
		fl_text_add(text, "%s%s", any ? ", " : " of type ", d->state->types[t].name);
		any = true;
	}
}

void fl_evidence_of_lists(struct fl_diagnosis *d, const struct fl_mem_zone *zone)
{
	unsigned int block = d->state->pageblock_order ? d->state->pageblock_order
						       : fl_arith_pmd_order(d->state->page_size);
	struct fl_text text;
	char label[48];

	fl_text_init(&text);
	fl_text_add(&text, "%s: unusable index for order %d: %d of 1000 (the share of free memory in smaller blocks)",
		    fl_zone_label(zone, label, sizeof(label)), d->order,
		    fl_arith_unusable_index(zone->free_blocks, zone->orders_count, (unsigned int)d->order));
	for (unsigned int o = zone->orders_count; o-- > 0;) {
		if (!zone->free_blocks[o])
			continue;
		fl_text_add(&text, "; the largest free blocks are %llu of order %u", (ull)zone->free_blocks[o], o);
		add_types_at(d, zone, o, &text);
		break;
	}
	fl_text_add(&text, "; its free pages would fill %llu pageblocks of order %u, and %llu are wholly free",
		    (ull)(fl_arith_pages(zone->free_blocks, zone->orders_count) >> block), block,
		    (ull)fl_arith_blocks(zone->free_blocks, zone->orders_count, block));
	fl_diagnosis_evidence(d, zone->lists_line, "%s", text.data);
	fl_text_fini(&text);
}

void fl_evidence_of_movable(struct fl_diagnosis *d)
{
	uint64_t lru = fl_diagnosis_lru(d, false), managed = fl_diagnosis_managed(d);

	if (lru == FL_MEM_NONE || managed == FL_MEM_NONE || !managed)
		return;
	fl_diagnosis_evidence(d, 0, "%llukB of %llukB in these zones are on LRU lists: memory that compaction can move",
			      fl_diagnosis_kb(d, lru), fl_diagnosis_kb(d, managed));
}

