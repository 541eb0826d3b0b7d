/*
 * live/budget.h - how much of the host a load may have, and the memory cgroup that holds it to that.
 */
#ifndef FL_LIVE_BUDGET_H
#define FL_LIVE_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct fl_live_budget {
	uint64_t total, available, swap; /* bytes, of /proc/meminfo */
	uint64_t scale;                  /* size of the load */
	uint64_t limit;                  /* what the cgroup lets it have: a quarter and 128 MiB more, for what a load does at its peaks */
	uint64_t low, critical;          /* MemAvailable below which ballast is dropped, and below which the load is ended */
};

/*
 * The budget on the host under `root`. wish 0: a quarter of MemAvailable. More than three quarters of it is refused (class
 * INPUT) without `force`, and so is less than 16 MiB.
 */
int fl_live_budget_make(const char *root, uint64_t wish, bool force, struct fl_live_budget *ret, struct fl_error *reterr);

/* MemTotal in bytes; 0 if it cannot be read. MemAvailable now likewise, UINT64_MAX. MemFree likewise, 0. */
uint64_t fl_live_total(const char *root);
uint64_t fl_live_available(const char *root);
uint64_t fl_live_free(const char *root);

/* Time in ns that all tasks stood still for memory at once (PSI, "full"), since boot; 0 without PSI. */
uint64_t fl_live_stalled_ns(const char *root);

/* A memory cgroup of our own. */
struct fl_live_group {
	char path[256]; /* "": none */
	int version;
};

/* Where one could be made: its parent folder; version 0: nowhere, and `why` says it. Changes nothing. */
void fl_live_group_find(const char *root, struct fl_live_group *ret, char why[256]);
/* Makes it below the parent that was found, with that limit. On failure ret->path is "" and `why` says it. */
void fl_live_group_make(struct fl_live_group *group, const char *name, uint64_t limit, char why[256]);
/* Puts the calling process into it. */
bool fl_live_group_join(const struct fl_live_group *group);
/* Kills what is in it. For the guardian. */
void fl_live_group_kill(const char *path);

#endif
