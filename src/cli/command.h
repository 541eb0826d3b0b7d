/*
 * cli/command.h - the subcommands and what they share: printing, errors, exit status.
 *
 * A new subcommand is one file cmd_<name>.c with one struct fl_command, its line below and its row in program.c.
 */
#ifndef FL_CLI_COMMAND_H
#define FL_CLI_COMMAND_H

#include "base/command.h"

extern const struct fl_command fl_cmd_run, fl_cmd_compare, fl_cmd_list, fl_cmd_show, fl_cmd_inspect, fl_cmd_snapshot, fl_cmd_fidelity,
	fl_cmd_bench, fl_cmd_calibrate,
	fl_cmd_manual, fl_cmd_completion;

extern const struct fl_program fl_program;

/* main() of the program, with the model that is linked in (cli/model.h). */
int fl_cli_main(int argc, char **argv);

/* Prints "fraglab: sentence." on standard error and returns the exit status of the error's class. */
int fl_cli_fail(const struct fl_error *error);

/* Writes to standard output; returns 0 or the exit status of the failure, which is printed. */
int fl_cli_print(const struct fl_text *text);

/* A message on standard error. */
void fl_cli_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * Parses a command line of `self` into *set (made here). Returns -1 to go on; otherwise the exit status: --help was
 * printed, or the line was refused. Fewer or more operands than [least, most] are refused.
 */
int fl_cli_parse(const struct fl_command *self, int argc, char **argv, int least, int most, struct fl_option_set *set,
		 char ***ret_operands);

/* The row of --help, last in every table. */
#define FL_CLI_HELP_OPTION { .name = "help", .letter = 'h', .kind = FL_OPTION_FLAG, .help = "prints this text" }

#endif
