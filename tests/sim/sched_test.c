/*
 * tests/sim/sched_test.c - tasks, CPUs, sleeping, waking, sharing: the rules that the model relies on.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"
#include "base/rng.h"
#include "sim/sim.h"

/* ---- Bodies ---- */

static void burn_for_ever(struct fl_task *task, void *arg)
{
	for (;;) {
		fl_charge(task, 1500);
		fl_cond_resched(task);
	}
}

struct burn {
	fl_ns ns;
	fl_ns ended;
};

static void burn_user(struct fl_task *task, void *arg)
{
	struct burn *burn = arg;

	fl_spend_user(task, burn->ns);
	burn->ended = fl_sim_now(task->sim);
}

static struct fl_task *start(struct fl_sim *sim, const char *name, void (*body)(struct fl_task *, void *), void *arg)
{
	struct fl_task *task = fl_task_new(sim, name, false);

	fl_task_start(task, body, arg);
	return task;
}

static uint64_t cpu_ns(const struct fl_task *task)
{
	return task->user_ns + task->sys_ns;
}

static void assert_near(uint64_t value, uint64_t wanted, uint64_t tolerance)
{
	if (value + tolerance < wanted || value > wanted + tolerance)
		print_error("got %llu, wanted %llu +- %llu\n", (unsigned long long)value, (unsigned long long)wanted,
		            (unsigned long long)tolerance);
	assert_true(value + tolerance >= wanted && value <= wanted + tolerance);
}

/* ---- Time and sharing ---- */

static void test_spent_time_passes_on_the_clock_and_is_split_in_user_and_system(void **state)
{
	struct fl_sim *sim = fl_sim_new(1, 1);
	struct burn burn = {.ns = 10 * FL_MS_NS};
	struct fl_task *task = start(sim, "burn", burn_user, &burn);
	struct fl_cpu_times times;

	assert_int_equal(fl_sim_run(sim, FL_NS_FOREVER), FL_SIM_DRAINED);
	assert_int_equal(burn.ended, 10 * FL_MS_NS);
	assert_int_equal(fl_sim_now(sim), 10 * FL_MS_NS);
	assert_int_equal(task->user_ns, 10 * FL_MS_NS);
	assert_int_equal(task->sys_ns, 0);
	assert_false(fl_task_has_work(task));
	assert_false(fl_task_is_running(task));
	assert_int_equal(fl_sim_run(sim, 25 * FL_MS_NS), FL_SIM_DRAINED);
	times = fl_sim_cpu_times(sim, 0);
	assert_int_equal(times.user_ns, 10 * FL_MS_NS);
	assert_int_equal(times.idle_ns, 0);
	fl_sim_free(sim);
}

static void test_two_tasks_on_one_cpu_get_half_each(void **state)
{
	struct fl_sim *sim = fl_sim_new(1, 1);
	struct fl_task *a = start(sim, "a", burn_for_ever, NULL), *b = start(sim, "b", burn_for_ever, NULL);

	assert_int_equal(fl_sim_run(sim, FL_S_NS), FL_SIM_UNTIL);
	assert_int_equal(fl_sim_now(sim), FL_S_NS);
	assert_near(cpu_ns(a), FL_S_NS / 2, 3 * FL_MS_NS);
	assert_near(cpu_ns(b), FL_S_NS / 2, 3 * FL_MS_NS);
	assert_near(a->wait_ns, FL_S_NS / 2, 3 * FL_MS_NS);
	assert_true(a->switches > 100 && a->switches < 1100);
	fl_sim_free(sim);
}

static void test_three_tasks_on_two_cpus_get_two_thirds_each(void **state)
{
	struct fl_sim *sim = fl_sim_new(1, 2);
	struct fl_task *tasks[3];

	for (int i = 0; i < 3; i++)
		tasks[i] = start(sim, "t", burn_for_ever, NULL);
	fl_sim_run(sim, 3 * FL_S_NS);
	for (int i = 0; i < 3; i++)
		assert_near(cpu_ns(tasks[i]), 2 * FL_S_NS, 10 * FL_MS_NS);
	fl_sim_free(sim);
}

static void test_one_long_burn_is_shared_like_many_short_ones(void **state)
{
	struct fl_sim *sim = fl_sim_new(1, 1);
	struct burn a = {.ns = 100 * FL_MS_NS}, b = {.ns = 100 * FL_MS_NS};

	start(sim, "a", burn_user, &a);
	start(sim, "b", burn_user, &b);
	fl_sim_run(sim, FL_NS_FOREVER);
	assert_int_equal(fl_sim_now(sim), 200 * FL_MS_NS);
	assert_near(a.ended, 198 * FL_MS_NS, 3 * FL_MS_NS);
	assert_near(b.ended, 198 * FL_MS_NS, 3 * FL_MS_NS);
	fl_sim_free(sim);
}

static void test_more_cpus_than_tasks_cost_nothing(void **state)
{
	struct fl_sim *sim = fl_sim_new(1, 4);
	struct burn burns[3] = {{5 * FL_MS_NS, 0}, {6 * FL_MS_NS, 0}, {7 * FL_MS_NS, 0}};

	for (int i = 0; i < 3; i++)
		start(sim, "t", burn_user, &burns[i]);
	fl_sim_run(sim, FL_NS_FOREVER);
	for (int i = 0; i < 3; i++)
		assert_int_equal(burns[i].ended, burns[i].ns);
	assert_int_equal(fl_sim_cpu_times(sim, 3).idle_ns, 7 * FL_MS_NS);
	fl_sim_free(sim);
}

static void test_nice_19_gets_15_parts_of_1039(void **state)
{
	struct fl_sim *sim = fl_sim_new(1, 1);
	struct fl_task *a = start(sim, "a", burn_for_ever, NULL), *b = fl_task_new(sim, "khugepaged", true);

	fl_task_set_nice(b, 19);
	assert_int_equal(b->weight, 15);
	fl_task_start(b, burn_for_ever, NULL);
	fl_sim_run(sim, 10 * FL_S_NS);
	assert_near(cpu_ns(b), 10 * FL_S_NS / 1039 * 15, 5 * FL_MS_NS);
	assert_near(cpu_ns(a) + cpu_ns(b), 10 * FL_S_NS, 2 * FL_SIM_QUANTUM_NS);
	fl_task_set_nice(b, -20);
	assert_near(b->weight, 88761, 900);
	fl_sim_free(sim);
}

static void test_a_bound_task_stays_on_its_cpu_and_others_give_way(void **state)
{
	struct fl_sim *sim = fl_sim_new(1, 2);
	struct fl_task *free_one = start(sim, "free", burn_for_ever, NULL), *bound = fl_task_new(sim, "bound", true);

	fl_task_bind(bound, 0);
	assert_int_equal(fl_sim_run(sim, 10 * FL_MS_NS), FL_SIM_UNTIL);
	assert_int_equal(free_one->cpu, 0);
	fl_task_start(bound, burn_for_ever, NULL);
	fl_sim_run(sim, 110 * FL_MS_NS);
	assert_int_equal(bound->cpu, 0);
	assert_int_equal(free_one->cpu, 1);
	assert_near(cpu_ns(bound), 100 * FL_MS_NS, 5 * FL_MS_NS);
	assert_near(cpu_ns(free_one), 110 * FL_MS_NS, FL_MS_NS);
	fl_sim_free(sim);
}

static void test_switch_cost_is_charged_to_the_task_that_comes(void **state)
{
	struct fl_sim *sim = fl_sim_new(1, 1);
	struct burn burn = {.ns = FL_MS_NS};
	struct fl_task *task;

	fl_sim_set_switch_cost(sim, 1500);
	task = start(sim, "a", burn_user, &burn);
	fl_sim_run(sim, FL_NS_FOREVER);
	assert_int_equal(burn.ended, FL_MS_NS + 1500);
	assert_int_equal(task->sys_ns, 1500);
	fl_sim_free(sim);
}

/* ---- Sleeping and waking ---- */

struct journal {
	char text[256];
	struct fl_waitqueue wq;
	bool flag;
};

static void note(struct journal *journal, struct fl_task *task, const char *what)
{
	size_t used = strlen(journal->text);

	snprintf(journal->text + used, sizeof(journal->text) - used, "%s%s@%llu ", task ? task->name : "", what,
	         (unsigned long long)((task ? fl_task_now(task) : 0) / FL_US_NS));
}

static void sleep_by_name(struct fl_task *task, void *arg)
{
	fl_task_sleep(task, (fl_ns)(task->name[0] - 'a') * 10 * FL_US_NS);
	note(arg, task, "");
	fl_task_sleep(task, 100 * FL_US_NS);
	note(arg, task, "");
}

static void test_sleepers_wake_in_order_of_time_then_of_falling_asleep(void **state)
{
	struct fl_sim *sim = fl_sim_new(1, 8);
	struct journal journal = {0};

	start(sim, "d", sleep_by_name, &journal);
	start(sim, "b", sleep_by_name, &journal);
	start(sim, "b2", sleep_by_name, &journal);
	start(sim, "c", sleep_by_name, &journal);
	fl_sim_run(sim, FL_NS_FOREVER);
	assert_string_equal(journal.text, "b@10 b2@10 c@20 d@30 b@110 b2@110 c@120 d@130 ");
	fl_sim_free(sim);
}

static void charge_then_sleep(struct fl_task *task, void *arg)
{
	fl_charge(task, 7000);
	fl_task_sleep(task, 3000);
	*(fl_ns *)arg = fl_sim_now(task->sim);
}

static void test_sleep_counts_from_the_task_s_own_instant(void **state)
{
	struct fl_sim *sim = fl_sim_new(1, 1);
	fl_ns woke = 0;
	struct fl_task *task = start(sim, "t", charge_then_sleep, &woke);

	fl_sim_run(sim, FL_NS_FOREVER);
	assert_int_equal(woke, 10000);
	assert_int_equal(cpu_ns(task), 7000);
	fl_sim_free(sim);
}

static void wait_once(struct fl_task *task, void *arg)
{
	struct journal *journal = arg;

	fl_wait(&journal->wq, task);
	note(journal, task, "");
}

static void wake_one_then_all(struct fl_task *task, void *arg)
{
	struct journal *journal = arg;

	fl_task_sleep(task, 5 * FL_US_NS);
	assert_true(fl_waitqueue_active(&journal->wq));
	assert_int_equal(fl_wake_one(&journal->wq), 1);
	fl_task_sleep(task, 5 * FL_US_NS);
	assert_int_equal(fl_wake_all(&journal->wq), 2);
	assert_int_equal(fl_wake_all(&journal->wq), 0);
	assert_false(fl_waitqueue_active(&journal->wq));
}

static void test_waiters_are_woken_first_in_first_out(void **state)
{
	struct fl_sim *sim = fl_sim_new(1, 1);
	struct journal journal = {0};
	struct fl_task *first = start(sim, "x", wait_once, &journal);

	start(sim, "y", wait_once, &journal);
	start(sim, "z", wait_once, &journal);
	start(sim, "waker", wake_one_then_all, &journal);
	fl_sim_run(sim, 4 * FL_US_NS);
	assert_false(fl_task_is_running(first));
	assert_true(fl_task_has_work(first));
	fl_sim_run(sim, FL_NS_FOREVER);
	assert_string_equal(journal.text, "x@5 y@10 z@10 ");
	fl_sim_free(sim);
}

static void charge_then_wait(struct fl_task *task, void *arg)
{
	struct journal *journal = arg;

	fl_charge(task, 15000); /* below the quantum: passes while the task is on the queue already */
	fl_wait(&journal->wq, task);
	note(journal, task, "");
}

static void wake_at_once(struct fl_task *task, void *arg)
{
	struct journal *journal = arg;

	assert_int_equal(fl_wake_all(&journal->wq), 1);
}

static void test_a_wake_up_while_charges_still_pass_is_not_lost(void **state)
{
	struct fl_sim *sim = fl_sim_new(1, 2);
	struct journal journal = {0};
	struct fl_task *waiter = start(sim, "w", charge_then_wait, &journal);

	start(sim, "k", wake_at_once, &journal);
	assert_int_equal(fl_sim_run(sim, FL_NS_FOREVER), FL_SIM_DRAINED);
	assert_string_equal(journal.text, "w@15 ");
	assert_false(fl_task_has_work(waiter));
	fl_sim_free(sim);
}

static void wait_with_timeout(struct fl_task *task, void *arg)
{
	struct journal *journal = arg;

	note(journal, task, fl_wait_timeout(&journal->wq, task, 20 * FL_US_NS) ? "woken" : "timeout");
	assert_false(task->waits_on == &journal->wq);
	note(journal, task, fl_wait_timeout(&journal->wq, task, 20 * FL_US_NS) ? "woken" : "timeout");
}

static void wake_at_30(struct fl_task *task, void *arg)
{
	fl_task_sleep(task, 30 * FL_US_NS);
	fl_wake_all(&((struct journal *)arg)->wq);
}

static void test_timeout_is_told_from_wake_up(void **state)
{
	struct fl_sim *sim = fl_sim_new(1, 2);
	struct journal journal = {0};

	start(sim, "", wait_with_timeout, &journal);
	start(sim, "", wake_at_30, &journal);
	fl_sim_run(sim, FL_NS_FOREVER);
	assert_string_equal(journal.text, "timeout@20 woken@30 ");
	fl_sim_free(sim);
}

static void sleep_then_note(struct fl_task *task, void *arg)
{
	fl_task_sleep(task, 50 * FL_MS_NS);
	*(fl_ns *)arg = fl_sim_now(task->sim);
}

static void test_a_waking_task_preempts_a_long_burn_at_once(void **state)
{
	struct fl_sim *sim = fl_sim_new(1, 1);
	struct burn burn = {.ns = FL_S_NS};
	fl_ns woke = 0;

	start(sim, "kswapd0", sleep_then_note, &woke);
	start(sim, "burn", burn_user, &burn);
	fl_sim_run(sim, FL_NS_FOREVER);
	assert_int_equal(woke, 50 * FL_MS_NS);
	assert_int_equal(burn.ended, FL_S_NS);
	fl_sim_free(sim);
}

static void test_a_waking_task_goes_to_an_idle_cpu(void **state)
{
	struct fl_sim *sim = fl_sim_new(1, 3);
	struct burn burn = {.ns = FL_S_NS};
	fl_ns woke = 0;
	struct fl_task *sleeper = start(sim, "s", sleep_then_note, &woke), *burner;

	fl_sim_run(sim, FL_MS_NS);
	burner = start(sim, "burn", burn_user, &burn);
	fl_sim_run(sim, FL_NS_FOREVER);
	assert_int_equal(woke, 50 * FL_MS_NS);
	assert_int_equal(burner->wait_ns, 0);
	assert_int_equal(burner->cpu, 0);
	assert_int_equal(sleeper->cpu, 1);
	assert_int_equal(burn.ended, FL_MS_NS + FL_S_NS);
	fl_sim_free(sim);
}

static void ask_need_resched(struct fl_task *task, void *arg)
{
	bool *asked = arg;

	asked[0] = fl_need_resched(task);
	fl_charge(task, 2 * FL_MS_NS);
	asked[1] = fl_need_resched(task);
}

static void test_need_resched_when_another_task_is_due(void **state)
{
	struct fl_sim *sim = fl_sim_new(1, 1);
	bool asked[2] = {true, false};
	struct burn burn = {.ns = FL_MS_NS};

	start(sim, "a", ask_need_resched, asked);
	start(sim, "b", burn_user, &burn);
	fl_sim_run(sim, FL_NS_FOREVER);
	assert_false(asked[0]);
	assert_true(asked[1]);
	fl_sim_free(sim);
}

/* ---- Life of tasks ---- */

static void test_a_task_can_be_started_again_and_stacks_are_reused(void **state)
{
	struct fl_sim *sim = fl_sim_new(1, 1);
	struct fl_task *task = fl_task_new(sim, "again", false);

	for (fl_ns i = 0; i < 100; i++) {
		struct burn burn = {.ns = FL_US_NS};

		fl_task_start(task, burn_user, &burn);
		fl_sim_run(sim, FL_NS_FOREVER);
		assert_int_equal(burn.ended, i * FL_US_NS); /* below the quantum: all at the instant of its start */
		assert_int_equal(fl_sim_now(sim), (i + 1) * FL_US_NS);
		assert_null(task->stack);
	}
	assert_int_equal(task->user_ns, 100 * FL_US_NS);
	assert_int_equal(fl_sim_stacks(sim), 1);
	fl_sim_free(sim);
}

static void test_5000_idle_tasks_have_no_stacks(void **state)
{
	struct fl_sim *sim = fl_sim_new(1, 4);
	struct fl_task *tasks[5000];
	struct burn burn = {.ns = 30 * FL_US_NS};
	struct fl_rng rng;

	fl_rng_init(&rng, 1, "test", 0);
	for (int i = 0; i < 5000; i++)
		tasks[i] = fl_task_new(sim, "idle", false);
	for (int i = 0; i < 2000; i++) {
		struct fl_task *task = tasks[fl_rng_below(&rng, 5000)];

		if (!fl_task_has_work(task))
			fl_task_start(task, burn_user, &burn);
		if (i % 50 == 49)
			fl_sim_run(sim, FL_NS_FOREVER);
	}
	assert_true(fl_sim_stacks(sim) <= 50);
	assert_true(fl_sim_stacks(sim) >= 40);
	fl_sim_free(sim);
}

static void test_suspended_tasks_are_discarded_at_the_end(void **state)
{
	struct fl_sim *sim = fl_sim_new(1, 2);
	struct journal journal = {0};

	for (int i = 0; i < 50; i++)
		start(sim, "w", wait_once, &journal);
	for (int i = 0; i < 5; i++)
		start(sim, "b", burn_for_ever, NULL);
	fl_sim_run(sim, 100 * FL_MS_NS);
	start(sim, "never begun", burn_for_ever, NULL);
	fl_sim_free(sim);
	assert_null(journal.wq.head);
}

static void free_others(struct fl_task *task, void *arg)
{
	struct fl_task **victims = arg;

	for (int i = 0; i < 4; i++)
		fl_task_free(victims[i]);
}

static void test_a_task_may_free_others_that_run_wait_and_sleep(void **state)
{
	struct fl_sim *sim = fl_sim_new(1, 2);
	struct journal journal = {0};
	fl_ns woke = 0;
	struct fl_task *victims[4] = {
		start(sim, "on cpu", burn_for_ever, NULL),
		start(sim, "queued", burn_for_ever, NULL),
		start(sim, "waits", wait_once, &journal),
		start(sim, "sleeps", sleep_then_note, &woke),
	};

	fl_sim_run(sim, 10 * FL_MS_NS + 12345);
	start(sim, "killer", free_others, victims);
	assert_int_equal(fl_sim_run(sim, FL_NS_FOREVER), FL_SIM_DRAINED);
	assert_int_equal(woke, 0);
	assert_null(journal.wq.head);
	assert_int_equal(fl_sim_cpu_load(sim, 0) + fl_sim_cpu_load(sim, 1), 0);
	fl_sim_free(sim);
}

static void restart_itself(struct fl_task *task, void *arg)
{
	int *left = arg;

	fl_charge(task, 3000);
	if (--*left == 0)
		fl_sim_stop(task->sim);
}

static void start_again(struct fl_timer *timer, void *arg)
{
	struct fl_task *task = arg;

	assert_false(fl_task_has_work(task));
	assert_true(fl_task_is_running(task)); /* its last charges are still passing */
	fl_task_start(task, task->body, task->body_arg);
}

static void test_a_task_started_while_its_last_charges_pass_begins_after_them(void **state)
{
	struct fl_sim *sim = fl_sim_new(1, 1);
	int left = 2;
	struct fl_task *task = start(sim, "t", restart_itself, &left);
	struct fl_timer timer = {0};

	fl_timer_set(sim, &timer, 1000, start_again, task);
	assert_int_equal(fl_sim_run(sim, FL_NS_FOREVER), FL_SIM_STOPPED);
	assert_int_equal(fl_sim_now(sim), 3000);
	assert_int_equal(left, 0);
	assert_int_equal(fl_sim_run(sim, FL_NS_FOREVER), FL_SIM_DRAINED);
	assert_int_equal(fl_sim_now(sim), 6000);
	fl_sim_free(sim);
}

/* ---- The main stack ---- */

struct call {
	struct journal journal;
	struct fl_task *helper;
	fl_ns at[2];
	char *main_stack_address;
	int depth;
};

static void inner_call(struct fl_task *task, void *arg)
{
	struct call *call = arg;

	call->depth++;
	fl_spend(task, 50 * FL_US_NS); /* charged; passes later, since nothing switches here */
	fl_task_start(call->helper, wait_once, &call->journal);
}

static void outer_call(struct fl_task *task, void *arg)
{
	struct call *call = arg;
	char *here = __builtin_frame_address(0); /* not a local: AddressSanitizer keeps those elsewhere */

	assert_null(fl_sim_current(task->sim));
	assert_true(here > call->main_stack_address - 65536 && here < call->main_stack_address + 65536);
	call->depth++;
	fl_task_call_on_main(task, inner_call, call);
}

static void call_on_main(struct fl_task *task, void *arg)
{
	struct call *call = arg;

	fl_charge(task, 100);
	call->at[0] = fl_task_now(task);
	fl_task_call_on_main(task, outer_call, call);
	assert_ptr_equal(fl_sim_current(task->sim), task);
	call->at[1] = fl_task_now(task);
	fl_task_sleep(task, FL_US_NS); /* now the helper has its turn */
	assert_int_equal(fl_wake_all(&call->journal.wq), 1);
}

static void test_calls_on_the_main_stack_nest_and_take_no_time(void **state)
{
	struct fl_sim *sim = fl_sim_new(1, 1);
	struct call call = {.helper = fl_task_new(sim, "h", false), .main_stack_address = __builtin_frame_address(0)};

	start(sim, "t", call_on_main, &call);
	fl_sim_run(sim, FL_NS_FOREVER);
	assert_int_equal(call.depth, 2);
	assert_int_equal(call.at[0], 100);
	assert_int_equal(call.at[1], 100 + 50 * FL_US_NS);
	assert_false(fl_waitqueue_active(&call.journal.wq));
	fl_sim_free(sim);
}

/* ---- Timers, stopping ---- */

static void append_timer(struct fl_timer *timer, void *arg)
{
	struct journal *journal = arg;
	char digit[2] = {(char)('0' + timer->when % 10), 0};

	note(journal, NULL, digit);
}

static void test_timers_fire_in_order_and_can_be_moved_and_cancelled(void **state)
{
	struct fl_sim *sim = fl_sim_new(1, 1);
	struct journal journal = {0};
	struct fl_timer timers[6] = {0};

	for (int i = 0; i < 6; i++)
		fl_timer_set(sim, &timers[i], (fl_ns)(6 - i), append_timer, &journal);
	fl_timer_set(sim, &timers[5], 9, append_timer, &journal);
	assert_true(fl_timer_cancel(sim, &timers[2]));
	assert_false(fl_timer_cancel(sim, &timers[2]));
	assert_true(fl_sim_step(sim));
	assert_string_equal(journal.text, "2@0 ");
	assert_int_equal(fl_sim_run(sim, FL_NS_FOREVER), FL_SIM_DRAINED);
	assert_string_equal(journal.text, "2@0 3@0 5@0 6@0 9@0 ");
	assert_false(fl_sim_step(sim));
	fl_sim_free(sim);
}

static void stop_at(struct fl_timer *timer, void *arg)
{
	fl_sim_stop(arg);
}

static void test_stop_ends_the_run_and_another_run_goes_on(void **state)
{
	struct fl_sim *sim = fl_sim_new(1, 1);
	struct fl_task *task = start(sim, "t", burn_for_ever, NULL);
	struct fl_timer timer = {0};

	fl_timer_set(sim, &timer, 5 * FL_MS_NS, stop_at, sim);
	assert_int_equal(fl_sim_run(sim, FL_NS_FOREVER), FL_SIM_STOPPED);
	assert_int_equal(fl_sim_now(sim), 5 * FL_MS_NS);
	assert_int_equal(fl_sim_run(sim, 9 * FL_MS_NS), FL_SIM_UNTIL);
	assert_near(cpu_ns(task), 9 * FL_MS_NS, FL_SIM_QUANTUM_NS + 1500);
	fl_sim_free(sim);
}

static void stop_then_go_on(struct fl_task *task, void *arg)
{
	int *steps = arg;

	fl_sim_stop(task->sim);
	++*steps;
	fl_spend(task, FL_MS_NS);
	++*steps;
}

static void test_a_lone_task_that_stops_the_run_suspends_at_its_next_preemption_point(void **state)
{
	struct fl_sim *sim = fl_sim_new(1, 1);
	int steps = 0;

	start(sim, "t", stop_then_go_on, &steps);
	assert_int_equal(fl_sim_run(sim, FL_NS_FOREVER), FL_SIM_STOPPED);
	assert_int_equal(steps, 1);
	assert_int_equal(fl_sim_run(sim, FL_NS_FOREVER), FL_SIM_DRAINED);
	assert_int_equal(steps, 2);
	fl_sim_free(sim);
}

struct seen {
	struct fl_task *task;
	uint64_t user_ns;
	int fired;
};

static void look(struct fl_timer *timer, void *arg)
{
	struct seen *seen = arg;

	seen->user_ns = seen->task->user_ns;
	seen->fired++;
}

static void expect_fired(struct fl_task *task, void *arg)
{
	struct seen *seen = arg;

	assert_int_equal(seen->fired, 0);
	fl_spend_user(task, FL_MS_NS);
	assert_int_equal(seen->fired, 1);
}

static void test_timers_go_before_slice_ends_of_the_same_instant(void **state)
{
	struct fl_sim *sim = fl_sim_new(1, 1);
	struct seen seen = {0};
	struct fl_timer timer = {0};

	/* alone, so that without the timer its time would pass without a switch */
	seen.task = start(sim, "t", expect_fired, &seen);
	fl_timer_set(sim, &timer, FL_MS_NS, look, &seen);
	fl_sim_run(sim, FL_NS_FOREVER);
	assert_int_equal(seen.fired, 1);

	/* set after the slice had begun: the later sequence still goes first, before the slice is accounted */
	seen.fired = 0;
	fl_task_start(seen.task, expect_fired, &seen);
	fl_timer_set(sim, &timer, fl_sim_now(sim) + FL_MS_NS, look, &seen);
	fl_sim_run(sim, fl_sim_now(sim) + 1);
	fl_timer_set(sim, &timer, timer.when, look, &seen);
	fl_sim_run(sim, timer.when);
	assert_int_equal(seen.fired, 1);
	assert_int_equal(seen.user_ns, FL_MS_NS); /* of the first round */
	fl_sim_free(sim);
}

static void test_a_cpu_whose_task_is_freed_takes_the_next_at_once(void **state)
{
	struct fl_sim *sim = fl_sim_new(1, 1);
	struct burn long_burn = {.ns = FL_S_NS}, burn = {.ns = FL_MS_NS};
	struct fl_task *victim = start(sim, "victim", burn_user, &long_burn);

	fl_sim_run(sim, 100 * FL_US_NS);
	start(sim, "next", burn_user, &burn);
	fl_task_free(victim);
	fl_sim_run(sim, FL_NS_FOREVER);
	assert_int_equal(burn.ended, 100 * FL_US_NS + FL_MS_NS);
	fl_sim_free(sim);
}

/* ---- Without a simulation; determinism ---- */

static void test_a_bare_task_only_counts(void **state)
{
	struct fl_task task = {0};

	for (int i = 0; i < 100; i++) {
		fl_charge(&task, 1000);
		fl_charge_user(&task, 500);
		fl_cond_resched(&task);
	}
	assert_int_equal(fl_task_now(&task), 150 * FL_US_NS);
	fl_task_settle(&task);
	assert_int_equal(task.user_ns, 50 * FL_US_NS);
	assert_int_equal(task.sys_ns, 100 * FL_US_NS);
	assert_false(fl_need_resched(&task));
}

struct storm {
	struct fl_waitqueue wq[4];
	uint64_t trace;
};

static void storm_body(struct fl_task *task, void *arg)
{
	struct storm *storm = arg;
	struct fl_rng rng;

	fl_rng_init(&rng, fl_sim_seed(task->sim), "storm", task->id);
	for (int i = 0; i < 400; i++) {
		struct fl_waitqueue *wq = &storm->wq[fl_rng_below(&rng, 4)];

		storm->trace = fl_hash_u64(storm->trace, task->id + fl_task_now(task));
		switch (fl_rng_below(&rng, 6)) {
		case 0:
			fl_task_sleep(task, fl_rng_below(&rng, FL_MS_NS));
			break;
		case 1:
			fl_wait_timeout(wq, task, fl_rng_below(&rng, 2 * FL_MS_NS));
			break;
		case 2:
			fl_wake_one(wq);
			break;
		case 3:
			fl_wake_all(wq);
			break;
		case 4:
			fl_spend_user(task, fl_rng_below(&rng, 3 * FL_MS_NS));
			break;
		default:
			fl_charge(task, (uint32_t)fl_rng_below(&rng, 15000));
			fl_cond_resched(task);
		}
	}
}

static uint64_t run_storm(uint64_t seed)
{
	struct fl_sim *sim = fl_sim_new(seed, 3);
	struct storm storm = {0};
	uint64_t hash, busy = 0, used = 0, clock_ns;

	fl_sim_set_switch_cost(sim, 1500);
	for (int i = 0; i < 12; i++) {
		struct fl_task *task = fl_task_new(sim, "s", i % 2);

		fl_task_set_nice(task, i % 5 * 4);
		fl_task_bind(task, i % 4 == 3 ? i % 3 : FL_CPU_ANY);
		fl_task_start(task, storm_body, &storm);
	}
	assert_int_equal(fl_sim_run(sim, FL_NS_FOREVER), FL_SIM_DRAINED);
	clock_ns = fl_sim_now(sim);
	for (unsigned int i = 0; i < 3; i++) {
		struct fl_cpu_times times = fl_sim_cpu_times(sim, i);

		busy += times.user_ns + times.sys_ns;
		assert_int_equal(times.user_ns + times.sys_ns + times.idle_ns, clock_ns);
	}
	for (struct fl_task *task = fl_sim_first_task(sim); task; task = task->all_next) {
		used += cpu_ns(task);
		assert_false(fl_task_has_work(task));
	}
	assert_int_equal(busy, used);
	hash = fl_sim_hash(sim, storm.trace);
	fl_sim_free(sim);
	return hash;
}

/* The value is the same for every compiler, optimisation level and sanitizer; it changes only with the rules of the
 * scheduler, and then it is to be changed here on purpose. */
#define STORM_HASH UINT64_C(0x1116c2bb3a63399f)

static void test_a_storm_of_tasks_has_one_hash_everywhere(void **state)
{
	uint64_t hash = run_storm(7);

	assert_int_equal(run_storm(7), hash);
	assert_int_not_equal(run_storm(8), hash);
	if (hash != STORM_HASH)
		print_error("storm hash is 0x%llx\n", (unsigned long long)hash);
	assert_true(hash == STORM_HASH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_spent_time_passes_on_the_clock_and_is_split_in_user_and_system),
		cmocka_unit_test(test_two_tasks_on_one_cpu_get_half_each),
		cmocka_unit_test(test_three_tasks_on_two_cpus_get_two_thirds_each),
		cmocka_unit_test(test_one_long_burn_is_shared_like_many_short_ones),
		cmocka_unit_test(test_more_cpus_than_tasks_cost_nothing),
		cmocka_unit_test(test_nice_19_gets_15_parts_of_1039),
		cmocka_unit_test(test_a_bound_task_stays_on_its_cpu_and_others_give_way),
		cmocka_unit_test(test_switch_cost_is_charged_to_the_task_that_comes),
		cmocka_unit_test(test_sleepers_wake_in_order_of_time_then_of_falling_asleep),
		cmocka_unit_test(test_sleep_counts_from_the_task_s_own_instant),
		cmocka_unit_test(test_waiters_are_woken_first_in_first_out),
		cmocka_unit_test(test_a_wake_up_while_charges_still_pass_is_not_lost),
		cmocka_unit_test(test_timeout_is_told_from_wake_up),
		cmocka_unit_test(test_a_waking_task_preempts_a_long_burn_at_once),
		cmocka_unit_test(test_a_waking_task_goes_to_an_idle_cpu),
		cmocka_unit_test(test_need_resched_when_another_task_is_due),
		cmocka_unit_test(test_a_task_can_be_started_again_and_stacks_are_reused),
		cmocka_unit_test(test_5000_idle_tasks_have_no_stacks),
		cmocka_unit_test(test_suspended_tasks_are_discarded_at_the_end),
		cmocka_unit_test(test_a_task_may_free_others_that_run_wait_and_sleep),
		cmocka_unit_test(test_a_task_started_while_its_last_charges_pass_begins_after_them),
		cmocka_unit_test(test_calls_on_the_main_stack_nest_and_take_no_time),
		cmocka_unit_test(test_timers_fire_in_order_and_can_be_moved_and_cancelled),
		cmocka_unit_test(test_stop_ends_the_run_and_another_run_goes_on),
		cmocka_unit_test(test_a_lone_task_that_stops_the_run_suspends_at_its_next_preemption_point),
		cmocka_unit_test(test_timers_go_before_slice_ends_of_the_same_instant),
		cmocka_unit_test(test_a_cpu_whose_task_is_freed_takes_the_next_at_once),
		cmocka_unit_test(test_a_bare_task_only_counts),
		cmocka_unit_test(test_a_storm_of_tasks_has_one_hash_everywhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
