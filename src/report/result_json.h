/*
 * report/result_json.h - the document fraglab.result.v1: stable, fields are only ever added.
 *
 * The same result gives the same bytes, but for the object "provenance" (time, host, compiler, commit, hash of the
 * cost file, CPU time). Values that are missing are null.
 */
#ifndef FL_REPORT_RESULT_JSON_H
#define FL_REPORT_RESULT_JSON_H

#include "base/result.h"

#define FL_RESULT_SCHEMA "fraglab.result.v1"

void fl_result_write_json(const struct fl_result *result, struct fl_text *to);

/* Reads a document back. -EINVAL with file and member on anything that is not one. */
int fl_result_read_json(const char *path, struct fl_result *ret, struct fl_error *reterr);

/* The same of a text in memory; `name` is for sentences. */
int fl_result_parse_json(const char *name, const char *text, size_t length, struct fl_result *ret,
			 struct fl_error *reterr);

#endif
