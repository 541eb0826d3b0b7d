/* base/bug.c - the one place where the program gives up on itself. */
#include "base/bug.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char bug_context[1024];

void fl_bug_set_context(const char *context)
{
	snprintf(bug_context, sizeof(bug_context), "%s", context ? context : "");
}

void fl_bug(const char *file, int line, const char *condition, const char *what)
{
	const char *name = strrchr(file, '/');

	fflush(stdout);
	fprintf(stderr, "fraglab: bug: %s:%d: violated: %s%s%s\n", name ? name + 1 : file, line, condition,
		what[0] ? ": " : "", what);
	if (bug_context[0])
		fprintf(stderr, "%s\n", bug_context);
	fflush(stderr);
	abort();
}
