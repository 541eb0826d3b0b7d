/*
 * base/error.h - errors of the world and of the user.
 *
 * A function that can fail takes a `struct fl_error *reterr` last, returns 0 or a negative errno, sets *reterr to a
 * whole sentence on failure only, and leaves its other outputs untouched then. Only cli prints errors and exits.
 * The class of an error decides the exit status of the program (design: 1 work failed, 2 usage or input, 3 the
 * machine lacks something, 130 interrupted).
 */
#ifndef FL_BASE_ERROR_H
#define FL_BASE_ERROR_H

enum fl_error_class {
	FL_ERROR_FAILED = 1,  /* the work failed */
	FL_ERROR_INPUT = 2,   /* wrong usage or input: says what, where, what was expected */
	FL_ERROR_LACKING = 3, /* this machine lacks something: says what and how to get it */
	FL_ERROR_INTERRUPTED = 130,
};

struct fl_error {
	enum fl_error_class class;
	int code; /* negative errno */
	char text[1024];
};

/* Fills *reterr (which may be NULL) with a sentence and returns `code` (a negative errno). */
int fl_error_set(struct fl_error *reterr, enum fl_error_class class, int code, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* Wrong usage or input: class INPUT, code -EINVAL. */
int fl_error_input(struct fl_error *reterr, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Puts "prefix: " in front of the text that is there, as in "scenario.lua:3: ...". */
void fl_error_prefix(struct fl_error *reterr, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
