/*
 * mm/dcache.c - dentries and inodes of files, and their shrinkers. Follows fs/dcache.c and fs/inode.c as far as they ask
 * the slab caches for objects and give them back.
 */
#include "mm/dcache.h"

#include "mm/pool.h"

struct file {
	fl_object dentry, inode;
	fl_object filp; /* FL_OBJECT_NONE: not open */
	uint32_t mapping; /* UINT32_MAX: none */
	uint8_t fs;
	bool live;
};

struct fl_dcache {
	struct fl_pool files;
	uint32_t (*pages)(const struct fl_mem *mem, uint32_t mapping);
};

static struct file *file_of(const struct fl_mem *mem, uint32_t id)
{
	return fl_pool_at(&mem->dcache->files, id);
}

static enum fl_slab_cache inode_cache(enum fl_fs fs)
{
	static const enum fl_slab_cache cache[] = { FL_SLAB_shmem_inode_cache, FL_SLAB_ext4_inode_cache,
						    FL_SLAB_xfs_inode };

	return cache[fs];
}

/* dput() left the inode without a user: to its own LRU. */
static enum fl_evict evict_dentry(struct fl_mem *mem, struct fl_caller *who, fl_object object, uint32_t tag, void *arg)
{
	struct file *file = file_of(mem, tag);

	if (!file->live || file->dentry != object)
		return FL_EVICT_STALE;
	FL_ASSERT(file->filp == FL_OBJECT_NONE); /* the dentry of an open file is not on the LRU */
	file->dentry = FL_OBJECT_NONE;
	fl_slab_lru_add(mem, file->inode, tag);
	return FL_EVICT_FREE;
}

/* inode_lru_isolate(): an inode with cached pages stays for a round. */
static enum fl_evict evict_inode(struct fl_mem *mem, struct fl_caller *who, fl_object object, uint32_t tag, void *arg)
{
	struct file *file = file_of(mem, tag);

	if (!file->live || file->inode != object)
		return FL_EVICT_STALE;
	FL_ASSERT(file->dentry == FL_OBJECT_NONE); /* a used inode is not on the LRU */
	if (file->mapping != UINT32_MAX && mem->dcache->pages && mem->dcache->pages(mem, file->mapping))
		return FL_EVICT_ROTATE;
	file->inode = FL_OBJECT_NONE;
	return FL_EVICT_FREE;
}

void fl_dcache_init(struct fl_mem *mem)
{
	mem->dcache = fl_host_alloc(sizeof(*mem->dcache));
	fl_pool_init(&mem->dcache->files, sizeof(struct file), 10);
	fl_slab_set_evict(mem, FL_SLAB_dentry, evict_dentry, NULL);
	fl_slab_set_evict(mem, FL_SLAB_ext4_inode_cache, evict_inode, NULL);
	fl_slab_set_evict(mem, FL_SLAB_xfs_inode, evict_inode, NULL);
}

void fl_dcache_fini(struct fl_mem *mem)
{
	fl_pool_fini(&mem->dcache->files);
	fl_host_free(mem->dcache);
	mem->dcache = NULL;
}

void fl_dcache_set_pages(struct fl_mem *mem, uint32_t (*pages)(const struct fl_mem *mem, uint32_t mapping))
{
	mem->dcache->pages = pages;
}

/* d_alloc() and iget(): what is missing. */
static bool instantiate(struct fl_mem *mem, struct fl_caller *who, struct file *file)
{
	if (file->inode == FL_OBJECT_NONE)
		file->inode = fl_slab_alloc(mem, who, inode_cache(file->fs),
					    file->fs == FL_FS_TMPFS ? FL_GFP_KERNEL | FL_GFP_ACCOUNT
								    : FL_GFP_NOFS | FL_GFP_ACCOUNT);
	else
		fl_slab_lru_del(mem, file->inode);
	if (file->inode != FL_OBJECT_NONE && file->dentry == FL_OBJECT_NONE)
		file->dentry = fl_slab_alloc(mem, who, FL_SLAB_dentry, FL_GFP_KERNEL | FL_GFP_ACCOUNT);
	return file->dentry != FL_OBJECT_NONE;
}

uint32_t fl_dentry_create(struct fl_mem *mem, struct fl_caller *who, enum fl_fs fs)
{
	uint32_t id = fl_pool_get(&mem->dcache->files);
	struct file *file = file_of(mem, id);

	*file = (struct file){ .dentry = FL_OBJECT_NONE, .inode = FL_OBJECT_NONE, .filp = FL_OBJECT_NONE,
			       .mapping = UINT32_MAX, .fs = fs, .live = true };
	fl_charge(who->task, mem->cost->file_open);
	if (!instantiate(mem, who, file)) {
		fl_dentry_delete(mem, who, id);
		return UINT32_MAX;
	}
	if (fs != FL_FS_TMPFS) /* files in memory are pinned */
		fl_slab_lru_add(mem, file->dentry, id);
	return id;
}

bool fl_dentry_lookup(struct fl_mem *mem, struct fl_caller *who, uint32_t id)
{
	struct file *file = file_of(mem, id);

	FL_ASSERT(file->live);
	fl_charge(who->task, mem->cost->file_open);
	if (file->dentry == FL_OBJECT_NONE && !instantiate(mem, who, file)) {
		if (file->inode != FL_OBJECT_NONE)
			fl_slab_lru_add(mem, file->inode, id);
		return false;
	}
	if (file->fs != FL_FS_TMPFS)
		fl_slab_lru_add(mem, file->dentry, id); /* on it already: only referenced */
	return true;
}

bool fl_dentry_open(struct fl_mem *mem, struct fl_caller *who, uint32_t id)
{
	struct file *file = file_of(mem, id);
	fl_object filp;

	if (file->filp != FL_OBJECT_NONE)
		return true;
	filp = fl_slab_alloc(mem, who, FL_SLAB_filp, FL_GFP_KERNEL | FL_GFP_ACCOUNT);
	if (filp == FL_OBJECT_NONE)
		return false;
	if (!file->live || !fl_dentry_lookup(mem, who, id) || file->filp != FL_OBJECT_NONE) {
		fl_slab_free(mem, who, filp);
		return file->live && file->filp != FL_OBJECT_NONE;
	}
	file->filp = filp;
	fl_slab_lru_del(mem, file->dentry);
	return true;
}

void fl_dentry_close(struct fl_mem *mem, struct fl_caller *who, uint32_t id)
{
	struct file *file = file_of(mem, id);

	if (file->filp == FL_OBJECT_NONE)
		return;
	fl_charge(who->task, mem->cost->syscall);
	fl_slab_free(mem, who, file->filp);
	file->filp = FL_OBJECT_NONE;
	if (file->fs != FL_FS_TMPFS)
		fl_slab_lru_add(mem, file->dentry, id);
}

bool fl_dentry_is_open(const struct fl_mem *mem, uint32_t id)
{
	return file_of(mem, id)->filp != FL_OBJECT_NONE;
}

void fl_dentry_delete(struct fl_mem *mem, struct fl_caller *who, uint32_t id)
{
	struct file *file = file_of(mem, id);

	FL_ASSERT(file->live);
	fl_dentry_close(mem, who, id);
	fl_slab_free(mem, who, file->dentry);
	fl_slab_free(mem, who, file->inode);
	file->live = false;
	file->dentry = file->inode = FL_OBJECT_NONE;
	fl_pool_put(&mem->dcache->files, id);
}

bool fl_dentry_is_cached(const struct fl_mem *mem, uint32_t id)
{
	return file_of(mem, id)->dentry != FL_OBJECT_NONE;
}

void fl_dentry_set_mapping(struct fl_mem *mem, uint32_t id, uint32_t mapping)
{
	file_of(mem, id)->mapping = mapping;
}

uint64_t fl_dcache_count(const struct fl_mem *mem)
{
	return fl_slab_lru_count(mem, FL_SLAB_dentry);
}

uint64_t fl_dcache_shrink(struct fl_mem *mem, struct fl_caller *who, uint64_t nr_to_scan)
{
	return fl_slab_shrink(mem, who, FL_SLAB_dentry, nr_to_scan, NULL);
}

uint64_t fl_icache_count(const struct fl_mem *mem)
{
	return fl_slab_lru_count(mem, FL_SLAB_ext4_inode_cache) + fl_slab_lru_count(mem, FL_SLAB_xfs_inode);
}

/* In the kernel each file system has a shrinker of its own; here they share a scan by the size of their lists. */
uint64_t fl_icache_shrink(struct fl_mem *mem, struct fl_caller *who, uint64_t nr_to_scan)
{
	uint64_t ext4 = fl_slab_lru_count(mem, FL_SLAB_ext4_inode_cache), all = fl_icache_count(mem);
	uint64_t share = all ? nr_to_scan * ext4 / all : 0;

	return fl_slab_shrink(mem, who, FL_SLAB_ext4_inode_cache, share, NULL) +
	       fl_slab_shrink(mem, who, FL_SLAB_xfs_inode, nr_to_scan - share, NULL);
}
