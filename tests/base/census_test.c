/* Counts over a census: what pollutes, what pins, what is a huge slot; and slots of whole pageblocks. */
#include "test.h"

#include <stdlib.h>

#include "base/census.h"
#include "base/text.h"

/* A census of `count` blocks of 512 pages, wholly free, all in zone 0. */
static struct fl_census make_census(size_t count, enum fl_census_type type)
{
	struct fl_census census = { .page_size = 4096, .pages_per_block = 512, .blocks_count = count, .zones_count = 1,
				    .types_known = true };

	strcpy(census.zone_names[0], "Normal");
	census.blocks = fl_xcalloc(count, sizeof(*census.blocks));
	for (size_t i = 0; i < count; i++) {
		census.blocks[i].start_pfn = i * 512;
		census.blocks[i].type = (uint8_t)type;
		census.blocks[i].pages[FL_CENSUS_FREE] = 512;
	}
	return census;
}

static void take(struct fl_census_block *block, enum fl_census_class class, uint32_t pages)
{
	block->pages[FL_CENSUS_FREE] -= pages;
	block->pages[class] += pages;
}

static struct fl_census_counts count(const struct fl_census *census)
{
	struct fl_census_counts counts;

	fl_census_count(census, FL_CENSUS_ALL_ZONES, &counts);
	return counts;
}

static void test_one_unmovable_page_pollutes_a_movable_block_only(void **state)
{
	static const enum fl_census_class unmovable[] = { FL_CENSUS_PGTABLE, FL_CENSUS_SLAB, FL_CENSUS_KERNEL };

	for (size_t i = 0; i < sizeof(unmovable) / sizeof(unmovable[0]); i++) {
		struct fl_census census = make_census(3, FL_CENSUS_MOVABLE);

		census.blocks[1].type = FL_CENSUS_UNMOVABLE;
		take(&census.blocks[0], unmovable[i], 1);
		take(&census.blocks[1], unmovable[i], 1);
		assert_int_equal(count(&census).polluted_pageblocks, 1);
		assert_int_equal(count(&census).unmovable_pageblocks, 2);
		assert_int_equal(count(&census).unmovable_pages, 2);
		assert_int_equal(count(&census).mixed_pageblocks, 0);
		fl_census_free(&census);
	}
}

static void test_pollution_is_not_counted_where_types_are_unknown(void **state)
{
	struct fl_census census = make_census(1, FL_CENSUS_MOVABLE);

	take(&census.blocks[0], FL_CENSUS_SLAB, 7);
	census.types_known = false;
	assert_int_equal(count(&census).polluted_pageblocks, 0);
	assert_int_equal(count(&census).unmovable_pageblocks, 1);
	fl_census_free(&census);
}

static void test_a_block_is_mixed_only_with_both_kinds(void **state)
{
	static const enum fl_census_class movable[] = { FL_CENSUS_ANON, FL_CENSUS_HUGE, FL_CENSUS_FILE, FL_CENSUS_MLOCKED,
							FL_CENSUS_DRIVER };

	for (size_t i = 0; i < sizeof(movable) / sizeof(movable[0]); i++) {
		struct fl_census census = make_census(2, FL_CENSUS_MOVABLE);

		take(&census.blocks[0], movable[i], 5);
		take(&census.blocks[1], FL_CENSUS_SLAB, 5);
		assert_int_equal(count(&census).mixed_pageblocks, 0);
		take(&census.blocks[1], movable[i], 1);
		assert_int_equal(count(&census).mixed_pageblocks, 1);
		assert_int_equal(count(&census).movable_pages, 6);
		fl_census_free(&census);
	}
}

static void test_reserved_hugetlb_and_unmanaged_pages_are_not_unmovable_but_spoil_a_huge_slot(void **state)
{
	static const enum fl_census_class others[] = { FL_CENSUS_RESERVED, FL_CENSUS_HUGETLB, FL_CENSUS_NOT_MANAGED,
						       FL_CENSUS_HOLE };

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		struct fl_census census = make_census(2, FL_CENSUS_MOVABLE);

		take(&census.blocks[0], others[i], 1);
		assert_int_equal(count(&census).unmovable_pageblocks, 0);
		assert_int_equal(count(&census).polluted_pageblocks, 0);
		assert_int_equal(count(&census).free_huge_slots, 1);
		assert_int_equal(count(&census).reclaimable_huge_slots, 1);
		fl_census_free(&census);
	}
}

static void test_a_slot_is_free_without_movable_pages_and_reclaimable_with_them(void **state)
{
	struct fl_census census = make_census(4, FL_CENSUS_MOVABLE);

	take(&census.blocks[0], FL_CENSUS_ANON, 512);
	take(&census.blocks[1], FL_CENSUS_PCP, 1);
	take(&census.blocks[2], FL_CENSUS_PGTABLE, 1);
	assert_int_equal(count(&census).free_huge_slots, 1);
	assert_int_equal(count(&census).reclaimable_huge_slots, 3);
	fl_census_free(&census);
}

static void test_blocks_of_holes_and_of_unmanaged_memory_are_no_pageblocks(void **state)
{
	struct fl_census census = make_census(3, FL_CENSUS_MOVABLE);

	take(&census.blocks[0], FL_CENSUS_HOLE, 512);
	take(&census.blocks[1], FL_CENSUS_HOLE, 12);
	take(&census.blocks[1], FL_CENSUS_NOT_MANAGED, 500);
	assert_int_equal(count(&census).pageblocks, 1);
	assert_int_equal(count(&census).type_blocks[FL_CENSUS_MOVABLE], 1);
	assert_int_equal(count(&census).class_pages[FL_CENSUS_NOT_MANAGED], 500);
	fl_census_free(&census);
}

static void test_a_block_is_unsure_when_nothing_identifies_any_of_its_unmovable_pages(void **state)
{
	struct fl_census census = make_census(2, FL_CENSUS_TYPE_UNKNOWN);

	for (int i = 0; i < 2; i++) {
		take(&census.blocks[i], FL_CENSUS_KERNEL, 10);
		census.blocks[i].unidentified = 10;
	}
	take(&census.blocks[1], FL_CENSUS_PGTABLE, 1);
	assert_int_equal(count(&census).unmovable_pageblocks, 2);
	assert_int_equal(count(&census).unsure_pageblocks, 1);
	assert_int_equal(count(&census).unidentified_pages, 20);
	fl_census_free(&census);
}

static void test_counting_one_zone_leaves_the_others_out(void **state)
{
	struct fl_census census = make_census(3, FL_CENSUS_MOVABLE);
	struct fl_census_counts counts;

	census.zones_count = 2;
	census.blocks[2].zone = 1;
	take(&census.blocks[2], FL_CENSUS_SLAB, 2);
	fl_census_count(&census, 0, &counts);
	assert_int_equal(counts.pageblocks, 2);
	assert_int_equal(counts.unmovable_pages, 0);
	fl_census_count(&census, 1, &counts);
	assert_int_equal(counts.pageblocks, 1);
	assert_int_equal(counts.unmovable_pages, 2);
	fl_census_free(&census);
}

static void test_slots_of_several_blocks_are_aligned_and_do_not_cross_gaps_or_zones(void **state)
{
	struct fl_census census = make_census(8, FL_CENSUS_MOVABLE);

	fl_census_fill_block_slots(&census);
	assert_int_equal(census.zones[0].free_slots[9], 8);
	assert_int_equal(census.zones[0].free_slots[10], 4);
	assert_int_equal(census.zones[0].free_slots[12], 1);
	assert_int_equal(census.zones[0].free_slots[13], 0);
	census.blocks[7].start_pfn += 512; /* a gap */
	fl_census_fill_block_slots(&census);
	assert_int_equal(census.zones[0].free_slots[9], 8);
	assert_int_equal(census.zones[0].free_slots[10], 3);
	assert_int_equal(census.zones[0].free_slots[11], 1);
	for (size_t i = 0; i < 7; i++)
		census.blocks[i].start_pfn += 512; /* no longer aligned to two blocks */
	fl_census_fill_block_slots(&census);
	assert_int_equal(census.zones[0].free_slots[10], 3);
	fl_census_free(&census);
}

static void test_clean_slots_have_movable_pages_and_count_their_free_ones(void **state)
{
	struct fl_census census = make_census(4, FL_CENSUS_MOVABLE);

	take(&census.blocks[1], FL_CENSUS_ANON, 100);
	take(&census.blocks[3], FL_CENSUS_SLAB, 1);
	fl_census_fill_block_slots(&census);
	assert_int_equal(census.zones[0].free_slots[9], 2);
	assert_int_equal(census.zones[0].clean_slots[9], 3);
	assert_int_equal(census.zones[0].clean_free_pages[9], 3 * 512 - 100);
	assert_int_equal(census.zones[0].clean_slots[10], 1);
	assert_int_equal(census.zones[0].clean_free_pages[10], 1024 - 100);
	fl_census_free(&census);
}

static void test_every_class_and_type_has_a_name(void **state)
{
	for (int i = 0; i < FL_CENSUS_CLASSES; i++)
		assert_non_null(fl_census_class_name((enum fl_census_class)i));
	for (int i = 0; i < FL_CENSUS_TYPES; i++)
		assert_non_null(fl_census_type_name((enum fl_census_type)i));
	assert_string_equal(fl_census_type_name(FL_CENSUS_HIGHATOMIC), "HighAtomic");
}

static void test_freeing_twice_is_harmless(void **state)
{
	struct fl_census census = make_census(1, FL_CENSUS_MOVABLE);

	fl_census_fill_block_slots(&census);
	fl_census_free(&census);
	assert_null(census.blocks);
	fl_census_free(&census);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_unmovable_page_pollutes_a_movable_block_only),
		cmocka_unit_test(test_pollution_is_not_counted_where_types_are_unknown),
		cmocka_unit_test(test_a_block_is_mixed_only_with_both_kinds),
		cmocka_unit_test(test_reserved_hugetlb_and_unmanaged_pages_are_not_unmovable_but_spoil_a_huge_slot),
		cmocka_unit_test(test_a_slot_is_free_without_movable_pages_and_reclaimable_with_them),
		cmocka_unit_test(test_blocks_of_holes_and_of_unmanaged_memory_are_no_pageblocks),
		cmocka_unit_test(test_a_block_is_unsure_when_nothing_identifies_any_of_its_unmovable_pages),
		cmocka_unit_test(test_counting_one_zone_leaves_the_others_out),
		cmocka_unit_test(test_slots_of_several_blocks_are_aligned_and_do_not_cross_gaps_or_zones),
		cmocka_unit_test(test_clean_slots_have_movable_pages_and_count_their_free_ones),
		cmocka_unit_test(test_every_class_and_type_has_a_name),
		cmocka_unit_test(test_freeing_twice_is_harmless),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
