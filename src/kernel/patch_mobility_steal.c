/*
 * kernel/patch_mobility_steal.c - non-movable requests do not steal from movable pageblocks, except where the pageblock
 * could never be converted (it straddles its zone) or types do not matter.
 */
#include "kernel/patches.h"

static bool steal_from(const struct fl_steal_facts *facts)
{
	return facts->want == FL_MOVABLE || facts->from != FL_MOVABLE || facts->straddles || facts->grouping_disabled;
}

const struct fl_patch fl_patch_mobility_steal = {
	.name = "mobility-steal",
	.set = "mobility",
	.summary = "non-movable requests do not steal from movable blocks",
	.source = "RFC 4/5 of \"keep non-movable pages out of movable pageblocks\", October 2026",
	.with = { .steal_from = steal_from },
};
