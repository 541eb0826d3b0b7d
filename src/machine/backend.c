/*
 * machine/backend.c - names of verbs and advice, and the list of backends.
 */
#include <errno.h>
#include <string.h>

#include "base/bug.h"
#include "base/names.h"
#include "machine/verbs.h"

static const char *const verb_names[FL_VERBS] = {
	[FL_VERB_PROCESS] = "process", [FL_VERB_THREAD] = "thread", [FL_VERB_WAIT] = "wait", [FL_VERB_ENDED] = "ended",
	[FL_VERB_KILL] = "kill",
	[FL_VERB_EXIT] = "exit", [FL_VERB_COMPUTE] = "compute", [FL_VERB_SLEEP] = "sleep", [FL_VERB_YIELD] = "yield",
	[FL_VERB_PAUSE] = "pause", [FL_VERB_MEASURE] = "measure", [FL_VERB_COUNTER] = "counter",
	[FL_VERB_MAP] = "map", [FL_VERB_MAP_SPARSE] = "map_sparse", [FL_VERB_UNMAP] = "unmap",
	[FL_VERB_TOUCH] = "touch", [FL_VERB_ACCESS] = "access", [FL_VERB_DISCARD] = "discard", [FL_VERB_REFAULT] = "refault",
	[FL_VERB_ADVISE] = "advise", [FL_VERB_MLOCK] = "mlock", [FL_VERB_MUNLOCK] = "munlock",
	[FL_VERB_HUGE_PAGES] = "huge_pages", [FL_VERB_RESIDENT] = "resident",
	[FL_VERB_CREATE_FILES] = "create_files", [FL_VERB_DELETE_FILES] = "delete_files",
	[FL_VERB_READ_FILES] = "read_files", [FL_VERB_WRITE_FILES] = "write_files",
	[FL_VERB_OPEN_FILES] = "open_files", [FL_VERB_CLOSE_FILES] = "close_files",
	[FL_VERB_LOOK_UP] = "look_up", [FL_VERB_READ_DEVICE] = "read_device", [FL_VERB_PIPES] = "pipes", [FL_VERB_SOCKETS] = "sockets",
	[FL_VERB_CLOSE] = "close", [FL_VERB_SET] = "set", [FL_VERB_COMPACT] = "compact",
	[FL_VERB_DROP_CACHES] = "drop_caches", [FL_VERB_DRAIN] = "drain", [FL_VERB_SAMPLE] = "sample",
	[FL_VERB_PERF] = "perf", [FL_VERB_CLOCK] = "clock",
};

static const char *const advice_names[FL_ADVICES] = {
	[FL_ADVICE_HUGEPAGE] = "MADV_HUGEPAGE",	  [FL_ADVICE_NOHUGEPAGE] = "MADV_NOHUGEPAGE",
	[FL_ADVICE_FREE] = "MADV_FREE",		  [FL_ADVICE_DONTNEED] = "MADV_DONTNEED",
	[FL_ADVICE_COLLAPSE] = "MADV_COLLAPSE",	  [FL_ADVICE_DONTNEED_LOCKED] = "MADV_DONTNEED_LOCKED",
};

const char *fl_verb_name(enum fl_verb verb)
{
	FL_ASSERT(verb < FL_VERBS);
	return verb_names[verb];
}

const char *fl_advice_name(enum fl_advice advice)
{
	FL_ASSERT(advice < FL_ADVICES);
	return advice_names[advice];
}

/* NULL-terminated. */
static const struct fl_backend_ops *const backends[] = { &fl_backend_sim, NULL };

const struct fl_backend_ops *fl_backend_find(const char *name, struct fl_error *reterr)
{
	const char *names[sizeof(backends) / sizeof(*backends)] = { NULL };
	char hint[64];
	size_t i;

	for (i = 0; backends[i]; i++) {
		if (!strcmp(backends[i]->name, name))
			return backends[i];
		names[i] = backends[i]->name;
	}
	if (!strcmp(name, "live"))
		fl_error_set(reterr, FL_ERROR_LACKING, -ENOSYS, "--on live: this fraglab cannot run a scenario on a real kernel "
			     "yet; --on sim runs it on the model");
	else
		fl_error_input(reterr, "there is no backend \"%s\"%s", name,
			       fl_names_hint(name, names, i, hint, sizeof(hint)));
	return NULL;
}
