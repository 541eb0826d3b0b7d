/*
 * mm/virtio_blk.c - kernel memory of requests to virtio disks, which the disks of a guest are. Follows virtblk_map_data() of
 * drivers/block/virtio_blk.c, alloc_indirect_split() of drivers/virtio/virtio_ring.c and lib/sg_pool.c.
 *
 * A request takes a table of descriptors of 16 bytes, two more than it has segments, by kmalloc(GFP_ATOMIC), and a scatter
 * list of 32 bytes for each segment beyond the first from the sg pools. Both are freed when it completes. The slabs of
 * the larger sizes are chunks of order 1 to 3: where memory is tight these are what high-order atomic requests are made
 * of, so what wakes kswapd for an order, and what the HighAtomic reserve grows by.
 */
#include "mm/virtio_blk.h"

#include "mm/internal.h"

#define DESCRIPTOR_BYTES 16u /* struct vring_desc */
#define INLINE_SEGMENTS 2u   /* VIRTIO_BLK_INLINE_SG_CNT; the last of them links to the next chunk when there is one */
#define CHUNK_SEGMENTS 128u  /* SG_CHUNK_SIZE */

uint32_t fl_virtio_segments(const struct fl_mem *mem, const fl_pfn *folio, uint32_t count)
{
	uint32_t segments = 1;

	for (uint32_t i = 1; i < count; i++)
		segments += folio[i] != folio[i - 1] + fl_folio_pages(mem, folio[i - 1]);
	return segments;
}

static enum fl_slab_cache kmalloc_cache(uint32_t bytes)
{
	static const struct {
		uint32_t bytes;
		enum fl_slab_cache cache;
	} sizes[] = {
		{ 64, FL_SLAB_kmalloc_64 },   { 96, FL_SLAB_kmalloc_96 },   { 128, FL_SLAB_kmalloc_128 },
		{ 192, FL_SLAB_kmalloc_192 }, { 256, FL_SLAB_kmalloc_256 }, { 512, FL_SLAB_kmalloc_512 },
		{ 1024, FL_SLAB_kmalloc_1k }, { 2048, FL_SLAB_kmalloc_2k }, { 4096, FL_SLAB_kmalloc_4k },
	};
	unsigned int i = 0;

	while (sizes[i].bytes < bytes && i + 1 < sizeof(sizes) / sizeof(sizes[0]))
		i++;
	return sizes[i].cache;
}

/* sg_pool_index() */
static enum fl_slab_cache sg_cache(uint32_t segments)
{
	if (segments <= 8)
		return FL_SLAB_sgpool_8;
	if (segments <= 16)
		return FL_SLAB_sgpool_16;
	if (segments <= 32)
		return FL_SLAB_sgpool_32;
	return segments <= 64 ? FL_SLAB_sgpool_64 : FL_SLAB_sgpool_128;
}

/* A pool (mempool_alloc) does without the reserves that NOMEMALLOC forbids, and has objects of its own when that fails. */
static fl_object sg_alloc(struct fl_mem *mem, struct fl_caller *who, uint32_t segments)
{
	return fl_slab_alloc(mem, who, sg_cache(segments),
			     FL_GFP_ATOMIC | FL_GFP_NOMEMALLOC | FL_GFP_NORETRY | FL_GFP_NOWARN);
}

void fl_virtio_request_begin(struct fl_mem *mem, struct fl_caller *who, uint32_t segments, struct fl_virtio_request *ret)
{
	uint32_t behind = segments > INLINE_SEGMENTS ? segments - (INLINE_SEGMENTS - 1) : 0;

	ret->sg[0] = ret->sg[1] = FL_OBJECT_NONE;
	if (behind > CHUNK_SEGMENTS) {
		ret->sg[0] = sg_alloc(mem, who, CHUNK_SEGMENTS);
		behind -= CHUNK_SEGMENTS - 1;
		ret->sg[1] = sg_alloc(mem, who, behind);
	} else if (behind) {
		ret->sg[0] = sg_alloc(mem, who, behind);
	}
	ret->descriptors = fl_slab_alloc(mem, who, kmalloc_cache((segments + 2) * DESCRIPTOR_BYTES), FL_GFP_ATOMIC);
}

void fl_virtio_request_end(struct fl_mem *mem, struct fl_caller *irq, const struct fl_virtio_request *request)
{
	fl_slab_free(mem, irq, request->descriptors);
	fl_slab_free(mem, irq, request->sg[0]);
	fl_slab_free(mem, irq, request->sg[1]);
}
