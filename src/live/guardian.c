/*
 * live/guardian.c - the guardian process and how it is talked to.
 *
 * On the pipe: one struct fl_live_noted for each thing. Settings are written back in reverse order, vm.min_free_kbytes behind all others,
 * and only where the value differs: a write of an equal value can have consequences too.
 */
#include "live/guardian.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"
#include "live/events.h"
#include "live/setting.h"

#define TICK_MS 100
#define LIFE_WAIT_MS 10000
#define STALL_NS UINT64_C(500000000) /* all tasks stood still for half a second of one: the host is in trouble */

struct fl_live_noted {
	char what;
	char path[FL_LIVE_SETTING_PATH_MAX + 96], value[FL_LIVE_SETTING_VALUE_MAX];
};

struct keeper {
	int from, to, life;
	const struct fl_live_budget *budget;
	bool watch, said_critical;
	struct fl_live_noted *notes;
	size_t count;
	int ballast; /* pidfd; -1: none */
	uint64_t stalled_ns;
	unsigned int ticks;
	pid_t conductor;
};

void fl_live_close_others(const int *keep, size_t count)
{
	unsigned int from = 3;

	for (;;) {
		unsigned int next = ~0u;

		for (size_t i = 0; i < count; i++)
			if (keep[i] >= (int)from && (unsigned int)keep[i] < next)
				next = (unsigned int)keep[i];
		if (next == ~0u)
			break;
		if (next > from)
			syscall(SYS_close_range, from, next - 1, 0);
		from = next + 1;
	}
	syscall(SYS_close_range, from, ~0u, 0);
}

/* ---- undoing ---- */

static void restore_setting(const struct fl_live_noted *note)
{
	char now[FL_LIVE_SETTING_VALUE_MAX];

	if (fl_live_setting_read("", note->path, now, NULL) == 0 && strcmp(now, note->value))
		fl_live_setting_write("", note->path, note->value, NULL);
}

static bool is_min_free(const struct fl_live_noted *note)
{
	return !strcmp(note->path, "proc/sys/vm/min_free_kbytes");
}

/* The first note of a file holds what was before us: going backwards, it is the last one written. */
static void restore_settings(const struct keeper *k)
{
	for (int last = 0; last <= 1; last++)
		for (size_t i = k->count; i-- > 0;)
			if (k->notes[i].what == FL_LIVE_NOTE_SETTING && is_min_free(&k->notes[i]) == (last == 1))
				restore_setting(&k->notes[i]);
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *at)
{
	(void)status;
	(void)at;
	if (kind == FTW_DP || kind == FTW_D)
		rmdir(path);
	else
		unlink(path);
	return 0;
}

static bool is_ours(const char *path)
{
	const char *last = strrchr(path, '/');

	return last && !strncmp(last + 1, FL_LIVE_NAME, strlen(FL_LIVE_NAME));
}

static void remove_group(const char *path)
{
	for (int tries = 0; rmdir(path) < 0 && errno == EBUSY && tries < 100; tries++) {
		fl_live_group_kill(path);
		usleep(20000);
	}
}

static void remove_things(const struct keeper *k)
{
	for (size_t i = k->count; i-- > 0;) {
		const struct fl_live_noted *note = &k->notes[i];

		if (note->what == FL_LIVE_NOTE_FOLDER && is_ours(note->path)) {
			umount2(note->path, MNT_DETACH | UMOUNT_NOFOLLOW); /* if its tmpfs reached this namespace too */
			nftw(note->path, remove_entry, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
		}
		else if (note->what == FL_LIVE_NOTE_GROUP && is_ours(note->path))
			remove_group(note->path);
		else if (note->what == FL_LIVE_NOTE_EVENTS)
			fl_live_events_remove_left();
	}
}

static bool drop_ballast(struct keeper *k)
{
	if (k->ballast < 0)
		return false;
	syscall(SYS_pidfd_send_signal, k->ballast, SIGKILL, NULL, 0);
	close(k->ballast);
	k->ballast = -1;
	return true;
}

/* Waits until every process of the run has closed the life pipe; kills what is left in the cgroup after a second. */
static void await_ends(const struct keeper *k)
{
	struct pollfd fd = { .fd = k->life, .events = POLLIN };

	for (int waited = 0; waited < LIFE_WAIT_MS; waited += TICK_MS) {
		char byte;

		if (poll(&fd, 1, TICK_MS) > 0 && read(k->life, &byte, 1) == 0)
			return;
		if (waited < 1000)
			continue;
		for (size_t i = 0; i < k->count; i++)
			if (k->notes[i].what == FL_LIVE_NOTE_GROUP && is_ours(k->notes[i].path))
				fl_live_group_kill(k->notes[i].path);
	}
}

/* ---- watching ---- */

static void say(const struct keeper *k, char what)
{
	ssize_t n = write(k->to, &what, 1); /* nobody may be listening any more */

	(void)n;
}

/* Memory at each tick, stalls once a second. */
static void look_at_host(struct keeper *k)
{
	uint64_t available = fl_live_available(""), stalled;
	bool low = available < k->budget->low;

	if (k->ballast >= 0 && k->ticks++ % (1000 / TICK_MS) == 0) {
		stalled = fl_live_stalled_ns("");
		low |= k->stalled_ns && stalled - k->stalled_ns > STALL_NS;
		k->stalled_ns = stalled;
	}
	if (low && drop_ballast(k)) {
		say(k, FL_LIVE_SAID_DROPPED);
		return;
	}
	if (!k->watch || available >= k->budget->critical)
		return;
	if (!k->said_critical)
		say(k, FL_LIVE_SAID_CRITICAL);
	k->said_critical = true;
	if (available < k->budget->critical / 2 && getppid() == k->conductor)
		kill(k->conductor, SIGKILL); /* it does not get to it any more; its agents die with it */
}

/* ---- the process ---- */

static void take_note(struct keeper *k, const struct fl_live_noted *note)
{
	k->notes = fl_xrealloc(k->notes, (k->count + 1) * sizeof(*k->notes));
	k->notes[k->count++] = *note;
	if (note->what == FL_LIVE_NOTE_BALLAST)
		k->ballast = (int)syscall(SYS_pidfd_open, strtol(note->value, NULL, 10), 0);
}

/* A note, whole; false at the end of the pipe. */
static bool read_note(const struct keeper *k, struct fl_live_noted *ret)
{
	size_t got = 0;

	while (got < sizeof(*ret)) {
		ssize_t n = read(k->from, (char *)ret + got, sizeof(*ret) - got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		got += (size_t)n;
	}
	return true;
}

static void settle_in(const struct keeper *k, int lock)
{
	int keep[] = { k->from, k->to, k->life, lock }, null;
	static const int ignored[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGTSTP, SIGUSR1, SIGUSR2, SIGALRM };

	prctl(PR_SET_PDEATHSIG, 0);
	prctl(PR_SET_NAME, "fl-guardian");
	setsid();
	for (size_t i = 0; i < sizeof(ignored) / sizeof(*ignored); i++)
		signal(ignored[i], SIG_IGN);
	fl_live_close_others(keep, 4);
	null = open("/dev/null", O_RDWR);
	for (int fd = 0; fd <= 2 && null >= 0; fd++)
		dup2(null, fd);
	if (null > 2)
		close(null);
	if (chdir("/") < 0)
		return; /* then it stays where it is */
	fl_live_setting_write("", "proc/self/oom_score_adj", "-1000", NULL);
}

static void __attribute__((noreturn)) guardian_main(struct keeper *k, int lock)
{
	struct pollfd fd = { .fd = k->from, .events = POLLIN };
	struct fl_live_noted note;

	settle_in(k, lock);
	for (;;) {
		if (poll(&fd, 1, TICK_MS) > 0) {
			if (!read_note(k, &note))
				break;
			take_note(k, &note);
		}
		look_at_host(k);
	}
	drop_ballast(k);
	restore_settings(k);
	await_ends(k);
	remove_things(k);
	_exit(0);
}

/* ---- the host's lock ---- */

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int fl_live_lock_try(int wait_ms, int *ret_fd, struct fl_error *reterr)
{
	static const char name[] = "\0fraglab-live"; /* abstract: no file, gone with its last holder */
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + sizeof(name) - 1);
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int64_t end = now_ms() + wait_ms;

	if (fd < 0)
		return fl_error_set(reterr, FL_ERROR_LACKING, -errno, "no socket can be made: %s", strerror(errno));
	memcpy(address.sun_path, name, sizeof(name) - 1);
	while (bind(fd, (const struct sockaddr *)&address, length) < 0) {
		int code = errno;

		if (code == EADDRINUSE && now_ms() < end) {
			usleep(20000);
			continue;
		}
		close(fd);
		return fl_error_set(reterr, FL_ERROR_FAILED, code == EADDRINUSE ? -ETIMEDOUT : -code,
				    "another fraglab has a live run on this host; one at a time, since each changes its settings");
	}
	*ret_fd = fd;
	return 0;
}

/* ---- the conductor's side ---- */

int fl_live_guardian_start(struct fl_live_guardian *g, const struct fl_live_budget *budget, bool watch, int wait_ms,
			   struct fl_error *reterr)
{
	int to[2], from[2], life[2], error;

	*g = (struct fl_live_guardian){ .to = -1, .from = -1, .life = -1, .lock = -1 };
	error = fl_live_lock_try(wait_ms, &g->lock, reterr);
	if (error)
		return error;
	if (pipe2(to, O_CLOEXEC) < 0 || pipe2(from, O_CLOEXEC | O_NONBLOCK) < 0 || pipe2(life, O_CLOEXEC) < 0)
		return fl_error_set(reterr, FL_ERROR_FAILED, -errno, "no pipe can be made: %s", strerror(errno));
	g->pid = fork();
	if (g->pid < 0)
		return fl_error_set(reterr, FL_ERROR_FAILED, -errno, "no process can be made: %s", strerror(errno));
	if (g->pid == 0) {
		struct keeper k = { .from = to[0], .to = from[1], .life = life[0], .budget = budget, .watch = watch,
				    .ballast = -1, .conductor = getppid() };

		close(to[1]);
		close(life[1]);
		guardian_main(&k, g->lock);
	}
	close(to[0]);
	close(from[1]);
	close(life[0]);
	g->to = to[1];
	g->from = from[0];
	g->life = life[1];
	return 0;
}

int fl_live_guardian_note(struct fl_live_guardian *g, enum fl_live_note what, const char *path, const char *value,
			  struct fl_error *reterr)
{
	struct fl_live_noted note = { .what = (char)what };

	snprintf(note.path, sizeof(note.path), "%s", path);
	snprintf(note.value, sizeof(note.value), "%s", value);
	g->notes = fl_xrealloc(g->notes, (g->count + 1) * sizeof(*g->notes));
	g->notes[g->count++] = note;
	if (write(g->to, &note, sizeof(note)) == (ssize_t)sizeof(note)) /* below PIPE_BUF: whole or not at all */
		return 0;
	return fl_error_set(reterr, FL_ERROR_FAILED, -EPIPE, "the guardian process is gone; nothing is changed without it");
}

char fl_live_guardian_heard(struct fl_live_guardian *g)
{
	char what;
	ssize_t n = g->from >= 0 ? read(g->from, &what, 1) : -1;

	return n == 1 ? what : n == 0 ? FL_LIVE_SAID_NOTHING_MORE : 0;
}

/* The guardian did not end as it should. */
static void undo_myself(const struct fl_live_guardian *g)
{
	struct keeper k = { .notes = g->notes, .count = g->count, .ballast = -1 };

	restore_settings(&k);
	remove_things(&k);
}

void fl_live_guardian_end(struct fl_live_guardian *g)
{
	int *fds[] = { &g->to, &g->from, &g->life, &g->lock }, status = 0;

	for (size_t i = 0; i < 3; i++) {
		if (*fds[i] >= 0)
			close(*fds[i]);
		*fds[i] = -1;
	}
	while (g->pid > 0 && waitpid(g->pid, &status, 0) < 0 && errno == EINTR)
		;
	if (g->pid > 0 && (!WIFEXITED(status) || WEXITSTATUS(status)))
		undo_myself(g);
	if (g->lock >= 0)
		close(g->lock);
	g->lock = -1;
	g->pid = 0;
	free(g->notes);
	g->notes = NULL;
	g->count = 0;
}
