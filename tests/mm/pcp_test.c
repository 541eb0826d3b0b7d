/* tests/mm/pcp_test.c - rules of the per-CPU lists: allocator.md 2.5, 2.6 and 4.2. */
#include "fixture.h"

#include "base/rng.h"

static struct fl_pcp *pcp_of(struct fixture *f)
{
	return fixture_zone(f)->pcp;
}

/* Allocates n order-0 movable pages. */
static void take(struct fixture *f, fl_pfn *pages, unsigned int n, unsigned int order)
{
	for (unsigned int i = 0; i < n; i++) {
		pages[i] = fl_page_alloc(f->mem, &f->who, GFP_MOVABLE_NOW, order, FL_KIND_ANON);
		assert_int_not_equal(pages[i], FL_PFN_NONE);
	}
}

static void test_high_order_refills_are_scaled_down_but_take_two_chunks_at_least(void **state)
{
	static const unsigned int orders[] = { 1, 2, 3, 9 }, chunks[] = { 31, 15, 7, 2 };

	for (unsigned int i = 0; i < 4; i++) {
		struct fixture f = { 0 };
		fl_pfn pfn;

		fixture_normal(&f, "7.3", 1024);
		take(&f, &pfn, 1, orders[i]);
		assert_int_equal(pcp_of(&f)->count, (int)((chunks[i] - 1) << orders[i]));
		fixture_done(&f);
	}
}

static void test_orders_4_to_8_and_10_pass_the_lists_by(void **state)
{
	struct fixture f = { 0 };
	fl_pfn pfn;

	fixture_normal(&f, "7.3", 1024);
	for (unsigned int order = 4; order <= 10; order++) {
		if (order == 9)
			continue;
		take(&f, &pfn, 1, order);
		assert_int_equal(pcp_of(&f)->count, 0);
		fl_page_free(f.mem, &f.who, pfn, order);
		assert_int_equal(pcp_of(&f)->count, 0);
	}
	fixture_done(&f);
}

static void test_a_free_halves_the_next_refill(void **state)
{
	struct fixture f = { 0 };
	fl_pfn pages[200];

	fixture_normal(&f, "7.3", 1024);
	take(&f, pages, 64, 0); /* 63, then 126 */
	assert_int_equal(pcp_of(&f)->alloc_factor, 2);
	fl_page_free(f.mem, &f.who, pages[0], 0);
	assert_int_equal(pcp_of(&f)->alloc_factor, 1);
	fixture_done(&f);
}

static void test_freed_pages_are_taken_again_last_in_first_out(void **state)
{
	struct fixture f = { 0 };
	fl_pfn pages[3];

	fixture_normal(&f, "7.3", 1024);
	take(&f, pages, 3, 0);
	fl_page_free(f.mem, &f.who, pages[0], 0);
	fl_page_free(f.mem, &f.who, pages[1], 0);
	assert_int_equal(fl_page_alloc(f.mem, &f.who, GFP_MOVABLE_NOW, 0, FL_KIND_ANON), pages[1]);
	assert_int_equal(fl_page_alloc(f.mem, &f.who, GFP_MOVABLE_NOW, 0, FL_KIND_ANON), pages[0]);
	fixture_done(&f);
}

static void test_drain_starts_at_the_freed_list_and_takes_the_oldest_pages(void **state)
{
	struct fixture f = { 0 };
	fl_pfn *pages = fl_xcalloc(4000, sizeof(*pages));
	struct fl_pcp *pcp;
	unsigned int freed = 0;

	fixture_normal(&f, "7.3", 1024);
	pcp = pcp_of(&f);
	take(&f, pages, 4000, 0);
	fl_pcp_drain_all(f.mem, &f.who, NULL);
	pcp->high = pcp->high_min = pcp->high_max = 1000;
	while (freed < 999)
		fl_page_free(f.mem, &f.who, pages[freed++], 0);
	assert_int_equal(pcp->count, 999);
	fl_page_free(f.mem, &f.who, pages[freed++], 0);
	/* At the limit: what was freed in a row goes, but a batch stays. */
	assert_int_equal(pcp->count, 63);
	assert_int_equal(fl_state_kind(f.mem->frames.state[pages[999]]), FL_KIND_PCP);
	assert_int_equal(fl_state_kind(f.mem->frames.state[pages[999 - 62]]), FL_KIND_PCP);
	assert_int_not_equal(fl_state_kind(f.mem->frames.state[pages[999 - 63]]), FL_KIND_PCP);
	fixture_done(&f);
	fl_xfree(pages);
}

static void test_limit_grows_on_refills_and_decays_by_an_eighth(void **state)
{
	struct fixture f = { 0 };
	fl_pfn *pages = fl_xcalloc(100000, sizeof(*pages));
	struct fl_pcp *pcp;
	int high;

	fixture_normal(&f, "7.3", 1024);
	pcp = pcp_of(&f);
	take(&f, pages, 100000, 0);
	assert_true(pcp->high > 4 * pcp->high_min);
	for (unsigned int i = 0; i < 100000; i++)
		fl_page_free(f.mem, &f.who, pages[i], 0);
	high = pcp->high;
	assert_true(pcp->high <= pcp->high_max);
	fl_pcp_drain_cpu(f.mem, &f.who, fixture_zone(&f), 0);
	fl_pcp_decay(f.mem, &f.who, fixture_zone(&f), 0);
	assert_int_equal(pcp->high, high - high / 8 > pcp->high_min ? high - high / 8 : pcp->high_min);
	fixture_done(&f);
	fl_xfree(pages);
}

static void test_zone_below_high_shrinks_the_limit(void **state)
{
	struct fixture f = { 0 };
	fl_pfn *pages = fl_xcalloc(100000, sizeof(*pages));
	struct fl_pcp *pcp;
	int high;

	fixture_normal(&f, "7.3", 1024);
	pcp = pcp_of(&f);
	take(&f, pages, 100000, 0);
	high = pcp->high;
	fixture_zone(&f)->flags |= FL_ZONE_BELOW_HIGH;
	fl_page_free(f.mem, &f.who, pages[0], 0);
	assert_true(pcp->high < high);
	fixture_done(&f);
	fl_xfree(pages);
}

static void test_reclaim_keeps_at_most_four_batches(void **state)
{
	struct fixture f = { 0 };
	fl_pfn *pages = fl_xcalloc(4000, sizeof(*pages));

	fixture_normal(&f, "7.3", 1024);
	take(&f, pages, 4000, 0);
	fixture_zone(&f)->flags |= FL_ZONE_RECLAIM_ACTIVE;
	fl_pcp_drain_all(f.mem, &f.who, NULL);
	for (unsigned int i = 0; i < 4000; i++) {
		fl_page_free(f.mem, &f.who, pages[i], 0);
		assert_true(pcp_of(&f)->count <= 4 * 63);
	}
	assert_true(pcp_of(&f)->count > 63);
	fixture_zone(&f)->flags = 0;
	fixture_done(&f);
	fl_xfree(pages);
}

/* Frees order-2 chunks in a row; how many stay on the lists? */
static int left_after_burst(const char *kernel, unsigned int frees)
{
	struct fixture f = { 0 };
	fl_pfn *pages = fl_xcalloc(frees, sizeof(*pages));
	int left;

	fixture_normal(&f, kernel, 1024);
	take(&f, pages, frees, 2);
	fl_pcp_drain_all(f.mem, &f.who, NULL);
	pcp_of(&f)->high = pcp_of(&f)->high_max;
	for (unsigned int i = 0; i < frees; i++)
		fl_page_free(f.mem, &f.who, pages[i], 2);
	left = pcp_of(&f)->count;
	fixture_done(&f);
	fl_xfree(pages);
	return left;
}

static void test_burst_of_high_order_frees_drains_at_a_batch_in_6_12_and_later_in_7_3(void **state)
{
	/* 16 chunks are 64 pages: the 17th free of 6.12 finds a batch freed in a row. */
	assert_int_equal(left_after_burst("6.12", 16), 64);
	assert_int_equal(left_after_burst("6.12", 17), 0);
	assert_int_equal(left_after_burst("6.18", 17), 68);
	assert_int_equal(left_after_burst("7.3", 17), 68);
	assert_int_equal(left_after_burst("7.3", 40), 160);
}

static void test_empty_list_is_not_refilled_for_an_atomic_reserve_request_in_7_3(void **state)
{
	for (unsigned int v = 0; v < 2; v++) {
		struct fixture f = { 0 };
		fl_pfn pfn;

		fixture_normal(&f, v ? "7.3" : "6.12", 1024);
		pfn = fl_pcp_alloc(f.mem, &f.who, fixture_zone(&f), 2, FL_UNMOVABLE, FL_ALLOC_HIGHATOMIC);
		assert_int_equal(pfn == FL_PFN_NONE, v);
		if (pfn != FL_PFN_NONE)
			fl_page_prep(f.mem, pfn, 2, FL_KIND_KERNEL);
		fixture_done(&f);
	}
}

/* Somebody listens, so that every request and every free of this machine goes the long way. */
static void hear_nothing(void *arg, const struct fl_trace_event *event)
{
}

static void go_the_long_way(struct fixture *f)
{
	f->mem->trace = (struct fl_trace_sink){ .mask = 1u << FL_TRACE_mm_page_alloc | 1u << FL_TRACE_mm_page_free,
						.emit = hear_nothing };
}

/* Pages of two machines that do the same; one goes the long way. */
struct twins {
	struct fixture a, b;
	struct {
		fl_pfn pfn;
		unsigned int order;
	} held[4096];
	unsigned int count;
};

static bool twins_take(struct twins *t, fl_gfp gfp, unsigned int order, enum fl_kind kind)
{
	fl_pfn x = fl_page_alloc(t->a.mem, &t->a.who, gfp, order, kind);
	fl_pfn y = fl_page_alloc(t->b.mem, &t->b.who, gfp, order, kind);

	assert_int_equal(x, y);
	if (x == FL_PFN_NONE)
		return false;
	t->held[t->count].pfn = x;
	t->held[t->count++].order = order;
	return true;
}

static void twins_free(struct twins *t, unsigned int which)
{
	fl_page_free(t->a.mem, &t->a.who, t->held[which].pfn, t->held[which].order);
	fl_page_free(t->b.mem, &t->b.who, t->held[which].pfn, t->held[which].order);
	t->held[which] = t->held[--t->count];
}

static void twins_step(struct twins *t, struct fl_rng *rng)
{
	static const unsigned int orders[] = { 0, 0, 0, 0, 0, 0, 1, 2, 3, 9, 5 };
	static const fl_gfp gfps[] = { GFP_MOVABLE_NOW, GFP_MOVABLE_NOW, GFP_UNMOVABLE_NOW, GFP_RECLAIMABLE_NOW, FL_GFP_ATOMIC,
				       FL_GFP_DMA32 };
	fl_gfp gfp = gfps[fl_rng_below(rng, 6)];
	unsigned int phase = (unsigned int)fl_rng_below(rng, 100);

	t->a.task[0].cpu = t->b.task[0].cpu = (uint16_t)fl_rng_below(rng, 2);
	if (t->count < 4096 && (phase < 50 || !t->count))
		twins_take(t, gfp, orders[fl_rng_below(rng, 11)], gfp & FL_GFP_MOVABLE_BIT ? FL_KIND_ANON : FL_KIND_SLAB);
	else if (phase < 99)
		twins_free(t, (unsigned int)fl_rng_below(rng, t->count));
	else
		for (unsigned int n = (unsigned int)fl_rng_below(rng, t->count + 1); n; n--)
			twins_free(t, t->count - 1);
	if (fl_rng_chance(rng, 1, 500))
		for (struct fixture *f = &t->a; f <= &t->b; f++)
			fixture_zone(f)->flags ^= FL_ZONE_RECLAIM_ACTIVE;
}

static void test_usual_requests_and_frees_have_the_effects_of_the_long_way(void **state)
{
	for (unsigned int v = 0; v < 2; v++) {
		struct twins *t = fl_xcalloc(1, sizeof(*t));
		struct fl_rng rng;

		fl_rng_init(&rng, v, "twins", 0);
		for (struct fixture *f = &t->a; f <= &t->b; f++) {
			fixture_geometry(f, 32, 96, 2);
			fixture_boot(f, v ? "7.3" : "6.12");
		}
		go_the_long_way(&t->b);
		for (unsigned int i = 0; i < 40000; i++)
			twins_step(t, &rng);
		assert_int_equal(fl_mem_hash(t->a.mem), fl_mem_hash(t->b.mem));
		for (unsigned int cpu = 0; cpu < 2; cpu++)
			assert_int_equal(t->a.task[cpu].pending_ns, t->b.task[cpu].pending_ns);
		while (t->count)
			twins_free(t, t->count - 1);
		assert_int_equal(fl_mem_hash(t->a.mem), fl_mem_hash(t->b.mem));
		fixture_done(&t->a);
		fixture_done(&t->b);
		fl_xfree(t);
	}
}

/* Whoever listens to single pages hears each one, whichever of the two events it asked for. */
static void count_event(void *arg, const struct fl_trace_event *event)
{
	(*(unsigned int *)arg)++;
}

static void test_each_request_and_each_free_is_heard_by_who_listens_to_it_alone(void **state)
{
	static const enum fl_trace_id ids[] = { FL_TRACE_mm_page_alloc, FL_TRACE_mm_page_free };

	for (unsigned int i = 0; i < 2; i++) {
		struct fixture f = { 0 };
		unsigned int heard = 0;

		fixture_geometry(&f, 0, 64, 1);
		fixture_boot(&f, "7.3");
		f.mem->trace = (struct fl_trace_sink){ .mask = UINT64_C(1) << ids[i], .emit = count_event, .arg = &heard };
		for (unsigned int n = 0; n < 100; n++)
			fl_page_free(f.mem, &f.who, fl_page_alloc(f.mem, &f.who, FL_GFP_KERNEL, 0, FL_KIND_SLAB), 0);
		assert_int_equal(heard, 100);
		fixture_done(&f);
	}
}

static void test_decay_goes_on_until_the_limit_is_at_its_least(void **state)
{
	struct fixture f = { 0 };
	struct fl_pcp *pcp;
	int high;

	fixture_normal(&f, "7.3", 1024);
	pcp = pcp_of(&f);
	pcp->high = pcp->high_min + 10000;
	assert_true(fl_pcp_decay(f.mem, &f.who, fixture_zone(&f), 0)); /* nothing to drain, yet more to do */
	for (unsigned int i = 0; i < 200 && pcp->high > pcp->high_min; i++) {
		high = pcp->high;
		fl_pcp_decay(f.mem, &f.who, fixture_zone(&f), 0);
		assert_true(pcp->high < high);
	}
	assert_int_equal(pcp->high, pcp->high_min);
	assert_false(fl_pcp_decay(f.mem, &f.who, fixture_zone(&f), 0));
	fixture_done(&f);
}

static void test_cpu_with_cache_for_more_than_3_batches_may_hold_a_batch(void **state)
{
	/* Batch 63 of 4K: more than 189 pages, 756 KiB. */
	for (unsigned int more = 0; more < 2; more++) {
		struct fixture f = { 0 };

		fixture_geometry(&f, 0, 1024, 1);
		f.geometry.cpu_cache_kbytes = 756 + 4 * more;
		fixture_boot(&f, "7.3");
		assert_int_equal(pcp_of(&f)->free_high_batch, more);
		fixture_done(&f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_high_order_refills_are_scaled_down_but_take_two_chunks_at_least),
		cmocka_unit_test(test_orders_4_to_8_and_10_pass_the_lists_by),
		cmocka_unit_test(test_a_free_halves_the_next_refill),
		cmocka_unit_test(test_freed_pages_are_taken_again_last_in_first_out),
		cmocka_unit_test(test_drain_starts_at_the_freed_list_and_takes_the_oldest_pages),
		cmocka_unit_test(test_limit_grows_on_refills_and_decays_by_an_eighth),
		cmocka_unit_test(test_zone_below_high_shrinks_the_limit),
		cmocka_unit_test(test_reclaim_keeps_at_most_four_batches),
		cmocka_unit_test(test_burst_of_high_order_frees_drains_at_a_batch_in_6_12_and_later_in_7_3),
		cmocka_unit_test(test_empty_list_is_not_refilled_for_an_atomic_reserve_request_in_7_3),
		cmocka_unit_test(test_usual_requests_and_frees_have_the_effects_of_the_long_way),
		cmocka_unit_test(test_cpu_with_cache_for_more_than_3_batches_may_hold_a_batch),
		cmocka_unit_test(test_each_request_and_each_free_is_heard_by_who_listens_to_it_alone),
		cmocka_unit_test(test_decay_goes_on_until_the_limit_is_at_its_least),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
