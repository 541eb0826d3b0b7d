/*
 * mm/huge_memory.h - huge pages and mTHP of anonymous memory: which orders, gfp, faults, splitting, the queue of deferred
 * splits, the huge zero page. Mirrors mm/huge_memory.c.
 */
#ifndef FL_MM_HUGE_MEMORY_H
#define FL_MM_HUGE_MEMORY_H

#include "mm/memory.h"

struct fl_pfn_list; /* mm/pfn_list.h */

/* thp_vma_allowable_orders() without the size of the VMA: bit o set when anonymous order o is enabled for a VMA with
 * these flags (facts 8.1). */
uint32_t fl_thp_orders(const struct fl_mem *mem, uint32_t vma_flags, bool thp_disabled);

/* Orders of the mask whose naturally aligned range around vpn lies in [start, end) (thp_vma_suitable_orders). */
uint32_t fl_thp_suitable_orders(uint32_t orders, fl_vpn vpn, fl_vpn start, fl_vpn end);

/* vma_thp_gfp_mask(): by thp_defrag and VM_HUGEPAGE (facts 8.4). */
fl_gfp fl_thp_gfp(const struct fl_mem *mem, uint32_t vma_flags);
/* alloc_hugepage_khugepaged_gfpmask() */
fl_gfp fl_khugepaged_gfp(const struct fl_mem *mem);

/* vma_alloc_folio(): order PMD tries the node first (THISNODE | NORETRY), then, where direct reclaim is allowed, the
 * whole mask (facts 1.3). Kind ANON. May switch. */
fl_pfn fl_thp_alloc(struct fl_mem *mem, struct fl_caller *who, fl_gfp gfp, unsigned int order);

/* khugepaged_enter_vma(): the address space is to be scanned. Set by khugepaged.c; without it only mm->khugepaged is set. */
typedef void (*fl_khugepaged_enter_fn)(struct fl_mem *mem, struct fl_mm *mm);
void fl_set_khugepaged_enter(struct fl_mem *mem, fl_khugepaged_enter_fn fn);
void fl_khugepaged_register(struct fl_mem *mem, struct fl_mm *mm);

/* do_huge_pmd_anonymous_page(); FL_HUGE_FALLBACK: go on at the PTE level. May switch. */
enum fl_huge { FL_HUGE_DONE, FL_HUGE_FALLBACK, FL_HUGE_OOM, FL_HUGE_RETRY };
enum fl_huge fl_huge_pmd_fault(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm, const struct fl_vma *vma,
			       fl_vpn vpn, bool write);
/* A write to a mapped huge zero page. May switch. */
enum fl_huge fl_huge_zero_write(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm,
				const struct fl_vma *vma, fl_vpn vpn);

/* alloc_anon_folio() for a write fault at the PTE level: the folio and its order, or FL_PFN_NONE (out of memory). May
 * switch. */
fl_pfn fl_alloc_anon_folio(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm, const struct fl_vma *vma,
			   fl_vpn vpn, unsigned int *ret_order);

/* Maps a new folio: flags, owner, index, counts, gauges, LRU (folio_add_new_anon_rmap, folio_add_lru_vma). `flags` are
 * the VMA's. PTEs or PMD entry are the caller's to set. */
void fl_folio_map_new_anon(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm, fl_pfn pfn, fl_vpn vpn,
			   uint32_t vma_flags);

/* __split_huge_pmd(): the mapping of a huge page becomes 2^pmd_order PTEs (thp_split_pmd). No effect on other entries. */
void fl_split_huge_pmd(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm, fl_vpn vpn);

/*
 * split_folio(): cuts an anonymous folio (or a file folio that nobody maps) into order-0 folios. Pages that nobody maps
 * are freed. False: somebody else holds it (pinned, locked, under writeback). The pieces go where the folio was: beside it on its LRU
 * list; of an isolated folio the pieces, isolated too, go to the tail of `list`, from which the caller has taken it.
 * Counts thp_split_page(_failed) and split(_failed) of the size. Never switches.
 */
bool fl_split_folio(struct fl_mem *mem, struct fl_caller *who, fl_pfn pfn, struct fl_pfn_list *list);

/* deferred_split_folio(): queues; `partially_mapped` counts and flags the first time. */
void fl_deferred_split_folio(struct fl_mem *mem, fl_pfn pfn, bool partially_mapped);
/* The queue itself, without counting. */
void fl_deferred_queue(struct fl_mem *mem, fl_pfn pfn);
void fl_deferred_unqueue(struct fl_mem *mem, fl_pfn pfn);
/* The shrinker: folios on the queue; scans up to nr of them, returns how many it split. */
uint64_t fl_deferred_split_count(const struct fl_mem *mem);
uint64_t fl_deferred_split_scan(struct fl_mem *mem, struct fl_caller *who, uint64_t nr);

/* The huge zero page: its users are the mappings; the shrinker frees it when there are none. Pages freed. */
uint32_t fl_huge_zero_users(const struct fl_mem *mem);
uint32_t fl_huge_zero_shrink(struct fl_mem *mem, struct fl_caller *who);

/* A large folio goes: off the queue, gauges nr_anon and nr_anon_partially_mapped. Called by the last fl_folio_put. */
void fl_large_folio_release(struct fl_mem *mem, fl_pfn pfn);

/* Migration: `to` takes the place of `from` on the queue and in the gauges. fl_rmap_move() calls it. */
void fl_large_folio_move(struct fl_mem *mem, fl_pfn from, fl_pfn to);

struct fl_thp_state {
	uint32_t queue;        /* pseudo-frame; members link through the record of their second page */
	uint64_t queue_length;
	fl_pfn zero_page;      /* FL_PFN_NONE: not made yet */
	uint32_t zero_users;   /* mappings */
	fl_khugepaged_enter_fn enter;
};

void fl_huge_memory_init(struct fl_mem *mem);
void fl_huge_memory_fini(struct fl_mem *mem);
void fl_huge_memory_check(struct fl_mem *mem);

#endif
