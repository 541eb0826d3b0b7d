/*
 * tests/mm/rules_test.c - the check list of allocator.md section 11, one test a rule, on 6.12 and 7.3 where they differ.
 */
#include "fixture.h"

#define BLOCK 512

/* Takes every chunk of the zone from the buddy lists as order-0 movable pages, into `pages`; returns how many. */
static unsigned int take_all(struct fixture *f, fl_pfn *pages, unsigned int max)
{
	unsigned int n = 0;

	while (n < max) {
		fl_pfn pfn = fl_rmqueue_smallest(f->mem, &f->who, fixture_zone(f), 0, FL_MOVABLE);

		if (pfn == FL_PFN_NONE)
			break;
		fl_page_prep(f->mem, pfn, 0, FL_KIND_ANON);
		pages[n++] = pfn;
	}
	return n;
}

/* 1 */
static void test_free_count_is_what_the_lists_hold_without_isolated_and_percpu_pages(void **state)
{
	struct fixture f = { 0 };
	long before, isolated;
	fl_pfn pfn;

	fixture_normal(&f, "7.3", 128);
	before = fixture_zone(&f)->nr_free_pages;
	pfn = fl_page_alloc(f.mem, &f.who, GFP_MOVABLE_NOW, 0, FL_KIND_ANON);
	assert_int_equal(fixture_zone(&f)->nr_free_pages, before - 1 - fixture_zone(&f)->pcp->count);
	assert_true(fixture_zone(&f)->pcp->count > 0);
	assert_true(fl_isolate_pageblock(f.mem, &f.who, 8 * BLOCK));
	isolated = fixture_zone(&f)->nr_isolated_free;
	assert_int_equal(isolated, BLOCK);
	assert_int_equal(fixture_zone(&f)->nr_free_pages, before - 1 - fixture_zone(&f)->pcp->count - BLOCK);
	fl_page_free(f.mem, &f.who, pfn, 0);
	fixture_done(&f);
}

/* 4 */
static void test_order_0_requests_on_a_fresh_zone_come_in_rising_pfn(void **state)
{
	struct fixture f = { 0 };

	fixture_normal(&f, "7.3", 16);
	for (fl_pfn want = 0; want < 700; want++)
		assert_int_equal(fl_page_alloc(f.mem, &f.who, GFP_MOVABLE_NOW, 0, FL_KIND_ANON), want);
	fixture_done(&f);
}

static void test_first_refill_takes_one_batch_and_the_next_ones_double(void **state)
{
	struct fixture f = { 0 };
	int batch, sizes[4];

	fixture_normal(&f, "7.3", 1024); /* 2 GiB: batch 63 */
	batch = fixture_zone(&f)->pcp->batch;
	assert_int_equal(batch, 63);
	for (unsigned int i = 0; i < 4; i++) {
		fl_page_alloc(f.mem, &f.who, GFP_MOVABLE_NOW, 0, FL_KIND_ANON);
		sizes[i] = fixture_zone(&f)->pcp->count + 1;
		while (fixture_zone(&f)->pcp->count)
			fl_page_alloc(f.mem, &f.who, GFP_MOVABLE_NOW, 0, FL_KIND_ANON);
	}
	for (unsigned int i = 0; i < 4; i++)
		assert_int_equal(sizes[i], 63 << i);
	fixture_done(&f);
}

/* 5 */
static void test_first_unmovable_request_under_nofragment_converts_an_order_10_chunk(void **state)
{
	struct fixture f = { 0 };
	fl_pfn pfn;

	fixture_normal(&f, "7.3", 16);
	pfn = fl_page_alloc(f.mem, &f.who, GFP_UNMOVABLE_NOW, 0, FL_KIND_KERNEL);
	assert_int_equal(fl_pageblock_type(f.mem, pfn), FL_UNMOVABLE);
	assert_int_equal(fl_pageblock_type(f.mem, pfn ^ BLOCK), FL_UNMOVABLE);
	assert_int_equal(f.mem->extfrag[FL_UNMOVABLE][FL_MOVABLE][10][FL_EXTFRAG_CLAIM], 1);
	assert_int_equal(fixture_zone(&f)->watermark_boost, 0);
	assert_int_equal(f.mem->vm[FL_VM_watermark_boosts], 0);
	assert_true(fixture_zone(&f)->nonempty[FL_UNMOVABLE] >> 9 & 1);
	fixture_done(&f);
}

/* Leaves one pageblock of `type` as the only free memory: its first 2^order pages, all else allocated. */
static void only_one_chunk_left(struct fixture *f, const char *kernel, unsigned int type, unsigned int order)
{
	fl_pfn *pages;
	unsigned int n;

	fixture_normal(f, kernel, 16);
	pages = fl_xcalloc(16 * BLOCK, sizeof(*pages));
	n = take_all(f, pages, 16 * BLOCK);
	assert_int_equal(n, 16 * BLOCK);
	fl_pageblock_set_type(f->mem, 4 * BLOCK, type);
	for (fl_pfn pfn = 4 * BLOCK; pfn < 4 * BLOCK + (1u << order); pfn++)
		give_buddy(f, pfn, 0);
	assert_int_equal(fixture_zone(f)->nr_free[order], 1);
	fl_xfree(pages);
}

/* 6 */
static void test_movable_request_steals_a_small_chunk_without_claim_or_boost(void **state)
{
	for (unsigned int order = 0; order < 4; order++) {
		struct fixture f = { 0 };
		fl_pfn pfn;

		only_one_chunk_left(&f, "7.3", FL_UNMOVABLE, order);
		pfn = take_buddy(&f, 0, FL_MOVABLE, 0);
		assert_int_not_equal(pfn, FL_PFN_NONE);
		assert_int_equal(fl_pageblock_type(f.mem, pfn), FL_UNMOVABLE);
		assert_int_equal(f.mem->extfrag[FL_MOVABLE][FL_UNMOVABLE][order][FL_EXTFRAG_STEAL], 1);
		assert_int_equal(f.mem->vm[FL_VM_watermark_boosts], 0);
		fixture_done(&f);
	}
}

static void test_movable_request_tries_to_claim_from_half_the_pageblock_order_on(void **state)
{
	struct fixture f = { 0 };

	only_one_chunk_left(&f, "7.3", FL_UNMOVABLE, 4);
	assert_int_not_equal(take_buddy(&f, 0, FL_MOVABLE, 0), FL_PFN_NONE);
	assert_int_equal(f.mem->vm[FL_VM_watermark_boosts], 1); /* tried, boosted, refused */
	assert_int_equal(f.mem->extfrag[FL_MOVABLE][FL_UNMOVABLE][4][FL_EXTFRAG_STEAL], 1);
	fixture_done(&f);
}

/* 7 */
static void test_each_refused_claim_boosts_and_then_the_smallest_chunk_is_stolen(void **state)
{
	struct fixture f = { 0 };
	fl_pfn pages[16 * BLOCK];

	fixture_normal(&f, "7.3", 16);
	take_all(&f, pages, 16 * BLOCK);
	/* All of it movable memory on the LRU: no claim can pass the half rule. */
	for (fl_pfn pfn = 0; pfn < 16 * BLOCK; pfn++)
		set_lru(&f, pfn, true);
	/* One chunk of order 3, one of order 1 and one of order 0, each in a block of its own. */
	for (fl_pfn pfn = 0; pfn < 8; pfn++) {
		set_lru(&f, pfn, false);
		give_buddy(&f, pfn, 0);
	}
	for (fl_pfn pfn = 2 * BLOCK; pfn < 2 * BLOCK + 2; pfn++) {
		set_lru(&f, pfn, false);
		give_buddy(&f, pfn, 0);
	}
	set_lru(&f, 4 * BLOCK, false);
	give_buddy(&f, 4 * BLOCK, 0);
	assert_int_equal(take_buddy(&f, 0, FL_UNMOVABLE, 0), 4 * BLOCK);
	assert_int_equal(f.mem->vm[FL_VM_watermark_boosts], 3);
	assert_int_equal(f.mem->extfrag[FL_UNMOVABLE][FL_MOVABLE][0][FL_EXTFRAG_STEAL], 1);
	assert_int_equal(fl_pageblock_type(f.mem, 4 * BLOCK), FL_MOVABLE);
	fixture_done(&f);
}

/* 8: a movable block with `free_pages` free, `lru` on the LRU, the rest unmovable; is it claimed for unmovable use? */
static bool claims(const char *kernel, unsigned int want, unsigned int type, unsigned int free_pages, unsigned int lru)
{
	struct fixture f = { 0 };
	fl_pfn pages[16 * BLOCK], start = 6 * BLOCK;
	bool claimed;

	fixture_normal(&f, kernel, 16);
	take_all(&f, pages, 16 * BLOCK);
	fl_pageblock_set_type(f.mem, start, type);
	for (fl_pfn pfn = start; pfn < start + free_pages; pfn++)
		give_buddy(&f, pfn, 0);
	for (fl_pfn pfn = start + free_pages; pfn < start + free_pages + lru; pfn++)
		set_lru(&f, pfn, true);
	assert_int_not_equal(take_buddy(&f, 0, want, 0), FL_PFN_NONE);
	claimed = fl_pageblock_type(f.mem, start) == want;
	fixture_done(&f);
	return claimed;
}

static void test_claim_of_a_block_with_256_free_and_alike_passes_and_255_is_refused(void **state)
{
	/* Unmovable takes a movable block: alike is what is neither free nor movable. */
	assert_true(claims("7.3", FL_UNMOVABLE, FL_MOVABLE, 100, 256));
	assert_false(claims("7.3", FL_UNMOVABLE, FL_MOVABLE, 100, 257));
	/* Movable takes an unmovable block: alike is what is movable. */
	assert_true(claims("7.3", FL_MOVABLE, FL_UNMOVABLE, 100, 156));
	assert_false(claims("7.3", FL_MOVABLE, FL_UNMOVABLE, 100, 155));
	/* Between the non-movable types nothing is alike. */
	assert_true(claims("7.3", FL_UNMOVABLE, FL_RECLAIMABLE, 256, 0));
	assert_false(claims("7.3", FL_UNMOVABLE, FL_RECLAIMABLE, 255, 0));
	assert_true(claims("6.12", FL_UNMOVABLE, FL_MOVABLE, 100, 256));
	assert_false(claims("6.12", FL_UNMOVABLE, FL_MOVABLE, 100, 257));
}

static void test_pages_on_percpu_lists_count_as_alike_for_non_movable_requests_only(void **state)
{
	/* Neither free nor on an LRU list: 412 such pages of 512 help Unmovable and hinder Movable. */
	assert_true(claims("7.3", FL_UNMOVABLE, FL_MOVABLE, 100, 0));
	assert_false(claims("7.3", FL_MOVABLE, FL_UNMOVABLE, 100, 0));
}

/* 9 */
static void test_freed_highatomic_page_waits_on_the_movable_list_and_drains_to_the_reserve(void **state)
{
	struct fixture f = { 0 };
	fl_pfn pfn, again;

	fixture_normal(&f, "7.3", 128);
	pfn = take_buddy(&f, 0, FL_MOVABLE, 0);
	fl_reserve_highatomic(f.mem, fixture_zone(&f), pfn, 0);
	assert_int_equal(fl_pageblock_type(f.mem, pfn), FL_HIGHATOMIC);
	assert_int_equal(fixture_zone(&f)->nr_reserved_highatomic, BLOCK);
	fl_page_free(f.mem, &f.who, pfn, 0);
	assert_int_equal(fixture_zone(&f)->pcp->list[fl_pcp_list_index(0, FL_MOVABLE)].count, 1);
	again = fl_page_alloc(f.mem, &f.who, GFP_MOVABLE_NOW, 0, FL_KIND_ANON);
	assert_int_equal(again, pfn);
	fl_page_free(f.mem, &f.who, pfn, 0);
	assert_int_equal(fixture_zone(&f)->nr_free_highatomic, BLOCK - 1);
	fl_pcp_drain_all(f.mem, &f.who, NULL);
	assert_int_equal(fixture_zone(&f)->nr_free_highatomic, BLOCK);
	fixture_done(&f);
}

/* 10 */
static void test_drain_returns_a_page_to_the_type_that_its_block_has_now(void **state)
{
	struct fixture f = { 0 };
	fl_pfn pfn;
	unsigned int moved;

	fixture_normal(&f, "7.3", 16);
	pfn = take_buddy(&f, 0, FL_MOVABLE, 0);
	fl_page_free(f.mem, &f.who, pfn, 0);
	moved = fl_move_freepages_block(f.mem, fixture_zone(&f), pfn & ~(fl_pfn)(BLOCK - 1), FL_MOVABLE, FL_UNMOVABLE);
	fl_pageblock_set_type(f.mem, pfn, FL_UNMOVABLE);
	assert_int_equal(moved, BLOCK - 1);
	fl_pcp_drain_all(f.mem, &f.who, NULL);
	assert_true(fixture_zone(&f)->nonempty[FL_UNMOVABLE] >> 9); /* whole again, with its buddy */
	fixture_done(&f);
}

static void test_stolen_page_sits_on_the_percpu_list_of_the_wanted_type(void **state)
{
	struct fixture f = { 0 };
	fl_pfn pfn;

	only_one_chunk_left(&f, "7.3", FL_UNMOVABLE, 3);
	for (unsigned int m = 0; m < FL_WMARKS; m++)
		fixture_zone(&f)->wmark[m] = 0;
	pfn = fl_page_alloc(f.mem, &f.who, GFP_MOVABLE_NOW, 0, FL_KIND_ANON);
	assert_int_not_equal(pfn, FL_PFN_NONE);
	assert_true(fixture_zone(&f)->pcp->list[fl_pcp_list_index(0, FL_MOVABLE)].count > 0);
	assert_int_equal(fl_pageblock_type(f.mem, pfn), FL_UNMOVABLE);
	fixture_done(&f);
}

/* 12 */
static void test_boost_lifts_min_too_but_atomic_order_0_escapes_it(void **state)
{
	struct fixture f = { 0 };
	struct fl_zone *zone;
	uint64_t min;

	fixture_normal(&f, "7.3", 128);
	zone = fixture_zone(&f);
	min = zone->wmark[FL_WMARK_MIN];
	zone->watermark_boost = 4 * (uint64_t)zone->nr_free_pages; /* even 3/8 of it is out of reach */
	assert_false(fl_watermark_fast(f.mem, zone, 0, fl_wmark_pages(zone, FL_WMARK_MIN), FL_ZONE_NORMAL, FL_WMARK_MIN,
				       FL_GFP_KERNEL));
	assert_true(fl_watermark_fast(f.mem, zone, 0, fl_wmark_pages(zone, FL_WMARK_MIN), FL_ZONE_NORMAL,
				      FL_WMARK_MIN | FL_ALLOC_MIN_RESERVE | FL_ALLOC_NON_BLOCK, FL_GFP_ATOMIC));
	assert_false(fl_watermark_fast(f.mem, zone, 1, fl_wmark_pages(zone, FL_WMARK_MIN), FL_ZONE_NORMAL,
				       FL_WMARK_MIN | FL_ALLOC_MIN_RESERVE | FL_ALLOC_NON_BLOCK, FL_GFP_ATOMIC));
	assert_int_equal(zone->wmark[FL_WMARK_MIN], min);
	zone->watermark_boost = 0;
	fixture_done(&f);
}

static void test_boost_grows_by_a_pageblock_up_to_its_share_of_the_high_mark(void **state)
{
	struct fixture f = { 0 };
	struct fl_zone *zone;
	uint64_t cap;

	fixture_normal(&f, "7.3", 1024);
	zone = fixture_zone(&f);
	cap = zone->wmark[FL_WMARK_HIGH] * 15000 / 10000;
	for (uint64_t boost = 512; boost < cap; boost += 512) {
		assert_true(fl_boost_watermark(f.mem, zone));
		assert_int_equal(zone->watermark_boost, boost);
	}
	fl_boost_watermark(f.mem, zone);
	assert_int_equal(zone->watermark_boost, cap);
	f.mem->set.watermark_boost_factor = 0;
	assert_false(fl_boost_watermark(f.mem, zone));
	zone->watermark_boost = 0;
	fixture_done(&f);
}

/* 2 and 3 are the full-state check; here the merge rules that it relies on. */
static void test_free_buddies_merge_up_to_the_largest_order(void **state)
{
	struct fixture f = { 0 };
	fl_pfn pages[16 * BLOCK];
	unsigned int n;

	fixture_normal(&f, "7.3", 16);
	n = take_all(&f, pages, 16 * BLOCK);
	for (unsigned int i = 0; i < n; i++)
		give_buddy(&f, pages[(i * 7919u) % n], 0);
	assert_int_equal(fixture_zone(&f)->nr_free[10], 8);
	fixture_done(&f);
}

static void test_order_9_buddies_of_different_mergeable_types_merge_and_take_the_freed_type(void **state)
{
	for (unsigned int with = 0; with < 2; with++) {
		struct fixture f = { 0 };
		fl_pfn pages[16 * BLOCK];
		long gap;

		fixture_normal(&f, with ? "7.3+merge-accounting" : "7.3", 16);
		take_all(&f, pages, 16 * BLOCK);
		fl_pageblock_set_type(f.mem, BLOCK, FL_UNMOVABLE);
		for (fl_pfn pfn = BLOCK; pfn < 2 * BLOCK; pfn++)
			give_buddy(&f, pfn, 0);
		for (fl_pfn pfn = 0; pfn < BLOCK; pfn++)
			give_buddy(&f, pfn, 0);
		assert_int_equal(fixture_zone(&f)->nr_free[10], 1);
		assert_int_equal(fl_pageblock_type(f.mem, BLOCK), FL_MOVABLE);
		gap = fixture_zone(&f)->type_count[FL_UNMOVABLE];
		assert_int_equal(gap, with ? 0 : BLOCK);
		fixture_done(&f);
	}
}

static void test_order_9_buddies_do_not_merge_with_a_reserve(void **state)
{
	struct fixture f = { 0 };
	fl_pfn pages[16 * BLOCK];

	fixture_normal(&f, "7.3", 16);
	take_all(&f, pages, 16 * BLOCK);
	fl_pageblock_set_type(f.mem, BLOCK, FL_HIGHATOMIC);
	for (fl_pfn pfn = 0; pfn < 2 * BLOCK; pfn++)
		give_buddy(&f, pfn, 0);
	assert_int_equal(fixture_zone(&f)->nr_free[9], 2);
	assert_int_equal(fixture_zone(&f)->nr_free[10], 0);
	fixture_done(&f);
}

/* 2.9: head and tail. */
static void test_chunk_whose_parent_will_likely_merge_goes_to_the_tail(void **state)
{
	struct fixture f = { 0 };
	fl_pfn pages[16 * BLOCK];
	uint32_t list;

	fixture_normal(&f, "7.3", 16);
	take_all(&f, pages, 16 * BLOCK);
	list = fl_free_list(fixture_zone(&f), FL_MOVABLE, 0);
	give_buddy(&f, 100, 0);
	give_buddy(&f, 200, 0);
	assert_int_equal(fl_list_first(&f.mem->frames, list), 200);
	/* Pages 302 and 303 free: then 300 has an uncle of order 1, so its parent would merge next. */
	give_buddy(&f, 302, 0);
	give_buddy(&f, 303, 0);
	give_buddy(&f, 300, 0);
	assert_int_equal(fl_list_first(&f.mem->frames, list), 200);
	assert_int_equal(fl_list_last(&f.mem->frames, list), 300);
	fixture_done(&f);
}

static void test_upper_halves_of_a_split_go_to_the_heads(void **state)
{
	struct fixture f = { 0 };

	fixture_normal(&f, "7.3", 16);
	assert_int_equal(take_buddy(&f, 0, FL_MOVABLE, 0), 0);
	for (unsigned int order = 0; order < 10; order++)
		assert_int_equal(fl_list_first(&f.mem->frames, fl_free_list(fixture_zone(&f), FL_MOVABLE, order)),
				 1u << order);
	fixture_done(&f);
}

/* 2.2 */
static void test_nofragment_holds_only_where_normal_is_preferred(void **state)
{
	struct fixture f = { 0 };
	struct fl_alloc_context ac = { .preferred = FL_ZONE_NORMAL };

	fixture_normal(&f, "7.3", 16);
	assert_int_equal(fl_alloc_flags_nofragment(f.mem, &ac), FL_ALLOC_NOFRAGMENT);
	ac.preferred = FL_ZONE_DMA32;
	assert_int_equal(fl_alloc_flags_nofragment(f.mem, &ac), 0);
	fixture_done(&f);
}

static void test_lower_zone_absorbs_a_request_before_normal_is_mixed(void **state)
{
	struct fixture f = { 0 };
	fl_pfn pfn;

	fixture_geometry(&f, 64, 64, 1);
	f.settings.lowmem_reserve_ratio[FL_ZONE_DMA32] = 0;
	fixture_boot(&f, "7.3");
	/* No whole pageblock is left free in Normal, but movable pages are. */
	while (fixture_zone(&f)->nonempty[FL_MOVABLE] >> 9)
		take_buddy(&f, 9, FL_MOVABLE, 0);
	for (fl_pfn at = 64 * BLOCK; at < 65 * BLOCK; at++)
		if (fl_state_kind(f.mem->frames.state[at]) == FL_KIND_ANON) {
			fl_page_split(f.mem, at, 9);
			for (unsigned int i = 0; i < 400; i++)
				give_buddy(&f, at + i, 0);
			break;
		}
	for (unsigned int m = 0; m < FL_WMARKS; m++)
		fixture_zone(&f)->wmark[m] = 0;
	pfn = fl_page_alloc(f.mem, &f.who, GFP_UNMOVABLE_NOW, 0, FL_KIND_KERNEL);
	assert_true(pfn < 64 * BLOCK);
	assert_int_equal(f.mem->vm[FL_VM_pgalloc_dma32], 1);
	fixture_done(&f);
}

/* 2.7 */
static void test_one_steal_makes_the_rest_of_the_bulk_steal(void **state)
{
	struct fixture f = { 0 };
	enum fl_rmqueue_mode mode = FL_RMQUEUE_NORMAL;
	fl_pfn pages[16 * BLOCK], pfn;

	fixture_normal(&f, "7.3", 16);
	take_all(&f, pages, 16 * BLOCK);
	fl_pageblock_set_type(f.mem, 4 * BLOCK, FL_UNMOVABLE);
	give_buddy(&f, 4 * BLOCK, 0);
	give_buddy(&f, 4 * BLOCK + 2, 0);
	pfn = fl_rmqueue(f.mem, &f.who, fixture_zone(&f), 0, FL_MOVABLE, 0, &mode);
	fl_page_prep(f.mem, pfn, 0, FL_KIND_ANON);
	assert_int_equal(mode, FL_RMQUEUE_STEAL);
	/* The own list fills again, yet this bulk does not look at it. */
	give_buddy(&f, 0, 0);
	pfn = fl_rmqueue(f.mem, &f.who, fixture_zone(&f), 0, FL_MOVABLE, 0, &mode);
	fl_page_prep(f.mem, pfn, 0, FL_KIND_ANON);
	assert_true(pfn == 4 * BLOCK || pfn == 4 * BLOCK + 2);
	fixture_done(&f);
}

/* 3.4: straddling blocks */
static void test_pageblock_that_straddles_its_zone_is_never_claimed(void **state)
{
	struct fixture f = { 0 };
	struct fl_geometry *g = &f.geometry;

	fixture_geometry(&f, 0, 16, 1);
	g->zone[FL_ZONE_NORMAL].start = 256;
	g->zone[FL_ZONE_DMA32] = (struct fl_pfn_range){ 0, 256 };
	fixture_boot(&f, "7.3+mobility");
	assert_true(fl_pageblock_of(f.mem, 300)->flags & FL_PAGEBLOCK_STRADDLES);
	while (fixture_zone(&f)->nonempty[FL_MOVABLE] >> 9)
		take_buddy(&f, 9, FL_MOVABLE, 0);
	/* What is left in Normal is the half pageblock; it can only be stolen from. */
	assert_true(take_buddy(&f, 0, FL_UNMOVABLE, 0) < 512);
	assert_int_equal(fl_pageblock_type(f.mem, 300), FL_MOVABLE);
	fixture_done(&f);
}

/* 2.10 */
static void test_highatomic_reserve_stops_at_one_percent_and_needs_a_pageblock_of_it(void **state)
{
	struct fixture f = { 0 };

	fixture_normal(&f, "7.3", 64); /* 327 pages are one per cent: less than a pageblock */
	fl_reserve_highatomic(f.mem, fixture_zone(&f), take_buddy(&f, 0, FL_MOVABLE, 0), 0);
	assert_int_equal(fixture_zone(&f)->nr_reserved_highatomic, 0);
	fixture_done(&f);
	fixture_normal(&f, "7.3", 128); /* 655 pages, rounded up to two pageblocks */
	for (unsigned int i = 0; i < 4; i++) {
		fl_pfn pfn = take_buddy(&f, 9, FL_MOVABLE, 0);

		give_buddy(&f, pfn, 9);
		fl_reserve_highatomic(f.mem, fixture_zone(&f), take_buddy(&f, 0, FL_MOVABLE, 0), 0);
		while (fixture_zone(&f)->nonempty[FL_MOVABLE] & 0x1ff)
			take_buddy(&f, 0, FL_MOVABLE, 0);
	}
	assert_int_equal(fixture_zone(&f)->nr_reserved_highatomic, 2 * BLOCK);
	fixture_done(&f);
}

static void test_unreserve_gives_the_block_to_the_requester_and_keeps_one_unless_forced(void **state)
{
	struct fixture f = { 0 };
	struct fl_alloc_context ac = { .preferred = FL_ZONE_NORMAL, .ceiling = FL_ZONE_NORMAL, .type = FL_UNMOVABLE };
	fl_pfn pfn;

	fixture_normal(&f, "7.3", 128);
	pfn = take_buddy(&f, 0, FL_MOVABLE, 0);
	fl_reserve_highatomic(f.mem, fixture_zone(&f), pfn, 0);
	assert_false(fl_unreserve_highatomic(f.mem, &ac, false));
	assert_true(fl_unreserve_highatomic(f.mem, &ac, true));
	assert_int_equal(fl_pageblock_type(f.mem, pfn), FL_UNMOVABLE);
	assert_int_equal(fixture_zone(&f)->nr_reserved_highatomic, 0);
	fixture_done(&f);
}

/* 6.12 reserves after any success of an atomic high-order request, 7.3 only from the buddy lists at min. */
static void test_when_the_highatomic_reserve_grows(void **state)
{
	for (unsigned int v = 0; v < 2; v++) {
		struct fixture f = { 0 };
		struct fl_alloc_context ac = { .gfp = FL_GFP_ATOMIC, .order = 2, .type = FL_UNMOVABLE,
					       .preferred = FL_ZONE_NORMAL, .ceiling = FL_ZONE_NORMAL,
					       .kind = FL_KIND_KERNEL };
		long low, min;

		fixture_normal(&f, v ? "7.3" : "6.12", 256);
		fl_get_page_from_freelist(f.mem, &f.who, &ac, FL_WMARK_LOW | FL_ALLOC_HIGHATOMIC);
		low = fixture_zone(&f)->nr_reserved_highatomic;
		fl_get_page_from_freelist(f.mem, &f.who, &ac, FL_WMARK_MIN | FL_ALLOC_HIGHATOMIC);
		min = fixture_zone(&f)->nr_reserved_highatomic;
		assert_int_equal(low, v ? 0 : BLOCK);
		assert_true(min > 0);
		fixture_done(&f);
	}
}

/* 4.6 and seed: guard pages */
static void test_guards_come_back_to_the_free_count_only_with_the_patch(void **state)
{
	for (unsigned int with = 0; with < 2; with++) {
		struct fixture f = { 0 };
		long lists = 0;
		fl_pfn pfn;

		fixture_geometry(&f, 0, 16, 1);
		f.geometry.guard_minorder = 1;
		fixture_boot(&f, with ? "7.3" : "7.3~guard-accounting");
		pfn = take_buddy(&f, 0, FL_MOVABLE, 0);
		assert_int_equal(fl_state_kind(f.mem->frames.state[pfn + 1]), FL_KIND_GUARD);
		give_buddy(&f, pfn, 0);
		for (unsigned int order = 0; order <= 10; order++)
			lists += (long)fixture_zone(&f)->nr_free[order] << order;
		assert_int_equal(lists - fixture_zone(&f)->nr_free_pages, with ? 0 : 1);
		fixture_done(&f);
	}
}

/* 4.7 */
static void test_isolation_of_half_an_order_10_chunk_cuts_it_and_undoing_merges_it(void **state)
{
	for (unsigned int v = 0; v < 2; v++) {
		struct fixture f = { 0 };

		fixture_normal(&f, v ? "7.3" : "6.12", 16);
		assert_true(fl_isolate_pageblock(f.mem, &f.who, 3 * BLOCK + 17));
		assert_false(fl_isolate_pageblock(f.mem, &f.who, 3 * BLOCK));
		assert_int_equal(fl_pageblock_type(f.mem, 3 * BLOCK), FL_ISOLATE);
		assert_int_equal(fixture_zone(&f)->nr_free[9], 2);
		fl_mem_check(f.mem);
		fl_unisolate_pageblock(f.mem, &f.who, 3 * BLOCK, FL_MOVABLE);
		assert_int_equal(fixture_zone(&f)->nr_free[9], 0);
		assert_int_equal(fixture_zone(&f)->nr_free[10], 8);
		fixture_done(&f);
	}
}

static void test_block_with_unmovable_pages_is_not_isolated(void **state)
{
	struct fixture f = { 0 };
	fl_pfn pfn;

	fixture_normal(&f, "7.3", 16);
	pfn = take_buddy(&f, 0, FL_UNMOVABLE, 0);
	assert_false(fl_isolate_pageblock(f.mem, &f.who, pfn));
	fixture_done(&f);
}

static void test_undone_isolation_restores_the_type_in_7_3_and_takes_the_callers_in_6_12(void **state)
{
	for (unsigned int v = 0; v < 2; v++) {
		struct fixture f = { 0 };
		fl_pfn pfn, start;

		fixture_normal(&f, v ? "7.3" : "6.12", 16);
		pfn = take_buddy(&f, 0, FL_UNMOVABLE, 0);
		give_buddy(&f, pfn, 0);
		start = pfn & ~(fl_pfn)(BLOCK - 1);
		assert_int_equal(fl_pageblock_type(f.mem, start), FL_UNMOVABLE);
		assert_true(fl_isolate_pageblock(f.mem, &f.who, start));
		fl_unisolate_pageblock(f.mem, &f.who, start, FL_MOVABLE);
		assert_int_equal(fl_pageblock_type(f.mem, start), v ? FL_UNMOVABLE : FL_MOVABLE);
		fixture_done(&f);
	}
}

/* 4.4 */
static void capture_case(const char *kernel, unsigned int want, unsigned int order, bool captured, unsigned int type)
{
	struct fixture f = { 0 };
	struct fl_capture capture = { .zone = FL_ZONE_NORMAL, .order = order, .type = want, .pfn = FL_PFN_NONE };
	fl_pfn pages[16 * BLOCK];

	fixture_normal(&f, kernel, 16);
	take_all(&f, pages, 16 * BLOCK);
	f.who.capture = &capture;
	for (fl_pfn pfn = 6 * BLOCK; pfn < 6 * BLOCK + (1u << order); pfn++)
		give_buddy(&f, pfn, 0);
	f.who.capture = NULL;
	assert_int_equal(capture.pfn, captured ? 6 * BLOCK : FL_PFN_NONE);
	assert_int_equal(fl_pageblock_type(f.mem, 6 * BLOCK), type);
	assert_int_equal(fixture_zone(&f)->nr_free_pages, captured ? 0 : 1 << order);
	if (captured)
		fl_page_prep(f.mem, capture.pfn, order, FL_KIND_KERNEL);
	fixture_done(&f);
}

static void test_capture_takes_the_chunk_of_exactly_the_order_and_keeps_or_changes_the_type(void **state)
{
	capture_case("7.3", FL_MOVABLE, 9, true, FL_MOVABLE);
	capture_case("7.3", FL_UNMOVABLE, 9, true, FL_MOVABLE);
	capture_case("7.3+mobility-capture", FL_UNMOVABLE, 9, true, FL_UNMOVABLE);
	capture_case("7.3+mobility-capture", FL_MOVABLE, 9, true, FL_MOVABLE);
	capture_case("7.3", FL_MOVABLE, 3, true, FL_MOVABLE);
	capture_case("7.3", FL_UNMOVABLE, 3, false, FL_MOVABLE);
	capture_case("7.3+mobility-capture", FL_UNMOVABLE, 3, false, FL_MOVABLE);
}

/* 3.10 */
static void test_isolating_a_free_chunk_of_half_a_block_makes_the_block_movable(void **state)
{
	for (unsigned int order = 7; order <= 9; order++) {
		struct fixture f = { 0 };
		fl_pfn pages[16 * BLOCK], pfn;

		fixture_normal(&f, "7.3", 16);
		take_all(&f, pages, 16 * BLOCK);
		fl_pageblock_set_type(f.mem, 4 * BLOCK, FL_UNMOVABLE);
		for (pfn = 4 * BLOCK; pfn < 4 * BLOCK + (1u << order); pfn++)
			give_buddy(&f, pfn, 0);
		fixture_zone(&f)->wmark[FL_WMARK_MIN] = 0;
		assert_false(fl_isolate_free_page(f.mem, fixture_zone(&f), 4 * BLOCK, order)); /* min + 2^order */
		give_buddy(&f, 0, 0);
		assert_true(fl_isolate_free_page(f.mem, fixture_zone(&f), 4 * BLOCK, order));
		assert_int_equal(fl_pageblock_type(f.mem, 4 * BLOCK), order >= 8 ? FL_MOVABLE : FL_UNMOVABLE);
		fixture_done(&f);
	}
}

/* 1.4 */
static void test_tiny_machine_groups_nothing_by_mobility(void **state)
{
	struct fixture f = { 0 };
	fl_pfn a, b;

	fixture_normal(&f, "7.3", 4);
	assert_true(f.mem->set.grouping_disabled);
	a = fl_page_alloc(f.mem, &f.who, GFP_UNMOVABLE_NOW, 0, FL_KIND_KERNEL);
	b = fl_page_alloc(f.mem, &f.who, GFP_MOVABLE_NOW, 0, FL_KIND_ANON);
	assert_int_equal(fl_pageblock_type(f.mem, a), FL_UNMOVABLE);
	assert_int_equal(fl_pageblock_type(f.mem, b), FL_UNMOVABLE);
	fixture_done(&f);
	fixture_normal(&f, "7.3", 5);
	assert_false(f.mem->set.grouping_disabled);
	fixture_done(&f);
}

/* The mobility set */
static void test_mobility_claim_converts_a_movable_block_for_one_free_page(void **state)
{
	assert_false(claims("7.3", FL_UNMOVABLE, FL_MOVABLE, 1, 511));
	assert_true(claims("7.3+mobility-claim", FL_UNMOVABLE, FL_MOVABLE, 1, 511));
	assert_true(claims("7.3+mobility-claim", FL_RECLAIMABLE, FL_MOVABLE, 1, 511));
	assert_false(claims("7.3+mobility-claim", FL_UNMOVABLE, FL_RECLAIMABLE, 255, 0));
	assert_true(claims("7.3+mobility-claim", FL_UNMOVABLE, FL_RECLAIMABLE, 256, 0));
}

static void test_mobility_claim_lets_movable_claim_only_blocks_without_other_pages(void **state)
{
	assert_true(claims("7.3+mobility-claim", FL_MOVABLE, FL_UNMOVABLE, 100, 412));
	assert_false(claims("7.3+mobility-claim", FL_MOVABLE, FL_UNMOVABLE, 100, 411));
}

static void test_mobility_steal_refuses_movable_blocks_to_others_only(void **state)
{
	for (unsigned int want = 0; want < FL_PCPTYPES; want++)
		for (unsigned int from = 0; from < FL_PCPTYPES; from++) {
			struct fixture f = { 0 };
			fl_pfn pages[16 * BLOCK];
			bool refused = want != FL_MOVABLE && from == FL_MOVABLE;

			if (want == from)
				continue;
			fixture_normal(&f, "7.3+mobility-steal", 16);
			take_all(&f, pages, 16 * BLOCK);
			fl_pageblock_set_type(f.mem, 0, from);
			for (fl_pfn pfn = 0; pfn < 16 * BLOCK; pfn++)
				if (pfn != 3 && from == FL_MOVABLE)
					set_lru(&f, pfn, true);
			give_buddy(&f, 3, 0);
			assert_int_equal(take_buddy(&f, 0, want, 0), refused ? FL_PFN_NONE : 3);
			fixture_done(&f);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_free_count_is_what_the_lists_hold_without_isolated_and_percpu_pages),
		cmocka_unit_test(test_order_0_requests_on_a_fresh_zone_come_in_rising_pfn),
		cmocka_unit_test(test_first_refill_takes_one_batch_and_the_next_ones_double),
		cmocka_unit_test(test_first_unmovable_request_under_nofragment_converts_an_order_10_chunk),
		cmocka_unit_test(test_movable_request_steals_a_small_chunk_without_claim_or_boost),
		cmocka_unit_test(test_movable_request_tries_to_claim_from_half_the_pageblock_order_on),
		cmocka_unit_test(test_each_refused_claim_boosts_and_then_the_smallest_chunk_is_stolen),
		cmocka_unit_test(test_claim_of_a_block_with_256_free_and_alike_passes_and_255_is_refused),
		cmocka_unit_test(test_pages_on_percpu_lists_count_as_alike_for_non_movable_requests_only),
		cmocka_unit_test(test_freed_highatomic_page_waits_on_the_movable_list_and_drains_to_the_reserve),
		cmocka_unit_test(test_drain_returns_a_page_to_the_type_that_its_block_has_now),
		cmocka_unit_test(test_stolen_page_sits_on_the_percpu_list_of_the_wanted_type),
		cmocka_unit_test(test_boost_lifts_min_too_but_atomic_order_0_escapes_it),
		cmocka_unit_test(test_boost_grows_by_a_pageblock_up_to_its_share_of_the_high_mark),
		cmocka_unit_test(test_free_buddies_merge_up_to_the_largest_order),
		cmocka_unit_test(test_order_9_buddies_of_different_mergeable_types_merge_and_take_the_freed_type),
		cmocka_unit_test(test_order_9_buddies_do_not_merge_with_a_reserve),
		cmocka_unit_test(test_chunk_whose_parent_will_likely_merge_goes_to_the_tail),
		cmocka_unit_test(test_upper_halves_of_a_split_go_to_the_heads),
		cmocka_unit_test(test_nofragment_holds_only_where_normal_is_preferred),
		cmocka_unit_test(test_lower_zone_absorbs_a_request_before_normal_is_mixed),
		cmocka_unit_test(test_one_steal_makes_the_rest_of_the_bulk_steal),
		cmocka_unit_test(test_pageblock_that_straddles_its_zone_is_never_claimed),
		cmocka_unit_test(test_highatomic_reserve_stops_at_one_percent_and_needs_a_pageblock_of_it),
		cmocka_unit_test(test_unreserve_gives_the_block_to_the_requester_and_keeps_one_unless_forced),
		cmocka_unit_test(test_when_the_highatomic_reserve_grows),
		cmocka_unit_test(test_guards_come_back_to_the_free_count_only_with_the_patch),
		cmocka_unit_test(test_isolation_of_half_an_order_10_chunk_cuts_it_and_undoing_merges_it),
		cmocka_unit_test(test_block_with_unmovable_pages_is_not_isolated),
		cmocka_unit_test(test_undone_isolation_restores_the_type_in_7_3_and_takes_the_callers_in_6_12),
		cmocka_unit_test(test_capture_takes_the_chunk_of_exactly_the_order_and_keeps_or_changes_the_type),
		cmocka_unit_test(test_isolating_a_free_chunk_of_half_a_block_makes_the_block_movable),
		cmocka_unit_test(test_tiny_machine_groups_nothing_by_mobility),
		cmocka_unit_test(test_mobility_claim_converts_a_movable_block_for_one_free_page),
		cmocka_unit_test(test_mobility_claim_lets_movable_claim_only_blocks_without_other_pages),
		cmocka_unit_test(test_mobility_steal_refuses_movable_blocks_to_others_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
