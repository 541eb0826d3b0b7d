/*
 * mm/internal.h - state of reclaim, shared by the files of mm/vmscan.c: vmscan.c (lists and nodes), vmscan_folio.c (the
 * decision for each folio), kswapd.c, shrinker.c, and by workingset.c. Nobody else but their tests
 * includes this.
 */
#ifndef FL_MM_INTERNAL_H
#define FL_MM_INTERNAL_H

#include "mm/pfn_list.h"
#include "mm/swap.h"
#include "mm/vmscan.h"

/* Nothing pending: pgdat->kswapd_highest_zoneidx == MAX_NR_ZONES. */
#define FL_KSWAPD_NO_ZONE FL_ZONES

struct fl_vmscan {
	/* kswapd */
	struct fl_task *kswapd;
	struct fl_caller kswapd_caller;
	struct fl_waitqueue kswapd_wait;
	unsigned int kswapd_order, kswapd_highest, kswapd_failures;
	uint8_t kswapd_trigger;             /* of the first request that is pending */
	bool kswapd_prepared, kswapd_woken; /* between prepare_to_wait and finish_wait; a wake-up came meanwhile */
	/* PGDAT_DIRTY, PGDAT_WRITEBACK, LRUVEC_NODE_CONGESTED */
	bool node_dirty, node_writeback, node_congested;
	struct fl_waitqueue throttle[FL_THROTTLES], pfmemalloc_wait;
	unsigned int writeback_throttled;   /* tasks in FL_THROTTLE_WRITEBACK */
	uint64_t throttled_written, throttle_start; /* NR_THROTTLED_WRITTEN */
	/* struct lruvec */
	uint64_t cost[2];                   /* anon_cost, file_cost */
	uint64_t nonresident_age;
	uint64_t refaults[2];               /* snapshot_refaults() */
	/* shrinkers */
	struct fl_shrinker shrinker[FL_SHRINKERS_MAX];
	unsigned long deferred[FL_SHRINKERS_MAX];
	unsigned int shrinkers;
	/* Interrupts (I/O completions) do their work in the name of this task: its time is nobody's. */
	struct fl_task irq_task;
	struct fl_caller irq;
};

/* struct reclaim_stat */
struct fl_reclaim_stat {
	unsigned long nr_dirty, nr_unqueued_dirty, nr_congested, nr_writeback, nr_immediate, nr_pageout;
	unsigned long nr_activate[2], nr_ref_keep, nr_unmap_fail, nr_lazyfree_fail;
};

#define FL_DEACTIVATE_ANON 1u
#define FL_DEACTIVATE_FILE 2u

struct fl_scan_control {
	fl_gfp gfp;
	unsigned int order, reclaim_idx;
	int priority;
	unsigned long nr_to_reclaim;
	bool may_writepage, may_unmap, may_swap;
	unsigned int may_deactivate; /* FL_DEACTIVATE_* */
	bool force_deactivate, skipped_deactivate;
	bool cache_trim_mode, no_cache_trim_mode, cache_trim_mode_failed, file_is_tiny;
	bool compaction_ready;
	unsigned long nr_scanned, nr_reclaimed;
	struct {
		unsigned long dirty, unqueued_dirty, congested, writeback, immediate, file_taken, taken;
	} nr;
};

/* shrink_folio_list(): decides folio by folio; what is kept stays on `list`, in order. Pages reclaimed. May switch. */
unsigned long fl_shrink_folio_list(struct fl_mem *mem, struct fl_caller *who, struct fl_pfn_list *list,
				   struct fl_scan_control *sc, struct fl_reclaim_stat *stat);

/* shrink_list(): one slice of a list; pages reclaimed (of an inactive one). May switch. */
unsigned long fl_shrink_list(struct fl_mem *mem, struct fl_caller *who, enum fl_lru_list lru, unsigned long nr,
			     struct fl_scan_control *sc);
/* shrink_node(). May switch. */
void fl_shrink_node(struct fl_mem *mem, struct fl_caller *who, struct fl_scan_control *sc);
/* shrink_active_list() of anonymous folios when the inactive list is low: kswapd's ageing. May switch. */
void fl_age_active_anon(struct fl_mem *mem, struct fl_caller *who, struct fl_scan_control *sc);
/* snapshot_refaults() */
void fl_snapshot_refaults(struct fl_mem *mem);
/* can_reclaim_anon_pages() */
bool fl_can_reclaim_anon(const struct fl_mem *mem);
/* allow_direct_reclaim(): also pokes kswapd when it says no. */
bool fl_allow_direct_reclaim(struct fl_mem *mem);

/* shrink_slab(): objects freed; slab pages freed are added to *pages. May switch. */
unsigned long fl_shrink_slab(struct fl_mem *mem, struct fl_caller *who, fl_gfp gfp, int priority,
			     unsigned long *pages);
/* The shrinkers of the modelled kernel: dentries and inodes, the queue of deferred splits, the huge zero page. */
void fl_register_kernel_shrinkers(struct fl_mem *mem);

/* lru_note_cost() */
void fl_lru_note_cost(struct fl_mem *mem, bool file, unsigned long nr_io, unsigned long nr_rotated);

/* CPU time of the task so far, what it has charged but not yet paid included: for attribution of work. */
static inline uint64_t fl_task_cpu_ns(const struct fl_task *task)
{
	return task->user_ns + task->sys_ns + task->pending_ns;
}

/* Books the CPU time since `begin` (fl_task_cpu_ns()); khugepaged books its whole scan instead, what it compacts and reclaims
 * included. */
static inline void fl_work_add_cpu(struct fl_mem *mem, const struct fl_caller *who, uint64_t begin)
{
	if (who->actor != FL_ACTOR_KHUGEPAGED)
		fl_work_add(mem, who, FL_WORK_cpu_ns, fl_task_cpu_ns(who->task) - begin);
}

static inline bool fl_is_kswapd(const struct fl_caller *who)
{
	return who->flags & FL_PF_KSWAPD;
}

#endif
