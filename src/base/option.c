/*
 * base/option.c - values of option tables: defaults, parsing of one value, the command line, lookups.
 *
 * The command line is read by getopt_long in silent mode; its refusals are turned into our sentences.
 */
#include "base/option.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/bug.h"
#include "base/names.h"
#include "base/size.h"
#include "base/text.h"

enum { FIRST_CODE = 0x1000 }; /* getopt_long returns FIRST_CODE + row: above any letter */

static size_t find_row(const struct fl_option *table, size_t count, const char *name)
{
	size_t i = 0;

	while (i < count && strcmp(table[i].name, name))
		i++;
	return i;
}

/* `dashes` stand before the word and before every name: "--" on the command line. */
static char *hint(const struct fl_option *table, size_t count, const char *dashes, const char *word, char *buffer,
		  size_t length)
{
	char **names = fl_xcalloc(count, sizeof(*names)), *dashed = fl_xasprintf("%s%s", dashes, word);
	size_t visible = 0;

	for (size_t i = 0; i < count; i++)
		if (!table[i].hidden)
			names[visible++] = fl_xasprintf("%s%s", dashes, table[i].name);
	fl_names_hint(dashed, (const char *const *)names, visible, buffer, length);
	for (size_t i = 0; i < visible; i++)
		free(names[i]);
	free(names);
	free(dashed);
	return buffer;
}

/* Limits and granularity of sizes and durations, with the limits printed in their own units. */
static int check_limits(const struct fl_option *option, const char *text, int64_t value, struct fl_error *reterr)
{
	char *(*format)(int64_t, char *, size_t) =
		option->kind == FL_OPTION_SIZE ? fl_size_format : fl_duration_format;
	char a[32], b[32];

	if ((option->min || option->max) && (value < option->min || value > option->max)) {
		if (option->max == INT64_MAX)
			return fl_error_input(reterr, "\"%s\" is too small; expected %s or more", text,
					      format(option->min, a, sizeof(a)));
		return fl_error_input(reterr, "\"%s\" is out of range; expected %s to %s", text,
				      format(option->min, a, sizeof(a)), format(option->max, b, sizeof(b)));
	}
	if (option->multiple && value % option->multiple)
		return fl_error_input(reterr, "\"%s\" is not a multiple of %s", text,
				      format(option->multiple, a, sizeof(a)));
	return 0;
}

static int parse_bool(const char *text, int64_t *ret, struct fl_error *reterr)
{
	static const char *const words[] = { "no", "yes", "false", "true", "off", "on", "0", "1", NULL };

	for (size_t i = 0; words[i]; i++) {
		if (!strcasecmp(text, words[i])) {
			*ret = i % 2;
			return 0;
		}
	}
	return fl_error_input(reterr, "\"%s\" is neither yes nor no", text);
}

static int parse_choice(const char *const *choices, const char *text, int64_t *ret, struct fl_error *reterr)
{
	struct fl_text all;
	char near[96];
	size_t count = 0;

	for (; choices[count]; count++) {
		if (!strcmp(choices[count], text)) {
			*ret = (int64_t)count;
			return 0;
		}
	}
	fl_text_init(&all);
	for (size_t i = 0; i < count; i++)
		fl_text_add(&all, "%s%s", i == 0 ? "" : i + 1 == count ? " or " : ", ", choices[i]);
	fl_error_input(reterr, "\"%s\" is none of %s%s", text, all.data,
		       fl_names_hint(text, choices, count, near, sizeof(near)));
	fl_text_fini(&all);
	return -EINVAL;
}

/* Reads one value by its kind; *ret is 0 for texts. */
static int parse_value(const struct fl_option *option, const char *text, int64_t *ret, struct fl_error *reterr)
{
	bool limited = option->min || option->max;
	int r;

	*ret = 0;
	switch (option->kind) {
	case FL_OPTION_FLAG:
	case FL_OPTION_BOOL:
		return parse_bool(text, ret, reterr);
	case FL_OPTION_INT:
		return fl_int_parse(text, limited ? option->min : INT64_MIN, limited ? option->max : INT64_MAX, ret,
				    reterr);
	case FL_OPTION_SIZE:
	case FL_OPTION_DURATION:
		r = option->kind == FL_OPTION_SIZE ? fl_size_parse(text, ret, reterr) :
						     fl_duration_parse(text, ret, reterr);
		return r < 0 ? r : check_limits(option, text, *ret, reterr);
	case FL_OPTION_CHOICE:
		return parse_choice(option->choices, text, ret, reterr);
	case FL_OPTION_STRING:
	case FL_OPTION_LIST:
		break;
	}
	return 0;
}

static void store(const struct fl_option *option, struct fl_option_value *value, const char *text, int64_t number)
{
	free(value->text);
	value->text = fl_xstrdup(text);
	value->number = number;
	if (option->kind == FL_OPTION_LIST) {
		value->list = fl_xrealloc(value->list, (value->list_count + 1) * sizeof(*value->list));
		value->list[value->list_count++] = fl_xstrdup(text);
	}
}

void fl_option_set_init(struct fl_option_set *set, const struct fl_option *table, size_t count)
{
	*set = (struct fl_option_set){ table, count, fl_xcalloc(count, sizeof(*set->values)) };
	for (size_t i = 0; i < count; i++) {
		struct fl_error error = { 0 };
		int64_t number;

		if (!table[i].default_text)
			continue;
		if (parse_value(&table[i], table[i].default_text, &number, &error) < 0)
			fl_bug(__FILE__, __LINE__, table[i].name, error.text);
		store(&table[i], &set->values[i], table[i].default_text, number);
	}
}

void fl_option_set_fini(struct fl_option_set *set)
{
	for (size_t i = 0; i < set->count; i++) {
		for (size_t j = 0; j < set->values[i].list_count; j++)
			free(set->values[i].list[j]);
		free(set->values[i].list);
		free(set->values[i].text);
	}
	free(set->values);
	*set = (struct fl_option_set){ 0 };
}

int fl_option_table_check(const struct fl_option *table, size_t count, struct fl_error *reterr)
{
	int64_t number;
	int r;

	for (size_t i = 0; i < count; i++) {
		if (find_row(table, count, table[i].name) != i)
			return fl_error_input(reterr, "option \"%s\" is declared twice", table[i].name);
		if (!table[i].default_text)
			continue;
		r = parse_value(&table[i], table[i].default_text, &number, reterr);
		if (r < 0) {
			fl_error_prefix(reterr, "default of option \"%s\"", table[i].name);
			return r;
		}
	}
	return 0;
}

static int set_row(struct fl_option_set *set, size_t row, const char *label, const char *text, struct fl_error *reterr)
{
	const struct fl_option *option = &set->table[row];
	int64_t number;
	int r = parse_value(option, text, &number, reterr);

	/* A word of the command line that names something; a text of a scenario may be empty. */
	if (r == 0 && !*text && option->value_name && (option->kind == FL_OPTION_STRING || option->kind == FL_OPTION_LIST))
		r = fl_error_input(reterr, "\"\" is empty; expected %s", option->value_name);
	if (r < 0) {
		fl_error_prefix(reterr, "%s", label);
		return r;
	}
	store(&set->table[row], &set->values[row], text, number);
	set->values[row].given = true;
	return 0;
}

int fl_option_set_text(struct fl_option_set *set, const char *what, const char *name, const char *text,
		       struct fl_error *reterr)
{
	size_t row = find_row(set->table, set->count, name);
	char near[96], label[128];

	if (row == set->count)
		return fl_error_input(reterr, "\"%s\" is no %s%s", name, what,
				      hint(set->table, set->count, "", name, near, sizeof(near)));
	snprintf(label, sizeof(label), "%s", name);
	return set_row(set, row, label, text, reterr);
}

int fl_option_assign(struct fl_option_set *set, const char *what, const char *assignment, struct fl_error *reterr)
{
	const char *equals = strchr(assignment, '=');
	size_t row;
	char *name;
	int r;

	if (!equals || equals == assignment)
		return fl_error_input(reterr, "\"%s\" is not of the form key=value", assignment);
	name = fl_xasprintf("%.*s", (int)(equals - assignment), assignment);
	row = find_row(set->table, set->count, name);
	if (row < set->count && set->values[row].given)
		r = fl_error_input(reterr, "\"%s\" is set twice", name);
	else
		r = fl_option_set_text(set, what, name, equals + 1, reterr);
	free(name);
	return r;
}

struct getopt_tables {
	struct option *options;
	char *letters;
};

static struct getopt_tables getopt_tables_new(const struct fl_option *table, size_t count)
{
	struct getopt_tables t = { fl_xcalloc(count + 1, sizeof(*t.options)), fl_xcalloc(2 * count + 2, 1) };
	size_t used = 0;

	t.letters[used++] = ':'; /* tell a missing argument from an unknown option */
	for (size_t i = 0; i < count; i++) {
		bool has_argument = table[i].kind != FL_OPTION_FLAG;

		t.options[i] = (struct option){ table[i].name, has_argument, NULL, FIRST_CODE + (int)i };
		if (table[i].letter) {
			t.letters[used++] = table[i].letter;
			if (has_argument)
				t.letters[used++] = ':';
		}
	}
	return t;
}

/* What getopt_long refused: optopt is 0 for a long word that is unknown, the code of a row that takes no value, or
 * the letter. `word` is the word of the command line that it stands in. */
static int refuse(const struct fl_option_set *set, const char *command, const char *word, struct fl_error *reterr)
{
	char near[96], name[64];

	if (optopt >= FIRST_CODE)
		return fl_error_input(reterr, "option --%s takes no value", set->table[optopt - FIRST_CODE].name);
	if (optopt)
		return fl_error_input(reterr, "\"-%c\" is no option of %s; see \"%s --help\"", optopt, command, command);
	word += 2;
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(word, "="), word);
	return fl_error_input(reterr, "\"--%s\" is no option of %s%s", name, command,
			      hint(set->table, set->count, "--", name, near, sizeof(near)));
}

static size_t row_of_code(const struct fl_option_set *set, int code)
{
	if (code >= FIRST_CODE)
		return (size_t)(code - FIRST_CODE);
	for (size_t i = 0; i < set->count; i++)
		if (set->table[i].letter == code)
			return i;
	return set->count;
}

/* getopt_long takes unambiguous abbreviations; a script that uses one would break when an option is added. */
static bool is_abbreviated(const struct fl_option *option, const char *word)
{
	return !strncmp(word, "--", 2) && word[2] && strcspn(word + 2, "=") < strlen(option->name);
}

static int take(struct fl_option_set *set, const char *command, int code, const char *word, struct fl_error *reterr)
{
	size_t row = row_of_code(set, code);
	char label[128];

	if (code == '?')
		return refuse(set, command, word, reterr);
	if (code == ':') {
		row = row_of_code(set, optopt);
		FL_ASSERT(row < set->count);
		return fl_error_input(reterr, "option --%s needs a value: --%s %s", set->table[row].name,
				      set->table[row].name, fl_option_value_name(&set->table[row]));
	}
	FL_ASSERT(row < set->count);
	snprintf(label, sizeof(label), "--%s", set->table[row].name);
	return set_row(set, row, label, set->table[row].kind == FL_OPTION_FLAG ? "yes" : optarg, reterr);
}

int fl_option_parse(struct fl_option_set *set, int argc, char **argv, int *ret_operands, struct fl_error *reterr)
{
	struct getopt_tables t = getopt_tables_new(set->table, set->count);
	int code, r = 0;

	opterr = 0;
	optind = 0; /* glibc: start afresh */
	while (r == 0 && (code = getopt_long(argc, argv, t.letters, t.options, NULL)) != -1) {
		/* The word of the option is the last one that was consumed, or stands before its argument. */
		const char *word = argv[optind - (optarg && optind >= 2 && optarg == argv[optind - 1] ? 2 : 1)];

		if (code >= FIRST_CODE && is_abbreviated(&set->table[code - FIRST_CODE], word)) {
			code = '?';
			optopt = 0;
		}
		r = take(set, argv[0], code, word, reterr);
	}
	*ret_operands = optind;
	free(t.options);
	free(t.letters);
	return r;
}

const struct fl_option_value *fl_option_value(const struct fl_option_set *set, const char *name)
{
	size_t row = find_row(set->table, set->count, name);

	if (row == set->count)
		fl_bug(__FILE__, __LINE__, "the option is in the table", name);
	return &set->values[row];
}

static const struct fl_option_value *value_of_kind(const struct fl_option_set *set, const char *name, unsigned int kinds)
{
	const struct fl_option_value *value = fl_option_value(set, name);

	if (!(kinds & (1u << set->table[value - set->values].kind)))
		fl_bug(__FILE__, __LINE__, "the option has the kind that is asked for", name);
	return value;
}

int64_t fl_option_number(const struct fl_option_set *set, const char *name)
{
	return value_of_kind(set, name, 1u << FL_OPTION_INT | 1u << FL_OPTION_SIZE | 1u << FL_OPTION_DURATION)->number;
}

bool fl_option_is(const struct fl_option_set *set, const char *name)
{
	return value_of_kind(set, name, 1u << FL_OPTION_FLAG | 1u << FL_OPTION_BOOL)->number != 0;
}

const char *fl_option_text(const struct fl_option_set *set, const char *name)
{
	return value_of_kind(set, name, 1u << FL_OPTION_STRING | 1u << FL_OPTION_CHOICE)->text;
}

bool fl_option_given(const struct fl_option_set *set, const char *name)
{
	return fl_option_value(set, name)->given;
}

const char *fl_option_value_name(const struct fl_option *option)
{
	static const char *const by_kind[] = {
		[FL_OPTION_FLAG] = "", [FL_OPTION_BOOL] = "yes|no", [FL_OPTION_INT] = "N", [FL_OPTION_SIZE] = "SIZE",
		[FL_OPTION_DURATION] = "TIME", [FL_OPTION_STRING] = "TEXT", [FL_OPTION_LIST] = "TEXT",
		[FL_OPTION_CHOICE] = "WORD",
	};

	return option->value_name ? option->value_name : by_kind[option->kind];
}
