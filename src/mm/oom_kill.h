/*
 * mm/oom_kill.h - out of memory: who is killed. Mirrors mm/oom_kill.c. A kill is a result of the run, never its end.
 *
 * The processes belong to others: they are reached through fl_oom_ops, set once.
 */
#ifndef FL_MM_OOM_KILL_H
#define FL_MM_OOM_KILL_H

#include "mm/mem.h"

struct fl_oom_candidate {
	uint32_t id;          /* of the process */
	uint64_t rss_pages, swap_entries, pgtable_pages;
	int16_t score_adj;    /* -1000: never */
	bool is_dying;        /* killed or exiting, memory not yet gone */
};

struct fl_oom_ops {
	/* The i-th process in a fixed order; false behind the last. */
	bool (*candidate)(void *arg, unsigned int i, struct fl_oom_candidate *ret);
	/* SIGKILL: the process will run its exit soon; must not switch. */
	void (*kill)(void *arg, uint32_t id);
	void *arg;
};

void fl_oom_init(struct fl_mem *mem);
void fl_oom_fini(struct fl_mem *mem);
void fl_oom_set_ops(struct fl_mem *mem, const struct fl_oom_ops *ops); /* copied */

/* oom_badness(): points, or INT64_MIN for one that must not be chosen. total: RAM and swap in pages. */
int64_t fl_oom_badness(const struct fl_oom_candidate *c, uint64_t total_pages);

/* out_of_memory(): kills the worst process; true if somebody is dying now (also one killed before), or if the request
 * may not kill because it lacks __GFP_FS. Never switches. */
bool fl_out_of_memory(struct fl_mem *mem, struct fl_caller *who, fl_gfp gfp);

/* Times that there was nobody to kill (the kernel panics; here the request fails). */
uint64_t fl_oom_without_victim(const struct fl_mem *mem);

#endif
