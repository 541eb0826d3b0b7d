/*
 * report/result_read.c - reading fraglab.result.v1 back.
 *
 * A document may come from anywhere: every length and index is checked, and a sentence names the member. Members that
 * this version does not know are passed over; of those that were added later, all may be missing.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "report/result_json.h"

enum { RUNS_MAX = 1000000, KERNELS_MAX = 1000 };

static void copy_text(char *to, size_t size, const char *from)
{
	snprintf(to, size, "%s", from);
	for (; *to; to++)
		if ((unsigned char)*to < ' ' || *to == 127)
			*to = '?'; /* a terminal must not obey it */
}

static void read_fields(const json_t *object, struct fl_fields *fields)
{
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)object, name, value) {
		if (json_is_integer(value))
			fl_fields_add_int(fields, name, json_integer_value(value));
		else if (json_is_boolean(value))
			fl_fields_add_bool(fields, name, json_is_true(value));
		else if (json_is_real(value))
			fl_fields_add_real(fields, name, json_real_value(value));
		else
			fl_fields_add_text(fields, name, json_string_value(value)); /* NULL for null */
	}
}

static void read_units(const json_t *object, struct fl_fields *fields)
{
	for (size_t i = 0; i < fields->count; i++) {
		const char *unit = json_string_value(json_object_get(object, fields->list[i].name));

		if (unit && fields->list[i].kind == FL_FIELD_INT)
			fields->list[i].unit = !strcmp(unit, "bytes") ? FL_UNIT_BYTES : !strcmp(unit, "ns") ? FL_UNIT_NS :
					       FL_UNIT_NONE;
	}
}

static int read_shape(const json_t *root, struct fl_result *ret, struct fl_error *e)
{
	const char *names[KERNELS_MAX];
	json_t *kernels;
	int64_t runs, seed;
	size_t count;
	int r;

	if ((r = fl_json_get_array(root, "document", "kernels", &kernels, e)) < 0 ||
	    (r = fl_json_get_int(root, "document", "runs", &runs, e)) < 0 ||
	    (r = fl_json_get_int(root, "document", "seed", &seed, e)) < 0)
		return r;
	count = json_array_size(kernels);
	if (count < 1 || count > KERNELS_MAX)
		return fl_error_input(e, "document: \"kernels\" has %zu members; expected 1 to %d", count, KERNELS_MAX);
	if (runs < 1 || runs > RUNS_MAX)
		return fl_error_input(e, "document: \"runs\" is %lld; expected 1 to %d", (long long)runs, RUNS_MAX);
	for (size_t i = 0; i < count; i++) {
		names[i] = json_string_value(json_array_get(kernels, i));
		if (!names[i])
			return fl_error_input(e, "document: \"kernels\"[%zu] is not a text", i);
	}
	fl_result_shape(ret, names, count, (size_t)runs);
	ret->seed = (uint64_t)seed;
	return 0;
}

static int read_better(const char *word, const char *where, enum fl_better *ret, struct fl_error *e)
{
	static const char *const words[] = { "none", "higher", "lower" };

	for (int i = 0; i < 3; i++) {
		if (!strcmp(word, words[i])) {
			*ret = (enum fl_better)i;
			return 0;
		}
	}
	return fl_error_input(e, "%s: \"better\" is \"%s\"; expected higher, lower or none", where, word);
}

/* values[k][run]: numbers and nulls, as many as kernels and runs. */
static int read_values(const struct fl_result *result, const json_t *values, const char *where, double *to,
		       struct fl_error *e)
{
	if (json_array_size(values) != result->kernels_count)
		return fl_error_input(e, "%s: \"values\" has %zu rows for %zu kernels", where, json_array_size(values),
				      result->kernels_count);
	for (size_t k = 0; k < result->kernels_count; k++) {
		const json_t *row = json_array_get(values, k);

		if (!json_is_array(row) || json_array_size(row) != result->runs)
			return fl_error_input(e, "%s: \"values\"[%zu] is not an array of %zu runs", where, k, result->runs);
		for (size_t run = 0; run < result->runs; run++) {
			const json_t *value = json_array_get(row, run);

			if (!json_is_number(value) && !json_is_null(value))
				return fl_error_input(e, "%s: \"values\"[%zu][%zu] is neither a number nor null", where, k,
						      run);
			to[k * result->runs + run] = json_is_number(value) ? json_number_value(value) : NAN;
		}
	}
	return 0;
}

static int read_metric(const json_t *object, size_t at, struct fl_result *ret, struct fl_error *e)
{
	const char *name, *phase, *unit, *word;
	struct fl_metric *metric;
	enum fl_better better = FL_BETTER_NONE;
	char where[40];
	json_t *values;
	int r;

	snprintf(where, sizeof(where), "metrics[%zu]", at);
	if ((r = fl_json_get_text(object, where, "name", &name, e)) < 0 ||
	    (r = fl_json_get_text(object, where, "phase", &phase, e)) < 0 ||
	    (r = fl_json_get_text(object, where, "unit", &unit, e)) < 0 ||
	    (r = fl_json_get_text(object, where, "better", &word, e)) < 0 ||
	    (r = read_better(word, where, &better, e)) < 0 ||
	    (r = fl_json_get_array(object, where, "values", &values, e)) < 0)
		return r;
	if (strlen(name) >= sizeof(metric->name) || strlen(phase) >= sizeof(metric->phase))
		return fl_error_input(e, "%s: the name or the phase is too long", where);
	if (fl_result_find(ret, name, phase))
		return fl_error_input(e, "%s: \"%s\" at \"%s\" is there twice", where, name, phase);
	metric = fl_result_add_metric(ret, name, phase);
	copy_text(metric->unit, sizeof(metric->unit), unit);
	metric->better = better;
	metric->headline = json_is_true(json_object_get(object, "headline"));
	return read_values(ret, values, where, metric->values, e);
}

static int find_kernel(const struct fl_result *result, const char *name, const char *where, size_t *ret,
		       struct fl_error *e)
{
	for (size_t i = 0; i < result->kernels_count; i++) {
		if (!strcmp(result->kernels[i], name)) {
			*ret = i;
			return 0;
		}
	}
	return fl_error_input(e, "%s: \"%s\" is none of \"kernels\"", where, name);
}

static enum fl_verdict read_verdict(const json_t *object)
{
	const char *word = json_string_value(json_object_get(object, "verdict"));

	for (int i = FL_VERDICT_NONE + 1; word && i <= FL_VERDICT_NOT_SHOWN; i++)
		if (!strcmp(word, fl_verdict_word((enum fl_verdict)i)))
			return (enum fl_verdict)i;
	return FL_VERDICT_NONE;
}

static int read_interval(const json_t *object, const char *where, double ci95[2], struct fl_error *e)
{
	const json_t *pair = json_object_get(object, "ci95"), *low = json_array_get(pair, 0);
	const json_t *high = json_array_get(pair, 1);

	ci95[0] = ci95[1] = NAN;
	if (!pair || json_is_null(pair))
		return 0;
	if (json_array_size(pair) != 2 || !json_is_number(low) || !json_is_number(high))
		return fl_error_input(e, "%s: \"ci95\" is neither two numbers nor null", where);
	ci95[0] = json_number_value(low);
	ci95[1] = json_number_value(high);
	return 0;
}

static int read_comparison_numbers(const json_t *object, const char *where, struct fl_comparison *c, struct fl_error *e)
{
	const struct { const char *name; double *to; } numbers[] = {
		{ "mean_a", &c->mean_a }, { "mean_b", &c->mean_b }, { "sd_a", &c->sd_a }, { "sd_b", &c->sd_b },
		{ "diff", &c->diff }, { "p", &c->p }, { "p_wilcoxon", &c->p_wilcoxon }, { "p_holm", &c->p_holm },
	};
	int r = read_interval(object, where, c->ci95, e);

	c->runs_needed = NAN;
	if (r == 0 && json_object_get(object, "runs_needed"))
		r = fl_json_get_real_or_null(object, where, "runs_needed", &c->runs_needed, e);

	for (size_t i = 0; r == 0 && i < sizeof(numbers) / sizeof(numbers[0]); i++)
		r = fl_json_get_real_or_null(object, where, numbers[i].name, numbers[i].to, e);
	return r;
}

static int read_comparison(const json_t *object, size_t at, struct fl_result *ret, struct fl_error *e)
{
	struct fl_comparison *c = &ret->comparisons[at];
	const char *name, *phase, *a, *b;
	const struct fl_metric *metric;
	char where[40];
	int r;

	snprintf(where, sizeof(where), "comparisons[%zu]", at);
	if ((r = fl_json_get_text(object, where, "name", &name, e)) < 0 ||
	    (r = fl_json_get_text(object, where, "phase", &phase, e)) < 0 ||
	    (r = fl_json_get_text(object, where, "a", &a, e)) < 0 ||
	    (r = fl_json_get_text(object, where, "b", &b, e)) < 0 ||
	    (r = find_kernel(ret, a, where, &c->a, e)) < 0 || (r = find_kernel(ret, b, where, &c->b, e)) < 0)
		return r;
	metric = fl_result_find(ret, name, phase);
	if (!metric)
		return fl_error_input(e, "%s: \"metrics\" has no \"%s\" at \"%s\"", where, name, phase);
	c->metric = (size_t)(metric - ret->metrics);
	c->n_valid = (size_t)json_integer_value(json_object_get(object, "n_valid"));
	c->verdict = read_verdict(object);
	return read_comparison_numbers(object, where, c, e);
}

/* Bits of the kernels named; unknown names say nothing. A document without the list: all but the first. */
static uint64_t read_changed_kernels(const json_t *names, const struct fl_result *result)
{
	uint64_t bits = 0;

	for (size_t k = 0; k < result->kernels_count && k < 64; k++) {
		bool named = !names && k > 0;

		for (size_t i = 0; i < json_array_size(names); i++) {
			const char *name = json_string_value(json_array_get(names, i));

			named |= name && !strcmp(name, result->kernels[k]);
		}
		bits |= (uint64_t)named << k;
	}
	return bits;
}

static void read_published(const json_t *root, struct fl_result *ret)
{
	const json_t *array = json_object_get(root, "published");
	json_t *object;
	size_t i;

	ret->published = fl_xcalloc(json_array_size(array), sizeof(*ret->published));
	json_array_foreach(array, i, object) {
		struct fl_published *p = &ret->published[ret->published_count++];
		const char *name = NULL, *phase = NULL, *base = NULL, *changed = NULL, *change = NULL;

		json_unpack(object, "{s?s s?s s?s s?s s?s}", "name", &name, "phase", &phase, "base", &base, "changed",
			    &changed, "change", &change);
		copy_text(p->name, sizeof(p->name), name ? name : "");
		copy_text(p->phase, sizeof(p->phase), phase ? phase : "");
		copy_text(p->base, sizeof(p->base), base ? base : "");
		copy_text(p->changed, sizeof(p->changed), changed ? changed : "");
		copy_text(p->change, sizeof(p->change), change ? change : "");
		p->changed_kernels = read_changed_kernels(json_object_get(object, "changed_kernels"), ret);
	}
}

static int read_notes(const json_t *root, struct fl_result *ret, struct fl_error *e)
{
	const json_t *array = json_object_get(root, "notes");
	json_t *object;
	size_t i;

	json_array_foreach(array, i, object) {
		const char *kernel, *kind, *text;
		char where[40];
		size_t index = 0;
		int64_t run;
		int r;

		snprintf(where, sizeof(where), "notes[%zu]", i);
		if ((r = fl_json_get_text(object, where, "kernel", &kernel, e)) < 0 ||
		    (r = fl_json_get_text(object, where, "kind", &kind, e)) < 0 ||
		    (r = fl_json_get_text(object, where, "text", &text, e)) < 0 ||
		    (r = fl_json_get_int(object, where, "run", &run, e)) < 0 ||
		    (r = find_kernel(ret, kernel, where, &index, e)) < 0)
			return r;
		if (run < 0 || (size_t)run >= ret->runs)
			return fl_error_input(e, "%s: there is no run %lld", where, (long long)run);
		fl_result_add_note(ret, index, (size_t)run, !strcmp(kind, "died"), text);
	}
	return 0;
}

static int read_hashes(const json_t *root, struct fl_result *ret, struct fl_error *e)
{
	const json_t *array = json_object_get(root, "state_hash");

	for (size_t cell = 0; cell < ret->kernels_count * ret->runs; cell++) {
		const json_t *row = json_array_get(array, cell / ret->runs);
		const char *text = json_string_value(json_array_get(row, cell % ret->runs));
		char *end;

		if (!text)
			continue;
		ret->state_hash[cell] = strtoull(text, &end, 16);
		if (*end || end == text)
			return fl_error_input(e, "state_hash[%zu][%zu]: \"%s\" is not a hexadecimal number",
					      cell / ret->runs, cell % ret->runs, text);
		ret->present[cell] = true;
	}
	return 0;
}

static int read_arrays(const json_t *root, struct fl_result *ret, struct fl_error *e)
{
	json_t *metrics, *comparisons, *object;
	size_t i;
	int r;

	if ((r = fl_json_get_array(root, "document", "metrics", &metrics, e)) < 0 ||
	    (r = fl_json_get_array(root, "document", "comparisons", &comparisons, e)) < 0)
		return r;
	json_array_foreach(metrics, i, object)
		if ((r = read_metric(object, i, ret, e)) < 0)
			return r;
	ret->comparisons = fl_xcalloc(json_array_size(comparisons), sizeof(*ret->comparisons));
	ret->comparisons_count = json_array_size(comparisons);
	json_array_foreach(comparisons, i, object)
		if ((r = read_comparison(object, i, ret, e)) < 0)
			return r;
	read_published(root, ret);
	r = read_notes(root, ret, e);
	return r < 0 ? r : read_hashes(root, ret, e);
}

static int read_document(const json_t *root, struct fl_result *ret, struct fl_error *e)
{
	const char *schema, *scenario, *backend;
	int r;

	if ((r = fl_json_get_text(root, "document", "schema", &schema, e)) < 0)
		return r;
	if (strcmp(schema, FL_RESULT_SCHEMA))
		return fl_error_input(e, "the schema is \"%s\"; expected \"%s\"", schema, FL_RESULT_SCHEMA);
	if ((r = fl_json_get_text(root, "document", "scenario", &scenario, e)) < 0 ||
	    (r = fl_json_get_text(root, "document", "backend", &backend, e)) < 0 || (r = read_shape(root, ret, e)) < 0)
		return r;
	ret->scenario = fl_xstrdup(scenario);
	ret->backend = fl_xstrdup(backend);
	ret->interrupted = json_is_true(json_object_get(root, "interrupted"));
	read_fields(json_object_get(root, "options"), &ret->options);
	read_units(json_object_get(root, "option_units"), &ret->options);
	read_fields(json_object_get(root, "machine"), &ret->machine);
	read_fields(json_object_get(root, "tunables"), &ret->tunables);
	read_fields(json_object_get(root, "provenance"), &ret->provenance);
	return read_arrays(root, ret, e);
}

/* Takes the reference to root over. */
static int read_root(const char *name, json_t *root, struct fl_result *ret, struct fl_error *reterr)
{
	struct fl_result result;
	int r;

	fl_result_init(&result);
	r = read_document(root, &result, reterr);
	json_decref(root);
	if (r < 0) {
		fl_error_prefix(reterr, "%s", name);
		fl_result_fini(&result);
		return r;
	}
	*ret = result;
	return 0;
}

int fl_result_read_json(const char *path, struct fl_result *ret, struct fl_error *reterr)
{
	json_t *root;
	int r = fl_json_read_file(path, &root, reterr);

	return r < 0 ? r : read_root(path, root, ret, reterr);
}

int fl_result_parse_json(const char *name, const char *text, size_t length, struct fl_result *ret,
			 struct fl_error *reterr)
{
	json_t *root;
	int r = fl_json_read_text(name, text, length, &root, reterr);

	return r < 0 ? r : read_root(name, root, ret, reterr);
}
