/*
 * live/lines.h - the lines of a small file in memory, one after the other.
 */
#ifndef FL_LIVE_LINES_H
#define FL_LIVE_LINES_H

#include <string.h>

/* The next line that is not empty, cut off at its newline; NULL at the end. *rest moves on and is NULL then. */
static inline char *fl_live_next_line(char **rest)
{
	char *line;

	do
		line = strsep(rest, "\n");
	while (line && !*line);
	return line;
}

#endif
