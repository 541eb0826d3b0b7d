/*
 * observe/hostfile.h - small files of a host under a root path, for the live readers of this room.
 *
 * Every path is "ROOT/NAME" with NAME as in "proc/zoneinfo"; root "", NULL and "/" are this host.
 */
#ifndef FL_OBSERVE_HOSTFILE_H
#define FL_OBSERVE_HOSTFILE_H

#include <stdint.h>

#include "base/error.h"
#include "base/text.h"

/* The path, allocated. */
char *fl_hostfile_path(const char *root, const char *name);

/* Opens for reading. Missing permission and missing files are class LACKING, and the sentence says what would help. */
int fl_hostfile_open(const char *root, const char *name, struct fl_error *reterr);

/* Appends the whole file (at most 64 MiB) to *to, which the caller has initialised. */
int fl_hostfile_read(const char *root, const char *name, struct fl_text *to, struct fl_error *reterr);

/* The whole number at the start of the file, or `missing` when there is none. */
uint64_t fl_hostfile_number(const char *root, const char *name, uint64_t missing);

#endif
