/*
 * sim/device.h - block devices: a queue, a latency, a throughput.
 *
 * A request takes latency_ns in one of `parallel` slots plus its bytes through one shared channel of bytes_per_s
 * (0: infinitely fast). Requests start in the order of submission. What capacity_bytes means is up to the caller (swap
 * slots, files): here it is data.
 */
#ifndef FL_SIM_DEVICE_H
#define FL_SIM_DEVICE_H

#include "sim/sim.h"

struct fl_device_model {
	const char *name;
	uint32_t read_latency_ns, write_latency_ns;
	uint64_t bytes_per_s;
	uint32_t parallel; /* requests under way at once, at least 1 */
	uint64_t capacity_bytes;
};

struct fl_device_totals {
	uint64_t reads, writes, read_bytes, write_bytes;
	uint64_t busy_ns; /* time with at least one request under way, up to now */
	uint64_t wait_ns; /* sum over completed requests of the time from submission to completion */
};

struct fl_device;

/* The model is copied (the name too). */
struct fl_device *fl_device_new(struct fl_sim *sim, const struct fl_device_model *model);
/* Requests under way are forgotten: their callbacks are not called. Before fl_sim_free. */
void fl_device_free(struct fl_device *device);

/* Queues a request; done(arg) runs on the main stack when it completes (may be NULL). Never blocks. */
void fl_device_submit(struct fl_device *device, uint64_t bytes, bool write, void (*done)(void *arg), void *arg);
/* Submits at the task's own instant and sleeps until completion. */
void fl_device_io(struct fl_device *device, struct fl_task *task, uint64_t bytes, bool write);

/* Another model from now on (its name stays); requests that have a slot keep the time that they were given. */
void fl_device_set_model(struct fl_device *device, const struct fl_device_model *model);

/* Requests submitted and not complete. */
unsigned int fl_device_in_flight(const struct fl_device *device);
const struct fl_device_model *fl_device_model(const struct fl_device *device);
struct fl_device_totals fl_device_totals(const struct fl_device *device);
uint64_t fl_device_hash(const struct fl_device *device, uint64_t hash);

#endif
