/*
 * mm/buddy.h - the buddy lists of a zone: take, split, merge, claim, steal, capture. Part of mm/page_alloc.c.
 *
 * Nothing here switches tasks or looks at watermarks.
 */
#ifndef FL_MM_BUDDY_H
#define FL_MM_BUDDY_H

#include "mm/page_alloc.h"

/* enum rmqueue_mode: how far down __rmqueue got; lives for one bulk (allocator.md 2.7). */
enum fl_rmqueue_mode { FL_RMQUEUE_NORMAL, FL_RMQUEUE_CLAIM, FL_RMQUEUE_STEAL };

/* __rmqueue(): own list, then claim, then steal. Returns a chunk (state KERNEL is not yet set: the frame is off all
 * lists and INTERIOR) or FL_PFN_NONE. */
fl_pfn fl_rmqueue(struct fl_mem *mem, struct fl_caller *who, struct fl_zone *zone, unsigned int order,
		  unsigned int type, uint32_t alloc_flags, enum fl_rmqueue_mode *mode);

/* __rmqueue_smallest(): from the lists of one type only. */
fl_pfn fl_rmqueue_smallest(struct fl_mem *mem, struct fl_caller *who, struct fl_zone *zone, unsigned int order,
			   unsigned int type);

/* Takes up to `want` chunks of this order that lie in a row, as that many calls of fl_rmqueue_smallest() would, in one step.
 * Returns how many, *ret_first being the first; 0 when nothing was done (no chunk, guard pages, somebody listens). */
unsigned int fl_rmqueue_run(struct fl_mem *mem, struct fl_zone *zone, unsigned int order, unsigned int type,
			    unsigned int want, fl_pfn *ret_first);

/* __free_one_page() over split_large_buddy(): the chunk (INTERIOR, on no list) goes to the buddy lists, merging; to
 * the tail when `to_tail` (FPI_TO_TAIL). Offers it to the caller's capture. */
void fl_free_to_buddy(struct fl_mem *mem, struct fl_caller *who, struct fl_zone *zone, fl_pfn pfn,
		      unsigned int order, bool to_tail);

/* Takes a free chunk that is on a list off it, with accounting: del_page_from_free_list(). It becomes INTERIOR. */
void fl_del_from_free_list(struct fl_mem *mem, struct fl_zone *zone, fl_pfn pfn, unsigned int order,
			   unsigned int type);

/* Moves all free chunks of a pageblock from the lists of `from` to the tails of those of `to`, in rising pfn, and
 * returns the pages moved. The type of the block is the caller's to set (fl_pageblock_set_type). */
unsigned int fl_move_freepages_block(struct fl_mem *mem, struct fl_zone *zone, fl_pfn block_start, unsigned int from,
				     unsigned int to);

/* move_to_free_list(): one listed chunk goes to the tail of the list of another type. */
void fl_move_listed_chunk(struct fl_mem *mem, struct fl_zone *zone, fl_pfn pfn, unsigned int order, unsigned int from,
			  unsigned int to);

/* __isolate_free_page(): takes a whole free chunk for compaction; false when the watermark forbids it. The frame
 * becomes FL_KIND_TARGET. Retags pageblocks to Movable for orders of at least pageblock order - 1. */
bool fl_isolate_free_page(struct fl_mem *mem, struct fl_zone *zone, fl_pfn pfn, unsigned int order);

/* First fallback type that has a chunk of this order, or -1 (fallbacks table, allocator.md 3.1). */
int fl_find_fallback(const struct fl_zone *zone, unsigned int order, unsigned int want);

/* should_try_claim_block() (7.3), can_steal_fallback() (6.12): is a chunk of this order worth claiming? */
bool fl_worth_claiming(const struct fl_mem *mem, unsigned int found_order, unsigned int want);

#endif
