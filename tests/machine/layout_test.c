/*
 * tests/machine/layout_test.c - snapshots: the document, and a model that starts as one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/layout_json.h"
#include "base/rng.h"
#include "kernel/kernel.h"
#include "machine/geometry.h"
#include "machine/layout.h"
#include "mm/check.h"
#include "mm/filemap.h"
#include "mm/pcp.h"
#include "mm/restore.h"
#include "mm/sysctl.h"
#include "sim/cost.h"

#define BLOCK 512u

/* Some large folios over what is there. */
static void put_folios(struct fl_layout *l, struct fl_rng *rng, uint64_t pfn)
{
	for (int i = 0; i < 6; i++) {
		bool is_file = fl_rng_below(rng, 2);
		unsigned int order = is_file ? 1 + fl_rng_below(rng, 6) : 2 + fl_rng_below(rng, 4), n = 1u << order;
		uint64_t at = pfn - l->first_pfn + fl_rng_below(rng, BLOCK / 64) * 64;

		if (l->order[at])
			continue;
		memset(l->page + at, is_file ? FL_CENSUS_FILE : FL_CENSUS_ANON, n);
		memset(l->order + at, (int)order, n);
	}
}

/* A pageblock of one of some kinds that are met on real machines. */
static void fill_block(struct fl_layout *l, struct fl_rng *rng, uint64_t pfn)
{
	static const uint8_t movable[] = { FL_CENSUS_FREE, FL_CENSUS_ANON, FL_CENSUS_FILE, FL_CENSUS_FREE, FL_CENSUS_ANON,
					   FL_CENSUS_MLOCKED, FL_CENSUS_PCP, FL_CENSUS_KERNEL };
	static const uint8_t unmovable[] = { FL_CENSUS_SLAB, FL_CENSUS_PGTABLE, FL_CENSUS_KERNEL, FL_CENSUS_FREE, FL_CENSUS_ANON };
	uint8_t *page = l->page + (pfn - l->first_pfn);
	unsigned int kind = fl_rng_below(rng, 8);

	*fl_layout_type(l, pfn) = kind < 5 ? FL_CENSUS_MOVABLE : kind < 7 ? FL_CENSUS_UNMOVABLE : FL_CENSUS_RECLAIMABLE;
	if (kind < 3) {
		memset(page, kind == 0 ? FL_CENSUS_HUGE : FL_CENSUS_FREE, BLOCK);
		return;
	}
	for (uint32_t i = 0, n; i < BLOCK; i += n) {
		uint8_t class = kind < 5 ? movable[fl_rng_below(rng, sizeof(movable))] :
				kind < 7 ? unmovable[fl_rng_below(rng, sizeof(unmovable))] :
					   (fl_rng_below(rng, 3) ? FL_CENSUS_SLAB : FL_CENSUS_FREE);

		n = class == FL_CENSUS_PCP ? 1 : 1 + fl_rng_below(rng, 40);
		if (n > BLOCK - i)
			n = BLOCK - i;
		memset(page + i, class, n);
	}
	if (kind < 7)
		put_folios(l, rng, pfn);
}

static void make_zone(struct fl_layout *l, unsigned int z, uint64_t start, uint64_t spanned)
{
	struct fl_layout_zone *zone = &l->zone[z];

	*zone = (struct fl_layout_zone){ .start_pfn = start, .spanned = spanned, .has_marks = true, .min = 100 + z, .low = 200 + z,
					 .high = 300 + z, .promo = 400 + z, .boost = z * 7, .batch = 15, .high_min = 60,
					 .high_max = 900, .protection = { 0, z, 2 * z, 3 * z } };
}

static void count_managed(struct fl_layout *l)
{
	for (uint64_t pfn = l->first_pfn; pfn < l->first_pfn + l->pages; pfn++) {
		enum fl_census_class class = fl_layout_page(l, pfn);
		unsigned int z = fl_layout_zone_of(l, pfn);

		if (z == FL_LAYOUT_ZONES)
			continue;
		l->zone[z].present += class != FL_CENSUS_HOLE;
		l->zone[z].managed += class != FL_CENSUS_HOLE && class != FL_CENSUS_RESERVED && class != FL_CENSUS_NOT_MANAGED;
	}
}

/* DMA that starts at page 1, DMA32 with a hole, Normal that ends inside a pageblock. */
static void make_layout(struct fl_layout *l, uint64_t seed)
{
	struct fl_rng rng;

	fl_rng_init(&rng, seed, "layout", 0);
	fl_layout_init(l);
	snprintf(l->release, sizeof(l->release), "6.18.44");
	l->page_size = 4096;
	l->pageblock_order = l->pmd_order = 9;
	l->max_order = 10;
	l->cpus = 2;
	make_zone(l, 0, 1, 4095);
	make_zone(l, 1, 4096, 60 * BLOCK);
	make_zone(l, 2, 80 * BLOCK, 40 * BLOCK + 100);
	l->pages = 121 * BLOCK;
	l->page = fl_xmalloc(l->pages);
	l->order = fl_xcalloc(l->pages, 1);
	l->type = fl_xcalloc(l->pages / BLOCK, 1);
	memset(l->page, FL_CENSUS_HOLE, l->pages);
	memset(l->type, FL_CENSUS_MOVABLE, l->pages / BLOCK);
	for (uint64_t pfn = BLOCK; pfn < 120 * BLOCK; pfn += BLOCK)
		if (fl_layout_zone_of(l, pfn) < FL_LAYOUT_ZONES)
			fill_block(l, &rng, pfn);
	memset(l->page + 1, FL_CENSUS_RESERVED, 158);
	memset(l->page + 256, FL_CENSUS_FREE, 256);
	memset(l->page + 30 * BLOCK, FL_CENSUS_NOT_MANAGED, 2 * BLOCK);
	memset(l->order + 30 * BLOCK, 0, 2 * BLOCK);
	memset(l->order + 40 * BLOCK, 0, BLOCK);
	memset(l->page + 40 * BLOCK, FL_CENSUS_ANON, BLOCK);
	memset(l->page + 40 * BLOCK + 77, FL_CENSUS_HOLE, 3);
	memset(l->page + 120 * BLOCK, FL_CENSUS_ANON, 100);
	count_managed(l);
	fl_layout_set(l, "thp.enabled", "madvise");
	fl_layout_set(l, "vm.swappiness", "33");
	fl_layout_set(l, "vm.min_free_kbytes", "1234");
}

static void roundtrip(const struct fl_layout *from, struct fl_layout *to)
{
	struct fl_error error;
	struct fl_text text;
	json_t *document = fl_layout_json(from), *again;

	fl_text_init(&text);
	fl_json_write(document, &text);
	json_decref(document);
	assert_int_equal(fl_json_read_text("snapshot", text.data, text.length, &again, &error), 0);
	assert_true(fl_layout_is(again));
	if (fl_layout_read(again, to, &error))
		fail_msg("%s", error.text);
	json_decref(again);
	fl_text_fini(&text);
}

static void test_a_snapshot_that_is_written_and_read_is_the_same(void **state)
{
	struct fl_layout a, b;

	(void)state;
	make_layout(&a, 1);
	roundtrip(&a, &b);
	assert_string_equal(b.release, "6.18.44");
	assert_memory_equal(a.zone, b.zone, sizeof(a.zone));
	assert_int_equal(b.settings_count, 3);
	assert_string_equal(b.settings[1].value, "33");
	for (uint64_t pfn = a.first_pfn; pfn < a.first_pfn + a.pages; pfn++) {
		assert_int_equal(fl_layout_page(&a, pfn), fl_layout_page(&b, pfn));
		assert_int_equal(fl_layout_order(&a, pfn), fl_layout_order(&b, pfn));
	}
	for (uint64_t pfn = b.first_pfn; pfn < b.first_pfn + b.pages; pfn += BLOCK)
		assert_int_equal(*fl_layout_type(&a, pfn), *fl_layout_type(&b, pfn));
	fl_layout_fini(&a);
	fl_layout_fini(&b);
}

struct twin {
	struct fl_machine machine;
	struct fl_kernel kernel;
	struct fl_mem *mem;
};

static void twin_start(struct twin *t, uint64_t seed, const char *kernel)
{
	struct fl_layout made, *l = fl_xcalloc(1, sizeof(*l));
	struct fl_error error;

	make_layout(&made, seed);
	roundtrip(&made, l);
	fl_layout_fini(&made);
	assert_int_equal(fl_machine_from_layout(l, &t->machine, &error), 0);
	assert_int_equal(fl_kernel_parse(kernel, &t->kernel, &error), 0);
	t->mem = fl_mem_new(&(struct fl_mem_config){ .geometry = &t->machine.geometry, .decide = &t->kernel.decide,
						     .cost = &fl_cost_default });
	for (size_t i = 0; i < l->settings_count; i++)
		assert_int_equal(fl_tunable_write(t->mem, NULL, l->settings[i].name, l->settings[i].value, &error), 0);
	fl_mem_restore(t->mem, l);
	fl_mem_check(t->mem);
}

static void twin_end(struct twin *t)
{
	fl_mem_free(t->mem);
	fl_machine_fini(&t->machine);
}

static void compare_pages(const struct fl_layout *a, const struct fl_layout *b)
{
	uint64_t used = 0, other = 0;

	for (uint64_t pfn = a->first_pfn; pfn < a->first_pfn + a->pages; pfn++) {
		enum fl_census_class x = fl_layout_page(a, pfn), y = fl_layout_page(b, pfn);

		if (x == FL_CENSUS_NOT_MANAGED)
			x = FL_CENSUS_HOLE; /* to the model there is nothing */
		if (x == FL_CENSUS_FREE || x == FL_CENSUS_PCP || x == FL_CENSUS_RESERVED || x == FL_CENSUS_HOLE ||
		    y == FL_CENSUS_FREE || y == FL_CENSUS_PCP)
			assert_int_equal(x, y);
		used++;
		other += x != y || fl_layout_order(a, pfn) != fl_layout_order(b, pfn);
	}
	/* What the host's own structures take out of the pages of others. */
	if (other > used / 250)
		fail_msg("%lu of %lu pages are not of their class", (unsigned long)other, (unsigned long)used);
}

static void test_a_model_of_a_snapshot_holds_the_same_pages_lists_and_types(void **state)
{
	static const char *const kernels[] = { "6.18", "6.12", "7.3+mobility" };

	(void)state;
	for (uint64_t seed = 1; seed <= 6; seed++) {
		struct fl_layout now;
		struct twin t;

		twin_start(&t, seed, kernels[seed % 3]);
		fl_machine_layout(t.mem, &now);
		compare_pages(t.machine.layout, &now);
		for (unsigned int z = 0; z < FL_LAYOUT_ZONES; z++) {
			uint64_t a[FL_LAYOUT_TYPES][FL_LAYOUT_ORDERS], b[FL_LAYOUT_TYPES][FL_LAYOUT_ORDERS];

			fl_layout_free(t.machine.layout, z, a);
			fl_layout_free(&now, z, b);
			assert_memory_equal(a, b, sizeof(a));
		}
		for (uint64_t pfn = t.machine.layout->first_pfn; pfn < t.machine.layout->pages; pfn += BLOCK)
			assert_int_equal(*fl_layout_type(t.machine.layout, pfn), *fl_layout_type(&now, pfn));
		fl_layout_fini(&now);
		twin_end(&t);
	}
}

/* The lists themselves, not what follows from the pages. */
static void test_free_lists_of_the_model_are_those_of_the_snapshot(void **state)
{
	struct twin t;

	(void)state;
	twin_start(&t, 3, "6.18");
	for (unsigned int z = 0; z < FL_ZONES; z++) {
		uint64_t lists[FL_LAYOUT_TYPES][FL_LAYOUT_ORDERS];

		fl_layout_free(t.machine.layout, z, lists);
		for (unsigned int type = 0; type < FL_LAYOUT_TYPES; type++)
			for (unsigned int order = 0; order <= 10; order++) {
				uint32_t head = fl_free_list(&t.mem->zone[z], type, order), n = 0;

				for (uint32_t at = fl_list_first(&t.mem->frames, head); at != head;
				     at = t.mem->frames.record[at].next)
					n++;
				assert_int_equal(n, lists[type][order]);
			}
	}
	twin_end(&t);
}

static void test_marks_and_sizes_of_per_cpu_lists_are_those_of_the_snapshot(void **state)
{
	struct twin t;

	(void)state;
	twin_start(&t, 2, "6.18");
	for (unsigned int z = 0; z < 3; z++) {
		const struct fl_zone *zone = &t.mem->zone[z];

		assert_int_equal(zone->wmark[FL_WMARK_MIN], 100 + z);
		assert_int_equal(zone->wmark[FL_WMARK_LOW], 200 + z);
		assert_int_equal(zone->wmark[FL_WMARK_HIGH], 300 + z);
		assert_int_equal(zone->wmark[FL_WMARK_PROMO], 400 + z);
		assert_int_equal(zone->watermark_boost, z * 7);
		assert_int_equal(zone->lowmem_reserve[2], 2 * z);
		assert_int_equal(zone->pcp[1].high_max, 900);
		assert_int_equal(zone->pcp[1].high_min, 60);
		assert_int_equal(zone->pcp[0].batch, 15);
		assert_int_equal(zone->managed, t.machine.layout->zone[z].managed);
		assert_int_equal(zone->present, t.machine.layout->zone[z].present);
	}
	assert_int_equal(fl_tunable_read(t.mem, "vm.swappiness"), 33);
	assert_int_equal(fl_tunable_read(t.mem, "vm.min_free_kbytes"), 1234);
	twin_end(&t);
}

/* Chunks of two pageblocks exist where both have one type only. */
static void test_chunks_do_not_span_pageblocks_of_different_types(void **state)
{
	struct fl_layout l;
	uint64_t lists[FL_LAYOUT_TYPES][FL_LAYOUT_ORDERS];

	(void)state;
	make_layout(&l, 1);
	memset(l.page + 64 * BLOCK, FL_CENSUS_FREE, 4 * BLOCK);
	memset(l.type + 64, FL_CENSUS_MOVABLE, 4);
	assert_int_equal(fl_layout_chunk(&l, 64 * BLOCK), 10);
	l.type[65] = FL_CENSUS_UNMOVABLE;
	assert_int_equal(fl_layout_chunk(&l, 64 * BLOCK), 9);
	assert_int_equal(fl_layout_chunk(&l, 65 * BLOCK), 9);
	assert_int_equal(fl_layout_chunk(&l, 66 * BLOCK), 10);
	fl_layout_free(&l, 1, lists);
	assert_true(lists[FL_CENSUS_UNMOVABLE][9] >= 1);
	fl_layout_fini(&l);
}

/* Large folios of the page cache go whole. */
static void test_file_pages_of_a_snapshot_can_be_dropped(void **state)
{
	struct fl_task task = { .name = "test" };
	struct fl_caller who = { .task = &task };
	uint32_t cached;
	struct twin t;

	(void)state;
	twin_start(&t, 5, "6.18");
	cached = (uint32_t)fl_filemap_pages(t.mem);
	assert_true(cached > 500);
	assert_int_equal(fl_filemap_drop(t.mem, &who), cached);
	assert_int_equal(fl_filemap_pages(t.mem), 0);
	fl_mem_check(t.mem);
	twin_end(&t);
}

static void refuse(const char *from, const char *to, const char *word)
{
	struct fl_layout l, read;
	struct fl_error error = { 0 };
	struct fl_text text, changed;
	json_t *document;
	char *at;

	make_layout(&l, 4);
	fl_text_init(&text);
	fl_text_init(&changed);
	document = fl_layout_json(&l);
	fl_json_write(document, &text);
	json_decref(document);
	at = strstr(text.data, from);
	assert_non_null(at);
	fl_text_add_bytes(&changed, text.data, (size_t)(at - text.data));
	fl_text_add(&changed, "%s%s", to, at + strlen(from));
	assert_int_equal(fl_json_read_text("snapshot", changed.data, changed.length, &document, &error), 0);
	if (fl_layout_read(document, &read, &error) == 0)
		fail_msg("\"%s\" instead of \"%s\" was taken", to, from);
	assert_int_equal(error.class, FL_ERROR_INPUT);
	if (!strstr(error.text, word))
		fail_msg("the sentence lacks \"%s\": %s", word, error.text);
	json_decref(document);
	fl_text_fini(&text);
	fl_text_fini(&changed);
	fl_layout_fini(&l);
}

static void test_broken_snapshots_are_refused_with_a_sentence(void **state)
{
	(void)state;
	refuse("snapshot.v1", "snapshot.v9", "snapshot.v9");
	refuse("\"page_size\": 4096", "\"page_size\": 4097", "page_size");
	refuse("\"page_size\": 4096", "\"page_sizes\": 4096", "page_size");
	refuse("\"pageblock_order\": 9", "\"pageblock_order\": 11", "pageblock_order");
	refuse("\"cpus\": 2", "\"cpus\": 0", "cpus");
	refuse("\"cpus\": 2", "\"cpus\": -2", "cpus");
	refuse("\"nodes\": 1", "\"nodes\": 2", "one node");
	refuse("\"name\": \"DMA32\"", "\"name\": \"HighMem\"", "HighMem");
	refuse("\"name\": \"DMA32\"", "\"name\": \"DMA\"", "second zone");
	refuse("\"spanned\": 4095", "\"spanned\": 4097", "inside the zone before");
	refuse("\"min\": 101", "\"min\": 1010", "do not rise");
	refuse("\"managed\": ", "\"managed\": 1", "managed");
	refuse("\"vm.swappiness\": \"33\"", "\"vm.swappiness\": 33", "vm.swappiness");
	refuse("F256", "F255", "do not come to");
	refuse("F256", "Q256", "Q256");
	refuse("F256", "F99999999999", "do not come to");
	refuse("[0, 1, \"M\"", "[7, 1, \"M\"", "does not begin");
	refuse("[0, 1, \"M\"", "[0, 1, \"Z\"", "\"Z\"");
	refuse("[0, 1, \"M\"", "[0, 9, \"M\"", "inside the pageblock before");
}

/* Else the model would reclaim for ever. */
static void test_marks_that_no_memory_can_meet_are_refused(void **state)
{
	struct fl_layout l, read;
	struct fl_error error = { 0 };
	json_t *document;

	(void)state;
	make_layout(&l, 4);
	for (unsigned int z = 0; z < FL_LAYOUT_ZONES; z++)
		l.zone[z].min = l.zone[z].low = l.zone[z].high = l.zone[z].boost = l.zone[z].spanned;
	document = fl_layout_json(&l);
	assert_int_not_equal(fl_layout_read(document, &read, &error), 0);
	assert_int_equal(error.class, FL_ERROR_INPUT);
	assert_non_null(strstr(error.text, "marks min and boosts"));
	json_decref(document);
	fl_layout_fini(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_snapshot_that_is_written_and_read_is_the_same),
		cmocka_unit_test(test_a_model_of_a_snapshot_holds_the_same_pages_lists_and_types),
		cmocka_unit_test(test_free_lists_of_the_model_are_those_of_the_snapshot),
		cmocka_unit_test(test_marks_and_sizes_of_per_cpu_lists_are_those_of_the_snapshot),
		cmocka_unit_test(test_chunks_do_not_span_pageblocks_of_different_types),
		cmocka_unit_test(test_file_pages_of_a_snapshot_can_be_dropped),
		cmocka_unit_test(test_broken_snapshots_are_refused_with_a_sentence),
		cmocka_unit_test(test_marks_that_no_memory_can_meet_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
