/* The result document: what stands in it, that it comes back, that nonsense is refused; tables at 80 columns. */
#include "../base/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../golden.h"
#include "base/json.h"
#include "report/result_json.h"
#include "report/table.h"
#include "sample.h"

static char document[] = "result-test-XXXXXX";

static void put_document(const char *text, size_t length)
{
	FILE *file = fopen(document, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, length, file), length);
	fclose(file);
}

static int set_up(void **state)
{
	int fd = mkstemp(document);

	return fd < 0 ? -1 : close(fd);
}

static int tear_down(void **state)
{
	return unlink(document);
}

static void write_sample(struct fl_text *text, size_t kernels, size_t runs)
{
	struct fl_result r;

	fl_text_init(text);
	sample_make(&r, kernels, runs);
	fl_result_write_json(&r, text);
	fl_result_fini(&r);
}

static void test_document_is_the_golden_one(void **state)
{
	struct fl_text text;

	write_sample(&text, 2, 4);
	assert_int_equal(golden_compare("report/golden/compare.json", text.data), 0);
	fl_text_fini(&text);
}

static void test_same_result_same_bytes(void **state)
{
	struct fl_text a, b;

	write_sample(&a, 3, 4);
	write_sample(&b, 3, 4);
	assert_string_equal(a.data, b.data);
	fl_text_fini(&a);
	fl_text_fini(&b);
}

static void test_document_comes_back_and_prints_the_same(void **state)
{
	for (size_t kernels = 1; kernels <= 3; kernels++) {
		for (size_t runs = 1; runs <= 4; runs += 3) {
			struct fl_error error = { 0 };
			struct fl_text a, b;
			struct fl_result r;

			write_sample(&a, kernels, runs);
			put_document(a.data, a.length);
			if (fl_result_read_json(document, &r, &error) < 0)
				fail_msg("%s", error.text);
			fl_text_init(&b);
			fl_result_write_json(&r, &b);
			assert_string_equal(a.data, b.data);
			fl_result_fini(&r);
			fl_text_fini(&a);
			fl_text_fini(&b);
		}
	}
}

static void test_one_run_has_null_for_spread_interval_and_p(void **state)
{
	struct fl_text text;
	json_t *root, *c;

	write_sample(&text, 2, 1);
	root = json_loads(text.data, 0, NULL);
	c = json_array_get(json_object_get(root, "comparisons"), 0);
	assert_true(json_is_number(json_object_get(c, "diff")));
	assert_true(json_is_null(json_object_get(c, "sd_a")));
	assert_true(json_is_null(json_object_get(c, "ci95")));
	assert_true(json_is_null(json_object_get(c, "p")));
	assert_true(json_is_null(json_object_get(c, "verdict")));
	json_decref(root);
	fl_text_fini(&text);
}

static void test_missing_runs_are_null_in_values_and_hashes(void **state)
{
	static const char *const kernels[] = { "7.3" };
	struct fl_record record;
	struct fl_result r;
	struct fl_text text;

	fl_record_init(&record);
	fl_record_add(&record, "pgfault", "end", 5);
	record.state_hash = 1;
	fl_result_init(&r);
	fl_result_shape(&r, kernels, 1, 2);
	r.scenario = fl_xstrdup("fault-storm");
	r.backend = fl_xstrdup("sim");
	fl_result_take(&r, 0, 1, &record);
	fl_text_init(&text);
	fl_result_write_json(&r, &text);
	assert_non_null(strstr(text.data, "[null, 5]"));
	assert_non_null(strstr(text.data, "[null, \"0000000000000001\"]"));
	assert_non_null(strstr(text.data, "\"n_valid\": [1]"));
	fl_text_fini(&text);
	fl_result_fini(&r);
	fl_record_fini(&record);
}

static void test_every_truncation_is_refused(void **state)
{
	struct fl_error error = { 0 };
	struct fl_text text;
	struct fl_result r;

	write_sample(&text, 2, 1);
	for (size_t length = 0; length + 2 < text.length; length += 37) {
		put_document(text.data, length);
		assert_refused(fl_result_read_json(document, &r, &error), &error, document, NULL);
	}
	fl_text_fini(&text);
}

/* Replaces the first `from` of a sound document by `to` and expects a sentence with the words. */
static void refuse_change(const char *from, const char *to, const char *word)
{
	struct fl_error error = { 0 };
	struct fl_text text, changed;
	struct fl_result r;
	char *at;

	write_sample(&text, 2, 4);
	at = strstr(text.data, from);
	assert_non_null(at);
	fl_text_init(&changed);
	fl_text_add_bytes(&changed, text.data, (size_t)(at - text.data));
	fl_text_add(&changed, "%s%s", to, at + strlen(from));
	put_document(changed.data, changed.length);
	assert_refused(fl_result_read_json(document, &r, &error), &error, document, word, NULL);
	fl_text_fini(&text);
	fl_text_fini(&changed);
}

static void test_wrong_documents_are_refused_with_the_member(void **state)
{
	refuse_change("fraglab.result.v1", "fraglab.result.v2", "fraglab.result.v2");
	refuse_change("\"scenario\"", "\"scenery\"", "scenario");
	refuse_change("\"runs\": 4", "\"runs\": 5", "metrics[0]");
	refuse_change("\"runs\": 4", "\"runs\": 0", "runs");
	refuse_change("\"runs\": 4", "\"runs\": 99999999999", "runs");
	refuse_change("[\"7.3\", \"7.3+mobility\"]", "[]", "kernels");
	refuse_change("[\"7.3\", \"7.3+mobility\"]", "[\"7.3\", 4]", "kernels");
	refuse_change("\"higher\"", "\"upper\"", "upper");
	refuse_change("[42, 25", "[42, \"x\"", "values");
	refuse_change("\"a\": \"7.3\"", "\"a\": \"6.12\"", "comparisons[0]");
	refuse_change("\"run\": 1", "\"run\": 4", "notes[0]");
	refuse_change("fedcba9876543210", "hello", "state_hash");
}

typedef void (*printer)(const struct fl_result *r, struct fl_text *to);

static void print_table(const struct fl_result *r, struct fl_text *to)
{
	fl_report_table(r, false, to);
}

static void print_all(const struct fl_result *r, struct fl_text *to)
{
	fl_report_table(r, true, to);
}

static void print_work(const struct fl_result *r, struct fl_text *to)
{
	fl_report_table(r, FL_REPORT_STATS | FL_REPORT_WORK, to);
}

static void check_golden(const char *name, size_t kernels, size_t runs, printer print)
{
	struct fl_text text;
	struct fl_result r;

	sample_make(&r, kernels, runs);
	fl_text_init(&text);
	print(&r, &text);
	assert_int_equal(golden_compare(name, text.data), 0);
	if (!strstr(name, "csv") && golden_wide_line(text.data, 80))
		fail_msg("past 80 columns: %.100s", golden_wide_line(text.data, 80));
	fl_text_fini(&text);
	fl_result_fini(&r);
}

static void test_tables_are_the_golden_ones_and_fit_80_columns(void **state)
{
	check_golden("report/golden/run.txt", 1, 1, print_table);
	check_golden("report/golden/runs.txt", 1, 4, print_table);
	check_golden("report/golden/compare.txt", 2, 4, print_table);
	check_golden("report/golden/compare-one-run.txt", 2, 1, print_table);
	check_golden("report/golden/compare-three.txt", 3, 4, print_table);
	check_golden("report/golden/compare-counters.txt", 2, 4, print_all);
	check_golden("report/golden/compare.csv", 2, 4, fl_report_csv);
	check_golden("report/golden/compare.mail.txt", 2, 4, fl_report_mail);
	check_golden("report/golden/compare-three.mail.txt", 3, 4, fl_report_mail);
	check_golden("report/golden/runs.mail.txt", 1, 4, fl_report_mail);
}

/* A result with work, and with the metrics of thpchallenge. */
static void print_challenge(const struct fl_result *sample, struct fl_text *to, printer print)
{
	static const struct {
		const char *name, *phase;
		double factor;
	} more[] = {
		{ "work_migrate_scanned_direct_slowpath", "all", 1 }, { "work_migrate_scanned_kcompactd_kswapd_sleep", "all", 2000 },
		{ "work_migrate_scanned_kcompactd_timer", "all", 0 }, { "extfrag_unmovable_movable_o3_claim", "all", 0.25 },
		{ "extfrag_unmovable_movable_o10_claim", "all", 3 }, { "extfrag_unmovable_movable_o0_steal", "all", 0 },
		{ "faults_huge_pct", "t3", 1 }, { "fault_huge_us", "t3", 30 }, { "fault_base_us", "t3", 10 },
		{ "fault_latency_us", "t3", 20 }, { "compact_stall", "all", 40 }, { "compact_success", "all", 10 },
		{ "pgmigrate_success", "all", 1000 }, { "compact_migrate_scanned", "all", 100000 },
		{ "compact_free_scanned", "all", 200000 },
	};
	struct fl_result *r = (struct fl_result *)(uintptr_t)sample;

	for (size_t i = 0; i < sizeof(more) / sizeof(*more); i++) {
		struct fl_metric *m = fl_result_add_metric(r, more[i].name, more[i].phase);

		for (size_t v = 0; v < r->kernels_count * r->runs; v++)
			m->values[v] = more[i].factor * (double)(v * v % 23 + v);
	}
	fl_stats_add_totals(r);
	fl_stats_compare_result(r);
	print(r, to);
}

static void print_challenge_work(const struct fl_result *r, struct fl_text *to)
{
	print_challenge(r, to, print_work);
}

static void print_challenge_mmtests(const struct fl_result *r, struct fl_text *to)
{
	print_challenge(r, to, fl_report_mmtests);
}

static void test_tables_of_work_and_of_mmtests_are_the_golden_ones(void **state)
{
	check_golden("report/golden/work.txt", 2, 4, print_challenge_work);
	check_golden("report/golden/work-one.txt", 1, 4, print_challenge_work);
	check_golden("report/golden/mmtests.txt", 2, 4, print_challenge_mmtests);
}

/* 1000 migrated pages of 2 * 519, 100000 and 200000 scanned of 7 units: the free scanner costs too. */
static void test_cost_of_compaction_has_the_free_scanner(void **state)
{
	struct fl_text text;
	struct fl_result r;
	static const struct { const char *name; double value; } counters[] = {
		{ "compact_stall", 1 }, { "pgmigrate_success", 1000 }, { "compact_migrate_scanned", 100000 },
		{ "compact_free_scanned", 200000 }, { "compact_isolated", 2000 }, { "pgmigrate_fail", 100 } };

	sample_make(&r, 1, 1);
	for (size_t i = 0; i < 6; i++)
		fl_result_add_metric(&r, counters[i].name, "all")->values[0] = counters[i].value;
	fl_text_init(&text);
	fl_report_mmtests(&r, &text);
	/* 1038000 + 1400 + 38000 + 2100000 */
	assert_non_null(strstr(text.data, "Compaction cost                                 3.18\n"));
	fl_text_fini(&text);
	fl_result_fini(&r);
}

static void test_numbers_for_people_have_four_digits_or_are_whole(void **state)
{
	static const struct { double value; const char *text; } cases[] = {
		{ 0, "0" }, { -0.0, "0" }, { 42.125, "42.12" }, { 1234.5, "1234" }, { 1234567, "1234567" }, { 98765432.0, "9.877e+07" },
		{ 0.00123456, "0.001235" }, { -3, "-3" }, { NAN, "-" },
	};
	char text[32];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string_equal(fl_report_number(cases[i].value, text, sizeof(text)), cases[i].text);
}

static void test_columns_are_aligned_and_the_last_one_wraps(void **state)
{
	struct fl_text text;

	fl_text_init(&text);
	fl_report_columns("a\tb\tword word word word word word word word word word word word word word word word word word\n"
			  "longer\tx\tshort\n", &text);
	assert_string_equal(text.data, "a       b  word word word word word word word word word word word word word word\n"
				       "           word word word word\n"
				       "longer  x  short\n");
	fl_text_fini(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_document_is_the_golden_one),
		cmocka_unit_test(test_same_result_same_bytes),
		cmocka_unit_test(test_document_comes_back_and_prints_the_same),
		cmocka_unit_test(test_one_run_has_null_for_spread_interval_and_p),
		cmocka_unit_test(test_missing_runs_are_null_in_values_and_hashes),
		cmocka_unit_test(test_every_truncation_is_refused),
		cmocka_unit_test(test_wrong_documents_are_refused_with_the_member),
		cmocka_unit_test(test_tables_are_the_golden_ones_and_fit_80_columns),
		cmocka_unit_test(test_tables_of_work_and_of_mmtests_are_the_golden_ones),
		cmocka_unit_test(test_cost_of_compaction_has_the_free_scanner),
		cmocka_unit_test(test_numbers_for_people_have_four_digits_or_are_whole),
		cmocka_unit_test(test_columns_are_aligned_and_the_last_one_wraps),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
