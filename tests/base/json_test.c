/* JSON: numbers with the fewest digits that read back, the same values the same bytes, members with sentences. */
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/json.h"

static void test_numbers_have_the_fewest_digits_that_read_back(void **state)
{
	static const struct { double value; const char *text; } cases[] = {
		{ 0.0, "0" }, { -0.0, "0" }, { 1.0, "1" }, { -3.0, "-3" }, { 0.1, "0.1" }, { 74.1, "74.1" }, { 1.0 / 3, "0.3333333333333333" },
		{ 9007199254740991.0, "9007199254740991" }, { 1e300, "1e+300" }, { 1.5e-7, "1.5e-07" }, { 0.1 + 0.2, "0.30000000000000004" },
	};
	char text[32];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_string_equal(fl_json_number_text(cases[i].value, text, sizeof(text)), cases[i].text);
		assert_true(strtod(text, NULL) == cases[i].value);
	}
}

static void test_layout_is_flat_inside_and_nested_outside(void **state)
{
	struct fl_text text;
	json_t *j = json_pack("{s:s, s:[o,o], s:{s:i}, s:b, s:n, s:o}", "z", "a\"b\\\n\tc\x01", "v", json_pack("[f,i]", 1.5, 2),
			      json_pack("[n]"), "a", "k", 1, "t", 1, "none", "nan", fl_json_number(NAN));

	fl_text_init(&text);
	fl_json_write(j, &text);
	assert_string_equal(text.data, "{\n  \"z\": \"a\\\"b\\\\\\n\\tc\\u0001\",\n  \"v\": [\n    [1.5, 2],\n    [null]\n  ],\n"
				       "  \"a\": {\"k\": 1},\n  \"t\": true,\n  \"none\": null,\n  \"nan\": null\n}\n");
	fl_text_fini(&text);
	json_decref(j);
}

static void test_members_are_checked_with_sentences(void **state)
{
	json_t *j = json_pack("{s:i, s:s, s:n, s:f}", "n", 3, "s", "x", "null", "r", 1.5);
	struct fl_error e = { 0 };
	const char *text;
	int64_t n;
	double d;
	json_t *a;

	assert_int_equal(fl_json_get_int(j, "doc", "n", &n, &e), 0);
	assert_int_equal(n, 3);
	assert_int_equal(fl_json_get_text(j, "doc", "s", &text, &e), 0);
	assert_int_equal(fl_json_get_real_or_null(j, "doc", "r", &d, &e), 0);
	assert_true(d == 1.5);
	assert_int_equal(fl_json_get_real_or_null(j, "doc", "null", &d, &e), 0);
	assert_true(isnan(d));
	assert_int_equal(fl_json_get_real_or_null(j, "doc", "absent", &d, &e), 0);
	assert_true(isnan(d));
	assert_refused(fl_json_get_int(j, "doc", "s", &n, &e), &e, "doc", "\"s\"", "whole number", NULL);
	assert_refused(fl_json_get_array(j, "metrics[3]", "v", &a, &e), &e, "metrics[3]", "\"v\"", "missing", NULL);
	assert_refused(fl_json_get_object(j, "doc", "n", &a, &e), &e, "object", NULL);
	assert_refused(fl_json_get_real_or_null(j, "doc", "s", &d, &e), &e, "neither a number nor null", NULL);
	json_decref(j);
}

static void test_broken_files_are_named_with_line_and_column(void **state)
{
	char path[] = "json-test-XXXXXX";
	struct fl_error e = { 0 };
	int fd = mkstemp(path);
	json_t *j;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, "{\n  \"a\": ,\n}\n", 13), 13);
	close(fd);
	assert_refused(fl_json_read_file(path, &j, &e), &e, path, ":2:", NULL);
	unlink(path);
	assert_refused(fl_json_read_file(path, &j, &e), &e, path, "No such file", NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers_have_the_fewest_digits_that_read_back),
		cmocka_unit_test(test_layout_is_flat_inside_and_nested_outside),
		cmocka_unit_test(test_members_are_checked_with_sentences),
		cmocka_unit_test(test_broken_files_are_named_with_line_and_column),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
