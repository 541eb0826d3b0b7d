/*
 * base/record.c - the record of a run, and its form on the wire between the run's process and the parent.
 *
 * Both ends are the same program on the same machine, so numbers travel in native byte order; the reader still checks
 * every length, because a child that dies in the middle leaves a truncated record.
 */
#include "base/record.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"

static const char magic[8] = "flrec\0\0\1";

void fl_record_init(struct fl_record *record)
{
	*record = (struct fl_record){ 0 };
	fl_text_init(&record->log);
}

void fl_record_fini(struct fl_record *record)
{
	free(record->samples);
	fl_census_free(&record->census);
	fl_text_fini(&record->log);
	*record = (struct fl_record){ 0 };
}

static void copy_name(char *to, size_t size, const char *from)
{
	size_t length = strlen(from);

	FL_ASSERT_MSG(length < size, from);
	memcpy(to, from, length + 1);
}

struct fl_sample *fl_record_add(struct fl_record *record, const char *name, const char *phase, double value)
{
	struct fl_sample *sample;

	if (record->samples_count == record->samples_capacity) {
		record->samples_capacity = record->samples_capacity ? 2 * record->samples_capacity : 64;
		record->samples = fl_xrealloc(record->samples, record->samples_capacity * sizeof(*record->samples));
	}
	sample = &record->samples[record->samples_count++];
	*sample = (struct fl_sample){ .valid = true, .value = value };
	copy_name(sample->name, sizeof(sample->name), name);
	copy_name(sample->phase, sizeof(sample->phase), phase);
	return sample;
}

void fl_record_addf(struct fl_record *r, const char *phase, const char *unit, double value, const char *fmt, ...)
{
	char name[sizeof(((struct fl_sample *)0)->name)];
	struct fl_sample *sample;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(name, sizeof(name), fmt, ap);
	va_end(ap);
	sample = fl_record_add(r, name, phase, value);
	snprintf(sample->unit, sizeof(sample->unit), "%s", unit);
}

struct fl_sample *fl_record_find(const struct fl_record *record, const char *name, const char *phase)
{
	for (size_t i = 0; i < record->samples_count; i++)
		if (!strcmp(record->samples[i].name, name) && !strcmp(record->samples[i].phase, phase))
			return &record->samples[i];
	return NULL;
}

static void put_u64(struct fl_text *to, uint64_t value)
{
	fl_text_add_bytes(to, (const char *)&value, sizeof(value));
}

static void put_array(struct fl_text *to, const void *data, size_t count, size_t size)
{
	put_u64(to, count);
	if (count)
		fl_text_add_bytes(to, data, count * size);
}

static void put_census(struct fl_text *to, const struct fl_census *census)
{
	put_u64(to, census->page_size);
	put_u64(to, census->pages_per_block);
	put_u64(to, census->types_known);
	put_u64(to, census->zones_count);
	fl_text_add_bytes(to, census->zone_names[0], sizeof(census->zone_names));
	put_array(to, census->blocks, census->blocks_count, sizeof(*census->blocks));
}

void fl_record_write(const struct fl_record *record, struct fl_text *to)
{
	fl_text_add_bytes(to, magic, sizeof(magic));
	put_u64(to, record->seed);
	put_u64(to, record->state_hash);
	put_u64(to, record->died);
	fl_text_add_bytes(to, record->died_where, sizeof(record->died_where));
	put_u64(to, record->virtual_ns);
	fl_text_add_bytes(to, (const char *)&record->cpu_s, sizeof(record->cpu_s));
	put_u64(to, record->rss_max_bytes);
	put_array(to, record->samples, record->samples_count, sizeof(*record->samples));
	put_array(to, record->log.data, record->log.length, 1);
	put_u64(to, record->has_census);
	if (record->has_census)
		put_census(to, &record->census);
}

struct cursor {
	const char *p;
	size_t left;
	bool broken;
};

static void get_bytes(struct cursor *c, void *to, size_t length)
{
	if (c->broken || length > c->left) {
		c->broken = true;
		memset(to, 0, length);
		return;
	}
	memcpy(to, c->p, length);
	c->p += length;
	c->left -= length;
}

static uint64_t get_u64(struct cursor *c)
{
	uint64_t value;

	get_bytes(c, &value, sizeof(value));
	return value;
}

static bool get_bool(struct cursor *c)
{
	uint64_t value = get_u64(c);

	c->broken |= value > 1;
	return value == 1;
}

/* A text field of fixed size must end within it. */
static void get_name(struct cursor *c, char *to, size_t size)
{
	get_bytes(c, to, size);
	if (!memchr(to, 0, size)) {
		c->broken = true;
		to[0] = '\0';
	}
}

/* The array's memory, or NULL when it is empty or the rest is shorter than it says. */
static void *get_array(struct cursor *c, size_t size, size_t *ret_count)
{
	uint64_t count = get_u64(c);
	void *data;

	*ret_count = 0;
	if (c->broken || count > c->left / size) {
		c->broken = true;
		return NULL;
	}
	if (count == 0)
		return NULL;
	data = fl_xmalloc(count * size);
	get_bytes(c, data, count * size);
	*ret_count = count;
	return data;
}

static void check_samples(struct cursor *c, const struct fl_record *record)
{
	for (size_t i = 0; i < record->samples_count; i++) {
		const struct fl_sample *s = &record->samples[i];

		/* the bytes of the two flags, since any other value than 0 or 1 in a bool is no bool */
		if (!memchr(s->name, 0, sizeof(s->name)) || !memchr(s->phase, 0, sizeof(s->phase)) ||
		    !memchr(s->unit, 0, sizeof(s->unit)) || s->better > FL_BETTER_LOWER ||
		    *(const uint8_t *)&s->valid > 1 || *(const uint8_t *)&s->headline > 1)
			c->broken = true;
	}
}

static void get_census(struct cursor *c, struct fl_census *census)
{
	uint64_t zones;

	census->page_size = (uint32_t)get_u64(c);
	census->pages_per_block = (uint32_t)get_u64(c);
	census->types_known = get_bool(c);
	zones = get_u64(c);
	c->broken |= zones > sizeof(census->zone_names) / sizeof(census->zone_names[0]);
	census->zones_count = c->broken ? 0 : (unsigned int)zones;
	for (size_t i = 0; i < sizeof(census->zone_names) / sizeof(census->zone_names[0]); i++)
		get_name(c, census->zone_names[i], sizeof(census->zone_names[i]));
	census->blocks = get_array(c, sizeof(*census->blocks), &census->blocks_count);
	for (size_t i = 0; i < census->blocks_count; i++)
		c->broken |= census->blocks[i].type >= FL_CENSUS_TYPES ||
			     census->blocks[i].zone >= census->zones_count;
}

int fl_record_read(const char *bytes, size_t length, struct fl_record *ret, struct fl_error *reterr)
{
	struct cursor c = { bytes, length, false };
	struct fl_record record;
	char start[sizeof(magic)];
	size_t log_length;
	char *log;

	fl_record_init(&record);
	get_bytes(&c, start, sizeof(start));
	c.broken |= memcmp(start, magic, sizeof(magic)) != 0;
	record.seed = get_u64(&c);
	record.state_hash = get_u64(&c);
	record.died = get_bool(&c);
	get_name(&c, record.died_where, sizeof(record.died_where));
	record.virtual_ns = get_u64(&c);
	get_bytes(&c, &record.cpu_s, sizeof(record.cpu_s));
	record.rss_max_bytes = get_u64(&c);
	record.samples = get_array(&c, sizeof(*record.samples), &record.samples_count);
	record.samples_capacity = record.samples_count;
	check_samples(&c, &record);
	log = get_array(&c, 1, &log_length);
	if (log)
		fl_text_add_bytes(&record.log, log, log_length);
	free(log);
	record.has_census = get_bool(&c);
	if (record.has_census)
		get_census(&c, &record.census);
	if (c.broken || c.left) {
		fl_record_fini(&record);
		return fl_error_set(reterr, FL_ERROR_FAILED, -EINVAL, "the record of the run is %s (%zu bytes)",
				    c.left && !c.broken ? "followed by bytes that do not belong to it" :
							  "truncated or malformed", length);
	}
	*ret = record;
	return 0;
}
