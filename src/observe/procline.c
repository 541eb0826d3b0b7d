/*
 * observe/procline.c - the grammar of the lines of /proc, /sys and debugfs files.
 *
 * Mirrors what is printed by mm/vmstat.c (buddyinfo, pagetypeinfo, zoneinfo, vmstat, extfrag), fs/proc/meminfo.c and
 * the settings in sysfs and /proc/sys/vm. Names are not checked against lists: every kernel has others.
 */
#include "observe/procline.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define DIGITS "0123456789"
#define WORD_SHOWN 40

static const char *const expected[FL_PROCFILE_KINDS] = {
	[FL_PROCFILE_VERSION] = "\"Linux version 6.12.0 ...\"",
	[FL_PROCFILE_BUDDYINFO] = "\"Node 0, zone Normal\" and a count of free blocks for each order",
	[FL_PROCFILE_PAGETYPEINFO] = "\"Node 0, zone Normal, type Movable\" and a count for each order, or a count of "
				     "pageblocks for each type",
	[FL_PROCFILE_ZONEINFO] = "a name and a number, as in \"min 16896\"",
	[FL_PROCFILE_VMSTAT] = "a name and a number, as in \"nr_free_pages 123456\"",
	[FL_PROCFILE_MEMINFO] = "a name and an amount, as in \"MemFree: 123456 kB\"",
	[FL_PROCFILE_INDEX] = "\"Node 0, zone Normal\" and an index for each order, as in 0.125 or -1.000",
	[FL_PROCFILE_NUMBERS] = "a number",
	[FL_PROCFILE_CHOICE] = "words, one of them in brackets, as in \"always [madvise] never\"",
	[FL_PROCFILE_SYSCTL] = "a number, as in \"vm.min_free_kbytes = 67584\"",
};

static bool ends_in(const char *path, const char *end)
{
	size_t length = strlen(path), own = strlen(end);

	return length >= own && !strcmp(path + length - own, end) && (length == own || path[length - own - 1] == '/');
}

static enum fl_procfile thp_file(const char *path)
{
	static const char *const choices[] = { "/enabled", "/defrag", "/shmem_enabled" };

	if (strstr(path, "khugepaged/") || strstr(path, "/stats/"))
		return FL_PROCFILE_NUMBERS;
	for (size_t i = 0; i < sizeof(choices) / sizeof(choices[0]); i++)
		if (ends_in(path, choices[i] + 1))
			return FL_PROCFILE_CHOICE;
	return FL_PROCFILE_NUMBERS;
}

enum fl_procfile fl_procfile_of(const char *path)
{
	static const struct {
		const char *end;
		enum fl_procfile file;
	} files[] = {
		{ "proc/version", FL_PROCFILE_VERSION },           { "buddyinfo", FL_PROCFILE_BUDDYINFO },
		{ "pagetypeinfo", FL_PROCFILE_PAGETYPEINFO },      { "zoneinfo", FL_PROCFILE_ZONEINFO },
		{ "vmstat", FL_PROCFILE_VMSTAT },                  { "meminfo", FL_PROCFILE_MEMINFO },
		{ "extfrag/unusable_index", FL_PROCFILE_INDEX },   { "extfrag/extfrag_index", FL_PROCFILE_INDEX },
		{ "sysctl_-a", FL_PROCFILE_SYSCTL },
	};

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		if (ends_in(path, files[i].end))
			return files[i].file;
	if (strstr(path, "transparent_hugepage/"))
		return thp_file(path);
	return strstr(path, "sys/vm/") ? FL_PROCFILE_NUMBERS : FL_PROCFILE_ANY;
}

/* --- words -------------------------------------------------------------------------------------------------------- */

bool fl_procline_fits(const char *digits, size_t length)
{
	static const char largest[] = "18446744073709551615";

	while (length > 1 && *digits == '0')
		digits++, length--;
	return length < sizeof(largest) - 1 || (length == sizeof(largest) - 1 && strncmp(digits, largest, length) <= 0);
}

struct word {
	const char *at;
	size_t length;
};

/* The next word behind *p; length 0 at the end of the line. */
static struct word next(const char **p)
{
	struct word word;

	word.at = *p + strspn(*p, " \t");
	word.length = strcspn(word.at, " \t");
	*p = word.at + word.length;
	return word;
}

static bool is(const struct word *word, const char *text)
{
	return word->length == strlen(text) && !strncmp(word->at, text, word->length);
}

static bool refuse(struct fl_procline *ret, const struct word *word)
{
	ret->word = word->at;
	ret->length = word->length;
	return false;
}

/* Digits that fit, all of the word; *ret tells when they are only too many. */
static bool is_number(const struct word *word, struct fl_procline *ret)
{
	if (!word->length || strspn(word->at, DIGITS) < word->length)
		return false;
	if (fl_procline_fits(word->at, word->length))
		return true;
	ret->too_large = true;
	return false;
}

/* A name of a figure: letters, digits and what kernels have put in between, "nr_free_pages", "isolated(anon)". */
static bool is_name(const struct word *word)
{
	if (!word->length || !isalpha((unsigned char)*word->at))
		return false;
	for (size_t i = 0; i < word->length; i++)
		if (!isalnum((unsigned char)word->at[i]) && !strchr("_-+().:?,", word->at[i]))
			return false;
	return true;
}

/* --- rows --------------------------------------------------------------------------------------------------------- */

/* "Node 0, zone   Normal" and where it ends; `comma`: with the comma that pagetypeinfo puts behind the name. */
static bool row_head(const char **p, struct fl_procline *ret, bool *ret_comma)
{
	struct word node = next(p), number = next(p), zone = next(p), name = next(p);

	if (!is(&node, "Node"))
		return refuse(ret, &node);
	if (number.length < 2 || number.at[number.length - 1] != ',' || strspn(number.at, DIGITS) != number.length - 1)
		return refuse(ret, &number);
	if (!is(&zone, "zone"))
		return refuse(ret, &zone);
	*ret_comma = name.length && name.at[name.length - 1] == ',';
	name.length -= *ret_comma;
	return is_name(&name) || refuse(ret, &name);
}

static bool is_cell(const struct word *word, struct fl_procline *ret)
{
	struct word digits = { word->at, word->length };

	if (digits.length && *digits.at == '>') /* the kernel counts no further than 100000 */
		digits.at++, digits.length--;
	return is_number(&digits, ret);
}

/* "0.125", "-1.000", and "0.-999", as the kernel prints an index between -1 and 0 */
static bool is_index(const struct word *word, struct fl_procline *ret)
{
	const char *p = word->at, *end = word->at + word->length;
	size_t whole;

	(void)ret;
	p += *p == '-';
	whole = strspn(p, DIGITS);
	if (!whole || whole > 6 || p[whole] != '.')
		return false;
	p += whole + 1;
	p += *p == '-';
	return p < end && p + strspn(p, DIGITS) == end;
}

/* At least one figure up to the end of the line. */
static bool row_figures(const char *p, bool (*figure)(const struct word *, struct fl_procline *), struct fl_procline *ret)
{
	struct word word = next(&p);

	if (!word.length)
		return refuse(ret, &word);
	for (; word.length; word = next(&p), ret->cells++)
		if (!figure(&word, ret))
			return refuse(ret, &word);
	return true;
}

static bool buddyinfo_line(const char *p, struct fl_procline *ret)
{
	bool comma;

	return row_head(&p, ret, &comma) && row_figures(p, is_cell, ret);
}

static bool index_line(const char *p, struct fl_procline *ret)
{
	bool comma;

	return row_head(&p, ret, &comma) && row_figures(p, is_index, ret);
}

static bool starts_with(const char *line, const char *text)
{
	return !strncmp(line, text, strlen(text));
}

static bool pagetypeinfo_line(const char *p, struct fl_procline *ret)
{
	struct word type, name;
	bool comma;

	if (starts_with(p, "Page block order:") || starts_with(p, "Pages per block:")) {
		p = strchr(p, ':') + 1;
		return row_figures(p, is_cell, ret);
	}
	if (starts_with(p, "Free pages count per migrate type") || starts_with(p, "Number of blocks type ") ||
	    starts_with(p, "Number of mixed blocks "))
		return true;
	if (!row_head(&p, ret, &comma))
		return false;
	if (comma) {
		type = next(&p);
		name = next(&p);
		if (!is(&type, "type"))
			return refuse(ret, &type);
		if (!is_name(&name))
			return refuse(ret, &name);
	}
	return row_figures(p, is_cell, ret);
}

/* --- names and numbers -------------------------------------------------------------------------------------------- */

/* "protection: (0, 2824, 0)" */
static bool protection_line(const char *p, struct fl_procline *ret)
{
	for (struct word word = next(&p); word.length; word = next(&p)) {
		struct word digits = word;

		while (digits.length && strchr("(", *digits.at))
			digits.at++, digits.length--;
		while (digits.length && strchr(",)", digits.at[digits.length - 1]))
			digits.length--;
		if (!is_number(&digits, ret))
			return refuse(ret, &word);
		ret->cells++;
	}
	return ret->cells || refuse(ret, &(struct word){ p, 0 });
}

/* Names and numbers by turns, a number at the end: "pages free 3840", "cpu: 0 pcp: 1". */
static bool figures_line(const char *p, struct fl_procline *ret)
{
	struct word first = next(&p), last = first, word;
	bool number = false;

	if (!is_name(&first))
		return refuse(ret, &first);
	for (word = next(&p); word.length; word = next(&p)) {
		bool name = is_name(&word);

		if (!name && (number || !is_number(&word, ret)))
			return refuse(ret, &word);
		number = !name;
		last = word;
	}
	return number || refuse(ret, last.at == first.at ? &word : &last);
}

static bool zoneinfo_line(const char *p, struct fl_procline *ret)
{
	const char *row = p;
	bool comma;

	if (starts_with(p, "Node ")) {
		struct word behind;

		if (!row_head(&row, ret, &comma))
			return false;
		behind = next(&row);
		return !behind.length || refuse(ret, &behind);
	}
	if (!strcmp(p, "per-node stats") || !strcmp(p, "pagesets"))
		return true;
	if (starts_with(p, "protection:"))
		return protection_line(p + strlen("protection:"), ret);
	return figures_line(p, ret);
}

static bool vmstat_line(const char *p, struct fl_procline *ret)
{
	struct word name = next(&p), value = next(&p), behind = next(&p);

	if (!is_name(&name))
		return refuse(ret, &name);
	if (!is_number(&value, ret))
		return refuse(ret, &value);
	return !behind.length || refuse(ret, &behind);
}

static bool meminfo_line(const char *p, struct fl_procline *ret)
{
	struct word name = next(&p), value = next(&p), unit = next(&p), behind = next(&p);

	if (!is_name(&name) || name.length < 2 || name.at[name.length - 1] != ':')
		return refuse(ret, &name);
	if (!is_number(&value, ret))
		return refuse(ret, &value);
	if (unit.length && !is(&unit, "kB"))
		return refuse(ret, &unit);
	return !behind.length || refuse(ret, &behind);
}

static bool is_signed(const struct word *word, struct fl_procline *ret)
{
	struct word digits = { word->at, word->length };

	if (digits.length && *digits.at == '-')
		digits.at++, digits.length--;
	return is_number(&digits, ret);
}

/* Words, exactly one of them in brackets. */
static bool choice_line(const char *p, struct fl_procline *ret)
{
	unsigned int chosen = 0;
	struct word word;

	for (word = next(&p); word.length; word = next(&p)) {
		bool in_brackets = word.length > 2 && *word.at == '[' && word.at[word.length - 1] == ']';
		struct word name = { word.at + in_brackets, word.length - 2 * (size_t)in_brackets };

		if (!is_name(&name))
			return refuse(ret, &word);
		chosen += in_brackets;
	}
	return chosen == 1 || refuse(ret, &word);
}

/* "vm.numa_zonelist_order = Node" was the one setting that is a word. */
static bool sysctl_line(const char *p, struct fl_procline *ret)
{
	struct word name = next(&p), equals;

	if (name.length < 4 || strncmp(name.at, "vm.", 3) || starts_with(name.at, "vm.numa_zonelist_order"))
		return true;
	equals = next(&p);
	if (!is(&equals, "="))
		return refuse(ret, &equals);
	return !p[strspn(p, " \t")] || row_figures(p, is_signed, ret);
}

static bool check(enum fl_procfile file, const char *p, struct fl_procline *ret)
{
	switch (file) {
	case FL_PROCFILE_VERSION: return starts_with(p, "Linux version ") || refuse(ret, &(struct word){ p, strlen(p) });
	case FL_PROCFILE_BUDDYINFO: return buddyinfo_line(p, ret);
	case FL_PROCFILE_PAGETYPEINFO: return pagetypeinfo_line(p, ret);
	case FL_PROCFILE_ZONEINFO: return zoneinfo_line(p, ret);
	case FL_PROCFILE_VMSTAT: return vmstat_line(p, ret);
	case FL_PROCFILE_MEMINFO: return meminfo_line(p, ret);
	case FL_PROCFILE_INDEX: return index_line(p, ret);
	case FL_PROCFILE_NUMBERS: return row_figures(p, is_signed, ret);
	case FL_PROCFILE_CHOICE: return choice_line(p, ret);
	case FL_PROCFILE_SYSCTL: return sysctl_line(p, ret);
	case FL_PROCFILE_ANY:
	case FL_PROCFILE_KINDS: break;
	}
	return true;
}

bool fl_procline_check(enum fl_procfile file, const char *line, struct fl_procline *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->expected = expected[file];
	line += strspn(line, " \t");
	return !*line || check(file, line, ret);
}

void fl_procline_say(const struct fl_procline *why, char *to, size_t size)
{
	size_t shown = why->length < WORD_SHOWN ? why->length : WORD_SHOWN;

	while (shown && shown < why->length && ((unsigned char)why->word[shown] & 0xc0) == 0x80)
		shown--; /* not in the middle of a character */
	if (why->length)
		snprintf(to, size, "\"%.*s%s\" %s; expected %s", (int)shown, why->word,
			 shown < why->length ? "..." : "", why->too_large ? "is more than 64 bits hold" : "cannot be read",
			 why->expected);
	else
		snprintf(to, size, "the line ends too early; expected %s", why->expected);
}

/* --- in texts of people ------------------------------------------------------------------------------------------- */

static unsigned int words_of(const char *line)
{
	unsigned int count = 0;

	while (next(&line).length)
		count++;
	return count;
}

/* "nr_free_pages", "pgfault": small letters, digits and underscores. */
static bool is_counter_name(const struct word *word)
{
	for (size_t i = 0; i < word->length; i++)
		if (!islower((unsigned char)word->at[i]) && !isdigit((unsigned char)word->at[i]) && word->at[i] != '_')
			return false;
	return word->length > 2 && islower((unsigned char)*word->at);
}

bool fl_procline_resembles(enum fl_procfile file, const char *line)
{
	const char *p = line;
	struct word first = next(&p), second = next(&p);
	unsigned int words = words_of(line);

	switch (file) {
	case FL_PROCFILE_BUDDYINFO:
	case FL_PROCFILE_PAGETYPEINFO:
	case FL_PROCFILE_INDEX: return is(&first, "Node") && second.length && isdigit((unsigned char)*second.at);
	case FL_PROCFILE_VMSTAT: return words == 2 && is_counter_name(&first) && memchr(first.at, '_', first.length);
	case FL_PROCFILE_ZONEINFO: return words == 2 && is_counter_name(&first);
	case FL_PROCFILE_MEMINFO:
		return words >= 2 && words <= 3 && isupper((unsigned char)*first.at) && first.at[first.length - 1] == ':';
	default: return false;
	}
}
