/*
 * report/table.c - the tables for people, at 80 columns.
 *
 * One block for each metric; in it one row for each phase and kernel with mean and range over the runs, and below each
 * kernel after the first its difference from the base. A published figure stands at the end of the kernel's row.
 */
#include "report/table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/size.h"
#include "report/internal.h"

enum { WIDTH = 80, PHASE_COLUMN = 2, KERNEL_COLUMN_LEAST = 10, MEAN_COLUMN = 36, PUBLISHED_COLUMN = 62 };

char *fl_report_number(double value, char *buffer, size_t length)
{
	double size = fabs(value);

	if (isnan(value))
		snprintf(buffer, length, "-");
	else if (size < 1e7 && (value == floor(value) || size >= 1000))
		snprintf(buffer, length, "%.0f", value == 0 ? 0.0 : value);
	else
		snprintf(buffer, length, "%.4g", value);
	return buffer;
}

static char *signed_number(double value, char *buffer, size_t length)
{
	buffer[0] = '+';
	fl_report_number(value, buffer + (value > 0), length - 1);
	return buffer;
}

void fl_report_line_init(struct fl_report_line *line, struct fl_text *to, size_t indent)
{
	*line = (struct fl_report_line){ to, indent, 0 };
}

void fl_report_line_add(struct fl_report_line *line, size_t column, const char *word)
{
	size_t gap = line->length ? 2 : 0, length = strlen(word);

	if (line->length && (line->length + gap > column ? line->length + gap : column) + length > WIDTH) {
		fl_text_add_char(line->to, '\n', 1);
		line->length = 0;
		gap = 0;
		if (column + length > WIDTH || column < line->indent)
			column = line->indent;
	}
	if (line->length + gap > column)
		column = line->length + gap;
	/* a name that is too long for its place moves to the left as far as it must */
	if (line->length == 0 && column + length > WIDTH)
		column = length < WIDTH ? WIDTH - length : 0;
	fl_text_add_char(line->to, ' ', column - line->length);
	fl_text_add(line->to, "%s", word);
	line->length = column + length;
}

void fl_report_line_end(struct fl_report_line *line)
{
	fl_text_add_char(line->to, '\n', 1);
	line->length = 0;
}

/* "memory 64G" of memory_bytes, "rounds 8", ... */
static void add_field(struct fl_report_line *line, const struct fl_field *field)
{
	size_t length = strlen(field->name);
	char value[32], word[160];

	if (field->kind == FL_FIELD_INT && length > 6 && !strcmp(field->name + length - 6, "_bytes")) {
		fl_size_format(field->number, value, sizeof(value));
		snprintf(word, sizeof(word), "%.*s %s", (int)(length - 6), field->name, value);
	} else if (field->kind == FL_FIELD_INT && field->unit == FL_UNIT_BYTES) {
		snprintf(word, sizeof(word), "%s %s", field->name, fl_size_format(field->number, value, sizeof(value)));
	} else if (field->kind == FL_FIELD_INT && field->unit == FL_UNIT_NS) {
		snprintf(word, sizeof(word), "%s %s", field->name, fl_duration_format(field->number, value, sizeof(value)));
	} else if (field->kind == FL_FIELD_INT) {
		snprintf(word, sizeof(word), "%s %lld", field->name, (long long)field->number);
	} else if (field->kind == FL_FIELD_BOOL) {
		snprintf(word, sizeof(word), "%s %s", field->name, field->number ? "yes" : "no");
	} else if (field->kind == FL_FIELD_REAL) {
		snprintf(word, sizeof(word), "%s %s", field->name, fl_report_number(field->real, value, sizeof(value)));
	} else {
		snprintf(word, sizeof(word), "%s %s", field->name, field->text ? field->text : "-");
	}
	fl_report_line_add(line, 0, word);
}

static void add_fields(const char *title, const struct fl_fields *fields, struct fl_text *to)
{
	struct fl_report_line line;

	if (!fields->count)
		return;
	fl_report_line_init(&line, to, 10);
	fl_text_add(to, "%-8s", title);
	line.length = 8;
	for (size_t i = 0; i < fields->count; i++)
		add_field(&line, &fields->list[i]);
	fl_report_line_end(&line);
}

void fl_report_head(const struct fl_result *result, struct fl_text *to)
{
	fl_text_add(to, "%s on %s, ", result->scenario, result->backend);
	if (result->runs == 1)
		fl_text_add(to, "one run, seed %llu\n", (unsigned long long)result->seed);
	else
		fl_text_add(to, "%zu runs%s, seeds %llu to %llu\n", result->runs,
			    result->kernels_count > 1 ? " of each kernel" : "", (unsigned long long)result->seed,
			    (unsigned long long)(result->seed + result->runs - 1));
	add_fields("machine", &result->machine, to);
	add_fields("options", &result->options, to);
	add_fields("tunables", &result->tunables, to);
}

static bool is_zero_everywhere(const struct fl_result *result, const struct fl_metric *metric)
{
	for (size_t i = 0; i < result->kernels_count * result->runs; i++)
		if (metric->values[i] != 0 && !isnan(metric->values[i]))
			return false;
	return true;
}

static bool is_shown(const struct fl_result *result, const struct fl_metric *metric, bool all_metrics)
{
	return metric->headline || (all_metrics && !is_zero_everywhere(result, metric));
}

const char *fl_report_published(const struct fl_published *published, size_t kernel)
{
	if (kernel < 64 && published->changed_kernels >> kernel & 1)
		return published->changed;
	return kernel == 0 ? published->base : "";
}

/* Behind the longest phase of the metric. */
static size_t kernel_column(const struct fl_result *result, const char *metric)
{
	size_t longest = KERNEL_COLUMN_LEAST - PHASE_COLUMN - 2;

	for (size_t m = 0; m < result->metrics_count; m++) {
		size_t length = strlen(result->metrics[m].phase);

		if (length > longest && !strcmp(result->metrics[m].name, metric))
			longest = length;
	}
	return PHASE_COLUMN + longest + 2;
}

/* A long figure ends at the margin. */
static size_t published_column(const char *figure)
{
	size_t length = strlen(figure);

	return PUBLISHED_COLUMN + length > WIDTH && length < WIDTH ? WIDTH - length : PUBLISHED_COLUMN;
}

static void add_kernel_row(const struct fl_result *result, const struct fl_metric *metric, size_t kernel,
			   size_t column, struct fl_text *to)
{
	const struct fl_published *published = fl_result_find_published(result, metric->name, metric->phase);
	char figure[80] = "";
	struct fl_report_spread range = fl_report_range(metric->values + kernel * result->runs, result->runs);
	char mean[32], low[32], high[32], word[112];
	struct fl_report_line line;

	/* one kernel alone may be the base or the changed one: both figures are shown */
	if (published && result->kernels_count == 1 && published->base[0] && published->changed[0])
		snprintf(figure, sizeof(figure), "%s -> %s", published->base, published->changed);
	else if (published)
		snprintf(figure, sizeof(figure), "%s", fl_report_published(published, kernel));
	fl_report_line_init(&line, to, column);
	if (kernel == 0 && metric->phase[0])
		fl_report_line_add(&line, PHASE_COLUMN, metric->phase);
	fl_report_line_add(&line, column, result->kernels[kernel]);
	fl_report_number(range.mean, mean, sizeof(mean));
	if (range.n_valid > 1)
		snprintf(word, sizeof(word), "%s (%s to %s)", mean, fl_report_number(range.min, low, sizeof(low)),
			 fl_report_number(range.max, high, sizeof(high)));
	else
		snprintf(word, sizeof(word), "%s", mean);
	fl_report_line_add(&line, MEAN_COLUMN, word);
	if (range.n_valid < result->runs) {
		snprintf(word, sizeof(word), "n %zu of %zu", range.n_valid, result->runs);
		fl_report_line_add(&line, 0, word);
	}
	if (figure[0])
		fl_report_line_add(&line, published_column(figure), figure);
	fl_report_line_end(&line);
}

void fl_report_p(double p, char *buffer, size_t length)
{
	if (p < 1e-4)
		snprintf(buffer, length, "<0.0001");
	else
		snprintf(buffer, length, "%.2g", p);
}

static void add_comparison_row(const struct fl_result *result, const struct fl_comparison *c, size_t column,
			       struct fl_text *to)
{
	char diff[32], low[32], high[32], p[32], word[128];
	struct fl_report_line line;

	fl_report_line_init(&line, to, column);
	signed_number(c->diff, diff, sizeof(diff));
	if (isnan(c->ci95[0]))
		snprintf(word, sizeof(word), "difference %s", diff);
	else
		snprintf(word, sizeof(word), "difference %s [%s, %s]", diff, signed_number(c->ci95[0], low, sizeof(low)),
			 signed_number(c->ci95[1], high, sizeof(high)));
	fl_report_line_add(&line, column, word);
	if (!isnan(c->p_holm)) {
		fl_report_p(c->p_holm, p, sizeof(p));
		snprintf(word, sizeof(word), "p %s", p);
		fl_report_line_add(&line, 0, word);
		fl_report_line_add(&line, 0, fl_verdict_word(c->verdict));
	}
	if (c->n_valid < result->runs) {
		snprintf(word, sizeof(word), "(%zu pairs)", c->n_valid);
		fl_report_line_add(&line, 0, word);
	}
	fl_report_line_end(&line);
}

/* What one needs to judge the difference, and the same experiment without common random numbers. */
static void add_stats_row(const struct fl_comparison *c, size_t column, struct fl_text *to)
{
	char a[32], b[32], p[32], word[112];
	struct fl_report_line line;

	if (isnan(c->p))
		return;
	fl_report_line_init(&line, to, column);
	snprintf(word, sizeof(word), "SD %s, %s", fl_report_number(c->sd_a, a, sizeof(a)),
		 fl_report_number(c->sd_b, b, sizeof(b)));
	fl_report_line_add(&line, column, word);
	fl_report_p(c->p, p, sizeof(p));
	snprintf(word, sizeof(word), "t %s", p);
	fl_report_line_add(&line, 0, word);
	fl_report_p(c->p_wilcoxon, p, sizeof(p));
	snprintf(word, sizeof(word), "Wilcoxon %s", p);
	fl_report_line_add(&line, 0, word);
	if (c->runs_needed > 1e6)
		snprintf(word, sizeof(word), "rebooted: over a million runs");
	else
		snprintf(word, sizeof(word), "rebooted: %.0f runs", c->runs_needed);
	if (!isnan(c->runs_needed))
		fl_report_line_add(&line, 0, word);
	fl_report_line_end(&line);
}

static void add_phase(const struct fl_result *result, size_t m, size_t column, bool stats, struct fl_text *to)
{
	for (size_t k = 0; k < result->kernels_count; k++) {
		add_kernel_row(result, &result->metrics[m], k, column, to);
		for (size_t i = 0; k && i < result->comparisons_count; i++)
			if (result->comparisons[i].metric == m && result->comparisons[i].b == k) {
				add_comparison_row(result, &result->comparisons[i], column, to);
				if (stats)
					add_stats_row(&result->comparisons[i], column, to);
			}
	}
}

static bool has_published(const struct fl_result *result, const char *name)
{
	for (size_t i = 0; i < result->published_count; i++)
		if (!strcmp(result->published[i].name, name))
			return true;
	return false;
}

static void add_metric_head(const struct fl_result *result, const struct fl_metric *metric, struct fl_text *to)
{
	struct fl_report_line line;
	char word[128];

	snprintf(word, sizeof(word), "%s%s%s%s", metric->name, metric->unit[0] ? ", " : "", metric->unit,
		 metric->better == FL_BETTER_HIGHER ? " (higher is better)" :
		 metric->better == FL_BETTER_LOWER  ? " (lower is better)" : "");
	fl_text_add_char(to, '\n', 1);
	fl_report_line_init(&line, to, 0);
	fl_report_line_add(&line, 0, word);
	if (has_published(result, metric->name))
		fl_report_line_add(&line, PUBLISHED_COLUMN, "published");
	fl_report_line_end(&line);
}

/* True if no earlier shown metric has the name: phases of one metric stand together. */
static bool opens_block(const struct fl_result *result, size_t m, bool all_metrics)
{
	for (size_t i = 0; i < m; i++)
		if (!strcmp(result->metrics[i].name, result->metrics[m].name) &&
		    is_shown(result, &result->metrics[i], all_metrics))
			return false;
	return true;
}

void fl_report_notes(const struct fl_result *result, struct fl_text *to)
{
	if (result->notes_count || result->interrupted)
		fl_text_add_char(to, '\n', 1);
	if (result->interrupted)
		fl_text_add(to, "interrupted: only the runs that had finished are here\n");
	for (size_t i = 0; i < result->notes_count; i++) {
		const struct fl_run_note *note = &result->notes[i];

		fl_text_add(to, "%s: %s, seed %llu: %s\n", note->died ? "load died" : "run missing",
			    result->kernels[note->kernel], (unsigned long long)(result->seed + note->run), note->text);
	}
}

void fl_report_table(const struct fl_result *result, unsigned int show, struct fl_text *to)
{
	bool all_metrics = show & FL_REPORT_ALL;
	size_t shown = 0, column;

	fl_report_head(result, to);
	for (size_t m = 0; m < result->metrics_count; m++) {
		if (!is_shown(result, &result->metrics[m], all_metrics))
			continue;
		shown++;
		if (!opens_block(result, m, all_metrics))
			continue;
		add_metric_head(result, &result->metrics[m], to);
		column = kernel_column(result, result->metrics[m].name);
		for (size_t i = m; i < result->metrics_count; i++)
			if (!strcmp(result->metrics[i].name, result->metrics[m].name) &&
			    is_shown(result, &result->metrics[i], all_metrics))
				add_phase(result, i, column, show & FL_REPORT_STATS, to);
	}
	if (!shown)
		fl_text_add(to, result->metrics_count ?
			    "\nThe scenario names no headline metric; --counters shows all of them.\n" :
			    "\nNo run got as far as a sample: there is nothing to show.\n");
	else if (result->runs > 1)
		fl_text_add(to, "\nMean (lowest to highest) of the runs%s\n", !result->comparisons_count ? "." :
			    "; [ ]: 95 % interval of the paired\ndifference; p: paired t test, corrected over the table "
			    "(Holm);\na difference is shown at p < 0.05.");
	if ((show & FL_REPORT_STATS) && result->comparisons_count && result->runs > 1)
		fl_text_add(to, "t, Wilcoxon: p of this row alone, uncorrected. rebooted: runs of each kernel\n"
			    "by which an unpaired t test finds such a difference with a probability of 80 %%.\n");
	if (show & FL_REPORT_WORK)
		fl_report_work(result, to);
	fl_report_notes(result, to);
}
