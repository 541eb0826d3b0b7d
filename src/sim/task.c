/*
 * sim/task.c - the life of a task: made, started, suspended, woken, freed; and the wait queues that it sleeps on.
 */
#include <string.h>

#include "base/hash.h"
#include "sim/internal.h"

/* ---- Stacks of the pool ---- */

static struct fl_stack *stack_get(struct fl_sim *sim, const char *owner)
{
	struct fl_stack *stack = sim->free_stacks;

	if (stack) {
		sim->free_stacks = stack->next;
	} else {
		stack = fl_stack_new();
		sim->stacks_made++;
	}
	stack->owner = owner;
	stack->next = NULL;
	return stack;
}

static void stack_put(struct fl_sim *sim, struct fl_stack *stack)
{
	stack->owner = NULL;
	if (fl_stack_current) { /* stacks do not nest: reset it when the main stack has its turn */
		stack->next = sim->dropped_stacks;
		sim->dropped_stacks = stack;
		return;
	}
	fl_stack_reset(stack);
	stack->next = sim->free_stacks;
	sim->free_stacks = stack;
}

void fl_task_reset_dropped_stacks(struct fl_sim *sim)
{
	while (sim->dropped_stacks) {
		struct fl_stack *stack = sim->dropped_stacks;

		sim->dropped_stacks = stack->next;
		stack_put(sim, stack);
	}
}

/* ---- Making, starting, freeing ---- */

struct fl_task *fl_task_new(struct fl_sim *sim, const char *name, bool kthread)
{
	struct fl_task *task = fl_host_alloc(sizeof(*task));
	size_t length = strlen(name);

	task->sim = sim;
	task->clock = &sim->now;
	task->id = ++sim->last_task_id;
	task->is_kthread = kthread;
	task->weight = 1024;
	task->bound_cpu = FL_CPU_ANY;
	memcpy(task->name, name, length < sizeof(task->name) ? length : sizeof(task->name) - 1);
	task->all_prev = sim->last_task;
	*(sim->last_task ? &sim->last_task->all_next : &sim->first_task) = task;
	sim->last_task = task;
	return task;
}

static void queue_leave(struct fl_task *task);

void fl_task_free(struct fl_task *task)
{
	struct fl_sim *sim = task->sim;

	FL_ASSERT_MSG(task != sim->current && task != sim->caller, "a task frees itself");
	queue_leave(task);
	fl_timer_cancel(sim, &task->timer);
	fl_sched_remove(task);
	if (task->io_waiter)
		*task->io_waiter = NULL;
	if (task->stack)
		stack_put(sim, task->stack);
	*(task->all_prev ? &task->all_prev->all_next : &sim->first_task) = task->all_next;
	*(task->all_next ? &task->all_next->all_prev : &sim->last_task) = task->all_prev;
	fl_host_free(task);
}

static void run_body(void *arg)
{
	struct fl_task *task = arg;

	task->body(task, task->body_arg);
	task->has_work = false;
}

void fl_task_start(struct fl_task *task, void (*body)(struct fl_task *, void *), void *arg)
{
	FL_ASSERT_MSG(!task->has_work, "a task that has work is started");
	task->has_work = true;
	task->body = body;
	task->body_arg = arg;
	task->stack = stack_get(task->sim, task->name);
	fl_stack_prepare(task->stack, run_body, task);
	/* Still on a CPU if its last charges are passing: then the body begins after them. */
	if (task->place == FL_TASK_OFF)
		fl_sched_wake(task, false);
}

void fl_task_bind(struct fl_task *task, int cpu)
{
	FL_ASSERT(cpu == FL_CPU_ANY || (cpu >= 0 && (unsigned int)cpu < task->sim->cpus_count));
	task->bound_cpu = cpu;
}

/* models sched_prio_to_weight[]: each step is a factor of 1.25, within 1 % of the kernel's rounded table */
void fl_task_set_nice(struct fl_task *task, int nice)
{
	uint64_t weight = UINT64_C(1024) << 16;

	FL_ASSERT(nice >= -20 && nice <= 19);
	for (int i = 0; i < nice; i++)
		weight = weight * 4 / 5;
	for (int i = 0; i > nice; i--)
		weight = weight * 5 / 4;
	task->nice = (int8_t)nice;
	task->weight = (uint32_t)((weight + (1u << 15)) >> 16);
}

/* ---- Running code ---- */

void fl_task_run_code(struct fl_task *task)
{
	struct fl_sim *sim = task->sim;

	for (;;) {
		void (*fn)(struct fl_task *, void *);

		sim->current = task;
		fl_stack_enter(task->stack);
		sim->current = NULL;
		fn = task->main_fn;
		if (!fn)
			break;
		task->main_fn = NULL;
		sim->caller = task;
		fn(task, task->main_arg);
		sim->caller = NULL;
	}
	fl_task_reset_dropped_stacks(sim);
	if (!task->has_work) {
		stack_put(sim, task->stack);
		task->stack = NULL;
	}
}

void fl_task_call_on_main(struct fl_task *task, void (*fn)(struct fl_task *, void *), void *arg)
{
	if (!fl_stack_current) {
		fn(task, arg);
		return;
	}
	FL_ASSERT_MSG(task->sim->current == task, "only the running task calls for itself");
	task->main_fn = fn;
	task->main_arg = arg;
	fl_stack_leave(task->stack);
}

/* ---- Passing time and sleeping ---- */

static void settle_without_sim(struct fl_task *task)
{
	task->user_ns += task->pending_user_ns;
	task->sys_ns += task->pending_ns - task->pending_user_ns;
	task->pending_ns = 0;
	task->pending_user_ns = 0;
}

void fl_task_settle(struct fl_task *task)
{
	if (!task->sim)
		settle_without_sim(task);
	else if (task->sim->current == task && task->pending_ns > 0 && !fl_sched_settle_quickly(task))
		fl_stack_leave(task->stack);
}

void fl_spend(struct fl_task *task, fl_ns ns)
{
	task->pending_ns += ns;
	fl_cond_resched(task);
}

void fl_spend_user(struct fl_task *task, fl_ns ns)
{
	task->pending_ns += ns;
	task->pending_user_ns += ns;
	fl_cond_resched(task);
}

static void go_to_sleep(struct fl_task *task)
{
	FL_ASSERT_MSG(task->sim && task->sim->current == task, "only the running task sleeps");
	task->wants_sleep = true;
	fl_stack_leave(task->stack);
	FL_ASSERT(!task->wants_sleep);
}

static void on_timeout(struct fl_timer *timer, void *arg)
{
	struct fl_task *task = arg;

	task->timed_out = true;
	fl_task_wake(task);
}

static void arm(struct fl_task *task, fl_ns ns)
{
	fl_ns now = fl_task_now(task);

	task->timed_out = false;
	fl_timer_set(task->sim, &task->timer, ns < FL_NS_FOREVER - now ? now + ns : FL_NS_FOREVER, on_timeout, task);
}

void fl_task_sleep(struct fl_task *task, fl_ns ns)
{
	arm(task, ns);
	go_to_sleep(task);
}

/* ---- Wait queues ---- */

static void queue_join(struct fl_waitqueue *wq, struct fl_task *task)
{
	FL_ASSERT(!task->waits_on);
	task->waits_on = wq;
	task->wait_prev = wq->tail;
	task->wait_next = NULL;
	*(wq->tail ? &wq->tail->wait_next : &wq->head) = task;
	wq->tail = task;
}

static void queue_leave(struct fl_task *task)
{
	struct fl_waitqueue *wq = task->waits_on;

	if (!wq)
		return;
	*(task->wait_prev ? &task->wait_prev->wait_next : &wq->head) = task->wait_next;
	*(task->wait_next ? &task->wait_next->wait_prev : &wq->tail) = task->wait_prev;
	task->wait_prev = NULL;
	task->wait_next = NULL;
	task->waits_on = NULL;
}

void fl_wait(struct fl_waitqueue *wq, struct fl_task *task)
{
	queue_join(wq, task);
	go_to_sleep(task);
}

bool fl_wait_timeout(struct fl_waitqueue *wq, struct fl_task *task, fl_ns ns)
{
	queue_join(wq, task);
	arm(task, ns);
	go_to_sleep(task);
	return !task->timed_out;
}

bool fl_task_wake(struct fl_task *task)
{
	if (!task->wants_sleep)
		return false;
	queue_leave(task);
	fl_timer_cancel(task->sim, &task->timer);
	task->wants_sleep = false;
	if (task->place == FL_TASK_OFF)
		fl_sched_wake(task, true);
	return true;
}

unsigned int fl_wake_one(struct fl_waitqueue *wq)
{
	return wq->head ? fl_task_wake(wq->head) : 0;
}

unsigned int fl_wake_all(struct fl_waitqueue *wq)
{
	unsigned int woken = 0;

	while (wq->head)
		woken += fl_wake_one(wq);
	return woken;
}

uint64_t fl_task_hash(const struct fl_task *task, uint64_t hash)
{
	hash = fl_hash_u64(hash, task->id);
	hash = fl_hash_u64(hash, (uint64_t)task->place << 32 | (uint64_t)task->cpu << 8 | task->has_work << 3 |
	                                 task->wants_sleep << 2 | (task->waits_on != NULL) << 1 | task->is_kthread);
	hash = fl_hash_u64(hash, task->pending_ns);
	hash = fl_hash_u64(hash, task->pending_user_ns);
	hash = fl_hash_u64(hash, task->vruntime);
	hash = fl_hash_u64(hash, task->weight);
	hash = fl_hash_u64(hash, task->user_ns);
	hash = fl_hash_u64(hash, task->sys_ns);
	hash = fl_hash_u64(hash, task->wait_ns);
	return fl_hash_u64(hash, task->switches);
}
