/*
 * tests/mm/pressure_test.c - a random load that wants several times the memory there is, in virtual time, with kswapd,
 * kcompactd, flusher, swap and disk: no invariant breaks, and the same seed gives the same state.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "mm/khugepaged.h"
#include "reclaim_fixture.h"
#include "sim/device.h"

#define WORKERS 6
#define FILES 8
#define MAPPINGS 4
#define MINUTE_NS (60 * FL_S_NS)

struct load;

struct worker {
	struct load *load;
	struct fl_task *task;
	struct fl_caller who;
	struct fl_rng rng;
	struct fl_mm *mm;
	fl_vpn map[MAPPINGS];
	uint32_t pages[MAPPINGS];
	uint32_t id;
	uint64_t rounds, deaths;
};

struct load {
	struct fixture f;
	struct fl_sim *sim;
	struct fl_device *swap, *disk;
	struct worker worker[WORKERS];
	fl_mapping_id file[FILES];
	uint32_t demand_pages; /* of each worker */
	fl_ns busy_ns; /* of each minute: the workers sleep through the rest of it; 0: they never do */
};

/* ---- Who is killed when memory is out ---- */

static bool candidate(void *arg, unsigned int i, struct fl_oom_candidate *ret)
{
	struct load *load = arg;
	struct worker *w = &load->worker[i];

	if (i >= WORKERS)
		return false;
	*ret = (struct fl_oom_candidate){ .id = w->id };
	if (w->mm) {
		ret->rss_pages = w->mm->anon_pages + w->mm->file_pages;
		ret->swap_entries = w->mm->swap_entries;
		ret->pgtable_pages = w->mm->table_pages;
		ret->is_dying = w->mm->dying;
	}
	return true;
}

static void kill(void *arg, uint32_t id)
{
	struct worker *w = &((struct load *)arg)->worker[id];

	w->who.flags |= FL_PF_OOM_VICTIM;
	if (w->mm)
		w->mm->dying = true;
	fl_task_wake(w->task);
}

/* ---- What a worker does ---- */

static void die(struct worker *w)
{
	struct fl_mem *mem = w->load->f.mem;

	fl_mm_exit(mem, &w->who, w->mm);
	w->mm = NULL;
	memset(w->pages, 0, sizeof(w->pages));
	w->deaths += !!(w->who.flags & FL_PF_OOM_VICTIM);
	w->who.flags &= ~FL_PF_OOM_VICTIM;
}

static void do_map(struct worker *w, unsigned int i)
{
	struct fl_mem *mem = w->load->f.mem;
	bool file = fl_rng_chance(&w->rng, 1, 4);
	struct fl_map_request request = {
		.pages = (uint32_t)fl_rng_between(&w->rng, 1, w->load->demand_pages / 2),
		.type = file ? FL_VMA_FILE : FL_VMA_ANON,
		.flags = fl_rng_chance(&w->rng, 1, 2) ? FL_VM_HUGEPAGE : 0,
	};

	if (file) {
		request.mapping = w->load->file[fl_rng_below(&w->rng, FILES)];
		request.pages = 256;
		request.flags = fl_rng_chance(&w->rng, 1, 2) ? FL_VM_EXEC : 0;
	}
	w->map[i] = fl_mmap(mem, &w->who, w->mm, &request);
	w->pages[i] = w->map[i] == FL_VPN_NONE ? 0 : request.pages;
}

static void do_memory(struct worker *w)
{
	struct fl_mem *mem = w->load->f.mem;
	unsigned int i = (unsigned int)fl_rng_below(&w->rng, MAPPINGS), what = (unsigned int)fl_rng_below(&w->rng, 16);
	uint32_t from, pages;

	if (!w->pages[i]) {
		do_map(w, i);
		return;
	}
	from = (uint32_t)fl_rng_below(&w->rng, w->pages[i]);
	pages = (uint32_t)fl_rng_between(&w->rng, 1, w->pages[i] - from);
	if (what < 10)
		fl_touch_range(mem, &w->who, w->mm, w->map[i] + from, pages, 1, what < 7);
	else if (what == 10)
		fl_madvise(mem, &w->who, w->mm, w->map[i] + from, pages, FL_MADV_FREE);
	else if (what == 11)
		fl_madvise(mem, &w->who, w->mm, w->map[i] + from, pages, FL_MADV_DONTNEED);
	else if (what == 12 && pages < 256)
		fl_mlock(mem, &w->who, w->mm, w->map[i] + from, pages);
	else if (what == 13)
		fl_munlock(mem, &w->who, w->mm, w->map[i] + from, pages);
	else if (what == 14)
		fl_madvise(mem, &w->who, w->mm, w->map[i] + from, pages, FL_MADV_COLLAPSE);
	else if (what == 15 && !fl_munmap(mem, &w->who, w->mm, w->map[i], w->pages[i]))
		w->pages[i] = 0;
}

static void do_file(struct worker *w)
{
	struct fl_mem *mem = w->load->f.mem;
	fl_mapping_id id = w->load->file[fl_rng_below(&w->rng, FILES)];
	uint32_t size = fl_file_pages(mem, id), from, pages;

	from = size ? (uint32_t)fl_rng_below(&w->rng, size) : 0;
	pages = (uint32_t)fl_rng_between(&w->rng, 1, 512);
	switch (fl_rng_below(&w->rng, 8)) {
	case 0:
	case 1:
		fl_file_write(mem, &w->who, id, from % 8192, pages);
		break;
	case 2:
		fl_file_fsync(mem, &w->who, id);
		break;
	case 3:
		fl_file_truncate(mem, &w->who, id, size / 2 + 64);
		break;
	default:
		fl_file_read(mem, &w->who, id, from, pages);
	}
}

/* A page or chunk of the kernel, held for a while. */
static void do_kernel(struct worker *w)
{
	struct fl_mem *mem = w->load->f.mem;
	unsigned int order = (unsigned int)fl_rng_below(&w->rng, 4);
	bool atomic = fl_rng_chance(&w->rng, 1, 2);
	fl_pfn pfn = fl_page_alloc(mem, &w->who, atomic ? FL_GFP_ATOMIC : FL_GFP_KERNEL, order, FL_KIND_KERNEL);

	fl_task_sleep(w->task, fl_rng_between(&w->rng, 1, 1000) * FL_US_NS);
	if (pfn != FL_PFN_NONE)
		fl_page_free(mem, &w->who, pfn, order);
}

/* Lets the kernel's own threads have the machine: what they do while nobody asks for memory is part of the load. */
static void rest(struct worker *w)
{
	fl_ns busy_ns = w->load->busy_ns, at_ns = fl_task_now(w->task) % MINUTE_NS;

	if (busy_ns && at_ns >= busy_ns)
		fl_task_sleep(w->task, MINUTE_NS - at_ns);
}

static void body(struct fl_task *task, void *arg)
{
	struct worker *w = arg;

	for (;; w->rounds++) {
		unsigned int what;

		rest(w);
		if (!w->mm)
			w->mm = fl_mm_new(w->load->f.mem, &w->who);
		if (!w->mm) {
			w->who.flags &= ~FL_PF_OOM_VICTIM;
			fl_task_sleep(task, FL_MS_NS);
			continue;
		}
		what = (unsigned int)fl_rng_below(&w->rng, 32);
		if (what < 20)
			do_memory(w);
		else if (what < 28)
			do_file(w);
		else if (what < 31)
			do_kernel(w);
		else
			fl_drop_caches(w->load->f.mem, &w->who, 1 + (unsigned int)fl_rng_below(&w->rng, 3));
		fl_spend_user(task, 50 * FL_US_NS);
		if ((w->who.flags & FL_PF_OOM_VICTIM) || w->mm->dying || fl_rng_chance(&w->rng, 1, 400))
			die(w);
	}
}

/* ---- Making and running it ---- */

static void load_start(struct load *load, const char *kernel, unsigned int blocks, uint64_t seed)
{
	struct fixture *f = &load->f;
	const struct fl_device_model swap = { .name = "swap", .read_latency_ns = 80000, .write_latency_ns = 30000,
					      .bytes_per_s = 500000000, .parallel = 32, .capacity_bytes = 1 << 30 };
	const struct fl_device_model disk = { .name = "disk", .read_latency_ns = 100000, .write_latency_ns = 100000,
					      .bytes_per_s = 200000000, .parallel = 16, .capacity_bytes = 1 << 30 };

	load->sim = fl_sim_new(seed, 4);
	fixture_geometry(f, blocks / 2, blocks - blocks / 2, 4);
	f->settings.thp_enabled = FL_THP_MADVISE;
	f->sim = load->sim;
	fixture_boot(f, kernel);
	load->swap = fl_device_new(load->sim, &swap);
	load->disk = fl_device_new(load->sim, &disk);
	fl_swapon(f->mem, load->swap, blocks * 512, false);
	fl_swap_set_rotational(f->mem);
	fl_kswapd_start(f->mem);
	fl_flusher_start(f->mem);
	fl_kcompactd_new(f->mem);
	fl_oom_set_ops(f->mem, &(struct fl_oom_ops){ .candidate = candidate, .kill = kill, .arg = load });
	load->demand_pages = blocks * 512 / 2;
	for (unsigned int i = 0; i < FILES; i++)
		load->file[i] = fl_file_create(f->mem, i == 0 ? FL_MAPPING_BLOCKDEV : FL_MAPPING_REGULAR, load->disk, 4096);
	for (unsigned int i = 0; i < WORKERS; i++) {
		struct worker *w = &load->worker[i];

		*w = (struct worker){ .load = load, .id = i, .task = fl_task_new(load->sim, "worker", false) };
		w->who = (struct fl_caller){ .task = w->task };
		fl_rng_init(&w->rng, seed, "worker", i);
		fl_task_start(w->task, body, w);
	}
}

static uint64_t load_run(struct load *load, unsigned int seconds)
{
	for (unsigned int s = 1; s <= seconds; s++) {
		fl_sim_run(load->sim, s * FL_S_NS);
		fl_mem_check(load->f.mem);
	}
	return fl_mem_hash(load->f.mem);
}

static void load_end(struct load *load)
{
	fl_device_free(load->swap);
	fl_device_free(load->disk);
	fl_sim_free(load->sim); /* its tasks wait on queues of the memory */
	fl_mem_free(load->f.mem);
}

static void assert_pressed(const struct load *load)
{
	assert_true(counter(&load->f, FL_VM_pgsteal_kswapd) > 1000);
	assert_true(counter(&load->f, FL_VM_pgsteal_direct) > 0);
	assert_true(counter(&load->f, FL_VM_pswpout) > 1000);
	assert_true(counter(&load->f, FL_VM_pswpin) > 100);
	assert_true(counter(&load->f, FL_VM_nr_written) > 100);
	for (unsigned int i = 0; i < WORKERS; i++)
		assert_true(load->worker[i].rounds > 10);
}

static void pressed(const char *kernel, unsigned int blocks, unsigned int seconds)
{
	struct load load = { 0 };

	load_start(&load, kernel, blocks, 1);
	load_run(&load, seconds);
	assert_pressed(&load);
	load_end(&load);
}

static void test_a_minute_of_pressure_at_64_mib_breaks_no_invariant(void **state)
{
	(void)state;
	pressed(BASE_73, 32, 60);
}

static void test_pressure_at_256_mib_on_6_12(void **state)
{
	(void)state;
	pressed(BASE_612, 128, 15);
}

static void test_pressure_on_6_18(void **state)
{
	(void)state;
	pressed("6.18", 64, 15);
}

static void test_pressure_with_the_mobility_patches(void **state)
{
	(void)state;
	pressed("7.3+mobility", 64, 15);
}

static void test_the_same_seed_gives_the_same_state(void **state)
{
	struct load load = { 0 };
	uint64_t first;

	(void)state;
	load_start(&load, BASE_73, 32, 7);
	first = load_run(&load, 5);
	load_end(&load);
	memset(&load, 0, sizeof(load));
	load_start(&load, BASE_73, 32, 7);
	assert_int_equal(load_run(&load, 5), first);
	load_end(&load);
}

/* Full checks of a long run: each second of the busy part of a minute, and at the end of the idle part. */
static void long_minute(struct load *load, unsigned int minute)
{
	fl_ns start = minute * MINUTE_NS;

	for (unsigned int s = 1; s <= 60; s++) {
		if (s < 60 && load->busy_ns && s > load->busy_ns / FL_S_NS + 1)
			continue;
		fl_sim_run(load->sim, start + s * FL_S_NS);
		fl_mem_check(load->f.mem);
	}
}

static void say_counters(const struct load *load)
{
	static const enum fl_vm_event shown[] = {
		FL_VM_pgfault, FL_VM_pswpin, FL_VM_pswpout, FL_VM_pgsteal_kswapd, FL_VM_pgsteal_direct,
		FL_VM_pgmigrate_success, FL_VM_compact_stall, FL_VM_compact_daemon_wake, FL_VM_thp_fault_alloc,
		FL_VM_thp_collapse_alloc, FL_VM_oom_kill,
	};

	for (unsigned int i = 0; i < sizeof(shown) / sizeof(shown[0]); i++)
		printf(" %s %lu", fl_vm_event_name(shown[i]), (unsigned long)counter(&load->f, shown[i]));
}

/* A long run by hand: KERNEL, memory in MiB, virtual minutes, seed, busy seconds of each minute (60: all of it). With
 * khugepaged and with 16 kB pages always, so that every patch has something to decide. */
static int long_run(char **argument)
{
	unsigned long number[4];
	struct load load = { 0 };

	for (int i = 0; i < 4; i++)
		number[i] = strtoul(argument[1 + i], NULL, 10);
	load.busy_ns = number[3] < 60 ? number[3] * FL_S_NS : 0;
	load_start(&load, argument[0], (unsigned int)number[0] / 2, number[2]);
	load.f.mem->set.thp_size[2] = FL_THP_SIZE_ALWAYS;
	load.f.mem->set.khugepaged_scan_sleep_ms = 1000;
	fl_khugepaged_start(load.f.mem);
	for (unsigned int minute = 0; minute < number[1]; minute++)
		long_minute(&load, minute);
	printf("%s: %lu MiB, %lu min of which %lu s busy, seed %lu:", argument[0], number[0], number[1], number[3], number[2]);
	say_counters(&load);
	printf(", state %016lx\n", (unsigned long)fl_mem_hash(load.f.mem));
	load_end(&load);
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_minute_of_pressure_at_64_mib_breaks_no_invariant),
		cmocka_unit_test(test_pressure_at_256_mib_on_6_12),
		cmocka_unit_test(test_pressure_on_6_18),
		cmocka_unit_test(test_pressure_with_the_mobility_patches),
		cmocka_unit_test(test_the_same_seed_gives_the_same_state),
	};

	if (argc == 6)
		return long_run(argv + 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
