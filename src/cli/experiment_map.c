/* cli/experiment_map.c - the pageblock maps of run and compare: what memory looked like at the end of the first run. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/experiment.h"
#include "report/map.h"

enum { PICTURES_MAX = 16 };

/* The census of the first run of a kernel, or NULL. */
static const struct fl_census *census_of(const struct fl_pool_outcome *outcomes, size_t kernel)
{
	const struct fl_pool_outcome *o = &outcomes[kernel];

	return o->state == FL_POOL_DONE && o->record.has_census ? &o->record.census : NULL;
}

static void draw_pair(const struct fl_cli_experiment *e, const struct fl_pool_outcome *outcomes, size_t kernel,
		      const struct fl_map_options *options, struct fl_text *to)
{
	const struct fl_census *a = census_of(outcomes, 0), *b = census_of(outcomes, kernel);

	if (a && b)
		fl_map_draw_pair(a, e->kernels[0], b, e->kernels[kernel], options, to);
	else
		fl_text_add(to, "There is no map of %s and %s: a first run or its census is missing.\n", e->kernels[0],
			    e->kernels[kernel]);
}

void fl_cli_experiment_draw_maps(const struct fl_cli_experiment *e, const struct fl_pool_outcome *outcomes,
				 struct fl_text *to)
{
	struct fl_map_options options;

	fl_map_options_init(&options);
	options.colour = isatty(STDOUT_FILENO);
	fl_text_add(to, "\nPageblocks at the end of seed %" PRIu64 "\n", e->request.seed);
	if (e->kernels_count == 1 && census_of(outcomes, 0))
		fl_map_draw(census_of(outcomes, 0), &options, to);
	else if (e->kernels_count == 1)
		fl_text_add(to, "There is no map: the first run or its census is missing.\n");
	for (size_t k = 1; k < e->kernels_count; k++)
		draw_pair(e, outcomes, k, &options, to);
}

int fl_cli_experiment_write_png(struct fl_cli_experiment *e, const struct fl_pool_outcome *outcomes)
{
	struct fl_map_picture pictures[PICTURES_MAX];
	unsigned int count = 0;
	struct fl_error error;
	struct fl_text png;
	int r;

	for (size_t k = 0; k < e->kernels_count && count < PICTURES_MAX; k++)
		if (census_of(outcomes, k))
			pictures[count++] = (struct fl_map_picture){ census_of(outcomes, k), e->kernels[k] };
	fl_text_init(&png);
	r = count ? fl_map_encode_png(pictures, count, &png, &error) :
		    fl_error_set(&error, FL_ERROR_FAILED, -ENODATA, "there is no census to draw: %s is not written", e->png.path);
	if (r == 0)
		r = fl_output_commit(&e->png, png.data, png.length, &error);
	fl_text_fini(&png);
	return r < 0 ? fl_cli_fail(&error) : 0;
}
