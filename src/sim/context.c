/*
 * sim/context.c - the first frame of a new context, for the switches of switch_*.S.
 */
#include "sim/coroutine.h"

#include <stdint.h>

#if (defined(__x86_64__) || defined(__aarch64__)) && !defined(FL_SIM_UCONTEXT)

/* In the .S file: marks the end of back traces and calls fl_stack_main. */
extern void fl_context_start(void);

#if defined(__x86_64__)
#define SAVED_WORDS 7
#define START_WORD 6 /* six callee-saved registers, then the address to go on at */
#else
#define SAVED_WORDS 20
#define START_WORD 11 /* x19..x28, x29, x30, then d8..d15 */
#endif

void *fl_context_make(void *low, size_t bytes)
{
	/* Two zero words stay above, so that the stack pointer is 16-aligned at the start and a walker finds an end. */
	uintptr_t *sp = (uintptr_t *)((char *)low + bytes) - 2;

	sp[0] = 0;
	sp[1] = 0;
	sp -= SAVED_WORDS;
	for (int i = 0; i < SAVED_WORDS; i++)
		sp[i] = 0;
	sp[START_WORD] = (uintptr_t)fl_context_start;
	return sp;
}
#endif
