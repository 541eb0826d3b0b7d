/*
 * live/sample.h - samples of a live kernel: the same names as in the model's samples (machine/sample.h), from /proc, /sys,
 * kpageflags and, where it is there, tracefs.
 *
 * Everything is of the whole host, what others do on it included. What has no source on a live kernel is in each sample without
 * a value (unmeasured.c), polluted_pageblocks too (no file tells the type of a pageblock), beside the bound
 * polluted_pageblocks_least.
 */
#ifndef FL_LIVE_SAMPLE_H
#define FL_LIVE_SAMPLE_H

#include <stdbool.h>

#include "base/record.h"
#include "live/counts.h"
#include "live/events.h"
#include "live/wire.h"

/* Counters at one moment, and the times of faults since then. */
struct fl_live_moment {
	struct fl_live_counts counts;
	uint64_t now_ns, user_ns, sys_ns;
	struct fl_live_latency latency;
};

struct fl_live_sampler {
	const char *root; /* "" is this host */
	struct fl_live_events *events; /* NULL: none */
	struct fl_live_moment last, last_long, start;
	bool no_census; /* could not be taken */
};

/* Starts the measured part here. */
void fl_live_sampler_measure(struct fl_live_sampler *sampler);

/* Adds the faults of one operation. */
void fl_live_sampler_faults(struct fl_live_sampler *sampler, const struct fl_live_latency *latency);

/* Adds one phase, by the rules of fl_sampler_sample(). */
void fl_live_sampler_sample(struct fl_live_sampler *sampler, const char *phase, bool is_long, struct fl_record *record);

/* The value now of a counter as the verb `counter` names it; -1: there is none. */
int64_t fl_live_sampler_counter(const char *root, const char *name);

/* Appends the counters and gauges of /proc/vmstat and of the statistics by size. */
void fl_live_read_counters(const char *root, struct fl_live_counts *to);

/* Is this line of vmstat, or this statistic by size, a level rather than a count of events? */
bool fl_live_is_gauge(const char *name);

/* Adds, without a value, the names of the model's samples that `counted` has not and that no live kernel has (unmeasured.c). */
void fl_live_add_unmeasured(struct fl_record *record, const char *phase, const struct fl_live_counts *counted,
			    unsigned int page_kb, unsigned int pmd_order);

/* Names (with stars) that the model has and a live kernel never. */
extern const char fl_live_sampler_missing[];

void fl_live_sampler_fini(struct fl_live_sampler *sampler);

#endif
