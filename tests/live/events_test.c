/*
 * tests/live/events_test.c - counters from tracefs: an instance of our own, numbers under the kernel's own names, nothing left
 * behind. Skips where tracefs cannot be used.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "live/events.h"
#include "live/guardian.h"

#define INSTANCE "/sys/kernel/tracing/instances/fraglab-live"
#define MISSING UINT64_MAX

static bool usable;
static char why[1024];

static int set_up(void **state)
{
	struct fl_error error = { 0 };
	int lock; /* held until the end: the instance is that of whoever has the host */

	(void)state;
	if (fl_live_events_probe(&error) || fl_live_lock_try(60000, &lock, &error)) {
		snprintf(why, sizeof(why), "%s", error.text);
		return 0;
	}
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL)) {
		snprintf(why, sizeof(why), "mounts of our own cannot be made: %s", strerror(errno));
		return 0;
	}
	usable = true;
	return 0;
}

static struct fl_live_events *open_or_skip(void)
{
	struct fl_live_events *events;
	struct fl_error error = { 0 };

	if (!usable) {
		printf("# SKIP %s\n", why);
		skip();
	}
	if (fl_live_events_open(&events, &error))
		fail_msg("%s", error.text);
	return events;
}

static uint64_t value(struct fl_live_events *events, const char *name)
{
	struct fl_live_counts counts = { 0 };
	uint64_t n;

	fl_live_events_read(events, &counts);
	n = fl_live_counts_get(&counts, name, 0, MISSING);
	fl_live_counts_fini(&counts);
	return n;
}

static bool compact(void)
{
	int fd = open("/proc/sys/vm/compact_memory", O_WRONLY);
	bool done = fd >= 0 && write(fd, "1", 1) == 1;

	if (fd >= 0)
		close(fd);
	return done;
}

static void test_forced_compaction_is_counted_for_who_asked_and_under_the_kernels_names(void **state)
{
	struct fl_live_events *events = open_or_skip();
	uint64_t begun, ended = 0;
	struct fl_live_counts counts = { 0 };

	(void)state;
	assert_true(value(events, "compaction_begin_sync_direct") != MISSING);
	assert_true(compact());
	fl_live_events_read(events, &counts);
	begun = fl_live_counts_get(&counts, "compaction_begin_sync_direct", 0, MISSING);
	for (size_t i = 0; i < counts.count; i++)
		if (!strncmp(counts.items[i].name, "compaction_end_sync_direct_", 27))
			ended += counts.items[i].value;
	assert_true(begun >= 1 && begun < 1000);
	assert_true(ended >= 1);
	assert_true(fl_live_counts_get(&counts, "compaction_end_sync_direct_complete", 0, MISSING) != MISSING);
	assert_true(fl_live_counts_get(&counts, "compaction_suitable_kcompactd_not_suitable_zone", 0, MISSING) != MISSING);
	assert_true(fl_live_counts_get(&counts, "khugepaged_scan_succeeded", 0, MISSING) != MISSING);
	assert_true(fl_live_counts_get(&counts, "extfrag_unmovable_movable_o9_claim", 0, MISSING) != MISSING);
	assert_true(fl_live_counts_get(&counts, "extfrag_movable_movable_o9_claim", 0, MISSING) == MISSING);
	assert_true(fl_live_counts_get(&counts, "nonmovable_steals", 0, MISSING) != MISSING);
	assert_int_equal(fl_live_counts_get(&counts, "trace_events_lost", 0, MISSING), 0);
	fl_live_counts_fini(&counts);
	fl_live_events_close(events);
}

static void test_what_was_counted_stays_counted(void **state)
{
	struct fl_live_events *events = open_or_skip();
	uint64_t once, twice;

	(void)state;
	assert_true(compact());
	fl_live_events_drain(events);
	once = value(events, "compaction_begin_sync_direct");
	assert_true(compact());
	twice = value(events, "compaction_begin_sync_direct");
	assert_true(once >= 1 && twice > once);
	fl_live_events_close(events);
}

static void test_events_that_the_buffers_lost_are_counted(void **state)
{
	struct fl_live_events *events = open_or_skip();
	FILE *file = fopen(INSTANCE "/buffer_size_kb", "w");
	uint64_t lost;

	(void)state;
	assert_non_null(file);
	fputs("4", file);
	assert_int_equal(fclose(file), 0);
	for (int i = 0; i < 50; i++)
		assert_true(compact());
	lost = value(events, "trace_events_lost");
	assert_true(lost > 0 && lost != MISSING);
	assert_int_equal(fl_live_events_lost(events), lost);
	fl_live_events_close(events);
	assert_int_equal(fl_live_events_lost(NULL), 0);
}

static void test_the_instance_goes_with_its_end(void **state)
{
	struct fl_live_events *events = open_or_skip();

	(void)state;
	assert_int_equal(access(INSTANCE, F_OK), 0);
	fl_live_events_close(events);
	assert_int_not_equal(access(INSTANCE, F_OK), 0);
	fl_live_events_close(NULL);
}

static void test_what_a_killed_run_left_is_removed(void **state)
{
	struct fl_error error = { 0 };
	struct fl_live_events *events;
	int ready[2], status;
	pid_t child;
	char byte;

	(void)state;
	fl_live_events_close(open_or_skip());
	assert_int_equal(pipe(ready), 0);
	child = fork();
	if (child == 0) {
		byte = fl_live_events_open(&events, &error) ? 'n' : 'y';
		status = (int)write(ready[1], &byte, 1);
		pause();
		_exit(status);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	assert_int_equal(byte, 'y');
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(access(INSTANCE, F_OK), 0);
	fl_live_events_remove_left();
	assert_int_not_equal(access(INSTANCE, F_OK), 0);
	fl_live_events_remove_left(); /* harmless where there is nothing */
	close(ready[0]);
	close(ready[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forced_compaction_is_counted_for_who_asked_and_under_the_kernels_names),
		cmocka_unit_test(test_what_was_counted_stays_counted),
		cmocka_unit_test(test_events_that_the_buffers_lost_are_counted),
		cmocka_unit_test(test_the_instance_goes_with_its_end),
		cmocka_unit_test(test_what_a_killed_run_left_is_removed),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
