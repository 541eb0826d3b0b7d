/* mm/writeback_internal.h - state of writeback, shared by page_writeback.c, filemap.c and page_io.c. */
#ifndef FL_MM_WRITEBACK_INTERNAL_H
#define FL_MM_WRITEBACK_INTERNAL_H

#include "mm/page_io.h"
#include "mm/page_writeback.h"

struct fl_writeback {
	struct fl_page_io io;
	uint64_t dirty, writeback; /* NR_FILE_DIRTY, NR_WRITEBACK of files: pages */
	struct fl_task *flusher;
	struct fl_caller flusher_caller;
	struct fl_waitqueue flusher_wait, balance_wait, queue_wait;
	bool write_all; /* wakeup_flusher_threads(): until nothing is dirty that was dirty then */
	bool over_background;
};

#endif
