/*
 * mm/filemap.c - the page cache: which page of which file is in which frame; reads, writes and faults through it. Mirrors
 * mm/filemap.c. Folios that the model makes are of order 0, as on ext4 of 6.12 and on block devices;
 * a snapshot brings larger clean ones, with an entry for each page.
 */
#include "mm/filemap_internal.h"

#include "base/hash.h"
#include "base/text.h"
#include "mm/page_alloc.h"
#include "mm/page_io.h"
#include "mm/page_writeback.h"
#include "mm/shmem.h"

/* Pages that a task dirties between two looks at the limits (current->nr_dirtied_pause as it begins: 32 pages of 4K). */
#define WRITE_BATCH 32u

/* balance_dirty_pages_ratelimited(): the count is the task's, not the call's, so that writers of small files wait too. */
static void balance_dirty_ratelimited(struct fl_mem *mem, struct fl_caller *who)
{
	if (++who->nr_dirtied < WRITE_BATCH)
		return;
	who->nr_dirtied = 0;
	fl_balance_dirty_pages(mem, who);
}

void fl_filemap_init(struct fl_mem *mem)
{
	mem->filemap = fl_xcalloc(1, sizeof(*mem->filemap));
	mem->filemap->dirty_files.dirty_next = mem->filemap->dirty_files.dirty_prev = &mem->filemap->dirty_files;
}

static void mapping_release(struct fl_mapping *m)
{
	for (uint32_t n = 0; n < m->nodes; n++) {
		if (m->node[n])
			fl_xfree(m->node[n]->buffer);
		fl_xfree(m->node[n]);
	}
	fl_xfree(m->node);
	fl_xfree(m);
}

void fl_filemap_fini(struct fl_mem *mem)
{
	struct fl_filemap *f = mem->filemap;

	for (uint32_t id = 0; id < f->mappings; id++)
		if (f->mapping[id])
			mapping_release(f->mapping[id]);
	fl_xfree(f->mapping);
	fl_xfree(f);
	mem->filemap = NULL;
}

struct fl_mapping *fl_mapping_of(const struct fl_mem *mem, fl_mapping_id id)
{
	FL_ASSERT_MSG(id < mem->filemap->mappings && mem->filemap->mapping[id], "the mapping exists");
	return mem->filemap->mapping[id];
}

void fl_mapping_get(struct fl_mapping *m)
{
	m->users++;
}

void fl_mapping_put(struct fl_mem *mem, struct fl_caller *who, struct fl_mapping *m)
{
	FL_ASSERT(m->users > 0);
	if (--m->users || !m->dead)
		return;
	FL_ASSERT_MSG(m->cached == 0 && m->dirty == 0 && m->writeback == 0, "a deleted file has no pages");
	fl_mapping_free_nodes(mem, who, m, 0);
	mem->filemap->mapping[m->id] = NULL;
	if (m->id < mem->filemap->lowest_free)
		mem->filemap->lowest_free = m->id;
	mapping_release(m);
}

fl_mapping_id fl_file_create(struct fl_mem *mem, enum fl_mapping_type type, struct fl_device *device, uint32_t pages)
{
	struct fl_filemap *f = mem->filemap;
	fl_mapping_id id = f->lowest_free;
	struct fl_mapping *m = fl_xcalloc(1, sizeof(*m));

	while (id < f->mappings && f->mapping[id])
		id++;
	if (id == f->capacity) {
		f->capacity = f->capacity ? 2 * f->capacity : 64;
		f->mapping = fl_xrealloc(f->mapping, f->capacity * sizeof(struct fl_mapping *));
	}
	if (id == f->mappings)
		f->mappings++;
	f->mapping[id] = m;
	f->lowest_free = id + 1;
	m->id = id;
	m->type = type;
	m->device = device;
	m->pages = pages;
	m->ra.prev_index = UINT32_MAX;
	return id;
}

uint32_t fl_file_pages(const struct fl_mem *mem, fl_mapping_id id)
{
	return fl_mapping_of(mem, id)->pages;
}

uint32_t fl_file_cached(const struct fl_mem *mem, fl_mapping_id id)
{
	return fl_mapping_of(mem, id)->cached;
}

enum fl_mapping_type fl_file_type(const struct fl_mem *mem, fl_mapping_id id)
{
	return fl_mapping_of(mem, id)->type;
}

void fl_file_advise(struct fl_mem *mem, fl_mapping_id id, bool random)
{
	fl_mapping_of(mem, id)->ra.random = random;
}

fl_gfp fl_mapping_gfp(const struct fl_mapping *m)
{
	return m->type == FL_MAPPING_BLOCKDEV ? FL_GFP_USER : FL_GFP_HIGHUSER_MOVABLE;
}

/* ---- The index ---- */

/* Makes sure that the node of `index` is there; false without memory. May switch. */
static bool node_make(struct fl_mem *mem, struct fl_caller *who, struct fl_mapping *m, uint32_t index, fl_gfp gfp)
{
	uint32_t n = index / FL_NODE_PAGES;
	fl_object object;

	if (n < m->nodes && m->node[n])
		return true;
	/* Nodes are Reclaimable slab, whatever the pages are. */
	object = fl_slab_alloc(mem, who, FL_SLAB_radix_tree_node,
			       gfp & ~(FL_GFP_MOVABLE_BIT | FL_GFP_HIGHMEM | FL_GFP_WRITE));
	if (object == FL_OBJECT_NONE)
		return false;
	if (n < m->nodes && m->node[n]) {
		fl_slab_free(mem, who, object);
		return true;
	}
	if (n >= m->nodes) {
		uint32_t room = m->nodes ? m->nodes : 1;

		while (room <= n)
			room *= 2;
		m->node = fl_xrealloc(m->node, room * sizeof(struct fl_node *));
		for (uint32_t i = m->nodes; i < room; i++)
			m->node[i] = NULL;
		m->nodes = room;
	}
	m->node[n] = fl_xcalloc(1, sizeof(struct fl_node));
	m->node[n]->object = object;
	return true;
}

void fl_mapping_free_nodes(struct fl_mem *mem, struct fl_caller *who, struct fl_mapping *m, uint32_t index)
{
	for (uint32_t n = index / FL_NODE_PAGES; n < m->nodes; n++) {
		struct fl_node *node = m->node[n];

		if (!node || (node->used && !m->dead))
			continue;
		fl_slab_free(mem, who, node->object);
		fl_xfree(node->buffer);
		fl_xfree(node);
		m->node[n] = NULL;
	}
}

static void count_entry(struct fl_mapping *m, uint32_t entry, int sign)
{
	uint32_t *count = &m->cached;

	if (!entry)
		return;
	if ((entry & FL_ENTRY_TYPE) == FL_ENTRY_SHADOW)
		count = &m->shadows;
	else if ((entry & FL_ENTRY_TYPE) == FL_ENTRY_SWAP)
		count = &m->swapped;
	*count += (uint32_t)sign;
}

static void entry_set(struct fl_mem *mem, struct fl_mapping *m, uint32_t index, uint32_t entry)
{
	struct fl_node *node = fl_mapping_node(m, index);
	uint32_t *at = &node->entry[index % FL_NODE_PAGES];
	uint64_t *pages = m->type == FL_MAPPING_SHMEM ? &mem->filemap->shmem_pages : &mem->filemap->file_pages;

	node->used = (uint8_t)(node->used + !!entry - !!*at);
	*pages += (uint64_t)fl_entry_is_page(entry) - (uint64_t)fl_entry_is_page(*at);
	count_entry(m, *at, -1);
	count_entry(m, entry, 1);
	*at = entry;
}

uint32_t fl_mapping_next_page(const struct fl_mapping *m, uint32_t index, uint32_t end)
{
	for (; index < end; index++) {
		uint32_t n = index / FL_NODE_PAGES;

		if (n >= m->nodes)
			return end;
		if (!m->node[n])
			index |= FL_NODE_PAGES - 1;
		else if (fl_entry_is_page(m->node[n]->entry[index % FL_NODE_PAGES]))
			return index;
	}
	return end;
}

uint32_t fl_mapping_next_dirty(const struct fl_mapping *m, uint32_t index, uint32_t end)
{
	while (index < end) {
		uint32_t n = index / FL_NODE_PAGES, i = index % FL_NODE_PAGES;
		uint64_t bits;

		if (n >= m->nodes)
			return end;
		bits = m->node[n] ? m->node[n]->dirty >> i : 0;
		if (bits) {
			index += (uint32_t)__builtin_ctzll(bits);
			return index < end ? index : end;
		}
		index = (n + 1) * FL_NODE_PAGES;
	}
	return end;
}

fl_pfn fl_filemap_lookup(const struct fl_mem *mem, fl_mapping_id id, uint32_t index)
{
	fl_pfn pfn = fl_mapping_page(fl_mapping_of(mem, id), index);

	/* Not yet read, or between two frames: as good as absent for whoever cannot wait. */
	if (pfn != FL_PFN_NONE && (mem->frames.state[pfn] & (FL_LOCKED | FL_MIGRATING)))
		return FL_PFN_NONE;
	return pfn;
}

fl_pfn fl_filemap_add_page(struct fl_mem *mem, struct fl_caller *who, struct fl_mapping *m, uint32_t index, fl_gfp gfp,
			   uint32_t state)
{
	bool shmem = m->type == FL_MAPPING_SHMEM;
	fl_pfn pfn = fl_page_alloc(mem, who, gfp, 0, shmem ? FL_KIND_SHMEM : FL_KIND_FILE);
	uint32_t old;

	if (pfn == FL_PFN_NONE)
		return pfn;
	if (!node_make(mem, who, m, index, gfp) || m->dead || index >= m->pages ||
	    fl_mapping_page(m, index) != FL_PFN_NONE) {
		fl_page_free(mem, who, pfn, 0);
		return FL_PFN_NONE;
	}
	old = fl_mapping_entry(m, index);
	mem->frames.record[pfn].owner = m->id;
	mem->frames.record[pfn].index = index;
	mem->frames.state[pfn] |= state | (shmem ? FL_SWAPBACKED : 0);
	entry_set(mem, m, index, pfn + 1);
	if ((old & FL_ENTRY_TYPE) == FL_ENTRY_SHADOW)
		fl_workingset_refault(mem, pfn, old & FL_ENTRY_VALUE);
	fl_charge(who->task, mem->cost->page_cache_add);
	fl_folio_add_lru(mem, who, pfn);
	return pfn;
}

bool fl_filemap_add_folio(struct fl_mem *mem, struct fl_caller *who, fl_mapping_id id, uint32_t index, unsigned int order)
{
	struct fl_mapping *m = fl_mapping_of(mem, id);
	fl_gfp gfp = fl_mapping_gfp(m) & ~FL_GFP_RECLAIM;
	fl_pfn pfn = fl_page_alloc(mem, who, gfp | FL_GFP_COMP, order, FL_KIND_FILE);

	if (pfn == FL_PFN_NONE)
		return false;
	for (uint32_t i = 0; i < 1u << order; i++)
		if (!node_make(mem, who, m, index + i, gfp)) {
			fl_page_free(mem, who, pfn, order);
			return false;
		}
	mem->frames.record[pfn].owner = m->id;
	mem->frames.record[pfn].index = index;
	for (uint32_t i = 0; i < 1u << order; i++)
		entry_set(mem, m, index + i, pfn + i + 1);
	fl_folio_add_lru(mem, who, pfn);
	return true;
}

/* ---- Buffer heads ---- */

static bool has_buffer(const struct fl_mapping *m, uint32_t index)
{
	const struct fl_node *node = fl_mapping_node(m, index);

	return node->buffer && node->buffer[index % FL_NODE_PAGES] != FL_OBJECT_NONE;
}

/* create_empty_buffers(): one for the page at `index`; false without memory. May switch: look at the page again. */
static bool add_buffer(struct fl_mem *mem, struct fl_caller *who, struct fl_mapping *m, uint32_t index)
{
	fl_object object = fl_slab_alloc(mem, who, FL_SLAB_buffer_head, FL_GFP_NOFS);
	struct fl_node *node;

	if (object == FL_OBJECT_NONE)
		return false;
	if (fl_mapping_page(m, index) == FL_PFN_NONE || has_buffer(m, index)) {
		fl_slab_free(mem, who, object);
		return true;
	}
	node = fl_mapping_node(m, index);
	if (!node->buffer) {
		node->buffer = fl_xmalloc(FL_NODE_PAGES * sizeof(*node->buffer));
		for (uint32_t i = 0; i < FL_NODE_PAGES; i++)
			node->buffer[i] = FL_OBJECT_NONE;
	}
	node->buffer[index % FL_NODE_PAGES] = object;
	return true;
}

/* try_to_free_buffers() */
static void free_buffer(struct fl_mem *mem, struct fl_caller *who, struct fl_mapping *m, uint32_t index)
{
	if (!has_buffer(m, index))
		return;
	fl_slab_free(mem, who, fl_mapping_node(m, index)->buffer[index % FL_NODE_PAGES]);
	fl_mapping_node(m, index)->buffer[index % FL_NODE_PAGES] = FL_OBJECT_NONE;
}

void fl_filemap_remove(struct fl_mem *mem, struct fl_caller *who, fl_pfn folio, fl_shadow shadow)
{
	const struct fl_frame *r = &mem->frames.record[folio];
	struct fl_mapping *m = fl_mapping_of(mem, r->owner);

	FL_ASSERT(!(mem->frames.state[folio] & (FL_WRITEBACK | FL_DIRTY)));
	for (uint32_t i = 0; i < fl_folio_pages(mem, folio); i++) {
		FL_ASSERT_MSG(fl_mapping_page(m, r->index + i) == folio + i, "the cache names the page that names it");
		free_buffer(mem, who, m, r->index + i);
		entry_set(mem, m, r->index + i, shadow == FL_SHADOW_NONE ? 0 : FL_ENTRY_SHADOW | shadow);
	}
}

void fl_filemap_migrate(struct fl_mem *mem, fl_pfn from, fl_pfn to)
{
	const struct fl_frame *r = &mem->frames.record[from];
	struct fl_mapping *m = fl_mapping_of(mem, r->owner);

	for (uint32_t i = 0; i < fl_folio_pages(mem, from); i++) {
		FL_ASSERT(fl_mapping_page(m, r->index + i) == from + i);
		entry_set(mem, m, r->index + i, to + i + 1);
	}
}

void fl_filemap_entry_to_swap(struct fl_mem *mem, fl_pfn folio, uint32_t slot)
{
	const struct fl_frame *r = &mem->frames.record[folio];
	struct fl_mapping *m = fl_mapping_of(mem, r->owner);

	FL_ASSERT(m->type == FL_MAPPING_SHMEM && fl_mapping_page(m, r->index) == folio);
	entry_set(mem, m, r->index, FL_ENTRY_SWAP | slot);
}

void fl_filemap_entry_from_swap(struct fl_mem *mem, struct fl_mapping *m, uint32_t index, fl_pfn pfn)
{
	entry_set(mem, m, index, pfn + 1);
}

void fl_folio_mark_accessed(struct fl_mem *mem, struct fl_caller *who, fl_pfn folio)
{
	uint32_t *state = &mem->frames.state[folio];

	if (!(*state & FL_REFERENCED)) {
		*state |= FL_REFERENCED;
		return;
	}
	if (*state & (FL_UNEVICTABLE | FL_ACTIVE))
		return;
	if (*state & FL_LRU) {
		fl_folio_activate(mem, who, folio);
	} else if (*state & FL_BATCHED) {
		/* Still in the batch of new folios: it will be added to the active list. */
		*state |= FL_ACTIVE;
	} else {
		return;
	}
	*state &= ~FL_REFERENCED;
	fl_workingset_age(mem, fl_folio_pages(mem, folio));
}

/* ---- Reads, writes, faults ---- */

/* Brings the page in for a read of `req` pages; FL_PFN_NONE: end of file, no memory. Unlocked when it returns. May switch. */
static fl_pfn get_page(struct fl_mem *mem, struct fl_caller *who, struct fl_mapping *m, uint32_t index, uint32_t req)
{
	unsigned int tries = 0;

	while (!m->dead && index < m->pages) {
		fl_pfn pfn = fl_mapping_page(m, index);

		if (pfn == FL_PFN_NONE) {
			if (tries++ == 2)
				return FL_PFN_NONE;
			if ((fl_mapping_entry(m, index) & FL_ENTRY_TYPE) == FL_ENTRY_SWAP) {
				fl_shmem_swapin(mem, who, m, index);
				continue;
			}
			fl_readahead_sync(mem, who, m, index, tries == 1 ? req : 1);
			continue;
		}
		if (mem->frames.state[pfn] & (FL_LOCKED | FL_MIGRATING)) {
			fl_folio_wait_busy(mem, who, pfn);
			continue;
		}
		return pfn;
	}
	return FL_PFN_NONE;
}

uint32_t fl_file_read(struct fl_mem *mem, struct fl_caller *who, fl_mapping_id id, uint32_t index, uint32_t pages)
{
	struct fl_mapping *m = fl_mapping_of(mem, id);
	uint32_t done = 0;

	fl_mapping_get(m);
	for (; done < pages; done++) {
		fl_pfn pfn = get_page(mem, who, m, index + done, pages - done);

		if (pfn == FL_PFN_NONE)
			break;
		fl_charge(who->task, mem->cost->page_cache_lookup + mem->cost->read_copy_4k);
		fl_folio_mark_accessed(mem, who, pfn);
		m->ra.prev_index = index + done;
		if (fl_readahead_is_mark(m, index + done) && !m->ra.random)
			fl_readahead_async(mem, who, m, index + done, pages - done);
		fl_cond_resched(who->task);
	}
	fl_mapping_put(mem, who, m);
	return done;
}

/* The page to write to, made if need be (whole pages are written, so nothing is read). May switch. */
static fl_pfn get_page_for_write(struct fl_mem *mem, struct fl_caller *who, struct fl_mapping *m, uint32_t index)
{
	unsigned int tries = 0;

	while (!m->dead) {
		fl_pfn pfn = fl_mapping_page(m, index);

		if (pfn != FL_PFN_NONE && (mem->frames.state[pfn] & (FL_LOCKED | FL_MIGRATING))) {
			fl_folio_wait_busy(mem, who, pfn);
			continue;
		}
		if (pfn != FL_PFN_NONE || tries++ == 2)
			return pfn;
		if (index >= m->pages)
			m->pages = index + 1;
		if ((fl_mapping_entry(m, index) & FL_ENTRY_TYPE) == FL_ENTRY_SWAP)
			fl_shmem_swapin(mem, who, m, index);
		else
			fl_filemap_add_page(mem, who, m, index, fl_mapping_gfp(m) | FL_GFP_WRITE, 0);
	}
	return FL_PFN_NONE;
}

uint32_t fl_file_write(struct fl_mem *mem, struct fl_caller *who, fl_mapping_id id, uint32_t index, uint32_t pages)
{
	struct fl_mapping *m = fl_mapping_of(mem, id);
	uint32_t done = 0;

	fl_mapping_get(m);
	for (; done < pages; done++) {
		fl_pfn pfn = get_page_for_write(mem, who, m, index + done);

		while (pfn != FL_PFN_NONE && m->type != FL_MAPPING_SHMEM && !has_buffer(m, index + done) &&
		       add_buffer(mem, who, m, index + done))
			pfn = get_page_for_write(mem, who, m, index + done);
		if (pfn == FL_PFN_NONE)
			break;
		fl_charge(who->task, mem->cost->page_cache_lookup + mem->cost->read_copy_4k);
		fl_file_mark_dirty(mem, pfn);
		if (m->type == FL_MAPPING_SHMEM) /* generic_perform_write() itself marks nothing (FGP_WRITEBEGIN) */
			fl_folio_mark_accessed(mem, who, pfn);
		fl_cond_resched(who->task);
		if (m->type != FL_MAPPING_SHMEM)
			balance_dirty_ratelimited(mem, who);
	}
	fl_mapping_put(mem, who, m);
	return done;
}

fl_pfn fl_filemap_fault(struct fl_mem *mem, struct fl_caller *who, fl_mapping_id id, uint32_t index, bool *major)
{
	struct fl_mapping *m = fl_mapping_of(mem, id);
	fl_pfn pfn = FL_PFN_NONE;

	if (major)
		*major = false;
	fl_mapping_get(m);
	if (index < m->pages) {
		fl_charge(who->task, mem->cost->page_cache_lookup);
		if (fl_mapping_page(m, index) == FL_PFN_NONE) {
			if (m->type != FL_MAPPING_SHMEM) {
				fl_count(mem, FL_VM_pgmajfault, 1);
				if (major)
					*major = true;
			}
			if ((fl_mapping_entry(m, index) & FL_ENTRY_TYPE) != FL_ENTRY_SWAP)
				fl_readahead_around(mem, who, m, index);
		} else {
			if (m->ra.mmap_miss)
				m->ra.mmap_miss--;
			if (fl_readahead_is_mark(m, index))
				fl_readahead_async(mem, who, m, index, 1);
		}
		pfn = get_page(mem, who, m, index, 1);
	}
	fl_mapping_put(mem, who, m);
	return pfn;
}

uint64_t fl_filemap_pages(const struct fl_mem *mem)
{
	return mem->filemap->file_pages + mem->filemap->shmem_pages;
}

/* ---- Hash and invariants ---- */

uint64_t fl_filemap_hash(const struct fl_mem *mem, uint64_t hash)
{
	const struct fl_filemap *f = mem->filemap;

	for (uint32_t id = 0; id < f->mappings; id++) {
		const struct fl_mapping *m = f->mapping[id];

		if (!m)
			continue;
		hash = fl_hash_u64(hash, (uint64_t)id << 32 | m->pages);
		hash = fl_hash_u64(hash, (uint64_t)m->dirty << 32 | m->writeback);
		hash = fl_hash_u64(hash, (uint64_t)m->ra.start << 32 | m->ra.size);
		for (uint32_t i = 0; i < m->nodes * FL_NODE_PAGES; i++)
			if (fl_mapping_entry(m, i))
				hash = fl_hash_u64(hash, (uint64_t)i << 32 | fl_mapping_entry(m, i));
	}
	return hash;
}

static void check_entry(struct fl_mem *mem, const struct fl_mapping *m, uint32_t index, uint32_t count[3],
			uint32_t *dirty, uint32_t *writeback)
{
	uint32_t entry = fl_mapping_entry(m, index), state;
	fl_pfn head;
	bool dirty_bit;

	if (!entry)
		return;
	FL_ASSERT_MSG(fl_entry_is_page(entry) || !has_buffer(m, index), "only pages have buffer heads");
	count[!fl_entry_is_page(entry) + ((entry & FL_ENTRY_TYPE) == FL_ENTRY_SWAP)]++;
	dirty_bit = fl_mapping_node(m, index)->dirty >> index % FL_NODE_PAGES & 1;
	if (!fl_entry_is_page(entry)) {
		FL_ASSERT_MSG(!dirty_bit, "only pages are dirty");
		return;
	}
	head = fl_frame_head(&mem->frames, fl_entry_page(entry));
	state = mem->frames.state[head];
	FL_ASSERT_MSG(mem->frames.record[head].owner == m->id &&
			      mem->frames.record[head].index + (fl_entry_page(entry) - head) == index,
		      "a cached page names its place in the file");
	FL_ASSERT_MSG(mem->frames.record[head].refcount > 0, "the cache holds a reference");
	if (m->type == FL_MAPPING_SHMEM)
		return;
	FL_ASSERT(fl_state_kind(state) == FL_KIND_FILE);
	FL_ASSERT_MSG(dirty_bit == !!(state & FL_DIRTY), "dirty pages are marked in the node");
	*dirty += dirty_bit;
	*writeback += !!(state & FL_WRITEBACK);
}

void fl_filemap_check(struct fl_mem *mem)
{
	const struct fl_filemap *f = mem->filemap;
	uint64_t pages = 0, all_dirty = 0, all_writeback = 0;

	for (uint32_t id = 0; id < f->mappings; id++) {
		const struct fl_mapping *m = f->mapping[id];
		uint32_t count[3] = { 0 }, dirty = 0, writeback = 0;

		if (!m)
			continue;
		for (uint32_t i = 0; i < m->nodes * FL_NODE_PAGES; i++)
			check_entry(mem, m, i, count, &dirty, &writeback);
		FL_ASSERT_MSG(count[0] == m->cached && count[1] == m->shadows && count[2] == m->swapped,
			      "entries of a file are counted");
		FL_ASSERT_MSG(dirty == m->dirty && writeback == m->writeback, "dirty pages of a file are counted");
		FL_ASSERT_MSG(!m->dirty || m->dirty_next, "a dirty file is on the list");
		pages += m->cached;
		all_dirty += dirty;
		all_writeback += writeback;
	}
	FL_ASSERT_MSG(pages == fl_filemap_pages(mem), "pages of the cache are counted");
	FL_ASSERT_MSG(all_dirty == fl_nr_dirty(mem) && all_writeback == fl_nr_writeback(mem), "nr_dirty, nr_writeback");
}
