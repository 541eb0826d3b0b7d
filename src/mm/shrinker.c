/*
 * mm/shrinker.c - shrinkers: how many objects of a cache are scanned at a priority. Mirrors mm/shrinker.c, super_cache_scan()
 * of fs/super.c for dentries and inodes, and the shrinkers of mm/huge_memory.c.
 */
#include "mm/dcache.h"
#include "mm/huge_memory.h"
#include "mm/internal.h"
#include "mm/slab.h"

#define SHRINK_BATCH 128u
#define SUPER_BATCH 1024u

void fl_register_shrinker(struct fl_mem *mem, const struct fl_shrinker *shrinker)
{
	struct fl_vmscan *v = mem->vmscan;

	FL_ASSERT(v->shrinkers < FL_SHRINKERS_MAX);
	v->shrinker[v->shrinkers++] = *shrinker;
}

static unsigned long delta_of(unsigned long freeable, unsigned int seeks, int priority)
{
	return seeks ? (freeable >> priority) * 4 / seeks : freeable / 2;
}

unsigned long fl_shrinker_target(unsigned long freeable, unsigned int seeks, int priority, unsigned long deferred)
{
	unsigned long total = (deferred >> priority) + delta_of(freeable, seeks, priority);

	return total < 2 * freeable ? total : 2 * freeable;
}

static unsigned long slab_pages(const struct fl_mem *mem)
{
	return fl_slab_pages(mem, true) + fl_slab_pages(mem, false);
}

/* do_shrink_slab(). May switch between batches. */
static unsigned long shrink_one(struct fl_mem *mem, struct fl_caller *who, unsigned int i, fl_gfp gfp, int priority,
				unsigned long *pages)
{
	const struct fl_shrinker *shrinker = &mem->vmscan->shrinker[i];
	unsigned long batch = shrinker->batch ? shrinker->batch : SHRINK_BATCH, deferred = mem->vmscan->deferred[i];
	unsigned long freeable = shrinker->count(mem, shrinker->arg), target, freed = 0, scanned = 0, next;

	if (freeable == 0 || freeable == FL_SHRINK_EMPTY)
		return 0;
	mem->vmscan->deferred[i] = 0;
	next = deferred + delta_of(freeable, shrinker->seeks, priority);
	for (target = fl_shrinker_target(freeable, shrinker->seeks, priority, deferred);
	     target >= batch || target >= freeable;) {
		struct fl_shrink_control sc = { .gfp = gfp, .nr_to_scan = target < batch ? target : batch };
		unsigned long before = slab_pages(mem), ret;

		sc.nr_scanned = sc.nr_to_scan;
		ret = shrinker->scan(mem, who, &sc, shrinker->arg);
		if (ret == FL_SHRINK_STOP)
			break;
		freed += ret;
		if (slab_pages(mem) < before)
			*pages += before - slab_pages(mem);
		fl_count(mem, FL_VM_slabs_scanned, sc.nr_scanned);
		scanned += sc.nr_scanned;
		fl_cond_resched(who->task);
		if (sc.nr_to_scan >= target)
			break;
		target -= sc.nr_to_scan;
	}
	next = next > scanned ? next - scanned : 0;
	mem->vmscan->deferred[i] += next < 2 * freeable ? next : 2 * freeable;
	return freed;
}

unsigned long fl_shrink_slab(struct fl_mem *mem, struct fl_caller *who, fl_gfp gfp, int priority, unsigned long *pages)
{
	unsigned long freed = 0;

	for (unsigned int i = 0; i < mem->vmscan->shrinkers; i++)
		freed += shrink_one(mem, who, i, gfp, priority, pages);
	return freed;
}

/* ---- The shrinkers of the modelled kernel ---- */

/* super_cache_count(): unused dentries and inodes, by vfs_cache_pressure. */
static unsigned long super_count(struct fl_mem *mem, void *arg)
{
	uint64_t objects = fl_dcache_count(mem) + fl_icache_count(mem);

	(void)arg;
	return objects ? objects * mem->set.vfs_cache_pressure / 100 : FL_SHRINK_EMPTY;
}

/* super_cache_scan(): in proportion; dentries first, since they pin inodes. */
static unsigned long super_scan(struct fl_mem *mem, struct fl_caller *who, struct fl_shrink_control *sc, void *arg)
{
	uint64_t dentries = fl_dcache_count(mem), inodes = fl_icache_count(mem), total = dentries + inodes + 1;
	uint64_t freed;

	(void)arg;
	if (!(sc->gfp & FL_GFP_FS))
		return FL_SHRINK_STOP;
	freed = fl_dcache_shrink(mem, who, sc->nr_to_scan * dentries / total + 1);
	return freed + fl_icache_shrink(mem, who, sc->nr_to_scan * inodes / total + 1);
}

static unsigned long split_count(struct fl_mem *mem, void *arg)
{
	(void)arg;
	return fl_deferred_split_count(mem);
}

static unsigned long split_scan(struct fl_mem *mem, struct fl_caller *who, struct fl_shrink_control *sc, void *arg)
{
	uint64_t split = fl_deferred_split_scan(mem, who, sc->nr_to_scan);

	(void)arg;
	/* Nothing was split and the queue is empty: deferred_split_scan() says stop. */
	return !split && !fl_deferred_split_count(mem) ? FL_SHRINK_STOP : split;
}

static unsigned long zero_count(struct fl_mem *mem, void *arg)
{
	(void)arg;
	return mem->thp->zero_page != FL_PFN_NONE && !fl_huge_zero_users(mem) ? 1ul << mem->pmd_order : 0;
}

static unsigned long zero_scan(struct fl_mem *mem, struct fl_caller *who, struct fl_shrink_control *sc, void *arg)
{
	(void)arg;
	(void)sc;
	return fl_huge_zero_shrink(mem, who);
}

void fl_register_kernel_shrinkers(struct fl_mem *mem)
{
	const struct fl_shrinker list[] = {
		{ .name = "sb", .count = super_count, .scan = super_scan, .seeks = 2, .batch = SUPER_BATCH },
		{ .name = "thp-deferred_split", .count = split_count, .scan = split_scan, .seeks = 2 },
		{ .name = "thp-zero", .count = zero_count, .scan = zero_scan, .seeks = 2 },
	};

	for (unsigned int i = 0; i < sizeof(list) / sizeof(list[0]); i++)
		fl_register_shrinker(mem, &list[i]);
}
