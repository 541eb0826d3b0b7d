/*
 * live/conduct.h - the conductor inside: agents with their processes, the tables behind handles, and what a run owns.
 *
 * Private to this room. The conductor asks programs for operations and sends orders down the sockets of agents; it carries out
 * itself what is not a matter of an agent's memory or CPU time (waiting, sleeping, starting, killing, measuring).
 */
#ifndef FL_LIVE_CONDUCT_H
#define FL_LIVE_CONDUCT_H

#include <sys/types.h>

#include "live/budget.h"
#include "live/guardian.h"
#include "live/sample.h"
#include "live/wire.h"
#include "machine/verbs.h"

struct fl_live_process {
	pid_t pid; /* 0: reaped */
	char name[32];
	unsigned int threads_alive;
	bool killed;    /* by a verb, or at the end of the run */
	bool no_memory; /* by the OOM killer */
	int signal;     /* that ended it */
};

enum fl_live_state {
	FL_LIVE_READY,    /* to be asked */
	FL_LIVE_BUSY,     /* its order is being carried out */
	FL_LIVE_SLEEPING, /* until wake_ns */
	FL_LIVE_WAITING,  /* for `target`, or for its children */
	FL_LIVE_PAUSED,
	FL_LIVE_ENDING,   /* its process was told to exit */
	FL_LIVE_ENDED,
};

/* A thread of a process of the scenario. Stays in the table after its end, for its handle. */
struct fl_live_agent {
	struct fl_live_process *process; /* shared by its threads; owned by the first */
	struct fl_live_agent *parent, *target, *next_ready;
	enum fl_live_state state;
	bool is_thread, asked;
	int socket; /* -1: closed */
	unsigned int children_alive;
	uint64_t wake_ns;
	struct fl_program program;
	struct fl_op op;
	struct fl_outcome outcome;
	char refusal[256];
};

enum fl_live_kind { FL_LIVE_AGENT, FL_LIVE_MAPPING, FL_LIVE_FILES, FL_LIVE_CHANNELS, FL_LIVE_GONE };
struct fl_live_thing {
	enum fl_live_kind kind;
	struct fl_live_agent *agent;
	struct fl_live_process *process; /* of a mapping or of channels */
	uint64_t address, length;        /* of a mapping */
	int64_t number;                  /* of channels in their process; of files the folder */
	uint64_t count, size;            /* of files */
	bool is_tmpfs;
};

struct fl_backend {
	struct fl_record *record;
	struct fl_backend_host host;
	struct fl_live_budget budget;
	struct fl_live_guardian guardian;
	struct fl_live_group group;
	struct fl_live_sampler sampler;
	char folder[96];  /* of files on a disk; "": none yet */
	char tmpfs[96];   /* of files in tmpfs */
	char device[64];  /* below that disk; "": not known */
	bool device_read; /* once */
	bool has_namespace; /* of mounts, private */
	pid_t ballast;
	uint64_t born_ns;
	int epoll;
	struct fl_live_agent **agents; /* the first is main */
	struct fl_live_thing *things;
	uint32_t agents_count, things_count, alive, sleeping, busy;
	uint64_t last_folder; /* number of the last set of files */
	struct fl_live_agent *ready_first, *ready_last;
	bool stopped, main_ended;
	char phase[24];
	struct fl_error error; /* class 0: none */
};

/* ---- conduct.c ---- */

/* Starts a process (parent NULL: main) or a thread of the parent's process. Its handle, or -errno; the program's done() is
 * called in any case. */
int64_t fl_live_agent_start(struct fl_backend *vm, struct fl_live_agent *parent, const struct fl_program *program,
			    const char *name, bool as_thread);
/* The thread could not be made. */
void fl_live_thread_failed(struct fl_backend *vm, struct fl_live_agent *agent);
void fl_live_agent_kill(struct fl_live_agent *agent);
/* Runs until main has ended, or an error. */
void fl_live_conduct(struct fl_backend *vm);
/* Kills what is left and frees all tables. */
void fl_live_agents_free(struct fl_backend *vm);

/* The operation has this outcome: the program can be asked again. */
void fl_live_complete(struct fl_backend *vm, struct fl_live_agent *agent, int64_t value);
void fl_live_refuse_op(struct fl_backend *vm, struct fl_live_agent *agent, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Sends an order; the agent is busy until its answer. `attached`: a descriptor that goes along, or -1. */
void fl_live_send(struct fl_backend *vm, struct fl_live_agent *agent, const struct fl_live_order *order, int attached);

uint64_t fl_live_now_ns(void);

/* Counts agents by state; all changes go through it. */
void fl_live_set_state(struct fl_backend *vm, struct fl_live_agent *agent, enum fl_live_state state);

/* ---- perform.c ---- */

/* Begins agent->op. */
void fl_live_perform(struct fl_backend *vm, struct fl_live_agent *agent);
/* Its answer has come. */
void fl_live_take_answer(struct fl_backend *vm, struct fl_live_agent *agent, const struct fl_live_answer *answer);
/* Tells the guardian what this file says now. */
int fl_live_note_setting(struct fl_backend *vm, const char *path, struct fl_error *reterr);
int64_t fl_live_thing_new(struct fl_backend *vm, const struct fl_live_thing *thing);

/* ---- place.c: folders and devices ---- */

/* The folder below which files on a disk would be made, and its file system; false: only tmpfs or the like is there. */
bool fl_live_disk_find(char folder[64], char type[16]);
/* Makes (once) the folder of files in tmpfs or on a disk. */
int fl_live_place_make(struct fl_backend *vm, bool is_tmpfs, struct fl_error *reterr);
/* The block device that `path` lies on, as in "/dev/vda1". */
bool fl_live_device_find(const char *path, char device[64]);

/* ---- ballast.c ---- */

/* Bytes that ballast would have now: what is free beyond the load and the low mark. */
uint64_t fl_live_ballast_bytes(const struct fl_live_budget *budget);
/* Forks it, fills it and returns when it is full or memory runs low. */
int fl_live_ballast_start(struct fl_backend *vm, struct fl_error *reterr);

#endif
