/*
 * mm/mmap.h - address spaces (struct mm_struct), their VMAs, and the calls that change them. Mirrors mm/mmap.c, mm/vma.c,
 * mm/mlock.c and mm/madvise.c.
 *
 * Addresses are virtual page numbers. New mappings are placed first-fit from the bottom; tables are shared by
 * neighbours, as in the kernel. VMAs are split and merged where ranges differ in flags, and each costs its slab objects.
 * Frames of anonymous memory have owner = mm id and index = vpn, so splitting a VMA touches no frame; frames of files
 * have owner = mapping id and index = page of the file.
 * Every call that frees or faults may switch at its safe points, where other tasks of this address space may change it;
 * ids of VMAs hold only until the next call.
 */
#ifndef FL_MM_MMAP_H
#define FL_MM_MMAP_H

#include "mm/pagetable.h"

#define FL_VM_HUGEPAGE (1u << 0)
#define FL_VM_NOHUGEPAGE (1u << 1)
#define FL_VM_DROPPABLE (1u << 2)
#define FL_VM_LOCKED (1u << 3)
#define FL_VM_EXEC (1u << 4)
#define FL_VM_READONLY (1u << 5) /* file mapped without write permission */

enum fl_vma_type { FL_VMA_ANON, FL_VMA_FILE, FL_VMA_SHMEM };
#define FL_MAX_MAP_COUNT 65530 /* vm.max_map_count */

struct fl_vma {
	fl_vpn start, end; /* [start, end) */
	uint32_t mm;       /* id of its address space */
	uint32_t mapping, pgoff; /* file and shared memory: mapping id and first page */
	uint32_t flags;    /* FL_VM_* */
	uint8_t type;      /* enum fl_vma_type */
	bool has_anon_vma; /* the first anonymous fault made anon_vma and chain */
	uint32_t object, anon_vma, anon_vma_chain; /* slab objects */
	uint32_t map_next, map_prev; /* other VMAs of the mapping (i_mmap) */
};

struct fl_pmd_dir; /* pagetable.c */

struct fl_mm {
	uint32_t id;
	uint32_t *vma; /* ids, by rising start */
	uint32_t vmas, vmas_capacity;
	uint32_t translations; /* grows with every change of an entry, and where an accessed bit was cleared */
	const struct fl_vma *last_vma; /* the last that a fault found, or NULL */
	uint32_t generation; /* grows with every change of VMAs: what was looked up before a switch may be stale */
	struct fl_pmd_dir *dir;
	uint32_t dirs;
	fl_pfn *pud;
	uint32_t puds;
	fl_pfn pgd;
	uint64_t anon_pages, file_pages, swap_entries; /* get_mm_counter: RSS and swap, base pages */
	uint64_t locked_pages; /* pages in VM_LOCKED VMAs */
	uint64_t table_pages;  /* PTE tables, deposited ones included, PMD and PUD tables */
	bool dying;            /* killed: faults of its tasks end with FL_FAULT_KILLED */
	bool thp_disabled;     /* prctl(PR_SET_THP_DISABLE) */
	bool khugepaged;       /* registered with khugepaged (MMF_VM_HUGEPAGE) */
	uint32_t khugepaged_prev, khugepaged_next; /* links of khugepaged's list of address spaces, by mm id */
	uint32_t users;        /* threads */
	void *owner;           /* the maker's: process of the machine room */
	uint32_t object, maple_node; /* slab objects */
};

struct fl_mm_table; /* all address spaces and VMAs: mmap.c */

/* mm_alloc(): object, PGD. NULL: no memory (a modelled result). May switch. */
struct fl_mm *fl_mm_new(struct fl_mem *mem, struct fl_caller *who);
/* exit_mmap() and mmput(): unmaps all, frees tables and the mm. May switch at safe points; no other task may use it. */
void fl_mm_exit(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm);

/* The address space of an id, or NULL when it has gone. Ids are reused lowest first. */
struct fl_mm *fl_mm_of(const struct fl_mem *mem, uint32_t id);
uint32_t fl_mm_ids(const struct fl_mem *mem); /* ids given so far: all are below */
struct fl_vma *fl_vma_of(const struct fl_mem *mem, uint32_t id);
/* vma_lookup(): the VMA that contains vpn, or NULL. */
struct fl_vma *fl_vma_find(const struct fl_mem *mem, const struct fl_mm *mm, fl_vpn vpn);

struct fl_map_request {
	uint32_t pages;
	uint32_t flags;     /* FL_VM_*; FL_VM_LOCKED here does not populate (MAP_LOCKED minus populate) */
	uint8_t type;       /* enum fl_vma_type */
	uint32_t mapping, pgoff;
	uint32_t align;     /* pages, a power of two; 0: by the kernel's rule (PMD size for anon of at least PMD size) */
	uint32_t misalign;  /* added to the aligned address */
};

/* mmap(): first page, or FL_VPN_NONE (no address space, too many VMAs, no memory). May switch. */
fl_vpn fl_mmap(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm, const struct fl_map_request *request);

/* munmap(): any range, holes allowed. 0, or -ENOMEM when a split VMA gets no memory. May switch. */
int fl_munmap(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm, fl_vpn start, uint32_t pages);

/* mlock() populates and moves the pages to the unevictable list; munlock() moves them back. 0 or -ENOMEM (hole in the range
 * or out of memory). May switch. */
int fl_mlock(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm, fl_vpn start, uint32_t pages);
int fl_munlock(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm, fl_vpn start, uint32_t pages);

enum fl_madvise {
	FL_MADV_HUGEPAGE,
	FL_MADV_NOHUGEPAGE,
	FL_MADV_DONTNEED,
	FL_MADV_DONTNEED_LOCKED,
	FL_MADV_FREE,
	FL_MADV_COLLAPSE,
};

/* madvise(): 0, -ENOMEM (hole in the range; the rest was done), -EINVAL (locked, or not anonymous where it must be), or
 * what COLLAPSE says. May switch. */
int fl_madvise(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm, fl_vpn start, uint32_t pages,
	       enum fl_madvise advice);

/* A batch of MADV_DONTNEED calls of `pages` each. Pages freed. May switch. */
uint64_t fl_discard_runs(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm, const fl_vpn *starts,
			 uint32_t count, uint32_t pages);

/* MADV_COLLAPSE, set by khugepaged.c; NULL: -EINVAL. */
typedef int (*fl_collapse_fn)(struct fl_mem *mem, struct fl_caller *who, struct fl_mm *mm, fl_vpn start,
			      uint32_t pages);
void fl_mm_set_collapse(struct fl_mem *mem, fl_collapse_fn fn);

/* smaps of a range: pages resident (Rss), and PMD-mapped folios (AnonHugePages). */
uint64_t fl_mm_resident(const struct fl_mem *mem, const struct fl_mm *mm, fl_vpn start, uint32_t pages);
uint64_t fl_mm_huge_mapped(const struct fl_mem *mem, const struct fl_mm *mm, fl_vpn start, uint32_t pages);

/* First VMA of a mapping (i_mmap), then vma->map_next; FL_VPN_NONE ends. */
uint32_t fl_mapping_first_vma(const struct fl_mem *mem, uint32_t mapping);

void fl_mmap_init(struct fl_mem *mem);
void fl_mmap_fini(struct fl_mem *mem);
uint64_t fl_mmap_hash(const struct fl_mem *mem, uint64_t hash);

#endif
