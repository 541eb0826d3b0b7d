/*
 * sim/switch_ucontext.c - the context switch elsewhere: the C library's ucontext (two system calls a switch).
 *
 * A saved "stack pointer" is the address of a ucontext that lies on the suspended stack itself.
 */
#if !(defined(__x86_64__) || defined(__aarch64__)) || defined(FL_SIM_UCONTEXT)
#include <stdint.h>
#include <ucontext.h>

#include "base/bug.h"
#include "sim/coroutine.h"

void *fl_context_make(void *low, size_t bytes)
{
	size_t above = (sizeof(ucontext_t) + 63) / 64 * 64;
	ucontext_t *context = (ucontext_t *)((char *)low + bytes - above);

	FL_ASSERT(getcontext(context) == 0);
	context->uc_stack.ss_sp = low;
	context->uc_stack.ss_size = bytes - above;
	context->uc_link = NULL;
	makecontext(context, fl_stack_main, 0);
	return context;
}

void fl_context_switch(void **save_sp, void *load_sp)
{
	ucontext_t here;

	*save_sp = &here;
	FL_ASSERT(swapcontext(&here, load_sp) == 0);
}
#else
/* ISO C wants something in every translation unit. */
extern int fl_switch_ucontext_unused;
#endif
