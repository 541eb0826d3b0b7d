/* tests/mm/fault_test.c - rules of faults, huge pages and unmapping (compaction facts 7.2, 7.3, 8, 10, 14; who allocates). */
#include "fault_fixture.h"

#include <errno.h>

/* ---- Base pages ---- */

static void test_read_fault_maps_zero_page_and_allocates_only_tables(void **state)
{
	uint64_t before;
	fl_vpn at;

	start("7.3", 16, FL_THP_NEVER);
	at = map(512, 0);
	before = unmovable_pages();
	touch(at, 3, false);
	assert_int_equal(mm->anon_pages, 0);
	assert_int_equal(unmovable_pages(), before + 3); /* PUD, PMD, PTE table */
	assert_int_equal(fl_pte_look(f.mem, mm, at), FL_PTE_ZERO);
	touch(at, 1, true);
	assert_int_equal(mm->anon_pages, 1);
	end();
}

static void test_fault_sets_owner_index_young_and_dirty(void **state)
{
	fl_vpn at;
	fl_pfn pfn;

	start("7.3", 16, FL_THP_NEVER);
	at = map(100, 0);
	touch(at + 7, 1, true);
	pfn = page_at(at + 7);
	assert_int_equal(f.mem->frames.record[pfn].owner, mm->id);
	assert_int_equal(f.mem->frames.record[pfn].index, at + 7);
	assert_int_equal(f.mem->frames.record[pfn].mapcount, 1);
	assert_int_equal(f.mem->frames.state[pfn] & (FL_YOUNG | FL_PTE_DIRTY | FL_SWAPBACKED),
			 FL_YOUNG | FL_PTE_DIRTY | FL_SWAPBACKED);
	end();
}

static void test_pgfault_counts_faults_not_accesses(void **state)
{
	fl_vpn at;

	start("7.3", 16, FL_THP_NEVER);
	at = map(100, 0);
	touch(at, 100, true);
	touch(at, 100, true);
	assert_int_equal(vm(FL_VM_pgfault), 100);
	end();
}

static void test_access_outside_any_mapping_is_segv(void **state)
{
	start("7.3", 16, FL_THP_NEVER);
	assert_int_equal(fl_access(f.mem, &f.who, mm, 5, true, NULL), FL_FAULT_SEGV);
	end();
}

static void test_out_of_memory_is_a_result_and_leaves_a_sound_machine(void **state)
{
	struct fl_touched t;
	fl_vpn at;

	start("7.3", 8, FL_THP_NEVER);
	at = map(8192, 0);
	t = fl_touch_range(f.mem, &f.who, mm, at, 8192, 1, true);
	assert_int_equal(t.end, FL_FAULT_OOM);
	assert_true(t.accesses > 2000 && t.accesses < 4096);
	fl_mem_check(f.mem);
	assert_int_equal(fl_munmap(f.mem, &f.who, mm, at, 8192), 0);
	assert_int_equal(mm->anon_pages, 0);
	end();
}

/* ---- LRU batches ---- */

static void test_thirty_fresh_folios_are_not_on_the_lru_the_31st_flushes(void **state)
{
	fl_vpn at;

	start("7.3", 16, FL_THP_NEVER);
	at = map(100, 0);
	touch(at, 30, true);
	assert_int_equal(f.mem->lru->size[FL_LRU_INACTIVE_ANON], 0);
	touch(at + 30, 1, true);
	assert_int_equal(f.mem->lru->size[FL_LRU_INACTIVE_ANON], 31);
	touch(at + 31, 5, true);
	assert_int_equal(f.mem->lru->size[FL_LRU_INACTIVE_ANON], 31);
	fl_lru_add_drain(f.mem, &f.who);
	assert_int_equal(f.mem->lru->size[FL_LRU_INACTIVE_ANON], 36);
	end();
}

static void test_large_folio_drains_the_batch_at_once(void **state)
{
	fl_vpn at, huge;

	start("7.3", 16, FL_THP_MADVISE);
	at = map(100, 0);
	huge = map(512, FL_VM_HUGEPAGE);
	touch(at, 5, true);
	assert_int_equal(f.mem->lru->size[FL_LRU_INACTIVE_ANON], 0);
	touch(huge, 1, true);
	assert_int_equal(f.mem->lru->size[FL_LRU_INACTIVE_ANON], 5 + 512);
	end();
}

static void test_folio_in_a_batch_is_freed_without_a_flush(void **state)
{
	fl_vpn at;
	fl_pfn pfn;

	start("7.3", 16, FL_THP_NEVER);
	at = map(100, 0);
	touch(at, 5, true);
	pfn = page_at(at + 2);
	assert_true(f.mem->frames.state[pfn] & FL_BATCHED);
	/* zapping itself drains, so take the way of reclaim and migration: the last reference */
	fl_pte_set(f.mem, mm, at + 2, 0);
	mm->anon_pages--;
	fl_rmap_remove_pages(f.mem, &f.who, pfn, 1);
	assert_int_equal(f.mem->lru->batch[FL_BATCH_ADD].slot[2], FL_PFN_NONE);
	assert_int_equal(f.mem->lru->size[FL_LRU_INACTIVE_ANON], 0);
	fl_mem_check(f.mem);
	fl_lru_add_drain(f.mem, &f.who);
	assert_int_equal(f.mem->lru->size[FL_LRU_INACTIVE_ANON], 4);
	end();
}

/* ---- PMD faults ---- */

static void test_pmd_fault_deposits_one_unmovable_table(void **state)
{
	uint64_t before;
	fl_vpn at;

	start("7.3", 16, FL_THP_ALWAYS);
	at = map(1024, 0);
	assert_int_equal(at % 512, 0);
	touch(at, 1, true);
	before = unmovable_pages();
	touch(at + 512, 1, true);
	assert_int_equal(unmovable_pages(), before + 1);
	assert_int_equal(vm(FL_VM_thp_fault_alloc), 2);
	assert_int_equal(mthp(9, FL_MTHP_anon_fault_alloc), 2);
	assert_int_equal(mthp(9, FL_MTHP_nr_anon), 2);
	assert_int_equal(fl_mm_huge_mapped(f.mem, mm, at, 1024), 2);
	assert_int_equal(fl_mm_resident(f.mem, mm, at, 1024), 1024);
	assert_int_equal(fl_deferred_split_count(f.mem), 2);
	fl_munmap(f.mem, &f.who, mm, at, 1024);
	assert_int_equal(mthp(9, FL_MTHP_nr_anon), 0);
	assert_int_equal(mm->table_pages, 0);
	assert_int_equal(vm(FL_VM_thp_split_pmd), 0);
	end();
}

static void test_huge_zero_page_is_an_unmovable_order_9_request_and_each_mapping_deposits(void **state)
{
	uint64_t before;
	fl_vpn at;

	start("7.3", 16, FL_THP_ALWAYS);
	at = map(1024, 0);
	touch(at, 1, false);
	assert_int_equal(vm(FL_VM_thp_zero_page_alloc), 1);
	assert_int_equal(fl_pageblock_type(f.mem, f.mem->thp->zero_page), FL_UNMOVABLE);
	before = unmovable_pages();
	touch(at + 512, 1, false);
	assert_int_equal(unmovable_pages(), before + 1);
	assert_int_equal(vm(FL_VM_thp_zero_page_alloc), 1);
	assert_int_equal(fl_huge_zero_users(f.mem), 2);
	assert_int_equal(fl_huge_zero_shrink(f.mem, &f.who), 0);
	fl_munmap(f.mem, &f.who, mm, at, 1024);
	assert_int_equal(fl_huge_zero_shrink(f.mem, &f.who), 512);
	end();
}

static void test_write_to_huge_zero_page_asks_for_a_huge_folio_in_7_3(void **state)
{
	uint64_t before;
	fl_vpn at;

	start("7.3", 16, FL_THP_ALWAYS);
	at = map(512, 0);
	touch(at, 1, false);
	before = unmovable_pages();
	touch(at + 9, 1, true);
	assert_int_equal(fl_pmd_look(f.mem, mm, at, NULL), FL_PMD_HUGE);
	assert_int_equal(unmovable_pages(), before); /* the deposit is used again */
	assert_int_equal(vm(FL_VM_thp_fault_alloc), 1);
	assert_int_equal(fl_huge_zero_users(f.mem), 0);
	end();
}

static void test_write_to_huge_zero_page_splits_it_in_6_12(void **state)
{
	fl_vpn at;

	start("6.12", 16, FL_THP_ALWAYS);
	at = map(512, 0);
	touch(at, 1, false);
	touch(at + 9, 1, true);
	assert_int_equal(fl_pmd_look(f.mem, mm, at, NULL), FL_PMD_TABLE);
	assert_int_equal(vm(FL_VM_thp_split_pmd), 1);
	assert_int_equal(vm(FL_VM_thp_fault_alloc), 0);
	assert_int_equal(mm->anon_pages, 1);
	assert_int_equal(fl_pte_look(f.mem, mm, at), FL_PTE_ZERO);
	end();
}

static void test_vma_that_cannot_hold_an_aligned_2m_counts_no_fallback(void **state)
{
	fl_vpn at;

	start("7.3", 16, FL_THP_ALWAYS);
	at = map(511, 0);
	touch(at, 511, true);
	assert_int_equal(vm(FL_VM_thp_fault_fallback), 0);
	assert_int_equal(vm(FL_VM_thp_fault_alloc), 0);
	end();
}

static void test_failed_order_9_counts_once_a_fault_and_falls_back(void **state)
{
	fl_pfn held[16];
	unsigned int n = 0;
	fl_vpn at;

	start("7.3", 16, FL_THP_ALWAYS);
	at = map(512, 0);
	/* no order-9 chunk is left: one page of each block is taken, the rest given back */
	while (n < 16 && (held[n] = take_buddy(&f, 9, FL_MOVABLE, 0)) != FL_PFN_NONE)
		n++;
	for (unsigned int i = 0; i < n; i++) {
		fl_page_split(f.mem, held[i], 9);
		for (unsigned int k = 1; k < 512; k++)
			give_buddy(&f, held[i] + k, 0);
	}
	touch(at, 512, true);
	assert_int_equal(vm(FL_VM_thp_fault_fallback), 1);
	assert_int_equal(mthp(9, FL_MTHP_anon_fault_fallback), 1);
	assert_int_equal(mm->anon_pages, 512);
	end();
}

/* Facts 1.3: the node alone first, without retries; the whole mask only where direct reclaim is allowed; mTHP once. */
static void test_pmd_fault_asks_twice_mthp_once(void **state)
{
	fl_pfn held[16];
	unsigned int n = 0;
	struct requests r;
	fl_vpn at;

	start("7.3", 16, FL_THP_ALWAYS);
	f.mem->set.thp_size[4] = FL_THP_SIZE_ALWAYS;
	at = map(512, 0);
	touch(map(1, FL_VM_NOHUGEPAGE), 1, true); /* upper tables */
	while (n < 16 && (held[n] = take_buddy(&f, 9, FL_MOVABLE, 0)) != FL_PFN_NONE)
		n++;
	for (unsigned int i = 0; i < n; i++) {
		fl_page_split(f.mem, held[i], 9);
		for (unsigned int k = 0; k < 512; k += 2)
			give_buddy(&f, held[i] + k, 0);
	}
	for (unsigned int order = 9; order > 0; order--)
		for (unsigned int type = 0; type < FL_PCPTYPES; type++)
			while (take_buddy(&f, order, type, 0) != FL_PFN_NONE)
				;
	f.mem->set.thp_defrag = FL_THP_DEFRAG_ALWAYS;
	record_requests(&f, &r);
	touch(at, 1, true);
	assert_int_equal(r.order[0], 9);
	assert_int_equal(r.gfp[0] & (FL_GFP_THISNODE | FL_GFP_NORETRY), FL_GFP_THISNODE | FL_GFP_NORETRY);
	assert_int_equal(r.order[1], 9);
	assert_int_equal(r.gfp[1], FL_GFP_TRANSHUGE | FL_GFP_NORETRY);
	assert_int_equal(r.order[2], 0); /* the PTE table */
	assert_int_equal(r.order[3], 4);
	assert_int_equal(r.gfp[3], r.gfp[1]);
	assert_int_equal(r.order[4], 0);
	assert_int_equal(r.gfp[4] & FL_GFP_RECLAIM, FL_GFP_RECLAIM);
	assert_int_equal(vm(FL_VM_thp_fault_fallback), 1);
	f.mem->set.thp_defrag = FL_THP_DEFRAG_MADVISE;
	at = map(512, 0);
	record_requests(&f, &r);
	touch(at, 1, true);
	assert_int_equal(r.order[0], 9);
	assert_int_equal(r.order[1], 0); /* no direct reclaim: no second attempt */
	end();
}

static void test_nohugepage_and_disabled_sizes_count_nothing(void **state)
{
	fl_vpn at;

	start("7.3", 16, FL_THP_ALWAYS);
	at = map(512, FL_VM_NOHUGEPAGE);
	touch(at, 512, true);
	assert_int_equal(vm(FL_VM_thp_fault_alloc) + vm(FL_VM_thp_fault_fallback), 0);
	end();
}

/* ---- mTHP ---- */

static void test_enabled_orders_by_size_setting_and_advice(void **state)
{
	start("7.3", 16, FL_THP_MADVISE);
	f.mem->set.thp_size[2] = FL_THP_SIZE_ALWAYS;
	f.mem->set.thp_size[4] = FL_THP_SIZE_MADVISE;
	assert_int_equal(fl_thp_orders(f.mem, 0, false), 1u << 2);
	assert_int_equal(fl_thp_orders(f.mem, FL_VM_HUGEPAGE, false), 1u << 2 | 1u << 4 | 1u << 9);
	assert_int_equal(fl_thp_orders(f.mem, FL_VM_NOHUGEPAGE, false), 0);
	assert_int_equal(fl_thp_orders(f.mem, FL_VM_HUGEPAGE, true), 0);
	f.mem->set.thp_enabled = FL_THP_NEVER;
	assert_int_equal(fl_thp_orders(f.mem, FL_VM_HUGEPAGE, false), 1u << 2 | 1u << 4);
	f.mem->set.thp_enabled = FL_THP_ALWAYS;
	assert_int_equal(fl_thp_orders(f.mem, 0, false), 1u << 2 | 1u << 9);
	end();
}

static void test_highest_order_with_an_empty_range_is_taken(void **state)
{
	fl_vpn at;

	start("7.3", 16, FL_THP_NEVER);
	f.mem->set.thp_size[2] = f.mem->set.thp_size[4] = FL_THP_SIZE_ALWAYS;
	at = map(512, 0);
	touch(at, 1, true); /* 16 pages at once */
	assert_int_equal(mm->anon_pages, 16);
	assert_int_equal(vm(FL_VM_pgfault), 1);
	fl_madvise(f.mem, &f.who, mm, at + 32, 1, FL_MADV_DONTNEED);
	touch(at + 16, 1, false); /* a zero page in the second 64K: only 16K are empty around the last page */
	touch(at + 31, 1, true);
	assert_int_equal(mm->anon_pages, 20);
	assert_int_equal(mthp(4, FL_MTHP_anon_fault_alloc), 1);
	assert_int_equal(mthp(2, FL_MTHP_anon_fault_alloc), 1);
	assert_int_equal(mthp(4, FL_MTHP_anon_fault_fallback), 0); /* filtered out, not tried */
	end();
}

static void test_fallback_is_counted_per_order_tried(void **state)
{
	fl_pfn held[16];
	unsigned int n = 0;
	fl_vpn at;

	start("7.3", 16, FL_THP_NEVER);
	f.mem->set.thp_size[2] = f.mem->set.thp_size[4] = f.mem->set.thp_size[6] = FL_THP_SIZE_ALWAYS;
	at = map(512, 0);
	touch(at, 1, false); /* tables */
	while (n < 16 && (held[n] = take_buddy(&f, 9, FL_MOVABLE, 0)) != FL_PFN_NONE)
		n++;
	for (unsigned int i = 0; i < n; i++) { /* leaves chunks of order 2 only */
		fl_page_split(f.mem, held[i], 9);
		for (unsigned int k = 0; k < 512; k++)
			if (k / 4 % 2)
				give_buddy(&f, held[i] + k, 0);
	}
	for (unsigned int order = 9; order > 2; order--) /* what the page tables' pageblock still has */
		for (unsigned int type = 0; type < FL_PCPTYPES; type++)
			while (take_buddy(&f, order, type, 0) != FL_PFN_NONE)
				;
	touch(at + 64, 1, true);
	assert_int_equal(mthp(2, FL_MTHP_anon_fault_alloc), 1);
	assert_int_equal(mthp(6, FL_MTHP_anon_fault_fallback), 1);
	assert_int_equal(mthp(4, FL_MTHP_anon_fault_fallback), 1);
	assert_int_equal(mthp(2, FL_MTHP_anon_fault_fallback), 0);
	end();
}

static void test_gfp_by_defrag_mode(void **state)
{
	const fl_gfp light = FL_GFP_TRANSHUGE_LIGHT, direct = FL_GFP_DIRECT_RECLAIM, kswapd = FL_GFP_KSWAPD_RECLAIM;
	const struct {
		enum fl_thp_defrag mode;
		fl_gfp plain, advised;
	} rows[] = {
		{ FL_THP_DEFRAG_ALWAYS, light | direct | FL_GFP_NORETRY, light | direct },
		{ FL_THP_DEFRAG_DEFER, light | kswapd, light | kswapd },
		{ FL_THP_DEFRAG_DEFER_MADVISE, light | kswapd, light | direct },
		{ FL_THP_DEFRAG_MADVISE, light, light | direct },
		{ FL_THP_DEFRAG_NEVER, light, light },
	};

	start("7.3", 16, FL_THP_ALWAYS);
	for (unsigned int i = 0; i < 5; i++) {
		f.mem->set.thp_defrag = rows[i].mode;
		assert_int_equal(fl_thp_gfp(f.mem, 0), rows[i].plain);
		assert_int_equal(fl_thp_gfp(f.mem, FL_VM_HUGEPAGE), rows[i].advised);
	}
	end();
}

/* ---- Partial unmaps and splits ---- */

static void test_partial_unmap_of_thp_queues_it_and_counts_once(void **state)
{
	fl_vpn at;

	start("7.3", 16, FL_THP_ALWAYS);
	at = map(512, 0);
	touch(at, 1, true);
	fl_madvise(f.mem, &f.who, mm, at + 10, 5, FL_MADV_DONTNEED);
	fl_madvise(f.mem, &f.who, mm, at + 20, 5, FL_MADV_DONTNEED);
	assert_int_equal(vm(FL_VM_thp_split_pmd), 1);
	assert_int_equal(vm(FL_VM_thp_deferred_split_page), 1);
	assert_int_equal(mthp(9, FL_MTHP_split_deferred), 1);
	assert_int_equal(mthp(9, FL_MTHP_nr_anon_partially_mapped), 1);
	assert_int_equal(mthp(9, FL_MTHP_nr_anon), 1);
	fl_mem_check(f.mem);
	assert_int_equal(fl_deferred_split_scan(f.mem, &f.who, 10), 1);
	assert_int_equal(vm(FL_VM_thp_split_page), 1);
	assert_int_equal(mthp(9, FL_MTHP_split), 1);
	assert_int_equal(mthp(9, FL_MTHP_nr_anon), 0);
	assert_int_equal(mthp(9, FL_MTHP_nr_anon_partially_mapped), 0);
	assert_int_equal(mm->anon_pages, 502);
	assert_int_equal(f.mem->lru->size[FL_LRU_INACTIVE_ANON], 502);
	end();
}

static void test_whole_folio_that_goes_in_one_zap_is_never_partially_mapped(void **state)
{
	fl_vpn at;

	start("7.3", 16, FL_THP_NEVER);
	f.mem->set.thp_size[4] = FL_THP_SIZE_ALWAYS;
	at = map(512, 0);
	touch(at, 64, true);
	fl_madvise(f.mem, &f.who, mm, at, 32, FL_MADV_DONTNEED);
	assert_int_equal(mthp(4, FL_MTHP_split_deferred), 0);
	fl_madvise(f.mem, &f.who, mm, at + 40, 8, FL_MADV_DONTNEED);
	assert_int_equal(mthp(4, FL_MTHP_split_deferred), 1);
	assert_int_equal(vm(FL_VM_thp_deferred_split_page), 0); /* PMD size only */
	end();
}

static void test_wholly_mapped_folio_leaves_the_queue_unsplit(void **state)
{
	fl_vpn at;

	start("7.3", 16, FL_THP_ALWAYS);
	at = map(512, 0);
	touch(at, 1, true);
	assert_int_equal(fl_deferred_split_count(f.mem), 1);
	assert_int_equal(fl_deferred_split_scan(f.mem, &f.who, 1), 0);
	assert_int_equal(fl_deferred_split_count(f.mem), 0);
	assert_int_equal(fl_pmd_look(f.mem, mm, at, NULL), FL_PMD_HUGE);
	end();
}

static void test_pieces_of_a_split_folio_stand_where_it_stood_head_last(void **state)
{
	fl_vpn at, other;
	fl_pfn pfn;
	uint32_t list;

	start("7.3", 16, FL_THP_NEVER);
	f.mem->set.thp_size[2] = FL_THP_SIZE_ALWAYS;
	at = map(512, 0);
	other = map(4, FL_VM_NOHUGEPAGE);
	touch(at, 1, true);
	touch(other, 1, true);
	fl_lru_add_drain(f.mem, &f.who);
	pfn = page_at(at);
	assert_true(fl_split_folio(f.mem, &f.who, pfn, NULL));
	list = f.mem->lru->head[FL_LRU_INACTIVE_ANON];
	assert_int_equal(fl_list_last(&f.mem->frames, list), pfn);
	assert_int_equal(f.mem->frames.record[pfn].prev, pfn + 1);
	assert_int_equal(f.mem->frames.record[pfn + 1].prev, pfn + 2);
	assert_int_equal(f.mem->frames.record[pfn + 3].prev, page_at(other));
	end();
}

static void test_pinned_folio_is_not_split_and_counts_failed(void **state)
{
	fl_vpn at;
	fl_pfn pfn;

	start("7.3", 16, FL_THP_ALWAYS);
	at = map(512, 0);
	touch(at, 1, true);
	pfn = page_at(at);
	fl_folio_get(f.mem, pfn);
	assert_false(fl_split_folio(f.mem, &f.who, pfn, NULL));
	assert_int_equal(vm(FL_VM_thp_split_page_failed), 1);
	assert_int_equal(mthp(9, FL_MTHP_split_failed), 1);
	fl_folio_put(f.mem, &f.who, pfn);
	end();
}

/* ---- Tables ---- */

static void test_munmap_of_a_part_of_a_2m_range_keeps_its_table(void **state)
{
	fl_vpn at;

	start("7.3", 16, FL_THP_NEVER);
	at = map(1024, 0);
	touch(at, 1024, true);
	assert_int_equal(mm->table_pages, 4);
	fl_munmap(f.mem, &f.who, mm, at, 511);
	assert_int_equal(mm->table_pages, 4);
	fl_munmap(f.mem, &f.who, mm, at + 511, 1);
	assert_int_equal(mm->table_pages, 3);
	fl_munmap(f.mem, &f.who, mm, at + 512, 512);
	assert_int_equal(mm->table_pages, 0);
	end();
}

static void test_munmap_keeps_a_table_that_a_neighbour_could_use(void **state)
{
	fl_vpn at, other;

	start("7.3", 16, FL_THP_NEVER);
	at = map(10, 0);
	other = map(10, FL_VM_NOHUGEPAGE);
	assert_int_equal(other / 512, at / 512);
	touch(at, 10, true);
	fl_munmap(f.mem, &f.who, mm, at, 10);
	assert_int_equal(mm->table_pages, 3);
	fl_munmap(f.mem, &f.who, mm, other, 10);
	assert_int_equal(mm->table_pages, 0);
	end();
}

static void dontneed_tables(const char *kernel, uint64_t left)
{
	fl_vpn at;

	start(kernel, 16, FL_THP_NEVER);
	at = map(1024, 0);
	touch(at, 1024, true);
	fl_madvise(f.mem, &f.who, mm, at, 1024, FL_MADV_DONTNEED);
	assert_int_equal(mm->anon_pages, 0);
	assert_int_equal(mm->table_pages, left);
	end();
}

static void test_dontneed_of_whole_2m_frees_the_table_in_7_3_only(void **state)
{
	dontneed_tables("7.3", 2);
	dontneed_tables("6.18", 2);
	dontneed_tables("6.12", 4);
}

static void test_dontneed_of_a_part_keeps_the_table_in_7_3(void **state)
{
	fl_vpn at;

	start("7.3", 16, FL_THP_NEVER);
	at = map(512, 0);
	touch(at, 10, true);
	fl_madvise(f.mem, &f.who, mm, at, 10, FL_MADV_DONTNEED);
	assert_int_equal(mm->table_pages, 3);
	end();
}

static void test_one_byte_in_each_2m_takes_a_table_a_touch(void **state)
{
	struct fl_touched t;
	fl_vpn at;

	start("7.3", 16, FL_THP_NEVER);
	at = map(1000 * 512, 0);
	t = fl_touch_range(f.mem, &f.who, mm, at, 1000 * 512, 512, true);
	assert_int_equal(t.faults, 1000);
	assert_int_equal(mm->table_pages, 1000 + 2 + 1);
	end();
}

static void test_pgd_is_order_1_in_6_12_and_0_in_7_3(void **state)
{
	start("6.12", 16, FL_THP_NEVER);
	assert_int_equal(fl_folio_order(f.mem, mm->pgd), 1);
	end();
	start("7.3", 16, FL_THP_NEVER);
	assert_int_equal(fl_folio_order(f.mem, mm->pgd), 0);
	end();
}

/* ---- VMAs ---- */

static void test_hole_splits_a_vma_and_neighbours_merge(void **state)
{
	fl_vpn at;

	start("7.3", 16, FL_THP_NEVER);
	at = map(100, 0);
	fl_munmap(f.mem, &f.who, mm, at + 50, 10);
	assert_int_equal(mm->vmas, 2);
	assert_int_equal(map(10, 0), at + 50);
	assert_int_equal(mm->vmas, 1);
	fl_madvise(f.mem, &f.who, mm, at + 10, 10, FL_MADV_NOHUGEPAGE);
	assert_int_equal(mm->vmas, 3);
	fl_madvise(f.mem, &f.who, mm, at, 100, FL_MADV_NOHUGEPAGE);
	assert_int_equal(mm->vmas, 1);
	end();
}

static void test_madvise_over_a_hole_does_the_rest_and_says_enomem(void **state)
{
	fl_vpn at;

	start("7.3", 16, FL_THP_NEVER);
	at = map(100, 0);
	touch(at, 100, true);
	fl_munmap(f.mem, &f.who, mm, at + 50, 10);
	assert_int_equal(fl_madvise(f.mem, &f.who, mm, at, 100, FL_MADV_DONTNEED), -ENOMEM);
	assert_int_equal(mm->anon_pages, 0);
	end();
}

/* Random operations, full check after each. */
static void random_run(const char *kernel, uint64_t seed)
{
	struct fl_rng rng;
	fl_vpn at;

	fl_rng_init(&rng, seed, "fault_test", 0);
	start(kernel, 12, FL_THP_ALWAYS);
	f.mem->set.thp_size[2] = f.mem->set.thp_size[4] = FL_THP_SIZE_ALWAYS;
	at = map(4096, 0);
	for (unsigned int i = 0; i < 400; i++) {
		fl_vpn vpn = at + fl_rng_below(&rng, 4096);
		uint32_t n = 1 + fl_rng_below(&rng, fl_rng_chance(&rng, 1, 4) ? 1024 : 24);

		if (vpn + n > at + 4096)
			n = at + 4096 - vpn;
		switch (fl_rng_below(&rng, 12)) {
		case 0:
			fl_munmap(f.mem, &f.who, mm, vpn, n);
			break;
		case 1:
			map(n, fl_rng_below(&rng, 4) ? 0 : FL_VM_LOCKED);
			break;
		case 2:
			fl_madvise(f.mem, &f.who, mm, vpn, n, FL_MADV_FREE);
			break;
		case 3:
			fl_madvise(f.mem, &f.who, mm, vpn, n, FL_MADV_DONTNEED);
			break;
		case 4:
			fl_mlock(f.mem, &f.who, mm, vpn, n);
			break;
		case 5:
			fl_munlock(f.mem, &f.who, mm, vpn, n);
			break;
		case 6:
			fl_deferred_split_scan(f.mem, &f.who, n);
			break;
		case 7:
			fl_madvise(f.mem, &f.who, mm, vpn, n, fl_rng_below(&rng, 2) ? FL_MADV_HUGEPAGE
										     : FL_MADV_NOHUGEPAGE);
			break;
		default:
			fl_touch_range(f.mem, &f.who, mm, vpn, n, 1, fl_rng_chance(&rng, 2, 3));
			break;
		}
		fl_mem_check(f.mem);
	}
	end();
}

static void test_random_operations_keep_all_invariants(void **state)
{
	for (uint64_t seed = 0; seed < 6; seed++)
		random_run(seed % 2 ? "6.12" : "7.3", seed);
}

/* Maps pages beside others, under a table that is dense, and faults the first of them in the long way. */
static fl_vpn map_beside(uint32_t flags, bool write)
{
	fl_vpn at = map(32, flags);

	touch(at, 1, write);
	assert_ptr_equal(mm->last_vma, fl_vma_find(f.mem, mm, at));
	return at;
}

static void test_short_way_leaves_locked_and_droppable_memory_to_the_long_one(void **state)
{
	fl_vpn at;

	start("7.3", 32, FL_THP_NEVER);
	touch(map(64, FL_VM_NOHUGEPAGE), 64, true);
	at = map_beside(FL_VM_LOCKED, true);
	touch(at + 1, 1, true);
	assert_true(f.mem->frames.state[page_at(at + 1)] & FL_MLOCKED);
	at = map_beside(FL_VM_DROPPABLE, true);
	touch(at + 1, 1, true);
	assert_false(f.mem->frames.state[page_at(at + 1)] & FL_SWAPBACKED);
	end();
}

static void test_first_write_after_reads_makes_the_anon_vma(void **state)
{
	fl_vpn at;

	start("7.3", 32, FL_THP_NEVER);
	touch(map(64, FL_VM_NOHUGEPAGE), 64, true);
	at = map_beside(0, false);
	assert_false(fl_vma_find(f.mem, mm, at)->has_anon_vma);
	touch(at + 1, 1, true);
	assert_true(fl_vma_find(f.mem, mm, at)->has_anon_vma);
	end();
}

static void test_fault_after_its_vma_has_gone_does_not_find_it(void **state)
{
	fl_vpn at;

	start("7.3", 32, FL_THP_NEVER);
	touch(map(64, FL_VM_NOHUGEPAGE), 64, true);
	at = map_beside(0, true);
	touch(at + 1, 2, true);
	assert_int_equal(fl_munmap(f.mem, &f.who, mm, at, 32), 0);
	assert_int_equal(fl_access(f.mem, &f.who, mm, at + 3, true, NULL), FL_FAULT_SEGV);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read_fault_maps_zero_page_and_allocates_only_tables),
		cmocka_unit_test(test_fault_sets_owner_index_young_and_dirty),
		cmocka_unit_test(test_pgfault_counts_faults_not_accesses),
		cmocka_unit_test(test_access_outside_any_mapping_is_segv),
		cmocka_unit_test(test_out_of_memory_is_a_result_and_leaves_a_sound_machine),
		cmocka_unit_test(test_thirty_fresh_folios_are_not_on_the_lru_the_31st_flushes),
		cmocka_unit_test(test_large_folio_drains_the_batch_at_once),
		cmocka_unit_test(test_folio_in_a_batch_is_freed_without_a_flush),
		cmocka_unit_test(test_pmd_fault_deposits_one_unmovable_table),
		cmocka_unit_test(test_huge_zero_page_is_an_unmovable_order_9_request_and_each_mapping_deposits),
		cmocka_unit_test(test_write_to_huge_zero_page_asks_for_a_huge_folio_in_7_3),
		cmocka_unit_test(test_write_to_huge_zero_page_splits_it_in_6_12),
		cmocka_unit_test(test_vma_that_cannot_hold_an_aligned_2m_counts_no_fallback),
		cmocka_unit_test(test_failed_order_9_counts_once_a_fault_and_falls_back),
		cmocka_unit_test(test_pmd_fault_asks_twice_mthp_once),
		cmocka_unit_test(test_nohugepage_and_disabled_sizes_count_nothing),
		cmocka_unit_test(test_enabled_orders_by_size_setting_and_advice),
		cmocka_unit_test(test_highest_order_with_an_empty_range_is_taken),
		cmocka_unit_test(test_fallback_is_counted_per_order_tried),
		cmocka_unit_test(test_gfp_by_defrag_mode),
		cmocka_unit_test(test_partial_unmap_of_thp_queues_it_and_counts_once),
		cmocka_unit_test(test_whole_folio_that_goes_in_one_zap_is_never_partially_mapped),
		cmocka_unit_test(test_wholly_mapped_folio_leaves_the_queue_unsplit),
		cmocka_unit_test(test_pieces_of_a_split_folio_stand_where_it_stood_head_last),
		cmocka_unit_test(test_pinned_folio_is_not_split_and_counts_failed),
		cmocka_unit_test(test_munmap_of_a_part_of_a_2m_range_keeps_its_table),
		cmocka_unit_test(test_munmap_keeps_a_table_that_a_neighbour_could_use),
		cmocka_unit_test(test_dontneed_of_whole_2m_frees_the_table_in_7_3_only),
		cmocka_unit_test(test_dontneed_of_a_part_keeps_the_table_in_7_3),
		cmocka_unit_test(test_one_byte_in_each_2m_takes_a_table_a_touch),
		cmocka_unit_test(test_pgd_is_order_1_in_6_12_and_0_in_7_3),
		cmocka_unit_test(test_hole_splits_a_vma_and_neighbours_merge),
		cmocka_unit_test(test_madvise_over_a_hole_does_the_rest_and_says_enomem),
		cmocka_unit_test(test_random_operations_keep_all_invariants),
		cmocka_unit_test(test_short_way_leaves_locked_and_droppable_memory_to_the_long_one),
		cmocka_unit_test(test_first_write_after_reads_makes_the_anon_vma),
		cmocka_unit_test(test_fault_after_its_vma_has_gone_does_not_find_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
