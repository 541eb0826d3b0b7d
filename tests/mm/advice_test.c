/* tests/mm/advice_test.c - rules of mlock, MADV_FREE, droppable memory and of the reverse map (compaction facts 10). */
#include "fault_fixture.h"

#include <errno.h>

/* ---- mlock ---- */

static void test_mlock_populates_and_moves_to_the_unevictable_list(void **state)
{
	fl_vpn at;

	start("7.3", 16, FL_THP_NEVER);
	at = map(100, 0);
	touch(at, 50, true);
	assert_int_equal(fl_mlock(f.mem, &f.who, mm, at, 100), 0);
	fl_lru_add_drain(f.mem, &f.who);
	assert_int_equal(mm->anon_pages, 100);
	assert_int_equal(f.mem->lru->size[FL_LRU_UNEVICTABLE], 100);
	assert_int_equal(f.mem->lru->size[FL_LRU_INACTIVE_ANON], 0);
	assert_int_equal(f.mem->lru->mlocked, 100);
	assert_int_equal(vm(FL_VM_unevictable_pgs_mlocked), 100);
	assert_int_equal(fl_madvise(f.mem, &f.who, mm, at, 100, FL_MADV_DONTNEED), -EINVAL);
	assert_int_equal(fl_munlock(f.mem, &f.who, mm, at, 60), 0);
	assert_int_equal(f.mem->lru->size[FL_LRU_UNEVICTABLE], 40);
	assert_int_equal(vm(FL_VM_unevictable_pgs_munlocked), 60);
	assert_int_equal(fl_madvise(f.mem, &f.who, mm, at + 60, 40, FL_MADV_DONTNEED_LOCKED), 0);
	assert_int_equal(f.mem->lru->mlocked, 0);
	end();
}

/* ---- MADV_FREE ---- */

static void test_madv_free_moves_to_inactive_file_in_batches_and_clears_young(void **state)
{
	fl_vpn at;
	fl_pfn pfn;

	start("7.3", 16, FL_THP_NEVER);
	at = map(100, 0);
	touch(at, 100, true);
	assert_int_equal(fl_madvise(f.mem, &f.who, mm, at, 40, FL_MADV_FREE), 0);
	assert_int_equal(vm(FL_VM_pglazyfree), 31); /* the flag flips when the batch drains */
	fl_lru_add_drain(f.mem, &f.who);
	assert_int_equal(vm(FL_VM_pglazyfree), 40);
	assert_int_equal(f.mem->lru->size[FL_LRU_INACTIVE_FILE], 40);
	pfn = page_at(at);
	assert_true(fl_state_is_lazyfree(f.mem->frames.state[pfn]));
	assert_false(f.mem->frames.state[pfn] & (FL_YOUNG | FL_PTE_DIRTY));
	assert_int_equal(mm->anon_pages, 100);
	end();
}

static void test_madv_free_splits_a_large_folio_that_is_not_wholly_inside(void **state)
{
	fl_vpn at;

	start("7.3", 16, FL_THP_ALWAYS);
	at = map(1024, 0);
	touch(at, 1, true);
	touch(at + 512, 1, true);
	assert_int_equal(fl_madvise(f.mem, &f.who, mm, at + 256, 768, FL_MADV_FREE), 0);
	fl_lru_add_drain(f.mem, &f.who);
	assert_int_equal(vm(FL_VM_thp_split_page), 1);
	assert_int_equal(vm(FL_VM_pglazyfree), 768);
	assert_int_equal(fl_pmd_look(f.mem, mm, at + 512, NULL), FL_PMD_HUGE);
	end();
}

static bool unmap(fl_pfn pfn)
{
	bool done;

	assert_true(fl_folio_isolate_lru(f.mem, pfn));
	done = fl_try_to_unmap(f.mem, &f.who, pfn);
	fl_folio_putback_lru(f.mem, &f.who, pfn);
	return done;
}

static void test_clean_lazyfree_is_dropped_and_a_rewrite_is_noticed_only_then(void **state)
{
	fl_vpn at;
	fl_pfn pfn;

	start("7.3", 16, FL_THP_NEVER);
	at = map(100, 0);
	touch(at, 2, true);
	fl_madvise(f.mem, &f.who, mm, at, 2, FL_MADV_FREE);
	fl_lru_add_drain(f.mem, &f.who);
	touch(at + 1, 1, true);
	pfn = page_at(at + 1);
	assert_true(fl_state_is_lazyfree(f.mem->frames.state[pfn]));
	assert_true(unmap(page_at(at)));
	assert_int_equal(fl_pte_look(f.mem, mm, at), 0);
	assert_false(unmap(pfn));
	assert_true(f.mem->frames.state[pfn] & FL_SWAPBACKED);
	end();
}

static void test_droppable_is_born_lazyfree_and_dropped_even_when_dirty(void **state)
{
	fl_vpn at;
	fl_pfn pfn;

	start("7.3", 16, FL_THP_NEVER);
	at = map(10, FL_VM_DROPPABLE);
	touch(at, 1, true);
	fl_lru_add_drain(f.mem, &f.who);
	pfn = page_at(at);
	assert_int_equal(f.mem->lru->size[FL_LRU_INACTIVE_FILE], 1);
	assert_true(unmap(pfn));
	assert_int_equal(mm->anon_pages, 0);
	end();
}

/* ---- rmap ---- */

static void test_migration_moves_every_mapping_of_a_folio(void **state)
{
	unsigned int orders[] = { 0, 2, 9 };

	for (unsigned int i = 0; i < 3; i++) {
		fl_pfn from, to;
		fl_vpn at;

		start("7.3", 16, FL_THP_NEVER);
		if (orders[i])
			f.mem->set.thp_size[orders[i]] = FL_THP_SIZE_ALWAYS;
		at = map(512, 0);
		touch(at, 1, true);
		from = page_at(at);
		to = fl_page_alloc(f.mem, &f.who, FL_GFP_HIGHUSER_MOVABLE, orders[i], FL_KIND_ANON);
		fl_lru_forget(f.mem, from);
		f.mem->frames.state[to] |= f.mem->frames.state[from] & (FL_SWAPBACKED | FL_PMD_MAPPED);
		fl_rmap_move(f.mem, from, to);
		fl_folio_put(f.mem, &f.who, from);
		fl_folio_add_lru(f.mem, &f.who, to);
		assert_int_equal(page_at(at), to);
		assert_int_equal(mthp(9, FL_MTHP_nr_anon), orders[i] == 9);
		assert_int_equal(mthp(2, FL_MTHP_nr_anon), orders[i] == 2);
		assert_int_equal(fl_deferred_split_count(f.mem), orders[i] == 9);
		end();
	}
}

static void test_referenced_clears_the_accessed_bit(void **state)
{
	fl_vpn at;
	fl_pfn pfn;

	start("7.3", 16, FL_THP_NEVER);
	at = map(1, 0);
	touch(at, 1, true);
	pfn = page_at(at);
	assert_int_equal(fl_folio_referenced(f.mem, &f.who, pfn), 1);
	assert_int_equal(fl_folio_referenced(f.mem, &f.who, pfn), 0);
	touch(at, 1, false);
	assert_int_equal(fl_folio_referenced(f.mem, &f.who, pfn), 1);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mlock_populates_and_moves_to_the_unevictable_list),
		cmocka_unit_test(test_madv_free_moves_to_inactive_file_in_batches_and_clears_young),
		cmocka_unit_test(test_madv_free_splits_a_large_folio_that_is_not_wholly_inside),
		cmocka_unit_test(test_clean_lazyfree_is_dropped_and_a_rewrite_is_noticed_only_then),
		cmocka_unit_test(test_droppable_is_born_lazyfree_and_dropped_even_when_dirty),
		cmocka_unit_test(test_migration_moves_every_mapping_of_a_folio),
		cmocka_unit_test(test_referenced_clears_the_accessed_bit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
