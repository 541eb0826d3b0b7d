/* The guardian and ballast, on this host; needs no root, and skips while a live run has the host. */
#include "root.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "base/error.h"
#include "live/conduct.h"

#define MIB (UINT64_C(1) << 20)

static const struct fl_live_budget quiet = { .available = 256 * MIB, .scale = 64 * MIB };

/* Starts one, or skips: another run has the host. */
static void start(struct fl_live_guardian *g, const struct fl_live_budget *budget)
{
	struct fl_error error;

	if (fl_live_guardian_start(g, budget, true, 20000, &error) == 0)
		return;
	print_message("# %s\n", error.text);
	fl_live_guardian_end(g);
	skip();
}

static void make_folder(const char *name, char path[160])
{
	char file[200];
	FILE *f;

	snprintf(path, 160, "%s/%s%d", root, name, (int)getpid());
	mkdir(path, 0700);
	snprintf(file, sizeof(file), "%s/inside", path);
	f = fopen(file, "w");
	assert_non_null(f);
	fclose(f);
}

static void test_folders_of_ours_are_removed_and_no_others(void **state)
{
	char ours[160], other[160];
	struct fl_live_guardian g;

	start(&g, &quiet);
	make_folder(FL_LIVE_NAME, ours);
	make_folder("other-", other);
	assert_int_equal(fl_live_guardian_note(&g, FL_LIVE_NOTE_FOLDER, ours, "", NULL), 0);
	assert_int_equal(fl_live_guardian_note(&g, FL_LIVE_NOTE_FOLDER, other, "", NULL), 0);
	assert_int_equal(access(ours, F_OK), 0);
	fl_live_guardian_end(&g);
	assert_int_equal(access(ours, F_OK), -1);
	assert_int_equal(access(other, F_OK), 0);
}

static void test_one_guardian_holds_the_host(void **state)
{
	struct fl_live_guardian g;
	struct fl_error error;
	int fd;

	start(&g, &quiet);
	assert_int_equal(fl_live_lock_try(50, &fd, &error), -ETIMEDOUT);
	assert_int_equal(error.class, FL_ERROR_FAILED);
	fl_live_guardian_end(&g);
}

static void test_what_a_killed_guardian_was_told_is_undone_by_us(void **state)
{
	struct fl_live_guardian g;
	char ours[160];

	start(&g, &quiet);
	make_folder(FL_LIVE_NAME, ours);
	assert_int_equal(fl_live_guardian_note(&g, FL_LIVE_NOTE_FOLDER, ours, "", NULL), 0);
	kill(g.pid, SIGKILL);
	fl_live_guardian_end(&g);
	assert_int_equal(access(ours, F_OK), -1);
}

static void test_a_note_to_a_guardian_that_is_gone_fails(void **state)
{
	struct fl_live_guardian g;
	struct fl_error error;

	signal(SIGPIPE, SIG_IGN);
	start(&g, &quiet);
	kill(g.pid, SIGKILL);
	while (fl_live_guardian_heard(&g) != FL_LIVE_SAID_NOTHING_MORE)
		usleep(1000);
	assert_true(fl_live_guardian_note(&g, FL_LIVE_NOTE_FOLDER, "/x", "", &error) < 0);
	assert_int_equal(error.class, FL_ERROR_FAILED);
	fl_live_guardian_end(&g);
}

/* What it says within some seconds; 0: nothing. */
static char hear(struct fl_live_guardian *g)
{
	char said = 0;

	for (int i = 0; i < 500 && !said; i++) {
		said = fl_live_guardian_heard(g);
		usleep(10000);
	}
	return said;
}

static void test_critical_memory_is_said(void **state)
{
	struct fl_live_budget budget = quiet;
	struct fl_live_guardian g;

	budget.critical = fl_live_available("") / 10 * 15; /* below it, and not below half of it */
	start(&g, &budget);
	assert_int_equal(hear(&g), FL_LIVE_SAID_CRITICAL);
	fl_live_guardian_end(&g);
}

static uint64_t resident(pid_t pid)
{
	unsigned long pages = 0;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
	f = fopen(path, "r");
	if (f && fscanf(f, "%*u %lu", &pages) != 1)
		pages = 0;
	if (f)
		fclose(f);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void test_ballast_is_filled_and_goes_with_the_run(void **state)
{
	struct fl_backend vm = { .budget = quiet };
	uint64_t filled;
	bool stalled;

	start(&vm.guardian, &quiet);
	assert_int_equal(fl_live_ballast_start(&vm, NULL), 0);
	filled = resident(vm.ballast);
	stalled = fl_live_guardian_heard(&vm.guardian) == FL_LIVE_SAID_DROPPED; /* this host stalls for memory just now */
	fl_live_guardian_end(&vm.guardian);
	assert_int_equal(waitpid(vm.ballast, NULL, 0), vm.ballast);
	if (stalled)
		skip();
	assert_true(filled >= 192 * MIB);
}

static void test_ballast_is_dropped_when_the_host_runs_low(void **state)
{
	struct fl_live_budget low = quiet;
	struct fl_backend vm = { .budget = quiet };
	int status;

	low.low = UINT64_MAX; /* whatever is available is less */
	start(&vm.guardian, &low);
	assert_int_equal(fl_live_ballast_start(&vm, NULL), 0);
	assert_int_equal(hear(&vm.guardian), FL_LIVE_SAID_DROPPED);
	assert_int_equal(waitpid(vm.ballast, &status, 0), vm.ballast);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	fl_live_guardian_end(&vm.guardian);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_folders_of_ours_are_removed_and_no_others),
		cmocka_unit_test(test_one_guardian_holds_the_host),
		cmocka_unit_test(test_what_a_killed_guardian_was_told_is_undone_by_us),
		cmocka_unit_test(test_a_note_to_a_guardian_that_is_gone_fails),
		cmocka_unit_test(test_critical_memory_is_said),
		cmocka_unit_test(test_ballast_is_filled_and_goes_with_the_run),
		cmocka_unit_test(test_ballast_is_dropped_when_the_host_runs_low),
	};

	return cmocka_run_group_tests(tests, make_root, remove_root);
}
