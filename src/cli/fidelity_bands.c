/*
 * cli/fidelity_bands.c - the declared bands of `fraglab fidelity`, and what falls within them.
 */
#include "cli/fidelity.h"

#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "report/table.h"

const char *const fl_fidelity_scenarios[] = { "faults", "unmovable", "probe", "collapse", NULL };

enum mode {
	COUNT, /* as the phase counted it */
	CHANGE, /* of a gauge since the phase "start": the host holds more than the load */
	VALUE,
};

/*
 * The first row that fits decides. Patterns are those of a shell. `same_size`: only where metric and phase end in the same
 * "_64kB"; no text: no row. Within: |model - real| <= max(share * real, floor), or the larger at most `factor` times the smaller.
 */
static const struct band {
	const char *scenario, *metric, *phase, *text, *why;
	enum mode mode;
	bool same_size;
	double share, factor, floor;
} bands[] = {
	{ "faults", "anon_fault_alloc_*", "*", "exact", "the load asks for these sizes page by page; nothing else on the host uses them",
	  COUNT, true, 0, 0, 0 },
	{ "faults", "anon_fault_fallback_*", "*", "exact", "likewise", COUNT, true, 0, 0, 0 },
	{ "*", "own_faults", "*", "2 %", "page faults of the load itself", COUNT, false, 0.02, 0, 0 },
	{ "faults", "success_pct", "*", "5 points", "share of faults that got their size", VALUE, false, 0, 0, 5 },
	{ "probe", "thp_success_pct", "*", "5 points", "share of a probe that is huge", VALUE, false, 0, 0, 5 },
	{ "collapse", "huge_pct", "*", "5 points", "share of the ranges that khugepaged made huge", VALUE, false, 0, 0, 5 },
	{ "collapse", "thp_collapse_alloc", "*", "2 %", "one for each range", COUNT, false, 0.02, 0, 1 },
	{ "*", "thp_fault_alloc", "*", "2 %", "faults of the load alone, where sizes are on madvise", COUNT, false, 0.02, 0, 2 },
	{ "*", "pgfault", "*", "2 %", "all processes of the host fault; the column noise says how often", COUNT, false, 0.02, 0, 16 },
	{ "*", "pgalloc_normal", "*", "2 %", "all requests in zone Normal", COUNT, false, 0.02, 0, 64 },
	{ "*", "extfrag_*_o*_*", "*", NULL, "summed up by wanted and taken type", COUNT, false, 0, 0, 0 },
	{ "*", "extfrag_*", "*", "30 % or 50", "which pageblock is met first depends on the order of free lists, which no file tells",
	  COUNT, false, 0.3, 0, 50 },
	{ "*", "nonmovable_steals", "*", "30 % or 50", "likewise", COUNT, false, 0.3, 0, 50 },
	{ "unmovable", "pageblocks_unmovable", "*", "15 %", "pageblocks that the demand has claimed", CHANGE, false, 0.15, 0, 2 },
	{ "unmovable", "pageblocks_reclaimable", "*", "15 %", "likewise", CHANGE, false, 0.15, 0, 2 },
	{ "unmovable", "unmovable_pageblocks", "*", "15 %", "pageblocks that hold unmovable pages; more by those where only pages are met that may "
	  "as well be on per-CPU lists", VALUE, false, 0.15, 0, 2 },
	{ "unmovable", "pages_pgtable", "*", "2 %", "page tables of the load", CHANGE, false, 0.02, 0, 64 },
	{ "unmovable", "pages_slab", "*", "15 %", "slab of the load", CHANGE, false, 0.15, 0, 256 },
	{ "*", "compact_migrate_scanned", "*", "factor 1.5", "scanners stop where they meet, which depends on what is free", COUNT,
	  false, 0, 1.5, 2048 },
	{ "*", "compact_free_scanned", "*", "factor 1.5", "likewise", COUNT, false, 0, 1.5, 2048 },
	{ "*", "pgmigrate_success", "*", "factor 1.5", "pages that compaction moved", COUNT, false, 0, 1.5, 512 },
	{ "*", "compact_stall", "*", "factor 1.5", "direct compaction of the load", COUNT, false, 0, 1.5, 4 },
	{ "*", "compact_daemon_wake", "*", "factor 1.5", "kcompactd", COUNT, false, 0, 1.5, 2 },
};
#define BANDS (sizeof(bands) / sizeof(*bands))

static bool ends_alike(const char *metric, const char *phase)
{
	const char *a = strrchr(metric, '_'), *b = strrchr(phase, '_');

	return a && b && !strcmp(a, b);
}

static const struct band *band_of(const char *scenario, const char *metric, const char *phase)
{
	for (size_t i = 0; i < BANDS; i++)
		if (!fnmatch(bands[i].scenario, scenario, 0) && !fnmatch(bands[i].metric, metric, 0) &&
		    !fnmatch(bands[i].phase, phase, 0) && (!bands[i].same_size || ends_alike(metric, phase)))
			return &bands[i];
	return NULL;
}

static bool is_within(const struct band *band, double real, double model)
{
	double off = fabs(model - real), less = fmin(real, model), more = fmax(real, model);

	if (off <= fmax(band->share * fabs(real), band->floor))
		return true;
	return band->factor > 0 && less > 0 && more <= band->factor * less;
}

/* Noise only adds to what the real kernel counts. */
static enum fl_fidelity_verdict judge(const struct band *band, double real, double most, double model, double noise)
{
	if (isnan(real) || isnan(model))
		return FL_FIDELITY_UNKNOWN;
	if (is_within(band, real, model) || is_within(band, most, model) || (model > real && model < most))
		return FL_FIDELITY_WITHIN;
	if (noise > 0 && real > model && is_within(band, fmax(model, real - 2 * noise), model))
		return FL_FIDELITY_NOISE;
	return FL_FIDELITY_OUTSIDE;
}

static double figure(const struct fl_record *r, const char *name, const char *phase)
{
	const struct fl_sample *s = fl_record_find(r, name, phase);

	return s && s->valid ? s->value : NAN;
}

static double rate_of(const struct fl_fidelity_noise *noise, const char *name)
{
	for (size_t i = 0; noise && i < noise->count; i++)
		if (!strcmp(noise->list[i].name, name))
			return noise->list[i].per_s;
	return 0;
}

static struct fl_fidelity_row *new_row(struct fl_fidelity_rows *to, const char *scenario, const char *name, const char *phase)
{
	struct fl_fidelity_row *row;

	to->list = fl_xrealloc(to->list, (to->count + 1) * sizeof(*to->list));
	row = &to->list[to->count++];
	memset(row, 0, sizeof(*row));
	snprintf(row->scenario, sizeof(row->scenario), "%s", scenario);
	snprintf(row->name, sizeof(row->name), "%s", name);
	snprintf(row->phase, sizeof(row->phase), "%s", phase);
	return row;
}

/* extfrag_<wanted>_<taken> of each phase: the sum over orders, claims and steals. */
static void add_extfrag_sums(struct fl_record *r)
{
	size_t count = r->samples_count;

	for (size_t i = 0; i < count; i++) {
		struct fl_sample part = r->samples[i], *sum;
		char *order;

		if (strncmp(part.name, "extfrag_", 8) || !part.valid)
			continue;
		order = strstr(part.name, "_o");
		while (order && (order[2] < '0' || order[2] > '9'))
			order = strstr(order + 1, "_o");
		if (!order)
			continue;
		*order = '\0';
		sum = (struct fl_sample *)(uintptr_t)fl_record_find(r, part.name, part.phase);
		if (sum && sum < r->samples + count)
			continue; /* the other side has sums of its own */
		if (sum)
			sum->value += part.value;
		else
			fl_record_add(r, part.name, part.phase, part.value)->valid = true;
	}
}

void fl_fidelity_compare(const char *scenario, struct fl_record *real, struct fl_record *model,
			 const struct fl_fidelity_noise *noise, struct fl_fidelity_rows *to)
{
	add_extfrag_sums(real);
	add_extfrag_sums(model);
	for (size_t i = 0; i < model->samples_count; i++) {
		const struct fl_sample *s = &model->samples[i];
		const struct band *band = band_of(scenario, s->name, s->phase);
		double a, b, time = figure(real, "real_s", s->phase);
		struct fl_fidelity_row *row;

		if (!band || !band->text || (band->mode != VALUE && !strcmp(s->phase, "start")))
			continue;
		a = figure(real, s->name, s->phase);
		b = s->valid ? s->value : NAN;
		if (band->mode == CHANGE) {
			a -= figure(real, s->name, "start");
			b -= figure(model, s->name, "start");
		}
		if ((a == 0 || isnan(a)) && b == 0)
			continue;
		row = new_row(to, scenario, s->name, s->phase);
		row->real = a;
		row->model = b;
		row->band = band->text;
		row->noise = band->mode == COUNT && time > 0 ? rate_of(noise, s->name) * time : 0;
		row->real_most = a;
		if (!strcmp(s->name, "unmovable_pageblocks")) {
			double unsure = figure(real, "unsure_pageblocks", s->phase);

			row->real_most = a + (isnan(unsure) ? 0 : unsure);
		}
		row->verdict = judge(band, a, row->real_most, b, row->noise);
	}
}

void fl_fidelity_add_exact(const char *name, double real, double model, struct fl_fidelity_rows *to)
{
	static const struct band exact = { .text = "exact" };
	struct fl_fidelity_row *row = new_row(to, "exact", name, "");

	row->real = real;
	row->model = model;
	row->band = exact.text;
	row->real_most = real;
	row->verdict = judge(&exact, real, real, model, 0);
}

void fl_fidelity_record(const struct fl_result *result, struct fl_record *ret)
{
	fl_record_init(ret);
	for (size_t m = 0; m < result->metrics_count; m++) {
		const struct fl_metric *metric = &result->metrics[m];
		double sum = 0;
		size_t n = 0;

		for (size_t run = 0; run < result->runs; run++)
			if (!isnan(metric->values[run])) {
				sum += metric->values[run];
				n++;
			}
		fl_record_add(ret, metric->name, metric->phase, n ? sum / (double)n : NAN)->valid = n > 0;
	}
}

const char *fl_fidelity_verdict_word(enum fl_fidelity_verdict verdict)
{
	static const char *const words[] = { "within", "noise", "OUTSIDE", "no figure" };

	return words[verdict];
}

/* "1.02", or "-". */
static const char *ratio_text(const struct fl_fidelity_row *row, char *buffer, size_t size)
{
	double ratio = row->model / row->real;

	if (isnan(ratio) || isinf(ratio))
		snprintf(buffer, size, "-");
	else
		snprintf(buffer, size, "%.3f", ratio);
	return buffer;
}

static void print_row(const struct fl_fidelity_row *row, struct fl_text *to)
{
	char most[32], real[32], model[32], noise[32], ratio[32];
	bool is_range = row->real_most > row->real;

	fl_text_add(to, "%s%s%s\t%s%s%s\t%s\t%s\t%s\t%s\t%s\n", row->name, *row->phase ? " @ " : "", row->phase,
		    fl_report_number(row->real, real, sizeof(real)), is_range ? ".." : "",
		    is_range ? fl_report_number(row->real_most, most, sizeof(most)) : "", fl_report_number(row->model, model, sizeof(model)),
		    ratio_text(row, ratio, sizeof(ratio)), row->noise > 0 ? fl_report_number(row->noise, noise, sizeof(noise)) : "",
		    row->band, fl_fidelity_verdict_word(row->verdict));
}

void fl_fidelity_print(const struct fl_fidelity_rows *rows, bool all, struct fl_text *to)
{
	size_t counts[4] = { 0 };

	for (size_t i = 0, next; i < rows->count; i = next) {
		struct fl_text table;
		size_t within = 0;

		fl_text_init(&table);
		fl_text_add(&table, "counter @ phase\treal\tmodel\tratio\tnoise\tband\tverdict\n");
		for (next = i; next < rows->count && !strcmp(rows->list[next].scenario, rows->list[i].scenario); next++) {
			const struct fl_fidelity_row *row = &rows->list[next];

			counts[row->verdict]++;
			within += row->verdict == FL_FIDELITY_WITHIN;
			if (all || row->verdict != FL_FIDELITY_WITHIN)
				print_row(row, &table);
		}
		fl_text_add(to, "%s: %zu of %zu rows within their band\n", rows->list[i].scenario, within, next - i);
		if (strchr(table.data, '\n')[1])
			fl_report_columns(table.data, to);
		fl_text_add_char(to, '\n', 1);
		fl_text_fini(&table);
	}
	fl_text_add(to, "within %zu, noise %zu, outside %zu, no figure %zu\n", counts[FL_FIDELITY_WITHIN], counts[FL_FIDELITY_NOISE],
		    counts[FL_FIDELITY_OUTSIDE], counts[FL_FIDELITY_UNKNOWN]);
}

void fl_fidelity_write_json(const struct fl_fidelity_rows *rows, const char *release, const char *kernel,
			    struct fl_text *to)
{
	json_t *root = json_object(), *list = json_array();

	json_object_set_new(root, "schema", json_string("fraglab.fidelity.v1"));
	json_object_set_new(root, "release", fl_json_text(release));
	json_object_set_new(root, "kernel", fl_json_text(kernel));
	for (size_t i = 0; i < rows->count; i++) {
		const struct fl_fidelity_row *row = &rows->list[i];
		json_t *one = json_object();

		json_object_set_new(one, "scenario", fl_json_text(row->scenario));
		json_object_set_new(one, "name", fl_json_text(row->name));
		json_object_set_new(one, "phase", fl_json_text(row->phase));
		json_object_set_new(one, "real", fl_json_number(row->real));
		json_object_set_new(one, "real_most", fl_json_number(row->real_most));
		json_object_set_new(one, "model", fl_json_number(row->model));
		json_object_set_new(one, "noise", fl_json_number(row->noise));
		json_object_set_new(one, "band", fl_json_text(row->band));
		json_object_set_new(one, "verdict", fl_json_text(fl_fidelity_verdict_word(row->verdict)));
		json_array_append_new(list, one);
	}
	json_object_set_new(root, "rows", list);
	fl_json_write(root, to);
	json_decref(root);
}

void fl_fidelity_rows_fini(struct fl_fidelity_rows *rows)
{
	free(rows->list);
	memset(rows, 0, sizeof(*rows));
}
