/*
 * mm/virtio_blk.h - kernel memory that a request to a virtio disk takes while it is under way. Used by page_io.c only.
 */
#ifndef FL_MM_VIRTIO_BLK_H
#define FL_MM_VIRTIO_BLK_H

#include "mm/slab.h"

struct fl_virtio_request {
	fl_object descriptors; /* indirect table of the ring; FL_OBJECT_NONE: the ring's own descriptors serve */
	fl_object sg[2];       /* chunks of the scatter list behind the two entries that each request has */
};

/* Segments of physically neighbouring folios. */
uint32_t fl_virtio_segments(const struct fl_mem *mem, const fl_pfn *folio, uint32_t count);
/* virtblk_map_data() and virtqueue_add_split() in outline, for a request of so many segments. Never switches, cannot fail. */
void fl_virtio_request_begin(struct fl_mem *mem, struct fl_caller *who, uint32_t segments, struct fl_virtio_request *ret);
void fl_virtio_request_end(struct fl_mem *mem, struct fl_caller *irq, const struct fl_virtio_request *request);

#endif
