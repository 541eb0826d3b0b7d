/* The budget of a load, and where its cgroup would be. */
#include "root.h"

#include "base/error.h"
#include "live/budget.h"
#include "live/conduct.h"

#define MIB (UINT64_C(1) << 20)

static void put_meminfo(uint64_t total_mib, uint64_t available_mib)
{
	char text[256];

	snprintf(text, sizeof(text), "MemTotal: %llu kB\nMemFree: 1024 kB\nMemAvailable: %llu kB\nSwapTotal: 2048 kB\n",
		 (unsigned long long)total_mib * 1024, (unsigned long long)available_mib * 1024);
	put("proc/meminfo", text);
}

static void test_a_quarter_of_the_available_memory_is_the_default(void **state)
{
	struct fl_live_budget b;

	put_meminfo(16384, 10000);
	assert_int_equal(fl_live_budget_make(root, 0, false, &b, NULL), 0);
	assert_int_equal(b.scale, 2500 * MIB);
	assert_int_equal(b.limit, 2500 * MIB + 625 * MIB + 128 * MIB);
	assert_int_equal(b.total, 16384 * MIB);
	assert_int_equal(b.swap, 2 * MIB);
}

static void test_more_than_three_quarters_needs_force(void **state)
{
	struct fl_live_budget b;
	struct fl_error error;

	put_meminfo(16384, 10000);
	assert_int_equal(fl_live_budget_make(root, 7500 * MIB, false, &b, NULL), 0);
	assert_true(fl_live_budget_make(root, 7501 * MIB, false, &b, &error) < 0);
	assert_int_equal(error.class, FL_ERROR_INPUT);
	assert_non_null(strstr(error.text, "--force"));
	assert_int_equal(fl_live_budget_make(root, 7501 * MIB, true, &b, NULL), 0);
}

static void test_a_load_below_16_mib_is_refused(void **state)
{
	struct fl_live_budget b;
	struct fl_error error;

	put_meminfo(16384, 10000);
	assert_true(fl_live_budget_make(root, 15 * MIB, false, &b, &error) < 0);
	assert_int_equal(error.class, FL_ERROR_INPUT);
}

static void test_without_meminfo_the_host_lacks_something(void **state)
{
	struct fl_live_budget b;
	struct fl_error error;

	put("proc/meminfo", "MemTotal: 5 kB\n");
	assert_true(fl_live_budget_make(root, 0, false, &b, &error) < 0);
	assert_int_equal(error.class, FL_ERROR_LACKING);
}

static void test_low_marks_follow_the_size_of_the_host_within_bounds(void **state)
{
	struct fl_live_budget b;

	put_meminfo(512, 400);
	fl_live_budget_make(root, 0, false, &b, NULL);
	assert_int_equal(b.low, 48 * MIB);
	put_meminfo(8192, 7000);
	fl_live_budget_make(root, 0, false, &b, NULL);
	assert_int_equal(b.low, 256 * MIB);
	assert_int_equal(b.critical, 128 * MIB);
	put_meminfo(1024 * 1024, 900000);
	fl_live_budget_make(root, 0, false, &b, NULL);
	assert_int_equal(b.low, 512 * MIB);
}

static void test_ballast_leaves_the_load_and_one_and_a_half_low_marks(void **state)
{
	struct fl_live_budget b = { .available = 4096 * MIB, .scale = 1024 * MIB, .low = 128 * MIB };

	assert_int_equal(fl_live_ballast_bytes(&b), 2880 * MIB);
	b.available = 1200 * MIB;
	assert_int_equal(fl_live_ballast_bytes(&b), 0);
}

static void test_stalls_are_the_total_of_the_full_line(void **state)
{
	put("proc/pressure/memory", "some avg10=0.00 avg60=0.00 avg300=0.00 total=77\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=42\n");
	assert_int_equal(fl_live_stalled_ns(root), 42000);
	put("proc/pressure/memory", "");
	assert_int_equal(fl_live_stalled_ns(root), 0);
}

static void test_a_cgroup_is_made_below_our_own_of_version_1(void **state)
{
	struct fl_live_group group;
	char why[256], expected[256];

	put("proc/self/mounts", "none /cg1 cgroup rw,memory 0 0\nnone /cg2 cgroup2 rw 0 0\n");
	put("proc/self/cgroup", "4:memory:/mine\n0::/\n");
	put("cg1/mine/cgroup.procs", "");
	fl_live_group_find(root, &group, why);
	snprintf(expected, sizeof(expected), "%s/cg1/mine", root);
	assert_int_equal(group.version, 1);
	assert_string_equal(group.path, expected);
}

static void test_version_2_must_hand_the_memory_controller_on(void **state)
{
	struct fl_live_group group;
	char why[256], expected[256];

	put("proc/self/mounts", "none /v2 cgroup2 rw 0 0\n");
	put("proc/self/cgroup", "0::/mine\n");
	put("v2/cgroup.subtree_control", "cpu\n");
	put("v2/mine/cgroup.subtree_control", "\n");
	fl_live_group_find(root, &group, why);
	assert_int_equal(group.version, 0);
	assert_non_null(strstr(why, "memory"));
	put("v2/cgroup.subtree_control", "cpu memory\n");
	fl_live_group_find(root, &group, why);
	snprintf(expected, sizeof(expected), "%s/v2", root);
	assert_int_equal(group.version, 2);
	assert_string_equal(group.path, expected);
}

static void test_a_cgroup_gets_its_limit_or_is_none(void **state)
{
	struct fl_live_group group = { .version = 2 };
	char why[256], text[64], limit[512];
	FILE *file;

	snprintf(group.path, sizeof(group.path), "%s", root);
	put("fraglab-live-1/memory.max", "");
	fl_live_group_make(&group, "fraglab-live-1", 12345, why);
	assert_int_equal(group.version, 2);
	snprintf(limit, sizeof(limit), "%s/fraglab-live-1/memory.max", root);
	file = fopen(limit, "r");
	assert_non_null(fgets(text, sizeof(text), file));
	fclose(file);
	assert_string_equal(text, "12345");
	snprintf(group.path, sizeof(group.path), "%s", root);
	fl_live_group_make(&group, "fraglab-live-2", 12345, why); /* a plain folder has no such file */
	assert_int_equal(group.version, 0);
	assert_string_equal(group.path, "");
	assert_true(strlen(why) > 0);
}

static void test_latency_keeps_the_longest_as_faults(void **state)
{
	struct fl_live_latency l = { 0 };

	l.counts[fl_live_latency_bucket(30)] = 1000;
	l.counts[fl_live_latency_bucket(600)] = 8;
	l.counts[fl_live_latency_bucket(90000)] = 2;
	fl_live_latency_keep(&l, 10);
	assert_int_equal(l.faults, 10);
	assert_int_equal(l.counts[fl_live_latency_bucket(30)], 0);
	assert_true(fl_live_latency_quantile(&l, 1, 2) > 550 && fl_live_latency_quantile(&l, 1, 2) < 650);
	assert_true(fl_live_latency_quantile(&l, 99, 100) > 85000 && fl_live_latency_quantile(&l, 99, 100) < 95000);
	fl_live_latency_keep(&l, 0);
	assert_int_equal(l.faults, 0);
	assert_int_equal(fl_live_latency_quantile(&l, 1, 2), 0);
}

static void test_buckets_of_latency_rise_and_hold_their_values(void **state)
{
	for (uint64_t ns = 16; ns < UINT64_C(1) << 38; ns = ns * 9 / 8 + 1) {
		unsigned int bucket = fl_live_latency_bucket(ns);
		double value = (double)fl_live_latency_value(bucket);

		assert_true(bucket >= fl_live_latency_bucket(ns - 1));
		assert_true(value > (double)ns * 0.87 && value < (double)ns * 1.13);
	}
	assert_int_equal(fl_live_latency_bucket(UINT64_MAX), FL_LIVE_LATENCY_BUCKETS - 1);
	assert_int_equal(fl_live_latency_bucket(0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_quarter_of_the_available_memory_is_the_default),
		cmocka_unit_test(test_more_than_three_quarters_needs_force),
		cmocka_unit_test(test_a_load_below_16_mib_is_refused),
		cmocka_unit_test(test_without_meminfo_the_host_lacks_something),
		cmocka_unit_test(test_low_marks_follow_the_size_of_the_host_within_bounds),
		cmocka_unit_test(test_ballast_leaves_the_load_and_one_and_a_half_low_marks),
		cmocka_unit_test(test_stalls_are_the_total_of_the_full_line),
		cmocka_unit_test(test_a_cgroup_is_made_below_our_own_of_version_1),
		cmocka_unit_test(test_version_2_must_hand_the_memory_controller_on),
		cmocka_unit_test(test_a_cgroup_gets_its_limit_or_is_none),
		cmocka_unit_test(test_latency_keeps_the_longest_as_faults),
		cmocka_unit_test(test_buckets_of_latency_rise_and_hold_their_values),
	};

	return cmocka_run_group_tests(tests, make_root, remove_root);
}
