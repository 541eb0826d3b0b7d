/*
 * mm/check.h - the full-state check: every invariant of allocator.md 11 over every frame. For tests and after phases.
 */
#ifndef FL_MM_CHECK_H
#define FL_MM_CHECK_H

#include "mm/mem.h"

/* Aborts through FL_ASSERT with the violated invariant. O(frames). */
void fl_mem_check(struct fl_mem *mem);

#endif
