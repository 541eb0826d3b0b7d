/*
 * report/mmtests.c - a result in the rows that mmtests' comparisons have, since mails about huge pages quote them.
 *
 * Rows of thpchallenge (a sample is a run's mean, not one fault) and of its vmstat monitor. The cost of compaction has
 * mmtests' weights (units of one cache line access, in millions) and what its formula means to count: the pages that the free
 * scanner looked at too, which mmtests asks for under a name that no kernel exports (compact_migrate_free).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/internal.h"
#include "report/table.h"

enum { LABEL = 28, COLUMN = 24 };
enum { COST_ACCESS = 7, COST_PAGE_COPY = 519, COST_ISOLATE = 19 };

static int compare_values(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The values that are there, in rising order; free(). */
static double *sorted_values(const double *values, size_t count, size_t *ret_count)
{
	double *sorted = fl_xmalloc((count + 1) * sizeof(*sorted));

	*ret_count = 0;
	for (size_t i = 0; i < count; i++)
		if (!isnan(values[i]))
			sorted[(*ret_count)++] = values[i];
	qsort(sorted, *ret_count, sizeof(*sorted), compare_values);
	return sorted;
}

static double mean_of(const double *sorted, size_t count)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += sorted[i];
	return count ? sum / (double)count : NAN;
}

static double deviation(const double *sorted, size_t count)
{
	double mean = mean_of(sorted, count), squares = 0;

	for (size_t i = 0; i < count; i++)
		squares += (sorted[i] - mean) * (sorted[i] - mean);
	return count > 1 ? sqrt(squares / (double)(count - 1)) : NAN;
}

/* mmtests' operations on the samples of one row; lower is better. */
static double operate(const char *operation, const double *values, size_t runs)
{
	size_t n, best;
	double *v = sorted_values(values, runs, &n), result = NAN;

	if (n && !strcmp(operation, "Min"))
		result = v[0];
	else if (n && !strcmp(operation, "Max"))
		result = v[n - 1];
	else if (!strcmp(operation, "Amean"))
		result = mean_of(v, n);
	else if (!strcmp(operation, "Stddev"))
		result = deviation(v, n);
	else if (!strcmp(operation, "CoeffVar"))
		result = 100 * deviation(v, n) / mean_of(v, n);
	else if (n && !strncmp(operation, "BAmean-", 7)) {
		best = (n * strtoul(operation + 7, NULL, 10) + 99) / 100; /* the best so many per cent */
		result = mean_of(v, best);
	}
	free(v);
	return result;
}

static void add_cell(double value, double base, bool higher_is_better, bool significant, struct fl_text *to)
{
	double change = base == 0 || isnan(base) || isnan(value) ? 0 : 100 * (value - base) / fabs(base);
	char cell[64];

	if (isnan(value)) {
		fl_text_add(to, "%*s", COLUMN, "-");
		return;
	}
	snprintf(cell, sizeof(cell), significant ? "%.2f *%7.2f%%*" : "%.2f (%7.2f%%)", value,
		 change == 0 ? 0.0 : higher_is_better ? change : -change);
	fl_text_add(to, "%*s", COLUMN, cell);
}

/* mmtests marks what its test of this row alone finds. */
static bool is_significant(const struct fl_result *result, const struct fl_metric *metric, size_t b)
{
	for (size_t i = 0; i < result->comparisons_count; i++)
		if (&result->metrics[result->comparisons[i].metric] == metric && result->comparisons[i].b == b)
			return result->comparisons[i].p < 0.05;
	return false;
}

static void add_row(const struct fl_result *result, const struct fl_metric *metric, const char *operation,
		    const char *title, bool higher_is_better, struct fl_text *to)
{
	bool is_mean = !strcmp(operation, "Amean");
	const char *word = higher_is_better ? "Percentage" : operation;
	char label[96];

	snprintf(label, sizeof(label), "%-10s%s%s-%s", word, strlen(word) < 10 ? "" : " ", title, metric->phase + 1);
	fl_text_add(to, "%-*s", LABEL, label);
	for (size_t k = 0; k < result->kernels_count; k++)
		add_cell(operate(operation, metric->values + k * result->runs, result->runs),
			 operate(operation, metric->values, result->runs), higher_is_better,
			 k && is_mean && is_significant(result, metric, k), to);
	fl_text_add_char(to, '\n', 1);
}

/* All phases t<threads> of a metric. */
static void add_rows(const struct fl_result *result, const char *name, const char *operation, const char *title,
		     bool higher_is_better, struct fl_text *to)
{
	for (size_t m = 0; m < result->metrics_count; m++)
		if (!strcmp(result->metrics[m].name, name) && result->metrics[m].phase[0] == 't')
			add_row(result, &result->metrics[m], operation, title, higher_is_better, to);
}

static void add_challenge(const struct fl_result *result, struct fl_text *to)
{
	static const char *const operations[] = { "Min", "Amean", "Stddev", "CoeffVar", "Max", "BAmean-50", "BAmean-95",
						  "BAmean-99" };
	static const char *const faults[][2] = { { "fault_base_us", "fault-base" }, { "fault_huge_us", "fault-huge" },
						 { "fault_latency_us", "fault-both" } };

	fl_text_add(to, "\nthpchallenge Fault Latencies\n");
	for (size_t i = 0; i < sizeof(operations) / sizeof(*operations); i++)
		for (size_t f = 0; f < sizeof(faults) / sizeof(*faults); f++)
			add_rows(result, faults[f][0], operations[i], faults[f][1], false, to);
	fl_text_add(to, "\nthpchallenge Percentage Huge Pages\n");
	add_rows(result, "faults_huge_pct", "Amean", "huge", true, to);
}

/* ---- vmstat ---- */

static const char *vmstat_phase(const struct fl_result *result)
{
	return fl_result_find(result, "compact_stall", "all") ? "all" : "end";
}

/* Mean over the runs that have it, 0 for what no sample has. */
static double vmstat_mean(const struct fl_result *result, const char *name, size_t kernel)
{
	const struct fl_metric *metric = fl_result_find(result, name, vmstat_phase(result));
	size_t n;
	double *v, mean;

	if (!metric)
		return 0;
	v = sorted_values(metric->values + kernel * result->runs, result->runs, &n);
	mean = mean_of(v, n);
	free(v);
	return mean;
}

static double share(double part, double whole)
{
	return whole == 0 ? 0 : 100 * part / whole;
}

static double cost_of(const struct fl_result *r, size_t k)
{
	return (2 * COST_PAGE_COPY * vmstat_mean(r, "pgmigrate_success", k) +
		2 * COST_ACCESS * vmstat_mean(r, "pgmigrate_fail", k) + COST_ISOLATE * vmstat_mean(r, "compact_isolated", k) +
		COST_ACCESS * (vmstat_mean(r, "compact_migrate_scanned", k) + vmstat_mean(r, "compact_free_scanned", k))) / 1e6;
}

static void add_vmstat(const struct fl_result *result, struct fl_text *to)
{
	static const struct {
		const char *title, *name, *whole; /* whole: a percentage of that */
	} rows[] = {
		{ "Direct pages scanned", "pgscan_direct", NULL },
		{ "Kswapd pages scanned", "pgscan_kswapd", NULL },
		{ "Kswapd pages reclaimed", "pgsteal_kswapd", NULL },
		{ "Direct pages reclaimed", "pgsteal_direct", NULL },
		{ "Compaction stalls", "compact_stall", NULL },
		{ "Compaction success", "compact_success", NULL },
		{ "Compaction failures", "compact_fail", NULL },
		{ "Compaction efficiency", "compact_success", "compact_stall" },
		{ "Page migrate success", "pgmigrate_success", NULL },
		{ "Page migrate failure", "pgmigrate_fail", NULL },
		{ "Compaction pages isolated", "compact_isolated", NULL },
		{ "Compaction migrate scanned", "compact_migrate_scanned", NULL },
		{ "Compaction free scanned", "compact_free_scanned", NULL },
		{ "Compact scan efficiency", "compact_migrate_scanned", "compact_free_scanned" },
		{ "Compaction cost", NULL, NULL },
		{ "Kcompactd wake", "compact_daemon_wake", NULL },
		{ "Kcompactd migrate scanned", "compact_daemon_migrate_scanned", NULL },
		{ "Kcompactd free scanned", "compact_daemon_free_scanned", NULL },
		{ "THP fault alloc", "thp_fault_alloc", NULL },
		{ "THP fault fallback", "thp_fault_fallback", NULL },
		{ "THP collapse alloc", "thp_collapse_alloc", NULL },
		{ "THP collapse fail", "thp_collapse_alloc_failed", NULL },
		{ "THP split", "thp_split_page", NULL },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		fl_text_add(to, "%-*s", LABEL, rows[i].title);
		for (size_t k = 0; k < result->kernels_count; k++) {
			double value = rows[i].name ? vmstat_mean(result, rows[i].name, k) : cost_of(result, k);

			if (rows[i].whole)
				value = share(value, vmstat_mean(result, rows[i].whole, k));
			fl_text_add(to, "%*.*f", COLUMN, rows[i].whole || !rows[i].name ? 2 : 0, value);
		}
		fl_text_add_char(to, '\n', 1);
	}
}

/* Names over the columns; those that are too long are letters, told above. */
static void add_head(const struct fl_result *result, struct fl_text *to)
{
	for (size_t k = 0; k < result->kernels_count; k++)
		if (strlen(result->kernels[k]) > COLUMN - 2)
			fl_text_add(to, "%c = %s\n", (char)('A' + k % 26), result->kernels[k]);
	fl_text_add(to, "%-*s", LABEL, "");
	for (size_t k = 0; k < result->kernels_count; k++) {
		char letter[2] = { (char)('A' + k % 26), '\0' };

		fl_text_add(to, "%*s", COLUMN, strlen(result->kernels[k]) > COLUMN - 2 ? letter : result->kernels[k]);
	}
	fl_text_add_char(to, '\n', 1);
}

void fl_report_mmtests(const struct fl_result *result, struct fl_text *to)
{
	fl_report_head(result, to);
	fl_text_add_char(to, '\n', 1);
	add_head(result, to);
	for (size_t m = 0; m < result->metrics_count; m++)
		if (!strcmp(result->metrics[m].name, "fault_huge_us")) {
			add_challenge(result, to);
			break;
		}
	fl_text_add(to, "\nOps, means of the runs\n");
	add_vmstat(result, to);
	fl_report_notes(result, to);
}
