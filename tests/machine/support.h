/*
 * tests/machine/support.h - programs as C arrays of operations, run on the sim backend.
 */
#ifndef FL_TESTS_MACHINE_SUPPORT_H
#define FL_TESTS_MACHINE_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "machine/geometry.h"
#include "machine/verbs.h"

#define MIB (INT64_C(1) << 20)

/* A program that does these operations in turn. Where `handle` is -n, the result of operation n (from 1) is meant. */
struct list {
	const struct fl_op *ops;
	size_t count, at;
	struct fl_outcome outcome[64]; /* of each operation, of long lists the last ones; refusals are copied into `refused` */
	char refused[256];
	int done;
};

static inline bool list_next(void *arg, const struct fl_outcome *outcome, struct fl_op *op)
{
	struct list *list = arg;

	if (outcome) {
		list->outcome[(list->at - 1) % 64] = *outcome;
		if (outcome->refusal)
			snprintf(list->refused, sizeof(list->refused), "%s", outcome->refusal);
	}
	if (list->at == list->count)
		return false;
	*op = list->ops[list->at++];
	if (op->handle < 0)
		op->handle = list->outcome[-op->handle - 1].value;
	return true;
}

static inline void list_done(void *arg)
{
	((struct list *)arg)->done++;
}

#define LIST(ops) { (ops), sizeof(ops) / sizeof(*(ops)), 0, { { 0 } }, "", 0 }
#define PROGRAM(list) { list_next, list_done, (list) }

struct run_wish {
	const char *kernel;
	struct fl_machine_wish machine;
	const struct fl_backend_setting *settings;
	unsigned int settings_count;
	FILE *trace;
};

/* Runs `list` as main(); *record is initialised here and the caller's. */
static inline int run_list(struct run_wish wish, struct list *list, struct fl_record *record, struct fl_error *error)
{
	struct fl_program program = PROGRAM(list);
	struct fl_backend *backend;
	struct fl_machine machine;
	int status;

	if (!wish.machine.memory_bytes)
		wish.machine.memory_bytes = 512 * MIB;
	if (!wish.machine.cpus)
		wish.machine.cpus = 2;
	fl_record_init(record);
	assert_int_equal(fl_machine_make(&wish.machine, &machine, error), 0);
	status = fl_backend_sim.open(&(struct fl_backend_request){ .kernel = wish.kernel, .machine = &machine, .seed = 1,
			.settings = wish.settings, .settings_count = wish.settings_count, .trace = wish.trace },
				     record, &backend, error);
	if (status)
		return status;
	status = fl_backend_sim.run(backend, &program, error);
	fl_backend_sim.close(backend);
	return status;
}

static inline void run_well(struct run_wish wish, struct list *list, struct fl_record *record)
{
	struct fl_error error = { 0 };

	if (run_list(wish, list, record, &error))
		fail_msg("%s", error.text);
}

static inline double value_of(const struct fl_record *record, const char *name, const char *phase)
{
	const struct fl_sample *s = fl_record_find(record, name, phase);

	if (!s)
		fail_msg("no sample %s at %s", name, phase);
	return s->value;
}

#endif
