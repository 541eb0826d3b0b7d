/*
 * observe/read_text.h - the reader of text: pasted dumps, logs, and the text files of /proc and /sys.
 *
 * One reader takes any mixture: it recognises what it knows, token by token, so that wrapping, quoting, log prefixes
 * and several dumps in one text do not matter, and says by line what looked like a figure but could not be read. The
 * text is streamed; nothing of it is kept except what struct fl_mem_report holds.
 */
#ifndef FL_OBSERVE_READ_TEXT_H
#define FL_OBSERVE_READ_TEXT_H

#include <stddef.h>
#include <stdio.h>

#include "observe/snapshot.h"

struct fl_text_reader;

/* Reads into `report`, which must be initialised and outlive the reader. */
struct fl_text_reader *fl_text_reader_new(struct fl_mem_report *report);
/*
 * What follows is the content of this file of a host ("proc/vmstat"), up to the next call: each line that such a file
 * does not have is said, with the word that is wrong and what was expected.
 */
void fl_text_reader_file(struct fl_text_reader *reader, const char *path);
/* Ends that file. Returns how many of its lines could be used; blank ones do not count. */
uint64_t fl_text_reader_end_file(struct fl_text_reader *reader);
void fl_text_reader_feed(struct fl_text_reader *reader, const char *bytes, size_t length);
/* Ends the current file, links requests to states, converts units, checks totals; frees the reader. */
void fl_text_reader_finish(struct fl_text_reader *reader);

/*
 * Reads a whole stream. -EINVAL with a sentence (class INPUT) when it is empty, binary, or nothing in it was
 * recognised; -EIO and the like when reading fails. The report may hold warnings even then.
 */
int fl_mem_read_stream(FILE *file, struct fl_mem_report *report, struct fl_error *reterr);
/* The same for a path: no such file, no permission, a directory are class INPUT. "-" is standard input. */
int fl_mem_read_text_file(const char *path, struct fl_mem_report *report, struct fl_error *reterr);

#endif
