/*
 * machine/sim_agent.c - processes and threads of the sim backend: birth, the loop of operations, waiting, death.
 *
 * A process ends when its last thread ends; exit() and SIGKILL end all threads at their next operation. A paused agent has
 * no stack: thousands of processes persist at the cost of their structs.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "machine/sim.h"

static void agent_body(struct fl_task *task, void *arg);

/* ---- asking the program: on the main stack ---- */

static void ask(struct fl_task *task, void *arg)
{
	struct fl_agent *agent = arg;
	const struct fl_outcome *outcome = agent->asked ? &agent->outcome : NULL;

	(void)task;
	memset(&agent->op, 0, sizeof(agent->op));
	agent->asked = true;
	agent->has_op = !agent->vm->stopped && agent->program.next(agent->program.arg, outcome, &agent->op);
}

/* ---- death ---- */

static void mark_ended(struct fl_agent *agent)
{
	struct fl_backend *vm = agent->vm;

	agent->ended = true;
	vm->agents_alive--;
	fl_wake_all(&agent->end_wq);
	if (agent->parent) {
		agent->parent->children_alive--;
		fl_wake_all(&agent->parent->children_wq);
	}
	if (agent == vm->agents[0])
		fl_sim_stop(vm->sim); /* main() is over, and with it the run */
}

static void end_agent(struct fl_agent *agent)
{
	struct fl_sim_process *p = agent->process;

	p->agents_alive--;
	if (!p->process) {
		/* was never born */
	} else if (p->agents_alive > 0) {
		fl_thread_exit(agent->vm->mem, &agent->who, p->process, agent->slot);
	} else {
		struct fl_process *process = p->process;

		p->dying = true;
		fl_process_exit(agent->vm->mem, &agent->who, process);
		p->process = NULL;
	}
	fl_task_settle(agent->task);
	mark_ended(agent);
}

/* Gets an agent that is off back to its loop, where it sees that its process is dying. */
static void interrupt(struct fl_agent *agent)
{
	if (agent->paused) {
		agent->paused = false;
		agent->vm->agents_off--;
		fl_task_start(agent->task, agent_body, agent);
	} else if (agent->interruptible) {
		fl_task_wake(agent->task);
	}
}

void fl_sim_process_kill(struct fl_backend *vm, struct fl_sim_process *process)
{
	if (process->dying)
		return;
	process->dying = true;
	if (process->process)
		process->process->mm->dying = true;
	for (uint32_t i = 0; i < vm->agents_count; i++)
		if (vm->agents[i]->process == process && !vm->agents[i]->ended)
			interrupt(vm->agents[i]);
}

/* ---- life ---- */

static bool be_born(struct fl_agent *agent)
{
	struct fl_sim_process *p = agent->process;

	if (p->process)
		return true;
	fl_charge(agent->task, agent->vm->mem->cost->process_start);
	p->process = fl_process_new(agent->vm->mem, &agent->who);
	if (!p->process) {
		p->no_memory = p->dying = true;
		return false;
	}
	p->process->mm->owner = p;
	return true;
}

static void agent_body(struct fl_task *task, void *arg)
{
	struct fl_agent *agent = arg;

	if (!agent->process->dying && be_born(agent)) {
		while (!agent->process->dying) {
			fl_task_call_on_main(task, ask, agent);
			if (!agent->has_op)
				break;
			fl_sim_perform(agent);
			if (agent->paused)
				return;
		}
	}
	if (!agent->vm->stopped)
		end_agent(agent);
}

static struct fl_sim_process *new_process(struct fl_backend *vm, const char *name)
{
	struct fl_sim_process *p = fl_xcalloc(1, sizeof(*p));

	if (!(vm->processes_count & (vm->processes_count - 1)))
		vm->processes = fl_xrealloc(vm->processes, (vm->processes_count ? 2 * vm->processes_count : 1) *
								   sizeof(*vm->processes));
	vm->processes[vm->processes_count++] = p;
	p->id = vm->processes_count;
	snprintf(p->name, sizeof(p->name), "%s", name);
	return p;
}

int64_t fl_agent_new(struct fl_backend *vm, struct fl_agent *parent, const struct fl_program *program,
		     const char *name, bool as_thread)
{
	struct fl_agent *agent = fl_xcalloc(1, sizeof(*agent));
	int64_t handle;

	agent->vm = vm;
	agent->parent = parent;
	agent->program = *program;
	agent->process = as_thread ? parent->process : new_process(vm, name);
	agent->process->agents_alive++;
	agent->task = fl_task_new(vm->sim, name, false);
	agent->task->owner = agent;
	agent->who = (struct fl_caller){ .task = agent->task, .actor = FL_ACTOR_DIRECT,
					 .trigger = FL_TRIGGER_SLOWPATH };
	if (!(vm->agents_count & (vm->agents_count - 1)))
		vm->agents = fl_xrealloc(vm->agents,
					 (vm->agents_count ? 2 * vm->agents_count : 1) * sizeof(*vm->agents));
	vm->agents[vm->agents_count++] = agent;
	vm->agents_alive++;
	if (parent)
		parent->children_alive++;
	handle = fl_sim_thing_new(vm, &(struct fl_thing){ .kind = FL_THING_AGENT, .agent = agent });
	fl_task_start(agent->task, agent_body, agent);
	return handle;
}

void fl_agents_free(struct fl_backend *vm)
{
	for (uint32_t i = 0; i < vm->agents_count; i++) {
		vm->agents[i]->program.done(vm->agents[i]->program.arg);
		fl_task_free(vm->agents[i]->task); /* leaves the wait queue of another agent: all are still there */
	}
	for (uint32_t i = 0; i < vm->agents_count; i++) {
		free(vm->agents[i]->tlb);
		free(vm->agents[i]);
	}
	for (uint32_t i = 0; i < vm->processes_count; i++) {
		if (vm->processes[i]->process)
			fl_process_forget(vm->processes[i]->process);
		free(vm->processes[i]);
	}
	free(vm->agents);
	free(vm->processes);
}

bool fl_agents_are_stuck(const struct fl_backend *vm)
{
	for (uint32_t i = 0; i < vm->agents_count; i++)
		if (!vm->agents[i]->ended && fl_task_is_running(vm->agents[i]->task))
			return false;
	return true;
}

void fl_agents_describe_stuck(const struct fl_backend *vm, struct fl_error *reterr)
{
	struct fl_text who;
	unsigned int named = 0;

	fl_text_init(&who);
	for (uint32_t i = 0; i < vm->agents_count && named < 5; i++) {
		const struct fl_op *op = &vm->agents[i]->op;

		if (vm->agents[i]->ended)
			continue;
		fl_text_add(&who, "%s%s in %s()", named++ ? ", " : "", vm->agents[i]->task->name, fl_verb_name(op->verb));
		if (op->script)
			fl_text_add(&who, " at %s:%u", op->script, op->line);
	}
	fl_error_input(reterr, "the scenario stands still: every process waits for another one (%s%s)", who.data,
		       vm->agents_alive > named ? ", ..." : "");
	fl_text_fini(&who);
}

/* ---- verbs ---- */

static void drop_program(struct fl_task *task, void *arg)
{
	const struct fl_program *program = arg;

	(void)task;
	program->done(program->arg);
}

static int64_t start_thread(struct fl_agent *agent, const struct fl_op *op)
{
	struct fl_backend *vm = agent->vm;
	int slot;

	fl_charge(agent->task, vm->mem->cost->thread_start);
	slot = fl_thread_new(vm->mem, &agent->who, agent->process->process);
	if (slot < 0 || agent->process->dying) {
		fl_task_call_on_main(agent->task, drop_program, &agent->op.program);
		return -ENOMEM;
	}
	fl_agent_new(vm, agent, &op->program, op->name, true);
	vm->agents[vm->agents_count - 1]->slot = slot;
	return vm->things_count;
}

/* Sleeps on `wq` while *flag differs from `until`. */
static void wait_agents(struct fl_agent *agent, struct fl_waitqueue *wq, const struct fl_agent *target)
{
	agent->interruptible = true;
	agent->vm->agents_off++;
	while ((target ? !target->ended : agent->children_alive > 0) && !agent->process->dying)
		fl_wait(wq, agent->task);
	agent->vm->agents_off--;
	agent->interruptible = false;
}

/* Did something that this agent waited for die of lack of memory? */
static int64_t wait_verb(struct fl_agent *agent, int64_t handle)
{
	struct fl_thing *thing;
	int64_t died = 0;

	if (handle) {
		struct fl_agent *target;

		thing = fl_sim_thing(agent, handle, FL_THING_AGENT);
		if (!thing)
			return 0;
		target = thing->agent;
		wait_agents(agent, &target->end_wq, target);
		return target->process->no_memory;
	}
	wait_agents(agent, &agent->children_wq, NULL);
	for (uint32_t i = 0; i < agent->vm->agents_count; i++)
		if (agent->vm->agents[i]->parent == agent)
			died |= agent->vm->agents[i]->process->no_memory;
	return died;
}

static int64_t ended_verb(struct fl_agent *agent, int64_t handle)
{
	struct fl_thing *thing = fl_sim_thing(agent, handle, FL_THING_AGENT);

	fl_charge(agent->task, agent->vm->mem->cost->syscall);
	return thing && thing->agent->ended;
}

static int64_t kill_verb(struct fl_agent *agent, int64_t handle)
{
	struct fl_thing *thing = fl_sim_thing(agent, handle, FL_THING_AGENT);

	if (thing)
		fl_sim_process_kill(agent->vm, thing->agent->process);
	return 0;
}

static int64_t sleep_verb(struct fl_agent *agent, uint64_t ns)
{
	agent->interruptible = true;
	fl_task_sleep(agent->task, ns);
	agent->interruptible = false;
	return 0;
}

static int64_t pause_verb(struct fl_agent *agent)
{
	fl_task_settle(agent->task);
	if (agent->process->dying)
		return 0;
	agent->paused = true;
	agent->vm->agents_off++;
	return 0;
}

int64_t fl_sim_process_verb(struct fl_agent *agent, const struct fl_op *op)
{
	struct fl_backend *vm = agent->vm;

	switch (op->verb) {
	case FL_VERB_PROCESS:
		fl_charge(agent->task, vm->mem->cost->syscall);
		return fl_agent_new(vm, agent, &op->program, op->name, false);
	case FL_VERB_THREAD:
		return start_thread(agent, op);
	case FL_VERB_WAIT:
		return wait_verb(agent, op->handle);
	case FL_VERB_ENDED:
		return ended_verb(agent, op->handle);
	case FL_VERB_KILL:
		return kill_verb(agent, op->handle);
	case FL_VERB_EXIT:
		fl_sim_process_kill(vm, agent->process);
		return 0;
	case FL_VERB_COMPUTE:
		fl_spend_user(agent->task, op->time_ns);
		return 0;
	case FL_VERB_SLEEP:
		return sleep_verb(agent, op->time_ns);
	case FL_VERB_PAUSE:
		return pause_verb(agent);
	default:
		fl_charge(agent->task, vm->mem->cost->syscall);
		return 0;
	}
}
