/*
 * cli/experiment.c - from the command line to a checked experiment with open outputs; the command that replays a run.
 */
#include "cli/experiment.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/size.h"

const char *const fl_cli_formats[] = { FL_CLI_FORMATS, NULL };
const char *const fl_cli_backends[] = { "sim", "live", NULL };

static int parse_runs(struct fl_cli_experiment *e, const char *text, struct fl_error *reterr)
{
	char *end = "?";
	int64_t n;

	if (!strncmp(text, "auto=", 5)) {
		e->auto_pct = isdigit((unsigned char)text[5]) ? strtod(text + 5, &end) : 0;
		if (!(e->auto_pct > 0) || *end || e->auto_pct > 100)
			return fl_error_input(reterr, "--runs: \"%s\" is not auto=PCT with a number above 0 and up to 100",
					      text);
		e->runs = FL_CLI_RUNS_AUTO_FIRST;
		return 0;
	}
	if (fl_int_parse(text, 1, FL_CLI_RUNS_MAX, &n, NULL) < 0)
		return fl_error_input(reterr, "--runs: \"%s\" is neither a number from 1 to %d nor auto=PCT, as in auto=5",
				      text, FL_CLI_RUNS_MAX);
	e->runs = (size_t)n;
	return 0;
}

static bool is_live(const struct fl_option_set *line)
{
	return !strcmp(fl_option_text(line, "on"), "live");
}

/* Options that only the model has, and those that only a live host has. */
static int check_backend(const struct fl_option_set *line, struct fl_error *reterr)
{
	static const char *const of_model[] = { "memory", "cpus", "swap", "machine", "costs", "trace" };
	static const char *const of_host[] = { "dry-run", "ballast", "force" };

	for (size_t i = 0; i < sizeof(of_model) / sizeof(*of_model) && is_live(line); i++)
		if (fl_option_given(line, of_model[i]))
			return fl_error_input(reterr, "--%s is for the model: with --on live the machine is this host; --scale sizes "
					      "the load", of_model[i]);
	for (size_t i = 0; i < sizeof(of_host) / sizeof(*of_host) && !is_live(line); i++)
		if (fl_option_given(line, of_host[i]))
			return fl_error_input(reterr, "--%s is for a live host: it needs --on live", of_host[i]);
	if (is_live(line) && fl_option_given(line, "jobs") && fl_option_number(line, "jobs") > 1)
		return fl_error_input(reterr, "--jobs %lld: a live host carries out one run at a time",
				      (long long)fl_option_number(line, "jobs"));
	return 0;
}

/* The kernels of the line with the tunables of the line behind each, in canonical notation. */
static int take_kernels(struct fl_cli_experiment *e, struct fl_error *reterr)
{
	const struct fl_option_value *kernels = fl_option_value(e->line, "kernel");
	const struct fl_option_value *tunables = fl_option_value(e->line, "tunable");
	size_t count = kernels->list_count ? kernels->list_count : 1;

	e->kernels = fl_xcalloc(count, sizeof(*e->kernels));
	for (size_t i = 0; i < count; i++) {
		struct fl_text spec;
		int r;

		fl_text_init(&spec);
		fl_text_add(&spec, "%s", kernels->list_count ? kernels->list[i] : is_live(e->line) ? "live" : fl_cli_model.default_kernel);
		for (size_t t = 0; t < tunables->list_count; t++)
			fl_text_add(&spec, ",%s", tunables->list[t]);
		r = fl_cli_model.kernel_check(spec.data, fl_option_text(e->line, "on"), &e->kernels[i], reterr);
		fl_text_fini(&spec);
		if (r < 0)
			return r;
		e->kernels_count++;
		for (size_t j = 0; j < i; j++)
			if (!strcmp(e->kernels[j], e->kernels[i]))
				return fl_error_input(reterr, "--kernel: \"%s\" is there twice; runs of one kernel with "
						      "the same seed are equal", e->kernels[i]);
	}
	return 0;
}

static int take_options(struct fl_cli_experiment *e, struct fl_error *reterr)
{
	const struct fl_option_value *set = fl_option_value(e->line, "set");
	char what[160];

	snprintf(what, sizeof(what), "option of scenario %s", e->scenario.name);
	fl_option_set_init(&e->options, e->scenario.options, e->scenario.options_count);
	for (size_t i = 0; i < set->list_count; i++) {
		int r = fl_option_assign(&e->options, what, set->list[i], reterr);

		if (r < 0) {
			fl_error_prefix(reterr, "--set");
			return r;
		}
	}
	return 0;
}

static void take_machine(struct fl_cli_experiment *e)
{
	const struct fl_option_set *line = e->line;

	e->request = (struct fl_cli_request){
		.scenario = &e->scenario,
		.options = &e->options,
		.backend = fl_option_text(line, "on"),
		.machine_file = fl_option_text(line, "machine"),
		.cost_file = fl_option_text(line, "costs"),
		.memory_bytes = fl_option_number(line, "memory"),
		.swap_bytes = fl_option_given(line, "swap") && !fl_option_number(line, "swap") ? FL_CLI_NO_SWAP :
			      fl_option_number(line, "swap"),
		.scale_bytes = fl_option_number(line, "scale"),
		.cpus = (int)fl_option_number(line, "cpus"),
		.seed = (uint64_t)fl_option_number(line, "seed"),
		.force = fl_option_is(line, "force"),
		.ballast = fl_option_is(line, "ballast"),
	};
}

/* Each kernel on the machine, before the first run; the description is that of the first. */
static int check_requests(struct fl_cli_experiment *e, struct fl_error *reterr)
{
	for (size_t i = 0; i < e->kernels_count; i++) {
		int r;

		e->request.kernel = e->kernels[i];
		r = fl_cli_model.request_check(&e->request, i == 0 ? &e->machine : NULL, reterr);
		if (r < 0)
			return r;
	}
	if (is_live(e->line) && !e->request.scale_bytes) { /* of the memory that is available now, for all runs */
		const struct fl_field *scale = fl_fields_find(&e->machine, "scale_bytes");

		e->request.scale_bytes = scale ? scale->number : 0;
	}
	return 0;
}

static int open_output(const struct fl_option_set *line, const char *name, struct fl_output *ret,
		       struct fl_error *reterr)
{
	int r = fl_output_open(fl_option_text(line, name), ret, reterr);

	if (r < 0)
		fl_error_prefix(reterr, "--%s", name);
	return r;
}

static int open_outputs(struct fl_cli_experiment *e, struct fl_error *reterr)
{
	const char *trace = fl_option_text(e->line, "trace"), *json = fl_option_text(e->line, "json");
	const char *png = fl_option_text(e->line, "png");
	int r = fl_output_check_apart((const char *const[]){ "json", "png", "trace" },
				      (const char *const[]){ json, png, trace }, 3, reterr);

	if (trace && (e->runs > 1 || e->auto_pct > 0 || e->kernels_count > 1))
		return fl_error_input(reterr, "--trace takes one run of one kernel, this line asks for %zu of %zu", e->runs,
				      e->kernels_count);
	if (json && r == 0)
		r = open_output(e->line, "json", &e->json, reterr);
	if (png && r == 0)
		r = open_output(e->line, "png", &e->png, reterr);
	if (trace && r == 0) {
		r = open_output(e->line, "trace", &e->trace, reterr);
		e->trace_file = r == 0 ? fdopen(dup(e->trace.fd), "w") : NULL;
		if (r == 0 && !e->trace_file)
			r = fl_error_set(reterr, FL_ERROR_FAILED, -errno, "--trace: %s", strerror(errno));
	}
	e->request.trace = e->trace_file;
	return r;
}

/* A word as a shell reads it. */
static void add_quoted(struct fl_text *to, const char *word)
{
	if (*word && word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-_.,:=/%@")] == 0) {
		fl_text_add(to, " %s", word);
		return;
	}
	fl_text_add(to, " '");
	for (; *word; word++) {
		if (*word == '\'')
			fl_text_add(to, "'\\''");
		else
			fl_text_add_char(to, *word, 1);
	}
	fl_text_add(to, "'");
}

static char *quote_line(int argc, char **argv)
{
	struct fl_text line;

	fl_text_init(&line);
	fl_text_add(&line, "fraglab");
	for (int i = 0; i < argc; i++)
		add_quoted(&line, argv[i]);
	return line.data;
}

int fl_cli_experiment_init(struct fl_cli_experiment *e, const struct fl_option_set *line, int argc, char **argv,
			   const char *scenario, struct fl_error *reterr)
{
	int r;

	*e = (struct fl_cli_experiment){ .line = line, .json.fd = -1, .trace.fd = -1, .png.fd = -1 };
	e->command = quote_line(argc, argv);
	e->scenario_word = scenario;
	if (fl_option_is(line, "map") && strcmp(fl_option_text(line, "format"), "table"))
		return fl_error_input(reterr, "--map draws below the tables; --format %s has none", fl_option_text(line, "format"));
	if ((r = check_backend(line, reterr)) < 0 || (r = fl_cli_model.scenario_load(scenario, &e->scenario, reterr)) < 0)
		return r;
	if ((r = parse_runs(e, fl_option_text(line, "runs"), reterr)) < 0 || (r = take_kernels(e, reterr)) < 0 ||
	    (r = take_options(e, reterr)) < 0)
		return r;
	take_machine(e);
	if ((r = check_requests(e, reterr)) < 0)
		return r;
	return open_outputs(e, reterr);
}

void fl_cli_experiment_fini(struct fl_cli_experiment *e)
{
	if (e->trace_file)
		fclose(e->trace_file);
	fl_output_drop(&e->trace);
	fl_output_drop(&e->json);
	fl_output_drop(&e->png);
	fl_fields_fini(&e->machine);
	for (size_t i = 0; i < e->kernels_count; i++)
		free(e->kernels[i]);
	free(e->kernels);
	fl_option_set_fini(&e->options); /* a scenario without options has a set too */
	if (e->scenario.name)
		fl_cli_model.scenario_free(&e->scenario);
	free(e->command);
}

/* Options of the line that shape a run; kernel, seed, runs and outputs are given anew. */
char *fl_cli_experiment_replay(const struct fl_cli_experiment *e, size_t kernel, uint64_t seed)
{
	static const char *const shaping[] = { "memory", "cpus", "swap", "scale", "machine", "costs", "on", "set" };
	static const char *const flags[] = { "ballast", "force" };
	struct fl_text line;

	fl_text_init(&line);
	fl_text_add(&line, "fraglab run");
	add_quoted(&line, e->scenario_word);
	fl_text_add(&line, " --kernel");
	add_quoted(&line, e->kernels[kernel]);
	for (size_t i = 0; i < sizeof(shaping) / sizeof(shaping[0]); i++) {
		const struct fl_option_value *value = fl_option_value(e->line, shaping[i]);

		for (size_t j = 0; value->given && j < (value->list_count ? value->list_count : 1); j++) {
			fl_text_add(&line, " --%s", shaping[i]);
			add_quoted(&line, value->list_count ? value->list[j] : value->text);
		}
	}
	if (is_live(e->line) && !fl_option_given(e->line, "scale") && e->request.scale_bytes)
		fl_text_add(&line, " --scale %lld", (long long)e->request.scale_bytes);
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		if (fl_option_is(e->line, flags[i]))
			fl_text_add(&line, " --%s", flags[i]);
	fl_text_add(&line, " --seed %llu", (unsigned long long)seed);
	return line.data;
}

void fl_cli_experiment_help(const char *scenario, struct fl_text *to)
{
	struct fl_cli_scenario s;
	char *title;

	if (fl_cli_model.scenario_load(scenario, &s, NULL) < 0)
		return;
	title = fl_xasprintf("Scenario %s%s%s", s.name, s.summary ? ": " : "", s.summary ? s.summary : "");
	fl_text_add_char(to, '\n', 1);
	fl_help_wrap(to, 0, 0, title);
	free(title);
	if (s.options_count)
		fl_text_add(to, "Its options (--set):\n");
	fl_option_help_assignments(s.options, s.options_count, to);
	fl_cli_model.scenario_free(&s);
}
