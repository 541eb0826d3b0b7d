/*
 * base/record.h - what one run measured: the plain structs that machine fills and that stats and report read.
 *
 * A record is a list of samples (metric, phase, value) in the order in which they were taken, plus the state hash,
 * the census at the end and the log of the scenario. It travels from the run's process to the parent as bytes
 * (fl_record_write, fl_record_read), so that only the parent formats.
 */
#ifndef FL_BASE_RECORD_H
#define FL_BASE_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/census.h"
#include "base/error.h"
#include "base/text.h"

enum fl_better { FL_BETTER_NONE, FL_BETTER_HIGHER, FL_BETTER_LOWER };

/* One value of one run. A run that has no value for a phase has a sample with valid = false. */
struct fl_sample {
	char name[72];  /* metric or counter, as in "thp_success_pct" */
	char phase[24]; /* as in "r4", "all", "end" */
	char unit[16];  /* as in "%", "pages", "" for plain counts */
	uint8_t better; /* enum fl_better */
	bool valid;
	bool headline; /* declared by the scenario: shown in tables; others only in JSON, CSV and with --counters */
	double value;
};

struct fl_record {
	uint64_t seed;
	uint64_t state_hash;
	bool died;            /* the load died (out of memory and swap); a result, not an error */
	char died_where[64];  /* phase and cause, as in "r5: swap exhausted" */
	struct fl_sample *samples;
	size_t samples_count, samples_capacity;
	bool has_census;
	struct fl_census census; /* at the end of the run */
	struct fl_text log;      /* print() of the scenario */
	uint64_t virtual_ns;     /* length of the run in virtual time */
	double cpu_s;            /* CPU time that the run cost us (provenance) */
	uint64_t rss_max_bytes;  /* likewise */
};

void fl_record_init(struct fl_record *record);
void fl_record_fini(struct fl_record *record);

/* Appends a sample and returns it, to be filled further; valid until the next call. */
struct fl_sample *fl_record_add(struct fl_record *record, const char *name, const char *phase, double value);
/* Appends a sample whose name is made by `fmt`, with its unit. */
void fl_record_addf(struct fl_record *record, const char *phase, const char *unit, double value, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));

/* The sample (name, phase), or NULL. */
struct fl_sample *fl_record_find(const struct fl_record *record, const char *name, const char *phase);

/* Serialises into / restores from bytes. read: -EINVAL with a sentence on anything truncated or malformed. */
void fl_record_write(const struct fl_record *record, struct fl_text *to);
int fl_record_read(const char *bytes, size_t length, struct fl_record *ret, struct fl_error *reterr);

#endif
