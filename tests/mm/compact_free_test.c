/*
 * tests/mm/compact_free_test.c - the free scanner: which blocks are targets, what is taken and counted, strides, the fast
 * search; how targets are handed out. Facts 4.
 */
#include "compact_rig.h"

static void isolate(struct rig *r, struct fl_compact_control *cc, unsigned int wanted)
{
	cc->nr_migratepages = wanted;
	fl_isolate_freepages(r->mem, r->who, cc);
}

static void done(struct rig *r, struct fl_compact_control *cc)
{
	rig_control_done(r, cc);
	rig_done(r);
}

/* ---- Which pageblocks: facts 4.3 step 2 ---- */

static bool is_target(unsigned int type, unsigned int free_order, int cc_order, bool ignore)
{
	struct rig r;
	struct fl_compact_control cc;
	bool suitable;

	rig_boot(&r, "7.3", 8);
	fl_pageblock_set_type(r.mem, 1024, type);
	rig_free(&r, 1024, 1u << free_order);
	cc = rig_control(&r, cc_order, FL_MIGRATE_SYNC_LIGHT);
	cc.ignore_block_suitable = ignore;
	suitable = fl_suitable_migration_target(r.mem, &cc, 1024);
	rig_done(&r);
	return suitable;
}

static void test_targets_are_movable_blocks_except_for_sync_full(void **state)
{
	assert_true(is_target(FL_MOVABLE, 0, 9, false));
	assert_false(is_target(FL_UNMOVABLE, 0, 9, false));
	assert_false(is_target(FL_RECLAIMABLE, 0, 9, false));
	assert_true(is_target(FL_UNMOVABLE, 0, 9, true));
}

static void test_a_block_that_begins_with_what_is_wanted_is_no_target(void **state)
{
	assert_true(is_target(FL_MOVABLE, 3, 4, false));
	assert_false(is_target(FL_MOVABLE, 4, 4, false));
	assert_false(is_target(FL_MOVABLE, 4, 4, true));
	assert_true(is_target(FL_MOVABLE, 8, -1, false)); /* without an order: pageblock order */
	assert_false(is_target(FL_MOVABLE, 9, -1, false));
}

/* ---- The linear scanner ---- */

static void test_chunks_are_taken_whole_until_there_are_enough(void **state)
{
	struct rig r;
	struct fl_compact_control cc;

	rig_boot(&r, "7.3", 8);
	rig_free(&r, 7 * 512 + 16, 16);
	rig_free(&r, 7 * 512 + 64, 64);
	rig_free(&r, 7 * 512 + 256, 64);
	cc = rig_control(&r, -1, FL_MIGRATE_SYNC);
	isolate(&r, &cc, 20);
	assert_int_equal(cc.nr_freepages, 80);
	assert_int_equal(cc.freepages[4].first, 7 * 512 + 16);
	assert_int_equal(cc.freepages[6].first, 7 * 512 + 64);
	assert_int_equal(cc.free_pfn, 7 * 512 + 128);
	assert_int_equal(cc.total_free_scanned, 128);
	assert_int_equal(rig_kind(&r, 7 * 512 + 16), FL_KIND_TARGET);
	assert_int_equal(r.zone->nr_free_pages, 64); /* what is taken is in no free count */
	assert_int_equal(rig_count(&r, FL_VM_compact_isolated), 80);
	assert_false(fl_pageblock_skip(r.mem, 7 * 512));
	done(&r, &cc);
}

static void test_a_block_walked_to_its_end_gets_the_skip_bit_and_lowers_the_cached_position(void **state)
{
	struct rig r;
	struct fl_compact_control cc;

	rig_boot(&r, "7.3", 8);
	rig_spare(&r);
	rig_free(&r, 7 * 512 + 16, 16);
	rig_free(&r, 6 * 512 + 16, 32);
	cc = rig_control(&r, -1, FL_MIGRATE_SYNC);
	isolate(&r, &cc, 32);
	assert_int_equal(cc.nr_freepages, 32);
	assert_true(fl_pageblock_skip(r.mem, 7 * 512));
	assert_false(fl_pageblock_skip(r.mem, 6 * 512));
	assert_int_equal(r.zone->compact.cached_free_pfn, 6 * 512);
	assert_int_equal(cc.total_free_scanned, 512 + 32);
	done(&r, &cc);
}

static void test_taking_stops_at_min_plus_the_chunk(void **state)
{
	struct rig r;
	struct fl_compact_control cc;

	rig_boot(&r, "7.3", 8);
	for (unsigned int i = 0; i < 100; i++)
		rig_free(&r, 7 * 512 + 2 * i, 1);
	rig_set_marks(r.zone, 90, 0, 0);
	cc = rig_control(&r, -1, FL_MIGRATE_SYNC);
	isolate(&r, &cc, 32);
	/* the last one may be taken at 92 free pages: more than 90 + 1 */
	assert_int_equal(cc.nr_freepages, 9);
	assert_int_equal(r.zone->nr_free_pages, 91);
	assert_int_equal(cc.free_pfn, 7 * 512 + 18); /* and stands where it was refused */
	done(&r, &cc);
}

static void test_async_looks_at_every_32nd_page_and_at_all_after_a_hit(void **state)
{
	struct rig r;
	struct fl_compact_control cc;

	rig_boot(&r, "7.3", 8);
	rig_spare(&r);
	rig_free(&r, 7 * 512 + 33, 1); /* between the strides */
	rig_free(&r, 6 * 512 + 64, 1); /* on one */
	rig_free(&r, 5 * 512 + 33, 1); /* found, as the stride is 1 after the hit */
	cc = rig_control(&r, -1, FL_MIGRATE_ASYNC);
	isolate(&r, &cc, 2);
	assert_int_equal(cc.nr_freepages, 2);
	assert_int_equal(rig_kind(&r, 7 * 512 + 33), FL_KIND_BUDDY);
	assert_int_equal(cc.total_free_scanned, 16 + 16 + 34);
	done(&r, &cc);
}

static void test_the_stride_doubles_after_each_block_without_a_page(void **state)
{
	struct rig r;
	struct fl_compact_control cc;

	rig_boot(&r, "7.3", 16);
	rig_free(&r, 512 + 1, 1);
	cc = rig_control(&r, -1, FL_MIGRATE_SYNC);
	isolate(&r, &cc, 1);
	assert_int_equal(cc.nr_freepages, 0);
	/* fourteen blocks, 15 down to 1 but not below the migrate scanner's end: 512, 256, ..., 16, 16, ... */
	assert_int_equal(cc.total_free_scanned, 512 + 256 + 128 + 64 + 32 + 16 * 10);
	assert_true(cc.free_pfn <= 512);
	done(&r, &cc);
}

static void test_a_huge_page_is_passed_at_once_and_counted_whole(void **state)
{
	struct rig r;
	struct fl_compact_control cc;

	rig_boot(&r, "7.3", 8);
	rig_movable(&r, 7 * 512, 9);
	rig_movable(&r, 6 * 512, 9);
	rig_free(&r, 5 * 512 + 96, 1);
	cc = rig_control(&r, -1, FL_MIGRATE_ASYNC);
	isolate(&r, &cc, 1);
	assert_int_equal(cc.total_free_scanned, 512 + 512 + 4);
	done(&r, &cc);
}

static void test_the_free_scanner_stops_behind_the_migrate_scanners_block(void **state)
{
	struct rig r;
	struct fl_compact_control cc;

	rig_boot(&r, "7.3", 8);
	rig_free(&r, 3 * 512 + 100, 8);
	cc = rig_control(&r, -1, FL_MIGRATE_SYNC);
	cc.migrate_pfn = 3 * 512 + 10;
	isolate(&r, &cc, 1);
	assert_int_equal(cc.nr_freepages, 0);
	assert_true(fl_compact_scanners_met(r.mem, &cc));
	done(&r, &cc);
}

/* ---- The fast search: facts 4.2 ---- */

static void test_the_fast_search_takes_one_chunk_in_the_top_quarter(void **state)
{
	struct rig r;
	struct fl_compact_control cc;

	rig_boot(&r, "7.3", 16);
	rig_free(&r, 14 * 512 + 8, 8);
	rig_free(&r, 3 * 512 + 8, 8);
	cc = rig_control(&r, 9, FL_MIGRATE_ASYNC);
	cc.direct_compaction = true;
	isolate(&r, &cc, 32);
	assert_int_equal(cc.nr_freepages, 8); /* not enough, but the linear scan is not tried when something came */
	assert_int_equal(cc.freepages[3].first, 14 * 512 + 8);
	assert_int_equal(cc.search_order, 3);
	assert_int_equal(cc.fast_search_fail, 0);
	done(&r, &cc);
}

static void test_the_fast_search_looks_deeper_when_a_scan_starts(void **state)
{
	struct rig r;
	struct fl_compact_control cc;

	for (int start = 0; start < 2; start++) {
		rig_boot(&r, "7.3", 16);
		for (unsigned int i = 0; i < 40; i++)
			rig_free(&r, 3 * 512 + 16 * i, 8); /* nearer to the tail than the good one */
		rig_free(&r, 13 * 512 + 8, 8);
		cc = rig_control(&r, 9, FL_MIGRATE_ASYNC);
		cc.direct_compaction = true;
		if (!start)
			cc.free_pfn -= 512;
		isolate(&r, &cc, 8);
		/* 256 entries at the start, else 16: then the good one is out of reach, and the strides pass it too */
		assert_int_equal(cc.nr_freepages, 8);
		assert_int_equal(cc.freepages[3].first / 512, start ? 13 : 4);
		done(&r, &cc);
	}
}

static void test_the_fast_search_looks_around_the_chunk_unless_async_direct(void **state)
{
	struct rig r;
	struct fl_compact_control cc;

	rig_boot(&r, "7.3", 16);
	rig_spare(&r);
	rig_free(&r, 14 * 512 + 8, 8);
	rig_free(&r, 14 * 512 + 101, 1);
	cc = rig_control(&r, 9, FL_MIGRATE_SYNC_LIGHT);
	isolate(&r, &cc, 32);
	assert_int_equal(cc.nr_freepages, 9);
	assert_true(fl_pageblock_skip(r.mem, 14 * 512)); /* walked to its end */
	done(&r, &cc);
}

static void test_the_fast_search_never_takes_chunks_of_the_wanted_order(void **state)
{
	struct rig r;
	struct fl_compact_control cc;

	rig_boot(&r, "7.3", 16);
	rig_free(&r, 14 * 512, 16);
	cc = rig_control(&r, 4, FL_MIGRATE_ASYNC);
	cc.direct_compaction = true;
	isolate(&r, &cc, 1);
	assert_int_equal(cc.nr_freepages, 0);
	done(&r, &cc);
}

static void test_without_an_order_there_is_no_fast_search(void **state)
{
	struct rig r;
	struct fl_compact_control cc;

	rig_boot(&r, "7.3", 16);
	rig_spare(&r);
	rig_free(&r, 14 * 512 + 8, 8);
	cc = rig_control(&r, -1, FL_MIGRATE_SYNC);
	isolate(&r, &cc, 1);
	assert_int_equal(cc.total_free_scanned, 512 + 5 + 7); /* block 15 was walked first */
	done(&r, &cc);
}

static void test_a_miss_at_scan_start_moves_a_direct_scanner_to_the_half_way_mark(void **state)
{
	struct rig r;
	struct fl_compact_control cc;

	for (int direct = 0; direct < 2; direct++) {
		rig_boot(&r, "7.3", 16);
		cc = rig_control(&r, 9, FL_MIGRATE_ASYNC);
		cc.direct_compaction = direct;
		isolate(&r, &cc, 1);
		assert_int_equal(cc.fast_search_fail, 1);
		/* by async strides: from block 7, or from block 15, down to 1 */
		assert_int_equal(cc.total_free_scanned, (direct ? 7 : 15) * 16);
		done(&r, &cc);
	}
}

/* ---- Handing out: facts 4.4 ---- */

static void test_a_folio_gets_the_smallest_chunk_that_is_large_enough_and_splits_it(void **state)
{
	struct rig r;
	struct fl_compact_control cc;
	fl_pfn src = 0, pfn;

	rig_boot(&r, "7.3", 8);
	rig_spare(&r);
	rig_movable(&r, src, 2);
	rig_free(&r, 7 * 512 + 2, 2);
	rig_free(&r, 7 * 512 + 16, 16);
	cc = rig_control(&r, -1, FL_MIGRATE_SYNC);
	isolate(&r, &cc, 18);
	cc.nr_migratepages = 4;
	pfn = fl_compaction_alloc(r.mem, r.who, src, &cc);
	assert_int_equal(pfn, 7 * 512 + 16);
	assert_int_equal(r.mem->frames.state[pfn], fl_state(FL_KIND_TARGET, 2));
	assert_int_equal(cc.freepages[2].first, 7 * 512 + 20);
	assert_int_equal(cc.freepages[3].first, 7 * 512 + 24);
	assert_int_equal(cc.freepages[1].first, 7 * 512 + 2);
	assert_int_equal(cc.nr_freepages, 14);
	assert_int_equal(cc.nr_migratepages, 0);
	fl_compaction_free(r.mem, r.who, pfn, 2, &cc);
	assert_int_equal(cc.nr_freepages, 18);
	assert_int_equal(cc.nr_migratepages, 4);
	assert_int_equal(cc.freepages[2].first, pfn);
	done(&r, &cc);
}

static void test_small_chunks_are_never_merged_for_a_large_folio(void **state)
{
	struct rig r;
	struct fl_compact_control cc;

	rig_boot(&r, "7.3", 8);
	rig_spare(&r);
	rig_movable(&r, 0, 2);
	for (unsigned int i = 0; i < 50; i++)
		rig_free(&r, 7 * 512 + 4 * i, 2);
	cc = rig_control(&r, -1, FL_MIGRATE_SYNC);
	cc.nr_migratepages = 4;
	assert_int_equal(fl_compaction_alloc(r.mem, r.who, 0, &cc), FL_PFN_NONE);
	assert_int_equal(cc.nr_freepages, 4); /* one scan, by base pages, whatever their orders */
	done(&r, &cc);
}

static void test_targets_left_over_go_back_through_the_per_cpu_lists(void **state)
{
	struct rig r;
	struct fl_compact_control cc;

	rig_boot(&r, "7.3", 8);
	rig_free(&r, 7 * 512 + 2, 2);
	rig_free(&r, 6 * 512 + 16, 16);
	cc = rig_control(&r, -1, FL_MIGRATE_SYNC);
	isolate(&r, &cc, 18);
	assert_int_equal(fl_release_free_list(r.mem, r.who, &cc), 7 * 512 + 2);
	assert_int_equal(cc.nr_freepages, 0);
	assert_int_equal(r.zone->nr_free_pages + fl_pcp_pages(r.mem, r.zone), 18);
	assert_true(fl_pcp_pages(r.mem, r.zone) >= 2); /* orders 0..3 wait there */
	rig_done(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_targets_are_movable_blocks_except_for_sync_full),
		cmocka_unit_test(test_a_block_that_begins_with_what_is_wanted_is_no_target),
		cmocka_unit_test(test_chunks_are_taken_whole_until_there_are_enough),
		cmocka_unit_test(test_a_block_walked_to_its_end_gets_the_skip_bit_and_lowers_the_cached_position),
		cmocka_unit_test(test_taking_stops_at_min_plus_the_chunk),
		cmocka_unit_test(test_async_looks_at_every_32nd_page_and_at_all_after_a_hit),
		cmocka_unit_test(test_the_stride_doubles_after_each_block_without_a_page),
		cmocka_unit_test(test_a_huge_page_is_passed_at_once_and_counted_whole),
		cmocka_unit_test(test_the_free_scanner_stops_behind_the_migrate_scanners_block),
		cmocka_unit_test(test_the_fast_search_takes_one_chunk_in_the_top_quarter),
		cmocka_unit_test(test_the_fast_search_looks_deeper_when_a_scan_starts),
		cmocka_unit_test(test_the_fast_search_looks_around_the_chunk_unless_async_direct),
		cmocka_unit_test(test_the_fast_search_never_takes_chunks_of_the_wanted_order),
		cmocka_unit_test(test_without_an_order_there_is_no_fast_search),
		cmocka_unit_test(test_a_miss_at_scan_start_moves_a_direct_scanner_to_the_half_way_mark),
		cmocka_unit_test(test_a_folio_gets_the_smallest_chunk_that_is_large_enough_and_splits_it),
		cmocka_unit_test(test_small_chunks_are_never_merged_for_a_large_folio),
		cmocka_unit_test(test_targets_left_over_go_back_through_the_per_cpu_lists),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
