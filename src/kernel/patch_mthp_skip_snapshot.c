/*
 * kernel/patch_mthp_skip_snapshot.c - mthp-skip with the setting as it was when the run began: a field of the compaction
 * control that is filled once, beside an order that stays -1 (second open question of the mail).
 */
#include "kernel/base_decisions.h"
#include "kernel/mthp.h"
#include "kernel/patches.h"

static bool compact_skip_folio(const struct fl_skip_isolation_facts *facts)
{
	if (facts->target_order < 0 && facts->folio_order >= fl_mthp_smallest(facts->run_always, facts->thp.pmd_order))
		return true;
	return fl_base_skip_folio(facts);
}

const struct fl_patch fl_patch_mthp_skip_snapshot = {
	.name = "mthp-skip-snapshot",
	.summary = "mthp-skip by the setting at the start of the run",
	.source = "variant of 2/4 of " FL_MTHP_MAIL,
	.with = { .compact_skip_folio = compact_skip_folio },
};
