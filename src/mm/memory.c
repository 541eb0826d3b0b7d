/*
 * mm/memory.c - faults, accesses and the unmapping of ranges. Mirrors mm/memory.c.
 *
 * A fault may sleep wherever it asks for memory. The kernel holds a lock on the VMA meanwhile; here the fault looks
 * afterwards whether the VMAs (mm->generation) or the entry have changed, and if so starts over.
 */
#include "mm/memory.h"

#include "mm/filemap.h"
#include "mm/huge_memory.h"
#include "mm/mm_internal.h"
#include "mm/page_alloc_internal.h"
#include "mm/page_writeback.h"
#include "mm/pagetable_internal.h"
#include "mm/rmap.h"
#include "mm/swap.h"
#include "mm/swapfile.h"

#define FAULT_AROUND_BYTES 65536u /* fault_around_bytes */

enum step { STEP_DONE, STEP_OOM, STEP_BUS, STEP_RETRY };

struct fault {
	struct fl_mem *mem;
	struct fl_caller *who;
	struct fl_mm *mm;
	struct fl_vma vma; /* a copy: the VMA may go while we sleep */
	uint32_t generation;
	fl_vpn vpn;
	bool write;
};

static bool is_stale(const struct fault *f)
{
	return f->mm->generation != f->generation;
}

static void set_accessed(struct fl_mem *mem, fl_pfn head, bool write)
{
	uint32_t want = FL_YOUNG | (write ? FL_PTE_DIRTY : 0);

	if ((mem->frames.state[head] & want) != want)
		mem->frames.state[head] |= want;
}

void fl_wake_migration(struct fl_mem *mem)
{
	fl_wake_all(&mem->migration_wq);
}

/* ---- Anonymous memory ---- */

/* The entries of a new folio, if they are all still none. */
static bool set_anon_ptes(const struct fault *f, fl_pfn pfn, fl_vpn first, unsigned int order)
{
	fl_vpn end = first + (1u << order);

	if (FL_UNLIKELY(is_stale(f)))
		return false;
	if (FL_LIKELY(!order))
		return fl_pte_replace(f->mem, f->mm, first, 0, fl_pte_of_pfn(pfn));
	if (fl_pmd_look(f->mem, f->mm, first, NULL) != FL_PMD_TABLE || fl_pte_next(f->mem, f->mm, first, end) != end)
		return false;
	for (uint32_t i = 0; i < 1u << order; i++)
		fl_pte_set(f->mem, f->mm, first + i, fl_pte_of_pfn(pfn + i));
	return true;
}

/* do_anonymous_page(); there is a PTE table and the entry was none. */
static enum step anonymous_page(struct fault *f)
{
	struct fl_mem *mem = f->mem;
	unsigned int order;
	fl_vpn first;
	fl_pfn pfn;

	if (!f->write) {
		fl_pte_set(mem, f->mm, f->vpn, FL_PTE_ZERO);
		return STEP_DONE;
	}
	if (FL_UNLIKELY(!f->vma.has_anon_vma) && !fl_anon_vma_prepare(mem, f->who, f->mm, f->vpn))
		return STEP_OOM;
	pfn = fl_alloc_anon_folio(mem, f->who, f->mm, &f->vma, f->vpn, &order);
	if (FL_UNLIKELY(pfn == FL_PFN_NONE))
		return STEP_OOM;
	first = f->vpn & ~((1u << order) - 1);
	if (FL_UNLIKELY(!set_anon_ptes(f, pfn, first, order))) {
		fl_page_free(mem, f->who, pfn, order);
		return STEP_RETRY;
	}
	if (FL_UNLIKELY(order))
		mem->mthp[order][FL_MTHP_anon_fault_alloc]++;
	fl_folio_map_new_anon(mem, f->who, f->mm, pfn, first, f->vma.flags);
	return STEP_DONE;
}

/* wp_page_copy() of the zero page: always a base page. */
static enum step write_zero_page(struct fault *f)
{
	struct fl_mem *mem = f->mem;
	fl_pfn pfn;

	if (!fl_anon_vma_prepare(mem, f->who, f->mm, f->vpn))
		return STEP_OOM;
	pfn = fl_page_alloc(mem, f->who, FL_GFP_HIGHUSER_MOVABLE | FL_GFP_ZERO, 0, FL_KIND_ANON);
	if (pfn == FL_PFN_NONE)
		return STEP_OOM;
	fl_charge(f->who->task, mem->cost->zero_4k);
	if (is_stale(f) || !fl_pte_replace(mem, f->mm, f->vpn, FL_PTE_ZERO, fl_pte_of_pfn(pfn))) {
		fl_page_free(mem, f->who, pfn, 0);
		return STEP_RETRY;
	}
	fl_folio_map_new_anon(mem, f->who, f->mm, pfn, f->vpn, f->vma.flags);
	return STEP_DONE;
}

/* do_swap_page(): maps the one page that was touched. */
static enum step swap_page(struct fault *f, fl_pte pte)
{
	struct fl_mem *mem = f->mem;
	fl_swp slot = pte & FL_PTE_SLOT_MASK;
	fl_pfn pfn = fl_swapin(mem, f->who, slot, FL_GFP_HIGHUSER_MOVABLE, NULL), head;
	struct fl_frame *frame;

	if (is_stale(f) || fl_pte_look(mem, f->mm, f->vpn) != pte)
		return STEP_RETRY;
	if (pfn == FL_PFN_NONE)
		return STEP_OOM;
	head = fl_frame_head(&mem->frames, pfn);
	frame = &mem->frames.record[head];
	if (!frame->mapcount) {
		fl_page_set_kind(mem, head, FL_KIND_ANON);
		fl_folio_get(mem, head); /* for the mappings together */
		frame->owner = f->mm->id;
		frame->index = f->vpn - (pfn - head);
	}
	fl_rmap_add_page(mem, head);
	fl_pte_set(mem, f->mm, f->vpn, fl_pte_of_pfn(pfn));
	f->mm->anon_pages++;
	f->mm->swap_entries--;
	set_accessed(mem, head, f->write);
	fl_charge(f->who->task, mem->cost->rmap);
	fl_swap_put(mem, f->who, slot);
	if (f->vma.flags & FL_VM_LOCKED)
		fl_mlock_folio(mem, f->who, head);
	if (fl_should_free_swap(mem, head, f->write, f->vma.flags & FL_VM_LOCKED))
		fl_folio_free_swap(mem, f->who, head);
	return STEP_DONE;
}

bool fl_swap_fault(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm, fl_vpn vpn)
{
	struct fault f = { .mem = mem, .who = who, .mm = mm, .vpn = vpn, .generation = mm->generation };

	f.vma = *fl_vma_find(mem, mm, vpn);
	return swap_page(&f, fl_pte_look(mem, mm, vpn)) != STEP_OOM;
}

/* ---- Files ---- */

static uint32_t file_index(const struct fault *f, fl_vpn vpn)
{
	return f->vma.pgoff + (vpn - f->vma.start);
}

static void map_file_page(struct fault *f, fl_vpn vpn, fl_pfn pfn)
{
	struct fl_mem *mem = f->mem;
	fl_pfn head = fl_frame_head(&mem->frames, pfn);

	fl_rmap_add_page(mem, head);
	fl_pte_set(mem, f->mm, vpn, fl_pte_of_pfn(pfn));
	f->mm->file_pages++;
	mem->frames.state[head] |= FL_YOUNG | (f->vma.flags & FL_VM_EXEC ? FL_EXEC : 0);
}

/* do_fault_around(): maps what is cached in the aligned 64 KiB around. */
static void fault_around(struct fault *f)
{
	uint32_t window = FAULT_AROUND_BYTES >> f->mem->page_shift;
	fl_vpn first, end;

	if (window <= 1)
		return;
	first = f->vpn & ~(window - 1);
	end = first + window < f->vma.end ? first + window : f->vma.end;
	if (first < f->vma.start)
		first = f->vma.start;
	for (fl_vpn vpn = first; vpn < end; vpn++) {
		fl_pfn pfn;

		if (fl_pte_look(f->mem, f->mm, vpn))
			continue;
		pfn = fl_filemap_lookup(f->mem, f->vma.mapping, file_index(f, vpn));
		if (pfn == FL_PFN_NONE)
			continue;
		map_file_page(f, vpn, pfn);
		fl_charge(f->who->task, f->mem->cost->fault_around_page);
	}
}

static enum step file_fault(struct fault *f)
{
	struct fl_mem *mem = f->mem;
	uint32_t index = file_index(f, f->vpn);
	fl_pfn pfn;

	if (!f->write) {
		fault_around(f);
		if (fl_pte_look(mem, f->mm, f->vpn))
			return STEP_DONE;
	}
	pfn = fl_filemap_fault(mem, f->who, f->vma.mapping, index, NULL);
	if (is_stale(f) || fl_pte_look(mem, f->mm, f->vpn))
		return STEP_RETRY;
	if (pfn == FL_PFN_NONE)
		return index >= fl_file_pages(mem, f->vma.mapping) ? STEP_BUS : STEP_OOM;
	if (fl_pmd_look(mem, f->mm, f->vpn, NULL) != FL_PMD_TABLE)
		return STEP_RETRY;
	map_file_page(f, f->vpn, pfn);
	pfn = fl_frame_head(&mem->frames, pfn);
	if (f->write) {
		mem->frames.state[pfn] |= FL_PTE_DIRTY;
		fl_file_mark_dirty(mem, pfn);
	}
	if (f->vma.flags & FL_VM_LOCKED)
		fl_mlock_folio(mem, f->who, pfn);
	return STEP_DONE;
}

/* ---- The fault ---- */

/* A present page: only an access, unless migration has it. */
static enum step present_page(struct fault *f, fl_pfn head)
{
	if (FL_UNLIKELY(f->mem->frames.state[head] & FL_MIGRATING) && f->mem->sim) {
		fl_wait(&f->mem->migration_wq, f->who->task);
		return STEP_RETRY;
	}
	set_accessed(f->mem, head, f->write);
	return STEP_DONE;
}

/* handle_pte_fault(); there is a PTE table. */
static enum step pte_fault(struct fault *f, fl_pte pte)
{
	if (!pte)
		return f->vma.type == FL_VMA_ANON ? anonymous_page(f) : file_fault(f);
	if (fl_pte_is_swap(pte))
		return swap_page(f, pte);
	if (pte == FL_PTE_ZERO)
		return f->write ? write_zero_page(f) : STEP_DONE;
	return present_page(f, fl_frame_head(&f->mem->frames, fl_pte_pfn(pte)));
}

/* Makes the PTE table first, which may sleep. */
static enum step pte_level(struct fault *f)
{
	struct fl_walk walk;

	if (!fl_pte_alloc(f->mem, f->who, f->mm, f->vpn))
		return STEP_OOM;
	walk = fl_walk(f->mem, f->mm, f->vpn);
	return is_stale(f) || walk.kind != FL_PMD_TABLE ? STEP_RETRY : pte_fault(f, walk.value);
}

static enum step huge_step(struct fault *f, enum fl_huge huge)
{
	switch (huge) {
	case FL_HUGE_DONE:
		return STEP_DONE;
	case FL_HUGE_OOM:
		return STEP_OOM;
	case FL_HUGE_RETRY:
		return STEP_RETRY;
	default:
		return is_stale(f) ? STEP_RETRY : pte_level(f);
	}
}

/* Nothing is mapped in the range of this PMD entry. */
static enum step empty_pmd(struct fault *f)
{
	struct fl_mem *mem = f->mem;

	if (f->vma.type != FL_VMA_ANON ||
	    !(fl_thp_orders(mem, f->vma.flags, f->mm->thp_disabled) & 1u << mem->pmd_order))
		return pte_level(f);
	if (!fl_pmd_alloc(mem, f->who, f->mm, f->vpn))
		return STEP_OOM;
	if (is_stale(f))
		return STEP_RETRY;
	return huge_step(f, fl_huge_pmd_fault(mem, f->who, f->mm, &f->vma, f->vpn, f->write));
}

/* __handle_mm_fault() */
static enum step fault_once(struct fault *f, struct fl_walk walk)
{
	switch (walk.kind) {
	case FL_PMD_TABLE:
		return pte_fault(f, walk.value);
	case FL_PMD_HUGE:
		return present_page(f, walk.value);
	case FL_PMD_HUGE_ZERO:
		if (!f->write)
			return STEP_DONE;
		return huge_step(f, fl_huge_zero_write(f->mem, f->who, f->mm, &f->vma, f->vpn));
	default:
		return empty_pmd(f);
	}
}

/* `walk` is what the page tables say at this instant. */
static enum fl_fault handle_fault(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm, fl_vpn vpn, bool write,
				  struct fl_walk walk)
{
	struct fault f = { .mem = mem, .who = who, .mm = mm, .vpn = vpn, .write = write };
	enum step step;

	fl_charge(who->task, mem->cost->fault_base);
	for (;; walk = fl_walk(mem, mm, vpn)) {
		const struct fl_vma *vma = fl_vma_find_again(mem, mm, vpn);

		if (FL_UNLIKELY(mm->dying))
			return FL_FAULT_KILLED;
		if (FL_UNLIKELY(!vma))
			return FL_FAULT_SEGV;
		f.vma = *vma;
		f.generation = mm->generation;
		step = fault_once(&f, walk);
		if (FL_LIKELY(step != STEP_RETRY))
			break;
	}
	fl_count(mem, FL_VM_pgfault, 1); /* mm_account_fault(): failed ones too */
	if (FL_LIKELY(step == STEP_DONE))
		return FL_FAULT_DONE;
	if (step == STEP_BUS)
		return FL_FAULT_BUS;
	/* The error of a droppable mapping is swallowed (facts 10.3): the program would simply touch it again. */
	return f.vma.flags & FL_VM_DROPPABLE ? FL_FAULT_DONE : FL_FAULT_OOM;
}

enum fl_fault fl_handle_fault(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm, fl_vpn vpn, bool write)
{
	return handle_fault(mem, who, mm, vpn, write, fl_walk(mem, mm, vpn));
}

/* ---- Accesses ---- */

/* Does this access need no fault? *ret_head: the folio, or FL_PFN_NONE for the zero page. */
static inline bool access_is_plain(const struct fl_mem *mem, struct fl_walk walk, bool write, fl_pfn *ret_head)
{
	*ret_head = FL_PFN_NONE;
	if (walk.kind == FL_PMD_TABLE && fl_pte_is_present(walk.value))
		*ret_head = fl_frame_head(&mem->frames, fl_pte_pfn(walk.value));
	else if (walk.kind == FL_PMD_HUGE)
		*ret_head = walk.value;
	else
		return !write && (walk.kind == FL_PMD_HUGE_ZERO ||
				  (walk.kind == FL_PMD_TABLE && walk.value == FL_PTE_ZERO));
	return !(mem->frames.state[*ret_head] & FL_MIGRATING);
}

/* Every access may go this way. */
static __attribute__((noinline)) enum fl_fault access_long(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm,
							   fl_vpn vpn, bool write, bool *faulted)
{
	struct fl_walk walk = fl_walk(mem, mm, vpn);
	fl_pfn head;
	bool plain = access_is_plain(mem, walk, write, &head);

	fl_charge_user(who->task, mem->cost->access);
	*faulted = !plain;
	if (!plain)
		return handle_fault(mem, who, mm, vpn, write, walk);
	if (head != FL_PFN_NONE)
		set_accessed(mem, head, write);
	return FL_FAULT_DONE;
}

/* Is a fault in this VMA that of a base page of ordinary anonymous memory, whatever the size of the folios around? */
static inline bool vma_is_usual(const struct fl_mem *mem, const struct fl_vma *vma)
{
	uint32_t sizes = 0;

	if (vma->type != FL_VMA_ANON || !vma->has_anon_vma || vma->flags & (FL_VM_DROPPABLE | FL_VM_LOCKED))
		return false;
	if (vma->flags & FL_VM_NOHUGEPAGE)
		return true;
	for (unsigned int order = 2; order < mem->pmd_order; order++)
		sizes |= mem->set.thp_size[order];
	return !sizes;
}

/* fl_folio_map_new_anon() of a base page of an ordinary VMA, frame preparation included. */
static inline void map_usual(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm, fl_pfn pfn, fl_vpn vpn)
{
	struct fl_frame *frame = &mem->frames.record[pfn];

	frame->owner = mm->id;
	frame->index = vpn;
	fl_frame_set_counts(frame, 1, 1);
	mm->anon_pages++;
	fl_batch_add(mem, who, pfn, fl_state(FL_KIND_ANON, 0) | FL_YOUNG | FL_PTE_DIRTY | FL_SWAPBACKED, FL_BATCH_ADD);
}

/*
 * The usual fault in one step, with the same effects as the long way: the first write to a base page, for which the
 * request for memory can be served from the per-CPU list (so nothing switches). False, and nothing done, in any other case.
 */
static inline bool fault_usual(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm, fl_vpn vpn,
			       struct fl_pte_table *table, fl_pte *pte)
{
	const struct fl_vma *vma = mm->last_vma;
	const struct fl_cost *cost = mem->cost;
	fl_pfn pfn;

	if (FL_UNLIKELY(!vma || vpn - vma->start >= vma->end - vma->start || mm->dying || !vma_is_usual(mem, vma)))
		return false;
	if (FL_UNLIKELY(!fl_take_usual(mem, who, FL_GFP_HIGHUSER_MOVABLE | FL_GFP_ZERO, 0, &pfn)))
		return false;
	*pte = fl_pte_of_pfn(pfn);
	table->used++;
	mm->translations++;
	fl_count(mem, FL_VM_pgfault, 1);
	fl_charge_user(who->task, cost->access);
	fl_charge(who->task, cost->fault_base + cost->zero_4k + cost->rmap);
	map_usual(mem, who, mm, pfn, vpn);
	return true;
}

/* The usual access: the page is there, or its fault is a usual one. False, and nothing done, in any other case. */
static inline bool access_usual(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm, fl_vpn vpn, bool write,
				bool *faulted)
{
	const struct fl_pagetables *pt = mem->pagetables;
	struct fl_pte_table *table = fl_pte_table_of(pt, mm, vpn);
	fl_pte *pte;
	fl_pfn head;

	if (FL_UNLIKELY(!table || table->form != FL_FORM_DENSE))
		return false;
	pte = fl_pte_array(pt, table) + (vpn & pt->slot_mask);
	*faulted = !*pte;
	if (*faulted)
		return write && fault_usual(mem, who, mm, vpn, table, pte);
	if (FL_UNLIKELY(!fl_pte_is_present(*pte)))
		return false;
	fl_pte_fetch_ahead(mem, table, vpn & pt->slot_mask);
	head = fl_frame_head(&mem->frames, fl_pte_pfn(*pte));
	if (FL_UNLIKELY(mem->frames.state[head] & FL_MIGRATING))
		return false;
	fl_charge_user(who->task, mem->cost->access);
	set_accessed(mem, head, write);
	return true;
}

static inline enum fl_fault access_one(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm, fl_vpn vpn,
				       bool write, bool *faulted)
{
	if (FL_LIKELY(fl_may_shorten(mem) && access_usual(mem, who, mm, vpn, write, faulted)))
		return FL_FAULT_DONE;
	return access_long(mem, who, mm, vpn, write, faulted);
}

enum fl_fault fl_access(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm, fl_vpn vpn, bool write,
			bool *faulted)
{
	bool ignored;

	return access_one(mem, who, mm, vpn, write, faulted ? faulted : &ignored);
}

static inline bool touch_one(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm, fl_vpn vpn, bool write,
			     struct fl_touched *touched)
{
	bool faulted;

	if (FL_UNLIKELY(mm->dying)) {
		touched->end = FL_FAULT_KILLED;
		return false;
	}
	touched->end = access_one(mem, who, mm, vpn, write, &faulted);
	touched->faults += faulted;
	if (FL_UNLIKELY(touched->end != FL_FAULT_DONE))
		return false;
	touched->accesses++;
	fl_cond_resched(who->task);
	return true;
}

struct fl_touched fl_touch_range(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm, fl_vpn start,
				 uint32_t pages, uint32_t stride, bool write)
{
	struct fl_touched touched = { .end = FL_FAULT_DONE };

	for (uint64_t i = 0; i < pages; i += stride ? stride : 1)
		if (!touch_one(mem, who, mm, start + i, write, &touched))
			break;
	return touched;
}

#define FETCH_ENTRY 16 /* accesses ahead: their entries */
#define FETCH_FRAME 8  /* and the frames that these name */

/* Accesses in an order of the load's own: the host fetches ahead what they will need; changes nothing. */
static inline void fetch_for_access(const struct fl_mem *mem, const struct fl_mm *mm, fl_vpn vpn, bool frame)
{
	const struct fl_pagetables *pt = mem->pagetables;
	const struct fl_pte_table *table = fl_pte_table_of(pt, mm, vpn);
	const fl_pte *pte;

	if (!table || table->form != FL_FORM_DENSE)
		return;
	pte = fl_pte_array(pt, table) + (vpn & pt->slot_mask);
	if (!frame)
		__builtin_prefetch(pte, 1);
	else if (fl_pte_is_present(*pte))
		__builtin_prefetch(&mem->frames.state[fl_pte_pfn(*pte)], 1);
}

struct fl_touched fl_touch_pages(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm, fl_vpn base,
				 const uint32_t *index, uint32_t count, bool write)
{
	struct fl_touched touched = { .end = FL_FAULT_DONE };

	for (uint32_t i = 0; i < count; i++) {
		if (count - i > FETCH_ENTRY) {
			fetch_for_access(mem, mm, base + index[i + FETCH_ENTRY], false);
			fetch_for_access(mem, mm, base + index[i + FETCH_FRAME], true);
		}
		if (!touch_one(mem, who, mm, base + index[i], write, &touched))
			break;
	}
	return touched;
}

/* ---- Unmapping ---- */

static bool zap_huge(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm, fl_vpn first)
{
	fl_pfn pfn;

	if (fl_pmd_look(mem, mm, first, &pfn) == FL_PMD_HUGE_ZERO) {
		mem->thp->zero_users--;
		fl_pmd_clear_huge(mem, who, mm, first);
		return false;
	}
	fl_pmd_clear_huge(mem, who, mm, first);
	mem->frames.state[pfn] &= ~FL_PMD_MAPPED;
	mm->anon_pages -= 1u << mem->pmd_order;
	fl_charge(who->task, mem->cost->zap_pte + mem->cost->rmap);
	fl_rmap_remove_pages(mem, who, pfn, 1u << mem->pmd_order);
	return true;
}

/* Takes the entries out that map a folio in a row, and then the mappings at once: a folio that goes as a whole is never
 * partially mapped (folio_pte_batch). Returns how many pages. */
static uint32_t zap_present(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm, fl_vpn vpn, fl_vpn end,
			    fl_pfn pfn)
{
	fl_pfn head = fl_frame_head(&mem->frames, pfn);
	uint32_t left = fl_folio_pages(mem, head) - (pfn - head), n = 1;
	bool is_anon = fl_state_kind(mem->frames.state[head]) == FL_KIND_ANON;

	while (n < left && vpn + n < end && fl_pte_look(mem, mm, vpn + n) == fl_pte_of_pfn(pfn + n))
		n++;
	for (uint32_t i = 0; i < n; i++)
		fl_pte_set(mem, mm, vpn + i, 0);
	if (is_anon)
		mm->anon_pages -= n;
	else
		mm->file_pages -= n;
	fl_charge(who->task, mem->cost->zap_pte * n + mem->cost->rmap);
	fl_rmap_remove_pages(mem, who, head, n);
	return n;
}

static void zap_swap(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm, fl_vpn vpn, fl_pte pte)
{
	fl_pte_set(mem, mm, vpn, 0);
	mm->swap_entries--;
	fl_charge(who->task, mem->cost->zap_pte);
	fl_swap_put(mem, who, pte & FL_PTE_SLOT_MASK);
}

uint64_t fl_zap_pmd_range(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm, fl_vpn start, fl_vpn end,
			  fl_vpn *next)
{
	uint32_t pages = 1u << mem->pmd_order;
	fl_vpn first = start & ~(pages - 1);
	enum fl_pmd_kind kind = fl_pmd_look(mem, mm, start, NULL);
	uint64_t freed = 0;

	if (end - first > pages)
		end = first + pages;
	*next = end;
	if (kind == FL_PMD_NONE)
		return 0;
	if (kind != FL_PMD_TABLE && start == first && end == first + pages)
		return zap_huge(mem, who, mm, first) ? pages : 0;
	if (kind != FL_PMD_TABLE)
		fl_split_huge_pmd(mem, who, mm, first);
	for (fl_vpn vpn = fl_pte_next(mem, mm, start, end); vpn < end; vpn = fl_pte_next(mem, mm, vpn, end)) {
		fl_pte pte = fl_pte_look(mem, mm, vpn);
		uint32_t n = 1;

		if (fl_pte_is_present(pte)) {
			n = zap_present(mem, who, mm, vpn, end, fl_pte_pfn(pte));
			freed += n;
		} else if (fl_pte_is_swap(pte)) {
			zap_swap(mem, who, mm, vpn, pte);
		} else {
			fl_pte_set(mem, mm, vpn, 0);
		}
		vpn += n;
	}
	return freed;
}

uint64_t fl_zap_range(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm, fl_vpn start, fl_vpn end)
{
	uint64_t freed = 0;

	for (fl_vpn at = fl_pte_next(mem, mm, start, end); at < end; at = fl_pte_next(mem, mm, at, end)) {
		freed += fl_zap_pmd_range(mem, who, mm, at, end, &at);
		fl_cond_resched(who->task);
	}
	return freed;
}

void fl_unmap_mapping(struct fl_mem *mem, struct fl_caller *who, uint32_t mapping, uint32_t index, uint32_t pages)
{
	uint64_t last = (uint64_t)index + pages;

	for (uint32_t id = fl_mapping_first_vma(mem, mapping); id != FL_VMA_NONE; id = fl_vma_of(mem, id)->map_next) {
		const struct fl_vma *vma = fl_vma_of(mem, id);
		uint64_t low = vma->pgoff, high = low + (vma->end - vma->start);
		fl_vpn at, end;

		if (low >= last || high <= index)
			continue;
		at = vma->start + (index > low ? index - low : 0);
		end = high > last ? vma->end - (uint32_t)(high - last) : vma->end;
		while (at < end)
			fl_zap_pmd_range(mem, who, fl_mm_of(mem, vma->mm), at, end, &at);
	}
}

/* ---- smaps ---- */

uint64_t fl_mm_resident(const struct fl_mem *mem, const struct fl_mm *mm, fl_vpn start, uint32_t pages)
{
	fl_vpn end = start + pages;
	uint64_t resident = 0;

	for (fl_vpn vpn = fl_pte_next(mem, mm, start, end); vpn < end; vpn = fl_pte_next(mem, mm, vpn + 1, end))
		resident += fl_pte_is_present(fl_pte_look(mem, mm, vpn));
	return resident;
}

uint64_t fl_mm_huge_mapped(const struct fl_mem *mem, const struct fl_mm *mm, fl_vpn start, uint32_t pages)
{
	uint32_t huge = 1u << mem->pmd_order;
	uint64_t count = 0;

	for (uint64_t vpn = ((uint64_t)start + huge - 1) & ~(uint64_t)(huge - 1); vpn + huge <= (uint64_t)start + pages;
	     vpn += huge)
		count += fl_pmd_look(mem, mm, vpn, NULL) == FL_PMD_HUGE;
	return count;
}
