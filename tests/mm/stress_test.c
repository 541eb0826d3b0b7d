/* tests/mm/stress_test.c - several tasks in two address spaces under memory pressure, with kswapd, kcompactd, swap and
 * direct reclaim: whatever interleaves, the full check holds and everything is given back. */
#include "fixture.h"

#include "mm/compaction.h"
#include "mm/dcache.h"
#include "mm/filemap.h"
#include "mm/huge_memory.h"
#include "mm/ipc.h"
#include "mm/memory.h"
#include "mm/process.h"
#include "mm/slab.h"
#include "mm/swap.h"
#include "mm/swapfile.h"
#include "mm/vmscan.h"

enum { TASKS = 4, REGION = 3072, FILE_PAGES = 1500, OPS = 250 };

struct worker {
	struct fl_rng rng;
	struct fl_process *process;
	struct fl_caller who;
	fl_vpn at, file_at[2];
	unsigned int done;
};

static struct fixture f;
static fl_mapping_id file[2]; /* a regular file and shared memory, mapped by everybody */
static struct worker workers[TASKS];
static bool keep_locks; /* half of what is locked stays so */

static void one_op(struct worker *w)
{
	struct fl_mem *mem = f.mem;
	struct fl_mm *mm = w->process->mm;
	fl_vpn vpn = w->at + fl_rng_below(&w->rng, REGION);
	uint32_t n = 1 + fl_rng_below(&w->rng, fl_rng_chance(&w->rng, 1, 2) ? 1024 : 24), id;

	if (vpn + n > w->at + REGION)
		n = w->at + REGION - vpn;
	switch (fl_rng_below(&w->rng, 17)) {
	case 0:
		fl_munmap(mem, &w->who, mm, vpn, n);
		fl_mmap(mem, &w->who, mm, &(struct fl_map_request){ .pages = n });
		fl_access(mem, &w->who, mm, vpn, false, NULL);
		break;
	case 1:
		fl_madvise(mem, &w->who, mm, vpn, n, FL_MADV_FREE);
		break;
	case 2:
		fl_madvise(mem, &w->who, mm, vpn, n, FL_MADV_DONTNEED);
		break;
	case 3:
		if (fl_mlock(mem, &w->who, mm, vpn, n > 64 ? 64 : n) == 0 && (!keep_locks || n % 2))
			fl_munlock(mem, &w->who, mm, vpn, n > 64 ? 64 : n);
		break;
	case 4:
		fl_deferred_split_scan(mem, &w->who, 3);
		break;
	case 5:
		id = fl_pipe_new(mem, &w->who, n * 64);
		if (id != UINT32_MAX)
			fl_ipc_close(mem, &w->who, id);
		break;
	case 6:
		id = fl_dentry_create(mem, &w->who, FL_FS_EXT4);
		if (id != UINT32_MAX && fl_rng_chance(&w->rng, 1, 2))
			fl_dentry_delete(mem, &w->who, id);
		break;
	case 7:
		if (fl_thread_new(mem, &w->who, w->process) >= 0 && w->process->threads > 4)
			for (uint32_t i = 1; i < w->process->threads; i++)
				if (w->process->thread[i].alive)
					fl_thread_exit(mem, &w->who, w->process, i);
		break;
	case 8:
	case 9:
		id = fl_rng_below(&w->rng, 2);
		fl_touch_range(mem, &w->who, mm, w->file_at[id] + fl_rng_below(&w->rng, FILE_PAGES - 256), 256, 1,
			       fl_rng_chance(&w->rng, 1, 4));
		break;
	case 10:
		fl_file_read(mem, &w->who, file[0], fl_rng_below(&w->rng, FILE_PAGES - 64), 64);
		break;
	case 11:
		fl_madvise(mem, &w->who, mm, w->file_at[0], 700, FL_MADV_DONTNEED);
		break;
	default:
		fl_touch_range(mem, &w->who, mm, vpn, n, 1, fl_rng_chance(&w->rng, 3, 4));
		break;
	}
}

static void work(struct fl_task *task, void *arg)
{
	struct worker *w = arg;

	w->who.task = task;
	for (; w->done < OPS; w->done++) {
		one_op(w);
		if (w->done % 5 == 0)
			fl_mem_check(f.mem);
		fl_task_settle(task);
	}
}

static void ignore(void *arg, const struct fl_trace_event *event)
{
	(*(uint64_t *)arg)++;
}

enum { TIGHT = 16, ROOMY = 64 }; /* pageblocks of the machine; the four regions have 24 together, and files come on top */

/* Returns the hash of all state before the processes go, the virtual time of each task included. With `heard` somebody
 * listens to all events and counts them there, so nothing goes a short way. */
static uint64_t run(const char *kernel, uint64_t seed, unsigned int blocks, uint32_t swap_pages, uint64_t *heard)
{
	struct fl_error error = { 0 };
	struct fl_sim *sim = fl_sim_new(seed, 2);
	struct fl_process *process[2];
	uint64_t hash;

	keep_locks = blocks != TIGHT;
	fixture_geometry(&f, 0, blocks, 2);
	f.settings.thp_enabled = FL_THP_ALWAYS;
	f.settings.thp_defrag = FL_THP_DEFRAG_ALWAYS;
	f.settings.thp_size[4] = blocks == TIGHT ? FL_THP_SIZE_ALWAYS : FL_THP_SIZE_NEVER;
	if (fl_kernel_parse(kernel, &f.kernel, &error) < 0)
		fail_msg("%s", error.text);
	f.mem = fl_mem_new(&(struct fl_mem_config){ .geometry = &f.geometry, .decide = &f.kernel.decide,
						    .settings = &f.settings, .cost = &fl_cost_default, .sim = sim });
	if (heard)
		f.mem->trace = (struct fl_trace_sink){ UINT64_MAX, ignore, heard };
	fl_kcompactd_new(f.mem);
	fl_kswapd_start(f.mem);
	if (swap_pages)
		fl_swapon(f.mem, NULL, swap_pages, false);
	f.task[0] = (struct fl_task){ .name = "test" };
	f.who = (struct fl_caller){ .task = &f.task[0] };
	file[0] = fl_file_create(f.mem, FL_MAPPING_REGULAR, NULL, FILE_PAGES);
	file[1] = fl_file_create(f.mem, FL_MAPPING_SHMEM, NULL, FILE_PAGES);
	for (unsigned int i = 0; i < 2; i++)
		process[i] = fl_process_new(f.mem, &f.who);
	for (unsigned int i = 0; i < TASKS; i++) {
		struct worker *w = &workers[i];

		*w = (struct worker){ .process = process[i % 2], .who = { .actor = FL_ACTOR_DIRECT } };
		fl_rng_init(&w->rng, seed, "stress", i);
		w->at = fl_mmap(f.mem, &f.who, w->process->mm, &(struct fl_map_request){ .pages = REGION });
		for (unsigned int k = 0; k < 2; k++)
			w->file_at[k] = fl_mmap(f.mem, &f.who, w->process->mm, &(struct fl_map_request){
				.pages = FILE_PAGES, .type = k ? FL_VMA_SHMEM : FL_VMA_FILE, .mapping = file[k] });
		fl_task_start(fl_task_new(sim, "worker", false), work, w);
	}
	fl_sim_run(sim, 3600 * FL_S_NS);
	for (unsigned int i = 0; i < TASKS; i++)
		assert_int_equal(workers[i].done, OPS);
	fl_mem_check(f.mem);
	hash = fl_sim_hash(sim, fl_mem_hash(f.mem));
	for (unsigned int i = 0; i < 2; i++)
		fl_process_exit(f.mem, &f.who, process[i]);
	fl_mem_check(f.mem);
	for (unsigned int i = 0; i < 2; i++)
		fl_file_delete(f.mem, &f.who, file[i]);
	/* A page that was under writeback when its last mapping went stays in the swap cache, as in the kernel. */
	assert_int_equal(f.mem->lru->size[FL_LRU_INACTIVE_ANON] + f.mem->lru->size[FL_LRU_ACTIVE_ANON],
			 fl_swap_cached(f.mem));
	if (swap_pages)
		assert_int_equal(fl_swap_free_slots(f.mem) + fl_swap_cached(f.mem), swap_pages);
	for (unsigned int o = 0; o < 10; o++)
		assert_int_equal(f.mem->mthp[o][FL_MTHP_nr_anon] + f.mem->mthp[o][FL_MTHP_nr_anon_partially_mapped], 0);
	fl_sim_free(sim); /* before the memory: tasks leave its wait queues */
	fl_mem_free(f.mem);
	return hash;
}

static void test_tasks_under_pressure_with_swap_7_3(void **state)
{
	for (uint64_t seed = 0; seed < 2; seed++)
		run("7.3", seed, TIGHT, 8192, NULL);
}

static void test_tasks_under_pressure_with_swap_6_12(void **state)
{
	for (uint64_t seed = 0; seed < 2; seed++)
		run("6.12", seed, TIGHT, 8192, NULL);
}

static void test_tasks_under_pressure_with_swap_6_18(void **state)
{
	run("6.18", 2, TIGHT, 8192, NULL);
}

static void test_tasks_that_run_out_of_memory(void **state)
{
	run("7.3", 7, TIGHT, 0, NULL);
	run("6.12", 8, TIGHT, 1024, NULL);
}

/* A listener sends everything the long ways: requests and frees, refills, faults, accesses, batches of the LRU. */
static void test_short_ways_leave_the_state_of_the_long_ones(void **state)
{
	static const char *const kernels[] = { "7.3", "6.18", "6.12" };

	for (uint64_t seed = 0; seed < 3; seed++) {
		for (unsigned int tight = 0; tight < 2; tight++) {
			uint64_t heard = 0, shortened = run(kernels[seed], seed, tight ? TIGHT : ROOMY, 8192, NULL);

			assert_int_equal(run(kernels[seed], seed, tight ? TIGHT : ROOMY, 8192, &heard), shortened);
			assert_true(heard > 10000);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tasks_under_pressure_with_swap_7_3),
		cmocka_unit_test(test_tasks_under_pressure_with_swap_6_12),
		cmocka_unit_test(test_tasks_under_pressure_with_swap_6_18),
		cmocka_unit_test(test_tasks_that_run_out_of_memory),
		cmocka_unit_test(test_short_ways_leave_the_state_of_the_long_ones),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
