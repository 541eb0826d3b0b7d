/*
 * observe/diagnose.c - from figures to a verdict.
 *
 * Rules, in this order (docs/INSPECT.md): kinds of messages that say themselves what was wrong; impossible orders and
 * impossible figures; then the watermark test in every zone that the request may use. A term of the test is the cause
 * when the zone would pass without it. Nothing is decided by a threshold except where the text says so.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "observe/diagnose_internal.h"
#include "observe/gfp.h"

static const struct {
	const char *name, *meaning;
} verdicts[FL_VERDICTS] = {
	[FL_VERDICT_FRAGMENTATION] = { "fragmentation", "free memory is there, but in pieces that are too small" },
	[FL_VERDICT_SHORTAGE] = { "shortage", "memory is used up and hardly any of it can be reclaimed" },
	[FL_VERDICT_WATERMARK] = { "watermark", "free memory is below the watermark while reclaimable memory is there" },
	[FL_VERDICT_BOOST] = { "boost", "only the temporary boost of the watermarks stands in the way" },
	[FL_VERDICT_LOWMEM_RESERVE] = { "lowmem_reserve", "free memory of a low zone is kept for requests that need "
							  "it" },
	[FL_VERDICT_ZONE_CONSTRAINT] = { "zone_constraint", "the zones that it may use are short, others are not" },
	[FL_VERDICT_NODE_CONSTRAINT] = { "node_constraint", "the nodes that it may use are short, others are not" },
	[FL_VERDICT_CMA] = { "cma", "free memory is CMA, which this request cannot use" },
	[FL_VERDICT_HIGHATOMIC] = { "highatomic", "free memory is the reserve for atomic high-order requests" },
	[FL_VERDICT_MEMCG] = { "memcg", "a memory cgroup reached its limit; the machine did not" },
	[FL_VERDICT_ADDRESS_SPACE] = { "address_space", "kernel address space is used up, not memory" },
	[FL_VERDICT_IMPOSSIBLE_ORDER] = { "impossible_order", "no machine can give a block of that order" },
	[FL_VERDICT_HARMLESS] = { "harmless", "a try for large blocks that has a fallback; the caller got its memory" },
	[FL_VERDICT_BAD_ACCOUNTING] = { "bad_accounting", "the kernel's figures are impossible: a bug in its "
							  "accounting" },
	[FL_VERDICT_UNKNOWN] = { "unknown", "the figures do not explain it" },
};

const char *fl_verdict_name(enum fl_verdict verdict)
{
	return verdicts[verdict].name;
}

const char *fl_verdict_meaning(enum fl_verdict verdict)
{
	return verdicts[verdict].meaning;
}

static void __attribute__((format(printf, 3, 4))) conclude(struct fl_diagnosis *d, enum fl_verdict verdict,
							    const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	free(d->headline);
	d->headline = fl_diagnosis_format(fmt, ap);
	va_end(ap);
	d->verdict = verdict;
}

static void also(struct fl_diagnosis *d, enum fl_verdict verdict)
{
	d->also |= 1u << verdict;
}

/* --- zones -------------------------------------------------------------------------------------------------------- */

static enum fl_zone_use zone_use(const struct fl_diagnosis *d, const struct fl_mem_zone *zone)
{
	const struct fl_mem_request *request = d->request;

	if (zone->kind == FL_MEM_ZONE_DEVICE ||
	    (zone->kind != FL_MEM_ZONE_OTHER && zone->kind > (uint8_t)d->flags.ceiling))
		return FL_ZONE_ABOVE_CEILING;
	if (!fl_arith_node_in(request->nodemask, zone->node))
		return FL_ZONE_OTHER_NODE;
	if ((d->flags.can_reclaim || !request->has_gfp) && !fl_arith_node_in(request->mems_allowed, zone->node))
		return FL_ZONE_OTHER_NODE; /* atomic requests may leave the cpuset */
	return FL_ZONE_MAY_USE;
}

/* Would the zone pass without this term? */
static bool passes_without(const struct fl_diagnosis *d, const struct fl_mem_zone *zone, uint64_t free,
			   unsigned int without)
{
	struct fl_arith_test test;

	fl_arith_test(d->state, zone, free, &d->flags, d->order, without, &test);
	return test.pages_ok;
}

/* Which single term of the test decides; shortage or watermark stands as SHORTAGE until reclaim is looked at. */
static enum fl_verdict cause_of_pages(const struct fl_diagnosis *d, const struct fl_zone_check *check)
{
	const struct fl_mem_zone *zone = check->zone;
	uint64_t free = check->test.free;

	if (check->test.cma_pages && passes_without(d, zone, free, FL_ARITH_WITHOUT_CMA))
		return FL_VERDICT_CMA;
	if (check->test.boost && passes_without(d, zone, free, FL_ARITH_WITHOUT_BOOST))
		return FL_VERDICT_BOOST;
	if (check->test.highatomic_pages && passes_without(d, zone, free, FL_ARITH_WITHOUT_HIGHATOMIC))
		return FL_VERDICT_HIGHATOMIC;
	if (check->test.reserve && passes_without(d, zone, free, FL_ARITH_WITHOUT_RESERVE))
		return FL_VERDICT_LOWMEM_RESERVE;
	return FL_VERDICT_SHORTAGE;
}

/* Free pages that the lists do not account for could hold a block: the line was cut. */
static bool list_may_hide_block(const struct fl_diagnosis *d, const struct fl_zone_check *check)
{
	uint64_t listed = fl_arith_pages(check->zone->free_blocks, check->zone->orders_count);

	return check->zone->lists_incomplete && check->test.free != FL_MEM_NONE && d->order < 40 &&
	       check->test.free > listed && check->test.free - listed >= 1ull << d->order;
}

static void judge_zone(const struct fl_diagnosis *d, struct fl_zone_check *check)
{
	fl_arith_test(d->state, check->zone, check->zone->free, &d->flags, d->order, 0, &check->test);
	check->cause = FL_VERDICT_UNKNOWN;
	if (!check->test.known)
		return;
	if (!check->test.pages_ok) {
		check->cause = cause_of_pages(d, check);
	} else if (check->test.by_order_failed ||
		   (check->test.lists_known && !check->test.block_ok && !list_may_hide_block(d, check))) {
		check->cause = FL_VERDICT_FRAGMENTATION;
	} else {
		check->passes = check->test.lists_known || d->order == 0;
	}
}

static void judge_zones(struct fl_diagnosis *d)
{
	free(d->checks);
	d->checks = fl_xcalloc(d->state->zones_count, sizeof(*d->checks));
	d->checks_count = 0;
	for (size_t i = 0; i < d->state->zones_count; i++) {
		struct fl_zone_check *check = &d->checks[d->checks_count];

		if (!fl_mem_zone_is_populated(&d->state->zones[i]))
			continue;
		check->zone = &d->state->zones[i];
		check->use = zone_use(d, check->zone);
		judge_zone(d, check);
		d->checks_count++;
	}
}

static uint64_t weight(const struct fl_mem_zone *zone)
{
	uint64_t managed = fl_mem_zone_managed(zone);

	if (managed != FL_MEM_NONE && managed < 1ull << 50)
		return managed;
	if (zone->free != FL_MEM_NONE && zone->free < 1ull << 50)
		return zone->free;
	return fl_arith_pages(zone->free_blocks, zone->orders_count);
}

/* The largest zone that the request may use: the one that should have served it. */
static struct fl_zone_check *main_zone(const struct fl_diagnosis *d)
{
	struct fl_zone_check *best = NULL;

	for (size_t i = 0; i < d->checks_count; i++)
		if (d->checks[i].use == FL_ZONE_MAY_USE && (!best || weight(d->checks[i].zone) >= weight(best->zone)))
			best = &d->checks[i];
	return best;
}

static struct fl_zone_check *zone_with(const struct fl_diagnosis *d, enum fl_verdict cause)
{
	struct fl_zone_check *best = NULL;

	for (size_t i = 0; i < d->checks_count; i++)
		if (d->checks[i].use == FL_ZONE_MAY_USE && d->checks[i].test.known && !d->checks[i].passes &&
		    d->checks[i].cause == cause && (!best || weight(d->checks[i].zone) >= weight(best->zone)))
			best = &d->checks[i];
	return best;
}

static struct fl_zone_check *passing_zone(const struct fl_diagnosis *d, enum fl_zone_use use)
{
	struct fl_zone_check *best = NULL;

	for (size_t i = 0; i < d->checks_count; i++)
		if (d->checks[i].use == use && d->checks[i].passes &&
		    (!best || weight(d->checks[i].zone) >= weight(best->zone)))
			best = &d->checks[i];
	return best;
}

/* --- conclusions -------------------------------------------------------------------------------------------------- */

/* Memory that reclaim could free without swapping. For OOM, slab counts as what reclaim did not get. */
static uint64_t reclaimable(const struct fl_diagnosis *d)
{
	uint64_t file = fl_diagnosis_lru(d, true);
	uint64_t slab = d->request->kind == FL_MEM_REQUEST_OOM ? 0
			: fl_mem_values_get(&d->state->totals, "slab_reclaimable");

	if (file == FL_MEM_NONE)
		return FL_MEM_NONE;
	return file + (slab == FL_MEM_NONE ? 0 : slab);
}

/* Of the main zone: small ones are often called so for nothing. */
static bool all_unreclaimable(const struct fl_diagnosis *d)
{
	const struct fl_zone_check *check = main_zone(d);

	return check && check->zone->all_unreclaimable;
}

/* One sixteenth of the zones: below it, reclaim has next to nothing to work on. */
static bool little_reclaimable(const struct fl_diagnosis *d)
{
	uint64_t amount = reclaimable(d), managed = fl_diagnosis_managed(d);

	if (all_unreclaimable(d))
		return true;
	if (amount == FL_MEM_NONE || managed == FL_MEM_NONE)
		return d->request->kind == FL_MEM_REQUEST_OOM;
	return amount < managed / 16;
}

static bool largest_user(const struct fl_diagnosis *d, const char **ret_what, uint64_t *ret_pages)
{
	static const struct {
		const char *name, *what;
	} users[] = { { "slab_unreclaimable", "unreclaimable slab" }, { "slab_reclaimable", "reclaimable slab" },
		      { "pagetables", "page tables" }, { "active_anon", "active anonymous memory" },
		      { "inactive_anon", "inactive anonymous memory" }, { "unevictable", "unevictable memory" },
		      { "shmem", "shared memory" }, { "active", "active memory" } };

	*ret_pages = 0;
	for (size_t i = 0; i < sizeof(users) / sizeof(users[0]); i++) {
		uint64_t pages = fl_mem_values_get(&d->state->totals, users[i].name);

		if (pages != FL_MEM_NONE && pages > *ret_pages) {
			*ret_pages = pages;
			*ret_what = users[i].what;
		}
	}
	return *ret_pages > 0;
}

static void conclude_shortage(struct fl_diagnosis *d)
{
	uint64_t amount = reclaimable(d), pages;
	const char *what;

	conclude(d, FL_VERDICT_SHORTAGE,
		 "Real shortage: the zones that this request may use are at their watermark and hardly anything in "
		 "them can be reclaimed.");
	if (amount != FL_MEM_NONE)
		fl_diagnosis_evidence(d, d->state->line_first, "page cache%s: %llukB of %llukB",
				      d->request->kind == FL_MEM_REQUEST_OOM ? "" : " and reclaimable slab",
				      fl_diagnosis_kb(d, amount), fl_diagnosis_kb(d, fl_diagnosis_managed(d)));
	if (all_unreclaimable(d))
		fl_diagnosis_evidence(d, 0, "the kernel calls the zone all_unreclaimable");
	if (largest_user(d, &what, &pages))
		fl_diagnosis_evidence(d, d->state->line_first, "the largest user is %s: %llukB", what,
				      fl_diagnosis_kb(d, pages));
}

static void conclude_reclaim_failed(struct fl_diagnosis *d)
{
	conclude(d, FL_VERDICT_UNKNOWN,
		 "The free lists do not explain it: the zones are near their watermarks, but %llukB of page cache "
		 "could have been reclaimed; look for a limit or protection of a memory cgroup, slow writeback, or a "
		 "fault in reclaim.",
		 fl_diagnosis_kb(d, fl_diagnosis_lru(d, true)));
}

/* Below the mark (or next to it) with nothing else to blame. */
static void conclude_low(struct fl_diagnosis *d)
{
	struct fl_zone_check *elsewhere = passing_zone(d, FL_ZONE_ABOVE_CEILING);
	struct fl_zone_check *other_node = passing_zone(d, FL_ZONE_OTHER_NODE);
	char label[48];

	if (elsewhere)
		also(d, FL_VERDICT_ZONE_CONSTRAINT);
	if (other_node)
		also(d, FL_VERDICT_NODE_CONSTRAINT);
	if (other_node) {
		conclude(d, FL_VERDICT_NODE_CONSTRAINT,
			 "The nodes that this request may use are short; %s, which cpuset or mempolicy forbid, has "
			 "room.",
			 fl_zone_label(other_node->zone, label, sizeof(label)));
	} else if (d->request->kind == FL_MEM_REQUEST_OOM && !little_reclaimable(d)) {
		conclude_reclaim_failed(d);
	} else if (elsewhere) {
		conclude(d, FL_VERDICT_ZONE_CONSTRAINT,
			 "The zones that this request may use are used up; zone %s has %llukB free, but the "
			 "request's flags do not allow it.",
			 elsewhere->zone->name, fl_diagnosis_kb(d, elsewhere->zone->free));
	} else if (little_reclaimable(d)) {
		conclude_shortage(d);
	} else {
		conclude(d, FL_VERDICT_WATERMARK,
			 "Free memory was at the watermark; page cache could have been reclaimed, but this request %s.",
			 !d->flags.can_reclaim ? "cannot wait for that (it is atomic or non-blocking)"
			 : d->request->gfp & FL_GFP_NORETRY ? "gives up after one try (__GFP_NORETRY)"
							    : "did not get it in time");
	}
}

static void conclude_fragmentation(struct fl_diagnosis *d, const struct fl_zone_check *check)
{
	char label[48];

	if (check->test.only_cma)
		also(d, FL_VERDICT_CMA);
	if (check->test.only_highatomic)
		also(d, FL_VERDICT_HIGHATOMIC);
	if (passing_zone(d, FL_ZONE_ABOVE_CEILING))
		also(d, FL_VERDICT_ZONE_CONSTRAINT);
	for (size_t i = 0; i < d->checks_count; i++)
		if (d->checks[i].use == FL_ZONE_MAY_USE && d->checks[i].test.known && !d->checks[i].passes &&
		    fl_zone_deciding_term(&d->checks[i]))
			also(d, d->checks[i].cause);
	conclude(d, FL_VERDICT_FRAGMENTATION,
		 "External fragmentation: %s has %llukB free, more than its watermark asks, but %s of order %d "
		 "(%llukB) for this request.",
		 fl_zone_label(check->zone, label, sizeof(label)), fl_diagnosis_kb(d, check->zone->free),
		 check->test.block_ok ? "too few blocks" : "no block", d->order, fl_diagnosis_kb(d, 1ull << d->order));
	fl_evidence_of_lists(d, check->zone);
	fl_evidence_of_movable(d);
}

static void conclude_cause(struct fl_diagnosis *d, const struct fl_zone_check *check)
{
	const struct fl_arith_test *test = &check->test;
	char label[48];

	fl_zone_label(check->zone, label, sizeof(label));
	if (check->cause == FL_VERDICT_CMA)
		conclude(d, FL_VERDICT_CMA, "%s shows %llukB free, but %llukB of that is CMA, which an unmovable "
					    "request cannot use: %llukB are left for it.",
					    label, fl_diagnosis_kb(d, test->free), fl_diagnosis_kb(d, test->cma_pages),
			 fl_diagnosis_kb(d, test->free > test->cma_pages ? test->free - test->cma_pages : 0));
	else if (check->cause == FL_VERDICT_BOOST)
		conclude(d, FL_VERDICT_BOOST, "%s would have served this request; only the watermark boost of %llukB "
					      "(raised for a while after an unmovable request broke into a movable "
					      "pageblock) stood in the way.", label,
			 fl_diagnosis_kb(d, test->boost));
	else if (check->cause == FL_VERDICT_HIGHATOMIC)
		conclude(d, FL_VERDICT_HIGHATOMIC, "%llukB of what is free in %s is the reserve for atomic "
						   "high-order requests; what is left is below the watermark.",
						   fl_diagnosis_kb(d, test->highatomic_pages), label);
	else if (check->cause == FL_VERDICT_LOWMEM_RESERVE)
		conclude(d, FL_VERDICT_LOWMEM_RESERVE, "%s has %llukB free, but %llukB are kept there for requests "
						       "that need this zone (lowmem_reserve).",
						       label, fl_diagnosis_kb(d, test->free),
						       fl_diagnosis_kb(d, test->reserve));
	else
		conclude_low(d);
}

/* Near: the zone passes now, but the figures were printed after the failure and are within the noise of that. */
static bool is_near(const struct fl_diagnosis *d, const struct fl_zone_check *check)
{
	const struct fl_mem_zone *zone = check->zone;
	uint64_t mark = zone->min, sum = fl_arith_pages(zone->free_blocks, zone->orders_count);
	struct fl_arith_test test;

	if (zone->lists_line && !zone->lists_incomplete && zone->orders_count) {
		fl_arith_test(d->state, zone, sum, &d->flags, d->order, 0, &test);
		if (test.known && !test.pages_ok)
			return true;
	}
	if ((d->flags.can_reclaim || d->request->kind == FL_MEM_REQUEST_OOM) && zone->high != FL_MEM_NONE)
		mark = zone->high;
	return check->test.usable <= (int64_t)(mark + check->test.reserve);
}

/* Zones of less than an eighth of the main one do not count: a few pages of ZONE_DMA are no room to spare. */
static bool all_passing_are_near(const struct fl_diagnosis *d)
{
	uint64_t least = weight(main_zone(d)->zone) / 8;

	for (size_t i = 0; i < d->checks_count; i++)
		if (d->checks[i].use == FL_ZONE_MAY_USE && d->checks[i].passes && weight(d->checks[i].zone) >= least &&
		    !is_near(d, &d->checks[i]))
			return false;
	return true;
}

/* Most of what is free is CMA, and if that counted the zone would be far above its mark. */
static bool cma_makes_near(const struct fl_diagnosis *d, const struct fl_zone_check *check)
{
	uint64_t mark = check->zone->high != FL_MEM_NONE ? check->zone->high : check->zone->min;

	return check->test.cma_pages > check->test.free / 2 && check->test.cma_pages <= check->test.free &&
	       check->test.usable + (int64_t)check->test.cma_pages > (int64_t)(mark + check->test.reserve) &&
	       is_near(d, check);
}

/* A movable request counts CMA as usable; pinned for long or under a vendor's policy it is not. */
static bool fails_without_cma(const struct fl_diagnosis *d)
{
	if (!d->flags.cma)
		return false;
	for (size_t i = 0; i < d->checks_count; i++)
		if (d->checks[i].use == FL_ZONE_MAY_USE && d->checks[i].passes &&
		    passes_without(d, d->checks[i].zone, d->checks[i].test.free, FL_ARITH_WITH_CMA_LOST))
			return false;
	return true;
}

static void conclude_passing(struct fl_diagnosis *d, const struct fl_zone_check *check)
{
	char label[48];

	fl_zone_label(check->zone, label, sizeof(label));
	if (fails_without_cma(d)) {
		uint64_t cma = check->zone->free_cma;

		conclude(d, FL_VERDICT_CMA,
			 "%llukB of the %llukB free in %s are CMA; without them it is below its watermark (%llukB <= "
			 "%llukB). The kernel counts CMA for a movable request, yet this one did not get it: its "
			 "pages are pinned for long, or this kernel keeps CMA apart.",
			 fl_diagnosis_kb(d, cma), fl_diagnosis_kb(d, check->test.free), label,
			 fl_diagnosis_kb(d, check->test.free - cma), fl_diagnosis_kb(d, check->test.mark));
	} else if (all_passing_are_near(d) && cma_makes_near(d, check)) {
		conclude(d, FL_VERDICT_CMA,
			 "%s shows %llukB free, but %llukB of that is CMA, which an unmovable request cannot use: the "
			 "%llukB that are left are next to the watermark.",
			 label, fl_diagnosis_kb(d, check->test.free), fl_diagnosis_kb(d, check->test.cma_pages),
			 fl_diagnosis_kb(d, check->test.free - check->test.cma_pages));
	} else if (all_passing_are_near(d)) {
		fl_diagnosis_evidence(d, 0, "what passes now is within the noise: the figures were printed after the "
					    "failure, and free memory is next to the watermark or below its usual "
					    "mark");
		conclude_low(d);
		if (d->verdict == FL_VERDICT_WATERMARK && d->flags.can_reclaim && !(d->request->gfp & FL_GFP_NORETRY))
			conclude_reclaim_failed(d);
	} else {
		conclude(d, FL_VERDICT_UNKNOWN,
			 "The free lists do not explain it: %s passes the request's test with room to spare. Memory "
			 "was short only at that moment, or a limit that the text does not show (cpuset, mempolicy, "
			 "memory cgroup) applied.",
			 label);
	}
}

/* Without watermarks the lists alone may tell: hardly any block of that order although memory is free. */
static bool conclude_from_lists(struct fl_diagnosis *d, const struct fl_zone_check *check)
{
	uint64_t free = 0, usable = 0;

	if (d->order <= 0)
		return false;
	for (size_t i = 0; i < d->checks_count; i++) {
		const struct fl_mem_zone *zone = d->checks[i].zone;

		if (d->checks[i].use != FL_ZONE_MAY_USE || weight(zone) * 8 < weight(check->zone))
			continue; /* small low zones are kept for others */
		free += fl_arith_pages(zone->free_blocks, zone->orders_count);
		usable += fl_arith_blocks(zone->free_blocks, zone->orders_count, (unsigned int)d->order) << d->order;
	}
	if (!free || usable > free / 50)
		return false;
	conclude(d, FL_VERDICT_FRAGMENTATION,
		 "External fragmentation: %llukB are free, only %llukB of that in blocks of order %d (%llukB) or "
		 "larger; the text has no watermarks.",
		 fl_diagnosis_kb(d, free), fl_diagnosis_kb(d, usable), d->order, fl_diagnosis_kb(d, 1ull << d->order));
	return true;
}

/*
 * At order 0 only the watermark test can fail. A request that could not wait, beside much page cache, met a watermark
 * and no shortage, even where the text has lost the figures.
 */
static bool conclude_order_0(struct fl_diagnosis *d)
{
	uint64_t cache = d->state ? fl_mem_values_get(&d->state->totals, "pagecache_pages") : FL_MEM_NONE, free = 0;

	for (size_t i = 0; d->state && i < d->state->zones_count; i++)
		free += fl_arith_pages(d->state->zones[i].free_blocks, d->state->zones[i].orders_count);
	if (d->order != 0 || d->flags.can_reclaim || cache == FL_MEM_NONE || cache <= free)
		return false;
	conclude(d, FL_VERDICT_WATERMARK,
		 "At order 0 only the watermark test can fail, never fragmentation, and this request could not wait until "
		 "some of the %llukB of page cache were reclaimed. The watermarks themselves are not in the text.",
		 fl_diagnosis_kb(d, cache));
	return true;
}

static void conclude_untestable(struct fl_diagnosis *d, const struct fl_zone_check *check)
{
	if (conclude_from_lists(d, check))
		return;
	if (conclude_order_0(d))
		return;
	if (d->order == 0 && !d->flags.can_reclaim)
		also(d, FL_VERDICT_WATERMARK);
	conclude(d, FL_VERDICT_UNKNOWN,
		 "The text does not tell: the watermarks of the zones are missing%s. The lines \"... free:...kB "
		 "min:...kB\" and \"lowmem_reserve[]\" that the kernel prints under Mem-Info would tell.",
		 d->order == 0 ? " (at order 0 only the watermark test can fail, never fragmentation)" : "");
}

/* Kernels before 3.9 print only `present`, which may leave out pages that are free: that says nothing. */
static bool judge_figures(struct fl_diagnosis *d)
{
	for (size_t i = 0; i < d->checks_count; i++) {
		const struct fl_mem_zone *zone = d->checks[i].zone;
		bool known = zone->managed != FL_MEM_NONE && zone->managed && zone->free != FL_MEM_NONE;

		if (zone->wrapped || (known && zone->free > zone->managed)) {
			conclude(d, FL_VERDICT_BAD_ACCOUNTING,
				 "The figures of zone %s are impossible: a counter of the kernel is wrong, so the "
				 "watermark test fails whatever is free.", zone->name);
			return true;
		}
	}
	return false;
}

static void judge_by_zones(struct fl_diagnosis *d)
{
	struct fl_zone_check *check, *low = main_zone(d);

	if (!low) {
		conclude(d, d->checks_count ? FL_VERDICT_ZONE_CONSTRAINT : FL_VERDICT_UNKNOWN,
			 d->checks_count ? "No zone with memory is open to this request: its flags or its nodes "
					   "exclude all of them."
					 : "The text names no zone.");
		return;
	}
	fl_evidence_of_zones(d);
	check = passing_zone(d, FL_ZONE_MAY_USE);
	if (check && zone_with(d, FL_VERDICT_FRAGMENTATION) == low && all_passing_are_near(d))
		conclude_fragmentation(d, low); /* the zone that should have served it wants blocks, not pages */
	else if (check)
		conclude_passing(d, check);
	else if ((check = zone_with(d, FL_VERDICT_FRAGMENTATION)))
		conclude_fragmentation(d, check);
	else if (!low->test.known || low->cause == FL_VERDICT_UNKNOWN)
		conclude_untestable(d, low);
	else
		conclude_cause(d, low);
}

/* --- kinds that say themselves what was wrong --------------------------------------------------------------------- */

static void conclude_memcg(struct fl_diagnosis *d)
{
	const struct fl_mem_request *r = d->request;

	if (r->memcg_limit_kb != FL_MEM_NONE) {
		conclude(d, FL_VERDICT_MEMCG, "A memory cgroup reached its limit: %llukB of %llukB; the machine's "
					      "memory does not matter here.",
					      (ull)r->memcg_usage_kb, (ull)r->memcg_limit_kb);
		fl_diagnosis_evidence(d, r->line_first, "memory cgroup%s%s: usage %llukB, limit %llukB",
							r->memcg[0] ? " " : "",
				      r->memcg, (ull)r->memcg_usage_kb, (ull)r->memcg_limit_kb);
	} else if (r->pagefault_oom) {
		conclude(d, FL_VERDICT_MEMCG, "The OOM killer was called at the end of a page fault, without a "
					      "request of its own (gfp_mask 0x%llx): charging a page to a memory "
					      "cgroup failed; no zone ran out.", (ull)r->gfp_raw);
		fl_diagnosis_evidence(d, r->line_first, "pagefault_out_of_memory() is in the call trace");
	} else {
		conclude(d, FL_VERDICT_MEMCG, "A memory cgroup reached its limit; the machine's memory does not "
					      "matter here.");
		fl_diagnosis_evidence(d, r->line_first, "%s", r->constraint[0] ? r->constraint
				      : "the kernel names a memory cgroup as the cause");
	}
}

static bool judge_by_kind(struct fl_diagnosis *d)
{
	const struct fl_mem_request *r = d->request;

	if (r->kind == FL_MEM_REQUEST_MEMCG || (r->pagefault_oom && r->has_gfp && !r->gfp_raw)) {
		conclude_memcg(d);
	} else if (r->vm_struct) {
		conclude(d, FL_VERDICT_ADDRESS_SPACE, "No free range of kernel addresses for %llukB in the vmalloc "
						      "or module area; it is not a lack of memory.",
						      r->size_bytes == FL_MEM_NONE ? 0 : (ull)r->size_bytes / 1024);
		fl_diagnosis_evidence(d, r->line_first, "the kernel says so itself: no vm_struct, before any page "
							"was asked for");
	} else if (r->kind == FL_MEM_REQUEST_WARNING) {
		conclude(d, FL_VERDICT_IMPOSSIBLE_ORDER, "A warning in mm/page_alloc.c about the request itself: "
							 "most often an order larger than the allocator has (a size "
							 "that nobody checked).");
		fl_diagnosis_evidence(d, r->line_first, "WARNING at mm/page_alloc.c%s%s",
				      r->trace_count ? ", called through " : "",
				      r->trace_count ? r->trace[r->trace_count > 2 ? 2 : 0] : "");
	} else if (r->kind == FL_MEM_REQUEST_OOM && r->has_order && r->order < 0) {
		conclude(d, FL_VERDICT_HARMLESS, "Somebody called the OOM killer by hand (SysRq-f): no request "
						 "failed.");
		fl_diagnosis_evidence(d, r->line_first, "order=-1 stands for that");
	} else if (r->kind == FL_MEM_REQUEST_CMA) {
		conclude(d, FL_VERDICT_CMA, "A contiguous range of the CMA area could not be emptied: a page in it "
					    "is pinned or under writeback, or the area is used up.");
		fl_diagnosis_evidence(d, r->line_first, "cma_alloc failed");
	} else if (!strcmp(r->constraint, "CONSTRAINT_CPUSET") || !strcmp(r->constraint, "CONSTRAINT_MEMORY_POLICY")) {
		conclude(d, FL_VERDICT_NODE_CONSTRAINT, "The request was confined to some nodes (%s), and those ran "
							"out.",
			 r->constraint);
		fl_diagnosis_evidence(d, r->line_first, "constraint=%s, nodemask=%s, mems_allowed=%s", r->constraint,
				      r->nodemask[0] ? r->nodemask : "not printed",
				      r->mems_allowed[0] ? r->mems_allowed : "not printed");
	} else {
		return false;
	}
	return true;
}

static bool judge_order(struct fl_diagnosis *d)
{
	unsigned int orders = d->state ? d->state->orders_count : 0;
	bool complete = false;

	for (size_t i = 0; d->state && i < d->state->zones_count; i++)
		if (d->state->zones[i].orders_count == orders && !d->state->zones[i].lists_incomplete)
			complete = true;
	if (d->order < 64 && !(complete && orders >= 9 && d->order >= (int)orders))
		return false;
	conclude(d, FL_VERDICT_IMPOSSIBLE_ORDER, "Order %d is larger than any block of this kernel%s: it can never "
						 "succeed.",
		 d->order, complete ? " has (its lists end below it)" : "");
	return true;
}

/* A vmalloc that asks for large blocks first takes single pages when that fails (__vmalloc_node_range). */
/* Single pages that the zones of this request can give before the test fails, without reclaim. */
static uint64_t room_above_marks(const struct fl_diagnosis *d)
{
	uint64_t room = 0;

	for (size_t i = 0; i < d->checks_count; i++) {
		const struct fl_arith_test *test = &d->checks[i].test;
		int64_t mark = (int64_t)(test->mark + (test->reserve == FL_MEM_NONE ? 0 : test->reserve));

		if (d->checks[i].use == FL_ZONE_MAY_USE && d->checks[i].passes && test->usable > mark)
			room += (uint64_t)(test->usable - mark);
	}
	return room;
}

static bool judge_vmalloc(struct fl_diagnosis *d)
{
	int order = d->order;
	uint64_t room;

	if (d->request->kind != FL_MEM_REQUEST_VMALLOC || order < 1)
		return false;
	d->order = 0;
	fl_arith_flags(d->request, 0, fl_release_number(d->state ? d->state->release : ""), &d->flags);
	if (!d->state || !d->state->zones_count)
		return false;
	judge_zones(d);
	if (!passing_zone(d, FL_ZONE_MAY_USE)) {
		fl_diagnosis_evidence(d, d->request->line_first,
				      "vmalloc asked for order %d first and falls back to single pages: those are "
				      "judged", order);
		return false;
	}
	room = room_above_marks(d);
	if (d->request->size_bytes == FL_MEM_NONE || d->request->size_bytes / d->state->page_size <= room) {
		conclude(d, FL_VERDICT_HARMLESS, "vmalloc tried blocks of order %d first; when that fails it takes single "
						 "pages, and those are there: the caller got its memory.", order);
	} else {
		also(d, FL_VERDICT_SHORTAGE);
		conclude(d, FL_VERDICT_HARMLESS,
			 "vmalloc tried blocks of order %d first; when that fails it takes single pages, and the first of "
			 "them pass. But only %llukB of the %llukB that it wants lie above the watermarks: reclaim has to find "
			 "the rest. If it does not, a second message with page order 0 follows.", order,
			 fl_diagnosis_kb(d, room), (unsigned long long)(d->request->size_bytes / 1024));
	}
	fl_evidence_of_zones(d);
	d->order = order;
	return true;
}

static void settle_order(struct fl_diagnosis *d)
{
	const struct fl_mem_request *r = d->request;

	d->order = r->has_order ? r->order : 0;
	if (!r->has_order && r->kind == FL_MEM_REQUEST_KMEM && r->size_bytes != FL_MEM_NONE)
		d->order = fl_arith_order_of(r->size_bytes, d->state ? d->state->page_size : 4096);
	else if (!r->has_order)
		d->order_assumed = true;
}

static bool has_state_figures(const struct fl_mem_state *state)
{
	return state && state->zones_count;
}

static void judge(struct fl_diagnosis *d)
{
	if (judge_by_kind(d)) {
		if (has_state_figures(d->state) && d->request->kind != FL_MEM_REQUEST_WARNING)
			judge_zones(d);
		return;
	}
	fl_evidence_of_request(d);
	if (judge_order(d) || judge_vmalloc(d))
		return;
	if (!has_state_figures(d->state)) {
		conclude(d, FL_VERDICT_UNKNOWN, "The text has the failed request but no state of memory: the lines "
						"from \"Mem-Info:\" on, which the kernel prints after it, would tell.");
		return;
	}
	judge_zones(d);
	if (!judge_figures(d))
		judge_by_zones(d);
}

void fl_diagnose(const struct fl_mem_report *report, const struct fl_mem_request *request, struct fl_diagnosis *ret)
{
	struct fl_diagnosis *d = ret;

	memset(d, 0, sizeof(*d));
	d->request = request;
	if (request->state >= 0 && (size_t)request->state < report->states_count)
		d->state = report->states[request->state];
	settle_order(d);
	fl_arith_flags(request, d->order, fl_release_number(d->state ? d->state->release : ""), &d->flags);
	judge(d);
	d->also &= ~(1u << d->verdict);
	fl_diagnosis_advise(d);
}
