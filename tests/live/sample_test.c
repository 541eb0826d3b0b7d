/* Samples from files laid out like a host's. */
#include "root.h"

#include "base/record.h"
#include "live/sample.h"
#include "mm/vmstat.h"

static void put_vmstat(unsigned int faults, unsigned int free_pages)
{
	char text[256];

	snprintf(text, sizeof(text), "nr_free_pages %u\nnr_dirtied %u\npgfault %u\nthp_fault_alloc 3\noom_kill 0\n", free_pages, faults / 2,
		 faults);
	put("proc/vmstat", text);
}

static double value_of(const struct fl_record *record, const char *name, const char *phase)
{
	const struct fl_sample *sample = fl_record_find(record, name, phase);

	assert_non_null(sample);
	assert_true(sample->valid);
	return sample->value;
}

static void put_host(void)
{
	put_vmstat(1000, 500);
	put("proc/stat", "cpu  100 10 50 999 0 5 1 0 0 0\n");
	put("sys/kernel/mm/transparent_hugepage/hugepages-64kB/stats/anon_fault_alloc", "7\n");
	put("sys/kernel/mm/transparent_hugepage/hugepages-64kB/stats/nr_anon", "4\n");
	put("proc/sys/vm/min_free_kbytes", "67584\n");
	put("proc/buddyinfo", "Node 0, zone   Normal      4      2      1      0      0      0      0      0      0      0      1 \n");
}

static void test_counters_are_differences_and_levels_are_not(void **state)
{
	struct fl_live_sampler sampler = { .root = root };
	struct fl_record record;

	put_host();
	fl_record_init(&record);
	fl_live_sampler_measure(&sampler);
	put_vmstat(1500, 400);
	put("sys/kernel/mm/transparent_hugepage/hugepages-64kB/stats/anon_fault_alloc", "9\n");
	fl_live_sampler_sample(&sampler, "a", false, &record);
	put_vmstat(1600, 300);
	fl_live_sampler_sample(&sampler, "b", false, &record);
	fl_live_sampler_sample(&sampler, "end", false, &record);
	assert_true(value_of(&record, "pgfault", "a") == 500);
	assert_true(value_of(&record, "pgfault", "b") == 100);
	assert_true(value_of(&record, "pgfault", "end") == 600);
	assert_true(value_of(&record, "nr_dirtied", "a") == 250);
	assert_true(value_of(&record, "nr_free_pages", "b") == 300);
	assert_true(value_of(&record, "anon_fault_alloc_64kB", "a") == 2);
	assert_true(value_of(&record, "anon_fault_alloc_64kB", "b") == 0);
	assert_true(value_of(&record, "nr_anon_64kB", "b") == 4);
	assert_true(value_of(&record, "min_free_kbytes", "a") == 67584);
	fl_live_sampler_fini(&sampler);
	fl_record_fini(&record);
}

static void test_long_samples_count_since_the_last_long_one(void **state)
{
	struct fl_live_sampler sampler = { .root = root };
	struct fl_record record;

	put_host();
	fl_record_init(&record);
	fl_live_sampler_measure(&sampler);
	put_vmstat(1100, 1);
	fl_live_sampler_sample(&sampler, "a", false, &record);
	put_vmstat(1300, 1);
	fl_live_sampler_sample(&sampler, "long1", true, &record);
	put_vmstat(1400, 1);
	fl_live_sampler_sample(&sampler, "long2", true, &record);
	assert_true(value_of(&record, "pgfault", "long1") == 300);
	assert_true(value_of(&record, "pgfault", "long2") == 100);
	fl_live_sampler_fini(&sampler);
	fl_record_fini(&record);
}

static void test_faults_belong_to_the_samples_that_cover_them(void **state)
{
	struct fl_live_sampler sampler = { .root = root };
	struct fl_live_latency two = { 0 };
	struct fl_record record;

	put_host();
	fl_record_init(&record);
	fl_live_sampler_measure(&sampler);
	two.counts[fl_live_latency_bucket(1000)] = 2;
	fl_live_latency_keep(&two, 2);
	fl_live_sampler_faults(&sampler, &two);
	fl_live_sampler_sample(&sampler, "a", false, &record);
	fl_live_sampler_sample(&sampler, "b", false, &record);
	fl_live_sampler_sample(&sampler, "end", false, &record);
	assert_true(value_of(&record, "fault_latency_us", "a") > 0.9 && value_of(&record, "fault_latency_us", "a") < 1.1);
	assert_false(fl_record_find(&record, "fault_latency_us", "b")->valid);
	assert_true(value_of(&record, "fault_latency_p50_us", "end") > 0.9);
	fl_live_sampler_fini(&sampler);
	fl_record_fini(&record);
}

static void test_counters_are_found_by_name(void **state)
{
	put_host();
	assert_int_equal(fl_live_sampler_counter(root, "pgfault"), 1000);
	assert_int_equal(fl_live_sampler_counter(root, "anon_fault_alloc_64kB"), 7);
	assert_int_equal(fl_live_sampler_counter(root, "cpu_user_ns"), 1100000000);
	assert_int_equal(fl_live_sampler_counter(root, "cpu_system_ns"), 560000000);
	assert_int_equal(fl_live_sampler_counter(root, "no_such"), -1);
}

static void test_free_chunks_come_by_order(void **state)
{
	struct fl_live_sampler sampler = { .root = root };
	struct fl_record record;

	put_host();
	put("proc/zoneinfo", "Node 0, zone   Normal\n  pages free     1032\n        min      10\n        low      12\n        high     14\n"
			     "        spanned  4096\n        present  4096\n        managed  4000\n  start_pfn:           4096\n");
	fl_record_init(&record);
	fl_live_sampler_measure(&sampler);
	fl_live_sampler_sample(&sampler, "a", false, &record);
	assert_true(value_of(&record, "nr_free_normal_o0", "a") == 4);
	assert_true(value_of(&record, "nr_free_normal_o10", "a") == 1);
	assert_true(value_of(&record, "nr_free_pages_normal", "a") == 1032);
	assert_true(value_of(&record, "free_count_gap", "a") == 4 + 4 + 4 + 1024 - 1032);
	fl_live_sampler_fini(&sampler);
	fl_record_fini(&record);
}

static void test_values_by_name_are_found_at_and_beside_the_hint(void **state)
{
	struct fl_live_counts counts = { 0 }, copy = { 0 };

	fl_live_counts_add(&counts, "a", 1);
	fl_live_counts_addf(&counts, 2, "b_%d", 7);
	assert_int_equal(fl_live_counts_get(&counts, "b_7", 1, 99), 2);
	assert_int_equal(fl_live_counts_get(&counts, "b_7", 0, 99), 2);
	assert_int_equal(fl_live_counts_get(&counts, "c", 5, 99), 99);
	fl_live_counts_copy(&copy, &counts);
	fl_live_counts_copy(&copy, &counts);
	assert_int_equal(copy.count, 2);
	fl_live_counts_fini(&counts);
	fl_live_counts_fini(&copy);
}

static void expect_name(const struct fl_record *record, const char *name)
{
	if (!fl_record_find(record, name, "a"))
		fail_msg("no sample has the name %s, which the model's have", name);
}

static void test_names_that_no_live_kernel_has_are_there_without_a_value(void **state)
{
	struct fl_live_counts counted = { 0 };
	struct fl_record record;
	char name[96];

	fl_live_counts_add(&counted, "anon_fault_alloc_64kB", 3);
	fl_record_init(&record);
	fl_live_add_unmeasured(&record, "a", &counted, 4, 9);
	assert_null(fl_record_find(&record, "anon_fault_alloc_64kB", "a"));
	fl_record_add(&record, "anon_fault_alloc_64kB", "a", 3);
	for (unsigned int what = 0; what < FL_WORK_COUNT; what++)
		for (unsigned int actor = 0; actor < FL_ACTORS; actor++)
			for (unsigned int trigger = 0; trigger < FL_TRIGGERS; trigger++) {
				snprintf(name, sizeof(name), "work_%s_%s_%s", fl_work_name(what), fl_actor_name(actor),
					 fl_trigger_name(trigger));
				expect_name(&record, name);
				assert_false(fl_record_find(&record, name, "a")->valid);
			}
	for (unsigned int order = 1; order <= 9; order++)
		for (unsigned int i = 0; i < FL_MTHP_COUNT; i++) {
			snprintf(name, sizeof(name), "%s_%ukB", fl_mthp_stat_name(i), 4u << order);
			expect_name(&record, name);
		}
	fl_record_fini(&record);
	fl_live_counts_fini(&counted);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counters_are_differences_and_levels_are_not),
		cmocka_unit_test(test_long_samples_count_since_the_last_long_one),
		cmocka_unit_test(test_faults_belong_to_the_samples_that_cover_them),
		cmocka_unit_test(test_counters_are_found_by_name),
		cmocka_unit_test(test_free_chunks_come_by_order),
		cmocka_unit_test(test_names_that_no_live_kernel_has_are_there_without_a_value),
		cmocka_unit_test(test_values_by_name_are_found_at_and_beside_the_hint),
	};

	return cmocka_run_group_tests(tests, make_root, remove_root);
}
