/*
 * kernel/patch_khugepaged_progress.c - khugepaged's budget is charged by the entries that were looked at; a range without
 * a table, or one that is huge already, costs 1.
 */
#include "kernel/base_decisions.h"
#include "kernel/patches.h"

const struct fl_patch fl_patch_khugepaged_progress = {
	.name = "khugepaged-progress",
	.summary = "khugepaged's budget is charged by PTEs visited",
	.source = "companion of \"mm: khugepaged: skip lazy-free folios\", v8, February 2026",
	.with = { .khugepaged_charge = fl_base_charge_visited },
	.without = { .khugepaged_charge = fl_base_charge_range },
};
