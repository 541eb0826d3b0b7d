/*
 * observe/diagnose.h - why a request failed: a verdict from a closed list, its evidence, and what would help.
 *
 * docs/INSPECT.md documents the verdicts and the rules. A diagnosis owns all its texts. Amounts in texts are kB.
 */
#ifndef FL_OBSERVE_DIAGNOSE_H
#define FL_OBSERVE_DIAGNOSE_H

#include "observe/arith.h"
#include "observe/snapshot.h"

enum fl_verdict {
	FL_VERDICT_FRAGMENTATION,    /* enough free pages, no block of that order that the request may take */
	FL_VERDICT_SHORTAGE,         /* no memory left that could be reclaimed */
	FL_VERDICT_WATERMARK,        /* below min while reclaimable memory is there: the request could not wait for it */
	FL_VERDICT_BOOST,            /* only the temporary boost of the watermarks stood in the way */
	FL_VERDICT_LOWMEM_RESERVE,   /* only lowmem_reserve did */
	FL_VERDICT_ZONE_CONSTRAINT,  /* zones that it may use are short, others have plenty */
	FL_VERDICT_NODE_CONSTRAINT,  /* the same for nodes: cpuset, mempolicy, __GFP_THISNODE */
	FL_VERDICT_CMA,              /* free memory is CMA, which this request cannot use */
	FL_VERDICT_HIGHATOMIC,       /* free memory is the reserve for atomic high-order requests */
	FL_VERDICT_MEMCG,            /* limit of a memory cgroup, not of the machine */
	FL_VERDICT_ADDRESS_SPACE,    /* no room in the vmalloc or module area */
	FL_VERDICT_IMPOSSIBLE_ORDER, /* larger than the allocator can ever give */
	FL_VERDICT_HARMLESS,         /* an opportunistic try whose fallback works */
	FL_VERDICT_BAD_ACCOUNTING,   /* the figures are impossible: a bug of the kernel */
	FL_VERDICT_UNKNOWN,          /* the text does not tell */
	FL_VERDICTS
};

const char *fl_verdict_name(enum fl_verdict verdict);    /* the id, as in "lowmem_reserve" */
const char *fl_verdict_meaning(enum fl_verdict verdict); /* one clause */

enum fl_zone_use {
	FL_ZONE_MAY_USE,
	FL_ZONE_ABOVE_CEILING, /* the gfp flags do not allow it */
	FL_ZONE_OTHER_NODE,    /* nodemask, cpuset */
};

/* What one zone says to the request. */
struct fl_zone_check {
	const struct fl_mem_zone *zone;
	enum fl_zone_use use;
	struct fl_arith_test test;
	bool passes;             /* would be given a block now */
	enum fl_verdict cause;   /* if not: what decides in this zone */
};

struct fl_note {
	unsigned int line; /* 0: not about a line */
	char *text;
};

struct fl_advice {
	char *text;
	char *command; /* NULL: nothing to type */
};

struct fl_diagnosis {
	const struct fl_mem_request *request;
	const struct fl_mem_state *state; /* NULL: none was printed */
	enum fl_verdict verdict;
	uint32_t also;        /* 1 << verdict for what also plays a part */
	int order;            /* as judged; -1 unknown */
	bool order_assumed;
	struct fl_arith_flags flags;
	char *headline;       /* one sentence */
	struct fl_zone_check *checks;
	size_t checks_count;
	struct fl_note *evidence;
	size_t evidence_count;
	struct fl_advice *advice; /* in the order in which to try */
	size_t advice_count;
	char **useless;       /* what would not help, and why */
	size_t useless_count;
	char *lab;            /* a `fraglab compare` command that tests the advice, or NULL */
};

void fl_diagnose(const struct fl_mem_report *report, const struct fl_mem_request *request, struct fl_diagnosis *ret);
void fl_diagnosis_fini(struct fl_diagnosis *diagnosis);

/* Room for texts; used by diagnose.c and advise.c. */
void fl_diagnosis_evidence(struct fl_diagnosis *d, unsigned int line, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void fl_diagnosis_advice(struct fl_diagnosis *d, const char *command, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void fl_diagnosis_useless(struct fl_diagnosis *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Fills advice, useless and lab from the verdict. */
void fl_diagnosis_advise(struct fl_diagnosis *d);

/* Pages of LRU lists in the zones that the request may use (movable or reclaimable); FL_MEM_NONE if not printed. */
uint64_t fl_diagnosis_lru(const struct fl_diagnosis *d, bool file_only);
/* "Node 0 Normal" or "Normal". Returns `to`. */
const char *fl_zone_label(const struct fl_mem_zone *zone, char *to, size_t size);

#endif
