/* A record survives the pipe whole; every truncation and many damages are refused, none crashes. */
#include "test.h"

#include <stdlib.h>

#include "base/record.h"

static void fill(struct fl_record *r)
{
	struct fl_sample *s;

	fl_record_init(r);
	r->seed = 7;
	r->state_hash = 0x0123456789abcdefu;
	r->died = true;
	strcpy(r->died_where, "r5: swap exhausted");
	r->virtual_ns = 123456789;
	r->cpu_s = 1.25;
	r->rss_max_bytes = 1 << 20;
	s = fl_record_add(r, "thp_success_pct", "r4", 42.5);
	strcpy(s->unit, "%");
	s->better = FL_BETTER_HIGHER;
	s->headline = true;
	for (int i = 0; i < 100; i++)
		fl_record_add(r, "pgfault", "end", i);
	fl_record_add(r, "huge_after_s", "hot1", 0)->valid = false;
	fl_text_add(&r->log, "hello\n");
	r->has_census = true;
	r->census = (struct fl_census){ .page_size = 4096, .pages_per_block = 512, .zones_count = 1, .types_known = true };
	strcpy(r->census.zone_names[0], "Normal");
	r->census.blocks_count = 3;
	r->census.blocks = calloc(3, sizeof(*r->census.blocks));
	r->census.blocks[2].pages[FL_CENSUS_SLAB] = 12;
}

static void test_record_comes_back_whole(void **state)
{
	struct fl_record a, b;
	struct fl_error error = { 0 };
	struct fl_text wire;

	fill(&a);
	fl_text_init(&wire);
	fl_record_write(&a, &wire);
	assert_int_equal(fl_record_read(wire.data, wire.length, &b, &error), 0);
	assert_int_equal(b.seed, 7);
	assert_true(b.state_hash == a.state_hash);
	assert_true(b.died);
	assert_string_equal(b.died_where, "r5: swap exhausted");
	assert_int_equal(b.virtual_ns, 123456789);
	assert_true(b.cpu_s == 1.25);
	assert_int_equal(b.rss_max_bytes, 1 << 20);
	assert_int_equal(b.samples_count, 102);
	assert_string_equal(b.log.data, "hello\n");
	assert_int_equal(b.census.blocks_count, 3);
	assert_int_equal(b.census.blocks[2].pages[FL_CENSUS_SLAB], 12);
	assert_string_equal(b.census.zone_names[0], "Normal");
	assert_true(fl_record_find(&b, "thp_success_pct", "r4")->value == 42.5);
	assert_true(fl_record_find(&b, "thp_success_pct", "r4")->headline);
	assert_string_equal(fl_record_find(&b, "thp_success_pct", "r4")->unit, "%");
	assert_false(fl_record_find(&b, "huge_after_s", "hot1")->valid);
	assert_null(fl_record_find(&b, "thp_success_pct", "r5"));
	fl_record_add(&b, "more", "end", 1); /* a record that was read can grow */
	fl_text_fini(&wire);
	fl_record_fini(&a);
	fl_record_fini(&b);
}

static void test_an_empty_record_comes_back(void **state)
{
	struct fl_record a, b;
	struct fl_text wire;

	fl_record_init(&a);
	fl_text_init(&wire);
	fl_record_write(&a, &wire);
	assert_int_equal(fl_record_read(wire.data, wire.length, &b, NULL), 0);
	assert_int_equal(b.samples_count, 0);
	assert_string_equal(b.log.data, "");
	fl_text_fini(&wire);
	fl_record_fini(&a);
	fl_record_fini(&b);
}

static void test_every_truncation_is_refused(void **state)
{
	struct fl_record a, b;
	struct fl_text wire;

	fill(&a);
	fl_text_init(&wire);
	fl_record_write(&a, &wire);
	for (size_t length = 0; length < wire.length; length++) {
		/* in memory of its own, so that a sanitizer sees a read behind the end */
		char *part = malloc(length ? length : 1);
		struct fl_error error = { 0 };

		memcpy(part, wire.data, length);
		if (fl_record_read(part, length, &b, &error) == 0)
			fail_msg("%zu of %zu bytes were taken for a record", length, wire.length);
		assert_non_null(strstr(error.text, "truncated"));
		free(part);
	}
	fl_text_add_char(&wire, 'x', 1);
	assert_true(fl_record_read(wire.data, wire.length, &b, NULL) < 0);
	fl_text_fini(&wire);
	fl_record_fini(&a);
}

static void test_damaged_bytes_never_crash(void **state)
{
	struct fl_record a, b;
	struct fl_text wire;

	fill(&a);
	fl_text_init(&wire);
	fl_record_write(&a, &wire);
	for (size_t i = 0; i < wire.length; i++) {
		char old = wire.data[i];

		wire.data[i] = (char)0xff;
		if (fl_record_read(wire.data, wire.length, &b, NULL) == 0)
			fl_record_fini(&b);
		wire.data[i] = old;
	}
	fl_text_fini(&wire);
	fl_record_fini(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_record_comes_back_whole),
		cmocka_unit_test(test_an_empty_record_comes_back),
		cmocka_unit_test(test_every_truncation_is_refused),
		cmocka_unit_test(test_damaged_bytes_never_crash),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
