/* tests/mm/kswapd_test.c - who wakes kswapd and when it sleeps (allocator.md 7.1, 7.4), in virtual time. */
#include "reclaim_fixture.h"

struct timed {
	struct fixture f;
	struct fl_task *task;
};

/* 128 MiB, most of it clean page cache; kswapd has gone to sleep. */
static void boot(struct timed *t, const char *kernel)
{
	*t = (struct timed){ 0 };
	t->f.sim = fl_sim_new(1, 2);
	fixture_geometry(&t->f, 0, 64, 2);
	t->f.settings.watermark_boost_factor = 0; /* boosts only where a test sets one */
	fixture_boot(&t->f, kernel);
	t->task = fl_task_new(t->f.sim, "user", false);
	forget_references(&t->f, read_file(&t->f, 29000));
	fl_kswapd_start(t->f.mem);
	t->f.who = (struct fl_caller){ .task = t->task };
	fl_sim_run(t->f.sim, FL_S_NS);
	assert_false(fl_kswapd_is_running(t->f.mem));
	assert_int_equal(counter(&t->f, FL_VM_pageoutrun), 0);
}

static void done(struct timed *t)
{
	fl_mem_check(t->f.mem);
	fl_sim_free(t->f.sim);
	fl_mem_free(t->f.mem);
}

static void run(struct timed *t, void (*body)(struct fl_task *, void *), fl_ns ns)
{
	fl_task_start(t->task, body, t);
	fl_sim_run(t->f.sim, fl_sim_now(t->f.sim) + ns);
}

static uint64_t work(const struct timed *t, enum fl_work what, enum fl_trigger trigger)
{
	return t->f.mem->work[what][FL_ACTOR_KSWAPD][trigger];
}

static void wake(struct timed *t, fl_gfp gfp, unsigned int order, enum fl_trigger trigger)
{
	fl_wakeup_kswapd(t->f.mem, &t->f.who, fixture_zone(&t->f), gfp, order, FL_ZONE_NORMAL, trigger);
}

/* ---- The slow path wakes it ---- */

static void allocate(struct timed *t, fl_gfp gfp)
{
	while (!counter(&t->f, FL_VM_pageoutrun)) {
		assert_int_not_equal(fl_page_alloc(t->f.mem, &t->f.who, gfp, 0, FL_KIND_KERNEL), FL_PFN_NONE);
		fl_spend(t->task, 10 * FL_US_NS);
	}
}

static void allocate_kernel(struct fl_task *task, void *arg)
{
	(void)task;
	allocate(arg, FL_GFP_KERNEL);
}

static void allocate_atomic(struct fl_task *task, void *arg)
{
	(void)task;
	allocate(arg, FL_GFP_ATOMIC);
}

static void test_below_the_low_mark_kswapd_is_woken_and_reclaims_to_the_high_mark(void **state)
{
	struct timed t;

	(void)state;
	boot(&t, BASE_73);
	run(&t, allocate_kernel, 2 * FL_S_NS);
	assert_false(fl_task_has_work(t.task));
	assert_true(fixture_zone(&t.f)->nr_free_pages > (long)fl_wmark_pages(fixture_zone(&t.f), FL_WMARK_HIGH));
	assert_false(fl_kswapd_is_running(t.f.mem));
	assert_true(work(&t, FL_WORK_reclaimed, FL_TRIGGER_SLOWPATH) > 0);
	assert_int_equal(work(&t, FL_WORK_reclaimed, FL_TRIGGER_SLOWPATH), counter(&t.f, FL_VM_pgsteal_kswapd));
	assert_true(work(&t, FL_WORK_cpu_ns, FL_TRIGGER_SLOWPATH) > 0);
	done(&t);
}

static void test_work_for_those_who_cannot_wait_is_booked_as_atomic(void **state)
{
	struct timed t;

	(void)state;
	boot(&t, BASE_612);
	run(&t, allocate_atomic, 2 * FL_S_NS);
	assert_true(work(&t, FL_WORK_reclaimed, FL_TRIGGER_ATOMIC) > 0);
	assert_int_equal(work(&t, FL_WORK_reclaimed, FL_TRIGGER_SLOWPATH), 0);
	assert_int_equal(counter(&t.f, FL_VM_allocstall_normal), 0);
	done(&t);
}

/* ---- Whom it is not woken for ---- */

static void wake_balanced(struct fl_task *task, void *arg)
{
	(void)task;
	wake(arg, FL_GFP_KERNEL, 0, FL_TRIGGER_SLOWPATH);
}

static void test_a_balanced_node_is_not_woken(void **state)
{
	struct timed t;

	(void)state;
	boot(&t, BASE_73);
	run(&t, wake_balanced, FL_S_NS);
	assert_int_equal(counter(&t.f, FL_VM_pageoutrun), 0);
	done(&t);
}

static void take_all(struct fixture *f, unsigned int z)
{
	enum fl_rmqueue_mode mode = FL_RMQUEUE_NORMAL;

	for (fl_pfn pfn; (pfn = fl_rmqueue(f->mem, &f->who, &f->mem->zone[z], 10, FL_MOVABLE, 0, &mode)) != FL_PFN_NONE;)
		fl_page_prep(f->mem, pfn, 10, FL_KIND_ANON);
}

/* allocator.md 11, rule 11 */
static void test_one_good_zone_balances_the_node(void **state)
{
	struct fixture two = { 0 };

	(void)state;
	fixture_geometry(&two, 32, 64, 1);
	fixture_boot(&two, "7.3");
	take_all(&two, FL_ZONE_NORMAL);
	assert_true(two.mem->zone[FL_ZONE_NORMAL].nr_free_pages < 1024);
	assert_true(fl_pgdat_balanced(two.mem, 0, FL_ZONE_NORMAL));
	assert_true(fl_pgdat_balanced(two.mem, 10, FL_ZONE_NORMAL));
	take_all(&two, FL_ZONE_DMA32);
	assert_false(fl_pgdat_balanced(two.mem, 0, FL_ZONE_NORMAL));
	fixture_done(&two);
}

static void wake_for_a_chunk_that_is_not_there(struct fl_task *task, void *arg)
{
	struct timed *t = arg;

	(void)task;
	t->f.mem->vmscan->kswapd_failures = FL_MAX_RECLAIM_FAILURES;
	wake(t, FL_GFP_KERNEL, 10, FL_TRIGGER_SLOWPATH);
}

static void test_a_hopeless_node_is_not_woken(void **state)
{
	struct timed t;

	(void)state;
	boot(&t, BASE_73);
	while (take_buddy(&t.f, 10, FL_MOVABLE, 0) != FL_PFN_NONE)
		;
	assert_false(fl_pgdat_balanced(t.f.mem, 10, FL_ZONE_NORMAL));
	run(&t, wake_for_a_chunk_that_is_not_there, FL_S_NS);
	assert_int_equal(counter(&t.f, FL_VM_pageoutrun), 0);
	done(&t);
}

/* ---- Boost ---- */

static void boost_and_wake(struct fl_task *task, void *arg)
{
	struct timed *t = arg;

	(void)task;
	fixture_zone(&t->f)->watermark_boost = 512;
	wake(t, 0, 0, FL_TRIGGER_BOOST);
}

static void test_a_boosted_zone_wakes_kswapd_of_a_balanced_node(void **state)
{
	struct timed t;

	(void)state;
	boot(&t, BASE_73);
	run(&t, boost_and_wake, FL_S_NS);
	assert_int_equal(counter(&t.f, FL_VM_pageoutrun), 1);
	assert_int_equal(fixture_zone(&t.f)->watermark_boost, 0);
	assert_true(work(&t, FL_WORK_reclaimed, FL_TRIGGER_BOOST) >= 512);
	assert_int_equal(work(&t, FL_WORK_reclaimed, FL_TRIGGER_SLOWPATH), 0);
	done(&t);
}

/* ---- The nap of 100 ms ---- */

static void wake_twice(struct timed *t, fl_ns apart)
{
	fixture_zone(&t->f)->watermark_boost = 512;
	wake(t, 0, 0, FL_TRIGGER_BOOST);
	fl_task_sleep(t->task, apart);
	fixture_zone(&t->f)->watermark_boost = 512;
	wake(t, 0, 0, FL_TRIGGER_BOOST);
}

static void wake_early(struct fl_task *task, void *arg)
{
	(void)task;
	wake_twice(arg, 50 * FL_MS_NS);
}

static void wake_late(struct fl_task *task, void *arg)
{
	(void)task;
	wake_twice(arg, 500 * FL_MS_NS);
}

static void test_a_wake_up_within_the_nap_counts_as_low_mark_hit_quickly(void **state)
{
	struct timed t;

	(void)state;
	boot(&t, BASE_73);
	run(&t, wake_early, 2 * FL_S_NS);
	assert_int_equal(counter(&t.f, FL_VM_pageoutrun), 2);
	assert_int_equal(counter(&t.f, FL_VM_kswapd_low_wmark_hit_quickly), 1);
	done(&t);
	boot(&t, BASE_73);
	run(&t, wake_late, 2 * FL_S_NS);
	assert_int_equal(counter(&t.f, FL_VM_pageoutrun), 2);
	assert_int_equal(counter(&t.f, FL_VM_kswapd_low_wmark_hit_quickly), 0);
	done(&t);
}

/* ---- Direct reclaimers that have used up half of the reserve wait for kswapd ---- */

static void test_direct_reclaim_waits_when_half_of_the_min_marks_is_gone(void **state)
{
	struct timed t;
	struct fl_zone *zone;
	long save;

	(void)state;
	boot(&t, BASE_73);
	zone = fixture_zone(&t.f);
	save = zone->nr_free_pages;
	zone->nr_free_pages = (long)(fl_wmark_pages(zone, FL_WMARK_MIN) / 2);
	assert_false(fl_allow_direct_reclaim(t.f.mem));
	zone->nr_free_pages++;
	assert_true(fl_allow_direct_reclaim(t.f.mem));
	zone->nr_free_pages = 0;
	t.f.mem->vmscan->kswapd_failures = FL_MAX_RECLAIM_FAILURES; /* nobody to wait for */
	assert_true(fl_allow_direct_reclaim(t.f.mem));
	zone->nr_free_pages = save;
	done(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_below_the_low_mark_kswapd_is_woken_and_reclaims_to_the_high_mark),
		cmocka_unit_test(test_work_for_those_who_cannot_wait_is_booked_as_atomic),
		cmocka_unit_test(test_a_balanced_node_is_not_woken),
		cmocka_unit_test(test_one_good_zone_balances_the_node),
		cmocka_unit_test(test_a_hopeless_node_is_not_woken),
		cmocka_unit_test(test_a_boosted_zone_wakes_kswapd_of_a_balanced_node),
		cmocka_unit_test(test_a_wake_up_within_the_nap_counts_as_low_mark_hit_quickly),
		cmocka_unit_test(test_direct_reclaim_waits_when_half_of_the_min_marks_is_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
