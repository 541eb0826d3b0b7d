/*
 * cli/model.h - what the subcommands ask of the model, as one table of functions.
 *
 * The program fills it from kernel, machine and scenario (model.c); tests fill it with a fake. Everything that is
 * called in the parent only reads declarations; run() is called in the forked process of the run.
 */
#ifndef FL_CLI_MODEL_H
#define FL_CLI_MODEL_H

#include <stdio.h>

#include "base/layout.h"
#include "base/option.h"
#include "base/record.h"
#include "base/result.h"

/* What a scenario declares. Strings and tables belong to the scenario (`opaque`). */
struct fl_cli_scenario {
	void *opaque;
	const char *name;    /* as in "type-pressure" */
	const char *summary;
	const struct fl_option *options;
	size_t options_count;
	const struct fl_published *published;
	size_t published_count;
	int64_t memory_bytes, swap_bytes, scale_bytes; /* the machine that it asks for; 0: no wish */
	int cpus;
};

/* One run. Zeroes and NULLs take what the scenario asks for, then the default. */
#define FL_CLI_NO_SWAP (-1) /* swap_bytes: none, whatever the scenario asks for */
struct fl_cli_request {
	const struct fl_cli_scenario *scenario;
	const struct fl_option_set *options; /* of the scenario, with --set applied */
	const char *kernel;                  /* canonical notation, tunables included */
	const char *backend;                 /* "sim" or "live" */
	const char *machine_file;            /* --machine, NULL: the standard machine */
	const char *cost_file;               /* --costs, NULL: the table's costs */
	int64_t memory_bytes, swap_bytes, scale_bytes;
	int cpus;
	uint64_t seed;
	FILE *trace;                         /* --trace, NULL: none */
	bool force, ballast;                 /* --force, --ballast: of a live run */
};

enum fl_cli_list { FL_CLI_LIST_KERNELS, FL_CLI_LIST_PATCHES, FL_CLI_LIST_SCENARIOS, FL_CLI_LIST_TUNABLES,
		   FL_CLI_LIST_COUNTERS };

/* One measurement of the model's own speed; runs in a process of its own. */
struct fl_cli_bench {
	const char *name, *unit; /* "alloc_free_order0_hot", "ns/pair"; NULL past the end */
	int (*measure)(double *ret_ns, struct fl_error *reterr);
};

/* A row of the table of costs. */
struct fl_cli_cost {
	const char *name; /* NULL past the end */
	uint32_t value;   /* ns */
};

struct fl_cli_model {
	const char *default_kernel;
	int (*scenario_load)(const char *name_or_path, struct fl_cli_scenario *ret, struct fl_error *reterr);
	void (*scenario_free)(struct fl_cli_scenario *scenario);
	/* The name of the i-th metric that the scenario declares; NULL past the end. */
	const char *(*scenario_metric)(const struct fl_cli_scenario *scenario, size_t i);
	/* Checks the notation BASE{+PATCH}{~PATCH}{,TUNABLE=VALUE} for that backend and gives its canonical text (free()). */
	int (*kernel_check)(const char *spec, const char *backend, char **ret_canonical, struct fl_error *reterr);
	/* Does a kernel that kernel_check() took have this patch or set, from its base or laid over it? */
	bool (*kernel_has)(const char *kernel, const char *patch_or_set);
	/* Checks that scenario, machine and kernel fit each other, and describes the machine for the result. */
	int (*request_check)(const struct fl_cli_request *request, struct fl_fields *ret_machine,
			     struct fl_error *reterr);
	int (*run)(const struct fl_cli_request *request, struct fl_record *ret, struct fl_error *reterr);
	/* What is to be said before the first run, a sentence a line: limits of the host, or (plan) what a run would do to it. */
	void (*say)(const struct fl_cli_request *request, bool plan, struct fl_text *to);
	/* After the last run: waits until the host is as it was. */
	int (*settle)(const struct fl_cli_request *request, struct fl_error *reterr);
	/* What must be exact: marks and sizes of per-CPU lists of the host's zones, and indices in thousandths (machine/exact.h). */
	size_t (*exact_marks)(const struct fl_layout *host, struct fl_exact *ret, size_t room);
	int (*exact_index)(const uint64_t *chunks, unsigned int orders, unsigned int order, bool unusable);
	struct fl_cli_bench (*bench_at)(size_t i);
	struct fl_cli_cost (*cost_at)(size_t i);
	/* Lists as tab-separated rows "name<TAB>summary[<TAB>more]", one a line; facts only for kernels. */
	int (*list)(enum fl_cli_list what, bool facts, struct fl_text *to, struct fl_error *reterr);
};

/* The model of this program. */
extern const struct fl_cli_model fl_cli_model;

#endif
