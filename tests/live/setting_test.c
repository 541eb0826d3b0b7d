/* Settings by the names of tunables. */
#include "root.h"

#include "base/error.h"
#include "live/setting.h"

#define THP "sys/kernel/mm/transparent_hugepage/"

static void test_tunables_are_files_of_proc_and_sys(void **state)
{
	static const char *const pairs[][2] = {
		{ "vm.swappiness", "proc/sys/vm/swappiness" },
		{ "vm.page-cluster", "proc/sys/vm/page-cluster" },
		{ "thp.enabled", THP "enabled" },
		{ "khugepaged.max_ptes_none", THP "khugepaged/max_ptes_none" },
		{ "hugepages-64kB.enabled", THP "hugepages-64kB/enabled" },
		{ "hugepages-2048kB.shmem_enabled", THP "hugepages-2048kB/shmem_enabled" },
	};
	char path[FL_LIVE_SETTING_PATH_MAX];

	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
		assert_int_equal(fl_live_setting_path(pairs[i][0], path, NULL), 0);
		assert_string_equal(path, pairs[i][1]);
	}
}

static void test_names_that_leave_their_folder_or_are_commands_are_refused(void **state)
{
	static const char *const names[] = { "vm.../x", "vm.", "vm.a/b", "thp./etc/passwd", "kernel.panic", "net.x", "hugepages-64kB.../x",
					     "hugepages-kB.enabled", "vm.compact_memory", "vm.drop_caches", "vm.panic_on_oom",
					     "vm.nr_hugepages", "" };
	char path[FL_LIVE_SETTING_PATH_MAX];
	struct fl_error error;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		assert_true(fl_live_setting_path(names[i], path, &error) < 0);
		assert_int_equal(error.class, FL_ERROR_INPUT);
	}
}

static void test_the_word_in_brackets_is_the_value(void **state)
{
	char value[FL_LIVE_SETTING_VALUE_MAX];

	put(THP "enabled", "always [madvise] never\n");
	put("proc/sys/vm/swappiness", "60\n");
	put("proc/sys/vm/lowmem_reserve_ratio", "256\t256\t32\n");
	assert_int_equal(fl_live_setting_read(root, THP "enabled", value, NULL), 0);
	assert_string_equal(value, "madvise");
	assert_int_equal(fl_live_setting_read(root, "proc/sys/vm/swappiness", value, NULL), 0);
	assert_string_equal(value, "60");
	assert_int_equal(fl_live_setting_read(root, "proc/sys/vm/lowmem_reserve_ratio", value, NULL), 0);
	assert_string_equal(value, "256\t256\t32");
}

static void test_a_value_is_checked_against_what_the_file_offers(void **state)
{
	struct fl_error error;
	bool is_set = true;

	put(THP "defrag", "always defer defer+madvise [madvise] never\n");
	put("proc/sys/vm/swappiness", "60\n");
	assert_int_equal(fl_live_setting_check(root, "thp.defrag", "defer+madvise", &is_set, NULL), 0);
	assert_false(is_set);
	assert_int_equal(fl_live_setting_check(root, "thp.defrag", "madvise", &is_set, NULL), 0);
	assert_true(is_set);
	assert_true(fl_live_setting_check(root, "thp.defrag", "defe", NULL, &error) < 0);
	assert_int_equal(error.class, FL_ERROR_INPUT);
	assert_int_equal(fl_live_setting_check(root, "vm.swappiness", "60", &is_set, NULL), 0);
	assert_true(is_set);
	assert_true(fl_live_setting_check(root, "vm.swappiness", "much", NULL, &error) < 0);
	assert_int_equal(error.class, FL_ERROR_INPUT);
	assert_true(fl_live_setting_check(root, "vm.no_such", "1", NULL, &error) < 0);
	assert_int_equal(error.class, FL_ERROR_LACKING);
	assert_non_null(strstr(error.text, "vm.no_such"));
}

static void test_a_reserve_above_a_twentieth_of_memory_is_refused(void **state)
{
	struct fl_error error;

	put("proc/meminfo", "MemTotal:        2000000 kB\nMemAvailable:    1000000 kB\n");
	put("proc/sys/vm/min_free_kbytes", "5000\n");
	assert_int_equal(fl_live_setting_check(root, "vm.min_free_kbytes", "100000", NULL, NULL), 0);
	assert_true(fl_live_setting_check(root, "vm.min_free_kbytes", "100001", NULL, &error) < 0);
	assert_int_equal(error.class, FL_ERROR_INPUT);
	put("proc/sys/vm/min_free_kbytes", "200000\n"); /* as it is already: nothing is taken */
	assert_int_equal(fl_live_setting_check(root, "vm.min_free_kbytes", "200000", NULL, NULL), 0);
}

static void test_a_write_is_read_back_and_a_missing_file_is_an_error(void **state)
{
	char value[FL_LIVE_SETTING_VALUE_MAX];

	put("proc/sys/vm/swappiness", "60\n");
	assert_int_equal(fl_live_setting_write(root, "proc/sys/vm/swappiness", "10", NULL), 0);
	assert_int_equal(fl_live_setting_read(root, "proc/sys/vm/swappiness", value, NULL), 0);
	assert_string_equal(value, "10");
	assert_true(fl_live_setting_write(root, "proc/sys/vm/other", "10", NULL) < 0);
}

static void test_switches_of_thp_may_move_min_free_kbytes(void **state)
{
	assert_true(fl_live_setting_moves_min_free(THP "enabled"));
	assert_true(fl_live_setting_moves_min_free(THP "hugepages-64kB/enabled"));
	assert_false(fl_live_setting_moves_min_free(THP "defrag"));
	assert_false(fl_live_setting_moves_min_free("proc/sys/vm/swappiness"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_reserve_above_a_twentieth_of_memory_is_refused),
		cmocka_unit_test(test_tunables_are_files_of_proc_and_sys),
		cmocka_unit_test(test_names_that_leave_their_folder_or_are_commands_are_refused),
		cmocka_unit_test(test_the_word_in_brackets_is_the_value),
		cmocka_unit_test(test_a_value_is_checked_against_what_the_file_offers),
		cmocka_unit_test(test_a_write_is_read_back_and_a_missing_file_is_an_error),
		cmocka_unit_test(test_switches_of_thp_may_move_min_free_kbytes),
	};

	return cmocka_run_group_tests(tests, make_root, remove_root);
}
