/*
 * tests/machine/census_test.c - the census of the model against a naive count, its slots, and the gaps of the counters.
 */
#include "kernel/kernel.h"
#include "machine/census.h"
#include "mm/page_alloc.h"
#include "support.h"

struct machine {
	struct fl_mem *mem;
	struct fl_task task;
	struct fl_caller who;
	struct fl_kernel kernel;
	struct fl_machine geometry;
};

static int make(void **state)
{
	struct machine *m = calloc(1, sizeof(*m));
	struct fl_error error;
	struct fl_machine_wish wish = { .memory_bytes = 64 * MIB, .cpus = 1 };

	assert_int_equal(fl_machine_make(&wish, &m->geometry, &error), 0);
	assert_int_equal(fl_kernel_parse("7.3", &m->kernel, &error), 0);
	m->mem = fl_mem_new(&(struct fl_mem_config){ .geometry = &m->geometry.geometry, .decide = &m->kernel.decide,
						     .cost = &fl_cost_default });
	m->who.task = &m->task;
	*state = m;
	return 0;
}

static int unmake(void **state)
{
	struct machine *m = *state;

	fl_mem_free(m->mem);
	free(m);
	return 0;
}

static uint64_t class_pages(const struct fl_census *c, enum fl_census_class class)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < c->blocks_count; i++)
		sum += c->blocks[i].pages[class];
	return sum;
}

static void test_classes_of_a_block_add_up(void **state)
{
	struct machine *m = *state;
	struct fl_census c;

	fl_page_alloc(m->mem, &m->who, FL_GFP_KERNEL, 3, FL_KIND_KERNEL);
	fl_machine_census(m->mem, true, &c);
	assert_int_equal(c.blocks_count, 32);
	for (size_t i = 0; i < c.blocks_count; i++) {
		uint32_t sum = 0;

		for (int k = 0; k < FL_CENSUS_CLASSES; k++)
			sum += c.blocks[i].pages[k];
		assert_int_equal(sum, 512);
	}
	assert_int_equal(class_pages(&c, FL_CENSUS_HOLE), 1 + 97); /* page 0, and 636 KiB to 1 MiB */
	assert_int_equal(class_pages(&c, FL_CENSUS_RESERVED), 158 + 8192 + 256);
	fl_census_free(&c);
}

static void test_what_was_allocated_is_found_where_it_lies(void **state)
{
	struct machine *m = *state;
	fl_pfn slab = fl_page_alloc(m->mem, &m->who, FL_GFP_KERNEL, 0, FL_KIND_SLAB);
	fl_pfn table = fl_page_alloc(m->mem, &m->who, FL_GFP_KERNEL, 0, FL_KIND_PGTABLE);
	fl_pfn huge = fl_page_alloc(m->mem, &m->who, FL_GFP_TRANSHUGE, 9, FL_KIND_ANON);
	fl_pfn file = fl_page_alloc(m->mem, &m->who, FL_GFP_HIGHUSER_MOVABLE, 2, FL_KIND_FILE);
	struct fl_census_counts counts;
	struct fl_census c;

	assert_true(slab != FL_PFN_NONE && table != FL_PFN_NONE && huge != FL_PFN_NONE && file != FL_PFN_NONE);
	fl_machine_census(m->mem, true, &c);
	assert_int_equal(c.blocks[slab >> 9].pages[FL_CENSUS_SLAB], 1);
	assert_int_equal(c.blocks[table >> 9].pages[FL_CENSUS_PGTABLE], 1);
	assert_int_equal(c.blocks[huge >> 9].pages[FL_CENSUS_HUGE], 512);
	assert_int_equal(c.blocks[file >> 9].pages[FL_CENSUS_FILE], 4);
	fl_census_count(&c, FL_CENSUS_ALL_ZONES, &counts);
	assert_int_equal(counts.unmovable_pages, 2);
	assert_int_equal(counts.movable_pages, 516);
	fl_census_free(&c);
}

/* Every order's slots, counted page by page. */
static void test_slots_agree_with_a_naive_count(void **state)
{
	struct machine *m = *state;
	struct fl_census c;
	uint64_t free_slots[10] = { 0 };
	uint8_t *is_free = calloc(m->mem->frames.count, 1);

	for (int i = 0; i < 700; i++)
		fl_page_alloc(m->mem, &m->who, i % 3 ? FL_GFP_HIGHUSER_MOVABLE : FL_GFP_KERNEL, (unsigned int)i % 4,
			      i % 3 ? FL_KIND_ANON : FL_KIND_KERNEL);
	for (fl_pfn pfn = 0; pfn < m->mem->frames.count; pfn++) {
		fl_pfn head = fl_frame_head(&m->mem->frames, pfn);

		is_free[pfn] = head != FL_PFN_NONE && fl_state_kind(m->mem->frames.state[head]) == FL_KIND_BUDDY;
	}
	for (unsigned int order = 0; order < 10; order++)
		for (fl_pfn pfn = 0; pfn < m->mem->frames.count; pfn += 1u << order)
			free_slots[order] += !memchr(is_free + pfn, 0, 1u << order);
	fl_machine_census(m->mem, true, &c);
	for (unsigned int order = 0; order < 10; order++) {
		uint64_t sum = 0;

		for (unsigned int z = 0; z < c.zones_count; z++)
			sum += c.zones[z].free_slots[order];
		assert_int_equal(sum, free_slots[order]);
	}
	free(is_free);
	fl_census_free(&c);
}

static void test_gaps_are_what_the_counters_lack(void **state)
{
	struct machine *m = *state;
	struct fl_zone *zone = &m->mem->zone[FL_ZONE_DMA32];
	struct fl_list_pages lists;

	fl_machine_list_pages(m->mem, zone, &lists);
	assert_int_equal(fl_machine_free_count_gap(zone, &lists), 0);
	assert_int_equal(fl_machine_type_count_gap(zone, &lists), 0);
	zone->nr_free_pages -= 5;
	zone->type_count[FL_MOVABLE] -= 3;
	zone->type_count[FL_UNMOVABLE] += 3;
	assert_int_equal(fl_machine_free_count_gap(zone, &lists), 5);
	assert_int_equal(fl_machine_type_count_gap(zone, &lists), 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_classes_of_a_block_add_up, make, unmake),
		cmocka_unit_test_setup_teardown(test_what_was_allocated_is_found_where_it_lies, make, unmake),
		cmocka_unit_test_setup_teardown(test_slots_agree_with_a_naive_count, make, unmake),
		cmocka_unit_test_setup_teardown(test_gaps_are_what_the_counters_lack, make, unmake),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
