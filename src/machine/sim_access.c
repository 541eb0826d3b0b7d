/*
 * machine/sim_access.c - accesses whose time depends on the TLB: passes over a range with a pause between them, in address
 * order, at random, or by a Zipf law.
 *
 * A pass in address order is simulated access by access until two passes miss equally often and no translation of the
 * address space changed meanwhile; from then on it is repeated as it was. Passes at random draw from op->draw.
 */
#include <stdlib.h>

#include "base/rng.h"
#include "machine/sim.h"
#include "machine/tlb.h"
#include "mm/memory.h"
#include "mm/swap.h"

#define STEADY 2 /* passes that agree */

struct passes {
	struct fl_agent *agent;
	const struct fl_op *op;
	fl_vpn start;
	uint32_t count, stride;
	uint64_t misses, last_misses; /* of this pass and the one before */
	uint32_t translations, agreeing;
	uint64_t rest; /* mcycles that were not yet a whole ns */
	struct fl_rng rng;
};

/* One access: through fl_access() only where a fault or an accessed bit is due. False: the program cannot go on. */
static bool access_page(struct passes *p, fl_vpn vpn)
{
	struct fl_mem *mem = p->agent->vm->mem;
	struct fl_mm *mm = fl_agent_mm(p->agent);
	bool write = !(p->op->flags & FL_OP_READ);
	uint32_t want = FL_YOUNG | (write ? FL_PTE_DIRTY : 0), state = 0;
	struct fl_walk walk = fl_walk(mem, mm, vpn);

	if (walk.kind == FL_PMD_HUGE)
		state = mem->frames.state[walk.value];
	else if (walk.kind == FL_PMD_TABLE && fl_pte_is_present(walk.value))
		state = mem->frames.state[fl_frame_head(&mem->frames, fl_pte_pfn(walk.value))];
	if ((state & (want | FL_MIGRATING)) != want) {
		if (fl_access(mem, &p->agent->who, mm, vpn, write, NULL) != FL_FAULT_DONE)
			return false;
		walk = fl_walk(mem, mm, vpn);
	}
	p->misses += fl_tlb_access(p->agent->tlb, vpn, fl_state_order(state), mem->pmd_order,
				   walk.kind == FL_PMD_HUGE || walk.kind == FL_PMD_HUGE_ZERO) == FL_TLB_WALK;
	return true;
}

/* Number of the i-th access of a pass. The Zipf law of exponent 1 by its integral: equal shares to each power of two. */
static uint32_t place_of(struct passes *p, uint32_t i)
{
	uint32_t bits = 32 - __builtin_clz(p->count), low, high;

	if (p->op->pattern == FL_PATTERN_ORDER)
		return i;
	if (p->op->pattern == FL_PATTERN_UNIFORM)
		return (uint32_t)fl_rng_below(&p->rng, p->count);
	low = 1u << fl_rng_below(&p->rng, bits);
	high = 2 * low - 1 < p->count ? 2 * low - 1 : p->count;
	return low - 1 + (uint32_t)fl_rng_below(&p->rng, high - low + 1);
}

static bool simulate_pass(struct passes *p)
{
	uint32_t translations = fl_agent_mm(p->agent)->translations;

	p->misses = 0;
	for (uint32_t i = 0; i < p->count; i++) {
		if (!access_page(p, p->start + place_of(p, i) * p->stride) || p->agent->process->dying)
			return false;
		fl_cond_resched(p->agent->task);
	}
	p->agreeing = p->misses == p->last_misses && translations == p->translations ? p->agreeing + 1 : 0;
	p->last_misses = p->misses;
	p->translations = translations;
	return true;
}

static bool is_steady(const struct passes *p)
{
	return p->op->pattern == FL_PATTERN_ORDER && p->agreeing >= STEADY &&
	       fl_agent_mm(p->agent)->translations == p->translations;
}

/* Time and counters of the pass. */
static void account_pass(struct passes *p)
{
	const struct fl_op *op = p->op;
	uint64_t mcycles = p->count * (uint64_t)op->access_mcycles + p->last_misses * op->walk_mcycles;
	uint64_t work = mcycles + p->rest; /* 1000 mcycles at 1000 MHz are 1 ns */

	p->agent->perf.accesses += p->count;
	p->agent->perf.dtlb_load_misses += p->last_misses;
	p->agent->perf.mcycles += mcycles;
	p->rest = work % op->mhz;
	fl_spend_user(p->agent->task, work / op->mhz);
}

int64_t fl_sim_access_passes(struct fl_agent *agent, const struct fl_op *op, fl_vpn start, uint32_t pages,
			     uint32_t stride)
{
	struct passes p = { .agent = agent, .op = op, .start = start, .count = (pages + stride - 1) / stride,
			    .stride = stride, .last_misses = UINT64_MAX };
	const struct fl_tlb_cpu *cpu = op->text[0] ? fl_tlb_cpu_find(op->text) : fl_tlb_cpu_at(0);
	uint64_t accesses = 0;

	if (!cpu)
		return fl_sim_refuse(agent, "there is no TLB of a CPU \"%s\"", op->text);
	if (!agent->tlb)
		agent->tlb = fl_xmalloc(sizeof(*agent->tlb));
	fl_tlb_init(agent->tlb, cpu);
	fl_rng_init(&p.rng, op->draw, "access", 0);
	for (uint64_t pass = 0; pass < op->count && !agent->process->dying; pass++) {
		if (!is_steady(&p) && !simulate_pass(&p))
			break;
		account_pass(&p);
		accesses += p.count;
		if (op->time_ns)
			fl_task_sleep(agent->task, op->time_ns);
	}
	return (int64_t)accesses;
}
