/*
 * scenario/sampler.c - lognormal and Zipf draws in fixed point.
 */
#include "scenario/sampler.h"

#include <stdlib.h>

#include "base/bug.h"
#include "base/text.h"

typedef unsigned __int128 wide;

/* 2^(2^-i) in 2^62nds, i = 1..32, each the square root of the one before; made once by integer square roots. */
static uint64_t root_of_two[33];

static uint64_t square_root(wide x)
{
	uint64_t root = 0;

	for (int bit = 63; bit >= 0; bit--) {
		uint64_t next = root | UINT64_C(1) << bit;

		if ((wide)next * next <= x)
			root = next;
	}
	return root;
}

static void make_roots(void)
{
	root_of_two[0] = UINT64_C(1) << 63; /* 2 */
	for (int i = 1; i <= 32; i++)
		root_of_two[i] = square_root((wide)root_of_two[i - 1] << 62);
}

uint64_t fl_fixed_exp2(uint32_t x)
{
	uint64_t product = UINT64_C(1) << 62;

	if (!root_of_two[1])
		make_roots();
	for (int i = 1; i <= 32; i++)
		if (x & UINT32_C(1) << (32 - i))
			product = (uint64_t)((wide)product * root_of_two[i] >> 62);
	return product >> 30;
}

/* Digit by digit: squaring doubles the logarithm. */
uint64_t fl_fixed_log2(uint64_t n)
{
	unsigned int whole = 63 - (unsigned int)__builtin_clzll(n);
	uint64_t mantissa = n << (63 - whole), fraction = 0; /* 1.x in 2^63rds */

	for (int i = 0; i < 32; i++) {
		wide square = (wide)mantissa * mantissa >> 63;

		fraction <<= 1;
		if (square >> 64) {
			fraction |= 1;
			square >>= 1;
		}
		mantissa = (uint64_t)square;
	}
	return (uint64_t)whole << 32 | fraction;
}

/* 2^(x / 2^32) x scale for any sign of x; the result is cut to 2^62. */
static uint64_t scale_exp2(uint64_t scale, int64_t x)
{
	int64_t whole = x >> 32;
	wide value = (wide)scale * fl_fixed_exp2((uint32_t)x);

	if (whole >= 0)
		value = whole > 60 || value >> (94 - whole) ? (wide)1 << 94 : value << whole;
	else
		value = whole < -95 ? 0 : value >> -whole;
	return (uint64_t)((value + (UINT64_C(1) << 31)) >> 32);
}

#define LOG2_E_2_32 INT64_C(6196328019) /* log2(e) x 2^32 */

uint64_t fl_sample_lognormal(struct fl_rng *rng, uint64_t median, unsigned int sigma_percent)
{
	int64_t z = 0; /* in 2^32nds */
	uint64_t value;
	__int128 exponent;

	FL_ASSERT(median >= 1 && median <= UINT64_C(1) << 40 && sigma_percent <= 300);
	for (int i = 0; i < 12; i++)
		z += (int64_t)(fl_rng_u64(rng) >> 32);
	z -= INT64_C(6) << 32;
	exponent = (__int128)z * LOG2_E_2_32 / 100 * sigma_percent;
	value = scale_exp2(median, (int64_t)(exponent >> 32));
	return value ? value : 1;
}

void fl_zipf_fini(struct fl_zipf_tables *tables)
{
	for (unsigned int i = 0; i < FL_ZIPF_TABLES; i++)
		free(tables->table[i].cumulative);
}

static const uint64_t *zipf_table(struct fl_zipf_tables *tables, uint32_t n, unsigned int percent)
{
	uint64_t *cumulative, sum = 0;
	unsigned int i;

	for (i = 0; i < FL_ZIPF_TABLES; i++)
		if (tables->table[i].cumulative && tables->table[i].n == n && tables->table[i].percent == percent)
			return tables->table[i].cumulative;
	i = tables->next++ % FL_ZIPF_TABLES;
	cumulative = fl_xrealloc(tables->table[i].cumulative, n * sizeof(*cumulative));
	for (uint32_t rank = 1; rank <= n; rank++) {
		uint64_t weight = scale_exp2(UINT64_C(1) << 40, -(int64_t)(fl_fixed_log2(rank) / 100 * percent));

		sum += weight ? weight : 1;
		cumulative[rank - 1] = sum;
	}
	tables->table[i].n = n;
	tables->table[i].percent = percent;
	tables->table[i].cumulative = cumulative;
	return cumulative;
}

uint64_t fl_sample_zipf(struct fl_zipf_tables *tables, struct fl_rng *rng, uint32_t n, unsigned int percent)
{
	const uint64_t *cumulative;
	uint32_t low = 0, high = n - 1;
	uint64_t draw;

	FL_ASSERT(n >= 1 && n <= FL_ZIPF_N_MAX && percent <= 400);
	cumulative = zipf_table(tables, n, percent);
	draw = fl_rng_below(rng, cumulative[n - 1]);
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (cumulative[middle] > draw)
			high = middle;
		else
			low = middle + 1;
	}
	return low + 1;
}
