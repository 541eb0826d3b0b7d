/*
 * tests/scenario/fake_backend.h - a backend without a machine: programs take turns, every operation is written down.
 */
#ifndef FL_TESTS_SCENARIO_FAKE_BACKEND_H
#define FL_TESTS_SCENARIO_FAKE_BACKEND_H

#include "base/text.h"
#include "machine/verbs.h"

/* What happened, one line an operation: "name#ordinal verb handle offset length count time draw". Cleared by open. */
extern struct fl_text fake_log;
/* Which program goes next: false the oldest, true the youngest. */
extern bool fake_youngest_first;
/* Outcome of every map: 0 gives handles, else this value. */
extern int64_t fake_map_value;
/* Refusal of every touch; NULL: none. */
extern const char *fake_touch_refusal;

extern const struct fl_backend_ops fake_backend;

#endif
