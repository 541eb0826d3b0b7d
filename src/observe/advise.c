/*
 * observe/advise.c - what to do about a verdict, in the order in which to try it, and what would not help.
 *
 * Commands are complete lines that a person can type as root. The figures in them come from the state itself.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "observe/diagnose.h"
#include "observe/gfp.h"

typedef unsigned long long ull;

static ull state_kb(const struct fl_diagnosis *d, uint64_t pages)
{
	return (ull)pages * (d->state->page_size / 1024);
}

/* Sum of min without boost over the zones that min_free_kbytes is spread over, kB; 0 unknown. */
static ull min_free_kb(const struct fl_diagnosis *d)
{
	uint64_t sum = 0;

	for (size_t i = 0; d->state && i < d->state->zones_count; i++) {
		const struct fl_mem_zone *zone = &d->state->zones[i];
		uint64_t boost = fl_arith_boost(zone);

		if (zone->min == FL_MEM_NONE || zone->wrapped || zone->kind == FL_MEM_ZONE_HIGHMEM ||
		    zone->kind == FL_MEM_ZONE_MOVABLE)
			continue;
		sum += boost < zone->min ? zone->min - boost : 0;
	}
	return d->state ? state_kb(d, sum) : 0;
}

/* The function that asked: the first of the trace that is not the allocator's own. */
static const char *caller(const struct fl_diagnosis *d)
{
	static const char *const own[] = { "__alloc_", "alloc_", "kmalloc", "__kmalloc", "__get_free", "kmem_cache",
					   "allocate_slab", "___slab", "__slab", "____cache", "new_slab", "refill_",
					   "__pcs_", "oom_", "out_of_memory", "get_page", "__folio_alloc", "folio_alloc",
					   "kvmalloc", "__kvmalloc", "__vmalloc", "vmalloc", "krealloc", "try_charge",
					   "mem_cgroup", "charge_memcg", "page_frag_alloc", "vmap", "slab_" };

	for (unsigned int i = 0; i < d->request->trace_count; i++) {
		bool is_own = false;

		for (size_t k = 0; k < sizeof(own) / sizeof(own[0]); k++)
			is_own = is_own || !strncmp(d->request->trace[i], own[k], strlen(own[k]));
		if (!is_own)
			return d->request->trace[i];
	}
	return NULL;
}

static void raise_min_free(struct fl_diagnosis *d, const char *why)
{
	ull now = min_free_kb(d);
	char command[80];

	if (!now)
		return;
	snprintf(command, sizeof(command), "sysctl -w vm.min_free_kbytes=%llu", now * 2);
	fl_diagnosis_advice(d, command, "%s (about %llukB now)", why, now);
}

/* Is at least a quarter of the zones on LRU lists? -1: not known. */
static int has_movable(const struct fl_diagnosis *d)
{
	uint64_t lru = fl_diagnosis_lru(d, false), managed = 0;

	for (size_t i = 0; i < d->checks_count; i++) {
		uint64_t pages = fl_mem_zone_managed(d->checks[i].zone);

		if (d->checks[i].use == FL_ZONE_MAY_USE && pages != FL_MEM_NONE)
			managed += pages;
	}
	if (lru == FL_MEM_NONE || !managed)
		return -1;
	return lru >= managed / 4;
}

static void advise_caller(struct fl_diagnosis *d)
{
	const char *who = caller(d);

	if (d->order <= 3)
		return;
	fl_diagnosis_advice(d, NULL,
			    "Change the caller%s%s: a buffer of this size belongs in kvmalloc() or in single pages; "
			    "the kernel does not promise orders above 3",
			    who ? ", " : "", who ? who : "");
}

static void advise_fragmentation(struct fl_diagnosis *d)
{
	unsigned int release = fl_release_number(d->state->release);
	int movable = has_movable(d);

	if (d->also & 1u << FL_VERDICT_CMA)
		fl_diagnosis_advice(d, NULL, "Blocks of this order exist in CMA only: give CMA less (boot parameter "
					     "cma=), or let the driver allocate from it");
	if (movable != 0)
		fl_diagnosis_advice(d, "echo 1 > /proc/sys/vm/compact_memory",
				    "Compact now%s: it helps until memory is mixed again",
				    movable > 0 ? "; much of these zones is movable" : "");
	if (!release || release >= 5009)
		fl_diagnosis_advice(d, "sysctl -w vm.compaction_proactiveness=60",
				    "Let kcompactd work ahead of requests (costs CPU time in the background)");
	raise_min_free(d, "Keep more memory free, so that larger blocks survive and compaction has room");
	advise_caller(d);
	if (d->order >= 9)
		fl_diagnosis_advice(d, "sysctl -w vm.nr_hugepages=N",
				    "Reserve huge pages early after boot, before memory is mixed");
	if (movable == 0)
		fl_diagnosis_useless(d, "compaction: most of these zones is unmovable, it would find little to move");
	if (!d->flags.can_reclaim)
		fl_diagnosis_useless(d, "anything that acts at the time of the request: it may not wait for "
					"compaction");
	fl_diagnosis_useless(d, "swap: free memory is not what is missing");
	fl_diagnosis_useless(d, "drop_caches: it frees pages where they happen to lie; compaction moves them together");
}

static void advise_shortage(struct fl_diagnosis *d)
{
	uint64_t slab = fl_mem_values_get(&d->state->totals, "slab_unreclaimable");
	uint64_t anon = fl_mem_values_get(&d->state->totals, "active_anon");
	uint64_t swap = fl_mem_values_get(&d->state->totals, "swap_total_kb");

	if (slab != FL_MEM_NONE && (anon == FL_MEM_NONE || slab > anon))
		fl_diagnosis_advice(d, "slabtop -o -s c", "Find which slab cache holds the memory");
	fl_diagnosis_advice(d, "ps -eo rss,comm --sort=-rss | head", "Find which processes hold it, and limit or "
								     "move them");
	if (!swap)
		fl_diagnosis_advice(d, NULL, "There is no swap: with some, unused anonymous memory can leave");
	fl_diagnosis_advice(d, NULL, "Give the machine more memory, or less to do");
	fl_diagnosis_useless(d, "compaction: the memory is used, not scattered");
	fl_diagnosis_useless(d, "raising vm.min_free_kbytes: it makes requests fail earlier");
}

static void advise_watermark(struct fl_diagnosis *d)
{
	raise_min_free(d, "Keep a larger reserve for requests that cannot wait");
	fl_diagnosis_advice(d, "sysctl -w vm.watermark_scale_factor=100", "Wake kswapd earlier and let it free more");
	if (d->request->gfp & FL_GFP_NORETRY)
		fl_diagnosis_advice(d, NULL, "The caller chose to give up early (__GFP_NORETRY): see whether it has "
					     "a fallback, then the message is only noise");
	fl_diagnosis_useless(d, "compaction: order and fragmentation are not the cause");
	fl_diagnosis_useless(d, "more swap: page cache is there to be reclaimed");
}

static void advise_boost(struct fl_diagnosis *d)
{
	fl_diagnosis_advice(d, "sysctl -w vm.watermark_boost_factor=0",
			    "Switch the boost off (default 15000); mixing of pageblocks then goes unanswered");
	raise_min_free(d, "Or keep a larger reserve, so that the boost matters less");
	fl_diagnosis_useless(d, "compaction: no block was missing");
	fl_diagnosis_useless(d, "more memory: the zone had enough");
}

static void advise_reserve(struct fl_diagnosis *d)
{
	fl_diagnosis_advice(d, "sysctl vm.lowmem_reserve_ratio",
			    "See how much is kept (a larger ratio keeps less); raise the ratio only if nothing on "
			    "this machine needs the low zone");
	raise_min_free(d, "Better: keep more free in the zones above");
	fl_diagnosis_useless(d, "compaction: this memory is free and in one piece, it is only not for this request");
}

static void advise_zone(struct fl_diagnosis *d)
{
	bool highmem = false, movable = false;

	for (size_t i = 0; i < d->checks_count; i++) {
		highmem = highmem || d->checks[i].zone->kind == FL_MEM_ZONE_HIGHMEM;
		movable = movable || d->checks[i].zone->kind == FL_MEM_ZONE_MOVABLE;
	}
	if (highmem)
		fl_diagnosis_advice(d, NULL, "Run a 64-bit kernel: kernel memory cannot use HighMem");
	if (movable)
		fl_diagnosis_advice(d, NULL, "Make ZONE_MOVABLE smaller (boot parameters movablecore=, kernelcore=, "
					     "or online memory as online_kernel)");
	if (d->flags.ceiling <= FL_MEM_ZONE_DMA32)
		fl_diagnosis_advice(d, NULL, "The caller asks for low addresses (DMA or DMA32): a driver with a "
					     "wider DMA mask would not");
	if (!highmem && !movable)
		raise_min_free(d, "Keep more memory free in the low zones");
	fl_diagnosis_useless(d, "adding memory: it would land in the zone that this request cannot use");
	fl_diagnosis_useless(d, "compaction: no order is missing, the zone is full");
}

static void advise_node(struct fl_diagnosis *d)
{
	fl_diagnosis_advice(d, "numastat -m", "See how full each node is");
	fl_diagnosis_advice(d, "cat /proc/PID/status | grep Mems_allowed_list",
			    "See which nodes the task may use; widen cpuset.mems or the memory policy");
	fl_diagnosis_useless(d, "adding swap or compacting: the limit is which node, not how much");
}

static void advise_cma(struct fl_diagnosis *d)
{
	if (d->request->kind == FL_MEM_REQUEST_CMA) {
		fl_diagnosis_advice(d, "dmesg | grep -i -e cma -e 'PFNs busy'", "See which range could not be emptied");
		fl_diagnosis_advice(d, NULL, "Pages that are pinned for long (get_user_pages, direct I/O) must not "
					     "lie in CMA");
		return;
	}
	fl_diagnosis_advice(d, "grep Cma /proc/meminfo", "See how much CMA there is and how much is used");
	fl_diagnosis_advice(d, NULL, "Make CMA smaller: boot parameter cma=SIZE, or the linux,cma node of the device "
				     "tree");
	raise_min_free(d, "Keep a larger reserve outside CMA: CMA counts as free in \"free -m\" but not for the "
			  "kernel's own requests");
	fl_diagnosis_useless(d, "compaction and swap: what is free is CMA");
}

static void advise_memcg(struct fl_diagnosis *d)
{
	fl_diagnosis_advice(d, "cat /sys/fs/cgroup/GROUP/memory.max /sys/fs/cgroup/GROUP/memory.stat",
			    "See the limit and what the group holds%s%s", d->request->memcg[0] ? "; the group is " : "",
			    d->request->memcg);
	fl_diagnosis_advice(d, NULL, "Raise the group's limit, or find what grows in it (kernel memory counts too)");
	if (d->request->pagefault_oom)
		fl_diagnosis_advice(d, NULL, "A kernel of 5.16 or newer no longer calls the global OOM killer from "
					     "here");
	fl_diagnosis_useless(d, "any setting of the machine's memory: zones and watermarks play no part");
}

static void advise_unknown(struct fl_diagnosis *d)
{
	fl_diagnosis_advice(d, "dmesg > failure.txt", "Keep the whole message: from the line with \"order\" to the "
						      "last line after Mem-Info");
	fl_diagnosis_advice(d, "cat /proc/zoneinfo /proc/buddyinfo /proc/vmstat > state.txt",
			    "Take the state when it happens again (as root also /proc/pagetypeinfo)");
	if (d->request->cpuset[0] && strcmp(d->request->cpuset, "/"))
		fl_diagnosis_advice(d, NULL, "The task ran in cpuset \"%s\": see which nodes and which memory cgroup "
					     "that means",
				    d->request->cpuset);
}

/* --- the laboratory ----------------------------------------------------------------------------------------------- */

static bool can_model(const struct fl_diagnosis *d, ull *ret_gib)
{
	uint64_t pages = 0;

	if (!d->state || d->state->page_size != 4096)
		return false;
	for (size_t i = 0; i < d->state->zones_count; i++) {
		const struct fl_mem_zone *zone = &d->state->zones[i];
		uint64_t managed = fl_mem_zone_managed(zone);

		if (zone->kind == FL_MEM_ZONE_HIGHMEM || zone->node > 0 || zone->wrapped)
			return false;
		if (managed != FL_MEM_NONE)
			pages += managed;
	}
	*ret_gib = ((ull)pages * 4 + 1024 * 1024 - 1) / (1024 * 1024);
	return pages >= 262144 && *ret_gib <= 1024;
}

static void propose_lab(struct fl_diagnosis *d)
{
	unsigned int release = fl_release_number(d->state ? d->state->release : "");
	const char *kernel = release >= 7000 ? "7.3" : release >= 6015 ? "6.18" : "6.12";
	char tunable[64];
	ull gib;

	if (!can_model(d, &gib))
		return;
	if (d->verdict == FL_VERDICT_FRAGMENTATION)
		snprintf(tunable, sizeof(tunable), "vm.compaction_proactiveness=60");
	else if (d->verdict == FL_VERDICT_WATERMARK && min_free_kb(d))
		snprintf(tunable, sizeof(tunable), "vm.min_free_kbytes=%llu", min_free_kb(d) * 2);
	else if (d->verdict == FL_VERDICT_BOOST)
		snprintf(tunable, sizeof(tunable), "vm.watermark_boost_factor=0");
	else
		return;
	d->lab = fl_xasprintf("fraglab compare type-pressure --kernel %s --kernel %s,%s --memory %lluG --runs 4",
			      kernel, kernel,
			      tunable, gib);
}

void fl_diagnosis_advise(struct fl_diagnosis *d)
{
	switch (d->verdict) {
	case FL_VERDICT_FRAGMENTATION: advise_fragmentation(d); break;
	case FL_VERDICT_SHORTAGE: advise_shortage(d); break;
	case FL_VERDICT_WATERMARK: advise_watermark(d); break;
	case FL_VERDICT_BOOST: advise_boost(d); break;
	case FL_VERDICT_LOWMEM_RESERVE: advise_reserve(d); break;
	case FL_VERDICT_ZONE_CONSTRAINT: advise_zone(d); break;
	case FL_VERDICT_NODE_CONSTRAINT: advise_node(d); break;
	case FL_VERDICT_CMA: advise_cma(d); break;
	case FL_VERDICT_HIGHATOMIC:
		raise_min_free(d, "Keep more free: the reserve is at most 1 % of a zone");
		fl_diagnosis_useless(d, "compaction: no block was missing");
		break;
	case FL_VERDICT_MEMCG: advise_memcg(d); break;
	case FL_VERDICT_ADDRESS_SPACE:
		fl_diagnosis_advice(d, "grep -i vmalloc /proc/meminfo", "See how large the area is and how much is "
									"used");
		fl_diagnosis_advice(d, NULL, "Enlarge it (boot parameter vmalloc=SIZE on 32-bit kernels) or load "
					     "fewer modules");
		fl_diagnosis_useless(d, "memory, swap, compaction: no page was asked for");
		break;
	case FL_VERDICT_IMPOSSIBLE_ORDER:
		fl_diagnosis_advice(d, NULL, "Change the caller%s%s: check the size, or use kvmalloc()",
					     caller(d) ? ", " : "",
				    caller(d) ? caller(d) : "");
		fl_diagnosis_useless(d, "any setting: the request cannot succeed on any machine");
		break;
	case FL_VERDICT_HARMLESS:
		fl_diagnosis_advice(d, NULL, "Nothing to do; newer kernels do not print this");
		break;
	case FL_VERDICT_BAD_ACCOUNTING:
		fl_diagnosis_advice(d, NULL, "Report it to the kernel's maintainers with this dump, or try another "
					     "kernel");
		fl_diagnosis_useless(d, "any setting: the test itself is fed wrong figures");
		break;
	default: advise_unknown(d); break;
	}
	propose_lab(d);
}
