/*
 * kernel/version_6_12.c - Linux 6.12, late 6.12.y (6.12.117: claim and steal split).
 */
#include "kernel/base_decisions.h"
#include "kernel/versions.h"

static bool pcp_free_high(const struct fl_pcp_facts *facts)
{
	return facts->free_count >= facts->batch;
}

/* Low for costly orders, else min, whoever asks. */
static uint64_t compact_suitable_mark(const struct fl_suitable_facts *facts)
{
	return facts->gap + (facts->order > facts->costly_order ? facts->low : facts->min);
}

static unsigned int proactive_low(const struct fl_proactive_mark_facts *facts)
{
	unsigned int low = 100 - facts->proactiveness;

	return low < 5 ? 5 : low;
}

static unsigned int proactive_high(const struct fl_proactive_mark_facts *facts)
{
	return facts->low + 10 > 100 ? 100 : facts->low + 10;
}

static unsigned int effective_free_order(const struct fl_effective_free_facts *facts)
{
	(void)facts;
	return 0;
}

/* kswapd alone, at a page that it has met before, while the node is full of them. */
static bool reclaim_writes_dirty_file(const struct fl_dirty_file_facts *facts)
{
	return facts->is_kswapd && facts->reclaim_flag && facts->node_dirty;
}

static unsigned int pgd_order(const struct fl_no_facts *facts)
{
	(void)facts;
	return 1; /* page table isolation is built in: a kernel and a user half, always */
}

static const char *const contains[] = { "guard-accounting", NULL };

const struct fl_kernel_version fl_version_6_12 = {
	.name = "6.12",
	.summary = "Linux 6.12.y, late (6.12.117)",
	.contains = contains,
	.decide = {
		.claim_block = fl_base_claim_half,
		.steal_from = fl_base_steal_any,
		.capture_block = fl_base_capture_keep,
		.capture_reports_extfrag = fl_base_no,
		.guard_merge_counts = fl_base_yes,
		.merge_moves_type_count = fl_base_no,
		.isolation_keeps_type = fl_base_no,
		.highatomic_first_pass = fl_base_no,
		.highatomic_reserve_late = fl_base_no,
		.highatomic_refills_pcp = fl_base_yes,
		.pcp_free_high = pcp_free_high,
		.compact_gap = fl_base_gap_twice,
		.compact_suitable_mark = compact_suitable_mark,
		.compact_source = fl_base_source_own_type,
		.compact_skip_folio = fl_base_skip_folio,
		.compact_stall_counts_deferred = fl_base_yes,
		.proactive_score_order = fl_base_score_pmd_order,
		.proactive_low = proactive_low,
		.proactive_high = proactive_high,
		.proactive_beside_kswapd = fl_base_never_beside_kswapd,
		.proactive_order = fl_base_proactive_no_order,
		.effective_free_order = effective_free_order,
		.thp_raises_min_free = fl_base_pmd_raises_min_free,
		.min_free_for_thp = fl_base_min_free_raise,
		.has_defrag_mode = fl_base_no,
		.pgd_order = pgd_order,
		.stack_tries_high_order = fl_base_no,
		.dontneed_frees_tables = fl_base_no,
		.zero_page_write_tries_huge = fl_base_no,
		.slowpath_compacts_in_loop = fl_base_no,
		.compact_first = fl_base_compact_first,
		.reclaim_writes_dirty_file = reclaim_writes_dirty_file,
		.progress_clears_failures = fl_base_progress_always_clears,
		.kswapd_counts_failure = fl_base_failure_always_counts,
		.reclaimable_counts_free = fl_base_yes,
		.compaction_ready_adds_high = fl_base_yes,
		.swap_cache_is_xarray = fl_base_yes,
		.swap_scans_rotating = fl_base_yes,
		.khugepaged_charge = fl_base_charge_range,
		.khugepaged_refuses_lazyfree = fl_base_lazyfree_is_ordinary,
		.collapse_keeps_lazyfree = fl_base_keep_droppable,
		.collapse_needs_writable = fl_base_yes,
		.khugepaged_orders = fl_base_khugepaged_pmd_order,
		.khugepaged_collapses_mthp = fl_base_no,
		.khugepaged_leaves_disabled_at_once = fl_base_no,
		.slab_has_sheaves = fl_base_no,
	},
	.facts = {
		[FL_DECISION_claim_block] = { FL_FACT_SOURCE, "try_to_steal_block" },
		[FL_DECISION_steal_from] = { FL_FACT_SOURCE, "__rmqueue_steal" },
		[FL_DECISION_capture_block] = { FL_FACT_SOURCE, "compaction_capture" },
		[FL_DECISION_capture_reports_extfrag] = { FL_FACT_SOURCE, "compaction_capture" },
		[FL_DECISION_guard_merge_counts] = { FL_FACT_SOURCE, "__free_one_page" },
		[FL_DECISION_merge_moves_type_count] = { FL_FACT_SOURCE, "__free_one_page" },
		[FL_DECISION_isolation_keeps_type] = { FL_FACT_SOURCE, "unset_migratetype_isolate" },
		[FL_DECISION_highatomic_first_pass] = { FL_FACT_SOURCE, "prepare_alloc_pages" },
		[FL_DECISION_highatomic_reserve_late] = { FL_FACT_SOURCE, "get_page_from_freelist" },
		[FL_DECISION_highatomic_refills_pcp] = { FL_FACT_SOURCE, "__rmqueue_pcplist" },
		[FL_DECISION_pcp_free_high] = { FL_FACT_SOURCE, "free_unref_page_commit" },
		[FL_DECISION_compact_gap] = { FL_FACT_SOURCE, "compact_gap" },
		[FL_DECISION_compact_suitable_mark] = { FL_FACT_SOURCE, "__compaction_suitable" },
		[FL_DECISION_compact_source] = { FL_FACT_SOURCE, "suitable_migration_source" },
		[FL_DECISION_compact_skip_folio] = { FL_FACT_SOURCE, "skip_isolation_on_order" },
		[FL_DECISION_compact_stall_counts_deferred] = { FL_FACT_SOURCE, "__alloc_pages_direct_compact" },
		[FL_DECISION_proactive_score_order] = { FL_FACT_SOURCE, "fragmentation_score_zone" },
		[FL_DECISION_proactive_low] = { FL_FACT_SOURCE, "fragmentation_score_wmark" },
		[FL_DECISION_proactive_high] = { FL_FACT_SOURCE, "fragmentation_score_wmark" },
		[FL_DECISION_proactive_beside_kswapd] = { FL_FACT_SOURCE, "__compact_finished" },
		[FL_DECISION_proactive_order] = { FL_FACT_SOURCE, "compact_node" },
		[FL_DECISION_effective_free_order] = { FL_FACT_SOURCE, "pgdat_balanced" },
		[FL_DECISION_thp_raises_min_free] = { FL_FACT_SOURCE, "hugepage_pmd_enabled" },
		[FL_DECISION_min_free_for_thp] = { FL_FACT_SOURCE, "set_recommended_min_free_kbytes" },
		[FL_DECISION_has_defrag_mode] = { FL_FACT_SOURCE, "page_alloc_sysctl_table" },
		[FL_DECISION_pgd_order] = { FL_FACT_SOURCE, "PGD_ALLOCATION_ORDER" },
		[FL_DECISION_stack_tries_high_order] = { FL_FACT_SOURCE, "vm_area_alloc_pages" },
		[FL_DECISION_dontneed_frees_tables] = { FL_FACT_SOURCE, "zap_pte_range" },
		[FL_DECISION_zero_page_write_tries_huge] = { FL_FACT_SOURCE, "do_huge_pmd_wp_page" },
		[FL_DECISION_slowpath_compacts_in_loop] = { FL_FACT_SOURCE, "__alloc_pages_slowpath" },
		[FL_DECISION_compact_first] = { FL_FACT_SOURCE, "__alloc_pages_slowpath" },
		[FL_DECISION_reclaim_writes_dirty_file] = { FL_FACT_SOURCE, "shrink_folio_list" },
		[FL_DECISION_progress_clears_failures] = { FL_FACT_SOURCE, "shrink_node" },
		[FL_DECISION_kswapd_counts_failure] = { FL_FACT_SOURCE, "balance_pgdat" },
		[FL_DECISION_reclaimable_counts_free] = { FL_FACT_SOURCE, "zone_reclaimable_pages" },
		[FL_DECISION_compaction_ready_adds_high] = { FL_FACT_SOURCE, "compaction_ready" },
		[FL_DECISION_swap_cache_is_xarray] = { FL_FACT_SOURCE, "add_to_swap_cache" },
		[FL_DECISION_swap_scans_rotating] = { FL_FACT_SOURCE, "scan_swap_map_slots" },
		[FL_DECISION_khugepaged_charge] = { FL_FACT_SOURCE, "khugepaged_scan_mm_slot" },
		[FL_DECISION_khugepaged_refuses_lazyfree] = { FL_FACT_SOURCE, "hpage_collapse_scan_pmd" },
		[FL_DECISION_collapse_keeps_lazyfree] = { FL_FACT_SOURCE, "folio_add_new_anon_rmap" },
		[FL_DECISION_collapse_needs_writable] = { FL_FACT_SOURCE, "hpage_collapse_scan_pmd" },
		[FL_DECISION_khugepaged_orders] = { FL_FACT_SOURCE, "khugepaged_enter_vma" },
		[FL_DECISION_khugepaged_collapses_mthp] = { FL_FACT_SOURCE, "hpage_collapse_scan_pmd" },
		[FL_DECISION_khugepaged_leaves_disabled_at_once] = { FL_FACT_SOURCE, "khugepaged_scan_mm_slot" },
		[FL_DECISION_slab_has_sheaves] = { FL_FACT_SOURCE, "slab_alloc_node" },
	},
};
