/*
 * base/names.h - the nearest valid name: "did you mean ...?".
 */
#ifndef FL_BASE_NAMES_H
#define FL_BASE_NAMES_H

#include <stdbool.h>
#include <stddef.h>

/* Are the two texts the same? (The model proper calls no string functions of the C library.) */
bool fl_names_equal(const char *a, const char *b);

/* Edits (insert, delete, replace, swap of neighbours; upper and lower case are the same) that turn a into b. */
size_t fl_names_distance(const char *a, const char *b);

/*
 * The name that is nearest to `word`, or NULL when none is near enough to be a slip of the hand: more than a third of
 * the longer word is wrong. Of equals the first one. A name that starts with `word` (three letters or more) is near.
 */
const char *fl_names_nearest(const char *word, const char *const *names, size_t count);

/* Writes "; did you mean \"NAME\"?" or "" into buffer and returns it, to end a sentence about an unknown word. */
char *fl_names_hint(const char *word, const char *const *names, size_t count, char *buffer, size_t length);

#endif
