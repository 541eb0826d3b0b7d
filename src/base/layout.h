/*
 * base/layout.h - a machine with what it holds, page by page: the document of `fraglab snapshot` (fraglab.snapshot.v1).
 *
 * observe makes it from a live host, machine from the model; the model boots from it (mm/restore.c). docs/SNAPSHOT.md
 * describes the document. A page has a class of base/census.h, a pageblock a type; without root only zones and settings
 * are known and `page` is NULL.
 */
#ifndef FL_BASE_LAYOUT_H
#define FL_BASE_LAYOUT_H

#include "base/census.h"

#define FL_LAYOUT_ZONES 4 /* DMA, DMA32, Normal, Movable */
#define FL_LAYOUT_ORDERS 15
#define FL_LAYOUT_TYPES 4 /* Unmovable, Movable, Reclaimable, HighAtomic: enum fl_census_type */
#define FL_LAYOUT_SCHEMA "fraglab.snapshot.v1"

struct fl_layout_zone { /* pages; spanned 0: the machine has no such zone */
	uint64_t start_pfn, spanned, present, managed;
	bool has_marks;
	uint64_t min, low, high, promo, boost; /* marks without the boost */
	uint64_t protection[FL_LAYOUT_ZONES];
	int64_t batch, high_min, high_max; /* of per-CPU lists; high_max 0: not told */
	/* As pagetypeinfo of the host said, when it did: chunks by type and order. */
	bool has_host_free;
	uint64_t host_free[FL_LAYOUT_TYPES][FL_LAYOUT_ORDERS];
};

struct fl_layout_setting {
	char *name, *value; /* as in "vm.swappiness", "10" */
};

struct fl_layout {
	char release[64];
	uint32_t page_size;
	unsigned int pageblock_order, max_order, pmd_order, cpus, nodes;
	uint64_t swap_bytes;
	struct fl_layout_zone zone[FL_LAYOUT_ZONES];
	struct fl_layout_setting *settings;
	size_t settings_count;
	char **missing; /* sentences: what the host did not tell */
	size_t missing_count;
	/* Whole pageblocks from first_pfn on. */
	uint64_t first_pfn, pages;
	uint8_t *page; /* enum fl_census_class of each page; NULL: not known */
	uint8_t *order; /* of the folio that an anonymous, mlocked or file page belongs to; those of huge pages are 0 here */
	uint8_t *type; /* enum fl_census_type of each pageblock */
};

/* A figure of the host beside what the formulas of the model give for its zones. */
struct fl_exact {
	char name[64]; /* as in "Normal min", "DMA32 pcp_high_max" */
	double real, model;
};

void fl_layout_init(struct fl_layout *layout);
void fl_layout_fini(struct fl_layout *layout);
void fl_layout_set(struct fl_layout *layout, const char *name, const char *value);
void fl_layout_miss(struct fl_layout *layout, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* "DMA", ... of a zone index. */
const char *fl_layout_zone_name(unsigned int zone);
/* Index of the zone that spans pfn, or FL_LAYOUT_ZONES. */
unsigned int fl_layout_zone_of(const struct fl_layout *layout, uint64_t pfn);
/* Class of the page at pfn; HOLE outside. */
static inline enum fl_census_class fl_layout_page(const struct fl_layout *layout, uint64_t pfn)
{
	return pfn - layout->first_pfn < layout->pages ? (enum fl_census_class)layout->page[pfn - layout->first_pfn] :
							 FL_CENSUS_HOLE;
}
static inline unsigned int fl_layout_order(const struct fl_layout *layout, uint64_t pfn)
{
	return pfn - layout->first_pfn < layout->pages ? layout->order[pfn - layout->first_pfn] : 0;
}
static inline uint8_t *fl_layout_type(const struct fl_layout *layout, uint64_t pfn)
{
	return &layout->type[(pfn - layout->first_pfn) >> layout->pageblock_order];
}

/*
 * The order of the free chunk that begins at pfn, as the buddy lists must hold it: the largest aligned group of free pages of
 * one zone whose pageblocks have one type (two free buddies are always merged). pfn must be free and the start of one.
 */
unsigned int fl_layout_chunk(const struct fl_layout *layout, uint64_t pfn);

/* Free chunks of a zone by type and order; types beyond HighAtomic count as Movable. */
void fl_layout_free(const struct fl_layout *layout, unsigned int zone, uint64_t ret[FL_LAYOUT_TYPES][FL_LAYOUT_ORDERS]);

/* Pages whose list differs between the layout and what the host printed; 0 when the host printed none. */
uint64_t fl_layout_deviation(const struct fl_layout *layout, unsigned int zone);

#endif
