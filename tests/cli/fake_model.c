/*
 * tests/cli/fake_model.c - a model that does what a test asks for by the name of the scenario.
 *
 *   steady   values that differ between kernels by more than the noise
 *   crash    aborts with seed 3 on kernel 7.3+mobility, after an assertion
 *   killed   kills itself with seed 2
 *   refuses  fails with a sentence of class INPUT in every run
 *   fails    fails with a sentence of class FAILED with seed 2
 *   slow     seeds from 3 on sleep for a minute
 *   quits    ends without a record
 *   dies     the load dies in round 5 with seed 2
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bug.h"
#include "base/names.h"
#include "cli/model.h"

static const char *const scenarios[] = { "steady", "crash", "killed", "refuses", "fails", "slow", "quits", "dies" };
static const char *const kernels[] = { "6.12", "7.3", "7.3+mobility" };
static const char *const modes[] = { "tmpfs", "ext4", NULL };
static const struct fl_option options[] = {
	{ .name = "rounds", .kind = FL_OPTION_INT, .default_text = "8", .min = 1, .max = 100, .help = "rounds of the test" },
	{ .name = "files", .kind = FL_OPTION_CHOICE, .default_text = "tmpfs", .choices = modes, .help = "where files lie" },
};
static const struct fl_published published[] = { { "thp_success_pct", "r4", "42 (25-67)", "74 (47-98)", "mobility" } };
enum { SCENARIOS = sizeof(scenarios) / sizeof(scenarios[0]), KERNELS = 3 };

static int scenario_load(const char *name, struct fl_cli_scenario *ret, struct fl_error *reterr)
{
	char near[96];

	for (int i = 0; i < SCENARIOS; i++) {
		if (strcmp(name, scenarios[i]))
			continue;
		*ret = (struct fl_cli_scenario){ .name = scenarios[i], .options = options, .options_count = 2,
						 .published = published, .published_count = 1 };
		return 0;
	}
	return fl_error_input(reterr, "\"%s\" is no scenario%s", name,
			      fl_names_hint(name, scenarios, SCENARIOS, near, sizeof(near)));
}

static const char *scenario_metric(const struct fl_cli_scenario *scenario, size_t i)
{
	(void)scenario;
	return i ? NULL : "thp_success_pct";
}

static void scenario_free(struct fl_cli_scenario *scenario)
{
}

static int kernel_check(const char *spec, const char *backend, char **ret, struct fl_error *reterr)
{
	size_t length = strcspn(spec, ",");
	char near[96];

	for (int i = 0; i < KERNELS; i++) {
		if (strlen(kernels[i]) == length && !strncmp(kernels[i], spec, length)) {
			*ret = fl_xstrdup(spec);
			return 0;
		}
	}
	return fl_error_input(reterr, "\"%s\" is no kernel%s", spec, fl_names_hint(spec, kernels, KERNELS, near, sizeof(near)));
}

static bool kernel_has(const char *kernel, const char *patch_or_set)
{
	return strstr(kernel, patch_or_set) != NULL;
}

static int request_check(const struct fl_cli_request *request, struct fl_fields *machine, struct fl_error *reterr)
{
	if (request->memory_bytes && request->memory_bytes < (128 << 20))
		return fl_error_input(reterr, "the machine has too little memory; expected 128M or more");
	if (machine)
		fl_fields_add_int(machine, "memory_bytes", request->memory_bytes ? request->memory_bytes : 1 << 30);
	return 0;
}

static void say(const struct fl_cli_request *request, bool plan, struct fl_text *to)
{
	if (!strcmp(request->backend, "live"))
		fl_text_add(to, "%s\n", plan ? "a plan" : "a limit");
}

static int settle(const struct fl_cli_request *request, struct fl_error *reterr)
{
	return 0;
}

static void measure(const struct fl_cli_request *request, struct fl_record *ret)
{
	double noise = (double)(request->seed * 7 % 5), shift = strstr(request->kernel, "mobility") ? 30 : 0;
	struct fl_sample *s = fl_record_add(ret, "thp_success_pct", "r4", 42 + noise + shift + (double)(request->seed % 2) / 4);

	strcpy(s->unit, "%");
	s->better = FL_BETTER_HIGHER;
	s->headline = true;
	fl_record_add(ret, "pgfault", "end", (double)request->seed * 1000);
	ret->has_census = true;
	ret->census = (struct fl_census){ .page_size = 4096, .pages_per_block = 512, .zones_count = 1, .types_known = true,
					  .blocks_count = 128, .blocks = fl_xcalloc(128, sizeof(*ret->census.blocks)) };
	strcpy(ret->census.zone_names[0], "Normal");
	for (uint32_t i = 0; i < 128; i++) {
		struct fl_census_block *block = &ret->census.blocks[i];

		block->start_pfn = (uint64_t)i * 512;
		block->type = FL_CENSUS_MOVABLE;
		block->pages[FL_CENSUS_SLAB] = i % 4 ? 0 : 3;
		block->pages[FL_CENSUS_FREE] = 512 - block->pages[FL_CENSUS_SLAB];
	}
	ret->seed = request->seed;
	ret->state_hash = request->seed * 0x9e3779b97f4a7c15u + (uint64_t)shift;
	fl_text_add(&ret->log, "seed %llu\n", (unsigned long long)request->seed);
}

static int run(const struct fl_cli_request *request, struct fl_record *ret, struct fl_error *reterr)
{
	const char *name = request->scenario->name;

	if (request->trace)
		fprintf(request->trace, "# tracer: nop\n");
	if (!strcmp(name, "crash"))
		FL_ASSERT_MSG(request->seed != 3 || strcmp(request->kernel, "7.3+mobility"), "lists agree");
	if (!strcmp(name, "killed") && request->seed == 2)
		raise(SIGKILL);
	if (!strcmp(name, "refuses"))
		return fl_error_input(reterr, "refuses.lua:3: the load is larger than the machine");
	if (!strcmp(name, "fails") && request->seed == 2)
		return fl_error_set(reterr, FL_ERROR_FAILED, -EIO, "the disk broke");
	if (!strcmp(name, "slow") && request->seed >= 3)
		sleep(60);
	if (!strcmp(name, "quits"))
		_exit(7);
	measure(request, ret);
	if (!strcmp(name, "dies") && request->seed == 2) {
		ret->died = true;
		strcpy(ret->died_where, "r5: swap exhausted");
		ret->samples[0].valid = false;
	}
	return 0;
}

static int list(enum fl_cli_list what, bool facts, struct fl_text *to, struct fl_error *reterr)
{
	if (what == FL_CLI_LIST_SCENARIOS)
		for (int i = 0; i < SCENARIOS; i++)
			fl_text_add(to, "%s\ta scenario of the tests\n", scenarios[i]);
	if (what == FL_CLI_LIST_KERNELS)
		fl_text_add(to, facts ? "7.3\tfact\tread in the source\n" : "7.3\tthe default\n6.12\tolder\n");
	return 0;
}

static int measure_quick(double *ret_ns, struct fl_error *reterr)
{
	*ret_ns = 12.5;
	return 0;
}

static const struct fl_cli_bench benches[] = {
	{ "alloc_free_order0_hot", "ns/pair", measure_quick },
	{ "fault_4k", "ns/fault", measure_quick },
	{ NULL },
};

static struct fl_cli_bench bench_at(size_t i)
{
	return benches[i];
}

static struct fl_cli_cost cost_at(size_t i)
{
	static const struct fl_cli_cost costs[] = { { "syscall", 200 }, { "fault_base", 830 }, { NULL, 0 } };

	return costs[i];
}

const struct fl_cli_model fl_cli_model = {
	.default_kernel = "7.3",
	.scenario_load = scenario_load,
	.scenario_free = scenario_free,
	.scenario_metric = scenario_metric,
	.kernel_check = kernel_check,
	.say = say,
	.settle = settle,
	.kernel_has = kernel_has,
	.request_check = request_check,
	.run = run,
	.bench_at = bench_at,
	.cost_at = cost_at,
	.list = list,
};
