/*
 * mm/workingset.c - refault distance. Mirrors mm/workingset.c without cgroups.
 *
 * nonresident_age counts evictions and activations; a shadow remembers it at eviction. A folio that comes back while the
 * distance is no longer than the memory it competes for was evicted too early and starts active.
 */
#include "mm/workingset.h"

#include "mm/internal.h"
#include "mm/swapfile.h"

/* The age of a shadow wraps here. 29 bits are 2 TiB of evictions of 4K pages between eviction and refault. */
#define AGE_MASK ((UINT32_C(1) << (FL_SHADOW_BITS - 1)) - 1)

void fl_workingset_age(struct fl_mem *mem, unsigned int pages)
{
	mem->vmscan->nonresident_age += pages;
}

fl_shadow fl_workingset_eviction(struct fl_mem *mem, fl_pfn pfn)
{
	uint32_t age = (uint32_t)mem->vmscan->nonresident_age & AGE_MASK;

	fl_workingset_age(mem, fl_folio_pages(mem, pfn));
	return age << 1 | !!(mem->frames.state[pfn] & FL_WORKINGSET);
}

bool fl_workingset_is_recent(const struct fl_mem *mem, bool file, fl_shadow shadow, bool *was_workingset)
{
	const uint64_t *size = mem->lru->size;
	uint64_t distance = ((uint32_t)mem->vmscan->nonresident_age - (shadow >> 1)) & AGE_MASK;
	uint64_t workingset = size[FL_LRU_ACTIVE_FILE];

	*was_workingset = shadow & 1;
	if (!file)
		workingset += size[FL_LRU_INACTIVE_FILE];
	if (fl_swap_free_slots(mem) > 0) {
		workingset += size[FL_LRU_ACTIVE_ANON];
		if (file)
			workingset += size[FL_LRU_INACTIVE_ANON];
	}
	return distance <= workingset;
}

void fl_workingset_refault(struct fl_mem *mem, fl_pfn pfn, fl_shadow shadow)
{
	uint32_t *state = &mem->frames.state[pfn];
	bool file = fl_state_is_file_lru(*state), was_workingset;
	unsigned int pages = fl_folio_pages(mem, pfn);

	fl_count(mem, file ? FL_VM_workingset_refault_file : FL_VM_workingset_refault_anon, pages);
	if (!fl_workingset_is_recent(mem, file, shadow, &was_workingset))
		return;
	*state |= FL_ACTIVE;
	fl_workingset_age(mem, pages);
	fl_count(mem, file ? FL_VM_workingset_activate_file : FL_VM_workingset_activate_anon, pages);
	if (!was_workingset)
		return;
	*state |= FL_WORKINGSET;
	fl_lru_note_cost(mem, file, pages, 0);
	fl_count(mem, file ? FL_VM_workingset_restore_file : FL_VM_workingset_restore_anon, pages);
}
