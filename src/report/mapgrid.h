/*
 * report/mapgrid.h - the rows and cells of a pageblock map, before anybody draws them (map.c, png.c).
 *
 * A grid cuts each zone into rows of `columns` cells of `blocks_per_cell` pageblocks; rows start at multiples of their
 * own length, so that grids of the same shape line up. Rows without memory are left out.
 */
#ifndef FL_REPORT_MAPGRID_H
#define FL_REPORT_MAPGRID_H

#include <stdbool.h>
#include <stddef.h>

#include "base/census.h"
#include "report/map.h"

struct fl_mapcell {
	uint32_t blocks;      /* 0: no memory here */
	uint32_t pinned;      /* of these: hold unmovable pages for certain */
	uint32_t polluted;
	uint32_t kinds[FL_MAP_KINDS];
	uint32_t pages[FL_CENSUS_CLASSES];
	uint32_t unidentified;
};

struct fl_maprow {
	unsigned int zone;
	uint64_t start_pfn;
	struct fl_mapcell *cells; /* `columns` of them */
	bool uniform;             /* every cell has memory and looks like the first */
};

struct fl_mapgrid {
	unsigned int columns, blocks_per_cell;
	uint64_t row_pages;
	struct fl_maprow *rows; /* by zone, then rising */
	size_t rows_count, rows_capacity;
};

/* `zone`: an index, or FL_CENSUS_ALL_ZONES. */
void fl_mapgrid_init(struct fl_mapgrid *grid, const struct fl_census *census, int zone, unsigned int columns,
		     unsigned int blocks_per_cell);
void fl_mapgrid_fini(struct fl_mapgrid *grid);

/* What a cell shows; full: more than half of its memory is in use. */
enum fl_map_kind fl_mapcell_kind(const struct fl_mapcell *cell);
bool fl_mapcell_is_full(const struct fl_mapcell *cell);

/* Several grids of one shape, walked together: which rows are drawn. */
struct fl_mapline {
	unsigned int zone;
	uint64_t start_pfn;
	const struct fl_maprow *rows[2]; /* NULL: that grid has no memory there */
	uint64_t skipped;                /* not 0: no row, but so many rows that look like the one before */
};

/*
 * The lines to draw of one or two grids (b may be NULL): two or more rows after one that they all look like become a
 * single line with `skipped` set, whose start_pfn is that of the first of them. The array is allocated.
 */
size_t fl_mapgrid_lines(const struct fl_mapgrid *a, const struct fl_mapgrid *b, struct fl_mapline **ret);

/*
 * Builds the grids of a and b (b may be NULL) with the fewest blocks in a cell, a power of two, for which there are at
 * most `rows_max` lines; blocks_per_cell other than 0 is taken as it is. The caller ends the grids.
 */
size_t fl_mapgrid_fit(const struct fl_census *a, const struct fl_census *b, int zone, unsigned int columns,
		      unsigned int rows_max, unsigned int blocks_per_cell, struct fl_mapgrid ret_grids[2],
		      struct fl_mapline **ret_lines);

#endif
