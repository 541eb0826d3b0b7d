/*
 * mm/filemap_internal.h - a file's cache from inside: filemap.c (index, faults, reads and writes), readahead.c, truncate.c and
 * page_writeback.c.
 */
#ifndef FL_MM_FILEMAP_INTERNAL_H
#define FL_MM_FILEMAP_INTERNAL_H

#include "mm/filemap.h"
#include "mm/slab.h"
#include "mm/swap.h"

#define FL_NODE_PAGES 64u /* XA_CHUNK_SIZE */

/* An entry: 0, a page as pfn + 1, a shadow, or (shared memory) a swap slot. */
#define FL_ENTRY_TYPE 0xc0000000u
#define FL_ENTRY_SHADOW 0x80000000u
#define FL_ENTRY_SWAP 0xc0000000u
#define FL_ENTRY_VALUE 0x3fffffffu

/* A leaf of the tree: one radix_tree_node object. */
struct fl_node {
	uint32_t entry[FL_NODE_PAGES];
	uint64_t dirty;  /* bit i: entry i is a page with FL_DIRTY */
	uint8_t used;    /* entries that are not 0 */
	fl_object object;
	fl_object *buffer; /* NULL, or one an entry: the buffer head of a page that was written to */
};

/* struct file_ra_state, one a file. */
struct fl_readahead {
	uint32_t start, size, async_size;
	uint32_t prev_index; /* last page read; UINT32_MAX: none */
	uint32_t mmap_miss;
	bool random; /* FMODE_RANDOM: only what is asked for */
};
#define FL_RA_PAGES_KB 128 /* read_ahead_kb of block devices */

struct fl_mapping {
	fl_mapping_id id;
	enum fl_mapping_type type;
	struct fl_device *device;
	uint32_t pages;            /* size of the file */
	uint32_t cached, shadows, swapped;
	uint32_t dirty, writeback; /* pages */
	struct fl_node **node;
	uint32_t nodes; /* room */
	struct fl_readahead ra;
	uint32_t writeback_index;
	fl_ns dirtied_when;        /* first page of the present run of dirty ones */
	struct fl_mapping *dirty_next, *dirty_prev; /* list of dirty files; NULL: on none */
	unsigned int users;        /* calls under way */
	bool dead;                 /* deleted; goes with its last user */
};

struct fl_filemap {
	struct fl_mapping **mapping; /* by id; NULL: free */
	uint32_t mappings, capacity, lowest_free;
	uint64_t file_pages, shmem_pages;
	struct fl_mapping dirty_files; /* list head, oldest first */
};

struct fl_mapping *fl_mapping_of(const struct fl_mem *mem, fl_mapping_id id);
/* Keeps a mapping across switches. */
void fl_mapping_get(struct fl_mapping *m);
void fl_mapping_put(struct fl_mem *mem, struct fl_caller *who, struct fl_mapping *m);

static inline bool fl_entry_is_page(uint32_t entry)
{
	return entry && !(entry & FL_ENTRY_SHADOW);
}

static inline fl_pfn fl_entry_page(uint32_t entry)
{
	return entry - 1;
}

static inline uint32_t fl_mapping_entry(const struct fl_mapping *m, uint32_t index)
{
	uint32_t n = index / FL_NODE_PAGES;

	return n < m->nodes && m->node[n] ? m->node[n]->entry[index % FL_NODE_PAGES] : 0;
}

/* The node of an index, which must be there. */
static inline struct fl_node *fl_mapping_node(const struct fl_mapping *m, uint32_t index)
{
	return m->node[index / FL_NODE_PAGES];
}

/* The cached page at an index, or FL_PFN_NONE. */
static inline fl_pfn fl_mapping_page(const struct fl_mapping *m, uint32_t index)
{
	uint32_t entry = fl_mapping_entry(m, index);

	return fl_entry_is_page(entry) ? fl_entry_page(entry) : FL_PFN_NONE;
}

/* The next index in [index, end) with a page, or end. */
uint32_t fl_mapping_next_page(const struct fl_mapping *m, uint32_t index, uint32_t end);
/* The next index in [index, end) with a dirty page, or end. */
uint32_t fl_mapping_next_dirty(const struct fl_mapping *m, uint32_t index, uint32_t end);

/* mapping_gfp_mask(): Movable for files, GFP_USER for block devices. */
fl_gfp fl_mapping_gfp(const struct fl_mapping *m);

/*
 * Makes a new page of the cache at `index` (filemap_add_folio): allocated, entered, refault checked, on its way to the LRU.
 * `state` is set in its state word before (FL_LOCKED for a read). FL_PFN_NONE: no memory, or a page is there by now. May
 * switch.
 */
fl_pfn fl_filemap_add_page(struct fl_mem *mem, struct fl_caller *who, struct fl_mapping *m, uint32_t index, fl_gfp gfp,
			   uint32_t state);

/* Shared memory: the entry of a cached page names its swap slot instead, and back. */
void fl_filemap_entry_to_swap(struct fl_mem *mem, fl_pfn folio, uint32_t slot);
void fl_filemap_entry_from_swap(struct fl_mem *mem, struct fl_mapping *m, uint32_t index, fl_pfn pfn);

/* Frees the nodes of [index, ...) that hold nothing. */
void fl_mapping_free_nodes(struct fl_mem *mem, struct fl_caller *who, struct fl_mapping *m, uint32_t index);

/* readahead.c: page_cache_sync_ra(), page_cache_async_ra(), read-around of a fault. May switch. */
void fl_readahead_sync(struct fl_mem *mem, struct fl_caller *who, struct fl_mapping *m, uint32_t index, uint32_t req);
void fl_readahead_async(struct fl_mem *mem, struct fl_caller *who, struct fl_mapping *m, uint32_t index, uint32_t req);
void fl_readahead_around(struct fl_mem *mem, struct fl_caller *who, struct fl_mapping *m, uint32_t index);
/* Is this the page whose use starts the next readahead (PG_readahead)? */
bool fl_readahead_is_mark(const struct fl_mapping *m, uint32_t index);

/* get_init_ra_size(), get_next_ra_size(): pages of the first and the following windows. Pure. */
uint32_t fl_readahead_init_size(uint32_t req, uint32_t max);
uint32_t fl_readahead_next_size(uint32_t size, uint32_t max);

/* truncate_inode_pages_range(): takes all pages of [start, end) out, waiting for I/O. May switch. */
void fl_truncate_pages(struct fl_mem *mem, struct fl_caller *who, struct fl_mapping *m, uint32_t start, uint32_t end);

/* page_writeback.c: starts the write of up to `max` dirty pages of the file from its writeback index on; pages started. May switch
 * while the device's queue is full. */
uint32_t fl_mapping_write(struct fl_mem *mem, struct fl_caller *who, struct fl_mapping *m, uint32_t max);
/* Removes a mapping without dirty pages from the list of dirty files. */
void fl_mapping_undirty(struct fl_mem *mem, struct fl_mapping *m);

#endif
