/* stats/compare.c - paired statistics of one metric: t test with interval, signed ranks, Holm, quantiles. */
#include "stats/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MATHLIB_STANDALONE
#include <Rmath.h>

#include "base/text.h"

/* Two passes: the squared deviations are taken from the mean, so that large counters keep their digits. */
void fl_stats_summarise(const double *values, size_t count, struct fl_stats_summary *ret)
{
	struct fl_stats_summary s = { 0, NAN, NAN, NAN, NAN };
	double sum = 0, squares = 0;

	for (size_t i = 0; i < count; i++) {
		if (isnan(values[i]))
			continue;
		sum += values[i];
		s.min = s.n_valid && s.min < values[i] ? s.min : values[i];
		s.max = s.n_valid && s.max > values[i] ? s.max : values[i];
		s.n_valid++;
	}
	if (s.n_valid)
		s.mean = sum / (double)s.n_valid;
	for (size_t i = 0; i < count; i++)
		if (!isnan(values[i]))
			squares += (values[i] - s.mean) * (values[i] - s.mean);
	if (s.n_valid >= 2)
		s.sd = sqrt(squares / (double)(s.n_valid - 1));
	*ret = s;
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* A sorted copy of the values that are not NaN. */
static double *sorted_copy(const double *values, size_t count, size_t *ret_count)
{
	double *copy = fl_xmalloc(count * sizeof(*copy));
	size_t n = 0;

	for (size_t i = 0; i < count; i++)
		if (!isnan(values[i]))
			copy[n++] = values[i];
	qsort(copy, n, sizeof(*copy), compare_doubles);
	*ret_count = n;
	return copy;
}

double fl_stats_quantile(const double *values, size_t count, double q)
{
	size_t n, below;
	double *sorted = sorted_copy(values, count, &n), place, result = NAN;

	if (n) {
		place = q * (double)(n - 1);
		below = (size_t)floor(place);
		result = sorted[below];
		if (below + 1 < n)
			result += (place - (double)below) * (sorted[below + 1] - sorted[below]);
	}
	free(sorted);
	return result;
}

double fl_stats_half_width(const double *values, size_t count)
{
	struct fl_stats_summary s;

	fl_stats_summarise(values, count, &s);
	if (s.n_valid < 2)
		return NAN;
	return qt(0.975, (double)s.n_valid - 1, 1, 0) * s.sd / sqrt((double)s.n_valid);
}

/*
 * Rounding leaves a spread of some ulps where all differences are the same number (0.3 - 0.1 against 0.4 - 0.2): a
 * spread below 1e-12 of the values is none.
 */
static double spread(const struct fl_stats_summary *differences, double scale)
{
	return differences->sd <= 1e-12 * scale ? 0 : differences->sd;
}

static void fill_t_test(struct fl_comparison *c, const double *differences, size_t n, double scale)
{
	struct fl_stats_summary d;
	double sd, error, half;

	fl_stats_summarise(differences, n, &d);
	c->diff = d.mean;
	if (n < 2)
		return;
	sd = spread(&d, scale);
	if (fabs(d.mean) <= 1e-12 * scale)
		c->diff = 0;
	if (sd == 0) {
		c->ci95[0] = c->ci95[1] = c->diff;
		c->p = c->diff == 0 ? 1 : 0;
		return;
	}
	error = sd / sqrt((double)n);
	half = qt(0.975, (double)n - 1, 1, 0) * error;
	c->ci95[0] = c->diff - half;
	c->ci95[1] = c->diff + half;
	c->p = 2 * pt(-fabs(c->diff / error), (double)n - 1, 1, 0);
}

void fl_stats_compare(const double *a, const double *b, size_t count, struct fl_comparison *ret)
{
	double *va = fl_xmalloc(count * sizeof(*va)), *vb = fl_xmalloc(count * sizeof(*vb));
	double *differences = fl_xmalloc(count * sizeof(*differences));
	struct fl_stats_summary sa, sb;
	double scale = 0;
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		if (isnan(a[i]) || isnan(b[i]))
			continue;
		va[n] = a[i];
		vb[n] = b[i];
		scale = fmax(scale, fmax(fabs(a[i]), fabs(b[i])));
		differences[n++] = b[i] - a[i];
	}
	fl_stats_summarise(va, n, &sa);
	fl_stats_summarise(vb, n, &sb);
	ret->n_valid = n;
	ret->mean_a = sa.mean;
	ret->mean_b = sb.mean;
	ret->sd_a = sa.sd;
	ret->sd_b = sb.sd;
	ret->ci95[0] = ret->ci95[1] = ret->p = ret->p_holm = ret->p_wilcoxon = NAN;
	ret->verdict = FL_VERDICT_NONE;
	fill_t_test(ret, differences, n, scale);
	ret->runs_needed = fl_stats_runs_needed(ret->diff, ret->sd_a, ret->sd_b);
	if (n >= 2)
		ret->p_wilcoxon = fl_stats_wilcoxon(differences, n);
	free(va);
	free(vb);
	free(differences);
}

static int compare_magnitudes(const void *a, const void *b)
{
	double x = fabs(*(const double *)a), y = fabs(*(const double *)b);

	return (x > y) - (x < y);
}

/* Sum of the ranks of positive differences (ties share their mean rank), and the sum of t^3 - t over the ties. */
static double signed_ranks(const double *sorted, size_t n, double *ret_ties)
{
	double sum = 0, ties = 0;

	for (size_t i = 0, end; i < n; i = end) {
		double rank, t;

		for (end = i + 1; end < n && fabs(sorted[end]) == fabs(sorted[i]);)
			end++;
		t = (double)(end - i);
		rank = ((double)i + 1 + (double)end) / 2;
		ties += t * t * t - t;
		for (size_t j = i; j < end; j++)
			sum += sorted[j] > 0 ? rank : 0;
	}
	*ret_ties = ties;
	return sum;
}

static double wilcoxon_exact(double v, double n)
{
	double p = v > n * (n + 1) / 4 ? psignrank(v - 1, n, 0, 0) : psignrank(v, n, 1, 0);

	signrank_free();
	return fmin(1, 2 * p);
}

/* With a correction for continuity, as R does. */
static double wilcoxon_normal(double v, double n, double ties)
{
	double z = v - n * (n + 1) / 4;
	double sigma = sqrt(n * (n + 1) * (2 * n + 1) / 24 - ties / 48);

	z = (z - (z > 0 ? 0.5 : z < 0 ? -0.5 : 0)) / sigma;
	return 2 * fmin(pnorm(z, 0, 1, 1, 0), pnorm(z, 0, 1, 0, 0));
}

double fl_stats_wilcoxon(const double *differences, size_t count)
{
	size_t n = 0;
	double *d = fl_xmalloc(count * sizeof(*d)), v, ties, p;
	bool zeros = false;

	for (size_t i = 0; i < count; i++) {
		if (differences[i] == 0)
			zeros = true;
		else if (!isnan(differences[i]))
			d[n++] = differences[i];
	}
	if (n == 0) {
		free(d);
		return zeros ? 1 : NAN;
	}
	qsort(d, n, sizeof(*d), compare_magnitudes);
	v = signed_ranks(d, n, &ties);
	if (n < 50 && ties == 0 && !zeros)
		p = wilcoxon_exact(v, (double)n);
	else
		p = wilcoxon_normal(v, (double)n, ties);
	free(d);
	return p;
}

struct ranked {
	double p;
	size_t place;
};

static int compare_ranked(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->p != y->p)
		return x->p > y->p ? 1 : -1;
	return (x->place > y->place) - (x->place < y->place);
}

void fl_stats_holm(double *p, size_t count)
{
	struct ranked *ranked = fl_xmalloc(count * sizeof(*ranked));
	double least = 0;
	size_t n = 0;

	for (size_t i = 0; i < count; i++)
		if (!isnan(p[i]))
			ranked[n++] = (struct ranked){ p[i], i };
	qsort(ranked, n, sizeof(*ranked), compare_ranked);
	for (size_t i = 0; i < n; i++) {
		least = fmax(least, fmin(1, (double)(n - i) * ranked[i].p));
		p[ranked[i].place] = least;
	}
	free(ranked);
}
