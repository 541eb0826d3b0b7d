/*
 * machine/geometry.c - the standard machines, and the checks that every machine must pass.
 *
 * 4K pages: an x86-64 guest as QEMU lays it out; 16K and 64K pages: an arm64 guest (memory from 1 GiB up, zone DMA up to
 * 4 GiB). The rest of the program sees ranges of pages only.
 */
#include "machine/geometry.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/census.h"
#include "base/size.h"
#include "base/text.h"

#define KIB INT64_C(1024)
#define MIB (1024 * KIB)
#define GIB (1024 * MIB)

#define DEFAULT_MEMORY (4 * GIB)
#define DEFAULT_CPUS 4
#define DEFAULT_BELOW_4G (3 * GIB)
#define MEMORY_MIN (64 * MIB)
#define SWAP_PAGES_MAX (UINT64_C(1) << 30) /* slots fit into a page table entry */
#define MEMORY_MAX (4096 * GIB) /* frame indices have 32 bits; 1 TiB of 4K pages is 2^28 of them */
/* Low memory of a PC: page 0 is never used, 0x9f000-0xfffff belongs to the firmware (as in real zoneinfo: DMA starts at
 * pfn 1 and has 3998 pages present). */
#define PC_LOW_END (636 * KIB)
#define PC_HIGH_START (1 * MIB)
#define PC_DMA_END (16 * MIB)
/* Text, data and initial page tables of a distribution kernel, at its default physical address. Design choice. */
#define KERNEL_IMAGE_BYTES (32 * MIB)
#define STRUCT_PAGE_BYTES 64
#define ARM_START (1 * GIB)

static fl_pfn to_pfn(const struct fl_geometry *g, int64_t bytes)
{
	return (fl_pfn)(bytes >> g->page_shift);
}

static void add_range(struct fl_geometry *g, int64_t start, int64_t end)
{
	if (start < end)
		g->ranges[g->ranges_count++] = (struct fl_pfn_range){ to_pfn(g, start), to_pfn(g, end) };
}

static void add_reserved(struct fl_geometry *g, fl_pfn start, fl_pfn end)
{
	if (start < end)
		g->reserved[g->reserved_count++] = (struct fl_pfn_range){ start, end };
}

/* The memory map of `pages` lies at the top of the memory that ends at `end`: 1/64 with 4K pages. */
static void reserve_memory_map(struct fl_geometry *g, fl_pfn end, uint64_t pages)
{
	uint64_t bytes = pages * STRUCT_PAGE_BYTES, page = UINT64_C(1) << g->page_shift;

	add_reserved(g, (fl_pfn)(end - (bytes + page - 1) / page), end);
}

/* Kernel image and memory map, or what a known machine has reserved (clipped to where memory is). */
static void reserve_x86(struct fl_geometry *g, const struct fl_machine_wish *wish, fl_pfn low_end)
{
	fl_pfn high_end = g->zone[FL_ZONE_NORMAL].end;

	add_reserved(g, 1, to_pfn(g, PC_LOW_END));
	for (unsigned int i = 0; i < wish->reserved_count; i++)
		for (unsigned int r = 0; r < g->ranges_count; r++) {
			fl_pfn start = to_pfn(g, wish->reserved[i].start), end = to_pfn(g, wish->reserved[i].end);

			if (start < g->ranges[r].start)
				start = g->ranges[r].start;
			add_reserved(g, start, end < g->ranges[r].end ? end : g->ranges[r].end);
		}
	if (wish->reserved_count)
		return;
	add_reserved(g, to_pfn(g, PC_DMA_END), to_pfn(g, PC_DMA_END + KERNEL_IMAGE_BYTES));
	reserve_memory_map(g, low_end, low_end);
	if (high_end)
		reserve_memory_map(g, high_end, high_end - to_pfn(g, 4 * GIB));
}

static void lay_out_x86(struct fl_geometry *g, const struct fl_machine_wish *wish, int64_t memory, int64_t below)
{
	int64_t low = memory < below ? memory : below, high = memory - low;
	fl_pfn low_end = to_pfn(g, low), dma_end = wish->no_zone_dma ? 1 : to_pfn(g, PC_DMA_END);

	add_range(g, 4 * KIB, PC_LOW_END);
	add_range(g, PC_HIGH_START, low);
	add_range(g, 4 * GIB, 4 * GIB + high);
	if (dma_end > 1)
		g->zone[FL_ZONE_DMA] = (struct fl_pfn_range){ 1, dma_end };
	g->zone[FL_ZONE_DMA32] = (struct fl_pfn_range){ dma_end, low_end };
	if (high > 0)
		g->zone[FL_ZONE_NORMAL] = (struct fl_pfn_range){ to_pfn(g, 4 * GIB), to_pfn(g, 4 * GIB + high) };
	reserve_x86(g, wish, low_end);
}

static void lay_out_arm64(struct fl_geometry *g, int64_t memory)
{
	int64_t end = ARM_START + memory, dma_end = end < 4 * GIB ? end : 4 * GIB;

	add_range(g, ARM_START, end);
	g->zone[FL_ZONE_DMA] = (struct fl_pfn_range){ to_pfn(g, ARM_START), to_pfn(g, dma_end) };
	add_reserved(g, to_pfn(g, ARM_START), to_pfn(g, ARM_START + KERNEL_IMAGE_BYTES));
	if (end > dma_end) {
		g->zone[FL_ZONE_NORMAL] = (struct fl_pfn_range){ to_pfn(g, dma_end), to_pfn(g, end) };
		reserve_memory_map(g, to_pfn(g, dma_end), to_pfn(g, dma_end - ARM_START));
	}
	reserve_memory_map(g, to_pfn(g, end), to_pfn(g, end - (end > dma_end ? dma_end : ARM_START)));
}

/* Orders that belong to a page size: pageblock, largest, PMD (arm64 defaults for 16K and 64K). */
static int set_page_size(struct fl_geometry *g, int64_t page_bytes, struct fl_error *reterr)
{
	static const struct {
		int64_t bytes;
		unsigned int shift, pageblock, max, pmd;
	} sizes[] = { { 4 * KIB, 12, 9, 10, 9 }, { 16 * KIB, 14, 11, 11, 11 }, { 64 * KIB, 16, 13, 13, 13 } };

	for (unsigned int i = 0; i < 3; i++) {
		if (sizes[i].bytes != page_bytes)
			continue;
		g->page_shift = sizes[i].shift;
		g->pageblock_order = sizes[i].pageblock;
		g->max_order = sizes[i].max;
		g->pmd_order = sizes[i].pmd;
		return 0;
	}
	return fl_error_input(reterr, "page size %ld: machines have pages of 4K, 16K or 64K", (long)page_bytes);
}

static int check_size(const char *what, int64_t bytes, int64_t min, int64_t max, int64_t multiple,
		      struct fl_error *reterr)
{
	char got[32], least[32], most[32], unit[32];

	if (bytes >= min && bytes <= max && bytes % multiple == 0)
		return 0;
	return fl_error_input(reterr, "%s of %s: expected %s to %s, a multiple of %s", what,
			      fl_size_format(bytes, got, sizeof(got)), fl_size_format(min, least, sizeof(least)),
			      fl_size_format(max, most, sizeof(most)), fl_size_format(multiple, unit, sizeof(unit)));
}

/* Extras that the standard machine and a machine from a file share. */
static int add_sizes(const struct fl_machine_wish *wish, struct fl_machine *m, struct fl_error *reterr)
{
	int64_t load = wish->scale_bytes ? wish->scale_bytes : (int64_t)m->memory_bytes;
	int error;

	m->page_bytes = UINT64_C(1) << m->geometry.page_shift;
	m->huge_bytes = m->page_bytes << m->geometry.pmd_order;
	if (wish->cpus < 0 || wish->cpus > FL_SIM_CPUS_MAX)
		return fl_error_input(reterr, "%d CPUs: expected 1 to %d", wish->cpus, FL_SIM_CPUS_MAX);
	error = check_size("load (--scale)", load, 1 * MIB, MEMORY_MAX, (int64_t)m->page_bytes, reterr);
	if (!error && wish->swap_bytes > 0)
		error = check_size("swap", wish->swap_bytes, 1 * MIB, MEMORY_MAX, (int64_t)m->page_bytes, reterr);
	if (error)
		return error;
	if (wish->guard_minorder < 0 || wish->guard_minorder > (int)m->geometry.max_order / 2)
		return fl_error_input(reterr, "guard_minorder %d: expected 0 (off) to %u", wish->guard_minorder,
				      m->geometry.max_order / 2);
	if (wish->guard_minorder)
		m->geometry.guard_minorder = (unsigned int)wish->guard_minorder;
	m->scale_bytes = (uint64_t)load;
	m->slowness = wish->slowness > 1 ? (unsigned int)wish->slowness : 1;
	m->held_bytes = (uint64_t)wish->held_bytes;
	if (wish->swap_bytes)
		m->swap_bytes = wish->swap_bytes > 0 ? (uint64_t)wish->swap_bytes : 0;
	if (m->swap_bytes >> m->geometry.page_shift >= SWAP_PAGES_MAX)
		return fl_error_input(reterr, "swap: %llu GiB are more than the model has room for; expected less than %llu",
				      (unsigned long long)m->swap_bytes >> 30,
				      (unsigned long long)SWAP_PAGES_MAX << m->geometry.page_shift >> 30);
	return 0;
}

static int make_standard(const struct fl_machine_wish *wish, struct fl_machine *m, struct fl_error *reterr)
{
	struct fl_geometry *g = &m->geometry;
	int64_t memory = wish->memory_bytes ? wish->memory_bytes : DEFAULT_MEMORY;
	int64_t below = wish->below_4g_bytes ? wish->below_4g_bytes : DEFAULT_BELOW_4G, block;
	int error = set_page_size(g, wish->page_bytes ? wish->page_bytes : 4 * KIB, reterr);

	if (error)
		return error;
	block = INT64_C(1) << (g->page_shift + g->pageblock_order);
	error = check_size("memory", memory, block > MEMORY_MIN ? 2 * block : MEMORY_MIN, MEMORY_MAX, block, reterr);
	if (!error && g->page_shift == 12)
		error = check_size("memory below 4 GiB", below, MEMORY_MIN, 4 * GIB - block, block, reterr);
	if (error)
		return error;
	g->cpus = wish->cpus > 0 ? (unsigned int)wish->cpus : DEFAULT_CPUS;
	m->memory_bytes = (uint64_t)memory;
	if (g->page_shift == 12)
		lay_out_x86(g, wish, memory, below);
	else
		lay_out_arm64(g, memory);
	return add_sizes(wish, m, reterr);
}

int fl_machine_make(const struct fl_machine_wish *wish, struct fl_machine *ret, struct fl_error *reterr)
{
	struct fl_machine m = { 0 };
	int error = wish->file ? fl_machine_read(wish, &m, reterr) : make_standard(wish, &m, reterr);

	if (!error && wish->file)
		error = add_sizes(wish, &m, reterr);
	if (!error)
		error = fl_machine_set_costs(&m, wish->cost_file, reterr);
	if (error)
		fl_machine_fini(&m);
	else
		*ret = m;
	return error;
}

uint64_t fl_machine_least_host_bytes(const struct fl_machine *m)
{
	uint64_t frames = 0, blocks;

	for (unsigned int z = 0; z < FL_ZONES; z++)
		if (m->geometry.zone[z].end > frames)
			frames = m->geometry.zone[z].end;
	blocks = frames >> m->geometry.pageblock_order;
	return frames * sizeof(uint32_t) + blocks * (sizeof(struct fl_pageblock) + sizeof(struct fl_census_block));
}

int fl_machine_fits_host(const struct fl_machine *m, uint64_t host_bytes, struct fl_error *reterr)
{
	uint64_t least = fl_machine_least_host_bytes(m);
	char need[32], have[32];

	if (!host_bytes)
		host_bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
	if (least <= host_bytes)
		return 0;
	return fl_error_set(reterr, FL_ERROR_LACKING, -ENOMEM, "the model of this machine takes %s of memory or more, and this "
			    "host has %s; take a smaller machine%s", fl_size_format((int64_t)least, need, sizeof(need)),
			    fl_size_format((int64_t)host_bytes, have, sizeof(have)),
			    m->geometry.pageblock_order < m->geometry.pmd_order ? ", or a larger pageblock_order" : "");
}

void fl_machine_fini(struct fl_machine *machine)
{
	if (!machine->layout)
		return;
	fl_layout_fini(machine->layout);
	free(machine->layout);
	machine->layout = NULL;
}

void fl_machine_describe(const struct fl_machine *machine, struct fl_fields *to)
{
	const struct fl_geometry *g = &machine->geometry;

	fl_fields_add_int(to, "memory_bytes", (int64_t)machine->memory_bytes);
	fl_fields_add_int(to, "swap_bytes", (int64_t)machine->swap_bytes);
	fl_fields_add_int(to, "scale_bytes", (int64_t)machine->scale_bytes);
	fl_fields_add_int(to, "cpus", g->cpus);
	fl_fields_add_int(to, "page_bytes", (int64_t)machine->page_bytes);
	fl_fields_add_int(to, "pageblock_order", g->pageblock_order);
	if (machine->layout)
		fl_fields_add_text(to, "starts", machine->layout->page ? "as the snapshot" : "freshly booted");
	if (machine->has_cost_file) {
		char hash[17];

		snprintf(hash, sizeof(hash), "%016llx", (unsigned long long)fl_cost_hash(&machine->cost, 0));
		fl_fields_add_text(to, "costs", hash);
	}
	for (unsigned int z = 0; z < FL_ZONES; z++) {
		static const char *const names[FL_ZONES] = { "zone_dma_pages", "zone_dma32_pages",
							     "zone_normal_pages", "zone_movable_pages" };

		if (g->zone[z].start < g->zone[z].end)
			fl_fields_add_int(to, names[z], g->zone[z].end - g->zone[z].start);
	}
}
