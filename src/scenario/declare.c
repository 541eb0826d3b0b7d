/*
 * scenario/declare.c - scenario { ... }: what a script says about itself, as plain data.
 *
 * While a script is loaded the table is read and checked to the last key; in a run (which starts from the same text) the
 * call only makes the globals `options` and `machine` available.
 */
#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "base/size.h"
#include "machine/geometry.h"
#include "mm/sysctl.h"
#include "scenario/run.h"
#include "scenario/script.h"

#define LIST_MAX 256

/* Refuses keys that the table at the top of the stack must not have. */
static void check_keys(lua_State *L, const char *where, const char *const *keys, size_t count)
{
	char hint[128];

	for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
		size_t i = 0;

		if (lua_type(L, -2) != LUA_TSTRING)
			luaL_error(L, "%s: expected named entries only", where);
		while (i < count && strcmp(lua_tostring(L, -2), keys[i]))
			i++;
		if (i == count)
			luaL_error(L, "%s: there is no entry \"%s\"%s", where, lua_tostring(L, -2),
				   fl_names_hint(lua_tostring(L, -2), keys, count, hint, sizeof(hint)));
	}
}

/* The text of entry `key` of the table on top, or NULL; numbers and booleans are turned into text. Valid until popped. */
static const char *get_text(lua_State *L, const char *where, const char *key, char *buffer, size_t length)
{
	const char *text = NULL;

	switch (lua_getfield(L, -1, key)) {
	case LUA_TNIL:
		break;
	case LUA_TBOOLEAN:
	case LUA_TNUMBER:
	case LUA_TSTRING: {
		const char *value = fl_library_tostring(L, -1, NULL);

		if (strlen(value) >= length)
			luaL_error(L, "%s: %s is longer than %d letters", where, key, (int)length - 1);
		memcpy(buffer, value, strlen(value) + 1);
		text = buffer;
		lua_pop(L, 1);
		break;
	}
	default:
		luaL_error(L, "%s: %s must be a text or a number", where, key);
	}
	lua_pop(L, 1);
	return text;
}

static char *copy_text(lua_State *L, const char *where, const char *key, bool needed)
{
	char buffer[512];
	const char *text = get_text(L, where, key, buffer, sizeof(buffer));

	if (!text && needed)
		luaL_error(L, "%s: %s is missing", where, key);
	return text ? fl_xstrdup(text) : NULL;
}

/* A size, given as bytes or as text ("64G"). */
static int64_t get_size(lua_State *L, const char *where, const char *key)
{
	char buffer[64];
	const char *text = get_text(L, where, key, buffer, sizeof(buffer));
	struct fl_error error;
	int64_t bytes = 0;

	if (text && fl_size_parse(text, &bytes, &error))
		luaL_error(L, "%s: %s: %s", where, key, error.text);
	return bytes;
}

static int64_t get_int(lua_State *L, const char *where, const char *key, int64_t min, int64_t max)
{
	char buffer[64];
	const char *text = get_text(L, where, key, buffer, sizeof(buffer));
	struct fl_error error;
	int64_t value = 0;

	if (text && fl_int_parse(text, min, max, &value, &error))
		luaL_error(L, "%s: %s: %s", where, key, error.text);
	return value;
}

/* Number of entries of the list `key`, which is left on the stack; 0 and nothing left when it is absent. */
static size_t open_list(lua_State *L, const char *key)
{
	size_t n;

	if (lua_getfield(L, -1, key) == LUA_TNIL) {
		lua_pop(L, 1);
		return 0;
	}
	if (!lua_istable(L, -1))
		luaL_error(L, "scenario: %s must be a list", key);
	n = lua_rawlen(L, -1);
	if (n > LIST_MAX)
		luaL_error(L, "scenario: %s has more than %d entries", key, LIST_MAX);
	if (!n)
		lua_pop(L, 1);
	return n;
}

/* Entry i of the list on top, which must be a table with these keys only. */
static void open_entry(lua_State *L, const char *key, size_t i, const char *const *keys, size_t count, char *where,
		       size_t length)
{
	snprintf(where, length, "%s[%zu]", key, i + 1);
	if (lua_rawgeti(L, -1, (lua_Integer)i + 1) != LUA_TTABLE)
		luaL_error(L, "%s: expected a table", where);
	check_keys(L, where, keys, count);
}

/* ---- options ---- */

static const char *const kind_names[] = { "bool", "int", "size", "duration", "text", "choice" };
static const enum fl_option_kind kinds[] = { FL_OPTION_BOOL,	 FL_OPTION_INT,	   FL_OPTION_SIZE,
					     FL_OPTION_DURATION, FL_OPTION_STRING, FL_OPTION_CHOICE };

static enum fl_option_kind read_kind(lua_State *L, const char *where)
{
	char text[32], hint[128];
	const char *name = get_text(L, where, "kind", text, sizeof(text));

	for (size_t i = 0; name && i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(name, kind_names[i]))
			return kinds[i];
	luaL_error(L, "%s: kind must be bool, int, size, duration, text or choice%s", where,
		   name ? fl_names_hint(name, kind_names, 6, hint, sizeof(hint)) : "");
	return FL_OPTION_INT;
}

/* A limit is written like a value of the option. */
static int64_t read_limit(lua_State *L, const char *where, const char *key, enum fl_option_kind kind)
{
	char buffer[64];
	const char *text = get_text(L, where, key, buffer, sizeof(buffer));
	struct fl_error error;
	int64_t value = 0;
	int status = 0;

	if (!text)
		return 0;
	if (kind == FL_OPTION_SIZE)
		status = fl_size_parse(text, &value, &error);
	else if (kind == FL_OPTION_DURATION)
		status = fl_duration_parse(text, &value, &error);
	else
		status = fl_int_parse(text, INT64_MIN, INT64_MAX, &value, &error);
	if (status)
		luaL_error(L, "%s: %s: %s", where, key, error.text);
	return value;
}

/* The list is owned by the option from the start: an error below must not lose it. */
static void read_choices(lua_State *L, const char *where, struct fl_option *o)
{
	size_t n = open_list(L, "choices");
	char **choices;

	if (!n)
		luaL_error(L, "%s: choices is missing", where);
	choices = fl_xcalloc(n + 1, sizeof(*choices));
	o->choices = (const char *const *)choices;
	for (size_t i = 0; i < n; i++) {
		if (lua_rawgeti(L, -1, (lua_Integer)i + 1) != LUA_TSTRING)
			luaL_error(L, "%s: choices must be texts", where);
		choices[i] = fl_xstrdup(lua_tostring(L, -1));
		lua_pop(L, 1);
	}
	lua_pop(L, 1);
}

static void read_option(lua_State *L, const char *where, struct fl_option *o)
{
	o->kind = read_kind(L, where);
	o->name = copy_text(L, where, "name", true);
	o->help = copy_text(L, where, "help", true);
	o->default_text = copy_text(L, where, "default", true);
	o->min = read_limit(L, where, "min", o->kind);
	o->max = read_limit(L, where, "max", o->kind);
	if (o->min && !o->max)
		o->max = INT64_MAX;
	o->multiple = get_size(L, where, "multiple");
	if (o->kind == FL_OPTION_CHOICE)
		read_choices(L, where, o);
}

static void read_options(lua_State *L, struct fl_scenario *s)
{
	static const char *const keys[] = { "name", "kind", "default", "help", "min", "max", "multiple", "choices" };
	size_t n = open_list(L, "options");
	struct fl_error error;
	char where[48];

	if (!n)
		return;
	s->options = fl_xcalloc(n, sizeof(*s->options));
	for (size_t i = 0; i < n; i++) {
		open_entry(L, "options", i, keys, sizeof(keys) / sizeof(*keys), where, sizeof(where));
		s->options_count = i + 1;
		read_option(L, where, &s->options[i]);
		lua_pop(L, 1);
	}
	lua_pop(L, 1);
	if (fl_option_table_check(s->options, s->options_count, &error))
		luaL_error(L, "%s", error.text);
}

/* ---- machine, kernel, metrics, published figures ---- */

static int64_t get_address(lua_State *L, lua_Integer i)
{
	lua_Integer value;
	int is_integer;

	lua_rawgeti(L, -1, i);
	value = lua_tointegerx(L, -1, &is_integer);
	lua_pop(L, 1);
	if (!is_integer || value < 0 || value % 4096)
		luaL_error(L, "machine: reserved: expected { start, end }, addresses in bytes on page boundaries");
	return value;
}

/* reserved = { { start, end }, ... } */
static void read_reserved(lua_State *L, struct fl_scenario *s)
{
	size_t n = open_list(L, "reserved");

	if (!n)
		return;
	if (n > sizeof(s->reserved) / sizeof(*s->reserved))
		luaL_error(L, "machine: reserved: more than %d ranges", (int)(sizeof(s->reserved) / sizeof(*s->reserved)));
	for (size_t i = 0; i < n; i++) {
		if (lua_rawgeti(L, -1, (lua_Integer)i + 1) != LUA_TTABLE)
			luaL_error(L, "machine: reserved: expected a list of { start, end }");
		s->reserved[i].start = get_address(L, 1);
		s->reserved[i].end = get_address(L, 2);
		if (s->reserved[i].start >= s->reserved[i].end || (i && s->reserved[i].start < s->reserved[i - 1].end))
			luaL_error(L, "machine: reserved: ranges must be rising and not empty");
		lua_pop(L, 1);
	}
	s->reserved_count = (unsigned int)n;
	lua_pop(L, 1);
}

static void read_machine(lua_State *L, struct fl_scenario *s)
{
	static const char *const keys[] = { "memory", "memory_min", "swap", "scale", "cpus", "page_size", "below_4g",
					    "guard_minorder", "zone_dma", "reserved", "held", "slowness" };

	if (lua_getfield(L, -1, "machine") != LUA_TNIL) {
		luaL_checktype(L, -1, LUA_TTABLE);
		check_keys(L, "machine", keys, sizeof(keys) / sizeof(*keys));
		s->memory_bytes = get_size(L, "machine", "memory");
		s->memory_min_bytes = get_size(L, "machine", "memory_min");
		s->swap_bytes = get_size(L, "machine", "swap");
		s->scale_bytes = get_size(L, "machine", "scale");
		s->page_bytes = get_size(L, "machine", "page_size");
		s->below_4g_bytes = get_size(L, "machine", "below_4g");
		s->cpus = (int)get_int(L, "machine", "cpus", 1, FL_SIM_CPUS_MAX);
		s->guard_minorder = (int)get_int(L, "machine", "guard_minorder", 0, FL_MAX_ORDERS);
		s->no_zone_dma = lua_getfield(L, -1, "zone_dma") == LUA_TBOOLEAN && !lua_toboolean(L, -1);
		lua_pop(L, 1);
		read_reserved(L, s);
		s->held_bytes = get_size(L, "machine", "held");
		s->slowness = (int)get_int(L, "machine", "slowness", 1, 1000);
	}
	lua_pop(L, 1);
}

/* kernel = { ["transparent_hugepage/enabled"] = "always" }, in the order of names. */
static void read_kernel(lua_State *L, struct fl_scenario *s)
{
	struct fl_error error;

	if (lua_getfield(L, -1, "kernel") == LUA_TNIL) {
		lua_pop(L, 1);
		return;
	}
	luaL_checktype(L, -1, LUA_TTABLE);
	lua_getglobal(L, "pairs");
	lua_pushvalue(L, -2);
	lua_call(L, 1, 1);
	s->setting_names = fl_xcalloc(LIST_MAX, sizeof(*s->setting_names));
	s->setting_values = fl_xcalloc(LIST_MAX, sizeof(*s->setting_values));
	for (;;) {
		lua_pushvalue(L, -1);
		lua_call(L, 0, 2);
		if (lua_isnil(L, -2))
			break;
		if (lua_type(L, -2) != LUA_TSTRING || s->settings_count == LIST_MAX)
			luaL_error(L, "kernel: expected entries such as [\"vm.swappiness\"] = 60");
		fl_library_tostring(L, -1, NULL);
		if (fl_tunable_check(lua_tostring(L, -3), lua_tostring(L, -1), &error))
			luaL_error(L, "kernel: %s", error.text);
		s->setting_names[s->settings_count] = fl_xstrdup(lua_tostring(L, -3));
		s->setting_values[s->settings_count++] = fl_xstrdup(lua_tostring(L, -1));
		lua_pop(L, 3);
	}
	lua_pop(L, 4);
}

static void read_metrics(lua_State *L, struct fl_scenario *s)
{
	static const char *const keys[] = { "name", "unit", "better", "headline" };
	size_t n = open_list(L, "metrics");
	char where[48], better[16];

	s->metrics = fl_xcalloc(n + 1, sizeof(*s->metrics));
	for (size_t i = 0; i < n; i++) {
		struct fl_scenario_metric *m = &s->metrics[i];
		const char *direction;

		open_entry(L, "metrics", i, keys, 4, where, sizeof(where));
		if (!get_text(L, where, "name", m->name, sizeof(m->name)))
			luaL_error(L, "%s: name is missing", where);
		get_text(L, where, "unit", m->unit, sizeof(m->unit));
		direction = get_text(L, where, "better", better, sizeof(better));
		if (direction && strcmp(direction, "higher") && strcmp(direction, "lower"))
			luaL_error(L, "%s: better must be \"higher\" or \"lower\"", where);
		if (direction)
			m->better = *direction == 'h' ? FL_BETTER_HIGHER : FL_BETTER_LOWER;
		m->headline = lua_getfield(L, -1, "headline") == LUA_TNIL || lua_toboolean(L, -1);
		lua_pop(L, 2);
		s->metrics_count = i + 1;
	}
	lua_pop(L, n ? 1 : 0);
}

static void read_published(lua_State *L, struct fl_scenario *s)
{
	static const char *const keys[] = { "metric", "phase", "base", "changed", "change" };
	size_t n = open_list(L, "published");
	char where[48];

	s->published = fl_xcalloc(n + 1, sizeof(*s->published));
	for (size_t i = 0; i < n; i++) {
		struct fl_published *p = &s->published[i];

		open_entry(L, "published", i, keys, 5, where, sizeof(where));
		if (!get_text(L, where, "metric", p->name, sizeof(p->name)) ||
		    !get_text(L, where, "phase", p->phase, sizeof(p->phase)))
			luaL_error(L, "%s: expected metric, phase, base and changed", where);
		get_text(L, where, "base", p->base, sizeof(p->base));
		get_text(L, where, "changed", p->changed, sizeof(p->changed));
		get_text(L, where, "change", p->change, sizeof(p->change));
		lua_pop(L, 1);
		s->published_count = i + 1;
	}
	lua_pop(L, n ? 1 : 0);
}

static void read_all(lua_State *L, struct fl_scenario *s)
{
	static const char *const keys[] = { "summary", "description", "options", "machine", "kernel", "metrics",
					    "published" };

	check_keys(L, "scenario", keys, sizeof(keys) / sizeof(*keys));
	s->summary = copy_text(L, "scenario", "summary", true);
	read_options(L, s);
	read_machine(L, s);
	read_kernel(L, s);
	read_metrics(L, s);
	read_published(L, s);
}

/* ---- globals of the script ---- */

static void push_option(lua_State *L, const struct fl_option *o, const struct fl_option_value *value)
{
	switch (o->kind) {
	case FL_OPTION_BOOL:
		lua_pushboolean(L, value->number != 0);
		break;
	case FL_OPTION_STRING:
	case FL_OPTION_CHOICE:
		lua_pushstring(L, value->text);
		break;
	default:
		lua_pushinteger(L, value->number);
	}
}

static void set_number(lua_State *L, const char *name, uint64_t value)
{
	lua_pushinteger(L, (lua_Integer)value);
	lua_setfield(L, -2, name);
}

void fl_declare_set_globals(lua_State *L, const struct fl_option_set *options, const struct fl_machine *machine)
{
	lua_newtable(L);
	for (size_t i = 0; i < options->count; i++) {
		push_option(L, &options->table[i], &options->values[i]);
		lua_setfield(L, -2, options->table[i].name);
	}
	lua_setglobal(L, "options");
	lua_newtable(L);
	set_number(L, "memory", machine->memory_bytes);
	set_number(L, "swap", machine->swap_bytes);
	set_number(L, "scale", machine->scale_bytes);
	set_number(L, "cpus", machine->geometry.cpus);
	set_number(L, "page", machine->page_bytes);
	set_number(L, "huge", machine->huge_bytes);
	lua_setglobal(L, "machine");
}

/* While loading, scripts see the defaults. */
static void set_default_globals(lua_State *L, const struct fl_scenario *s)
{
	struct fl_option_set set;
	struct fl_machine machine;
	struct fl_error error;

	if (fl_scenario_machine(&(struct fl_scenario_request){ .scenario = s }, &machine, &error))
		luaL_error(L, "machine: %s", error.text);
	fl_option_set_init(&set, s->options, s->options_count);
	fl_declare_set_globals(L, &set, &machine);
	fl_option_set_fini(&set);
}

static int declare(lua_State *L)
{
	struct fl_script *script = fl_script_of(L);

	luaL_checktype(L, 1, LUA_TTABLE);
	lua_settop(L, 1);
	luaL_checkstack(L, 32, NULL);
	if (script->declared)
		return luaL_error(L, "scenario: a script declares itself once");
	script->declared = true;
	if (script->run) {
		fl_declare_set_globals(L, script->run->options, &script->run->machine);
		return 0;
	}
	read_all(L, script->declare);
	set_default_globals(L, script->declare);
	return 0;
}

void fl_declare_open(lua_State *L)
{
	lua_register(L, "scenario", declare);
}
