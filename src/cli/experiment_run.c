/*
 * cli/experiment_run.c - carrying an experiment out: the pool, the result, what is printed and stored.
 *
 * Runs are numbered run * kernels + kernel, so that pairs end together and more runs can be added behind. Only the
 * parent formats, in the order of numbers, however the children ended.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/bug.h"
#include "cli/experiment.h"
#include "report/result_json.h"
#include "report/table.h"
#include "stats/compare.h"
#include "version.h"

/* In the child. */
static int work(void *arg, size_t index, struct fl_record *ret, struct fl_error *reterr)
{
	const struct fl_cli_experiment *e = arg;
	struct fl_cli_request request = e->request;
	char *replay, *context;
	int r;

	request.kernel = e->kernels[index % e->kernels_count];
	request.seed += index / e->kernels_count;
	replay = fl_cli_experiment_replay(e, index % e->kernels_count, request.seed);
	context = fl_xasprintf("seed %" PRIu64 "; to replay: %s", request.seed, replay);
	fl_bug_set_context(context);
	free(context);
	free(replay);
	r = fl_cli_model.run(&request, ret, reterr);
	if (r == 0 && e->trace_file && (fflush(e->trace_file) != 0 || ferror(e->trace_file)))
		return fl_error_set(reterr, FL_ERROR_FAILED, -EIO, "writing to %s failed: %s", e->trace.path,
				    strerror(errno));
	return r;
}

static void add_option_field(struct fl_fields *fields, const struct fl_option *option,
			     const struct fl_option_value *value)
{
	switch (option->kind) {
	case FL_OPTION_FLAG:
	case FL_OPTION_BOOL:
		fl_fields_add_bool(fields, option->name, value->number != 0);
		break;
	case FL_OPTION_INT:
		fl_fields_add_int(fields, option->name, value->number);
		break;
	case FL_OPTION_SIZE:
		fl_fields_add_quantity(fields, option->name, value->number, FL_UNIT_BYTES);
		break;
	case FL_OPTION_DURATION:
		fl_fields_add_quantity(fields, option->name, value->number, FL_UNIT_NS);
		break;
	case FL_OPTION_STRING:
	case FL_OPTION_LIST:
	case FL_OPTION_CHOICE:
		fl_fields_add_text(fields, option->name, value->text);
		break;
	}
}

static void copy_fields(struct fl_fields *to, const struct fl_fields *from)
{
	for (size_t i = 0; i < from->count; i++) {
		const struct fl_field *f = &from->list[i];

		if (f->kind == FL_FIELD_INT)
			fl_fields_add_int(to, f->name, f->number);
		else if (f->kind == FL_FIELD_BOOL)
			fl_fields_add_bool(to, f->name, f->number != 0);
		else if (f->kind == FL_FIELD_REAL)
			fl_fields_add_real(to, f->name, f->real);
		else
			fl_fields_add_text(to, f->name, f->text);
	}
}

/* "name=value" of --tunable; the comma form stands in the kernel's notation. */
static void add_tunables(struct fl_fields *fields, const struct fl_option_value *tunables)
{
	for (size_t i = 0; i < tunables->list_count; i++) {
		const char *equals = strchr(tunables->list[i], '=');
		char *name = fl_xasprintf("%.*s", (int)(equals - tunables->list[i]), tunables->list[i]);

		fl_fields_add_text(fields, name, equals + 1);
		free(name);
	}
}

/* What the host of a live run could not do or measure. */
static void add_limits(const struct fl_cli_experiment *e, struct fl_fields *to)
{
	struct fl_cli_request request = e->request;
	struct fl_text text;

	request.kernel = e->kernels[0];
	fl_text_init(&text);
	fl_cli_model.say(&request, false, &text);
	if (text.length)
		fl_fields_add_text(to, "limits", text.data);
	fl_text_fini(&text);
}

/* What may differ between two runs of the same inputs. */
static void add_provenance(const struct fl_cli_experiment *e, const struct fl_pool_outcome *outcomes, size_t count,
			   struct fl_fields *to)
{
	const struct fl_field *costs = fl_fields_find(&e->machine, "costs"); /* hash of the cost file */
	double cpu_s = 0;
	uint64_t rss = 0;
	struct utsname host;
	char when[40] = "";
	time_t now = time(NULL);
	struct tm tm;

	for (size_t i = 0; i < count; i++) {
		if (outcomes[i].state != FL_POOL_DONE)
			continue;
		cpu_s += outcomes[i].record.cpu_s;
		rss = rss > outcomes[i].record.rss_max_bytes ? rss : outcomes[i].record.rss_max_bytes;
	}
	if (gmtime_r(&now, &tm))
		strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &tm);
	fl_fields_add_text(to, "command", e->command);
	fl_fields_add_text(to, "version", fl_program.version);
	fl_fields_add_text(to, "commit", FL_COMMIT);
	fl_fields_add_text(to, "compiler", __VERSION__);
	fl_fields_add_text(to, "time", when);
	if (uname(&host) == 0) {
		fl_fields_add_text(to, "host", host.nodename);
		fl_fields_add_text(to, "host_kernel", host.release);
		fl_fields_add_text(to, "host_machine", host.machine);
	}
	if (costs)
		fl_fields_add_text(to, "costs", costs->text);
	add_limits(e, to);
	fl_fields_add_real(to, "cpu_s", cpu_s);
	fl_fields_add_int(to, "rss_max_bytes", (int64_t)rss);
}

static void note_missing(struct fl_result *result, size_t kernel, size_t run, const struct fl_pool_outcome *outcome)
{
	char text[128];

	if (outcome->state == FL_POOL_LOST) {
		snprintf(text, sizeof(text), "its process ended by signal %d (%s)", outcome->signal,
			 strsignal(outcome->signal));
		fl_result_add_note(result, kernel, run, false, text);
	} else if (outcome->state == FL_POOL_FAILED) {
		fl_result_add_note(result, kernel, run, false, outcome->error.text);
	}
}

/* The kernels that have what a published figure was measured with. */
static uint64_t changed_kernels(const struct fl_cli_experiment *e, const char *change)
{
	uint64_t has = 0;

	for (size_t k = 0; k < e->kernels_count && k < 64; k++)
		if (*change ? fl_cli_model.kernel_has(e->kernels[k], change) : k > 0)
			has |= UINT64_C(1) << k;
	return has;
}

static void build_result(const struct fl_cli_experiment *e, const struct fl_pool_outcome *outcomes, size_t runs,
			 struct fl_result *result)
{
	fl_result_init(result);
	fl_result_shape(result, (const char *const *)e->kernels, e->kernels_count, runs);
	result->scenario = fl_xstrdup(e->scenario.name);
	result->backend = fl_xstrdup(e->request.backend);
	result->seed = e->request.seed;
	copy_fields(&result->machine, &e->machine);
	for (size_t i = 0; i < e->options.count; i++)
		add_option_field(&result->options, &e->options.table[i], &e->options.values[i]);
	add_tunables(&result->tunables, fl_option_value(e->line, "tunable"));
	for (size_t k = 0; k < e->kernels_count; k++) {
		for (size_t run = 0; run < runs; run++) {
			const struct fl_pool_outcome *outcome = &outcomes[run * e->kernels_count + k];

			if (outcome->state == FL_POOL_DONE)
				fl_result_take(result, k, run, &outcome->record);
			else
				note_missing(result, k, run, outcome);
			result->interrupted |= outcome->state == FL_POOL_WAITING;
		}
	}
	result->published_count = e->scenario.published_count;
	result->published = fl_xcalloc(result->published_count, sizeof(*result->published));
	for (size_t i = 0; i < result->published_count; i++) {
		result->published[i] = e->scenario.published[i];
		result->published[i].changed_kernels = changed_kernels(e, result->published[i].change);
	}
	add_provenance(e, outcomes, runs * e->kernels_count, &result->provenance);
	fl_stats_add_totals(result);
	fl_stats_compare_result(result);
}

/* Half as many again, until the intervals are narrow or there are FL_CLI_RUNS_AUTO_MAX. */
static bool wants_more(const struct fl_cli_experiment *e, const struct fl_pool_outcome *outcomes, size_t *runs)
{
	struct fl_result result;
	bool narrow;

	if (!(e->auto_pct > 0) || *runs >= FL_CLI_RUNS_AUTO_MAX)
		return false;
	build_result(e, outcomes, *runs, &result);
	narrow = fl_stats_is_narrow(&result, e->auto_pct);
	fl_result_fini(&result);
	if (!narrow)
		*runs = *runs + *runs / 2 < FL_CLI_RUNS_AUTO_MAX ? *runs + *runs / 2 : FL_CLI_RUNS_AUTO_MAX;
	return !narrow;
}

/* True if every run of the range ended with a record. */
static bool all_done(const struct fl_pool_outcome *outcomes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (outcomes[i].state != FL_POOL_DONE)
			return false;
	return true;
}

/* Runs everything; *ret_runs is how many of each kernel were wanted in the end. 0 or -EINTR. */
static int run_all(struct fl_cli_experiment *e, struct fl_pool_outcome **ret_outcomes, size_t *ret_runs)
{
	struct fl_pool pool = { .progress = !fl_option_is(e->line, "quiet"), .noun = "runs", .work = work, .arg = e };
	struct fl_pool_outcome *outcomes = NULL;
	size_t runs = e->runs, have = 0;
	int r;

	pool.jobs = fl_option_given(e->line, "jobs") ? (size_t)fl_option_number(e->line, "jobs") : fl_pool_cpus();
	if (!strcmp(e->request.backend, "live"))
		pool.jobs = 1;
	do {
		size_t count = runs * e->kernels_count;

		outcomes = fl_xrealloc(outcomes, count * sizeof(*outcomes));
		memset(outcomes + have, 0, (count - have) * sizeof(*outcomes));
		r = fl_pool_run(&pool, have, count - have, outcomes);
		have = count;
	} while (r == 0 && all_done(outcomes, have) && wants_more(e, outcomes, &runs));
	if (r == 0 && e->auto_pct > 0 && runs >= FL_CLI_RUNS_AUTO_MAX)
		fl_cli_say("%zu runs were made, the most that auto makes; intervals may still be wider than %g %%", runs,
			   e->auto_pct);
	*ret_outcomes = outcomes;
	*ret_runs = runs;
	return r;
}

/* Says what went wrong with runs; the same sentence of several runs is said once. Returns the exit status so far. */
static int say_failures(const struct fl_cli_experiment *e, const struct fl_pool_outcome *outcomes, size_t count)
{
	const char *said = NULL;
	int status = 0;

	for (size_t i = 0; i < count; i++) {
		const struct fl_pool_outcome *o = &outcomes[i];
		uint64_t seed = e->request.seed + i / e->kernels_count;
		size_t kernel = i % e->kernels_count;
		char *replay;

		if (o->state != FL_POOL_LOST && o->state != FL_POOL_FAILED)
			continue;
		if (o->state == FL_POOL_FAILED && o->error.class != FL_ERROR_FAILED) {
			if (!said || strcmp(said, o->error.text))
				fl_cli_say("%s", o->error.text);
			said = o->error.text;
			status = (int)o->error.class;
			continue;
		}
		replay = fl_cli_experiment_replay(e, kernel, seed);
		if (o->state == FL_POOL_LOST)
			fl_cli_say("the run of %s with seed %" PRIu64 " was ended by signal %d (%s); to replay it: %s",
				   e->kernels[kernel], seed, o->signal, strsignal(o->signal), replay);
		else
			fl_cli_say("the run of %s with seed %" PRIu64 " failed: %s; to replay it: %s", e->kernels[kernel],
				   seed, o->error.text, replay);
		free(replay);
		status = status ? status : FL_ERROR_FAILED;
	}
	return status;
}

static size_t count_done(const struct fl_pool_outcome *outcomes, size_t count)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++)
		n += outcomes[i].state == FL_POOL_DONE;
	return n;
}

/* A metric that the scenario declares and no run gave a value in any phase is in no table: that is said. */
static void say_valueless(const struct fl_cli_experiment *e, const struct fl_result *result)
{
	const char *name;

	for (size_t i = 0; (name = fl_cli_model.scenario_metric(&e->scenario, i)); i++) {
		bool found = false;

		for (size_t m = 0; m < result->metrics_count && !found; m++)
			found = !strcmp(result->metrics[m].name, name);
		if (!found)
			fl_cli_say("no run gave the metric \"%s\" of scenario %s a value", name, e->scenario.name);
	}
}

/* What the scenario printed, with the run in front when there are several. */
static void say_logs(const struct fl_cli_experiment *e, const struct fl_pool_outcome *outcomes, size_t count)
{
	struct fl_text text;

	fl_text_init(&text);
	for (size_t i = 0; i < count; i++) {
		const char *line = outcomes[i].state == FL_POOL_DONE ? outcomes[i].record.log.data : "";

		for (; *line; line += strcspn(line, "\n"), line += *line == '\n') {
			if (count > 1)
				fl_text_add(&text, "%s seed %" PRIu64 ": ", e->kernels[i % e->kernels_count],
					    e->request.seed + i / e->kernels_count);
			fl_text_add_bytes(&text, line, strcspn(line, "\n"));
			fl_text_add_char(&text, '\n', 1);
		}
	}
	fl_output_write(STDERR_FILENO, "standard error", text.data, text.length, NULL);
	fl_text_fini(&text);
}

unsigned int fl_cli_table_flags(const struct fl_option_set *set)
{
	return (fl_option_is(set, "counters") ? FL_REPORT_ALL : 0) | (fl_option_is(set, "stats") ? FL_REPORT_STATS : 0) |
	       (fl_option_is(set, "work") ? FL_REPORT_WORK : 0);
}

/* The tables go to standard output unless the document or the events go there, or --quiet has them in a file. */
static int print_tables(const struct fl_cli_experiment *e, const struct fl_pool_outcome *outcomes,
			const struct fl_result *result)
{
	struct fl_text text;
	int status;

	if ((fl_option_is(e->line, "quiet") && e->json.path) || e->json.fd == STDOUT_FILENO ||
	    e->trace.fd == STDOUT_FILENO || e->png.fd == STDOUT_FILENO)
		return 0;
	fl_text_init(&text);
	fl_report_as(result, fl_option_text(e->line, "format"), fl_cli_table_flags(e->line), &text);
	if (fl_option_is(e->line, "map"))
		fl_cli_experiment_draw_maps(e, outcomes, &text);
	status = fl_cli_print(&text);
	fl_text_fini(&text);
	return status;
}

static int store(struct fl_cli_experiment *e, const struct fl_result *result)
{
	struct fl_error error;
	struct fl_text text;
	int status = 0;

	if (e->trace.path && fl_output_close(&e->trace, &error) < 0)
		status = fl_cli_fail(&error);
	if (!e->json.path)
		return status;
	fl_text_init(&text);
	fl_result_write_json(result, &text);
	if (fl_output_commit(&e->json, text.data, text.length, &error) < 0)
		status = fl_cli_fail(&error);
	fl_text_fini(&text);
	return status;
}

/* Tables before the document, so that a person who cannot store it still sees the result; the first failure counts. */
static int deliver(struct fl_cli_experiment *e, const struct fl_pool_outcome *outcomes, size_t runs)
{
	struct fl_result result;
	int printed, stored, drawn = 0;

	build_result(e, outcomes, runs, &result);
	if (count_done(outcomes, runs * e->kernels_count))
		say_valueless(e, &result);
	printed = print_tables(e, outcomes, &result);
	stored = store(e, &result);
	if (e->png.path)
		drawn = fl_cli_experiment_write_png(e, outcomes);
	fl_result_fini(&result);
	return printed ? printed : stored ? stored : drawn;
}

/* The plan goes to standard output, since it is what was asked for. */
static int print_plan(const struct fl_cli_experiment *e)
{
	struct fl_text text;
	int status;

	fl_text_init(&text);
	for (size_t k = 0; k < e->kernels_count; k++) {
		struct fl_cli_request request = e->request;

		request.kernel = e->kernels[k];
		fl_text_add(&text, "%s%s, %zu run%s:\n", k ? "\n" : "", e->kernels[k], e->runs, e->runs == 1 ? "" : "s");
		fl_cli_model.say(&request, true, &text);
		if (!k)
			fl_cli_model.say(&request, false, &text);
	}
	status = fl_cli_print(&text);
	fl_text_fini(&text);
	return status;
}

/* Before the first run: what this host cannot do or measure. */
static void say_limits(const struct fl_cli_experiment *e)
{
	struct fl_cli_request request = e->request;
	struct fl_text text;

	request.kernel = e->kernels[0];
	fl_text_init(&text);
	fl_cli_model.say(&request, false, &text);
	for (const char *line = text.data; *line; line += strcspn(line, "\n"), line += *line == '\n')
		fl_cli_say("%.*s", (int)strcspn(line, "\n"), line);
	fl_text_fini(&text);
}

int fl_cli_experiment_run(struct fl_cli_experiment *e)
{
	struct fl_pool_outcome *outcomes;
	struct fl_error error;
	size_t runs, count, done;
	int r, status, delivered = 0;

	if (fl_option_is(e->line, "dry-run"))
		return print_plan(e);
	if (!fl_option_is(e->line, "quiet"))
		say_limits(e);
	r = run_all(e, &outcomes, &runs);
	if (fl_cli_model.settle(&e->request, &error) < 0)
		fl_cli_say("%s", error.text);
	count = runs * e->kernels_count;
	done = count_done(outcomes, count);
	if (!fl_option_is(e->line, "quiet"))
		say_logs(e, outcomes, count);
	status = say_failures(e, outcomes, count);
	if (done)
		delivered = deliver(e, outcomes, runs);
	if (r == -EINTR) {
		fl_cli_say("interrupted: %zu of %zu runs had finished%s", done, count,
			   !done ? "; nothing is stored" : "");
		status = FL_ERROR_INTERRUPTED;
	}
	fl_pool_outcomes_free(outcomes, count);
	return status ? status : delivered;
}

int fl_cli_experiment_main(const struct fl_command *self, int argc, char **argv,
			   int (*check)(const struct fl_option_set *line, struct fl_error *reterr))
{
	struct fl_cli_experiment e = { 0 };
	struct fl_option_set set;
	struct fl_error error;
	char **operands;
	int status = fl_cli_parse(self, argc, argv, 1, 1, &set, &operands), r;

	if (status >= 0)
		return status;
	r = check(&set, &error);
	if (r >= 0)
		r = fl_cli_experiment_init(&e, &set, argc, argv, operands[0], &error);
	status = r < 0 ? fl_cli_fail(&error) : fl_cli_experiment_run(&e);
	fl_cli_experiment_fini(&e);
	fl_option_set_fini(&set);
	return status;
}
