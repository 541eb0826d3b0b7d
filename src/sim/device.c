/*
 * sim/device.c - block devices (see device.h).
 *
 * A request waits in a first-in first-out queue for one of the slots, spends its latency there, then passes the shared
 * channel in the order in which requests began. Model of the block layer in its effects only: no merging, no plugging,
 * no scheduler.
 */
#include "sim/device.h"

#include <string.h>

#include "base/hash.h"
#include "sim/platform.h"

struct request {
	struct fl_timer timer;
	struct fl_device *device;
	uint64_t bytes;
	bool is_write;
	fl_ns submitted;
	void (*done)(void *arg);
	void *arg;
	struct fl_task *waiter; /* of fl_device_io; cleared if the task is freed */
	struct request *next;   /* waiting, or free */
	struct request *all_next;
};

struct fl_device {
	struct fl_sim *sim;
	struct fl_device_model model;
	char name[32];
	unsigned int in_service, waiting;
	struct request *head, *tail; /* waiting for a slot */
	struct request *free, *all;
	fl_ns channel_free_at;
	fl_ns busy_since;
	struct fl_device_totals totals;
};

struct fl_device *fl_device_new(struct fl_sim *sim, const struct fl_device_model *model)
{
	struct fl_device *device = fl_host_alloc(sizeof(*device));
	size_t length = strlen(model->name);

	FL_ASSERT(model->parallel >= 1);
	device->sim = sim;
	device->model = *model;
	memcpy(device->name, model->name, length < sizeof(device->name) ? length : sizeof(device->name) - 1);
	device->model.name = device->name;
	return device;
}

void fl_device_free(struct fl_device *device)
{
	if (!device)
		return;
	while (device->all) {
		struct request *request = device->all;

		device->all = request->all_next;
		fl_timer_cancel(device->sim, &request->timer);
		if (request->waiter)
			request->waiter->io_waiter = NULL;
		fl_host_free(request);
	}
	fl_host_free(device);
}

void fl_device_set_model(struct fl_device *device, const struct fl_device_model *model)
{
	FL_ASSERT(model->parallel >= 1);
	device->model = *model;
	device->model.name = device->name;
}

static struct request *request_get(struct fl_device *device)
{
	struct request *request = device->free;

	if (request) {
		device->free = request->next;
		request->next = NULL;
		return request;
	}
	request = fl_host_alloc(sizeof(*request));
	request->device = device;
	request->all_next = device->all;
	device->all = request;
	return request;
}

static fl_ns transfer_ns(const struct fl_device *device, uint64_t bytes)
{
	uint64_t rate = device->model.bytes_per_s;

	if (rate == 0)
		return 0;
	return (fl_ns)(((unsigned __int128)bytes * FL_S_NS + rate - 1) / rate);
}

static void complete(struct fl_timer *timer, void *arg);

/* Gives the request a slot: its completion is known from here on. */
static void begin(struct fl_device *device, struct request *request)
{
	fl_ns now = fl_sim_now(device->sim);
	fl_ns at = now + (request->is_write ? device->model.write_latency_ns : device->model.read_latency_ns);

	if (at < device->channel_free_at)
		at = device->channel_free_at;
	at += transfer_ns(device, request->bytes);
	device->channel_free_at = at;
	if (device->in_service++ == 0)
		device->busy_since = now;
	fl_timer_set(device->sim, &request->timer, at, complete, request);
}

static void begin_waiting(struct fl_device *device)
{
	while (device->head && device->in_service < device->model.parallel) {
		struct request *request = device->head;

		device->head = request->next;
		if (!device->head)
			device->tail = NULL;
		request->next = NULL;
		device->waiting--;
		begin(device, request);
	}
}

static void count(struct fl_device *device, const struct request *request)
{
	struct fl_device_totals *totals = &device->totals;

	*(request->is_write ? &totals->writes : &totals->reads) += 1;
	*(request->is_write ? &totals->write_bytes : &totals->read_bytes) += request->bytes;
	totals->wait_ns += fl_sim_now(device->sim) - request->submitted;
}

static void complete(struct fl_timer *timer, void *arg)
{
	struct request *request = arg;
	struct fl_device *device = request->device;
	struct fl_task *waiter = request->waiter;
	void (*done)(void *) = request->done;
	void *done_arg = request->arg;

	count(device, request);
	if (--device->in_service == 0)
		device->totals.busy_ns += fl_sim_now(device->sim) - device->busy_since;
	begin_waiting(device);
	request->waiter = NULL;
	request->next = device->free;
	device->free = request;
	if (waiter) {
		waiter->io_waiter = NULL;
		fl_task_wake(waiter);
	} else if (done) {
		done(done_arg);
	}
}

static struct request *submit(struct fl_device *device, uint64_t bytes, bool write)
{
	struct request *request = request_get(device);

	request->bytes = bytes;
	request->is_write = write;
	request->submitted = fl_sim_now(device->sim);
	request->done = NULL;
	if (device->in_service < device->model.parallel) {
		begin(device, request);
		return request;
	}
	*(device->tail ? &device->tail->next : &device->head) = request;
	device->tail = request;
	device->waiting++;
	return request;
}

void fl_device_submit(struct fl_device *device, uint64_t bytes, bool write, void (*done)(void *arg), void *arg)
{
	struct request *request = submit(device, bytes, write);

	request->done = done;
	request->arg = arg;
}

/* models io_schedule(): nothing but the completion ends this sleep */
void fl_device_io(struct fl_device *device, struct fl_task *task, uint64_t bytes, bool write)
{
	struct fl_waitqueue nobody_wakes = {0};
	struct request *request;

	fl_task_settle(task);
	request = submit(device, bytes, write);
	request->waiter = task;
	task->io_waiter = &request->waiter;
	while (task->io_waiter)
		fl_wait(&nobody_wakes, task);
}

unsigned int fl_device_in_flight(const struct fl_device *device)
{
	return device->in_service + device->waiting;
}

const struct fl_device_model *fl_device_model(const struct fl_device *device)
{
	return &device->model;
}

struct fl_device_totals fl_device_totals(const struct fl_device *device)
{
	struct fl_device_totals totals = device->totals;

	if (device->in_service > 0)
		totals.busy_ns += fl_sim_now(device->sim) - device->busy_since;
	return totals;
}

uint64_t fl_device_hash(const struct fl_device *device, uint64_t hash)
{
	struct fl_device_totals totals = fl_device_totals(device);

	hash = fl_hash_u64(hash, (uint64_t)device->in_service << 32 | device->waiting);
	hash = fl_hash_u64(hash, device->channel_free_at);
	hash = fl_hash_u64(hash, totals.reads);
	hash = fl_hash_u64(hash, totals.writes);
	hash = fl_hash_u64(hash, totals.read_bytes);
	hash = fl_hash_u64(hash, totals.write_bytes);
	hash = fl_hash_u64(hash, totals.busy_ns);
	return fl_hash_u64(hash, totals.wait_ns);
}
