/*
 * base/size.h - sizes, durations and whole numbers as people type and read them.
 *
 * Parsers take the whole text or refuse it: a sentence names the text and what was expected (class INPUT, exit 2).
 * Suffixes of sizes are binary: K, M, G, T, P, each also as KiB, KB or k; no suffix is bytes. Durations: ns, us, ms,
 * s, min (or m), h; a duration needs its unit, except 0. Fractions are allowed ("1.5G", "0.5s") if they come out whole.
 */
#ifndef FL_BASE_SIZE_H
#define FL_BASE_SIZE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Each returns 0 and sets *ret, or a negative errno with a sentence. Results are never negative and fit int64_t. */
int fl_size_parse(const char *text, int64_t *ret_bytes, struct fl_error *reterr);
int fl_duration_parse(const char *text, int64_t *ret_ns, struct fl_error *reterr);

/* A whole number in decimal, with sign; min and max included. */
int fl_int_parse(const char *text, int64_t min, int64_t max, int64_t *ret, struct fl_error *reterr);

/*
 * Shortest exact text that the parsers read back: "64G", "1536M", "4097", "250ms". The result is `buffer`.
 * 32 bytes are always enough.
 */
char *fl_size_format(int64_t bytes, char *buffer, size_t length);
char *fl_duration_format(int64_t ns, char *buffer, size_t length);

#endif
