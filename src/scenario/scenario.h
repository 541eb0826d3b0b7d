/*
 * scenario/scenario.h - scenarios: finding, reading, checking and running Lua scripts (docs/SCENARIOS.md).
 *
 * Loading reads the declarations and closes that Lua state: what stays is plain data. A run makes a state of its own;
 * it is meant to happen in a process forked for it. All refusals name script:line where there is one (class INPUT).
 */
#ifndef FL_SCENARIO_SCENARIO_H
#define FL_SCENARIO_SCENARIO_H

#include <stdio.h>

#include "base/error.h"
#include "base/option.h"
#include "base/record.h"
#include "base/result.h"
#include "base/text.h"

/* One metric that a scenario declares, for every phase that has it. */
struct fl_scenario_metric {
	char name[72], unit[16];
	enum fl_better better;
	bool headline;
};

struct fl_scenario {
	char *name;    /* as declared: the name of the file without .lua */
	char *summary; /* one clause */
	char *path;    /* of the script */
	char *text;    /* of the script, as read */
	size_t text_length;
	struct fl_option *options;
	size_t options_count;
	struct fl_published *published;
	size_t published_count;
	struct fl_scenario_metric *metrics;
	size_t metrics_count;
	/* The machine that it asks for; 0: no wish. */
	int64_t memory_bytes, memory_min_bytes, swap_bytes, scale_bytes, page_bytes, below_4g_bytes;
	int cpus, guard_minorder;
	int slowness;
	bool no_zone_dma;
	struct { int64_t start, end; } reserved[32]; /* addresses in bytes */
	unsigned int reserved_count;
	int64_t held_bytes;
	/* Tunables that it sets at boot, name and value. */
	char **setting_names, **setting_values;
	size_t settings_count;
};

/* Reads a scenario by name (from the folder of scenarios) or by path (has a '/' or ends in .lua). */
int fl_scenario_load(const char *name_or_path, struct fl_scenario **ret, struct fl_error *reterr);
void fl_scenario_free(struct fl_scenario *scenario); /* NULL allowed */

/* One row "name<TAB>summary" a line for each scenario that can be found by name, in order of names. */
int fl_scenario_list(struct fl_text *to, struct fl_error *reterr);

struct fl_backend_ops;

/* One run. Zeroes and NULLs take the scenario's wish, then the default. */
struct fl_scenario_request {
	const struct fl_scenario *scenario;
	const struct fl_option_set *options; /* made for scenario->options; NULL: its defaults */
	const char *kernel;                  /* notation, tunables included; NULL: the default kernel */
	const char *backend;                 /* NULL: "sim" */
	const struct fl_backend_ops *ops;    /* carries it out; NULL: the backend of that name */
	bool force, ballast;                 /* of a backend that has a host (machine/verbs.h) */
	const char *machine_file;            /* NULL: the standard machine */
	const char *cost_file;               /* NULL: the table's costs */
	int64_t memory_bytes, swap_bytes, scale_bytes;
	int cpus;
	uint64_t seed;
	FILE *trace; /* NULL: none */
	bool check;  /* every invariant of the state is looked at with each sample: for tests */
};

/*
 * The request as a backend with a host gets it, for what it says before a run. The settings point into `settings`, which has
 * room for those of the scenario.
 */
struct fl_backend_request;
struct fl_backend_setting;
void fl_scenario_backend_request(const struct fl_scenario_request *request, struct fl_backend_setting *settings,
				 struct fl_backend_request *ret);

/* Checks that scenario, machine and kernel fit each other, and describes the machine (ret_machine may be NULL). */
int fl_scenario_check(const struct fl_scenario_request *request, struct fl_fields *ret_machine,
		      struct fl_error *reterr);

/* Carries the scenario out and fills *ret (initialised by the caller). On failure *ret holds what was measured so far. */
int fl_scenario_run(const struct fl_scenario_request *request, struct fl_record *ret, struct fl_error *reterr);

#endif
