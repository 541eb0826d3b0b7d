/*
 * machine/geometry.h - the machine that a run happens on: from sizes as people give them, or from a file, to the
 * ranges, zones and reserved pages that the model boots with.
 *
 * The standard machine is an x86-64 guest (design section 5): memory below 3 GiB in DMA (16 MiB) and DMA32, the rest
 * from 4 GiB up in Normal; reserved are the low 1 MiB, a kernel image, and 1/64 of each zone for the memory map.
 */
#ifndef FL_MACHINE_GEOMETRY_H
#define FL_MACHINE_GEOMETRY_H

#include "base/error.h"
#include "base/layout.h"
#include "base/result.h"
#include "mm/mem.h"
#include "sim/cost.h"

struct fl_byte_range {
	int64_t start, end; /* physical addresses; the end is outside */
};

/* What is asked for; 0 is the default of each. */
struct fl_machine_wish {
	int64_t memory_bytes;     /* RAM, reserved memory included; default 4 GiB */
	int64_t swap_bytes;       /* default none; below 0: none, whatever a file says */
	int64_t scale_bytes;      /* size of the load; default: the memory */
	int cpus;                 /* default 4 */
	int64_t page_bytes;       /* 4K (default), 16K or 64K */
	int64_t below_4g_bytes;   /* memory below 4 GiB, as QEMU's max-ram-below-4g; default 3 GiB */
	int guard_minorder;       /* debug_guardpage_minorder; default off */
	bool no_zone_dma;         /* x86: a kernel without CONFIG_ZONE_DMA; what is below 16 MiB belongs to DMA32 */
	const struct fl_byte_range *reserved; /* of a known machine, rising; replaces the standard kernel image and map */
	unsigned int reserved_count;
	int slowness;             /* CPU work takes so many times as long (an emulated CPU); default 1 */
	int64_t held_bytes;       /* kernel memory of the booted system (struct fl_machine); default none */
	const char *file;         /* a machine description that replaces the standard machine; NULL: none */
	const char *cost_file;    /* laid over the table of costs (sim/cost.h); NULL: none */
};

struct fl_machine {
	struct fl_geometry geometry;
	uint64_t memory_bytes, swap_bytes, scale_bytes;
	unsigned int slowness;
	struct fl_cost cost; /* what work takes here, slowness included */
	bool has_cost_file;
	uint64_t held_bytes; /* what the booted system holds before the first process: slab, tables, buffers of drivers */
	uint64_t page_bytes, huge_bytes; /* base page; PMD-mapped huge page */
	struct fl_layout *layout; /* of a snapshot: what the machine holds when it starts; owned; NULL: freshly booted */
};

/* Builds and checks a machine. Refusals are sentences of class INPUT that name the least or nearest size. */
int fl_machine_make(const struct fl_machine_wish *wish, struct fl_machine *ret, struct fl_error *reterr);

/* Memory of the host, in bytes, that a run on this machine is sure to use: what the boot writes for each page frame and
 * pageblock, and the census of one sample. */
uint64_t fl_machine_least_host_bytes(const struct fl_machine *machine);
/* Has the host (host_bytes; 0: ask it) so much? Error: class LACKING. */
int fl_machine_fits_host(const struct fl_machine *machine, uint64_t host_bytes, struct fl_error *reterr);

/* Frees what the machine owns. */
void fl_machine_fini(struct fl_machine *machine);

/* Reads wish->file, a machine description in JSON (docs/SCENARIOS.md) or a snapshot (docs/SNAPSHOT.md): ranges, zones, reserved pages, CPUs, orders.
 * A memory size in the wish contradicts a file and is refused; other layout wishes give way. Used by fl_machine_make. */
int fl_machine_read(const struct fl_machine_wish *wish, struct fl_machine *ret, struct fl_error *reterr);

/* The costs of the machine, whose slowness is set: the defaults with the file (NULL: none) over them. Used by fl_machine_make. */
int fl_machine_set_costs(struct fl_machine *machine, const char *path, struct fl_error *reterr);

/* The machine of a snapshot, which then belongs to it: ranges of memory, zones, orders, CPUs, swap. */
int fl_machine_from_layout(struct fl_layout *layout, struct fl_machine *ret, struct fl_error *reterr);

/* Describes the machine for the result document: memory, swap, scale, cpus, page size, zones. */
void fl_machine_describe(const struct fl_machine *machine, struct fl_fields *to);

#endif
