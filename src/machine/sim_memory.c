/*
 * machine/sim_memory.c - verbs of memory: mappings, touches, advice, locks.
 *
 * Touches are loops here, one access after the other, because each fault is timed. Orders that are drawn at random come from
 * op->draw, so they belong to the load and not to the kernel.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/rng.h"
#include "machine/sim.h"
#include "mm/memory.h"

/* The pages of a mapping that an operation is about. */
struct range {
	fl_vpn start;
	uint32_t pages;
	uint32_t stride; /* pages */
};

static bool get_range(struct fl_agent *agent, const struct fl_op *op, struct range *ret)
{
	struct fl_backend *vm = agent->vm;
	const struct fl_thing *thing = fl_sim_thing(agent, op->handle, FL_THING_MAPPING);
	uint64_t page = vm->machine.page_bytes, size, length;

	if (!thing)
		return false;
	size = thing->mapping.pages * page;
	length = op->length ? op->length : size - (op->offset < size ? op->offset : size);
	if (op->offset % page || op->stride % page) {
		fl_sim_refuse(agent, "offset and stride must be multiples of the page size, %lu", (unsigned long)page);
		return false;
	}
	if (op->offset >= size || length > fl_sim_pages(vm, size - op->offset) * page) {
		fl_sim_refuse(agent, "the range of %lu bytes from %lu on is not inside the mapping of %lu bytes",
			      (unsigned long)length, (unsigned long)op->offset, (unsigned long)size);
		return false;
	}
	ret->start = thing->mapping.start + (fl_vpn)(op->offset / page);
	ret->pages = (uint32_t)fl_sim_pages(vm, length);
	ret->stride = op->stride ? (uint32_t)(op->stride / page) : 1;
	return true;
}

/* ---- mapping ---- */

static uint32_t vma_flags(uint32_t flags)
{
	return (flags & FL_OP_HUGE ? FL_VM_HUGEPAGE : 0) | (flags & FL_OP_NOHUGE ? FL_VM_NOHUGEPAGE : 0) |
	       (flags & FL_OP_DROPPABLE ? FL_VM_DROPPABLE : 0) | (flags & FL_OP_LOCKED ? FL_VM_LOCKED : 0);
}

/* Adds the handle of a mapping, or -ENOMEM when mmap() gave none. */
static int64_t new_mapping(struct fl_agent *agent, const struct fl_map_request *request)
{
	fl_vpn start;

	fl_charge(agent->task, agent->vm->mem->cost->syscall);
	start = fl_mmap(agent->vm->mem, &agent->who, fl_agent_mm(agent), request);
	if (start == FL_VPN_NONE)
		return -ENOMEM;
	return fl_sim_thing_new(agent->vm, &(struct fl_thing){ .kind = FL_THING_MAPPING,
							       .mapping = { agent->process, start, request->pages } });
}

/* Sets what a mapping of a file or of shared memory names; false after a refusal. */
static bool map_content(struct fl_agent *agent, const struct fl_op *op, struct fl_map_request *request)
{
	struct fl_thing *thing;

	if (op->flags & FL_OP_SHMEM) {
		request->type = FL_VMA_SHMEM;
		request->mapping = fl_file_create(agent->vm->mem, FL_MAPPING_SHMEM, NULL, request->pages);
		return true;
	}
	thing = fl_sim_thing(agent, op->file, FL_THING_FILES);
	if (!thing)
		return false;
	if (op->number >= thing->set.count || thing->set.content[op->number] == FL_MAPPING_NONE) {
		fl_sim_refuse(agent, "the set has no file %lu with contents", (unsigned long)op->number + 1);
		return false;
	}
	request->mapping = thing->set.content[op->number];
	request->type = fl_file_type(agent->vm->mem, request->mapping) == FL_MAPPING_SHMEM ? FL_VMA_SHMEM : FL_VMA_FILE;
	request->pages = thing->set.pages;
	return true;
}

static int64_t map(struct fl_agent *agent, const struct fl_op *op)
{
	uint64_t pages = fl_sim_pages(agent->vm, op->length);
	struct fl_map_request request = { .flags = vma_flags(op->flags), .type = FL_VMA_ANON };

	if (pages > UINT32_MAX / 2)
		return -ENOMEM;
	request.pages = (uint32_t)pages;
	if (op->flags & FL_OP_UNALIGNED) {
		request.align = 1u << agent->vm->mem->pmd_order;
		request.misalign = 1;
	}
	if (op->flags & (FL_OP_FILE | FL_OP_SHMEM) && !map_content(agent, op, &request))
		return 0;
	return new_mapping(agent, &request);
}

/* ---- touching ---- */

bool fl_sim_touch_page(struct fl_agent *agent, fl_vpn vpn, bool write, uint64_t *faults)
{
	struct fl_backend *vm = agent->vm;
	fl_ns before = fl_task_now(agent->task);
	bool faulted = false;
	enum fl_fault end = fl_access(vm->mem, &agent->who, fl_agent_mm(agent), vpn, write, &faulted);

	if (faulted) {
		fl_histogram_add(&vm->sampler.now.fault_ns, fl_task_now(agent->task) - before);
		(*faults)++;
	}
	fl_cond_resched(agent->task);
	if (FL_LIKELY(end == FL_FAULT_DONE))
		return !agent->process->dying;
	if (end == FL_FAULT_OOM)
		fl_sim_no_memory(agent);
	else if (end != FL_FAULT_KILLED)
		fl_sim_refuse(agent, end == FL_FAULT_BUS ? "SIGBUS: behind the end of the file" :
							   "SIGSEGV: this part is not mapped any more");
	return false;
}

static uint64_t touch_range(struct fl_agent *agent, const struct range *r, const struct fl_op *op)
{
	uint32_t count = (r->pages + r->stride - 1) / r->stride, *order = NULL;
	bool write = !(op->flags & FL_OP_READ);
	uint64_t faults = 0;

	if (op->flags & FL_OP_RANDOM)
		order = fl_rng_shuffled(count, count, op->draw);
	for (uint32_t i = 0; i < count; i++) {
		fl_vpn vpn = r->start + (order ? order[i] : i) * r->stride;

		if (op->flags & FL_OP_MODIFY && !fl_sim_touch_page(agent, vpn, false, &faults))
			break;
		if (!fl_sim_touch_page(agent, vpn, write, &faults))
			break;
	}
	free(order);
	return faults;
}

/* Page tables, mostly: one base page in every stride. */
static int64_t map_sparse(struct fl_agent *agent, const struct fl_op *op)
{
	struct fl_backend *vm = agent->vm;
	uint64_t stride = fl_sim_pages(vm, op->stride), pages = op->count * stride;
	struct fl_map_request request = { .flags = FL_VM_NOHUGEPAGE, .type = FL_VMA_ANON };
	struct range range;
	int64_t handle;

	if (pages > UINT32_MAX / 2)
		return -ENOMEM;
	request.pages = (uint32_t)pages;
	handle = new_mapping(agent, &request);
	if (handle < 0)
		return handle;
	range = (struct range){ vm->things[handle - 1].mapping.start, request.pages, (uint32_t)stride };
	touch_range(agent, &range, op);
	return handle;
}

/* ---- giving memory back, advice, locks ---- */

/* `count` runs of `size` bytes, drawn without repetition. */
static int64_t discard(struct fl_agent *agent, const struct range *r, const struct fl_op *op)
{
	struct fl_backend *vm = agent->vm;
	uint32_t run = op->size ? (uint32_t)fl_sim_pages(vm, op->size) : 1, slots = r->pages / run, count;
	uint32_t *starts;
	int64_t freed;

	if (op->count > slots)
		return fl_sim_refuse(agent, "%lu runs of %u pages do not fit into %u pages", (unsigned long)op->count, run,
				     r->pages);
	count = (uint32_t)op->count;
	starts = fl_rng_shuffled(slots, count, op->draw);
	for (uint32_t i = 0; i < count; i++)
		starts[i] = r->start + starts[i] * run;
	freed = (int64_t)fl_discard_runs(vm->mem, &agent->who, fl_agent_mm(agent), starts, count, run);
	free(starts);
	return freed;
}

/* `count` pages drawn with repetition: all dropped, then all touched in another order. */
static int64_t refault(struct fl_agent *agent, const struct range *r, const struct fl_op *op)
{
	struct fl_backend *vm = agent->vm;
	uint32_t count = (uint32_t)op->count, *order;
	fl_vpn *pages;
	uint64_t faults = 0;
	struct fl_rng rng;

	if (op->count > INT32_MAX / 2)
		return fl_sim_refuse(agent, "%lu pages are too many for one batch", (unsigned long)op->count);
	fl_rng_init(&rng, op->draw, "pages", 0);
	pages = fl_xmalloc((count ? count : 1) * sizeof(*pages));
	for (uint32_t i = 0; i < count; i++)
		pages[i] = r->start + (fl_vpn)fl_rng_below(&rng, r->pages);
	fl_discard_runs(vm->mem, &agent->who, fl_agent_mm(agent), pages, count, 1);
	order = fl_rng_shuffled(count, count, op->draw);
	for (uint32_t i = 0; i < count; i++)
		if (!fl_sim_touch_page(agent, pages[order[i]], true, &faults))
			break;
	free(order);
	free(pages);
	return (int64_t)faults;
}

static int64_t unmap(struct fl_agent *agent, const struct range *r, const struct fl_op *op)
{
	int error = fl_munmap(agent->vm->mem, &agent->who, fl_agent_mm(agent), r->start, r->pages);

	if (!error && !op->offset && !op->length)
		agent->vm->things[op->handle - 1].kind = FL_THING_GONE;
	return error;
}

static int64_t lock(struct fl_agent *agent, const struct range *r, bool on)
{
	struct fl_mem *mem = agent->vm->mem;
	struct fl_mm *mm = fl_agent_mm(agent);
	int error = on ? fl_mlock(mem, &agent->who, mm, r->start, r->pages) :
			 fl_munlock(mem, &agent->who, mm, r->start, r->pages);

	return error ? error : (int64_t)r->pages;
}

static int64_t advise(struct fl_agent *agent, const struct range *r, enum fl_advice advice)
{
	static const enum fl_madvise calls[FL_ADVICES] = {
		[FL_ADVICE_HUGEPAGE] = FL_MADV_HUGEPAGE,   [FL_ADVICE_NOHUGEPAGE] = FL_MADV_NOHUGEPAGE,
		[FL_ADVICE_FREE] = FL_MADV_FREE,	   [FL_ADVICE_DONTNEED] = FL_MADV_DONTNEED,
		[FL_ADVICE_COLLAPSE] = FL_MADV_COLLAPSE,   [FL_ADVICE_DONTNEED_LOCKED] = FL_MADV_DONTNEED_LOCKED,
	};

	int64_t result;

	if (r->stride == 1)
		return fl_madvise(agent->vm->mem, &agent->who, fl_agent_mm(agent), r->start, r->pages, calls[advice]);
	for (uint32_t at = 0; at < r->pages; at += r->stride) {
		result = fl_madvise(agent->vm->mem, &agent->who, fl_agent_mm(agent), r->start + at, 1, calls[advice]);
		if (result < 0)
			return result;
		fl_charge(agent->task, agent->vm->mem->cost->syscall);
		fl_cond_resched(agent->task);
	}
	return 0;
}

static int64_t range_verb(struct fl_agent *agent, const struct fl_op *op)
{
	struct fl_backend *vm = agent->vm;
	struct range r;

	if (!get_range(agent, op, &r))
		return 0;
	if (op->verb != FL_VERB_TOUCH && op->verb != FL_VERB_ACCESS)
		fl_charge(agent->task, vm->mem->cost->syscall);
	switch (op->verb) {
	case FL_VERB_UNMAP:
		return unmap(agent, &r, op);
	case FL_VERB_TOUCH:
		return (int64_t)touch_range(agent, &r, op);
	case FL_VERB_ACCESS:
		return fl_sim_access(agent, op, r.start, r.pages, r.stride);
	case FL_VERB_DISCARD:
		return discard(agent, &r, op);
	case FL_VERB_REFAULT:
		return refault(agent, &r, op);
	case FL_VERB_ADVISE:
		return advise(agent, &r, op->advice);
	case FL_VERB_MLOCK:
	case FL_VERB_MUNLOCK:
		return lock(agent, &r, op->verb == FL_VERB_MLOCK);
	case FL_VERB_HUGE_PAGES:
		return (int64_t)fl_mm_huge_mapped(vm->mem, fl_agent_mm(agent), r.start, r.pages);
	default:
		return (int64_t)(fl_mm_resident(vm->mem, fl_agent_mm(agent), r.start, r.pages) * vm->machine.page_bytes);
	}
}

int64_t fl_sim_memory_verb(struct fl_agent *agent, const struct fl_op *op)
{
	if (op->verb == FL_VERB_MAP)
		return map(agent, op);
	if (op->verb == FL_VERB_MAP_SPARSE)
		return map_sparse(agent, op);
	return range_verb(agent, op);
}
