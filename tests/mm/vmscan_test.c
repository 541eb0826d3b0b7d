/* tests/mm/vmscan_test.c - the rules of reclaim, one test each (allocator.md section 7, without time). */
#include "reclaim_fixture.h"

/* ---- Balance of the types ---- */

static void test_without_swap_only_file_pages_are_scanned(void **state)
{
	struct fl_scan_facts f = { .may_swap = true, .has_swap = false, .swappiness = 60, .priority = 12 };
	uint64_t fraction[2], denominator;

	(void)state;
	assert_int_equal(fl_scan_balance(&f, fraction, &denominator), FL_SCAN_FILE);
	f.has_swap = true;
	f.may_swap = false;
	f.priority = 0; /* not even in the last round */
	assert_int_equal(fl_scan_balance(&f, fraction, &denominator), FL_SCAN_FILE);
}

static void test_order_of_the_balance_rules(void **state)
{
	struct fl_scan_facts f = { .may_swap = true, .has_swap = true, .swappiness = 60, .priority = 0,
				   .file_is_tiny = true, .cache_trim_mode = true };
	uint64_t fraction[2], denominator;

	(void)state;
	assert_int_equal(fl_scan_balance(&f, fraction, &denominator), FL_SCAN_EQUAL);
	f.priority = 1;
	assert_int_equal(fl_scan_balance(&f, fraction, &denominator), FL_SCAN_ANON);
	f.file_is_tiny = false;
	assert_int_equal(fl_scan_balance(&f, fraction, &denominator), FL_SCAN_FILE);
	f.cache_trim_mode = false;
	assert_int_equal(fl_scan_balance(&f, fraction, &denominator), FL_SCAN_FRACT);
	f.priority = 0;
	f.swappiness = 0; /* then not even the last round is equal */
	assert_int_equal(fl_scan_balance(&f, fraction, &denominator), FL_SCAN_FRACT);
}

static void test_fractions_follow_swappiness_and_cost(void **state)
{
	struct fl_scan_facts f = { .may_swap = true, .has_swap = true, .swappiness = 60, .priority = 12 };
	uint64_t fraction[2], denominator;

	(void)state;
	fl_scan_balance(&f, fraction, &denominator);
	assert_int_equal(fraction[0], 60);
	assert_int_equal(fraction[1], 140);
	assert_int_equal(denominator, 200);
	/* ac 100, fc 0: T = 100 + 200, A = 200, F = 100 */
	f.anon_cost = 100;
	fl_scan_balance(&f, fraction, &denominator);
	assert_int_equal(fraction[0], 60 * 301 / 201);
	assert_int_equal(fraction[1], 140 * 301 / 101);
}

static void test_inactive_ratio_is_1_below_1_gib_and_3_from_there(void **state)
{
	(void)state;
	assert_true(fl_inactive_is_low(12, 99, 100));
	assert_false(fl_inactive_is_low(12, 100, 100));
	/* 262144 pages: isqrt(10) = 3 */
	assert_false(fl_inactive_is_low(12, 65536, 196608));
	assert_true(fl_inactive_is_low(12, 65535, 196609));
}

/* ---- Shrinkers ---- */

static void test_shrinker_scans_four_over_seeks_of_what_the_priority_gives(void **state)
{
	(void)state;
	assert_int_equal(fl_shrinker_target(8192, 2, 12, 0), 4);
	assert_int_equal(fl_shrinker_target(4095, 2, 12, 0), 0);
	assert_int_equal(fl_shrinker_target(1000, 0, 12, 0), 500);
	assert_int_equal(fl_shrinker_target(1000, 2, 0, 5000), 2000); /* never more than twice */
	assert_int_equal(fl_shrinker_target(8192, 2, 12, 8192), 6);
}

/* ---- Direct reclaim ---- */

static unsigned long direct(struct fixture *f, fl_gfp gfp, unsigned int order)
{
	struct fl_alloc_context ac = { .gfp = gfp, .order = order, .type = fl_gfp_migratetype(gfp),
				       .ceiling = fl_gfp_zone(gfp), .preferred = FL_ZONE_NORMAL };

	return fl_try_to_free_pages(f->mem, &f->who, &ac);
}

static void test_direct_reclaim_aims_at_32_pages(void **state)
{
	struct fixture f = { 0 };

	(void)state;
	for (unsigned int order = 0; order <= 3; order++) {
		unsigned long got;

		reclaim_boot(&f, BASE_73, 64, 0);
		forget_references(&f, read_file(&f, 16384));
		got = direct(&f, FL_GFP_HIGHUSER_MOVABLE, order);
		assert_in_range(got, 32, 127);
		assert_int_equal(counter(&f, FL_VM_pgsteal_direct), got);
		assert_int_equal(counter(&f, FL_VM_pgsteal_file), got);
		assert_int_equal(f.mem->work[FL_WORK_reclaimed][FL_ACTOR_DIRECT][0], got);
		fixture_done(&f);
	}
}

/* Pages that a huge page fault reclaims with `above` pages free above the high mark, all of them alone. */
static uint64_t reclaimed_for_huge_page(const char *kernel, long above)
{
	struct fixture f = { 0 };
	struct anon a;
	uint64_t reclaimed;

	reclaim_boot(&f, kernel, 64, 0);
	forget_references(&f, read_file(&f, 4000));
	a = touch_anon(&f, (uint32_t)(fixture_zone(&f)->nr_free_pages - 600));
	while (take_buddy(&f, 0, FL_MOVABLE, 0) != FL_PFN_NONE)
		;
	for (uint32_t i = 0; fixture_zone(&f)->nr_free_pages < (long)fl_wmark_pages(fixture_zone(&f), FL_WMARK_HIGH) + above;
	     i += 4) {
		fl_madvise(f.mem, &f.who, a.mm, a.start + i, 1, FL_MADV_DONTNEED);
		fl_pcp_drain_all(f.mem, &f.who, NULL);
	}
	reclaimed = counter(&f, FL_VM_pgsteal_direct);
	assert_int_not_equal(direct(&f, FL_GFP_TRANSHUGE, 9), 0); /* nothing reclaimed but ready for compaction is progress */
	reclaimed = counter(&f, FL_VM_pgsteal_direct) - reclaimed;
	fixture_done(&f);
	return reclaimed;
}

/* compaction_ready(): section 14, point 28. What the gap is differs: 32 pages in 7.3, two huge pages in 6.12. */
static void test_a_huge_page_fault_does_not_reclaim_where_compaction_is_ready(void **state)
{
	(void)state;
	assert_int_equal(reclaimed_for_huge_page("7.3", 1000), 0);
	assert_true(reclaimed_for_huge_page("6.12", 1000) > 0);
	assert_int_equal(reclaimed_for_huge_page("6.12", 1400), 0);
	assert_true(reclaimed_for_huge_page("7.3", 20) > 0);
}

static void test_allocstall_goes_by_the_ceiling_of_the_request(void **state)
{
	struct fixture f = { 0 };

	(void)state;
	reclaim_boot(&f, BASE_73, 64, 0);
	forget_references(&f, read_file(&f, 16384));
	direct(&f, FL_GFP_KERNEL, 0);
	assert_int_equal(counter(&f, FL_VM_allocstall_normal), 1);
	direct(&f, FL_GFP_HIGHUSER_MOVABLE, 0);
	assert_int_equal(counter(&f, FL_VM_allocstall_movable), 1);
	assert_int_equal(counter(&f, FL_VM_allocstall_normal), 1);
	fixture_done(&f);
}

static void test_folios_of_too_high_zones_are_skipped_and_counted(void **state)
{
	struct fixture f = { 0 };
	unsigned long got;

	(void)state;
	fixture_geometry(&f, 32, 32, 1);
	fixture_boot(&f, BASE_73);
	forget_references(&f, read_file(&f, 24576)); /* Normal first, the rest in DMA32 */
	got = direct(&f, FL_GFP_KERNEL | FL_GFP_DMA32, 0);
	assert_true(got >= 32);
	assert_true(counter(&f, FL_VM_pgskip_normal) > 0);
	assert_int_equal(counter(&f, FL_VM_pgskip_dma32), 0);
	assert_int_equal(counter(&f, FL_VM_allocstall_dma32), 1);
	fixture_done(&f);
}

static void test_nothing_to_reclaim_is_no_progress(void **state)
{
	struct fixture f = { 0 };

	(void)state;
	reclaim_boot(&f, BASE_612, 64, 0);
	touch_anon(&f, 1000);
	assert_int_equal(direct(&f, FL_GFP_HIGHUSER_MOVABLE, 0), 0);
	assert_int_equal(counter(&f, FL_VM_pgscan_anon), 0);
	fixture_done(&f);
}

/* ---- Decisions for one folio ---- */

static void test_page_seen_young_is_spared_once_and_activated_the_second_time(void **state)
{
	struct fixture f = { 0 };
	struct anon a;
	fl_pfn pfn;

	(void)state;
	reclaim_boot(&f, BASE_73, 64, 4096);
	a = touch_anon(&f, 32);
	pfn = anon_page(&f, &a, 0);
	assert_int_equal(lru_of(&f, pfn), FL_LRU_INACTIVE_ANON);
	assert_int_equal(slice(&f, FL_LRU_INACTIVE_ANON, 32), 0);
	assert_int_equal(lru_of(&f, pfn), FL_LRU_INACTIVE_ANON);
	assert_true(f.mem->frames.state[pfn] & FL_REFERENCED);
	fl_touch_range(f.mem, &f.who, a.mm, a.start, 1, 1, true);
	assert_int_equal(slice(&f, FL_LRU_INACTIVE_ANON, 32), 31);
	assert_int_equal(anon_page(&f, &a, 0), pfn);
	assert_int_equal(lru_of(&f, pfn), FL_LRU_ACTIVE_ANON);
	assert_int_equal(counter(&f, FL_VM_pgactivate), 1);
	fixture_done(&f);
}

static void test_used_file_page_is_reclaimed_unless_it_was_used_twice(void **state)
{
	struct fixture f = { 0 };
	fl_mapping_id id;

	(void)state;
	reclaim_boot(&f, BASE_73, 64, 0);
	id = read_file(&f, 32); /* each page used once: referenced, not active */
	assert_int_equal(slice(&f, FL_LRU_INACTIVE_FILE, 32), 32);
	fl_file_read(f.mem, &f.who, id, 0, 32);
	fl_file_read(f.mem, &f.who, id, 0, 32);
	fl_lru_add_drain_all(f.mem, &f.who);
	assert_int_equal(f.mem->lru->size[FL_LRU_ACTIVE_FILE], 32);
	/* Ageing makes them inactive and marks them as of the working set. */
	slice(&f, FL_LRU_ACTIVE_FILE, 32);
	assert_int_equal(f.mem->lru->size[FL_LRU_INACTIVE_FILE], 32);
	assert_int_equal(counter(&f, FL_VM_pgdeactivate), 32);
	assert_true(f.mem->frames.state[fl_filemap_lookup(f.mem, id, 0)] & FL_WORKINGSET);
	fixture_done(&f);
}

static void test_old_anonymous_page_is_swapped_out_and_read_back(void **state)
{
	struct fixture f = { 0 };
	struct anon a;

	(void)state;
	reclaim_boot(&f, BASE_73, 64, 4096);
	a = touch_anon(&f, 256);
	make_old(&f, &a);
	assert_true(fl_reclaim_pages(f.mem, &f.who, 256, true) >= 256);
	assert_int_equal(counter(&f, FL_VM_pswpout), 256);
	assert_int_equal(counter(&f, FL_VM_pgsteal_anon), 256);
	assert_int_equal(anon_page(&f, &a, 0), FL_PFN_NONE);
	assert_int_equal(fl_swap_free_slots(f.mem), 4096 - 256);
	fl_mem_check(f.mem);
	fl_touch_range(f.mem, &f.who, a.mm, a.start, 256, 1, true);
	assert_int_equal(counter(&f, FL_VM_pswpin), 256);
	assert_true(counter(&f, FL_VM_swap_ra_hit) > 0);
	/* Written to: the copy in swap is worth nothing. */
	assert_int_equal(fl_swap_free_slots(f.mem), 4096);
	fixture_done(&f);
}

static void test_page_in_the_swap_cache_that_was_only_read_goes_without_a_write(void **state)
{
	struct fixture f = { 0 };
	struct anon a;

	(void)state;
	reclaim_boot(&f, BASE_73, 64, 4096);
	a = touch_anon(&f, 64);
	make_old(&f, &a);
	fl_reclaim_pages(f.mem, &f.who, 64, true);
	fl_touch_range(f.mem, &f.who, a.mm, a.start, 64, 1, false);
	assert_int_equal(fl_swap_free_slots(f.mem), 4096 - 64);
	make_old(&f, &a);
	fl_lru_add_drain_all(f.mem, &f.who);
	fl_reclaim_pages(f.mem, &f.who, 64, true);
	assert_int_equal(anon_page(&f, &a, 0), FL_PFN_NONE);
	assert_int_equal(counter(&f, FL_VM_pswpout), 64);
	fixture_done(&f);
}

static void test_lazyfree_pages_are_freed_without_swap(void **state)
{
	struct fixture f = { 0 };
	struct anon a;

	(void)state;
	reclaim_boot(&f, BASE_73, 64, 0);
	a = touch_anon(&f, 128);
	assert_int_equal(fl_madvise(f.mem, &f.who, a.mm, a.start, 128, FL_MADV_FREE), 0);
	fl_lru_add_drain_all(f.mem, &f.who);
	assert_int_equal(counter(&f, FL_VM_pglazyfree), 128);
	/* One was written to since: it is ordinary memory again. */
	fl_touch_range(f.mem, &f.who, a.mm, a.start, 1, 1, true);
	f.mem->frames.state[anon_page(&f, &a, 0)] &= ~(uint32_t)FL_YOUNG;
	fl_reclaim_pages(f.mem, &f.who, 128, true);
	assert_int_equal(counter(&f, FL_VM_pglazyfreed), 127);
	assert_int_not_equal(anon_page(&f, &a, 0), FL_PFN_NONE);
	assert_true(f.mem->frames.state[anon_page(&f, &a, 0)] & FL_SWAPBACKED);
	assert_int_equal(anon_page(&f, &a, 1), FL_PFN_NONE);
	fixture_done(&f);
}

/* One pass of reclaim over a dirty file in the name of kswapd, with the node known to be full of dirty pages. */
static void reclaim_dirty(struct fixture *f, const char *kernel)
{
	fl_mapping_id id;

	reclaim_boot(f, kernel, 64, 0);
	id = fl_file_create(f->mem, FL_MAPPING_REGULAR, NULL, 0);
	fl_file_write(f->mem, &f->who, id, 0, 64);
	fl_lru_add_drain_all(f->mem, &f->who);
	forget_references(f, id);
	f->who.flags |= FL_PF_KSWAPD | FL_PF_KTHREAD | FL_PF_MEMALLOC;
	f->who.actor = FL_ACTOR_KSWAPD;
}

static void test_dirty_file_page_is_written_by_kswapd_on_6_12_only_at_the_second_look(void **state)
{
	struct fixture f = { 0 };

	(void)state;
	reclaim_dirty(&f, BASE_612);
	f.mem->vmscan->node_dirty = true;
	assert_int_equal(slice(&f, FL_LRU_INACTIVE_FILE, 64), 0);
	assert_int_equal(counter(&f, FL_VM_nr_vmscan_immediate_reclaim), 64);
	assert_int_equal(counter(&f, FL_VM_nr_vmscan_write), 0);
	slice(&f, FL_LRU_ACTIVE_FILE, 64);
	assert_int_equal(slice(&f, FL_LRU_INACTIVE_FILE, 64), 64); /* the device takes no time */
	assert_int_equal(counter(&f, FL_VM_nr_vmscan_write), 64);
	assert_int_equal(fl_nr_dirty(f.mem), 0);
	fixture_done(&f);
}

static void test_dirty_file_page_is_never_written_by_reclaim_on_7_3(void **state)
{
	struct fixture f = { 0 };

	(void)state;
	reclaim_dirty(&f, BASE_73);
	f.mem->vmscan->node_dirty = true;
	for (unsigned int i = 0; i < 4; i++) {
		assert_int_equal(slice(&f, FL_LRU_INACTIVE_FILE, 64), 0);
		slice(&f, FL_LRU_ACTIVE_FILE, 64);
	}
	assert_int_equal(counter(&f, FL_VM_nr_vmscan_write), 0);
	assert_int_equal(fl_nr_dirty(f.mem), 64);
	fixture_done(&f);
}

static void test_decision_about_dirty_file_pages(void **state)
{
	struct fixture f = { 0 };
	struct fl_dirty_file_facts facts = { .is_kswapd = true, .reclaim_flag = true, .node_dirty = true };

	(void)state;
	reclaim_boot(&f, BASE_612, 64, 0);
	assert_true(f.mem->decide.reclaim_writes_dirty_file(&facts));
	facts.reclaim_flag = false;
	assert_false(f.mem->decide.reclaim_writes_dirty_file(&facts));
	facts = (struct fl_dirty_file_facts){ .reclaim_flag = true, .node_dirty = true };
	assert_false(f.mem->decide.reclaim_writes_dirty_file(&facts));
	fixture_done(&f);
	reclaim_boot(&f, BASE_73, 64, 0);
	facts.is_kswapd = true;
	assert_false(f.mem->decide.reclaim_writes_dirty_file(&facts));
	fixture_done(&f);
}

static void test_dirty_file_page_is_activated_and_rotated_when_it_is_clean(void **state)
{
	struct fixture f = { 0 };

	(void)state;
	reclaim_dirty(&f, BASE_73);
	slice(&f, FL_LRU_INACTIVE_FILE, 64);
	assert_int_equal(f.mem->lru->size[FL_LRU_ACTIVE_FILE], 64);
	assert_int_equal(counter(&f, FL_VM_pgsteal_kswapd), 0);
	fl_file_fsync(f.mem, &f.who, 0); /* completes at once: rotated to the inactive tail */
	fl_lru_add_drain_all(f.mem, &f.who);
	assert_int_equal(counter(&f, FL_VM_pgrotated), 64);
	assert_int_equal(f.mem->lru->size[FL_LRU_INACTIVE_FILE], 64);
	assert_int_equal(slice(&f, FL_LRU_INACTIVE_FILE, 64), 64);
	assert_int_equal(counter(&f, FL_VM_pgsteal_kswapd), 64);
	fixture_done(&f);
}

static void test_mlocked_page_stays(void **state)
{
	struct fixture f = { 0 };
	struct anon a;

	(void)state;
	reclaim_boot(&f, BASE_73, 64, 4096);
	a = touch_anon(&f, 64);
	assert_int_equal(fl_mlock(f.mem, &f.who, a.mm, a.start, 64), 0);
	make_old(&f, &a);
	fl_reclaim_pages(f.mem, &f.who, 64, true);
	for (uint32_t i = 0; i < 64; i++)
		assert_int_not_equal(anon_page(&f, &a, i), FL_PFN_NONE);
	fixture_done(&f);
}

/* ---- Working set ---- */

static void test_refault_within_the_active_list_activates(void **state)
{
	struct fixture f = { 0 };
	fl_mapping_id hot, cold;
	fl_pfn pfn;

	(void)state;
	reclaim_boot(&f, BASE_73, 64, 0);
	hot = read_file(&f, 100);
	fl_file_read(f.mem, &f.who, hot, 0, 100);
	fl_file_read(f.mem, &f.who, hot, 0, 100); /* on the active list */
	fl_lru_add_drain_all(f.mem, &f.who);
	assert_int_equal(f.mem->lru->size[FL_LRU_ACTIVE_FILE], 100);
	cold = read_file(&f, 50);
	forget_references(&f, cold);
	fl_reclaim_pages(f.mem, &f.who, 50, false);
	assert_int_equal(fl_file_cached(f.mem, cold), 0);
	fl_file_read(f.mem, &f.who, cold, 0, 1);
	fl_lru_add_drain_all(f.mem, &f.who);
	assert_true(counter(&f, FL_VM_workingset_refault_file) > 0);
	assert_true(counter(&f, FL_VM_workingset_activate_file) > 0);
	pfn = fl_filemap_lookup(f.mem, cold, 0);
	assert_int_equal(lru_of(&f, pfn), FL_LRU_ACTIVE_FILE);
	fixture_done(&f);
}

static void test_refault_distance_boundary(void **state)
{
	struct fixture f = { 0 };
	fl_mapping_id hot;
	fl_shadow shadow;
	bool workingset;
	fl_pfn pfn;

	(void)state;
	reclaim_boot(&f, BASE_73, 64, 0);
	hot = read_file(&f, 100);
	fl_file_read(f.mem, &f.who, hot, 0, 100);
	fl_lru_add_drain_all(f.mem, &f.who);
	assert_int_equal(f.mem->lru->size[FL_LRU_ACTIVE_FILE], 100);
	pfn = fl_filemap_lookup(f.mem, hot, 0);
	shadow = fl_workingset_eviction(f.mem, pfn); /* ages by one page */
	fl_workingset_age(f.mem, 99);
	assert_true(fl_workingset_is_recent(f.mem, true, shadow, &workingset));
	fl_workingset_age(f.mem, 1);
	assert_false(fl_workingset_is_recent(f.mem, true, shadow, &workingset));
	fixture_done(&f);
}

/* Active and inactive file pages of these numbers. */
static void boot_file_lists(struct fixture *f, uint32_t active, uint32_t inactive)
{
	fl_mapping_id id;

	reclaim_boot(f, BASE_73, 64, 0);
	id = read_file(f, active);
	fl_file_read(f->mem, &f->who, id, 0, active);
	fl_lru_add_drain_all(f->mem, &f->who);
	forget_references(f, read_file(f, inactive));
	assert_int_equal(f->mem->lru->size[FL_LRU_ACTIVE_FILE], active);
	assert_int_equal(f->mem->lru->size[FL_LRU_INACTIVE_FILE], inactive);
}

static void test_active_pages_are_left_alone_while_enough_are_inactive_and_none_came_back(void **state)
{
	struct fixture f = { 0 };

	(void)state;
	boot_file_lists(&f, 8000, 16000);
	fl_reclaim_pages(f.mem, &f.who, 1000, false);
	assert_int_equal(counter(&f, FL_VM_pgdeactivate), 0);
	/* A page that came back to the active list says that the lists are wrong. */
	f.mem->vm[FL_VM_workingset_activate_file]++;
	fl_reclaim_pages(f.mem, &f.who, 1000, false);
	assert_true(counter(&f, FL_VM_pgdeactivate) > 0);
	fixture_done(&f);
	boot_file_lists(&f, 8000, 7000);
	fl_reclaim_pages(f.mem, &f.who, 1000, false);
	assert_true(counter(&f, FL_VM_pgdeactivate) > 0);
	fixture_done(&f);
}

/* ---- kswapd ---- */

static void be_kswapd(struct fixture *f)
{
	f->who.flags = FL_PF_KSWAPD | FL_PF_KTHREAD | FL_PF_MEMALLOC;
	f->who.actor = FL_ACTOR_KSWAPD;
}

static void test_one_good_zone_balances_the_node(void **state)
{
	struct fixture f = { 0 };
	struct fl_zone *dma32, *normal;
	long save;

	(void)state;
	fixture_geometry(&f, 32, 32, 1);
	fixture_boot(&f, BASE_73);
	dma32 = &f.mem->zone[FL_ZONE_DMA32];
	normal = &f.mem->zone[FL_ZONE_NORMAL];
	save = normal->nr_free_pages;
	normal->nr_free_pages = 0;
	assert_true(fl_pgdat_balanced(f.mem, 0, FL_ZONE_NORMAL));
	normal->nr_free_pages = save;
	save = dma32->nr_free_pages;
	dma32->nr_free_pages = 0;
	assert_true(fl_pgdat_balanced(f.mem, 0, FL_ZONE_NORMAL));
	assert_false(fl_pgdat_balanced(f.mem, 0, FL_ZONE_DMA32));
	dma32->nr_free_pages = save;
	fixture_done(&f);
}

static void test_balance_needs_more_than_the_high_mark_with_boost(void **state)
{
	struct fixture f = { 0 };
	struct fl_zone *zone;
	long save;

	(void)state;
	reclaim_boot(&f, BASE_73, 64, 0);
	zone = fixture_zone(&f);
	save = zone->nr_free_pages;
	zone->nr_free_pages = (long)fl_wmark_pages(zone, FL_WMARK_HIGH);
	assert_false(fl_pgdat_balanced(f.mem, 0, FL_ZONE_NORMAL));
	zone->nr_free_pages++;
	assert_true(fl_pgdat_balanced(f.mem, 0, FL_ZONE_NORMAL));
	zone->watermark_boost = 1;
	assert_false(fl_pgdat_balanced(f.mem, 0, FL_ZONE_NORMAL));
	zone->watermark_boost = 0;
	zone->nr_free_pages = save;
	fixture_done(&f);
}

/* Reclaims for order 9 where no two neighbours can be freed; returns what was stolen until the order was dropped. */
static uint64_t stolen_for_order_9(const char *kernel)
{
	struct fixture f = { 0 };
	fl_mapping_id id;
	uint64_t stolen;

	reclaim_boot(&f, kernel, 64, 0);
	id = fl_file_create(f.mem, FL_MAPPING_REGULAR, NULL, 0);
	for (uint32_t i = 0; fixture_zone(&f)->nr_free_pages > 4000; i++) {
		assert_int_equal(fl_file_write(f.mem, &f.who, id, i, 1), 1);
		assert_int_not_equal(fl_page_alloc(f.mem, &f.who, GFP_MOVABLE_NOW, 0, FL_KIND_KERNEL), FL_PFN_NONE);
	}
	fl_file_fsync(f.mem, &f.who, id);
	fl_lru_add_drain_all(f.mem, &f.who);
	forget_references(&f, id);
	fl_pcp_drain_all(f.mem, &f.who, NULL);
	be_kswapd(&f);
	assert_true(fl_pgdat_balanced(f.mem, 0, FL_ZONE_NORMAL));
	while (fixture_zone(&f)->nr_free[9] + fixture_zone(&f)->nr_free[10])
		assert_int_not_equal(take_buddy(&f, 9, FL_MOVABLE, 0), FL_PFN_NONE);
	assert_int_equal(fl_balance_pgdat(f.mem, &f.who, 9, FL_ZONE_NORMAL), 0);
	stolen = counter(&f, FL_VM_pgsteal_kswapd);
	fl_mem_free(f.mem);
	return stolen;
}

static void test_kswapd_drops_its_order_after_1024_pages_on_6_12_and_32_on_7_3(void **state)
{
	(void)state;
	assert_in_range(stolen_for_order_9(BASE_612), 1024, 4096);
	assert_in_range(stolen_for_order_9(BASE_73), 32, 255);
}

static void test_a_boosted_run_works_off_the_boost_that_it_began_with(void **state)
{
	struct fixture f = { 0 };
	struct fl_zone *zone;

	(void)state;
	reclaim_boot(&f, BASE_73, 64, 4096);
	forget_references(&f, read_file(&f, 16384));
	zone = fixture_zone(&f);
	zone->watermark_boost = 512;
	be_kswapd(&f);
	fl_balance_pgdat(f.mem, &f.who, 0, FL_ZONE_NORMAL);
	assert_int_equal(zone->watermark_boost, 0);
	assert_true(counter(&f, FL_VM_pgsteal_file) >= 512);
	assert_int_equal(counter(&f, FL_VM_pageoutrun), 1);
	fixture_done(&f);
}

static void test_a_boosted_run_neither_swaps_nor_writes(void **state)
{
	struct fixture f = { 0 };
	struct anon a;

	(void)state;
	reclaim_boot(&f, BASE_73, 64, 4096);
	a = touch_anon(&f, 20000); /* enough for the first round to have scanned some */
	make_old(&f, &a);
	fixture_zone(&f)->watermark_boost = 512;
	be_kswapd(&f);
	fl_balance_pgdat(f.mem, &f.who, 0, FL_ZONE_NORMAL);
	assert_int_equal(counter(&f, FL_VM_pswpout), 0);
	assert_int_equal(fixture_zone(&f)->watermark_boost, 0);
	fixture_done(&f);
}

static void run_in_vain(struct fixture *f, const char *kernel, bool boosted)
{
	reclaim_boot(f, kernel, 64, 0);
	touch_anon(f, 1000); /* no swap: nothing can be reclaimed */
	be_kswapd(f);
	for (unsigned int i = 0; i < FL_MAX_RECLAIM_FAILURES; i++) {
		struct fl_zone *zone = fixture_zone(f);
		long save = zone->nr_free_pages;

		assert_false(fl_kswapd_is_hopeless(f->mem));
		if (boosted)
			zone->watermark_boost = 512;
		else
			zone->nr_free_pages = 0;
		fl_balance_pgdat(f->mem, &f->who, 0, FL_ZONE_NORMAL);
		if (!boosted)
			zone->nr_free_pages = save;
	}
}

static void test_a_node_is_hopeless_after_16_runs_in_vain(void **state)
{
	struct fixture f = { 0 };

	(void)state;
	run_in_vain(&f, BASE_612, false);
	assert_true(fl_kswapd_is_hopeless(f.mem));
	fixture_done(&f);
	run_in_vain(&f, BASE_73, false);
	assert_true(fl_kswapd_is_hopeless(f.mem));
	fixture_done(&f);
}

static void test_boosted_runs_in_vain_count_as_failures_on_6_12_only(void **state)
{
	struct fixture f = { 0 };

	(void)state;
	run_in_vain(&f, BASE_612, true);
	assert_true(fl_kswapd_is_hopeless(f.mem));
	fixture_done(&f);
	run_in_vain(&f, BASE_73, true);
	assert_false(fl_kswapd_is_hopeless(f.mem));
	fixture_done(&f);
}

static void test_progress_ends_hopelessness_on_6_12_at_once_on_7_3_when_balanced(void **state)
{
	struct fixture f = { 0 };
	struct fl_progress_facts facts = { .failures = 16, .balanced = false };

	(void)state;
	reclaim_boot(&f, BASE_612, 64, 0);
	assert_true(f.mem->decide.progress_clears_failures(&facts));
	fixture_done(&f);
	reclaim_boot(&f, BASE_73, 64, 0);
	assert_false(f.mem->decide.progress_clears_failures(&facts));
	facts.balanced = true;
	assert_true(f.mem->decide.progress_clears_failures(&facts));
	fixture_done(&f);
}

static void test_zone_reclaimable_pages_without_lru_pages(void **state)
{
	struct fixture f = { 0 };

	(void)state;
	reclaim_boot(&f, BASE_612, 64, 0);
	assert_int_equal(fl_zone_reclaimable_pages(f.mem, fixture_zone(&f)), fixture_zone(&f)->nr_free_pages);
	fixture_done(&f);
	reclaim_boot(&f, BASE_73, 64, 0);
	assert_int_equal(fl_zone_reclaimable_pages(f.mem, fixture_zone(&f)), 0);
	fixture_done(&f);
}

static void test_anonymous_pages_are_reclaimable_only_with_swap(void **state)
{
	struct fixture f = { 0 };

	(void)state;
	reclaim_boot(&f, BASE_73, 64, 100);
	touch_anon(&f, 1000);
	assert_int_equal(fl_zone_reclaimable_pages(f.mem, fixture_zone(&f)), 1000);
	fixture_done(&f);
}

/* ---- Throttling ---- */

static void test_too_many_isolated_is_an_eighth_for_those_who_can_wait_for_io(void **state)
{
	struct fixture f = { 0 };

	(void)state;
	reclaim_boot(&f, BASE_73, 64, 0);
	read_file(&f, 800);
	f.mem->lru->isolated[1] = 100;
	assert_false(fl_too_many_isolated(f.mem, &f.who, FL_GFP_KERNEL, true));
	f.mem->lru->isolated[1] = 101;
	assert_true(fl_too_many_isolated(f.mem, &f.who, FL_GFP_KERNEL, true));
	assert_false(fl_too_many_isolated(f.mem, &f.who, FL_GFP_NOFS, true));
	be_kswapd(&f);
	assert_false(fl_too_many_isolated(f.mem, &f.who, FL_GFP_KERNEL, true));
	f.mem->lru->isolated[1] = 0;
	fixture_done(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_without_swap_only_file_pages_are_scanned),
		cmocka_unit_test(test_order_of_the_balance_rules),
		cmocka_unit_test(test_fractions_follow_swappiness_and_cost),
		cmocka_unit_test(test_inactive_ratio_is_1_below_1_gib_and_3_from_there),
		cmocka_unit_test(test_shrinker_scans_four_over_seeks_of_what_the_priority_gives),
		cmocka_unit_test(test_direct_reclaim_aims_at_32_pages),
		cmocka_unit_test(test_a_huge_page_fault_does_not_reclaim_where_compaction_is_ready),
		cmocka_unit_test(test_allocstall_goes_by_the_ceiling_of_the_request),
		cmocka_unit_test(test_folios_of_too_high_zones_are_skipped_and_counted),
		cmocka_unit_test(test_nothing_to_reclaim_is_no_progress),
		cmocka_unit_test(test_page_seen_young_is_spared_once_and_activated_the_second_time),
		cmocka_unit_test(test_used_file_page_is_reclaimed_unless_it_was_used_twice),
		cmocka_unit_test(test_old_anonymous_page_is_swapped_out_and_read_back),
		cmocka_unit_test(test_page_in_the_swap_cache_that_was_only_read_goes_without_a_write),
		cmocka_unit_test(test_lazyfree_pages_are_freed_without_swap),
		cmocka_unit_test(test_dirty_file_page_is_written_by_kswapd_on_6_12_only_at_the_second_look),
		cmocka_unit_test(test_dirty_file_page_is_never_written_by_reclaim_on_7_3),
		cmocka_unit_test(test_decision_about_dirty_file_pages),
		cmocka_unit_test(test_dirty_file_page_is_activated_and_rotated_when_it_is_clean),
		cmocka_unit_test(test_mlocked_page_stays),
		cmocka_unit_test(test_refault_within_the_active_list_activates),
		cmocka_unit_test(test_refault_distance_boundary),
		cmocka_unit_test(test_active_pages_are_left_alone_while_enough_are_inactive_and_none_came_back),
		cmocka_unit_test(test_one_good_zone_balances_the_node),
		cmocka_unit_test(test_balance_needs_more_than_the_high_mark_with_boost),
		cmocka_unit_test(test_kswapd_drops_its_order_after_1024_pages_on_6_12_and_32_on_7_3),
		cmocka_unit_test(test_a_boosted_run_works_off_the_boost_that_it_began_with),
		cmocka_unit_test(test_a_boosted_run_neither_swaps_nor_writes),
		cmocka_unit_test(test_a_node_is_hopeless_after_16_runs_in_vain),
		cmocka_unit_test(test_boosted_runs_in_vain_count_as_failures_on_6_12_only),
		cmocka_unit_test(test_progress_ends_hopelessness_on_6_12_at_once_on_7_3_when_balanced),
		cmocka_unit_test(test_zone_reclaimable_pages_without_lru_pages),
		cmocka_unit_test(test_anonymous_pages_are_reclaimable_only_with_swap),
		cmocka_unit_test(test_too_many_isolated_is_an_eighth_for_those_who_can_wait_for_io),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
