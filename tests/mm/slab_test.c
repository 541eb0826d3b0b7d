/* tests/mm/slab_test.c - rules of SLUB: geometry against a real machine, requests for slabs, partial frees, stores. */
#include "fixture.h"

#include "mm/dcache.h"
#include "mm/slab.h"

static struct fixture f;

static void start(const char *kernel, unsigned int blocks, unsigned int cpus)
{
	fixture_geometry(&f, 0, blocks, cpus);
	fixture_boot(&f, kernel);
}

static struct fl_slab_stat stat_of(enum fl_slab_cache cache)
{
	return fl_slab_stat(f.mem, cache);
}

/* slabinfo of a 6.18 machine (2 CPUs) and what the same formula gives for more: who-allocates, SLUB table. */
static void test_order_and_objects_equal_those_of_a_real_machine(void **state)
{
	static const struct {
		const char *name;
		unsigned int size, order[4], objects[4], min_order, min_objects, min_partial, cpu_partial;
	} rows[] = {
		{ "dentry", 192, { 0, 0, 0, 1 }, { 21, 21, 21, 42 }, 0, 21, 5, 120 },
		{ "inode_cache", 624, { 1, 2, 2, 2 }, { 13, 26, 26, 26 }, 0, 6, 5, 52 },
		{ "shmem_inode_cache", 752, { 2, 2, 2, 3 }, { 21, 21, 21, 43 }, 0, 5, 5, 52 },
		{ "ext4_inode_cache", 1128, { 2, 3, 3, 3 }, { 14, 29, 29, 29 }, 0, 3, 5, 24 },
		{ "xfs_inode", 1024, { 2, 2, 3, 3 }, { 16, 16, 32, 32 }, 0, 4, 5, 24 },
		{ "proc_inode_cache", 696, { 2, 2, 2, 3 }, { 23, 23, 23, 47 }, 0, 5, 5, 52 },
		{ "sock_inode_cache", 832, { 2, 2, 3, 3 }, { 19, 19, 39, 39 }, 0, 4, 5, 52 },
		{ "radix_tree_node", 584, { 1, 2, 2, 2 }, { 14, 28, 28, 28 }, 0, 7, 5, 52 },
		{ "buffer_head", 104, { 0, 0, 0, 0 }, { 39, 39, 39, 39 }, 0, 39, 5, 120 },
		{ "task_struct", 5824, { 3, 3, 3, 3 }, { 5, 5, 5, 5 }, 1, 1, 6, 6 },
		{ "mm_struct", 1600, { 3, 3, 3, 3 }, { 20, 20, 20, 20 }, 0, 2, 5, 24 },
		{ "maple_node", 256, { 0, 0, 1, 1 }, { 16, 16, 32, 32 }, 0, 16, 5, 52 },
		{ "files_cache", 704, { 2, 2, 2, 3 }, { 23, 23, 23, 46 }, 0, 5, 5, 52 },
		{ "signal_cache", 1152, { 2, 3, 3, 3 }, { 14, 28, 28, 28 }, 0, 3, 5, 24 },
		{ "sighand_cache", 2112, { 3, 3, 3, 3 }, { 15, 15, 15, 15 }, 0, 1, 5, 24 },
		{ "TCP", 2368, { 3, 3, 3, 3 }, { 13, 13, 13, 13 }, 0, 1, 5, 24 },
		{ "kmalloc-64", 64, { 0, 0, 0, 0 }, { 64, 64, 64, 64 }, 0, 64, 5, 120 },
		{ "kmalloc-512", 512, { 1, 1, 2, 2 }, { 16, 16, 32, 32 }, 0, 8, 5, 52 },
		{ "kmalloc-1k", 1024, { 2, 2, 3, 3 }, { 16, 16, 32, 32 }, 0, 4, 5, 24 },
		{ "kmalloc-2k", 2048, { 3, 3, 3, 3 }, { 16, 16, 16, 16 }, 0, 2, 5, 24 },
		{ "kmalloc-4k", 4096, { 3, 3, 3, 3 }, { 8, 8, 8, 8 }, 0, 1, 6, 6 },
		{ "kmalloc-8k", 8192, { 3, 3, 3, 3 }, { 4, 4, 4, 4 }, 1, 1, 6, 6 },
	};

	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (unsigned int c = 0; c < 4; c++) {
			struct fl_slab_geometry g = fl_slab_geometry(rows[i].size, 12, 2u << c);

			assert_int_equal(g.order, rows[i].order[c]);
			assert_int_equal(g.objects, rows[i].objects[c]);
			assert_int_equal(g.min_order, rows[i].min_order);
			assert_int_equal(g.min_objects, rows[i].min_objects);
			assert_int_equal(g.min_partial, rows[i].min_partial);
			assert_int_equal(g.cpu_partial, rows[i].cpu_partial);
		}
}

static void test_request_is_reclaimable_only_for_accounted_caches(void **state)
{
	fl_object inode, dentry;

	start("7.3", 16, 1);
	inode = fl_slab_alloc(f.mem, &f.who, FL_SLAB_shmem_inode_cache, FL_GFP_KERNEL);
	dentry = fl_slab_alloc(f.mem, &f.who, FL_SLAB_dentry, FL_GFP_KERNEL);
	assert_true(fl_slab_pages(f.mem, true) > 0);
	assert_true(fl_slab_pages(f.mem, false) > 0);
	for (fl_pfn pfn = 0; pfn < f.mem->frames.count; pfn++)
		if (fl_state_kind(f.mem->frames.state[pfn]) == FL_KIND_SLAB)
			assert_int_equal(fl_pageblock_type(f.mem, pfn),
					 f.mem->frames.record[pfn].index == FL_SLAB_dentry ? FL_RECLAIMABLE
											   : FL_UNMOVABLE);
	fl_slab_free(f.mem, &f.who, inode);
	fl_slab_free(f.mem, &f.who, dentry);
	fixture_done(&f);
}

static void fill_all_but_order_0(void)
{
	for (unsigned int order = 10; order > 0; order--)
		for (unsigned int type = 0; type < FL_PCPTYPES; type++) {
			fl_pfn pfn;

			while ((pfn = take_buddy(&f, order, type, 0)) != FL_PFN_NONE) {
				if (order != 9 && order != 10)
					continue;
				fl_page_split(f.mem, pfn, order);
				for (unsigned int k = 0; k < 1u << order; k += 2)
					give_buddy(&f, pfn + k, 0);
			}
		}
}

static void test_slab_falls_to_the_smallest_order_when_high_orders_are_gone(void **state)
{
	fl_object object;

	start("6.12", 16, 1);
	fill_all_but_order_0();
	object = fl_slab_alloc(f.mem, &f.who, FL_SLAB_kmalloc_cg_1k, FL_GFP_KERNEL);
	assert_int_not_equal(object, FL_OBJECT_NONE);
	assert_int_equal(stat_of(FL_SLAB_kmalloc_cg_1k).objects, 4); /* one page instead of an order-2 slab of 16 */
	assert_int_equal(fl_slab_alloc(f.mem, &f.who, FL_SLAB_task_struct, FL_GFP_KERNEL), FL_OBJECT_NONE);
	fl_slab_free(f.mem, &f.who, object);
	fixture_done(&f);
}

static void test_preferred_order_is_asked_for_without_any_reclaim_the_smallest_with_the_callers_mask(void **state)
{
	const fl_gfp quiet = FL_GFP_NOWARN | FL_GFP_NORETRY;
	struct requests r;

	start("7.3", 16, 1);
	fill_all_but_order_0();
	record_requests(&f, &r);
	fl_slab_alloc(f.mem, &f.who, FL_SLAB_ext4_inode_cache, FL_GFP_NOFS);
	assert_true(r.count >= 2);
	assert_int_equal(r.order[0], 2);
	assert_true(r.failed[0]);
	assert_int_equal(r.gfp[0] & FL_GFP_RECLAIM, 0);
	assert_int_equal(r.gfp[0] & (quiet | FL_GFP_NOMEMALLOC), quiet | FL_GFP_NOMEMALLOC);
	assert_int_equal(r.order[1], 0);
	assert_int_equal(r.gfp[1], FL_GFP_NOFS | FL_GFP_RECLAIMABLE_BIT);
	/* where the preferred order is the smallest, the first try may reclaim */
	record_requests(&f, &r);
	fl_slab_alloc(f.mem, &f.who, FL_SLAB_dentry, FL_GFP_KERNEL);
	assert_int_equal(r.gfp[0] & FL_GFP_RECLAIM, FL_GFP_RECLAIM);
	fixture_done(&f);
}

static void test_one_object_keeps_its_slab(void **state)
{
	fl_object object[21 * 40];
	uint64_t slabs;

	start("6.12", 16, 1);
	for (unsigned int i = 0; i < 21 * 40; i++)
		object[i] = fl_slab_alloc(f.mem, &f.who, FL_SLAB_dentry, FL_GFP_KERNEL);
	assert_int_equal(stat_of(FL_SLAB_dentry).slabs, 40);
	for (unsigned int i = 0; i < 21 * 40; i++)
		if (i % 21)
			fl_slab_free(f.mem, &f.who, object[i]);
	assert_int_equal(stat_of(FL_SLAB_dentry).slabs, 40);
	assert_int_equal(stat_of(FL_SLAB_dentry).active_objects, 40);
	fl_slab_flush(f.mem, &f.who, FL_SLAB_dentry);
	assert_int_equal(stat_of(FL_SLAB_dentry).slabs, 40);
	for (unsigned int i = 0; i < 21 * 40; i += 21)
		fl_slab_free(f.mem, &f.who, object[i]);
	slabs = stat_of(FL_SLAB_dentry).slabs;
	assert_true(slabs <= 5 + 1); /* min_partial and the CPU slab */
	fl_slab_flush(f.mem, &f.who, FL_SLAB_dentry);
	assert_int_equal(stat_of(FL_SLAB_dentry).slabs, 0);
	fixture_done(&f);
}

static void test_empty_slabs_stay_only_while_the_node_has_fewer_than_min_partial(void **state)
{
	fl_object object[21 * 100];

	start("6.12", 16, 1);
	for (unsigned int i = 0; i < 21 * 100; i++)
		object[i] = fl_slab_alloc(f.mem, &f.who, FL_SLAB_dentry, FL_GFP_KERNEL);
	for (unsigned int i = 0; i < 21 * 100; i++)
		fl_slab_free(f.mem, &f.who, object[i]);
	/* cpu partial: 120 objects x 2 / 21 = 12 slabs; CPU slab 1; node 5 */
	assert_true(stat_of(FL_SLAB_dentry).slabs <= 12 + 1 + 5);
	assert_true(stat_of(FL_SLAB_dentry).slabs >= 5);
	fixture_done(&f);
}

/* 7.3, 2 CPUs: about 840 dentries stay in the stores (who-allocates); one CPU: 2 x 60 + 10 x 60. */
static void test_sheaves_hold_freed_objects_and_their_slabs(void **state)
{
	static fl_object object[21 * 100];

	start("7.3", 16, 1);
	for (unsigned int i = 0; i < 21 * 100; i++)
		object[i] = fl_slab_alloc(f.mem, &f.who, FL_SLAB_dentry, FL_GFP_KERNEL);
	for (unsigned int i = 0; i < 21 * 100; i++)
		fl_slab_free(f.mem, &f.who, object[i * 47 % (21 * 100)]);
	assert_int_equal(stat_of(FL_SLAB_dentry).active_objects, 0);
	assert_in_range(stat_of(FL_SLAB_dentry).cached_objects, 11 * 60, 12 * 60);
	assert_true(stat_of(FL_SLAB_dentry).slabs > 35);
	fl_mem_check(f.mem);
	fl_slab_flush(f.mem, &f.who, FL_SLAB_CACHES_COUNT);
	assert_int_equal(stat_of(FL_SLAB_dentry).slabs, 0);
	fixture_done(&f);
}

/* ---- Files ---- */

static void test_tmpfs_files_are_pinned_and_press_as_unmovable(void **state)
{
	uint32_t file[200];

	start("7.3", 16, 1);
	for (unsigned int i = 0; i < 200; i++)
		file[i] = fl_dentry_create(f.mem, &f.who, FL_FS_TMPFS);
	assert_int_equal(fl_dcache_count(f.mem), 0);
	assert_int_equal(stat_of(FL_SLAB_shmem_inode_cache).active_objects, 200);
	assert_int_equal(stat_of(FL_SLAB_dentry).active_objects, 200);
	for (unsigned int i = 0; i < 200; i++)
		fl_dentry_delete(f.mem, &f.who, file[i]);
	assert_int_equal(stat_of(FL_SLAB_dentry).active_objects, 0);
	fixture_done(&f);
}

static void test_shrinker_takes_oldest_dentries_first_and_spares_referenced_ones_once(void **state)
{
	uint32_t file[100];

	start("7.3", 16, 1);
	for (unsigned int i = 0; i < 100; i++)
		file[i] = fl_dentry_create(f.mem, &f.who, FL_FS_EXT4);
	fl_dentry_lookup(f.mem, &f.who, file[3]);
	assert_int_equal(fl_dcache_shrink(f.mem, &f.who, 10), 9);
	assert_false(fl_dentry_is_cached(f.mem, file[0]));
	assert_true(fl_dentry_is_cached(f.mem, file[3]));
	assert_false(fl_dentry_is_cached(f.mem, file[9]));
	assert_true(fl_dentry_is_cached(f.mem, file[10]));
	assert_int_equal(fl_dcache_count(f.mem), 91);
	assert_int_equal(fl_icache_count(f.mem), 9); /* an inode follows its dentry */
	assert_int_equal(fl_icache_shrink(f.mem, &f.who, 100), 9);
	assert_true(fl_dentry_lookup(f.mem, &f.who, file[0]));
	assert_int_equal(fl_icache_count(f.mem), 0);
	assert_int_equal(fl_dcache_shrink(f.mem, &f.who, 200), 92);
	assert_false(fl_dentry_is_cached(f.mem, file[3])); /* one more round only */
	fl_mem_check(f.mem);
	for (unsigned int i = 0; i < 100; i++)
		fl_dentry_delete(f.mem, &f.who, file[i]);
	assert_int_equal(fl_dcache_count(f.mem), 0);
	fixture_done(&f);
}

static void test_open_files_keep_dentry_and_inode_and_a_struct_file(void **state)
{
	uint32_t file[20];

	start("7.3", 16, 1);
	for (unsigned int i = 0; i < 20; i++) {
		file[i] = fl_dentry_create(f.mem, &f.who, FL_FS_EXT4);
		if (i % 2)
			assert_true(fl_dentry_open(f.mem, &f.who, file[i]) && fl_dentry_open(f.mem, &f.who, file[i]));
	}
	assert_int_equal(stat_of(FL_SLAB_filp).active_objects, 10);
	assert_int_equal(fl_dcache_count(f.mem), 10);
	assert_int_equal(fl_dcache_shrink(f.mem, &f.who, 40), 10);
	assert_int_equal(fl_icache_shrink(f.mem, &f.who, 40), 10);
	for (unsigned int i = 0; i < 20; i++)
		assert_true(fl_dentry_is_cached(f.mem, file[i]) == (i % 2 == 1));
	fl_dentry_close(f.mem, &f.who, file[1]);
	assert_false(fl_dentry_is_open(f.mem, file[1]));
	assert_int_equal(fl_dcache_shrink(f.mem, &f.who, 40), 1);
	fl_mem_check(f.mem);
	for (unsigned int i = 0; i < 20; i++)
		fl_dentry_delete(f.mem, &f.who, file[i]);
	assert_int_equal(stat_of(FL_SLAB_filp).active_objects, 0);
	fixture_done(&f);
}

static uint32_t pages_of_mapping(const struct fl_mem *mem, uint32_t mapping)
{
	return mapping == 7 ? 3 : 0;
}

static void test_inode_with_cached_pages_is_passed(void **state)
{
	uint32_t a, b;

	start("7.3", 16, 1);
	fl_dcache_set_pages(f.mem, pages_of_mapping);
	a = fl_dentry_create(f.mem, &f.who, FL_FS_EXT4);
	b = fl_dentry_create(f.mem, &f.who, FL_FS_EXT4);
	fl_dentry_set_mapping(f.mem, a, 7);
	fl_dcache_shrink(f.mem, &f.who, 2);
	assert_int_equal(fl_icache_shrink(f.mem, &f.who, 2), 1);
	assert_int_equal(fl_icache_count(f.mem), 1);
	fl_dentry_delete(f.mem, &f.who, a);
	fl_dentry_delete(f.mem, &f.who, b);
	fixture_done(&f);
}

/* Files come, are used, shrunk and go at random; stale entries never hurt. */
static void test_random_files_keep_all_invariants(void **state)
{
	for (unsigned int seed = 0; seed < 4; seed++) {
		uint32_t file[300];
		struct fl_rng rng;

		fl_rng_init(&rng, seed, "slab_test", 0);
		start(seed % 2 ? "6.12" : "7.3", 16, 2);
		for (unsigned int i = 0; i < 300; i++)
			file[i] = UINT32_MAX;
		for (unsigned int i = 0; i < 6000; i++) {
			uint32_t *one = &file[fl_rng_below(&rng, 300)];

			f.who.task = &f.task[fl_rng_below(&rng, 2)];
			if (*one == UINT32_MAX)
				*one = fl_dentry_create(f.mem, &f.who, fl_rng_below(&rng, 3));
			else if (fl_rng_chance(&rng, 1, 2))
				fl_dentry_lookup(f.mem, &f.who, *one);
			else
				fl_dentry_delete(f.mem, &f.who, *one), *one = UINT32_MAX;
			if (fl_rng_chance(&rng, 1, 50)) {
				fl_dcache_shrink(f.mem, &f.who, fl_rng_below(&rng, 100));
				fl_icache_shrink(f.mem, &f.who, fl_rng_below(&rng, 100));
			}
			if (i % 500 == 0)
				fl_mem_check(f.mem);
		}
		for (unsigned int i = 0; i < 300; i++)
			if (file[i] != UINT32_MAX)
				fl_dentry_delete(f.mem, &f.who, file[i]);
		fl_slab_flush(f.mem, &f.who, FL_SLAB_CACHES_COUNT);
		assert_int_equal(fl_slab_pages(f.mem, true) + fl_slab_pages(f.mem, false), 0);
		fixture_done(&f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order_and_objects_equal_those_of_a_real_machine),
		cmocka_unit_test(test_request_is_reclaimable_only_for_accounted_caches),
		cmocka_unit_test(test_slab_falls_to_the_smallest_order_when_high_orders_are_gone),
		cmocka_unit_test(
			test_preferred_order_is_asked_for_without_any_reclaim_the_smallest_with_the_callers_mask),
		cmocka_unit_test(test_one_object_keeps_its_slab),
		cmocka_unit_test(test_empty_slabs_stay_only_while_the_node_has_fewer_than_min_partial),
		cmocka_unit_test(test_sheaves_hold_freed_objects_and_their_slabs),
		cmocka_unit_test(test_tmpfs_files_are_pinned_and_press_as_unmovable),
		cmocka_unit_test(test_shrinker_takes_oldest_dentries_first_and_spares_referenced_ones_once),
		cmocka_unit_test(test_open_files_keep_dentry_and_inode_and_a_struct_file),
		cmocka_unit_test(test_inode_with_cached_pages_is_passed),
		cmocka_unit_test(test_random_files_keep_all_invariants),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
