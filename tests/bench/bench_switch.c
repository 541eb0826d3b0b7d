/*
 * tests/bench/bench_switch.c - what a context switch and a quantum of the simulation cost us, in ns of CPU time.
 *
 * Prints one line per figure: name, best of five, unit. Exits 1 if a round trip costs more than 50 ns, twice the design's
 * 25 (machines are noisy).
 */
#include <stdio.h>
#include <time.h>

#include "sim/coroutine.h"
#include "sim/sim.h"

#define REPEATS 5
#define ROUND_TRIPS 2000000
#define ROUND_TRIP_LIMIT_NS 50.0

static double cpu_time_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double best_of(double (*measure)(void))
{
	double best = measure();

	for (int i = 1; i < REPEATS; i++) {
		double ns = measure();

		if (ns < best)
			best = ns;
	}
	return best;
}

static void leave_for_ever(void *arg)
{
	for (;;)
		fl_stack_leave(arg);
}

static double round_trip(void)
{
	struct fl_stack *stack = fl_stack_new();
	double start;

	fl_stack_prepare(stack, leave_for_ever, stack);
	start = cpu_time_ns();
	for (int i = 0; i < ROUND_TRIPS; i++)
		fl_stack_enter(stack);
	start = cpu_time_ns() - start;
	fl_stack_reset(stack);
	fl_stack_free(stack);
	return start / ROUND_TRIPS;
}

static void burn(struct fl_task *task, void *arg)
{
	for (;;) {
		fl_charge(task, 1000);
		fl_cond_resched(task);
	}
}

static double quantum(unsigned int tasks, unsigned int cpus)
{
	struct fl_sim *sim = fl_sim_new(1, cpus);
	fl_ns virtual_ns = 4 * FL_S_NS / cpus;
	double start;

	for (unsigned int i = 0; i < tasks; i++)
		fl_task_start(fl_task_new(sim, "burn", false), burn, NULL);
	start = cpu_time_ns();
	fl_sim_run(sim, virtual_ns);
	start = cpu_time_ns() - start;
	fl_sim_free(sim);
	return start / (4.0 * FL_S_NS / FL_SIM_QUANTUM_NS);
}

static double quantum_1_on_1(void)
{
	return quantum(1, 1);
}

static double quantum_8_on_8(void)
{
	return quantum(8, 8);
}

static double quantum_40_on_16(void)
{
	return quantum(40, 16);
}

int main(void)
{
	double trip = best_of(round_trip);

	printf("switch_round_trip %.1f ns\n", trip);
	printf("quantum_1_task_1_cpu %.1f ns\n", best_of(quantum_1_on_1));
	printf("quantum_8_tasks_8_cpus %.1f ns\n", best_of(quantum_8_on_8));
	printf("quantum_40_tasks_16_cpus %.1f ns\n", best_of(quantum_40_on_16));
	return trip > ROUND_TRIP_LIMIT_NS;
}
