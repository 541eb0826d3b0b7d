/*
 * tests/machine/boot_test.c - machines with pages of 16K and 64K boot, and their watermarks and per-CPU lists are what the
 * formulas of allocator.md 2.5 and 5 give for them, worked out by hand here.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "kernel/kernel.h"
#include "machine/geometry.h"
#include "mm/check.h"
#include "mm/page_alloc.h"
#include "mm/pcp.h"

#define GIB (INT64_C(1) << 30)
#define GFP_MOVABLE_NOW (FL_GFP_HIGHUSER_MOVABLE & ~FL_GFP_RECLAIM)
#define GFP_UNMOVABLE_NOW (FL_GFP_KERNEL & ~FL_GFP_RECLAIM)

struct booted {
	struct fl_machine machine;
	struct fl_kernel kernel;
	struct fl_mem *mem;
	struct fl_task task;
	struct fl_caller who;
};

static void boot(struct booted *b, int64_t page_bytes, int64_t memory_bytes, int cpus)
{
	const struct fl_machine_wish wish = { .memory_bytes = memory_bytes, .page_bytes = page_bytes, .cpus = cpus };
	struct fl_error error = { 0 };

	memset(b, 0, sizeof(*b));
	if (fl_machine_make(&wish, &b->machine, &error) < 0 || fl_kernel_parse("7.3", &b->kernel, &error) < 0)
		fail_msg("%s", error.text);
	b->mem = fl_mem_new(&(struct fl_mem_config){ .geometry = &b->machine.geometry, .decide = &b->kernel.decide,
						     .cost = &fl_cost_default });
	b->task = (struct fl_task){ .name = "test" };
	b->who = (struct fl_caller){ .task = &b->task };
	fl_mem_check(b->mem);
}

static void done(struct booted *b)
{
	fl_mem_check(b->mem);
	fl_mem_free(b->mem);
}

/* min, low and high of zones DMA and Normal; batch, high_min and high_max of their lists. */
struct expected {
	int64_t page_bytes, memory_gib;
	int cpus;
	uint32_t managed[2];
	uint64_t min_free_kbytes, marks[2][3];
	int pcp[2][3];
};

static const struct expected machines[] = {
	/* 2 zones of 11 pageblocks of 32 MiB */
	{ 16384, 16, 4, { 193792, 848640 }, 720896, { { 8376, 10470, 12564 }, { 36679, 45848, 55017 } },
	  { { 15, 2617, 6056 }, { 15, 11462, 26520 } } },
	/* pageblocks of 512 MiB: 22 of them would be 11 GiB, so 5 % is the cap */
	{ 65536, 16, 4, { 48592, 212784 }, 833920, { { 2422, 3027, 3632 }, { 10607, 13258, 15909 } },
	  { { 3, 756, 1518 }, { 3, 3314, 6649 } } },
	{ 65536, 64, 8, { 48592, 998448 }, 3342144, { { 2423, 3028, 3633 }, { 49797, 62246, 74695 } },
	  { { 3, 378, 759 }, { 3, 7780, 15600 } } },
};

static void test_watermarks_and_lists_of_machines_with_large_pages(void **state)
{
	for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++) {
		const struct expected *e = &machines[i];
		struct booted b;

		boot(&b, e->page_bytes, e->memory_gib * GIB, e->cpus);
		assert_int_equal(b.mem->set.min_free_kbytes, e->min_free_kbytes);
		for (unsigned int n = 0; n < 2; n++) {
			const struct fl_zone *zone = &b.mem->zone[n ? FL_ZONE_NORMAL : FL_ZONE_DMA];

			assert_int_equal(zone->managed, e->managed[n]);
			assert_int_equal(zone->nr_free_pages, e->managed[n]);
			for (unsigned int mark = 0; mark < 3; mark++)
				assert_int_equal(zone->wmark[mark], e->marks[n][mark]);
			assert_int_equal(zone->pcp->batch, e->pcp[n][0]);
			assert_int_equal(zone->pcp->high_min, e->pcp[n][1]);
			assert_int_equal(zone->pcp->high_max, e->pcp[n][2]);
		}
		done(&b);
	}
}

static void test_largest_chunk_is_one_pageblock_and_a_huge_page_goes_through_the_lists(void **state)
{
	for (size_t i = 0; i < 2; i++) {
		struct booted b;
		unsigned int order;
		fl_pfn huge, kernel;

		boot(&b, machines[i].page_bytes, 16 * GIB, 1);
		order = b.mem->pmd_order;
		assert_int_equal(order, b.mem->pageblock_order);
		assert_int_equal(order, b.mem->max_order);
		huge = fl_page_alloc(b.mem, &b.who, GFP_MOVABLE_NOW, order, FL_KIND_ANON);
		assert_int_equal(huge & ((1u << order) - 1), 0);
		assert_int_equal(b.mem->zone[FL_ZONE_NORMAL].pcp->count, 1 << order); /* a refill takes two */
		fl_page_free(b.mem, &b.who, huge, order);
		/* A first kernel page converts one whole pageblock, which is the largest chunk. */
		kernel = fl_page_alloc(b.mem, &b.who, GFP_UNMOVABLE_NOW, 0, FL_KIND_KERNEL);
		assert_int_equal(fl_pageblock_type(b.mem, kernel), FL_UNMOVABLE);
		assert_int_equal(b.mem->extfrag[FL_UNMOVABLE][FL_MOVABLE][order][FL_EXTFRAG_CLAIM], 1);
		assert_int_equal(fl_pageblock_type(b.mem, kernel ^ 1u << order), FL_MOVABLE);
		done(&b);
	}
}

static void test_small_machine_with_64k_pages_groups_nothing_by_mobility(void **state)
{
	struct booted b;

	boot(&b, 65536, 2 * GIB, 1); /* 4 pageblocks, 5 types */
	assert_true(b.mem->set.grouping_disabled);
	done(&b);
	boot(&b, 65536, 3 * GIB, 1);
	assert_false(b.mem->set.grouping_disabled);
	done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_watermarks_and_lists_of_machines_with_large_pages),
		cmocka_unit_test(test_largest_chunk_is_one_pageblock_and_a_huge_page_goes_through_the_lists),
		cmocka_unit_test(test_small_machine_with_64k_pages_groups_nothing_by_mobility),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
