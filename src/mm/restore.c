/*
 * mm/restore.c - fills a booted machine with the content of a snapshot. Mirrors no kernel file.
 *
 * Pages are put where they were by offering them alone: all memory is off the lists; the pages of one class are freed and the
 * ordinary paths of the model (fault, read, slab) take them; what is left is taken back, and the next class follows. So every
 * page has its owner, table entry and LRU list as if it had come there in the usual way.
 */
#include "mm/restore.h"

#include <string.h>

#include "base/text.h"
#include "mm/buddy.h"
#include "mm/dcache.h"
#include "mm/filemap.h"
#include "mm/huge_memory.h"
#include "mm/mm_internal.h"
#include "mm/mmap.h"
#include "mm/pageblock.h"
#include "mm/pcp.h"
#include "mm/slab.h"
#include "mm/swap.h"
#include "mm/watermark.h"

#define CLASS(name) (1u << FL_CENSUS_##name)
#define NEVER_MANAGED (CLASS(RESERVED) | CLASS(NOT_MANAGED) | CLASS(HOLE))
#define UNMOVABLE (CLASS(PGTABLE) | CLASS(SLAB) | CLASS(KERNEL) | CLASS(HUGETLB) | CLASS(DRIVER))
#define ANY_TYPE UINT32_MAX
#define ANY_ORDER UINT32_MAX

struct restore {
	struct fl_mem *mem;
	const struct fl_layout *layout;
	struct fl_task task;
	struct fl_caller who;
	struct fl_mm *mm; /* the host's */
	uint64_t pages[FL_CENSUS_CLASSES];                      /* single ones */
	uint64_t folios[FL_CENSUS_CLASSES][FL_LAYOUT_ORDERS]; /* pages in folios of each order above 0 */
	fl_pfn *deposit; /* tables for huge pages */
	uint32_t deposits;
};

/* Mappings of the host. */
struct places {
	fl_vpn small, folios, locked, huge;
};

static uint64_t pages_in_folios(const struct restore *r)
{
	uint64_t pages = 0;

	for (unsigned int order = 2; order < r->mem->pmd_order; order++)
		pages += r->folios[FL_CENSUS_ANON][order];
	return pages;
}

static unsigned int class_at(const struct restore *r, fl_pfn pfn)
{
	return fl_layout_page(r->layout, pfn);
}

/* ---- pages on and off the lists ---- */

/* Everything free leaves the lists, those of CPUs too. */
static void take_back(struct restore *r)
{
	struct fl_mem *mem = r->mem;

	fl_lru_add_drain_all(mem, &r->who);
	fl_pcp_drain_all(mem, &r->who, NULL);
	for (unsigned int z = 0; z < FL_ZONES; z++) {
		struct fl_zone *zone = &mem->zone[z];

		for (unsigned int type = 0; type < FL_MIGRATETYPES; type++)
			for (unsigned int order = 0; order <= mem->max_order; order++) {
				uint32_t head = fl_free_list(zone, type, order);

				while (!fl_list_empty(&mem->frames, head))
					fl_del_from_free_list(mem, zone, fl_list_first(&mem->frames, head), order, type);
			}
		zone->watermark_boost = 0;
		zone->flags = 0;
	}
}

static uint64_t pages_free(const struct restore *r)
{
	uint64_t pages = 0;

	for (unsigned int z = 0; z < FL_ZONES; z++)
		pages += (uint64_t)r->mem->zone[z].nr_free_pages + fl_pcp_pages(r->mem, &r->mem->zone[z]);
	return pages;
}

/* While nothing is free, a type is only a word. */
static void type_all(struct restore *r, unsigned int type)
{
	for (uint32_t b = 0; b < r->mem->pageblocks; b++)
		fl_pageblock_set_type(r->mem, b << r->mem->pageblock_order, type);
}

/* Frees the pages of these classes that nobody has yet; only those in pageblocks of one type and in folios of one order, or ANY_. */
static void offer_some(struct restore *r, uint32_t classes, uint32_t block_type, uint32_t order)
{
	struct fl_mem *mem = r->mem;

	for (unsigned int z = 0; z < FL_ZONES; z++) {
		struct fl_zone *zone = &mem->zone[z];
		fl_pfn pfn = zone->start;

		while (pfn < zone->end) {
			uint32_t state = mem->frames.state[pfn];

			if (fl_state_kind(state) > FL_KIND_HOLE && fl_state_kind(state) != FL_KIND_BUDDY) {
				pfn += 1u << fl_state_order(state);
				continue;
			}
			if (classes >> class_at(r, pfn) & 1 &&
			    (block_type == ANY_TYPE || *fl_layout_type(r->layout, pfn) == block_type) &&
			    (order == ANY_ORDER || fl_layout_order(r->layout, pfn) == order))
				fl_free_to_buddy(mem, &r->who, zone, pfn, 0, true);
			pfn++;
		}
	}
}

static void offer(struct restore *r, uint32_t classes, uint32_t block_type)
{
	offer_some(r, classes, block_type, ANY_ORDER);
}

/* ---- the kinds of content ---- */

static fl_vpn map(struct restore *r, uint64_t pages, uint32_t flags)
{
	uint32_t step = 1u << r->mem->pmd_order;
	struct fl_map_request request = { .pages = ((uint32_t)pages + step - 1) / step * step, .flags = flags,
					  .type = FL_VMA_ANON, .align = step };

	return pages ? fl_mmap(r->mem, &r->who, r->mm, &request) : FL_VPN_NONE;
}

static void make_ranges(struct restore *r, fl_vpn start, uint64_t ranges)
{
	uint32_t step = 1u << r->mem->pmd_order;

	for (uint64_t i = 0; start != FL_VPN_NONE && i < ranges; i++)
		if (!fl_pte_alloc(r->mem, &r->who, r->mm, start + (fl_vpn)(i * step)))
			return;
}

static void make_deposits(struct restore *r, fl_vpn start)
{
	uint64_t count = start == FL_VPN_NONE ? 0 : r->pages[FL_CENSUS_HUGE] >> r->mem->pmd_order;

	r->deposit = fl_xcalloc(count + 1, sizeof(*r->deposit));
	for (uint32_t i = 0; i < count && fl_pmd_alloc(r->mem, &r->who, r->mm, start + (i << r->mem->pmd_order)); i++) {
		r->deposit[i] = fl_pte_alloc_one(r->mem, &r->who);
		if (r->deposit[i] == FL_PFN_NONE)
			return;
		r->deposits = i + 1;
	}
}

/* Page tables of the host: to deposit under its huge pages, for its locked pages, for the small ones, and then just so many. */
static void make_tables(struct restore *r, const struct places *at)
{
	uint64_t step = UINT64_C(1) << r->mem->pmd_order;

	type_all(r, FL_UNMOVABLE);
	offer(r, CLASS(PGTABLE), ANY_TYPE);
	make_deposits(r, at->huge);
	make_ranges(r, at->locked, (r->pages[FL_CENSUS_MLOCKED] + step - 1) / step);
	make_ranges(r, at->folios, (pages_in_folios(r) + step - 1) / step);
	make_ranges(r, at->small, r->pages[FL_CENSUS_PGTABLE]);
	take_back(r);
}

static void touch(struct restore *r, fl_vpn start, uint64_t pages)
{
	for (uint64_t i = 0; i < pages && pages_free(r); i++)
		if (fl_access(r->mem, &r->who, r->mm, start + (fl_vpn)i, true, NULL) != FL_FAULT_DONE)
			return;
}

/* As a fault maps them (do_huge_pmd_anonymous_page), with the deposits that make_tables() put aside. */
static void make_huge(struct restore *r, fl_vpn start)
{
	const fl_gfp gfp = (FL_GFP_HIGHUSER_MOVABLE | FL_GFP_COMP | FL_GFP_NOWARN) & ~FL_GFP_RECLAIM;
	unsigned int order = r->mem->pmd_order;

	type_all(r, FL_MOVABLE);
	offer(r, CLASS(HUGE), ANY_TYPE);
	for (uint32_t i = 0; i < r->deposits; i++) {
		fl_vpn vpn = start + (i << order);
		fl_pfn pfn = fl_page_alloc(r->mem, &r->who, gfp, order, FL_KIND_ANON);

		if (pfn == FL_PFN_NONE) {
			fl_page_free(r->mem, &r->who, r->deposit[i], 0);
			continue;
		}
		fl_pmd_set_huge(r->mem, r->mm, vpn, pfn, r->deposit[i]);
		r->mem->frames.state[pfn] |= FL_PMD_MAPPED;
		fl_folio_map_new_anon(r->mem, &r->who, r->mm, pfn, vpn, FL_VM_HUGEPAGE);
		fl_deferred_split_folio(r->mem, pfn, false);
	}
	take_back(r);
}

static void make_small(struct restore *r, uint32_t class, fl_vpn start, uint64_t pages)
{
	if (start == FL_VPN_NONE)
		return;
	type_all(r, FL_MOVABLE);
	offer_some(r, class, ANY_TYPE, class == CLASS(MLOCKED) ? ANY_ORDER : 0);
	touch(r, start, pages);
	take_back(r);
}

/* Anonymous folios of one size, by faults while only that size is on. */
static void make_folios(struct restore *r, fl_vpn *start, unsigned int order)
{
	struct fl_settings *set = &r->mem->set;
	uint32_t old[FL_MAX_ORDERS];
	uint64_t pages = r->folios[FL_CENSUS_ANON][order];

	memcpy(old, set->thp_size, sizeof(old));
	memset(set->thp_size, 0, sizeof(set->thp_size));
	set->thp_size[order] = FL_THP_SIZE_ALWAYS;
	type_all(r, FL_MOVABLE);
	offer_some(r, CLASS(ANON), ANY_TYPE, order);
	for (uint64_t i = 0; i < pages && pages_free(r) >= 1u << order; i += 1u << order)
		if (fl_access(r->mem, &r->who, r->mm, *start + (fl_vpn)i, true, NULL) != FL_FAULT_DONE)
			break;
	take_back(r);
	memcpy(set->thp_size, old, sizeof(old));
	*start += (fl_vpn)pages;
}

/* From large to small, so that each begins at a multiple of its size. */
static void make_all_folios(struct restore *r, fl_vpn start)
{
	for (unsigned int order = r->mem->pmd_order - 1; order >= 2 && start != FL_VPN_NONE; order--)
		if (r->folios[FL_CENSUS_ANON][order])
			make_folios(r, &start, order);
}

static void make_file(struct restore *r)
{
	uint64_t pages = r->pages[FL_CENSUS_FILE], large = 0, at = 0;
	fl_mapping_id id;

	for (unsigned int order = 1; order <= r->mem->pmd_order; order++)
		large += r->folios[FL_CENSUS_FILE][order];
	if (!pages && !large)
		return;
	id = fl_file_create(r->mem, FL_MAPPING_REGULAR, NULL, (uint32_t)(pages + large));
	type_all(r, FL_MOVABLE);
	for (unsigned int order = r->mem->pmd_order; order > 0; order--) {
		uint64_t end = at + r->folios[FL_CENSUS_FILE][order];

		if (at == end)
			continue;
		offer_some(r, CLASS(FILE), ANY_TYPE, order);
		for (; at < end && fl_filemap_add_folio(r->mem, &r->who, id, (uint32_t)at, order); at += 1u << order)
			;
		at = end;
		take_back(r);
		type_all(r, FL_MOVABLE);
	}
	offer_some(r, CLASS(FILE), ANY_TYPE, 0);
	fl_file_read(r->mem, &r->who, id, (uint32_t)at, (uint32_t)pages);
	take_back(r);
}

static void make_slab(struct restore *r)
{
	type_all(r, FL_RECLAIMABLE);
	offer(r, CLASS(SLAB), FL_CENSUS_RECLAIMABLE);
	while (pages_free(r) && fl_dentry_create(r->mem, &r->who, FL_FS_EXT4) != UINT32_MAX)
		;
	take_back(r);
	type_all(r, FL_UNMOVABLE);
	offer(r, CLASS(SLAB), ANY_TYPE);
	while (pages_free(r) && fl_slab_alloc(r->mem, &r->who, FL_SLAB_kmalloc_cg_4k, FL_GFP_KERNEL) != FL_OBJECT_NONE)
		;
	take_back(r);
}

/* Whatever is left, as pages of the kernel. */
static void make_kernel(struct restore *r)
{
	const fl_gfp gfp = (FL_GFP_HIGHUSER_MOVABLE | FL_GFP_NOWARN) & ~FL_GFP_RECLAIM;

	type_all(r, FL_MOVABLE);
	offer(r, ~(NEVER_MANAGED | CLASS(FREE) | CLASS(PCP)), ANY_TYPE);
	while (fl_page_alloc(r->mem, &r->who, gfp, 0, FL_KIND_KERNEL) != FL_PFN_NONE)
		;
	FL_ASSERT_MSG(!pages_free(r), "every page of the snapshot has an owner");
	take_back(r);
}

/* ---- the frame around it ---- */

static void count_pages(struct restore *r)
{
	for (uint64_t i = 0; i < r->layout->pages; i++) {
		unsigned int class = r->layout->page[i], order = r->layout->order[i];

		if (order && order < FL_LAYOUT_ORDERS && class != FL_CENSUS_MLOCKED)
			r->folios[class][order]++;
		else
			r->pages[class]++;
	}
}

/* What is not managed leaves for good. */
static void mark_reserved(struct restore *r)
{
	for (unsigned int z = 0; z < FL_ZONES; z++) {
		struct fl_zone *zone = &r->mem->zone[z];

		zone->managed = 0;
		for (fl_pfn pfn = zone->start; pfn < zone->end; pfn++) {
			unsigned int class = class_at(r, pfn);

			if (class == FL_CENSUS_HOLE || class == FL_CENSUS_NOT_MANAGED)
				r->mem->frames.state[pfn] = 0; /* no struct page yet: scanners pass it by */
			else if (NEVER_MANAGED >> class & 1)
				r->mem->frames.state[pfn] = fl_state(FL_KIND_RESERVED, 0);
			else
				zone->managed++;
		}
		zone->present = (uint32_t)r->layout->zone[z].present;
	}
}

/* No marks in the way of the last page, and no per-CPU list that takes more than was asked for. */
static void open_marks(struct restore *r)
{
	for (unsigned int z = 0; z < FL_ZONES; z++) {
		struct fl_zone *zone = &r->mem->zone[z];

		memset(zone->wmark, 0, sizeof(zone->wmark));
		memset(zone->lowmem_reserve, 0, sizeof(zone->lowmem_reserve));
		for (unsigned int cpu = 0; zone->pcp && cpu < r->mem->cpus; cpu++) {
			zone->pcp[cpu].batch = 1;
			zone->pcp[cpu].high = zone->pcp[cpu].high_min = zone->pcp[cpu].high_max = 1;
		}
	}
}

static void reset_pcp(struct restore *r)
{
	for (unsigned int z = 0; z < FL_ZONES; z++)
		for (unsigned int cpu = 0; r->mem->zone[z].pcp && cpu < r->mem->cpus; cpu++) {
			struct fl_pcp *pcp = &r->mem->zone[z].pcp[cpu];

			pcp->high = pcp->free_count = 0;
			pcp->alloc_factor = 0;
			pcp->prev_free_high_order = false;
		}
}

/* An address space with room for everything, made on pages that are unmovable anyhow. */
static void make_host(struct restore *r, struct places *at)
{
	uint64_t room = r->pages[FL_CENSUS_PGTABLE] << r->mem->pmd_order;

	type_all(r, FL_UNMOVABLE);
	offer(r, UNMOVABLE, ANY_TYPE);
	r->mm = fl_mm_new(r->mem, &r->who);
	if (r->mm) {
		at->small = map(r, room > r->pages[FL_CENSUS_ANON] ? room : r->pages[FL_CENSUS_ANON], FL_VM_NOHUGEPAGE);
		at->folios = map(r, pages_in_folios(r), 0);
		at->locked = map(r, r->pages[FL_CENSUS_MLOCKED], FL_VM_NOHUGEPAGE | FL_VM_LOCKED);
		at->huge = map(r, r->pages[FL_CENSUS_HUGE], FL_VM_HUGEPAGE);
		if (at->huge != FL_VPN_NONE)
			fl_anon_vma_prepare(r->mem, &r->who, r->mm, at->huge);
	}
	take_back(r);
}

static void make_content(struct restore *r)
{
	struct places at = { FL_VPN_NONE, FL_VPN_NONE, FL_VPN_NONE, FL_VPN_NONE };

	make_host(r, &at);
	make_tables(r, &at);
	make_huge(r, at.huge);
	make_all_folios(r, at.folios);
	make_small(r, CLASS(ANON), at.small, r->pages[FL_CENSUS_ANON]);
	make_small(r, CLASS(MLOCKED), at.locked, r->pages[FL_CENSUS_MLOCKED]);
	make_file(r);
	make_slab(r);
	make_kernel(r);
}

static unsigned int type_of(unsigned int census)
{
	static const uint8_t types[FL_CENSUS_TYPES] = {
		[FL_CENSUS_UNMOVABLE] = FL_UNMOVABLE,	  [FL_CENSUS_MOVABLE] = FL_MOVABLE,
		[FL_CENSUS_RECLAIMABLE] = FL_RECLAIMABLE, [FL_CENSUS_HIGHATOMIC] = FL_HIGHATOMIC,
		[FL_CENSUS_CMA] = FL_MOVABLE,		  [FL_CENSUS_ISOLATE] = FL_MOVABLE,
		[FL_CENSUS_TYPE_UNKNOWN] = FL_MOVABLE,
	};

	return types[census];
}

static void set_types(struct restore *r)
{
	type_all(r, FL_MOVABLE);
	for (uint64_t at = 0; at < r->layout->pages; at += fl_pageblock_pages(r->mem)) {
		fl_pfn pfn = (fl_pfn)(r->layout->first_pfn + at);
		unsigned int type = type_of(*fl_layout_type(r->layout, pfn));
		unsigned int zone = fl_layout_zone_of(r->layout, pfn);

		fl_pageblock_set_type(r->mem, pfn, type);
		if (type == FL_HIGHATOMIC && zone < FL_ZONES)
			r->mem->zone[zone].nr_reserved_highatomic += fl_pageblock_pages(r->mem);
	}
}

/* Pages on per-CPU lists, dealt to the CPUs in turn. */
static void fill_pcp(struct restore *r, struct fl_zone *zone, fl_pfn pfn, unsigned int *cpu)
{
	struct fl_pcp *pcp = &zone->pcp[*cpu];
	unsigned int type = fl_pageblock_type(r->mem, pfn);

	r->mem->frames.state[pfn] = fl_state(FL_KIND_PCP, 0);
	fl_pcp_ring_push_front(&pcp->list[fl_pcp_list_index(0, type < FL_PCPTYPES ? type : FL_MOVABLE)], pfn);
	pcp->count++;
	*cpu = (*cpu + 1) % r->mem->cpus;
}

static void fill_free(struct restore *r)
{
	for (unsigned int z = 0; z < FL_ZONES; z++) {
		struct fl_zone *zone = &r->mem->zone[z];
		unsigned int order, cpu = 0;

		for (fl_pfn pfn = zone->start; pfn < zone->end; pfn += 1u << order) {
			order = 0;
			if (class_at(r, pfn) == FL_CENSUS_PCP) {
				fill_pcp(r, zone, pfn, &cpu);
			} else if (class_at(r, pfn) == FL_CENSUS_FREE) {
				order = fl_layout_chunk(r->layout, pfn);
				fl_free_to_buddy(r->mem, &r->who, zone, pfn, order, true);
			}
		}
	}
}

static void size_pcp(struct fl_mem *mem, struct fl_zone *zone, const struct fl_layout_zone *from)
{
	for (unsigned int cpu = 0; zone->pcp && cpu < mem->cpus; cpu++) {
		struct fl_pcp *pcp = &zone->pcp[cpu];

		pcp->batch = (int)from->batch;
		pcp->high_min = (int)from->high_min;
		pcp->high_max = (int)from->high_max;
		if (pcp->high < pcp->count)
			pcp->high = pcp->count;
	}
}

static void set_marks(struct restore *r)
{
	struct fl_mem *mem = r->mem;

	fl_setup_per_zone_wmarks(mem);
	for (unsigned int z = 0; z < FL_ZONES; z++) {
		const struct fl_layout_zone *from = &r->layout->zone[z];
		struct fl_zone *zone = &mem->zone[z];

		if (from->high_max && mem->cpus == r->layout->cpus)
			size_pcp(mem, zone, from);
		if (!from->has_marks)
			continue;
		zone->wmark[FL_WMARK_MIN] = from->min;
		zone->wmark[FL_WMARK_LOW] = from->low;
		zone->wmark[FL_WMARK_HIGH] = from->high;
		zone->wmark[FL_WMARK_PROMO] = from->promo;
		zone->watermark_boost = from->boost;
		for (unsigned int i = 0; i < FL_ZONES; i++)
			zone->lowmem_reserve[i] = from->protection[i];
	}
}

void fl_mem_restore(struct fl_mem *mem, const struct fl_layout *layout)
{
	struct restore r = { .mem = mem, .layout = layout, .task = { .name = "host" } };
	uint64_t mask = mem->trace.mask;

	r.who = (struct fl_caller){ .task = &r.task, .flags = FL_PF_MEMALLOC };
	mem->trace.mask = 0;
	if (layout->page) {
		count_pages(&r);
		take_back(&r);
		mark_reserved(&r);
		open_marks(&r);
		make_content(&r);
		reset_pcp(&r);
		set_types(&r);
		fill_free(&r);
	}
	set_marks(&r);
	fl_xfree(r.deposit);
	mem->trace.mask = mask;
}
