/*
 * base/json.h - thin helpers over jansson: the same values give the same bytes, errors are sentences.
 *
 * Written: members in the order in which they were set, two spaces of indent, arrays and objects without inner
 * objects or arrays on one line; whole numbers below 2^53 as integers even when they are held as reals, other reals
 * with the fewest digits that read back exactly; NaN and infinities cannot be held, use fl_json_number (null then).
 */
#ifndef FL_BASE_JSON_H
#define FL_BASE_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"

/* A number, or null for NaN and infinities. */
json_t *fl_json_number(double value);

/* A text; bytes that are no UTF-8 (file names may hold any) become "?". NULL gives null. */
json_t *fl_json_text(const char *text);

/* A number as fl_json_write prints it; 32 bytes are enough. Returns buffer. */
char *fl_json_number_text(double value, char *buffer, size_t length);

/* Appends the document and a final newline. */
void fl_json_write(const json_t *value, struct fl_text *to);

/* Reads a whole file ("-": standard input). The sentence of an error has file:line:column. *ret: json_decref. */
int fl_json_read_file(const char *path, json_t **ret, struct fl_error *reterr);

/* The same of a text in memory; `name` is for sentences. */
int fl_json_read_text(const char *name, const char *text, size_t length, json_t **ret, struct fl_error *reterr);

/*
 * Members with checks. `where` names the object in errors ("metrics[3]"). A missing member is an error for the first
 * group; real_or_null gives NaN for null or a missing member.
 */
int fl_json_get_text(const json_t *object, const char *where, const char *name, const char **ret, struct fl_error *e);
int fl_json_get_int(const json_t *object, const char *where, const char *name, int64_t *ret, struct fl_error *e);
int fl_json_get_array(const json_t *object, const char *where, const char *name, json_t **ret, struct fl_error *e);
int fl_json_get_object(const json_t *object, const char *where, const char *name, json_t **ret, struct fl_error *e);
int fl_json_get_real_or_null(const json_t *object, const char *where, const char *name, double *ret,
			     struct fl_error *e);

#endif
