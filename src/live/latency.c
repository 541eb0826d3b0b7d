/*
 * live/latency.c - histograms of the times of accesses, and what of them were faults.
 */
#include <stdio.h>

#include "live/wire.h"

#define FIRST_BIT 4

unsigned int fl_live_latency_bucket(uint64_t ns)
{
	unsigned int bit, bucket;

	if (ns < 1u << FIRST_BIT)
		return 0;
	bit = 63 - (unsigned int)__builtin_clzll(ns);
	bucket = (bit - FIRST_BIT) * FL_LIVE_LATENCY_STEPS + (unsigned int)(ns >> (bit - 3) & (FL_LIVE_LATENCY_STEPS - 1));
	return bucket < FL_LIVE_LATENCY_BUCKETS ? bucket : FL_LIVE_LATENCY_BUCKETS - 1;
}

uint64_t fl_live_latency_value(unsigned int bucket)
{
	unsigned int bit = FIRST_BIT + bucket / FL_LIVE_LATENCY_STEPS;
	uint64_t step = UINT64_C(1) << (bit - 3);

	return (FL_LIVE_LATENCY_STEPS + bucket % FL_LIVE_LATENCY_STEPS) * step + step / 2;
}

void fl_live_latency_keep(struct fl_live_latency *l, uint64_t faults)
{
	uint64_t left = faults;

	l->faults = l->sum_ns = 0;
	for (unsigned int i = FL_LIVE_LATENCY_BUCKETS; i-- > 0;) {
		if (l->counts[i] > left)
			l->counts[i] = (uint32_t)left;
		left -= l->counts[i];
		l->faults += l->counts[i];
		l->sum_ns += l->counts[i] * fl_live_latency_value(i);
	}
}

uint64_t fl_live_latency_quantile(const struct fl_live_latency *l, uint32_t num, uint32_t den)
{
	uint64_t rank = (l->faults * num + den - 1) / den, seen = 0;

	for (unsigned int i = 0; i < FL_LIVE_LATENCY_BUCKETS; i++) {
		seen += l->counts[i];
		if (rank && seen >= rank)
			return fl_live_latency_value(i);
	}
	return 0;
}
