/*
 * observe/layout_host.h - a live host as a snapshot (base/layout.h).
 *
 * Reading takes some 0.2 s for 16 GiB and is not atomic. What the host does not tell (without root: pages and types) is
 * left out and said in layout->missing.
 */
#ifndef FL_OBSERVE_LAYOUT_HOST_H
#define FL_OBSERVE_LAYOUT_HOST_H

#include "base/error.h"
#include "base/layout.h"

/* `root` as for fl_mem_read_host(). *ret: fl_layout_fini() after success. */
int fl_layout_read_host(const char *root, struct fl_layout *ret, struct fl_error *reterr);

/*
 * No kernel prints the type of a pageblock. Chooses types for the pageblocks of a zone so that there are as many of each type as
 * pagetypeinfo says (`blocks`), that free chunks by type and order come as near as can be to zone->host_free, and that
 * unmovable pages lie in pageblocks that are not movable, in this order of weight.
 */
void fl_layout_guess_types(struct fl_layout *layout, unsigned int zone, const uint64_t blocks[FL_LAYOUT_TYPES]);

#endif
