/*
 * mm/truncate.c - taking pages out of the cache: truncation, deletion, drop_caches. Mirrors mm/truncate.c and fs/drop_caches.c.
 */
#include "mm/filemap_internal.h"
#include "mm/memory.h"
#include "mm/page_io.h"
#include "mm/page_writeback.h"
#include "mm/swapfile.h"

/* Takes one page out unless it is under I/O or on its way; false: the caller waits on it. */
static bool truncate_page(struct fl_mem *mem, struct fl_caller *who, struct fl_mapping *m, uint32_t index, fl_pfn pfn)
{
	if (mem->frames.state[pfn] & (FL_LOCKED | FL_WRITEBACK | FL_MIGRATING))
		return false;
	if (mem->frames.record[pfn].mapcount)
		fl_unmap_mapping(mem, who, m->id, index, 1);
	fl_file_clear_dirty(mem, pfn);
	fl_filemap_remove(mem, who, pfn, FL_SHADOW_NONE);
	fl_charge(who->task, mem->cost->page_cache_lookup);
	fl_folio_put(mem, who, pfn);
	return true;
}

static void wait_for_folio(struct fl_mem *mem, struct fl_caller *who, fl_pfn pfn)
{
	if (mem->frames.state[pfn] & FL_WRITEBACK)
		fl_folio_wait_bit(mem, who, pfn, FL_WRITEBACK);
	else
		fl_folio_wait_busy(mem, who, pfn);
}

/* Shadows and swap entries of [start, end). */
static void drop_other_entries(struct fl_mem *mem, struct fl_caller *who, struct fl_mapping *m, uint32_t start,
			       uint32_t end)
{
	for (uint32_t i = start; i < end && i < m->nodes * FL_NODE_PAGES; i++) {
		uint32_t entry = fl_mapping_entry(m, i);

		if (!entry || fl_entry_is_page(entry)) /* a writer has extended the file again meanwhile */
			continue;
		fl_mapping_node(m, i)->entry[i % FL_NODE_PAGES] = 0;
		fl_mapping_node(m, i)->used--;
		if ((entry & FL_ENTRY_TYPE) == FL_ENTRY_SWAP) {
			m->swapped--;
			fl_swap_put(mem, who, entry & FL_ENTRY_VALUE);
		} else {
			m->shadows--;
		}
	}
}

void fl_truncate_pages(struct fl_mem *mem, struct fl_caller *who, struct fl_mapping *m, uint32_t start, uint32_t end)
{
	for (uint32_t i = fl_mapping_next_page(m, start, end); i < end; i = fl_mapping_next_page(m, i, end)) {
		fl_pfn pfn = fl_frame_head(&mem->frames, fl_mapping_page(m, i));

		if (!truncate_page(mem, who, m, i, pfn))
			wait_for_folio(mem, who, pfn);
		else
			fl_cond_resched(who->task);
	}
	drop_other_entries(mem, who, m, start, end);
	fl_mapping_free_nodes(mem, who, m, start);
}

void fl_file_truncate(struct fl_mem *mem, struct fl_caller *who, fl_mapping_id id, uint32_t pages)
{
	struct fl_mapping *m = fl_mapping_of(mem, id);
	uint32_t old = m->pages;

	fl_mapping_get(m);
	m->pages = pages; /* nobody adds pages behind it from here on */
	if (pages < old)
		fl_truncate_pages(mem, who, m, pages, UINT32_MAX);
	fl_mapping_put(mem, who, m);
}

void fl_file_delete(struct fl_mem *mem, struct fl_caller *who, fl_mapping_id id)
{
	struct fl_mapping *m = fl_mapping_of(mem, id);

	fl_mapping_get(m);
	m->pages = 0;
	m->dead = true;
	fl_truncate_pages(mem, who, m, 0, UINT32_MAX);
	fl_mapping_undirty(mem, m);
	fl_mapping_put(mem, who, m);
}

/* invalidate_mapping_pages(): only what nobody uses and nothing is owed to. */
/* Pages dropped with the folio. */
static uint32_t invalidate_page(struct fl_mem *mem, struct fl_caller *who, fl_pfn pfn)
{
	uint32_t pages;

	const uint32_t busy = FL_LOCKED | FL_WRITEBACK | FL_MIGRATING | FL_DIRTY | FL_PTE_DIRTY | FL_PINNED | FL_ISOLATED;

	if ((mem->frames.state[pfn] & busy) || mem->frames.record[pfn].mapcount || mem->frames.record[pfn].refcount != 1)
		return 0;
	pages = fl_folio_pages(mem, pfn);
	fl_filemap_remove(mem, who, pfn, FL_SHADOW_NONE);
	fl_folio_put(mem, who, pfn);
	return pages;
}

uint32_t fl_filemap_drop(struct fl_mem *mem, struct fl_caller *who)
{
	uint32_t dropped = 0;

	for (fl_mapping_id id = 0; id < mem->filemap->mappings; id++) {
		struct fl_mapping *m = mem->filemap->mapping[id];

		if (!m || m->dead || m->type == FL_MAPPING_SHMEM)
			continue;
		fl_mapping_get(m);
		for (uint32_t i = fl_mapping_next_page(m, 0, UINT32_MAX); i < UINT32_MAX;
		     i = fl_mapping_next_page(m, i + 1, UINT32_MAX)) {
			dropped += invalidate_page(mem, who, fl_frame_head(&mem->frames, fl_mapping_page(m, i)));
			fl_charge(who->task, mem->cost->page_cache_lookup);
			fl_cond_resched(who->task);
		}
		fl_mapping_free_nodes(mem, who, m, 0);
		fl_mapping_put(mem, who, m);
	}
	return dropped;
}
