/* base/result.c - building and freeing results. */
#include "base/result.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/hash.h"

const char *fl_verdict_word(enum fl_verdict verdict)
{
	static const char *const words[] = {
		[FL_VERDICT_NONE] = "",		  [FL_VERDICT_BETTER] = "better",
		[FL_VERDICT_WORSE] = "worse",	  [FL_VERDICT_HIGHER] = "higher",
		[FL_VERDICT_LOWER] = "lower",	  [FL_VERDICT_NOT_SHOWN] = "no difference shown",
	};

	return words[verdict];
}

void fl_result_init(struct fl_result *result)
{
	*result = (struct fl_result){ 0 };
}

void fl_fields_fini(struct fl_fields *fields)
{
	for (size_t i = 0; i < fields->count; i++) {
		free(fields->list[i].name);
		free(fields->list[i].text);
	}
	free(fields->list);
	*fields = (struct fl_fields){ 0 };
}

void fl_result_fini(struct fl_result *result)
{
	fl_fields_fini(&result->options);
	fl_fields_fini(&result->machine);
	fl_fields_fini(&result->tunables);
	fl_fields_fini(&result->provenance);
	for (size_t i = 0; i < result->kernels_count; i++)
		free(result->kernels[i]);
	for (size_t i = 0; i < result->metrics_count; i++)
		free(result->metrics[i].values);
	free(result->kernels);
	free(result->metrics);
	free(result->index);
	free(result->comparisons);
	free(result->published);
	free(result->notes);
	free(result->state_hash);
	free(result->present);
	free(result->scenario);
	free(result->backend);
	*result = (struct fl_result){ 0 };
}

static struct fl_field *fields_add(struct fl_fields *fields, const char *name, enum fl_field_kind kind)
{
	struct fl_field *field;

	fields->list = fl_xrealloc(fields->list, (fields->count + 1) * sizeof(*fields->list));
	field = &fields->list[fields->count++];
	*field = (struct fl_field){ .name = fl_xstrdup(name), .kind = kind };
	return field;
}

void fl_fields_add_int(struct fl_fields *fields, const char *name, int64_t value)
{
	fields_add(fields, name, FL_FIELD_INT)->number = value;
}

void fl_fields_add_quantity(struct fl_fields *fields, const char *name, int64_t value, enum fl_field_unit unit)
{
	struct fl_field *field = fields_add(fields, name, FL_FIELD_INT);

	field->number = value;
	field->unit = unit;
}

void fl_fields_add_bool(struct fl_fields *fields, const char *name, bool value)
{
	fields_add(fields, name, FL_FIELD_BOOL)->number = value;
}

void fl_fields_add_real(struct fl_fields *fields, const char *name, double value)
{
	fields_add(fields, name, FL_FIELD_REAL)->real = value;
}

void fl_fields_add_text(struct fl_fields *fields, const char *name, const char *value)
{
	fields_add(fields, name, FL_FIELD_TEXT)->text = value ? fl_xstrdup(value) : NULL;
}

const struct fl_field *fl_fields_find(const struct fl_fields *fields, const char *name)
{
	for (size_t i = 0; i < fields->count; i++)
		if (!strcmp(fields->list[i].name, name))
			return &fields->list[i];
	return NULL;
}

void fl_result_shape(struct fl_result *result, const char *const *kernels, size_t kernels_count, size_t runs)
{
	FL_ASSERT(result->kernels == NULL && kernels_count > 0 && runs > 0);
	result->kernels = fl_xcalloc(kernels_count, sizeof(*result->kernels));
	for (size_t i = 0; i < kernels_count; i++)
		result->kernels[i] = fl_xstrdup(kernels[i]);
	result->kernels_count = kernels_count;
	result->runs = runs;
	result->state_hash = fl_xcalloc(kernels_count * runs, sizeof(*result->state_hash));
	result->present = fl_xcalloc(kernels_count * runs, sizeof(*result->present));
}

/*
 * Index of metrics by name and phase, open addressing: a run has thousands of counters in each phase. 0 is an empty
 * slot, others are metric + 1. Grown so that at most half of the slots are used.
 */
static size_t *index_slot(const struct fl_result *result, const char *name, const char *phase)
{
	uint64_t h = fl_hash_text(fl_hash_text(0, name), phase);
	size_t mask = result->index_slots - 1;

	for (size_t i = h & mask;; i = (i + 1) & mask) {
		const struct fl_metric *m;

		if (result->index[i] == 0)
			return &result->index[i];
		m = &result->metrics[result->index[i] - 1];
		if (!strcmp(m->name, name) && !strcmp(m->phase, phase))
			return &result->index[i];
	}
}

static void index_grow(struct fl_result *result)
{
	if (2 * (result->metrics_count + 1) <= result->index_slots)
		return;
	result->index_slots = result->index_slots ? 2 * result->index_slots : 64;
	free(result->index);
	result->index = fl_xcalloc(result->index_slots, sizeof(*result->index));
	for (size_t i = 0; i < result->metrics_count; i++)
		*index_slot(result, result->metrics[i].name, result->metrics[i].phase) = i + 1;
}

struct fl_metric *fl_result_add_metric(struct fl_result *result, const char *name, const char *phase)
{
	size_t cells = result->kernels_count * result->runs, *slot;
	struct fl_metric *metric;

	index_grow(result);
	slot = index_slot(result, name, phase);
	if (*slot)
		return &result->metrics[*slot - 1];
	if ((result->metrics_count & (result->metrics_count - 1)) == 0) /* room doubles at the powers of two */
		result->metrics = fl_xrealloc(result->metrics, (result->metrics_count ? 2 * result->metrics_count : 1) *
					      sizeof(*result->metrics));
	metric = &result->metrics[result->metrics_count];
	*slot = ++result->metrics_count;
	*metric = (struct fl_metric){ .values = fl_xmalloc(cells * sizeof(double)) };
	snprintf(metric->name, sizeof(metric->name), "%s", name);
	snprintf(metric->phase, sizeof(metric->phase), "%s", phase);
	for (size_t i = 0; i < cells; i++)
		metric->values[i] = NAN;
	return metric;
}

void fl_result_take(struct fl_result *result, size_t kernel, size_t run, const struct fl_record *record)
{
	size_t cell = kernel * result->runs + run;

	FL_ASSERT(kernel < result->kernels_count && run < result->runs && !result->present[cell]);
	for (size_t i = 0; i < record->samples_count; i++) {
		const struct fl_sample *s = &record->samples[i];
		struct fl_metric *m = fl_result_add_metric(result, s->name, s->phase);

		memcpy(m->unit, s->unit, sizeof(m->unit));
		m->better = (enum fl_better)s->better;
		m->headline |= s->headline;
		m->values[cell] = s->valid && isfinite(s->value) ? s->value : NAN;
	}
	result->state_hash[cell] = record->state_hash;
	result->present[cell] = true;
	if (record->died)
		fl_result_add_note(result, kernel, run, true, record->died_where);
}

void fl_result_add_note(struct fl_result *result, size_t kernel, size_t run, bool died, const char *text)
{
	struct fl_run_note *note;

	result->notes = fl_xrealloc(result->notes, (result->notes_count + 1) * sizeof(*result->notes));
	note = &result->notes[result->notes_count++];
	*note = (struct fl_run_note){ .kernel = kernel, .run = run, .died = died };
	snprintf(note->text, sizeof(note->text), "%s", text);
}

const struct fl_metric *fl_result_find(const struct fl_result *result, const char *name, const char *phase)
{
	size_t found = result->index_slots ? *index_slot(result, name, phase) : 0;

	return found ? &result->metrics[found - 1] : NULL;
}

const struct fl_published *fl_result_find_published(const struct fl_result *result, const char *name,
						    const char *phase)
{
	for (size_t i = 0; i < result->published_count; i++)
		if (!strcmp(result->published[i].name, name) && !strcmp(result->published[i].phase, phase))
			return &result->published[i];
	return NULL;
}
