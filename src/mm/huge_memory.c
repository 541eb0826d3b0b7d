/*
 * mm/huge_memory.c - huge pages and mTHP of anonymous memory: orders, gfp, faults, the huge zero page. Mirrors
 * mm/huge_memory.c and alloc_anon_folio() of mm/memory.c. Splitting and the deferred queue are in huge_split.c.
 *
 * Counters go by facts 7.2, 7.3: a fallback is counted per order tried, an order that was filtered out counts nothing.
 */
#include "mm/huge_memory.h"

#include "mm/mm_internal.h"
#include "mm/page_alloc.h"
#include "mm/rmap.h"
#include "mm/swap.h"

void fl_huge_memory_init(struct fl_mem *mem)
{
	mem->thp = fl_host_alloc(sizeof(*mem->thp));
	mem->thp->queue = fl_frames_new_head(&mem->frames);
	mem->thp->zero_page = FL_PFN_NONE;
}

void fl_huge_memory_fini(struct fl_mem *mem)
{
	fl_host_free(mem->thp);
	mem->thp = NULL;
}

/* ---- Which orders, which gfp ---- */

static bool order_enabled(const struct fl_mem *mem, unsigned int order, bool advised)
{
	switch (mem->set.thp_size[order]) {
	case FL_THP_SIZE_ALWAYS:
		return true;
	case FL_THP_SIZE_MADVISE:
		return advised;
	case FL_THP_SIZE_INHERIT:
		return mem->set.thp_enabled == FL_THP_ALWAYS || (advised && mem->set.thp_enabled == FL_THP_MADVISE);
	default:
		return false;
	}
}

uint32_t fl_thp_orders(const struct fl_mem *mem, uint32_t vma_flags, bool thp_disabled)
{
	uint32_t orders = 0;

	if (thp_disabled || vma_flags & FL_VM_NOHUGEPAGE)
		return 0;
	for (unsigned int order = 2; order <= mem->pmd_order; order++)
		if (order_enabled(mem, order, vma_flags & FL_VM_HUGEPAGE))
			orders |= 1u << order;
	return orders;
}

uint32_t fl_thp_suitable_orders(uint32_t orders, fl_vpn vpn, fl_vpn start, fl_vpn end)
{
	for (uint32_t left = orders; left; left &= left - 1) {
		unsigned int order = __builtin_ctz(left);
		fl_vpn first = vpn & ~((1u << order) - 1);

		if (first < start || first + (1u << order) > end)
			orders &= ~(1u << order);
	}
	return orders;
}

fl_gfp fl_thp_gfp(const struct fl_mem *mem, uint32_t vma_flags)
{
	bool advised = vma_flags & FL_VM_HUGEPAGE;

	switch (mem->set.thp_defrag) {
	case FL_THP_DEFRAG_ALWAYS:
		return FL_GFP_TRANSHUGE | (advised ? 0 : FL_GFP_NORETRY);
	case FL_THP_DEFRAG_DEFER:
		return FL_GFP_TRANSHUGE_LIGHT | FL_GFP_KSWAPD_RECLAIM;
	case FL_THP_DEFRAG_DEFER_MADVISE:
		return FL_GFP_TRANSHUGE_LIGHT | (advised ? FL_GFP_DIRECT_RECLAIM : FL_GFP_KSWAPD_RECLAIM);
	case FL_THP_DEFRAG_MADVISE:
		return FL_GFP_TRANSHUGE_LIGHT | (advised ? FL_GFP_DIRECT_RECLAIM : 0);
	default:
		return FL_GFP_TRANSHUGE_LIGHT;
	}
}

fl_gfp fl_khugepaged_gfp(const struct fl_mem *mem)
{
	return mem->set.khugepaged_defrag ? FL_GFP_TRANSHUGE : FL_GFP_TRANSHUGE_LIGHT;
}

fl_pfn fl_thp_alloc(struct fl_mem *mem, struct fl_caller *who, fl_gfp gfp, unsigned int order)
{
	fl_pfn pfn;

	if (order != mem->pmd_order)
		return fl_page_alloc(mem, who, gfp, order, FL_KIND_ANON);
	/* alloc_pages_mpol(): the local node only, before anything is tried in earnest */
	pfn = fl_page_alloc(mem, who, gfp | FL_GFP_THISNODE | FL_GFP_NORETRY, order, FL_KIND_ANON);
	if (pfn != FL_PFN_NONE || !(gfp & FL_GFP_DIRECT_RECLAIM))
		return pfn;
	return fl_page_alloc(mem, who, gfp, order, FL_KIND_ANON);
}

/* ---- Mapping a new folio ---- */

/* The record of a large folio's second page says whether the folio is in nr_anon; its first page has no room. */
static uint16_t *counted_of(struct fl_mem *mem, fl_pfn pfn)
{
	return &mem->frames.record[pfn + 1].mapcount;
}

void fl_set_khugepaged_enter(struct fl_mem *mem, fl_khugepaged_enter_fn fn)
{
	mem->thp->enter = fn;
}

void fl_khugepaged_register(struct fl_mem *mem, struct fl_mm *mm)
{
	if (mm->khugepaged)
		return;
	mm->khugepaged = true;
	if (mem->thp->enter)
		mem->thp->enter(mem, mm);
}

static void charge_zeroing(const struct fl_mem *mem, struct fl_caller *who, unsigned int order)
{
	fl_charge(who->task, order == mem->pmd_order ? mem->cost->zero_2m : mem->cost->zero_4k << order);
}

void fl_folio_map_new_anon(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm, fl_pfn pfn, fl_vpn vpn,
			   uint32_t vma_flags)
{
	uint32_t state = mem->frames.state[pfn] | FL_YOUNG | FL_PTE_DIRTY;
	unsigned int order = fl_state_order(state);
	struct fl_frame *frame = &mem->frames.record[pfn];

	if (FL_LIKELY(!(vma_flags & FL_VM_DROPPABLE)))
		state |= FL_SWAPBACKED;
	if (FL_UNLIKELY(vma_flags & FL_VM_LOCKED)) { /* mlock_new_folio() */
		state |= FL_MLOCKED;
		mem->lru->mlocked += 1u << order;
		fl_count(mem, FL_VM_unevictable_pgs_mlocked, 1u << order);
	}
	mem->frames.state[pfn] = state;
	frame->owner = mm->id;
	frame->index = vpn;
	frame->mapcount = 1u << order;
	mm->anon_pages += 1u << order;
	if (FL_UNLIKELY(order)) {
		*counted_of(mem, pfn) = 1;
		mem->mthp[order][FL_MTHP_nr_anon]++;
	}
	fl_charge(who->task, mem->cost->rmap);
	fl_folio_add_lru(mem, who, pfn);
}

void fl_large_folio_release(struct fl_mem *mem, fl_pfn pfn)
{
	uint32_t state = mem->frames.state[pfn];
	unsigned int order = fl_state_order(state);

	fl_deferred_unqueue(mem, pfn);
	if (state & FL_PARTIALLY_MAPPED) {
		mem->mthp[order][FL_MTHP_nr_anon_partially_mapped]--;
		mem->frames.state[pfn] &= ~FL_PARTIALLY_MAPPED;
	}
	if (*counted_of(mem, pfn)) {
		*counted_of(mem, pfn) = 0;
		mem->mthp[order][FL_MTHP_nr_anon]--;
	}
}

/* migrate_folio_move(): a partially mapped folio is queued, and counted, anew. */
void fl_large_folio_move(struct fl_mem *mem, fl_pfn from, fl_pfn to)
{
	bool partial = mem->frames.state[from] & FL_PARTIALLY_MAPPED, queued = mem->frames.state[from] & FL_DEFERRED;
	uint16_t counted = *counted_of(mem, from);

	fl_large_folio_release(mem, from);
	*counted_of(mem, to) = counted;
	mem->mthp[fl_folio_order(mem, to)][FL_MTHP_nr_anon] += counted;
	if (queued)
		fl_deferred_split_folio(mem, to, partial);
}

/* ---- The huge zero page ---- */

/* get_huge_zero_folio(): an order-9 request without the movable flag, so it takes an Unmovable block. */
static bool make_huge_zero(struct fl_mem *mem, struct fl_caller *who)
{
	fl_gfp gfp = (FL_GFP_TRANSHUGE | FL_GFP_ZERO) & ~FL_GFP_MOVABLE_BIT;
	fl_pfn pfn;

	if (mem->thp->zero_page != FL_PFN_NONE)
		return true;
	pfn = fl_page_alloc(mem, who, gfp, mem->pmd_order, FL_KIND_HUGE_ZERO);
	if (pfn == FL_PFN_NONE) {
		fl_count(mem, FL_VM_thp_zero_page_alloc_failed, 1);
		return false;
	}
	charge_zeroing(mem, who, mem->pmd_order);
	if (mem->thp->zero_page != FL_PFN_NONE) { /* somebody was faster */
		fl_page_free(mem, who, pfn, mem->pmd_order);
		return true;
	}
	fl_count(mem, FL_VM_thp_zero_page_alloc, 1);
	mem->thp->zero_page = pfn;
	return true;
}

uint32_t fl_huge_zero_users(const struct fl_mem *mem)
{
	return mem->thp->zero_users;
}

uint32_t fl_huge_zero_shrink(struct fl_mem *mem, struct fl_caller *who)
{
	fl_pfn pfn = mem->thp->zero_page;

	if (pfn == FL_PFN_NONE || mem->thp->zero_users)
		return 0;
	mem->thp->zero_page = FL_PFN_NONE;
	fl_page_free(mem, who, pfn, mem->pmd_order);
	return 1u << mem->pmd_order;
}

/* ---- Faults ---- */

static void count_pmd_fallback(struct fl_mem *mem)
{
	fl_count(mem, FL_VM_thp_fault_fallback, 1);
	mem->mthp[mem->pmd_order][FL_MTHP_anon_fault_fallback]++;
}

/* An order-9 folio for a fault, zeroed; counts the fallback when there is none. */
static fl_pfn alloc_fault_pmd(struct fl_mem *mem, struct fl_caller *who, uint32_t vma_flags)
{
	fl_pfn pfn = fl_thp_alloc(mem, who, fl_thp_gfp(mem, vma_flags), mem->pmd_order);

	if (pfn == FL_PFN_NONE) {
		count_pmd_fallback(mem);
		return FL_PFN_NONE;
	}
	charge_zeroing(mem, who, mem->pmd_order);
	return pfn;
}

/* map_anon_folio_pmd(): what both kinds of fault do when the entry has been set. */
static void map_fault_pmd(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm, fl_pfn pfn, fl_vpn vpn,
			  uint32_t vma_flags)
{
	mem->frames.state[pfn] |= FL_PMD_MAPPED;
	fl_folio_map_new_anon(mem, who, mm, pfn, vpn, vma_flags);
	fl_count(mem, FL_VM_thp_fault_alloc, 1);
	mem->mthp[mem->pmd_order][FL_MTHP_anon_fault_alloc]++;
	fl_deferred_split_folio(mem, pfn, false);
}

static enum fl_huge map_zero(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm, fl_vpn vpn,
			     uint32_t generation)
{
	fl_pfn deposit = fl_pte_alloc_one(mem, who);

	if (deposit == FL_PFN_NONE)
		return FL_HUGE_OOM;
	if (!make_huge_zero(mem, who)) {
		fl_page_free(mem, who, deposit, 0);
		fl_count(mem, FL_VM_thp_fault_fallback, 1);
		return FL_HUGE_FALLBACK;
	}
	if (mm->generation != generation || !fl_pmd_is_empty(mem, mm, vpn)) {
		fl_page_free(mem, who, deposit, 0);
		return FL_HUGE_RETRY;
	}
	fl_pmd_set_huge(mem, mm, vpn, FL_PFN_NONE, deposit);
	mem->thp->zero_users++;
	return FL_HUGE_DONE;
}

enum fl_huge fl_huge_pmd_fault(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm, const struct fl_vma *vma,
			       fl_vpn vpn, bool write)
{
	uint32_t generation = mm->generation, flags = vma->flags, pages = 1u << mem->pmd_order;
	fl_vpn first = vpn & ~(pages - 1);
	fl_pfn pfn, deposit;

	if (first < vma->start || first + pages > vma->end)
		return FL_HUGE_FALLBACK;
	if (!fl_anon_vma_prepare(mem, who, mm, vpn))
		return FL_HUGE_OOM;
	fl_khugepaged_register(mem, mm);
	if (!write && mem->set.thp_use_zero_page)
		return map_zero(mem, who, mm, first, generation);
	pfn = alloc_fault_pmd(mem, who, flags);
	if (pfn == FL_PFN_NONE)
		return FL_HUGE_FALLBACK;
	deposit = fl_pte_alloc_one(mem, who);
	if (deposit == FL_PFN_NONE) {
		fl_page_free(mem, who, pfn, mem->pmd_order);
		return FL_HUGE_OOM;
	}
	if (mm->generation != generation || !fl_pmd_is_empty(mem, mm, first)) {
		fl_page_free(mem, who, deposit, 0);
		fl_page_free(mem, who, pfn, mem->pmd_order);
		return FL_HUGE_RETRY;
	}
	fl_pmd_set_huge(mem, mm, first, pfn, deposit);
	map_fault_pmd(mem, who, mm, pfn, first, flags);
	return FL_HUGE_DONE;
}

/* do_huge_zero_wp_pmd() (7.3): a huge folio in place of the zero page. 6.12, or no folio: split, then a base page. */
enum fl_huge fl_huge_zero_write(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm,
				const struct fl_vma *vma, fl_vpn vpn)
{
	uint32_t generation = mm->generation, flags = vma->flags;
	fl_vpn first = vpn & ~((1u << mem->pmd_order) - 1);
	fl_pfn pfn = FL_PFN_NONE;

	if (!fl_anon_vma_prepare(mem, who, mm, vpn))
		return FL_HUGE_OOM;
	if (mem->decide.zero_page_write_tries_huge(&(struct fl_no_facts){ 0 }))
		pfn = alloc_fault_pmd(mem, who, flags);
	if (mm->generation != generation || fl_pmd_look(mem, mm, vpn, NULL) != FL_PMD_HUGE_ZERO) {
		if (pfn != FL_PFN_NONE)
			fl_page_free(mem, who, pfn, mem->pmd_order);
		return FL_HUGE_RETRY;
	}
	if (pfn == FL_PFN_NONE) {
		fl_split_huge_pmd(mem, who, mm, vpn);
		return FL_HUGE_FALLBACK;
	}
	fl_pmd_replace_huge(mem, mm, vpn, pfn);
	mem->thp->zero_users--;
	map_fault_pmd(mem, who, mm, pfn, first, flags);
	return FL_HUGE_DONE;
}

/* The highest of these orders whose aligned range has no entry yet; then all smaller ones are empty too. */
static uint32_t empty_orders(const struct fl_mem *mem, const struct fl_mm *mm, fl_vpn vpn, uint32_t orders)
{
	while (orders) {
		unsigned int order = 31 - __builtin_clz(orders);
		fl_vpn first = vpn & ~((1u << order) - 1), end = first + (1u << order);

		if (fl_pte_next(mem, mm, first, end) == end)
			break;
		orders &= ~(1u << order);
	}
	return orders;
}

fl_pfn fl_alloc_anon_folio(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm, const struct fl_vma *vma,
			   fl_vpn vpn, unsigned int *ret_order)
{
	uint32_t orders = fl_thp_orders(mem, vma->flags, mm->thp_disabled) & ((1u << mem->pmd_order) - 1);
	fl_gfp gfp;
	fl_pfn pfn;

	*ret_order = 0;
	if (FL_UNLIKELY(orders)) {
		orders = empty_orders(mem, mm, vpn, fl_thp_suitable_orders(orders, vpn, vma->start, vma->end));
		gfp = fl_thp_gfp(mem, vma->flags);
		while (orders) {
			unsigned int order = 31 - __builtin_clz(orders);

			pfn = fl_page_alloc(mem, who, gfp, order, FL_KIND_ANON);
			if (pfn != FL_PFN_NONE) {
				charge_zeroing(mem, who, order);
				*ret_order = order;
				return pfn;
			}
			mem->mthp[order][FL_MTHP_anon_fault_fallback]++;
			orders &= ~(1u << order);
		}
	}
	pfn = fl_page_alloc(mem, who, FL_GFP_HIGHUSER_MOVABLE | FL_GFP_ZERO, 0, FL_KIND_ANON);
	if (pfn != FL_PFN_NONE)
		fl_charge(who->task, mem->cost->zero_4k);
	return pfn;
}
