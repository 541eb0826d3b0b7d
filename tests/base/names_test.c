/* The nearest name: slips of the hand are found, other words are not. */
#include "test.h"

#include "base/names.h"

static const char *const kernels[] = { "6.12", "6.18", "7.3" };
static const char *const patches[] = { "guard-accounting", "merge-accounting", "mobility-claim", "mobility-steal",
				       "mobility-capture", "mthp-score", "no-thp-min-free" };
static const char *const options[] = { "memory", "cpus", "swap", "scale", "seed", "runs", "jobs", "set" };
#define NEAREST(word, names) fl_names_nearest(word, names, sizeof(names) / sizeof((names)[0]))

static void test_distance_counts_edits(void **state)
{
	assert_int_equal(fl_names_distance("", ""), 0);
	assert_int_equal(fl_names_distance("", "abc"), 3);
	assert_int_equal(fl_names_distance("kitten", "sitting"), 3);
	assert_int_equal(fl_names_distance("memroy", "memory"), 1);
	assert_int_equal(fl_names_distance("Memory", "memory"), 0);
	assert_int_equal(fl_names_distance("ca", "abc"), 3);
}

static void test_slips_find_their_name(void **state)
{
	assert_string_equal(NEAREST("mobility-clam", patches), "mobility-claim");
	assert_string_equal(NEAREST("guard-acounting", patches), "guard-accounting");
	assert_string_equal(NEAREST("memroy", options), "memory");
	assert_string_equal(NEAREST("mem", options), "memory");
	assert_string_equal(NEAREST("sede", options), "seed");
	assert_string_equal(NEAREST("7.4", kernels), "7.3");
	assert_string_equal(NEAREST("6.13", kernels), "6.12");
}

static void test_other_words_find_nothing(void **state)
{
	assert_null(NEAREST("frobnicate", options));
	assert_null(NEAREST("xyz", options));
	assert_null(NEAREST("", options));
	assert_null(fl_names_nearest("seed", options, 0));
}

static void test_a_very_long_word_is_no_slip(void **state)
{
	char word[4096];

	memset(word, 'm', sizeof(word) - 1);
	word[sizeof(word) - 1] = '\0';
	assert_null(NEAREST(word, options));
}

static void test_hint_is_a_clause_or_nothing(void **state)
{
	char text[96];

	assert_string_equal(fl_names_hint("memroy", options, 8, text, sizeof(text)), "; did you mean \"memory\"?");
	assert_string_equal(fl_names_hint("frobnicate", options, 8, text, sizeof(text)), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_distance_counts_edits),
		cmocka_unit_test(test_slips_find_their_name),
		cmocka_unit_test(test_other_words_find_nothing),
		cmocka_unit_test(test_a_very_long_word_is_no_slip),
		cmocka_unit_test(test_hint_is_a_clause_or_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
