/*
 * machine/sim.h - the sim backend inside: one virtual machine with its processes, and the tables behind handles.
 *
 * Private to this room. An *agent* is a thread of a modelled process that carries out one program: its operations run on its
 * task's own stack, through the functions of mm; the program itself is asked on the main stack.
 */
#ifndef FL_MACHINE_SIM_H
#define FL_MACHINE_SIM_H

#include "kernel/kernel.h"
#include "machine/geometry.h"
#include "machine/sample.h"
#include "machine/trace.h"
#include "machine/verbs.h"
#include "mm/filemap.h"
#include "mm/process.h"
#include "sim/device.h"

#define FL_SIM_DISK_BYTES (UINT64_C(1) << 40)

struct fl_agent;
struct fl_tlb;

/* A modelled process. Stays in the table after its end, for its handle. */
struct fl_sim_process {
	struct fl_process *process; /* NULL before birth and after exit */
	uint32_t id;                /* index + 1 in the table */
	char name[32];
	unsigned int agents_alive;
	bool dying;      /* killed or exiting: its agents do nothing any more */
	bool no_memory;  /* by the OOM killer, or a fault found no memory */
};

struct fl_agent {
	struct fl_backend *vm;
	struct fl_task *task;
	struct fl_caller who;
	struct fl_program program;
	struct fl_sim_process *process;
	struct fl_agent *parent;
	int slot;                       /* of its thread in the process; 0 is the first */
	bool ended, paused, interruptible, has_op, asked;
	unsigned int children_alive;
	struct fl_waitqueue end_wq, children_wq; /* who waits for its end; itself, for its children */
	struct fl_op op;
	struct fl_outcome outcome;
	char refusal[256];
	struct fl_tlb *tlb; /* machine/tlb.h; NULL until it is needed */
	struct {
		uint64_t accesses, dtlb_load_misses, mcycles;
	} perf; /* of access() */
};

/* What a handle names. */
enum fl_thing_kind { FL_THING_AGENT, FL_THING_MAPPING, FL_THING_FILES, FL_THING_CHANNELS, FL_THING_GONE };
struct fl_thing {
	enum fl_thing_kind kind;
	union {
		struct fl_agent *agent;
		struct {
			struct fl_sim_process *process;
			fl_vpn start;
			uint32_t pages;
		} mapping;
		struct fl_id_set { /* files: id of the directory entry and, with content, of the page cache */
			uint32_t *id, *content, count;
			uint32_t pages; /* of each file */
		} set;
	};
};

struct fl_backend {
	struct fl_sim *sim;
	struct fl_mem *mem;
	struct fl_kernel kernel;
	struct fl_cost cost;
	struct fl_machine machine;
	struct fl_record *record;
	struct fl_sampler sampler;
	struct fl_tracer tracer;
	struct fl_device *disk, *swap;
	bool check;            /* with each sample */
	bool has_block_device;
	fl_mapping_id block_device; /* page cache of the raw disk */
	struct fl_task **workers; /* one a CPU: what vmstat_update does */
	struct fl_timer tick;
	struct fl_agent **agents;
	struct fl_sim_process **processes;
	struct fl_thing *things;
	uint32_t agents_count, processes_count, things_count;
	unsigned int agents_alive, agents_off; /* off: paused, or waiting for another agent */
	char phase[24]; /* last sample */
	bool stopped;
	struct fl_error error; /* class 0: none */
};

/* ---- sim_agent.c: processes and threads ---- */

/* Makes an agent with a process of its own, or one in the process of `parent` (as_thread); it starts at once. Returns
 * its handle. */
int64_t fl_agent_new(struct fl_backend *vm, struct fl_agent *parent, const struct fl_program *program,
		     const char *name, bool as_thread);
/* SIGKILL for a process; may be called from any stack. */
void fl_sim_process_kill(struct fl_backend *vm, struct fl_sim_process *process);
void fl_agents_free(struct fl_backend *vm);
/* Tells whether nobody will ever run again: every agent waits for another one. */
bool fl_agents_are_stuck(const struct fl_backend *vm);
void fl_agents_describe_stuck(const struct fl_backend *vm, struct fl_error *reterr);

/* Verbs of processes, called on the agent's own stack; the value of the outcome. */
int64_t fl_sim_process_verb(struct fl_agent *agent, const struct fl_op *op);

/* ---- sim_memory.c, sim_files.c ---- */

int64_t fl_sim_memory_verb(struct fl_agent *agent, const struct fl_op *op);
/* sim_memory.c: one access; false when the program cannot go on. 0 .. count-1 (the first `wanted`) in random order; free(). */
bool fl_sim_touch_page(struct fl_agent *agent, fl_vpn vpn, bool write, uint64_t *faults);
/* sim_access.c: accesses for a time, or op->count passes over the range. */
int64_t fl_sim_access(struct fl_agent *agent, const struct fl_op *op, fl_vpn start, uint32_t pages, uint32_t stride);
int64_t fl_sim_file_verb(struct fl_agent *agent, const struct fl_op *op);
void fl_sim_set_free(struct fl_id_set *set);

/* ---- sim.c ---- */

/* Carries out agent->op on its stack and fills agent->outcome. */
void fl_sim_perform(struct fl_agent *agent);

/* A new handle. */
int64_t fl_sim_thing_new(struct fl_backend *vm, const struct fl_thing *thing);
/* The thing of that kind, or NULL after agent->outcome.refusal was set. */
struct fl_thing *fl_sim_thing(struct fl_agent *agent, int64_t handle, enum fl_thing_kind kind);

/* Sets the refusal; returns 0. */
int64_t fl_sim_refuse(struct fl_agent *agent, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* A fault found no memory: the process dies of it. */
void fl_sim_no_memory(struct fl_agent *agent);

static inline struct fl_mm *fl_agent_mm(struct fl_agent *agent)
{
	return agent->process->process->mm;
}

/* Bytes to whole base pages, rounded up. */
static inline uint64_t fl_sim_pages(const struct fl_backend *vm, uint64_t bytes)
{
	return (bytes + vm->machine.page_bytes - 1) >> vm->mem->page_shift;
}

#endif
