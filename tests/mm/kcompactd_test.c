/*
 * tests/mm/kcompactd_test.c - the daemon in virtual time: requests, proactive looks, back-off, the trigger. Facts 1.4 to 1.6.
 */
#include <string.h>

#include "compact_rig.h"
#include "sim/sim.h"

struct daemon {
	struct rig r;
	struct fl_sim *sim;
	struct fl_task *task;
};

static uint64_t wakes[FL_TRACE_COUNT];
static void count_event(void *arg, const struct fl_trace_event *event)
{
	wakes[event->id]++;
}

static void daemon_boot(struct daemon *d, const char *kernel, unsigned int blocks)
{
	rig_boot(&d->r, kernel, blocks);
	d->sim = fl_sim_new(1, 1);
	d->r.mem->sim = d->sim;
	fl_kcompactd_new(d->r.mem);
	d->r.mem->set.compaction_proactiveness = 0;
	memset(wakes, 0, sizeof(wakes));
	d->r.mem->trace = (struct fl_trace_sink){ UINT64_MAX, count_event, NULL };
}

static void run_ms(struct daemon *d, uint64_t ms)
{
	fl_sim_run(d->sim, fl_sim_now(d->sim) + ms * FL_MS_NS);
}

static void daemon_done(struct daemon *d)
{
	fl_sim_free(d->sim);
	d->r.mem->sim = NULL;
	rig_done(&d->r);
}

static uint64_t count(struct daemon *d, enum fl_vm_event event)
{
	return d->r.mem->vm[event];
}

static uint64_t work(struct daemon *d, enum fl_trigger trigger)
{
	return d->r.mem->work[FL_WORK_migrate_scanned][FL_ACTOR_KCOMPACTD][trigger];
}

/* One block to be had for 256 moves, and a long LRU. */
static void lay_out(struct daemon *d)
{
	struct rig *r = &d->r;

	rig_free(r, 1024, 256);
	rig_movable_range(r, 1024 + 256, 256);
	for (unsigned int i = 0; i < 512; i++)
		rig_free(r, 6 * 512 + 2 * i, 1);
	rig_movable_range(r, 3 * 512, 3 * 512);
}

/* ---- Requests ---- */

static void test_a_request_makes_one_pass_and_is_forgotten(void **state)
{
	struct daemon d;

	daemon_boot(&d, "7.3", 8);
	lay_out(&d);
	run_ms(&d, 1);
	fl_wakeup_kcompactd(d.r.mem, d.r.who, 9, FL_ZONE_NORMAL, FL_TRIGGER_KSWAPD_SLEEP);
	run_ms(&d, 10000);
	assert_int_equal(count(&d, FL_VM_compact_daemon_wake), 1);
	assert_int_equal(wakes[FL_TRACE_mm_compaction_kcompactd_wake], 1);
	assert_true(d.r.zone->nr_free[9] > 0);
	assert_true(work(&d, FL_TRIGGER_KSWAPD_SLEEP) > 0);
	assert_int_equal(work(&d, FL_TRIGGER_KSWAPD_SLEEP), count(&d, FL_VM_compact_daemon_migrate_scanned));
	/* its scans are part of the totals */
	assert_int_equal(count(&d, FL_VM_compact_migrate_scanned), count(&d, FL_VM_compact_daemon_migrate_scanned));
	assert_int_equal(count(&d, FL_VM_compact_stall), 0);
	daemon_done(&d);
}

static void test_no_wake_up_for_order_0_or_when_no_zone_is_suitable(void **state)
{
	struct daemon d;

	daemon_boot(&d, "7.3", 8);
	run_ms(&d, 1);
	fl_wakeup_kcompactd(d.r.mem, d.r.who, 0, FL_ZONE_NORMAL, FL_TRIGGER_ATOMIC);
	fl_wakeup_kcompactd(d.r.mem, d.r.who, 9, FL_ZONE_NORMAL, FL_TRIGGER_ATOMIC); /* nothing is free */
	run_ms(&d, 100);
	assert_int_equal(count(&d, FL_VM_compact_daemon_wake), 0);
	daemon_done(&d);
}

static void test_a_request_that_found_no_suitable_zone_is_looked_at_when_the_timer_ends(void **state)
{
	struct daemon d;

	daemon_boot(&d, "7.3", 8);
	d.r.mem->set.compaction_proactiveness = 20;
	run_ms(&d, 600);
	fl_wakeup_kcompactd(d.r.mem, d.r.who, 9, FL_ZONE_NORMAL, FL_TRIGGER_ATOMIC);
	run_ms(&d, 600);
	assert_int_equal(count(&d, FL_VM_compact_daemon_wake), 1);
	assert_int_equal(count(&d, FL_VM_compact_daemon_migrate_scanned), 0); /* still unsuitable */
	daemon_done(&d);
}

static void test_failure_defers_the_zone_for_direct_compaction_too(void **state)
{
	struct fl_alloc_context ac = rig_request(FL_GFP_TRANSHUGE, 9);
	struct daemon d;
	fl_pfn captured;

	daemon_boot(&d, "7.3", 8);
	for (unsigned int i = 0; i < 128 * 8; i++) {
		rig_movable(&d.r, 4 * i, 0);
		rig_free(&d.r, 4 * i + 2, 1);
	}
	run_ms(&d, 1);
	fl_wakeup_kcompactd(d.r.mem, d.r.who, 9, FL_ZONE_NORMAL, FL_TRIGGER_BOOST);
	run_ms(&d, 1000);
	assert_int_equal(d.r.zone->compact.defer_shift, 1);
	assert_false(d.r.zone->compact.blockskip_flush); /* only a direct run asks for that */
	d.r.mem->sim = NULL;
	assert_int_equal(fl_try_to_compact_pages(d.r.mem, d.r.who, &ac, FL_WMARK_MIN, FL_COMPACT_PRIO_ASYNC, &captured),
			 FL_COMPACT_DEFERRED);
	d.r.mem->sim = d.sim;
	daemon_done(&d);
}

static void test_kcompactd_is_an_unmovable_asker_and_ends_with_any_free_chunk_of_the_order(void **state)
{
	struct daemon d;

	/* Order 3: an order-3 chunk in a Reclaimable block satisfies it; but then the watermark does too: nothing is done. */
	daemon_boot(&d, "7.3", 8);
	lay_out(&d);
	run_ms(&d, 1);
	fl_wakeup_kcompactd(d.r.mem, d.r.who, 3, FL_ZONE_NORMAL, FL_TRIGGER_ATOMIC);
	run_ms(&d, 1000);
	assert_int_equal(count(&d, FL_VM_compact_daemon_wake), 0);
	daemon_done(&d);
}

/* ---- Proactive ---- */

/* Half of each of the lower blocks is free in single pages: the score is 100. */
static void lay_out_fragmented(struct daemon *d)
{
	for (fl_pfn pfn = 0; pfn < d->r.zone->end; pfn++) {
		if (pfn % 2)
			rig_movable(&d->r, pfn, 0);
		else
			rig_free(&d->r, pfn, 1);
	}
}

static void test_the_timer_compacts_until_the_score_is_low(void **state)
{
	struct daemon d;

	daemon_boot(&d, "7.3", 8);
	lay_out_fragmented(&d);
	d.r.mem->set.compaction_proactiveness = 50;
	run_ms(&d, 400);
	assert_int_equal(count(&d, FL_VM_compact_daemon_migrate_scanned), 0);
	run_ms(&d, 10000);
	assert_true(work(&d, FL_TRIGGER_TIMER) > 0);
	assert_int_equal(work(&d, FL_TRIGGER_SYSCTL), 0);
	assert_in_range(fl_fragmentation_score_zone(d.r.zone, 9), 30, 50); /* stopped soon after the mark */
	assert_int_equal(count(&d, FL_VM_compact_daemon_wake), 0); /* proactive runs do not count */
	assert_int_equal(d.r.zone->compact.defer_shift, 0);
	daemon_done(&d);
}

static unsigned int high_mark;
static unsigned int fixed_high(const struct fl_proactive_mark_facts *facts)
{
	return high_mark;
}

static void test_the_start_needs_a_node_score_above_the_high_mark(void **state)
{
	struct daemon d;

	daemon_boot(&d, "7.3", 8);
	lay_out_fragmented(&d);
	d.r.mem->set.compaction_proactiveness = 90;
	d.r.mem->decide.proactive_high = fixed_high;
	high_mark = fl_fragmentation_score_node(d.r.mem);
	assert_int_equal(high_mark, 100 * 4096 / 5121); /* the zone's own score is 100 */
	run_ms(&d, 2000);
	assert_int_equal(count(&d, FL_VM_compact_daemon_migrate_scanned), 0);
	high_mark--;
	run_ms(&d, 1000);
	assert_true(count(&d, FL_VM_compact_daemon_migrate_scanned) > 0);
	daemon_done(&d);
}

static void test_no_progress_backs_off_to_32_seconds_and_a_write_ends_that(void **state)
{
	struct daemon d;
	uint64_t before;

	daemon_boot(&d, "7.3", 64);
	for (unsigned int i = 0; i < 16 * 1024; i++)
		rig_free(&d.r, 2 * i, 1); /* nothing to move: the score stays */
	d.r.mem->set.compaction_proactiveness = 20;
	assert_true(fl_fragmentation_score_node(d.r.mem) > 90);
	run_ms(&d, 1000);
	before = work(&d, FL_TRIGGER_TIMER);
	assert_true(before > 0);
	run_ms(&d, 30000);
	assert_int_equal(work(&d, FL_TRIGGER_TIMER), before);
	run_ms(&d, 3000);
	assert_int_equal(work(&d, FL_TRIGGER_TIMER), 2 * before);
	fl_write_compaction_proactiveness(d.r.mem, d.r.who, 20);
	run_ms(&d, 10);
	assert_int_equal(work(&d, FL_TRIGGER_SYSCTL), before);
	/* the gate holds for the trigger too */
	fl_write_compaction_proactiveness(d.r.mem, d.r.who, 0);
	fl_write_compaction_proactiveness(d.r.mem, d.r.who, 1); /* marks 99 and 100 */
	run_ms(&d, 10);
	assert_int_equal(work(&d, FL_TRIGGER_SYSCTL), before);
	daemon_done(&d);
}

static void test_an_idle_hour_of_looks_is_cheap(void **state)
{
	struct daemon d;

	daemon_boot(&d, "7.3", 64);
	rig_free(&d.r, 512, 512);
	d.r.mem->set.compaction_proactiveness = 20;
	run_ms(&d, 3600 * 1000);
	assert_in_range(fl_sim_events(d.sim), 7199, 30000); /* two looks a second */
	assert_int_equal(count(&d, FL_VM_compact_migrate_scanned), 0);
	daemon_done(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_request_makes_one_pass_and_is_forgotten),
		cmocka_unit_test(test_no_wake_up_for_order_0_or_when_no_zone_is_suitable),
		cmocka_unit_test(test_a_request_that_found_no_suitable_zone_is_looked_at_when_the_timer_ends),
		cmocka_unit_test(test_failure_defers_the_zone_for_direct_compaction_too),
		cmocka_unit_test(test_kcompactd_is_an_unmovable_asker_and_ends_with_any_free_chunk_of_the_order),
		cmocka_unit_test(test_the_timer_compacts_until_the_score_is_low),
		cmocka_unit_test(test_the_start_needs_a_node_score_above_the_high_mark),
		cmocka_unit_test(test_no_progress_backs_off_to_32_seconds_and_a_write_ends_that),
		cmocka_unit_test(test_an_idle_hour_of_looks_is_cheap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
