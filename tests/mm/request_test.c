/*
 * tests/mm/request_test.c - requests and frees as a whole: zones, flags of the first pass, bulks, trace events, counters,
 * isolation, capture. Rules of allocator.md 1.7, 2.1 to 2.3, 3.8, 4.1, 4.4, 4.7, 8.1 and 9.1.
 */
#include "fixture.h"

#include "mm/sysctl.h"

#define BLOCK 512

/* ---- Trace events that a test has seen, oldest first ---- */

struct seen {
	struct fl_trace_event event[512];
	unsigned int count;
};

static void note_event(void *arg, const struct fl_trace_event *event)
{
	struct seen *seen = arg;

	assert_true(seen->count < 512);
	seen->event[seen->count++] = *event;
}

static void listen(struct fixture *f, struct seen *seen)
{
	seen->count = 0;
	f->mem->trace = (struct fl_trace_sink){ .mask = ~UINT64_C(0), .emit = note_event, .arg = seen };
}

static unsigned int seen_of(const struct seen *seen, enum fl_trace_id id)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < seen->count; i++)
		n += seen->event[i].id == id;
	return n;
}

/* Fills the zone with movable pages on no LRU list; all of them stay allocated. */
static void fill(struct fixture *f)
{
	for (;;) {
		fl_pfn pfn = fl_rmqueue_smallest(f->mem, &f->who, fixture_zone(f), 0, FL_MOVABLE);

		if (pfn == FL_PFN_NONE)
			return;
		fl_page_prep(f->mem, pfn, 0, FL_KIND_ANON);
	}
}

static void no_marks(struct fixture *f)
{
	for (unsigned int z = 0; z < FL_ZONES; z++)
		for (unsigned int m = 0; m < FL_WMARKS; m++)
			f->mem->zone[z].wmark[m] = 0;
}

/* ---- Events and counters of a request ---- */

static void test_events_of_a_claim_of_part_of_a_block_come_in_the_kernels_order(void **state)
{
	struct fixture f = { 0 };
	struct seen *seen = fl_xcalloc(1, sizeof(*seen));
	fl_pfn pfn;

	/* All is movable memory off the LRU, which is alike: an unmovable request claims. */
	fixture_geometry(&f, 16, 0, 1); /* no zone Normal, hence no NOFRAGMENT */
	fixture_boot(&f, "7.3");
	for (unsigned int i = 0; i < 16 * BLOCK; i++)
		fl_page_prep(f.mem, fl_rmqueue_smallest(f.mem, &f.who, &f.mem->zone[FL_ZONE_DMA32], 0, FL_MOVABLE), 0,
			     FL_KIND_ANON);
	for (fl_pfn at = 8 * BLOCK; at < 8 * BLOCK + 4; at++)
		give_buddy(&f, at, 0);
	no_marks(&f);
	listen(&f, seen);
	pfn = fl_page_alloc(f.mem, &f.who, GFP_UNMOVABLE_NOW, 0, FL_KIND_KERNEL);
	assert_int_equal(pfn, 8 * BLOCK);
	assert_int_equal(seen->event[0].id, FL_TRACE_mm_page_alloc_zone_locked);
	assert_int_equal(seen->event[0].arg[0], pfn);
	assert_int_equal(seen->event[0].arg[2], FL_UNMOVABLE);
	assert_int_equal(seen->event[0].arg[3], 1);
	assert_int_equal(seen->event[1].id, FL_TRACE_mm_page_alloc_extfrag);
	assert_int_equal(seen->event[1].arg[0], pfn);
	assert_int_equal(seen->event[1].arg[1], 0);
	assert_int_equal(seen->event[1].arg[2], 2);
	assert_int_equal(seen->event[1].arg[3], FL_UNMOVABLE);
	assert_int_equal(seen->event[1].arg[4], FL_MOVABLE);
	assert_int_equal(seen->event[1].arg[5], 1);
	assert_int_equal(seen->event[seen->count - 1].id, FL_TRACE_mm_page_alloc);
	assert_int_equal(seen->event[seen->count - 1].arg[2], FL_UNMOVABLE);
	fixture_done(&f);
	fl_xfree(seen);
}

static void test_claim_of_a_whole_block_has_no_zone_locked_event_for_its_page(void **state)
{
	struct fixture f = { 0 };
	struct seen *seen = fl_xcalloc(1, sizeof(*seen));
	fl_pfn pfn;

	fixture_normal(&f, "7.3", 16);
	listen(&f, seen);
	pfn = fl_page_alloc(f.mem, &f.who, GFP_UNMOVABLE_NOW, 4, FL_KIND_KERNEL);
	assert_int_equal(seen->count, 2);
	assert_int_equal(seen->event[0].id, FL_TRACE_mm_page_alloc_extfrag);
	assert_int_equal(seen->event[0].arg[1], 4);
	assert_int_equal(seen->event[0].arg[2], 10);
	assert_int_equal(seen->event[1].id, FL_TRACE_mm_page_alloc);
	fl_page_free(f.mem, &f.who, pfn, 4);
	assert_int_equal(seen->event[2].id, FL_TRACE_mm_page_free);
	assert_int_equal(seen->event[2].arg[1], 4);
	/* The own list serves the next one: order 4 is not for per-CPU lists, so the event says no refill. */
	pfn = fl_page_alloc(f.mem, &f.who, GFP_UNMOVABLE_NOW, 4, FL_KIND_KERNEL);
	assert_int_equal(seen->event[3].id, FL_TRACE_mm_page_alloc_zone_locked);
	assert_int_equal(seen->event[3].arg[1], 4);
	assert_int_equal(seen->event[3].arg[3], 0);
	fixture_done(&f);
	fl_xfree(seen);
}

static void test_failed_request_is_traced_without_a_page(void **state)
{
	struct fixture f = { 0 };
	struct seen *seen = fl_xcalloc(1, sizeof(*seen));

	fixture_normal(&f, "7.3", 16);
	fill(&f);
	listen(&f, seen);
	assert_int_equal(fl_page_alloc(f.mem, &f.who, GFP_MOVABLE_NOW, 2, FL_KIND_ANON), FL_PFN_NONE);
	assert_int_equal(seen_of(seen, FL_TRACE_mm_page_alloc), 1);
	assert_int_equal(seen->event[seen->count - 1].arg[0], FL_PFN_NONE);
	assert_int_equal(f.mem->vm[FL_VM_pgalloc_normal], 0);
	assert_int_equal(f.mem->vm[FL_VM_numa_hit], 0);
	fixture_done(&f);
	fl_xfree(seen);
}

static void test_each_drained_page_is_traced_with_the_type_of_its_block(void **state)
{
	struct fixture f = { 0 };
	struct seen *seen = fl_xcalloc(1, sizeof(*seen));
	fl_pfn pfn[2];

	fixture_normal(&f, "7.3", 128);
	pfn[0] = take_buddy(&f, 1, FL_MOVABLE, 0);
	pfn[1] = take_buddy(&f, 1, FL_UNMOVABLE, 0);
	fl_page_free(f.mem, &f.who, pfn[0], 1);
	fl_page_free(f.mem, &f.who, pfn[1], 1);
	listen(&f, seen);
	fl_pcp_drain_all(f.mem, &f.who, NULL);
	assert_int_equal(seen->count, 2);
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(seen->event[i].id, FL_TRACE_mm_page_pcpu_drain);
		assert_int_equal(seen->event[i].arg[0], pfn[1 - i]); /* list of Unmovable first */
		assert_int_equal(seen->event[i].arg[1], 1);
		assert_int_equal(seen->event[i].arg[2], i ? FL_MOVABLE : FL_UNMOVABLE);
	}
	fixture_done(&f);
	fl_xfree(seen);
}

static void test_counters_of_requests_and_frees(void **state)
{
	struct fixture f = { 0 };
	fl_pfn a, b, c;

	fixture_geometry(&f, 64, 128, 1);
	fixture_boot(&f, "7.3");
	assert_int_equal(f.mem->vm[FL_VM_pgfree], 192 * BLOCK); /* boot hands out memory by freeing it */
	a = fl_page_alloc(f.mem, &f.who, GFP_MOVABLE_NOW, 0, FL_KIND_ANON);
	b = fl_page_alloc(f.mem, &f.who, GFP_MOVABLE_NOW, 5, FL_KIND_ANON);
	c = fl_page_alloc(f.mem, &f.who, FL_GFP_DMA32, 3, FL_KIND_KERNEL);
	assert_int_equal(f.mem->vm[FL_VM_pgalloc_normal], 33);
	assert_int_equal(f.mem->vm[FL_VM_pgalloc_dma32], 8);
	assert_int_equal(f.mem->vm[FL_VM_numa_hit], 3);
	assert_int_equal(f.mem->vm[FL_VM_numa_local], 3);
	fl_page_free(f.mem, &f.who, a, 0);
	fl_page_free(f.mem, &f.who, b, 5);
	fl_page_free(f.mem, &f.who, c, 3);
	assert_int_equal(f.mem->vm[FL_VM_pgfree], 192 * BLOCK + 41);
	a = fl_page_alloc(f.mem, &f.who, GFP_MOVABLE_NOW, 0, FL_KIND_ANON); /* the short way */
	assert_int_equal(f.mem->vm[FL_VM_numa_hit], 4);
	assert_int_equal(f.mem->vm[FL_VM_numa_miss] + f.mem->vm[FL_VM_numa_foreign] + f.mem->vm[FL_VM_numa_other], 0);
	fixture_done(&f);
}

/* ---- Bulks ---- */

static void test_bulk_has_no_event_but_a_single_page_is_an_ordinary_request(void **state)
{
	struct fixture f = { 0 };
	struct seen *seen = fl_xcalloc(1, sizeof(*seen));
	fl_pfn pages[4];

	fixture_normal(&f, "7.3", 128);
	listen(&f, seen);
	assert_int_equal(fl_page_alloc_bulk(f.mem, &f.who, GFP_UNMOVABLE_NOW, 4, FL_KIND_STACK, pages), 4);
	assert_int_equal(seen_of(seen, FL_TRACE_mm_page_alloc), 0);
	assert_int_equal(f.mem->vm[FL_VM_pgalloc_normal], 4);
	assert_int_equal(f.mem->vm[FL_VM_numa_hit], 4);
	assert_int_equal(fl_page_alloc_bulk(f.mem, &f.who, GFP_UNMOVABLE_NOW, 1, FL_KIND_STACK, pages), 1);
	assert_int_equal(seen_of(seen, FL_TRACE_mm_page_alloc), 1);
	/* What is charged to a memory cgroup comes one by one. */
	assert_int_equal(fl_page_alloc_bulk(f.mem, &f.who, GFP_UNMOVABLE_NOW | FL_GFP_ACCOUNT, 4, FL_KIND_STACK, pages), 1);
	assert_int_equal(seen_of(seen, FL_TRACE_mm_page_alloc), 2);
	assert_int_equal(fl_page_alloc_bulk(f.mem, &f.who, GFP_UNMOVABLE_NOW, 0, FL_KIND_STACK, pages), 0);
	fixture_done(&f);
	fl_xfree(seen);
}

static void test_bulk_leaves_the_count_of_frees_in_a_row(void **state)
{
	struct fixture f = { 0 };
	fl_pfn pages[4];

	fixture_normal(&f, "7.3", 128);
	fixture_zone(&f)->pcp->free_count = 40;
	fl_page_alloc_bulk(f.mem, &f.who, GFP_MOVABLE_NOW, 4, FL_KIND_ANON, pages);
	assert_int_equal(fixture_zone(&f)->pcp->free_count, 40);
	fl_page_alloc(f.mem, &f.who, GFP_MOVABLE_NOW, 0, FL_KIND_ANON);
	assert_int_equal(fixture_zone(&f)->pcp->free_count, 20);
	fixture_done(&f);
}

static void test_bulk_mixes_types_where_an_ordinary_request_takes_a_lower_zone(void **state)
{
	for (unsigned int bulk = 0; bulk < 2; bulk++) {
		struct fixture f = { 0 };
		fl_pfn pages[2];

		fixture_geometry(&f, 64, 16, 1);
		f.settings.lowmem_reserve_ratio[FL_ZONE_DMA32] = 0;
		fixture_boot(&f, "7.3");
		fill(&f);
		for (fl_pfn at = 64 * BLOCK; at < 64 * BLOCK + 8; at++)
			give_buddy(&f, at, 0);
		no_marks(&f);
		fixture_zone(&f)->wmark[FL_WMARK_HIGH] = 1; /* a boost needs one */
		if (bulk)
			assert_true(fl_page_alloc_bulk(f.mem, &f.who, FL_GFP_KERNEL, 2, FL_KIND_STACK, pages) > 0);
		else
			pages[0] = fl_page_alloc(f.mem, &f.who, FL_GFP_KERNEL, 0, FL_KIND_STACK);
		assert_int_equal(pages[0] >= 64 * BLOCK, bulk);
		/* Nor does it set the flag by which a boost wakes kswapd. */
		assert_int_equal(fixture_zone(&f)->flags & FL_ZONE_BOOSTED_WATERMARK, 0);
		assert_int_equal(f.mem->vm[FL_VM_watermark_boosts] > 0, bulk);
		fixture_done(&f);
	}
}

static void test_bulk_wants_its_pages_above_the_low_mark(void **state)
{
	struct fixture f = { 0 };
	fl_pfn pages[8];

	fixture_normal(&f, "7.3", 16);
	no_marks(&f);
	fixture_zone(&f)->wmark[FL_WMARK_LOW] = (uint64_t)fixture_zone(&f)->nr_free_pages - 8;
	assert_int_equal(fl_page_alloc_bulk(f.mem, &f.who, GFP_MOVABLE_NOW, 8, FL_KIND_ANON, pages), 1);
	assert_int_equal(fl_page_alloc_bulk(f.mem, &f.who, GFP_MOVABLE_NOW, 7, FL_KIND_ANON, pages), 1);
	fl_pcp_drain_all(f.mem, &f.who, NULL);
	assert_int_equal(fl_page_alloc_bulk(f.mem, &f.who, GFP_MOVABLE_NOW, 5, FL_KIND_ANON, pages), 5);
	fixture_done(&f);
}

static void test_bulk_that_finds_too_little_returns_what_it_got(void **state)
{
	struct fixture f = { 0 };
	fl_pfn pages[16];

	fixture_normal(&f, "7.3", 16);
	no_marks(&f);
	fill(&f);
	for (fl_pfn at = 0; at < 3; at++)
		give_buddy(&f, at, 0);
	fixture_zone(&f)->nr_free_pages += 100; /* lets the test of the mark pass, as pages of others would */
	assert_int_equal(fl_page_alloc_bulk(f.mem, &f.who, GFP_MOVABLE_NOW, 16, FL_KIND_ANON, pages), 3);
	fixture_zone(&f)->nr_free_pages -= 100;
	fixture_done(&f);
}

/* ---- Zones ---- */

/* DMA32, Normal and Movable of 16 pageblocks each. */
static void boot_with_zone_movable(struct fixture *f, const char *kernel)
{
	struct fl_geometry *g = &f->geometry;

	fixture_geometry(f, 16, 16, 1);
	g->zone[FL_ZONE_MOVABLE] = (struct fl_pfn_range){ 32 * BLOCK, 48 * BLOCK };
	g->ranges[0].end = 48 * BLOCK;
	fixture_boot(f, kernel);
}

static void test_only_highmem_movable_requests_use_zone_movable_and_then_go_down(void **state)
{
	struct fixture f = { 0 };
	struct fl_zone *movable;

	boot_with_zone_movable(&f, "7.3");
	movable = &f.mem->zone[FL_ZONE_MOVABLE];
	assert_true(fl_page_alloc(f.mem, &f.who, GFP_MOVABLE_NOW, 0, FL_KIND_ANON) >= 32 * BLOCK);
	assert_int_equal(f.mem->vm[FL_VM_pgalloc_movable], 1);
	assert_in_range(fl_page_alloc(f.mem, &f.who, GFP_UNMOVABLE_NOW, 0, FL_KIND_KERNEL), 16 * BLOCK, 32 * BLOCK - 1);
	assert_in_range(fl_page_alloc(f.mem, &f.who, FL_GFP_MOVABLE_BIT, 0, FL_KIND_FILE), 16 * BLOCK, 32 * BLOCK - 1);
	assert_true(fl_page_alloc(f.mem, &f.who, FL_GFP_DMA32, 0, FL_KIND_KERNEL) < 16 * BLOCK);
	while (movable->nr_free_pages > (long)movable->wmark[FL_WMARK_LOW])
		if (fl_page_alloc(f.mem, &f.who, GFP_MOVABLE_NOW, 9, FL_KIND_ANON) < 32 * BLOCK)
			break;
	assert_in_range(fl_page_alloc(f.mem, &f.who, GFP_MOVABLE_NOW, 9, FL_KIND_ANON), 16 * BLOCK, 32 * BLOCK - 1);
	fixture_done(&f);
}

static void test_nofragment_is_not_set_when_zone_movable_is_preferred(void **state)
{
	struct fixture f = { 0 };
	struct fl_alloc_context ac = { .preferred = FL_ZONE_MOVABLE };

	boot_with_zone_movable(&f, "7.3");
	assert_int_equal(fl_alloc_flags_nofragment(f.mem, &ac), 0);
	f.mem->set.defrag_mode = 1;
	assert_int_equal(fl_alloc_flags_nofragment(f.mem, &ac), FL_ALLOC_NOFRAGMENT);
	fixture_done(&f);
}

static void test_lower_zones_keep_their_reserve_from_requests_that_could_go_higher(void **state)
{
	struct fixture f = { 0 };
	struct fl_zone *dma32;
	long left;

	fixture_geometry(&f, 16, 64, 1);
	fixture_boot(&f, "7.3");
	dma32 = &f.mem->zone[FL_ZONE_DMA32];
	assert_int_equal(dma32->lowmem_reserve[FL_ZONE_NORMAL], 64 * BLOCK / 256);
	assert_int_equal(dma32->lowmem_reserve[FL_ZONE_DMA32], 0);
	fill(&f);
	while (fl_page_alloc(f.mem, &f.who, GFP_UNMOVABLE_NOW, 0, FL_KIND_KERNEL) != FL_PFN_NONE)
		;
	left = dma32->nr_free_pages;
	assert_true(left >= 128);
	assert_int_not_equal(fl_page_alloc(f.mem, &f.who, GFP_UNMOVABLE_NOW | FL_GFP_DMA32, 0, FL_KIND_KERNEL), FL_PFN_NONE);
	fixture_done(&f);
}

static void test_defrag_mode_fails_rather_than_mixes(void **state)
{
	for (unsigned int on = 0; on < 2; on++) {
		struct fixture f = { 0 };
		struct fl_alloc_context ac = { .gfp = GFP_UNMOVABLE_NOW, .preferred = FL_ZONE_NORMAL, .ceiling = FL_ZONE_NORMAL,
					       .kind = FL_KIND_KERNEL };
		fl_pfn pfn;

		fixture_normal(&f, "7.3,vm.defrag_mode=1", 16);
		f.mem->set.defrag_mode = on;
		fill(&f);
		no_marks(&f);
		for (fl_pfn at = 0; at < 256; at++)
			give_buddy(&f, at, 0);
		pfn = fl_get_page_from_freelist(f.mem, &f.who, &ac, FL_WMARK_MIN | FL_ALLOC_NOFRAGMENT);
		assert_int_equal(pfn == FL_PFN_NONE, on);
		fixture_done(&f);
	}
}

static void test_failing_the_high_mark_is_remembered_until_frees_lift_it(void **state)
{
	struct fixture f = { 0 };
	struct fl_zone *zone;
	fl_pfn pfn;

	fixture_normal(&f, "7.3", 128);
	zone = fixture_zone(&f);
	zone->wmark[FL_WMARK_HIGH] = (uint64_t)zone->nr_free_pages;
	pfn = fl_page_alloc(f.mem, &f.who, GFP_MOVABLE_NOW, 4, FL_KIND_ANON);
	assert_int_not_equal(pfn, FL_PFN_NONE);
	assert_true(zone->flags & FL_ZONE_BELOW_HIGH);
	fl_page_free(f.mem, &f.who, pfn, 4);
	assert_true(zone->flags & FL_ZONE_BELOW_HIGH); /* a free past the per-CPU lists does not look */
	pfn = fl_page_alloc(f.mem, &f.who, GFP_MOVABLE_NOW, 0, FL_KIND_ANON);
	zone->pcp->high_min = zone->pcp->high = 1;
	fl_page_free(f.mem, &f.who, pfn, 0);
	assert_true(zone->flags & FL_ZONE_BELOW_HIGH); /* the drain looks, at the high mark */
	pfn = fl_page_alloc(f.mem, &f.who, GFP_MOVABLE_NOW, 0, FL_KIND_ANON);
	zone->wmark[FL_WMARK_HIGH] = 0;
	fl_page_free(f.mem, &f.who, pfn, 0);
	assert_false(zone->flags & FL_ZONE_BELOW_HIGH);
	fixture_done(&f);
}

static void test_no_watermarks_takes_what_there_is(void **state)
{
	struct fixture f = { 0 };
	struct fl_alloc_context ac = { .gfp = GFP_MOVABLE_NOW, .type = FL_MOVABLE, .preferred = FL_ZONE_NORMAL,
				       .ceiling = FL_ZONE_NORMAL, .kind = FL_KIND_ANON };

	fixture_normal(&f, "7.3", 16);
	fixture_zone(&f)->wmark[FL_WMARK_MIN] = 1u << 20;
	fixture_zone(&f)->wmark[FL_WMARK_HIGH] = 1u << 20;
	assert_int_equal(fl_get_page_from_freelist(f.mem, &f.who, &ac, FL_WMARK_MIN), FL_PFN_NONE);
	assert_int_not_equal(fl_get_page_from_freelist(f.mem, &f.who, &ac, FL_WMARK_MIN | FL_ALLOC_NO_WATERMARKS), FL_PFN_NONE);
	fixture_done(&f);
}

/* ---- HighAtomic ---- */

/* One free HighAtomic pageblock and nothing else; may a request with these flags have a page of it? */
static bool gets_reserve(const char *kernel, uint32_t alloc_flags, unsigned int order)
{
	struct fixture f = { 0 };
	struct fl_alloc_context ac = { .gfp = FL_GFP_ATOMIC, .order = order, .type = FL_UNMOVABLE,
				       .preferred = FL_ZONE_NORMAL, .ceiling = FL_ZONE_NORMAL, .kind = FL_KIND_KERNEL };
	fl_pfn pfn;

	fixture_normal(&f, kernel, 16);
	fill(&f);
	no_marks(&f);
	fl_pageblock_set_type(f.mem, 4 * BLOCK, FL_HIGHATOMIC);
	for (fl_pfn at = 4 * BLOCK; at < 5 * BLOCK; at++)
		give_buddy(&f, at, 0);
	pfn = fl_get_page_from_freelist(f.mem, &f.who, &ac, alloc_flags);
	fixture_done(&f);
	return pfn != FL_PFN_NONE;
}

static void test_who_may_use_the_highatomic_reserve(void **state)
{
	for (unsigned int v = 0; v < 2; v++) {
		const char *kernel = v ? "7.3" : "6.12";

		assert_false(gets_reserve(kernel, FL_WMARK_MIN, 0));
		assert_false(gets_reserve(kernel, FL_WMARK_MIN | FL_ALLOC_MIN_RESERVE, 0));
		assert_true(gets_reserve(kernel, FL_WMARK_MIN | FL_ALLOC_HIGHATOMIC, 2));
		assert_true(gets_reserve(kernel, FL_WMARK_MIN | FL_ALLOC_OOM, 0));
		assert_true(gets_reserve(kernel, FL_WMARK_MIN | FL_ALLOC_OOM, 2));
		/* Who cannot wait gets single pages; for more the mark asks for a list that the request may use. */
		assert_true(gets_reserve(kernel, FL_WMARK_MIN | FL_ALLOC_NON_BLOCK, 0));
		assert_false(gets_reserve(kernel, FL_WMARK_MIN | FL_ALLOC_NON_BLOCK, 2));
	}
}

static void test_atomic_high_order_requests_use_the_reserve_in_the_first_pass_of_7_3_only(void **state)
{
	for (unsigned int v = 0; v < 2; v++) {
		struct fixture f = { 0 };
		fl_pfn pfn, reserve;

		fixture_normal(&f, v ? "7.3" : "6.12", 128);
		reserve = take_buddy(&f, 0, FL_MOVABLE, 0);
		fl_reserve_highatomic(f.mem, fixture_zone(&f), reserve, 0);
		pfn = fl_page_alloc(f.mem, &f.who, FL_GFP_ATOMIC, 3, FL_KIND_KERNEL);
		assert_int_equal(fl_pageblock_type(f.mem, pfn), v ? FL_HIGHATOMIC : FL_UNMOVABLE);
		/* Orders of 0 and requests that may wait have no business there. */
		pfn = fl_page_alloc(f.mem, &f.who, FL_GFP_ATOMIC, 0, FL_KIND_KERNEL);
		assert_int_equal(fl_pageblock_type(f.mem, pfn), FL_UNMOVABLE);
		pfn = fl_page_alloc(f.mem, &f.who, FL_GFP_ATOMIC | FL_GFP_DIRECT_RECLAIM, 3, FL_KIND_KERNEL);
		assert_int_equal(fl_pageblock_type(f.mem, pfn), FL_UNMOVABLE);
		pfn = fl_page_alloc(f.mem, &f.who, FL_GFP_ATOMIC | FL_GFP_NOMEMALLOC, 2, FL_KIND_KERNEL);
		assert_int_equal(fl_pageblock_type(f.mem, pfn), FL_UNMOVABLE);
		fixture_done(&f);
	}
}

static void test_free_pages_of_the_reserve_count_only_for_those_who_may_use_it(void **state)
{
	struct fixture f = { 0 };
	struct fl_zone *zone;
	uint64_t mark;

	fixture_normal(&f, "7.3", 128);
	zone = fixture_zone(&f);
	fl_reserve_highatomic(f.mem, zone, take_buddy(&f, 0, FL_MOVABLE, 0), 0);
	assert_int_equal(zone->nr_free_highatomic, BLOCK - 1);
	mark = (uint64_t)(zone->nr_free_pages - zone->nr_free_highatomic);
	assert_false(fl_watermark_fast(f.mem, zone, 0, mark, FL_ZONE_NORMAL, FL_WMARK_LOW, 0));
	assert_true(fl_watermark_fast(f.mem, zone, 0, mark - 1, FL_ZONE_NORMAL, FL_WMARK_LOW, 0));
	assert_true(fl_watermark_fast(f.mem, zone, 0, mark, FL_ZONE_NORMAL, FL_WMARK_LOW | FL_ALLOC_NON_BLOCK, 0));
	fixture_done(&f);
}

static void test_reserve_of_a_whole_free_chunk_and_its_return(void **state)
{
	struct fixture f = { 0 };
	struct fl_alloc_context ac = { .preferred = FL_ZONE_NORMAL, .ceiling = FL_ZONE_NORMAL, .type = FL_RECLAIMABLE };
	fl_pfn pfn;

	fixture_normal(&f, "7.3", 256);
	pfn = take_buddy(&f, 10, FL_MOVABLE, 0);
	fl_reserve_highatomic(f.mem, fixture_zone(&f), pfn, 10);
	assert_int_equal(fixture_zone(&f)->nr_reserved_highatomic, 2 * BLOCK);
	give_buddy(&f, pfn, 10);
	assert_int_equal(fixture_zone(&f)->nr_free_highatomic, 2 * BLOCK);
	assert_true(fixture_zone(&f)->nonempty[FL_HIGHATOMIC] >> 10 & 1);
	assert_true(fl_unreserve_highatomic(f.mem, &ac, false));
	assert_int_equal(fixture_zone(&f)->nr_reserved_highatomic, 0);
	assert_int_equal(fixture_zone(&f)->nr_free_highatomic, 0);
	assert_int_equal(fl_pageblock_type(f.mem, pfn), FL_RECLAIMABLE);
	assert_int_equal(fl_pageblock_type(f.mem, pfn + BLOCK), FL_RECLAIMABLE);
	fixture_done(&f);
}

/* ---- Frees ---- */

static void test_free_of_more_than_a_pageblock_goes_by_the_type_of_each(void **state)
{
	for (unsigned int type = FL_UNMOVABLE; type <= FL_HIGHATOMIC; type += FL_HIGHATOMIC) {
		struct fixture f = { 0 };
		fl_pfn pfn;
		bool merges = type != FL_HIGHATOMIC;

		fixture_normal(&f, "7.3", 16);
		pfn = take_buddy(&f, 10, FL_MOVABLE, 0);
		fl_pageblock_set_type(f.mem, pfn + BLOCK, type);
		fl_page_free(f.mem, &f.who, pfn, 10);
		assert_int_equal(fixture_zone(&f)->nr_free[9], merges ? 0 : 2);
		assert_int_equal(fl_pageblock_type(f.mem, pfn), merges ? type : FL_MOVABLE); /* the half freed last wins */
		fixture_done(&f);
	}
}

static void test_free_into_an_isolated_block_passes_the_percpu_lists_by(void **state)
{
	struct fixture f = { 0 };
	fl_pfn pfn;
	long before;

	fixture_normal(&f, "7.3", 128);
	pfn = take_buddy(&f, 0, FL_MOVABLE, 0);
	set_lru(&f, pfn, true);
	assert_true(fl_isolate_pageblock(f.mem, &f.who, pfn));
	set_lru(&f, pfn, false);
	before = fixture_zone(&f)->nr_free_pages;
	fl_page_free(f.mem, &f.who, pfn, 0);
	assert_int_equal(fixture_zone(&f)->pcp->count, 0);
	assert_int_equal(fixture_zone(&f)->nr_free_pages, before);
	assert_int_equal(fixture_zone(&f)->nr_isolated_free, BLOCK);
	assert_true(fixture_zone(&f)->nonempty[FL_ISOLATE] >> 9 & 1);
	fixture_done(&f);
}

static void test_guard_beside_the_parent_sends_a_chunk_to_the_tail_too(void **state)
{
	struct fixture f = { 0 };
	fl_pfn pfn, other;
	uint32_t list;

	fixture_geometry(&f, 0, 16, 1);
	f.geometry.guard_minorder = 2;
	fixture_boot(&f, "7.3");
	list = fl_free_list(fixture_zone(&f), FL_MOVABLE, 0);
	pfn = take_buddy(&f, 1, FL_MOVABLE, 0);
	assert_int_equal(f.mem->frames.state[pfn + 2], fl_state(FL_KIND_GUARD, 1));
	other = take_buddy(&f, 2, FL_MOVABLE, 0);
	fl_page_split(f.mem, pfn, 1);
	fl_page_split(f.mem, other, 2);
	give_buddy(&f, other, 0);
	give_buddy(&f, pfn, 0);
	assert_int_equal(fl_list_last(&f.mem->frames, list), pfn);
	fixture_done(&f);
}

/* ---- Capture ---- */

static enum fl_capture_verdict always_retype(const struct fl_capture_facts *facts)
{
	return FL_CAPTURE_RETYPE;
}

/* Frees the pageblock at 6 page by page while `capture` waits; what the compactor got. */
static fl_pfn captured_of(struct fixture *f, struct fl_capture *capture, unsigned int type, uint32_t flags)
{
	fill(f);
	fl_pageblock_set_type(f->mem, 6 * BLOCK, type);
	f->who.capture = capture;
	f->who.flags = flags;
	for (fl_pfn pfn = 6 * BLOCK; pfn < 7 * BLOCK; pfn++)
		give_buddy(f, pfn, 0);
	f->who.capture = NULL;
	f->who.flags = 0;
	if (capture->pfn != FL_PFN_NONE)
		fl_page_prep(f->mem, capture->pfn, capture->order, FL_KIND_KERNEL);
	return capture->pfn;
}

static void test_kernel_threads_capture_nothing(void **state)
{
	for (unsigned int kthread = 0; kthread < 2; kthread++) {
		struct fixture f = { 0 };
		struct fl_capture capture = { .zone = FL_ZONE_NORMAL, .order = 9, .type = FL_MOVABLE, .pfn = FL_PFN_NONE };
		fl_pfn got;

		fixture_normal(&f, "7.3", 16);
		got = captured_of(&f, &capture, FL_MOVABLE, kthread ? FL_PF_KTHREAD : FL_PF_MEMALLOC);
		assert_int_equal(got, kthread ? FL_PFN_NONE : 6 * BLOCK);
		fixture_done(&f);
	}
}

static void test_capture_takes_from_reserves_but_never_retypes_them(void **state)
{
	struct fixture f = { 0 };
	struct fl_capture capture = { .zone = FL_ZONE_NORMAL, .order = 9, .type = FL_UNMOVABLE, .pfn = FL_PFN_NONE };

	fixture_normal(&f, "7.3", 16);
	f.mem->decide.capture_block = always_retype;
	assert_int_equal(captured_of(&f, &capture, FL_HIGHATOMIC, 0), 6 * BLOCK);
	assert_int_equal(fl_pageblock_type(f.mem, 6 * BLOCK), FL_HIGHATOMIC);
	assert_int_equal(fixture_zone(&f)->nr_free_highatomic, 0);
	fixture_done(&f);
}

static void test_capture_is_for_its_zone_and_only_once(void **state)
{
	struct fixture f = { 0 };
	struct fl_capture capture = { .zone = FL_ZONE_DMA32, .order = 4, .type = FL_MOVABLE, .pfn = FL_PFN_NONE };

	fixture_normal(&f, "7.3", 16);
	assert_int_equal(captured_of(&f, &capture, FL_MOVABLE, 0), FL_PFN_NONE);
	fixture_done(&f);
	capture.zone = FL_ZONE_NORMAL;
	fixture_normal(&f, "7.3", 16);
	assert_int_equal(captured_of(&f, &capture, FL_MOVABLE, 0), 6 * BLOCK);
	assert_int_equal(fixture_zone(&f)->nr_free_pages, BLOCK - 16);
	fixture_done(&f);
}

static void test_capture_of_a_foreign_block_is_an_extfrag_event_in_7_3(void **state)
{
	for (unsigned int v = 0; v < 3; v++) {
		static const char *const kernels[] = { "6.12", "7.3", "7.3+mobility-capture" };
		struct fixture f = { 0 };
		struct fl_capture capture = { .zone = FL_ZONE_NORMAL, .order = 9, .type = FL_UNMOVABLE, .pfn = FL_PFN_NONE };
		struct seen *seen = fl_xcalloc(1, sizeof(*seen));

		fixture_normal(&f, kernels[v], 16);
		fill(&f);
		listen(&f, seen);
		captured_of(&f, &capture, FL_MOVABLE, 0);
		assert_int_equal(seen->count, v ? 1 : 0);
		if (v) {
			assert_int_equal(seen->event[0].id, FL_TRACE_mm_page_alloc_extfrag);
			assert_int_equal(seen->event[0].arg[1], 9);
			assert_int_equal(seen->event[0].arg[2], 9);
			assert_int_equal(seen->event[0].arg[3], FL_UNMOVABLE);
			assert_int_equal(seen->event[0].arg[4], FL_MOVABLE);
			assert_int_equal(seen->event[0].arg[5], v == 2);
		}
		assert_int_equal(f.mem->vm[FL_VM_pgalloc_normal], 0);
		fixture_done(&f);
		fl_xfree(seen);
	}
}

/* ---- Isolation ---- */

static void test_what_keeps_a_block_from_being_isolated(void **state)
{
	struct fixture f = { 0 };
	fl_pfn pfn;

	fixture_geometry(&f, 0, 16, 1);
	f.geometry.reserved_count = 1;
	f.geometry.reserved[0] = (struct fl_pfn_range){ 4 * BLOCK + 100, 4 * BLOCK + 101 };
	f.geometry.ranges_count = 2;
	f.geometry.ranges[0].end = 8 * BLOCK + 10;
	f.geometry.ranges[1] = (struct fl_pfn_range){ 8 * BLOCK + 20, 16 * BLOCK };
	fixture_boot(&f, "7.3");
	assert_false(fl_isolate_pageblock(f.mem, &f.who, 4 * BLOCK)); /* a reserved page */
	assert_false(fl_isolate_pageblock(f.mem, &f.who, 8 * BLOCK)); /* a hole */
	assert_true(fl_isolate_pageblock(f.mem, &f.who, 6 * BLOCK));
	fl_unisolate_pageblock(f.mem, &f.who, 6 * BLOCK, FL_MOVABLE);
	pfn = take_buddy(&f, 9, FL_MOVABLE, 0);
	fl_page_split(f.mem, pfn, 9);
	for (unsigned int i = 1; i < BLOCK; i++)
		give_buddy(&f, pfn + i, 0);
	assert_false(fl_isolate_pageblock(f.mem, &f.who, pfn)); /* movable, but off the LRU lists */
	set_lru(&f, pfn, true);
	assert_true(fl_isolate_pageblock(f.mem, &f.who, pfn));
	fl_unisolate_pageblock(f.mem, &f.who, pfn, FL_MOVABLE);
	set_lru(&f, pfn, false);
	fl_page_free(f.mem, &f.who, pfn, 0);
	assert_int_equal(fixture_zone(&f)->pcp->count, 1);
	assert_true(fl_isolate_pageblock(f.mem, &f.who, pfn)); /* free on a per-CPU list */
	fixture_done(&f);
}

static void test_everything_in_zone_movable_may_be_isolated_but_reserved_pages(void **state)
{
	struct fixture f = { 0 };
	fl_pfn pfn;

	boot_with_zone_movable(&f, "7.3");
	pfn = fl_page_alloc(f.mem, &f.who, GFP_MOVABLE_NOW, 0, FL_KIND_ANON);
	assert_true(fl_isolate_pageblock(f.mem, &f.who, pfn));
	fixture_done(&f);
}

static void test_isolating_both_halves_of_a_chunk_and_undoing_one(void **state)
{
	for (unsigned int v = 0; v < 2; v++)
		for (unsigned int half = 0; half < 2; half++) {
			struct fixture f = { 0 };
			fl_pfn pfn;

			fixture_normal(&f, v ? "7.3" : "6.12", 16);
			pfn = take_buddy(&f, 10, FL_MOVABLE, 0);
			set_lru(&f, pfn, true);
			f.mem->pageblock[pfn >> 9].lru = f.mem->pageblock[(pfn >> 9) + 1].lru = BLOCK;
			assert_true(fl_isolate_pageblock(f.mem, &f.who, pfn));
			assert_true(fl_isolate_pageblock(f.mem, &f.who, pfn + BLOCK));
			f.mem->frames.state[pfn] &= ~FL_LRU;
			f.mem->pageblock[pfn >> 9].lru = f.mem->pageblock[(pfn >> 9) + 1].lru = 0;
			fl_page_free(f.mem, &f.who, pfn, 10);
			assert_true(fixture_zone(&f)->nonempty[FL_ISOLATE] >> 10 & 1); /* both isolated: they merge */
			fl_mem_check(f.mem);
			fl_unisolate_pageblock(f.mem, &f.who, pfn + half * BLOCK, FL_MOVABLE);
			assert_int_equal(fixture_zone(&f)->nr_isolated_free, BLOCK);
			assert_int_equal(fl_pageblock_type(f.mem, pfn + (1 - half) * BLOCK), FL_ISOLATE);
			fixture_done(&f);
		}
}

static void test_undone_isolation_puts_free_pages_at_the_tails(void **state)
{
	for (unsigned int order = 3; order <= 9; order += 6) {
		struct fixture f = { 0 };
		uint32_t list;

		fixture_normal(&f, "7.3", 16);
		fill(&f);
		list = fl_free_list(fixture_zone(&f), FL_MOVABLE, order);
		for (fl_pfn at = 4 * BLOCK; at < 5 * BLOCK; at++)
			set_lru(&f, at, true);
		for (fl_pfn at = 4 * BLOCK; at < 4 * BLOCK + (1u << order); at++) {
			set_lru(&f, at, false);
			give_buddy(&f, at, 0);
		}
		assert_true(fl_isolate_pageblock(f.mem, &f.who, 4 * BLOCK));
		for (fl_pfn at = 8 * BLOCK; at < 8 * BLOCK + (1u << order); at++)
			give_buddy(&f, at, 0);
		fl_unisolate_pageblock(f.mem, &f.who, 4 * BLOCK, FL_MOVABLE);
		assert_int_equal(fl_list_first(&f.mem->frames, list), 8 * BLOCK);
		assert_int_equal(fl_list_last(&f.mem->frames, list), 4 * BLOCK);
		fixture_done(&f);
	}
}

static void test_pages_that_drivers_move_do_not_keep_a_block(void **state)
{
	struct fixture f = { 0 };
	fl_pfn pfn;

	fixture_normal(&f, "7.3", 16);
	pfn = take_buddy(&f, 0, FL_MOVABLE, 0);
	fl_page_set_kind(f.mem, pfn, FL_KIND_DRIVER);
	assert_true(fl_isolate_pageblock(f.mem, &f.who, pfn));
	fixture_done(&f);
}

static void test_block_that_merges_when_isolation_ends_goes_to_the_tail(void **state)
{
	struct fixture f = { 0 };

	fixture_normal(&f, "7.3", 16);
	assert_true(fl_isolate_pageblock(f.mem, &f.who, 3 * BLOCK));
	fl_unisolate_pageblock(f.mem, &f.who, 3 * BLOCK, FL_MOVABLE);
	assert_int_equal(fl_list_last(&f.mem->frames, fl_free_list(fixture_zone(&f), FL_MOVABLE, 10)), 2 * BLOCK);
	fixture_done(&f);
}

/* ---- Grouping, settings ---- */

static void test_min_free_kbytes_that_a_scenario_sets_is_not_raised_at_boot(void **state)
{
	struct fixture f = { 0 };

	fixture_geometry(&f, 0, 128, 1);
	f.settings.thp_enabled = FL_THP_ALWAYS;
	f.settings.min_free_kbytes = 2000;
	f.settings.user_min_free_kbytes = 2000;
	fixture_boot(&f, "7.3");
	assert_int_equal(f.mem->set.min_free_kbytes, 2000);
	assert_int_equal(fixture_zone(&f)->wmark[FL_WMARK_MIN], 500);
	fixture_done(&f);
}

static void test_grouping_goes_by_present_pages(void **state)
{
	struct fixture f = { 0 };

	/* 5 pageblocks present, of which one is reserved: when zone lists are built nothing is reserved yet. */
	fixture_geometry(&f, 0, 5, 1);
	f.geometry.reserved_count = 1;
	f.geometry.reserved[0] = (struct fl_pfn_range){ 0, BLOCK };
	fixture_boot(&f, "7.3");
	assert_false(f.mem->set.grouping_disabled);
	fixture_done(&f);
}

static void test_percpu_fraction_is_0_or_at_least_8(void **state)
{
	struct fixture f = { 0 };
	struct fl_error error = { 0 };

	fixture_normal(&f, "7.3", 128);
	assert_true(fl_tunable_check("vm.percpu_pagelist_high_fraction", "7", &error) < 0);
	assert_int_equal(fl_tunable_check("vm.percpu_pagelist_high_fraction", "0", &error), 0);
	assert_int_equal(fl_tunable_write(f.mem, &f.who, "vm.percpu_pagelist_high_fraction", "8", &error), 0);
	assert_int_equal(fixture_zone(&f)->pcp->high_min, 128 * BLOCK / 8);
	assert_int_equal(fixture_zone(&f)->pcp->high_max, 128 * BLOCK / 8);
	fixture_done(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_events_of_a_claim_of_part_of_a_block_come_in_the_kernels_order),
		cmocka_unit_test(test_claim_of_a_whole_block_has_no_zone_locked_event_for_its_page),
		cmocka_unit_test(test_failed_request_is_traced_without_a_page),
		cmocka_unit_test(test_each_drained_page_is_traced_with_the_type_of_its_block),
		cmocka_unit_test(test_counters_of_requests_and_frees),
		cmocka_unit_test(test_bulk_has_no_event_but_a_single_page_is_an_ordinary_request),
		cmocka_unit_test(test_bulk_leaves_the_count_of_frees_in_a_row),
		cmocka_unit_test(test_bulk_mixes_types_where_an_ordinary_request_takes_a_lower_zone),
		cmocka_unit_test(test_bulk_wants_its_pages_above_the_low_mark),
		cmocka_unit_test(test_bulk_that_finds_too_little_returns_what_it_got),
		cmocka_unit_test(test_only_highmem_movable_requests_use_zone_movable_and_then_go_down),
		cmocka_unit_test(test_nofragment_is_not_set_when_zone_movable_is_preferred),
		cmocka_unit_test(test_lower_zones_keep_their_reserve_from_requests_that_could_go_higher),
		cmocka_unit_test(test_defrag_mode_fails_rather_than_mixes),
		cmocka_unit_test(test_failing_the_high_mark_is_remembered_until_frees_lift_it),
		cmocka_unit_test(test_no_watermarks_takes_what_there_is),
		cmocka_unit_test(test_who_may_use_the_highatomic_reserve),
		cmocka_unit_test(test_atomic_high_order_requests_use_the_reserve_in_the_first_pass_of_7_3_only),
		cmocka_unit_test(test_free_pages_of_the_reserve_count_only_for_those_who_may_use_it),
		cmocka_unit_test(test_reserve_of_a_whole_free_chunk_and_its_return),
		cmocka_unit_test(test_free_of_more_than_a_pageblock_goes_by_the_type_of_each),
		cmocka_unit_test(test_free_into_an_isolated_block_passes_the_percpu_lists_by),
		cmocka_unit_test(test_guard_beside_the_parent_sends_a_chunk_to_the_tail_too),
		cmocka_unit_test(test_kernel_threads_capture_nothing),
		cmocka_unit_test(test_capture_takes_from_reserves_but_never_retypes_them),
		cmocka_unit_test(test_capture_is_for_its_zone_and_only_once),
		cmocka_unit_test(test_capture_of_a_foreign_block_is_an_extfrag_event_in_7_3),
		cmocka_unit_test(test_what_keeps_a_block_from_being_isolated),
		cmocka_unit_test(test_everything_in_zone_movable_may_be_isolated_but_reserved_pages),
		cmocka_unit_test(test_isolating_both_halves_of_a_chunk_and_undoing_one),
		cmocka_unit_test(test_undone_isolation_puts_free_pages_at_the_tails),
		cmocka_unit_test(test_pages_that_drivers_move_do_not_keep_a_block),
		cmocka_unit_test(test_block_that_merges_when_isolation_ends_goes_to_the_tail),
		cmocka_unit_test(test_min_free_kbytes_that_a_scenario_sets_is_not_raised_at_boot),
		cmocka_unit_test(test_grouping_goes_by_present_pages),
		cmocka_unit_test(test_percpu_fraction_is_0_or_at_least_8),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
