/* Large pages now, after perfect compaction, and without movable memory; what pins pageblocks. */
#include "test.h"

#include <stdlib.h>

#include "base/census.h"
#include "observe/capacity.h"

static struct fl_census make_census(size_t count)
{
	struct fl_census census = { .page_size = 4096, .pages_per_block = 512, .blocks_count = count, .zones_count = 1 };

	strcpy(census.zone_names[0], "Normal");
	census.blocks = fl_xcalloc(count, sizeof(*census.blocks));
	for (size_t i = 0; i < count; i++) {
		census.blocks[i].start_pfn = i * 512;
		census.blocks[i].type = FL_CENSUS_TYPE_UNKNOWN;
		census.blocks[i].pages[FL_CENSUS_FREE] = 512;
	}
	return census;
}

static void take(struct fl_census *census, size_t block, enum fl_census_class class, uint32_t pages)
{
	census->blocks[block].pages[FL_CENSUS_FREE] -= pages;
	census->blocks[block].pages[class] += pages;
}

/* Ends the census and checks the figures of pageblock order. */
static void expect(struct fl_census *census, uint64_t now, uint64_t moved, uint64_t emptied)
{
	struct fl_capacity capacity;

	fl_capacity_compute(census, &capacity);
	assert_true(capacity.total.orders[9].known);
	assert_int_equal(capacity.total.orders[9].now, now);
	assert_int_equal(capacity.total.orders[9].moved, moved);
	assert_int_equal(capacity.total.orders[9].emptied, emptied);
	fl_capacity_fini(&capacity);
	fl_census_free(census);
}

static void test_movable_pages_move_into_blocks_that_are_pinned_anyway(void **state)
{
	struct fl_census census = make_census(4);

	take(&census, 0, FL_CENSUS_ANON, 100);
	take(&census, 1, FL_CENSUS_SLAB, 1);
	expect(&census, 2, 3, 3);
}

static void test_movable_pages_without_such_room_fill_as_few_blocks_as_possible(void **state)
{
	struct fl_census census = make_census(4);

	for (size_t i = 0; i < 4; i++)
		take(&census, i, FL_CENSUS_ANON, 200);
	expect(&census, 0, 2, 4);
}

static void test_room_in_pinned_blocks_is_used_up_page_by_page(void **state)
{
	struct fl_census census = make_census(3);

	take(&census, 0, FL_CENSUS_ANON, 100);
	take(&census, 1, FL_CENSUS_SLAB, 413); /* 99 pages of room */
	expect(&census, 1, 1, 2);
}

static void test_full_memory_gives_nothing_by_moving(void **state)
{
	struct fl_census census = make_census(3);

	for (size_t i = 0; i < 3; i++)
		take(&census, i, FL_CENSUS_FILE, 512);
	expect(&census, 0, 0, 3);
}

static void test_huge_pages_in_use_are_neither_now_nor_moved(void **state)
{
	struct fl_census census = make_census(3);

	take(&census, 0, FL_CENSUS_HUGE, 512);
	take(&census, 1, FL_CENSUS_HUGETLB, 512);
	expect(&census, 1, 1, 2);
}

static void test_zones_do_not_help_each_other(void **state)
{
	struct fl_census census = make_census(4);

	census.zones_count = 2;
	strcpy(census.zone_names[1], "Movable");
	census.blocks[2].zone = census.blocks[3].zone = 1;
	take(&census, 0, FL_CENSUS_ANON, 256);
	take(&census, 1, FL_CENSUS_ANON, 300);
	take(&census, 2, FL_CENSUS_SLAB, 1);
	expect(&census, 1, 1, 3);
}

static void test_small_orders_are_unknown_from_whole_pageblocks(void **state)
{
	struct fl_census census = make_census(2);
	struct fl_capacity capacity;

	fl_capacity_compute(&census, &capacity);
	assert_false(capacity.total.orders[4].known);
	assert_true(capacity.total.orders[10].known);
	assert_int_equal(capacity.total.orders[10].now, 1);
	assert_null(census.zones); /* the census is only read */
	fl_capacity_fini(&capacity);
	fl_census_free(&census);
}

static void test_pins_count_blocks_that_hold_them_and_those_that_only_they_pin(void **state)
{
	struct fl_census census = make_census(5);
	struct fl_capacity capacity;
	const struct fl_capacity_pin *pins;

	take(&census, 0, FL_CENSUS_SLAB, 10);
	take(&census, 1, FL_CENSUS_SLAB, 1);
	take(&census, 1, FL_CENSUS_PGTABLE, 2);
	take(&census, 2, FL_CENSUS_KERNEL, 5);
	census.blocks[2].unidentified = 3;
	take(&census, 3, FL_CENSUS_RESERVED, 1);
	take(&census, 0, FL_CENSUS_RESERVED, 1);
	fl_capacity_compute(&census, &capacity);
	pins = capacity.total.pins;
	assert_int_equal(pins[FL_CAPACITY_SLAB].blocks, 2);
	assert_int_equal(pins[FL_CAPACITY_SLAB].blocks_alone, 1);
	assert_int_equal(pins[FL_CAPACITY_SLAB].pages, 11);
	assert_int_equal(pins[FL_CAPACITY_PGTABLE].blocks_alone, 0);
	assert_int_equal(pins[FL_CAPACITY_KERNEL].pages, 2);
	assert_int_equal(pins[FL_CAPACITY_UNIDENTIFIED].pages, 3);
	assert_int_equal(pins[FL_CAPACITY_RESERVED].blocks, 1);
	fl_capacity_fini(&capacity);
	fl_census_free(&census);
}

static void test_blocks_by_weight_are_one_up_to_8_up_to_64_and_more(void **state)
{
	static const uint32_t pages[] = { 1, 2, 8, 9, 64, 65, 512 };
	static const uint64_t expected[FL_CAPACITY_WEIGHTS] = { 1, 2, 2, 2 };
	struct fl_census census = make_census(8);
	struct fl_capacity capacity;

	for (size_t i = 0; i < sizeof(pages) / sizeof(pages[0]); i++)
		take(&census, i, FL_CENSUS_KERNEL, pages[i]);
	fl_capacity_compute(&census, &capacity);
	for (int i = 0; i < FL_CAPACITY_WEIGHTS; i++)
		assert_int_equal(capacity.total.blocks_by_weight[i], expected[i]);
	fl_capacity_fini(&capacity);
	fl_census_free(&census);
}

static uint32_t draw(uint64_t *seed, uint32_t below)
{
	*seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)((*seed >> 33) % below);
}

static void test_now_is_never_above_moved_nor_moved_above_emptied(void **state)
{
	uint64_t seed = 7;

	for (int round = 0; round < 200; round++) {
		struct fl_census census = make_census(64);
		struct fl_capacity capacity;

		for (size_t i = 0; i < 64; i++) {
			if (draw(&seed, 3))
				take(&census, i, FL_CENSUS_ANON, draw(&seed, 400));
			if (draw(&seed, 4) == 0)
				take(&census, i, FL_CENSUS_SLAB, draw(&seed, 112));
		}
		fl_capacity_compute(&census, &capacity);
		for (int order = 9; order < FL_CENSUS_ORDERS; order++) {
			assert_true(capacity.total.orders[order].now <= capacity.total.orders[order].moved);
			assert_true(capacity.total.orders[order].moved <= capacity.total.orders[order].emptied);
		}
		fl_capacity_fini(&capacity);
		fl_census_free(&census);
	}
}

static void test_the_text_has_sizes_zones_and_pins_within_80_columns(void **state)
{
	struct fl_census census = make_census(1024);
	struct fl_capacity capacity;
	struct fl_text text;

	census.zones_count = 2;
	strcpy(census.zone_names[1], "Movable");
	census.blocks[1023].zone = 1;
	take(&census, 7, FL_CENSUS_PGTABLE, 3);
	fl_text_init(&text);
	fl_capacity_compute(&census, &capacity);
	fl_capacity_print(&capacity, &text);
	assert_non_null(strstr(text.data, "2 MiB"));
	assert_non_null(strstr(text.data, "1 GiB"));
	assert_null(strstr(text.data, "64 kB")); /* not known here */
	assert_non_null(strstr(text.data, "Movable"));
	assert_non_null(strstr(text.data, "page tables"));
	assert_non_null(strstr(text.data, "1 of 1024 pageblocks hold unmovable pages"));
	for (char *line = strtok(text.data, "\n"); line; line = strtok(NULL, "\n"))
		assert_true(strlen(line) <= 80);
	fl_text_fini(&text);
	fl_capacity_fini(&capacity);
	fl_census_free(&census);
}

static void test_json_has_the_figures_and_leaves_unknown_orders_out(void **state)
{
	struct fl_census census = make_census(4);
	struct fl_capacity capacity;
	json_t *json, *orders;

	take(&census, 2, FL_CENSUS_SLAB, 3);
	fl_capacity_compute(&census, &capacity);
	json = fl_capacity_json(&capacity);
	orders = json_object_get(json_object_get(json, "total"), "orders");
	assert_int_equal(json_array_size(orders), FL_CENSUS_ORDERS - 9);
	assert_int_equal(json_integer_value(json_object_get(json_array_get(orders, 0), "now")), 3);
	assert_int_equal(json_array_size(json_object_get(json, "zones")), 1);
	assert_int_equal(json_integer_value(json_object_get(json_object_get(json, "total"), "unmovable_pages")), 3);
	json_decref(json);
	fl_capacity_fini(&capacity);
	fl_census_free(&census);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_movable_pages_move_into_blocks_that_are_pinned_anyway),
		cmocka_unit_test(test_movable_pages_without_such_room_fill_as_few_blocks_as_possible),
		cmocka_unit_test(test_room_in_pinned_blocks_is_used_up_page_by_page),
		cmocka_unit_test(test_full_memory_gives_nothing_by_moving),
		cmocka_unit_test(test_huge_pages_in_use_are_neither_now_nor_moved),
		cmocka_unit_test(test_zones_do_not_help_each_other),
		cmocka_unit_test(test_small_orders_are_unknown_from_whole_pageblocks),
		cmocka_unit_test(test_pins_count_blocks_that_hold_them_and_those_that_only_they_pin),
		cmocka_unit_test(test_blocks_by_weight_are_one_up_to_8_up_to_64_and_more),
		cmocka_unit_test(test_now_is_never_above_moved_nor_moved_above_emptied),
		cmocka_unit_test(test_json_has_the_figures_and_leaves_unknown_orders_out),
		cmocka_unit_test(test_the_text_has_sizes_zones_and_pins_within_80_columns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
