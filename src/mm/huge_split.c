/*
 * mm/huge_split.c - splitting of huge mappings and of folios, and the queue of deferred splits. Part of
 * mm/huge_memory.c of the kernel.
 */
#include "mm/huge_memory.h"
#include "mm/mm_internal.h"
#include "mm/page_alloc.h"
#include "mm/pfn_list.h"
#include "mm/swap.h"
#include "mm/swapfile.h"

void fl_split_huge_pmd(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm, fl_vpn vpn)
{
	fl_pfn pfn = FL_PFN_NONE;

	switch (fl_pmd_look(mem, mm, vpn, &pfn)) {
	case FL_PMD_HUGE:
		mem->frames.state[pfn] &= ~FL_PMD_MAPPED;
		break;
	case FL_PMD_HUGE_ZERO:
		mem->thp->zero_users--;
		break;
	default:
		return;
	}
	fl_pmd_make_table(mem, mm, vpn);
	fl_count(mem, FL_VM_thp_split_pmd, 1);
	fl_charge(who->task, mem->cost->pte_scan << mem->pmd_order);
}

/* ---- The queue: links are in the record of the second page, as the kernel's are ---- */

void fl_deferred_queue(struct fl_mem *mem, fl_pfn pfn)
{
	if (mem->frames.state[pfn] & FL_DEFERRED)
		return;
	mem->frames.state[pfn] |= FL_DEFERRED;
	fl_list_add_tail(&mem->frames, mem->thp->queue, pfn + 1);
	mem->thp->queue_length++;
}

void fl_deferred_unqueue(struct fl_mem *mem, fl_pfn pfn)
{
	if (!(mem->frames.state[pfn] & FL_DEFERRED))
		return;
	mem->frames.state[pfn] &= ~FL_DEFERRED;
	fl_list_del(&mem->frames, pfn + 1);
	mem->thp->queue_length--;
}

void fl_deferred_split_folio(struct fl_mem *mem, fl_pfn pfn, bool partially_mapped)
{
	uint32_t state = mem->frames.state[pfn];
	unsigned int order = fl_state_order(state);

	if (order <= 1 || (!partially_mapped && !mem->set.thp_shrink_underused) || state & FL_SWAPCACHED)
		return;
	if (partially_mapped && !(state & FL_PARTIALLY_MAPPED)) {
		mem->frames.state[pfn] |= FL_PARTIALLY_MAPPED;
		if (order >= mem->pmd_order)
			fl_count(mem, FL_VM_thp_deferred_split_page, 1);
		mem->mthp[order][FL_MTHP_split_deferred]++;
		mem->mthp[order][FL_MTHP_nr_anon_partially_mapped]++;
	}
	fl_deferred_queue(mem, pfn);
}

uint64_t fl_deferred_split_count(const struct fl_mem *mem)
{
	return mem->thp->queue_length;
}

/*
 * deferred_split_scan(). What a folio holds is not modelled, so a folio that is wholly mapped is never found underused:
 * it leaves the queue for good, as it does with max_ptes_none at its default of 511.
 */
uint64_t fl_deferred_split_scan(struct fl_mem *mem, struct fl_caller *who, uint64_t nr)
{
	uint64_t split = 0;

	if (nr > mem->thp->queue_length)
		nr = mem->thp->queue_length;
	for (; nr && !fl_list_empty(&mem->frames, mem->thp->queue); nr--) {
		fl_pfn pfn = fl_list_first(&mem->frames, mem->thp->queue) - 1;
		bool partial = mem->frames.state[pfn] & FL_PARTIALLY_MAPPED;

		fl_deferred_unqueue(mem, pfn);
		if (!partial)
			continue;
		if (fl_split_folio(mem, who, pfn, NULL))
			split++;
		else
			fl_deferred_queue(mem, pfn);
	}
	return split;
}

/* ---- Splitting a folio ---- */

struct split {
	struct fl_mm *mm; /* NULL: nobody maps it through page tables that we know */
	uint32_t state;   /* flags that every piece keeps */
	uint32_t owner, index;
	uint32_t lru_next; /* where it was on its list; FL_PFN_NONE: it was on none */
	unsigned int order;
	bool isolated, is_anon;
	struct fl_pfn_list *list;
};

/* References that a folio has by what it is: more than these, and somebody else holds it. */
static unsigned int expected_references(uint32_t state, const struct fl_frame *frame)
{
	bool is_anon = fl_state_kind(state) == FL_KIND_ANON;
	unsigned int own = !is_anon || frame->mapcount; /* the cache, or the mappings */

	if (fl_state_kind(state) == FL_KIND_SWAPCACHE)
		own = 0;
	return own + !!(state & FL_SWAPCACHED) + !!(state & FL_ISOLATED);
}

static bool can_split(const struct fl_mem *mem, fl_pfn pfn, const struct fl_pfn_list *list)
{
	uint32_t state = mem->frames.state[pfn];
	const struct fl_frame *frame = &mem->frames.record[pfn];
	bool is_file = fl_state_kind(state) == FL_KIND_FILE || fl_state_kind(state) == FL_KIND_SHMEM;

	if (state & (FL_PINNED | FL_LOCKED | FL_WRITEBACK) || (is_file && frame->mapcount))
		return false;
	if (!!(state & FL_ISOLATED) != !!list)
		return false;
	return frame->refcount == expected_references(state, frame);
}

static bool is_piece_mapped(const struct fl_mem *mem, const struct split *s, fl_pfn piece, uint32_t k)
{
	return s->mm && fl_pte_look(mem, s->mm, s->index + k) == fl_pte_of_pfn(piece);
}

/* Off the lists; remembers where it was. */
static void split_begin(struct fl_mem *mem, struct fl_caller *who, fl_pfn pfn, struct split *s)
{
	struct fl_frame *frame = &mem->frames.record[pfn];

	s->is_anon = fl_state_kind(mem->frames.state[pfn]) == FL_KIND_ANON;
	if (s->is_anon && frame->mapcount)
		s->mm = fl_mm_of(mem, frame->owner);
	if (mem->frames.state[pfn] & FL_PMD_MAPPED)
		fl_split_huge_pmd(mem, who, s->mm, frame->index);
	s->order = fl_folio_order(mem, pfn);
	s->owner = frame->owner;
	s->index = frame->index;
	s->isolated = mem->frames.state[pfn] & FL_ISOLATED;
	s->lru_next = FL_PFN_NONE;
	if (mem->frames.state[pfn] & FL_LRU) {
		s->lru_next = frame->next;
		fl_lru_del_folio(mem, pfn);
	} else {
		fl_lru_forget(mem, pfn);
	}
	fl_large_folio_release(mem, pfn);
	if (s->isolated)
		fl_folio_clear_isolated(mem, pfn);
	s->state = mem->frames.state[pfn] & ~(FL_STATE_ORDER_MASK | FL_PARTIALLY_MAPPED);
}

static void place_piece(struct fl_mem *mem, struct fl_caller *who, fl_pfn pfn, const struct split *s)
{
	if (s->isolated) {
		fl_folio_mark_isolated(mem, pfn);
		fl_pfn_list_add_tail(&mem->frames, s->list, pfn);
	} else if (s->lru_next != FL_PFN_NONE) {
		fl_lru_insert_before(mem, pfn, s->lru_next);
	} else {
		fl_folio_add_lru(mem, who, pfn);
	}
}

static void split_piece(struct fl_mem *mem, struct fl_caller *who, fl_pfn pfn, uint32_t k, const struct split *s)
{
	struct fl_frame *frame = &mem->frames.record[pfn];
	bool mapped = is_piece_mapped(mem, s, pfn, k), is_cached = s->state & FL_SWAPCACHED;

	mem->frames.state[pfn] = s->state;
	frame->owner = s->owner;
	frame->index = s->index + k;
	frame->mapcount = mapped;
	frame->refcount = (s->is_anon ? mapped : fl_state_kind(s->state) != FL_KIND_SWAPCACHE) + is_cached;
	if (frame->refcount) {
		if (s->is_anon && !mapped)
			fl_page_set_kind(mem, pfn, FL_KIND_SWAPCACHE);
		place_piece(mem, who, pfn, s);
		return;
	}
	frame->refcount = 1;
	if (s->state & FL_MLOCKED)
		mem->lru->mlocked--;
	mem->frames.state[pfn] = s->state & ~FL_MLOCKED;
	fl_folio_put(mem, who, pfn);
}

bool fl_split_folio(struct fl_mem *mem, struct fl_caller *who, fl_pfn pfn, struct fl_pfn_list *list)
{
	unsigned int order = fl_folio_order(mem, pfn);
	struct split s = { .list = list };

	FL_ASSERT(order);
	if (!can_split(mem, pfn, list)) {
		if (order >= mem->pmd_order)
			fl_count(mem, FL_VM_thp_split_page_failed, 1);
		mem->mthp[order][FL_MTHP_split_failed]++;
		return false;
	}
	split_begin(mem, who, pfn, &s);
	fl_page_split(mem, pfn, order);
	if (s.state & FL_SWAPCACHED)
		fl_swap_cache_split(mem, pfn, order, 0);
	/* On its list the head stays behind its tails (lru_add_page_tail). */
	for (uint32_t k = 1u << order; k-- > 0;)
		split_piece(mem, who, pfn + k, k, &s);
	if (order >= mem->pmd_order)
		fl_count(mem, FL_VM_thp_split_page, 1);
	mem->mthp[order][FL_MTHP_split]++;
	fl_charge(who->task, order >= mem->pmd_order ? mem->cost->split_thp : mem->cost->split_page << order);
	return true;
}

void fl_huge_memory_check(struct fl_mem *mem)
{
	uint64_t queued = 0;
	uint32_t head = mem->thp->queue;

	for (uint32_t at = fl_list_first(&mem->frames, head); at != head; at = mem->frames.record[at].next, queued++)
		FL_ASSERT_MSG(mem->frames.state[at - 1] & FL_DEFERRED, "folios on the deferred queue say so");
	FL_ASSERT_MSG(queued == mem->thp->queue_length, "length of the deferred queue");
}
