/*
 * mm/slab_lru.c - unused objects of shrinkable caches by age, and the walk that evicts them. Mirrors mm/list_lru.c as
 * fs/dcache.c and fs/inode.c use it.
 *
 * A ring of (object, tag), 8 bytes each. An object that leaves in another way leaves its entry behind as a stale one;
 * they are swept out when they are the larger half.
 */
#include "mm/slab_internal.h"

void fl_slab_set_evict(struct fl_mem *mem, enum fl_slab_cache cache, fl_slab_evict_fn fn, void *arg)
{
	mem->slab->cache[cache].lru.evict = fn;
	mem->slab->cache[cache].lru.evict_arg = arg;
}

static bool is_on_lru(const struct fl_slabs *s, fl_object object)
{
	return bit_test(lru_bits(s, slab_of_object(s, object)), slot_of(s, object));
}

static bool is_entry_alive(const struct fl_mem *mem, struct slab_lru_entry entry)
{
	return fl_slab_is_live(mem, entry.object >> mem->slab->slot_bits) && is_on_lru(mem->slab, entry.object);
}

/* Sweeps stale entries out, and doubles the ring when that leaves more than half of it full. */
static void make_room(struct fl_mem *mem, struct slab_lru *lru)
{
	uint32_t want = lru->ring ? lru->mask + 1 : 1024, n = 0;
	struct slab_lru_entry *ring;

	for (uint32_t i = 0; i < lru->count; i++)
		n += is_entry_alive(mem, lru->ring[(lru->head + i) & lru->mask]);
	if (n > want / 2)
		want *= 2;
	ring = fl_host_alloc((size_t)want * sizeof(*ring));
	n = 0;
	for (uint32_t i = 0; i < lru->count; i++) {
		struct slab_lru_entry entry = lru->ring[(lru->head + i) & lru->mask];

		if (is_entry_alive(mem, entry))
			ring[n++] = entry;
	}
	fl_host_free(lru->ring);
	lru->ring = ring;
	lru->mask = want - 1;
	lru->head = 0;
	lru->count = n;
}

static void push(struct fl_mem *mem, struct slab_lru *lru, struct slab_lru_entry entry)
{
	if (!lru->ring || lru->count == lru->mask + 1)
		make_room(mem, lru);
	lru->ring[(lru->head + lru->count++) & lru->mask] = entry;
}

void fl_slab_lru_add(struct fl_mem *mem, fl_object object, uint32_t tag)
{
	struct slab *slab = slab_of_object(mem->slab, object);
	struct slab_lru *lru = &mem->slab->cache[slab->cache].lru;

	if (is_on_lru(mem->slab, object)) {
		fl_slab_lru_reference(mem, object);
		return;
	}
	push(mem, lru, (struct slab_lru_entry){ object, tag });
	bit_set(lru_bits(mem->slab, slab), slot_of(mem->slab, object));
	lru->live++;
}

void fl_slab_lru_del(struct fl_mem *mem, fl_object object)
{
	struct slab *slab = slab_of_object(mem->slab, object);
	unsigned int slot = slot_of(mem->slab, object);

	bit_clear(referenced_bits(mem->slab, slab), slot);
	if (!is_on_lru(mem->slab, object))
		return;
	bit_clear(lru_bits(mem->slab, slab), slot);
	mem->slab->cache[slab->cache].lru.live--;
}

void fl_slab_lru_reference(struct fl_mem *mem, fl_object object)
{
	bit_set(referenced_bits(mem->slab, slab_of_object(mem->slab, object)), slot_of(mem->slab, object));
}

uint64_t fl_slab_lru_count(const struct fl_mem *mem, enum fl_slab_cache cache)
{
	return mem->slab->cache[cache].lru.live;
}

/* One entry from the old end: true if it was an object that counts as scanned. */
static bool scan_one(struct fl_mem *mem, struct fl_caller *who, struct slab_lru *lru, uint64_t *freed)
{
	struct slab_lru_entry entry = lru->ring[lru->head];
	struct slab *slab = slab_of_object(mem->slab, entry.object);
	unsigned int slot = slot_of(mem->slab, entry.object);

	lru->head = (lru->head + 1) & lru->mask;
	lru->count--;
	if (!is_entry_alive(mem, entry))
		return false;
	fl_charge(who->task, mem->cost->slab_object);
	if (bit_test(referenced_bits(mem->slab, slab), slot)) {
		bit_clear(referenced_bits(mem->slab, slab), slot);
		push(mem, lru, entry);
		return true;
	}
	switch (lru->evict(mem, who, entry.object, entry.tag, lru->evict_arg)) {
	case FL_EVICT_FREE:
		fl_slab_free(mem, who, entry.object);
		++*freed;
		return true;
	case FL_EVICT_ROTATE:
		push(mem, lru, entry);
		return true;
	case FL_EVICT_LEAVE:
		fl_slab_lru_del(mem, entry.object);
		return true;
	default:
		return false;
	}
}

uint64_t fl_slab_shrink(struct fl_mem *mem, struct fl_caller *who, enum fl_slab_cache cache, uint64_t nr_to_scan,
			uint64_t *scanned)
{
	struct slab_lru *lru = &mem->slab->cache[cache].lru;
	uint64_t freed = 0, seen = 0;

	while (seen < nr_to_scan && lru->count)
		seen += scan_one(mem, who, lru, &freed);
	if (scanned)
		*scanned = seen;
	return freed;
}
