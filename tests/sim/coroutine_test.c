/*
 * tests/sim/coroutine_test.c - entering, leaving, dropping and reusing stacks. Built twice: with the switch of this
 * architecture, and with ucontext.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "sim/coroutine.h"

struct counter {
	struct fl_stack *stack;
	int steps;
	uint64_t sum;
	double fraction;
};

/* Keeps values in registers and on the stack across leaves, floating point too. */
static void count_to_ten(void *arg)
{
	struct counter *c = arg;
	volatile char on_stack[512];
	double fraction = 0;

	memset((char *)on_stack, 0x5a, sizeof(on_stack));
	for (uint64_t i = 1; i <= 10; i++) {
		c->sum += i;
		fraction += 0.5;
		c->steps++;
		fl_stack_leave(c->stack);
	}
	for (size_t i = 0; i < sizeof(on_stack); i++)
		assert_int_equal(on_stack[i], 0x5a);
	c->fraction = fraction;
}

static void test_code_goes_on_where_it_left(void **state)
{
	struct counter a = {.stack = fl_stack_new()}, b = {.stack = fl_stack_new()};

	fl_stack_prepare(a.stack, count_to_ten, &a);
	fl_stack_prepare(b.stack, count_to_ten, &b);
	for (int i = 1; i <= 10; i++) {
		fl_stack_enter(a.stack);
		fl_stack_enter(b.stack);
		assert_int_equal(a.steps, i);
		assert_int_equal(b.steps, i);
	}
	assert_true(a.stack->entered);
	fl_stack_enter(a.stack);
	fl_stack_enter(b.stack);
	assert_false(a.stack->entered);
	assert_int_equal(a.sum, 55);
	assert_true(b.fraction > 4.99 && b.fraction < 5.01);
	fl_stack_reset(a.stack);
	fl_stack_reset(b.stack);
	fl_stack_free(a.stack);
	fl_stack_free(b.stack);
}

/* Poisons (under AddressSanitizer) and dirties much of the stack. */
static void deep(void *arg)
{
	struct fl_stack *stack = arg;
	volatile char local[3000];

	memset((char *)local, 1, sizeof(local));
	fl_stack_leave(stack);
	assert_int_equal(local[17], 1);
}

static void test_a_stack_can_be_used_again_after_its_end_or_when_dropped(void **state)
{
	struct fl_stack *stack = fl_stack_new();

	for (int i = 0; i < 20; i++) {
		struct counter c = {.stack = stack};

		fl_stack_prepare(stack, deep, stack);
		fl_stack_enter(stack);
		if (i % 2)
			fl_stack_enter(stack); /* to its end */
		fl_stack_reset(stack);
		fl_stack_prepare(stack, count_to_ten, &c);
		if (i % 3)
			fl_stack_enter(stack);
		fl_stack_reset(stack); /* dropped, or never begun */
	}
	fl_stack_free(stack);
}

static void note_alignment(void *arg)
{
	uintptr_t *ret = arg;
	_Alignas(16) char aligned[16];

	/* The compiler trusts the ABI: a wrongly laid out first frame would show here. */
	__asm__ volatile("" ::"r"(aligned) : "memory");
	*ret = (uintptr_t)aligned;
}

static void test_stack_is_aligned_at_the_start(void **state)
{
	struct fl_stack *stack = fl_stack_new();
	uintptr_t address = 1;

	fl_stack_prepare(stack, note_alignment, &address);
	fl_stack_enter(stack);
	assert_int_equal(address % 16, 0);
	fl_stack_reset(stack);
	fl_stack_free(stack);
}

static int recurse(volatile char *above, int depth)
{
	volatile char here[1024];

	here[0] = above[0];
	return depth < 0 ? 0 : recurse(here, depth + 1) + here[0];
}

static void overflow(void *arg)
{
	volatile char one[1] = {1};

	recurse(one, 0);
}

/* One frame that is four times the stack: without probes of each page its write would land far below the guard. */
static void huge_frame(void *arg)
{
	char large[4 * FL_STACK_BYTES];

	large[0] = 1;
	__asm__ volatile("" ::"r"(large) : "memory");
}

static struct sigaction handler_before_cmocka;

/* What a child says on standard error when it runs over the end of its stack; its wait status in *status. */
static void run_overflowing_child(void (*entry)(void *), char *said, size_t size, int *status)
{
	int ends[2];
	size_t length = 0;
	ssize_t got;
	pid_t child;

	assert_int_equal(pipe(ends), 0);
	child = fork();
	if (child == 0) {
		struct fl_stack *stack = fl_stack_new();

		dup2(ends[1], STDERR_FILENO);
		sigaction(SIGSEGV, &handler_before_cmocka, NULL); /* the default, or AddressSanitizer's */
		fl_stack_catch_overflow();
		stack->owner = "kcompactd0";
		fl_stack_prepare(stack, entry, NULL);
		fl_stack_enter(stack);
		_exit(0);
	}
	close(ends[1]);
	while (length < size - 1 && (got = read(ends[0], said + length, size - 1 - length)) > 0)
		length += (size_t)got;
	said[length] = '\0';
	close(ends[0]);
	assert_int_equal(waitpid(child, status, 0), child);
}

static void assert_overflow_is_named(void (*entry)(void *))
{
	char said[4096];
	int status;

	run_overflowing_child(entry, said, sizeof(said), &status);
#if FL_COROUTINE_ASAN
	assert_non_null(strstr(said, "AddressSanitizer"));
	assert_true(WIFEXITED(status) ? WEXITSTATUS(status) != 0 : WIFSIGNALED(status));
#else
	assert_ptr_equal(strstr(said, "task kcompactd0: stack overflow\n"), said); /* emulators add lines of their own */
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGSEGV);
#endif
}

static void test_overflow_names_the_task_and_dies_of_the_signal(void **state)
{
	assert_overflow_is_named(overflow);
}

static void test_a_frame_larger_than_the_stack_does_not_jump_over_the_guard(void **state)
{
	assert_overflow_is_named(huge_frame);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_code_goes_on_where_it_left),
		cmocka_unit_test(test_a_stack_can_be_used_again_after_its_end_or_when_dropped),
		cmocka_unit_test(test_stack_is_aligned_at_the_start),
		cmocka_unit_test(test_overflow_names_the_task_and_dies_of_the_signal),
		cmocka_unit_test(test_a_frame_larger_than_the_stack_does_not_jump_over_the_guard),
	};

	sigaction(SIGSEGV, NULL, &handler_before_cmocka);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
