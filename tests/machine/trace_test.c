/*
 * tests/machine/trace_test.c - events as text of ftrace, and gfp flags by the kernel's names.
 */
#include "machine/trace.h"
#include "support.h"

static void expect(const struct fl_trace_event *event, const char *line)
{
	struct fl_text text;

	fl_text_init(&text);
	fl_trace_format(event, 9, &text);
	assert_string_equal(text.data, line);
	fl_text_fini(&text);
}

static void test_fields_as_the_kernel_prints_them(void **state)
{
	expect(&(struct fl_trace_event){ 1234567890, FL_TRACE_mm_page_alloc, 2, 77, "worker",
					 { 0x1a2b, 9, 1, FL_GFP_TRANSHUGE } },
	       "          worker-77      [002] .....     1.234567: mm_page_alloc: pfn=0x1a2b order=9 migratetype=1 "
	       "gfp_flags=GFP_TRANSHUGE");
	expect(&(struct fl_trace_event){ 0, FL_TRACE_mm_page_alloc_extfrag, 0, 1, "a", { 0x200, 0, 8, 0, 1, 1 } },
	       "               a-1       [000] .....     0.000000: mm_page_alloc_extfrag: pfn=0x200 alloc_order=0 "
	       "fallback_order=8 pageblock_order=9 alloc_migratetype=0 fallback_migratetype=1 fragmenting=1 "
	       "change_ownership=1");
	expect(&(struct fl_trace_event){ 0, FL_TRACE_mm_compaction_deferred, 0, 1, "a", { 2, 9, 8, 3, 2 } },
	       "               a-1       [000] .....     0.000000: mm_compaction_deferred: node=0 zone=Normal   order=9 "
	       "order_failed=8 consider=3 limit=4");
	expect(&(struct fl_trace_event){ 0, FL_TRACE_mm_page_alloc, 0, 1, "a", { FL_PFN_NONE, 0, 0, 0 } },
	       "               a-1       [000] .....     0.000000: mm_page_alloc: pfn=0x0 order=0 migratetype=0 gfp_flags=none");
}

static void test_every_event_has_a_format(void **state)
{
	for (unsigned int id = 0; id < FL_TRACE_COUNT; id++) {
		struct fl_text text;

		fl_text_init(&text);
		fl_trace_format(&(struct fl_trace_event){ .id = (enum fl_trace_id)id, .task_name = "t" }, 9, &text);
		assert_non_null(strchr(strstr(text.data, fl_trace_name((enum fl_trace_id)id)), '='));
		fl_text_fini(&text);
	}
}

static void gfp(fl_gfp flags, const char *names)
{
	struct fl_text text;

	fl_text_init(&text);
	fl_trace_gfp(flags, &text);
	assert_string_equal(text.data, names);
	fl_text_fini(&text);
}

static void test_gfp_flags_by_name(void **state)
{
	gfp(FL_GFP_HIGHUSER_MOVABLE, "GFP_HIGHUSER_MOVABLE");
	gfp(FL_GFP_KERNEL | FL_GFP_ACCOUNT | FL_GFP_ZERO, "GFP_KERNEL_ACCOUNT|__GFP_ZERO");
	gfp(FL_GFP_ATOMIC, "GFP_ATOMIC");
	gfp(FL_GFP_KERNEL | FL_GFP_RECLAIMABLE_BIT, "GFP_KERNEL|__GFP_RECLAIMABLE");
}

static void test_a_run_writes_its_events(void **state)
{
	static const struct fl_op ops[] = { { FL_VERB_MAP, .length = MIB }, { FL_VERB_TOUCH, .handle = -1 } };
	struct list list = LIST(ops);
	struct fl_record record;
	char *text = NULL;
	size_t length = 0;
	FILE *file = open_memstream(&text, &length);

	run_well((struct run_wish){ .trace = file }, &list, &record);
	fclose(file);
	assert_non_null(strstr(text, "# tracer: nop"));
	assert_non_null(strstr(text, "main-"));
	assert_non_null(strstr(text, ": mm_page_alloc: pfn=0x"));
	assert_non_null(strstr(text, "gfp_flags=GFP_HIGHUSER_MOVABLE"));
	free(text);
	fl_record_fini(&record);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fields_as_the_kernel_prints_them),
		cmocka_unit_test(test_every_event_has_a_format),
		cmocka_unit_test(test_gfp_flags_by_name),
		cmocka_unit_test(test_a_run_writes_its_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
