/*
 * mm/pageblock.h - types of pageblocks, highatomic reserves. Parts of mm/page_alloc.c and pageblock-flags.h.
 */
#ifndef FL_MM_PAGEBLOCK_H
#define FL_MM_PAGEBLOCK_H

#include "mm/page_alloc.h"

/* The type that a pageblock gets when it is to become `type`: Unmovable while grouping by mobility is disabled. The
 * chunks that move with it must go to the lists of this type. */
static inline unsigned int fl_grouped_type(const struct fl_mem *mem, unsigned int type)
{
	return FL_UNLIKELY(mem->set.grouping_disabled) && type < FL_PCPTYPES ? FL_UNMOVABLE : type;
}

/* set_pageblock_migratetype(): Unmovable instead when grouping by mobility is disabled. Moves no chunks. */
void fl_pageblock_set_type(struct fl_mem *mem, fl_pfn pfn, unsigned int type);

/* reserve_highatomic_pageblock(): grows the reserve by the pageblock of this page, within its limit. */
void fl_reserve_highatomic(struct fl_mem *mem, struct fl_zone *zone, fl_pfn pfn, unsigned int order);

/* unreserve_highatomic_pageblock(): true if pages moved to the requester's type. */
bool fl_unreserve_highatomic(struct fl_mem *mem, const struct fl_alloc_context *ac, bool force);

#endif
