/*
 * scenario/run.h - one run: its script, its bodies (processes and threads) and the backend that carries them out.
 *
 * Private to this room. A body is a coroutine and at the same time the program (machine/verbs.h) that the backend asks for
 * operations. Verbs fill body->op and yield; the outcome comes back when the backend asks for the next one.
 */
#ifndef FL_SCENARIO_RUN_H
#define FL_SCENARIO_RUN_H

#include "machine/geometry.h"
#include "machine/verbs.h"
#include "scenario/sampler.h"
#include "scenario/script.h"

struct fl_run {
	const struct fl_scenario *scenario;
	const struct fl_option_set *options;
	struct fl_machine machine;
	struct fl_script *script;
	struct fl_record *record;
	const struct fl_backend_ops *ops;
	struct fl_backend *backend;
	uint64_t seed;
	bool failed; /* a body raised: error says what */
	struct fl_error error;
	struct fl_zipf_tables zipf;
};

struct fl_body {
	struct fl_run *run;
	lua_State *co;
	int reference;          /* keeps co from being collected */
	int arguments;          /* of the first resume */
	char name[64];          /* stream: process name, or NAME/thread */
	uint64_t ordinal;
	uint64_t threads;       /* started by this body */
	struct fl_rng rng;
	struct fl_op *op;       /* to be filled, while resumed */
	struct fl_outcome outcome;
};

/* The body whose coroutine this is; raises (naming the verb) outside a process body. */
struct fl_body *fl_body_of(lua_State *L, const char *verb);

/*
 * Makes a body: a coroutine of the function and its arguments, which are the top 1 + arguments values of L (popped).
 * The stream (name, ordinal) must not be in use by another body: -EEXIST.
 */
int fl_body_new(struct fl_run *run, lua_State *L, int arguments, const char *name, uint64_t ordinal,
		struct fl_program *ret);

/* The machine of a request: wishes of the command line over those of the scenario. */
int fl_scenario_machine(const struct fl_scenario_request *request, struct fl_machine *ret, struct fl_error *reterr);

/* fl_scenario_run() on a given backend: for tests. */
int fl_scenario_run_on(const struct fl_scenario_request *request, const struct fl_backend_ops *ops,
		       struct fl_record *ret, struct fl_error *reterr);

#endif
