/*
 * observe/inspect.h - what `fraglab inspect` prints: a report with its diagnoses, for people and as JSON.
 */
#ifndef FL_OBSERVE_INSPECT_H
#define FL_OBSERVE_INSPECT_H

#include <jansson.h>

#include "base/text.h"
#include "observe/capacity.h"
#include "observe/diagnose.h"

struct fl_inspect {
	const struct fl_mem_report *report;
	struct fl_diagnosis *diagnoses; /* one for each request */
	const struct fl_capacity *capacity; /* of a live host with its page flags; may be NULL */
};

void fl_inspect_init(struct fl_inspect *inspect, const struct fl_mem_report *report,
		     const struct fl_capacity *capacity);
void fl_inspect_fini(struct fl_inspect *inspect);

/* Text at 80 columns. `all`: every request and every state, not the first ones of many. */
void fl_inspect_text(const struct fl_inspect *inspect, bool all, struct fl_text *to);

/* The document fraglab.inspect.v1; the caller owns it. */
json_t *fl_inspect_json(const struct fl_inspect *inspect);

/* A kind of request as an id: "page_allocation_failure", "oom", ... */
const char *fl_mem_request_kind_name(enum fl_mem_request_kind kind);

#endif
