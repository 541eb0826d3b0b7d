/*
 * machine/sample.c - turns the model's counters and a census into samples of a record.
 *
 * Every counter is in every sample, also when it is 0: a missing value would read as "none" in a comparison.
 */
#include "machine/sample.h"

#include <stdio.h>
#include <string.h>

#include "machine/census.h"
#include "mm/compaction.h"
#include "mm/pcp.h"
#include "mm/swap.h"
#include "mm/watermark.h"

static void take_counts(struct fl_sampler_counts *c, const struct fl_mem *mem)
{
	memcpy(c->vm, mem->vm, sizeof(c->vm));
	memcpy(c->mthp, mem->mthp, sizeof(c->mthp));
	memcpy(c->work, mem->work, sizeof(c->work));
	memcpy(c->extfrag, mem->extfrag, sizeof(c->extfrag));
	c->user_ns = c->sys_ns = 0;
	c->now_ns = fl_sim_now(mem->sim);
	for (unsigned int cpu = 0; cpu < fl_sim_cpus(mem->sim); cpu++) {
		struct fl_cpu_times t = fl_sim_cpu_times(mem->sim, cpu);

		c->user_ns += t.user_ns;
		c->sys_ns += t.sys_ns;
	}
}

void fl_sampler_measure(struct fl_sampler *sampler, struct fl_mem *mem)
{
	take_counts(&sampler->now, mem);
	sampler->last = sampler->now;
	sampler->start = sampler->last_long = sampler->now;
}

/* Migratetypes in names of metrics are in lower case. */
static const char *type_word(unsigned int type)
{
	static const char *const words[FL_MIGRATETYPES] = { "unmovable", "movable", "reclaimable", "highatomic",
							    "isolate" };
	return words[type];
}

static void add_vm(struct fl_record *r, const char *phase, const struct fl_sampler_counts *now,
		   const struct fl_sampler_counts *from)
{
	for (unsigned int i = 0; i < FL_VM_COUNT; i++)
		fl_record_addf(r, phase, "", (double)(now->vm[i] - from->vm[i]), "%s", fl_vm_event_name((enum fl_vm_event)i));
}

/* anon_fault_alloc_16kB, ...; nr_* are gauges. Only orders that the machine can have as folios. */
static void add_mthp(struct fl_record *r, const char *phase, const struct fl_mem *mem,
		     const struct fl_sampler_counts *now, const struct fl_sampler_counts *from)
{
	for (unsigned int order = 1; order <= mem->pmd_order; order++) {
		for (unsigned int i = 0; i < FL_MTHP_COUNT; i++) {
			const char *name = fl_mthp_stat_name((enum fl_mthp_stat)i);
			bool is_gauge = !strncmp(name, "nr_", 3);
			uint64_t value = now->mthp[order][i] - (is_gauge ? 0 : from->mthp[order][i]);

			fl_record_addf(r, phase, "", (double)value, "%s_%ukB", name, (1u << order) << (mem->page_shift - 10));
		}
	}
}

static void add_work(struct fl_record *r, const char *phase, const struct fl_sampler_counts *now,
		     const struct fl_sampler_counts *from)
{
	for (unsigned int what = 0; what < FL_WORK_COUNT; what++)
		for (unsigned int actor = 0; actor < FL_ACTORS; actor++)
			for (unsigned int trigger = 0; trigger < FL_TRIGGERS; trigger++)
				fl_record_addf(r, phase, "",
				    (double)(now->work[what][actor][trigger] - from->work[what][actor][trigger]),
				    "work_%s_%s_%s", fl_work_name((enum fl_work)what),
				    fl_actor_name((enum fl_actor)actor), fl_trigger_name((enum fl_trigger)trigger));
}

static void add_extfrag(struct fl_record *r, const char *phase, const struct fl_mem *mem,
			const struct fl_sampler_counts *now, const struct fl_sampler_counts *from)
{
	static const char *const how_words[FL_EXTFRAG_HOWS] = { "claim", "steal" };
	uint64_t nonmovable_steals = 0;

	for (unsigned int want = 0; want < FL_PCPTYPES; want++) {
		for (unsigned int taken = 0; taken < FL_PCPTYPES; taken++) {
			for (unsigned int order = 0; want != taken && order <= mem->max_order; order++) {
				for (unsigned int how = 0; how < FL_EXTFRAG_HOWS; how++) {
					uint64_t n = now->extfrag[want][taken][order][how] -
						     from->extfrag[want][taken][order][how];

					if (how == FL_EXTFRAG_STEAL && want != FL_MOVABLE && taken == FL_MOVABLE)
						nonmovable_steals += n;
					fl_record_addf(r, phase, "", (double)n, "extfrag_%s_%s_o%u_%s", type_word(want),
					    type_word(taken), order, how_words[how]);
				}
			}
		}
	}
	fl_record_addf(r, phase, "", (double)nonmovable_steals, "nonmovable_steals");
}

/* ---- what became of attempts to compact ---- */

static const char *const heard_words[FL_HEARD_COUNT] = { "try", "suitable", "end_async", "end_sync", "finished",
							 "deferred", "defer", "defer_reset" };

static unsigned int actor_of(const char *task)
{
	return !strncmp(task, "kswapd", 6) ? FL_ACTOR_KSWAPD : !strncmp(task, "kcompactd", 9) ? FL_ACTOR_KCOMPACTD :
	       !strncmp(task, "khugepaged", 10) ? FL_ACTOR_KHUGEPAGED : FL_ACTOR_DIRECT;
}

void fl_sampler_hear(struct fl_sampler *sampler, const struct fl_trace_event *event)
{
	uint64_t result = 0;
	enum fl_heard heard;

	switch (event->id) {
	case FL_TRACE_mm_compaction_try_to_compact_pages:
		heard = FL_HEARD_TRY;
		break;
	case FL_TRACE_mm_compaction_suitable:
		heard = FL_HEARD_SUITABLE;
		result = event->arg[2];
		break;
	case FL_TRACE_mm_compaction_finished:
		heard = FL_HEARD_FINISHED;
		result = event->arg[2];
		break;
	case FL_TRACE_mm_compaction_end:
		heard = event->arg[4] ? FL_HEARD_END_SYNC : FL_HEARD_END_ASYNC;
		result = event->arg[5];
		break;
	case FL_TRACE_mm_compaction_deferred:
		heard = FL_HEARD_DEFERRED;
		break;
	case FL_TRACE_mm_compaction_defer_compaction:
		heard = FL_HEARD_DEFER;
		break;
	case FL_TRACE_mm_compaction_defer_reset:
		heard = FL_HEARD_DEFER_RESET;
		break;
	default:
		return;
	}
	sampler->now.compaction[heard][actor_of(event->task_name)][result < FL_COMPACT_RESULTS ? result : 0]++;
}

static void add_compaction(struct fl_record *r, const char *phase, const struct fl_sampler_counts *now,
			   const struct fl_sampler_counts *from)
{
	for (unsigned int h = 0; h < FL_HEARD_COUNT; h++)
		for (unsigned int actor = 0; actor < FL_ACTORS; actor++)
			for (unsigned int result = 0; result < FL_COMPACT_RESULTS; result++) {
				double n = (double)(now->compaction[h][actor][result] - from->compaction[h][actor][result]);
				bool has_result = h >= FL_HEARD_SUITABLE && h <= FL_HEARD_FINISHED;

				if (has_result || !result)
					fl_record_addf(r, phase, "", n, has_result ? "compaction_%s_%s_%s" : "compaction_%s_%s",
					    heard_words[h], fl_actor_name((enum fl_actor)actor),
					    fl_compact_result_name((enum fl_compact_result)result));
			}
}

static void add_times(struct fl_record *r, const char *phase, const struct fl_sampler_counts *now,
		      const struct fl_sampler_counts *from)
{
	fl_record_addf(r, phase, "s", (double)(now->now_ns - from->now_ns) / 1e9, "real_s");
	fl_record_addf(r, phase, "s", (double)(now->user_ns - from->user_ns) / 1e9, "user_s");
	fl_record_addf(r, phase, "s", (double)(now->sys_ns - from->sys_ns) / 1e9, "sys_s");
}

/* Faults between the two: a histogram of counts can be subtracted, its extremes cannot. */
static void add_fault_latency(struct fl_record *r, const char *phase, const struct fl_sampler_counts *now,
			      const struct fl_sampler_counts *from)
{
	static const struct {
		const char *name;
		uint32_t num, den;
	} quantiles[] = { { "fault_latency_p50_us", 1, 2 },
			  { "fault_latency_p90_us", 9, 10 },
			  { "fault_latency_p99_us", 99, 100 },
			  { "fault_latency_p999_us", 999, 1000 } };
	struct fl_histogram h = now->fault_ns;

	h.total -= from->fault_ns.total;
	h.sum -= from->fault_ns.sum;
	for (unsigned int i = 0; i < FL_HISTOGRAM_BUCKETS; i++)
		h.counts[i] -= from->fault_ns.counts[i];
	fl_record_addf(r, phase, "us", h.total ? (double)h.sum / (double)h.total / 1e3 : 0, "fault_latency_us");
	r->samples[r->samples_count - 1].valid = h.total > 0;
	for (size_t i = 0; i < sizeof(quantiles) / sizeof(*quantiles); i++) {
		fl_record_addf(r, phase, "us",
		    h.total ? (double)fl_histogram_quantile(&h, quantiles[i].num, quantiles[i].den) / 1e3 : 0, "%s",
		    quantiles[i].name);
		r->samples[r->samples_count - 1].valid = h.total > 0;
	}
}

/* ---- gauges ---- */

static void add_census(struct fl_record *r, const char *phase, const struct fl_mem *mem)
{
	static const char *const type_names[FL_CENSUS_TYPES] = { "unmovable", "movable", "reclaimable", "highatomic",
								 "cma", "isolate", "unknown" };
	static const char *const class_names[FL_CENSUS_CLASSES] = { "free", "pcp", "anon", "huge", "file", "mlocked",
								    "driver", "hugetlb", "pgtable", "slab", "kernel" };
	struct fl_census_counts c;
	struct fl_census census;

	fl_machine_census(mem, false, &census);
	fl_census_count(&census, FL_CENSUS_ALL_ZONES, &c);
	fl_census_free(&census);
	fl_record_addf(r, phase, "pageblocks", (double)c.polluted_pageblocks, "polluted_pageblocks");
	fl_record_addf(r, phase, "pageblocks", (double)c.unmovable_pageblocks, "unmovable_pageblocks");
	fl_record_addf(r, phase, "pageblocks", (double)c.mixed_pageblocks, "mixed_pageblocks");
	fl_record_addf(r, phase, "pages", (double)c.unmovable_pages, "unmovable_pages");
	fl_record_addf(r, phase, "pages", (double)c.polluting_pages, "polluting_pages");
	fl_record_addf(r, phase, "pages", (double)c.stray_movable_pages, "stray_movable_pages");
	fl_record_addf(r, phase, "pages", (double)c.movable_pages, "movable_pages");
	fl_record_addf(r, phase, "pageblocks", (double)c.free_huge_slots, "free_huge_slots");
	fl_record_addf(r, phase, "pageblocks", (double)c.reclaimable_huge_slots, "reclaimable_huge_slots");
	for (unsigned int i = 0; i < FL_CENSUS_CMA; i++)
		fl_record_addf(r, phase, "pageblocks", (double)c.type_blocks[i], "pageblocks_%s", type_names[i]);
	for (unsigned int i = 0; i <= FL_CENSUS_KERNEL; i++)
		if (i != FL_CENSUS_HUGETLB)
			fl_record_addf(r, phase, "pages", (double)c.class_pages[i], "pages_%s", class_names[i]);
}

/* The zone that movable requests prefer: Normal where there is one, else the highest below it. */
static struct fl_zone *preferred_zone(struct fl_mem *mem)
{
	unsigned int z = FL_ZONE_NORMAL;

	while (z > 0 && !mem->zone[z].managed)
		z--;
	return &mem->zone[z];
}

/* Chunks on one free list, counted as pagetypeinfo counts them. */
static uint64_t list_length(const struct fl_mem *mem, const struct fl_zone *zone, unsigned int type, unsigned int order)
{
	uint32_t head = fl_free_list(zone, type, order);
	uint64_t length = 0;

	for (uint32_t at = fl_list_first(&mem->frames, head); at != head; at = mem->frames.record[at].next)
		length++;
	return length;
}

static void add_zone(struct fl_record *r, const char *phase, const struct fl_mem *mem, const struct fl_zone *zone)
{
	static const char *const words[FL_ZONES] = { "dma", "dma32", "normal", "movable" };
	const char *word = words[zone->index];

	fl_record_addf(r, phase, "pages", (double)zone->nr_free_pages, "nr_free_pages_%s", word);
	fl_record_addf(r, phase, "pages", (double)fl_pcp_pages(mem, zone), "nr_pcp_pages_%s", word);
	for (unsigned int order = 0; order <= mem->max_order; order++)
		fl_record_addf(r, phase, "", zone->nr_free[order], "nr_free_%s_o%u", word, order);
	for (unsigned int type = 0; type < FL_MIGRATETYPES; type++)
		for (unsigned int order = 0; order <= mem->max_order; order++)
			fl_record_addf(r, phase, "", (double)list_length(mem, zone, type, order), "nr_free_%s_%s_o%u", word,
			    type_word(type), order);
	fl_record_addf(r, phase, "", (double)fl_unusable_index(zone, mem->pmd_order) / 1000, "unusable_index_%s_o%u", word,
	    mem->pmd_order);
}

static void add_gauges(struct fl_record *r, const char *phase, struct fl_mem *mem)
{
	static const char *const lru_names[FL_LRU_LISTS] = { "nr_inactive_anon", "nr_active_anon", "nr_inactive_file",
							     "nr_active_file", "nr_unevictable" };
	const struct fl_zone *zone = preferred_zone(mem);
	struct fl_list_pages lists;
	long free_pages = 0;

	for (unsigned int z = 0; z < FL_ZONES; z++) {
		free_pages += mem->zone[z].nr_free_pages;
		if (mem->zone[z].managed)
			add_zone(r, phase, mem, &mem->zone[z]);
	}
	fl_record_addf(r, phase, "pages", (double)free_pages, "nr_free_pages");
	fl_record_addf(r, phase, "kB", (double)mem->set.min_free_kbytes, "min_free_kbytes");
	for (unsigned int i = 0; i < FL_LRU_LISTS; i++)
		fl_record_addf(r, phase, "pages", (double)mem->lru->size[i], "%s", lru_names[i]);
	fl_machine_list_pages(mem, zone, &lists);
	fl_record_addf(r, phase, "pages", (double)fl_machine_free_count_gap(zone, &lists), "free_count_gap");
	fl_record_addf(r, phase, "pages", (double)fl_machine_type_count_gap(zone, &lists), "type_count_gap");
}

void fl_sampler_sample(struct fl_sampler *sampler, struct fl_mem *mem, const char *phase, bool is_long,
		       struct fl_record *record)
{
	bool whole = !strcmp(phase, "all") || !strcmp(phase, "end");
	const struct fl_sampler_counts *now = &sampler->now;
	const struct fl_sampler_counts *from = whole ? &sampler->start : is_long ? &sampler->last_long : &sampler->last;

	take_counts(&sampler->now, mem);
	add_times(record, phase, now, from);
	add_fault_latency(record, phase, now, from);
	add_census(record, phase, mem);
	add_gauges(record, phase, mem);
	add_vm(record, phase, now, from);
	add_mthp(record, phase, mem, now, from);
	add_work(record, phase, now, from);
	add_extfrag(record, phase, mem, now, from);
	add_compaction(record, phase, now, from);
	*(is_long ? &sampler->last_long : &sampler->last) = sampler->now;
}

/* /proc/stat: time of all CPUs in user and system mode. */
static int64_t cpu_time(const struct fl_mem *mem, bool is_user)
{
	int64_t ns = 0;

	for (unsigned int cpu = 0; cpu < fl_sim_cpus(mem->sim); cpu++) {
		struct fl_cpu_times t = fl_sim_cpu_times(mem->sim, cpu);

		ns += (int64_t)(is_user ? t.user_ns : t.sys_ns);
	}
	return ns;
}

int64_t fl_sampler_counter(const struct fl_mem *mem, const char *name)
{
	char text[72];

	if (!strcmp(name, "cpu_user_ns") || !strcmp(name, "cpu_system_ns"))
		return cpu_time(mem, name[4] == 'u');
	for (unsigned int i = 0; i < FL_VM_COUNT; i++)
		if (!strcmp(name, fl_vm_event_name((enum fl_vm_event)i)))
			return (int64_t)mem->vm[i];
	for (unsigned int order = 1; order <= mem->pmd_order; order++) {
		for (unsigned int i = 0; i < FL_MTHP_COUNT; i++) {
			snprintf(text, sizeof(text), "%s_%ukB", fl_mthp_stat_name((enum fl_mthp_stat)i),
				 (1u << order) << (mem->page_shift - 10));
			if (!strcmp(name, text))
				return (int64_t)mem->mthp[order][i];
		}
	}
	return -1;
}

void fl_sampler_list(struct fl_text *to)
{
	for (unsigned int i = 0; i < FL_VM_COUNT; i++)
		fl_text_add(to, "%s\tvmstat\n", fl_vm_event_name((enum fl_vm_event)i));
	for (unsigned int i = 0; i < FL_MTHP_COUNT; i++)
		fl_text_add(to, "%s_<kB>kB\tper-size statistics of huge pages\n",
			    fl_mthp_stat_name((enum fl_mthp_stat)i));
	fl_text_add(to, "cpu_user_ns, cpu_system_ns\ttime of all CPUs, as in /proc/stat; for scripts\n");
	fl_text_add(to, "work_<what>_<actor>_<trigger>\twork by who did it and why\n"
			"extfrag_<wanted>_<taken>_o<order>_<claim|steal>\tchunks taken from pageblocks of another type\n"
			"compaction_<event>_<actor>[_<result>]\ttracepoints of compaction: try, suitable, end_async, end_sync, "
			"finished, deferred, defer, defer_reset\n"
			"nonmovable_steals\tof these, steals from movable pageblocks by other types\n"
			"real_s, user_s, sys_s\tvirtual time, and CPU time of all CPUs\n"
			"fault_latency_us, fault_latency_p50_us, ...\tmean and quantiles of page faults\n"
			"polluted_pageblocks\tmovable-typed pageblocks that hold unmovable pages\n"
			"unmovable_pageblocks\tpageblocks that hold unmovable pages\n"
			"mixed_pageblocks\tpageblocks that hold both unmovable and movable pages\n"
			"polluting_pages\tunmovable pages in movable-typed pageblocks\n"
			"stray_movable_pages\tmovable pages in pageblocks of other types\n"
			"unmovable_pages, movable_pages, pages_<class>\tpages by what they hold\n"
			"pageblocks_<type>\tpageblocks by migratetype\n"
			"free_huge_slots, reclaimable_huge_slots\thuge pages to be had now, and if all movable pages moved\n"
			"nr_free_pages, nr_free_pages_<zone>, nr_free_<zone>_o<order>, nr_free_<zone>_<type>_o<order>\tthe buddy lists\n"
			"min_free_kbytes\tvm.min_free_kbytes as it is in force\n"
			"free_count_gap\tpages on the free lists less NR_FREE_PAGES, in the preferred zone\n"
			"type_count_gap\tthe same by migratetype, sum of absolute differences\n");
}
