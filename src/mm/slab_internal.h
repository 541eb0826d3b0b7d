/*
 * mm/slab_internal.h - what slab.c, slab_sheaf.c and slab_lru.c share.
 */
#ifndef FL_MM_SLAB_INTERNAL_H
#define FL_MM_SLAB_INTERNAL_H

#include "mm/pool.h"
#include "mm/slab.h"

enum slab_place { PLACE_NONE, PLACE_FULL, PLACE_PARTIAL, PLACE_CPU, PLACE_CPU_PARTIAL };

/* Followed by three bit maps of fl_slabs.words words: free, on the LRU, referenced. */
struct slab {
	fl_pfn pfn;
	uint32_t next, prev;
	uint16_t inuse, objects;
	uint8_t cache, order, place;
} __attribute__((aligned(8))); /* bit maps of 64-bit words follow */

struct slab_cpu { /* 6.12 */
	uint32_t slab;    /* current one */
	uint32_t partial; /* list by `next` */
	uint32_t partials;
};

struct sheaf {
	fl_object *object; /* capacity of them */
	uint32_t count;
};
struct slab_sheaves { /* 7.3: of a CPU */
	struct sheaf main, spare;
};
#define FL_BARN_FULL_MAX 10 /* MAX_FULL_SHEAVES */

struct slab_lru { /* entries by age in a ring; some may be stale */
	struct slab_lru_entry {
		fl_object object;
		uint32_t tag;
	} *ring;
	uint32_t mask, head, count;
	uint64_t live; /* objects whose LRU bit is set */
	fl_slab_evict_fn evict;
	void *evict_arg;
};

struct slab_cache {
	uint32_t id;
	struct fl_slab_geometry g;
	fl_gfp gfp;
	uint32_t first, last, nr_partial;
	struct slab_cpu *cpu;
	struct slab_sheaves *sheaves; /* one a CPU */
	struct sheaf barn[FL_BARN_FULL_MAX];
	uint32_t barn_full;
	uint64_t slabs, objects, inuse;
	struct slab_lru lru;
};

struct fl_slabs {
	struct fl_pool slabs;
	struct slab_cache *cache;
	unsigned int slot_bits, words;
	bool has_sheaves;
	uint64_t pages[2]; /* unreclaimable, reclaimable */
};

static inline struct slab *slab_of(const struct fl_slabs *s, uint32_t id)
{
	return fl_pool_at(&s->slabs, id);
}

static inline struct slab *slab_of_object(const struct fl_slabs *s, fl_object object)
{
	return slab_of(s, object >> s->slot_bits);
}

static inline unsigned int slot_of(const struct fl_slabs *s, fl_object object)
{
	return object & ((1u << s->slot_bits) - 1);
}

static inline uint64_t *free_bits(const struct fl_slabs *s, struct slab *slab)
{
	return (uint64_t *)(slab + 1);
}

static inline uint64_t *lru_bits(const struct fl_slabs *s, struct slab *slab)
{
	return free_bits(s, slab) + s->words;
}

static inline uint64_t *referenced_bits(const struct fl_slabs *s, struct slab *slab)
{
	return free_bits(s, slab) + 2 * s->words;
}

static inline bool bit_test(const uint64_t *bits, unsigned int i)
{
	return bits[i / 64] >> i % 64 & 1;
}

static inline void bit_set(uint64_t *bits, unsigned int i)
{
	bits[i / 64] |= UINT64_C(1) << i % 64;
}

static inline void bit_clear(uint64_t *bits, unsigned int i)
{
	bits[i / 64] &= ~(UINT64_C(1) << i % 64);
}

/* slab.c */
uint32_t fl_slab_new(struct fl_mem *mem, struct fl_caller *who, struct slab_cache *c, fl_gfp gfp);
fl_object fl_slab_take(struct fl_mem *mem, struct slab_cache *c, uint32_t id);
void fl_slab_free_object(struct fl_mem *mem, struct fl_caller *who, struct slab_cache *c, fl_object object);
uint32_t fl_slab_get_partial(struct fl_mem *mem, struct slab_cache *c);
void fl_slab_put_partial(struct fl_mem *mem, struct slab_cache *c, uint32_t id);
bool fl_slab_is_live(const struct fl_mem *mem, uint32_t id);

/* slab_sheaf.c */
void fl_sheaves_init(struct fl_mem *mem, struct slab_cache *c);
void fl_sheaves_fini(struct fl_mem *mem, struct slab_cache *c);
fl_object fl_sheaf_alloc(struct fl_mem *mem, struct fl_caller *who, struct slab_cache *c, fl_gfp gfp);
void fl_sheaf_free(struct fl_mem *mem, struct fl_caller *who, struct slab_cache *c, fl_object object);
void fl_sheaves_flush(struct fl_mem *mem, struct fl_caller *who, struct slab_cache *c);
uint64_t fl_sheaves_objects(const struct fl_mem *mem, const struct slab_cache *c);

#endif
