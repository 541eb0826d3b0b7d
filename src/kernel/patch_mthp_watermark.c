/*
 * kernel/patch_mthp_watermark.c - watermark tests count only free chunks of the smallest always enabled size or more.
 *
 * Which tests, the mail leaves open. The default of the set: kswapd's balance and the first test of
 * compaction_suit_allocation_order(), for requests above order 0. These are the places where 7.3 chooses between
 * NR_FREE_PAGES and NR_FREE_PAGES_BLOCKS, which the new function generalises, and the diffstat (23 lines of vmscan.c
 * mostly removed, the rest in compaction.c) fits a choice that moved into a shared function. Variants:
 * mthp-watermark-kswapd, mthp-watermark-suit, mthp-watermark-gap.
 */
#include "kernel/base_decisions.h"
#include "kernel/mthp.h"
#include "kernel/patches.h"
#include "mm/compaction.h"

static unsigned int effective_free_order(const struct fl_effective_free_facts *facts)
{
	unsigned int base = fl_base_effective_free(facts);

	if (base || !facts->order || !facts->thp.always || facts->test == FL_FREE_TEST_SUIT_GAP)
		return base;
	return fl_mthp_smallest(facts->thp.always, facts->thp.pmd_order);
}

const struct fl_patch fl_patch_mthp_watermark = {
	.name = "mthp-watermark",
	.set = "mthp",
	.summary = "kswapd's balance and the first test of suitability count only chunks of the smallest size set to always",
	.source = "RFC 4/4 of " FL_MTHP_MAIL,
	.with = { .effective_free_order = effective_free_order },
};
