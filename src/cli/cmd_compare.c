/* cli/cmd_compare.c - the main job: kernels against each other, run by run. */
#include "cli/experiment.h"

static const struct fl_option options[] = {
	{ .name = "kernel", .letter = 'k', .kind = FL_OPTION_LIST, .value_name = "SPEC", .category = "Runs",
	  .help = "BASE{+PATCH}{~PATCH}{,TUNABLE=VALUE}; the first is the base of every comparison" },
	{ .name = "runs", .letter = 'n', .kind = FL_OPTION_STRING, .value_name = "N|auto=PCT", .default_text = "4",
	  .category = "Runs", .help = "runs of each kernel, paired by seed; auto adds runs until the 95 % intervals are that narrow" },
	FL_CLI_EXPERIMENT_ROWS,
	{ .name = "trace", .kind = FL_OPTION_STRING, .value_name = "FILE", .hidden = true,
	  .help = "one run of one kernel only: see fraglab run" },
	FL_CLI_MACHINE_ROWS,
	FL_CLI_HELP_OPTION,
};

static const struct fl_command_example examples[] = {
	{ "fraglab compare type-pressure --kernel 7.3 --kernel 7.3+mobility --runs 4",
	  "does the mobility set help, and is it more than noise?" },
	{ "fraglab compare type-pressure --kernel 7.3 --kernel 7.3,vm.compaction_proactiveness=60 --json result.json",
	  "the same kernel with another tunable, stored" },
	{ NULL, NULL },
};

static int check_kernels(const struct fl_option_set *line, struct fl_error *reterr)
{
	if (fl_option_value(line, "kernel")->list_count < 2)
		return fl_error_input(reterr, "compare needs two kernels or more: --kernel 7.3 --kernel 7.3+mobility");
	return 0;
}

static int run_compare(const struct fl_command *self, int argc, char **argv)
{
	return fl_cli_experiment_main(self, argc, argv, check_kernels);
}

const struct fl_command fl_cmd_compare = {
	.name = "compare",
	.operands = "SCENARIO",
	.summary = "compares kernels on a scenario, with statistics",
	.description = "Runs a scenario several times on each kernel, pairs the runs by seed, and says of each metric "
		       "whether it is better, worse, or no difference is shown. A scenario is a name from \"fraglab list "
		       "scenarios\" or a path to a .lua file; \"fraglab compare SCENARIO --help\" lists its options.",
	.options = options,
	.options_count = sizeof(options) / sizeof(options[0]),
	.examples = examples,
	.help_more = fl_cli_experiment_help,
	.run = run_compare,
};
