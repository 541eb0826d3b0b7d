/*
 * tests/observe/layout_test.c - a host as a snapshot: types of pageblocks guessed from counts, settings and zones read from
 * files, and what is said when a host tells little.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/rng.h"
#include "base/text.h"
#include "observe/layout_host.h"

#define BLOCK 512u
#define BLOCKS 400u

/* A zone whose types are known: what pagetypeinfo would print of it goes into the layout, then the types are forgotten. */
static void make(struct fl_layout *l, uint64_t seed, uint64_t blocks[FL_LAYOUT_TYPES])
{
	struct fl_rng rng;

	fl_rng_init(&rng, seed, "types", 0);
	fl_layout_init(l);
	l->page_size = 4096;
	l->pageblock_order = l->pmd_order = 9;
	l->max_order = 10;
	l->zone[2] = (struct fl_layout_zone){ .start_pfn = 0, .spanned = BLOCKS * BLOCK, .has_host_free = true };
	l->pages = BLOCKS * BLOCK;
	l->page = fl_xcalloc(l->pages, 1);
	l->order = fl_xcalloc(l->pages, 1);
	l->type = fl_xcalloc(BLOCKS, 1);
	memset(blocks, 0, FL_LAYOUT_TYPES * sizeof(*blocks));
	for (uint32_t b = 0; b < BLOCKS; b++) {
		unsigned int kind = fl_rng_below(&rng, 10);
		uint8_t used = kind < 7 ? FL_CENSUS_ANON : kind < 9 ? FL_CENSUS_PGTABLE : FL_CENSUS_SLAB;

		l->type[b] = kind < 7 ? FL_CENSUS_MOVABLE : kind < 9 ? FL_CENSUS_UNMOVABLE : FL_CENSUS_RECLAIMABLE;
		blocks[l->type[b]]++;
		for (uint32_t i = 0, n; i < BLOCK; i += n) {
			n = 1 + fl_rng_below(&rng, 60);
			n = n > BLOCK - i ? BLOCK - i : n;
			memset(l->page + b * BLOCK + i, fl_rng_below(&rng, 3) ? used : FL_CENSUS_FREE, n);
		}
	}
	fl_layout_free(l, 2, l->zone[2].host_free);
	memset(l->type, FL_CENSUS_MOVABLE, BLOCKS);
}

static void test_guessed_types_are_as_many_as_printed_and_give_nearly_the_printed_lists(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 4; seed++) {
		uint64_t blocks[FL_LAYOUT_TYPES], found[FL_CENSUS_TYPES] = { 0 }, before;
		struct fl_layout l;

		make(&l, seed, blocks);
		before = fl_layout_deviation(&l, 2);
		fl_layout_guess_types(&l, 2, blocks);
		for (uint32_t b = 0; b < BLOCKS; b++)
			found[l.type[b]]++;
		for (unsigned int t = 0; t < FL_LAYOUT_TYPES; t++)
			assert_int_equal(found[t], blocks[t]);
		assert_true(before > 1000);
		assert_true(fl_layout_deviation(&l, 2) < before / 20);
		fl_layout_fini(&l);
	}
}

static void put(const char *root, const char *path, const char *text)
{
	char full[300];
	FILE *file;

	snprintf(full, sizeof(full), "%s/%s", root, path);
	for (char *slash = full + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(full, 0755);
		*slash = '/';
	}
	file = fopen(full, "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	fclose(file);
}

static const char zoneinfo[] =
	"Node 0, zone    DMA32\n  pages free     1000\n        boost    8\n        min      108\n        low      208\n"
	"        high     308\n        promo    408\n        spanned  8192\n        present  8000\n        managed  7900\n"
	"        protection: (0, 0, 5, 5)\n      nr_free_pages 1000\n  pagesets\n    cpu: 0\n              count:    10\n"
	"              high:     777\n              batch:    31\n              high_min: 124\n              high_max: 990\n"
	"    cpu: 1\n              count:    4\n              high:     20\n              batch:    31\n"
	"              high_min: 124\n              high_max: 990\n  node_unreclaimable:  0\n  start_pfn:           4096\n";

static void test_zones_marks_and_settings_come_from_their_files_and_what_is_missing_is_said(void **state)
{
	char root[] = "/tmp/fraglab-layout-XXXXXX", command[64];
	struct fl_layout l;
	struct fl_error error;
	bool found = false;

	(void)state;
	assert_non_null(mkdtemp(root));
	put(root, "proc/zoneinfo", zoneinfo);
	put(root, "proc/buddyinfo", "Node 0, zone    DMA32      0      0      0      0      0      0      0      0      0      0      1\n");
	put(root, "proc/sys/vm/swappiness", "42\n");
	put(root, "sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
	if (fl_layout_read_host(root, &l, &error))
		fail_msg("%s", error.text);
	assert_int_equal(l.zone[1].start_pfn, 4096);
	assert_int_equal(l.zone[1].managed, 7900);
	assert_int_equal(l.zone[1].min, 100);
	assert_int_equal(l.zone[1].high, 300);
	assert_int_equal(l.zone[1].boost, 8);
	assert_int_equal(l.zone[1].protection[2], 5);
	assert_int_equal(l.zone[1].high_max, 990);
	assert_int_equal(l.zone[1].batch, 31);
	assert_int_equal(l.cpus, 2);
	assert_null(l.page);
	assert_true(l.missing_count > 0);
	for (size_t i = 0; i < l.settings_count; i++)
		found |= !strcmp(l.settings[i].name, "thp.enabled") && !strcmp(l.settings[i].value, "madvise");
	assert_true(found);
	fl_layout_fini(&l);
	snprintf(command, sizeof(command), "rm -r %s", root);
	assert_int_equal(system(command), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_guessed_types_are_as_many_as_printed_and_give_nearly_the_printed_lists),
		cmocka_unit_test(test_zones_marks_and_settings_come_from_their_files_and_what_is_missing_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
