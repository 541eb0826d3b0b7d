/* tests/mm/filemap_test.c - the page cache, readahead, dirty pages, the flusher (with time where it matters). */
#include "mm/filemap_internal.h"
#include "mm/page_io.h"
#include "reclaim_fixture.h"
#include "sim/device.h"

static void test_pages_of_a_block_device_are_unmovable_requests_on_the_lru(void **state)
{
	struct fixture f = { 0 };
	fl_mapping_id device, file;
	fl_pfn pfn;

	(void)state;
	reclaim_boot(&f, BASE_73, 64, 0);
	device = fl_file_create(f.mem, FL_MAPPING_BLOCKDEV, NULL, 64);
	file = fl_file_create(f.mem, FL_MAPPING_REGULAR, NULL, 64);
	fl_file_read(f.mem, &f.who, device, 0, 64);
	fl_file_read(f.mem, &f.who, file, 0, 64);
	fl_lru_add_drain_all(f.mem, &f.who);
	pfn = fl_filemap_lookup(f.mem, device, 0);
	assert_int_equal(fl_pageblock_type(f.mem, pfn), FL_UNMOVABLE);
	assert_true(f.mem->frames.state[pfn] & FL_LRU);
	assert_true(fl_kind_is_movable(fl_state_kind(f.mem->frames.state[pfn])));
	assert_int_equal(fl_pageblock_type(f.mem, fl_filemap_lookup(f.mem, file, 0)), FL_MOVABLE);
	assert_int_equal(f.mem->lru->size[FL_LRU_INACTIVE_FILE], 128);
	fixture_done(&f);
}

static void test_nodes_of_the_index_are_reclaimable_slab(void **state)
{
	struct fixture f = { 0 };
	fl_mapping_id id;

	(void)state;
	reclaim_boot(&f, BASE_73, 64, 0);
	id = read_file(&f, 6400);
	assert_true(fl_slab_stat(f.mem, FL_SLAB_radix_tree_node).active_objects >= 100);
	fl_file_delete(f.mem, &f.who, id);
	fl_slab_flush(f.mem, &f.who, FL_SLAB_radix_tree_node);
	assert_int_equal(fl_slab_stat(f.mem, FL_SLAB_radix_tree_node).active_objects, 0);
	fixture_done(&f);
}

static void test_written_pages_have_a_buffer_head_while_they_are_cached(void **state)
{
	struct fixture f = { 0 };
	fl_mapping_id id;

	(void)state;
	reclaim_boot(&f, BASE_612, 64, 0);
	id = read_file(&f, 390);
	assert_int_equal(fl_slab_stat(f.mem, FL_SLAB_buffer_head).slabs, 0);
	fl_file_write(f.mem, &f.who, id, 0, 390);
	assert_int_equal(fl_slab_stat(f.mem, FL_SLAB_buffer_head).slabs, 10); /* 39 in a page; 7.3 would keep some in sheaves */
	fl_file_write(f.mem, &f.who, id, 0, 390);
	assert_int_equal(fl_slab_stat(f.mem, FL_SLAB_buffer_head).slabs, 10);
	fl_file_fsync(f.mem, &f.who, id);
	fl_drop_caches(f.mem, &f.who, 1);
	fl_slab_flush(f.mem, &f.who, FL_SLAB_buffer_head);
	assert_int_equal(fl_slab_stat(f.mem, FL_SLAB_buffer_head).active_objects, 0);
	fixture_done(&f);
}

static void test_windows_of_readahead_grow_to_32_pages(void **state)
{
	(void)state;
	assert_int_equal(fl_readahead_init_size(1, 32), 4);
	assert_int_equal(fl_readahead_init_size(4, 32), 8);
	assert_int_equal(fl_readahead_init_size(8, 32), 16);
	assert_int_equal(fl_readahead_init_size(9, 32), 32);
	assert_int_equal(fl_readahead_next_size(4, 32), 8);
	assert_int_equal(fl_readahead_next_size(16, 32), 32);
	assert_int_equal(fl_readahead_next_size(32, 32), 32);
	assert_int_equal(fl_readahead_next_size(1, 32), 4);
}

static void test_a_page_read_at_random_brings_no_neighbours(void **state)
{
	struct fixture f = { 0 };
	fl_mapping_id id;

	(void)state;
	reclaim_boot(&f, BASE_73, 64, 0);
	id = fl_file_create(f.mem, FL_MAPPING_REGULAR, NULL, 10000);
	fl_file_read(f.mem, &f.who, id, 5000, 1);
	assert_int_equal(fl_file_cached(f.mem, id), 1);
	fl_file_read(f.mem, &f.who, id, 9000, 1);
	assert_int_equal(fl_file_cached(f.mem, id), 2);
	fl_file_read(f.mem, &f.who, id, 0, 1); /* the start of a file is taken for a stream */
	assert_int_equal(fl_file_cached(f.mem, id), 2 + 4);
	fixture_done(&f);
}

static void test_a_file_advised_to_be_read_at_random_gets_no_readahead(void **state)
{
	struct fixture f = { 0 };
	fl_mapping_id id;

	(void)state;
	reclaim_boot(&f, BASE_73, 64, 0);
	id = fl_file_create(f.mem, FL_MAPPING_REGULAR, NULL, 64);
	fl_file_advise(f.mem, id, true);
	for (uint32_t i = 0; i < 4; i++)
		fl_file_read(f.mem, &f.who, id, i, 1);
	assert_int_equal(fl_file_cached(f.mem, id), 4);
	fl_file_advise(f.mem, id, false);
	fl_file_read(f.mem, &f.who, id, 4, 1);
	assert_true(fl_file_cached(f.mem, id) > 5);
	fixture_done(&f);
}

static void test_a_sequential_reader_stays_ahead_by_a_window(void **state)
{
	struct fixture f = { 0 };
	fl_mapping_id id;

	(void)state;
	reclaim_boot(&f, BASE_73, 64, 0);
	id = fl_file_create(f.mem, FL_MAPPING_REGULAR, NULL, 10000);
	for (uint32_t i = 0; i < 200; i++)
		fl_file_read(f.mem, &f.who, id, i, 1);
	assert_in_range(fl_file_cached(f.mem, id), 200 + 1, 200 + 64);
	fixture_done(&f);
}

static void test_a_read_ends_at_the_end_of_the_file(void **state)
{
	struct fixture f = { 0 };
	fl_mapping_id id;

	(void)state;
	reclaim_boot(&f, BASE_73, 64, 0);
	id = fl_file_create(f.mem, FL_MAPPING_REGULAR, NULL, 10);
	assert_int_equal(fl_file_read(f.mem, &f.who, id, 5, 100), 5);
	assert_int_equal(fl_file_read(f.mem, &f.who, id, 10, 1), 0);
	assert_int_equal(fl_filemap_fault(f.mem, &f.who, id, 10, NULL), FL_PFN_NONE);
	fixture_done(&f);
}

static void test_eviction_leaves_a_shadow_and_the_next_read_refaults(void **state)
{
	struct fixture f = { 0 };
	fl_mapping_id id;

	(void)state;
	reclaim_boot(&f, BASE_73, 64, 0);
	id = read_file(&f, 64);
	forget_references(&f, id);
	assert_int_equal(slice(&f, FL_LRU_INACTIVE_FILE, 64), 64);
	assert_int_equal(fl_file_cached(f.mem, id), 0);
	assert_int_equal(fl_mapping_of(f.mem, id)->shadows, 64);
	fl_file_read(f.mem, &f.who, id, 0, 64);
	assert_int_equal(counter(&f, FL_VM_workingset_refault_file), 64);
	assert_int_equal(fl_mapping_of(f.mem, id)->shadows, 0);
	fixture_done(&f);
}

static void test_drop_caches_spares_what_is_dirty_or_mapped(void **state)
{
	struct fixture f = { 0 };
	struct fl_mm *mm;
	fl_mapping_id clean, dirty, mapped;
	fl_vpn at;

	(void)state;
	reclaim_boot(&f, BASE_73, 64, 0);
	clean = read_file(&f, 64);
	mapped = read_file(&f, 64);
	dirty = fl_file_create(f.mem, FL_MAPPING_REGULAR, NULL, 0);
	fl_file_write(f.mem, &f.who, dirty, 0, 64);
	mm = fl_mm_new(f.mem, &f.who);
	at = fl_mmap(f.mem, &f.who, mm,
		     &(struct fl_map_request){ .pages = 64, .type = FL_VMA_FILE, .mapping = mapped });
	fl_touch_range(f.mem, &f.who, mm, at, 64, 1, false);
	fl_drop_caches(f.mem, &f.who, 1);
	assert_int_equal(fl_file_cached(f.mem, clean), 0);
	assert_int_equal(fl_file_cached(f.mem, mapped), 64);
	assert_int_equal(fl_file_cached(f.mem, dirty), 64);
	fl_file_fsync(f.mem, &f.who, dirty);
	fl_drop_caches(f.mem, &f.who, 1);
	assert_int_equal(fl_file_cached(f.mem, dirty), 0);
	assert_int_equal(counter(&f, FL_VM_drop_pagecache), 2);
	fixture_done(&f);
}

static void test_truncation_unmaps_and_frees(void **state)
{
	struct fixture f = { 0 };
	struct fl_mm *mm;
	fl_mapping_id id;
	fl_vpn at;

	(void)state;
	reclaim_boot(&f, BASE_73, 64, 0);
	id = read_file(&f, 64);
	fl_file_write(f.mem, &f.who, id, 0, 64);
	mm = fl_mm_new(f.mem, &f.who);
	at = fl_mmap(f.mem, &f.who, mm, &(struct fl_map_request){ .pages = 64, .type = FL_VMA_FILE, .mapping = id });
	fl_touch_range(f.mem, &f.who, mm, at, 64, 1, false);
	fl_file_truncate(f.mem, &f.who, id, 16);
	assert_int_equal(fl_file_cached(f.mem, id), 16);
	assert_int_equal(fl_nr_dirty(f.mem), 16);
	assert_int_equal(mm->file_pages, 16);
	assert_int_equal(fl_touch_range(f.mem, &f.who, mm, at + 16, 1, 1, false).end, FL_FAULT_BUS);
	fixture_done(&f);
}

static void test_mapped_file_pages_are_unmapped_by_reclaim(void **state)
{
	struct fixture f = { 0 };
	struct fl_mm *mm;
	fl_mapping_id id;
	fl_vpn at;

	(void)state;
	reclaim_boot(&f, BASE_73, 64, 0);
	id = read_file(&f, 64);
	mm = fl_mm_new(f.mem, &f.who);
	at = fl_mmap(f.mem, &f.who, mm, &(struct fl_map_request){ .pages = 64, .type = FL_VMA_FILE, .mapping = id });
	fl_touch_range(f.mem, &f.who, mm, at, 64, 1, true); /* written to through the page table */
	assert_int_equal(fl_nr_dirty(f.mem), 64);
	forget_references(&f, id);
	slice(&f, FL_LRU_INACTIVE_FILE, 64);
	assert_int_equal(mm->file_pages, 0);
	assert_int_equal(fl_file_cached(f.mem, id), 64); /* dirty: left to the flusher */
	fixture_done(&f);
}

/* ---- Dirty limits ---- */

static void test_dirty_limits_are_shares_of_free_and_file_pages_above_the_reserve(void **state)
{
	struct fixture f = { 0 };
	unsigned long background, dirty, pages;

	(void)state;
	reclaim_boot(&f, BASE_73, 64, 0);
	read_file(&f, 1000);
	touch_anon(&f, 3000);
	pages = (unsigned long)fixture_zone(&f)->nr_free_pages - fl_totalreserve_pages(f.mem) + 1000;
	assert_int_equal(fl_dirtyable_pages(f.mem), pages);
	fl_global_dirty_limits(f.mem, &background, &dirty);
	assert_int_equal(dirty, pages * 20 / 100);
	assert_int_equal(background, pages * 10 / 100);
	f.mem->set.dirty_background_ratio = 30; /* never at or above the limit */
	fl_global_dirty_limits(f.mem, &background, &dirty);
	assert_int_equal(background, dirty / 2);
	fixture_done(&f);
}

/* ---- With time ---- */

struct timed {
	struct fixture f;
	struct fl_device *disk;
	struct fl_task *task;
	fl_mapping_id file;
	uint32_t written;
	uint64_t worst; /* most dirty and writeback pages seen */
	fl_ns took;
};

static void timed_boot(struct timed *t, uint64_t bytes_per_s)
{
	const struct fl_device_model model = { .name = "disk", .read_latency_ns = 1000000, .write_latency_ns = 1000000,
					       .bytes_per_s = bytes_per_s, .parallel = 1 };

	t->f.sim = fl_sim_new(1, 2);
	fixture_geometry(&t->f, 0, 64, 2);
	fixture_boot(&t->f, BASE_73);
	t->disk = fl_device_new(t->f.sim, &model);
	t->task = fl_task_new(t->f.sim, "user", false);
	t->f.who = (struct fl_caller){ .task = t->task };
	fl_flusher_start(t->f.mem);
}

static void timed_end(struct timed *t)
{
	fl_mem_check(t->f.mem);
	fl_device_free(t->disk);
	fl_sim_free(t->f.sim);
	fl_mem_free(t->f.mem);
}

static void write_much(struct fl_task *task, void *arg)
{
	struct timed *t = arg;

	(void)task;
	t->file = fl_file_create(t->f.mem, FL_MAPPING_REGULAR, t->disk, 0);
	for (uint32_t i = 0; i < 20000; i += 100) {
		uint64_t busy;

		t->written += fl_file_write(t->f.mem, &t->f.who, t->file, i % 10000, 100);
		busy = fl_nr_dirty(t->f.mem) + fl_nr_writeback(t->f.mem);
		if (busy > t->worst)
			t->worst = busy;
	}
	t->took = fl_task_now(task);
}

static void test_a_writer_is_held_at_the_dirty_limit_and_runs_at_the_speed_of_the_disk(void **state)
{
	struct timed t = { 0 };
	unsigned long background, dirty;

	(void)state;
	timed_boot(&t, 40000000);
	fl_global_dirty_limits(t.f.mem, &background, &dirty);
	fl_task_start(t.task, write_much, &t);
	fl_sim_run(t.f.sim, 60 * FL_S_NS);
	assert_int_equal(t.written, 20000);
	assert_true(t.worst > background);
	assert_true(t.worst <= dirty + 128);
	/* 20000 pages are 82 MB; what exceeds the limit had to go to the disk at 40 MB/s, and a page may be rewritten. */
	assert_true(t.took > FL_S_NS / 2);
	timed_end(&t);
}

static void write_small_files(struct fl_task *task, void *arg)
{
	struct timed *t = arg;

	(void)task;
	for (uint32_t i = 0; i < 1250; i++) {
		uint64_t busy;

		t->file = fl_file_create(t->f.mem, FL_MAPPING_REGULAR, t->disk, 0);
		t->written += fl_file_write(t->f.mem, &t->f.who, t->file, 0, 16);
		busy = fl_nr_dirty(t->f.mem) + fl_nr_writeback(t->f.mem);
		if (busy > t->worst)
			t->worst = busy;
	}
}

static void test_a_writer_of_files_below_the_rate_limit_is_held_too(void **state)
{
	struct timed t = { 0 };
	unsigned long background, dirty;

	(void)state;
	timed_boot(&t, 40000000);
	fl_global_dirty_limits(t.f.mem, &background, &dirty);
	fl_task_start(t.task, write_small_files, &t);
	fl_sim_run(t.f.sim, 60 * FL_S_NS);
	assert_int_equal(t.written, 20000);
	assert_true(t.worst > background);
	assert_true(t.worst <= dirty + 128);
	timed_end(&t);
}

static void test_pages_that_are_written_again_stay_inactive(void **state)
{
	struct timed t = { 0 };

	(void)state;
	timed_boot(&t, 40000000);
	t.file = fl_file_create(t.f.mem, FL_MAPPING_REGULAR, t.disk, 0);
	for (uint32_t i = 0; i < 4; i++)
		fl_file_write(t.f.mem, &t.f.who, t.file, 0, 16);
	for (uint32_t i = 0; i < 16; i++)
		assert_false(t.f.mem->frames.state[fl_filemap_lookup(t.f.mem, t.file, i)] & FL_ACTIVE);
	timed_end(&t);
}

static void write_little(struct fl_task *task, void *arg)
{
	struct timed *t = arg;

	(void)task;
	t->file = fl_file_create(t->f.mem, FL_MAPPING_REGULAR, t->disk, 0);
	fl_file_write(t->f.mem, &t->f.who, t->file, 0, 100);
}

static void test_the_flusher_writes_what_has_been_dirty_for_30_seconds(void **state)
{
	struct timed t = { 0 };

	(void)state;
	timed_boot(&t, 40000000);
	fl_task_start(t.task, write_little, &t);
	fl_sim_run(t.f.sim, 29 * FL_S_NS);
	assert_int_equal(fl_nr_dirty(t.f.mem), 100);
	fl_sim_run(t.f.sim, 36 * FL_S_NS);
	assert_int_equal(fl_nr_dirty(t.f.mem), 0);
	assert_int_equal(counter(&t.f, FL_VM_nr_written), 100);
	timed_end(&t);
}

static void read_much(struct fl_task *task, void *arg)
{
	struct timed *t = arg;

	t->file = fl_file_create(t->f.mem, FL_MAPPING_REGULAR, t->disk, 10000);
	assert_int_equal(fl_file_read(t->f.mem, &t->f.who, t->file, 0, 10000), 10000);
	t->took = fl_task_now(task);
}

static void test_a_sequential_read_runs_at_the_speed_of_the_disk(void **state)
{
	struct timed t = { 0 };
	fl_ns least = UINT64_C(10000) * 4096 * FL_S_NS / 40000000;

	(void)state;
	timed_boot(&t, 40000000);
	fl_task_start(t.task, read_much, &t);
	fl_sim_run(t.f.sim, 60 * FL_S_NS);
	assert_true(t.took >= least);
	assert_true(t.took < 2 * least);
	timed_end(&t);
}

static void delete_under_io(struct fl_task *task, void *arg)
{
	struct timed *t = arg;

	(void)task;
	t->file = fl_file_create(t->f.mem, FL_MAPPING_REGULAR, t->disk, 0);
	fl_file_write(t->f.mem, &t->f.who, t->file, 0, 1000);
	fl_wakeup_flushers(t->f.mem);
	fl_task_sleep(task, FL_MS_NS);
	assert_true(fl_nr_writeback(t->f.mem) > 0);
	fl_file_delete(t->f.mem, &t->f.who, t->file);
	t->took = fl_task_now(task);
}

static void test_deletion_waits_for_writes_under_way(void **state)
{
	struct timed t = { 0 };

	(void)state;
	timed_boot(&t, 4000000);
	fl_task_start(t.task, delete_under_io, &t);
	fl_sim_run(t.f.sim, 10 * FL_S_NS);
	assert_true(t.took > 10 * FL_MS_NS);
	assert_int_equal(fl_filemap_pages(t.f.mem), 0);
	timed_end(&t);
}

/* ---- Waiting for a place in the queue of a device ---- */

static struct fl_waitqueue slots;
static unsigned int woken;

static void wait_for_slot(struct fl_task *task, void *arg)
{
	(void)arg;
	fl_wait(&slots, task);
	woken++;
}

static void end_nothing(struct fl_mem *mem, struct fl_caller *irq, fl_pfn folio)
{
	(void)mem;
	(void)irq;
	(void)folio;
}

static void submit_two(struct fl_task *task, void *arg)
{
	struct timed *t = arg;
	fl_pfn pfn = fl_page_alloc(t->f.mem, &t->f.who, FL_GFP_KERNEL, 0, FL_KIND_KERNEL);

	(void)task;
	for (int i = 0; i < 2; i++)
		fl_bio_submit(t->f.mem, &t->f.who, t->disk, &pfn, 1, true, &slots, end_nothing);
	fl_page_free(t->f.mem, &t->f.who, pfn, 0);
}

/* sbitmap_queue_wake_up(): the waiters are exclusive; nobody would wake those that are left when the last request ends. */
static void test_a_completed_request_wakes_one_waiter_and_the_last_one_all(void **state)
{
	struct timed t = { 0 };

	(void)state;
	woken = 0;
	timed_boot(&t, 0); /* 1 ms for each request, one at a time */
	for (int i = 0; i < 5; i++)
		fl_task_start(fl_task_new(t.f.sim, "waiter", false), wait_for_slot, NULL);
	fl_task_start(t.task, submit_two, &t);
	fl_sim_run(t.f.sim, FL_MS_NS / 2);
	assert_int_equal(woken, 0);
	fl_sim_run(t.f.sim, 3 * FL_MS_NS / 2);
	assert_int_equal(woken, 1);
	fl_sim_run(t.f.sim, 5 * FL_MS_NS / 2);
	assert_int_equal(woken, 5);
	timed_end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pages_of_a_block_device_are_unmovable_requests_on_the_lru),
		cmocka_unit_test(test_nodes_of_the_index_are_reclaimable_slab),
		cmocka_unit_test(test_written_pages_have_a_buffer_head_while_they_are_cached),
		cmocka_unit_test(test_windows_of_readahead_grow_to_32_pages),
		cmocka_unit_test(test_a_page_read_at_random_brings_no_neighbours),
		cmocka_unit_test(test_a_file_advised_to_be_read_at_random_gets_no_readahead),
		cmocka_unit_test(test_a_sequential_reader_stays_ahead_by_a_window),
		cmocka_unit_test(test_a_read_ends_at_the_end_of_the_file),
		cmocka_unit_test(test_eviction_leaves_a_shadow_and_the_next_read_refaults),
		cmocka_unit_test(test_drop_caches_spares_what_is_dirty_or_mapped),
		cmocka_unit_test(test_truncation_unmaps_and_frees),
		cmocka_unit_test(test_mapped_file_pages_are_unmapped_by_reclaim),
		cmocka_unit_test(test_dirty_limits_are_shares_of_free_and_file_pages_above_the_reserve),
		cmocka_unit_test(test_a_writer_is_held_at_the_dirty_limit_and_runs_at_the_speed_of_the_disk),
		cmocka_unit_test(test_a_writer_of_files_below_the_rate_limit_is_held_too),
		cmocka_unit_test(test_pages_that_are_written_again_stay_inactive),
		cmocka_unit_test(test_the_flusher_writes_what_has_been_dirty_for_30_seconds),
		cmocka_unit_test(test_a_sequential_read_runs_at_the_speed_of_the_disk),
		cmocka_unit_test(test_deletion_waits_for_writes_under_way),
		cmocka_unit_test(test_a_completed_request_wakes_one_waiter_and_the_last_one_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
