/* kernel/patch_merge_accounting.c - a merged buddy's pages move to the count of the type that absorbs them. */
#include "kernel/base_decisions.h"
#include "kernel/patches.h"

const struct fl_patch fl_patch_merge_accounting = {
	.name = "merge-accounting",
	.set = "mobility",
	.summary = "a merged buddy's pages move to the merged type's free count",
	.source = "RFC 2/5 of \"keep non-movable pages out of movable pageblocks\", October 2026",
	.with = { .merge_moves_type_count = fl_base_yes },
};
