/*
 * kernel/kernel.c - the notation of kernels, and the lists of versions and patches.
 */
#include "kernel/kernel.h"

#include <string.h>

#include "base/bug.h"
#include "base/names.h"
#include "kernel/patches.h"
#include "kernel/versions.h"
#include "mm/sysctl.h"

const char fl_kernel_default[] = "7.3";

static const struct fl_kernel_version *const versions[] = { &fl_version_6_12, &fl_version_6_18, &fl_version_7_3 };
#define VERSIONS (sizeof(versions) / sizeof(versions[0]))

#define PATCH_ADDRESS(name) &fl_patch_##name,
static const struct fl_patch *const patches[] = { FL_PATCHES(PATCH_ADDRESS) };
#undef PATCH_ADDRESS
#define PATCHES (sizeof(patches) / sizeof(patches[0]))
_Static_assert(PATCHES <= FL_KERNEL_PATCHES_MAX, "fl_kernel.has_patch");

const struct fl_kernel_version *fl_kernel_version_at(unsigned int i)
{
	return i < VERSIONS ? versions[i] : NULL;
}

const struct fl_patch *fl_patch_at(unsigned int i)
{
	return i < PATCHES ? patches[i] : NULL;
}

/* Is patch i the first of its set? */
static bool opens_set(size_t i)
{
	if (!patches[i]->set)
		return false;
	for (size_t before = 0; before < i; before++)
		if (patches[before]->set && fl_names_equal(patches[before]->set, patches[i]->set))
			return false;
	return true;
}

const char *fl_patch_set_at(unsigned int i)
{
	for (size_t at = 0; at < PATCHES; at++)
		if (opens_set(at) && i-- == 0)
			return patches[at]->set;
	return NULL;
}

bool fl_kernel_version_contains(const struct fl_kernel_version *version, const char *patch)
{
	for (unsigned int i = 0; version->contains[i]; i++)
		if (fl_names_equal(version->contains[i], patch))
			return true;
	return false;
}

const struct fl_patch *fl_patch_find(const char *name)
{
	for (size_t i = 0; i < PATCHES; i++)
		if (fl_names_equal(patches[i]->name, name))
			return patches[i];
	return NULL;
}

bool fl_kernel_has(const struct fl_kernel *kernel, const char *patch_or_set)
{
	bool is_set = false;

	for (size_t i = 0; i < PATCHES; i++) {
		if (fl_names_equal(patches[i]->name, patch_or_set))
			return kernel->has_patch[i];
		if (!patches[i]->set || !fl_names_equal(patches[i]->set, patch_or_set))
			continue;
		is_set = true;
		if (!kernel->has_patch[i])
			return false;
	}
	return is_set;
}

const char *fl_confidence_text(enum fl_confidence confidence)
{
	static const char *const texts[] = { "verified in source", "from list mail", "inferred" };

	return texts[confidence];
}

/* ---- Parsing ---- */

struct parse {
	const char *spec;
	struct fl_kernel *kernel;
	bool named[PATCHES]; /* patch i was named, by itself or by its set */
	struct fl_error *reterr;
};

static int unknown_patch(struct parse *p, const char *word)
{
	const char *names[PATCHES * 2];
	size_t n = 0;
	char hint[160];

	for (size_t i = 0; i < PATCHES; i++) {
		names[n++] = patches[i]->name;
		if (opens_set(i))
			names[n++] = patches[i]->set;
	}
	return fl_error_input(p->reterr, "kernel \"%s\": unknown patch \"%s\"%s; \"list patches\" names them all", p->spec,
			      word, fl_names_hint(word, names, n, hint, sizeof(hint)));
}

/* Lays one patch over the table (sign '+') or takes it out ('~'). In a set, what does not apply is skipped. */
static int apply(struct parse *p, size_t i, char sign, bool in_set)
{
	bool has = fl_kernel_version_contains(p->kernel->base, patches[i]->name);

	if (p->named[i])
		return fl_error_input(p->reterr, "kernel \"%s\": patch \"%s\" is named twice%s", p->spec, patches[i]->name,
				      in_set ? " (a set names each of its members)" : "");
	if ((sign == '+') == has)
		return in_set ? 0 :
				fl_error_input(p->reterr, "kernel \"%s\": %s %s \"%s\"; %c%s would change nothing", p->spec,
					       p->kernel->base->name, has ? "already has" : "does not have",
					       patches[i]->name, sign, patches[i]->name);
	p->named[i] = true;
	p->kernel->has_patch[i] = sign == '+';
	fl_decisions_overlay(&p->kernel->decide, sign == '+' ? &patches[i]->with : &patches[i]->without);
	return 0;
}

static int apply_word(struct parse *p, const char *word, char sign)
{
	bool is_set = false, applies = false;

	for (size_t i = 0; i < PATCHES; i++)
		if (fl_names_equal(patches[i]->name, word))
			return apply(p, i, sign, false);
	for (size_t i = 0; i < PATCHES; i++) {
		if (!patches[i]->set || !fl_names_equal(patches[i]->set, word))
			continue;
		is_set = true;
		if (apply(p, i, sign, true) < 0)
			return -1;
		applies |= p->named[i];
	}
	if (!is_set)
		return unknown_patch(p, word);
	return applies ? 0 :
			 fl_error_input(p->reterr, "kernel \"%s\": %s %s \"%s\"; %c%s would change nothing", p->spec,
					p->kernel->base->name, sign == '+' ? "already has all of" : "has nothing of", word,
					sign, word);
}

static int find_base(struct parse *p, const char *word)
{
	const char *names[VERSIONS];
	char hint[64];

	for (size_t i = 0; i < VERSIONS; i++) {
		names[i] = versions[i]->name;
		if (fl_names_equal(names[i], word)) {
			p->kernel->base = versions[i];
			p->kernel->decide = versions[i]->decide;
			for (size_t patch = 0; patch < PATCHES; patch++)
				p->kernel->has_patch[patch] = fl_kernel_version_contains(versions[i], patches[patch]->name);
			return 0;
		}
	}
	return fl_error_input(p->reterr, "kernel \"%s\": unknown base version \"%s\"%s; known: %s and %s", p->spec, word,
			      fl_names_hint(word, names, VERSIONS, hint, sizeof(hint)), names[0], names[1]);
}

/* Length of the start of `at` that holds none of `stops` (strcspn, which the gate of the model does not allow). */
static size_t length_until(const char *at, const char *stops)
{
	size_t length = 0;

	for (; at[length]; length++)
		for (const char *stop = stops; *stop; stop++)
			if (at[length] == *stop)
				return length;
	return length;
}

static int add_tunable(struct parse *p, const char *word)
{
	struct fl_kernel *k = p->kernel;
	const char *equal = word + length_until(word, "=");
	char (*slot)[64] = k->tunable[k->tunables_count];

	if (!*equal || equal == word)
		return fl_error_input(p->reterr, "kernel \"%s\": \"%s\" is not TUNABLE=VALUE", p->spec, word);
	if (k->tunables_count == FL_KERNEL_TUNABLES_MAX || (size_t)(equal - word) >= sizeof(slot[0]) ||
	    strlen(equal + 1) >= sizeof(slot[1]))
		return fl_error_input(p->reterr, "kernel \"%s\": too many tunables, or one too long: \"%s\"", p->spec, word);
	memcpy(slot[0], word, (size_t)(equal - word));
	slot[0][equal - word] = '\0';
	memcpy(slot[1], equal + 1, strlen(equal + 1) + 1);
	for (unsigned int i = 0; i < k->tunables_count; i++)
		if (fl_names_equal(k->tunable[i][0], slot[0]))
			return fl_error_input(p->reterr, "kernel \"%s\": tunable \"%s\" is set twice", p->spec, slot[0]);
	if (fl_tunable_check(slot[0], slot[1], p->reterr) < 0) {
		fl_error_prefix(p->reterr, "kernel \"%s\"", p->spec);
		return -1;
	}
	if (fl_names_equal(slot[0], "vm.defrag_mode") && !k->decide.has_defrag_mode(&(struct fl_no_facts){ 0 }))
		return fl_error_input(p->reterr, "kernel \"%s\": %s does not have vm.defrag_mode; 7.3 does", p->spec,
				      k->base->name);
	k->tunables_count++;
	return 0;
}

static int take_word(struct parse *p, const char *word, char sign)
{
	if (!*word)
		return fl_error_input(p->reterr, "kernel \"%s\": a name is missing%s%.1s; expected BASE{+PATCH}{~PATCH}{,TUNABLE=VALUE}",
				      p->spec, sign ? " after " : "", sign ? (char[2]){ sign, 0 } : "");
	if (!sign)
		return find_base(p, word);
	return sign == ',' ? add_tunable(p, word) : apply_word(p, word, sign);
}

int fl_kernel_parse(const char *spec, struct fl_kernel *ret, struct fl_error *reterr)
{
	struct fl_kernel kernel = { 0 };
	struct parse p = { .spec = spec, .kernel = &kernel, .reterr = reterr };
	char word[sizeof(kernel.name)];
	char sign = '\0';
	const char *at = spec;

	if (strlen(spec) >= sizeof(kernel.name))
		return fl_error_input(reterr, "kernel notation of %zu characters: at most %zu are read", strlen(spec),
				      sizeof(kernel.name) - 1);
	do {
		/* Inside the tunables a value may hold + and ~ ("defer+madvise"). */
		size_t length = length_until(at, sign == ',' ? "," : "+~,");

		memcpy(word, at, length);
		word[length] = '\0';
		if (take_word(&p, word, sign) < 0)
			return reterr ? reterr->code : -1;
		at += length;
		sign = *at;
	} while (*at++);
	memcpy(kernel.name, spec, strlen(spec) + 1);
	FL_ASSERT(!fl_decisions_missing(&kernel.decide));
	*ret = kernel;
	return 0;
}
