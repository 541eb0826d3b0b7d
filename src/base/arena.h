/*
 * base/arena.h - large zeroed arrays whose untouched parts cost no memory.
 */
#ifndef FL_BASE_ARENA_H
#define FL_BASE_ARENA_H

#include <stddef.h>

/* Zeroed memory of `size` bytes, reserved but not backed until it is touched; aborts with a sentence when the address
 * space cannot be had. Never memset it: that would back all of it. */
void *fl_arena_new(size_t size);
void *fl_arena_new_dense(size_t size); /* the same for memory that will be used all over: huge pages where there are any */
void fl_arena_free(void *arena, size_t size);

#endif
