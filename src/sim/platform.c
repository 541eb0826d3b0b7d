/*
 * sim/platform.c - memory and stacks from the host: the one file of the model that calls the C library (see platform.h).
 *
 * The gate test exempts this object by its name; keep anything that can be written without libc out of here.
 */
#include "sim/platform.h"

#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/bug.h"
#include "sim/coroutine.h"

#if defined(__has_include)
#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#endif
#endif
#ifndef VALGRIND_STACK_REGISTER
#define VALGRIND_STACK_REGISTER(low, high) 0
#define VALGRIND_STACK_DEREGISTER(id) ((void)(id))
#endif

struct fl_stack *fl_stack_current;

static void *require(void *p)
{
	FL_ASSERT_MSG(p && p != MAP_FAILED, "out of memory");
	return p;
}

void *fl_host_alloc(size_t size)
{
	return require(calloc(1, size ? size : 1));
}

void *fl_host_resize(void *p, size_t size)
{
	return require(realloc(p, size ? size : 1));
}

void fl_host_free(void *p)
{
	free(p);
}

void *fl_host_map(size_t bytes)
{
	return require(mmap(NULL, bytes ? bytes : 1, PROT_READ | PROT_WRITE,
	                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
}

void fl_host_unmap(void *p, size_t bytes)
{
	if (p)
		munmap(p, bytes ? bytes : 1);
}

static size_t guard_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

struct fl_stack *fl_stack_new(void)
{
	struct fl_stack *stack = fl_host_alloc(sizeof(*stack));
	char *base = fl_host_map(guard_bytes() + FL_STACK_BYTES);

	FL_ASSERT_MSG(mprotect(base, guard_bytes(), PROT_NONE) == 0,
	              "no guard page: too many mappings (vm.max_map_count)");
	stack->low = base + guard_bytes();
	stack->valgrind_id = VALGRIND_STACK_REGISTER(stack->low, (char *)stack->low + FL_STACK_BYTES - 1);
	return stack;
}

void fl_stack_free(struct fl_stack *stack)
{
	VALGRIND_STACK_DEREGISTER(stack->valgrind_id);
	munmap((char *)stack->low - guard_bytes(), guard_bytes() + FL_STACK_BYTES);
	fl_host_free(stack);
}

#if !FL_COROUTINE_ASAN
static void say(const char *text)
{
	if (write(STDERR_FILENO, text, strlen(text)) < 0)
		return; /* nothing better can be done in a handler */
}

static void on_fault(int signal_number, siginfo_t *info, void *context)
{
	struct fl_stack *stack = fl_stack_current;
	uintptr_t address = (uintptr_t)info->si_addr;

	(void)context;
	if (stack && address < (uintptr_t)stack->low && (uintptr_t)stack->low - address <= guard_bytes()) {
		say("task ");
		say(stack->owner ? stack->owner : "?");
		say(": stack overflow\n");
	}
	signal(signal_number, SIG_DFL); /* returning repeats the fault, which now kills with the right signal */
}

void fl_stack_catch_overflow(void)
{
	static char handler_stack[64 * 1024];
	static bool is_installed;
	stack_t stack = {.ss_sp = handler_stack, .ss_size = sizeof(handler_stack)};
	struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};

	if (is_installed)
		return;
	is_installed = true;
	sigemptyset(&action.sa_mask);
	sigaltstack(&stack, NULL);
	sigaction(SIGSEGV, &action, NULL);
	sigaction(SIGBUS, &action, NULL);
}
#else
void fl_stack_catch_overflow(void)
{
}
#endif
