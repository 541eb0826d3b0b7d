/*
 * mm/rmap.h - from a folio to the page table entries that map it. Mirrors mm/rmap.c; what reclaim and migration use.
 *
 * Anonymous folios belong to one address space (owner) at one place (index); there is no fork. Folios of files are
 * found through the VMAs of their mapping. mapcount is the number of pages of the folio that are mapped, over all
 * page tables (a huge mapping counts 2^pmd_order). Nothing here switches.
 */
#ifndef FL_MM_RMAP_H
#define FL_MM_RMAP_H

#include "mm/mmap.h"

/* Calls fn for every entry that maps a page of the folio; `page` is the page's offset in the folio. A huge mapping is
 * given once, page 0 (fl_pmd_look tells). fn may change this entry; false stops the walk. */
typedef bool (*fl_rmap_fn)(struct fl_mem *mem, struct fl_mm *mm, fl_vpn vpn, uint32_t page, void *arg);
void fl_rmap_walk(struct fl_mem *mem, fl_pfn pfn, fl_rmap_fn fn, void *arg);

/* folio_referenced(): was it accessed through a page table since the last call? Clears the accessed bit. The answer is 0 or
 * the number of entries that map it, capped at 2 (one bit a folio). Charges the walk. */
unsigned int fl_folio_referenced(struct fl_mem *mem, struct fl_caller *who, fl_pfn pfn);

/*
 * try_to_unmap(): takes the folio out of all page tables. Entries of a folio in the swap cache become swap entries (and
 * name the slots), those of a clean lazyfree folio and of files none. A dirty lazyfree folio is left mapped, FL_SWAPBACKED
 * again (not in a droppable VMA): false. False too when an anonymous folio has no swap slot, or is mlocked. FL_PTE_DIRTY goes over
 * to FL_DIRTY. A PMD mapping is split first. On success the reference of the mappings of an anonymous folio is dropped, so the
 * caller must hold one (isolation has), and the folio is of kind SWAPCACHE if it is in the swap cache.
 */
bool fl_try_to_unmap(struct fl_mem *mem, struct fl_caller *who, fl_pfn pfn);

/* Migration: every entry that maps `from` maps the same page of `to` afterwards (mapcount moves; same order), and `to` takes
 * its place in the gauges of large folios and on the deferred queue; so call it for folios that nobody maps, too. `to` must
 * be allocated, its kind and flags are the caller's to set before; owner and index are copied. */
void fl_rmap_move(struct fl_mem *mem, fl_pfn from, fl_pfn to);

/* Adds or takes away the mapping of one page of a folio, with the rule of partially mapped folios; the PTE is the
 * caller's. Takes away: frees the folio with its last mapping (anonymous, not in the swap cache). */
void fl_rmap_add_page(struct fl_mem *mem, fl_pfn head);
void fl_rmap_remove_pages(struct fl_mem *mem, struct fl_caller *who, fl_pfn head, uint32_t pages);

#endif
