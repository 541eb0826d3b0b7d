/*
 * mm/vmscan_folio.c - the decision for each folio at the tail of an inactive list: shrink_folio_list(), pageout() and
 * __remove_mapping() of mm/vmscan.c (allocator.md 7.7).
 *
 * One folio is decided without a switch; between two, other tasks may run, so every look at a folio starts from its state
 * word. The isolator's reference keeps it from being freed meanwhile: a folio that nobody else holds any more is freed.
 */
#include "mm/filemap.h"
#include "mm/huge_memory.h"
#include "mm/internal.h"
#include "mm/page_writeback.h"
#include "mm/rmap.h"
#include "mm/shmem.h"
#include "mm/swap_internal.h"

struct shrink {
	struct fl_mem *mem;
	struct fl_caller *who;
	struct fl_scan_control *sc;
	struct fl_reclaim_stat *stat;
	struct fl_pfn_list *list; /* to scan; pieces of split folios go there */
	unsigned long reclaimed;
	bool unmapped_some; /* a TLB flush is due */
};

enum fate { KEEP, ACTIVATE, FREED, SPLIT };

enum references { RECLAIM, RECLAIM_CLEAN, REF_KEEP, REF_ACTIVATE };

static inline uint32_t *state_of(const struct shrink *s, fl_pfn pfn)
{
	return &s->mem->frames.state[pfn];
}

/* folio_check_references(): one reference through a page table is forgiven, a second activates. */
static enum references check_references(struct shrink *s, fl_pfn pfn)
{
	uint32_t *state = state_of(s, pfn);
	unsigned int ptes = fl_folio_referenced(s->mem, s->who, pfn);
	bool referenced = *state & FL_REFERENCED, file = fl_state_is_file_lru(*state);

	*state &= ~FL_REFERENCED;
	if (ptes) {
		*state |= FL_REFERENCED;
		if (referenced || ptes > 1 || ((*state & FL_EXEC) && file))
			return REF_ACTIVATE;
		return REF_KEEP;
	}
	return referenced && file ? RECLAIM_CLEAN : RECLAIM;
}

/* folio_check_dirty_writeback() and what the node learns from it; anonymous folios do not count. */
static void note_dirty(struct shrink *s, fl_pfn pfn)
{
	uint32_t state = *state_of(s, pfn), pages = fl_folio_pages(s->mem, pfn);
	bool dirty = state & FL_DIRTY, writeback = state & FL_WRITEBACK;

	if (!fl_state_is_file_lru(state) || fl_state_is_lazyfree(state))
		return;
	if (dirty || writeback)
		s->stat->nr_dirty += pages;
	if (dirty && !writeback)
		s->stat->nr_unqueued_dirty += pages;
	if (writeback && (state & FL_RECLAIM))
		s->stat->nr_congested += pages;
}

/* A folio under writeback goes out of the way; kswapd notes when it meets one that it has met before. */
static enum fate under_writeback(struct shrink *s, fl_pfn pfn)
{
	uint32_t *state = state_of(s, pfn), pages = fl_folio_pages(s->mem, pfn);

	if (fl_is_kswapd(s->who) && (*state & FL_RECLAIM) && s->mem->vmscan->node_writeback) {
		s->stat->nr_immediate += pages;
	} else {
		*state |= FL_RECLAIM;
		s->stat->nr_writeback += pages;
	}
	return ACTIVATE;
}

/* Cuts a large folio; its pieces are on the list then. */
static enum fate split(struct shrink *s, fl_pfn pfn)
{
	return fl_split_folio(s->mem, s->who, pfn, s->list) ? SPLIT : ACTIVATE;
}

/* A swap slot for an anonymous folio. KEEP means "go on" here: *ok tells. */
static enum fate give_slot(struct shrink *s, fl_pfn pfn, bool *ok)
{
	uint32_t state = *state_of(s, pfn);
	unsigned int order = fl_state_order(state);
	enum fate fate;

	*ok = false;
	if (!(s->sc->gfp & FL_GFP_IO) || (state & FL_PINNED))
		return KEEP;
	if (order && (state & FL_DEFERRED) && (state & FL_PARTIALLY_MAPPED))
		return split(s, pfn);
	if (fl_folio_alloc_swap(s->mem, s->who, pfn)) {
		*ok = true;
		return KEEP;
	}
	if (!order)
		return ACTIVATE;
	fate = split(s, pfn);
	if (fate == SPLIT) {
		if (order >= s->mem->pmd_order)
			fl_count(s->mem, FL_VM_thp_swpout_fallback, 1);
		s->mem->mthp[order][FL_MTHP_swpout_fallback]++;
	}
	return fate;
}

/* Takes the folio out of all page tables; false: it stays mapped. */
static bool unmap(struct shrink *s, fl_pfn pfn)
{
	uint32_t *state = state_of(s, pfn), pages = fl_folio_pages(s->mem, pfn);
	bool was_swapbacked = *state & FL_SWAPBACKED;

	if (!fl_try_to_unmap(s->mem, s->who, pfn)) {
		s->stat->nr_unmap_fail += pages;
		if (!was_swapbacked && (*state & FL_SWAPBACKED))
			s->stat->nr_lazyfree_fail += pages;
		return false;
	}
	s->unmapped_some = true;
	return true;
}

/* pageout(): starts the write. It stays on the list until the device is done. */
static enum fate pageout(struct shrink *s, fl_pfn pfn, bool *ok)
{
	uint32_t *state = state_of(s, pfn), pages = fl_folio_pages(s->mem, pfn);

	*ok = false;
	*state |= FL_RECLAIM;
	fl_count(s->mem, FL_VM_nr_vmscan_write, pages);
	if (*state & FL_SWAPCACHED)
		fl_swap_writepage(s->mem, s->who, pfn);
	else
		fl_file_writepage(s->mem, s->who, pfn);
	s->stat->nr_pageout += pages;
	if (*state & FL_WRITEBACK)
		return KEEP;
	*state &= ~FL_RECLAIM;
	*ok = true; /* a device that takes no time: it is clean now */
	return KEEP;
}

/* A dirty folio: left to the flusher, or written here. */
static enum fate clean(struct shrink *s, fl_pfn pfn, enum references references, bool *ok)
{
	uint32_t *state = state_of(s, pfn);
	bool file = fl_state_is_file_lru(*state);
	const struct fl_dirty_file_facts facts = {
		.is_kswapd = fl_is_kswapd(s->who),
		.reclaim_flag = *state & FL_RECLAIM,
		.node_dirty = s->mem->vmscan->node_dirty,
	};

	*ok = false;
	if (file && !s->mem->decide.reclaim_writes_dirty_file(&facts)) {
		fl_count(s->mem, FL_VM_nr_vmscan_immediate_reclaim, fl_folio_pages(s->mem, pfn));
		*state |= FL_RECLAIM;
		return ACTIVATE;
	}
	if (references == RECLAIM_CLEAN)
		return KEEP;
	/* may_enter_fs() */
	if (!(s->sc->gfp & FL_GFP_FS) && !((*state & FL_SWAPCACHED) && (s->sc->gfp & FL_GFP_IO)))
		return KEEP;
	if (!s->sc->may_writepage)
		return KEEP;
	return pageout(s, pfn, ok);
}

/* Drops our own reference, the last one. */
static enum fate free_folio(struct shrink *s, fl_pfn pfn)
{
	uint32_t pages = fl_folio_pages(s->mem, pfn);

	fl_charge(s->who->task, s->mem->cost->reclaim_folio);
	fl_folio_clear_isolated(s->mem, pfn);
	if (!fl_folio_put(s->mem, s->who, pfn))
		fl_bug(__FILE__, __LINE__, "a reclaimed folio had one reference", "");
	s->reclaimed += pages;
	return FREED;
}

/* __remove_mapping() and the free, for a clean folio that nobody maps. */
static enum fate remove_and_free(struct shrink *s, fl_pfn pfn)
{
	uint32_t state = *state_of(s, pfn);
	unsigned int references = s->mem->frames.record[pfn].refcount;

	if (fl_state_is_lazyfree(state)) {
		if (references != 1)
			return KEEP;
		fl_count(s->mem, FL_VM_pglazyfreed, fl_folio_pages(s->mem, pfn));
		return free_folio(s, pfn);
	}
	if (references != 2) /* ours and the cache's */
		return KEEP;
	if (state & FL_SWAPCACHED) {
		fl_swap_cache_evict(s->mem, s->who, pfn);
	} else if (fl_state_kind(state) == FL_KIND_FILE) {
		fl_filemap_remove(s->mem, s->who, pfn, fl_workingset_eviction(s->mem, pfn));
		fl_folio_put(s->mem, s->who, pfn);
	} else {
		return KEEP;
	}
	return free_folio(s, pfn);
}

/* From "it may go" to freed: slot, unmap, write, remove. */
static enum fate evict(struct shrink *s, fl_pfn pfn, enum references references)
{
	uint32_t *state = state_of(s, pfn);
	enum fate fate;
	bool ok;

	if (fl_state_kind(*state) == FL_KIND_ANON && (*state & (FL_SWAPBACKED | FL_SWAPCACHED)) == FL_SWAPBACKED) {
		fate = give_slot(s, pfn, &ok);
		if (!ok)
			return fate;
	}
	if (s->mem->frames.record[pfn].mapcount && !unmap(s, pfn))
		return ACTIVATE;
	if (*state & FL_PINNED)
		return ACTIVATE;
	if (fl_state_kind(*state) == FL_KIND_SHMEM && !fl_shmem_swapout(s->mem, s->who, pfn))
		return ACTIVATE;
	if (*state & FL_DIRTY) {
		fate = clean(s, pfn, references, &ok);
		if (!ok)
			return fate;
	}
	return remove_and_free(s, pfn);
}

static enum fate decide(struct shrink *s, fl_pfn pfn)
{
	uint32_t state = *state_of(s, pfn), pages = fl_folio_pages(s->mem, pfn);
	enum references references;

	if (s->mem->frames.record[pfn].refcount == 1) /* everybody else has let go of it */
		return free_folio(s, pfn);
	if (state & (FL_LOCKED | FL_MIGRATING))
		return KEEP;
	s->sc->nr_scanned += pages;
	if (state & (FL_MLOCKED | FL_UNEVICTABLE))
		return KEEP;
	if (!s->sc->may_unmap && s->mem->frames.record[pfn].mapcount)
		return KEEP;
	note_dirty(s, pfn);
	if (state & FL_WRITEBACK)
		return under_writeback(s, pfn);
	references = check_references(s, pfn);
	if (references == REF_KEEP) {
		s->stat->nr_ref_keep += pages;
		return KEEP;
	}
	return references == REF_ACTIVATE ? ACTIVATE : evict(s, pfn, references);
}

static void activate(struct shrink *s, fl_pfn pfn)
{
	uint32_t *state = state_of(s, pfn), pages = fl_folio_pages(s->mem, pfn);

	if ((*state & FL_SWAPCACHED) && (fl_swap_is_full(s->mem) || (*state & FL_MLOCKED)))
		fl_folio_free_swap(s->mem, s->who, pfn);
	if (*state & FL_MLOCKED)
		return;
	s->stat->nr_activate[fl_state_is_file_lru(*state)] += pages;
	*state |= FL_ACTIVE;
	fl_count(s->mem, FL_VM_pgactivate, pages);
}

/* Blocks as a submitter does whose device has its queue full, before the folio is touched. May switch. */
static void wait_for_queue(struct shrink *s, fl_pfn pfn)
{
	while ((*state_of(s, pfn) & FL_SWAPBACKED) && s->sc->may_writepage && (s->sc->gfp & FL_GFP_IO) &&
	       fl_swap_is_congested(s->mem))
		fl_swap_wait_write(s->mem, s->who);
}

unsigned long fl_shrink_folio_list(struct fl_mem *mem, struct fl_caller *who, struct fl_pfn_list *list,
				   struct fl_scan_control *sc, struct fl_reclaim_stat *stat)
{
	struct shrink s = { .mem = mem, .who = who, .sc = sc, .stat = stat, .list = list };
	struct fl_pfn_list kept = FL_PFN_LIST_EMPTY;

	while (!fl_pfn_list_empty(list)) {
		fl_pfn pfn;
		enum fate fate;

		fl_cond_resched(who->task);
		wait_for_queue(&s, list->first);
		pfn = fl_pfn_list_pop(&mem->frames, list);
		if (!fl_pfn_list_empty(list))
			fl_swap_fetch(mem, list->first);
		fate = decide(&s, pfn);
		if (fate == FREED || fate == SPLIT)
			continue;
		if (fate == ACTIVATE)
			activate(&s, pfn);
		fl_pfn_list_add_tail(&mem->frames, &kept, pfn);
	}
	if (s.unmapped_some)
		fl_charge(who->task, mem->cost->tlb_flush); /* try_to_unmap_flush(): one for the batch */
	fl_pfn_list_splice_tail(&mem->frames, list, &kept);
	return s.reclaimed;
}
