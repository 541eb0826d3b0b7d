/* cli/cmd_show.c - prints a stored result again. */
#include <string.h>

#include "cli/experiment.h"
#include "report/result_json.h"
#include "report/table.h"
#include "stats/compare.h"

static const char *const formats[] = { FL_CLI_FORMATS, "json", NULL };
static const struct fl_option options[] = {
	{ .name = "csv", .kind = FL_OPTION_FLAG, .help = "one line for each metric, kernel and run; as --format csv" },
	{ .name = "format", .kind = FL_OPTION_CHOICE, .value_name = "table|csv|mail|mmtests|json", .choices = formats,
	  .default_text = "table", .help = "how to print" },
	{ .name = "counters", .kind = FL_OPTION_FLAG, .help = "all metrics in the table, not only the headline ones" },
	{ .name = "stats", .kind = FL_OPTION_FLAG,
	  .help = "below each difference: SD, p of t and Wilcoxon, runs that rebooted machines would need" },
	{ .name = "work", .kind = FL_OPTION_FLAG,
	  .help = "who did the work and what woke it; what was taken from pageblocks of another type" },
	FL_CLI_HELP_OPTION,
};

static const struct fl_command_example examples[] = {
	{ "fraglab show result.json", "the tables of a stored result" },
	{ "fraglab show result.json --format mail", "text to paste into a mail" },
	{ "fraglab show result.json --format mmtests", "the rows of mmtests' comparison of thpchallenge" },
	{ NULL, NULL },
};

static int run_show(const struct fl_command *self, int argc, char **argv)
{
	struct fl_option_set set;
	struct fl_result result;
	struct fl_error error;
	struct fl_text text;
	const char *format;
	char **operands;
	int status = fl_cli_parse(self, argc, argv, 1, 1, &set, &operands);

	if (status >= 0)
		return status;
	if (fl_result_read_json(operands[0], &result, &error) < 0) {
		fl_option_set_fini(&set);
		return fl_cli_fail(&error);
	}
	if (fl_option_is(&set, "csv") && fl_option_given(&set, "format") && strcmp(fl_option_text(&set, "format"), "csv")) {
		fl_error_input(&error, "--csv and --format %s: leave out one of them", fl_option_text(&set, "format"));
		fl_option_set_fini(&set);
		return fl_cli_fail(&error);
	}
	fl_stats_add_totals(&result); /* a document of an older version may lack them and the runs needed */
	fl_stats_compare_result(&result);
	format = fl_option_is(&set, "csv") ? "csv" : fl_option_text(&set, "format");
	fl_text_init(&text);
	if (!strcmp(format, "json"))
		fl_result_write_json(&result, &text);
	else
		fl_report_as(&result, format, fl_cli_table_flags(&set), &text);
	status = fl_cli_print(&text);
	fl_text_fini(&text);
	fl_result_fini(&result);
	fl_option_set_fini(&set);
	return status;
}

const struct fl_command fl_cmd_show = {
	.name = "show",
	.operands = "RESULT.json",
	.summary = "prints a stored result again",
	.description = "Prints a result that --json stored (\"-\" reads standard input): as tables, as CSV, as text for a mail, or in the rows of mmtests.",
	.options = options,
	.options_count = sizeof(options) / sizeof(options[0]),
	.examples = examples,
	.run = run_show,
};
