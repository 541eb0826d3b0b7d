/*
 * mm/mem.c - making, booting and hashing the memory of a machine. Mirrors mm/mm_init.c: memmap_init_range,
 * memblock_free_all, build_all_zonelists, init_per_zone_wmark_min, hugepage_init's part in min_free_kbytes.
 */
#include "mm/mem.h"

#include "base/arena.h"
#include "base/hash.h"
#include "base/text.h"
#include "mm/buddy.h"
#include "mm/compaction.h"
#include "mm/pageblock.h"
#include "mm/pcp.h"
#include "mm/proc.h"
#include "mm/vmscan.h"
#include "mm/watermark.h"

#define RECORDS_DENSE_MAX (UINT64_C(512) << 20) /* bytes: those of some 100 GiB in pages of 4K */

/* List heads beside those of the buddy lists: LRU lists, split queue, lists in flight. */
#define EXTRA_HEADS 512

void fl_settings_init(struct fl_settings *set, const struct fl_geometry *geometry)
{
	*set = (struct fl_settings){
		.user_min_free_kbytes = -1,
		.watermark_scale_factor = 10,
		.watermark_boost_factor = 15000,
		.lowmem_reserve_ratio = { 256, 256, 32, 0 },
		.extfrag_threshold = 500,
		.compaction_proactiveness = 20,
		.compact_unevictable_allowed = 1,
		.swappiness = 60,
		.vfs_cache_pressure = 100,
		.page_cluster = 3,
		.dirty_ratio = 20,
		.dirty_background_ratio = 10,
		.dirty_expire_centisecs = 3000,
		.dirty_writeback_centisecs = 500,
		.thp_enabled = FL_THP_ALWAYS,
		.thp_defrag = FL_THP_DEFRAG_MADVISE,
		.thp_use_zero_page = 1,
		.thp_shrink_underused = 1,
		.khugepaged_defrag = 1,
		.khugepaged_pages_to_scan = 8u << geometry->pmd_order,
		.khugepaged_scan_sleep_ms = 10000,
		.khugepaged_alloc_sleep_ms = 60000,
		.khugepaged_max_ptes_none = (1u << geometry->pmd_order) - 1,
		.khugepaged_max_ptes_swap = (1u << geometry->pmd_order) / 8,
		.khugepaged_max_ptes_shared = (1u << geometry->pmd_order) / 2,
	};
	set->thp_size[geometry->pmd_order] = FL_THP_SIZE_INHERIT;
}

static size_t state_bytes(const struct fl_frames *f)
{
	return ((size_t)f->count + f->heads_max) * sizeof(*f->state);
}

static size_t record_bytes(const struct fl_frames *f)
{
	return ((size_t)f->count + f->heads_max) * sizeof(*f->record);
}

static void init_frames(struct fl_mem *mem, const struct fl_geometry *geometry)
{
	struct fl_frames *f = &mem->frames;
	uint32_t chunk = 1u << geometry->max_order, end = 0;

	for (unsigned int z = 0; z < FL_ZONES; z++)
		if (geometry->zone[z].end > end)
			end = geometry->zone[z].end;
	FL_ASSERT_MSG(end > 0 && end < UINT32_MAX - 2 * chunk - EXTRA_HEADS, "the machine has memory that fits");
	f->count = (end + chunk - 1) / chunk * chunk;
	f->heads_max = FL_ZONES * FL_MIGRATETYPES * FL_MAX_ORDERS + EXTRA_HEADS;
	f->state = fl_arena_new_dense(state_bytes(f)); /* the boot touches all of it, once a chunk */
	/* A machine of usual size gets filled, and records are met at random: huge pages save half of the host's misses.
	 * Of a very large one most memory may stay untouched. */
	f->record = record_bytes(f) <= RECORDS_DENSE_MAX ? fl_arena_new_dense(record_bytes(f)) :
							   fl_arena_new(record_bytes(f));
	mem->pageblocks = f->count >> geometry->pageblock_order;
	mem->pageblock = fl_arena_new(mem->pageblocks * sizeof(*mem->pageblock));
	for (uint32_t b = 0; b < mem->pageblocks; b++)
		mem->pageblock[b].type = FL_MOVABLE;
}

static void init_zone(struct fl_mem *mem, const struct fl_geometry *geometry, unsigned int z)
{
	struct fl_zone *zone = &mem->zone[z];
	uint32_t block = fl_pageblock_pages(mem) - 1;

	zone->index = z;
	zone->start = geometry->zone[z].start;
	zone->end = geometry->zone[z].end;
	zone->spanned = zone->end - zone->start;
	zone->heads = mem->frames.count + mem->frames.heads;
	for (unsigned int i = 0; i < FL_MIGRATETYPES * FL_MAX_ORDERS; i++)
		fl_frames_new_head(&mem->frames);
	if (!zone->spanned)
		return;
	zone->pcp = fl_xcalloc(mem->cpus, sizeof(*zone->pcp));
	if (zone->start & block)
		fl_pageblock_of(mem, zone->start)->flags |= FL_PAGEBLOCK_STRADDLES;
	if (zone->end & block)
		fl_pageblock_of(mem, zone->end - 1)->flags |= FL_PAGEBLOCK_STRADDLES;
	zone->compact.cached_migrate_pfn[0] = zone->compact.cached_migrate_pfn[1] = zone->start;
	zone->compact.init_migrate_pfn = zone->start;
	zone->compact.cached_free_pfn = zone->compact.init_free_pfn = (zone->end - 1) & ~block;
}

/* The largest naturally aligned chunk that starts at pfn and ends by `end` (__free_pages_memory). */
static unsigned int chunk_order(fl_pfn pfn, fl_pfn end, unsigned int max_order)
{
	unsigned int order = pfn ? (unsigned int)__builtin_ctz(pfn) : max_order;

	if (order > max_order)
		order = max_order;
	while (end - pfn < 1u << order)
		order--;
	return order;
}

/* Hands [start, end) of one zone to the buddy lists, or marks it as never managed. */
static void boot_range(struct fl_mem *mem, struct fl_caller *who, struct fl_zone *zone, fl_pfn start, fl_pfn end,
		       bool reserved)
{
	while (start < end) {
		unsigned int order = chunk_order(start, end, mem->max_order);

		if (reserved)
			mem->frames.state[start] = fl_state(FL_KIND_RESERVED, order);
		else
			fl_free_to_buddy(mem, who, zone, start, order, true);
		start += 1u << order;
	}
}

static inline fl_pfn pfn_max(fl_pfn a, fl_pfn b)
{
	return a > b ? a : b;
}

static inline fl_pfn pfn_min(fl_pfn a, fl_pfn b)
{
	return a < b ? a : b;
}

/* One present range of one zone: reserved parts stay out, the rest becomes managed, in rising pfn. */
static void boot_zone_range(struct fl_mem *mem, struct fl_caller *who, struct fl_zone *zone, fl_pfn start, fl_pfn end)
{
	const struct fl_geometry *g = &mem->geometry;

	zone->present += end - start;
	for (unsigned int i = 0; i < g->reserved_count && start < end; i++) {
		fl_pfn from = pfn_max(g->reserved[i].start, start), to = pfn_min(g->reserved[i].end, end);

		if (from >= to)
			continue;
		boot_range(mem, who, zone, start, from, false);
		zone->managed += from - start;
		boot_range(mem, who, zone, from, to, true);
		start = to;
	}
	if (start < end) {
		boot_range(mem, who, zone, start, end, false);
		zone->managed += end - start;
	}
}

static void boot(struct fl_mem *mem, struct fl_caller *who)
{
	const struct fl_geometry *g = &mem->geometry;

	for (unsigned int z = 0; z < FL_ZONES; z++)
		for (unsigned int i = 0; i < g->ranges_count; i++) {
			struct fl_zone *zone = &mem->zone[z];
			fl_pfn from = pfn_max(g->ranges[i].start, zone->start);
			fl_pfn to = pfn_min(g->ranges[i].end, zone->end);

			if (from < to)
				boot_zone_range(mem, who, zone, from, to);
		}
	/* __free_pages_core() frees what it hands out, and that counts. */
	for (unsigned int z = 0; z < FL_ZONES; z++)
		fl_count(mem, FL_VM_pgfree, mem->zone[z].managed);
}

/* CPU's share of data cache when the geometry does not say: what servers of the 2020s have. */
#define DEFAULT_CPU_CACHE_KBYTES 2048

static void init_pcp(struct fl_mem *mem)
{
	uint32_t kbytes = mem->geometry.cpu_cache_kbytes;
	uint32_t pages = (kbytes ? kbytes : DEFAULT_CPU_CACHE_KBYTES) >> (mem->page_shift - 10);

	for (unsigned int z = 0; z < FL_ZONES; z++)
		for (unsigned int cpu = 0; mem->zone[z].pcp && cpu < mem->cpus; cpu++) {
			struct fl_pcp *pcp = &mem->zone[z].pcp[cpu];

			pcp->free_high_batch = (int)pages > 3 * pcp->batch;
		}
}

/* build_all_zonelists(): too little memory for a pageblock of each type turns grouping off. It runs before memory is
 * handed to the buddy lists, when all that is present counts as managed. */
static void decide_grouping(struct fl_mem *mem)
{
	uint64_t present = 0;

	for (unsigned int z = 0; z < FL_ZONES; z++)
		present += mem->zone[z].present;
	mem->set.grouping_disabled = present < (uint64_t)fl_pageblock_pages(mem) * FL_MIGRATETYPES;
}

/* The zone list of a node: each ceiling starts at the highest populated zone at or below it, or at an empty one. */
static void build_zonelists(struct fl_mem *mem)
{
	for (unsigned int ceiling = 0; ceiling < FL_ZONES; ceiling++) {
		unsigned int z = ceiling;

		while (z > 0 && !mem->zone[z].managed)
			z--;
		mem->preferred[ceiling] = &mem->zone[z];
	}
}

static void boot_watermarks(struct fl_mem *mem)
{
	struct fl_watermark_input in;
	const uint64_t zero[FL_ZONES] = { 0 };

	if (!mem->set.min_free_kbytes) {
		fl_watermark_input_of(mem, &in);
		mem->set.min_free_kbytes = fl_default_min_free_kbytes(&in, zero);
	}
	fl_setup_per_zone_wmarks(mem);
	if (mem->set.user_min_free_kbytes < 0)
		fl_set_recommended_min_free(mem);
}

struct fl_mem *fl_mem_new(const struct fl_mem_config *config)
{
	static struct fl_task boot_task = { .name = "swapper" };
	struct fl_caller who = { .task = &boot_task };
	struct fl_mem *mem = fl_xcalloc(1, sizeof(*mem));
	const struct fl_geometry *g = config->geometry;

	FL_ASSERT_MSG(!fl_decisions_missing(config->decide), "the table of decisions is complete");
	mem->geometry = *g;
	mem->page_shift = g->page_shift;
	mem->pageblock_order = g->pageblock_order;
	mem->max_order = g->max_order;
	mem->pmd_order = g->pmd_order;
	mem->cpus = g->cpus;
	mem->guard_minorder = g->guard_minorder;
	mem->decide = *config->decide;
	mem->cost = config->cost;
	mem->sim = config->sim;
	if (config->settings)
		mem->set = *config->settings;
	else
		fl_settings_init(&mem->set, g);
	init_frames(mem, g);
	for (unsigned int z = 0; z < FL_ZONES; z++)
		init_zone(mem, g, z);
	boot(mem, &who);
	build_zonelists(mem);
	decide_grouping(mem);
	boot_watermarks(mem);
	init_pcp(mem);
	fl_proc_init(mem);
	fl_reclaim_init(mem);
	return mem;
}

void fl_mem_free(struct fl_mem *mem)
{
	if (!mem)
		return;
	fl_kcompactd_free(mem);
	fl_reclaim_fini(mem);
	fl_proc_fini(mem);
	for (unsigned int z = 0; z < FL_ZONES; z++) {
		for (unsigned int cpu = 0; mem->zone[z].pcp && cpu < mem->cpus; cpu++)
			for (unsigned int i = 0; i < FL_PCP_LISTS; i++)
				fl_xfree(mem->zone[z].pcp[cpu].list[i].ring);
		fl_xfree(mem->zone[z].pcp);
	}
	fl_arena_free(mem->frames.state, state_bytes(&mem->frames));
	fl_arena_free(mem->frames.record, record_bytes(&mem->frames));
	fl_arena_free(mem->pageblock, mem->pageblocks * sizeof(*mem->pageblock));
	fl_xfree(mem);
}

/* ---- State hash ---- */

static uint64_t hash_frames(const struct fl_mem *mem, uint64_t hash)
{
	for (fl_pfn pfn = 0; pfn < mem->frames.count; pfn++) {
		uint32_t state = mem->frames.state[pfn];
		const struct fl_frame *r = &mem->frames.record[pfn];
		unsigned int kind = fl_state_kind(state);

		if (kind == FL_KIND_INTERIOR || kind == FL_KIND_RESERVED || kind == FL_KIND_HOLE)
			continue;
		hash = fl_hash_u64(hash, (uint64_t)pfn << 32 | state);
		if (kind == FL_KIND_BUDDY || (state & FL_LRU))
			hash = fl_hash_u64(hash, (uint64_t)r->next << 32 | r->prev);
		if (fl_kind_is_movable(kind))
			hash = fl_hash_u64(fl_hash_u64(hash, (uint64_t)r->owner << 32 | r->index),
					   (uint64_t)r->mapcount << 16 | r->refcount);
	}
	return hash;
}

static uint64_t hash_pcp(const struct fl_pcp *pcp, uint64_t hash)
{
	hash = fl_hash_u64(hash, (uint64_t)pcp->count << 32 | (uint32_t)pcp->high);
	hash = fl_hash_u64(hash, (uint64_t)pcp->free_count << 32 | pcp->alloc_factor << 1 | pcp->prev_free_high_order);
	for (unsigned int i = 0; i < FL_PCP_LISTS; i++)
		for (uint32_t at = 0; at < pcp->list[i].count; at++)
			hash = fl_hash_u64(hash, pcp->list[i].ring[(pcp->list[i].head + at) & (pcp->list[i].slots - 1)]);
	return hash;
}

static uint64_t hash_zone(const struct fl_mem *mem, const struct fl_zone *zone, uint64_t hash)
{
	hash = fl_hash_u64(hash, (uint64_t)zone->nr_free_pages);
	hash = fl_hash_u64(hash, (uint64_t)zone->nr_free_highatomic << 32 ^ (uint64_t)zone->nr_reserved_highatomic);
	hash = fl_hash_u64(hash, zone->watermark_boost << 8 ^ zone->flags);
	for (unsigned int t = 0; t < FL_MIGRATETYPES; t++)
		hash = fl_hash_u64(hash, (uint64_t)zone->type_count[t]);
	for (unsigned int m = 0; m < FL_WMARKS; m++)
		hash = fl_hash_u64(hash, zone->wmark[m]);
	hash = fl_hash_u64(hash, (uint64_t)zone->compact.cached_migrate_pfn[0] << 32 |
					 zone->compact.cached_migrate_pfn[1]);
	hash = fl_hash_u64(hash, (uint64_t)zone->compact.cached_free_pfn << 32 | zone->compact.defer_shift << 16 |
					 zone->compact.considered);
	hash = fl_hash_u64(hash, (uint64_t)zone->compact.init_migrate_pfn << 32 | zone->compact.init_free_pfn);
	hash = fl_hash_u64(hash, (uint64_t)zone->compact.order_failed << 1 | zone->compact.blockskip_flush);
	for (unsigned int cpu = 0; zone->pcp && cpu < mem->cpus; cpu++)
		hash = hash_pcp(&zone->pcp[cpu], hash);
	return hash;
}

uint64_t fl_mem_hash(const struct fl_mem *mem)
{
	uint64_t hash = hash_frames(mem, 0);

	for (uint32_t b = 0; b < mem->pageblocks; b++)
		hash = fl_hash_u64(hash, (uint64_t)mem->pageblock[b].type << 8 | mem->pageblock[b].flags);
	for (unsigned int z = 0; z < FL_ZONES; z++)
		hash = hash_zone(mem, &mem->zone[z], hash);
	for (unsigned int i = 0; i < FL_VM_COUNT; i++)
		hash = fl_hash_u64(hash, mem->vm[i]);
	for (unsigned int order = 0; order < FL_MAX_ORDERS; order++)
		for (unsigned int i = 0; i < FL_MTHP_COUNT; i++)
			hash = fl_hash_u64(hash, mem->mthp[order][i]);
	hash = fl_kcompactd_hash(mem, fl_proc_hash(mem, hash));
	return fl_reclaim_hash(mem, hash);
}
