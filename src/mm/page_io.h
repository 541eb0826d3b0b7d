/*
 * mm/page_io.h - requests of pages to block devices: the bio. Used by swap, page cache and writeback only.
 *
 * The pages of a request are locked (reads) or under writeback (writes) until it completes, so they are neither freed nor
 * moved; `end` is called for each in the name of the interrupt.
 */
#ifndef FL_MM_PAGE_IO_H
#define FL_MM_PAGE_IO_H

#include "mm/mem.h"
#include "mm/virtio_blk.h"
#include "sim/device.h"

#define FL_BIO_PAGES 256u /* BIO_MAX_VECS */
#define FL_WAIT_TABLE 64u

struct fl_bio {
	struct fl_bio *next, *prev;
	struct fl_mem *mem;
	void (*end)(struct fl_mem *mem, struct fl_caller *irq, fl_pfn folio);
	struct fl_waitqueue *slot_wait; /* of those who wait for a place in the device's queue; may be NULL */
	struct fl_device *device;
	struct fl_virtio_request virtio; /* what it takes while it is under way */
	uint32_t count;
	fl_pfn *folio; /* behind the struct, in the same piece of memory */
};

struct fl_page_io {
	struct fl_bio bios; /* list head: requests under way */
	struct fl_waitqueue table[FL_WAIT_TABLE]; /* folio_wait_table */
};

/*
 * struct blk_plug: swap writes that a reclaimer holds back, so that neighbouring slots become one request and the folios are
 * back on their lists when it completes (only then can they be rotated). Submitted when as many requests as
 * BLK_MAX_REQUEST_COUNT have gathered, when one of them has grown to BLK_PLUG_FLUSH_SIZE, before the reclaimer sleeps,
 * and at the end.
 */
#define FL_PLUG_REQUESTS 32u
#define FL_PLUG_FLUSH_BYTES (128u << 10)
#define FL_PLUG_FOLIOS 1024u
struct fl_plug {
	uint32_t count;    /* folios */
	uint32_t requests; /* runs of neighbouring slots among them */
	uint64_t last_bytes; /* of the last run */
	fl_pfn folio[FL_PLUG_FOLIOS];
};

void fl_page_io_init(struct fl_page_io *io);
/* Requests under way are forgotten: call when the devices have stopped. */
void fl_page_io_fini(struct fl_page_io *io);

/* Submits `count` folios as one request; device NULL: completes at once. */
void fl_bio_submit(struct fl_mem *mem, struct fl_caller *who, struct fl_device *device, const fl_pfn *folio,
		   uint32_t count, bool write, struct fl_waitqueue *slot_wait,
		   void (*end)(struct fl_mem *mem, struct fl_caller *irq, fl_pfn folio));

/* Sleeps while the folio has `flag` (FL_LOCKED or FL_WRITEBACK), at most until the next completion on it: what is at that
 * frame must be looked at again. May switch. */
void fl_folio_wait_bit(struct fl_mem *mem, struct fl_caller *who, fl_pfn folio, uint32_t flag);
/* The same for a folio that is locked or on its way to another frame (FL_LOCKED, FL_MIGRATING). */
void fl_folio_wait_busy(struct fl_mem *mem, struct fl_caller *who, fl_pfn folio);
void fl_folio_wake(struct fl_mem *mem, fl_pfn folio);

#endif
