/*
 * kernel/patches.h - the list of patches, one word each: patch_<name>.c defines fl_patch_<name>.
 */
#ifndef FL_KERNEL_PATCHES_H
#define FL_KERNEL_PATCHES_H

#include "kernel/kernel.h"

#define FL_PATCHES(X) \
	X(guard_accounting) \
	X(merge_accounting) \
	X(mobility_claim) \
	X(mobility_steal) \
	X(mobility_capture) \
	X(no_thp_min_free) \
	X(lazyfree_skip) \
	X(khugepaged_progress) \
	X(lazyfree_collapse) \
	X(mthp_score) \
	X(mthp_skip) \
	X(mthp_kswapd) \
	X(mthp_watermark) \
	X(mthp_skip_snapshot) \
	X(mthp_skip_proactive) \
	X(mthp_kswapd_gate) \
	X(mthp_watermark_kswapd) \
	X(mthp_watermark_suit) \
	X(mthp_watermark_gap) \
	X(mthp_score_rescaled) \
	X(mthp_plumbed_order) \
	X(mthp_each_order) \
	X(compact_first_mthp)

#define FL_PATCH_DECLARE(name) extern const struct fl_patch fl_patch_##name;
FL_PATCHES(FL_PATCH_DECLARE)
#undef FL_PATCH_DECLARE

#endif
