/*
 * sim/coroutine.c - entering, leaving and dropping stacks, with AddressSanitizer's annotations (see coroutine.h).
 */
#include "sim/coroutine.h"

#include "base/bug.h"

#if FL_COROUTINE_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#else
#define __sanitizer_start_switch_fiber(save, bottom, size) ((void)0)
#define __sanitizer_finish_switch_fiber(save, bottom, size) ((void)0)
#define __asan_unpoison_memory_region(low, bytes) ((void)0)
#endif

void fl_stack_prepare(struct fl_stack *stack, void (*entry)(void *arg), void *arg)
{
	FL_ASSERT(!stack->entered);
	stack->entry = entry;
	stack->arg = arg;
	stack->sp = fl_context_make(stack->low, FL_STACK_BYTES);
}

void fl_stack_enter(struct fl_stack *stack)
{
	void *fake_stack = NULL;

	FL_ASSERT_MSG(!fl_stack_current, "stacks do not nest");
	fl_stack_current = stack;
	__sanitizer_start_switch_fiber(&fake_stack, stack->low, FL_STACK_BYTES);
	fl_context_switch(&stack->main_sp, stack->sp);
	__sanitizer_finish_switch_fiber(fake_stack, NULL, NULL);
	fl_stack_current = NULL;
	(void)fake_stack;
}

/* Leaves for good: a NULL save makes AddressSanitizer free the fake stack. */
static void __attribute__((noreturn)) leave_for_good(struct fl_stack *stack)
{
	stack->entered = false;
	__sanitizer_start_switch_fiber(NULL, stack->main_bottom, stack->main_size);
	fl_context_switch(&stack->sp, stack->main_sp);
	fl_bug(__FILE__, __LINE__, "unreachable", "a stack that was left for good was entered");
}

void fl_stack_leave(struct fl_stack *stack)
{
	FL_ASSERT_MSG(fl_stack_current == stack, "only the code on a stack leaves it");
	__sanitizer_start_switch_fiber(&stack->fake_stack, stack->main_bottom, stack->main_size);
	fl_context_switch(&stack->sp, stack->main_sp);
	__sanitizer_finish_switch_fiber(stack->fake_stack, &stack->main_bottom, &stack->main_size);
	if (stack->is_discarded)
		leave_for_good(stack);
}

void fl_stack_main(void)
{
	struct fl_stack *stack = fl_stack_current;

	__sanitizer_finish_switch_fiber(NULL, &stack->main_bottom, &stack->main_size);
	stack->entered = true;
	stack->entry(stack->arg);
	leave_for_good(stack);
}

void fl_stack_reset(struct fl_stack *stack)
{
	/* Only AddressSanitizer has something to free there; elsewhere the code is simply never entered again. */
	if (stack->entered && FL_COROUTINE_ASAN) {
		stack->is_discarded = true;
		fl_stack_enter(stack);
		stack->is_discarded = false;
	}
	stack->entered = false;
	__asan_unpoison_memory_region(stack->low, FL_STACK_BYTES);
}
