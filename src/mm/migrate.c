/*
 * mm/migrate.c - moves folios to other frames, in batches, with the passes and failures of each mode.
 *
 * Mirrors migrate_pages(), migrate_pages_batch(), migrate_pages_sync(), migrate_folio_unmap() and migrate_folio_move() of
 * mm/migrate.c; facts section 5. A batch first marks folios as unmapped (FL_MIGRATING: faults on them wait), flushes the
 * TLBs once, then moves one after the other. The page tables themselves change in one step, in the move.
 */
#include "mm/migrate.h"

#include <errno.h>

#include "mm/filemap.h"
#include "mm/huge_memory.h"
#include "mm/memory.h"
#include "mm/page_alloc.h"
#include "mm/page_writeback.h"
#include "mm/rmap.h"
#include "mm/swap.h"
#include "mm/swapfile.h"

#define MAX_BATCHED_PAGES 512u /* NR_MAX_BATCHED_MIGRATION; the PMD order's pages in the kernel */

/* What moves with the folio (folio_migrate_flags); rmap moves FL_PARTIALLY_MAPPED and the place on the deferred queue. */
#define MOVING_FLAGS                                                                                               \
	(FL_ACTIVE | FL_UNEVICTABLE | FL_MLOCKED | FL_REFERENCED | FL_WORKINGSET | FL_DIRTY | FL_RECLAIM |         \
	 FL_SWAPBACKED | FL_SWAPCACHED | FL_YOUNG | FL_PTE_DIRTY | FL_PMD_MAPPED | FL_EXEC)

struct stats {
	unsigned int succeeded, failed_pages; /* base pages */
	unsigned int thp_succeeded, thp_failed, thp_split, split;
};

/* One call of migrate_pages(). */
struct migration {
	struct fl_mem *mem;
	struct fl_caller *who;
	const struct fl_migrate_targets *targets;
	enum fl_migrate_mode mode; /* of the pass under way */
	struct stats stats;
	struct fl_pfn_list failed; /* for good: ret_folios */
	struct fl_pfn_list pieces; /* of split folios */
	struct fl_pfn_list src, dst; /* unmapped, and where each goes: same places in both */
	bool may_split;
};

static unsigned int pages_of(const struct migration *m, fl_pfn pfn)
{
	return 1u << fl_state_order(m->mem->frames.state[pfn]);
}

static bool is_thp(const struct migration *m, fl_pfn pfn)
{
	return fl_state_order(m->mem->frames.state[pfn]) >= m->mem->pmd_order;
}

/* References that a folio has when nobody pins it: of its mappings, its caches, and of the isolation. */
static unsigned int expected_refs(const struct fl_mem *mem, fl_pfn pfn)
{
	uint32_t state = mem->frames.state[pfn];
	unsigned int refs = 1;

	switch (fl_state_kind(state)) {
	case FL_KIND_ANON:
		refs += mem->frames.record[pfn].mapcount > 0;
		break;
	case FL_KIND_FILE:
	case FL_KIND_SHMEM:
		refs++;
		break;
	default:
		break;
	}
	return refs + !!(state & FL_SWAPCACHED);
}

/* Page table entries that the reverse-map walks visit: a huge mapping is one. */
static unsigned int mappings_of(const struct fl_mem *mem, fl_pfn pfn)
{
	return mem->frames.state[pfn] & FL_PMD_MAPPED ? 1 : mem->frames.record[pfn].mapcount;
}

static void put_target(struct migration *m, fl_pfn dst)
{
	m->targets->put(m->mem, m->who, dst, fl_state_order(m->mem->frames.state[dst]), m->targets->arg);
}

/* Nobody but the isolation holds the folio any more: it is freed, which is as good as moved. */
static void free_orphan(struct migration *m, fl_pfn src)
{
	m->mem->frames.state[src] &= ~FL_MIGRATING;
	fl_folio_clear_isolated(m->mem, src);
	fl_folio_put(m->mem, m->who, src);
}

/* ---- First half: migrate_folio_unmap() ---- */

enum outcome { OUT_DONE, OUT_UNMAPPED, OUT_AGAIN, OUT_BUSY, OUT_NO_TARGET };

static enum outcome folio_unmap(struct migration *m, fl_pfn src, fl_pfn *ret_dst)
{
	struct fl_mem *mem = m->mem;
	enum outcome out = OUT_UNMAPPED;

	*ret_dst = FL_PFN_NONE;
	if (mem->frames.record[src].refcount == 1) {
		free_orphan(m, src);
		return OUT_DONE;
	}
	*ret_dst = m->targets->get(mem, m->who, src, m->targets->arg);
	if (*ret_dst == FL_PFN_NONE)
		return OUT_NO_TARGET;
	if (mem->frames.state[src] & FL_LOCKED) {
		out = OUT_AGAIN;
	} else if (mem->frames.state[src] & FL_WRITEBACK) {
		if (m->mode == FL_MIGRATE_SYNC)
			fl_folio_wait_writeback(mem, m->who, src);
		else
			out = OUT_BUSY;
	}
	if (out != OUT_UNMAPPED) {
		put_target(m, *ret_dst);
		return out;
	}
	mem->frames.state[src] |= FL_MIGRATING;
	fl_charge(m->who->task, mem->cost->migrate_base + mem->cost->unmap * mappings_of(mem, src));
	return OUT_UNMAPPED;
}

/* ---- Second half: migrate_folio_move() ---- */

/* The new folio in place of the old, in every cache and table. */
static void move_contents(struct migration *m, fl_pfn src, fl_pfn dst)
{
	struct fl_mem *mem = m->mem;
	struct fl_frame *from = &mem->frames.record[src], *to = &mem->frames.record[dst];
	uint32_t state = mem->frames.state[src];
	uint16_t refs = from->refcount;

	fl_page_prep(mem, dst, fl_state_order(state), fl_state_kind(state));
	mem->frames.state[dst] |= state & MOVING_FLAGS;
	to->owner = from->owner;
	to->index = from->index;
	if (fl_state_kind(state) == FL_KIND_FILE || fl_state_kind(state) == FL_KIND_SHMEM)
		fl_filemap_migrate(mem, src, dst);
	if (state & FL_SWAPCACHED)
		fl_swap_cache_migrate(mem, src, dst);
	if (from->mapcount)
		fl_rmap_move(mem, src, dst);
	else if (fl_state_order(state))
		fl_large_folio_move(mem, src, dst);
	to->refcount = refs; /* the others', and ours in place of the isolation's */
	from->refcount = 1;
}

/* The old frame is free. */
static void release_source(struct migration *m, fl_pfn src)
{
	struct fl_mem *mem = m->mem;
	uint32_t state = mem->frames.state[src];

	fl_folio_clear_isolated(mem, src);
	mem->frames.state[src] = fl_state(fl_state_kind(state), fl_state_order(state));
	mem->frames.record[src].mapcount = 0;
	mem->frames.record[src].refcount = 0;
	fl_page_free(mem, m->who, src, fl_state_order(state));
}

static void charge_move(struct migration *m, fl_pfn src)
{
	const struct fl_cost *cost = m->mem->cost;
	uint32_t units = pages_of(m, src) << (m->mem->page_shift - 12);

	fl_charge(m->who->task, cost->copy_4k * units + cost->remap * mappings_of(m->mem, src));
}

static enum outcome folio_move(struct migration *m, fl_pfn src, fl_pfn dst)
{
	struct fl_mem *mem = m->mem;
	uint32_t state = mem->frames.state[src];

	if (mem->frames.record[src].refcount == 1) {
		put_target(m, dst);
		free_orphan(m, src);
		return OUT_DONE;
	}
	if (state & FL_PINNED || mem->frames.record[src].refcount > expected_refs(mem, src))
		return OUT_AGAIN;
	charge_move(m, src);
	move_contents(m, src, dst);
	release_source(m, src);
	fl_folio_add_lru(mem, m->who, dst);
	if (state & FL_MLOCKED)
		fl_lru_add_drain(mem, m->who);
	fl_folio_put(mem, m->who, dst);
	return OUT_DONE;
}

/* ---- A batch ---- */

struct pass {
	unsigned int retry, thp_retry, retry_pages;
};

static void pass_again(struct migration *m, struct pass *pass, fl_pfn pfn)
{
	pass->retry++;
	pass->thp_retry += is_thp(m, pfn);
	pass->retry_pages += pages_of(m, pfn);
}

/* What is still to be retried after the last pass has failed. */
static unsigned int pass_failed(struct migration *m, const struct pass *pass)
{
	m->stats.thp_failed += pass->thp_retry;
	m->stats.failed_pages += pass->retry_pages;
	return pass->retry;
}

static void succeeded(struct migration *m, unsigned int pages, bool thp)
{
	m->stats.succeeded += pages;
	m->stats.thp_succeeded += thp;
}

/* try_split_folio(): the pieces wait on m->pieces. The folio is off `from` when it worked. */
static bool try_split(struct migration *m, struct fl_pfn_list *from, fl_pfn pfn)
{
	bool thp = is_thp(m, pfn);

	if (!m->may_split || m->mem->frames.state[pfn] & FL_LOCKED)
		return false;
	fl_pfn_list_del(&m->mem->frames, from, pfn);
	if (!fl_split_folio(m->mem, m->who, pfn, &m->pieces)) {
		fl_pfn_list_add(&m->mem->frames, from, pfn);
		return false;
	}
	m->stats.thp_split += thp;
	m->stats.split++;
	return true;
}

static bool on_deferred_queue(const struct migration *m, fl_pfn pfn)
{
	uint32_t state = m->mem->frames.state[pfn];

	return pages_of(m, pfn) > 2 && state & FL_DEFERRED && state & FL_PARTIALLY_MAPPED;
}

/* One folio of a pass. False: no target, the batch ends. */
static bool unmap_one(struct migration *m, struct fl_pfn_list *from, fl_pfn pfn, struct pass *pass,
		      unsigned int *failed)
{
	struct fl_frames *f = &m->mem->frames;
	unsigned int pages = pages_of(m, pfn);
	bool thp = is_thp(m, pfn);
	fl_pfn dst;

	if (on_deferred_queue(m, pfn) && try_split(m, from, pfn)) {
		m->stats.thp_failed += thp;
		++*failed;
		return true;
	}
	/* The folio may be gone when this returns OUT_DONE, so it leaves the list first. */
	if (f->record[pfn].refcount == 1)
		fl_pfn_list_del(f, from, pfn);
	switch (folio_unmap(m, pfn, &dst)) {
	case OUT_DONE:
		succeeded(m, pages, thp);
		break;
	case OUT_UNMAPPED:
		fl_pfn_list_del(f, from, pfn);
		fl_pfn_list_add_tail(f, &m->src, pfn);
		fl_pfn_list_add_tail(f, &m->dst, dst);
		break;
	case OUT_AGAIN:
		pass_again(m, pass, pfn);
		break;
	case OUT_BUSY:
		fl_pfn_list_del(f, from, pfn);
		fl_pfn_list_add_tail(f, &m->failed, pfn);
		m->stats.thp_failed += thp;
		m->stats.failed_pages += pages;
		++*failed;
		break;
	case OUT_NO_TARGET:
		m->stats.thp_failed += thp;
		++*failed;
		if (pages > 1 && try_split(m, from, pfn))
			break;
		m->stats.failed_pages += pages + pass->retry_pages;
		m->stats.thp_failed += pass->thp_retry;
		return false;
	}
	return true;
}

/* All passes over `from`. -ENOMEM: a folio found no target; the rest was not tried. */
static int unmap_passes(struct migration *m, struct fl_pfn_list *from, unsigned int passes, unsigned int *failed)
{
	struct pass pass = { .retry = 1 };

	for (unsigned int i = 0; i < passes && pass.retry; i++) {
		fl_pfn next;

		pass = (struct pass){ 0 };
		for (fl_pfn pfn = from->first; pfn != FL_PFN_NONE; pfn = next) {
			next = m->mem->frames.record[pfn].next;
			if (!unmap_one(m, from, pfn, &pass, failed))
				return -ENOMEM;
		}
	}
	*failed += pass_failed(m, &pass);
	return 0;
}

static void move_passes(struct migration *m, unsigned int passes, unsigned int *failed)
{
	struct fl_frames *f = &m->mem->frames;
	struct pass pass = { .retry = 1 };

	for (unsigned int i = 0; i < passes && pass.retry; i++) {
		fl_pfn src = m->src.first, dst = m->dst.first;

		pass = (struct pass){ 0 };
		while (src != FL_PFN_NONE) {
			fl_pfn next_src, next_dst;
			unsigned int pages = pages_of(m, src);
			bool thp = is_thp(m, src);

			fl_cond_resched(m->who->task);
			next_src = f->record[src].next;
			next_dst = f->record[dst].next;
			fl_pfn_list_del(f, &m->src, src);
			fl_pfn_list_del(f, &m->dst, dst);
			if (folio_move(m, src, dst) == OUT_DONE) {
				succeeded(m, pages, thp);
			} else {
				/* back to its place: behind the one before the next */
				fl_pfn_list_insert_before(f, &m->src, next_src, src);
				fl_pfn_list_insert_before(f, &m->dst, next_dst, dst);
				pass_again(m, &pass, src);
			}
			src = next_src;
			dst = next_dst;
		}
	}
	*failed += pass_failed(m, &pass);
}

/* Folios that were unmapped and did not move get their mappings back. */
static void undo_unmapped(struct migration *m)
{
	struct fl_frames *f = &m->mem->frames;
	fl_pfn src, dst;

	while ((src = fl_pfn_list_pop(f, &m->src)) != FL_PFN_NONE) {
		dst = fl_pfn_list_pop(f, &m->dst);
		f->state[src] &= ~FL_MIGRATING;
		fl_charge(m->who->task, m->mem->cost->remap * mappings_of(m->mem, src));
		fl_pfn_list_add_tail(f, &m->failed, src);
		put_target(m, dst);
	}
}

/* migrate_pages_batch(): folios that failed for good, or after all passes, are on m->failed or still on `from`. */
static int migrate_batch(struct migration *m, struct fl_pfn_list *from, enum fl_migrate_mode mode, unsigned int passes)
{
	unsigned int failed = 0;
	int err;

	m->mode = mode;
	err = unmap_passes(m, from, passes, &failed);
	if (fl_pfn_list_empty(&m->src))
		return err ? err : (int)failed;
	fl_charge(m->who->task, m->mem->cost->tlb_flush);
	move_passes(m, passes, &failed);
	undo_unmapped(m);
	fl_wake_migration(m->mem);
	return err ? err : (int)failed;
}

/* migrate_pages_sync(): as a batch with the rules of ASYNC, then what is left one by one. */
static int migrate_sync(struct migration *m, struct fl_pfn_list *from, enum fl_migrate_mode mode)
{
	struct stats before = m->stats;
	unsigned int failed;
	struct fl_pfn_list kept = m->failed;
	int err;

	fl_pfn_list_init(&m->failed);
	err = migrate_batch(m, from, FL_MIGRATE_ASYNC, FL_MIGRATE_ASYNC_PASSES);
	fl_pfn_list_splice_tail(&m->mem->frames, from, &m->failed);
	m->failed = kept;
	if (err < 0) {
		fl_pfn_list_splice_tail(&m->mem->frames, &m->failed, from);
		return err;
	}
	/* What failed is tried again, so only splits count. */
	m->stats.failed_pages = before.failed_pages;
	m->stats.thp_failed = before.thp_failed + (m->stats.thp_split - before.thp_split);
	failed = m->stats.split - before.split;
	while (!fl_pfn_list_empty(from)) {
		struct fl_pfn_list one = FL_PFN_LIST_EMPTY;

		fl_pfn_list_add(&m->mem->frames, &one, fl_pfn_list_pop(&m->mem->frames, from));
		err = migrate_batch(m, &one, mode, FL_MIGRATE_SYNC_PASSES);
		fl_pfn_list_splice_tail(&m->mem->frames, &m->failed, &one);
		if (err < 0)
			return err;
		failed += (unsigned int)err;
	}
	return (int)failed;
}

/* Takes folios off `from` up to the size of a batch. */
static void cut_batch(struct migration *m, struct fl_pfn_list *from, struct fl_pfn_list *batch)
{
	unsigned int pages = 0;

	while (!fl_pfn_list_empty(from) && pages < MAX_BATCHED_PAGES) {
		fl_pfn pfn = fl_pfn_list_pop(&m->mem->frames, from);

		pages += pages_of(m, pfn);
		fl_pfn_list_add_tail(&m->mem->frames, batch, pfn);
	}
}

/* The pieces of split folios: one try, as far as targets reach; their failures count as pages only. */
static void migrate_pieces(struct migration *m)
{
	struct fl_pfn_list pieces = m->pieces;

	fl_pfn_list_init(&m->pieces);
	if (fl_pfn_list_empty(&pieces))
		return;
	m->may_split = false;
	migrate_batch(m, &pieces, FL_MIGRATE_ASYNC, 1);
	m->may_split = true;
	fl_pfn_list_splice_tail(&m->mem->frames, &m->failed, &pieces);
}

static int migrate_all(struct migration *m, struct fl_pfn_list *from, enum fl_migrate_mode mode)
{
	int total = 0;

	while (!fl_pfn_list_empty(from)) {
		struct fl_pfn_list batch = FL_PFN_LIST_EMPTY;
		int failed;

		cut_batch(m, from, &batch);
		failed = mode == FL_MIGRATE_ASYNC ? migrate_batch(m, &batch, mode, FL_MIGRATE_PASSES)
						  : migrate_sync(m, &batch, mode);
		fl_pfn_list_splice_tail(&m->mem->frames, &m->failed, &batch);
		if (failed < 0) {
			fl_pfn_list_splice_tail(&m->mem->frames, &m->failed, &m->pieces);
			return failed;
		}
		migrate_pieces(m);
		total += failed;
	}
	return total;
}

int fl_migrate_pages(struct fl_mem *mem, struct fl_caller *who, struct fl_pfn_list *from,
		     const struct fl_migrate_targets *targets, enum fl_migrate_mode mode, unsigned int *ret_succeeded)
{
	struct migration m = {
		.mem = mem,
		.who = who,
		.targets = targets,
		.failed = FL_PFN_LIST_EMPTY,
		.pieces = FL_PFN_LIST_EMPTY,
		.src = FL_PFN_LIST_EMPTY,
		.dst = FL_PFN_LIST_EMPTY,
		.may_split = true,
	};
	int result = migrate_all(&m, from, mode);

	fl_pfn_list_splice_tail(&mem->frames, &m.failed, from);
	*from = m.failed;
	if (fl_pfn_list_empty(from))
		result = 0;
	fl_count(mem, FL_VM_pgmigrate_success, m.stats.succeeded);
	fl_count(mem, FL_VM_pgmigrate_fail, m.stats.failed_pages);
	fl_count(mem, FL_VM_thp_migration_success, m.stats.thp_succeeded);
	fl_count(mem, FL_VM_thp_migration_fail, m.stats.thp_failed);
	fl_count(mem, FL_VM_thp_migration_split, m.stats.thp_split);
	*ret_succeeded = m.stats.succeeded;
	return result;
}

void fl_putback_movable_pages(struct fl_mem *mem, struct fl_caller *who, struct fl_pfn_list *list)
{
	fl_pfn pfn;

	while ((pfn = fl_pfn_list_pop(&mem->frames, list)) != FL_PFN_NONE)
		fl_folio_putback_lru(mem, who, pfn);
}
