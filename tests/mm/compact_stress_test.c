/*
 * tests/mm/compact_stress_test.c - everything at once in virtual time: processes that fault huge and small pages, unmap,
 * free lazily, lock, read files; kernel requests of order 1 to 3; kswapd, kcompactd, swap and flusher. The full-state check
 * while folios are isolated and half of a batch has moved.
 */
#include <stdlib.h>

#include "base/rng.h"
#include "fixture.h"
#include "mm/compaction.h"
#include "mm/filemap.h"
#include "mm/memory.h"
#include "mm/mmap.h"
#include "mm/page_writeback.h"
#include "mm/swapfile.h"
#include "mm/vmscan.h"
#include "sim/device.h"
#include "sim/sim.h"

#define PROCESSES 6
#define REGIONS 12
#define KERNEL_CHUNKS 200

struct process {
	struct world *w;
	struct fl_caller who;
	struct fl_rng rng;
	struct fl_mm *mm;
	struct {
		fl_vpn start;
		uint32_t pages;
	} region[REGIONS];
	struct {
		fl_pfn pfn;
		unsigned int order;
	} chunk[KERNEL_CHUNKS];
};

struct world {
	struct fixture f;
	struct fl_mem *mem;
	struct fl_sim *sim;
	struct fl_device *swap;
	fl_mapping_id file;
	struct process process[PROCESSES];
	bool stop;
};

static void unmap(struct process *p, unsigned int i)
{
	if (p->region[i].pages)
		fl_munmap(p->w->mem, &p->who, p->mm, p->region[i].start, p->region[i].pages);
	p->region[i].pages = 0;
}

static void map(struct process *p, unsigned int i)
{
	struct fl_map_request request = { .pages = (uint32_t)fl_rng_between(&p->rng, 16, 2048) };
	uint32_t pages = request.pages;
	fl_vpn at;

	if (!fl_rng_below(&p->rng, 4)) {
		request.type = FL_VMA_FILE;
		request.mapping = p->w->file;
		request.pgoff = (uint32_t)fl_rng_below(&p->rng, 8200 - pages);
	}
	at = fl_mmap(p->w->mem, &p->who, p->mm, &request);

	if (at == FL_VPN_NONE)
		return;
	p->region[i].start = at;
	p->region[i].pages = pages;
	if (fl_touch_range(p->w->mem, &p->who, p->mm, at, pages, 1, true).end != FL_FAULT_DONE)
		unmap(p, i);
}

/* A part of the region is advised away, locked, or touched again. */
static void change(struct process *p, unsigned int i)
{
	uint32_t pages = (uint32_t)fl_rng_between(&p->rng, 1, p->region[i].pages);
	fl_vpn at = p->region[i].start + (fl_vpn)fl_rng_below(&p->rng, p->region[i].pages - pages + 1);
	struct fl_mem *mem = p->w->mem;

	switch (fl_rng_below(&p->rng, 6)) {
	case 0:
		fl_madvise(mem, &p->who, p->mm, at, pages, FL_MADV_DONTNEED);
		break;
	case 1:
		fl_madvise(mem, &p->who, p->mm, at, pages, FL_MADV_FREE);
		break;
	case 2:
		fl_mlock(mem, &p->who, p->mm, at, pages < 64 ? pages : 64);
		fl_munlock(mem, &p->who, p->mm, p->region[i].start, p->region[i].pages);
		break;
	case 3:
		fl_touch_range(mem, &p->who, p->mm, at, pages, 7, false);
		break;
	default:
		fl_touch_range(mem, &p->who, p->mm, at, pages, 1, true);
	}
}

static void kernel_chunk(struct process *p)
{
	unsigned int i = (unsigned int)fl_rng_below(&p->rng, KERNEL_CHUNKS);

	if (p->chunk[i].pfn != FL_PFN_NONE) {
		fl_page_free(p->w->mem, &p->who, p->chunk[i].pfn, p->chunk[i].order);
		p->chunk[i].pfn = FL_PFN_NONE;
		return;
	}
	p->chunk[i].order = (unsigned int)fl_rng_below(&p->rng, 4);
	p->chunk[i].pfn = fl_page_alloc(p->w->mem, &p->who, FL_GFP_KERNEL | FL_GFP_NORETRY, p->chunk[i].order,
					FL_KIND_KERNEL);
}

static void process_body(struct fl_task *task, void *arg)
{
	struct process *p = arg;
	struct fl_mem *mem = p->w->mem;

	p->mm = fl_mm_new(mem, &p->who);
	while (p->mm && !p->w->stop) {
		unsigned int i = (unsigned int)fl_rng_below(&p->rng, REGIONS);

		switch (fl_rng_below(&p->rng, 8)) {
		case 0:
			unmap(p, i);
			break;
		case 1:
			if (fl_rng_below(&p->rng, 2))
				fl_file_read(mem, &p->who, p->w->file, (uint32_t)fl_rng_below(&p->rng, 8000), 200);
			else
				fl_file_write(mem, &p->who, p->w->file, (uint32_t)fl_rng_below(&p->rng, 8000), 60);
			break;
		case 2:
			for (int n = 0; n < 20; n++)
				kernel_chunk(p);
			break;
		case 3:
			if (!fl_rng_below(&p->rng, 20))
				fl_compact_memory(mem, &p->who);
			break;
		default:
			if (!p->region[i].pages)
				map(p, i);
			else
				change(p, i);
		}
		fl_spend(task, 20000);
	}
	for (unsigned int i = 0; i < KERNEL_CHUNKS; i++)
		if (p->chunk[i].pfn != FL_PFN_NONE)
			fl_page_free(mem, &p->who, p->chunk[i].pfn, p->chunk[i].order);
	if (p->mm)
		fl_mm_exit(mem, &p->who, p->mm);
}

static void world_boot(struct world *w, const char *kernel, uint64_t seed)
{
	static const struct fl_device_model swap_model = { .name = "swap", .read_latency_ns = 100000,
		.write_latency_ns = 100000, .bytes_per_s = 400000000, .parallel = 8 };
	struct fl_error error = { 0 };

	*w = (struct world){ 0 };
	fixture_geometry(&w->f, 16, 48, 2);
	w->f.settings.thp_enabled = FL_THP_ALWAYS;
	w->f.settings.thp_defrag = FL_THP_DEFRAG_ALWAYS;
	w->f.settings.thp_size[2] = w->f.settings.thp_size[4] = FL_THP_SIZE_ALWAYS;
	w->f.settings.compaction_proactiveness = 60;
	assert_true(fl_kernel_parse(kernel, &w->f.kernel, &error) >= 0);
	w->sim = fl_sim_new(seed, 2);
	w->mem = w->f.mem = fl_mem_new(&(struct fl_mem_config){ .geometry = &w->f.geometry,
		.decide = &w->f.kernel.decide, .settings = &w->f.settings, .cost = &fl_cost_default, .sim = w->sim });
	w->swap = fl_device_new(w->sim, &swap_model);
	fl_swapon(w->mem, w->swap, 16000, false);
	w->file = fl_file_create(w->mem, FL_MAPPING_REGULAR, NULL, 8200);
	fl_kswapd_start(w->mem);
	fl_kcompactd_new(w->mem);
	fl_flusher_start(w->mem);
	for (unsigned int i = 0; i < PROCESSES; i++) {
		struct process *p = &w->process[i];

		p->w = w;
		for (unsigned int c = 0; c < KERNEL_CHUNKS; c++)
			p->chunk[c].pfn = FL_PFN_NONE;
		fl_rng_init(&p->rng, seed, "process", i);
		p->who = (struct fl_caller){ .task = fl_task_new(w->sim, "process", false) };
		fl_task_start(p->who.task, process_body, p);
	}
}

static uint64_t run_world(const char *kernel, uint64_t seed, unsigned int slices)
{
	struct world *w = calloc(1, sizeof(*w));
	uint64_t hash;
	bool all_idle = false;

	world_boot(w, kernel, seed);
	for (unsigned int i = 0; i < slices; i++) {
		fl_sim_run(w->sim, fl_sim_now(w->sim) + 7 * FL_MS_NS + 123456);
		fl_mem_check(w->mem);
	}
	hash = fl_sim_hash(w->sim, fl_mem_hash(w->mem));
	w->stop = true;
	for (int i = 0; i < 1000 && !all_idle; i++) {
		fl_sim_run(w->sim, fl_sim_now(w->sim) + 100 * FL_MS_NS);
		all_idle = true;
		for (unsigned int n = 0; n < PROCESSES; n++)
			all_idle &= !fl_task_has_work(w->process[n].who.task);
	}
	assert_true(all_idle);
	fl_mem_check(w->mem);
	print_message("# %s seed %llu: compact_stall %llu success %llu, daemon scanned %llu, migrated %llu failed %llu, "
		      "pswpout %llu, thp %llu\n", kernel, (unsigned long long)seed,
		      (unsigned long long)w->mem->vm[FL_VM_compact_stall],
		      (unsigned long long)w->mem->vm[FL_VM_compact_success],
		      (unsigned long long)w->mem->vm[FL_VM_compact_daemon_migrate_scanned],
		      (unsigned long long)w->mem->vm[FL_VM_pgmigrate_success],
		      (unsigned long long)w->mem->vm[FL_VM_pgmigrate_fail],
		      (unsigned long long)w->mem->vm[FL_VM_pswpout], (unsigned long long)w->mem->vm[FL_VM_thp_fault_alloc]);
	/* the load must have met what this test is about */
	assert_true(w->mem->vm[FL_VM_compact_stall] > 0);
	assert_true(w->mem->vm[FL_VM_pgmigrate_success] > 1000);
	fl_device_free(w->swap);
	fl_sim_free(w->sim);
	w->mem->sim = NULL;
	fl_mem_free(w->mem);
	free(w);
	return hash;
}

static void test_a_machine_under_pressure_keeps_every_invariant(void **state)
{
	static const char *const kernels[] = { "6.12", "6.18", "7.3", "7.3+mobility" };

	for (uint64_t seed = 1; seed <= 4; seed++)
		run_world(kernels[seed - 1], seed, 120);
}

static void test_the_same_seed_gives_the_same_state(void **state)
{
	assert_int_equal(run_world("7.3", 9, 40), run_world("7.3", 9, 40));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_machine_under_pressure_keeps_every_invariant),
		cmocka_unit_test(test_the_same_seed_gives_the_same_state),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
