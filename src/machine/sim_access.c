/*
 * machine/sim_access.c - accesses whose time depends on the TLB: for a time, or in passes over a range with a pause between
 * them; in address order, in one random order, by independent draws, or by a Zipf law.
 *
 * What a hit of the second level and a page walk cost comes from the script, from the CPU that it names (machine/tlb.c),
 * or from the table of costs. Passes in an order are simulated access by access until two miss equally often and no
 * translation of the address space changed meanwhile; from then on they are repeated as they were. Draws come from op->draw.
 */
#include <stdlib.h>

#include "base/rng.h"
#include "machine/sim.h"
#include "machine/tlb.h"
#include "mm/memory.h"
#include "mm/swap.h"

#define STEADY 2                  /* passes that agree */
#define BATCH 64                  /* accesses of a timed access whose time passes at once */
#define REPEATED_NS FL_MS_NS      /* of steady passes whose time passes at once */

struct tally {
	uint64_t accesses, l2_hits, walks;
};

struct passes {
	struct fl_agent *agent;
	const struct fl_op *op;
	fl_vpn start;
	uint32_t count, stride;
	uint32_t *order;          /* of a pass; NULL: as `pattern` says */
	uint32_t mhz, access_mcycles, l2_mcycles, walk_mcycles;
	bool timed;
	fl_ns end;                /* of a timed access */
	struct tally pass, last;  /* the pass under way, and the one before */
	struct tally due;         /* whose time has not passed yet */
	uint32_t translations, agreeing;
	uint64_t rest;            /* mcycles that were not yet a whole ns */
	uint64_t faults, done;    /* accesses that were carried out */
	struct fl_rng rng;
};

/* ---- One access ---- */

/* The state of the folio that a walk has found; 0: there is none. */
static uint32_t state_of(const struct fl_mem *mem, struct fl_walk walk)
{
	if (walk.kind == FL_PMD_HUGE)
		return mem->frames.state[walk.value];
	if (walk.kind == FL_PMD_TABLE && fl_pte_is_present(walk.value))
		return mem->frames.state[fl_frame_head(&mem->frames, fl_pte_pfn(walk.value))];
	return 0;
}

/* One access: by way of the kernel only where a fault or an accessed bit is due. False: the program cannot go on. */
static bool access_page(struct passes *p, fl_vpn vpn)
{
	struct fl_mem *mem = p->agent->vm->mem;
	struct fl_mm *mm = fl_agent_mm(p->agent);
	bool write = !(p->op->flags & FL_OP_READ);
	uint32_t want = FL_YOUNG | (write ? FL_PTE_DIRTY : 0);
	struct fl_walk walk = fl_walk(mem, mm, vpn);
	uint32_t state = state_of(mem, walk);
	enum fl_tlb_hit hit;

	if ((state & (want | FL_MIGRATING)) != want) {
		if (!fl_sim_touch_page(p->agent, vpn, write, &p->faults))
			return false;
		walk = fl_walk(mem, mm, vpn);
		state = state_of(mem, walk);
	}
	hit = fl_tlb_access(p->agent->tlb, vpn, fl_state_order(state), mem->pmd_order,
			    walk.kind == FL_PMD_HUGE || walk.kind == FL_PMD_HUGE_ZERO);
	p->pass.accesses++;
	p->pass.l2_hits += hit == FL_TLB_L2;
	p->pass.walks += hit == FL_TLB_WALK;
	return true;
}

/* Number of the i-th access of a pass. The Zipf law of exponent 1 by its integral: equal shares to each power of two. */
static uint32_t place_of(struct passes *p, uint32_t i)
{
	uint32_t bits = 32 - __builtin_clz(p->count), low, high;

	if (p->op->pattern == FL_PATTERN_ORDER)
		return p->order ? p->order[i] : i;
	if (p->op->pattern == FL_PATTERN_UNIFORM)
		return (uint32_t)fl_rng_below(&p->rng, p->count);
	low = 1u << fl_rng_below(&p->rng, bits);
	high = 2 * low - 1 < p->count ? 2 * low - 1 : p->count;
	return low - 1 + (uint32_t)fl_rng_below(&p->rng, high - low + 1);
}

/* ---- Their time ---- */

static struct tally minus(struct tally a, struct tally b)
{
	return (struct tally){ a.accesses - b.accesses, a.l2_hits - b.l2_hits, a.walks - b.walks };
}

static uint64_t mcycles_of(const struct passes *p, const struct tally *t)
{
	return t->accesses * p->access_mcycles + t->l2_hits * p->l2_mcycles + t->walks * p->walk_mcycles;
}

/* `times` times these accesses: their time passes, and they are counted. */
static void account(struct passes *p, const struct tally *t, uint64_t times)
{
	uint64_t mcycles = mcycles_of(p, t) * times, work = mcycles + p->rest; /* 1000 mcycles at 1000 MHz are 1 ns */

	p->agent->perf.accesses += t->accesses * times;
	p->agent->perf.dtlb_load_misses += t->walks * times;
	p->agent->perf.mcycles += mcycles;
	p->done += t->accesses * times;
	p->rest = work % p->mhz;
	fl_spend_user(p->agent->task, work / p->mhz);
}

static bool is_over(const struct passes *p)
{
	return p->timed && fl_task_now(p->agent->task) >= p->end;
}

static void account_due(struct passes *p)
{
	struct tally t = minus(p->pass, p->due);

	p->due = p->pass;
	account(p, &t, 1);
}

/* ---- Passes ---- */

/* One pass, or what of it the time was enough for; false when the program cannot go on. */
static bool simulate_pass(struct passes *p)
{
	uint32_t translations = fl_agent_mm(p->agent)->translations;
	bool ok = true;

	p->pass = p->due = (struct tally){ 0 };
	for (uint32_t i = 0; i < p->count && ok && !is_over(p); i++) {
		ok = access_page(p, p->start + place_of(p, i) * p->stride) && !p->agent->process->dying;
		if (p->timed && p->pass.accesses % BATCH == 0)
			account_due(p);
		fl_cond_resched(p->agent->task);
	}
	if (!ok && !p->timed)
		return false;
	account_due(p);
	p->agreeing = p->pass.walks == p->last.walks && p->pass.l2_hits == p->last.l2_hits &&
				      p->pass.accesses == p->count && translations == p->translations ?
			      p->agreeing + 1 :
			      0;
	p->last = p->pass;
	p->translations = translations;
	return ok;
}

static bool is_steady(const struct passes *p)
{
	return p->op->pattern == FL_PATTERN_ORDER && p->agreeing >= STEADY &&
	       fl_agent_mm(p->agent)->translations == p->translations;
}

/* Passes as the last one was: as many as fit into REPEATED_NS and into the rest of the time, or the part of one that does. */
static void repeat_passes(struct passes *p)
{
	const struct tally *t = &p->last;
	fl_ns left = p->end - fl_task_now(p->agent->task), window = left < REPEATED_NS ? left : REPEATED_NS;
	uint64_t pass = mcycles_of(p, t), times = window * p->mhz / pass, room;
	struct tally part;

	if (times || pass / p->mhz < left) {
		account(p, t, times ? times : 1);
		return;
	}
	room = left * p->mhz;
	part = (struct tally){ t->accesses * room / pass + 1, t->l2_hits * room / pass, t->walks * room / pass };
	account(p, &part, 1);
}

static void access_for_a_time(struct passes *p)
{
	while (!is_over(p) && !p->agent->process->dying) {
		if (is_steady(p))
			repeat_passes(p);
		else if (!simulate_pass(p))
			break;
	}
}

static void access_in_passes(struct passes *p)
{
	for (uint64_t pass = 0; pass < p->op->count && !p->agent->process->dying; pass++) {
		if (is_steady(p))
			account(p, &p->last, 1);
		else if (!simulate_pass(p))
			break;
		if (p->op->time_ns)
			fl_task_sleep(p->agent->task, p->op->time_ns);
	}
}

/* ---- The verb ---- */

/* Costs: of the script, else of the CPU that it names, else of the table. */
static void set_speed(struct passes *p, const struct fl_tlb_cpu *cpu)
{
	const struct fl_op *op = p->op;
	const struct fl_cost *cost = p->agent->vm->mem->cost;
	bool named = op->text[0];

	p->mhz = op->mhz ? op->mhz : named ? cpu->mhz : 1000;
	p->access_mcycles = named ? cpu->access_mcycles : cost->access * p->mhz;
	p->l2_mcycles = named ? cpu->l2_mcycles : 0;
	p->walk_mcycles = named ? cpu->walk_mcycles : cost->tlb_miss * p->mhz;
	if (op->has_speed & FL_OP_HAS_ACCESS)
		p->access_mcycles = op->access_mcycles;
	if (op->has_speed & FL_OP_HAS_L2)
		p->l2_mcycles = op->l2_mcycles;
	if (op->has_speed & FL_OP_HAS_WALK)
		p->walk_mcycles = op->walk_mcycles;
}

int64_t fl_sim_access(struct fl_agent *agent, const struct fl_op *op, fl_vpn start, uint32_t pages, uint32_t stride)
{
	struct passes p = { .agent = agent, .op = op, .start = start, .count = (pages + stride - 1) / stride,
			    .stride = stride, .timed = !op->count, .end = fl_task_now(agent->task) + op->time_ns,
			    .last = { .walks = UINT64_MAX } };
	const struct fl_tlb_cpu *cpu = op->text[0] ? fl_tlb_cpu_find(op->text) : fl_tlb_cpu_at(0);

	if (!cpu)
		return fl_sim_refuse(agent, "there is no TLB of a CPU \"%s\"", op->text);
	set_speed(&p, cpu);
	if (p.timed && !p.access_mcycles)
		return fl_sim_refuse(agent, "accesses that take no time would never end; give access_mcycles");
	if (!agent->tlb)
		agent->tlb = fl_xmalloc(sizeof(*agent->tlb));
	fl_tlb_init(agent->tlb, cpu);
	fl_rng_init(&p.rng, op->draw, "access", 0);
	if (op->flags & FL_OP_RANDOM)
		p.order = fl_rng_shuffled(p.count, p.count, op->draw);
	if (p.timed)
		access_for_a_time(&p);
	else
		access_in_passes(&p);
	free(p.order);
	return (int64_t)p.done;
}
