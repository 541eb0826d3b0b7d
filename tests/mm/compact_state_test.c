/*
 * tests/mm/compact_state_test.c - suitability, deferral, fragmentation score and marks of compaction: rules without a scan.
 */
#include <string.h>

#include "compact_rig.h"

static void boot_both(struct rig r[2], unsigned int blocks)
{
	rig_boot(&r[0], "6.12", blocks);
	rig_boot(&r[1], "7.3", blocks);
}

/* ---- Deferral: facts 2.3 ---- */

static void test_after_n_failures_2_to_the_n_less_1_attempts_are_skipped(void **state)
{
	struct rig r;

	rig_boot(&r, "7.3", 4);
	for (unsigned int n = 1; n <= 8; n++) {
		unsigned int limit = 1u << (n < 6 ? n : 6), skipped = 0;

		fl_defer_compaction(r.mem, r.who, r.zone, 9);
		while (fl_compaction_deferred(r.mem, r.who, r.zone, 9))
			skipped++;
		assert_int_equal(skipped, limit - 1);
		assert_false(fl_compaction_deferred(r.mem, r.who, r.zone, 9)); /* and goes on running */
	}
	rig_done(&r);
}

static void test_orders_below_the_failed_one_are_not_deferred(void **state)
{
	struct rig r;

	rig_boot(&r, "7.3", 4);
	fl_compaction_defer_reset(r.mem, r.who, r.zone, 9, false); /* order_failed 10 */
	fl_defer_compaction(r.mem, r.who, r.zone, 4);
	assert_false(fl_compaction_deferred(r.mem, r.who, r.zone, 3));
	assert_true(fl_compaction_deferred(r.mem, r.who, r.zone, 4));
	fl_defer_compaction(r.mem, r.who, r.zone, 9); /* a larger one does not raise it */
	assert_int_equal(r.zone->compact.order_failed, 4);
	rig_done(&r);
}

static void test_expected_success_raises_the_failed_order_and_only_an_allocation_clears_the_shift(void **state)
{
	struct rig r;

	rig_boot(&r, "7.3", 4);
	for (int i = 0; i < 3; i++)
		fl_defer_compaction(r.mem, r.who, r.zone, 2);
	fl_compaction_defer_reset(r.mem, r.who, r.zone, 4, false);
	assert_int_equal(r.zone->compact.order_failed, 5);
	assert_int_equal(r.zone->compact.defer_shift, 3);
	fl_compaction_defer_reset(r.mem, r.who, r.zone, 3, true);
	assert_int_equal(r.zone->compact.order_failed, 5);
	assert_int_equal(r.zone->compact.defer_shift, 0);
	assert_int_equal(r.zone->compact.considered, 0);
	rig_done(&r);
}

static void test_compaction_restarts_after_64_considered_at_the_largest_shift(void **state)
{
	struct rig r;

	rig_boot(&r, "7.3", 4);
	for (int i = 0; i < 6; i++)
		fl_defer_compaction(r.mem, r.who, r.zone, 9);
	assert_false(fl_compaction_restarting(r.zone, 9));
	while (fl_compaction_deferred(r.mem, r.who, r.zone, 9))
		assert_false(fl_compaction_restarting(r.zone, 9));
	assert_true(fl_compaction_restarting(r.zone, 9));
	r.zone->compact.order_failed = 9;
	assert_false(fl_compaction_restarting(r.zone, 8));
	rig_done(&r);
}

/* ---- Gap and suitability: facts 2.1 ---- */

static void test_gap_is_2_shifted_by_the_order_and_capped_at_32_in_7_3(void **state)
{
	static const unsigned int in_7_3[] = { 2, 4, 8, 16, 32, 32, 32, 32, 32, 32, 32 };
	struct rig r[2];

	boot_both(r, 4);
	for (unsigned int o = 0; o <= 10; o++) {
		assert_int_equal(fl_compact_gap(r[0].mem, o), 2u << o);
		assert_int_equal(fl_compact_gap(r[1].mem, o), in_7_3[o]);
	}
	rig_done(&r[0]);
	rig_done(&r[1]);
}

/* Free pages in single pages, so that only their number matters. */
static void free_single_pages(struct rig *r, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		rig_free(r, r->zone->start + 2 * i, 1);
}

/* The least number of free pages with which compaction is suitable; everything else is laid out. */
static unsigned int least_suitable(const char *kernel, unsigned int order, enum fl_wmark mark, uint64_t reserve)
{
	for (unsigned int pages = 100; pages < 2000; pages++) {
		struct rig r;
		bool suitable;

		rig_boot(&r, kernel, 8);
		rig_set_marks(r.zone, 100, 130, 170);
		r.zone->lowmem_reserve[FL_ZONE_NORMAL] = reserve;
		free_single_pages(&r, pages);
		suitable = fl_compaction_suitable(r.mem, r.who, r.zone, order, fl_wmark_pages(r.zone, mark),
						  FL_ZONE_NORMAL);
		rig_done(&r);
		if (suitable)
			return pages;
	}
	return 0;
}

static void test_costly_orders_need_low_plus_gap_others_min_plus_gap(void **state)
{
	/* One page more than mark + gap: the watermark test wants strictly more. */
	assert_int_equal(least_suitable("6.12", 9, FL_WMARK_MIN, 0), 130 + 1024 + 1);
	assert_int_equal(least_suitable("7.3", 9, FL_WMARK_MIN, 0), 130 + 32 + 1);
	assert_int_equal(least_suitable("6.12", 4, FL_WMARK_MIN, 0), 130 + 32 + 1);
	assert_int_equal(least_suitable("7.3", 4, FL_WMARK_MIN, 0), 130 + 32 + 1);
	assert_int_equal(least_suitable("6.12", 3, FL_WMARK_MIN, 0), 100 + 16 + 1);
	assert_int_equal(least_suitable("7.3", 3, FL_WMARK_MIN, 0), 100 + 16 + 1);
	assert_int_equal(least_suitable("7.3", 2, FL_WMARK_MIN, 0), 100 + 8 + 1);
}

static void test_7_3_goes_from_the_askers_mark_and_6_12_from_its_own(void **state)
{
	assert_int_equal(least_suitable("6.12", 9, FL_WMARK_HIGH, 0), 130 + 1024 + 1);
	assert_int_equal(least_suitable("7.3", 9, FL_WMARK_HIGH, 0), 170 + 30 + 32 + 1);
	assert_int_equal(least_suitable("7.3", 3, FL_WMARK_HIGH, 0), 170 + 16 + 1);
}

static void test_suitability_adds_the_lowmem_reserve_of_the_asker(void **state)
{
	assert_int_equal(least_suitable("7.3", 9, FL_WMARK_MIN, 50), 130 + 32 + 50 + 1);
}

static enum fl_compact_result traced_suitable;
static void catch_suitable(void *arg, const struct fl_trace_event *event)
{
	if (event->id == FL_TRACE_mm_compaction_suitable)
		traced_suitable = (enum fl_compact_result)event->arg[2];
}

static void test_costly_orders_are_refused_when_the_index_says_shortage(void **state)
{
	struct rig r;

	rig_boot(&r, "7.3", 8);
	for (unsigned int i = 0; i < 30; i++)
		rig_free(&r, 128 * i, 64);
	r.mem->trace = (struct fl_trace_sink){ UINT64_MAX, catch_suitable, NULL };
	r.mem->set.extfrag_threshold = 843;
	/* 30 chunks, 1920 pages: 1000 - (1000 + 3750) / 30 = 842 */
	assert_int_equal(fl_fragmentation_index(r.zone, 9), 842);
	assert_false(fl_compaction_suitable(r.mem, r.who, r.zone, 9, 0, FL_ZONE_NORMAL));
	assert_int_equal(traced_suitable, FL_COMPACT_NOT_SUITABLE_ZONE);
	r.mem->set.extfrag_threshold = 842;
	assert_false(fl_compaction_suitable(r.mem, r.who, r.zone, 9, 0, FL_ZONE_NORMAL));
	r.mem->set.extfrag_threshold = 841;
	assert_true(fl_compaction_suitable(r.mem, r.who, r.zone, 9, 0, FL_ZONE_NORMAL));
	assert_int_equal(traced_suitable, FL_COMPACT_CONTINUE);
	r.mem->set.extfrag_threshold = 1000;
	assert_true(fl_compaction_suitable(r.mem, r.who, r.zone, 3, 0, FL_ZONE_NORMAL)); /* never asked below costly */
	rig_done(&r);
}

static void test_a_satisfied_watermark_means_success_without_work(void **state)
{
	struct rig r;

	rig_boot(&r, "7.3", 8);
	rig_free(&r, 512, 512);
	assert_int_equal(fl_compaction_suit_allocation_order(r.mem, r.who, r.zone, 9, FL_ZONE_NORMAL, FL_WMARK_MIN,
							     false),
			 FL_COMPACT_SUCCESS);
	rig_set_marks(r.zone, 1, 1, 1); /* 512 - 511 free pages are not above 1 */
	assert_int_equal(fl_compaction_suit_allocation_order(r.mem, r.who, r.zone, 9, FL_ZONE_NORMAL, FL_WMARK_MIN,
							     false),
			 FL_COMPACT_CONTINUE); /* index -1000: a chunk exists */
	rig_done(&r);
}

static void test_zonelist_is_suitable_when_a_share_of_what_is_reclaimable_would_do(void **state)
{
	struct fl_alloc_context ac = rig_request(FL_GFP_HIGHUSER_MOVABLE, 9);
	struct rig r;

	rig_boot(&r, "7.3", 8);
	rig_set_marks(r.zone, 100, 130, 170);
	free_single_pages(&r, 162);
	assert_false(fl_compaction_zonelist_suitable(r.mem, &ac));
	rig_free(&r, 1001, 1);
	assert_true(fl_compaction_zonelist_suitable(r.mem, &ac));
	rig_done(&r);
}

/* ---- Score and marks: facts 1.5 ---- */

static void test_zone_score_is_the_share_of_free_memory_in_chunks_too_small(void **state)
{
	struct rig r;

	rig_boot(&r, "7.3", 8);
	assert_int_equal(fl_fragmentation_score_zone(r.zone, 9), 0); /* nothing free */
	rig_free(&r, 0, 256);
	assert_int_equal(fl_fragmentation_score_zone(r.zone, 9), 100);
	assert_int_equal(fl_fragmentation_score_zone(r.zone, 8), 0);
	rig_free(&r, 1024, 1024); /* order 10 counts as two blocks */
	assert_int_equal(fl_fragmentation_score_zone(r.zone, 9), 20);
	rig_free(&r, 3 * 1024, 1);
	assert_int_equal(fl_fragmentation_score_zone(r.zone, 9), 257 * 100 / 1281);
	assert_int_equal(fl_fragmentation_score_zone(r.zone, 2), 0); /* 1 of 1281: truncated */
	rig_done(&r);
}

static void test_node_score_weighs_zones_by_size_and_truncates_each(void **state)
{
	struct fixture f;
	struct fl_zone *dma32, *normal;

	fixture_geometry(&f, 4, 12, 1);
	fixture_boot(&f, "7.3");
	dma32 = &f.mem->zone[FL_ZONE_DMA32];
	normal = &f.mem->zone[FL_ZONE_NORMAL];
	assert_int_equal(fl_fragmentation_score_node(f.mem), 0);
	/* Only the free counts by order enter; pretend a zone that scores 100 and one that scores 40. */
	memset(dma32->nr_free, 0, sizeof(dma32->nr_free));
	memset(normal->nr_free, 0, sizeof(normal->nr_free));
	dma32->nr_free[0] = 7;
	normal->nr_free[8] = 4;
	normal->nr_free[9] = 3;
	assert_int_equal(fl_fragmentation_score_zone(dma32, 9), 100);
	assert_int_equal(fl_fragmentation_score_zone(normal, 9), 40);
	assert_int_equal(fl_fragmentation_score_node(f.mem), 2048 * 100 / 8193 + 6144 * 40 / 8193);
	fl_mem_free(f.mem);
}

static void test_marks_by_proactiveness(void **state)
{
	static const unsigned int p[] = { 20, 50, 80, 90, 95, 100 };
	static const unsigned int marks[2][6][2] = {
		{ { 80, 90 }, { 50, 60 }, { 20, 30 }, { 10, 20 }, { 5, 15 }, { 5, 15 } },
		{ { 80, 90 }, { 50, 60 }, { 20, 30 }, { 10, 15 }, { 5, 7 }, { 0, 0 } },
	};
	struct rig r[2];

	boot_both(r, 4);
	for (unsigned int v = 0; v < 2; v++) {
		for (unsigned int i = 0; i < 6; i++) {
			fl_write_compaction_proactiveness(r[v].mem, r[v].who, p[i]);
			assert_int_equal(fl_fragmentation_score_wmark(r[v].mem, true), marks[v][i][0]);
			assert_int_equal(fl_fragmentation_score_wmark(r[v].mem, false), marks[v][i][1]);
		}
		rig_done(&r[v]);
	}
}

static void test_base_versions_score_for_the_pmd_order_whatever_sizes_are_enabled(void **state)
{
	struct rig r[2];

	boot_both(r, 4);
	for (unsigned int v = 0; v < 2; v++) {
		r[v].mem->set.thp_size[2] = FL_THP_SIZE_ALWAYS;
		assert_int_equal(fl_proactive_score_order(r[v].mem), 9);
		rig_done(&r[v]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_after_n_failures_2_to_the_n_less_1_attempts_are_skipped),
		cmocka_unit_test(test_orders_below_the_failed_one_are_not_deferred),
		cmocka_unit_test(test_expected_success_raises_the_failed_order_and_only_an_allocation_clears_the_shift),
		cmocka_unit_test(test_compaction_restarts_after_64_considered_at_the_largest_shift),
		cmocka_unit_test(test_gap_is_2_shifted_by_the_order_and_capped_at_32_in_7_3),
		cmocka_unit_test(test_costly_orders_need_low_plus_gap_others_min_plus_gap),
		cmocka_unit_test(test_7_3_goes_from_the_askers_mark_and_6_12_from_its_own),
		cmocka_unit_test(test_suitability_adds_the_lowmem_reserve_of_the_asker),
		cmocka_unit_test(test_costly_orders_are_refused_when_the_index_says_shortage),
		cmocka_unit_test(test_a_satisfied_watermark_means_success_without_work),
		cmocka_unit_test(test_zonelist_is_suitable_when_a_share_of_what_is_reclaimable_would_do),
		cmocka_unit_test(test_zone_score_is_the_share_of_free_memory_in_chunks_too_small),
		cmocka_unit_test(test_node_score_weighs_zones_by_size_and_truncates_each),
		cmocka_unit_test(test_marks_by_proactiveness),
		cmocka_unit_test(test_base_versions_score_for_the_pmd_order_whatever_sizes_are_enabled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
