/*
 * sim/cost.h - what things cost: one table of integer nanoseconds of virtual CPU time.
 *
 * Every entry has a name, a default and its source. "measured": on a 2-CPU x86-64 guest under Linux 6.18, best of the runs
 * named there; "published": with the place; "design": our estimate, nobody has published it. A file of lines "name value"
 * overrides entries (fl_cost_parse). All values are ns unless the name says otherwise.
 */
#ifndef FL_SIM_COST_H
#define FL_SIM_COST_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "sim/cost_table.h"

struct fl_cost {
#define FL_COST_FIELD(name, value, source) uint32_t name;
	FL_COST_TABLE(FL_COST_FIELD)
#undef FL_COST_FIELD
};

/* The defaults of the table. */
extern const struct fl_cost fl_cost_default;

/* A CPU on which all work takes `times` as long, as one that is emulated. */
void fl_cost_scale(struct fl_cost *cost, unsigned int times);

struct fl_cost_entry {
	const char *name;
	uint32_t value; /* default */
	const char *source;
	size_t offset; /* in struct fl_cost */
};

/* All entries in the order of the table, for listings and `fraglab calibrate`. */
extern const struct fl_cost_entry fl_cost_entries[];
extern const unsigned int fl_cost_entries_count;

/* The entry of that name (length bytes), or NULL. */
const struct fl_cost_entry *fl_cost_find(const char *name, size_t length);

/* Lays a text of lines "name value" over *cost; '#' starts a comment, blank lines are skipped, values are 0..2^32-1.
 * Error: class INPUT, -EINVAL, "FILENAME:LINE: ..." with the nearest name for an unknown one; *cost is untouched then. */
int fl_cost_parse(struct fl_cost *cost, const char *filename, const char *text, size_t length,
                  struct fl_error *reterr);

uint64_t fl_cost_hash(const struct fl_cost *cost, uint64_t hash);

#endif
