/*
 * tests/scenario/support.h - writes a script to a file, loads it, runs it on the fake backend.
 */
#ifndef FL_TESTS_SCENARIO_SUPPORT_H
#define FL_TESTS_SCENARIO_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "fake_backend.h"
#include "scenario/run.h"

#define HEAD "scenario { summary = \"a test\", metrics = { { name = \"m\", unit = \"%\", better = \"higher\" } } }\n"

static char script_path[64];

static inline int make_path(void **state)
{
	int fd;

	strcpy(script_path, "/tmp/fl_XXXXXX.lua");
	fd = mkstemps(script_path, 4);
	return fd < 0 ? -1 : close(fd);
}

static inline int remove_path(void **state)
{
	fl_text_fini(&fake_log);
	return unlink(script_path);
}

static inline void write_script(const char *text, size_t length)
{
	FILE *f = fopen(script_path, "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, length, f), length);
	fclose(f);
}

static inline int load_text(const char *text, struct fl_scenario **ret, struct fl_error *error)
{
	write_script(text, strlen(text));
	return fl_scenario_load(script_path, ret, error);
}

static inline void expect_error(const struct fl_error *error, const char *words)
{
	if (error->class != FL_ERROR_INPUT || !strstr(error->text, words))
		fail_msg("class %d: \"%s\" lacks \"%s\"", error->class, error->text, words);
}

/* Loading this text fails with these words. */
static inline void load_fails(const char *text, const char *words)
{
	struct fl_scenario *s = NULL;
	struct fl_error error = { 0 };

	if (!load_text(text, &s, &error)) {
		fl_scenario_free(s);
		fail_msg("loaded, but \"%s\" was expected: %s", words, text);
	}
	expect_error(&error, words);
}

/* Runs a script; the caller owns the record. */
static inline int run_text(const char *text, uint64_t seed, struct fl_record *record, struct fl_error *error)
{
	struct fl_scenario *s = NULL;
	int status = load_text(text, &s, error);

	fl_record_init(record);
	if (!status)
		status = fl_scenario_run_on(&(struct fl_scenario_request){ .scenario = s, .seed = seed }, &fake_backend, record,
					    error);
	fl_scenario_free(s);
	return status;
}

/* A run of HEAD and main() with this body fails with these words. */
static inline void run_fails(const char *body, const char *words)
{
	char *text = fl_xasprintf("%sfunction main()\n%s\nend\n", HEAD, body);
	struct fl_record record;
	struct fl_error error = { 0 };
	int status = run_text(text, 1, &record, &error);

	fl_record_fini(&record);
	if (!status)
		fail_msg("ran, but \"%s\" was expected: %s", words, body);
	expect_error(&error, words);
	free(text);
}

/* What main() with this body printed (free()). */
static inline char *run_prints(const char *body)
{
	char *text = fl_xasprintf("%sfunction main()\n%s\nend\n", HEAD, body), *printed;
	struct fl_record record;
	struct fl_error error = { 0 };

	if (run_text(text, 1, &record, &error))
		fail_msg("%s", error.text);
	printed = fl_xstrdup(record.log.data);
	fl_record_fini(&record);
	free(text);
	return printed;
}

static inline void expect_print(const char *body, const char *expected)
{
	char *printed = run_prints(body);

	assert_string_equal(printed, expected);
	free(printed);
}

#endif
