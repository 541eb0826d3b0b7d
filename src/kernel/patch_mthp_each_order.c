/*
 * kernel/patch_mthp_each_order.c - proactive compaction serves every size set to always, not the smallest alone.
 *
 * First open question of the mail. A score only grows with the order, and the marks are the same for all orders: so every
 * size is served exactly when the largest one is. Folios of the largest size or more are left alone; a smaller one stands
 * in the way of the larger sizes and is moved.
 */
#include "kernel/base_decisions.h"
#include "kernel/mthp.h"
#include "kernel/patches.h"

static unsigned int largest(const struct fl_thp_orders *thp)
{
	return thp->always ? 31u - (unsigned int)__builtin_clz(thp->always) : thp->pmd_order;
}

static unsigned int proactive_score_order(const struct fl_score_order_facts *facts)
{
	return largest(&facts->thp);
}

static bool compact_skip_folio(const struct fl_skip_isolation_facts *facts)
{
	return (facts->target_order < 0 && facts->folio_order >= largest(&facts->thp)) || fl_base_skip_folio(facts);
}

const struct fl_patch fl_patch_mthp_each_order = {
	.name = "mthp-each-order",
	.summary = "proactive compaction serves every size set to always, which is to serve the largest",
	.source = "variant of 1/4 and 2/4 of " FL_MTHP_MAIL,
	.with = { .proactive_score_order = proactive_score_order, .compact_skip_folio = compact_skip_folio },
};
