/*
 * sim/coroutine.h - entering and leaving a stack: the only place that knows how a context is switched.
 *
 * x86-64 and arm64 have some twenty instructions of their own (switch_*.S); elsewhere, or with -DFL_SIM_UCONTEXT, the
 * slower ucontext of the C library does the same (switch_ucontext.c). Only main enters, only a task leaves: stacks do
 * not nest. AddressSanitizer is told of each switch.
 */
#ifndef FL_SIM_COROUTINE_H
#define FL_SIM_COROUTINE_H

#include "sim/platform.h"

#if defined(__SANITIZE_ADDRESS__)
#define FL_COROUTINE_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FL_COROUTINE_ASAN 1
#endif
#endif
#ifndef FL_COROUTINE_ASAN
#define FL_COROUTINE_ASAN 0
#endif

/* Readies a stack so that the first entering calls entry(arg). When entry returns the stack is left for good. */
void fl_stack_prepare(struct fl_stack *stack, void (*entry)(void *arg), void *arg);

/* Main stack only: runs the code on the stack until it leaves. */
void fl_stack_enter(struct fl_stack *stack);

/* On that stack only: back to the code that entered; returns at the next entering. */
void fl_stack_leave(struct fl_stack *stack);

/* Makes a stack fit for prepare again, whether its code has ended, is suspended (it is dropped where it stands, without
 * unwinding) or never began. */
void fl_stack_reset(struct fl_stack *stack);

/* The switch itself: saves the callee-saved registers and the stack pointer to *save_sp, takes those of load_sp. */
void fl_context_switch(void **save_sp, void *load_sp);
/* Lays out a new context at the high end of a stack that will start at fl_stack_main; returns its stack pointer. */
void *fl_context_make(void *low, size_t bytes);
/* What a new context calls. */
void fl_stack_main(void) __attribute__((noreturn));

#endif
