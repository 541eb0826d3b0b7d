/* tests/mm/spinlock_test.c - who holds a lock when another CPU would try it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "mm/spinlock.h"

/* Tasks without a simulation: their own time is their clock. */
static struct fl_task at(unsigned int cpu, fl_ns now)
{
	return (struct fl_task){ .cpu = (uint16_t)cpu, .sys_ns = now };
}

static void test_trylock_fails_inside_a_hold_of_another_cpu_only(void **state)
{
	struct fl_spinlock lock = { .watchers = 1 };
	struct fl_task holder = at(0, 1000), before = at(1, 899), inside = at(1, 900), after = at(1, 1000);
	struct fl_task same_cpu = at(0, 950);

	(void)state;
	fl_spin_held(&lock, &holder, 100); /* from 900 to 1000 */
	assert_false(fl_spin_is_contended(&lock, &before));
	assert_true(fl_spin_is_contended(&lock, &inside));
	assert_false(fl_spin_is_contended(&lock, &after));
	assert_false(fl_spin_is_contended(&lock, &same_cpu));
}

static void test_holds_are_forgotten_while_nobody_asks(void **state)
{
	struct fl_spinlock lock = { 0 };
	struct fl_task holder = at(0, 1000), inside = at(1, 950);

	(void)state;
	fl_spin_held(&lock, &holder, 100);
	assert_false(fl_spin_is_contended(&lock, &inside));
}

/* 100 pieces one behind the other are one hold, so the first of them is not lost. */
static void test_hold_that_is_paid_in_pieces_is_one_hold(void **state)
{
	struct fl_spinlock lock = { .watchers = 1 };
	struct fl_task early = at(1, 105);

	(void)state;
	for (fl_ns now = 110; now <= 1100; now += 10) {
		struct fl_task holder = at(0, now);

		fl_spin_held(&lock, &holder, 10);
	}
	assert_true(fl_spin_is_contended(&lock, &early));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_trylock_fails_inside_a_hold_of_another_cpu_only),
		cmocka_unit_test(test_holds_are_forgotten_while_nobody_asks),
		cmocka_unit_test(test_hold_that_is_paid_in_pieces_is_one_hold),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
