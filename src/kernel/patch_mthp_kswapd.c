/*
 * kernel/patch_mthp_kswapd.c - a proactive run for a size below the costly order goes on when kswapd begins to run.
 *
 * The default of the set changes the test inside a run alone: the mail names __compact_finished() and nothing else. The
 * gate before a run then still waits for kswapd; mthp-kswapd-gate opens it too.
 */
#include "kernel/mthp.h"
#include "kernel/patches.h"

static bool proactive_beside_kswapd(const struct fl_beside_kswapd_facts *facts)
{
	return !facts->at_start && fl_mthp_smallest(facts->thp.always, facts->thp.pmd_order) < facts->costly_order;
}

const struct fl_patch fl_patch_mthp_kswapd = {
	.name = "mthp-kswapd",
	.set = "mthp",
	.summary = "a proactive run for a size below the costly order goes on beside kswapd",
	.source = "RFC 3/4 of " FL_MTHP_MAIL,
	.with = { .proactive_beside_kswapd = proactive_beside_kswapd },
};
