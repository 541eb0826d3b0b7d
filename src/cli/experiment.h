/*
 * cli/experiment.h - what run and compare share: from a command line to runs, a result and its outputs.
 */
#ifndef FL_CLI_EXPERIMENT_H
#define FL_CLI_EXPERIMENT_H

#include "cli/command.h"
#include "cli/model.h"
#include "cli/pool.h"
#include "report/output.h"

#define FL_CLI_MACHINE_ROWS \
	{ .name = "memory", .letter = 'm', .kind = FL_OPTION_SIZE, .category = "Machine", \
	  .min = 64 << 20, .max = INT64_C(1) << 42, .help = "memory of the modelled machine [what the scenario asks for]" }, \
	{ .name = "cpus", .kind = FL_OPTION_INT, .category = "Machine", .min = 1, .max = 1024, \
	  .help = "CPUs of the modelled machine [what the scenario asks for]" }, \
	{ .name = "swap", .kind = FL_OPTION_SIZE, .category = "Machine", .min = 0, .max = INT64_C(1) << 42, \
	  .help = "swap of the modelled machine, 0 for none [what the scenario asks for]" }, \
	{ .name = "scale", .kind = FL_OPTION_SIZE, .category = "Machine", .min = 1 << 20, .max = INT64_C(1) << 44, \
	  .help = "size of the load, where it is to differ from the machine; on a live host also the budget" }, \
	{ .name = "machine", .kind = FL_OPTION_STRING, .value_name = "FILE", .category = "Machine", \
	  .help = "description of a machine that replaces the standard one" }, \
	{ .name = "costs", .kind = FL_OPTION_STRING, .value_name = "FILE", .category = "Machine", \
	  .help = "what work takes, as fraglab calibrate writes it, instead of the table's costs" }, \
	{ .name = "on", .kind = FL_OPTION_CHOICE, .value_name = "sim|live", .default_text = "sim", .category = "Machine", \
	  .choices = fl_cli_backends, .help = "what carries the scenario out: the model, or this host's kernel" }, \
	{ .name = "dry-run", .kind = FL_OPTION_FLAG, .category = "Live host", \
	  .help = "says what the runs would do to this host, and does nothing" }, \
	{ .name = "ballast", .kind = FL_OPTION_FLAG, .category = "Live host", \
	  .help = "fills what memory the load leaves free, so that it meets pressure; dropped when the host runs low" }, \
	{ .name = "force", .kind = FL_OPTION_FLAG, .category = "Live host", \
	  .help = "takes a budget above three quarters of the available memory, and goes on when memory is critical" }

#define FL_CLI_EXPERIMENT_ROWS \
	{ .name = "seed", .letter = 's', .kind = FL_OPTION_INT, .default_text = "1", .min = 0, \
	  .max = INT64_C(1) << 62, .category = "Runs", .help = "seed of the first run; the others follow it" }, \
	{ .name = "jobs", .letter = 'j', .kind = FL_OPTION_INT, .min = 1, .max = 4096, .category = "Runs", \
	  .help = "runs at a time [one for each CPU]" }, \
	{ .name = "set", .kind = FL_OPTION_LIST, .value_name = "KEY=VALUE", .category = "Runs", \
	  .help = "option of the scenario" }, \
	{ .name = "tunable", .kind = FL_OPTION_LIST, .value_name = "NAME=VALUE", .category = "Runs", \
	  .help = "tunable of every kernel, as in vm.swappiness=10" }, \
	{ .name = "json", .kind = FL_OPTION_STRING, .value_name = "FILE", .category = "Output", \
	  .help = "stores the result document; - is standard output, and nothing else is printed there" }, \
	{ .name = "format", .kind = FL_OPTION_CHOICE, .value_name = "table|csv|mail|mmtests", .choices = fl_cli_formats, \
	  .default_text = "table", .category = "Output", .help = "how to print" }, \
	{ .name = "counters", .kind = FL_OPTION_FLAG, .category = "Output", \
	  .help = "all metrics in the tables, not only the headline ones" }, \
	{ .name = "stats", .kind = FL_OPTION_FLAG, .category = "Output", \
	  .help = "below each difference: SD, p of t and Wilcoxon, runs that rebooted machines would need" }, \
	{ .name = "work", .kind = FL_OPTION_FLAG, .category = "Output", \
	  .help = "who did the work and what woke it; what was taken from pageblocks of another type" }, \
	{ .name = "map", .kind = FL_OPTION_FLAG, .category = "Output", \
	  .help = "draws what every pageblock holds at the end of the first run of each kernel" }, \
	{ .name = "png", .kind = FL_OPTION_STRING, .value_name = "FILE", .category = "Output", \
	  .help = "writes these maps as a picture" }, \
	{ .name = "quiet", .letter = 'q', .kind = FL_OPTION_FLAG, .category = "Output", \
	  .help = "no progress line, no log, and with --json no tables" }

extern const char *const fl_cli_backends[];
#define FL_CLI_FORMATS "table", "csv", "mail", "mmtests" /* those of fl_report_as() */
extern const char *const fl_cli_formats[];

enum { FL_CLI_RUNS_MAX = 10000, FL_CLI_RUNS_AUTO_FIRST = 4, FL_CLI_RUNS_AUTO_MAX = 128 };

struct fl_cli_experiment {
	const struct fl_option_set *line; /* the command line; has all rows above and "kernel", "runs" */
	const char *scenario_word;        /* as typed */
	struct fl_cli_scenario scenario;
	struct fl_option_set options;     /* of the scenario */
	char **kernels;
	size_t kernels_count;
	struct fl_cli_request request;    /* kernel and seed differ from run to run */
	struct fl_fields machine;
	size_t runs;                      /* first batch with auto */
	double auto_pct;                  /* 0: a fixed number of runs */
	struct fl_output json, trace, png; /* path NULL: none */
	FILE *trace_file;
	char *command;                    /* the whole line, quoted for a shell */
};

/* What the flags --counters, --stats and --work ask of a table (report/table.h). */
unsigned int fl_cli_table_flags(const struct fl_option_set *set);

/* Checks everything that can be checked before the first run, and opens the outputs. */
int fl_cli_experiment_init(struct fl_cli_experiment *e, const struct fl_option_set *line, int argc, char **argv,
			   const char *scenario, struct fl_error *reterr);

/* Runs, prints, stores. Returns the exit status; everything that went wrong has been said. */
int fl_cli_experiment_run(struct fl_cli_experiment *e);

void fl_cli_experiment_fini(struct fl_cli_experiment *e);

/* The whole of such a command: parses the line, lets `check` refuse it (fills the error, returns negative), runs. Exit status. */
int fl_cli_experiment_main(const struct fl_command *self, int argc, char **argv,
			   int (*check)(const struct fl_option_set *line, struct fl_error *reterr));

/* For --help behind a scenario: its options, as --set takes them. Nothing if there is no such scenario. */
void fl_cli_experiment_help(const char *scenario, struct fl_text *to);

/*
 * Maps of the end of the first run of each kernel (experiment_map.c). draw: two at a time, the base on the left. Each
 * returns an exit status; what went wrong has been said.
 */
void fl_cli_experiment_draw_maps(const struct fl_cli_experiment *e, const struct fl_pool_outcome *outcomes,
				 struct fl_text *to);
int fl_cli_experiment_write_png(struct fl_cli_experiment *e, const struct fl_pool_outcome *outcomes);

/* The command that does this run again; free(). */
char *fl_cli_experiment_replay(const struct fl_cli_experiment *e, size_t kernel, uint64_t seed);

#endif
