/*
 * mm/slab.h - SLUB: caches as data, slabs with real packing, per-CPU and per-node stores. Mirrors mm/slub.c.
 *
 * An object is a handle: slab id and slot, so that its owner can free it alone; a slab page goes back when its last
 * object goes and the node keeps enough partial slabs. Costs a few bits an object and some 60 bytes a slab.
 * A cache with a shrinker keeps its unused objects in the order of their release (LRU) with referenced bits.
 */
#ifndef FL_MM_SLAB_H
#define FL_MM_SLAB_H

#include "mm/mem.h"

typedef uint32_t fl_object; /* slab id and slot */
#define FL_OBJECT_NONE UINT32_MAX

/* Name, size of an object with its metadata (slab_size), reclaim_account, accounted. Source: slabinfo of a 6.18 machine. */
#define FL_SLAB_CACHES(X) \
	X(dentry, 192, true) X(inode_cache, 624, true) X(shmem_inode_cache, 752, false) \
	X(ext4_inode_cache, 1128, true) X(xfs_inode, 1024, true) X(proc_inode_cache, 696, true) \
	X(sock_inode_cache, 832, true) X(radix_tree_node, 584, true) X(buffer_head, 104, true) \
	X(task_struct, 5824, false) X(mm_struct, 1600, false) X(vm_area_struct, 192, false) \
	X(maple_node, 256, false) X(anon_vma, 104, false) X(kmalloc_64, 64, false) X(files_cache, 704, false) \
	X(signal_cache, 1152, false) X(sighand_cache, 2112, false) X(filp, 192, false) X(kmalloc_192, 192, false) \
	X(skbuff_head_cache, 256, false) X(unix_sock, 1152, false) X(tcp_sock, 2368, false) \
	X(kmalloc_cg_192, 192, false) X(kmalloc_256, 256, false) X(kmalloc_512, 512, false) \
	X(kmalloc_cg_1k, 1024, false) X(kmalloc_cg_2k, 2048, false) X(kmalloc_cg_4k, 4096, false) \
	X(kmalloc_cg_8k, 8192, false) X(kmalloc_96, 96, false) X(kmalloc_128, 128, false) X(kmalloc_1k, 1024, false) \
	X(kmalloc_2k, 2048, false) X(kmalloc_4k, 4096, false) X(sgpool_8, 256, false) X(sgpool_16, 512, false) \
	X(sgpool_32, 1024, false) X(sgpool_64, 2048, false) X(sgpool_128, 4096, false)

#define FL_SLAB_ENUM(name, size, reclaim) FL_SLAB_##name,
enum fl_slab_cache { FL_SLAB_CACHES(FL_SLAB_ENUM) FL_SLAB_CACHES_COUNT };
#undef FL_SLAB_ENUM

const char *fl_slab_name(enum fl_slab_cache cache);

/* What calculate_order() and its companions give for an object size: pure. */
struct fl_slab_geometry {
	unsigned int order, objects;         /* preferred */
	unsigned int min_order, min_objects; /* of the fallback */
	unsigned int min_partial, cpu_partial, cpu_partial_slabs; /* 6.12 */
	unsigned int sheaf_capacity;         /* 7.3 */
};
struct fl_slab_geometry fl_slab_geometry(unsigned int size, unsigned int page_shift, unsigned int cpus);

/* kmem_cache_alloc(): FL_OBJECT_NONE when there is no memory. May switch. */
fl_object fl_slab_alloc(struct fl_mem *mem, struct fl_caller *who, enum fl_slab_cache cache, fl_gfp gfp);
/* kmem_cache_free(). Never switches. FL_OBJECT_NONE is ignored. */
void fl_slab_free(struct fl_mem *mem, struct fl_caller *who, fl_object object);

/* ---- Unused objects of caches with a shrinker ---- */

/* Called for an object that the shrinker wants to free. `tag` is what was given with it. FREE: the owner has forgotten it and
 * it is freed; ROTATE: busy, to the young end; LEAVE: off the LRU; STALE: the tag's owner does not have this object (any
 * more): the entry is an old one and is skipped. */
enum fl_evict { FL_EVICT_FREE, FL_EVICT_ROTATE, FL_EVICT_LEAVE, FL_EVICT_STALE };
typedef enum fl_evict (*fl_slab_evict_fn)(struct fl_mem *mem, struct fl_caller *who, fl_object object, uint32_t tag, void *arg);
void fl_slab_set_evict(struct fl_mem *mem, enum fl_slab_cache cache, fl_slab_evict_fn fn, void *arg);
/* The object is unused: to the young end of the LRU (dput, iput). One that is on it already is only referenced. */
void fl_slab_lru_add(struct fl_mem *mem, fl_object object, uint32_t tag);
/* It is used again or freed by its owner (fl_slab_free does this itself). */
void fl_slab_lru_del(struct fl_mem *mem, fl_object object);
void fl_slab_lru_reference(struct fl_mem *mem, fl_object object); /* DCACHE_REFERENCED: one more round */
uint64_t fl_slab_lru_count(const struct fl_mem *mem, enum fl_slab_cache cache);
/* Walks nr_to_scan objects from the old end: referenced ones lose the bit and go round, others are evicted. How many were
 * freed; *scanned (may be NULL): looked at. */
uint64_t fl_slab_shrink(struct fl_mem *mem, struct fl_caller *who, enum fl_slab_cache cache, uint64_t nr_to_scan,
			uint64_t *scanned);

/* kmem_cache_shrink(): flushes per-CPU stores and sheaves and frees empty slabs, of one cache or all
 * (FL_SLAB_CACHES_COUNT). */
void fl_slab_flush(struct fl_mem *mem, struct fl_caller *who, enum fl_slab_cache cache);

struct fl_slab_stat {
	uint64_t active_objects, objects; /* in use (without those in per-CPU stores), room for */
	uint64_t slabs, pages;
	uint64_t cached_objects; /* free objects in sheaves */
};
struct fl_slab_stat fl_slab_stat(const struct fl_mem *mem, enum fl_slab_cache cache);
/* nr_slab_reclaimable, nr_slab_unreclaimable: pages. */
uint64_t fl_slab_pages(const struct fl_mem *mem, bool reclaimable);

void fl_slab_init(struct fl_mem *mem);
void fl_slab_fini(struct fl_mem *mem);
uint64_t fl_slab_hash(const struct fl_mem *mem, uint64_t hash);
void fl_slab_check(struct fl_mem *mem);

#endif
