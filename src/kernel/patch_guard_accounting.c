/* kernel/patch_guard_accounting.c - debug guard pages return to NR_FREE_PAGES when they merge. */
#include "kernel/base_decisions.h"
#include "kernel/patches.h"

const struct fl_patch fl_patch_guard_accounting = {
	.name = "guard-accounting",
	.set = "mobility",
	.summary = "guard pages return to the free count when their buddy merges",
	.source = "RFC 1/5 of \"keep non-movable pages out of movable pageblocks\", October 2026",
	.with = { .guard_merge_counts = fl_base_yes },
	.without = { .guard_merge_counts = fl_base_no },
};
