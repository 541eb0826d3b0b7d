/*
 * sim/sim.c - the simulation as a whole: made, run, freed, hashed.
 */
#include "sim/sim.h"

#include "base/hash.h"
#include "sim/internal.h"

struct fl_sim *fl_sim_new(uint64_t seed, unsigned int cpus)
{
	struct fl_sim *sim = fl_host_alloc(sizeof(*sim));

	FL_ASSERT(cpus >= 1 && cpus <= FL_SIM_CPUS_MAX);
	fl_stack_catch_overflow();
	sim->seed = seed;
	sim->until = FL_NS_FOREVER;
	sim->cpus_count = cpus;
	sim->cpus = fl_host_alloc(cpus * sizeof(*sim->cpus));
	for (unsigned int i = 0; i < cpus; i++)
		fl_cpu_init(sim, &sim->cpus[i], i);
	return sim;
}

static void free_stacks(struct fl_sim *sim)
{
	while (sim->free_stacks) {
		struct fl_stack *stack = sim->free_stacks;

		sim->free_stacks = stack->next;
		fl_stack_free(stack);
	}
}

void fl_sim_free(struct fl_sim *sim)
{
	if (!sim)
		return;
	FL_ASSERT_MSG(!fl_stack_current && !sim->caller, "a task frees its simulation");
	while (sim->last_task)
		fl_task_free(sim->last_task);
	free_stacks(sim);
	fl_host_free(sim->heap);
	fl_host_free(sim->cpus);
	fl_host_free(sim);
}

fl_ns fl_sim_now(const struct fl_sim *sim)
{
	return sim->now;
}

uint64_t fl_sim_seed(const struct fl_sim *sim)
{
	return sim->seed;
}

unsigned int fl_sim_cpus(const struct fl_sim *sim)
{
	return sim->cpus_count;
}

uint64_t fl_sim_events(const struct fl_sim *sim)
{
	return sim->events;
}

struct fl_task *fl_sim_current(const struct fl_sim *sim)
{
	return sim->current;
}

struct fl_task *fl_sim_first_task(const struct fl_sim *sim)
{
	return sim->first_task;
}

unsigned int fl_sim_stacks(const struct fl_sim *sim)
{
	return sim->stacks_made;
}

void fl_sim_set_switch_cost(struct fl_sim *sim, uint32_t ns)
{
	sim->switch_cost_ns = ns;
}

void fl_sim_stop(struct fl_sim *sim)
{
	sim->is_stopping = true;
}

bool fl_sim_step(struct fl_sim *sim)
{
	FL_ASSERT_MSG(!fl_stack_current && !sim->caller, "a task runs its simulation");
	sim->until = FL_NS_FOREVER;
	return fl_event_next(sim);
}

enum fl_sim_end fl_sim_run(struct fl_sim *sim, fl_ns until)
{
	FL_ASSERT_MSG(!fl_stack_current && !sim->caller, "a task runs its simulation");
	sim->is_stopping = false;
	sim->until = until;
	while (!sim->is_stopping) {
		if (sim->heap_count == 0)
			return FL_SIM_DRAINED;
		if (fl_event_first_ns(sim) > until) {
			if (until > sim->now)
				sim->now = until;
			return FL_SIM_UNTIL;
		}
		fl_event_next(sim);
	}
	return FL_SIM_STOPPED;
}

uint64_t fl_sim_hash(const struct fl_sim *sim, uint64_t hash)
{
	hash = fl_hash_u64(hash, sim->seed);
	hash = fl_hash_u64(hash, sim->now);
	hash = fl_hash_u64(hash, sim->events);
	hash = fl_hash_u64(hash, sim->floor);
	for (unsigned int i = 0; i < sim->cpus_count; i++)
		hash = fl_cpu_hash(&sim->cpus[i], hash);
	for (const struct fl_task *task = sim->first_task; task; task = task->all_next)
		hash = fl_task_hash(task, hash);
	return fl_event_hash(sim, hash);
}
