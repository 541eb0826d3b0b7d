/* cli/cmd_list.c - what there is: kernels, patches, scenarios, tunables, counters. */
#include "base/names.h"
#include "cli/command.h"
#include "cli/model.h"
#include "report/table.h"

#include <string.h>

static const char *const subjects[] = { "kernels", "patches", "scenarios", "tunables", "counters", NULL };
enum { SUBJECTS = sizeof(subjects) / sizeof(subjects[0]) - 1 };

static const struct fl_option options[] = {
	{ .name = "facts", .kind = FL_OPTION_FLAG,
	  .help = "with kernels: where each decision comes from (read in the source, from list mail, or inferred)" },
	FL_CLI_HELP_OPTION,
};

static const struct fl_command_example examples[] = {
	{ "fraglab list kernels", "base versions, and which patches each contains" },
	{ "fraglab list scenarios", "the experiments that come with fraglab" },
	{ NULL, NULL },
};

static int find_subject(const char *word, enum fl_cli_list *ret, struct fl_error *reterr)
{
	char near[96];

	for (int i = 0; i < SUBJECTS; i++) {
		if (!strcmp(word, subjects[i])) {
			*ret = (enum fl_cli_list)i;
			return 0;
		}
	}
	return fl_error_input(reterr, "\"%s\" cannot be listed; expected kernels, patches, scenarios, tunables or counters%s",
			      word, fl_names_hint(word, subjects, SUBJECTS, near, sizeof(near)));
}

static int list(const char *word, bool facts, struct fl_error *reterr)
{
	struct fl_text rows, table;
	enum fl_cli_list what = FL_CLI_LIST_KERNELS;
	int r = find_subject(word, &what, reterr);

	if (r == 0 && facts && what != FL_CLI_LIST_KERNELS)
		r = fl_error_input(reterr, "--facts goes with \"list kernels\", not with \"list %s\"", word);
	if (r < 0)
		return r;
	fl_text_init(&rows);
	fl_text_init(&table);
	r = fl_cli_model.list(what, facts, &rows, reterr);
	if (r == 0) {
		fl_report_columns(rows.data, &table);
		r = fl_cli_print(&table); /* positive: an exit status, the failure is printed */
	}
	fl_text_fini(&rows);
	fl_text_fini(&table);
	return r;
}

static int run_list(const struct fl_command *self, int argc, char **argv)
{
	struct fl_option_set set;
	struct fl_error error;
	char **operands;
	int status = fl_cli_parse(self, argc, argv, 1, 1, &set, &operands);

	if (status >= 0)
		return status;
	status = list(operands[0], fl_option_is(&set, "facts"), &error);
	if (status < 0)
		status = fl_cli_fail(&error);
	fl_option_set_fini(&set);
	return status;
}

const struct fl_command fl_cmd_list = {
	.name = "list",
	.operands = "kernels|patches|scenarios|tunables|counters",
	.summary = "lists kernels, patches, scenarios, tunables or counters",
	.description = "Lists what the other commands take by name, one a line with a clause about each.",
	.options = options,
	.options_count = sizeof(options) / sizeof(options[0]),
	.examples = examples,
	.operand_words = subjects,
	.run = run_list,
};
