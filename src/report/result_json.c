/*
 * report/result_json.c - writing fraglab.result.v1.
 *
 * The order of members is fixed here. The tree is built with jansson and printed by base/json.
 */
#include "report/result_json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/json.h"

static json_t *field_value(const struct fl_field *field)
{
	switch (field->kind) {
	case FL_FIELD_INT:
		return json_integer(field->number);
	case FL_FIELD_BOOL:
		return json_boolean(field->number);
	case FL_FIELD_REAL:
		return fl_json_number(field->real);
	case FL_FIELD_TEXT:
		break;
	}
	return fl_json_text(field->text);
}

static json_t *fields_object(const struct fl_fields *fields)
{
	json_t *object = json_object();

	for (size_t i = 0; i < fields->count; i++)
		json_object_set_new(object, fields->list[i].name, field_value(&fields->list[i]));
	return object;
}

/* Which whole numbers are bytes or nanoseconds. */
static json_t *units_object(const struct fl_fields *fields)
{
	json_t *object = json_object();

	for (size_t i = 0; i < fields->count; i++)
		if (fields->list[i].unit != FL_UNIT_NONE)
			json_object_set_new(object, fields->list[i].name,
					    json_string(fields->list[i].unit == FL_UNIT_BYTES ? "bytes" : "ns"));
	return object;
}

static json_t *kernels_array(const struct fl_result *result)
{
	json_t *array = json_array();

	for (size_t i = 0; i < result->kernels_count; i++)
		json_array_append_new(array, fl_json_text(result->kernels[i]));
	return array;
}

static const char *better_word(enum fl_better better)
{
	return better == FL_BETTER_HIGHER ? "higher" : better == FL_BETTER_LOWER ? "lower" : "none";
}

static json_t *metric_object(const struct fl_result *result, const struct fl_metric *metric)
{
	json_t *object = json_object(), *values = json_array(), *valid = json_array();

	json_object_set_new(object, "name", fl_json_text(metric->name));
	json_object_set_new(object, "phase", fl_json_text(metric->phase));
	json_object_set_new(object, "unit", fl_json_text(metric->unit));
	json_object_set_new(object, "better", fl_json_text(better_word(metric->better)));
	json_object_set_new(object, "headline", json_boolean(metric->headline));
	for (size_t k = 0; k < result->kernels_count; k++) {
		json_t *row = json_array();
		int n = 0;

		for (size_t run = 0; run < result->runs; run++) {
			double value = metric->values[k * result->runs + run];

			n += !isnan(value);
			json_array_append_new(row, fl_json_number(value));
		}
		json_array_append_new(values, row);
		json_array_append_new(valid, json_integer(n));
	}
	json_object_set_new(object, "values", values);
	json_object_set_new(object, "n_valid", valid);
	return object;
}

static json_t *comparison_object(const struct fl_result *result, const struct fl_comparison *c)
{
	const struct fl_metric *metric = &result->metrics[c->metric];
	json_t *object = json_object(), *interval = json_null();

	if (!isnan(c->ci95[0])) {
		interval = json_array();
		json_array_append_new(interval, fl_json_number(c->ci95[0]));
		json_array_append_new(interval, fl_json_number(c->ci95[1]));
	}
	json_object_set_new(object, "name", fl_json_text(metric->name));
	json_object_set_new(object, "phase", fl_json_text(metric->phase));
	json_object_set_new(object, "a", fl_json_text(result->kernels[c->a]));
	json_object_set_new(object, "b", fl_json_text(result->kernels[c->b]));
	json_object_set_new(object, "n_valid", json_integer((json_int_t)c->n_valid));
	json_object_set_new(object, "mean_a", fl_json_number(c->mean_a));
	json_object_set_new(object, "mean_b", fl_json_number(c->mean_b));
	json_object_set_new(object, "sd_a", fl_json_number(c->sd_a));
	json_object_set_new(object, "sd_b", fl_json_number(c->sd_b));
	json_object_set_new(object, "diff", fl_json_number(c->diff));
	json_object_set_new(object, "ci95", interval);
	json_object_set_new(object, "p", fl_json_number(c->p));
	json_object_set_new(object, "p_wilcoxon", fl_json_number(c->p_wilcoxon));
	json_object_set_new(object, "runs_needed", fl_json_number(c->runs_needed));
	json_object_set_new(object, "p_holm", fl_json_number(c->p_holm));
	json_object_set_new(object, "verdict", c->verdict == FL_VERDICT_NONE ? json_null() :
			    fl_json_text(fl_verdict_word(c->verdict)));
	return object;
}

static json_t *hashes_array(const struct fl_result *result)
{
	json_t *array = json_array();

	for (size_t k = 0; k < result->kernels_count; k++) {
		json_t *row = json_array();

		for (size_t run = 0; run < result->runs; run++) {
			size_t cell = k * result->runs + run;
			char text[24];

			snprintf(text, sizeof(text), "%016" PRIx64, result->state_hash[cell]);
			json_array_append_new(row, result->present[cell] ? fl_json_text(text) : json_null());
		}
		json_array_append_new(array, row);
	}
	return array;
}

static json_t *kernels_of(const struct fl_result *result, uint64_t bits)
{
	json_t *array = json_array();

	for (size_t k = 0; k < result->kernels_count && k < 64; k++)
		if (bits >> k & 1)
			json_array_append_new(array, fl_json_text(result->kernels[k]));
	return array;
}

static json_t *published_array(const struct fl_result *result)
{
	json_t *array = json_array();

	for (size_t i = 0; i < result->published_count; i++) {
		const struct fl_published *p = &result->published[i];
		json_t *object = json_object();

		json_object_set_new(object, "name", fl_json_text(p->name));
		json_object_set_new(object, "phase", fl_json_text(p->phase));
		json_object_set_new(object, "base", fl_json_text(p->base));
		json_object_set_new(object, "changed", fl_json_text(p->changed));
		json_object_set_new(object, "change", fl_json_text(p->change));
		json_object_set_new(object, "changed_kernels", kernels_of(result, p->changed_kernels));
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *notes_array(const struct fl_result *result)
{
	json_t *array = json_array();

	for (size_t i = 0; i < result->notes_count; i++) {
		const struct fl_run_note *note = &result->notes[i];
		json_t *object = json_object();

		json_object_set_new(object, "kernel", fl_json_text(result->kernels[note->kernel]));
		json_object_set_new(object, "run", json_integer((json_int_t)note->run));
		json_object_set_new(object, "seed", json_integer((json_int_t)(result->seed + note->run)));
		json_object_set_new(object, "kind", fl_json_text(note->died ? "died" : "missing"));
		json_object_set_new(object, "text", fl_json_text(note->text));
		json_array_append_new(array, object);
	}
	return array;
}

void fl_result_write_json(const struct fl_result *result, struct fl_text *to)
{
	json_t *root = json_object(), *metrics = json_array(), *comparisons = json_array();

	for (size_t i = 0; i < result->metrics_count; i++)
		json_array_append_new(metrics, metric_object(result, &result->metrics[i]));
	for (size_t i = 0; i < result->comparisons_count; i++)
		json_array_append_new(comparisons, comparison_object(result, &result->comparisons[i]));
	json_object_set_new(root, "schema", fl_json_text(FL_RESULT_SCHEMA));
	json_object_set_new(root, "scenario", fl_json_text(result->scenario));
	json_object_set_new(root, "options", fields_object(&result->options));
	json_object_set_new(root, "option_units", units_object(&result->options));
	json_object_set_new(root, "machine", fields_object(&result->machine));
	json_object_set_new(root, "tunables", fields_object(&result->tunables));
	json_object_set_new(root, "backend", fl_json_text(result->backend));
	json_object_set_new(root, "kernels", kernels_array(result));
	json_object_set_new(root, "seed", json_integer((json_int_t)result->seed));
	json_object_set_new(root, "runs", json_integer((json_int_t)result->runs));
	json_object_set_new(root, "interrupted", json_boolean(result->interrupted));
	json_object_set_new(root, "metrics", metrics);
	json_object_set_new(root, "comparisons", comparisons);
	json_object_set_new(root, "published", published_array(result));
	json_object_set_new(root, "notes", notes_array(result));
	json_object_set_new(root, "state_hash", hashes_array(result));
	json_object_set_new(root, "provenance", fields_object(&result->provenance));
	fl_json_write(root, to);
	json_decref(root);
}
