/*
 * tests/mm/compact_finish_test.c - when compaction of a zone is over: __compact_finished(), facts 2.4, one rule a test.
 */
#include "compact_rig.h"

static enum fl_compact_result finished(struct rig *r, struct fl_compact_control *cc)
{
	return fl_compact_finished(r->mem, r->who, cc);
}

static void test_scanners_in_one_pageblock_have_met_and_positions_start_anew(void **state)
{
	struct rig r;
	struct fl_compact_control cc;

	rig_boot(&r, "7.3", 8);
	cc = rig_control(&r, 9, FL_MIGRATE_ASYNC);
	r.zone->compact.cached_migrate_pfn[0] = r.zone->compact.cached_migrate_pfn[1] = 2048;
	r.zone->compact.cached_free_pfn = 2560;
	cc.migrate_pfn = 2048 + 100;
	cc.free_pfn = 2048 + 400;
	cc.direct_compaction = true;
	assert_int_equal(finished(&r, &cc), FL_COMPACT_PARTIAL_SKIPPED);
	assert_int_equal(r.zone->compact.cached_migrate_pfn[0], 0);
	assert_int_equal(r.zone->compact.cached_migrate_pfn[1], 0);
	assert_int_equal(r.zone->compact.cached_free_pfn, 7 * 512);
	assert_true(r.zone->compact.blockskip_flush);
	rig_done(&r);
}

static void test_whole_zone_scanned_is_complete_and_only_direct_sets_the_flush_flag(void **state)
{
	struct rig r;
	struct fl_compact_control cc;

	rig_boot(&r, "7.3", 8);
	cc = rig_control(&r, 9, FL_MIGRATE_SYNC_LIGHT);
	cc.whole_zone = true;
	cc.migrate_pfn = cc.free_pfn = 1024;
	assert_int_equal(finished(&r, &cc), FL_COMPACT_COMPLETE);
	assert_false(r.zone->compact.blockskip_flush);
	rig_done(&r);
}

static void test_a_started_pageblock_is_finished_even_if_the_page_exists(void **state)
{
	struct rig r;
	struct fl_compact_control cc;

	rig_boot(&r, "7.3", 8);
	rig_free(&r, 1024, 512);
	cc = rig_control(&r, 9, FL_MIGRATE_ASYNC);
	cc.migrate_pfn = 513;
	assert_int_equal(finished(&r, &cc), FL_COMPACT_CONTINUE);
	cc.migrate_pfn = 512;
	assert_int_equal(finished(&r, &cc), FL_COMPACT_SUCCESS);
	rig_done(&r);
}

static void test_finish_ignores_watermarks(void **state)
{
	struct rig r;
	struct fl_compact_control cc;

	rig_boot(&r, "7.3", 8);
	rig_free(&r, 1024, 512);
	rig_set_marks(r.zone, 10000, 12000, 14000);
	cc = rig_control(&r, 9, FL_MIGRATE_ASYNC);
	assert_int_equal(finished(&r, &cc), FL_COMPACT_SUCCESS);
	rig_done(&r);
}

/* One free chunk of `order` in a pageblock of `block_type`: does a request (want, cc_order) end with it? */
static bool ends_with(unsigned int block_type, unsigned int order, unsigned int want, int cc_order)
{
	struct rig r;
	struct fl_compact_control cc;
	enum fl_compact_result result;

	rig_boot(&r, "7.3", 8);
	fl_pageblock_set_type(r.mem, 1024, block_type);
	rig_free(&r, 1024, 1u << order);
	cc = rig_control(&r, cc_order, FL_MIGRATE_ASYNC);
	cc.migratetype = want;
	result = finished(&r, &cc);
	rig_done(&r);
	assert_true(result == FL_COMPACT_SUCCESS || result == FL_COMPACT_CONTINUE);
	return result == FL_COMPACT_SUCCESS;
}

static void test_a_foreign_chunk_counts_only_if_the_allocator_would_claim_it(void **state)
{
	assert_true(ends_with(FL_MOVABLE, 2, FL_MOVABLE, 2));
	assert_false(ends_with(FL_MOVABLE, 1, FL_MOVABLE, 2));
	assert_false(ends_with(FL_UNMOVABLE, 2, FL_MOVABLE, 2));
	assert_false(ends_with(FL_UNMOVABLE, 3, FL_MOVABLE, 2));
	assert_true(ends_with(FL_UNMOVABLE, 4, FL_MOVABLE, 2)); /* pageblock_order / 2 */
	assert_true(ends_with(FL_MOVABLE, 2, FL_UNMOVABLE, 2)); /* unmovable claims at any order */
	assert_true(ends_with(FL_MOVABLE, 2, FL_RECLAIMABLE, 2));
	assert_true(ends_with(FL_RECLAIMABLE, 8, FL_MOVABLE, 3));
}

static void test_nothing_found_goes_on_unless_contended(void **state)
{
	struct rig r;
	struct fl_compact_control cc;

	rig_boot(&r, "7.3", 8);
	cc = rig_control(&r, 9, FL_MIGRATE_ASYNC);
	assert_int_equal(finished(&r, &cc), FL_COMPACT_CONTINUE);
	cc.contended = true;
	assert_int_equal(finished(&r, &cc), FL_COMPACT_CONTENDED);
	cc.contended = false;
	r.who->flags |= FL_PF_OOM_VICTIM;
	assert_int_equal(finished(&r, &cc), FL_COMPACT_CONTENDED);
	rig_done(&r);
}

static void test_manual_goes_on_until_the_scanners_meet(void **state)
{
	struct rig r;
	struct fl_compact_control cc;

	rig_boot(&r, "7.3", 8);
	rig_free(&r, 1024, 1024);
	cc = rig_control(&r, -1, FL_MIGRATE_SYNC);
	assert_int_equal(finished(&r, &cc), FL_COMPACT_CONTINUE);
	rig_done(&r);
}

static void test_proactive_stops_in_mid_block_at_its_own_zones_low_mark(void **state)
{
	struct rig r;
	struct fl_compact_control cc;

	rig_boot(&r, "7.3", 8);
	rig_free(&r, 1024, 512);
	for (unsigned int i = 0; i < 512; i++)
		rig_free(&r, 2048 + 2 * i, 1);
	cc = rig_control(&r, -1, FL_MIGRATE_SYNC_LIGHT);
	cc.proactive_compaction = true;
	cc.migrate_pfn = 513;
	assert_int_equal(fl_fragmentation_score_zone(r.zone, 9), 50);
	r.mem->set.compaction_proactiveness = 50;
	assert_int_equal(finished(&r, &cc), FL_COMPACT_SUCCESS);
	r.mem->set.compaction_proactiveness = 51;
	assert_int_equal(finished(&r, &cc), FL_COMPACT_CONTINUE);
	rig_done(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scanners_in_one_pageblock_have_met_and_positions_start_anew),
		cmocka_unit_test(test_whole_zone_scanned_is_complete_and_only_direct_sets_the_flush_flag),
		cmocka_unit_test(test_a_started_pageblock_is_finished_even_if_the_page_exists),
		cmocka_unit_test(test_finish_ignores_watermarks),
		cmocka_unit_test(test_a_foreign_chunk_counts_only_if_the_allocator_would_claim_it),
		cmocka_unit_test(test_nothing_found_goes_on_unless_contended),
		cmocka_unit_test(test_manual_goes_on_until_the_scanners_meet),
		cmocka_unit_test(test_proactive_stops_in_mid_block_at_its_own_zones_low_mark),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
