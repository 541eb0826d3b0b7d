/*
 * live/live.h - the live backend: the same scenario with real processes on the kernel that runs (docs/LIVE.md).
 *
 * A run has these processes: the conductor (the process that called open; it holds the scenario), an agent for each process
 * of the scenario (fork; a socket for each of its threads brings operations and takes answers), the guardian (holds what must
 * be undone; outlives everybody, also after SIGKILL of all others), and perhaps ballast. One live run at a time on a host.
 *
 * Sees base, the readers of observe, and of machine only verbs.h: nothing of the model.
 */
#ifndef FL_LIVE_LIVE_H
#define FL_LIVE_LIVE_H

#include "base/error.h"
#include "base/result.h"
#include "base/text.h"
#include "machine/verbs.h"

extern const struct fl_backend_ops fl_backend_live;

/*
 * The kernel notation of this backend: BASE{,TUNABLE=VALUE}, where BASE is "live" or the version that runs ("6.18",
 * "6.18.44-fc-v782"). *ret_canonical (free()) is "live" and the tunables. Patches cannot be had: class INPUT.
 */
int fl_live_kernel_check(const char *spec, char **ret_canonical, struct fl_error *reterr);

/*
 * Looks at host and request before the first run: budget, permissions, settings. Fills *ret as the `host` operation does.
 * Class INPUT for what the user can change, LACKING for what this host cannot do.
 */
int fl_live_check(const struct fl_backend_request *request, struct fl_backend_host *ret, struct fl_error *reterr);

/* What this host cannot do or measure of such a run, one sentence a line; "" if nothing. */
void fl_live_say_limits(const struct fl_backend_request *request, struct fl_text *to);

/* Why a metric of that name has no value in samples of this host: half a sentence; NULL: it has, or the script records it. */
const char *fl_live_lacks_metric(const char *name);

/* What a run would do to the host (--dry-run): settings, budget, directories, processes; one thing a line. */
void fl_live_say_plan(const struct fl_backend_request *request, struct fl_text *to);

/* Waits until nothing of an earlier run is left (its guardian has done its work), at most some seconds; 0 or -ETIMEDOUT. */
int fl_live_settle(struct fl_error *reterr);

#endif
