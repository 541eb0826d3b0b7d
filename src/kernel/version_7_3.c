/*
 * kernel/version_7_3.c - Linux 7.3 (7.3.4), the default base.
 */
#include "kernel/base_decisions.h"
#include "kernel/versions.h"

static unsigned int compact_gap(const struct fl_gap_facts *facts)
{
	unsigned int gap = 2u << facts->order;

	return gap < 32 ? gap : 32; /* COMPACT_CLUSTER_MAX */
}

/* Whole pageblocks may be emptied out of movable ones, whoever asks. */
static bool compact_source(const struct fl_source_facts *facts)
{
	if (!facts->async)
		return true;
	if (facts->want == FL_MOVABLE || facts->order >= (int)facts->pageblock_order)
		return facts->block_type == FL_MOVABLE;
	return facts->block_type == facts->want;
}

/* hugepage_enabled(): the global switch alone, or any anonymous size. */
static bool thp_raises_min_free(const struct fl_thp_orders *orders)
{
	return orders->global_always || orders->global_madvise || orders->always || orders->madvise;
}

static bool progress_clears_failures(const struct fl_progress_facts *facts)
{
	return facts->balanced;
}

/* A boosted run leaves most pages alone on purpose. */
static bool kswapd_counts_failure(const struct fl_failure_facts *facts)
{
	return !facts->boosted;
}

/* Every anonymous size from order 2 up. */
static uint32_t khugepaged_orders(const struct fl_khugepaged_order_facts *facts)
{
	return (2u << facts->pmd_order) - 4u;
}

static const char *const contains[] = { "guard-accounting", "lazyfree-skip", "khugepaged-progress", NULL };

const struct fl_kernel_version fl_version_7_3 = {
	.name = "7.3",
	.summary = "Linux 7.3 (7.3.4)",
	.contains = contains,
	.decide = {
		.claim_block = fl_base_claim_half,
		.steal_from = fl_base_steal_any,
		.capture_block = fl_base_capture_keep,
		.capture_reports_extfrag = fl_base_yes,
		.guard_merge_counts = fl_base_yes,
		.merge_moves_type_count = fl_base_no,
		.isolation_keeps_type = fl_base_yes,
		.highatomic_first_pass = fl_base_yes,
		.highatomic_reserve_late = fl_base_yes,
		.highatomic_refills_pcp = fl_base_no,
		.pcp_free_high = fl_base_free_high_late,
		.compact_gap = compact_gap,
		.compact_suitable_mark = fl_base_suitable_askers_mark,
		.compact_source = compact_source,
		.compact_skip_folio = fl_base_skip_folio,
		.compact_stall_counts_deferred = fl_base_no,
		.proactive_score_order = fl_base_score_pmd_order,
		.proactive_low = fl_base_proactive_low,
		.proactive_high = fl_base_proactive_high,
		.proactive_beside_kswapd = fl_base_never_beside_kswapd,
		.proactive_order = fl_base_proactive_no_order,
		.effective_free_order = fl_base_effective_free,
		.thp_raises_min_free = thp_raises_min_free,
		.min_free_for_thp = fl_base_min_free_raise,
		.has_defrag_mode = fl_base_yes,
		.pgd_order = fl_base_pgd_single,
		.stack_tries_high_order = fl_base_yes,
		.dontneed_frees_tables = fl_base_yes,
		.zero_page_write_tries_huge = fl_base_yes,
		.slowpath_compacts_in_loop = fl_base_yes,
		.compact_first = fl_base_compact_first,
		.reclaim_writes_dirty_file = fl_base_never_writes_file,
		.progress_clears_failures = progress_clears_failures,
		.kswapd_counts_failure = kswapd_counts_failure,
		.reclaimable_counts_free = fl_base_no,
		.compaction_ready_adds_high = fl_base_no,
		.swap_cache_is_xarray = fl_base_no,
		.swap_scans_rotating = fl_base_no,
		.khugepaged_charge = fl_base_charge_visited,
		.khugepaged_refuses_lazyfree = fl_base_refuse_clean_lazyfree,
		.collapse_keeps_lazyfree = fl_base_keep_droppable,
		.collapse_needs_writable = fl_base_no,
		.khugepaged_orders = khugepaged_orders,
		.khugepaged_collapses_mthp = fl_base_yes,
		.khugepaged_leaves_disabled_at_once = fl_base_yes,
		.slab_has_sheaves = fl_base_yes,
	},
	.facts = {
		[FL_DECISION_claim_block] = { FL_FACT_SOURCE, "try_to_claim_block" },
		[FL_DECISION_steal_from] = { FL_FACT_SOURCE, "__rmqueue_steal" },
		[FL_DECISION_capture_block] = { FL_FACT_SOURCE, "compaction_capture" },
		[FL_DECISION_capture_reports_extfrag] = { FL_FACT_SOURCE, "compaction_capture" },
		[FL_DECISION_guard_merge_counts] = { FL_FACT_SOURCE, "__free_one_page" },
		[FL_DECISION_merge_moves_type_count] = { FL_FACT_SOURCE, "__free_one_page" },
		[FL_DECISION_isolation_keeps_type] = { FL_FACT_SOURCE, "pageblock_unisolate_and_move_free_pages" },
		[FL_DECISION_highatomic_first_pass] = { FL_FACT_SOURCE, "prepare_alloc_pages" },
		[FL_DECISION_highatomic_reserve_late] = { FL_FACT_SOURCE, "rmqueue_buddy" },
		[FL_DECISION_highatomic_refills_pcp] = { FL_FACT_SOURCE, "__rmqueue_pcplist" },
		[FL_DECISION_pcp_free_high] = { FL_FACT_SOURCE, "free_frozen_page_commit" },
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
		[FL_DECISION_thp_raises_min_free] = { FL_FACT_SOURCE, "hugepage_enabled" },
		[FL_DECISION_min_free_for_thp] = { FL_FACT_SOURCE, "set_recommended_min_free_kbytes" },
		[FL_DECISION_has_defrag_mode] = { FL_FACT_SOURCE, "page_alloc_sysctl_table" },
		[FL_DECISION_pgd_order] = { FL_FACT_SOURCE, "pgd_allocation_order" },
		[FL_DECISION_stack_tries_high_order] = { FL_FACT_SOURCE, "vm_area_alloc_pages" },
		[FL_DECISION_dontneed_frees_tables] = { FL_FACT_SOURCE, "zap_pte_range" },
		[FL_DECISION_zero_page_write_tries_huge] = { FL_FACT_SOURCE, "do_huge_zero_wp_pmd" },
		[FL_DECISION_slowpath_compacts_in_loop] = { FL_FACT_SOURCE, "__alloc_pages_slowpath" },
		[FL_DECISION_compact_first] = { FL_FACT_SOURCE, "__alloc_pages_slowpath" },
		[FL_DECISION_reclaim_writes_dirty_file] = { FL_FACT_SOURCE, "shrink_folio_list" },
		[FL_DECISION_progress_clears_failures] = { FL_FACT_SOURCE, "shrink_node" },
		[FL_DECISION_kswapd_counts_failure] = { FL_FACT_SOURCE, "balance_pgdat" },
		[FL_DECISION_reclaimable_counts_free] = { FL_FACT_SOURCE, "zone_reclaimable_pages" },
		[FL_DECISION_compaction_ready_adds_high] = { FL_FACT_SOURCE, "compaction_ready" },
		[FL_DECISION_swap_cache_is_xarray] = { FL_FACT_INFERRED, "swap_table_alloc" },
		[FL_DECISION_swap_scans_rotating] = { FL_FACT_INFERRED, "scan_swap_map_slots" },
		[FL_DECISION_khugepaged_charge] = { FL_FACT_SOURCE, "collapse_scan_pmd" },
		[FL_DECISION_khugepaged_refuses_lazyfree] = { FL_FACT_SOURCE, "collapse_scan_pmd" },
		[FL_DECISION_collapse_keeps_lazyfree] = { FL_FACT_SOURCE, "folio_add_new_anon_rmap" },
		[FL_DECISION_collapse_needs_writable] = { FL_FACT_SOURCE, "collapse_scan_pmd" },
		[FL_DECISION_khugepaged_orders] = { FL_FACT_SOURCE, "khugepaged_enter_vma" },
		[FL_DECISION_khugepaged_collapses_mthp] = { FL_FACT_SOURCE, "mthp_collapse" },
		[FL_DECISION_khugepaged_leaves_disabled_at_once] = { FL_FACT_SOURCE, "collapse_scan_mm_slot" },
		[FL_DECISION_slab_has_sheaves] = { FL_FACT_SOURCE, "alloc_from_pcs" },
	},
};
