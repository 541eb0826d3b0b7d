/*
 * cli/pool.h - the run pool: one forked process for each run, its record comes back through a pipe.
 *
 * The parent holds no model. A child that aborts, is killed or sends nonsense loses its own run and no other one.
 * SIGINT, SIGTERM and SIGHUP end the pool: running children are killed, finished records are kept.
 */
#ifndef FL_CLI_POOL_H
#define FL_CLI_POOL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/record.h"

enum fl_pool_state {
	FL_POOL_WAITING, /* never started, or stopped because the pool was interrupted */
	FL_POOL_RUNNING,
	FL_POOL_DONE,    /* record is filled, CPU time and memory of the process included */
	FL_POOL_FAILED,  /* error is filled: the run refused, or the child ended without a record */
	FL_POOL_LOST,    /* ended by `signal` */
};

struct fl_pool_outcome {
	enum fl_pool_state state;
	struct fl_record record;
	struct fl_error error;
	int signal;
};

struct fl_pool {
	size_t jobs;       /* children at a time, at least 1 */
	bool progress;     /* a progress line on standard error, if that is a terminal */
	const char *noun;  /* what is counted, as in "runs" */
	/* Called in the child; its return value and *reterr or *ret are sent to the parent. */
	int (*work)(void *arg, size_t index, struct fl_record *ret, struct fl_error *reterr);
	void *arg;
};

/*
 * Works through [first, first + count); outcomes[] of these must be zeroed. Starts in order. After a failure of class
 * INPUT or LACKING nothing more is started, since all runs would fail alike. Returns 0, or -EINTR if interrupted.
 */
int fl_pool_run(const struct fl_pool *pool, size_t first, size_t count, struct fl_pool_outcome *outcomes);

void fl_pool_outcomes_free(struct fl_pool_outcome *outcomes, size_t count);

/* CPUs that this process may use: the default number of jobs. */
size_t fl_pool_cpus(void);

#endif
