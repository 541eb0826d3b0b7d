/*
 * live/tracefs.c - the counters of live/events.h from an instance in tracefs.
 */
#include <errno.h>

#include "live/events.h"

const char fl_live_events_names[] = "extfrag_*, nonmovable_steals, compaction_*";

int fl_live_events_probe(struct fl_error *reterr)
{
	return fl_error_set(reterr, FL_ERROR_LACKING, -ENOSYS, "events of tracefs are not read by this fraglab");
}

int fl_live_events_open(struct fl_live_events **ret, struct fl_error *reterr)
{
	return fl_error_set(reterr, FL_ERROR_LACKING, -ENOSYS, "events of tracefs are not read by this fraglab");
}

void fl_live_events_drain(struct fl_live_events *events)
{
}

void fl_live_events_read(struct fl_live_events *events, struct fl_live_counts *to)
{
}

void fl_live_events_close(struct fl_live_events *events)
{
}

void fl_live_events_remove_left(void)
{
}
