/*
 * tests/machine/access_test.c - access(): time by what the TLB holds, patterns, sources of its costs; and khugepaged's sleeps beside
 * it, which need a clock.
 */
#include "support.h"

#define PAGE INT64_C(4096)

static const struct fl_backend_setting advised[] = { { "thp.enabled", "madvise" } };
#define ADVISED .kernel = "6.12", .settings = advised, .settings_count = 1

#define MAP(bytes, ...) { FL_VERB_MAP, .length = (bytes), __VA_ARGS__ }
#define PERF(what) { FL_VERB_PERF, .name = what }

static void run_ops(struct list *list)
{
	struct fl_record record;

	run_well((struct run_wish){ ADVISED }, list, &record);
	assert_string_equal(list->refused, "");
	fl_record_fini(&record);
}

static void assert_near(int64_t value, int64_t expected, int64_t per_mille)
{
	if (llabs(value - expected) * 1000 > expected * per_mille)
		fail_msg("%ld is not %ld within %ld per mille", (long)value, (long)expected, (long)per_mille);
}

static void test_a_timed_access_to_huge_memory_does_three_times_as_much_in_its_time(void **state)
{
	static const struct fl_op ops[] = {
		MAP(64 * MIB, .flags = FL_OP_NOHUGE), { FL_VERB_TOUCH, .handle = -1 },
		{ FL_VERB_CLOCK },
		{ FL_VERB_ACCESS, .handle = -1, .time_ns = 1000000000 },
		{ FL_VERB_CLOCK },
		PERF("dtlb_load_misses"),
		MAP(64 * MIB, .flags = FL_OP_HUGE), { FL_VERB_TOUCH, .handle = -7 },
		{ FL_VERB_ACCESS, .handle = -7, .time_ns = 1000000000 },
		PERF("dtlb_load_misses"), PERF("accesses"),
	};
	struct list list = LIST(ops);

	(void)state;
	run_ops(&list);
	assert_near(list.outcome[3].value, 1000000000 / 3, 5); /* access + tlb_miss: 1 + 2 ns */
	assert_near(list.outcome[4].value - list.outcome[2].value, 1000000000, 1);
	assert_near(list.outcome[5].value, list.outcome[3].value, 1);
	assert_near(list.outcome[8].value, 1000000000, 5);
	assert_true(list.outcome[9].value - list.outcome[5].value < 100);
	assert_int_equal(list.outcome[10].value, list.outcome[3].value + list.outcome[8].value);
}

/* khugepaged makes all 8 ranges huge at its second wake-up, a second after. */
static void test_an_access_that_is_under_way_gets_faster_when_its_memory_becomes_huge(void **state)
{
	static const struct fl_op ops[] = {
		{ FL_VERB_SET, .name = "khugepaged.scan_sleep_millisecs", .text = "1000" },
		MAP(2 * MIB, .flags = FL_OP_HUGE), { FL_VERB_TOUCH, .handle = -2 }, /* registers: its wake-up is over */
		MAP(16 * MIB), { FL_VERB_TOUCH, .handle = -4 },
		{ FL_VERB_ADVISE, .handle = -4, .advice = FL_ADVICE_HUGEPAGE },
		{ FL_VERB_ACCESS, .handle = -4, .time_ns = 3000000000 },
		{ FL_VERB_HUGE_PAGES, .handle = -4 },
		PERF("dtlb_load_misses"),
	};
	struct list list = LIST(ops);

	(void)state;
	run_ops(&list);
	assert_int_equal(list.outcome[7].value, 8);
	assert_near(list.outcome[6].value, INT64_C(1000000000) / 3 + 2000000000, 20);
	assert_near(list.outcome[8].value, 1000000000 / 3, 50);
}

static void test_a_stride_of_the_sets_walks_as_soon_as_the_ways_are_used_up(void **state)
{
	static const struct fl_op ops[] = { /* 128 sets of 12 ways: pages 512 apart share one */
		MAP(32 * MIB, .flags = FL_OP_NOHUGE), { FL_VERB_TOUCH, .handle = -1 },
		{ FL_VERB_ACCESS, .handle = -1, .count = 100, .stride = 2 * MIB, .length = 24 * MIB },
		PERF("dtlb_load_misses"),
		{ FL_VERB_ACCESS, .handle = -1, .count = 100, .stride = 2 * MIB, .length = 26 * MIB },
		PERF("dtlb_load_misses"),
	};
	struct list list = LIST(ops);

	(void)state;
	run_ops(&list);
	assert_int_equal(list.outcome[3].value, 12);
	assert_int_equal(list.outcome[5].value - 12, 1300);
}

/* Of 4096 pages drawn alike 1536 are in the second level; by the Zipf law what is drawn most often is. */
static void test_uniform_draws_miss_by_the_share_that_does_not_fit_and_zipf_much_less(void **state)
{
	static const struct fl_op ops[] = {
		MAP(16 * MIB, .flags = FL_OP_NOHUGE), { FL_VERB_TOUCH, .handle = -1 },
		{ FL_VERB_ACCESS, .handle = -1, .count = 50, .pattern = FL_PATTERN_UNIFORM, .draw = 7 },
		PERF("dtlb_load_misses"),
		{ FL_VERB_ACCESS, .handle = -1, .count = 50, .pattern = FL_PATTERN_ZIPF, .draw = 7 },
		PERF("dtlb_load_misses"),
		{ FL_VERB_ACCESS, .handle = -1, .time_ns = 600000, .pattern = FL_PATTERN_UNIFORM, .draw = 8 },
	};
	struct list list = LIST(ops);
	int64_t uniform, zipf;

	(void)state;
	run_ops(&list);
	uniform = list.outcome[3].value, zipf = list.outcome[5].value - uniform;
	assert_int_equal(list.outcome[2].value, 50 * 4096);
	assert_near(uniform, 50 * (4096 - 1536), 20);
	assert_true(zipf > uniform / 10 && zipf < uniform / 3);
	assert_near(list.outcome[6].value, 600000 * 10 / (10 + 20 * (4096 - 1536) / 4096), 60); /* the TLB starts empty */
}

static void test_one_random_order_is_repeated_and_misses_as_any_order_does(void **state)
{
	static const struct fl_op ops[] = {
		MAP(16 * MIB, .flags = FL_OP_NOHUGE), { FL_VERB_TOUCH, .handle = -1 },
		{ FL_VERB_ACCESS, .handle = -1, .time_ns = 100000000, .flags = FL_OP_RANDOM, .draw = 7 },
		PERF("dtlb_load_misses"),
	};
	struct list list = LIST(ops);

	(void)state;
	run_ops(&list);
	assert_near(list.outcome[3].value, list.outcome[2].value, 5); /* each set is gone through in one order: it never hits */
}

static void test_costs_come_from_the_script_else_the_cpu_else_the_table(void **state)
{
	static const struct fl_op ops[] = {
		MAP(64 * MIB, .flags = FL_OP_NOHUGE), { FL_VERB_TOUCH, .handle = -1 },
		{ FL_VERB_ACCESS, .handle = -1, .time_ns = 100000000, .text = "zen3" },
		{ FL_VERB_ACCESS, .handle = -1, .time_ns = 100000000, .text = "zen3", .mhz = 1000,
		  .access_mcycles = 1000, .walk_mcycles = 9000, .has_speed = FL_OP_HAS_ACCESS | FL_OP_HAS_WALK },
		{ FL_VERB_ACCESS, .handle = -1, .time_ns = 100000000 },
		{ FL_VERB_ACCESS, .handle = -1, .time_ns = 100000000, .text = "zen3", .length = 4 * MIB },
		{ FL_VERB_ACCESS, .handle = -1, .time_ns = 100000000, .text = "zen3", .length = 4 * MIB,
		  .l2_mcycles = 0, .has_speed = FL_OP_HAS_L2 },
	};
	struct list list = LIST(ops);

	(void)state;
	run_ops(&list);
	assert_near(list.outcome[2].value, 100000000 * INT64_C(3500) / (4300 + 42000), 10);
	assert_near(list.outcome[3].value, 10000000, 10);
	assert_near(list.outcome[4].value, 33333333, 10);
	assert_near(list.outcome[5].value, 100000000 * INT64_C(3500) / (4300 + 7500), 10);
	assert_near(list.outcome[6].value, 100000000 * INT64_C(3500) / 4300, 10);
}

static void refused(struct fl_op op, const char *words)
{
	struct fl_op ops[] = { MAP(MIB), op };
	struct list list = LIST(ops);
	struct fl_record record;

	run_well((struct run_wish){ ADVISED }, &list, &record);
	if (!strstr(list.refused, words))
		fail_msg("\"%s\" lacks \"%s\"", list.refused, words);
	fl_record_fini(&record);
}

static void test_a_cpu_that_is_not_known_and_a_time_that_never_passes_are_refused(void **state)
{
	(void)state;
	refused((struct fl_op){ FL_VERB_ACCESS, .handle = -1, .time_ns = 5, .text = "abacus" }, "abacus");
	refused((struct fl_op){ FL_VERB_ACCESS, .handle = -1, .time_ns = 5, .has_speed = FL_OP_HAS_ACCESS }, "never end");
}

/* ---- khugepaged's sleeps ---- */

/* No free huge page, and khugepaged may not make one: failures within `seconds` of the wake-up that follows the advice. */
static int64_t failures(const char *alloc_sleep_ms, int seconds)
{
	struct fl_op ops[] = {
		{ FL_VERB_SET, .name = "vm.compaction_proactiveness", .text = "0" },
		{ FL_VERB_SET, .name = "khugepaged.defrag", .text = "0" },
		{ FL_VERB_SET, .name = "khugepaged.alloc_sleep_millisecs", .text = "" },
		MAP(434 * MIB, .flags = FL_OP_NOHUGE | FL_OP_LOCKED), { FL_VERB_TOUCH, .handle = -4 },
		{ FL_VERB_MUNLOCK, .handle = -4 },
		{ FL_VERB_ADVISE, .handle = -4, .advice = FL_ADVICE_DONTNEED, .stride = 8 * PAGE },
		MAP(40 * MIB), { FL_VERB_TOUCH, .handle = -8 }, /* from the holes: what a collapse frees makes no huge page */
		{ FL_VERB_SET, .name = "khugepaged.pages_to_scan", .text = "65536" },
		{ FL_VERB_COUNTER, .name = "thp_collapse_alloc_failed" },
		{ FL_VERB_ADVISE, .handle = -8, .advice = FL_ADVICE_HUGEPAGE },
		{ FL_VERB_SLEEP, .time_ns = (uint64_t)seconds * 1000000000 },
		{ FL_VERB_COUNTER, .name = "thp_collapse_alloc_failed" },
		{ FL_VERB_COUNTER, .name = "thp_collapse_alloc" },
	};
	struct list list = LIST(ops);

	snprintf(ops[2].text, sizeof(ops[2].text), "%s", alloc_sleep_ms);
	run_ops(&list);
	assert_true(list.outcome[14].value < 20);
	return list.outcome[13].value - list.outcome[10].value;
}

/* A wake-up fails, sleeps 60 s, fails once more and ends; the next one is scan_sleep (10 s) later. */
static void test_a_failed_allocation_sleeps_60_s_and_is_tried_once_more_in_its_wake_up(void **state)
{
	static const int after[] = { 1, 59, 61, 69, 71, 129, 131, 141 };
	static const int expected[] = { 1, 1, 2, 2, 3, 3, 4, 5 };

	(void)state;
	for (unsigned int i = 0; i < 8; i++)
		if (failures("60000", after[i]) != expected[i])
			fail_msg("after %d s: %ld failures, not %d", after[i], (long)failures("60000", after[i]), expected[i]);
}

static void test_alloc_sleep_is_a_setting(void **state)
{
	(void)state;
	assert_int_equal(failures("1000", 10), 2);
	assert_int_equal(failures("1000", 12), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_timed_access_to_huge_memory_does_three_times_as_much_in_its_time),
		cmocka_unit_test(test_an_access_that_is_under_way_gets_faster_when_its_memory_becomes_huge),
		cmocka_unit_test(test_a_stride_of_the_sets_walks_as_soon_as_the_ways_are_used_up),
		cmocka_unit_test(test_uniform_draws_miss_by_the_share_that_does_not_fit_and_zipf_much_less),
		cmocka_unit_test(test_one_random_order_is_repeated_and_misses_as_any_order_does),
		cmocka_unit_test(test_costs_come_from_the_script_else_the_cpu_else_the_table),
		cmocka_unit_test(test_a_cpu_that_is_not_known_and_a_time_that_never_passes_are_refused),
		cmocka_unit_test(test_a_failed_allocation_sleeps_60_s_and_is_tried_once_more_in_its_wake_up),
		cmocka_unit_test(test_alloc_sleep_is_a_setting),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
