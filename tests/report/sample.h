/* tests/report/sample.h - a result with everything in it: missing values, deaths, published figures, odd names. */
#ifndef FL_TESTS_REPORT_SAMPLE_H
#define FL_TESTS_REPORT_SAMPLE_H

#include <math.h>
#include <string.h>

#include "base/result.h"
#include "stats/compare.h"

static inline void sample_put(struct fl_result *r, const char *name, const char *phase, const char *unit,
			      enum fl_better better, bool headline, const double *values)
{
	struct fl_metric *m = fl_result_add_metric(r, name, phase);

	strcpy(m->unit, unit);
	m->better = better;
	m->headline = headline;
	memcpy(m->values, values, r->kernels_count * r->runs * sizeof(*values));
}

static inline void sample_make(struct fl_result *r, size_t kernels, size_t runs)
{
	static const char *const names[] = { "7.3", "7.3+mobility", "7.3+mobility-claim~guard-accounting,vm.compaction_proactiveness=60" };
	double base[3][4] = { { 42, 25, 67, 34.5 }, { 74.2, 47, 98, 69.9 }, { 41, 26, 66.5, 35 } }, v[12];

	fl_result_init(r);
	fl_result_shape(r, names, kernels, runs);
	r->scenario = fl_xstrdup("type-pressure");
	r->backend = fl_xstrdup("sim");
	r->seed = 7;
	fl_fields_add_int(&r->machine, "memory_bytes", INT64_C(64) << 30);
	fl_fields_add_int(&r->machine, "swap_bytes", INT64_C(8) << 30);
	fl_fields_add_int(&r->machine, "cpus", 8);
	fl_fields_add_int(&r->options, "rounds", 8);
	fl_fields_add_bool(&r->options, "holes", true);
	fl_fields_add_quantity(&r->options, "probe", INT64_C(2) << 30, FL_UNIT_BYTES);
	fl_fields_add_quantity(&r->options, "settle", 60000000000, FL_UNIT_NS);
	fl_fields_add_text(&r->options, "files", "tmpfs");
	fl_fields_add_text(&r->tunables, "vm.swappiness", "60");
	fl_fields_add_text(&r->provenance, "command", "fraglab compare type-pressure --runs 4");
#define SAMPLE(expression) do { \
	for (size_t k = 0; k < kernels; k++) \
		for (size_t i = 0; i < runs; i++) { \
			double x = base[k][i]; \
			v[k * runs + i] = (expression); \
		} \
} while (0)
	SAMPLE(x);
	sample_put(r, "thp_success_pct", "r4", "%", FL_BETTER_HIGHER, true, v);
	SAMPLE(2100 - 20 * x);
	sample_put(r, "polluted_pageblocks", "r4", "", FL_BETTER_LOWER, true, v);
	SAMPLE(x + 10 * (double)(i % 2));
	if (runs > 1)
		v[1] = NAN;
	sample_put(r, "thp_success_pct", "r5", "%", FL_BETTER_HIGHER, true, v);
	SAMPLE(x * 100000.25);
	sample_put(r, "pgfault", "end", "", FL_BETTER_NONE, false, v);
	SAMPLE(x - x);
	sample_put(r, "unmovable_pages", "r4", "pages", FL_BETTER_NONE, true, v);
	sample_put(r, "zero_counter", "end", "", FL_BETTER_NONE, false, v);
	SAMPLE(x > 0 ? NAN : 0);
	sample_put(r, "huge_after_s", "hot_after_cold", "s", FL_BETTER_LOWER, true, v);
	for (size_t i = 0; i < kernels * runs; i++) {
		r->state_hash[i] = 0xfedcba9876543210u - i;
		r->present[i] = true;
	}
	r->published = fl_xcalloc(1, sizeof(*r->published));
	r->published_count = 1;
	r->published[0] = (struct fl_published){ "thp_success_pct", "r4", "42 % (25-67)", "74 % (47-98)", "mobility", 2 };
	if (runs > 1)
		fl_result_add_note(r, 0, 1, true, "r5: swap exhausted");
	fl_stats_compare_result(r);
}

#endif
