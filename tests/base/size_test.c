/* Sizes, durations and whole numbers: what is read, what is refused, and that printing reads back. */
#include "test.h"

#include "base/size.h"

static void test_sizes_are_binary_and_fractions_must_come_out_whole(void **state)
{
	static const struct { const char *text; int64_t bytes; } cases[] = {
		{ "0", 0 }, { "4096", 4096 }, { "512K", 512 << 10 }, { "3G", INT64_C(3) << 30 }, { "64GiB", INT64_C(64) << 30 },
		{ "1.5g", INT64_C(3) << 29 }, { "2MB", 2 << 20 }, { "7P", INT64_C(7) << 50 }, { "0.5K", 512 }, { "10B", 10 },
		{ "9223372036854775807", INT64_MAX },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fl_error error = { 0 };
		int64_t bytes = -1;

		if (fl_size_parse(cases[i].text, &bytes, &error) < 0)
			fail_msg("%s: %s", cases[i].text, error.text);
		assert_int_equal(bytes, cases[i].bytes);
	}
}

static void test_bad_sizes_are_sentences_and_leave_the_output_alone(void **state)
{
	static const char *const bad[] = { "", "G", "-1G", "1X", "1GG", "1 G", " 1G", "0x10", "1e3", "1.", ".5G", "1.5.5G",
					   "0.3", "0.0001K", "9223372036854775808", "8192P", "99999999999999999999999G",
					   "+1G", "64G " };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct fl_error error = { 0 };
		int64_t bytes = 77;
		int r = fl_size_parse(bad[i], &bytes, &error);

		if (r == 0)
			fail_msg("\"%s\" was taken as %lld", bad[i], (long long)bytes);
		assert_refused(r, &error, "is not a size", "expected a number with K, M, G", NULL);
		assert_int_equal(bytes, 77);
	}
}

static void test_reasons_are_named(void **state)
{
	struct fl_error e;
	int64_t v;

	assert_refused(fl_size_parse("-1G", &v, &e), &e, "negative", NULL);
	assert_refused(fl_size_parse("8192P", &v, &e), &e, "too large", NULL);
	assert_refused(fl_size_parse("0.3", &v, &e), &e, "no whole number of bytes", NULL);
	assert_refused(fl_duration_parse("5", &v, &e), &e, "unit is missing", NULL);
}

static void test_durations_need_a_unit_but_zero(void **state)
{
	static const struct { const char *text; int64_t ns; } cases[] = {
		{ "0", 0 }, { "5s", INT64_C(5000000000) }, { "100ms", 100000000 }, { "1.5us", 1500 }, { "2min", INT64_C(120000000000) },
		{ "2m", INT64_C(120000000000) }, { "1h", INT64_C(3600000000000) }, { "7ns", 7 },
	};
	struct fl_error error = { 0 };
	int64_t ns;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(fl_duration_parse(cases[i].text, &ns, &error), 0);
		assert_int_equal(ns, cases[i].ns);
	}
	assert_refused(fl_duration_parse("5", &ns, &error), &error, "\"5\"", "ms", NULL);
	assert_refused(fl_duration_parse("0.5ns", &ns, &error), &error, "whole number of nanoseconds", NULL);
	assert_refused(fl_duration_parse("9999999h", &ns, &error), &error, "too large", NULL);
}

static void test_whole_numbers_obey_their_limits(void **state)
{
	struct fl_error error = { 0 };
	int64_t n = 5;

	assert_int_equal(fl_int_parse("-3", -3, 10, &n, &error), 0);
	assert_int_equal(n, -3);
	assert_int_equal(fl_int_parse("10", -3, 10, &n, &error), 0);
	assert_refused(fl_int_parse("11", -3, 10, &n, &error), &error, "\"11\"", "-3 to 10", NULL);
	assert_refused(fl_int_parse("0", 1, INT64_MAX, &n, &error), &error, "from 1 up", NULL);
	assert_refused(fl_int_parse("99999999999999999999", INT64_MIN, INT64_MAX, &n, &error), &error, "too large", NULL);
	assert_refused(fl_int_parse("", 0, 9, &n, &error), &error, "whole number", NULL);
	assert_refused(fl_int_parse("3x", 0, 9, &n, &error), &error, "whole number", NULL);
	assert_refused(fl_int_parse(" 3", 0, 9, &n, &error), &error, "whole number", NULL);
	assert_refused(fl_int_parse("--3", -9, 9, &n, &error), &error, "whole number", NULL);
	assert_int_equal(n, 10);
}

static void test_printed_sizes_and_durations_read_back(void **state)
{
	static const int64_t values[] = { 0, 1, 4097, 512 << 10, 1536 << 20, INT64_C(64) << 30, INT64_MAX, 1500, 250000000,
					  INT64_C(90000000000) };
	char text[32];
	int64_t back;

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		assert_int_equal(fl_size_parse(fl_size_format(values[i], text, sizeof(text)), &back, NULL), 0);
		assert_int_equal(back, values[i]);
		assert_int_equal(fl_duration_parse(fl_duration_format(values[i], text, sizeof(text)), &back, NULL), 0);
		assert_int_equal(back, values[i]);
	}
	assert_string_equal(fl_size_format(INT64_C(64) << 30, text, sizeof(text)), "64G");
	assert_string_equal(fl_size_format(INT64_C(1536) << 20, text, sizeof(text)), "1536M");
	assert_string_equal(fl_duration_format(90000000000, text, sizeof(text)), "90s");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes_are_binary_and_fractions_must_come_out_whole),
		cmocka_unit_test(test_bad_sizes_are_sentences_and_leave_the_output_alone),
		cmocka_unit_test(test_reasons_are_named),
		cmocka_unit_test(test_durations_need_a_unit_but_zero),
		cmocka_unit_test(test_whole_numbers_obey_their_limits),
		cmocka_unit_test(test_printed_sizes_and_durations_read_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
