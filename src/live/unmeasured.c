/*
 * live/unmeasured.c - names that the model's samples have and this kernel has no source for: they are in the samples of a live
 * run too, without a value, so that both documents have the same names and nobody reads a zero that was never counted.
 *
 * tests/live/sample_test.c compares the words here with the model's own.
 */
#include <stdio.h>
#include <string.h>

#include "live/sample.h"

static const char *const kinds[] = { "migrate_scanned", "free_scanned", "migrated", "reclaim_scanned", "reclaimed", "cpu_ns",
				     "stalls" };
static const char *const actors[] = { "direct", "kswapd", "kcompactd", "khugepaged" };
static const char *const triggers[] = { "slowpath", "kswapd_sleep", "boost", "timer", "sysctl", "atomic", "scan" };

/* Counters of the model, and of kernels newer than some. */
static const char *const counters[] = { "fl_thp_freelist_hits", "khugepaged_progress", "khugepaged_ranges_scanned",
					"khugepaged_wakeups", "watermark_boosts", "type_count_gap" };
static const char *const by_size[] = { "anon_fault_alloc", "anon_fault_fallback", "anon_fault_fallback_charge", "zswpout", "swpin",
				       "swpin_fallback", "swpin_fallback_charge", "swpout", "swpout_fallback", "shmem_alloc",
				       "shmem_fallback", "shmem_fallback_charge", "split", "split_failed", "split_deferred", "nr_anon",
				       "nr_anon_partially_mapped", "collapse_alloc", "collapse_alloc_failed", "collapse_exceed_none_pte",
				       "collapse_exceed_swap_pte", "collapse_exceed_shared_pte" };

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static void add(struct fl_record *record, const char *phase, const struct fl_live_counts *counted, const char *name)
{
	if (counted && fl_live_counts_get(counted, name, SIZE_MAX, UINT64_MAX) != UINT64_MAX)
		return;
	fl_record_add(record, name, phase, 0)->valid = false;
}

static void add_work(struct fl_record *record, const char *phase)
{
	char name[72];

	for (size_t k = 0; k < COUNT(kinds); k++) {
		for (size_t a = 0; a < COUNT(actors); a++) {
			for (size_t t = 0; t < COUNT(triggers); t++) {
				snprintf(name, sizeof(name), "work_%s_%s_%s", kinds[k], actors[a], triggers[t]);
				add(record, phase, NULL, name);
			}
		}
	}
}

void fl_live_add_unmeasured(struct fl_record *record, const char *phase, const struct fl_live_counts *counted,
			    unsigned int page_kb, unsigned int pmd_order)
{
	char name[72];

	add_work(record, phase);
	for (size_t i = 0; i < COUNT(counters); i++)
		add(record, phase, counted, counters[i]);
	for (unsigned int order = 1; order <= pmd_order; order++) {
		for (size_t i = 0; i < COUNT(by_size); i++) {
			snprintf(name, sizeof(name), "%s_%ukB", by_size[i], page_kb << order);
			add(record, phase, counted, name);
		}
	}
}
