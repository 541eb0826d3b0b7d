/* cli/program.c - the table of subcommands, and main() but for its name. */
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"

#include "report/output.h"
#include "version.h"

static const struct fl_command *const commands[] = {
	&fl_cmd_compare, &fl_cmd_run, &fl_cmd_list, &fl_cmd_show, &fl_cmd_inspect, &fl_cmd_snapshot, &fl_cmd_fidelity, &fl_cmd_bench,
	&fl_cmd_calibrate,
	&fl_cmd_manual, &fl_cmd_completion,
};

const struct fl_program fl_program = {
	.name = "fraglab",
	.version = FL_VERSION,
	.summary = "laboratory for physical-memory fragmentation and huge pages on Linux",
	.description =
		"fraglab answers, in minutes and with statistics, whether a change to page placement, compaction, "
		"watermarks or khugepaged gets Linux more huge pages, at what cost, paid by whom, and whether the "
		"difference is larger than the noise. It runs scenarios on a model of the kernel's memory management.",
	.commands = commands,
	.commands_count = sizeof(commands) / sizeof(commands[0]),
};

void fl_cli_say(const char *fmt, ...)
{
	struct fl_text text;
	va_list ap;

	fl_text_init(&text);
	fl_text_add(&text, "fraglab: ");
	va_start(ap, fmt);
	fl_text_vadd(&text, fmt, ap);
	va_end(ap);
	fl_text_add_char(&text, '\n', 1);
	fl_output_write(STDERR_FILENO, "standard error", text.data, text.length, NULL);
	fl_text_fini(&text);
}

int fl_cli_fail(const struct fl_error *error)
{
	fl_cli_say("%s", error->text);
	return (int)error->class;
}

int fl_cli_print(const struct fl_text *text)
{
	struct fl_error error;

	if (fl_output_write(STDOUT_FILENO, "standard output", text->data, text->length, &error) < 0)
		return fl_cli_fail(&error);
	return 0;
}

static int print_help(const struct fl_command *command, const char *operand)
{
	struct fl_text text;
	int status;

	fl_text_init(&text);
	if (command)
		fl_command_help(&fl_program, command, &text);
	if (command && command->help_more && operand)
		command->help_more(operand, &text);
	if (!command)
		fl_program_help(&fl_program, &text);
	status = fl_cli_print(&text);
	fl_text_fini(&text);
	return status;
}

static int check_operands(const struct fl_command *self, int argc, char **argv, int first, int least, int most,
			  struct fl_error *reterr)
{
	if (argc - first < least)
		return fl_error_input(reterr, "%s needs %s; \"fraglab %s --help\" says more", self->name, self->operands,
				      self->name);
	for (int i = first; i < argc; i++)
		if (!argv[i][0])
			return fl_error_input(reterr, "a word of the command line is empty (\"\"); expected: fraglab %s %s",
					      self->name, self->operands ? self->operands : "[OPTIONS]");
	if (argc - first > most)
		return fl_error_input(reterr, "\"%s\" is one word too many for %s; expected: fraglab %s%s%s",
				      argv[first + most], self->name, self->name, self->operands ? " " : "",
				      self->operands ? self->operands : "");
	return 0;
}

int fl_cli_parse(const struct fl_command *self, int argc, char **argv, int least, int most, struct fl_option_set *set,
		 char ***ret_operands)
{
	struct fl_error error;
	int first, r, status;

	fl_option_set_init(set, self->options, self->options_count);
	r = fl_option_parse(set, argc, argv, &first, &error);
	if (fl_option_is(set, "help")) {
		status = print_help(self, r == 0 && first < argc ? argv[first] : NULL);
	} else {
		if (r == 0)
			r = check_operands(self, argc, argv, first, least, most, &error);
		if (r == 0) {
			*ret_operands = argv + first;
			return -1;
		}
		status = fl_cli_fail(&error);
	}
	fl_option_set_fini(set);
	return status;
}

static int print_version(void)
{
	struct fl_text text;
	int status;

	fl_text_init(&text);
	fl_text_add(&text, "fraglab %s (%s)\n", FL_VERSION, FL_COMMIT);
	status = fl_cli_print(&text);
	fl_text_fini(&text);
	return status;
}

/*
 * A standard stream that the caller closed would be the number of the next file that we open. Descriptors 0 to 2 get
 * a file that refuses what is asked of them.
 */
static void occupy_standard_streams(void)
{
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) < 0)
			_exit(1);
}

int fl_cli_main(int argc, char **argv)
{
	const struct fl_command *command;
	struct fl_error error;

	occupy_standard_streams();
	json_set_alloc_funcs(fl_xmalloc, fl_xfree); /* a member that is left out for lack of memory would be a lie */
	signal(SIGPIPE, SIG_IGN); /* a closed pipe is an error of write(), with a sentence */
	if (argc < 2) {
		fl_cli_say("a command is missing; \"fraglab --help\" lists them");
		return FL_ERROR_INPUT;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
		return print_help(NULL, NULL);
	if (!strcmp(argv[1], "--version"))
		return print_version();
	if (!strcmp(argv[1], "help") && argc == 2)
		return print_help(NULL, NULL);
	command = fl_command_find(&fl_program, argv[1 + (!strcmp(argv[1], "help"))], &error);
	if (!command)
		return fl_cli_fail(&error);
	if (!strcmp(argv[1], "help"))
		return print_help(command, NULL);
	return command->run(command, argc - 1, argv + 1);
}
