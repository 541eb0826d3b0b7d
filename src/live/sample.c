/*
 * live/sample.c - reading counters and gauges of a live kernel, and their differences as samples of a record.
 */
#include "live/sample.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"
#include "live/lines.h"
#include "observe/arith.h"
#include "observe/hostfile.h"
#include "observe/kpageflags.h"
#include "observe/read_host.h"

#define THP_DIR "sys/kernel/mm/transparent_hugepage"

const char fl_live_sampler_missing[] = "work_*, type_count_gap";

static void add_unknown(struct fl_record *r, const char *phase, const char *unit, const char *name)
{
	fl_record_addf(r, phase, unit, 0, "%s", name);
	r->samples[r->samples_count - 1].valid = false;
}

/* ---- counters ---- */

bool fl_live_is_gauge(const char *name)
{
	static const char *const events[] = { "nr_dirtied", "nr_written", "nr_throttled_written", "nr_foll_pin_acquired",
					      "nr_foll_pin_released", "nr_vmscan_write", "nr_vmscan_immediate_reclaim" };

	for (size_t i = 0; i < sizeof(events) / sizeof(*events); i++)
		if (!strcmp(name, events[i]))
			return false;
	return !strncmp(name, "nr_", 3) || !strcmp(name, "workingset_nodes");
}

/* "name value" a line. */
static void read_vmstat(const char *root, struct fl_live_counts *to)
{
	struct fl_text text;
	char name[72];
	uint64_t value;

	fl_text_init(&text);
	if (fl_hostfile_read(root, "proc/vmstat", &text, NULL) == 0)
		for (char *rest = text.data, *line; (line = fl_live_next_line(&rest));)
			if (sscanf(line, "%71s %" SCNu64, name, &value) == 2)
				fl_live_counts_add(to, name, value);
	fl_text_fini(&text);
}

/* The statistics in one hugepages-<kB>kB/stats. */
static void read_size(const char *root, const char *folder, unsigned int kbytes, struct fl_live_counts *to)
{
	char *stats = fl_xasprintf(THP_DIR "/%s/stats", folder), *full = fl_hostfile_path(root, stats);
	DIR *dir = opendir(full);
	const struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		char *file = fl_xasprintf("%s/%s", stats, entry->d_name);
		uint64_t value = entry->d_name[0] == '.' ? UINT64_MAX : fl_hostfile_number(root, file, UINT64_MAX);

		if (value != UINT64_MAX)
			fl_live_counts_addf(to, value, "%.40s_%ukB", entry->d_name, kbytes);
		free(file);
	}
	if (dir)
		closedir(dir);
	free(full);
	free(stats);
}

static void read_sizes(const char *root, struct fl_live_counts *to)
{
	char *full = fl_hostfile_path(root, THP_DIR);
	DIR *dir = opendir(full);
	const struct dirent *entry;
	unsigned int kbytes;

	while (dir && (entry = readdir(dir)))
		if (sscanf(entry->d_name, "hugepages-%ukB", &kbytes) == 1)
			read_size(root, entry->d_name, kbytes, to);
	if (dir)
		closedir(dir);
	free(full);
}

/* What khugepaged itself counts. */
static void read_khugepaged(const char *root, struct fl_live_counts *to)
{
	static const char *const files[] = { "full_scans", "pages_collapsed" };

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		char *file = fl_xasprintf(THP_DIR "/khugepaged/%s", files[i]);
		uint64_t value = fl_hostfile_number(root, file, UINT64_MAX);

		if (value != UINT64_MAX)
			fl_live_counts_addf(to, value, "khugepaged_%s", files[i]);
		free(file);
	}
}

void fl_live_read_counters(const char *root, struct fl_live_counts *to)
{
	read_vmstat(root, to);
	read_sizes(root, to);
	read_khugepaged(root, to);
}

/* Time of all CPUs: "cpu  user nice system idle iowait irq softirq ..." in ticks. */
static void read_cpu_times(const char *root, uint64_t *user_ns, uint64_t *sys_ns)
{
	uint64_t user = 0, nice = 0, sys = 0, irq = 0, softirq = 0, tick_ns = 1000000000u / (uint64_t)sysconf(_SC_CLK_TCK);
	struct fl_text text;

	fl_text_init(&text);
	if (fl_hostfile_read(root, "proc/stat", &text, NULL) == 0)
		sscanf(text.data, "cpu %" SCNu64 " %" SCNu64 " %" SCNu64 " %*u %*u %" SCNu64 " %" SCNu64, &user, &nice, &sys,
		       &irq, &softirq);
	fl_text_fini(&text);
	*user_ns = (user + nice) * tick_ns;
	*sys_ns = (sys + irq + softirq) * tick_ns;
}

static void take_moment(const struct fl_live_sampler *s, struct fl_live_moment *m)
{
	struct timespec t;

	fl_live_read_counters(s->root, &m->counts);
	if (s->events)
		fl_live_events_read(s->events, &m->counts);
	read_cpu_times(s->root, &m->user_ns, &m->sys_ns);
	clock_gettime(CLOCK_MONOTONIC, &t);
	m->now_ns = (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* The moment `at` becomes the one to count from. */
static void begin_at(struct fl_live_moment *m, const struct fl_live_moment *at)
{
	m->now_ns = at->now_ns;
	m->user_ns = at->user_ns;
	m->sys_ns = at->sys_ns;
	fl_live_counts_copy(&m->counts, &at->counts);
	memset(&m->latency, 0, sizeof(m->latency));
}

void fl_live_sampler_measure(struct fl_live_sampler *sampler)
{
	struct fl_live_moment now = { 0 };

	take_moment(sampler, &now);
	begin_at(&sampler->last, &now);
	begin_at(&sampler->last_long, &now);
	begin_at(&sampler->start, &now);
	fl_live_counts_fini(&now.counts);
}

static void merge(struct fl_live_latency *to, const struct fl_live_latency *from)
{
	to->faults += from->faults;
	to->sum_ns += from->sum_ns;
	for (unsigned int i = 0; i < FL_LIVE_LATENCY_BUCKETS; i++)
		to->counts[i] += from->counts[i];
}

void fl_live_sampler_faults(struct fl_live_sampler *sampler, const struct fl_live_latency *latency)
{
	merge(&sampler->last.latency, latency);
	merge(&sampler->last_long.latency, latency);
	merge(&sampler->start.latency, latency);
}

static void add_counters(struct fl_record *r, const char *phase, const struct fl_live_moment *now,
			 const struct fl_live_moment *from)
{
	for (size_t i = 0; i < now->counts.count; i++) {
		const struct fl_live_count *c = &now->counts.items[i];
		uint64_t before = fl_live_is_gauge(c->name) ? 0 : fl_live_counts_get(&from->counts, c->name, i, 0);

		fl_record_addf(r, phase, "", (double)(int64_t)(c->value - before), "%s", c->name);
	}
}

static void add_times(struct fl_record *r, const char *phase, const struct fl_live_moment *now,
		      const struct fl_live_moment *from)
{
	fl_record_addf(r, phase, "s", (double)(now->now_ns - from->now_ns) / 1e9, "real_s");
	fl_record_addf(r, phase, "s", (double)(now->user_ns - from->user_ns) / 1e9, "user_s");
	fl_record_addf(r, phase, "s", (double)(now->sys_ns - from->sys_ns) / 1e9, "sys_s");
}

static void add_latency(struct fl_record *r, const char *phase, const struct fl_live_latency *l)
{
	static const struct {
		const char *name;
		uint32_t num, den;
	} quantiles[] = { { "fault_latency_p50_us", 1, 2 },
			  { "fault_latency_p90_us", 9, 10 },
			  { "fault_latency_p99_us", 99, 100 },
			  { "fault_latency_p999_us", 999, 1000 } };

	fl_record_addf(r, phase, "us", l->faults ? (double)l->sum_ns / (double)l->faults / 1e3 : 0, "fault_latency_us");
	r->samples[r->samples_count - 1].valid = l->faults > 0;
	for (size_t i = 0; i < sizeof(quantiles) / sizeof(*quantiles); i++) {
		fl_record_addf(r, phase, "us", (double)fl_live_latency_quantile(l, quantiles[i].num, quantiles[i].den) / 1e3, "%s",
		    quantiles[i].name);
		r->samples[r->samples_count - 1].valid = l->faults > 0;
	}
}

/* ---- zones ---- */

static void lower(const char *from, char *to, size_t length)
{
	size_t i = 0;

	for (; from[i] && i + 1 < length; i++)
		to[i] = from[i] >= 'A' && from[i] <= 'Z' ? (char)(from[i] + 32) : from[i];
	to[i] = '\0';
}

/* Zones of one name on several nodes are one in the names of metrics: only node 0 is sampled. */
static void add_zone(struct fl_record *r, const char *phase, const struct fl_mem_state *state, const struct fl_mem_zone *zone)
{
	char word[24], type[24];
	unsigned int order = state->pageblock_order ? state->pageblock_order : 9;

	lower(zone->name, word, sizeof(word));
	fl_record_addf(r, phase, "pages", (double)zone->free, "nr_free_pages_%s", word);
	fl_record_addf(r, phase, "pages", (double)zone->pcp_pages, "nr_pcp_pages_%s", word);
	for (unsigned int o = 0; o < zone->orders_count; o++)
		fl_record_addf(r, phase, "", (double)zone->free_blocks[o], "nr_free_%s_o%u", word, o);
	for (unsigned int t = 0; zone->has_type_rows && t < state->types_count; t++) {
		lower(state->types[t].name, type, sizeof(type));
		for (unsigned int o = 0; o < state->orders_count; o++)
			fl_record_addf(r, phase, "", (double)zone->type_free[t][o], "nr_free_%s_%s_o%u", word, type, o);
	}
	if (zone->orders_count > order)
		fl_record_addf(r, phase, "", (double)fl_arith_unusable_index(zone->free_blocks, zone->orders_count, order) / 1000, "unusable_index_%s_o%u", word, order);
}

/* Pages on the lists minus the zone's counter: deltas of CPUs that were not folded in yet are in it. */
static void add_count_gap(struct fl_record *r, const char *phase, const struct fl_mem_zone *zone)
{
	uint64_t on_lists = 0;

	for (unsigned int o = 0; o < zone->orders_count; o++)
		on_lists += zone->free_blocks[o] << o;
	fl_record_addf(r, phase, "pages", (double)(int64_t)(on_lists - zone->free), "free_count_gap");
}

/* Pageblocks by type over all zones, as pagetypeinfo counts them; how many are of no movable type. */
static uint64_t add_type_blocks(struct fl_record *r, const char *phase, const struct fl_mem_state *state)
{
	uint64_t other = 0;
	char type[24];

	for (unsigned int t = 0; t < state->types_count; t++) {
		uint64_t blocks = 0;

		for (size_t z = 0; z < state->zones_count; z++)
			blocks += state->zones[z].has_type_blocks ? state->zones[z].type_blocks[t] : 0;
		lower(state->types[t].name, type, sizeof(type));
		fl_record_addf(r, phase, "pageblocks", (double)blocks, "pageblocks_%s", type);
		other += state->types[t].role == FL_MEM_MOVABLE ? 0 : blocks;
	}
	return other;
}

static void add_zones(struct fl_record *r, const char *phase, const struct fl_mem_state *state)
{
	const struct fl_mem_zone *preferred = NULL;

	for (size_t z = 0; z < state->zones_count; z++) {
		const struct fl_mem_zone *zone = &state->zones[z];

		if (zone->node > 0 || !fl_mem_zone_is_populated(zone))
			continue;
		add_zone(r, phase, state, zone);
		if (zone->kind <= FL_MEM_ZONE_NORMAL)
			preferred = zone;
	}
	if (preferred)
		add_count_gap(r, phase, preferred);
}

/* ---- census ---- */

/*
 * Pages that nothing identifies are on per-CPU lists, most of them, or kernel memory. In blocks they count as per-CPU, so a
 * block holds unmovable pages when a page of it is known to be; in sums, what exceeds the per-CPU pages is kernel memory.
 */
static uint64_t move_unidentified(struct fl_census *census)
{
	uint64_t unidentified = 0, pcp = 0;

	for (size_t i = 0; i < census->blocks_count; i++) {
		struct fl_census_block *block = &census->blocks[i];

		unidentified += block->unidentified;
		block->pages[FL_CENSUS_KERNEL] -= block->unidentified;
		block->pages[FL_CENSUS_PCP] += block->unidentified;
		block->unidentified = 0;
	}
	for (unsigned int z = 0; z < census->zones_count; z++)
		pcp += census->zones[z].pcp;
	return unidentified > pcp ? unidentified - pcp : 0;
}

static void add_census_counts(struct fl_record *r, const char *phase, const struct fl_census_counts *c, uint64_t other_types)
{
	static const char *const class_names[FL_CENSUS_CLASSES] = { "free", "pcp", "anon", "huge", "file", "mlocked",
								    "driver", NULL, "pgtable", "slab", "kernel" };
	uint64_t least = c->unmovable_pageblocks > other_types ? c->unmovable_pageblocks - other_types : 0;

	add_unknown(r, phase, "pageblocks", "polluted_pageblocks");
	fl_record_addf(r, phase, "pageblocks", (double)least, "polluted_pageblocks_least");
	fl_record_addf(r, phase, "pageblocks", (double)c->unmovable_pageblocks, "unmovable_pageblocks");
	fl_record_addf(r, phase, "pageblocks", (double)c->mixed_pageblocks, "mixed_pageblocks");
	fl_record_addf(r, phase, "pages", (double)c->unmovable_pages, "unmovable_pages");
	fl_record_addf(r, phase, "pages", (double)c->movable_pages, "movable_pages");
	add_unknown(r, phase, "pages", "polluting_pages");
	add_unknown(r, phase, "pages", "stray_movable_pages");
	fl_record_addf(r, phase, "pageblocks", (double)c->free_huge_slots, "free_huge_slots");
	fl_record_addf(r, phase, "pageblocks", (double)c->reclaimable_huge_slots, "reclaimable_huge_slots");
	for (unsigned int i = 0; i <= FL_CENSUS_KERNEL; i++)
		if (class_names[i])
			fl_record_addf(r, phase, "pages", (double)c->class_pages[i], "pages_%s", class_names[i]);
}

static void add_census(struct fl_live_sampler *s, struct fl_record *r, const char *phase, uint64_t other_types)
{
	struct fl_census_counts counts;
	struct fl_census census;
	uint64_t unsure, kernel;

	if (s->no_census || fl_census_read_live(s->root, &census, NULL)) {
		s->no_census = true;
		return;
	}
	fl_census_count(&census, FL_CENSUS_ALL_ZONES, &counts);
	unsure = counts.unsure_pageblocks;
	kernel = move_unidentified(&census);
	fl_census_count(&census, FL_CENSUS_ALL_ZONES, &counts);
	fl_census_free(&census);
	counts.class_pages[FL_CENSUS_PCP] -= kernel;
	counts.class_pages[FL_CENSUS_KERNEL] += kernel;
	counts.unmovable_pages += kernel;
	fl_record_addf(r, phase, "pageblocks", (double)unsure, "unsure_pageblocks");
	fl_record_addf(r, phase, "pages", (double)kernel, "unidentified_pages");
	add_census_counts(r, phase, &counts, other_types);
}

static void add_gauges(struct fl_live_sampler *s, struct fl_record *r, const char *phase)
{
	struct fl_mem_report report;
	uint64_t other_types = 0;

	fl_mem_report_init(&report, "this host");
	if (fl_mem_read_host(s->root, &report, NULL) == 0 && report.states_count) {
		add_zones(r, phase, report.states[0]);
		other_types = add_type_blocks(r, phase, report.states[0]);
	}
	fl_mem_report_fini(&report);
	fl_record_addf(r, phase, "kB", (double)fl_hostfile_number(s->root, "proc/sys/vm/min_free_kbytes", 0), "min_free_kbytes");
	add_census(s, r, phase, other_types);
}

void fl_live_sampler_sample(struct fl_live_sampler *s, const char *phase, bool is_long, struct fl_record *record)
{
	bool whole = !strcmp(phase, "all") || !strcmp(phase, "end");
	const struct fl_live_moment *from = whole ? &s->start : is_long ? &s->last_long : &s->last;
	struct fl_live_moment now = { 0 };
	unsigned int page;

	take_moment(s, &now);
	add_times(record, phase, &now, from);
	add_latency(record, phase, &from->latency);
	add_counters(record, phase, &now, from);
	page = (unsigned int)sysconf(_SC_PAGESIZE);
	fl_live_add_unmeasured(record, phase, &now.counts, page / 1024, (unsigned int)__builtin_ctz(page / 8));
	add_gauges(s, record, phase);
	begin_at(is_long ? &s->last_long : &s->last, &now);
	fl_live_counts_fini(&now.counts);
}

int64_t fl_live_sampler_counter(const char *root, const char *name)
{
	struct fl_live_counts counts = { 0 };
	uint64_t user, sys, value;

	if (!strcmp(name, "cpu_user_ns") || !strcmp(name, "cpu_system_ns")) {
		read_cpu_times(root, &user, &sys);
		return (int64_t)(name[4] == 'u' ? user : sys);
	}
	read_vmstat(root, &counts);
	value = fl_live_counts_get(&counts, name, SIZE_MAX, UINT64_MAX);
	if (value == UINT64_MAX) {
		read_sizes(root, &counts);
		read_khugepaged(root, &counts);
		value = fl_live_counts_get(&counts, name, SIZE_MAX, UINT64_MAX);
	}
	fl_live_counts_fini(&counts);
	return (int64_t)value;
}

void fl_live_sampler_fini(struct fl_live_sampler *s)
{
	fl_live_counts_fini(&s->last.counts);
	fl_live_counts_fini(&s->last_long.counts);
	fl_live_counts_fini(&s->start.counts);
}
