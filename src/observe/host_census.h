/*
 * observe/host_census.h - the census of a host for its report: what is missing of it becomes warnings.
 */
#ifndef FL_OBSERVE_HOST_CENSUS_H
#define FL_OBSERVE_HOST_CENSUS_H

#include "observe/kpageflags.h"
#include "observe/snapshot.h"

/*
 * fl_census_read_live() and a look at what it had: files that could not be read, and zones of which the flags tell
 * less than zoneinfo says is there. Without a census, the error.
 */
int fl_mem_read_census(const char *root, struct fl_mem_report *report, struct fl_census *ret, struct fl_error *reterr);

#endif
