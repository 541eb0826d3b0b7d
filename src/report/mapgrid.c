/* report/mapgrid.c - cutting a census into the rows and cells of a map. */
#include "report/mapgrid.h"

#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/text.h"

/* ---- cells ---- */

static void add_block(struct fl_mapcell *cell, const struct fl_census *census, const struct fl_census_block *b)
{
	enum fl_map_kind kind = fl_map_kind_of(census, b);

	if (kind == FL_MAP_HOLE)
		return;
	cell->blocks++;
	cell->kinds[kind]++;
	cell->pinned += fl_census_unmovable(b) > b->unidentified;
	cell->polluted += kind == FL_MAP_POLLUTED;
	cell->unidentified += b->unidentified;
	for (int i = 0; i < FL_CENSUS_CLASSES; i++)
		cell->pages[i] += b->pages[i];
}

enum fl_map_kind fl_mapcell_kind(const struct fl_mapcell *cell)
{
	enum fl_map_kind best = FL_MAP_HOLE;

	for (int i = 0; i < FL_MAP_KINDS; i++) {
		if (cell->kinds[i] && cell->kinds[i] >= cell->kinds[best])
			best = (enum fl_map_kind)i;
	}
	return best;
}

bool fl_mapcell_is_full(const struct fl_mapcell *cell)
{
	uint64_t all = 0, vacant = 0;

	for (int i = 0; i < FL_CENSUS_CLASSES; i++)
		all += i == FL_CENSUS_HOLE || i == FL_CENSUS_NOT_MANAGED ? 0 : cell->pages[i];
	vacant = cell->pages[FL_CENSUS_FREE] + cell->pages[FL_CENSUS_PCP];
	return (all - vacant) * 2 > all;
}

static bool cells_look_alike(const struct fl_mapcell *a, const struct fl_mapcell *b)
{
	return !a->blocks == !b->blocks && fl_mapcell_kind(a) == fl_mapcell_kind(b) &&
	       fl_mapcell_is_full(a) == fl_mapcell_is_full(b) && !a->pinned == !b->pinned;
}

/* ---- one grid ---- */

static struct fl_maprow *row_for(struct fl_mapgrid *grid, unsigned int zone, uint64_t start_pfn)
{
	struct fl_maprow *last = grid->rows_count ? &grid->rows[grid->rows_count - 1] : NULL;

	if (last && last->zone == zone && last->start_pfn == start_pfn)
		return last;
	if (grid->rows_count == grid->rows_capacity) {
		grid->rows_capacity = grid->rows_capacity ? 2 * grid->rows_capacity : 64;
		grid->rows = fl_xrealloc(grid->rows, grid->rows_capacity * sizeof(*grid->rows));
	}
	last = &grid->rows[grid->rows_count++];
	memset(last, 0, sizeof(*last));
	last->zone = zone;
	last->start_pfn = start_pfn;
	last->cells = fl_xcalloc(grid->columns, sizeof(*last->cells));
	return last;
}

static void add_zone(struct fl_mapgrid *grid, const struct fl_census *census, unsigned int zone)
{
	uint64_t cell_pages = (uint64_t)grid->blocks_per_cell * census->pages_per_block;

	for (size_t i = 0; i < census->blocks_count; i++) {
		const struct fl_census_block *b = &census->blocks[i];
		uint64_t offset = b->start_pfn % grid->row_pages;

		if (b->zone == zone && b->pages[FL_CENSUS_HOLE] < census->pages_per_block)
			add_block(&row_for(grid, zone, b->start_pfn - offset)->cells[offset / cell_pages], census, b);
	}
}

/* A cell of which some pageblocks are pinned is never left out, or the share of its row would be. */
static bool row_is_uniform(const struct fl_mapgrid *grid, const struct fl_maprow *row)
{
	for (unsigned int i = 0; i < grid->columns; i++) {
		const struct fl_mapcell *cell = &row->cells[i];

		if (!cell->blocks || (cell->pinned && cell->pinned < cell->blocks) ||
		    !cells_look_alike(cell, &row->cells[0]))
			return false;
	}
	return true;
}

void fl_mapgrid_init(struct fl_mapgrid *grid, const struct fl_census *census, int zone, unsigned int columns,
		     unsigned int blocks_per_cell)
{
	memset(grid, 0, sizeof(*grid));
	grid->columns = columns;
	grid->blocks_per_cell = blocks_per_cell;
	grid->row_pages = (uint64_t)columns * blocks_per_cell * census->pages_per_block;
	FL_ASSERT(grid->row_pages);
	for (unsigned int z = 0; z < census->zones_count; z++) {
		if (zone == FL_CENSUS_ALL_ZONES || (unsigned int)zone == z)
			add_zone(grid, census, z);
	}
	for (size_t i = 0; i < grid->rows_count; i++)
		grid->rows[i].uniform = row_is_uniform(grid, &grid->rows[i]);
}

void fl_mapgrid_fini(struct fl_mapgrid *grid)
{
	for (size_t i = 0; i < grid->rows_count; i++)
		free(grid->rows[i].cells);
	free(grid->rows);
	memset(grid, 0, sizeof(*grid));
}

/* ---- lines ---- */

static int compare_rows(const struct fl_maprow *a, const struct fl_maprow *b)
{
	if (a->zone != b->zone)
		return a->zone < b->zone ? -1 : 1;
	if (a->start_pfn != b->start_pfn)
		return a->start_pfn < b->start_pfn ? -1 : 1;
	return 0;
}

/* The next row of either grid, with its partner if that has the same place; moves the positions on. */
static bool next_line(const struct fl_mapgrid *const grids[2], size_t at[2], struct fl_mapline *ret)
{
	const struct fl_maprow *rows[2];
	int order;

	for (int i = 0; i < 2; i++)
		rows[i] = grids[i] && at[i] < grids[i]->rows_count ? &grids[i]->rows[at[i]] : NULL;
	if (!rows[0] && !rows[1])
		return false;
	order = !rows[0] ? 1 : !rows[1] ? -1 : compare_rows(rows[0], rows[1]);
	memset(ret, 0, sizeof(*ret));
	ret->rows[0] = order <= 0 ? rows[0] : NULL;
	ret->rows[1] = order >= 0 ? rows[1] : NULL;
	at[0] += order <= 0;
	at[1] += order >= 0;
	ret->zone = order <= 0 ? rows[0]->zone : rows[1]->zone;
	ret->start_pfn = order <= 0 ? rows[0]->start_pfn : rows[1]->start_pfn;
	return true;
}

static bool rows_look_alike(const struct fl_maprow *a, const struct fl_maprow *b)
{
	if (!a || !b)
		return !a && !b;
	return a->uniform && b->uniform && cells_look_alike(&a->cells[0], &b->cells[0]);
}

static bool line_continues(const struct fl_mapline *shown, const struct fl_mapline *line, uint64_t distance)
{
	return shown && shown->zone == line->zone && shown->start_pfn + distance == line->start_pfn &&
	       rows_look_alike(shown->rows[0], line->rows[0]) && rows_look_alike(shown->rows[1], line->rows[1]);
}

size_t fl_mapgrid_lines(const struct fl_mapgrid *a, const struct fl_mapgrid *b, struct fl_mapline **ret)
{
	const struct fl_mapgrid *grids[2] = {a, b};
	size_t at[2] = {0, 0}, count = 0, shown = 0, room = a->rows_count + (b ? b->rows_count : 0) + 1;
	struct fl_mapline *lines = fl_xcalloc(room, sizeof(*lines)), line;

	while (next_line(grids, at, &line)) {
		uint64_t after = count ? count - shown + (lines[count - 1].skipped ? lines[count - 1].skipped - 1 : 0) : 0;

		if (!count || !line_continues(&lines[shown], &line, after * a->row_pages)) {
			shown = count;
			lines[count++] = line;
			continue;
		}
		/* The second of the same is drawn; with the third both become one line that says how many. */
		if (count == shown + 1) {
			lines[count++] = line;
			continue;
		}
		lines[count - 1].skipped = lines[count - 1].skipped ? lines[count - 1].skipped + 1 : 2;
	}
	*ret = lines;
	return count;
}

static unsigned int first_guess(const struct fl_census *a, unsigned int columns, unsigned int rows_max)
{
	unsigned int k = 1;

	/* So that the first, finest grid of a huge machine does not take gigabytes. */
	while (a->blocks_count / ((uint64_t)k * columns) > 64ull * rows_max)
		k *= 2;
	return k;
}

size_t fl_mapgrid_fit(const struct fl_census *a, const struct fl_census *b, int zone, unsigned int columns,
		      unsigned int rows_max, unsigned int blocks_per_cell, struct fl_mapgrid ret_grids[2],
		      struct fl_mapline **ret_lines)
{
	unsigned int k = blocks_per_cell ? blocks_per_cell : first_guess(a, columns, rows_max);

	for (;; k *= 2) {
		size_t count;

		fl_mapgrid_init(&ret_grids[0], a, zone, columns, k);
		if (b)
			fl_mapgrid_init(&ret_grids[1], b, zone, columns, k);
		else
			memset(&ret_grids[1], 0, sizeof(ret_grids[1]));
		count = fl_mapgrid_lines(&ret_grids[0], b ? &ret_grids[1] : NULL, ret_lines);
		if (blocks_per_cell || count <= rows_max || k >= 1u << 20)
			return count;
		free(*ret_lines);
		fl_mapgrid_fini(&ret_grids[0]);
		fl_mapgrid_fini(&ret_grids[1]);
	}
}
