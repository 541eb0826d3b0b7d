/*
 * sim/sched.c - CPUs and run queues: who occupies which CPU for how long.
 *
 * Fair sharing by virtual run time as in kernel/sched/fair.c of Linux 5.x (CFS), much simplified: one scale of virtual
 * run time for all CPUs instead of one per run queue, so that lag can be compared across CPUs and a task that falls
 * behind on a crowded CPU is swapped in elsewhere. A CPU is either idle, or executes the code of a task (an instant), or
 * lets charged time pass (a slice, which ends with the event `slice`).
 */
#include "base/hash.h"
#include "sim/internal.h"

static uint64_t weighted(const struct fl_task *task, uint64_t ns)
{
	return task->weight == 1024 ? ns : ns * 1024 / task->weight;
}

static struct fl_cpu *cpu_of(const struct fl_task *task)
{
	return &task->sim->cpus[task->cpu];
}

static bool is_idle(const struct fl_cpu *cpu)
{
	return !cpu->current && cpu->queued == 0;
}

static unsigned int load_of(const struct fl_cpu *cpu)
{
	return cpu->queued + (cpu->current != NULL);
}

/* Nothing is left for it to do on a CPU: its charges have passed and it sleeps or has no work. */
static bool is_done(const struct fl_task *task)
{
	return task->pending_ns == 0 && (task->wants_sleep || !task->has_work);
}

/* ---- Run queues ---- */

static bool runs_before(const struct fl_task *a, const struct fl_task *b)
{
	return a->vruntime != b->vruntime ? a->vruntime < b->vruntime : a->id < b->id;
}

static void queue_insert(struct fl_cpu *cpu, struct fl_task *task)
{
	struct fl_task *after = cpu->tail;

	while (after && runs_before(task, after))
		after = after->run_prev;
	task->run_prev = after;
	task->run_next = after ? after->run_next : cpu->head;
	*(task->run_prev ? &task->run_prev->run_next : &cpu->head) = task;
	*(task->run_next ? &task->run_next->run_prev : &cpu->tail) = task;
	cpu->queued++;
	cpu->sim->queued++;
	task->cpu = (uint16_t)cpu->id;
	task->place = FL_TASK_QUEUED;
	task->queued_since = cpu->sim->now;
}

static void queue_remove(struct fl_cpu *cpu, struct fl_task *task)
{
	*(task->run_prev ? &task->run_prev->run_next : &cpu->head) = task->run_next;
	*(task->run_next ? &task->run_next->run_prev : &cpu->tail) = task->run_prev;
	task->run_prev = NULL;
	task->run_next = NULL;
	cpu->queued--;
	cpu->sim->queued--;
	task->place = FL_TASK_OFF;
	task->wait_ns += cpu->sim->now - task->queued_since;
}

static struct fl_task *first_movable(const struct fl_cpu *cpu)
{
	struct fl_task *task = cpu->head;

	while (task && task->bound_cpu != FL_CPU_ANY)
		task = task->run_next;
	return task;
}

/* The task that is furthest behind among those that wait on other CPUs and may come here. */
static struct fl_task *furthest_behind_elsewhere(const struct fl_cpu *cpu)
{
	const struct fl_sim *sim = cpu->sim;
	struct fl_task *best = NULL;

	if (sim->queued == cpu->queued)
		return NULL;
	for (unsigned int i = 0; i < sim->cpus_count; i++) {
		struct fl_task *task = i == cpu->id ? NULL : first_movable(&sim->cpus[i]);

		if (task && (!best || runs_before(task, best)))
			best = task;
	}
	return best;
}

/* ---- Placing ---- */

static struct fl_cpu *idle_cpu(struct fl_sim *sim, struct fl_cpu *preferred)
{
	if (is_idle(preferred))
		return preferred;
	for (unsigned int i = 0; i < sim->cpus_count; i++)
		if (is_idle(&sim->cpus[i]))
			return &sim->cpus[i];
	return NULL;
}

static struct fl_cpu *least_loaded(struct fl_sim *sim, struct fl_cpu *preferred)
{
	struct fl_cpu *best = preferred;

	for (unsigned int i = 0; i < sim->cpus_count; i++)
		if (load_of(&sim->cpus[i]) < load_of(best))
			best = &sim->cpus[i];
	return best;
}

static void slice_end(struct fl_timer *timer, void *arg);

/* Makes the CPU look at its queue in this instant, after the wake-ups that are still to come in it. */
static void kick(struct fl_cpu *cpu)
{
	fl_timer_set(cpu->sim, &cpu->slice, cpu->sim->now, slice_end, cpu);
}

/* Wake-up preemption: cuts a slice short if the head of the queue is far enough behind and much of the slice is left. */
static void preempt_if_behind(struct fl_cpu *cpu)
{
	struct fl_sim *sim = cpu->sim;
	struct fl_task *current = cpu->current;

	if (current == sim->current || current == sim->caller)
		return; /* its code runs in this instant: it looks at its next preemption point */
	if (cpu->slice.when - sim->now <= FL_SIM_QUANTUM_NS)
		return;
	if (cpu->head->vruntime + FL_SIM_GRANULARITY_NS <
	    current->vruntime + weighted(current, sim->now - cpu->slice_start))
		kick(cpu);
}

static void enqueue(struct fl_cpu *cpu, struct fl_task *task)
{
	bool was_idle = is_idle(cpu);

	queue_insert(cpu, task);
	if (was_idle)
		kick(cpu);
	else if (cpu->current)
		preempt_if_behind(cpu);
}

static void raise_floor(struct fl_sim *sim)
{
	uint64_t lowest = UINT64_MAX;

	for (unsigned int i = 0; i < sim->cpus_count; i++) {
		const struct fl_cpu *cpu = &sim->cpus[i];

		if (cpu->current && cpu->current->vruntime < lowest)
			lowest = cpu->current->vruntime;
		if (cpu->head && cpu->head->vruntime < lowest)
			lowest = cpu->head->vruntime;
	}
	if (lowest != UINT64_MAX && lowest > sim->floor)
		sim->floor = lowest;
}

/* models try_to_wake_up(), select_task_rq() and place_entity() in outline */
void fl_sched_wake(struct fl_task *task, bool slept)
{
	struct fl_sim *sim = task->sim;
	uint64_t credit = slept ? FL_SIM_SLEEPER_CREDIT_NS : 0;
	struct fl_cpu *cpu;

	FL_ASSERT(task->place == FL_TASK_OFF);
	raise_floor(sim);
	if (task->vruntime + credit < sim->floor)
		task->vruntime = sim->floor - credit;
	/* the last CPU if idle, else the lowest idle one, else the least loaded: idle ones have the least load */
	cpu = task->bound_cpu == FL_CPU_ANY ? least_loaded(sim, cpu_of(task)) : &sim->cpus[task->bound_cpu];
	enqueue(cpu, task);
}

/* ---- Passing of time ---- */

static void account(struct fl_cpu *cpu, struct fl_task *task, uint64_t ns)
{
	uint64_t user_ns = task->pending_user_ns < ns ? task->pending_user_ns : ns;

	FL_ASSERT(ns <= task->pending_ns && task->pending_user_ns <= task->pending_ns);
	task->pending_ns -= ns;
	task->pending_user_ns -= user_ns;
	task->user_ns += user_ns;
	task->sys_ns += ns - user_ns;
	task->vruntime += weighted(task, ns);
	cpu->user_ns += user_ns;
	cpu->sys_ns += ns - user_ns;
	cpu->slice_start += ns;
}

bool fl_sched_settle_quickly(struct fl_task *task)
{
	struct fl_sim *sim = task->sim;
	fl_ns end = sim->now + task->pending_ns;

	if (sim->queued || sim->is_stopping || end > sim->until || fl_event_first_ns(sim) <= end)
		return false;
	account(cpu_of(task), task, task->pending_ns);
	sim->now = end;
	return true;
}

static void plan_slice(struct fl_cpu *cpu)
{
	uint64_t pending_ns = cpu->current->pending_ns;
	uint64_t slice_ns = pending_ns < FL_SIM_TICK_NS ? pending_ns : FL_SIM_TICK_NS;

	fl_timer_set(cpu->sim, &cpu->slice, cpu->sim->now + slice_ns, slice_end, cpu);
}

/* ---- Choosing ---- */

static void take_off(struct fl_cpu *cpu)
{
	cpu->current->place = FL_TASK_OFF;
	cpu->current = NULL;
	cpu->idle_since = cpu->sim->now;
}

static void put_on(struct fl_cpu *cpu, struct fl_task *task)
{
	struct fl_sim *sim = cpu->sim;

	cpu->idle_ns += sim->now - cpu->idle_since;
	cpu->idle_since = sim->now;
	cpu->slice_start = sim->now;
	cpu->current = task;
	task->place = FL_TASK_ON_CPU;
	task->cpu = (uint16_t)cpu->id;
	if (cpu->last_id == task->id)
		return;
	cpu->last_id = task->id;
	task->switches++;
	task->pending_ns += sim->switch_cost_ns;
}

/* Who should have the CPU instead of its current task, or NULL. */
static struct fl_task *better_than_current(const struct fl_cpu *cpu)
{
	const struct fl_task *current = cpu->current;
	struct fl_task *best = NULL, *other;

	if (cpu->sim->queued == 0)
		return NULL;
	if (cpu->head && cpu->head->vruntime + FL_SIM_GRANULARITY_NS < current->vruntime)
		best = cpu->head;
	other = furthest_behind_elsewhere(cpu);
	if (other && other->vruntime + FL_SIM_MIGRATION_NS < current->vruntime && (!best || runs_before(other, best)))
		best = other;
	return best;
}

/* Queues the task that lost the CPU: on an idle CPU if there is one, else where it was unless the CPU that gave its
 * task away is less loaded. */
static void requeue(struct fl_cpu *cpu, struct fl_cpu *giver, struct fl_task *task)
{
	struct fl_cpu *to = NULL;

	if (task->bound_cpu != FL_CPU_ANY)
		to = &cpu->sim->cpus[task->bound_cpu];
	else
		to = idle_cpu(cpu->sim, cpu);
	if (!to)
		to = load_of(giver) < load_of(cpu) ? giver : cpu;
	enqueue(to, task);
}

static void replace_current(struct fl_cpu *cpu, struct fl_task *next)
{
	struct fl_task *previous = cpu->current;
	struct fl_cpu *giver = cpu_of(next);

	queue_remove(giver, next);
	take_off(cpu);
	put_on(cpu, next);
	/* The new one counts as running from here on, so that requeue does not cut its slice before it has one. */
	cpu->slice.when = cpu->sim->now;
	requeue(cpu, giver, previous);
}

/* models pick_next_task() with newidle_balance(): settles who is current; false if the CPU stays idle */
static bool choose(struct fl_cpu *cpu)
{
	struct fl_task *next;

	if (cpu->current) {
		next = better_than_current(cpu);
		if (next)
			replace_current(cpu, next);
		return true;
	}
	next = cpu->head ? cpu->head : furthest_behind_elsewhere(cpu);
	if (!next)
		return false;
	queue_remove(cpu_of(next), next);
	put_on(cpu, next);
	return true;
}

static void slice_end(struct fl_timer *timer, void *arg)
{
	struct fl_cpu *cpu = arg;

	if (cpu->current)
		account(cpu, cpu->current, cpu->sim->now - cpu->slice_start);
	if (cpu->current && is_done(cpu->current))
		take_off(cpu);
	while (choose(cpu)) {
		if (cpu->current->pending_ns == 0)
			fl_task_run_code(cpu->current);
		if (cpu->current->pending_ns > 0) {
			plan_slice(cpu);
			return;
		}
		if (is_done(cpu->current))
			take_off(cpu);
	}
}

void fl_sched_remove(struct fl_task *task)
{
	struct fl_cpu *cpu = cpu_of(task);

	if (task->place == FL_TASK_QUEUED) {
		queue_remove(cpu, task);
	} else if (task->place == FL_TASK_ON_CPU) {
		account(cpu, task, cpu->sim->now - cpu->slice_start);
		take_off(cpu);
		kick(cpu);
	}
}

bool fl_need_resched(const struct fl_task *task)
{
	const struct fl_cpu *cpu;

	if (!task->sim || task->place != FL_TASK_ON_CPU)
		return false;
	cpu = cpu_of(task);
	return cpu->head &&
	       cpu->head->vruntime + FL_SIM_GRANULARITY_NS < task->vruntime + weighted(task, task->pending_ns);
}

/* ---- Set-up and reading ---- */

void fl_cpu_init(struct fl_sim *sim, struct fl_cpu *cpu, unsigned int id)
{
	cpu->sim = sim;
	cpu->id = id;
	cpu->slice.priority = FL_EVENT_CPU;
}

struct fl_cpu_times fl_sim_cpu_times(const struct fl_sim *sim, unsigned int id)
{
	const struct fl_cpu *cpu = &sim->cpus[id];

	FL_ASSERT(id < sim->cpus_count);
	return (struct fl_cpu_times){
		.user_ns = cpu->user_ns,
		.sys_ns = cpu->sys_ns,
		.idle_ns = cpu->idle_ns + (cpu->current ? 0 : sim->now - cpu->idle_since),
	};
}

unsigned int fl_sim_cpu_load(const struct fl_sim *sim, unsigned int id)
{
	FL_ASSERT(id < sim->cpus_count);
	return load_of(&sim->cpus[id]);
}

uint64_t fl_cpu_hash(const struct fl_cpu *cpu, uint64_t hash)
{
	hash = fl_hash_u64(hash, cpu->current ? cpu->current->id : 0);
	hash = fl_hash_u64(hash, cpu->last_id);
	for (const struct fl_task *task = cpu->head; task; task = task->run_next)
		hash = fl_hash_u64(hash, task->id);
	hash = fl_hash_u64(hash, cpu->user_ns);
	hash = fl_hash_u64(hash, cpu->sys_ns);
	return fl_hash_u64(hash, cpu->idle_ns);
}
