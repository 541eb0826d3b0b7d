/*
 * tests/mm/compact_run_test.c - whole runs: direct compaction with its counters, capture and deferral; manual runs; random
 * machines. Facts 1.3, 2.5, 6, 7.1 and the check list of section 14.
 */
#include "compact_rig.h"

#include "base/rng.h"

/*
 * Block 2: its first half free, its second half movable. Block 7: every second page free. So one pageblock is to be had
 * for moving 256 pages.
 */
static void lay_out_one_block_to_gain(struct rig *r)
{
	rig_free(r, 1024, 256);
	rig_movable_range(r, 1024 + 256, 256);
	for (unsigned int i = 0; i < 512; i++)
		rig_free(r, 6 * 512 + 2 * i, 1);
	/* a long LRU, so that too_many_isolated never says no */
	rig_movable_range(r, 3 * 512, 3 * 512);
}

static fl_pfn direct(struct rig *r, fl_gfp gfp, unsigned int order, uint32_t alloc_flags,
		     enum fl_compact_priority priority, enum fl_compact_result *result)
{
	struct fl_alloc_context ac = rig_request(gfp, order);

	return fl_compact_direct(r->mem, r->who, &ac, alloc_flags, priority, result);
}

#define THP FL_GFP_TRANSHUGE

/* ---- Capture: facts 6 ---- */

static void test_direct_compaction_captures_past_the_watermark(void **state)
{
	enum fl_compact_result result;
	struct rig r;
	fl_pfn pfn;

	rig_boot(&r, "6.12", 8);
	lay_out_one_block_to_gain(&r);
	rig_free(&r, 1, 511); /* 6.12 wants 1024 pages above low */
	rig_set_marks(r.zone, 0, 0, 100000);
	pfn = direct(&r, THP, 9, FL_WMARK_HIGH, FL_COMPACT_PRIO_ASYNC, &result);
	assert_int_equal(result, FL_COMPACT_SUCCESS);
	assert_int_equal(pfn, 1024);
	assert_int_equal(r.mem->frames.state[pfn], fl_state(FL_KIND_ANON, 9));
	assert_int_equal(fl_pageblock_type(r.mem, pfn), FL_MOVABLE);
	assert_null(r.who->capture);
	assert_int_equal(rig_count(&r, FL_VM_compact_stall), 1);
	assert_int_equal(rig_count(&r, FL_VM_compact_success), 1);
	/* noticed only after the next batch: 256 pages of the block and 32 of another */
	assert_int_equal(rig_count(&r, FL_VM_pgmigrate_success), 256 + 32);
	fl_page_free(r.mem, r.who, pfn, 9);
	rig_done(&r);
}

static void test_kernel_threads_do_not_capture(void **state)
{
	enum fl_compact_result result;
	struct rig r;

	rig_boot(&r, "6.12", 8);
	lay_out_one_block_to_gain(&r);
	rig_free(&r, 1, 511);
	rig_set_marks(r.zone, 0, 0, 100000);
	r.who->flags |= FL_PF_KTHREAD;
	assert_int_equal(direct(&r, THP, 9, FL_WMARK_HIGH, FL_COMPACT_PRIO_ASYNC, &result), FL_PFN_NONE);
	assert_int_equal(result, FL_COMPACT_SUCCESS); /* the chunk is there, but the mark forbids it */
	assert_int_equal(rig_count(&r, FL_VM_compact_stall), 1);
	assert_int_equal(rig_count(&r, FL_VM_compact_fail), 1);
	assert_true(r.zone->nr_free[9] > 0);
	rig_done(&r);
}

static void test_freed_sources_wait_in_per_cpu_lists_until_the_scanner_leaves_the_area(void **state)
{
	enum fl_compact_result result;
	struct fl_compact_control cc;
	struct rig r;

	/* order -1: no drain, so what was freed last is not on the buddy lists */
	rig_boot(&r, "7.3", 8);
	lay_out_one_block_to_gain(&r);
	cc = rig_control(&r, -1, FL_MIGRATE_SYNC);
	cc.ignore_skip_hint = cc.whole_zone = true;
	fl_compact_zone(r.mem, r.who, &cc);
	assert_true(fl_pcp_pages(r.mem, r.zone) > 0);
	rig_done(&r);

	rig_boot(&r, "7.3", 8);
	lay_out_one_block_to_gain(&r);
	r.who->flags |= FL_PF_KTHREAD;
	direct(&r, THP, 9, FL_WMARK_MIN, FL_COMPACT_PRIO_SYNC_LIGHT, &result);
	assert_int_equal(result, FL_COMPACT_SUCCESS);
	rig_done(&r);
}

static void test_an_unmovable_request_below_the_pageblock_order_captures_no_movable_block(void **state)
{
	enum fl_compact_result result;
	struct rig r;
	fl_pfn pfn;

	rig_boot(&r, "7.3", 8);
	lay_out_one_block_to_gain(&r);
	fl_pageblock_set_type(r.mem, 0, FL_UNMOVABLE); /* nothing to move there */
	pfn = direct(&r, FL_GFP_KERNEL, 8, FL_WMARK_MIN, FL_COMPACT_PRIO_SYNC_LIGHT, &result);
	/* the first half of block 2 was there from the start */
	assert_int_equal(result, FL_COMPACT_SUCCESS);
	assert_int_equal(rig_count(&r, FL_VM_compact_migrate_scanned), 0);
	assert_int_not_equal(pfn, FL_PFN_NONE);
	fl_page_free(r.mem, r.who, pfn, 8);
	rig_done(&r);
}

/* ---- Counters and deferral: facts 1.3, 7.1, check list 2 ---- */

static void test_an_attempt_that_was_only_deferred_is_a_stall_in_6_12_and_not_in_7_3(void **state)
{
	static const char *const kernels[] = { "6.12", "6.18", "7.3" };

	for (int v = 0; v < 3; v++) {
		enum fl_compact_result result;
		struct rig r;

		rig_boot(&r, kernels[v], 8);
		lay_out_one_block_to_gain(&r);
		fl_defer_compaction(r.mem, r.who, r.zone, 9);
		fl_defer_compaction(r.mem, r.who, &r.mem->zone[FL_ZONE_DMA32], 9);
		assert_int_equal(direct(&r, THP, 9, FL_WMARK_MIN, FL_COMPACT_PRIO_ASYNC, &result), FL_PFN_NONE);
		assert_int_equal(result, FL_COMPACT_DEFERRED);
		assert_int_equal(rig_count(&r, FL_VM_compact_stall), v < 2);
		assert_int_equal(rig_count(&r, FL_VM_compact_fail), v < 2);
		assert_int_equal(rig_count(&r, FL_VM_compact_migrate_scanned), 0);
		rig_done(&r);
	}
}

static void test_a_skipped_attempt_counts_nothing(void **state)
{
	enum fl_compact_result result;
	struct rig r;

	rig_boot(&r, "7.3", 8);
	rig_movable_range(&r, 0, 512);
	assert_int_equal(direct(&r, THP, 9, FL_WMARK_MIN, FL_COMPACT_PRIO_ASYNC, &result), FL_PFN_NONE);
	assert_int_equal(result, FL_COMPACT_SKIPPED); /* no free page */
	lay_out_one_block_to_gain(&r);
	assert_int_equal(direct(&r, THP & ~FL_GFP_IO, 9, FL_WMARK_MIN, FL_COMPACT_PRIO_ASYNC, &result), FL_PFN_NONE);
	assert_int_equal(result, FL_COMPACT_SKIPPED);
	assert_int_equal(rig_count(&r, FL_VM_compact_stall), 0);
	rig_done(&r);
}

/* Every block has a page that stays, so order 9 is not to be had; there is plenty to move and to move to. */
static void lay_out_hopeless(struct rig *r, unsigned int blocks)
{
	for (unsigned int b = 0; b < blocks; b++) {
		for (unsigned int i = 0; i < 128; i++) {
			rig_movable(r, b * 512 + 4 * i, 0);
			rig_free(r, b * 512 + 4 * i + 2, 1);
		}
	}
}

static void test_only_sync_failures_defer(void **state)
{
	enum fl_compact_result result;
	struct rig r;

	rig_boot(&r, "7.3", 8);
	lay_out_hopeless(&r, 8);
	assert_int_equal(direct(&r, THP, 9, FL_WMARK_MIN, FL_COMPACT_PRIO_ASYNC, &result), FL_PFN_NONE);
	assert_in_range(result, FL_COMPACT_COMPLETE, FL_COMPACT_PARTIAL_SKIPPED);
	assert_int_equal(r.zone->compact.defer_shift, 0);
	assert_int_equal(direct(&r, THP, 9, FL_WMARK_MIN, FL_COMPACT_PRIO_SYNC_LIGHT, &result), FL_PFN_NONE);
	assert_in_range(result, FL_COMPACT_COMPLETE, FL_COMPACT_PARTIAL_SKIPPED);
	assert_int_equal(r.zone->compact.defer_shift, 1);
	assert_int_equal(r.zone->compact.order_failed, 0);
	assert_int_equal(rig_count(&r, FL_VM_compact_stall), 2);
	assert_int_equal(rig_count(&r, FL_VM_compact_fail), 2);
	/* SYNC_FULL asks for no deferral */
	fl_lru_add_drain(r.mem, r.who);
	direct(&r, THP, 9, FL_WMARK_MIN, FL_COMPACT_PRIO_SYNC_FULL, &result);
	assert_int_not_equal(result, FL_COMPACT_DEFERRED);
	rig_done(&r);
}

static void test_a_page_really_got_clears_deferral_and_the_flush_flag(void **state)
{
	enum fl_compact_result result;
	struct rig r;
	fl_pfn pfn;

	rig_boot(&r, "7.3", 8);
	lay_out_one_block_to_gain(&r);
	for (int i = 0; i < 4; i++)
		fl_defer_compaction(r.mem, r.who, r.zone, 9);
	r.zone->compact.considered = 15;
	r.zone->compact.blockskip_flush = true;
	pfn = direct(&r, THP, 9, FL_WMARK_MIN, FL_COMPACT_PRIO_ASYNC, &result);
	assert_int_not_equal(pfn, FL_PFN_NONE);
	assert_int_equal(r.zone->compact.defer_shift, 0);
	assert_int_equal(r.zone->compact.considered, 0);
	assert_int_equal(r.zone->compact.order_failed, 10);
	assert_false(r.zone->compact.blockskip_flush);
	fl_page_free(r.mem, r.who, pfn, 9);
	rig_done(&r);
}

static void test_sync_full_uses_blocks_of_any_type_as_targets_but_migrates_as_sync_light(void **state)
{
	enum fl_compact_result result;
	struct rig r;

	/* all free pages lie in an unmovable block */
	for (int full = 0; full < 2; full++) {
		rig_boot(&r, "7.3", 8);
		rig_movable_range(&r, 512, 1024);
		rig_movable_range(&r, 4 * 512, 1024);
		/* block 3: a miss of the fast search moves the scanner to the half-way mark */
		for (unsigned int i = 0; i < 200; i++)
			rig_free(&r, 3 * 512 + 2 * i, 1);
		fl_move_freepages_block(r.mem, r.zone, 3 * 512, FL_MOVABLE, FL_UNMOVABLE);
		fl_pageblock_set_type(r.mem, 3 * 512, FL_UNMOVABLE);
		r.mem->frames.state[600] |= FL_WRITEBACK;
		direct(&r, FL_GFP_HIGHUSER_MOVABLE, 3, FL_WMARK_MIN,
		       full ? FL_COMPACT_PRIO_SYNC_FULL : FL_COMPACT_PRIO_SYNC_LIGHT, &result);
		assert_int_equal(rig_count(&r, FL_VM_pgmigrate_success) > 0, full);
		assert_int_equal(fl_state_kind(r.mem->frames.state[600]), FL_KIND_ANON); /* not waited for */
		r.mem->frames.state[600] &= ~FL_WRITEBACK;
		rig_done(&r);
	}
}

static void test_a_large_folio_that_finds_no_target_and_cannot_split_ends_as_contended_and_never_defers(void **state)
{
	struct fl_alloc_context ac = rig_request(FL_GFP_HIGHUSER_MOVABLE, 6);
	fl_pfn captured;
	struct rig r;

	rig_boot(&r, "7.3", 8);
	rig_movable(&r, 512, 5);
	r.mem->frames.state[512] |= FL_LOCKED;
	rig_movable_range(&r, 3 * 512, 1024);
	for (unsigned int i = 0; i < 200; i++)
		rig_free(&r, 6 * 512 + 2 * i, 1);
	assert_int_equal(fl_try_to_compact_pages(r.mem, r.who, &ac, FL_WMARK_MIN, FL_COMPACT_PRIO_SYNC_LIGHT,
						 &captured),
			 FL_COMPACT_CONTENDED);
	assert_int_equal(r.zone->compact.defer_shift, 0);
	r.mem->frames.state[512] &= ~FL_LOCKED;
	rig_done(&r);
}

static void test_work_goes_to_the_account_of_the_caller(void **state)
{
	enum fl_compact_result result;
	struct rig r;
	fl_pfn pfn;

	rig_boot(&r, "7.3", 8);
	lay_out_one_block_to_gain(&r);
	r.who->actor = FL_ACTOR_DIRECT;
	r.who->trigger = FL_TRIGGER_SLOWPATH;
	pfn = direct(&r, THP, 9, FL_WMARK_MIN, FL_COMPACT_PRIO_ASYNC, &result);
	assert_int_equal(r.mem->work[FL_WORK_migrated][FL_ACTOR_DIRECT][FL_TRIGGER_SLOWPATH], 256 + 32);
	assert_int_equal(r.mem->work[FL_WORK_migrate_scanned][FL_ACTOR_DIRECT][FL_TRIGGER_SLOWPATH],
			 rig_count(&r, FL_VM_compact_migrate_scanned));
	assert_int_equal(r.mem->work[FL_WORK_free_scanned][FL_ACTOR_DIRECT][FL_TRIGGER_SLOWPATH],
			 rig_count(&r, FL_VM_compact_free_scanned));
	assert_int_equal(r.mem->work[FL_WORK_stalls][FL_ACTOR_DIRECT][FL_TRIGGER_SLOWPATH], 1);
	assert_true(r.who->task->pending_ns + r.who->task->sys_ns > 256 * fl_cost_default.copy_4k);
	assert_true(r.mem->work[FL_WORK_cpu_ns][FL_ACTOR_DIRECT][FL_TRIGGER_SLOWPATH] > 256 * fl_cost_default.copy_4k);
	fl_page_free(r.mem, r.who, pfn, 9);
	rig_done(&r);
}

/* Check list 18: a freshly faulted page in a batch is on no list; compact_zone drains the batches of its own CPU only. */
static void test_pages_in_batches_are_out_of_reach_until_drained(void **state)
{
	struct fl_compact_control cc;
	struct rig r;

	rig_boot(&r, "7.3", 8);
	rig_movable_range(&r, 3 * 512, 1024);
	fl_folio_isolate_lru(r.mem, 3 * 512);
	fl_folio_putback_lru(r.mem, r.who, 3 * 512);
	cc = rig_control(&r, -1, FL_MIGRATE_SYNC);
	cc.migrate_pfn = 3 * 512;
	fl_isolate_migratepages(r.mem, r.who, &cc);
	assert_true(r.mem->frames.state[3 * 512] & FL_BATCHED);
	assert_int_equal(cc.migratepages.last, 3 * 512 + 1); /* taken first, so it is the last of the list */
	rig_control_done(&r, &cc);
	/* a run drains first, and takes it: 16 free targets, the first 16 pages go */
	for (unsigned int i = 0; i < 17; i++)
		rig_free(&r, 6 * 512 + 2 * i, 1);
	fl_folio_isolate_lru(r.mem, 3 * 512);
	fl_folio_putback_lru(r.mem, r.who, 3 * 512);
	cc = rig_control(&r, -1, FL_MIGRATE_SYNC);
	cc.ignore_skip_hint = cc.whole_zone = true;
	fl_compact_zone(r.mem, r.who, &cc);
	assert_int_equal(rig_count(&r, FL_VM_pgmigrate_success), 16);
	/* last in, first out: pages 16 to 31 of the 32; without the drained one they would be 17 to 32 */
	assert_true(fl_pte_pfn(fl_pte_look(r.mem, r.mm, r.base + 3 * 512 + 16)) >= 6 * 512);
	assert_int_equal(fl_pte_pfn(fl_pte_look(r.mem, r.mm, r.base + 3 * 512 + 32)), 3 * 512 + 32);
	rig_done(&r);
}

/* ---- Manual compaction and random machines ---- */

static void test_manual_compaction_packs_all_movable_pages_at_the_top(void **state)
{
	fl_pfn lowest = 0;
	unsigned int above;
	struct rig r;

	rig_boot(&r, "7.3", 16);
	for (fl_pfn pfn = 0; pfn < r.zone->end; pfn++) {
		if (pfn % 3)
			rig_movable(&r, pfn, 0);
		else
			rig_free(&r, pfn, 1);
	}
	fl_compact_memory(r.mem, r.who);
	fl_lru_add_drain_all(r.mem, r.who);
	fl_pcp_drain_all(r.mem, r.who, NULL);
	while (rig_kind(&r, lowest) != FL_KIND_ANON)
		lowest += rig_kind(&r, lowest) == FL_KIND_BUDDY ? 1u << fl_folio_order(r.mem, lowest) : 1;
	assert_int_equal(r.mm->anon_pages, r.zone->managed - (r.zone->managed + 2) / 3);
	assert_true(lowest >= 4 * 512); /* a third of sixteen blocks is free, in one piece but for one block */
	/* All blocks above the two at the meeting point are full, but for what a stride of 2 passed after a call that found a
	 * block used up. */
	lowest = fl_pageblock_end(r.mem, lowest) + 512;
	above = rig_free_pages(&r, lowest, r.zone->end - lowest);
	assert_true(above <= 32);
	assert_true(r.zone->nr_free_pages_blocks >= 4 * 512);
	rig_done(&r);
}

/* A machine of free, unmovable, movable pages and folios of all orders, in blocks of all types. */
static void lay_out_random(struct rig *r, struct fl_rng *rng)
{
	for (fl_pfn block = 0; block < r->zone->end; block += 512) {
		unsigned int unmovable = fl_rng_below(rng, 4) ? 0 : (unsigned int)fl_rng_below(rng, 60);
		unsigned int free = (unsigned int)fl_rng_below(rng, 100);

		for (fl_pfn pfn = block; pfn < block + 512;) {
			unsigned int order = fl_rng_below(rng, 8) ? 0 : (unsigned int)fl_rng_between(rng, 2, 6);

			if (pfn & ((1u << order) - 1))
				order = 0;
			if (fl_rng_below(rng, 100) < unmovable)
				pfn++;
			else if (fl_rng_below(rng, 100) < free)
				rig_free(r, pfn++, 1);
			else {
				rig_movable(r, pfn, order);
				if (!fl_rng_below(rng, 50))
					r->mem->frames.state[pfn] |= FL_PINNED;
				pfn += 1u << order;
			}
		}
		if (!fl_rng_below(rng, 5)) {
			unsigned int type = fl_rng_below(rng, 2) ? FL_UNMOVABLE : FL_RECLAIMABLE;

			if (fl_pageblock_of(r->mem, block)->free < 512) {
				fl_move_freepages_block(r->mem, r->zone, block, FL_MOVABLE, type);
				fl_pageblock_set_type(r->mem, block, type);
			}
		}
	}
}

static void random_step(struct rig *r, struct fl_rng *rng)
{
	static const fl_gfp gfps[] = { FL_GFP_TRANSHUGE, FL_GFP_KERNEL, FL_GFP_HIGHUSER_MOVABLE };
	enum fl_compact_result result;
	struct fl_compact_control cc;
	unsigned int order = (unsigned int)fl_rng_between(rng, 1, 10);
	fl_pfn pfn = FL_PFN_NONE;

	switch (fl_rng_below(rng, 5)) {
	case 0:
		fl_compact_node(r->mem, r->who, fl_rng_below(rng, 2));
		break;
	case 1:
		r->zone->compact.blockskip_flush = true;
		fl_reset_isolation_suitable(r->mem, r->who);
		break;
	case 2: { /* a process goes away in part */
		fl_vpn at = r->base + (fl_vpn)fl_rng_below(rng, r->zone->end - 100);

		fl_zap_range(r->mem, r->who, r->mm, at, at + (fl_vpn)fl_rng_between(rng, 1, 100));
		break;
	}
	case 3: /* as kcompactd does */
		cc = rig_control(r, (int)order, FL_MIGRATE_SYNC_LIGHT);
		cc.gfp = FL_GFP_KERNEL;
		fl_compact_zone(r->mem, r->who, &cc);
		break;
	default:
		pfn = direct(r, gfps[fl_rng_below(rng, 3)], order, FL_WMARK_MIN,
			     (enum fl_compact_priority)fl_rng_below(rng, 3), &result);
		if (pfn != FL_PFN_NONE)
			fl_page_free(r->mem, r->who, pfn, order);
	}
}

static void test_random_machines_keep_every_invariant(void **state)
{
	static const char *const kernels[] = { "6.12", "6.18", "7.3", "7.3+mobility" };
	const uint64_t seeds = 24;

	for (uint64_t seed = 0; seed < seeds; seed++) {
		struct fl_rng rng;
		struct rig r;

		fl_rng_init(&rng, seed, "compaction", 0);
		rig_boot(&r, kernels[seed % 4], 8);
		lay_out_random(&r, &rng);
		rig_set_marks(r.zone, fl_rng_below(&rng, 64), 70, 80);
		for (int i = 0; i < 20; i++) {
			uint64_t pages = r.mm->anon_pages;

			random_step(&r, &rng);
			assert_int_equal(r.mem->lru->isolated[0] + r.mem->lru->isolated[1], 0);
			assert_true(r.mm->anon_pages <= pages);
			fl_mem_check(r.mem);
		}
		for (fl_pfn pfn = 0; pfn < r.zone->end; pfn++) {
			assert_int_not_equal(rig_kind(&r, pfn), FL_KIND_TARGET);
			if (rig_kind(&r, pfn) == FL_KIND_ANON)
				r.mem->frames.state[pfn] &= ~FL_PINNED;
		}
		rig_done(&r);
	}
}

static void test_same_layout_same_hash(void **state)
{
	uint64_t hash[2];

	for (int i = 0; i < 2; i++) {
		struct fl_rng rng;
		struct rig r;

		fl_rng_init(&rng, 5, "compaction", 0);
		rig_boot(&r, "7.3", 8);
		lay_out_random(&r, &rng);
		for (int step = 0; step < 10; step++)
			random_step(&r, &rng);
		hash[i] = fl_mem_hash(r.mem);
		for (fl_pfn pfn = 0; pfn < r.zone->end; pfn++)
			if (rig_kind(&r, pfn) == FL_KIND_ANON)
				r.mem->frames.state[pfn] &= ~FL_PINNED;
		rig_done(&r);
	}
	assert_int_equal(hash[0], hash[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_direct_compaction_captures_past_the_watermark),
		cmocka_unit_test(test_kernel_threads_do_not_capture),
		cmocka_unit_test(test_freed_sources_wait_in_per_cpu_lists_until_the_scanner_leaves_the_area),
		cmocka_unit_test(test_an_unmovable_request_below_the_pageblock_order_captures_no_movable_block),
		cmocka_unit_test(test_an_attempt_that_was_only_deferred_is_a_stall_in_6_12_and_not_in_7_3),
		cmocka_unit_test(test_a_skipped_attempt_counts_nothing),
		cmocka_unit_test(test_only_sync_failures_defer),
		cmocka_unit_test(test_a_page_really_got_clears_deferral_and_the_flush_flag),
		cmocka_unit_test(test_sync_full_uses_blocks_of_any_type_as_targets_but_migrates_as_sync_light),
		cmocka_unit_test(test_a_large_folio_that_finds_no_target_and_cannot_split_ends_as_contended_and_never_defers),
		cmocka_unit_test(test_work_goes_to_the_account_of_the_caller),
		cmocka_unit_test(test_pages_in_batches_are_out_of_reach_until_drained),
		cmocka_unit_test(test_manual_compaction_packs_all_movable_pages_at_the_top),
		cmocka_unit_test(test_random_machines_keep_every_invariant),
		cmocka_unit_test(test_same_layout_same_hash),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
