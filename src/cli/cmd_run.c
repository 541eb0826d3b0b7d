/* cli/cmd_run.c - one kernel. */
#include "cli/experiment.h"

static const struct fl_option options[] = {
	{ .name = "kernel", .letter = 'k', .kind = FL_OPTION_LIST, .value_name = "SPEC", .category = "Runs",
	  .once = true, .help = "BASE{+PATCH}{~PATCH}{,TUNABLE=VALUE}" },
	{ .name = "runs", .letter = 'n', .kind = FL_OPTION_STRING, .value_name = "N|auto=PCT", .default_text = "1",
	  .category = "Runs", .help = "runs, each with its own seed; auto adds runs until the 95 % intervals are that narrow" },
	FL_CLI_EXPERIMENT_ROWS,
	{ .name = "trace", .kind = FL_OPTION_STRING, .value_name = "FILE", .category = "Output",
	  .help = "writes the events of the model in the text format of ftrace" },
	FL_CLI_MACHINE_ROWS,
	FL_CLI_HELP_OPTION,
};

static const struct fl_command_example examples[] = {
	{ "fraglab run guard-pages --kernel 6.12 --memory 4G --set rounds=2 --seed 7", "one run on a small machine" },
	{ "fraglab run guard-pages --trace events.txt", "every event of the allocator, to see why this pageblock was taken" },
	{ NULL, NULL },
};

static int run_run(const struct fl_command *self, int argc, char **argv)
{
	struct fl_cli_experiment e = { 0 };
	struct fl_option_set set;
	struct fl_error error;
	char **operands;
	int status = fl_cli_parse(self, argc, argv, 1, 1, &set, &operands), r;

	if (status >= 0)
		return status;
	if (fl_option_value(&set, "kernel")->list_count > 1)
		r = fl_error_input(&error, "run takes one --kernel; \"fraglab compare\" takes several");
	else
		r = fl_cli_experiment_init(&e, &set, argc, argv, operands[0], &error);
	status = r < 0 ? fl_cli_fail(&error) : fl_cli_experiment_run(&e);
	fl_cli_experiment_fini(&e);
	fl_option_set_fini(&set);
	return status;
}

const struct fl_command fl_cmd_run = {
	.name = "run",
	.operands = "SCENARIO",
	.summary = "runs a scenario on one kernel",
	.description = "Runs a scenario on one kernel and prints what it measured. A scenario is a name from "
		       "\"fraglab list scenarios\" or a path to a .lua file; \"fraglab run SCENARIO --help\" lists its options.",
	.options = options,
	.options_count = sizeof(options) / sizeof(options[0]),
	.examples = examples,
	.help_more = fl_cli_experiment_help,
	.run = run_run,
};
