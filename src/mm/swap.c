/*
 * mm/swap.c - LRU lists and per-CPU batches of 31 folios. Mirrors mm/swap.c (folio.c in 7.3) and mm_inline.h.
 *
 * Owns struct fl_lru. The only file that sets and clears FL_LRU and FL_BATCHED, so sizes by list and zone and the
 * pageblock's count of LRU pages cannot drift from the flags.
 */
#include "mm/swap.h"

#include "base/hash.h"
#include "mm/huge_memory.h"
#include "mm/page_alloc.h"
#include "sim/platform.h"

void fl_lru_init(struct fl_mem *mem)
{
	struct fl_lru *lru = fl_host_alloc(sizeof(*lru));

	for (unsigned int i = 0; i < FL_LRU_LISTS; i++)
		lru->head[i] = fl_frames_new_head(&mem->frames);
	lru->batch = fl_host_alloc((size_t)mem->cpus * FL_BATCHES * sizeof(*lru->batch));
	mem->lru = lru;
}

void fl_lru_fini(struct fl_mem *mem)
{
	fl_host_free(mem->lru->batch);
	fl_host_free(mem->lru);
	mem->lru = NULL;
}

static struct fl_batch *batch_of(const struct fl_mem *mem, unsigned int cpu, enum fl_batch_kind kind)
{
	return &mem->lru->batch[cpu * FL_BATCHES + kind];
}

static void size_add(struct fl_mem *mem, fl_pfn pfn, enum fl_lru_list list, long pages)
{
	mem->lru->size[list] += pages;
	mem->lru->zone_size[fl_zone_of(mem, pfn)->index][list] += pages;
	fl_pageblock_of(mem, pfn)->lru += pages;
}

void fl_lru_add_folio(struct fl_mem *mem, fl_pfn pfn, bool tail)
{
	uint32_t state = mem->frames.state[pfn];
	enum fl_lru_list list = fl_state_lru_list(state);

	FL_ASSERT(!(state & (FL_LRU | FL_BATCHED | FL_ISOLATED)));
	mem->frames.state[pfn] = state | FL_LRU;
	/* The unevictable list has no order; the kernel does not even link it. */
	if (tail)
		fl_list_add_tail(&mem->frames, mem->lru->head[list], pfn);
	else
		fl_list_add(&mem->frames, mem->lru->head[list], pfn);
	size_add(mem, pfn, list, 1l << fl_state_order(state));
}

void fl_lru_insert_before(struct fl_mem *mem, fl_pfn pfn, uint32_t next)
{
	uint32_t state = mem->frames.state[pfn];

	FL_ASSERT(!(state & (FL_LRU | FL_BATCHED | FL_ISOLATED)));
	mem->frames.state[pfn] = state | FL_LRU;
	fl_list_insert(&mem->frames, pfn, mem->frames.record[next].prev, next);
	size_add(mem, pfn, fl_state_lru_list(state), 1l << fl_state_order(state));
}

static void lru_unlink(struct fl_mem *mem, fl_pfn pfn, enum fl_lru_list from)
{
	FL_ASSERT(mem->frames.state[pfn] & FL_LRU);
	fl_list_del(&mem->frames, pfn);
	mem->frames.state[pfn] &= ~FL_LRU;
	size_add(mem, pfn, from, -(1l << fl_folio_order(mem, pfn)));
}

void fl_lru_del_folio(struct fl_mem *mem, fl_pfn pfn)
{
	lru_unlink(mem, pfn, fl_state_lru_list(mem->frames.state[pfn]));
}

void fl_lru_move_folio(struct fl_mem *mem, fl_pfn pfn, enum fl_lru_list from, bool tail)
{
	lru_unlink(mem, pfn, from);
	fl_lru_add_folio(mem, pfn, tail);
}

void fl_lru_forget(struct fl_mem *mem, fl_pfn pfn)
{
	uint32_t state = mem->frames.state[pfn], place;

	if (state & FL_LRU) {
		fl_lru_del_folio(mem, pfn);
	} else if (state & FL_BATCHED) {
		place = mem->frames.record[pfn].next;
		batch_of(mem, place >> 16, place >> 8 & 0xff)->slot[place & 0xff] = FL_PFN_NONE;
		mem->frames.state[pfn] = state & ~FL_BATCHED;
	}
}

/* lru_add_fn() */
static void drain_add(struct fl_mem *mem, fl_pfn pfn)
{
	uint32_t *state = &mem->frames.state[pfn];
	bool was_unevictable = *state & FL_UNEVICTABLE;
	uint64_t pages = fl_folio_pages(mem, pfn);

	if (FL_UNLIKELY(*state & FL_MLOCKED)) {
		*state = (*state & ~FL_ACTIVE) | FL_UNEVICTABLE;
		if (!was_unevictable)
			fl_count(mem, FL_VM_unevictable_pgs_culled, pages);
	} else if (FL_UNLIKELY(was_unevictable)) {
		*state &= ~FL_UNEVICTABLE;
		fl_count(mem, FL_VM_unevictable_pgs_rescued, pages);
	}
	fl_lru_add_folio(mem, pfn, false);
}

/* lru_activate(), lru_deactivate(), lru_move_tail(), lru_lazyfree(): they leave unevictable folios alone. */
static void drain_move(struct fl_mem *mem, fl_pfn pfn, enum fl_batch_kind kind)
{
	uint32_t *state = &mem->frames.state[pfn];
	uint64_t pages = fl_folio_pages(mem, pfn);
	bool tail = false;

	if (*state & FL_UNEVICTABLE) {
		/* nothing to change */
	} else if (kind == FL_BATCH_ACTIVATE && !(*state & FL_ACTIVE)) {
		*state |= FL_ACTIVE;
		fl_count(mem, FL_VM_pgactivate, pages);
	} else if (kind == FL_BATCH_DEACTIVATE && *state & FL_ACTIVE) {
		*state &= ~(FL_ACTIVE | FL_REFERENCED);
		fl_count(mem, FL_VM_pgdeactivate, pages);
	} else if (kind == FL_BATCH_ROTATE) {
		*state &= ~FL_ACTIVE;
		fl_count(mem, FL_VM_pgrotated, pages);
		tail = true;
	} else if (kind == FL_BATCH_LAZYFREE && fl_state_kind(*state) == FL_KIND_ANON && *state & FL_SWAPBACKED &&
		   !(*state & FL_SWAPCACHED)) {
		*state &= ~(FL_ACTIVE | FL_REFERENCED | FL_SWAPBACKED);
		fl_count(mem, FL_VM_pglazyfree, pages);
	}
	fl_lru_add_folio(mem, pfn, tail);
}

/* Folios that go one after the other to the head of one list of one zone: sizes and head are settled at the end. */
struct list_run {
	struct fl_zone *zone;
	enum fl_lru_list list;
	uint32_t first; /* of the list */
	uint64_t pages;
};

static void run_end(struct fl_mem *mem, const struct list_run *run)
{
	if (!run->pages)
		return;
	mem->frames.record[mem->lru->head[run->list]].next = run->first;
	mem->lru->size[run->list] += run->pages;
	mem->lru->zone_size[run->zone->index][run->list] += run->pages;
}

static void run_begin(struct fl_mem *mem, struct list_run *run, fl_pfn pfn, enum fl_lru_list list)
{
	run_end(mem, run);
	*run = (struct list_run){ fl_zone_of(mem, pfn), list, fl_list_first(&mem->frames, mem->lru->head[list]), 0 };
}

static inline void run_add(struct fl_mem *mem, struct list_run *run, fl_pfn pfn, uint32_t state)
{
	enum fl_lru_list list = fl_state_lru_list(state);
	struct fl_frame *record = mem->frames.record;
	uint32_t pages = 1u << fl_state_order(state);

	if (FL_UNLIKELY(!run->pages || list != run->list || pfn - run->zone->start >= run->zone->spanned))
		run_begin(mem, run, pfn, list);
	mem->frames.state[pfn] = state | FL_LRU;
	record[pfn].next = run->first;
	record[pfn].prev = mem->lru->head[list];
	record[run->first].prev = pfn;
	run->first = pfn;
	run->pages += pages;
	fl_pageblock_of(mem, pfn)->lru += (uint16_t)pages;
}

/* The batch of new folios: the same as drain_add() for each. */
static void drain_adds(struct fl_mem *mem, const fl_pfn *slot, uint32_t count)
{
	struct list_run run = { 0 };

	for (uint32_t i = 0; i < count; i++) {
		fl_pfn pfn = slot[i];
		uint32_t state;

		if (FL_UNLIKELY(pfn == FL_PFN_NONE))
			continue;
		state = mem->frames.state[pfn] & ~FL_BATCHED;
		FL_ASSERT(!(state & (FL_LRU | FL_ISOLATED)));
		if (FL_LIKELY(!(state & (FL_MLOCKED | FL_UNEVICTABLE)))) {
			run_add(mem, &run, pfn, state);
			continue;
		}
		run_end(mem, &run);
		run.pages = 0;
		mem->frames.state[pfn] = state;
		drain_add(mem, pfn);
	}
	run_end(mem, &run);
}

static void drain_batch(struct fl_mem *mem, unsigned int cpu, enum fl_batch_kind kind)
{
	struct fl_batch *batch = batch_of(mem, cpu, kind);
	uint32_t count = batch->count;

	batch->count = 0;
	if (kind == FL_BATCH_ADD && fl_may_shorten(mem)) {
		drain_adds(mem, batch->slot, count);
		return;
	}
	for (uint32_t i = 0; i < count; i++) {
		fl_pfn pfn = batch->slot[i];

		if (pfn == FL_PFN_NONE)
			continue;
		mem->frames.state[pfn] &= ~FL_BATCHED;
		if (kind == FL_BATCH_ADD)
			drain_add(mem, pfn);
		else
			drain_move(mem, pfn, kind);
	}
}

void fl_batch_flush(struct fl_mem *mem, struct fl_caller *who, unsigned int cpu, enum fl_batch_kind kind)
{
	fl_spin_held(&mem->lru_lock, who->task, batch_of(mem, cpu, kind)->count * (fl_ns)mem->cost->lru_add / 2);
	drain_batch(mem, cpu, kind);
}

static void batch_add(struct fl_mem *mem, struct fl_caller *who, fl_pfn pfn, enum fl_batch_kind kind)
{
	uint32_t state = mem->frames.state[pfn];

	FL_ASSERT(!(state & (FL_LRU | FL_BATCHED | FL_ISOLATED)));
	fl_batch_add(mem, who, pfn, state, kind);
}

void fl_folio_add_lru(struct fl_mem *mem, struct fl_caller *who, fl_pfn pfn)
{
	batch_add(mem, who, pfn, FL_BATCH_ADD);
}

static void batch_move(struct fl_mem *mem, struct fl_caller *who, fl_pfn pfn, enum fl_batch_kind kind)
{
	if (!(mem->frames.state[pfn] & FL_LRU))
		return;
	fl_lru_del_folio(mem, pfn);
	batch_add(mem, who, pfn, kind);
}

void fl_folio_activate(struct fl_mem *mem, struct fl_caller *who, fl_pfn pfn)
{
	if (!(mem->frames.state[pfn] & (FL_ACTIVE | FL_UNEVICTABLE)))
		batch_move(mem, who, pfn, FL_BATCH_ACTIVATE);
}

void fl_folio_deactivate(struct fl_mem *mem, struct fl_caller *who, fl_pfn pfn)
{
	if ((mem->frames.state[pfn] & (FL_ACTIVE | FL_UNEVICTABLE)) == FL_ACTIVE)
		batch_move(mem, who, pfn, FL_BATCH_DEACTIVATE);
}

void fl_folio_mark_lazyfree(struct fl_mem *mem, struct fl_caller *who, fl_pfn pfn)
{
	uint32_t state = mem->frames.state[pfn];

	if (fl_state_kind(state) == FL_KIND_ANON && state & FL_SWAPBACKED &&
	    !(state & (FL_SWAPCACHED | FL_UNEVICTABLE)))
		batch_move(mem, who, pfn, FL_BATCH_LAZYFREE);
}

void fl_folio_rotate_reclaimable(struct fl_mem *mem, struct fl_caller *who, fl_pfn pfn)
{
	if (!(mem->frames.state[pfn] & (FL_LOCKED | FL_DIRTY | FL_UNEVICTABLE)))
		batch_move(mem, who, pfn, FL_BATCH_ROTATE);
}

void fl_lru_add_drain_cpu(struct fl_mem *mem, struct fl_caller *who, unsigned int cpu)
{
	static const enum fl_batch_kind order[] = { FL_BATCH_ADD, FL_BATCH_ROTATE, FL_BATCH_DEACTIVATE,
						    FL_BATCH_LAZYFREE, FL_BATCH_ACTIVATE };

	for (unsigned int i = 0; i < FL_BATCHES; i++)
		if (batch_of(mem, cpu, order[i])->count)
			drain_batch(mem, cpu, order[i]);
}

void fl_lru_add_drain(struct fl_mem *mem, struct fl_caller *who)
{
	fl_lru_add_drain_cpu(mem, who, fl_caller_cpu(who));
}

void fl_lru_add_drain_all(struct fl_mem *mem, struct fl_caller *who)
{
	for (unsigned int cpu = 0; cpu < mem->cpus; cpu++) {
		fl_charge(who->task, mem->cost->drain_cpu);
		fl_lru_add_drain_cpu(mem, who, cpu);
	}
}

bool fl_folio_isolate_lru(struct fl_mem *mem, fl_pfn pfn)
{
	uint32_t state = mem->frames.state[pfn];

	if (!(state & FL_LRU))
		return false;
	fl_lru_del_folio(mem, pfn);
	fl_folio_mark_isolated(mem, pfn);
	return true;
}

void fl_folio_mark_isolated(struct fl_mem *mem, fl_pfn pfn)
{
	uint32_t state = mem->frames.state[pfn];

	FL_ASSERT(!(state & (FL_LRU | FL_BATCHED | FL_ISOLATED)));
	fl_folio_get(mem, pfn);
	mem->frames.state[pfn] = state | FL_ISOLATED;
	mem->lru->isolated[fl_state_is_file_lru(state)] += fl_folio_pages(mem, pfn);
}

void fl_folio_clear_isolated(struct fl_mem *mem, fl_pfn pfn)
{
	uint32_t state = mem->frames.state[pfn];

	FL_ASSERT(state & FL_ISOLATED);
	mem->frames.state[pfn] = state & ~FL_ISOLATED;
	mem->lru->isolated[fl_state_is_file_lru(state)] -= fl_folio_pages(mem, pfn);
}

void fl_folio_putback_lru(struct fl_mem *mem, struct fl_caller *who, fl_pfn pfn)
{
	fl_folio_clear_isolated(mem, pfn);
	if (mem->frames.record[pfn].refcount > 1)
		fl_folio_add_lru(mem, who, pfn);
	fl_folio_put(mem, who, pfn);
}

void fl_folio_set_swapbacked(struct fl_mem *mem, fl_pfn pfn)
{
	uint32_t state = mem->frames.state[pfn];

	FL_ASSERT(!(state & FL_LRU));
	if (state & FL_SWAPBACKED)
		return;
	if (state & FL_ISOLATED) {
		mem->lru->isolated[1] -= fl_folio_pages(mem, pfn);
		mem->lru->isolated[0] += fl_folio_pages(mem, pfn);
	}
	mem->frames.state[pfn] = state | FL_SWAPBACKED;
}

/* __folio_put(): what a folio leaves behind when it goes. */
static void folio_release(struct fl_mem *mem, struct fl_caller *who, fl_pfn pfn)
{
	uint32_t state = mem->frames.state[pfn];
	unsigned int order = fl_state_order(state);

	FL_ASSERT(!mem->frames.record[pfn].mapcount);
	if (state & FL_ISOLATED)
		fl_folio_clear_isolated(mem, pfn);
	else
		fl_lru_forget(mem, pfn);
	if (FL_UNLIKELY(order))
		fl_large_folio_release(mem, pfn);
	if (FL_UNLIKELY(state & FL_MLOCKED)) {
		fl_count(mem, FL_VM_unevictable_pgs_cleared, 1u << order);
		mem->lru->mlocked -= 1u << order;
	}
	mem->frames.state[pfn] = fl_state(fl_state_kind(state), order);
	fl_page_free(mem, who, pfn, order);
}

bool fl_folio_put(struct fl_mem *mem, struct fl_caller *who, fl_pfn pfn)
{
	struct fl_frame *frame = &mem->frames.record[pfn];

	FL_ASSERT(frame->refcount);
	if (--frame->refcount)
		return false;
	folio_release(mem, who, pfn);
	return true;
}

uint64_t fl_lru_hash(const struct fl_mem *mem, uint64_t hash)
{
	for (unsigned int i = 0; i < FL_LRU_LISTS; i++) {
		hash = fl_hash_u64(hash, mem->lru->size[i]);
		hash = fl_hash_u64(hash, mem->frames.record[mem->lru->head[i]].next);
		hash = fl_hash_u64(hash, mem->frames.record[mem->lru->head[i]].prev);
	}
	for (unsigned int i = 0; i < mem->cpus * FL_BATCHES; i++) {
		hash = fl_hash_u64(hash, mem->lru->batch[i].count);
		for (uint32_t s = 0; s < mem->lru->batch[i].count; s++)
			hash = fl_hash_u64(hash, mem->lru->batch[i].slot[s]);
	}
	return hash;
}

static void check_list(struct fl_mem *mem, enum fl_lru_list list)
{
	uint64_t zone[FL_ZONES] = { 0 };
	uint32_t head = mem->lru->head[list], last = head;

	for (uint32_t at = fl_list_first(&mem->frames, head); at != head; at = mem->frames.record[at].next) {
		uint32_t state = mem->frames.state[at];

		FL_ASSERT_MSG(mem->frames.record[at].prev == last, "LRU links agree");
		FL_ASSERT_MSG((state & (FL_LRU | FL_BATCHED | FL_ISOLATED)) == FL_LRU, "folio on a list has only FL_LRU");
		FL_ASSERT_MSG(fl_state_lru_list(state) == list, "a folio is on the list of its flags");
		zone[fl_zone_of(mem, at)->index] += fl_folio_pages(mem, at);
		last = at;
	}
	for (unsigned int z = 0; z < FL_ZONES; z++) {
		FL_ASSERT_MSG(zone[z] == mem->lru->zone_size[z][list], "size of an LRU list of a zone");
		mem->lru->size[list] -= zone[z];
	}
	FL_ASSERT_MSG(mem->lru->size[list] == 0, "size of an LRU list");
	for (unsigned int z = 0; z < FL_ZONES; z++)
		mem->lru->size[list] += zone[z];
}

void fl_lru_check(struct fl_mem *mem)
{
	for (unsigned int i = 0; i < FL_LRU_LISTS; i++)
		check_list(mem, i);
	for (unsigned int i = 0; i < mem->cpus * FL_BATCHES; i++) {
		const struct fl_batch *batch = &mem->lru->batch[i];

		FL_ASSERT(batch->count < FL_BATCH_SIZE);
		for (uint32_t s = 0; s < batch->count; s++) {
			if (batch->slot[s] == FL_PFN_NONE)
				continue;
			FL_ASSERT_MSG(mem->frames.state[batch->slot[s]] & FL_BATCHED, "a batch holds batched folios");
			FL_ASSERT_MSG(mem->frames.record[batch->slot[s]].next ==
					      fl_batch_place(i / FL_BATCHES, i % FL_BATCHES, s),
				      "a batched folio knows its place");
		}
	}
}
