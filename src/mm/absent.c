/*
 * mm/absent.c - what the allocator calls in rooms that are being built: without them a request that would need
 * reclaim or compaction fails, as a modelled result. Each function goes away when its file arrives.
 */
#include "mm/compaction.h"
#include "mm/page_alloc.h"
#include "mm/vmscan.h"

void fl_reclaim_init(struct fl_mem *mem)
{
	(void)mem;
}

void fl_reclaim_fini(struct fl_mem *mem)
{
	(void)mem;
}

uint64_t fl_reclaim_hash(const struct fl_mem *mem, uint64_t hash)
{
	(void)mem;
	return hash;
}

void fl_reclaim_check(struct fl_mem *mem)
{
	(void)mem;
}

void fl_wakeup_kswapd(struct fl_mem *mem, struct fl_caller *who, struct fl_zone *zone, fl_gfp gfp,
		      unsigned int order, unsigned int ceiling, enum fl_trigger trigger)
{
	(void)mem, (void)who, (void)zone, (void)gfp, (void)order, (void)ceiling, (void)trigger;
}

/* The one pass at the min watermark that every slow path begins with. */
fl_pfn fl_alloc_slowpath(struct fl_mem *mem, struct fl_caller *who, const struct fl_alloc_context *ac)
{
	uint32_t alloc_flags = FL_WMARK_MIN;

	if (ac->gfp & FL_GFP_HIGH)
		alloc_flags |= FL_ALLOC_MIN_RESERVE;
	if (ac->gfp & FL_GFP_KSWAPD_RECLAIM)
		alloc_flags |= FL_ALLOC_KSWAPD;
	if (!(ac->gfp & FL_GFP_DIRECT_RECLAIM) && !(ac->gfp & FL_GFP_NOMEMALLOC)) {
		alloc_flags |= FL_ALLOC_NON_BLOCK;
		if (ac->order && (ac->gfp & FL_GFP_HIGH))
			alloc_flags |= FL_ALLOC_HIGHATOMIC;
	}
	return fl_get_page_from_freelist(mem, who, ac, alloc_flags);
}

