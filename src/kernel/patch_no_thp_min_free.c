/* kernel/patch_no_thp_min_free.c - THP leaves min_free_kbytes as it is. */
#include "kernel/patches.h"

static uint64_t min_free_for_thp(const struct fl_min_free_facts *facts)
{
	return facts->current_kbytes;
}

const struct fl_patch fl_patch_no_thp_min_free = {
	.name = "no-thp-min-free",
	.summary = "THP no longer raises min_free_kbytes",
	.source = "v3 of the removal of set_recommended_min_free_kbytes, September 2026",
	.with = { .min_free_for_thp = min_free_for_thp },
};
