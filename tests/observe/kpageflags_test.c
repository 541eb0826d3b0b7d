/* The census of a host: classes of page flags, zones, memory that is not managed, slots; on made-up hosts. */
#include "fixture.h"

#include <errno.h>

#include "observe/capacity.h"
#include "observe/kpageflags.h"
#include "observe/zonespan.h"

#define BIT(n) (UINT64_C(1) << (n))
#define FREE BIT(FL_KPF_BUDDY)
#define ANON (BIT(FL_KPF_LRU) | BIT(FL_KPF_ANON) | BIT(FL_KPF_SWAPBACKED) | BIT(FL_KPF_UPTODATE))
#define CACHE (BIT(FL_KPF_LRU) | BIT(FL_KPF_UPTODATE))
#define BLOCK 512
#define PAGES (8 * BLOCK)

/* ---- one page ---- */

static void expect_class(uint64_t flags, enum fl_census_class class, bool unidentified)
{
	bool is_unidentified;

	assert_int_equal(fl_kpageflags_classify(flags, &is_unidentified), class);
	assert_int_equal(is_unidentified, unidentified);
}

static void test_flags_tell_the_class(void **state)
{
	expect_class(BIT(FL_KPF_NOPAGE), FL_CENSUS_HOLE, false);
	expect_class(BIT(FL_KPF_HWPOISON) | ANON, FL_CENSUS_RESERVED, false);
	expect_class(FREE, FL_CENSUS_FREE, false);
	expect_class(FREE | BIT(FL_KPF_UPTODATE), FL_CENSUS_FREE, false); /* reported to the host */
	expect_class(BIT(FL_KPF_RESERVED), FL_CENSUS_RESERVED, false);
	expect_class(BIT(FL_KPF_OFFLINE), FL_CENSUS_DRIVER, false);
	expect_class(BIT(FL_KPF_HUGE) | BIT(FL_KPF_HEAD), FL_CENSUS_HUGETLB, false);
	expect_class(BIT(FL_KPF_PGTABLE), FL_CENSUS_PGTABLE, false);
	expect_class(ANON, FL_CENSUS_ANON, false);
	expect_class(CACHE, FL_CENSUS_FILE, false);
	expect_class(CACHE | BIT(FL_KPF_SWAPBACKED), FL_CENSUS_FILE, false); /* shmem */
	expect_class(ANON | BIT(FL_KPF_UNEVICTABLE), FL_CENSUS_MLOCKED, false);
}

static void test_pages_off_the_lru_that_wait_for_it_are_movable(void **state)
{
	expect_class(ANON & ~BIT(FL_KPF_LRU), FL_CENSUS_ANON, false);
	expect_class(BIT(FL_KPF_UPTODATE), FL_CENSUS_FILE, false);
	expect_class(BIT(FL_KPF_SWAPBACKED), FL_CENSUS_FILE, false);
}

static void test_slab_comes_before_bits_that_are_part_of_a_pointer(void **state)
{
	expect_class(BIT(FL_KPF_SLAB) | BIT(FL_KPF_ANON) | BIT(21), FL_CENSUS_SLAB, false);
}

static void test_kernel_pages_with_a_flag_are_certain_and_those_without_are_not(void **state)
{
	expect_class(BIT(FL_KPF_HEAD), FL_CENSUS_KERNEL, false);
	expect_class(BIT(FL_KPF_TAIL), FL_CENSUS_KERNEL, false);
	expect_class(BIT(FL_KPF_MMAP), FL_CENSUS_KERNEL, false); /* mapped by a driver, never up to date */
	expect_class(0, FL_CENSUS_KERNEL, true);
}

/* ---- a host ---- */

struct host {
	char *root;
	uint64_t flags[PAGES], counts[PAGES];
};

/* One zone of eight pageblocks from pfn 0, everything free. */
static struct host *host_new(void)
{
	struct host *host = fl_xcalloc(1, sizeof(*host));

	host->root = fixture_new();
	for (int i = 0; i < PAGES; i++)
		host->flags[i] = FREE;
	fixture_text(host->root, "sys/kernel/mm/transparent_hugepage/hpage_pmd_size", "2097152\n");
	fixture_text(host->root, "proc/pagetypeinfo", "Page block order: 9\nPages per block:  512\n");
	return host;
}

static void host_zone(struct host *host, uint64_t start, uint64_t spanned, uint64_t present, uint64_t managed)
{
	char *text = fl_xasprintf("Node 0, zone   Normal\n  per-node stats\n      nr_slab 3\n  pages free     9\n"
				  "        boost    0\n        spanned  %llu\n        present  %llu\n        managed  %llu\n"
				  "  pagesets\n    cpu: 0\n              count:    30\n              high:     378\n"
				  "    cpu: 1\n              count: 12\n  node_unreclaimable:  0\n  start_pfn:           %llu\n"
				  "Node 0, zone  Movable\n  pages free     0\n        spanned  0\n",
				  (unsigned long long)spanned, (unsigned long long)present, (unsigned long long)managed,
				  (unsigned long long)start);

	fixture_text(host->root, "proc/zoneinfo", text);
	free(text);
}

static void host_census(struct host *host, struct fl_census *ret)
{
	struct fl_error error = {0};

	fixture_write(host->root, "proc/kpageflags", host->flags, sizeof(host->flags));
	fixture_write(host->root, "proc/kpagecount", host->counts, sizeof(host->counts));
	if (fl_census_read_live(host->root, ret, &error) < 0)
		fail_msg("%s", error.text);
}

static void host_free(struct host *host)
{
	fixture_remove(host->root);
	free(host);
}

static void test_census_counts_each_block_and_knows_its_zone(void **state)
{
	struct host *host = host_new();
	struct fl_census census;

	host_zone(host, 0, PAGES, PAGES, PAGES);
	for (int i = 0; i < 100; i++)
		host->flags[BLOCK + i] = ANON;
	host->flags[2 * BLOCK + 7] = BIT(FL_KPF_SLAB);
	host_census(host, &census);
	assert_int_equal(census.blocks_count, 8);
	assert_int_equal(census.pages_per_block, BLOCK);
	assert_string_equal(census.zone_names[0], "Normal");
	assert_int_equal(census.zones[0].pcp, 42);
	assert_int_equal(census.blocks[0].pages[FL_CENSUS_FREE], BLOCK);
	assert_int_equal(census.blocks[1].pages[FL_CENSUS_ANON], 100);
	assert_int_equal(census.blocks[1].largest_free_order_plus_one, 9);
	assert_int_equal(census.blocks[2].pages[FL_CENSUS_SLAB], 1);
	assert_int_equal(census.blocks[2].start_pfn, 2 * BLOCK);
	fl_census_free(&census);
	host_free(host);
}

static void test_a_folio_of_pmd_order_is_huge_and_a_smaller_one_is_not(void **state)
{
	struct host *host = host_new();
	struct fl_census census;
	uint64_t thp = ANON | BIT(FL_KPF_THP);

	host_zone(host, 0, PAGES, PAGES, PAGES);
	for (int i = 0; i < BLOCK; i++) {
		host->flags[i] = thp | BIT(i ? FL_KPF_TAIL : FL_KPF_HEAD);
		host->flags[BLOCK + i] = thp | BIT(i % 16 ? FL_KPF_TAIL : FL_KPF_HEAD);
	}
	host_census(host, &census);
	assert_int_equal(census.blocks[0].pages[FL_CENSUS_HUGE], BLOCK);
	assert_int_equal(census.blocks[1].pages[FL_CENSUS_HUGE], 0);
	assert_int_equal(census.blocks[1].pages[FL_CENSUS_ANON], BLOCK);
	fl_census_free(&census);
	host_free(host);
}

static void test_a_mapped_page_without_flags_is_kernel_memory_for_certain(void **state)
{
	struct host *host = host_new();
	struct fl_census census;

	host_zone(host, 0, PAGES, PAGES, PAGES);
	host->flags[5] = host->flags[6] = 0;
	host->counts[6] = 1;
	host_census(host, &census);
	assert_int_equal(census.blocks[0].pages[FL_CENSUS_KERNEL], 2);
	assert_int_equal(census.blocks[0].unidentified, 1);
	fl_census_free(&census);
	host_free(host);
}

static void test_memory_that_is_not_managed_is_neither_free_nor_kernel(void **state)
{
	struct host *host = host_new();
	struct fl_census census;
	struct fl_census_counts counts;

	/* Five blocks without flags at the end, of which zoneinfo says that four are not managed; one block before. */
	host_zone(host, 0, PAGES, PAGES, PAGES - 4 * BLOCK);
	memset(host->flags + 3 * BLOCK, 0, 5 * BLOCK * sizeof(uint64_t));
	memset(host->flags + 1 * BLOCK, 0, BLOCK * sizeof(uint64_t));
	host_census(host, &census);
	fl_census_count(&census, FL_CENSUS_ALL_ZONES, &counts);
	assert_int_equal(counts.class_pages[FL_CENSUS_NOT_MANAGED], 4 * BLOCK);
	assert_int_equal(census.blocks[1].pages[FL_CENSUS_KERNEL], BLOCK);
	assert_int_equal(census.blocks[3].pages[FL_CENSUS_KERNEL], BLOCK);
	assert_int_equal(census.blocks[7].pages[FL_CENSUS_NOT_MANAGED], BLOCK);
	assert_int_equal(counts.pageblocks, 4);
	fl_census_free(&census);
	host_free(host);
}

static void test_reserved_pages_explain_memory_that_is_not_managed(void **state)
{
	struct host *host = host_new();
	struct fl_census census;

	/* Two blocks are not managed by zoneinfo; one of them is reserved, so one of the two without flags is left. */
	host_zone(host, 0, PAGES, PAGES, PAGES - 2 * BLOCK);
	for (int i = 0; i < BLOCK; i++)
		host->flags[i] = BIT(FL_KPF_RESERVED);
	memset(host->flags + 6 * BLOCK, 0, 2 * BLOCK * sizeof(uint64_t));
	host_census(host, &census);
	assert_int_equal(census.blocks[7].pages[FL_CENSUS_NOT_MANAGED], BLOCK);
	assert_int_equal(census.blocks[6].pages[FL_CENSUS_NOT_MANAGED], 0);
	assert_int_equal(census.blocks[6].pages[FL_CENSUS_KERNEL], BLOCK);
	fl_census_free(&census);
	host_free(host);
}

static void test_pages_outside_ram_are_holes_whatever_their_flags_are(void **state)
{
	struct host *host = host_new();
	struct fl_census census;

	/* RAM is pages 1 to 158 and blocks 1 to 5; the gap is reserved, and blocks 6 and 7 have no flags. */
	fixture_text(host->root, "proc/iomem", "00000000-00000fff : Reserved\n00001000-0009fbff : System RAM\n"
					       "000a0000-000fffff : Reserved\n  000f0000-000fffff : System ROM\n"
					       "00200000-00bfffff : System RAM\n  00300000-003fffff : Kernel code\n");
	host_zone(host, 1, PAGES - 1, 158 + 5 * BLOCK, 158 + 5 * BLOCK);
	for (int i = 159; i < BLOCK; i++)
		host->flags[i] = BIT(FL_KPF_RESERVED);
	memset(host->flags + 6 * BLOCK, 0, 2 * BLOCK * sizeof(uint64_t));
	host_census(host, &census);
	assert_int_equal(census.blocks_count, 6);
	assert_int_equal(census.blocks[0].pages[FL_CENSUS_FREE], 158);
	assert_int_equal(census.blocks[0].pages[FL_CENSUS_HOLE], BLOCK - 158);
	fl_census_free(&census);
	host_free(host);
}

static void test_without_iomem_the_holes_of_the_zone_are_found_by_their_number(void **state)
{
	struct host *host = host_new();
	struct fl_census census;

	fixture_text(host->root, "proc/iomem", "00000000-00000000 : System RAM\n"); /* what others than root see */
	host_zone(host, 0, PAGES, 6 * BLOCK, 6 * BLOCK);
	memset(host->flags + 6 * BLOCK, 0, 2 * BLOCK * sizeof(uint64_t));
	host_census(host, &census);
	assert_int_equal(census.blocks_count, 6);
	fl_census_free(&census);
	host_free(host);
}

static void test_a_file_that_ends_early_leaves_holes(void **state)
{
	struct host *host = host_new();
	struct fl_census census;

	host_zone(host, 0, UINT64_C(1) << 50, PAGES, PAGES); /* and it ends the walk: a span of nonsense costs no time */
	host_census(host, &census);
	assert_int_equal(census.blocks_count, 8);
	fl_census_free(&census);
	host_free(host);
}

static void test_slots_agree_with_counting_every_aligned_group(void **state)
{
	struct host *host = host_new();
	struct fl_census census;
	uint64_t seed = 12345;

	host_zone(host, 0, PAGES, PAGES, PAGES);
	for (int i = 0; i < PAGES; i++) {
		seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
		host->flags[i] = seed >> 60 == 0 && i < PAGES / 2 ? BIT(FL_KPF_SLAB) : seed >> 61 == 1 ? ANON : FREE;
	}
	host_census(host, &census);
	for (unsigned int order = 0; order <= 12; order++) {
		uint64_t free_slots = 0, clean_slots = 0, free_pages = 0;

		for (int i = 0; i < PAGES; i += 1 << order) {
			int n_free = 0, n_slab = 0;

			for (int j = i; j < i + (1 << order); j++) {
				n_free += host->flags[j] == FREE;
				n_slab += host->flags[j] == BIT(FL_KPF_SLAB);
			}
			free_slots += n_free == 1 << order;
			clean_slots += n_slab == 0;
			free_pages += n_slab == 0 ? (uint64_t)n_free : 0;
		}
		assert_int_equal(census.zones[0].free_slots[order], free_slots);
		assert_int_equal(census.zones[0].clean_slots[order], clean_slots);
		assert_int_equal(census.zones[0].clean_free_pages[order], free_pages);
	}
	fl_census_free(&census);
	host_free(host);
}

static void test_geometry_of_16k_pages_comes_from_the_files(void **state)
{
	struct host *host = host_new();
	struct fl_census census;

	fixture_text(host->root, "sys/kernel/mm/transparent_hugepage/hpage_pmd_size", "33554432\n");
	fixture_text(host->root, "proc/pagetypeinfo", "Page block order: 11\nPages per block:  2048\n");
	host_zone(host, 0, PAGES, PAGES, PAGES);
	host_census(host, &census);
	assert_int_equal(census.page_size, 16384);
	assert_int_equal(census.pages_per_block, 2048);
	assert_int_equal(census.blocks_count, 2);
	fl_census_free(&census);
	host_free(host);
}

/* ---- what can be wrong ---- */

static void test_missing_and_malformed_files_are_sentences_and_leave_the_output_alone(void **state)
{
	struct host *host = host_new();
	struct fl_census census;
	struct fl_error error = {0};

	memset(&census, 0x5a, sizeof(census));
	assert_true(fl_census_read_live(host->root, &census, &error) < 0);
	assert_int_equal(error.class, FL_ERROR_LACKING);
	assert_non_null(strstr(error.text, "zoneinfo"));
	fixture_text(host->root, "proc/zoneinfo", "nothing here\n");
	assert_refused(fl_census_read_live(host->root, &census, &error), &error, "no zone", "/proc/zoneinfo", NULL);
	host_zone(host, 0, PAGES, PAGES, PAGES);
	assert_true(fl_census_read_live(host->root, &census, &error) < 0);
	assert_int_equal(error.class, FL_ERROR_LACKING);
	assert_non_null(strstr(error.text, "kpageflags"));
	fixture_write(host->root, "proc/kpageflags", host->flags, 8 * 100 + 3);
	assert_refused(fl_census_read_live(host->root, &census, &error), &error, "kpageflags", "8 bytes", NULL);
	assert_int_equal(census.page_size, 0x5a5a5a5a);
	host_free(host);
}

static void test_zones_of_several_nodes_get_their_node_in_the_name(void **state)
{
	struct fl_zonespan spans[FL_CENSUS_ZONES_MAX];
	struct fl_error error = {0};
	unsigned int count = 0;

	assert_int_equal(fl_zonespan_parse("Node 0, zone   Normal\n        boost    77\n        spanned  5\n"
					   "Node 1, zone   Normal\n        spanned  7\n  start_pfn:           900\n",
					   spans, &count, &error), 0);
	assert_int_equal(count, 2);
	assert_string_equal(spans[0].name, "0/Normal");
	assert_string_equal(spans[1].name, "1/Normal");
	assert_int_equal(spans[0].boost, 77);
	assert_int_equal(spans[1].start_pfn, 900);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_flags_tell_the_class),
		cmocka_unit_test(test_pages_off_the_lru_that_wait_for_it_are_movable),
		cmocka_unit_test(test_slab_comes_before_bits_that_are_part_of_a_pointer),
		cmocka_unit_test(test_kernel_pages_with_a_flag_are_certain_and_those_without_are_not),
		cmocka_unit_test(test_census_counts_each_block_and_knows_its_zone),
		cmocka_unit_test(test_a_folio_of_pmd_order_is_huge_and_a_smaller_one_is_not),
		cmocka_unit_test(test_a_mapped_page_without_flags_is_kernel_memory_for_certain),
		cmocka_unit_test(test_memory_that_is_not_managed_is_neither_free_nor_kernel),
		cmocka_unit_test(test_reserved_pages_explain_memory_that_is_not_managed),
		cmocka_unit_test(test_pages_outside_ram_are_holes_whatever_their_flags_are),
		cmocka_unit_test(test_without_iomem_the_holes_of_the_zone_are_found_by_their_number),
		cmocka_unit_test(test_a_file_that_ends_early_leaves_holes),
		cmocka_unit_test(test_slots_agree_with_counting_every_aligned_group),
		cmocka_unit_test(test_geometry_of_16k_pages_comes_from_the_files),
		cmocka_unit_test(test_missing_and_malformed_files_are_sentences_and_leave_the_output_alone),
		cmocka_unit_test(test_zones_of_several_nodes_get_their_node_in_the_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
