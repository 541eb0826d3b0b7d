/*
 * stats/compare.h - paired comparison: is the difference larger than the noise?
 *
 * Runs are paired by seed (common random numbers). Missing values are left out pairwise and counted. Statistics that
 * cannot be had (one pair, no pair) are NaN. Distributions come from R's mathematics library.
 *
 * A difference that is the same in every pair has no spread: the interval is then that point, and p is 0 (or 1 when
 * the difference is 0), the limits of the t test.
 */
#ifndef FL_STATS_COMPARE_H
#define FL_STATS_COMPARE_H

#include <stddef.h>

#include "base/result.h"

/* Mean and sample standard deviation (n - 1) of the values that are not NaN. Either pointer may be NULL. */
struct fl_stats_summary {
	size_t n_valid;
	double mean, sd, min, max;
};
void fl_stats_summarise(const double *values, size_t count, struct fl_stats_summary *ret);

/* Quantile q in [0, 1] of the values that are not NaN (linear interpolation, R's type 7); NaN without values. */
double fl_stats_quantile(const double *values, size_t count, double q);

/* Compares b with a, pair by pair; fills the statistics of *ret but p_holm and verdict. */
void fl_stats_compare(const double *a, const double *b, size_t count, struct fl_comparison *ret);

/* Wilcoxon signed rank p of the differences (two-sided): exact below 50 without ties and zeros, else normal. */
double fl_stats_wilcoxon(const double *differences, size_t count);

/*
 * Power of a two-sided two-sample t test at 5 % with `runs` independent runs of each kernel, and the least number of such
 * runs that finds the difference with a probability of 80 %. NaN: no difference or no spread known; 10^6 + 1: more than
 * 10^6.
 */
double fl_stats_power(double diff, double sd_a, double sd_b, double runs);
double fl_stats_runs_needed(double diff, double sd_a, double sd_b);

/* Half width of the 95 % interval of the mean of the values that are not NaN; NaN with fewer than two. */
double fl_stats_half_width(const double *values, size_t count);

/* Holm's step-down correction in place; NaN stays and does not count. */
void fl_stats_holm(double *p, size_t count);

/*
 * Adds the sums that tables of work show: work_<what>_<actor> over the triggers, extfrag_<wanted>_<taken>_<how> over the
 * orders. Sums that are there stay.
 */
void fl_stats_add_totals(struct fl_result *result);

/*
 * Makes result->comparisons: every metric, every kernel after the first against the first. Holm runs over the
 * headline metrics as one family, over the work that was done in the measured part ("all", "end") as another, over its
 * extfrag events, and over all others. The word is decided by p_holm < 0.05.
 */
void fl_stats_compare_result(struct fl_result *result);

/*
 * For --runs auto=PCT: true when for every headline metric with a better direction the 95 % interval of the
 * difference (of the mean, with one kernel) reaches at most pct percent of the base's mean to either side.
 */
bool fl_stats_is_narrow(const struct fl_result *result, double pct);

#endif
