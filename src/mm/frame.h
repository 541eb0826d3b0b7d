/*
 * mm/frame.h - page frames: 24 bytes each, a state word in an array of its own and a record of 20 bytes.
 *
 * The scanners (compaction, census, half rule) read only state words; a touch reads both. No pointers, only indices.
 * All access goes through the functions here. List heads are pseudo-frames behind the last frame, so lists are
 * circular and insertion has no branch.
 */
#ifndef FL_MM_FRAME_H
#define FL_MM_FRAME_H

#include "base/bug.h"
#include "mm/types.h"

/* State word: kind in bits 0-4, order in bits 5-8, flags above. */
#define FL_STATE_KIND_MASK 0x1fu
#define FL_STATE_ORDER_SHIFT 5
#define FL_STATE_ORDER_MASK (0xfu << FL_STATE_ORDER_SHIFT)
#define FL_STATE_FLAG(n) (1u << (9 + (n)))

/* Flags of an allocated folio; names as the kernel's page flags where it has one. */
#define FL_LRU FL_STATE_FLAG(0)          /* on an LRU list (not in a batch, not isolated) */
#define FL_ACTIVE FL_STATE_FLAG(1)
#define FL_UNEVICTABLE FL_STATE_FLAG(2)
#define FL_MLOCKED FL_STATE_FLAG(3)
#define FL_REFERENCED FL_STATE_FLAG(4)
#define FL_WORKINGSET FL_STATE_FLAG(5)
#define FL_DIRTY FL_STATE_FLAG(6)
#define FL_WRITEBACK FL_STATE_FLAG(7)
#define FL_RECLAIM FL_STATE_FLAG(8)      /* writeback by reclaim: to the inactive tail when done */
#define FL_SWAPBACKED FL_STATE_FLAG(9)   /* clear on an anonymous folio: lazyfree */
#define FL_SWAPCACHED FL_STATE_FLAG(10)  /* has a swap slot; swapfile keeps which */
#define FL_YOUNG FL_STATE_FLAG(11)       /* accessed bit of a page table entry that maps it */
#define FL_PTE_DIRTY FL_STATE_FLAG(12)   /* dirty bit of a page table entry that maps it */
#define FL_ISOLATED FL_STATE_FLAG(13)    /* taken off the LRU by compaction or reclaim */
#define FL_BATCHED FL_STATE_FLAG(14)     /* in a per-CPU LRU batch: `next` says CPU and slot */
#define FL_PARTIALLY_MAPPED FL_STATE_FLAG(15)
#define FL_DEFERRED FL_STATE_FLAG(16)    /* on the deferred split queue */
#define FL_PMD_MAPPED FL_STATE_FLAG(17)
#define FL_PINNED FL_STATE_FLAG(18)      /* extra reference: can be neither moved nor reclaimed */
#define FL_EXEC FL_STATE_FLAG(19)        /* file mapped executable */
#define FL_LOCKED FL_STATE_FLAG(20)
#define FL_MIGRATING FL_STATE_FLAG(21)   /* unmapped by migration; a fault on it waits */

struct fl_frame {
	uint32_t next, prev; /* list links; in a batch: CPU and slot */
	uint32_t owner;      /* anon: mm id; file: mapping id; slab: slab id; page table: mm id */
	uint32_t index;      /* page index in the owner (anon: virtual page number) */
	uint16_t mapcount;   /* page table entries that map it */
	uint16_t refcount;
};
_Static_assert(sizeof(struct fl_frame) == 20, "a frame is 4 + 20 bytes (design section 5)");

/* Both counts in one store. */
static inline void fl_frame_set_counts(struct fl_frame *frame, uint16_t mapcount, uint16_t refcount)
{
	const uint16_t counts[2] = { mapcount, refcount };

	_Static_assert(offsetof(struct fl_frame, refcount) == offsetof(struct fl_frame, mapcount) + 2, "neighbours");
	__builtin_memcpy((char *)frame + offsetof(struct fl_frame, mapcount), counts, sizeof(counts));
}

struct fl_frames {
	uint32_t *state;
	struct fl_frame *record;
	uint32_t count; /* frames; pseudo-frames follow */
	uint32_t heads; /* pseudo-frames in use */
	uint32_t heads_max;
};

static inline uint32_t fl_state(unsigned int kind, unsigned int order)
{
	return kind | order << FL_STATE_ORDER_SHIFT;
}

static inline unsigned int fl_state_kind(uint32_t state)
{
	return state & FL_STATE_KIND_MASK;
}

static inline unsigned int fl_state_order(uint32_t state)
{
	return (state & FL_STATE_ORDER_MASK) >> FL_STATE_ORDER_SHIFT;
}

/* Circular lists through `next` and `prev`. */
static inline void fl_list_init(struct fl_frames *f, uint32_t head)
{
	f->record[head].next = f->record[head].prev = head;
}

static inline bool fl_list_empty(const struct fl_frames *f, uint32_t head)
{
	return f->record[head].next == head;
}

static inline void fl_list_insert(struct fl_frames *f, uint32_t at, uint32_t prev, uint32_t next)
{
	f->record[at].prev = prev;
	f->record[at].next = next;
	f->record[prev].next = at;
	f->record[next].prev = at;
}

static inline void fl_list_add(struct fl_frames *f, uint32_t head, uint32_t at)
{
	fl_list_insert(f, at, head, f->record[head].next);
}

static inline void fl_list_add_tail(struct fl_frames *f, uint32_t head, uint32_t at)
{
	fl_list_insert(f, at, f->record[head].prev, head);
}

static inline void fl_list_del(struct fl_frames *f, uint32_t at)
{
	uint32_t next = f->record[at].next, prev = f->record[at].prev;

	f->record[prev].next = next;
	f->record[next].prev = prev;
}

/* First and last element; the head itself when the list is empty. */
static inline uint32_t fl_list_first(const struct fl_frames *f, uint32_t head)
{
	return f->record[head].next;
}

static inline uint32_t fl_list_last(const struct fl_frames *f, uint32_t head)
{
	return f->record[head].prev;
}

/* Takes a new pseudo-frame to head a list; never given back. */
uint32_t fl_frames_new_head(struct fl_frames *f);

/*
 * The head of the chunk or folio that covers pfn, or FL_PFN_NONE where there is none (a hole). Walks down the
 * alignments: at most 15 state words. The kernel has a pointer in each tail; we need it only off the hot path.
 */
fl_pfn fl_frame_head_below(const struct fl_frames *f, fl_pfn pfn);

static inline fl_pfn fl_frame_head(const struct fl_frames *f, fl_pfn pfn)
{
	return fl_state_kind(f->state[pfn]) != FL_KIND_INTERIOR ? pfn : fl_frame_head_below(f, pfn);
}

/* The host fetches what a walk over frames will need next; changes nothing. */
static inline void fl_frame_fetch(const struct fl_frames *f, fl_pfn pfn)
{
	__builtin_prefetch(&f->state[pfn], 1);
	__builtin_prefetch(&f->record[pfn], 1);
}

#endif
