/*
 * sim/cost.c - the cost table as data, and the parser of files that override it (see cost.h).
 */
#include "sim/cost.h"

#include <stdbool.h>
#include <string.h>

#include "base/hash.h"
#include "base/names.h"

#define NAME_MAX_BYTES 63

const struct fl_cost fl_cost_default = {
#define DEFAULT(name, value, source) .name = (value),
	FL_COST_TABLE(DEFAULT)
#undef DEFAULT
};

const struct fl_cost_entry fl_cost_entries[] = {
#define ENTRY(name, value, source) {#name, (value), source, offsetof(struct fl_cost, name)},
	FL_COST_TABLE(ENTRY)
#undef ENTRY
};
const unsigned int fl_cost_entries_count = sizeof(fl_cost_entries) / sizeof(fl_cost_entries[0]);

static const char *const cost_names[] = {
#define NAME(name, value, source) #name,
	FL_COST_TABLE(NAME)
#undef NAME
};

const struct fl_cost_entry *fl_cost_find(const char *name, size_t length)
{
	for (unsigned int i = 0; i < fl_cost_entries_count; i++) {
		const char *candidate = fl_cost_entries[i].name;

		if (strlen(candidate) == length && memcmp(candidate, name, length) == 0)
			return &fl_cost_entries[i];
	}
	return NULL;
}

void fl_cost_scale(struct fl_cost *cost, unsigned int times)
{
#define SCALE(name, value, source) cost->name *= times;
	FL_COST_TABLE(SCALE)
#undef SCALE
}

/* ---- The parser ---- */

struct parser {
	const char *filename;
	unsigned int line;
	const char *at, *end; /* the line under way, without comment */
	struct fl_error *reterr;
};

struct word {
	const char *bytes;
	size_t length;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static struct word next_word(struct parser *p)
{
	struct word word;

	while (p->at < p->end && is_blank(*p->at))
		p->at++;
	word.bytes = p->at;
	while (p->at < p->end && !is_blank(*p->at))
		p->at++;
	word.length = (size_t)(p->at - word.bytes);
	return word;
}

static int shown(struct word word)
{
	return word.length < NAME_MAX_BYTES ? (int)word.length : NAME_MAX_BYTES;
}

static int unknown_name(struct parser *p, struct word name)
{
	char text[NAME_MAX_BYTES + 1], hint[NAME_MAX_BYTES + 64];

	memcpy(text, name.bytes, (size_t)shown(name));
	text[shown(name)] = '\0';
	fl_names_hint(text, cost_names, fl_cost_entries_count, hint, sizeof(hint));
	return fl_error_input(p->reterr, "%s:%u: \"%s\" is not the name of a cost%s", p->filename, p->line, text, hint);
}

/* A decimal number that fits into 32 bits, and nothing else. */
static bool parse_u32(struct word word, uint32_t *ret)
{
	uint64_t value = 0;

	if (word.length == 0 || word.length > 10)
		return false;
	for (size_t i = 0; i < word.length; i++) {
		if (word.bytes[i] < '0' || word.bytes[i] > '9')
			return false;
		value = value * 10 + (uint64_t)(word.bytes[i] - '0');
	}
	if (value > UINT32_MAX)
		return false;
	*ret = (uint32_t)value;
	return true;
}

static int parse_line(struct parser *p, struct fl_cost *cost)
{
	struct word name = next_word(p), number = next_word(p), extra = next_word(p);
	const struct fl_cost_entry *entry;
	uint32_t value;

	if (name.length == 0)
		return 0;
	entry = fl_cost_find(name.bytes, name.length);
	if (!entry)
		return unknown_name(p, name);
	if (!parse_u32(number, &value))
		return fl_error_input(p->reterr, "%s:%u: the cost of %s is \"%.*s\", expected nanoseconds from 0 to %u",
		                      p->filename, p->line, entry->name, shown(number), number.bytes, UINT32_MAX);
	if (extra.length > 0)
		return fl_error_input(p->reterr, "%s:%u: \"%.*s\" after the cost of %s, expected the end of the line",
		                      p->filename, p->line, shown(extra), extra.bytes, entry->name);
	memcpy((char *)cost + entry->offset, &value, sizeof(value));
	return 0;
}

static const char *find_byte(const char *from, const char *end, char c)
{
	while (from < end && *from != c)
		from++;
	return from;
}

int fl_cost_parse(struct fl_cost *cost, const char *filename, const char *text, size_t length, struct fl_error *reterr)
{
	struct parser p = {.filename = filename, .reterr = reterr};
	const char *end = text + length;
	struct fl_cost result = *cost;

	while (text < end) {
		const char *line_end = find_byte(text, end, '\n');
		int r;

		p.line++;
		p.at = text;
		p.end = find_byte(text, line_end, '#');
		r = parse_line(&p, &result);
		if (r < 0)
			return r;
		text = line_end < end ? line_end + 1 : end;
	}
	*cost = result;
	return 0;
}

uint64_t fl_cost_hash(const struct fl_cost *cost, uint64_t hash)
{
#define FOLD(name, value, source) hash = fl_hash_u64(hash, cost->name);
	FL_COST_TABLE(FOLD)
#undef FOLD
	return hash;
}
