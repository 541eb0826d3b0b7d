/*
 * tests/mm/migrate_test.c - moving folios: what stays the same, what each mode waits for, splits, failures and counters.
 * Facts 5.
 */
#include <errno.h>

#include "compact_rig.h"

/* A machine with free pages in its last block, taken as targets when they are asked for. */
struct move {
	struct rig r;
	struct fl_compact_control cc;
	unsigned int moved;
};

static void move_boot(struct move *m, const char *kernel)
{
	rig_boot(&m->r, kernel, 8);
	rig_spare(&m->r);
	m->cc = rig_control(&m->r, -1, FL_MIGRATE_SYNC);
}

static void move_done(struct move *m)
{
	rig_control_done(&m->r, &m->cc);
	rig_done(&m->r);
}

/* Isolates the folio at pfn for the next migration. */
static void take(struct move *m, fl_pfn pfn)
{
	assert_true(fl_folio_isolate_lru(m->r.mem, pfn));
	fl_pfn_list_add_tail(&m->r.mem->frames, &m->cc.migratepages, pfn);
	m->cc.nr_migratepages += fl_folio_pages(m->r.mem, pfn);
}

static int migrate(struct move *m, enum fl_migrate_mode mode)
{
	struct fl_migrate_targets targets = { fl_compaction_alloc, fl_compaction_free, &m->cc };

	return fl_migrate_pages(m->r.mem, m->r.who, &m->cc.migratepages, &targets, mode, &m->moved);
}

static fl_pfn mapped_at(struct move *m, fl_vpn vpn)
{
	return fl_pte_pfn(fl_pte_look(m->r.mem, m->r.mm, m->r.base + vpn));
}

static uint32_t flags_of(struct move *m, fl_pfn pfn)
{
	return m->r.mem->frames.state[pfn];
}

static void test_a_moved_page_keeps_its_mapping_flags_and_owner(void **state)
{
	const uint32_t kept = FL_ACTIVE | FL_DIRTY | FL_REFERENCED | FL_YOUNG | FL_PTE_DIRTY | FL_WORKINGSET;
	struct move m;
	fl_pfn dst;

	move_boot(&m, "7.3");
	rig_movable(&m.r, 10, 0);
	rig_free(&m.r, 7 * 512, 8);
	take(&m, 10);
	m.r.mem->frames.state[10] |= kept;
	assert_int_equal(migrate(&m, FL_MIGRATE_ASYNC), 0);
	assert_int_equal(m.moved, 1);
	dst = mapped_at(&m, 10);
	assert_int_equal(dst, 7 * 512);
	assert_int_equal(flags_of(&m, dst) & kept, kept);
	assert_true(flags_of(&m, dst) & FL_SWAPBACKED);
	assert_int_equal(m.r.mem->frames.record[dst].index, m.r.base + 10);
	assert_int_equal(m.r.mem->frames.record[dst].refcount, 1);
	assert_int_equal(m.r.mem->frames.record[dst].mapcount, 1);
	assert_true(flags_of(&m, dst) & FL_BATCHED); /* like any new folio, in a batch */
	assert_int_equal(rig_kind(&m.r, 10), FL_KIND_PCP); /* freed the ordinary way */
	assert_int_equal(rig_count(&m.r, FL_VM_pgmigrate_success), 1);
	assert_int_equal(rig_count(&m.r, FL_VM_pgmigrate_fail), 0);
	assert_int_equal(m.r.mem->lru->isolated[0], 0);
	move_done(&m);
}

static void test_a_lazyfree_page_stays_lazyfree(void **state)
{
	struct move m;

	move_boot(&m, "7.3");
	rig_movable(&m.r, 10, 0);
	rig_free(&m.r, 7 * 512, 8);
	fl_folio_mark_lazyfree(m.r.mem, m.r.who, 10);
	fl_lru_add_drain(m.r.mem, m.r.who);
	assert_true(fl_state_is_lazyfree(flags_of(&m, 10)));
	take(&m, 10);
	assert_int_equal(migrate(&m, FL_MIGRATE_SYNC_LIGHT), 0);
	assert_true(fl_state_is_lazyfree(flags_of(&m, mapped_at(&m, 10))));
	assert_int_equal(m.r.mem->lru->isolated[1], 0);
	move_done(&m);
}

static void test_a_large_folio_moves_as_a_unit(void **state)
{
	struct move m;

	move_boot(&m, "7.3");
	rig_movable(&m.r, 16, 4);
	rig_free(&m.r, 7 * 512 + 64, 64);
	take(&m, 16);
	assert_int_equal(migrate(&m, FL_MIGRATE_ASYNC), 0);
	assert_int_equal(m.moved, 16);
	for (unsigned int i = 0; i < 16; i++)
		assert_int_equal(mapped_at(&m, 16 + i), 7 * 512 + 64 + i);
	assert_int_equal(fl_folio_order(m.r.mem, 7 * 512 + 64), 4);
	assert_int_equal(m.cc.nr_freepages, 48); /* the rest of the chunk is kept, split */
	assert_int_equal(m.r.mem->mthp[4][FL_MTHP_nr_anon], 1);
	move_done(&m);
}

static void test_a_huge_page_counts_as_one_event_and_512_pages(void **state)
{
	struct move m;

	move_boot(&m, "7.3");
	rig_movable(&m.r, 512, 9);
	rig_free(&m.r, 6 * 512, 1024);
	take(&m, 512);
	m.cc.freepages[9].count = 0;
	assert_true(fl_isolate_free_page(m.r.mem, m.r.zone, 6 * 512, 10));
	fl_pfn_list_add(&m.r.mem->frames, &m.cc.freepages[10], 6 * 512);
	m.cc.nr_freepages = 1024;
	assert_int_equal(migrate(&m, FL_MIGRATE_SYNC_LIGHT), 0);
	assert_int_equal(rig_count(&m.r, FL_VM_pgmigrate_success), 512);
	assert_int_equal(rig_count(&m.r, FL_VM_thp_migration_success), 1);
	move_done(&m);
}

/* ---- Failures: facts 5.2 ---- */

/* One page with this flag set after isolation; does it move? */
static bool moves(uint32_t flag, enum fl_migrate_mode mode)
{
	struct move m;
	int left;

	move_boot(&m, "7.3");
	rig_movable(&m.r, 10, 0);
	rig_movable(&m.r, 11, 0);
	rig_free(&m.r, 7 * 512, 8);
	take(&m, 10);
	take(&m, 11);
	m.r.mem->frames.state[10] |= flag;
	left = migrate(&m, mode);
	assert_int_equal(left, flag ? 1 : 0);
	assert_int_equal(m.moved, 2 - left); /* the other one moves all the same */
	assert_int_equal(m.cc.migratepages.count, left);
	assert_int_equal(rig_count(&m.r, FL_VM_pgmigrate_fail), left);
	m.r.mem->frames.state[10] &= ~flag;
	if (left) {
		assert_int_equal(mapped_at(&m, 10), 10);
		assert_false(flags_of(&m, 10) & FL_MIGRATING);
		assert_int_equal(m.cc.nr_freepages, 8 - 1); /* its target came back */
	}
	move_done(&m);
	return !left;
}

static void test_pinned_locked_and_written_pages_stay(void **state)
{
	assert_true(moves(0, FL_MIGRATE_ASYNC));
	assert_true(moves(0, FL_MIGRATE_SYNC_LIGHT));
	assert_false(moves(FL_PINNED, FL_MIGRATE_ASYNC));
	assert_false(moves(FL_PINNED, FL_MIGRATE_SYNC));
	assert_false(moves(FL_LOCKED, FL_MIGRATE_ASYNC));
	assert_false(moves(FL_LOCKED, FL_MIGRATE_SYNC_LIGHT));
	assert_false(moves(FL_WRITEBACK, FL_MIGRATE_ASYNC));
	assert_false(moves(FL_WRITEBACK, FL_MIGRATE_SYNC_LIGHT));
}

static void test_a_page_whose_owner_has_gone_is_freed_and_counts_as_moved(void **state)
{
	struct move m;

	move_boot(&m, "7.3");
	rig_movable(&m.r, 10, 0);
	take(&m, 10);
	assert_int_equal(fl_zap_range(m.r.mem, m.r.who, m.r.mm, m.r.base + 10, m.r.base + 11), 1);
	assert_true(flags_of(&m, 10) & FL_ISOLATED); /* isolation holds it */
	assert_int_equal(migrate(&m, FL_MIGRATE_ASYNC), 0);
	assert_int_equal(m.moved, 1); /* no target was needed: there is none */
	assert_int_equal(rig_kind(&m.r, 10), FL_KIND_PCP);
	assert_int_equal(m.r.mem->lru->isolated[0], 0);
	move_done(&m);
}

static void test_without_a_target_the_batch_ends_with_enomem(void **state)
{
	struct move m;

	move_boot(&m, "7.3");
	rig_movable(&m.r, 10, 0);
	rig_movable(&m.r, 11, 0);
	take(&m, 10);
	take(&m, 11);
	assert_int_equal(migrate(&m, FL_MIGRATE_ASYNC), -ENOMEM);
	assert_int_equal(m.cc.migratepages.count, 2);
	assert_int_equal(rig_count(&m.r, FL_VM_pgmigrate_fail), 1); /* the other was not tried */
	move_done(&m);
}

/* ---- Large folios: facts 5.3 ---- */

static void free_single_targets(struct move *m)
{
	for (unsigned int i = 0; i < 40; i++)
		rig_free(&m->r, 7 * 512 + 2 * i, 1);
}

static void test_a_large_folio_without_a_large_target_is_split_and_its_pieces_move(void **state)
{
	struct move m;

	move_boot(&m, "7.3");
	rig_movable(&m.r, 16, 4);
	free_single_targets(&m);
	take(&m, 16);
	assert_int_equal(migrate(&m, FL_MIGRATE_SYNC_LIGHT), 0); /* the list is empty in the end */
	assert_int_equal(m.moved, 16);
	assert_int_equal(m.r.mem->mthp[4][FL_MTHP_split], 1);
	for (unsigned int i = 0; i < 16; i++)
		assert_true(mapped_at(&m, 16 + i) >= 7 * 512);
	move_done(&m);
}

static void test_a_large_folio_that_cannot_be_split_ends_the_batch(void **state)
{
	struct move m;

	move_boot(&m, "7.3");
	rig_movable(&m.r, 16, 4);
	rig_movable(&m.r, 40, 0);
	free_single_targets(&m);
	take(&m, 16);
	take(&m, 40);
	m.r.mem->frames.state[16] |= FL_LOCKED;
	assert_int_equal(migrate(&m, FL_MIGRATE_SYNC_LIGHT), -ENOMEM);
	assert_int_equal(m.moved, 0);
	assert_int_equal(m.cc.migratepages.count, 2);
	m.r.mem->frames.state[16] &= ~FL_LOCKED;
	move_done(&m);
}

static void test_a_partially_mapped_folio_on_the_queue_is_split_first_and_counts_once(void **state)
{
	struct move m;

	move_boot(&m, "7.3");
	rig_movable(&m.r, 16, 4);
	rig_movable(&m.r, 40, 0);
	rig_free(&m.r, 7 * 512, 64);
	fl_zap_range(m.r.mem, m.r.who, m.r.mm, m.r.base + 16, m.r.base + 20);
	assert_true(flags_of(&m, 16) & FL_DEFERRED);
	take(&m, 16);
	m.r.mem->frames.state[40] |= FL_PINNED;
	take(&m, 40);
	assert_int_equal(migrate(&m, FL_MIGRATE_ASYNC), 2); /* the split one, and the pinned one */
	assert_int_equal(m.moved, 12);
	assert_int_equal(m.r.mem->mthp[4][FL_MTHP_split], 1);
	m.r.mem->frames.state[40] &= ~FL_PINNED;
	move_done(&m);
}

static void test_putback_returns_folios_to_the_lru_and_frees_orphans(void **state)
{
	struct move m;

	move_boot(&m, "7.3");
	rig_movable(&m.r, 10, 0);
	rig_movable(&m.r, 11, 0);
	take(&m, 10);
	take(&m, 11);
	fl_zap_range(m.r.mem, m.r.who, m.r.mm, m.r.base + 10, m.r.base + 11);
	fl_putback_movable_pages(m.r.mem, m.r.who, &m.cc.migratepages);
	assert_true(fl_pfn_list_empty(&m.cc.migratepages));
	assert_int_equal(rig_kind(&m.r, 10), FL_KIND_PCP);
	fl_lru_add_drain(m.r.mem, m.r.who);
	assert_true(flags_of(&m, 11) & FL_LRU);
	move_done(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_moved_page_keeps_its_mapping_flags_and_owner),
		cmocka_unit_test(test_a_lazyfree_page_stays_lazyfree),
		cmocka_unit_test(test_a_large_folio_moves_as_a_unit),
		cmocka_unit_test(test_a_huge_page_counts_as_one_event_and_512_pages),
		cmocka_unit_test(test_pinned_locked_and_written_pages_stay),
		cmocka_unit_test(test_a_page_whose_owner_has_gone_is_freed_and_counts_as_moved),
		cmocka_unit_test(test_without_a_target_the_batch_ends_with_enomem),
		cmocka_unit_test(test_a_large_folio_without_a_large_target_is_split_and_its_pieces_move),
		cmocka_unit_test(test_a_large_folio_that_cannot_be_split_ends_the_batch),
		cmocka_unit_test(test_a_partially_mapped_folio_on_the_queue_is_split_first_and_counts_once),
		cmocka_unit_test(test_putback_returns_folios_to_the_lru_and_frees_orphans),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
