/*
 * mm/vmstat.h - counters under the names of /proc/vmstat, work by actor and trigger, extfrag events, trace events.
 *
 * Counters only grow and follow the kernel's increment rules (allocator.md 8, compaction-thp.md 7). Gauges (nr_*) are
 * computed when they are asked for. Mirrors mm/vmstat.c.
 */
#ifndef FL_MM_VMSTAT_H
#define FL_MM_VMSTAT_H

#include "mm/types.h"

#define FL_VM_EVENTS(X) \
	X(numa_hit) X(numa_miss) X(numa_foreign) X(numa_local) X(numa_other) \
	X(pgpgin) X(pgpgout) X(pswpin) X(pswpout) \
	X(pgalloc_dma) X(pgalloc_dma32) X(pgalloc_normal) X(pgalloc_movable) \
	X(allocstall_dma) X(allocstall_dma32) X(allocstall_normal) X(allocstall_movable) \
	X(pgskip_dma) X(pgskip_dma32) X(pgskip_normal) X(pgskip_movable) \
	X(pgfree) X(pgactivate) X(pgdeactivate) X(pglazyfree) X(pgfault) X(pgmajfault) X(pglazyfreed) \
	X(pgrefill) X(pgreuse) X(pgsteal_kswapd) X(pgsteal_direct) X(pgsteal_khugepaged) \
	X(pgscan_kswapd) X(pgscan_direct) X(pgscan_khugepaged) X(pgscan_direct_throttle) \
	X(pgscan_anon) X(pgscan_file) X(pgsteal_anon) X(pgsteal_file) \
	X(slabs_scanned) X(kswapd_inodesteal) X(kswapd_low_wmark_hit_quickly) X(kswapd_high_wmark_hit_quickly) \
	X(pageoutrun) X(pgrotated) X(nr_vmscan_write) X(nr_vmscan_immediate_reclaim) \
	X(workingset_nodes) X(workingset_refault_anon) X(workingset_refault_file) X(workingset_activate_anon) \
	X(workingset_activate_file) X(workingset_restore_anon) X(workingset_restore_file) X(workingset_nodereclaim) \
	X(nr_dirtied) X(nr_written) X(drop_pagecache) X(drop_slab) X(oom_kill) \
	X(pgmigrate_success) X(pgmigrate_fail) X(thp_migration_success) X(thp_migration_fail) X(thp_migration_split) \
	X(compact_migrate_scanned) X(compact_free_scanned) X(compact_isolated) X(compact_stall) X(compact_fail) \
	X(compact_success) X(compact_daemon_wake) X(compact_daemon_migrate_scanned) X(compact_daemon_free_scanned) \
	X(unevictable_pgs_culled) X(unevictable_pgs_scanned) X(unevictable_pgs_rescued) X(unevictable_pgs_mlocked) \
	X(unevictable_pgs_munlocked) X(unevictable_pgs_cleared) X(unevictable_pgs_stranded) \
	X(thp_fault_alloc) X(thp_fault_fallback) X(thp_fault_fallback_charge) X(thp_collapse_alloc) \
	X(thp_collapse_alloc_failed) X(thp_split_page) X(thp_split_page_failed) X(thp_deferred_split_page) \
	X(thp_underused_split_page) X(thp_split_pmd) X(thp_scan_exceed_none_pte) X(thp_scan_exceed_swap_pte) \
	X(thp_scan_exceed_share_pte) X(thp_zero_page_alloc) X(thp_zero_page_alloc_failed) X(thp_swpout) \
	X(thp_swpout_fallback) X(swap_ra) X(swap_ra_hit) X(balloon_migrate) \
	X(khugepaged_pages_collapsed) X(khugepaged_full_scans) X(khugepaged_wakeups) X(khugepaged_ranges_scanned) \
	X(khugepaged_progress) \
	X(watermark_boosts) X(fl_thp_freelist_hits)

#define FL_VM_ENUM(name) FL_VM_##name,
enum fl_vm_event { FL_VM_EVENTS(FL_VM_ENUM) FL_VM_COUNT };
#undef FL_VM_ENUM

/* Name of a counter as /proc/vmstat prints it (names with fl_ or not in the kernel's list are our own). */
const char *fl_vm_event_name(enum fl_vm_event event);

/* Per-size statistics of /sys/kernel/mm/transparent_hugepage/hugepages-<kB>kB/stats. */
#define FL_MTHP_STATS(X) \
	X(anon_fault_alloc) X(anon_fault_fallback) X(anon_fault_fallback_charge) X(zswpout) X(swpin) X(swpin_fallback) \
	X(swpin_fallback_charge) X(swpout) X(swpout_fallback) X(shmem_alloc) X(shmem_fallback) \
	X(shmem_fallback_charge) X(split) X(split_failed) X(split_deferred) X(nr_anon) X(nr_anon_partially_mapped) \
	X(collapse_alloc) X(collapse_alloc_failed) X(collapse_exceed_none_pte) X(collapse_exceed_swap_pte) \
	X(collapse_exceed_shared_pte)

#define FL_MTHP_ENUM(name) FL_MTHP_##name,
enum fl_mthp_stat { FL_MTHP_STATS(FL_MTHP_ENUM) FL_MTHP_COUNT };
#undef FL_MTHP_ENUM

const char *fl_mthp_stat_name(enum fl_mthp_stat stat);

/* Work by actor and trigger (design section 7). */
#define FL_WORK_KINDS(X) \
	X(migrate_scanned) X(free_scanned) X(migrated) X(reclaim_scanned) X(reclaimed) X(cpu_ns) X(stalls)

#define FL_WORK_ENUM(name) FL_WORK_##name,
enum fl_work { FL_WORK_KINDS(FL_WORK_ENUM) FL_WORK_COUNT };
#undef FL_WORK_ENUM

const char *fl_work_name(enum fl_work work);
const char *fl_actor_name(enum fl_actor actor);
const char *fl_trigger_name(enum fl_trigger trigger);
const char *fl_migratetype_name(unsigned int type); /* as in pagetypeinfo */
const char *fl_zone_name(unsigned int zone);        /* as in zoneinfo */

/* How a foreign chunk was taken; the last column of an extfrag event. */
enum fl_extfrag_how { FL_EXTFRAG_CLAIM, FL_EXTFRAG_STEAL, FL_EXTFRAG_HOWS };

/*
 * Trace events, named as in the kernel's tracefs. The arguments of each are listed at its name; mm only hands them to
 * the sink, the text is made elsewhere.
 */
#define FL_TRACE_EVENTS(X) \
	X(mm_page_alloc, "kmem")             /* pfn (FL_PFN_NONE: failed), order, migratetype, gfp */ \
	X(mm_page_free, "kmem")              /* pfn, order */ \
	X(mm_page_alloc_zone_locked, "kmem") /* pfn, order, migratetype, percpu_refill */ \
	X(mm_page_pcpu_drain, "kmem")        /* pfn, order, migratetype */ \
	X(mm_page_alloc_extfrag, "kmem")     /* pfn, alloc_order, fallback_order, alloc_type, fallback_type, change */ \
	X(mm_compaction_begin, "compaction") /* zone_start, migrate_pfn, free_pfn, zone_end, mode */ \
	X(mm_compaction_end, "compaction")   /* zone_start, migrate_pfn, free_pfn, zone_end, mode, status */ \
	X(mm_compaction_migratepages, "compaction")      /* migrated, failed */ \
	X(mm_compaction_try_to_compact_pages, "compaction") /* order, gfp, priority */ \
	X(mm_compaction_finished, "compaction")          /* zone, order, result */ \
	X(mm_compaction_suitable, "compaction")          /* zone, order, result */ \
	X(mm_compaction_deferred, "compaction")          /* zone, order, order_failed, considered, defer_shift */ \
	X(mm_compaction_defer_compaction, "compaction")  /* same */ \
	X(mm_compaction_defer_reset, "compaction")       /* same */ \
	X(mm_compaction_wakeup_kcompactd, "compaction")  /* order, highest_zoneidx */ \
	X(mm_compaction_kcompactd_wake, "compaction")    /* order, highest_zoneidx */ \
	X(mm_compaction_kcompactd_sleep, "compaction")   /* node */ \
	X(mm_vmscan_wakeup_kswapd, "vmscan")             /* zone, order, gfp */ \
	X(mm_vmscan_kswapd_wake, "vmscan")               /* zone, order */ \
	X(mm_vmscan_kswapd_sleep, "vmscan")              /* node */ \
	X(mm_vmscan_direct_reclaim_begin, "vmscan")      /* order, gfp */ \
	X(mm_vmscan_direct_reclaim_end, "vmscan")        /* nr_reclaimed */ \
	X(mm_vmscan_lru_shrink_inactive, "vmscan")       /* nr_scanned, nr_reclaimed, priority, is_file */ \
	X(mm_vmscan_lru_shrink_active, "vmscan")         /* nr_taken, nr_deactivated, priority, is_file */ \
	X(mm_khugepaged_scan_pmd, "huge_memory")         /* pfn, referenced, none_or_zero, status, unmapped */ \
	X(mm_collapse_huge_page, "huge_memory")          /* pfn, isolated, status */ \
	X(mark_victim, "oom")                            /* task */

#define FL_TRACE_ENUM(name, system) FL_TRACE_##name,
enum fl_trace_id { FL_TRACE_EVENTS(FL_TRACE_ENUM) FL_TRACE_COUNT };
#undef FL_TRACE_ENUM

const char *fl_trace_name(enum fl_trace_id id);
const char *fl_trace_system(enum fl_trace_id id);

struct fl_trace_event {
	uint64_t time_ns;
	enum fl_trace_id id;
	uint16_t cpu;
	uint32_t task_id;
	const char *task_name;
	uint64_t arg[6];
};

/* Receives events whose bit is set in the mask; must not change the model. */
struct fl_trace_sink {
	uint64_t mask; /* bit id: wanted */
	void (*emit)(void *arg, const struct fl_trace_event *event);
	void *arg;
};

#endif
