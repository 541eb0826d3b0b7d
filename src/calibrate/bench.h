/*
 * calibrate/bench.h - what measurements share: the clock, warm memory, and their table. Private to this room.
 *
 * The clock is the CPU time of the thread, so other load on the host costs little more than its caches.
 */
#ifndef FL_CALIBRATE_BENCH_H
#define FL_CALIBRATE_BENCH_H

#include "calibrate/calibrate.h"

#define FL_CAL_PAGE 4096u
#define FL_CAL_HUGE (2u << 20)
#define FL_CAL_LESS_MAX 8

struct fl_cal_bench {
	char *base, *huge;   /* warm areas of `bytes`: of base pages, and of 2 MiB pages (NULL: none to be had) */
	size_t bytes;
	const char *folder;
	uint64_t random;
	bool is_host_taken;  /* somebody had the lock of live runs for long: not waited for again */
	char why_not[200];   /* set by a measurement that returns false */
};

struct fl_cal_less {
	unsigned int times;
	const char *name;    /* a cost; "@NAME": a measurement */
};

struct fl_cal_measurement {
	const char *name, *method, *cost;
	/* One repetition. False: it cannot be made here; why_not says why. */
	bool (*measure)(struct fl_cal_bench *b, double *ret_ns);
	struct fl_cal_less less[FL_CAL_LESS_MAX]; /* ends with name NULL */
};

/* Tables of the files; they end with name NULL. They are measured in this order. */
extern const struct fl_cal_measurement fl_cal_memory[], fl_cal_order[], fl_cal_process[], fl_cal_file[], fl_cal_compaction[];

/* CPU time of this thread in ns. */
double fl_cal_now(void);
/* 0 .. below-1 */
uint32_t fl_cal_random(struct fl_cal_bench *b, uint32_t below);
/* Says why a measurement cannot be made; returns false. */
bool fl_cal_cannot(struct fl_cal_bench *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A mapping of base pages that is not touched, aligned to 2 MiB; NULL with why_not. Unmap with fl_cal_unmap. */
char *fl_cal_map(struct fl_cal_bench *b, size_t bytes);
void fl_cal_unmap(char *area, size_t bytes);
/* A counter of /proc/vmstat; false: there is none. */
bool fl_cal_vmstat(const char *name, uint64_t *ret);

#endif
