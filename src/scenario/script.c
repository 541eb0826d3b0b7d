/*
 * scenario/script.c - the Lua state: memory and instruction limits, running the text, errors with their line.
 */
#include "scenario/script.h"

#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

struct fl_script *fl_script_of(lua_State *L)
{
	void *script;

	lua_getallocf(L, &script);
	return script;
}

/* With ptr == NULL, old_size is the kind of the new object, not a size. */
static void *allocate(void *arg, void *ptr, size_t old_size, size_t size)
{
	struct fl_script *script = arg;
	size_t before = ptr ? old_size : 0;
	void *p;

	if (size == 0) {
		free(ptr);
		script->bytes -= before;
		return NULL;
	}
	if (size > before) {
		if (script->bytes - before + size > FL_SCRIPT_BYTES_MAX)
			return NULL;
		script->instructions += (size - before) / FL_SCRIPT_BYTES_PER_INSTRUCTION;
	}
	p = realloc(ptr, size);
	if (p)
		script->bytes += size - before;
	return p;
}

static int raise_limit(lua_State *L, lua_Debug *ar)
{
	lua_getinfo(L, "Sl", ar);
	lua_pushfstring(L, "%s:%d: more than %d million instructions without a verb: an endless loop?", ar->short_src,
			ar->currentline, (int)(FL_SCRIPT_INSTRUCTIONS_MAX / 1000000));
	return lua_error(L);
}

/* Once over the limit the hook comes at every instruction, so nothing in the script can go on. */
static void hook(lua_State *L, lua_Debug *ar)
{
	struct fl_script *script = fl_script_of(L);

	script->instructions += script->over_limit ? 1 : FL_SCRIPT_HOOK_STEP;
	if (script->instructions <= FL_SCRIPT_INSTRUCTIONS_MAX)
		return;
	script->over_limit = true;
	lua_sethook(L, hook, LUA_MASKCOUNT, 1);
	raise_limit(L, ar);
}

void fl_script_charge(lua_State *L, uint64_t instructions)
{
	struct fl_script *script = fl_script_of(L);

	script->instructions += instructions;
	if (script->instructions > FL_SCRIPT_INSTRUCTIONS_MAX) {
		script->over_limit = true;
		luaL_error(L, "more than %d million instructions without a verb",
			   (int)(FL_SCRIPT_INSTRUCTIONS_MAX / 1000000));
	}
}

/* Messages name the path, or its last part when Lua would cut it. */
static void set_chunk(struct fl_script *script, const char *path)
{
	const char *slash = strrchr(path, '/');

	if (strlen(path) >= sizeof(script->chunk) - 1 && slash)
		path = slash + 1;
	snprintf(script->chunk, sizeof(script->chunk), "@%s", path);
}

static int open_library(lua_State *L)
{
	fl_library_open(L);
	fl_declare_open(L);
	fl_verbs_open(L);
	return 0;
}

struct fl_script *fl_script_new(const char *path, struct fl_text *log)
{
	struct fl_script *script = fl_xcalloc(1, sizeof(*script));

	set_chunk(script, path);
	script->log = log;
	script->L = lua_newstate(allocate, script);
	FL_ASSERT(script->L);
	*(void **)lua_getextraspace(script->L) = NULL;
	lua_sethook(script->L, hook, LUA_MASKCOUNT, FL_SCRIPT_HOOK_STEP);
	lua_pushcfunction(script->L, open_library);
	if (lua_pcall(script->L, 0, 0, 0) != LUA_OK)
		fl_bug(__FILE__, __LINE__, "the library of scenarios opens", lua_tostring(script->L, -1));
	script->instructions = 0;
	return script;
}

void fl_script_free(struct fl_script *script)
{
	if (!script)
		return;
	lua_close(script->L);
	free(script);
}

int fl_script_line(lua_State *co)
{
	lua_Debug ar;

	for (int level = 0; lua_getstack(co, level, &ar); level++) {
		lua_getinfo(co, "l", &ar);
		if (ar.currentline > 0)
			return ar.currentline;
	}
	return 0;
}

static bool has_position(const struct fl_script *script, const char *message)
{
	size_t length = strlen(script->chunk + 1);

	return !strncmp(message, script->chunk + 1, length) && message[length] == ':';
}

int fl_script_error(struct fl_script *script, lua_State *co, int status, struct fl_error *reterr)
{
	const char *message = lua_type(co, -1) == LUA_TSTRING ? lua_tostring(co, -1) : "error() with no text";
	int line = fl_script_line(co);

	if (status == LUA_ERRMEM)
		fl_error_input(reterr, "the script needs more than %u MiB of memory", FL_SCRIPT_BYTES_MAX >> 20);
	else
		fl_error_input(reterr, "%.900s", message);
	if (status == LUA_ERRMEM || !has_position(script, message)) {
		if (line)
			fl_error_prefix(reterr, "%s:%d", script->chunk + 1, line);
		else
			fl_error_prefix(reterr, "%s", script->chunk + 1);
	}
	return -EINVAL;
}

static int check_complete(struct fl_script *script, struct fl_error *reterr)
{
	int type = lua_getglobal(script->L, "main");

	lua_pop(script->L, 1);
	if (!script->declared)
		return fl_error_input(reterr, "%s: the script does not declare itself: scenario { summary = \"...\" }",
				      script->chunk + 1);
	if (type != LUA_TFUNCTION)
		return fl_error_input(reterr, "%s: the script has no function main()", script->chunk + 1);
	return 0;
}

int fl_script_execute(struct fl_script *script, const char *text, size_t length, struct fl_error *reterr)
{
	lua_State *co = lua_newthread(script->L);
	int results, status = luaL_loadbufferx(co, text, length, script->chunk, "t");

	script->instructions = 0;
	if (status == LUA_OK)
		status = lua_resume(co, script->L, 0, &results);
	if (status != LUA_OK) {
		fl_script_error(script, co, status, reterr);
		lua_pop(script->L, 1);
		return -EINVAL;
	}
	lua_pop(script->L, 1);
	return check_complete(script, reterr);
}
