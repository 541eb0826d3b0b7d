/*
 * kernel/patch_lazyfree_collapse.c - a range whose pages are all lazyfree and clean may collapse, and the huge page is
 * lazyfree too, so that reclaim can still drop it. The question of a reviewer of lazyfree-skip; nobody has posted a patch.
 *
 * All the other rules stay, above all the one that some page must be young. Beside lazyfree-skip a range is given up once both a lazyfree
 * page and another one were seen, so a wholly lazyfree range is looked at to its end.
 */
#include "kernel/patches.h"

static bool keeps_lazyfree(const struct fl_collapse_lazyfree_facts *facts)
{
	return facts->droppable || facts->all_lazyfree;
}

const struct fl_patch fl_patch_lazyfree_collapse = {
	.name = "lazyfree-collapse",
	.summary = "a wholly lazyfree range collapses and stays lazyfree",
	.source = "a reviewer's question on \"mm: khugepaged: skip lazy-free folios\", v8 4/4, February 2026",
	.with = { .collapse_keeps_lazyfree = keeps_lazyfree },
};
