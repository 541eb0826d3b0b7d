/*
 * machine/census.h - the census of the modelled machine: what every pageblock holds.
 */
#ifndef FL_MACHINE_CENSUS_H
#define FL_MACHINE_CENSUS_H

#include "base/census.h"
#include "mm/mem.h"

/* Walks all frames and fills *ret (owned by the caller: fl_census_free). Pageblocks without any memory are left out.
 * Changes nothing. O(frames) with slots, O(chunks) without: then zones[].*_slots of orders below the pageblock are 0. */
void fl_machine_census(const struct fl_mem *mem, bool with_slots, struct fl_census *ret);

/* Pages on the free lists of a zone, walked: the truth that the counters are compared with. The chunks of type Isolate
 * count in by_type only. */
struct fl_list_pages {
	uint64_t total; /* all types but Isolate */
	uint64_t by_type[FL_MIGRATETYPES];
};
void fl_machine_list_pages(const struct fl_mem *mem, const struct fl_zone *zone, struct fl_list_pages *ret);

/* free_count_gap: pages on the lists minus NR_FREE_PAGES. type_count_gap: sum over types of the absolute difference between
 * the per-type count and the lists. */
int64_t fl_machine_free_count_gap(const struct fl_zone *zone, const struct fl_list_pages *lists);
int64_t fl_machine_type_count_gap(const struct fl_zone *zone, const struct fl_list_pages *lists);

/* Class of the chunk or folio at its head, type of a pageblock, in the words of a census. */
enum fl_census_class fl_machine_class_of(const struct fl_mem *mem, fl_pfn head);
enum fl_census_type fl_machine_type_of(const struct fl_mem *mem, fl_pfn pfn);

#endif
