/*
 * A host whose files are damaged: each line that cannot be read is said with its file and number and what was expected
 * there, each file that is not there with the figures that are missing for it, and the rest is used. The same for a
 * text, whose tables are damaged lines among what people wrote.
 */
#include "fixture.h"

#include "observe/host_census.h"
#include "observe/inspect.h"
#include "observe/procline.h"
#include "observe/read_host.h"
#include "observe/read_text.h"

#define THP "sys/kernel/mm/transparent_hugepage/"

static const struct {
	const char *path, *text;
} sound[] = {
	{ "proc/version", "Linux version 6.12.9-test (a@b) (gcc) #1 SMP\n" },
	{ "proc/buddyinfo", "Node 0, zone      DMA      1      0      0      0      0      0      0      0      1      1      3 \n"
			    "Node 0, zone   Normal     40     30     20     10      5      4      3      2      1      0      7 \n" },
	{ "proc/pagetypeinfo",
	  "Page block order: 9\nPages per block:  512\n\n"
	  "Free pages count per migrate type at order       0      1      2      3      4      5      6      7      8      9     10 \n"
	  "Node    0, zone      DMA, type    Unmovable      1      0      0      0      0      0      0      0      1      1      3 \n"
	  "Node    0, zone   Normal, type    Unmovable     40     30     20     10      5      4      3      2      1      0      0 \n"
	  "Node    0, zone   Normal, type      Movable      0      0      0      0      0      0      0      0      0      0      7 \n\n"
	  "Number of blocks type     Unmovable      Movable  Reclaimable \n"
	  "Node 0, zone      DMA            1            7            0 \n"
	  "Node 0, zone   Normal           10           90            4 \n" },
	{ "proc/zoneinfo",
	  "Node 0, zone      DMA\n  per-node stats\n      nr_inactive_anon 29\n      nr_slab_unreclaimable 12\n"
	  "  pages free     3841\n        boost    0\n        min      19\n        low      23\n        high     27\n"
	  "        promo    31\n        spanned  4095\n        present  3998\n        managed  3840\n        cma      0\n"
	  "        protection: (0, 200, 200)\n      nr_free_pages 3841\n  pagesets\n    cpu: 0\n              count:    0\n"
	  "              high:     0\n              batch:    1\n  vm stats threshold: 4\n  node_unreclaimable:  0\n"
	  "  start_pfn:           1\n"
	  "Node 0, zone   Normal\n  pages free     8340\n        boost    0\n        min      400\n        low      500\n"
	  "        high     600\n        spanned  53248\n        present  53248\n        managed  51200\n"
	  "        protection: (0, 0, 0)\n      nr_free_pages 8340\n" },
	{ "proc/vmstat", "nr_free_pages 12181\npgfault 123456\ncompact_stall 3\ncompact_fail 1\ncompact_success 2\n" },
	{ "proc/meminfo", "MemTotal:         220160 kB\nMemFree:           48724 kB\nHugePages_Total:       0\n"
			  "Active(anon):          4 kB\n" },
	{ "proc/sys/vm/min_free_kbytes", "67584\n" },
	{ "proc/sys/vm/lowmem_reserve_ratio", "256\t256\t32\t0\t0\n" },
	{ THP "enabled", "always [madvise] never\n" },
	{ THP "defrag", "always defer defer+madvise [madvise] never\n" },
	{ THP "hpage_pmd_size", "2097152\n" },
	{ THP "khugepaged/defrag", "1\n" },
	{ THP "hugepages-64kB/enabled", "always inherit madvise [never]\n" },
	{ THP "hugepages-64kB/stats/anon_fault_alloc", "17\n" },
	{ "sys/kernel/debug/extfrag/unusable_index",
	  "Node 0, zone      DMA 0.000 0.000 0.000 0.000 0.000 0.000 0.000 0.000 0.000 0.066 0.200 \n" },
	{ "sys/kernel/debug/extfrag/extfrag_index",
	  "Node 0, zone      DMA -1.000 -1.000 -1.000 -1.000 -1.000 -1.000 -1.000 -1.000 -1.000  0.-500  0.125 \n" },
	{ "proc/kpageflags", "" }, /* zoneinfo's pages are not checked here */
};

static char *sound_host(void)
{
	char *root = fixture_new();

	for (size_t i = 0; i < sizeof(sound) / sizeof(sound[0]); i++)
		fixture_text(root, sound[i].path, sound[i].text);
	return root;
}

static const char *sound_text(const char *path)
{
	for (size_t i = 0; i < sizeof(sound) / sizeof(sound[0]); i++)
		if (!strcmp(sound[i].path, path))
			return sound[i].text;
	fail_msg("%s", path);
	return NULL;
}

static void replace(const char *root, const char *name, const char *command)
{
	char *line = fl_xasprintf("cd %s && rm -rf %s && %s %s", root, name, command, name);

	assert_int_equal(system(line), 0);
	free(line);
}

static void read_host(const char *root, struct fl_mem_report *report)
{
	struct fl_error error = { .text = "" };

	fl_mem_report_init(report, "host");
	if (fl_mem_read_host(root, report, &error) < 0)
		fail_msg("%s", error.text);
}

/* How many warnings say all of these; `file` NULL: any place. */
static unsigned int warnings_that_say(const struct fl_mem_report *report, const char *file, unsigned int line,
				      const char *words, const char *more)
{
	unsigned int count = 0;

	for (size_t i = 0; i < report->warnings_count; i++) {
		const char *name = NULL;
		unsigned int number = 0;

		if (report->warnings[i].line)
			number = fl_mem_report_place(report, report->warnings[i].line, &name);
		count += (!file || (name && !strcmp(name, file) && number == line)) &&
			 strstr(report->warnings[i].text, words) && strstr(report->warnings[i].text, more);
	}
	return count;
}

static void expect_warning(const struct fl_mem_report *report, const char *file, unsigned int line, const char *words,
			   const char *more)
{
	if (warnings_that_say(report, file, line, words, more) == 1)
		return;
	for (size_t i = 0; i < report->warnings_count; i++)
		print_message("# line %u: %s\n", report->warnings[i].line, report->warnings[i].text);
	fail_msg("%s:%u: not said once: %s ... %s", file ? file : "-", line, words, more);
}

static void test_sound_files_give_no_warning(void **unused)
{
	char *root = sound_host();
	struct fl_mem_report report;
	const struct fl_mem_state *state;

	read_host(root, &report);
	for (size_t i = 0; i < report.warnings_count; i++)
		fail_msg("line %u: %s", report.warnings[i].line, report.warnings[i].text);
	assert_int_equal(report.states_count, 1);
	state = report.states[0];
	assert_int_equal(state->zones_count, 2);
	assert_int_equal(state->zones[1].min, 400);
	assert_int_equal(state->zones[0].fragmentation_index[9], -500);
	assert_int_equal(state->zones[0].fragmentation_index[10], 125);
	assert_int_equal(state->pageblock_order, 9);
	assert_int_equal(state->page_size, 4096);
	assert_false(state->page_size_assumed);
	assert_string_equal(fl_mem_settings_get(&state->thp, "defrag"), "madvise");
	fl_mem_report_fini(&report);
	fixture_remove(root);
}

static void test_files_of_this_very_host_are_understood(void **unused)
{
	struct fl_mem_report report;

	read_host("", &report);
	if (warnings_that_say(&report, NULL, 0, "expected", "") || warnings_that_say(&report, NULL, 0, "no line that", ""))
		for (size_t i = 0; i < report.warnings_count; i++)
			fail_msg("line %u: %s", report.warnings[i].line, report.warnings[i].text);
	fl_mem_report_fini(&report);
}

/* One file with one bad line; what is said of it, and that nothing else is said to be unreadable. */
static void expect_bad_line(const char *path, unsigned int line, const char *text, const char *words, const char *expected)
{
	char *root = sound_host();
	struct fl_mem_report report;

	fixture_text(root, path, text);
	read_host(root, &report);
	expect_warning(&report, path, line, words, expected);
	assert_int_equal(warnings_that_say(&report, NULL, 0, "expected", ""), 1);
	fl_mem_report_fini(&report);
	fixture_remove(root);
}

static void test_each_kind_of_file_says_what_it_expected(void **unused)
{
	expect_bad_line("proc/version", 1, "?\n", "\"?\" cannot be read", "Linux version");
	expect_bad_line("proc/buddyinfo", 2, "Node 0, zone DMA 1 0 3\nNode 0, zone Normal 40 3x 7\n", "\"3x\" cannot be read",
			"a count of free blocks for each order");
	expect_bad_line("proc/buddyinfo", 1, "hello\nNode 0, zone Normal 40 30 7\n", "\"hello\" cannot be read", "Node 0, zone");
	expect_bad_line("proc/buddyinfo", 1, "Node 0, zone Normal\nNode 0, zone DMA 1 2 3\n", "the line ends too early",
			"a count of free blocks");
	expect_bad_line("proc/pagetypeinfo", 2, "Page block order: 9\nNode 0, zone DMA, type Movable 1 ? 3\n",
			"\"?\" cannot be read", "type Movable");
	expect_bad_line("proc/pagetypeinfo", 1, "Page block order: many\nNode 0, zone DMA, type Movable 1 2 3\n",
			"\"many\" cannot be read", "a count for each order");
	expect_bad_line("proc/zoneinfo", 2, "Node 0, zone DMA\n        min      12345678901234567890123\n",
			"\"12345678901234567890123\" is more than 64 bits hold", "a name and a number");
	expect_bad_line("proc/zoneinfo", 2, "Node 0, zone DMA\n        min      none\n  pages free 3\n", "\"none\" cannot be read",
			"a name and a number");
	expect_bad_line("proc/zoneinfo", 3, "Node 0, zone DMA\n  pages free 3\n        protection: (0, x, 3)\n",
			"\"x,\" cannot be read", "a name and a number");
	expect_bad_line("proc/vmstat", 2, "nr_free_pages 3\npgfault -4\n", "\"-4\" cannot be read", "nr_free_pages 123456");
	expect_bad_line("proc/vmstat", 1, "nr_free_pages\npgfault 4\n", "ends too early", "nr_free_pages 123456");
	expect_bad_line("proc/meminfo", 2, "MemTotal: 4 kB\nMemFree: lots kB\n", "\"lots\" cannot be read", "MemFree: 123456 kB");
	expect_bad_line("proc/meminfo", 1, "MemTotal: 4 MB\nMemFree: 3 kB\n", "\"MB\" cannot be read", "MemFree: 123456 kB");
	expect_bad_line("sys/kernel/debug/extfrag/extfrag_index", 1, "Node 0, zone DMA -1.000 0,5\n", "\"0,5\" cannot be read",
			"an index for each order");
}

static void test_settings_and_statistics_are_checked_too(void **unused)
{
	expect_bad_line("proc/sys/vm/min_free_kbytes", 1, "abc\n", "\"abc\" cannot be read", "a number");
	expect_bad_line(THP "enabled", 1, "always madvise never\n", "ends too early", "one of them in brackets");
	expect_bad_line(THP "khugepaged/defrag", 1, "yes\n", "\"yes\" cannot be read", "a number");
	expect_bad_line(THP "hugepages-64kB/stats/anon_fault_alloc", 1, "17x\n", "\"17x\" cannot be read", "a number");
	expect_bad_line("sos_commands/kernel/sysctl_-a", 2, "net.core.x = y\nvm.swappiness = high\n", "\"high\" cannot be read",
			"vm.min_free_kbytes = 67584");
}

static void test_sound_part_of_a_bad_row_is_used_and_the_rest_unknown(void **unused)
{
	char *root = sound_host();
	struct fl_mem_report report;
	const struct fl_mem_zone *zone;

	fixture_text(root, "proc/buddyinfo", "Node 0, zone DMA 1 0 0 0 0 0 0 0 1 1 3\nNode 0, zone Normal 40 30 bad 10 5 4 3 2 1 0 7\n");
	read_host(root, &report);
	zone = fl_mem_state_find_zone(report.states[0], 0, "Normal");
	assert_int_equal(zone->orders_count, 2);
	assert_int_equal(zone->free_blocks[1], 30);
	assert_true(zone->lists_incomplete);
	expect_warning(&report, "proc/buddyinfo", 2, "zone Normal has 2 columns", "other rows have 11");
	fl_mem_report_fini(&report);
	fixture_remove(root);
}

static void test_many_bad_lines_are_said_and_then_counted(void **unused)
{
	char *root = sound_host();
	struct fl_mem_report report;
	struct fl_text text;

	fl_text_init(&text);
	fl_text_add(&text, "nr_free_pages 11641\n");
	for (int i = 0; i < 200; i++)
		fl_text_add(&text, "broken%d\n", i);
	fl_text_add(&text, "compact_stall 7\n");
	fixture_text(root, "proc/vmstat", text.data);
	fixture_text(root, "proc/meminfo", "MemFree: ? kB\nMemTotal: 220160 kB\n");
	read_host(root, &report);
	assert_int_equal(warnings_that_say(&report, NULL, 0, "expected a name and a number, as in \"nr_free_pages", ""), 8);
	expect_warning(&report, NULL, 0, "proc/vmstat: and 192 more lines", "cannot be read");
	expect_warning(&report, "proc/meminfo", 1, "\"?\" cannot be read", "MemFree");
	assert_int_equal(fl_mem_values_get(&report.states[0]->vmstat, "compact_stall"), 7);
	fl_text_fini(&text);
	fl_mem_report_fini(&report);
	fixture_remove(root);
}

static void test_file_that_was_cut_is_said(void **unused)
{
	char *root = sound_host(), *cut = fl_xstrdup(sound_text("proc/buddyinfo"));
	struct fl_mem_report report;

	cut[strlen(cut) - 60] = '\0';
	fixture_text(root, "proc/buddyinfo", cut);
	read_host(root, &report);
	expect_warning(&report, "proc/buddyinfo", 2, "ends without a newline", "was cut");
	expect_warning(&report, "proc/buddyinfo", 2, "zone Normal has ", "other rows have 11");
	fl_mem_report_fini(&report);
	*strchr(cut, '\n') = '\0';
	strcat(cut, "\n");
	fixture_text(root, "proc/buddyinfo", cut);
	replace(root, "proc/pagetypeinfo", "true");
	read_host(root, &report);
	expect_warning(&report, "proc/zoneinfo", 25, "zone Normal is in zoneinfo but has no row in buddyinfo", "missing");
	fl_mem_report_fini(&report);
	free(cut);
	fixture_remove(root);
}

/* --- whole files ------------------------------------------------------------------------------------------------------ */

static void test_files_that_are_missing_are_said_with_their_figures(void **unused)
{
	static const struct {
		const char *path, *figures;
	} files[] = {
		{ "proc/buddyinfo", "free blocks by order" },
		{ "proc/pagetypeinfo", "free blocks and pageblocks by migratetype" },
		{ "proc/zoneinfo", "watermarks and sizes of zones" },
		{ "proc/vmstat", "event counters" },
		{ "proc/meminfo", "totals" },
	};
	static const struct {
		const char *command, *words;
	} faults[] = {
		{ "true", "No such file" },
		{ "ln -s /nonexistent", "is a link to a file that is not there" },
		{ "mkdir", "Is a directory" },
		{ "touch", "is empty" },
		{ "mkfifo", "is no plain file" },
		{ "ln -s /dev/zero", "is no plain file" },
		{ "head -c 5000 /dev/urandom >", "is binary, not text" },
		{ "printf 'nothing\\nof it\\n' >", "has no line that can be read" },
	};

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		char *root = sound_host();

		for (size_t k = 0; k < sizeof(faults) / sizeof(faults[0]); k++) {
			struct fl_mem_report report;

			replace(root, files[i].path, faults[k].command);
			read_host(root, &report);
			expect_warning(&report, NULL, 0, faults[k].words, files[i].figures);
			assert_int_equal(report.states_count, 1);
			fl_mem_report_fini(&report);
		}
		fixture_remove(root);
	}
}

static void test_host_without_any_sound_file_is_refused_with_a_reason(void **unused)
{
	char *root = fixture_new();
	struct fl_mem_report report;
	struct fl_error error;

	fixture_text(root, "proc/buddyinfo", "nothing\n");
	fl_mem_report_init(&report, "host");
	assert_refused(fl_mem_read_host(root, &report, &error), &error, "none of its files tells about memory", "\"nothing\"",
		       NULL);
	fl_mem_report_fini(&report);
	fixture_remove(root);
}

static void test_folders_that_are_missing_are_said_once(void **unused)
{
	char *root = sound_host();
	struct fl_mem_report report;

	replace(root, "sys", "true");
	replace(root, "proc/sys", "true");
	read_host(root, &report);
	assert_int_equal(report.warnings_count, 3);
	expect_warning(&report, NULL, 0, "sys/kernel/debug/extfrag could not be read", "kernel's own indices");
	expect_warning(&report, NULL, 0, "proc/sys/vm could not be read", "settings vm.*");
	expect_warning(&report, NULL, 0, "transparent_hugepage could not be read", "statistics by size");
	fl_mem_report_fini(&report);
	fixture_remove(root);
}

static void test_census_says_which_pages_the_flags_lack(void **unused)
{
	char *root = sound_host();
	struct fl_mem_report report;
	struct fl_census census;
	struct fl_error error;
	uint64_t flags[4096] = { 0 };

	read_host(root, &report);
	fixture_write(root, "proc/kpageflags", flags, sizeof(flags));
	assert_int_equal(fl_mem_read_census(root, &report, &census, &error), 0);
	expect_warning(&report, NULL, 0, "of the 53248 pages of zone Normal", "it was cut");
	expect_warning(&report, NULL, 0, "proc/kpagecount", "cannot be told");
	expect_warning(&report, NULL, 0, "proc/iomem", "holes");
	fl_census_free(&census);
	fixture_write(root, "proc/kpageflags", flags, 4001);
	assert_true(fl_mem_read_census(root, &report, &census, &error) < 0);
	assert_non_null(strstr(error.text, "expected 8 bytes for each page"));
	fixture_text(root, "proc/zoneinfo", "Node 0, zone Normal\n        spanned  123456789012345678901\n");
	assert_true(fl_mem_read_census(root, &report, &census, &error) < 0);
	assert_non_null(strstr(error.text, "zoneinfo:2: a figure of zone Normal cannot be read"));
	fl_mem_report_fini(&report);
	fixture_remove(root);
}

/* --- figures ------------------------------------------------------------------------------------------------------------ */

static void test_pages_that_ran_below_zero_are_marked_and_never_judged(void **unused)
{
	static const char zoneinfo[] = "Node 0, zone Normal\n  pages free     7800\n        min      18446744073709551000\n"
				       "        low      500\n        high     600\n        managed  51200\n";
	char *root = sound_host();
	struct fl_mem_report report;
	struct fl_inspect inspect;
	struct fl_text text;

	fixture_text(root, "proc/zoneinfo", zoneinfo);
	read_host(root, &report);
	assert_true(fl_mem_state_find_zone(report.states[0], 0, "Normal")->wrapped);
	expect_warning(&report, "proc/zoneinfo", 1, "min is 18446744073709551000 pages", "ran below zero");
	fl_inspect_init(&inspect, &report, NULL);
	fl_text_init(&text);
	fl_inspect_text(&inspect, true, &text);
	assert_null(strstr(text.data, "at or below min"));
	assert_null(strstr(text.data, "impossible"));
	assert_non_null(strstr(text.data, " wrapped "));
	fl_text_fini(&text);
	fl_inspect_fini(&inspect);
	fl_mem_report_fini(&report);
	fixture_remove(root);
}

static void test_free_lists_and_gauges_below_zero_are_said(void **unused)
{
	char *root = sound_host();
	struct fl_mem_report report;

	fixture_text(root, "proc/buddyinfo", "Node 0, zone DMA 1 0 0 0 0 0 0 0 1 1 3\nNode 0, zone Normal 18446744073709551615 0 0 0 0 "
					     "0 0 0 0 0 7\n");
	fixture_text(root, "proc/vmstat", "nr_free_pages 11641\nnr_dirty 18446744073709551610\n");
	read_host(root, &report);
	expect_warning(&report, "proc/buddyinfo", 2, "the sum of the free lists is ", "ran below zero");
	expect_warning(&report, NULL, 0, "vmstat: nr_dirty is 18446744073709551610", "ran below zero");
	fl_mem_report_fini(&report);
	fixture_remove(root);
}

static void test_figures_of_a_zone_without_its_name_do_not_go_to_the_one_before(void **unused)
{
	char *root = sound_host();
	struct fl_mem_report report;

	fixture_text(root, "proc/zoneinfo", "Node 0, zone DMA\n  pages free     3841\n        min      19\n"
					    "Nxde 0, zone Normal\n  pages free     7800\n        min      400\n");
	read_host(root, &report);
	assert_int_equal(fl_mem_state_find_zone(report.states[0], 0, "DMA")->min, 19);
	expect_warning(&report, "proc/zoneinfo", 4, "\"0,\" cannot be read", "a name and a number");
	expect_warning(&report, "proc/zoneinfo", 5, "begin here without its name", "left out");
	fl_mem_report_fini(&report);
	fixture_remove(root);
}

static void test_page_size_is_not_guessed_from_figures_of_two_moments(void **unused)
{
	char *root = sound_host();
	struct fl_mem_report report;

	fixture_text(root, "proc/meminfo", "MemTotal: 220160 kB\nMemFree: 97448 kB\n"); /* doubled since vmstat was read */
	read_host(root, &report);
	assert_int_equal(report.states[0]->page_size, 4096);
	fl_mem_report_fini(&report);
	fixture_text(root, THP "hpage_pmd_size", "536870912\n");
	read_host(root, &report);
	assert_int_equal(report.states[0]->page_size, 65536);
	fl_mem_report_fini(&report);
	fixture_remove(root);
}

/* --- logs of a sosreport ------------------------------------------------------------------------------------------------ */

static void test_lines_of_a_log_are_those_of_its_file(void **unused)
{
	char *root = sound_host();
	struct fl_mem_report report;
	struct fl_inspect inspect;
	struct fl_text text;
	json_t *document, *request;

	fixture_text(root, "sos_commands/kernel/dmesg", "boot\nx: page allocation failure: order:3, mode:0xcc0(GFP_KERNEL), "
							"nodemask=(null)\n");
	read_host(root, &report);
	fl_inspect_init(&inspect, &report, NULL);
	fl_text_init(&text);
	fl_inspect_text(&inspect, true, &text);
	assert_non_null(strstr(text.data, "Request 1 of 1, sos_commands/kernel/dmesg:2: page allocation failure"));
	for (const char *line = text.data; *line; line += strcspn(line, "\n") + 1)
		assert_true(strcspn(line, "\n") <= 80);
	document = fl_inspect_json(&inspect);
	request = json_array_get(json_object_get(document, "requests"), 0);
	assert_string_equal(json_string_value(json_object_get(request, "file")), "sos_commands/kernel/dmesg");
	assert_int_equal(json_integer_value(json_object_get(request, "line")), 2);
	json_decref(document);
	fl_text_fini(&text);
	fl_inspect_fini(&inspect);
	fl_mem_report_fini(&report);
	fixture_remove(root);
}

/* --- texts of people ------------------------------------------------------------------------------------------------------ */

static void read_bytes(const char *bytes, struct fl_mem_report *report)
{
	struct fl_text_reader *reader;

	fl_mem_report_init(report, "bytes");
	reader = fl_text_reader_new(report);
	fl_text_reader_feed(reader, bytes, strlen(bytes));
	fl_text_reader_finish(reader);
}

static void expect_said(const char *text, unsigned int line, const char *words)
{
	struct fl_mem_report report;
	unsigned int count = 0;

	read_bytes(text, &report);
	for (size_t i = 0; i < report.warnings_count; i++)
		count += report.warnings[i].line == line && strstr(report.warnings[i].text, words);
	if (count != 1)
		fail_msg("line %u: \"%s\" said %u times of: %s", line, words, count, text);
	fl_mem_report_fini(&report);
}

static void test_damaged_lines_of_tables_in_a_text_are_said(void **unused)
{
	expect_said("Node 0, zone Normal 1 2 x3 4 5 6 7 8 9 10 11\n", 1, "\"x3\" cannot be read; expected a figure");
	expect_said("Node 0, zone Normal 1 2 123456789012345678901 4 5\n", 1, "is more than 64 bits hold");
	expect_said("nr_free_pages 5\nnr_dirty many\n", 2, "\"many\" cannot be read");
	expect_said("nr_free_pages 5\nnr_dirty 123456789012345678901\n", 2, "is more than 64 bits hold");
	expect_said("MemTotal: 5000 kB\nMemFree: 12,5 kB\nBuffers: 3 kB\n", 2, "\"12,5\" cannot be read");
	expect_said("==> /proc/meminfo <==\nMemTotal: ? kB\nMemFree: 3 kB\n", 2, "\"?\" cannot be read");
	expect_said("Node 0, zone DMA\n  pages free 3\n        min      two\n        low      3\n", 3, "\"two\" cannot be read");
	expect_said("vm.swappiness = high\nnr_free_pages 5\n", 1, "\"high\" cannot be read");
	expect_said("Mem-Info:\nactive_anon:12x inactive_anon:3\nNode 0 Normal free:80kB min:4kB\n", 2, "\"active_anon:12x\"");
	expect_said("Mem-Info:\nNode 0 Normal free:80kB min:4? low:5kB\n", 2, "\"min:4?\" cannot be read");
}

static void test_what_somebody_wrote_around_a_table_is_not_called_unreadable(void **unused)
{
	static const char text[] = "Hi all, see below.\n$ cat /proc/buddyinfo\nNode 0, zone Normal 1 2 3 4 5 6 7 8 9 10 11\n"
				   "\nAs you see: nothing of order 11.\nNode 0 is the only one.\n"
				   "nr_free_pages 5\nthat is low\nRegards: me\nMemFree: 20 kB\nThanks: a lot\n";
	struct fl_mem_report report;

	read_bytes(text, &report);
	for (size_t i = 0; i < report.warnings_count; i++)
		if (strstr(report.warnings[i].text, "cannot be read"))
			fail_msg("line %u: %s", report.warnings[i].line, report.warnings[i].text);
	fl_mem_report_fini(&report);
}

static void test_many_damaged_lines_of_a_text_are_counted(void **unused)
{
	struct fl_mem_report report;
	struct fl_text text;

	fl_text_init(&text);
	fl_text_add(&text, "nr_free_pages 5\n");
	for (int i = 0; i < 100; i++)
		fl_text_add(&text, "nr_bad x%d\n", i);
	read_bytes(text.data, &report);
	assert_int_equal(warnings_that_say(&report, NULL, 0, "cannot be read; expected", ""), 8);
	expect_warning(&report, NULL, 0, "and 92 more lines", "cannot be read");
	fl_text_fini(&text);
	fl_mem_report_fini(&report);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sound_files_give_no_warning),
		cmocka_unit_test(test_files_of_this_very_host_are_understood),
		cmocka_unit_test(test_each_kind_of_file_says_what_it_expected),
		cmocka_unit_test(test_settings_and_statistics_are_checked_too),
		cmocka_unit_test(test_sound_part_of_a_bad_row_is_used_and_the_rest_unknown),
		cmocka_unit_test(test_many_bad_lines_are_said_and_then_counted),
		cmocka_unit_test(test_file_that_was_cut_is_said),
		cmocka_unit_test(test_files_that_are_missing_are_said_with_their_figures),
		cmocka_unit_test(test_host_without_any_sound_file_is_refused_with_a_reason),
		cmocka_unit_test(test_folders_that_are_missing_are_said_once),
		cmocka_unit_test(test_census_says_which_pages_the_flags_lack),
		cmocka_unit_test(test_pages_that_ran_below_zero_are_marked_and_never_judged),
		cmocka_unit_test(test_free_lists_and_gauges_below_zero_are_said),
		cmocka_unit_test(test_figures_of_a_zone_without_its_name_do_not_go_to_the_one_before),
		cmocka_unit_test(test_page_size_is_not_guessed_from_figures_of_two_moments),
		cmocka_unit_test(test_lines_of_a_log_are_those_of_its_file),
		cmocka_unit_test(test_damaged_lines_of_tables_in_a_text_are_said),
		cmocka_unit_test(test_what_somebody_wrote_around_a_table_is_not_called_unreadable),
		cmocka_unit_test(test_many_damaged_lines_of_a_text_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
