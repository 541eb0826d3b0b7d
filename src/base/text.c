/* base/text.c - the text buffer and the allocation functions that cannot fail. */
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"

static void __attribute__((noreturn)) out_of_memory(size_t size)
{
	fprintf(stderr, "fraglab: out of memory: %zu bytes could not be had\n", size);
	exit(1);
}

void *fl_xrealloc(void *p, size_t size)
{
	void *q = realloc(p, size ? size : 1);

	if (!q)
		out_of_memory(size);
	return q;
}

void fl_xfree(void *p)
{
	free(p);
}

void *fl_xmalloc(size_t size)
{
	return fl_xrealloc(NULL, size);
}

void *fl_xcalloc(size_t count, size_t size)
{
	void *p = calloc(count ? count : 1, size ? size : 1);

	if (!p)
		out_of_memory(count * size);
	return p;
}

char *fl_xstrdup(const char *s)
{
	size_t length = strlen(s) + 1;

	return memcpy(fl_xmalloc(length), s, length);
}

char *fl_xasprintf(const char *fmt, ...)
{
	va_list ap;
	char *s;

	va_start(ap, fmt);
	if (vasprintf(&s, fmt, ap) < 0)
		out_of_memory(0);
	va_end(ap);
	return s;
}

void fl_text_init(struct fl_text *text)
{
	text->capacity = 64;
	text->data = fl_xmalloc(text->capacity);
	text->data[0] = '\0';
	text->length = 0;
}

void fl_text_fini(struct fl_text *text)
{
	free(text->data);
	text->data = NULL;
	text->length = text->capacity = 0;
}

void fl_text_clear(struct fl_text *text)
{
	text->length = 0;
	text->data[0] = '\0';
}

static void text_reserve(struct fl_text *text, size_t more)
{
	size_t need = text->length + more + 1;

	FL_ASSERT(need > more);
	if (need <= text->capacity)
		return;
	while (text->capacity < need)
		text->capacity *= 2;
	text->data = fl_xrealloc(text->data, text->capacity);
}

void fl_text_vadd(struct fl_text *text, const char *fmt, va_list ap)
{
	va_list again;
	int length;

	va_copy(again, ap);
	length = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	FL_ASSERT(length >= 0);
	text_reserve(text, (size_t)length);
	vsnprintf(text->data + text->length, (size_t)length + 1, fmt, ap);
	text->length += (size_t)length;
}

void fl_text_add(struct fl_text *text, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fl_text_vadd(text, fmt, ap);
	va_end(ap);
}

void fl_text_add_bytes(struct fl_text *text, const char *bytes, size_t length)
{
	text_reserve(text, length);
	memcpy(text->data + text->length, bytes, length);
	text->length += length;
	text->data[text->length] = '\0';
}

void fl_text_add_char(struct fl_text *text, char c, size_t times)
{
	text_reserve(text, times);
	memset(text->data + text->length, c, times);
	text->length += times;
	text->data[text->length] = '\0';
}
