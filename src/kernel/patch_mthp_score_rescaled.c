/*
 * kernel/patch_mthp_score_rescaled.c - mthp-score with marks in proportion to the order.
 *
 * The score of a small order is below that of the PMD order on the same free memory: only the chunks below it count. So
 * marks made for order 9 start runs rarely. Here low is (100 - proactiveness) * order / PMD order, and the leeway that of
 * 7.3, min(10, low / 2); at the PMD order nothing changes on 7.3. Nobody has proposed this rule: it is one answer to the
 * question whether the marks should follow.
 */
#include "kernel/mthp.h"
#include "kernel/patches.h"

static unsigned int proactive_score_order(const struct fl_score_order_facts *facts)
{
	return fl_mthp_smallest(facts->thp.always, facts->thp.pmd_order);
}

static unsigned int proactive_low(const struct fl_proactive_mark_facts *facts)
{
	return (100 - facts->proactiveness) * facts->score_order / facts->pmd_order;
}

static unsigned int proactive_high(const struct fl_proactive_mark_facts *facts)
{
	unsigned int leeway = facts->low / 2 < 10 ? facts->low / 2 : 10;

	return facts->low + leeway > 100 ? 100 : facts->low + leeway;
}

const struct fl_patch fl_patch_mthp_score_rescaled = {
	.name = "mthp-score-rescaled",
	.summary = "mthp-score with marks in proportion to the order",
	.source = "variant of 1/4 of " FL_MTHP_MAIL,
	.with = { .proactive_score_order = proactive_score_order,
		  .proactive_low = proactive_low,
		  .proactive_high = proactive_high },
};
