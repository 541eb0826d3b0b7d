/*
 * report/map.c - kinds of pageblock, and the map as text for terminals and files.
 *
 * Owns the rule that makes a kind of what a pageblock holds; mapgrid.c cuts memory into rows, png.c paints.
 */
#include "report/map.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "report/mapgrid.h"

#define WIDTH_DEFAULT 80
#define WIDTH_MIN 40
#define ROWS_DEFAULT 48
#define LABEL_WIDTH 7  /* address of a row in GiB and a blank */
#define SHARE_WIDTH 4  /* blank and pinned per cent */
#define PAIR_GAP 1

struct kind_look {
	const char *name;
	const char *meaning;
	char letter;
	uint8_t colour, pale; /* of 256: background when more than half full, and otherwise; 0: none */
};

/* Okabe and Ito's colours, as near as the 6x6x6 cube has them: they differ for colour-blind eyes too. */
static const struct kind_look looks[FL_MAP_KINDS] = {
	[FL_MAP_HOLE] = {"hole", "no memory", ' ', 0, 0},
	[FL_MAP_NOT_MANAGED] = {"not managed", "present, not with the allocator yet", '~', 0, 0},
	[FL_MAP_FREE] = {"free", "free pages only", '.', 0, 0},
	[FL_MAP_HUGE] = {"huge", "huge and free pages only", 'H', 36, 115},
	[FL_MAP_MOVABLE] = {"movable", "movable and free pages only", 'M', 32, 117},
	[FL_MAP_RESERVED] = {"reserved", "reserved pages, no unmovable ones", 'R', 244, 250},
	[FL_MAP_UNSURE] = {"unsure", "kernel memory or pages on per-CPU lists", '?', 139, 182},
	[FL_MAP_PGTABLE] = {"page tables", "unmovable, mostly page tables", 'T', 170, 219},
	[FL_MAP_SLAB] = {"slab", "unmovable, mostly slab", 'S', 220, 229},
	[FL_MAP_KERNEL] = {"kernel", "unmovable, mostly other kernel pages", 'K', 137, 180},
	[FL_MAP_MIXED] = {"mixed", "unmovable and movable pages together", 'X', 208, 216},
	[FL_MAP_POLLUTED] = {"polluted", "typed movable, holds unmovable pages", 'P', 160, 210},
};

/* ---- kinds ---- */

static enum fl_map_kind unmovable_kind(const struct fl_census_block *b)
{
	uint32_t kernel = b->pages[FL_CENSUS_KERNEL], slab = b->pages[FL_CENSUS_SLAB];
	uint32_t tables = b->pages[FL_CENSUS_PGTABLE];

	if (tables >= slab && tables >= kernel)
		return FL_MAP_PGTABLE;
	return slab >= kernel ? FL_MAP_SLAB : FL_MAP_KERNEL;
}

enum fl_map_kind fl_map_kind_of(const struct fl_census *census, const struct fl_census_block *b)
{
	uint32_t unmovable = fl_census_unmovable(b), movable = fl_census_movable(b);
	uint32_t huge = b->pages[FL_CENSUS_HUGE] + b->pages[FL_CENSUS_HUGETLB];

	if (b->pages[FL_CENSUS_HOLE] >= census->pages_per_block)
		return FL_MAP_HOLE;
	if (b->pages[FL_CENSUS_HOLE] + b->pages[FL_CENSUS_NOT_MANAGED] >= census->pages_per_block)
		return FL_MAP_NOT_MANAGED;
	if (unmovable && unmovable == b->unidentified)
		return FL_MAP_UNSURE;
	if (unmovable && census->types_known && b->type == FL_CENSUS_MOVABLE)
		return FL_MAP_POLLUTED;
	if (unmovable)
		return movable ? FL_MAP_MIXED : unmovable_kind(b);
	if (b->pages[FL_CENSUS_RESERVED])
		return FL_MAP_RESERVED;
	if (movable > b->pages[FL_CENSUS_HUGE])
		return FL_MAP_MOVABLE;
	return huge ? FL_MAP_HUGE : FL_MAP_FREE;
}

const char *fl_map_kind_name(enum fl_map_kind kind)
{
	FL_ASSERT((unsigned int)kind < FL_MAP_KINDS);
	return looks[kind].name;
}

char fl_map_kind_letter(enum fl_map_kind kind)
{
	FL_ASSERT((unsigned int)kind < FL_MAP_KINDS);
	return looks[kind].letter;
}

void fl_map_count_kinds(const struct fl_census *census, int zone, uint64_t ret[FL_MAP_KINDS])
{
	memset(ret, 0, FL_MAP_KINDS * sizeof(*ret));
	for (size_t i = 0; i < census->blocks_count; i++) {
		if (zone == FL_CENSUS_ALL_ZONES || census->blocks[i].zone == zone)
			ret[fl_map_kind_of(census, &census->blocks[i])]++;
	}
}

void fl_map_options_init(struct fl_map_options *options)
{
	memset(options, 0, sizeof(*options));
	options->zone = FL_CENSUS_ALL_ZONES;
}

/* ---- numbers ---- */

/* Six columns, whatever the size of the machine. */
static void add_address(struct fl_text *to, double gib)
{
	fl_text_add(to, "%6.*f ", gib < 99.9995 ? 3 : gib < 999.995 ? 2 : 1, gib);
}

static void add_size(struct fl_text *to, uint64_t bytes)
{
	if (bytes >= 10ull << 30 || (bytes >= 1ull << 30 && bytes % (1ull << 30) == 0))
		fl_text_add(to, "%" PRIu64 " GiB", (bytes + (UINT64_C(1) << 29)) >> 30);
	else if (bytes >= 1u << 20)
		fl_text_add(to, "%" PRIu64 " MiB", bytes >> 20);
	else
		fl_text_add(to, "%" PRIu64 " kB", bytes >> 10);
}

/* Per cent, where 0 means none at all and 100 means all. */
static unsigned int share_percent(uint64_t part, uint64_t all)
{
	unsigned int percent;

	if (!part || !all)
		return 0;
	percent = (unsigned int)((part * 100 + all / 2) / all);
	if (percent == 0)
		return 1;
	return percent >= 100 && part < all ? 99 : percent;
}

/* ---- cells and rows ---- */

struct pen {
	struct fl_text *to;
	bool colour;
	int now; /* background in force, 0: none */
};

static void pen_set(struct pen *pen, int colour)
{
	if (!pen->colour || pen->now == colour)
		return;
	if (colour)
		fl_text_add(pen->to, "\033[30;48;5;%dm", colour);
	else
		fl_text_add(pen->to, "\033[0m");
	pen->now = colour;
}

static char lower(char letter)
{
	return letter >= 'A' && letter <= 'Z' ? (char)(letter - 'A' + 'a') : letter;
}

static void draw_kind(struct pen *pen, enum fl_map_kind kind, bool full)
{
	const struct kind_look *look = &looks[kind];

	pen_set(pen, full ? look->colour : look->pale);
	fl_text_add_char(pen->to, full ? look->letter : lower(look->letter), 1);
}

static void draw_cell(struct pen *pen, const struct fl_mapcell *cell)
{
	if (!cell->blocks) {
		pen_set(pen, 0);
		fl_text_add_char(pen->to, ' ', 1);
		return;
	}
	draw_kind(pen, fl_mapcell_kind(cell), fl_mapcell_is_full(cell));
}

static void draw_row(struct pen *pen, const struct fl_maprow *row, unsigned int columns)
{
	uint64_t blocks = 0, pinned = 0;

	for (unsigned int i = 0; i < columns; i++) {
		static const struct fl_mapcell nothing;

		draw_cell(pen, row ? &row->cells[i] : &nothing);
		blocks += row ? row->cells[i].blocks : 0;
		pinned += row ? row->cells[i].pinned : 0;
	}
	pen_set(pen, 0);
	if (row)
		fl_text_add(pen->to, " %3u", share_percent(pinned, blocks));
	else
		fl_text_add_char(pen->to, ' ', SHARE_WIDTH);
}

static void trim(struct fl_text *to)
{
	while (to->length && to->data[to->length - 1] == ' ')
		to->data[--to->length] = '\0';
}

struct view {
	const struct fl_census *census[2];
	const char *names[2];
	unsigned int count; /* 1 or 2 */
	struct fl_mapgrid grids[2];
	struct fl_mapline *lines;
	size_t lines_count;
	unsigned int columns;
	struct pen pen;
};

static void draw_line(struct view *view, const struct fl_mapline *line)
{
	struct fl_text *to = view->pen.to;
	uint64_t page_size = view->census[0]->page_size;

	if (line->skipped) {
		fl_text_add_char(to, ' ', LABEL_WIDTH);
		fl_text_add(to, "... %" PRIu64 " rows more of the same, ", line->skipped);
		add_size(to, line->skipped * view->grids[0].row_pages * page_size);
		fl_text_add(to, " ...\n");
		return;
	}
	add_address(to, (double)(line->start_pfn * page_size) / (1 << 30));
	for (unsigned int i = 0; i < view->count; i++) {
		fl_text_add_char(to, ' ', i ? PAIR_GAP : 0);
		draw_row(&view->pen, line->rows[i], view->columns);
	}
	trim(to);
	fl_text_add_char(to, '\n', 1);
}

static void draw_zone_head(struct view *view, unsigned int zone)
{
	struct fl_text *to = view->pen.to;
	struct fl_census_counts counts;

	for (unsigned int i = 0; i < view->count; i++) {
		fl_census_count(view->census[i], (int)zone, &counts);
		if (i == 0)
			fl_text_add(to, "%s: %" PRIu64 " pageblocks", view->census[0]->zone_names[zone], counts.pageblocks);
		fl_text_add(to, "%s%" PRIu64, i ? " | " : ", pinned: ", counts.unmovable_pageblocks - counts.unsure_pageblocks);
		if (counts.unsure_pageblocks)
			fl_text_add(to, " and perhaps %" PRIu64 " more", counts.unsure_pageblocks);
	}
	fl_text_add_char(to, '\n', 1);
}

static void draw_column_heads(struct view *view)
{
	int cells = (int)view->columns;

	if (view->count > 1)
		fl_text_add(view->pen.to, "%*s%-*.*s%*s%-*.*s\n", LABEL_WIDTH, "", cells, cells, view->names[0],
			    SHARE_WIDTH + PAIR_GAP, "", cells, cells, view->names[1]);
	fl_text_add(view->pen.to, "%*s %-*s%*s", LABEL_WIDTH - 1, "GiB", cells, "", SHARE_WIDTH, "pin%");
	if (view->count > 1)
		fl_text_add(view->pen.to, "%*s%*s", cells + PAIR_GAP, "", SHARE_WIDTH, "pin%");
	fl_text_add_char(view->pen.to, '\n', 1);
}

static void draw_lines(struct view *view)
{
	unsigned int zone = FL_CENSUS_ZONES_MAX;

	draw_column_heads(view);
	for (size_t i = 0; i < view->lines_count; i++) {
		if (view->lines[i].zone != zone) {
			zone = view->lines[i].zone;
			draw_zone_head(view, zone);
		}
		draw_line(view, &view->lines[i]);
	}
}

/* ---- legend ---- */

static void legend_key(struct view *view, enum fl_map_kind kind)
{
	fl_text_add_char(view->pen.to, ' ', 1);
	draw_kind(&view->pen, kind, false);
	if (lower(looks[kind].letter) != looks[kind].letter)
		draw_kind(&view->pen, kind, true);
	pen_set(&view->pen, 0);
	if (lower(looks[kind].letter) == looks[kind].letter)
		fl_text_add_char(view->pen.to, ' ', 1);
}

static void legend_single(struct view *view, enum fl_map_kind kind, uint64_t blocks, uint64_t all)
{
	legend_key(view, kind);
	fl_text_add(view->pen.to, "  %-12s %8" PRIu64, looks[kind].name, blocks);
	if (kind == FL_MAP_NOT_MANAGED || !all)
		fl_text_add(view->pen.to, "      -");
	else
		fl_text_add(view->pen.to, " %5.1f%%", (double)blocks * 100 / (double)all);
	fl_text_add(view->pen.to, "  %s\n", looks[kind].meaning);
}

static void legend_pair(struct view *view, enum fl_map_kind kind, uint64_t a, uint64_t b)
{
	legend_key(view, kind);
	fl_text_add(view->pen.to, "  %-11s %7" PRIu64 " %7" PRIu64 " %+7" PRId64 "  %s\n", looks[kind].name, a, b,
		    (int64_t)(b - a), looks[kind].meaning);
}

static void draw_legend(struct view *view, int zone)
{
	uint64_t kinds[2][FL_MAP_KINDS] = {{0}}, all = 0;
	uint64_t k = view->grids[0].blocks_per_cell;

	for (unsigned int i = 0; i < view->count; i++)
		fl_map_count_kinds(view->census[i], zone, kinds[i]);
	for (int i = FL_MAP_FREE; i < FL_MAP_KINDS; i++)
		all += kinds[0][i];
	fl_text_add(view->pen.to, "\n1 cell = %" PRIu64 " pageblock%s of ", k, k > 1 ? "s" : "");
	add_size(view->pen.to, (uint64_t)view->census[0]->page_size * view->census[0]->pages_per_block);
	fl_text_add(view->pen.to, "%s.\nCapitals: more than half full. "
		    "pin%%: pageblocks with unmovable pages, of 100.\n",
		    k > 1 ? ", the commonest kind among them" : "");
	if (view->count > 1)
		fl_text_add(view->pen.to, "%*s %7s %7s %7s\n", 16, "", "first", "second", "change");
	for (int i = FL_MAP_NOT_MANAGED; i < FL_MAP_KINDS; i++) {
		if (!kinds[0][i] && !kinds[1][i])
			continue;
		if (view->count > 1)
			legend_pair(view, (enum fl_map_kind)i, kinds[0][i], kinds[1][i]);
		else
			legend_single(view, (enum fl_map_kind)i, kinds[0][i], all);
	}
}

static void draw_counts(struct view *view, int zone)
{
	for (unsigned int i = 0; i < view->count; i++) {
		struct fl_census_counts c;

		fl_census_count(view->census[i], zone, &c);
		if (view->count > 1)
			fl_text_add(view->pen.to, "%s:\n", view->names[i]);
		fl_text_add(view->pen.to, "%" PRIu64 " pageblocks: %" PRIu64 " wholly free, %" PRIu64
			    " more with nothing but movable pages,\n%" PRIu64 " with unmovable pages (%" PRIu64 ")",
			    c.pageblocks, c.free_huge_slots, c.reclaimable_huge_slots - c.free_huge_slots,
			    c.unmovable_pageblocks, c.unmovable_pages);
		if (c.unsure_pageblocks)
			fl_text_add(view->pen.to, ", %" PRIu64 " of them perhaps only per-CPU lists", c.unsure_pageblocks);
		fl_text_add(view->pen.to, ".\n");
	}
}

/* ---- drawing ---- */

/* Cells that fit beside the labels: a multiple of 16, so that rows start at round addresses. */
static unsigned int columns_for(unsigned int width, unsigned int maps)
{
	unsigned int labels = LABEL_WIDTH + maps * SHARE_WIDTH + (maps - 1) * PAIR_GAP, columns;

	width = width ? width : WIDTH_DEFAULT;
	width = width < WIDTH_MIN ? WIDTH_MIN : width;
	columns = (width - labels) / maps;
	return columns < 16 ? columns : columns - columns % 16;
}

static void draw(struct view *view, const struct fl_map_options *options, struct fl_text *to)
{
	unsigned int rows_max = options->rows_max ? options->rows_max : ROWS_DEFAULT;

	view->pen = (struct pen){to, options->colour, 0};
	view->columns = columns_for(options->width, view->count);
	view->lines_count = fl_mapgrid_fit(view->census[0], view->count > 1 ? view->census[1] : NULL, options->zone,
					   view->columns, rows_max, options->blocks_per_cell, view->grids, &view->lines);
	if (!view->lines_count)
		fl_text_add(to, "There is no memory to draw.\n");
	else {
		draw_lines(view);
		draw_legend(view, options->zone);
		draw_counts(view, options->zone);
	}
	free(view->lines);
	fl_mapgrid_fini(&view->grids[0]);
	fl_mapgrid_fini(&view->grids[1]);
}

void fl_map_draw(const struct fl_census *census, const struct fl_map_options *options, struct fl_text *to)
{
	struct view view = {.census = {census, NULL}, .count = 1};

	draw(&view, options, to);
}

void fl_map_draw_pair(const struct fl_census *a, const char *name_a, const struct fl_census *b, const char *name_b,
		      const struct fl_map_options *options, struct fl_text *to)
{
	struct view view = {.census = {a, b}, .names = {name_a, name_b}, .count = 2};

	FL_ASSERT_MSG(a->page_size == b->page_size && a->pages_per_block == b->pages_per_block,
		      "maps side by side need machines of the same page size and pageblock order");
	draw(&view, options, to);
}
