/*
 * The indices of this very host against its own debugfs extfrag: exactly equal, order by order, on every quiet reading.
 *
 * A reading is quiet when /proc/buddyinfo is the same before and after the indices were read; on others the kernel's
 * figures and ours are of different moments. Where debugfs is not mounted, it is mounted in a mount namespace of our
 * own; without the rights for that, the test is skipped.
 */
#include "test.h"

#include <sched.h>
#include <sys/mount.h>
#include <time.h>
#include <unistd.h>

#include "observe/arith.h"
#include "observe/hostfile.h"
#include "observe/read_text.h"

#define DEBUG "sys/kernel/debug/extfrag/"
#define WANTED 50
#define SECONDS 20

static bool mount_debugfs(void)
{
	if (access("/" DEBUG, X_OK) == 0)
		return true;
	return unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       mount("none", "/sys/kernel/debug", "debugfs", 0, NULL) == 0 && access("/" DEBUG, X_OK) == 0;
}

static void read_file(const char *name, struct fl_text *to)
{
	struct fl_error error;

	fl_text_clear(to);
	if (fl_hostfile_read("", name, to, &error) < 0)
		fail_msg("%s", error.text);
}

static void compare_zone(const struct fl_mem_zone *zone)
{
	assert_true(zone->has_unusable_index && zone->has_fragmentation_index);
	for (unsigned int order = 0; order < zone->orders_count; order++) {
		int unusable = fl_arith_unusable_index(zone->free_blocks, zone->orders_count, order);
		int fragmentation = fl_arith_fragmentation_index(zone->free_blocks, zone->orders_count, order);

		if (unusable != zone->unusable_index[order] || fragmentation != zone->fragmentation_index[order])
			fail_msg("zone %s order %u: ours %d and %d, the kernel's %d and %d", zone->name, order, unusable,
				 fragmentation, zone->unusable_index[order], zone->fragmentation_index[order]);
	}
}

static void compare(const char *buddyinfo, const char *unusable, const char *fragmentation)
{
	struct fl_mem_report report;
	struct fl_text_reader *reader;

	fl_mem_report_init(&report, "host");
	reader = fl_text_reader_new(&report);
	fl_text_reader_file(reader, "proc/buddyinfo");
	fl_text_reader_feed(reader, buddyinfo, strlen(buddyinfo));
	fl_text_reader_file(reader, DEBUG "unusable_index");
	fl_text_reader_feed(reader, unusable, strlen(unusable));
	fl_text_reader_file(reader, DEBUG "extfrag_index");
	fl_text_reader_feed(reader, fragmentation, strlen(fragmentation));
	fl_text_reader_finish(reader);
	assert_int_equal(report.warnings_count, 0);
	assert_int_equal(report.states_count, 1);
	assert_true(report.states[0]->zones_count > 0);
	for (size_t i = 0; i < report.states[0]->zones_count; i++)
		compare_zone(&report.states[0]->zones[i]);
	fl_mem_report_fini(&report);
}

static void test_indices_equal_debugfs_on_every_quiet_reading(void **state)
{
	struct fl_text before, after, unusable, fragmentation;
	unsigned int quiet = 0, all = 0;
	time_t end = time(NULL) + SECONDS;

	if (!mount_debugfs()) {
		print_message("# skipped: debugfs is not mounted and may not be (run this as root)\n");
		skip();
	}
	fl_text_init(&before);
	fl_text_init(&after);
	fl_text_init(&unusable);
	fl_text_init(&fragmentation);
	for (; quiet < WANTED && time(NULL) < end; all++) {
		read_file("proc/buddyinfo", &before);
		read_file(DEBUG "unusable_index", &unusable);
		read_file(DEBUG "extfrag_index", &fragmentation);
		read_file("proc/buddyinfo", &after);
		if (strcmp(before.data, after.data))
			continue;
		quiet++;
		compare(before.data, unusable.data, fragmentation.data);
	}
	print_message("# %u of %u readings were quiet, and all of these are equal\n", quiet, all);
	fl_text_fini(&before);
	fl_text_fini(&after);
	fl_text_fini(&unusable);
	fl_text_fini(&fragmentation);
	if (!quiet)
		skip();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_indices_equal_debugfs_on_every_quiet_reading),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
