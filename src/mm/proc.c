/*
 * mm/proc.c - the parts that processes use, made, hashed and checked as one.
 */
#include "mm/proc.h"

#include "base/hash.h"
#include "mm/dcache.h"
#include "mm/huge_memory.h"
#include "mm/ipc.h"
#include "mm/khugepaged.h"
#include "mm/mm_internal.h"
#include "mm/process.h"
#include "mm/slab.h"
#include "mm/swap.h"

void fl_proc_init(struct fl_mem *mem)
{
	fl_lru_init(mem);
	fl_pagetable_init(mem);
	fl_mmap_init(mem);
	fl_huge_memory_init(mem);
	fl_khugepaged_init(mem);
	fl_slab_init(mem);
	fl_process_init(mem);
	fl_ipc_init(mem);
	fl_dcache_init(mem);
}

void fl_proc_fini(struct fl_mem *mem)
{
	fl_dcache_fini(mem);
	fl_ipc_fini(mem);
	fl_process_fini(mem);
	fl_slab_fini(mem);
	fl_khugepaged_fini(mem);
	fl_huge_memory_fini(mem);
	fl_mmap_fini(mem);
	fl_pagetable_fini(mem);
	fl_lru_fini(mem);
}

uint64_t fl_proc_hash(const struct fl_mem *mem, uint64_t hash)
{
	hash = fl_lru_hash(mem, hash);
	hash = fl_mmap_hash(mem, hash);
	hash = fl_slab_hash(mem, hash);
	hash = fl_ipc_hash(mem, hash);
	hash = fl_khugepaged_hash(mem, hash);
	hash = fl_hash_u64(hash, mem->thp->queue_length);
	return fl_hash_u64(hash, (uint64_t)mem->thp->zero_page << 32 | mem->thp->zero_users);
}

/* ---- Check ---- */

/* Every present entry maps a frame that says the same; counts what the mm counts. */
static void check_entries(struct fl_mem *mem, const struct fl_mm *mm)
{
	uint64_t anon = 0, file = 0, swap = 0;

	for (fl_vpn vpn = fl_pte_next(mem, mm, 0, FL_VPN_LIMIT); vpn < FL_VPN_LIMIT;
	     vpn = fl_pte_next(mem, mm, vpn + 1, FL_VPN_LIMIT)) {
		fl_pte pte = fl_pte_look(mem, mm, vpn);
		const struct fl_vma *vma = fl_vma_find(mem, mm, vpn);
		const struct fl_frame *frame;
		fl_pfn head;

		FL_ASSERT_MSG(vma, "an entry lies in a VMA");
		swap += fl_pte_is_swap(pte);
		if (!fl_pte_is_present(pte))
			continue;
		head = fl_frame_head(&mem->frames, fl_pte_pfn(pte));
		frame = &mem->frames.record[head];
		FL_ASSERT_MSG(frame->mapcount, "a mapped folio has mappings");
		if (fl_state_kind(mem->frames.state[head]) == FL_KIND_ANON) {
			anon++;
			FL_ASSERT_MSG(frame->owner == mm->id, "an anonymous folio names its address space");
			FL_ASSERT_MSG(frame->index + (fl_pte_pfn(pte) - head) == vpn, "an anonymous folio names its place");
		} else {
			file++;
			FL_ASSERT_MSG(frame->owner == vma->mapping, "a file folio names its mapping");
			FL_ASSERT_MSG(frame->index + (fl_pte_pfn(pte) - head) == vma->pgoff + (vpn - vma->start),
				      "a file folio names its place");
		}
	}
	FL_ASSERT_MSG(anon == mm->anon_pages && file == mm->file_pages && swap == mm->swap_entries,
		      "what an address space counts");
}

static void check_vmas(struct fl_mem *mem, const struct fl_mm *mm)
{
	uint64_t locked = 0;
	fl_vpn end = 0;

	for (uint32_t i = 0; i < mm->vmas; i++) {
		const struct fl_vma *vma = fl_vma_at(mem, mm, i);

		FL_ASSERT_MSG(vma->mm == mm->id && vma->start >= end && vma->start < vma->end, "VMAs in order");
		end = vma->end;
		if (vma->flags & FL_VM_LOCKED)
			locked += vma->end - vma->start;
	}
	FL_ASSERT_MSG(locked == mm->locked_pages, "locked pages of an address space");
}

/* An anonymous folio has as many entries as its mapcount says. */
static void check_anon(struct fl_mem *mem, fl_pfn pfn)
{
	const struct fl_frame *frame = &mem->frames.record[pfn];
	struct fl_mm *mm = fl_mm_of(mem, frame->owner);
	uint32_t state = mem->frames.state[pfn], found = 0;
	fl_pfn huge = FL_PFN_NONE;

	if (!frame->mapcount)
		return;
	FL_ASSERT_MSG(mm, "the owner of an anonymous folio lives");
	for (uint32_t k = 0; k < fl_folio_pages(mem, pfn); k++)
		found += fl_pte_look(mem, mm, frame->index + k) == fl_pte_of_pfn(pfn + k);
	FL_ASSERT_MSG(found == frame->mapcount, "mapcount of an anonymous folio");
	FL_ASSERT_MSG(!!(state & FL_PMD_MAPPED) ==
			      (fl_pmd_look(mem, mm, frame->index, &huge) == FL_PMD_HUGE && huge == pfn),
		      "FL_PMD_MAPPED");
}

static void check_frames(struct fl_mem *mem)
{
	uint64_t isolated[2] = { 0 }, mlocked = 0, deferred = 0;

	for (fl_pfn pfn = 0; pfn < mem->frames.count; pfn++) {
		uint32_t state = mem->frames.state[pfn];
		unsigned int kind = fl_state_kind(state);

		if (kind >= FL_KIND_ANON && kind <= FL_KIND_SWAPCACHE) {
			if (kind == FL_KIND_ANON)
				check_anon(mem, pfn);
			FL_ASSERT_MSG(!(state & FL_PARTIALLY_MAPPED) || fl_state_order(state),
				      "only large folios are partially mapped");
			isolated[fl_state_is_file_lru(state)] += state & FL_ISOLATED ? fl_folio_pages(mem, pfn) : 0;
			mlocked += state & FL_MLOCKED ? fl_folio_pages(mem, pfn) : 0;
			deferred += !!(state & FL_DEFERRED);
		}
	}
	FL_ASSERT_MSG(isolated[0] == mem->lru->isolated[0] && isolated[1] == mem->lru->isolated[1], "isolated pages");
	FL_ASSERT_MSG(mlocked == mem->lru->mlocked, "mlocked pages");
	FL_ASSERT_MSG(deferred == mem->thp->queue_length, "folios with FL_DEFERRED");
}

void fl_proc_check(struct fl_mem *mem)
{
	fl_lru_check(mem);
	fl_huge_memory_check(mem);
	fl_khugepaged_check(mem);
	fl_slab_check(mem);
	for (uint32_t id = 0; id < fl_mm_ids(mem); id++) {
		const struct fl_mm *mm = fl_mm_of(mem, id);

		if (!mm)
			continue;
		check_vmas(mem, mm);
		fl_pagetable_check(mem, mm);
		check_entries(mem, mm);
	}
	check_frames(mem);
}
