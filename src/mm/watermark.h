/*
 * mm/watermark.h - watermarks: formulas, tests, boost, lowmem reserve. Parts of mm/page_alloc.c and khugepaged.c.
 *
 * The formulas are pure functions of managed pages, so that they can be held against the zoneinfo of any machine.
 */
#ifndef FL_MM_WATERMARK_H
#define FL_MM_WATERMARK_H

#include "mm/page_alloc.h"

/* A node as the formulas see it: pages of zones by index, 0 where there is no zone. */
struct fl_watermark_input {
	uint64_t managed[FL_ZONES];
	unsigned int page_shift, pageblock_order;
	uint32_t scale_factor;             /* vm.watermark_scale_factor, 10 */
	uint32_t reserve_ratio[FL_ZONES];  /* vm.lowmem_reserve_ratio */
};

/* calculate_min_free_kbytes() with the given high marks (0 at boot). */
uint64_t fl_default_min_free_kbytes(const struct fl_watermark_input *in, const uint64_t high[FL_ZONES]);

/* The recommendation of set_recommended_min_free_kbytes(), 5 % cap included. */
uint64_t fl_recommended_min_free_kbytes(const struct fl_watermark_input *in, const uint64_t high[FL_ZONES]);

/* __setup_per_zone_wmarks(): marks[zone][FL_WMARK_*] without boost. */
void fl_compute_wmarks(const struct fl_watermark_input *in, uint64_t min_free_kbytes,
		       uint64_t marks[FL_ZONES][FL_WMARKS]);

/* setup_per_zone_lowmem_reserve(): reserve[zone][class], printed as "protection:" in zoneinfo. */
void fl_compute_lowmem_reserve(const struct fl_watermark_input *in, uint64_t reserve[FL_ZONES][FL_ZONES]);

/* The input of the formulas for this machine. */
void fl_watermark_input_of(const struct fl_mem *mem, struct fl_watermark_input *ret);

/* setup_per_zone_wmarks(): recomputes marks, clears boosts, resizes per-CPU lists. */
void fl_setup_per_zone_wmarks(struct fl_mem *mem);

/* What start_stop_khugepaged() does to min_free_kbytes: recommended value when THP counts as enabled, else default. */
void fl_set_recommended_min_free(struct fl_mem *mem);

/* A write to vm.min_free_kbytes. */
void fl_write_min_free_kbytes(struct fl_mem *mem, uint64_t kbytes);

/* wmark_pages(): the mark including the boost. */
static inline uint64_t fl_wmark_pages(const struct fl_zone *zone, enum fl_wmark mark)
{
	return zone->wmark[mark] + zone->watermark_boost;
}

/* __zone_watermark_ok() with an explicit number of free pages (allocator.md 2.4). */
bool fl_watermark_ok_free(const struct fl_mem *mem, const struct fl_zone *zone, unsigned int order, uint64_t mark,
			  unsigned int ceiling, uint32_t alloc_flags, long free_pages);

/* zone_watermark_ok(): with NR_FREE_PAGES. */
static inline bool fl_watermark_ok(const struct fl_mem *mem, const struct fl_zone *zone, unsigned int order,
				   uint64_t mark, unsigned int ceiling, uint32_t alloc_flags)
{
	return fl_watermark_ok_free(mem, zone, order, mark, ceiling, alloc_flags, zone->nr_free_pages);
}

/* zone_watermark_fast(): with the quick order-0 compare and the last chance of atomic requests under boost. */
bool fl_watermark_fast(const struct fl_mem *mem, const struct fl_zone *zone, unsigned int order, uint64_t mark,
		       unsigned int ceiling, uint32_t alloc_flags, fl_gfp gfp);

/* boost_watermark(): true if the boost was raised. */
bool fl_boost_watermark(struct fl_mem *mem, struct fl_zone *zone);

/* totalreserve_pages (calculate_totalreserve_pages), computed on demand. */
uint64_t fl_totalreserve_pages(const struct fl_mem *mem);

/* Indices of debugfs extfrag/ for one order, in thousandths (allocator.md 8.4); -1000 for "no failure possible". */
int fl_fragmentation_index(const struct fl_zone *zone, unsigned int order);
int fl_unusable_index(const struct fl_zone *zone, unsigned int order);

#endif
