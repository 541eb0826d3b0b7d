/*
 * mm/rmap.c - from a folio to the entries that map it; adding and removing mappings. Mirrors mm/rmap.c.
 */
#include "mm/rmap.h"

#include "mm/huge_memory.h"
#include "mm/mm_internal.h"
#include "mm/page_alloc.h"
#include "mm/page_writeback.h"
#include "mm/swap.h"
#include "mm/swapfile.h"

static void walk_anon(struct fl_mem *mem, fl_pfn pfn, fl_rmap_fn fn, void *arg)
{
	const struct fl_frame *frame = &mem->frames.record[pfn];
	struct fl_mm *mm = fl_mm_of(mem, frame->owner);
	uint32_t pages = fl_folio_pages(mem, pfn), left = frame->mapcount;
	fl_vpn vpn = frame->index;

	if (!left)
		return;
	FL_ASSERT(mm);
	if (mem->frames.state[pfn] & FL_PMD_MAPPED) {
		fn(mem, mm, vpn, 0, arg);
		return;
	}
	for (uint32_t page = 0; page < pages && left; page++) {
		if (fl_pte_look(mem, mm, vpn + page) != fl_pte_of_pfn(pfn + page))
			continue;
		left--;
		if (!fn(mem, mm, vpn + page, page, arg))
			return;
	}
}

static void walk_file(struct fl_mem *mem, fl_pfn pfn, fl_rmap_fn fn, void *arg)
{
	const struct fl_frame *frame = &mem->frames.record[pfn];
	uint32_t pages = fl_folio_pages(mem, pfn), index = frame->index;
	uint32_t id = frame->mapcount ? fl_mapping_first_vma(mem, frame->owner) : FL_VMA_NONE;

	while (id != FL_VMA_NONE) {
		const struct fl_vma *vma = fl_vma_of(mem, id);
		struct fl_mm *mm = fl_mm_of(mem, vma->mm);
		uint32_t next = vma->map_next;

		for (uint32_t page = 0; page < pages; page++) {
			fl_vpn vpn = vma->start + (index + page - vma->pgoff);

			if (index + page < vma->pgoff || vpn >= vma->end ||
			    fl_pte_look(mem, mm, vpn) != fl_pte_of_pfn(pfn + page))
				continue;
			if (!fn(mem, mm, vpn, page, arg))
				return;
		}
		id = next;
	}
}

void fl_rmap_walk(struct fl_mem *mem, fl_pfn pfn, fl_rmap_fn fn, void *arg)
{
	if (fl_state_kind(mem->frames.state[pfn]) == FL_KIND_ANON)
		walk_anon(mem, pfn, fn, arg);
	else
		walk_file(mem, pfn, fn, arg);
}

unsigned int fl_folio_referenced(struct fl_mem *mem, struct fl_caller *who, fl_pfn pfn)
{
	uint32_t state = mem->frames.state[pfn];
	unsigned int mapped = mem->frames.record[pfn].mapcount;

	if (!mapped)
		return 0;
	fl_charge(who->task, mem->cost->rmap);
	if (!(state & FL_YOUNG))
		return 0;
	mem->frames.state[pfn] = state & ~FL_YOUNG;
	if (fl_state_kind(state) == FL_KIND_ANON)
		fl_mm_of(mem, mem->frames.record[pfn].owner)->translations++;
	return state & FL_PMD_MAPPED || mapped == 1 ? 1 : 2;
}

/* ---- Unmapping ---- */

struct unmap_walk {
	struct fl_caller *who;
	uint32_t slot; /* of page 0 of the folio; FL_SWP_NONE: entries become none */
	uint32_t pages;
	bool is_file;
};

static bool unmap_one(struct fl_mem *mem, struct fl_mm *mm, fl_vpn vpn, uint32_t page, void *arg)
{
	struct unmap_walk *walk = arg;

	fl_charge(walk->who->task, mem->cost->unmap);
	walk->pages++;
	if (walk->is_file) {
		fl_pte_set(mem, mm, vpn, 0);
		mm->file_pages--;
		return true;
	}
	mm->anon_pages--;
	if (walk->slot == FL_SWP_NONE) {
		fl_pte_set(mem, mm, vpn, 0);
		return true;
	}
	fl_pte_set(mem, mm, vpn, fl_pte_of_slot(walk->slot + page));
	fl_swap_dup(mem, walk->slot + page);
	mm->swap_entries++;
	return true;
}

static bool is_droppable(const struct fl_mem *mem, fl_pfn pfn)
{
	const struct fl_frame *frame = &mem->frames.record[pfn];
	const struct fl_vma *vma = fl_vma_find(mem, fl_mm_of(mem, frame->owner), frame->index);

	return vma && vma->flags & FL_VM_DROPPABLE;
}

/* May a lazyfree folio be dropped? A write since MADV_FREE makes it ordinary memory again (facts 10.2). */
static bool may_drop_lazyfree(struct fl_mem *mem, fl_pfn pfn)
{
	if (!(mem->frames.state[pfn] & (FL_DIRTY | FL_PTE_DIRTY)) || is_droppable(mem, pfn))
		return true;
	mem->frames.state[pfn] |= FL_DIRTY;
	fl_folio_set_swapbacked(mem, pfn);
	return false;
}

static void take_over_dirty(struct fl_mem *mem, fl_pfn pfn, bool is_file)
{
	uint32_t state = mem->frames.state[pfn];

	mem->frames.state[pfn] = state & ~(FL_PTE_DIRTY | FL_YOUNG);
	if (!(state & FL_PTE_DIRTY))
		return;
	if (is_file)
		fl_file_mark_dirty(mem, pfn);
	else
		mem->frames.state[pfn] |= FL_DIRTY;
}

bool fl_try_to_unmap(struct fl_mem *mem, struct fl_caller *who, fl_pfn pfn)
{
	uint32_t *state = &mem->frames.state[pfn];
	struct fl_frame *frame = &mem->frames.record[pfn];
	struct unmap_walk walk = { .who = who, .slot = FL_SWP_NONE };

	if (!frame->mapcount)
		return true;
	if (*state & FL_MLOCKED)
		return false;
	walk.is_file = fl_state_kind(*state) != FL_KIND_ANON;
	if (*state & FL_PMD_MAPPED)
		fl_split_huge_pmd(mem, who, fl_mm_of(mem, frame->owner), frame->index);
	if (*state & FL_SWAPCACHED)
		walk.slot = fl_folio_swap_slot(mem, pfn);
	else if (!walk.is_file && (!fl_state_is_lazyfree(*state) || !may_drop_lazyfree(mem, pfn)))
		return false;
	fl_rmap_walk(mem, pfn, unmap_one, &walk);
	FL_ASSERT_MSG(walk.pages == frame->mapcount, "every mapping of a folio is found");
	frame->mapcount = 0;
	take_over_dirty(mem, pfn, walk.is_file);
	if (walk.is_file)
		return true;
	FL_ASSERT_MSG(frame->refcount > 1, "who unmaps an anonymous folio holds a reference");
	frame->refcount--;
	if (*state & FL_SWAPCACHED)
		fl_page_set_kind(mem, pfn, FL_KIND_SWAPCACHE);
	return true;
}

/* ---- Migration ---- */

struct move_walk {
	fl_pfn to;
	uint32_t pages;
};

static bool move_one(struct fl_mem *mem, struct fl_mm *mm, fl_vpn vpn, uint32_t page, void *arg)
{
	struct move_walk *walk = arg;

	if (fl_pmd_look(mem, mm, vpn, NULL) == FL_PMD_HUGE) {
		fl_pmd_replace_huge(mem, mm, vpn, walk->to);
		walk->pages += 1u << mem->pmd_order;
	} else {
		fl_pte_set(mem, mm, vpn, fl_pte_of_pfn(walk->to + page));
		walk->pages++;
	}
	return true;
}

void fl_rmap_move(struct fl_mem *mem, fl_pfn from, fl_pfn to)
{
	struct fl_frame *old = &mem->frames.record[from], *new = &mem->frames.record[to];
	struct move_walk walk = { .to = to };

	fl_rmap_walk(mem, from, move_one, &walk);
	FL_ASSERT_MSG(walk.pages == old->mapcount, "every mapping of a folio is moved");
	new->owner = old->owner;
	new->index = old->index;
	new->mapcount = old->mapcount;
	old->mapcount = 0;
	if (fl_folio_order(mem, from))
		fl_large_folio_move(mem, from, to);
}

/* ---- Counting ---- */

void fl_rmap_add_page(struct fl_mem *mem, fl_pfn head)
{
	FL_ASSERT(mem->frames.record[head].mapcount < UINT16_MAX);
	mem->frames.record[head].mapcount++;
}

/* The last mapping of an anonymous folio is gone: free_swap_cache(), then the reference. */
static void anon_unmapped(struct fl_mem *mem, struct fl_caller *who, fl_pfn head)
{
	uint32_t state = mem->frames.state[head];

	if (FL_UNLIKELY(state & FL_MLOCKED)) {
		mem->frames.state[head] = state & ~FL_MLOCKED;
		mem->lru->mlocked -= fl_folio_pages(mem, head);
		fl_count(mem, FL_VM_unevictable_pgs_munlocked, fl_folio_pages(mem, head));
	}
	if (FL_UNLIKELY(state & FL_SWAPCACHED)) {
		fl_page_set_kind(mem, head, FL_KIND_SWAPCACHE);
		fl_folio_free_swap(mem, who, head);
	}
	fl_folio_put(mem, who, head);
}

void fl_rmap_remove_pages(struct fl_mem *mem, struct fl_caller *who, fl_pfn head, uint32_t pages)
{
	struct fl_frame *frame = &mem->frames.record[head];
	bool is_anon = fl_state_kind(mem->frames.state[head]) == FL_KIND_ANON;

	FL_ASSERT(frame->mapcount >= pages);
	frame->mapcount -= pages;
	if (!is_anon) {
		if (!frame->mapcount)
			take_over_dirty(mem, head, true);
	} else if (!frame->mapcount) {
		anon_unmapped(mem, who, head);
	} else {
		fl_deferred_split_folio(mem, head, true);
	}
}
