/*
 * mm/pagetable_internal.h - how page tables are stored, and the walk to an entry: shared by pagetable.c and the short way
 * of a fault in memory.c. Nobody else includes this.
 *
 * An entry of a PMD table is the id of a record; the record is a single entry, a short list, a dense array, or a huge
 * mapping with its deposit. Ids start at 1, 0 is none.
 */
#ifndef FL_MM_PAGETABLE_INTERNAL_H
#define FL_MM_PAGETABLE_INTERNAL_H

#include "mm/mmap.h"
#include "mm/pool.h"

enum fl_pte_form { FL_FORM_ONE, FL_FORM_SHORT, FL_FORM_DENSE, FL_FORM_HUGE, FL_FORM_HUGE_ZERO };

struct fl_pte_table {
	fl_pfn frame;  /* of the table; for huge forms of the deposited table */
	uint32_t data; /* ONE: the entry; SHORT, DENSE: index in a pool; HUGE: pfn */
	uint16_t used; /* entries that are not none */
	uint16_t slot; /* ONE: which */
	uint8_t form;  /* enum fl_pte_form */
};

struct fl_pagetables {
	struct fl_pool table, shorts, dense;
	unsigned int bits; /* of a table: entries are 2^bits */
	uint32_t slot_mask;
};

/* One PMD table. */
struct fl_pmd_dir {
	uint32_t *entry; /* record ids; NULL: no table */
	fl_pfn frame;
	uint32_t used;
};

/* The PMD entry that covers vpn, or NULL without a PMD table. */
static inline uint32_t *fl_pmd_entry(const struct fl_pagetables *pt, const struct fl_mm *mm, fl_vpn vpn)
{
	uint32_t d = vpn >> (2 * pt->bits);

	if (FL_UNLIKELY(d >= mm->dirs || !mm->dir[d].entry))
		return NULL;
	return &mm->dir[d].entry[vpn >> pt->bits & pt->slot_mask];
}

/* The table that covers vpn (or the huge mapping there), or NULL. */
static inline struct fl_pte_table *fl_pte_table_of(const struct fl_pagetables *pt, const struct fl_mm *mm, fl_vpn vpn)
{
	uint32_t *entry = fl_pmd_entry(pt, mm, vpn);

	return entry && *entry ? fl_pool_at(&pt->table, *entry) : NULL;
}

/* The entries of a dense table. */
static inline fl_pte *fl_pte_array(const struct fl_pagetables *pt, const struct fl_pte_table *t)
{
	return fl_pool_at(&pt->dense, t->data);
}

#define FL_FETCH_AHEAD 12 /* pages; a host miss takes about as long as so many accesses */

/* Walks go from page to page, and the frames behind them lie anywhere: the host fetches them ahead. */
static inline void fl_pte_fetch_ahead(const struct fl_mem *mem, const struct fl_pte_table *t, uint32_t slot)
{
	const struct fl_pagetables *pt = mem->pagetables;
	fl_pte pte;

	if (t->form != FL_FORM_DENSE || slot + FL_FETCH_AHEAD > pt->slot_mask)
		return;
	pte = fl_pte_array(pt, t)[slot + FL_FETCH_AHEAD];
	if (fl_pte_is_present(pte))
		fl_frame_fetch(&mem->frames, fl_pte_pfn(pte));
}

#endif
