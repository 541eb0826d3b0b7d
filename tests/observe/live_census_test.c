/*
 * The census of this very host against its own /proc: skipped where /proc/kpageflags may not be read.
 *
 * The host works meanwhile, so a figure of /proc is read before and after; the census has to lie between the two, give
 * or take `SLACK` pages, in one of five attempts.
 */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "observe/hostfile.h"
#include "observe/kpageflags.h"

#define ATTEMPTS 5
#define SLACK 2048

static struct fl_error lacking;

/* The sum of all lines "NAME value" of a file. */
static uint64_t sum_of(const char *file, const char *name)
{
	struct fl_text text;
	uint64_t sum = 0;
	size_t length = strlen(name);

	fl_text_init(&text);
	if (fl_hostfile_read("", file, &text, NULL) < 0)
		fail_msg("%s cannot be read", file);
	for (char *line = strtok(text.data, "\n"); line; line = strtok(NULL, "\n")) {
		line += strspn(line, " ");
		if (strncmp(line, name, length) == 0 && line[length] == ' ')
			sum += strtoull(line + length, NULL, 10);
	}
	fl_text_fini(&text);
	return sum;
}

static uint64_t sum_of_names(const char *const *names)
{
	uint64_t sum = 0;

	for (; *names; names++)
		sum += sum_of("proc/zoneinfo", *names);
	return sum;
}

static void take_census(struct fl_census *ret)
{
	struct fl_error error = {0};

	if (lacking.class) {
		print_message("# skipped: %s\n", lacking.text);
		skip();
	}
	if (fl_census_read_live("", ret, &error) < 0)
		fail_msg("%s", error.text);
}

static uint64_t class_sum(const struct fl_census_counts *counts, const enum fl_census_class *classes, size_t n)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += counts->class_pages[classes[i]];
	return sum;
}

/* The classes add up to the sum of the zoneinfo counters. */
static void expect_agreement(const char *const *names, const enum fl_census_class *classes, size_t n)
{
	uint64_t before = 0, after = 0, ours = 0;

	for (int i = 0; i < ATTEMPTS; i++) {
		struct fl_census_counts counts;
		struct fl_census census;

		before = sum_of_names(names);
		take_census(&census);
		after = sum_of_names(names);
		fl_census_count(&census, FL_CENSUS_ALL_ZONES, &counts);
		fl_census_free(&census);
		ours = class_sum(&counts, classes, n);
		if (ours + SLACK >= (before < after ? before : after) && ours <= (before > after ? before : after) + SLACK)
			return;
	}
	fail_msg("%s and others: %llu before, %llu after, census %llu", names[0], (unsigned long long)before,
		 (unsigned long long)after, (unsigned long long)ours);
}

static void test_free_pages_agree_with_zoneinfo(void **state)
{
	static const char *const names[] = { "nr_free_pages", NULL };
	static const enum fl_census_class classes[] = { FL_CENSUS_FREE };

	expect_agreement(names, classes, 1);
}

static void test_slab_pages_agree_with_zoneinfo(void **state)
{
	static const char *const names[] = { "nr_slab_reclaimable", "nr_slab_unreclaimable", NULL };
	static const enum fl_census_class classes[] = { FL_CENSUS_SLAB };

	expect_agreement(names, classes, 1);
}

static void test_page_tables_agree_with_zoneinfo(void **state)
{
	static const char *const names[] = { "nr_page_table_pages", NULL };
	static const enum fl_census_class classes[] = { FL_CENSUS_PGTABLE };

	expect_agreement(names, classes, 1);
}

static void test_movable_pages_agree_with_the_lru_lists(void **state)
{
	static const char *const names[] = { "nr_inactive_anon", "nr_active_anon", "nr_inactive_file", "nr_active_file",
					     "nr_unevictable", "nr_isolated_anon", "nr_isolated_file", NULL };
	static const enum fl_census_class classes[] = { FL_CENSUS_ANON, FL_CENSUS_HUGE, FL_CENSUS_FILE,
							FL_CENSUS_MLOCKED };

	expect_agreement(names, classes, 4);
}

/* kB of PMD-mapped and file huge pages, as base pages. */
static uint64_t huge_pages(void)
{
	return (sum_of("proc/meminfo", "AnonHugePages:") + sum_of("proc/meminfo", "ShmemHugePages:") +
		sum_of("proc/meminfo", "FileHugePages:")) * 1024 / (uint64_t)sysconf(_SC_PAGESIZE);
}

static void test_huge_pages_agree_with_meminfo(void **state)
{
	size_t size = 64 << 20;
	char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t before, after, ours = 0;

	assert_ptr_not_equal(memory, MAP_FAILED);
	madvise(memory, size, MADV_HUGEPAGE);
	memset(memory, 1, size);
	before = huge_pages();
	for (int i = 0; i < ATTEMPTS; i++) {
		struct fl_census_counts counts;
		struct fl_census census;

		take_census(&census);
		fl_census_count(&census, FL_CENSUS_ALL_ZONES, &counts);
		fl_census_free(&census);
		after = huge_pages();
		ours = counts.class_pages[FL_CENSUS_HUGE];
		if (ours + SLACK >= before && ours <= after + SLACK)
			break;
		before = after;
	}
	munmap(memory, size);
	if (before < 4096) {
		print_message("# skipped: this host gave no transparent huge pages\n");
		skip();
	}
	print_message("# huge pages: meminfo %llu, census %llu base pages\n", (unsigned long long)before,
		      (unsigned long long)ours);
	assert_true(ours + SLACK >= before && ours <= after + SLACK);
}

static void test_every_present_page_is_in_one_class_and_unmanaged_ones_are_told(void **state)
{
	struct fl_census_counts counts;
	struct fl_census census;

	take_census(&census);
	for (unsigned int z = 0; z < census.zones_count; z++) {
		const struct fl_census_zone *zone = &census.zones[z];
		uint64_t sum = 0, unmanaged;

		fl_census_count(&census, (int)z, &counts);
		for (int i = 0; i < FL_CENSUS_HOLE; i++)
			sum += counts.class_pages[i];
		assert_int_equal(sum, zone->present);
		unmanaged = counts.class_pages[FL_CENSUS_NOT_MANAGED] + counts.class_pages[FL_CENSUS_RESERVED];
		/* Pages that came under management during the census make it less, by sections of 128 MiB. */
		assert_true(unmanaged <= zone->present - zone->managed + SLACK);
		assert_true(unmanaged + 4 * 32768 + SLACK >= zone->present - zone->managed);
	}
	fl_census_free(&census);
}

static void test_pages_on_per_cpu_lists_are_among_the_unidentified(void **state)
{
	for (int i = 0; i < ATTEMPTS; i++) {
		struct fl_census_counts counts;
		struct fl_census census;
		uint64_t pcp = 0;

		take_census(&census);
		fl_census_count(&census, FL_CENSUS_ALL_ZONES, &counts);
		for (unsigned int z = 0; z < census.zones_count; z++)
			pcp += census.zones[z].pcp;
		fl_census_free(&census);
		if (counts.unidentified_pages + SLACK >= pcp)
			return;
	}
	fail_msg("fewer unidentified pages than pages on per-CPU lists in %d attempts", ATTEMPTS);
}

static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void test_24_gib_take_less_than_two_seconds(void **state)
{
	struct fl_census census;
	uint64_t pages = 0;
	double seconds = cpu_seconds();

	take_census(&census);
	seconds = cpu_seconds() - seconds;
	for (unsigned int z = 0; z < census.zones_count; z++)
		pages += census.zones[z].spanned;
	fl_census_free(&census);
	print_message("# census of %llu pages: %.3f s of CPU time\n", (unsigned long long)pages, seconds);
	assert_true(seconds < 2.0 * (double)pages / (24 << 18) || seconds < 2.0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_free_pages_agree_with_zoneinfo),
		cmocka_unit_test(test_slab_pages_agree_with_zoneinfo),
		cmocka_unit_test(test_page_tables_agree_with_zoneinfo),
		cmocka_unit_test(test_movable_pages_agree_with_the_lru_lists),
		cmocka_unit_test(test_huge_pages_agree_with_meminfo),
		cmocka_unit_test(test_every_present_page_is_in_one_class_and_unmanaged_ones_are_told),
		cmocka_unit_test(test_pages_on_per_cpu_lists_are_among_the_unidentified),
		cmocka_unit_test(test_24_gib_take_less_than_two_seconds),
	};
	struct fl_census census;

	if (fl_census_read_live("", &census, &lacking) == 0)
		fl_census_free(&census);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
