/*
 * kernel/mthp.h - what the patches of "mTHP-friendly memory compaction" share: which size they serve.
 */
#ifndef FL_KERNEL_MTHP_H
#define FL_KERNEL_MTHP_H

#include "mm/types.h"

#define FL_MTHP_MAIL "\"mm: compaction: mTHP-friendly memory compaction\", August 2026"

/* The smallest size set to always (inherit and madvise do not count), else the PMD's. `always`: fl_thp_orders.always. */
static inline unsigned int fl_mthp_smallest(uint32_t always, unsigned int pmd_order)
{
	return always ? (unsigned int)__builtin_ctz(always) : pmd_order;
}

#endif
