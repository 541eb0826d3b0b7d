/* kernel/base_decisions.c - decisions that several base versions share. */
#include "kernel/base_decisions.h"

#include "mm/compaction.h"

bool fl_base_yes(const struct fl_no_facts *facts)
{
	(void)facts;
	return true;
}

bool fl_base_no(const struct fl_no_facts *facts)
{
	(void)facts;
	return false;
}

bool fl_base_claim_half(const struct fl_claim_facts *facts)
{
	unsigned int alike = 0;

	if (facts->want == FL_MOVABLE)
		alike = facts->movable;
	else if (facts->block_type == FL_MOVABLE)
		alike = facts->pages - (facts->free + facts->movable);
	return facts->free + alike >= facts->pages / 2 || facts->grouping_disabled;
}

bool fl_base_steal_any(const struct fl_steal_facts *facts)
{
	(void)facts;
	return true;
}

enum fl_capture_verdict fl_base_capture_keep(const struct fl_capture_facts *facts)
{
	if (facts->order < facts->pageblock_order && facts->block_type == FL_MOVABLE && facts->want != FL_MOVABLE)
		return FL_CAPTURE_REFUSE;
	return FL_CAPTURE_TAKE;
}

uint64_t fl_base_min_free_raise(const struct fl_min_free_facts *facts)
{
	return facts->recommended_kbytes > facts->current_kbytes ? facts->recommended_kbytes : facts->current_kbytes;
}

bool fl_base_skip_folio(const struct fl_skip_isolation_facts *facts)
{
	if (facts->target_order >= 0 && (int)facts->folio_order >= facts->target_order)
		return true;
	return facts->folio_order >= facts->pageblock_order;
}

unsigned int fl_base_score_pmd_order(const struct fl_score_order_facts *facts)
{
	return facts->thp.pmd_order;
}

bool fl_base_never_beside_kswapd(const struct fl_beside_kswapd_facts *facts)
{
	(void)facts;
	return false;
}

int fl_base_proactive_no_order(const struct fl_proactive_order_facts *facts)
{
	(void)facts;
	return -1;
}

unsigned int fl_base_charge_range(const struct fl_khugepaged_charge_facts *facts)
{
	return facts->pages;
}

unsigned int fl_base_charge_visited(const struct fl_khugepaged_charge_facts *facts)
{
	return facts->visited ? facts->visited : 1;
}

bool fl_base_lazyfree_is_ordinary(const struct fl_khugepaged_lazyfree_facts *facts)
{
	(void)facts;
	return false;
}

bool fl_base_refuse_clean_lazyfree(const struct fl_khugepaged_lazyfree_facts *facts)
{
	return !facts->droppable && !facts->pte_dirty;
}

bool fl_base_keep_droppable(const struct fl_collapse_lazyfree_facts *facts)
{
	return facts->droppable;
}

unsigned int fl_base_effective_free(const struct fl_effective_free_facts *facts)
{
	if (!facts->defrag_mode || !facts->order)
		return 0;
	return facts->test == FL_FREE_TEST_KSWAPD_BALANCED || facts->test == FL_FREE_TEST_SUIT_KCOMPACTD
		       ? facts->pageblock_order
		       : 0;
}

/* --- 6.12 and 6.18 --- */

unsigned int fl_base_gap_twice(const struct fl_gap_facts *facts)
{
	return 2u << facts->order;
}

bool fl_base_source_own_type(const struct fl_source_facts *facts)
{
	return !facts->async || facts->block_type == facts->want;
}

bool fl_base_pmd_raises_min_free(const struct fl_thp_orders *orders)
{
	uint32_t pmd = 1u << orders->pmd_order;

	return ((orders->always | orders->madvise) & pmd) ||
	       ((orders->inherit & pmd) && (orders->global_always || orders->global_madvise));
}

bool fl_base_progress_always_clears(const struct fl_progress_facts *facts)
{
	(void)facts;
	return true;
}

bool fl_base_failure_always_counts(const struct fl_failure_facts *facts)
{
	(void)facts;
	return true;
}

uint32_t fl_base_khugepaged_pmd_order(const struct fl_khugepaged_order_facts *facts)
{
	return 1u << facts->pmd_order;
}

/* --- 6.18 and 7.3 --- */

bool fl_base_free_high_late(const struct fl_pcp_facts *facts)
{
	return facts->free_count >= facts->batch + facts->high_min / 2;
}

uint64_t fl_base_suitable_askers_mark(const struct fl_suitable_facts *facts)
{
	return facts->mark + facts->gap + (facts->order > facts->costly_order ? facts->low - facts->min : 0);
}

unsigned int fl_base_proactive_low(const struct fl_proactive_mark_facts *facts)
{
	return 100 - facts->proactiveness;
}

unsigned int fl_base_proactive_high(const struct fl_proactive_mark_facts *facts)
{
	unsigned int leeway = facts->low / 2 < 10 ? facts->low / 2 : 10;

	return facts->low + leeway > 100 ? 100 : facts->low + leeway;
}

bool fl_base_never_writes_file(const struct fl_dirty_file_facts *facts)
{
	(void)facts;
	return false;
}

unsigned int fl_base_pgd_single(const struct fl_no_facts *facts)
{
	(void)facts;
	return 0;
}

bool fl_base_compact_first(const struct fl_compact_first_facts *facts)
{
	return facts->order > facts->costly_order || (facts->order > 0 && facts->type != FL_MOVABLE);
}
