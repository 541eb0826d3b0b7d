/*
 * Statistics against R 4.2 (the calls stand beside the figures) and against sums by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "stats/compare.h"

static void assert_near(double a, double b)
{
	if (!(fabs(a - b) <= 1e-12 * fmax(1e-3, fabs(b))))
		fail_msg("%.17g is not %.17g", a, b);
}

/* t.test(b, a, paired = TRUE); wilcox.test(b, a, paired = TRUE) */
static void test_paired_t_and_ranks_equal_those_of_r(void **state)
{
	static const double a[] = { 42, 25, 67, 34.5 }, b[] = { 74.2, 47, 98, 69.9 };
	struct fl_comparison c = { 0 };

	fl_stats_compare(a, b, 4, &c);
	assert_int_equal(c.n_valid, 4);
	assert_near(c.mean_a, 42.125);
	assert_near(c.mean_b, 72.275);
	assert_near(c.sd_a, 17.983209761700866);
	assert_near(c.sd_b, 20.896151958355077);
	assert_near(c.diff, 30.15);
	assert_near(c.ci95[0], 21.013274805710207);
	assert_near(c.ci95[1], 39.286725194289794);
	assert_near(c.p, 0.001843738480990648);
	assert_near(c.p_wilcoxon, 0.125);
}

static void test_missing_values_are_left_out_pairwise_and_counted(void **state)
{
	static const double a[] = { 42, NAN, 25, 67, 1000, 34.5 }, b[] = { 74.2, 2000, 47, 98, NAN, 69.9 };
	struct fl_comparison c = { 0 };

	fl_stats_compare(a, b, 6, &c);
	assert_int_equal(c.n_valid, 4);
	assert_near(c.mean_a, 42.125);
	assert_near(c.p, 0.001843738480990648);
}

static void test_one_pair_has_means_and_a_difference_and_nothing_else(void **state)
{
	static const double a[] = { 1, NAN }, b[] = { 4, 3 };
	struct fl_comparison c = { 0 };

	fl_stats_compare(a, b, 2, &c);
	assert_int_equal(c.n_valid, 1);
	assert_near(c.diff, 3);
	assert_true(isnan(c.sd_a) && isnan(c.sd_b) && isnan(c.ci95[0]) && isnan(c.ci95[1]));
	assert_true(isnan(c.p) && isnan(c.p_wilcoxon));
	fl_stats_compare(a + 1, b + 1, 1, &c);
	assert_int_equal(c.n_valid, 0);
	assert_true(isnan(c.mean_a) && isnan(c.diff));
}

static void test_differences_without_spread_are_the_limits_of_the_test(void **state)
{
	static const double a[] = { 0.1, 0.2, 0.7 }, b[] = { 0.3, 0.4, 0.9 };
	struct fl_comparison c = { 0 };

	fl_stats_compare(a, a, 3, &c);
	assert_true(c.p == 1 && c.diff == 0 && c.ci95[0] == 0 && c.ci95[1] == 0 && c.p_wilcoxon == 1);
	fl_stats_compare(a, b, 3, &c); /* equal but for rounding */
	assert_true(c.p == 0 && c.ci95[0] == c.diff && c.ci95[1] == c.diff);
}

static void test_signed_ranks_with_and_without_ties_equal_those_of_r(void **state)
{
	static const double exact[] = { 1.5, -0.5, 2.5, 3.5, -4.5, 6.1, 7.2 }, ties[] = { 1, -1, 2, 3, -4, 6, 0, 2 };
	double many[60];

	for (int i = 0; i < 60; i++)
		many[i] = (i + 1) * 1.1 - 20;
	assert_near(fl_stats_wilcoxon(exact, 7), 0.21875);
	assert_near(fl_stats_wilcoxon(ties, 8), 0.3087603135275326);
	assert_near(fl_stats_wilcoxon(many, 60), 1.379955067504429e-05);
	assert_true(isnan(fl_stats_wilcoxon(many, 0)));
}

/* p.adjust(c(0.01, 0.04, 0.03, 0.005, NA, 0.9), "holm") */
static void test_holm_equals_that_of_r_and_skips_missing_values(void **state)
{
	double p[] = { 0.01, 0.04, 0.03, 0.005, NAN, 0.9 };

	fl_stats_holm(p, 6);
	assert_near(p[0], 0.04);
	assert_near(p[1], 0.09);
	assert_near(p[2], 0.09);
	assert_near(p[3], 0.025);
	assert_true(isnan(p[4]));
	assert_near(p[5], 0.9);
}

/* quantile(x, c(0, .05, .25, .5, .9, 1)); qt(.975, 7) * sd(x) / sqrt(8) */
static void test_quantiles_and_half_width_equal_those_of_r(void **state)
{
	static const double x[] = { 3, 1, 4, NAN, 1, 5, 9, 2, 6 };

	assert_near(fl_stats_quantile(x, 9, 0), 1);
	assert_near(fl_stats_quantile(x, 9, 0.05), 1);
	assert_near(fl_stats_quantile(x, 9, 0.25), 1.75);
	assert_near(fl_stats_quantile(x, 9, 0.5), 3.5);
	assert_near(fl_stats_quantile(x, 9, 0.9), 6.9);
	assert_near(fl_stats_quantile(x, 9, 1), 9);
	assert_near(fl_stats_half_width(x, 9), 2.297699956840755);
	assert_true(isnan(fl_stats_quantile(x, 0, 0.5)));
	assert_true(isnan(fl_stats_half_width(x, 1)));
}

static void test_large_counters_keep_the_digits_of_their_spread(void **state)
{
	static const double x[] = { 1e9 + 1, 1e9 + 2, 1e9 + 4 };
	struct fl_stats_summary s;

	fl_stats_summarise(x, 3, &s);
	assert_near(s.sd, 1.527525231651947);
	assert_true(s.min == 1e9 + 1 && s.max == 1e9 + 4 && s.n_valid == 3);
}

/* A result of two kernels and four runs with the metric `name`: the base has 10, 11, 12, 13. */
static struct fl_metric *add(struct fl_result *r, const char *name, enum fl_better better, bool headline, double shift,
			     double jitter)
{
	struct fl_metric *m = fl_result_add_metric(r, name, "end");

	m->better = better;
	m->headline = headline;
	for (int i = 0; i < 4; i++) {
		m->values[i] = 10 + i;
		m->values[4 + i] = 10 + i + shift + (i % 2 ? jitter : -jitter);
	}
	return m;
}

static void make(struct fl_result *r)
{
	static const char *const kernels[] = { "7.3", "7.3+mobility" };

	fl_result_init(r);
	fl_result_shape(r, kernels, 2, 4);
}

static void test_words_follow_direction_and_corrected_p(void **state)
{
	static const struct { enum fl_better better; double shift, jitter; enum fl_verdict verdict; } cases[] = {
		{ FL_BETTER_HIGHER, 5, 0.1, FL_VERDICT_BETTER }, { FL_BETTER_LOWER, 5, 0.1, FL_VERDICT_WORSE },
		{ FL_BETTER_HIGHER, -5, 0.1, FL_VERDICT_WORSE }, { FL_BETTER_LOWER, -5, 0.1, FL_VERDICT_BETTER },
		{ FL_BETTER_NONE, 5, 0.1, FL_VERDICT_HIGHER },	 { FL_BETTER_NONE, -5, 0.1, FL_VERDICT_LOWER },
		{ FL_BETTER_HIGHER, 0.1, 4, FL_VERDICT_NOT_SHOWN },
	};
	char name[] = "m0";
	struct fl_result r;

	make(&r);
	for (size_t i = 0; i < 7; i++, name[1]++)
		add(&r, name, cases[i].better, true, cases[i].shift, cases[i].jitter);
	fl_stats_compare_result(&r);
	assert_int_equal(r.comparisons_count, 7);
	for (size_t i = 0; i < 7; i++)
		assert_int_equal(r.comparisons[i].verdict, cases[i].verdict);
	fl_result_fini(&r);
}

/* p = 0.03 alone is a difference; beside nine others it is not. Counters beside the table do not dilute it. */
static void test_holm_counts_the_headline_table_alone(void **state)
{
	char name[] = "m0";
	struct fl_result r;

	make(&r);
	add(&r, "alone", FL_BETTER_HIGHER, true, 1, 0.5);
	for (int i = 0; i < 9; i++, name[1]++)
		add(&r, name, FL_BETTER_NONE, false, 0, 1);
	fl_stats_compare_result(&r);
	assert_true(r.comparisons[0].p > 0.01 && r.comparisons[0].p < 0.05);
	assert_true(r.comparisons[0].p_holm == r.comparisons[0].p);
	assert_int_equal(r.comparisons[0].verdict, FL_VERDICT_BETTER);
	for (size_t i = 0; i < r.metrics_count; i++)
		r.metrics[i].headline = true;
	fl_stats_compare_result(&r);
	assert_near(r.comparisons[0].p_holm, 10 * r.comparisons[0].p);
	assert_int_equal(r.comparisons[0].verdict, FL_VERDICT_NOT_SHOWN);
	fl_result_fini(&r);
}

/* power.t.test(n = 20, delta = 1, sd = 1); power.t.test(power = .80, delta = 1, sd = 1): n = 16.71477 */
static void test_power_of_unpaired_runs_equals_that_of_r(void **state)
{
	assert_true(fabs(fl_stats_power(1, 1, 1, 20) - 0.8689528) < 1e-6);
	assert_true(fl_stats_runs_needed(1, 1, 1) == 17);
	assert_true(fl_stats_runs_needed(-1, 1, 1) == 17);
	/* the published difference of huge faults on busy CPUs, from 30 runs of each kernel */
	assert_true(fl_stats_runs_needed(-0.80, 2.64, 2.95) == 194);
	assert_true(isnan(fl_stats_runs_needed(0, 1, 1)));
	assert_true(fl_stats_runs_needed(1, 0, 0) == 2);
	assert_true(fl_stats_runs_needed(1e-9, 1, 1) == 1000001);
}

static void test_totals_are_sums_over_triggers_and_orders(void **state)
{
	static const char *const names[] = { "work_stalls_direct_slowpath", "work_stalls_kcompactd_kswapd_sleep",
					     "work_stalls_kcompactd_timer", "extfrag_movable_unmovable_o0_steal",
					     "extfrag_movable_unmovable_o10_steal", "pgfault" };
	struct fl_result r;

	make(&r);
	for (size_t i = 0; i < 6; i++)
		add(&r, names[i], FL_BETTER_NONE, false, 1, (double)i);
	for (int twice = 0; twice < 2; twice++) { /* the sums that are there stay */
		fl_stats_add_totals(&r);
		assert_int_equal(r.metrics_count, 9);
		assert_true(fl_result_find(&r, "work_stalls_direct", "end")->values[0] ==
			    fl_result_find(&r, names[0], "end")->values[0]);
		assert_true(fl_result_find(&r, "work_stalls_kcompactd", "end")->values[0] ==
			    fl_result_find(&r, names[1], "end")->values[0] + fl_result_find(&r, names[2], "end")->values[0]);
		assert_true(fl_result_find(&r, "extfrag_movable_unmovable_steal", "end")->values[1] ==
			    fl_result_find(&r, names[3], "end")->values[1] + fl_result_find(&r, names[4], "end")->values[1]);
	}
	fl_result_fini(&r);
}

static void test_narrow_looks_at_headline_metrics_with_a_direction(void **state)
{
	struct fl_result r;

	make(&r);
	add(&r, "steady", FL_BETTER_HIGHER, true, 5, 0.1);
	add(&r, "noisy counter", FL_BETTER_HIGHER, false, 0, 50);
	add(&r, "noisy without direction", FL_BETTER_NONE, true, 0, 50);
	assert_true(fl_stats_is_narrow(&r, 5));
	assert_false(fl_stats_is_narrow(&r, 1));
	add(&r, "noisy", FL_BETTER_LOWER, true, 0, 50);
	assert_false(fl_stats_is_narrow(&r, 5));
	fl_result_find(&r, "noisy", "end");
	fl_result_fini(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_paired_t_and_ranks_equal_those_of_r),
		cmocka_unit_test(test_missing_values_are_left_out_pairwise_and_counted),
		cmocka_unit_test(test_one_pair_has_means_and_a_difference_and_nothing_else),
		cmocka_unit_test(test_differences_without_spread_are_the_limits_of_the_test),
		cmocka_unit_test(test_signed_ranks_with_and_without_ties_equal_those_of_r),
		cmocka_unit_test(test_holm_equals_that_of_r_and_skips_missing_values),
		cmocka_unit_test(test_quantiles_and_half_width_equal_those_of_r),
		cmocka_unit_test(test_large_counters_keep_the_digits_of_their_spread),
		cmocka_unit_test(test_words_follow_direction_and_corrected_p),
		cmocka_unit_test(test_power_of_unpaired_runs_equals_that_of_r),
		cmocka_unit_test(test_totals_are_sums_over_triggers_and_orders),
		cmocka_unit_test(test_holm_counts_the_headline_table_alone),
		cmocka_unit_test(test_narrow_looks_at_headline_metrics_with_a_direction),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
