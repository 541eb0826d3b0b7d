/*
 * scenario/library.c - what a scenario may call beside verbs: an allow-list, so nothing that is added to Lua comes in.
 *
 * Missing on purpose: everything that reaches the world, the clock or an address, that may run long in C without
 * counting, or that could hide an error of the limits (docs/SCENARIOS.md has the list).
 */
#include <lauxlib.h>
#include <lualib.h>
#include <string.h>

#include "scenario/script.h"

static const char *const base_names[] = { "assert", "error", "ipairs", "select", "tonumber", "type", NULL };
static const char *const math_names[] = { "abs", "ceil", "floor", "fmod", "max", "maxinteger", "min", "mininteger",
					  "tointeger", "type", "ult", NULL };
static const char *const string_names[] = { "byte", "char", "len", "lower", "rep", "reverse", "sub", "upper", NULL };
static const char *const table_names[] = { "concat", "pack", "unpack", NULL };

/* Everything that a script can name before it defines something; the sandbox test walks it. */
const char *const fl_library_globals[] = {
	"assert", "error", "ipairs", "select", "tonumber", "type", "tostring", "print", "pairs", "math", "string",
	"table", "KiB", "MiB", "GiB", "us", "ms", "sec", "scenario", NULL,
};

/* Copies fields of the table on top of the stack into the one below it, and pops it. */
static void copy_allowed(lua_State *L, const char *const *names)
{
	for (; *names; names++) {
		lua_getfield(L, -1, *names);
		FL_ASSERT_MSG(!lua_isnil(L, -1), *names);
		lua_setfield(L, -3, *names);
	}
	lua_pop(L, 1);
}

/* Opens a library of Lua without leaving it anywhere, and makes a new table of its allowed functions as a global. */
static void open_allowed(lua_State *L, const char *name, lua_CFunction open, const char *const *names)
{
	lua_newtable(L);
	lua_pushcfunction(L, open);
	lua_call(L, 0, 1);
	copy_allowed(L, names);
	lua_setglobal(L, name);
}

/* luaopen_base() writes into the table of globals itself: take what is allowed, clear the table, put it back. */
static void open_base(lua_State *L)
{
	lua_newtable(L);
	lua_pushcfunction(L, luaopen_base);
	lua_call(L, 0, 1);
	copy_allowed(L, base_names);
	lua_rawseti(L, LUA_REGISTRYINDEX, LUA_RIDX_GLOBALS);
}

/* Methods of strings ("x"):rep(3) come from our table, not from Lua's. */
static void set_string_methods(lua_State *L)
{
	lua_pushliteral(L, "");
	if (lua_getmetatable(L, -1)) {
		lua_getglobal(L, "string");
		lua_setfield(L, -2, "__index");
		lua_pop(L, 1);
	}
	lua_pop(L, 1);
}

static void set_units(lua_State *L)
{
	static const struct {
		const char *name;
		lua_Integer value;
	} units[] = { { "KiB", 1 << 10 }, { "MiB", 1 << 20 }, { "GiB", 1 << 30 },
		      { "us", 1000 },	  { "ms", 1000000 },  { "sec", 1000000000 } };

	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		lua_pushinteger(L, units[i].value);
		lua_setglobal(L, units[i].name);
	}
}

void fl_library_open(lua_State *L)
{
	open_base(L);
	open_allowed(L, "math", luaopen_math, math_names);
	open_allowed(L, "string", luaopen_string, string_names);
	open_allowed(L, "table", luaopen_table, table_names);
	fl_library_open_text(L);
	fl_library_open_table(L);
	set_string_methods(L);
	set_units(L);
}
