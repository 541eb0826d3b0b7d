/*
 * observe/diagnose_internal.h - shared by diagnose.c (what is the verdict) and evidence.c (how it is said).
 */
#ifndef FL_OBSERVE_DIAGNOSE_INTERNAL_H
#define FL_OBSERVE_DIAGNOSE_INTERNAL_H

#include <stdarg.h>

#include "observe/diagnose.h"

typedef unsigned long long ull;

/* An allocated text. */
char *fl_diagnosis_format(const char *fmt, va_list ap);

/* Pages of the state in kB; 0 for a figure that was not there. */
unsigned long long fl_diagnosis_kb(const struct fl_diagnosis *d, uint64_t pages);
/* Memory of the zones that the request may use, pages; the whole machine when their lines were cut. */
uint64_t fl_diagnosis_managed(const struct fl_diagnosis *d);

void fl_evidence_of_request(struct fl_diagnosis *d);
/* One line for each zone, the largest last zone first. */
void fl_evidence_of_zones(struct fl_diagnosis *d);
/* What the free lists of a zone hold, seen from the order of the request. */
void fl_evidence_of_lists(struct fl_diagnosis *d, const struct fl_mem_zone *zone);
void fl_evidence_of_movable(struct fl_diagnosis *d);

/* The term of the test that decides in this zone ("CMA", "boost", ...), or NULL. */
const char *fl_zone_deciding_term(const struct fl_zone_check *check);

#endif
