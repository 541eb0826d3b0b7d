/*
 * report/table.h - a result for people: tables at 80 columns, CSV, and the text for a mail.
 */
#ifndef FL_REPORT_TABLE_H
#define FL_REPORT_TABLE_H

#include "base/result.h"
#include "base/text.h"

/* A number for people: 4 significant digits, whole numbers up to 7 digits as they are; "-" for NaN. 32 bytes do. */
char *fl_report_number(double value, char *buffer, size_t length);

/* What tables show above the headline metrics. */
#define FL_REPORT_ALL (1u << 0)   /* all metrics */
#define FL_REPORT_STATS (1u << 1) /* SD, Wilcoxon, and the runs that a rebooted machine would need, below each difference */
#define FL_REPORT_WORK (1u << 2)  /* who did the work and why, and extfrag events */

/* Headline metrics by phase, then what went wrong. With one kernel: mean (range) only. */
void fl_report_table(const struct fl_result *result, unsigned int show, struct fl_text *to);

/* Work by actor and trigger, and extfrag events by types, order, claim or steal, over the measured part (report/work.c). */
void fl_report_work(const struct fl_result *result, struct fl_text *to);

/* The rows of mmtests' tables of thpchallenge and vmstat (report/mmtests.c). */
void fl_report_mmtests(const struct fl_result *result, struct fl_text *to);

/* One line for each metric, kernel and run: scenario,metric,phase,unit,kernel,seed,value (empty: none). */
void fl_report_csv(const struct fl_result *result, struct fl_text *to);

/* Plain text to paste into a mail: what ran, one line for each headline metric and phase, how to run it again. */
void fl_report_mail(const struct fl_result *result, struct fl_text *to);

/* The one that `format` names: table (which shows what `show` says), csv, mail, mmtests. */
void fl_report_as(const struct fl_result *result, const char *format, unsigned int show, struct fl_text *to);

/* Rows of cells divided by tabs, aligned in columns; the last column is wrapped at 80 columns. */
void fl_report_columns(const char *rows, struct fl_text *to);

#endif
