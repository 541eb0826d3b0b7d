/* The run pool: records come back, a child that ends badly loses its own run only, Ctrl-C keeps what had finished. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/pool.h"

/* What child `index` does is letter `index` of the script that `arg` is. */
static int work(void *arg, size_t index, struct fl_record *ret, struct fl_error *reterr)
{
	const char *script = arg;

	switch (script[index]) {
	case 'a':
		if (!freopen("/dev/null", "w", stderr))
			_exit(9);
		abort();
	case 'k':
		raise(SIGKILL);
		break;
	case 'q':
		_exit(7);
	case 'f':
		return fl_error_set(reterr, FL_ERROR_FAILED, -EIO, "the disk broke");
	case 'i':
		return fl_error_input(reterr, "x.lua:3: no");
	case 's':
		sleep(60);
		break;
	case 'p':
		kill(getppid(), SIGINT);
		sleep(60);
		break;
	case 'b': /* a record far larger than a pipe holds */
		for (int i = 0; i < 20000; i++)
			fl_record_add(ret, "pgfault", "end", i);
		break;
	case 'w':
		nanosleep(&(struct timespec){ 0, 50000000 }, NULL);
		break;
	}
	fl_record_add(ret, "index", "all", (double)index);
	return 0;
}

static int run(const char *script, size_t jobs, struct fl_pool_outcome **ret)
{
	struct fl_pool pool = { .jobs = jobs, .noun = "runs", .work = work, .arg = (void *)script };

	*ret = calloc(strlen(script), sizeof(**ret));
	return fl_pool_run(&pool, 0, strlen(script), *ret);
}

static void assert_states(const struct fl_pool_outcome *o, const char *states)
{
	static const char letters[] = "WRDFL";

	for (size_t i = 0; states[i]; i++)
		if (letters[o[i].state] != states[i])
			fail_msg("run %zu is %c, not %c", i, letters[o[i].state], states[i]);
}

static void test_records_come_back_in_their_places(void **state)
{
	for (size_t jobs = 1; jobs <= 3; jobs++) {
		struct fl_pool_outcome *o;

		assert_int_equal(run("w..b..", jobs, &o), 0);
		assert_states(o, "DDDDDD");
		for (size_t i = 0; i < 6; i++)
			assert_true(fl_record_find(&o[i].record, "index", "all")->value == (double)i);
		assert_int_equal(o[3].record.samples_count, 20001);
		assert_true(o[3].record.rss_max_bytes > 1 << 20);
		fl_pool_outcomes_free(o, 6);
	}
}

static void test_a_child_that_ends_badly_loses_its_own_run_only(void **state)
{
	struct fl_pool_outcome *o;

	assert_int_equal(run(".a.k.q.f.", 2, &o), 0);
	assert_states(o, "DLDLDFDFD");
	assert_int_equal(o[1].signal, SIGABRT);
	assert_int_equal(o[3].signal, SIGKILL);
	assert_non_null(strstr(o[5].error.text, "status 7"));
	assert_string_equal(o[7].error.text, "the disk broke");
	assert_int_equal(o[7].error.class, FL_ERROR_FAILED);
	fl_pool_outcomes_free(o, 9);
}

static void test_wrong_input_stops_the_rest(void **state)
{
	struct fl_pool_outcome *o;

	assert_int_equal(run(".i..", 1, &o), 0);
	assert_states(o, "DFWW");
	assert_int_equal(o[1].error.class, FL_ERROR_INPUT);
	fl_pool_outcomes_free(o, 4);
}

static void test_interrupt_keeps_finished_runs_and_kills_the_others(void **state)
{
	time_t start = time(NULL);
	struct fl_pool_outcome *o;

	assert_int_equal(run("..p..", 1, &o), -EINTR);
	assert_states(o, "DDWWW");
	fl_pool_outcomes_free(o, 5);
	assert_int_equal(run("sp..", 2, &o), -EINTR); /* one that interrupts, one that is killed */
	assert_states(o, "WWWW");
	fl_pool_outcomes_free(o, 4);
	assert_true(time(NULL) - start < 20);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child is left */
}

static void test_a_range_can_be_added_behind(void **state)
{
	struct fl_pool pool = { .jobs = 2, .noun = "runs", .work = work, .arg = "....." };
	struct fl_pool_outcome *o = calloc(5, sizeof(*o));

	assert_int_equal(fl_pool_run(&pool, 0, 2, o), 0);
	assert_states(o, "DDWWW");
	assert_int_equal(fl_pool_run(&pool, 2, 3, o), 0);
	assert_states(o, "DDDDD");
	assert_true(fl_record_find(&o[4].record, "index", "all")->value == 4);
	fl_pool_outcomes_free(o, 5);
}

static void test_signal_handlers_are_put_back(void **state)
{
	struct sigaction before, after;
	struct fl_pool_outcome *o;

	sigaction(SIGINT, NULL, &before);
	assert_int_equal(run(".", 1, &o), 0);
	sigaction(SIGINT, NULL, &after);
	assert_true(before.sa_handler == after.sa_handler);
	fl_pool_outcomes_free(o, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_records_come_back_in_their_places),
		cmocka_unit_test(test_a_child_that_ends_badly_loses_its_own_run_only),
		cmocka_unit_test(test_wrong_input_stops_the_rest),
		cmocka_unit_test(test_interrupt_keeps_finished_runs_and_kills_the_others),
		cmocka_unit_test(test_a_range_can_be_added_behind),
		cmocka_unit_test(test_signal_handlers_are_put_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
