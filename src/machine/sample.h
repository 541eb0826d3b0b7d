/*
 * machine/sample.h - samples: what the counters did since the last one, what the gauges say, what the pageblocks hold.
 *
 * Names are those of the kernel where it has one (design section 2 has the table that checks rely on).
 */
#ifndef FL_MACHINE_SAMPLE_H
#define FL_MACHINE_SAMPLE_H

#include "base/record.h"
#include "base/text.h"
#include "mm/compaction.h"
#include "mm/mem.h"
#include "sim/histogram.h"

/* Tracepoints of compaction that are counted, by actor and (first four) by result. */
enum fl_heard {
	FL_HEARD_TRY,
	FL_HEARD_SUITABLE,
	FL_HEARD_END_ASYNC,
	FL_HEARD_END_SYNC,
	FL_HEARD_FINISHED,
	FL_HEARD_DEFERRED,
	FL_HEARD_DEFER,
	FL_HEARD_DEFER_RESET,
	FL_HEARD_COUNT
};

struct fl_sampler_counts {
	uint64_t vm[FL_VM_COUNT];
	uint64_t mthp[FL_MAX_ORDERS][FL_MTHP_COUNT];
	uint64_t work[FL_WORK_COUNT][FL_ACTORS][FL_TRIGGERS];
	uint64_t extfrag[FL_MIGRATETYPES][FL_MIGRATETYPES][FL_MAX_ORDERS][FL_EXTFRAG_HOWS];
	uint64_t compaction[FL_HEARD_COUNT][FL_ACTORS][FL_COMPACT_RESULTS];
	uint64_t user_ns, sys_ns, now_ns;
	struct fl_histogram fault_ns; /* virtual time from access to end of the fault, waits included */
};

struct fl_sampler {
	struct fl_sampler_counts now, last, last_long, start; /* of `now`, fault_ns is filled by the verbs, compaction by fl_sampler_hear() */
};

/* Starts the measured part here: both "since the last sample" and "all" count from now on. */
void fl_sampler_measure(struct fl_sampler *sampler, struct fl_mem *mem);

/* Adds one phase to the record. Phases "all" and "end" cover the measured part, others the time since the last sample; long
 * ones (phases that cover several samples) since the last long one. */
void fl_sampler_sample(struct fl_sampler *sampler, struct fl_mem *mem, const char *phase, bool is_long,
		       struct fl_record *record);

/* Takes in an event of the model. */
void fl_sampler_hear(struct fl_sampler *sampler, const struct fl_trace_event *event);

/* The value of a counter of vmstat, or of the statistics by size ("anon_fault_alloc_16kB"); -1: no such counter. */
int64_t fl_sampler_counter(const struct fl_mem *mem, const char *name);

/* All names of counters and gauges with a line each, "name<TAB>what" (for `list counters`); text is added to. */
void fl_sampler_list(struct fl_text *to);

#endif
