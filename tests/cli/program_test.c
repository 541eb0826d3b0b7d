/*
 * The contract of the command line, checked on the whole program with a fake model (fake_model.c): exit status, what
 * goes to which stream, sentences, stored results. The program is FL_FRAGLAB.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "shell.h"

#define PAIR " --kernel 7.3 --kernel 7.3+mobility "

static void test_wrong_usage_is_status_2_with_the_nearest_name(void **state)
{
	expect_error(2, "fraglab", "a command is missing", NULL);
	expect_error(2, "fraglab comprae x", "\"comprae\"", "did you mean \"compare\"?", NULL);
	expect_error(2, "fraglab frobnicate", "\"frobnicate\"", "--help", NULL);
	expect_error(2, "fraglab run", "SCENARIO", NULL);
	expect_error(2, "fraglab run steady extra", "\"extra\"", "one word too many", NULL);
	expect_error(2, "fraglab run stedy", "\"stedy\"", "did you mean \"steady\"?", NULL);
	expect_error(2, "fraglab run steady --kernal 7.3", "\"--kernal\"", "did you mean \"--kernel\"?", NULL);
	expect_error(2, "fraglab run steady --kernel 7.4", "\"7.4\"", "did you mean \"7.3\"?", NULL);
	expect_error(2, "fraglab run steady --kernel 7.3 --kernel 6.12", "compare", NULL);
	expect_error(2, "fraglab run steady --memory 0", "--memory", "\"0\"", NULL);
	expect_error(2, "fraglab run steady --memory 64M", "too little memory", NULL);
	expect_error(2, "fraglab run steady --memory huge", "\"huge\"", "64G", NULL);
	expect_error(2, "fraglab run steady --cpus 0", "--cpus", "1 to", NULL);
	expect_error(2, "fraglab run steady --runs 0", "--runs", "\"0\"", NULL);
	expect_error(2, "fraglab run steady --runs auto=", "--runs", "auto=PCT", NULL);
	expect_error(2, "fraglab run steady --runs auto=x", "--runs", "auto=PCT", NULL);
	expect_error(2, "fraglab run steady --set round=3", "--set", "\"round\"", "did you mean \"rounds\"?", NULL);
	expect_error(2, "fraglab run steady --set rounds=0", "rounds", "\"0\"", "1 to 100", NULL);
	expect_error(2, "fraglab run steady --set rounds", "key=value", NULL);
	expect_error(2, "fraglab run steady --on qemu", "\"qemu\"", "sim or live", NULL);
	expect_error(2, "fraglab compare steady --kernel 7.3", "two kernels", NULL);
	expect_error(2, "fraglab compare steady --kernel 7.3 --kernel 7.3", "twice", NULL);
	expect_error(2, "fraglab list", "kernels|patches", NULL);
	expect_error(2, "fraglab list kernel", "\"kernel\"", "did you mean \"kernels\"?", NULL);
	expect_error(2, "fraglab list patches --facts", "--facts", NULL);
	expect_error(2, "fraglab show no-such-file.json", "no-such-file.json", "No such file", NULL);
	expect_error(2, "fraglab bench falt_4k", "\"falt_4k\"", "did you mean \"fault_4k\"?", NULL);
	expect_error(2, "fraglab run steady --runs 2 --trace t", "--trace", "one run", NULL);
}

static void test_help_fits_80_columns_and_goes_to_standard_output(void **state)
{
	static const char *const lines[] = { "fraglab --help", "fraglab help", "fraglab run --help", "fraglab compare -h",
					     "fraglab list --help", "fraglab show --help", "fraglab bench --help",
					     "fraglab help run", "fraglab run --bad --help --help" };

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]) - 1; i++) {
		struct done d = shell(lines[i]);
		char *examples = strstr(d.out, "\nExamples:");

		assert_int_equal(d.status, 0);
		assert_string_equal(d.err, "");
		assert_non_null(strstr(d.out, "usage: fraglab"));
		if (examples)
			*examples = '\0'; /* a line to type is not broken */
		if (golden_wide_line(d.out, 80))
			fail_msg("%s: past 80 columns: %.100s", lines[i], golden_wide_line(d.out, 80));
		release(&d);
	}
}

static void test_help_behind_a_scenario_lists_its_options(void **state)
{
	struct done d = shell("fraglab run steady --help");

	assert_int_equal(d.status, 0);
	assert_non_null(strstr(d.out, "Scenario steady"));
	assert_non_null(strstr(d.out, "  rounds=N              rounds of the test [8]\n"));
	assert_non_null(strstr(d.out, "  files=WORD            where files lie: tmpfs, ext4 [tmpfs]\n"));
	release(&d);
}

static void test_every_option_is_in_help_manual_and_completion(void **state)
{
	static const char *const words[] = { "memory", "cpus", "swap", "scale", "seed", "runs", "jobs", "set", "tunable", "on",
					     "json", "quiet", "kernel", "machine" };
	struct done help = shell("fraglab compare --help"), man = shell("fraglab manual");
	struct done completion = shell("fraglab completion | tee completion.tmp; bash -n completion.tmp; rm completion.tmp");

	assert_int_equal(completion.status, 0);
	assert_string_equal(completion.err, "");
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		char dashed[32], roff[40];

		snprintf(dashed, sizeof(dashed), "--%s", words[i]);
		snprintf(roff, sizeof(roff), "\\-\\-%s", words[i]);
		assert_non_null(strstr(help.out, dashed));
		assert_non_null(strstr(completion.out, dashed));
		assert_non_null(strstr(man.out, roff));
	}
	release(&help);
	release(&man);
	release(&completion);
}

static void test_json_on_standard_output_is_alone_there(void **state)
{
	json_t *root = expect_json(0, "fraglab compare steady" PAIR "--json -"), *c;

	assert_string_equal(json_string_value(json_object_get(root, "schema")), "fraglab.result.v1");
	assert_string_equal(json_string_value(json_object_get(root, "scenario")), "steady");
	assert_int_equal(json_integer_value(json_object_get(root, "runs")), 4);
	assert_int_equal(json_integer_value(json_object_get(json_object_get(root, "options"), "rounds")), 8);
	assert_int_equal(json_array_size(json_object_get(root, "state_hash")), 2);
	c = json_array_get(json_object_get(root, "comparisons"), 0);
	assert_string_equal(json_string_value(json_object_get(c, "verdict")), "better");
	assert_true(json_number_value(json_object_get(c, "diff")) == 30);
	json_decref(root);
	root = expect_json(0, "fraglab bench --json -");
	assert_string_equal(json_string_value(json_object_get(root, "schema")), "fraglab.bench.v1");
	c = json_array_get(json_object_get(root, "results"), 0);
	assert_string_equal(json_string_value(json_object_get(c, "name")), "alloc_free_order0_hot");
	assert_true(json_number_value(json_object_get(c, "ns")) == 12.5);
	json_decref(root);
}

static void test_same_inputs_same_bytes_with_any_number_of_jobs(void **state)
{
	json_t *a = expect_json(0, "fraglab compare steady" PAIR "--runs 7 --json - --jobs 1");
	json_t *b = expect_json(0, "fraglab compare steady" PAIR "--runs 7 --json - --jobs 5");

	json_object_del(a, "provenance");
	json_object_del(b, "provenance");
	assert_true(json_equal(a, b));
	json_decref(a);
	json_decref(b);
}

static void test_stored_result_prints_as_it_did(void **state)
{
	struct done a = shell("fraglab compare steady" PAIR "--json stored.tmp"), b = shell("fraglab show stored.tmp");
	struct done csv = shell("fraglab show stored.tmp --csv"), mail = shell("fraglab show - --format mail <stored.tmp");

	assert_int_equal(a.status, 0);
	assert_int_equal(b.status, 0);
	assert_string_equal(a.out, b.out);
	assert_non_null(strstr(a.out, "published"));
	assert_int_equal(strncmp(csv.out, "scenario,metric,", 16), 0);
	assert_non_null(strstr(mail.out, "To run it again:\n  fraglab compare --kernel 7.3"));
	release(&a);
	release(&b);
	release(&csv);
	release(&mail);
	unlink("stored.tmp");
}

static void test_formats_print_what_show_prints_of_the_stored_result(void **state)
{
	static const char *const formats[] = { "table", "csv", "mail", "mmtests" };

	(void)state;
	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++) {
		char line[128];
		struct done a, b;

		snprintf(line, sizeof(line), "fraglab compare steady" PAIR "--json format.tmp --format %s", formats[i]);
		a = shell(line);
		snprintf(line, sizeof(line), "fraglab show format.tmp --format %s", formats[i]);
		b = shell(line);
		assert_int_equal(a.status, 0);
		assert_true(a.out[0] != 0);
		if (!strcmp(formats[i], "mail")) /* names the command that was typed, which differs by the format */
			assert_non_null(strstr(a.out, "To run it again:"));
		assert_string_equal(a.out, b.out);
		release(&a);
		release(&b);
	}
	unlink("format.tmp");
	expect_error(2, "fraglab compare steady" PAIR "--map --format csv", "--map", "--format csv", NULL);
}

static void test_a_crash_loses_one_run_and_names_seed_and_command(void **state)
{
	struct done d = shell("fraglab compare crash" PAIR "--memory 64G --set rounds=2 --json crash.tmp");
	json_t *root;

	assert_int_equal(d.status, 1);
	assert_non_null(strstr(d.err, "7.3+mobility with seed 3 was ended by signal 6"));
	assert_non_null(strstr(d.err, "fraglab run crash --kernel 7.3+mobility --memory 64G --set rounds=2 --seed 3"));
	assert_non_null(strstr(d.err, "lists agree"));
	assert_non_null(strstr(d.out, "run missing: 7.3+mobility, seed 3"));
	root = json_load_file("crash.tmp", 0, NULL);
	assert_non_null(root);
	assert_true(json_is_null(json_array_get(json_array_get(json_object_get(root, "state_hash"), 1), 2)));
	assert_true(json_is_string(json_array_get(json_array_get(json_object_get(root, "state_hash"), 0), 2)));
	json_decref(root);
	unlink("crash.tmp");
	release(&d);
}

static void test_other_failures_of_runs_keep_the_rest(void **state)
{
	struct done d = shell("fraglab run killed --runs 3 -q");

	assert_int_equal(d.status, 1);
	assert_non_null(strstr(d.err, "seed 2 was ended by signal 9"));
	assert_non_null(strstr(d.out, "n 2 of 3"));
	release(&d);
	d = shell("fraglab run fails --runs 3 -q");
	assert_int_equal(d.status, 1);
	assert_non_null(strstr(d.err, "seed 2 failed: the disk broke"));
	release(&d);
	expect_error(2, "fraglab run refuses --runs 3 --json refused.tmp", "refuses.lua:3: the load is larger", NULL);
	assert_int_equal(access("refused.tmp", F_OK), -1);
	expect_error(1, "fraglab run quits", "sent no record", NULL);
}

static void test_a_load_that_dies_is_a_result(void **state)
{
	struct done d = shell("fraglab run dies --runs 3 -q");

	assert_int_equal(d.status, 0);
	assert_non_null(strstr(d.out, "load died: 7.3, seed 2: r5: swap exhausted"));
	assert_non_null(strstr(d.out, "n 2 of 3"));
	release(&d);
}

static void test_ctrl_c_stores_what_had_finished(void **state)
{
	/* the program alone gets the signal; a shell without job control starts it with SIGINT ignored */
	struct done d = shell("\"$FL_FRAGLAB\" compare slow" PAIR "--jobs 2 --json interrupted.tmp & sleep 1; kill -INT $!; wait $!");
	json_t *root = json_load_file("interrupted.tmp", 0, NULL);

	assert_int_equal(d.status, 130);
	assert_non_null(strstr(d.err, "interrupted: 4 of 8 runs had finished"));
	assert_non_null(strstr(d.out, "interrupted: only the runs that had finished are here"));
	assert_non_null(root);
	assert_true(json_is_true(json_object_get(root, "interrupted")));
	assert_true(json_is_string(json_array_get(json_array_get(json_object_get(root, "state_hash"), 0), 1)));
	assert_true(json_is_null(json_array_get(json_array_get(json_object_get(root, "state_hash"), 0), 2)));
	json_decref(root);
	unlink("interrupted.tmp");
	release(&d);
}

static void test_outputs_that_cannot_be_written(void **state)
{
	struct done d;

	expect_error(2, "fraglab run steady --json no-such-folder/x.json", "--json", "no-such-folder/x.json", NULL);
	expect_error(2, "fraglab run steady --trace no-such-folder/x", "--trace", NULL);
	if (access("/dev/full", W_OK) < 0)
		skip();
	d = shell("fraglab run steady --json /dev/full");
	assert_int_equal(d.status, 1);
	assert_non_null(strstr(d.err, "/dev/full"));
	assert_non_null(strstr(d.err, "No space left"));
	assert_non_null(strstr(d.out, "thp_success_pct")); /* the person still sees the result */
	release(&d);
	expect_error(1, "fraglab run steady >/dev/full", "standard output", "No space left", NULL);
	expect_error(1, "fraglab run steady --json - >/dev/full", "standard output", NULL);
	expect_error(1, "fraglab --help >/dev/full", "standard output", NULL);
	expect_error(1, "fraglab list scenarios >/dev/full", "standard output", NULL);
	/* the stored file must not take the number of the closed stream: the table would go into it */
	expect_error(1, "fraglab run steady --json closed.tmp >&-", "standard output", NULL);
	json_decref(expect_json(0, "cat closed.tmp; rm closed.tmp"));
	expect_error(1, "fraglab run steady --trace /dev/full -q --json ok.tmp", "/dev/full", NULL);
	unlink("ok.tmp");
	expect_error(1, "{ sleep 0.2; fraglab run steady; echo $? >status.tmp; } | true; sleep 0.5; exit $(cat status.tmp)",
		     "standard output", "Broken pipe", NULL);
	unlink("status.tmp");
}

static void test_trace_goes_to_its_file(void **state)
{
	struct done d = shell("fraglab run steady --trace trace.tmp -q && cat trace.tmp; rm trace.tmp; fraglab run steady --trace - -q");

	assert_int_equal(d.status, 0);
	assert_non_null(strstr(d.out, "# tracer: nop"));
	release(&d);
	d = shell("fraglab run steady --trace - -q");
	assert_string_equal(d.out, "# tracer: nop\n");
	release(&d);
}

static void test_auto_adds_runs_until_the_interval_is_narrow(void **state)
{
	json_t *wide = expect_json(0, "fraglab run steady --runs auto=50 --json - -q");
	json_t *narrow = expect_json(0, "fraglab run steady --runs auto=1 --json - -q");

	assert_int_equal(json_integer_value(json_object_get(wide, "runs")), 4);
	assert_true(json_integer_value(json_object_get(narrow, "runs")) > 4);
	assert_true(json_integer_value(json_object_get(narrow, "runs")) < 128);
	json_decref(wide);
	json_decref(narrow);
}

static void test_maps_are_drawn_for_each_kernel(void **state)
{
	struct done d = shell("fraglab compare steady" PAIR "--map --png map.tmp && head -c 4 map.tmp | tail -c 3 && rm map.tmp");

	assert_int_equal(d.status, 0);
	assert_non_null(strstr(d.out, "Pageblocks at the end of seed 1"));
	assert_non_null(strstr(d.out, "polluted"));
	assert_non_null(strstr(d.out, "PNG"));
	if (golden_wide_line(d.out, 80))
		fail_msg("past 80 columns: %.100s", golden_wide_line(d.out, 80));
	release(&d);
	d = shell("fraglab run steady --map -q");
	assert_non_null(strstr(d.out, "Normal: 128 pageblocks"));
	release(&d);
	expect_error(2, "fraglab run steady --png no-such-folder/x.png", "--png", NULL);
	expect_error(2, "fraglab run steady --png - --json -", "--png", "standard output", NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wrong_usage_is_status_2_with_the_nearest_name),
		cmocka_unit_test(test_help_fits_80_columns_and_goes_to_standard_output),
		cmocka_unit_test(test_help_behind_a_scenario_lists_its_options),
		cmocka_unit_test(test_every_option_is_in_help_manual_and_completion),
		cmocka_unit_test(test_json_on_standard_output_is_alone_there),
		cmocka_unit_test(test_same_inputs_same_bytes_with_any_number_of_jobs),
		cmocka_unit_test(test_stored_result_prints_as_it_did),
		cmocka_unit_test(test_formats_print_what_show_prints_of_the_stored_result),
		cmocka_unit_test(test_a_crash_loses_one_run_and_names_seed_and_command),
		cmocka_unit_test(test_other_failures_of_runs_keep_the_rest),
		cmocka_unit_test(test_a_load_that_dies_is_a_result),
		cmocka_unit_test(test_ctrl_c_stores_what_had_finished),
		cmocka_unit_test(test_outputs_that_cannot_be_written),
		cmocka_unit_test(test_trace_goes_to_its_file),
		cmocka_unit_test(test_maps_are_drawn_for_each_kernel),
		cmocka_unit_test(test_auto_adds_runs_until_the_interval_is_narrow),
	};

	return cmocka_run_group_tests(tests, shell_set_up, shell_tear_down);
}
