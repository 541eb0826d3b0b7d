/*
 * machine/tlb.h - a model of data TLBs: two levels, sets with LRU replacement, entries of base pages, of coalesced runs of base
 * pages where the CPU has them, and of huge pages.
 *
 * Integers only. Each task has a TLB of its own, as if address space ids kept its entries over switches; entries are
 * not flushed when mappings change, because a changed mapping has another key or the same cost. What an entry is worth in
 * time is the caller's business.
 */
#ifndef FL_MACHINE_TLB_H
#define FL_MACHINE_TLB_H

#include <stdbool.h>
#include <stdint.h>

#define FL_TLB_ENTRIES_MAX 3072

struct fl_tlb_array {
	uint16_t entries, ways; /* 0 entries: there is none */
};

/* A CPU. */
struct fl_tlb_cpu {
	const char *name, *source;
	struct fl_tlb_array l1_base, l1_huge; /* l1_huge of 0 entries: one array for all sizes */
	struct fl_tlb_array l2_base, l2_huge; /* the same */
	unsigned int coalesced_order;         /* of base pages that one entry holds where they are one folio; 0: no */
	/* Its clock, and in 1/1000 cycles an access that depends on the one before (a pointer chase), and what a hit in the second
	 * level and a page walk with its tables in the caches add to that. */
	uint32_t mhz, access_mcycles, l2_mcycles, walk_mcycles;
	const char *speed_source;
};

/* The CPU of that name, or NULL; by number, NULL past the end. The first is the default. */
const struct fl_tlb_cpu *fl_tlb_cpu_find(const char *name);
const struct fl_tlb_cpu *fl_tlb_cpu_at(unsigned int i);

struct fl_tlb {
	const struct fl_tlb_cpu *cpu;
	uint64_t slot[4][FL_TLB_ENTRIES_MAX]; /* keys, most recent first in each set; 0: empty */
};

void fl_tlb_init(struct fl_tlb *tlb, const struct fl_tlb_cpu *cpu);

/* One access to the page `vpn`, mapped by a folio of `order` through an entry of the PMD (huge) or a PTE. */
enum fl_tlb_hit { FL_TLB_L1, FL_TLB_L2, FL_TLB_WALK };
enum fl_tlb_hit fl_tlb_access(struct fl_tlb *tlb, uint32_t vpn, unsigned int order, unsigned int huge_order, bool huge);

#endif
