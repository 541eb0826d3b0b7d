/*
 * mm/page_writeback.h - dirty pages of files: limits, throttling of writers, the flusher. Mirrors mm/page-writeback.c and
 * fs/fs-writeback.c.
 */
#ifndef FL_MM_PAGE_WRITEBACK_H
#define FL_MM_PAGE_WRITEBACK_H

#include "mm/filemap.h"

void fl_writeback_init(struct fl_mem *mem);
void fl_writeback_fini(struct fl_mem *mem);

/* Makes and starts the flusher task (a kworker of writeback). Without it nobody writes file pages but fsync. */
struct fl_task *fl_flusher_start(struct fl_mem *mem);

/* wakeup_flusher_threads(): write everything that is dirty (reclaim met only dirty folios). */
void fl_wakeup_flushers(struct fl_mem *mem);

/* global_dirty_limits(): in pages; ratios are of dirtyable memory. */
void fl_global_dirty_limits(const struct fl_mem *mem, unsigned long *background, unsigned long *dirty);
unsigned long fl_dirtyable_pages(const struct fl_mem *mem);

/* nr_dirty, nr_writeback: file pages only. */
unsigned long fl_nr_dirty(const struct fl_mem *mem);
unsigned long fl_nr_writeback(const struct fl_mem *mem);

/* filemap_dirty_folio(): FL_DIRTY, nr_dirtied, and the file joins the list of dirty ones. */
void fl_file_mark_dirty(struct fl_mem *mem, fl_pfn folio);
/* folio_clear_dirty_for_io() without write (truncation, lazy drop). */
void fl_file_clear_dirty(struct fl_mem *mem, fl_pfn folio);
/* Starts the write of one dirty folio (pageout of reclaim in 6.12). */
void fl_file_writepage(struct fl_mem *mem, struct fl_caller *who, fl_pfn folio);

/* balance_dirty_pages(): may sleep while dirty and writeback pages are over the limit. May switch. */
void fl_balance_dirty_pages(struct fl_mem *mem, struct fl_caller *who);

/* Waits until the folio is no longer under writeback; it may have gone meanwhile. May switch. */
void fl_folio_wait_writeback(struct fl_mem *mem, struct fl_caller *who, fl_pfn folio);
/* folio_end_writeback(): for completions of file and swap writes; rotates a folio with FL_RECLAIM to the inactive tail. */
void fl_folio_end_writeback(struct fl_mem *mem, struct fl_caller *who, fl_pfn folio);

#endif
