/*
 * observe/kpageflags.h - the census of a live kernel, from /proc/kpageflags and /proc/kpagecount.
 *
 * Needs root (the files are mode 0400 and show zeroes to others). Takes some 0.1 s for 16 GiB, and is not atomic:
 * pages come and go meanwhile. What these files do not tell: types of pageblocks (types_known is false), pages on
 * per-CPU lists (they look like kernel pages: census->zones[].pcp says how many there are, block->unidentified where
 * they may be), and whether a page on the LRU is pinned.
 */
#ifndef FL_OBSERVE_KPAGEFLAGS_H
#define FL_OBSERVE_KPAGEFLAGS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/census.h"
#include "base/error.h"
#include "base/text.h"

/* Bits of /proc/kpageflags (include/uapi/linux/kernel-page-flags.h and fs/proc/page.c). */
enum fl_kpf {
	FL_KPF_UPTODATE = 3, FL_KPF_LRU = 5, FL_KPF_SLAB = 7, FL_KPF_BUDDY = 10, FL_KPF_MMAP = 11, FL_KPF_ANON = 12,
	FL_KPF_SWAPCACHE = 13, FL_KPF_SWAPBACKED = 14, FL_KPF_HEAD = 15, FL_KPF_TAIL = 16, FL_KPF_HUGE = 17,
	FL_KPF_UNEVICTABLE = 18, FL_KPF_HWPOISON = 19, FL_KPF_NOPAGE = 20, FL_KPF_THP = 22, FL_KPF_OFFLINE = 23,
	FL_KPF_PGTABLE = 26, FL_KPF_RESERVED = 32,
};

/*
 * Class of one page by its flags alone. A folio of PMD order is known only from its run of tail pages: THP comes back
 * as ANON or FILE here and the census turns it into HUGE. *ret_unidentified: no flag tells what the page is.
 */
enum fl_census_class fl_kpageflags_classify(uint64_t flags, bool *ret_unidentified);

/*
 * Takes the census of the host under `root` ("" or "/" is this host; otherwise a directory with proc/zoneinfo,
 * proc/kpageflags and, if they are there, proc/kpagecount, proc/pagetypeinfo, proc/iomem and
 * sys/kernel/mm/transparent_hugepage/hpage_pmd_size). Class LACKING without permission, INPUT for malformed files.
 * *ret: fl_census_free().
 */
int fl_census_read_live(const char *root, struct fl_census *ret, struct fl_error *reterr);
/* The same; what could not be read and was done without is added to *notes, one sentence a line. */
int fl_census_read_noted(const char *root, struct fl_census *ret, struct fl_text *notes, struct fl_error *reterr);

/* The pages behind a census, from the pageblock of the first zone to that of the last. */
struct fl_census_pages {
	uint64_t first_pfn, count;
	uint8_t *class; /* enum fl_census_class */
	uint8_t *order; /* of the folio that a page on the LRU belongs to, below the PMD order; else 0 */
	bool *unsure;   /* nothing identifies it: kernel memory, or on a per-CPU list */
};
/* The same census with its pages; *pages: fl_census_pages_free(). */
int fl_census_read_pages(const char *root, struct fl_census *ret, struct fl_census_pages *pages, struct fl_error *reterr);
void fl_census_pages_free(struct fl_census_pages *pages);

#endif
