/*
 * mm/mem.h - the modelled memory: frames, pageblocks, zones, per-CPU lists, settings and counters of one node.
 *
 * struct fl_mem is what the kernel keeps in pg_data_t, mem_section and its global variables. It is made from a
 * geometry (plain data), boots as the kernel does (allocator.md 1.6) and is then changed only through the files of
 * this room. All work is done in the name of a caller (struct fl_caller): the task that pays for it.
 *
 * Switching: functions of this room charge time with fl_charge(), which never switches tasks; only functions whose
 * comment says "may switch" contain preemption points, and hold no half-changed list across them.
 */
#ifndef FL_MM_MEM_H
#define FL_MM_MEM_H

#include "mm/spinlock.h"
#include "mm/decisions.h"
#include "mm/frame.h"
#include "mm/types.h"
#include "mm/vmstat.h"
#include "sim/cost.h"
#include "sim/sim.h"

struct fl_mem;
struct fl_zone;
struct fl_kcompactd;
struct fl_lru;
struct fl_mm_table;
struct fl_pagetables;
struct fl_slabs;
struct fl_thp_state;
struct fl_ipc_table;
struct fl_dcache;
struct fl_stack_cache;
struct fl_khugepaged;

/* Geometry of a machine: plain data, made by the machine room. */
#define FL_GEOMETRY_RANGES 64
struct fl_pfn_range {
	fl_pfn start, end; /* [start, end) */
};
struct fl_geometry {
	unsigned int page_shift;      /* 12, 14 or 16 */
	unsigned int pageblock_order; /* 9, 11 or 13 */
	unsigned int max_order;       /* MAX_PAGE_ORDER: 10, 11 or 13 */
	unsigned int pmd_order;       /* order of a PMD-mapped huge page */
	unsigned int cpus;
	struct fl_pfn_range zone[FL_ZONES]; /* spans; empty where start == end */
	unsigned int ranges_count, reserved_count;
	struct fl_pfn_range ranges[FL_GEOMETRY_RANGES];   /* present memory, rising, not overlapping */
	struct fl_pfn_range reserved[FL_GEOMETRY_RANGES]; /* inside ranges: never managed */
	unsigned int guard_minorder; /* debug_guardpage_minorder, 0: off */
	unsigned int cpu_cache_kbytes; /* a CPU's share of data cache, 0: 2048 (only burst detection of per-CPU lists) */
};

/* The caller: current task, what it is allowed to do, and on whose account work goes. */
#define FL_PF_MEMALLOC (1u << 0) /* may ignore watermarks; set while reclaiming or compacting */
#define FL_PF_KTHREAD (1u << 1)
#define FL_PF_OOM_VICTIM (1u << 2)
#define FL_PF_KSWAPD (1u << 3)
#define FL_PF_KCOMPACTD (1u << 4)
#define FL_PF_RT (1u << 5)

/* Published by a direct compactor; filled by a free of the same caller (compaction-thp.md 6). */
struct fl_capture {
	unsigned int zone, order, type;
	fl_pfn pfn; /* FL_PFN_NONE until something was captured */
};

struct fl_caller {
	struct fl_task *task;
	uint32_t flags; /* FL_PF_* */
	uint8_t actor;  /* enum fl_actor */
	uint8_t trigger;
	uint16_t nr_dirtied; /* pages of files since it last looked at the dirty limits */
	struct fl_capture *capture;
	struct fl_plug *plug; /* swap writes that wait to be submitted together (page_io.h), or NULL */
};

/* A pageblock. The counts make the half rule and the census cheap; check.c proves them. */
struct fl_pageblock {
	uint16_t free;      /* pages in chunks on the buddy lists */
	uint16_t lru;       /* pages on LRU lists (FL_LRU set) and driver-movable pages */
	uint16_t unmovable; /* pages allocated with an unmovable kind */
	uint8_t type;       /* the type it has when it is not isolated */
	uint8_t flags;
};
#define FL_PAGEBLOCK_SKIP (1u << 0)     /* compaction's skip hint */
#define FL_PAGEBLOCK_ISOLATED (1u << 1)
#define FL_PAGEBLOCK_STRADDLES (1u << 2) /* does not lie wholly inside its zone */

/* Per-CPU lists of one zone (struct per_cpu_pages). */
#define FL_PCP_CACHED_ORDERS 4 /* orders 0..3, three types each, and the PMD order: non-movable and movable */
#define FL_PCP_LISTS (FL_PCPTYPES * FL_PCP_CACHED_ORDERS + 2)
struct fl_pcp_list { /* a deque of pfns in a ring: head is next to be allocated, tail is drained */
	uint32_t *ring;
	uint32_t slots; /* of the ring: a power of two, or 0 */
	uint32_t head, count;
};
struct fl_pcp {
	struct fl_pcp_list list[FL_PCP_LISTS];
	int count; /* base pages over all lists */
	int high, high_min, high_max, batch;
	int free_count;
	uint8_t alloc_factor;
	bool prev_free_high_order; /* the last free was of order 1..3 */
	bool free_high_batch;      /* FREE_HIGH_BATCH: the CPU's share of the cache holds more than 3 batches */
};

enum fl_wmark { FL_WMARK_MIN, FL_WMARK_LOW, FL_WMARK_HIGH, FL_WMARK_PROMO, FL_WMARKS };

#define FL_ZONE_BOOSTED_WATERMARK (1u << 0)
#define FL_ZONE_RECLAIM_ACTIVE (1u << 1)
#define FL_ZONE_BELOW_HIGH (1u << 2)

/* Compaction state of a zone (struct zone). */
struct fl_zone_compact {
	fl_pfn cached_migrate_pfn[2]; /* async, sync */
	fl_pfn cached_free_pfn;
	fl_pfn init_migrate_pfn, init_free_pfn;
	unsigned int considered, defer_shift;
	int order_failed;
	bool blockskip_flush;
};

struct fl_zone {
	unsigned int index; /* enum fl_zone_index */
	fl_pfn start, end;  /* span */
	uint32_t spanned, present, managed;
	struct fl_spinlock lock;
	uint32_t heads; /* first of the list heads: [type][order] */
	uint32_t nonempty[FL_MIGRATETYPES]; /* bit o: the list of order o holds something */
	uint32_t nr_free[FL_MAX_ORDERS];    /* chunks by order, all types */
	long nr_free_pages;                 /* NR_FREE_PAGES: guards, per-CPU pages and isolated chunks are not in it */
	long nr_free_pages_blocks;          /* NR_FREE_PAGES_BLOCKS: in chunks of at least pageblock order */
	long type_count[FL_MIGRATETYPES];   /* diagnostic: free pages by type as accounting sees them */
	long nr_free_highatomic;
	long nr_reserved_highatomic;
	long nr_isolated_free;              /* pages on Isolate lists */
	uint64_t wmark[FL_WMARKS];
	uint64_t watermark_boost;
	uint64_t lowmem_reserve[FL_ZONES];
	uint32_t flags;
	struct fl_zone_compact compact;
	struct fl_pcp *pcp; /* one a CPU */
};

/* The tunables of the model: vm.* sysctls and THP settings; reset by name through sysctl.c. */
struct fl_settings {
	uint64_t min_free_kbytes;      /* in force */
	int64_t user_min_free_kbytes;  /* -1: never written */
	uint32_t watermark_scale_factor, watermark_boost_factor;
	uint32_t lowmem_reserve_ratio[FL_ZONES];
	uint32_t percpu_pagelist_high_fraction;
	uint32_t extfrag_threshold;
	uint32_t compaction_proactiveness;
	uint32_t compact_unevictable_allowed;
	uint32_t defrag_mode;
	uint32_t swappiness, vfs_cache_pressure, page_cluster;
	uint32_t dirty_ratio, dirty_background_ratio, dirty_expire_centisecs, dirty_writeback_centisecs;
	uint32_t overcommit_memory;
	uint32_t thp_enabled; /* enum fl_thp_enabled: global */
	uint32_t thp_defrag;  /* enum fl_thp_defrag */
	uint32_t thp_size[FL_MAX_ORDERS]; /* enum fl_thp_size of each anonymous order */
	uint32_t thp_use_zero_page, thp_shrink_underused;
	uint32_t khugepaged_defrag, khugepaged_pages_to_scan, khugepaged_scan_sleep_ms, khugepaged_alloc_sleep_ms;
	uint32_t khugepaged_max_ptes_none, khugepaged_max_ptes_swap, khugepaged_max_ptes_shared;
	uint32_t grouping_disabled; /* page_group_by_mobility_disabled, computed at boot */
};
enum fl_thp_enabled { FL_THP_NEVER, FL_THP_MADVISE, FL_THP_ALWAYS };
enum fl_thp_size { FL_THP_SIZE_NEVER, FL_THP_SIZE_MADVISE, FL_THP_SIZE_ALWAYS, FL_THP_SIZE_INHERIT };
enum fl_thp_defrag {
	FL_THP_DEFRAG_NEVER,
	FL_THP_DEFRAG_MADVISE,
	FL_THP_DEFRAG_DEFER,
	FL_THP_DEFRAG_DEFER_MADVISE,
	FL_THP_DEFRAG_ALWAYS
};

struct fl_mem {
	struct fl_frames frames;
	struct fl_pageblock *pageblock;
	uint32_t pageblocks;
	struct fl_zone zone[FL_ZONES];
	struct fl_zone *preferred[FL_ZONES]; /* by ceiling: the highest populated zone at or below it */
	unsigned int page_shift, pageblock_order, max_order, pmd_order, cpus;
	unsigned int guard_minorder;
	struct fl_decisions decide;
	struct fl_settings set;
	const struct fl_cost *cost;
	struct fl_sim *sim; /* NULL in benches and unit tests without time */
	uint64_t vm[FL_VM_COUNT];
	uint64_t mthp[FL_MAX_ORDERS][FL_MTHP_COUNT];
	uint64_t work[FL_WORK_COUNT][FL_ACTORS][FL_TRIGGERS];
	uint64_t extfrag[FL_MIGRATETYPES][FL_MIGRATETYPES][FL_MAX_ORDERS][FL_EXTFRAG_HOWS]; /* [want][taken][order] */
	struct fl_trace_sink trace;
	struct fl_geometry geometry;
	struct fl_kcompactd *kcompactd; /* NULL until made (compaction.h) */
	struct fl_vmscan *vmscan;       /* reclaim: vmscan.h */
	struct fl_swap *swap;           /* swapfile.h */
	struct fl_filemap *filemap;     /* filemap.h */
	struct fl_writeback *writeback; /* page_writeback.h */
	struct fl_oom *oom;             /* oom_kill.h */
	/* Made by fl_proc_init (proc.h). */
	struct fl_lru *lru;              /* swap.h */
	struct fl_mm_table *mms;         /* mmap.h */
	struct fl_pagetables *pagetables; /* pagetable.h */
	struct fl_slabs *slab;           /* slab.h */
	struct fl_thp_state *thp;        /* huge_memory.h */
	struct fl_khugepaged *khugepaged; /* khugepaged.h */
	struct fl_ipc_table *ipc;        /* ipc.h */
	struct fl_dcache *dcache;        /* dcache.h */
	struct fl_stack_cache *stacks;   /* process.h: one a CPU */
	struct fl_spinlock lru_lock;
	struct fl_waitqueue migration_wq; /* faults that met FL_MIGRATING */
};

/* What mem is made with. `decide` must be complete. Cost table and simulation are borrowed. */
struct fl_mem_config {
	const struct fl_geometry *geometry;
	const struct fl_decisions *decide;
	const struct fl_settings *settings; /* NULL: defaults of the kernel */
	const struct fl_cost *cost;
	struct fl_sim *sim;
};

/* Settings as the kernel boots with them (THP always or madvise is the scenario's choice). */
void fl_settings_init(struct fl_settings *set, const struct fl_geometry *geometry);

/* Makes the memory of a machine and boots it: all pageblocks Movable, lists in rising pfn, watermarks, per-CPU sizes.
 * Models memmap_init_range, memblock_free_all, build_all_zonelists, init_per_zone_wmark_min (6.12, 7.3). */
struct fl_mem *fl_mem_new(const struct fl_mem_config *config);
void fl_mem_free(struct fl_mem *mem);

/* 64-bit hash of all state that rules read (never padding; not the contents of unused fields). */
uint64_t fl_mem_hash(const struct fl_mem *mem);

static inline uint32_t fl_pageblock_pages(const struct fl_mem *mem)
{
	return 1u << mem->pageblock_order;
}

static inline struct fl_pageblock *fl_pageblock_of(const struct fl_mem *mem, fl_pfn pfn)
{
	return &mem->pageblock[pfn >> mem->pageblock_order];
}

/* get_pfnblock_migratetype(): Isolate while the pageblock is isolated. */
static inline unsigned int fl_pageblock_type(const struct fl_mem *mem, fl_pfn pfn)
{
	const struct fl_pageblock *b = fl_pageblock_of(mem, pfn);

	return FL_UNLIKELY(b->flags & FL_PAGEBLOCK_ISOLATED) ? FL_ISOLATE : b->type;
}

/* page_zone() */
static inline struct fl_zone *fl_zone_of(struct fl_mem *mem, fl_pfn pfn)
{
	struct fl_zone *zone = &mem->zone[FL_ZONE_NORMAL];

	if (FL_LIKELY(pfn - zone->start < zone->spanned))
		return zone;
	for (zone = mem->zone; zone < mem->zone + FL_ZONES; zone++)
		if (pfn - zone->start < zone->spanned)
			return zone;
	fl_bug(__FILE__, __LINE__, "pfn lies in a zone", "");
}

static inline uint32_t fl_free_list(const struct fl_zone *zone, unsigned int type, unsigned int order)
{
	return zone->heads + type * FL_MAX_ORDERS + order;
}

static inline void fl_count(struct fl_mem *mem, enum fl_vm_event event, uint64_t n)
{
	mem->vm[event] += n;
}

static inline void fl_work_add(struct fl_mem *mem, const struct fl_caller *who, enum fl_work what, uint64_t n)
{
	mem->work[what][who->actor][who->trigger] += n;
}

static inline unsigned int fl_caller_cpu(const struct fl_caller *who)
{
	return who->task->cpu;
}

/* Does somebody listen to this event? */
static inline bool fl_trace_wants(const struct fl_mem *mem, enum fl_trace_id id)
{
	return mem->trace.mask >> id & 1;
}

/* Short ways serve the usual case in one step, with the same effects as the long way that serves every case, but for the
 * events of single pages. They are taken only while nobody listens to those: so a traced run goes the long ways (and tests
 * compare the two). */
#define FL_TRACE_PAGES \
	(UINT64_C(1) << FL_TRACE_mm_page_alloc | UINT64_C(1) << FL_TRACE_mm_page_free | \
	 UINT64_C(1) << FL_TRACE_mm_page_alloc_zone_locked | UINT64_C(1) << FL_TRACE_mm_page_pcpu_drain | \
	 UINT64_C(1) << FL_TRACE_mm_page_alloc_extfrag)
static inline bool fl_may_shorten(const struct fl_mem *mem)
{
	return FL_LIKELY(!(mem->trace.mask & FL_TRACE_PAGES));
}

/* Emits a trace event if somebody listens. */
#define FL_TRACE(mem, who, name, ...) \
	do { \
		if (FL_UNLIKELY(fl_trace_wants((mem), FL_TRACE_##name))) \
			fl_trace_emit((mem), (who), FL_TRACE_##name, (const uint64_t[6]){ __VA_ARGS__ }); \
	} while (0)
void fl_trace_emit(struct fl_mem *mem, const struct fl_caller *who, enum fl_trace_id id, const uint64_t arg[6]);

#endif
