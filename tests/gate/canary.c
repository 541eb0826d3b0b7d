/*
 * tests/gate/canary.c - everything that the model may not do, to see the gate fail. Never linked into anything.
 */
#include <stdlib.h>
#include <time.h>

long fl_canary(const double *p);

long fl_canary(const double *p)
{
	char *memory = malloc(16);

	if (getenv("HOME"))
		return (long)time(NULL);
	if (memory)
		return (long)memory; /* an address in the state, and kept, so that the call is not optimised away */
	/* gcc refuses most floating point under -mgeneral-regs-only, but not this comparison: it becomes a call. */
	return *p > 3.0;
}
