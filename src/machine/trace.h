/*
 * machine/trace.h - the model's events as the text of ftrace (trace_pipe), to read beside a real trace.
 */
#ifndef FL_MACHINE_TRACE_H
#define FL_MACHINE_TRACE_H

#include <stdio.h>

#include "base/text.h"
#include "mm/mem.h"

/* One line, without its newline: "            task-7       [001] .....     0.001234: mm_page_alloc: pfn=0x1a2 ...". */
void fl_trace_format(const struct fl_trace_event *event, unsigned int pageblock_order, struct fl_text *to);

/* Flags by the kernel's names, as in "GFP_HIGHUSER_MOVABLE|__GFP_NOWARN". */
void fl_trace_gfp(fl_gfp gfp, struct fl_text *to);

/* Writes events to a file (borrowed), which gets ftrace's head; init has `mem` send all of them to its sink. */
struct fl_tracer {
	FILE *file;
	struct fl_text line;
	unsigned int pageblock_order;
};
void fl_tracer_init(struct fl_tracer *tracer, struct fl_mem *mem, FILE *file);
void fl_tracer_write(struct fl_tracer *tracer, const struct fl_trace_event *event);
void fl_tracer_fini(struct fl_tracer *tracer);

#endif
