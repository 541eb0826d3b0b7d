/*
 * cli/model.c - the model behind the subcommands: kernel, machine and scenario through the table of cli/model.h.
 */
#include "cli/model.h"

#include <stdlib.h>
#include <string.h>

#include "kernel/kernel.h"
#include "live/live.h"
#include "machine/bench.h"
#include "machine/exact.h"
#include "mm/sysctl.h"
#include "mm/vmstat.h"
#include "scenario/scenario.h"

static int scenario_load(const char *name_or_path, struct fl_cli_scenario *ret, struct fl_error *reterr)
{
	struct fl_scenario *s;
	int r = fl_scenario_load(name_or_path, &s, reterr);

	if (r < 0)
		return r;
	*ret = (struct fl_cli_scenario){
		.opaque = s,
		.name = s->name,
		.summary = s->summary,
		.options = s->options,
		.options_count = s->options_count,
		.published = s->published,
		.published_count = s->published_count,
	};
	return 0;
}

static const char *scenario_metric(const struct fl_cli_scenario *scenario, size_t i)
{
	const struct fl_scenario *s = scenario->opaque;

	return i < s->metrics_count ? s->metrics[i].name : NULL;
}

static void scenario_free(struct fl_cli_scenario *scenario)
{
	fl_scenario_free(scenario->opaque);
}

static bool is_live(const char *backend)
{
	return backend && !strcmp(backend, fl_backend_live.name);
}

static int kernel_check(const char *spec, const char *backend, char **ret_canonical, struct fl_error *reterr)
{
	struct fl_kernel kernel;
	int r;

	if (is_live(backend))
		return fl_live_kernel_check(spec, ret_canonical, reterr);
	r = fl_kernel_parse(spec, &kernel, reterr);
	if (r == 0)
		*ret_canonical = fl_xstrdup(kernel.name);
	return r;
}

static bool kernel_has(const char *spec, const char *patch_or_set)
{
	struct fl_kernel kernel;

	return fl_kernel_parse(spec, &kernel, NULL) == 0 && fl_kernel_has(&kernel, patch_or_set);
}

static struct fl_scenario_request request_of(const struct fl_cli_request *r)
{
	return (struct fl_scenario_request){
		.scenario = r->scenario->opaque,
		.options = r->options,
		.kernel = r->kernel,
		.backend = r->backend,
		.ops = is_live(r->backend) ? &fl_backend_live : NULL,
		.force = r->force,
		.ballast = r->ballast,
		.machine_file = r->machine_file,
		.cost_file = r->cost_file,
		.memory_bytes = r->memory_bytes,
		.swap_bytes = r->swap_bytes,
		.scale_bytes = r->scale_bytes,
		.cpus = r->cpus,
		.seed = r->seed,
		.trace = r->trace,
	};
}

static int request_check(const struct fl_cli_request *request, struct fl_fields *ret_machine, struct fl_error *reterr)
{
	struct fl_scenario_request r = request_of(request);

	return fl_scenario_check(&r, ret_machine, reterr);
}

static int run(const struct fl_cli_request *request, struct fl_record *ret, struct fl_error *reterr)
{
	struct fl_scenario_request r = request_of(request);

	return fl_scenario_run(&r, ret, reterr);
}

static void say(const struct fl_cli_request *request, bool plan, struct fl_text *to)
{
	struct fl_scenario_request r = request_of(request);
	struct fl_backend_request backend_request;
	struct fl_backend_setting *settings;

	if (!is_live(request->backend))
		return;
	settings = fl_xcalloc(r.scenario->settings_count + 1, sizeof(*settings));
	fl_scenario_backend_request(&r, settings, &backend_request);
	(plan ? fl_live_say_plan : fl_live_say_limits)(&backend_request, to);
	for (size_t i = 0; !plan && i < r.scenario->metrics_count; i++) {
		const char *why = fl_live_lacks_metric(r.scenario->metrics[i].name);

		if (why)
			fl_text_add(to, "%s, which %s declares, will have no value: %s\n", r.scenario->metrics[i].name,
				    r.scenario->name, why);
	}
	free(settings);
}

static int settle(const struct fl_cli_request *request, struct fl_error *reterr)
{
	return is_live(request->backend) ? fl_live_settle(reterr) : 0;
}

static void list_kernels(struct fl_text *to)
{
	const struct fl_kernel_version *version;

	for (unsigned int i = 0; (version = fl_kernel_version_at(i)); i++) {
		fl_text_add(to, "%s\t%s%s", version->name, version->summary,
			    strcmp(version->name, fl_kernel_default) ? "" : " (default)");
		for (const char *const *name = version->contains; *name; name++)
			fl_text_add(to, "%s%s", name == version->contains ? "; contains " : ", ", *name);
		fl_text_add_char(to, '\n', 1);
	}
}

static void list_facts(struct fl_text *to)
{
	const struct fl_kernel_version *version;

	for (unsigned int i = 0; (version = fl_kernel_version_at(i)); i++) {
		for (unsigned int d = 0; d < FL_DECISION_COUNT; d++) {
			const struct fl_fact *fact = &version->facts[d];

			fl_text_add(to, "%s\t%s\t%s\t%s\n", version->name, fl_decision_name(d),
				    fl_confidence_text(fact->confidence), fact->where ? fact->where : "");
		}
	}
}

static void list_patches(struct fl_text *to)
{
	const struct fl_patch *patch;
	const char *set;

	for (unsigned int i = 0; (patch = fl_patch_at(i)); i++)
		fl_text_add(to, "%s\t%s\t%s\n", patch->name, patch->set ? patch->set : "-", patch->summary);
	for (unsigned int i = 0; (set = fl_patch_set_at(i)); i++) {
		const char *divider = "";

		fl_text_add(to, "%s\tset\t", set);
		for (unsigned int j = 0; (patch = fl_patch_at(j)); j++) {
			if (!patch->set || strcmp(patch->set, set))
				continue;
			fl_text_add(to, "%s%s", divider, patch->name);
			divider = ", ";
		}
		fl_text_add_char(to, '\n', 1);
	}
}

/* Defaults of a machine with pages of 4K. */
static void list_default(unsigned int i, const struct fl_settings *set, struct fl_text *to)
{
	const struct fl_tunable *tunable = fl_tunable_at(i);
	uint64_t value;

	if (!fl_tunable_in(i, set, &value))
		fl_text_add(to, "; default %s", strstr(tunable->name, "<size>") ? "inherit for the PMD size, else never"
										 : "by the size of memory");
	else if (tunable->words)
		fl_text_add(to, "; default %s", tunable->words[value]);
	else
		fl_text_add(to, "; default %llu", (unsigned long long)value);
}

static void list_tunables(struct fl_text *to)
{
	const struct fl_geometry geometry = { .page_shift = 12, .pageblock_order = 9, .max_order = 10, .pmd_order = 9 };
	const struct fl_tunable *tunable;
	struct fl_settings set;

	fl_settings_init(&set, &geometry);
	for (unsigned int i = 0; (tunable = fl_tunable_at(i)); i++) {
		fl_text_add(to, "%s\t%s (", tunable->name, tunable->line);
		for (const char *const *word = tunable->words; word && *word; word++)
			fl_text_add(to, "%s%s", word == tunable->words ? "" : ", ", *word);
		if (!tunable->words)
			fl_text_add(to, "%llu to %llu", (unsigned long long)tunable->min, (unsigned long long)tunable->max);
		list_default(i, &set, to);
		fl_text_add(to, ")\n");
	}
}

static void list_counters(struct fl_text *to)
{
	for (int i = 0; i < FL_VM_COUNT; i++)
		fl_text_add(to, "%s\tvmstat\n", fl_vm_event_name((enum fl_vm_event)i));
	for (int i = 0; i < FL_MTHP_COUNT; i++)
		fl_text_add(to, "%s_<size>kB\tper-size statistics of huge pages\n", fl_mthp_stat_name((enum fl_mthp_stat)i));
	for (int i = 0; i < FL_WORK_COUNT; i++)
		fl_text_add(to, "work_%s_<actor>_<trigger>\twork by who did it and who asked for it\n",
			    fl_work_name((enum fl_work)i));
	fl_text_add(to, "extfrag_<wanted>_<taken>_o<order>_<claim or steal>\tallocations from a foreign migratetype\n");
}

static int list(enum fl_cli_list what, bool facts, struct fl_text *to, struct fl_error *reterr)
{
	switch (what) {
	case FL_CLI_LIST_KERNELS:
		(facts ? list_facts : list_kernels)(to);
		break;
	case FL_CLI_LIST_PATCHES:
		list_patches(to);
		break;
	case FL_CLI_LIST_SCENARIOS:
		return fl_scenario_list(to, reterr);
	case FL_CLI_LIST_TUNABLES:
		list_tunables(to);
		break;
	case FL_CLI_LIST_COUNTERS:
		list_counters(to);
		break;
	}
	return 0;
}

static int exact_index(const uint64_t *chunks, unsigned int orders, unsigned int order, bool unusable)
{
	return (unusable ? fl_exact_unusable_index : fl_exact_fragmentation_index)(chunks, orders, order);
}

static struct fl_cli_bench bench_at(size_t i)
{
	return (struct fl_cli_bench){ fl_benches[i].name, fl_benches[i].unit, fl_benches[i].measure };
}

static struct fl_cli_cost cost_at(size_t i)
{
	return i < fl_cost_entries_count ? (struct fl_cli_cost){ fl_cost_entries[i].name, fl_cost_entries[i].value } :
					   (struct fl_cli_cost){ 0 };
}

const struct fl_cli_model fl_cli_model = {
	.default_kernel = fl_kernel_default,
	.scenario_load = scenario_load,
	.scenario_free = scenario_free,
	.scenario_metric = scenario_metric,
	.kernel_check = kernel_check,
	.kernel_has = kernel_has,
	.request_check = request_check,
	.run = run,
	.say = say,
	.settle = settle,
	.exact_marks = fl_exact_marks,
	.exact_index = exact_index,
	.bench_at = bench_at,
	.cost_at = cost_at,
	.list = list,
};
