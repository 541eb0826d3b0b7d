/*
 * mm/pagetable.h - modelled page tables: what they map, and the page frames that they take themselves.
 *
 * A PTE table covers the range of one PMD entry (2^pmd_order pages). It is kept as a single entry, a short list or a
 * dense array, by how full it is: experiments map millions of tables with one entry. The frames are real: each table
 * is an order-0 Unmovable page, so are PMD and PUD tables (one for 2^pmd_order lower ones), and the table that a huge
 * mapping has deposited. PTEs are 32 bits:
 *     0                    none
 *     0x4....... + pfn     present: page frame in bits 0-27 (of the page itself, not of its folio)
 *     0x8....... + slot    swap entry, bits 0-29
 *     0xc0000000           the zero page (read-only)
 * Accessed and dirty bits live in the folio's state word (FL_YOUNG, FL_PTE_DIRTY): one for the folio.
 */
#ifndef FL_MM_PAGETABLE_H
#define FL_MM_PAGETABLE_H

#include "mm/mem.h"

typedef uint32_t fl_vpn; /* virtual page number in an address space */
#define FL_VPN_NONE UINT32_MAX

typedef uint32_t fl_pte;
#define FL_PTE_TYPE_MASK 0xc0000000u
#define FL_PTE_PRESENT 0x40000000u
#define FL_PTE_SWAP 0x80000000u
#define FL_PTE_ZERO 0xc0000000u
#define FL_PTE_PFN_MASK 0x0fffffffu
#define FL_PTE_SLOT_MASK 0x3fffffffu

static inline fl_pte fl_pte_of_pfn(fl_pfn pfn)
{
	return FL_PTE_PRESENT | pfn;
}

static inline fl_pte fl_pte_of_slot(uint32_t slot)
{
	return FL_PTE_SWAP | slot;
}

static inline bool fl_pte_is_present(fl_pte pte) /* a page frame, not the zero page */
{
	return (pte & FL_PTE_TYPE_MASK) == FL_PTE_PRESENT;
}

static inline bool fl_pte_is_swap(fl_pte pte)
{
	return (pte & FL_PTE_TYPE_MASK) == FL_PTE_SWAP;
}

static inline fl_pfn fl_pte_pfn(fl_pte pte)
{
	return pte & FL_PTE_PFN_MASK;
}

/* What a PMD entry is. */
enum fl_pmd_kind {
	FL_PMD_NONE,      /* no table */
	FL_PMD_TABLE,     /* a PTE table */
	FL_PMD_HUGE,      /* maps a folio of PMD order; a table is deposited */
	FL_PMD_HUGE_ZERO, /* maps the huge zero page; a table is deposited */
};

struct fl_mm;

/* The PMD entry that covers vpn. For FL_PMD_HUGE, *ret_pfn is the folio's head (ret_pfn may be NULL). */
enum fl_pmd_kind fl_pmd_look(const struct fl_mem *mem, const struct fl_mm *mm, fl_vpn vpn, fl_pfn *ret_pfn);

/* Both in one walk: for FL_PMD_TABLE `value` is the PTE, for FL_PMD_HUGE the folio's head. */
struct fl_walk {
	enum fl_pmd_kind kind;
	uint32_t value;
};
struct fl_walk fl_walk(const struct fl_mem *mem, const struct fl_mm *mm, fl_vpn vpn);

/* pmd_none(): there is room for a huge mapping. The PMD table itself must exist. */
bool fl_pmd_is_empty(const struct fl_mem *mem, const struct fl_mm *mm, fl_vpn vpn);

/* The PTE at vpn; 0 without a table. Through a huge mapping: the entry of that page as if it were PTE-mapped. */
fl_pte fl_pte_look(const struct fl_mem *mem, const struct fl_mm *mm, fl_vpn vpn);

/* Sets the PTE at vpn; there must be a table (or pte is none and there is none). No accounting, no charge. */
void fl_pte_set(struct fl_mem *mem, struct fl_mm *mm, fl_vpn vpn, fl_pte pte);

/* Sets the PTE at vpn if there is a table and the PTE is still `old`: what a fault does after it may have slept. */
bool fl_pte_replace(struct fl_mem *mem, struct fl_mm *mm, fl_vpn vpn, fl_pte old, fl_pte pte);

/* The next vpn in [vpn, end) whose PTE is not none (huge mappings count as such), or end. */
fl_vpn fl_pte_next(const struct fl_mem *mem, const struct fl_mm *mm, fl_vpn vpn, fl_vpn end);

/* pte_alloc(): makes sure of a PTE table for vpn, upper tables included. False: no memory. May switch; the slot may have
 * become huge meanwhile (then true). */
bool fl_pte_alloc(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm, fl_vpn vpn);
/* Upper tables only (a huge mapping needs no PTE table but a PMD table). */
bool fl_pmd_alloc(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm, fl_vpn vpn);

/* Takes one page for a PTE table (to deposit); FL_PFN_NONE: no memory. May switch. */
fl_pfn fl_pte_alloc_one(struct fl_mem *mem, struct fl_caller *who);

/* Installs a huge mapping (pfn FL_PFN_NONE: the huge zero page) where the PMD entry is none, with its deposited table. */
void fl_pmd_set_huge(struct fl_mem *mem, struct fl_mm *mm, fl_vpn vpn, fl_pfn pfn, fl_pfn deposit);
/* Changes what a huge entry maps, in place. */
void fl_pmd_replace_huge(struct fl_mem *mem, struct fl_mm *mm, fl_vpn vpn, fl_pfn pfn);
/* A huge entry becomes none; the deposited table is freed. */
void fl_pmd_clear_huge(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm, fl_vpn vpn);
/* A huge entry becomes a PTE table: the deposited one, filled with the pages of the folio or with zero-page entries. */
void fl_pmd_make_table(struct fl_mem *mem, struct fl_mm *mm, fl_vpn vpn);
/* A PTE table, whatever is in it, becomes a huge mapping of pfn, and is itself the deposit (khugepaged). */
void fl_pmd_collapse(struct fl_mem *mem, struct fl_mm *mm, fl_vpn vpn, fl_pfn pfn);

/* PTEs of the table that are not none; 0 without a table. */
uint32_t fl_pte_table_used(const struct fl_mem *mem, const struct fl_mm *mm, fl_vpn vpn);

/* Frees the PTE table that covers vpn if it is empty. True if freed. */
bool fl_pte_free_empty(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm, fl_vpn vpn);

/* free_pgtables(): frees the empty tables of [start, end) whose range lies wholly inside [floor, ceiling), upper tables
 * too. */
void fl_pgtables_free(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm, fl_vpn start, fl_vpn end,
		      fl_vpn floor, fl_vpn ceiling);
/* Forgets the arrays of an address space whose tables are all gone. */
void fl_pgtables_release(struct fl_mm *mm);
/* The same when the whole machine ends: frames are not given back. */
void fl_pgtables_discard(struct fl_mm *mm);

void fl_pagetable_init(struct fl_mem *mem);
void fl_pagetable_fini(struct fl_mem *mem);
uint64_t fl_pagetable_hash(const struct fl_mem *mem, const struct fl_mm *mm, uint64_t hash);
void fl_pagetable_check(struct fl_mem *mem, const struct fl_mm *mm);

#endif
