/*
 * calibrate/process.c - entering the kernel, switching, processes and threads, pipes and mappings without their memory.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "calibrate/bench.h"

#define TIMES(n) for (int times_ = 0; times_ < (n); times_++)

static bool measure_syscall(struct fl_cal_bench *b, double *ret_ns)
{
	double start = fl_cal_now();

	(void)b;
	TIMES (100000)
		syscall(SYS_getppid);
	*ret_ns = (fl_cal_now() - start) / 100000;
	return true;
}

/* A byte through a pipe that is read by who wrote it: two calls, no switch. */
static bool measure_pipe_alone(struct fl_cal_bench *b, double *ret_ns)
{
	double start;
	char byte = 1;
	int ends[2], broken = 0;

	if (pipe(ends))
		return fl_cal_cannot(b, "pipe: %s", strerror(errno));
	start = fl_cal_now();
	TIMES (20000)
		broken |= write(ends[1], &byte, 1) != 1 || read(ends[0], &byte, 1) != 1;
	*ret_ns = (fl_cal_now() - start) / 20000;
	close(ends[0]);
	close(ends[1]);
	return broken ? fl_cal_cannot(b, "a pipe broke") : true;
}

static double cpu_ns(const struct rusage *u)
{
	return ((double)u->ru_utime.tv_sec + (double)u->ru_stime.tv_sec) * 1e9 +
	       ((double)u->ru_utime.tv_usec + (double)u->ru_stime.tv_usec) * 1e3;
}

static void pass_bytes(int from, int to, int n)
{
	char byte = 1;

	TIMES (n) {
		if (read(from, &byte, 1) != 1 || write(to, &byte, 1) != 1)
			_exit(1);
	}
}

/* Two processes on one CPU pass a byte to and fro; CPU time of both. */
static bool ping_pong(struct fl_cal_bench *b, int there[2], int back[2], int n, double *ret_ns)
{
	struct rusage usage;
	double start = fl_cal_now();
	char byte = 1;
	int status;
	pid_t child = fork();

	if (child < 0)
		return fl_cal_cannot(b, "fork: %s", strerror(errno));
	if (child == 0) {
		pass_bytes(there[0], back[1], n);
		_exit(0);
	}
	TIMES (n) {
		if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1) {
			kill(child, SIGKILL);
			break;
		}
	}
	if (wait4(child, &status, 0, &usage) != child || status)
		return fl_cal_cannot(b, "the other process died");
	*ret_ns = (fl_cal_now() - start + cpu_ns(&usage)) / (2.0 * n);
	return true;
}

static bool measure_switch(struct fl_cal_bench *b, double *ret_ns)
{
	cpu_set_t all, one;
	int there[2], back[2], cpu = sched_getcpu();
	bool done;

	if (sched_getaffinity(0, sizeof(all), &all) || pipe(there) || pipe(back))
		return fl_cal_cannot(b, "pipe: %s", strerror(errno));
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	sched_setaffinity(0, sizeof(one), &one);
	done = ping_pong(b, there, back, 5000, ret_ns);
	sched_setaffinity(0, sizeof(all), &all);
	for (int i = 0; i < 2; i++) {
		close(there[i]);
		close(back[i]);
	}
	return done;
}

static bool measure_pipe_make(struct fl_cal_bench *b, double *ret_ns)
{
	double start = fl_cal_now();
	int ends[2], broken = 0;

	TIMES (5000) {
		broken |= pipe(ends);
		close(ends[0]);
		close(ends[1]);
	}
	*ret_ns = (fl_cal_now() - start) / 5000;
	return broken ? fl_cal_cannot(b, "pipe: %s", strerror(errno)) : true;
}

/* mmap and munmap of a page that is not touched, halved. */
static bool measure_vma(struct fl_cal_bench *b, double *ret_ns)
{
	double start = fl_cal_now();

	TIMES (10000) {
		void *area = mmap(NULL, FL_CAL_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (area == MAP_FAILED)
			return fl_cal_cannot(b, "mmap: %s", strerror(errno));
		munmap(area, FL_CAL_PAGE);
	}
	*ret_ns = (fl_cal_now() - start) / 20000;
	return true;
}

/* The child shares the memory, so no page table is copied; it ends at once. */
static bool measure_exec(struct fl_cal_bench *b, double *ret_ns)
{
	static const char *const argv[] = { "true", NULL };
	double start = fl_cal_now(), child_ns = 0, faults = 0, fault_ns;
	struct rusage usage;
	int status, bad = 0;

	TIMES (20) {
		pid_t child = vfork();

		if (child == 0) {
			execv("/bin/true", (char *const *)argv);
			_exit(127);
		}
		if (child < 0 || wait4(child, &status, 0, &usage) != child || status)
			bad = 1;
		child_ns += cpu_ns(&usage);
		faults += (double)usage.ru_minflt;
	}
	if (bad)
		return fl_cal_cannot(b, "/bin/true cannot be run");
	*ret_ns = (fl_cal_now() - start + child_ns) / 20;
	fault_ns = *ret_ns; /* a fault is charged apart; file faults cost what first touches do, within this accuracy */
	start = fl_cal_now();
	madvise(b->base, 512 * FL_CAL_PAGE, MADV_DONTNEED);
	for (size_t at = 0; at < 512 * FL_CAL_PAGE; at += FL_CAL_PAGE)
		b->base[at] = 1;
	fault_ns = (fl_cal_now() - start) / 512;
	*ret_ns -= faults / 20 * fault_ns;
	return true;
}

static void *end_at_once(void *arg)
{
	return arg;
}

static bool measure_thread(struct fl_cal_bench *b, double *ret_ns)
{
	double start = fl_cal_now();

	TIMES (200) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, end_at_once, NULL))
			return fl_cal_cannot(b, "no thread can be made");
		pthread_join(thread, NULL);
	}
	*ret_ns = (fl_cal_now() - start) / 200;
	return true;
}

const struct fl_cal_measurement fl_cal_process[] = {
	{ "syscall", "getppid through syscall(2)", "syscall", measure_syscall, { { 0 } } },
	{ "pipe_alone", "a byte written to a pipe and read again by one process", NULL, measure_pipe_alone, { { 0 } } },
	{ "pipe_switch", "half a round trip of a byte between two processes on one CPU, CPU time of both", "context_switch",
	  measure_switch, { { 1, "@pipe_alone" } } },
	{ "pipe_make", "pipe and two closes", "pipe_make", measure_pipe_make, { { 3, "syscall" } } },
	{ "mmap_munmap", "half of mmap and munmap of an untouched page", "vma", measure_vma, { { 1, "syscall" } } },
	{ "spawn", "vfork, exec, exit and wait of /bin/true, CPU time of both, less its page faults", "process_start", measure_exec,
	  { { 1, "process_exit" } } },
	{ "thread", "pthread_create and join, CPU time of who calls", "thread_start", measure_thread, { { 1, "context_switch" } } },
	{ 0 },
};
