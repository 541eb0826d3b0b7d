/*
 * tests/mm/mthp_patches_test.c - the patches of "mTHP-friendly memory compaction" and their variants, on both bases: each
 * rule on both sides of its border, by the verdict and, where it shows, by what compaction does with pages.
 */
#include <stdio.h>

#include "compact_rig.h"

#include "mm/sysctl.h"

static const char *const bases[] = { "6.12", "6.18", "7.3" };
#define BASES (sizeof(bases) / sizeof(bases[0]))
#define SIZE(order) (1u << (order))

static struct fl_decisions decisions(const char *base, const char *patches)
{
	struct fl_kernel kernel;
	struct fl_error error;
	char spec[160];

	snprintf(spec, sizeof(spec), "%s%s", base, patches);
	if (fl_kernel_parse(spec, &kernel, &error) < 0)
		fail_msg("%s", error.text);
	return kernel.decide;
}

static struct fl_thp_orders always(uint32_t orders)
{
	return (struct fl_thp_orders){ .always = orders, .madvise = SIZE(3), .inherit = SIZE(9), .pmd_order = 9 };
}

static unsigned int score_order(const char *base, const char *patches, uint32_t orders)
{
	return decisions(base, patches).proactive_score_order(&(struct fl_score_order_facts){ .thp = always(orders) });
}

static void test_score_is_for_the_smallest_size_set_to_always_and_for_no_other_setting(void **state)
{
	for (unsigned int b = 0; b < BASES; b++) {
		assert_int_equal(score_order(bases[b], "", SIZE(2)), 9);
		assert_int_equal(score_order(bases[b], "+mthp-score", SIZE(2)), 2);
		assert_int_equal(score_order(bases[b], "+mthp-score", SIZE(4) | SIZE(9)), 4);
		assert_int_equal(score_order(bases[b], "+mthp-score", 0), 9); /* madvise and inherit do not count */
		assert_int_equal(score_order(bases[b], "+mthp", SIZE(2)), 2);
		assert_int_equal(score_order(bases[b], "+mthp-each-order", SIZE(2) | SIZE(4)), 4);
		assert_int_equal(score_order(bases[b], "+mthp-each-order", 0), 9);
	}
}

static unsigned int mark(const struct fl_decisions *d, unsigned int proactiveness, unsigned int order, bool low)
{
	struct fl_proactive_mark_facts facts = { .proactiveness = proactiveness, .score_order = order, .pmd_order = 9 };

	facts.low = d->proactive_low(&facts);
	return low ? facts.low : d->proactive_high(&facts);
}

static void test_rescaled_marks_are_in_proportion_to_the_order_and_those_of_7_3_at_order_9(void **state)
{
	struct fl_decisions base = decisions("7.3", ""), set = decisions("7.3", "+mthp"),
			    rescaled = decisions("7.3", "+mthp+mthp-score-rescaled");

	for (unsigned int p = 0; p <= 100; p += 10)
		for (unsigned int low = 0; low < 2; low++) {
			assert_int_equal(mark(&rescaled, p, 9, low), mark(&base, p, 9, low));
			assert_int_equal(mark(&set, p, 2, low), mark(&base, p, 2, low));
		}
	assert_int_equal(mark(&set, 50, 2, true), 50);
	assert_int_equal(mark(&rescaled, 50, 2, true), 11);
	assert_int_equal(mark(&rescaled, 50, 2, false), 16);
}

/* One folio in a run; now and at its start these sizes are always. */
static bool skips(const char *base, const char *patches, unsigned int order, bool proactive, uint32_t start, uint32_t now)
{
	struct fl_decisions d = decisions(base, patches);

	return d.compact_skip_folio(&(struct fl_skip_isolation_facts){
		.target_order = -1, .folio_order = order, .pageblock_order = 9, .proactive = proactive,
		.run_score_order = 9, .score_order = 9, .run_always = start, .thp = always(now) });
}

static void test_skip_spares_folios_of_the_size_and_larger_by_the_setting_of_the_moment(void **state)
{
	for (unsigned int b = 0; b < BASES; b++) {
		assert_false(skips(bases[b], "", 2, true, SIZE(2), SIZE(2)));
		assert_true(skips(bases[b], "+mthp-skip", 2, true, SIZE(2), SIZE(2)));
		assert_true(skips(bases[b], "+mthp-skip", 3, true, SIZE(2), SIZE(2)));
		assert_false(skips(bases[b], "+mthp-skip", 3, true, SIZE(4), SIZE(4)));
		assert_false(skips(bases[b], "+mthp-skip", 0, true, SIZE(2), SIZE(2)));
		assert_false(skips(bases[b], "+mthp-skip", 2, true, SIZE(2), 0)); /* live */
		assert_true(skips(bases[b], "+mthp-skip", 2, false, SIZE(2), SIZE(2))); /* manual compaction too */
	}
}

static void test_skip_variants_differ_in_when_the_setting_is_read_and_in_which_runs(void **state)
{
	for (unsigned int b = 0; b < BASES; b++) {
		assert_true(skips(bases[b], "+mthp-skip-snapshot", 2, true, SIZE(2), 0));
		assert_false(skips(bases[b], "+mthp-skip-snapshot", 2, true, 0, SIZE(2)));
		assert_true(skips(bases[b], "+mthp-skip-proactive", 2, true, SIZE(2), SIZE(2)));
		assert_false(skips(bases[b], "+mthp-skip-proactive", 2, false, SIZE(2), SIZE(2)));
		assert_false(skips(bases[b], "+mthp-each-order", 2, true, SIZE(2) | SIZE(4), SIZE(2) | SIZE(4)));
		assert_true(skips(bases[b], "+mthp-each-order", 4, true, SIZE(2) | SIZE(4), SIZE(2) | SIZE(4)));
		/* a variant laid over the set replaces its member */
		assert_false(skips(bases[b], "+mthp+mthp-skip-proactive", 2, false, SIZE(2), SIZE(2)));
	}
}

static void test_skip_of_requests_with_an_order_stays_as_it_was(void **state)
{
	struct fl_skip_isolation_facts facts = { .target_order = 4, .pageblock_order = 9, .run_always = SIZE(2),
						 .thp = always(SIZE(2)) };

	for (unsigned int b = 0; b < BASES; b++) {
		struct fl_decisions d = decisions(bases[b], "+mthp");

		facts.folio_order = 3;
		assert_false(d.compact_skip_folio(&facts));
		facts.folio_order = 4;
		assert_true(d.compact_skip_folio(&facts));
	}
}

static bool beside(const char *base, const char *patches, bool at_start, uint32_t orders)
{
	return decisions(base, patches).proactive_beside_kswapd(&(struct fl_beside_kswapd_facts){
		.at_start = at_start, .score_order = 9, .costly_order = 3, .thp = always(orders) });
}

static void test_runs_for_sizes_below_the_costly_order_go_on_beside_kswapd_and_start_only_with_the_gate(void **state)
{
	for (unsigned int b = 0; b < BASES; b++) {
		assert_false(beside(bases[b], "", false, SIZE(2)));
		assert_true(beside(bases[b], "+mthp-kswapd", false, SIZE(2)));
		assert_false(beside(bases[b], "+mthp-kswapd", false, SIZE(3))); /* below means below */
		assert_false(beside(bases[b], "+mthp-kswapd", false, 0));
		assert_false(beside(bases[b], "+mthp-kswapd", true, SIZE(2)));
		assert_true(beside(bases[b], "+mthp-kswapd-gate", true, SIZE(2)));
		assert_false(beside(bases[b], "+mthp-kswapd-gate", true, SIZE(3)));
		assert_false(beside(bases[b], "+mthp", true, SIZE(2)));
	}
}

static unsigned int counted_from(const char *base, const char *patches, enum fl_free_test test, unsigned int order,
				 uint32_t orders)
{
	return decisions(base, patches).effective_free_order(&(struct fl_effective_free_facts){
		.test = test, .order = order, .pageblock_order = 9, .thp = always(orders) });
}

static void test_watermark_variants_count_chunks_in_the_tests_that_they_name(void **state)
{
	/* kswapd, suitability of direct compaction, of kcompactd, order-0 test */
	static const struct {
		const char *patch;
		unsigned int from[FL_FREE_TESTS];
	} rows[] = {
		{ "", { 0, 0, 0, 0 } },
		{ "+mthp-watermark", { 2, 2, 2, 0 } },
		{ "+mthp", { 2, 2, 2, 0 } },
		{ "+mthp-watermark-kswapd", { 2, 0, 0, 0 } },
		{ "+mthp-watermark-suit", { 0, 2, 2, 0 } },
		{ "+mthp-watermark-gap", { 2, 2, 2, 2 } },
	};

	for (unsigned int b = 0; b < BASES; b++)
		for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
			for (enum fl_free_test test = 0; test < FL_FREE_TESTS; test++) {
				assert_int_equal(counted_from(bases[b], rows[i].patch, test, 2, SIZE(2)), rows[i].from[test]);
				assert_int_equal(counted_from(bases[b], rows[i].patch, test, 0, SIZE(2)), 0);
				assert_int_equal(counted_from(bases[b], rows[i].patch, test, 2, 0), 0);
			}
}

static void test_watermark_patches_leave_defrag_mode_as_it_is(void **state)
{
	struct fl_effective_free_facts facts = { .test = FL_FREE_TEST_KSWAPD_BALANCED, .order = 9, .pageblock_order = 9,
						 .defrag_mode = true, .thp = always(SIZE(2)) };

	assert_int_equal(decisions("7.3", "+mthp").effective_free_order(&facts), 9);
}

static void test_plumbed_order_is_the_target_of_proactive_runs(void **state)
{
	const struct fl_proactive_order_facts facts = { .score_order = 2 };

	for (unsigned int b = 0; b < BASES; b++) {
		assert_int_equal(decisions(bases[b], "+mthp").proactive_order(&facts), -1);
		assert_int_equal(decisions(bases[b], "+mthp-plumbed-order").proactive_order(&facts), 2);
		assert_int_equal(score_order(bases[b], "+mthp-plumbed-order", SIZE(2)), 2);
	}
}

static bool first(const char *patches, unsigned int order, unsigned int type, bool order_0_ok, uint32_t orders)
{
	return decisions("7.3", patches).compact_first(&(struct fl_compact_first_facts){
		.order = order, .costly_order = 3, .type = type, .order_0_ok = order_0_ok, .thp = always(orders) });
}

static void test_costly_and_unmovable_orders_compact_first_and_small_movable_ones_only_with_the_patch(void **state)
{
	assert_false(first("", 2, FL_MOVABLE, true, SIZE(2)));
	assert_true(first("", 4, FL_MOVABLE, false, 0));
	assert_true(first("", 1, FL_UNMOVABLE, false, 0));
	assert_true(first("+compact-first-mthp", 2, FL_MOVABLE, true, SIZE(2)));
	assert_false(first("+compact-first-mthp", 2, FL_MOVABLE, false, SIZE(2)));
	assert_false(first("+compact-first-mthp", 3, FL_MOVABLE, true, SIZE(2)));
	assert_false(first("+compact-first-mthp", 0, FL_MOVABLE, true, SIZE(2)));
}

/* ---- With pages ---- */

/* 64 folios of order 2 among free single pages: how many does a run of the whole node move? */
static unsigned int moved_by(const char *kernel, bool proactive)
{
	struct rig r;
	unsigned int stayed = 0;

	rig_boot(&r, kernel, 8);
	r.mem->set.thp_size[2] = FL_THP_SIZE_ALWAYS;
	r.mem->set.compaction_proactiveness = 100;
	for (unsigned int i = 0; i < 64; i++)
		rig_movable(&r, 8 * i, 2);
	rig_movable_range(&r, 2 * 512, 512);
	for (unsigned int i = 0; i < 128; i++) {
		rig_free(&r, 4 * 512 + 8 * i, 4);
		rig_free(&r, 6 * 512 + 2 * i, 1);
	}
	fl_compact_node(r.mem, r.who, proactive);
	for (unsigned int i = 0; i < 64; i++)
		stayed += fl_pte_pfn(fl_pte_look(r.mem, r.mm, r.base + 8 * i)) == 8 * i;
	rig_done(&r);
	return 64 - stayed;
}

static void test_runs_move_folios_of_the_size_on_the_base_and_not_with_skip_alone(void **state)
{
	assert_int_equal(moved_by("7.3", true), 64);
	assert_int_equal(moved_by("7.3+mthp-skip", true), 0);
	assert_int_equal(moved_by("7.3+mthp-skip", false), 0);
	assert_int_equal(moved_by("7.3+mthp-skip-snapshot", true), 0);
	assert_int_equal(moved_by("7.3+mthp-skip-proactive", true), 0);
	assert_int_equal(moved_by("7.3+mthp-skip-proactive", false), 64);
}

static void test_suitability_counts_chunks_of_the_size_with_watermark(void **state)
{
	static const char *const kernels[] = { "7.3", "7.3+mthp-watermark", "7.3+mthp-watermark-gap" };
	static const enum fl_compact_result results[] = { FL_COMPACT_SUCCESS, FL_COMPACT_CONTINUE, FL_COMPACT_SKIPPED };

	for (unsigned int i = 0; i < 3; i++) {
		struct rig r;

		rig_boot(&r, kernels[i], 8);
		r.mem->set.thp_size[2] = FL_THP_SIZE_ALWAYS;
		rig_set_marks(r.zone, 100, 110, 120);
		rig_free(&r, 1024, 64);
		for (unsigned int j = 0; j < 100; j++)
			rig_free(&r, 2048 + 2 * j, 1);
		assert_int_equal(fl_compaction_suit_allocation_order(r.mem, r.who, r.zone, 2, FL_ZONE_NORMAL,
								     FL_WMARK_MIN, false), results[i]);
		assert_int_equal(fl_pgdat_balanced(r.mem, 2, FL_ZONE_NORMAL), i == 0);
		assert_true(fl_pgdat_balanced(r.mem, 0, FL_ZONE_NORMAL));
		rig_done(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_score_is_for_the_smallest_size_set_to_always_and_for_no_other_setting),
		cmocka_unit_test(test_rescaled_marks_are_in_proportion_to_the_order_and_those_of_7_3_at_order_9),
		cmocka_unit_test(test_skip_spares_folios_of_the_size_and_larger_by_the_setting_of_the_moment),
		cmocka_unit_test(test_skip_variants_differ_in_when_the_setting_is_read_and_in_which_runs),
		cmocka_unit_test(test_skip_of_requests_with_an_order_stays_as_it_was),
		cmocka_unit_test(test_runs_for_sizes_below_the_costly_order_go_on_beside_kswapd_and_start_only_with_the_gate),
		cmocka_unit_test(test_watermark_variants_count_chunks_in_the_tests_that_they_name),
		cmocka_unit_test(test_watermark_patches_leave_defrag_mode_as_it_is),
		cmocka_unit_test(test_plumbed_order_is_the_target_of_proactive_runs),
		cmocka_unit_test(test_costly_and_unmovable_orders_compact_first_and_small_movable_ones_only_with_the_patch),
		cmocka_unit_test(test_runs_move_folios_of_the_size_on_the_base_and_not_with_skip_alone),
		cmocka_unit_test(test_suitability_counts_chunks_of_the_size_with_watermark),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
