/* report/formats.c - CSV, the text for a mail, aligned columns. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "report/internal.h"
#include "report/table.h"

struct fl_report_spread fl_report_range(const double *values, size_t count)
{
	struct fl_report_spread s = { 0, NAN, NAN, NAN };
	double sum = 0;

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
	return s;
}

/* RFC 4180: a cell with a comma, a quote or a line break is quoted, quotes are doubled. */
static void csv_cell(const char *cell, struct fl_text *to)
{
	if (!strpbrk(cell, ",\"\r\n")) {
		fl_text_add(to, "%s", cell);
		return;
	}
	fl_text_add_char(to, '"', 1);
	for (; *cell; cell++)
		fl_text_add_char(to, *cell, *cell == '"' ? 2 : 1);
	fl_text_add_char(to, '"', 1);
}

void fl_report_csv(const struct fl_result *result, struct fl_text *to)
{
	size_t cells = result->kernels_count * result->runs;
	char number[32];

	fl_text_add(to, "scenario,metric,phase,unit,kernel,seed,value\n");
	for (size_t m = 0; m < result->metrics_count; m++) {
		const struct fl_metric *metric = &result->metrics[m];

		for (size_t i = 0; i < cells; i++) {
			const char *const row[] = { result->scenario, metric->name, metric->phase, metric->unit,
						    result->kernels[i / result->runs] };

			for (size_t c = 0; c < sizeof(row) / sizeof(row[0]); c++) {
				csv_cell(row[c], to);
				fl_text_add_char(to, ',', 1);
			}
			fl_text_add(to, "%llu,%s\n", (unsigned long long)(result->seed + i % result->runs),
				    isnan(metric->values[i]) ? "" :
				    fl_json_number_text(metric->values[i], number, sizeof(number)));
		}
	}
}

static char *letter_of(size_t kernel, char *buffer, size_t length)
{
	if (kernel < 26)
		snprintf(buffer, length, "%c", (char)('A' + kernel));
	else
		snprintf(buffer, length, "K%zu", kernel);
	return buffer;
}

static void mail_row(const struct fl_metric *metric, const struct fl_comparison *c, size_t kernels, struct fl_text *to)
{
	char a[32], b[32], low[32], high[32], interval[80] = "-", p[32] = "-", label[96], letter[24];

	snprintf(label, sizeof(label), "%s%s%s", metric->name, metric->phase[0] ? " " : "", metric->phase);
	if (kernels > 2)
		fl_text_add(to, "%s ", letter_of(c->b, letter, sizeof(letter)));
	if (!isnan(c->ci95[0]))
		snprintf(interval, sizeof(interval), "[%s, %s]", fl_report_number(c->ci95[0], low, sizeof(low)),
			 fl_report_number(c->ci95[1], high, sizeof(high)));
	if (!isnan(c->p_holm))
		fl_report_p(c->p_holm, p, sizeof(p));
	fl_text_add(to, "%-*s %8s %8s  %-18s %7s%s%s\n", kernels > 2 ? 24 : 26, label, fl_report_number(c->mean_a, a, sizeof(a)),
		    fl_report_number(c->mean_b, b, sizeof(b)), interval, p,
		    c->verdict == FL_VERDICT_NONE || c->verdict == FL_VERDICT_NOT_SHOWN ? "" : " ",
		    c->verdict == FL_VERDICT_NOT_SHOWN ? "" : fl_verdict_word(c->verdict));
}

static void mail_single(const struct fl_result *result, struct fl_text *to)
{
	char mean[32], low[32], high[32], label[96];

	fl_text_add(to, "%-40s %9s %9s %9s\n", "metric", "mean", "min", "max");
	for (size_t m = 0; m < result->metrics_count; m++) {
		const struct fl_metric *metric = &result->metrics[m];
		struct fl_report_spread s = fl_report_range(metric->values, result->runs);

		if (!metric->headline)
			continue;
		snprintf(label, sizeof(label), "%s%s%s", metric->name, metric->phase[0] ? " " : "", metric->phase);
		fl_text_add(to, "%-40s %9s %9s %9s\n", label, fl_report_number(s.mean, mean, sizeof(mean)),
			    fl_report_number(s.min, low, sizeof(low)), fl_report_number(s.max, high, sizeof(high)));
	}
}

void fl_report_mail(const struct fl_result *result, struct fl_text *to)
{
	const struct fl_field *command = fl_fields_find(&result->provenance, "command");
	char letter[24];

	fl_report_head(result, to);
	for (size_t k = 0; k < result->kernels_count; k++)
		fl_text_add(to, "%s = %s\n", letter_of(k, letter, sizeof(letter)), result->kernels[k]);
	fl_text_add_char(to, '\n', 1);
	if (result->kernels_count == 1) {
		mail_single(result, to);
	} else {
		fl_text_add(to, "%-26s %8s %8s  %-18s %7s\n", result->kernels_count > 2 ? "  metric" : "metric", "A",
			    result->kernels_count > 2 ? "other" : "B", "95 % of difference", "p");
		for (size_t i = 0; i < result->comparisons_count; i++)
			if (result->metrics[result->comparisons[i].metric].headline)
				mail_row(&result->metrics[result->comparisons[i].metric], &result->comparisons[i],
					 result->kernels_count, to);
	}
	fl_report_notes(result, to);
	if (command && command->text)
		fl_text_add(to, "\nTo run it again:\n  %s\n", command->text);
}

enum { COLUMNS_MAX = 8, WIDTH = 80, GAP = 2 };

/* Widths of all columns but the last of each row. */
static void measure(const char *rows, size_t widths[COLUMNS_MAX])
{
	size_t column = 0;

	memset(widths, 0, COLUMNS_MAX * sizeof(*widths));
	while (*rows) {
		size_t length = strcspn(rows, "\t\n");

		if (rows[length] == '\t' && column < COLUMNS_MAX && widths[column] < length)
			widths[column] = length;
		column = rows[length] == '\t' ? column + 1 : 0;
		rows += length + (rows[length] != '\0');
	}
}

static void add_wrapped(const char *text, size_t length, size_t indent, struct fl_text *to)
{
	size_t column = indent;

	while (length) {
		const char *space = memchr(text, ' ', length);
		size_t word = space ? (size_t)(space - text) : length;

		if (column > indent && column + 1 + word > WIDTH) {
			fl_text_add_char(to, '\n', 1);
			fl_text_add_char(to, ' ', indent);
			column = indent;
		} else if (column > indent) {
			fl_text_add_char(to, ' ', 1);
			column++;
		}
		fl_text_add_bytes(to, text, word);
		column += word;
		text += word + (space != NULL);
		length -= word + (space != NULL);
	}
}

void fl_report_columns(const char *rows, struct fl_text *to)
{
	size_t widths[COLUMNS_MAX], column = 0, at = 0;

	measure(rows, widths);
	while (*rows) {
		size_t length = strcspn(rows, "\t\n");

		if (rows[length] == '\t' && column < COLUMNS_MAX) {
			fl_text_add_bytes(to, rows, length);
			fl_text_add_char(to, ' ', widths[column] - length + GAP);
			at += widths[column++] + GAP;
		} else {
			add_wrapped(rows, length, at, to);
			fl_text_add_char(to, '\n', 1);
			column = at = 0;
		}
		rows += length + (rows[length] != '\0');
	}
}

void fl_report_as(const struct fl_result *result, const char *format, unsigned int show, struct fl_text *to)
{
	if (!strcmp(format, "csv"))
		fl_report_csv(result, to);
	else if (!strcmp(format, "mail"))
		fl_report_mail(result, to);
	else if (!strcmp(format, "mmtests"))
		fl_report_mmtests(result, to);
	else
		fl_report_table(result, show, to);
}
