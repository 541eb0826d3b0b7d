/*
 * mm/pagetable.c - modelled page tables: storage by how full a table is, and the frames of the tables themselves.
 * Mirrors the table parts of mm/memory.c and mm/pgtable-generic.c.
 *
 * Owns struct fl_pagetables and struct fl_pmd_dir (pagetable_internal.h says how they are laid out).
 */
#include "mm/pagetable.h"

#include "mm/mm_internal.h"

#include "base/hash.h"
#include "mm/mmap.h"
#include "mm/page_alloc.h"
#include "mm/pagetable_internal.h"

#define SHORT_MAX 16
#define SHORT_BACK 8 /* a dense table that shrinks to this becomes short again */

struct short_list { /* unordered */
	fl_pte pte[SHORT_MAX];
	uint16_t slot[SHORT_MAX];
};

void fl_pagetable_init(struct fl_mem *mem)
{
	struct fl_pagetables *pt = fl_host_alloc(sizeof(*pt));

	pt->bits = mem->pmd_order;
	pt->slot_mask = (1u << pt->bits) - 1;
	fl_pool_init(&pt->table, sizeof(struct fl_pte_table), 12);
	fl_pool_init(&pt->shorts, sizeof(struct short_list), 8);
	fl_pool_init(&pt->dense, sizeof(fl_pte) << pt->bits, 5);
	mem->pagetables = pt;
	fl_pool_get(&pt->table); /* id 0 is none */
}

void fl_pagetable_fini(struct fl_mem *mem)
{
	fl_pool_fini(&mem->pagetables->table);
	fl_pool_fini(&mem->pagetables->shorts);
	fl_pool_fini(&mem->pagetables->dense);
	fl_host_free(mem->pagetables);
	mem->pagetables = NULL;
}

static inline uint32_t dir_index(const struct fl_pagetables *pt, fl_vpn vpn)
{
	return vpn >> (2 * pt->bits);
}

/* ---- Entries of one table ---- */

static int short_find(const struct fl_pagetables *pt, const struct fl_pte_table *t, uint32_t slot)
{
	const struct short_list *list = fl_pool_at(&pt->shorts, t->data);

	for (int i = 0; i < t->used; i++)
		if (list->slot[i] == slot)
			return i;
	return -1;
}

static inline fl_pte table_get(const struct fl_pagetables *pt, const struct fl_pte_table *t, uint32_t slot)
{
	int i;

	if (FL_LIKELY(t->form == FL_FORM_DENSE))
		return fl_pte_array(pt, t)[slot];
	switch (t->form) {
	case FL_FORM_ONE:
		return t->used && t->slot == slot ? t->data : 0;
	case FL_FORM_SHORT:
		i = short_find(pt, t, slot);
		return i < 0 ? 0 : ((const struct short_list *)fl_pool_at(&pt->shorts, t->data))->pte[i];
	case FL_FORM_HUGE:
		return fl_pte_of_pfn(t->data + slot);
	default:
		return FL_PTE_ZERO;
	}
}

static void one_to_short(struct fl_pagetables *pt, struct fl_pte_table *t)
{
	uint32_t index = fl_pool_get(&pt->shorts);
	struct short_list *list = fl_pool_at(&pt->shorts, index);

	list->pte[0] = t->data;
	list->slot[0] = t->slot;
	t->data = index;
	t->form = FL_FORM_SHORT;
}

static void short_to_dense(struct fl_pagetables *pt, struct fl_pte_table *t)
{
	const struct short_list *list = fl_pool_at(&pt->shorts, t->data);
	uint32_t index = fl_pool_get(&pt->dense);
	fl_pte *dense = fl_pool_at(&pt->dense, index);

	__builtin_memset(dense, 0, sizeof(fl_pte) << pt->bits);
	for (uint32_t i = 0; i < t->used; i++)
		dense[list->slot[i]] = list->pte[i];
	fl_pool_put(&pt->shorts, t->data);
	t->data = index;
	t->form = FL_FORM_DENSE;
}

static void dense_to_short(struct fl_pagetables *pt, struct fl_pte_table *t)
{
	const fl_pte *dense = fl_pte_array(pt, t);
	uint32_t index = fl_pool_get(&pt->shorts), n = 0;
	struct short_list *list = fl_pool_at(&pt->shorts, index);

	for (uint32_t slot = 0; n < t->used; slot++)
		if (dense[slot]) {
			list->pte[n] = dense[slot];
			list->slot[n++] = slot;
		}
	fl_pool_put(&pt->dense, t->data);
	t->data = index;
	t->form = FL_FORM_SHORT;
}

static void short_to_one(struct fl_pagetables *pt, struct fl_pte_table *t)
{
	const struct short_list *list = fl_pool_at(&pt->shorts, t->data);
	uint32_t index = t->data;

	t->slot = list->slot[0];
	t->data = list->pte[0];
	t->form = FL_FORM_ONE;
	fl_pool_put(&pt->shorts, index);
}

static void table_add(struct fl_pagetables *pt, struct fl_pte_table *t, uint32_t slot, fl_pte pte)
{
	struct short_list *list;

	if (t->form == FL_FORM_ONE && t->used)
		one_to_short(pt, t);
	else if (t->form == FL_FORM_SHORT && t->used == SHORT_MAX)
		short_to_dense(pt, t);
	if (t->form == FL_FORM_DENSE) {
		fl_pte_array(pt, t)[slot] = pte;
	} else if (t->form == FL_FORM_SHORT) {
		list = fl_pool_at(&pt->shorts, t->data);
		list->pte[t->used] = pte;
		list->slot[t->used] = slot;
	} else {
		t->data = pte;
		t->slot = slot;
	}
	t->used++;
}

static void table_remove(struct fl_pagetables *pt, struct fl_pte_table *t, uint32_t slot)
{
	struct short_list *list;
	int i;

	t->used--;
	if (t->form == FL_FORM_DENSE) {
		fl_pte_array(pt, t)[slot] = 0;
		if (t->used == SHORT_BACK)
			dense_to_short(pt, t);
	} else if (t->form == FL_FORM_SHORT) {
		t->used++;
		i = short_find(pt, t, slot);
		t->used--;
		list = fl_pool_at(&pt->shorts, t->data);
		list->pte[i] = list->pte[t->used];
		list->slot[i] = list->slot[t->used];
		if (t->used == 1)
			short_to_one(pt, t);
	}
}

static void table_replace(struct fl_pagetables *pt, struct fl_pte_table *t, uint32_t slot, fl_pte pte)
{
	if (t->form == FL_FORM_DENSE)
		fl_pte_array(pt, t)[slot] = pte;
	else if (t->form == FL_FORM_SHORT)
		((struct short_list *)fl_pool_at(&pt->shorts, t->data))->pte[short_find(pt, t, slot)] = pte;
	else
		t->data = pte;
}

/* First slot >= `slot` that is not none, or the number of slots. */
static uint32_t table_next(const struct fl_pagetables *pt, const struct fl_pte_table *t, uint32_t slot)
{
	uint32_t best = pt->slot_mask + 1;

	if (t->form >= FL_FORM_HUGE)
		return slot;
	if (!t->used)
		return best;
	if (t->form == FL_FORM_DENSE) {
		const fl_pte *dense = fl_pte_array(pt, t);

		while (slot < best && !dense[slot])
			slot++;
		return slot;
	}
	if (t->form == FL_FORM_ONE) {
		best = t->slot >= slot ? t->slot : best;
	} else {
		const struct short_list *list = fl_pool_at(&pt->shorts, t->data);

		for (uint32_t i = 0; i < t->used; i++)
			if (list->slot[i] >= slot && list->slot[i] < best)
				best = list->slot[i];
	}
	return best;
}

static void table_drop_storage(struct fl_pagetables *pt, struct fl_pte_table *t)
{
	if (t->form == FL_FORM_DENSE)
		fl_pool_put(&pt->dense, t->data);
	else if (t->form == FL_FORM_SHORT)
		fl_pool_put(&pt->shorts, t->data);
}

/* ---- Looking and setting ---- */

enum fl_pmd_kind fl_pmd_look(const struct fl_mem *mem, const struct fl_mm *mm, fl_vpn vpn, fl_pfn *ret_pfn)
{
	const struct fl_pte_table *t = fl_pte_table_of(mem->pagetables, mm, vpn);

	if (!t)
		return FL_PMD_NONE;
	if (t->form < FL_FORM_HUGE)
		return FL_PMD_TABLE;
	if (t->form == FL_FORM_HUGE_ZERO)
		return FL_PMD_HUGE_ZERO;
	if (ret_pfn)
		*ret_pfn = t->data;
	return FL_PMD_HUGE;
}

struct fl_walk fl_walk(const struct fl_mem *mem, const struct fl_mm *mm, fl_vpn vpn)
{
	const struct fl_pagetables *pt = mem->pagetables;
	const struct fl_pte_table *t = fl_pte_table_of(pt, mm, vpn);

	if (FL_UNLIKELY(!t))
		return (struct fl_walk){ FL_PMD_NONE, 0 };
	fl_pte_fetch_ahead(mem, t, vpn & pt->slot_mask);
	if (FL_LIKELY(t->form < FL_FORM_HUGE))
		return (struct fl_walk){ FL_PMD_TABLE, table_get(pt, t, vpn & pt->slot_mask) };
	return (struct fl_walk){ t->form == FL_FORM_HUGE ? FL_PMD_HUGE : FL_PMD_HUGE_ZERO, t->data };
}

bool fl_pmd_is_empty(const struct fl_mem *mem, const struct fl_mm *mm, fl_vpn vpn)
{
	const uint32_t *entry = fl_pmd_entry(mem->pagetables, mm, vpn);

	return entry && !*entry;
}

fl_pte fl_pte_look(const struct fl_mem *mem, const struct fl_mm *mm, fl_vpn vpn)
{
	const struct fl_pagetables *pt = mem->pagetables;
	const struct fl_pte_table *t = fl_pte_table_of(pt, mm, vpn);

	return t ? table_get(pt, t, vpn & pt->slot_mask) : 0;
}

static inline void table_set(struct fl_pagetables *pt, struct fl_pte_table *t, uint32_t slot, fl_pte old, fl_pte pte)
{
	if (pte && !old)
		table_add(pt, t, slot, pte);
	else if (pte)
		table_replace(pt, t, slot, pte);
	else if (old)
		table_remove(pt, t, slot);
}

void fl_pte_set(struct fl_mem *mem, struct fl_mm *mm, fl_vpn vpn, fl_pte pte)
{
	struct fl_pagetables *pt = mem->pagetables;
	struct fl_pte_table *t = fl_pte_table_of(pt, mm, vpn);
	uint32_t slot = vpn & pt->slot_mask;

	mm->translations++;
	if (!t) {
		FL_ASSERT(!pte);
		return;
	}
	FL_ASSERT(t->form < FL_FORM_HUGE);
	table_set(pt, t, slot, table_get(pt, t, slot), pte);
}

bool fl_pte_replace(struct fl_mem *mem, struct fl_mm *mm, fl_vpn vpn, fl_pte old, fl_pte pte)
{
	struct fl_pagetables *pt = mem->pagetables;
	struct fl_pte_table *t = fl_pte_table_of(pt, mm, vpn);
	uint32_t slot = vpn & pt->slot_mask;

	mm->translations++;
	if (FL_UNLIKELY(!t || t->form >= FL_FORM_HUGE || table_get(pt, t, slot) != old))
		return false;
	table_set(pt, t, slot, old, pte);
	return true;
}

fl_vpn fl_pte_next(const struct fl_mem *mem, const struct fl_mm *mm, fl_vpn vpn, fl_vpn end)
{
	const struct fl_pagetables *pt = mem->pagetables;
	uint64_t at = vpn; /* may pass the last vpn */

	while (at < end) {
		const struct fl_pte_table *t = fl_pte_table_of(pt, mm, at);
		uint32_t slot;

		if (t) {
			slot = table_next(pt, t, at & pt->slot_mask);
			if (slot <= pt->slot_mask) {
				fl_pte_fetch_ahead(mem, t, slot);
				at = (at & ~(uint64_t)pt->slot_mask) + slot;
				return at < end ? at : end;
			}
		} else if (!fl_pmd_entry(pt, mm, at)) {
			at |= (UINT64_C(1) << 2 * pt->bits) - 1;
		}
		at = (at | pt->slot_mask) + 1;
	}
	return end;
}

uint32_t fl_pte_table_used(const struct fl_mem *mem, const struct fl_mm *mm, fl_vpn vpn)
{
	const struct fl_pte_table *t = fl_pte_table_of(mem->pagetables, mm, vpn);

	if (!t)
		return 0;
	return t->form < FL_FORM_HUGE ? t->used : mem->pagetables->slot_mask + 1;
}

/* ---- Tables come and go ---- */

fl_pfn fl_pte_alloc_one(struct fl_mem *mem, struct fl_caller *who)
{
	fl_pfn pfn = fl_page_alloc(mem, who, FL_GFP_KERNEL | FL_GFP_ZERO | FL_GFP_ACCOUNT, 0, FL_KIND_PGTABLE);

	if (pfn != FL_PFN_NONE)
		fl_charge(who->task, mem->cost->pte_table);
	return pfn;
}

static void own_frame(struct fl_mem *mem, struct fl_mm *mm, fl_pfn pfn, uint32_t index)
{
	mem->frames.record[pfn].owner = mm->id;
	mem->frames.record[pfn].index = index;
	mm->table_pages++;
}

static void free_frame(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm, fl_pfn pfn)
{
	mm->table_pages--;
	fl_page_free(mem, who, pfn, 0);
}

static void grow_dirs(const struct fl_pagetables *pt, struct fl_mm *mm, uint32_t want)
{
	uint32_t puds = (want >> pt->bits) + 1;

	if (want >= mm->dirs) {
		mm->dir = fl_host_resize(mm->dir, (want + 1) * sizeof(*mm->dir));
		for (uint32_t i = mm->dirs; i <= want; i++)
			mm->dir[i] = (struct fl_pmd_dir){ NULL, FL_PFN_NONE, 0 };
		mm->dirs = want + 1;
	}
	if (puds > mm->puds) {
		mm->pud = fl_host_resize(mm->pud, puds * sizeof(*mm->pud));
		for (uint32_t i = mm->puds; i < puds; i++)
			mm->pud[i] = FL_PFN_NONE;
		mm->puds = puds;
	}
}

bool fl_pmd_alloc(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm, fl_vpn vpn)
{
	struct fl_pagetables *pt = mem->pagetables;
	uint32_t d = dir_index(pt, vpn);
	fl_pfn pfn;

	grow_dirs(pt, mm, d);
	if (mm->pud[d >> pt->bits] == FL_PFN_NONE) {
		pfn = fl_pte_alloc_one(mem, who); /* same request; may switch */
		if (pfn == FL_PFN_NONE)
			return false;
		if (mm->pud[d >> pt->bits] == FL_PFN_NONE) {
			mm->pud[d >> pt->bits] = pfn;
			own_frame(mem, mm, pfn, d >> pt->bits);
		} else {
			fl_page_free(mem, who, pfn, 0);
		}
	}
	if (!mm->dir[d].entry) {
		pfn = fl_pte_alloc_one(mem, who);
		if (pfn == FL_PFN_NONE)
			return false;
		if (!mm->dir[d].entry) {
			mm->dir[d].entry = fl_host_alloc(sizeof(uint32_t) << pt->bits);
			mm->dir[d].frame = pfn;
			own_frame(mem, mm, pfn, d);
		} else {
			fl_page_free(mem, who, pfn, 0);
		}
	}
	return true;
}

static struct fl_pte_table *install(struct fl_mem *mem, struct fl_mm *mm, fl_vpn vpn, fl_pfn frame, enum fl_pte_form form,
			     uint32_t data)
{
	struct fl_pagetables *pt = mem->pagetables;
	uint32_t *entry = fl_pmd_entry(pt, mm, vpn), id = fl_pool_get(&pt->table);
	struct fl_pte_table *t = fl_pool_at(&pt->table, id);

	FL_ASSERT(entry && !*entry);
	*t = (struct fl_pte_table){ .frame = frame, .data = data, .form = form };
	*entry = id;
	mm->dir[dir_index(pt, vpn)].used++;
	own_frame(mem, mm, frame, vpn >> pt->bits);
	return t;
}

static void uninstall(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm, fl_vpn vpn)
{
	struct fl_pagetables *pt = mem->pagetables;
	uint32_t *entry = fl_pmd_entry(pt, mm, vpn);
	struct fl_pte_table *t = fl_pool_at(&pt->table, *entry);

	table_drop_storage(pt, t);
	free_frame(mem, who, mm, t->frame);
	fl_pool_put(&pt->table, *entry);
	*entry = 0;
	mm->dir[dir_index(pt, vpn)].used--;
}

bool fl_pte_alloc(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm, fl_vpn vpn)
{
	fl_pfn pfn;

	if (FL_LIKELY(fl_pte_table_of(mem->pagetables, mm, vpn) != NULL))
		return true;
	if (!fl_pmd_alloc(mem, who, mm, vpn))
		return false;
	if (fl_pte_table_of(mem->pagetables, mm, vpn))
		return true;
	pfn = fl_pte_alloc_one(mem, who);
	if (pfn == FL_PFN_NONE)
		return false;
	/* While the request slept, another thread may have made the table, or unmapped the last neighbour. */
	if (fl_pte_table_of(mem->pagetables, mm, vpn) || !fl_pmd_entry(mem->pagetables, mm, vpn)) {
		fl_page_free(mem, who, pfn, 0);
		return fl_pte_alloc(mem, who, mm, vpn);
	}
	install(mem, mm, vpn, pfn, FL_FORM_ONE, 0);
	return true;
}

void fl_pmd_set_huge(struct fl_mem *mem, struct fl_mm *mm, fl_vpn vpn, fl_pfn pfn, fl_pfn deposit)
{
	install(mem, mm, vpn, deposit, pfn == FL_PFN_NONE ? FL_FORM_HUGE_ZERO : FL_FORM_HUGE, pfn);
	mm->translations++;
}

void fl_pmd_replace_huge(struct fl_mem *mem, struct fl_mm *mm, fl_vpn vpn, fl_pfn pfn)
{
	struct fl_pte_table *t = fl_pte_table_of(mem->pagetables, mm, vpn);

	mm->translations++;
	FL_ASSERT(t && t->form >= FL_FORM_HUGE);
	t->form = pfn == FL_PFN_NONE ? FL_FORM_HUGE_ZERO : FL_FORM_HUGE;
	t->data = pfn;
}

void fl_pmd_clear_huge(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm, fl_vpn vpn)
{
	FL_ASSERT(fl_pte_table_of(mem->pagetables, mm, vpn)->form >= FL_FORM_HUGE);
	uninstall(mem, who, mm, vpn);
	mm->translations++;
}

void fl_pmd_make_table(struct fl_mem *mem, struct fl_mm *mm, fl_vpn vpn)
{
	struct fl_pagetables *pt = mem->pagetables;
	struct fl_pte_table *t = fl_pte_table_of(pt, mm, vpn);
	fl_pte first = t->form == FL_FORM_HUGE ? fl_pte_of_pfn(t->data) : FL_PTE_ZERO;
	uint32_t step = t->form == FL_FORM_HUGE, index = fl_pool_get(&pt->dense);
	fl_pte *dense = fl_pool_at(&pt->dense, index);

	mm->translations++;
	FL_ASSERT(t->form >= FL_FORM_HUGE);
	for (uint32_t i = 0; i <= pt->slot_mask; i++)
		dense[i] = first + i * step;
	t->data = index;
	t->form = FL_FORM_DENSE;
	t->used = pt->slot_mask + 1;
}

void fl_pmd_collapse(struct fl_mem *mem, struct fl_mm *mm, fl_vpn vpn, fl_pfn pfn)
{
	struct fl_pte_table *t = fl_pte_table_of(mem->pagetables, mm, vpn);

	mm->translations++;
	FL_ASSERT(t && t->form < FL_FORM_HUGE);
	table_drop_storage(mem->pagetables, t);
	t->form = FL_FORM_HUGE;
	t->data = pfn;
	t->used = 0;
}

bool fl_pte_free_empty(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm, fl_vpn vpn)
{
	const struct fl_pte_table *t = fl_pte_table_of(mem->pagetables, mm, vpn);

	if (!t || t->form >= FL_FORM_HUGE || t->used)
		return false;
	uninstall(mem, who, mm, vpn);
	return true;
}

/* Does a table that starts there lie between the neighbours? Nothing lies above the limit of addresses, where the upper
 * tables of machines with large pages end behind it. */
static bool range_inside(uint64_t start, unsigned int bits, fl_vpn floor, uint64_t ceiling)
{
	return start >= floor && (ceiling >= FL_VPN_LIMIT || start + (UINT64_C(1) << bits) <= ceiling);
}

static void free_dir(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm, uint32_t d)
{
	struct fl_pmd_dir *dir = &mm->dir[d];

	if (!dir->entry || dir->used)
		return;
	free_frame(mem, who, mm, dir->frame);
	fl_host_free(dir->entry);
	*dir = (struct fl_pmd_dir){ NULL, FL_PFN_NONE, 0 };
}

static bool pud_used(const struct fl_pagetables *pt, const struct fl_mm *mm, uint32_t p)
{
	for (uint64_t d = (uint64_t)p << pt->bits; d < mm->dirs && d >> pt->bits == p; d++)
		if (mm->dir[d].entry)
			return true;
	return false;
}

static void free_upper(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm, fl_vpn start, fl_vpn end,
		       fl_vpn floor, fl_vpn ceiling)
{
	const struct fl_pagetables *pt = mem->pagetables;

	for (uint64_t d = dir_index(pt, start); d <= dir_index(pt, end - 1) && d < mm->dirs; d++)
		if (range_inside(d << 2 * pt->bits, 2 * pt->bits, floor, ceiling))
			free_dir(mem, who, mm, d);
	for (uint64_t p = (uint64_t)start >> 3 * pt->bits; p <= (uint64_t)(end - 1) >> 3 * pt->bits && p < mm->puds; p++)
		if (range_inside(p << 3 * pt->bits, 3 * pt->bits, floor, ceiling) && mm->pud[p] != FL_PFN_NONE &&
		    !pud_used(pt, mm, p)) {
			free_frame(mem, who, mm, mm->pud[p]);
			mm->pud[p] = FL_PFN_NONE;
		}
}

void fl_pgtables_free(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm, fl_vpn start, fl_vpn end,
		      fl_vpn floor, fl_vpn ceiling)
{
	const struct fl_pagetables *pt = mem->pagetables;
	uint64_t at = start & ~pt->slot_mask;

	while (at < end) {
		const struct fl_pmd_dir *dir = dir_index(pt, at) < mm->dirs ? &mm->dir[dir_index(pt, at)] : NULL;

		if (!dir || !dir->used) {
			at = (at | ((UINT64_C(1) << 2 * pt->bits) - 1)) + 1;
			continue;
		}
		if (range_inside(at, pt->bits, floor, ceiling))
			fl_pte_free_empty(mem, who, mm, at);
		at += pt->slot_mask + 1;
	}
	free_upper(mem, who, mm, start, end, floor, ceiling);
}

void fl_pgtables_release(struct fl_mm *mm)
{
	for (uint32_t d = 0; d < mm->dirs; d++)
		FL_ASSERT_MSG(!mm->dir[d].entry, "an address space that ends has no tables");
	FL_ASSERT(!mm->table_pages);
	fl_pgtables_discard(mm);
}

void fl_pgtables_discard(struct fl_mm *mm)
{
	for (uint32_t d = 0; d < mm->dirs; d++)
		fl_host_free(mm->dir[d].entry);
	fl_host_free(mm->dir);
	fl_host_free(mm->pud);
	mm->dir = NULL;
	mm->pud = NULL;
	mm->dirs = mm->puds = 0;
}

/* ---- Hash and check ---- */

static uint64_t hash_table(const struct fl_pagetables *pt, const struct fl_pte_table *t, uint64_t hash)
{
	hash = fl_hash_u64(hash, (uint64_t)t->frame << 8 | (t->form >= FL_FORM_HUGE ? t->form : 0));
	if (t->form >= FL_FORM_HUGE)
		return fl_hash_u64(hash, t->data);
	for (uint32_t slot = table_next(pt, t, 0); slot <= pt->slot_mask; slot = table_next(pt, t, slot + 1))
		hash = fl_hash_u64(hash, (uint64_t)slot << 32 | table_get(pt, t, slot));
	return hash;
}

uint64_t fl_pagetable_hash(const struct fl_mem *mem, const struct fl_mm *mm, uint64_t hash)
{
	const struct fl_pagetables *pt = mem->pagetables;

	for (uint32_t d = 0; d < mm->dirs; d++)
		for (uint32_t i = 0; mm->dir[d].used && i <= pt->slot_mask; i++)
			if (mm->dir[d].entry[i])
				hash = hash_table(pt, fl_pool_at(&pt->table, mm->dir[d].entry[i]),
						  fl_hash_u64(hash, (uint64_t)d << pt->bits | i));
	return hash;
}

static void check_frame(const struct fl_mem *mem, const struct fl_mm *mm, fl_pfn pfn)
{
	FL_ASSERT_MSG(fl_state_kind(mem->frames.state[pfn]) == FL_KIND_PGTABLE, "a table's frame is a page table");
	FL_ASSERT_MSG(mem->frames.record[pfn].owner == mm->id, "a table's frame names its address space");
}

void fl_pagetable_check(struct fl_mem *mem, const struct fl_mm *mm)
{
	const struct fl_pagetables *pt = mem->pagetables;
	uint64_t pages = 0;

	for (uint32_t d = 0; d < mm->dirs; d++) {
		uint32_t used = 0;

		if (!mm->dir[d].entry)
			continue;
		check_frame(mem, mm, mm->dir[d].frame);
		pages++;
		for (uint32_t i = 0; i <= pt->slot_mask; i++) {
			const struct fl_pte_table *t;

			if (!mm->dir[d].entry[i])
				continue;
			used++;
			pages++;
			t = fl_pool_at(&pt->table, mm->dir[d].entry[i]);
			check_frame(mem, mm, t->frame);
			if (t->form < FL_FORM_HUGE) {
				uint32_t n = 0;

				for (uint32_t s = table_next(pt, t, 0); s <= pt->slot_mask; s = table_next(pt, t, s + 1))
					n++;
				FL_ASSERT_MSG(n == t->used, "entries of a table");
			}
		}
		FL_ASSERT_MSG(used == mm->dir[d].used, "tables under a PMD table");
	}
	for (uint32_t p = 0; p < mm->puds; p++)
		pages += mm->pud[p] != FL_PFN_NONE;
	FL_ASSERT_MSG(pages == mm->table_pages, "table pages of an address space");
}
