/* machine/tlb.c - data TLBs of some CPUs, and their sets. */
#include "machine/tlb.h"

#include <string.h>

#include "base/bug.h"

#define KEY_HUGE (UINT64_C(1) << 40)
#define KEY_COALESCED (UINT64_C(1) << 41)
#define KEY_VALID (UINT64_C(1) << 42)

static const struct fl_tlb_cpu cpus[] = {
	{ "skylake", "Intel Optimization Reference Manual, Skylake server: 64 and 32 entries 4-way, 1536 entries 12-way shared",
	  { 64, 4 }, { 32, 4 }, { 1536, 12 }, { 0, 0 }, 0 },
	{ "icelake", "Intel Optimization Reference Manual, Ice Lake client: 64 and 32 entries 4-way, 2048 entries 16-way shared",
	  { 64, 4 }, { 32, 4 }, { 2048, 16 }, { 0, 0 }, 0 },
	{ "zen3", "AMD Software Optimization Guide for family 19h: 64 entries of any size fully associative, 2048 entries 8-way; "
		  "four adjacent base pages may share an entry",
	  { 64, 64 }, { 0, 0 }, { 2048, 8 }, { 0, 0 }, 2 },
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
