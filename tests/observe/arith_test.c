/* Rules of the page allocator's arithmetic, each with the smallest figures that tell right from wrong. */
#include "test.h"

#include "observe/arith.h"
#include "observe/gfp.h"

/* A zone with 4 KiB pages: free, min and lists that the test fills in. */
static struct fl_mem_zone *zone_of(struct fl_mem_state *state, const char *name, uint64_t free, uint64_t min)
{
	struct fl_mem_zone *zone = fl_mem_state_zone(state, 0, name);

	zone->free = free;
	zone->min = min;
	zone->managed = 1 << 20;
	zone->boost = 0;
	zone->orders_count = 11;
	zone->lists_line = 1;
	zone->free_blocks[0] = free;
	return zone;
}

static struct fl_mem_state *state_of(struct fl_mem_report *report)
{
	struct fl_mem_state *state;

	fl_mem_report_init(report, "test");
	state = fl_mem_report_add_state(report);
	state->page_size = 4096;
	return state;
}

static struct fl_mem_request request_of(const char *names)
{
	struct fl_mem_request request = { .has_gfp = true };
	char unknown[60];

	request.gfp = fl_gfp_from_names(names, unknown, sizeof(unknown));
	assert_string_equal(unknown, "");
	return request;
}

static struct fl_arith_test tested(const struct fl_mem_state *state, const struct fl_mem_zone *zone, const char *gfp,
				   int order, unsigned int release, unsigned int without)
{
	struct fl_mem_request request = request_of(gfp);
	struct fl_arith_flags flags;
	struct fl_arith_test test;

	fl_arith_flags(&request, order, release, &flags);
	fl_arith_test(state, zone, zone->free, &flags, order, without, &test);
	return test;
}

static void test_usable_must_be_more_than_the_mark_not_equal(void **unused)
{
	struct fl_mem_report report;
	struct fl_mem_state *state = state_of(&report);
	struct fl_mem_zone *zone = zone_of(state, "Normal", 1000, 1000);

	assert_false(tested(state, zone, "GFP_KERNEL", 0, 6012, 0).ok);
	zone->free = 1001;
	assert_true(tested(state, zone, "GFP_KERNEL", 0, 6012, 0).ok);
	fl_mem_report_fini(&report);
}

static void test_an_order_takes_its_pages_less_one_from_free(void **unused)
{
	struct fl_mem_report report;
	struct fl_mem_state *state = state_of(&report);
	struct fl_mem_zone *zone = zone_of(state, "Normal", 1015, 1000);

	zone->free_blocks[4] = 1;
	assert_int_equal(tested(state, zone, "GFP_KERNEL", 4, 6012, 0).order_pages, 15);
	assert_false(tested(state, zone, "GFP_KERNEL", 4, 6012, 0).pages_ok);
	zone->free = 1016;
	assert_true(tested(state, zone, "GFP_KERNEL", 4, 6012, 0).ok);
	fl_mem_report_fini(&report);
}

static void test_atomic_request_may_go_to_three_eighths_of_min(void **unused)
{
	struct fl_mem_report report;
	struct fl_mem_state *state = state_of(&report);
	struct fl_mem_zone *zone = zone_of(state, "Normal", 500, 1000);

	assert_int_equal(tested(state, zone, "GFP_ATOMIC", 0, 6012, 0).mark, 375);
	assert_int_equal(tested(state, zone, "GFP_ATOMIC", 0, 5010, 0).mark, 375);
	assert_int_equal(tested(state, zone, "GFP_ATOMIC", 0, 3010, 0).mark, 375);
	fl_mem_report_fini(&report);
}

static void test_nowait_alone_lowers_min_only_before_4_4(void **unused)
{
	struct fl_mem_report report;
	struct fl_mem_state *state = state_of(&report);
	struct fl_mem_zone *zone = zone_of(state, "Normal", 500, 1000);

	assert_int_equal(tested(state, zone, "GFP_NOWAIT", 0, 6012, 0).mark, 1000);
	assert_int_equal(tested(state, zone, "GFP_NOWAIT", 0, 5013, 0).mark, 1000);
	assert_int_equal(tested(state, zone, "GFP_NOWAIT", 0, 3010, 0).mark, 750);
	fl_mem_report_fini(&report);
}

static void test_nomemalloc_keeps_the_quarter(void **unused)
{
	struct fl_mem_report report;
	struct fl_mem_state *state = state_of(&report);
	struct fl_mem_zone *zone = zone_of(state, "Normal", 500, 1000);

	assert_int_equal(tested(state, zone, "GFP_ATOMIC|__GFP_NOMEMALLOC", 0, 6012, 0).mark, 500);
	fl_mem_report_fini(&report);
}

static void test_memalloc_needs_no_more_than_a_free_page(void **unused)
{
	struct fl_mem_report report;
	struct fl_mem_state *state = state_of(&report);
	struct fl_mem_zone *zone = zone_of(state, "Normal", 1, 1000);

	assert_true(tested(state, zone, "GFP_ATOMIC|__GFP_MEMALLOC", 0, 6012, 0).ok);
	assert_false(tested(state, zone, "GFP_ATOMIC|__GFP_MEMALLOC|__GFP_NOMEMALLOC", 0, 6012, 0).ok);
	zone->free = 0;
	assert_false(tested(state, zone, "GFP_ATOMIC|__GFP_MEMALLOC", 0, 6012, 0).ok);
	fl_mem_report_fini(&report);
}

static void test_free_cma_counts_for_movable_requests_only(void **unused)
{
	struct fl_mem_report report;
	struct fl_mem_state *state = state_of(&report);
	struct fl_mem_zone *zone = zone_of(state, "Normal", 2000, 1000);

	zone->free_cma = 1500;
	assert_false(tested(state, zone, "GFP_KERNEL", 0, 6012, 0).ok);
	assert_true(tested(state, zone, "GFP_KERNEL", 0, 6012, FL_ARITH_WITHOUT_CMA).ok);
	assert_true(tested(state, zone, "GFP_HIGHUSER_MOVABLE", 0, 6012, 0).ok);
	assert_false(tested(state, zone, "GFP_HIGHUSER_MOVABLE", 0, 6012, FL_ARITH_WITH_CMA_LOST).ok);
	fl_mem_report_fini(&report);
}

static void test_free_highatomic_is_taken_off_when_known_else_the_reserved(void **unused)
{
	struct fl_mem_report report;
	struct fl_mem_state *state = state_of(&report);
	struct fl_mem_zone *zone = zone_of(state, "Normal", 1500, 1000);

	zone->reserved_highatomic = 512;
	assert_int_equal(tested(state, zone, "GFP_KERNEL", 0, 6012, 0).highatomic_pages, 512);
	zone->free_highatomic = 8;
	assert_int_equal(tested(state, zone, "GFP_KERNEL", 0, 6012, 0).highatomic_pages, 8);
	assert_int_equal(tested(state, zone, "GFP_ATOMIC", 0, 6012, 0).highatomic_pages, 0);
	fl_mem_report_fini(&report);
}

static void test_blocks_of_cma_and_highatomic_are_not_for_everybody(void **unused)
{
	struct fl_mem_report report;
	struct fl_mem_state *state = state_of(&report);
	struct fl_mem_zone *zone = zone_of(state, "Normal", 100000, 1000);
	struct fl_arith_test test;

	zone->has_letters = true;
	zone->letters[0] = 1u << FL_MEM_MOVABLE;
	zone->free_blocks[5] = 3;
	zone->letters[5] = 1u << FL_MEM_CMA;
	test = tested(state, zone, "GFP_KERNEL", 5, 6012, 0);
	assert_true(test.pages_ok && !test.block_ok && test.only_cma && !test.only_highatomic);
	assert_true(tested(state, zone, "GFP_HIGHUSER_MOVABLE", 5, 6012, 0).block_ok);
	zone->letters[5] = 1u << FL_MEM_HIGHATOMIC;
	test = tested(state, zone, "GFP_KERNEL", 5, 6012, 0);
	assert_true(!test.block_ok && test.only_highatomic);
	assert_true(tested(state, zone, "GFP_ATOMIC", 5, 6012, 0).block_ok);
	zone->letters[5] = 1u << FL_MEM_RECLAIMABLE;
	assert_true(tested(state, zone, "GFP_KERNEL", 5, 6012, 0).block_ok);
	fl_mem_report_fini(&report);
}

static void test_before_4_4_small_orders_do_not_count_for_large_ones(void **unused)
{
	struct fl_mem_report report;
	struct fl_mem_state *state = state_of(&report);
	struct fl_mem_zone *zone = zone_of(state, "Normal", 10000, 1000);

	zone->free_blocks[0] = 9800;
	zone->free_blocks[3] = 25; /* 200 pages: not more than 1000/8, but the mark of order 1 is 500 */
	assert_true(tested(state, zone, "GFP_KERNEL", 3, 4019, 0).ok);
	assert_false(tested(state, zone, "GFP_KERNEL", 3, 3010, 0).ok);
	assert_true(tested(state, zone, "GFP_KERNEL", 3, 3010, 0).by_order_failed);
	fl_mem_report_fini(&report);
}

static void test_atomic_order_0_is_tested_again_without_the_boost_since_5_9(void **unused)
{
	struct fl_mem_report report;
	struct fl_mem_state *state = state_of(&report);
	struct fl_mem_zone *zone = zone_of(state, "Normal", 420, 1887);

	zone->boost = 1024;
	assert_true(tested(state, zone, "GFP_ATOMIC", 0, 6008, 0).ok);
	assert_false(tested(state, zone, "GFP_ATOMIC", 0, 5008, 0).ok);
	assert_false(tested(state, zone, "GFP_ATOMIC", 1, 6008, 0).pages_ok);
	fl_mem_report_fini(&report);
}

static void test_boost_that_is_not_printed_shows_in_the_distance_of_the_marks(void **unused)
{
	struct fl_mem_zone zone = { .boost = FL_MEM_NONE, .min = 1368, .low = 1454, .high = 1540 };

	assert_int_equal(fl_arith_boost(&zone), 1024);
	zone.min = 344;
	zone.low = 430;
	zone.high = 516;
	assert_int_equal(fl_arith_boost(&zone), 0);
	zone.min = 128; /* the distance comes from watermark_scale_factor: nothing can be told */
	zone.low = 437;
	zone.high = 746;
	assert_int_equal(fl_arith_boost(&zone), 0);
}

static void test_lowmem_reserve_goes_by_the_ceiling_zone(void **unused)
{
	struct fl_mem_report report;
	struct fl_mem_state *state = state_of(&report);
	struct fl_mem_zone *dma32, *zone = zone_of(state, "DMA", 3840, 16);
	const uint64_t protection[] = { 0, 833, 15809, 15809, 15809 };

	zone_of(state, "Normal", 30000, 16000);
	dma32 = zone_of(state, "DMA32", 15873, 889);
	zone = &state->zones[0];
	memcpy(zone->protection, protection, sizeof(protection));
	zone->protection_count = 5;
	memcpy(dma32->protection, (const uint64_t[]){ 0, 0, 14975, 14975, 14975 }, sizeof(protection));
	dma32->protection_count = 5;
	assert_int_equal(fl_arith_reserve(state, zone, FL_MEM_ZONE_DMA), 0);
	assert_int_equal(fl_arith_reserve(state, zone, FL_MEM_ZONE_DMA32), 833);
	assert_int_equal(fl_arith_reserve(state, zone, FL_MEM_ZONE_NORMAL), 15809);
	/* 63492 kB free - 60 kB = 63432 kB, 3556 kB + 59900 kB = 63456 kB: off limits by 24 kB */
	assert_false(tested(state, dma32, "GFP_NOFS|__GFP_COMP", 4, 5019, 0).pages_ok);
	dma32->free += 7;
	assert_true(tested(state, dma32, "GFP_NOFS|__GFP_COMP", 4, 5019, 0).pages_ok);
	fl_mem_report_fini(&report);
}

static void test_number_of_reserves_tells_which_zones_a_32_bit_kernel_has(void **unused)
{
	struct fl_mem_report report;
	struct fl_mem_state *state = state_of(&report);
	struct fl_mem_zone *zone = zone_of(state, "DMA", 420, 1887); /* ppc32: all low memory is ZONE_DMA */

	memcpy(zone->protection, (const uint64_t[]){ 0, 0, 1280, 1280 }, 4 * sizeof(uint64_t));
	zone->protection_count = 4;
	state->bits32 = true;
	assert_int_equal(fl_arith_reserve(state, zone, FL_MEM_ZONE_NORMAL), 0);
	assert_int_equal(fl_arith_reserve(state, zone, FL_MEM_ZONE_HIGHMEM), 1280);
	state->bits32 = false; /* DMA, DMA32, Normal, Movable */
	assert_int_equal(fl_arith_reserve(state, zone, FL_MEM_ZONE_NORMAL), 1280);
	fl_mem_report_fini(&report);
}

static void test_indices_are_those_of_the_kernel(void **unused)
{
	/* 3 pages and two blocks of order 3: F = 19, B = 5 */
	const uint64_t blocks[11] = { 3, 0, 0, 2 };

	assert_int_equal(fl_arith_unusable_index(blocks, 11, 0), 0);
	assert_int_equal(fl_arith_unusable_index(blocks, 11, 1), 3000 / 19);
	assert_int_equal(fl_arith_unusable_index(blocks, 11, 4), 1000);
	assert_int_equal(fl_arith_fragmentation_index(blocks, 11, 3), -1000);
	/* 1000 - (1000 + 19 * 1000 / 16) / 5 = 1000 - (1000 + 1187) / 5 = 1000 - 437 */
	assert_int_equal(fl_arith_fragmentation_index(blocks, 11, 4), 563);
	assert_int_equal(fl_arith_unusable_index((const uint64_t[11]){ 0 }, 11, 9), 1000);
	assert_int_equal(fl_arith_fragmentation_index((const uint64_t[11]){ 0 }, 11, 9), 0);
	/* One block of half the size: the kernel's rounding leaves the range of 0 to 1, and so does ours. */
	assert_int_equal(fl_arith_fragmentation_index((const uint64_t[11]){ [3] = 1 }, 11, 4), -500);
}

static void test_indices_do_not_overflow_on_absurd_counts(void **unused)
{
	uint64_t blocks[FL_MEM_ORDERS_MAX];

	for (unsigned int o = 0; o < FL_MEM_ORDERS_MAX; o++)
		blocks[o] = UINT64_MAX - 1;
	assert_in_range(fl_arith_unusable_index(blocks, FL_MEM_ORDERS_MAX, 23), 0, 1000);
	assert_int_equal(fl_arith_fragmentation_index(blocks, FL_MEM_ORDERS_MAX, 3), -1000);
	assert_int_equal(fl_arith_pages(blocks, FL_MEM_ORDERS_MAX), UINT64_MAX - 1);
}

static void test_order_of_a_huge_page_follows_the_page_size(void **unused)
{
	assert_int_equal(fl_arith_pmd_order(4096), 9);
	assert_int_equal(fl_arith_pmd_order(16384), 11);
	assert_int_equal(fl_arith_pmd_order(65536), 13);
	assert_int_equal(fl_arith_order_of(50184, 4096), 4);
	assert_int_equal(fl_arith_order_of(4096, 4096), 0);
	assert_int_equal(fl_arith_order_of(4097, 4096), 1);
}

static void test_list_of_nodes(void **unused)
{
	assert_true(fl_arith_node_in("", 3));
	assert_true(fl_arith_node_in("(null)", 3));
	assert_true(fl_arith_node_in("0-1,3", 3));
	assert_false(fl_arith_node_in("0-1,3", 2));
	assert_true(fl_arith_node_in("0", -1));
}

static void test_gfp_bits_without_names_follow_the_age_of_the_kernel(void **unused)
{
	bool old;

	assert_int_equal(fl_gfp_from_raw(0xd2, &old), FL_GFP_HIGHMEM | FL_GFP_DIRECT_RECLAIM | FL_GFP_KSWAPD_RECLAIM |
			 FL_GFP_IO | FL_GFP_FS);
	assert_true(old);
	assert_int_equal(fl_gfp_from_raw(0x20, &old), FL_GFP_HIGH);
	assert_true(old);
	assert_int_equal(fl_gfp_from_raw(0x2080020, &old), FL_GFP_HIGH | FL_GFP_ATOMIC | FL_GFP_KSWAPD_RECLAIM);
	assert_false(old);
}

static void test_unknown_gfp_name_is_told_and_the_rest_used(void **unused)
{
	char unknown[60];

	assert_int_equal(fl_gfp_from_names("__GFP_COMP|__GFP_TOMORROW|__GFP_ZERO", unknown, sizeof(unknown)),
			 FL_GFP_COMP | FL_GFP_ZERO);
	assert_string_equal(unknown, "__GFP_TOMORROW");
}

static void test_release_as_number(void **unused)
{
	assert_int_equal(fl_release_number("6.8.0-rc3"), 6008);
	assert_int_equal(fl_release_number("5.19.0-1-amd64"), 5019);
	assert_int_equal(fl_release_number("next"), 0);
	assert_int_equal(fl_release_number(""), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_usable_must_be_more_than_the_mark_not_equal),
		cmocka_unit_test(test_an_order_takes_its_pages_less_one_from_free),
		cmocka_unit_test(test_atomic_request_may_go_to_three_eighths_of_min),
		cmocka_unit_test(test_nowait_alone_lowers_min_only_before_4_4),
		cmocka_unit_test(test_nomemalloc_keeps_the_quarter),
		cmocka_unit_test(test_memalloc_needs_no_more_than_a_free_page),
		cmocka_unit_test(test_free_cma_counts_for_movable_requests_only),
		cmocka_unit_test(test_free_highatomic_is_taken_off_when_known_else_the_reserved),
		cmocka_unit_test(test_blocks_of_cma_and_highatomic_are_not_for_everybody),
		cmocka_unit_test(test_before_4_4_small_orders_do_not_count_for_large_ones),
		cmocka_unit_test(test_atomic_order_0_is_tested_again_without_the_boost_since_5_9),
		cmocka_unit_test(test_boost_that_is_not_printed_shows_in_the_distance_of_the_marks),
		cmocka_unit_test(test_lowmem_reserve_goes_by_the_ceiling_zone),
		cmocka_unit_test(test_number_of_reserves_tells_which_zones_a_32_bit_kernel_has),
		cmocka_unit_test(test_indices_are_those_of_the_kernel),
		cmocka_unit_test(test_indices_do_not_overflow_on_absurd_counts),
		cmocka_unit_test(test_order_of_a_huge_page_follows_the_page_size),
		cmocka_unit_test(test_list_of_nodes),
		cmocka_unit_test(test_gfp_bits_without_names_follow_the_age_of_the_kernel),
		cmocka_unit_test(test_unknown_gfp_name_is_told_and_the_rest_used),
		cmocka_unit_test(test_release_as_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
