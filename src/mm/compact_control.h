/*
 * mm/compact_control.h - what the four files of compaction share; for them (and tests) only.
 *
 * struct fl_compact_control is one compactor's state, on its stack: who asks for what, where both scanners stand, what
 * they have taken. Field names are the kernel's (facts 1.2). Frames that it holds: isolated folios on `migratepages`
 * (FL_ISOLATED), free chunks on `freepages` by order (FL_KIND_TARGET, in no free count).
 */
#ifndef FL_MM_COMPACT_CONTROL_H
#define FL_MM_COMPACT_CONTROL_H

#include "mm/compaction.h"
#include "mm/migrate.h"
#include "mm/watermark.h"

struct fl_compact_control {
	struct fl_zone *zone;
	fl_gfp gfp;
	int order;        /* -1: no target (manual; proactive unless a decision says otherwise) */
	int search_order; /* where the fast search of the free scanner starts */
	unsigned int migratetype;
	unsigned int highest_zoneidx;
	uint32_t alloc_flags;
	enum fl_migrate_mode mode;
	unsigned int run_score_order; /* snapshots for the skip rule of runs of whole nodes */
	uint32_t run_always;
	bool direct_compaction, proactive_compaction;
	bool whole_zone, ignore_skip_hint, ignore_block_suitable;
	bool finish_pageblock, contended;

	fl_pfn migrate_pfn, free_pfn;
	fl_pfn fast_start_pfn; /* 0: none yet, FL_PFN_NONE: used up */
	unsigned int fast_search_fail;
	unsigned int nr_migratepages, nr_freepages; /* base pages */
	uint64_t total_migrate_scanned, total_free_scanned;
	struct fl_pfn_list migratepages;
	struct fl_pfn_list freepages[FL_MAX_ORDERS];
};

/* is_via_compact_memory(): no target order. */
static inline bool fl_compact_without_order(int order)
{
	return order == -1;
}

static inline fl_pfn fl_pageblock_start(const struct fl_mem *mem, fl_pfn pfn)
{
	return pfn & ~(fl_pageblock_pages(mem) - 1);
}

static inline fl_pfn fl_pageblock_end(const struct fl_mem *mem, fl_pfn pfn)
{
	return fl_pageblock_start(mem, pfn) + fl_pageblock_pages(mem);
}

static inline bool fl_pageblock_aligned(const struct fl_mem *mem, fl_pfn pfn)
{
	return !(pfn & (fl_pageblock_pages(mem) - 1));
}

static inline bool fl_pageblock_skip(const struct fl_mem *mem, fl_pfn pfn)
{
	return fl_pageblock_of(mem, pfn)->flags & FL_PAGEBLOCK_SKIP;
}

static inline void fl_pageblock_set_skip(struct fl_mem *mem, fl_pfn pfn)
{
	fl_pageblock_of(mem, pfn)->flags |= FL_PAGEBLOCK_SKIP;
}

/* isolation_suitable(): the skip hint does not speak against this pageblock. */
static inline bool fl_isolation_suitable(const struct fl_mem *mem, const struct fl_compact_control *cc, fl_pfn pfn)
{
	return cc->ignore_skip_hint || !fl_pageblock_skip(mem, pfn);
}

/* freelist_scan_limit(): entries that a fast search looks at; fewer after each failure in a row. */
static inline unsigned int fl_freelist_scan_limit(const struct fl_compact_control *cc)
{
	return (FL_COMPACT_CLUSTER_MAX >> (cc->fast_search_fail < 31 ? cc->fast_search_fail : 31)) + 1;
}

/* compact_scanners_met() */
static inline bool fl_compact_scanners_met(const struct fl_mem *mem, const struct fl_compact_control *cc)
{
	return cc->free_pfn >> mem->pageblock_order <= cc->migrate_pfn >> mem->pageblock_order;
}

/* fatal_signal_pending(): the OOM killer chose this task. */
static inline bool fl_fatal_signal(const struct fl_caller *who)
{
	return who->flags & FL_PF_OOM_VICTIM;
}

/* pageblock_pfn_to_page(): does [start, end) lie in the zone, with memory sections behind it? */
bool fl_compact_pageblock_valid(const struct fl_mem *mem, const struct fl_zone *zone, fl_pfn start, fl_pfn end);

/* pageblock_skip_persistent(): the frame belongs to a compound page of at least pageblock order. */
bool fl_pageblock_skip_persistent(const struct fl_mem *mem, fl_pfn pfn);

/* ---- compaction.c ---- */

/* compaction_suit_allocation_order(): SUCCESS (nothing to do), SKIPPED or CONTINUE; the mark is in alloc_flags. */
enum fl_compact_result fl_compaction_suit_allocation_order(struct fl_mem *mem, struct fl_caller *who,
							   struct fl_zone *zone, unsigned int order,
							   unsigned int ceiling, uint32_t alloc_flags, bool kcompactd);

/* compact_zone(): one zone until the finish test or an abort ends it. cc says how; its counters, positions and lists are
 * set here. May switch. */
enum fl_compact_result fl_compact_zone(struct fl_mem *mem, struct fl_caller *who, struct fl_compact_control *cc);

/* __compact_finished() */
enum fl_compact_result fl_compact_finished(struct fl_mem *mem, struct fl_caller *who, struct fl_compact_control *cc);

/* try_to_compact_pages(): the zones of the request; *ret_captured is a chunk that was captured, or FL_PFN_NONE. */
enum fl_compact_result fl_try_to_compact_pages(struct fl_mem *mem, struct fl_caller *who,
					       const struct fl_alloc_context *ac, uint32_t alloc_flags,
					       enum fl_compact_priority priority, fl_pfn *ret_captured);

/* ---- compact_scan.c ---- */

/* __reset_isolation_suitable() of one zone. May switch. */
void fl_zone_reset_isolation_suitable(struct fl_mem *mem, struct fl_caller *who, struct fl_zone *zone);

enum fl_isolate_result { FL_ISOLATE_ABORT, FL_ISOLATE_NONE, FL_ISOLATE_SUCCESS };
enum fl_isolate_result fl_isolate_migratepages(struct fl_mem *mem, struct fl_caller *who,
					       struct fl_compact_control *cc);

/* ---- compact_free.c ---- */

/* compaction_alloc() and compaction_free(), the targets of migration; arg is the control. */
fl_pfn fl_compaction_alloc(struct fl_mem *mem, struct fl_caller *who, fl_pfn src, void *arg);
void fl_compaction_free(struct fl_mem *mem, struct fl_caller *who, fl_pfn dst, unsigned int order, void *arg);

/* release_free_list(): frees all targets left over, through the ordinary path; the highest pfn among them. */
fl_pfn fl_release_free_list(struct fl_mem *mem, struct fl_caller *who, struct fl_compact_control *cc);

/* isolate_freepages() and its parts, for tests. */
void fl_isolate_freepages(struct fl_mem *mem, struct fl_caller *who, struct fl_compact_control *cc);
bool fl_suitable_migration_target(const struct fl_mem *mem, const struct fl_compact_control *cc, fl_pfn block_start);

/* ---- kcompactd.c ---- */

/* The decision of that name: kswapd runs; may a proactive run start, or go on? */
bool fl_proactive_beside_kswapd(const struct fl_mem *mem, bool at_start);

/* compact_node(): all populated zones, order -1 (or what proactive_order says). May switch. */
void fl_compact_node(struct fl_mem *mem, struct fl_caller *who, bool proactive);

#endif
