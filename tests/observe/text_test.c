/*
 * The text reader and the verdicts on own fixtures: each has one peculiarity of what people paste. The same dump must
 * read the same however it is quoted, prefixed, wrapped or ended.
 */
#include "fixture.h"

#include "base/json.h"
#include "observe/line.h"
#include "observe/inspect.h"
#include "observe/read_host.h"
#include "observe/read_text.h"

static char *fixture_path(const char *name)
{
	return fl_xasprintf("%s/observe/fixtures/%s", getenv("FL_TEST_ROOT"), name);
}

static void read_fixture(const char *name, struct fl_mem_report *report)
{
	char *path = fixture_path(name);
	struct fl_error error = { .text = "" };

	fl_mem_report_init(report, name);
	if (fl_mem_read_text_file(path, report, &error) != 0)
		fail_msg("%s: %s", name, error.text);
	free(path);
}

static void slurp(const char *name, struct fl_text *to)
{
	char *path = fixture_path(name), bytes[4096];
	FILE *file = fopen(path, "r");
	size_t got;

	assert_non_null(file);
	while ((got = fread(bytes, 1, sizeof(bytes), file)) > 0)
		fl_text_add_bytes(to, bytes, got);
	fclose(file);
	free(path);
}

static void read_bytes(const char *bytes, size_t length, struct fl_mem_report *report)
{
	struct fl_text_reader *reader;

	fl_mem_report_init(report, "bytes");
	reader = fl_text_reader_new(report);
	fl_text_reader_feed(reader, bytes, length);
	fl_text_reader_finish(reader);
}

static enum fl_verdict verdict_of(const struct fl_mem_report *report, size_t i)
{
	struct fl_diagnosis diagnosis;
	enum fl_verdict verdict;

	fl_diagnose(report, report->requests[i], &diagnosis);
	verdict = diagnosis.verdict;
	assert_true(diagnosis.headline && *diagnosis.headline);
	assert_true(diagnosis.evidence_count > 0);
	assert_true(diagnosis.advice_count > 0);
	fl_diagnosis_fini(&diagnosis);
	return verdict;
}

static bool warns_of(const struct fl_mem_report *report, unsigned int line, const char *words)
{
	for (size_t i = 0; i < report->warnings_count; i++)
		if (report->warnings[i].line == line && strstr(report->warnings[i].text, words))
			return true;
	return false;
}

/* --- verdicts ------------------------------------------------------------------------------------------------------ */

static void test_every_fixture_gives_its_verdict(void **unused)
{
	static const struct {
		const char *name;
		size_t requests, states;
		enum fl_verdict verdict;
	} expected[] = {
		{ "fragmentation.txt", 1, 1, FL_VERDICT_FRAGMENTATION },
		{ "fragmentation-cma-only.txt", 1, 1, FL_VERDICT_FRAGMENTATION },
		{ "kmalloc-xfs.txt", 1, 1, FL_VERDICT_FRAGMENTATION },
		{ "shortage.txt", 1, 1, FL_VERDICT_SHORTAGE },
		{ "watermark.txt", 1, 1, FL_VERDICT_WATERMARK },
		{ "console-cut.txt", 1, 1, FL_VERDICT_WATERMARK },
		{ "boost.txt", 1, 1, FL_VERDICT_BOOST },
		{ "boost-hidden.txt", 1, 1, FL_VERDICT_BOOST },
		{ "lowmem-reserve.txt", 1, 1, FL_VERDICT_LOWMEM_RESERVE },
		{ "zone-constraint.txt", 1, 1, FL_VERDICT_ZONE_CONSTRAINT },
		{ "node-constraint.txt", 1, 1, FL_VERDICT_NODE_CONSTRAINT },
		{ "cma.txt", 1, 1, FL_VERDICT_CMA },
		{ "cma-64k.txt", 1, 1, FL_VERDICT_CMA },
		{ "highatomic.txt", 1, 1, FL_VERDICT_HIGHATOMIC },
		{ "memcg.txt", 1, 0, FL_VERDICT_MEMCG },
		{ "memcg-pagefault.txt", 1, 1, FL_VERDICT_MEMCG },
		{ "address-space.txt", 1, 1, FL_VERDICT_ADDRESS_SPACE },
		{ "impossible-order.txt", 1, 1, FL_VERDICT_IMPOSSIBLE_ORDER },
		{ "impossible-warning.txt", 1, 0, FL_VERDICT_IMPOSSIBLE_ORDER },
		{ "harmless-wrapped.txt", 1, 1, FL_VERDICT_HARMLESS },
		{ "bad-accounting.txt", 2, 1, FL_VERDICT_BAD_ACCOUNTING },
		{ "unknown-passes.txt", 1, 1, FL_VERDICT_UNKNOWN },
		{ "unknown-no-state.txt", 1, 0, FL_VERDICT_UNKNOWN },
		{ "interleaved.txt", 1, 1, FL_VERDICT_UNKNOWN },
		{ "kernel-2.6.32.txt", 1, 1, FL_VERDICT_FRAGMENTATION },
		{ "kernel-2.5.txt", 0, 1, 0 },
		{ "rsyslog.txt", 0, 1, 0 },
		{ "one-line.txt", 0, 1, 0 },
		{ "three-states.txt", 0, 3, 0 },
		{ "proc-set.txt", 0, 1, 0 },
		{ "malformed-rows.txt", 0, 1, 0 },
		{ "trace.txt", 0, 0, 0 },
	};

	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		struct fl_mem_report report;

		read_fixture(expected[i].name, &report);
		if (report.requests_count != expected[i].requests || report.states_count != expected[i].states)
			fail_msg("%s: %zu requests, %zu states", expected[i].name, report.requests_count,
				 report.states_count);
		for (size_t k = 0; k < report.requests_count; k++)
			if (verdict_of(&report, k) != expected[i].verdict)
				fail_msg("%s: verdict %s instead of %s", expected[i].name,
					 fl_verdict_name(verdict_of(&report, k)), fl_verdict_name(expected[i].verdict));
		fl_mem_report_fini(&report);
	}
}

/* --- the same however it is pasted ------------------------------------------------------------------------------------ */

static void same_reading(const struct fl_mem_report *a, const struct fl_mem_report *b, const char *how)
{
	if (a->requests_count != b->requests_count || a->states_count != b->states_count)
		fail_msg("%s: %zu requests and %zu states instead of %zu and %zu", how, b->requests_count, b->states_count,
			 a->requests_count, a->states_count);
	for (size_t i = 0; i < a->requests_count; i++) {
		assert_string_equal(a->requests[i]->comm, b->requests[i]->comm);
		assert_int_equal(a->requests[i]->order, b->requests[i]->order);
		assert_int_equal(a->requests[i]->gfp, b->requests[i]->gfp);
		assert_string_equal(a->requests[i]->mems_allowed, b->requests[i]->mems_allowed);
		assert_int_equal(a->requests[i]->state, b->requests[i]->state);
		assert_int_equal(verdict_of(a, i), verdict_of(b, i));
	}
	for (size_t i = 0; i < a->states_count; i++) {
		assert_int_equal(a->states[i]->zones_count, b->states[i]->zones_count);
		assert_int_equal(a->states[i]->page_size, b->states[i]->page_size);
		assert_string_equal(a->states[i]->release, b->states[i]->release);
		for (size_t z = 0; z < a->states[i]->zones_count; z++) {
			const struct fl_mem_zone *x = &a->states[i]->zones[z], *y = &b->states[i]->zones[z];

			assert_string_equal(x->name, y->name);
			assert_int_equal(x->node, y->node);
			if (x->free != y->free || x->min != y->min || x->boost != y->boost || x->managed != y->managed ||
			    x->free_cma != y->free_cma || x->protection_count != y->protection_count ||
			    memcmp(x->protection, y->protection, sizeof(x->protection)) ||
			    memcmp(x->free_blocks, y->free_blocks, sizeof(x->free_blocks)) ||
			    memcmp(x->letters, y->letters, sizeof(x->letters)) || x->stats.count != y->stats.count)
				fail_msg("%s: zone %s reads differently", how, x->name);
		}
	}
}

/* Each line with `before` in front; long lines broken at blanks when `width` is not 0; each line ended by `end`. */
static void dress(const char *plain, const char *before, size_t width, const char *end, struct fl_text *to)
{
	while (*plain) {
		size_t length = strcspn(plain, "\n"), column = 0;
		const char *line = plain;

		fl_text_add(to, "%s", before);
		while (line < plain + length) {
			size_t word = strcspn(line, " \n") + strspn(line + strcspn(line, " \n"), " ");

			if (width && column && column + word > width) {
				fl_text_add(to, "%s", end);
				column = 0;
			}
			fl_text_add_bytes(to, line, word);
			column += word;
			line += word;
		}
		fl_text_add(to, "%s", end);
		plain += length;
		plain += *plain == '\n';
	}
}

static const char *const dumps[] = { "fragmentation.txt", "fragmentation-cma-only.txt", "watermark.txt", "boost.txt",
				     "node-constraint.txt", "cma-64k.txt", "highatomic.txt", "unknown-passes.txt" };

static void check_dress(const char *before, size_t width, const char *end)
{
	for (size_t i = 0; i < sizeof(dumps) / sizeof(dumps[0]); i++) {
		struct fl_mem_report plain, dressed;
		struct fl_text text, with;

		fl_text_init(&text);
		fl_text_init(&with);
		slurp(dumps[i], &text);
		dress(text.data, before, width, end, &with);
		read_bytes(text.data, text.length, &plain);
		read_bytes(with.data, with.length, &dressed);
		same_reading(&plain, &dressed, before);
		fl_mem_report_fini(&plain);
		fl_mem_report_fini(&dressed);
		fl_text_fini(&text);
		fl_text_fini(&with);
	}
}

static void test_quoting_and_log_prefixes_do_not_change_the_reading(void **unused)
{
	check_dress("> ", 0, "\n");
	check_dress("> > ", 0, "\n");
	check_dress(">> ", 0, "\n");
	check_dress("    ", 0, "\n");
	check_dress("<4>", 0, "\n");
	check_dress("Mar  3 04:05:06 host9 kernel: ", 0, "\n");
	check_dress("2024-03-03T04:05:06.123456+01:00 host9 kernel: ", 0, "\n");
	check_dress("Mar 03 04:05:06.123456 host9 kernel: ", 0, "\n");
	check_dress("4,19685342,241227987454,-,caller=T12845;", 0, "\n");
	check_dress("6,1,2,c;", 0, "\n");
	check_dress("[Sun Mar  3 04:05:06 2024] ", 0, "\n");
	check_dress("{\"log\":\"", 0, "\\n\",\"stream\":\"stderr\"}\n");
	check_dress("\x1b[32m", 0, "\x1b[0m\n");
}

static void test_wrapped_lines_read_as_one(void **unused)
{
	for (size_t width = 30; width < 130; width += 7)
		check_dress("", width, "\n");
}

static void test_ends_of_lines_of_other_systems(void **unused)
{
	check_dress("", 0, "\r\n");
	check_dress("", 72, "\r\n");
	check_dress("", 0, " \n");
	check_dress("", 0, "\n\n");
}

static void add_log(struct fl_text *to)
{
	for (int i = 0; i < 150; i++)
		fl_text_add(to, "[%5d.000000] usb 1-%d: new device found, idVendor=%04x\n", i, i % 7, i);
}

/* Lines that say nothing are passed over in a long log: what stands between them must not suffer. */
static void test_text_amid_a_long_log_reads_the_same(void **unused)
{
	static const char *const others[] = {
		"address-space.txt", "boost-hidden.txt", "cma.txt", "console-cut.txt", "harmless-wrapped.txt",
		"impossible-order.txt", "impossible-warning.txt", "interleaved.txt", "kernel-2.5.txt", "kernel-2.6.32.txt",
		"kmalloc-xfs.txt", "malformed-rows.txt", "memcg-pagefault.txt", "memcg.txt", "one-line.txt", "rsyslog.txt",
		"shortage.txt", "three-states.txt", "trace.txt", "unknown-no-state.txt", "zone-constraint.txt",
	};
	size_t count = sizeof(dumps) / sizeof(dumps[0]) + sizeof(others) / sizeof(others[0]);

	for (size_t i = 0; i < count; i++) {
		size_t known = sizeof(dumps) / sizeof(dumps[0]);

		for (size_t width = 0; width < 120; width = width ? width + 13 : 40) {
			struct fl_mem_report plain, amid;
			struct fl_text text, dressed, log;

			fl_text_init(&text);
			fl_text_init(&dressed);
			fl_text_init(&log);
			slurp(i < known ? dumps[i] : others[i - known], &text);
			dress(text.data, "", width, "\n", &dressed);
			add_log(&log);
			fl_text_add(&log, "%s", dressed.data);
			add_log(&log);
			read_bytes(dressed.data, dressed.length, &plain);
			read_bytes(log.data, log.length, &amid);
			same_reading(&plain, &amid, i < known ? dumps[i] : others[i - known]);
			assert_int_equal(plain.events_extfrag + plain.events_compaction, amid.events_extfrag + amid.events_compaction);
			assert_int_equal(amid.lines, plain.lines + 300);
			fl_mem_report_fini(&plain);
			fl_mem_report_fini(&amid);
			fl_text_fini(&text);
			fl_text_fini(&dressed);
			fl_text_fini(&log);
		}
	}
}

/* Each form of words that we know, alone behind a log of lines that are passed over. */
static void test_every_begin_is_found_behind_a_long_log(void **unused)
{
	static const char *const begins[] = {
		"x: page allocation failure: order:3, mode:0xcc0(GFP_KERNEL)\n", "x: page allocation\nfailure: order:3\n",
		"x: page allocation stalls for 10s, order:0\n", "x: vmalloc error: size 4096, page order 0\n",
		"x: vmalloc\nerror: size 4096\n", "vmap allocation for size 8192 failed: use vmalloc=<size>\n",
		"x invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0\n", "Out of memory: Killed process 12 (a) total-vm:1kB\n",
		"Memory cgroup out of memory: Killed process 13 (b)\n", "SLUB: Unable to allocate memory on node -1 (gfp=0x20)\n",
		"XFS: d(7) possible memory allocation deadlock size 50184 in kmem_alloc\n",
		"WARNING: CPU: 0 PID: 1 at mm/page_alloc.c:4000 __alloc_pages+0x1/0x2\n",
		"cma: cma_alloc: alloc failed, req-size: 16 pages, ret: -12\n", "Node 0, zone Normal 1 2 3 4 5 6 7 8 9 10 11\n",
		"Node 0 Normal free:80kB min:4kB\n", "Normal: 1*4kB (U) 2*8kB (M) = 20kB\n", "DMA32: empty\n", "nr_free_pages 12345\n",
		"allocstall_normal 12\n", "thp_fault_alloc 7\n", "pgfault 77\n", "pgalloc_normal 5\n", "MemFree:   3725984 kB\n",
		"HugePages_Total: 0\n", "vm.min_free_kbytes = 67584\n", "/sys/kernel/mm/transparent_hugepage/enabled:always [never]\n",
		"==> /proc/sys/vm/swappiness <==\n60\n", "$ cat /sys/kernel/mm/transparent_hugepage/enabled\nalways [never]\n",
		"active_anon:12 inactive_anon:3\n", "Active:123 inactive:45\n", "Mem-Info:\nNode 0 DMA free:8kB\n", "Mem-info:\n",
		"a-1 [0] 1.000001: mm_page_alloc_extfrag: page=1 pfn=1 change_ownership=1\n",
		"a-1 [0] 1.000001: mm_vmscan_direct_reclaim_begin: order=3\n", "Page block order: 9\n",
	};

	for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++) {
		struct fl_mem_report plain, behind;
		struct fl_text log;

		fl_text_init(&log);
		add_log(&log);
		fl_text_add(&log, "%s", begins[i]);
		read_bytes(begins[i], strlen(begins[i]), &plain);
		read_bytes(log.data, log.length, &behind);
		if (!plain.requests_count && !plain.states_count && !plain.events_extfrag && !plain.events_reclaim)
			fail_msg("not recognised at all: %s", begins[i]);
		same_reading(&plain, &behind, begins[i]);
		assert_int_equal(plain.lines_used, behind.lines_used);
		fl_mem_report_fini(&plain);
		fl_mem_report_fini(&behind);
		fl_text_fini(&log);
	}
}

static void test_a_dump_without_any_line_ends_reads_the_same(void **unused)
{
	struct fl_mem_report plain, joined;
	struct fl_text text;

	fl_text_init(&text);
	slurp("watermark.txt", &text);
	read_bytes(text.data, text.length, &plain);
	for (char *p = text.data; *p; p++)
		if (*p == '\n')
			*p = ' ';
	read_bytes(text.data, text.length, &joined);
	assert_int_equal(joined.requests_count, 1);
	assert_int_equal(verdict_of(&joined, 0), verdict_of(&plain, 0));
	assert_int_equal(joined.states[0]->zones[0].free, plain.states[0]->zones[0].free);
	fl_mem_report_fini(&plain);
	fl_mem_report_fini(&joined);
	fl_text_fini(&text);
}

static void test_bytes_may_come_in_any_pieces(void **unused)
{
	struct fl_mem_report whole, pieces;
	struct fl_text_reader *reader;
	struct fl_text text;

	fl_text_init(&text);
	slurp("fragmentation.txt", &text);
	read_bytes(text.data, text.length, &whole);
	fl_mem_report_init(&pieces, "pieces");
	reader = fl_text_reader_new(&pieces);
	for (size_t i = 0; i < text.length; i++)
		fl_text_reader_feed(reader, text.data + i, 1);
	fl_text_reader_finish(reader);
	same_reading(&whole, &pieces, "byte by byte");
	fl_mem_report_fini(&whole);
	fl_mem_report_fini(&pieces);
	fl_text_fini(&text);
}

/* --- peculiarities -------------------------------------------------------------------------------------------------------- */

static void test_words_broken_in_the_middle_are_put_together(void **unused)
{
	struct fl_mem_report report;

	read_fixture("harmless-wrapped.txt", &report);
	assert_int_equal(report.states[0]->zones[0].managed, 5900000 / 4);
	assert_int_equal(report.states[0]->zones[0].free_blocks[8], 9);
	assert_int_equal(fl_mem_values_get(&report.states[0]->totals, "free"), report.states[0]->zones[0].free);
	fl_mem_report_fini(&report);
}

static void test_two_cpus_printing_at_once(void **unused)
{
	struct fl_mem_report report;

	read_fixture("interleaved.txt", &report);
	assert_int_equal(report.requests[0]->order, 0);
	assert_string_equal(report.requests[0]->comm, "swapper/12");
	assert_int_equal(report.states[0]->zones_count, 1);
	assert_int_equal(report.states[0]->zones[0].orders_count, 11);
	assert_int_equal(report.states[0]->zones[0].free, 16136 / 4);
	assert_true(warns_of(&report, 1, "names no zone"));
	fl_mem_report_fini(&report);
}

static void test_cut_list_is_said_and_what_is_there_is_used(void **unused)
{
	struct fl_mem_report report;
	const struct fl_mem_zone *zone;

	read_fixture("console-cut.txt", &report);
	zone = &report.states[0]->zones[0];
	assert_true(zone->lists_incomplete);
	assert_int_equal(zone->free_blocks[1], 1100);
	assert_int_equal(zone->lists_sum_kb, FL_MEM_NONE);
	assert_true(warns_of(&report, zone->lists_line, "cut"));
	fl_mem_report_fini(&report);
}

static void test_lists_without_names_belong_to_the_zones_in_order(void **unused)
{
	struct fl_mem_report report;

	read_fixture("kernel-2.5.txt", &report);
	assert_int_equal(report.states[0]->zones_count, 3);
	assert_string_equal(report.states[0]->zones[1].name, "Normal");
	assert_int_equal(report.states[0]->zones[0].free_blocks[8], 1);
	assert_int_equal(report.states[0]->zones[1].free_blocks[5], 2);
	assert_int_equal(report.states[0]->zones[1].free, 960 / 4);
	fl_mem_report_fini(&report);
}

static void test_overflowed_figures_are_said_and_marked(void **unused)
{
	struct fl_mem_report report;

	read_fixture("bad-accounting.txt", &report);
	assert_int_equal(report.states[0]->page_size, 16384);
	assert_true(report.states[0]->zones[1].wrapped);
	assert_true(warns_of(&report, 3, "present is 18446744073709540000"));
	assert_int_equal(report.states[0]->orders_count, 17);
	assert_true(report.requests[0]->state_before);
	fl_mem_report_fini(&report);
}

static void test_page_size_comes_from_the_lists_or_from_figures_printed_both_ways(void **unused)
{
	struct fl_mem_report report;

	read_fixture("cma-64k.txt", &report);
	assert_int_equal(report.states[0]->page_size, 65536);
	assert_int_equal(report.states[0]->orders_count, 14);
	fl_mem_report_fini(&report);
	read_fixture("rsyslog.txt", &report);
	assert_int_equal(report.states[0]->page_size, 4096);
	assert_false(report.states[0]->page_size_assumed);
	fl_mem_report_fini(&report);
}

static void test_old_flags_without_names_make_an_atomic_request(void **unused)
{
	struct fl_mem_report report;

	read_fixture("cma.txt", &report);
	assert_int_equal(report.requests[0]->kind, FL_MEM_REQUEST_SLUB);
	assert_true(report.requests[0]->gfp_old_layout);
	assert_int_equal(report.requests[0]->gfp, FL_GFP_HIGH);
	fl_mem_report_fini(&report);
}

static void test_same_zone_again_begins_a_new_state(void **unused)
{
	struct fl_mem_report report;

	read_fixture("three-states.txt", &report);
	assert_int_equal(report.states[0]->zones[0].free_blocks[10], 300);
	assert_int_equal(report.states[1]->zones[0].free_blocks[10], 0);
	assert_int_equal(report.states[2]->zones[0].free, 0);
	fl_mem_report_fini(&report);
}

static void test_rows_with_wrong_columns_are_said(void **unused)
{
	struct fl_mem_report report;

	read_fixture("malformed-rows.txt", &report);
	assert_true(warns_of(&report, 2, "12 columns"));
	assert_true(warns_of(&report, 3, "10 columns"));
	assert_int_equal(report.states[0]->zones[1].free_blocks[0], 750);
	fl_mem_report_fini(&report);
}

static void test_wrapped_buddyinfo_and_a_deadlock_message(void **unused)
{
	struct fl_mem_report report;

	read_fixture("kmalloc-xfs.txt", &report);
	assert_string_equal(report.requests[0]->comm, "webd");
	assert_int_equal(report.requests[0]->size_bytes, 50000);
	assert_int_equal(report.states[0]->zones[0].free_blocks[10], 3);
	assert_true(report.states[0]->zones[2].lists_incomplete);
	fl_mem_report_fini(&report);
}

static void test_files_of_proc_make_one_state(void **unused)
{
	struct fl_mem_report report;
	const struct fl_mem_state *state;
	const struct fl_mem_zone *dma32, *normal;

	read_fixture("proc-set.txt", &report);
	state = report.states[0];
	dma32 = fl_mem_state_find_zone(state, 0, "DMA32");
	normal = fl_mem_state_find_zone(state, 0, "Normal");
	assert_int_equal(state->pageblock_order, 9);
	assert_int_equal(state->page_size, 4096);
	assert_int_equal(dma32->min, 3000);
	assert_int_equal(dma32->promo, 5250);
	assert_int_equal(dma32->pcp_pages, 100);
	assert_int_equal(dma32->protection[2], 13000);
	assert_int_equal(dma32->start_pfn, 4096);
	assert_int_equal(fl_mem_values_get(&dma32->stats, "nr_zone_active_file"), 1200);
	assert_int_equal(fl_mem_values_get(&dma32->stats, "node_nr_active_anon"), 9999);
	assert_int_equal(normal->boost, 1024);
	assert_int_equal(normal->pcp_pages, 500);
	assert_false(fl_mem_zone_is_populated(fl_mem_state_find_zone(state, 0, "Movable")));
	assert_int_equal(fl_mem_values_get(&state->vmstat, "compact_fail"), 100);
	assert_int_equal(fl_mem_values_get(&state->meminfo, "MemTotal"), 32000000);
	fl_mem_report_fini(&report);
}

static void test_unknown_types_and_capped_cells_are_kept(void **unused)
{
	struct fl_mem_report report;
	const struct fl_mem_state *state;
	const struct fl_mem_zone *normal;
	unsigned int movable, mirror;

	read_fixture("proc-set.txt", &report);
	state = report.states[0];
	normal = fl_mem_state_find_zone(state, 0, "Normal");
	movable = fl_mem_state_type(report.states[0], "Movable");
	mirror = fl_mem_state_type(report.states[0], "Mirror");
	assert_int_equal(state->types[mirror].role, FL_MEM_ROLE_UNKNOWN);
	assert_int_equal(normal->type_blocks[mirror], 12);
	assert_int_equal(normal->type_free[movable][0], 100000);
	assert_true(normal->type_capped[movable][0]);
	assert_false(normal->type_capped[movable][1]);
	assert_int_equal(fl_mem_state_find_zone(state, 1, "Normal")->type_blocks[movable], 8000);
	fl_mem_report_fini(&report);
}

static void test_trace_lines_are_counted_and_timed(void **unused)
{
	struct fl_mem_report report;

	read_fixture("trace.txt", &report);
	assert_int_equal(report.events_extfrag, 1);
	assert_int_equal(report.events_extfrag_claimed, 1);
	assert_int_equal(report.events_compaction, 1);
	assert_int_equal(report.events_compaction_ns, 223000);
	assert_int_equal(report.events_reclaim_ns, 500000);
	fl_mem_report_fini(&report);
}

static void test_figures_of_a_memory_cgroup_are_not_vmstat(void **unused)
{
	struct fl_mem_report report;

	read_fixture("memcg.txt", &report);
	assert_int_equal(report.requests[0]->memcg_limit_kb, 262144);
	assert_string_equal(report.requests[0]->memcg, "/batch/job7");
	assert_int_equal(report.states_count, 0);
	fl_mem_report_fini(&report);
}

static void test_kill_line_alone_is_a_request(void **unused)
{
	static const char text[] = "Out of memory: Killed process 12 (a) total-vm:1kB\nMemory cgroup out of memory: Killed "
				   "process 13 (b) total-vm:1kB\n";
	struct fl_mem_report report;

	read_bytes(text, strlen(text), &report);
	assert_int_equal(report.requests_count, 2);
	assert_int_equal(report.requests[0]->kind, FL_MEM_REQUEST_OOM);
	assert_int_equal(report.requests[1]->kind, FL_MEM_REQUEST_MEMCG);
	fl_mem_report_fini(&report);
}

static void test_oom_killer_called_by_hand_is_harmless(void **unused)
{
	static const char text[] = "kworker/0:1 invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=-1, oom_score_adj=0\n";
	struct fl_mem_report report;

	read_bytes(text, strlen(text), &report);
	assert_int_equal(verdict_of(&report, 0), FL_VERDICT_HARMLESS);
	fl_mem_report_fini(&report);
}

static void test_vmalloc_that_wants_more_than_lies_above_the_marks_is_not_called_served(void **unused)
{
	static const char text[] = "a: vmalloc error: size 14680064, page order 9, failed to allocate pages, "
				   "mode:0xcc2(GFP_KERNEL|__GFP_HIGHMEM), nodemask=(null)\nMem-Info:\n"
				   "Node 0 Normal free:8000kB min:6000kB low:7000kB high:8000kB managed:900000kB\n"
				   "lowmem_reserve[]: 0 0\nNode 0 Normal: 2000*4kB (M) 0*8kB = 8000kB\n";
	struct fl_mem_report report;
	struct fl_diagnosis d;

	read_bytes(text, strlen(text), &report);
	fl_diagnose(&report, report.requests[0], &d);
	assert_int_equal(d.verdict, FL_VERDICT_HARMLESS);
	assert_true(d.also & 1u << FL_VERDICT_SHORTAGE);
	assert_non_null(strstr(d.headline, "2000kB of the 14336kB"));
	assert_null(strstr(d.headline, "got its memory"));
	fl_diagnosis_fini(&d);
	fl_mem_report_fini(&report);
}

static void test_atomic_order_0_beside_page_cache_met_a_watermark_even_without_figures(void **unused)
{
	static const char text[] = "Node 1 Normal: 4172*4kB (UME) 0*8kB = 16688kB\n9999999 total pagecache pages\n"
				   "a: page allocation failure: order:0, mode:0x2080020(GFP_ATOMIC)\n";
	struct fl_mem_report report;

	read_bytes(text, strlen(text), &report);
	assert_int_equal(report.requests_count, 1);
	assert_int_equal(verdict_of(&report, 0), FL_VERDICT_WATERMARK);
	fl_mem_report_fini(&report);
}

static void test_request_without_its_own_state_says_whose_it_uses(void **unused)
{
	struct fl_mem_report report;
	struct fl_text text;

	fl_text_init(&text);
	fl_text_add(&text, "other: page allocation failure: order:0, mode:0x820(GFP_ATOMIC), nodemask=(null)\n");
	slurp("watermark.txt", &text);
	read_bytes(text.data, text.length, &report);
	assert_int_equal(report.requests_count, 2);
	assert_int_equal(report.requests[0]->state, 0);
	assert_true(report.requests[0]->state_shared);
	assert_false(report.requests[1]->state_shared);
	fl_mem_report_fini(&report);
	fl_text_fini(&text);
}

static void test_sum_that_does_not_agree_is_reported(void **unused)
{
	static const char text[] = "Mem-Info:\nNode 0 Normal free:4000kB min:100kB low:125kB high:150kB\n"
				   "Node 0 Normal: 10*4kB (U) 5*8kB (M) = 4000kB\n";
	struct fl_mem_report report;

	read_bytes(text, strlen(text), &report);
	assert_true(warns_of(&report, 3, "add up to 80kB"));
	fl_mem_report_fini(&report);
}

static void test_21_orders_and_8_kib_pages(void **unused)
{
	struct fl_mem_report report;
	struct fl_text text;

	fl_text_init(&text);
	fl_text_add(&text, "Node 3 Normal: ");
	for (unsigned int o = 0; o < 21; o++)
		fl_text_add(&text, "%u*%llukB ", o == 20, 8ull << o);
	fl_text_add(&text, "= %llukB\n", 8ull << 20);
	read_bytes(text.data, text.length, &report);
	assert_int_equal(report.states[0]->page_size, 8192);
	assert_int_equal(report.states[0]->zones[0].orders_count, 21);
	assert_int_equal(report.states[0]->zones[0].free_blocks[20], 1);
	assert_int_equal(report.states[0]->zones[0].node, 3);
	assert_int_equal(report.warnings_count, 0);
	fl_mem_report_fini(&report);
	fl_text_fini(&text);
}

static void test_letters_are_roles_and_unknown_ones_are_kept(void **unused)
{
	static const char text[] = "Normal: 1*4kB (U) 1*8kB (M) 1*16kB (E) 1*32kB (H) 1*64kB (C) 1*128kB (I) 1*256kB (R) "
				   "1*512kB (UZ) 0*1024kB = 1020kB\n";
	static const uint32_t expected[] = { 1u << FL_MEM_UNMOVABLE,   1u << FL_MEM_MOVABLE, 1u << FL_MEM_RECLAIMABLE,
					     1u << FL_MEM_HIGHATOMIC,  1u << FL_MEM_CMA,     1u << FL_MEM_ISOLATE,
					     1u << FL_MEM_HIGHATOMIC,
					     1u << FL_MEM_UNMOVABLE | 1u << FL_MEM_ROLE_UNKNOWN, 0 };
	struct fl_mem_report report;

	read_bytes(text, strlen(text), &report);
	for (unsigned int o = 0; o < 9; o++)
		assert_int_equal(report.states[0]->zones[0].letters[o], expected[o]);
	fl_mem_report_fini(&report);
}

static void test_many_failures_are_counted_past_the_limit(void **unused)
{
	struct fl_mem_report report;
	struct fl_text text;

	fl_text_init(&text);
	for (int i = 0; i < FL_MEM_REQUESTS_MAX + 5; i++)
		fl_text_add(&text, "p%d: page allocation failure: order:3, mode:0xcc0(GFP_KERNEL), nodemask=(null)\n", i);
	read_bytes(text.data, text.length, &report);
	assert_int_equal(report.requests_count, FL_MEM_REQUESTS_MAX);
	assert_int_equal(report.requests_dropped, 5);
	assert_true(warns_of(&report, 0, "5 further requests"));
	fl_mem_report_fini(&report);
	fl_text_fini(&text);
}

static void test_very_long_line_is_read_in_pieces(void **unused)
{
	struct fl_mem_report report;
	struct fl_text text;

	fl_text_init(&text);
	fl_text_add_char(&text, 'x', 3 * FL_MEM_REQUESTS_MAX);
	for (int i = 0; i < 3000; i++)
		fl_text_add(&text, " filler%d", i);
	fl_text_add(&text, " Node 0 Normal: 7*4kB (U) 1*8kB (U) = 36kB\n");
	read_bytes(text.data, text.length, &report);
	assert_int_equal(report.states_count, 1);
	assert_int_equal(report.states[0]->zones[0].free, 9);
	assert_true(warns_of(&report, 1, "in pieces"));
	fl_mem_report_fini(&report);
	fl_text_fini(&text);
}

/* --- hosts, bad input, output ------------------------------------------------------------------------------------------------ */

static void test_bytes_that_are_no_text_never_reach_the_terminal(void **unused)
{
	char kept[] = "gr\xc3\xb6\xc3\x9f" "e \xe2\x82\xac \xf0\x9f\x90\xa7", bad[] = "a\xff" "b\xc3(\xed\xa0\x80\xc2\x9b" "31m\x7f\x1b[31mz";
	bool indented;

	(void)unused;
	assert_string_equal(fl_line_clean(kept, &indented), "gr\xc3\xb6\xc3\x9f" "e \xe2\x82\xac \xf0\x9f\x90\xa7");
	assert_string_equal(fl_line_clean(bad, &indented), "a?b?(?????31m?z");
}

static void test_directory_like_a_sosreport(void **unused)
{
	struct fl_mem_report report;
	struct fl_error error;
	char *root = fixture_new();
	struct fl_text log;

	fl_text_init(&log);
	slurp("watermark.txt", &log);
	fixture_text(root, "proc/buddyinfo", "Node 0, zone   Normal      5      4      3      2      1      0      0      0      "
					     "0      0      7 \n");
	fixture_text(root, "proc/sys/vm/min_free_kbytes", "67584\n");
	fixture_text(root, "sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
	fixture_text(root, "sys/kernel/mm/transparent_hugepage/hugepages-64kB/enabled", "always inherit madvise [never]\n");
	fixture_text(root, "sys/kernel/mm/transparent_hugepage/hugepages-64kB/stats/anon_fault_alloc", "17\n");
	fixture_text(root, "sys/kernel/debug/extfrag/unusable_index", "Node 0, zone   Normal 0.000 0.001 0.002 0.003 0.004 0.005 "
								     "0.006 0.007 0.008 0.009 1.000 \n");
	fixture_text(root, "sys/kernel/debug/extfrag/extfrag_index", "Node 0, zone   Normal -1.000 -1.000 0.500 -1.000 -1.000 -1.000 "
								    "-1.000 -1.000 -1.000 -1.000 -1.000 \n");
	fixture_text(root, "sos_commands/kernel/sysctl_-a", "vm.swappiness = 60\nnet.core.x = 1\n");
	fixture_text(root, "sos_commands/kernel/dmesg", log.data);
	fl_mem_report_init(&report, root);
	assert_int_equal(fl_mem_read_host(root, &report, &error), 0);
	assert_int_equal(report.states_count, 2);
	assert_int_equal(report.requests_count, 1);
	assert_int_equal(report.requests[0]->state, 1);
	assert_string_equal(fl_mem_settings_get(&report.states[0]->sysctls, "vm.min_free_kbytes"), "67584");
	assert_string_equal(fl_mem_settings_get(&report.states[0]->sysctls, "vm.swappiness"), "60");
	assert_string_equal(fl_mem_settings_get(&report.states[0]->thp, "enabled"), "madvise");
	assert_int_equal(report.states[0]->thp_sizes_count, 1);
	assert_int_equal(fl_mem_values_get(&report.states[0]->thp_sizes[0].stats, "anon_fault_alloc"), 17);
	assert_int_equal(report.states[0]->zones[0].unusable_index[9], 9);
	assert_int_equal(report.states[0]->zones[0].fragmentation_index[2], 500);
	assert_int_equal(report.states[0]->zones[0].fragmentation_index[3], -1000);
	fl_mem_report_fini(&report);
	fl_text_fini(&log);
	fixture_remove(root);
}

static void test_bad_input_is_refused_with_a_sentence(void **unused)
{
	struct fl_mem_report report;
	struct fl_error error;
	char *root = fixture_new(), *path;

	fl_mem_report_init(&report, "bad");
	assert_refused(fl_mem_read_text_file("/nonexistent/file", &report, &error), &error, "/nonexistent/file", NULL);
	assert_refused(fl_mem_read_text_file(root, &report, &error), &error, "directory", NULL);
	assert_refused(fl_mem_read_host("/nonexistent", &report, &error), &error, "/nonexistent", NULL);
	assert_refused(fl_mem_read_host(root, &report, &error), &error, "proc/buddyinfo", NULL);
	fl_mem_report_fini(&report);

	path = fl_xasprintf("%s/file", root);
	fixture_write(root, "file", "", 0);
	fl_mem_report_init(&report, "bad");
	assert_refused(fl_mem_read_text_file(path, &report, &error), &error, "empty", NULL);
	fl_mem_report_fini(&report);
	fixture_write(root, "file", "\x7f" "ELF\0\0\0\1\0\0\0\0\0\0\0\0\0\0", 19);
	fl_mem_report_init(&report, "bad");
	assert_refused(fl_mem_read_text_file(path, &report, &error), &error, "binary", NULL);
	fl_mem_report_fini(&report);
	fixture_text(root, "file", "Dear all,\nnothing of memory here.\n");
	fl_mem_report_init(&report, "bad");
	assert_refused(fl_mem_read_text_file(path, &report, &error), &error, "nothing in its 2 lines", "Mem-Info", NULL);
	fl_mem_report_fini(&report);
	free(path);
	fixture_remove(root);
}

static void test_json_has_the_promised_members(void **unused)
{
	struct fl_mem_report report;
	struct fl_inspect inspect;
	json_t *document, *request;

	read_fixture("fragmentation.txt", &report);
	fl_inspect_init(&inspect, &report, NULL);
	document = fl_inspect_json(&inspect);
	assert_string_equal(json_string_value(json_object_get(document, "schema")), "fraglab.inspect.v1");
	assert_int_equal(json_array_size(json_object_get(document, "zones")), 3);
	assert_true(json_is_object(json_object_get(document, "capacity")));
	assert_true(json_is_array(json_object_get(document, "warnings")));
	request = json_array_get(json_object_get(document, "requests"), 0);
	assert_string_equal(json_string_value(json_object_get(request, "verdict")), "fragmentation");
	assert_int_equal(json_integer_value(json_object_get(request, "order")), 4);
	assert_true(json_array_size(json_object_get(request, "evidence")) > 2);
	assert_true(json_array_size(json_object_get(request, "advice")) > 1);
	assert_non_null(strstr(json_string_value(json_object_get(request, "compare")), "fraglab compare"));
	json_decref(document);
	fl_inspect_fini(&inspect);
	fl_mem_report_fini(&report);
}

static void test_text_keeps_to_80_columns_and_never_speaks_in_per_cent(void **unused)
{
	static const char *const names[] = { "fragmentation.txt", "proc-set.txt", "bad-accounting.txt", "zone-constraint.txt",
					     "harmless-wrapped.txt", "three-states.txt", "memcg.txt" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct fl_mem_report report;
		struct fl_inspect inspect;
		struct fl_text text;

		read_fixture(names[i], &report);
		fl_inspect_init(&inspect, &report, NULL);
		fl_text_init(&text);
		fl_inspect_text(&inspect, true, &text);
		for (const char *line = text.data; *line; line += strcspn(line, "\n") + 1)
			if (strcspn(line, "\n") > 80 && strncmp(line, "         $ fraglab", 18))
				fail_msg("%s: %.*s", names[i], (int)strcspn(line, "\n"), line);
		assert_null(strchr(text.data, '%'));
		fl_text_fini(&text);
		fl_inspect_fini(&inspect);
		fl_mem_report_fini(&report);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_fixture_gives_its_verdict),
		cmocka_unit_test(test_quoting_and_log_prefixes_do_not_change_the_reading),
		cmocka_unit_test(test_wrapped_lines_read_as_one),
		cmocka_unit_test(test_ends_of_lines_of_other_systems),
		cmocka_unit_test(test_text_amid_a_long_log_reads_the_same),
		cmocka_unit_test(test_every_begin_is_found_behind_a_long_log),
		cmocka_unit_test(test_a_dump_without_any_line_ends_reads_the_same),
		cmocka_unit_test(test_bytes_may_come_in_any_pieces),
		cmocka_unit_test(test_words_broken_in_the_middle_are_put_together),
		cmocka_unit_test(test_two_cpus_printing_at_once),
		cmocka_unit_test(test_cut_list_is_said_and_what_is_there_is_used),
		cmocka_unit_test(test_lists_without_names_belong_to_the_zones_in_order),
		cmocka_unit_test(test_overflowed_figures_are_said_and_marked),
		cmocka_unit_test(test_page_size_comes_from_the_lists_or_from_figures_printed_both_ways),
		cmocka_unit_test(test_old_flags_without_names_make_an_atomic_request),
		cmocka_unit_test(test_same_zone_again_begins_a_new_state),
		cmocka_unit_test(test_rows_with_wrong_columns_are_said),
		cmocka_unit_test(test_wrapped_buddyinfo_and_a_deadlock_message),
		cmocka_unit_test(test_files_of_proc_make_one_state),
		cmocka_unit_test(test_unknown_types_and_capped_cells_are_kept),
		cmocka_unit_test(test_trace_lines_are_counted_and_timed),
		cmocka_unit_test(test_figures_of_a_memory_cgroup_are_not_vmstat),
		cmocka_unit_test(test_kill_line_alone_is_a_request),
		cmocka_unit_test(test_oom_killer_called_by_hand_is_harmless),
		cmocka_unit_test(test_vmalloc_that_wants_more_than_lies_above_the_marks_is_not_called_served),
		cmocka_unit_test(test_atomic_order_0_beside_page_cache_met_a_watermark_even_without_figures),
		cmocka_unit_test(test_request_without_its_own_state_says_whose_it_uses),
		cmocka_unit_test(test_sum_that_does_not_agree_is_reported),
		cmocka_unit_test(test_21_orders_and_8_kib_pages),
		cmocka_unit_test(test_letters_are_roles_and_unknown_ones_are_kept),
		cmocka_unit_test(test_many_failures_are_counted_past_the_limit),
		cmocka_unit_test(test_very_long_line_is_read_in_pieces),
		cmocka_unit_test(test_bytes_that_are_no_text_never_reach_the_terminal),
		cmocka_unit_test(test_directory_like_a_sosreport),
		cmocka_unit_test(test_bad_input_is_refused_with_a_sentence),
		cmocka_unit_test(test_json_has_the_promised_members),
		cmocka_unit_test(test_text_keeps_to_80_columns_and_never_speaks_in_per_cent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
