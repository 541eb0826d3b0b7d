/* Option tables: the command line, scenario options, refusals with the word, what was expected and the nearest name. */
#include "test.h"

#include "base/option.h"

static const char *const backends[] = { "sim", "live", NULL };
static const struct fl_option table[] = {
	{ "kernel", 'k', FL_OPTION_LIST, "SPEC", NULL, "kernel" },
	{ "memory", 'm', FL_OPTION_SIZE, NULL, "2G", "memory", NULL, 1 << 20, INT64_C(1) << 44, 1 << 20 },
	{ "runs", 'n', FL_OPTION_INT, NULL, "1", "runs", NULL, 1, 1000 },
	{ "wait", 0, FL_OPTION_DURATION, NULL, NULL, "time" },
	{ "on", 0, FL_OPTION_CHOICE, "sim|live", "sim", "where", NULL, 0, 0, 0, backends },
	{ "json", 0, FL_OPTION_STRING, "FILE", NULL, "file" },
	{ "quiet", 'q', FL_OPTION_FLAG, NULL, NULL, "quiet" },
	{ "holes", 0, FL_OPTION_BOOL, NULL, "yes", "holes" },
	{ "debug-secret", 0, FL_OPTION_FLAG, .hidden = true, .help = "hidden" },
};
enum { ROWS = sizeof(table) / sizeof(table[0]) };

struct line {
	struct fl_option_set set;
	struct fl_error error;
	char *argv[16];
	int argc, operands, r;
};

/* Parses the words (NULL-terminated) as a command line of "compare". */
static void parse(struct line *line, ...)
{
	va_list ap;
	char *word;

	memset(line, 0, sizeof(*line));
	fl_option_set_init(&line->set, table, ROWS);
	line->argv[line->argc++] = "compare";
	va_start(ap, line);
	while ((word = va_arg(ap, char *)))
		line->argv[line->argc++] = word;
	va_end(ap);
	line->r = fl_option_parse(&line->set, line->argc, line->argv, &line->operands, &line->error);
}

static void test_defaults_hold_without_words(void **state)
{
	struct line l;

	parse(&l, NULL);
	assert_int_equal(l.r, 0);
	assert_int_equal(l.operands, 1);
	assert_int_equal(fl_option_number(&l.set, "memory"), INT64_C(2) << 30);
	assert_int_equal(fl_option_number(&l.set, "runs"), 1);
	assert_string_equal(fl_option_text(&l.set, "on"), "sim");
	assert_null(fl_option_text(&l.set, "json"));
	assert_false(fl_option_is(&l.set, "quiet"));
	assert_true(fl_option_is(&l.set, "holes"));
	assert_false(fl_option_given(&l.set, "memory"));
	fl_option_set_fini(&l.set);
}

static void test_all_forms_of_options_are_read_and_operands_mix(void **state)
{
	struct line l;

	parse(&l, "--kernel", "7.3", "type-pressure", "--kernel=7.3+mobility", "-m64G", "-qn", "4", "--wait=5s", "--on", "live",
	      "--json", "-", "--", "--more", NULL);
	assert_int_equal(l.r, 0);
	assert_int_equal(fl_option_value(&l.set, "kernel")->list_count, 2);
	assert_string_equal(fl_option_value(&l.set, "kernel")->list[0], "7.3");
	assert_string_equal(fl_option_value(&l.set, "kernel")->list[1], "7.3+mobility");
	assert_int_equal(fl_option_number(&l.set, "memory"), INT64_C(64) << 30);
	assert_true(fl_option_given(&l.set, "memory"));
	assert_true(fl_option_is(&l.set, "quiet"));
	assert_int_equal(fl_option_number(&l.set, "runs"), 4);
	assert_int_equal(fl_option_number(&l.set, "wait"), INT64_C(5000000000));
	assert_string_equal(fl_option_text(&l.set, "on"), "live");
	assert_string_equal(fl_option_text(&l.set, "json"), "-");
	assert_int_equal(l.argc - l.operands, 2);
	assert_string_equal(l.argv[l.operands], "type-pressure");
	assert_string_equal(l.argv[l.operands + 1], "--more");
	fl_option_set_fini(&l.set);
}

#define REFUSED(...) do { \
	struct line l; \
	parse(&l, LINE, NULL); \
	assert_refused(l.r, &l.error, __VA_ARGS__, NULL); \
	fl_option_set_fini(&l.set); \
} while (0)

static void test_unknown_options_are_named_with_the_nearest(void **state)
{
#define LINE "x", "--memroy", "64G"
	REFUSED("--memroy", "compare", "did you mean \"--memory\"");
#undef LINE
#define LINE "--memroy=64G"
	REFUSED("\"--memroy\"", "did you mean \"--memory\"");
#undef LINE
#define LINE "--frobnicate"
	REFUSED("--frobnicate", "compare");
#undef LINE
#define LINE "-qz", "y"
	REFUSED("\"-z\"", "compare --help");
#undef LINE
}

static void test_abbreviations_are_refused_but_hinted(void **state)
{
#define LINE "--mem", "64G"
	REFUSED("\"--mem\"", "did you mean \"--memory\"");
#undef LINE
#define LINE "--mem=64G"
	REFUSED("\"--mem\"", "did you mean \"--memory\"");
#undef LINE
#define LINE "--qui"
	REFUSED("\"--qui\"", "did you mean \"--quiet\"");
#undef LINE
}

static void test_hidden_options_are_not_hinted(void **state)
{
	struct line l;

	parse(&l, "--debug-secre", NULL);
	assert_true(l.r < 0);
	assert_null(strstr(l.error.text, "did you mean"));
	fl_option_set_fini(&l.set);
}

static void test_missing_and_superfluous_values_are_named(void **state)
{
#define LINE "--memory"
	REFUSED("--memory", "needs a value", "SIZE");
#undef LINE
#define LINE "-m"
	REFUSED("--memory", "needs a value");
#undef LINE
#define LINE "--quiet=yes"
	REFUSED("--quiet", "takes no value");
#undef LINE
}

static void test_bad_values_name_option_word_and_what_was_expected(void **state)
{
#define LINE "--memory", "0"
	REFUSED("--memory", "\"0\"", "1M to 16T");
#undef LINE
#define LINE "--memory", "1000000000"
	REFUSED("--memory", "multiple of 1M");
#undef LINE
#define LINE "--memory=junk"
	REFUSED("--memory", "\"junk\"", "64G");
#undef LINE
#define LINE "--memory", "-1G"
	REFUSED("--memory", "negative");
#undef LINE
#define LINE "--memory", "999999999999P"
	REFUSED("--memory", "too large");
#undef LINE
#define LINE "--runs", "0"
	REFUSED("--runs", "\"0\"", "1 to 1000");
#undef LINE
#define LINE "--on", "sum"
	REFUSED("--on", "\"sum\"", "sim or live", "did you mean \"sim\"");
#undef LINE
}

static void test_assignments_read_the_same_table(void **state)
{
	struct fl_option_set set;
	struct fl_error e = { 0 };
	const char *what = "option of scenario fault-storm";

	fl_option_set_init(&set, table, ROWS);
	assert_int_equal(fl_option_assign(&set, what, "memory=3G", &e), 0);
	assert_int_equal(fl_option_number(&set, "memory"), INT64_C(3) << 30);
	assert_int_equal(fl_option_assign(&set, what, "holes=off", &e), 0);
	assert_false(fl_option_is(&set, "holes"));
	assert_int_equal(fl_option_assign(&set, what, "json=a=b", &e), 0);
	assert_string_equal(fl_option_text(&set, "json"), "a=b");
	assert_refused(fl_option_assign(&set, what, "memry=3G", &e), &e, "\"memry\" is no option of scenario fault-storm",
		       "did you mean \"memory\"", NULL);
	assert_refused(fl_option_assign(&set, what, "runs", &e), &e, "\"runs\"", "key=value", NULL);
	assert_refused(fl_option_assign(&set, what, "=3", &e), &e, "key=value", NULL);
	fl_option_set_fini(&set);
	fl_option_set_init(&set, table, ROWS);
	assert_refused(fl_option_assign(&set, what, "holes=perhaps", &e), &e, "holes: \"perhaps\"", "yes nor no", NULL);
	fl_option_set_fini(&set);
}

static void test_an_option_is_assigned_once(void **state)
{
	struct fl_option_set set;
	struct fl_error e = { 0 };

	fl_option_set_init(&set, table, ROWS);
	assert_int_equal(fl_option_assign(&set, "option", "memory=3G", &e), 0);
	assert_refused(fl_option_assign(&set, "option", "memory=4G", &e), &e, "\"memory\"", "twice", NULL);
	assert_int_equal(fl_option_number(&set, "memory"), INT64_C(3) << 30);
	fl_option_set_fini(&set);
}

static void test_tables_from_files_are_checked(void **state)
{
	static const struct fl_option bad_default[] = { { "rounds", 0, FL_OPTION_INT, NULL, "many", "rounds" } };
	static const struct fl_option twice[] = { { "a", 0, FL_OPTION_INT }, { "a", 0, FL_OPTION_SIZE } };
	struct fl_error e = { 0 };

	assert_int_equal(fl_option_table_check(table, ROWS, &e), 0);
	assert_refused(fl_option_table_check(bad_default, 1, &e), &e, "rounds", "\"many\"", NULL);
	assert_refused(fl_option_table_check(twice, 2, &e), &e, "\"a\"", "twice", NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults_hold_without_words),
		cmocka_unit_test(test_all_forms_of_options_are_read_and_operands_mix),
		cmocka_unit_test(test_unknown_options_are_named_with_the_nearest),
		cmocka_unit_test(test_abbreviations_are_refused_but_hinted),
		cmocka_unit_test(test_hidden_options_are_not_hinted),
		cmocka_unit_test(test_missing_and_superfluous_values_are_named),
		cmocka_unit_test(test_bad_values_name_option_word_and_what_was_expected),
		cmocka_unit_test(test_assignments_read_the_same_table),
		cmocka_unit_test(test_an_option_is_assigned_once),
		cmocka_unit_test(test_tables_from_files_are_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
