/*
 * sim/histogram.h - a log-linear histogram of integers: latencies with bounded relative error.
 *
 * 32 linear buckets per power of two: values below 32 are exact, others fall into a bucket at most 1/32 wide relative to
 * its lower bound. All zero is an empty histogram. 64-bit counts, integers only.
 */
#ifndef FL_SIM_HISTOGRAM_H
#define FL_SIM_HISTOGRAM_H

#include <stdint.h>

#define FL_HISTOGRAM_SUB_BITS 5
#define FL_HISTOGRAM_BUCKETS ((64 - FL_HISTOGRAM_SUB_BITS + 1) << FL_HISTOGRAM_SUB_BITS)

struct fl_histogram {
	uint64_t total; /* number of values */
	uint64_t sum;   /* of the values themselves, wraps beyond 2^64 */
	uint64_t min, max;
	uint64_t counts[FL_HISTOGRAM_BUCKETS];
};

void fl_histogram_clear(struct fl_histogram *histogram);
void fl_histogram_add(struct fl_histogram *histogram, uint64_t value);
/* Adds all values of `from`. */
void fl_histogram_merge(struct fl_histogram *to, const struct fl_histogram *from);

/* The value below or at which num/den of all values lie: the upper bound of that bucket, never above max. 0 if empty.
 * 0 <= num <= den, den at least 1. The median is (1, 2), p99 (99, 100). */
uint64_t fl_histogram_quantile(const struct fl_histogram *histogram, uint32_t num, uint32_t den);
/* The mean rounded down, 0 if empty. */
uint64_t fl_histogram_mean(const struct fl_histogram *histogram);

/* Bucket of a value; lowest and highest value of a bucket. */
unsigned int fl_histogram_bucket(uint64_t value);
uint64_t fl_histogram_bucket_low(unsigned int bucket);
uint64_t fl_histogram_bucket_high(unsigned int bucket);

uint64_t fl_histogram_hash(const struct fl_histogram *histogram, uint64_t hash);

#endif
