/*
 * mm/filemap.h - the page cache of regular files, block devices and shared memory. Mirrors mm/filemap.c, readahead.c and
 * truncate.c.
 *
 * A file is a mapping: an id (index into a table) with one entry a page: absent, a shadow, or the page. Cache folios have
 * owner = mapping id, index = page index, kind FILE (or SHMEM). Requests for the cache of a block device are Unmovable
 * (its mask is GFP_USER) although the pages can be moved; those of a regular file are Movable. A page that is written to
 * gets a buffer head (Reclaimable slab) for as long as it is cached, as on ext4; one that is only read has none.
 */
#ifndef FL_MM_FILEMAP_H
#define FL_MM_FILEMAP_H

#include "mm/mem.h"
#include "mm/workingset.h"
#include "sim/device.h"

typedef uint32_t fl_mapping_id;
#define FL_MAPPING_NONE UINT32_MAX

enum fl_mapping_type { FL_MAPPING_REGULAR, FL_MAPPING_BLOCKDEV, FL_MAPPING_SHMEM };

void fl_filemap_init(struct fl_mem *mem);
void fl_filemap_fini(struct fl_mem *mem);
uint64_t fl_filemap_hash(const struct fl_mem *mem, uint64_t hash);
void fl_filemap_check(struct fl_mem *mem); /* every entry names a frame that names it, counts agree */

/* Makes a file of `pages` (0 and growing is fine) on a device (borrowed; NULL: I/O takes no time). Ids are reused. */
fl_mapping_id fl_file_create(struct fl_mem *mem, enum fl_mapping_type type, struct fl_device *device, uint32_t pages);
/* Removes the file with its cache (truncate_inode_pages_final): pages under writeback are waited for. May switch. */
void fl_file_delete(struct fl_mem *mem, struct fl_caller *who, fl_mapping_id id);
/* Cuts or extends. May switch. */
void fl_file_truncate(struct fl_mem *mem, struct fl_caller *who, fl_mapping_id id, uint32_t pages);
uint32_t fl_file_pages(const struct fl_mem *mem, fl_mapping_id id);  /* size */
uint32_t fl_file_cached(const struct fl_mem *mem, fl_mapping_id id); /* nrpages */
enum fl_mapping_type fl_file_type(const struct fl_mem *mem, fl_mapping_id id);

/* posix_fadvise(): POSIX_FADV_RANDOM, or NORMAL again. A file stands for its only open descriptor. */
void fl_file_advise(struct fl_mem *mem, fl_mapping_id id, bool random);
/* filemap_read(): copies [index, index + pages) to user memory through the cache, with readahead; pages read (less on
 * an allocation failure or at the end of file). May switch. */
uint32_t fl_file_read(struct fl_mem *mem, struct fl_caller *who, fl_mapping_id id, uint32_t index, uint32_t pages);
/* generic_perform_write(): whole pages, grows the file, dirties, throttles (balance_dirty_pages). May switch. */
uint32_t fl_file_write(struct fl_mem *mem, struct fl_caller *who, fl_mapping_id id, uint32_t index, uint32_t pages);
/* Writes the dirty pages out and waits. May switch. */
void fl_file_fsync(struct fl_mem *mem, struct fl_caller *who, fl_mapping_id id);

/* filemap_fault(): the page at `index`, read with readahead around if absent; referenced as a mapped page is. FL_PFN_NONE: past the
 * end or no memory. May switch. `major` tells whether it was read (counted as pgmajfault here; may be NULL). */
fl_pfn fl_filemap_fault(struct fl_mem *mem, struct fl_caller *who, fl_mapping_id id, uint32_t index, bool *major);
/* The cached page at `index` if it can be mapped at once (not locked, not migrating), or FL_PFN_NONE: for fault-around. */
fl_pfn fl_filemap_lookup(const struct fl_mem *mem, fl_mapping_id id, uint32_t index);

/* folio_mark_accessed() (allocator.md 7.7). */
void fl_folio_mark_accessed(struct fl_mem *mem, struct fl_caller *who, fl_pfn folio);

/* Takes a clean, unmapped folio out of its cache, with its buffer head (__remove_mapping) and leaves `shadow` (FL_SHADOW_NONE: none).
 * The caller frees it. */
void fl_filemap_remove(struct fl_mem *mem, struct fl_caller *who, fl_pfn folio, fl_shadow shadow);
/* Migration: the entry (or entries) of `from` now name `to`; owner and index are copied by the caller. */
void fl_filemap_migrate(struct fl_mem *mem, fl_pfn from, fl_pfn to);

/* Drops clean, unmapped, unlocked pages of all files (drop_pagecache_sb): how many. */
uint32_t fl_filemap_drop(struct fl_mem *mem, struct fl_caller *who);

/* A clean folio of that order at `index`, a multiple of its pages, where nothing is: for mm/restore.c. False: no memory. */
bool fl_filemap_add_folio(struct fl_mem *mem, struct fl_caller *who, fl_mapping_id id, uint32_t index, unsigned int order);

uint64_t fl_filemap_pages(const struct fl_mem *mem); /* nr_file_pages without the swap cache */

#endif
