/*
 * `fraglab inspect` as typed: exit status, which stream gets what, sentences for bad input. The program is FL_FRAGLAB,
 * fixtures are below FL_TEST_ROOT; the whole program runs, with a fake model that inspect does not need.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../golden.h"

static char folder[] = "inspect-test-XXXXXX";

struct done {
	int status;
	char *out, *err;
};

/* Runs a line of the shell in which $F is the program, $X the folder of the fixtures and $D a folder of our own. */
static struct done shell(const char *line)
{
	struct done d;
	char *command, path[64];

	assert_true(asprintf(&command, "F=\"$FL_FRAGLAB\"; X=\"$FL_TEST_ROOT/observe/fixtures\"; D=%s; ( %s ) >%s/out 2>%s/err",
			     folder, line, folder, folder) > 0);
	d.status = system(command);
	d.status = WIFEXITED(d.status) ? WEXITSTATUS(d.status) : 128;
	free(command);
	snprintf(path, sizeof(path), "%s/out", folder);
	d.out = golden_read(path);
	snprintf(path, sizeof(path), "%s/err", folder);
	d.err = golden_read(path);
	return d;
}

static void release(struct done *d)
{
	free(d->out);
	free(d->err);
}

static void expect_refusal(int status, const char *line, const char *words)
{
	struct done d = shell(line);

	if (d.status != status || *d.out || !strstr(d.err, words) || strncmp(d.err, "fraglab: ", 9))
		fail_msg("%s: status %d, out \"%s\", err \"%s\"", line, d.status, d.out, d.err);
	release(&d);
}

static void test_a_dump_gives_its_verdict_on_standard_output(void **unused)
{
	struct done d = shell("$F inspect $X/fragmentation.txt");

	assert_int_equal(d.status, 0);
	assert_non_null(strstr(d.out, "Verdict: fragmentation"));
	assert_non_null(strstr(d.out, "echo 1 > /proc/sys/vm/compact_memory"));
	assert_string_equal(d.err, "");
	release(&d);
	d = shell("$F inspect - <$X/shortage.txt");
	assert_int_equal(d.status, 0);
	assert_non_null(strstr(d.out, "Verdict: shortage"));
	release(&d);
}

static void test_json_alone_goes_to_standard_output(void **unused)
{
	struct done d = shell("$F inspect $X/boost.txt --json -");
	json_t *document = json_loads(d.out, 0, NULL), *request;

	assert_int_equal(d.status, 0);
	assert_non_null(document);
	request = json_array_get(json_object_get(document, "requests"), 0);
	assert_string_equal(json_string_value(json_object_get(request, "verdict")), "boost");
	json_decref(document);
	release(&d);
}

static void test_json_file_and_quiet(void **unused)
{
	struct done d = shell("$F inspect $X/boost.txt --json $D/x.json --quiet && test -s $D/x.json");

	assert_int_equal(d.status, 0);
	assert_string_equal(d.out, "");
	release(&d);
}

/* Objects whose members are names of the kernel. */
static bool is_open(const char *member)
{
	static const char *const open[] = { "totals", "vmstat", "meminfo", "sysctls", "thp", "settings", "stats" };

	for (size_t i = 0; i < sizeof(open) / sizeof(open[0]); i++)
		if (!strcmp(open[i], member))
			return true;
	return false;
}

static void expect_documented(const json_t *value, const char *manual)
{
	const char *name;
	json_t *member;
	size_t i;

	json_array_foreach((json_t *)value, i, member)
		expect_documented(member, manual);
	if (!json_is_object(value))
		return;
	json_object_foreach((json_t *)value, name, member) {
		char plain[80], list[80];

		snprintf(plain, sizeof(plain), "`%s`", name);
		snprintf(list, sizeof(list), "`%s[]`", name);
		if (!strstr(manual, plain) && !strstr(manual, list))
			fail_msg("docs/INSPECT.md does not say what \"%s\" is", name);
		if (!is_open(name))
			expect_documented(member, manual);
	}
}

static void test_every_member_of_the_json_is_documented(void **unused)
{
	static const char *const lines[] = { "$F inspect $X/fragmentation.txt --json -", "$F inspect $X/proc-set.txt --json -",
					     "$F inspect $X/bad-accounting.txt --json -", "$F inspect $X/memcg.txt --json -",
					     "$F inspect $X/trace.txt --json -", "$F inspect --json -" };
	char *path, *manual;

	assert_true(asprintf(&path, "%s/../docs/INSPECT.md", getenv("FL_TEST_ROOT")) > 0);
	manual = golden_read(path);
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct done d = shell(lines[i]);
		json_t *document = json_loads(d.out, 0, NULL);

		assert_non_null(document);
		expect_documented(document, manual);
		json_decref(document);
		release(&d);
	}
	free(manual);
	free(path);
}

static void test_inputs_that_are_no_dump_end_with_a_sentence(void **unused)
{
	expect_refusal(2, "timeout 20 $F inspect /dev/zero", "binary");
	expect_refusal(2, "head -c 3000000 /dev/zero | tr '\\0' x >$D/long && $F inspect $D/long", "nothing in its 1 lines");
	expect_refusal(2, "$F inspect - </dev/null", "the file is empty");
	expect_refusal(2, "mkfifo $D/pipe; (: >$D/pipe) & timeout 20 $F inspect $D/pipe", "the file is empty");
	expect_refusal(2, "printf 'a\\0b\\377\\n' >$D/odd && $F inspect $D/odd", "nothing in its 1 lines");
	expect_refusal(2, "printf '\\377\\376M\\0e\\0m\\0-\\0I\\0n\\0f\\0o\\0:\\0\\n\\0' >$D/utf16 && $F inspect $D/utf16", "binary");
}

static void test_bad_input_is_a_sentence_and_status_2(void **unused)
{
	expect_refusal(2, "$F inspect $D/absent.txt", "absent.txt: cannot be opened: No such file");
	expect_refusal(2, ": >$D/empty && $F inspect $D/empty", "the file is empty");
	expect_refusal(2, "head -c 5000 $F >$D/binary && $F inspect $D/binary", "binary");
	expect_refusal(2, "echo Dear all >$D/mail && $F inspect $D/mail", "nothing in its 1 lines is about memory");
	expect_refusal(2, "mkdir -p $D/none && $F inspect $D/none", "holds no file that tells about memory");
	expect_refusal(2, "$F inspect --root $D/absent", "absent");
	expect_refusal(2, "$F inspect $X/boost.txt --map", "--map is about a host");
	expect_refusal(2, "$F inspect --count 3", "--watch INTERVAL is missing");
	expect_refusal(2, "$F inspect --watch 1s --json -", "do not go with it");
	expect_refusal(2, "$F inspect a b", "one word too many");
	expect_refusal(2, "$F inspect $X/boost.txt --json $D/absent/x.json", "cannot be");
}

static void test_output_that_cannot_be_written_is_status_1(void **unused)
{
	struct done d = shell("$F inspect $X/boost.txt >/dev/full");

	assert_int_equal(d.status, 1);
	assert_non_null(strstr(d.err, "fraglab: "));
	release(&d);
}

static void test_partly_readable_text_is_used_with_a_warning(void **unused)
{
	struct done d = shell("$F inspect $X/malformed-rows.txt");

	assert_int_equal(d.status, 0);
	assert_non_null(strstr(d.out, "no request"));
	assert_non_null(strstr(d.out, "line 2     zone DMA32 has 12 columns"));
	release(&d);
}

static int make_folder(void **state)
{
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -r %s", folder);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_dump_gives_its_verdict_on_standard_output),
		cmocka_unit_test(test_json_alone_goes_to_standard_output),
		cmocka_unit_test(test_json_file_and_quiet),
		cmocka_unit_test(test_every_member_of_the_json_is_documented),
		cmocka_unit_test(test_inputs_that_are_no_dump_end_with_a_sentence),
		cmocka_unit_test(test_bad_input_is_a_sentence_and_status_2),
		cmocka_unit_test(test_output_that_cannot_be_written_is_status_1),
		cmocka_unit_test(test_partly_readable_text_is_used_with_a_warning),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
