/*
 * base/rng.h - random streams.
 *
 * The only maker of random numbers. Every stream is keyed by (root seed, name, ordinal), so that adding a stream or
 * changing the kernel never shifts the draws of another one: two kernels see the same load (common random numbers).
 * Generator: xoshiro256** (Blackman and Vigna 2018), seeded through splitmix64. Integers only.
 */
#ifndef FL_BASE_RNG_H
#define FL_BASE_RNG_H

#include <stdbool.h>
#include <stdint.h>

struct fl_rng {
	uint64_t s[4];
};

/* Makes the stream (seed, name, ordinal); the caller owns the memory, nothing to free. */
void fl_rng_init(struct fl_rng *rng, uint64_t seed, const char *name, uint64_t ordinal);

static inline uint64_t fl_rng_rotl(uint64_t x, int k)
{
	return (x << k) | (x >> (64 - k));
}

/* The next 64 bits. */
static inline uint64_t fl_rng_u64(struct fl_rng *rng)
{
	uint64_t result = fl_rng_rotl(rng->s[1] * 5, 7) * 9;
	uint64_t t = rng->s[1] << 17;

	rng->s[2] ^= rng->s[0];
	rng->s[3] ^= rng->s[1];
	rng->s[1] ^= rng->s[2];
	rng->s[0] ^= rng->s[3];
	rng->s[2] ^= t;
	rng->s[3] = fl_rng_rotl(rng->s[3], 45);
	return result;
}

/* Uniform in [0, n), without bias; n must be at least 1. */
uint64_t fl_rng_below(struct fl_rng *rng, uint64_t n);

/* Uniform in [low, high], both included; low <= high. */
uint64_t fl_rng_between(struct fl_rng *rng, uint64_t low, uint64_t high);
/* order[] = 0 .. count-1, each order alike likely. */
void fl_rng_order(struct fl_rng *rng, uint32_t *order, uint32_t count);
/* Order of `count` things drawn from `draw`, the first `wanted` of it (free()): the same in the model and on a live host. */
uint32_t *fl_rng_shuffled(uint32_t count, uint32_t wanted, uint64_t draw);

/* True with probability num/den; den at least 1. Draws exactly one number of the stream or more, never none. */
static inline bool fl_rng_chance(struct fl_rng *rng, uint64_t num, uint64_t den)
{
	return fl_rng_below(rng, den) < num;
}

#endif
