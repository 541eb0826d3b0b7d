/*
 * observe/watch.h - rates of what fragments and compacts a host: `inspect --watch 5s`.
 *
 * Reads /proc/vmstat, /proc/zoneinfo and the per-size THP statistics at each interval and prints the differences.
 * extfrag events need tracefs: where it is mounted and writable (root), an instance of our own is made and removed at
 * the end; elsewhere the figure is missing and the first lines say so. Nothing else on the host is changed.
 */
#ifndef FL_OBSERVE_WATCH_H
#define FL_OBSERVE_WATCH_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"

struct fl_watch_options {
	const char *root;      /* "" or "/": this host; a directory: its files are read at each interval */
	uint64_t interval_ns;  /* at least 100 ms */
	uint64_t intervals;    /* 0: until *stop */
	const char *tracefs;   /* NULL: sys/kernel/tracing, then sys/kernel/debug/tracing, under root */
	bool no_events;        /* do not touch tracefs */
	/* Set by the caller's signal handler; the wait ends at once and the summary is still printed. May be NULL. */
	const volatile sig_atomic_t *stop;
	/* Called with each finished piece of text. A negative errno ends the watch with it (closed pipe). */
	int (*write)(void *opaque, const char *bytes, size_t length, struct fl_error *reterr);
	void *opaque;
};

/*
 * Watches until `intervals` are over or *stop is set; both are success (0). Class LACKING when /proc/vmstat cannot be
 * read. An instance in tracefs is removed on every path.
 */
int fl_watch_run(const struct fl_watch_options *options, struct fl_error *reterr);

#endif
