/*
 * tests/bench/instructions.c - work whose instructions are counted from outside (instructions.sh, callgrind).
 *
 * usage: instructions WORK MEMORY_GIB PAIRS    WORK: hot0, hot9, churn, fault, boot
 *
 * Each makes a standard machine, warms up, and then does PAIRS pairs of an allocation and a free. The difference of two runs
 * with different PAIRS, divided by the difference of PAIRS, is what a pair costs. `churn` frees random pages of a memory that
 * is three quarters full and takes others. `fault` touches PAIRS pages of a new mapping, one after the other. `boot` only makes the machine and prints what it costs to be there.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/rng.h"
#include "base/text.h"
#include "kernel/kernel.h"
#include "machine/geometry.h"
#include "mm/memory.h"
#include "mm/page_alloc.h"

#define GFP_NOW (FL_GFP_HIGHUSER_MOVABLE & ~FL_GFP_RECLAIM)

struct bench {
	struct fl_machine machine;
	struct fl_kernel kernel;
	struct fl_mem *mem;
	struct fl_task task;
	struct fl_caller who;
};

static void die(const char *what)
{
	fprintf(stderr, "instructions: %s\n", what);
	exit(1);
}

static void set_up(struct bench *b, int64_t gib)
{
	const struct fl_machine_wish wish = { .memory_bytes = gib << 30, .cpus = 1 };
	struct fl_error error = { 0 };

	if (fl_machine_make(&wish, &b->machine, &error) < 0 || fl_kernel_parse(fl_kernel_default, &b->kernel, &error) < 0)
		die(error.text);
	b->mem = fl_mem_new(&(struct fl_mem_config){ .geometry = &b->machine.geometry, .decide = &b->kernel.decide,
						     .cost = &fl_cost_default });
	b->task = (struct fl_task){ .name = "bench" };
	b->who = (struct fl_caller){ .task = &b->task };
}

static fl_pfn take(struct bench *b, unsigned int order)
{
	fl_pfn pfn = fl_page_alloc(b->mem, &b->who, GFP_NOW, order, FL_KIND_ANON);

	if (pfn == FL_PFN_NONE)
		die("the modelled memory was full where it should not be");
	return pfn;
}

static void hot(struct bench *b, unsigned int order, long pairs)
{
	for (long i = 0; i < pairs; i++)
		fl_page_free(b->mem, &b->who, take(b, order), order);
}

/*
 * Three quarters of the memory are taken as huge pages; CHUNKS of them, spread over all of it, are cut into pages of which
 * random ones are freed and others taken, in batches that the per-CPU lists cannot hold: a page that is freed alone would
 * be taken again at once. The same seed whatever PAIRS is: the longer run repeats the shorter one first.
 */
#define CHUNKS 512
#define BATCH 16384
static void churn(struct bench *b, long pairs)
{
	size_t huge = (size_t)(b->machine.memory_bytes / b->machine.huge_bytes / 4 * 3), count = 0;
	uint32_t pages_of_chunk = 1u << b->mem->pmd_order;
	fl_pfn *pages = fl_xmalloc((size_t)CHUNKS * pages_of_chunk * sizeof(*pages));
	struct fl_rng rng;

	fl_rng_init(&rng, 1, "instructions", 0);
	/* Lists of one length on machines of all sizes. */
	for (unsigned int z = 0; z < FL_ZONES; z++)
		if (b->mem->zone[z].pcp)
			b->mem->zone[z].pcp->high_min = b->mem->zone[z].pcp->high_max = 2048;
	for (size_t i = 0; i < huge; i++) {
		fl_pfn pfn = take(b, b->mem->pmd_order);

		if (i * CHUNKS / huge == (i + 1) * CHUNKS / huge)
			continue;
		fl_page_split(b->mem, pfn, b->mem->pmd_order);
		for (uint32_t n = 0; n < pages_of_chunk; n++)
			pages[count++] = pfn + n;
	}
	for (long done = 0; done < pairs; done += BATCH) {
		for (unsigned int i = 0; i < BATCH; i++) {
			size_t at = (size_t)(((unsigned __int128)fl_rng_u64(&rng) * count) >> 64);

			fl_page_free(b->mem, &b->who, pages[at], 0);
			pages[at] = pages[--count];
		}
		for (unsigned int i = 0; i < BATCH; i++)
			pages[count++] = take(b, 0);
	}
	fl_xfree(pages);
}

static void fault(struct bench *b, long pages)
{
	const struct fl_map_request request = { .pages = (uint32_t)pages, .flags = FL_VM_NOHUGEPAGE };
	struct fl_mm *mm = fl_mm_new(b->mem, &b->who);
	fl_vpn at = fl_mmap(b->mem, &b->who, mm, &request);

	if (at == FL_VPN_NONE ||
	    fl_touch_range(b->mem, &b->who, mm, at, request.pages, 1, true).end != FL_FAULT_DONE)
		die("the modelled memory was full where it should not be");
}

int main(int argc, char **argv)
{
	struct bench b;
	struct rusage usage;

	if (argc != 4)
		die("usage: instructions hot0|hot9|churn|fault|boot MEMORY_GIB PAIRS");
	set_up(&b, atol(argv[2]));
	if (!strcmp(argv[1], "hot0"))
		hot(&b, 0, atol(argv[3]));
	else if (!strcmp(argv[1], "hot9"))
		hot(&b, 9, atol(argv[3]));
	else if (!strcmp(argv[1], "churn"))
		churn(&b, atol(argv[3]));
	else if (!strcmp(argv[1], "fault"))
		fault(&b, atol(argv[3]));
	else if (strcmp(argv[1], "boot"))
		die("unknown work");
	if (!strcmp(argv[1], "boot") && getrusage(RUSAGE_SELF, &usage) == 0)
		printf("%ld\n", usage.ru_maxrss); /* KiB */
	fl_mem_free(b.mem);
	return 0;
}
