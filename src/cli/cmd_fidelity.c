/*
 * cli/cmd_fidelity.c - the same small scenarios on this host's kernel and on the model that starts as this host, held against
 * the bands of fidelity_bands.c.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/fidelity.h"
#include "cli/model.h"
#include "cli/pool.h"

#include "base/layout_json.h"
#include "observe/layout_host.h"
#include "observe/read_host.h"
#include "report/output.h"
#include "report/result_json.h"

#define NOISE_NS 2000000000

static const struct fl_option options[] = {
	{ .name = "quick", .kind = FL_OPTION_FLAG, .category = "Runs", .help = "smaller loads, in about a quarter of the time" },
	{ .name = "only", .kind = FL_OPTION_LIST, .value_name = "SCENARIO", .category = "Runs",
	  .help = "of exact, faults, unmovable, probe, collapse [all]" },
	{ .name = "kernel", .letter = 'k', .kind = FL_OPTION_STRING, .value_name = "SPEC", .category = "Runs",
	  .help = "the model's kernel [the base version nearest below the one that runs here]" },
	{ .name = "scale", .kind = FL_OPTION_SIZE, .default_text = "1G", .min = 256 << 20, .max = INT64_C(1) << 44, .category = "Runs",
	  .help = "budget of the load on this host" },
	{ .name = "seed", .letter = 's', .kind = FL_OPTION_INT, .default_text = "1", .min = 0, .max = INT64_C(1) << 62,
	  .category = "Runs", .help = "seed of both sides" },
	{ .name = "all", .kind = FL_OPTION_FLAG, .category = "Output", .help = "prints rows within their band too" },
	{ .name = "json", .kind = FL_OPTION_STRING, .value_name = "FILE", .category = "Output", .help = "stores all rows" },
	{ .name = "quiet", .letter = 'q', .kind = FL_OPTION_FLAG, .category = "Output", .help = "no progress" },
	FL_CLI_HELP_OPTION,
};

static const struct fl_command_example examples[] = {
	{ "fraglab fidelity --quick", "as root, on an idle host: some two minutes" },
	{ "fraglab fidelity live.json sim.json", "two stored results of one scenario" },
	{ NULL, NULL },
};

struct fidelity {
	const struct fl_option_set *line;
	char *kernel;
	struct fl_layout host;
	struct fl_fidelity_noise noise;
	struct fl_fidelity_rows rows;
	struct fl_output json;
	struct fl_cli_request request; /* of the run in work */
};

/* ---- what must be exact ---- */

/* A write of the value that it has makes the kernel compute its marks anew: managed memory may have grown since it did. */
static void refresh_marks(void)
{
	static const char *const names[] = { "watermark_scale_factor", "lowmem_reserve_ratio" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		char path[64], text[128];
		size_t n = 0;
		FILE *file;

		snprintf(path, sizeof(path), "/proc/sys/vm/%s", names[i]);
		file = fopen(path, "r");
		if (file) {
			n = fread(text, 1, sizeof(text), file);
			fclose(file);
		}
		file = n ? fopen(path, "w") : NULL;
		if (file) {
			fwrite(text, 1, n, file);
			fclose(file);
		}
	}
}

static void add_marks(struct fidelity *f)
{
	struct fl_exact rows[64];
	size_t count = fl_cli_model.exact_marks ? fl_cli_model.exact_marks(&f->host, rows, 64) : 0;

	for (size_t i = 0; i < count; i++)
		fl_fidelity_add_exact(rows[i].name, rows[i].real, rows[i].model, &f->rows);
}

/* debugfs has the indices; it is mounted for a moment where nobody looks. */
static int read_with_debugfs(struct fl_mem_report *report, char *root, struct fl_error *reterr)
{
	static const char *const names[] = { "proc", "sys" };
	char path[128], other[128];
	int error = 0;

	for (int i = 0; i < 2 && !error; i++) {
		snprintf(path, sizeof(path), "%s/%s", root, names[i]);
		snprintf(other, sizeof(other), "/%s", names[i]);
		if (mkdir(path, 0700) || mount(other, path, NULL, MS_BIND, NULL))
			error = -errno;
	}
	snprintf(path, sizeof(path), "%s/sys/kernel/debug", root);
	if (!error && mount("none", path, "debugfs", 0, NULL))
		error = -errno;
	if (!error)
		error = fl_mem_read_host(root, report, reterr);
	umount2(path, MNT_DETACH);
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/%s", root, names[i]);
		umount2(path, MNT_DETACH);
		rmdir(path);
	}
	return error;
}

static bool same_lists(const struct fl_mem_zone *a, const struct fl_mem_zone *b)
{
	return a->orders_count == b->orders_count &&
	       !memcmp(a->free_blocks, b->free_blocks, a->orders_count * sizeof(*a->free_blocks));
}

/* Lists are read before the indices and again after them: only zones that held still count. */
static void add_indices_of(struct fidelity *f, const struct fl_mem_state *before, const struct fl_mem_state *after)
{
	for (size_t z = 0; z < before->zones_count; z++) {
		const struct fl_mem_zone *a = &before->zones[z], *b = fl_mem_state_find_zone(after, a->node, a->name);
		char name[64];

		if (!b || !same_lists(a, b) || !fl_mem_zone_is_populated(a))
			continue;
		for (unsigned int o = 0; o < a->orders_count; o++) {
			snprintf(name, sizeof(name), "%s unusable_index order %u", a->name, o);
			if (a->has_unusable_index)
				fl_fidelity_add_exact(name, a->unusable_index[o],
						      fl_cli_model.exact_index(a->free_blocks, a->orders_count, o, true), &f->rows);
			snprintf(name, sizeof(name), "%s extfrag_index order %u", a->name, o);
			if (a->has_fragmentation_index)
				fl_fidelity_add_exact(name, a->fragmentation_index[o],
						      fl_cli_model.exact_index(a->free_blocks, a->orders_count, o, false),
						      &f->rows);
		}
	}
}

static void add_indices(struct fidelity *f)
{
	struct fl_mem_report first, second;
	char root[] = "/tmp/fraglab-debugfs-XXXXXX";
	struct fl_error error;

	if (!fl_cli_model.exact_index || !mkdtemp(root))
		return;
	fl_mem_report_init(&first, "this host");
	fl_mem_report_init(&second, "this host");
	if (read_with_debugfs(&first, root, &error) == 0 && fl_mem_read_host(NULL, &second, &error) == 0 &&
	    first.states_count && second.states_count)
		add_indices_of(f, first.states[0], second.states[0]);
	else
		fl_cli_say("indices of debugfs could not be read, so they are not compared");
	fl_mem_report_fini(&first);
	fl_mem_report_fini(&second);
	rmdir(root);
}

/* ---- noise ---- */

static int read_vmstat(struct fl_mem_report *report, struct fl_error *reterr)
{
	fl_mem_report_init(report, "this host");
	return fl_mem_read_host(NULL, report, reterr);
}

/* What the host counts by itself, before any load. */
static void measure_noise(struct fidelity *f)
{
	struct fl_mem_report before, after;
	struct timespec pause = { .tv_sec = NOISE_NS / 1000000000 };
	struct fl_error error;

	if (read_vmstat(&before, &error) == 0 && before.states_count) {
		nanosleep(&pause, NULL);
		if (read_vmstat(&after, &error) == 0 && after.states_count) {
			const struct fl_mem_values *now = &after.states[0]->vmstat;

			f->noise.list = fl_xcalloc(now->count + 1, sizeof(*f->noise.list));
			for (size_t i = 0; i < now->count; i++) {
				uint64_t was = fl_mem_values_get(&before.states[0]->vmstat, now->items[i].name);
				struct fl_fidelity_rate *rate = &f->noise.list[f->noise.count];

				if (was == FL_MEM_NONE || now->items[i].value <= was)
					continue;
				snprintf(rate->name, sizeof(rate->name), "%s", now->items[i].name);
				rate->per_s = (double)(now->items[i].value - was) / (NOISE_NS / 1e9);
				f->noise.count++;
			}
		}
		fl_mem_report_fini(&after);
	}
	fl_mem_report_fini(&before);
}

/* ---- runs ---- */

static int work(void *arg, size_t index, struct fl_record *ret, struct fl_error *reterr)
{
	struct fidelity *f = arg;

	(void)index;
	return fl_cli_model.run(&f->request, ret, reterr);
}

/* One run in a process of its own. 0, or an exit status after it was said what went wrong. */
static int run_one(struct fidelity *f, const char *noun, struct fl_pool_outcome *ret)
{
	struct fl_pool pool = { .jobs = 1, .progress = !fl_option_is(f->line, "quiet"), .noun = noun, .work = work, .arg = f };
	struct fl_error error;
	int r = fl_pool_run(&pool, 0, 1, ret);

	if (ret->state != FL_POOL_FAILED && fl_cli_model.settle && fl_cli_model.settle(&f->request, &error) < 0)
		fl_cli_say("%s", error.text);
	if (r < 0)
		return FL_ERROR_INTERRUPTED;
	if (ret->state == FL_POOL_FAILED)
		return fl_cli_fail(&ret->error);
	if (ret->state != FL_POOL_DONE) {
		fl_cli_say("a run of %s was ended by signal %d (%s)", noun, ret->signal, strsignal(ret->signal));
		return FL_ERROR_FAILED;
	}
	return 0;
}

static int write_snapshot(struct fidelity *f, char *path, struct fl_error *reterr)
{
	int fd, error = fl_layout_read_host(NULL, &f->host, reterr);
	struct fl_text text;
	json_t *document;

	if (error)
		return error;
	fd = mkstemp(path);
	if (fd < 0) {
		fl_layout_fini(&f->host);
		return fl_error_set(reterr, FL_ERROR_FAILED, -errno, "%s cannot be made: %s", path, strerror(errno));
	}
	document = fl_layout_json(&f->host);
	fl_text_init(&text);
	fl_json_write(document, &text);
	json_decref(document);
	error = fl_output_write(fd, path, text.data, text.length, reterr);
	fl_text_fini(&text);
	close(fd);
	if (error)
		unlink(path);
	return error;
}

static const char *const quick[][2] = {
	{ "storm", "16M" }, { "tables", "5000" }, { "pipes", "200" }, { "files", "10000" }, { "probe", "64M" }, { "time", "3s" },
};

static void shrink(struct fl_option_set *set)
{
	char text[64];

	for (size_t i = 0; i < sizeof(quick) / sizeof(*quick); i++) {
		snprintf(text, sizeof(text), "%s=%s", quick[i][0], quick[i][1]);
		fl_option_assign(set, "option", text, NULL); /* those that the scenario has */
	}
}

/* Both sides of one scenario: the host is looked at, then loaded, then modelled. */
static int run_pair(struct fidelity *f, const struct fl_cli_scenario *scenario, const struct fl_option_set *set)
{
	struct fl_pool_outcome real = { 0 }, model = { 0 };
	char path[] = "/tmp/fraglab-snapshot-XXXXXX";
	struct fl_error error;
	char *live = NULL;
	int status;

	fl_layout_fini(&f->host);
	sync(); /* dirty large folios cannot be split: compaction ends where it meets one without a target (docs/FIDELITY.md) */
	if (write_snapshot(f, path, &error) < 0)
		return fl_cli_fail(&error);
	if (fl_cli_model.kernel_check("live", "live", &live, &error) < 0) {
		unlink(path);
		return fl_cli_fail(&error);
	}
	f->request = (struct fl_cli_request){ .scenario = scenario, .options = set, .kernel = live, .backend = "live",
					      .scale_bytes = fl_option_number(f->line, "scale"),
					      .seed = (uint64_t)fl_option_number(f->line, "seed") };
	status = run_one(f, "live runs", &real);
	f->request.kernel = f->kernel;
	f->request.backend = "sim";
	f->request.machine_file = path;
	if (!status)
		status = run_one(f, "runs of the model", &model);
	if (!status)
		fl_fidelity_compare(scenario->name, &real.record, &model.record, &f->noise, &f->rows);
	unlink(path);
	free(live);
	if (real.state == FL_POOL_DONE)
		fl_record_fini(&real.record);
	if (model.state == FL_POOL_DONE)
		fl_record_fini(&model.record);
	return status;
}

static bool is_wanted(const struct fidelity *f, const char *name)
{
	const struct fl_option_value *only = fl_option_value(f->line, "only");

	for (size_t i = 0; i < only->list_count; i++)
		if (!strcmp(only->list[i], name))
			return true;
	return !only->list_count;
}

static int run_scenario(struct fidelity *f, const char *name)
{
	struct fl_cli_scenario scenario;
	struct fl_option_set set;
	struct fl_error error;
	char path[64];
	int status;

	snprintf(path, sizeof(path), "fidelity/%s", name);
	if (fl_cli_model.scenario_load(path, &scenario, &error) < 0)
		return fl_cli_fail(&error);
	fl_option_set_init(&set, scenario.options, scenario.options_count);
	if (fl_option_is(f->line, "quick"))
		shrink(&set);
	status = run_pair(f, &scenario, &set);
	fl_option_set_fini(&set);
	fl_cli_model.scenario_free(&scenario);
	return status;
}

/* The base version nearest below a release: versions are listed in rising order. */
static char *nearest_kernel(const char *release)
{
	int major = 0, minor = 0;
	char *best = NULL;
	struct fl_text list;
	struct fl_error error;

	if (sscanf(release, "%d.%d", &major, &minor) < 2)
		major = minor = 0;
	fl_text_init(&list);
	if (fl_cli_model.list(FL_CLI_LIST_KERNELS, false, &list, &error) == 0)
		for (const char *line = list.data; *line; line += strcspn(line, "\n"), line += *line == '\n') {
			int a = 0, b = 0, length = (int)strcspn(line, "\t\n");

			if (sscanf(line, "%d.%d", &a, &b) == 2 && (a < major || (a == major && b <= minor))) {
				free(best);
				best = fl_xasprintf("%.*s", length, line);
			}
		}
	fl_text_fini(&list);
	return best ? best : fl_xstrdup(fl_cli_model.default_kernel);
}

static int choose_kernel(struct fidelity *f, struct fl_error *reterr)
{
	const char *asked = fl_option_text(f->line, "kernel");
	char *nearest = asked ? fl_xstrdup(asked) : nearest_kernel(f->host.release);
	int error = fl_cli_model.kernel_check(nearest, "sim", &f->kernel, reterr);

	free(nearest);
	return error;
}

static int check_words(const struct fidelity *f, struct fl_error *reterr)
{
	const struct fl_option_value *only = fl_option_value(f->line, "only");

	for (size_t i = 0; i < only->list_count; i++) {
		size_t n = 0;

		while (fl_fidelity_scenarios[n] && strcmp(fl_fidelity_scenarios[n], only->list[i]))
			n++;
		if (!fl_fidelity_scenarios[n] && strcmp(only->list[i], "exact"))
			return fl_error_input(reterr, "--only: there is no \"%s\"; expected exact, faults, unmovable, probe or collapse",
					      only->list[i]);
	}
	if (geteuid() != 0)
		return fl_error_set(reterr, FL_ERROR_LACKING, -EPERM, "fidelity needs root: for the content of pages, the settings of "
				    "huge pages and vm.compact_memory; run it with sudo");
	return 0;
}

static int run_all(struct fidelity *f)
{
	struct fl_error error;
	int status = 0;

	if (check_words(f, &error) < 0)
		return fl_cli_fail(&error);
	refresh_marks();
	if (fl_layout_read_host(NULL, &f->host, &error) < 0 || choose_kernel(f, &error) < 0)
		return fl_cli_fail(&error);
	if (!f->host.page) {
		fl_cli_say("%s", f->host.missing_count ? f->host.missing[0] : "this host does not tell what its pages hold");
		return FL_ERROR_LACKING;
	}
	if (is_wanted(f, "exact")) {
		add_marks(f);
		add_indices(f);
	}
	measure_noise(f);
	for (size_t i = 0; fl_fidelity_scenarios[i] && !status; i++)
		if (is_wanted(f, fl_fidelity_scenarios[i]))
			status = run_scenario(f, fl_fidelity_scenarios[i]);
	return status;
}

/* Two stored results instead of two runs. */
static int compare_files(struct fidelity *f, char **paths)
{
	struct fl_record records[2];
	struct fl_result results[2];
	struct fl_error error;
	int have = 0, status = 0;

	for (; have < 2 && !status; have++) {
		if (fl_result_read_json(paths[have], &results[have], &error) < 0) {
			status = fl_cli_fail(&error);
			break;
		}
		fl_fidelity_record(&results[have], &records[have]);
	}
	if (!status && strcmp(results[0].scenario, results[1].scenario)) {
		fl_error_input(&error, "%s is of scenario %s and %s of %s; expected two results of one scenario", paths[0],
			       results[0].scenario, paths[1], results[1].scenario);
		status = fl_cli_fail(&error);
	}
	if (!status)
		fl_fidelity_compare(results[0].scenario, &records[0], &records[1], NULL, &f->rows);
	while (have-- > 0) {
		fl_record_fini(&records[have]);
		fl_result_fini(&results[have]);
	}
	return status;
}

static int deliver(struct fidelity *f)
{
	struct fl_error error;
	struct fl_text text;
	int status = 0;

	fl_text_init(&text);
	if (f->kernel)
		fl_text_add(&text, "real: %s, model: %s\n\n", f->host.release, f->kernel);
	fl_fidelity_print(&f->rows, fl_option_is(f->line, "all"), &text);
	if (!f->json.path || strcmp(f->json.path, "-"))
		status = fl_cli_print(&text);
	fl_text_clear(&text);
	fl_fidelity_write_json(&f->rows, f->host.release, f->kernel ? f->kernel : "", &text);
	if (!status && f->json.path && fl_output_commit(&f->json, text.data, text.length, &error) < 0)
		status = fl_cli_fail(&error);
	fl_text_fini(&text);
	return status;
}

static int run_fidelity(const struct fl_command *self, int argc, char **argv)
{
	struct fl_option_set set;
	struct fidelity f = { .line = &set };
	struct fl_error error;
	char **operands;
	int status = fl_cli_parse(self, argc, argv, 0, 2, &set, &operands);

	if (status >= 0)
		return status;
	fl_layout_init(&f.host);
	status = 0;
	if (operands[0] && !operands[1]) {
		fl_error_input(&error, "one result is not enough: fraglab fidelity REAL.json MODEL.json, or without files");
		status = fl_cli_fail(&error);
	}
	if (!status && fl_option_given(&set, "json") && fl_output_open(fl_option_text(&set, "json"), &f.json, &error) < 0)
		status = fl_cli_fail(&error);
	if (!status)
		status = operands[0] ? compare_files(&f, operands) : run_all(&f);
	if (f.rows.count && (!status || status == FL_ERROR_INTERRUPTED || status == FL_ERROR_FAILED)) {
		int delivered = deliver(&f);

		status = status ? status : delivered;
	}
	if (f.json.path)
		fl_output_drop(&f.json);
	free(f.kernel);
	free(f.noise.list);
	fl_fidelity_rows_fini(&f.rows);
	fl_layout_fini(&f.host);
	fl_option_set_fini(&set);
	return status;
}

const struct fl_command fl_cmd_fidelity = {
	.name = "fidelity",
	.operands = "[REAL.json MODEL.json]",
	.summary = "how far the model is from the kernel that runs here",
	.description =
		"Runs small scenarios on this host's kernel and on the model that starts as this host (fraglab snapshot), and prints "
		"for each counter what the real kernel and the model counted, their ratio, and whether that is within the declared "
		"band: fault storms at each page size on clean and on fragmented memory; demand of unmovable memory by page tables, "
		"pipes and files; huge pages after manual and after proactive compaction; khugepaged over fragmented ranges. Marks, "
		"sizes of per-CPU lists and indices must be exact.\n\nNeeds root, and an idle host: what other processes do counts "
		"too. The column noise says how much of that was counted before, in as much time. Settings are put back; the load is "
		"at most --scale.",
	.options = options,
	.options_count = sizeof(options) / sizeof(options[0]),
	.examples = examples,
	.run = run_fidelity,
};
