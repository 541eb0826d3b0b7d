/*
 * mm/oom_kill.c - out of memory: chooses who is killed. Mirrors mm/oom_kill.c without cgroups and cpusets.
 *
 * Processes are reached through fl_oom_ops. A kill is a result of the run. When there is nobody to kill the kernel
 * panics; here that is counted, the request fails, and the run goes on.
 */
#include "mm/oom_kill.h"

#include "mm/swapfile.h"
#include "sim/platform.h"

/*
 * A request without __GFP_FS may not kill and tries for ever; on a real machine some other request kills sooner or later.
 * Where there is no other, the kernel hangs; here such a request kills too when it has come this often (seconds of
 * virtual time).
 */
#define NOFS_PATIENCE 10000u

struct fl_oom {
	struct fl_oom_ops ops;
	bool has_ops;
	uint64_t without_victim;
	unsigned int nofs_rounds; /* requests without __GFP_FS that came here since the last kill */
};

void fl_oom_init(struct fl_mem *mem)
{
	mem->oom = fl_host_alloc(sizeof(*mem->oom));
}

void fl_oom_fini(struct fl_mem *mem)
{
	fl_host_free(mem->oom);
	mem->oom = NULL;
}

void fl_oom_set_ops(struct fl_mem *mem, const struct fl_oom_ops *ops)
{
	mem->oom->ops = *ops;
	mem->oom->has_ops = true;
}

uint64_t fl_oom_without_victim(const struct fl_mem *mem)
{
	return mem->oom->without_victim;
}

int64_t fl_oom_badness(const struct fl_oom_candidate *c, uint64_t total_pages)
{
	if (c->score_adj == -1000)
		return INT64_MIN;
	return (int64_t)(c->rss_pages + c->swap_entries + c->pgtable_pages) +
	       (int64_t)c->score_adj * (int64_t)(total_pages / 1000);
}

static uint64_t total_pages(const struct fl_mem *mem)
{
	uint64_t total = fl_swap_total(mem);

	for (unsigned int i = 0; i < FL_ZONES; i++)
		total += mem->zone[i].managed;
	return total;
}

/* select_bad_process(): the last one of those with the most points; false and *dying if one is dying already. */
static bool select_bad_process(const struct fl_oom *oom, uint64_t total, uint32_t *ret_id, bool *dying)
{
	struct fl_oom_candidate c;
	int64_t chosen_points = INT64_MIN;
	bool chosen = false;

	*dying = false;
	for (unsigned int i = 0; oom->ops.candidate(oom->ops.arg, i, &c); i++) {
		int64_t points;

		if (c.is_dying) {
			*dying = true;
			return false;
		}
		points = fl_oom_badness(&c, total);
		if (points == INT64_MIN || (chosen && points < chosen_points))
			continue;
		chosen = true;
		chosen_points = points;
		*ret_id = c.id;
	}
	return chosen;
}

bool fl_out_of_memory(struct fl_mem *mem, struct fl_caller *who, fl_gfp gfp)
{
	struct fl_oom *oom = mem->oom;
	bool dying = false;
	uint32_t id = 0;

	if (who->flags & FL_PF_OOM_VICTIM) /* task_will_free_mem(): dying itself */
		return true;
	if (!(gfp & FL_GFP_FS) && oom->has_ops && oom->nofs_rounds++ < NOFS_PATIENCE)
		return true;
	oom->nofs_rounds = 0;
	if (oom->has_ops && select_bad_process(oom, total_pages(mem), &id, &dying)) {
		fl_count(mem, FL_VM_oom_kill, 1);
		fl_charge(who->task, mem->cost->oom_kill);
		FL_TRACE(mem, who, mark_victim, id);
		oom->ops.kill(oom->ops.arg, id);
		return true;
	}
	if (!dying)
		oom->without_victim++;
	return dying;
}
