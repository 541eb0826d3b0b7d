/*
 * tests/mm/compact_decisions_test.c - the points at which patches of compaction act: score order, skip rule, running beside
 * kswapd, target order of proactive runs, effective free pages. Each is laid over a base here and its effect is seen; the
 * patches themselves are files of the kernel room.
 */
#include "compact_rig.h"

#include "mm/internal.h"
#include "sim/sim.h"

/* Serve order 2 when it is set to always. */
static unsigned int score_smallest_always(const struct fl_score_order_facts *facts)
{
	return facts->thp.always ? (unsigned int)__builtin_ctz(facts->thp.always) : facts->thp.pmd_order;
}

static bool skip_satisfied_live(const struct fl_skip_isolation_facts *facts)
{
	if (facts->target_order < 0 && facts->folio_order >= facts->score_order)
		return true;
	return facts->folio_order >= facts->pageblock_order;
}

static bool skip_satisfied_in_proactive_runs(const struct fl_skip_isolation_facts *facts)
{
	if (facts->proactive && facts->folio_order >= facts->run_score_order)
		return true;
	return facts->folio_order >= facts->pageblock_order;
}

static int order_is_score_order(const struct fl_proactive_order_facts *facts)
{
	return (int)facts->score_order;
}

static unsigned int count_from_order_2_in_success_test(const struct fl_effective_free_facts *facts)
{
	return facts->test == FL_FREE_TEST_SUIT_DIRECT || facts->test == FL_FREE_TEST_SUIT_KCOMPACTD ? 2 : 0;
}

static unsigned int count_from_order_2_in_gap_test(const struct fl_effective_free_facts *facts)
{
	return facts->test == FL_FREE_TEST_SUIT_GAP ? 2 : 0;
}

static void boot_with_order_2(struct rig *r)
{
	rig_boot(r, "7.3", 8);
	r->mem->set.thp_size[2] = FL_THP_SIZE_ALWAYS;
}

static void test_the_score_follows_the_order_that_the_decision_names(void **state)
{
	struct rig r;

	boot_with_order_2(&r);
	rig_free(&r, 0, 256);
	rig_free(&r, 513, 64);
	assert_int_equal(fl_proactive_score_order(r.mem), 9);
	assert_int_equal(fl_fragmentation_score_node(r.mem), 100 * 4096 / 5121);
	r.mem->decide.proactive_score_order = score_smallest_always;
	assert_int_equal(fl_proactive_score_order(r.mem), 2);
	assert_true(fl_fragmentation_score_node(r.mem) < 2);
	r.mem->set.thp_size[2] = FL_THP_SIZE_MADVISE; /* read live */
	assert_int_equal(fl_proactive_score_order(r.mem), 9);
	rig_done(&r);
}

/* Folios of order 2 among single pages: how many pages does a run without an order move? */
static uint64_t moved_by(bool (*skip)(const struct fl_skip_isolation_facts *), bool proactive)
{
	struct rig r;
	uint64_t split;

	boot_with_order_2(&r);
	r.mem->decide.proactive_score_order = score_smallest_always;
	if (skip)
		r.mem->decide.compact_skip_folio = skip;
	r.mem->set.compaction_proactiveness = 100; /* on until the scanners meet */
	for (unsigned int i = 0; i < 64; i++)
		rig_movable(&r, 8 * i, 2);
	rig_movable_range(&r, 2 * 512, 512);
	for (unsigned int i = 0; i < 128; i++) {
		rig_free(&r, 4 * 512 + 8 * i, 4);
		rig_free(&r, 6 * 512 + 2 * i, 1);
	}
	fl_compact_node(r.mem, r.who, proactive);
	split = r.mem->mthp[2][FL_MTHP_nr_anon];
	for (unsigned int i = 0, stayed = 0; i < 64; i++) {
		stayed += fl_pte_pfn(fl_pte_look(r.mem, r.mm, r.base + 8 * i)) == 8 * i;
		if (i == 63)
			split = stayed;
	}
	rig_done(&r);
	return 64 - split;
}

static void test_the_skip_rule_may_spare_folios_that_serve_the_order(void **state)
{
	assert_int_equal(moved_by(NULL, true), 64);
	assert_int_equal(moved_by(NULL, false), 64);
	/* a rule that looks at the order alone spares them in manual runs too */
	assert_int_equal(moved_by(skip_satisfied_live, true), 0);
	assert_int_equal(moved_by(skip_satisfied_live, false), 0);
	assert_int_equal(moved_by(skip_satisfied_in_proactive_runs, true), 0);
	assert_int_equal(moved_by(skip_satisfied_in_proactive_runs, false), 64);
}

static void test_a_target_order_for_proactive_runs_turns_suitability_on(void **state)
{
	struct rig r;

	boot_with_order_2(&r);
	r.mem->decide.proactive_score_order = score_smallest_always;
	r.mem->set.compaction_proactiveness = 100;
	rig_movable_range(&r, 0, 512);
	rig_free(&r, 6 * 512, 8); /* an order-2 page is there: suitability says SUCCESS */
	rig_free(&r, 6 * 512 + 17, 1);
	r.mem->decide.proactive_order = order_is_score_order;
	fl_compact_node(r.mem, r.who, true);
	assert_int_equal(rig_count(&r, FL_VM_compact_migrate_scanned), 0);
	r.mem->decide.proactive_order = r.f.kernel.decide.proactive_order;
	fl_compact_node(r.mem, r.who, true);
	assert_true(rig_count(&r, FL_VM_compact_migrate_scanned) > 0);
	rig_done(&r);
}

static void test_effective_free_pages_act_in_the_test_that_the_decision_names(void **state)
{
	struct rig r;

	boot_with_order_2(&r);
	rig_set_marks(r.zone, 100, 110, 120);
	rig_free(&r, 1024, 64);
	for (unsigned int i = 0; i < 100; i++)
		rig_free(&r, 2048 + 2 * i, 1);
	assert_int_equal(fl_zone_effective_free_pages(r.mem, r.zone, FL_FREE_TEST_SUIT_DIRECT, 2), 164);
	assert_int_equal(fl_compaction_suit_allocation_order(r.mem, r.who, r.zone, 2, FL_ZONE_NORMAL, FL_WMARK_MIN,
							     false),
			 FL_COMPACT_SUCCESS);
	r.mem->decide.effective_free_order = count_from_order_2_in_success_test;
	assert_int_equal(fl_zone_effective_free_pages(r.mem, r.zone, FL_FREE_TEST_SUIT_DIRECT, 2), 64);
	assert_int_equal(fl_zone_effective_free_pages(r.mem, r.zone, FL_FREE_TEST_KSWAPD_BALANCED, 2), 164);
	assert_int_equal(fl_compaction_suit_allocation_order(r.mem, r.who, r.zone, 2, FL_ZONE_NORMAL, FL_WMARK_MIN,
							     false),
			 FL_COMPACT_CONTINUE);
	/* the danger: in the gap test, fragmentation looks like shortage */
	assert_true(fl_compaction_suitable(r.mem, r.who, r.zone, 2, 100, FL_ZONE_NORMAL));
	r.mem->decide.effective_free_order = count_from_order_2_in_gap_test;
	assert_false(fl_compaction_suitable(r.mem, r.who, r.zone, 2, 100, FL_ZONE_NORMAL));
	rig_done(&r);
}

/* ---- Beside kswapd ---- */

static void never_ends(struct fl_task *task, void *arg)
{
	for (;;)
		fl_spend(task, FL_MS_NS);
}

static bool only_once_started(const struct fl_beside_kswapd_facts *facts)
{
	return !facts->at_start;
}

static bool always_beside(const struct fl_beside_kswapd_facts *facts)
{
	return true;
}

/* kswapd spins all the time: does a run start, and does the finish test let it go on? */
static void beside(bool (*decision)(const struct fl_beside_kswapd_facts *), bool *starts, bool *goes_on)
{
	struct fl_compact_control cc;
	struct fl_task *kswapd;
	struct fl_sim *sim;
	struct rig r;

	rig_boot(&r, "7.3", 8);
	sim = fl_sim_new(1, 1);
	r.mem->sim = sim;
	kswapd = fl_task_new(sim, "kswapd0", true);
	r.mem->vmscan->kswapd = kswapd;
	fl_task_start(kswapd, never_ends, NULL);
	if (decision)
		r.mem->decide.proactive_beside_kswapd = decision;
	r.mem->set.compaction_proactiveness = 80;
	for (unsigned int i = 0; i < 1500; i++) {
		rig_free(&r, 2 * i, 1);
		rig_movable(&r, 2 * i + 1, 0);
	}
	fl_kcompactd_new(r.mem);
	fl_sim_run(sim, fl_sim_now(sim) + 2000 * FL_MS_NS);
	assert_true(fl_kswapd_is_running(r.mem));
	*starts = r.mem->work[FL_WORK_migrate_scanned][FL_ACTOR_KCOMPACTD][FL_TRIGGER_TIMER] > 0;
	cc = rig_control(&r, -1, FL_MIGRATE_SYNC_LIGHT);
	cc.proactive_compaction = true;
	*goes_on = fl_compact_finished(r.mem, r.who, &cc) != FL_COMPACT_PARTIAL_SKIPPED;
	fl_sim_free(sim);
	r.mem->vmscan->kswapd = NULL;
	r.mem->sim = NULL;
	rig_done(&r);
}

static void test_proactive_runs_neither_start_nor_go_on_while_kswapd_runs_unless_decided(void **state)
{
	bool starts, goes_on;

	beside(NULL, &starts, &goes_on);
	assert_false(starts);
	assert_false(goes_on);
	beside(only_once_started, &starts, &goes_on);
	assert_false(starts);
	assert_true(goes_on);
	beside(always_beside, &starts, &goes_on);
	assert_true(starts);
	assert_true(goes_on);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_score_follows_the_order_that_the_decision_names),
		cmocka_unit_test(test_the_skip_rule_may_spare_folios_that_serve_the_order),
		cmocka_unit_test(test_a_target_order_for_proactive_runs_turns_suitability_on),
		cmocka_unit_test(test_effective_free_pages_act_in_the_test_that_the_decision_names),
		cmocka_unit_test(test_proactive_runs_neither_start_nor_go_on_while_kswapd_runs_unless_decided),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
