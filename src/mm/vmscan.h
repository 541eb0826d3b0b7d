/*
 * mm/vmscan.h - reclaim: kswapd, direct reclaim, the shrinkers of slab caches. Mirrors mm/vmscan.c, classic LRU.
 *
 * The lists themselves belong to swap.h. Reclaim takes folios off them (FL_ISOLATED), decides folio by folio, and puts
 * back what it keeps; no folio is half changed at a preemption point. MGLRU is not modelled.
 */
#ifndef FL_MM_VMSCAN_H
#define FL_MM_VMSCAN_H

#include "mm/page_alloc.h"

#define FL_SWAP_CLUSTER_MAX 32 /* goal of direct reclaim and slice of a list */
#define FL_DEF_PRIORITY 12
#define FL_MAX_RECLAIM_FAILURES 16 /* MAX_RECLAIM_RETRIES: then the node is hopeless */

enum fl_vmscan_throttle {
	FL_THROTTLE_WRITEBACK,
	FL_THROTTLE_ISOLATED,
	FL_THROTTLE_NOPROGRESS,
	FL_THROTTLE_CONGESTED,
	FL_THROTTLES
};

struct fl_vmscan; /* state of reclaim: of pg_data_t and struct lruvec */

/* Makes and frees all state of this half of mm: vmscan, swap, page cache, writeback, oom. Called by whoever makes and
 * frees the memory (after its zones and frames stand). Hash and check cover the same. */
void fl_reclaim_init(struct fl_mem *mem);
void fl_reclaim_fini(struct fl_mem *mem);
uint64_t fl_reclaim_hash(const struct fl_mem *mem, uint64_t hash);
void fl_reclaim_check(struct fl_mem *mem);

/* kswapd_run(): makes the kswapd task of the node in mem->sim and starts it. The simulation is freed before the memory: its
 * tasks wait on queues of the memory. */
struct fl_task *fl_kswapd_start(struct fl_mem *mem);

/* balance_pgdat(): one run in the name of `who` (kswapd; tests): the order that is left to care for. May switch. */
unsigned int fl_balance_pgdat(struct fl_mem *mem, struct fl_caller *who, unsigned int order, unsigned int highest);

/* Is kswapd in TASK_RUNNING (asleep in I/O is not)? What proactive compaction asks. */
bool fl_kswapd_is_running(const struct fl_mem *mem);
/* Did kswapd fail FL_MAX_RECLAIM_FAILURES times in a row? */
bool fl_kswapd_is_hopeless(const struct fl_mem *mem);

/*
 * wakeup_kswapd() (allocator.md 7.1): records order and ceiling, wakes kswapd unless it is hopeless or the node is balanced,
 * else kcompactd for callers without direct reclaim. `trigger` is the account of the work that follows: SLOWPATH (a
 * request that can reclaim), ATOMIC (one that cannot), BOOST (flag BOOSTED_WATERMARK after rmqueue, order 0).
 */
void fl_wakeup_kswapd(struct fl_mem *mem, struct fl_caller *who, struct fl_zone *zone, fl_gfp gfp,
		      unsigned int order, unsigned int ceiling, enum fl_trigger trigger);

/* wake_all_kswapds() of the slow path: the trigger follows from the request. */
void fl_wake_all_kswapds(struct fl_mem *mem, struct fl_caller *who, const struct fl_alloc_context *ac);

/* pgdat_balanced(): does any managed zone up to `ceiling` pass the high mark at this order? */
bool fl_pgdat_balanced(const struct fl_mem *mem, unsigned int order, unsigned int ceiling);

/* pgdat_watermark_boosted() */
bool fl_pgdat_watermark_boosted(const struct fl_mem *mem, unsigned int ceiling);

/* try_to_free_pages(): direct reclaim for this request; pages reclaimed, or 1 when compaction is ready. May switch. */
unsigned long fl_try_to_free_pages(struct fl_mem *mem, struct fl_caller *who, const struct fl_alloc_context *ac);

/* Reclaims up to `pages` on request (memory.reclaim style, tests): pages reclaimed. May switch. */
unsigned long fl_reclaim_pages(struct fl_mem *mem, struct fl_caller *who, unsigned long pages, bool may_swap);

/* zone_reclaimable_pages(): file LRU, and anonymous LRU when there is swap. */
unsigned long fl_zone_reclaimable_pages(const struct fl_mem *mem, const struct fl_zone *zone);

/* too_many_isolated() of direct reclaim. */
bool fl_too_many_isolated(const struct fl_mem *mem, const struct fl_caller *who, fl_gfp gfp, bool file);

/* reclaim_throttle(): sleeps until woken or the time of the reason is over. May switch. */
void fl_reclaim_throttle(struct fl_mem *mem, struct fl_caller *who, enum fl_vmscan_throttle reason);
/* Ends the wait of those throttled for isolation (migration and reclaim put folios back). */
void fl_wake_throttle_isolated(struct fl_mem *mem);

/* drop_caches: bit 0 clean page cache, bit 1 slab. May switch. */
void fl_drop_caches(struct fl_mem *mem, struct fl_caller *who, unsigned int what);

/* ---- Shrinkers: registered by the owners of caches; slab caches through fl_slab_shrink. ---- */

struct fl_shrink_control {
	fl_gfp gfp;
	unsigned long nr_to_scan; /* objects */
	unsigned long nr_scanned; /* set by scan() when it looked at another number */
};
#define FL_SHRINK_STOP (~0ul)
#define FL_SHRINK_EMPTY (~0ul - 1)
struct fl_shrinker {
	const char *name;
	/* Objects that could be freed; FL_SHRINK_EMPTY or 0: none. */
	unsigned long (*count)(struct fl_mem *mem, void *arg);
	/* Scans up to nr_to_scan objects, returns how many were freed or FL_SHRINK_STOP. */
	unsigned long (*scan)(struct fl_mem *mem, struct fl_caller *who, struct fl_shrink_control *sc, void *arg);
	void *arg;
	unsigned int seeks; /* DEFAULT_SEEKS 2 */
	unsigned int batch; /* 0: 128 */
};
#define FL_SHRINKERS_MAX 16
/* The struct is copied. */
void fl_register_shrinker(struct fl_mem *mem, const struct fl_shrinker *shrinker);
/* do_shrink_slab()'s number of objects to scan: pure (allocator.md 7.7 last point). */
unsigned long fl_shrinker_target(unsigned long freeable, unsigned int seeks, int priority, unsigned long deferred);

/* ---- Pure rules, stated by tests ---- */

/* inactive_is_low(): sizes in pages. */
bool fl_inactive_is_low(unsigned int page_shift, unsigned long inactive, unsigned long active);

enum fl_scan_balance { FL_SCAN_EQUAL, FL_SCAN_FRACT, FL_SCAN_ANON, FL_SCAN_FILE };
struct fl_scan_facts {
	bool may_swap, has_swap;
	unsigned int swappiness; /* 0..200 */
	int priority;
	bool file_is_tiny, cache_trim_mode;
	uint64_t anon_cost, file_cost;
};
/* get_scan_count(): how to balance the types, and the fractions for FL_SCAN_FRACT. */
enum fl_scan_balance fl_scan_balance(const struct fl_scan_facts *facts, uint64_t fraction[2], uint64_t *denominator);

#endif
