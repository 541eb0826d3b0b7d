/* tests/mm/swapfile_test.c - slots, the swap cache, huge pages in swap, readahead (without time). */
#include "mm/slab.h"
#include "mm/swap_internal.h"
#include "reclaim_fixture.h"

static uint32_t slot_of(const struct fixture *f, const struct anon *a, uint32_t i)
{
	fl_pte pte = fl_pte_look(f->mem, a->mm, a->start + i);

	return fl_pte_is_swap(pte) ? pte & FL_PTE_SLOT_MASK : FL_SWP_NONE;
}

static void swap_out_all(struct fixture *f, const struct anon *a)
{
	make_old(f, a);
	fl_reclaim_pages(f->mem, &f->who, 2 * a->pages, true);
}

static void test_slots_of_pages_swapped_in_turn_are_neighbours(void **state)
{
	struct fixture f = { 0 };
	struct anon a;

	(void)state;
	reclaim_boot(&f, BASE_73, 64, 4096);
	a = touch_anon(&f, 600);
	swap_out_all(&f, &a);
	for (uint32_t i = 0; i < 600; i++)
		assert_int_not_equal(slot_of(&f, &a, i), FL_SWP_NONE);
	assert_int_equal(slot_of(&f, &a, 1), slot_of(&f, &a, 0) + 1);
	assert_int_equal(slot_of(&f, &a, 599) / 512, 1); /* the second cluster */
	assert_int_equal(fl_swap_free_slots(f.mem), 4096 - 600);
	fl_mm_exit(f.mem, &f.who, a.mm);
	assert_int_equal(fl_swap_free_slots(f.mem), 4096);
	fixture_done(&f);
}

/* add_to_swap_cache(): an xarray has leaves of 64 slots; they stay while there are shadows in them. */
static void test_swap_cache_of_612_takes_a_slab_object_for_64_slots(void **state)
{
	static const char *const kernels[] = { BASE_612, BASE_73 };
	struct fixture f = { 0 };

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct anon a;

		reclaim_boot(&f, kernels[i], 64, 4096);
		a = touch_anon(&f, 600);
		swap_out_all(&f, &a);
		assert_int_equal(fl_swap_free_slots(f.mem), 4096 - 600);
		assert_int_equal(fl_slab_stat(f.mem, FL_SLAB_radix_tree_node).active_objects, i == 0 ? 10 : 0);
		fl_mm_exit(f.mem, &f.who, a.mm);
		assert_int_equal(fl_slab_stat(f.mem, FL_SLAB_radix_tree_node).active_objects, 0);
		fixture_done(&f);
	}
}

static void test_swap_never_holds_more_than_it_has_slots(void **state)
{
	struct fixture f = { 0 };
	struct anon a;

	(void)state;
	reclaim_boot(&f, BASE_73, 64, 100);
	a = touch_anon(&f, 1000);
	swap_out_all(&f, &a);
	assert_int_equal(fl_swap_free_slots(f.mem), 0);
	assert_int_equal(counter(&f, FL_VM_pswpout), 100);
	assert_int_equal(a.mm->anon_pages, 900);
	assert_int_equal(a.mm->swap_entries, 100);
	/* Full: what cannot be swapped is not even scanned any more. */
	assert_int_equal(slice(&f, FL_LRU_INACTIVE_ANON, 32), 0);
	fixture_done(&f);
}

static void test_swap_is_full_when_less_than_half_is_free(void **state)
{
	struct fixture f = { 0 };
	struct anon a;

	(void)state;
	reclaim_boot(&f, BASE_73, 64, 200);
	a = touch_anon(&f, 100);
	swap_out_all(&f, &a);
	assert_int_equal(fl_swap_free_slots(f.mem), 100);
	assert_false(fl_swap_is_full(f.mem));
	a = touch_anon(&f, 1);
	swap_out_all(&f, &a);
	assert_true(fl_swap_is_full(f.mem));
	fixture_done(&f);
}

/* ---- Huge pages ---- */

static struct anon huge_anon(struct fixture *f, uint32_t pages)
{
	struct anon a = { .mm = fl_mm_new(f->mem, &f->who), .pages = pages };

	a.start = fl_mmap(f->mem, &f->who, a.mm,
			  &(struct fl_map_request){ .pages = pages, .type = FL_VMA_ANON, .flags = FL_VM_HUGEPAGE });
	assert_int_equal(fl_touch_range(f->mem, &f->who, a.mm, a.start, pages, 1, true).end, FL_FAULT_DONE);
	fl_lru_add_drain_all(f->mem, &f->who);
	return a;
}

static void boot_huge(struct fixture *f, uint32_t swap_pages)
{
	fixture_geometry(f, 0, 64, 1);
	f->settings.thp_enabled = FL_THP_MADVISE;
	fixture_boot(f, BASE_73);
	fl_swapon(f->mem, NULL, swap_pages, false);
}

static void test_huge_page_is_swapped_whole_to_an_aligned_run(void **state)
{
	struct fixture f = { 0 };
	struct anon a;

	(void)state;
	boot_huge(&f, 4096);
	a = huge_anon(&f, 512);
	assert_int_equal(counter(&f, FL_VM_thp_fault_alloc), 1);
	make_old(&f, &a);
	assert_int_equal(slice(&f, FL_LRU_INACTIVE_ANON, 32), 512);
	assert_int_equal(counter(&f, FL_VM_thp_swpout), 1);
	assert_int_equal(f.mem->mthp[9][FL_MTHP_swpout], 1);
	assert_int_equal(counter(&f, FL_VM_thp_split_page), 0);
	assert_int_equal(slot_of(&f, &a, 0) % 512, 0);
	for (uint32_t i = 0; i < 512; i++)
		assert_int_equal(slot_of(&f, &a, i), slot_of(&f, &a, 0) + i);
	/* It comes back page by page. */
	fl_touch_range(f.mem, &f.who, a.mm, a.start, 512, 1, true);
	assert_int_equal(counter(&f, FL_VM_pswpin), 512);
	assert_int_equal(fl_swap_free_slots(f.mem), 4096);
	fixture_done(&f);
}

static void test_huge_page_is_split_when_swap_has_no_aligned_run(void **state)
{
	struct fixture f = { 0 };
	struct anon small, a;

	(void)state;
	boot_huge(&f, 1024); /* two clusters; both get a page */
	small = touch_anon(&f, 600);
	swap_out_all(&f, &small);
	assert_int_equal(fl_swap_free_slots(f.mem), 424);
	a = huge_anon(&f, 512);
	make_old(&f, &a);
	slice(&f, FL_LRU_INACTIVE_ANON, 32);
	assert_int_equal(counter(&f, FL_VM_thp_swpout), 0);
	assert_int_equal(counter(&f, FL_VM_thp_swpout_fallback), 1);
	assert_int_equal(f.mem->mthp[9][FL_MTHP_swpout_fallback], 1);
	assert_int_equal(counter(&f, FL_VM_thp_split_page), 1);
	assert_int_equal(fl_swap_free_slots(f.mem), 0);
	fixture_done(&f);
}

/* ---- Readahead ---- */

static void test_window_of_swap_readahead(void **state)
{
	(void)state;
	assert_int_equal(fl_swapin_window(0, false, 0, 8), 1);
	assert_int_equal(fl_swapin_window(0, true, 0, 8), 2);
	assert_int_equal(fl_swapin_window(1, false, 0, 8), 4);
	assert_int_equal(fl_swapin_window(3, false, 0, 8), 8);
	assert_int_equal(fl_swapin_window(30, false, 0, 8), 8);
	assert_int_equal(fl_swapin_window(0, false, 8, 8), 4); /* shrinks by halves */
}

static void test_page_cluster_0_reads_one_page_a_fault(void **state)
{
	struct fixture f = { 0 };
	struct anon a;

	(void)state;
	reclaim_boot(&f, BASE_73, 64, 4096);
	f.mem->set.page_cluster = 0;
	a = touch_anon(&f, 64);
	swap_out_all(&f, &a);
	fl_touch_range(f.mem, &f.who, a.mm, a.start, 64, 1, false);
	assert_int_equal(counter(&f, FL_VM_swap_ra), 0);
	assert_int_equal(counter(&f, FL_VM_pswpin), 64);
	assert_int_equal(counter(&f, FL_VM_pgmajfault), 64);
	fixture_done(&f);
}

static void test_sequential_faults_are_mostly_minor(void **state)
{
	struct fixture f = { 0 };
	struct anon a;

	(void)state;
	reclaim_boot(&f, BASE_73, 64, 4096);
	a = touch_anon(&f, 512);
	swap_out_all(&f, &a);
	fl_touch_range(f.mem, &f.who, a.mm, a.start, 512, 1, false);
	assert_int_equal(counter(&f, FL_VM_pswpin), 512);
	assert_in_range(counter(&f, FL_VM_pgmajfault), 64, 80); /* windows of 8 once they have grown */
	fixture_done(&f);
}

static void test_random_faults_make_the_window_shrink(void **state)
{
	static const uint32_t far[] = { 1000, 1400, 1800, 700, 1200 };
	struct fixture f = { 0 };
	struct anon a;
	uint64_t before;

	(void)state;
	reclaim_boot(&f, BASE_73, 64, 4096);
	a = touch_anon(&f, 2048);
	swap_out_all(&f, &a);
	fl_touch_range(f.mem, &f.who, a.mm, a.start, 512, 1, false);
	before = counter(&f, FL_VM_pswpin);
	for (unsigned int i = 0; i < 5; i++)
		fl_touch_range(f.mem, &f.who, a.mm, a.start + far[i], 1, 1, false);
	assert_in_range(counter(&f, FL_VM_pswpin) - before, 5, 8 + 4 + 2 + 1 + 1);
	fixture_done(&f);
}

/* ---- Working set ---- */

static void test_swapped_page_that_comes_back_at_once_starts_active(void **state)
{
	struct fixture f = { 0 };
	struct anon a;

	(void)state;
	reclaim_boot(&f, BASE_73, 64, 4096);
	read_file(&f, 1000); /* something for the distance to be compared with */
	a = touch_anon(&f, 64);
	make_old(&f, &a);
	assert_int_equal(slice(&f, FL_LRU_INACTIVE_ANON, 64), 64);
	f.mem->set.page_cluster = 0;
	assert_int_equal(counter(&f, FL_VM_pswpout), 64);
	fl_touch_range(f.mem, &f.who, a.mm, a.start, 1, 1, true);
	fl_lru_add_drain_all(f.mem, &f.who);
	assert_int_equal(counter(&f, FL_VM_workingset_refault_anon), 1);
	assert_int_equal(counter(&f, FL_VM_workingset_activate_anon), 1);
	assert_int_equal(lru_of(&f, anon_page(&f, &a, 0)), FL_LRU_ACTIVE_ANON);
	fixture_done(&f);
}

/* ---- Shared memory ---- */

static void test_shared_memory_goes_to_swap_and_back(void **state)
{
	struct fixture f = { 0 };
	fl_mapping_id id;

	(void)state;
	reclaim_boot(&f, BASE_73, 64, 4096);
	id = fl_file_create(f.mem, FL_MAPPING_SHMEM, NULL, 0);
	assert_int_equal(fl_file_write(f.mem, &f.who, id, 0, 64), 64);
	fl_lru_add_drain_all(f.mem, &f.who);
	assert_int_equal(f.mem->lru->size[FL_LRU_INACTIVE_ANON], 64);
	forget_references(&f, id);
	assert_int_equal(slice(&f, FL_LRU_INACTIVE_ANON, 64), 64);
	assert_int_equal(counter(&f, FL_VM_pswpout), 64);
	assert_int_equal(fl_file_cached(f.mem, id), 0);
	assert_int_equal(fl_file_read(f.mem, &f.who, id, 0, 64), 64);
	assert_int_equal(counter(&f, FL_VM_pswpin), 64);
	assert_int_equal(fl_file_cached(f.mem, id), 64);
	assert_int_equal(fl_swap_free_slots(f.mem), 4096);
	fl_mem_check(f.mem);
	forget_references(&f, id);
	fl_lru_add_drain_all(f.mem, &f.who);
	slice(&f, FL_LRU_INACTIVE_ANON, 64);
	fl_file_delete(f.mem, &f.who, id);
	fl_drop_caches(f.mem, &f.who, 1);
	assert_int_equal(fl_swap_free_slots(f.mem), 4096);
	fixture_done(&f);
}

/* ---- A rotating disk in 6.12: scan_swap_map_slots() and the caches of slots ---- */

static void rotating_boot(struct fixture *f, const char *kernel, uint32_t swap_pages)
{
	reclaim_boot(f, kernel, 64, swap_pages);
	fl_swap_set_rotational(f->mem);
}

static void test_each_cpu_takes_64_slots_of_a_rotating_disk_at_a_time(void **state)
{
	struct fl_caller other;
	struct fixture f = { 0 };

	(void)state;
	rotating_boot(&f, "6.12", 4096);
	other = (struct fl_caller){ .task = &f.task[1] };
	assert_int_equal(fl_swap_scan_slot(f.mem, &f.who), 0);
	assert_int_equal(fl_swap_free_slots(f.mem), 4096 - 63); /* reserved but for the one that was handed out */
	for (fl_swp slot = 1; slot < 64; slot++)
		assert_int_equal(fl_swap_scan_slot(f.mem, &other), slot);
	assert_int_equal(fl_swap_free_slots(f.mem), 4096);
	assert_int_equal(fl_swap_scan_slot(f.mem, &f.who), 64);
	fixture_done(&f);
}

/* Less than two batches for each CPU: no cache, so nothing is reserved. */
static void test_few_free_slots_are_not_cached(void **state)
{
	struct fixture f = { 0 };

	(void)state;
	rotating_boot(&f, "6.12", 127);
	assert_int_equal(fl_swap_scan_slot(f.mem, &f.who), 0);
	assert_int_equal(fl_swap_free_slots(f.mem), 127);
	fixture_done(&f);
}

static void test_a_rotating_disk_takes_no_huge_page_whole_in_612(void **state)
{
	static const char *const kernels[] = { "6.12", "7.3" };

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct fixture f = { 0 };
		fl_pfn pfn;

		rotating_boot(&f, kernels[i], 4096);
		pfn = fl_page_alloc(f.mem, &f.who, FL_GFP_TRANSHUGE_LIGHT, 9, FL_KIND_ANON);
		assert_int_equal(fl_folio_alloc_swap(f.mem, &f.who, pfn), i == 1);
		if (i == 1)
			fl_folio_free_swap(f.mem, &f.who, pfn);
		fl_page_free(f.mem, &f.who, pfn, 9);
		fixture_done(&f);
	}
}

static void test_scan_begins_at_an_empty_run_after_each_512_slots(void **state)
{
	struct fixture f = { 0 };
	struct anon a;

	(void)state;
	rotating_boot(&f, "6.12", 4096);
	a = touch_anon(&f, 1600);
	swap_out_all(&f, &a);
	for (uint32_t i = 0; i < 1600; i++)
		assert_true(slot_of(&f, &a, i) < 1600 + 64);
	/* The first 600 slots become free, of which 512 in a row are where the next cluster begins. */
	fl_madvise(f.mem, &f.who, a.mm, a.start, 600, FL_MADV_DONTNEED);
	for (int i = 0; i < 512; i++)
		if (fl_swap_scan_slot(f.mem, &f.who) == 0)
			return fixture_done(&f);
	fail_msg("the empty run at the start was not found");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slots_of_pages_swapped_in_turn_are_neighbours),
		cmocka_unit_test(test_swap_cache_of_612_takes_a_slab_object_for_64_slots),
		cmocka_unit_test(test_swap_never_holds_more_than_it_has_slots),
		cmocka_unit_test(test_swap_is_full_when_less_than_half_is_free),
		cmocka_unit_test(test_huge_page_is_swapped_whole_to_an_aligned_run),
		cmocka_unit_test(test_huge_page_is_split_when_swap_has_no_aligned_run),
		cmocka_unit_test(test_window_of_swap_readahead),
		cmocka_unit_test(test_page_cluster_0_reads_one_page_a_fault),
		cmocka_unit_test(test_sequential_faults_are_mostly_minor),
		cmocka_unit_test(test_random_faults_make_the_window_shrink),
		cmocka_unit_test(test_swapped_page_that_comes_back_at_once_starts_active),
		cmocka_unit_test(test_shared_memory_goes_to_swap_and_back),
		cmocka_unit_test(test_each_cpu_takes_64_slots_of_a_rotating_disk_at_a_time),
		cmocka_unit_test(test_few_free_slots_are_not_cached),
		cmocka_unit_test(test_a_rotating_disk_takes_no_huge_page_whole_in_612),
		cmocka_unit_test(test_scan_begins_at_an_empty_run_after_each_512_slots),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
