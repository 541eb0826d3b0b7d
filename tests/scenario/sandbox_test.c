/*
 * tests/scenario/sandbox_test.c - what a script cannot do: reach the world, an address or the clock, run for ever, eat memory,
 * hide an error.
 */
#include <lauxlib.h>
#include <time.h>

#include "support.h"

#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#define SLOW_BUILD true
#else
#define SLOW_BUILD false
#endif

/* Nothing beside the list and the verbs is reachable: a name that Lua or we add must be put here on purpose. */
static void test_globals_are_the_allow_list(void **state)
{
	static const char *const verbs[] = {
		"process", "thread", "wait", "ended", "kill", "exit", "compute", "sleep", "yield", "map", "map_file", "map_sparse",
		"unmap", "touch", "access", "discard", "refault", "advise", "mlock", "munlock", "huge_pages", "resident",
		"create_files", "delete_files", "open_files", "close_files", "read_files", "write_files", "read_device", "look_up", "pipes",
		"sockets", "close",
		"set", "compact", "drop_caches", "drain", "sample", "measure", "counter", "perf", "pause", "clock", "record", "uniform", "lognormal", "zipf",
	};
	struct fl_script *script = fl_script_new("x.lua", NULL);
	lua_State *L = script->L;

	lua_pushglobaltable(L);
	for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
		const char *name = lua_tostring(L, -2);
		bool found = false;

		for (size_t i = 0; fl_library_globals[i]; i++)
			found |= !strcmp(name, fl_library_globals[i]);
		for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++)
			found |= !strcmp(name, verbs[i]);
		if (!found)
			fail_msg("the global \"%s\" is on no list", name);
	}
	fl_script_free(script);
}

static void test_escapes_fail_with_their_line(void **state)
{
	static const char *const escapes[] = {
		"io.open('/etc/passwd')", "os.execute('true')", "os.time()", "require('io')", "package.loadlib('x', 'y')",
		"load('return 1')", "loadstring('x')", "loadfile('x')", "dofile('x')", "debug.getregistry()",
		"string.dump(main)", "('x'):find('x')", "('x'):gsub('x', 'y')", "('x'):match('x')", "('x'):gmatch('x')",
		"string.pack('i', 1)", "getmetatable('')", "setmetatable({}, {})", "rawset({}, 1, 2)", "coroutine.create(main)",
		"pcall(error)", "xpcall(error, error)", "collectgarbage()", "next({})", "math.random()", "math.sin(1)",
		"math.sqrt(2)", "warn('x')", "_G.print()", "_ENV.io.open()", "utf8.char(65)", "table.move({}, 1, 2, 3)",
		"string.format('%p', {})", "string.format('%a', 1.5)", "string.format('%d')", "string.format('%')",
	};

	for (size_t i = 0; i < sizeof(escapes) / sizeof(*escapes); i++) {
		char *where = fl_xasprintf("%s:3: ", script_path);

		run_fails(escapes[i], where);
		free(where);
	}
}

static void test_bytecode_is_refused(void **state)
{
	struct fl_scenario *s;
	struct fl_error error;

	write_script("\x1bLua\x54\0\x19\x93\r\n\x1a\n", 12);
	assert_int_not_equal(fl_scenario_load(script_path, &s, &error), 0);
	expect_error(&error, "attempt to load a binary chunk");
}

static void test_no_addresses_in_text(void **state)
{
	expect_print("print(tostring({}), main, string.format('%s %5s', {}, print))", "table\tfunction\ttable function\n");
	expect_print("print(0/0, -(0/0), 1, 1.5, 'x', nil, true)", "nan\tnan\t1\t1.5\tx\tnil\ttrue\n");
	expect_print("print(string.format('%d %x %s%%', 7, 255, 12), ('ab'):rep(2))", "7 ff 12%\tabab\n");
}

static void test_pairs_goes_by_key(void **state)
{
	expect_print("local t = { z = 1, [10] = 2, a = 3, [2] = 4, [true] = 5, B = 6, [1.5] = 7 }\n"
		     "for k, v in pairs(t) do print(k, v) end",
		     "1.5\t7\n2\t4\n10\t2\nB\t6\na\t3\nz\t1\ntrue\t5\n");
	run_fails("for k in pairs({ [{}] = 1 }) do end", ":3: pairs: a table as key");
	expect_print("local t = { 1, 2, 3 } for k in pairs(t) do t[3] = nil print(k) end", "1\n2\n");
}

static void test_sort_is_stable(void **state)
{
	expect_print("local t = {} for i = 1, 40 do t[i] = { i % 3, i } end\n"
		     "table.sort(t, function(a, b) return a[1] < b[1] end)\n"
		     "for i = 2, 40 do assert(t[i-1][1] < t[i][1] or t[i-1][2] < t[i][2]) end print('stable')",
		     "stable\n");
	expect_print("local t = { 5, 3, 9, 1 } table.sort(t) print(table.concat(t, ' '))", "1 3 5 9\n");
	run_fails("table.sort({ 1, 'x' })", ":3:");
}

static void test_insert_and_remove(void **state)
{
	expect_print("local t = { 1, 2 } table.insert(t, 3) table.insert(t, 1, 0)\n"
		     "print(table.remove(t), table.remove(t, 1), table.concat(t, ' '), table.remove({}))",
		     "3\t0\t1 2\n");
	run_fails("table.insert({}, 5, 1)", "position out of bounds");
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void test_endless_loop_ends_within_two_seconds(void **state)
{
	double before = seconds();

	run_fails("\nwhile true do end", ":4: more than 100 million instructions without a verb: an endless loop?");
	load_fails("while true do end", ":1: more than 100 million");
	run_fails("local s = ('x'):rep(1 << 20) while true do local t = s .. 'y' end", ":3: more than 100 million");
	run_fails("local t = {} for i = 1, 100000 do t[i] = i end while true do table.insert(t, 1, 0) table.remove(t, 1) end",
		  "more than 100 million");
	if (!SLOW_BUILD)
		assert_true(seconds() - before < 8.0); /* four of them */
}

static void test_a_verb_starts_the_count_anew(void **state)
{
	char *printed = run_prints("for i = 1, 30 do for j = 1, 1000000 do end yield() end print('through')");

	assert_string_equal(printed, "through\n");
	free(printed);
}

static void test_runaway_memory_names_the_line(void **state)
{
	run_fails("local t = {}\nwhile true do t[#t + 1] = 'x' .. #t end", ":4: the script needs more than 64 MiB");
	run_fails("local s = ('x'):rep(1 << 30)", ":3:");
	run_fails("local s = 'x' while true do s = s .. s end", ":3: the script needs more than 64 MiB");
}

static void test_endless_recursion_names_the_line(void **state)
{
	run_fails("local function f(n) return 1 + f(n + 1) end f(1)", ":3:");
}

static void test_errors_without_text_get_a_line(void **state)
{
	run_fails("\nerror({})", ":4: error() with no text");
	run_fails("error('bad thing', 0)", ":3: bad thing");
	run_fails("assert(false, 'not so')", ":3: not so");
	run_fails("local x = nil\nx.y = 1", ":4: attempt to index a nil value");
}

static void test_syntax_error_names_the_line(void **state)
{
	load_fails(HEAD "function main(\n", ":3:");
	load_fails("x = = 1", ":1:");
}

static void test_verb_in_a_callback_is_refused_with_its_line(void **state)
{
	run_fails("table.sort({ 3, 2, 1 },\nfunction(a, b) map(1) return a < b end)",
		  ":4: map: a verb cannot be used inside a callback");
}

static void test_verb_outside_a_body_is_refused(void **state)
{
	load_fails(HEAD "map(4096)\nfunction main() end", ":2: map: only inside a process body");
	load_fails(HEAD "uniform(1, 2)\nfunction main() end", ":2: uniform: only inside a process body");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_globals_are_the_allow_list),
		cmocka_unit_test(test_escapes_fail_with_their_line),
		cmocka_unit_test(test_bytecode_is_refused),
		cmocka_unit_test(test_no_addresses_in_text),
		cmocka_unit_test(test_pairs_goes_by_key),
		cmocka_unit_test(test_sort_is_stable),
		cmocka_unit_test(test_insert_and_remove),
		cmocka_unit_test(test_endless_loop_ends_within_two_seconds),
		cmocka_unit_test(test_a_verb_starts_the_count_anew),
		cmocka_unit_test(test_runaway_memory_names_the_line),
		cmocka_unit_test(test_endless_recursion_names_the_line),
		cmocka_unit_test(test_errors_without_text_get_a_line),
		cmocka_unit_test(test_syntax_error_names_the_line),
		cmocka_unit_test(test_verb_in_a_callback_is_refused_with_its_line),
		cmocka_unit_test(test_verb_outside_a_body_is_refused),
	};

	return cmocka_run_group_tests(tests, make_path, remove_path);
}
