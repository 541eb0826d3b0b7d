/*
 * mm/mmap.c - address spaces and VMAs: mmap, munmap, exit. Mirrors mm/mmap.c and mm/vma.c.
 *
 * Owns struct fl_mm_table. The VMAs of an address space are a sorted array of ids; the objects that the kernel takes for each
 * (vm_area_struct, anon_vma, anon_vma_chain) are real slab objects. The maple tree's nodes are not modelled beyond the
 * first of each address space.
 */
#include "mm/mmap.h"

#include <errno.h>

#include "base/hash.h"
#include "mm/khugepaged.h"
#include "mm/memory.h"
#include "mm/mm_internal.h"
#include "mm/page_alloc.h"
#include "mm/slab.h"
#include "mm/swap.h"

void fl_mmap_init(struct fl_mem *mem)
{
	mem->mms = fl_host_alloc(sizeof(*mem->mms));
	fl_pool_init(&mem->mms->vma, sizeof(struct fl_vma), 8);
}

static void mm_release(struct fl_mm *mm)
{
	fl_host_free(mm->vma);
	fl_host_free(mm);
}

void fl_mmap_fini(struct fl_mem *mem)
{
	for (uint32_t i = 0; i < mem->mms->ids; i++)
		if (mem->mms->mm[i]) {
			fl_pgtables_discard(mem->mms->mm[i]);
			mm_release(mem->mms->mm[i]);
		}
	fl_pool_fini(&mem->mms->vma);
	fl_host_free(mem->mms->mm);
	fl_host_free(mem->mms->first_vma);
	fl_host_free(mem->mms);
	mem->mms = NULL;
}

void fl_mm_set_collapse(struct fl_mem *mem, fl_collapse_fn fn)
{
	mem->mms->collapse = fn;
}

/* ---- Ids ---- */

struct fl_mm *fl_mm_of(const struct fl_mem *mem, uint32_t id)
{
	return id < mem->mms->ids ? mem->mms->mm[id] : NULL;
}

uint32_t fl_mm_ids(const struct fl_mem *mem)
{
	return mem->mms->ids;
}

struct fl_vma *fl_vma_of(const struct fl_mem *mem, uint32_t id)
{
	return fl_pool_at(&mem->mms->vma, id);
}

static uint32_t take_id(struct fl_mm_table *table)
{
	uint32_t id = table->lowest_free;

	while (id < table->ids && table->mm[id])
		id++;
	if (id == table->ids) {
		if (table->ids == table->capacity) {
			table->capacity = table->capacity ? 2 * table->capacity : 64;
			table->mm = fl_host_resize(table->mm, table->capacity * sizeof(*table->mm));
		}
		table->ids++;
	}
	table->lowest_free = id + 1;
	return id;
}

struct fl_mm *fl_mm_new(struct fl_mem *mem, struct fl_caller *who)
{
	unsigned int pgd_order = mem->decide.pgd_order(&(struct fl_no_facts){ 0 });
	fl_object object = fl_slab_alloc(mem, who, FL_SLAB_mm_struct, FL_GFP_KERNEL);
	fl_object node = fl_slab_alloc(mem, who, FL_SLAB_maple_node, FL_GFP_KERNEL | FL_GFP_ACCOUNT);
	fl_pfn pgd = FL_PFN_NONE;
	struct fl_mm *mm;

	if (object != FL_OBJECT_NONE && node != FL_OBJECT_NONE)
		pgd = fl_page_alloc(mem, who, FL_GFP_KERNEL | FL_GFP_ZERO | FL_GFP_ACCOUNT, pgd_order,
				    FL_KIND_PGTABLE);
	if (pgd == FL_PFN_NONE) {
		fl_slab_free(mem, who, object);
		fl_slab_free(mem, who, node);
		return NULL;
	}
	mm = fl_host_alloc(sizeof(*mm));
	mm->id = take_id(mem->mms);
	mem->mms->mm[mm->id] = mm;
	mm->pgd = pgd;
	mm->object = object;
	mm->maple_node = node;
	mem->frames.record[pgd].owner = mm->id;
	mem->frames.record[pgd].index = 0;
	return mm;
}

/* ---- Finding and keeping VMAs ---- */

uint32_t fl_vma_position(const struct fl_mem *mem, const struct fl_mm *mm, fl_vpn vpn)
{
	uint32_t low = 0, high = mm->vmas;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (fl_vma_at(mem, mm, mid)->end > vpn)
			high = mid;
		else
			low = mid + 1;
	}
	return low;
}

struct fl_vma *fl_vma_find(const struct fl_mem *mem, const struct fl_mm *mm, fl_vpn vpn)
{
	uint32_t at = fl_vma_position(mem, mm, vpn);
	struct fl_vma *vma;

	if (at == mm->vmas)
		return NULL;
	vma = fl_vma_at(mem, mm, at);
	return vma->start <= vpn ? vma : NULL;
}

static void vma_insert(struct fl_mm *mm, uint32_t position, uint32_t id)
{
	if (mm->vmas == mm->vmas_capacity) {
		mm->vmas_capacity = mm->vmas_capacity ? 2 * mm->vmas_capacity : 8;
		mm->vma = fl_host_resize(mm->vma, mm->vmas_capacity * sizeof(*mm->vma));
	}
	__builtin_memmove(mm->vma + position + 1, mm->vma + position, (mm->vmas - position) * sizeof(*mm->vma));
	mm->vma[position] = id;
	mm->vmas++;
	mm->generation++;
}

static void mapping_link(struct fl_mm_table *table, struct fl_vma *vma, uint32_t id)
{
	uint32_t mapping = vma->mapping, want = table->mappings;

	while (mapping >= want)
		want = want ? 2 * want : 64;
	if (want > table->mappings) {
		table->first_vma = fl_host_resize(table->first_vma, want * sizeof(*table->first_vma));
		for (uint32_t i = table->mappings; i < want; i++)
			table->first_vma[i] = FL_VMA_NONE;
		table->mappings = want;
	}
	vma->map_prev = FL_VMA_NONE;
	vma->map_next = table->first_vma[mapping];
	if (vma->map_next != FL_VMA_NONE)
		((struct fl_vma *)fl_pool_at(&table->vma, vma->map_next))->map_prev = id;
	table->first_vma[mapping] = id;
}

static void mapping_unlink(struct fl_mm_table *table, struct fl_vma *vma)
{
	if (vma->map_next != FL_VMA_NONE)
		((struct fl_vma *)fl_pool_at(&table->vma, vma->map_next))->map_prev = vma->map_prev;
	if (vma->map_prev != FL_VMA_NONE)
		((struct fl_vma *)fl_pool_at(&table->vma, vma->map_prev))->map_next = vma->map_next;
	else
		table->first_vma[vma->mapping] = vma->map_next;
}

uint32_t fl_mapping_first_vma(const struct fl_mem *mem, uint32_t mapping)
{
	return mapping < mem->mms->mappings ? mem->mms->first_vma[mapping] : FL_VMA_NONE;
}

/* Takes the VMA at a position out and gives its objects back. */
static void vma_remove(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm, uint32_t position)
{
	uint32_t id = mm->vma[position];
	struct fl_vma *vma = fl_vma_of(mem, id);

	if (vma->type != FL_VMA_ANON)
		mapping_unlink(mem->mms, vma);
	fl_slab_free(mem, who, vma->anon_vma_chain);
	fl_slab_free(mem, who, vma->anon_vma);
	fl_slab_free(mem, who, vma->object);
	fl_pool_put(&mem->mms->vma, id);
	mm->last_vma = NULL;
	__builtin_memmove(mm->vma + position, mm->vma + position + 1,
			  (mm->vmas - position - 1) * sizeof(*mm->vma));
	mm->vmas--;
	mm->generation++;
}

/* ---- Splitting and merging ---- */

/* Cuts the VMA that contains vpn inside (not at its start), if there is one. Models __split_vma(). */
static bool split_at(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm, fl_vpn vpn)
{
	fl_object object = FL_OBJECT_NONE, chain = FL_OBJECT_NONE;
	struct fl_vma *vma = fl_vma_find(mem, mm, vpn), *right;
	uint32_t id;

	if (!vma || vma->start == vpn)
		return true;
	if (mm->vmas >= FL_MAX_MAP_COUNT)
		return false;
	object = fl_slab_alloc(mem, who, FL_SLAB_vm_area_struct, FL_GFP_KERNEL | FL_GFP_ACCOUNT);
	if (object == FL_OBJECT_NONE)
		return false;
	vma = fl_vma_find(mem, mm, vpn); /* the requests may have switched */
	if (vma && vma->has_anon_vma) {
		chain = fl_slab_alloc(mem, who, FL_SLAB_kmalloc_64, FL_GFP_KERNEL | FL_GFP_ACCOUNT);
		vma = fl_vma_find(mem, mm, vpn);
	}
	if (!vma || vma->start == vpn || (vma->has_anon_vma && chain == FL_OBJECT_NONE)) {
		bool failed = vma && vma->start != vpn;

		fl_slab_free(mem, who, object);
		fl_slab_free(mem, who, chain);
		return !failed;
	}
	id = fl_pool_get(&mem->mms->vma);
	right = fl_vma_of(mem, id);
	*right = *vma;
	right->start = vpn;
	right->pgoff += vpn - vma->start;
	right->object = object;
	right->anon_vma = FL_OBJECT_NONE; /* shared with the left half */
	right->anon_vma_chain = chain;
	vma->end = vpn;
	vma_insert(mm, fl_vma_position(mem, mm, vpn), id);
	if (right->type != FL_VMA_ANON)
		mapping_link(mem->mms, right, id);
	fl_charge(who->task, mem->cost->vma);
	return true;
}

bool fl_vma_split_range(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm, fl_vpn start, fl_vpn end)
{
	return split_at(mem, who, mm, start) && split_at(mem, who, mm, end);
}

/* May the left one take the right one in (can_vma_merge_after)? The anon_vmas must be one, or the right has none. */
static bool can_merge(const struct fl_vma *left, const struct fl_vma *right)
{
	if (left->end != right->start || left->flags != right->flags || left->type != right->type)
		return false;
	if (left->type != FL_VMA_ANON)
		return left->mapping == right->mapping && left->pgoff + (left->end - left->start) == right->pgoff;
	return !right->has_anon_vma || right->anon_vma == FL_OBJECT_NONE || !left->has_anon_vma;
}

static bool merge_next(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm, uint32_t position)
{
	struct fl_vma *left, *right;

	if (position + 1 >= mm->vmas)
		return false;
	left = fl_vma_at(mem, mm, position);
	right = fl_vma_at(mem, mm, position + 1);
	if (!can_merge(left, right))
		return false;
	if (right->has_anon_vma && !left->has_anon_vma) {
		left->has_anon_vma = true;
		left->anon_vma = right->anon_vma;
		left->anon_vma_chain = right->anon_vma_chain;
		right->anon_vma = right->anon_vma_chain = FL_OBJECT_NONE;
	}
	left->end = right->end;
	vma_remove(mem, who, mm, position + 1);
	fl_khugepaged_enter_vma(mem, mm, fl_vma_at(mem, mm, position));
	return true;
}

void fl_vma_merge_range(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm, fl_vpn start, fl_vpn end)
{
	uint32_t at = fl_vma_position(mem, mm, start ? start - 1 : 0);

	while (at < mm->vmas && fl_vma_at(mem, mm, at)->start <= end)
		if (!merge_next(mem, who, mm, at))
			at++;
}

int fl_vma_change_flags(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm, fl_vpn start, fl_vpn end,
			uint32_t set, uint32_t clear)
{
	fl_vpn reached = start;

	if (!fl_vma_split_range(mem, who, mm, start, end))
		return -ENOMEM;
	for (uint32_t at = fl_vma_position(mem, mm, start); at < mm->vmas; at++) {
		struct fl_vma *vma = fl_vma_at(mem, mm, at);
		uint32_t flags = (vma->flags & ~clear) | set;

		if (vma->start >= end)
			break;
		if (vma->start == reached)
			reached = vma->end;
		if ((flags ^ vma->flags) & FL_VM_LOCKED)
			mm->locked_pages += flags & FL_VM_LOCKED ? (uint64_t)(vma->end - vma->start)
								 : -(uint64_t)(vma->end - vma->start);
		vma->flags = flags;
		mm->generation++;
	}
	fl_vma_merge_range(mem, who, mm, start, end);
	return reached >= end ? 0 : -ENOMEM;
}

bool fl_anon_vma_prepare(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm, fl_vpn vpn)
{
	struct fl_vma *vma = fl_vma_find(mem, mm, vpn);
	fl_object anon_vma, chain;

	if (!vma || vma->has_anon_vma)
		return true;
	chain = fl_slab_alloc(mem, who, FL_SLAB_kmalloc_64, FL_GFP_KERNEL | FL_GFP_ACCOUNT);
	anon_vma = fl_slab_alloc(mem, who, FL_SLAB_anon_vma, FL_GFP_KERNEL | FL_GFP_ACCOUNT);
	vma = fl_vma_find(mem, mm, vpn);
	if (vma && !vma->has_anon_vma && chain != FL_OBJECT_NONE && anon_vma != FL_OBJECT_NONE) {
		vma->anon_vma = anon_vma;
		vma->anon_vma_chain = chain;
		vma->has_anon_vma = true;
		return true;
	}
	fl_slab_free(mem, who, chain);
	fl_slab_free(mem, who, anon_vma);
	return !vma || vma->has_anon_vma;
}

/* ---- mmap, munmap, exit ---- */

/* First fit from the bottom, above an unmapped first PMD range. */
static fl_vpn find_gap(const struct fl_mem *mem, const struct fl_mm *mm, uint32_t pages, uint32_t align,
		       uint32_t misalign)
{
	uint64_t at = UINT64_C(1) << mem->pmd_order;

	for (uint32_t i = 0;; i++) {
		uint64_t start = ((at + align - 1) & ~(uint64_t)(align - 1)) + misalign;
		uint64_t limit = i < mm->vmas ? fl_vma_at(mem, mm, i)->start : FL_VPN_LIMIT;

		if (start + pages <= limit)
			return start;
		if (i == mm->vmas)
			return FL_VPN_NONE;
		at = fl_vma_at(mem, mm, i)->end;
	}
}

fl_vpn fl_mmap(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm, const struct fl_map_request *request)
{
	uint32_t pmd = 1u << mem->pmd_order, align = request->align, id;
	struct fl_vma *vma;
	fl_object object;
	fl_vpn start;

	/* Anonymous mappings of whole huge pages are aligned to them (__get_unmapped_area since 6.7). */
	if (!align)
		align = request->type == FL_VMA_ANON && request->pages && !(request->pages % pmd) ? pmd : 1;
	if (!request->pages || mm->vmas >= FL_MAX_MAP_COUNT)
		return FL_VPN_NONE;
	fl_charge(who->task, mem->cost->vma);
	object = fl_slab_alloc(mem, who, FL_SLAB_vm_area_struct, FL_GFP_KERNEL | FL_GFP_ACCOUNT);
	start = object == FL_OBJECT_NONE ? FL_VPN_NONE : find_gap(mem, mm, request->pages, align, request->misalign);
	if (start == FL_VPN_NONE) {
		fl_slab_free(mem, who, object);
		return FL_VPN_NONE;
	}
	id = fl_pool_get(&mem->mms->vma);
	vma = fl_vma_of(mem, id);
	*vma = (struct fl_vma){ .start = start, .end = start + request->pages, .mm = mm->id,
				.mapping = request->mapping, .pgoff = request->pgoff, .flags = request->flags,
				.type = request->type, .object = object, .anon_vma = FL_OBJECT_NONE,
				.anon_vma_chain = FL_OBJECT_NONE, .map_next = FL_VMA_NONE,
				.map_prev = FL_VMA_NONE };
	vma_insert(mm, fl_vma_position(mem, mm, start), id);
	if (vma->type != FL_VMA_ANON)
		mapping_link(mem->mms, vma, id);
	if (vma->flags & FL_VM_LOCKED)
		mm->locked_pages += request->pages;
	fl_vma_merge_range(mem, who, mm, start, start + request->pages);
	return start;
}

static void remove_vmas(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm, fl_vpn start, fl_vpn end)
{
	uint32_t at = fl_vma_position(mem, mm, start);

	while (at < mm->vmas && fl_vma_at(mem, mm, at)->start < end) {
		const struct fl_vma *vma = fl_vma_at(mem, mm, at);

		if (vma->flags & FL_VM_LOCKED)
			mm->locked_pages -= vma->end - vma->start;
		vma_remove(mem, who, mm, at);
	}
}

/*
 * unmap_region(): pages first, then the tables that lie between the neighbours. The long part may switch, with the VMAs
 * still there, so that nobody else gets the addresses; what comes after it does not.
 */
int fl_munmap(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm, fl_vpn start, uint32_t pages)
{
	fl_vpn end = start + pages, floor, ceiling;
	uint32_t at;

	if (!pages)
		return 0;
	fl_charge(who->task, mem->cost->vma);
	fl_lru_add_drain(mem, who);
	fl_zap_range(mem, who, mm, start, end);
	if (!fl_vma_split_range(mem, who, mm, start, end))
		return -ENOMEM;
	for (fl_vpn next = start; next < end;)
		fl_zap_pmd_range(mem, who, mm, next, end, &next);
	remove_vmas(mem, who, mm, start, end);
	at = fl_vma_position(mem, mm, start);
	floor = at ? fl_vma_at(mem, mm, at - 1)->end : 0;
	ceiling = at < mm->vmas ? fl_vma_at(mem, mm, at)->start : FL_VPN_LIMIT;
	fl_pgtables_free(mem, who, mm, start, end, floor, ceiling);
	fl_cond_resched(who->task);
	return 0;
}

void fl_mm_exit(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm)
{
	mm->dying = true;
	fl_khugepaged_exit(mem, mm);
	fl_lru_add_drain(mem, who);
	for (uint32_t i = 0; i < mm->vmas; i++)
		fl_zap_range(mem, who, mm, fl_vma_at(mem, mm, i)->start, fl_vma_at(mem, mm, i)->end);
	if (mm->vmas)
		fl_pgtables_free(mem, who, mm, fl_vma_at(mem, mm, 0)->start, fl_vma_at(mem, mm, mm->vmas - 1)->end, 0,
				 FL_VPN_LIMIT);
	while (mm->vmas)
		vma_remove(mem, who, mm, mm->vmas - 1);
	FL_ASSERT(!mm->anon_pages && !mm->file_pages && !mm->swap_entries);
	fl_pgtables_release(mm);
	fl_page_free(mem, who, mm->pgd, fl_state_order(mem->frames.state[mm->pgd]));
	fl_slab_free(mem, who, mm->maple_node);
	fl_slab_free(mem, who, mm->object);
	mem->mms->mm[mm->id] = NULL;
	if (mm->id < mem->mms->lowest_free)
		mem->mms->lowest_free = mm->id;
	mm_release(mm);
}

uint64_t fl_mmap_hash(const struct fl_mem *mem, uint64_t hash)
{
	for (uint32_t i = 0; i < mem->mms->ids; i++) {
		const struct fl_mm *mm = mem->mms->mm[i];

		if (!mm)
			continue;
		hash = fl_hash_u64(hash, mm->id);
		hash = fl_hash_u64(hash, mm->anon_pages);
		hash = fl_hash_u64(hash, mm->file_pages);
		hash = fl_hash_u64(hash, mm->swap_entries);
		for (uint32_t v = 0; v < mm->vmas; v++) {
			const struct fl_vma *vma = fl_vma_at(mem, mm, v);

			hash = fl_hash_u64(hash, (uint64_t)vma->start << 32 | vma->end);
			hash = fl_hash_u64(hash, (uint64_t)vma->flags << 8 | vma->type);
		}
		hash = fl_pagetable_hash(mem, mm, hash);
	}
	return hash;
}
