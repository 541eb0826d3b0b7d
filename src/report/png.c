/*
 * report/png.c - the pageblock map as a picture.
 *
 * A cell is a square that is filled from below, in the order of the legend, in proportion to what its pageblocks hold;
 * content that is there at all has at least one line. Free memory is what stays light. Uses libpng, writes to memory.
 */
#include <errno.h>
#include <inttypes.h>
#include <png.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "report/font.h"
#include "report/map.h"
#include "report/mapgrid.h"

#define MARGIN 12
#define LABEL 50         /* pixels for the address of a row */
#define LINE_TEXT 13     /* pixels from one line of text to the next */
#define PICTURES_MAX 2
#define LEGEND_WIDTH 330
#define LINES_MAX 192
#define COLUMNS_MAX 128

/* What the squares are filled with, from below. */
enum ingredient {
	IN_PGTABLE, IN_SLAB, IN_KERNEL, IN_UNSURE, IN_RESERVED, IN_HUGETLB, IN_HUGE, IN_MOVABLE, IN_FREE, IN_NOT_MANAGED,
	INGREDIENTS
};

struct rgb {
	uint8_t r, g, b;
};

static const struct {
	const char *name;
	struct rgb colour;
} ingredients[INGREDIENTS] = {
	[IN_PGTABLE] = {"unmovable: page tables", {204, 51, 153}},
	[IN_SLAB] = {"unmovable: slab", {230, 159, 0}},
	[IN_KERNEL] = {"unmovable: other kernel", {190, 40, 30}},
	[IN_UNSURE] = {"kernel or per-CPU lists", {160, 130, 170}},
	[IN_RESERVED] = {"reserved", {110, 110, 110}},
	[IN_HUGETLB] = {"hugetlb", {0, 90, 70}},
	[IN_HUGE] = {"huge (movable)", {0, 158, 115}},
	[IN_MOVABLE] = {"movable", {86, 160, 220}},
	[IN_FREE] = {"free", {228, 232, 228}},
	[IN_NOT_MANAGED] = {"present, not managed", {255, 255, 255}},
};

static const struct rgb white = {255, 255, 255}, ink = {30, 30, 30}, faint = {205, 205, 205}, alarm = {200, 0, 0};

struct canvas {
	unsigned int width, height;
	uint8_t *pixels; /* three bytes each */
};

/* ---- painting ---- */

static void fill(struct canvas *c, unsigned int x, unsigned int y, unsigned int w, unsigned int h, struct rgb colour)
{
	for (unsigned int j = y; j < y + h && j < c->height; j++) {
		for (unsigned int i = x; i < x + w && i < c->width; i++)
			memcpy(c->pixels + 3 * ((size_t)j * c->width + i), &colour, 3);
	}
}

static void frame(struct canvas *c, unsigned int x, unsigned int y, unsigned int w, unsigned int h, struct rgb colour)
{
	fill(c, x, y, w, 1, colour);
	fill(c, x, y + h - 1, w, 1, colour);
	fill(c, x, y, 1, h, colour);
	fill(c, x + w - 1, y, 1, h, colour);
}

static void write_text(struct canvas *c, unsigned int x, unsigned int y, struct rgb colour, const char *text)
{
	for (; *text; text++, x += FL_FONT_WIDTH + 1) {
		const uint8_t *glyph = fl_font_glyph(*text);

		for (unsigned int j = 0; j < FL_FONT_HEIGHT; j++) {
			for (unsigned int i = 0; i < FL_FONT_WIDTH; i++) {
				if (glyph[j] >> (FL_FONT_WIDTH - 1 - i) & 1)
					fill(c, x + i, y + j, 1, 1, colour);
			}
		}
	}
}

/* ---- cells ---- */

static void ingredients_of(const uint32_t pages[FL_CENSUS_CLASSES], uint32_t unidentified, uint64_t ret[INGREDIENTS])
{
	ret[IN_PGTABLE] = pages[FL_CENSUS_PGTABLE];
	ret[IN_SLAB] = pages[FL_CENSUS_SLAB];
	ret[IN_KERNEL] = pages[FL_CENSUS_KERNEL] - unidentified;
	ret[IN_UNSURE] = unidentified;
	ret[IN_RESERVED] = pages[FL_CENSUS_RESERVED];
	ret[IN_HUGETLB] = pages[FL_CENSUS_HUGETLB];
	ret[IN_HUGE] = pages[FL_CENSUS_HUGE];
	ret[IN_MOVABLE] = pages[FL_CENSUS_ANON] + pages[FL_CENSUS_FILE] + pages[FL_CENSUS_MLOCKED] +
			  pages[FL_CENSUS_DRIVER];
	ret[IN_FREE] = pages[FL_CENSUS_FREE] + pages[FL_CENSUS_PCP];
	ret[IN_NOT_MANAGED] = pages[FL_CENSUS_NOT_MANAGED];
}

/* Dots for each ingredient of a square of side*side dots: in proportion, but one line for whatever is there. */
static void share_out(const uint64_t amount[INGREDIENTS], unsigned int side, unsigned int ret[INGREDIENTS])
{
	uint64_t all = 0;
	unsigned int dots = side * side, used = 0;

	for (int i = 0; i < INGREDIENTS; i++)
		all += amount[i];
	for (int i = 0; i < INGREDIENTS; i++) {
		unsigned int least = amount[i] && i < IN_MOVABLE ? side : amount[i] ? 1 : 0;

		ret[i] = all ? (unsigned int)(amount[i] * dots / all) : 0;
		ret[i] = ret[i] < least ? least : ret[i];
		used += ret[i];
	}
	while (used != dots && all) {
		int most = 0;

		for (int i = 1; i < INGREDIENTS; i++)
			most = ret[i] > ret[most] ? i : most;
		ret[most] = used > dots ? ret[most] - 1 : ret[most] + 1;
		used = used > dots ? used - 1 : used + 1;
	}
}

static void paint_cell(struct canvas *c, unsigned int x, unsigned int y, unsigned int side,
		       const struct fl_mapcell *cell)
{
	uint64_t amount[INGREDIENTS];
	unsigned int dots[INGREDIENTS], at = 0;

	if (!cell->blocks)
		return;
	ingredients_of(cell->pages, cell->unidentified, amount);
	share_out(amount, side, dots);
	for (int i = 0; i < INGREDIENTS; i++) {
		for (unsigned int n = 0; n < dots[i]; n++, at++)
			fill(c, x + at % side, y + side - 1 - at / side, 1, 1, ingredients[i].colour);
	}
	if (amount[IN_NOT_MANAGED] && side > 3)
		frame(c, x, y, side, side, faint);
	if (cell->polluted && side > 3)
		frame(c, x - 1, y - 1, side + 2, side + 2, alarm);
}

/* ---- layout ---- */

struct layout {
	const struct fl_map_picture *pictures;
	unsigned int count;
	struct fl_mapgrid grids[PICTURES_MAX];
	struct fl_mapline *lines;
	size_t lines_count;
	unsigned int columns, side, pitch, map_width;
};

static void layout_fini(struct layout *layout)
{
	free(layout->lines);
	layout->lines = NULL;
	fl_mapgrid_fini(&layout->grids[0]);
	fl_mapgrid_fini(&layout->grids[1]);
}

/* Cuts the maps into lines and chooses the side of a square by their number, so that the picture fits a screen. */
static void choose_scale(struct layout *layout)
{
	const struct fl_census *a = layout->pictures[0].census, *b = layout->count > 1 ? layout->pictures[1].census : NULL;

	for (layout->columns = 64;; layout->columns *= 2) {
		layout->lines_count = fl_mapgrid_fit(a, b, FL_CENSUS_ALL_ZONES, layout->columns, LINES_MAX, 0,
						     layout->grids, &layout->lines);
		if (layout->columns == COLUMNS_MAX || (layout->lines_count <= 96 && layout->grids[0].blocks_per_cell == 1))
			break;
		layout_fini(layout);
	}
	layout->side = layout->lines_count <= 32 ? 13 : layout->lines_count <= 64 ? 9 : 7;
	if (layout->columns > 64 || (layout->count > 1 && layout->side > 9))
		layout->side = layout->columns > 64 ? 7 : 9;
	layout->pitch = layout->side + 1;
	layout->map_width = LABEL + layout->columns * layout->pitch;
}

static unsigned int zones_drawn(const struct layout *layout)
{
	unsigned int zones = 0;

	for (size_t i = 0; i < layout->lines_count; i++)
		zones += i == 0 || layout->lines[i].zone != layout->lines[i - 1].zone;
	return zones;
}

static unsigned int line_height(const struct layout *layout, const struct fl_mapline *line)
{
	return line->skipped ? LINE_TEXT : layout->pitch;
}

static unsigned int canvas_height(const struct layout *layout)
{
	unsigned int height = 2 * MARGIN + 2 * LINE_TEXT + zones_drawn(layout) * (LINE_TEXT + 6);
	unsigned int legend = 2 * MARGIN + (INGREDIENTS + 12) * (LINE_TEXT + 3);

	for (size_t i = 0; i < layout->lines_count; i++)
		height += line_height(layout, &layout->lines[i]);
	return height > legend ? height : legend;
}

static unsigned int picture_left(const struct layout *layout, unsigned int i)
{
	return MARGIN + i * (layout->map_width + 2 * MARGIN);
}

static void paint_zone_head(struct canvas *c, const struct layout *layout, unsigned int zone, unsigned int y)
{
	for (unsigned int i = 0; i < layout->count; i++) {
		const struct fl_census *census = layout->pictures[i].census;
		struct fl_census_counts counts;
		char text[160];

		fl_census_count(census, (int)zone, &counts);
		snprintf(text, sizeof(text), "%s: %" PRIu64 " pageblocks, %" PRIu64 " hold unmovable pages, %" PRIu64
			 " more perhaps", census->zone_names[zone], counts.pageblocks,
			 counts.unmovable_pageblocks - counts.unsure_pageblocks, counts.unsure_pageblocks);
		if (!counts.unsure_pageblocks)
			*strrchr(text, ',') = '\0';
		write_text(c, picture_left(layout, i), y + 6, ink, text);
	}
}

static void paint_skipped(struct canvas *c, const struct layout *layout, const struct fl_mapline *line, unsigned int y)
{
	char text[80];
	double gib = (double)(line->skipped * layout->grids[0].row_pages * layout->pictures[0].census->page_size) /
		     (1 << 30);

	snprintf(text, sizeof(text), "... %" PRIu64 " rows more of the same, %.2f GiB ...", line->skipped, gib);
	write_text(c, picture_left(layout, 0) + LABEL, y + 3, ink, text);
}

static void paint_row(struct canvas *c, const struct layout *layout, const struct fl_mapline *line, unsigned int y)
{
	char text[32];
	double gib = (double)(line->start_pfn * layout->pictures[0].census->page_size) / (1 << 30);

	snprintf(text, sizeof(text), "%7.3f", gib);
	for (unsigned int i = 0; i < layout->count; i++) {
		unsigned int x = picture_left(layout, i);

		write_text(c, x, y + (layout->side - FL_FONT_HEIGHT) / 2, ink, text);
		for (unsigned int j = 0; line->rows[i] && j < layout->columns; j++)
			paint_cell(c, x + LABEL + j * layout->pitch, y, layout->side, &line->rows[i]->cells[j]);
	}
}

static void paint_map(struct canvas *c, const struct layout *layout)
{
	unsigned int y = MARGIN + 2 * LINE_TEXT, zone = FL_CENSUS_ZONES_MAX;

	for (unsigned int i = 0; i < layout->count; i++) {
		write_text(c, picture_left(layout, i), MARGIN, ink, layout->pictures[i].title);
		write_text(c, picture_left(layout, i) + 24, MARGIN + LINE_TEXT, ink, "GiB");
	}
	for (size_t i = 0; i < layout->lines_count; i++) {
		const struct fl_mapline *line = &layout->lines[i];

		if (line->zone != zone) {
			zone = line->zone;
			paint_zone_head(c, layout, zone, y);
			y += LINE_TEXT + 6;
		}
		if (line->skipped)
			paint_skipped(c, layout, line, y);
		else
			paint_row(c, layout, line, y);
		y += line_height(layout, line);
	}
}

/* ---- legend ---- */

static unsigned int legend_line(struct canvas *c, unsigned int x, unsigned int y, const char *text)
{
	write_text(c, x, y, ink, text);
	return y + LINE_TEXT + 3;
}

static void legend_amounts(const struct fl_census *census, uint64_t ret[INGREDIENTS])
{
	uint64_t one[INGREDIENTS];

	memset(ret, 0, INGREDIENTS * sizeof(*ret));
	for (size_t i = 0; i < census->blocks_count; i++) {
		ingredients_of(census->blocks[i].pages, census->blocks[i].unidentified, one);
		for (int j = 0; j < INGREDIENTS; j++)
			ret[j] += one[j];
	}
}

static unsigned int legend_ingredients(struct canvas *c, const struct layout *layout, unsigned int x, unsigned int y)
{
	uint64_t amounts[PICTURES_MAX][INGREDIENTS] = {{0}};
	double mib = (double)layout->pictures[0].census->page_size / (1 << 20);
	char text[96];

	for (unsigned int i = 0; i < layout->count; i++)
		legend_amounts(layout->pictures[i].census, amounts[i]);
	y = legend_line(c, x + 150, y, layout->count > 1 ? "  MiB left  MiB right" : "       MiB");
	for (int i = 0; i < INGREDIENTS; i++) {
		int at = snprintf(text, sizeof(text), "%-23s %10.1f", ingredients[i].name, (double)amounts[0][i] * mib);

		if (!amounts[0][i] && !amounts[1][i])
			continue;
		if (layout->count > 1 && at > 0)
			snprintf(text + at, sizeof(text) - (size_t)at, " %10.1f", (double)amounts[1][i] * mib);
		fill(c, x, y, 7, 7, ingredients[i].colour);
		frame(c, x - 1, y - 1, 9, 9, ink);
		y = legend_line(c, x + 14, y, text);
	}
	return y;
}

static void paint_legend(struct canvas *c, const struct layout *layout)
{
	const struct fl_census *census = layout->pictures[0].census;
	unsigned int x = picture_left(layout, layout->count), y = MARGIN, k = layout->grids[0].blocks_per_cell;
	char text[96];

	snprintf(text, sizeof(text), "1 square = %u pageblock%s of %" PRIu64 " kB", k, k > 1 ? "s" : "",
		 (uint64_t)census->page_size * census->pages_per_block / 1024);
	y = legend_line(c, x, y, text);
	y = legend_line(c, x, y, "filled from below with what it holds;");
	y = legend_line(c, x, y, "whatever is there has one line at least");
	y = legend_ingredients(c, layout, x, y + 6);
	if (census->types_known) {
		frame(c, x - 1, y - 1, 9, 9, alarm);
		y = legend_line(c, x + 14, y, "polluted: typed movable, holds unmovable");
		if (k > 1)
			legend_line(c, x + 14, y, "(at least one pageblock of the square)");
	}
}

/* ---- encoding ---- */

struct sink {
	struct fl_text *to;
	char *message; /* of libpng; points into `text` of the error */
	size_t message_size;
};

static void sink_write(png_structp png, png_bytep bytes, png_size_t length)
{
	struct sink *sink = png_get_io_ptr(png);

	fl_text_add_bytes(sink->to, (const char *)bytes, length);
}

static void sink_flush(png_structp png)
{
}

static void on_error(png_structp png, png_const_charp message)
{
	struct sink *sink = png_get_error_ptr(png);

	snprintf(sink->message, sink->message_size, "%s", message);
	png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp message)
{
}

static void encode_rows(png_structp png, png_infop info, const struct canvas *c)
{
	png_set_IHDR(png, info, c->width, c->height, 8, PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
		     PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
	png_write_info(png, info);
	for (unsigned int y = 0; y < c->height; y++)
		png_write_row(png, c->pixels + 3 * (size_t)y * c->width);
	png_write_end(png, info);
}

static int encode(const struct canvas *c, struct fl_text *to, struct fl_error *reterr)
{
	char message[160] = "out of memory";
	struct sink sink = {to, message, sizeof(message)};
	size_t length = to->length;
	png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &sink, on_error, on_warning);
	png_infop info = png ? png_create_info_struct(png) : NULL;
	volatile int code = 0;

	if (!info || setjmp(png_jmpbuf(png))) {
		code = fl_error_set(reterr, FL_ERROR_FAILED, -EIO, "the picture could not be made: libpng: %s", message);
		to->length = length;
		to->data[length] = '\0';
	} else {
		png_set_write_fn(png, &sink, sink_write, sink_flush);
		encode_rows(png, info, c);
	}
	png_destroy_write_struct(&png, &info);
	return code;
}

int fl_map_encode_png(const struct fl_map_picture *pictures, unsigned int count, struct fl_text *to,
		      struct fl_error *reterr)
{
	struct layout layout = {.pictures = pictures, .count = count};
	struct canvas canvas;
	int code;

	FL_ASSERT(count >= 1 && count <= PICTURES_MAX);
	choose_scale(&layout);
	canvas.width = picture_left(&layout, count) + LEGEND_WIDTH;
	canvas.height = canvas_height(&layout);
	canvas.pixels = fl_xmalloc(3 * (size_t)canvas.width * canvas.height);
	fill(&canvas, 0, 0, canvas.width, canvas.height, white);
	paint_map(&canvas, &layout);
	paint_legend(&canvas, &layout);
	code = encode(&canvas, to, reterr);
	free(canvas.pixels);
	layout_fini(&layout);
	return code;
}
