/*
 * tests/scenario/sim_scenarios_test.c - the shipped scenarios on the model: the same run in twenty fresh processes, what their records
 * say, and the same load under two kernels.
 *
 * Fresh processes, not forks: Lua seeds its hash from clock and addresses at the start.
 */
#include <inttypes.h>

#include "support.h"

/* Small versions: scenario, memory in MiB, options. */
struct small {
	const char *scenario;
	int64_t memory_mib;
	const char *options[6];
};
static const struct small smalls[] = {
	{ "guard-pages", 4096, { "load=64M", "settle=20s" } },
	{ "fault-storm", 256, { "storm=32M", "pipes=500", "fill=75" } },
	{ "thpchallenge", 512, { "threads=1,2", "load=busy" } },
	{ "kernel-build", 1024, { "jobs=20", "rounds=2", "job_size=24M", "helpers=4", "system=300M", "cached=512M" } },
	{ "type-pressure", 1024, { "rounds=2", "rest=100ms" } },
	{ "steal-census", 512, { "hole_step=4" } },
	{ "hot-cold-hot", 1024, { "size=32M", "passes=20", "window_start=35s", "limit=80s" } },
	{ "mthp-burst", 1024, { "rounds=2", "burst=400M", "system=300M", "holes=30", "cached=1G", "reread=400M" } },
};

static int run_small(const struct small *small, const char *kernel, uint64_t seed, struct fl_record *record,
		     struct fl_error *error)
{
	struct fl_scenario *s;
	struct fl_option_set set;
	int status = fl_scenario_load(small->scenario, &s, error);

	if (status)
		return status;
	fl_option_set_init(&set, s->options, s->options_count);
	for (size_t i = 0; i < 6 && small->options[i]; i++)
		if (!status)
			status = fl_option_assign(&set, "scenario", small->options[i], error);
	if (!status)
		status = fl_scenario_run(&(struct fl_scenario_request){ .scenario = s, .options = &set, .kernel = kernel,
					 .seed = seed, .memory_bytes = small->memory_mib << 20, .check = true },
					 record, error);
	fl_option_set_fini(&set);
	fl_scenario_free(s);
	return status;
}

/* In the fresh process: prints hash and samples. */
static int print_run(size_t which)
{
	struct fl_record record;
	struct fl_error error = { 0 };

	fl_record_init(&record);
	if (run_small(&smalls[which], "7.3", 7, &record, &error)) {
		printf("%s\n", error.text);
		return 1;
	}
	printf("%016" PRIx64 " %" PRIu64 "\n", record.state_hash, record.virtual_ns);
	for (size_t i = 0; i < record.samples_count; i++)
		printf("%s %s %a\n", record.samples[i].name, record.samples[i].phase, record.samples[i].value);
	fl_record_fini(&record);
	return 0;
}

static char *output_of_fresh_process(size_t which)
{
	struct fl_text text;
	char self[512], *command, buffer[4096];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
	size_t n;
	FILE *pipe;

	assert_true(length > 0);
	self[length] = '\0';
	command = fl_xasprintf("%s print %zu", self, which);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	fl_text_init(&text);
	while ((n = fread(buffer, 1, sizeof(buffer), pipe)) > 0)
		fl_text_add_bytes(&text, buffer, n);
	assert_int_equal(pclose(pipe), 0);
	free(command);
	return text.data;
}

static void test_twenty_fresh_processes_run_alike(void **state)
{
	for (size_t which = 0; which < sizeof(smalls) / sizeof(*smalls); which++) {
		char *first = output_of_fresh_process(which);

		assert_true(strlen(first) > 10000);
		for (int i = 1; i < 20; i++) {
			char *other = output_of_fresh_process(which);

			if (strcmp(first, other))
				fail_msg("%s: two processes ran differently: %.40s and %.40s", smalls[which].scenario, first, other);
			free(other);
		}
		free(first);
	}
}

static double value_of(const struct fl_record *record, const char *name, const char *phase)
{
	const struct fl_sample *s = fl_record_find(record, name, phase);

	if (!s)
		fail_msg("no sample %s at %s", name, phase);
	return s->valid ? s->value : -1;
}

static struct fl_record record_of_small(const struct small *small, const char *kernel)
{
	struct fl_record record;
	struct fl_error error = { 0 };

	fl_record_init(&record);
	if (run_small(small, kernel, 1, &record, &error))
		fail_msg("%s", error.text);
	return record;
}

static struct fl_record record_of(size_t which, const char *kernel)
{
	return record_of_small(&smalls[which], kernel);
}

static void test_guard_pages_gap_is_zero_with_the_patch_and_grows_without(void **state)
{
	static const char *const phases[] = { "idle", "load1", "load2" };
	struct fl_record with = record_of(0, "7.3"), without = record_of(0, "7.3~guard-accounting");

	for (int i = 0; i < 3; i++)
		assert_true(value_of(&with, "free_count_gap", phases[i]) == 0);
	assert_true(value_of(&without, "free_count_gap", "idle") == 0);
	assert_true(value_of(&without, "free_count_gap", "load1") > 1000);
	assert_true(value_of(&without, "free_count_gap", "load2") > value_of(&without, "free_count_gap", "load1"));
	fl_record_fini(&with);
	fl_record_fini(&without);
}

static void test_guard_pages_counts_by_type_drift_unless_merges_move_them(void **state)
{
	static const char *const kernels[] = { "7.3", "6.12", "6.18", "7.3+merge-accounting", "6.12+mobility" };

	for (int i = 0; i < 5; i++) {
		struct fl_record record = record_of(0, kernels[i]);
		bool moves = strchr(kernels[i], '+') != NULL;

		assert_true(value_of(&record, "type_count_gap", "idle") == 0);
		assert_true((value_of(&record, "type_count_gap", "load1") == 0) == moves);
		assert_true((value_of(&record, "type_count_gap", "load2") == 0) == moves);
		assert_true(value_of(&record, "free_count_gap", "load2") == 0);
		assert_true(value_of(&record, "oom_kill", "load2") == 0);
		fl_record_fini(&record);
	}
}

static void test_fault_storm_finds_huge_pages_on_the_empty_machine_only(void **state)
{
	struct fl_record record = record_of(1, "7.3");

	assert_true(value_of(&record, "success_pct", "empty_2048kB") == 100);
	assert_true(value_of(&record, "success_pct", "frag_2048kB") < 100);
	assert_true(value_of(&record, "fault_latency_us", "empty_2048kB") >
		    10 * value_of(&record, "fault_latency_us", "empty_4kB"));
	assert_true(value_of(&record, "pgfault", "empty_4kB") == 8192);
	assert_true(record.has_census && record.census.blocks_count == 128);
	assert_false(record.died);
	fl_record_fini(&record);
}

/* Sum of work_<what>_..., of one actor or of all (NULL), over the triggers. */
static double work_sum(const struct fl_record *record, const char *what, const char *actor)
{
	char start[64];
	double sum = 0;

	snprintf(start, sizeof(start), "work_%s_%s%s", what, actor ? actor : "", actor ? "_" : "");
	for (size_t i = 0; i < record->samples_count; i++)
		if (!strcmp(record->samples[i].phase, "all") && !strncmp(record->samples[i].name, start, strlen(start)))
			sum += record->samples[i].value;
	return sum;
}

/* No work is without an account, and none has two. */
static void work_agrees_with_vmstat(const struct fl_record *r)
{
	double stalls = value_of(r, "allocstall_dma32", "all") + value_of(r, "allocstall_normal", "all") +
			value_of(r, "allocstall_movable", "all");

	assert_true(value_of(r, "compact_migrate_scanned", "all") > 0 && value_of(r, "pgscan_kswapd", "all") > 0);
	assert_true(work_sum(r, "migrate_scanned", NULL) == value_of(r, "compact_migrate_scanned", "all"));
	assert_true(work_sum(r, "free_scanned", NULL) == value_of(r, "compact_free_scanned", "all"));
	assert_true(work_sum(r, "migrate_scanned", "kcompactd") == value_of(r, "compact_daemon_migrate_scanned", "all"));
	assert_true(work_sum(r, "free_scanned", "kcompactd") == value_of(r, "compact_daemon_free_scanned", "all"));
	assert_true(work_sum(r, "migrated", NULL) == value_of(r, "pgmigrate_success", "all"));
	assert_true(work_sum(r, "reclaim_scanned", NULL) == value_of(r, "pgscan_kswapd", "all") +
		    value_of(r, "pgscan_direct", "all") + value_of(r, "pgrefill", "all"));
	assert_true(work_sum(r, "reclaimed", "kswapd") == value_of(r, "pgsteal_kswapd", "all"));
	assert_true(work_sum(r, "reclaimed", "direct") == value_of(r, "pgsteal_direct", "all"));
	assert_true(work_sum(r, "stalls", NULL) == value_of(r, "compact_stall", "all") + stalls);
	assert_true(work_sum(r, "cpu_ns", "direct") > 0 && work_sum(r, "cpu_ns", "kswapd") > 0);
	assert_true(work_sum(r, "cpu_ns", NULL) < 1e7 * value_of(r, "cpu_system_pct", "all") *
		    value_of(r, "elapsed_s", "all") * 16);
}

static void test_thpchallenge_measures_the_disk_the_faults_and_the_reserve(void **state)
{
	struct fl_record base = record_of(2, "7.3"), patched = record_of(2, "7.3+no-thp-min-free");

	/* four readers, 173 us for each page that is not cached, and on so small a machine soon whole sets are */
	assert_true(value_of(&base, "read_gib_s", "all") > 0.09 && value_of(&base, "read_gib_s", "all") < 1.5);
	/* as long as 768 MiB take to write at 260 MB/s, less what may stay dirty, and the faults; 5 s until the readers are gone */
	assert_true(value_of(&base, "elapsed_s", "all") > 7 && value_of(&base, "elapsed_s", "all") < 10);
	assert_true(value_of(&base, "cpu_busy_pct", "all") > 99);
	assert_true(value_of(&base, "faults", "t1") == 102 && value_of(&base, "faults", "t2") == 102);
	assert_true(value_of(&base, "faults", "all") == 204);
	assert_true(value_of(&base, "fault_latency_us", "t1") > 190);
	assert_true(value_of(&base, "kswapd_scanned", "all") > value_of(&patched, "kswapd_scanned", "all") / 2);
	assert_true(base.state_hash != patched.state_hash);
	work_agrees_with_vmstat(&base);
	work_agrees_with_vmstat(&patched);
	fl_record_fini(&base);
	fl_record_fini(&patched);
}

/* 16 ranges are 2 wake-ups. */
static void test_hot2_is_huge_two_wake_ups_earlier_with_both_patches_and_with_none_alone(void **state)
{
	static const char *const kernels[] = { "6.12", "6.12+lazyfree-skip", "6.12+khugepaged-progress",
					       "6.12+lazyfree-skip+khugepaged-progress", "7.3", "7.3~lazyfree-skip" };
	struct fl_record record[6];

	for (int i = 0; i < 6; i++) {
		bool both = i == 3 || i == 4;

		record[i] = record_of(6, kernels[i]);
		assert_true(value_of(&record[i], "huge_after_s", "hot1") < 12);
		assert_true(value_of(&record[i], "huge_after_s", "hot2") > (both ? 25 : 45));
		assert_true(value_of(&record[i], "huge_after_s", "hot2") < (both ? 32 : 52));
		assert_true(value_of(&record[i], "dtlb_load_misses", "hot1") < 100);
		assert_true(value_of(&record[i], "dtlb_load_misses", "hot2") == (both ? 16 : 20 * 8192));
		assert_true(value_of(&record[i], "cold_huge_ranges", "cold") == 0);
		assert_true(value_of(&record[i], "cold_dropped_mb", "cold") == 32);
	}
	assert_true(value_of(&record[3], "access_s", "hot2") < value_of(&record[0], "access_s", "hot2"));
	assert_true(value_of(&record[3], "throughput_mps", "hot2") > value_of(&record[0], "throughput_mps", "hot2"));
	for (int i = 0; i < 6; i++)
		fl_record_fini(&record[i]);
}

static void test_thpchallenge_refuses_what_is_no_list_of_threads(void **state)
{
	static const char *const wrong[] = { "threads=", "threads=1,,2", "threads=0", "threads=1,x", "threads=257" };

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct small small = { "thpchallenge", 512, { wrong[i] } };
		struct fl_record record;
		struct fl_error error = { 0 };

		fl_record_init(&record);
		assert_int_not_equal(run_small(&small, "7.3", 1, &record, &error), 0);
		assert_non_null(strstr(error.text, "list of numbers from 1 to 256"));
		fl_record_fini(&record);
	}
}

static void test_type_pressure_pollutes_movable_blocks_without_the_patches_only(void **state)
{
	static const struct small small = { "type-pressure", 4096, { "rounds=2", "rest=100ms" } };
	struct fl_record base = record_of_small(&small, "7.3"), patched = record_of_small(&small, "7.3+mobility");

	assert_true(value_of(&base, "rounds_counted", "all") == 2 && value_of(&patched, "rounds_counted", "all") == 2);
	assert_true(value_of(&base, "polluted_pageblocks", "base") == 0);
	assert_true(value_of(&base, "polluted_pageblocks", "r2") >= 10);
	assert_true(10 * value_of(&patched, "polluted_pageblocks", "r2") <= value_of(&base, "polluted_pageblocks", "r2"));
	assert_true(value_of(&patched, "unmovable_pageblocks", "r2") <= value_of(&base, "unmovable_pageblocks", "r2"));
	assert_true(value_of(&patched, "unmovable_pages", "r2") > 0.9 * value_of(&base, "unmovable_pages", "r2"));
	assert_true(value_of(&patched, "unmovable_pages", "r2") < 1.1 * value_of(&base, "unmovable_pages", "r2"));
	fl_record_fini(&base);
	fl_record_fini(&patched);
}

static void test_type_pressure_shows_rounds_that_died(void **state)
{
	/* A drain that neither memory nor swap can hold. */
	static const struct small small = { "type-pressure", 1024, { "rounds=2", "rest=100ms", "drain=40G" } };
	struct fl_record record = record_of_small(&small, "7.3");

	assert_true(value_of(&record, "rounds_died", "all") >= 1);
	assert_true(value_of(&record, "rounds_counted", "all") + value_of(&record, "rounds_died", "all") == 2);
	assert_true(value_of(&record, "thp_success_pct", "r1") == -1);
	fl_record_fini(&record);
}

static void test_steal_census_counts_steals_without_the_patch_only(void **state)
{
	struct fl_record base = record_of(5, "7.3"), patched = record_of(5, "7.3+mobility-steal");

	assert_true(value_of(&base, "nonmovable_steals", "end") > 0);
	assert_true(value_of(&patched, "nonmovable_steals", "end") == 0);
	fl_record_fini(&base);
	fl_record_fini(&patched);
}

/* Under memory pressure, where kernels differ in everything else. */
static void test_two_kernels_see_the_same_load(void **state)
{
	static const char text[] = HEAD
		"local function work(n) local m = map(64 * MiB) local sum = 0\n"
		"for i = 1, 20 do sum = sum * 31 % 1000003 + uniform(1, 1000) + lognormal(100, 50) + zipf(50)\n"
		"touch(m, { random = true, length = 16 * MiB }) discard(m, 1000) sleep(uniform(1, 1000000)) end\n"
		"results[n] = sum end\n"
		"results = {}\n"
		"function main() for i = 1, 6 do process('w', i, work, i) end wait()\n"
		"for i = 1, 6 do print(i, results[i]) end end";
	static const char *const kernels[] = { "7.3", "6.12", "7.3+mobility" };
	struct fl_record record[3];
	struct fl_error error = { 0 };

	for (int i = 0; i < 3; i++) {
		struct fl_scenario *s;

		fl_record_init(&record[i]);
		assert_int_equal(load_text(text, &s, &error), 0);
		if (fl_scenario_run(&(struct fl_scenario_request){ .scenario = s, .kernel = kernels[i], .seed = 5,
				    .memory_bytes = 512 << 20 }, &record[i], &error))
			fail_msg("%s", error.text);
		fl_scenario_free(s);
		assert_true(strlen(record[i].log.data) > 40);
		assert_string_equal(record[0].log.data, record[i].log.data);
	}
	assert_true(record[0].state_hash != record[1].state_hash); /* they are different kernels */
	for (int i = 0; i < 3; i++)
		fl_record_fini(&record[i]);
}

static void test_kernel_build_counts_faults_by_size_from_round_0_on(void **state)
{
	struct fl_record record = record_of(3, "7.3");

	assert_true(value_of(&record, "anon_fault_alloc_16kB", "before") == 0);
	assert_true(value_of(&record, "anon_fault_alloc_16kB", "round0") > 20 * 500);
	assert_true(value_of(&record, "fallback_pct", "round1") >= 0);
	assert_true(value_of(&record, "thp_probe_success_pct", "round1") > 0);
	assert_true(value_of(&record, "work_migrate_scanned_kcompactd_sysctl", "round0") > 0);
	fl_record_fini(&record);
}

/* The build touches the same memory under every kernel; the set compacts less, as the score of order 2 is low. */
static void test_kernel_build_is_the_same_load_with_the_mthp_set_which_compacts_less(void **state)
{
	struct fl_record base = record_of(3, "7.3"), set = record_of(3, "7.3+mthp");

	assert_true(value_of(&base, "anon_fault_alloc_16kB", "round1") + value_of(&base, "anon_fault_fallback_16kB", "round1") >=
		    20 * 500);
	assert_true(value_of(&set, "compact_daemon_migrate_scanned", "round0") <
		    value_of(&base, "compact_daemon_migrate_scanned", "round0") / 2);
	fl_record_fini(&base);
	fl_record_fini(&set);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_twenty_fresh_processes_run_alike),
		cmocka_unit_test(test_guard_pages_gap_is_zero_with_the_patch_and_grows_without),
		cmocka_unit_test(test_guard_pages_counts_by_type_drift_unless_merges_move_them),
		cmocka_unit_test(test_fault_storm_finds_huge_pages_on_the_empty_machine_only),
		cmocka_unit_test(test_thpchallenge_measures_the_disk_the_faults_and_the_reserve),
		cmocka_unit_test(test_hot2_is_huge_two_wake_ups_earlier_with_both_patches_and_with_none_alone),
		cmocka_unit_test(test_thpchallenge_refuses_what_is_no_list_of_threads),
		cmocka_unit_test(test_type_pressure_pollutes_movable_blocks_without_the_patches_only),
		cmocka_unit_test(test_type_pressure_shows_rounds_that_died),
		cmocka_unit_test(test_steal_census_counts_steals_without_the_patch_only),
		cmocka_unit_test(test_two_kernels_see_the_same_load),
		cmocka_unit_test(test_kernel_build_counts_faults_by_size_from_round_0_on),
		cmocka_unit_test(test_kernel_build_is_the_same_load_with_the_mthp_set_which_compacts_less),
	};

	if (argc == 3)
		return print_run((size_t)atoi(argv[2]));
	return cmocka_run_group_tests(tests, make_path, remove_path);
}
