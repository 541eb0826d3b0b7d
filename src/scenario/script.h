/*
 * scenario/script.h - one Lua state behind an allow-list: made, limited, run, and its errors turned into sentences.
 *
 * Private to this room. A script is a state, its limits and what it is for: reading declarations (run == NULL) or one
 * run. Lua never runs on a stack of the model: bodies are coroutines that are resumed on the main stack.
 */
#ifndef FL_SCENARIO_SCRIPT_H
#define FL_SCENARIO_SCRIPT_H

#include <errno.h>
#include <lua.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bug.h"
#include "base/error.h"
#include "base/rng.h"
#include "base/text.h"
#include "scenario/scenario.h"

/* Design section 6. Bytes that are allocated count as instructions too, so that long strings cannot stall a run. */
#define FL_SCRIPT_INSTRUCTIONS_MAX UINT64_C(100000000)
#define FL_SCRIPT_BYTES_MAX (64u << 20)
#define FL_SCRIPT_BYTES_PER_INSTRUCTION 16
#define FL_SCRIPT_HOOK_STEP 1000
#define FL_SCRIPT_LOG_MAX (1u << 20)

struct fl_run;

struct fl_script {
	lua_State *L;
	size_t bytes;          /* allocated now */
	uint64_t instructions; /* since the last verb */
	bool over_limit;
	char chunk[56];              /* name in messages: the path, or its last part when that is long */
	struct fl_text *log;         /* of print(); NULL: nowhere */
	struct fl_scenario *declare; /* filled by the declaration; NULL in a run */
	struct fl_run *run;          /* NULL while reading declarations */
	bool declared;
};

/* Makes the state with its library. `path` names the script in messages. */
struct fl_script *fl_script_new(const char *path, struct fl_text *log);
void fl_script_free(struct fl_script *script);
struct fl_script *fl_script_of(lua_State *L);

/* Runs the text from top to bottom, then demands that it called scenario{} and defined main(). */
int fl_script_execute(struct fl_script *script, const char *text, size_t length, struct fl_error *reterr);

/* The sentence of a failed coroutine, whose stack still stands: always with script:line if any Lua code ran. */
/* The innermost line of the script that is on the stack of a coroutine; 0: none. */
int fl_script_line(lua_State *co);
int fl_script_error(struct fl_script *script, lua_State *co, int status, struct fl_error *reterr);

/* Work of a library function that no instruction counts; raises when the limit is passed. */
void fl_script_charge(lua_State *L, uint64_t instructions);

/* ---- The parts of the library ---- */

void fl_library_open(lua_State *L);       /* language, tables, text, integer mathematics */
void fl_library_open_table(lua_State *L); /* library_table.c */
void fl_library_open_text(lua_State *L);  /* library_text.c */
void fl_declare_open(lua_State *L);       /* scenario{} */
void fl_verbs_open(lua_State *L);         /* verbs and samplers */

/* Sorts the array at `index` (n elements from 1), stably; less(L, a, b) compares two absolute stack positions. */
void fl_library_sort(lua_State *L, int index, lua_Integer n, bool (*less)(lua_State *L, int a, int b));

/* Pushes the text of any value, without addresses; returns it. */
const char *fl_library_tostring(lua_State *L, int index, size_t *ret_length);

/* Names of the language and of the library: for the test that nothing else is reachable. */
extern const char *const fl_library_globals[];

/* Sets the globals `options` and `machine` from the request of the run (declare.c). */
struct fl_machine;
void fl_declare_set_globals(lua_State *L, const struct fl_option_set *options, const struct fl_machine *machine);

#endif
