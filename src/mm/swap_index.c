/*
 * mm/swap_index.c - kernel memory that the swap cache itself takes. Follows add_to_swap_cache() and
 * clear_shadow_from_swap_cache() of mm/swap_state.c.
 *
 * Pages and shadows of evicted pages are kept in an index by slot. 6.12 has an xarray, whose leaves of 64 slots are
 * radix_tree_node objects (Reclaimable slab; levels above the leaves are one in 64 of these and left out). Newer kernels
 * have a table for each cluster in use, a page for 2 MiB of swap, which is not modelled. The words themselves are
 * fl_swap.entry.
 */
#include "base/text.h"
#include "mm/slab.h"
#include "mm/swap_internal.h"

#define LEAF_SLOTS 64u /* XA_CHUNK_SIZE */

static uint32_t leaves_of(const struct fl_swap *swap)
{
	return (swap->pages + LEAF_SLOTS - 1) / LEAF_SLOTS;
}

void fl_swap_index_init(struct fl_mem *mem)
{
	struct fl_swap *swap = mem->swap;

	if (!mem->decide.swap_cache_is_xarray(&(struct fl_no_facts){ 0 }))
		return;
	swap->leaf = fl_xmalloc(leaves_of(swap) * sizeof(*swap->leaf));
	swap->leaf_used = fl_xcalloc(leaves_of(swap), sizeof(*swap->leaf_used));
	for (uint32_t n = 0; n < leaves_of(swap); n++)
		swap->leaf[n] = FL_OBJECT_NONE;
}

void fl_swap_index_fini(struct fl_mem *mem)
{
	fl_xfree(mem->swap->leaf);
	fl_xfree(mem->swap->leaf_used);
}

static void leaf_free(struct fl_mem *mem, struct fl_caller *who, uint32_t n)
{
	fl_object leaf = mem->swap->leaf[n];

	mem->swap->leaf[n] = FL_OBJECT_NONE;
	fl_slab_free(mem, who, leaf);
}

bool fl_swap_index_make(struct fl_mem *mem, struct fl_caller *who, fl_swp slot, uint32_t count)
{
	struct fl_swap *swap = mem->swap;
	uint32_t first = slot / LEAF_SLOTS, last = (slot + count - 1) / LEAF_SLOTS;

	for (uint32_t n = first; swap->leaf && n <= last; n++) {
		if (swap->leaf[n] != FL_OBJECT_NONE)
			continue;
		/* add_to_swap(): a reclaimer may use half of the min reserve for this, and nothing below it. */
		swap->leaf[n] = fl_slab_alloc(mem, who, FL_SLAB_radix_tree_node,
					      FL_GFP_HIGH | FL_GFP_NOMEMALLOC | FL_GFP_NOWARN);
		if (swap->leaf[n] != FL_OBJECT_NONE)
			continue;
		while (n-- > first)
			if (!swap->leaf_used[n])
				leaf_free(mem, who, n);
		return false;
	}
	return true;
}

void fl_swap_index_set(struct fl_mem *mem, struct fl_caller *who, fl_swp slot, uint32_t entry)
{
	struct fl_swap *swap = mem->swap;
	uint32_t n = slot / LEAF_SLOTS, before = swap->entry[slot];

	swap->entry[slot] = entry;
	if (!swap->leaf)
		return;
	FL_ASSERT(!entry || swap->leaf[n] != FL_OBJECT_NONE);
	swap->leaf_used[n] = (uint8_t)(swap->leaf_used[n] + (entry != 0) - (before != 0));
	if (before && !entry && !swap->leaf_used[n])
		leaf_free(mem, who, n);
}

void fl_swap_index_check(struct fl_mem *mem)
{
	const struct fl_swap *swap = mem->swap;

	for (uint32_t n = 0; swap->leaf && n < leaves_of(swap); n++) {
		uint32_t used = 0;

		for (uint32_t i = n * LEAF_SLOTS; i < (n + 1) * LEAF_SLOTS && i < swap->pages; i++)
			used += swap->entry[i] != 0;
		FL_ASSERT_MSG(used == swap->leaf_used[n], "words of a leaf of the swap index are counted");
		FL_ASSERT_MSG((used > 0) == (swap->leaf[n] != FL_OBJECT_NONE),
			      "a leaf of the swap index is there while it is used");
	}
}
