/*
 * mm/restore.h - a booted machine takes over the memory of another one, page by page (base/layout.h). No kernel file: real
 * machines get there by running.
 */
#ifndef FL_MM_RESTORE_H
#define FL_MM_RESTORE_H

#include "base/layout.h"
#include "mm/mem.h"

/*
 * Fills a machine that has just booted, with the geometry of the layout, and has no daemons yet. Afterwards every page has the
 * class that the layout says, free lists hold its chunks (each list in rising pfn), pageblocks have its types, and marks and
 * sizes of per-CPU lists are its own until a setting is written.
 *
 * The content belongs to the host: anonymous, mlocked and huge pages to one address space (no process, so the OOM killer does
 * not see it), with page tables on the pages that held such; file pages to one clean file that is not read again; slab in
 * Reclaimable pageblocks to unused dentries and inodes, which shrinkers can free; other slab and kernel pages to nobody. What
 * the structures of the host take themselves (nodes of the page cache, VMAs) comes out of these pages.
 */
void fl_mem_restore(struct fl_mem *mem, const struct fl_layout *layout);

#endif
