/*
 * mm/kcompactd.c - the daemon of compaction, its proactive work by fragmentation score, and the manual trigger.
 *
 * Mirrors the last part of mm/compaction.c; facts 1.4 to 1.6. kcompactd makes one pass a request and does not look
 * whether it helped. Owns struct fl_kcompactd: the fields of pg_data_t that begin with kcompactd_ and proactive_.
 */
#include "base/hash.h"
#include "mm/compact_control.h"
#include "mm/pcp.h"
#include "mm/swap.h"
#include "mm/sysctl.h"
#include "mm/vmscan.h"
#include "sim/platform.h"

struct fl_kcompactd {
	struct fl_caller who;
	struct fl_waitqueue wait;
	unsigned int max_order; /* 0: no request */
	unsigned int highest_zoneidx;
	enum fl_trigger trigger; /* who asked */
	bool proactive_trigger;  /* compaction_proactiveness was written */
};

/* ---- Score and marks: facts 1.5 ---- */

unsigned int fl_proactive_score_order(const struct fl_mem *mem)
{
	struct fl_score_order_facts facts;

	fl_thp_orders_of(mem, &facts.thp);
	return mem->decide.proactive_score_order(&facts);
}

/* extfrag_for_order() */
unsigned int fl_fragmentation_score_zone(const struct fl_zone *zone, unsigned int order)
{
	uint64_t free = 0, suitable = 0;

	for (unsigned int o = 0; o < FL_MAX_ORDERS; o++) {
		free += (uint64_t)zone->nr_free[o] << o;
		if (o >= order)
			suitable += (uint64_t)zone->nr_free[o] << o;
	}
	return free ? (unsigned int)((free - suitable) * 100 / free) : 0;
}

unsigned int fl_fragmentation_score_node(const struct fl_mem *mem)
{
	unsigned int order = fl_proactive_score_order(mem), score = 0;
	uint64_t present = 1;

	for (unsigned int i = 0; i < FL_ZONES; i++)
		present += mem->zone[i].present;
	for (unsigned int i = 0; i < FL_ZONES; i++)
		score += (unsigned int)((uint64_t)mem->zone[i].present *
					fl_fragmentation_score_zone(&mem->zone[i], order) / present);
	return score;
}

unsigned int fl_fragmentation_score_wmark(const struct fl_mem *mem, bool low)
{
	struct fl_proactive_mark_facts facts = {
		.proactiveness = mem->set.compaction_proactiveness,
		.score_order = fl_proactive_score_order(mem),
		.pmd_order = mem->pmd_order,
	};

	facts.low = mem->decide.proactive_low(&facts);
	return low ? facts.low : mem->decide.proactive_high(&facts);
}

bool fl_proactive_beside_kswapd(const struct fl_mem *mem, bool at_start)
{
	struct fl_beside_kswapd_facts facts = { .at_start = at_start,
						.score_order = fl_proactive_score_order(mem),
						.costly_order = FL_COSTLY_ORDER };

	fl_thp_orders_of(mem, &facts.thp);
	return mem->decide.proactive_beside_kswapd(&facts);
}

/* should_proactive_compact_node() */
static bool should_proactive_compact_node(const struct fl_mem *mem)
{
	if (!mem->set.compaction_proactiveness)
		return false;
	if (fl_kswapd_is_running(mem) && !fl_proactive_beside_kswapd(mem, true))
		return false;
	return fl_fragmentation_score_node(mem) > fl_fragmentation_score_wmark(mem, false);
}

/* ---- Whole node ---- */

static unsigned int highest_populated(const struct fl_mem *mem)
{
	unsigned int highest = 0;

	for (unsigned int i = 0; i < FL_ZONES; i++)
		if (mem->zone[i].present)
			highest = i;
	return highest;
}

static void count_daemon(struct fl_mem *mem, const struct fl_compact_control *cc)
{
	fl_count(mem, FL_VM_compact_daemon_migrate_scanned, cc->total_migrate_scanned);
	fl_count(mem, FL_VM_compact_daemon_free_scanned, cc->total_free_scanned);
}

void fl_compact_node(struct fl_mem *mem, struct fl_caller *who, bool proactive)
{
	struct fl_compact_control cc = {
		.order = -1,
		.gfp = FL_GFP_KERNEL,
		.mode = proactive ? FL_MIGRATE_SYNC_LIGHT : FL_MIGRATE_SYNC,
		.ignore_skip_hint = true,
		.whole_zone = true,
		.proactive_compaction = proactive,
		.highest_zoneidx = highest_populated(mem),
		.alloc_flags = FL_WMARK_MIN,
		.run_score_order = fl_proactive_score_order(mem),
	};
	struct fl_thp_orders thp;

	fl_thp_orders_of(mem, &thp);
	cc.run_always = thp.always;
	if (proactive)
		cc.order = mem->decide.proactive_order(
			&(struct fl_proactive_order_facts){ .score_order = cc.run_score_order });
	cc.search_order = cc.order;
	for (unsigned int i = 0; i < FL_ZONES && !fl_fatal_signal(who); i++) {
		if (!mem->zone[i].managed)
			continue;
		cc.zone = &mem->zone[i];
		fl_compact_zone(mem, who, &cc);
		if (proactive)
			count_daemon(mem, &cc);
	}
}

void fl_compact_memory(struct fl_mem *mem, struct fl_caller *who)
{
	uint8_t trigger = who->trigger;

	who->trigger = FL_TRIGGER_SYSCTL;
	fl_lru_add_drain_all(mem, who);
	fl_charge(who->task, mem->cpus * mem->cost->drain_cpu);
	fl_compact_node(mem, who, false);
	who->trigger = trigger;
}

/* ---- Requests: facts 1.4 ---- */

/* kcompactd_node_suitable() */
static bool node_suitable(struct fl_mem *mem, struct fl_caller *who, const struct fl_kcompactd *k, uint32_t alloc_flags)
{
	for (unsigned int i = 0; i <= k->highest_zoneidx; i++)
		if (mem->zone[i].managed &&
		    fl_compaction_suit_allocation_order(mem, who, &mem->zone[i], k->max_order, k->highest_zoneidx,
							alloc_flags, true) == FL_COMPACT_CONTINUE)
			return true;
	return false;
}

/* The mark at which the daemon asks: MIN; HIGH, in whole pageblocks, with vm.defrag_mode. */
static uint32_t daemon_alloc_flags(const struct fl_mem *mem)
{
	bool defrag = mem->set.defrag_mode && mem->decide.has_defrag_mode(&(struct fl_no_facts){ 0 });

	return defrag ? FL_WMARK_HIGH : FL_WMARK_MIN;
}

void fl_wakeup_kcompactd(struct fl_mem *mem, struct fl_caller *who, unsigned int order, unsigned int highest_zone,
			 enum fl_trigger trigger)
{
	struct fl_kcompactd *k = mem->kcompactd;

	if (!k || !order)
		return;
	if (!k->max_order)
		k->trigger = trigger;
	if (k->max_order < order)
		k->max_order = order;
	if (k->highest_zoneidx > highest_zone)
		k->highest_zoneidx = highest_zone;
	if (!fl_waitqueue_active(&k->wait))
		return;
	if (!node_suitable(mem, who, k, daemon_alloc_flags(mem)))
		return;
	FL_TRACE(mem, who, mm_compaction_wakeup_kcompactd, order, highest_zone);
	k->trigger = trigger;
	fl_wake_all(&k->wait);
}

void fl_write_compaction_proactiveness(struct fl_mem *mem, struct fl_caller *who, uint32_t value)
{
	struct fl_kcompactd *k = mem->kcompactd;

	mem->set.compaction_proactiveness = value;
	if (!k || !value || k->proactive_trigger)
		return;
	k->proactive_trigger = true;
	FL_TRACE(mem, who, mm_compaction_wakeup_kcompactd, UINT64_MAX, highest_populated(mem));
	fl_wake_all(&k->wait);
}

/* One zone of a request. cc is used for all zones one after another, so its marks leak from zone to zone, as they do. */
static void daemon_zone(struct fl_mem *mem, struct fl_caller *who, struct fl_compact_control *cc, unsigned int i)
{
	struct fl_zone *zone = &mem->zone[i];
	enum fl_compact_result status;

	if (!zone->managed || fl_compaction_deferred(mem, who, zone, cc->order) ||
	    fl_compaction_suit_allocation_order(mem, who, zone, (unsigned int)cc->order, i, cc->alloc_flags, true) !=
		    FL_COMPACT_CONTINUE)
		return;
	cc->zone = zone;
	status = fl_compact_zone(mem, who, cc);
	if (status == FL_COMPACT_SUCCESS) {
		fl_compaction_defer_reset(mem, who, zone, cc->order, false);
	} else if (status == FL_COMPACT_PARTIAL_SKIPPED || status == FL_COMPACT_COMPLETE) {
		fl_pcp_drain_all(mem, who, zone);
		fl_charge(who->task, mem->cpus * mem->cost->drain_cpu);
		fl_defer_compaction(mem, who, zone, cc->order);
	}
	count_daemon(mem, cc);
}

/* kcompactd_do_work() */
static void do_work(struct fl_mem *mem, struct fl_kcompactd *k)
{
	struct fl_compact_control cc = {
		.order = (int)k->max_order,
		.search_order = (int)k->max_order,
		.highest_zoneidx = k->highest_zoneidx,
		.mode = FL_MIGRATE_SYNC_LIGHT,
		.gfp = FL_GFP_KERNEL,
		.alloc_flags = daemon_alloc_flags(mem),
	};
	struct fl_caller *who = &k->who;

	who->trigger = k->trigger;
	FL_TRACE(mem, who, mm_compaction_kcompactd_wake, (uint64_t)cc.order, cc.highest_zoneidx);
	fl_count(mem, FL_VM_compact_daemon_wake, 1);
	for (unsigned int i = 0; i <= cc.highest_zoneidx; i++)
		daemon_zone(mem, who, &cc, i);
	if ((int)k->max_order <= cc.order)
		k->max_order = 0;
	if (k->highest_zoneidx >= cc.highest_zoneidx)
		k->highest_zoneidx = highest_populated(mem);
}

/* The timer fired, or somebody wrote the tunable: works if the score says so; returns how long to wait now. */
static fl_ns do_proactive(struct fl_mem *mem, struct fl_kcompactd *k)
{
	fl_ns timeout_ns = FL_COMPACT_CHECK_NS;

	k->who.trigger = k->proactive_trigger ? FL_TRIGGER_SYSCTL : FL_TRIGGER_TIMER;
	if (should_proactive_compact_node(mem)) {
		unsigned int before = fl_fragmentation_score_node(mem);

		fl_compact_node(mem, &k->who, true);
		if (fl_fragmentation_score_node(mem) >= before)
			timeout_ns = FL_COMPACT_CHECK_NS << FL_COMPACT_MAX_DEFER_SHIFT;
	}
	k->proactive_trigger = false;
	return timeout_ns;
}

/* Waits for a request, the trigger or the timeout; true when it is not the timeout. Wakes without a reason count on. */
static bool wait_for_work(struct fl_kcompactd *k, struct fl_task *task, fl_ns timeout_ns)
{
	fl_ns end = timeout_ns == FL_NS_FOREVER ? FL_NS_FOREVER : fl_task_now(task) + timeout_ns;

	while (!k->max_order && !k->proactive_trigger) {
		fl_ns now = fl_task_now(task);

		if (end == FL_NS_FOREVER)
			fl_wait(&k->wait, task);
		else if (now >= end || !fl_wait_timeout(&k->wait, task, end - now))
			return k->max_order || k->proactive_trigger;
	}
	return true;
}

static void kcompactd_body(struct fl_task *task, void *arg)
{
	struct fl_mem *mem = arg;
	struct fl_kcompactd *k = mem->kcompactd;
	fl_ns timeout_ns = FL_COMPACT_CHECK_NS;

	for (;;) {
		bool asked;

		if (!mem->set.compaction_proactiveness)
			timeout_ns = FL_NS_FOREVER;
		FL_TRACE(mem, &k->who, mm_compaction_kcompactd_sleep, 0);
		asked = wait_for_work(k, task, timeout_ns);
		if (asked && !k->proactive_trigger) {
			do_work(mem, k);
			timeout_ns = FL_COMPACT_CHECK_NS;
		} else {
			timeout_ns = do_proactive(mem, k);
		}
		fl_task_settle(task);
	}
}

struct fl_kcompactd *fl_kcompactd_new(struct fl_mem *mem)
{
	struct fl_kcompactd *k = fl_host_alloc(sizeof(*k));

	FL_ASSERT(mem->sim && !mem->kcompactd);
	k->highest_zoneidx = highest_populated(mem);
	k->who = (struct fl_caller){
		.task = fl_task_new(mem->sim, "kcompactd0", true),
		.flags = FL_PF_KTHREAD | FL_PF_KCOMPACTD,
		.actor = FL_ACTOR_KCOMPACTD,
		.trigger = FL_TRIGGER_TIMER,
	};
	k->who.task->owner = k;
	mem->kcompactd = k;
	fl_task_start(k->who.task, kcompactd_body, mem);
	return k;
}

void fl_kcompactd_free(struct fl_mem *mem)
{
	fl_host_free(mem->kcompactd);
	mem->kcompactd = NULL;
}

uint64_t fl_kcompactd_hash(const struct fl_mem *mem, uint64_t hash)
{
	const struct fl_kcompactd *k = mem->kcompactd;

	if (!k)
		return fl_hash_u64(hash, 0);
	hash = fl_hash_u64(hash, (uint64_t)k->max_order << 32 | k->highest_zoneidx);
	return fl_hash_u64(hash, (uint64_t)k->trigger << 1 | k->proactive_trigger);
}
