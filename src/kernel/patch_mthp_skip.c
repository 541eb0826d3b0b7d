/*
 * kernel/patch_mthp_skip.c - compaction without a target order leaves folios of the smallest always enabled size alone.
 *
 * The default of the set reads the setting at each folio, because the mail says so ("currently we read
 * huge_anon_orders_always directly"), and asks only whether there is a target order, because that is what
 * skip_isolation_on_order() gets; so manual compaction (vm.compact_memory) spares them too. Variants: mthp-skip-snapshot,
 * mthp-skip-proactive.
 */
#include "kernel/base_decisions.h"
#include "kernel/mthp.h"
#include "kernel/patches.h"

static bool compact_skip_folio(const struct fl_skip_isolation_facts *facts)
{
	if (facts->target_order < 0 && facts->folio_order >= fl_mthp_smallest(facts->thp.always, facts->thp.pmd_order))
		return true;
	return fl_base_skip_folio(facts);
}

const struct fl_patch fl_patch_mthp_skip = {
	.name = "mthp-skip",
	.set = "mthp",
	.summary = "compaction without a target order does not move folios of the smallest size set to always, or larger",
	.source = "RFC 2/4 of " FL_MTHP_MAIL,
	.with = { .compact_skip_folio = compact_skip_folio },
};
