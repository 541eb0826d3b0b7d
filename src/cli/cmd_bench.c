/* cli/cmd_bench.c - the model's own speed: each measurement in several processes, the best one counts. */
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/names.h"
#include "cli/command.h"
#include "cli/model.h"
#include "cli/pool.h"
#include "report/output.h"
#include "report/table.h"

static const struct fl_option options[] = {
	{ .name = "processes", .kind = FL_OPTION_INT, .default_text = "3", .min = 1, .max = 100,
	  .help = "processes that measure each; the best one counts" },
	{ .name = "json", .kind = FL_OPTION_STRING, .value_name = "FILE",
	  .help = "stores the results; - is standard output, and nothing else is printed there" },
	{ .name = "quiet", .letter = 'q', .kind = FL_OPTION_FLAG, .help = "no progress line, no table" },
	FL_CLI_HELP_OPTION,
};

static const struct fl_command_example examples[] = {
	{ "fraglab bench", "all measurements" },
	{ "fraglab bench --json - alloc_free_order0_hot", "one of them, as JSON" },
	{ NULL, NULL },
};

enum { BENCHES_MAX = 64 };

/* Which to measure, how often, and what came out. */
struct bench {
	struct fl_cli_bench chosen[BENCHES_MAX];
	size_t count, processes;
	double best_ns[BENCHES_MAX];
	struct fl_output json;
};

static int refuse_name(const char *word, const char *const *names, size_t count, struct fl_error *reterr)
{
	struct fl_text all;
	char near[96];

	fl_text_init(&all);
	for (size_t i = 0; i < count; i++)
		fl_text_add(&all, "%s%s", i == 0 ? "" : i + 1 == count ? " or " : ", ", names[i]);
	fl_error_input(reterr, "\"%s\" is no measurement%s; expected %s", word,
		       fl_names_hint(word, names, count, near, sizeof(near)), all.data);
	fl_text_fini(&all);
	return -1;
}

static int choose(struct bench *b, char **words, struct fl_error *reterr)
{
	const char *names[BENCHES_MAX];
	size_t all = 0;

	for (; all < BENCHES_MAX && fl_cli_model.bench_at(all).name; all++)
		names[all] = fl_cli_model.bench_at(all).name;
	for (size_t i = 0; !*words && i < all; i++)
		b->chosen[b->count++] = fl_cli_model.bench_at(i);
	for (; *words && b->count < BENCHES_MAX; words++) {
		size_t i = 0;

		while (i < all && strcmp(names[i], *words))
			i++;
		if (i == all)
			return refuse_name(*words, names, all, reterr);
		b->chosen[b->count++] = fl_cli_model.bench_at(i);
	}
	return 0;
}

/* In the child. */
static int work(void *arg, size_t index, struct fl_record *ret, struct fl_error *reterr)
{
	const struct bench *b = arg;
	double ns;
	int r = b->chosen[index % b->count].measure(&ns, reterr);

	if (r == 0)
		fl_record_add(ret, "ns", "all", ns);
	return r;
}

/* One process at a time: two would disturb each other. Returns the exit status. */
static int measure(struct bench *b, bool progress)
{
	struct fl_pool pool = { .jobs = 1, .progress = progress, .noun = "measurements", .work = work, .arg = b };
	size_t count = b->count * b->processes;
	struct fl_pool_outcome *outcomes = fl_xcalloc(count, sizeof(*outcomes));
	int status = fl_pool_run(&pool, 0, count, outcomes) < 0 ? FL_ERROR_INTERRUPTED : 0;

	for (size_t i = 0; i < count; i++) {
		const struct fl_pool_outcome *o = &outcomes[i];
		double *best = &b->best_ns[i % b->count];

		if (i < b->count)
			*best = NAN;
		if (o->state == FL_POOL_DONE && o->record.samples_count)
			*best = fmin(*best, o->record.samples[0].value); /* fmin() prefers a number to NaN */
		else if (o->state == FL_POOL_LOST)
			fl_cli_say("%s: its process was ended by signal %d (%s)", b->chosen[i % b->count].name, o->signal,
				   strsignal(o->signal));
		else if (o->state == FL_POOL_FAILED)
			fl_cli_say("%s: %s", b->chosen[i % b->count].name, o->error.text);
		if (!status && o->state == FL_POOL_FAILED)
			status = (int)o->error.class;
		if (!status && o->state == FL_POOL_LOST)
			status = FL_ERROR_FAILED;
	}
	fl_pool_outcomes_free(outcomes, count);
	return status;
}

static void write_json(const struct bench *b, struct fl_text *to)
{
	json_t *root = json_object(), *results = json_array();

	for (size_t i = 0; i < b->count; i++) {
		json_t *one = json_object();

		json_object_set_new(one, "name", json_string(b->chosen[i].name));
		json_object_set_new(one, "ns", fl_json_number(b->best_ns[i]));
		json_object_set_new(one, "unit", json_string(b->chosen[i].unit));
		json_array_append_new(results, one);
	}
	json_object_set_new(root, "schema", json_string("fraglab.bench.v1"));
	json_object_set_new(root, "processes", json_integer((json_int_t)b->processes));
	json_object_set_new(root, "results", results);
	fl_json_write(root, to);
	json_decref(root);
}

static void write_table(const struct bench *b, struct fl_text *to)
{
	char number[32];

	for (size_t i = 0; i < b->count; i++)
		fl_text_add(to, "%-32s %10s %s\n", b->chosen[i].name,
			    fl_report_number(b->best_ns[i], number, sizeof(number)), b->chosen[i].unit);
}

static int deliver(struct bench *b, bool quiet)
{
	struct fl_error error;
	struct fl_text text;
	int status = 0;

	fl_text_init(&text);
	if (!quiet && b->json.fd != 1) {
		write_table(b, &text);
		status = fl_cli_print(&text);
	}
	fl_text_clear(&text);
	write_json(b, &text);
	if (b->json.path && fl_output_commit(&b->json, text.data, text.length, &error) < 0)
		status = fl_cli_fail(&error);
	fl_text_fini(&text);
	return status;
}

static int run_bench(const struct fl_command *self, int argc, char **argv)
{
	struct bench b = { .json.fd = -1 };
	struct fl_option_set set;
	struct fl_error error;
	char **operands;
	int status = fl_cli_parse(self, argc, argv, 0, BENCHES_MAX, &set, &operands), r;

	if (status >= 0)
		return status;
	b.processes = (size_t)fl_option_number(&set, "processes");
	r = choose(&b, operands, &error);
	if (r == 0 && fl_option_given(&set, "json"))
		r = fl_output_open(fl_option_text(&set, "json"), &b.json, &error);
	if (r < 0) {
		status = fl_cli_fail(&error);
	} else {
		int delivered;

		status = measure(&b, !fl_option_is(&set, "quiet"));
		delivered = deliver(&b, fl_option_is(&set, "quiet"));
		status = status ? status : delivered;
	}
	fl_output_drop(&b.json);
	fl_option_set_fini(&set);
	return status;
}

const struct fl_command fl_cmd_bench = {
	.name = "bench",
	.operands = "[NAME...]",
	.summary = "measures the model's own speed",
	.description = "Measures how fast the model is on this machine. Each measurement runs in several processes one "
		       "after the other, and the best one counts, since other load only ever slows it down.",
	.options = options,
	.options_count = sizeof(options) / sizeof(options[0]),
	.examples = examples,
	.run = run_bench,
};
