/*
 * machine/exact.h - what the model must reproduce to the last page: watermarks, sizes of per-CPU lists, indices. The formulas of
 * the model over the zones of a host, beside what the host printed.
 */
#ifndef FL_MACHINE_EXACT_H
#define FL_MACHINE_EXACT_H

#include <stddef.h>

#include "base/layout.h"

/* Rows for each zone with memory: min, low, high, protection, batch, high_min, high_max. Returns how many, at most `room`. */
size_t fl_exact_marks(const struct fl_layout *host, struct fl_exact *ret, size_t room);

/* Thousandths, as debugfs extfrag prints them, of a zone with these free chunks by order. */
int fl_exact_unusable_index(const uint64_t *chunks, unsigned int orders, unsigned int order);
int fl_exact_fragmentation_index(const uint64_t *chunks, unsigned int orders, unsigned int order);

#endif
