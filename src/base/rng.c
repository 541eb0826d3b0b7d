/* base/rng.c - seeding of streams and bounded draws. */
#include "base/rng.h"

#include "base/bug.h"
#include "base/hash.h"
#include "base/text.h"

void fl_rng_init(struct fl_rng *rng, uint64_t seed, const char *name, uint64_t ordinal)
{
	uint64_t key = fl_hash_u64(fl_hash_text(fl_hash_u64(0, seed), name), ordinal);

	for (int i = 0; i < 4; i++) {
		key += 0x9e3779b97f4a7c15u;
		rng->s[i] = fl_hash_mix(key);
	}
}

uint64_t fl_rng_below(struct fl_rng *rng, uint64_t n)
{
	/* Lemire 2019: multiply, and reject the few low products that would favour small values. */
	unsigned __int128 product;
	uint64_t threshold;

	FL_ASSERT(n > 0);
	product = (unsigned __int128)fl_rng_u64(rng) * n;
	if ((uint64_t)product < n) {
		threshold = -n % n;
		while ((uint64_t)product < threshold)
			product = (unsigned __int128)fl_rng_u64(rng) * n;
	}
	return (uint64_t)(product >> 64);
}

uint64_t fl_rng_between(struct fl_rng *rng, uint64_t low, uint64_t high)
{
	FL_ASSERT(low <= high);
	if (high - low == UINT64_MAX)
		return fl_rng_u64(rng);
	return low + fl_rng_below(rng, high - low + 1);
}

void fl_rng_order(struct fl_rng *rng, uint32_t *order, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		uint32_t place = (uint32_t)fl_rng_below(rng, i + 1);

		order[i] = order[place];
		order[place] = i;
	}
}

uint32_t *fl_rng_shuffled(uint32_t count, uint32_t wanted, uint64_t draw)
{
	uint32_t *order = fl_xmalloc((count ? count : 1) * sizeof(*order));
	struct fl_rng rng;

	fl_rng_init(&rng, draw, "order", 0);
	for (uint32_t i = 0; i < count; i++)
		order[i] = i;
	for (uint32_t i = 0; i < wanted && i < count; i++) {
		uint32_t other = i + (uint32_t)fl_rng_below(&rng, count - i), swap = order[i];

		order[i] = order[other];
		order[other] = swap;
	}
	return order;
}
