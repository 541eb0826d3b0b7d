/*
 * observe/line.c - cutting a stream of bytes into lines and cleaning them.
 *
 * The prefixes known here: "> " quoting, "<4>", "[   12.345678]", "[    T1]", dmesg -T dates, "May  4 12:31:29 host
 * kernel:", ISO dates of journald and rsyslog, /dev/kmsg records "4,seq,usec,-,caller=T1;".
 */
#include "observe/line.h"

#include <ctype.h>
#include <string.h>

#define PREFIX_MAX 200 /* no logger writes a longer one */

void fl_lines_init(struct fl_lines *lines, fl_line_fn fn, void *data)
{
	memset(lines, 0, sizeof(*lines));
	lines->fn = fn;
	lines->data = data;
	lines->number = 1;
}

static void emit(struct fl_lines *lines, size_t length)
{
	struct fl_line line = { .number = lines->number, .piece = lines->piece };
	char kept = lines->buffer[length];

	lines->buffer[length] = '\0';
	line.text = fl_line_clean(lines->buffer, &line.indented);
	lines->fn(&line, lines->data);
	lines->buffer[length] = kept;
}

/* The buffer is full: what stands before the last blank goes out, the rest stays. */
static void emit_piece(struct fl_lines *lines)
{
	size_t cut = lines->length, rest;
	char tail[256];

	while (cut > lines->length - sizeof(tail) && lines->buffer[cut - 1] != ' ')
		cut--;
	if (lines->buffer[cut - 1] != ' ')
		cut = lines->length;
	rest = lines->length - cut;
	memcpy(tail, lines->buffer + cut, rest);
	if (!lines->long_line)
		lines->long_line = lines->number;
	if (!lines->skip || !lines->skip(lines->buffer, cut, &lines->odd_bytes, lines->data))
		emit(lines, cut);
	memcpy(lines->buffer, tail, rest);
	lines->length = rest;
	lines->piece = true;
}

static void next_line(struct fl_lines *lines)
{
	lines->length = 0;
	lines->piece = false;
	lines->number++;
}

static void add_byte(struct fl_lines *lines, char c)
{
	lines->bytes++;
	if (c == '\n') {
		emit(lines, lines->length);
		next_line(lines);
		return;
	}
	if ((unsigned char)c < ' ' && c != '\t' && c != '\r' && c != 27 && c != '\f') {
		lines->odd_bytes++;
		c = ' ';
	}
	if (lines->length == FL_LINE_MAX)
		emit_piece(lines);
	lines->buffer[lines->length++] = c;
}

/* A whole line at the begin of the bytes that may be passed over: its length with the newline; else 0. */
static size_t skipped(struct fl_lines *lines, const char *bytes, size_t length)
{
	const char *end;

	if (!lines->skip || lines->length || lines->piece)
		return 0;
	end = memchr(bytes, '\n', length < FL_LINE_MAX ? length : FL_LINE_MAX);
	if (!end || !lines->skip(bytes, (size_t)(end - bytes), &lines->odd_bytes, lines->data))
		return 0;
	lines->number++;
	lines->bytes += (size_t)(end - bytes) + 1;
	return (size_t)(end - bytes) + 1;
}

void fl_lines_feed(struct fl_lines *lines, const char *bytes, size_t length)
{
	for (size_t i = 0; i < length;) {
		size_t passed = skipped(lines, bytes + i, length - i);

		i += passed;
		while (!passed && i < length) {
			add_byte(lines, bytes[i++]);
			if (bytes[i - 1] == '\n')
				break;
		}
	}
}

void fl_lines_end(struct fl_lines *lines)
{
	if (lines->length) {
		emit(lines, lines->length);
		next_line(lines);
	}
}

bool fl_lines_look_binary(const struct fl_lines *lines)
{
	return lines->bytes >= 16 && lines->odd_bytes > lines->bytes / 32;
}

/* What stands for something else: mangled characters, escaped newlines, entities and tags. */
static const struct {
	const char *from, *to;
} replacements[] = {
	{ "\xc3\x97", "x" },   { "\xc2\xa0", " " },  { "\xe2\x80\x8b", "" }, { "\xef\xbb\xbf", "" },
	{ "#012", " " },       { "\\x0a", " " },     { "\\n", " " },         { "#011", " " },
	{ "&gt;", ">" },       { "&lt;", "<" },      { "&amp;", "&" },       { "&nbsp;", " " },
	{ "<pre>", " " },      { "</pre>", " " },    { "<code>", " " },      { "</code>", " " },
	{ "<br>", " " },       { "<br/>", " " },     { "<br />", " " },
};

static size_t replacement_at(const char *from, const char **ret_to)
{
	for (size_t i = 0; i < sizeof(replacements) / sizeof(replacements[0]); i++) {
		size_t length = strlen(replacements[i].from);

		if (!strncmp(from, replacements[i].from, length)) {
			*ret_to = replacements[i].to;
			return length;
		}
	}
	return 0;
}

/* Length of a terminal escape sequence. */
static size_t escape_at(const char *from)
{
	size_t length = 1;

	if (from[1] != '[')
		return 1;
	length = 2;
	while (from[length] && !isalpha((unsigned char)from[length]) && length < 16)
		length++;
	return from[length] ? length + 1 : length;
}

/* First bytes of what is replaced. */
static const bool may_be_replaced[256] = {
	[0xc3] = true, [0xc2] = true, [0xe2] = true, [0xef] = true,
	['#'] = true,  ['\\'] = true, ['&'] = true,  ['<'] = true,
};

/* Length of the UTF-8 character at `from`, 0 if there is none. Neither overlong nor a surrogate nor a control (C1). */
static size_t utf8_length(const char *from)
{
	const unsigned char *c = (const unsigned char *)from;
	size_t length = c[0] >= 0xc2 && c[0] < 0xe0 ? 2 : c[0] >= 0xe0 && c[0] < 0xf0 ? 3 : c[0] >= 0xf0 && c[0] < 0xf5 ? 4 : 0;

	for (size_t i = 1; i < length; i++)
		if ((c[i] & 0xc0) != 0x80)
			return 0;
	if ((c[0] == 0xc2 && c[1] < 0xa0) || (c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xed && c[1] >= 0xa0) ||
	    (c[0] == 0xf0 && c[1] < 0x90) || (c[0] == 0xf4 && c[1] >= 0x90))
		return 0;
	return length;
}

static void unmangle(char *line)
{
	char *to = line, *from = line;
	const char *with;
	size_t length;

	while (*from) {
		if (*from == 27) {
			from += escape_at(from);
		} else if (may_be_replaced[(unsigned char)*from] && (length = replacement_at(from, &with))) {
			from += length;
			while (*with)
				*to++ = *with++;
		} else if ((unsigned char)*from >= 0x80) {
			length = utf8_length(from);
			if (!length)
				*to++ = '?', from++;
			for (; length; length--)
				*to++ = *from++;
		} else if (*from == 127) {
			*to++ = '?', from++;
		} else {
			*to++ = *from == '\t' || *from == '\r' || *from == '\f' ? ' ' : *from;
			from++;
		}
	}
	while (to > line && to[-1] == ' ')
		to--;
	*to = '\0';
}

/* "[   12.345678]", "[    T1]", "[C3]", "[Mon Jan  1 12:00:00 2024]": length with the brackets, 0 if it is not one. */
static size_t stamp_length(const char *p)
{
	const char *q = p + 1, *end;
	bool digits_only = true;

	end = strchr(q, ']');
	if (!end || end - p > 40)
		return 0;
	while (*q == ' ')
		q++;
	if (*q == 'T' || *q == 'C')
		q++;
	else if (!strncmp(q, "Mon", 3) || !strncmp(q, "Tue", 3) || !strncmp(q, "Wed", 3) || !strncmp(q, "Thu", 3) ||
		 !strncmp(q, "Fri", 3) || !strncmp(q, "Sat", 3) || !strncmp(q, "Sun", 3))
		return (size_t)(end - p) + 1;
	if (q == end)
		return 0;
	for (; q < end; q++)
		if (!isdigit((unsigned char)*q) && *q != '.' && *q != ' ')
			digits_only = false;
	return digits_only ? (size_t)(end - p) + 1 : 0;
}

/* "<4>" or "<12>". */
static size_t level_length(const char *p)
{
	size_t i = 1;

	while (isdigit((unsigned char)p[i]) && i < 4)
		i++;
	return i > 1 && p[i] == '>' ? i + 1 : 0;
}

/* "4,19685342,241227987454,-,caller=T12845;" of /dev/kmsg. */
static size_t kmsg_length(const char *p)
{
	const char *q = p;

	for (int commas = 0; commas < 3; commas++) {
		if (!isdigit((unsigned char)*q))
			return 0;
		while (isdigit((unsigned char)*q))
			q++;
		if (*q++ != ',')
			return 0;
	}
	for (int i = 0; i < 80 && q[i]; i++)
		if (q[i] == ';')
			return (size_t)(q - p) + (size_t)i + 1;
	return 0;
}

/* Anything with a time of day that ends in "kernel:", as syslog and journald write it. */
static size_t syslog_length(const char *p)
{
	const char *at = strstr(p, "kernel:");
	bool has_time = false;

	if (!at || at - p > PREFIX_MAX)
		return 0;
	for (const char *q = p; q + 4 < at; q++)
		if (isdigit((unsigned char)q[0]) && isdigit((unsigned char)q[1]) && q[2] == ':' &&
		    isdigit((unsigned char)q[3]))
			has_time = true;
	return has_time ? (size_t)(at - p) + strlen("kernel:") : 0;
}

static size_t prefix_length(const char *p)
{
	size_t length = 0;

	if (*p == '>' || (*p == '|' && p[1] == ' '))
		return 1;
	if (!strncmp(p, "{\"log\":\"", 8)) /* log files of containers */
		return 8;
	if (*p == '<')
		length = level_length(p);
	else if (*p == '[')
		length = stamp_length(p);
	else if (isdigit((unsigned char)*p))
		length = kmsg_length(p);
	return length ? length : syslog_length(p);
}

char *fl_line_clean(char *line, bool *ret_indented)
{
	char *p = line;
	size_t length;

	unmangle(line);
	for (;;) {
		*ret_indented = *p == ' ';
		if (p != line && *p == ' ' && p[1] != ' ')
			*ret_indented = false; /* the one blank that belongs to the prefix */
		while (*p == ' ')
			p++;
		length = prefix_length(p);
		if (!length)
			return p;
		p += length;
	}
}
