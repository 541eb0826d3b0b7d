/*
 * mm/migrate.h - moving folios to other frames. Mirrors mm/migrate.c.
 *
 * A folio that is to move has been taken off its LRU (FL_ISOLATED, one reference more) and stands on a private list.
 * While its mappings are replaced it carries FL_MIGRATING. Between passes the task may switch, so owners may unmap,
 * truncate or free an isolated folio meanwhile: a folio whose last other reference is gone is freed and counts as
 * migrated.
 */
#ifndef FL_MM_MIGRATE_H
#define FL_MM_MIGRATE_H

#include "mm/mem.h"
#include "mm/pfn_list.h"

enum fl_migrate_mode { FL_MIGRATE_ASYNC, FL_MIGRATE_SYNC_LIGHT, FL_MIGRATE_SYNC };

#define FL_MIGRATE_PASSES 10      /* NR_MAX_MIGRATE_PAGES_RETRY */
#define FL_MIGRATE_ASYNC_PASSES 3 /* NR_MAX_MIGRATE_ASYNC_RETRY: before each folio is tried alone */
#define FL_MIGRATE_SYNC_PASSES (FL_MIGRATE_PASSES - FL_MIGRATE_ASYNC_PASSES)

/* Where folios go: new_folio_t and free_folio_t. get() returns a frame of the source's order that is on no list, kind
 * FL_KIND_TARGET, or FL_PFN_NONE, and may switch; put() takes such a frame back. */
struct fl_migrate_targets {
	fl_pfn (*get)(struct fl_mem *mem, struct fl_caller *who, fl_pfn src, void *arg);
	void (*put)(struct fl_mem *mem, struct fl_caller *who, fl_pfn dst, unsigned int order, void *arg);
	void *arg;
};

/*
 * migrate_pages(): moves the folios of `from` and counts pgmigrate_*, thp_migration_*. Returns how many folios did not
 * move (a split one counts once), 0 when all did, or -ENOMEM (12) when a folio found no target and could not be split;
 * folios that did not move are back on `from`, for fl_putback_movable_pages(). *ret_succeeded: base pages moved.
 * May switch.
 */
int fl_migrate_pages(struct fl_mem *mem, struct fl_caller *who, struct fl_pfn_list *from,
		     const struct fl_migrate_targets *targets, enum fl_migrate_mode mode, unsigned int *ret_succeeded);

/* putback_movable_pages(): back to their LRU lists; folios that nobody else holds any more are freed. */
void fl_putback_movable_pages(struct fl_mem *mem, struct fl_caller *who, struct fl_pfn_list *list);

#endif
