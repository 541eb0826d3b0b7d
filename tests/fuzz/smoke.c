/*
 * tests/fuzz/smoke.c - runs a fuzz target without a fuzzer: the seed files, then a fixed number of mutations of each.
 *
 * The mutations are the same in every run, so that a failure repeats. The real thing is libFuzzer: -Dfuzzers=true.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MUTATIONS = 3000, EXTRA = 64 };

static uint8_t *read_seed(const char *path, size_t *ret_size)
{
	FILE *file = fopen(path, "r");
	uint8_t *data = malloc(1 << 20);

	if (!file || !data)
		exit(1);
	*ret_size = fread(data, 1, 1 << 20, file);
	fclose(file);
	return data;
}

/* Changes, removes or doubles a stretch; returns the new size. There is room for EXTRA more bytes. */
static size_t mutate(struct fl_rng *rng, uint8_t *data, size_t size)
{
	size_t at = size ? fl_rng_below(rng, size) : 0, length = fl_rng_between(rng, 1, EXTRA);

	switch (fl_rng_below(rng, 4)) {
	case 0:
		if (size)
			data[at] = (uint8_t)fl_rng_u64(rng);
		return size;
	case 1:
		return at; /* cut off */
	case 2:
		length = length < size - at ? length : size - at;
		memmove(data + at, data + at + length, size - at - length);
		return size - length;
	default:
		length = length < size - at ? length : size - at;
		memmove(data + at + length, data + at, size - at);
		return size + length;
	}
}

static void fuzz(struct fl_rng *rng, const uint8_t *seed, size_t size)
{
	LLVMFuzzerTestOneInput(seed, size);
	for (int i = 0; i < MUTATIONS; i++) {
		/* memory of exactly the size, so that a sanitizer sees a read behind the end */
		uint8_t *work = malloc(size + 4 * EXTRA + 1), *exact;
		size_t now = size;

		memcpy(work, seed, size);
		for (uint64_t n = fl_rng_between(rng, 1, 4); n > 0; n--)
			now = mutate(rng, work, now);
		exact = malloc(now ? now : 1);
		memcpy(exact, work, now);
		LLVMFuzzerTestOneInput(exact, now);
		free(exact);
		free(work);
	}
}

int main(int argc, char **argv)
{
	struct fl_rng rng;

	fl_rng_init(&rng, 1, "fuzz", 0);
	fuzz(&rng, (const uint8_t *)"", 0);
	for (int i = 1; i < argc; i++) {
		size_t size;
		uint8_t *seed = read_seed(argv[i], &size);

		fuzz(&rng, seed, size);
		free(seed);
	}
	return 0;
}
