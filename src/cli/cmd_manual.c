/* cli/cmd_manual.c - prints the manual page and the shell completion; hidden, used by the build. */
#include "cli/command.h"

static const struct fl_option options[] = { FL_CLI_HELP_OPTION };

static int print(const struct fl_command *self, int argc, char **argv,
		 void (*make)(const struct fl_program *program, struct fl_text *to))
{
	struct fl_option_set set;
	struct fl_text text;
	char **operands;
	int status = fl_cli_parse(self, argc, argv, 0, 0, &set, &operands);

	if (status >= 0)
		return status;
	fl_text_init(&text);
	make(&fl_program, &text);
	status = fl_cli_print(&text);
	fl_text_fini(&text);
	fl_option_set_fini(&set);
	return status;
}

static int run_manual(const struct fl_command *self, int argc, char **argv)
{
	return print(self, argc, argv, fl_program_manual);
}

static int run_completion(const struct fl_command *self, int argc, char **argv)
{
	return print(self, argc, argv, fl_program_completion);
}

const struct fl_command fl_cmd_manual = {
	.name = "manual",
	.summary = "prints the manual page",
	.description = "Prints the manual page (roff), made from the option tables.",
	.options = options,
	.options_count = 1,
	.hidden = true,
	.run = run_manual,
};

const struct fl_command fl_cmd_completion = {
	.name = "completion",
	.summary = "prints the completion for bash",
	.description = "Prints the completion for bash, made from the option tables.",
	.options = options,
	.options_count = 1,
	.hidden = true,
	.run = run_completion,
};
