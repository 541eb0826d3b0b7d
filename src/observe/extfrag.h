/*
 * observe/extfrag.h - events kmem:mm_page_alloc_extfrag of a running kernel, from an instance of our own in tracefs.
 *
 * No counter of the kernel tells them, only this trace event. One event is one page of a refill, not one request.
 * An instance has its own buffer, so whoever else traces is not disturbed; it is removed when the reader is closed.
 */
#ifndef FL_OBSERVE_EXTFRAG_H
#define FL_OBSERVE_EXTFRAG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

#define FL_EXTFRAG_TYPES 8

/* Counts by [type of the request][type of the list that it took from], under the numbers of the running kernel. */
struct fl_extfrag_counts {
	uint64_t claimed[FL_EXTFRAG_TYPES][FL_EXTFRAG_TYPES]; /* the pageblock changed to the type of the request */
	uint64_t stolen[FL_EXTFRAG_TYPES][FL_EXTFRAG_TYPES];  /* it did not: pages of two types now share it */
	uint64_t whole_blocks; /* of claimed: the chunk was a free pageblock or more, so nothing was mixed */
	uint64_t lost;         /* events that the kernel dropped because its buffer was full */
};

struct fl_extfrag_reader {
	char *instance; /* directory, allocated; NULL: not open */
	int pipe_fd;
	char line[512]; /* start of a line whose end has not come yet */
	unsigned int line_length;
};

/* Adds one line of a trace; false: it is no such event and no report of lost ones. */
bool fl_extfrag_parse_line(const char *line, struct fl_extfrag_counts *counts);

/* Makes an instance below `tracefs` and switches the event on. Class LACKING with the reason. */
int fl_extfrag_open(const char *tracefs, struct fl_extfrag_reader *ret, struct fl_error *reterr);

/* Takes what has come since the last time; never waits. */
void fl_extfrag_drain(struct fl_extfrag_reader *reader, struct fl_extfrag_counts *counts);

/* Ends tracing and removes the instance; harmless on a closed reader. */
void fl_extfrag_close(struct fl_extfrag_reader *reader);

/* Name of a migratetype number in events: the first four are the same in every kernel since 4.4. */
const char *fl_extfrag_type_name(unsigned int type);

#endif
