/*
 * base/command.h - the table of subcommands, and what is generated from it: --help, manual page, shell completion.
 *
 * A subcommand is one struct fl_command: its words and its option table. The texts are generated, never typed twice.
 */
#ifndef FL_BASE_COMMAND_H
#define FL_BASE_COMMAND_H

#include "base/option.h"
#include "base/text.h"

struct fl_command_example {
	const char *line; /* as typed */
	const char *what; /* what it does, one clause */
};

struct fl_command {
	const char *name;
	const char *operands;    /* as in "SCENARIO", "[FILE]"; NULL: none */
	const char *summary;     /* one clause, lower case, no full stop */
	const char *description; /* whole sentences, paragraphs divided by an empty line */
	const struct fl_option *options;
	size_t options_count;
	const struct fl_command_example *examples; /* ends with line == NULL; may be NULL */
	const char *const *operand_words;          /* for completion, NULL-terminated; may be NULL */
	bool hidden;
	/* Appends to --help what is known of the operand that stands on the line; may be NULL. */
	void (*help_more)(const char *operand, struct fl_text *to);
	int (*run)(const struct fl_command *self, int argc, char **argv); /* returns the exit status */
};

/* The program as a whole, for the manual and the general help. */
struct fl_program {
	const char *name, *version, *summary, *description;
	const struct fl_command *const *commands;
	size_t commands_count;
};

/* The command `name`, or NULL with a sentence that has the nearest name. */
const struct fl_command *fl_command_find(const struct fl_program *program, const char *name, struct fl_error *reterr);

/* Wraps at 80 columns; the cursor stands at `column`, further lines start at `indent`. An empty line divides paragraphs. */
void fl_help_wrap(struct fl_text *to, size_t column, size_t indent, const char *text);

/* Texts at 80 columns. */
void fl_command_help(const struct fl_program *program, const struct fl_command *command, struct fl_text *to);
void fl_program_help(const struct fl_program *program, struct fl_text *to);

/* Rows "key=VALUE  help" of options that are given as key=value (scenarios). */
void fl_option_help_assignments(const struct fl_option *table, size_t count, struct fl_text *to);

/* The manual page (roff, section 1) and the completion for bash. */
void fl_program_manual(const struct fl_program *program, struct fl_text *to);
void fl_program_completion(const struct fl_program *program, struct fl_text *to);

#endif
