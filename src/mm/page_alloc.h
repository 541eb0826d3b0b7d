/*
 * mm/page_alloc.h - requests for pages: the fast path, the slow path, and frees. Mirrors mm/page_alloc.c.
 */
#ifndef FL_MM_PAGE_ALLOC_H
#define FL_MM_PAGE_ALLOC_H

#include "mm/mem.h"

/* alloc_flags (allocator.md 2.1); the mark to test is in the low two bits. */
#define FL_ALLOC_WMARK_MASK 0x3u
#define FL_ALLOC_NO_WATERMARKS 0x4u
#define FL_ALLOC_OOM 0x8u
#define FL_ALLOC_NON_BLOCK 0x10u
#define FL_ALLOC_MIN_RESERVE 0x20u
#define FL_ALLOC_NOFRAGMENT 0x100u
#define FL_ALLOC_HIGHATOMIC 0x200u
#define FL_ALLOC_KSWAPD 0x800u
#define FL_ALLOC_RESERVES \
	(FL_ALLOC_NON_BLOCK | FL_ALLOC_MIN_RESERVE | FL_ALLOC_HIGHATOMIC | FL_ALLOC_OOM)

/* struct alloc_context, with the request. */
struct fl_alloc_context {
	fl_gfp gfp;
	unsigned int order;
	unsigned int type;      /* migratetype */
	unsigned int ceiling;   /* highest zone index */
	unsigned int preferred; /* zone index of the first populated zone at or below the ceiling */
	enum fl_kind kind;      /* what the frame becomes */
};

/*
 * Allocates 2^order contiguous pages and returns the first, or FL_PFN_NONE: a modelled result, never an error. The
 * head frame becomes `kind` with refcount 1 and no flags; owner and index are the caller's to set. May switch when
 * the request may reclaim. Models __alloc_pages() (6.12), __alloc_frozen_pages() (7.3).
 */
fl_pfn fl_page_alloc(struct fl_mem *mem, struct fl_caller *who, fl_gfp gfp, unsigned int order, enum fl_kind kind);

/*
 * Bulk request of order-0 pages (alloc_pages_bulk): fills `ret` with up to `count` pages from the per-CPU list of the
 * first zone that stays above its low mark and returns how many; emits no mm_page_alloc. Falls back to one ordinary
 * request when that gives nothing, for a single page, and for FL_GFP_ACCOUNT. Used by vmalloc and kernel stacks.
 */
unsigned int fl_page_alloc_bulk(struct fl_mem *mem, struct fl_caller *who, fl_gfp gfp, unsigned int count,
				enum fl_kind kind, fl_pfn *ret);

/* Frees 2^order pages from pfn, which must be an allocated head of that order on no list. Never switches.
 * Models free_unref_page() (6.12), free_frozen_pages() (7.3). */
void fl_page_free(struct fl_mem *mem, struct fl_caller *who, fl_pfn pfn, unsigned int order);

/* Cuts an allocated chunk of `order` into 2^order order-0 heads of the same kind (split_page). */
void fl_page_split(struct fl_mem *mem, fl_pfn pfn, unsigned int order);

/* Changes the kind of an allocated head and keeps the pageblock's counts right (kernel page to slab, ...). */
void fl_page_set_kind(struct fl_mem *mem, fl_pfn pfn, enum fl_kind kind);

/* get_page_from_freelist(): one walk over the zones with these alloc_flags; FL_PFN_NONE if none gave a page. */
fl_pfn fl_get_page_from_freelist(struct fl_mem *mem, struct fl_caller *who, const struct fl_alloc_context *ac,
				 uint32_t alloc_flags);

/* __alloc_pages_slowpath(); see slowpath.c. May switch. */
fl_pfn fl_alloc_slowpath(struct fl_mem *mem, struct fl_caller *who, const struct fl_alloc_context *ac);

/* Makes an allocated page of a chunk that was taken by other ways (capture, isolation): what prep_new_page does. */
void fl_page_prep(struct fl_mem *mem, fl_pfn pfn, unsigned int order, enum fl_kind kind);

/* alloc_flags_nofragment(): FL_ALLOC_NOFRAGMENT or 0 (allocator.md 2.2). */
uint32_t fl_alloc_flags_nofragment(const struct fl_mem *mem, const struct fl_alloc_context *ac);

#endif
