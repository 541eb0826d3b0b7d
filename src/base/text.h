/*
 * base/text.h - a growing text buffer: build the whole output in memory, write once.
 *
 * Invariant: `data` is NUL-terminated and `length` excludes the NUL; an initialised empty buffer has data "".
 * Running out of memory aborts with a sentence: a buffer of output is never large.
 */
#ifndef FL_BASE_TEXT_H
#define FL_BASE_TEXT_H

#include <stdarg.h>
#include <stddef.h>

struct fl_text {
	char *data;
	size_t length;
	size_t capacity;
};

void fl_text_init(struct fl_text *text);
void fl_text_fini(struct fl_text *text);

/* Empties the buffer and keeps its memory. */
void fl_text_clear(struct fl_text *text);

void fl_text_add(struct fl_text *text, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void fl_text_vadd(struct fl_text *text, const char *fmt, va_list ap);
void fl_text_add_bytes(struct fl_text *text, const char *bytes, size_t length);
void fl_text_add_char(struct fl_text *text, char c, size_t times);

/* malloc, calloc, realloc, strdup that abort with a sentence when memory is out (programs, never the model). */
void *fl_xmalloc(size_t size) __attribute__((malloc));
void *fl_xcalloc(size_t count, size_t size) __attribute__((malloc));
void *fl_xrealloc(void *p, size_t size);
void fl_xfree(void *p);
char *fl_xstrdup(const char *s) __attribute__((malloc));
char *fl_xasprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
