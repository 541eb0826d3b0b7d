/* tests/mm/process_test.c - kernel memory of processes, threads, pipes and sockets (who allocates). */
#include "fixture.h"

#include "mm/ipc.h"
#include "mm/memory.h"
#include "mm/process.h"
#include "mm/slab.h"

static struct fixture f;

static void start(const char *kernel)
{
	fixture_geometry(&f, 0, 64, 2);
	fixture_boot(&f, kernel);
}

static uint64_t pages_of_kind(enum fl_kind kind)
{
	uint64_t pages = 0;

	for (fl_pfn pfn = 0; pfn < f.mem->frames.count; pfn++)
		if (fl_state_kind(f.mem->frames.state[pfn]) == kind)
			pages += 1u << fl_state_order(f.mem->frames.state[pfn]);
	return pages;
}

static void test_process_takes_objects_stack_pgd_and_gives_all_back(void **state)
{
	const char *kernels[] = { "6.12", "6.18", "7.3" };

	for (unsigned int i = 0; i < 3; i++) {
		struct fl_process *p;

		start(kernels[i]);
		p = fl_process_new(f.mem, &f.who);
		assert_non_null(p);
		assert_int_equal(pages_of_kind(FL_KIND_STACK), 4);
		assert_int_equal(pages_of_kind(FL_KIND_PGTABLE), FL_IMAGE_TABLES + (i ? 1 : 2));
		assert_int_equal(fl_slab_stat(f.mem, FL_SLAB_task_struct).active_objects, 1);
		assert_int_equal(fl_slab_stat(f.mem, FL_SLAB_mm_struct).active_objects, 1);
		fl_mem_check(f.mem);
		fl_process_exit(f.mem, &f.who, p);
		assert_int_equal(pages_of_kind(FL_KIND_PGTABLE), 0);
		assert_int_equal(fl_slab_stat(f.mem, FL_SLAB_task_struct).active_objects, 0);
		fixture_done(&f);
	}
}

static void test_two_stacks_a_cpu_are_kept_for_the_next_threads(void **state)
{
	struct fl_process *p;
	int slot[4];
	fl_pfn kept;

	start("7.3");
	p = fl_process_new(f.mem, &f.who);
	for (unsigned int i = 0; i < 4; i++)
		slot[i] = fl_thread_new(f.mem, &f.who, p);
	assert_int_equal(pages_of_kind(FL_KIND_STACK), 20);
	kept = p->thread[slot[0]].stack[0];
	for (unsigned int i = 0; i < 4; i++)
		fl_thread_exit(f.mem, &f.who, p, slot[i]);
	assert_int_equal(pages_of_kind(FL_KIND_STACK), 4 + 8);
	slot[0] = fl_thread_new(f.mem, &f.who, p);
	assert_int_equal(p->thread[slot[0]].stack[0], kept);
	fl_process_exit(f.mem, &f.who, p);
	fixture_done(&f);
}

static void stack_layout(const char *kernel, bool contiguous)
{
	struct fl_process *p[8];
	unsigned int together = 0;

	start(kernel);
	for (unsigned int i = 0; i < 8; i++) {
		const fl_pfn *stack;

		p[i] = fl_process_new(f.mem, &f.who);
		stack = p[i]->thread[0].stack;
		together += stack[0] % 4 == 0 && stack[1] == stack[0] + 1 && stack[2] == stack[0] + 2 &&
			    stack[3] == stack[0] + 3;
		for (unsigned int k = 0; k < 4; k++)
			assert_int_equal(fl_state_order(f.mem->frames.state[stack[k]]), 0);
	}
	if (contiguous)
		assert_int_equal(together, 8);
	else
		assert_true(together < 8);
	for (unsigned int i = 0; i < 8; i++)
		fl_process_exit(f.mem, &f.who, p[i]);
	fixture_done(&f);
}

static void test_stack_is_one_order_2_request_cut_up_in_7_3_and_single_pages_in_6_12(void **state)
{
	stack_layout("7.3", true);
	stack_layout("6.12", false);
	stack_layout("6.18", false);
}

static void test_high_order_of_a_stack_may_wake_kswapd_but_not_reclaim(void **state)
{
	struct fl_process *p;
	struct requests r;
	bool found = false;

	start("7.3");
	p = fl_process_new(f.mem, &f.who);
	record_requests(&f, &r);
	fl_thread_new(f.mem, &f.who, p);
	for (unsigned int i = 0; i < r.count; i++)
		if (r.order[i] == 2) {
			found = true;
			assert_int_equal(r.gfp[i] & FL_GFP_RECLAIM, FL_GFP_KSWAPD_RECLAIM);
		}
	assert_true(found);
	fl_process_exit(f.mem, &f.who, p);
	fixture_done(&f);
}

static void test_process_without_memory_is_a_result_and_leaves_nothing(void **state)
{
	struct fl_process *p[4096];
	unsigned int n = 0;

	fixture_geometry(&f, 0, 4, 1);
	fixture_boot(&f, "7.3");
	while (n < 4096 && (p[n] = fl_process_new(f.mem, &f.who)))
		n++;
	assert_true(n > 20 && n < 4096);
	assert_int_equal(fl_slab_stat(f.mem, FL_SLAB_task_struct).active_objects, n);
	assert_int_equal(fl_slab_stat(f.mem, FL_SLAB_signal_cache).active_objects, n);
	fl_mem_check(f.mem);
	while (n)
		fl_process_exit(f.mem, &f.who, p[--n]);
	assert_int_equal(pages_of_kind(FL_KIND_PGTABLE), 0);
	fixture_done(&f);
}

static void test_pipe_takes_a_page_per_buffer_and_keeps_one_when_read(void **state)
{
	uint32_t pipe;

	start("7.3");
	pipe = fl_pipe_new(f.mem, &f.who, 65536);
	assert_int_equal(fl_ipc_pages(f.mem, pipe), 16);
	assert_int_equal(pages_of_kind(FL_KIND_PIPE), 16);
	fl_ipc_drain(f.mem, &f.who, pipe);
	assert_int_equal(pages_of_kind(FL_KIND_PIPE), 1);
	fl_ipc_close(f.mem, &f.who, pipe);
	assert_int_equal(pages_of_kind(FL_KIND_PIPE), 0);
	fixture_done(&f);
}

static void test_pipe_of_1_mib_asks_for_its_slots_with_an_order_2_request(void **state)
{
	uint32_t pipe;

	start("7.3");
	pipe = fl_pipe_new(f.mem, &f.who, 1 << 20);
	assert_int_equal(fl_ipc_pages(f.mem, pipe), 256 + 4);
	fl_ipc_close(f.mem, &f.who, pipe);
	fixture_done(&f);
}

/* 36480 bytes: 3712 in the head, 32768 in fragments: one order-3 page request. */
static void test_unix_message_is_a_head_and_order_3_fragments(void **state)
{
	struct requests r;
	uint32_t pair;

	start("7.3");
	pair = fl_socket_pair_new(f.mem, &f.who, 3712, 0);
	assert_int_equal(fl_ipc_pages(f.mem, pair), 0);
	assert_int_equal(fl_slab_stat(f.mem, FL_SLAB_kmalloc_cg_4k).active_objects, 1);
	fl_ipc_close(f.mem, &f.who, pair);
	record_requests(&f, &r);
	pair = fl_socket_pair_new(f.mem, &f.who, 2 * 36480, 0);
	for (unsigned int i = 0; i < r.count; i++)
		if (r.order[i] == 3 && !(r.gfp[i] & FL_GFP_NOMEMALLOC)) /* not those of slabs */
			assert_int_equal(r.gfp[i] & FL_GFP_RECLAIM, FL_GFP_KSWAPD_RECLAIM);
	assert_int_equal(fl_ipc_pages(f.mem, pair), 16);
	assert_int_equal(fl_slab_stat(f.mem, FL_SLAB_skbuff_head_cache).active_objects, 2);
	assert_int_equal(fl_slab_stat(f.mem, FL_SLAB_unix_sock).active_objects, 2);
	fl_ipc_drain(f.mem, &f.who, pair);
	assert_int_equal(fl_ipc_pages(f.mem, pair), 0);
	fl_ipc_close(f.mem, &f.who, pair);
	assert_int_equal(fl_slab_stat(f.mem, FL_SLAB_filp).active_objects, 0);
	fixture_done(&f);
}

/* On machines with large pages an upper table ends behind the last address; it goes with the process all the same. */
static void test_exit_frees_all_tables_with_pages_of_16k_and_64k(void **state)
{
	const unsigned int shift[] = { 14, 16 }, order[] = { 11, 13 };

	for (unsigned int i = 0; i < 2; i++) {
		struct fl_map_request request = { .pages = 3u << order[i], .type = FL_VMA_ANON };
		struct fl_process *p;
		fl_vpn at;

		fixture_geometry(&f, 0, 64 << (order[i] - 9), 1);
		f.geometry.page_shift = shift[i];
		f.geometry.pageblock_order = f.geometry.max_order = f.geometry.pmd_order = order[i];
		fl_settings_init(&f.settings, &f.geometry);
		fixture_boot(&f, "7.3");
		p = fl_process_new(f.mem, &f.who);
		at = fl_mmap(f.mem, &f.who, p->mm, &request);
		fl_touch_range(f.mem, &f.who, p->mm, at, request.pages, 1u << order[i], true);
		fl_mem_check(f.mem);
		fl_process_exit(f.mem, &f.who, p);
		assert_int_equal(pages_of_kind(FL_KIND_PGTABLE), 0);
		fixture_done(&f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_process_takes_objects_stack_pgd_and_gives_all_back),
		cmocka_unit_test(test_exit_frees_all_tables_with_pages_of_16k_and_64k),
		cmocka_unit_test(test_two_stacks_a_cpu_are_kept_for_the_next_threads),
		cmocka_unit_test(test_stack_is_one_order_2_request_cut_up_in_7_3_and_single_pages_in_6_12),
		cmocka_unit_test(test_high_order_of_a_stack_may_wake_kswapd_but_not_reclaim),
		cmocka_unit_test(test_process_without_memory_is_a_result_and_leaves_nothing),
		cmocka_unit_test(test_pipe_takes_a_page_per_buffer_and_keeps_one_when_read),
		cmocka_unit_test(test_pipe_of_1_mib_asks_for_its_slots_with_an_order_2_request),
		cmocka_unit_test(test_unix_message_is_a_head_and_order_3_fragments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
