/*
 * mm/collapse.c - one range of khugepaged and MADV_COLLAPSE: looking at its entries, and making a huge folio of them.
 * Mirrors hpage_collapse_scan_pmd (collapse_scan_pmd), collapse_huge_page and mthp_collapse of mm/khugepaged.c; facts 9.5
 * to 9.9.
 *
 * A folio is allocated before anything is tested again, so a late failure has cost an allocation. After the last point that
 * may switch everything happens in one step. Entries are never shared here (there is no fork), so max_ptes_shared never
 * bites.
 */
#include <errno.h>

#include "mm/huge_memory.h"
#include "mm/khugepaged.h"
#include "mm/memory.h"
#include "mm/page_alloc.h"
#include "mm/rmap.h"
#include "mm/swap.h"

#define PAGES_MAX (1u << 13) /* of a range: pmd_order of pages of 64K */

/* What a walk over entries has met. */
struct tally {
	unsigned int none, unmapped, present, lazyfree, ordinary, referenced;
	bool writable;
};

const char *fl_scan_result_text(enum fl_scan_result result)
{
#define TEXT(name, text) text,
	static const char *const texts[] = { FL_SCAN_RESULTS(TEXT) };
#undef TEXT

	FL_ASSERT(result < FL_SCAN_COUNT);
	return texts[result];
}

static uint32_t range_pages(const struct fl_collapse *c)
{
	return 1u << c->mem->pmd_order;
}

static bool has_mthp(const struct fl_collapse *c)
{
	return c->mem->decide.khugepaged_collapses_mthp(&(struct fl_no_facts){ 0 });
}

/* Sizes that may be made here. MADV_COLLAPSE: the PMD's alone, whatever sysfs says. */
static uint32_t allowed_orders(const struct fl_collapse *c)
{
	uint32_t pmd = 1u << c->mem->pmd_order;

	if (!c->is_khugepaged)
		return c->vma_flags & FL_VM_NOHUGEPAGE ? 0 : pmd;
	return fl_thp_orders(c->mem, c->vma_flags, c->mm->thp_disabled) & (has_mthp(c) ? ~0u : pmd);
}

static bool is_droppable(const struct fl_collapse *c)
{
	return c->vma_flags & FL_VM_DROPPABLE;
}

/* ---- One entry ---- */

static bool refuses_lazyfree(const struct fl_collapse *c, bool pte_dirty)
{
	const struct fl_khugepaged_lazyfree_facts facts = { .droppable = is_droppable(c), .pte_dirty = pte_dirty };

	return c->is_khugepaged && c->mem->decide.khugepaged_refuses_lazyfree(&facts);
}

static bool keeps_lazyfree(const struct fl_collapse *c, bool all)
{
	return c->mem->decide.collapse_keeps_lazyfree(
		&(struct fl_collapse_lazyfree_facts){ .droppable = is_droppable(c), .all_lazyfree = all });
}

/* A lazyfree page gives the range up at once; where a wholly lazyfree range may collapse, only with another one beside it. */
static bool is_given_up(const struct fl_collapse *c, struct tally *t, uint32_t state)
{
	bool lazyfree = fl_state_is_lazyfree(state), dirty = state & FL_PTE_DIRTY;

	if (lazyfree && !dirty)
		t->lazyfree++;
	else
		t->ordinary++;
	if (lazyfree && refuses_lazyfree(c, dirty) && (!keeps_lazyfree(c, true) || t->ordinary))
		return true;
	return t->ordinary && t->lazyfree && refuses_lazyfree(c, false);
}

/* A present entry: facts 9.5. */
static enum fl_scan_result look_at_page(const struct fl_collapse *c, struct tally *t, fl_pfn head)
{
	uint32_t state = c->mem->frames.state[head];

	t->writable = true;
	if (is_given_up(c, t, state))
		return FL_SCAN_PAGE_LAZYFREE;
	if (fl_state_kind(state) != FL_KIND_ANON)
		return FL_SCAN_PAGE_ANON;
	if (!(state & FL_LRU))
		return FL_SCAN_PAGE_LRU;
	if (state & FL_LOCKED)
		return FL_SCAN_PAGE_LOCK;
	if (state & FL_PINNED || c->mem->frames.record[head].refcount != 1 + !!(state & FL_SWAPCACHED))
		return FL_SCAN_PAGE_COUNT;
	t->present++;
	t->referenced += !!(state & (FL_YOUNG | FL_REFERENCED));
	return FL_SCAN_SUCCEED;
}

static enum fl_scan_result exceed(const struct fl_collapse *c, unsigned int order, enum fl_scan_result which)
{
	bool none = which == FL_SCAN_EXCEED_NONE_PTE;

	if (order == c->mem->pmd_order)
		fl_count(c->mem, none ? FL_VM_thp_scan_exceed_none_pte : FL_VM_thp_scan_exceed_swap_pte, 1);
	if (has_mthp(c))
		c->mem->mthp[order][none ? FL_MTHP_collapse_exceed_none_pte : FL_MTHP_collapse_exceed_swap_pte]++;
	return which;
}

static bool is_none(fl_pte pte)
{
	return !pte || pte == FL_PTE_ZERO;
}

/* ---- The scan ---- */

static enum fl_scan_result scan_entry(const struct fl_collapse *c, struct tally *t, fl_pte pte, bool none_unlimited)
{
	const struct fl_settings *set = &c->mem->set;

	if (is_none(pte)) {
		t->none++;
		if (c->is_khugepaged && !none_unlimited && t->none > set->khugepaged_max_ptes_none)
			return exceed(c, c->mem->pmd_order, FL_SCAN_EXCEED_NONE_PTE);
		return FL_SCAN_SUCCEED;
	}
	if (fl_pte_is_swap(pte)) {
		t->unmapped++;
		t->ordinary++;
		if (c->is_khugepaged && t->unmapped > set->khugepaged_max_ptes_swap)
			return exceed(c, c->mem->pmd_order, FL_SCAN_EXCEED_SWAP_PTE);
		return FL_SCAN_SUCCEED;
	}
	return look_at_page(c, t, fl_frame_head(&c->mem->frames, fl_pte_pfn(pte)));
}

/* The test behind the loop. */
static enum fl_scan_result scan_verdict(const struct fl_collapse *c, const struct tally *t)
{
	if (!t->writable && c->mem->decide.collapse_needs_writable(&(struct fl_no_facts){ 0 }))
		return FL_SCAN_PAGE_RO;
	if (c->is_khugepaged && (!t->referenced || (t->unmapped && t->referenced < range_pages(c) / 2)))
		return FL_SCAN_LACK_REFERENCED_PAGE;
	return FL_SCAN_SUCCEED;
}

static enum fl_scan_result scan_entries(struct fl_collapse *c, struct tally *t, uint64_t *occupied)
{
	bool none_unlimited = has_mthp(c) && allowed_orders(c) & (range_pages(c) - 1);

	for (uint32_t i = 0; i < range_pages(c); i++) {
		fl_pte pte = fl_pte_look(c->mem, c->mm, c->first + i);
		enum fl_scan_result result;

		c->visited++;
		fl_charge(c->who->task, c->mem->cost->pte_scan);
		result = scan_entry(c, t, pte, none_unlimited);
		if (result != FL_SCAN_SUCCEED)
			return result;
		if (fl_pte_is_present(pte))
			occupied[i / 64] |= UINT64_C(1) << i % 64;
	}
	return scan_verdict(c, t);
}

/* ---- Collapsing ---- */

/* hugepage_vma_revalidate(): what was true of the VMA is true after a sleep. */
static enum fl_scan_result revalidate(struct fl_collapse *c, unsigned int order)
{
	const struct fl_vma *vma;

	if ((c->is_khugepaged && c->mem->khugepaged->gone) || c->mm->dying)
		return FL_SCAN_ANY_PROCESS;
	vma = fl_vma_find(c->mem, c->mm, c->first);
	if (!vma)
		return FL_SCAN_VMA_NULL;
	c->vma_flags = vma->flags;
	if (vma->end < c->first + range_pages(c) || vma->type != FL_VMA_ANON || !vma->has_anon_vma ||
	    !(allowed_orders(c) & 1u << order))
		return FL_SCAN_VMA_CHECK;
	switch (fl_pmd_look(c->mem, c->mm, c->first, NULL)) {
	case FL_PMD_TABLE:
		return FL_SCAN_SUCCEED;
	case FL_PMD_NONE:
		return FL_SCAN_PMD_NULL;
	default:
		return FL_SCAN_PMD_MAPPED;
	}
}

/* alloc_charge_folio() */
static fl_pfn alloc_folio(const struct fl_collapse *c, unsigned int order)
{
	struct fl_mem *mem = c->mem;
	fl_gfp gfp = c->is_khugepaged ? fl_khugepaged_gfp(mem) : FL_GFP_TRANSHUGE;
	fl_pfn pfn = fl_page_alloc(mem, c->who, gfp, order, FL_KIND_ANON);
	bool failed = pfn == FL_PFN_NONE;

	if (order == mem->pmd_order)
		fl_count(mem, failed ? FL_VM_thp_collapse_alloc_failed : FL_VM_thp_collapse_alloc, 1);
	if (has_mthp(c))
		mem->mthp[order][failed ? FL_MTHP_collapse_alloc_failed : FL_MTHP_collapse_alloc]++;
	return pfn;
}

/*
 * __collapse_huge_page_swapin(). An entry that had to be read from a device that takes time gives the attempt up: the page is
 * there for the next one.
 */
static enum fl_scan_result swap_in(struct fl_collapse *c)
{
	for (uint32_t i = 0; i < range_pages(c); i++) {
		uint64_t reads = c->mem->vm[FL_VM_pgmajfault];
		enum fl_scan_result result;

		if (!fl_pte_is_swap(fl_pte_look(c->mem, c->mm, c->first + i)))
			continue;
		if (!fl_swap_fault(c->mem, c->who, c->mm, c->first + i))
			return FL_SCAN_FAIL;
		result = revalidate(c, c->mem->pmd_order);
		if (result != FL_SCAN_SUCCEED)
			return result;
		if (c->mem->vm[FL_VM_pgmajfault] != reads && c->mem->sim)
			return FL_SCAN_PAGE_LOCK;
	}
	fl_lru_add_drain(c->mem, c->who);
	return FL_SCAN_SUCCEED;
}

static unsigned int none_limit(const struct fl_collapse *c, unsigned int order)
{
	unsigned int set = c->mem->set.khugepaged_max_ptes_none;

	if (order == c->mem->pmd_order)
		return set;
	return set == range_pages(c) - 1 ? (1u << order) - 1 : 0;
}

/* __collapse_huge_page_isolate(): the same tests once more, under the lock. */
static enum fl_scan_result isolate(const struct fl_collapse *c, fl_vpn first, unsigned int order, struct tally *t)
{
	bool is_pmd = order == c->mem->pmd_order;

	for (fl_vpn vpn = first; vpn < first + (1u << order); vpn++) {
		fl_pte pte = fl_pte_look(c->mem, c->mm, vpn);
		enum fl_scan_result result;
		fl_pfn head;

		if (is_none(pte)) {
			t->none++;
			if (c->is_khugepaged && t->none > none_limit(c, order))
				return exceed(c, order, FL_SCAN_EXCEED_NONE_PTE);
			continue;
		}
		if (!fl_pte_is_present(pte))
			return is_pmd ? FL_SCAN_PTE_NON_PRESENT : exceed(c, order, FL_SCAN_EXCEED_SWAP_PTE);
		head = fl_frame_head(&c->mem->frames, fl_pte_pfn(pte));
		if (!is_pmd && fl_folio_order(c->mem, head) >= order)
			return FL_SCAN_PTE_MAPPED_HUGEPAGE;
		result = look_at_page(c, t, head);
		if (result != FL_SCAN_SUCCEED)
			return result;
	}
	return scan_verdict(c, t);
}

/* Takes the entries out and with them the old folios; what is mapped in a row goes at once, as unmapping does. */
static void take_out(const struct fl_collapse *c, fl_vpn first, unsigned int order)
{
	fl_vpn end = first + (1u << order);

	for (fl_vpn vpn = fl_pte_next(c->mem, c->mm, first, end); vpn < end;
	     vpn = fl_pte_next(c->mem, c->mm, vpn, end)) {
		fl_pte pte = fl_pte_look(c->mem, c->mm, vpn);
		fl_pfn pfn = fl_pte_pfn(pte), head;
		uint32_t n = 1, left;

		if (!fl_pte_is_present(pte)) {
			fl_pte_set(c->mem, c->mm, vpn++, 0);
			continue;
		}
		head = fl_frame_head(&c->mem->frames, pfn);
		left = fl_folio_pages(c->mem, head) - (pfn - head);
		while (n < left && vpn + n < end && fl_pte_look(c->mem, c->mm, vpn + n) == fl_pte_of_pfn(pfn + n))
			n++;
		for (uint32_t i = 0; i < n; i++)
			fl_pte_set(c->mem, c->mm, vpn + i, 0);
		c->mm->anon_pages -= n;
		fl_rmap_remove_pages(c->mem, c->who, head, n);
		vpn += n;
	}
}

/* Maps the new folio. A lazyfree one is born as in a droppable VMA, with a clean entry. */
static void map_new(const struct fl_collapse *c, fl_vpn first, unsigned int order, fl_pfn pfn, bool lazyfree)
{
	struct fl_mem *mem = c->mem;
	bool is_pmd = order == mem->pmd_order;

	if (is_pmd) {
		fl_pmd_collapse(mem, c->mm, first, pfn);
		mem->frames.state[pfn] |= FL_PMD_MAPPED;
	} else {
		for (uint32_t i = 0; i < 1u << order; i++)
			fl_pte_set(mem, c->mm, first + i, fl_pte_of_pfn(pfn + i));
	}
	fl_folio_map_new_anon(mem, c->who, c->mm, pfn, first, c->vma_flags | (lazyfree ? FL_VM_DROPPABLE : 0));
	if (lazyfree && !is_droppable(c))
		mem->frames.state[pfn] &= ~FL_PTE_DIRTY;
	if (is_pmd)
		fl_deferred_split_folio(mem, pfn, false);
}

static void charge_copies(const struct fl_collapse *c, const struct tally *t)
{
	const struct fl_cost *cost = c->mem->cost;
	unsigned int units = 1u << (c->mem->page_shift - 12);

	fl_charge(c->who->task, cost->collapse_base + cost->tlb_flush +
					(cost->copy_4k * t->present + cost->zero_4k * t->none) * units);
}

/* What comes after the allocation; the folio is the caller's again unless it succeeded. */
static enum fl_scan_result collapse_into(struct fl_collapse *c, fl_vpn first, unsigned int order, fl_pfn pfn)
{
	enum fl_scan_result result = revalidate(c, order);
	struct tally t = { 0 };

	if (result == FL_SCAN_SUCCEED && order == c->mem->pmd_order)
		result = swap_in(c);
	if (result == FL_SCAN_SUCCEED)
		result = isolate(c, first, order, &t);
	if (result != FL_SCAN_SUCCEED)
		return result;
	charge_copies(c, &t);
	take_out(c, first, order);
	map_new(c, first, order, pfn, keeps_lazyfree(c, t.lazyfree && !t.ordinary));
	FL_TRACE(c->mem, c->who, mm_collapse_huge_page, pfn, 1, FL_SCAN_SUCCEED);
	return FL_SCAN_SUCCEED;
}

/* collapse_huge_page() */
static enum fl_scan_result collapse(struct fl_collapse *c, fl_vpn first, unsigned int order)
{
	enum fl_scan_result result;
	fl_pfn pfn;

	c->attempted = true;
	pfn = alloc_folio(c, order);
	if (pfn == FL_PFN_NONE)
		return FL_SCAN_ALLOC_HUGE_PAGE_FAIL;
	result = collapse_into(c, first, order, pfn);
	if (result != FL_SCAN_SUCCEED) {
		FL_TRACE(c->mem, c->who, mm_collapse_huge_page, pfn, 0, result);
		fl_page_free(c->mem, c->who, pfn, order);
	}
	return result;
}

/* ---- Sizes below the PMD's: mthp_collapse(), facts 9.8 ---- */

static unsigned int occupied_in(const uint64_t *occupied, uint32_t first, unsigned int order)
{
	unsigned int n = 0;

	for (uint32_t i = first; i < first + (1u << order); i++)
		n += occupied[i / 64] >> i % 64 & 1;
	return n;
}

/* May the next smaller size be tried at the same place after this result? */
static bool goes_on_smaller(enum fl_scan_result result)
{
	switch (result) {
	case FL_SCAN_ALLOC_HUGE_PAGE_FAIL:
	case FL_SCAN_LACK_REFERENCED_PAGE:
	case FL_SCAN_EXCEED_NONE_PTE:
	case FL_SCAN_EXCEED_SWAP_PTE:
	case FL_SCAN_PAGE_LOCK:
	case FL_SCAN_PAGE_COUNT:
	case FL_SCAN_PAGE_LRU:
	case FL_SCAN_PAGE_LAZYFREE:
		return true;
	default:
		return false;
	}
}

/* Tries the enabled sizes at one place, large to small. Pages to go on by; 0: stop. */
static uint32_t mthp_place(struct fl_collapse *c, const struct tally *t, const uint64_t *occupied, uint32_t at,
			   enum fl_scan_result *ret)
{
	uint32_t orders = allowed_orders(c), smallest = orders & -orders;

	for (int order = at ? __builtin_ctz(at) : (int)c->mem->pmd_order; order > 0; order--) {
		unsigned int found;

		if (!(orders & 1u << order))
			continue;
		found = occupied_in(occupied, at, order) + (order == (int)c->mem->pmd_order ? t->unmapped : 0);
		if (found + none_limit(c, order) < 1u << order)
			continue;
		*ret = collapse(c, c->first + at, order);
		if (*ret == FL_SCAN_SUCCEED || *ret == FL_SCAN_PTE_MAPPED_HUGEPAGE)
			return 1u << order;
		if (!goes_on_smaller(*ret))
			return 0;
		orders &= allowed_orders(c);
	}
	return smallest;
}

static enum fl_scan_result mthp_collapse(struct fl_collapse *c, const struct tally *t, const uint64_t *occupied)
{
	enum fl_scan_result last = FL_SCAN_FAIL;
	bool succeeded = false, only_memory = true;
	uint32_t step;

	for (uint32_t at = 0; at < range_pages(c); at += step) {
		enum fl_scan_result result = FL_SCAN_FAIL;

		step = mthp_place(c, t, occupied, at, &result);
		succeeded |= result == FL_SCAN_SUCCEED;
		if (result != FL_SCAN_FAIL) {
			only_memory &= result == FL_SCAN_ALLOC_HUGE_PAGE_FAIL;
			last = result;
		}
		if (!step)
			break;
	}
	if (succeeded)
		return FL_SCAN_SUCCEED;
	return last == FL_SCAN_ALLOC_HUGE_PAGE_FAIL && !only_memory ? FL_SCAN_FAIL : last;
}

/* ---- A range ---- */

enum fl_scan_result fl_collapse_scan_pmd(struct fl_collapse *c)
{
	uint64_t occupied[PAGES_MAX / 64] = { 0 };
	struct fl_khugepaged *k = c->mem->khugepaged;
	struct tally t = { 0 };
	enum fl_scan_result result;

	FL_ASSERT(range_pages(c) <= PAGES_MAX);
	fl_charge(c->who->task, c->mem->cost->khugepaged_range);
	switch (fl_pmd_look(c->mem, c->mm, c->first, NULL)) {
	case FL_PMD_TABLE:
		result = scan_entries(c, &t, occupied);
		break;
	case FL_PMD_NONE:
		result = FL_SCAN_PMD_NULL;
		break;
	default:
		result = FL_SCAN_PMD_MAPPED;
	}
	FL_TRACE(c->mem, c->who, mm_khugepaged_scan_pmd, FL_PFN_NONE, t.referenced, t.none, result, t.unmapped);
	if (result == FL_SCAN_SUCCEED)
		result = allowed_orders(c) == 1u << c->mem->pmd_order ? collapse(c, c->first, c->mem->pmd_order) :
									 mthp_collapse(c, &t, occupied);
	if (c->is_khugepaged)
		k->results[result]++;
	return result;
}

/* ---- MADV_COLLAPSE: facts 9.7 ---- */

static int collapse_errno(enum fl_scan_result result)
{
	switch (result) {
	case FL_SCAN_ALLOC_HUGE_PAGE_FAIL:
		return -ENOMEM;
	case FL_SCAN_EXCEED_NONE_PTE:
		return -EBUSY;
	case FL_SCAN_PAGE_COUNT:
	case FL_SCAN_PAGE_LOCK:
	case FL_SCAN_PAGE_LRU:
		return -EAGAIN;
	default:
		return -EINVAL;
	}
}

/* May the call go on with the next range after this result? */
static bool goes_on(enum fl_scan_result result)
{
	switch (result) {
	case FL_SCAN_SUCCEED:
	case FL_SCAN_PMD_MAPPED:
	case FL_SCAN_PMD_NULL:
	case FL_SCAN_PTE_NON_PRESENT:
	case FL_SCAN_PAGE_RO:
	case FL_SCAN_LACK_REFERENCED_PAGE:
	case FL_SCAN_PAGE_COUNT:
	case FL_SCAN_PAGE_LOCK:
	case FL_SCAN_PAGE_LRU:
		return true;
	default:
		return false;
	}
}

/* The aligned ranges of the VMA around `start` that [start, end) holds whole; false: the VMA may not be collapsed. */
static bool collapse_allowed(const struct fl_mem *mem, const struct fl_vma *vma)
{
	uint32_t pages = 1u << mem->pmd_order;
	uint64_t first = ((uint64_t)vma->start + pages - 1) & ~(uint64_t)(pages - 1);

	return vma->type == FL_VMA_ANON && vma->has_anon_vma && !(vma->flags & FL_VM_NOHUGEPAGE) &&
	       first + pages <= vma->end;
}

int fl_madvise_collapse(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm, fl_vpn start, uint32_t pages)
{
	uint32_t huge = 1u << mem->pmd_order, done = 0, wanted;
	uint64_t first = ((uint64_t)start + huge - 1) & ~(uint64_t)(huge - 1), end = (start + pages) & ~(huge - 1);
	const struct fl_vma *vma = fl_vma_find(mem, mm, start);
	enum fl_scan_result last = FL_SCAN_FAIL, result = FL_SCAN_SUCCEED;

	if (!vma || !collapse_allowed(mem, vma) || end < first)
		return -EINVAL;
	wanted = (uint32_t)((end - first) >> mem->pmd_order);
	fl_lru_add_drain_all(mem, who);
	for (fl_vpn at = first; at < end && goes_on(result); at += huge) {
		struct fl_collapse c = { .mem = mem, .who = who, .mm = mm, .first = at };

		vma = fl_vma_find(mem, mm, at);
		if (mm->dying || !vma || !collapse_allowed(mem, vma) || vma->end < at + huge) {
			last = FL_SCAN_VMA_CHECK;
			break;
		}
		c.vma_flags = vma->flags;
		result = fl_collapse_scan_pmd(&c);
		if (result == FL_SCAN_SUCCEED || result == FL_SCAN_PMD_MAPPED)
			done++;
		else
			last = result;
		fl_cond_resched(who->task);
	}
	return done == wanted ? 0 : collapse_errno(last);
}
