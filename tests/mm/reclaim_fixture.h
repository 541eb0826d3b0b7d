/*
 * tests/mm/reclaim_fixture.h - machines with a page cache, anonymous memory and swap: without time for single rules (devices
 * answer at once), with time for loads.
 */
#ifndef FL_TESTS_MM_RECLAIM_FIXTURE_H
#define FL_TESTS_MM_RECLAIM_FIXTURE_H

#include "fixture.h"
#include "mm/compaction.h"
#include "mm/filemap.h"
#include "mm/internal.h"
#include "mm/memory.h"
#include "mm/oom_kill.h"
#include "mm/page_writeback.h"
#include "mm/rmap.h"
#include "mm/slowpath.h"
#include "mm/swap.h"
#include "mm/swapfile.h"
#include "mm/vmscan.h"
#include "mm/workingset.h"

#define BASE_612 "6.12"
#define BASE_73 "7.3"

static inline enum fl_lru_list lru_of(const struct fixture *f, fl_pfn pfn)
{
	return fl_state_lru_list(f->mem->frames.state[pfn]);
}

static inline uint64_t counter(const struct fixture *f, enum fl_vm_event event)
{
	return f->mem->vm[event];
}

/* Reads `pages` of a new file once; all of it is on the inactive list afterwards. */
static inline fl_mapping_id read_file(struct fixture *f, uint32_t pages)
{
	fl_mapping_id id = fl_file_create(f->mem, FL_MAPPING_REGULAR, NULL, pages);

	assert_int_equal(fl_file_read(f->mem, &f->who, id, 0, pages), pages);
	fl_lru_add_drain_all(f->mem, &f->who);
	return id;
}

/* Forgets that the pages of a file were used, as reclaim would at its first look. */
static inline void forget_references(struct fixture *f, fl_mapping_id id)
{
	for (uint32_t i = 0; i < fl_file_pages(f->mem, id); i++) {
		fl_pfn pfn = fl_filemap_lookup(f->mem, id, i);

		if (pfn != FL_PFN_NONE)
			f->mem->frames.state[pfn] &= ~(uint32_t)(FL_REFERENCED | FL_YOUNG);
	}
}

struct anon {
	struct fl_mm *mm;
	fl_vpn start;
	uint32_t pages;
};

/* Maps anonymous memory and writes to each page once. */
static inline struct anon touch_anon(struct fixture *f, uint32_t pages)
{
	struct anon a = { .mm = fl_mm_new(f->mem, &f->who), .pages = pages };
	struct fl_touched touched;

	assert_non_null(a.mm);
	a.start = fl_mmap(f->mem, &f->who, a.mm, &(struct fl_map_request){ .pages = pages, .type = FL_VMA_ANON });
	assert_int_not_equal(a.start, FL_VPN_NONE);
	touched = fl_touch_range(f->mem, &f->who, a.mm, a.start, pages, 1, true);
	assert_int_equal(touched.end, FL_FAULT_DONE);
	fl_lru_add_drain_all(f->mem, &f->who);
	return a;
}

static inline fl_pfn anon_page(const struct fixture *f, const struct anon *a, uint32_t i)
{
	fl_pte pte = fl_pte_look(f->mem, a->mm, a->start + i);

	return fl_pte_is_present(pte) ? fl_pte_pfn(pte) : FL_PFN_NONE;
}

/* Clears the accessed bits of all of it, and the memory of them. */
static inline void make_old(struct fixture *f, const struct anon *a)
{
	for (uint32_t i = 0; i < a->pages; i++) {
		fl_pfn pfn = anon_page(f, a, i);

		if (pfn != FL_PFN_NONE)
			f->mem->frames.state[fl_frame_head(&f->mem->frames, pfn)] &= ~(uint32_t)(FL_YOUNG | FL_REFERENCED);
	}
}

/* One slice of a list; pages reclaimed. */
static inline unsigned long slice(struct fixture *f, enum fl_lru_list lru, unsigned long pages)
{
	struct fl_scan_control sc = { .gfp = FL_GFP_KERNEL, .reclaim_idx = FL_ZONES - 1, .may_writepage = true,
				      .may_unmap = true, .may_swap = true,
				      .may_deactivate = FL_DEACTIVATE_ANON | FL_DEACTIVATE_FILE };

	return fl_shrink_list(f->mem, &f->who, lru, pages, &sc);
}

/* A machine of one zone with the kernel's default settings, THP off, and swap of so many pages (0: none). */
static inline void reclaim_boot(struct fixture *f, const char *kernel, unsigned int blocks, uint32_t swap_pages)
{
	fixture_normal(f, kernel, blocks);
	if (swap_pages)
		fl_swapon(f->mem, NULL, swap_pages, false);
}

#endif
