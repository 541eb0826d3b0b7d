/*
 * calibrate/calibrate.c - makes the memory warm, repeats measurements, and derives costs from them (see calibrate.h).
 */
#include "calibrate/calibrate.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "calibrate/bench.h"

#define MEMORY_MIN (INT64_C(96) << 20)
#define ROWS_MAX 64
#define REPETITIONS_MIN 3 /* of those that succeeded */
#define FAILURES_MAX 10   /* a measurement may fail because others were busy; then it is tried again */

/* ---- what measurements use ---- */

double fl_cal_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

uint32_t fl_cal_random(struct fl_cal_bench *b, uint32_t below)
{
	b->random = b->random * UINT64_C(6364136223846793005) + 1442695040888963407u; /* Knuth, MMIX */
	return (uint32_t)((b->random >> 32) * below >> 32);
}

bool fl_cal_cannot(struct fl_cal_bench *b, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(b->why_not, sizeof(b->why_not), fmt, ap);
	va_end(ap);
	return false;
}

char *fl_cal_map(struct fl_cal_bench *b, size_t bytes)
{
	char *area = mmap(NULL, bytes + FL_CAL_HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *start;
	size_t before;

	if (area == MAP_FAILED) {
		fl_cal_cannot(b, "mmap of %zu MiB: %s", bytes >> 20, strerror(errno));
		return NULL;
	}
	before = -(uintptr_t)area % FL_CAL_HUGE;
	start = area + before;
	if (before)
		munmap(area, before);
	if (before < FL_CAL_HUGE)
		munmap(start + bytes, FL_CAL_HUGE - before);
	madvise(start, bytes, MADV_NOHUGEPAGE);
	return start;
}

void fl_cal_unmap(char *area, size_t bytes)
{
	if (area)
		munmap(area, bytes);
}

/* The number behind `name` in a file of lines "name number" or "name: number kB". */
static bool number_in(const char *path, const char *name, uint64_t *ret)
{
	FILE *file = fopen(path, "re");
	size_t length = strlen(name);
	char line[256];
	bool found = false;

	while (file && !found && fgets(line, sizeof(line), file)) {
		if (strncmp(line, name, length) || (line[length] != ' ' && line[length] != ':'))
			continue;
		*ret = strtoull(line + length + 1, NULL, 10);
		found = true;
	}
	if (file)
		fclose(file);
	return found;
}

bool fl_cal_vmstat(const char *name, uint64_t *ret)
{
	return number_in("/proc/vmstat", name, ret);
}

/* ---- warm memory ---- */

/* Memory that the host had not backed is slow at its first touch and never again: touched twice, kept for the whole time. */
static bool warm_up(struct fl_cal_bench *b)
{
	b->base = fl_cal_map(b, b->bytes);
	if (!b->base)
		return false;
	memset(b->base, 1, b->bytes);
	madvise(b->base, b->bytes, MADV_DONTNEED);
	memset(b->base, 2, b->bytes);
	b->huge = fl_cal_map(b, b->bytes);
	if (!b->huge)
		return true;
	if (madvise(b->huge, b->bytes, MADV_HUGEPAGE)) {
		fl_cal_unmap(b->huge, b->bytes);
		b->huge = NULL;
		return true;
	}
	memset(b->huge, 1, b->bytes);
	return true;
}

static int check_memory(const struct fl_calibrate_options *options, struct fl_error *reterr)
{
	uint64_t available_kb;

	if (options->memory_bytes < MEMORY_MIN)
		return fl_error_input(reterr, "a budget of %lld MiB is too small; measurements need 96 MiB",
				      (long long)options->memory_bytes >> 20);
	if (number_in("/proc/meminfo", "MemAvailable", &available_kb) &&
	    (int64_t)available_kb * 1024 < options->memory_bytes * 2)
		return fl_error_set(reterr, FL_ERROR_LACKING, -ENOMEM, "%llu MiB of memory are available, twice the "
				    "budget of %lld MiB is needed; free some, or give a smaller --memory",
				    (unsigned long long)available_kb >> 10, (long long)options->memory_bytes >> 20);
	return 0;
}

/* ---- costs from measurements ---- */

struct run {
	const struct fl_calibrate_options *options;
	struct fl_calibration *to;
	struct fl_cal_bench bench;
};

static const struct fl_calibrated *find_row(const struct fl_calibration *c, const char *name)
{
	for (size_t i = 0; i < c->count; i++)
		if (!strcmp(c->rows[i].name, name))
			return &c->rows[i];
	return NULL;
}

const struct fl_calibrated *fl_calibration_find(const struct fl_calibration *c, const char *cost)
{
	for (size_t i = 0; i < c->count; i++)
		if (c->rows[i].cost && c->rows[i].has_value && !strcmp(c->rows[i].cost, cost))
			return &c->rows[i];
	return NULL;
}

/* What a term takes off, from what was measured before or the defaults. False: it is not known. */
static bool term_ns(const struct run *r, const char *name, double *ret)
{
	const struct fl_calibrated *row = name[0] == '@' ? find_row(r->to, name + 1) : fl_calibration_find(r->to, name);
	uint32_t value;

	if (row) {
		*ret = name[0] == '@' ? row->median_ns : row->value;
		return name[0] != '@' || row->measured;
	}
	if (name[0] == '@' || !r->options->cost_of(name, &value))
		return false;
	*ret = value;
	return true;
}

static void derive(const struct run *r, const struct fl_cal_measurement *m, struct fl_calibrated *row)
{
	double left = row->median_ns, ns;
	size_t used = 0;

	for (const struct fl_cal_less *less = m->less; less->name; less++) {
		char times[16] = "";

		if (!term_ns(r, less->name, &ns)) {
			snprintf(row->why_not, sizeof(row->why_not), "%s is not known", less->name);
			return;
		}
		left -= less->times * ns;
		if (less->times > 1)
			snprintf(times, sizeof(times), "%u ", less->times);
		used += (size_t)snprintf(row->less + used, sizeof(row->less) - used, "%s%s%s", used ? " + " : "", times,
					 less->name + (less->name[0] == '@'));
	}
	if (!row->cost)
		return;
	if (left < 0.5) {
		snprintf(row->why_not, sizeof(row->why_not), "nothing is left of %.0f ns less %s", row->median_ns, row->less);
		return;
	}
	row->has_value = true;
	row->value = (uint32_t)lround(left);
}

/* ---- repetitions ---- */

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static bool is_stopped(const struct run *r)
{
	return r->options->stop && *r->options->stop;
}

static void repeat(struct run *r, const struct fl_cal_measurement *m, struct fl_calibrated *row)
{
	double ns[FL_CALIBRATE_REPETITIONS_MAX];
	unsigned int n = 0, failures = 0;

	while (n < r->options->repetitions && failures < FAILURES_MAX && !is_stopped(r)) {
		if (!m->measure(&r->bench, &ns[n]))
			failures++;
		else if (ns[n] > 0)
			n++;
		else if (++failures) /* a difference that was lost in what others did */
			fl_cal_cannot(&r->bench, "the difference was lost in noise");
	}
	if (n < REPETITIONS_MIN || is_stopped(r)) {
		snprintf(row->why_not, sizeof(row->why_not), "%s", is_stopped(r) ? "interrupted" : r->bench.why_not);
		return;
	}
	qsort(ns, n, sizeof(*ns), by_size);
	row->measured = true;
	row->repetitions = n;
	row->median_ns = n % 2 ? ns[n / 2] : (ns[n / 2 - 1] + ns[n / 2]) / 2;
	row->low_ns = ns[0];
	row->high_ns = ns[n - 1];
	derive(r, m, row);
}

int fl_calibrate(const struct fl_calibrate_options *options, struct fl_calibration *ret, struct fl_error *reterr)
{
	static const struct fl_cal_measurement *const tables[] = { fl_cal_process, fl_cal_memory, fl_cal_order,
								   fl_cal_file, fl_cal_compaction };
	struct run r = { .options = options, .to = ret, .bench = { .folder = options->folder, .random = 1 } };
	unsigned int count = 0;
	int error = check_memory(options, reterr);

	if (error)
		return error;
	r.bench.bytes = (size_t)options->memory_bytes / 3 & ~(size_t)(FL_CAL_HUGE - 1);
	if (!warm_up(&r.bench))
		return fl_error_set(reterr, FL_ERROR_LACKING, -ENOMEM, "%s", r.bench.why_not);
	*ret = (struct fl_calibration){ .rows = fl_xcalloc(ROWS_MAX, sizeof(*ret->rows)) };
	for (size_t t = 0; t < sizeof(tables) / sizeof(*tables); t++)
		for (const struct fl_cal_measurement *m = tables[t]; m->name; m++)
			count++;
	for (size_t t = 0; t < sizeof(tables) / sizeof(*tables); t++)
		for (const struct fl_cal_measurement *m = tables[t]; m->name && ret->count < ROWS_MAX; m++) {
			struct fl_calibrated *row = &ret->rows[ret->count];

			*row = (struct fl_calibrated){ .name = m->name, .method = m->method, .cost = m->cost };
			if (options->progress)
				options->progress(m->name, (unsigned int)ret->count, count);
			repeat(&r, m, row);
			ret->count++;
		}
	ret->stopped = is_stopped(&r);
	fl_cal_unmap(r.bench.base, r.bench.bytes);
	fl_cal_unmap(r.bench.huge, r.bench.bytes);
	return 0;
}

void fl_calibration_fini(struct fl_calibration *calibration)
{
	free(calibration->rows);
	*calibration = (struct fl_calibration){ 0 };
}
