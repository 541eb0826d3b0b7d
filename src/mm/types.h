/*
 * mm/types.h - the scalars and constants of the modelled kernel.
 *
 * Kernel words: page frame number (pfn), order, migratetype, zone, gfp flags. A page here is a base page of the
 * machine (4K, 16K or 64K); pageblock order and largest order are data of the machine, never constants.
 */
#ifndef FL_MM_TYPES_H
#define FL_MM_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint32_t fl_pfn; /* index of a page frame; up to 1 TiB of 4K pages */
#define FL_PFN_NONE UINT32_MAX

#define FL_MAX_ORDERS 15 /* room for order 0..14; the machine says how many it uses */
#define FL_COSTLY_ORDER 3

/* Values as in the kernel built without CMA (allocator.md 1.3). */
enum fl_migratetype {
	FL_UNMOVABLE,
	FL_MOVABLE,
	FL_RECLAIMABLE,
	FL_HIGHATOMIC,
	FL_ISOLATE,
	FL_MIGRATETYPES
};
#define FL_PCPTYPES 3 /* types with per-CPU lists of their own */

static inline bool fl_migratetype_is_mergeable(unsigned int type)
{
	return type < FL_HIGHATOMIC;
}

enum fl_zone_index { FL_ZONE_DMA, FL_ZONE_DMA32, FL_ZONE_NORMAL, FL_ZONE_MOVABLE, FL_ZONES };

/* Request flags: the kernel's names, our own bit values. */
typedef uint32_t fl_gfp;
#define FL_GFP_MOVABLE_BIT (1u << 0)
#define FL_GFP_RECLAIMABLE_BIT (1u << 1)
#define FL_GFP_DMA (1u << 2)
#define FL_GFP_DMA32 (1u << 3)
#define FL_GFP_HIGHMEM (1u << 4)
#define FL_GFP_IO (1u << 5)
#define FL_GFP_FS (1u << 6)
#define FL_GFP_DIRECT_RECLAIM (1u << 7)
#define FL_GFP_KSWAPD_RECLAIM (1u << 8)
#define FL_GFP_HIGH (1u << 9)
#define FL_GFP_NORETRY (1u << 10)
#define FL_GFP_RETRY_MAYFAIL (1u << 11)
#define FL_GFP_NOFAIL (1u << 12)
#define FL_GFP_NOWARN (1u << 13)
#define FL_GFP_NOMEMALLOC (1u << 14)
#define FL_GFP_MEMALLOC (1u << 15)
#define FL_GFP_ZERO (1u << 16)
#define FL_GFP_COMP (1u << 17)
#define FL_GFP_THISNODE (1u << 18)
#define FL_GFP_ACCOUNT (1u << 19)
#define FL_GFP_WRITE (1u << 20)

/* Combinations (allocator.md 6.6). */
#define FL_GFP_RECLAIM (FL_GFP_DIRECT_RECLAIM | FL_GFP_KSWAPD_RECLAIM)
#define FL_GFP_KERNEL (FL_GFP_RECLAIM | FL_GFP_IO | FL_GFP_FS)
#define FL_GFP_NOFS (FL_GFP_RECLAIM | FL_GFP_IO)
#define FL_GFP_NOIO (FL_GFP_RECLAIM)
#define FL_GFP_ATOMIC (FL_GFP_HIGH | FL_GFP_KSWAPD_RECLAIM)
#define FL_GFP_NOWAIT (FL_GFP_KSWAPD_RECLAIM | FL_GFP_NOWARN)
#define FL_GFP_USER FL_GFP_KERNEL
#define FL_GFP_HIGHUSER (FL_GFP_KERNEL | FL_GFP_HIGHMEM)
#define FL_GFP_HIGHUSER_MOVABLE (FL_GFP_HIGHUSER | FL_GFP_MOVABLE_BIT)
#define FL_GFP_TRANSHUGE_LIGHT \
	((FL_GFP_HIGHUSER_MOVABLE | FL_GFP_COMP | FL_GFP_NOMEMALLOC | FL_GFP_NOWARN) & ~FL_GFP_RECLAIM)
#define FL_GFP_TRANSHUGE (FL_GFP_TRANSHUGE_LIGHT | FL_GFP_DIRECT_RECLAIM)

/* Migratetype of a request (gfp_migratetype). */
static inline unsigned int fl_gfp_migratetype(fl_gfp gfp)
{
	return gfp & (FL_GFP_MOVABLE_BIT | FL_GFP_RECLAIMABLE_BIT);
}

/* Zone by the five lowest bits of a request, in a table since every request asks. */
#define FL_GFP_ZONE_OF(gfp) \
	((gfp) & FL_GFP_DMA ? FL_ZONE_DMA : \
	 (gfp) & FL_GFP_DMA32 ? FL_ZONE_DMA32 : \
	 ((gfp) & (FL_GFP_HIGHMEM | FL_GFP_MOVABLE_BIT)) == (FL_GFP_HIGHMEM | FL_GFP_MOVABLE_BIT) ? FL_ZONE_MOVABLE : \
												     FL_ZONE_NORMAL)
#define FL_GFP_ZONES_OF(gfp) \
	FL_GFP_ZONE_OF(gfp), FL_GFP_ZONE_OF((gfp) + 1), FL_GFP_ZONE_OF((gfp) + 2), FL_GFP_ZONE_OF((gfp) + 3)
#define FL_GFP_ZONE_BITS 0x1fu

/* Highest zone that a request may use (gfp_zone). */
static inline unsigned int fl_gfp_zone(fl_gfp gfp)
{
	static const uint8_t zones[FL_GFP_ZONE_BITS + 1] = {
		FL_GFP_ZONES_OF(0u),  FL_GFP_ZONES_OF(4u),  FL_GFP_ZONES_OF(8u),  FL_GFP_ZONES_OF(12u),
		FL_GFP_ZONES_OF(16u), FL_GFP_ZONES_OF(20u), FL_GFP_ZONES_OF(24u), FL_GFP_ZONES_OF(28u),
	};

	return zones[gfp & FL_GFP_ZONE_BITS];
}

/*
 * What a page frame is: the lowest bits of its state word. Only the first frame of a chunk, folio or allocation (its
 * head) has a kind; all frames behind it are INTERIOR (state word 0), so splitting, merging, allocating and freeing
 * never touch them, and the head of any frame is found by alignment (fl_frame_head()).
 */
enum fl_kind {
	FL_KIND_INTERIOR, /* part of the chunk whose head is below; also a frame where no memory is */
	FL_KIND_HOLE,
	FL_KIND_RESERVED, /* never managed */
	FL_KIND_LISTHEAD, /* pseudo-frame behind the last frame: matches no test of a scanner or a merge */
	FL_KIND_BUDDY,    /* free chunk on a buddy list */
	FL_KIND_GUARD,    /* debug guard: free, on no list */
	FL_KIND_PCP,      /* free, on a per-CPU list */
	FL_KIND_TARGET,   /* taken from the buddy lists by compaction's free scanner */
	/* movable from here on */
	FL_KIND_ANON,
	FL_KIND_FILE,
	FL_KIND_SHMEM,
	FL_KIND_SWAPCACHE, /* read in or being written out, mapped by nobody */
	FL_KIND_DRIVER,    /* movable_ops: balloon, zsmalloc */
	/* unmovable from here on */
	FL_KIND_PGTABLE,
	FL_KIND_SLAB,
	FL_KIND_STACK,
	FL_KIND_PIPE,
	FL_KIND_SOCKET,
	FL_KIND_HUGE_ZERO,
	FL_KIND_KERNEL, /* any other kernel page */
	FL_KINDS
};

static inline bool fl_kind_is_movable(unsigned int kind)
{
	return kind >= FL_KIND_ANON && kind <= FL_KIND_DRIVER;
}

static inline bool fl_kind_is_unmovable(unsigned int kind)
{
	return kind >= FL_KIND_PGTABLE;
}

static inline bool fl_kind_is_allocated(unsigned int kind)
{
	return kind >= FL_KIND_ANON;
}

/* Who does work in the kernel, and why (attribution of work, design section 7). */
enum fl_actor { FL_ACTOR_DIRECT, FL_ACTOR_KSWAPD, FL_ACTOR_KCOMPACTD, FL_ACTOR_KHUGEPAGED, FL_ACTORS };
enum fl_trigger {
	FL_TRIGGER_SLOWPATH,
	FL_TRIGGER_KSWAPD_SLEEP,
	FL_TRIGGER_BOOST,
	FL_TRIGGER_TIMER,
	FL_TRIGGER_SYSCTL,
	FL_TRIGGER_ATOMIC,
	FL_TRIGGER_SCAN,
	FL_TRIGGERS
};

#endif
