/* stats/result.c - the comparisons of a whole result: every metric, every kernel against the first. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

enum family { FAMILY_HEADLINE, FAMILY_WORK, FAMILY_EXTFRAG, FAMILY_OTHER };

/* Phases that cover the measured part: what the tables of work show. */
static bool is_whole(const char *phase)
{
	return !strcmp(phase, "all") || !strcmp(phase, "end");
}

static enum family family_of(const struct fl_result *result, const struct fl_comparison *c)
{
	const struct fl_metric *metric = &result->metrics[c->metric];

	if (metric->headline)
		return FAMILY_HEADLINE;
	/* what did not happen is no row of its table */
	if (!is_whole(metric->phase) || (c->mean_a == 0 && c->mean_b == 0))
		return FAMILY_OTHER;
	return !strncmp(metric->name, "work_", 5) ? FAMILY_WORK : !strncmp(metric->name, "extfrag_", 8) ? FAMILY_EXTFRAG :
	       FAMILY_OTHER;
}

/* Holm over the comparisons of one family. */
static void correct_family(struct fl_result *result, enum family family)
{
	double *p = fl_xmalloc(result->comparisons_count * sizeof(*p));
	size_t n = 0;

	for (size_t i = 0; i < result->comparisons_count; i++)
		if (family_of(result, &result->comparisons[i]) == family)
			p[n++] = result->comparisons[i].p;
	fl_stats_holm(p, n);
	n = 0;
	for (size_t i = 0; i < result->comparisons_count; i++)
		if (family_of(result, &result->comparisons[i]) == family)
			result->comparisons[i].p_holm = p[n++];
	free(p);
}

/* "work_stalls_direct_slowpath" -> "work_stalls_direct"; "extfrag_a_b_o3_claim" -> "extfrag_a_b_claim". False: no part. */
static bool total_name(const char *name, char *to, size_t length)
{
	static const char *const actors[] = { "_direct_", "_kswapd_", "_kcompactd_", "_khugepaged_" };
	const char *last = strrchr(name, '_'), *order = strstr(name, "_o"), *first = NULL, *actor = NULL;

	if (!strncmp(name, "extfrag_", 8) && order) {
		snprintf(to, length, "%.*s%s", (int)(order - name), name, last);
		return true;
	}
	if (strncmp(name, "work_", 5))
		return false;
	/* an actor is one word; a trigger may be two, and the first may be the name of an actor */
	for (size_t i = 0; i < sizeof(actors) / sizeof(*actors); i++) {
		const char *at = strstr(name, actors[i]);

		if (at && (!first || at < first)) {
			first = at;
			actor = actors[i];
		}
	}
	if (first)
		snprintf(to, length, "%.*s", (int)(first - name + (long)strlen(actor) - 1), name);
	return first;
}

void fl_stats_add_totals(struct fl_result *result)
{
	size_t count = result->metrics_count, cells = result->kernels_count * result->runs;

	for (size_t m = 0; m < count; m++) {
		char name[72], phase[24];
		size_t before = result->metrics_count, at;

		if (!total_name(result->metrics[m].name, name, sizeof(name)))
			continue;
		memcpy(phase, result->metrics[m].phase, sizeof(phase));
		at = (size_t)(fl_result_add_metric(result, name, phase) - result->metrics);
		if (at < count)
			continue; /* stored with it */
		for (size_t i = 0; i < cells; i++) {
			double *sum = &result->metrics[at].values[i];

			*sum = (result->metrics_count > before ? 0 : *sum) + result->metrics[m].values[i];
		}
	}
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
	correct_family(result, FAMILY_HEADLINE);
	correct_family(result, FAMILY_WORK);
	correct_family(result, FAMILY_EXTFRAG);
	correct_family(result, FAMILY_OTHER);
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
