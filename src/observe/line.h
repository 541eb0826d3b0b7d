/*
 * observe/line.h - text as people paste it, cut into clean lines.
 *
 * Bytes go in as they come (a stream of any size, memory bounded by FL_LINE_MAX); each line comes out without what
 * loggers, mail programs and browsers put around it: CR, quoting, log prefixes and time stamps, escaped newlines,
 * colour codes, a few HTML entities. A line longer than FL_LINE_MAX comes out in pieces cut at blanks.
 */
#ifndef FL_OBSERVE_LINE_H
#define FL_OBSERVE_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FL_LINE_MAX 8192

struct fl_line {
	char *text;          /* NUL-terminated, may be written to until the callback returns */
	unsigned int number; /* from 1 */
	bool indented;       /* blanks before the text, after prefixes were taken off */
	bool piece;          /* not the first piece of a very long line */
};

typedef void (*fl_line_fn)(const struct fl_line *line, void *data);
/* May this raw line (no newline in it, not cleaned) be passed over? Adds its odd bytes to *odd if so. */
typedef bool (*fl_line_skip_fn)(const char *raw, size_t length, uint64_t *odd, void *data);

struct fl_lines {
	fl_line_fn fn;
	fl_line_skip_fn skip; /* NULL: every line is wanted */
	void *data;
	char buffer[FL_LINE_MAX + 1];
	size_t length;
	unsigned int number;
	bool piece;
	uint64_t bytes, odd_bytes; /* odd: NUL and control characters that no text has */
	unsigned int long_line;    /* number of the first line that was longer than FL_LINE_MAX; 0 none */
};

void fl_lines_init(struct fl_lines *lines, fl_line_fn fn, void *data);
void fl_lines_feed(struct fl_lines *lines, const char *bytes, size_t length);
/* Emits what is left without a newline; the next byte starts a new line. */
void fl_lines_end(struct fl_lines *lines);
/* True when what came so far cannot be text: more than one odd byte in 32. */
bool fl_lines_look_binary(const struct fl_lines *lines);

/* Cleans one line in place and returns where its text begins. */
char *fl_line_clean(char *line, bool *ret_indented);

#endif
