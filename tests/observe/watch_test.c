/* The watch: differences of made-up hosts, what is missing, a clean end; and on this host with a trace instance. */
#include "fixture.h"

#include <errno.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <time.h>

#include "observe/extfrag.h"
#include "observe/watch.h"

#define THP "sys/kernel/mm/transparent_hugepage/hugepages-64kB/stats/"

struct watched {
	char *root;
	struct fl_text out;
	unsigned int calls;
	void (*change)(const char *root); /* after the head was written, so between the first two samples */
	volatile sig_atomic_t stop;
	unsigned int stop_after;          /* calls; 0: never */
	int fail;                         /* what write returns */
};

static int take_text(void *opaque, const char *bytes, size_t length, struct fl_error *reterr)
{
	struct watched *watched = opaque;

	fl_text_add_bytes(&watched->out, bytes, length);
	if (++watched->calls == 1 && watched->change)
		watched->change(watched->root);
	if (watched->stop_after && watched->calls >= watched->stop_after)
		watched->stop = 1;
	return watched->fail;
}

static void write_vmstat(const char *root, unsigned int stall, unsigned int migrate, unsigned int daemon,
			 unsigned int allocstall)
{
	char *text = fl_xasprintf("nr_free_pages 1\ncompact_stall %u\ncompact_success 3\ncompact_fail 4\n"
				  "compact_migrate_scanned %u\ncompact_free_scanned 50\ncompact_isolated 5\n"
				  "compact_daemon_wake 2\ncompact_daemon_migrate_scanned %u\n"
				  "compact_daemon_free_scanned 10\nallocstall_dma 1\nallocstall_normal %u\n"
				  "pgscan_direct 0\npgsteal_direct 0\n", stall, migrate, daemon, allocstall);

	fixture_text(root, "proc/vmstat", text);
	free(text);
}

static void write_boost(const char *root, unsigned int boost)
{
	char *text = fl_xasprintf("Node 0, zone   Normal\n  pages free     9\n        boost    %u\n        spanned  512\n"
				  "  start_pfn:           0\n", boost);

	fixture_text(root, "proc/zoneinfo", text);
	free(text);
}

static struct watched watched_new(void)
{
	struct watched watched = { .root = fixture_new() };

	fl_text_init(&watched.out);
	write_vmstat(watched.root, 10, 1000, 400, 7);
	write_boost(watched.root, 0);
	fixture_text(watched.root, THP "anon_fault_alloc", "100\n");
	fixture_text(watched.root, THP "anon_fault_fallback", "20\n");
	return watched;
}

static void watched_free(struct watched *watched)
{
	fl_text_fini(&watched->out);
	fixture_remove(watched->root);
}

static int run(struct watched *watched, uint64_t intervals, struct fl_error *error)
{
	struct fl_watch_options options = { .root = watched->root, .interval_ns = 100000000, .intervals = intervals,
					    .stop = &watched->stop, .write = take_text, .opaque = watched };

	return fl_watch_run(&options, error);
}

static void expect(const struct watched *watched, const char *text)
{
	if (!strstr(watched->out.data, text))
		fail_msg("no \"%s\" in:\n%s", text, watched->out.data);
}

static void more_of_everything(const char *root)
{
	write_vmstat(root, 14, 3000, 1400, 9);
	write_boost(root, 512);
	fixture_text(root, THP "anon_fault_alloc", "130\n");
	fixture_text(root, THP "anon_fault_fallback", "30\n");
}

static void test_an_interval_shows_differences_by_actor_size_and_zone(void **state)
{
	struct watched watched = watched_new();
	struct fl_error error = {0};

	watched.change = more_of_everything;
	assert_int_equal(run(&watched, 1, &error), 0);
	/* Of 2000 pages scanned, kcompactd did 1000. */
	expect(&watched, "compaction  direct: ");
	expect(&watched, "compaction  kcompactd: woken 0.00/s, scanned ");
	expect(&watched, "64 kB: got ");
	expect(&watched, "(75.0 % of 40 tries)");
	expect(&watched, "reclaim     direct: ");
	expect(&watched, "boost       Normal: rose by 512 pages, now 512");
	assert_null(strstr(watched.out.data, "over all"));
	watched_free(&watched);
}

static void only_kcompactd(const char *root)
{
	write_vmstat(root, 10, 1600, 1000, 7);
}

static void test_what_kcompactd_scanned_is_not_called_direct(void **state)
{
	struct watched watched = watched_new();
	struct fl_error error = {0};

	watched.change = only_kcompactd;
	assert_int_equal(run(&watched, 1, &error), 0);
	expect(&watched, "kcompactd:");
	assert_null(strstr(watched.out.data, "direct:"));
	watched_free(&watched);
}

static void test_a_quiet_interval_says_nothing_and_the_end_sums_up(void **state)
{
	struct watched watched = watched_new();
	struct fl_error error = {0};

	watched.change = only_kcompactd;
	assert_int_equal(run(&watched, 3, &error), 0);
	expect(&watched, "0.2 s  nothing\n");
	expect(&watched, "over all:\n");
	watched_free(&watched);
}

static void test_missing_figures_are_named(void **state)
{
	struct watched watched = watched_new();
	struct fl_error error = {0};

	fixture_text(watched.root, "proc/zoneinfo", "");
	assert_int_equal(run(&watched, 1, &error), 0);
	expect(&watched, "extfrag events are missing: no tracefs at");
	expect(&watched, "boosts are missing");
	expect(&watched, "so not shown: thp_fault_alloc, thp_fault_fallback, ");
	watched_free(&watched);
}

static void test_without_vmstat_there_is_nothing_to_watch(void **state)
{
	struct watched watched = { .root = fixture_new() };
	struct fl_error error = {0};

	fl_text_init(&watched.out);
	assert_true(run(&watched, 1, &error) < 0);
	assert_int_equal(error.class, FL_ERROR_LACKING);
	assert_non_null(strstr(error.text, "vmstat"));
	assert_int_equal(watched.calls, 0);
	watched_free(&watched);
}

static void test_a_stop_ends_the_watch_at_once_and_cleanly(void **state)
{
	struct watched watched = watched_new();
	struct fl_error error = {0};

	watched.stop_after = 3; /* the head and two intervals */
	assert_int_equal(run(&watched, 0, &error), 0);
	expect(&watched, "over all:\n");
	assert_int_equal(watched.calls, 4);
	watched_free(&watched);
}

static void test_a_failing_output_ends_the_watch_with_its_code(void **state)
{
	struct watched watched = watched_new();
	struct fl_error error = {0};

	watched.fail = -EPIPE;
	assert_int_equal(run(&watched, 0, &error), -EPIPE);
	assert_int_equal(watched.calls, 1);
	watched_free(&watched);
}

/* A folder that is no tracefs takes the instance but has no event: it must be gone afterwards. */
static void test_an_instance_that_cannot_trace_is_removed(void **state)
{
	struct watched watched = watched_new();
	struct fl_error error = {0};
	char *folder = fl_xasprintf("%s/sys/kernel/tracing/instances", watched.root);
	char *file = fl_xasprintf("%s/none", folder);

	fixture_text(watched.root, "sys/kernel/tracing/instances/none", "");
	assert_int_equal(unlink(file), 0);
	assert_int_equal(run(&watched, 1, &error), 0);
	expect(&watched, "extfrag events are missing: ");
	assert_int_equal(rmdir(folder), 0); /* empty */
	free(file);
	free(folder);
	watched_free(&watched);
}

/* ---- lines of the trace ---- */

static void test_a_line_is_a_claim_or_a_steal_by_wanted_and_taken_type(void **state)
{
	struct fl_extfrag_counts counts = {0};
	const char *claim = "  cc1-4711  [001] .....  12.345678: mm_page_alloc_extfrag: page=00000000 pfn=0x1234 "
			    "alloc_order=0 fallback_order=10 pageblock_order=9 alloc_migratetype=0 "
			    "fallback_migratetype=1 fragmenting=0 change_ownership=1";
	const char *steal = "  cc1-4711  [001] .....  12.345678: mm_page_alloc_extfrag: page=00000000 pfn=0x1234 "
			    "alloc_order=0 fallback_order=2 pageblock_order=9 alloc_migratetype=2 "
			    "fallback_migratetype=1 fragmenting=1 change_ownership=0";

	assert_true(fl_extfrag_parse_line(claim, &counts));
	assert_true(fl_extfrag_parse_line(steal, &counts));
	assert_true(fl_extfrag_parse_line(steal, &counts));
	assert_int_equal(counts.claimed[0][1], 1);
	assert_int_equal(counts.whole_blocks, 1);
	assert_int_equal(counts.stolen[2][1], 2);
	assert_int_equal(counts.stolen[0][1], 0);
}

static void test_lost_events_are_counted_and_other_lines_refused(void **state)
{
	struct fl_extfrag_counts counts = {0};

	assert_true(fl_extfrag_parse_line("CPU:1 [LOST 4321 EVENTS]", &counts));
	assert_int_equal(counts.lost, 4321);
	assert_false(fl_extfrag_parse_line("", &counts));
	assert_false(fl_extfrag_parse_line("# tracer: nop", &counts));
	assert_false(fl_extfrag_parse_line("mm_page_alloc_extfrag: alloc_migratetype=0 change_ownership=1", &counts));
	assert_false(fl_extfrag_parse_line("mm_page_alloc: alloc_migratetype=0 fallback_migratetype=1 change_ownership=1",
					   &counts));
}

static void test_numbers_of_types_that_we_do_not_know_stay_within_the_table(void **state)
{
	struct fl_extfrag_counts counts = {0};

	assert_true(fl_extfrag_parse_line("mm_page_alloc_extfrag: alloc_migratetype=4000000000 "
					  "fallback_migratetype=9 change_ownership=0", &counts));
	assert_int_equal(counts.stolen[FL_EXTFRAG_TYPES - 1][FL_EXTFRAG_TYPES - 1], 1);
}

/* ---- this host ---- */

static void skip_for(const char *reason)
{
	print_message("# skipped: %s\n", reason);
	skip();
}

static bool has_instances(const char *tracefs)
{
	char *path = fl_xasprintf("%s/instances", tracefs), *command;
	bool some;

	command = fl_xasprintf("ls %s | grep -q fraglab-%d", path, (int)getpid());
	some = system(command) == 0;
	free(command);
	free(path);
	return some;
}

/* In a mount namespace of our own, so that nothing stays mounted whatever happens. */
static void test_this_host_can_be_watched_with_a_trace_instance_that_is_gone_afterwards(void **state)
{
	struct watched watched = { .root = fixture_new() };
	struct fl_error error = {0};
	struct fl_watch_options options = { .root = "", .interval_ns = 100000000, .intervals = 2, .write = take_text,
					    .opaque = &watched, .tracefs = watched.root };

	fl_text_init(&watched.out);
	if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("none", watched.root, "tracefs", 0, NULL) < 0) {
		watched_free(&watched);
		skip_for("tracefs can only be mounted by root");
	}
	assert_int_equal(fl_watch_run(&options, &error), 0);
	assert_false(has_instances(watched.root));
	assert_int_equal(umount(watched.root), 0);
	assert_null(strstr(watched.out.data, "extfrag events are missing"));
	expect(&watched, "over all:\n");
	watched_free(&watched);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_interval_shows_differences_by_actor_size_and_zone),
		cmocka_unit_test(test_what_kcompactd_scanned_is_not_called_direct),
		cmocka_unit_test(test_a_quiet_interval_says_nothing_and_the_end_sums_up),
		cmocka_unit_test(test_missing_figures_are_named),
		cmocka_unit_test(test_without_vmstat_there_is_nothing_to_watch),
		cmocka_unit_test(test_a_stop_ends_the_watch_at_once_and_cleanly),
		cmocka_unit_test(test_a_failing_output_ends_the_watch_with_its_code),
		cmocka_unit_test(test_an_instance_that_cannot_trace_is_removed),
		cmocka_unit_test(test_a_line_is_a_claim_or_a_steal_by_wanted_and_taken_type),
		cmocka_unit_test(test_lost_events_are_counted_and_other_lines_refused),
		cmocka_unit_test(test_numbers_of_types_that_we_do_not_know_stay_within_the_table),
		cmocka_unit_test(test_this_host_can_be_watched_with_a_trace_instance_that_is_gone_afterwards),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
