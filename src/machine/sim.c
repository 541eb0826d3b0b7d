/*
 * machine/sim.c - the sim backend: makes a virtual machine with its daemons, runs the programs, ends the record.
 */
#include "machine/sim.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/size.h"
#include "machine/census.h"
#include "mm/check.h"
#include "mm/compaction.h"
#include "mm/dcache.h"
#include "mm/khugepaged.h"
#include "mm/oom_kill.h"
#include "mm/page_alloc.h"
#include "mm/page_writeback.h"
#include "mm/pcp.h"
#include "mm/restore.h"
#include "mm/swap.h"
#include "mm/swapfile.h"
#include "mm/sysctl.h"
#include "mm/vmscan.h"
#include "sim/platform.h"

#define TICK_NS FL_S_NS /* vm.stat_interval */

/* Disks as a virtio guest on flash sees them. Design choice; no rule of the kernel depends on it. */
static const struct fl_device_model disk_model = {
	.name = "disk", .read_latency_ns = 100000, .write_latency_ns = 50000, .bytes_per_s = 1000000000, .parallel = 32,
};
static const struct fl_device_model swap_model = {
	.name = "swap", .read_latency_ns = 100000, .write_latency_ns = 50000, .bytes_per_s = 500000000, .parallel = 32,
};

/* ---- helpers of the verbs ---- */

int64_t fl_sim_refuse(struct fl_agent *agent, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(agent->refusal, sizeof(agent->refusal), fmt, ap);
	va_end(ap);
	agent->outcome.refusal = agent->refusal;
	return 0;
}

int64_t fl_sim_thing_new(struct fl_backend *vm, const struct fl_thing *thing)
{
	if (!(vm->things_count & (vm->things_count - 1)))
		vm->things = fl_xrealloc(vm->things,
					 (vm->things_count ? 2 * vm->things_count : 1) * sizeof(*vm->things));
	vm->things[vm->things_count++] = *thing;
	return vm->things_count;
}

struct fl_thing *fl_sim_thing(struct fl_agent *agent, int64_t handle, enum fl_thing_kind kind)
{
	static const char *const words[] = { "a process or thread", "a mapping", "a set of files",
					     "a set of pipes or sockets", "gone" };
	struct fl_backend *vm = agent->vm;
	struct fl_thing *thing;

	if (handle < 1 || handle > vm->things_count) {
		fl_sim_refuse(agent, "there is nothing with the handle %ld", (long)handle);
		return NULL;
	}
	thing = &vm->things[handle - 1];
	if (thing->kind != kind) {
		fl_sim_refuse(agent, "%ld is %s, not %s", (long)handle, words[thing->kind], words[kind]);
		return NULL;
	}
	if (kind == FL_THING_MAPPING && thing->mapping.process != agent->process) {
		fl_sim_refuse(agent, "the mapping %ld belongs to another process", (long)handle);
		return NULL;
	}
	return thing;
}

/* ---- verbs of the kernel's knobs and of measuring ---- */

static void sample(struct fl_backend *vm, const char *phase, bool is_long)
{
	snprintf(vm->phase, sizeof(vm->phase), "%.23s", phase);
	fl_sampler_sample(&vm->sampler, vm->mem, phase, is_long, vm->record);
}

/* disk.NAME: what a real host does with dm-delay, nr_requests and io.max. */
static int64_t set_disk(struct fl_agent *agent, const struct fl_op *op)
{
	struct fl_device_model model = *fl_device_model(agent->vm->disk);
	const char *name = op->name + strlen("disk.");
	struct fl_error error;
	int64_t value;

	if (fl_int_parse(op->text, 1, INT64_C(1) << 40, &value, NULL) < 0)
		return fl_sim_refuse(agent, "%s: \"%s\" is not a whole number from 1 to 2^40", op->name, op->text);
	if (!strcmp(name, "bytes_per_s"))
		model.bytes_per_s = (uint64_t)value;
	else if (value > UINT32_MAX)
		return fl_sim_refuse(agent, "%s: %s is too large", op->name, op->text);
	else if (!strcmp(name, "read_latency_ns"))
		model.read_latency_ns = (uint32_t)value;
	else if (!strcmp(name, "write_latency_ns"))
		model.write_latency_ns = (uint32_t)value;
	else if (!strcmp(name, "queue"))
		model.parallel = (uint32_t)value;
	else if (fl_tunable_write(agent->vm->mem, &agent->who, op->name, op->text, &error))
		return fl_sim_refuse(agent, "%s", error.text);
	fl_device_set_model(agent->vm->disk, &model);
	return 0;
}

static int64_t set_tunable(struct fl_agent *agent, const struct fl_op *op)
{
	struct fl_error error;

	fl_task_settle(agent->task);
	if (!strncmp(op->name, "disk.", strlen("disk.")))
		return set_disk(agent, op);
	if (fl_tunable_write(agent->vm->mem, &agent->who, op->name, op->text, &error))
		return fl_sim_refuse(agent, "%s", error.text);
	return 0;
}

static int64_t drain(struct fl_agent *agent)
{
	fl_lru_add_drain_all(agent->vm->mem, &agent->who);
	fl_pcp_drain_all(agent->vm->mem, &agent->who, NULL);
	return 0;
}

static int64_t counter(struct fl_agent *agent, const char *name)
{
	int64_t value;

	fl_charge(agent->task, agent->vm->mem->cost->syscall);
	value = fl_sampler_counter(agent->vm->mem, name);
	return value < 0 ? fl_sim_refuse(agent, "there is no counter \"%s\"", name) : value;
}

static int64_t knob_verb(struct fl_agent *agent, const struct fl_op *op)
{
	struct fl_backend *vm = agent->vm;

	switch (op->verb) {
	case FL_VERB_SET:
		return set_tunable(agent, op);
	case FL_VERB_DRAIN:
		return drain(agent);
	case FL_VERB_COMPACT:
		fl_compact_memory(vm->mem, &agent->who);
		return 0;
	case FL_VERB_DROP_CACHES:
		fl_drop_caches(vm->mem, &agent->who, (unsigned int)op->count);
		return 0;
	case FL_VERB_SAMPLE:
		fl_task_settle(agent->task);
		sample(vm, op->name, op->flags & FL_OP_LONG);
		if (vm->check)
			fl_mem_check(vm->mem);
		return 0;
	case FL_VERB_MEASURE:
		fl_task_settle(agent->task);
		fl_sampler_measure(&vm->sampler, vm->mem);
		return 0;
	case FL_VERB_COUNTER:
		return counter(agent, op->name);
	case FL_VERB_PERF:
		if (!strcmp(op->name, "accesses"))
			return (int64_t)agent->perf.accesses;
		if (!strcmp(op->name, "dtlb_load_misses"))
			return (int64_t)agent->perf.dtlb_load_misses;
		if (!strcmp(op->name, "mcycles"))
			return (int64_t)agent->perf.mcycles;
		return fl_sim_refuse(agent, "there is no counter \"%s\"; there are accesses, dtlb_load_misses, mcycles", op->name);
	case FL_VERB_CLOCK:
		return (int64_t)fl_task_now(agent->task);
	default:
		return fl_sim_refuse(agent, "the model does not have this yet");
	}
}

void fl_sim_perform(struct fl_agent *agent)
{
	const struct fl_op *op = &agent->op;

	agent->outcome = (struct fl_outcome){ 0 };
	if (op->verb <= FL_VERB_PAUSE)
		agent->outcome.value = fl_sim_process_verb(agent, op);
	else if (op->verb <= FL_VERB_RESIDENT)
		agent->outcome.value = fl_sim_memory_verb(agent, op);
	else if (op->verb <= FL_VERB_CLOSE)
		agent->outcome.value = fl_sim_file_verb(agent, op);
	else
		agent->outcome.value = knob_verb(agent, op);
	fl_cond_resched(agent->task);
}

/* ---- kernel threads and timers ---- */

/* vmstat_update() on one CPU: per-CPU lists give back what they no longer need. */
static void worker_body(struct fl_task *task, void *arg)
{
	struct fl_backend *vm = arg;
	struct fl_caller who = { .task = task, .flags = FL_PF_KTHREAD };

	for (unsigned int z = 0; z < FL_ZONES; z++)
		if (vm->mem->zone[z].managed)
			fl_pcp_decay(vm->mem, &who, &vm->mem->zone[z], task->cpu);
}

static void tick(struct fl_timer *timer, void *arg)
{
	struct fl_backend *vm = arg;

	for (unsigned int cpu = 0; cpu < vm->mem->cpus; cpu++)
		if (!fl_task_has_work(vm->workers[cpu]))
			fl_task_start(vm->workers[cpu], worker_body, vm);
	if (vm->agents_off == vm->agents_alive && fl_agents_are_stuck(vm)) {
		fl_agents_describe_stuck(vm, &vm->error);
		fl_sim_stop(vm->sim);
	}
	fl_timer_set(vm->sim, timer, fl_sim_now(vm->sim) + TICK_NS, tick, vm);
}

/* The daemons of the node: a task of its own each. */
static void start_daemons(struct fl_backend *vm)
{
	char name[32];

	vm->workers = fl_xcalloc(vm->mem->cpus, sizeof(*vm->workers));
	for (unsigned int cpu = 0; cpu < vm->mem->cpus; cpu++) {
		snprintf(name, sizeof(name), "kworker/%u:0", cpu);
		vm->workers[cpu] = fl_task_new(vm->sim, name, true);
		vm->workers[cpu]->cpu = (uint16_t)cpu;
		fl_task_bind(vm->workers[cpu], (int)cpu);
	}
	fl_kswapd_start(vm->mem);
	fl_kcompactd_new(vm->mem);
	fl_flusher_start(vm->mem);
	fl_khugepaged_start(vm->mem);
	fl_timer_set(vm->sim, &vm->tick, TICK_NS, tick, vm);
}

/* ---- out of memory ---- */

static bool oom_candidate(void *arg, unsigned int i, struct fl_oom_candidate *ret)
{
	struct fl_backend *vm = arg;
	const struct fl_sim_process *p;
	const struct fl_mm *mm;

	if (i >= vm->processes_count)
		return false;
	p = vm->processes[i];
	*ret = (struct fl_oom_candidate){ .id = p->id, .score_adj = -1000 };
	if (!p->process)
		return true;
	mm = p->process->mm;
	*ret = (struct fl_oom_candidate){ .id = p->id, .rss_pages = mm->anon_pages + mm->file_pages,
					  .swap_entries = mm->swap_entries, .pgtable_pages = mm->table_pages,
					  .is_dying = p->dying };
	return true;
}

static void oom_kill(void *arg, uint32_t id)
{
	struct fl_backend *vm = arg;

	struct fl_sim_process *victim = vm->processes[id - 1];

	victim->no_memory = true;
	for (uint32_t i = 0; i < vm->agents_count; i++) /* tsk_is_oom_victim(): may use the reserves */
		if (vm->agents[i]->process == victim)
			vm->agents[i]->who.flags |= FL_PF_OOM_VICTIM;
	fl_sim_process_kill(vm, victim);
}

void fl_sim_no_memory(struct fl_agent *agent)
{
	agent->process->no_memory = true;
	fl_sim_process_kill(agent->vm, agent->process);
}

/* ---- life of the backend ---- */

static int write_settings(struct fl_backend *vm, const struct fl_backend_request *request, struct fl_error *reterr)
{
	int error = 0;

	for (unsigned int i = 0; i < request->settings_count && !error; i++)
		error = fl_tunable_write(vm->mem, NULL, request->settings[i].name, request->settings[i].value, reterr);
	for (unsigned int i = 0; i < vm->kernel.tunables_count && !error; i++)
		error = fl_tunable_write(vm->mem, NULL, vm->kernel.tunable[i][0], vm->kernel.tunable[i][1], reterr);
	return error;
}

static void sim_close(struct fl_backend *vm)
{
	fl_agents_free(vm);
	for (uint32_t i = 0; i < vm->things_count; i++)
		if (vm->things[i].kind == FL_THING_FILES || vm->things[i].kind == FL_THING_CHANNELS)
			fl_sim_set_free(&vm->things[i].set);
	free(vm->things);
	if (vm->disk)
		fl_device_free(vm->disk);
	if (vm->swap)
		fl_device_free(vm->swap);
	fl_tracer_fini(&vm->tracer);
	if (vm->sim)
		fl_sim_free(vm->sim); /* before the memory: daemons wait on queues in it */
	fl_mem_free(vm->mem);
	free(vm->workers);
	free(vm);
}

static void make_swap(struct fl_backend *vm)
{
	vm->swap = fl_device_new(vm->sim, &swap_model);
	fl_swapon(vm->mem, vm->swap, (uint32_t)(vm->machine.swap_bytes >> vm->mem->page_shift), false);
	fl_swap_set_rotational(vm->mem);
}

#define EVENT(name) (UINT64_C(1) << FL_TRACE_##name)
#define COMPACTION_EVENTS \
	(EVENT(mm_compaction_try_to_compact_pages) | EVENT(mm_compaction_suitable) | EVENT(mm_compaction_finished) | \
	 EVENT(mm_compaction_end) | EVENT(mm_compaction_deferred) | EVENT(mm_compaction_defer_compaction) | \
	 EVENT(mm_compaction_defer_reset))

static void hear(void *arg, const struct fl_trace_event *event)
{
	struct fl_backend *vm = arg;

	fl_sampler_hear(&vm->sampler, event);
	if (vm->tracer.file)
		fl_tracer_write(&vm->tracer, event);
}

/* What the booted system holds before the first process: single pages, as most of slab, page tables and the buffers of
 * vmalloc are. */
static void hold_kernel_memory(struct fl_backend *vm)
{
	struct fl_task boot = { .name = "swapper" };
	struct fl_caller who = { .task = &boot };
	uint64_t pages = vm->machine.held_bytes >> vm->mem->page_shift;

	while (pages-- && fl_page_alloc(vm->mem, &who, FL_GFP_KERNEL & ~FL_GFP_DIRECT_RECLAIM, 0, FL_KIND_KERNEL) != FL_PFN_NONE)
		;
}

/* The machine starts as its snapshot: settings first, since their writes recompute the marks. A setting that this kernel does
 * not have is left out. */
static void restore(struct fl_backend *vm)
{
	const struct fl_layout *layout = vm->machine.layout;

	for (size_t i = 0; i < layout->settings_count; i++) {
		const struct fl_layout_setting *s = &layout->settings[i];

		/* A write makes it the user's own; the value that the kernel has computed itself is not. */
		if (!strcmp(s->name, "vm.min_free_kbytes") &&
		    strtoull(s->value, NULL, 10) == fl_tunable_read(vm->mem, s->name))
			continue;
		fl_tunable_write(vm->mem, NULL, s->name, s->value, NULL);
	}
	fl_mem_restore(vm->mem, layout);
}

static void make_machine(struct fl_backend *vm, const struct fl_backend_request *request)
{
	struct fl_mem_config config = { .geometry = &vm->machine.geometry, .decide = &vm->kernel.decide,
					.cost = &vm->cost };

	vm->cost = vm->machine.cost;
	vm->sim = fl_sim_new(request->seed, vm->machine.geometry.cpus);
	fl_sim_set_switch_cost(vm->sim, vm->cost.context_switch);
	config.sim = vm->sim;
	vm->mem = fl_mem_new(&config);
	vm->disk = fl_device_new(vm->sim, &disk_model);
	if (vm->machine.swap_bytes)
		make_swap(vm);
	fl_dcache_set_pages(vm->mem, fl_file_cached);
	if (request->trace)
		fl_tracer_init(&vm->tracer, vm->mem, request->trace);
	else
		vm->mem->trace.mask = COMPACTION_EVENTS;
	vm->mem->trace.emit = hear;
	vm->mem->trace.arg = vm;
	fl_oom_set_ops(vm->mem, &(struct fl_oom_ops){ oom_candidate, oom_kill, vm });
}

static int sim_open(const struct fl_backend_request *request, struct fl_record *record, struct fl_backend **ret,
		    struct fl_error *reterr)
{
	struct fl_backend *vm = fl_xcalloc(1, sizeof(*vm));
	int error = fl_kernel_parse(request->kernel ? request->kernel : fl_kernel_default, &vm->kernel, reterr);

	if (error) {
		free(vm);
		return error;
	}
	vm->machine = *request->machine;
	vm->record = record;
	vm->check = request->check;
	make_machine(vm, request);
	hold_kernel_memory(vm);
	if (vm->machine.layout)
		restore(vm);
	error = write_settings(vm, request, reterr);
	if (error) {
		sim_close(vm);
		return error;
	}
	fl_stack_catch_overflow();
	start_daemons(vm);
	fl_sampler_measure(&vm->sampler, vm->mem);
	*ret = vm;
	return 0;
}

/* What the record says of the whole run. */
static void end_record(struct fl_backend *vm)
{
	vm->record->virtual_ns = fl_sim_now(vm->sim);
	vm->record->state_hash = fl_sim_hash(vm->sim, fl_mem_hash(vm->mem));
	fl_machine_census(vm->mem, true, &vm->record->census);
	vm->record->has_census = true;
	if (vm->agents[0]->process->no_memory) {
		vm->record->died = true;
		snprintf(vm->record->died_where, sizeof(vm->record->died_where), "after %s: out of memory",
			 vm->phase[0] ? vm->phase : "the start");
	}
}

static int sim_run(struct fl_backend *vm, const struct fl_program *program, struct fl_error *reterr)
{
	fl_agent_new(vm, NULL, program, "main", false);
	fl_sim_run(vm->sim, FL_NS_FOREVER);
	if (vm->error.class) {
		*reterr = vm->error;
		return vm->error.code;
	}
	end_record(vm);
	return 0;
}

static void sim_stop(struct fl_backend *vm)
{
	vm->stopped = true;
	fl_sim_stop(vm->sim);
}

const struct fl_backend_ops fl_backend_sim = {
	.name = "sim",
	.summary = "the model: a virtual machine in virtual time",
	.open = sim_open,
	.run = sim_run,
	.stop = sim_stop,
	.close = sim_close,
};
