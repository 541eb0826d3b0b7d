/*
 * kernel/patch_mthp_watermark_gap.c - mthp-watermark, and the order-0 test of compaction_suitable() as well. Single pages
 * are targets of migration, so there fragmentation looks like shortage and compaction is refused just when it is needed.
 */
#include "kernel/base_decisions.h"
#include "kernel/mthp.h"
#include "kernel/patches.h"

static unsigned int effective_free_order(const struct fl_effective_free_facts *facts)
{
	unsigned int base = fl_base_effective_free(facts);

	if (base || !facts->order || !facts->thp.always)
		return base;
	return fl_mthp_smallest(facts->thp.always, facts->thp.pmd_order);
}

const struct fl_patch fl_patch_mthp_watermark_gap = {
	.name = "mthp-watermark-gap",
	.summary = "mthp-watermark, and the order-0 test of suitability counts so too",
	.source = "variant of 4/4 of " FL_MTHP_MAIL,
	.with = { .effective_free_order = effective_free_order },
};
