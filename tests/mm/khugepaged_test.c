/*
 * tests/mm/khugepaged_test.c - khugepaged and MADV_COLLAPSE by rule: registration, order, budget, results, collapse, lazyfree
 * (compaction-thp.md 9 and 10; 14: 17 to 20, 25, 26).
 */
#include "fault_fixture.h"

#include <errno.h>

#include "mm/khugepaged.h"
#include "mm/swapfile.h"
#include "mm/sysctl.h"

#define HUGE 512u
static const char *const bases[] = { "6.12", "6.18", "7.3" };
#define FOR_BASES(name) for (unsigned int i_ = 0; i_ < 3 && (name = bases[i_]); i_++)

/* A machine on which faults give base pages (THP by advice) and advice after the touch registers. */
static void begin(const char *kernel, unsigned int blocks)
{
	start(kernel, blocks, FL_THP_MADVISE);
}

static void tune(const char *name, const char *value)
{
	struct fl_error error = { 0 };

	if (fl_tunable_write(f.mem, NULL, name, value, &error))
		fail_msg("%s", error.text);
}

static void advise(struct fl_mm *of, fl_vpn vpn, uint32_t pages, enum fl_madvise advice)
{
	assert_int_equal(fl_madvise(f.mem, &f.who, of, vpn, pages, advice), 0);
}

/* Base pages in whole ranges, of which khugepaged knows. */
static fl_vpn base_pages(uint32_t pages)
{
	fl_vpn vpn = map(pages, 0);

	touch(vpn, pages, true);
	advise(mm, vpn, pages, FL_MADV_HUGEPAGE);
	return vpn;
}

static uint64_t scan(void)
{
	uint64_t progress = fl_khugepaged_do_scan(f.mem, &f.who);

	fl_mem_check(f.mem);
	return progress;
}

static uint64_t huge(fl_vpn vpn, uint32_t pages)
{
	return fl_mm_huge_mapped(f.mem, mm, vpn, pages);
}

static uint64_t result(enum fl_scan_result which)
{
	return f.mem->khugepaged->results[which];
}

static void make_old(fl_vpn vpn, uint32_t pages)
{
	for (uint32_t i = 0; i < pages; i++)
		f.mem->frames.state[page_at(vpn + i)] &= ~(FL_YOUNG | FL_REFERENCED);
}

/* ---- Registration: 9.1 ---- */

static void test_a_pmd_fault_registers_the_address_space(void **state)
{
	fl_vpn vpn;

	(void)state;
	start("6.12", 16, FL_THP_ALWAYS);
	vpn = map(HUGE, 0);
	assert_false(mm->khugepaged);
	touch(vpn, 1, true);
	assert_true(mm->khugepaged);
	end();
}

static void test_advice_registers_only_after_a_first_touch(void **state)
{
	fl_vpn vpn;

	(void)state;
	begin("6.12", 16);
	vpn = map(HUGE, 0);
	advise(mm, vpn, HUGE, FL_MADV_HUGEPAGE);
	assert_false(mm->khugepaged);
	advise(mm, vpn, HUGE, FL_MADV_NOHUGEPAGE);
	touch(vpn, 1, true);
	advise(mm, vpn, HUGE, FL_MADV_HUGEPAGE);
	assert_true(mm->khugepaged);
	end();
}

static void test_an_area_without_a_whole_range_registers_only_where_a_smaller_size_counts(void **state)
{
	const char *kernel;

	(void)state;
	FOR_BASES(kernel) {
		fl_vpn vpn;

		begin(kernel, 16);
		tune("hugepages-16kB.enabled", "madvise");
		vpn = map(64, 0);
		touch(vpn, 1, true);
		advise(mm, vpn, 64, FL_MADV_HUGEPAGE);
		assert_int_equal(mm->khugepaged, kernel == bases[2]);
		end();
	}
}

static void test_with_small_sizes_only_faults_never_register(void **state)
{
	fl_vpn vpn;

	(void)state;
	start("7.3", 16, FL_THP_NEVER);
	tune("hugepages-16kB.enabled", "always");
	vpn = map(HUGE, 0);
	touch(vpn, HUGE, true);
	assert_false(mm->khugepaged);
	vpn = map(HUGE, 0); /* merges: the heap has grown after a first touch */
	assert_true(mm->khugepaged);
	end();
}

static void test_an_address_space_that_exits_leaves_the_list(void **state)
{
	struct fl_mm *first;

	(void)state;
	begin("6.12", 32);
	base_pages(HUGE);
	first = mm;
	mm = fl_mm_new(f.mem, &f.who);
	base_pages(HUGE);
	assert_int_equal(f.mem->khugepaged->first, first->id + 1);
	fl_mm_exit(f.mem, &f.who, first);
	assert_int_equal(f.mem->khugepaged->first, mm->id + 1);
	assert_int_equal(scan() > 0, 1);
	end();
}

/* ---- Budget: 9.4 ---- */

static void test_a_scanned_range_costs_512_in_6_12_and_its_entries_in_7_3(void **state)
{
	fl_vpn vpn;

	(void)state;
	begin("6.12", 16);
	base_pages(HUGE);
	tune("khugepaged.pages_to_scan", "513"); /* entering the address space is 1 */
	assert_int_equal(scan(), 513);
	end();
	begin("7.3", 16);
	tune("khugepaged.max_ptes_none", "0");
	tune("khugepaged.pages_to_scan", "3");
	vpn = map(HUGE, 0);
	touch(vpn, 2, true);
	advise(mm, vpn, HUGE, FL_MADV_HUGEPAGE);
	assert_int_equal(scan(), 1 + 3); /* two pages, and the empty entry that fails */
	assert_int_equal(result(FL_SCAN_EXCEED_NONE_PTE), 1);
	end();
}

static void test_a_huge_range_costs_512_or_1(void **state)
{
	const char *kernel;

	(void)state;
	FOR_BASES(kernel) {
		fl_vpn vpn;

		start(kernel, 32, FL_THP_ALWAYS);
		vpn = map(4 * HUGE, 0);
		touch(vpn, 4 * HUGE, true);
		assert_int_equal(huge(vpn, 4 * HUGE), 4);
		tune("khugepaged.pages_to_scan", "100000");
		/* Once to the end of the list, where the second pass through the head ends the wake-up. */
		assert_int_equal(scan(), 1 + 4 * (kernel != bases[2] ? 512 : 1));
		assert_int_equal(vm(FL_VM_khugepaged_full_scans), 1);
		assert_int_equal(result(FL_SCAN_PMD_MAPPED), 4);
		end();
	}
}

static void test_the_patch_charges_6_12_by_visited_entries_and_without_it_7_3_charges_512(void **state)
{
	(void)state;
	start("6.12+khugepaged-progress", 16, FL_THP_ALWAYS);
	touch(map(HUGE, 0), HUGE, true);
	assert_int_equal(scan(), 2);
	end();
	start("7.3~khugepaged-progress", 16, FL_THP_ALWAYS);
	touch(map(HUGE, 0), HUGE, true);
	assert_int_equal(scan(), 513);
	end();
}

static void test_a_skipped_area_costs_1(void **state)
{
	fl_vpn vpn;

	(void)state;
	begin("6.12", 16);
	vpn = base_pages(HUGE);
	touch(map(16, FL_VM_NOHUGEPAGE), 16, true);
	touch(map(16, FL_VM_LOCKED), 16, true);
	tune("khugepaged.max_ptes_none", "0");
	make_old(vpn, HUGE);
	assert_int_equal(scan(), 1 + 512 + 2);
	assert_int_equal(result(FL_SCAN_LACK_REFERENCED_PAGE), 1);
	end();
}

static void test_a_wake_up_stops_at_its_budget_and_the_next_goes_on_there(void **state)
{
	fl_vpn vpn;

	(void)state;
	begin("6.12", 64);
	vpn = base_pages(20 * HUGE);
	assert_in_range(scan(), 4096, 4096 + 512);
	assert_int_equal(huge(vpn, 20 * HUGE), 8);
	assert_int_equal(huge(vpn, 8 * HUGE), 8);
	scan();
	assert_int_equal(huge(vpn, 16 * HUGE), 16);
	end();
}

/* ---- Order: 9.1, 9.3 ---- */

static void test_address_spaces_are_served_in_the_order_of_registration(void **state)
{
	struct fl_mm *first;
	fl_vpn vpn;

	(void)state;
	begin("6.12", 96);
	first = mm;
	vpn = base_pages(9 * HUGE);
	mm = fl_mm_new(f.mem, &f.who);
	assert_int_equal(base_pages(9 * HUGE), vpn);
	scan();
	assert_int_equal(fl_mm_huge_mapped(f.mem, first, vpn, 9 * HUGE), 8);
	assert_int_equal(huge(vpn, 9 * HUGE), 0);
	scan();
	assert_int_equal(fl_mm_huge_mapped(f.mem, first, vpn, 9 * HUGE), 9);
	assert_in_range(huge(vpn, 9 * HUGE), 6, 7);
	fl_mm_exit(f.mem, &f.who, first);
	end();
}

static void test_an_attempt_ends_the_visit_and_the_same_address_space_comes_next(void **state)
{
	(void)state;
	begin("7.3", 32);
	base_pages(2 * HUGE);
	/* Two visits with an attempt each, 1 + 512, and one that finds the end. */
	assert_in_range(scan(), 2 * 513 + 1, 2 * 513 + 2);
	assert_int_equal(vm(FL_VM_khugepaged_pages_collapsed), 2);
	end();
}

/* ---- Results: 9.5 ---- */

static void test_pages_in_a_batch_are_not_on_the_lru(void **state)
{
	fl_vpn vpn;
	struct fl_collapse c;

	(void)state;
	begin("6.12", 16);
	vpn = base_pages(HUGE);
	c = (struct fl_collapse){ .mem = f.mem, .who = &f.who, .mm = mm, .first = vpn, .is_khugepaged = true,
				  .vma_flags = FL_VM_HUGEPAGE };
	assert_int_equal(fl_collapse_scan_pmd(&c), FL_SCAN_PAGE_LRU);
	assert_int_equal(c.visited, 497); /* 16 batches of 31 have been drained */
	scan(); /* drains first */
	assert_int_equal(huge(vpn, HUGE), 1);
	end();
}

static void test_max_ptes_none_is_the_most_that_may_be_empty(void **state)
{
	const char *kernel;

	(void)state;
	FOR_BASES(kernel) {
		fl_vpn vpn;

		begin(kernel, 16);
		vpn = map(HUGE, 0);
		touch(vpn + 10, 10, true);
		advise(mm, vpn, HUGE, FL_MADV_HUGEPAGE);
		tune("khugepaged.max_ptes_none", "501");
		scan();
		assert_int_equal(huge(vpn, HUGE), 0);
		assert_true(vm(FL_VM_thp_scan_exceed_none_pte) > 0);
		tune("khugepaged.max_ptes_none", "502");
		scan();
		assert_int_equal(huge(vpn, HUGE), 1);
		end();
	}
}

static void test_a_range_without_a_young_page_is_left_alone(void **state)
{
	fl_vpn vpn;

	(void)state;
	begin("7.3", 16);
	vpn = base_pages(HUGE);
	make_old(vpn, HUGE);
	scan();
	assert_int_equal(result(FL_SCAN_LACK_REFERENCED_PAGE), 1);
	assert_int_equal(huge(vpn, HUGE), 0);
	touch(vpn + 511, 1, false);
	scan();
	assert_int_equal(huge(vpn, HUGE), 1);
	end();
}

static void test_pinned_and_locked_pages_stop_the_scan(void **state)
{
	fl_vpn vpn;

	(void)state;
	begin("6.12", 16);
	vpn = base_pages(HUGE);
	f.mem->frames.state[page_at(vpn + 3)] |= FL_PINNED;
	scan();
	assert_int_equal(result(FL_SCAN_PAGE_COUNT), 1);
	f.mem->frames.state[page_at(vpn + 3)] &= ~FL_PINNED;
	f.mem->frames.state[page_at(vpn + 4)] |= FL_LOCKED;
	scan();
	assert_int_equal(result(FL_SCAN_PAGE_LOCK), 1);
	f.mem->frames.state[page_at(vpn + 4)] &= ~FL_LOCKED;
	end();
}

/* Puts the pages of a range on a swap without time. */
static void swap_out(fl_vpn vpn, uint32_t pages)
{
	fl_lru_add_drain_all(f.mem, &f.who);
	for (uint32_t i = 0; i < pages; i++) {
		fl_pfn pfn = page_at(vpn + i);

		assert_true(fl_folio_isolate_lru(f.mem, pfn));
		assert_true(fl_folio_alloc_swap(f.mem, &f.who, pfn));
		assert_true(fl_try_to_unmap(f.mem, &f.who, pfn));
		fl_folio_putback_lru(f.mem, &f.who, pfn);
	}
}

static void test_max_ptes_swap_limits_what_is_read_in(void **state)
{
	const char *kernel;

	(void)state;
	FOR_BASES(kernel) {
		fl_vpn vpn;

		begin(kernel, 16);
		fl_swapon(f.mem, NULL, 4096, false);
		vpn = base_pages(HUGE);
		swap_out(vpn, 65);
		scan();
		assert_int_equal(result(FL_SCAN_EXCEED_SWAP_PTE), 1);
		assert_int_equal(vm(FL_VM_thp_scan_exceed_swap_pte), 1);
		touch(vpn, 1, true);
		scan();
		assert_int_equal(huge(vpn, HUGE), 1);
		assert_int_equal(mm->swap_entries, 0);
		end();
	}
}

static void test_with_swapped_pages_half_of_the_range_must_be_young(void **state)
{
	fl_vpn vpn;

	(void)state;
	begin("7.3", 16);
	fl_swapon(f.mem, NULL, 4096, false);
	vpn = base_pages(HUGE);
	swap_out(vpn, 1);
	make_old(vpn + 1, 511 - 255);
	scan();
	assert_int_equal(result(FL_SCAN_LACK_REFERENCED_PAGE), 1);
	touch(vpn + 1, 1, true);
	scan();
	assert_int_equal(huge(vpn, HUGE), 1);
	end();
}

static void test_a_range_without_a_writable_entry_is_refused_by_6_12_only(void **state)
{
	const char *kernel;

	(void)state;
	FOR_BASES(kernel) {
		fl_vpn vpn;

		begin(kernel, 16);
		fl_swapon(f.mem, NULL, 4096, false);
		vpn = map(HUGE, 0);
		touch(vpn, 8, true);
		advise(mm, vpn, HUGE, FL_MADV_HUGEPAGE);
		swap_out(vpn, 8);
		scan();
		assert_int_equal(result(kernel == bases[0] ? FL_SCAN_PAGE_RO : FL_SCAN_LACK_REFERENCED_PAGE), 1);
		end();
	}
}

/* ---- Collapse: 9.6 ---- */

static void test_a_collapse_takes_one_folio_no_table_and_gives_the_pages_back(void **state)
{
	uint64_t unmovable;
	fl_vpn vpn;
	fl_pfn pfn;

	(void)state;
	begin("6.12", 16);
	vpn = base_pages(HUGE);
	unmovable = unmovable_pages();
	scan();
	assert_int_equal(huge(vpn, HUGE), 1);
	assert_int_equal(vm(FL_VM_thp_collapse_alloc), 1);
	assert_int_equal(vm(FL_VM_khugepaged_pages_collapsed), 1);
	assert_int_equal(unmovable_pages(), unmovable);
	assert_int_equal(mm->anon_pages, HUGE);
	assert_int_equal(fl_pmd_look(f.mem, mm, vpn, &pfn), FL_PMD_HUGE);
	assert_true(f.mem->frames.state[pfn] & FL_SWAPBACKED);
	assert_true(f.mem->frames.state[pfn] & FL_PTE_DIRTY);
	assert_true(f.mem->frames.state[pfn] & FL_DEFERRED);
	end();
}

static void test_a_collapse_fills_what_was_empty(void **state)
{
	fl_vpn vpn;

	(void)state;
	begin("6.12", 16);
	vpn = map(HUGE, 0);
	touch(vpn, 1, true);
	touch(vpn + 1, 1, false); /* the zero page counts as empty */
	advise(mm, vpn, HUGE, FL_MADV_HUGEPAGE);
	scan();
	assert_int_equal(huge(vpn, HUGE), 1);
	assert_int_equal(mm->anon_pages, HUGE);
	end();
}

static void test_after_a_failed_allocation_a_wake_up_goes_on_once(void **state)
{
	fl_vpn vpn;

	(void)state;
	begin("6.12", 8);
	tune("khugepaged.defrag", "0");
	vpn = base_pages(3 * HUGE);
	while (fl_page_alloc(f.mem, &f.who, GFP_MOVABLE_NOW | FL_GFP_NOWARN, 9, FL_KIND_KERNEL) != FL_PFN_NONE)
		;
	scan();
	assert_int_equal(huge(vpn, 3 * HUGE), 0);
	assert_int_equal(vm(FL_VM_thp_collapse_alloc_failed), 2);
	end();
}

/* ---- Sizes below the PMD's: 9.8 ---- */

static void test_7_3_collapses_to_the_enabled_size_where_one_page_is_present(void **state)
{
	const char *kernel;

	(void)state;
	FOR_BASES(kernel) {
		fl_vpn vpn;

		begin(kernel, 16);
		tune("hugepages-64kB.enabled", "madvise");
		tune("hugepages-2048kB.enabled", "never");
		vpn = map(HUGE, 0);
		touch(vpn + 20, 1, true); /* one page of the second 64 KiB */
		advise(mm, vpn, HUGE, FL_MADV_HUGEPAGE);
		fl_khugepaged_register(f.mem, mm);
		scan();
		assert_int_equal(huge(vpn, HUGE), 0);
		assert_int_equal(mm->anon_pages, kernel == bases[2] ? 16 : 1);
		assert_int_equal(mthp(4, FL_MTHP_collapse_alloc), kernel == bases[2]);
		if (kernel == bases[2])
			assert_int_equal(fl_folio_order(f.mem, page_at(vpn + 16)), 4);
		end();
	}
}

static void test_7_3_goes_on_with_the_next_size_after_a_failed_allocation(void **state)
{
	fl_vpn vpn;

	(void)state;
	begin("7.3", 8);
	tune("khugepaged.defrag", "0");
	tune("hugepages-16kB.enabled", "madvise");
	vpn = base_pages(HUGE);
	while (fl_page_alloc(f.mem, &f.who, GFP_MOVABLE_NOW | FL_GFP_NOWARN, 9, FL_KIND_KERNEL) != FL_PFN_NONE)
		;
	scan();
	assert_int_equal(mthp(9, FL_MTHP_collapse_alloc_failed), 1);
	assert_true(mthp(2, FL_MTHP_collapse_alloc) + mthp(2, FL_MTHP_collapse_alloc_failed) > 0);
	assert_int_equal(huge(vpn, HUGE), 0);
	end();
}

/* ---- Lazyfree: 9.9, 10, 11 (d) ---- */

static fl_vpn lazyfree_pages(uint32_t pages)
{
	fl_vpn vpn = base_pages(pages);

	advise(mm, vpn, pages, FL_MADV_FREE);
	fl_lru_add_drain_all(f.mem, &f.who);
	return vpn;
}

static fl_pfn huge_at(fl_vpn vpn)
{
	fl_pfn pfn = FL_PFN_NONE;

	assert_int_equal(fl_pmd_look(f.mem, mm, vpn, &pfn), FL_PMD_HUGE);
	return pfn;
}

static void test_6_12_scans_a_freed_range_to_its_end_for_nothing(void **state)
{
	(void)state;
	begin("6.12", 16);
	lazyfree_pages(HUGE);
	scan();
	assert_int_equal(result(FL_SCAN_LACK_REFERENCED_PAGE), 1);
	assert_int_equal(vm(FL_VM_thp_collapse_alloc), 0);
	end();
}

static void test_6_12_makes_freed_memory_permanent_after_one_read(void **state)
{
	fl_vpn vpn;

	(void)state;
	begin("6.12", 16);
	vpn = lazyfree_pages(HUGE);
	touch(vpn + 7, 1, false);
	scan();
	assert_true(f.mem->frames.state[huge_at(vpn)] & FL_SWAPBACKED);
	end();
}

static void test_one_clean_lazyfree_page_refuses_the_range_with_the_patch(void **state)
{
	static const char *const kernels[] = { "7.3", "6.12+lazyfree-skip" };

	(void)state;
	for (unsigned int i = 0; i < 2; i++) {
		fl_vpn vpn;

		begin(kernels[i], 16);
		vpn = lazyfree_pages(HUGE);
		touch(vpn, HUGE - 1, true);
		scan();
		assert_int_equal(result(FL_SCAN_PAGE_LAZYFREE), 1);
		touch(vpn + HUGE - 1, 1, true); /* rewritten: none is left that could be dropped */
		scan();
		assert_int_equal(huge(vpn, HUGE), 1);
		end();
	}
}

static void test_7_3_without_lazyfree_skip_collapses_it(void **state)
{
	fl_vpn vpn;

	(void)state;
	begin("7.3~lazyfree-skip", 16);
	vpn = lazyfree_pages(HUGE);
	touch(vpn, 1, false);
	scan();
	assert_int_equal(huge(vpn, HUGE), 1);
	end();
}

static void test_a_droppable_range_collapses_and_stays_lazyfree(void **state)
{
	const char *kernel;

	(void)state;
	FOR_BASES(kernel) {
		fl_vpn vpn;

		begin(kernel, 16);
		vpn = map(HUGE, FL_VM_DROPPABLE);
		touch(vpn, HUGE, true);
		advise(mm, vpn, HUGE, FL_MADV_HUGEPAGE);
		scan();
		assert_false(f.mem->frames.state[huge_at(vpn)] & FL_SWAPBACKED);
		end();
	}
}

static void test_lazyfree_collapse_keeps_a_wholly_lazyfree_range_droppable(void **state)
{
	static const char *const kernels[] = { "6.12+lazyfree-collapse", "6.12+lazyfree-skip+lazyfree-collapse",
					       "7.3+lazyfree-collapse" };

	(void)state;
	for (unsigned int i = 0; i < 3; i++) {
		fl_vpn vpn;
		fl_pfn pfn;

		begin(kernels[i], 16);
		vpn = lazyfree_pages(HUGE);
		scan();
		assert_int_equal(huge(vpn, HUGE), 0); /* some page must be young all the same */
		touch(vpn + 9, 1, false);
		scan();
		pfn = huge_at(vpn);
		assert_false(f.mem->frames.state[pfn] & (FL_SWAPBACKED | FL_PTE_DIRTY | FL_DIRTY));
		/* And reclaim can drop it. */
		fl_folio_get(f.mem, pfn);
		assert_true(fl_try_to_unmap(f.mem, &f.who, pfn));
		assert_true(fl_folio_put(f.mem, &f.who, pfn));
		assert_int_equal(mm->anon_pages, 0);
		end();
	}
}

static void test_lazyfree_collapse_treats_a_mixed_range_as_its_base_does(void **state)
{
	fl_vpn vpn;

	(void)state;
	begin("6.12+lazyfree-collapse", 16);
	vpn = lazyfree_pages(HUGE);
	touch(vpn + 9, 1, true);
	scan();
	assert_true(f.mem->frames.state[huge_at(vpn)] & FL_SWAPBACKED);
	end();
	begin("7.3+lazyfree-collapse", 16);
	vpn = lazyfree_pages(HUGE);
	touch(vpn + 9, 1, true);
	assert_int_equal(scan(), 1 + 10); /* given up at the tenth entry */
	assert_int_equal(result(FL_SCAN_PAGE_LAZYFREE), 1);
	end();
}

/* ---- MADV_COLLAPSE: 9.7 ---- */

static int collapse_now(fl_vpn vpn, uint32_t pages)
{
	int error = fl_madvise(f.mem, &f.who, mm, vpn, pages, FL_MADV_COLLAPSE);

	fl_mem_check(f.mem);
	return error;
}

static void test_madv_collapse_ignores_settings_limits_age_and_lazyfree(void **state)
{
	fl_vpn vpn;

	(void)state;
	start("7.3", 16, FL_THP_NEVER);
	tune("khugepaged.max_ptes_none", "0");
	vpn = map(2 * HUGE, 0);
	touch(vpn, 100, true);
	advise(mm, vpn, 2 * HUGE, FL_MADV_FREE);
	assert_int_equal(collapse_now(vpn, HUGE), 0);
	assert_int_equal(huge(vpn, HUGE), 1);
	assert_int_equal(collapse_now(vpn, HUGE), 0); /* it is huge already */
	assert_int_equal(collapse_now(vpn, 2 * HUGE), -EINVAL); /* no table in the second range */
	end();
}

static void test_madv_collapse_says_why_not(void **state)
{
	fl_vpn vpn;

	(void)state;
	begin("6.12", 16);
	vpn = map(HUGE, 0);
	assert_int_equal(collapse_now(vpn, HUGE), -EINVAL); /* never touched */
	touch(vpn, HUGE, true);
	f.mem->frames.state[page_at(vpn)] |= FL_PINNED;
	assert_int_equal(collapse_now(vpn, HUGE), -EAGAIN);
	f.mem->frames.state[page_at(vpn)] &= ~FL_PINNED;
	assert_int_equal(collapse_now(vpn, HUGE - 1), 0); /* no whole range: nothing to do */
	assert_int_equal(huge(vpn, HUGE), 0);
	advise(mm, vpn, HUGE, FL_MADV_NOHUGEPAGE);
	assert_int_equal(collapse_now(vpn, HUGE), -EINVAL);
	end();
}

static void test_madv_collapse_goes_on_behind_a_range_that_it_cannot_take(void **state)
{
	fl_vpn vpn;

	(void)state;
	begin("6.12", 32);
	vpn = base_pages(3 * HUGE);
	f.mem->frames.state[page_at(vpn + HUGE)] |= FL_PINNED;
	assert_int_equal(collapse_now(vpn, 3 * HUGE), -EAGAIN);
	assert_int_equal(huge(vpn, 3 * HUGE), 2);
	f.mem->frames.state[page_at(vpn + HUGE)] &= ~FL_PINNED;
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_pmd_fault_registers_the_address_space),
		cmocka_unit_test(test_advice_registers_only_after_a_first_touch),
		cmocka_unit_test(test_an_area_without_a_whole_range_registers_only_where_a_smaller_size_counts),
		cmocka_unit_test(test_with_small_sizes_only_faults_never_register),
		cmocka_unit_test(test_an_address_space_that_exits_leaves_the_list),
		cmocka_unit_test(test_a_scanned_range_costs_512_in_6_12_and_its_entries_in_7_3),
		cmocka_unit_test(test_a_huge_range_costs_512_or_1),
		cmocka_unit_test(test_the_patch_charges_6_12_by_visited_entries_and_without_it_7_3_charges_512),
		cmocka_unit_test(test_a_skipped_area_costs_1),
		cmocka_unit_test(test_a_wake_up_stops_at_its_budget_and_the_next_goes_on_there),
		cmocka_unit_test(test_address_spaces_are_served_in_the_order_of_registration),
		cmocka_unit_test(test_an_attempt_ends_the_visit_and_the_same_address_space_comes_next),
		cmocka_unit_test(test_pages_in_a_batch_are_not_on_the_lru),
		cmocka_unit_test(test_max_ptes_none_is_the_most_that_may_be_empty),
		cmocka_unit_test(test_a_range_without_a_young_page_is_left_alone),
		cmocka_unit_test(test_pinned_and_locked_pages_stop_the_scan),
		cmocka_unit_test(test_max_ptes_swap_limits_what_is_read_in),
		cmocka_unit_test(test_with_swapped_pages_half_of_the_range_must_be_young),
		cmocka_unit_test(test_a_range_without_a_writable_entry_is_refused_by_6_12_only),
		cmocka_unit_test(test_a_collapse_takes_one_folio_no_table_and_gives_the_pages_back),
		cmocka_unit_test(test_a_collapse_fills_what_was_empty),
		cmocka_unit_test(test_after_a_failed_allocation_a_wake_up_goes_on_once),
		cmocka_unit_test(test_7_3_collapses_to_the_enabled_size_where_one_page_is_present),
		cmocka_unit_test(test_7_3_goes_on_with_the_next_size_after_a_failed_allocation),
		cmocka_unit_test(test_6_12_scans_a_freed_range_to_its_end_for_nothing),
		cmocka_unit_test(test_6_12_makes_freed_memory_permanent_after_one_read),
		cmocka_unit_test(test_one_clean_lazyfree_page_refuses_the_range_with_the_patch),
		cmocka_unit_test(test_7_3_without_lazyfree_skip_collapses_it),
		cmocka_unit_test(test_a_droppable_range_collapses_and_stays_lazyfree),
		cmocka_unit_test(test_lazyfree_collapse_keeps_a_wholly_lazyfree_range_droppable),
		cmocka_unit_test(test_lazyfree_collapse_treats_a_mixed_range_as_its_base_does),
		cmocka_unit_test(test_madv_collapse_ignores_settings_limits_age_and_lazyfree),
		cmocka_unit_test(test_madv_collapse_says_why_not),
		cmocka_unit_test(test_madv_collapse_goes_on_behind_a_range_that_it_cannot_take),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
