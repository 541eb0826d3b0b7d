/*
 * tests/sim/cost_test.c - the cost table and the file that overrides it.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sim/cost.h"

static int parse(struct fl_cost *cost, const char *text, struct fl_error *error)
{
	return fl_cost_parse(cost, "my.costs", text, strlen(text), error);
}

static void test_every_entry_says_where_its_value_is_from(void **state)
{
	for (unsigned int i = 0; i < fl_cost_entries_count; i++) {
		const struct fl_cost_entry *entry = &fl_cost_entries[i];
		uint32_t value;

		memcpy(&value, (const char *)&fl_cost_default + entry->offset, sizeof(value));
		assert_int_equal(value, entry->value);
		assert_true(strncmp(entry->source, "measured: ", 10) == 0 || strncmp(entry->source, "design: ", 8) == 0 ||
		            strncmp(entry->source, "published: ", 11) == 0);
		assert_ptr_equal(fl_cost_find(entry->name, strlen(entry->name)), entry);
	}
	assert_null(fl_cost_find("fault_bas", 9));
}

static void test_a_4k_fault_adds_up_to_what_was_measured(void **state)
{
	const struct fl_cost *c = &fl_cost_default;

	assert_int_equal(c->fault_base + c->zero_4k + c->alloc_pcp + c->lru_add + c->rmap, 1330);
}

static void test_a_file_overrides_what_it_names(void **state)
{
	struct fl_cost cost = fl_cost_default;
	struct fl_error error = {0};

	assert_int_equal(parse(&cost, "# mine\n\n zero_4k\t500 # slow memory\r\ncopy_4k 4294967295", &error), 0);
	assert_int_equal(cost.zero_4k, 500);
	assert_int_equal(cost.copy_4k, UINT32_MAX);
	assert_int_equal(cost.fault_base, fl_cost_default.fault_base);
	assert_int_not_equal(fl_cost_hash(&cost, 0), fl_cost_hash(&fl_cost_default, 0));
}

static void test_errors_name_line_and_expectation_and_change_nothing(void **state)
{
	static const struct {
		const char *text, *said;
	} cases[] = {
		{"zero_4k 1\nzero_4 2\n", "my.costs:2: \"zero_4\" is not the name of a cost; did you mean \"zero_4k\"?"},
		{"xyzzy 2\n", "my.costs:1: \"xyzzy\" is not the name of a cost"},
		{"zero_4k\n", "my.costs:1: the cost of zero_4k is \"\", expected nanoseconds from 0 to 4294967295"},
		{"zero_4k -1\n", "my.costs:1: the cost of zero_4k is \"-1\", expected nanoseconds from 0 to 4294967295"},
		{"zero_4k 4294967296\n",
		 "my.costs:1: the cost of zero_4k is \"4294967296\", expected nanoseconds from 0 to 4294967295"},
		{"zero_4k 1.5\n", "my.costs:1: the cost of zero_4k is \"1.5\", expected nanoseconds from 0 to 4294967295"},
		{"zero_4k 1 ns\n", "my.costs:1: \"ns\" after the cost of zero_4k, expected the end of the line"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fl_cost cost = fl_cost_default;
		struct fl_error error = {0};

		assert_int_equal(parse(&cost, cases[i].text, &error), -EINVAL);
		assert_string_equal(error.text, cases[i].said);
		assert_int_equal(error.class, FL_ERROR_INPUT);
		assert_memory_equal(&cost, &fl_cost_default, sizeof(cost));
	}
}

static void test_a_very_long_word_is_cut_in_the_message(void **state)
{
	struct fl_cost cost = fl_cost_default;
	struct fl_error error = {0};
	char text[5000];

	memset(text, 'q', sizeof(text));
	assert_int_equal(fl_cost_parse(&cost, "f", text, sizeof(text), &error), -EINVAL);
	assert_true(strlen(error.text) < 200);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_entry_says_where_its_value_is_from),
		cmocka_unit_test(test_a_4k_fault_adds_up_to_what_was_measured),
		cmocka_unit_test(test_a_file_overrides_what_it_names),
		cmocka_unit_test(test_errors_name_line_and_expectation_and_change_nothing),
		cmocka_unit_test(test_a_very_long_word_is_cut_in_the_message),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
