/*
 * mm/compaction.h - compaction: direct, kcompactd, proactive, manual. Mirrors mm/compaction.c.
 *
 * Four files: compaction.c has control (suitability, deferral, finish, the loop over a zone), compact_scan.c the migrate
 * scanner, compact_free.c the free scanner, kcompactd.c the daemon, the proactive score and the manual trigger. Facts:
 * kernel-facts of compaction, sections 1 to 7; where versions differ, a decision (mm/decisions.h) says which way.
 */
#ifndef FL_MM_COMPACTION_H
#define FL_MM_COMPACTION_H

#include "mm/page_alloc.h"

/* enum compact_result; the order of the numbers matters, callers take the largest over zones. */
enum fl_compact_result {
	FL_COMPACT_NOT_SUITABLE_ZONE, /* trace only */
	FL_COMPACT_SKIPPED,
	FL_COMPACT_DEFERRED,
	FL_COMPACT_NO_SUITABLE_PAGE, /* internal */
	FL_COMPACT_CONTINUE,
	FL_COMPACT_COMPLETE,        /* whole zone scanned, no page */
	FL_COMPACT_PARTIAL_SKIPPED, /* part of the zone scanned, no page */
	FL_COMPACT_CONTENDED,       /* isolation aborted, migration had no memory, fatal signal */
	FL_COMPACT_SUCCESS,
	FL_COMPACT_RESULTS
};

/* enum compact_priority: smaller tries harder. SYNC_FULL is not migrate mode SYNC. */
enum fl_compact_priority {
	FL_COMPACT_PRIO_SYNC_FULL,
	FL_COMPACT_PRIO_SYNC_LIGHT,
	FL_COMPACT_PRIO_ASYNC,
	FL_COMPACT_PRIO_MIN = FL_COMPACT_PRIO_SYNC_FULL,
	FL_COMPACT_PRIO_MIN_COSTLY = FL_COMPACT_PRIO_SYNC_LIGHT,
	FL_COMPACT_PRIO_DEF = FL_COMPACT_PRIO_SYNC_LIGHT,
	FL_COMPACT_PRIO_INIT = FL_COMPACT_PRIO_ASYNC
};

#define FL_COMPACT_CLUSTER_MAX 32u   /* pages isolated at a time; COMPACT_CLUSTER_MAX */
#define FL_COMPACT_MAX_DEFER_SHIFT 6 /* at most 63 attempts are skipped; COMPACT_MAX_DEFER_SHIFT */
#define FL_COMPACT_CHECK_NS (500 * FL_MS_NS) /* HPAGE_FRAG_CHECK_INTERVAL_MSEC */

const char *fl_compact_result_name(enum fl_compact_result result);

/* ---- Direct: called by the slow path ---- */

/*
 * __alloc_pages_direct_compact(): compacts the zones of the request and then tries the free lists once. Returns a
 * prepared page of ac->kind or FL_PFN_NONE; *ret_result is what try_to_compact_pages() said. Counts compact_stall,
 * compact_success, compact_fail. Sets and restores FL_PF_MEMALLOC and who->capture. The caller sees to it that the
 * order is above 0. May switch.
 */
fl_pfn fl_compact_direct(struct fl_mem *mem, struct fl_caller *who, const struct fl_alloc_context *ac,
			 uint32_t alloc_flags, enum fl_compact_priority priority, enum fl_compact_result *ret_result);

/* ---- Suitability: facts 2.1 ---- */

/* compact_gap(): free pages above a watermark that compaction needs. */
unsigned int fl_compact_gap(const struct fl_mem *mem, unsigned int order);

/* compaction_suitable(): would compaction of this zone for this order have targets, and is fragmentation the trouble?
 * `mark` is the asker's watermark in pages, boost included (fl_wmark_pages); 6.12 uses marks of its own instead. */
bool fl_compaction_suitable(struct fl_mem *mem, struct fl_caller *who, struct fl_zone *zone, unsigned int order,
			    uint64_t mark, unsigned int ceiling);

/* compaction_zonelist_suitable(): would some zone be suitable, at its min mark, if 1/order of what is reclaimable were free? */
bool fl_compaction_zonelist_suitable(struct fl_mem *mem, const struct fl_alloc_context *ac);

/* Free pages of a zone as a watermark test at this place sees them: NR_FREE_PAGES, or only the chunks that the decision
 * effective_free_order lets count. Also for kswapd's balance test. */
enum fl_free_test {
	FL_FREE_TEST_KSWAPD_BALANCED, /* pgdat_balanced() */
	FL_FREE_TEST_SUIT_DIRECT,     /* compaction_suit_allocation_order(), step 1 */
	FL_FREE_TEST_SUIT_KCOMPACTD,  /* the same for kcompactd */
	FL_FREE_TEST_SUIT_GAP,        /* compaction_suitable(), order-0 test */
	FL_FREE_TESTS
};
long fl_zone_effective_free_pages(const struct fl_mem *mem, const struct fl_zone *zone, enum fl_free_test test,
				  unsigned int order);

/* ---- Deferral: facts 2.3 ---- */

void fl_defer_compaction(struct fl_mem *mem, struct fl_caller *who, struct fl_zone *zone, int order);
bool fl_compaction_deferred(struct fl_mem *mem, struct fl_caller *who, struct fl_zone *zone, int order);
void fl_compaction_defer_reset(struct fl_mem *mem, struct fl_caller *who, struct fl_zone *zone, int order,
			       bool alloc_success);
bool fl_compaction_restarting(const struct fl_zone *zone, int order);

/* reset_isolation_suitable(): what kswapd does going to sleep; only zones whose flush flag is set. May switch. */
void fl_reset_isolation_suitable(struct fl_mem *mem, struct fl_caller *who);

/* ---- kcompactd, proactive, manual: facts 1.4 to 1.6 ---- */

/* The node's daemon, owned by mem; it sleeps until fl_sim_run. Needs mem->sim. Its task belongs to the simulation, which
 * goes first (the task waits on a queue in here); fl_mem_free() frees the rest if nobody did. */
struct fl_kcompactd;
struct fl_kcompactd *fl_kcompactd_new(struct fl_mem *mem);
void fl_kcompactd_free(struct fl_mem *mem);
uint64_t fl_kcompactd_hash(const struct fl_mem *mem, uint64_t hash);

/* wakeup_kcompactd(): `trigger` is remembered as the reason for the work that follows. Never switches. Without a daemon
 * nothing happens. */
void fl_wakeup_kcompactd(struct fl_mem *mem, struct fl_caller *who, unsigned int order, unsigned int highest_zone,
			 enum fl_trigger trigger);

/* A write to vm.compaction_proactiveness: sets it (0..100) and, unless 0, has the daemon look at once. */
void fl_write_compaction_proactiveness(struct fl_mem *mem, struct fl_caller *who, uint32_t value);

/* vm.compact_memory = 1: drains all LRU batches, then compacts every zone from end to end. May switch. */
void fl_compact_memory(struct fl_mem *mem, struct fl_caller *who);

/* Order that the proactive score is for; scores 0..100 of a zone and of the node; marks between which it works. */
unsigned int fl_proactive_score_order(const struct fl_mem *mem);
unsigned int fl_fragmentation_score_zone(const struct fl_zone *zone, unsigned int order);
unsigned int fl_fragmentation_score_node(const struct fl_mem *mem);
unsigned int fl_fragmentation_score_wmark(const struct fl_mem *mem, bool low);

#endif
