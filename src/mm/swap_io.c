/*
 * mm/swap_io.c - swap pages on their way to and from the device. Mirrors mm/page_io.c and the read half of mm/swap_state.c
 * (cluster readahead; the readahead by VMA that 6.12 prefers on solid-state devices is not modelled).
 */
#include "mm/page_alloc.h"
#include "mm/page_io.h"
#include "mm/page_writeback.h"
#include "mm/swap_internal.h"

/* ---- Writing ---- */

bool fl_swap_is_congested(const struct fl_mem *mem)
{
	return mem->swap->device && fl_device_in_flight(mem->swap->device) >= FL_DEVICE_QUEUE;
}

void fl_swap_wait_write(struct fl_mem *mem, struct fl_caller *who)
{
	fl_swap_flush_plug(mem, who);
	fl_wait(&mem->swap->queue_wait, who->task);
}

static void submit_write(struct fl_mem *mem, struct fl_caller *who, const fl_pfn *folio, uint32_t count)
{
	fl_bio_submit(mem, who, mem->swap->device, folio, count, true, &mem->swap->queue_wait, fl_folio_end_writeback);
}

/* Does the folio lie right behind the other one in swap? */
static bool follows(const struct fl_mem *mem, fl_pfn before, fl_pfn folio)
{
	return fl_folio_swap_slot(mem, before) + fl_folio_pages(mem, before) == fl_folio_swap_slot(mem, folio);
}

void fl_swap_flush_plug(struct fl_mem *mem, struct fl_caller *who)
{
	struct fl_plug *plug = who->plug;
	uint32_t first = 0, count;

	if (!plug || !plug->count)
		return;
	count = plug->count;
	plug->count = plug->requests = 0;
	plug->last_bytes = 0;
	for (uint32_t i = 1; i <= count; i++) {
		if (i < count && i - first < FL_BIO_PAGES && follows(mem, plug->folio[i - 1], plug->folio[i]))
			continue;
		submit_write(mem, who, plug->folio + first, i - first);
		first = i;
	}
}

void fl_swap_plug(struct fl_caller *who, struct fl_plug *plug)
{
	plug->count = plug->requests = 0;
	plug->last_bytes = 0;
	who->plug = plug;
}

void fl_swap_unplug(struct fl_mem *mem, struct fl_caller *who)
{
	fl_swap_flush_plug(mem, who);
	who->plug = NULL;
}

/* blk_add_rq_to_plug(), blk_attempt_plug_merge() */
static void plug_write(struct fl_mem *mem, struct fl_caller *who, struct fl_plug *plug, fl_pfn folio)
{
	bool merges = plug->count && follows(mem, plug->folio[plug->count - 1], folio);

	if (plug->count == FL_PLUG_FOLIOS ||
	    (!merges && (plug->requests >= FL_PLUG_REQUESTS || plug->last_bytes >= FL_PLUG_FLUSH_BYTES))) {
		fl_swap_flush_plug(mem, who);
		merges = false;
	}
	if (!merges) {
		plug->requests++;
		plug->last_bytes = 0;
	}
	plug->last_bytes += (uint64_t)fl_folio_pages(mem, folio) << mem->page_shift;
	plug->folio[plug->count++] = folio;
}

void fl_swap_writepage(struct fl_mem *mem, struct fl_caller *who, fl_pfn folio)
{
	uint32_t *state = &mem->frames.state[folio];
	unsigned int order = fl_state_order(*state);

	FL_ASSERT((*state & FL_SWAPCACHED) && !(*state & FL_WRITEBACK));
	*state = (*state & ~FL_DIRTY) | FL_WRITEBACK;
	fl_charge(who->task, mem->cost->swap_bio);
	fl_count(mem, FL_VM_pswpout, UINT64_C(1) << order);
	if (order == mem->pmd_order)
		fl_count(mem, FL_VM_thp_swpout, 1);
	if (order)
		mem->mthp[order][FL_MTHP_swpout]++;
	if (who->plug && mem->swap->device)
		plug_write(mem, who, who->plug, folio);
	else
		submit_write(mem, who, &folio, 1);
}

/* ---- Reading ---- */

static void end_read(struct fl_mem *mem, struct fl_caller *irq, fl_pfn folio)
{
	(void)irq;
	mem->frames.state[folio] &= ~FL_LOCKED;
	fl_folio_wake(mem, folio);
}

/* __swapin_nr_pages(): window by hits of the last one; nearness to the last fault starts it. */
unsigned int fl_swapin_window(unsigned int hits, bool is_neighbour, unsigned int last_window, unsigned int max)
{
	unsigned int pages = hits + 2;

	if (pages == 2) {
		if (!is_neighbour)
			pages = 1;
	} else {
		unsigned int up = 4;

		while (up < pages)
			up <<= 1;
		pages = up;
	}
	if (pages > max)
		pages = max;
	return pages < last_window / 2 ? last_window / 2 : pages;
}

/* swapin_nr_pages() */
static unsigned int next_window(struct fl_mem *mem, fl_swp slot)
{
	struct fl_swap *swap = mem->swap;
	unsigned int max = 1u << mem->set.page_cluster, hits = swap->ra_hits;
	bool neighbour = slot == swap->ra_last_slot + 1 || slot + 1 == swap->ra_last_slot;

	if (max <= 1 || swap->synchronous)
		return 1;
	swap->ra_hits = 0;
	swap->ra_last_pages = fl_swapin_window(hits, neighbour, swap->ra_last_pages, max);
	if (!hits)
		swap->ra_last_slot = slot;
	return swap->ra_last_pages;
}

/* Is there anything to read for this slot? */
static bool needs_read(const struct fl_mem *mem, fl_swp slot)
{
	return fl_swap_count(mem, slot) && fl_swap_cache_lookup(mem, slot) == FL_PFN_NONE;
}

/* __read_swap_cache_async(): a locked folio for the slot, in the cache and on its way to the LRU; FL_PFN_NONE without memory or when
 * somebody was faster. May switch. */
static fl_pfn prepare_read(struct fl_mem *mem, struct fl_caller *who, fl_swp slot, fl_gfp gfp)
{
	fl_pfn pfn = fl_page_alloc(mem, who, gfp, 0, FL_KIND_SWAPCACHE);
	fl_shadow shadow;

	if (pfn == FL_PFN_NONE)
		return pfn;
	if (!needs_read(mem, slot)) {
		fl_page_free(mem, who, pfn, 0);
		return FL_PFN_NONE;
	}
	shadow = fl_swap_shadow(mem, slot);
	mem->frames.record[pfn].owner = 0;
	mem->frames.record[pfn].index = slot;
	if (!fl_swap_cache_add(mem, who, pfn, slot)) {
		fl_page_free(mem, who, pfn, 0);
		return FL_PFN_NONE;
	}
	mem->frames.state[pfn] |= FL_LOCKED;
	if (shadow != FL_SHADOW_NONE)
		fl_workingset_refault(mem, pfn, shadow);
	fl_folio_add_lru(mem, who, pfn);
	fl_count(mem, FL_VM_pswpin, 1);
	return pfn;
}

/* swap_cluster_readahead(): reads the aligned window around the slot as one request. True if the slot's page was in it. */
static bool read_window(struct fl_mem *mem, struct fl_caller *who, fl_swp slot, fl_gfp gfp)
{
	unsigned int window = next_window(mem, slot);
	fl_swp first = slot & ~(window - 1), end = first + window;
	fl_pfn page[1u << 8];
	uint32_t count = 0;
	bool has_target = false;

	FL_ASSERT(window <= sizeof(page) / sizeof(page[0]));
	if (end > mem->swap->pages)
		end = mem->swap->pages;
	for (fl_swp at = first; at < end; at++) {
		fl_pfn pfn;

		if (!needs_read(mem, at))
			continue;
		pfn = prepare_read(mem, who, at, gfp);
		if (pfn == FL_PFN_NONE)
			continue;
		if (at != slot) {
			mem->frames.state[pfn] |= FL_RECLAIM; /* PG_readahead */
			fl_count(mem, FL_VM_swap_ra, 1);
		}
		has_target |= at == slot;
		page[count++] = pfn;
	}
	if (count)
		fl_bio_submit(mem, who, mem->swap->device, page, count, false, &mem->swap->queue_wait, end_read);
	return has_target;
}

fl_pfn fl_swapin(struct fl_mem *mem, struct fl_caller *who, fl_swp slot, fl_gfp gfp, bool *major)
{
	bool failed = false, was_read = false;

	if (major)
		*major = false;
	for (;;) {
		fl_pfn page = fl_swap_cache_lookup(mem, slot), head;

		if (page == FL_PFN_NONE) {
			if (failed || !fl_swap_count(mem, slot))
				return FL_PFN_NONE;
			fl_charge(who->task, mem->cost->page_cache_add);
			failed = !read_window(mem, who, slot, gfp);
			fl_count(mem, FL_VM_pgmajfault, !was_read);
			was_read = true;
			if (major)
				*major = true;
			continue;
		}
		head = fl_frame_head(&mem->frames, page);
		if (mem->frames.state[head] & (FL_LOCKED | FL_MIGRATING)) {
			fl_folio_wait_busy(mem, who, head);
			continue;
		}
		fl_charge(who->task, mem->cost->page_cache_lookup);
		if ((mem->frames.state[head] & (FL_RECLAIM | FL_WRITEBACK)) == FL_RECLAIM) {
			mem->frames.state[head] &= ~FL_RECLAIM;
			fl_count(mem, FL_VM_swap_ra_hit, 1);
			mem->swap->ra_hits++;
		}
		return page;
	}
}
