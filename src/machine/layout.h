/* machine/layout.h - what a modelled machine holds, as a snapshot: for tests and for comparing the two sides of a twin. */
#ifndef FL_MACHINE_LAYOUT_H
#define FL_MACHINE_LAYOUT_H

#include "base/layout.h"
#include "mm/mem.h"

/* *ret: fl_layout_fini(). */
void fl_machine_layout(const struct fl_mem *mem, struct fl_layout *ret);

#endif
