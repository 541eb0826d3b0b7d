/*
 * scenario/verbs.c - the verbs and samplers as scenarios call them. A verb fills one operation and yields; what became of it
 * is pushed when the backend has carried it out. docs/SCENARIOS.md describes each for people.
 */
#include <errno.h>
#include <lauxlib.h>
#include <string.h>

#include "base/names.h"
#include "scenario/run.h"

#define BYTES_MAX ((lua_Integer)1 << 46)

/* ---- yielding ---- */

/* The result of the operation, or nil and the name of the errno; a refusal is the script's error. */
static int resume_verb(lua_State *L, int status, lua_KContext verb)
{
	struct fl_body *body = fl_body_of(L, fl_verb_name((enum fl_verb)verb));
	const struct fl_outcome *o = &body->outcome;

	(void)status;
	if (o->refusal)
		return luaL_error(L, "%s: %s", fl_verb_name((enum fl_verb)verb), o->refusal);
	if (o->value < 0) {
		lua_pushnil(L);
		lua_pushstring(L, strerrorname_np((int)-o->value));
		return 2;
	}
	if (verb == FL_VERB_WAIT || verb == FL_VERB_ENDED)
		lua_pushboolean(L, o->value != 0);
	else
		lua_pushinteger(L, o->value);
	return 1;
}

static struct fl_op *begin_op(lua_State *L, enum fl_verb verb)
{
	struct fl_body *body = fl_body_of(L, fl_verb_name(verb));

	if (!lua_isyieldable(L))
		luaL_error(L, "%s: a verb cannot be used inside a callback of a library function", fl_verb_name(verb));
	memset(body->op, 0, sizeof(*body->op));
	body->op->verb = verb;
	return body->op;
}

static int yield_op(lua_State *L, struct fl_op *op)
{
	if (op->flags & FL_OP_RANDOM || op->verb == FL_VERB_DISCARD || op->verb == FL_VERB_REFAULT ||
	    (op->verb == FL_VERB_READ_FILES && op->count) || (op->verb == FL_VERB_WRITE_FILES && op->count))
		op->draw = fl_rng_u64(&fl_body_of(L, "")->rng);
	op->script = fl_script_of(L)->chunk + 1;
	op->line = (unsigned int)fl_script_line(L);
	return lua_yieldk(L, 0, (lua_KContext)op->verb, resume_verb);
}

/* ---- arguments ---- */

static uint64_t check_number(lua_State *L, int arg, lua_Integer min, lua_Integer max)
{
	lua_Integer n = luaL_checkinteger(L, arg);

	if (n < min || n > max)
		luaL_argerror(L, arg, lua_pushfstring(L, "%I is out of range; expected %I to %I", (LUAI_UACINT)n,
						      (LUAI_UACINT)min, (LUAI_UACINT)max));
	return (uint64_t)n;
}

static uint64_t check_bytes(lua_State *L, int arg)
{
	return check_number(L, arg, 1, BYTES_MAX);
}

static int64_t check_handle(lua_State *L, int arg)
{
	return (int64_t)check_number(L, arg, 1, INT32_MAX);
}

static void check_name(lua_State *L, int arg, char *to, size_t length)
{
	size_t n;
	const char *text = luaL_checklstring(L, arg, &n);

	if (n >= length || strlen(text) != n || n == 0)
		luaL_argerror(L, arg, lua_pushfstring(L, "expected a name of 1 to %d letters", (int)length - 1));
	memcpy(to, text, n + 1);
}

static const struct {
	const char *word;
	uint32_t flag;
} words[] = {
	{ "huge", FL_OP_HUGE },	    { "nohuge", FL_OP_NOHUGE },	      { "droppable", FL_OP_DROPPABLE },
	{ "shmem", FL_OP_SHMEM },   { "unaligned", FL_OP_UNALIGNED }, { "locked", FL_OP_LOCKED },
	{ "read", FL_OP_READ },	    { "random", FL_OP_RANDOM }, { "long", FL_OP_LONG },
};

/* Words from `arg` on, each a flag of `allowed`. */
static uint32_t check_words(lua_State *L, int arg, uint32_t allowed)
{
	uint32_t flags = 0;

	for (; arg <= lua_gettop(L); arg++) {
		const char *word = luaL_checkstring(L, arg), *names[8];
		size_t count = 0;
		uint32_t flag = 0;
		char hint[128];

		for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
			if (!(words[i].flag & allowed))
				continue;
			names[count++] = words[i].word;
			if (!strcmp(word, words[i].word))
				flag = words[i].flag;
		}
		if (!flag)
			luaL_argerror(L, arg, lua_pushfstring(L, "\"%s\" is not a flag of this verb%s", word,
							      fl_names_hint(word, names, count, hint, sizeof(hint))));
		flags |= flag;
	}
	return flags;
}

static bool get_field(lua_State *L, int arg, const char *key, uint64_t *to)
{
	int is_integer;

	if (lua_getfield(L, arg, key) != LUA_TNIL) {
		lua_Integer n = lua_tointegerx(L, -1, &is_integer);

		if (!is_integer || n < 0 || n > BYTES_MAX)
			luaL_argerror(L, arg, lua_pushfstring(L, "%s must be a whole number from 0 to %I", key,
							      (LUAI_UACINT)BYTES_MAX));
		*to = (uint64_t)n;
	}
	lua_pop(L, 1);
	return true;
}

/* An optional table { offset, length, stride, size, read, random }, of files { offset, length, random, files }. */
static void check_range(lua_State *L, int arg, struct fl_op *op)
{
	static const char *const memory_keys[] = { "offset", "length", "stride", "size", "read", "random", "modify", "passes",
						   "pattern", "tlb", "mhz", "access_mcycles", "l2_mcycles", "walk_mcycles" };
	static const char *const file_keys[] = { "offset", "length", "random", "files" };
	const bool is_file = op->verb == FL_VERB_READ_FILES || op->verb == FL_VERB_WRITE_FILES;
	const char *const *keys = is_file ? file_keys : memory_keys;
	const size_t entries = is_file ? 4 : op->verb == FL_VERB_ACCESS ? 14 : 7;
	char hint[128];

	if (lua_isnoneornil(L, arg))
		return;
	luaL_checktype(L, arg, LUA_TTABLE);
	for (lua_pushnil(L); lua_next(L, arg); lua_pop(L, 1)) {
		const char *key = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "?";
		size_t i = 0;

		while (i < entries && strcmp(key, keys[i]))
			i++;
		if (i == entries)
			luaL_argerror(L, arg, lua_pushfstring(L, "there is no entry \"%s\"%s", key,
							      fl_names_hint(key, keys, entries, hint, sizeof(hint))));
	}
	get_field(L, arg, "offset", &op->offset);
	get_field(L, arg, "length", &op->length);
	get_field(L, arg, "stride", &op->stride);
	get_field(L, arg, "size", &op->size);
	if (is_file || op->verb == FL_VERB_ACCESS)
		get_field(L, arg, is_file ? "files" : "passes", &op->count);
	lua_getfield(L, arg, "read");
	lua_getfield(L, arg, "random");
	lua_getfield(L, arg, "modify");
	op->flags |= (lua_toboolean(L, -3) ? FL_OP_READ : 0) | (lua_toboolean(L, -2) ? FL_OP_RANDOM : 0) |
		     (lua_toboolean(L, -1) ? FL_OP_MODIFY : 0);
	lua_pop(L, 3);
}

/* ---- processes ---- */

/* process(name, [ordinal,] body, ...) */
static int verb_process(lua_State *L)
{
	struct fl_op *op = begin_op(L, FL_VERB_PROCESS);
	struct fl_body *self = fl_body_of(L, "process");
	int body_arg = lua_isfunction(L, 2) ? 2 : 3;

	check_name(L, 1, op->name, 32);
	op->ordinal = body_arg == 3 ? check_number(L, 2, 0, INT32_MAX) : 0;
	luaL_checktype(L, body_arg, LUA_TFUNCTION);
	if (fl_body_new(self->run, L, lua_gettop(L) - body_arg, op->name, op->ordinal, &op->program))
		return luaL_error(L, "process: \"%s\" number %I was started before; number them: process(name, number, "
				  "body)", op->name, (LUAI_UACINT)op->ordinal);
	return yield_op(L, op);
}

/* thread(body, ...) */
static int verb_thread(lua_State *L)
{
	struct fl_op *op = begin_op(L, FL_VERB_THREAD);
	struct fl_body *self = fl_body_of(L, "thread");
	char name[64];

	luaL_checktype(L, 1, LUA_TFUNCTION);
	if (snprintf(name, sizeof(name), "%s.%lu/", self->name, (unsigned long)self->ordinal) >= (int)sizeof(name))
		return luaL_error(L, "thread: threads are nested too deeply");
	snprintf(op->name, sizeof(op->name), "%s", self->name);
	op->ordinal = self->threads++;
	if (fl_body_new(self->run, L, lua_gettop(L) - 1, name, op->ordinal, &op->program))
		return luaL_error(L, "thread: started twice");
	return yield_op(L, op);
}

static int verb_wait(lua_State *L)
{
	struct fl_op *op = begin_op(L, FL_VERB_WAIT);

	op->handle = lua_isnoneornil(L, 1) ? 0 : check_handle(L, 1);
	return yield_op(L, op);
}

/* Verbs whose only argument is a handle. */
static int handle_verb(lua_State *L, enum fl_verb verb)
{
	struct fl_op *op = begin_op(L, verb);

	op->handle = check_handle(L, 1);
	return yield_op(L, op);
}

static int verb_ended(lua_State *L)
{
	return handle_verb(L, FL_VERB_ENDED);
}

static int verb_kill(lua_State *L)
{
	return handle_verb(L, FL_VERB_KILL);
}

static int plain_verb(lua_State *L, enum fl_verb verb)
{
	return yield_op(L, begin_op(L, verb));
}

static int verb_exit(lua_State *L)
{
	return plain_verb(L, FL_VERB_EXIT);
}

static int verb_compute(lua_State *L)
{
	struct fl_op *op = begin_op(L, FL_VERB_COMPUTE);

	op->time_ns = check_number(L, 1, 0, BYTES_MAX);
	return yield_op(L, op);
}

static int verb_sleep(lua_State *L)
{
	struct fl_op *op = begin_op(L, FL_VERB_SLEEP);

	op->time_ns = check_number(L, 1, 0, BYTES_MAX);
	return yield_op(L, op);
}

static int verb_yield(lua_State *L)
{
	return plain_verb(L, FL_VERB_YIELD);
}

static int verb_pause(lua_State *L)
{
	return plain_verb(L, FL_VERB_PAUSE);
}

/* ---- memory ---- */

static int verb_map(lua_State *L)
{
	struct fl_op *op = begin_op(L, FL_VERB_MAP);

	op->length = check_bytes(L, 1);
	op->flags = check_words(L, 2, FL_OP_HUGE | FL_OP_NOHUGE | FL_OP_DROPPABLE | FL_OP_SHMEM | FL_OP_UNALIGNED |
					      FL_OP_LOCKED);
	return yield_op(L, op);
}

/* map_file(files, number) */
static int verb_map_file(lua_State *L)
{
	struct fl_op *op = begin_op(L, FL_VERB_MAP);

	op->flags = FL_OP_FILE;
	op->file = check_handle(L, 1);
	op->number = lua_isnoneornil(L, 2) ? 0 : check_number(L, 2, 1, INT32_MAX) - 1;
	return yield_op(L, op);
}

static int verb_map_sparse(lua_State *L)
{
	struct fl_op *op = begin_op(L, FL_VERB_MAP_SPARSE);

	op->count = check_number(L, 1, 1, INT32_MAX);
	op->stride = lua_isnoneornil(L, 2) ? fl_body_of(L, "map_sparse")->run->machine.huge_bytes : check_bytes(L, 2);
	op->flags = check_words(L, 3, FL_OP_READ);
	return yield_op(L, op);
}

static int range_verb(lua_State *L, enum fl_verb verb)
{
	struct fl_op *op = begin_op(L, verb);

	op->handle = check_handle(L, 1);
	check_range(L, 2, op);
	return yield_op(L, op);
}

static int verb_unmap(lua_State *L)
{
	return range_verb(L, FL_VERB_UNMAP);
}

static int verb_touch(lua_State *L)
{
	return range_verb(L, FL_VERB_TOUCH);
}

static int verb_mlock(lua_State *L)
{
	return range_verb(L, FL_VERB_MLOCK);
}

static int verb_munlock(lua_State *L)
{
	return range_verb(L, FL_VERB_MUNLOCK);
}

static int verb_huge_pages(lua_State *L)
{
	return range_verb(L, FL_VERB_HUGE_PAGES);
}

static int verb_resident(lua_State *L)
{
	return range_verb(L, FL_VERB_RESIDENT);
}

/* A cost in 1/1000 cycles, where the table at `arg` has one; `bit` then says so. */
static uint32_t get_mcycles(lua_State *L, int arg, const char *key, struct fl_op *op, uint32_t bit)
{
	uint64_t value = UINT64_MAX;

	get_field(L, arg, key, &value);
	if (value == UINT64_MAX)
		return 0;
	if (value > 1000000)
		luaL_argerror(L, arg, lua_pushfstring(L, "%s is out of range", key));
	op->has_speed |= bit;
	return (uint32_t)value;
}

/* What only access() takes, from the same table as the range. */
static void check_speed(lua_State *L, int arg, struct fl_op *op)
{
	static const char *const patterns[] = { "order", "uniform", "zipf", NULL };
	uint64_t mhz = 0;

	if (lua_isnoneornil(L, arg))
		return;
	op->access_mcycles = get_mcycles(L, arg, "access_mcycles", op, FL_OP_HAS_ACCESS);
	op->l2_mcycles = get_mcycles(L, arg, "l2_mcycles", op, FL_OP_HAS_L2);
	op->walk_mcycles = get_mcycles(L, arg, "walk_mcycles", op, FL_OP_HAS_WALK);
	get_field(L, arg, "mhz", &mhz);
	if (mhz > 1000000)
		luaL_argerror(L, arg, "mhz is out of range");
	op->mhz = (uint32_t)mhz;
	lua_getfield(L, arg, "pattern");
	op->pattern = lua_isnil(L, -1) ? FL_PATTERN_ORDER : (enum fl_pattern)luaL_checkoption(L, -1, NULL, patterns);
	lua_getfield(L, arg, "tlb");
	if (!lua_isnil(L, -1))
		check_name(L, -1, op->text, sizeof(op->text));
	lua_pop(L, 2);
}

/* access(mapping, time, range), access(mapping, pause, { passes =, ... }) */
static int verb_access(lua_State *L)
{
	struct fl_op *op = begin_op(L, FL_VERB_ACCESS);

	op->handle = check_handle(L, 1);
	check_range(L, 3, op);
	op->time_ns = check_number(L, 2, op->count ? 0 : 1, BYTES_MAX);
	check_speed(L, 3, op);
	if (op->count || op->pattern != FL_PATTERN_ORDER)
		op->draw = fl_rng_u64(&fl_body_of(L, "access")->rng);
	return yield_op(L, op);
}

/* discard(mapping, runs, { size, offset, length }) */
static int verb_discard(lua_State *L)
{
	struct fl_op *op = begin_op(L, FL_VERB_DISCARD);

	op->handle = check_handle(L, 1);
	op->count = check_number(L, 2, 0, INT32_MAX);
	check_range(L, 3, op);
	return yield_op(L, op);
}

static int verb_refault(lua_State *L)
{
	struct fl_op *op = begin_op(L, FL_VERB_REFAULT);

	op->handle = check_handle(L, 1);
	op->count = check_number(L, 2, 0, INT32_MAX);
	check_range(L, 3, op);
	return yield_op(L, op);
}

static int verb_advise(lua_State *L)
{
	static const char *const advice[FL_ADVICES + 1] = { "hugepage", "nohugepage", "free", "dontneed",
							    "dontneed_locked", "collapse", NULL };
	struct fl_op *op = begin_op(L, FL_VERB_ADVISE);

	op->handle = check_handle(L, 1);
	op->advice = (enum fl_advice)luaL_checkoption(L, 2, NULL, advice);
	check_range(L, 3, op);
	return yield_op(L, op);
}

/* ---- files, devices, channels ---- */

static int verb_create_files(lua_State *L)
{
	static const char *const systems[] = { "ext4", "tmpfs", NULL };
	struct fl_op *op = begin_op(L, FL_VERB_CREATE_FILES);

	op->count = check_number(L, 1, 1, INT32_MAX);
	op->size = check_number(L, 2, 0, BYTES_MAX);
	op->flags = luaL_checkoption(L, 3, "ext4", systems) ? FL_OP_TMPFS : 0;
	return yield_op(L, op);
}

static int verb_delete_files(lua_State *L)
{
	return handle_verb(L, FL_VERB_DELETE_FILES);
}

static int verb_open_files(lua_State *L)
{
	return handle_verb(L, FL_VERB_OPEN_FILES);
}

static int verb_close_files(lua_State *L)
{
	return handle_verb(L, FL_VERB_CLOSE_FILES);
}

static int verb_read_files(lua_State *L)
{
	return range_verb(L, FL_VERB_READ_FILES);
}

static int verb_write_files(lua_State *L)
{
	return range_verb(L, FL_VERB_WRITE_FILES);
}

static int verb_read_device(lua_State *L)
{
	struct fl_op *op = begin_op(L, FL_VERB_READ_DEVICE);

	op->length = check_bytes(L, 1);
	op->offset = lua_isnoneornil(L, 2) ? 0 : check_number(L, 2, 0, BYTES_MAX);
	return yield_op(L, op);
}

static int verb_look_up(lua_State *L)
{
	struct fl_op *op = begin_op(L, FL_VERB_LOOK_UP);

	op->count = check_number(L, 1, 0, 1000000);
	return yield_op(L, op);
}

static int verb_pipes(lua_State *L)
{
	struct fl_op *op = begin_op(L, FL_VERB_PIPES);

	op->count = check_number(L, 1, 1, INT32_MAX);
	op->size = lua_isnoneornil(L, 2) ? 0 : check_number(L, 2, 0, 1 << 20);
	return yield_op(L, op);
}

/* sockets(count, bytes, message) */
static int verb_sockets(lua_State *L)
{
	struct fl_op *op = begin_op(L, FL_VERB_SOCKETS);

	op->count = check_number(L, 1, 1, INT32_MAX);
	op->size = lua_isnoneornil(L, 2) ? 0 : check_number(L, 2, 0, 1 << 20);
	op->stride = lua_isnoneornil(L, 3) ? 0 : check_number(L, 3, 1, 1 << 20);
	return yield_op(L, op);
}

/* close(channels, count, "random") */
static int verb_close(lua_State *L)
{
	struct fl_op *op = begin_op(L, FL_VERB_CLOSE);

	op->handle = check_handle(L, 1);
	op->count = lua_isnoneornil(L, 2) ? 0 : check_number(L, 2, 1, INT32_MAX);
	op->flags = check_words(L, 3, FL_OP_RANDOM);
	return yield_op(L, op);
}

/* ---- the kernel's knobs ---- */

static int verb_set(lua_State *L)
{
	struct fl_op *op = begin_op(L, FL_VERB_SET);

	check_name(L, 1, op->name, sizeof(op->name));
	check_name(L, 2, op->text, sizeof(op->text));
	return yield_op(L, op);
}

static int verb_compact(lua_State *L)
{
	return plain_verb(L, FL_VERB_COMPACT);
}

static int verb_drop_caches(lua_State *L)
{
	struct fl_op *op = begin_op(L, FL_VERB_DROP_CACHES);

	op->count = lua_isnoneornil(L, 1) ? 3 : check_number(L, 1, 1, 3);
	return yield_op(L, op);
}

static int verb_drain(lua_State *L)
{
	return plain_verb(L, FL_VERB_DRAIN);
}

/* ---- measuring ---- */

static int verb_sample(lua_State *L)
{
	struct fl_op *op = begin_op(L, FL_VERB_SAMPLE);

	check_name(L, 1, op->name, 24);
	op->flags = check_words(L, 2, FL_OP_LONG);
	return yield_op(L, op);
}

static int verb_measure(lua_State *L)
{
	return plain_verb(L, FL_VERB_MEASURE);
}

static int verb_counter(lua_State *L)
{
	struct fl_op *op = begin_op(L, FL_VERB_COUNTER);

	check_name(L, 1, op->name, sizeof(op->name));
	return yield_op(L, op);
}

static int verb_perf(lua_State *L)
{
	struct fl_op *op = begin_op(L, FL_VERB_PERF);

	check_name(L, 1, op->name, sizeof(op->name));
	return yield_op(L, op);
}

static int verb_clock(lua_State *L)
{
	return plain_verb(L, FL_VERB_CLOCK);
}

static const struct fl_scenario_metric *check_metric(lua_State *L, const struct fl_scenario *s, const char *name)
{
	const char *names[256];
	char hint[160];
	size_t i;

	for (i = 0; i < s->metrics_count; i++) {
		if (!strcmp(s->metrics[i].name, name))
			return &s->metrics[i];
		names[i] = s->metrics[i].name;
	}
	luaL_error(L, "record: the scenario declares no metric \"%s\"%s", name,
		   fl_names_hint(name, names, i, hint, sizeof(hint)));
	return NULL;
}

/* record(metric, phase, value [, divisor]): value / divisor; a nil value or a divisor of 0 is "no value". Takes the place of
 * what a sample has under that name and phase. */
static int call_record(lua_State *L)
{
	struct fl_body *body = fl_body_of(L, "record");
	bool valid = !lua_isnil(L, 2 + 1);
	lua_Integer value = valid ? luaL_checkinteger(L, 3) : 0, divisor = luaL_optinteger(L, 4, 1);
	struct fl_sample *sample;
	char phase[24];

	check_metric(L, body->run->scenario, luaL_checkstring(L, 1));
	check_name(L, 2, phase, sizeof(phase));
	valid = valid && divisor != 0;
	sample = fl_record_find(body->run->record, lua_tostring(L, 1), phase);
	if (!sample)
		sample = fl_record_add(body->run->record, lua_tostring(L, 1), phase, 0);
	sample->value = valid ? (double)value / (double)divisor : 0;
	sample->valid = valid;
	return 0;
}

/* ---- random numbers of the task's own stream ---- */

static int sample_uniform(lua_State *L)
{
	struct fl_body *body = fl_body_of(L, "uniform");
	lua_Integer low = luaL_checkinteger(L, 1), high = luaL_checkinteger(L, 2);

	luaL_argcheck(L, low <= high, 2, "the upper limit is below the lower one");
	if (low == INT64_MIN && high == INT64_MAX)
		return luaL_error(L, "uniform: the range is too wide");
	lua_pushinteger(L, (lua_Integer)((uint64_t)low + fl_rng_below(&body->rng, (uint64_t)high - (uint64_t)low + 1)));
	return 1;
}

/* lognormal(median, sigma_percent) */
static int sample_lognormal(lua_State *L)
{
	struct fl_body *body = fl_body_of(L, "lognormal");
	uint64_t median = check_number(L, 1, 1, (lua_Integer)1 << 40);

	lua_pushinteger(L, (lua_Integer)fl_sample_lognormal(&body->rng, median, (unsigned int)check_number(L, 2, 0, 300)));
	return 1;
}

/* zipf(n, exponent_percent) */
static int sample_zipf(lua_State *L)
{
	struct fl_body *body = fl_body_of(L, "zipf");
	uint32_t n = (uint32_t)check_number(L, 1, 1, FL_ZIPF_N_MAX);
	unsigned int percent = lua_isnoneornil(L, 2) ? 100 : (unsigned int)check_number(L, 2, 0, 400);

	fl_script_charge(L, n);
	lua_pushinteger(L, (lua_Integer)fl_sample_zipf(&body->run->zipf, &body->rng, n, percent));
	return 1;
}

static const luaL_Reg functions[] = {
	{ "process", verb_process }, { "thread", verb_thread }, { "wait", verb_wait },
	{ "ended", verb_ended }, { "kill", verb_kill },
	{ "exit", verb_exit }, { "compute", verb_compute }, { "sleep", verb_sleep }, { "yield", verb_yield },
	{ "pause", verb_pause }, { "measure", verb_measure },
	{ "counter", verb_counter }, { "perf", verb_perf },
	{ "map", verb_map }, { "map_file", verb_map_file }, { "map_sparse", verb_map_sparse }, { "unmap", verb_unmap },
	{ "touch", verb_touch }, { "access", verb_access }, { "discard", verb_discard }, { "refault", verb_refault }, { "advise", verb_advise },
	{ "mlock", verb_mlock }, { "munlock", verb_munlock }, { "huge_pages", verb_huge_pages },
	{ "resident", verb_resident }, { "create_files", verb_create_files }, { "delete_files", verb_delete_files },
	{ "open_files", verb_open_files }, { "close_files", verb_close_files }, { "read_files", verb_read_files }, { "write_files", verb_write_files }, { "read_device", verb_read_device }, { "look_up", verb_look_up },
	{ "pipes", verb_pipes }, { "sockets", verb_sockets }, { "close", verb_close }, { "set", verb_set },
	{ "compact", verb_compact }, { "drop_caches", verb_drop_caches }, { "drain", verb_drain },
	{ "sample", verb_sample }, { "clock", verb_clock }, { "record", call_record }, { "uniform", sample_uniform },
	{ "lognormal", sample_lognormal }, { "zipf", sample_zipf }, { NULL, NULL }
};

void fl_verbs_open(lua_State *L)
{
	lua_pushglobaltable(L);
	luaL_setfuncs(L, functions, 0);
	lua_pop(L, 1);
}
