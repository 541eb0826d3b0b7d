/* tests/machine/tlb_test.c - the TLB model by rule. */
#include "support.h"

#include "machine/tlb.h"

static struct fl_tlb tlb;

/* Walks of a pass over `pages` pages, the first ones mapped huge. */
static unsigned int walks(uint32_t pages, uint32_t huge_pages, unsigned int order)
{
	unsigned int n = 0;

	for (uint32_t vpn = 0; vpn < pages; vpn++)
		n += fl_tlb_access(&tlb, vpn, vpn < huge_pages ? 9 : order, 9, vpn < huge_pages) == FL_TLB_WALK;
	return n;
}

static void test_what_fits_the_second_level_walks_once(void **state)
{
	(void)state;
	fl_tlb_init(&tlb, fl_tlb_cpu_find("skylake"));
	assert_int_equal(walks(1536, 0, 0), 1536);
	assert_int_equal(walks(1536, 0, 0), 0);
}

static void test_a_cycle_larger_than_the_tlb_always_walks(void **state)
{
	(void)state;
	fl_tlb_init(&tlb, fl_tlb_cpu_find("skylake"));
	walks(32768, 0, 0);
	assert_int_equal(walks(32768, 0, 0), 32768);
}

static void test_huge_entries_walk_once_a_range_and_share_the_second_level(void **state)
{
	(void)state;
	fl_tlb_init(&tlb, fl_tlb_cpu_find("skylake"));
	assert_int_equal(walks(32768, 32768, 0), 64);
	assert_int_equal(walks(32768, 32768, 0), 0);
	walks(32768, 0, 0); /* base pages push the huge entries out */
	assert_int_equal(walks(512, 512, 0), 1);
}

static void test_a_huge_mapping_has_other_entries_than_its_base_pages(void **state)
{
	(void)state;
	fl_tlb_init(&tlb, fl_tlb_cpu_find("icelake"));
	assert_int_equal(fl_tlb_access(&tlb, 0, 0, 9, false), FL_TLB_WALK);
	assert_int_equal(fl_tlb_access(&tlb, 0, 9, 9, true), FL_TLB_WALK);
	assert_int_equal(fl_tlb_access(&tlb, 511, 9, 9, true), FL_TLB_L1);
}

static void test_runs_of_a_folio_share_an_entry_where_the_cpu_coalesces(void **state)
{
	(void)state;
	fl_tlb_init(&tlb, fl_tlb_cpu_find("zen3"));
	assert_int_equal(walks(64, 0, 1), 64); /* order 1 is too small */
	fl_tlb_init(&tlb, fl_tlb_cpu_find("zen3"));
	assert_int_equal(walks(64, 0, 4), 16);
	fl_tlb_init(&tlb, fl_tlb_cpu_find("skylake"));
	assert_int_equal(walks(64, 0, 4), 64);
}

static void test_the_least_recent_entry_of_a_set_goes(void **state)
{
	(void)state;
	fl_tlb_init(&tlb, fl_tlb_cpu_find("skylake"));
	for (uint32_t i = 0; i < 5; i++) /* one set of the first level: 16 sets, 4 ways */
		fl_tlb_access(&tlb, i * 16, 0, 9, false);
	assert_int_equal(fl_tlb_access(&tlb, 4 * 16, 0, 9, false), FL_TLB_L1);
	assert_int_equal(fl_tlb_access(&tlb, 0, 0, 9, false), FL_TLB_L2);
}

static void test_every_cpu_fits_the_arrays_and_says_its_source(void **state)
{
	(void)state;
	for (unsigned int i = 0; fl_tlb_cpu_at(i); i++) {
		const struct fl_tlb_cpu *cpu = fl_tlb_cpu_at(i);

		assert_true(strlen(cpu->source) > 10);
		assert_int_equal(cpu->l1_base.entries % cpu->l1_base.ways, 0);
		assert_int_equal(cpu->l2_base.entries % cpu->l2_base.ways, 0);
		assert_true(cpu->l2_base.entries <= FL_TLB_ENTRIES_MAX);
	}
	assert_null(fl_tlb_cpu_find("abacus"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_fits_the_second_level_walks_once),
		cmocka_unit_test(test_a_cycle_larger_than_the_tlb_always_walks),
		cmocka_unit_test(test_huge_entries_walk_once_a_range_and_share_the_second_level),
		cmocka_unit_test(test_a_huge_mapping_has_other_entries_than_its_base_pages),
		cmocka_unit_test(test_runs_of_a_folio_share_an_entry_where_the_cpu_coalesces),
		cmocka_unit_test(test_the_least_recent_entry_of_a_set_goes),
		cmocka_unit_test(test_every_cpu_fits_the_arrays_and_says_its_source),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
