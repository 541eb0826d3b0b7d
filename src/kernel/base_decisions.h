/*
 * kernel/base_decisions.h - decisions that several base versions share, written once.
 */
#ifndef FL_KERNEL_BASE_DECISIONS_H
#define FL_KERNEL_BASE_DECISIONS_H

#include "mm/decisions.h"

bool fl_base_yes(const struct fl_no_facts *facts);
bool fl_base_no(const struct fl_no_facts *facts);

/* The half rule: free pages and pages of the wanted kind fill at least half of the pageblock. */
bool fl_base_claim_half(const struct fl_claim_facts *facts);
/* Any foreign chunk may be taken. */
bool fl_base_steal_any(const struct fl_steal_facts *facts);
/* Below pageblock order a non-movable request does not capture from a movable pageblock; types stay. */
enum fl_capture_verdict fl_base_capture_keep(const struct fl_capture_facts *facts);
/* The larger of the recommendation and what is in force. */
uint64_t fl_base_min_free_raise(const struct fl_min_free_facts *facts);
/* Folios of the target order or more, and of pageblock order, stay. */
bool fl_base_skip_folio(const struct fl_skip_isolation_facts *facts);
unsigned int fl_base_score_pmd_order(const struct fl_score_order_facts *facts);
bool fl_base_never_beside_kswapd(const struct fl_beside_kswapd_facts *facts);
int fl_base_proactive_no_order(const struct fl_proactive_order_facts *facts);
/* NR_FREE_PAGES_BLOCKS under vm.defrag_mode: for kswapd's balance and for kcompactd, not for direct compaction. */
unsigned int fl_base_effective_free(const struct fl_effective_free_facts *facts);
/* Costly orders, and every order of what cannot move. */
bool fl_base_compact_first(const struct fl_compact_first_facts *facts);

/* What a range costs of khugepaged's budget: its pages, whatever was looked at (6.12) or the entries looked at (7.3). */
unsigned int fl_base_charge_range(const struct fl_khugepaged_charge_facts *facts);
unsigned int fl_base_charge_visited(const struct fl_khugepaged_charge_facts *facts);
/* Lazyfree pages are like any others (6.12), or one clean one outside VM_DROPPABLE is enough to give up (7.3). */
bool fl_base_lazyfree_is_ordinary(const struct fl_khugepaged_lazyfree_facts *facts);
bool fl_base_refuse_clean_lazyfree(const struct fl_khugepaged_lazyfree_facts *facts);
/* Only memory that is born lazyfree stays so. */
bool fl_base_keep_droppable(const struct fl_collapse_lazyfree_facts *facts);

/* 6.12 and 6.18 */
/* Twice the request. */
unsigned int fl_base_gap_twice(const struct fl_gap_facts *facts);
/* An asynchronous direct compactor empties pageblocks of the type that it asks for. */
bool fl_base_source_own_type(const struct fl_source_facts *facts);
/* hugepage_pmd_enabled(): only the PMD size counts. */
bool fl_base_pmd_raises_min_free(const struct fl_thp_orders *orders);
bool fl_base_progress_always_clears(const struct fl_progress_facts *facts);
bool fl_base_failure_always_counts(const struct fl_failure_facts *facts);
uint32_t fl_base_khugepaged_pmd_order(const struct fl_khugepaged_order_facts *facts);

/* 6.18 and 7.3 */
/* A batch, and half of the smallest high mark. */
bool fl_base_free_high_late(const struct fl_pcp_facts *facts);
/* The caller's mark, and the distance of low from min on top of it for costly orders. */
uint64_t fl_base_suitable_askers_mark(const struct fl_suitable_facts *facts);
/* No floor, and a leeway that shrinks with the low mark. */
unsigned int fl_base_proactive_low(const struct fl_proactive_mark_facts *facts);
unsigned int fl_base_proactive_high(const struct fl_proactive_mark_facts *facts);
/* Flusher threads do it. */
bool fl_base_never_writes_file(const struct fl_dirty_file_facts *facts);
/* CPUs that need page table isolation get order 1; those of today do not. */
unsigned int fl_base_pgd_single(const struct fl_no_facts *facts);

#endif
