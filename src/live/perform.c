/*
 * live/perform.c - operations of the scenario: what the conductor does itself, and orders for agents; handles to addresses,
 * folders and numbers, and back.
 *
 * Refusals (the script is wrong) are those of the model, in its words.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "live/conduct.h"
#include "live/setting.h"

int64_t fl_live_thing_new(struct fl_backend *vm, const struct fl_live_thing *thing)
{
	if (!(vm->things_count & (vm->things_count - 1)))
		vm->things = fl_xrealloc(vm->things, (vm->things_count ? 2 * vm->things_count : 1) * sizeof(*vm->things));
	vm->things[vm->things_count++] = *thing;
	return vm->things_count;
}

/* The thing of that kind, or NULL after a refusal. */
static struct fl_live_thing *thing_of(struct fl_backend *vm, struct fl_live_agent *agent, int64_t handle,
				      enum fl_live_kind kind)
{
	static const char *const words[] = { "a process or thread", "a mapping", "a set of files",
					     "a set of pipes or sockets", "gone" };
	struct fl_live_thing *thing;

	if (handle < 1 || handle > vm->things_count) {
		fl_live_refuse_op(vm, agent, "there is nothing with the handle %ld", (long)handle);
		return NULL;
	}
	thing = &vm->things[handle - 1];
	if (thing->kind != kind) {
		fl_live_refuse_op(vm, agent, "%ld is %s, not %s", (long)handle, words[thing->kind], words[kind]);
		return NULL;
	}
	if ((kind == FL_LIVE_MAPPING || kind == FL_LIVE_CHANNELS) && thing->process != agent->process) {
		fl_live_refuse_op(vm, agent, "%s %ld belongs to another process", kind == FL_LIVE_MAPPING ? "the mapping" : "the set",
				  (long)handle);
		return NULL;
	}
	return thing;
}

static void copy_op(const struct fl_op *op, struct fl_live_order *order)
{
	*order = (struct fl_live_order){ .verb = op->verb, .flags = op->flags, .length = op->length, .offset = op->offset,
					 .stride = op->stride, .size = op->size, .count = op->count, .time_ns = op->time_ns,
					 .draw = op->draw, .advice = op->advice, .pattern = op->pattern };
}

/* ---- processes ---- */

static void wait_for(struct fl_backend *vm, struct fl_live_agent *agent)
{
	struct fl_live_thing *thing = NULL;
	int64_t died = 0;

	agent->target = NULL;
	if (agent->op.handle) {
		thing = thing_of(vm, agent, agent->op.handle, FL_LIVE_AGENT);
		if (!thing)
			return;
		agent->target = thing->agent;
	}
	if (agent->target ? agent->target->state != FL_LIVE_ENDED : agent->children_alive > 0) {
		fl_live_set_state(vm, agent, FL_LIVE_WAITING);
		return;
	}
	if (agent->target)
		died = agent->target->process->no_memory;
	for (uint32_t i = 0; !agent->target && i < vm->agents_count; i++)
		if (vm->agents[i]->parent == agent)
			died |= vm->agents[i]->process->no_memory;
	fl_live_complete(vm, agent, died);
}

static void start(struct fl_backend *vm, struct fl_live_agent *agent, bool as_thread)
{
	int64_t handle = fl_live_agent_start(vm, agent, &agent->op.program, agent->op.name, as_thread);

	if (handle < 0 || !as_thread)
		fl_live_complete(vm, agent, handle);
	else
		agent->outcome.value = handle; /* complete when the thread is there */
}

static void kill_or_look(struct fl_backend *vm, struct fl_live_agent *agent)
{
	const struct fl_live_thing *thing = thing_of(vm, agent, agent->op.handle, FL_LIVE_AGENT);

	if (!thing)
		return;
	if (agent->op.verb == FL_VERB_KILL)
		fl_live_agent_kill(thing->agent);
	fl_live_complete(vm, agent, agent->op.verb == FL_VERB_ENDED && thing->agent->state == FL_LIVE_ENDED);
}

static void sleep_until(struct fl_backend *vm, struct fl_live_agent *agent)
{
	agent->wake_ns = fl_live_now_ns() + agent->op.time_ns;
	fl_live_set_state(vm, agent, FL_LIVE_SLEEPING);
}

static void process_verb(struct fl_backend *vm, struct fl_live_agent *agent)
{
	struct fl_live_order order;

	switch (agent->op.verb) {
	case FL_VERB_PROCESS:
	case FL_VERB_THREAD:
		start(vm, agent, agent->op.verb == FL_VERB_THREAD);
		break;
	case FL_VERB_WAIT:
		wait_for(vm, agent);
		break;
	case FL_VERB_ENDED:
	case FL_VERB_KILL:
		kill_or_look(vm, agent);
		break;
	case FL_VERB_SLEEP:
		sleep_until(vm, agent);
		break;
	case FL_VERB_PAUSE:
		fl_live_set_state(vm, agent, FL_LIVE_PAUSED);
		break;
	default: /* exit, compute, yield */
		copy_op(&agent->op, &order);
		fl_live_send(vm, agent, &order, -1);
	}
}

/* ---- memory ---- */

static void map_file(struct fl_backend *vm, struct fl_live_agent *agent, struct fl_live_order *order)
{
	const struct fl_op *op = &agent->op;
	const struct fl_live_thing *set = thing_of(vm, agent, op->file, FL_LIVE_FILES);

	if (!set)
		return;
	if (op->number >= set->count || !set->size) {
		fl_live_refuse_op(vm, agent, "the set has no file %lu with contents", (unsigned long)op->number + 1);
		return;
	}
	snprintf(order->path, sizeof(order->path), "%s/s%lld/%llu", set->is_tmpfs ? vm->tmpfs : vm->folder, (long long)set->number,
		 (unsigned long long)op->number);
	order->length = set->size;
	fl_live_send(vm, agent, order, -1);
}

static uint64_t round_up(uint64_t bytes, uint64_t unit)
{
	return (bytes + unit - 1) / unit * unit;
}

static void map(struct fl_backend *vm, struct fl_live_agent *agent)
{
	struct fl_live_order order;

	copy_op(&agent->op, &order);
	order.length = round_up(order.length, vm->host.page_bytes);
	order.stride = round_up(order.stride, vm->host.page_bytes);
	if (order.verb == FL_VERB_MAP && order.flags & FL_OP_FILE)
		map_file(vm, agent, &order);
	else
		fl_live_send(vm, agent, &order, -1);
}

static void range_verb(struct fl_backend *vm, struct fl_live_agent *agent)
{
	const struct fl_op *op = &agent->op;
	const struct fl_live_thing *thing = thing_of(vm, agent, op->handle, FL_LIVE_MAPPING);
	uint64_t page = vm->host.page_bytes, length;
	struct fl_live_order order;

	if (!thing)
		return;
	length = op->length ? op->length : thing->length - (op->offset < thing->length ? op->offset : thing->length);
	if (op->offset % page || op->stride % page) {
		fl_live_refuse_op(vm, agent, "offset and stride must be multiples of the page size, %lu", (unsigned long)page);
		return;
	}
	if (op->offset >= thing->length || length > thing->length - op->offset) {
		fl_live_refuse_op(vm, agent, "the range of %lu bytes from %lu on is not inside the mapping of %lu bytes",
				  (unsigned long)length, (unsigned long)op->offset, (unsigned long)thing->length);
		return;
	}
	copy_op(op, &order);
	order.address = thing->address + op->offset;
	order.length = round_up(length, page);
	fl_live_send(vm, agent, &order, -1);
}

/* ---- files, devices, channels ---- */

static void create_files(struct fl_backend *vm, struct fl_live_agent *agent)
{
	bool is_tmpfs = agent->op.flags & FL_OP_TMPFS;
	struct fl_live_order order;

	if (fl_live_place_make(vm, is_tmpfs, &vm->error))
		return;
	copy_op(&agent->op, &order);
	agent->op.number = ++vm->last_folder;
	snprintf(order.path, sizeof(order.path), "%s/s%llu", is_tmpfs ? vm->tmpfs : vm->folder,
		 (unsigned long long)agent->op.number);
	fl_live_send(vm, agent, &order, -1);
}

static void files_verb(struct fl_backend *vm, struct fl_live_agent *agent)
{
	const struct fl_op *op = &agent->op;
	struct fl_live_thing *set = thing_of(vm, agent, op->handle, FL_LIVE_FILES);
	struct fl_live_order order;

	if (!set)
		return;
	if (op->verb != FL_VERB_DELETE_FILES &&
	    (op->offset % vm->host.page_bytes || op->offset > set->size || op->length > round_up(set->size, vm->host.page_bytes) - op->offset)) {
		fl_live_refuse_op(vm, agent, "the range of %lu bytes from %lu on is not inside files of %lu bytes",
				  (unsigned long)op->length, (unsigned long)op->offset, (unsigned long)set->size);
		return;
	}
	copy_op(op, &order);
	order.length = op->length ? op->length : set->size - op->offset;
	order.size = op->count; /* files to be drawn; 0: each of them */
	order.stride = vm->host.page_bytes;
	order.count = set->count;
	snprintf(order.path, sizeof(order.path), "%s/s%lld", set->is_tmpfs ? vm->tmpfs : vm->folder, (long long)set->number);
	if (op->verb == FL_VERB_DELETE_FILES)
		set->kind = FL_LIVE_GONE;
	fl_live_send(vm, agent, &order, -1);
}

/* No more than twice the load's budget: the load's cgroup is full by then, and the rest would only wear the host. */
static void read_device(struct fl_backend *vm, struct fl_live_agent *agent)
{
	struct fl_live_order order;

	if (!vm->device[0] && fl_live_place_make(vm, false, &vm->error))
		return;
	copy_op(&agent->op, &order);
	if (order.length > 2 * vm->budget.limit)
		order.length = 2 * vm->budget.limit;
	order.is_first = !vm->device_read;
	vm->device_read = true;
	order.flags |= vm->device[0] ? 0 : FL_OP_FILE;
	snprintf(order.path, sizeof(order.path), "%s%s", vm->device[0] ? vm->device : vm->folder, vm->device[0] ? "" : "/device");
	fl_live_send(vm, agent, &order, -1);
}

static void file_verb(struct fl_backend *vm, struct fl_live_agent *agent)
{
	const struct fl_live_thing *set;
	struct fl_live_order order;

	switch (agent->op.verb) {
	case FL_VERB_CREATE_FILES:
		create_files(vm, agent);
		break;
	case FL_VERB_READ_DEVICE:
		read_device(vm, agent);
		break;
	case FL_VERB_LOOK_UP:
	case FL_VERB_PIPES:
	case FL_VERB_SOCKETS:
		copy_op(&agent->op, &order);
		fl_live_send(vm, agent, &order, -1);
		break;
	case FL_VERB_CLOSE:
		set = thing_of(vm, agent, agent->op.handle, FL_LIVE_CHANNELS);
		if (!set)
			break;
		copy_op(&agent->op, &order);
		order.channels = set->number;
		fl_live_send(vm, agent, &order, -1);
		break;
	default:
		files_verb(vm, agent);
	}
}

/* ---- knobs and measuring ---- */

/* The guardian holds the value of before; the agent writes. */
int fl_live_note_setting(struct fl_backend *vm, const char *path, struct fl_error *reterr)
{
	char value[FL_LIVE_SETTING_VALUE_MAX];
	const char *min_free = "proc/sys/vm/min_free_kbytes";
	int error = fl_live_setting_read("", path, value, reterr);

	if (!error)
		error = fl_live_guardian_note(&vm->guardian, FL_LIVE_NOTE_SETTING, path, value, reterr);
	if (!error && fl_live_setting_moves_min_free(path) && fl_live_setting_read("", min_free, value, NULL) == 0)
		error = fl_live_guardian_note(&vm->guardian, FL_LIVE_NOTE_SETTING, min_free, value, reterr);
	return error;
}

static void set_tunable(struct fl_backend *vm, struct fl_live_agent *agent)
{
	struct fl_live_order order;
	struct fl_error error;
	bool is_set;

	copy_op(&agent->op, &order);
	if (!strncmp(agent->op.name, "disk.", strlen("disk."))) {
		fl_live_complete(vm, agent, -ENOTSUP);
		return;
	}
	if (fl_live_setting_check("", agent->op.name, agent->op.text, &is_set, &error)) {
		fl_live_refuse_op(vm, agent, "%s", error.text);
		return;
	}
	fl_live_setting_path(agent->op.name, order.path, NULL);
	if (fl_live_note_setting(vm, order.path, &vm->error))
		return;
	memcpy(order.text, agent->op.text, sizeof(order.text));
	fl_live_send(vm, agent, &order, -1);
}

static void write_command(struct fl_backend *vm, struct fl_live_agent *agent)
{
	struct fl_live_order order;

	copy_op(&agent->op, &order);
	snprintf(order.path, sizeof(order.path), "proc/sys/vm/%s",
		 agent->op.verb == FL_VERB_COMPACT ? "compact_memory" : "drop_caches");
	snprintf(order.text, sizeof(order.text), "%llu",
		 agent->op.verb == FL_VERB_COMPACT ? 1ull : (unsigned long long)agent->op.count);
	fl_live_send(vm, agent, &order, -1);
}

static void counter(struct fl_backend *vm, struct fl_live_agent *agent)
{
	int64_t value = fl_live_sampler_counter("", agent->op.name);

	if (value < 0)
		fl_live_refuse_op(vm, agent, "this kernel has no counter \"%s\"", agent->op.name);
	else
		fl_live_complete(vm, agent, value);
}

static void perf(struct fl_backend *vm, struct fl_live_agent *agent)
{
	static const char *const names[] = { "accesses", "dtlb_load_misses", "mcycles" };
	struct fl_live_order order;

	copy_op(&agent->op, &order);
	for (size_t i = 0; i < 3; i++) {
		if (strcmp(agent->op.name, names[i]))
			continue;
		snprintf(order.path, sizeof(order.path), "%s", names[i]);
		fl_live_send(vm, agent, &order, -1);
		return;
	}
	fl_live_refuse_op(vm, agent, "there is no counter \"%s\"; there are accesses, dtlb_load_misses, mcycles", agent->op.name);
}

static void knob_verb(struct fl_backend *vm, struct fl_live_agent *agent)
{
	const struct fl_op *op = &agent->op;

	switch (op->verb) {
	case FL_VERB_SET:
		set_tunable(vm, agent);
		break;
	case FL_VERB_COMPACT:
	case FL_VERB_DROP_CACHES:
		write_command(vm, agent);
		break;
	case FL_VERB_DRAIN: /* no kernel offers it; said before the run */
		fl_live_complete(vm, agent, -ENOTSUP);
		break;
	case FL_VERB_SAMPLE:
		snprintf(vm->phase, sizeof(vm->phase), "%.23s", op->name);
		fl_live_sampler_sample(&vm->sampler, op->name, op->flags & FL_OP_LONG, vm->record);
		fl_live_complete(vm, agent, 0);
		break;
	case FL_VERB_MEASURE:
		fl_live_sampler_measure(&vm->sampler);
		fl_live_complete(vm, agent, 0);
		break;
	case FL_VERB_COUNTER:
		counter(vm, agent);
		break;
	case FL_VERB_PERF:
		perf(vm, agent);
		break;
	default:
		fl_live_complete(vm, agent, (int64_t)(fl_live_now_ns() - vm->born_ns));
	}
}

void fl_live_perform(struct fl_backend *vm, struct fl_live_agent *agent)
{
	enum fl_verb verb = agent->op.verb;

	if (verb <= FL_VERB_PAUSE)
		process_verb(vm, agent);
	else if (verb <= FL_VERB_MAP_SPARSE)
		map(vm, agent);
	else if (verb <= FL_VERB_RESIDENT)
		range_verb(vm, agent);
	else if (verb <= FL_VERB_CLOSE)
		file_verb(vm, agent);
	else
		knob_verb(vm, agent);
}

/* ---- answers ---- */

static int64_t new_mapping(struct fl_backend *vm, const struct fl_live_agent *agent, uint64_t address)
{
	const struct fl_op *op = &agent->op;
	uint64_t page = vm->host.page_bytes;
	uint64_t length = op->verb == FL_VERB_MAP_SPARSE ? op->count * round_up(op->stride, page) : round_up(op->length, page);

	if (op->flags & FL_OP_FILE)
		length = round_up(vm->things[op->file - 1].size, page);
	return fl_live_thing_new(vm, &(struct fl_live_thing){ .kind = FL_LIVE_MAPPING, .process = agent->process,
							      .address = address, .length = length });
}

/* What a successful operation made or ended. */
static int64_t settle_things(struct fl_backend *vm, const struct fl_live_agent *agent, const struct fl_live_answer *answer)
{
	const struct fl_op *op = &agent->op;

	switch (op->verb) {
	case FL_VERB_MAP:
	case FL_VERB_MAP_SPARSE:
		return new_mapping(vm, agent, answer->address);
	case FL_VERB_UNMAP:
		if (!op->offset && !op->length)
			vm->things[op->handle - 1].kind = FL_LIVE_GONE;
		return 0;
	case FL_VERB_CREATE_FILES:
		return fl_live_thing_new(vm, &(struct fl_live_thing){ .kind = FL_LIVE_FILES, .number = (int64_t)op->number,
								      .count = (uint64_t)answer->value, .size = op->size,
								      .is_tmpfs = op->flags & FL_OP_TMPFS });
	case FL_VERB_PIPES:
	case FL_VERB_SOCKETS:
		return fl_live_thing_new(vm, &(struct fl_live_thing){ .kind = FL_LIVE_CHANNELS, .process = agent->process,
								      .number = answer->value });
	case FL_VERB_THREAD:
		return agent->outcome.value;
	default:
		return answer->value;
	}
}

void fl_live_take_answer(struct fl_backend *vm, struct fl_live_agent *agent, const struct fl_live_answer *answer)
{
	if (agent->op.verb == FL_VERB_THREAD && answer->value < 0)
		fl_live_thread_failed(vm, vm->things[agent->outcome.value - 1].agent);
	if (answer->latency.faults)
		fl_live_sampler_faults(&vm->sampler, &answer->latency);
	if (answer->refusal[0])
		fl_live_refuse_op(vm, agent, "%s", answer->refusal);
	else
		fl_live_complete(vm, agent, answer->value < 0 ? answer->value : settle_things(vm, agent, answer));
}
