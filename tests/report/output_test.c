/* Output files appear whole or not at all; a full disk and a closed pipe are sentences. */
#include "../base/test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../golden.h"
#include "base/text.h"
#include "report/output.h"

static char folder[] = "output-test-XXXXXX";
static char file[64];

static int set_up(void **state)
{
	signal(SIGPIPE, SIG_IGN);
	if (!mkdtemp(folder))
		return -1;
	snprintf(file, sizeof(file), "%s/result.json", folder);
	return 0;
}

static int tear_down(void **state)
{
	unlink(file);
	return rmdir(folder); /* fails if a temporary file was left behind */
}

static void assert_content(const char *path, const char *expected)
{
	char *text = golden_read(path);

	assert_string_equal(text, expected);
	free(text);
}

static void test_nothing_is_at_the_path_until_commit(void **state)
{
	struct fl_output output;
	struct stat st;

	assert_int_equal(fl_output_open(file, &output, NULL), 0);
	assert_int_equal(access(file, F_OK), -1);
	assert_int_equal(fl_output_commit(&output, "hello\n", 6, NULL), 0);
	assert_content(file, "hello\n");
	assert_int_equal(stat(file, &st), 0);
	assert_int_equal(st.st_mode & 0400, 0400);
	fl_output_drop(&output); /* harmless */
}

static void test_a_dropped_output_leaves_what_was_there(void **state)
{
	struct fl_output output;

	assert_int_equal(fl_output_open(file, &output, NULL), 0);
	assert_int_equal(fl_output_write(output.fd, "x", "half", 4, NULL), 0);
	fl_output_drop(&output);
	assert_content(file, "hello\n");
}

static void test_the_mode_of_the_replaced_file_stays(void **state)
{
	struct fl_output output;
	struct stat st;

	assert_int_equal(chmod(file, 0640), 0);
	assert_int_equal(fl_output_open(file, &output, NULL), 0);
	assert_int_equal(fl_output_commit(&output, "again\n", 6, NULL), 0);
	assert_int_equal(stat(file, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640);
	assert_content(file, "again\n");
}

static void test_a_full_disk_is_a_sentence_of_failed_work(void **state)
{
	struct fl_error error = { 0 };
	struct fl_output output;

	if (access("/dev/full", W_OK) < 0)
		skip();
	assert_int_equal(fl_output_open("/dev/full", &output, &error), 0);
	assert_int_equal(fl_output_commit(&output, "hello\n", 6, &error), -ENOSPC);
	assert_int_equal(error.class, FL_ERROR_FAILED);
	assert_non_null(strstr(error.text, "/dev/full"));
	assert_non_null(strstr(error.text, "No space left"));
}

static void test_a_closed_pipe_is_a_sentence_of_failed_work(void **state)
{
	struct fl_error error = { 0 };
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	close(fds[0]);
	assert_int_equal(fl_output_write(fds[1], "standard output", "x", 1, &error), -EPIPE);
	assert_int_equal(error.class, FL_ERROR_FAILED);
	assert_non_null(strstr(error.text, "standard output"));
	close(fds[1]);
}

static void test_paths_that_cannot_be_written_are_refused_at_once(void **state)
{
	struct fl_error error = { 0 };
	struct fl_output output;

	assert_refused(fl_output_open("no-such-folder/x.json", &output, &error), &error, "no-such-folder/x.json", NULL);
	assert_refused(fl_output_open(folder, &output, &error), &error, folder, NULL);
	assert_refused(fl_output_open("", &output, &error), &error, "cannot be written", NULL);
}

static void test_two_outputs_at_one_place_are_refused(void **state)
{
	static const char *const options[] = { "json", "png", "trace" };
	struct fl_error error = { 0 };
	char *plain = fl_xasprintf("%s/same", folder), *roundabout = fl_xasprintf("%s/./same", folder);
	FILE *made = fopen(plain, "w");

	assert_non_null(made);
	fclose(made);
	assert_int_equal(fl_output_check_apart(options, (const char *const[]){ "-", "a", NULL }, 3, &error), 0);
	assert_refused(fl_output_check_apart(options, (const char *const[]){ "-", NULL, "-" }, 3, &error), &error, "--json",
		       "--trace", "standard output", NULL);
	assert_refused(fl_output_check_apart(options, (const char *const[]){ "new", "new", NULL }, 3, &error), &error,
		       "--json", "--png", "new", NULL);
	assert_refused(fl_output_check_apart(options, (const char *const[]){ NULL, plain, roundabout }, 3, &error), &error,
		       "--png", "--trace", "same", NULL);
	unlink(plain);
	free(plain);
	free(roundabout);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_is_at_the_path_until_commit),
		cmocka_unit_test(test_a_dropped_output_leaves_what_was_there),
		cmocka_unit_test(test_the_mode_of_the_replaced_file_stays),
		cmocka_unit_test(test_a_full_disk_is_a_sentence_of_failed_work),
		cmocka_unit_test(test_a_closed_pipe_is_a_sentence_of_failed_work),
		cmocka_unit_test(test_two_outputs_at_one_place_are_refused),
		cmocka_unit_test(test_paths_that_cannot_be_written_are_refused_at_once),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
