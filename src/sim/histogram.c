/*
 * sim/histogram.c - the log-linear histogram (see histogram.h).
 */
#include "sim/histogram.h"

#include <string.h>

#include "base/bug.h"
#include "base/hash.h"

#define SUB (1u << FL_HISTOGRAM_SUB_BITS)

unsigned int fl_histogram_bucket(uint64_t value)
{
	unsigned int shift;

	if (value < SUB)
		return (unsigned int)value;
	shift = 63 - (unsigned int)__builtin_clzll(value) - FL_HISTOGRAM_SUB_BITS;
	return ((shift + 1) << FL_HISTOGRAM_SUB_BITS) + (unsigned int)(value >> shift & (SUB - 1));
}

uint64_t fl_histogram_bucket_low(unsigned int bucket)
{
	FL_ASSERT(bucket < FL_HISTOGRAM_BUCKETS);
	if (bucket < SUB)
		return bucket;
	return (uint64_t)(SUB + bucket % SUB) << (bucket / SUB - 1);
}

uint64_t fl_histogram_bucket_high(unsigned int bucket)
{
	uint64_t width = bucket < SUB ? 1 : UINT64_C(1) << (bucket / SUB - 1);

	return fl_histogram_bucket_low(bucket) + (width - 1);
}

void fl_histogram_clear(struct fl_histogram *histogram)
{
	memset(histogram, 0, sizeof(*histogram));
}

void fl_histogram_add(struct fl_histogram *histogram, uint64_t value)
{
	if (histogram->total == 0 || value < histogram->min)
		histogram->min = value;
	if (value > histogram->max)
		histogram->max = value;
	histogram->total++;
	histogram->sum += value;
	histogram->counts[fl_histogram_bucket(value)]++;
}

void fl_histogram_merge(struct fl_histogram *to, const struct fl_histogram *from)
{
	if (from->total == 0)
		return;
	if (to->total == 0 || from->min < to->min)
		to->min = from->min;
	if (from->max > to->max)
		to->max = from->max;
	to->total += from->total;
	to->sum += from->sum;
	for (unsigned int i = 0; i < FL_HISTOGRAM_BUCKETS; i++)
		to->counts[i] += from->counts[i];
}

uint64_t fl_histogram_quantile(const struct fl_histogram *histogram, uint32_t num, uint32_t den)
{
	unsigned __int128 wanted = (unsigned __int128)histogram->total * num;
	unsigned __int128 seen = 0;
	unsigned int bucket = 0;

	FL_ASSERT(den >= 1 && num <= den);
	if (histogram->total == 0)
		return 0;
	if (num == 0)
		return histogram->min;
	for (; bucket < FL_HISTOGRAM_BUCKETS; bucket++) {
		seen += (unsigned __int128)histogram->counts[bucket] * den;
		if (seen >= wanted)
			break;
	}
	FL_ASSERT(bucket < FL_HISTOGRAM_BUCKETS);
	return fl_histogram_bucket_high(bucket) < histogram->max ? fl_histogram_bucket_high(bucket) : histogram->max;
}

uint64_t fl_histogram_mean(const struct fl_histogram *histogram)
{
	return histogram->total ? histogram->sum / histogram->total : 0;
}

uint64_t fl_histogram_hash(const struct fl_histogram *histogram, uint64_t hash)
{
	hash = fl_hash_u64(hash, histogram->total);
	hash = fl_hash_u64(hash, histogram->sum);
	hash = fl_hash_u64(hash, histogram->min);
	hash = fl_hash_u64(hash, histogram->max);
	for (unsigned int i = 0; i < FL_HISTOGRAM_BUCKETS; i++) {
		if (histogram->counts[i] == 0)
			continue;
		hash = fl_hash_u64(hash, i);
		hash = fl_hash_u64(hash, histogram->counts[i]);
	}
	return hash;
}
