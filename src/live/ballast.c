/*
 * live/ballast.c - a process that holds what memory the load leaves free, so that a load smaller than the host meets full memory.
 *
 * It takes whole huge pages (MADV_HUGEPAGE), locks them where it may, and is the first to be dropped: by the guardian when the
 * host runs low, by the OOM killer before anything else.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "live/conduct.h"
#include "live/setting.h"

#define STEP (UINT64_C(64) << 20)

uint64_t fl_live_ballast_bytes(const struct fl_live_budget *budget)
{
	uint64_t rest = budget->scale + budget->low + budget->low / 2;

	return budget->available > rest ? (budget->available - rest) / STEP * STEP : 0;
}

/* In the child. Says so on the pipe when it is full. */
static void __attribute__((noreturn)) ballast_main(uint64_t bytes, uint64_t floor, int pipe, int life, pid_t conductor)
{
	int keep[] = { pipe, life };
	char *all;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != conductor)
		_exit(1);
	prctl(PR_SET_NAME, "fl-ballast");
	fl_live_close_others(keep, 2);
	fl_live_setting_write("", "proc/self/oom_score_adj", "1000", NULL);
	all = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (all == MAP_FAILED)
		_exit(1);
	madvise(all, bytes, MADV_HUGEPAGE);
	for (uint64_t at = 0; at < bytes && fl_live_available("") > floor + STEP; at += STEP) {
		memset(all + at, 1, STEP);
		mlock(all + at, STEP); /* where it may: then it is not what is swapped out first */
	}
	if (write(pipe, "f", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

int fl_live_ballast_start(struct fl_backend *vm, struct fl_error *reterr)
{
	uint64_t bytes = fl_live_ballast_bytes(&vm->budget), floor = vm->budget.scale + vm->budget.low;
	pid_t conductor = getpid();
	char text[16], byte;
	int fds[2];

	if (!bytes)
		return 0;
	if (pipe2(fds, 0) < 0)
		return fl_error_set(reterr, FL_ERROR_FAILED, -errno, "no pipe can be made: %s", strerror(errno));
	vm->ballast = fork();
	if (vm->ballast == 0) {
		close(fds[0]);
		ballast_main(bytes, floor, fds[1], vm->guardian.life, conductor);
	}
	close(fds[1]);
	snprintf(text, sizeof(text), "%d", (int)vm->ballast);
	if (vm->ballast < 0 || fl_live_guardian_note(&vm->guardian, FL_LIVE_NOTE_BALLAST, "", text, reterr)) {
		close(fds[0]);
		return vm->ballast < 0 ? fl_error_set(reterr, FL_ERROR_FAILED, -EAGAIN, "no process for the ballast can be made") :
					 -EPIPE;
	}
	while (read(fds[0], &byte, 1) < 0 && errno == EINTR)
		; /* full, or dead already */
	close(fds[0]);
	return 0;
}
