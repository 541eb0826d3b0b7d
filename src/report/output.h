/*
 * report/output.h - output files: opened before the first run, written whole at the end, renamed into place.
 *
 * "-" is standard output. A path that is no regular file (a pipe, /dev/full) is opened as it is; any other is written
 * as a temporary file beside it and renamed, so that a failure leaves what was there. Write errors (full disk, closed
 * pipe) are sentences of class FAILED; a path that cannot be opened is class INPUT.
 */
#ifndef FL_REPORT_OUTPUT_H
#define FL_REPORT_OUTPUT_H

#include <stddef.h>

#include "base/error.h"

struct fl_output {
	char *path, *temporary; /* temporary NULL: written directly */
	int fd;                 /* -1: closed */
};

/* Refuses two outputs at one place. `options` are their names without --; NULL paths are not asked for. */
int fl_output_check_apart(const char *const *options, const char *const *paths, size_t count, struct fl_error *reterr);

int fl_output_open(const char *path, struct fl_output *ret, struct fl_error *reterr);

/* Writes everything, closes, renames. The output is closed afterwards, also on failure. */
int fl_output_commit(struct fl_output *output, const char *bytes, size_t length, struct fl_error *reterr);

/* Ends an output whose bytes were written through its fd by somebody else: closes and renames. */
int fl_output_close(struct fl_output *output, struct fl_error *reterr);

/* Throws it away: nothing changes at the path. Harmless after commit or close. */
void fl_output_drop(struct fl_output *output);

/* Writes all bytes to fd or says why not; `what` names it in the sentence ("standard output"). */
int fl_output_write(int fd, const char *what, const char *bytes, size_t length, struct fl_error *reterr);

#endif
