/* cli/cmd_calibrate.c - measures the table of costs on this host and writes it as a file for --costs. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/size.h"
#include "calibrate/calibrate.h"
#include "cli/command.h"
#include "cli/model.h"
#include "report/output.h"
#include "report/table.h"

static const struct fl_option options[] = {
	{ .name = "memory", .letter = 'm', .kind = FL_OPTION_SIZE, .default_text = "384M", .min = 96 << 20,
	  .max = INT64_C(1) << 40, .help = "memory in use at a time; a third should be more than the caches hold" },
	{ .name = "repetitions", .kind = FL_OPTION_INT, .default_text = "7", .min = 3, .max = FL_CALIBRATE_REPETITIONS_MAX,
	  .help = "repetitions of each measurement; the median counts" },
	{ .name = "quiet", .letter = 'q', .kind = FL_OPTION_FLAG, .help = "no progress line, no table" },
	FL_CLI_HELP_OPTION,
};

static const struct fl_command_example examples[] = {
	{ "fraglab calibrate", "measures and shows" },
	{ "fraglab calibrate host.costs", "and writes a file" },
	{ "fraglab run type-pressure --costs host.costs", "uses it" },
	{ NULL, NULL },
};

static volatile int stop;

static void on_signal(int number)
{
	(void)number;
	stop = 1;
}

static void catch_signals(void)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };

	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++) {
		struct sigaction old;

		if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			sigaction(signals[i], &(struct sigaction){ .sa_handler = on_signal, .sa_flags = SA_RESTART }, NULL);
	}
}

static bool cost_of(const char *name, uint32_t *ret)
{
	for (size_t i = 0; fl_cli_model.cost_at(i).name; i++) {
		if (strcmp(fl_cli_model.cost_at(i).name, name))
			continue;
		*ret = fl_cli_model.cost_at(i).value;
		return true;
	}
	return false;
}

static void show_progress(const char *what, unsigned int done, unsigned int count)
{
	struct fl_text line;

	fl_text_init(&line);
	fl_text_add(&line, "\r\033[K%u of %u: %s", done + 1, count, what);
	fl_output_write(STDERR_FILENO, "standard error", line.data, line.length, NULL);
	fl_text_fini(&line);
}

static void end_progress(void)
{
	fl_output_write(STDERR_FILENO, "standard error", "\r\033[K", 4, NULL);
}

/* ---- the file ---- */

static void add_head(const struct fl_calibration *c, int64_t memory, struct fl_text *to)
{
	struct utsname host;
	time_t now = time(NULL);
	char when[40] = "", size[32];
	struct tm tm;

	if (gmtime_r(&now, &tm))
		strftime(when, sizeof(when), "%Y-%m-%d", &tm);
	fl_text_add(to, "# Costs in ns of CPU, for fraglab --costs; written by fraglab calibrate");
	if (uname(&host) == 0)
		fl_text_add(to, " on %s, %s %s", when, host.sysname, host.release);
	fl_text_add(to, ".\n# Each: value # median of n repetitions (lowest to highest) of what was measured, less what is not part of it.\n"
		    "# Memory in use: %s.\n", fl_size_format(memory, size, sizeof(size)));
	if (c->stopped)
		fl_text_add(to, "# Interrupted: what was not measured yet is not here.\n");
}

static void add_row(const struct fl_calibrated *row, struct fl_text *to)
{
	char median[32], low[32], high[32];

	fl_text_add(to, "# %s of %u (%s to %s): %s%s%s\n", fl_report_number(row->median_ns, median, sizeof(median)),
		    row->repetitions, fl_report_number(row->low_ns, low, sizeof(low)),
		    fl_report_number(row->high_ns, high, sizeof(high)), row->method, row->less[0] ? "; less " : "", row->less);
}

static const struct fl_calibrated *row_of(const struct fl_calibration *c, const char *cost)
{
	for (size_t i = 0; i < c->count; i++)
		if (c->rows[i].cost && !strcmp(c->rows[i].cost, cost))
			return &c->rows[i];
	return NULL;
}

static void write_file(const struct fl_calibration *c, int64_t memory, struct fl_text *to)
{
	add_head(c, memory, to);
	for (size_t i = 0; fl_cli_model.cost_at(i).name; i++) {
		struct fl_cli_cost cost = fl_cli_model.cost_at(i);
		const struct fl_calibrated *row = row_of(c, cost.name);

		if (row && row->has_value) {
			fl_text_add(to, "%s %u ", cost.name, row->value);
			add_row(row, to);
			continue;
		}
		fl_text_add(to, "# %s keeps %u: %s\n", cost.name, cost.value,
			    row ? row->why_not : "not measured");
	}
	for (size_t i = 0; i < c->count; i++) { /* what gives no cost */
		if (c->rows[i].cost || !c->rows[i].measured)
			continue;
		fl_text_add(to, "# %s ", c->rows[i].name);
		add_row(&c->rows[i], to);
	}
}

/* ---- the table ---- */

static void write_table(const struct fl_calibration *c, struct fl_text *to)
{
	size_t kept = 0;

	fl_text_add(to, "%-18s %9s %9s %9s   %s\n", "cost, ns", "table", "here", "spread", "measured as");
	for (size_t i = 0; fl_cli_model.cost_at(i).name; i++) {
		struct fl_cli_cost cost = fl_cli_model.cost_at(i);
		const struct fl_calibrated *row = row_of(c, cost.name);
		char spread[32];

		if (!row || !row->has_value) {
			kept++;
			continue;
		}
		snprintf(spread, sizeof(spread), "%.0f %%", 100 * (row->high_ns - row->low_ns) / row->median_ns);
		fl_text_add(to, "%-18s %9u %9u %9s   %s\n", cost.name, cost.value, row->value, spread, row->name);
	}
	for (size_t i = 0; i < c->count; i++)
		if (c->rows[i].measured && !c->rows[i].cost)
			fl_text_add(to, "%s: %.0f ns, %s\n", c->rows[i].name, c->rows[i].median_ns, c->rows[i].method);
	for (size_t i = 0; i < c->count; i++)
		if (!c->rows[i].measured || (c->rows[i].cost && !c->rows[i].has_value))
			fl_text_add(to, "%s: %s\n", c->rows[i].name, c->rows[i].why_not);
	fl_text_add(to, "%zu costs keep the table's values.\n", kept);
}

/* ---- the command ---- */

static int deliver(const struct fl_calibration *c, int64_t memory, struct fl_output *file, bool quiet)
{
	struct fl_error error;
	struct fl_text text;
	int status = 0;

	fl_text_init(&text);
	if (!quiet && file->fd != 1) {
		write_table(c, &text);
		status = fl_cli_print(&text);
	}
	fl_text_clear(&text);
	write_file(c, memory, &text);
	if (file->path && fl_output_commit(file, text.data, text.length, &error) < 0)
		status = fl_cli_fail(&error);
	fl_text_fini(&text);
	return status ? status : c->stopped ? FL_ERROR_INTERRUPTED : 0;
}

static int run_calibrate(const struct fl_command *self, int argc, char **argv)
{
	struct fl_output file = { .fd = -1 };
	struct fl_calibration calibration = { 0 };
	struct fl_option_set set;
	struct fl_error error;
	char **operands;
	const char *folder = getenv("TMPDIR");
	int status = fl_cli_parse(self, argc, argv, 0, 1, &set, &operands), r;
	bool quiet;

	if (status >= 0)
		return status;
	quiet = fl_option_is(&set, "quiet");
	r = operands[0] ? fl_output_open(operands[0], &file, &error) : 0;
	if (r == 0) {
		struct fl_calibrate_options wish = {
			.memory_bytes = fl_option_number(&set, "memory"),
			.repetitions = (unsigned int)fl_option_number(&set, "repetitions"),
			.folder = folder && *folder ? folder : "/var/tmp",
			.cost_of = cost_of,
			.progress = !quiet && isatty(STDERR_FILENO) ? show_progress : NULL,
			.stop = &stop,
		};

		catch_signals();
		r = fl_calibrate(&wish, &calibration, &error);
		if (wish.progress)
			end_progress();
	}
	status = r < 0 ? fl_cli_fail(&error) : deliver(&calibration, fl_option_number(&set, "memory"), &file, quiet);
	fl_output_drop(&file);
	fl_calibration_fini(&calibration);
	fl_option_set_fini(&set);
	return status;
}

const struct fl_command fl_cmd_calibrate = {
	.name = "calibrate",
	.operands = "[FILE]",
	.summary = "measures the model's table of costs on this host",
	.description = "Measures what system calls, page faults, copying, huge pages, the page cache, reclaim and compaction take on "
		       "this host, in less than two minutes, as CPU time, and writes FILE for the option --costs of run and compare. What "
		       "cannot be measured keeps its value in the table, and FILE says why.\n\n"
		       "Sizes of huge pages that are off are switched on for an instant, by root only, and the old values are written "
		       "back also when fraglab is killed. Compaction is measured by writing to vm.compact_memory, which root may: memory "
		       "of all processes moves then, and stays what it is.",
	.options = options,
	.options_count = sizeof(options) / sizeof(options[0]),
	.examples = examples,
	.run = run_calibrate,
};
