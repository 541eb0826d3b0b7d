/*
 * tests/mm/fault_fixture.h - one machine and one address space under test, for tests of faults and of memory advice.
 */
#ifndef FL_TESTS_MM_FAULT_FIXTURE_H
#define FL_TESTS_MM_FAULT_FIXTURE_H

#include "fixture.h"

#include "mm/huge_memory.h"
#include "mm/memory.h"
#include "mm/rmap.h"
#include "mm/swap.h"

static struct fixture f;
static struct fl_mm *mm;

static inline void start(const char *kernel, unsigned int blocks, enum fl_thp_enabled thp)
{
	fixture_geometry(&f, 0, blocks, 1);
	f.settings.thp_enabled = thp;
	fixture_boot(&f, kernel);
	mm = fl_mm_new(f.mem, &f.who);
	assert_non_null(mm);
}

static inline void end(void)
{
	fl_mem_check(f.mem);
	fl_mm_exit(f.mem, &f.who, mm);
	fixture_done(&f);
}

static inline fl_vpn map(uint32_t pages, uint32_t flags)
{
	return fl_mmap(f.mem, &f.who, mm, &(struct fl_map_request){ .pages = pages, .flags = flags });
}

static inline void touch(fl_vpn start_vpn, uint32_t pages, bool write)
{
	struct fl_touched t = fl_touch_range(f.mem, &f.who, mm, start_vpn, pages, 1, write);

	assert_int_equal(t.end, FL_FAULT_DONE);
	assert_int_equal(t.accesses, pages);
}

static inline uint64_t vm(enum fl_vm_event event)
{
	return f.mem->vm[event];
}

static inline uint64_t mthp(unsigned int order, enum fl_mthp_stat stat)
{
	return f.mem->mthp[order][stat];
}

static inline uint64_t unmovable_pages(void)
{
	uint64_t pages = 0;

	for (uint32_t b = 0; b < f.mem->pageblocks; b++)
		pages += f.mem->pageblock[b].unmovable;
	return pages;
}

static inline fl_pfn page_at(fl_vpn vpn)
{
	fl_pte pte = fl_pte_look(f.mem, mm, vpn);

	assert_true(fl_pte_is_present(pte));
	return fl_pte_pfn(pte);
}

#endif
