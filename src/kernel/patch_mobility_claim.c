/*
 * kernel/patch_mobility_claim.c - non-movable requests always convert a movable pageblock; movable requests convert
 * only pageblocks without any non-movable page. Pageblocks that straddle their zone are refused by the mechanism.
 */
#include "kernel/patches.h"

static bool claim_block(const struct fl_claim_facts *facts)
{
	if (facts->grouping_disabled)
		return true;
	if (facts->want == FL_MOVABLE)
		return facts->free + facts->movable == facts->pages;
	if (facts->block_type == FL_MOVABLE)
		return true;
	return facts->free >= facts->pages / 2;
}

const struct fl_patch fl_patch_mobility_claim = {
	.name = "mobility-claim",
	.set = "mobility",
	.summary = "any non-movable claim converts a movable block; movable claims only blocks with no non-movable page",
	.source = "RFC 3/5 of \"keep non-movable pages out of movable pageblocks\", October 2026",
	.with = { .claim_block = claim_block },
};
