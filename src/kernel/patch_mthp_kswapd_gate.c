/*
 * kernel/patch_mthp_kswapd_gate.c - mthp-kswapd, and the gate before a run as well: a run may start beside kswapd.
 */
#include "kernel/mthp.h"
#include "kernel/patches.h"

static bool proactive_beside_kswapd(const struct fl_beside_kswapd_facts *facts)
{
	return fl_mthp_smallest(facts->thp.always, facts->thp.pmd_order) < facts->costly_order;
}

const struct fl_patch fl_patch_mthp_kswapd_gate = {
	.name = "mthp-kswapd-gate",
	.summary = "mthp-kswapd, and a run may also start beside kswapd",
	.source = "variant of 3/4 of " FL_MTHP_MAIL,
	.with = { .proactive_beside_kswapd = proactive_beside_kswapd },
};
