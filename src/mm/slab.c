/*
 * mm/slab.c - SLUB: slabs, their partial lists, and the per-CPU stores of 6.12 (CPU slab and partial slabs). Mirrors
 * mm/slub.c. The sheaves of 7.3 are in slab_sheaf.c, the LRU of unused objects in slab_lru.c.
 *
 * Owns struct fl_slabs. A slab is FULL (on no list), PARTIAL (on the node's list), CPU (a CPU's current one) or
 * CPU_PARTIAL. Objects are taken lowest slot first.
 */
#include "mm/slab.h"

#include "base/hash.h"
#include "mm/page_alloc.h"
#include "mm/slab_internal.h"

static const struct {
	const char *name;
	uint16_t size;
	bool reclaim_account;
} caches[FL_SLAB_CACHES_COUNT] = {
#define FL_SLAB_ROW(name, size, reclaim) { #name, size, reclaim },
	FL_SLAB_CACHES(FL_SLAB_ROW)
#undef FL_SLAB_ROW
};

const char *fl_slab_name(enum fl_slab_cache cache)
{
	return caches[cache].name;
}

/* ---- Geometry: calculate_order() and set_cpu_partial() ---- */

#define SLUB_MAX_ORDER 3

static unsigned int order_of_size(uint64_t size, unsigned int page_shift)
{
	unsigned int order = 0;

	while (UINT64_C(1) << (page_shift + order) < size)
		order++;
	return order;
}

static unsigned int slab_order(unsigned int size, unsigned int page_shift, unsigned int cpus)
{
	unsigned int largest = (1u << (page_shift + SLUB_MAX_ORDER)) / size;
	unsigned int objects = 4 * (32 - __builtin_clz(cpus) + 1), min_order;

	if (!largest)
		return order_of_size(size, page_shift);
	if (objects > largest)
		objects = largest;
	min_order = order_of_size((uint64_t)objects * size, page_shift);
	for (unsigned int fraction = 16; fraction > 1; fraction /= 2)
		for (unsigned int order = min_order; order <= SLUB_MAX_ORDER; order++) {
			unsigned int bytes = 1u << (page_shift + order);

			if (bytes % size <= bytes / fraction)
				return order;
		}
	return order_of_size(size, page_shift);
}

/* The steps of object size by which the per-CPU stores are dimensioned. */
static unsigned int by_size(unsigned int size, unsigned int page_shift, const unsigned int value[4])
{
	if (size >= 1u << page_shift)
		return value[0];
	return size >= 1024 ? value[1] : size >= 256 ? value[2] : value[3];
}

struct fl_slab_geometry fl_slab_geometry(unsigned int size, unsigned int page_shift, unsigned int cpus)
{
	static const unsigned int cpu_partial[4] = { 6, 24, 52, 120 }, sheaf[4] = { 4, 12, 28, 60 };
	struct fl_slab_geometry g = { .order = slab_order(size, page_shift, cpus),
				      .min_order = order_of_size(size, page_shift) };
	unsigned int half_log = (31 - __builtin_clz(size)) / 2;

	g.objects = (1u << (page_shift + g.order)) / size;
	g.min_objects = (1u << (page_shift + g.min_order)) / size;
	g.min_partial = half_log < 5 ? 5 : half_log > 10 ? 10 : half_log;
	g.cpu_partial = by_size(size, page_shift, cpu_partial);
	g.cpu_partial_slabs = (g.cpu_partial * 2 + g.objects - 1) / g.objects;
	g.sheaf_capacity = by_size(size, page_shift, sheaf);
	return g;
}

/* ---- Making the caches ---- */

static void cache_init(struct fl_mem *mem, struct slab_cache *c, enum fl_slab_cache id)
{
	struct fl_slabs *s = mem->slab;

	c->id = id;
	c->g = fl_slab_geometry(caches[id].size, mem->page_shift, mem->cpus);
	c->gfp = caches[id].reclaim_account ? FL_GFP_RECLAIMABLE_BIT : 0;
	c->first = c->last = FL_POOL_NONE;
	FL_ASSERT(c->g.objects <= 1u << s->slot_bits && c->g.min_objects <= 1u << s->slot_bits);
	c->cpu = fl_host_alloc(mem->cpus * sizeof(*c->cpu));
	for (unsigned int cpu = 0; cpu < mem->cpus; cpu++)
		c->cpu[cpu].slab = c->cpu[cpu].partial = FL_POOL_NONE;
	if (s->has_sheaves)
		fl_sheaves_init(mem, c);
}

void fl_slab_init(struct fl_mem *mem)
{
	struct fl_slabs *s = fl_host_alloc(sizeof(*s));

	mem->slab = s;
	s->has_sheaves = mem->decide.slab_has_sheaves(&(struct fl_no_facts){ 0 });
	/* 64-byte objects fill a base page with 64, 256 or 1024; slabs of small machines hold fewer. */
	s->slot_bits = mem->page_shift > 14 ? 10 : 8;
	s->words = 1u << (s->slot_bits - 6);
	fl_pool_init(&s->slabs, sizeof(struct slab) + 3 * s->words * sizeof(uint64_t), 8);
	s->cache = fl_host_alloc(FL_SLAB_CACHES_COUNT * sizeof(*s->cache));
	for (unsigned int i = 0; i < FL_SLAB_CACHES_COUNT; i++)
		cache_init(mem, &s->cache[i], i);
}

void fl_slab_fini(struct fl_mem *mem)
{
	for (unsigned int i = 0; i < FL_SLAB_CACHES_COUNT; i++) {
		struct slab_cache *c = &mem->slab->cache[i];

		fl_sheaves_fini(mem, c);
		fl_host_free(c->cpu);
		fl_host_free(c->lru.ring);
	}
	fl_pool_fini(&mem->slab->slabs);
	fl_host_free(mem->slab->cache);
	fl_host_free(mem->slab);
	mem->slab = NULL;
}

/* ---- Slabs ---- */

static void list_add_tail(struct fl_slabs *s, struct slab_cache *c, uint32_t id)
{
	struct slab *slab = slab_of(s, id);

	slab->place = PLACE_PARTIAL;
	slab->next = FL_POOL_NONE;
	slab->prev = c->last;
	if (c->last != FL_POOL_NONE)
		slab_of(s, c->last)->next = id;
	else
		c->first = id;
	c->last = id;
	c->nr_partial++;
}

static void list_add_head(struct fl_slabs *s, struct slab_cache *c, uint32_t id)
{
	struct slab *slab = slab_of(s, id);

	slab->place = PLACE_PARTIAL;
	slab->prev = FL_POOL_NONE;
	slab->next = c->first;
	if (c->first != FL_POOL_NONE)
		slab_of(s, c->first)->prev = id;
	else
		c->last = id;
	c->first = id;
	c->nr_partial++;
}

static void list_del(struct fl_slabs *s, struct slab_cache *c, uint32_t id)
{
	struct slab *slab = slab_of(s, id);

	if (slab->prev != FL_POOL_NONE)
		slab_of(s, slab->prev)->next = slab->next;
	else
		c->first = slab->next;
	if (slab->next != FL_POOL_NONE)
		slab_of(s, slab->next)->prev = slab->prev;
	else
		c->last = slab->prev;
	slab->place = PLACE_FULL;
	c->nr_partial--;
}

/* allocate_slab(): the preferred order without any reclaim, then the smallest with the caller's mask. May switch. */
uint32_t fl_slab_new(struct fl_mem *mem, struct fl_caller *who, struct slab_cache *c, fl_gfp gfp)
{
	struct fl_slabs *s = mem->slab;
	fl_gfp flags = (gfp & ~FL_GFP_ACCOUNT) | c->gfp, first;
	unsigned int order = c->g.order;
	struct slab *slab;
	uint32_t id;
	fl_pfn pfn;

	first = (flags | FL_GFP_NOWARN | FL_GFP_NORETRY | (order ? FL_GFP_COMP : 0)) & ~FL_GFP_NOFAIL;
	if (first & FL_GFP_DIRECT_RECLAIM && order > c->g.min_order)
		first = (first | FL_GFP_NOMEMALLOC) & ~FL_GFP_RECLAIM;
	pfn = fl_page_alloc(mem, who, first, order, FL_KIND_SLAB);
	if (pfn == FL_PFN_NONE) {
		order = c->g.min_order;
		pfn = fl_page_alloc(mem, who, flags | (order ? FL_GFP_COMP : 0), order, FL_KIND_SLAB);
		if (pfn == FL_PFN_NONE)
			return FL_POOL_NONE;
	}
	id = fl_pool_get(&s->slabs);
	FL_ASSERT(id < UINT32_MAX >> s->slot_bits);
	slab = slab_of(s, id);
	__builtin_memset(slab, 0, s->slabs.size);
	*slab = (struct slab){ .pfn = pfn, .next = FL_POOL_NONE, .prev = FL_POOL_NONE, .cache = c->id, .order = order,
			       .place = PLACE_FULL };
	slab->objects = order == c->g.order ? c->g.objects : c->g.min_objects;
	for (unsigned int i = 0; i < slab->objects; i++)
		bit_set(free_bits(s, slab), i);
	mem->frames.record[pfn].owner = id;
	mem->frames.record[pfn].index = c->id;
	c->slabs++;
	c->objects += slab->objects;
	s->pages[!!c->gfp] += 1u << order;
	return id;
}

static void discard_slab(struct fl_mem *mem, struct fl_caller *who, struct slab_cache *c, uint32_t id)
{
	struct slab *slab = slab_of(mem->slab, id);

	FL_ASSERT(!slab->inuse);
	c->slabs--;
	c->objects -= slab->objects;
	mem->slab->pages[!!c->gfp] -= 1u << slab->order;
	fl_page_free(mem, who, slab->pfn, slab->order);
	slab->place = PLACE_NONE;
	fl_pool_put(&mem->slab->slabs, id);
}

/* Takes the lowest free object; there must be one. */
fl_object fl_slab_take(struct fl_mem *mem, struct slab_cache *c, uint32_t id)
{
	struct fl_slabs *s = mem->slab;
	struct slab *slab = slab_of(s, id);
	uint64_t *bits = free_bits(s, slab);
	unsigned int word = 0;

	while (!bits[word])
		word++;
	slab->inuse++;
	c->inuse++;
	word = word * 64 + __builtin_ctzll(bits[word]);
	bit_clear(bits, word);
	return id << s->slot_bits | word;
}

static void give_back(struct fl_mem *mem, struct slab_cache *c, fl_object object)
{
	struct fl_slabs *s = mem->slab;
	struct slab *slab = slab_of_object(s, object);
	unsigned int slot = slot_of(s, object);

	FL_ASSERT_MSG(!bit_test(free_bits(s, slab), slot), "a slab object is freed once");
	bit_set(free_bits(s, slab), slot);
	slab->inuse--;
	c->inuse--;
}

/* Where a slab goes when its CPU lets it go (__put_partials, deactivate_slab). */
static void unfreeze(struct fl_mem *mem, struct fl_caller *who, struct slab_cache *c, uint32_t id)
{
	struct slab *slab = slab_of(mem->slab, id);

	slab->place = PLACE_FULL;
	if (slab->inuse == slab->objects)
		return;
	if (!slab->inuse && c->nr_partial >= c->g.min_partial)
		discard_slab(mem, who, c, id);
	else
		list_add_tail(mem->slab, c, id);
}

static void drain_cpu_partial(struct fl_mem *mem, struct fl_caller *who, struct slab_cache *c, struct slab_cpu *cpu)
{
	uint32_t id = cpu->partial;

	cpu->partial = FL_POOL_NONE;
	cpu->partials = 0;
	while (id != FL_POOL_NONE) {
		uint32_t next = slab_of(mem->slab, id)->next;

		unfreeze(mem, who, c, id);
		id = next;
	}
}

/* put_cpu_partial(): when the list is long enough, all of it goes to the node first. */
static void put_cpu_partial(struct fl_mem *mem, struct fl_caller *who, struct slab_cache *c, uint32_t id, bool drain)
{
	struct slab_cpu *cpu = &c->cpu[fl_caller_cpu(who)];
	struct slab *slab = slab_of(mem->slab, id);

	slab->place = PLACE_CPU_PARTIAL;
	if (drain && cpu->partials >= c->g.cpu_partial_slabs)
		drain_cpu_partial(mem, who, c, cpu);
	slab->next = cpu->partial;
	cpu->partial = id;
	cpu->partials++;
}

/* get_partial_node(): the first partial slab, and some more for the CPU's own list. */
static uint32_t get_partial(struct fl_mem *mem, struct fl_caller *who, struct slab_cache *c)
{
	uint32_t got = c->first, more = 0;

	if (got == FL_POOL_NONE)
		return got;
	list_del(mem->slab, c, got);
	while (c->first != FL_POOL_NONE && more <= c->g.cpu_partial_slabs / 2) {
		uint32_t id = c->first;

		list_del(mem->slab, c, id);
		put_cpu_partial(mem, who, c, id, false);
		more++;
	}
	return got;
}

/* ___slab_alloc(): a CPU slab with a free object. May switch in a request for a new slab. */
static uint32_t refill_cpu(struct fl_mem *mem, struct fl_caller *who, struct slab_cache *c, fl_gfp gfp)
{
	struct slab_cpu *cpu = &c->cpu[fl_caller_cpu(who)];
	uint32_t id = cpu->partial;

	if (cpu->slab != FL_POOL_NONE)
		slab_of(mem->slab, cpu->slab)->place = PLACE_FULL;
	cpu->slab = FL_POOL_NONE;
	if (id != FL_POOL_NONE) {
		cpu->partial = slab_of(mem->slab, id)->next;
		cpu->partials--;
	} else {
		id = get_partial(mem, who, c);
	}
	if (id == FL_POOL_NONE) {
		id = fl_slab_new(mem, who, c, gfp);
		if (id == FL_POOL_NONE)
			return id;
		cpu = &c->cpu[fl_caller_cpu(who)]; /* the task may have moved */
		if (cpu->slab != FL_POOL_NONE)
			unfreeze(mem, who, c, cpu->slab);
	}
	slab_of(mem->slab, id)->place = PLACE_CPU;
	cpu->slab = id;
	return id;
}

fl_object fl_slab_alloc(struct fl_mem *mem, struct fl_caller *who, enum fl_slab_cache cache, fl_gfp gfp)
{
	struct fl_slabs *s = mem->slab;
	struct slab_cache *c = &s->cache[cache];
	uint32_t id;

	fl_charge(who->task, mem->cost->slab_alloc);
	if (s->has_sheaves)
		return fl_sheaf_alloc(mem, who, c, gfp);
	id = c->cpu[fl_caller_cpu(who)].slab;
	if (id == FL_POOL_NONE || slab_of(s, id)->inuse == slab_of(s, id)->objects) {
		id = refill_cpu(mem, who, c, gfp);
		if (id == FL_POOL_NONE)
			return FL_OBJECT_NONE;
	}
	return fl_slab_take(mem, c, id);
}

/* __slab_free() */
void fl_slab_free_object(struct fl_mem *mem, struct fl_caller *who, struct slab_cache *c, fl_object object)
{
	uint32_t id = object >> mem->slab->slot_bits;
	struct slab *slab = slab_of(mem->slab, id);
	bool was_full = slab->inuse == slab->objects;

	give_back(mem, c, object);
	if (slab->place == PLACE_FULL) {
		FL_ASSERT(was_full);
		if (mem->slab->has_sheaves)
			unfreeze(mem, who, c, id);
		else
			put_cpu_partial(mem, who, c, id, true);
	} else if (slab->place == PLACE_PARTIAL && !slab->inuse && c->nr_partial >= c->g.min_partial) {
		list_del(mem->slab, c, id);
		discard_slab(mem, who, c, id);
	}
}

void fl_slab_free(struct fl_mem *mem, struct fl_caller *who, fl_object object)
{
	struct fl_slabs *s = mem->slab;
	struct slab_cache *c;

	if (object == FL_OBJECT_NONE)
		return;
	fl_slab_lru_del(mem, object);
	c = &s->cache[slab_of_object(s, object)->cache];
	if (s->has_sheaves)
		fl_sheaf_free(mem, who, c, object);
	else
		fl_slab_free_object(mem, who, c, object);
}

/* For refills of sheaves: a slab with free objects, off the list or new; and back to the head of the list. */
uint32_t fl_slab_get_partial(struct fl_mem *mem, struct slab_cache *c)
{
	uint32_t id = c->first;

	if (id != FL_POOL_NONE)
		list_del(mem->slab, c, id);
	return id;
}

void fl_slab_put_partial(struct fl_mem *mem, struct slab_cache *c, uint32_t id)
{
	struct slab *slab = slab_of(mem->slab, id);

	if (slab->inuse == slab->objects)
		slab->place = PLACE_FULL;
	else
		list_add_head(mem->slab, c, id);
}

/* ---- Flush, statistics ---- */

static void flush_cache(struct fl_mem *mem, struct fl_caller *who, struct slab_cache *c)
{
	uint32_t id, next;

	if (mem->slab->has_sheaves)
		fl_sheaves_flush(mem, who, c);
	for (unsigned int cpu = 0; cpu < mem->cpus; cpu++) {
		id = c->cpu[cpu].slab;
		c->cpu[cpu].slab = FL_POOL_NONE;
		if (id != FL_POOL_NONE)
			unfreeze(mem, who, c, id);
		drain_cpu_partial(mem, who, c, &c->cpu[cpu]);
	}
	for (id = c->first; id != FL_POOL_NONE; id = next) {
		next = slab_of(mem->slab, id)->next;
		if (!slab_of(mem->slab, id)->inuse) {
			list_del(mem->slab, c, id);
			discard_slab(mem, who, c, id);
		}
	}
}

void fl_slab_flush(struct fl_mem *mem, struct fl_caller *who, enum fl_slab_cache cache)
{
	for (unsigned int i = 0; i < FL_SLAB_CACHES_COUNT; i++)
		if (i == cache || cache == FL_SLAB_CACHES_COUNT)
			flush_cache(mem, who, &mem->slab->cache[i]);
}

struct fl_slab_stat fl_slab_stat(const struct fl_mem *mem, enum fl_slab_cache cache)
{
	const struct slab_cache *c = &mem->slab->cache[cache];
	struct fl_slab_stat stat = { .objects = c->objects, .slabs = c->slabs,
				     .cached_objects = fl_sheaves_objects(mem, c) };

	stat.active_objects = c->inuse - stat.cached_objects;
	for (uint32_t i = 0; i < mem->slab->slabs.used; i++) {
		const struct slab *slab = slab_of(mem->slab, i);

		if (fl_slab_is_live(mem, i) && slab->cache == cache)
			stat.pages += 1u << slab->order;
	}
	return stat;
}

bool fl_slab_is_live(const struct fl_mem *mem, uint32_t id)
{
	return slab_of(mem->slab, id)->place != PLACE_NONE;
}

uint64_t fl_slab_pages(const struct fl_mem *mem, bool reclaimable)
{
	return mem->slab->pages[reclaimable];
}

uint64_t fl_slab_hash(const struct fl_mem *mem, uint64_t hash)
{
	for (unsigned int i = 0; i < FL_SLAB_CACHES_COUNT; i++) {
		const struct slab_cache *c = &mem->slab->cache[i];

		hash = fl_hash_u64(hash, c->slabs);
		hash = fl_hash_u64(hash, c->inuse);
		hash = fl_hash_u64(hash, c->lru.live);
		for (uint32_t id = c->first; id != FL_POOL_NONE; id = slab_of(mem->slab, id)->next)
			hash = fl_hash_u64(hash, (uint64_t)id << 32 | slab_of(mem->slab, id)->inuse);
	}
	return hash;
}

static void check_slab(const struct fl_mem *mem, uint32_t id, uint64_t inuse[], uint64_t count[])
{
	struct fl_slabs *s = mem->slab;
	struct slab *slab = slab_of(s, id);
	unsigned int free = 0;

	for (unsigned int w = 0; w < s->words; w++)
		free += __builtin_popcountll(free_bits(s, slab)[w]);
	FL_ASSERT_MSG(free + slab->inuse == slab->objects, "free objects of a slab");
	FL_ASSERT_MSG(slab->place != PLACE_FULL || slab->inuse == slab->objects, "a slab on no list is full");
	FL_ASSERT_MSG(mem->frames.state[slab->pfn] == fl_state(FL_KIND_SLAB, slab->order), "state of a slab's frame");
	FL_ASSERT_MSG(mem->frames.record[slab->pfn].owner == id, "a slab's frame names it");
	inuse[slab->cache] += slab->inuse;
	count[slab->cache]++;
}

void fl_slab_check(struct fl_mem *mem)
{
	uint64_t inuse[FL_SLAB_CACHES_COUNT] = { 0 }, count[FL_SLAB_CACHES_COUNT] = { 0 };

	for (uint32_t id = 0; id < mem->slab->slabs.used; id++)
		if (fl_slab_is_live(mem, id))
			check_slab(mem, id, inuse, count);
	for (unsigned int i = 0; i < FL_SLAB_CACHES_COUNT; i++) {
		const struct slab_cache *c = &mem->slab->cache[i];
		uint32_t partial = 0;

		for (uint32_t id = c->first; id != FL_POOL_NONE; id = slab_of(mem->slab, id)->next, partial++)
			FL_ASSERT_MSG(slab_of(mem->slab, id)->place == PLACE_PARTIAL, "slabs on the partial list");
		FL_ASSERT_MSG(partial == c->nr_partial, "length of the partial list");
		FL_ASSERT_MSG(inuse[i] == c->inuse, "objects in use of a cache");
		FL_ASSERT_MSG(count[i] == c->slabs, "slabs of a cache");
	}
}
