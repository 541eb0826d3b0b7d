/*
 * kernel/patch_mthp_plumbed_order.c - the target order passed down as compact_control.order of proactive runs.
 *
 * Second open question of the mail, the plain way: the order that the run is for stands where -1 stood. Then the present
 * skip rule spares folios of that order by itself, and what -1 turned off comes on: suitability (a run ends before it
 * begins where a chunk of the order is free above the mark), the drain of per-CPU lists, targets by order. The other way,
 * a field beside the -1, is mthp-skip-snapshot.
 */
#include "kernel/base_decisions.h"
#include "kernel/mthp.h"
#include "kernel/patches.h"

static unsigned int proactive_score_order(const struct fl_score_order_facts *facts)
{
	return fl_mthp_smallest(facts->thp.always, facts->thp.pmd_order);
}

static int proactive_order(const struct fl_proactive_order_facts *facts)
{
	return (int)facts->score_order;
}

const struct fl_patch fl_patch_mthp_plumbed_order = {
	.name = "mthp-plumbed-order",
	.summary = "mthp-score, and proactive runs carry that order in compact_control instead of -1",
	.source = "variant of 1/4 and 2/4 of " FL_MTHP_MAIL,
	.with = { .proactive_score_order = proactive_score_order,
		  .proactive_order = proactive_order,
		  .compact_skip_folio = fl_base_skip_folio },
};
