/*
 * report/work.c - the tables that no kernel prints: who did the work and why it was woken, and what was taken from pageblocks of
 * another type. One row for each sum (by actor; by types and claim or steal), below it its parts (by trigger; by order).
 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/internal.h"
#include "report/table.h"

enum { LABEL = 20, NUMBER = 8, INTERVAL = 22 };

/* Three or four digits and a letter: "4981k". */
static char *short_number(double value, bool sign, char *buffer, size_t length)
{
	static const char letters[] = "kMGTP";
	double size = fabs(value);
	int at = -1;

	if (isnan(value)) {
		snprintf(buffer, length, "-");
		return buffer;
	}
	for (; size >= 9999.5 && at < 4; at++)
		size /= 1000;
	if (at < 0 && size != floor(size) && size < 99.95)
		snprintf(buffer, length, "%s%.3g", value < 0 ? "-" : sign ? "+" : "", size);
	else if (at < 0)
		snprintf(buffer, length, "%s%.0f", value < 0 ? "-" : sign && value > 0 ? "+" : "", size);
	else
		snprintf(buffer, length, "%s%.4g%c", value < 0 ? "-" : sign ? "+" : "", size, letters[at]);
	return buffer;
}

/* The phase that covers the measured part. */
static const char *work_phase(const struct fl_result *result)
{
	const char *phase = "";

	for (size_t m = 0; m < result->metrics_count; m++) {
		if (strncmp(result->metrics[m].name, "work_", 5))
			continue;
		phase = result->metrics[m].phase;
		if (!strcmp(phase, "all") || !strcmp(phase, "end"))
			break;
	}
	return phase;
}

static bool happened(const struct fl_result *result, const struct fl_metric *metric)
{
	for (size_t i = 0; i < result->kernels_count * result->runs; i++)
		if (metric->values[i] != 0 && !isnan(metric->values[i]))
			return true;
	return false;
}

static const struct fl_comparison *find_comparison(const struct fl_result *result, size_t m, size_t b)
{
	for (size_t i = 0; i < result->comparisons_count; i++)
		if (result->comparisons[i].metric == m && result->comparisons[i].b == b)
			return &result->comparisons[i];
	return NULL;
}

static void add_row(const struct fl_result *result, size_t m, size_t b, const char *label, struct fl_text *to)
{
	const struct fl_metric *metric = &result->metrics[m];
	const struct fl_comparison *c = b ? find_comparison(result, m, b) : NULL;
	char x[32], y[32], low[32], high[32], p[32] = "-", interval[80] = "-";

	fl_text_add(to, "%-*s %*s", LABEL, label, NUMBER,
		    short_number(fl_report_range(metric->values, result->runs).mean, false, x, sizeof(x)));
	if (c) {
		if (!isnan(c->ci95[0]))
			snprintf(interval, sizeof(interval), "[%s, %s]", short_number(c->ci95[0], true, low, sizeof(low)),
				 short_number(c->ci95[1], true, high, sizeof(high)));
		if (!isnan(c->p_holm))
			fl_report_p(c->p_holm, p, sizeof(p));
		fl_text_add(to, " %*s  %-*s %7s %s", NUMBER, short_number(c->mean_b, false, y, sizeof(y)), INTERVAL, interval,
			    p, c->verdict == FL_VERDICT_NOT_SHOWN ? "" : fl_verdict_word(c->verdict));
	}
	while (to->length && to->data[to->length - 1] == ' ')
		to->data[--to->length] = '\0';
	fl_text_add_char(to, '\n', 1);
}

/* The place of "_o<digits>_" in the name of an extfrag metric, or NULL. */
static const char *order_place(const char *name)
{
	for (const char *at = strstr(name, "_o"); at; at = strstr(at + 1, "_o"))
		if (isdigit((unsigned char)at[2]))
			return at;
	return NULL;
}

/* Is `part` (of the same phase) one of the numbers that `total` is the sum of? Its label then, else NULL. */
static const char *part_label(const char *total, const char *part, char *label, size_t length)
{
	size_t stem = strlen(total);
	const char *order = order_place(part);

	if (!strncmp(total, "work_", 5)) {
		snprintf(label, length, "    %s", part + stem + 1);
		return !strncmp(part, total, stem) && part[stem] == '_' ? label : NULL;
	}
	stem = (size_t)(strrchr(total, '_') - total);
	if (!order || (size_t)(order - part) != stem || strncmp(part, total, stem) ||
	    strcmp(strrchr(part, '_'), total + stem))
		return NULL;
	snprintf(label, length, "    order %.*s", (int)strspn(order + 2, "0123456789"), order + 2);
	return label;
}

static size_t first_part(const struct fl_result *result, size_t total, size_t from, char *label, size_t length)
{
	for (; from < result->metrics_count; from++)
		if (from != total && !strcmp(result->metrics[from].phase, result->metrics[total].phase) &&
		    part_label(result->metrics[total].name, result->metrics[from].name, label, length))
			break;
	return from;
}

/* "migrate_scanned" of work_migrate_scanned_direct; "unmovable from movable" of extfrag_unmovable_movable_claim. */
static void heading_of(const char *total, char *heading, size_t length)
{
	const char *word = strchr(total, '_') + 1, *end = strrchr(total, '_'), *middle = strchr(word, '_');

	if (!strncmp(total, "work_", 5))
		snprintf(heading, length, "%.*s", (int)(end - word), word);
	else
		snprintf(heading, length, "%.*s from %.*s", (int)(middle - word), word, (int)(end - middle - 1), middle + 1);
}

static void add_group(const struct fl_result *result, size_t total, size_t b, struct fl_text *to)
{
	char label[72];

	snprintf(label, sizeof(label), "  %s", strrchr(result->metrics[total].name, '_') + 1);
	add_row(result, total, b, label, to);
	for (size_t m = first_part(result, total, 0, label, sizeof(label)); m < result->metrics_count;
	     m = first_part(result, total, m + 1, label, sizeof(label)))
		if (happened(result, &result->metrics[m]))
			add_row(result, m, b, label, to);
}

/* All sums whose names begin so, with a heading where it changes. */
static bool add_sums(const struct fl_result *result, const char *begin, const char *phase, size_t b, struct fl_text *to)
{
	char last[72] = "", heading[72], label[72];
	bool any = false;

	for (size_t m = 0; m < result->metrics_count; m++) {
		const struct fl_metric *metric = &result->metrics[m];

		if (strncmp(metric->name, begin, strlen(begin)) || strcmp(metric->phase, phase) || order_place(metric->name) ||
		    !happened(result, metric) || first_part(result, m, 0, label, sizeof(label)) == result->metrics_count)
			continue;
		heading_of(metric->name, heading, sizeof(heading));
		if (strcmp(heading, last))
			fl_text_add(to, "%s\n", heading);
		snprintf(last, sizeof(last), "%s", heading);
		add_group(result, m, b, to);
		any = true;
	}
	return any;
}

static void add_table(const struct fl_result *result, const char *title, const char *begin, const char *phase, size_t b,
		      struct fl_text *to)
{
	fl_text_add(to, "\n%s, %s\n", title, phase[0] ? phase : "the whole run");
	if (b)
		fl_text_add(to, "A = %s\nB = %s\n%-*s %*s %*s  %-*s %7s\n", result->kernels[0], result->kernels[b], LABEL, "",
			    NUMBER, "A", NUMBER, "B", INTERVAL, "95 % of difference", "p");
	else
		fl_text_add(to, "%-*s %*s\n", LABEL, "", NUMBER, "mean");
	if (!add_sums(result, begin, phase, b, to))
		fl_text_add(to, "  none\n");
}

void fl_report_work(const struct fl_result *result, struct fl_text *to)
{
	const char *phase = work_phase(result);

	for (size_t b = result->kernels_count > 1; b < result->kernels_count; b++) {
		add_table(result, "Work by actor, and by what woke it", "work_", phase, b, to);
		add_table(result, "Taken from pageblocks of another type", "extfrag_", phase, b, to);
	}
}
