/*
 * stats/power.c - what an experiment without common random numbers could see: kernels in machines that are booted anew for
 * each run have nothing in common but the load, so their runs are two independent samples.
 */
#include <math.h>

#define MATHLIB_STANDALONE
#include <Rmath.h>

#include "stats/compare.h"

enum { RUNS_MOST = 1000000 };

double fl_stats_power(double diff, double sd_a, double sd_b, double runs)
{
	double freedom = 2 * runs - 2, shift = fabs(diff) / sqrt((sd_a * sd_a + sd_b * sd_b) / runs);
	double limit = qt(0.975, freedom, 1, 0);

	if (shift > 30) /* beyond the range of the noncentral distribution, and certain */
		return 1;
	return pnt(limit, freedom, shift, 0, 0) + pnt(-limit, freedom, shift, 1, 0);
}

double fl_stats_runs_needed(double diff, double sd_a, double sd_b)
{
	size_t low = 2, high = RUNS_MOST;

	if (isnan(diff) || isnan(sd_a) || isnan(sd_b) || diff == 0)
		return NAN;
	if (sd_a == 0 && sd_b == 0)
		return 2;
	if (fl_stats_power(diff, sd_a, sd_b, RUNS_MOST) < 0.8)
		return RUNS_MOST + 1;
	while (low < high) {
		size_t middle = (low + high) / 2;

		if (fl_stats_power(diff, sd_a, sd_b, (double)middle) < 0.8)
			low = middle + 1;
		else
			high = middle;
	}
	return (double)low;
}
