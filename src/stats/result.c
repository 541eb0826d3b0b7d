/* stats/result.c - the comparisons of a whole result: every metric, every kernel against the first. */
#include <math.h>
#include <stdlib.h>

#include "base/text.h"
#include "stats/compare.h"

static enum fl_verdict verdict(const struct fl_comparison *c, enum fl_better better)
{
	if (isnan(c->p_holm))
		return FL_VERDICT_NONE;
	if (!(c->p_holm < 0.05))
		return FL_VERDICT_NOT_SHOWN;
	if (better == FL_BETTER_NONE)
		return c->diff > 0 ? FL_VERDICT_HIGHER : FL_VERDICT_LOWER;
	return (c->diff > 0) == (better == FL_BETTER_HIGHER) ? FL_VERDICT_BETTER : FL_VERDICT_WORSE;
}

/* Holm over the comparisons of one family. */
static void correct_family(struct fl_result *result, bool headline)
{
	double *p = fl_xmalloc(result->comparisons_count * sizeof(*p));
	size_t n = 0;

	for (size_t i = 0; i < result->comparisons_count; i++)
		if (result->metrics[result->comparisons[i].metric].headline == headline)
			p[n++] = result->comparisons[i].p;
	fl_stats_holm(p, n);
	n = 0;
	for (size_t i = 0; i < result->comparisons_count; i++)
		if (result->metrics[result->comparisons[i].metric].headline == headline)
			result->comparisons[i].p_holm = p[n++];
	free(p);
}

void fl_stats_compare_result(struct fl_result *result)
{
	struct fl_comparison *c;

	free(result->comparisons);
	result->comparisons_count = result->metrics_count * (result->kernels_count - 1);
	c = result->comparisons = fl_xcalloc(result->comparisons_count, sizeof(*c));
	for (size_t m = 0; m < result->metrics_count; m++) {
		const double *values = result->metrics[m].values;

		for (size_t b = 1; b < result->kernels_count; b++, c++) {
			fl_stats_compare(values, values + b * result->runs, result->runs, c);
			c->metric = m;
			c->b = b;
		}
	}
	correct_family(result, true);
	correct_family(result, false);
	for (size_t i = 0; i < result->comparisons_count; i++) {
		c = &result->comparisons[i];
		c->verdict = verdict(c, result->metrics[c->metric].better);
	}
}

/* The interval of kernel b against the base, or of the base alone (b = 0). Too few values are never narrow. */
static bool is_metric_narrow(const struct fl_result *result, const struct fl_metric *metric, size_t b, double pct)
{
	double *d = fl_xmalloc(result->runs * sizeof(*d)), half;
	struct fl_stats_summary base;

	for (size_t run = 0; run < result->runs; run++)
		d[run] = metric->values[b * result->runs + run] - (b ? metric->values[run] : 0);
	half = fl_stats_half_width(d, result->runs);
	fl_stats_summarise(metric->values, result->runs, &base);
	free(d);
	return half <= fabs(base.mean) * pct / 100;
}

bool fl_stats_is_narrow(const struct fl_result *result, double pct)
{
	for (size_t m = 0; m < result->metrics_count; m++) {
		const struct fl_metric *metric = &result->metrics[m];

		if (!metric->headline || metric->better == FL_BETTER_NONE)
			continue;
		for (size_t b = result->kernels_count > 1; b < result->kernels_count; b++)
			if (!is_metric_narrow(result, metric, b, pct))
				return false;
	}
	return true;
}
