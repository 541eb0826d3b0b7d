/*
 * tests/mm/property_test.c - random operations on tiny machines against a naive allocator (a bitmap of pages in use).
 *
 * For every base version, each patch and a table of random decisions: a list of operations is made from a seed with
 * swarm weights, carried out in a forked process, with the full-state check and the bitmap after each. When a process dies,
 * the list is shrunk to a short one that still fails and printed as a C array. The canary proves that this works.
 *
 * usage: property_test [SEED [CASES]]     other seeds than the fixed ones of the suite
 */
#include "fixture.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bug.h"
#include "base/rng.h"

#define FRAMES_MAX 4096
#define OPS_MAX 400

enum op_code {
	OP_ALLOC,      /* a: type and gfp, b: order, c: CPU */
	OP_FREE,       /* a: which allocation, c: CPU */
	OP_DRAIN,      /* c: CPU, or all */
	OP_DECAY,      /* c: CPU */
	OP_ATOMIC,     /* b: order, c: CPU: grows reserves */
	OP_UNRESERVE,  /* a: type, b: force */
	OP_ISOLATE,    /* a: pageblock */
	OP_UNISOLATE,  /* a: pageblock, b: type */
	OP_LRU,        /* a: which allocation goes to or from the LRU */
	OP_TARGET,     /* a: takes a free chunk as compaction does, and gives it back */
	OP_CAPTURE,    /* a: type, b: order: the next frees are offered to a compactor */
	OP_SPLIT,      /* a: which allocation is cut into pages */
	OP_KIND,       /* a: which allocation becomes another kind of kernel page */
	OP_RECLAIM,    /* toggles RECLAIM_ACTIVE */
	OP_UNBOOST,
	OP_BULK,       /* a: pages, c: CPU */
	OP_RMQUEUE,    /* a: type, flags and mode, b: order, c: zone: past watermarks and per-CPU lists */
	OP_DEFRAG,     /* toggles vm.defrag_mode */
	OP_CANARY,     /* spoils a count: only in the canary's lists */
	OP_CODES
};

static const char *const op_names[] = { "OP_ALLOC",     "OP_FREE",	"OP_DRAIN",  "OP_DECAY",   "OP_ATOMIC", "OP_UNRESERVE",
					"OP_ISOLATE",   "OP_UNISOLATE", "OP_LRU",    "OP_TARGET",  "OP_CAPTURE", "OP_SPLIT",
					"OP_KIND",	"OP_RECLAIM",	"OP_UNBOOST", "OP_BULK",    "OP_RMQUEUE",
					"OP_DEFRAG",	"OP_CANARY" };

struct op {
	uint8_t code, c;
	uint16_t a, b;
};

struct machine {
	const char *kernel; /* NULL: random decisions */
	unsigned int pageblock_order, max_order, pmd_order, blocks, cpus, guard_minorder;
	bool straddle; /* the border of two zones lies inside a pageblock */
	bool movable;  /* there is a zone Movable */
};

/* ---- The naive allocator: which pages are in use, and by which allocation. ---- */

struct allocation {
	fl_pfn pfn;
	uint8_t order;
};

struct world {
	struct fixture f;
	bool used[FRAMES_MAX];
	struct allocation alloc[FRAMES_MAX];
	unsigned int allocs;
	struct fl_capture capture;
	bool capturing, counts_reserves;
	uint64_t managed;
};

#define REQUIRE(cond) FL_ASSERT_MSG(cond, "the naive allocator disagrees")

static void note_alloc(struct world *w, fl_pfn pfn, unsigned int order)
{
	REQUIRE((pfn & ((1u << order) - 1)) == 0 && pfn + (1u << order) <= w->f.mem->frames.count);
	for (unsigned int i = 0; i < 1u << order; i++) {
		REQUIRE(!w->used[pfn + i]);
		w->used[pfn + i] = true;
	}
	w->alloc[w->allocs++] = (struct allocation){ pfn, (uint8_t)order };
}

static struct allocation forget_alloc(struct world *w, unsigned int which)
{
	struct allocation gone = w->alloc[which];

	w->alloc[which] = w->alloc[--w->allocs];
	for (unsigned int i = 0; i < 1u << gone.order; i++)
		w->used[gone.pfn + i] = false;
	return gone;
}

/* What is counted as reserved is what pageblocks of type HighAtomic hold, where isolation cannot take their type away. */
static void check_reserves(struct world *w)
{
	struct fl_mem *mem = w->f.mem;

	if (!w->counts_reserves)
		return;
	for (unsigned int z = 0; z < FL_ZONES; z++) {
		long pages = 0;

		for (fl_pfn at = mem->zone[z].start; at < mem->zone[z].end; at += fl_pageblock_pages(mem))
			if (fl_pageblock_of(mem, at)->type == FL_HIGHATOMIC)
				pages += fl_pageblock_pages(mem);
		REQUIRE(pages == mem->zone[z].nr_reserved_highatomic);
	}
}

/* Everything adds up: pages in use, in the lists, on per-CPU lists and in guards are all that is managed. */
static void check_world(struct world *w)
{
	uint64_t used = 0, sum = 0;
	struct fl_mem *mem = w->f.mem;

	fl_mem_check(mem);
	for (fl_pfn pfn = 0; pfn < mem->frames.count; pfn++)
		used += w->used[pfn];
	for (fl_pfn pfn = 0; pfn < mem->frames.count; pfn++) {
		uint32_t state = mem->frames.state[pfn];
		unsigned int kind = fl_state_kind(state);

		if (kind == FL_KIND_BUDDY || kind == FL_KIND_PCP || kind == FL_KIND_GUARD) {
			sum += 1u << fl_state_order(state);
			for (unsigned int i = 0; i < 1u << fl_state_order(state); i++)
				REQUIRE(!w->used[pfn + i]);
		} else if (fl_kind_is_allocated(kind)) {
			REQUIRE(w->used[pfn]);
			used -= 1u << fl_state_order(state);
		}
	}
	REQUIRE(used == 0);
	for (unsigned int i = 0; i < w->allocs; i++)
		sum += 1u << w->alloc[i].order;
	REQUIRE(sum == w->managed);
	check_reserves(w);
}

/* ---- Operations ---- */

/* None may reclaim or compact: pages would move from under the bitmap. */
static const fl_gfp gfps[] = { GFP_MOVABLE_NOW,
			       GFP_UNMOVABLE_NOW,
			       GFP_RECLAIMABLE_NOW,
			       GFP_UNMOVABLE_NOW | FL_GFP_DMA32,
			       GFP_MOVABLE_NOW | FL_GFP_DMA32,
			       FL_GFP_MOVABLE_BIT,
			       FL_GFP_DMA,
			       FL_GFP_NOWAIT,
			       FL_GFP_KERNEL & ~FL_GFP_DIRECT_RECLAIM,
			       FL_GFP_HIGHUSER_MOVABLE & ~FL_GFP_DIRECT_RECLAIM,
			       (FL_GFP_KERNEL & ~FL_GFP_DIRECT_RECLAIM) | FL_GFP_MEMALLOC };

static void finish_capture(struct world *w)
{
	w->f.who.capture = NULL;
	w->capturing = false;
	if (w->capture.pfn == FL_PFN_NONE)
		return;
	fl_page_prep(w->f.mem, w->capture.pfn, w->capture.order, FL_KIND_KERNEL);
	note_alloc(w, w->capture.pfn, w->capture.order);
}

static void do_alloc(struct world *w, fl_gfp gfp, unsigned int order)
{
	unsigned int type = fl_gfp_migratetype(gfp);
	fl_pfn pfn;

	if (order > w->f.mem->max_order)
		return;
	pfn = fl_page_alloc(w->f.mem, &w->f.who, gfp, order, type == FL_MOVABLE ? FL_KIND_ANON : FL_KIND_KERNEL);
	if (pfn != FL_PFN_NONE)
		note_alloc(w, pfn, order);
}

static void do_free(struct world *w, unsigned int which)
{
	struct allocation gone;

	if (!w->allocs)
		return;
	which %= w->allocs;
	if (w->f.mem->frames.state[w->alloc[which].pfn] & FL_LRU)
		set_lru(&w->f, w->alloc[which].pfn, false);
	gone = forget_alloc(w, which);
	fl_page_free(w->f.mem, &w->f.who, gone.pfn, gone.order);
}

static void do_lru(struct world *w, unsigned int which)
{
	fl_pfn pfn;

	if (!w->allocs)
		return;
	which %= w->allocs;
	pfn = w->alloc[which].pfn;
	if (fl_kind_is_movable(fl_state_kind(w->f.mem->frames.state[pfn])) &&
	    w->alloc[which].order <= w->f.mem->pageblock_order)
		set_lru(&w->f, pfn, !(w->f.mem->frames.state[pfn] & FL_LRU));
}

static void do_split(struct world *w, unsigned int which)
{
	struct allocation whole;

	if (!w->allocs)
		return;
	which %= w->allocs;
	if (w->f.mem->frames.state[w->alloc[which].pfn] & FL_LRU)
		return;
	whole = forget_alloc(w, which);
	fl_page_split(w->f.mem, whole.pfn, whole.order);
	for (unsigned int i = 0; i < 1u << whole.order; i++)
		note_alloc(w, whole.pfn + i, 0);
}

static void do_target(struct world *w, unsigned int at)
{
	struct fl_mem *mem = w->f.mem;

	for (fl_pfn n = 0; n < mem->frames.count; n++) {
		fl_pfn pfn = (at + n) % mem->frames.count;
		unsigned int order = fl_state_order(mem->frames.state[pfn]);

		if (fl_state_kind(mem->frames.state[pfn]) != FL_KIND_BUDDY)
			continue;
		if (fl_isolate_free_page(mem, fl_zone_of(mem, pfn), pfn, order)) {
			fl_page_prep(mem, pfn, order, FL_KIND_ANON);
			fl_page_free(mem, &w->f.who, pfn, order);
		}
		return;
	}
}

static void do_kind(struct world *w, unsigned int which)
{
	fl_pfn pfn;

	if (!w->allocs)
		return;
	pfn = w->alloc[which % w->allocs].pfn;
	if (!(w->f.mem->frames.state[pfn] & FL_LRU))
		fl_page_set_kind(w->f.mem, pfn, which & 1 ? FL_KIND_SLAB : FL_KIND_FILE);
}

static void do_bulk(struct world *w, unsigned int count)
{
	fl_pfn pages[16];
	unsigned int got = fl_page_alloc_bulk(w->f.mem, &w->f.who, GFP_UNMOVABLE_NOW, 1 + count % 16, FL_KIND_STACK, pages);

	for (unsigned int i = 0; i < got; i++)
		note_alloc(w, pages[i], 0);
}

static void do_rmqueue(struct world *w, const struct op *op)
{
	static const uint32_t flags[] = { 0, FL_ALLOC_NOFRAGMENT, FL_ALLOC_KSWAPD, FL_ALLOC_NOFRAGMENT | FL_ALLOC_KSWAPD };
	struct fl_mem *mem = w->f.mem;
	struct fl_zone *zone = &mem->zone[op->c % FL_ZONES];
	unsigned int order = op->b % (mem->max_order + 1);
	unsigned int type = mem->set.grouping_disabled ? FL_UNMOVABLE : op->a % FL_PCPTYPES;
	enum fl_rmqueue_mode mode = FL_RMQUEUE_NORMAL + (op->a >> 4) % 3;

	for (unsigned int n = 0; zone->managed && n < 3; n++) { /* a bulk: the mode lives on */
		fl_pfn pfn = fl_rmqueue(mem, &w->f.who, zone, order, type, flags[(op->a >> 8) % 4], &mode);

		if (pfn == FL_PFN_NONE)
			return;
		REQUIRE(fl_zone_of(mem, pfn) == zone);
		fl_page_prep(mem, pfn, order, type == FL_MOVABLE ? FL_KIND_ANON : FL_KIND_KERNEL);
		note_alloc(w, pfn, order);
	}
}

/* Starts waiting for a chunk, or gives up. */
static void do_capture(struct world *w, const struct op *op)
{
	if (w->capturing) {
		finish_capture(w);
		return;
	}
	w->capture = (struct fl_capture){ .zone = op->a & 16 ? FL_ZONE_DMA32 : FL_ZONE_NORMAL,
					  .order = op->b % w->f.mem->max_order, .type = op->a % FL_PCPTYPES,
					  .pfn = FL_PFN_NONE };
	w->capturing = true;
	w->f.who.capture = &w->capture;
}

static void do_drain(struct world *w, const struct op *op)
{
	if (op->b & 1)
		fl_pcp_drain_all(w->f.mem, &w->f.who, NULL);
	else
		fl_pcp_drain_cpu(w->f.mem, &w->f.who, fixture_zone(&w->f), w->f.task[0].cpu);
}

static void do_unreserve(struct world *w, const struct op *op)
{
	struct fl_alloc_context ac = { .preferred = FL_ZONE_NORMAL, .ceiling = FL_ZONE_NORMAL, .type = op->a % FL_PCPTYPES };

	fl_unreserve_highatomic(w->f.mem, &ac, op->b & 1);
}

static void do_op(struct world *w, const struct op *op)
{
	struct fl_mem *mem = w->f.mem;
	struct fl_zone *zone = fixture_zone(&w->f);
	fl_pfn block = op->a % (mem->geometry.ranges[1].end >> mem->pageblock_order) << mem->pageblock_order;

	w->f.task[0].cpu = op->c % mem->cpus;
	switch (op->code) {
	case OP_ALLOC:
		do_alloc(w, gfps[op->a % (sizeof(gfps) / sizeof(gfps[0]))], op->b % (mem->max_order + 1));
		break;
	case OP_FREE:
		do_free(w, op->a);
		break;
	case OP_DRAIN:
		do_drain(w, op);
		break;
	case OP_DECAY:
		fl_pcp_decay(mem, &w->f.who, zone, w->f.task[0].cpu);
		break;
	case OP_ATOMIC:
		do_alloc(w, FL_GFP_ATOMIC, op->b % 4);
		break;
	case OP_UNRESERVE:
		do_unreserve(w, op);
		break;
	case OP_ISOLATE:
		fl_isolate_pageblock(mem, &w->f.who, block);
		break;
	case OP_UNISOLATE:
		fl_unisolate_pageblock(mem, &w->f.who, block, op->b % FL_PCPTYPES);
		break;
	case OP_LRU:
		do_lru(w, op->a);
		break;
	case OP_TARGET:
		do_target(w, op->a);
		break;
	case OP_CAPTURE:
		do_capture(w, op);
		break;
	case OP_SPLIT:
		do_split(w, op->a);
		break;
	case OP_KIND:
		do_kind(w, op->a);
		break;
	case OP_RECLAIM:
		zone->flags ^= FL_ZONE_RECLAIM_ACTIVE;
		break;
	case OP_UNBOOST:
		zone->watermark_boost = 0;
		break;
	case OP_BULK:
		do_bulk(w, op->a);
		break;
	case OP_RMQUEUE:
		do_rmqueue(w, op);
		break;
	case OP_DEFRAG:
		mem->set.defrag_mode = mem->decide.has_defrag_mode(&(struct fl_no_facts){ 0 }) && !mem->set.defrag_mode;
		break;
	case OP_CANARY:
		if (w->allocs > 3)
			fl_pageblock_of(mem, w->alloc[0].pfn)->free++;
		break;
	}
	/* A captured page is the compactor's before anybody else looks. */
	if (w->capturing && w->capture.pfn != FL_PFN_NONE)
		finish_capture(w);
}

/* ---- Random decisions ---- */

static struct fl_rng decision_rng;
#define VERDICTS(verdict) _Generic((verdict)0, bool: 2, enum fl_capture_verdict: 3, int: 3, default: 40)
#define RANDOM_DECISION(name, verdict, facts, line) \
	static verdict random_##name(const facts *f) \
	{ \
		(void)f; \
		return (verdict)fl_rng_below(&decision_rng, VERDICTS(verdict)); \
	}
FL_DECISIONS(RANDOM_DECISION)
#define RANDOM_MEMBER(name, verdict, facts, line) .name = random_##name,
static const struct fl_decisions random_decisions = { FL_DECISIONS(RANDOM_MEMBER) };

/* ---- Running, shrinking ---- */

static void boot_world(struct world *w, const struct machine *m)
{
	struct fl_geometry *g = &w->f.geometry;
	fl_pfn border = 2u << m->pageblock_order, end = m->blocks << m->pageblock_order;

	if (m->straddle)
		border += 1u << (m->pageblock_order - 1);
	*g = (struct fl_geometry){ .page_shift = 12, .pageblock_order = m->pageblock_order, .max_order = m->max_order,
				   .pmd_order = m->pmd_order, .cpus = m->cpus, .guard_minorder = m->guard_minorder,
				   .ranges_count = 2, .reserved_count = 1 };
	g->zone[FL_ZONE_DMA32] = (struct fl_pfn_range){ 0, border };
	g->zone[FL_ZONE_NORMAL] = (struct fl_pfn_range){ border, end };
	if (m->movable) {
		g->zone[FL_ZONE_NORMAL].end = end - (m->blocks / 4 << m->pageblock_order);
		g->zone[FL_ZONE_MOVABLE] = (struct fl_pfn_range){ g->zone[FL_ZONE_NORMAL].end, end };
	}
	/* A hole and a reserved piece, neither aligned. */
	g->ranges[0] = (struct fl_pfn_range){ 0, end / 2 - 3 };
	g->ranges[1] = (struct fl_pfn_range){ end / 2 + 5, end };
	g->reserved[0] = (struct fl_pfn_range){ end - 21, end - 10 };
	fl_settings_init(&w->f.settings, g);
	w->f.settings.thp_enabled = FL_THP_NEVER;
	w->f.settings.min_free_kbytes = 4;
	w->f.settings.user_min_free_kbytes = 4;
	fixture_boot(&w->f, m->kernel ? m->kernel : "7.3");
	w->counts_reserves = m->kernel && w->f.mem->decide.isolation_keeps_type(&(struct fl_no_facts){ 0 });
	if (!m->kernel)
		w->f.mem->decide = random_decisions;
	for (unsigned int z = 0; z < FL_ZONES; z++) {
		w->managed += w->f.mem->zone[z].managed;
		for (unsigned int cpu = 0; w->f.mem->zone[z].pcp && cpu < m->cpus; cpu++) {
			/* Small machines have batches of 1: give the lists room to be exercised. */
			w->f.mem->zone[z].pcp[cpu].batch = 3;
			w->f.mem->zone[z].pcp[cpu].high_min = 8;
			w->f.mem->zone[z].pcp[cpu].high_max = 64;
		}
	}
}

static void run_ops(const struct machine *m, uint64_t seed, const struct op *ops, unsigned int count)
{
	struct world *w = fl_xcalloc(1, sizeof(*w));

	fl_rng_init(&decision_rng, seed, "decisions", 0);
	boot_world(w, m);
	check_world(w);
	for (unsigned int i = 0; i < count; i++) {
		do_op(w, &ops[i]);
		check_world(w);
	}
	fl_mem_free(w->f.mem);
	fl_xfree(w);
}

/* Runs the list in a process of its own; true when it died. */
static bool dies(const struct machine *m, uint64_t seed, const struct op *ops, unsigned int count, bool loud)
{
	int status;
	pid_t child;

	fflush(NULL);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		if (!loud && !freopen("/dev/null", "w", stderr))
			_exit(3);
		signal(SIGABRT, SIG_DFL);
		run_ops(m, seed, ops, count);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

/* Removes pieces of the list, from halves down to single operations, while it still dies. */
static unsigned int shrink(const struct machine *m, uint64_t seed, struct op *ops, unsigned int count)
{
	struct op shorter[OPS_MAX];

	for (unsigned int piece = count / 2; piece > 0; piece /= 2)
		for (unsigned int at = 0; at + piece <= count;) {
			memcpy(shorter, ops, at * sizeof(*ops));
			memcpy(shorter + at, ops + at + piece, (count - at - piece) * sizeof(*ops));
			if (dies(m, seed, shorter, count - piece, false)) {
				count -= piece;
				memcpy(ops, shorter, count * sizeof(*ops));
			} else {
				at += piece;
			}
		}
	return count;
}

static void print_failure(const struct machine *m, uint64_t seed, const struct op *ops, unsigned int count)
{
	fprintf(stderr, "property: seed %llu, kernel %s, blocks of 2^%u, %u of them, %u CPUs, guards %u, straddle %d, zone Movable %d; shortest list:\n",
		(unsigned long long)seed, m->kernel ? m->kernel : "(random decisions)", m->pageblock_order, m->blocks,
		m->cpus, m->guard_minorder, m->straddle, m->movable);
	fprintf(stderr, "static const struct op ops[] = {\n");
	for (unsigned int i = 0; i < count; i++)
		fprintf(stderr, "\t{ %s, .a = %u, .b = %u, .c = %u },\n", op_names[ops[i].code], ops[i].a, ops[i].b, ops[i].c);
	fprintf(stderr, "};\n");
	dies(m, seed, ops, count, true);
}

/* Operations with swarm weights: some kinds are left out of a list, others are ten times as frequent. */
static unsigned int make_ops(struct fl_rng *rng, struct op *ops)
{
	unsigned int weight[OP_CANARY], total = 0, count = (unsigned int)fl_rng_between(rng, 20, OPS_MAX);

	for (unsigned int code = 0; code < OP_CANARY; code++) {
		weight[code] = fl_rng_chance(rng, 1, 3) ? 0 : (unsigned int)fl_rng_between(rng, 1, 10);
		if (code <= OP_FREE)
			weight[code] = (unsigned int)fl_rng_between(rng, 10, 60);
		total += weight[code];
	}
	for (unsigned int i = 0; i < count; i++) {
		unsigned int pick = (unsigned int)fl_rng_below(rng, total), code = 0;

		while (pick >= weight[code])
			pick -= weight[code++];
		ops[i] = (struct op){ .code = (uint8_t)code, .c = (uint8_t)fl_rng_below(rng, 4),
				      .a = (uint16_t)fl_rng_u64(rng), .b = (uint16_t)fl_rng_u64(rng) };
		/* Low orders are the usual ones. */
		if (code == OP_ALLOC && fl_rng_chance(rng, 2, 3))
			ops[i].b = (uint16_t)fl_rng_below(rng, 3);
	}
	return count;
}

static struct machine make_machine(struct fl_rng *rng, const char *kernel)
{
	struct machine m = { .kernel = kernel };

	m.pageblock_order = (unsigned int)fl_rng_between(rng, 3, 6);
	m.max_order = m.pageblock_order + (unsigned int)fl_rng_between(rng, 0, 1);
	m.pmd_order = m.pageblock_order > 4 && fl_rng_chance(rng, 1, 2) ? m.pageblock_order : m.pageblock_order - 1;
	if (m.pmd_order < 4)
		m.pmd_order = m.max_order > 3 ? m.max_order : 4;
	if (m.pmd_order > m.max_order)
		m.pmd_order = m.max_order;
	m.blocks = (unsigned int)fl_rng_between(rng, 6, FRAMES_MAX / 2 >> m.pageblock_order > 40 ?
								40 :
								FRAMES_MAX / 2 >> m.pageblock_order);
	m.cpus = (unsigned int)fl_rng_between(rng, 1, 3);
	m.straddle = fl_rng_chance(rng, 1, 3);
	m.movable = fl_rng_chance(rng, 1, 3);
	if (fl_rng_chance(rng, 1, 5))
		m.guard_minorder = (unsigned int)fl_rng_between(rng, 1, 2);
	return m;
}

/* Runs `cases` lists; true when all passed. A failure is shrunk and printed. */
static bool property(const char *kernel, uint64_t seed, unsigned int cases)
{
	for (unsigned int i = 0; i < cases; i++) {
		struct op ops[OPS_MAX];
		struct fl_rng rng;
		struct machine m;
		unsigned int count;

		fl_rng_init(&rng, seed, kernel ? kernel : "random", i);
		m = make_machine(&rng, kernel);
		count = make_ops(&rng, ops);
		if (!dies(&m, seed, ops, count, false))
			continue;
		count = shrink(&m, seed, ops, count);
		print_failure(&m, seed, ops, count);
		return false;
	}
	return true;
}

static uint64_t suite_seed = 1;
static unsigned int suite_cases = 40;

static void test_every_kernel_keeps_every_invariant_under_random_operations(void **state)
{
	char spec[128];

	for (unsigned int v = 0; fl_kernel_version_at(v); v++) {
		const struct fl_kernel_version *version = fl_kernel_version_at(v);

		assert_true(property(version->name, suite_seed, suite_cases));
		for (unsigned int p = 0; fl_patch_at(p); p++) {
			bool has = fl_kernel_version_contains(version, fl_patch_at(p)->name);

			snprintf(spec, sizeof(spec), "%s%c%s", version->name, has ? '~' : '+', fl_patch_at(p)->name);
			assert_true(property(spec, suite_seed, suite_cases / 4));
		}
		for (unsigned int s = 0; fl_patch_set_at(s); s++) {
			snprintf(spec, sizeof(spec), "%s+%s", version->name, fl_patch_set_at(s));
			assert_true(property(spec, suite_seed, suite_cases / 4));
		}
	}
}

static void test_random_decisions_are_bad_policy_but_never_corruption(void **state)
{
	assert_true(property(NULL, suite_seed, suite_cases * 3));
}

static void test_canary_is_found_and_shrunk(void **state)
{
	struct op ops[OPS_MAX];
	struct fl_rng rng;
	struct machine m = { .kernel = "7.3", .pageblock_order = 4, .max_order = 5, .pmd_order = 4, .blocks = 16, .cpus = 1 };
	unsigned int count;

	fl_rng_init(&rng, 7, "canary", 0);
	do {
		count = make_ops(&rng, ops);
		assert_false(dies(&m, 7, ops, count, false));
		ops[count - 5].code = OP_CANARY; /* bites only when something is allocated */
	} while (count < 100 || !dies(&m, 7, ops, count, false));
	count = shrink(&m, 7, ops, count);
	assert_true(dies(&m, 7, ops, count, false));
	assert_in_range(count, 2, 8); /* four allocations and the canary, or a bulk and the canary */
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_kernel_keeps_every_invariant_under_random_operations),
		cmocka_unit_test(test_random_decisions_are_bad_policy_but_never_corruption),
		cmocka_unit_test(test_canary_is_found_and_shrunk),
	};

	if (argc > 1)
		suite_seed = strtoull(argv[1], NULL, 10);
	if (argc > 2)
		suite_cases = (unsigned int)strtoul(argv[2], NULL, 10);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
