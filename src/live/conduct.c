/*
 * live/conduct.c - life of agents, and the loop that asks programs, sends orders and takes answers.
 *
 * An agent is asked when it is ready; then it is busy, asleep, waiting, paused or over. A process is over when it has been
 * reaped: the memory of a process that was told to exit is back before anybody who waited for it goes on.
 */
#include "live/conduct.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"
#include "live/setting.h"

#define DRAIN_NS 100000000

uint64_t fl_live_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* ---- states ---- */

void fl_live_set_state(struct fl_backend *vm, struct fl_live_agent *agent, enum fl_live_state state)
{
	vm->busy -= agent->state == FL_LIVE_BUSY || agent->state == FL_LIVE_ENDING;
	vm->sleeping -= agent->state == FL_LIVE_SLEEPING;
	vm->busy += state == FL_LIVE_BUSY || state == FL_LIVE_ENDING;
	vm->sleeping += state == FL_LIVE_SLEEPING;
	agent->state = state;
}

static void make_ready(struct fl_backend *vm, struct fl_live_agent *agent)
{
	fl_live_set_state(vm, agent, FL_LIVE_READY);
	agent->next_ready = NULL;
	if (vm->ready_last)
		vm->ready_last->next_ready = agent;
	else
		vm->ready_first = agent;
	vm->ready_last = agent;
}

void fl_live_complete(struct fl_backend *vm, struct fl_live_agent *agent, int64_t value)
{
	agent->outcome.value = value;
	make_ready(vm, agent);
}

void fl_live_refuse_op(struct fl_backend *vm, struct fl_live_agent *agent, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(agent->refusal, sizeof(agent->refusal), fmt, ap);
	va_end(ap);
	agent->outcome.refusal = agent->refusal;
	make_ready(vm, agent);
}

void fl_live_send(struct fl_backend *vm, struct fl_live_agent *agent, const struct fl_live_order *order, int attached)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control = { .space = { 0 } };
	struct iovec part = { (void *)(uintptr_t)order, sizeof(*order) };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

	if (attached >= 0) {
		control.header = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET,
						   .cmsg_type = SCM_RIGHTS };
		memcpy(CMSG_DATA(&control.header), &attached, sizeof(int));
		message.msg_control = &control;
		message.msg_controllen = sizeof(control);
	}
	sendmsg(agent->socket, &message, MSG_NOSIGNAL); /* if the process is gone, its hang-up is next */
	fl_live_set_state(vm, agent, order->verb == FL_VERB_EXIT ? FL_LIVE_ENDING : FL_LIVE_BUSY);
}

/* ---- birth ---- */

static struct fl_live_agent *new_agent(struct fl_backend *vm, struct fl_live_agent *parent,
				       const struct fl_program *program)
{
	struct fl_live_agent *agent = fl_xcalloc(1, sizeof(*agent));

	agent->parent = parent;
	agent->program = *program;
	agent->socket = -1;
	agent->state = FL_LIVE_PAUSED;
	if (!(vm->agents_count & (vm->agents_count - 1)))
		vm->agents = fl_xrealloc(vm->agents, (vm->agents_count ? 2 * vm->agents_count : 1) * sizeof(*vm->agents));
	vm->agents[vm->agents_count++] = agent;
	vm->alive++;
	if (parent)
		parent->children_alive++;
	return agent;
}

/* In the child: nothing of the conductor's stays open, and it dies with the conductor. */
static void __attribute__((noreturn)) become_agent(const struct fl_backend *vm, int socket, const char *name, pid_t conductor)
{
	int keep[] = { socket, vm->guardian.life };
	char title[16];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != conductor)
		_exit(1);
	snprintf(title, sizeof(title), "fl-%.12s", name);
	prctl(PR_SET_NAME, title);
	fl_live_close_others(keep, 2);
	fl_live_setting_write("", "proc/self/oom_score_adj", "1000", NULL);
	if (vm->group.version && !fl_live_group_join(&vm->group))
		_exit(1);
	fl_live_agent_main(socket);
}

static int watch_socket(struct fl_backend *vm, struct fl_live_agent *agent, int socket)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = agent };

	agent->socket = socket;
	return epoll_ctl(vm->epoll, EPOLL_CTL_ADD, socket, &event);
}

static int64_t add_agent_thing(struct fl_backend *vm, struct fl_live_agent *agent)
{
	return fl_live_thing_new(vm, &(struct fl_live_thing){ .kind = FL_LIVE_AGENT, .agent = agent });
}

static int64_t start_process(struct fl_backend *vm, struct fl_live_agent *parent, const struct fl_program *program,
			     const char *name)
{
	int sockets[2];
	struct fl_live_agent *agent;
	pid_t conductor = getpid(), pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
		return -errno;
	pid = fork();
	if (pid == 0)
		become_agent(vm, sockets[1], name, conductor);
	close(sockets[1]);
	if (pid < 0) {
		close(sockets[0]);
		return -ENOMEM;
	}
	agent = new_agent(vm, parent, program);
	agent->process = fl_xcalloc(1, sizeof(*agent->process));
	agent->process->pid = pid;
	agent->process->threads_alive = 1;
	snprintf(agent->process->name, sizeof(agent->process->name), "%s", name);
	watch_socket(vm, agent, sockets[0]);
	make_ready(vm, agent);
	return add_agent_thing(vm, agent);
}

/* The parent thread makes the new one; this side is ready when the parent has answered (fl_live_take_answer). */
static int64_t start_thread(struct fl_backend *vm, struct fl_live_agent *parent, const struct fl_program *program)
{
	struct fl_live_order order = { .verb = FL_VERB_THREAD };
	struct fl_live_agent *agent;
	int sockets[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
		return -errno;
	agent = new_agent(vm, parent, program);
	agent->is_thread = true;
	agent->process = parent->process;
	agent->process->threads_alive++;
	watch_socket(vm, agent, sockets[0]);
	fl_live_send(vm, parent, &order, sockets[1]);
	close(sockets[1]);
	make_ready(vm, agent);
	return add_agent_thing(vm, agent);
}

int64_t fl_live_agent_start(struct fl_backend *vm, struct fl_live_agent *parent, const struct fl_program *program,
			    const char *name, bool as_thread)
{
	int64_t handle = as_thread ? start_thread(vm, parent, program) : start_process(vm, parent, program, name);

	if (handle < 0)
		program->done(program->arg);
	return handle;
}

/* ---- death ---- */

static void close_socket(struct fl_live_agent *agent)
{
	if (agent->socket >= 0)
		close(agent->socket); /* leaves the epoll set too */
	agent->socket = -1;
}

/* Whoever waited for this agent may go on. 1: what it waited for died of lack of memory. */
static void wake_waiters(struct fl_backend *vm, const struct fl_live_agent *ended)
{
	for (uint32_t i = 0; i < vm->agents_count; i++) {
		struct fl_live_agent *a = vm->agents[i];

		if (a->state != FL_LIVE_WAITING)
			continue;
		if (a->target == ended)
			fl_live_complete(vm, a, ended->process->no_memory);
		else if (!a->target && a == ended->parent && !a->children_alive)
			fl_live_perform(vm, a); /* asks again: all have ended */
	}
}

static void mark_ended(struct fl_backend *vm, struct fl_live_agent *agent)
{
	if (agent->state == FL_LIVE_ENDED)
		return;
	fl_live_set_state(vm, agent, FL_LIVE_ENDED);
	if (agent->is_thread || !agent->process->pid)
		close_socket(agent); /* a first thread's stays: without it the agent would end, its other threads too */
	vm->alive--;
	if (agent->parent)
		agent->parent->children_alive--;
	if (agent == vm->agents[0])
		vm->main_ended = true;
	wake_waiters(vm, agent);
}

/* A fault that a real program dies of is the script's error: its body is told, and raises. */
static void report_crash(struct fl_backend *vm, struct fl_live_agent *agent, int signal)
{
	struct fl_op op = { 0 };

	snprintf(agent->refusal, sizeof(agent->refusal), "%s", signal == SIGBUS ?
		 "SIGBUS: behind the end of the file, or no memory for a page of it" : "SIGSEGV: this part is not mapped any more");
	agent->outcome = (struct fl_outcome){ .refusal = agent->refusal };
	if (!vm->stopped)
		agent->program.next(agent->program.arg, &agent->outcome, &op);
}

/* Nothing of the run ended it, nor lack of memory: what the run measures from here on is not what the scenario asks for. */
static void report_loss(struct fl_backend *vm, const struct fl_live_process *process, int status)
{
	if (vm->stopped || vm->error.class)
		return;
	if (WIFSIGNALED(status))
		fl_error_set(&vm->error, FL_ERROR_FAILED, -ECHILD, "process \"%s\" of the load was ended from outside by signal %d: what "
			     "it had yet to do is lost", process->name, WTERMSIG(status));
	else
		fl_error_set(&vm->error, FL_ERROR_FAILED, -ECHILD, "process \"%s\" of the load could not go on (its exit status is %d): "
			     "no memory of its own, or its cgroup cannot be joined", process->name, WEXITSTATUS(status));
}

/* Did a fault end it? A script's error, where it was touching memory at the time. */
static bool is_crash(const struct fl_live_process *process)
{
	return process->signal == SIGBUS || process->signal == SIGSEGV;
}

/* The process has gone, or is going: all its agents end. */
static void reap(struct fl_backend *vm, struct fl_live_process *process)
{
	int status = 0;
	bool is_told = false;

	if (!process->pid)
		return;
	while (waitpid(process->pid, &status, 0) < 0 && errno == EINTR)
		;
	process->pid = 0;
	process->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	process->no_memory = process->signal == SIGKILL && !process->killed;
	for (uint32_t i = 0; i < vm->agents_count; i++) {
		struct fl_live_agent *a = vm->agents[i];

		if (a->process != process || a->state == FL_LIVE_ENDED)
			continue;
		if (a->state == FL_LIVE_BUSY && is_crash(process)) {
			report_crash(vm, a, process->signal);
			is_told = true;
		}
		mark_ended(vm, a);
	}
	if (status && !is_told && !process->killed && !process->no_memory)
		report_loss(vm, process, status);
}

void fl_live_agent_kill(struct fl_live_agent *agent)
{
	agent->process->killed = true;
	if (agent->process->pid > 0)
		kill(agent->process->pid, SIGKILL);
}

/* Its program is over: the thread ends, or the process with its last one. A first thread stays, idle, for the others. */
static void end_program(struct fl_backend *vm, struct fl_live_agent *agent)
{
	struct fl_live_order order = { .verb = FL_VERBS };
	struct fl_live_process *process = agent->process;

	if (--process->threads_alive > 0) {
		if (agent->is_thread)
			fl_live_send(vm, agent, &order, -1);
		mark_ended(vm, agent);
		return;
	}
	order.verb = FL_VERB_EXIT;
	fl_live_send(vm, agent, &order, -1);
}

void fl_live_thread_failed(struct fl_backend *vm, struct fl_live_agent *agent)
{
	agent->process->threads_alive--;
	mark_ended(vm, agent);
}

/* ---- the loop ---- */

static void ask(struct fl_backend *vm, struct fl_live_agent *agent)
{
	const struct fl_outcome *outcome = agent->asked ? &agent->outcome : NULL;
	bool more;

	memset(&agent->op, 0, sizeof(agent->op));
	agent->asked = true;
	more = agent->program.next(agent->program.arg, outcome, &agent->op);
	agent->outcome = (struct fl_outcome){ 0 };
	if (vm->stopped)
		return;
	if (more)
		fl_live_perform(vm, agent);
	else
		end_program(vm, agent);
}

static void ask_all_ready(struct fl_backend *vm)
{
	struct fl_live_agent *agent;

	while (!vm->stopped && !vm->error.class && (agent = vm->ready_first)) {
		vm->ready_first = agent->next_ready;
		if (!vm->ready_first)
			vm->ready_last = NULL;
		if (agent->state == FL_LIVE_READY) /* it may have died since */
			ask(vm, agent);
	}
}

/* Wakes sleepers whose time has come; the earliest of the others, or UINT64_MAX. */
static uint64_t wake_sleepers(struct fl_backend *vm)
{
	uint64_t now = fl_live_now_ns(), next = UINT64_MAX;

	for (uint32_t i = 0; vm->sleeping && i < vm->agents_count; i++) {
		struct fl_live_agent *a = vm->agents[i];

		if (a->state != FL_LIVE_SLEEPING)
			continue;
		if (a->wake_ns <= now)
			fl_live_complete(vm, a, 0);
		else if (a->wake_ns < next)
			next = a->wake_ns;
	}
	return next;
}

static void hear_agent(struct fl_backend *vm, struct fl_live_agent *agent)
{
	struct fl_live_answer answer;
	ssize_t n = agent->socket < 0 ? -1 : recv(agent->socket, &answer, sizeof(answer), MSG_DONTWAIT);

	if (n == (ssize_t)sizeof(answer)) {
		if (agent->state == FL_LIVE_BUSY)
			fl_live_take_answer(vm, agent, &answer);
	} else if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
		/* a thread's socket closes with its process: that is heard on the first thread's */
		if (!agent->is_thread || agent->state == FL_LIVE_ENDING)
			reap(vm, agent->process);
		close_socket(agent);
	}
}

static void hear_guardian(struct fl_backend *vm)
{
	char said = fl_live_guardian_heard(&vm->guardian);

	if (said == FL_LIVE_SAID_DROPPED)
		fl_text_add(&vm->record->log, "the host ran low on memory: the ballast was dropped%s%s\n", vm->phase[0] ? " after " : "",
			    vm->phase);
	else if (said == FL_LIVE_SAID_NOTHING_MORE)
		fl_error_set(&vm->error, FL_ERROR_FAILED, -EPIPE, "the guardian process was ended by somebody: the load was ended, and "
			     "what it had changed was put back");
	else if (said == FL_LIVE_SAID_CRITICAL)
		fl_error_set(&vm->error, FL_ERROR_FAILED, -ENOMEM, "the host ran out of memory (less than %llu MiB available): the load "
			     "was ended; a smaller --scale, or --force on a machine of its own",
			     (unsigned long long)(vm->budget.critical >> 20));
}

static void hear(struct fl_backend *vm, uint64_t until_ns)
{
	struct epoll_event events[64];
	uint64_t now = fl_live_now_ns(), wait = until_ns > now ? until_ns - now : 0;
	struct timespec t;
	int n;

	if (vm->sampler.events && wait > DRAIN_NS)
		wait = DRAIN_NS;
	t = (struct timespec){ (time_t)(wait / 1000000000), (long)(wait % 1000000000) };
	n = epoll_pwait2(vm->epoll, events, 64, until_ns == UINT64_MAX && !vm->sampler.events ? NULL : &t, NULL);
	for (int i = 0; i < n; i++) {
		if (events[i].data.ptr)
			hear_agent(vm, events[i].data.ptr);
		else
			hear_guardian(vm);
	}
}

/* Will nobody ever be ready again? Then says so. A process that was killed is still to be heard of. */
static bool is_stuck(struct fl_backend *vm)
{
	if (vm->busy || vm->sleeping)
		return false;
	for (uint32_t i = 0; i < vm->agents_count; i++)
		if (vm->agents[i]->process->killed && vm->agents[i]->process->pid)
			return false;
	fl_error_input(&vm->error, "the scenario stands still: every process waits for another one");
	return true;
}

void fl_live_conduct(struct fl_backend *vm)
{
	uint64_t drained = 0;

	while (!vm->main_ended && !vm->stopped && !vm->error.class) {
		uint64_t next = wake_sleepers(vm), now;

		ask_all_ready(vm);
		if (vm->main_ended || vm->stopped || vm->error.class)
			break;
		if (vm->sleeping)
			next = wake_sleepers(vm);
		if (vm->ready_first)
			continue;
		if (is_stuck(vm))
			break;
		hear(vm, next);
		now = fl_live_now_ns();
		if (vm->sampler.events && now - drained > DRAIN_NS) {
			fl_live_events_drain(vm->sampler.events);
			drained = now;
		}
	}
}

void fl_live_agents_free(struct fl_backend *vm)
{
	for (uint32_t i = 0; i < vm->agents_count; i++)
		if (!vm->agents[i]->is_thread && vm->agents[i]->process->pid)
			fl_live_agent_kill(vm->agents[i]);
	for (uint32_t i = 0; i < vm->agents_count; i++) {
		struct fl_live_agent *a = vm->agents[i];

		close_socket(a);
		while (a->process->pid && waitpid(a->process->pid, NULL, 0) < 0 && errno == EINTR)
			;
		a->process->pid = 0;
		a->program.done(a->program.arg);
	}
	for (uint32_t i = 0; i < vm->agents_count; i++)
		if (!vm->agents[i]->is_thread)
			free(vm->agents[i]->process);
	for (uint32_t i = 0; i < vm->agents_count; i++)
		free(vm->agents[i]);
	free(vm->agents);
	vm->agents = NULL;
	vm->agents_count = 0;
}
