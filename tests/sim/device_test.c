/*
 * tests/sim/device_test.c - latency, throughput, parallelism and totals of block devices.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sim/device.h"

/* 100 us to read, 20 us to write, 1 GB/s. */
static struct fl_device *new_device(struct fl_sim *sim, uint32_t parallel)
{
	struct fl_device_model model = {.name = "vda", .read_latency_ns = 100000, .write_latency_ns = 20000,
	                                .bytes_per_s = 1000000000, .parallel = parallel, .capacity_bytes = 1 << 30};

	return fl_device_new(sim, &model);
}

struct sink {
	struct fl_sim *sim;
	unsigned int count;
	fl_ns at[64];
};

static void on_done(void *arg)
{
	struct sink *sink = arg;

	sink->at[sink->count++] = fl_sim_now(sink->sim);
}

static void test_a_request_takes_latency_and_transfer(void **state)
{
	struct fl_sim *sim = fl_sim_new(1, 1);
	struct fl_device *device = new_device(sim, 1);
	struct sink sink = {.sim = sim};

	fl_device_submit(device, 4096, false, on_done, &sink);
	fl_sim_run(sim, FL_NS_FOREVER);
	fl_device_submit(device, 4096, true, on_done, &sink);
	fl_sim_run(sim, FL_NS_FOREVER);
	assert_int_equal(sink.at[0], 104096);
	assert_int_equal(sink.at[1] - sink.at[0], 24096);
	fl_device_free(device);
	fl_sim_free(sim);
}

static void test_one_slot_serves_one_after_the_other(void **state)
{
	struct fl_sim *sim = fl_sim_new(1, 1);
	struct fl_device *device = new_device(sim, 1);
	struct sink sink = {.sim = sim};

	for (int i = 0; i < 10; i++)
		fl_device_submit(device, 1000, false, on_done, &sink);
	assert_int_equal(fl_device_in_flight(device), 10);
	fl_sim_run(sim, FL_NS_FOREVER);
	assert_int_equal(sink.count, 10);
	for (fl_ns i = 0; i < 10; i++)
		assert_int_equal(sink.at[i], (i + 1) * 101000);
	assert_int_equal(fl_device_in_flight(device), 0);
	fl_device_free(device);
	fl_sim_free(sim);
}

static void test_a_new_model_holds_for_what_begins_later(void **state)
{
	struct fl_sim *sim = fl_sim_new(1, 1);
	struct fl_device *device = new_device(sim, 4);
	struct fl_device_model slow = *fl_device_model(device);
	struct sink sink = {.sim = sim};

	slow.read_latency_ns = 1000000;
	slow.parallel = 1;
	for (int i = 0; i < 6; i++)
		fl_device_submit(device, 1000, false, on_done, &sink);
	fl_device_set_model(device, &slow);
	assert_string_equal(fl_device_model(device)->name, "vda");
	fl_sim_run(sim, FL_NS_FOREVER);
	assert_int_equal(sink.count, 6);
	assert_int_equal(sink.at[3], 104000); /* four had a slot */
	assert_int_equal(sink.at[4], 104000 + 1001000); /* the slots of the new model: one */
	assert_int_equal(sink.at[5], sink.at[4] + 1001000);
	fl_device_free(device);
	fl_sim_free(sim);
}

static void test_many_slots_are_bound_by_throughput(void **state)
{
	struct fl_sim *sim = fl_sim_new(1, 1);
	struct fl_device *device = new_device(sim, 32);
	struct sink sink = {.sim = sim};
	struct fl_device_totals totals;

	for (int i = 0; i < 64; i++)
		fl_device_submit(device, 1000000, i % 2, on_done, &sink);
	fl_sim_run(sim, FL_NS_FOREVER);
	assert_int_equal(sink.count, 64);
	/* 64 MB at 1 GB/s behind one latency; later latencies hide behind transfers */
	assert_int_equal(fl_sim_now(sim), 100000 + 64 * FL_MS_NS);
	totals = fl_device_totals(device);
	assert_int_equal(totals.reads, 32);
	assert_int_equal(totals.writes, 32);
	assert_int_equal(totals.read_bytes, 32000000);
	assert_int_equal(totals.write_bytes, 32000000);
	assert_int_equal(totals.busy_ns, fl_sim_now(sim));
	fl_device_free(device);
	fl_sim_free(sim);
}

static void test_a_rate_beyond_64_bits_of_product_is_exact(void **state)
{
	struct fl_sim *sim = fl_sim_new(1, 1);
	struct fl_device_model model = {.name = "zram", .bytes_per_s = UINT64_C(64) << 30, .parallel = 1};
	struct fl_device *device = fl_device_new(sim, &model);

	fl_device_submit(device, UINT64_C(1) << 40, true, NULL, NULL);
	fl_sim_run(sim, FL_NS_FOREVER);
	assert_int_equal(fl_sim_now(sim), 16 * FL_S_NS);
	fl_device_free(device);
	fl_sim_free(sim);
}

static void test_transfer_time_is_rounded_up_and_freed_requests_never_complete(void **state)
{
	struct fl_sim *sim = fl_sim_new(1, 1);
	struct fl_device_model model = {.name = "slow", .bytes_per_s = 3, .parallel = 1};
	struct fl_device *device = fl_device_new(sim, &model);
	struct sink sink = {.sim = sim};

	fl_device_submit(device, 1, false, on_done, &sink);
	fl_sim_run(sim, FL_NS_FOREVER);
	assert_int_equal(sink.at[0], 333333334);
	fl_device_submit(device, 1, false, on_done, &sink);
	fl_device_submit(device, 1, false, on_done, &sink);
	fl_device_free(device);
	assert_int_equal(fl_sim_run(sim, FL_NS_FOREVER), FL_SIM_DRAINED);
	assert_int_equal(sink.count, 1);
	assert_int_equal(fl_sim_now(sim), 333333334);
	fl_sim_free(sim);
}

struct io {
	struct fl_device *device;
	fl_ns ended;
};

static void do_io(struct fl_task *task, void *arg)
{
	struct io *io = arg;

	fl_charge(task, 5000);
	fl_device_io(io->device, task, 4096, false);
	io->ended = fl_sim_now(task->sim);
}

static void test_blocking_io_starts_at_the_task_s_instant_and_only_completion_ends_it(void **state)
{
	struct fl_sim *sim = fl_sim_new(1, 1);
	struct io io = {.device = new_device(sim, 4)};
	struct fl_task *task = fl_task_new(sim, "t", false);

	fl_task_start(task, do_io, &io);
	fl_sim_run(sim, 50000);
	assert_false(fl_task_is_running(task));
	assert_true(fl_task_wake(task)); /* a stray wake-up */
	fl_sim_run(sim, FL_NS_FOREVER);
	assert_int_equal(io.ended, 5000 + 104096);
	assert_int_equal(task->sys_ns, 5000);
	fl_device_free(io.device);
	fl_sim_free(sim);
}

static void test_a_task_freed_in_io_is_not_woken(void **state)
{
	struct fl_sim *sim = fl_sim_new(1, 1);
	struct io io = {.device = new_device(sim, 1)};
	struct fl_task *task = fl_task_new(sim, "t", false), *other = fl_task_new(sim, "u", false);

	fl_task_start(task, do_io, &io);
	fl_task_start(other, do_io, &io);
	fl_sim_run(sim, 50000);
	fl_task_free(task);
	assert_int_equal(fl_sim_run(sim, FL_NS_FOREVER), FL_SIM_DRAINED);
	assert_int_equal(io.ended, 5000 + 2 * 104096);
	fl_task_start(other, do_io, &io);
	fl_sim_run(sim, 240000);
	fl_device_free(io.device); /* with a waiter */
	fl_sim_free(sim);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_request_takes_latency_and_transfer),
		cmocka_unit_test(test_one_slot_serves_one_after_the_other),
		cmocka_unit_test(test_a_new_model_holds_for_what_begins_later),
		cmocka_unit_test(test_many_slots_are_bound_by_throughput),
		cmocka_unit_test(test_a_rate_beyond_64_bits_of_product_is_exact),
		cmocka_unit_test(test_transfer_time_is_rounded_up_and_freed_requests_never_complete),
		cmocka_unit_test(test_blocking_io_starts_at_the_task_s_instant_and_only_completion_ends_it),
		cmocka_unit_test(test_a_task_freed_in_io_is_not_woken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
