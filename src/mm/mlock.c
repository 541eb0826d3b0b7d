/*
 * mm/mlock.c - mlock and munlock. Mirrors mm/mlock.c. Locked folios are on the unevictable list, out of reclaim's way; a
 * folio has one owner here, so the kernel's count of locking VMAs is not needed.
 */
#include <errno.h>

#include "mm/memory.h"
#include "mm/mm_internal.h"
#include "mm/swap.h"

/* __mlock_folio(): a folio that is in a batch gets to the unevictable list when the batch drains. */
void fl_mlock_folio(struct fl_mem *mem, struct fl_caller *who, fl_pfn pfn)
{
	uint32_t state = mem->frames.state[pfn];
	uint64_t pages = fl_folio_pages(mem, pfn);

	if (state & FL_MLOCKED)
		return;
	mem->frames.state[pfn] = state | FL_MLOCKED;
	mem->lru->mlocked += pages;
	fl_count(mem, FL_VM_unevictable_pgs_mlocked, pages);
	fl_charge(who->task, mem->cost->mlock_page);
	if (!(state & FL_LRU) || state & FL_UNEVICTABLE)
		return;
	fl_lru_del_folio(mem, pfn);
	mem->frames.state[pfn] = (mem->frames.state[pfn] & ~FL_ACTIVE) | FL_UNEVICTABLE;
	fl_lru_add_folio(mem, pfn, false);
	fl_count(mem, FL_VM_unevictable_pgs_culled, pages);
}

/* __munlock_folio() */
void fl_munlock_folio(struct fl_mem *mem, struct fl_caller *who, fl_pfn pfn)
{
	uint32_t state = mem->frames.state[pfn];
	uint64_t pages = fl_folio_pages(mem, pfn);
	bool on_list = state & FL_LRU;

	if (!(state & FL_MLOCKED))
		return;
	mem->frames.state[pfn] = state & ~FL_MLOCKED;
	mem->lru->mlocked -= pages;
	fl_count(mem, on_list || !(state & FL_UNEVICTABLE) ? FL_VM_unevictable_pgs_munlocked
							   : FL_VM_unevictable_pgs_stranded, pages);
	fl_charge(who->task, mem->cost->mlock_page);
	if (!on_list || !(state & FL_UNEVICTABLE))
		return;
	fl_lru_del_folio(mem, pfn);
	mem->frames.state[pfn] &= ~FL_UNEVICTABLE;
	fl_lru_add_folio(mem, pfn, false);
	fl_count(mem, FL_VM_unevictable_pgs_rescued, pages);
}

/* mlock_pte_range(): a large folio counts only if it lies in the range as a whole. */
static void change_present(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm, fl_vpn start, fl_vpn end,
			   bool lock)
{
	for (fl_vpn vpn = fl_pte_next(mem, mm, start, end); vpn < end; vpn = fl_pte_next(mem, mm, vpn, end)) {
		fl_pte pte = fl_pte_look(mem, mm, vpn);
		fl_pfn head;

		if (!fl_pte_is_present(pte)) {
			vpn++;
			continue;
		}
		head = fl_frame_head(&mem->frames, fl_pte_pfn(pte));
		if (fl_pte_pfn(pte) == head && vpn + fl_folio_pages(mem, head) <= end) {
			if (lock)
				fl_mlock_folio(mem, who, head);
			else
				fl_munlock_folio(mem, who, head);
			vpn += fl_folio_pages(mem, head);
		} else {
			vpn++;
		}
	}
}

/* __mm_populate(): faults in what is missing; reads would only map the zero page. */
static int populate(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm, fl_vpn start, fl_vpn end)
{
	for (fl_vpn vpn = start; vpn < end; vpn++) {
		const struct fl_vma *vma;
		fl_pte pte = fl_pte_look(mem, mm, vpn);

		if (fl_pte_is_present(pte))
			continue;
		vma = fl_vma_find(mem, mm, vpn);
		if (!vma || mm->dying ||
		    fl_handle_fault(mem, who, mm, vpn, !(vma->flags & FL_VM_READONLY)) != FL_FAULT_DONE)
			return -ENOMEM;
		fl_cond_resched(who->task);
	}
	return 0;
}

int fl_mlock(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm, fl_vpn start, uint32_t pages)
{
	int result;

	fl_charge(who->task, mem->cost->syscall);
	result = fl_vma_change_flags(mem, who, mm, start, start + pages, FL_VM_LOCKED, 0);
	if (result)
		return result;
	fl_lru_add_drain(mem, who);
	change_present(mem, who, mm, start, start + pages, true);
	return populate(mem, who, mm, start, start + pages);
}

int fl_munlock(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm, fl_vpn start, uint32_t pages)
{
	int result;

	fl_charge(who->task, mem->cost->syscall);
	result = fl_vma_change_flags(mem, who, mm, start, start + pages, 0, FL_VM_LOCKED);
	fl_lru_add_drain(mem, who);
	change_present(mem, who, mm, start, start + pages, false);
	fl_cond_resched(who->task);
	return result;
}
