/* report/internal.h - pieces that the tables, the mail text and the CSV share; not for other rooms. */
#ifndef FL_REPORT_INTERNAL_H
#define FL_REPORT_INTERNAL_H

#include "base/result.h"
#include "base/text.h"

/* A line of words at columns; a word that would pass column 80 opens a new line at `indent`. */
struct fl_report_line {
	struct fl_text *to;
	size_t indent, length;
};
void fl_report_line_init(struct fl_report_line *line, struct fl_text *to, size_t indent);
/* column 0: two spaces behind the last word. */
void fl_report_line_add(struct fl_report_line *line, size_t column, const char *word);
void fl_report_line_end(struct fl_report_line *line);

/* Mean and range over the values that are there; NaN without any. */
struct fl_report_spread {
	size_t n_valid;
	double mean, min, max;
};
struct fl_report_spread fl_report_range(const double *values, size_t count);

/* The figure that belongs to a kernel (of that index in the comparison): the base's, the change's, or "". */
const char *fl_report_published(const struct fl_published *published, size_t kernel);
/* What ran: scenario, backend, runs, machine, options, tunables. */
void fl_report_head(const struct fl_result *result, struct fl_text *to);
/* Runs that died or are missing. */
void fl_report_notes(const struct fl_result *result, struct fl_text *to);
/* A p value for people: two digits, or "<0.0001". */
void fl_report_p(double p, char *buffer, size_t length);

#endif
