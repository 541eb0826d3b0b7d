/*
 * tests/cli/shell.h - command lines as a person types them, and what is expected of them. The program is FL_FRAGLAB.
 */
#ifndef FL_TESTS_CLI_SHELL_H
#define FL_TESTS_CLI_SHELL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../golden.h"

static char shell_folder[] = "program-test-XXXXXX";

/* What a command line of the shell did. "fraglab" in it is the program, its folder the working directory. */
struct done {
	int status;
	char *out, *err;
};

static inline struct done shell(const char *line)
{
	struct done d;
	char *command, *path;

	assert_true(asprintf(&command, "fraglab() { \"$FL_FRAGLAB\" \"$@\"; }; ( %s\n ) >%s/out 2>%s/err", line, shell_folder,
			     shell_folder) > 0);
	d.status = system(command);
	d.status = WIFEXITED(d.status) ? WEXITSTATUS(d.status) : 128 + WTERMSIG(d.status);
	free(command);
	assert_true(asprintf(&path, "%s/out", shell_folder) > 0);
	d.out = golden_read(path);
	strcpy(path + strlen(shell_folder), "/err");
	d.err = golden_read(path);
	free(path);
	return d;
}

static inline void release(struct done *d)
{
	free(d->out);
	free(d->err);
}

/* Exit status, and words that standard error must have (NULL-terminated); standard output must be empty then. */
static inline void expect_error(int status, const char *line, ...)
{
	struct done d = shell(line);
	const char *word;
	va_list ap;

	if (d.status != status)
		fail_msg("%s: status %d, not %d: %s", line, d.status, status, d.err);
	va_start(ap, line);
	while ((word = va_arg(ap, const char *)))
		if (!strstr(d.err, word))
			fail_msg("%s: \"%s\" does not say \"%s\"", line, d.err, word);
	va_end(ap);
	assert_string_equal(d.out, "");
	release(&d);
}

static inline json_t *expect_json(int status, const char *line)
{
	struct done d = shell(line);
	json_error_t error;
	json_t *root;

	if (d.status != status)
		fail_msg("%s: status %d, not %d: %s", line, d.status, status, d.err);
	root = json_loads(d.out, 0, &error);
	if (!root)
		fail_msg("%s: %s in: %s", line, error.text, d.out);
	release(&d);
	return root;
}

static inline int shell_set_up(void **state)
{
	return mkdtemp(shell_folder) && getenv("FL_FRAGLAB") ? 0 : -1;
}

static inline int shell_tear_down(void **state)
{
	char *command;
	int r;

	if (asprintf(&command, "rm -r %s", shell_folder) < 0)
		return -1;
	r = system(command);
	free(command);
	return r;
}

#endif
