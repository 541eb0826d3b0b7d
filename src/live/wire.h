/*
 * live/wire.h - what goes between the conductor and the threads of agents: one packet for each order, one for each answer.
 *
 * Private to this room. Agents know no handles: the conductor turns these into addresses, paths and numbers of channel sets
 * that the agent gave. A thread is ordered with its socket attached to the packet.
 */
#ifndef FL_LIVE_WIRE_H
#define FL_LIVE_WIRE_H

#include "machine/verbs.h"

/* Times of accesses in ns: eight steps to each power of two, from 2^4 on. */
#define FL_LIVE_LATENCY_STEPS 8
#define FL_LIVE_LATENCY_BUCKETS (36 * FL_LIVE_LATENCY_STEPS)
struct fl_live_latency {
	uint64_t faults, sum_ns;
	uint32_t counts[FL_LIVE_LATENCY_BUCKETS];
};

struct fl_live_order {
	enum fl_verb verb; /* FL_VERB_EXIT: end the process; FL_VERBS: end this thread */
	uint32_t flags;
	uint64_t address, length; /* of the range, or of the mapping to be made */
	uint64_t offset, stride, size, count, time_ns, draw;
	enum fl_advice advice;
	enum fl_pattern pattern;
	int64_t channels;
	bool is_first;  /* read of a device in this run: what earlier runs left in its cache goes */
	char path[192]; /* folder of the set, device, setting, name of the counter */
	char text[64];  /* to be written there */
};

struct fl_live_answer {
	int64_t value;
	uint64_t address;
	char refusal[128]; /* "": none */
	bool no_memory;    /* an operation needed memory that was not there */
	struct fl_live_latency latency;
};

unsigned int fl_live_latency_bucket(uint64_t ns);
uint64_t fl_live_latency_value(unsigned int bucket); /* middle of it, ns */
/* Of the times of n accesses keeps the `faults` longest: those were the faults. */
void fl_live_latency_keep(struct fl_live_latency *l, uint64_t faults);
uint64_t fl_live_latency_quantile(const struct fl_live_latency *l, uint32_t num, uint32_t den);

/* The agent process: serves orders on the socket until its end. Never returns. */
void fl_live_agent_main(int socket) __attribute__((noreturn));

/* agent_memory.c, agent_files.c: on a thread of the agent. */
void fl_live_agent_memory(const struct fl_live_order *order, struct fl_live_answer *answer);
/* Goes through the code of touches once, so that its pages are mapped before faults are counted. */
void fl_live_agent_warm_up(void);
void fl_live_agent_files(const struct fl_live_order *order, struct fl_live_answer *answer);
/* agent_perf.c: accesses for a time or in passes, and the counters of this thread's CPU over them. */
int64_t fl_live_agent_access(const struct fl_live_order *order);
int64_t fl_live_agent_perf(const char *name);

static inline uint64_t fl_live_refuse(struct fl_live_answer *answer, const char *sentence)
{
	snprintf(answer->refusal, sizeof(answer->refusal), "%s", sentence);
	return 0;
}

#endif
