/* The kernel notation of the live backend, and requests taken apart. */
#include "root.h"

#include <sys/utsname.h>

#include "base/error.h"
#include "base/text.h"
#include "live/live.h"
#include "live/request.h"

static void expect_refused(const char *spec, const char *word)
{
	struct fl_error error = { 0 };
	char *canonical = NULL;

	assert_true(fl_live_kernel_check(spec, &canonical, &error) < 0);
	assert_null(canonical);
	assert_non_null(strstr(error.text, word));
}

static void test_the_kernel_that_runs_is_live_or_its_version(void **state)
{
	struct utsname host;
	char *canonical;

	uname(&host);
	assert_int_equal(fl_live_kernel_check("live", &canonical, NULL), 0);
	assert_string_equal(canonical, "live");
	free(canonical);
	assert_int_equal(fl_live_kernel_check(host.release, &canonical, NULL), 0);
	assert_string_equal(canonical, "live");
	free(canonical);
	host.release[strcspn(host.release, "-+~")] = '\0';
	assert_int_equal(fl_live_kernel_check(host.release, &canonical, NULL), 0);
	free(canonical);
}

static void test_another_version_and_patches_are_refused(void **state)
{
	struct fl_error error = { 0 };
	char *canonical = NULL;

	expect_refused("2.4", "not the kernel that runs");
	expect_refused("livex", "not the kernel that runs");
	expect_refused("", "not the kernel that runs");
	expect_refused("live+mobility", "patches");
	expect_refused("live~guard-accounting", "patches");
	fl_live_kernel_check("live+mobility", &canonical, &error);
	assert_int_equal(error.class, FL_ERROR_INPUT);
}

static void test_settings_behind_the_base_are_checked(void **state)
{
	expect_refused("live,vm.swappiness", "TUNABLE=VALUE");
	expect_refused("live,=3", "TUNABLE=VALUE");
	expect_refused("live,vm.swappiness=", "TUNABLE=VALUE");
	expect_refused("live,kernel.panic=1", "kernel.panic");
	expect_refused("live,vm.no_such_setting=1", "vm.no_such_setting");
}

static void test_settings_of_the_notation_come_after_those_of_the_scenario(void **state)
{
	const struct fl_backend_setting scenario[] = { { "thp.enabled", "always" }, { "disk.queue", "4" } };
	const struct fl_backend_request request = { .kernel = "live,vm.swappiness=10,thp.enabled=never", .settings = scenario,
						    .settings_count = 2 };
	struct fl_live_settings s;

	assert_int_equal(fl_live_settings_of(&request, &s, NULL), 0);
	assert_int_equal(s.count, 4);
	assert_string_equal(s.list[0].name, "thp.enabled");
	assert_true(s.list[0].of_scenario);
	assert_true(s.list[1].is_model_only);
	assert_string_equal(s.list[2].name, "vm.swappiness");
	assert_string_equal(s.list[2].value, "10");
	assert_string_equal(s.list[3].value, "never");
	assert_false(s.list[3].of_scenario);
}

static void test_limits_name_what_a_script_may_use(void **state)
{
	struct fl_backend_request request = { .kernel = "live", .verbs = UINT64_C(1) << FL_VERB_DRAIN };
	struct fl_text text;

	fl_text_init(&text);
	fl_live_say_limits(&request, &text);
	assert_non_null(strstr(text.data, "drain()"));
	assert_non_null(strstr(text.data, "work_*"));
	fl_text_clear(&text);
	request.verbs = 0;
	fl_live_say_limits(&request, &text);
	assert_null(strstr(text.data, "drain()"));
	fl_text_fini(&text);
}

static void test_metrics_that_no_live_kernel_has_are_named(void **state)
{
	assert_non_null(fl_live_lacks_metric("work_migrated_direct_slowpath"));
	assert_non_null(fl_live_lacks_metric("polluted_pageblocks"));
	assert_non_null(fl_live_lacks_metric("type_count_gap"));
	assert_null(fl_live_lacks_metric("polluted_pageblocks_least"));
	assert_null(fl_live_lacks_metric("thp_fault_alloc"));
	assert_null(fl_live_lacks_metric("thp_success_pct"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_kernel_that_runs_is_live_or_its_version),
		cmocka_unit_test(test_another_version_and_patches_are_refused),
		cmocka_unit_test(test_settings_behind_the_base_are_checked),
		cmocka_unit_test(test_settings_of_the_notation_come_after_those_of_the_scenario),
		cmocka_unit_test(test_metrics_that_no_live_kernel_has_are_named),
		cmocka_unit_test(test_limits_name_what_a_script_may_use),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
