/*
 * kernel/patch_mthp_score.c - proactive compaction scores fragmentation for the smallest size that is always enabled.
 * The marks stay: the mail does not speak of them (patch_mthp_score_rescaled.c has other ones).
 */
#include "kernel/mthp.h"
#include "kernel/patches.h"

static unsigned int proactive_score_order(const struct fl_score_order_facts *facts)
{
	return fl_mthp_smallest(facts->thp.always, facts->thp.pmd_order);
}

const struct fl_patch fl_patch_mthp_score = {
	.name = "mthp-score",
	.set = "mthp",
	.summary = "proactive compaction scores for the smallest size set to always",
	.source = "RFC 1/4 of " FL_MTHP_MAIL,
	.with = { .proactive_score_order = proactive_score_order },
};
