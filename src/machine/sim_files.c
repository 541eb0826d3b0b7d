/*
 * machine/sim_files.c - verbs of files, devices and channels.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "machine/sim.h"
#include "mm/dcache.h"
#include "mm/ipc.h"

void fl_sim_set_free(struct fl_id_set *set)
{
	free(set->id);
	free(set->content);
}

/* ---- files ---- */

static int64_t create_files(struct fl_agent *agent, const struct fl_op *op)
{
	struct fl_backend *vm = agent->vm;
	enum fl_fs fs = op->flags & FL_OP_TMPFS ? FL_FS_TMPFS : FL_FS_EXT4;
	struct fl_thing thing = { .kind = FL_THING_FILES };

	if (op->size)
		return fl_sim_refuse(agent, "the model does not have the contents of files yet: size must be 0");
	thing.set.id = fl_xmalloc(op->count * sizeof(*thing.set.id));
	while (thing.set.count < op->count && !agent->process->dying) {
		uint32_t id;

		fl_charge(agent->task, vm->mem->cost->file_open);
		id = fl_dentry_create(vm->mem, &agent->who, fs);
		if (id == UINT32_MAX)
			break;
		thing.set.id[thing.set.count++] = id;
		fl_cond_resched(agent->task);
	}
	if (thing.set.count)
		return fl_sim_thing_new(vm, &thing);
	fl_sim_set_free(&thing.set);
	return -ENOMEM;
}

static int64_t delete_files(struct fl_agent *agent, const struct fl_op *op)
{
	struct fl_backend *vm = agent->vm;
	struct fl_thing *thing = fl_sim_thing(agent, op->handle, FL_THING_FILES);
	struct fl_id_set set;

	if (!thing)
		return 0;
	set = thing->set;
	thing->kind = FL_THING_GONE;
	for (uint32_t i = 0; i < set.count; i++) {
		fl_charge(agent->task, vm->mem->cost->syscall);
		fl_dentry_delete(vm->mem, &agent->who, set.id[i]);
		fl_cond_resched(agent->task);
	}
	fl_sim_set_free(&set);
	return set.count;
}

/* Opens and closes each file of the set, as `ls` or a build does. */
static int64_t read_files(struct fl_agent *agent, const struct fl_op *op)
{
	struct fl_backend *vm = agent->vm;
	struct fl_thing *thing = fl_sim_thing(agent, op->handle, FL_THING_FILES);
	uint32_t count = thing ? thing->set.count : 0, opened = 0;

	for (uint32_t i = 0; i < count && !agent->process->dying; i++) {
		thing = fl_sim_thing(agent, op->handle, FL_THING_FILES);
		if (!thing)
			break; /* deleted by somebody else meanwhile */
		fl_charge(agent->task, vm->mem->cost->file_open);
		opened += fl_dentry_lookup(vm->mem, &agent->who, thing->set.id[i]);
		fl_cond_resched(agent->task);
	}
	return opened;
}

/* ---- channels ---- */

static int64_t make_channels(struct fl_agent *agent, const struct fl_op *op)
{
	struct fl_backend *vm = agent->vm;
	struct fl_thing thing = { .kind = FL_THING_CHANNELS };

	thing.set.id = fl_xmalloc(op->count * sizeof(*thing.set.id));
	while (thing.set.count < op->count && !agent->process->dying) {
		uint32_t id;

		fl_charge(agent->task, vm->mem->cost->pipe_make);
		id = op->verb == FL_VERB_PIPES ? fl_pipe_new(vm->mem, &agent->who, (uint32_t)op->size) :
						 fl_socket_pair_new(vm->mem, &agent->who, (uint32_t)op->size);
		if (id == UINT32_MAX)
			break;
		thing.set.id[thing.set.count++] = id;
		fl_cond_resched(agent->task);
	}
	if (thing.set.count)
		return fl_sim_thing_new(vm, &thing);
	fl_sim_set_free(&thing.set);
	return -ENOMEM;
}

/* Brings `count` members that are to be closed to the front, drawn at random. */
static void draw_to_front(struct fl_id_set *set, uint32_t count, uint64_t draw)
{
	struct fl_rng rng;

	fl_rng_init(&rng, draw, "order", 0);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t other = i + (uint32_t)fl_rng_below(&rng, set->count - i), swap = set->id[i];

		set->id[i] = set->id[other];
		set->id[other] = swap;
	}
}

static int64_t close_channels(struct fl_agent *agent, const struct fl_op *op)
{
	struct fl_backend *vm = agent->vm;
	struct fl_thing *thing = fl_sim_thing(agent, op->handle, FL_THING_CHANNELS);
	uint32_t count, *closing;

	if (!thing)
		return 0;
	count = op->count && op->count < thing->set.count ? (uint32_t)op->count : thing->set.count;
	if (op->flags & FL_OP_RANDOM)
		draw_to_front(&thing->set, count, op->draw);
	closing = fl_xmalloc((count ? count : 1) * sizeof(*closing));
	memcpy(closing, thing->set.id, count * sizeof(*closing));
	thing->set.count -= count;
	memmove(thing->set.id, thing->set.id + count, thing->set.count * sizeof(*thing->set.id));
	for (uint32_t i = 0; i < count; i++) {
		fl_charge(agent->task, vm->mem->cost->syscall);
		fl_ipc_close(vm->mem, &agent->who, closing[i]);
		fl_cond_resched(agent->task);
	}
	free(closing);
	return count;
}

int64_t fl_sim_file_verb(struct fl_agent *agent, const struct fl_op *op)
{
	switch (op->verb) {
	case FL_VERB_CREATE_FILES:
		return create_files(agent, op);
	case FL_VERB_DELETE_FILES:
		return delete_files(agent, op);
	case FL_VERB_READ_FILES:
		return read_files(agent, op);
	case FL_VERB_PIPES:
	case FL_VERB_SOCKETS:
		return make_channels(agent, op);
	case FL_VERB_CLOSE:
		return close_channels(agent, op);
	default:
		return fl_sim_refuse(agent, "the model does not have this yet");
	}
}
