/*
 * tests/machine/geometry_test.c - the standard machines, machine files, and what is refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "kernel/kernel.h"
#include "machine/geometry.h"
#include "sim/cost.h"

#define MIB (INT64_C(1) << 20)
#define GIB (INT64_C(1) << 30)

static struct fl_machine make(struct fl_machine_wish wish)
{
	struct fl_machine m;
	struct fl_error error = { 0 };

	if (fl_machine_make(&wish, &m, &error))
		fail_msg("%s", error.text);
	return m;
}

static void refuse(struct fl_machine_wish wish, const char *words)
{
	struct fl_machine m = { .memory_bytes = 77 };
	struct fl_error error = { 0 };

	assert_int_not_equal(fl_machine_make(&wish, &m, &error), 0);
	assert_int_equal(error.class, FL_ERROR_INPUT);
	assert_non_null(strstr(error.text, words));
	assert_int_equal(m.memory_bytes, 77); /* untouched */
}

static uint64_t pages(const struct fl_pfn_range *list, unsigned int count)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < count; i++)
		sum += list[i].end - list[i].start;
	return sum;
}

static void test_16g_has_3g_below_the_border_and_13g_in_normal(void **state)
{
	struct fl_machine m = make((struct fl_machine_wish){ .memory_bytes = 16 * GIB, .cpus = 8 });
	const struct fl_geometry *g = &m.geometry;

	assert_int_equal(g->zone[FL_ZONE_DMA].start, 1);
	assert_int_equal(g->zone[FL_ZONE_DMA].end, 4096);
	assert_int_equal(g->zone[FL_ZONE_DMA32].end, 3 * GIB >> 12);
	assert_int_equal(g->zone[FL_ZONE_NORMAL].start, 4 * GIB >> 12);
	assert_int_equal(g->zone[FL_ZONE_NORMAL].end, 17 * GIB >> 12);
	assert_int_equal(g->zone[FL_ZONE_MOVABLE].end, 0);
	assert_int_equal(g->cpus, 8);
	assert_int_equal(m.scale_bytes, 16 * GIB);
	assert_int_equal(m.huge_bytes, 2 * MIB);
}

/* As in real zoneinfo: DMA has 3998 pages present and, with the low 1 MiB reserved, 3840 managed. */
static void test_zone_dma_is_that_of_a_pc(void **state)
{
	struct fl_machine m = make((struct fl_machine_wish){ .memory_bytes = 4 * GIB });

	assert_int_equal(m.geometry.ranges[0].end - m.geometry.ranges[0].start + 4096 -
			 m.geometry.ranges[1].start, 3998);
	assert_int_equal(m.geometry.reserved[0].end - m.geometry.reserved[0].start, 158);
}

static void test_memory_map_takes_one_64th(void **state)
{
	struct fl_machine m = make((struct fl_machine_wish){ .memory_bytes = 64 * GIB });
	const struct fl_geometry *g = &m.geometry;

	assert_int_equal(pages(g->reserved, g->reserved_count), 158 + 8192 + (64 * GIB >> 18));
}

static void test_machine_below_3g_has_no_normal_zone(void **state)
{
	struct fl_machine m = make((struct fl_machine_wish){ .memory_bytes = 2 * GIB });

	assert_int_equal(m.geometry.zone[FL_ZONE_NORMAL].end, 0);
	m = make((struct fl_machine_wish){ .memory_bytes = 2 * GIB, .below_4g_bytes = 256 * MIB });
	assert_int_equal(m.geometry.zone[FL_ZONE_NORMAL].end - m.geometry.zone[FL_ZONE_NORMAL].start,
			 (2 * GIB - 256 * MIB) >> 12);
}

/* The machine of type-pressure-3g: zones and watermarks as the recorded kernel printed them in /proc/zoneinfo. */
static void test_recorded_machine_has_the_zones_and_watermarks_of_its_zoneinfo(void **state)
{
	static const struct fl_byte_range reserved[] = {
		{ 0, 1 * MIB }, { 0x1000000, 0x196b000 }, { 0x1a00000, 0x1b3d000 }, { 0x1c00000, 0x1dc7000 },
		{ 0x1e00000, 0x1e10000 }, { 0xbeb6000, 0xfedc000 }, { 0x1ac600000, 0x1acc6a000 },
		{ 0x1ace00000, 0x1afe00000 }, { 0x1aff2f000, 0x1b0000000 },
	};
	struct fl_machine m = make((struct fl_machine_wish){ .memory_bytes = 3 * GIB, .below_4g_bytes = 256 * MIB, .cpus = 2,
							     .no_zone_dma = true, .reserved = reserved,
							     .reserved_count = 9, .slowness = 20 });
	struct fl_kernel kernel;
	struct fl_error error = { 0 };
	struct fl_mem *mem;

	assert_int_equal(fl_kernel_parse("6.12", &kernel, &error), 0);
	mem = fl_mem_new(&(struct fl_mem_config){ .geometry = &m.geometry, .decide = &kernel.decide, .cost = &fl_cost_default });
	assert_int_equal(mem->zone[FL_ZONE_DMA].managed, 0);
	assert_int_equal(mem->zone[FL_ZONE_DMA32].managed, 45659);
	assert_int_equal(mem->zone[FL_ZONE_NORMAL].managed, 706757);
	assert_int_equal(mem->zone[FL_ZONE_NORMAL].present, 720896);
	for (unsigned int mark = 0; mark < 3; mark++) {
		static const uint64_t normal[] = { 10580, 13225, 15870 }, dma32[] = { 683, 853, 1023 };

		assert_int_equal(mem->zone[FL_ZONE_NORMAL].wmark[mark], normal[mark]);
		assert_int_equal(mem->zone[FL_ZONE_DMA32].wmark[mark], dma32[mark]);
	}
	assert_int_equal(m.slowness, 20);
	fl_mem_free(mem);
}

static void test_page_sizes_bring_their_orders(void **state)
{
	struct fl_machine m = make((struct fl_machine_wish){ .memory_bytes = 16 * GIB, .page_bytes = 65536 });

	assert_int_equal(m.geometry.pageblock_order, 13);
	assert_int_equal(m.huge_bytes, 512 * MIB);
	m = make((struct fl_machine_wish){ .memory_bytes = 16 * GIB, .page_bytes = 16384 });
	assert_int_equal(m.geometry.pageblock_order, 11);
	assert_int_equal(m.geometry.zone[FL_ZONE_NORMAL].start, 4 * GIB >> 14);
}

static void test_bad_sizes_are_refused_with_a_sentence(void **state)
{
	refuse((struct fl_machine_wish){ .memory_bytes = 1 * MIB }, "memory of 1M: expected 64M to");
	refuse((struct fl_machine_wish){ .memory_bytes = 1 * GIB + 4096 }, "a multiple of 2M");
	refuse((struct fl_machine_wish){ .memory_bytes = 16384 * GIB }, "memory of 16T");
	refuse((struct fl_machine_wish){ .swap_bytes = 4096 }, "swap of 4K");
	refuse((struct fl_machine_wish){ .swap_bytes = 4096 * GIB }, "swap");
	refuse((struct fl_machine_wish){ .cpus = -1 }, "CPUs");
	refuse((struct fl_machine_wish){ .cpus = 5000 }, "5000 CPUs");
	refuse((struct fl_machine_wish){ .page_bytes = 8192 }, "4K, 16K or 64K");
	refuse((struct fl_machine_wish){ .below_4g_bytes = 4 * GIB }, "memory below 4 GiB");
	refuse((struct fl_machine_wish){ .guard_minorder = 9 }, "guard_minorder 9");
	refuse((struct fl_machine_wish){ .memory_bytes = 512 * MIB, .page_bytes = 65536 }, "expected 1G");
}

/* ---- machine files ---- */

static char path[] = "/tmp/fl_machine_XXXXXX";

static void write_file(const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static int open_file(void **state)
{
	int fd = mkstemp(path);

	return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
	return unlink(path);
}

static void test_machine_file_gives_ranges_zones_and_reserved(void **state)
{
	struct fl_machine m;

	write_file("{ \"cpus\": 2, \"swap\": \"1G\", \"zones\": { \"DMA32\": [\"0\", \"256M\"], \"Normal\": [\"4G\", \"7G\"] },"
		   "  \"ranges\": [[0, \"256M\"], [\"4G\", \"7G\"]], \"reserved\": [[0, \"64M\"]] }");
	m = make((struct fl_machine_wish){ .file = path });
	assert_int_equal(m.geometry.ranges_count, 2);
	assert_int_equal(m.geometry.reserved[0].end, 64 * MIB >> 12);
	assert_int_equal(m.geometry.zone[FL_ZONE_DMA32].end, 65536);
	assert_int_equal(m.memory_bytes, 3 * GIB + 256 * MIB);
	assert_int_equal(m.swap_bytes, GIB);
	assert_int_equal(m.geometry.cpus, 2);
	m = make((struct fl_machine_wish){ .file = path, .cpus = 6 });
	assert_int_equal(m.geometry.cpus, 6);
}

static const char *cost_file(const char *text)
{
	static const char name[] = "geometry_test.costs";
	FILE *file = fopen(name, "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
	return name;
}

static void test_a_cost_file_is_laid_over_the_table_and_shows_in_the_description(void **state)
{
	struct fl_machine plain = make((struct fl_machine_wish){ .cpus = 1 }), m;
	struct fl_fields fields = { 0 };

	m = make((struct fl_machine_wish){ .cost_file = cost_file("zero_4k 777 # ns, measured\n"), .slowness = 3 });
	assert_int_equal(plain.cost.zero_4k, fl_cost_default.zero_4k);
	assert_int_equal(m.cost.zero_4k, 3 * 777);
	assert_int_equal(m.cost.copy_4k, 3 * fl_cost_default.copy_4k);
	fl_machine_describe(&plain, &fields);
	assert_null(fl_fields_find(&fields, "costs"));
	fl_machine_describe(&m, &fields);
	assert_non_null(fl_fields_find(&fields, "costs"));
	fl_fields_fini(&fields);
}

static void test_bad_cost_files_are_refused_with_file_and_line(void **state)
{
	refuse((struct fl_machine_wish){ .cost_file = "geometry_test.absent" }, "geometry_test.absent: No such file");
	refuse((struct fl_machine_wish){ .cost_file = "." }, ".: Is a directory");
	refuse((struct fl_machine_wish){ .cost_file = cost_file("\nzero4k 5\n") }, "geometry_test.costs:2: \"zero4k\"");
	unlink("geometry_test.costs");
}

static void test_broken_machine_files_are_refused(void **state)
{
	static const char *const cases[][2] = {
		{ "{", path },
		{ "[]", "expected an object" },
		{ "{\"zone\": 1}", "did you mean \"zones\"" },
		{ "{\"zones\": {\"Norml\": [0, 4096]}}", "did you mean \"Normal\"" },
		{ "{\"zones\": {\"Normal\": [0, \"4096G\"]}, \"ranges\": [[0, \"1G\"], [\"2000G\", \"2001G\"]]}", "times as much" },
		{ "{\"zones\": {\"Normal\": [0, \"4G\"]}, \"ranges\": []}", "no memory" },
		{ "{}", "there are no \"zones\"" },
		{ "{\"zones\": {\"Normal\": [0, \"100P\"]}, \"ranges\": [[0, \"1G\"]]}", "out of range" },
		{ "{\"zones\": {\"Normal\": [0, 1000]}}", "not a whole number of pages" },
		{ "{\"zones\": {\"Normal\": [8192, 4096]}}", "not above the start" },
		{ "{\"zones\": {\"Normal\": [0, \"1G\"]}}", "there are no \"ranges\"; expected a list" },
		{ "{\"zones\": {\"Normal\": [0, \"1G\"]}, \"ranges\": [[0, \"2G\"]]}", "ranges[0]: not all of it" },
		{ "{\"zones\": {\"Normal\": [0, \"1G\"]}, \"ranges\": [[0, \"1G\"]], \"reserved\": [[\"1G\", \"2G\"]]}",
		  "reserved[0]: lies outside" },
		{ "{\"zones\": {\"DMA32\": [0, \"1G\"], \"Normal\": [\"512M\", \"2G\"]}, \"ranges\": []}",
		  "zones.Normal: starts inside" },
		{ "{\"cpus\": 0}", "cpus: expected" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		write_file(cases[i][0]);
		refuse((struct fl_machine_wish){ .file = path }, cases[i][1]);
	}
	refuse((struct fl_machine_wish){ .file = path, .memory_bytes = GIB }, "--memory cannot be given");
}

/* 1 GiB has 256 Ki frames of 4 bytes for sure; with pageblocks of two pages it has 128 Ki of those, each in the census. */
static void test_machine_that_the_host_cannot_hold_is_refused_with_what_it_takes(void **state)
{
	struct fl_error error = { 0 };
	struct fl_machine m;
	uint64_t usual;

	write_file("{\"zones\": {\"Normal\": [0, \"1G\"]}, \"ranges\": [[0, \"1G\"]]}");
	assert_int_equal(fl_machine_make(&(struct fl_machine_wish){ .file = path }, &m, &error), 0);
	usual = fl_machine_least_host_bytes(&m);
	assert_true(usual > MIB && usual < 2 * MIB);
	m.geometry.pageblock_order = 1;
	assert_true(fl_machine_least_host_bytes(&m) > 4 * usual);
	assert_int_equal(fl_machine_fits_host(&m, fl_machine_least_host_bytes(&m), &error), 0);
	assert_int_equal(fl_machine_fits_host(&m, MIB, &error), -ENOMEM);
	assert_int_equal(error.class, FL_ERROR_LACKING);
	assert_non_null(strstr(error.text, "this host has 1M; take a smaller machine, or a larger pageblock_order"));
	assert_int_equal(fl_machine_fits_host(&m, 0, &error), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_16g_has_3g_below_the_border_and_13g_in_normal),
		cmocka_unit_test(test_zone_dma_is_that_of_a_pc),
		cmocka_unit_test(test_memory_map_takes_one_64th),
		cmocka_unit_test(test_machine_below_3g_has_no_normal_zone),
		cmocka_unit_test(test_recorded_machine_has_the_zones_and_watermarks_of_its_zoneinfo),
		cmocka_unit_test(test_page_sizes_bring_their_orders),
		cmocka_unit_test(test_bad_sizes_are_refused_with_a_sentence),
		cmocka_unit_test(test_machine_file_gives_ranges_zones_and_reserved),
		cmocka_unit_test(test_a_cost_file_is_laid_over_the_table_and_shows_in_the_description),
		cmocka_unit_test(test_bad_cost_files_are_refused_with_file_and_line),
		cmocka_unit_test(test_broken_machine_files_are_refused),
		cmocka_unit_test(test_machine_that_the_host_cannot_hold_is_refused_with_what_it_takes),
	};

	return cmocka_run_group_tests(tests, open_file, remove_file);
}
