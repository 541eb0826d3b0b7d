/*
 * tests/cli/fidelity_test.c - bands of `fraglab fidelity`: what is within them, what noise explains, what is summed up.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "cli/fidelity.h"

struct pair {
	struct fl_record real, model;
	struct fl_fidelity_rows rows;
};

static void begin(struct pair *p)
{
	memset(p, 0, sizeof(*p));
	fl_record_init(&p->real);
	fl_record_init(&p->model);
}

static void end(struct pair *p)
{
	fl_record_fini(&p->real);
	fl_record_fini(&p->model);
	fl_fidelity_rows_fini(&p->rows);
}

static void put(struct fl_record *r, const char *name, const char *phase, double value)
{
	fl_record_add(r, name, phase, value)->valid = true;
}

static const struct fl_fidelity_row *row_of(const struct pair *p, const char *name, const char *phase)
{
	for (size_t i = 0; i < p->rows.count; i++)
		if (!strcmp(p->rows.list[i].name, name) && !strcmp(p->rows.list[i].phase, phase))
			return &p->rows.list[i];
	return NULL;
}

/* The verdict on one metric of one scenario. */
static enum fl_fidelity_verdict verdict(const char *scenario, const char *name, const char *phase, double real, double model)
{
	enum fl_fidelity_verdict v;
	struct pair p;

	begin(&p);
	put(&p.real, name, phase, real);
	put(&p.model, name, phase, model);
	fl_fidelity_compare(scenario, &p.real, &p.model, NULL, &p.rows);
	v = p.rows.count == 1 ? p.rows.list[0].verdict : FL_FIDELITY_UNKNOWN;
	end(&p);
	return v;
}

static void test_each_band_ends_where_it_is_declared_to(void **state)
{
	(void)state;
	assert_int_equal(verdict("faults", "anon_fault_alloc_64kB", "clean_64kB", 100, 100), FL_FIDELITY_WITHIN);
	assert_int_equal(verdict("faults", "anon_fault_alloc_64kB", "clean_64kB", 100, 101), FL_FIDELITY_OUTSIDE);
	assert_int_equal(verdict("faults", "own_faults", "clean_64kB", 10000, 10200), FL_FIDELITY_WITHIN);
	assert_int_equal(verdict("faults", "own_faults", "clean_64kB", 10000, 10201), FL_FIDELITY_OUTSIDE);
	assert_int_equal(verdict("probe", "thp_success_pct", "after_manual", 95, 100), FL_FIDELITY_WITHIN);
	assert_int_equal(verdict("probe", "thp_success_pct", "after_manual", 94.9, 100), FL_FIDELITY_OUTSIDE);
	assert_int_equal(verdict("probe", "compact_migrate_scanned", "manual", 100000, 150000), FL_FIDELITY_WITHIN);
	assert_int_equal(verdict("probe", "compact_migrate_scanned", "manual", 150000, 100000), FL_FIDELITY_WITHIN);
	assert_int_equal(verdict("probe", "compact_migrate_scanned", "manual", 100000, 150001), FL_FIDELITY_OUTSIDE);
	assert_int_equal(verdict("probe", "compact_migrate_scanned", "manual", 0, 2048), FL_FIDELITY_WITHIN);
	assert_int_equal(verdict("probe", "compact_migrate_scanned", "manual", 0, 2049), FL_FIDELITY_OUTSIDE);
}

static void test_extfrag_events_are_summed_by_wanted_and_taken_type(void **state)
{
	struct pair p;

	(void)state;
	begin(&p);
	put(&p.real, "extfrag_unmovable_movable_o0_steal", "tables", 40);
	put(&p.real, "extfrag_unmovable_movable_o10_claim", "tables", 60);
	put(&p.real, "extfrag_movable_unmovable_o1_steal", "tables", 7);
	put(&p.model, "extfrag_unmovable_movable_o0_steal", "tables", 130);
	put(&p.model, "extfrag_unmovable_movable_o10_claim", "tables", 30);
	put(&p.model, "extfrag_movable_unmovable_o1_steal", "tables", 57);
	fl_fidelity_compare("unmovable", &p.real, &p.model, NULL, &p.rows);
	assert_int_equal(p.rows.count, 2);
	assert_true(row_of(&p, "extfrag_unmovable_movable", "tables")->real == 100);
	assert_true(row_of(&p, "extfrag_unmovable_movable", "tables")->model == 160);
	assert_int_equal(row_of(&p, "extfrag_unmovable_movable", "tables")->verdict, FL_FIDELITY_OUTSIDE); /* 60 > 50 and 30 % */
	assert_int_equal(row_of(&p, "extfrag_movable_unmovable", "tables")->verdict, FL_FIDELITY_WITHIN); /* 50 apart */
	end(&p);
}

static void test_what_the_host_counts_by_itself_is_noise_and_only_in_one_direction(void **state)
{
	struct fl_fidelity_rate rate = { "pgfault", 1000 };
	struct fl_fidelity_noise noise = { &rate, 1 };
	struct pair p;

	(void)state;
	begin(&p);
	for (int i = 0; i < 3; i++) {
		const char *phase = (const char *[]){ "few", "many", "less" }[i];

		put(&p.real, "real_s", phase, 2);
		put(&p.real, "pgfault", phase, (const double[]){ 5000, 9100, 500 }[i]);
		put(&p.model, "pgfault", phase, (const double[]){ 1000, 5000, 1000 }[i]);
	}
	fl_fidelity_compare("faults", &p.real, &p.model, &noise, &p.rows);
	assert_true(row_of(&p, "pgfault", "few")->noise == 2000);
	assert_int_equal(row_of(&p, "pgfault", "few")->verdict, FL_FIDELITY_NOISE); /* 2 x 2000 explain all of it */
	assert_int_equal(row_of(&p, "pgfault", "many")->verdict, FL_FIDELITY_NOISE); /* 5100 is within 2 % of 5000 */
	assert_int_equal(row_of(&p, "pgfault", "less")->verdict, FL_FIDELITY_OUTSIDE);
	end(&p);
}

static void test_gauges_count_from_the_start_and_the_start_has_no_row(void **state)
{
	struct pair p;

	(void)state;
	begin(&p);
	put(&p.real, "pages_pgtable", "start", 5000);
	put(&p.model, "pages_pgtable", "start", 4000);
	put(&p.real, "pages_pgtable", "tables", 25000);
	put(&p.model, "pages_pgtable", "tables", 24100);
	fl_fidelity_compare("unmovable", &p.real, &p.model, NULL, &p.rows);
	assert_int_equal(p.rows.count, 1);
	assert_true(p.rows.list[0].real == 20000 && p.rows.list[0].model == 20100);
	assert_int_equal(p.rows.list[0].verdict, FL_FIDELITY_WITHIN);
	end(&p);
}

static void test_pageblocks_that_the_host_is_not_sure_of_make_a_range(void **state)
{
	struct pair p;

	(void)state;
	begin(&p);
	for (int i = 0; i < 3; i++) {
		const char *phase = (const char *[]){ "a", "b", "c" }[i];

		put(&p.real, "unmovable_pageblocks", phase, 100);
		put(&p.real, "unsure_pageblocks", phase, 100);
		put(&p.model, "unmovable_pageblocks", phase, (const double[]){ 150, 84, 231 }[i]);
	}
	fl_fidelity_compare("unmovable", &p.real, &p.model, NULL, &p.rows);
	assert_int_equal(row_of(&p, "unmovable_pageblocks", "a")->verdict, FL_FIDELITY_WITHIN);
	assert_int_equal(row_of(&p, "unmovable_pageblocks", "b")->verdict, FL_FIDELITY_OUTSIDE);
	assert_int_equal(row_of(&p, "unmovable_pageblocks", "c")->verdict, FL_FIDELITY_OUTSIDE);
	end(&p);
}

static void test_rows_without_band_or_figures_are_left_out_and_missing_ones_are_named(void **state)
{
	struct pair p;
	struct fl_text text;

	(void)state;
	begin(&p);
	put(&p.real, "nr_mapped", "end", 5);
	put(&p.model, "nr_mapped", "end", 7);
	put(&p.model, "extfrag_unmovable_movable_o0_steal", "end", 0);
	put(&p.model, "extfrag_unmovable_movable_o0_steal", "other", 9);
	fl_fidelity_compare("unmovable", &p.real, &p.model, NULL, &p.rows);
	assert_int_equal(p.rows.count, 1);
	assert_int_equal(p.rows.list[0].verdict, FL_FIDELITY_UNKNOWN);
	fl_fidelity_add_exact("Normal min", 10, 11, &p.rows);
	fl_text_init(&text);
	fl_fidelity_print(&p.rows, false, &text);
	assert_non_null(strstr(text.data, "no figure"));
	assert_non_null(strstr(text.data, "within 0, noise 0, outside 1, no figure 1"));
	fl_text_fini(&text);
	end(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_band_ends_where_it_is_declared_to),
		cmocka_unit_test(test_extfrag_events_are_summed_by_wanted_and_taken_type),
		cmocka_unit_test(test_what_the_host_counts_by_itself_is_noise_and_only_in_one_direction),
		cmocka_unit_test(test_gauges_count_from_the_start_and_the_start_has_no_row),
		cmocka_unit_test(test_pageblocks_that_the_host_is_not_sure_of_make_a_range),
		cmocka_unit_test(test_rows_without_band_or_figures_are_left_out_and_missing_ones_are_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
