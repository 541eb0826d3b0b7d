/*
 * kernel/patch_mthp_skip_proactive.c - mthp-skip for proactive runs alone: manual compaction moves such folios as before.
 */
#include "kernel/base_decisions.h"
#include "kernel/mthp.h"
#include "kernel/patches.h"

static bool compact_skip_folio(const struct fl_skip_isolation_facts *facts)
{
	if (facts->proactive && facts->folio_order >= fl_mthp_smallest(facts->thp.always, facts->thp.pmd_order))
		return true;
	return fl_base_skip_folio(facts);
}

const struct fl_patch fl_patch_mthp_skip_proactive = {
	.name = "mthp-skip-proactive",
	.summary = "mthp-skip in proactive runs alone, not in manual ones",
	.source = "variant of 2/4 of " FL_MTHP_MAIL,
	.with = { .compact_skip_folio = compact_skip_folio },
};
