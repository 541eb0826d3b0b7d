/*
 * tests/mm/fixture.h - small machines for the tests of mm: one zone or several, any kernel, no time.
 */
#ifndef FL_TESTS_MM_FIXTURE_H
#define FL_TESTS_MM_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/rng.h"
#include "base/text.h"
#include "kernel/kernel.h"
#include "mm/buddy.h"
#include "mm/check.h"
#include "mm/mem.h"
#include "mm/page_alloc.h"
#include "mm/page_isolation.h"
#include "mm/pageblock.h"
#include "mm/pcp.h"
#include "mm/watermark.h"

/* A machine under test, with one caller per CPU. */
struct fixture {
	struct fl_geometry geometry;
	struct fl_settings settings;
	struct fl_kernel kernel;
	struct fl_sim *sim; /* NULL: no time */
	struct fl_mem *mem;
	struct fl_task task[4];
	struct fl_caller who;
};

/* Geometry of pages of 4K: zones given as consecutive spans in pageblocks of 512 from pfn 0; 0 for none. */
static inline void fixture_geometry(struct fixture *f, unsigned int dma32_blocks, unsigned int normal_blocks,
				    unsigned int cpus)
{
	struct fl_geometry *g = &f->geometry;
	fl_pfn border = dma32_blocks * 512, end = border + normal_blocks * 512;

	*g = (struct fl_geometry){ .page_shift = 12, .pageblock_order = 9, .max_order = 10, .pmd_order = 9,
				   .cpus = cpus, .ranges_count = 1 };
	g->zone[FL_ZONE_DMA32] = (struct fl_pfn_range){ 0, border };
	g->zone[FL_ZONE_NORMAL] = (struct fl_pfn_range){ border, end };
	g->ranges[0] = (struct fl_pfn_range){ 0, end };
	fl_settings_init(&f->settings, g);
	f->settings.thp_enabled = FL_THP_NEVER;
}

/* Boots the machine of f->geometry and f->settings with this kernel. */
static inline void fixture_boot(struct fixture *f, const char *kernel)
{
	struct fl_error error = { 0 };

	if (fl_kernel_parse(kernel, &f->kernel, &error) < 0)
		fail_msg("%s", error.text);
	f->mem = fl_mem_new(&(struct fl_mem_config){
		.geometry = &f->geometry,
		.decide = &f->kernel.decide,
		.settings = &f->settings,
		.cost = &fl_cost_default,
		.sim = f->sim,
	});
	for (unsigned int cpu = 0; cpu < 4; cpu++)
		f->task[cpu] = (struct fl_task){ .cpu = (uint16_t)cpu, .name = "test" };
	f->who = (struct fl_caller){ .task = &f->task[0] };
}

/* The usual machine: `normal_blocks` pageblocks of zone Normal alone. */
static inline void fixture_normal(struct fixture *f, const char *kernel, unsigned int normal_blocks)
{
	fixture_geometry(f, 0, normal_blocks, 1);
	fixture_boot(f, kernel);
}

static inline void fixture_done(struct fixture *f)
{
	fl_mem_check(f->mem);
	fl_mem_free(f->mem);
	f->mem = NULL;
}

static inline struct fl_zone *fixture_zone(struct fixture *f)
{
	return &f->mem->zone[FL_ZONE_NORMAL];
}

/* Requests without reclaim, straight from the buddy lists or through the per-CPU lists. */
#define GFP_MOVABLE_NOW (FL_GFP_HIGHUSER_MOVABLE & ~FL_GFP_RECLAIM)
#define GFP_UNMOVABLE_NOW (FL_GFP_KERNEL & ~FL_GFP_RECLAIM)
#define GFP_RECLAIMABLE_NOW (GFP_UNMOVABLE_NOW | FL_GFP_RECLAIMABLE_BIT)

static inline fl_pfn take_buddy(struct fixture *f, unsigned int order, unsigned int type, uint32_t alloc_flags)
{
	enum fl_rmqueue_mode mode = FL_RMQUEUE_NORMAL;
	fl_pfn pfn = fl_rmqueue(f->mem, &f->who, fixture_zone(f), order, type, alloc_flags, &mode);

	if (pfn != FL_PFN_NONE)
		fl_page_prep(f->mem, pfn, order, type == FL_MOVABLE ? FL_KIND_ANON : FL_KIND_KERNEL);
	return pfn;
}

/* Frees past the per-CPU lists. */
static inline void give_buddy(struct fixture *f, fl_pfn pfn, unsigned int order)
{
	if (fl_kind_is_unmovable(fl_state_kind(f->mem->frames.state[pfn])))
		fl_page_set_kind(f->mem, pfn, FL_KIND_ANON); /* keeps the pageblock's counts */
	f->mem->frames.state[pfn] = fl_state(FL_KIND_INTERIOR, 0);
	fl_free_to_buddy(f->mem, &f->who, fl_zone_of(f->mem, pfn), pfn, order, false);
}

/* Marks an allocated page as being on the LRU, as the half rule counts it. */
static inline void set_lru(struct fixture *f, fl_pfn pfn, bool on)
{
	uint32_t *state = &f->mem->frames.state[pfn];
	uint16_t pages = (uint16_t)(1u << fl_state_order(*state));

	*state = on ? *state | FL_LRU : *state & ~FL_LRU;
	fl_pageblock_of(f->mem, pfn)->lru = (uint16_t)(fl_pageblock_of(f->mem, pfn)->lru + (on ? pages : -pages));
}

/* The requests since record_requests(), from the trace: order and gfp. */
struct requests {
	unsigned int count, order[64];
	fl_gfp gfp[64];
	bool failed[64];
};

static inline void record_request(void *arg, const struct fl_trace_event *event)
{
	struct requests *r = arg;

	if (r->count == 64)
		return;
	r->failed[r->count] = event->arg[0] == FL_PFN_NONE;
	r->order[r->count] = (unsigned int)event->arg[1];
	r->gfp[r->count++] = (fl_gfp)event->arg[3];
}

static inline void record_requests(struct fixture *f, struct requests *r)
{
	*r = (struct requests){ 0 };
	f->mem->trace = (struct fl_trace_sink){ UINT64_C(1) << FL_TRACE_mm_page_alloc, record_request, r };
}

#endif
