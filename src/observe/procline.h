/*
 * observe/procline.h - what lines of files of /proc, /sys and debugfs look like, so that every other line can be said.
 *
 * Pure grammar: nothing is read or kept here. The readers take what they know; this tells which lines nobody could
 * take, which word of them is wrong, and what stands there in a sound file.
 */
#ifndef FL_OBSERVE_PROCLINE_H
#define FL_OBSERVE_PROCLINE_H

#include <stdbool.h>
#include <stddef.h>

enum fl_procfile {
	FL_PROCFILE_ANY, /* free text, as a log: no line is wrong */
	FL_PROCFILE_VERSION,
	FL_PROCFILE_BUDDYINFO,
	FL_PROCFILE_PAGETYPEINFO,
	FL_PROCFILE_ZONEINFO,
	FL_PROCFILE_VMSTAT,
	FL_PROCFILE_MEMINFO,
	FL_PROCFILE_INDEX,   /* debugfs extfrag/unusable_index, extfrag_index */
	FL_PROCFILE_NUMBERS, /* settings, statistics of one size: one or more numbers */
	FL_PROCFILE_CHOICE,  /* "always [madvise] never" */
	FL_PROCFILE_SYSCTL,  /* sysctl -a; lines about other things than vm. are not looked at */
	FL_PROCFILE_KINDS
};

/* Why a line is not one of its file. */
struct fl_procline {
	const char *word;     /* the word that is wrong, in the line; at its end when something is missing there */
	size_t length;        /* 0: something is missing */
	bool too_large;       /* a number that does not fit into 64 bits */
	unsigned int cells;   /* sound figures of a row in front of it: they can be used */
	const char *expected; /* what stands in a sound file */
};

/* What a path ends in tells what the file holds. */
enum fl_procfile fl_procfile_of(const char *path);

/* Is this line, clean and without its newline, one that such a file has? Blank lines are. */
bool fl_procline_check(enum fl_procfile file, const char *line, struct fl_procline *ret);

/* "\"x12\" cannot be read; expected a number": what is wrong with the line, as a part of a sentence. */
void fl_procline_say(const struct fl_procline *why, char *to, size_t size);

/* In a text of people: does this line mean to be one of such a file, rather than what somebody wrote about it? */
bool fl_procline_resembles(enum fl_procfile file, const char *line);

/* A number of 64 bits, with digits only, in front of `length` bytes of a word. */
bool fl_procline_fits(const char *digits, size_t length);

#endif
