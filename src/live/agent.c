/*
 * live/agent.c - the process that stands for a process of the scenario: a thread for each of its threads, each serving the
 * orders that come down its own socket.
 *
 * It has no state of the scenario but its channels. It ends on order, with its sockets (the conductor's end closes when that
 * dies), or by PDEATHSIG: nothing survives the conductor.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"
#include "live/setting.h"
#include "live/wire.h"

#define SPIN 20000 /* steps between two looks at the clock */
#define STACK_BYTES (256u << 10)

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* User time of this thread. */
static void compute(uint64_t ns)
{
	uint64_t end = cpu_ns() + ns;
	volatile unsigned int x = 1;

	while (cpu_ns() < end)
		for (unsigned int i = 0; i < SPIN; i++)
			x = x * 1664525 + 1013904223;
}

/* A file of /proc or /sys: the write does the work, so it is done here and not by the conductor. */
static void write_knob(const struct fl_live_order *order, struct fl_live_answer *answer)
{
	struct fl_error error;

	if (fl_live_setting_write("", order->path, order->text, &error))
		snprintf(answer->refusal, sizeof(answer->refusal), "%.127s", error.text);
}

static void *thread_main(void *arg);

/* The socket came with the order. */
static int64_t start_thread(int socket)
{
	pthread_attr_t attributes;
	pthread_t thread;
	int error;

	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	error = pthread_create(&thread, &attributes, thread_main, (void *)(intptr_t)socket);
	pthread_attr_destroy(&attributes);
	if (error)
		close(socket);
	return -error;
}

static void perform(const struct fl_live_order *order, int attached, struct fl_live_answer *answer)
{
	memset(answer, 0, sizeof(*answer));
	switch (order->verb) {
	case FL_VERB_EXIT:
		_exit(0);
	case FL_VERB_THREAD:
		answer->value = start_thread(attached);
		break;
	case FL_VERB_COMPUTE:
		compute(order->time_ns);
		break;
	case FL_VERB_YIELD:
		sched_yield();
		break;
	case FL_VERB_SET:
	case FL_VERB_COMPACT:
	case FL_VERB_DROP_CACHES:
		write_knob(order, answer);
		break;
	case FL_VERB_PERF:
		answer->value = fl_live_agent_perf(order->path);
		break;
	default:
		if (order->verb >= FL_VERB_MAP && order->verb <= FL_VERB_RESIDENT)
			fl_live_agent_memory(order, answer);
		else
			fl_live_agent_files(order, answer);
	}
}

/* One order and the descriptor that may be with it (-1); false at the end. */
static bool receive(int socket, struct fl_live_order *order, int *ret_attached)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec part = { order, sizeof(*order) };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control,
				  .msg_controllen = sizeof(control) };
	const struct cmsghdr *header;
	ssize_t n;

	do
		n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	*ret_attached = -1;
	header = CMSG_FIRSTHDR(&message);
	if (n > 0 && header && header->cmsg_type == SCM_RIGHTS)
		memcpy(ret_attached, CMSG_DATA(header), sizeof(int));
	return n == (ssize_t)sizeof(*order);
}

/* Serves until the order to end; false: the conductor is gone. */
static bool serve(int socket)
{
	struct fl_live_order order;
	struct fl_live_answer answer;
	int attached;

	while (receive(socket, &order, &attached)) {
		if (order.verb == FL_VERBS)
			return true;
		perform(&order, attached, &answer);
		if (send(socket, &answer, sizeof(answer), MSG_NOSIGNAL) < 0)
			return false;
	}
	return false;
}

static void *thread_main(void *arg)
{
	int socket = (int)(intptr_t)arg;

	prctl(PR_SET_TIMERSLACK, 1);
	if (!serve(socket))
		_exit(1);
	close(socket);
	return NULL;
}

void fl_live_agent_main(int socket)
{
	prctl(PR_SET_TIMERSLACK, 1);
	fl_live_agent_warm_up();
	serve(socket);
	_exit(0);
}
