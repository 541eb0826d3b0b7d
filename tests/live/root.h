/* A folder that is laid out like the root of a host, for readers under a root path. */
#ifndef FL_TEST_LIVE_ROOT_H
#define FL_TEST_LIVE_ROOT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[64];

static inline int make_root(void **state)
{
	(void)state;
	snprintf(root, sizeof(root), "%s/fl_live_XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	return mkdtemp(root) ? 0 : -1;
}

static inline int remove_one(const char *path, const struct stat *status, int kind, struct FTW *at)
{
	(void)status;
	(void)kind;
	(void)at;
	return remove(path);
}

static inline int remove_root(void **state)
{
	(void)state;
	return nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* Writes a file below the root, with its folders. */
static inline void put(const char *path, const char *text)
{
	char full[512];
	FILE *file;

	snprintf(full, sizeof(full), "%s/%s", root, path);
	for (char *slash = full + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(full, 0755);
		*slash = '/';
	}
	file = fopen(full, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

#endif
