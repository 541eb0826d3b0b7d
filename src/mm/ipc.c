/*
 * mm/ipc.c - memory of pipes and UNIX socket pairs. Follows fs/pipe.c, sock_alloc_send_pskb() and unix_stream_sendmsg().
 */
#include "mm/ipc.h"

#include "base/hash.h"
#include "mm/page_alloc.h"
#include "mm/pool.h"
#include "mm/slab.h"

#define PIPE_DEF_BUFFERS 16
#define PIPE_MAX_BUFFERS 256   /* 1 MiB of 4K pages */
#define PIPE_BUFFER_BYTES 40   /* struct pipe_buffer */
#define SKB_HEAD_MAX 3712      /* SKB_MAX_HEAD(0): the linear part of a message */
#define SKB_OVERHEAD 320       /* struct skb_shared_info behind the head */
#define UNIX_FRAGS_BYTES 32768 /* UNIX_SKB_FRAGS_SZ */

struct chunk {
	fl_pfn pfn;
	uint8_t order;
};

struct ipc {
	fl_object *object; /* of the thing itself, then of queued messages */
	struct chunk *chunk;
	uint32_t objects, own_objects, chunks, own_chunks;
	uint32_t capacity_objects, capacity_chunks;
	bool is_socket, live;
};

struct fl_ipc_table {
	struct fl_pool ipc;
};

void fl_ipc_init(struct fl_mem *mem)
{
	mem->ipc = fl_host_alloc(sizeof(*mem->ipc));
	fl_pool_init(&mem->ipc->ipc, sizeof(struct ipc), 8);
}

static void forget(struct ipc *ipc)
{
	fl_host_free(ipc->object);
	fl_host_free(ipc->chunk);
	ipc->live = false;
}

void fl_ipc_fini(struct fl_mem *mem)
{
	for (uint32_t id = 0; id < mem->ipc->ipc.used; id++)
		if (((struct ipc *)fl_pool_at(&mem->ipc->ipc, id))->live)
			forget(fl_pool_at(&mem->ipc->ipc, id));
	fl_pool_fini(&mem->ipc->ipc);
	fl_host_free(mem->ipc);
	mem->ipc = NULL;
}

static struct ipc *ipc_of(const struct fl_mem *mem, uint32_t id)
{
	struct ipc *ipc = fl_pool_at(&mem->ipc->ipc, id);

	FL_ASSERT(ipc->live);
	return ipc;
}

static bool add_object(struct fl_mem *mem, struct fl_caller *who, struct ipc *ipc, enum fl_slab_cache cache)
{
	fl_object object = fl_slab_alloc(mem, who, cache, FL_GFP_KERNEL | FL_GFP_ACCOUNT);

	if (object == FL_OBJECT_NONE)
		return false;
	if (ipc->objects == ipc->capacity_objects) {
		ipc->capacity_objects += ipc->capacity_objects ? ipc->capacity_objects : 8;
		ipc->object = fl_host_resize(ipc->object, ipc->capacity_objects * sizeof(*ipc->object));
	}
	ipc->object[ipc->objects++] = object;
	return true;
}

static bool add_chunk(struct fl_mem *mem, struct fl_caller *who, struct ipc *ipc, fl_gfp gfp, unsigned int order)
{
	fl_pfn pfn = fl_page_alloc(mem, who, gfp, order, ipc->is_socket ? FL_KIND_SOCKET : FL_KIND_PIPE);

	if (pfn == FL_PFN_NONE)
		return false;
	mem->frames.record[pfn].owner = 0;
	mem->frames.record[pfn].index = 0;
	if (ipc->chunks == ipc->capacity_chunks) {
		ipc->capacity_chunks += ipc->capacity_chunks ? ipc->capacity_chunks : 4;
		ipc->chunk = fl_host_resize(ipc->chunk, ipc->capacity_chunks * sizeof(*ipc->chunk));
	}
	ipc->chunk[ipc->chunks++] = (struct chunk){ pfn, order };
	return true;
}

/* Frees what lies behind the first `objects` and `chunks`, last first. */
static void trim(struct fl_mem *mem, struct fl_caller *who, struct ipc *ipc, uint32_t objects, uint32_t chunks)
{
	while (ipc->objects > objects)
		fl_slab_free(mem, who, ipc->object[--ipc->objects]);
	while (ipc->chunks > chunks) {
		ipc->chunks--;
		fl_page_free(mem, who, ipc->chunk[ipc->chunks].pfn, ipc->chunk[ipc->chunks].order);
	}
}

static uint32_t start(struct fl_mem *mem, bool is_socket)
{
	uint32_t id = fl_pool_get(&mem->ipc->ipc);

	*(struct ipc *)fl_pool_at(&mem->ipc->ipc, id) = (struct ipc){ .is_socket = is_socket, .live = true };
	return id;
}

static bool add_objects(struct fl_mem *mem, struct fl_caller *who, struct ipc *ipc, const enum fl_slab_cache *cache,
			unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		if (!add_object(mem, who, ipc, cache[i]))
			return false;
	return true;
}

/* The array of slots: by kmalloc class, from the page allocator above 8 KiB. */
static bool pipe_slots(struct fl_mem *mem, struct fl_caller *who, struct ipc *ipc, uint32_t slots)
{
	uint32_t bytes = slots * PIPE_BUFFER_BYTES;
	unsigned int order = 0;

	if (bytes <= 8192)
		return add_object(mem, who, ipc, bytes <= 1024 ? FL_SLAB_kmalloc_cg_1k : bytes <= 2048 ?
				  FL_SLAB_kmalloc_cg_2k : bytes <= 4096 ? FL_SLAB_kmalloc_cg_4k : FL_SLAB_kmalloc_cg_8k);
	while (UINT32_C(1) << (mem->page_shift + order) < bytes)
		order++;
	return add_chunk(mem, who, ipc, FL_GFP_KERNEL | FL_GFP_ACCOUNT | FL_GFP_COMP, order);
}

static bool pipe_fill(struct fl_mem *mem, struct fl_caller *who, struct ipc *ipc, uint32_t bytes)
{
	static const enum fl_slab_cache cache[] = { FL_SLAB_inode_cache, FL_SLAB_kmalloc_cg_192, FL_SLAB_dentry,
						    FL_SLAB_filp, FL_SLAB_filp };
	uint32_t pages = ((uint64_t)bytes + (1u << mem->page_shift) - 1) >> mem->page_shift, slots = PIPE_DEF_BUFFERS;

	if (!add_objects(mem, who, ipc, cache, 5))
		return false;
	while (slots < pages && slots < PIPE_MAX_BUFFERS)
		slots *= 2;
	if (pages > slots)
		pages = slots; /* a writer would wait */
	if (!pipe_slots(mem, who, ipc, slots))
		return false;
	ipc->own_objects = ipc->objects;
	ipc->own_chunks = ipc->chunks;
	for (uint32_t i = 0; i < pages; i++)
		if (!add_chunk(mem, who, ipc, FL_GFP_HIGHUSER | FL_GFP_ACCOUNT, 0))
			return false;
	return true;
}

/* alloc_skb_with_frags(): pages of a message, from order 3 down, only single ones with all means. */
static bool message_frags(struct fl_mem *mem, struct fl_caller *who, struct ipc *ipc, uint32_t bytes)
{
	unsigned int order = FL_COSTLY_ORDER;
	uint32_t left = (bytes + (1u << mem->page_shift) - 1) >> mem->page_shift;

	while (left) {
		fl_gfp gfp = FL_GFP_KERNEL;

		while (order && left < 1u << order)
			order--;
		if (order)
			gfp = (gfp & ~FL_GFP_DIRECT_RECLAIM) | FL_GFP_COMP | FL_GFP_NOWARN;
		if (add_chunk(mem, who, ipc, gfp, order))
			left -= 1u << order;
		else if (!order--)
			return false;
	}
	return true;
}

static bool message_send(struct fl_mem *mem, struct fl_caller *who, struct ipc *ipc, uint32_t bytes)
{
	uint32_t page = 1u << mem->page_shift, data = 0, head;
	enum fl_slab_cache cache;

	if (bytes > SKB_HEAD_MAX)
		data = (bytes - SKB_HEAD_MAX + page - 1) & ~(page - 1);
	if (data > bytes)
		data = bytes;
	head = bytes - data + SKB_OVERHEAD;
	cache = head <= 512 ? FL_SLAB_kmalloc_512 : head <= 1024 ? FL_SLAB_kmalloc_cg_1k :
		head <= 2048 ? FL_SLAB_kmalloc_cg_2k : FL_SLAB_kmalloc_cg_4k;
	return add_object(mem, who, ipc, FL_SLAB_skbuff_head_cache) && add_object(mem, who, ipc, cache) &&
	       message_frags(mem, who, ipc, data);
}

/* A stream of `bytes` written in pieces of `message` (0: at once); a piece larger than a message can be is cut. */
static bool socket_fill(struct fl_mem *mem, struct fl_caller *who, struct ipc *ipc, uint32_t bytes, uint32_t message)
{
	uint32_t most = SKB_HEAD_MAX + UNIX_FRAGS_BYTES;
	static const enum fl_slab_cache cache[] = { FL_SLAB_sock_inode_cache, FL_SLAB_unix_sock, FL_SLAB_dentry,
						    FL_SLAB_filp };

	for (unsigned int end = 0; end < 2; end++)
		if (!add_objects(mem, who, ipc, cache, 4))
			return false;
	ipc->own_objects = ipc->objects;
	if (message && message < most)
		most = message;
	while (bytes) {
		uint32_t now = bytes < most ? bytes : most;

		if (!message_send(mem, who, ipc, now))
			return false;
		bytes -= now;
	}
	return true;
}

void fl_ipc_close(struct fl_mem *mem, struct fl_caller *who, uint32_t id)
{
	struct ipc *ipc = ipc_of(mem, id);

	trim(mem, who, ipc, 0, 0);
	forget(ipc);
	fl_pool_put(&mem->ipc->ipc, id);
}

static uint32_t make(struct fl_mem *mem, struct fl_caller *who, bool is_socket, uint32_t bytes, uint32_t message)
{
	uint32_t id = start(mem, is_socket);
	struct ipc *ipc = ipc_of(mem, id);

	fl_charge(who->task, mem->cost->pipe_make);
	if (is_socket ? socket_fill(mem, who, ipc, bytes, message) : pipe_fill(mem, who, ipc, bytes))
		return id;
	fl_ipc_close(mem, who, id);
	return UINT32_MAX;
}

uint32_t fl_pipe_new(struct fl_mem *mem, struct fl_caller *who, uint32_t bytes)
{
	return make(mem, who, false, bytes, 0);
}

uint32_t fl_socket_pair_new(struct fl_mem *mem, struct fl_caller *who, uint32_t bytes, uint32_t message)
{
	return make(mem, who, true, bytes, message);
}

/* A pipe keeps one page that was read for the next write (tmp_page). */
void fl_ipc_drain(struct fl_mem *mem, struct fl_caller *who, uint32_t id)
{
	struct ipc *ipc = ipc_of(mem, id);
	uint32_t keep = ipc->own_chunks;

	if (!ipc->is_socket && ipc->chunks > keep)
		keep++;
	trim(mem, who, ipc, ipc->own_objects, keep);
}

uint32_t fl_ipc_pages(const struct fl_mem *mem, uint32_t id)
{
	const struct ipc *ipc = ipc_of(mem, id);
	uint32_t pages = 0;

	for (uint32_t i = 0; i < ipc->chunks; i++)
		pages += 1u << ipc->chunk[i].order;
	return pages;
}

uint64_t fl_ipc_hash(const struct fl_mem *mem, uint64_t hash)
{
	for (uint32_t id = 0; id < mem->ipc->ipc.used; id++) {
		const struct ipc *ipc = fl_pool_at(&mem->ipc->ipc, id);

		if (!ipc->live)
			continue;
		hash = fl_hash_u64(hash, (uint64_t)id << 32 | ipc->objects);
		for (uint32_t i = 0; i < ipc->chunks; i++)
			hash = fl_hash_u64(hash, ipc->chunk[i].pfn);
	}
	return hash;
}
