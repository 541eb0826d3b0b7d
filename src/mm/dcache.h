/*
 * mm/dcache.h - the objects of files: dentries and inodes, used and cached. Mirrors what fs/dcache.c and fs/inode.c ask of
 * the slab caches.
 *
 * A tmpfs file takes a shmem inode (Unmovable) and a dentry (Reclaimable), pinned until it is deleted. An ext4 or xfs
 * file takes an inode and a dentry (both Reclaimable) when it is looked up; once closed they are cached, and the shrinkers
 * may take the dentry and then the inode; the file itself stays and is looked up anew.
 */
#ifndef FL_MM_DCACHE_H
#define FL_MM_DCACHE_H

#include "mm/slab.h"

enum fl_fs { FL_FS_TMPFS, FL_FS_EXT4, FL_FS_XFS };

/* Creates and closes a file: its id, or UINT32_MAX (no memory). May switch. */
uint32_t fl_dentry_create(struct fl_mem *mem, struct fl_caller *who, enum fl_fs fs);
/* Opens and closes it: allocates again what was shrunk. False: no memory. May switch. */
bool fl_dentry_lookup(struct fl_mem *mem, struct fl_caller *who, uint32_t file);
/* open() that lasts: takes a struct file (Unmovable) and pins dentry and inode until fl_dentry_close(); nothing if it is
 * open. False: no memory. May switch. */
bool fl_dentry_open(struct fl_mem *mem, struct fl_caller *who, uint32_t file);
void fl_dentry_close(struct fl_mem *mem, struct fl_caller *who, uint32_t file); /* nothing if it is not open */
bool fl_dentry_is_open(const struct fl_mem *mem, uint32_t file);
/* unlink(), of an open one after close(): frees what it has. */
void fl_dentry_delete(struct fl_mem *mem, struct fl_caller *who, uint32_t file);
bool fl_dentry_is_cached(const struct fl_mem *mem, uint32_t file);
/* Ties it to a page cache: its inode cannot be shrunk while the file has cached pages (asks `pages`, set once). */
void fl_dentry_set_mapping(struct fl_mem *mem, uint32_t file, uint32_t mapping);
void fl_dcache_set_pages(struct fl_mem *mem, uint32_t (*pages)(const struct fl_mem *mem, uint32_t mapping));

/* The shrinkers: unused dentries, unused inodes (all file systems). */
uint64_t fl_dcache_count(const struct fl_mem *mem);
uint64_t fl_dcache_shrink(struct fl_mem *mem, struct fl_caller *who, uint64_t nr_to_scan);
uint64_t fl_icache_count(const struct fl_mem *mem);
uint64_t fl_icache_shrink(struct fl_mem *mem, struct fl_caller *who, uint64_t nr_to_scan);

void fl_dcache_init(struct fl_mem *mem);
void fl_dcache_fini(struct fl_mem *mem);

#endif
