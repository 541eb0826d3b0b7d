/* base/arena.c - anonymous mappings without reservation. */
#include "base/arena.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

void *fl_arena_new(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED) {
		fprintf(stderr, "fraglab: out of memory: %zu bytes of address space could not be had\n", size);
		exit(1);
	}
	return p;
}

void *fl_arena_new_dense(size_t size)
{
	void *p = fl_arena_new(size);

	(void)madvise(p, size, MADV_HUGEPAGE); /* a wish: without it everything works, only slower */
	return p;
}

void fl_arena_free(void *arena, size_t size)
{
	if (arena)
		munmap(arena, size);
}
