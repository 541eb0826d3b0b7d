/*
 * scenario/library_text.c - tostring, string.format and print without addresses.
 */
#include <lauxlib.h>
#include <lualib.h>
#include <string.h>

#include "scenario/script.h"

const char *fl_library_tostring(lua_State *L, int index, size_t *ret_length)
{
	switch (lua_type(L, index)) {
	case LUA_TNUMBER:
		if (!lua_isinteger(L, index) && lua_tonumber(L, index) != lua_tonumber(L, index)) {
			lua_pushliteral(L, "nan"); /* the sign of NaN differs between processors */
			break;
		}
		lua_pushvalue(L, index);
		break;
	case LUA_TSTRING:
		lua_pushvalue(L, index);
		break;
	case LUA_TBOOLEAN:
		lua_pushstring(L, lua_toboolean(L, index) ? "true" : "false");
		break;
	default:
		lua_pushstring(L, luaL_typename(L, index));
	}
	return lua_tolstring(L, -1, ret_length);
}

static int text_tostring(lua_State *L)
{
	luaL_checkany(L, 1);
	fl_library_tostring(L, 1, NULL);
	return 1;
}

/* Past flags, width and precision; the conversion letter, or NUL. */
static const char *skip_to_conversion(const char *f)
{
	return f + strspn(f, "-+ #0123456789.");
}

/* Checked here, since an error inside Lua's own format could not name the function. Texts lose their addresses. */
static void check_format_argument(lua_State *L, char conversion, int arg)
{
	if (strchr("dixXoc", conversion)) {
		luaL_checkinteger(L, arg);
	} else if (strchr("feEgG", conversion)) {
		luaL_checknumber(L, arg);
	} else if (conversion == 's' || lua_istable(L, arg)) {
		fl_library_tostring(L, arg, NULL);
		lua_replace(L, arg);
	}
}

/* Lua's own string.format (upvalue 1), after every argument of %s became a text without an address. */
static int text_format(lua_State *L)
{
	const char *f = luaL_checkstring(L, 1);
	int arg = 1;

	for (; *f; f++) {
		if (*f != '%')
			continue;
		f = skip_to_conversion(f + 1);
		if (*f == '%')
			continue;
		if (!*f || !strchr("dixXocsqfeEgG", *f))
			return luaL_error(L, "string.format: there is no conversion %%%c in scenarios", *f ? *f : ' ');
		if (++arg > lua_gettop(L))
			return luaL_error(L, "string.format: argument %d is missing", arg - 1);
		check_format_argument(L, *f, arg);
	}
	lua_pushvalue(L, lua_upvalueindex(1));
	lua_insert(L, 1);
	lua_call(L, lua_gettop(L) - 1, 1);
	return 1;
}

static int text_print(lua_State *L)
{
	struct fl_text *log = fl_script_of(L)->log;
	int n = lua_gettop(L);

	for (int i = 1; i <= n; i++) {
		size_t length;
		const char *text = fl_library_tostring(L, i, &length);

		if (log && log->length + length < FL_SCRIPT_LOG_MAX) {
			fl_text_add_bytes(log, text, length);
			fl_text_add_char(log, i < n ? '\t' : '\n', 1);
		}
		fl_script_charge(L, length);
		lua_pop(L, 1);
	}
	return 0;
}

void fl_library_open_text(lua_State *L)
{
	lua_register(L, "tostring", text_tostring);
	lua_register(L, "print", text_print);
	lua_getglobal(L, "string");
	lua_pushcfunction(L, luaopen_string);
	lua_call(L, 0, 1);
	lua_getfield(L, -1, "format");
	lua_pushcclosure(L, text_format, 1);
	lua_setfield(L, -3, "format");
	lua_pop(L, 2);
}
