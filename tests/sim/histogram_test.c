/*
 * tests/sim/histogram_test.c - buckets cover all of 64 bits without gaps; quantiles keep their promised error.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rng.h"
#include "sim/histogram.h"

static void test_buckets_cover_all_values_without_gap_or_overlap(void **state)
{
	assert_int_equal(fl_histogram_bucket_low(0), 0);
	for (unsigned int i = 0; i < FL_HISTOGRAM_BUCKETS; i++) {
		uint64_t low = fl_histogram_bucket_low(i), high = fl_histogram_bucket_high(i);

		assert_true(low <= high);
		assert_int_equal(fl_histogram_bucket(low), i);
		assert_int_equal(fl_histogram_bucket(high), i);
		assert_true(high - low <= low / 32);
		if (i + 1 < FL_HISTOGRAM_BUCKETS)
			assert_true(fl_histogram_bucket_low(i + 1) == high + 1);
	}
	assert_true(fl_histogram_bucket_high(FL_HISTOGRAM_BUCKETS - 1) == UINT64_MAX);
}

static void test_quantiles_of_1_to_1000(void **state)
{
	static struct fl_histogram h;

	fl_histogram_clear(&h);
	assert_int_equal(fl_histogram_quantile(&h, 1, 2), 0);
	for (uint64_t v = 1; v <= 1000; v++)
		fl_histogram_add(&h, v);
	assert_int_equal(h.total, 1000);
	assert_int_equal(fl_histogram_mean(&h), 500);
	assert_int_equal(fl_histogram_quantile(&h, 0, 1), 1);
	assert_int_equal(fl_histogram_quantile(&h, 1, 1), 1000);
	assert_int_equal(fl_histogram_quantile(&h, 2, 100), 20); /* exact below 32 */
	assert_in_range(fl_histogram_quantile(&h, 1, 2), 500, 515);
	assert_in_range(fl_histogram_quantile(&h, 99, 100), 990, 1000);
}

static void test_a_rare_tail_lifts_the_mean_above_the_99th_quantile(void **state)
{
	static struct fl_histogram h;

	fl_histogram_clear(&h);
	for (int i = 0; i < 1000; i++)
		fl_histogram_add(&h, i < 995 ? 20 : 20000);
	assert_int_equal(fl_histogram_mean(&h), (995 * 20 + 5 * 20000) / 1000);
	assert_int_equal(fl_histogram_quantile(&h, 99, 100), 20);
	assert_int_equal(fl_histogram_quantile(&h, 995, 1000), 20);
	assert_in_range(fl_histogram_quantile(&h, 996, 1000), 20000, 20000);
}

static void test_merge_equals_adding_all(void **state)
{
	static struct fl_histogram all, one, two;
	struct fl_rng rng;

	fl_rng_init(&rng, 3, "histogram", 0);
	for (int i = 0; i < 5000; i++) {
		uint64_t v = fl_rng_u64(&rng) >> fl_rng_below(&rng, 64);

		fl_histogram_add(&all, v);
		fl_histogram_add(i % 3 ? &one : &two, v);
	}
	assert_int_not_equal(fl_histogram_hash(&one, 0), fl_histogram_hash(&all, 0));
	fl_histogram_merge(&one, &two);
	assert_int_equal(fl_histogram_hash(&one, 0), fl_histogram_hash(&all, 0));
	fl_histogram_clear(&two);
	fl_histogram_add(&two, 7);
	fl_histogram_merge(&two, &one);
	assert_int_equal(two.min, one.min < 7 ? one.min : 7);
	assert_int_equal(two.max, one.max);
	fl_histogram_clear(&two);
	fl_histogram_add(&two, 7);
	fl_histogram_clear(&all);
	fl_histogram_add(&all, 9);
	fl_histogram_merge(&all, &two);
	assert_int_equal(all.min, 7);
	assert_int_equal(all.max, 9);
	assert_int_equal(all.sum, 16);
	fl_histogram_clear(&all);
	fl_histogram_merge(&all, &one);
	fl_histogram_clear(&two);
	fl_histogram_merge(&one, &two);
	assert_int_equal(fl_histogram_hash(&one, 0), fl_histogram_hash(&all, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_buckets_cover_all_values_without_gap_or_overlap),
		cmocka_unit_test(test_quantiles_of_1_to_1000),
		cmocka_unit_test(test_a_rare_tail_lifts_the_mean_above_the_99th_quantile),
		cmocka_unit_test(test_merge_equals_adding_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
