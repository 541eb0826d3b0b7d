/*
 * cli/fidelity.h - figures of the real kernel beside those of the model, and the bands that they must meet.
 *
 * The bands with their reasons are one table in fidelity_bands.c. A row is one metric in one phase of one scenario.
 */
#ifndef FL_CLI_FIDELITY_H
#define FL_CLI_FIDELITY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/record.h"
#include "base/result.h"

/* Scenarios of scenarios/fidelity, NULL-terminated, in the order in which they run. */
extern const char *const fl_fidelity_scenarios[];

enum fl_fidelity_verdict {
	FL_FIDELITY_WITHIN,
	FL_FIDELITY_NOISE,   /* outside, by less than what the host does by itself in the time of the phase */
	FL_FIDELITY_OUTSIDE,
	FL_FIDELITY_UNKNOWN, /* one side has no figure */
};

struct fl_fidelity_row {
	char scenario[24], name[72], phase[24];
	double real, model; /* NaN: none */
	double real_most;   /* where the host cannot tell for certain: the real figure lies between the two */
	double noise;       /* what the idle host would have counted in that time; 0: not known */
	const char *band;   /* as printed */
	enum fl_fidelity_verdict verdict;
};

struct fl_fidelity_rows {
	struct fl_fidelity_row *list;
	size_t count;
};

/* What an idle host counts in a second, by vmstat name. */
struct fl_fidelity_noise {
	struct fl_fidelity_rate {
		char name[72];
		double per_s;
	} *list;
	size_t count;
};

/* Adds the rows of one scenario, and to the records their extfrag events summed by wanted and taken type. Metrics without a band, and phases where both sides are 0, are left out. */
void fl_fidelity_compare(const char *scenario, struct fl_record *real, struct fl_record *model,
			 const struct fl_fidelity_noise *noise, struct fl_fidelity_rows *to);

/* A row that must be exact. */
void fl_fidelity_add_exact(const char *name, double real, double model, struct fl_fidelity_rows *to);

/* The means of kernel 0 of a stored result as a record. */
void fl_fidelity_record(const struct fl_result *result, struct fl_record *ret);

/* A table for people, and fraglab.fidelity.v1. `all`: rows within their band too. */
void fl_fidelity_print(const struct fl_fidelity_rows *rows, bool all, struct fl_text *to);
void fl_fidelity_write_json(const struct fl_fidelity_rows *rows, const char *release, const char *kernel,
			    struct fl_text *to);

const char *fl_fidelity_verdict_word(enum fl_fidelity_verdict verdict);
void fl_fidelity_rows_fini(struct fl_fidelity_rows *rows);

#endif
