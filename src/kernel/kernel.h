/*
 * kernel/kernel.h - kernels by name: base versions, patches laid over them, tunables set.
 *
 * Notation (stable): BASE{+PATCH}{~PATCH}{,TUNABLE=VALUE}, as in "7.3+mobility", "7.3~guard-accounting" (a base that has
 * the patch, without it), "7.3,vm.compaction_proactiveness=60". A patch set is a name for several patches and skips
 * those that the base has.
 */
#ifndef FL_KERNEL_KERNEL_H
#define FL_KERNEL_KERNEL_H

#include "base/error.h"
#include "base/text.h"
#include "mm/decisions.h"

/* How a fact is known. */
enum fl_confidence { FL_FACT_SOURCE, FL_FACT_MAIL, FL_FACT_INFERRED };
struct fl_fact {
	enum fl_confidence confidence;
	const char *where; /* kernel function, or mail */
};

/* A base version: a complete table of decisions. */
struct fl_kernel_version {
	const char *name;    /* "7.3" */
	const char *summary; /* one line */
	struct fl_decisions decide;
	const char *const *contains; /* names of the patches that it has, NULL-terminated */
	struct fl_fact facts[FL_DECISION_COUNT];
};

/* A patch: a partial table. One file each; the list of names is in patches.c. */
struct fl_patch {
	const char *name;
	const char *set;     /* name of the set that it belongs to, or NULL */
	const char *summary; /* one line */
	const char *source;  /* mail title and date */
	struct fl_decisions with;    /* what it replaces */
	struct fl_decisions without; /* what a base that contains it goes back to; empty when none does */
};

#define FL_KERNEL_TUNABLES_MAX 32
#define FL_KERNEL_PATCHES_MAX 64
struct fl_kernel {
	char name[512]; /* canonical notation, tunables included */
	const struct fl_kernel_version *base;
	struct fl_decisions decide;
	bool has_patch[FL_KERNEL_PATCHES_MAX]; /* as fl_patch_at() counts them: in the base or laid over it */
	unsigned int tunables_count;
	char tunable[FL_KERNEL_TUNABLES_MAX][2][64]; /* name and value */
};

extern const char fl_kernel_default[]; /* the base that is used when none is named */

/* Parses the notation. -EINVAL with a sentence: unknown base, patch or tunable (nearest name), + of what the base has,
 * ~ of what it lacks, a patch or set named twice, a set of which nothing applies. */
int fl_kernel_parse(const char *spec, struct fl_kernel *ret, struct fl_error *reterr);

/* Does the kernel have this patch, or every patch of this set, from its base or laid over it? */
bool fl_kernel_has(const struct fl_kernel *kernel, const char *patch_or_set);

/* Lists; NULL past the end. */
const struct fl_kernel_version *fl_kernel_version_at(unsigned int i);
const struct fl_patch *fl_patch_at(unsigned int i);
const char *fl_patch_set_at(unsigned int i);

/* Does this base contain the patch of that name? */
bool fl_kernel_version_contains(const struct fl_kernel_version *version, const char *patch);

/* The patch or NULL. */
const struct fl_patch *fl_patch_find(const char *name);

const char *fl_confidence_text(enum fl_confidence confidence);

#endif
