/*
 * observe/capacity.h - how many large pages a host can give, now and after compaction, and what keeps it from more.
 *
 * Works on struct fl_census alone. Three figures for each order and zone:
 *   now      naturally aligned groups of that order that are wholly free (of orders above 10: for alloc_contig_range,
 *            which is how 1 GiB pages are made; the buddy lists hold nothing that large);
 *   moved    how many there would be if every movable page of the zone were packed into the groups that are lost
 *            anyway and then into as few others as possible: perfect compaction, nothing reclaimed;
 *   emptied  groups without unmovable, reserved or hugetlb pages: if movable memory went away altogether.
 * now <= moved <= emptied. Pages that look movable but are pinned by a driver make `moved` an upper bound.
 */
#ifndef FL_OBSERVE_CAPACITY_H
#define FL_OBSERVE_CAPACITY_H

#include <jansson.h>
#include <stdbool.h>

#include "base/census.h"
#include "base/text.h"

struct fl_capacity_order {
	bool known; /* false: the census has whole pageblocks only, and this order is smaller */
	uint64_t size_bytes;
	uint64_t now, moved, emptied;
};

/* What pins pageblocks: one class of unmovable content. */
struct fl_capacity_pin {
	uint64_t blocks;       /* pageblocks that hold any of it */
	uint64_t blocks_alone; /* of these: no other unmovable content, so it alone pins them */
	uint64_t pages;
};

enum fl_capacity_pinner {
	FL_CAPACITY_PGTABLE,
	FL_CAPACITY_SLAB,
	FL_CAPACITY_KERNEL,       /* told by a flag (large kernel allocations) or by being mapped */
	FL_CAPACITY_UNIDENTIFIED, /* nothing tells: kernel memory, or free pages on per-CPU lists */
	FL_CAPACITY_RESERVED,     /* boot-time reservations and poisoned pages, in blocks without the others */
	FL_CAPACITY_HUGETLB,      /* in use as huge pages: not lost, but not to be had */
	FL_CAPACITY_PINNERS
};

/* Pageblocks by how many unmovable pages pin them: 1, up to 8, up to 64, more. */
#define FL_CAPACITY_WEIGHTS 4

struct fl_capacity_zone {
	char name[16];
	uint64_t managed, pcp; /* pages; 0 when not known */
	struct fl_census_counts counts;
	struct fl_capacity_order orders[FL_CENSUS_ORDERS];
	struct fl_capacity_pin pins[FL_CAPACITY_PINNERS];
	uint64_t blocks_by_weight[FL_CAPACITY_WEIGHTS];
};

struct fl_capacity {
	uint32_t page_size, block_order;
	unsigned int zones_count;
	struct fl_capacity_zone *zones; /* populated zones only, in the order of the census; owned */
	struct fl_capacity_zone total;  /* sums, named "all" */
};

void fl_capacity_compute(const struct fl_census *census, struct fl_capacity *ret);
void fl_capacity_fini(struct fl_capacity *capacity);

const char *fl_capacity_pinner_name(enum fl_capacity_pinner pinner);

/* All of it for people, at 80 columns: sizes, zones, what pins pageblocks. */
void fl_capacity_print(const struct fl_capacity *capacity, struct fl_text *to);

/*
 * All of it for programs, as the member `capacity` of fraglab.inspect.v1: {"page_size", "pageblock_order", "zones":
 * [{"name", "orders": [{"order", "size_bytes", "now", "moved", "emptied"}], "pins": [{"what", "blocks",
 * "blocks_alone", "pages"}], counts by their names}], "total": the same}. Orders that are not known are left out.
 */
json_t *fl_capacity_json(const struct fl_capacity *capacity);

#endif
