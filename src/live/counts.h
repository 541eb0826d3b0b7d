/*
 * live/counts.h - what was read at one moment: numbers by the names that metrics have.
 *
 * Readers append, samples subtract two of them by name. Names are unique within one list.
 */
#ifndef FL_LIVE_COUNTS_H
#define FL_LIVE_COUNTS_H

#include <stddef.h>
#include <stdint.h>

struct fl_live_count {
	char name[72];
	uint64_t value;
};

struct fl_live_counts {
	struct fl_live_count *items; /* owned */
	size_t count, capacity;
};

/* Appends; the name is cut at 71 letters. */
void fl_live_counts_add(struct fl_live_counts *counts, const char *name, uint64_t value);
/* Appends under a name that is formatted. */
void fl_live_counts_addf(struct fl_live_counts *counts, uint64_t value, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* The value of that name, or `missing`. `hint` is where it stood in the last list: lists of two moments are alike. */
uint64_t fl_live_counts_get(const struct fl_live_counts *counts, const char *name, size_t hint, uint64_t missing);

void fl_live_counts_copy(struct fl_live_counts *to, const struct fl_live_counts *from); /* replaces *to */
void fl_live_counts_fini(struct fl_live_counts *counts); /* harmless on a zeroed list */

#endif
