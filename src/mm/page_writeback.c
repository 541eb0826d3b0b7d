/*
 * mm/page_writeback.c - dirty pages of files: accounting, limits, the flusher, throttling of writers. Mirrors
 * mm/page-writeback.c and the part of fs/fs-writeback.c that decides what to write.
 *
 * Not modelled: bandwidth estimates and per-device shares. A writer over the limit sleeps until writes complete, instead
 * of for a time computed from an estimate; the mean rate is the device's in both.
 */
#include "mm/page_writeback.h"

#include "base/text.h"
#include "mm/filemap_internal.h"
#include "mm/internal.h"
#include "mm/swap_internal.h"
#include "mm/watermark.h"
#include "mm/writeback_internal.h"

#define WRITEBACK_CHUNK 1024u                 /* MIN_WRITEBACK_PAGES: of one file at a time */
#define BALANCE_PAUSE_NS (10 * FL_MS_NS)      /* longest wait for a completion before looking again */

void fl_writeback_init(struct fl_mem *mem)
{
	mem->writeback = fl_xcalloc(1, sizeof(*mem->writeback));
	fl_page_io_init(&mem->writeback->io);
}

void fl_writeback_fini(struct fl_mem *mem)
{
	fl_page_io_fini(&mem->writeback->io);
	fl_xfree(mem->writeback);
	mem->writeback = NULL;
}

unsigned long fl_nr_dirty(const struct fl_mem *mem)
{
	return mem->writeback->dirty;
}

unsigned long fl_nr_writeback(const struct fl_mem *mem)
{
	return mem->writeback->writeback;
}

/* global_dirtyable_memory() */
unsigned long fl_dirtyable_pages(const struct fl_mem *mem)
{
	uint64_t reserve = fl_totalreserve_pages(mem), pages = 0;

	for (unsigned int z = 0; z < FL_ZONES; z++)
		pages += (uint64_t)mem->zone[z].nr_free_pages;
	pages -= pages < reserve ? pages : reserve;
	return pages + mem->lru->size[FL_LRU_INACTIVE_FILE] + mem->lru->size[FL_LRU_ACTIVE_FILE];
}

void fl_global_dirty_limits(const struct fl_mem *mem, unsigned long *background, unsigned long *dirty)
{
	unsigned long pages = fl_dirtyable_pages(mem);

	*dirty = pages * mem->set.dirty_ratio / 100;
	*background = pages * mem->set.dirty_background_ratio / 100;
	if (*background >= *dirty)
		*background = *dirty / 2;
}

/* ---- Dirtying and cleaning ---- */

static void list_dirty(struct fl_mem *mem, struct fl_mapping *m)
{
	struct fl_mapping *head = &mem->filemap->dirty_files;

	m->dirtied_when = mem->sim ? fl_sim_now(mem->sim) : 0;
	m->dirty_next = head;
	m->dirty_prev = head->dirty_prev;
	m->dirty_prev->dirty_next = head->dirty_prev = m;
}

void fl_mapping_undirty(struct fl_mem *mem, struct fl_mapping *m)
{
	(void)mem;
	if (!m->dirty_next)
		return;
	m->dirty_prev->dirty_next = m->dirty_next;
	m->dirty_next->dirty_prev = m->dirty_prev;
	m->dirty_next = m->dirty_prev = NULL;
}

static inline bool is_accounted(const struct fl_mem *mem, fl_pfn folio)
{
	return fl_state_kind(mem->frames.state[folio]) == FL_KIND_FILE;
}

static struct fl_mapping *mapping_of_folio(const struct fl_mem *mem, fl_pfn folio)
{
	return fl_mapping_of(mem, mem->frames.record[folio].owner);
}

void fl_file_mark_dirty(struct fl_mem *mem, fl_pfn folio)
{
	uint32_t index = mem->frames.record[folio].index;
	struct fl_mapping *m = mapping_of_folio(mem, folio);
	struct fl_node *node = fl_mapping_node(m, index);
	uint64_t bit = UINT64_C(1) << index % FL_NODE_PAGES;

	mem->frames.state[folio] |= FL_DIRTY;
	if (!is_accounted(mem, folio) || (node->dirty & bit))
		return;
	node->dirty |= bit;
	m->dirty++;
	mem->writeback->dirty++;
	fl_count(mem, FL_VM_nr_dirtied, 1);
	if (!m->dirty_next)
		list_dirty(mem, m);
}

void fl_file_clear_dirty(struct fl_mem *mem, fl_pfn folio)
{
	uint32_t index = mem->frames.record[folio].index;
	uint32_t *state = &mem->frames.state[folio];
	struct fl_mapping *m;

	*state &= ~(FL_DIRTY | FL_PTE_DIRTY);
	if (!is_accounted(mem, folio))
		return;
	m = mapping_of_folio(mem, folio);
	if (!(fl_mapping_node(m, index)->dirty >> index % FL_NODE_PAGES & 1))
		return;
	fl_mapping_node(m, index)->dirty &= ~(UINT64_C(1) << index % FL_NODE_PAGES);
	m->dirty--;
	mem->writeback->dirty--;
	if (!m->dirty)
		fl_mapping_undirty(mem, m);
}

static void start_writeback(struct fl_mem *mem, fl_pfn folio)
{
	FL_ASSERT(!(mem->frames.state[folio] & FL_WRITEBACK));
	fl_file_clear_dirty(mem, folio);
	mem->frames.state[folio] |= FL_WRITEBACK;
	mapping_of_folio(mem, folio)->writeback++;
	mem->writeback->writeback++;
	fl_count(mem, FL_VM_nr_written, 1);
}

/* acct_reclaim_writeback(): enough written for those whom reclaim has put to sleep? */
static void account_throttled(struct fl_mem *mem, uint32_t pages)
{
	struct fl_vmscan *v = mem->vmscan;

	if (!v->writeback_throttled)
		return;
	v->throttled_written += pages;
	if (v->throttled_written - v->throttle_start > FL_SWAP_CLUSTER_MAX * (uint64_t)v->writeback_throttled)
		fl_wake_all(&v->throttle[FL_THROTTLE_WRITEBACK]);
}

void fl_folio_end_writeback(struct fl_mem *mem, struct fl_caller *who, fl_pfn folio)
{
	uint32_t *state = &mem->frames.state[folio];

	FL_ASSERT(*state & FL_WRITEBACK);
	if (is_accounted(mem, folio)) {
		mapping_of_folio(mem, folio)->writeback--;
		mem->writeback->writeback--;
	}
	*state &= ~FL_WRITEBACK;
	account_throttled(mem, fl_folio_pages(mem, folio));
	if (*state & FL_RECLAIM) {
		*state &= ~FL_RECLAIM;
		fl_folio_rotate_reclaimable(mem, who, folio);
	}
	fl_folio_wake(mem, folio);
	fl_wake_all(&mem->writeback->balance_wait);
}

void fl_folio_wait_writeback(struct fl_mem *mem, struct fl_caller *who, fl_pfn folio)
{
	while (mem->frames.state[folio] & FL_WRITEBACK)
		fl_folio_wait_bit(mem, who, folio, FL_WRITEBACK);
}

void fl_file_writepage(struct fl_mem *mem, struct fl_caller *who, fl_pfn folio)
{
	struct fl_mapping *m = mapping_of_folio(mem, folio);

	start_writeback(mem, folio);
	fl_bio_submit(mem, who, m->device, &folio, 1, true, &mem->writeback->queue_wait, fl_folio_end_writeback);
}

/* May writeback take this page now? */
static bool may_write(const struct fl_mem *mem, fl_pfn pfn)
{
	return !(mem->frames.state[pfn] & (FL_LOCKED | FL_WRITEBACK | FL_MIGRATING));
}

/* One request of dirty neighbours from `index` on; pages in it. Sets *next. */
static uint32_t write_run(struct fl_mem *mem, struct fl_caller *who, struct fl_mapping *m, uint32_t index, uint32_t max,
			  uint32_t *next)
{
	fl_pfn page[FL_BIO_PAGES];
	uint32_t count = 0, i = index;

	for (; count < max && count < FL_BIO_PAGES; i++) {
		fl_pfn pfn = fl_mapping_page(m, i);

		if (pfn == FL_PFN_NONE || !(mem->frames.state[pfn] & FL_DIRTY) || !may_write(mem, pfn))
			break;
		start_writeback(mem, pfn);
		page[count++] = pfn;
	}
	*next = count ? i : index + 1;
	if (count)
		fl_bio_submit(mem, who, m->device, page, count, true, &mem->writeback->queue_wait,
			      fl_folio_end_writeback);
	return count;
}

uint32_t fl_mapping_write(struct fl_mem *mem, struct fl_caller *who, struct fl_mapping *m, uint32_t max)
{
	uint32_t written = 0, at = m->writeback_index, wrapped = 0;

	while (written < max && m->dirty) {
		at = fl_mapping_next_dirty(m, at, UINT32_MAX);
		if (at == UINT32_MAX) {
			if (wrapped++)
				break;
			at = 0;
			continue;
		}
		while (m->device && fl_device_in_flight(m->device) >= FL_DEVICE_QUEUE)
			fl_wait_timeout(&mem->writeback->queue_wait, who->task, FL_QUEUE_WAIT_NS);
		written += write_run(mem, who, m, at, max - written, &at);
		fl_cond_resched(who->task);
	}
	m->writeback_index = at == UINT32_MAX ? 0 : at;
	return written;
}

void fl_file_fsync(struct fl_mem *mem, struct fl_caller *who, fl_mapping_id id)
{
	struct fl_mapping *m = fl_mapping_of(mem, id);

	fl_mapping_get(m);
	while (!m->dead && (m->dirty || m->writeback)) {
		m->writeback_index = 0;
		if (m->dirty && fl_mapping_write(mem, who, m, UINT32_MAX))
			continue;
		if (m->writeback)
			fl_wait(&mem->writeback->balance_wait, who->task);
		else /* dirty, but locked or on the way to another frame */
			fl_task_sleep(who->task, FL_MS_NS);
	}
	fl_mapping_put(mem, who, m);
}

/* ---- The flusher ---- */

/* Why does the flusher write now; nothing is FL_FLUSH_NOTHING. */
enum flush { FLUSH_NOTHING, FLUSH_OLD, FLUSH_BACKGROUND, FLUSH_ALL };

static enum flush flush_reason(struct fl_mem *mem, fl_ns now, bool timer)
{
	unsigned long background, dirty;
	const struct fl_mapping *first = mem->filemap->dirty_files.dirty_next;

	if (first == &mem->filemap->dirty_files)
		return FLUSH_NOTHING;
	if (mem->writeback->write_all)
		return FLUSH_ALL;
	fl_global_dirty_limits(mem, &background, &dirty);
	if (fl_nr_dirty(mem) > background)
		return FLUSH_BACKGROUND;
	if (timer && now - first->dirtied_when >= mem->set.dirty_expire_centisecs * 10 * FL_MS_NS)
		return FLUSH_OLD;
	return FLUSH_NOTHING;
}

/* Writes a chunk of the file that has been dirty longest, which then goes to the end of the line. */
static void flush_one(struct fl_mem *mem, struct fl_caller *who)
{
	struct fl_mapping *m = mem->filemap->dirty_files.dirty_next;
	uint32_t written;

	fl_mapping_get(m);
	written = fl_mapping_write(mem, who, m, WRITEBACK_CHUNK);
	if (m->dirty_next && !m->dead) {
		fl_mapping_undirty(mem, m);
		list_dirty(mem, m);
	}
	fl_mapping_put(mem, who, m);
	if (!written) /* all of it is on its way elsewhere: look again when time has passed */
		fl_task_sleep(who->task, FL_MS_NS);
}

static void flusher_body(struct fl_task *task, void *arg)
{
	struct fl_mem *mem = arg;
	struct fl_writeback *wb = mem->writeback;
	bool timer = false;

	for (;;) {
		fl_ns interval = mem->set.dirty_writeback_centisecs * 10 * FL_MS_NS;

		while (flush_reason(mem, fl_task_now(task), timer) != FLUSH_NOTHING)
			flush_one(mem, &wb->flusher_caller);
		wb->write_all = false;
		if (interval)
			timer = !fl_wait_timeout(&wb->flusher_wait, task, interval);
		else
			fl_wait(&wb->flusher_wait, task);
	}
}

struct fl_task *fl_flusher_start(struct fl_mem *mem)
{
	struct fl_writeback *wb = mem->writeback;

	FL_ASSERT(!wb->flusher && mem->sim);
	wb->flusher = fl_task_new(mem->sim, "kworker/flush", true);
	wb->flusher_caller = (struct fl_caller){ .task = wb->flusher, .flags = FL_PF_KTHREAD };
	fl_task_start(wb->flusher, flusher_body, mem);
	return wb->flusher;
}

void fl_wakeup_flushers(struct fl_mem *mem)
{
	mem->writeback->write_all = true;
	fl_wake_all(&mem->writeback->flusher_wait);
}

void fl_balance_dirty_pages(struct fl_mem *mem, struct fl_caller *who)
{
	struct fl_writeback *wb = mem->writeback;

	for (unsigned int i = 0; i < 1000; i++) {
		unsigned long background, limit, dirty = wb->dirty + wb->writeback;

		fl_global_dirty_limits(mem, &background, &limit);
		if (wb->dirty > background)
			fl_wake_all(&wb->flusher_wait);
		if (dirty <= (background + limit) / 2 || !wb->flusher)
			return;
		fl_wait_timeout(&wb->balance_wait, who->task, BALANCE_PAUSE_NS);
		if (who->flags & FL_PF_OOM_VICTIM)
			return;
	}
}
