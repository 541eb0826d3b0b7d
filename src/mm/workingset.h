/*
 * mm/workingset.h - refault distance: shadow entries of evicted folios. Mirrors mm/workingset.c (node level).
 *
 * A shadow is 30 bits: eviction age, and the workingset flag in bit 0. Who keeps it: the page cache entry of a file page, the
 * swap slot of an anonymous one; both mark it in bits of their own, since a shadow may be 0.
 */
#ifndef FL_MM_WORKINGSET_H
#define FL_MM_WORKINGSET_H

#include "mm/mem.h"

typedef uint32_t fl_shadow;
#define FL_SHADOW_BITS 30
#define FL_SHADOW_NONE UINT32_MAX /* no shadow was kept */

/* workingset_age_nonresident(): an activation or eviction of `pages`. */
void fl_workingset_age(struct fl_mem *mem, unsigned int pages);
/* workingset_eviction(): makes the shadow of a folio that is being evicted. */
fl_shadow fl_workingset_eviction(struct fl_mem *mem, fl_pfn pfn);
/* workingset_refault(): counts, and activates the folio (FL_ACTIVE, FL_WORKINGSET) if the distance is short enough. The
 * folio must not be on an LRU yet. */
void fl_workingset_refault(struct fl_mem *mem, fl_pfn pfn, fl_shadow shadow);
/* workingset_test_recent(): would it be activated? */
bool fl_workingset_is_recent(const struct fl_mem *mem, bool file, fl_shadow shadow, bool *was_workingset);

#endif
