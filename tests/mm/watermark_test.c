/*
 * tests/mm/watermark_test.c - formulas of watermarks, lowmem reserves and per-CPU list sizes against real machines:
 * managed pages and CPUs in, everything else computed. tests/observe holds the same against the machine it runs on.
 */
#include "fixture.h"

#define BLOCK_PAGES 512

/* What /proc/zoneinfo of a machine says. */
struct machine {
	const char *name;
	uint64_t managed[FL_ZONES];
	unsigned int cpus;
	uint64_t min_free_kbytes;
	uint64_t marks[FL_ZONES][3]; /* min, low, high */
	uint64_t protection[2][FL_ZONES];
	int batch[3], high_min[3], high_max[3];
};

static const struct machine machines[] = {
	{
		.name = "16 GiB, 8 CPUs, THP on",
		.managed = { 3840, 765952, 3407872, 0 },
		.cpus = 8,
		.min_free_kbytes = 67584,
		.marks = { { 15, 18, 21 }, { 3097, 3871, 4645 }, { 13782, 17227, 20672 }, { 32, 32, 32 } },
		.protection = { { 0, 2992, 16304, 16304 }, { 0, 0, 13312, 13312 } },
		.batch = { 1, 63, 63 },
		.high_min = { 4, 483, 2153 },
		.high_max = { 60, 11968, 53248 },
	},
	{
		.name = "512 MiB, 2 CPUs, THP on and capped at 5 %",
		.managed = { 3840, 126000, 0, 0 },
		.cpus = 2,
		.min_free_kbytes = 25752,
		.marks = { { 190, 237, 284 }, { 6247, 7808, 9369 }, { 0, 0, 0 }, { 32, 32, 32 } },
		.protection = { { 0, 492, 492, 492 }, { 0, 0, 0, 0 } },
		.batch = { 1, 31, 1 },
		.high_min = { 118, 3904, 4 },
		.high_max = { 240, 7875, 4 },
	},
	{
		.name = "6.18 guest, 24 GiB of which 5 managed, 2 CPUs",
		.managed = { 3840, 772808, 524288, 0 },
		.cpus = 2,
		.min_free_kbytes = 67584,
		.marks = { { 49, 61, 73 }, { 10036, 12545, 15054 }, { 6809, 8511, 10213 }, { 32, 32, 32 } },
		.protection = { { 0, 3018, 5066, 5066 }, { 0, 0, 2048, 2048 } },
		.batch = { 1, 63, 63 },
		.high_min = { 30, 6272, 4255 },
		.high_max = { 240, 48300, 32768 },
	},
};

static struct fl_watermark_input input_of(const uint64_t managed[FL_ZONES])
{
	struct fl_watermark_input in = { .page_shift = 12, .pageblock_order = 9, .scale_factor = 10,
					 .reserve_ratio = { 256, 256, 32, 0 } };

	for (unsigned int z = 0; z < FL_ZONES; z++)
		in.managed[z] = managed[z];
	return in;
}

static void test_watermarks_of_real_machines_follow_from_managed_pages(void **state)
{
	for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++) {
		const struct machine *m = &machines[i];
		struct fl_watermark_input in = input_of(m->managed);
		uint64_t marks[FL_ZONES][FL_WMARKS];

		fl_compute_wmarks(&in, m->min_free_kbytes, marks);
		for (unsigned int z = 0; z < FL_ZONES; z++)
			for (unsigned int mark = 0; mark < 3; mark++)
				if (marks[z][mark] != m->marks[z][mark])
					fail_msg("%s: zone %s mark %u: %llu, real %llu", m->name, fl_zone_name(z), mark,
						 (unsigned long long)marks[z][mark],
						 (unsigned long long)m->marks[z][mark]);
	}
}

static void test_protection_of_real_machines_follows_from_managed_pages(void **state)
{
	for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++) {
		struct fl_watermark_input in = input_of(machines[i].managed);
		uint64_t reserve[FL_ZONES][FL_ZONES];

		fl_compute_lowmem_reserve(&in, reserve);
		for (unsigned int class = 0; class < FL_ZONES; class++) {
			assert_int_equal(reserve[FL_ZONE_DMA][class], machines[i].protection[0][class]);
			assert_int_equal(reserve[FL_ZONE_DMA32][class], machines[i].protection[1][class]);
			assert_int_equal(reserve[FL_ZONE_NORMAL][class], 0);
		}
	}
}

static void test_percpu_sizes_of_real_machines_follow_from_zone_size_and_cpus(void **state)
{
	for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++)
		for (unsigned int z = 0; z < 3; z++) {
			const struct machine *m = &machines[i];
			uint32_t managed = (uint32_t)m->managed[z];
			int batch = fl_pcp_batch(managed, 12);

			batch = batch < 1 ? 1 : batch;
			assert_int_equal(batch, m->batch[z]);
			assert_int_equal(fl_pcp_high(managed, m->marks[z][1], m->cpus, 0, batch, false), m->high_min[z]);
			assert_int_equal(fl_pcp_high(managed, m->marks[z][1], m->cpus, 0, batch, true), m->high_max[z]);
		}
}

static void test_percpu_high_fraction_pins_both_limits(void **state)
{
	assert_int_equal(fl_pcp_high(524288, 8511, 2, 8, 63, false), 32768);
	assert_int_equal(fl_pcp_high(524288, 8511, 2, 8, 63, true), 32768);
}

static void test_thp_raises_min_free_by_11_pageblocks_a_zone_capped_at_5_percent(void **state)
{
	struct fl_watermark_input in = input_of(machines[0].managed);
	const uint64_t zero[FL_ZONES] = { 0 };
	uint64_t high[FL_ZONES] = { 0 }, marks[FL_ZONES][FL_WMARKS], kbytes;

	assert_int_equal(fl_recommended_min_free_kbytes(&in, zero), 67584);
	/* Half a gigabyte: the high marks of the default value count against the cap. */
	in = input_of(machines[1].managed);
	kbytes = fl_default_min_free_kbytes(&in, zero);
	assert_int_equal(kbytes, 2882);
	fl_compute_wmarks(&in, kbytes, marks);
	for (unsigned int z = 0; z < FL_ZONES; z++)
		high[z] = marks[z][FL_WMARK_HIGH];
	assert_int_equal(fl_recommended_min_free_kbytes(&in, high), 25752);
}

static void test_default_min_free_is_clamped(void **state)
{
	const uint64_t small[FL_ZONES] = { 0, 200, 0, 0 }, large[FL_ZONES] = { 0, 0, 1u << 30, 0 }, zero[FL_ZONES] = { 0 };
	struct fl_watermark_input in = input_of(small);

	assert_int_equal(fl_default_min_free_kbytes(&in, zero), 128);
	in = input_of(large);
	assert_int_equal(fl_default_min_free_kbytes(&in, zero), 262144);
}

static void test_scale_factor_widens_the_gaps(void **state)
{
	struct fl_watermark_input in = input_of(machines[0].managed);
	uint64_t marks[FL_ZONES][FL_WMARKS];

	in.scale_factor = 100;
	fl_compute_wmarks(&in, 67584, marks);
	assert_int_equal(marks[FL_ZONE_NORMAL][FL_WMARK_LOW] - marks[FL_ZONE_NORMAL][FL_WMARK_MIN], 34078);
	assert_int_equal(marks[FL_ZONE_NORMAL][FL_WMARK_PROMO] - marks[FL_ZONE_NORMAL][FL_WMARK_HIGH], 34078);
}

static void test_zone_movable_has_a_min_of_its_own(void **state)
{
	uint64_t managed[FL_ZONES] = { 3840, 765952, 1000000, 2000000 }, marks[FL_ZONES][FL_WMARKS];
	struct fl_watermark_input in = input_of(managed);

	fl_compute_wmarks(&in, 67584, marks);
	assert_int_equal(marks[FL_ZONE_MOVABLE][FL_WMARK_MIN], 128);
	/* Its gap is a quarter of the share that it does not have to keep. */
	assert_int_equal(marks[FL_ZONE_MOVABLE][FL_WMARK_LOW] - 128, 16896 * 2000000ull / 1769792 / 4);
}

static bool raises(const char *kernel, unsigned int global, unsigned int order, unsigned int size)
{
	struct fixture f = { 0 };
	uint64_t before, after;

	fixture_normal(&f, kernel, 1024);
	before = f.mem->set.min_free_kbytes;
	f.mem->set.thp_enabled = global;
	f.mem->set.thp_size[9] = FL_THP_SIZE_INHERIT;
	if (order)
		f.mem->set.thp_size[order] = size;
	fl_set_recommended_min_free(f.mem);
	after = f.mem->set.min_free_kbytes;
	fixture_done(&f);
	return after > before;
}

static void test_which_thp_settings_raise_min_free_differs_by_version(void **state)
{
	assert_true(raises("6.12", FL_THP_ALWAYS, 0, 0));
	assert_true(raises("6.12", FL_THP_MADVISE, 0, 0));
	assert_false(raises("6.12", FL_THP_NEVER, 0, 0));
	assert_false(raises("6.12", FL_THP_ALWAYS, 9, FL_THP_SIZE_NEVER));
	assert_false(raises("6.12", FL_THP_NEVER, 2, FL_THP_SIZE_ALWAYS));
	assert_false(raises("6.18", FL_THP_ALWAYS, 9, FL_THP_SIZE_NEVER));
	assert_false(raises("6.18", FL_THP_NEVER, 2, FL_THP_SIZE_ALWAYS));
	assert_true(raises("7.3", FL_THP_NEVER, 2, FL_THP_SIZE_ALWAYS));
	assert_true(raises("7.3", FL_THP_ALWAYS, 9, FL_THP_SIZE_NEVER));
	assert_false(raises("7.3", FL_THP_NEVER, 0, 0));
	assert_false(raises("7.3+no-thp-min-free", FL_THP_ALWAYS, 0, 0));
}

static void test_user_value_wins_until_thp_is_switched_again(void **state)
{
	struct fixture f = { 0 };

	fixture_normal(&f, "7.3", 1024);
	fl_write_min_free_kbytes(f.mem, 5000);
	assert_int_equal(f.mem->set.min_free_kbytes, 5000);
	assert_int_equal(fixture_zone(&f)->wmark[FL_WMARK_MIN], 1250);
	f.mem->set.thp_enabled = FL_THP_ALWAYS;
	fl_set_recommended_min_free(f.mem);
	assert_true(f.mem->set.min_free_kbytes > 5000);
	fixture_done(&f);
}

/* 2.4: the test itself, at its borders. */
static void test_watermark_must_be_exceeded_strictly(void **state)
{
	struct fixture f = { 0 };
	struct fl_zone *zone;

	fixture_normal(&f, "7.3", 128);
	zone = fixture_zone(&f);
	assert_false(fl_watermark_ok(f.mem, zone, 0, (uint64_t)zone->nr_free_pages, FL_ZONE_NORMAL, 0));
	assert_true(fl_watermark_ok(f.mem, zone, 0, (uint64_t)zone->nr_free_pages - 1, FL_ZONE_NORMAL, 0));
	/* An order takes 2^order - 1 pages more. */
	assert_false(fl_watermark_ok(f.mem, zone, 3, (uint64_t)zone->nr_free_pages - 7, FL_ZONE_NORMAL, 0));
	assert_true(fl_watermark_ok(f.mem, zone, 3, (uint64_t)zone->nr_free_pages - 8, FL_ZONE_NORMAL, 0));
	fixture_done(&f);
}

static void test_reserves_lower_the_mark_by_a_half_and_a_quarter_of_the_rest(void **state)
{
	struct fixture f = { 0 };
	struct fl_zone *zone;
	uint64_t mark;

	fixture_normal(&f, "7.3", 128);
	zone = fixture_zone(&f);
	mark = (uint64_t)zone->nr_free_pages * 8 / 3; /* 37.5 % of it is all that is free */
	assert_false(fl_watermark_ok(f.mem, zone, 0, mark, FL_ZONE_NORMAL, FL_ALLOC_MIN_RESERVE));
	assert_false(fl_watermark_ok(f.mem, zone, 0, mark, FL_ZONE_NORMAL, FL_ALLOC_NON_BLOCK));
	assert_true(fl_watermark_ok(f.mem, zone, 0, mark - 8, FL_ZONE_NORMAL,
				    FL_ALLOC_MIN_RESERVE | FL_ALLOC_NON_BLOCK));
	assert_false(fl_watermark_ok(f.mem, zone, 0, mark + 8, FL_ZONE_NORMAL,
				     FL_ALLOC_MIN_RESERVE | FL_ALLOC_NON_BLOCK));
	fixture_done(&f);
}

static void test_high_order_needs_a_list_of_any_of_the_three_types(void **state)
{
	struct fixture f = { 0 };
	struct fl_zone *zone;
	fl_pfn pfn;

	fixture_normal(&f, "7.3", 128);
	zone = fixture_zone(&f);
	while (zone->nonempty[FL_MOVABLE] >> 9)
		take_buddy(&f, 9, FL_MOVABLE, 0);
	assert_int_equal(zone->nr_free_pages, 0);
	pfn = 512;
	give_buddy(&f, pfn, 9);
	fl_mem_check(f.mem);
	assert_true(fl_watermark_ok(f.mem, zone, 9, 0, FL_ZONE_NORMAL, 0));
	assert_false(fl_watermark_ok(f.mem, zone, 10, 0, FL_ZONE_NORMAL, 0));
	/* The reserve counts only for those who may use it. */
	fl_move_listed_chunk(f.mem, zone, pfn, 9, FL_MOVABLE, FL_HIGHATOMIC);
	fl_pageblock_set_type(f.mem, pfn, FL_HIGHATOMIC);
	assert_false(fl_watermark_ok(f.mem, zone, 9, 0, FL_ZONE_NORMAL, 0));
	assert_true(fl_watermark_ok(f.mem, zone, 9, 0, FL_ZONE_NORMAL, FL_ALLOC_HIGHATOMIC));
	fixture_done(&f);
}

/* 8.4 */
static void test_indices_of_a_known_set_of_chunks(void **state)
{
	struct fl_zone zone = { 0 };

	assert_int_equal(fl_fragmentation_index(&zone, 9), 0);
	assert_int_equal(fl_unusable_index(&zone, 9), 1000);
	zone.nr_free[0] = 1000;
	zone.nr_free[3] = 100;
	/* 1800 pages in 1100 chunks, none of order 9: 1000 - (1000 + 1800 * 1000 / 512) / 1100 */
	assert_int_equal(fl_fragmentation_index(&zone, 9), 996);
	assert_int_equal(fl_unusable_index(&zone, 9), 1000);
	assert_int_equal(fl_unusable_index(&zone, 3), 555);
	assert_int_equal(fl_fragmentation_index(&zone, 3), -1000);
	zone.nr_free[10] = 1;
	assert_int_equal(fl_unusable_index(&zone, 9), (1800 + 1024 - 1024) * 1000 / 2824);
}

/* The short way of a request tests the same mark as the long one: what it refuses is remembered as below high. */
static void test_short_way_tests_the_high_mark_with_all_that_is_not_usable(void **state)
{
	for (unsigned int what = 0; what < 3; what++)
		for (unsigned int passes = 0; passes < 2; passes++) {
			struct fixture f = { 0 };
			struct fl_zone *zone;
			unsigned int order = what == 0 ? 3 : 0;

			fixture_normal(&f, "7.3", 128);
			zone = fixture_zone(&f);
			fl_page_free(f.mem, &f.who, fl_page_alloc(f.mem, &f.who, GFP_MOVABLE_NOW, order, FL_KIND_ANON), order);
			if (what == 1)
				fl_reserve_highatomic(f.mem, zone, take_buddy(&f, 0, FL_MOVABLE, 0), 0);
			if (what == 2)
				zone->lowmem_reserve[FL_ZONE_MOVABLE] = 100;
			zone->wmark[FL_WMARK_HIGH] = (uint64_t)(zone->nr_free_pages - zone->nr_free_highatomic) -
						     ((1u << order) - 1) - zone->lowmem_reserve[FL_ZONE_MOVABLE] - passes;
			fl_page_alloc(f.mem, &f.who, GFP_MOVABLE_NOW, order, FL_KIND_ANON);
			assert_int_equal(zone->flags & FL_ZONE_BELOW_HIGH, passes ? 0 : FL_ZONE_BELOW_HIGH);
			fixture_done(&f);
		}
}

static void test_zone_below_its_high_mark_adds_nothing_to_min_free(void **state)
{
	const uint64_t managed[FL_ZONES] = { 100, 100000, 0, 0 }, high[FL_ZONES] = { 200, 0, 0, 0 };
	struct fl_watermark_input in = input_of(managed);

	assert_int_equal(fl_default_min_free_kbytes(&in, high), 2529); /* of 400000 kB */
}

static void test_new_marks_end_a_boost(void **state)
{
	struct fixture f = { 0 };

	fixture_normal(&f, "7.3", 1024);
	assert_true(fl_boost_watermark(f.mem, fixture_zone(&f)));
	fl_write_min_free_kbytes(f.mem, 5000);
	assert_int_equal(fixture_zone(&f)->watermark_boost, 0);
	fixture_done(&f);
}

static void test_user_value_between_the_default_and_its_clamp_is_kept(void **state)
{
	struct fixture f = { 0 };

	fixture_normal(&f, "7.3", 1);
	fl_write_min_free_kbytes(f.mem, 40);
	fixture_zone(&f)->managed = 20; /* 80 kB of memory: before the clamp to 128 kB the default is less than 40 */
	fl_set_recommended_min_free(f.mem);
	assert_int_equal(f.mem->set.min_free_kbytes, 40);
	fixture_zone(&f)->managed = BLOCK_PAGES;
	fixture_done(&f);
}

static void test_oom_victims_go_to_half_of_the_mark(void **state)
{
	struct fixture f = { 0 };
	struct fl_zone *zone;
	uint64_t mark;

	fixture_normal(&f, "7.3", 128);
	zone = fixture_zone(&f);
	mark = (uint64_t)zone->nr_free_pages * 2;
	assert_false(fl_watermark_ok(f.mem, zone, 0, mark, FL_ZONE_NORMAL, FL_ALLOC_OOM));
	assert_true(fl_watermark_ok(f.mem, zone, 0, mark - 2, FL_ZONE_NORMAL, FL_ALLOC_OOM));
	fixture_done(&f);
}

static void test_boost_is_for_zones_of_4_pageblocks_and_at_least_one(void **state)
{
	for (unsigned int blocks = 3; blocks <= 4; blocks++) {
		struct fixture f = { 0 };

		fixture_normal(&f, "7.3", blocks);
		fixture_zone(&f)->wmark[FL_WMARK_HIGH] = 10;
		assert_int_equal(fl_boost_watermark(f.mem, fixture_zone(&f)), blocks == 4);
		assert_int_equal(fixture_zone(&f)->watermark_boost, blocks == 4 ? BLOCK_PAGES : 0);
		fixture_zone(&f)->wmark[FL_WMARK_HIGH] = 0; /* not set yet */
		assert_false(fl_boost_watermark(f.mem, fixture_zone(&f)));
		fixture_done(&f);
	}
}

static void test_totalreserve_is_reserve_and_high_mark_up_to_the_zone(void **state)
{
	struct fixture f = { 0 };
	struct fl_zone *normal, *dma32;

	fixture_geometry(&f, 16, 64, 1);
	fixture_boot(&f, "7.3");
	normal = fixture_zone(&f);
	dma32 = &f.mem->zone[FL_ZONE_DMA32];
	assert_int_equal(fl_totalreserve_pages(f.mem), normal->wmark[FL_WMARK_HIGH] + dma32->wmark[FL_WMARK_HIGH] +
							       64 * BLOCK_PAGES / 256);
	normal->wmark[FL_WMARK_HIGH] = 1u << 20;
	assert_int_equal(fl_totalreserve_pages(f.mem), 64 * BLOCK_PAGES + dma32->wmark[FL_WMARK_HIGH] +
							       64 * BLOCK_PAGES / 256);
	fixture_done(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_short_way_tests_the_high_mark_with_all_that_is_not_usable),
		cmocka_unit_test(test_zone_below_its_high_mark_adds_nothing_to_min_free),
		cmocka_unit_test(test_new_marks_end_a_boost),
		cmocka_unit_test(test_user_value_between_the_default_and_its_clamp_is_kept),
		cmocka_unit_test(test_oom_victims_go_to_half_of_the_mark),
		cmocka_unit_test(test_boost_is_for_zones_of_4_pageblocks_and_at_least_one),
		cmocka_unit_test(test_totalreserve_is_reserve_and_high_mark_up_to_the_zone),
		cmocka_unit_test(test_watermarks_of_real_machines_follow_from_managed_pages),
		cmocka_unit_test(test_protection_of_real_machines_follows_from_managed_pages),
		cmocka_unit_test(test_percpu_sizes_of_real_machines_follow_from_zone_size_and_cpus),
		cmocka_unit_test(test_percpu_high_fraction_pins_both_limits),
		cmocka_unit_test(test_thp_raises_min_free_by_11_pageblocks_a_zone_capped_at_5_percent),
		cmocka_unit_test(test_default_min_free_is_clamped),
		cmocka_unit_test(test_scale_factor_widens_the_gaps),
		cmocka_unit_test(test_zone_movable_has_a_min_of_its_own),
		cmocka_unit_test(test_which_thp_settings_raise_min_free_differs_by_version),
		cmocka_unit_test(test_user_value_wins_until_thp_is_switched_again),
		cmocka_unit_test(test_watermark_must_be_exceeded_strictly),
		cmocka_unit_test(test_reserves_lower_the_mark_by_a_half_and_a_quarter_of_the_rest),
		cmocka_unit_test(test_high_order_needs_a_list_of_any_of_the_three_types),
		cmocka_unit_test(test_indices_of_a_known_set_of_chunks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
