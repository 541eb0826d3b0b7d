/*
 * mm/swap.h - the LRU lists and their per-CPU batches. Mirrors mm/swap.c (mm/folio.c in 7.3), mm_inline.h.
 *
 * Five circular lists headed by pseudo-frames. A folio is in one of these places: on a list (FL_LRU), in a batch of a CPU
 * (FL_BATCHED: `next` holds CPU, kind and slot, so it is taken out without a flush), isolated (FL_ISOLATED, one
 * reference more, links are the isolator's), or nowhere yet. Adding and removing keeps the sizes by list and zone and the
 * pageblock's `lru` count. New folios go to the inactive head (anonymous ones too), unevictable ones to their own list.
 *
 * References: an anonymous folio has one for all its mappings together, a file folio one for its cache, and a folio in the
 * swap cache one more; isolation adds one. fl_folio_put() frees the folio with the last one.
 *
 * Deviation: a folio on its way to another list (activate, deactivate, lazyfree) is off every list until its batch drains,
 * where the kernel leaves it on the old one: at most 31 folios a CPU and kind.
 */
#ifndef FL_MM_SWAP_H
#define FL_MM_SWAP_H

#include "mm/mem.h"

enum fl_lru_list {
	FL_LRU_INACTIVE_ANON,
	FL_LRU_ACTIVE_ANON,
	FL_LRU_INACTIVE_FILE,
	FL_LRU_ACTIVE_FILE,
	FL_LRU_UNEVICTABLE,
	FL_LRU_LISTS
};

#define FL_BATCH_SIZE 31 /* FOLIO_BATCH_SIZE (PAGEVEC_SIZE) */
enum fl_batch_kind { FL_BATCH_ADD, FL_BATCH_ROTATE, FL_BATCH_DEACTIVATE, FL_BATCH_LAZYFREE, FL_BATCH_ACTIVATE, FL_BATCHES };

struct fl_batch {
	uint32_t count;              /* slots used, emptied ones included */
	fl_pfn slot[FL_BATCH_SIZE];  /* FL_PFN_NONE: the folio was taken out (freed) meanwhile */
};

struct fl_lru {
	uint32_t head[FL_LRU_LISTS];
	uint64_t size[FL_LRU_LISTS];                /* base pages: nr_inactive_anon, ... */
	uint64_t zone_size[FL_ZONES][FL_LRU_LISTS]; /* nr_zone_inactive_anon, ... */
	uint64_t isolated[2];                       /* nr_isolated_anon, nr_isolated_file */
	uint64_t mlocked;                           /* nr_mlock */
	struct fl_batch *batch;                     /* [cpu * FL_BATCHES + kind] */
};

void fl_lru_init(struct fl_mem *mem);
void fl_lru_fini(struct fl_mem *mem);
uint64_t fl_lru_hash(const struct fl_mem *mem, uint64_t hash);

static inline unsigned int fl_folio_order(const struct fl_mem *mem, fl_pfn pfn)
{
	return fl_state_order(mem->frames.state[pfn]);
}

static inline uint32_t fl_folio_pages(const struct fl_mem *mem, fl_pfn pfn)
{
	return 1u << fl_folio_order(mem, pfn);
}

/* folio_is_file_lru(): page cache and lazyfree, by FL_SWAPBACKED. */
static inline bool fl_state_is_file_lru(uint32_t state)
{
	return !(state & FL_SWAPBACKED);
}

/* folio_lru_list(): where a folio with these flags belongs. */
static inline enum fl_lru_list fl_state_lru_list(uint32_t state)
{
	if (state & FL_UNEVICTABLE)
		return FL_LRU_UNEVICTABLE;
	return (fl_state_is_file_lru(state) ? FL_LRU_INACTIVE_FILE : FL_LRU_INACTIVE_ANON) + !!(state & FL_ACTIVE);
}

/* folio_test_lazyfree(): an anonymous folio without FL_SWAPBACKED. */
static inline bool fl_state_is_lazyfree(uint32_t state)
{
	return fl_state_kind(state) == FL_KIND_ANON && !(state & FL_SWAPBACKED);
}

/* Where a folio in a batch is, as its `next` says it. */
static inline uint32_t fl_batch_place(unsigned int cpu, unsigned int kind, unsigned int slot)
{
	return cpu << 16 | kind << 8 | slot;
}

/* The full batch goes to the lists; the LRU lock counts as held meanwhile. */
void fl_batch_flush(struct fl_mem *mem, struct fl_caller *who, unsigned int cpu, enum fl_batch_kind kind);

/* folio_batch_add_and_move() of a folio that is nowhere yet; `state` becomes its state word, but for FL_BATCHED. A large
 * folio is never kept back (folio_may_be_lru_cached). */
static inline void fl_batch_add(struct fl_mem *mem, struct fl_caller *who, fl_pfn pfn, uint32_t state,
				enum fl_batch_kind kind)
{
	unsigned int cpu = fl_caller_cpu(who);
	struct fl_batch *batch = &mem->lru->batch[cpu * FL_BATCHES + kind];

	mem->frames.record[pfn].next = fl_batch_place(cpu, kind, batch->count);
	mem->frames.state[pfn] = state | FL_BATCHED;
	batch->slot[batch->count++] = pfn;
	fl_charge(who->task, mem->cost->lru_add);
	if (batch->count == FL_BATCH_SIZE || fl_state_order(state))
		fl_batch_flush(mem, who, cpu, kind);
}

/* folio_add_lru(): into the caller's batch; a large folio flushes it at once. A folio with FL_MLOCKED lands on the
 * unevictable list (unevictable_pgs_culled). FL_ACTIVE decides between active and inactive. */
void fl_folio_add_lru(struct fl_mem *mem, struct fl_caller *who, fl_pfn pfn);

/* Straight to a list, by its flags: head or tail (lruvec_add_folio, _tail). */
void fl_lru_add_folio(struct fl_mem *mem, fl_pfn pfn, bool tail);
/* In front of `next` (a folio or the head) on the list of its flags: where the pieces of a split folio go. */
void fl_lru_insert_before(struct fl_mem *mem, fl_pfn pfn, uint32_t next);
/* Off its list (lruvec_del_folio); clears FL_LRU only. */
void fl_lru_del_folio(struct fl_mem *mem, fl_pfn pfn);
/* Moves a folio on a list to the head or tail of the list where its flags belong; the list it is on is `from`. */
void fl_lru_move_folio(struct fl_mem *mem, fl_pfn pfn, enum fl_lru_list from, bool tail);
/* Off list or batch, wherever it is; isolated folios are left alone. */
void fl_lru_forget(struct fl_mem *mem, fl_pfn pfn);

/* folio_isolate_lru(): false if it is not on a list. Sets FL_ISOLATED, takes a reference, counts nr_isolated_*. */
bool fl_folio_isolate_lru(struct fl_mem *mem, fl_pfn pfn);
/* Isolated from the start (a piece of an isolated folio): flag, count and reference, from no list. */
void fl_folio_mark_isolated(struct fl_mem *mem, fl_pfn pfn);
/* Ends isolation without putting the folio anywhere: clears FL_ISOLATED and the count, keeps the reference. */
void fl_folio_clear_isolated(struct fl_mem *mem, fl_pfn pfn);
/* folio_putback_lru(): ends isolation, back through the caller's batch, drops the reference (and may free). */
void fl_folio_putback_lru(struct fl_mem *mem, struct fl_caller *who, fl_pfn pfn);

/* Batched moves of a folio on a list; anything else is ignored. */
void fl_folio_activate(struct fl_mem *mem, struct fl_caller *who, fl_pfn pfn);   /* pgactivate when drained */
void fl_folio_deactivate(struct fl_mem *mem, struct fl_caller *who, fl_pfn pfn); /* pgdeactivate */
void fl_folio_mark_lazyfree(struct fl_mem *mem, struct fl_caller *who, fl_pfn pfn); /* pglazyfree: facts 10.1 */
void fl_folio_rotate_reclaimable(struct fl_mem *mem, struct fl_caller *who, fl_pfn pfn); /* pgrotated */

/* Sets FL_SWAPBACKED of a folio that is on no list (a lazyfree folio was written to); keeps nr_isolated_* right. */
void fl_folio_set_swapbacked(struct fl_mem *mem, fl_pfn pfn);

/* lru_add_drain_cpu(), lru_add_drain() (the caller's CPU), lru_add_drain_all(). Never switch. */
void fl_lru_add_drain_cpu(struct fl_mem *mem, struct fl_caller *who, unsigned int cpu);
void fl_lru_add_drain(struct fl_mem *mem, struct fl_caller *who);
void fl_lru_add_drain_all(struct fl_mem *mem, struct fl_caller *who);

static inline void fl_folio_get(struct fl_mem *mem, fl_pfn pfn)
{
	FL_ASSERT(mem->frames.record[pfn].refcount < UINT16_MAX);
	mem->frames.record[pfn].refcount++;
}

/* folio_put(): drops a reference; with the last one the folio leaves list or batch and is freed. True if freed. Never
 * switches. */
bool fl_folio_put(struct fl_mem *mem, struct fl_caller *who, fl_pfn pfn);

void fl_lru_check(struct fl_mem *mem);

#endif
