/*
 * base/size.c - parsing and printing sizes, durations and whole numbers.
 *
 * One grammar: digits, perhaps a fraction, perhaps a unit; a table of units gives the factor. Sums are made in
 * 128 bits, so that "too large" is found and never wraps.
 */
#include "base/size.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/bug.h"

struct unit {
	const char *name;
	int64_t factor;
};

static const struct unit size_units[] = {
	{ "", 1 },
	{ "B", 1 },
	{ "K", INT64_C(1) << 10 }, { "KB", INT64_C(1) << 10 }, { "KiB", INT64_C(1) << 10 },
	{ "M", INT64_C(1) << 20 }, { "MB", INT64_C(1) << 20 }, { "MiB", INT64_C(1) << 20 },
	{ "G", INT64_C(1) << 30 }, { "GB", INT64_C(1) << 30 }, { "GiB", INT64_C(1) << 30 },
	{ "T", INT64_C(1) << 40 }, { "TB", INT64_C(1) << 40 }, { "TiB", INT64_C(1) << 40 },
	{ "P", INT64_C(1) << 50 }, { "PB", INT64_C(1) << 50 }, { "PiB", INT64_C(1) << 50 },
	{ NULL, 0 },
};

static const struct unit duration_units[] = {
	{ "ns", 1 },
	{ "us", 1000 },
	{ "ms", 1000 * 1000 },
	{ "s", INT64_C(1000) * 1000 * 1000 },
	{ "min", INT64_C(60) * 1000 * 1000 * 1000 },
	{ "m", INT64_C(60) * 1000 * 1000 * 1000 },
	{ "h", INT64_C(3600) * 1000 * 1000 * 1000 },
	{ NULL, 0 },
};

struct grammar {
	const struct unit *units;
	const char *what;     /* "a size" */
	const char *expected; /* how such a thing looks */
};

static const struct grammar size_grammar = { size_units, "a size", "a number with K, M, G, T or P, as in 64G or 512K" };
static const struct grammar duration_grammar = { duration_units, "a duration",
						 "a number with ns, us, ms, s, min or h, as in 5s or 100ms" };

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static const struct unit *find_unit(const struct unit *units, const char *name)
{
	for (; units->name; units++)
		if (!strcasecmp(units->name, name))
			return units;
	return NULL;
}

static int refuse(const struct grammar *g, const char *text, const char *why, struct fl_error *reterr)
{
	return fl_error_input(reterr, "\"%s\" is not %s%s; expected %s", text, g->what, why, g->expected);
}

/* Reads "12" or "12.5" into mantissa / scale; returns the first character behind it, or NULL. */
static const char *parse_decimal(const char *p, __int128 *ret_mantissa, __int128 *ret_scale, bool *ret_too_large)
{
	__int128 mantissa = 0, scale = 1;
	const char *start = p;
	bool fraction = false;

	*ret_too_large = false;
	for (; is_digit(*p) || (*p == '.' && !fraction && p > start); p++) {
		if (*p == '.') {
			fraction = true;
			continue;
		}
		mantissa = mantissa * 10 + (*p - '0');
		scale *= fraction ? 10 : 1;
		if (mantissa > (__int128)INT64_MAX * 1000 || scale > (__int128)INT64_MAX) {
			*ret_too_large = true;
			return p;
		}
	}
	if (p == start || p[-1] == '.')
		return NULL;
	*ret_mantissa = mantissa;
	*ret_scale = scale;
	return p;
}

static int parse(const struct grammar *g, const char *text, int64_t *ret, struct fl_error *reterr)
{
	__int128 mantissa, scale, value;
	const struct unit *unit;
	bool too_large;
	const char *p;

	if (text[0] == '-')
		return refuse(g, text, " (it is negative)", reterr);
	p = parse_decimal(text, &mantissa, &scale, &too_large);
	if (!p)
		return refuse(g, text, "", reterr);
	if (too_large)
		return refuse(g, text, " (it is too large)", reterr);
	unit = find_unit(g->units, p);
	if (!unit && mantissa == 0 && !*p) {
		*ret = 0;
		return 0;
	}
	if (!unit)
		return refuse(g, text, *p ? "" : " (the unit is missing)", reterr);
	value = mantissa * unit->factor;
	if (value % scale)
		return refuse(g, text, g == &size_grammar ? " (no whole number of bytes)" :
			      " (no whole number of nanoseconds)", reterr);
	if (value / scale > INT64_MAX)
		return refuse(g, text, " (it is too large)", reterr);
	*ret = (int64_t)(value / scale);
	return 0;
}

int fl_size_parse(const char *text, int64_t *ret_bytes, struct fl_error *reterr)
{
	return parse(&size_grammar, text, ret_bytes, reterr);
}

int fl_duration_parse(const char *text, int64_t *ret_ns, struct fl_error *reterr)
{
	return parse(&duration_grammar, text, ret_ns, reterr);
}

int fl_int_parse(const char *text, int64_t min, int64_t max, int64_t *ret, struct fl_error *reterr)
{
	const char *digits = text + (text[0] == '-' || text[0] == '+');
	char *end;
	long long value;

	if (!is_digit(*digits))
		return fl_error_input(reterr, "\"%s\" is not a whole number", text);
	errno = 0;
	value = strtoll(text, &end, 10);
	if (*end)
		return fl_error_input(reterr, "\"%s\" is not a whole number", text);
	if (errno == ERANGE || value < min || value > max) {
		if (max == INT64_MAX && min == INT64_MIN)
			return fl_error_input(reterr, "\"%s\" is too large", text);
		if (max == INT64_MAX)
			return fl_error_input(reterr, "\"%s\" is out of range; expected a whole number from %lld up",
					      text, (long long)min);
		return fl_error_input(reterr, "\"%s\" is out of range; expected %lld to %lld", text, (long long)min,
				      (long long)max);
	}
	*ret = value;
	return 0;
}

/* The largest unit (of those named, largest first) that divides the value. */
static char *format(int64_t value, const char *const *names, const struct unit *units, char *buffer, size_t length)
{
	for (; *names; names++) {
		const struct unit *unit = find_unit(units, *names);

		FL_ASSERT(unit);
		if (value && value % unit->factor == 0) {
			snprintf(buffer, length, "%lld%s", (long long)(value / unit->factor), unit->name);
			return buffer;
		}
	}
	snprintf(buffer, length, "%lld", (long long)value);
	return buffer;
}

char *fl_size_format(int64_t bytes, char *buffer, size_t length)
{
	static const char *const names[] = { "P", "T", "G", "M", "K", NULL };

	return format(bytes, names, size_units, buffer, length);
}

char *fl_duration_format(int64_t ns, char *buffer, size_t length)
{
	static const char *const names[] = { "h", "min", "s", "ms", "us", "ns", NULL };

	return format(ns, names, duration_units, buffer, length);
}
