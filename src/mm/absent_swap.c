/*
 * mm/absent_swap.c - what faults and unmapping call in swapfile.c and filemap.c until those arrive. Nothing can get
 * swapped or mapped from a file before, so they only say that they were called. Goes away with their arrival.
 */
#include "mm/filemap.h"
#include "mm/page_writeback.h"
#include "mm/swap.h"
#include "mm/swapfile.h"
#include "mm/vmscan.h"

#define ABSENT() fl_bug(__FILE__, __LINE__, __func__, "this build has no swap and no page cache")

void fl_swap_dup(struct fl_mem *mem, fl_swp slot)
{
	ABSENT();
}

void fl_swap_put(struct fl_mem *mem, struct fl_caller *who, fl_swp slot)
{
	ABSENT();
}

fl_swp fl_folio_swap_slot(const struct fl_mem *mem, fl_pfn folio)
{
	ABSENT();
}

bool fl_folio_free_swap(struct fl_mem *mem, struct fl_caller *who, fl_pfn folio)
{
	ABSENT();
}

void fl_swap_cache_split(struct fl_mem *mem, fl_pfn head, unsigned int old_order, unsigned int new_order)
{
	ABSENT();
}

fl_pfn fl_swapin(struct fl_mem *mem, struct fl_caller *who, fl_swp slot, fl_gfp gfp, bool *major)
{
	ABSENT();
}

bool fl_should_free_swap(const struct fl_mem *mem, fl_pfn folio, bool write, bool mlocked)
{
	ABSENT();
}

fl_pfn fl_filemap_fault(struct fl_mem *mem, struct fl_caller *who, fl_mapping_id id, uint32_t index, bool *major)
{
	ABSENT();
}

fl_pfn fl_filemap_lookup(const struct fl_mem *mem, fl_mapping_id id, uint32_t index)
{
	ABSENT();
}

uint32_t fl_file_pages(const struct fl_mem *mem, fl_mapping_id id)
{
	ABSENT();
}

void fl_file_mark_dirty(struct fl_mem *mem, fl_pfn folio)
{
	ABSENT();
}

void fl_filemap_migrate(struct fl_mem *mem, fl_pfn from, fl_pfn to)
{
	ABSENT();
}

void fl_swap_cache_migrate(struct fl_mem *mem, fl_pfn from, fl_pfn to)
{
	ABSENT();
}

void fl_folio_wait_writeback(struct fl_mem *mem, struct fl_caller *who, fl_pfn folio)
{
	ABSENT();
}

/* Without reclaim nobody else isolates, so nobody waits for that. */
void fl_reclaim_throttle(struct fl_mem *mem, struct fl_caller *who, enum fl_vmscan_throttle reason)
{
	ABSENT();
}

void fl_wake_throttle_isolated(struct fl_mem *mem)
{
	(void)mem;
}

bool fl_kswapd_is_running(const struct fl_mem *mem)
{
	(void)mem;
	return false;
}

unsigned long fl_zone_reclaimable_pages(const struct fl_mem *mem, const struct fl_zone *zone)
{
	const uint64_t *size = mem->lru->zone_size[zone->index];

	return size[FL_LRU_INACTIVE_FILE] + size[FL_LRU_ACTIVE_FILE];
}
