/*
 * mm/page_isolation.h - isolating a pageblock from allocation. Mirrors mm/page_isolation.c.
 */
#ifndef FL_MM_PAGE_ISOLATION_H
#define FL_MM_PAGE_ISOLATION_H

#include "mm/mem.h"

/* set_migratetype_isolate(): isolates the pageblock of pfn; false if it is isolated already, straddles its zone, or has
 * reserved pages, holes or (but in zone Movable) pages that are neither free, on an LRU list nor movable by a driver. */
bool fl_isolate_pageblock(struct fl_mem *mem, struct fl_caller *who, fl_pfn pfn);

/* unset_migratetype_isolate(): undoes it. `type` is the type the caller gives (6.12); 7.3 restores the remembered one. */
void fl_unisolate_pageblock(struct fl_mem *mem, struct fl_caller *who, fl_pfn pfn, unsigned int type);

#endif
