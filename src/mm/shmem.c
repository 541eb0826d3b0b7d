/* mm/shmem.c - shared memory and tmpfs pages on their way to swap and back. Mirrors the swap half of mm/shmem.c. */
#include "mm/shmem.h"

#include "mm/page_alloc.h"
#include "mm/swapfile.h"

bool fl_shmem_swapout(struct fl_mem *mem, struct fl_caller *who, fl_pfn folio)
{
	struct fl_frame *r = &mem->frames.record[folio];
	fl_swp slot;

	if (mem->frames.state[folio] & FL_SWAPCACHED) /* came back while it was being written; that slot is of no more use */
		fl_folio_free_swap(mem, who, folio);
	if (r->refcount != 2 || (mem->frames.state[folio] & FL_SWAPCACHED) || !fl_folio_alloc_swap(mem, who, folio))
		return false;
	slot = fl_folio_swap_slot(mem, folio);
	fl_swap_dup(mem, slot);
	fl_filemap_entry_to_swap(mem, folio, slot);
	r->owner = 0;
	r->index = slot;
	fl_page_set_kind(mem, folio, FL_KIND_SWAPCACHE);
	fl_folio_put(mem, who, folio); /* the page cache's reference; the swap cache has one now */
	return true;
}

bool fl_shmem_swapin(struct fl_mem *mem, struct fl_caller *who, struct fl_mapping *m, uint32_t index)
{
	uint32_t entry = fl_mapping_entry(m, index);
	fl_swp slot = entry & FL_ENTRY_VALUE;
	fl_pfn page = fl_swapin(mem, who, slot, fl_mapping_gfp(m), NULL);

	if (fl_mapping_entry(m, index) != entry)
		return true; /* somebody was faster */
	if (page == FL_PFN_NONE)
		return false;
	mem->frames.record[page].owner = m->id;
	mem->frames.record[page].index = index;
	fl_page_set_kind(mem, page, FL_KIND_SHMEM);
	fl_folio_get(mem, page);
	fl_filemap_entry_from_swap(mem, m, index, page);
	fl_swap_put(mem, who, slot);
	mem->frames.state[page] |= FL_DIRTY;
	return true;
}
