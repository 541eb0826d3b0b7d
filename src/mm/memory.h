/*
 * mm/memory.h - faults and accesses, unmapping of ranges. Mirrors mm/memory.c.
 *
 * Everything here may switch tasks: allocations reclaim and compact, and bulk verbs have preemption points between pages.
 */
#ifndef FL_MM_MEMORY_H
#define FL_MM_MEMORY_H

#include "mm/mmap.h"

enum fl_fault {
	FL_FAULT_DONE,
	FL_FAULT_OOM,    /* VM_FAULT_OOM, a modelled result: the caller decides what dies */
	FL_FAULT_BUS,    /* VM_FAULT_SIGBUS: behind the end of a file */
	FL_FAULT_SEGV,   /* no such mapping */
	FL_FAULT_KILLED, /* the address space is dying */
};

/* handle_mm_fault() with its cost and counters (pgfault, pgmajfault). The entry need not be empty: then it is only an
 * access. */
enum fl_fault fl_handle_fault(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm, fl_vpn vpn, bool write);

/* One access by a program: sets young and dirty; faults when needed; *faulted tells (may be NULL). */
enum fl_fault fl_access(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm, fl_vpn vpn, bool write,
			bool *faulted);

struct fl_touched {
	uint64_t accesses, faults;
	enum fl_fault end; /* FL_FAULT_DONE: all of it */
};

/* One access to every `stride`-th page of [start, start + pages), in address order; stride 0 is 1. */
struct fl_touched fl_touch_range(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm, fl_vpn start,
				 uint32_t pages, uint32_t stride, bool write);
/* One access to each page base + index[i]. */
struct fl_touched fl_touch_pages(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm, fl_vpn base,
				 const uint32_t *index, uint32_t count, bool write);

/* do_swap_page() for khugepaged: reads the swap entry at vpn in, as a fault would, uncounted. False: no memory. True also when
 * the entry has changed meanwhile. May switch. */
bool fl_swap_fault(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm, fl_vpn vpn);

/* zap_page_range(): frees what is mapped in the range; tables stay. Base pages unmapped. Safe points inside. */
uint64_t fl_zap_range(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm, fl_vpn start, fl_vpn end);

/* Unmaps up to one PMD entry's range, from `start` on; without preemption points. Sets *next. */
uint64_t fl_zap_pmd_range(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm, fl_vpn start, fl_vpn end,
			  fl_vpn *next);

/* unmap_mapping_range(): takes [index, index + pages) of a file out of all page tables. Never switches. */
void fl_unmap_mapping(struct fl_mem *mem, struct fl_caller *who, uint32_t mapping, uint32_t index, uint32_t pages);

/* Tasks that met a folio with FL_MIGRATING wait; migration wakes them when it is done. */
void fl_wake_migration(struct fl_mem *mem);

#endif
