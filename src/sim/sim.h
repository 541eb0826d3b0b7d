/*
 * sim/sim.h - the discrete-event simulation: a virtual clock, CPUs, tasks, wait queues, timers.
 *
 * A task is a stackful coroutine: kernel code and process code run on its own stack and read like straight-line code.
 * Code runs at an instant of virtual time and *charges* what it costs (fl_charge); the charged time passes at the next
 * preemption point (fl_cond_resched, fl_spend, or anything that sleeps), where the task occupies its CPU for it. So an
 * effect is visible to others up to FL_SIM_QUANTUM_NS before its cost has been paid, never more when loops call
 * fl_cond_resched at least once per charge.
 *
 * CPUs are shared fairly (virtual run time with weights, wake-up preemption; like CFS, not a copy of it). A task that
 * wakes goes to its last CPU if idle, else the lowest idle one, else the least loaded; a CPU that runs dry pulls.
 * Events have a total order: (time, priority, sequence). Nothing here depends on addresses, clocks or the host.
 *
 * Lua and other code that must not run on a task's stack goes through fl_task_call_on_main.
 */
#ifndef FL_SIM_SIM_H
#define FL_SIM_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bug.h"

typedef uint64_t fl_ns;

#define FL_US_NS UINT64_C(1000)
#define FL_MS_NS UINT64_C(1000000)
#define FL_S_NS UINT64_C(1000000000)

/* Charged time that may pile up before fl_cond_resched lets it pass: bounds the skew between tasks. Some twenty modelled
 * 4 KiB faults; smaller means more switches (about 100 ns of ours each), larger means coarser interleaving. */
#define FL_SIM_QUANTUM_NS (20 * FL_US_NS)
/* A queued task is preferred over the running one when it is this far behind in virtual run time. CFS: 1 ms
 * wake-up granularity (sched_wakeup_granularity_ns of Linux 5.x before scaling by CPUs). */
#define FL_SIM_GRANULARITY_NS (1 * FL_MS_NS)
/* The same across CPUs, larger so that tasks stay where they are. Design choice. */
#define FL_SIM_MIGRATION_NS (4 * FL_MS_NS)
/* A task that slept starts at most this far behind the others. CFS: half of the 6 ms latency target. */
#define FL_SIM_SLEEPER_CREDIT_NS (3 * FL_MS_NS)
#define FL_SIM_CPUS_MAX 1024
#define FL_CPU_ANY (-1)

struct fl_sim;
struct fl_task;
struct fl_stack;

/* ---- Wait queues: embed by value; all zero is an empty queue. First in, first woken. ---- */

struct fl_waitqueue {
	struct fl_task *head, *tail;
};

/* ---- Timers and other events ---- */

/* Which of the events of one instant goes first. */
enum fl_event_priority {
	FL_EVENT_TIMER,  /* timers, sleeps, timeouts, and completions of devices */
	FL_EVENT_CPU,    /* ends of CPU slices: after the wake-ups of the same instant */
};

/* A one-shot callback on the scheduler's stack. Embed by value, zeroed; it must outlive its pending time. */
struct fl_timer {
	fl_ns when;
	void (*fn)(struct fl_timer *timer, void *arg);
	void *arg;
	uint32_t heap_index_plus_one; /* 0: not pending */
	uint8_t priority;             /* enum fl_event_priority; zeroed memory means FL_EVENT_TIMER */
};

/* Calls fn(timer, arg) at `when` (not before now), on the main stack; a pending timer is moved. */
void fl_timer_set(struct fl_sim *sim, struct fl_timer *timer, fl_ns when, void (*fn)(struct fl_timer *, void *),
                  void *arg);
/* Forgets the timer if it is pending; tells whether it was. */
bool fl_timer_cancel(struct fl_sim *sim, struct fl_timer *timer);
static inline bool fl_timer_is_pending(const struct fl_timer *timer)
{
	return timer->heap_index_plus_one != 0;
}

/* ---- Tasks ---- */

enum fl_task_place {
	FL_TASK_OFF,    /* idle or asleep */
	FL_TASK_QUEUED, /* runnable, waits for its CPU */
	FL_TASK_ON_CPU,
};

struct fl_task {
	/* Read by anyone, written by sim only unless said otherwise. */
	uint64_t pending_ns;      /* charged, not yet passed */
	uint64_t pending_user_ns; /* part of pending_ns that is user time */
	struct fl_sim *sim;       /* NULL: charges count, nothing ever switches (benches, unit tests) */
	const fl_ns *clock;       /* the clock of sim */
	uint16_t cpu;             /* CPU it runs or last ran on */
	bool is_kthread;
	uint32_t id;              /* from 1, in order of creation */
	void *owner;              /* the caller's: process, daemon */
	uint64_t user_ns, sys_ns; /* time passed on a CPU */
	uint64_t wait_ns;         /* runnable, but waiting for a CPU */
	uint64_t switches;        /* times it was put on a CPU */
	char name[32];

	/* Private to sim. */
	int bound_cpu; /* FL_CPU_ANY or the only CPU allowed */
	int8_t nice;
	uint8_t place; /* enum fl_task_place */
	bool has_work; /* started, body has not returned */
	bool wants_sleep, timed_out;
	uint32_t weight;
	uint64_t vruntime;
	fl_ns queued_since;
	struct fl_task *run_prev, *run_next;   /* run queue of its CPU */
	struct fl_task *wait_prev, *wait_next; /* wait queue */
	struct fl_waitqueue *waits_on;
	struct fl_timer timer;
	struct fl_task **io_waiter; /* where the request it waits for points back to it */
	struct fl_stack *stack; /* while it has work */
	void (*body)(struct fl_task *, void *);
	void *body_arg;
	void (*main_fn)(struct fl_task *, void *); /* fl_task_call_on_main */
	void *main_arg;
	struct fl_task *all_prev, *all_next;
};

/* Makes an idle task without a stack; thousands of them cost this struct each. The name is copied (cut to 31 bytes). */
struct fl_task *fl_task_new(struct fl_sim *sim, const char *name, bool kthread);
/* Frees it; one that still has work is discarded where it stands (its stack is dropped without unwinding). Not from
 * its own body. */
void fl_task_free(struct fl_task *task);

/* Gives an idle task work: body(task, arg) runs on a stack from the pool, from this instant on; when it returns the
 * stack goes back and the task is idle again and may be started again. */
void fl_task_start(struct fl_task *task, void (*body)(struct fl_task *, void *), void *arg);
static inline bool fl_task_has_work(const struct fl_task *task)
{
	return task->has_work;
}

/* Lets the task run on this CPU only (kcompactd-style binding), or on any (FL_CPU_ANY). Takes effect when it is next
 * queued. */
void fl_task_bind(struct fl_task *task, int cpu);
/* Nice value -20..19: weight 1024 x 1.25^-nice (19: 15). */
void fl_task_set_nice(struct fl_task *task, int nice);

/* TASK_RUNNING: runnable or on a CPU. False when idle or asleep, also when asleep in I/O. */
static inline bool fl_task_is_running(const struct fl_task *task)
{
	return task->place != FL_TASK_OFF;
}

/* ---- Called by a task for itself, on its own stack ---- */

/* Adds CPU time in the kernel; never switches. */
static inline void fl_charge(struct fl_task *task, uint32_t ns)
{
	task->pending_ns += ns;
}

/* Adds CPU time in user mode; never switches. */
static inline void fl_charge_user(struct fl_task *task, uint32_t ns)
{
	task->pending_ns += ns;
	task->pending_user_ns += ns;
}

/* Lets all charged time pass now, sharing the CPU; others run meanwhile. Without a sim it only accounts; called on the
 * main stack (inside fl_task_call_on_main) it does nothing and the time passes at the task's next preemption point. */
void fl_task_settle(struct fl_task *task);

/* A preemption point: lets charged time pass when it has reached the quantum. State may have changed after it. */
static inline void fl_cond_resched(struct fl_task *task)
{
	if (FL_UNLIKELY(task->pending_ns >= FL_SIM_QUANTUM_NS))
		fl_task_settle(task);
}

/* Charge and preemption point, for times of any length: kernel and user. */
void fl_spend(struct fl_task *task, fl_ns ns);
void fl_spend_user(struct fl_task *task, fl_ns ns);

/* The task's own instant: the clock plus what it has charged. Differences of it are latencies, time off CPU included. */
static inline fl_ns fl_task_now(const struct fl_task *task)
{
	return (task->sim ? *task->clock : task->user_ns + task->sys_ns) + task->pending_ns;
}

/* Should the task yield, as need_resched()? True when another task waits that its CPU would prefer after the charged time. */
bool fl_need_resched(const struct fl_task *task);

/* Off the CPU until ns after its own instant. */
void fl_task_sleep(struct fl_task *task, fl_ns ns);

/* Sleeps on the queue until woken. No wake-up is lost between a test and the call: nothing else runs in between. */
void fl_wait(struct fl_waitqueue *wq, struct fl_task *task);
/* The same for at most ns; true if woken, false on timeout. */
bool fl_wait_timeout(struct fl_waitqueue *wq, struct fl_task *task, fl_ns ns);

/* The task suspends, fn(task, arg) runs on the scheduler's stack at the same instant, then the task goes on. On the
 * main stack already, fn is called directly. fn may start tasks, wake, set timers and stop; it must not sleep. */
void fl_task_call_on_main(struct fl_task *task, void (*fn)(struct fl_task *, void *), void *arg);

/* ---- Waking: from tasks, timers or callbacks ---- */

/* Wakes all waiters, in order / the first one; returns how many. */
unsigned int fl_wake_all(struct fl_waitqueue *wq);
unsigned int fl_wake_one(struct fl_waitqueue *wq);
static inline bool fl_waitqueue_active(const struct fl_waitqueue *wq)
{
	return wq->head != NULL;
}
/* Ends the sleep of a task whatever it sleeps on (a wait so ended returns as woken); false if it was not asleep. */
bool fl_task_wake(struct fl_task *task);

/* ---- The simulation ---- */

/* The seed is only remembered, for messages and the hash: streams are base/rng.h. 1 <= cpus <= FL_SIM_CPUS_MAX. */
struct fl_sim *fl_sim_new(uint64_t seed, unsigned int cpus);
/* Frees the simulation and all its tasks, discarding suspended ones. */
void fl_sim_free(struct fl_sim *sim);

fl_ns fl_sim_now(const struct fl_sim *sim);
uint64_t fl_sim_seed(const struct fl_sim *sim);
unsigned int fl_sim_cpus(const struct fl_sim *sim);
uint64_t fl_sim_events(const struct fl_sim *sim); /* events handled so far: the "event number" of messages */
/* The task whose code runs now, or NULL on the main stack. */
struct fl_task *fl_sim_current(const struct fl_sim *sim);
/* Tasks in order of creation: the first one, then task->all_next. */
struct fl_task *fl_sim_first_task(const struct fl_sim *sim);

/* Virtual ns charged to the next task when a CPU changes tasks (cost table: context_switch). Default 0. */
void fl_sim_set_switch_cost(struct fl_sim *sim, uint32_t ns);

enum fl_sim_end {
	FL_SIM_DRAINED, /* no event left: every task is idle or waits for ever */
	FL_SIM_STOPPED, /* fl_sim_stop */
	FL_SIM_UNTIL,   /* the next event lies beyond `until`; the clock stands at `until` */
};
#define FL_NS_FOREVER UINT64_MAX

/* Handles events up to and including `until`. May be called again to go on. Main stack only. */
enum fl_sim_end fl_sim_run(struct fl_sim *sim, fl_ns until);
/* Handles one event; false if there is none. */
bool fl_sim_step(struct fl_sim *sim);
/* Makes fl_sim_run return after the current event; the running task suspends at its next preemption point as usual. */
void fl_sim_stop(struct fl_sim *sim);

struct fl_cpu_times {
	uint64_t user_ns, sys_ns, idle_ns; /* add up to the clock, apart from slices under way */
};
struct fl_cpu_times fl_sim_cpu_times(const struct fl_sim *sim, unsigned int cpu);
/* Tasks on or waiting for the CPU. */
unsigned int fl_sim_cpu_load(const struct fl_sim *sim, unsigned int cpu);
/* Stacks made so far: the largest number of tasks that had work at once. */
unsigned int fl_sim_stacks(const struct fl_sim *sim);

/* Folds clock, CPUs, queues, tasks and pending events, never addresses. */
uint64_t fl_sim_hash(const struct fl_sim *sim, uint64_t hash);

#endif
