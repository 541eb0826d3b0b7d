/* base/hash.c - hashing of byte strings. */
#include "base/hash.h"

#include <string.h>

uint64_t fl_hash_bytes(uint64_t hash, const void *bytes, size_t length)
{
	const unsigned char *p = bytes;
	uint64_t word = 0;
	unsigned int filled = 0;

	for (size_t i = 0; i < length; i++) {
		word |= (uint64_t)p[i] << (8 * filled);
		if (++filled == 8) {
			hash = fl_hash_u64(hash, word);
			word = 0;
			filled = 0;
		}
	}
	if (filled)
		hash = fl_hash_u64(hash, word);
	return fl_hash_u64(hash, length);
}

uint64_t fl_hash_text(uint64_t hash, const char *text)
{
	return fl_hash_bytes(hash, text, strlen(text));
}
