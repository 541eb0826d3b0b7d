/*
 * mm/proc.h - the parts of the machine that processes use, as one: made after boot, hashed and checked together.
 */
#ifndef FL_MM_PROC_H
#define FL_MM_PROC_H

#include "mm/mem.h"

/* LRU lists, address spaces, slab, huge pages, pipes, file objects: called by fl_mem_new() and fl_mem_free(). */
void fl_proc_init(struct fl_mem *mem);
void fl_proc_fini(struct fl_mem *mem);
uint64_t fl_proc_hash(const struct fl_mem *mem, uint64_t hash);

/* Invariants: page tables and frames name each other, lists agree with flags and counts, slab counts, pageblock.lru. */
void fl_proc_check(struct fl_mem *mem);

#endif
