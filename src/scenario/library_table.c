/*
 * scenario/library_table.c - tables in a fixed order: pairs() by key, a stable table.sort, insert and remove that count.
 *
 * Lua's own pairs() goes by a hash that is seeded from clock and address, its sort takes pivots from the clock.
 */
#include <lauxlib.h>
#include <string.h>

#include "scenario/script.h"

/* One pass of a bottom-up merge sort: runs of `width` of the table at `from` are merged into the table at `to`. */
static void merge_pass(lua_State *L, int from, int to, lua_Integer n, lua_Integer width,
		       bool (*less)(lua_State *, int, int))
{
	for (lua_Integer low = 1; low <= n; low += 2 * width) {
		lua_Integer a = low, a_end = low + width, b = a_end, b_end = low + 2 * width, out = low;

		a_end = a_end > n + 1 ? n + 1 : a_end;
		b = a_end;
		b_end = b_end > n + 1 ? n + 1 : b_end;
		while (a < a_end || b < b_end) {
			bool take_b = a >= a_end;

			if (a < a_end && b < b_end) {
				lua_rawgeti(L, from, b);
				lua_rawgeti(L, from, a);
				take_b = less(L, lua_gettop(L) - 1, lua_gettop(L));
				lua_pop(L, 2);
			}
			lua_rawgeti(L, from, take_b ? b++ : a++);
			lua_rawseti(L, to, out++);
		}
	}
}

void fl_library_sort(lua_State *L, int index, lua_Integer n, bool (*less)(lua_State *, int, int))
{
	int array = lua_absindex(L, index), from = array, to;

	luaL_checkstack(L, 8, NULL);
	lua_createtable(L, n < INT32_MAX ? (int)n : 0, 0);
	to = lua_gettop(L);
	for (lua_Integer width = 1; width < n; width *= 2) {
		int swap = from;

		fl_script_charge(L, (uint64_t)n);
		merge_pass(L, from, to, n, width, less);
		from = to;
		to = swap;
	}
	if (from != array) {
		for (lua_Integer i = 1; i <= n; i++) {
			lua_rawgeti(L, from, i);
			lua_rawseti(L, array, i);
		}
	}
	lua_pop(L, 1);
}

static bool less_plain(lua_State *L, int a, int b)
{
	return lua_compare(L, a, b, LUA_OPLT);
}

/* The comparator is the second argument of table.sort. */
static bool less_by_function(lua_State *L, int a, int b)
{
	bool less;

	lua_pushvalue(L, 2);
	lua_pushvalue(L, a);
	lua_pushvalue(L, b);
	lua_call(L, 2, 1);
	less = lua_toboolean(L, -1);
	lua_pop(L, 1);
	return less;
}

static int table_sort(lua_State *L)
{
	bool by_function = !lua_isnoneornil(L, 2);

	luaL_checktype(L, 1, LUA_TTABLE);
	if (by_function)
		luaL_checktype(L, 2, LUA_TFUNCTION);
	lua_settop(L, 2);
	fl_library_sort(L, 1, (lua_Integer)lua_rawlen(L, 1), by_function ? less_by_function : less_plain);
	return 0;
}

/* Order of keys: numbers, then strings bytewise, then false and true. */
static int key_rank(lua_State *L, int index)
{
	switch (lua_type(L, index)) {
	case LUA_TNUMBER:
		return 0;
	case LUA_TSTRING:
		return 1;
	default:
		return 2 + lua_toboolean(L, index);
	}
}

static bool less_key(lua_State *L, int a, int b)
{
	int rank_a = key_rank(L, a), rank_b = key_rank(L, b), order;
	size_t length_a, length_b;
	const char *text_a, *text_b;

	if (rank_a != rank_b || rank_a >= 2)
		return rank_a < rank_b;
	if (rank_a == 0)
		return lua_compare(L, a, b, LUA_OPLT);
	text_a = lua_tolstring(L, a, &length_a);
	text_b = lua_tolstring(L, b, &length_b);
	order = memcmp(text_a, text_b, length_a < length_b ? length_a : length_b);
	return order ? order < 0 : length_a < length_b;
}

/* Upvalues: the table, its sorted keys, the position. Keys whose value has gone meanwhile are passed over. */
static int pairs_next(lua_State *L)
{
	lua_Integer i = lua_tointeger(L, lua_upvalueindex(3)), n = (lua_Integer)lua_rawlen(L, lua_upvalueindex(2));

	while (++i <= n) {
		lua_rawgeti(L, lua_upvalueindex(2), i);
		lua_pushvalue(L, -1);
		lua_rawget(L, lua_upvalueindex(1));
		if (!lua_isnil(L, -1)) {
			lua_pushinteger(L, i);
			lua_replace(L, lua_upvalueindex(3));
			return 2;
		}
		lua_pop(L, 2);
	}
	lua_pushnil(L);
	return 1;
}

static int ordered_pairs(lua_State *L)
{
	lua_Integer n = 0;

	luaL_checktype(L, 1, LUA_TTABLE);
	lua_settop(L, 1);
	lua_newtable(L);
	for (lua_pushnil(L); lua_next(L, 1); lua_pop(L, 1)) {
		int type = lua_type(L, -2);

		if (type != LUA_TNUMBER && type != LUA_TSTRING && type != LUA_TBOOLEAN)
			return luaL_error(L, "pairs: a %s as key has no place in an order", lua_typename(L, type));
		lua_pushvalue(L, -2);
		lua_rawseti(L, 2, ++n);
	}
	fl_script_charge(L, (uint64_t)n);
	fl_library_sort(L, 2, n, less_key);
	lua_pushvalue(L, 1);
	lua_pushvalue(L, 2);
	lua_pushinteger(L, 0);
	lua_pushcclosure(L, pairs_next, 3);
	return 1;
}

static int table_insert(lua_State *L)
{
	lua_Integer n, at;

	luaL_checktype(L, 1, LUA_TTABLE);
	n = (lua_Integer)lua_rawlen(L, 1);
	at = lua_gettop(L) == 2 ? n + 1 : luaL_checkinteger(L, 2);
	luaL_argcheck(L, lua_gettop(L) == 2 || lua_gettop(L) == 3, 2, "expected (table, value) or (table, position, value)");
	luaL_argcheck(L, at >= 1 && at <= n + 1, 2, "position out of bounds");
	fl_script_charge(L, (uint64_t)(n + 1 - at));
	for (lua_Integer i = n; i >= at; i--) {
		lua_rawgeti(L, 1, i);
		lua_rawseti(L, 1, i + 1);
	}
	lua_rawseti(L, 1, at);
	return 0;
}

static int table_remove(lua_State *L)
{
	lua_Integer n, at;

	luaL_checktype(L, 1, LUA_TTABLE);
	n = (lua_Integer)lua_rawlen(L, 1);
	at = luaL_optinteger(L, 2, n);
	if (n == 0 && at == 0)
		return 0;
	luaL_argcheck(L, at >= 1 && at <= n, 2, "position out of bounds");
	fl_script_charge(L, (uint64_t)(n - at));
	lua_rawgeti(L, 1, at);
	for (lua_Integer i = at; i < n; i++) {
		lua_rawgeti(L, 1, i + 1);
		lua_rawseti(L, 1, i);
	}
	lua_pushnil(L);
	lua_rawseti(L, 1, n);
	return 1;
}

void fl_library_open_table(lua_State *L)
{
	static const luaL_Reg functions[] = {
		{ "sort", table_sort }, { "insert", table_insert }, { "remove", table_remove }, { NULL, NULL }
	};

	lua_pushcfunction(L, ordered_pairs);
	lua_setglobal(L, "pairs");
	lua_getglobal(L, "table");
	luaL_setfuncs(L, functions, 0);
	lua_pop(L, 1);
}
