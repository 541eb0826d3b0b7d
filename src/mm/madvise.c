/*
 * mm/madvise.c - madvise: huge page advice, dropping, lazy freeing. Mirrors mm/madvise.c.
 */
#include <errno.h>

#include "mm/huge_memory.h"
#include "mm/khugepaged.h"
#include "mm/memory.h"
#include "mm/mm_internal.h"
#include "mm/rmap.h"
#include "mm/swap.h"
#include "mm/swapfile.h"

/* Calls fn for each VMA piece of the range, in order. fn may switch. -ENOMEM at the end when there was a hole; an error
 * of fn ends it. */
typedef int (*piece_fn)(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm, const struct fl_vma *vma,
			fl_vpn start, fl_vpn end, uint64_t *sum);

static int each_piece(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm, fl_vpn start, fl_vpn end,
		      piece_fn fn, uint64_t *sum)
{
	int result = 0, error;

	while (start < end) {
		uint32_t at = fl_vma_position(mem, mm, start);
		struct fl_vma vma;

		if (at == mm->vmas)
			return -ENOMEM;
		vma = *fl_vma_at(mem, mm, at);
		if (vma.start > start) {
			result = -ENOMEM;
			start = vma.start;
			continue;
		}
		error = fn(mem, who, mm, &vma, start, vma.end < end ? vma.end : end, sum);
		if (error)
			return error;
		start = vma.end;
	}
	return result;
}

/* ---- MADV_DONTNEED ---- */

static void free_emptied_tables(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm, fl_vpn start, fl_vpn end)
{
	uint32_t pages = 1u << mem->pmd_order;

	for (uint64_t at = ((uint64_t)start + pages - 1) & ~(uint64_t)(pages - 1); at + pages <= end; at += pages)
		fl_pte_free_empty(mem, who, mm, at);
}

static void drop_range(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm, fl_vpn start, fl_vpn end,
		       uint64_t *sum)
{
	bool frees_tables = mem->decide.dontneed_frees_tables(&(struct fl_no_facts){ 0 });

	fl_lru_add_drain(mem, who);
	for (fl_vpn at = start; at < end;) {
		fl_vpn from = at;

		*sum += fl_zap_pmd_range(mem, who, mm, at, end, &at);
		if (frees_tables)
			free_emptied_tables(mem, who, mm, from, at);
		fl_cond_resched(who->task);
	}
}

static int dontneed_piece(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm, const struct fl_vma *vma,
			  fl_vpn start, fl_vpn end, uint64_t *sum)
{
	if (vma->flags & FL_VM_LOCKED)
		return -EINVAL;
	drop_range(mem, who, mm, start, end, sum);
	return 0;
}

static int dontneed_locked_piece(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm,
				 const struct fl_vma *vma, fl_vpn start, fl_vpn end, uint64_t *sum)
{
	drop_range(mem, who, mm, start, end, sum);
	return 0;
}

uint64_t fl_discard_runs(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm, const fl_vpn *starts,
			 uint32_t count, uint32_t pages)
{
	uint64_t freed = 0;

	for (uint32_t i = 0; i < count && !mm->dying; i++) {
		fl_charge(who->task, mem->cost->syscall);
		each_piece(mem, who, mm, starts[i], starts[i] + pages, dontneed_piece, &freed);
		fl_cond_resched(who->task);
	}
	return freed;
}

/* ---- MADV_FREE (facts 10.1) ---- */

/* The swap cache entry and the dirty flags go; false: the folio is busy and stays as it is. */
static bool clean_folio(struct fl_mem *mem, struct fl_caller *who, fl_pfn head)
{
	uint32_t state = mem->frames.state[head];

	if (state & (FL_SWAPCACHED | FL_DIRTY)) {
		if (state & (FL_LOCKED | FL_WRITEBACK))
			return false;
		if (state & FL_SWAPCACHED && !fl_folio_free_swap(mem, who, head))
			return false;
	}
	mem->frames.state[head] &= ~(FL_DIRTY | FL_YOUNG | FL_PTE_DIRTY);
	return true;
}

static void free_folio(struct fl_mem *mem, struct fl_caller *who, fl_pfn head)
{
	if (clean_folio(mem, who, head))
		fl_folio_mark_lazyfree(mem, who, head);
	fl_charge(who->task, mem->cost->madvise_page);
}

/* madvise_free_huge_pmd(): true when the whole entry is done. */
static bool free_huge(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm, fl_vpn start, fl_vpn end)
{
	uint32_t pages = 1u << mem->pmd_order;
	fl_pfn pfn;

	switch (fl_pmd_look(mem, mm, start, &pfn)) {
	case FL_PMD_HUGE:
		break;
	case FL_PMD_HUGE_ZERO:
	case FL_PMD_NONE:
		return true;
	default:
		return false;
	}
	if (end - start == pages) {
		free_folio(mem, who, pfn);
		return true;
	}
	return !fl_split_folio(mem, who, pfn, NULL);
}

/* One present entry at vpn: how many entries are done with it. */
static uint32_t free_present(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm, fl_vpn vpn, fl_vpn end,
			     fl_pfn pfn)
{
	fl_pfn head = fl_frame_head(&mem->frames, pfn);
	uint32_t pages = fl_folio_pages(mem, head);
	bool whole = pfn == head && vpn + pages <= end && mem->frames.record[head].mapcount == pages;

	if (pages == 1 || whole) {
		free_folio(mem, who, head);
		return pages;
	}
	if (!fl_split_folio(mem, who, head, NULL))
		return 1;
	free_folio(mem, who, pfn); /* the piece is a folio of its own now */
	return 1;
}

static void free_pmd_range(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm, fl_vpn start, fl_vpn end)
{
	mm->translations++;
	if (free_huge(mem, who, mm, start, end))
		return;
	for (fl_vpn vpn = fl_pte_next(mem, mm, start, end); vpn < end; vpn = fl_pte_next(mem, mm, vpn, end)) {
		fl_pte pte = fl_pte_look(mem, mm, vpn);
		uint32_t done = 1;

		if (fl_pte_is_swap(pte)) {
			fl_pte_set(mem, mm, vpn, 0);
			mm->swap_entries--;
			fl_swap_put(mem, who, pte & FL_PTE_SLOT_MASK);
		} else if (fl_pte_is_present(pte)) {
			done = free_present(mem, who, mm, vpn, end, fl_pte_pfn(pte));
		}
		vpn += done;
	}
}

static int free_piece(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm, const struct fl_vma *vma,
		      fl_vpn start, fl_vpn end, uint64_t *sum)
{
	uint32_t pages = 1u << mem->pmd_order;

	if (vma->type != FL_VMA_ANON || vma->flags & FL_VM_LOCKED)
		return -EINVAL;
	fl_lru_add_drain(mem, who);
	while (start < end) {
		uint64_t border = (uint64_t)(start & ~(pages - 1)) + pages;
		fl_vpn next = border < end ? border : end;

		free_pmd_range(mem, who, mm, start, next);
		start = next;
		fl_cond_resched(who->task);
	}
	return 0;
}

/* ---- The call ---- */

static int advise_huge(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm, fl_vpn start, fl_vpn end, bool yes)
{
	int result = fl_vma_change_flags(mem, who, mm, start, end, yes ? FL_VM_HUGEPAGE : FL_VM_NOHUGEPAGE,
					 yes ? FL_VM_NOHUGEPAGE : FL_VM_HUGEPAGE);

	for (uint32_t at = fl_vma_position(mem, mm, start); yes && at < mm->vmas; at++) {
		if (fl_vma_at(mem, mm, at)->start >= end)
			break;
		fl_khugepaged_enter_vma(mem, mm, fl_vma_at(mem, mm, at));
	}
	return result;
}

static int collapse_piece(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm, const struct fl_vma *vma,
			  fl_vpn start, fl_vpn end, uint64_t *sum)
{
	(void)vma;
	(void)sum;
	return mem->mms->collapse ? mem->mms->collapse(mem, who, mm, start, end - start) : -EINVAL;
}

int fl_madvise(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm, fl_vpn start, uint32_t pages,
	       enum fl_madvise advice)
{
	fl_vpn end = start + pages;
	uint64_t sum = 0;

	fl_charge(who->task, mem->cost->syscall);
	switch (advice) {
	case FL_MADV_HUGEPAGE:
		return advise_huge(mem, who, mm, start, end, true);
	case FL_MADV_NOHUGEPAGE:
		return advise_huge(mem, who, mm, start, end, false);
	case FL_MADV_DONTNEED:
		return each_piece(mem, who, mm, start, end, dontneed_piece, &sum);
	case FL_MADV_DONTNEED_LOCKED:
		return each_piece(mem, who, mm, start, end, dontneed_locked_piece, &sum);
	case FL_MADV_FREE:
		return each_piece(mem, who, mm, start, end, free_piece, &sum);
	case FL_MADV_COLLAPSE:
		return each_piece(mem, who, mm, start, end, collapse_piece, &sum);
	}
	return -EINVAL;
}
