/*
 * machine/bench.c - how fast the allocator and the faults of the model are.
 *
 * Counters, watermark compare and per-CPU lists are in, trace events are off, as in a run. Each measurement makes a
 * standard machine of its own and takes the best of several loops; effects (first touch of the frames,
 * per-CPU lists that swallow the first frees) are over before the first loop counts.
 */
#include "machine/bench.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/rng.h"
#include "base/text.h"
#include "kernel/kernel.h"
#include "machine/geometry.h"
#include "mm/compaction.h"
#include "mm/khugepaged.h"
#include "mm/memory.h"
#include "mm/page_alloc.h"
#include "mm/page_writeback.h"
#include "mm/pcp.h"
#include "mm/vmscan.h"

enum { LOOPS = 5, HOT_PAIRS = 1000000, CHURN_BURST = 16384, CHURN_PAIRS = 64 * CHURN_BURST };
#define GIB (INT64_C(1) << 30)
#define GFP_NOW (FL_GFP_HIGHUSER_MOVABLE & ~FL_GFP_RECLAIM) /* nothing here may reclaim */

struct fixture {
	struct fl_machine machine;
	struct fl_kernel kernel;
	struct fl_mem *mem;
	struct fl_task task;
	struct fl_caller who;
};

/* sim NULL: without time. */
static int set_up_in(struct fixture *f, int64_t memory_bytes, struct fl_sim *sim, struct fl_error *reterr)
{
	const struct fl_machine_wish wish = { .memory_bytes = memory_bytes, .cpus = 1 };
	int r = fl_machine_make(&wish, &f->machine, reterr);

	if (r == 0)
		r = fl_kernel_parse(fl_kernel_default, &f->kernel, reterr);
	if (r < 0)
		return r;
	f->mem = fl_mem_new(&(struct fl_mem_config){ .geometry = &f->machine.geometry, .decide = &f->kernel.decide,
						     .cost = &fl_cost_default, .sim = sim });
	f->task = (struct fl_task){ .name = "bench" };
	f->who = (struct fl_caller){ .task = &f->task };
	return 0;
}

static int set_up(struct fixture *f, int64_t memory_bytes, struct fl_error *reterr)
{
	return set_up_in(f, memory_bytes, NULL, reterr);
}

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int refuse_full(struct fl_error *reterr)
{
	return fl_error_set(reterr, FL_ERROR_FAILED, -ENOMEM, "the modelled memory was full where it should not be");
}

/* Allocates and frees the same chunk again and again. */
static int measure_hot(unsigned int order, double *ret_ns, struct fl_error *reterr)
{
	struct fixture f;
	double best = 0;
	int r = set_up(&f, 2 * GIB, reterr);

	for (int loop = 0; r == 0 && loop < LOOPS; loop++) {
		double start = now_ns(), ns;

		for (int i = 0; i < HOT_PAIRS && r == 0; i++) {
			fl_pfn pfn = fl_page_alloc(f.mem, &f.who, GFP_NOW, order, FL_KIND_ANON);

			if (pfn == FL_PFN_NONE)
				r = refuse_full(reterr);
			else
				fl_page_free(f.mem, &f.who, pfn, order);
		}
		ns = (now_ns() - start) / HOT_PAIRS;
		best = loop && best < ns ? best : ns;
	}
	fl_mem_free(f.mem);
	*ret_ns = best;
	return r;
}

/* Fills three quarters of the memory; the pages, or NULL. */
static fl_pfn *fill(struct fixture *f, size_t *ret_count, struct fl_error *reterr)
{
	size_t count = (size_t)(f->machine.memory_bytes / f->machine.page_bytes / 4 * 3);
	fl_pfn *pages = fl_xmalloc(count * sizeof(*pages));

	for (size_t i = 0; i < count; i++) {
		pages[i] = fl_page_alloc(f->mem, &f->who, GFP_NOW, 0, FL_KIND_ANON);
		if (pages[i] == FL_PFN_NONE) {
			refuse_full(reterr);
			free(pages);
			return NULL;
		}
	}
	*ret_count = count;
	return pages;
}

/*
 * Frees random pages of a memory that is three quarters full and allocates as many others, in bursts: a page freed alone
 * would come back at once from the per-CPU list, so that nothing but this one page would ever be touched.
 */
static int churn(struct fixture *f, fl_pfn *pages, size_t count, struct fl_rng *rng, struct fl_error *reterr)
{
	for (int done = 0; done < CHURN_PAIRS; done += CHURN_BURST) {
		size_t kept = count;

		for (int i = 0; i < CHURN_BURST; i++) {
			/* the high word of a product: one multiplication instead of a division in the loop that is measured */
			size_t at = (size_t)(((unsigned __int128)fl_rng_u64(rng) * kept) >> 64);

			fl_page_free(f->mem, &f->who, pages[at], 0);
			pages[at] = pages[--kept];
		}
		for (; kept < count; kept++) {
			pages[kept] = fl_page_alloc(f->mem, &f->who, GFP_NOW, 0, FL_KIND_ANON);
			if (pages[kept] == FL_PFN_NONE)
				return refuse_full(reterr);
		}
	}
	return 0;
}

/* The lists of a CPU grow with what churns, up to an eighth of the zone. Pinned, they pass most of a burst on. */
static void pin_per_cpu_lists(struct fl_mem *mem)
{
	for (unsigned int z = 0; z < FL_ZONES; z++)
		if (mem->zone[z].pcp)
			mem->zone[z].pcp->high_min = mem->zone[z].pcp->high_max = CHURN_BURST / 8;
}

static int measure_churn(int64_t memory_bytes, bool to_buddy, double *ret_ns, struct fl_error *reterr)
{
	struct fixture f;
	struct fl_rng rng;
	double best = 0;
	fl_pfn *pages;
	size_t count;
	int r = set_up(&f, memory_bytes, reterr);

	if (r < 0)
		return r;
	fl_rng_init(&rng, 1, "bench", 0);
	if (to_buddy)
		pin_per_cpu_lists(f.mem);
	pages = fill(&f, &count, reterr);
	r = pages ? churn(&f, pages, count, &rng, reterr) : -ENOMEM; /* warm */
	for (int loop = 0; r == 0 && loop < LOOPS; loop++) {
		double start = now_ns(), ns;

		r = churn(&f, pages, count, &rng, reterr);
		ns = (now_ns() - start) / CHURN_PAIRS;
		best = loop && best < ns ? best : ns;
	}
	free(pages);
	fl_mem_free(f.mem);
	*ret_ns = best;
	return r;
}

static int alloc_free_order0_hot(double *ret_ns, struct fl_error *reterr)
{
	return measure_hot(0, ret_ns, reterr);
}

static int alloc_free_order9_hot(double *ret_ns, struct fl_error *reterr)
{
	return measure_hot(9, ret_ns, reterr);
}

static int churn_2g(double *ret_ns, struct fl_error *reterr)
{
	return measure_churn(2 * GIB, false, ret_ns, reterr);
}

static int churn_64g(double *ret_ns, struct fl_error *reterr)
{
	return measure_churn(64 * GIB, false, ret_ns, reterr);
}

static int churn_buddy_2g(double *ret_ns, struct fl_error *reterr)
{
	return measure_churn(2 * GIB, true, ret_ns, reterr);
}

static int churn_buddy_64g(double *ret_ns, struct fl_error *reterr)
{
	return measure_churn(64 * GIB, true, ret_ns, reterr);
}

enum { FAULT_BATCH = 1 << 16 };

/* The i-th of `pages` (a power of two) in an order that looks random and meets each once. */
static uint32_t scattered(uint32_t i, uint32_t pages)
{
	return i * UINT32_C(0x9e3779b1) & (pages - 1);
}

static bool touch_all(struct fixture *f, struct fl_mm *mm, fl_vpn base, uint32_t pages, bool random)
{
	static uint32_t index[FAULT_BATCH];

	if (!random)
		return fl_touch_range(f->mem, &f->who, mm, base, pages, 1, true).end == FL_FAULT_DONE;
	for (uint32_t done = 0; done < pages; done += FAULT_BATCH) {
		for (uint32_t i = 0; i < FAULT_BATCH; i++)
			index[i] = scattered(done + i, pages);
		if (fl_touch_pages(f->mem, &f->who, mm, base, index, FAULT_BATCH, true).end != FL_FAULT_DONE)
			return false;
	}
	return true;
}

/* First touches of base pages in a mapping of half the memory, which is unmapped again between the loops. */
static int measure_fault(int64_t memory_bytes, bool random, int loops, double *ret_ns, struct fl_error *reterr)
{
	struct fixture f;
	uint32_t pages;
	double best = 0;
	struct fl_mm *mm;
	int r = set_up(&f, memory_bytes, reterr);

	if (r < 0)
		return r;
	pages = (uint32_t)(memory_bytes / f.machine.page_bytes / 2);
	mm = fl_mm_new(f.mem, &f.who);
	for (int loop = 0; mm && loop < loops; loop++) {
		fl_vpn at = fl_mmap(f.mem, &f.who, mm, &(struct fl_map_request){ .pages = pages,
											.flags = FL_VM_NOHUGEPAGE });
		double start = now_ns(), ns;

		if (at == FL_VPN_NONE || !touch_all(&f, mm, at, pages, random))
			mm = NULL;
		ns = (now_ns() - start) / pages;
		best = loop && best < ns ? best : ns;
		if (mm)
			fl_munmap(f.mem, &f.who, mm, at, pages);
	}
	fl_mem_free(f.mem);
	*ret_ns = best;
	return mm ? 0 : refuse_full(reterr);
}

static int fault_4k(double *ret_ns, struct fl_error *reterr)
{
	return measure_fault(2 * GIB, false, LOOPS, ret_ns, reterr);
}

static int fault_4k_random_64g(double *ret_ns, struct fl_error *reterr)
{
	return measure_fault(64 * GIB, true, 2, ret_ns, reterr);
}

/* A virtual hour in which the kernel's threads have nothing to do but look: kcompactd's timer, khugepaged, the flusher. Half of
 * the memory is in use by one process. */
static int idle_hour_64g(double *ret_ns, struct fl_error *reterr)
{
	struct fixture f;
	struct fl_sim *sim = fl_sim_new(1, 1);
	struct fl_mm *mm;
	uint32_t pages;
	double start;
	int r = set_up_in(&f, 64 * GIB, sim, reterr);

	if (r < 0) {
		fl_sim_free(sim);
		return r;
	}
	pages = (uint32_t)(32 * GIB / f.machine.page_bytes);
	mm = fl_mm_new(f.mem, &f.who);
	fl_touch_range(f.mem, &f.who, mm, fl_mmap(f.mem, &f.who, mm, &(struct fl_map_request){ .pages = pages }), pages, 1,
		       true);
	fl_kswapd_start(f.mem);
	fl_kcompactd_new(f.mem);
	fl_flusher_start(f.mem);
	fl_khugepaged_start(f.mem);
	start = now_ns();
	fl_sim_run(sim, 3600 * FL_S_NS);
	*ret_ns = now_ns() - start;
	fl_sim_free(sim);
	fl_mem_free(f.mem);
	return 0;
}

const struct fl_bench fl_benches[] = {
	{ "alloc_free_order0_hot", "ns/pair", alloc_free_order0_hot },
	{ "alloc_free_order9_hot", "ns/pair", alloc_free_order9_hot },
	{ "churn_2g", "ns/pair", churn_2g },
	{ "churn_64g", "ns/pair", churn_64g },
	{ "churn_buddy_2g", "ns/pair", churn_buddy_2g },
	{ "churn_buddy_64g", "ns/pair", churn_buddy_64g },
	{ "fault_4k", "ns/fault", fault_4k },
	{ "fault_4k_random_64g", "ns/fault", fault_4k_random_64g },
	{ "idle_hour_64g", "ns/hour", idle_hour_64g },
	{ NULL },
};
