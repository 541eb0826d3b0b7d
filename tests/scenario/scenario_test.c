/*
 * tests/scenario/scenario_test.c - declarations, verbs, streams and records, on a backend without a machine.
 */
#include "support.h"

static void test_declarations_become_plain_data(void **state)
{
	static const char text[] =
		"scenario { summary = 'sum', options = {\n"
		"  { name = 'rounds', kind = 'int', default = 8, min = 1, max = 100, help = 'rounds' },\n"
		"  { name = 'size', kind = 'size', default = '2G', min = '1M', help = 'size' },\n"
		"  { name = 'fs', kind = 'choice', default = 'ext4', choices = { 'ext4', 'tmpfs' }, help = 'which' } },\n"
		"machine = { memory = '64G', memory_min = '4G', swap = '8G', cpus = 8, guard_minorder = 1, below_4g = '256M' },\n"
		"kernel = { ['vm.swappiness'] = 10, ['thp.enabled'] = 'always' },\n"
		"metrics = { { name = 'x_pct', unit = '%', better = 'higher' }, { name = 'y', headline = false } },\n"
		"published = { { metric = 'x_pct', phase = 'r4', base = '42 (25-67)', changed = '74', change = 'mobility' } } }\n"
		"assert(options.rounds == 8 and options.size == 2 * GiB and options.fs == 'ext4' and machine.cpus == 8)\n"
		"function main() end\n";
	struct fl_scenario *s;
	struct fl_error error;

	if (load_text(text, &s, &error))
		fail_msg("%s", error.text);
	assert_string_equal(s->summary, "sum");
	assert_int_equal(s->options_count, 3);
	assert_int_equal(s->options[1].min, 1 << 20);
	assert_int_equal(s->options[1].max, INT64_MAX);
	assert_string_equal(s->options[2].choices[1], "tmpfs");
	assert_int_equal(s->memory_bytes, INT64_C(64) << 30);
	assert_int_equal(s->cpus, 8);
	assert_int_equal(s->guard_minorder, 1);
	assert_int_equal(s->settings_count, 2);
	assert_string_equal(s->setting_names[0], "thp.enabled");
	assert_string_equal(s->setting_values[1], "10");
	assert_int_equal(s->metrics[0].better, FL_BETTER_HIGHER);
	assert_true(s->metrics[0].headline);
	assert_false(s->metrics[1].headline);
	assert_string_equal(s->published[0].base, "42 (25-67)");
	assert_string_equal(s->published[0].change, "mobility");
	fl_scenario_free(s);
}

static void test_wrong_declarations_name_the_entry(void **state)
{
	static const char *const cases[][2] = {
		{ "function main() end", "does not declare itself" },
		{ "scenario { summary = 'x' }", "has no function main()" },
		{ "scenario { summary = 'x' } scenario { summary = 'x' }", ":1: scenario: a script declares itself once" },
		{ "scenario {}", ":1: scenario: summary is missing" },
		{ "scenario { summry = 'x' }", "did you mean \"summary\"" },
		{ "scenario { summary = 'x', options = { { kind = 'int' } } }", "options[1]: name is missing" },
		{ "scenario { summary = 'x', options = { { kind = 'itn', name = 'a' } } }", "did you mean \"int\"" },
		{ "scenario { summary = 'x', options = { { kind = 'int', name = 'a', help = 'h', default = 'q' } } }", "a" },
		{ "scenario { summary = 'x', options = { { kind = 'int', name = 'a', help = 'h', default = 1, max = 'z' } } }",
		  "options[1]: max" },
		{ "scenario { summary = 'x', options = { 5 } }", "options[1]: expected a table" },
		{ "scenario { summary = 'x', options = 5 }", "options must be a list" },
		{ "scenario { summary = 'x', machine = { memory = '12Q' } }", "machine: memory" },
		{ "scenario { summary = 'x', machine = { memory = '1M' } }", "machine: memory of 1M: expected 64M" },
		{ "scenario { summary = 'x', machine = { memroy = '1G' } }", "did you mean \"memory\"" },
		{ "scenario { summary = 'x', metrics = { { name = 'a', better = 'up' } } }", "better must be" },
		{ "scenario { summary = 'x', kernel = { 5 } }", "kernel: expected entries" },
		{ "scenario { summary = 'x', kernel = { ['vm.swapiness'] = 5 } }", "vm.swappiness" },
		{ "scenario { summary = 'x', kernel = { ['vm.swappiness'] = 500 } }", "kernel: " },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		load_fails(cases[i][0], cases[i][1]);
}

static void test_unknown_scenario_gets_a_hint_or_the_list(void **state)
{
	struct fl_scenario *s;
	struct fl_error error;

	assert_int_not_equal(fl_scenario_load("guard-page", &s, &error), 0);
	expect_error(&error, "there is no scenario \"guard-page\"");
	assert_int_not_equal(fl_scenario_load("/nowhere/x.lua", &s, &error), 0);
	expect_error(&error, "/nowhere/x.lua: cannot be read");
}

static void test_options_of_the_request_reach_the_script(void **state)
{
	struct fl_scenario *s;
	struct fl_option_set set;
	struct fl_record record;
	struct fl_error error;

	fl_record_init(&record);
	assert_int_equal(load_text("scenario { summary = 'x', options = { { name = 'n', kind = 'int', default = 1, max = 5, "
				   "help = 'n' } } }\nfunction main() print(options.n, machine.memory // GiB, machine.cpus) end",
				   &s, &error), 0);
	fl_option_set_init(&set, s->options, s->options_count);
	assert_int_not_equal(fl_option_assign(&set, "scenario", "m=3", &error), 0);
	assert_int_not_equal(fl_option_assign(&set, "scenario", "n=9", &error), 0);
	assert_int_equal(fl_option_assign(&set, "scenario", "n=3", &error), 0);
	assert_int_equal(fl_scenario_run_on(&(struct fl_scenario_request){ .scenario = s, .options = &set, .cpus = 6,
						.memory_bytes = INT64_C(8) << 30 }, &fake_backend, &record, &error), 0);
	assert_string_equal(record.log.data, "3\t8\t6\n");
	fl_option_set_fini(&set);
	fl_record_fini(&record);
	fl_scenario_free(s);
}

static void test_machine_below_the_least_size_is_refused(void **state)
{
	struct fl_scenario *s;
	struct fl_error error;

	assert_int_equal(load_text("scenario { summary = 'x', machine = { memory_min = '2G' } } function main() end", &s, &error),
			 0);
	assert_int_not_equal(fl_scenario_machine(&(struct fl_scenario_request){ .scenario = s, .memory_bytes = 1 << 30 },
						 &(struct fl_machine){ 0 }, &error), 0);
	expect_error(&error, "needs a machine of at least 2G of memory, this one has 1G");
	fl_scenario_free(s);
}

static uint64_t swap_of_machine(struct fl_scenario_request request)
{
	struct fl_machine machine;
	struct fl_error error;

	if (fl_scenario_machine(&request, &machine, &error))
		fail_msg("%s", error.text);
	return machine.swap_bytes;
}

static void test_swap_scales_with_memory_unless_it_is_named(void **state)
{
	static const char text[] = "scenario { summary = 'x', machine = { memory = '64G', swap = '8G' } } function main() end";
	struct fl_scenario *s;
	struct fl_error error;

	assert_int_equal(load_text(text, &s, &error), 0);
	assert_int_equal(swap_of_machine((struct fl_scenario_request){ .scenario = s }), INT64_C(8) << 30);
	assert_int_equal(swap_of_machine((struct fl_scenario_request){ .scenario = s, .memory_bytes = INT64_C(4) << 30 }),
			 512 << 20);
	assert_int_equal(swap_of_machine((struct fl_scenario_request){ .scenario = s, .memory_bytes = INT64_C(128) << 30 }),
			 INT64_C(16) << 30);
	assert_int_equal(swap_of_machine((struct fl_scenario_request){ .scenario = s, .memory_bytes = INT64_C(4) << 30,
								       .swap_bytes = 3 << 20 }), 3 << 20);
	assert_int_equal(swap_of_machine((struct fl_scenario_request){ .scenario = s, .memory_bytes = INT64_C(4) << 30,
								       .swap_bytes = -1 }), 0);
	assert_int_equal(swap_of_machine((struct fl_scenario_request){ .scenario = s, .scale_bytes = INT64_C(4) << 30 }),
			 INT64_C(8) << 30); /* the load alone */
	fl_scenario_free(s);
}

static void test_verbs_check_their_arguments(void **state)
{
	run_fails("map(1.5)", ":3: bad argument #1 to 'map' (number has no integer representation)");
	run_fails("map(0)", "out of range");
	run_fails("map(4096, 'hgue')", "did you mean \"huge\"");
	run_fails("touch(1, { strde = 1 })", "did you mean \"stride\"");
	run_fails("touch(1, { offset = 1.5 })", "offset must be a whole number");
	run_fails("advise(1, 'fre')", "invalid option 'fre'");
	run_fails("process('x', 5)", "function expected");
	run_fails("process(('x'):rep(40), main)", "expected a name of 1 to 31 letters");
	run_fails("sleep(-1)", "out of range");
	run_fails("record('n', 'all', 1)", "declares no metric \"n\"");
	run_fails("uniform(2, 1)", "upper limit is below");
	run_fails("zipf(0)", "out of range");
	run_fails("process('x', 1, function() end) process('x', 1, function() end)", "number 1 was started before");
}

static void test_refusal_by_the_backend_has_the_line(void **state)
{
	fake_touch_refusal = "there is no mapping 7";
	run_fails("\ntouch(7)", ":4: touch: there is no mapping 7");
	fake_touch_refusal = NULL;
}

static void test_what_the_machine_cannot_is_nil_and_a_name(void **state)
{
	fake_map_value = -12;
	expect_print("print(map(4096))", "nil\tENOMEM\n");
	fake_map_value = 0;
}

static void test_error_in_one_process_ends_the_run(void **state)
{
	run_fails("process('a', 1, function() yield() error('broke') end) while true do yield() end", ":3: broke");
}

static void test_record_has_labels_and_values(void **state)
{
	struct fl_record record;
	struct fl_error error;
	const struct fl_sample *s;

	assert_int_equal(run_text(HEAD "function main() sample('r1') record('m', 'r1', 741, 10) record('m', 'r2', nil)\n"
				  "record('m', 'r3', 5, 0) print('log') end", 7, &record, &error), 0);
	assert_int_equal(record.seed, 7);
	s = fl_record_find(&record, "m", "r1");
	assert_true(s->valid && s->headline && s->value > 74.09 && s->value < 74.11);
	assert_string_equal(s->unit, "%");
	assert_int_equal(s->better, FL_BETTER_HIGHER);
	assert_false(fl_record_find(&record, "m", "r2")->valid);
	assert_false(fl_record_find(&record, "m", "r3")->valid);
	assert_false(fl_record_find(&record, "pgfault", "r1")->headline);
	assert_string_equal(record.log.data, "log\n");
	fl_record_fini(&record);
}

/* Lines of the log that belong to one process. */
static char *lines_of(const char *who)
{
	struct fl_text text;
	char *copy = fl_xstrdup(fake_log.data), *save = NULL;

	fl_text_init(&text);
	for (char *line = strtok_r(copy, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		if (!strncmp(line, who, strlen(who)))
			fl_text_add(&text, "%s\n", line);
	free(copy);
	return text.data;
}

static const char load[] = HEAD
	"local function work(n) for i = 1, n do sleep(uniform(1, 1000000)) touch(1, { random = true })\n"
	"compute(lognormal(5000, 80)) access(1, zipf(1000)) end end\n"
	"function main() for i = 1, 5 do process('w', i, work, 20) end for i = 1, 3 do thread(work, 10) end wait() end";

/* Whoever goes first (as under another kernel), each process draws the same numbers. */
static void test_load_does_not_depend_on_the_interleaving(void **state)
{
	static const char *const who[] = { "w#1 ", "w#5 ", "main()#0 ", "main()#2 " };
	char *before[4], *after[4];
	struct fl_record record;
	struct fl_error error;

	assert_int_equal(run_text(load, 3, &record, &error), 0);
	fl_record_fini(&record);
	for (int i = 0; i < 4; i++)
		before[i] = lines_of(who[i]);
	fake_youngest_first = true;
	assert_int_equal(run_text(load, 3, &record, &error), 0);
	fl_record_fini(&record);
	fake_youngest_first = false;
	for (int i = 0; i < 4; i++) {
		after[i] = lines_of(who[i]);
		assert_string_equal(before[i], after[i]);
		assert_true(strlen(after[i]) > 500);
		free(after[i]);
	}
	assert_string_not_equal(before[0] + 3, before[1] + 3);
	for (int i = 0; i < 4; i++)
		free(before[i]);
}

static void test_seed_changes_the_load(void **state)
{
	struct fl_record record;
	struct fl_error error;
	char *one;

	assert_int_equal(run_text(load, 3, &record, &error), 0);
	fl_record_fini(&record);
	one = fl_xstrdup(fake_log.data);
	assert_int_equal(run_text(load, 4, &record, &error), 0);
	fl_record_fini(&record);
	assert_string_not_equal(one, fake_log.data);
	free(one);
}

static void test_five_thousand_bodies(void **state)
{
	expect_print("for i = 1, 3000 do process('p', i, function() yield() end) end wait() print('ok')", "ok\n");
}

/* ---- samplers ---- */

static void test_fixed_point_against_known_values(void **state)
{
	assert_int_equal(fl_fixed_exp2(0), UINT64_C(1) << 32);
	assert_in_range(fl_fixed_exp2(UINT32_C(1) << 31), 6074000998, 6074001001); /* sqrt(2) x 2^32 = 6074000999.95 */
	assert_int_equal(fl_fixed_log2(1), 0);
	assert_int_equal(fl_fixed_log2(1024), UINT64_C(10) << 32);
	assert_in_range(fl_fixed_log2(10), UINT64_C(14267572525), UINT64_C(14267572528)); /* log2(10) x 2^32 = 14267572527.6 */
}

static void test_lognormal_has_its_median_and_spread(void **state)
{
	struct fl_rng rng;
	int below_median = 0, below_sigma = 0;

	fl_rng_init(&rng, 1, "t", 0);
	for (int i = 0; i < 20000; i++) {
		uint64_t x = fl_sample_lognormal(&rng, 1000000, 100);

		below_median += x < 1000000;
		below_sigma += x < 2718282;
	}
	assert_in_range(below_median, 9700, 10300);  /* half */
	assert_in_range(below_sigma, 16500, 17150);  /* 84.1 % below one sigma */
	assert_int_equal(fl_sample_lognormal(&rng, 77, 0), 77);
}

static void test_zipf_has_its_weights(void **state)
{
	struct fl_zipf_tables tables = { 0 };
	struct fl_rng rng;
	int count[5] = { 0 };

	fl_rng_init(&rng, 1, "t", 0);
	for (int i = 0; i < 25000; i++)
		count[fl_sample_zipf(&tables, &rng, 4, 100)]++;
	/* 12/25, 6/25, 4/25, 3/25 */
	assert_in_range(count[1], 11700, 12300);
	assert_in_range(count[2], 5750, 6250);
	assert_in_range(count[3], 3750, 4250);
	assert_in_range(count[4], 2800, 3200);
	for (int i = 0; i < 20; i++)
		assert_in_range(fl_sample_zipf(&tables, &rng, 10 + (uint32_t)i, 150), 1, 10 + i);
	fl_zipf_fini(&tables);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_declarations_become_plain_data),
		cmocka_unit_test(test_wrong_declarations_name_the_entry),
		cmocka_unit_test(test_unknown_scenario_gets_a_hint_or_the_list),
		cmocka_unit_test(test_options_of_the_request_reach_the_script),
		cmocka_unit_test(test_machine_below_the_least_size_is_refused),
		cmocka_unit_test(test_swap_scales_with_memory_unless_it_is_named),
		cmocka_unit_test(test_verbs_check_their_arguments),
		cmocka_unit_test(test_refusal_by_the_backend_has_the_line),
		cmocka_unit_test(test_what_the_machine_cannot_is_nil_and_a_name),
		cmocka_unit_test(test_error_in_one_process_ends_the_run),
		cmocka_unit_test(test_record_has_labels_and_values),
		cmocka_unit_test(test_load_does_not_depend_on_the_interleaving),
		cmocka_unit_test(test_seed_changes_the_load),
		cmocka_unit_test(test_five_thousand_bodies),
		cmocka_unit_test(test_fixed_point_against_known_values),
		cmocka_unit_test(test_lognormal_has_its_median_and_spread),
		cmocka_unit_test(test_zipf_has_its_weights),
	};

	return cmocka_run_group_tests(tests, make_path, remove_path);
}
