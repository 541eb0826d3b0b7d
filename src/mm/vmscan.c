/*
 * mm/vmscan.c - reclaim: how much of which LRU list is scanned, ageing, throttling, direct reclaim. Mirrors mm/vmscan.c
 * (classic LRU; 6.12.117, differences of 7.3 behind decisions).
 *
 * What happens to a single folio is in vmscan_folio.c, kswapd in kswapd.c, slab in shrinker.c. Folios that reclaim works
 * on are isolated and stand on a private list, so that other tasks may run between any two of them.
 */
#include "mm/vmscan.h"

#include "base/hash.h"
#include "base/text.h"
#include "mm/compaction.h"
#include "mm/filemap.h"
#include "mm/internal.h"
#include "mm/oom_kill.h"
#include "mm/page_io.h"
#include "mm/page_writeback.h"
#include "mm/rmap.h"
#include "mm/swapfile.h"
#include "mm/watermark.h"
#include "mm/workingset.h"

/* A tick of the scheduler with CONFIG_HZ=250, as distributions build it. */
#define TICK_NS (4 * FL_MS_NS)

/* ---- Pure rules ---- */

static unsigned long int_sqrt(unsigned long x)
{
	unsigned long root = 0;

	while ((root + 1) * (root + 1) <= x)
		root++;
	return root;
}

bool fl_inactive_is_low(unsigned int page_shift, unsigned long inactive, unsigned long active)
{
	unsigned long gib = (inactive + active) >> (30 - page_shift);
	unsigned long ratio = gib ? int_sqrt(10 * gib) : 1;

	return inactive * ratio < active;
}

enum fl_scan_balance fl_scan_balance(const struct fl_scan_facts *f, uint64_t fraction[2], uint64_t *denominator)
{
	uint64_t total = f->anon_cost + f->file_cost, anon = total + f->anon_cost, file = total + f->file_cost;

	if (!f->may_swap || !f->has_swap)
		return FL_SCAN_FILE;
	if (f->priority == 0 && f->swappiness)
		return FL_SCAN_EQUAL;
	if (f->file_is_tiny)
		return FL_SCAN_ANON;
	if (f->cache_trim_mode)
		return FL_SCAN_FILE;
	total = anon + file;
	fraction[0] = f->swappiness * (total + 1) / (anon + 1);
	fraction[1] = (200 - f->swappiness) * (total + 1) / (file + 1);
	*denominator = fraction[0] + fraction[1];
	return FL_SCAN_FRACT;
}

/* ---- Sizes ---- */

static uint64_t lru_size(const struct fl_mem *mem, enum fl_lru_list lru, unsigned int reclaim_idx)
{
	uint64_t pages = 0;

	for (unsigned int z = 0; z <= reclaim_idx; z++)
		pages += mem->lru->zone_size[z][lru];
	return pages;
}

static bool inactive_is_low(const struct fl_mem *mem, bool file)
{
	const uint64_t *size = mem->lru->size;

	return file ? fl_inactive_is_low(mem->page_shift, size[FL_LRU_INACTIVE_FILE], size[FL_LRU_ACTIVE_FILE]) :
		      fl_inactive_is_low(mem->page_shift, size[FL_LRU_INACTIVE_ANON], size[FL_LRU_ACTIVE_ANON]);
}

bool fl_can_reclaim_anon(const struct fl_mem *mem)
{
	return fl_swap_free_slots(mem) > 0;
}

unsigned long fl_zone_reclaimable_pages(const struct fl_mem *mem, const struct fl_zone *zone)
{
	static const struct fl_no_facts none;
	const uint64_t *size = mem->lru->zone_size[zone->index];
	unsigned long pages = size[FL_LRU_INACTIVE_FILE] + size[FL_LRU_ACTIVE_FILE];

	if (fl_can_reclaim_anon(mem))
		pages += size[FL_LRU_INACTIVE_ANON] + size[FL_LRU_ACTIVE_ANON];
	if (!pages && mem->decide.reclaimable_counts_free(&none))
		return (unsigned long)zone->nr_free_pages;
	return pages;
}

void fl_lru_note_cost(struct fl_mem *mem, bool file, unsigned long nr_io, unsigned long nr_rotated)
{
	struct fl_vmscan *v = mem->vmscan;
	uint64_t lru = 0;

	v->cost[file] += nr_io * FL_SWAP_CLUSTER_MAX + nr_rotated;
	for (unsigned int l = FL_LRU_INACTIVE_ANON; l <= FL_LRU_ACTIVE_FILE; l++)
		lru += mem->lru->size[l];
	if (v->cost[0] + v->cost[1] > lru / 4) {
		v->cost[0] /= 2;
		v->cost[1] /= 2;
	}
}

void fl_snapshot_refaults(struct fl_mem *mem)
{
	mem->vmscan->refaults[0] = mem->vm[FL_VM_workingset_activate_anon];
	mem->vmscan->refaults[1] = mem->vm[FL_VM_workingset_activate_file];
}

/* ---- Throttling ---- */

bool fl_too_many_isolated(const struct fl_mem *mem, const struct fl_caller *who, fl_gfp gfp, bool file)
{
	uint64_t inactive = mem->lru->size[file ? FL_LRU_INACTIVE_FILE : FL_LRU_INACTIVE_ANON];

	if (fl_is_kswapd(who))
		return false;
	/* Those who can wait for I/O must not starve those who cannot. */
	if ((gfp & (FL_GFP_IO | FL_GFP_FS)) == (FL_GFP_IO | FL_GFP_FS))
		inactive >>= 3;
	return mem->lru->isolated[file] > inactive;
}

void fl_wake_throttle_isolated(struct fl_mem *mem)
{
	fl_wake_all(&mem->vmscan->throttle[FL_THROTTLE_ISOLATED]);
}

/* skip_throttle_noprogress(): near OOM, or little is under way that could be waited for. */
static bool skip_throttle_noprogress(const struct fl_mem *mem)
{
	unsigned long reclaimable = 0;

	if (fl_kswapd_is_hopeless(mem))
		return true;
	for (unsigned int z = 0; z < FL_ZONES; z++)
		if (mem->zone[z].managed)
			reclaimable += fl_zone_reclaimable_pages(mem, &mem->zone[z]);
	return 2 * (fl_nr_dirty(mem) + fl_nr_writeback(mem)) <= reclaimable;
}

void fl_reclaim_throttle(struct fl_mem *mem, struct fl_caller *who, enum fl_vmscan_throttle reason)
{
	struct fl_vmscan *v = mem->vmscan;
	fl_ns timeout = TICK_NS;

	fl_swap_flush_plug(mem, who);
	/* Who only yields comes back at once, so time must pass, or a loop around this would never end. */
	fl_charge(who->task, mem->cost->context_switch);
	if (((who->flags & FL_PF_KTHREAD) && !fl_is_kswapd(who)) || !mem->sim) {
		fl_cond_resched(who->task);
		return;
	}
	if (reason == FL_THROTTLE_WRITEBACK) {
		timeout = 100 * FL_MS_NS;
		if (v->writeback_throttled++ == 0)
			v->throttle_start = v->throttled_written;
	} else if (reason == FL_THROTTLE_ISOLATED) {
		timeout = 20 * FL_MS_NS;
	} else if (skip_throttle_noprogress(mem)) {
		fl_cond_resched(who->task);
		return;
	}
	fl_wait_timeout(&v->throttle[reason], who->task, timeout);
	if (reason == FL_THROTTLE_WRITEBACK)
		v->writeback_throttled--;
}

/* ---- Taking folios off a list and putting them back ---- */

static enum fl_vm_event by_reclaimer(const struct fl_caller *who, enum fl_vm_event kswapd, enum fl_vm_event direct,
				     enum fl_vm_event khugepaged)
{
	if (fl_is_kswapd(who))
		return kswapd;
	return who->actor == FL_ACTOR_KHUGEPAGED ? khugepaged : direct;
}

/*
 * isolate_lru_folios(): up to nr_to_scan pages from the tail of a list. Folios of too high zones go to the head and do not count
 * against nr_to_scan, but are scanned. Returns the pages taken; *nr_scanned includes the skipped.
 */
static unsigned long isolate_lru_folios(struct fl_mem *mem, struct fl_caller *who, enum fl_lru_list lru,
					unsigned long nr_to_scan, const struct fl_scan_control *sc,
					struct fl_pfn_list *dst, unsigned long *nr_scanned)
{
	uint32_t head = mem->lru->head[lru];
	struct fl_pfn_list skipped = FL_PFN_LIST_EMPTY;
	unsigned long scan = 0, taken = 0;
	fl_pfn pfn;

	*nr_scanned = 0;
	while (scan < nr_to_scan && (pfn = fl_list_last(&mem->frames, head)) != head) {
		unsigned int zone = fl_zone_of(mem, pfn)->index;
		uint32_t pages = fl_folio_pages(mem, pfn);

		fl_frame_fetch(&mem->frames, mem->frames.record[pfn].prev);
		__builtin_prefetch(&mem->pageblock[mem->frames.record[pfn].prev >> mem->pageblock_order], 1);
		*nr_scanned += pages;
		fl_charge(who->task, mem->cost->scan_lru_folio);
		fl_spin_held(&mem->lru_lock, who->task, mem->cost->scan_lru_folio / 4); /* the rest is done without it */
		if (zone > sc->reclaim_idx) {
			fl_count(mem, FL_VM_pgskip_dma + zone, pages);
			fl_lru_del_folio(mem, pfn);
			fl_pfn_list_add_tail(&mem->frames, &skipped, pfn);
			continue;
		}
		scan += pages;
		if (!sc->may_unmap && mem->frames.record[pfn].mapcount) {
			fl_lru_move_folio(mem, pfn, lru, false);
			continue;
		}
		if (!fl_folio_isolate_lru(mem, pfn))
			fl_bug(__FILE__, __LINE__, "a folio on a list can be isolated", "");
		fl_pfn_list_add_tail(&mem->frames, dst, pfn);
		taken += pages;
	}
	while ((pfn = fl_pfn_list_pop(&mem->frames, &skipped)) != FL_PFN_NONE)
		fl_lru_add_folio(mem, pfn, false);
	return taken;
}

/* move_folios_to_lru(): back to the heads of the lists where their flags say; those that only we still hold are freed. Pages
 * put back. */
static unsigned long putback(struct fl_mem *mem, struct fl_caller *who, struct fl_pfn_list *list)
{
	unsigned long moved = 0;
	fl_pfn pfn;

	while ((pfn = fl_pfn_list_pop(&mem->frames, list)) != FL_PFN_NONE) {
		uint32_t pages = fl_folio_pages(mem, pfn);

		if (mem->frames.state[pfn] & (FL_MLOCKED | FL_UNEVICTABLE)) {
			fl_folio_putback_lru(mem, who, pfn);
			continue;
		}
		fl_folio_clear_isolated(mem, pfn);
		if (fl_folio_put(mem, who, pfn))
			continue;
		fl_lru_add_folio(mem, pfn, false);
		moved += pages;
		if (mem->frames.state[pfn] & FL_ACTIVE)
			fl_workingset_age(mem, pages);
	}
	return moved;
}

static void add_stat(struct fl_scan_control *sc, const struct fl_reclaim_stat *stat, unsigned long taken, bool file)
{
	sc->nr.dirty += stat->nr_dirty;
	sc->nr.congested += stat->nr_congested;
	sc->nr.unqueued_dirty += stat->nr_unqueued_dirty;
	sc->nr.writeback += stat->nr_writeback;
	sc->nr.immediate += stat->nr_immediate;
	sc->nr.taken += taken;
	if (file)
		sc->nr.file_taken += taken;
}

/* shrink_inactive_list(). May switch. */
static unsigned long shrink_inactive_list(struct fl_mem *mem, struct fl_caller *who, enum fl_lru_list lru,
					  unsigned long nr_to_scan, struct fl_scan_control *sc)
{
	bool file = lru == FL_LRU_INACTIVE_FILE;
	struct fl_pfn_list list = FL_PFN_LIST_EMPTY;
	struct fl_reclaim_stat stat = { 0 };
	unsigned long scanned, taken, reclaimed;

	if (fl_too_many_isolated(mem, who, sc->gfp, file)) {
		fl_reclaim_throttle(mem, who, FL_THROTTLE_ISOLATED);
		if (who->flags & FL_PF_OOM_VICTIM)
			return FL_SWAP_CLUSTER_MAX;
		if (fl_too_many_isolated(mem, who, sc->gfp, file))
			return 0;
	}
	fl_wake_throttle_isolated(mem);
	fl_lru_add_drain(mem, who);
	taken = isolate_lru_folios(mem, who, lru, nr_to_scan, sc, &list, &scanned);
	fl_count(mem, by_reclaimer(who, FL_VM_pgscan_kswapd, FL_VM_pgscan_direct, FL_VM_pgscan_khugepaged), scanned);
	fl_count(mem, file ? FL_VM_pgscan_file : FL_VM_pgscan_anon, scanned);
	fl_work_add(mem, who, FL_WORK_reclaim_scanned, scanned);
	if (!taken)
		return 0;
	reclaimed = fl_shrink_folio_list(mem, who, &list, sc, &stat);
	putback(mem, who, &list);
	fl_count(mem, by_reclaimer(who, FL_VM_pgsteal_kswapd, FL_VM_pgsteal_direct, FL_VM_pgsteal_khugepaged),
		 reclaimed);
	fl_count(mem, file ? FL_VM_pgsteal_file : FL_VM_pgsteal_anon, reclaimed);
	fl_work_add(mem, who, FL_WORK_reclaimed, reclaimed);
	fl_lru_note_cost(mem, file, stat.nr_pageout, scanned > reclaimed ? scanned - reclaimed : 0);
	if (stat.nr_unqueued_dirty == taken)
		fl_wakeup_flushers(mem);
	add_stat(sc, &stat, taken, file);
	FL_TRACE(mem, who, mm_vmscan_lru_shrink_inactive, scanned, reclaimed, (uint64_t)sc->priority, file);
	return reclaimed;
}

/* shrink_active_list(): referenced executable file pages stay active, all others become inactive. May switch. */
static void shrink_active_list(struct fl_mem *mem, struct fl_caller *who, enum fl_lru_list lru,
			       unsigned long nr_to_scan, struct fl_scan_control *sc)
{
	bool file = lru == FL_LRU_ACTIVE_FILE;
	struct fl_pfn_list hold = FL_PFN_LIST_EMPTY, active = FL_PFN_LIST_EMPTY, inactive = FL_PFN_LIST_EMPTY;
	unsigned long scanned, taken, deactivated, rotated = 0;
	fl_pfn pfn;

	fl_lru_add_drain(mem, who);
	taken = isolate_lru_folios(mem, who, lru, nr_to_scan, sc, &hold, &scanned);
	fl_count(mem, FL_VM_pgrefill, scanned);
	fl_work_add(mem, who, FL_WORK_reclaim_scanned, scanned);
	while ((pfn = fl_pfn_list_pop(&mem->frames, &hold)) != FL_PFN_NONE) {
		uint32_t *state = &mem->frames.state[pfn];

		if (!(*state & (FL_MLOCKED | FL_UNEVICTABLE))) {
			if (fl_folio_referenced(mem, who, pfn) && (*state & FL_EXEC) &&
			    fl_state_is_file_lru(*state)) {
				rotated += fl_folio_pages(mem, pfn);
				fl_pfn_list_add_tail(&mem->frames, &active, pfn);
				continue;
			}
			*state = (*state & ~FL_ACTIVE) | FL_WORKINGSET;
		}
		fl_pfn_list_add_tail(&mem->frames, &inactive, pfn);
	}
	putback(mem, who, &active);
	deactivated = putback(mem, who, &inactive);
	fl_count(mem, FL_VM_pgdeactivate, deactivated);
	if (rotated)
		fl_lru_note_cost(mem, file, 0, rotated);
	FL_TRACE(mem, who, mm_vmscan_lru_shrink_active, taken, deactivated, (uint64_t)sc->priority, file);
	fl_cond_resched(who->task);
}

void fl_age_active_anon(struct fl_mem *mem, struct fl_caller *who, struct fl_scan_control *sc)
{
	if (fl_swap_total(mem) && inactive_is_low(mem, false))
		shrink_active_list(mem, who, FL_LRU_ACTIVE_ANON, FL_SWAP_CLUSTER_MAX, sc);
}

/* ---- How much to scan ---- */

/* prepare_scan_control(): which types may be deactivated, and whether one type is to be left alone. */
static void prepare_scan_control(const struct fl_mem *mem, struct fl_scan_control *sc)
{
	const uint64_t *size = mem->lru->size;
	uint64_t high = 0, free = 0, file = size[FL_LRU_INACTIVE_FILE];

	if (sc->force_deactivate) {
		sc->may_deactivate = FL_DEACTIVATE_ANON | FL_DEACTIVATE_FILE;
	} else {
		sc->may_deactivate = 0;
		if (mem->vm[FL_VM_workingset_activate_anon] != mem->vmscan->refaults[0] || inactive_is_low(mem, false))
			sc->may_deactivate |= FL_DEACTIVATE_ANON;
		if (mem->vm[FL_VM_workingset_activate_file] != mem->vmscan->refaults[1] || inactive_is_low(mem, true))
			sc->may_deactivate |= FL_DEACTIVATE_FILE;
	}
	sc->cache_trim_mode = file >> sc->priority && !(sc->may_deactivate & FL_DEACTIVATE_FILE) &&
			      !sc->no_cache_trim_mode;
	for (unsigned int z = 0; z < FL_ZONES; z++) {
		if (!mem->zone[z].managed)
			continue;
		free += (uint64_t)mem->zone[z].nr_free_pages;
		high += fl_wmark_pages(&mem->zone[z], FL_WMARK_HIGH);
	}
	file += size[FL_LRU_ACTIVE_FILE];
	sc->file_is_tiny = file + free <= high && !(sc->may_deactivate & FL_DEACTIVATE_ANON) &&
			   size[FL_LRU_INACTIVE_ANON] >> sc->priority;
}

static void get_scan_count(const struct fl_mem *mem, const struct fl_scan_control *sc, unsigned long nr[])
{
	const struct fl_scan_facts facts = {
		.may_swap = sc->may_swap,
		.has_swap = fl_can_reclaim_anon(mem),
		.swappiness = mem->set.swappiness,
		.priority = sc->priority,
		.file_is_tiny = sc->file_is_tiny,
		.cache_trim_mode = sc->cache_trim_mode,
		.anon_cost = mem->vmscan->cost[0],
		.file_cost = mem->vmscan->cost[1],
	};
	uint64_t fraction[2] = { 0 }, denominator = 1;
	enum fl_scan_balance balance = fl_scan_balance(&facts, fraction, &denominator);

	for (unsigned int lru = FL_LRU_INACTIVE_ANON; lru <= FL_LRU_ACTIVE_FILE; lru++) {
		bool file = lru >= FL_LRU_INACTIVE_FILE;

		nr[lru] = lru_size(mem, lru, sc->reclaim_idx) >> sc->priority;
		if (balance == FL_SCAN_FRACT)
			nr[lru] = nr[lru] * fraction[file] / denominator;
		else if (balance != FL_SCAN_EQUAL && (balance == FL_SCAN_FILE) != file)
			nr[lru] = 0;
	}
}

unsigned long fl_shrink_list(struct fl_mem *mem, struct fl_caller *who, enum fl_lru_list lru, unsigned long nr,
			     struct fl_scan_control *sc)
{
	bool file = lru >= FL_LRU_INACTIVE_FILE;

	if (lru == FL_LRU_INACTIVE_ANON || lru == FL_LRU_INACTIVE_FILE)
		return shrink_inactive_list(mem, who, lru, nr, sc);
	if (sc->may_deactivate & (file ? FL_DEACTIVATE_FILE : FL_DEACTIVATE_ANON))
		shrink_active_list(mem, who, lru, nr, sc);
	else
		sc->skipped_deactivate = true;
	return 0;
}

/* What is left of a list's target when the other type stops at `percentage`. */
static void cut_target(unsigned long *nr, unsigned long target, unsigned long percentage)
{
	unsigned long scanned = target - *nr;

	*nr = target * (100 - percentage) / 100;
	*nr -= *nr < scanned ? *nr : scanned;
}

/* The goal is reached: the smaller type stops, the other is scanned in proportion. False when one has nothing left. */
static bool cut_targets(unsigned long nr[], const unsigned long target[])
{
	unsigned long file = nr[FL_LRU_INACTIVE_FILE] + nr[FL_LRU_ACTIVE_FILE];
	unsigned long anon = nr[FL_LRU_INACTIVE_ANON] + nr[FL_LRU_ACTIVE_ANON];
	unsigned int stop = FL_LRU_INACTIVE_FILE, go = FL_LRU_INACTIVE_ANON;
	unsigned long left = file;

	if (!file || !anon)
		return false;
	if (file > anon) {
		stop = FL_LRU_INACTIVE_ANON;
		go = FL_LRU_INACTIVE_FILE;
		left = anon;
	}
	left = left * 100 / (target[stop] + target[stop + 1] + 1);
	nr[stop] = nr[stop + 1] = 0;
	cut_target(&nr[go], target[go], left);
	cut_target(&nr[go + 1], target[go + 1], left);
	return true;
}

/* shrink_lruvec(): slices of 32 of each list in turn. May switch. */
static void shrink_lruvec(struct fl_mem *mem, struct fl_caller *who, struct fl_scan_control *sc)
{
	unsigned long nr[FL_LRU_LISTS] = { 0 }, target[FL_LRU_LISTS], reclaimed = 0;
	bool proportional = !fl_is_kswapd(who) && sc->priority == FL_DEF_PRIORITY;
	struct fl_plug plug;

	get_scan_count(mem, sc, nr);
	for (unsigned int lru = 0; lru < FL_LRU_LISTS; lru++)
		target[lru] = nr[lru];
	fl_swap_plug(who, &plug);
	while (nr[FL_LRU_INACTIVE_ANON] || nr[FL_LRU_ACTIVE_FILE] || nr[FL_LRU_INACTIVE_FILE]) {
		for (unsigned int lru = FL_LRU_INACTIVE_ANON; lru <= FL_LRU_ACTIVE_FILE; lru++) {
			unsigned long slice = nr[lru] < FL_SWAP_CLUSTER_MAX ? nr[lru] : FL_SWAP_CLUSTER_MAX;

			if (!slice)
				continue;
			nr[lru] -= slice;
			reclaimed += fl_shrink_list(mem, who, lru, slice, sc);
		}
		fl_cond_resched(who->task);
		if (reclaimed < sc->nr_to_reclaim || proportional)
			continue;
		if (!cut_targets(nr, target))
			break;
	}
	fl_swap_unplug(mem, who);
	sc->nr_reclaimed += reclaimed;
	fl_age_active_anon(mem, who, sc);
}

/* should_continue_reclaim(): is there still too little free for compaction, and enough to reclaim? */
static bool should_continue_reclaim(struct fl_mem *mem, struct fl_caller *who, unsigned long reclaimed,
				    const struct fl_scan_control *sc)
{
	unsigned long inactive = mem->lru->size[FL_LRU_INACTIVE_FILE];

	if (!(sc->gfp & FL_GFP_IO) || !sc->order ||
	    (sc->order <= FL_COSTLY_ORDER && sc->priority >= FL_DEF_PRIORITY - 2))
		return false;
	if (!reclaimed)
		return false;
	for (unsigned int z = 0; z <= sc->reclaim_idx; z++) {
		struct fl_zone *zone = &mem->zone[z];
		uint64_t min = fl_wmark_pages(zone, FL_WMARK_MIN);

		if (!zone->managed)
			continue;
		if (fl_watermark_ok(mem, zone, sc->order, min, sc->reclaim_idx, 0))
			return false;
		if (fl_compaction_suitable(mem, who, zone, sc->order, min, sc->reclaim_idx))
			return false;
	}
	if (fl_can_reclaim_anon(mem))
		inactive += mem->lru->size[FL_LRU_INACTIVE_ANON];
	return inactive > fl_compact_gap(mem, sc->order);
}

/* What a scan of the node tells about writeback, and who must wait for it. May switch. */
static void note_writeback(struct fl_mem *mem, struct fl_caller *who, const struct fl_scan_control *sc)
{
	struct fl_vmscan *v = mem->vmscan;

	if (fl_is_kswapd(who)) {
		if (sc->nr.writeback && sc->nr.writeback == sc->nr.taken)
			v->node_writeback = true;
		if (sc->nr.unqueued_dirty == sc->nr.file_taken)
			v->node_dirty = true;
		if (sc->nr.immediate)
			fl_reclaim_throttle(mem, who, FL_THROTTLE_WRITEBACK);
		if (sc->nr.dirty && sc->nr.dirty == sc->nr.congested)
			v->node_congested = true;
	} else if (v->node_congested) {
		fl_reclaim_throttle(mem, who, FL_THROTTLE_CONGESTED);
	}
}

/* Progress of the node may end hopelessness: at once in 6.12, in 7.3 only when the node is balanced too. */
static void note_progress(struct fl_mem *mem, const struct fl_scan_control *sc)
{
	struct fl_progress_facts facts = { .failures = mem->vmscan->kswapd_failures };

	if (!facts.failures)
		return;
	facts.balanced = fl_pgdat_balanced(mem, sc->order, sc->reclaim_idx);
	if (mem->decide.progress_clears_failures(&facts))
		mem->vmscan->kswapd_failures = 0;
}

void fl_shrink_node(struct fl_mem *mem, struct fl_caller *who, struct fl_scan_control *sc)
{
	bool reclaimable = false;
	unsigned long reclaimed;

	do {
		unsigned long slab_pages = 0;

		sc->nr = (__typeof__(sc->nr)){ 0 };
		reclaimed = sc->nr_reclaimed;
		fl_charge(who->task, mem->cost->shrink_base);
		prepare_scan_control(mem, sc);
		shrink_lruvec(mem, who, sc);
		fl_shrink_slab(mem, who, sc->gfp, sc->priority, &slab_pages);
		sc->nr_reclaimed += slab_pages;
		reclaimed = sc->nr_reclaimed - reclaimed;
		reclaimable |= reclaimed > 0;
		note_writeback(mem, who, sc);
	} while (should_continue_reclaim(mem, who, reclaimed, sc));
	if (reclaimable)
		note_progress(mem, sc);
	else if (sc->cache_trim_mode)
		sc->cache_trim_mode_failed = true;
}

/* ---- Direct reclaim ---- */

/* compaction_ready(): is there enough free that compaction should try before more is reclaimed? */
static bool compaction_ready(struct fl_mem *mem, struct fl_caller *who, struct fl_zone *zone,
			     const struct fl_scan_control *sc)
{
	static const struct fl_no_facts none;
	uint64_t high = fl_wmark_pages(zone, FL_WMARK_HIGH);

	if (!(sc->gfp & FL_GFP_IO))
		return false;
	if (fl_watermark_ok(mem, zone, sc->order, fl_wmark_pages(zone, FL_WMARK_MIN), sc->reclaim_idx, 0))
		return true;
	if (!fl_compaction_suitable(mem, who, zone, sc->order, high, sc->reclaim_idx))
		return false;
	/* 6.12 tests suitability by marks of its own, so the high mark comes on top. */
	return !mem->decide.compaction_ready_adds_high(&none) ||
	       fl_watermark_ok(mem, zone, 0, high + fl_compact_gap(mem, sc->order), sc->reclaim_idx, 0);
}

static void consider_throttle(struct fl_mem *mem, struct fl_caller *who, const struct fl_scan_control *sc)
{
	if (sc->nr_reclaimed > sc->nr_scanned >> 3) {
		fl_wake_all(&mem->vmscan->throttle[FL_THROTTLE_NOPROGRESS]);
		return;
	}
	if (sc->priority == 1 && !sc->nr_reclaimed)
		fl_reclaim_throttle(mem, who, FL_THROTTLE_NOPROGRESS);
}

/* shrink_zones(): the node once, unless every zone that could be asked for a costly order is ready for compaction. */
static void shrink_zones(struct fl_mem *mem, struct fl_caller *who, struct fl_scan_control *sc)
{
	bool shrink = false;

	for (int z = (int)sc->reclaim_idx; z >= 0; z--) {
		struct fl_zone *zone = &mem->zone[z];

		if (!zone->managed)
			continue;
		if (sc->order > FL_COSTLY_ORDER && compaction_ready(mem, who, zone, sc)) {
			sc->compaction_ready = true;
			continue;
		}
		/* The first zone that needs it has the node shrunk; later ones see what that gave. */
		if (!shrink)
			fl_shrink_node(mem, who, sc);
		shrink = true;
	}
	if (shrink)
		consider_throttle(mem, who, sc);
}

/* do_try_to_free_pages() */
static unsigned long try_priorities(struct fl_mem *mem, struct fl_caller *who, struct fl_scan_control *sc)
{
	bool full_walk = false;

	for (;;) {
		fl_count(mem, FL_VM_allocstall_dma + sc->reclaim_idx, 1);
		for (sc->priority = FL_DEF_PRIORITY; sc->priority >= 0; sc->priority--) {
			sc->nr_scanned = 0;
			shrink_zones(mem, who, sc);
			if (sc->nr_reclaimed >= sc->nr_to_reclaim || sc->compaction_ready)
				break;
			if (who->flags & FL_PF_OOM_VICTIM)
				break;
		}
		fl_snapshot_refaults(mem);
		if (sc->nr_reclaimed)
			return sc->nr_reclaimed;
		if (sc->compaction_ready)
			return 1;
		if (!full_walk) { /* of the cgroups: there is one, so it is the same once more */
			full_walk = true;
		} else if (sc->skipped_deactivate) {
			sc->force_deactivate = true;
			sc->skipped_deactivate = false;
		} else {
			return 0;
		}
	}
}

bool fl_allow_direct_reclaim(struct fl_mem *mem)
{
	struct fl_vmscan *v = mem->vmscan;
	uint64_t reserve = 0, free = 0;

	if (fl_kswapd_is_hopeless(mem))
		return true;
	for (unsigned int z = 0; z <= FL_ZONE_NORMAL; z++) {
		const struct fl_zone *zone = &mem->zone[z];

		if (!zone->managed || !fl_zone_reclaimable_pages(mem, zone))
			continue;
		reserve += fl_wmark_pages(zone, FL_WMARK_MIN);
		free += (uint64_t)zone->nr_free_pages;
	}
	if (!reserve || free > reserve / 2)
		return true;
	if (fl_waitqueue_active(&v->kswapd_wait)) {
		if (v->kswapd_highest > FL_ZONE_NORMAL)
			v->kswapd_highest = FL_ZONE_NORMAL;
		fl_wake_all(&v->kswapd_wait);
	}
	return false;
}

/* throttle_direct_reclaim(): waits for kswapd when the reserves are half gone; true if the task was killed meanwhile. */
static bool throttle_direct_reclaim(struct fl_mem *mem, struct fl_caller *who, fl_gfp gfp)
{
	struct fl_vmscan *v = mem->vmscan;

	if ((who->flags & (FL_PF_KTHREAD | FL_PF_OOM_VICTIM)) || !v->kswapd || fl_allow_direct_reclaim(mem))
		return false;
	fl_count(mem, FL_VM_pgscan_direct_throttle, 1);
	if (!(gfp & FL_GFP_FS)) {
		fl_wait_timeout(&v->pfmemalloc_wait, who->task, FL_S_NS);
		return who->flags & FL_PF_OOM_VICTIM;
	}
	while (!(who->flags & FL_PF_OOM_VICTIM) && !fl_allow_direct_reclaim(mem))
		fl_wait(&v->pfmemalloc_wait, who->task);
	return who->flags & FL_PF_OOM_VICTIM;
}

/* Reclaims in the name of the caller, which then may use the reserves (PF_MEMALLOC), and books its time. */
static unsigned long reclaim_as(struct fl_mem *mem, struct fl_caller *who, struct fl_scan_control *sc)
{
	uint64_t begin = fl_task_cpu_ns(who->task);
	bool had_memalloc = who->flags & FL_PF_MEMALLOC;
	unsigned long reclaimed;

	who->flags |= FL_PF_MEMALLOC;
	reclaimed = try_priorities(mem, who, sc);
	if (!had_memalloc)
		who->flags &= ~FL_PF_MEMALLOC;
	fl_work_add_cpu(mem, who, begin);
	return reclaimed;
}

unsigned long fl_try_to_free_pages(struct fl_mem *mem, struct fl_caller *who, const struct fl_alloc_context *ac)
{
	struct fl_scan_control sc = {
		.gfp = ac->gfp,
		.order = ac->order,
		.reclaim_idx = ac->ceiling,
		.nr_to_reclaim = FL_SWAP_CLUSTER_MAX,
		.may_writepage = true,
		.may_unmap = true,
		.may_swap = true,
	};
	unsigned long reclaimed;

	if (throttle_direct_reclaim(mem, who, ac->gfp))
		return 1;
	fl_work_add(mem, who, FL_WORK_stalls, 1);
	FL_TRACE(mem, who, mm_vmscan_direct_reclaim_begin, ac->order, ac->gfp);
	reclaimed = reclaim_as(mem, who, &sc);
	FL_TRACE(mem, who, mm_vmscan_direct_reclaim_end, reclaimed);
	return reclaimed;
}

unsigned long fl_reclaim_pages(struct fl_mem *mem, struct fl_caller *who, unsigned long pages, bool may_swap)
{
	struct fl_scan_control sc = {
		.gfp = FL_GFP_KERNEL,
		.reclaim_idx = FL_ZONES - 1,
		.nr_to_reclaim = pages,
		.may_writepage = true,
		.may_unmap = true,
		.may_swap = may_swap,
	};

	return reclaim_as(mem, who, &sc);
}

void fl_drop_caches(struct fl_mem *mem, struct fl_caller *who, unsigned int what)
{
	unsigned long pages, freed, rounds = 0;

	if (what & 1) {
		fl_lru_add_drain_all(mem, who);
		fl_filemap_drop(mem, who);
		fl_count(mem, FL_VM_drop_pagecache, 1);
	}
	if (!(what & 2))
		return;
	/* drop_slab(): whole passes at priority 0 until one frees next to nothing. */
	do {
		pages = 0;
		freed = fl_shrink_slab(mem, who, FL_GFP_KERNEL, 0, &pages);
	} while (freed >> rounds++ > 1 && rounds < 32);
	fl_count(mem, FL_VM_drop_slab, 1);
}

/* ---- State ---- */

void fl_reclaim_init(struct fl_mem *mem)
{
	mem->vmscan = fl_xcalloc(1, sizeof(*mem->vmscan));
	mem->vmscan->kswapd_highest = FL_KSWAPD_NO_ZONE;
	mem->vmscan->kswapd_trigger = FL_TRIGGER_SLOWPATH;
	mem->vmscan->irq = (struct fl_caller){ .task = &mem->vmscan->irq_task, .flags = FL_PF_KTHREAD };
	fl_swap_init(mem);
	fl_filemap_init(mem);
	fl_writeback_init(mem);
	fl_oom_init(mem);
	fl_register_kernel_shrinkers(mem);
}

void fl_reclaim_fini(struct fl_mem *mem)
{
	if (!mem->vmscan)
		return;
	fl_oom_fini(mem);
	fl_writeback_fini(mem);
	fl_filemap_fini(mem);
	fl_swap_fini(mem);
	fl_xfree(mem->vmscan);
	mem->vmscan = NULL;
}

uint64_t fl_reclaim_hash(const struct fl_mem *mem, uint64_t hash)
{
	const struct fl_vmscan *v = mem->vmscan;

	hash = fl_hash_u64(hash, v->nonresident_age);
	hash = fl_hash_u64(hash, v->cost[0] << 32 ^ v->cost[1]);
	hash = fl_hash_u64(hash, v->refaults[0] << 32 ^ v->refaults[1]);
	hash = fl_hash_u64(hash, (uint64_t)v->kswapd_order << 32 | v->kswapd_highest << 16 | v->kswapd_failures);
	for (unsigned int i = 0; i < v->shrinkers; i++)
		hash = fl_hash_u64(hash, v->deferred[i]);
	return fl_filemap_hash(mem, fl_swap_hash(mem, hash));
}

void fl_reclaim_check(struct fl_mem *mem)
{
	fl_swap_check(mem);
	fl_filemap_check(mem);
}
