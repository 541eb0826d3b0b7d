#include "fake_backend.h"

#include <stdlib.h>
#include <string.h>

struct fl_text fake_log;
bool fake_youngest_first;
int64_t fake_map_value;
const char *fake_touch_refusal;

#define PROGRAMS_MAX 4096

struct member {
	struct fl_program program;
	struct fl_outcome outcome;
	bool started, ended;
	char name[64];
	uint64_t ordinal;
};

struct fl_backend {
	struct member *list;
	size_t count;
	int64_t handles;
	bool stopped;
	struct fl_record *record;
};

static int fake_open(const struct fl_backend_request *request, struct fl_record *record, struct fl_backend **ret,
		     struct fl_error *reterr)
{
	(void)request;
	(void)reterr;
	if (!fake_log.data)
		fl_text_init(&fake_log);
	fl_text_clear(&fake_log);
	*ret = fl_xcalloc(1, sizeof(**ret));
	(*ret)->list = fl_xcalloc(PROGRAMS_MAX, sizeof(*(*ret)->list));
	(*ret)->record = record;
	return 0;
}

static void add(struct fl_backend *b, const struct fl_program *program, const char *name, uint64_t ordinal)
{
	struct member *m = &b->list[b->count++];

	m->program = *program;
	m->ordinal = ordinal;
	snprintf(m->name, sizeof(m->name), "%s", name);
}

static int64_t carry_out(struct fl_backend *b, const struct fl_op *op)
{
	switch (op->verb) {
	case FL_VERB_PROCESS:
	case FL_VERB_THREAD:
		add(b, &op->program, op->name, op->ordinal);
		return ++b->handles;
	case FL_VERB_MAP:
		return fake_map_value ? fake_map_value : ++b->handles;
	case FL_VERB_SAMPLE:
		fl_record_add(b->record, "pgfault", op->name, 42);
		return 0;
	default:
		return (int64_t)op->count;
	}
}

static void step(struct fl_backend *b, struct member *m)
{
	struct fl_op op = { 0 };

	if (!m->program.next(m->program.arg, m->started ? &m->outcome : NULL, &op)) {
		m->ended = true;
		return;
	}
	m->started = true;
	fl_text_add(&fake_log, "%s#%lu %s handle=%ld offset=%lu length=%lu count=%lu time=%lu draw=%lx flags=%x\n", m->name,
		    (unsigned long)m->ordinal, fl_verb_name(op.verb), (long)op.handle, (unsigned long)op.offset,
		    (unsigned long)op.length, (unsigned long)op.count, (unsigned long)op.time_ns,
		    (unsigned long)op.draw, op.flags);
	m->outcome.refusal = op.verb == FL_VERB_TOUCH ? fake_touch_refusal : NULL;
	m->outcome.value = carry_out(b, &op);
	m->ended = op.verb == FL_VERB_EXIT;
}

static int fake_run(struct fl_backend *b, const struct fl_program *program, struct fl_error *reterr)
{
	size_t running;

	(void)reterr;
	add(b, program, "main", 0);
	do {
		running = 0;
		for (size_t i = 0; i < b->count && !b->stopped; i++) {
			struct member *m = &b->list[fake_youngest_first ? b->count - 1 - i : i];

			if (m->ended)
				continue;
			running++;
			step(b, m);
		}
	} while (running && !b->stopped);
	return 0;
}

static void fake_stop(struct fl_backend *b)
{
	b->stopped = true;
}

static void fake_close(struct fl_backend *b)
{
	for (size_t i = 0; i < b->count; i++)
		b->list[i].program.done(b->list[i].program.arg);
	free(b->list);
	free(b);
}

const struct fl_backend_ops fake_backend = {
	.name = "fake",
	.open = fake_open,
	.run = fake_run,
	.stop = fake_stop,
	.close = fake_close,
};
