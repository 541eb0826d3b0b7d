/* The pageblock map: kinds, letters, rows, elision, pairs, and that the picture is a PNG. */
#include "test.h"

#include <png.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/census.h"
#include "report/map.h"

static struct fl_census make_census(size_t count)
{
	struct fl_census census = { .page_size = 4096, .pages_per_block = 512, .blocks_count = count, .zones_count = 1,
				    .types_known = true };

	strcpy(census.zone_names[0], "Normal");
	census.blocks = fl_xcalloc(count, sizeof(*census.blocks));
	for (size_t i = 0; i < count; i++) {
		census.blocks[i].start_pfn = i * 512;
		census.blocks[i].type = FL_CENSUS_MOVABLE;
		census.blocks[i].pages[FL_CENSUS_FREE] = 512;
	}
	return census;
}

static void take(struct fl_census *census, size_t block, enum fl_census_class class, uint32_t pages)
{
	census->blocks[block].pages[FL_CENSUS_FREE] -= pages;
	census->blocks[block].pages[class] += pages;
}

static enum fl_map_kind kind_of(enum fl_census_type type, enum fl_census_class a, uint32_t a_pages,
				enum fl_census_class b, uint32_t b_pages)
{
	struct fl_census census = make_census(1);
	enum fl_map_kind kind;

	census.blocks[0].type = (uint8_t)type;
	take(&census, 0, a, a_pages);
	take(&census, 0, b, b_pages);
	kind = fl_map_kind_of(&census, &census.blocks[0]);
	fl_census_free(&census);
	return kind;
}

static void test_kind_follows_from_what_the_block_holds(void **state)
{
	const enum fl_census_type u = FL_CENSUS_UNMOVABLE, m = FL_CENSUS_MOVABLE;

	assert_int_equal(kind_of(m, FL_CENSUS_PCP, 9, FL_CENSUS_FREE, 0), FL_MAP_FREE);
	assert_int_equal(kind_of(m, FL_CENSUS_ANON, 1, FL_CENSUS_FREE, 0), FL_MAP_MOVABLE);
	assert_int_equal(kind_of(m, FL_CENSUS_HUGE, 512, FL_CENSUS_FREE, 0), FL_MAP_HUGE);
	assert_int_equal(kind_of(m, FL_CENSUS_HUGETLB, 512, FL_CENSUS_FREE, 0), FL_MAP_HUGE);
	assert_int_equal(kind_of(u, FL_CENSUS_SLAB, 5, FL_CENSUS_PGTABLE, 4), FL_MAP_SLAB);
	assert_int_equal(kind_of(u, FL_CENSUS_SLAB, 4, FL_CENSUS_PGTABLE, 5), FL_MAP_PGTABLE);
	assert_int_equal(kind_of(u, FL_CENSUS_SLAB, 4, FL_CENSUS_KERNEL, 5), FL_MAP_KERNEL);
	assert_int_equal(kind_of(u, FL_CENSUS_SLAB, 1, FL_CENSUS_FILE, 500), FL_MAP_MIXED);
	assert_int_equal(kind_of(m, FL_CENSUS_SLAB, 1, FL_CENSUS_FREE, 0), FL_MAP_POLLUTED);
	assert_int_equal(kind_of(m, FL_CENSUS_RESERVED, 1, FL_CENSUS_FILE, 500), FL_MAP_RESERVED);
	assert_int_equal(kind_of(m, FL_CENSUS_NOT_MANAGED, 412, FL_CENSUS_HOLE, 100), FL_MAP_NOT_MANAGED);
	assert_int_equal(kind_of(m, FL_CENSUS_HOLE, 512, FL_CENSUS_FREE, 0), FL_MAP_HOLE);
}

static void test_unidentified_pages_alone_make_a_block_unsure(void **state)
{
	struct fl_census census = make_census(1);

	census.types_known = false;
	take(&census, 0, FL_CENSUS_KERNEL, 3);
	census.blocks[0].unidentified = 3;
	assert_int_equal(fl_map_kind_of(&census, &census.blocks[0]), FL_MAP_UNSURE);
	take(&census, 0, FL_CENSUS_SLAB, 1);
	take(&census, 0, FL_CENSUS_ANON, 1);
	assert_int_equal(fl_map_kind_of(&census, &census.blocks[0]), FL_MAP_MIXED);
	fl_census_free(&census);
}

static void test_letters_of_kinds_differ(void **state)
{
	for (int i = 0; i < FL_MAP_KINDS; i++)
		for (int j = 0; j < i; j++)
			assert_int_not_equal(fl_map_kind_letter((enum fl_map_kind)i),
					     fl_map_kind_letter((enum fl_map_kind)j));
}

/* The text of a map; the caller frees it. */
static char *drawn(const struct fl_census *census, unsigned int width, unsigned int rows_max, bool colour)
{
	struct fl_map_options options;
	struct fl_text text;

	fl_map_options_init(&options);
	options.width = width;
	options.rows_max = rows_max;
	options.colour = colour;
	fl_text_init(&text);
	fl_map_draw(census, &options, &text);
	return text.data;
}

static void expect_line(const char *text, const char *line)
{
	if (!strstr(text, line))
		fail_msg("no line \"%s\" in:\n%s", line, text);
}

static void test_capital_letters_are_for_blocks_more_than_half_full(void **state)
{
	struct fl_census census = make_census(64);
	char *text;

	take(&census, 0, FL_CENSUS_ANON, 256);
	take(&census, 1, FL_CENSUS_ANON, 257);
	take(&census, 2, FL_CENSUS_SLAB, 1);
	census.blocks[3].type = FL_CENSUS_UNMOVABLE;
	take(&census, 3, FL_CENSUS_PGTABLE, 300);
	text = drawn(&census, 80, 0, false);
	expect_line(text, "\n 0.000 mMpT............................................................   3\n");
	expect_line(text, "pinned: 2\n");
	free(text);
	fl_census_free(&census);
}

static void test_one_pinned_block_is_never_rounded_to_none_nor_one_free_to_all(void **state)
{
	struct fl_census census = make_census(64 * 8);
	char *text;

	for (size_t i = 0; i < census.blocks_count; i++)
		take(&census, i, FL_CENSUS_ANON, 100);
	take(&census, 500, FL_CENSUS_SLAB, 1);
	text = drawn(&census, 80, 1, false);
	expect_line(text, "mmmm   1\n"); /* 1 of 512 */
	expect_line(text, "1 cell = 8 pageblocks");
	free(text);
	for (size_t i = 0; i < census.blocks_count; i++)
		take(&census, i, FL_CENSUS_SLAB, i == 7 || i == 500 ? 0 : 1);
	take(&census, 7, FL_CENSUS_SLAB, 0);
	text = drawn(&census, 80, 1, false);
	expect_line(text, "pppp  99\n"); /* 511 of 512 */
	free(text);
	fl_census_free(&census);
}

static void test_long_stretches_of_the_same_are_one_line_that_says_how_many(void **state)
{
	struct fl_census census = make_census(64 * 20);
	char *text;

	take(&census, 64 * 18, FL_CENSUS_SLAB, 1);
	text = drawn(&census, 80, 0, false);
	expect_line(text, "... 17 rows more of the same, 2176 MiB ...");
	expect_line(text, "\n 2.250 p...");
	free(text);
	fl_census_free(&census);
}

static void test_rows_with_some_pinned_blocks_are_never_left_out(void **state)
{
	struct fl_census census = make_census(64 * 4 * 8);
	char *text;

	for (size_t i = 0; i < census.blocks_count; i += 4)
		take(&census, i, FL_CENSUS_SLAB, 1);
	text = drawn(&census, 80, 8, false);
	assert_null(strstr(text, "more of the same"));
	expect_line(text, "\n 3.500 ....");
	expect_line(text, "....  25\n");
	free(text);
	fl_census_free(&census);
}

static void test_two_rows_alike_are_both_drawn(void **state)
{
	struct fl_census census = make_census(64 * 2);
	char *text = drawn(&census, 80, 0, false);

	assert_null(strstr(text, "more of the same"));
	expect_line(text, "\n 0.125 ....");
	free(text);
	fl_census_free(&census);
}

static void test_gaps_are_blank_and_rows_without_memory_left_out(void **state)
{
	struct fl_census census = make_census(3);
	char *text;

	census.blocks[1].start_pfn = 2 * 512;
	census.blocks[2].start_pfn = 6400 * 512;
	text = drawn(&census, 80, 0, false);
	expect_line(text, "\n 0.000 . . ");
	expect_line(text, "\n12.500 .   ");
	assert_null(strstr(text, "\n 0.125"));
	free(text);
	fl_census_free(&census);
}

static size_t longest_line(const char *text)
{
	size_t longest = 0;

	for (const char *line = text, *end; *line; line = *end ? end + 1 : end) {
		end = strchrnul(line, '\n');
		longest = (size_t)(end - line) > longest ? (size_t)(end - line) : longest;
	}
	return longest;
}

static void test_the_map_keeps_to_its_width(void **state)
{
	static const unsigned int widths[] = { 80, 100, 132, 200 };
	struct fl_census census = make_census(3000);
	struct fl_map_options options;
	struct fl_text pair;

	for (size_t i = 0; i < census.blocks_count; i++)
		take(&census, i, i % 3 ? FL_CENSUS_ANON : FL_CENSUS_SLAB, (uint32_t)(i * 37 % 512) + 1);
	for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++) {
		char *text = drawn(&census, widths[i], 0, false);

		assert_true(longest_line(text) <= widths[i]);
		free(text);
		fl_map_options_init(&options);
		options.width = widths[i];
		fl_text_init(&pair);
		fl_map_draw_pair(&census, "7.3", &census, "7.3+mobility", &options, &pair);
		if (longest_line(pair.data) > widths[i])
			fail_msg("wider than %u:\n%s", widths[i], pair.data);
		fl_text_fini(&pair);
	}
	fl_census_free(&census);
}

static void test_there_are_at_most_as_many_rows_as_asked_for(void **state)
{
	struct fl_census census = make_census(64 * 100);
	unsigned int lines = 0;
	char *text;

	for (size_t i = 0; i < census.blocks_count; i += 5)
		take(&census, i, FL_CENSUS_ANON, 300);
	text = drawn(&census, 80, 30, false);
	for (const char *p = text; *p; p++)
		lines += *p == '\n';
	assert_true(lines <= 30 + 9); /* heads and legend */
	expect_line(text, "1 cell = 4 pageblocks of 2 MiB, the commonest kind among them");
	free(text);
	fl_census_free(&census);
}

static void test_colour_changes_nothing_but_escapes(void **state)
{
	struct fl_census census = make_census(200);
	char *plain, *colour, *to;

	take(&census, 3, FL_CENSUS_ANON, 400);
	take(&census, 9, FL_CENSUS_SLAB, 4);
	plain = drawn(&census, 80, 0, false);
	colour = drawn(&census, 80, 0, true);
	assert_non_null(strstr(colour, "\033[30;48;5;"));
	to = colour;
	for (const char *from = colour; *from;) {
		if (*from == '\033')
			from = strchr(from, 'm') + 1;
		else
			*to++ = *from++;
	}
	*to = '\0';
	assert_string_equal(plain, colour);
	free(plain);
	free(colour);
	fl_census_free(&census);
}

static void test_a_pair_shows_the_same_addresses_and_the_change_of_each_kind(void **state)
{
	struct fl_census a = make_census(64), b = make_census(64);
	struct fl_map_options options;
	struct fl_text text;

	take(&a, 0, FL_CENSUS_SLAB, 1);
	take(&a, 40, FL_CENSUS_SLAB, 1);
	take(&b, 33, FL_CENSUS_SLAB, 1);
	fl_map_options_init(&options);
	fl_text_init(&text);
	fl_map_draw_pair(&a, "base", &b, "patched", &options, &text);
	expect_line(text.data, "\n 0.000 p...............................   3 ................................   0\n");
	expect_line(text.data, "\n 0.062 ........p.......................   3 .p..............................   3\n");
	expect_line(text.data, "polluted          2       1      -1");
	expect_line(text.data, "free             62      63      +1");
	fl_text_fini(&text);
	fl_census_free(&a);
	fl_census_free(&b);
}

static void test_an_empty_census_is_said(void **state)
{
	struct fl_census census = make_census(0);
	char *text = drawn(&census, 80, 0, false);

	assert_string_equal(text, "There is no memory to draw.\n");
	free(text);
	fl_census_free(&census);
}

/* ---- the picture ---- */

/* Decodes a PNG; returns pixels of three bytes. */
static uint8_t *decoded(const struct fl_text *bytes, png_image *ret)
{
	uint8_t *pixels;

	memset(ret, 0, sizeof(*ret));
	ret->version = PNG_IMAGE_VERSION;
	assert_true(png_image_begin_read_from_memory(ret, bytes->data, bytes->length));
	ret->format = PNG_FORMAT_RGB;
	pixels = fl_xmalloc(PNG_IMAGE_SIZE(*ret));
	assert_true(png_image_finish_read(ret, NULL, pixels, 0, NULL));
	return pixels;
}

static size_t pixels_of(const struct fl_census *census, unsigned int maps, uint8_t r, uint8_t g, uint8_t b)
{
	const struct fl_map_picture pictures[2] = { { census, "base" }, { census, "patched" } };
	struct fl_error error = {0};
	struct fl_text bytes;
	png_image image;
	uint8_t *pixels;
	size_t count = 0;

	fl_text_init(&bytes);
	if (fl_map_encode_png(pictures, maps, &bytes, &error) < 0)
		fail_msg("%s", error.text);
	pixels = decoded(&bytes, &image);
	for (size_t i = 0; i < (size_t)image.width * image.height; i++)
		count += pixels[3 * i] == r && pixels[3 * i + 1] == g && pixels[3 * i + 2] == b;
	free(pixels);
	fl_text_fini(&bytes);
	return count;
}

static void test_one_unmovable_page_is_a_whole_line_of_its_square(void **state)
{
	struct fl_census census = make_census(64);
	size_t none, one;

	census.types_known = false;
	none = pixels_of(&census, 1, 230, 159, 0);
	take(&census, 5, FL_CENSUS_SLAB, 1);
	one = pixels_of(&census, 1, 230, 159, 0);
	assert_int_equal(none, 0);
	assert_int_equal(one, 13 + 7 * 7); /* a line of a square of 13 dots, and the square of the legend */
	fl_census_free(&census);
}

static void test_polluted_blocks_are_framed_where_types_are_known(void **state)
{
	struct fl_census census = make_census(64);
	size_t without;

	without = pixels_of(&census, 1, 200, 0, 0); /* the legend's frame */
	take(&census, 5, FL_CENSUS_SLAB, 1);
	assert_true(pixels_of(&census, 1, 200, 0, 0) > without);
	fl_census_free(&census);
}

static void test_a_picture_of_two_maps_shows_both(void **state)
{
	struct fl_census census = make_census(64);
	size_t one, two, legend = 7 * 7;

	for (size_t i = 0; i < 64; i++)
		take(&census, i, FL_CENSUS_HUGE, 512);
	one = pixels_of(&census, 1, 0, 158, 115) - legend;
	two = pixels_of(&census, 2, 0, 158, 115) - legend;
	assert_int_equal(one, 64 * 13 * 13);
	assert_int_equal(two, 2 * 64 * 9 * 9);
	fl_census_free(&census);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kind_follows_from_what_the_block_holds),
		cmocka_unit_test(test_unidentified_pages_alone_make_a_block_unsure),
		cmocka_unit_test(test_letters_of_kinds_differ),
		cmocka_unit_test(test_capital_letters_are_for_blocks_more_than_half_full),
		cmocka_unit_test(test_one_pinned_block_is_never_rounded_to_none_nor_one_free_to_all),
		cmocka_unit_test(test_long_stretches_of_the_same_are_one_line_that_says_how_many),
		cmocka_unit_test(test_rows_with_some_pinned_blocks_are_never_left_out),
		cmocka_unit_test(test_two_rows_alike_are_both_drawn),
		cmocka_unit_test(test_gaps_are_blank_and_rows_without_memory_left_out),
		cmocka_unit_test(test_the_map_keeps_to_its_width),
		cmocka_unit_test(test_there_are_at_most_as_many_rows_as_asked_for),
		cmocka_unit_test(test_colour_changes_nothing_but_escapes),
		cmocka_unit_test(test_a_pair_shows_the_same_addresses_and_the_change_of_each_kind),
		cmocka_unit_test(test_an_empty_census_is_said),
		cmocka_unit_test(test_one_unmovable_page_is_a_whole_line_of_its_square),
		cmocka_unit_test(test_polluted_blocks_are_framed_where_types_are_known),
		cmocka_unit_test(test_a_picture_of_two_maps_shows_both),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
