/* kernel/patch_mthp_watermark_kswapd.c - mthp-watermark in kswapd's balance test alone. */
#include "kernel/base_decisions.h"
#include "kernel/mthp.h"
#include "kernel/patches.h"
#include "mm/compaction.h"

static unsigned int effective_free_order(const struct fl_effective_free_facts *facts)
{
	unsigned int base = fl_base_effective_free(facts);

	if (base || !facts->order || !facts->thp.always || facts->test != FL_FREE_TEST_KSWAPD_BALANCED)
		return base;
	return fl_mthp_smallest(facts->thp.always, facts->thp.pmd_order);
}

const struct fl_patch fl_patch_mthp_watermark_kswapd = {
	.name = "mthp-watermark-kswapd",
	.summary = "mthp-watermark in kswapd's balance test alone",
	.source = "variant of 4/4 of " FL_MTHP_MAIL,
	.with = { .effective_free_order = effective_free_order },
};
