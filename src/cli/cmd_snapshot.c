/* cli/cmd_snapshot.c - writes this host as a machine that the model can start as. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"

#include "base/layout_json.h"
#include "observe/layout_host.h"
#include "report/output.h"

static const struct fl_option options[] = {
	{ .name = "root", .kind = FL_OPTION_STRING, .value_name = "DIR", .category = "Input",
	  .help = "reads DIR/proc and DIR/sys instead of this host's" },
	{ .name = "quiet", .letter = 'q', .kind = FL_OPTION_FLAG, .category = "Output", .help = "says nothing but errors" },
	FL_CLI_HELP_OPTION,
};

static const struct fl_command_example examples[] = {
	{ "fraglab snapshot host.json", "as root: with the content of every page" },
	{ "fraglab run type-pressure --kernel 6.18 --machine host.json --scale 1G", "the model starts as that host" },
	{ NULL, NULL },
};

static void say(const struct fl_layout *l, const char *path)
{
	uint64_t pages[FL_CENSUS_CLASSES] = { 0 }, managed = 0;

	for (unsigned int z = 0; z < FL_LAYOUT_ZONES; z++)
		managed += l->zone[z].managed;
	for (uint64_t i = 0; i < l->pages; i++)
		pages[l->page[i]]++;
	fl_cli_say("%s: %u CPUs, %" PRIu64 " MiB managed%s", path, l->cpus, managed * (l->page_size >> 10) >> 10,
		   l->page ? "" : ", without its content");
	if (l->page)
		fl_cli_say("free %" PRIu64 ", anonymous %" PRIu64 ", huge %" PRIu64 ", file %" PRIu64 ", slab %" PRIu64
			   ", page tables %" PRIu64 ", kernel %" PRIu64 ", per-CPU lists %" PRIu64 " pages",
			   pages[FL_CENSUS_FREE], pages[FL_CENSUS_ANON], pages[FL_CENSUS_HUGE], pages[FL_CENSUS_FILE],
			   pages[FL_CENSUS_SLAB], pages[FL_CENSUS_PGTABLE], pages[FL_CENSUS_KERNEL], pages[FL_CENSUS_PCP]);
	for (size_t i = 0; i < l->missing_count; i++)
		fl_cli_say("%s", l->missing[i]);
}

static int write_document(const struct fl_layout *l, struct fl_output *output, struct fl_error *reterr)
{
	json_t *document = fl_layout_json(l);
	struct fl_text text;
	int error;

	fl_text_init(&text);
	fl_json_write(document, &text);
	json_decref(document);
	error = fl_output_commit(output, text.data, text.length, reterr);
	fl_text_fini(&text);
	return error;
}

static int run_snapshot(const struct fl_command *self, int argc, char **argv)
{
	struct fl_option_set set;
	struct fl_output output;
	struct fl_layout layout;
	struct fl_error error;
	char **operands;
	int status = fl_cli_parse(self, argc, argv, 1, 1, &set, &operands), r;

	if (status >= 0)
		return status;
	r = fl_output_open(operands[0], &output, &error);
	status = r < 0 ? fl_cli_fail(&error) : 0;
	if (!status) {
		r = fl_layout_read_host(fl_option_text(&set, "root"), &layout, &error);
		if (r == 0) {
			if (!fl_option_is(&set, "quiet"))
				say(&layout, operands[0]);
			r = write_document(&layout, &output, &error);
			fl_layout_fini(&layout);
		}
		status = r < 0 ? fl_cli_fail(&error) : 0;
		fl_output_drop(&output);
	}
	fl_option_set_fini(&set);
	return status;
}

const struct fl_command fl_cmd_snapshot = {
	.name = "snapshot",
	.operands = "FILE",
	.summary = "writes this host as a machine that the model can start as",
	.description =
		"Writes zones, watermarks, sizes of per-CPU lists, settings and CPUs of this host as JSON (- is standard "
		"output), and as root what every page holds. --machine FILE of run and compare makes the model start as that "
		"machine: with its free lists, its types of pageblocks, and its memory in use by a host.\n\nIt is not atomic: "
		"what changes while it is read is not in it. What the host does not tell is said and stands in the file.",
	.options = options,
	.options_count = sizeof(options) / sizeof(options[0]),
	.examples = examples,
	.run = run_snapshot,
};
