/*
 * cli/pool.c - forking, collecting, interrupting.
 *
 * On the wire a child sends one letter and its message: 'R' and a record (base/record), or 'E' and a struct fl_error.
 * Signals are blocked except while the parent waits in ppoll(), so that none is missed between test and wait.
 */
#include "cli/pool.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/bug.h"

static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
enum { SIGNALS = sizeof(signals) / sizeof(signals[0]), TICK_MS = 250 };

static volatile sig_atomic_t interrupted;

static void note_signal(int number)
{
	interrupted = number;
}

struct child {
	pid_t pid;
	int fd;
	size_t index;
	struct fl_text message;
};

struct collector {
	const struct fl_pool *pool;
	struct fl_pool_outcome *outcomes;
	struct child *children;
	size_t children_count;
	size_t next, end, done, first;
	bool stopping; /* nothing more is started */
	sigset_t mask; /* while waiting */
	struct sigaction old[SIGNALS];
	struct timespec started;
	bool progress;
};

/* Blocks and catches the signals; the old state goes into the collector. */
static void catch_signals(struct collector *c)
{
	struct sigaction action = { .sa_handler = note_signal };
	sigset_t blocked;

	interrupted = 0;
	sigemptyset(&action.sa_mask);
	sigemptyset(&blocked);
	for (int i = 0; i < SIGNALS; i++)
		sigaddset(&blocked, signals[i]);
	sigprocmask(SIG_BLOCK, &blocked, &c->mask);
	for (int i = 0; i < SIGNALS; i++) {
		sigaction(signals[i], &action, &c->old[i]);
		/* nohup ignores SIGHUP, and that stays. SIGINT is ignored in jobs that a script put in the background;
		 * who sends it to one of them by hand means it. */
		if (signals[i] == SIGHUP && c->old[i].sa_handler == SIG_IGN)
			sigaction(signals[i], &c->old[i], NULL);
	}
}

static void restore_signals(struct collector *c)
{
	for (int i = 0; i < SIGNALS; i++)
		sigaction(signals[i], &c->old[i], NULL);
	sigprocmask(SIG_SETMASK, &c->mask, NULL);
}

static void send_all(int fd, const char *bytes, size_t length)
{
	while (length) {
		ssize_t n = write(fd, bytes, length);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			_exit(1); /* the parent is gone */
		bytes += n;
		length -= (size_t)n;
	}
}

static void __attribute__((noreturn)) child_main(struct collector *c, size_t index, int fd, pid_t parent)
{
	struct fl_record record;
	struct fl_error error = { .class = FL_ERROR_FAILED };
	struct fl_text message;
	int r;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	restore_signals(c);
	fl_record_init(&record);
	fl_text_init(&message);
	r = c->pool->work(c->pool->arg, index, &record, &error);
	if (r < 0) {
		fl_text_add_char(&message, 'E', 1);
		fl_text_add_bytes(&message, (const char *)&error, sizeof(error));
	} else {
		fl_text_add_char(&message, 'R', 1);
		fl_record_write(&record, &message);
	}
	send_all(fd, message.data, message.length);
	fflush(NULL);
	_exit(0);
}

static void fail(struct collector *c, size_t index, const char *what, int code)
{
	c->outcomes[index].state = FL_POOL_FAILED;
	fl_error_set(&c->outcomes[index].error, FL_ERROR_FAILED, -code, "%s: %s", what, strerror(code));
	c->done++;
}

static void start_one(struct collector *c)
{
	size_t index = c->next++;
	pid_t parent = getpid();
	struct child *child;
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0) {
		fail(c, index, "no pipe for the run could be made", errno);
		return;
	}
	fflush(NULL); /* or the child would print it again */
	child = &c->children[c->children_count];
	*child = (struct child){ .fd = fds[0], .index = index };
	child->pid = fork();
	if (child->pid == 0)
		child_main(c, index, fds[1], parent);
	close(fds[1]);
	if (child->pid < 0) {
		close(fds[0]);
		fail(c, index, "no process for the run could be made", errno);
		return;
	}
	fl_text_init(&child->message);
	c->outcomes[index].state = FL_POOL_RUNNING;
	c->children_count++;
}

static void parse_message(struct fl_pool_outcome *outcome, const struct fl_text *message, int status)
{
	outcome->state = FL_POOL_FAILED;
	if (message->length && message->data[0] == 'R' &&
	    fl_record_read(message->data + 1, message->length - 1, &outcome->record, &outcome->error) == 0) {
		outcome->state = FL_POOL_DONE;
	} else if (message->length == 1 + sizeof(outcome->error) && message->data[0] == 'E') {
		memcpy(&outcome->error, message->data + 1, sizeof(outcome->error));
		outcome->error.text[sizeof(outcome->error.text) - 1] = '\0';
	} else if (!message->length) {
		fl_error_set(&outcome->error, FL_ERROR_FAILED, -EPIPE,
			     "the process of the run ended with status %d and sent no record", WEXITSTATUS(status));
	}
}

static double seconds(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

/* The child's pipe is at its end: what has become of the run? */
static void reap(struct collector *c, struct child *child)
{
	struct fl_pool_outcome *outcome = &c->outcomes[child->index];
	struct rusage usage = { 0 };
	int status;

	close(child->fd);
	while (wait4(child->pid, &status, 0, &usage) < 0 && errno == EINTR)
		;
	/* Ctrl-C goes to the whole group: the child's end may be seen before our own signal is */
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGINT)
		interrupted = SIGINT;
	if (WIFSIGNALED(status)) {
		outcome->state = interrupted ? FL_POOL_WAITING : FL_POOL_LOST;
		outcome->signal = WTERMSIG(status);
	} else {
		parse_message(outcome, &child->message, status);
		outcome->record.cpu_s = seconds(usage.ru_utime) + seconds(usage.ru_stime);
		outcome->record.rss_max_bytes = (uint64_t)usage.ru_maxrss * 1024;
		if (outcome->state == FL_POOL_FAILED && outcome->error.class != FL_ERROR_FAILED)
			c->stopping = true;
	}
	fl_text_fini(&child->message);
	c->done += outcome->state != FL_POOL_WAITING;
	*child = c->children[--c->children_count];
}

/* Reads what is there; false at the end. */
static bool read_some(struct child *child)
{
	char buffer[65536];
	ssize_t n = read(child->fd, buffer, sizeof(buffer));

	if (n > 0)
		fl_text_add_bytes(&child->message, buffer, (size_t)n);
	return n > 0 || (n < 0 && errno == EINTR);
}

static void stop(struct collector *c)
{
	c->stopping = true;
	for (size_t i = 0; i < c->children_count; i++)
		kill(c->children[i].pid, SIGKILL);
}

static void show_progress(const struct collector *c)
{
	struct timespec now;

	if (!c->progress)
		return;
	clock_gettime(CLOCK_MONOTONIC, &now);
	fprintf(stderr, "\r%zu of %zu %s done, %zu running, %lld s\033[K", c->done, c->end - c->first, c->pool->noun,
		c->children_count, (long long)(now.tv_sec - c->started.tv_sec));
	fflush(stderr);
}

static void wait_for_children(struct collector *c)
{
	struct timespec tick = { 0, TICK_MS * 1000000L };
	struct pollfd *fds = fl_xcalloc(c->children_count, sizeof(*fds));
	int r;

	for (size_t i = 0; i < c->children_count; i++)
		fds[i] = (struct pollfd){ .fd = c->children[i].fd, .events = POLLIN };
	r = ppoll(fds, c->children_count, c->progress ? &tick : NULL, &c->mask);
	if (interrupted)
		stop(c);
	/* from the last one down, since reap() moves the last child into the gap */
	for (size_t i = c->children_count; r > 0 && i-- > 0;)
		if (fds[i].revents && !read_some(&c->children[i]))
			reap(c, &c->children[i]);
	free(fds);
}

int fl_pool_run(const struct fl_pool *pool, size_t first, size_t count, struct fl_pool_outcome *outcomes)
{
	struct collector c = { .pool = pool, .outcomes = outcomes, .next = first, .first = first, .end = first + count,
			       .progress = pool->progress && isatty(STDERR_FILENO) };

	FL_ASSERT(pool->jobs > 0);
	c.children = fl_xcalloc(pool->jobs, sizeof(*c.children));
	clock_gettime(CLOCK_MONOTONIC, &c.started);
	catch_signals(&c);
	while (c.children_count || (!c.stopping && c.next < c.end)) {
		while (!c.stopping && c.next < c.end && c.children_count < pool->jobs)
			start_one(&c);
		show_progress(&c);
		if (c.children_count)
			wait_for_children(&c);
	}
	if (c.progress)
		fprintf(stderr, "\r\033[K");
	restore_signals(&c);
	free(c.children);
	return interrupted ? -EINTR : 0;
}

void fl_pool_outcomes_free(struct fl_pool_outcome *outcomes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (outcomes[i].state == FL_POOL_DONE)
			fl_record_fini(&outcomes[i].record);
	free(outcomes);
}

size_t fl_pool_cpus(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) < 0)
		return 1;
	return (size_t)CPU_COUNT(&set);
}
