/*
 * calibrate/calibrate.h - what the kernel's work takes on this host: measurements behind the table of costs (sim/cost_table.h).
 *
 * A measurement does something many times and gives nanoseconds of CPU for one; repetitions give a median and a spread.
 * A cost is a measurement less the costs of what else was done meanwhile. Of the host's settings only sizes of huge pages that
 * are off are changed, for an instant and under guard (order.c); vm.compact_memory is written to, where that is allowed. All
 * memory goes at the end.
 *
 * Sees base only: names and defaults of the costs come from the caller.
 */
#ifndef FL_CALIBRATE_CALIBRATE_H
#define FL_CALIBRATE_CALIBRATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"

enum { FL_CALIBRATE_REPETITIONS_MAX = 101 };

struct fl_calibrate_options {
	int64_t memory_bytes;  /* budget of memory in use at a time; at least 96 MiB */
	unsigned int repetitions;
	const char *folder;    /* for files on a disk */
	/* The default of a cost; false if there is no such cost. */
	bool (*cost_of)(const char *name, uint32_t *ret);
	/* Called before each measurement (may be NULL); `stop` is looked at between repetitions (may be NULL). */
	void (*progress)(const char *what, unsigned int done, unsigned int count);
	const volatile int *stop;
};

struct fl_calibrated {
	const char *name;      /* of the measurement */
	const char *method;    /* one clause */
	const char *cost;      /* that it gives; NULL: it serves others */
	bool measured;
	double median_ns, low_ns, high_ns;  /* of the repetitions */
	unsigned int repetitions;
	bool has_value;
	uint32_t value;        /* of the cost */
	char less[128];        /* what was taken off, as in "zero_4k + alloc_pcp"; "" for nothing */
	char why_not[200];     /* a clause where there is no measurement, or no value */
};

struct fl_calibration {
	struct fl_calibrated *rows; /* owned */
	size_t count;
	bool stopped;
};

/* Measures everything. Class LACKING without enough free memory; a single measurement that cannot be made is a row that says so. */
int fl_calibrate(const struct fl_calibrate_options *options, struct fl_calibration *ret, struct fl_error *reterr);
void fl_calibration_fini(struct fl_calibration *calibration);

/* The cost measured under that name, or NULL. */
const struct fl_calibrated *fl_calibration_find(const struct fl_calibration *calibration, const char *cost);

#endif
