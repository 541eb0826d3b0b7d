/*
 * mm/pool.h - fixed-size records by index: pointers stay valid until the record is given back, memory grows by chunks.
 */
#ifndef FL_MM_POOL_H
#define FL_MM_POOL_H

#include "base/bug.h"
#include "mm/types.h"
#include "sim/platform.h"

#define FL_POOL_NONE UINT32_MAX

struct fl_pool {
	uint8_t **chunk;
	uint32_t chunks, shift, size; /* 2^shift records a chunk */
	uint32_t used;                /* indices ever given */
	uint32_t free;                /* last index given back: the next one follows in its first word */
	uint32_t live;
};

/* `size` at least 4 bytes. */
static inline void fl_pool_init(struct fl_pool *pool, uint32_t size, uint32_t shift)
{
	*pool = (struct fl_pool){ .size = size, .shift = shift, .free = FL_POOL_NONE };
}

static inline void fl_pool_fini(struct fl_pool *pool)
{
	for (uint32_t i = 0; i < pool->chunks; i++)
		fl_host_free(pool->chunk[i]);
	fl_host_free(pool->chunk);
}

static inline void *fl_pool_at(const struct fl_pool *pool, uint32_t index)
{
	return pool->chunk[index >> pool->shift] + (size_t)(index & ((1u << pool->shift) - 1)) * pool->size;
}

/* Takes a record, last given back first; its contents are undefined. */
static inline uint32_t fl_pool_get(struct fl_pool *pool)
{
	uint32_t index = pool->free;

	pool->live++;
	if (index != FL_POOL_NONE) {
		__builtin_memcpy(&pool->free, fl_pool_at(pool, index), sizeof(pool->free));
		return index;
	}
	FL_ASSERT(pool->used < FL_POOL_NONE);
	index = pool->used++;
	if (index >> pool->shift == pool->chunks) {
		pool->chunk = fl_host_resize(pool->chunk, (pool->chunks + 1) * sizeof(*pool->chunk));
		pool->chunk[pool->chunks++] = fl_host_alloc((size_t)pool->size << pool->shift);
	}
	return index;
}

static inline void fl_pool_put(struct fl_pool *pool, uint32_t index)
{
	__builtin_memcpy(fl_pool_at(pool, index), &pool->free, sizeof(pool->free));
	pool->free = index;
	pool->live--;
}

#endif
