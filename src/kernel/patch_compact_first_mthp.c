/*
 * kernel/patch_compact_first_mthp.c - movable requests of a size set to always compact before they reclaim, while single
 * pages are plenty. Fourth open question of the mail; seen only with defrag settings that let faults reclaim.
 */
#include "kernel/base_decisions.h"
#include "kernel/mthp.h"
#include "kernel/patches.h"

static bool compact_first(const struct fl_compact_first_facts *facts)
{
	if (facts->order_0_ok && facts->thp.always >> facts->order & 1)
		return true;
	return fl_base_compact_first(facts);
}

const struct fl_patch fl_patch_compact_first_mthp = {
	.name = "compact-first-mthp",
	.summary = "requests of a size set to always compact before they reclaim, while single pages are above the min mark",
	.source = "open question 4 of " FL_MTHP_MAIL,
	.with = { .compact_first = compact_first },
};
