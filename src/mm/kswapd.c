/*
 * mm/kswapd.c - the daemon that keeps free pages above the marks: wake-up, balance_pgdat() with boosts, sleep and the
 * hand-over to kcompactd. Mirrors the last part of mm/vmscan.c (allocator.md 7.1 to 7.4).
 */
#include "mm/compaction.h"
#include "mm/internal.h"
#include "mm/watermark.h"

#define KSWAPD_NAP_NS (100 * FL_MS_NS) /* HZ/10 */

bool fl_kswapd_is_running(const struct fl_mem *mem)
{
	return mem->vmscan->kswapd && fl_task_is_running(mem->vmscan->kswapd);
}

bool fl_kswapd_is_hopeless(const struct fl_mem *mem)
{
	return mem->vmscan->kswapd_failures >= FL_MAX_RECLAIM_FAILURES;
}

bool fl_pgdat_watermark_boosted(const struct fl_mem *mem, unsigned int ceiling)
{
	for (unsigned int z = 0; z <= ceiling; z++)
		if (mem->zone[z].managed && mem->zone[z].watermark_boost)
			return true;
	return false;
}

bool fl_pgdat_balanced(const struct fl_mem *mem, unsigned int order, unsigned int ceiling)
{
	bool any = false;

	for (unsigned int z = 0; z <= ceiling; z++) {
		const struct fl_zone *zone = &mem->zone[z];
		long free;

		if (!zone->managed)
			continue;
		any = true;
		free = fl_zone_effective_free_pages(mem, zone, FL_FREE_TEST_KSWAPD_BALANCED, order);
		if (fl_watermark_ok_free(mem, zone, order, fl_wmark_pages(zone, FL_WMARK_HIGH), ceiling, 0, free))
			return true;
	}
	return !any;
}

/* ---- Waking ---- */

void fl_wakeup_kswapd(struct fl_mem *mem, struct fl_caller *who, struct fl_zone *zone, fl_gfp gfp,
		      unsigned int order, unsigned int ceiling, enum fl_trigger trigger)
{
	struct fl_vmscan *v = mem->vmscan;

	if (!zone->managed || !v->kswapd)
		return;
	if (v->kswapd_highest == FL_KSWAPD_NO_ZONE)
		v->kswapd_trigger = (uint8_t)trigger;
	if (v->kswapd_highest == FL_KSWAPD_NO_ZONE || v->kswapd_highest < ceiling)
		v->kswapd_highest = ceiling;
	if (v->kswapd_order < order)
		v->kswapd_order = order;
	if (!v->kswapd_prepared)
		return;
	if (fl_kswapd_is_hopeless(mem) ||
	    (fl_pgdat_balanced(mem, order, ceiling) && !fl_pgdat_watermark_boosted(mem, ceiling))) {
		if (!(gfp & FL_GFP_DIRECT_RECLAIM))
			fl_wakeup_kcompactd(mem, who, order, ceiling, FL_TRIGGER_ATOMIC);
		return;
	}
	FL_TRACE(mem, who, mm_vmscan_wakeup_kswapd, ceiling, order, gfp);
	v->kswapd_trigger = (uint8_t)trigger;
	v->kswapd_woken = true;
	fl_wake_all(&v->kswapd_wait);
}

void fl_wake_all_kswapds(struct fl_mem *mem, struct fl_caller *who, const struct fl_alloc_context *ac)
{
	static const struct fl_no_facts none;
	unsigned int order = ac->order;

	/* defrag_mode makes whole pageblocks, whatever was asked for. */
	if (mem->set.defrag_mode && order < mem->pageblock_order && mem->decide.has_defrag_mode(&none))
		order = mem->pageblock_order;
	fl_wakeup_kswapd(mem, who, &mem->zone[ac->preferred], ac->gfp, order, ac->ceiling,
			 ac->gfp & FL_GFP_DIRECT_RECLAIM ? FL_TRIGGER_SLOWPATH : FL_TRIGGER_ATOMIC);
}

/* ---- Balancing ---- */

/* One run of balance_pgdat(). */
struct balance {
	struct fl_mem *mem;
	struct fl_caller *who;
	struct fl_scan_control sc;
	unsigned int highest;
	uint64_t boosts[FL_ZONES], boost_left; /* nr_boost_reclaim */
	bool boosted;
};

/* kswapd_shrink_node(): true if as much was scanned as was aimed at. */
static bool kswapd_shrink_node(struct balance *b)
{
	struct fl_scan_control *sc = &b->sc;
	unsigned long before = sc->nr_reclaimed, got;

	sc->nr_to_reclaim = 0;
	for (unsigned int z = 0; z <= sc->reclaim_idx; z++) {
		uint64_t high = fl_wmark_pages(&b->mem->zone[z], FL_WMARK_HIGH);

		if (b->mem->zone[z].managed)
			sc->nr_to_reclaim += high > FL_SWAP_CLUSTER_MAX ? high : FL_SWAP_CLUSTER_MAX;
	}
	fl_shrink_node(b->mem, b->who, sc);
	/* Enough for compaction to work with: it goes on for order 0 only. */
	if (sc->order && sc->nr_reclaimed >= fl_compact_gap(b->mem, sc->order))
		sc->order = 0;
	got = sc->nr_reclaimed - before;
	return (sc->nr_scanned > got ? sc->nr_scanned : got) >= sc->nr_to_reclaim;
}

static void set_reclaim_active(struct fl_mem *mem, unsigned int highest, bool active)
{
	for (unsigned int z = 0; z <= highest; z++)
		if (mem->zone[z].managed)
			mem->zone[z].flags = (mem->zone[z].flags & ~FL_ZONE_RECLAIM_ACTIVE) |
					     (active ? FL_ZONE_RECLAIM_ACTIVE : 0);
}

static void wake_pfmemalloc(struct fl_mem *mem, bool always)
{
	if (fl_waitqueue_active(&mem->vmscan->pfmemalloc_wait) && (always || fl_allow_direct_reclaim(mem)))
		fl_wake_all(&mem->vmscan->pfmemalloc_wait);
}

enum round { BALANCED, RESTART, GO_ON, GIVE_UP };

/* One pass of the priority loop. May switch. */
static enum round balance_round(struct balance *b)
{
	struct fl_scan_control *sc = &b->sc;
	unsigned long before = sc->nr_reclaimed, got;
	bool raise_priority = true, balanced = fl_pgdat_balanced(b->mem, sc->order, b->highest);

	fl_charge(b->who->task, b->mem->cost->kswapd_pass);
	if (!balanced && b->boost_left) { /* ordinary reclaim comes before the boost */
		b->boost_left = 0;
		return RESTART;
	}
	if (balanced && !b->boost_left)
		return BALANCED;
	if (b->boost_left && sc->priority == FL_DEF_PRIORITY - 2)
		raise_priority = false;
	/* A boost is only for pages that cost nothing to take. */
	sc->may_writepage = sc->may_swap = !b->boost_left;
	fl_age_active_anon(b->mem, b->who, sc);
	if (sc->priority < FL_DEF_PRIORITY - 2)
		sc->may_writepage = true;
	sc->nr_scanned = 0;
	if (kswapd_shrink_node(b))
		raise_priority = false;
	wake_pfmemalloc(b->mem, false);
	got = sc->nr_reclaimed - before;
	b->boost_left -= b->boost_left < got ? b->boost_left : got;
	if (b->boost_left && !got)
		return GIVE_UP;
	if (raise_priority || !got)
		sc->priority--;
	return GO_ON;
}

/* The priority loop, with the restarts. True if it ended balanced. May switch. */
static bool balance_priorities(struct balance *b)
{
	struct fl_scan_control *sc = &b->sc;

	for (;;) {
		enum round round = GO_ON;

		set_reclaim_active(b->mem, b->highest, true);
		sc->priority = FL_DEF_PRIORITY;
		while (round == GO_ON && sc->priority >= 1) {
			round = balance_round(b);
			fl_cond_resched(b->who->task);
		}
		if (round == BALANCED)
			return true;
		if (round == RESTART)
			continue;
		if (!sc->nr_reclaimed && sc->priority < 1 && !sc->no_cache_trim_mode && sc->cache_trim_mode_failed) {
			sc->no_cache_trim_mode = true;
			continue;
		}
		return false;
	}
}

/* The boosts that the run began with are worked off, however much it reclaimed; what came since remains. */
static void decay_boosts(struct balance *b)
{
	for (unsigned int z = 0; z <= b->highest; z++) {
		uint64_t *boost = &b->mem->zone[z].watermark_boost;

		*boost -= *boost < b->boosts[z] ? *boost : b->boosts[z];
	}
	fl_wakeup_kcompactd(b->mem, b->who, b->mem->pageblock_order, b->highest, FL_TRIGGER_BOOST);
}

/* balance_pgdat(): the order that is left to care for. May switch. */
unsigned int fl_balance_pgdat(struct fl_mem *mem, struct fl_caller *who, unsigned int order, unsigned int highest)
{
	struct balance b = {
		.mem = mem,
		.who = who,
		.highest = highest,
		.sc = { .gfp = FL_GFP_KERNEL, .order = order, .reclaim_idx = highest, .may_unmap = true },
	};
	struct fl_failure_facts facts;

	fl_count(mem, FL_VM_pageoutrun, 1);
	for (unsigned int z = 0; z <= highest; z++) {
		if (!mem->zone[z].managed)
			continue;
		b.boosts[z] = mem->zone[z].watermark_boost;
		b.boost_left += b.boosts[z];
	}
	b.boosted = b.boost_left;
	facts.boosted = b.boosted;
	if (!balance_priorities(&b) && !b.sc.nr_reclaimed && mem->decide.kswapd_counts_failure(&facts))
		mem->vmscan->kswapd_failures++;
	set_reclaim_active(mem, highest, false);
	if (b.boosted)
		decay_boosts(&b);
	fl_snapshot_refaults(mem);
	return b.sc.order;
}

/* ---- Sleeping ---- */

static bool prepare_sleep(struct fl_mem *mem, unsigned int order, unsigned int highest)
{
	struct fl_vmscan *v = mem->vmscan;

	wake_pfmemalloc(mem, true);
	if (fl_kswapd_is_hopeless(mem))
		return true;
	if (!fl_pgdat_balanced(mem, order, highest))
		return false;
	v->node_congested = v->node_dirty = v->node_writeback = false;
	return true;
}

static unsigned int highest_zoneidx(const struct fl_vmscan *v, unsigned int previous)
{
	return v->kswapd_highest == FL_KSWAPD_NO_ZONE ? previous : v->kswapd_highest;
}

/* A wake-up that came since prepare_to_wait() ends the sleep before it begins. True if woken. */
static bool kswapd_sleep(struct fl_vmscan *v, struct fl_task *task, fl_ns ns)
{
	bool woken = v->kswapd_woken;

	if (!woken && ns)
		woken = fl_wait_timeout(&v->kswapd_wait, task, ns);
	else if (!woken)
		fl_wait(&v->kswapd_wait, task);
	v->kswapd_woken = false;
	return woken;
}

static void kswapd_try_to_sleep(struct fl_mem *mem, struct fl_caller *who, unsigned int alloc_order,
				unsigned int reclaim_order, unsigned int highest)
{
	struct fl_vmscan *v = mem->vmscan;
	bool woken = false;

	v->kswapd_prepared = true;
	v->kswapd_woken = false;
	if (prepare_sleep(mem, reclaim_order, highest)) {
		/* Compaction gets the pages that were made; it may look again where it found nothing before. */
		fl_reset_isolation_suitable(mem, who);
		fl_wakeup_kcompactd(mem, who, alloc_order, highest, FL_TRIGGER_KSWAPD_SLEEP);
		woken = kswapd_sleep(v, who->task, KSWAPD_NAP_NS);
		if (woken) { /* too early: what it was woken for before is still to be done */
			v->kswapd_highest = highest_zoneidx(v, highest);
			if (v->kswapd_order < reclaim_order)
				v->kswapd_order = reclaim_order;
		}
	}
	if (!woken && prepare_sleep(mem, reclaim_order, highest)) {
		FL_TRACE(mem, who, mm_vmscan_kswapd_sleep, 0);
		kswapd_sleep(v, who->task, 0);
	} else {
		fl_count(mem, woken ? FL_VM_kswapd_low_wmark_hit_quickly : FL_VM_kswapd_high_wmark_hit_quickly, 1);
	}
	v->kswapd_prepared = false;
}

static void kswapd(struct fl_task *task, void *arg)
{
	struct fl_mem *mem = arg;
	struct fl_vmscan *v = mem->vmscan;
	struct fl_caller *who = &v->kswapd_caller;
	unsigned int alloc_order = 0, reclaim_order = 0, highest = FL_ZONES - 1;

	v->kswapd_order = 0;
	v->kswapd_highest = FL_KSWAPD_NO_ZONE;
	for (;;) {
		uint64_t begin;

		if (reclaim_order >= alloc_order) { /* else: back to sleep without a new request */
			alloc_order = reclaim_order = v->kswapd_order;
			highest = highest_zoneidx(v, highest);
		}
		kswapd_try_to_sleep(mem, who, alloc_order, reclaim_order, highest);
		alloc_order = v->kswapd_order;
		highest = highest_zoneidx(v, highest);
		v->kswapd_order = 0;
		v->kswapd_highest = FL_KSWAPD_NO_ZONE;
		who->trigger = v->kswapd_trigger;
		FL_TRACE(mem, who, mm_vmscan_kswapd_wake, highest, alloc_order);
		begin = fl_task_cpu_ns(task);
		reclaim_order = fl_balance_pgdat(mem, who, alloc_order, highest);
		fl_work_add(mem, who, FL_WORK_cpu_ns, fl_task_cpu_ns(task) - begin);
	}
}

struct fl_task *fl_kswapd_start(struct fl_mem *mem)
{
	struct fl_vmscan *v = mem->vmscan;

	FL_ASSERT(!v->kswapd && mem->sim);
	v->kswapd = fl_task_new(mem->sim, "kswapd0", true);
	v->kswapd_caller = (struct fl_caller){
		.task = v->kswapd,
		.flags = FL_PF_MEMALLOC | FL_PF_KTHREAD | FL_PF_KSWAPD,
		.actor = FL_ACTOR_KSWAPD,
		.trigger = FL_TRIGGER_SLOWPATH,
	};
	fl_task_start(v->kswapd, kswapd, mem);
	return v->kswapd;
}
