/* tests/mm/slowpath_test.c - the slow path of a request, rule by rule (allocator.md section 6), and out of memory. */
#include "reclaim_fixture.h"

static struct fl_alloc_context context(fl_gfp gfp, unsigned int order)
{
	return (struct fl_alloc_context){ .gfp = gfp, .order = order, .type = fl_gfp_migratetype(gfp),
					  .ceiling = fl_gfp_zone(gfp), .preferred = FL_ZONE_NORMAL,
					  .kind = FL_KIND_KERNEL };
}

static uint32_t flags_of(fl_gfp gfp, unsigned int order, uint32_t pf)
{
	struct fl_caller who = { .flags = pf };
	struct fl_alloc_context ac = context(gfp, order);

	return fl_slowpath_alloc_flags(&who, &ac);
}

static void test_flags_of_the_usual_masks(void **state)
{
	(void)state;
	assert_int_equal(flags_of(FL_GFP_KERNEL, 0, 0), FL_WMARK_MIN | FL_ALLOC_KSWAPD);
	assert_int_equal(flags_of(FL_GFP_ATOMIC, 0, 0),
			 FL_WMARK_MIN | FL_ALLOC_KSWAPD | FL_ALLOC_MIN_RESERVE | FL_ALLOC_NON_BLOCK);
	assert_int_equal(flags_of(FL_GFP_ATOMIC, 1, 0) & FL_ALLOC_HIGHATOMIC, FL_ALLOC_HIGHATOMIC);
	assert_int_equal(flags_of(FL_GFP_NOWAIT, 1, 0), FL_WMARK_MIN | FL_ALLOC_KSWAPD | FL_ALLOC_NON_BLOCK);
	/* NOMEMALLOC takes the privileges of those who cannot wait away. */
	assert_int_equal(flags_of(FL_GFP_TRANSHUGE_LIGHT, 9, 0), FL_WMARK_MIN);
	assert_int_equal(flags_of(FL_GFP_TRANSHUGE, 9, 0), FL_WMARK_MIN);
	assert_int_equal(flags_of(FL_GFP_KERNEL, 0, FL_PF_RT) & FL_ALLOC_MIN_RESERVE, FL_ALLOC_MIN_RESERVE);
}

static void test_who_may_use_the_reserves(void **state)
{
	struct fl_caller who = { .flags = FL_PF_MEMALLOC };

	(void)state;
	assert_int_equal(fl_reserve_flags(&who, FL_GFP_KERNEL), FL_ALLOC_NO_WATERMARKS);
	assert_int_equal(fl_reserve_flags(&who, FL_GFP_KERNEL | FL_GFP_NOMEMALLOC), 0);
	who.flags = FL_PF_OOM_VICTIM;
	assert_int_equal(fl_reserve_flags(&who, FL_GFP_KERNEL), FL_ALLOC_OOM);
	who.flags = 0;
	assert_int_equal(fl_reserve_flags(&who, FL_GFP_KERNEL), 0);
	assert_int_equal(fl_reserve_flags(&who, FL_GFP_KERNEL | FL_GFP_MEMALLOC), FL_ALLOC_NO_WATERMARKS);
}

static void test_who_may_have_somebody_killed(void **state)
{
	struct fl_alloc_context ac = context(FL_GFP_KERNEL, 3);

	(void)state;
	assert_true(fl_may_oom_kill(&ac));
	ac.order = 4;
	assert_false(fl_may_oom_kill(&ac));
	ac = context(FL_GFP_KERNEL | FL_GFP_RETRY_MAYFAIL, 0);
	assert_false(fl_may_oom_kill(&ac));
	ac = context(FL_GFP_KERNEL | FL_GFP_THISNODE, 0);
	assert_false(fl_may_oom_kill(&ac));
	ac = context(FL_GFP_KERNEL | FL_GFP_DMA32, 0);
	assert_false(fl_may_oom_kill(&ac));
}

/* ---- Retries ---- */

static bool compact_retry(unsigned int order, enum fl_compact_result result, enum fl_compact_priority *priority,
			  unsigned int *retries)
{
	struct fl_caller who = { 0 };
	struct fl_alloc_context ac = context(FL_GFP_KERNEL, order);

	return fl_should_compact_retry(NULL, &who, &ac, 0, result, priority, retries);
}

static void test_compaction_is_retried_16_times_after_success_4_if_costly(void **state)
{
	enum fl_compact_priority priority = FL_COMPACT_PRIO_SYNC_FULL;
	unsigned int retries = 0;

	(void)state;
	assert_false(compact_retry(0, FL_COMPACT_SUCCESS, &priority, &retries));
	for (unsigned int i = 0; i < 16; i++)
		assert_true(compact_retry(3, FL_COMPACT_SUCCESS, &priority, &retries));
	assert_false(compact_retry(3, FL_COMPACT_SUCCESS, &priority, &retries));
	retries = 0;
	priority = FL_COMPACT_PRIO_SYNC_LIGHT;
	for (unsigned int i = 0; i < 4; i++)
		assert_true(compact_retry(9, FL_COMPACT_SUCCESS, &priority, &retries));
	assert_false(compact_retry(9, FL_COMPACT_SUCCESS, &priority, &retries));
}

static void test_a_failed_compaction_raises_the_priority_to_its_floor(void **state)
{
	enum fl_compact_priority priority = FL_COMPACT_PRIO_ASYNC;
	unsigned int retries = 3;

	(void)state;
	assert_true(compact_retry(2, FL_COMPACT_COMPLETE, &priority, &retries));
	assert_int_equal(priority, FL_COMPACT_PRIO_SYNC_LIGHT);
	assert_int_equal(retries, 0);
	assert_true(compact_retry(2, FL_COMPACT_DEFERRED, &priority, &retries));
	assert_int_equal(priority, FL_COMPACT_PRIO_SYNC_FULL);
	assert_false(compact_retry(2, FL_COMPACT_COMPLETE, &priority, &retries));
	/* Costly requests stop at SYNC_LIGHT. */
	priority = FL_COMPACT_PRIO_SYNC_LIGHT;
	assert_false(compact_retry(9, FL_COMPACT_COMPLETE, &priority, &retries));
}

static void test_reclaim_is_retried_16_times_without_progress(void **state)
{
	struct fixture f = { 0 };
	struct fl_alloc_context ac = context(FL_GFP_KERNEL, 0), costly = context(FL_GFP_KERNEL, 4);
	unsigned int loops = 0;

	(void)state;
	reclaim_boot(&f, BASE_73, 64, 0);
	for (unsigned int i = 0; i < FL_MAX_RECLAIM_RETRIES; i++)
		assert_true(fl_should_reclaim_retry(f.mem, &f.who, &ac, FL_WMARK_MIN, false, &loops));
	assert_false(fl_should_reclaim_retry(f.mem, &f.who, &ac, FL_WMARK_MIN, false, &loops));
	/* Progress starts the count again, but not for costly orders. */
	assert_true(fl_should_reclaim_retry(f.mem, &f.who, &ac, FL_WMARK_MIN, true, &loops));
	assert_int_equal(loops, 0);
	loops = FL_MAX_RECLAIM_RETRIES;
	assert_false(fl_should_reclaim_retry(f.mem, &f.who, &costly, FL_WMARK_MIN, true, &loops));
	fixture_done(&f);
}

/* ---- The two shapes ---- */

/* A huge page is asked for without retry where no pageblock is free and too little for compaction. Returns the rounds of
 * direct reclaim. */
static uint64_t stalls_of_noretry_huge_page(const char *kernel)
{
	struct fixture f = { 0 };
	uint64_t stalls;

	reclaim_boot(&f, kernel, 64, 0);
	forget_references(&f, read_file(&f, 32000));
	while (fl_get_page_from_freelist(f.mem, &f.who, &(struct fl_alloc_context){ .gfp = GFP_UNMOVABLE_NOW,
				.ceiling = FL_ZONE_NORMAL, .preferred = FL_ZONE_NORMAL, .kind = FL_KIND_KERNEL },
				FL_WMARK_LOW) != FL_PFN_NONE)
		;
	fl_page_alloc(f.mem, &f.who, FL_GFP_TRANSHUGE | FL_GFP_NORETRY, 9, FL_KIND_ANON);
	stalls = counter(&f, FL_VM_allocstall_movable);
	fl_mem_free(f.mem);
	return stalls;
}

static void test_noretry_huge_page_after_skipped_compaction_fails_on_6_12_and_reclaims_once_on_7_3(void **state)
{
	(void)state;
	assert_int_equal(stalls_of_noretry_huge_page(BASE_612), 0);
	assert_int_equal(stalls_of_noretry_huge_page(BASE_73), 1);
}

static void test_request_that_cannot_wait_never_reclaims(void **state)
{
	struct fixture f = { 0 };
	unsigned int got = 0;

	(void)state;
	reclaim_boot(&f, BASE_73, 64, 0);
	forget_references(&f, read_file(&f, 20000));
	while (fl_page_alloc(f.mem, &f.who, FL_GFP_ATOMIC, 0, FL_KIND_KERNEL) != FL_PFN_NONE)
		got++;
	assert_true(got > 1000);
	assert_int_equal(counter(&f, FL_VM_allocstall_normal), 0);
	assert_int_equal(counter(&f, FL_VM_pgsteal_direct), 0);
	/* Atomic requests go down to 3/8 of the min mark, ordinary ones to all of it. */
	fl_pcp_drain_all(f.mem, &f.who, NULL);
	assert_in_range(fixture_zone(&f)->nr_free_pages, 1, fl_wmark_pages(fixture_zone(&f), FL_WMARK_MIN) / 2);
	fl_mem_free(f.mem);
}

static void test_page_cache_gives_way_to_requests(void **state)
{
	struct fixture f = { 0 };

	(void)state;
	reclaim_boot(&f, BASE_612, 64, 0);
	forget_references(&f, read_file(&f, 31000));
	for (unsigned int i = 0; i < 20000; i++)
		assert_int_not_equal(fl_page_alloc(f.mem, &f.who, FL_GFP_KERNEL, 0, FL_KIND_KERNEL), FL_PFN_NONE);
	assert_true(counter(&f, FL_VM_pgsteal_direct) > 10000);
	assert_int_equal(counter(&f, FL_VM_oom_kill), 0);
	fl_mem_check(f.mem);
	fl_mem_free(f.mem);
}

/* ---- Out of memory ---- */

static void test_badness_is_memory_and_adjustment(void **state)
{
	struct fl_oom_candidate c = { .rss_pages = 1000, .swap_entries = 500, .pgtable_pages = 10 };

	(void)state;
	assert_int_equal(fl_oom_badness(&c, 100000), 1510);
	c.score_adj = 10; /* thousandths of all memory */
	assert_int_equal(fl_oom_badness(&c, 100000), 1510 + 1000);
	c.score_adj = -1000;
	assert_int_equal(fl_oom_badness(&c, 100000), INT64_MIN);
}

struct victims {
	struct fixture *f;
	struct anon process[3];
	uint32_t killed, kills;
	int16_t adj[3];
};

static bool candidate(void *arg, unsigned int i, struct fl_oom_candidate *ret)
{
	struct victims *v = arg;

	if (i >= 3)
		return false;
	*ret = (struct fl_oom_candidate){ .id = i, .score_adj = v->adj[i] };
	if (v->process[i].mm) {
		ret->rss_pages = v->process[i].mm->anon_pages;
		ret->is_dying = v->process[i].mm->dying;
	}
	return true;
}

/* Dies at once: no time passes here. */
static void kill(void *arg, uint32_t id)
{
	struct victims *v = arg;

	v->killed = id;
	v->kills++;
	fl_mm_exit(v->f->mem, &v->f->who, v->process[id].mm);
	v->process[id].mm = NULL;
}

static void boot_victims(struct fixture *f, struct victims *v)
{
	reclaim_boot(f, BASE_73, 64, 0);
	*v = (struct victims){ .f = f };
	v->process[0] = touch_anon(f, 4000);
	v->process[1] = touch_anon(f, 9000);
	v->process[2] = touch_anon(f, 6000);
	fl_oom_set_ops(f->mem, &(struct fl_oom_ops){ .candidate = candidate, .kill = kill, .arg = v });
}

static void test_the_largest_process_is_killed_and_the_request_goes_on(void **state)
{
	struct fixture f = { 0 };
	struct victims v;

	(void)state;
	boot_victims(&f, &v);
	while (!v.kills)
		assert_int_not_equal(fl_page_alloc(f.mem, &f.who, FL_GFP_KERNEL, 0, FL_KIND_KERNEL), FL_PFN_NONE);
	assert_int_equal(v.killed, 1);
	assert_int_equal(counter(&f, FL_VM_oom_kill), 1);
	fl_mem_free(f.mem);
}

static void test_a_process_with_adjustment_minus_1000_is_never_killed(void **state)
{
	struct fixture f = { 0 };
	struct victims v;

	(void)state;
	boot_victims(&f, &v);
	v.adj[1] = -1000;
	while (!v.kills)
		assert_int_not_equal(fl_page_alloc(f.mem, &f.who, FL_GFP_KERNEL, 0, FL_KIND_KERNEL), FL_PFN_NONE);
	assert_int_equal(v.killed, 2);
	fl_mem_free(f.mem);
}

static void test_costly_request_fails_without_a_kill(void **state)
{
	struct fixture f = { 0 };
	struct victims v;

	(void)state;
	boot_victims(&f, &v);
	while (fl_page_alloc(f.mem, &f.who, FL_GFP_KERNEL, 5, FL_KIND_KERNEL) != FL_PFN_NONE)
		;
	assert_int_equal(v.kills, 0);
	assert_int_equal(counter(&f, FL_VM_oom_kill), 0);
	fl_mem_free(f.mem);
}

static void test_without_anybody_to_kill_the_request_fails_and_the_run_goes_on(void **state)
{
	struct fixture f = { 0 };

	(void)state;
	reclaim_boot(&f, BASE_73, 64, 0);
	while (fl_page_alloc(f.mem, &f.who, FL_GFP_KERNEL, 0, FL_KIND_KERNEL) != FL_PFN_NONE)
		;
	assert_true(fl_oom_without_victim(f.mem) > 0);
	assert_int_equal(counter(&f, FL_VM_oom_kill), 0);
	/* Nor does a request that must not fail hang the program. */
	assert_int_equal(fl_page_alloc(f.mem, &f.who, FL_GFP_KERNEL | FL_GFP_NOFAIL, 0, FL_KIND_KERNEL) == FL_PFN_NONE,
			 fixture_zone(&f)->nr_free_pages == 0);
	fl_mem_free(f.mem);
}

static void test_a_request_that_may_not_kill_does_not_try_for_ever(void **state)
{
	struct fixture f = { 0 };
	struct victims v;

	(void)state;
	boot_victims(&f, &v);
	while (!v.kills)
		assert_int_not_equal(fl_page_alloc(f.mem, &f.who, FL_GFP_NOFS, 0, FL_KIND_KERNEL), FL_PFN_NONE);
	assert_int_equal(v.killed, 1);
	fl_mem_free(f.mem);
	reclaim_boot(&f, BASE_612, 64, 0); /* nobody to kill at all */
	while (fl_page_alloc(f.mem, &f.who, FL_GFP_NOFS, 0, FL_KIND_KERNEL) != FL_PFN_NONE)
		;
	assert_true(fl_oom_without_victim(f.mem) > 0);
	fl_mem_free(f.mem);
}

static void test_a_victim_does_not_loop_but_takes_reserves_or_fails(void **state)
{
	struct fixture f = { 0 };
	struct victims v;
	unsigned int reserve = 0;

	(void)state;
	boot_victims(&f, &v);
	f.who.flags |= FL_PF_OOM_VICTIM;
	while (fl_page_alloc(f.mem, &f.who, FL_GFP_KERNEL, 0, FL_KIND_KERNEL) != FL_PFN_NONE)
		reserve++;
	assert_true(reserve > 0);
	assert_int_equal(v.kills, 0);
	assert_true(fixture_zone(&f)->nr_free_pages <= (long)fl_wmark_pages(fixture_zone(&f), FL_WMARK_MIN) / 2 + 1);
	fl_mem_free(f.mem);
}

/* Takes page after page for the kernel until a request fails, in a machine whose movable pageblocks are a quarter free and
 * where nothing can be reclaimed; free pages at the end. */
static long free_when_kernel_requests_fail(const char *kernel)
{
	struct fixture f = { 0 };
	struct anon a;
	long free_pages;

	reclaim_boot(&f, kernel, 64, 0);
	a = touch_anon(&f, 30000);
	for (uint32_t i = 0; i < a.pages; i += 4)
		fl_madvise(f.mem, &f.who, a.mm, a.start + i, 1, FL_MADV_DONTNEED);
	fl_pcp_drain_all(f.mem, &f.who, NULL);
	while (fl_page_alloc(f.mem, &f.who, FL_GFP_KERNEL, 0, FL_KIND_KERNEL) != FL_PFN_NONE)
		;
	free_pages = fixture_zone(&f)->nr_free_pages;
	fixture_done(&f);
	return free_pages;
}

/* Neither half of a pageblock is free, so the base refuses the claim, and the patch the steal: docs/TYPE-PRESSURE.md. */
static void test_with_mobility_steal_alone_kernel_requests_fail_beside_free_movable_memory(void **state)
{
	(void)state;
	assert_true(free_when_kernel_requests_fail("7.3") < 1500);
	assert_true(free_when_kernel_requests_fail("7.3+mobility") < 1500);
	assert_true(free_when_kernel_requests_fail("7.3+mobility-steal") > 7000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_flags_of_the_usual_masks),
		cmocka_unit_test(test_who_may_use_the_reserves),
		cmocka_unit_test(test_who_may_have_somebody_killed),
		cmocka_unit_test(test_compaction_is_retried_16_times_after_success_4_if_costly),
		cmocka_unit_test(test_a_failed_compaction_raises_the_priority_to_its_floor),
		cmocka_unit_test(test_reclaim_is_retried_16_times_without_progress),
		cmocka_unit_test(test_noretry_huge_page_after_skipped_compaction_fails_on_6_12_and_reclaims_once_on_7_3),
		cmocka_unit_test(test_request_that_cannot_wait_never_reclaims),
		cmocka_unit_test(test_page_cache_gives_way_to_requests),
		cmocka_unit_test(test_badness_is_memory_and_adjustment),
		cmocka_unit_test(test_the_largest_process_is_killed_and_the_request_goes_on),
		cmocka_unit_test(test_a_process_with_adjustment_minus_1000_is_never_killed),
		cmocka_unit_test(test_costly_request_fails_without_a_kill),
		cmocka_unit_test(test_without_anybody_to_kill_the_request_fails_and_the_run_goes_on),
		cmocka_unit_test(test_a_request_that_may_not_kill_does_not_try_for_ever),
		cmocka_unit_test(test_a_victim_does_not_loop_but_takes_reserves_or_fails),
		cmocka_unit_test(test_with_mobility_steal_alone_kernel_requests_fail_beside_free_movable_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
