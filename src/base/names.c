/* base/names.c - edit distance and the nearest name. */
#include "base/names.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { LONGEST = 64 }; /* longer words are not slips of the hand; their tail is ignored */

static size_t min3(size_t a, size_t b, size_t c)
{
	size_t m = a < b ? a : b;

	return m < c ? m : c;
}

static bool same(char a, char b)
{
	return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* Optimal string alignment (Damerau 1964): three rows of the table are enough. */
size_t fl_names_distance(const char *a, const char *b)
{
	size_t rows[3][LONGEST + 1], la = strnlen(a, LONGEST), lb = strnlen(b, LONGEST);
	size_t *before = rows[0], *above = rows[1], *row = rows[2];

	for (size_t j = 0; j <= lb; j++)
		above[j] = j;
	for (size_t i = 1; i <= la; i++) {
		size_t *recycled = before;

		row[0] = i;
		for (size_t j = 1; j <= lb; j++) {
			row[j] = min3(above[j] + 1, row[j - 1] + 1, above[j - 1] + !same(a[i - 1], b[j - 1]));
			if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]))
				row[j] = min3(row[j], before[j - 2] + 1, row[j]);
		}
		before = above;
		above = row;
		row = recycled;
	}
	return above[lb];
}

/* Half edits: a name that only goes on after the word is nearer than one that differs in it. */
static size_t cost(const char *word, const char *name)
{
	size_t length = strlen(word);

	if (length >= 3 && !strncasecmp(word, name, length))
		return 1;
	return 2 * fl_names_distance(word, name);
}

static bool is_near(const char *word, const char *name, size_t half_edits)
{
	size_t lw = strlen(word), ln = strlen(name);
	size_t longer = lw > ln ? lw : ln;

	if (lw > LONGEST)
		return false;
	return half_edits <= 1 || 3 * half_edits <= 2 * longer || (half_edits == 2 && longer >= 2);
}

const char *fl_names_nearest(const char *word, const char *const *names, size_t count)
{
	const char *best = NULL;
	size_t best_cost = SIZE_MAX;

	for (size_t i = 0; i < count; i++) {
		size_t c = cost(word, names[i]);

		if (c < best_cost && is_near(word, names[i], c)) {
			best = names[i];
			best_cost = c;
		}
	}
	return best;
}

char *fl_names_hint(const char *word, const char *const *names, size_t count, char *buffer, size_t length)
{
	const char *name = fl_names_nearest(word, names, count);

	if (name)
		snprintf(buffer, length, "; did you mean \"%s\"?", name);
	else
		buffer[0] = '\0';
	return buffer;
}

bool fl_names_equal(const char *a, const char *b)
{
	return strcmp(a, b) == 0;
}
