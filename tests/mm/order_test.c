/*
 * tests/mm/order_test.c - which page exactly: ends of lists, tables and borders that nothing else pins down. Each test was
 * written for a change of one line of the core that no other test noticed. Rules of allocator.md 2.4 to 2.10, 3 and 4.2.
 */
#include "fixture.h"

#define BLOCK 512

/* Takes all of the zone as single movable pages. */
static void fill(struct fixture *f)
{
	for (;;) {
		fl_pfn pfn = fl_rmqueue_smallest(f->mem, &f->who, fixture_zone(f), 0, FL_MOVABLE);

		if (pfn == FL_PFN_NONE)
			return;
		fl_page_prep(f->mem, pfn, 0, FL_KIND_ANON);
	}
}

static void give_run(struct fixture *f, fl_pfn from, unsigned int pages)
{
	for (unsigned int i = 0; i < pages; i++)
		give_buddy(f, from + i, 0);
}

static fl_pfn first_of(struct fixture *f, unsigned int type, unsigned int order)
{
	return fl_list_first(&f->mem->frames, fl_free_list(fixture_zone(f), type, order));
}

static fl_pfn last_of(struct fixture *f, unsigned int type, unsigned int order)
{
	return fl_list_last(&f->mem->frames, fl_free_list(fixture_zone(f), type, order));
}

static void test_upper_half_is_the_head_of_a_list_that_holds_others(void **state)
{
	struct fixture f = { 0 };

	fixture_normal(&f, "7.3", 16);
	assert_int_equal(take_buddy(&f, 9, FL_MOVABLE, 0), 0);
	assert_int_equal(take_buddy(&f, 9, FL_MOVABLE, 0), BLOCK);
	give_buddy(&f, BLOCK, 9); /* order 9 listed, its buddy in use */
	for (unsigned int i = 0; i < 7; i++) /* all of order 10 but one */
		take_buddy(&f, 10, FL_MOVABLE, 0);
	assert_int_equal(fixture_zone(&f)->nr_free[10], 0);
	give_buddy(&f, 4 * BLOCK, 10);
	fl_list_del(&f.mem->frames, BLOCK); /* hide the order 9 chunk for one request */
	fixture_zone(&f)->nonempty[FL_MOVABLE] &= ~(1u << 9);
	fl_list_add(&f.mem->frames, fl_free_list(fixture_zone(&f), FL_MOVABLE, 9), BLOCK);
	assert_int_equal(take_buddy(&f, 9, FL_MOVABLE, 0), 4 * BLOCK);
	assert_int_equal(first_of(&f, FL_MOVABLE, 9), 5 * BLOCK);
	assert_int_equal(last_of(&f, FL_MOVABLE, 9), BLOCK);
	fixture_done(&f);
}

static uint64_t refill_flag;
static void note_refill_flag(void *arg, const struct fl_trace_event *event)
{
	refill_flag = event->arg[3];
}

static void test_event_of_a_huge_page_says_that_percpu_lists_cache_its_order(void **state)
{
	struct fixture f = { 0 };

	fixture_normal(&f, "7.3", 16);
	f.mem->trace = (struct fl_trace_sink){ .mask = 1u << FL_TRACE_mm_page_alloc_zone_locked, .emit = note_refill_flag };
	take_buddy(&f, 9, FL_MOVABLE, 0);
	assert_int_equal(refill_flag, 1);
	take_buddy(&f, 10, FL_MOVABLE, 0);
	assert_int_equal(refill_flag, 0);
	fixture_done(&f);
}

static void test_first_fallback_is_reclaimable_or_unmovable(void **state)
{
	static const unsigned int first[] = { FL_RECLAIMABLE, FL_RECLAIMABLE, FL_UNMOVABLE };
	static const unsigned int second[] = { FL_MOVABLE, FL_UNMOVABLE, FL_MOVABLE };

	for (unsigned int want = 0; want < FL_PCPTYPES; want++) {
		struct fixture f = { 0 };

		fixture_normal(&f, "7.3", 16);
		fill(&f);
		fl_pageblock_set_type(f.mem, 2 * BLOCK, first[want]);
		fl_pageblock_set_type(f.mem, 4 * BLOCK, second[want]);
		assert_int_equal(fl_find_fallback(fixture_zone(&f), 0, want), -1);
		give_buddy(&f, 4 * BLOCK, 0);
		assert_int_equal(fl_find_fallback(fixture_zone(&f), 0, want), second[want]);
		give_buddy(&f, 2 * BLOCK, 0);
		assert_int_equal(fl_find_fallback(fixture_zone(&f), 0, want), first[want]);
		/* Stealing goes by the same table. */
		for (fl_pfn at = 2 * BLOCK + 1; at < 5 * BLOCK; at++)
			if (at != 4 * BLOCK)
				set_lru(&f, at, true);
		assert_int_equal(take_buddy(&f, 0, want, 0), 2 * BLOCK);
		fixture_done(&f);
	}
}

static void test_boost_of_a_request_that_may_wake_kswapd_leaves_a_flag_for_it(void **state)
{
	for (unsigned int kswapd = 0; kswapd < 2; kswapd++) {
		struct fixture f = { 0 };

		fixture_normal(&f, "7.3", 16);
		fill(&f);
		give_buddy(&f, 0, 0);
		take_buddy(&f, 0, FL_UNMOVABLE, kswapd ? FL_ALLOC_KSWAPD : 0);
		assert_int_equal(f.mem->vm[FL_VM_watermark_boosts], 1);
		assert_int_equal(fixture_zone(&f)->flags & FL_ZONE_BOOSTED_WATERMARK, kswapd ? FL_ZONE_BOOSTED_WATERMARK : 0);
		fixture_done(&f);
	}
}

/* rmqueue() clears the flag for a request that may wake kswapd, even when no page came. */
static void test_next_request_that_may_wake_kswapd_clears_the_flag(void **state)
{
	struct fixture f = { 0 };

	fixture_normal(&f, "7.3", 128);
	fixture_zone(&f)->flags |= FL_ZONE_BOOSTED_WATERMARK;
	fl_page_alloc(f.mem, &f.who, GFP_MOVABLE_NOW, 0, FL_KIND_ANON);
	assert_true(fixture_zone(&f)->flags & FL_ZONE_BOOSTED_WATERMARK);
	fl_page_alloc(f.mem, &f.who, GFP_MOVABLE_NOW | FL_GFP_KSWAPD_RECLAIM, 0, FL_KIND_ANON);
	assert_false(fixture_zone(&f)->flags & FL_ZONE_BOOSTED_WATERMARK);
	fixture_done(&f);
}

static void test_moved_chunk_goes_to_the_tail(void **state)
{
	struct fixture f = { 0 };

	fixture_normal(&f, "7.3", 16);
	fill(&f);
	fl_pageblock_set_type(f.mem, 2 * BLOCK, FL_UNMOVABLE);
	give_run(&f, 2 * BLOCK, BLOCK);
	give_run(&f, 4 * BLOCK, BLOCK);
	fl_move_listed_chunk(f.mem, fixture_zone(&f), 2 * BLOCK, 9, FL_UNMOVABLE, FL_MOVABLE);
	fl_pageblock_set_type(f.mem, 2 * BLOCK, FL_MOVABLE);
	assert_int_equal(last_of(&f, FL_MOVABLE, 9), 2 * BLOCK);
	fixture_done(&f);
}

static void test_claim_sends_the_rest_of_the_bulk_back_to_the_own_lists(void **state)
{
	struct fixture f = { 0 };
	enum fl_rmqueue_mode mode = FL_RMQUEUE_NORMAL;
	fl_pfn pfn;

	fixture_normal(&f, "7.3", 16);
	pfn = fl_rmqueue(f.mem, &f.who, fixture_zone(&f), 0, FL_UNMOVABLE, 0, &mode);
	fl_page_prep(f.mem, pfn, 0, FL_KIND_KERNEL);
	assert_int_equal(mode, FL_RMQUEUE_NORMAL);
	fixture_done(&f);
}

static void test_free_of_order_9_goes_to_the_head_whatever_lies_beside_its_parent(void **state)
{
	struct fixture f = { 0 };

	fixture_normal(&f, "7.3", 16);
	fill(&f);
	give_run(&f, 8 * BLOCK, BLOCK);
	give_run(&f, 2 * BLOCK, 2 * BLOCK); /* order 10 beside the parent of the next */
	give_run(&f, 0, BLOCK);
	assert_int_equal(first_of(&f, FL_MOVABLE, 9), 0);
	fixture_done(&f);
}

static void test_free_scanner_leaves_the_type_of_a_reserve(void **state)
{
	struct fixture f = { 0 };

	fixture_normal(&f, "7.3", 16);
	fill(&f);
	fl_pageblock_set_type(f.mem, 4 * BLOCK, FL_HIGHATOMIC);
	give_run(&f, 4 * BLOCK, BLOCK / 2);
	give_run(&f, 8 * BLOCK, BLOCK);
	fixture_zone(&f)->wmark[FL_WMARK_MIN] = 0;
	assert_true(fl_isolate_free_page(f.mem, fixture_zone(&f), 4 * BLOCK, 8));
	assert_int_equal(fl_pageblock_type(f.mem, 4 * BLOCK), FL_HIGHATOMIC);
	fixture_done(&f);
}

static void test_rest_of_a_half_taken_block_goes_to_the_tails_though_it_is_movable(void **state)
{
	struct fixture f = { 0 };

	fixture_normal(&f, "7.3", 16);
	fill(&f);
	give_run(&f, 8 * BLOCK, BLOCK);
	give_run(&f, 6 * BLOCK, 4);
	give_run(&f, 4 * BLOCK, BLOCK / 2);
	give_run(&f, 4 * BLOCK + BLOCK / 2 + 8, 4);
	assert_int_equal(first_of(&f, FL_MOVABLE, 2), 4 * BLOCK + BLOCK / 2 + 8);
	fixture_zone(&f)->wmark[FL_WMARK_MIN] = 0;
	assert_true(fl_isolate_free_page(f.mem, fixture_zone(&f), 4 * BLOCK, 8));
	assert_int_equal(first_of(&f, FL_MOVABLE, 2), 6 * BLOCK);
	assert_int_equal(last_of(&f, FL_MOVABLE, 2), 4 * BLOCK + BLOCK / 2 + 8);
	fixture_done(&f);
}

static void test_free_scanner_heeds_min_without_boost_but_not_in_isolated_blocks(void **state)
{
	struct fixture f = { 0 };

	fixture_normal(&f, "7.3", 16);
	fixture_zone(&f)->wmark[FL_WMARK_MIN] = 1u << 20;
	assert_false(fl_isolate_free_page(f.mem, fixture_zone(&f), 4 * BLOCK, 10));
	assert_true(fl_isolate_pageblock(f.mem, &f.who, 4 * BLOCK));
	assert_true(fl_isolate_free_page(f.mem, fixture_zone(&f), 4 * BLOCK, 9));
	fixture_zone(&f)->wmark[FL_WMARK_MIN] = 0;
	fixture_zone(&f)->wmark[FL_WMARK_LOW] = 1u << 20;
	fixture_zone(&f)->watermark_boost = 1u << 20;
	assert_true(fl_isolate_free_page(f.mem, fixture_zone(&f), 8 * BLOCK, 10));
	fixture_zone(&f)->watermark_boost = 0;
	fixture_done(&f);
}

static void test_block_is_reserved_once(void **state)
{
	struct fixture f = { 0 };
	fl_pfn pfn;

	fixture_normal(&f, "7.3", 128);
	pfn = take_buddy(&f, 0, FL_MOVABLE, 0);
	for (unsigned int i = 0; i < 2; i++)
		fl_reserve_highatomic(f.mem, fixture_zone(&f), pfn, 0);
	assert_int_equal(fixture_zone(&f)->nr_reserved_highatomic, BLOCK);
	fixture_done(&f);
}

/* ---- Per-CPU lists ---- */

/* Pages that one order-0 refill brings, with these limits and so many pages on other lists. */
static int refill_of(struct fixture *f, int high, int high_min, int high_max, int batch, unsigned int factor, uint32_t flags)
{
	struct fl_pcp *pcp = fixture_zone(f)->pcp;
	int before;

	fl_pcp_drain_cpu(f->mem, &f->who, fixture_zone(f), 0);
	before = pcp->count;
	pcp->high = high, pcp->high_min = high_min, pcp->high_max = high_max, pcp->batch = batch;
	pcp->alloc_factor = (uint8_t)factor;
	fixture_zone(f)->flags = flags;
	fl_page_prep(f->mem, fl_pcp_alloc(f->mem, &f->who, fixture_zone(f), 0, FL_MOVABLE, 0), 0, FL_KIND_ANON);
	fixture_zone(f)->flags = 0;
	return pcp->count + 1 - before;
}

static void test_refill_by_the_limits_of_the_lists(void **state)
{
	struct fixture f = { 0 };
	struct fl_pcp *pcp;

	fixture_normal(&f, "7.3", 128);
	pcp = fixture_zone(&f)->pcp;
	assert_int_equal(refill_of(&f, 5, 5, 5, 8, 3, 0), 1); /* lists are off */
	assert_int_equal(refill_of(&f, 100, 100, 1000, 8, 2, 0), 32);
	assert_int_equal(pcp->high, 132);
	assert_int_equal(pcp->alloc_factor, 3);
	assert_int_equal(refill_of(&f, 100, 100, 1000, 8, 2, FL_ZONE_BELOW_HIGH), 32);
	assert_int_equal(pcp->high, 100); /* grows no more */
	assert_int_equal(refill_of(&f, 100, 100, 100, 8, 5, 0), 92); /* up to the limit less a batch */
	assert_int_equal(pcp->alloc_factor, 5);
	assert_int_equal(refill_of(&f, 100, 100, 100, 8, 4, 0), 92);
	assert_int_equal(pcp->alloc_factor, 4); /* more than fits: not doubled */
	assert_int_equal(refill_of(&f, 10, 10, 10, 8, 4, 0), 8); /* a batch at least */
	fixture_done(&f);
}

/* A CPU with `held` single pages on its lists frees a chunk; how many base pages leave? `ret_high` is the limit after. */
struct free_case {
	int held, high, high_min, high_max, free_count;
	unsigned int order;
	uint32_t flags;
	bool prev_high_order, high_batch;
};

static int drained_by_free(const char *kernel, const struct free_case *c, int *ret_high)
{
	struct fixture f = { 0 };
	struct fl_pcp *pcp;
	fl_pfn pfn, *pages = fl_xcalloc(2048, sizeof(*pages));
	int left;

	fixture_normal(&f, kernel, 128);
	pcp = fixture_zone(&f)->pcp;
	pfn = take_buddy(&f, c->order, FL_MOVABLE, 0);
	for (int i = 0; i < c->held; i++)
		pages[i] = take_buddy(&f, 0, FL_MOVABLE, 0);
	pcp->high = pcp->high_min = pcp->high_max = 4096;
	for (int i = 0; i < c->held; i++)
		fl_page_free(f.mem, &f.who, pages[i], 0);
	assert_int_equal(pcp->count, c->held);
	pcp->batch = 8;
	pcp->high = c->high, pcp->high_min = c->high_min, pcp->high_max = c->high_max;
	pcp->free_count = c->free_count;
	pcp->prev_free_high_order = c->prev_high_order, pcp->free_high_batch = c->high_batch;
	fixture_zone(&f)->flags = c->flags;
	fl_page_free(f.mem, &f.who, pfn, c->order);
	left = pcp->count;
	*ret_high = pcp->high;
	fixture_zone(&f)->flags = 0;
	fixture_done(&f);
	fl_xfree(pages);
	return c->held + (1 << c->order) - left;
}

static void test_drain_by_the_limits_of_the_lists(void **state)
{
	int high;

	/* Over the limit by frees in a row: as many go, but a batch stays; the limit makes room for more of them. */
	assert_int_equal(drained_by_free("7.3", &(struct free_case){ .held = 99, .high = 100, .high_min = 50, .high_max = 500,
								    .free_count = 40 }, &high), 41);
	assert_int_equal(high, 100);
	assert_int_equal(drained_by_free("7.3", &(struct free_case){ .held = 99, .high = 100, .high_min = 50, .high_max = 500,
								    .free_count = 140 }, &high), 92);
	assert_int_equal(high, 149); /* 141 and a batch */
	assert_int_equal(drained_by_free("7.3", &(struct free_case){ .held = 99, .high = 100, .high_min = 50, .high_max = 120,
								    .free_count = 140 }, &high), 92);
	assert_int_equal(high, 120);
	/* The count of frees in a row stops at 32 batches. */
	assert_int_equal(drained_by_free("7.3", &(struct free_case){ .held = 999, .high = 1000, .high_min = 1000,
								    .high_max = 1000, .free_count = 256 }, &high), 256);
	/* A zone below its high mark lets go of what was freed in a row, whatever the limit. */
	assert_int_equal(drained_by_free("7.3", &(struct free_case){ .held = 199, .high = 400, .high_min = 100, .high_max = 500,
								    .free_count = 150, .flags = FL_ZONE_BELOW_HIGH }, &high),
			 151);
	assert_int_equal(high, 249);
	assert_int_equal(drained_by_free("7.3", &(struct free_case){ .held = 50, .high = 400, .high_min = 100, .high_max = 500,
								    .free_count = 150, .flags = FL_ZONE_BELOW_HIGH }, &high),
			 0);
	/* With fixed limits there is nothing to lower. */
	assert_int_equal(drained_by_free("7.3", &(struct free_case){ .held = 50, .high = 100, .high_min = 100, .high_max = 100,
								    .free_count = 150, .flags = FL_ZONE_BELOW_HIGH }, &high),
			 0);
	assert_int_equal(high, 100);
}

static void test_what_makes_a_burst_of_high_order_frees(void **state)
{
	struct free_case c = { .held = 20, .high = 400, .high_min = 10, .high_max = 500, .free_count = 20, .order = 2,
			       .prev_high_order = true };
	int high;

	assert_int_equal(drained_by_free("6.12", &c, &high), 24); /* all of it */
	assert_int_equal(high, 400 - 256);
	c.prev_high_order = false;
	assert_int_equal(drained_by_free("6.12", &c, &high), 0);
	assert_int_equal(high, 400);
	c.prev_high_order = true;
	c.free_count = 7;
	assert_int_equal(drained_by_free("6.12", &c, &high), 0);
	c.free_count = 8;
	assert_int_equal(drained_by_free("6.12", &c, &high), 24);
	c.order = 0;
	assert_int_equal(drained_by_free("6.12", &c, &high), 0);
	/* CPUs with room in their cache hold a batch before they let go. */
	c = (struct free_case){ .held = 3, .high = 400, .high_min = 10, .high_max = 500, .free_count = 20, .order = 2,
				.prev_high_order = true, .high_batch = true };
	assert_int_equal(drained_by_free("6.12", &c, &high), 0);
	c.held = 4;
	assert_int_equal(drained_by_free("6.12", &c, &high), 8);
	/* 7.3 wants half of the least limit more. */
	c.high_min = 24;
	assert_int_equal(drained_by_free("7.3", &c, &high), 8);
	c.free_count = 19;
	assert_int_equal(drained_by_free("7.3", &c, &high), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_upper_half_is_the_head_of_a_list_that_holds_others),
		cmocka_unit_test(test_event_of_a_huge_page_says_that_percpu_lists_cache_its_order),
		cmocka_unit_test(test_first_fallback_is_reclaimable_or_unmovable),
		cmocka_unit_test(test_boost_of_a_request_that_may_wake_kswapd_leaves_a_flag_for_it),
		cmocka_unit_test(test_next_request_that_may_wake_kswapd_clears_the_flag),
		cmocka_unit_test(test_moved_chunk_goes_to_the_tail),
		cmocka_unit_test(test_claim_sends_the_rest_of_the_bulk_back_to_the_own_lists),
		cmocka_unit_test(test_free_of_order_9_goes_to_the_head_whatever_lies_beside_its_parent),
		cmocka_unit_test(test_free_scanner_leaves_the_type_of_a_reserve),
		cmocka_unit_test(test_rest_of_a_half_taken_block_goes_to_the_tails_though_it_is_movable),
		cmocka_unit_test(test_free_scanner_heeds_min_without_boost_but_not_in_isolated_blocks),
		cmocka_unit_test(test_block_is_reserved_once),
		cmocka_unit_test(test_refill_by_the_limits_of_the_lists),
		cmocka_unit_test(test_drain_by_the_limits_of_the_lists),
		cmocka_unit_test(test_what_makes_a_burst_of_high_order_frees),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
