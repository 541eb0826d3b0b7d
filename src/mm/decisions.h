/*
 * mm/decisions.h - every point at which Linux versions or the patches differ.
 *
 * A decision is a function pointer that gets read-only facts and returns a verdict; it never changes the machine, so a
 * wrong verdict may be bad policy but can never corrupt state (the property suite runs with random verdicts). A kernel
 * version is a complete table (src/kernel/version_*.c); a patch is a partial table laid over it (NULL: unchanged).
 * FL_DECISIONS lists all of them once: name, verdict type, facts type, one line. The struct, the overlay, the list of
 * facts and the random table of the tests are generated from it.
 *
 * The fast path (per-CPU lists, buddy lists, order-0 watermark compare) calls none of these.
 */
#ifndef FL_MM_DECISIONS_H
#define FL_MM_DECISIONS_H

#include "mm/types.h"

/* A chunk of a foreign type was found: may its pageblock be claimed? Orders below the pageblock order only. */
struct fl_claim_facts {
	unsigned int want;       /* migratetype of the request */
	unsigned int block_type;
	unsigned int found_order;
	unsigned int pages;      /* of a pageblock */
	unsigned int free;       /* pages of the block in free chunks */
	unsigned int movable;    /* pages of the block on an LRU list, or driver-movable */
	bool grouping_disabled;  /* page_group_by_mobility_disabled */
};

/* A chunk of a foreign type was found: may it be taken while the block keeps its type? */
struct fl_steal_facts {
	unsigned int want;
	unsigned int from; /* type of the list */
	unsigned int order, found_order;
	bool straddles; /* the pageblock does not lie wholly in the zone, so it can never be retyped */
	bool grouping_disabled;
};

/* A chunk of the wanted order appears while a direct compactor waits for it. */
enum fl_capture_verdict { FL_CAPTURE_REFUSE, FL_CAPTURE_TAKE, FL_CAPTURE_RETYPE };
struct fl_capture_facts {
	unsigned int want;
	unsigned int block_type; /* never Isolate */
	unsigned int order, pageblock_order;
	bool straddles;
};

/* When does a per-CPU list look like a burst of frees whose pages somebody else will want? */
struct fl_pcp_facts {
	unsigned int batch, high_min, free_count;
};

struct fl_gap_facts {
	unsigned int order;
};

/* Suitability of a zone for compaction: the order-0 test (facts 2.1 step 3). Marks in pages, boost included. */
struct fl_suitable_facts {
	unsigned int order, costly_order;
	unsigned int gap;         /* of decision compact_gap */
	uint64_t mark;            /* the asker's */
	uint64_t min, low;        /* of the zone */
};

/* THP settings as policies read them: bit o of a mask is anonymous order o. Made by fl_thp_orders_of() (sysctl.h). */
struct fl_thp_orders {
	uint32_t always, madvise, inherit;
	bool global_always, global_madvise;
	unsigned int pmd_order;
};

/* A watermark test with the free pages of a zone: from which order on do free chunks count (0: all pages do)? */
struct fl_effective_free_facts {
	unsigned int test; /* enum fl_free_test */
	unsigned int order;
	unsigned int pageblock_order;
	bool defrag_mode; /* set, on a kernel that has it */
	struct fl_thp_orders thp;
};

/* The order for which proactive compaction scores fragmentation; asked at every look. */
struct fl_score_order_facts {
	struct fl_thp_orders thp;
};

/* The marks of the proactive score, 0..100. */
struct fl_proactive_mark_facts {
	unsigned int proactiveness;
	unsigned int score_order, pmd_order;
	unsigned int low; /* for the high mark: what proactive_low said */
};

/* May proactive compaction start (or go on) while kswapd is running? */
struct fl_beside_kswapd_facts {
	bool at_start; /* the gate before a run; else the test inside it */
	unsigned int score_order, costly_order;
	struct fl_thp_orders thp;
};

/* compact_control.order of a proactive run; -1 turns off suitability, fast searches and targets kept for the order. */
struct fl_proactive_order_facts {
	unsigned int score_order;
};

/* Does isolation for migration leave this folio where it is? */
struct fl_skip_isolation_facts {
	int target_order; /* compact_control.order: -1 for proactive and manual */
	unsigned int folio_order;
	unsigned int pageblock_order;
	bool proactive;
	unsigned int run_score_order; /* score order at the start of this run */
	unsigned int score_order;     /* score order by the settings now */
	uint32_t run_always;          /* thp.always at the start of this run; proactive and manual only */
	struct fl_thp_orders thp;     /* as set now */
};

/* Does a request that may reclaim and compact do the latter first? */
struct fl_compact_first_facts {
	unsigned int order, costly_order;
	unsigned int type;
	bool order_0_ok; /* some zone of the request stands above its min mark for single pages */
	struct fl_thp_orders thp;
};

/* May a direct compactor scan this pageblock for pages to move away? */
struct fl_source_facts {
	unsigned int block_type;
	unsigned int want; /* migratetype of the request */
	int order;
	unsigned int pageblock_order;
	bool async;
};

struct fl_min_free_facts {
	uint64_t recommended_kbytes; /* of set_recommended_min_free_kbytes, capped */
	uint64_t current_kbytes;
};

/* Reclaim meets a dirty page of a file: does it start the write itself? */
struct fl_dirty_file_facts {
	bool is_kswapd;
	bool reclaim_flag; /* met before: PG_reclaim is set */
	bool node_dirty;   /* PGDAT_DIRTY: a scan met nothing but dirty pages that nobody writes */
};

/* The node made progress: is it no longer hopeless? */
struct fl_progress_facts {
	unsigned int failures; /* kswapd_failures */
	bool balanced;         /* for order and zones of this scan */
};

/* A run of kswapd reclaimed nothing: is that a failure? */
struct fl_failure_facts {
	bool boosted; /* the run began with a watermark boost */
};

/* khugepaged has looked at a range of a PMD entry: what does that cost of its budget? */
struct fl_khugepaged_charge_facts {
	unsigned int visited; /* entries looked at, the failing one included; 0: no table, or mapped huge */
	unsigned int pages;   /* of a range */
};

/* khugepaged meets a lazyfree folio: is the whole range given up? */
struct fl_khugepaged_lazyfree_facts {
	bool droppable; /* the VMA is VM_DROPPABLE */
	bool pte_dirty; /* written to since MADV_FREE */
};

/* A range collapses: does the new folio stay lazyfree? */
struct fl_collapse_lazyfree_facts {
	bool droppable;
	bool all_lazyfree; /* every present page is lazyfree and clean */
};

/* Sizes for which a VMA is of interest to khugepaged, as a mask of orders. */
struct fl_khugepaged_order_facts {
	unsigned int pmd_order;
};

/* Facts for decisions that depend on the version alone. */
struct fl_no_facts {
	char unused;
};

#define FL_DECISIONS(X) \
	X(claim_block, bool, struct fl_claim_facts, \
	  "may a request claim this partly used pageblock") \
	X(steal_from, bool, struct fl_steal_facts, \
	  "may a request take a chunk from this type and leave the pageblock's type") \
	X(capture_block, enum fl_capture_verdict, struct fl_capture_facts, \
	  "may a direct compactor capture this chunk, and does that retype its pageblock") \
	X(capture_reports_extfrag, bool, struct fl_no_facts, \
	  "does a capture of a foreign pageblock emit mm_page_alloc_extfrag") \
	X(guard_merge_counts, bool, struct fl_no_facts, \
	  "does a debug guard that merges return to the free count") \
	X(merge_moves_type_count, bool, struct fl_no_facts, \
	  "do the pages of a merged pageblock of another type move to the new type's count") \
	X(isolation_keeps_type, bool, struct fl_no_facts, \
	  "does isolation remember the type of the pageblock") \
	X(highatomic_first_pass, bool, struct fl_no_facts, \
	  "may atomic high-order requests use the highatomic reserve in the first pass") \
	X(highatomic_reserve_late, bool, struct fl_no_facts, \
	  "does the reserve grow only from the buddy lists at the min watermark") \
	X(highatomic_refills_pcp, bool, struct fl_no_facts, \
	  "does a request on the reserve refill an empty per-CPU list") \
	X(pcp_free_high, bool, struct fl_pcp_facts, \
	  "has this CPU freed so much in a row that high-order pages leave its lists") \
	X(compact_gap, unsigned int, struct fl_gap_facts, \
	  "free pages above the watermark that compaction needs (compact_gap)") \
	X(compact_suitable_mark, uint64_t, struct fl_suitable_facts, \
	  "free pages that compaction_suitable asks for, without the lowmem reserve") \
	X(compact_source, bool, struct fl_source_facts, \
	  "may a direct compactor move pages out of this pageblock") \
	X(compact_skip_folio, bool, struct fl_skip_isolation_facts, \
	  "does isolation leave a folio of this order where it is") \
	X(compact_stall_counts_deferred, bool, struct fl_no_facts, \
	  "does an attempt that was deferred in every zone count as compact_stall") \
	X(proactive_score_order, unsigned int, struct fl_score_order_facts, \
	  "order for which proactive compaction scores fragmentation") \
	X(proactive_low, unsigned int, struct fl_proactive_mark_facts, \
	  "score at which proactive compaction of a zone stops") \
	X(proactive_high, unsigned int, struct fl_proactive_mark_facts, \
	  "score of the node above which proactive compaction starts") \
	X(proactive_beside_kswapd, bool, struct fl_beside_kswapd_facts, \
	  "may proactive compaction start or go on while kswapd runs") \
	X(proactive_order, int, struct fl_proactive_order_facts, \
	  "target order of a proactive run, -1 for none") \
	X(effective_free_order, unsigned int, struct fl_effective_free_facts, \
	  "smallest free chunks that a watermark test of compaction or kswapd counts") \
	X(thp_raises_min_free, bool, struct fl_thp_orders, \
	  "do these THP settings raise min_free_kbytes and start khugepaged") \
	X(min_free_for_thp, uint64_t, struct fl_min_free_facts, \
	  "min_free_kbytes after the recommendation for THP") \
	X(has_defrag_mode, bool, struct fl_no_facts, \
	  "does vm.defrag_mode exist") \
	X(pgd_order, unsigned int, struct fl_no_facts, \
	  "order of a page global directory") \
	X(stack_tries_high_order, bool, struct fl_no_facts, \
	  "does a kernel stack first ask for one order-2 page") \
	X(dontneed_frees_tables, bool, struct fl_no_facts, \
	  "does MADV_DONTNEED of a whole table's range free the table") \
	X(zero_page_write_tries_huge, bool, struct fl_no_facts, \
	  "does a write to the huge zero page ask for a huge folio") \
	X(slowpath_compacts_in_loop, bool, struct fl_no_facts, \
	  "is the first compaction of the slow path a pass of its loop, so that NORETRY requests still reclaim once") \
	X(compact_first, bool, struct fl_compact_first_facts, \
	  "does a request in the slow path compact before it reclaims") \
	X(reclaim_writes_dirty_file, bool, struct fl_dirty_file_facts, \
	  "does reclaim write a dirty file page that it meets") \
	X(progress_clears_failures, bool, struct fl_progress_facts, \
	  "does progress end the hopelessness of a node") \
	X(kswapd_counts_failure, bool, struct fl_failure_facts, \
	  "is a run of kswapd that reclaimed nothing a failure") \
	X(reclaimable_counts_free, bool, struct fl_no_facts, \
	  "do free pages stand for reclaimable ones in a zone without LRU pages") \
	X(compaction_ready_adds_high, bool, struct fl_no_facts, \
	  "does direct reclaim ask for the high mark and the gap besides suitability before it leaves off for compaction") \
	X(swap_cache_is_xarray, bool, struct fl_no_facts, \
	  "is the swap cache an xarray with leaves from slab instead of a table for each cluster") \
	X(swap_scans_rotating, bool, struct fl_no_facts, \
	  "are the slots of a rotating disk found by scanning it, with caches of 64 for each CPU, instead of by clusters") \
	X(khugepaged_charge, unsigned int, struct fl_khugepaged_charge_facts, \
	  "what a scanned range costs of khugepaged's pages_to_scan") \
	X(khugepaged_refuses_lazyfree, bool, struct fl_khugepaged_lazyfree_facts, \
	  "does khugepaged give up a range at this lazyfree page") \
	X(collapse_keeps_lazyfree, bool, struct fl_collapse_lazyfree_facts, \
	  "does the folio of a collapsed range stay lazyfree") \
	X(collapse_needs_writable, bool, struct fl_no_facts, \
	  "must a range have a writable entry to be collapsed") \
	X(khugepaged_orders, uint32_t, struct fl_khugepaged_order_facts, \
	  "sizes that make a VMA a matter for khugepaged, as a mask") \
	X(khugepaged_collapses_mthp, bool, struct fl_no_facts, \
	  "does khugepaged collapse to sizes below the PMD's") \
	X(khugepaged_leaves_disabled_at_once, bool, struct fl_no_facts, \
	  "does khugepaged leave an address space at once when THP is found disabled for it in mid-scan") \
	X(slab_has_sheaves, bool, struct fl_no_facts, \
	  "are slab objects cached in per-CPU sheaves instead of CPU partial slabs")

#define FL_DECISION_MEMBER(name, verdict, facts, line) verdict (*name)(const facts *);
struct fl_decisions {
	FL_DECISIONS(FL_DECISION_MEMBER)
};
#undef FL_DECISION_MEMBER

#define FL_DECISION_ENUM(name, verdict, facts, line) FL_DECISION_##name,
enum fl_decision_id { FL_DECISIONS(FL_DECISION_ENUM) FL_DECISION_COUNT };
#undef FL_DECISION_ENUM

/* Lays the decisions that `patch` has over `table`. */
void fl_decisions_overlay(struct fl_decisions *table, const struct fl_decisions *patch);

/* The name of the first decision that `table` lacks, or NULL when it is complete. */
const char *fl_decisions_missing(const struct fl_decisions *table);

/* Name and line of a decision. */
const char *fl_decision_name(unsigned int i);
const char *fl_decision_line(unsigned int i);

/* Whether a partial table has decision i. */
bool fl_decisions_has(const struct fl_decisions *table, unsigned int i);

#endif
