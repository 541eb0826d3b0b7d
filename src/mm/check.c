/*
 * mm/check.c - the full-state check of the allocator (allocator.md 11). Reads everything, changes nothing.
 */
#include "mm/check.h"

#include "base/text.h"
#include "mm/buddy.h"
#include "mm/pcp.h"
#include "mm/proc.h"
#include "mm/vmscan.h"

/* What a walk over frames finds, to be held against the counts. */
struct found {
	uint64_t buddy_pages[FL_ZONES], pcp_pages[FL_ZONES], blocks_pages[FL_ZONES];
	uint32_t chunks[FL_ZONES][FL_MIGRATETYPES][FL_MAX_ORDERS];
	struct fl_pageblock *block;
};

static void add_to_blocks(const struct fl_mem *mem, struct fl_pageblock *blocks, fl_pfn pfn, unsigned int order,
			  size_t member)
{
	for (uint32_t done = 0, pages = 1u << order; done < pages;) {
		fl_pfn at = pfn + done;
		uint32_t left = fl_pageblock_pages(mem) - (at & (fl_pageblock_pages(mem) - 1));
		uint32_t n = left < pages - done ? left : pages - done;
		uint16_t *count = (uint16_t *)((char *)&blocks[at >> mem->pageblock_order] + member);

		*count = (uint16_t)(*count + n);
		done += n;
	}
}

/* A free chunk: its list's type is the type of all its blocks, and it has no free buddy. */
static void check_chunk(struct fl_mem *mem, struct found *found, fl_pfn pfn, unsigned int order)
{
	struct fl_zone *zone = fl_zone_of(mem, pfn);
	unsigned int type = fl_pageblock_type(mem, pfn);
	fl_pfn buddy = pfn ^ 1u << order;

	FL_ASSERT(pfn + (1u << order) <= zone->end);
	for (fl_pfn at = pfn; at < pfn + (1u << order); at += fl_pageblock_pages(mem))
		FL_ASSERT_MSG(fl_pageblock_type(mem, at) == type, "all pageblocks of a free chunk have one type");
	/* Whole pageblocks may lie beside each other unmerged: types may forbid it, and retyping them does not merge. */
	if (order < mem->pageblock_order && buddy - zone->start < zone->spanned)
		FL_ASSERT_MSG(mem->frames.state[buddy] != fl_state(FL_KIND_BUDDY, order),
			      "two free buddies of equal order are merged");
	found->chunks[zone->index][type][order]++;
	found->buddy_pages[zone->index] += 1u << order;
	if (order >= mem->pageblock_order && type != FL_ISOLATE)
		found->blocks_pages[zone->index] += 1u << order;
}

static void check_frames(struct fl_mem *mem, struct found *found)
{
	fl_pfn pfn = 0;

	while (pfn < mem->frames.count) {
		uint32_t state = mem->frames.state[pfn];
		unsigned int kind = fl_state_kind(state), order = fl_state_order(state);

		if (kind == FL_KIND_INTERIOR) { /* no memory here */
			pfn++;
			continue;
		}
		FL_ASSERT(kind < FL_KINDS && kind != FL_KIND_LISTHEAD);
		FL_ASSERT_MSG((pfn & ((1u << order) - 1)) == 0, "a head is aligned to its order");
		for (uint32_t i = 1; i < 1u << order; i++)
			FL_ASSERT_MSG(mem->frames.state[pfn + i] == 0, "frames behind a head are interior");
		if (kind == FL_KIND_BUDDY) {
			check_chunk(mem, found, pfn, order);
			add_to_blocks(mem, found->block, pfn, order, offsetof(struct fl_pageblock, free));
		} else if (kind == FL_KIND_PCP) {
			found->pcp_pages[fl_zone_of(mem, pfn)->index] += 1u << order;
		} else if (fl_kind_is_unmovable(kind)) {
			add_to_blocks(mem, found->block, pfn, order, offsetof(struct fl_pageblock, unmovable));
		}
		if (state & FL_LRU)
			add_to_blocks(mem, found->block, pfn, order, offsetof(struct fl_pageblock, lru));
		if (fl_kind_is_allocated(kind))
			FL_ASSERT_MSG(mem->frames.record[pfn].refcount > 0, "an allocated page has a reference");
		pfn += 1u << order;
	}
}

static void check_blocks(struct fl_mem *mem, const struct found *found)
{
	for (uint32_t b = 0; b < mem->pageblocks; b++) {
		FL_ASSERT(mem->pageblock[b].type < FL_ISOLATE);
		FL_ASSERT_MSG(mem->pageblock[b].free == found->block[b].free, "free pages of a pageblock");
		FL_ASSERT_MSG(mem->pageblock[b].unmovable == found->block[b].unmovable,
			      "unmovable pages of a pageblock");
		FL_ASSERT_MSG(mem->pageblock[b].lru == found->block[b].lru, "LRU pages of a pageblock");
	}
}

/* Lists against frames, and the length and links of each list. */
static void check_lists(struct fl_mem *mem, const struct fl_zone *zone, const struct found *found)
{
	for (unsigned int order = 0; order < FL_MAX_ORDERS; order++) {
		uint32_t all = 0;

		for (unsigned int type = 0; type < FL_MIGRATETYPES; type++) {
			uint32_t head = fl_free_list(zone, type, order), n = 0;

			for (uint32_t at = fl_list_first(&mem->frames, head); at != head;
			     at = mem->frames.record[at].next, n++) {
				FL_ASSERT(mem->frames.state[at] == fl_state(FL_KIND_BUDDY, order));
				FL_ASSERT(mem->frames.record[mem->frames.record[at].next].prev == at);
				FL_ASSERT_MSG(fl_pageblock_type(mem, at) == type, "a chunk is on its block's list");
			}
			FL_ASSERT(n == found->chunks[zone->index][type][order]);
			FL_ASSERT_MSG((n > 0) == (zone->nonempty[type] >> order & 1), "mask of nonempty lists");
			all += n;
		}
		FL_ASSERT(all == zone->nr_free[order]);
	}
}

static void check_zone(struct fl_mem *mem, const struct fl_zone *zone, const struct found *found)
{
	const uint32_t(*chunks)[FL_MAX_ORDERS] = found->chunks[zone->index];
	long isolated = 0, highatomic = 0, free_pages, pcp = 0;
	bool guards = mem->guard_minorder > 0; /* the counts may lag behind the lists (guard-accounting) */

	for (unsigned int order = 0; order < FL_MAX_ORDERS; order++) {
		isolated += (long)chunks[FL_ISOLATE][order] << order;
		highatomic += (long)chunks[FL_HIGHATOMIC][order] << order;
	}
	free_pages = (long)found->buddy_pages[zone->index] - isolated;
	if (guards)
		FL_ASSERT(zone->nr_free_pages <= free_pages);
	else
		FL_ASSERT_MSG(zone->nr_free_pages == free_pages, "NR_FREE_PAGES is what the lists hold");
	FL_ASSERT(guards || zone->nr_isolated_free == isolated);
	FL_ASSERT(guards || zone->nr_free_highatomic == highatomic);
	FL_ASSERT((uint64_t)zone->nr_free_pages_blocks == found->blocks_pages[zone->index]);
	for (unsigned int cpu = 0; zone->pcp && cpu < mem->cpus; cpu++) {
		long pages = 0;

		for (unsigned int i = 0; i < FL_PCP_LISTS; i++)
			for (uint32_t n = 0; n < zone->pcp[cpu].list[i].count; n++) {
				const struct fl_pcp_list *list = &zone->pcp[cpu].list[i];
				uint32_t state = mem->frames.state[list->ring[(list->head + n) & (list->slots - 1)]];

				FL_ASSERT(fl_state_kind(state) == FL_KIND_PCP);
				pages += 1L << fl_state_order(state);
			}
		FL_ASSERT_MSG(zone->pcp[cpu].count == pages, "count of a per-CPU list");
		pcp += pages;
	}
	FL_ASSERT_MSG((uint64_t)pcp == found->pcp_pages[zone->index], "every page marked so is on a per-CPU list");
	check_lists(mem, zone, found);
}

void fl_mem_check(struct fl_mem *mem)
{
	struct found *found = fl_xcalloc(1, sizeof(*found));

	found->block = fl_xcalloc(mem->pageblocks, sizeof(*found->block));
	check_frames(mem, found);
	check_blocks(mem, found);
	for (unsigned int z = 0; z < FL_ZONES; z++)
		check_zone(mem, &mem->zone[z], found);
	fl_xfree(found->block);
	fl_xfree(found);
	fl_proc_check(mem);
	fl_reclaim_check(mem);
}
