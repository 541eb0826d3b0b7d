/*
 * mm/swap_index.c - kernel memory that the swap cache itself takes. Follows add_to_swap_cache() and
 * clear_shadow_from_swap_cache() of mm/swap_state.c.
 *
 * Pages and shadows of evicted pages are kept in an index by slot. 6.12 has an xarray, whose leaves of 64 slots are
 * radix_tree_node objects (Reclaimable slab; levels above the leaves are one in 64 of these and left out). Newer kernels
 * have a table of one word a slot for each cluster in use: 512 words, a page. The words themselves are fl_swap.entry.
 */
#include "base/text.h"
#include "mm/page_alloc.h"
#include "mm/slab.h"
#include "mm/swap_internal.h"

#define XARRAY_LEAF_SLOTS 64u /* XA_CHUNK_SIZE */
#define NONE UINT32_MAX       /* neither a pfn nor an object */

static bool is_xarray(const struct fl_mem *mem)
{
	return mem->decide.swap_cache_is_xarray(&(struct fl_no_facts){ 0 });
}

static uint32_t nodes_of(const struct fl_swap *swap)
{
	return (swap->pages + swap->node_slots - 1) / swap->node_slots;
}

void fl_swap_index_init(struct fl_mem *mem)
{
	struct fl_swap *swap = mem->swap;
	uint32_t count;

	swap->node_slots = is_xarray(mem) ? XARRAY_LEAF_SLOTS : FL_SWAP_CLUSTER_PAGES;
	count = nodes_of(swap);
	swap->node = fl_xmalloc(count * sizeof(*swap->node));
	swap->node_used = fl_xcalloc(count, sizeof(*swap->node_used));
	for (uint32_t n = 0; n < count; n++)
		swap->node[n] = NONE;
}

void fl_swap_index_fini(struct fl_mem *mem)
{
	fl_xfree(mem->swap->node);
	fl_xfree(mem->swap->node_used);
}

/* add_to_swap(): a reclaimer may use half of the min reserve for this, and nothing below it. */
static uint32_t node_alloc(struct fl_mem *mem, struct fl_caller *who)
{
	fl_gfp gfp = FL_GFP_HIGH | FL_GFP_NOMEMALLOC | FL_GFP_NOWARN;
	fl_pfn pfn;

	if (is_xarray(mem))
		return fl_slab_alloc(mem, who, FL_SLAB_radix_tree_node, gfp);
	pfn = fl_page_alloc(mem, who, gfp | FL_GFP_ZERO, 0, FL_KIND_KERNEL);
	if (pfn != FL_PFN_NONE)
		mem->frames.record[pfn].owner = mem->frames.record[pfn].index = 0;
	return pfn == FL_PFN_NONE ? NONE : pfn;
}

static void node_free(struct fl_mem *mem, struct fl_caller *who, uint32_t n)
{
	uint32_t node = mem->swap->node[n];

	mem->swap->node[n] = NONE;
	if (is_xarray(mem))
		fl_slab_free(mem, who, node);
	else
		fl_page_free(mem, who, node, 0);
}

bool fl_swap_index_make(struct fl_mem *mem, struct fl_caller *who, fl_swp slot, uint32_t count)
{
	struct fl_swap *swap = mem->swap;
	uint32_t first = slot / swap->node_slots, last = (slot + count - 1) / swap->node_slots;

	for (uint32_t n = first; n <= last; n++) {
		if (swap->node[n] != NONE)
			continue;
		swap->node[n] = node_alloc(mem, who);
		if (swap->node[n] != NONE)
			continue;
		while (n-- > first)
			if (!swap->node_used[n])
				node_free(mem, who, n);
		return false;
	}
	return true;
}

void fl_swap_index_set(struct fl_mem *mem, struct fl_caller *who, fl_swp slot, uint32_t entry)
{
	struct fl_swap *swap = mem->swap;
	uint32_t n = slot / swap->node_slots, before = swap->entry[slot];

	FL_ASSERT(!entry || swap->node[n] != NONE);
	swap->entry[slot] = entry;
	swap->node_used[n] = (uint16_t)(swap->node_used[n] + (entry != 0) - (before != 0));
	if (before && !entry && !swap->node_used[n])
		node_free(mem, who, n);
}

void fl_swap_index_check(struct fl_mem *mem)
{
	const struct fl_swap *swap = mem->swap;

	for (uint32_t n = 0; swap->pages && n < nodes_of(swap); n++) {
		uint32_t used = 0;

		for (uint32_t i = 0; i < swap->node_slots && n * swap->node_slots + i < swap->pages; i++)
			used += swap->entry[n * swap->node_slots + i] != 0;
		FL_ASSERT_MSG(used == swap->node_used[n], "words of a piece of the swap index are counted");
		FL_ASSERT_MSG((used > 0) == (swap->node[n] != NONE), "a piece of the swap index is there while it is used");
	}
}
