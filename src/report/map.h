/*
 * report/map.h - the pageblock map: what every pageblock holds, as a picture.
 *
 * One cell is one pageblock, or several where memory is too large for the picture (the text says how many). A cell
 * shows a kind, by the rule below, and whether it is more than half full: capital letter, strong colour. Long
 * stretches of the same are left out and said. The figure at the right of each row is the share of pinned pageblocks
 * (that hold unmovable pages for certain) in per cent: 0 only if there is none, 100 only if all are, so that the one
 * among many that a cell stands for is never hidden. A legend counts the kinds exactly.
 *
 * Works on struct fl_census alone: a live kernel (observe) and the model (machine) fill the same struct.
 */
#ifndef FL_REPORT_MAP_H
#define FL_REPORT_MAP_H

#include <stdbool.h>

#include "base/census.h"
#include "base/error.h"
#include "base/text.h"

/* Kinds of pageblock. A cell of several pageblocks shows the commonest kind among them, of equals the later one. */
enum fl_map_kind {
	FL_MAP_HOLE,        /* no memory */
	FL_MAP_NOT_MANAGED, /* present, not handed to the allocator */
	FL_MAP_FREE,        /* free pages only: a huge page can be had now */
	FL_MAP_HUGE,        /* huge pages (THP of PMD order, hugetlb) and free pages only */
	FL_MAP_MOVABLE,     /* movable and free pages only: a huge page once they have moved */
	FL_MAP_RESERVED,    /* reserved pages, no unmovable ones */
	FL_MAP_UNSURE,      /* nothing unmovable but unidentified pages: kernel memory or per-CPU lists (live only) */
	FL_MAP_PGTABLE,     /* unmovable, no movable pages: page tables are most of the unmovable */
	FL_MAP_SLAB,        /* the same, slab */
	FL_MAP_KERNEL,      /* the same, other kernel pages */
	FL_MAP_MIXED,       /* unmovable and movable pages; where types are known: in a block not typed movable */
	FL_MAP_POLLUTED,    /* typed movable, holds unmovable pages (only where types are known) */
	FL_MAP_KINDS
};

struct fl_map_options {
	unsigned int width;           /* columns to use, labels included; 0: 80; at least 40 */
	bool colour;                  /* 256-colour escapes around each letter, for a terminal */
	unsigned int rows_max;        /* rows of one map before a cell holds several pageblocks; 0: 48 */
	unsigned int blocks_per_cell; /* 0: as few as rows_max allows, a power of two */
	int zone;                     /* index into zone_names, or FL_CENSUS_ALL_ZONES */
};

/* Sensible options: 80 columns, no colour, all zones. */
void fl_map_options_init(struct fl_map_options *options);

enum fl_map_kind fl_map_kind_of(const struct fl_census *census, const struct fl_census_block *block);
const char *fl_map_kind_name(enum fl_map_kind kind);
/* Letter of a cell that is more than half full; the other is its lower case. */
char fl_map_kind_letter(enum fl_map_kind kind);

/* Blocks by kind, over one zone or FL_CENSUS_ALL_ZONES. */
void fl_map_count_kinds(const struct fl_census *census, int zone, uint64_t ret[FL_MAP_KINDS]);

/* Draws the map, its legend and the counts below it. */
void fl_map_draw(const struct fl_census *census, const struct fl_map_options *options, struct fl_text *to);

/* Two maps side by side, row by row the same addresses, and one legend with both counts and the difference. */
void fl_map_draw_pair(const struct fl_census *a, const char *name_a, const struct fl_census *b, const char *name_b,
		      const struct fl_map_options *options, struct fl_text *to);

/* One map of a picture. */
struct fl_map_picture {
	const struct fl_census *census;
	const char *title; /* capital letters, digits and common signs are drawn; as in "7.3+mobility, seed 1" */
};

/*
 * A PNG of one map or of several side by side, at one scale. A pageblock is a small square that is filled from below
 * with what it holds, in proportion; whatever is there at all gets at least one line, so that one unmovable page in
 * a movable pageblock can be seen. encode appends the bytes to `to` (for report/output.h); write makes the file.
 */
int fl_map_encode_png(const struct fl_map_picture *pictures, unsigned int count, struct fl_text *to,
		      struct fl_error *reterr);
int fl_map_write_png(const struct fl_census *census, const char *title, const char *path, struct fl_error *reterr);

#endif
