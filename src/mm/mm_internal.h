/*
 * mm/mm_internal.h - what mmap.c, mlock.c, madvise.c, memory.c and rmap.c share about address spaces.
 */
#ifndef FL_MM_MM_INTERNAL_H
#define FL_MM_MM_INTERNAL_H

#include "mm/mmap.h"
#include "mm/pool.h"

#define FL_VPN_LIMIT (UINT32_C(1) << 31) /* 8 TiB of 4K pages */
#define FL_VMA_NONE UINT32_MAX

struct fl_mm_table {
	struct fl_mm **mm; /* by id; NULL: free */
	uint32_t ids, capacity, lowest_free;
	struct fl_pool vma;
	uint32_t *first_vma; /* by mapping id: head of i_mmap */
	uint32_t mappings;
	fl_collapse_fn collapse;
};

/* Position in mm->vma of the first VMA that ends behind vpn; mm->vmas if none. */
uint32_t fl_vma_position(const struct fl_mem *mem, const struct fl_mm *mm, fl_vpn vpn);

static inline struct fl_vma *fl_vma_at(const struct fl_mem *mem, const struct fl_mm *mm, uint32_t position)
{
	return fl_pool_at(&mem->mms->vma, mm->vma[position]);
}

/* fl_vma_find() for faults, which mostly ask for the VMA of the last one. */
static inline const struct fl_vma *fl_vma_find_again(const struct fl_mem *mem, struct fl_mm *mm, fl_vpn vpn)
{
	const struct fl_vma *last = mm->last_vma;

	if (FL_LIKELY(last && vpn - last->start < last->end - last->start))
		return last;
	last = fl_vma_find(mem, mm, vpn);
	if (last)
		mm->last_vma = last;
	return last;
}

/* Splits VMAs so that start and end are borders. False: no memory or too many VMAs. May switch. */
bool fl_vma_split_range(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm, fl_vpn start, fl_vpn end);
/* Joins neighbours that are alike around and inside [start, end). */
void fl_vma_merge_range(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm, fl_vpn start, fl_vpn end);
/* Sets and clears flags of all VMAs of the range, splitting and merging. 0 or -ENOMEM (also when there is a hole, after the rest). */
int fl_vma_change_flags(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm, fl_vpn start, fl_vpn end,
			uint32_t set, uint32_t clear);

/* anon_vma_prepare(): objects of the first anonymous fault. False: no memory. May switch. */
bool fl_anon_vma_prepare(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm, fl_vpn vpn);

/* mlock_folio(), munlock_folio(): the flag, the counters and the list. */
void fl_mlock_folio(struct fl_mem *mem, struct fl_caller *who, fl_pfn pfn);
void fl_munlock_folio(struct fl_mem *mem, struct fl_caller *who, fl_pfn pfn);

#endif
