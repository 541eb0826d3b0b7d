/*
 * mm/slowpath.h - what a request does when the first walk over the zones gave nothing. Part of mm/page_alloc.c.
 *
 * fl_alloc_slowpath() itself is declared in page_alloc.h, where its caller is. The helpers are here because tests state
 * their rules one by one. 6.12 and 7.3 walk the steps in a different order (decision slowpath_compacts_in_loop).
 */
#ifndef FL_MM_SLOWPATH_H
#define FL_MM_SLOWPATH_H

#include "mm/compaction.h"
#include "mm/page_alloc.h"

#define FL_MAX_RECLAIM_RETRIES 16
#define FL_MAX_COMPACT_RETRIES 16

/* gfp_to_alloc_flags(): flags of the slow path without NOFRAGMENT (allocator.md 6.2). */
uint32_t fl_slowpath_alloc_flags(const struct fl_caller *who, const struct fl_alloc_context *ac);

/* __gfp_pfmemalloc_flags(): FL_ALLOC_NO_WATERMARKS, FL_ALLOC_OOM or 0. */
uint32_t fl_reserve_flags(const struct fl_caller *who, fl_gfp gfp);

/* should_reclaim_retry(): does reclaiming again make sense? Counts rounds without progress. */
bool fl_should_reclaim_retry(struct fl_mem *mem, struct fl_caller *who, const struct fl_alloc_context *ac,
			     uint32_t alloc_flags, bool did_some_progress, unsigned int *no_progress_loops);

/* should_compact_retry(): does compacting again make sense? May raise the priority (a lower number). */
bool fl_should_compact_retry(struct fl_mem *mem, const struct fl_caller *who, const struct fl_alloc_context *ac,
			     uint32_t alloc_flags, enum fl_compact_result result,
			     enum fl_compact_priority *priority, unsigned int *retries);

/* may_oom: is a request of this kind allowed to kill (allocator.md 6.5)? Pure. */
bool fl_may_oom_kill(const struct fl_alloc_context *ac);

#endif
