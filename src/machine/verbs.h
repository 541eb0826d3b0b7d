/*
 * machine/verbs.h - what processes of a scenario can do, and the interface of the backends that carry it out.
 *
 * A verb is something that a real program can do, so the same scenario runs in the model (sim.c) and on a real kernel
 * (src/live). A *program* (the body of a process or thread) is a source of operations: the backend asks it for the next
 * one, carries that out, and hands the result back with the next question. Nothing here knows types of the model.
 *
 * Handles (mappings, sets of files, channels, processes) are small positive numbers, given by the verb that makes the
 * thing. A mapping belongs to the process that made it, and to its threads.
 */
#ifndef FL_MACHINE_VERBS_H
#define FL_MACHINE_VERBS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "base/record.h"

enum fl_verb {
	/* processes */
	FL_VERB_PROCESS,      /* starts `program` as process `name` with `ordinal`; result: its handle */
	FL_VERB_THREAD,       /* starts `program` in this address space; result: its handle */
	FL_VERB_WAIT,         /* for `handle`, or for everything that this program started (0); 1: it died of lack of memory */
	FL_VERB_ENDED,        /* has `handle` ended (1) or not (0)? Does not wait (waitpid with WNOHANG) */
	FL_VERB_KILL,         /* ends `handle` as SIGKILL does */
	FL_VERB_EXIT,         /* ends this process, all its threads too */
	FL_VERB_COMPUTE,      /* time_ns of user time on a CPU */
	FL_VERB_SLEEP,        /* time_ns */
	FL_VERB_YIELD,        /* gives up the CPU for a moment (one system call) */
	FL_VERB_PAUSE,        /* for ever, until killed: keeps what it has and costs nothing; never answered */
	/* memory */
	FL_VERB_MAP,          /* `length` bytes, flags; result: a mapping */
	FL_VERB_MAP_SPARSE,   /* `count` pages, `stride` apart, each touched: mostly page tables; result: a mapping */
	FL_VERB_UNMAP,        /* all of `handle`, or the range */
	FL_VERB_TOUCH,        /* one access to each page of the range; result: page faults that it took */
	FL_VERB_ACCESS,       /* accesses for time_ns; with `count`: so many passes, time_ns between them; at the speed that the TLB of CPU
			       * `text` (empty: the default one) allows; result: accesses done */
	FL_VERB_DISCARD,      /* MADV_DONTNEED of `count` runs of `size` bytes, drawn from the range; result: pages freed */
	FL_VERB_REFAULT,      /* `count` pages drawn with repetition: MADV_DONTNEED of all, then touched in another order; result: faults */
	FL_VERB_ADVISE,       /* madvise(advice) on the range, or on one page in each stride; result 0, or negative errno of COLLAPSE */
	FL_VERB_MLOCK,        /* result: pages locked */
	FL_VERB_MUNLOCK,
	FL_VERB_HUGE_PAGES,   /* result: huge pages that map the mapping now (smaps: AnonHugePages / huge page size) */
	FL_VERB_RESIDENT,     /* result: bytes resident in the mapping (smaps: Rss) */
	/* files and devices */
	FL_VERB_CREATE_FILES, /* `count` files of `size` bytes, FL_OP_TMPFS or ext4; result: a set of files */
	FL_VERB_DELETE_FILES,
	FL_VERB_READ_FILES,   /* each file of the set, or `count` files drawn with repetition; all of it or the range. FL_OP_RANDOM: by
			       * pages in random order, without readahead (POSIX_FADV_RANDOM). Result: files */
	FL_VERB_WRITE_FILES,  /* the same */
	FL_VERB_OPEN_FILES,   /* each file of the set, until it is closed or deleted; result: files that are open */
	FL_VERB_CLOSE_FILES,
	FL_VERB_LOOK_UP,      /* `count` names that are not there, as include paths make a compiler do; result: count */
	FL_VERB_READ_DEVICE,  /* `length` bytes of the raw block device from `offset` on */
	/* channels: memory of the kernel */
	FL_VERB_PIPES,        /* `count` pipes that hold `size` bytes each; result: a channel set */
	FL_VERB_SOCKETS,      /* the same with socket pairs, in messages of `stride` bytes (0: one message) */
	FL_VERB_CLOSE,        /* `count` of the set (0: all), drawn at random with FL_OP_RANDOM, else oldest first */
	/* the kernel's knobs */
	FL_VERB_SET,          /* tunable `name` = `text` */
	FL_VERB_COMPACT,      /* vm.compact_memory = 1 */
	FL_VERB_DROP_CACHES,  /* vm.drop_caches = count */
	FL_VERB_DRAIN,        /* per-CPU lists and batches of all CPUs to the buddy lists */
	/* measuring */
	FL_VERB_SAMPLE,       /* all counters since the last sample, gauges and census, as phase `name`; FL_OP_LONG: since the last such one */
	FL_VERB_MEASURE,      /* the measured part begins here: what "all" and "end" samples cover (default: the start) */
	FL_VERB_COUNTER,      /* result: counter `name` of /proc/vmstat, or STAT_<kB>kB of the statistics by size */
	FL_VERB_PERF,         /* result: counter `name` of this thread's access(): accesses, dtlb_load_misses, mcycles */
	FL_VERB_CLOCK,        /* result: nanoseconds of this task's clock */
	FL_VERBS
};

/* Flags of operations. */
#define FL_OP_HUGE (1u << 0)      /* map: madvise(MADV_HUGEPAGE) before the first touch */
#define FL_OP_NOHUGE (1u << 1)    /* map: madvise(MADV_NOHUGEPAGE) */
#define FL_OP_DROPPABLE (1u << 2) /* map: MAP_DROPPABLE */
#define FL_OP_SHMEM (1u << 3)     /* map: shared anonymous memory */
#define FL_OP_FILE (1u << 4)      /* map: file `number` of the set `file` */
#define FL_OP_UNALIGNED (1u << 5) /* map: one page off the alignment of a huge page */
#define FL_OP_READ (1u << 6)      /* touch, access: read (otherwise write) */
#define FL_OP_RANDOM (1u << 7)    /* touch, access, read, write, close: in random order (from `draw`) */
#define FL_OP_TMPFS (1u << 8)     /* create files: in tmpfs (otherwise ext4) */
#define FL_OP_LONG (1u << 10)     /* sample: covers several samples */
#define FL_OP_MODIFY (1u << 11)   /* touch: read, then write */
#define FL_OP_LOCKED (1u << 9)    /* map: mlock() at once (MAP_LOCKED without populating) */

/* Bits of has_speed. */
#define FL_OP_HAS_ACCESS (1u << 0)
#define FL_OP_HAS_L2 (1u << 1)
#define FL_OP_HAS_WALK (1u << 2)

enum fl_advice {
	FL_ADVICE_HUGEPAGE,
	FL_ADVICE_NOHUGEPAGE,
	FL_ADVICE_FREE,
	FL_ADVICE_DONTNEED,
	FL_ADVICE_DONTNEED_LOCKED,
	FL_ADVICE_COLLAPSE,
	FL_ADVICES
};

enum fl_pattern { FL_PATTERN_ORDER, FL_PATTERN_UNIFORM, FL_PATTERN_ZIPF };

struct fl_op;

/* What became of the last operation. */
struct fl_outcome {
	int64_t value;       /* as the verb says; negative errno: the machine could not (ENOMEM, ENOSPC, EAGAIN) */
	const char *refusal; /* the program is wrong (no such mapping, range outside it): a sentence; NULL: carried out */
};

/*
 * The body of a process or thread. `next` gets the outcome of the last operation (NULL at the first call), fills *op
 * (all zero before) and returns true, or returns false at its end. `done` is called exactly once, when the backend will
 * not ask again (end, killed, run over). Both run on the main stack; nothing else runs meanwhile.
 */
struct fl_program {
	bool (*next)(void *arg, const struct fl_outcome *outcome, struct fl_op *op);
	void (*done)(void *arg);
	void *arg;
};

struct fl_op {
	enum fl_verb verb;
	uint32_t flags;
	int64_t handle;
	uint64_t offset, length; /* range in bytes; length 0: to the end */
	uint64_t stride;         /* bytes between touches; 0: one page */
	uint64_t size, count;    /* bytes of each thing, how many */
	uint64_t time_ns;
	uint64_t draw;           /* seed of whatever the backend draws at random: from the stream of the program */
	uint64_t ordinal;
	int64_t file;
	uint64_t number;
	enum fl_advice advice;
	/* access: clock (0: that of the CPU `text`), 1/1000 cycles of an access, and more of a hit in the TLB's second level and of
	 * a page walk, as far as has_speed has FL_OP_HAS_* */
	uint32_t mhz, access_mcycles, l2_mcycles, walk_mcycles, has_speed;
	enum fl_pattern pattern;
	char name[64], text[64];
	struct fl_program program;
	const char *script; /* where in the load this is, for messages; NULL: not known */
	unsigned int line;
};

/* What a backend is opened with. Text and tables are borrowed until close. */
struct fl_backend_setting {
	const char *name, *value; /* a tunable that the scenario sets at boot, below those of the kernel notation */
};
struct fl_backend_request {
	const char *kernel;               /* notation with tunables; NULL: the default kernel */
	const struct fl_machine *machine; /* machine/geometry.h */
	const struct fl_backend_setting *settings;
	unsigned int settings_count;
	uint64_t seed;
	FILE *trace; /* NULL: none */
	bool check;  /* full-state check with each sample */
	/* for a backend that has a host: */
	uint64_t scale_bytes; /* size of the load, which is its budget; 0: the backend's choice */
	uint64_t verbs;       /* 1 << verb: those that the script may use; 0: not known */
	bool force, ballast;  /* a budget that the host can hardly bear; fill what memory the load leaves free */
};

/* The machine that a backend runs on, where it cannot be chosen. */
struct fl_backend_host {
	uint64_t memory_bytes, swap_bytes, scale_bytes, page_bytes, huge_bytes;
	unsigned int cpus, pageblock_order;
};

struct fl_backend;

/* A backend: one carrier of scenarios. Errors of the world come as sentences. */
struct fl_backend_ops {
	const char *name, *summary;
	/* Checks the request and tells the machine that is there; NULL: the machine is that of the request. */
	int (*host)(const struct fl_backend_request *request, struct fl_backend_host *ret, struct fl_error *reterr);
	/* Makes the machine ready. Samples will be added to *record, which must outlive the backend. */
	int (*open)(const struct fl_backend_request *request, struct fl_record *record, struct fl_backend **ret,
		    struct fl_error *reterr);
	/* Runs `main` as the first process and everything that it starts, until all have ended; then ends the record
	 * (census, hash, virtual time). */
	int (*run)(struct fl_backend *backend, const struct fl_program *main, struct fl_error *reterr);
	/* Called by a program: no program is asked for another operation, run() returns soon. */
	void (*stop)(struct fl_backend *backend);
	/* May be called after a failed run; frees everything. */
	void (*close)(struct fl_backend *backend);
};

extern const struct fl_backend_ops fl_backend_sim;

/* The backend of that name ("sim"), or NULL with a sentence. */
const struct fl_backend_ops *fl_backend_find(const char *name, struct fl_error *reterr);

/* "map", "touch", ...: names as scenarios use them. Never NULL. */
const char *fl_verb_name(enum fl_verb verb);
/* As in "MADV_FREE". */
const char *fl_advice_name(enum fl_advice advice);

#endif
