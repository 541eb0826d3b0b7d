/*
 * scenario/run.c - one run from request to record.
 */
#include "scenario/run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"

static int64_t first_of(int64_t asked, int64_t wish)
{
	return asked ? asked : wish;
}

/*
 * Swap belongs to the proportions of a scenario's machine as its load does: with another size of memory, and no word about
 * swap, it shrinks or grows alike, in whole MiB. Otherwise a small machine would be the same experiment with far more room.
 */
static int64_t swap_wish(const struct fl_scenario_request *r)
{
	const struct fl_scenario *s = r->scenario;
	const int64_t unit = 1 << 20;
	int64_t memory = r->memory_bytes / unit, usual = s->memory_bytes / unit, swap;

	if (r->swap_bytes || s->swap_bytes < unit || memory <= 0 || usual <= 0 || memory == usual)
		return first_of(r->swap_bytes, s->swap_bytes);
	swap = s->swap_bytes / unit * memory / usual;
	return (swap ? swap : 1) * unit;
}

/* A machine from a file has its own memory and CPUs: only what the user typed changes it. */
int fl_scenario_machine(const struct fl_scenario_request *r, struct fl_machine *ret, struct fl_error *reterr)
{
	const struct fl_scenario *s = r->scenario;
	bool standard = !r->machine_file;
	struct fl_byte_range reserved[sizeof(s->reserved) / sizeof(*s->reserved)];
	struct fl_machine_wish wish = {
		.memory_bytes = standard ? first_of(r->memory_bytes, s->memory_bytes) : r->memory_bytes,
		.swap_bytes = standard ? swap_wish(r) : r->swap_bytes,
		.scale_bytes = first_of(r->scale_bytes, s->scale_bytes),
		.cpus = standard ? (int)first_of(r->cpus, s->cpus) : r->cpus,
		.page_bytes = s->page_bytes,
		.below_4g_bytes = s->below_4g_bytes,
		.guard_minorder = s->guard_minorder,
		.no_zone_dma = s->no_zone_dma,
		.held_bytes = s->held_bytes,
		.slowness = standard ? s->slowness : 0,
		.reserved = reserved,
		.reserved_count = !r->memory_bytes || r->memory_bytes == s->memory_bytes ? s->reserved_count : 0,
		.file = r->machine_file,
		.cost_file = r->cost_file,
	};
	struct fl_machine machine;
	char got[32], least[32];
	int error;

	for (unsigned int i = 0; i < s->reserved_count; i++)
		reserved[i] = (struct fl_byte_range){ s->reserved[i].start, s->reserved[i].end };
	error = fl_machine_make(&wish, &machine, reterr);
	if (error)
		return error;
	if ((int64_t)machine.memory_bytes < s->memory_min_bytes) {
		fl_machine_fini(&machine);
		return fl_error_input(reterr, "scenario %s needs a machine of at least %s of memory, this one has %s",
				      s->name, fl_size_format(s->memory_min_bytes, least, sizeof(least)),
				      fl_size_format((int64_t)machine.memory_bytes, got, sizeof(got)));
	}
	error = fl_machine_fits_host(&machine, 0, reterr);
	if (error)
		fl_machine_fini(&machine);
	else
		*ret = machine;
	return error;
}

/* Is `name` called or named in the text, outside comments? A word in a string counts: better one too many. */
static bool uses_word(const char *text, const char *name)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

	while (*text) {
		size_t length = strspn(text, letters);

		if (!strncmp(text, "--", 2))
			text += strcspn(text, "\n");
		else if (length == strlen(name) && !strncmp(text, name, length))
			return true;
		else
			text += length ? length : 1;
	}
	return false;
}

void fl_scenario_backend_request(const struct fl_scenario_request *r, struct fl_backend_setting *settings,
				 struct fl_backend_request *ret)
{
	const struct fl_scenario *s = r->scenario;

	*ret = (struct fl_backend_request){
		.kernel = r->kernel,
		.settings = settings,
		.settings_count = (unsigned int)s->settings_count,
		.seed = r->seed,
		.trace = r->trace,
		.check = r->check,
		.scale_bytes = (uint64_t)r->scale_bytes,
		.force = r->force,
		.ballast = r->ballast,
	};
	for (size_t i = 0; i < s->settings_count; i++)
		settings[i] = (struct fl_backend_setting){ s->setting_names[i], s->setting_values[i] };
	for (unsigned int verb = 0; verb < FL_VERBS; verb++)
		ret->verbs |= (uint64_t)uses_word(s->text, fl_verb_name(verb)) << verb;
}

static struct fl_backend_setting *settings_room(const struct fl_scenario *s)
{
	return fl_xcalloc(s->settings_count + 1, sizeof(struct fl_backend_setting));
}

static int open_backend(struct fl_run *run, const struct fl_scenario_request *r, struct fl_error *reterr)
{
	struct fl_backend_setting *settings = settings_room(r->scenario);
	struct fl_backend_request request;
	int error;

	fl_scenario_backend_request(r, settings, &request);
	request.machine = &run->machine;
	error = run->ops->open(&request, run->record, &run->backend, reterr);
	free(settings);
	return error;
}

/* The machine of a backend that has a host: as a scenario sees it. */
static int host_machine(const struct fl_scenario_request *r, const struct fl_backend_ops *ops, struct fl_machine *ret,
			struct fl_error *reterr)
{
	struct fl_backend_setting *settings = settings_room(r->scenario);
	struct fl_backend_request request;
	struct fl_backend_host host;
	int error;

	fl_scenario_backend_request(r, settings, &request);
	error = ops->host(&request, &host, reterr);
	free(settings);
	if (error)
		return error;
	*ret = (struct fl_machine){ .memory_bytes = host.memory_bytes, .swap_bytes = host.swap_bytes,
				    .scale_bytes = host.scale_bytes, .page_bytes = host.page_bytes,
				    .huge_bytes = host.huge_bytes };
	ret->geometry.cpus = host.cpus;
	ret->geometry.pageblock_order = host.pageblock_order;
	return 0;
}

static int machine_of(const struct fl_scenario_request *r, const struct fl_backend_ops *ops, struct fl_machine *ret,
		      struct fl_error *reterr)
{
	return ops->host ? host_machine(r, ops, ret, reterr) : fl_scenario_machine(r, ret, reterr);
}

static const struct fl_backend_ops *ops_of(const struct fl_scenario_request *r, struct fl_error *reterr)
{
	return r->ops ? r->ops : fl_backend_find(r->backend ? r->backend : "sim", reterr);
}

/* main() as the program of the first process. */
static int make_main(struct fl_run *run, struct fl_program *ret)
{
	lua_State *L = run->script->L;

	lua_getglobal(L, "main");
	return fl_body_new(run, L, 0, "main()", 0, ret);
}

/* Samples of declared metrics get their unit and direction, whoever took them. */
static void label_samples(const struct fl_scenario *s, struct fl_record *record)
{
	for (size_t i = 0; i < record->samples_count; i++) {
		struct fl_sample *sample = &record->samples[i];

		for (size_t m = 0; m < s->metrics_count; m++) {
			if (strcmp(s->metrics[m].name, sample->name))
				continue;
			memcpy(sample->unit, s->metrics[m].unit, sizeof(sample->unit));
			sample->better = (uint8_t)s->metrics[m].better;
			sample->headline = s->metrics[m].headline;
		}
	}
}

static int execute(struct fl_run *run, const struct fl_scenario_request *r, struct fl_error *reterr)
{
	const struct fl_scenario *s = r->scenario;
	struct fl_program program;
	int error = open_backend(run, r, reterr);

	if (!error)
		error = fl_script_execute(run->script, s->text, s->text_length, reterr);
	if (!error)
		error = make_main(run, &program);
	if (!error)
		error = run->ops->run(run->backend, &program, reterr);
	if (run->failed) {
		*reterr = run->error;
		error = run->error.code;
	}
	label_samples(s, run->record);
	return error;
}

int fl_scenario_run_on(const struct fl_scenario_request *request, const struct fl_backend_ops *ops,
		       struct fl_record *ret, struct fl_error *reterr)
{
	struct fl_run run = { .scenario = request->scenario, .record = ret, .ops = ops, .seed = request->seed };
	struct fl_option_set defaults;
	int error = machine_of(request, ops, &run.machine, reterr);

	if (error)
		return error;
	if (ops->host) /* to a script, the machine is what its load may have of it */
		run.machine.memory_bytes = run.machine.scale_bytes;
	fl_option_set_init(&defaults, request->scenario->options, request->scenario->options_count);
	run.options = request->options ? request->options : &defaults;
	ret->seed = request->seed;
	run.script = fl_script_new(request->scenario->path, &ret->log);
	run.script->run = &run;
	error = execute(&run, request, reterr);
	if (run.backend)
		ops->close(run.backend); /* before the script: it ends the bodies */
	fl_script_free(run.script);
	fl_zipf_fini(&run.zipf);
	fl_machine_fini(&run.machine);
	fl_option_set_fini(&defaults);
	return error;
}

int fl_scenario_run(const struct fl_scenario_request *request, struct fl_record *ret, struct fl_error *reterr)
{
	const struct fl_backend_ops *ops = ops_of(request, reterr);

	return ops ? fl_scenario_run_on(request, ops, ret, reterr) : -EINVAL;
}

int fl_scenario_check(const struct fl_scenario_request *request, struct fl_fields *ret_machine,
		      struct fl_error *reterr)
{
	const struct fl_backend_ops *ops = ops_of(request, reterr);
	struct fl_machine machine;
	int error = ops ? machine_of(request, ops, &machine, reterr) : -EINVAL;

	if (error)
		return error;
	if (ret_machine)
		fl_machine_describe(&machine, ret_machine);
	fl_machine_fini(&machine);
	return 0;
}
