/*
 * tests/kernel/notation_test.c - names of kernels: what is refused with which sentence, and what the tables must hold.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "kernel/kernel.h"

static void accepts(const char *spec, struct fl_kernel *ret)
{
	struct fl_error error = { 0 };

	if (fl_kernel_parse(spec, ret, &error) < 0)
		fail_msg("\"%s\" is refused: %s", spec, error.text);
	assert_string_equal(ret->name, spec);
	assert_null(fl_decisions_missing(&ret->decide));
}

/* Refused as input, with a sentence that holds both words. */
static void refuses(const char *spec, const char *word, const char *other)
{
	struct fl_kernel kernel;
	struct fl_error error = { 0 };

	memset(&kernel, 0x5a, sizeof(kernel));
	assert_true(fl_kernel_parse(spec, &kernel, &error) < 0);
	assert_int_equal(error.class, FL_ERROR_INPUT);
	if (!strstr(error.text, word) || !strstr(error.text, other))
		fail_msg("\"%s\": the sentence lacks \"%s\" or \"%s\": %s", spec, word, other, error.text);
	assert_int_equal(kernel.name[0], 0x5a); /* the output is untouched */
}

static void test_an_unknown_base_patch_or_tunable_is_refused_with_the_nearest_name(void **state)
{
	refuses("7.4", "7.4", "7.3");
	refuses("7.3+mobility-steel", "mobility-steel", "mobility-steal");
	refuses("7.3,vm.swapiness=10", "vm.swapiness", "vm.swappiness");
	refuses("7.3,vm.swappiness=many", "vm.swappiness", "many");
}

static void test_plus_of_what_the_base_has_and_tilde_of_what_it_lacks_are_refused(void **state)
{
	refuses("7.3+guard-accounting", "already has", "guard-accounting");
	refuses("7.3~mobility-claim", "does not have", "mobility-claim");
}

static void test_a_patch_named_twice_is_refused(void **state)
{
	refuses("7.3+mobility-claim+mobility-claim", "twice", "mobility-claim");
	refuses("7.3,vm.swappiness=1,vm.swappiness=2", "twice", "vm.swappiness");
}

static void test_a_set_named_twice_or_beside_its_member_is_refused(void **state)
{
	refuses("7.3+mobility+mobility", "twice", "merge-accounting");
	refuses("7.3+mobility~mobility", "twice", "merge-accounting");
	refuses("7.3+mobility-steal+mobility", "twice", "mobility-steal");
	refuses("7.3+mobility+mobility-steal", "twice", "mobility-steal");
}

static void test_a_kernel_says_which_patches_it_has(void **state)
{
	struct fl_kernel kernel;

	accepts("7.3", &kernel);
	assert_true(fl_kernel_has(&kernel, "guard-accounting"));
	assert_false(fl_kernel_has(&kernel, "mobility-claim"));
	assert_false(fl_kernel_has(&kernel, "mobility"));
	assert_false(fl_kernel_has(&kernel, "no-such-patch"));
	accepts("7.3~guard-accounting", &kernel);
	assert_false(fl_kernel_has(&kernel, "guard-accounting"));
	accepts("7.3+mobility", &kernel);
	assert_true(fl_kernel_has(&kernel, "mobility") && fl_kernel_has(&kernel, "mobility-claim"));
	accepts("7.3+mobility-claim", &kernel);
	assert_true(fl_kernel_has(&kernel, "mobility-claim") && !fl_kernel_has(&kernel, "mobility"));
}

static void test_a_missing_word_is_refused(void **state)
{
	refuses("", "missing", "BASE");
	refuses("7.3+", "missing", "BASE");
	refuses("7.3,vm.swappiness", "vm.swappiness", "VALUE");
}

static void test_a_set_lays_all_members_that_the_base_lacks(void **state)
{
	struct fl_kernel base, set, claim;

	accepts("7.3", &base);
	accepts("7.3+mobility", &set);
	accepts("7.3+mobility-claim", &claim);
	assert_ptr_equal(set.decide.claim_block, claim.decide.claim_block);
	assert_ptr_not_equal(set.decide.claim_block, base.decide.claim_block);
	assert_ptr_not_equal(set.decide.steal_from, base.decide.steal_from);
	assert_ptr_not_equal(set.decide.capture_block, base.decide.capture_block);
	assert_ptr_not_equal(set.decide.merge_moves_type_count, base.decide.merge_moves_type_count);
	assert_ptr_equal(set.decide.guard_merge_counts, base.decide.guard_merge_counts);
	assert_ptr_equal(claim.decide.steal_from, base.decide.steal_from);
}

static void test_a_base_without_its_patch_goes_back_to_the_old_rule(void **state)
{
	const struct fl_no_facts none = { 0 };
	struct fl_kernel with, without;

	accepts("7.3", &with);
	accepts("7.3~guard-accounting", &without);
	assert_true(with.decide.guard_merge_counts(&none));
	assert_false(without.decide.guard_merge_counts(&none));
}

static void test_a_tunable_may_hold_signs_of_the_notation(void **state)
{
	struct fl_kernel kernel;

	accepts("7.3,thp.defrag=defer+madvise", &kernel);
	assert_int_equal(kernel.tunables_count, 1);
	assert_string_equal(kernel.tunable[0][1], "defer+madvise");
}

static void test_a_tunable_of_another_version_is_refused(void **state)
{
	struct fl_kernel kernel;

	accepts("7.3,vm.defrag_mode=1", &kernel);
	refuses("6.12,vm.defrag_mode=1", "vm.defrag_mode", "6.12");
}

static unsigned int decisions_of(const struct fl_decisions *table)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < FL_DECISION_COUNT; i++)
		n += fl_decisions_has(table, i);
	return n;
}

static void test_every_version_decides_everything_and_says_how_it_knows(void **state)
{
	const struct fl_kernel_version *v;

	for (unsigned int i = 0; (v = fl_kernel_version_at(i)); i++) {
		assert_null(fl_decisions_missing(&v->decide));
		for (unsigned int d = 0; d < FL_DECISION_COUNT; d++)
			if (!v->facts[d].where)
				fail_msg("%s does not say how %s is known", v->name, fl_decision_name(d));
	}
}

static void test_every_patch_names_itself_and_its_source_and_replaces_something(void **state)
{
	const struct fl_patch *p;

	for (unsigned int i = 0; (p = fl_patch_at(i)); i++) {
		assert_true(p->name && *p->name && p->summary && *p->summary && p->source && *p->source);
		if (!decisions_of(&p->with))
			fail_msg("%s replaces nothing", p->name);
	}
}

/* 7.3~name must be possible for each patch that 7.3 has, and change what the patch had changed. */
static void test_a_patch_that_a_base_contains_says_what_a_base_without_it_does(void **state)
{
	const struct fl_kernel_version *v;
	const struct fl_patch *p;
	unsigned int seen = 0;

	for (unsigned int i = 0; (v = fl_kernel_version_at(i)); i++)
		for (unsigned int j = 0; (p = fl_patch_at(j)); j++) {
			if (!fl_kernel_version_contains(v, p->name))
				continue;
			seen++;
			for (unsigned int d = 0; d < FL_DECISION_COUNT; d++)
				assert_int_equal(fl_decisions_has(&p->with, d), fl_decisions_has(&p->without, d));
		}
	assert_true(seen >= 2); /* guard-accounting in both bases */
}

static void test_every_patch_can_be_laid_over_every_base(void **state)
{
	const struct fl_kernel_version *v;
	const struct fl_patch *p;
	struct fl_kernel kernel;
	char spec[128];

	for (unsigned int i = 0; (v = fl_kernel_version_at(i)); i++)
		for (unsigned int j = 0; (p = fl_patch_at(j)); j++) {
			bool has = fl_kernel_version_contains(v, p->name);

			snprintf(spec, sizeof(spec), "%s%c%s", v->name, has ? '~' : '+', p->name);
			accepts(spec, &kernel);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_unknown_base_patch_or_tunable_is_refused_with_the_nearest_name),
		cmocka_unit_test(test_plus_of_what_the_base_has_and_tilde_of_what_it_lacks_are_refused),
		cmocka_unit_test(test_a_patch_named_twice_is_refused),
		cmocka_unit_test(test_a_set_named_twice_or_beside_its_member_is_refused),
		cmocka_unit_test(test_a_kernel_says_which_patches_it_has),
		cmocka_unit_test(test_a_missing_word_is_refused),
		cmocka_unit_test(test_a_set_lays_all_members_that_the_base_lacks),
		cmocka_unit_test(test_a_base_without_its_patch_goes_back_to_the_old_rule),
		cmocka_unit_test(test_a_tunable_may_hold_signs_of_the_notation),
		cmocka_unit_test(test_a_tunable_of_another_version_is_refused),
		cmocka_unit_test(test_every_version_decides_everything_and_says_how_it_knows),
		cmocka_unit_test(test_every_patch_names_itself_and_its_source_and_replaces_something),
		cmocka_unit_test(test_a_patch_that_a_base_contains_says_what_a_base_without_it_does),
		cmocka_unit_test(test_every_patch_can_be_laid_over_every_base),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
