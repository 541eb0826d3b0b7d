/* tests/base/test.h - what every cmocka test includes, and the checks that the tests of base share. */
#ifndef FL_TESTS_BASE_TEST_H
#define FL_TESTS_BASE_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"

/* The error is of the user's making and its sentence has every one of the words (NULL-terminated). */
static inline void assert_refused(int r, const struct fl_error *error, const char *word, ...)
{
	va_list ap;

	assert_true(r < 0);
	assert_int_equal(error->class, FL_ERROR_INPUT);
	va_start(ap, word);
	for (; word; word = va_arg(ap, const char *))
		if (!strstr(error->text, word))
			fail_msg("\"%s\" does not say \"%s\"", error->text, word);
	va_end(ap);
}

#endif
