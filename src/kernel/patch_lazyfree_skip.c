/*
 * kernel/patch_lazyfree_skip.c - khugepaged gives up a range at the first clean lazyfree page outside VM_DROPPABLE.
 */
#include "kernel/base_decisions.h"
#include "kernel/patches.h"

const struct fl_patch fl_patch_lazyfree_skip = {
	.name = "lazyfree-skip",
	.summary = "khugepaged gives up a range on a clean lazyfree folio outside VM_DROPPABLE",
	.source = "\"mm: khugepaged: skip lazy-free folios\", v8 4/4, February 2026",
	.with = { .khugepaged_refuses_lazyfree = fl_base_refuse_clean_lazyfree },
	.without = { .khugepaged_refuses_lazyfree = fl_base_lazyfree_is_ordinary },
};
