/*
 * The whole program with the real kernels, machine and scenarios: wrong input of every kind is a sentence and a status,
 * listings name what the other commands take. FL_FRAGLAB is the program.
 */
#include <stdbool.h>

#include "shell.h"

#define HEAD "scenario { summary = 'x', options = { { name = 'rounds', kind = 'int', default = 2, help = 'rounds' } } }\n"

static void put_script(const char *text)
{
	FILE *file = fopen("contract.tmp.lua", "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	fclose(file);
}

static void test_kernels_and_patches_that_do_not_fit_are_named(void **state)
{
	put_script(HEAD "function main() end\n");
	expect_error(2, "fraglab run contract.tmp.lua --kernel 7.4", "\"7.4\"", "7.3", NULL);
	expect_error(2, "fraglab run contract.tmp.lua --kernel 7.3+mobilty", "mobilty", "did you mean \"mobility\"", NULL);
	expect_error(2, "fraglab run contract.tmp.lua --kernel 7.3+guard-accounting", "already has \"guard-accounting\"", NULL);
	expect_error(2, "fraglab run contract.tmp.lua --kernel 7.3~mobility-claim", "mobility-claim", NULL);
	expect_error(2, "fraglab run contract.tmp.lua --kernel 7.3+mobility-claim+mobility-claim", "mobility-claim", NULL);
	expect_error(2, "fraglab run contract.tmp.lua --kernel 7.3,vm.swapiness=1", "vm.swapiness", "vm.swappiness", NULL);
	expect_error(2, "fraglab run contract.tmp.lua --tunable vm.swapiness=1", "vm.swapiness", "vm.swappiness", NULL);
	expect_error(2, "fraglab run contract.tmp.lua --tunable vm.swappiness=lots", "lots", NULL);
	expect_error(2, "fraglab run contract.tmp.lua --tunable vm.swappiness", "vm.swappiness", NULL);
	expect_error(2, "fraglab run contract.tmp.lua --kernel ''", "kernel", NULL);
}

static void test_machines_that_do_not_fit_are_named(void **state)
{
	put_script(HEAD "function main() end\n");
	expect_error(2, "fraglab run contract.tmp.lua --memory 4G --scale 0", "--scale", NULL);
	expect_error(2, "fraglab run contract.tmp.lua --memory 2M", "memory", NULL);
	expect_error(2, "fraglab run contract.tmp.lua --memory 1073741825", "memory", "multiple", NULL);
	expect_error(2, "fraglab run contract.tmp.lua --swap 5000001", "swap", NULL);
	expect_error(2, "fraglab run contract.tmp.lua --cpus 9999", "--cpus", NULL);
	expect_error(2, "fraglab run contract.tmp.lua --machine no-such-file", "no-such-file", NULL);
	expect_error(2, "fraglab run contract.tmp.lua --set round=1", "\"round\"", "did you mean \"rounds\"", NULL);
}

static void test_scripts_that_are_wrong_are_named_with_line(void **state)
{
	expect_error(2, "fraglab run no-such-scenario", "no-such-scenario", NULL);
	expect_error(2, "fraglab run no-such-folder/x.lua", "no-such-folder/x.lua", NULL);
	put_script(HEAD "function main(\n");
	expect_error(2, "fraglab run contract.tmp.lua", "contract.tmp.lua:", NULL);
	put_script(HEAD "function main()\n  nosuchverb()\nend\n");
	expect_error(2, "fraglab run contract.tmp.lua", "contract.tmp.lua:3:", "nosuchverb", NULL);
	put_script(HEAD "while true do end\nfunction main() end\n");
	expect_error(2, "fraglab run contract.tmp.lua", "contract.tmp.lua:2:", "instructions", NULL);
	put_script(HEAD "function main()\n  local t = {}\n  while true do t[#t + 1] = tostring(#t) end\nend\n");
	expect_error(2, "fraglab run contract.tmp.lua", "contract.tmp.lua:4:", "64 MiB", NULL);
	put_script(HEAD "function main()\n  while true do end\nend\n");
	expect_error(2, "fraglab run contract.tmp.lua --runs 2", "contract.tmp.lua:3:", "instructions", NULL);
}

/* Is there a line of these first two words? */
static bool has_row(const char *text, const char *first, const char *second)
{
	for (const char *line = text; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
		size_t length = strlen(first);

		if (strncmp(line, first, length) || line[length] != ' ')
			continue;
		line += length + strspn(line + length, " ");
		if (!strncmp(line, second, strlen(second)))
			return true;
	}
	return false;
}

/* The output with every run of white space as one blank, so that what is looked for may be broken over lines. */
static const char *flat(struct done *done)
{
	char *to = done->out;

	for (const char *from = done->out; *from; from++) {
		char c = *from == '\n' ? ' ' : *from;

		if (c != ' ' || to == done->out || to[-1] != ' ')
			*to++ = c;
	}
	*to = '\0';
	return done->out;
}

static void test_what_goes_wrong_later_is_named_with_line_too(void **state)
{
	put_script(HEAD "function main()\n  string.format('%d', 'abc')\nend\n");
	expect_error(2, "fraglab run contract.tmp.lua", "contract.tmp.lua:3:", "bad argument #2 to 'format'", NULL);
	put_script(HEAD "local a, b\nfunction main()\n"
			"  a = process('a', 1, function() sleep(1) wait(b) end)\n"
			"  b = process('b', 2, function() sleep(1) wait(a) end)\n  wait()\nend\n");
	expect_error(2, "fraglab run contract.tmp.lua", "stands still", "a in wait() at contract.tmp.lua:4",
		     "b in wait() at contract.tmp.lua:5", "main in wait() at contract.tmp.lua:6", NULL);
}

static void test_metric_without_any_value_is_said(void **state)
{
	struct done run;

	put_script("scenario { summary = 'x', metrics = { { name = 'never', better = 'lower' }, { name = 'ever' } } }\n"
		   "function main()\n  record('ever', 'all', 3)\nend\n");
	run = shell("fraglab run contract.tmp.lua");
	assert_int_equal(run.status, 0);
	assert_non_null(strstr(run.err, "no run gave the metric \"never\" of scenario contract.tmp a value"));
	assert_null(strstr(run.err, "\"ever\""));
	release(&run);
}

static void test_listings_name_what_the_commands_take(void **state)
{
	struct done kernels = shell("fraglab list kernels"), patches = shell("fraglab list patches");
	struct done facts = shell("fraglab list kernels --facts"), tunables = shell("fraglab list tunables");
	struct done counters = shell("fraglab list counters"), scenarios = shell("fraglab list scenarios");

	assert_int_equal(kernels.status | patches.status | facts.status | tunables.status | counters.status, 0);
	assert_int_equal(scenarios.status, 0);
	assert_non_null(strstr(kernels.out, "6.12"));
	assert_non_null(strstr(kernels.out, "contains guard-accounting"));
	assert_non_null(strstr(patches.out, "mobility-capture"));
	assert_true(has_row(patches.out, "mobility", "set"));
	assert_non_null(strstr(facts.out, "verified in source"));
	assert_non_null(strstr(tunables.out, "vm.swappiness"));
	assert_non_null(strstr(counters.out, "compact_stall"));
	assert_null(golden_wide_line(kernels.out, 80));
	assert_null(golden_wide_line(patches.out, 80));
	assert_null(golden_wide_line(tunables.out, 80));
	assert_null(golden_wide_line(counters.out, 80));
	assert_null(golden_wide_line(scenarios.out, 80));
	assert_non_null(strstr(flat(&tunables), "in the background (0 to 100; default 20)"));
	assert_non_null(strstr(flat(&tunables), "(never, madvise, always; default always)"));
	assert_non_null(strstr(flat(&tunables), "default by the size of memory)"));
	release(&kernels);
	release(&patches);
	release(&facts);
	release(&tunables);
	release(&counters);
	release(&scenarios);
}

/* The command with which inspect closes, up to the output, which is opened when everything else was accepted. */
static void expect_accepted(const char *fixture)
{
	char *line, *command;
	json_t *document, *request;

	assert_true(asprintf(&line, "fraglab inspect \"$FL_TEST_ROOT/observe/fixtures/%s\" --json -", fixture) > 0);
	document = expect_json(0, line);
	free(line);
	request = json_array_get(json_object_get(document, "requests"), 0);
	assert_non_null(json_string_value(json_object_get(request, "compare")));
	assert_true(asprintf(&command, "%s --json no-such-folder/x.json", json_string_value(json_object_get(request, "compare"))) > 0);
	expect_error(2, command, "--json", "no-such-folder/x.json", "No such file", NULL);
	free(command);
	json_decref(document);
}

static void test_the_command_that_inspect_ends_with_is_accepted(void **state)
{
	expect_accepted("fragmentation.txt");
	expect_accepted("boost.txt");
	expect_accepted("watermark.txt");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_command_that_inspect_ends_with_is_accepted),
		cmocka_unit_test(test_kernels_and_patches_that_do_not_fit_are_named),
		cmocka_unit_test(test_machines_that_do_not_fit_are_named),
		cmocka_unit_test(test_scripts_that_are_wrong_are_named_with_line),
		cmocka_unit_test(test_what_goes_wrong_later_is_named_with_line_too),
		cmocka_unit_test(test_metric_without_any_value_is_said),
		cmocka_unit_test(test_listings_name_what_the_commands_take),
	};
	int failed = cmocka_run_group_tests(tests, shell_set_up, shell_tear_down);

	unlink("contract.tmp.lua");
	return failed;
}
