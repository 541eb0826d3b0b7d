/*
 * calibrate/order.c - first touches of sizes between the base page and the PMD's. No cost of the table is one of these: they
 * show how near to it a fault made of its parts comes.
 *
 * Such a size must be on by advice. Where it is off it is switched on meanwhile, which is the only setting of the host that a
 * calibration changes: a child in a session of its own, told before, writes the old value back when the pipe to it closes, so
 * also when this process is killed. The lock of live runs is held, so nobody else has the setting under way.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "calibrate/bench.h"

#define SIZES "/sys/kernel/mm/transparent_hugepage/hugepages-%ukB/%s"
#define LOCK "\0fraglab-live"
#define PART (1u << 20) /* of each 2 MiB that is advised: no huge page of the PMD's size fits */

/* ---- the setting ---- */

struct guard {
	int pipe, lock;
	pid_t keeper;
};

/* The word in brackets, or false. */
static bool read_word(const char *path, char word[16])
{
	char line[128] = "", *open_at, *close_at;
	FILE *file = fopen(path, "re");
	bool read_it = file && fgets(line, sizeof(line), file);

	if (file)
		fclose(file);
	open_at = strchr(line, '[');
	close_at = open_at ? strchr(open_at, ']') : NULL;
	if (!read_it || !close_at || close_at - open_at > 15)
		return false;
	*close_at = '\0';
	snprintf(word, 16, "%s", open_at + 1);
	return true;
}

static bool write_word(const char *path, const char *word)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool done = fd >= 0 && write(fd, word, strlen(word)) == (ssize_t)strlen(word);

	if (fd >= 0)
		close(fd);
	return done;
}

/* -1: somebody has it, and had it for five seconds once. */
static int take_lock(struct fl_cal_bench *b)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	memcpy(address.sun_path, LOCK, sizeof(LOCK) - 1);
	for (int tries = b->is_host_taken ? 99 : 0; fd >= 0 && tries < 100; tries++) {
		if (bind(fd, (const struct sockaddr *)&address, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + sizeof(LOCK) - 1)) == 0)
			return fd;
		usleep(50000);
	}
	b->is_host_taken = true;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* In the child: waits until nobody has the other end. */
static void keep(int from, const char *path, const char *old)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGPIPE };
	char byte;

	setsid();
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		signal(signals[i], SIG_IGN);
	while (read(from, &byte, 1) < 0 && errno == EINTR)
		;
	_exit(!write_word(path, old));
}

static void end_guard(struct guard *g)
{
	close(g->pipe);
	while (g->keeper > 0 && waitpid(g->keeper, NULL, 0) < 0 && errno == EINTR)
		;
	close(g->lock);
}

static bool start_guard(struct fl_cal_bench *b, struct guard *g, const char *path, const char *old)
{
	int ends[2];

	g->lock = take_lock(b);
	if (g->lock < 0)
		return fl_cal_cannot(b, "another fraglab has a live run on this host");
	if (pipe2(ends, O_CLOEXEC)) {
		close(g->lock);
		return fl_cal_cannot(b, "pipe: %s", strerror(errno));
	}
	g->keeper = fork();
	if (g->keeper == 0) {
		close(ends[1]);
		keep(ends[0], path, old);
	}
	close(ends[0]);
	g->pipe = ends[1];
	if (g->keeper > 0)
		return true;
	fl_cal_cannot(b, "fork: %s", strerror(errno));
	end_guard(g);
	return false;
}

/* ---- the faults ---- */

static uint64_t faults_of(unsigned int kb)
{
	char path[128], line[32] = "";
	FILE *file;

	snprintf(path, sizeof(path), SIZES, kb, "stats/anon_fault_alloc");
	file = fopen(path, "re");
	if (file && !fgets(line, sizeof(line), file))
		line[0] = '\0';
	if (file)
		fclose(file);
	return strtoull(line, NULL, 10);
}

static bool touch_parts(struct fl_cal_bench *b, unsigned int kb, double *ret_ns)
{
	const size_t bytes = 16 * (size_t)FL_CAL_HUGE;
	const uint64_t wanted = bytes / FL_CAL_HUGE * (PART / (kb << 10));
	char *area = fl_cal_map(b, bytes);
	uint64_t before = faults_of(kb), n;
	double start;

	if (!area)
		return false;
	for (size_t at = 0; at < bytes; at += FL_CAL_HUGE)
		madvise(area + at, PART, MADV_HUGEPAGE);
	start = fl_cal_now();
	for (size_t at = 0; at < bytes; at += FL_CAL_HUGE)
		for (size_t in = 0; in < PART; in += kb << 10)
			((volatile char *)area)[at + in] = 1;
	*ret_ns = (fl_cal_now() - start) / (double)wanted;
	n = faults_of(kb) - before;
	fl_cal_unmap(area, bytes);
	return n >= wanted ? true :
			     fl_cal_cannot(b, "only %llu of %llu faults gave %u kB", (unsigned long long)n,
					   (unsigned long long)wanted, kb);
}

static bool measure_order(struct fl_cal_bench *b, unsigned int kb, double *ret_ns)
{
	struct guard guard = { -1, -1, -1 };
	char path[128], old[16];
	bool done;

	snprintf(path, sizeof(path), SIZES, kb, "enabled");
	if (!read_word(path, old))
		return fl_cal_cannot(b, "there are no sizes of huge pages below the PMD's");
	if (!strcmp(old, "madvise") || !strcmp(old, "always"))
		return touch_parts(b, kb, ret_ns);
	if (access(path, W_OK))
		return fl_cal_cannot(b, "this size is %s, and only root can switch it on meanwhile", old);
	if (!start_guard(b, &guard, path, old))
		return false;
	done = write_word(path, "madvise") ? touch_parts(b, kb, ret_ns) : fl_cal_cannot(b, "%s: %s", path, strerror(errno));
	end_guard(&guard);
	return done;
}

#define MEASURE(kb) \
	static bool measure_##kb(struct fl_cal_bench *b, double *ret_ns) \
	{ \
		return measure_order(b, kb, ret_ns); \
	}
MEASURE(16)
MEASURE(64)
MEASURE(256)
MEASURE(1024)

const struct fl_cal_measurement fl_cal_order[] = {
	{ "fault_16kB", "first touch of a folio of 16 kB", NULL, measure_16, { { 0 } } },
	{ "fault_64kB", "first touch of a folio of 64 kB", NULL, measure_64, { { 0 } } },
	{ "fault_256kB", "first touch of a folio of 256 kB", NULL, measure_256, { { 0 } } },
	{ "fault_1024kB", "first touch of a folio of 1 MB", NULL, measure_1024, { { 0 } } },
	{ 0 },
};
