/*
 * base/hash.h - a 64-bit running hash for state hashes and keys of random streams.
 *
 * Not cryptographic. The value depends on the sequence of words only, never on padding, addresses or byte order.
 */
#ifndef FL_BASE_HASH_H
#define FL_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* Finaliser of splitmix64 (Steele, Lea, Flood 2014): a bijection of 64-bit words with good avalanche. */
static inline uint64_t fl_hash_mix(uint64_t x)
{
	x ^= x >> 30;
	x *= 0xbf58476d1ce4e5b9u;
	x ^= x >> 27;
	x *= 0x94d049bb133111ebu;
	x ^= x >> 31;
	return x;
}

/* Folds one word into a running hash. Start with 0. */
static inline uint64_t fl_hash_u64(uint64_t hash, uint64_t word)
{
	return fl_hash_mix((hash ^ word) * 0x9e3779b97f4a7c15u + 0x632be59bd9b4e019u);
}

/* Folds a byte string and its length. */
uint64_t fl_hash_bytes(uint64_t hash, const void *bytes, size_t length);
uint64_t fl_hash_text(uint64_t hash, const char *text);

#endif
