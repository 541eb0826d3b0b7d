/*
 * tests/mm/compact_rig.h - a machine laid out page by page, for tests of compaction.
 *
 * All memory is first taken as unmovable order-0 pages; then single pages become free (on the buddy lists) or movable
 * folios that an address space maps. Watermarks are set low, so that only tests of watermarks meet them.
 */
#ifndef FL_TESTS_MM_COMPACT_RIG_H
#define FL_TESTS_MM_COMPACT_RIG_H

#include "fixture.h"

#include "mm/compact_control.h"
#include "mm/huge_memory.h"
#include "mm/memory.h"
#include "mm/mmap.h"
#include "mm/swap.h"
#include "mm/vmscan.h"

#define RIG_OTHER_BLOCKS 2

struct rig {
	struct fixture f;
	struct fl_mem *mem;
	struct fl_zone *zone;
	struct fl_caller *who;
	struct fl_mm *mm; /* maps every movable page of a test */
	fl_vpn base;      /* page at base + pfn is where that frame is mapped first */
};

static inline unsigned int rig_kind(const struct rig *r, fl_pfn pfn)
{
	return fl_state_kind(r->mem->frames.state[pfn]);
}

static inline void rig_set_marks(struct fl_zone *zone, uint64_t min, uint64_t low, uint64_t high)
{
	zone->wmark[FL_WMARK_MIN] = min;
	zone->wmark[FL_WMARK_LOW] = low;
	zone->wmark[FL_WMARK_HIGH] = zone->wmark[FL_WMARK_PROMO] = high;
}

/* The address space: one mapping as large as the zone, with all its tables. */
static inline void rig_map(struct rig *r)
{
	fl_vpn at;

	r->mm = fl_mm_new(r->mem, r->who);
	assert_non_null(r->mm);
	at = fl_mmap(r->mem, r->who, r->mm, &(struct fl_map_request){
		.pages = r->zone->end, .flags = FL_VM_NOHUGEPAGE, .align = 1u << r->mem->max_order });
	assert_int_not_equal(at, FL_VPN_NONE);
	r->base = at;
	for (fl_pfn pfn = 0; pfn < r->zone->end; pfn += 1u << r->mem->pmd_order)
		assert_true(fl_pte_alloc(r->mem, r->who, r->mm, at + pfn));
}

/* Takes every free page of a zone. */
static inline void rig_take_all(struct rig *r, struct fl_zone *zone)
{
	enum fl_rmqueue_mode mode = FL_RMQUEUE_NORMAL;
	fl_pfn pfn;

	while ((pfn = fl_rmqueue(r->mem, r->who, zone, 0, FL_MOVABLE, 0, &mode)) != FL_PFN_NONE)
		fl_page_prep(r->mem, pfn, 0, FL_KIND_KERNEL);
}

/*
 * A machine of `blocks` pageblocks in zone Normal, from pfn 0, without a free page. Tables and slab are in a zone of
 * their own behind it, DMA32, which is full then: compaction finds nothing to do there.
 */
static inline void rig_boot(struct rig *r, const char *kernel, unsigned int blocks)
{
	fl_pfn border = blocks * 512, end = border + RIG_OTHER_BLOCKS * 512;
	struct fl_zone *other;

	fixture_geometry(&r->f, 0, blocks, 1);
	r->f.geometry.zone[FL_ZONE_DMA32] = (struct fl_pfn_range){ border, end };
	r->f.geometry.ranges[0].end = end;
	fixture_boot(&r->f, kernel);
	r->mem = r->f.mem;
	r->zone = fixture_zone(&r->f);
	r->who = &r->f.who;
	other = &r->mem->zone[FL_ZONE_DMA32];
	other->lowmem_reserve[FL_ZONE_NORMAL] = 0;
	rig_set_marks(r->zone, 0, 0, 0);
	rig_set_marks(other, 0, 0, 0);
	rig_take_all(r, r->zone);
	rig_map(r);
	fl_pcp_drain_all(r->mem, r->who, NULL);
	rig_take_all(r, other);
}

static inline void rig_done(struct rig *r)
{
	fl_lru_add_drain(r->mem, r->who);
	fl_mem_check(r->mem);
	fl_mm_exit(r->mem, r->who, r->mm);
	fixture_done(&r->f);
}

/* Frees [pfn, pfn + count): chunks as large as alignment allows. */
static inline void rig_free(struct rig *r, fl_pfn pfn, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		give_buddy(&r->f, pfn + i, 0);
}

/* Free pages that are no targets (block 2 becomes Unmovable), so that the watermark test of taking one never bites. */
static inline void rig_spare(struct rig *r)
{
	fl_pageblock_set_type(r->mem, 1024, FL_UNMOVABLE);
	rig_free(r, 1024, 256);
}

/* An anonymous folio that one address space maps, on the inactive list. */
static inline void rig_movable(struct rig *r, fl_pfn pfn, unsigned int order)
{
	fl_vpn vpn = r->base + pfn;

	for (unsigned int i = 0; i < 1u << order; i++) {
		assert_int_equal(rig_kind(r, pfn + i), FL_KIND_KERNEL);
		fl_page_set_kind(r->mem, pfn + i, FL_KIND_ANON);
		r->mem->frames.state[pfn + i] = 0;
	}
	fl_page_prep(r->mem, pfn, order, FL_KIND_ANON);
	fl_folio_map_new_anon(r->mem, r->who, r->mm, pfn, vpn, FL_VM_NOHUGEPAGE);
	for (unsigned int i = 0; i < 1u << order; i++)
		fl_pte_set(r->mem, r->mm, vpn + i, fl_pte_of_pfn(pfn + i));
	fl_lru_add_drain(r->mem, r->who);
}

static inline void rig_movable_range(struct rig *r, fl_pfn pfn, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		rig_movable(r, pfn + i, 0);
}

static inline uint64_t rig_count(const struct rig *r, enum fl_vm_event event)
{
	return r->mem->vm[event];
}

/* Pages of a range that are on buddy lists / movable and on a list of the LRU. */
static inline unsigned int rig_free_pages(const struct rig *r, fl_pfn start, unsigned int count)
{
	unsigned int pages = 0;

	for (fl_pfn pfn = start; pfn < start + count; pfn++) {
		uint32_t state = r->mem->frames.state[pfn];

		if (fl_state_kind(state) == FL_KIND_BUDDY)
			pages += 1u << fl_state_order(state);
	}
	return pages;
}

/* A request as the slow path hands it to compaction. */
static inline struct fl_alloc_context rig_request(fl_gfp gfp, unsigned int order)
{
	return (struct fl_alloc_context){
		.gfp = gfp,
		.order = order,
		.type = fl_gfp_migratetype(gfp),
		.ceiling = FL_ZONE_NORMAL,
		.preferred = FL_ZONE_NORMAL,
		.kind = gfp & FL_GFP_MOVABLE_BIT ? FL_KIND_ANON : FL_KIND_KERNEL,
	};
}

/* A control with both scanners at the ends of the zone, lists empty. */
static inline struct fl_compact_control rig_control(const struct rig *r, int order, enum fl_migrate_mode mode)
{
	struct fl_compact_control cc = {
		.zone = r->zone,
		.gfp = FL_GFP_HIGHUSER_MOVABLE,
		.order = order,
		.search_order = order,
		.migratetype = FL_MOVABLE,
		.highest_zoneidx = FL_ZONE_NORMAL,
		.mode = mode,
		.migrate_pfn = r->zone->start,
		.free_pfn = fl_pageblock_start(r->mem, r->zone->end - 1),
		.migratepages = FL_PFN_LIST_EMPTY,
	};

	for (unsigned int o = 0; o < FL_MAX_ORDERS; o++)
		fl_pfn_list_init(&cc.freepages[o]);
	return cc;
}

/* Ends what a test did with a control of its own: everything goes back. */
static inline void rig_control_done(struct rig *r, struct fl_compact_control *cc)
{
	fl_putback_movable_pages(r->mem, r->who, &cc->migratepages);
	fl_release_free_list(r->mem, r->who, cc);
	fl_lru_add_drain(r->mem, r->who);
}

#endif
