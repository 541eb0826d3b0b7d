/*
 * sim/internal.h - what the files of this room share: the simulation, its CPUs, its events. Not for other rooms.
 */
#ifndef FL_SIM_INTERNAL_H
#define FL_SIM_INTERNAL_H

#include "sim/coroutine.h"
#include "sim/sim.h"

/* A slice ends at the latest after this, so that a long burn is looked at as by a tick. CONFIG_HZ=1000. */
#define FL_SIM_TICK_NS (1 * FL_MS_NS)

struct fl_event {
	fl_ns when;
	uint64_t key; /* priority in the top byte, then the sequence: unique */
	struct fl_timer *timer;
};

struct fl_cpu {
	struct fl_sim *sim;
	unsigned int id;
	struct fl_task *current;
	uint32_t last_id; /* of the task that was on it last, 0: none */
	struct fl_task *head, *tail; /* run queue in rising (vruntime, id) */
	unsigned int queued;
	struct fl_timer slice; /* end of the slice under way, or a request to look at the queue */
	fl_ns slice_start;
	fl_ns idle_since;
	uint64_t user_ns, sys_ns, idle_ns;
};

struct fl_sim {
	fl_ns now;
	uint64_t seed;
	struct fl_task *current; /* whose code runs */
	struct fl_task *caller;  /* whose fl_task_call_on_main runs */
	bool is_stopping;
	fl_ns until; /* of fl_sim_run */
	uint32_t switch_cost_ns;
	unsigned int queued; /* on all run queues */
	uint64_t floor;      /* lowest virtual run time of those that run or wait; never falls */

	struct fl_event *heap;
	uint32_t heap_count, heap_capacity;
	uint64_t sequence, events, last_key;

	unsigned int cpus_count;
	struct fl_cpu *cpus;

	uint32_t last_task_id;
	struct fl_task *first_task, *last_task;

	struct fl_stack *free_stacks;
	struct fl_stack *dropped_stacks; /* to be reset on the main stack */
	unsigned int stacks_made;
};

/* event.c */
bool fl_event_next(struct fl_sim *sim); /* handles the first event; false if there is none */
static inline fl_ns fl_event_first_ns(const struct fl_sim *sim)
{
	return sim->heap_count ? sim->heap[0].when : FL_NS_FOREVER;
}
uint64_t fl_event_hash(const struct fl_sim *sim, uint64_t hash);

/* sched.c */
void fl_cpu_init(struct fl_sim *sim, struct fl_cpu *cpu, unsigned int id);
void fl_sched_wake(struct fl_task *task, bool slept); /* from OFF to a run queue */
void fl_sched_remove(struct fl_task *task);           /* from wherever it is to OFF */
bool fl_sched_settle_quickly(struct fl_task *task);   /* lets pending time pass without a switch if nothing can happen */
uint64_t fl_cpu_hash(const struct fl_cpu *cpu, uint64_t hash);

/* task.c */
void fl_task_run_code(struct fl_task *task); /* main stack: enters its stack until it suspends or its body returns */
uint64_t fl_task_hash(const struct fl_task *task, uint64_t hash);
void fl_task_reset_dropped_stacks(struct fl_sim *sim);

#endif
