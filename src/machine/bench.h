/*
 * machine/bench.h - measurements of the model's own speed, for `fraglab bench`. They take CPU time of this process.
 */
#ifndef FL_MACHINE_BENCH_H
#define FL_MACHINE_BENCH_H

#include "base/error.h"

struct fl_bench {
	const char *name, *unit; /* "alloc_free_order0_hot", "ns/pair"; a NULL name ends a table */
	int (*measure)(double *ret_ns, struct fl_error *reterr); /* the best of several loops */
};

extern const struct fl_bench fl_benches[];

#endif
