/*
 * mm/swapfile.c - the slots of the swap area and the swap cache. Mirrors mm/swapfile.c and the index part of swap_state.c.
 *
 * Slots are found in clusters of SWAPFILE_CLUSTER pages. A cluster serves one order while it is in use; each CPU fills one
 * cluster an order front to back, then takes a partly filled one of that order, then a free one; order 0 at last takes from any.
 * The cache is a hash from folio head to slot, and a word a slot that names its page. I/O is in swap_io.c.
 */
#include "mm/swapfile.h"

#include "base/hash.h"
#include "base/text.h"
#include "mm/swap_internal.h"
#include "mm/workingset.h"

/* ---- Lists of clusters ---- */

static void list_init(struct fl_swap *swap, uint32_t head)
{
	swap->cluster[head].next = swap->cluster[head].prev = head;
}

static void list_del(struct fl_swap *swap, uint32_t c)
{
	struct fl_swap_cluster *k = swap->cluster;

	k[k[c].prev].next = k[c].next;
	k[k[c].next].prev = k[c].prev;
	k[c].next = k[c].prev = c;
}

static void list_add_tail(struct fl_swap *swap, uint32_t head, uint32_t c)
{
	struct fl_swap_cluster *k = swap->cluster;

	k[c].next = head;
	k[c].prev = k[head].prev;
	k[k[head].prev].next = c;
	k[head].prev = c;
}

static bool list_is_empty(const struct fl_swap *swap, uint32_t head)
{
	return swap->cluster[head].next == head;
}

static uint32_t free_head(const struct fl_swap *swap)
{
	return swap->clusters;
}

static uint32_t nonfull_head(const struct fl_swap *swap, unsigned int order)
{
	return swap->clusters + 1 + order;
}

/* Usable slots of a cluster: the last one may be short. */
static uint32_t cluster_slots(const struct fl_swap *swap, uint32_t c)
{
	uint32_t rest = swap->pages - c * FL_SWAP_CLUSTER_PAGES;

	return rest < FL_SWAP_CLUSTER_PAGES ? rest : FL_SWAP_CLUSTER_PAGES;
}

/* Puts a cluster on the list where its use belongs. */
static void cluster_file(struct fl_swap *swap, uint32_t c)
{
	struct fl_swap_cluster *k = &swap->cluster[c];

	list_del(swap, c);
	if (k->used == 0) {
		k->order = 0;
		list_add_tail(swap, free_head(swap), c);
	} else if (k->used < cluster_slots(swap, c)) {
		list_add_tail(swap, nonfull_head(swap, k->order), c);
	}
}

void fl_swap_init(struct fl_mem *mem)
{
	mem->swap = fl_xcalloc(1, sizeof(*mem->swap));
}

void fl_swap_fini(struct fl_mem *mem)
{
	struct fl_swap *swap = mem->swap;

	fl_xfree(swap->count);
	fl_xfree(swap->entry);
	fl_xfree(swap->cluster);
	fl_xfree(swap->current);
	fl_swap_index_fini(mem);
	fl_swap_scan_fini(swap);
	fl_xfree(swap->hash);
	fl_xfree(swap);
	mem->swap = NULL;
}

void fl_swapon(struct fl_mem *mem, struct fl_device *device, uint32_t pages, bool synchronous)
{
	struct fl_swap *swap = mem->swap;
	unsigned int heads = 1 + FL_MAX_ORDERS;

	FL_ASSERT_MSG(swap->pages == 0, "swap is switched on once");
	FL_ASSERT(pages > 0 && pages < FL_SWP_ENTRY_SWAP_MAX);
	swap->device = device;
	swap->synchronous = synchronous;
	swap->pages = swap->free = pages;
	swap->count = fl_xcalloc(pages, sizeof(*swap->count));
	swap->entry = fl_xcalloc(pages, sizeof(*swap->entry));
	fl_swap_index_init(mem);
	swap->clusters = (pages + FL_SWAP_CLUSTER_PAGES - 1) / FL_SWAP_CLUSTER_PAGES;
	swap->cluster = fl_xcalloc(swap->clusters + heads, sizeof(*swap->cluster));
	swap->current = fl_xcalloc((size_t)mem->cpus * FL_MAX_ORDERS, sizeof(*swap->current));
	for (unsigned int i = 0; i < mem->cpus * FL_MAX_ORDERS; i++)
		swap->current[i] = FL_SWP_NONE;
	for (uint32_t c = 0; c < swap->clusters + heads; c++)
		list_init(swap, c);
	for (uint32_t c = 0; c < swap->clusters; c++)
		cluster_file(swap, c);
}

uint32_t fl_swap_total(const struct fl_mem *mem)
{
	return mem->swap->pages;
}

uint32_t fl_swap_free_slots(const struct fl_mem *mem)
{
	return mem->swap->free;
}

bool fl_swap_is_full(const struct fl_mem *mem)
{
	return (uint64_t)mem->swap->free * 2 < mem->swap->pages;
}

uint32_t fl_swap_cached(const struct fl_mem *mem)
{
	return mem->swap->cached_pages;
}

/* ---- Hash from folio head to first slot: linear probing, deletion by shifting back ---- */

static uint32_t hash_home(const struct fl_swap *swap, fl_pfn head)
{
	return (uint32_t)fl_hash_mix(head) & swap->hash_mask;
}

static void hash_put(struct fl_swap *swap, fl_pfn head, fl_swp slot)
{
	uint32_t at = hash_home(swap, head);

	while (swap->hash[at].key)
		at = (at + 1) & swap->hash_mask;
	swap->hash[at] = (struct fl_swap_cached){ head + 1, slot };
}

static void hash_grow(struct fl_swap *swap)
{
	struct fl_swap_cached *old = swap->hash;
	uint32_t size = old ? swap->hash_mask + 1 : 0, wanted = size ? 2 * size : 1024;

	swap->hash = fl_xcalloc(wanted, sizeof(*swap->hash));
	swap->hash_mask = wanted - 1;
	for (uint32_t i = 0; i < size; i++)
		if (old[i].key)
			hash_put(swap, old[i].key - 1, old[i].slot);
	fl_xfree(old);
}

static void hash_insert(struct fl_swap *swap, fl_pfn head, fl_swp slot)
{
	if (!swap->hash || 2 * (swap->cached_folios + 1) > swap->hash_mask)
		hash_grow(swap);
	swap->cached_folios++;
	hash_put(swap, head, slot);
}

static uint32_t hash_find(const struct fl_swap *swap, fl_pfn head)
{
	uint32_t at = hash_home(swap, head);

	while (swap->hash[at].key != head + 1) {
		FL_ASSERT_MSG(swap->hash[at].key, "a folio with FL_SWAPCACHED has a slot");
		at = (at + 1) & swap->hash_mask;
	}
	return at;
}

static void hash_remove(struct fl_swap *swap, fl_pfn head)
{
	uint32_t hole = hash_find(swap, head);

	swap->cached_folios--;
	for (uint32_t at = (hole + 1) & swap->hash_mask; swap->hash[at].key; at = (at + 1) & swap->hash_mask) {
		uint32_t home = hash_home(swap, swap->hash[at].key - 1);

		/* May this one move into the hole? Only if its home is not between the hole and itself. */
		if (((at - home) & swap->hash_mask) < ((at - hole) & swap->hash_mask))
			continue;
		swap->hash[hole] = swap->hash[at];
		hole = at;
	}
	swap->hash[hole].key = 0;
}

void fl_swap_fetch(const struct fl_mem *mem, fl_pfn folio)
{
	const struct fl_swap *swap = mem->swap;

	if (swap->hash)
		__builtin_prefetch(&swap->hash[hash_home(swap, folio)], 1);
}

fl_swp fl_folio_swap_slot(const struct fl_mem *mem, fl_pfn folio)
{
	return mem->swap->hash[hash_find(mem->swap, folio)].slot;
}

/* ---- Slots ---- */

static void slot_take(struct fl_swap *swap, fl_swp slot)
{
	swap->free--;
	swap->cluster[slot / FL_SWAP_CLUSTER_PAGES].used++;
}

/* The slot has just lost its last use. What it remembered of the evicted page is forgotten. */
static void slot_release(struct fl_mem *mem, struct fl_caller *who, fl_swp slot)
{
	struct fl_swap *swap = mem->swap;
	uint32_t c = slot / FL_SWAP_CLUSTER_PAGES;

	fl_swap_index_set(mem, who, slot, 0);
	swap->free++;
	swap->cluster[c].used--;
	if (!swap->cluster[c].is_current)
		cluster_file(swap, c);
}

/* First aligned run of free slots in the cluster at or behind `from`, or FL_SWP_NONE. */
static fl_swp cluster_scan(const struct fl_swap *swap, uint32_t c, uint32_t from, unsigned int order)
{
	uint32_t run = 1u << order, end = c * FL_SWAP_CLUSTER_PAGES + cluster_slots(swap, c);

	for (fl_swp at = (from + run - 1) & ~(run - 1); at + run <= end; at += run) {
		uint32_t i = 0;

		while (i < run && !fl_swap_slot_is_used(swap, at + i))
			i++;
		if (i == run)
			return at;
	}
	return FL_SWP_NONE;
}

/* Makes `c` the cluster that this CPU fills for the order; the old one goes back to the lists. */
static void set_current(struct fl_swap *swap, uint32_t *current, uint32_t c, unsigned int order)
{
	uint32_t old = *current == FL_SWP_NONE ? FL_SWP_NONE : *current / FL_SWAP_CLUSTER_PAGES;

	if (old != FL_SWP_NONE) {
		swap->cluster[old].is_current = false;
		cluster_file(swap, old);
	}
	*current = FL_SWP_NONE;
	if (c == FL_SWP_NONE)
		return;
	list_del(swap, c);
	swap->cluster[c].is_current = true;
	if (swap->cluster[c].used == 0)
		swap->cluster[c].order = (uint8_t)order;
	*current = c * FL_SWAP_CLUSTER_PAGES;
}

/* A cluster of the list that has a run of this order, or FL_SWP_NONE. Looks at no more than a few: a fragmented list
 * does not hold up reclaim (SWAP_BATCH bounds the kernel's search likewise). */
static uint32_t pick(struct fl_swap *swap, uint32_t head, unsigned int order)
{
	unsigned int tries = 16;

	for (uint32_t c = swap->cluster[head].next; c != head && tries; c = swap->cluster[c].next, tries--)
		if (cluster_scan(swap, c, c * FL_SWAP_CLUSTER_PAGES, order) != FL_SWP_NONE)
			return c;
	return FL_SWP_NONE;
}

/* Where the next run of this order could come from when the current cluster has none. */
static uint32_t next_cluster(struct fl_swap *swap, unsigned int order)
{
	uint32_t c = pick(swap, nonfull_head(swap, order), order);

	if (c == FL_SWP_NONE && !list_is_empty(swap, free_head(swap)))
		c = pick(swap, free_head(swap), order);
	for (unsigned int o = 1; c == FL_SWP_NONE && order == 0 && o < FL_MAX_ORDERS; o++)
		c = pick(swap, nonfull_head(swap, o), 0);
	return c;
}

/* The last resort of order 0: clusters that other CPUs fill. */
static fl_swp steal_slot(const struct fl_swap *swap, unsigned int cpus)
{
	for (unsigned int i = 0; i < cpus * FL_MAX_ORDERS; i++) {
		uint32_t c = swap->current[i] / FL_SWAP_CLUSTER_PAGES;
		fl_swp slot;

		if (swap->current[i] == FL_SWP_NONE)
			continue;
		slot = cluster_scan(swap, c, c * FL_SWAP_CLUSTER_PAGES, 0);
		if (slot != FL_SWP_NONE)
			return slot;
	}
	return FL_SWP_NONE;
}

static fl_swp find_slots(struct fl_mem *mem, struct fl_caller *who, unsigned int order)
{
	struct fl_swap *swap = mem->swap;
	uint32_t *current = &swap->current[fl_caller_cpu(who) % mem->cpus * FL_MAX_ORDERS + order];
	fl_swp slot = FL_SWP_NONE;

	if ((swap->free < 1u << order && !swap->scan) || 1u << order > FL_SWAP_CLUSTER_PAGES)
		return FL_SWP_NONE;
	if (swap->scan)
		return order ? FL_SWP_NONE : fl_swap_scan_slot(mem, who);
	if (*current != FL_SWP_NONE)
		slot = cluster_scan(swap, *current / FL_SWAP_CLUSTER_PAGES, *current, order);
	if (slot == FL_SWP_NONE) {
		fl_charge(who->task, mem->cost->swap_cluster);
		set_current(swap, current, FL_SWP_NONE, order);
		set_current(swap, current, next_cluster(swap, order), order);
		if (*current == FL_SWP_NONE)
			return order ? FL_SWP_NONE : steal_slot(swap, mem->cpus);
		slot = cluster_scan(swap, *current / FL_SWAP_CLUSTER_PAGES, *current, order);
	}
	/* The next search starts behind; the position stays in this cluster. */
	if ((slot + (1u << order)) / FL_SWAP_CLUSTER_PAGES == slot / FL_SWAP_CLUSTER_PAGES &&
	    slot + (1u << order) < swap->pages)
		*current = slot + (1u << order);
	else
		*current = slot;
	return slot;
}

void fl_swap_dup(struct fl_mem *mem, fl_swp slot)
{
	struct fl_swap *swap = mem->swap;

	FL_ASSERT(slot < swap->pages && swap->count[slot] < UINT8_MAX);
	FL_ASSERT_MSG(fl_swap_slot_is_used(swap, slot), "a PTE names a slot in use");
	swap->count[slot]++;
}

unsigned int fl_swap_count(const struct fl_mem *mem, fl_swp slot)
{
	FL_ASSERT(slot < mem->swap->pages);
	return mem->swap->count[slot];
}

void fl_swap_put(struct fl_mem *mem, struct fl_caller *who, fl_swp slot)
{
	struct fl_swap *swap = mem->swap;
	fl_pfn page;

	FL_ASSERT(slot < swap->pages && swap->count[slot] > 0);
	fl_charge(who->task, mem->cost->swap_slot);
	if (--swap->count[slot])
		return;
	page = fl_swap_cache_lookup(mem, slot);
	if (page == FL_PFN_NONE) {
		slot_release(mem, who, slot);
		return;
	}
	page = fl_frame_head(&mem->frames, page);
	if (mem->frames.record[page].mapcount == 0)
		fl_folio_free_swap(mem, who, page);
}

/* ---- The swap cache ---- */

fl_pfn fl_swap_cache_lookup(const struct fl_mem *mem, fl_swp slot)
{
	FL_ASSERT(slot < mem->swap->pages);
	return fl_swap_entry_is_page(mem->swap->entry[slot]) ? fl_swap_entry_page(mem->swap->entry[slot]) :
							       FL_PFN_NONE;
}

fl_shadow fl_swap_shadow(const struct fl_mem *mem, fl_swp slot)
{
	uint32_t entry = mem->swap->entry[slot];

	return entry & FL_SWP_ENTRY_SHADOW ? entry & ((1u << FL_SHADOW_BITS) - 1) : FL_SHADOW_NONE;
}

bool fl_swap_cache_add(struct fl_mem *mem, struct fl_caller *who, fl_pfn folio, fl_swp slot)
{
	struct fl_swap *swap = mem->swap;
	uint32_t pages = fl_folio_pages(mem, folio);

	if (!fl_swap_index_make(mem, who, slot, pages))
		return false;
	for (uint32_t i = 0; i < pages; i++) {
		FL_ASSERT(!fl_swap_entry_is_page(swap->entry[slot + i]));
		if (!swap->count[slot + i])
			slot_take(swap, slot + i);
		fl_swap_index_set(mem, who, slot + i, folio + i + 1);
	}
	swap->cached_pages += pages;
	hash_insert(swap, folio, slot);
	mem->frames.state[folio] |= FL_SWAPCACHED | FL_SWAPBACKED;
	return true;
}

/* Out of the cache; slots without a PTE become free, the others remember `shadow`. The cache's reference is the caller's. */
static void cache_remove(struct fl_mem *mem, struct fl_caller *who, fl_pfn folio, fl_shadow shadow)
{
	struct fl_swap *swap = mem->swap;
	fl_swp slot = fl_folio_swap_slot(mem, folio);
	uint32_t pages = fl_folio_pages(mem, folio);

	FL_ASSERT_MSG(!(mem->frames.state[folio] & FL_WRITEBACK), "a folio under writeback stays in the swap cache");
	hash_remove(swap, folio);
	swap->cached_pages -= pages;
	mem->frames.state[folio] &= ~FL_SWAPCACHED;
	for (uint32_t i = 0; i < pages; i++) {
		fl_swap_index_set(mem, who, slot + i, shadow == FL_SHADOW_NONE ? 0 : FL_SWP_ENTRY_SHADOW | shadow);
		if (!swap->count[slot + i])
			slot_release(mem, who, slot + i);
	}
}

void fl_swap_cache_evict(struct fl_mem *mem, struct fl_caller *who, fl_pfn folio)
{
	fl_shadow shadow = fl_workingset_eviction(mem, folio);

	fl_charge(who->task, mem->cost->page_cache_add);
	cache_remove(mem, who, folio, shadow);
	fl_folio_put(mem, who, folio);
}

bool fl_folio_alloc_swap(struct fl_mem *mem, struct fl_caller *who, fl_pfn folio)
{
	unsigned int order = fl_folio_order(mem, folio);
	fl_swp slot;

	fl_charge(who->task, mem->cost->swap_slot);
	slot = find_slots(mem, who, order);
	if (slot == FL_SWP_NONE)
		return false;
	fl_charge(who->task, mem->cost->page_cache_add);
	if (!fl_swap_cache_add(mem, who, folio, slot))
		return false;
	fl_folio_get(mem, folio);
	/* The contents exist nowhere else. */
	mem->frames.state[folio] |= FL_DIRTY;
	return true;
}

bool fl_folio_free_swap(struct fl_mem *mem, struct fl_caller *who, fl_pfn folio)
{
	uint32_t state = mem->frames.state[folio];
	fl_swp slot;

	if (!(state & FL_SWAPCACHED) || (state & (FL_WRITEBACK | FL_LOCKED)))
		return false;
	slot = fl_folio_swap_slot(mem, folio);
	for (uint32_t i = 0; i < fl_folio_pages(mem, folio); i++)
		if (mem->swap->count[slot + i])
			return false;
	fl_charge(who->task, mem->cost->swap_slot);
	cache_remove(mem, who, folio, FL_SHADOW_NONE);
	mem->frames.state[folio] |= FL_DIRTY;
	fl_folio_put(mem, who, folio);
	return true;
}

void fl_swap_cache_migrate(struct fl_mem *mem, fl_pfn from, fl_pfn to)
{
	struct fl_swap *swap = mem->swap;
	fl_swp slot = fl_folio_swap_slot(mem, from);

	hash_remove(swap, from);
	hash_insert(swap, to, slot);
	for (uint32_t i = 0; i < fl_folio_pages(mem, from); i++)
		swap->entry[slot + i] = to + i + 1;
}

void fl_swap_cache_split(struct fl_mem *mem, fl_pfn head, unsigned int old_order, unsigned int new_order)
{
	struct fl_swap *swap = mem->swap;
	fl_swp slot = fl_folio_swap_slot(mem, head);

	hash_remove(swap, head);
	for (uint32_t i = 0; i < 1u << old_order; i += 1u << new_order)
		hash_insert(swap, head + i, slot + i);
}

bool fl_should_free_swap(const struct fl_mem *mem, fl_pfn folio, bool write, bool mlocked)
{
	uint32_t state = mem->frames.state[folio];

	if (!(state & FL_SWAPCACHED))
		return false;
	return fl_swap_is_full(mem) || mlocked || write;
}

/* ---- Hash and invariants ---- */

uint64_t fl_swap_hash(const struct fl_mem *mem, uint64_t hash)
{
	const struct fl_swap *swap = mem->swap;

	hash = fl_hash_u64(hash, (uint64_t)swap->pages << 32 | swap->free);
	for (fl_swp slot = 0; slot < swap->pages; slot++)
		if (swap->entry[slot] || swap->count[slot])
			hash = fl_hash_u64(hash, (uint64_t)slot << 40 ^ (uint64_t)swap->entry[slot] << 8 ^
							 swap->count[slot]);
	hash = fl_swap_scan_hash(swap, hash);
	return fl_hash_u64(hash, (uint64_t)swap->ra_hits << 32 | swap->ra_last_pages);
}

void fl_swap_check(struct fl_mem *mem)
{
	const struct fl_swap *swap = mem->swap;
	uint32_t used = 0, cached = 0;

	for (fl_swp slot = 0; slot < swap->pages; slot++) {
		fl_pfn page = fl_swap_cache_lookup(mem, slot);

		used += fl_swap_slot_is_used(swap, slot);
		if (page == FL_PFN_NONE)
			continue;
		cached++;
		page = fl_frame_head(&mem->frames, page);
		FL_ASSERT_MSG(mem->frames.state[page] & FL_SWAPCACHED, "a cached page knows that it is cached");
		FL_ASSERT(fl_folio_swap_slot(mem, page) + (fl_swap_cache_lookup(mem, slot) - page) == slot);
	}
	fl_swap_index_check(mem);
	FL_ASSERT_MSG(used + swap->free == swap->pages, "free slots are counted");
	FL_ASSERT_MSG(cached == swap->cached_pages, "pages of the swap cache are counted");
	for (uint32_t c = 0; c < swap->clusters; c++) {
		uint32_t in_use = 0;

		for (uint32_t i = 0; i < cluster_slots(swap, c); i++)
			in_use += fl_swap_slot_is_used(swap, c * FL_SWAP_CLUSTER_PAGES + i);
		FL_ASSERT_MSG(in_use == swap->cluster[c].used, "slots of a cluster are counted");
	}
}
