/* machine/tlb.c - data TLBs of some CPUs, and their sets. */
#include "machine/tlb.h"

#include <string.h>

#include "base/bug.h"

#define KEY_HUGE (UINT64_C(1) << 40)
#define KEY_COALESCED (UINT64_C(1) << 41)
#define KEY_VALID (UINT64_C(1) << 42)

#define HASWELL "published: Mynavi News on Haswell, 2013: an access through the second level takes 12 cycles, 4 of them the first-level " \
		"cache's, and a miss there some 20 more; clock of the server part"

static const struct fl_tlb_cpu cpus[] = {
	{ "skylake", "Intel Optimization Reference Manual, Skylake server: 64 and 32 entries 4-way, 1536 entries 12-way shared",
	  { 64, 4 }, { 32, 4 }, { 1536, 12 }, { 0, 0 }, 0, 2500, 4000, 8000, 20000, HASWELL },
	{ "icelake", "Intel Optimization Reference Manual, Ice Lake client: 64 and 32 entries 4-way, 2048 entries 16-way shared",
	  { 64, 4 }, { 32, 4 }, { 2048, 16 }, { 0, 0 }, 0, 2300, 5000, 8000, 20000, HASWELL "; cache of 5 cycles" },
	{ "goldencove", "Intel Optimization Reference Manual, Golden Cove: 96 entries 6-way and 32 4-way, 2048 entries 16-way shared",
	  { 96, 6 }, { 32, 4 }, { 2048, 16 }, { 0, 0 }, 0, 2000, 5000, 8000, 20000, HASWELL "; cache of 5 cycles" },
	{ "zen", "AMD Software Optimization Guide for family 17h: 64 entries of any size fully associative, 1536 entries 12-way; "
		 "four adjacent base pages may share an entry",
	  { 64, 64 }, { 0, 0 }, { 1536, 12 }, { 0, 0 }, 2, 2200, 4000, 7500, 42000, "as zen3 (design)" },
	{ "zen3", "CPUID 80000005h and 80000006h of family 19h model 1: 64 entries of any size fully associative, 2048 entries 8-way; "
		  "AMD Software Optimization Guide: four adjacent base pages may share an entry",
	  { 64, 64 }, { 0, 0 }, { 2048, 8 }, { 0, 0 }, 2, 3500, 4300, 7500, 42000,
	  "measured: pointer chase over 64, 512 and 2048 base pages in a guest, 1.24, 3.42 and 18.4 ns; the walk is nested" },
	{ "neoverse-n1", "Arm Neoverse N1 and Cortex-A76 TRM: 48 entries of any size fully associative, 1280 entries 5-way; Linux since "
			 "6.9 sets the contiguous bit of 16 base pages of a folio",
	  { 48, 48 }, { 0, 0 }, { 1280, 5 }, { 0, 0 }, 4, 2500, 4000, 3000, 20000,
	  "Cortex-A76 TRM: access to the second level takes three cycles; walk as Haswell's (design)" },
};
#define CPUS (sizeof(cpus) / sizeof(*cpus))

const struct fl_tlb_cpu *fl_tlb_cpu_at(unsigned int i)
{
	return i < CPUS ? &cpus[i] : NULL;
}

const struct fl_tlb_cpu *fl_tlb_cpu_find(const char *name)
{
	for (unsigned int i = 0; i < CPUS; i++)
		if (!strcmp(cpus[i].name, name))
			return &cpus[i];
	return NULL;
}

void fl_tlb_init(struct fl_tlb *tlb, const struct fl_tlb_cpu *cpu)
{
	memset(tlb, 0, sizeof(*tlb));
	tlb->cpu = cpu;
}

/* Looks the key up in its set and makes it the most recent one; false when it was not there. */
static bool look_up(uint64_t *slots, const struct fl_tlb_array *array, uint64_t key, uint32_t number)
{
	uint32_t sets = array->entries / array->ways, i;
	uint64_t *set = slots + number % sets * array->ways;
	bool hit;

	for (i = 0; i < array->ways && set[i] != key; i++)
		;
	hit = i < array->ways;
	if (!hit)
		i = array->ways - 1u; /* the least recent one goes */
	memmove(set + 1, set, i * sizeof(*set));
	set[0] = key;
	return hit;
}

enum fl_tlb_hit fl_tlb_access(struct fl_tlb *tlb, uint32_t vpn, unsigned int order, unsigned int huge_order, bool huge)
{
	const struct fl_tlb_cpu *cpu = tlb->cpu;
	bool coalesced = !huge && cpu->coalesced_order && order >= cpu->coalesced_order;
	uint32_t number = huge ? vpn >> huge_order : coalesced ? vpn >> cpu->coalesced_order : vpn;
	uint64_t key = number | KEY_VALID | (huge ? KEY_HUGE : coalesced ? KEY_COALESCED : 0);
	bool own_l1 = huge && cpu->l1_huge.entries, own_l2 = huge && cpu->l2_huge.entries;

	FL_ASSERT(cpu->l1_base.entries <= FL_TLB_ENTRIES_MAX && cpu->l2_base.entries <= FL_TLB_ENTRIES_MAX);
	if (look_up(tlb->slot[own_l1], own_l1 ? &cpu->l1_huge : &cpu->l1_base, key, number))
		return FL_TLB_L1;
	if (look_up(tlb->slot[2 + own_l2], own_l2 ? &cpu->l2_huge : &cpu->l2_base, key, number))
		return FL_TLB_L2;
	return FL_TLB_WALK;
}
