/*
 * mm/watermark.c - watermarks: formulas, tests, boost, lowmem reserve, indices. Mirrors parts of mm/page_alloc.c,
 * mm/khugepaged.c (set_recommended_min_free_kbytes) and mm/vmstat.c (indices). Owns the marks of struct fl_zone.
 */
#include "mm/watermark.h"

#include "mm/pcp.h"
#include "mm/sysctl.h"

/* Floor of the square root (int_sqrt). */
static uint64_t int_sqrt(uint64_t x)
{
	uint64_t root = 0, bit = UINT64_C(1) << 62;

	while (bit > x)
		bit >>= 2;
	for (; bit; bit >>= 2) {
		if (x >= root + bit) {
			x -= root + bit;
			root = (root >> 1) + bit;
		} else {
			root >>= 1;
		}
	}
	return root;
}

/* nr_free_buffer_pages(): what lies above the high marks in the zones that kernel memory may use. */
static uint64_t free_buffer_pages(const struct fl_watermark_input *in, const uint64_t high[FL_ZONES])
{
	uint64_t pages = 0;

	for (unsigned int z = 0; z <= FL_ZONE_NORMAL; z++)
		if (in->managed[z] > high[z])
			pages += in->managed[z] - high[z];
	return pages;
}

static uint64_t unclamped_min_free_kbytes(const struct fl_watermark_input *in, const uint64_t high[FL_ZONES])
{
	uint64_t lowmem_kbytes = free_buffer_pages(in, high) << (in->page_shift - 10);

	return int_sqrt(lowmem_kbytes * 16);
}

static uint64_t clamp_min_free_kbytes(uint64_t kbytes)
{
	if (kbytes < 128)
		return 128;
	return kbytes > 262144 ? 262144 : kbytes;
}

uint64_t fl_default_min_free_kbytes(const struct fl_watermark_input *in, const uint64_t high[FL_ZONES])
{
	return clamp_min_free_kbytes(unclamped_min_free_kbytes(in, high));
}

uint64_t fl_recommended_min_free_kbytes(const struct fl_watermark_input *in, const uint64_t high[FL_ZONES])
{
	uint64_t zones = 0, pages, cap = free_buffer_pages(in, high) / 20;

	for (unsigned int z = 0; z <= FL_ZONE_NORMAL; z++)
		zones += in->managed[z] > 0;
	/* Two pageblocks a zone to mix in, and one for each pair of types with per-CPU lists. */
	pages = (zones << in->pageblock_order) * (2 + FL_PCPTYPES * FL_PCPTYPES);
	if (pages > cap)
		pages = cap;
	return pages << (in->page_shift - 10);
}

void fl_compute_wmarks(const struct fl_watermark_input *in, uint64_t min_free_kbytes,
		       uint64_t marks[FL_ZONES][FL_WMARKS])
{
	uint64_t pages_min = min_free_kbytes >> (in->page_shift - 10), lowmem_pages = 0;

	for (unsigned int z = 0; z <= FL_ZONE_NORMAL; z++)
		lowmem_pages += in->managed[z];
	for (unsigned int z = 0; z < FL_ZONES; z++) {
		uint64_t managed = in->managed[z], min, gap, share;

		share = lowmem_pages ? pages_min * managed / lowmem_pages : 0;
		min = share;
		if (z == FL_ZONE_MOVABLE) {
			min = managed / 1024;
			min = min < 32 ? 32 : min > 128 ? 128 : min;
		}
		gap = managed * in->scale_factor / 10000;
		if (share / 4 > gap)
			gap = share / 4;
		for (unsigned int m = 0; m < FL_WMARKS; m++)
			marks[z][m] = min + m * gap;
	}
}

void fl_compute_lowmem_reserve(const struct fl_watermark_input *in, uint64_t reserve[FL_ZONES][FL_ZONES])
{
	for (unsigned int z = 0; z < FL_ZONES; z++) {
		uint64_t above = 0;

		for (unsigned int class = 0; class < FL_ZONES; class++) {
			reserve[z][class] = 0;
			if (class <= z)
				continue;
			above += in->managed[class];
			if (in->reserve_ratio[z] && in->managed[z])
				reserve[z][class] = above / in->reserve_ratio[z];
		}
	}
}

void fl_watermark_input_of(const struct fl_mem *mem, struct fl_watermark_input *ret)
{
	ret->page_shift = mem->page_shift;
	ret->pageblock_order = mem->pageblock_order;
	ret->scale_factor = mem->set.watermark_scale_factor;
	for (unsigned int z = 0; z < FL_ZONES; z++) {
		ret->managed[z] = mem->zone[z].managed;
		ret->reserve_ratio[z] = mem->set.lowmem_reserve_ratio[z];
	}
}

void fl_setup_per_zone_wmarks(struct fl_mem *mem)
{
	struct fl_watermark_input in;
	uint64_t marks[FL_ZONES][FL_WMARKS], reserve[FL_ZONES][FL_ZONES];

	fl_watermark_input_of(mem, &in);
	fl_compute_wmarks(&in, mem->set.min_free_kbytes, marks);
	fl_compute_lowmem_reserve(&in, reserve);
	for (unsigned int z = 0; z < FL_ZONES; z++) {
		struct fl_zone *zone = &mem->zone[z];

		for (unsigned int m = 0; m < FL_WMARKS; m++)
			zone->wmark[m] = marks[z][m];
		for (unsigned int class = 0; class < FL_ZONES; class++)
			zone->lowmem_reserve[class] = reserve[z][class];
		zone->watermark_boost = 0;
		fl_pcp_update(mem, zone);
	}
}

static void high_marks(const struct fl_mem *mem, uint64_t high[FL_ZONES])
{
	for (unsigned int z = 0; z < FL_ZONES; z++)
		high[z] = fl_wmark_pages(&mem->zone[z], FL_WMARK_HIGH);
}

/* calculate_min_free_kbytes(): the default, unless the user asked for at least as much as it is before the clamp. */
static void calculate_min_free(struct fl_mem *mem)
{
	struct fl_watermark_input in;
	uint64_t high[FL_ZONES], kbytes;

	fl_watermark_input_of(mem, &in);
	high_marks(mem, high);
	kbytes = unclamped_min_free_kbytes(&in, high);
	if ((int64_t)kbytes > mem->set.user_min_free_kbytes)
		mem->set.min_free_kbytes = clamp_min_free_kbytes(kbytes);
}

static bool thp_counts_as_enabled(const struct fl_mem *mem)
{
	struct fl_thp_orders orders;

	fl_thp_orders_of(mem, &orders);
	return mem->decide.thp_raises_min_free(&orders);
}

void fl_set_recommended_min_free(struct fl_mem *mem)
{
	struct fl_watermark_input in;
	uint64_t high[FL_ZONES];
	struct fl_min_free_facts facts;

	if (!thp_counts_as_enabled(mem)) {
		calculate_min_free(mem);
		fl_setup_per_zone_wmarks(mem);
		return;
	}
	fl_watermark_input_of(mem, &in);
	high_marks(mem, high);
	facts.recommended_kbytes = fl_recommended_min_free_kbytes(&in, high);
	facts.current_kbytes = mem->set.min_free_kbytes;
	mem->set.min_free_kbytes = mem->decide.min_free_for_thp(&facts);
	fl_setup_per_zone_wmarks(mem);
}

void fl_write_min_free_kbytes(struct fl_mem *mem, uint64_t kbytes)
{
	mem->set.min_free_kbytes = kbytes;
	mem->set.user_min_free_kbytes = (int64_t)kbytes;
	fl_setup_per_zone_wmarks(mem);
}

/* __zone_watermark_unusable_free() */
static long unusable_free(const struct fl_zone *zone, unsigned int order, uint32_t alloc_flags)
{
	long unusable = (1L << order) - 1;

	if (!(alloc_flags & FL_ALLOC_RESERVES))
		unusable += zone->nr_free_highatomic;
	return unusable;
}

bool fl_watermark_ok_free(const struct fl_mem *mem, const struct fl_zone *zone, unsigned int order, uint64_t mark,
			  unsigned int ceiling, uint32_t alloc_flags, long free_pages)
{
	long min = (long)mark;
	uint32_t lists;

	free_pages -= unusable_free(zone, order, alloc_flags);
	if (FL_UNLIKELY(alloc_flags & FL_ALLOC_RESERVES)) {
		if (alloc_flags & FL_ALLOC_MIN_RESERVE) {
			min -= min / 2;
			if (alloc_flags & FL_ALLOC_NON_BLOCK)
				min -= min / 4;
		}
		if (alloc_flags & FL_ALLOC_OOM)
			min -= min / 2;
	}
	if (free_pages <= min + (long)zone->lowmem_reserve[ceiling])
		return false;
	if (!order)
		return true;
	lists = zone->nonempty[FL_UNMOVABLE] | zone->nonempty[FL_MOVABLE] | zone->nonempty[FL_RECLAIMABLE];
	if (alloc_flags & (FL_ALLOC_HIGHATOMIC | FL_ALLOC_OOM))
		lists |= zone->nonempty[FL_HIGHATOMIC];
	return lists >> order;
}

bool fl_watermark_fast(const struct fl_mem *mem, const struct fl_zone *zone, unsigned int order, uint64_t mark,
		       unsigned int ceiling, uint32_t alloc_flags, fl_gfp gfp)
{
	if (!order) {
		long usable = zone->nr_free_pages, reserved = unusable_free(zone, 0, alloc_flags);

		usable -= usable < reserved ? usable : reserved;
		if (FL_LIKELY(usable > (long)(mark + zone->lowmem_reserve[ceiling])))
			return true;
	}
	if (fl_watermark_ok(mem, zone, order, mark, ceiling, alloc_flags))
		return true;
	/* Atomic order-0 requests need not respect the boost. */
	if (order == 0 && (alloc_flags & FL_ALLOC_MIN_RESERVE) && zone->watermark_boost &&
	    (alloc_flags & FL_ALLOC_WMARK_MASK) == FL_WMARK_MIN)
		return fl_watermark_ok(mem, zone, 0, zone->wmark[FL_WMARK_MIN], ceiling, alloc_flags);
	return false;
}

bool fl_boost_watermark(struct fl_mem *mem, struct fl_zone *zone)
{
	uint64_t block = fl_pageblock_pages(mem), max_boost;

	if (!mem->set.watermark_boost_factor || block * 4 > zone->managed)
		return false;
	/* mult_frac(): quotient and remainder apart, as the kernel rounds. */
	max_boost = zone->wmark[FL_WMARK_HIGH] / 10000 * mem->set.watermark_boost_factor +
		    zone->wmark[FL_WMARK_HIGH] % 10000 * mem->set.watermark_boost_factor / 10000;
	if (!max_boost)
		return false;
	if (max_boost < block)
		max_boost = block;
	zone->watermark_boost += block;
	if (zone->watermark_boost > max_boost)
		zone->watermark_boost = max_boost;
	fl_count(mem, FL_VM_watermark_boosts, 1);
	return true;
}

uint64_t fl_totalreserve_pages(const struct fl_mem *mem)
{
	uint64_t total = 0;

	for (unsigned int z = 0; z < FL_ZONES; z++) {
		const struct fl_zone *zone = &mem->zone[z];
		uint64_t max = 0;

		for (unsigned int class = z; class < FL_ZONES; class++)
			if (zone->lowmem_reserve[class] > max)
				max = zone->lowmem_reserve[class];
		max += fl_wmark_pages(zone, FL_WMARK_HIGH);
		total += max < zone->managed ? max : zone->managed;
	}
	return total;
}

/* fill_contig_page_info(): free chunks, free pages, chunks of at least the order in units of it. */
struct contig_info {
	uint64_t chunks, pages, suitable;
};

static struct contig_info contig_info_of(const struct fl_zone *zone, unsigned int order)
{
	struct contig_info info = { 0 };

	for (unsigned int o = 0; o < FL_MAX_ORDERS; o++) {
		info.chunks += zone->nr_free[o];
		info.pages += (uint64_t)zone->nr_free[o] << o;
		if (o >= order)
			info.suitable += (uint64_t)zone->nr_free[o] << (o - order);
	}
	return info;
}

int fl_fragmentation_index(const struct fl_zone *zone, unsigned int order)
{
	struct contig_info info = contig_info_of(zone, order);

	if (!info.chunks)
		return 0;
	if (info.suitable)
		return -1000;
	return 1000 - (int)((1000 + info.pages * 1000 / (UINT64_C(1) << order)) / info.chunks);
}

int fl_unusable_index(const struct fl_zone *zone, unsigned int order)
{
	struct contig_info info = contig_info_of(zone, order);

	if (!info.pages)
		return 1000;
	return (int)((info.pages - (info.suitable << order)) * 1000 / info.pages);
}
