/*
 * observe/arith.c - see arith.h. Sources: __zone_watermark_ok(), zone_watermark_fast() and gfp_to_alloc_flags() of
 * mm/page_alloc.c, setup_per_zone_wmarks(), unusable_free_index() and __fragmentation_index() of mm/vmstat.c.
 */
#include "observe/arith.h"

#include <stdlib.h>
#include <string.h>

#include "observe/gfp.h"

#define RELEASE(major, minor) ((major) * 1000u + (minor))

static enum fl_mem_kind_of_zone ceiling_of(uint32_t gfp)
{
	if (gfp & FL_GFP_DMA)
		return FL_MEM_ZONE_DMA;
	if (gfp & FL_GFP_DMA32)
		return FL_MEM_ZONE_DMA32;
	if (gfp & FL_GFP_HIGHMEM)
		return gfp & FL_GFP_MOVABLE ? FL_MEM_ZONE_MOVABLE : FL_MEM_ZONE_HIGHMEM;
	return FL_MEM_ZONE_NORMAL;
}

/* Does the request count as one that cannot wait? The rule changed in 4.4 and in 6.3. */
static bool is_harder(uint32_t gfp, unsigned int release, bool old_layout)
{
	if (gfp & FL_GFP_NOMEMALLOC)
		return false;
	if (old_layout || (release && release < RELEASE(4, 4)) || !release || release >= RELEASE(6, 3))
		return !(gfp & FL_GFP_DIRECT_RECLAIM);
	return gfp & FL_GFP_ATOMIC;
}

void fl_arith_flags(const struct fl_mem_request *request, int order, unsigned int release, struct fl_arith_flags *ret)
{
	/* an OOM line without its gfp mask: a user's page fault is the usual one */
	uint32_t gfp = request->has_gfp ? request->gfp : FL_GFP_DIRECT_RECLAIM | FL_GFP_HIGHMEM | FL_GFP_MOVABLE;
	bool old = request->gfp_old_layout || (release && release < RELEASE(4, 4));
	bool newer = !old && (!release || release >= RELEASE(6, 3));

	memset(ret, 0, sizeof(*ret));
	ret->can_reclaim = gfp & FL_GFP_DIRECT_RECLAIM;
	ret->no_marks = (gfp & FL_GFP_MEMALLOC) && !(gfp & FL_GFP_NOMEMALLOC);
	ret->min_reserve = gfp & FL_GFP_HIGH;
	ret->harder = is_harder(gfp, release, request->gfp_old_layout);
	ret->cma = gfp & FL_GFP_MOVABLE;
	ret->use_reserve = ret->harder || (newer && ret->min_reserve) || old;
	ret->highatomic = !old && order > 0 && ret->harder && ret->min_reserve;
	ret->skip_boost = order == 0 && ret->min_reserve && !ret->can_reclaim &&
			  (!release || release >= RELEASE(5, 9)) && !old;
	ret->by_order = old;
	ret->ceiling = ceiling_of(gfp);
	if (newer && !ret->min_reserve)
		ret->harder = false; /* since 6.3 waiting or not counts only together with __GFP_HIGH */
}

static bool state_has_kind(const struct fl_mem_state *state, enum fl_mem_kind_of_zone kind)
{
	for (size_t i = 0; i < state->zones_count; i++)
		if (state->zones[i].kind == kind)
			return true;
	return kind == FL_MEM_ZONE_NORMAL || kind == FL_MEM_ZONE_MOVABLE; /* every kernel has these */
}

/*
 * Dumps print populated zones only, but lowmem_reserve has an entry for each zone of the kernel: its length tells how
 * many there are. Those that must be added are taken from the likeliest: HighMem on a 32-bit kernel, then DMA, DMA32,
 * Device.
 */
static unsigned int kinds_of_kernel(const struct fl_mem_state *state)
{
	enum fl_mem_kind_of_zone more[4] = { FL_MEM_ZONE_DMA, FL_MEM_ZONE_DMA32, FL_MEM_ZONE_DEVICE, FL_MEM_ZONE_DEVICE };
	unsigned int kinds = 0, count = 0, wanted = 0;

	for (unsigned int kind = FL_MEM_ZONE_DMA; kind <= FL_MEM_ZONE_DEVICE; kind++)
		if (state_has_kind(state, (enum fl_mem_kind_of_zone)kind)) {
			kinds |= 1u << kind;
			count++;
		}
	for (size_t i = 0; i < state->zones_count; i++)
		if (state->zones[i].protection_count > wanted)
			wanted = state->zones[i].protection_count;
	if (state->bits32) {
		more[0] = FL_MEM_ZONE_HIGHMEM;
		more[1] = FL_MEM_ZONE_DMA;
	}
	for (size_t i = 0; i < 4 && count < wanted; i++) {
		if (kinds & 1u << more[i])
			continue;
		kinds |= 1u << more[i];
		count++;
	}
	return kinds;
}

unsigned int fl_arith_zone_index(const struct fl_mem_state *state, enum fl_mem_kind_of_zone kind)
{
	unsigned int kinds = kinds_of_kernel(state);
	unsigned int index = 0;

	for (unsigned int k = FL_MEM_ZONE_DMA; k < (unsigned int)kind; k++)
		index += kinds >> k & 1;
	/* a ceiling that the kernel lacks (no HighMem, no DMA32) falls to the zone below it */
	if (index && !(kinds >> kind & 1))
		index--;
	return index;
}

uint64_t fl_arith_reserve(const struct fl_mem_state *state, const struct fl_mem_zone *zone,
			  enum fl_mem_kind_of_zone ceiling)
{
	unsigned int index = fl_arith_zone_index(state, ceiling);

	if (!zone->protection_count)
		return FL_MEM_NONE;
	if (index >= zone->protection_count)
		index = zone->protection_count - 1;
	return zone->protection[index];
}

/*
 * low - min is max(min/4, a share of the zone) of the mark without the boost: where 4 * (low - min) is clearly less
 * than min, the rest of min is boost. Where the share decides, nothing can be told and 0 comes out.
 */
uint64_t fl_arith_boost(const struct fl_mem_zone *zone)
{
	uint64_t base;

	if (zone->boost != FL_MEM_NONE)
		return zone->boost;
	if (zone->min == FL_MEM_NONE || zone->low == FL_MEM_NONE || zone->high == FL_MEM_NONE || zone->low < zone->min ||
	    zone->high - zone->low != zone->low - zone->min || zone->wrapped)
		return 0;
	base = 4 * (zone->low - zone->min) + 4;
	return base < zone->min && zone->low > zone->min ? zone->min - base + 4 : 0;
}

uint64_t fl_arith_pages(const uint64_t *blocks, unsigned int orders)
{
	uint64_t sum = 0, pages;

	for (unsigned int o = 0; o < orders; o++)
		if (__builtin_mul_overflow(blocks[o], 1ull << o, &pages) || __builtin_add_overflow(sum, pages, &sum))
			return UINT64_MAX - 1;
	return sum;
}

uint64_t fl_arith_blocks(const uint64_t *blocks, unsigned int orders, unsigned int order)
{
	uint64_t sum = 0, part;

	for (unsigned int o = order; o < orders; o++)
		if (__builtin_mul_overflow(blocks[o], 1ull << (o - order), &part) ||
		    __builtin_add_overflow(sum, part, &sum))
			return UINT64_MAX - 1;
	return sum;
}

int fl_arith_unusable_index(const uint64_t *blocks, unsigned int orders, unsigned int order)
{
	unsigned __int128 free = fl_arith_pages(blocks, orders);
	unsigned __int128 large = (unsigned __int128)fl_arith_blocks(blocks, orders, order) << order;

	if (!free)
		return 1000;
	return large > free ? 0 : (int)((free - large) * 1000 / free);
}

int fl_arith_fragmentation_index(const uint64_t *blocks, unsigned int orders, unsigned int order)
{
	unsigned __int128 free = fl_arith_pages(blocks, orders), total = 0, value;

	for (unsigned int o = 0; o < orders; o++)
		total += blocks[o];
	if (!total)
		return 0;
	if (fl_arith_blocks(blocks, orders, order))
		return -1000;
	value = (1000 + free * 1000 / (1ull << order)) / total;
	return 1000 - (int)value; /* less than 0 where a single block is nearly enough, as in the kernel */
}

unsigned int fl_arith_pmd_order(uint32_t page_size)
{
	unsigned int order = 0;

	while ((page_size >> order) > 8)
		order++; /* page_size / 8 entries in a table */
	return order;
}

int fl_arith_order_of(uint64_t bytes, uint32_t page_size)
{
	int order = 0;

	while (order < 52 && (uint64_t)page_size << order < bytes)
		order++;
	return order;
}

bool fl_arith_node_in(const char *list, int node)
{
	const char *p = list;

	if (!*p || *p == '(' || node < 0)
		return true;
	while (*p) {
		char *end;
		long first = strtol(p, &end, 10), last = first;

		if (end == p)
			return true; /* not a list of nodes */
		if (*end == '-')
			last = strtol(end + 1, &end, 10);
		if (node >= first && node <= last)
			return true;
		p = *end == ',' ? end + 1 : end;
		if (*p && (*p < '0' || *p > '9'))
			return true;
	}
	return false;
}

/* --- the watermark test ------------------------------------------------------------------------------------------- */

static uint64_t known(uint64_t value)
{
	return value == FL_MEM_NONE ? 0 : value;
}

static uint64_t highatomic_pages(const struct fl_mem_zone *zone)
{
	return zone->free_highatomic != FL_MEM_NONE ? zone->free_highatomic : known(zone->reserved_highatomic);
}

static uint64_t reduced(uint64_t mark, const struct fl_arith_flags *flags)
{
	if (flags->min_reserve)
		mark -= mark / 2;
	if (flags->harder)
		mark -= mark / 4;
	return mark;
}

/* Roles whose blocks the request may take. */
static uint32_t usable_roles(const struct fl_arith_flags *flags, unsigned int without)
{
	uint32_t roles = 1u << FL_MEM_UNMOVABLE | 1u << FL_MEM_MOVABLE | 1u << FL_MEM_RECLAIMABLE |
			 1u << FL_MEM_ROLE_UNKNOWN;

	if ((flags->cma && !(without & FL_ARITH_WITH_CMA_LOST)) || (without & FL_ARITH_WITHOUT_CMA))
		roles |= 1u << FL_MEM_CMA;
	if (flags->highatomic || (without & FL_ARITH_WITHOUT_HIGHATOMIC))
		roles |= 1u << FL_MEM_HIGHATOMIC;
	return roles;
}

/* Roles of the free blocks at an order: letters of a dump, or rows of pagetypeinfo; ~0 when neither was printed. */
static uint32_t roles_at(const struct fl_mem_state *state, const struct fl_mem_zone *zone, unsigned int order)
{
	uint32_t roles = 0;

	if (zone->has_letters)
		return zone->letters[order] ? zone->letters[order] : ~0u;
	if (!zone->has_type_rows)
		return ~0u;
	for (unsigned int t = 0; t < state->types_count; t++)
		if (zone->type_free[t][order])
			roles |= 1u << state->types[t].role;
	return roles ? roles : ~0u;
}

static void test_lists(const struct fl_mem_state *state, const struct fl_mem_zone *zone,
		       const struct fl_arith_flags *flags, unsigned int order, unsigned int without,
		       struct fl_arith_test *ret)
{
	uint32_t usable = usable_roles(flags, without), seen = 0;

	ret->lists_known = zone->lists_line || zone->orders_count;
	ret->blocks = fl_arith_blocks(zone->free_blocks, zone->orders_count, order);
	for (unsigned int o = order; o < zone->orders_count; o++) {
		if (!zone->free_blocks[o])
			continue;
		seen |= roles_at(state, zone, o);
		if (roles_at(state, zone, o) & usable)
			ret->block_ok = true;
	}
	if (order == 0)
		ret->block_ok = true;
	if (!ret->block_ok && seen && !(seen & ~(1u << FL_MEM_CMA | 1u << FL_MEM_HIGHATOMIC))) {
		ret->only_cma = seen & 1u << FL_MEM_CMA;
		ret->only_highatomic = seen & 1u << FL_MEM_HIGHATOMIC;
	}
}

/* Kernels before 4.4: the pages of smaller orders are taken off and the mark is halved, order by order; CMA counts. */
static bool passes_by_order(const struct fl_mem_zone *zone, int order, struct fl_arith_test *test)
{
	int64_t usable = test->usable + (int64_t)test->cma_pages;
	uint64_t mark = test->mark;

	for (int o = 0; o < order && o < (int)zone->orders_count; o++) {
		usable -= (int64_t)(zone->free_blocks[o] << o);
		mark >>= 1;
		if (usable > (int64_t)mark)
			continue;
		test->by_order_pages = usable > 0 ? (uint64_t)usable : 0;
		test->by_order_mark = mark;
		return false;
	}
	return true;
}

void fl_arith_test(const struct fl_mem_state *state, const struct fl_mem_zone *zone, uint64_t free,
		   const struct fl_arith_flags *flags, int order, unsigned int without, struct fl_arith_test *ret)
{
	uint64_t reserve = fl_arith_reserve(state, zone, flags->ceiling);
	unsigned int o = order < 0 ? 0 : (unsigned int)order;

	memset(ret, 0, sizeof(*ret));
	test_lists(state, zone, flags, o, without, ret);
	ret->known = free != FL_MEM_NONE && zone->min != FL_MEM_NONE && !zone->wrapped && o < 40 && free < 1ull << 50;
	if (!ret->known)
		return;
	ret->free = free;
	ret->order_pages = (1ull << o) - 1;
	if ((!flags->cma || (without & FL_ARITH_WITH_CMA_LOST)) && !(without & FL_ARITH_WITHOUT_CMA))
		ret->cma_pages = known(zone->free_cma);
	if (!flags->use_reserve && !(without & FL_ARITH_WITHOUT_HIGHATOMIC))
		ret->highatomic_pages = highatomic_pages(zone);
	ret->usable = (int64_t)free - (int64_t)(ret->order_pages + ret->cma_pages + ret->highatomic_pages);
	ret->min = zone->min;
	ret->boost = without & FL_ARITH_WITHOUT_BOOST ? 0 : fl_arith_boost(zone);
	if (without & FL_ARITH_WITHOUT_BOOST || flags->skip_boost) {
		uint64_t boost = fl_arith_boost(zone);

		ret->min = boost < zone->min ? zone->min - boost : 0;
		ret->boost = 0;
	}
	ret->mark = flags->no_marks ? 0 : reduced(ret->min, flags);
	ret->reserve = without & FL_ARITH_WITHOUT_RESERVE || flags->no_marks ? 0 : known(reserve);
	ret->pages_ok = ret->usable > (int64_t)(ret->mark + ret->reserve);
	if (ret->pages_ok && flags->by_order && order > 0)
		ret->by_order_failed = !passes_by_order(zone, order, ret);
	ret->ok = ret->pages_ok && !ret->by_order_failed && (ret->block_ok || !ret->lists_known);
}
