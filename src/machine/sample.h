/*
 * machine/sample.h - samples: what the counters did since the last one, what the gauges say, what the pageblocks hold.
 *
 * Names are those of the kernel where it has one (design section 2 has the table that checks rely on).
 */
#ifndef FL_MACHINE_SAMPLE_H
#define FL_MACHINE_SAMPLE_H

#include "base/record.h"
#include "base/text.h"
#include "mm/mem.h"
#include "sim/histogram.h"

struct fl_sampler_counts {
	uint64_t vm[FL_VM_COUNT];
	uint64_t mthp[FL_MAX_ORDERS][FL_MTHP_COUNT];
	uint64_t work[FL_WORK_COUNT][FL_ACTORS][FL_TRIGGERS];
	uint64_t extfrag[FL_MIGRATETYPES][FL_MIGRATETYPES][FL_MAX_ORDERS][FL_EXTFRAG_HOWS];
	uint64_t user_ns, sys_ns, now_ns;
	struct fl_histogram fault_ns; /* virtual time from access to end of the fault, waits included */
};

struct fl_sampler {
	struct fl_sampler_counts now, last, start; /* fault_ns of `now` is filled by the verbs */
};

/* Starts the measured part here: both "since the last sample" and "all" count from now on. */
void fl_sampler_measure(struct fl_sampler *sampler, struct fl_mem *mem);

/* Adds one phase to the record. Phases "all" and "end" cover the measured part, others the time since the last sample. */
void fl_sampler_sample(struct fl_sampler *sampler, struct fl_mem *mem, const char *phase, struct fl_record *record);

/* The value of a counter of vmstat, or of the statistics by size ("anon_fault_alloc_16kB"); -1: no such counter. */
int64_t fl_sampler_counter(const struct fl_mem *mem, const char *name);

/* All names of counters and gauges with a line each, "name<TAB>what" (for `list counters`); text is added to. */
void fl_sampler_list(struct fl_text *to);

#endif
