/*
 * live/events.h - counters from tracefs for the samples of the live backend: allocations from pageblocks of another type,
 * compaction, wake-ups of kcompactd, results of khugepaged's scans.
 *
 * An instance of its own in tracefs, with its own buffers and only the events that are counted; nothing of the host's tracing
 * is changed. At most one is open on a host at a time (the live backend holds the host's lock), so its name is fixed, and
 * whoever finds it may remove it.
 */
#ifndef FL_LIVE_EVENTS_H
#define FL_LIVE_EVENTS_H

#include "base/error.h"
#include "base/text.h"
#include "live/counts.h"

struct fl_live_events;

/* Could it be opened on this host? Changes nothing. Class LACKING with a sentence if not. */
int fl_live_events_probe(struct fl_error *reterr);

/*
 * Makes the instance and starts counting. Class LACKING, with a sentence that says what is missing, without tracefs, without
 * permission, without these events: the run then goes on with fewer metrics. The caller may be in a mount namespace of its
 * own, in which tracefs may be mounted freely.
 */
int fl_live_events_open(struct fl_live_events **ret, struct fl_error *reterr);

/* Takes what the buffers hold, so that they do not overrun; called some ten times a second. Cheap when there is nothing. */
void fl_live_events_drain(struct fl_live_events *events);

/*
 * Drains, then appends the counters since open, zeroes too, under the names that the model's samples have:
 * extfrag_<wanted>_<taken>_o<order>_<claim|steal>, nonmovable_steals, compaction_<event>_<actor>[_<result>], and what only a
 * real kernel has. "trace_events_lost" counts what the buffers lost.
 */
void fl_live_events_read(struct fl_live_events *events, struct fl_live_counts *to);

/* Events that the buffers lost since open: counts are too small by what they were. NULL allowed: 0. */
uint64_t fl_live_events_lost(struct fl_live_events *events);

/* Removes the instance. NULL allowed. */
void fl_live_events_close(struct fl_live_events *events);

/* Removes what a killed fraglab left of it; mounts nothing that stays. For the guardian, so it must not fail or block. */
void fl_live_events_remove_left(void);

/* Which metrics there are not without it, as one line of names with stars. */
extern const char fl_live_events_names[];

#endif
