/*
 * scenario/body.c - bodies of processes and threads: coroutines that the backend asks for operations.
 */
#include <errno.h>
#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

#include "scenario/run.h"

static struct fl_body **body_slot(lua_State *L)
{
	return (struct fl_body **)lua_getextraspace(L);
}

struct fl_body *fl_body_of(lua_State *L, const char *verb)
{
	struct fl_body *body = *body_slot(L);

	if (!body)
		luaL_error(L, "%s: only inside a process body: main(), or what it starts", verb);
	return body;
}

/* The first error ends the run. */
static void fail(struct fl_body *body, int status)
{
	struct fl_run *run = body->run;

	if (run->failed)
		return;
	run->failed = true;
	fl_script_error(run->script, body->co, status, &run->error);
	run->ops->stop(run->backend);
}

static bool body_next(void *arg, const struct fl_outcome *outcome, struct fl_op *op)
{
	struct fl_body *body = arg;
	struct fl_script *script = body->run->script;
	int results, status;

	if (outcome)
		body->outcome = *outcome;
	body->op = op;
	script->instructions = 0;
	status = lua_resume(body->co, script->L, outcome ? 0 : body->arguments, &results);
	body->op = NULL;
	if (status == LUA_YIELD && !script->over_limit)
		return true;
	if (status != LUA_OK)
		fail(body, status);
	return false;
}

static void body_done(void *arg)
{
	struct fl_body *body = arg;

	luaL_unref(body->run->script->L, LUA_REGISTRYINDEX, body->reference);
	free(body);
}

/* Each stream of random numbers has one user. The streams in use are keys of a table in the registry. */
static bool take_stream(lua_State *L, const char *name, uint64_t ordinal)
{
	bool is_new;

	if (lua_getfield(L, LUA_REGISTRYINDEX, "fl_streams") == LUA_TNIL) {
		lua_pop(L, 1);
		lua_newtable(L);
		lua_pushvalue(L, -1);
		lua_setfield(L, LUA_REGISTRYINDEX, "fl_streams");
	}
	lua_pushfstring(L, "%s#%I", name, (LUAI_UACINT)ordinal);
	lua_pushvalue(L, -1);
	is_new = lua_rawget(L, -3) == LUA_TNIL;
	lua_pop(L, 1);
	lua_pushboolean(L, 1);
	lua_rawset(L, -3);
	lua_pop(L, 1);
	return is_new;
}

int fl_body_new(struct fl_run *run, lua_State *L, int arguments, const char *name, uint64_t ordinal,
		struct fl_program *ret)
{
	struct fl_body *body;
	lua_State *co;

	if (!take_stream(L, name, ordinal))
		return -EEXIST;
	co = lua_newthread(L);
	lua_insert(L, -arguments - 2);
	lua_xmove(L, co, arguments + 1);
	body = fl_xcalloc(1, sizeof(*body));
	body->run = run;
	body->co = co;
	body->arguments = arguments;
	body->ordinal = ordinal;
	snprintf(body->name, sizeof(body->name), "%s", name);
	fl_rng_init(&body->rng, run->seed, name, ordinal);
	*body_slot(co) = body;
	body->reference = luaL_ref(L, LUA_REGISTRYINDEX);
	*ret = (struct fl_program){ body_next, body_done, body };
	return 0;
}
