/*
 * tests/machine/sim_test.c - verbs on the model: what they answer, what they cost in memory, how processes live and die.
 */
#include "support.h"

static const struct fl_backend_setting thp_always[] = { { "thp.enabled", "always" } };
static const struct fl_backend_setting thp_never[] = { { "thp.enabled", "never" } };
#define ALWAYS .settings = thp_always, .settings_count = 1
#define NEVER .settings = thp_never, .settings_count = 1

static void test_first_touch_faults_once_a_page(void **state)
{
	static const struct fl_op ops[] = {
		{ FL_VERB_MAP, .length = 16 * MIB },
		{ FL_VERB_TOUCH, .handle = -1 },
		{ FL_VERB_TOUCH, .handle = -1 },
		{ FL_VERB_RESIDENT, .handle = -1 },
		{ FL_VERB_HUGE_PAGES, .handle = -1 },
		{ FL_VERB_SAMPLE, .name = "s" },
	};
	struct list list = LIST(ops);
	struct fl_record record;

	run_well((struct run_wish){ NEVER }, &list, &record);
	assert_int_equal(list.outcome[1].value, 4096);
	assert_int_equal(list.outcome[2].value, 0);
	assert_int_equal(list.outcome[3].value, 16 * MIB);
	assert_int_equal(list.outcome[4].value, 0);
	assert_true(value_of(&record, "pgfault", "s") == 4096);
	assert_true(value_of(&record, "pages_anon", "s") == 4096);
	assert_true(value_of(&record, "fault_latency_us", "s") > 0.1);
	assert_int_equal(list.done, 1);
	fl_record_fini(&record);
}

static void test_huge_pages_where_thp_is_always(void **state)
{
	static const struct fl_op ops[] = {
		{ FL_VERB_MAP, .length = 16 * MIB },
		{ FL_VERB_TOUCH, .handle = -1, .flags = FL_OP_RANDOM, .draw = 5 },
		{ FL_VERB_HUGE_PAGES, .handle = -1 },
		{ FL_VERB_MAP, .length = 4 * MIB, .flags = FL_OP_NOHUGE },
		{ FL_VERB_TOUCH, .handle = -4 },
		{ FL_VERB_HUGE_PAGES, .handle = -4 },
		{ FL_VERB_COUNTER, .name = "thp_fault_alloc" },
		{ FL_VERB_COUNTER, .name = "anon_fault_alloc_2048kB" },
		{ FL_VERB_SAMPLE, .name = "s" },
	};
	struct list list = LIST(ops);
	struct fl_record record;

	run_well((struct run_wish){ ALWAYS }, &list, &record);
	assert_int_equal(list.outcome[1].value, 8);
	assert_int_equal(list.outcome[2].value, 8);
	assert_int_equal(list.outcome[4].value, 1024);
	assert_int_equal(list.outcome[5].value, 0);
	assert_int_equal(list.outcome[6].value, 8);
	assert_int_equal(list.outcome[7].value, 8);
	assert_true(value_of(&record, "pages_huge", "s") == 8 * 512);
	fl_record_fini(&record);
}

static void test_ranges_strides_and_discards(void **state)
{
	static const struct fl_op ops[] = {
		{ FL_VERB_MAP, .length = 16 * MIB },
		{ FL_VERB_TOUCH, .handle = -1, .offset = 4096, .length = 8192 },
		{ FL_VERB_TOUCH, .handle = -1, .stride = 2 * MIB },
		{ FL_VERB_TOUCH, .handle = -1 },
		{ FL_VERB_DISCARD, .handle = -1, .count = 1000, .draw = 3 },
		{ FL_VERB_RESIDENT, .handle = -1 },
		{ FL_VERB_TOUCH, .handle = -1 },
		{ FL_VERB_ADVISE, .handle = -1, .advice = FL_ADVICE_DONTNEED, .offset = 0, .length = 2 * MIB },
		{ FL_VERB_RESIDENT, .handle = -1 },
		{ FL_VERB_MAP_SPARSE, .count = 10, .stride = 2 * MIB },
		{ FL_VERB_RESIDENT, .handle = -10 },
		{ FL_VERB_MLOCK, .handle = -1, .length = 4 * MIB },
		{ FL_VERB_SAMPLE, .name = "s" },
	};
	struct list list = LIST(ops);
	struct fl_record record;

	run_well((struct run_wish){ NEVER }, &list, &record);
	assert_int_equal(list.outcome[1].value, 2);
	assert_int_equal(list.outcome[2].value, 8); /* page 0, 512, ...: pages 1 and 2 are none of them */
	assert_int_equal(list.outcome[3].value, 4096 - 10);
	assert_int_equal(list.outcome[4].value, 1000);
	assert_int_equal(list.outcome[5].value, (4096 - 1000) * 4096);
	assert_int_equal(list.outcome[6].value, 1000);
	assert_int_equal(list.outcome[8].value, 14 * MIB);
	assert_int_equal(list.outcome[10].value, 10 * 4096);
	assert_int_equal(list.outcome[11].value, 1024);
	assert_true(value_of(&record, "pages_mlocked", "s") == 1024);
	fl_record_fini(&record);
}

/* One wrong operation after a mapping of 1 MiB. */
static void refused(struct fl_op op, const char *words)
{
	struct fl_op ops[] = { { FL_VERB_MAP, .length = MIB }, op };
	struct list list = LIST(ops);
	struct fl_record record;

	run_well((struct run_wish){ NEVER }, &list, &record);
	assert_non_null(list.outcome[1].refusal);
	if (!strstr(list.refused, words))
		fail_msg("\"%s\" lacks \"%s\"", list.refused, words);
	fl_record_fini(&record);
}

static void test_wrong_operations_are_refused_with_a_sentence(void **state)
{
	refused((struct fl_op){ FL_VERB_TOUCH, .handle = 99 }, "there is nothing with the handle 99");
	refused((struct fl_op){ FL_VERB_TOUCH, .handle = 1 }, "1 is a process or thread, not a mapping");
	refused((struct fl_op){ FL_VERB_TOUCH, .handle = -1, .offset = MIB }, "not inside the mapping");
	refused((struct fl_op){ FL_VERB_TOUCH, .handle = -1, .length = 2 * MIB }, "not inside the mapping");
	refused((struct fl_op){ FL_VERB_TOUCH, .handle = -1, .offset = 5 }, "multiples of the page size");
	refused((struct fl_op){ FL_VERB_DISCARD, .handle = -1, .count = 300 }, "do not fit");
	refused((struct fl_op){ FL_VERB_SET, .name = "vm.swapiness", .text = "1" }, "vm.swappiness");
	refused((struct fl_op){ FL_VERB_SET, .name = "vm.swappiness", .text = "999" }, "999");
	refused((struct fl_op){ FL_VERB_COUNTER, .name = "pgfualt" }, "no counter");
	refused((struct fl_op){ FL_VERB_SET, .name = "disk.queue", .text = "0" }, "whole number from 1");
	refused((struct fl_op){ FL_VERB_SET, .name = "disk.queue", .text = "4294967296" }, "too large");
	refused((struct fl_op){ FL_VERB_SET, .name = "disk.qeue", .text = "1" }, "disk.qeue");
	refused((struct fl_op){ FL_VERB_CLOSE, .handle = -1 }, "not a set of pipes");
	refused((struct fl_op){ FL_VERB_WAIT, .handle = -1 }, "not a process");
}

static void test_mapping_of_another_process_is_refused(void **state)
{
	static const struct fl_op child_ops[] = { { FL_VERB_TOUCH, .handle = 2 } };
	struct list child = LIST(child_ops);
	struct fl_op ops[] = {
		{ FL_VERB_MAP, .length = MIB },
		{ FL_VERB_PROCESS, .name = "child", .program = PROGRAM(&child) },
		{ FL_VERB_WAIT },
	};
	struct list list = LIST(ops);
	struct fl_record record;

	run_well((struct run_wish){ NEVER }, &list, &record);
	assert_non_null(strstr(child.refused, "belongs to another process"));
	fl_record_fini(&record);
}

static void test_threads_share_mappings_and_run_at_once(void **state)
{
	static const struct fl_op child_ops[] = { { FL_VERB_TOUCH, .handle = 2, .length = 8 * MIB },
						  { FL_VERB_COMPUTE, .time_ns = 50000000 } };
	struct list child[2] = { LIST(child_ops), LIST(child_ops) };
	struct fl_op ops[] = {
		{ FL_VERB_MAP, .length = 16 * MIB },
		{ FL_VERB_THREAD, .name = "t", .program = PROGRAM(&child[0]) },
		{ FL_VERB_THREAD, .name = "t", .program = PROGRAM(&child[1]) },
		{ FL_VERB_WAIT },
		{ FL_VERB_CLOCK },
		{ FL_VERB_SAMPLE, .name = "s" },
	};
	struct list list = LIST(ops);
	struct fl_record record;

	run_well((struct run_wish){ NEVER }, &list, &record);
	assert_in_range(child[0].outcome[0].value + child[1].outcome[0].value, 2048, 2300); /* races fault twice */
	assert_in_range(list.outcome[4].value, 50000000, 90000000); /* two CPUs: not 100 ms */
	assert_true(value_of(&record, "user_s", "s") >= 0.1);
	fl_record_fini(&record);
}

static void test_counters_are_differences_and_all_covers_the_measured_part(void **state)
{
	static const struct fl_op ops[] = {
		{ FL_VERB_MAP, .length = 4 * MIB },
		{ FL_VERB_TOUCH, .handle = -1, .length = MIB },
		{ FL_VERB_MEASURE },
		{ FL_VERB_TOUCH, .handle = -1, .length = 2 * MIB },
		{ FL_VERB_SAMPLE, .name = "a" },
		{ FL_VERB_TOUCH, .handle = -1 },
		{ FL_VERB_SLEEP, .time_ns = 2000000000 },
		{ FL_VERB_SAMPLE, .name = "b" },
		{ FL_VERB_SAMPLE, .name = "all" },
	};
	struct list list = LIST(ops);
	struct fl_record record;

	run_well((struct run_wish){ NEVER }, &list, &record);
	assert_true(value_of(&record, "pgfault", "a") == 256);
	assert_true(value_of(&record, "pgfault", "b") == 512);
	assert_true(value_of(&record, "pgfault", "all") == 768);
	assert_true(value_of(&record, "real_s", "b") >= 2.0);
	assert_true(value_of(&record, "extfrag_unmovable_movable_o9_claim", "a") == 0); /* zeroes are there too */
	assert_true(value_of(&record, "work_migrated_direct_slowpath", "a") == 0);
	assert_true(record.virtual_ns >= 2000000000 && record.has_census);
	fl_record_fini(&record);
}

static void test_paused_process_keeps_its_memory_until_it_is_killed(void **state)
{
	static const struct fl_op child_ops[] = { { FL_VERB_MAP, .length = 64 * MIB },
						  { FL_VERB_TOUCH, .handle = -1 },
						  { FL_VERB_PAUSE } };
	struct list child = LIST(child_ops);
	struct fl_op ops[] = {
		{ FL_VERB_SAMPLE, .name = "before" },
		{ FL_VERB_PROCESS, .name = "child", .program = PROGRAM(&child) },
		{ FL_VERB_SLEEP, .time_ns = 2000000000 },
		{ FL_VERB_SAMPLE, .name = "held" },
		{ FL_VERB_KILL, .handle = -2 },
		{ FL_VERB_WAIT, .handle = -2 },
		{ FL_VERB_SAMPLE, .name = "after" },
	};
	struct list list = LIST(ops);
	struct fl_record record;

	run_well((struct run_wish){ NEVER }, &list, &record);
	assert_true(value_of(&record, "pages_anon", "held") == 16384);
	assert_true(value_of(&record, "pages_anon", "after") == 0);
	assert_true(value_of(&record, "unmovable_pages", "held") > value_of(&record, "unmovable_pages", "after"));
	assert_int_equal(list.outcome[5].value, 0); /* killed, but not for lack of memory */
	assert_int_equal(child.done, 1);
	fl_record_fini(&record);
}

static void test_exit_ends_all_threads(void **state)
{
	static const struct fl_op sleeper_ops[] = { { FL_VERB_SLEEP, .time_ns = 1000000000000 } };
	static const struct fl_op exit_ops[] = { { FL_VERB_SLEEP, .time_ns = 1000000 }, { FL_VERB_EXIT } };
	struct list sleeper = LIST(sleeper_ops), leaver = LIST(exit_ops);
	struct fl_op child_ops[] = {
		{ FL_VERB_THREAD, .name = "s", .program = PROGRAM(&sleeper) },
		{ FL_VERB_THREAD, .name = "e", .program = PROGRAM(&leaver) },
		{ FL_VERB_PAUSE },
	};
	struct list child = LIST(child_ops);
	struct fl_op ops[] = { { FL_VERB_PROCESS, .name = "child", .program = PROGRAM(&child) }, { FL_VERB_WAIT },
			       { FL_VERB_CLOCK } };
	struct list list = LIST(ops);
	struct fl_record record;

	run_well((struct run_wish){ NEVER }, &list, &record);
	assert_in_range(list.outcome[2].value, 1000000, 100000000);
	assert_int_equal(sleeper.done + leaver.done + child.done, 3);
	fl_record_fini(&record);
}

static void test_process_without_memory_dies_and_the_run_goes_on(void **state)
{
	static const struct fl_op child_ops[] = { { FL_VERB_MAP, .length = 900 * MIB }, { FL_VERB_TOUCH, .handle = -1 } };
	struct list child = LIST(child_ops);
	struct fl_op ops[] = { { FL_VERB_PROCESS, .name = "child", .program = PROGRAM(&child) }, { FL_VERB_WAIT },
			       { FL_VERB_SAMPLE, .name = "s" } };
	struct list list = LIST(ops);
	struct fl_record record;

	run_well((struct run_wish){ NEVER }, &list, &record);
	assert_int_equal(list.outcome[1].value, 1);
	assert_false(record.died);
	assert_true(value_of(&record, "pages_anon", "s") == 0);
	fl_record_fini(&record);
}

static void test_load_that_dies_is_a_result(void **state)
{
	static const struct fl_op ops[] = { { FL_VERB_SAMPLE, .name = "r1" }, { FL_VERB_MAP, .length = 900 * MIB },
					    { FL_VERB_TOUCH, .handle = -2 }, { FL_VERB_SAMPLE, .name = "r2" } };
	struct list list = LIST(ops);
	struct fl_record record;

	run_well((struct run_wish){ NEVER }, &list, &record);
	assert_true(record.died);
	assert_string_equal(record.died_where, "after r1: out of memory");
	assert_null(fl_record_find(&record, "pgfault", "r2"));
	fl_record_fini(&record);
}

static void test_scenario_that_stands_still_is_ended(void **state)
{
	static const struct fl_op child_ops[] = { { FL_VERB_WAIT, .handle = 1 } };
	struct list child = LIST(child_ops);
	struct fl_op ops[] = { { FL_VERB_PROCESS, .name = "child", .program = PROGRAM(&child) }, { FL_VERB_WAIT } };
	struct list list = LIST(ops);
	struct fl_record record;
	struct fl_error error;

	assert_int_not_equal(run_list((struct run_wish){ NEVER }, &list, &record, &error), 0);
	assert_non_null(strstr(error.text, "stands still: every process waits for another one (main in wait(), child in wait())"));
	assert_int_equal(child.done, 1);
	fl_record_fini(&record);
}

static void test_pipes_sockets_and_files_take_kernel_memory(void **state)
{
	static const struct fl_op ops[] = {
		{ FL_VERB_SAMPLE, .name = "a" },
		{ FL_VERB_PIPES, .count = 100, .size = 4096 },
		{ FL_VERB_SOCKETS, .count = 100, .size = 1000 },
		{ FL_VERB_CREATE_FILES, .count = 1000, .flags = FL_OP_TMPFS },
		{ FL_VERB_CREATE_FILES, .count = 1000 },
		{ FL_VERB_SAMPLE, .name = "b" },
		{ FL_VERB_READ_FILES, .handle = -5 },
		{ FL_VERB_CLOSE, .handle = -2, .count = 60, .flags = FL_OP_RANDOM, .draw = 9 },
		{ FL_VERB_CLOSE, .handle = -2 },
		{ FL_VERB_CLOSE, .handle = -3 },
		{ FL_VERB_DELETE_FILES, .handle = -4 },
		{ FL_VERB_DELETE_FILES, .handle = -5 },
		{ FL_VERB_DRAIN },
		{ FL_VERB_SAMPLE, .name = "c" },
	};
	struct list list = LIST(ops);
	struct fl_record record;

	run_well((struct run_wish){ NEVER }, &list, &record);
	assert_int_equal(list.outcome[6].value, 1000);
	assert_int_equal(list.outcome[7].value, 60);
	assert_int_equal(list.outcome[8].value, 40);
	assert_true(value_of(&record, "pages_kernel", "b") >= value_of(&record, "pages_kernel", "a") + 100);
	assert_true(value_of(&record, "pages_slab", "b") > value_of(&record, "pages_slab", "a") + 200);
	assert_true(value_of(&record, "unmovable_pages", "c") < value_of(&record, "unmovable_pages", "b") - 200);
	fl_record_fini(&record);
}

static void test_contents_of_files_and_devices_are_cached(void **state)
{
	static const struct fl_op ops[] = {
		{ FL_VERB_CREATE_FILES, .count = 10, .size = MIB },
		{ FL_VERB_SAMPLE, .name = "a" },
		{ FL_VERB_READ_FILES, .handle = -1 },
		{ FL_VERB_SAMPLE, .name = "b" },
		{ FL_VERB_CREATE_FILES, .count = 4, .size = MIB, .flags = FL_OP_TMPFS },
		{ FL_VERB_READ_DEVICE, .length = 8 * MIB },
		{ FL_VERB_SAMPLE, .name = "c" },
		{ FL_VERB_DROP_CACHES, .count = 3 },
		{ FL_VERB_SAMPLE, .name = "d" },
		{ FL_VERB_MAP, .flags = FL_OP_FILE, .file = 2, .number = 1 },
		{ FL_VERB_TOUCH, .handle = -10, .flags = FL_OP_READ },
		{ FL_VERB_RESIDENT, .handle = -10 },
		{ FL_VERB_MAP, .length = MIB, .flags = FL_OP_SHMEM },
		{ FL_VERB_TOUCH, .handle = -13 },
		{ FL_VERB_READ_FILES, .handle = -1, .offset = 4 * MIB },
	};
	struct list list = LIST(ops);
	struct fl_record record;

	run_well((struct run_wish){ NEVER }, &list, &record);
	assert_true(value_of(&record, "pages_file", "a") == 0); /* on the disk, not in memory */
	assert_true(value_of(&record, "pages_file", "b") == 2560);
	assert_int_equal(list.outcome[5].value, 8 * MIB);
	assert_in_range((uint64_t)value_of(&record, "pages_file", "c"), 2560 + 1024 + 2048, 2560 + 1024 + 2048 + 256);
	assert_true(value_of(&record, "pages_file", "d") == 1024); /* tmpfs has no other place */
	assert_int_equal(list.outcome[11].value, MIB);
	assert_int_equal(list.outcome[13].value, 256);
	assert_non_null(strstr(list.refused, "not inside files of 1048576 bytes"));
	fl_record_fini(&record);
}

static void test_files_drawn_and_read_at_random_bring_their_own_pages_only(void **state)
{
	static const struct fl_op ops[] = {
		{ FL_VERB_CREATE_FILES, .count = 100, .size = 65536 },
		{ FL_VERB_OPEN_FILES, .handle = -1 },
		{ FL_VERB_READ_FILES, .handle = -1, .offset = 16384, .length = 16384, .flags = FL_OP_RANDOM, .draw = 5 },
		{ FL_VERB_SAMPLE, .name = "a" },
		{ FL_VERB_WRITE_FILES, .handle = -1, .count = 30, .offset = 0, .length = 4096, .draw = 6 },
		{ FL_VERB_SAMPLE, .name = "b" },
		{ FL_VERB_CLOSE_FILES, .handle = -1 },
		{ FL_VERB_CLOSE_FILES, .handle = -1 },
		{ FL_VERB_DELETE_FILES, .handle = -1 },
		{ FL_VERB_OPEN_FILES, .handle = -1 },
	};
	struct list list = LIST(ops);
	struct fl_record record;
	double drawn;

	run_well((struct run_wish){ NEVER }, &list, &record);
	assert_int_equal(list.outcome[1].value, 100);
	assert_int_equal(list.outcome[2].value, 100);
	assert_true(value_of(&record, "pages_file", "a") == 400);
	assert_int_equal(list.outcome[4].value, 30);
	drawn = value_of(&record, "pages_file", "b") - 400; /* with repetition */
	assert_true(drawn > 20 && drawn <= 30);
	assert_int_equal(list.outcome[6].value, 100);
	assert_int_equal(list.outcome[7].value, 0);
	assert_true(list.refused[0] != 0); /* deleted */
	fl_record_fini(&record);
}

static void test_swap_takes_what_memory_cannot(void **state)
{
	static const struct fl_op ops[] = {
		{ FL_VERB_MAP, .length = 600 * MIB },
		{ FL_VERB_TOUCH, .handle = -1 },
		{ FL_VERB_SAMPLE, .name = "s" },
		{ FL_VERB_COMPACT },
	};
	struct list list = LIST(ops);
	struct fl_record record;

	run_well((struct run_wish){ NEVER, .machine = { .swap_bytes = 1024 * MIB } }, &list, &record);
	assert_false(record.died);
	assert_true(value_of(&record, "pswpout", "s") > 10000);
	fl_record_fini(&record);
}

static void test_settings_of_kernel_and_scenario_are_in_force(void **state)
{
	static const struct fl_backend_setting settings[] = { { "thp.enabled", "always" } };
	static const struct fl_op ops[] = { { FL_VERB_MAP, .length = 4 * MIB }, { FL_VERB_TOUCH, .handle = -1 },
					    { FL_VERB_HUGE_PAGES, .handle = -1 } };
	static const struct fl_backend_setting wrong[] = { { "thp.enabeld", "always" } };
	struct list list = LIST(ops);
	struct fl_record record;
	struct fl_error error = { 0 };

	run_well((struct run_wish){ .kernel = "7.3,thp.enabled=never", .settings = settings, .settings_count = 1 }, &list,
		 &record);
	assert_int_equal(list.outcome[2].value, 0);
	fl_record_fini(&record);
	assert_int_not_equal(run_list((struct run_wish){ .settings = wrong, .settings_count = 1 }, &list, &record, &error), 0);
	assert_non_null(strstr(error.text, "thp.enabled"));
	fl_record_fini(&record);
	assert_int_not_equal(run_list((struct run_wish){ .kernel = "9.9" }, &list, &record, &error), 0);
	assert_int_equal(error.class, FL_ERROR_INPUT);
	fl_record_fini(&record);
}

/* With guards uncounted at merge the lists hold more than the count says; with the patch never. */
static void test_free_count_gap_by_guard_accounting(void **state)
{
	static const struct fl_op ops[] = { { FL_VERB_MAP, .length = 32 * MIB }, { FL_VERB_TOUCH, .handle = -1 },
					    { FL_VERB_UNMAP, .handle = -1 }, { FL_VERB_DRAIN },
					    { FL_VERB_SAMPLE, .name = "s" } };
	struct fl_machine_wish wish = { .guard_minorder = 1, .memory_bytes = 1024 * MIB, .below_4g_bytes = 256 * MIB };
	struct list old = LIST(ops), new = LIST(ops);
	struct fl_record record;

	run_well((struct run_wish){ .kernel = "7.3~guard-accounting", .machine = wish, NEVER }, &old, &record);
	assert_true(value_of(&record, "free_count_gap", "s") > 4000);
	fl_record_fini(&record);
	run_well((struct run_wish){ .kernel = "7.3", .machine = wish, NEVER }, &new, &record);
	assert_true(value_of(&record, "free_count_gap", "s") == 0);
	fl_record_fini(&record);
}

static void test_same_seed_same_hash(void **state)
{
	static const struct fl_op ops[] = { { FL_VERB_MAP, .length = 8 * MIB }, { FL_VERB_TOUCH, .handle = -1 } };
	static const struct fl_op more[] = { { FL_VERB_MAP, .length = 8 * MIB }, { FL_VERB_TOUCH, .handle = -1 },
					     { FL_VERB_PIPES, .count = 1, .size = 4096 } };
	struct list a = LIST(ops), b = LIST(ops), c = LIST(more);
	struct fl_record record;
	uint64_t hash;

	run_well((struct run_wish){ NEVER }, &a, &record);
	hash = record.state_hash;
	fl_record_fini(&record);
	run_well((struct run_wish){ NEVER }, &b, &record);
	assert_true(record.state_hash == hash);
	fl_record_fini(&record);
	run_well((struct run_wish){ NEVER }, &c, &record);
	assert_false(record.state_hash == hash);
	fl_record_fini(&record);
}

static void test_thousand_paused_processes(void **state)
{
	static const struct fl_op child_ops[] = { { FL_VERB_MAP_SPARSE, .count = 8, .stride = 2 * MIB }, { FL_VERB_PAUSE } };
	enum { COUNT = 1000 };
	struct list *child = calloc(COUNT, sizeof(*child));
	struct fl_op *ops = calloc(COUNT + 2, sizeof(*ops));
	struct list list = { ops, COUNT + 2, 0, { { 0 } }, "", 0 };
	struct fl_record record;

	(void)state;
	for (int i = 0; i < COUNT; i++) {
		child[i] = (struct list)LIST(child_ops);
		ops[i] = (struct fl_op){ FL_VERB_PROCESS, .name = "p", .ordinal = (uint64_t)i, .program = PROGRAM(&child[i]) };
	}
	ops[COUNT] = (struct fl_op){ FL_VERB_SLEEP, .time_ns = 5000000000 };
	ops[COUNT + 1] = (struct fl_op){ FL_VERB_SAMPLE, .name = "s" };
	list.count = COUNT + 2;
	list.outcome[0].value = 0;
	run_well((struct run_wish){ NEVER }, &list, &record);
	assert_true(value_of(&record, "pages_anon", "s") == 8 * COUNT);
	assert_true(value_of(&record, "pages_pgtable", "s") >= 8 * COUNT);
	fl_record_fini(&record);
	free(ops);
	free(child);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first_touch_faults_once_a_page),
		cmocka_unit_test(test_huge_pages_where_thp_is_always),
		cmocka_unit_test(test_ranges_strides_and_discards),
		cmocka_unit_test(test_wrong_operations_are_refused_with_a_sentence),
		cmocka_unit_test(test_mapping_of_another_process_is_refused),
		cmocka_unit_test(test_threads_share_mappings_and_run_at_once),
		cmocka_unit_test(test_counters_are_differences_and_all_covers_the_measured_part),
		cmocka_unit_test(test_paused_process_keeps_its_memory_until_it_is_killed),
		cmocka_unit_test(test_exit_ends_all_threads),
		cmocka_unit_test(test_process_without_memory_dies_and_the_run_goes_on),
		cmocka_unit_test(test_load_that_dies_is_a_result),
		cmocka_unit_test(test_scenario_that_stands_still_is_ended),
		cmocka_unit_test(test_pipes_sockets_and_files_take_kernel_memory),
		cmocka_unit_test(test_contents_of_files_and_devices_are_cached),
		cmocka_unit_test(test_files_drawn_and_read_at_random_bring_their_own_pages_only),
		cmocka_unit_test(test_swap_takes_what_memory_cannot),
		cmocka_unit_test(test_settings_of_kernel_and_scenario_are_in_force),
		cmocka_unit_test(test_free_count_gap_by_guard_accounting),
		cmocka_unit_test(test_same_seed_same_hash),
		cmocka_unit_test(test_thousand_paused_processes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
