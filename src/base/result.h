/*
 * base/result.h - the result of a comparison (or of one kernel): plain structs between pool, stats and report.
 *
 * Owns everything that it points at. Metrics hold one value for each kernel and run; a run without a value has NaN
 * (null in the document). Kernel 0 is the base of every comparison. The order of metrics is that of the first run
 * that has them, kernels before runs.
 */
#ifndef FL_BASE_RESULT_H
#define FL_BASE_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/record.h"

/* One named value of the options, the machine or the provenance. */
enum fl_field_kind { FL_FIELD_INT, FL_FIELD_BOOL, FL_FIELD_REAL, FL_FIELD_TEXT };
enum fl_field_unit { FL_UNIT_NONE, FL_UNIT_BYTES, FL_UNIT_NS };
struct fl_field {
	char *name;
	enum fl_field_kind kind;
	enum fl_field_unit unit; /* of INT, for printing */
	int64_t number; /* INT, BOOL */
	double real;    /* REAL; NaN: null */
	char *text;     /* TEXT; NULL: null */
};

struct fl_fields {
	struct fl_field *list;
	size_t count;
};

struct fl_metric {
	char name[72], phase[24], unit[16];
	enum fl_better better;
	bool headline;
	double *values; /* [kernel * runs + run]; NaN: none */
};

enum fl_verdict {
	FL_VERDICT_NONE,      /* nothing can be said: fewer than two pairs */
	FL_VERDICT_BETTER,
	FL_VERDICT_WORSE,
	FL_VERDICT_HIGHER,    /* a metric without a better direction */
	FL_VERDICT_LOWER,
	FL_VERDICT_NOT_SHOWN, /* no difference shown */
};

/* "", "better", "worse", "higher", "lower", "no difference shown". */
const char *fl_verdict_word(enum fl_verdict verdict);

/* Kernel b against the base a, paired by seed. Statistics that cannot be had are NaN. */
struct fl_comparison {
	size_t metric;   /* index into metrics */
	size_t a, b;     /* kernels */
	size_t n_valid;  /* pairs in which both have a value */
	double mean_a, mean_b, sd_a, sd_b; /* over the pairs that count */
	double diff;           /* mean of b - a */
	double ci95[2];        /* of diff */
	double p;              /* paired t */
	double p_wilcoxon;     /* signed rank */
	double runs_needed;    /* independent runs of each kernel that would show diff (power 80 %); NaN: none, or unknown */
	double p_holm;         /* p after Holm's correction over the table */
	enum fl_verdict verdict;
};

/* A figure that somebody published for a metric and phase: what they had before (base) and after the change. */
struct fl_published {
	char name[72], phase[24];
	char base[32], changed[32]; /* text as published, "" = none */
	char change[40];            /* patch or set, as in "mobility": whose kernels `changed` is for; "": all but the first */
	uint64_t changed_kernels;   /* bit k: kernel k has that change */
};

/* A run that has no record: its process died, or it failed; or whose load died (a result, not a fault). */
struct fl_run_note {
	size_t kernel, run;
	bool died; /* the load died, the record is there; otherwise the run is missing */
	char text[256];
};

struct fl_result {
	char *scenario;
	char *backend;
	struct fl_fields options, machine, tunables, provenance;
	char **kernels;
	size_t kernels_count;
	uint64_t seed; /* of run 0; run i has seed + i */
	size_t runs;
	bool interrupted; /* not all runs that were wanted are there */
	struct fl_metric *metrics;
	size_t metrics_count;
	size_t *index, index_slots; /* of metrics by name and phase; private */
	struct fl_comparison *comparisons; /* filled by stats */
	size_t comparisons_count;
	struct fl_published *published;
	size_t published_count;
	struct fl_run_note *notes;
	size_t notes_count;
	uint64_t *state_hash;  /* [kernel * runs + run] */
	bool *present;         /* likewise: the run ended and its record is here */
};

void fl_result_init(struct fl_result *result);
void fl_result_fini(struct fl_result *result);

void fl_fields_add_int(struct fl_fields *fields, const char *name, int64_t value);
void fl_fields_add_quantity(struct fl_fields *fields, const char *name, int64_t value, enum fl_field_unit unit);
void fl_fields_add_bool(struct fl_fields *fields, const char *name, bool value);
void fl_fields_add_real(struct fl_fields *fields, const char *name, double value);
void fl_fields_add_text(struct fl_fields *fields, const char *name, const char *value);
void fl_fields_fini(struct fl_fields *fields);
const struct fl_field *fl_fields_find(const struct fl_fields *fields, const char *name);

/* Sets kernels and runs and makes room; nothing is present yet. */
void fl_result_shape(struct fl_result *result, const char *const *kernels, size_t kernels_count, size_t runs);

/* Takes the samples, the hash and the note of death of one run over from its record (copied). */
void fl_result_take(struct fl_result *result, size_t kernel, size_t run, const struct fl_record *record);

void fl_result_add_note(struct fl_result *result, size_t kernel, size_t run, bool died, const char *text);

/* The metric (name, phase), made without values when it is new. Valid until the next one is made. */
struct fl_metric *fl_result_add_metric(struct fl_result *result, const char *name, const char *phase);

/* The metric (name, phase), or NULL. */
const struct fl_metric *fl_result_find(const struct fl_result *result, const char *name, const char *phase);
const struct fl_published *fl_result_find_published(const struct fl_result *result, const char *name,
						    const char *phase);

#endif
