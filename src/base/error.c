/* base/error.c - filling struct fl_error. */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Sentences quote what users and files hold; a terminal must not obey it. */
static void defuse(char *text)
{
	for (; *text; text++)
		if (((unsigned char)*text < ' ' && *text != '\n' && *text != '\t') || *text == 127)
			*text = '?';
}

static int error_vset(struct fl_error *reterr, enum fl_error_class class, int code, const char *fmt, va_list ap)
{
	if (reterr) {
		reterr->class = class;
		reterr->code = code;
		vsnprintf(reterr->text, sizeof(reterr->text), fmt, ap);
		defuse(reterr->text);
	}
	return code;
}

int fl_error_set(struct fl_error *reterr, enum fl_error_class class, int code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	code = error_vset(reterr, class, code, fmt, ap);
	va_end(ap);
	return code;
}

int fl_error_input(struct fl_error *reterr, const char *fmt, ...)
{
	va_list ap;
	int code;

	va_start(ap, fmt);
	code = error_vset(reterr, FL_ERROR_INPUT, -EINVAL, fmt, ap);
	va_end(ap);
	return code;
}

void fl_error_prefix(struct fl_error *reterr, const char *fmt, ...)
{
	char prefix[sizeof(reterr->text)], old[sizeof(reterr->text)];
	va_list ap;

	if (!reterr)
		return;
	va_start(ap, fmt);
	vsnprintf(prefix, sizeof(prefix), fmt, ap);
	defuse(prefix);
	va_end(ap);
	memcpy(old, reterr->text, sizeof(old));
	if (snprintf(reterr->text, sizeof(reterr->text), "%s: %s", prefix, old) >= (int)sizeof(reterr->text))
		memcpy(reterr->text + sizeof(reterr->text) - 4, "...", 4);
}
