/*
 * base/command.c - texts that are generated from the table of subcommands: help, manual page, completion.
 */
#include "base/command.h"

#include <stdlib.h>
#include <string.h>

#include "base/names.h"

enum { WIDTH = 80, HELP_COLUMN = 24 };

const struct fl_command *fl_command_find(const struct fl_program *program, const char *name, struct fl_error *reterr)
{
	const char *names[32];
	char near[96];
	size_t count = 0;

	for (size_t i = 0; i < program->commands_count && count < 32; i++) {
		if (!strcmp(program->commands[i]->name, name))
			return program->commands[i];
		if (!program->commands[i]->hidden)
			names[count++] = program->commands[i]->name;
	}
	fl_names_hint(name, names, count, near, sizeof(near));
	fl_error_input(reterr, "\"%s\" is no command of %s%s%s", name, program->name, near,
		       near[0] ? "" : "; \"fraglab --help\" lists them");
	return NULL;
}

void fl_help_wrap(struct fl_text *to, size_t column, size_t indent, const char *text)
{
	while (*text) {
		size_t word = strcspn(text, " \n"), gap = column > indent;

		if (column + gap + word > WIDTH && column > indent) {
			fl_text_add_char(to, '\n', 1);
			fl_text_add_char(to, ' ', indent);
			column = indent;
			gap = 0;
		}
		fl_text_add_char(to, ' ', gap);
		fl_text_add_bytes(to, text, word);
		column += gap + word;
		text += word;
		if (!strncmp(text, "\n\n", 2)) {
			fl_text_add(to, "\n\n");
			fl_text_add_char(to, ' ', indent);
			column = indent;
		}
		text += strspn(text, " \n");
	}
	fl_text_add_char(to, '\n', 1);
}

/* "-k, --kernel SPEC" */
static void add_option_head(const struct fl_option *option, struct fl_text *to)
{
	const char *value = fl_option_value_name(option);

	if (option->letter)
		fl_text_add(to, "-%c, ", option->letter);
	fl_text_add(to, "--%s%s%s", option->name, value[0] ? " " : "", value);
}

/* What stands behind the help clause: defaults and repetition. */
static void add_option_tail(const struct fl_option *option, struct fl_text *to)
{
	fl_text_add(to, "%s", option->help ? option->help : "");
	for (const char *const *word = option->kind == FL_OPTION_CHOICE && !option->value_name ? option->choices : NULL;
	     word && *word; word++)
		fl_text_add(to, "%s%s", word == option->choices ? ": " : ", ", *word);
	if (option->kind == FL_OPTION_LIST && !option->once)
		fl_text_add(to, " (may be repeated)");
	if (option->default_text)
		fl_text_add(to, " [%s]", option->default_text);
}

/* The head, and the tail of the option behind it from HELP_COLUMN on. */
static void add_option_row(const struct fl_text *head, const struct fl_option *option, struct fl_text *to)
{
	size_t column = head->length;
	struct fl_text tail;

	fl_text_init(&tail);
	add_option_tail(option, &tail);
	fl_text_add(to, "%s", head->data);
	if (column + 2 > HELP_COLUMN) {
		fl_text_add_char(to, '\n', 1);
		column = 0;
	}
	fl_text_add_char(to, ' ', HELP_COLUMN - column);
	fl_help_wrap(to, HELP_COLUMN, HELP_COLUMN, tail.data);
	fl_text_fini(&tail);
}

static void add_option_help(const struct fl_option *option, struct fl_text *to)
{
	struct fl_text head;

	fl_text_init(&head);
	fl_text_add(&head, option->letter ? "  " : "      ");
	add_option_head(option, &head);
	add_option_row(&head, option, to);
	fl_text_fini(&head);
}

void fl_option_help_assignments(const struct fl_option *table, size_t count, struct fl_text *to)
{
	struct fl_text head;

	fl_text_init(&head);
	for (size_t i = 0; i < count; i++) {
		fl_text_clear(&head);
		fl_text_add(&head, "  %s=%s", table[i].name, fl_option_value_name(&table[i]));
		add_option_row(&head, &table[i], to);
	}
	fl_text_fini(&head);
}

static const char *category_of(const struct fl_option *option)
{
	return option->category ? option->category : "Options";
}

/* True for the first visible row of its category: headings come in the order of the table. */
static bool opens_category(const struct fl_command *command, size_t row)
{
	if (command->options[row].hidden)
		return false;
	for (size_t i = 0; i < row; i++)
		if (!command->options[i].hidden &&
		    !strcmp(category_of(&command->options[i]), category_of(&command->options[row])))
			return false;
	return true;
}

typedef void (*option_printer)(const struct fl_option *option, struct fl_text *to);

static void each_of_category(const struct fl_command *command, const char *category, option_printer print,
			     struct fl_text *to)
{
	for (size_t i = 0; i < command->options_count; i++)
		if (!command->options[i].hidden && !strcmp(category_of(&command->options[i]), category))
			print(&command->options[i], to);
}

void fl_command_help(const struct fl_program *program, const struct fl_command *command, struct fl_text *to)
{
	fl_text_add(to, "usage: %s %s%s%s%s\n\n", program->name, command->name, command->options_count ? " [OPTIONS]" : "",
		    command->operands ? " " : "", command->operands ? command->operands : "");
	fl_help_wrap(to, 0, 0, command->description);
	for (size_t i = 0; i < command->options_count; i++) {
		if (!opens_category(command, i))
			continue;
		fl_text_add(to, "\n%s:\n", category_of(&command->options[i]));
		each_of_category(command, category_of(&command->options[i]), add_option_help, to);
	}
	if (command->examples)
		fl_text_add(to, "\nExamples:\n");
	for (const struct fl_command_example *e = command->examples; e && e->line; e++) {
		fl_text_add(to, "  %s\n      ", e->line);
		fl_help_wrap(to, 6, 6, e->what);
	}
}

void fl_program_help(const struct fl_program *program, struct fl_text *to)
{
	fl_text_add(to, "usage: %s COMMAND [OPTIONS] [OPERANDS]\n\n", program->name);
	fl_help_wrap(to, 0, 0, program->description);
	fl_text_add(to, "\nCommands:\n");
	for (size_t i = 0; i < program->commands_count; i++) {
		const struct fl_command *c = program->commands[i];

		if (c->hidden)
			continue;
		fl_text_add(to, "  %-12s", c->name);
		fl_help_wrap(to, 14, 14, c->summary);
	}
	fl_text_add(to, "\n\"%s COMMAND --help\" says more; \"man %s\" says all.\n", program->name, program->name);
	fl_help_wrap(to, 0, 0, "Exit status: 0 done, 1 the work failed, 2 wrong usage or input, 3 this machine lacks something, "
		       "130 interrupted.");
}

/* Text for roff: backslashes and dashes are escaped, a line never starts with a dot or an apostrophe. */
static void roff(struct fl_text *to, const char *text)
{
	bool line_start = true;

	for (; *text; text++) {
		if (!strncmp(text, "\n\n", 2)) {
			fl_text_add(to, "\n.PP\n");
			text++;
			line_start = true;
			continue;
		}
		if (line_start && (*text == '.' || *text == '\''))
			fl_text_add(to, "\\&");
		if (*text == '\\')
			fl_text_add(to, "\\e");
		else if (*text == '-')
			fl_text_add(to, "\\-");
		else
			fl_text_add_char(to, *text, 1);
		line_start = *text == '\n';
	}
}

static void roff_option(const struct fl_option *option, struct fl_text *to)
{
	struct fl_text s;

	fl_text_init(&s);
	add_option_head(option, &s);
	fl_text_add(to, ".TP\n.B ");
	roff(to, s.data);
	fl_text_clear(&s);
	add_option_tail(option, &s);
	fl_text_add(to, "\n");
	roff(to, s.data);
	fl_text_add(to, "\n");
	fl_text_fini(&s);
}

static void roff_command(const struct fl_program *program, const struct fl_command *command, struct fl_text *to)
{
	fl_text_add(to, ".SS %s %s%s%s%s\n", program->name, command->name, command->options_count ? " [OPTIONS]" : "",
		    command->operands ? " " : "", command->operands ? command->operands : "");
	roff(to, command->description);
	fl_text_add(to, "\n");
	for (size_t i = 0; i < command->options_count; i++) {
		if (!opens_category(command, i))
			continue;
		fl_text_add(to, ".PP\n%s:\n", category_of(&command->options[i]));
		each_of_category(command, category_of(&command->options[i]), roff_option, to);
	}
}

void fl_program_manual(const struct fl_program *program, struct fl_text *to)
{
	fl_text_add(to, ".\\\" generated from the option tables\n.TH FRAGLAB 1 \"\" \"%s %s\" \"User Commands\"\n",
		    program->name, program->version);
	fl_text_add(to, ".SH NAME\n%s \\- ", program->name);
	roff(to, program->summary);
	fl_text_add(to, "\n.SH SYNOPSIS\n.B %s\n.I COMMAND\n[OPTIONS] [OPERANDS]\n.SH DESCRIPTION\n", program->name);
	roff(to, program->description);
	fl_text_add(to, "\n.SH COMMANDS\n");
	for (size_t i = 0; i < program->commands_count; i++)
		if (!program->commands[i]->hidden)
			roff_command(program, program->commands[i], to);
	fl_text_add(to, ".SH EXIT STATUS\n.TP\n.B 0\ndone\n.TP\n.B 1\nthe work failed\n.TP\n.B 2\nwrong usage or input\n"
			".TP\n.B 3\nthis machine lacks something\n.TP\n.B 130\ninterrupted\n.SH EXAMPLES\n");
	for (size_t i = 0; i < program->commands_count; i++) {
		for (const struct fl_command_example *e = program->commands[i]->examples; e && e->line; e++) {
			fl_text_add(to, ".TP\n.B ");
			roff(to, e->line);
			fl_text_add(to, "\n");
			roff(to, e->what);
			fl_text_add(to, "\n");
		}
	}
}

static void add_words(struct fl_text *to, const char *const *words)
{
	for (; words && *words; words++)
		fl_text_add(to, " %s", *words);
}

static void completion_of_command(const struct fl_command *command, struct fl_text *to)
{
	fl_text_add(to, "\t%s)\n\t\twords=\"--help", command->name);
	for (size_t i = 0; i < command->options_count; i++)
		if (!command->options[i].hidden && strcmp(command->options[i].name, "help"))
			fl_text_add(to, " --%s", command->options[i].name);
	add_words(to, command->operand_words);
	fl_text_add(to, "\"\n\t\tcase $previous in\n");
	for (size_t i = 0; i < command->options_count; i++) {
		const struct fl_option *option = &command->options[i];

		if (option->hidden || option->kind == FL_OPTION_FLAG)
			continue;
		fl_text_add(to, "\t\t--%s) words=\"", option->name);
		add_words(to, option->choices);
		fl_text_add(to, "\" ;;\n");
	}
	fl_text_add(to, "\t\tesac ;;\n");
}

void fl_program_completion(const struct fl_program *program, struct fl_text *to)
{
	fl_text_add(to, "# bash completion for %s, generated from the option tables\n_%s()\n{\n", program->name,
		    program->name);
	fl_text_add(to, "\tlocal words= current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}\n"
			"\tif [ \"$COMP_CWORD\" -eq 1 ]; then\n\t\twords=\"--help --version");
	for (size_t i = 0; i < program->commands_count; i++)
		if (!program->commands[i]->hidden)
			fl_text_add(to, " %s", program->commands[i]->name);
	fl_text_add(to, "\"\n\tfi\n\t[ \"$COMP_CWORD\" -gt 1 ] && case ${COMP_WORDS[1]} in\n");
	for (size_t i = 0; i < program->commands_count; i++)
		if (!program->commands[i]->hidden)
			completion_of_command(program->commands[i], to);
	fl_text_add(to, "\tesac\n\tCOMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n}\n"
			"complete -o default -F _%s %s\n", program->name, program->name);
}
