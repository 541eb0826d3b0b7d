/*
 * tests/mm/compact_scan_test.c - the migrate scanner: what it takes, what it counts, what it leaves alone; skip bits, cached
 * positions, the fast search. Facts 3.
 */
#include "compact_rig.h"

static enum fl_isolate_result scan(struct rig *r, struct fl_compact_control *cc)
{
	return fl_isolate_migratepages(r->mem, r->who, cc);
}

static bool skipped(const struct rig *r, fl_pfn pfn)
{
	return fl_pageblock_skip(r->mem, pfn);
}

/* ---- What is counted ---- */

static void test_a_batch_ends_with_32_pages_and_the_next_goes_on_behind_it(void **state)
{
	struct rig r;
	struct fl_compact_control cc;

	rig_boot(&r, "7.3", 8);
	rig_movable_range(&r, 10, 100);
	cc = rig_control(&r, -1, FL_MIGRATE_SYNC_LIGHT);
	cc.gfp = FL_GFP_NOFS; /* up to half of the LRU may be isolated */
	assert_int_equal(scan(&r, &cc), FL_ISOLATE_SUCCESS);
	assert_int_equal(cc.nr_migratepages, 32);
	assert_int_equal(cc.migrate_pfn, 42);
	assert_int_equal(cc.total_migrate_scanned, 42);
	cc.nr_migratepages = 0;
	assert_int_equal(scan(&r, &cc), FL_ISOLATE_SUCCESS);
	assert_int_equal(cc.nr_migratepages, 32);
	assert_int_equal(cc.migrate_pfn, 74);
	assert_int_equal(rig_count(&r, FL_VM_compact_isolated), 64);
	assert_int_equal(cc.migratepages.count, 64);
	rig_control_done(&r, &cc);
	rig_done(&r);
}

static void test_a_large_folio_may_overshoot_the_batch_and_is_counted_whole(void **state)
{
	struct rig r;
	struct fl_compact_control cc;

	rig_boot(&r, "7.3", 8);
	rig_movable_range(&r, 0, 31);
	rig_movable(&r, 64, 6);
	cc = rig_control(&r, -1, FL_MIGRATE_SYNC_LIGHT);
	assert_int_equal(scan(&r, &cc), FL_ISOLATE_SUCCESS);
	assert_int_equal(cc.nr_migratepages, 31 + 64);
	assert_int_equal(cc.migrate_pfn, 128);
	assert_int_equal(cc.total_migrate_scanned, 128);
	rig_control_done(&r, &cc);
	rig_done(&r);
}

static void test_free_chunks_and_skipped_folios_count_as_scanned_in_full(void **state)
{
	struct rig r;
	struct fl_compact_control cc;

	rig_boot(&r, "7.3", 8);
	rig_free(&r, 0, 256);
	rig_movable(&r, 256, 7);
	rig_movable(&r, 511, 0);
	cc = rig_control(&r, 5, FL_MIGRATE_SYNC_LIGHT);
	assert_int_equal(scan(&r, &cc), FL_ISOLATE_SUCCESS);
	assert_int_equal(cc.nr_migratepages, 1); /* order 7 is not below order 5 */
	assert_int_equal(cc.total_migrate_scanned, 512);
	rig_control_done(&r, &cc);
	rig_done(&r);
}

static void test_a_block_without_lru_pages_is_passed_in_one_step_with_the_counts_of_a_walk(void **state)
{
	struct rig r;
	struct fl_compact_control cc;

	rig_boot(&r, "7.3", 8);
	rig_free(&r, 3, 100);
	cc = rig_control(&r, -1, FL_MIGRATE_SYNC_LIGHT);
	assert_int_equal(scan(&r, &cc), FL_ISOLATE_NONE);
	assert_int_equal(cc.migrate_pfn, 512);
	assert_int_equal(cc.total_migrate_scanned, 512);
	assert_true(skipped(&r, 0));
	assert_int_equal(r.zone->compact.cached_migrate_pfn[0], 1024); /* the end's own pageblock ends there */
	assert_int_equal(r.zone->compact.cached_migrate_pfn[1], 1024);
	rig_done(&r);
}

static void test_a_free_chunk_of_two_blocks_is_counted_with_both(void **state)
{
	struct rig r;
	struct fl_compact_control cc;

	rig_boot(&r, "7.3", 8);
	rig_free(&r, 0, 1024);
	cc = rig_control(&r, -1, FL_MIGRATE_SYNC_LIGHT);
	assert_int_equal(scan(&r, &cc), FL_ISOLATE_NONE);
	assert_int_equal(cc.migrate_pfn, 512);
	assert_int_equal(cc.total_migrate_scanned, 1024);
	rig_done(&r);
}

/* ---- What is taken ---- */

/* One movable page with these flags: does a scan take it? */
static bool takes(uint32_t flags, enum fl_migrate_mode mode, fl_gfp gfp, bool unevictable_allowed)
{
	struct rig r;
	struct fl_compact_control cc;
	bool taken;

	rig_boot(&r, "7.3", 8);
	rig_movable(&r, 7, 0);
	r.mem->frames.state[7] |= flags;
	r.mem->set.compact_unevictable_allowed = unevictable_allowed;
	cc = rig_control(&r, -1, mode);
	cc.gfp = gfp;
	taken = scan(&r, &cc) == FL_ISOLATE_SUCCESS;
	assert_int_equal(cc.nr_migratepages, taken);
	rig_control_done(&r, &cc);
	r.mem->frames.state[7] &= ~flags;
	rig_done(&r);
	return taken;
}

static void test_what_each_mode_takes(void **state)
{
	static const enum fl_migrate_mode modes[] = { FL_MIGRATE_ASYNC, FL_MIGRATE_SYNC_LIGHT, FL_MIGRATE_SYNC };

	for (int m = 0; m < 3; m++) {
		assert_true(takes(0, modes[m], FL_GFP_KERNEL, true));
		assert_true(takes(FL_DIRTY, modes[m], FL_GFP_KERNEL, true)); /* every mapping can migrate dirty pages */
		assert_false(takes(FL_PINNED, modes[m], FL_GFP_KERNEL, true));
		assert_int_equal(takes(FL_WRITEBACK, modes[m], FL_GFP_KERNEL, true), modes[m] == FL_MIGRATE_SYNC);
		assert_int_equal(takes(FL_DIRTY | FL_LOCKED, modes[m], FL_GFP_KERNEL, true),
				 modes[m] == FL_MIGRATE_SYNC);
	}
	assert_true(takes(0, FL_MIGRATE_ASYNC, FL_GFP_NOFS, true)); /* anonymous pages need no file system */
}

static void test_nothing_that_is_not_on_the_lru_is_taken(void **state)
{
	struct rig r;
	struct fl_compact_control cc;

	rig_boot(&r, "7.3", 8);
	rig_movable_range(&r, 0, 8);
	assert_true(fl_folio_isolate_lru(r.mem, 3)); /* somebody else has it */
	cc = rig_control(&r, -1, FL_MIGRATE_SYNC);
	cc.gfp = FL_GFP_NOFS;
	assert_int_equal(scan(&r, &cc), FL_ISOLATE_SUCCESS);
	assert_int_equal(cc.nr_migratepages, 7);
	rig_control_done(&r, &cc);
	fl_folio_putback_lru(r.mem, r.who, 3);
	fl_lru_add_drain(r.mem, r.who);
	rig_done(&r);
}

static void test_without_a_target_order_all_folios_below_the_pageblock_order_move(void **state)
{
	for (unsigned int order = 2; order <= 9; order++) {
		struct rig r;
		struct fl_compact_control cc;

		rig_boot(&r, "7.3", 8);
		rig_movable(&r, 0, order);
		cc = rig_control(&r, -1, FL_MIGRATE_SYNC_LIGHT);
		scan(&r, &cc);
		assert_int_equal(cc.nr_migratepages, order < 9 ? 1u << order : 0);
		rig_control_done(&r, &cc);
		rig_done(&r);
	}
}

static void test_too_many_isolated_pages_abort_async_compaction(void **state)
{
	struct rig r;
	struct fl_compact_control cc;

	rig_boot(&r, "7.3", 8);
	rig_movable_range(&r, 0, 160);
	for (fl_pfn pfn = 100; pfn < 109; pfn++)
		fl_folio_isolate_lru(r.mem, pfn);
	/* 151 on the lists: with __GFP_FS the limit is 151 / 8 / 2 = 9 */
	cc = rig_control(&r, 9, FL_MIGRATE_ASYNC);
	cc.ignore_skip_hint = true;
	assert_int_equal(scan(&r, &cc), FL_ISOLATE_SUCCESS);
	fl_putback_movable_pages(r.mem, r.who, &cc.migratepages);
	fl_lru_add_drain(r.mem, r.who);
	fl_folio_isolate_lru(r.mem, 109);
	cc = rig_control(&r, 9, FL_MIGRATE_ASYNC);
	cc.ignore_skip_hint = true;
	assert_int_equal(scan(&r, &cc), FL_ISOLATE_ABORT);
	cc.gfp = FL_GFP_NOFS; /* past that limit */
	assert_int_equal(scan(&r, &cc), FL_ISOLATE_SUCCESS);
	rig_control_done(&r, &cc);
	for (fl_pfn pfn = 100; pfn < 110; pfn++)
		fl_folio_putback_lru(r.mem, r.who, pfn);
	fl_lru_add_drain(r.mem, r.who);
	rig_done(&r);
}

/* ---- Skip on failure: async direct compaction ---- */

static void test_async_direct_gives_back_an_order_aligned_area_with_one_page_that_stays(void **state)
{
	struct rig r;
	struct fl_compact_control cc;

	rig_boot(&r, "7.3", 8);
	rig_movable_range(&r, 0, 10); /* page 10 stays: the first area of 16 is useless */
	rig_movable_range(&r, 16, 16);
	cc = rig_control(&r, 4, FL_MIGRATE_ASYNC);
	cc.direct_compaction = true;
	cc.ignore_skip_hint = true;
	assert_int_equal(scan(&r, &cc), FL_ISOLATE_SUCCESS);
	assert_int_equal(cc.nr_migratepages, 16);
	assert_int_equal(cc.migrate_pfn, 32); /* leaves the area with all of it: migrate that now */
	assert_int_equal(cc.total_migrate_scanned, 11 + 16);
	assert_true(r.mem->frames.state[5] & (FL_LRU | FL_BATCHED));
	assert_true(r.mem->frames.state[20] & FL_ISOLATED);
	rig_control_done(&r, &cc);
	rig_done(&r);
}

static void test_other_compaction_takes_what_it_can_around_pages_that_stay(void **state)
{
	struct rig r;
	struct fl_compact_control cc;

	rig_boot(&r, "7.3", 8);
	rig_movable_range(&r, 0, 10);
	rig_movable_range(&r, 16, 16);
	cc = rig_control(&r, 4, FL_MIGRATE_SYNC_LIGHT);
	cc.direct_compaction = true;
	cc.ignore_skip_hint = true;
	assert_int_equal(scan(&r, &cc), FL_ISOLATE_SUCCESS);
	assert_int_equal(cc.nr_migratepages, 26);
	rig_control_done(&r, &cc);
	rig_done(&r);
}

/* ---- Which pageblocks ---- */

/* A pageblock of `type` with movable pages in it: is it a source? */
static bool is_source(const char *kernel, unsigned int type, bool direct, enum fl_migrate_mode mode, fl_gfp gfp,
		      int order)
{
	struct rig r;
	struct fl_compact_control cc;
	bool taken;

	rig_boot(&r, kernel, 8);
	rig_movable_range(&r, 0, 512);
	fl_pageblock_set_type(r.mem, 0, type);
	cc = rig_control(&r, order, mode);
	cc.gfp = gfp;
	cc.migratetype = fl_gfp_migratetype(gfp);
	cc.direct_compaction = direct;
	taken = scan(&r, &cc) == FL_ISOLATE_SUCCESS;
	rig_control_done(&r, &cc);
	rig_done(&r);
	return taken;
}

static void test_async_direct_scans_blocks_of_its_own_kind_and_all_others_any(void **state)
{
	static const char *const kernels[] = { "6.12", "6.18", "7.3" };
	const fl_gfp movable = FL_GFP_HIGHUSER_MOVABLE, unmovable = FL_GFP_KERNEL;

	for (int v = 0; v < 3; v++) {
		const char *k = kernels[v];

		assert_true(is_source(k, FL_MOVABLE, true, FL_MIGRATE_ASYNC, movable, 9));
		assert_false(is_source(k, FL_UNMOVABLE, true, FL_MIGRATE_ASYNC, movable, 9));
		assert_false(is_source(k, FL_RECLAIMABLE, true, FL_MIGRATE_ASYNC, movable, 9));
		assert_true(is_source(k, FL_UNMOVABLE, true, FL_MIGRATE_ASYNC, unmovable, 3));
		assert_false(is_source(k, FL_MOVABLE, true, FL_MIGRATE_ASYNC, unmovable, 3));
		assert_true(is_source(k, FL_UNMOVABLE, true, FL_MIGRATE_SYNC_LIGHT, movable, 9));
		assert_true(is_source(k, FL_UNMOVABLE, false, FL_MIGRATE_ASYNC, movable, 9));
	}
	/* an unmovable request of pageblock order empties movable blocks in 7.3 only */
	assert_false(is_source("6.12", FL_MOVABLE, true, FL_MIGRATE_ASYNC, unmovable, 9));
	assert_true(is_source("7.3", FL_MOVABLE, true, FL_MIGRATE_ASYNC, unmovable, 9));
	assert_true(is_source("6.12", FL_UNMOVABLE, true, FL_MIGRATE_ASYNC, unmovable, 9));
	assert_false(is_source("7.3", FL_UNMOVABLE, true, FL_MIGRATE_ASYNC, unmovable, 9));
}

static void test_a_refused_block_still_advances_the_cached_position(void **state)
{
	struct rig r;
	struct fl_compact_control cc;

	rig_boot(&r, "7.3", 8);
	for (fl_pfn block = 0; block < 3 * 512; block += 512)
		fl_pageblock_set_type(r.mem, block, FL_UNMOVABLE);
	rig_movable_range(&r, 3 * 512, 512);
	cc = rig_control(&r, 9, FL_MIGRATE_ASYNC);
	cc.direct_compaction = true;
	scan(&r, &cc);
	assert_int_equal(r.zone->compact.cached_migrate_pfn[0], 4 * 512);
	assert_int_equal(r.zone->compact.cached_migrate_pfn[1], 0); /* only async saw it */
	rig_control_done(&r, &cc);
	rig_done(&r);
}

static void test_the_scanner_does_not_cross_the_free_scanner(void **state)
{
	struct rig r;
	struct fl_compact_control cc;

	rig_boot(&r, "7.3", 8);
	rig_movable_range(&r, 1024, 100);
	cc = rig_control(&r, -1, FL_MIGRATE_SYNC);
	cc.migrate_pfn = 1024;
	cc.free_pfn = 1024 + 300;
	assert_int_equal(scan(&r, &cc), FL_ISOLATE_NONE);
	assert_int_equal(cc.total_migrate_scanned, 0);
	rig_done(&r);
}

/* ---- Skip bits: facts 3.4 ---- */

static void test_a_block_with_a_takeable_page_gets_its_skip_bit_on_the_first_visit(void **state)
{
	struct rig r;
	struct fl_compact_control cc;

	rig_boot(&r, "7.3", 8);
	rig_movable_range(&r, 0, 100);
	cc = rig_control(&r, 3, FL_MIGRATE_SYNC_LIGHT);
	cc.gfp = FL_GFP_NOFS;
	assert_int_equal(scan(&r, &cc), FL_ISOLATE_SUCCESS);
	assert_true(skipped(&r, 0));
	/* the walk goes on in mid-block in spite of it */
	cc.nr_migratepages = 0;
	assert_int_equal(scan(&r, &cc), FL_ISOLATE_SUCCESS);
	assert_int_equal(cc.migrate_pfn, 64);
	/* another compactor passes it over */
	fl_putback_movable_pages(r.mem, r.who, &cc.migratepages);
	fl_lru_add_drain(r.mem, r.who);
	cc = rig_control(&r, 3, FL_MIGRATE_SYNC_LIGHT);
	assert_int_equal(scan(&r, &cc), FL_ISOLATE_NONE);
	/* unless it ignores hints, and then it sets none */
	cc = rig_control(&r, 3, FL_MIGRATE_SYNC_LIGHT);
	cc.ignore_skip_hint = true;
	fl_pageblock_of(r.mem, 0)->flags &= (uint8_t)~FL_PAGEBLOCK_SKIP;
	assert_int_equal(scan(&r, &cc), FL_ISOLATE_SUCCESS);
	assert_false(skipped(&r, 0));
	rig_control_done(&r, &cc);
	rig_done(&r);
}

static void test_a_block_to_be_finished_is_taken_whole_and_then_skipped(void **state)
{
	struct rig r;
	struct fl_compact_control cc;

	rig_boot(&r, "7.3", 8);
	rig_movable_range(&r, 0, 512);
	cc = rig_control(&r, 9, FL_MIGRATE_SYNC_LIGHT);
	cc.finish_pageblock = true;
	assert_int_equal(scan(&r, &cc), FL_ISOLATE_SUCCESS);
	assert_int_equal(cc.nr_migratepages, 512);
	assert_int_equal(cc.migrate_pfn, 512);
	assert_int_equal(r.zone->compact.cached_migrate_pfn[1], 1024);
	rig_control_done(&r, &cc);
	rig_done(&r);
}

static void test_the_reset_waits_for_the_flush_flag_and_samples_every_8th_page(void **state)
{
	struct rig r;

	rig_boot(&r, "7.3", 8);
	for (fl_pfn block = 0; block < 8 * 512; block += 512)
		fl_pageblock_set_skip(r.mem, block);
	rig_movable(&r, 512 + 9, 0);      /* between samples */
	rig_movable(&r, 2 * 512 + 16, 0); /* on a sample */
	rig_free(&r, 5 * 512 + 24, 1);    /* a target */
	rig_free(&r, 6 * 512 + 8, 1);     /* not in a movable block: no restart point, no target */
	fl_pageblock_set_type(r.mem, 6 * 512 + 8, FL_UNMOVABLE);
	fl_reset_isolation_suitable(r.mem, r.who);
	assert_true(skipped(&r, 2 * 512));
	r.zone->compact.blockskip_flush = true;
	fl_reset_isolation_suitable(r.mem, r.who);
	assert_false(r.zone->compact.blockskip_flush);
	assert_true(skipped(&r, 512));
	assert_false(skipped(&r, 2 * 512));
	assert_false(skipped(&r, 5 * 512));
	assert_true(skipped(&r, 6 * 512));
	assert_int_equal(r.zone->compact.init_migrate_pfn, 2 * 512);
	assert_int_equal(r.zone->compact.cached_migrate_pfn[0], 2 * 512);
	assert_int_equal(r.zone->compact.cached_migrate_pfn[1], 2 * 512);
	assert_int_equal(r.zone->compact.init_free_pfn, 6 * 512 - 1);
	assert_int_equal(r.zone->compact.cached_free_pfn, 6 * 512 - 1);
	fl_pageblock_set_type(r.mem, 6 * 512 + 8, FL_MOVABLE);
	rig_done(&r);
}

/* ---- Fast search: facts 3.3 ---- */

/* A zone of 64 blocks: one partly free block at 40, another at 8 with a movable page each. Where does a scan go? */
static fl_pfn scanned_block(int order, bool direct, fl_gfp gfp, fl_pfn skip)
{
	struct rig r;
	struct fl_compact_control cc;
	fl_pfn at;

	rig_boot(&r, "6.12", 64);
	for (fl_pfn block = 8; block <= 40; block += 8) {
		rig_movable(&r, block * 512, 0);
		if (block == 8 || block == 40)
			rig_free(&r, block * 512 + 64, 64);
	}
	if (skip)
		fl_pageblock_set_skip(r.mem, skip * 512);
	cc = rig_control(&r, order, FL_MIGRATE_SYNC_LIGHT);
	cc.gfp = gfp & ~FL_GFP_FS;
	cc.migratetype = fl_gfp_migratetype(gfp);
	cc.direct_compaction = direct;
	scan(&r, &cc);
	at = cc.nr_migratepages ? cc.migratepages.first / 512 : 0;
	rig_control_done(&r, &cc);
	rig_done(&r);
	return at;
}

static void test_costly_orders_go_to_a_block_that_is_partly_free_already(void **state)
{
	assert_int_equal(scanned_block(9, true, FL_GFP_HIGHUSER_MOVABLE, 0), 8);
	assert_int_equal(scanned_block(9, false, FL_GFP_KERNEL, 0), 8); /* kcompactd */
	/* the one in the upper half is not taken: block 16 comes next in line, but nothing is there before 8 */
	assert_int_equal(scanned_block(9, true, FL_GFP_HIGHUSER_MOVABLE, 8), 0);
	/* order 3 and less scans in line: blocks 0..7 hold nothing, one a call */
	assert_int_equal(scanned_block(3, true, FL_GFP_HIGHUSER_MOVABLE, 0), 0);
}

static void test_the_fast_search_gives_up_after_its_limit_and_counts_entries_as_scanned(void **state)
{
	struct rig r;
	struct fl_compact_control cc;

	rig_boot(&r, "7.3", 8);
	for (unsigned int i = 0; i < 64; i++)
		rig_free(&r, 5 * 512 + 16 * i, 8); /* order 3, all in the upper half */
	cc = rig_control(&r, 4, FL_MIGRATE_SYNC_LIGHT);
	scan(&r, &cc);
	assert_int_equal(cc.fast_search_fail, 1);
	assert_int_equal(cc.total_migrate_scanned, 34 + 512); /* 32 + 1 entries and the one that ended it */
	cc.migrate_pfn = 0;
	cc.total_migrate_scanned = 0;
	fl_pageblock_of(r.mem, 0)->flags = 0;
	scan(&r, &cc);
	assert_int_equal(cc.total_migrate_scanned, 18 + 512); /* 16 + 1 + 1 */
	rig_done(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_batch_ends_with_32_pages_and_the_next_goes_on_behind_it),
		cmocka_unit_test(test_a_large_folio_may_overshoot_the_batch_and_is_counted_whole),
		cmocka_unit_test(test_free_chunks_and_skipped_folios_count_as_scanned_in_full),
		cmocka_unit_test(test_a_block_without_lru_pages_is_passed_in_one_step_with_the_counts_of_a_walk),
		cmocka_unit_test(test_a_free_chunk_of_two_blocks_is_counted_with_both),
		cmocka_unit_test(test_what_each_mode_takes),
		cmocka_unit_test(test_nothing_that_is_not_on_the_lru_is_taken),
		cmocka_unit_test(test_without_a_target_order_all_folios_below_the_pageblock_order_move),
		cmocka_unit_test(test_too_many_isolated_pages_abort_async_compaction),
		cmocka_unit_test(test_async_direct_gives_back_an_order_aligned_area_with_one_page_that_stays),
		cmocka_unit_test(test_other_compaction_takes_what_it_can_around_pages_that_stay),
		cmocka_unit_test(test_async_direct_scans_blocks_of_its_own_kind_and_all_others_any),
		cmocka_unit_test(test_a_refused_block_still_advances_the_cached_position),
		cmocka_unit_test(test_the_scanner_does_not_cross_the_free_scanner),
		cmocka_unit_test(test_a_block_with_a_takeable_page_gets_its_skip_bit_on_the_first_visit),
		cmocka_unit_test(test_a_block_to_be_finished_is_taken_whole_and_then_skipped),
		cmocka_unit_test(test_the_reset_waits_for_the_flush_flag_and_samples_every_8th_page),
		cmocka_unit_test(test_costly_orders_go_to_a_block_that_is_partly_free_already),
		cmocka_unit_test(test_the_fast_search_gives_up_after_its_limit_and_counts_entries_as_scanned),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
