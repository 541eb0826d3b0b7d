/*
 * `fraglab inspect` where the n-th allocation or the n-th read fails, for every n until none is left to fail: a
 * sentence and an exit status of design.md, never a crash, a leak or half a file.
 *
 * The linker sends our calls of malloc(), read() and their like through the wrappers below; each n runs in a child.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../golden.h"
#include "cli/command.h"

/* Counters that a child and its parent share. */
static struct {
	long memory_left, reads_left; /* the call that brings it to 0 fails; negative: none does */
	bool failed;
} *plan;

static char folder[] = "nth-test-XXXXXX";

/* --- wrappers ------------------------------------------------------------------------------------------------------ */

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *p, size_t size);
int __real_vasprintf(char **ret, const char *fmt, va_list ap);
DIR *__real_opendir(const char *name);
FILE *__real_fdopen(int fd, const char *mode);
FILE *__real_fopen(const char *name, const char *mode);
ssize_t __real_read(int fd, void *to, size_t size);
ssize_t __real_pread(int fd, void *to, size_t size, off_t at);
size_t __real_fread(void *to, size_t size, size_t count, FILE *file);
int __real_ferror(FILE *file);

void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *p, size_t size);
int __wrap_vasprintf(char **ret, const char *fmt, va_list ap);
DIR *__wrap_opendir(const char *name);
FILE *__wrap_fdopen(int fd, const char *mode);
FILE *__wrap_fopen(const char *name, const char *mode);
ssize_t __wrap_read(int fd, void *to, size_t size);
ssize_t __wrap_pread(int fd, void *to, size_t size, off_t at);
size_t __wrap_fread(void *to, size_t size, size_t count, FILE *file);
int __wrap_ferror(FILE *file);

static bool fails(long *left, int code)
{
	if (*left < 0 || --*left >= 0)
		return false;
	plan->failed = true;
	errno = code;
	return true;
}

static bool memory_fails(void)
{
	return plan && fails(&plan->memory_left, ENOMEM);
}

static bool read_fails(void)
{
	return plan && fails(&plan->reads_left, EIO);
}

void *__wrap_malloc(size_t size)
{
	return memory_fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
	return memory_fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *p, size_t size)
{
	return memory_fails() ? NULL : __real_realloc(p, size);
}

int __wrap_vasprintf(char **ret, const char *fmt, va_list ap)
{
	return memory_fails() ? -1 : __real_vasprintf(ret, fmt, ap);
}

DIR *__wrap_opendir(const char *name)
{
	return memory_fails() ? NULL : __real_opendir(name);
}

FILE *__wrap_fdopen(int fd, const char *mode)
{
	return memory_fails() ? NULL : __real_fdopen(fd, mode);
}

FILE *__wrap_fopen(const char *name, const char *mode)
{
	return memory_fails() ? NULL : __real_fopen(name, mode);
}

ssize_t __wrap_read(int fd, void *to, size_t size)
{
	return read_fails() ? -1 : __real_read(fd, to, size);
}

ssize_t __wrap_pread(int fd, void *to, size_t size, off_t at)
{
	return read_fails() ? -1 : __real_pread(fd, to, size, at);
}

static FILE *broken;

size_t __wrap_fread(void *to, size_t size, size_t count, FILE *file)
{
	if (!read_fails())
		return __real_fread(to, size, count, file);
	broken = file;
	return 0;
}

int __wrap_ferror(FILE *file)
{
	if (file != broken)
		return __real_ferror(file);
	errno = EIO;
	return 1;
}

/* --- one run -------------------------------------------------------------------------------------------------------- */

#define WORDS_MAX 10

struct done {
	int status;
	bool failed;
	char *out, *err, *json; /* json NULL: not written */
};

static char *slurp(const char *name)
{
	char path[96];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return access(path, F_OK) ? NULL : golden_read(path);
}

static void send_to(int fd, const char *name)
{
	char path[96];
	int file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (file < 0 || dup2(file, fd) < 0)
		_exit(99);
	close(file);
}

/* Text is wrapped at 80 columns: every gap becomes one blank. */
static char *unwrapped(char *text)
{
	char *to = text;

	for (const char *from = text; *from; from++) {
		char c = *from == '\n' ? ' ' : *from;

		if (c != ' ' || to == text || to[-1] != ' ')
			*to++ = c;
	}
	*to = '\0';
	return text;
}

static struct done run(char *const *words, long memory, long reads)
{
	struct done d = { 0 };
	char *argv[WORDS_MAX + 1] = { NULL };
	int argc = 0, status;
	pid_t child;

	for (; words[argc]; argc++)
		argv[argc] = words[argc];
	plan->failed = false;
	plan->memory_left = plan->reads_left = -1;
	child = fork();
	if (!child) {
		send_to(STDOUT_FILENO, "out");
		send_to(STDERR_FILENO, "err");
		plan->memory_left = memory;
		plan->reads_left = reads;
		exit(fl_cli_main(argc, argv));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	plan->memory_left = plan->reads_left = -1;
	d.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	d.failed = plan->failed;
	d.out = unwrapped(slurp("out"));
	d.err = slurp("err");
	d.json = slurp("x.json");
	return d;
}

static void release(struct done *d)
{
	free(d->out);
	free(d->err);
	free(d->json);
}

/* Files that were being written when the program ended. */
static size_t left_behind(void)
{
	char pattern[96];
	glob_t found;
	size_t count;

	snprintf(pattern, sizeof(pattern), "%s/x.*.*", folder);
	if (glob(pattern, 0, NULL, &found))
		return 0;
	count = found.gl_pathc;
	globfree(&found);
	return count;
}

static void remove_json(void)
{
	char path[96];

	snprintf(path, sizeof(path), "%s/x.json", folder);
	unlink(path);
}

static void check_memory(const struct done *d, long n)
{
	bool out_of_memory = d->status == 1 && strstr(d->err, "fraglab: out of memory");
	bool told = (d->status == 0 || d->status == 2 || d->status == 3) &&
		    (strstr(d->out, "Cannot allocate memory") || strstr(d->err, "Cannot allocate memory"));

	if (strstr(d->err, "Sanitizer") || (!out_of_memory && !told))
		fail_msg("allocation %ld fails: status %d, \"%.2000s\"", n, d->status, d->err);
	if (d->json && d->status == 1 && d->json[0] && !strstr(d->json, "\"fraglab.inspect.v1\""))
		fail_msg("allocation %ld fails: half a file", n);
	assert_int_equal(left_behind(), 0);
}

static void check_read(const struct done *d, long n)
{
	if (strstr(d->err, "Sanitizer") || (d->status != 0 && d->status != 1 && d->status != 2 && d->status != 3) ||
	    (!strstr(d->out, "Input/output") && !strstr(d->err, "Input/output") && !strstr(d->out, "cannot be read, so not shown")))
		fail_msg("read %ld fails: status %d, out \"%.3000s\", err \"%.1000s\"", n, d->status, d->out, d->err);
	assert_int_equal(left_behind(), 0);
}

/* Every n up to the one that nothing reaches; past 400 every 7th, since the calls of a long report repeat. */
static void loop(char *const *words, bool memory, long step)
{
	long n = 0;

	for (;; n += step ? step : n < 400 ? 1 : 7) {
		struct done d;

		remove_json();
		d = run(words, memory ? n : -1, memory ? -1 : n);
		if (!d.failed) {
			if (d.status)
				fail_msg("nothing fails: status %d, \"%s\"", d.status, d.err);
			release(&d);
			break;
		}
		if (memory)
			check_memory(&d, n);
		else
			check_read(&d, n);
		release(&d);
	}
	print_message("# %s: up to %ld\n", memory ? "allocations" : "reads", n);
	assert_true(n > 0);
}

/* --- the cases ------------------------------------------------------------------------------------------------------ */

static char *fixture(const char *name)
{
	char *path;

	assert_true(asprintf(&path, "%s/observe/fixtures/%s", getenv("FL_TEST_ROOT"), name) > 0);
	return path;
}

static char *in_folder(const char *name)
{
	char *path;

	assert_true(asprintf(&path, "%s/%s", folder, name) > 0);
	return path;
}

static void test_text_with_every_allocation_and_read_failing(void **unused)
{
	char *text = fixture("fragmentation.txt"), *json = in_folder("x.json");
	char *words[] = { "fraglab", "inspect", text, "--json", json, NULL };

	loop(words, true, 0);
	loop(words, false, 0);
	free(text);
	free(json);
}

static void test_host_with_every_allocation_and_read_failing(void **unused)
{
	char *root = in_folder("root"), *json = in_folder("x.json"), *png = in_folder("x.png");
	char *words[] = { "fraglab", "inspect", "--root", root, "--map", "--png", png, "--json", json, NULL };

	loop(words, true, 0);
	loop(words, false, 0);
	free(root);
	free(json);
	free(png);
}

static void test_watch_with_allocations_and_every_read_failing(void **unused)
{
	char *root = in_folder("root");
	char *words[] = { "fraglab", "inspect", "--root", root, "--watch", "100ms", "--count", "1", NULL };

	loop(words, true, 13); /* each takes a tenth of a second */
	loop(words, false, 0);
	free(root);
}

/* The wrappers themselves: a plan that fails nothing, and one that fails the first. */
static void test_a_planned_failure_is_seen(void **unused)
{
	char *text = fixture("boost.txt");
	char *words[] = { "fraglab", "inspect", text, NULL };
	struct done d = run(words, -1, -1);

	assert_false(d.failed);
	assert_int_equal(d.status, 0);
	release(&d);
	d = run(words, 0, -1);
	assert_true(d.failed);
	assert_int_equal(d.status, 1);
	release(&d);
	free(text);
}

static void write_file(const char *name, const void *bytes, size_t length)
{
	char *path = in_folder(name);
	FILE *file;

	for (char *slash = path + strlen(folder) + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
		*slash = '\0';
		mkdir(path, 0700);
	}
	file = fopen(path, "wb");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, length, file), length);
	assert_int_equal(fclose(file), 0);
	free(path);
}

static int set_up(void **state)
{
	static const struct {
		const char *name, *text;
	} files[] = {
		{ "root/proc/version", "Linux version 6.12.0\n" },
		{ "root/proc/buddyinfo", "Node 0, zone Normal 0 0 0 0 0 0 0 0 0 0 2\n" },
		{ "root/proc/pagetypeinfo", "Page block order: 9\nNode 0, zone Normal, type Movable 0 0 0 0 0 0 0 0 0 0 2\n" },
		{ "root/proc/zoneinfo", "Node 0, zone Normal\n  pages free 2048\n        min 10\n        spanned 4096\n        present 4096\n"
					"        managed 4096\n  start_pfn: 0\n" },
		{ "root/proc/vmstat", "nr_free_pages 2048\ncompact_stall 1\n" },
		{ "root/proc/meminfo", "MemTotal: 16384 kB\nMemFree: 8192 kB\n" },
		{ "root/proc/iomem", "00000000-00ffffff : System RAM\n" },
		{ "root/proc/sys/vm/min_free_kbytes", "40\n" },
		{ "root/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n" },
		{ "root/sys/kernel/mm/transparent_hugepage/hpage_pmd_size", "2097152\n" },
		{ "root/sys/kernel/mm/transparent_hugepage/hugepages-64kB/stats/anon_fault_alloc", "5\n" },
		{ "root/sys/kernel/mm/transparent_hugepage/hugepages-64kB/stats/anon_fault_fallback", "6\n" },
		{ "root/sys/kernel/debug/extfrag/extfrag_index", "Node 0, zone Normal -1.000 -1.000\n" },
		{ "root/sys/kernel/debug/extfrag/unusable_index", "Node 0, zone Normal 0.000 0.000\n" },
	};
	static uint64_t flags[4096], counts[4096];

	if (!mkdtemp(folder))
		return -1;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		write_file(files[i].name, files[i].text, strlen(files[i].text));
	for (int i = 0; i < 4096; i++)
		flags[i] = i < 2048 ? UINT64_C(1) << 10 : i % 3 ? 0 : UINT64_C(1) << 7;
	write_file("root/proc/kpageflags", flags, sizeof(flags));
	write_file("root/proc/kpagecount", counts, sizeof(counts));
	plan = mmap(NULL, sizeof(*plan), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (plan == MAP_FAILED)
		return -1;
	plan->memory_left = plan->reads_left = -1;
	return 0;
}

static int tear_down(void **state)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -r %s", folder);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_planned_failure_is_seen),
		cmocka_unit_test(test_text_with_every_allocation_and_read_failing),
		cmocka_unit_test(test_host_with_every_allocation_and_read_failing),
		cmocka_unit_test(test_watch_with_allocations_and_every_read_failing),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
