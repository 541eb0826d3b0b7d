/*
 * mm/swapfile.h - swap: areas, slots, the swap cache, read-in with readahead. Mirrors mm/swapfile.c, swap_state.c and
 * page_io.c.
 *
 * One swap area on one device. A slot holds one page. Its count is the number of page table entries that name it; the swap
 * cache may hold a folio for it besides. The slot is free when the count is 0 and no folio is cached.
 * A folio in the swap cache has FL_SWAPCACHED; fl_folio_swap_slot() says which slot (its head's; a folio of order n covers
 * 2^n aligned slots). It is of kind ANON while mapped and SWAPCACHE while nobody maps it; the cache holds a reference.
 * Who takes away its last mapping otherwise than reclaim does (zap, exit) calls fl_folio_free_swap() afterwards, which frees it
 * unless it is under I/O (then reclaim does, later).
 */
#ifndef FL_MM_SWAPFILE_H
#define FL_MM_SWAPFILE_H

#include "mm/mem.h"
#include "sim/device.h"

typedef uint32_t fl_swp; /* slot number */
#define FL_SWP_NONE UINT32_MAX

void fl_swap_init(struct fl_mem *mem);
void fl_swap_fini(struct fl_mem *mem);
uint64_t fl_swap_hash(const struct fl_mem *mem, uint64_t hash);
void fl_swap_check(struct fl_mem *mem); /* invariants of slots and cache */

/* swapon: one area of `pages` slots on a device (borrowed; NULL: I/O takes no time). Synchronous devices (zram) bypass
 * readahead and may read large folios. Only once. */
void fl_swapon(struct fl_mem *mem, struct fl_device *device, uint32_t pages, bool synchronous);
/* The area is on a disk that counts as rotating, right after fl_swapon. */
void fl_swap_set_rotational(struct fl_mem *mem);

uint32_t fl_swap_total(const struct fl_mem *mem);
uint32_t fl_swap_free_slots(const struct fl_mem *mem); /* get_nr_swap_pages() */
bool fl_swap_is_full(const struct fl_mem *mem);        /* vm_swap_full(): more than half used */
/* Pages in the swap cache (part of the file/anon LRUs): nr_swapcached. */
uint32_t fl_swap_cached(const struct fl_mem *mem);

/* ---- Page table entries ---- */
void fl_swap_dup(struct fl_mem *mem, fl_swp slot);  /* a PTE now names the slot (unmap, fork) */
/* A PTE no longer names it (zap, swapped in); at 0 an unused cached folio is dropped unless it is busy. */
void fl_swap_put(struct fl_mem *mem, struct fl_caller *who, fl_swp slot);
unsigned int fl_swap_count(const struct fl_mem *mem, fl_swp slot);

/* ---- The swap cache ---- */
fl_pfn fl_swap_cache_lookup(const struct fl_mem *mem, fl_swp slot); /* page (not head) or FL_PFN_NONE */
fl_swp fl_folio_swap_slot(const struct fl_mem *mem, fl_pfn folio);  /* of a folio with FL_SWAPCACHED */
/* add_to_swap()/folio_alloc_swap(): finds aligned slots and puts the folio into the cache; false: swap is full or too
 * fragmented for a large folio (the caller may split it). Marks the folio dirty. */
bool fl_folio_alloc_swap(struct fl_mem *mem, struct fl_caller *who, fl_pfn folio);
/* folio_free_swap(): leaves the cache if no PTE names its slots and it is not under writeback. */
bool fl_folio_free_swap(struct fl_mem *mem, struct fl_caller *who, fl_pfn folio);
/* Moves the cache entry from one frame to another: for migration. The new head must have the order of the old. */
void fl_swap_cache_migrate(struct fl_mem *mem, fl_pfn from, fl_pfn to);
/* A folio in the cache was cut into folios of new_order: each gets its own entry. Call after the heads are made. */
void fl_swap_cache_split(struct fl_mem *mem, fl_pfn head, unsigned int old_order, unsigned int new_order);

/* Writes the folio out (swap_writepage): FL_WRITEBACK until the device is done; then rotated when FL_RECLAIM is set. */
void fl_swap_writepage(struct fl_mem *mem, struct fl_caller *who, fl_pfn folio);
/* blk_start_plug(), blk_finish_plug() around swap writes of this caller, and what a sleep does to a plug. */
void fl_swap_plug(struct fl_caller *who, struct fl_plug *plug);
void fl_swap_unplug(struct fl_mem *mem, struct fl_caller *who);
void fl_swap_flush_plug(struct fl_mem *mem, struct fl_caller *who);

/*
 * do_swap_page() without the page table: the page that holds the slot's contents, read with readahead if need be (pswpin,
 * swap_ra). It is in the swap cache and not locked; kind SWAPCACHE if nobody maps it. The caller looks at its PTE again, maps
 * it at once (kind ANON, one reference for the mappings, owner and index), then fl_swap_put()s the slot and, if
 * fl_should_free_swap() says so, calls fl_folio_free_swap(). FL_PFN_NONE: no memory, or the slot is no longer in use (then
 * the PTE has changed). May switch. `major` tells whether it was read (counted as pgmajfault here; may be NULL).
 */
fl_pfn fl_swapin(struct fl_mem *mem, struct fl_caller *who, fl_swp slot, fl_gfp gfp, bool *major);

/* __swapin_nr_pages(): pages of the readahead window, by hits in the last one. Pure. */
unsigned int fl_swapin_window(unsigned int hits, bool is_neighbour, unsigned int last_window, unsigned int max);

/* should_try_to_free_swap() after a fault on `folio`. */
bool fl_should_free_swap(const struct fl_mem *mem, fl_pfn folio, bool write, bool mlocked);

#endif
