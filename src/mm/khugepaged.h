/*
 * mm/khugepaged.h - the daemon that makes huge pages of base pages, and MADV_COLLAPSE. Mirrors mm/khugepaged.c.
 *
 * khugepaged.c has the list of address spaces, the cursor, the budget and the daemon; collapse.c what is done to one
 * range. Address spaces are scanned in the order in which they registered, their VMAs by address, in steps of the PMD
 * size; there is one cursor. Every point at which versions differ is a decision (mm/decisions.h).
 */
#ifndef FL_MM_KHUGEPAGED_H
#define FL_MM_KHUGEPAGED_H

#include "mm/mmap.h"

/* enum scan_result, as far as anonymous memory of one process can give it; the text is that of the trace events. */
#define FL_SCAN_RESULTS(X) \
	X(FAIL, "failed") \
	X(SUCCEED, "succeeded") \
	X(PMD_NULL, "pmd_null") \
	X(PMD_MAPPED, "page_pmd_mapped") \
	X(EXCEED_NONE_PTE, "exceed_none_pte") \
	X(EXCEED_SWAP_PTE, "exceed_swap_pte") \
	X(PTE_NON_PRESENT, "pte_non_present") \
	X(PTE_MAPPED_HUGEPAGE, "pte_mapped_hugepage") \
	X(PAGE_RO, "no_writable_page") \
	X(LACK_REFERENCED_PAGE, "lack_referenced_page") \
	X(PAGE_COUNT, "not_suitable_page_count") \
	X(PAGE_LRU, "page_not_in_lru") \
	X(PAGE_LOCK, "page_locked") \
	X(PAGE_ANON, "page_not_anon") \
	X(PAGE_LAZYFREE, "page_lazyfree") \
	X(ANY_PROCESS, "no_process_for_page") \
	X(VMA_NULL, "vma_null") \
	X(VMA_CHECK, "vma_check_failed") \
	X(ALLOC_HUGE_PAGE_FAIL, "alloc_huge_page_failed")

#define FL_SCAN_ENUM(name, text) FL_SCAN_##name,
enum fl_scan_result { FL_SCAN_RESULTS(FL_SCAN_ENUM) FL_SCAN_COUNT };
#undef FL_SCAN_ENUM

const char *fl_scan_result_text(enum fl_scan_result result);

struct fl_khugepaged {
	struct fl_caller who;
	struct fl_waitqueue wait;
	uint32_t first, last;  /* of the list: mm id + 1, 0 for none; links are in the address spaces */
	uint32_t cursor_mm;    /* mm id + 1; 0: at the head */
	fl_vpn cursor;
	bool may_start;        /* there is a machine for its task to run on */
	bool woken;            /* scan_sleep or alloc_sleep was written: the sleep is over */
	bool gone;             /* the address space under the cursor exited while it was being worked on */
	uint64_t results[FL_SCAN_COUNT]; /* of ranges, since boot */
};

void fl_khugepaged_init(struct fl_mem *mem);
void fl_khugepaged_fini(struct fl_mem *mem);
uint64_t fl_khugepaged_hash(const struct fl_mem *mem, uint64_t hash);
void fl_khugepaged_check(struct fl_mem *mem);

/* From now on THP settings start the daemon's task, at once or when they are written. It works while they do not stop it and
 * something is registered. */
void fl_khugepaged_start(struct fl_mem *mem);
/* The settings that start and stop it were written; or the sleeps, which ends the one under way. */
void fl_khugepaged_settings_written(struct fl_mem *mem, bool sleeps);

/* khugepaged_enter_vma(): registers the address space if the VMA is a matter for khugepaged now. */
void fl_khugepaged_enter_vma(struct fl_mem *mem, struct fl_mm *mm, const struct fl_vma *vma);
/* khugepaged_exit(): off the list. */
void fl_khugepaged_exit(struct fl_mem *mem, struct fl_mm *mm);

/* khugepaged_do_scan(): one wake-up. Returns the budget used. May switch. Tests call it without a daemon. */
uint64_t fl_khugepaged_do_scan(struct fl_mem *mem, struct fl_caller *who);

/* ---- collapse.c ---- */

/* A range of a PMD entry, and what was found in it. */
struct fl_collapse {
	struct fl_mem *mem;
	struct fl_caller *who;
	struct fl_mm *mm;
	fl_vpn first;        /* of the range */
	bool is_khugepaged;  /* else MADV_COLLAPSE */
	uint32_t vma_flags;
	unsigned int visited; /* entries looked at by the scan; 0: there was no table, or a huge mapping */
	bool attempted;       /* a collapse was attempted, for which the mmap lock was dropped */
};

/* hpage_collapse_scan_pmd() and what follows from it. The VMA must span the range. May switch when it attempts. */
enum fl_scan_result fl_collapse_scan_pmd(struct fl_collapse *c);

/* madvise_collapse() of one piece of a VMA. */
int fl_madvise_collapse(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm, fl_vpn start, uint32_t pages);

#endif
