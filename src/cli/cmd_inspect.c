/*
 * cli/cmd_inspect.c - `fraglab inspect`: why did this allocation fail, how many huge pages can this host give.
 *
 * Reads a text, a directory or this host (observe), and prints text, JSON, map and picture. Outputs are opened first.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "cli/command.h"
#include "observe/inspect.h"
#include "observe/host_census.h"
#include "observe/read_host.h"
#include "observe/read_text.h"
#include "observe/watch.h"
#include "report/map.h"
#include "report/output.h"

static const struct fl_option options[] = {
	{ .name = "root", .kind = FL_OPTION_STRING, .value_name = "DIR",
	  .help = "reads the files of /proc and /sys under this directory, as in a sosreport" },
	{ .name = "json", .kind = FL_OPTION_STRING, .value_name = "FILE",
	  .help = "writes fraglab.inspect.v1; - is standard output, and then nothing else goes there" },
	{ .name = "all", .kind = FL_OPTION_FLAG, .help = "prints every request and every state, not the first of many" },
	{ .name = "quiet", .kind = FL_OPTION_FLAG, .help = "prints no text" },
	{ .name = "map", .kind = FL_OPTION_FLAG, .category = "This host",
	  .help = "draws what every pageblock holds (needs root)" },
	{ .name = "png", .kind = FL_OPTION_STRING, .value_name = "FILE", .category = "This host",
	  .help = "writes that map as a picture (needs root)" },
	{ .name = "watch", .kind = FL_OPTION_DURATION, .value_name = "INTERVAL", .min = 100000000,
	  .max = 86400000000000, .category = "This host", .help = "prints rates at each interval until Ctrl-C, as in "
								  "5s" },
	{ .name = "count", .kind = FL_OPTION_INT, .value_name = "N", .min = 1, .max = 1000000000, .category = "This host",
	  .help = "ends --watch after N intervals" },
	FL_CLI_HELP_OPTION,
};

static const struct fl_command_example examples[] = {
	{ "fraglab inspect", "this host, now" },
	{ "fraglab inspect failure.txt", "a pasted dump: why did it fail, what would help" },
	{ "dmesg | fraglab inspect -", "the log of this host" },
	{ "fraglab inspect --root sosreport-host1 --json -", "a sosreport, for a program" },
	{ "fraglab inspect --map --png map.png", "where the unmovable pages are (as root)" },
	{ "fraglab inspect --watch 5s", "what fragments this host" },
	{ NULL, NULL },
};

static volatile sig_atomic_t stop;

static void on_signal(int number)
{
	(void)number;
	stop = 1;
}

static int write_watch(void *opaque, const char *bytes, size_t length, struct fl_error *reterr)
{
	(void)opaque;
	return fl_output_write(STDOUT_FILENO, "standard output", bytes, length, reterr);
}

static int run_watch(const struct fl_option_set *set)
{
	struct sigaction action = { .sa_handler = on_signal };
	struct fl_watch_options watch = {
		.root = fl_option_text(set, "root"),
		.interval_ns = (uint64_t)fl_option_number(set, "watch"),
		.intervals = fl_option_given(set, "count") ? (uint64_t)fl_option_number(set, "count") : 0,
		.stop = &stop,
		.write = write_watch,
	};
	struct fl_error error;

	if (!watch.root)
		watch.root = "";
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	if (fl_watch_run(&watch, &error) < 0)
		return fl_cli_fail(&error);
	return stop ? FL_ERROR_INTERRUPTED : 0;
}

/* What belongs to one call, so that one place can free it. */
struct inspection {
	struct fl_option_set set;
	struct fl_mem_report report;
	struct fl_census census;
	struct fl_capacity capacity;
	struct fl_inspect inspect;
	struct fl_output json, png;
	bool has_census, has_json, has_png;
	const char *file; /* NULL: a host */
	const char *root;
};

static int check_words(const struct inspection *in, struct fl_error *reterr)
{
	static const char *const host_only[] = { "map", "png", "watch", "root" };

	for (size_t i = 0; in->file && i < sizeof(host_only) / sizeof(host_only[0]); i++)
		if (fl_option_given(&in->set, host_only[i]))
			return fl_error_input(reterr, "--%s is about a host, and %s is a text: leave out one of them",
					      host_only[i], in->file);
	if (fl_option_given(&in->set, "watch") && (fl_option_given(&in->set, "json") || fl_option_given(&in->set, "png")))
		return fl_error_input(reterr, "--watch prints rates as text; --json and --png do not go with it");
	if (fl_option_given(&in->set, "count") && !fl_option_given(&in->set, "watch"))
		return fl_error_input(reterr, "--count says how often to --watch; --watch INTERVAL is missing");
	return 0;
}

static int open_outputs(struct inspection *in, struct fl_error *reterr)
{
	const char *json = fl_option_text(&in->set, "json"), *png = fl_option_text(&in->set, "png");

	if (fl_output_check_apart((const char *const[]){ "json", "png" }, (const char *const[]){ json, png }, 2, reterr) < 0)
		return -1;
	if (json) {
		if (fl_output_open(json, &in->json, reterr) < 0)
			return -1;
		in->has_json = true;
	}
	if (png) {
		if (fl_output_open(png, &in->png, reterr) < 0)
			return -1;
		in->has_png = true;
	}
	return 0;
}

static bool is_directory(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

/* The census needs root; without it the rest is still worth printing, unless a map was asked for. */
static int read_census(struct inspection *in, struct fl_error *reterr)
{
	bool wanted = fl_option_is(&in->set, "map") || in->has_png;
	struct fl_error error;

	if (fl_mem_read_census(in->root, &in->report, &in->census, &error) == 0) {
		in->has_census = true;
		fl_capacity_compute(&in->census, &in->capacity);
		return 0;
	}
	if (wanted) {
		*reterr = error;
		return -1;
	}
	fl_mem_report_warn(&in->report, 0, "no census of pageblocks, so nothing on what compaction could gain: %s",
			   error.text);
	return 0;
}

static int read_input(struct inspection *in, struct fl_error *reterr)
{
	if (in->file)
		return fl_mem_read_text_file(in->file, &in->report, reterr);
	if (fl_mem_read_host(in->root, &in->report, reterr) < 0)
		return -1;
	return read_census(in, reterr);
}

static void draw_map(const struct inspection *in, struct fl_text *text)
{
	struct fl_map_options map;

	fl_map_options_init(&map);
	map.colour = isatty(STDOUT_FILENO);
	fl_text_add(text, "\n");
	fl_map_draw(&in->census, &map, text);
}

static int write_text(struct inspection *in)
{
	struct fl_text text;
	int status = 0;

	fl_text_init(&text);
	fl_inspect_text(&in->inspect, fl_option_is(&in->set, "all"), &text);
	if (fl_option_is(&in->set, "map"))
		draw_map(in, &text);
	if (!fl_option_is(&in->set, "quiet") && !(in->has_json && !strcmp(fl_option_text(&in->set, "json"), "-")))
		status = fl_cli_print(&text);
	fl_text_fini(&text);
	return status;
}

static int write_json(struct inspection *in, struct fl_error *reterr)
{
	json_t *document = fl_inspect_json(&in->inspect);
	struct fl_text text;
	int r;

	fl_text_init(&text);
	fl_json_write(document, &text);
	json_decref(document);
	r = fl_output_commit(&in->json, text.data, text.length, reterr);
	fl_text_fini(&text);
	return r;
}

static int write_png(struct inspection *in, struct fl_error *reterr)
{
	struct fl_map_picture picture = { &in->census, in->report.live ? "this host" : in->report.source };
	struct fl_text text;
	int r;

	fl_text_init(&text);
	r = fl_map_encode_png(&picture, 1, &text, reterr);
	if (r == 0)
		r = fl_output_commit(&in->png, text.data, text.length, reterr);
	fl_text_fini(&text);
	return r;
}

static int write_all(struct inspection *in)
{
	struct fl_error error;
	int status;

	fl_inspect_init(&in->inspect, &in->report, in->has_census ? &in->capacity : NULL);
	status = write_text(in);
	if (status == 0 && in->has_json && write_json(in, &error) < 0)
		status = fl_cli_fail(&error);
	if (status == 0 && in->has_png && write_png(in, &error) < 0)
		status = fl_cli_fail(&error);
	fl_inspect_fini(&in->inspect);
	return status;
}

static int inspect(struct inspection *in)
{
	struct fl_error error;

	if (check_words(in, &error) < 0)
		return fl_cli_fail(&error);
	if (fl_option_given(&in->set, "watch"))
		return run_watch(&in->set);
	if (open_outputs(in, &error) < 0 || read_input(in, &error) < 0)
		return fl_cli_fail(&error);
	return write_all(in);
}

static int run_inspect(const struct fl_command *self, int argc, char **argv)
{
	struct inspection in = { .root = NULL };
	char **operands;
	int status = fl_cli_parse(self, argc, argv, 0, 1, &in.set, &operands);

	if (status >= 0)
		return status;
	in.file = operands[0];
	in.root = fl_option_text(&in.set, "root");
	if (in.file && is_directory(in.file) && !in.root) {
		in.root = in.file;
		in.file = NULL;
	}
	fl_mem_report_init(&in.report, in.file ? (strcmp(in.file, "-") ? in.file : "standard input")
				       : in.root ? in.root : "this host");
	status = inspect(&in);
	if (in.has_json)
		fl_output_drop(&in.json);
	if (in.has_png)
		fl_output_drop(&in.png);
	if (in.has_census) {
		fl_capacity_fini(&in.capacity);
		fl_census_free(&in.census);
	}
	fl_mem_report_fini(&in.report);
	fl_option_set_fini(&in.set);
	return status;
}

const struct fl_command fl_cmd_inspect = {
	.name = "inspect",
	.operands = "[FILE|DIR]",
	.summary = "explains memory fragmentation of a host or of a pasted dump",
	.description =
		"Without FILE: the state of this host and how many huge pages it can give. With FILE (- is standard "
		"input): a log with page allocation failures, OOM reports or SysRq-m, or the text of "
		"/proc/buddyinfo, pagetypeinfo, zoneinfo, vmstat or meminfo, however it was quoted, prefixed or "
		"wrapped. Each failed request gets a verdict, its evidence with line numbers, and what would "
		"help.\n\nWhat could not be read is said by line, and the rest is used. Exit status 0 if anything "
		"was recognised.",
	.options = options,
	.options_count = sizeof(options) / sizeof(options[0]),
	.examples = examples,
	.run = run_inspect,
};
