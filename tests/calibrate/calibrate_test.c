/*
 * tests/calibrate/calibrate_test.c - measurements of this host: their arithmetic, their spread, what is said where there is none.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "calibrate/calibrate.h"
#include "sim/cost.h"

static bool cost_of(const char *name, uint32_t *ret)
{
	const struct fl_cost_entry *entry = fl_cost_find(name, strlen(name));

	if (!entry)
		return false;
	*ret = entry->value;
	return true;
}

static struct fl_calibrate_options wish(void)
{
	return (struct fl_calibrate_options){ .memory_bytes = INT64_C(96) << 20, .repetitions = 3, .folder = ".", .cost_of = cost_of };
}

static struct fl_calibration calibrate(struct fl_calibrate_options options)
{
	struct fl_calibration c;
	struct fl_error error = { 0 };
	int r = fl_calibrate(&options, &c, &error);

	if (r == -ENOMEM)
		skip();
	if (r)
		fail_msg("%s", error.text);
	return c;
}

static const struct fl_calibrated *row(const struct fl_calibration *c, const char *name)
{
	for (size_t i = 0; i < c->count; i++)
		if (!strcmp(c->rows[i].name, name))
			return &c->rows[i];
	fail_msg("there is no measurement %s", name);
	return NULL;
}

static void test_every_row_has_a_spread_and_a_known_cost_or_says_why_not(void **state)
{
	struct fl_calibration c = calibrate(wish());
	uint32_t value;

	(void)state;
	assert_true(c.count > 20);
	assert_false(c.stopped);
	for (size_t i = 0; i < c.count; i++) {
		const struct fl_calibrated *r = &c.rows[i];

		assert_true(!r->cost || cost_of(r->cost, &value));
		assert_true(strlen(r->method) > 5);
		if (!r->measured || (r->cost && !r->has_value))
			assert_true(strlen(r->why_not) > 5);
		if (!r->measured)
			continue;
		assert_int_equal(r->repetitions, 3);
		assert_true(r->low_ns > 0 && r->low_ns <= r->median_ns && r->median_ns <= r->high_ns);
	}
	assert_true(row(&c, "syscall")->measured && row(&c, "fault_4k")->measured && row(&c, "zero_4k")->measured);
	assert_true(row(&c, "syscall")->median_ns > 10 && row(&c, "syscall")->median_ns < 100000);
	assert_true(row(&c, "fault_4k")->median_ns > row(&c, "zero_4k")->median_ns / 4);
	fl_calibration_fini(&c);
}

static void test_a_cost_is_its_measurement_less_the_rest_measured_where_it_was(void **state)
{
	struct fl_calibration c = calibrate(wish());
	const struct fl_calibrated *fault = row(&c, "fault_4k"), *zero = fl_calibration_find(&c, "zero_4k");
	double less = zero->value + fl_cost_default.alloc_pcp + fl_cost_default.lru_add + fl_cost_default.rmap;

	(void)state;
	if (fault->has_value)
		assert_true(fault->value > fault->median_ns - less - 0.6 && fault->value < fault->median_ns - less + 0.6);
	assert_string_equal(fault->less, "zero_4k + alloc_pcp + lru_add + rmap");
	assert_ptr_equal(fl_calibration_find(&c, "oom_kill"), NULL);
	fl_calibration_fini(&c);
}

static void test_what_was_stopped_says_so_and_gives_no_costs(void **state)
{
	static const volatile int stop = 1;
	struct fl_calibrate_options options = wish();
	struct fl_calibration c;

	(void)state;
	options.stop = &stop;
	c = calibrate(options);
	assert_true(c.stopped);
	for (size_t i = 0; i < c.count; i++) {
		assert_false(c.rows[i].has_value);
		assert_string_equal(c.rows[i].why_not, "interrupted");
	}
	fl_calibration_fini(&c);
}

static void test_a_folder_that_is_not_there_costs_only_the_measurements_of_files(void **state)
{
	struct fl_calibrate_options options = wish();
	struct fl_calibration c;

	(void)state;
	options.folder = "/nonexistent";
	c = calibrate(options);
	assert_false(row(&c, "open_close")->measured);
	assert_non_null(strstr(row(&c, "file_pageout")->why_not, "/nonexistent"));
	assert_true(row(&c, "cached_read")->measured);
	fl_calibration_fini(&c);
}

static void test_too_small_and_too_large_budgets_are_refused(void **state)
{
	struct fl_calibrate_options options = wish();
	struct fl_calibration c;
	struct fl_error error = { 0 };

	(void)state;
	options.memory_bytes = 1 << 20;
	assert_int_not_equal(fl_calibrate(&options, &c, &error), 0);
	assert_int_equal(error.class, FL_ERROR_INPUT);
	options.memory_bytes = INT64_C(1) << 50;
	assert_int_not_equal(fl_calibrate(&options, &c, &error), 0);
	assert_int_equal(error.class, FL_ERROR_LACKING);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_row_has_a_spread_and_a_known_cost_or_says_why_not),
		cmocka_unit_test(test_a_cost_is_its_measurement_less_the_rest_measured_where_it_was),
		cmocka_unit_test(test_what_was_stopped_says_so_and_gives_no_costs),
		cmocka_unit_test(test_a_folder_that_is_not_there_costs_only_the_measurements_of_files),
		cmocka_unit_test(test_too_small_and_too_large_budgets_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
