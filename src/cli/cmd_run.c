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

static int check_kernels(const struct fl_option_set *line, struct fl_error *reterr)
{
	if (fl_option_value(line, "kernel")->list_count > 1)
		return fl_error_input(reterr, "run takes one --kernel; \"fraglab compare\" takes several");
	return 0;
}

static int run_run(const struct fl_command *self, int argc, char **argv)
{
	return fl_cli_experiment_main(self, argc, argv, check_kernels);
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
