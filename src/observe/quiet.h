/*
 * observe/quiet.h - long logs between two dumps: lines that say nothing about memory are passed over in one look.
 *
 * A log of 1 GiB holds a few dumps; cutting every line of it into words takes half a minute. A line is passed over only
 * if it has none of the words that everything we know begins with, and the reader is not within anything (read_text.c
 * decides that).
 */
#ifndef FL_OBSERVE_QUIET_H
#define FL_OBSERVE_QUIET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FL_QUIET_SLOTS 4096

struct fl_quiet {
	uint8_t slots[FL_QUIET_SLOTS]; /* by hash of two bytes: number of the first word with them + 1, 0 none */
	uint8_t next[64];
	uint8_t odd[256];              /* 1: a byte that no text has */
};

void fl_quiet_init(struct fl_quiet *quiet);

/* Has the raw line (without newline) none of the words? Adds its odd bytes to *odd when it has none. */
bool fl_quiet_line(const struct fl_quiet *quiet, const char *line, size_t length, uint64_t *odd);

#endif
