/*
 * tests/observe/fixture.h - a made-up host: a temporary directory with proc and sys files, for readers that take a
 * root path. Removed at the end of the test.
 */
#ifndef FL_TESTS_OBSERVE_FIXTURE_H
#define FL_TESTS_OBSERVE_FIXTURE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "test.h"

static char *fixture_new(void)
{
	char *root = fl_xstrdup("/tmp/fraglab-fixture-XXXXXX");

	assert_non_null(mkdtemp(root));
	return root;
}

static inline void fixture_remove(char *root)
{
	char *command = fl_xasprintf("rm -rf %s", root);

	assert_int_equal(system(command), 0);
	free(command);
	free(root);
}

/* Writes root/name; folders are made. */
static inline void fixture_write(const char *root, const char *name, const void *bytes, size_t length)
{
	char *path = fl_xasprintf("%s/%s", root, name);
	FILE *file;

	for (char *slash = path + strlen(root) + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
		*slash = '\0';
		mkdir(path, 0700);
	}
	file = fopen(path, "wb");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, length, file), length);
	assert_int_equal(fclose(file), 0);
	free(path);
}

static inline void fixture_text(const char *root, const char *name, const char *text)
{
	fixture_write(root, name, text, strlen(text));
}

#endif
