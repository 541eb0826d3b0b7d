/*
 * live/guardian.h - the process that undoes a live run, whatever becomes of the others.
 *
 * It is forked before anything is changed, leaves the session, ignores signals, and is told of each thing *before* it is done:
 * old values of settings, folders, the cgroup, ballast. When the conductor's end of the pipe closes (end, crash or SIGKILL) it
 * ends the ballast and writes the old values back; when the last process of the run has gone (each holds the life pipe) it
 * removes folders and cgroup. Meanwhile it looks at the host some ten times a second: low memory ends the ballast at once,
 * critical memory the run.
 *
 * The host's lock, an abstract socket, is held by conductor and guardian: the next run starts when both have gone.
 */
#ifndef FL_LIVE_GUARDIAN_H
#define FL_LIVE_GUARDIAN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "live/budget.h"

enum fl_live_note {
	FL_LIVE_NOTE_SETTING = 's', /* path relative to the root, old value */
	FL_LIVE_NOTE_FOLDER = 'd',  /* absolute path; its last part begins with FL_LIVE_NAME */
	FL_LIVE_NOTE_GROUP = 'c',   /* cgroup, likewise */
	FL_LIVE_NOTE_BALLAST = 'b', /* pid in decimal */
	FL_LIVE_NOTE_EVENTS = 'e',  /* the instance in tracefs */
};
#define FL_LIVE_NAME "fraglab-live-"

/* What it says to the conductor. */
#define FL_LIVE_SAID_NOTHING_MORE 'X' /* it is gone */
#define FL_LIVE_SAID_DROPPED 'B' /* ballast was dropped: the host ran low */
#define FL_LIVE_SAID_CRITICAL 'C' /* end the run */

struct fl_live_guardian {
	pid_t pid;  /* 0: none */
	int to, from; /* pipes */
	int life;   /* write end of the life pipe: inherited by every process of the run, used by none */
	int lock;
	struct fl_live_noted *notes; /* what it was told, in case that it is killed */
	size_t count;
};

/* Takes the host's lock (waiting up to wait_ms for an earlier run's guardian) and forks the guardian. Class FAILED when another
 * fraglab has the host. `watch`: end the run when memory is critical. */
int fl_live_guardian_start(struct fl_live_guardian *g, const struct fl_live_budget *budget, bool watch, int wait_ms,
			   struct fl_error *reterr);

/* Tells it of something that is about to be done. -EPIPE (class FAILED) if it is gone: then it must not be done. */
int fl_live_guardian_note(struct fl_live_guardian *g, enum fl_live_note what, const char *path, const char *value,
			  struct fl_error *reterr);

/* The next thing it said, or 0. Does not wait. */
char fl_live_guardian_heard(struct fl_live_guardian *g);

/* Closes the pipes and waits until it has undone everything; does that itself if the guardian was killed. All other processes
 * of the run must have ended. */
void fl_live_guardian_end(struct fl_live_guardian *g);

/* Takes the lock of the host and gives it back: -ETIMEDOUT (class FAILED) if it is not free within wait_ms. */
int fl_live_lock_try(int wait_ms, int *ret_fd, struct fl_error *reterr);

/* Closes all descriptors from 3 on but those. */
void fl_live_close_others(const int *keep, size_t count);

#endif
