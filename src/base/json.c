/* base/json.c - writing JSON deterministically, reading members with sentences. */
#include "base/json.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"

json_t *fl_json_number(double value)
{
	json_t *j = isfinite(value) ? json_real(value) : json_null();

	FL_ASSERT(j);
	return j;
}

json_t *fl_json_text(const char *text)
{
	json_t *j = text ? json_string(text) : json_null();
	char *plain;

	if (j)
		return j;
	plain = fl_xstrdup(text);
	for (char *p = plain; *p; p++)
		if ((unsigned char)*p >= 0x80)
			*p = '?';
	j = json_string(plain);
	free(plain);
	FL_ASSERT(j);
	return j;
}

char *fl_json_number_text(double value, char *buffer, size_t length)
{
	FL_ASSERT(isfinite(value));
	if (value == floor(value) && fabs(value) < 9007199254740992.0) {
		snprintf(buffer, length, "%lld", (long long)value); /* also makes 0 of -0 */
		return buffer;
	}
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(buffer, length, "%.*g", digits, value);
		if (strtod(buffer, NULL) == value)
			break;
	}
	return buffer;
}

static void write_string(const char *s, struct fl_text *to)
{
	fl_text_add_char(to, '"', 1);
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if (c == '"' || c == '\\')
			fl_text_add(to, "\\%c", c);
		else if (c == '\n')
			fl_text_add(to, "\\n");
		else if (c == '\t')
			fl_text_add(to, "\\t");
		else if (c < 0x20)
			fl_text_add(to, "\\u%04x", c);
		else
			fl_text_add_char(to, (char)c, 1);
	}
	fl_text_add_char(to, '"', 1);
}

static void write_value(const json_t *value, unsigned int depth, struct fl_text *to);

/* One line if nothing inside holds anything itself. */
static bool is_flat(const json_t *value)
{
	const char *key;
	json_t *member;
	size_t i;

	if (json_is_array(value)) {
		json_array_foreach(value, i, member)
			if (json_is_array(member) || json_is_object(member))
				return false;
		return true;
	}
	json_object_foreach((json_t *)value, key, member)
		if (json_is_array(member) || json_is_object(member))
			return false;
	return true;
}

static void write_break(bool flat, bool first, unsigned int depth, struct fl_text *to)
{
	if (!first)
		fl_text_add_char(to, ',', 1);
	if (flat) {
		fl_text_add(to, "%s", first ? "" : " ");
		return;
	}
	fl_text_add_char(to, '\n', 1);
	fl_text_add_char(to, ' ', 2 * (size_t)depth);
}

static void write_array(const json_t *value, unsigned int depth, struct fl_text *to)
{
	bool flat = is_flat(value);
	json_t *member;
	size_t i;

	fl_text_add_char(to, '[', 1);
	json_array_foreach(value, i, member) {
		write_break(flat, i == 0, depth + 1, to);
		write_value(member, depth + 1, to);
	}
	if (!flat)
		write_break(false, true, depth, to);
	fl_text_add_char(to, ']', 1);
}

static void write_object(const json_t *value, unsigned int depth, struct fl_text *to)
{
	bool flat = is_flat(value), first = true;
	const char *key;
	json_t *member;

	fl_text_add_char(to, '{', 1);
	json_object_foreach((json_t *)value, key, member) {
		write_break(flat, first, depth + 1, to);
		write_string(key, to);
		fl_text_add(to, ": ");
		write_value(member, depth + 1, to);
		first = false;
	}
	if (!flat)
		write_break(false, true, depth, to);
	fl_text_add_char(to, '}', 1);
}

static void write_value(const json_t *value, unsigned int depth, struct fl_text *to)
{
	char number[32];

	switch (json_typeof(value)) {
	case JSON_OBJECT:
		write_object(value, depth, to);
		break;
	case JSON_ARRAY:
		write_array(value, depth, to);
		break;
	case JSON_STRING:
		write_string(json_string_value(value), to);
		break;
	case JSON_INTEGER:
		fl_text_add(to, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
		break;
	case JSON_REAL:
		fl_text_add(to, "%s", fl_json_number_text(json_real_value(value), number, sizeof(number)));
		break;
	case JSON_TRUE:
	case JSON_FALSE:
		fl_text_add(to, json_is_true(value) ? "true" : "false");
		break;
	case JSON_NULL:
		fl_text_add(to, "null");
		break;
	}
}

void fl_json_write(const json_t *value, struct fl_text *to)
{
	write_value(value, 0, to);
	fl_text_add_char(to, '\n', 1);
}

static int refuse(const char *name, const json_error_t *error, struct fl_error *reterr)
{
	return fl_error_input(reterr, "%s:%d:%d: this is no JSON: %s", name, error->line, error->column, error->text);
}

int fl_json_read_text(const char *name, const char *text, size_t length, json_t **ret, struct fl_error *reterr)
{
	json_error_t error;
	json_t *value = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);

	if (!value)
		return refuse(name, &error, reterr);
	*ret = value;
	return 0;
}

int fl_json_read_file(const char *path, json_t **ret, struct fl_error *reterr)
{
	bool is_stdin = !strcmp(path, "-");
	FILE *file = is_stdin ? stdin : fopen(path, "re");
	json_error_t error;
	json_t *value;
	int failed;

	if (!file)
		return fl_error_set(reterr, FL_ERROR_INPUT, -errno, "%s cannot be opened: %s", path, strerror(errno));
	errno = 0;
	value = json_loadf(file, JSON_REJECT_DUPLICATES, &error);
	failed = !value && ferror(file) ? errno : 0;
	if (!is_stdin)
		fclose(file);
	if (failed)
		return fl_error_set(reterr, FL_ERROR_INPUT, -failed, "%s cannot be read: %s", path, strerror(failed));
	if (!value)
		return refuse(is_stdin ? "standard input" : path, &error, reterr);
	*ret = value;
	return 0;
}

static int get(const json_t *object, const char *where, const char *name, bool fits, const char *expected,
	       struct fl_error *e)
{
	if (!json_object_get(object, name))
		return fl_error_input(e, "%s: member \"%s\" is missing", where, name);
	if (!fits)
		return fl_error_input(e, "%s: member \"%s\" is not %s", where, name, expected);
	return 0;
}

int fl_json_get_text(const json_t *object, const char *where, const char *name, const char **ret, struct fl_error *e)
{
	const json_t *j = json_object_get(object, name);
	int r = get(object, where, name, json_is_string(j), "a text", e);

	if (r == 0)
		*ret = json_string_value(j);
	return r;
}

int fl_json_get_int(const json_t *object, const char *where, const char *name, int64_t *ret, struct fl_error *e)
{
	const json_t *j = json_object_get(object, name);
	int r = get(object, where, name, json_is_integer(j), "a whole number", e);

	if (r == 0)
		*ret = json_integer_value(j);
	return r;
}

int fl_json_get_array(const json_t *object, const char *where, const char *name, json_t **ret, struct fl_error *e)
{
	json_t *j = json_object_get(object, name);
	int r = get(object, where, name, json_is_array(j), "an array", e);

	if (r == 0)
		*ret = j;
	return r;
}

int fl_json_get_object(const json_t *object, const char *where, const char *name, json_t **ret, struct fl_error *e)
{
	json_t *j = json_object_get(object, name);
	int r = get(object, where, name, json_is_object(j), "an object", e);

	if (r == 0)
		*ret = j;
	return r;
}

int fl_json_get_real_or_null(const json_t *object, const char *where, const char *name, double *ret,
			     struct fl_error *e)
{
	const json_t *j = json_object_get(object, name);

	if (j && !json_is_null(j) && !json_is_number(j))
		return fl_error_input(e, "%s: member \"%s\" is neither a number nor null", where, name);
	*ret = json_is_number(j) ? json_number_value(j) : NAN;
	return 0;
}
