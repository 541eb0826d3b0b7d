/*
 * mm/swap_internal.h - state of swap, shared by swapfile.c (slots and cache) and swap_io.c (reads and writes), and what
 * reclaim needs of it.
 */
#ifndef FL_MM_SWAP_INTERNAL_H
#define FL_MM_SWAP_INTERNAL_H

#include "mm/swap.h"
#include "mm/swapfile.h"
#include "mm/workingset.h"

#define FL_SWAP_CLUSTER_PAGES 512u /* SWAPFILE_CLUSTER with THP_SWAP on x86-64 */

/* A slot's word: 0, a page as pfn + 1, or the shadow of the page that was evicted to it. */
#define FL_SWP_ENTRY_SHADOW 0x80000000u
#define FL_SWP_ENTRY_SWAP_MAX 0x40000000u /* slots fit into a page table entry */

struct fl_swap_cluster {
	uint32_t next, prev; /* list; itself when on none */
	uint16_t used;
	uint8_t order;
	bool is_current; /* some CPU fills it */
};

/* A folio of the swap cache in the hash: its head + 1 (0: no entry) and its slot, side by side: one miss. */
struct fl_swap_cached {
	uint32_t key;
	fl_swp slot;
};

struct fl_swap {
	struct fl_device *device;
	bool synchronous;
	uint32_t pages, free;
	uint8_t *count;  /* page table entries that name the slot */
	uint32_t *entry; /* swap cache and shadows */
	struct fl_swap_cluster *cluster; /* then list heads: free, nonfull by order */
	uint32_t clusters;
	uint32_t *current; /* [cpu * FL_MAX_ORDERS + order]: next slot to look at, or FL_SWP_NONE */
	/* Memory of the index over `entry`: a leaf for each 64 of them while one is not 0 (swap_index.c); or NULL. */
	uint32_t *leaf;
	uint8_t *leaf_used;
	struct fl_swap_cached *hash;
	uint32_t hash_mask, cached_folios, cached_pages;
	/* readahead: swapin_readahead_hits, last window and offset */
	uint32_t ra_hits, ra_last_pages;
	fl_swp ra_last_slot;
	struct fl_swap_scan *scan; /* how 6.12 finds slots on a rotating disk (swap_scan.c); else NULL */
	struct fl_waitqueue queue_wait; /* for a place in the queue of the device */
};

static inline bool fl_swap_entry_is_page(uint32_t entry)
{
	return entry && !(entry & FL_SWP_ENTRY_SHADOW);
}

static inline fl_pfn fl_swap_entry_page(uint32_t entry)
{
	return entry - 1;
}

fl_shadow fl_swap_shadow(const struct fl_mem *mem, fl_swp slot);
/* Puts a folio into the cache at these slots; the caller has taken the cache's reference. False: no memory for the index. */
bool fl_swap_cache_add(struct fl_mem *mem, struct fl_caller *who, fl_pfn folio, fl_swp slot);
/* Reclaim: the folio leaves the cache with a shadow in its slots, and the cache's reference is dropped. */
void fl_swap_cache_evict(struct fl_mem *mem, struct fl_caller *who, fl_pfn folio);

/* ---- swap_index.c ---- */

void fl_swap_index_init(struct fl_mem *mem);
void fl_swap_index_fini(struct fl_mem *mem);
/* Sees to it that the leaves for these slots are there; false without memory. Never switches. */
bool fl_swap_index_make(struct fl_mem *mem, struct fl_caller *who, fl_swp slot, uint32_t count);
/* Sets the word of a slot; a leaf whose last word becomes 0 is freed. */
void fl_swap_index_set(struct fl_mem *mem, struct fl_caller *who, fl_swp slot, uint32_t entry);
void fl_swap_index_check(struct fl_mem *mem);

/* ---- Slots of a rotating disk: swap_scan.c ---- */

void fl_swap_scan_fini(struct fl_swap *swap);
/* A free slot for a page, not in use yet; FL_SWP_NONE when all are. Never switches. */
fl_swp fl_swap_scan_slot(struct fl_mem *mem, struct fl_caller *who);
bool fl_swap_is_reserved(const struct fl_swap *swap, fl_swp slot);
uint64_t fl_swap_scan_hash(const struct fl_swap *swap, uint64_t hash);

/* A slot in use: counted, or its page is in the cache, or a CPU keeps it for what comes next. */
static inline bool fl_swap_slot_is_used(const struct fl_swap *swap, fl_swp slot)
{
	return swap->count[slot] || fl_swap_entry_is_page(swap->entry[slot]) || fl_swap_is_reserved(swap, slot);
}

/* The host fetches where the slot of a folio is or will be noted; changes nothing. */
void fl_swap_fetch(const struct fl_mem *mem, fl_pfn folio);

/* Requests that a block device queues before a submitter must sleep (nr_requests of blk-mq with a scheduler). */
#define FL_DEVICE_QUEUE 256u
#define FL_QUEUE_WAIT_NS (10 * FL_MS_NS) /* longest sleep of the flusher before looking at the queue again */
/* Must a writer to swap wait now? */
bool fl_swap_is_congested(const struct fl_mem *mem);
/* Waits until a request of the device has completed. May switch. */
void fl_swap_wait_write(struct fl_mem *mem, struct fl_caller *who);

#endif
