/*
 * scenario/sampler.h - integer samplers: uniform is base/rng.h, these are the lognormal and the Zipf distribution.
 *
 * Computed in fixed point with 64- and 128-bit integers, so that every compiler and processor draws the same numbers.
 */
#ifndef FL_SCENARIO_SAMPLER_H
#define FL_SCENARIO_SAMPLER_H

#include "base/rng.h"

/* Lognormal with this median and shape sigma = sigma_percent/100 (at most 300): median x e^(sigma z). z is the sum of twelve
 * uniform numbers less 6, so it stays within -6..6. At least 1; median at most 2^40. */
uint64_t fl_sample_lognormal(struct fl_rng *rng, uint64_t median, unsigned int sigma_percent);

/* Cumulative weights of the Zipf distributions that a run has asked for. */
#define FL_ZIPF_N_MAX (1u << 20)
#define FL_ZIPF_TABLES 8
struct fl_zipf_tables {
	struct {
		uint32_t n;
		unsigned int percent;
		uint64_t *cumulative;
	} table[FL_ZIPF_TABLES];
	unsigned int next;
};
void fl_zipf_fini(struct fl_zipf_tables *tables);

/* A rank from 1 to n with weight rank^-(percent/100). 1 <= n <= FL_ZIPF_N_MAX, percent at most 400. */
uint64_t fl_sample_zipf(struct fl_zipf_tables *tables, struct fl_rng *rng, uint32_t n, unsigned int percent);

/* 2^(x / 2^32) in 2^32nds for 0 <= x < 2^32, and log2(n) in 2^32nds: for tests. */
uint64_t fl_fixed_exp2(uint32_t x);
uint64_t fl_fixed_log2(uint64_t n);

#endif
