/* tests/mm/virtio_blk_test.c - kernel memory of a request to a virtio disk, by its number of segments. */
#include "fixture.h"
#include "mm/virtio_blk.h"

static uint64_t active(const struct fixture *f, enum fl_slab_cache cache)
{
	return fl_slab_stat(f->mem, cache).active_objects;
}

static void test_neighbouring_folios_are_one_segment(void **state)
{
	static const fl_pfn pages[] = { 700, 701, 702, 900, 899, 900 };
	struct fixture f = { 0 };

	(void)state;
	fixture_normal(&f, "6.12", 16);
	assert_int_equal(fl_virtio_segments(f.mem, pages, 3), 1);
	assert_int_equal(fl_virtio_segments(f.mem, pages, 4), 2);
	assert_int_equal(fl_virtio_segments(f.mem, pages, 6), 3);
	fixture_done(&f);
}

static void test_objects_of_a_request_by_its_segments(void **state)
{
	static const struct {
		uint32_t segments;
		enum fl_slab_cache descriptors, sg;
		uint64_t chunks;
	} cases[] = {
		{ 1, FL_SLAB_kmalloc_64, FL_SLAB_sgpool_8, 0 },	   { 2, FL_SLAB_kmalloc_64, FL_SLAB_sgpool_8, 0 },
		{ 3, FL_SLAB_kmalloc_96, FL_SLAB_sgpool_8, 1 },	   { 9, FL_SLAB_kmalloc_192, FL_SLAB_sgpool_8, 1 },
		{ 32, FL_SLAB_kmalloc_1k, FL_SLAB_sgpool_32, 1 },  { 129, FL_SLAB_kmalloc_4k, FL_SLAB_sgpool_128, 1 },
		{ 254, FL_SLAB_kmalloc_4k, FL_SLAB_sgpool_128, 2 },
	};

	(void)state;
	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fl_virtio_request request;
		struct fixture f = { 0 };

		fixture_normal(&f, "6.12", 16);
		fl_virtio_request_begin(f.mem, &f.who, cases[i].segments, &request);
		assert_int_equal(active(&f, cases[i].descriptors), 1);
		assert_int_equal(active(&f, cases[i].sg), cases[i].chunks);
		fl_virtio_request_end(f.mem, &f.who, &request);
		assert_int_equal(active(&f, cases[i].descriptors), 0);
		assert_int_equal(active(&f, cases[i].sg), 0);
		fixture_done(&f);
	}
}

static void test_a_request_goes_on_without_memory(void **state)
{
	struct fl_virtio_request request;
	struct fixture f = { 0 };

	(void)state;
	fixture_normal(&f, "6.12", 16);
	while (fl_page_alloc(f.mem, &f.who, FL_GFP_ATOMIC, 0, FL_KIND_KERNEL) != FL_PFN_NONE)
		;
	fl_virtio_request_begin(f.mem, &f.who, 254, &request);
	assert_int_equal(request.descriptors, FL_OBJECT_NONE);
	assert_int_equal(request.sg[0], FL_OBJECT_NONE);
	fl_virtio_request_end(f.mem, &f.who, &request);
	fixture_done(&f);
}

/* Below the low mark a new slab of order 3 comes from the slow path of an atomic request: 6.12 reserves its pageblock. */
static void test_large_requests_below_the_low_mark_grow_the_highatomic_reserve(void **state)
{
	struct fl_virtio_request request[16];
	struct fixture f = { 0 };
	struct fl_zone *zone;

	(void)state;
	fixture_normal(&f, "6.12", 128);
	zone = fixture_zone(&f);
	while (zone->nr_free_pages > (long)fl_wmark_pages(zone, FL_WMARK_LOW))
		take_buddy(&f, 0, FL_MOVABLE, 0);
	assert_int_equal(zone->nr_reserved_highatomic, 0);
	for (int i = 0; i < 16; i++)
		fl_virtio_request_begin(f.mem, &f.who, 254, &request[i]);
	assert_true(zone->nr_reserved_highatomic >= 512);
	for (int i = 0; i < 16; i++)
		fl_virtio_request_end(f.mem, &f.who, &request[i]);
	fixture_done(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_neighbouring_folios_are_one_segment),
		cmocka_unit_test(test_objects_of_a_request_by_its_segments),
		cmocka_unit_test(test_a_request_goes_on_without_memory),
		cmocka_unit_test(test_large_requests_below_the_low_mark_grow_the_highatomic_reserve),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
