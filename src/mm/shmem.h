/*
 * mm/shmem.h - shared memory and tmpfs pages on their way to swap and back. Mirrors the swap half of mm/shmem.c; the page
 * cache half is filemap.h with type FL_MAPPING_SHMEM.
 */
#ifndef FL_MM_SHMEM_H
#define FL_MM_SHMEM_H

#include "mm/filemap_internal.h"

/* shmem_writepage() up to the write: the folio (isolated, unmapped) leaves the page cache for the swap cache and its entry names the
 * slot. False: no slot, or somebody holds it. */
bool fl_shmem_swapout(struct fl_mem *mem, struct fl_caller *who, fl_pfn folio);

/* shmem_swapin_folio(): brings the page at `index` back from its slot. False: no memory. May switch. */
bool fl_shmem_swapin(struct fl_mem *mem, struct fl_caller *who, struct fl_mapping *m, uint32_t index);

#endif
