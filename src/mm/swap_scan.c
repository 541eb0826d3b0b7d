/*
 * mm/swap_scan.c - slots of a rotating disk as 6.12 finds them: scan_swap_map_slots() without cluster_info, in mm/swapfile.c,
 * behind the per-CPU caches of mm/swap_slots.c. The virtio disk of a guest counts as rotating (BLK_FEAT_ROTATIONAL).
 *
 * The whole area is filled in one direction, from an empty run of SWAPFILE_CLUSTER slots if there is one, else from where the
 * last search ended; large folios get nothing and are split. Each CPU takes 64 slots at a time. What a CPU gives back is
 * free at once here; the kernel gathers 64 of those, too.
 */
#include "base/hash.h"
#include "base/text.h"
#include "mm/swap_internal.h"

#define BATCH 64u /* SWAP_BATCH */
#define ACTIVATE (5 * BATCH) /* free slots for each CPU: THRESHOLD_ACTIVATE_SWAP_SLOTS_CACHE */
#define DEACTIVATE (2 * BATCH)
#define LOOK_AHEAD 256u /* LATENCY_LIMIT */

struct slots_cache {
	fl_swp slot[BATCH];
	uint32_t cursor, count;
};

struct fl_swap_scan {
	fl_swp next;        /* cluster_next */
	uint32_t left;      /* cluster_nr */
	uint8_t *reserved;  /* slots that lie in a CPU's cache */
	bool is_active;
	unsigned int cpus;
	struct slots_cache *cpu;
};

void fl_swap_set_rotational(struct fl_mem *mem)
{
	struct fl_swap *swap = mem->swap;
	struct fl_swap_scan *scan;

	if (!swap->pages || !mem->decide.swap_scans_rotating(&(struct fl_no_facts){ 0 }))
		return;
	scan = fl_xcalloc(1, sizeof(*scan));
	scan->reserved = fl_xcalloc(swap->pages, sizeof(*scan->reserved));
	scan->cpus = mem->cpus;
	scan->cpu = fl_xcalloc(mem->cpus, sizeof(*scan->cpu));
	swap->scan = scan;
}

void fl_swap_scan_fini(struct fl_swap *swap)
{
	if (!swap->scan)
		return;
	fl_xfree(swap->scan->reserved);
	fl_xfree(swap->scan->cpu);
	fl_xfree(swap->scan);
}

bool fl_swap_is_reserved(const struct fl_swap *swap, fl_swp slot)
{
	return swap->scan && swap->scan->reserved[slot];
}

static void set_reserved(struct fl_swap *swap, fl_swp slot, bool on)
{
	struct fl_swap_cluster *cluster = &swap->cluster[slot / FL_SWAP_CLUSTER_PAGES];

	swap->scan->reserved[slot] = on;
	swap->free = on ? swap->free - 1 : swap->free + 1;
	cluster->used = (uint16_t)(on ? cluster->used + 1 : cluster->used - 1);
}

/* First run of so many free slots, or FL_SWP_NONE. Looks at each window from its end: what is in use there is jumped over. */
static fl_swp empty_run(const struct fl_swap *swap, uint32_t pages)
{
	fl_swp start = 0;

	while (start + pages <= swap->pages) {
		fl_swp at = start + pages;

		while (at > start && !fl_swap_slot_is_used(swap, at - 1))
			at--;
		if (at == start)
			return start;
		start = at;
	}
	return FL_SWP_NONE;
}

/* Where to begin: behind the last slot, or, after a cluster's worth of them, at an empty run. */
static fl_swp begin(struct fl_mem *mem, struct fl_caller *who)
{
	struct fl_swap *swap = mem->swap;
	struct fl_swap_scan *scan = swap->scan;
	fl_swp run;

	if (scan->left) {
		scan->left--;
		return scan->next;
	}
	scan->left = FL_SWAP_CLUSTER_PAGES - 1;
	if (swap->free < FL_SWAP_CLUSTER_PAGES)
		return scan->next;
	fl_charge(who->task, mem->cost->swap_cluster);
	run = empty_run(swap, FL_SWAP_CLUSTER_PAGES);
	return run == FL_SWP_NONE ? scan->next : run;
}

/* With swap more than half full a slot that only the cache uses is taken from it: __try_to_reclaim_swap(). */
static bool is_available(struct fl_mem *mem, struct fl_caller *who, fl_swp slot)
{
	struct fl_swap *swap = mem->swap;

	if (!fl_swap_slot_is_used(swap, slot))
		return true;
	if (swap->count[slot] || !fl_swap_entry_is_page(swap->entry[slot]) || !fl_swap_is_full(mem))
		return false;
	fl_folio_free_swap(mem, who, fl_frame_head(&mem->frames, fl_swap_entry_page(swap->entry[slot])));
	return !fl_swap_slot_is_used(swap, slot);
}

/* The first slot that can be had at or behind `from`, round the whole area. */
static fl_swp first_available(struct fl_mem *mem, struct fl_caller *who, fl_swp from)
{
	uint32_t pages = mem->swap->pages;

	for (uint32_t i = 0; i < pages; i++) {
		fl_swp slot = from + i < pages ? from + i : from + i - pages;

		if (is_available(mem, who, slot))
			return slot;
	}
	return FL_SWP_NONE;
}

/* The next free slot for the same batch, which looks at few and does not wrap; FL_SWP_NONE ends the batch. */
static fl_swp next_of_batch(const struct fl_swap *swap, fl_swp slot)
{
	uint32_t looks = LOOK_AHEAD;

	if (swap->scan->left && slot + 1 < swap->pages && !fl_swap_slot_is_used(swap, slot + 1)) {
		swap->scan->left--;
		return slot + 1;
	}
	for (slot++; slot < swap->pages && looks; slot++, looks--)
		if (!fl_swap_slot_is_used(swap, slot))
			return slot;
	return FL_SWP_NONE;
}

/* Reserves up to `goal` slots; how many. */
static uint32_t scan_slots(struct fl_mem *mem, struct fl_caller *who, uint32_t goal, fl_swp *slots)
{
	struct fl_swap *swap = mem->swap;
	fl_swp slot = begin(mem, who), last = FL_SWP_NONE;
	uint32_t count = 0;

	slot = first_available(mem, who, slot < swap->pages ? slot : 0);
	while (slot != FL_SWP_NONE && count < goal) {
		set_reserved(swap, slot, true);
		slots[count++] = last = slot;
		if (count < goal)
			slot = next_of_batch(swap, slot);
	}
	if (last != FL_SWP_NONE)
		swap->scan->next = last + 1;
	return count;
}

static void drain(struct fl_swap *swap)
{
	for (unsigned int i = 0; i < swap->scan->cpus; i++) {
		struct slots_cache *cache = &swap->scan->cpu[i];

		for (; cache->count; cache->count--)
			set_reserved(swap, cache->slot[cache->cursor++], false);
	}
}

/* check_cache_active(): low on slots, each is worth more than the lock that a cache spares. */
static bool is_cache_active(struct fl_swap *swap)
{
	struct fl_swap_scan *scan = swap->scan;

	if (!scan->is_active && swap->free > scan->cpus * ACTIVATE) {
		scan->is_active = true;
	} else if (scan->is_active && swap->free < scan->cpus * DEACTIVATE) {
		scan->is_active = false;
		drain(swap);
	}
	return scan->is_active;
}

fl_swp fl_swap_scan_slot(struct fl_mem *mem, struct fl_caller *who)
{
	struct fl_swap *swap = mem->swap;
	fl_swp slot = FL_SWP_NONE;

	if (is_cache_active(swap)) {
		struct slots_cache *cache = &swap->scan->cpu[fl_caller_cpu(who) % swap->scan->cpus];

		if (!cache->count) {
			cache->cursor = 0;
			cache->count = scan_slots(mem, who, BATCH, cache->slot);
		}
		if (cache->count) {
			cache->count--;
			slot = cache->slot[cache->cursor++];
		}
	}
	if (slot == FL_SWP_NONE)
		scan_slots(mem, who, 1, &slot);
	if (slot != FL_SWP_NONE)
		set_reserved(swap, slot, false);
	return slot;
}

uint64_t fl_swap_scan_hash(const struct fl_swap *swap, uint64_t hash)
{
	if (!swap->scan)
		return hash;
	hash = fl_hash_u64(hash, (uint64_t)swap->scan->next << 32 | swap->scan->left);
	for (fl_swp slot = 0; slot < swap->pages; slot++)
		if (swap->scan->reserved[slot])
			hash = fl_hash_u64(hash, slot);
	return hash;
}
