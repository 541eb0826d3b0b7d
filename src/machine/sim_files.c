/*
 * machine/sim_files.c - verbs of files, devices and channels.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "machine/sim.h"
#include "mm/dcache.h"
#include "mm/filemap.h"
#include "mm/ipc.h"

#define READ_STEP 256u /* pages of one read(): 1 MiB of 4K pages, as dd bs=1M */

void fl_sim_set_free(struct fl_id_set *set)
{
	free(set->id);
	free(set->content);
}

/* ---- files ---- */

/* The contents: on tmpfs written now, on ext4 on the disk already and not cached. FL_MAPPING_NONE for an empty file. */
static fl_mapping_id make_content(struct fl_agent *agent, const struct fl_op *op, uint32_t pages)
{
	struct fl_mem *mem = agent->vm->mem;
	fl_mapping_id id;

	if (!pages)
		return FL_MAPPING_NONE;
	if (!(op->flags & FL_OP_TMPFS))
		return fl_file_create(mem, FL_MAPPING_REGULAR, agent->vm->disk, pages);
	id = fl_file_create(mem, FL_MAPPING_SHMEM, NULL, 0);
	fl_file_write(mem, &agent->who, id, 0, pages);
	return id;
}

/* Adds one file to the set; false: no memory. */
static bool create_file(struct fl_agent *agent, const struct fl_op *op, struct fl_id_set *set)
{
	struct fl_mem *mem = agent->vm->mem;
	uint32_t id;

	id = fl_dentry_create(mem, &agent->who, op->flags & FL_OP_TMPFS ? FL_FS_TMPFS : FL_FS_EXT4);
	if (id == UINT32_MAX)
		return false;
	set->id[set->count] = id;
	set->content[set->count] = make_content(agent, op, set->pages);
	if (set->content[set->count] != FL_MAPPING_NONE)
		fl_dentry_set_mapping(mem, id, set->content[set->count]);
	set->count++;
	fl_cond_resched(agent->task);
	return true;
}

static int64_t create_files(struct fl_agent *agent, const struct fl_op *op)
{
	uint64_t pages = fl_sim_pages(agent->vm, op->size);
	struct fl_thing thing = { .kind = FL_THING_FILES };

	if (pages > UINT32_MAX / 2)
		return -EFBIG;
	thing.set.pages = (uint32_t)pages;
	thing.set.id = fl_xmalloc(op->count * sizeof(*thing.set.id));
	thing.set.content = fl_xmalloc(op->count * sizeof(*thing.set.content));
	while (thing.set.count < op->count && !agent->process->dying)
		if (!create_file(agent, op, &thing.set))
			break;
	if (thing.set.count)
		return fl_sim_thing_new(agent->vm, &thing);
	fl_sim_set_free(&thing.set);
	return -ENOMEM;
}

static int64_t delete_files(struct fl_agent *agent, const struct fl_op *op)
{
	struct fl_mem *mem = agent->vm->mem;
	struct fl_thing *thing = fl_sim_thing(agent, op->handle, FL_THING_FILES);
	struct fl_id_set set;

	if (!thing)
		return 0;
	set = thing->set;
	thing->kind = FL_THING_GONE;
	for (uint32_t i = 0; i < set.count; i++) {
		fl_charge(agent->task, mem->cost->syscall);
		if (set.content[i] != FL_MAPPING_NONE)
			fl_file_delete(mem, &agent->who, set.content[i]);
		fl_dentry_delete(mem, &agent->who, set.id[i]);
		fl_cond_resched(agent->task);
	}
	fl_sim_set_free(&set);
	return set.count;
}

/* The pages of each file that an operation is about; false after a refusal. */
static bool get_range(struct fl_agent *agent, const struct fl_op *op, const struct fl_id_set *set, uint32_t *first,
		      uint32_t *pages)
{
	uint64_t page = agent->vm->machine.page_bytes, size = set->pages * page;

	if (op->offset % page || op->offset > size || op->length > size - op->offset) {
		fl_sim_refuse(agent, "the range of %lu bytes from %lu on is not inside files of %lu bytes",
			      (unsigned long)op->length, (unsigned long)op->offset, (unsigned long)size);
		return false;
	}
	*first = (uint32_t)(op->offset / page);
	*pages = op->length ? (uint32_t)fl_sim_pages(agent->vm, op->length) : set->pages - *first;
	return true;
}

/* What one read() or write() asks for. */
static void use_pages(struct fl_agent *agent, const struct fl_op *op, fl_mapping_id content, uint32_t first, uint32_t pages)
{
	struct fl_mem *mem = agent->vm->mem;

	if (op->verb == FL_VERB_READ_FILES)
		fl_file_read(mem, &agent->who, content, first, pages);
	else
		fl_file_write(mem, &agent->who, content, first, pages);
}

/* One page a system call, in random order, without readahead: until the file is deleted by somebody else. */
static void use_pages_at_random(struct fl_agent *agent, const struct fl_op *op, uint32_t i, uint32_t first, uint32_t pages,
				struct fl_rng *rng)
{
	struct fl_mem *mem = agent->vm->mem;
	uint32_t *order = fl_xmalloc(pages * sizeof(*order));

	fl_rng_order(rng, order, pages);
	for (uint32_t k = 0; k < pages && !agent->process->dying; k++) {
		const struct fl_thing *thing = fl_sim_thing(agent, op->handle, FL_THING_FILES);

		if (!thing)
			break;
		fl_charge(agent->task, mem->cost->syscall);
		fl_file_advise(mem, thing->set.content[i], true);
		use_pages(agent, op, thing->set.content[i], first + order[k], 1);
		fl_cond_resched(agent->task);
	}
	free(order);
}

/* Opens one file (only a system call if it is open), reads or writes its range, closes it. Was it opened? */
static bool use_file(struct fl_agent *agent, const struct fl_op *op, uint32_t i, uint32_t first, uint32_t pages,
		     struct fl_rng *rng)
{
	struct fl_mem *mem = agent->vm->mem;
	struct fl_thing *thing = fl_sim_thing(agent, op->handle, FL_THING_FILES);
	bool opened = fl_dentry_is_open(mem, thing->set.id[i]);

	if (opened)
		fl_charge(agent->task, mem->cost->syscall);
	else
		opened = fl_dentry_lookup(mem, &agent->who, thing->set.id[i]);
	thing = fl_sim_thing(agent, op->handle, FL_THING_FILES);
	if (!thing || thing->set.content[i] == FL_MAPPING_NONE)
		return opened;
	if (op->flags & FL_OP_RANDOM) {
		use_pages_at_random(agent, op, i, first, pages, rng);
	} else {
		fl_file_advise(mem, thing->set.content[i], false);
		use_pages(agent, op, thing->set.content[i], first, pages);
	}
	fl_cond_resched(agent->task);
	return opened;
}

/* Each file of the set, or so many drawn at random: as `ls`, `cat`, a build or a server does. Files that were opened. */
static int64_t use_files(struct fl_agent *agent, const struct fl_op *op)
{
	struct fl_thing *thing = fl_sim_thing(agent, op->handle, FL_THING_FILES);
	uint32_t count = thing ? thing->set.count : 0, opened = 0, first, pages;
	uint64_t uses = op->count ? op->count : count;
	struct fl_rng rng;

	if (!thing || !get_range(agent, op, &thing->set, &first, &pages))
		return 0;
	fl_rng_init(&rng, op->draw, "files", 0);
	for (uint64_t i = 0; i < uses && !agent->process->dying && fl_sim_thing(agent, op->handle, FL_THING_FILES); i++)
		opened += use_file(agent, op, op->count ? (uint32_t)fl_rng_below(&rng, count) : (uint32_t)i, first, pages,
				   &rng);
	return opened;
}

/* Files that are open afterwards, or were closed. */
static int64_t open_or_close_files(struct fl_agent *agent, const struct fl_op *op)
{
	struct fl_mem *mem = agent->vm->mem;
	struct fl_thing *thing = fl_sim_thing(agent, op->handle, FL_THING_FILES);
	uint32_t count = thing ? thing->set.count : 0, done = 0;

	for (uint32_t i = 0; i < count && !agent->process->dying; i++) {
		thing = fl_sim_thing(agent, op->handle, FL_THING_FILES);
		if (!thing)
			break;
		if (op->verb == FL_VERB_OPEN_FILES) {
			done += fl_dentry_open(mem, &agent->who, thing->set.id[i]);
		} else {
			done += fl_dentry_is_open(mem, thing->set.id[i]);
			fl_dentry_close(mem, &agent->who, thing->set.id[i]);
		}
		fl_cond_resched(agent->task);
	}
	return done;
}

/* openat() of names that are not there: their negative dentries are cached, so it is the path walk alone. */
static int64_t look_up(struct fl_agent *agent, const struct fl_op *op)
{
	const struct fl_cost *cost = agent->vm->mem->cost;

	for (uint64_t i = 0; i < op->count && !agent->process->dying; i++) {
		fl_charge(agent->task, cost->syscall + cost->lookup_miss);
		fl_cond_resched(agent->task);
	}
	return (int64_t)op->count;
}

/* The block device itself: its page cache is asked for with an Unmovable mask. Bytes read. */
static int64_t read_device(struct fl_agent *agent, const struct fl_op *op)
{
	struct fl_backend *vm = agent->vm;
	uint64_t end = fl_sim_pages(vm, op->offset + op->length), at = op->offset >> vm->mem->page_shift, read = 0;

	if (end > FL_SIM_DISK_BYTES >> vm->mem->page_shift)
		return fl_sim_refuse(agent, "the disk of the machine has %lu bytes", (unsigned long)FL_SIM_DISK_BYTES);
	if (!vm->has_block_device) {
		vm->has_block_device = true;
		vm->block_device = fl_file_create(vm->mem, FL_MAPPING_BLOCKDEV, vm->disk,
						  (uint32_t)(FL_SIM_DISK_BYTES >> vm->mem->page_shift));
	}
	for (; at < end && !agent->process->dying; at += READ_STEP) {
		uint32_t pages = end - at < READ_STEP ? (uint32_t)(end - at) : READ_STEP;

		fl_charge(agent->task, vm->mem->cost->syscall);
		read += fl_file_read(vm->mem, &agent->who, vm->block_device, (uint32_t)at, pages);
		fl_cond_resched(agent->task);
	}
	return (int64_t)(read * vm->machine.page_bytes);
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
						 fl_socket_pair_new(vm->mem, &agent->who, (uint32_t)op->size, (uint32_t)op->stride);
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
	case FL_VERB_WRITE_FILES:
		return use_files(agent, op);
	case FL_VERB_OPEN_FILES:
	case FL_VERB_CLOSE_FILES:
		return open_or_close_files(agent, op);
	case FL_VERB_LOOK_UP:
		return look_up(agent, op);
	case FL_VERB_READ_DEVICE:
		return read_device(agent, op);
	case FL_VERB_PIPES:
	case FL_VERB_SOCKETS:
		return make_channels(agent, op);
	case FL_VERB_CLOSE:
		return close_channels(agent, op);
	default:
		return fl_sim_refuse(agent, "the model does not have this yet");
	}
}
