/*
 * live/agent_perf.c - accesses for a time or in passes, and what the CPU counted over them (perf_event_open, where the host has counters).
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/rng.h"
#include "live/wire.h"

#define DTLB_LOAD_MISSES \
	(PERF_COUNT_HW_CACHE_DTLB | PERF_COUNT_HW_CACHE_OP_READ << 8 | PERF_COUNT_HW_CACHE_RESULT_MISS << 16)

enum { CYCLES, DTLB, COUNTERS };

/* Of this thread. Counters are opened at the first access; -1 where there is none. */
static __thread struct {
	uint64_t accesses;
	int fd[COUNTERS];
	bool opened;
} perf;

static int open_counter(uint32_t type, uint64_t config)
{
	struct perf_event_attr attr = { .type = type, .size = sizeof(attr), .config = config, .disabled = 1,
					.exclude_kernel = 1, .exclude_hv = 1 };

	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 8 /* PERF_FLAG_FD_CLOEXEC */);
}

static void open_counters(void)
{
	if (perf.opened)
		return;
	perf.opened = true;
	perf.fd[CYCLES] = open_counter(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
	perf.fd[DTLB] = open_counter(PERF_TYPE_HW_CACHE, DTLB_LOAD_MISSES);
}

static void switch_counters(unsigned long request)
{
	for (int i = 0; i < COUNTERS; i++)
		if (perf.fd[i] >= 0)
			ioctl(perf.fd[i], request, 0);
}

struct passes {
	const struct fl_live_order *order;
	volatile char *start;
	uint64_t stride, end_ns; /* end_ns 0: as many passes as were asked for */
	uint32_t count, *places; /* places NULL: as `pattern` says */
	struct fl_rng rng;
};

/* Number of the i-th access of a pass, by the same law as in the model. */
static uint32_t place_of(struct passes *p, uint32_t i)
{
	uint32_t bits = 32 - (uint32_t)__builtin_clz(p->count), low, high;

	if (p->places)
		return p->places[i];
	if (p->order->pattern == FL_PATTERN_UNIFORM)
		return (uint32_t)fl_rng_below(&p->rng, p->count);
	if (p->order->pattern == FL_PATTERN_ORDER)
		return i;
	low = 1u << fl_rng_below(&p->rng, bits);
	high = 2 * low - 1 < p->count ? 2 * low - 1 : p->count;
	return low - 1 + (uint32_t)fl_rng_below(&p->rng, high - low + 1);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* One pass, or the part of it that the time allows; accesses done. */
static uint32_t pass(struct passes *p)
{
	bool read = p->order->flags & FL_OP_READ;
	uint32_t i = 0;

	for (; i < p->count; i++) {
		volatile char *at = p->start + place_of(p, i) * p->stride;

		if (p->end_ns && i % 64 == 0 && now_ns() >= p->end_ns)
			break;
		if (read)
			(void)*at;
		else
			*at = 1;
	}
	return i;
}

/* Passes until the time is over, or so many with a pause after each. */
static uint64_t all_passes(struct passes *p)
{
	const struct fl_live_order *o = p->order;
	struct timespec pause = { (time_t)(o->time_ns / 1000000000), (long)(o->time_ns % 1000000000) };
	uint64_t done = 0, n = 0;

	while (p->end_ns ? now_ns() < p->end_ns : n < o->count) {
		switch_counters(PERF_EVENT_IOC_ENABLE);
		done += pass(p);
		switch_counters(PERF_EVENT_IOC_DISABLE);
		n++;
		if (!p->end_ns && o->time_ns)
			nanosleep(&pause, NULL);
	}
	return done;
}

int64_t fl_live_agent_access(const struct fl_live_order *o)
{
	struct passes p = { .order = o, .start = (volatile char *)(uintptr_t)o->address,
			    .stride = o->stride ? o->stride : (uint64_t)sysconf(_SC_PAGESIZE),
			    .end_ns = o->count ? 0 : now_ns() + o->time_ns };
	uint64_t done;

	p.count = (uint32_t)((o->length + p.stride - 1) / p.stride);
	open_counters();
	fl_rng_init(&p.rng, o->draw, "access", 0);
	if (o->flags & FL_OP_RANDOM)
		p.places = fl_rng_shuffled(p.count, p.count, o->draw);
	done = all_passes(&p);
	free(p.places);
	perf.accesses += done;
	return (int64_t)done;
}

int64_t fl_live_agent_perf(const char *name)
{
	int which = !strcmp(name, "mcycles") ? CYCLES : DTLB;
	uint64_t value;

	if (!strcmp(name, "accesses"))
		return (int64_t)perf.accesses;
	open_counters();
	if (perf.fd[which] < 0 || read(perf.fd[which], &value, sizeof(value)) != (ssize_t)sizeof(value))
		return -ENODEV;
	return (int64_t)(which == CYCLES ? value * 1000 : value);
}
