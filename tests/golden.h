/*
 * tests/golden.h - outputs that are compared with files under tests/ (root in FL_TEST_ROOT).
 *
 * FL_UPDATE_GOLDEN=1 rewrites the files; read the difference before it is committed. No line may pass 80 columns.
 */
#ifndef FL_TESTS_GOLDEN_H
#define FL_TESTS_GOLDEN_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline char *golden_path(const char *name)
{
	const char *root = getenv("FL_TEST_ROOT");
	char *path;

	if (asprintf(&path, "%s/%s", root ? root : "tests", name) < 0)
		abort();
	return path;
}

static inline char *golden_read(const char *path)
{
	FILE *file = fopen(path, "r");
	char *text = calloc(1, 1 << 20);

	if (file) {
		if (fread(text, 1, (1 << 20) - 1, file) == 0)
			text[0] = '\0';
		fclose(file);
	}
	return text;
}

/* 0 if `text` equals the file; otherwise says what differs on stderr. */
static inline int golden_compare(const char *name, const char *text)
{
	char *path = golden_path(name), *expected;
	int differs;

	if (getenv("FL_UPDATE_GOLDEN")) {
		FILE *file = fopen(path, "w");

		if (!file || fputs(text, file) == EOF || fclose(file) == EOF)
			abort();
	}
	expected = golden_read(path);
	differs = strcmp(expected, text) != 0;
	if (differs)
		fprintf(stderr, "--- expected (%s)\n%s--- got\n%s---\n", path, expected, text);
	free(expected);
	free(path);
	return differs;
}

/* The first line that passes `width` columns, or NULL. */
static inline const char *golden_wide_line(const char *text, size_t width)
{
	for (; *text; text += strcspn(text, "\n"), text += *text == '\n')
		if (strcspn(text, "\n") > width)
			return text;
	return NULL;
}

#endif
