/*
 * mm/sysctl.c - the table of settings and what a write does. Mirrors vm_table of mm/page_alloc.c, vmscan.c,
 * compaction.c (6.12) and the sysfs stores of mm/huge_memory.c and khugepaged.c.
 */
#include "mm/sysctl.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/names.h"
#include "mm/compaction.h"
#include "mm/khugepaged.h"
#include "mm/pcp.h"
#include "mm/watermark.h"

static const char *const thp_enabled_words[] = { "never", "madvise", "always", NULL };
static const char *const thp_size_words[] = { "never", "madvise", "always", "inherit", NULL };
static const char *const thp_defrag_words[] = { "never", "madvise", "defer", "defer+madvise", "always", NULL };

/* What follows a write. */
enum after { NOTHING, WATERMARKS, PCP, THP, PROACTIVE, KHUGEPAGED_SLEEPS };

struct entry {
	struct fl_tunable tunable;
	size_t offset; /* of a uint32_t in struct fl_settings */
	enum after after;
};

#define SETTING(member) offsetof(struct fl_settings, member)
#define MIN_FREE SIZE_MAX          /* vm.min_free_kbytes: 64 bits and a rule of its own */
#define PER_SIZE (SIZE_MAX - 1)    /* hugepages-<size>kB.enabled */

static const struct entry entries[] = {
	{ { "vm.min_free_kbytes", "kB kept free for atomic requests; the THP recommendation may raise it again", 0,
	    1u << 30, NULL }, MIN_FREE, NOTHING },
	{ { "vm.watermark_scale_factor", "distance of the watermarks, in 1/10000 of a zone", 1, 3000, NULL },
	  SETTING(watermark_scale_factor), WATERMARKS },
	{ { "vm.watermark_boost_factor", "largest boost after a fragmenting fallback, in 1/10000 of the high mark", 0,
	    1u << 30, NULL }, SETTING(watermark_boost_factor), NOTHING },
	{ { "vm.percpu_pagelist_high_fraction", "pages of a zone over this are the limit of all per-CPU lists", 0,
	    1u << 30, NULL }, SETTING(percpu_pagelist_high_fraction), PCP },
	{ { "vm.extfrag_threshold", "fragmentation index above which compaction is worth it", 0, 1000, NULL },
	  SETTING(extfrag_threshold), NOTHING },
	{ { "vm.compaction_proactiveness", "how eagerly kcompactd compacts in the background", 0, 100, NULL },
	  SETTING(compaction_proactiveness), PROACTIVE },
	{ { "vm.compact_unevictable_allowed", "may compaction move unevictable pages", 0, 1, NULL },
	  SETTING(compact_unevictable_allowed), NOTHING },
	{ { "vm.defrag_mode", "avoid mixing types even in the slow path (7.3)", 0, 1, NULL }, SETTING(defrag_mode),
	  NOTHING },
	{ { "vm.swappiness", "weight of anonymous memory in reclaim", 0, 200, NULL }, SETTING(swappiness), NOTHING },
	{ { "vm.vfs_cache_pressure", "weight of dentries and inodes in reclaim, per cent", 0, 1u << 20, NULL },
	  SETTING(vfs_cache_pressure), NOTHING },
	{ { "vm.page-cluster", "log2 of the pages that one swap-in reads", 0, 31, NULL }, SETTING(page_cluster),
	  NOTHING },
	{ { "vm.dirty_ratio", "per cent of available memory at which writers are throttled", 0, 100, NULL },
	  SETTING(dirty_ratio), NOTHING },
	{ { "vm.dirty_background_ratio", "per cent of available memory at which the flusher starts", 0, 100, NULL },
	  SETTING(dirty_background_ratio), NOTHING },
	{ { "vm.dirty_expire_centisecs", "age at which dirty pages are written", 0, 1u << 30, NULL },
	  SETTING(dirty_expire_centisecs), NOTHING },
	{ { "vm.dirty_writeback_centisecs", "period of the flusher", 0, 1u << 30, NULL },
	  SETTING(dirty_writeback_centisecs), NOTHING },
	{ { "thp.enabled", "transparent_hugepage/enabled", 0, 2, thp_enabled_words }, SETTING(thp_enabled), THP },
	{ { "thp.defrag", "transparent_hugepage/defrag", 0, 4, thp_defrag_words }, SETTING(thp_defrag), NOTHING },
	{ { "thp.use_zero_page", "map the huge zero page on read faults", 0, 1, NULL }, SETTING(thp_use_zero_page),
	  NOTHING },
	{ { "thp.shrink_underused", "split huge pages that hold mostly zeroes under pressure", 0, 1, NULL },
	  SETTING(thp_shrink_underused), NOTHING },
	{ { "hugepages-<size>kB.enabled", "transparent_hugepage/hugepages-*/enabled", 0, 3, thp_size_words },
	  PER_SIZE, THP },
	{ { "khugepaged.defrag", "may khugepaged reclaim and compact", 0, 1, NULL }, SETTING(khugepaged_defrag), THP },
	{ { "khugepaged.pages_to_scan", "budget of one wake-up", 1, 1u << 30, NULL },
	  SETTING(khugepaged_pages_to_scan), NOTHING },
	{ { "khugepaged.scan_sleep_millisecs", "sleep between wake-ups", 0, 1u << 30, NULL },
	  SETTING(khugepaged_scan_sleep_ms), KHUGEPAGED_SLEEPS },
	{ { "khugepaged.alloc_sleep_millisecs", "sleep after a failed allocation", 0, 1u << 30, NULL },
	  SETTING(khugepaged_alloc_sleep_ms), KHUGEPAGED_SLEEPS },
	{ { "khugepaged.max_ptes_none", "empty entries that a collapse may fill", 0, 1u << 14, NULL },
	  SETTING(khugepaged_max_ptes_none), NOTHING },
	{ { "khugepaged.max_ptes_swap", "swapped entries that a collapse may read in", 0, 1u << 14, NULL },
	  SETTING(khugepaged_max_ptes_swap), NOTHING },
	{ { "khugepaged.max_ptes_shared", "shared entries that a collapse may copy", 0, 1u << 14, NULL },
	  SETTING(khugepaged_max_ptes_shared), NOTHING },
};
#define ENTRIES (sizeof(entries) / sizeof(entries[0]))

const struct fl_tunable *fl_tunable_at(unsigned int i)
{
	return i < ENTRIES ? &entries[i].tunable : NULL;
}

void fl_thp_orders_of(const struct fl_mem *mem, struct fl_thp_orders *ret)
{
	*ret = (struct fl_thp_orders){
		.pmd_order = mem->pmd_order,
		.global_always = mem->set.thp_enabled == FL_THP_ALWAYS,
		.global_madvise = mem->set.thp_enabled == FL_THP_MADVISE,
	};
	for (unsigned int order = 2; order < FL_MAX_ORDERS; order++) {
		ret->always |= (uint32_t)(mem->set.thp_size[order] == FL_THP_SIZE_ALWAYS) << order;
		ret->madvise |= (uint32_t)(mem->set.thp_size[order] == FL_THP_SIZE_MADVISE) << order;
		ret->inherit |= (uint32_t)(mem->set.thp_size[order] == FL_THP_SIZE_INHERIT) << order;
	}
}

/* Reads decimal digits; false on anything else and on overflow of 62 bits. */
static bool parse_number(const char *text, size_t length, uint64_t *ret)
{
	uint64_t value = 0;

	if (!length || length > 18)
		return false;
	for (size_t i = 0; i < length; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		value = value * 10 + (uint64_t)(text[i] - '0');
	}
	*ret = value;
	return true;
}

/* The kB of a name like "hugepages-16kB.enabled", or 0. */
static uint64_t size_in_name(const char *name)
{
	static const char prefix[] = "hugepages-", suffix[] = "kB.enabled";
	size_t length = strlen(name);
	uint64_t kbytes = 0;

	if (length <= sizeof(prefix) - 1 + sizeof(suffix) - 1 || memcmp(name, prefix, sizeof(prefix) - 1) ||
	    memcmp(name + length - (sizeof(suffix) - 1), suffix, sizeof(suffix) - 1) ||
	    !parse_number(name + sizeof(prefix) - 1, length - (sizeof(prefix) - 1) - (sizeof(suffix) - 1), &kbytes))
		return 0;
	return kbytes;
}

static const struct entry *find(const char *name)
{
	bool per_size = size_in_name(name) != 0;

	for (size_t i = 0; i < ENTRIES; i++)
		if (entries[i].offset == PER_SIZE ? per_size : fl_names_equal(entries[i].tunable.name, name))
			return &entries[i];
	return NULL;
}

/* The value of `text` for this setting: a word's index or a number in range. */
static int parse_value(const struct fl_tunable *t, const char *name, const char *text, uint64_t *ret,
		       struct fl_error *reterr)
{
	if (!t->words) {
		if (parse_number(text, strlen(text), ret) && *ret >= t->min && *ret <= t->max)
			return 0;
		return fl_error_input(reterr, "%s: \"%s\" is not a number from %llu to %llu", name, text,
				      (unsigned long long)t->min, (unsigned long long)t->max);
	}
	for (unsigned int i = 0; t->words[i]; i++)
		if (fl_names_equal(t->words[i], text)) {
			*ret = i;
			return 0;
		}
	return fl_error_input(reterr, "%s: \"%s\" is not one of %s, %s, %s%s%s%s%s", name, text, t->words[0], t->words[1],
			      t->words[2], t->words[3] ? ", " : "", t->words[3] ? t->words[3] : "",
			      t->words[3] && t->words[4] ? ", " : "", t->words[3] && t->words[4] ? t->words[4] : "");
}

static int lookup(const char *name, const char *value, const struct entry **ret, uint64_t *ret_number,
		  struct fl_error *reterr)
{
	const char *names[ENTRIES];
	char hint[128];

	*ret = find(name);
	if (*ret && parse_value(&(*ret)->tunable, name, value, ret_number, reterr) < 0)
		return reterr ? reterr->code : -EINVAL;
	/* More than an eighth of a zone on per-CPU lists is refused (percpu_pagelist_high_fraction_sysctl_handler). */
	if (*ret && (*ret)->after == PCP && *ret_number > 0 && *ret_number < 8)
		return fl_error_input(reterr, "%s: \"%s\" is neither 0 nor at least 8", name, value);
	if (*ret)
		return 0;
	for (size_t i = 0; i < ENTRIES; i++)
		names[i] = entries[i].tunable.name;
	return fl_error_input(reterr, "unknown tunable \"%s\"%s; \"list tunables\" names them all", name,
			      fl_names_hint(name, names, ENTRIES, hint, sizeof(hint)));
}

int fl_tunable_check(const char *name, const char *value, struct fl_error *reterr)
{
	const struct entry *entry;
	uint64_t number;

	return lookup(name, value, &entry, &number, reterr);
}

/* The order of a huge page of so many kB, or -1 when this machine has no such size. */
static int order_of_size(const struct fl_mem *mem, uint64_t kbytes)
{
	for (unsigned int order = 2; order <= mem->pmd_order; order++)
		if (kbytes == UINT64_C(1) << (order + mem->page_shift - 10))
			return (int)order;
	return -1;
}

static uint32_t *member_of(struct fl_mem *mem, const struct entry *entry)
{
	return (uint32_t *)((char *)&mem->set + entry->offset);
}

static void after_write(struct fl_mem *mem, struct fl_caller *who, enum after after)
{
	switch (after) {
	case NOTHING:
		break;
	case WATERMARKS:
		fl_setup_per_zone_wmarks(mem);
		break;
	case PCP:
		for (unsigned int z = 0; z < FL_ZONES; z++)
			fl_pcp_update(mem, &mem->zone[z]);
		break;
	case THP:
		fl_set_recommended_min_free(mem);
		fl_khugepaged_settings_written(mem, false);
		break;
	case KHUGEPAGED_SLEEPS:
		fl_khugepaged_settings_written(mem, true);
		break;
	case PROACTIVE:
		if (who)
			fl_write_compaction_proactiveness(mem, who, mem->set.compaction_proactiveness);
		break;
	}
}

int fl_tunable_write(struct fl_mem *mem, struct fl_caller *who, const char *name, const char *value,
		     struct fl_error *reterr)
{
	const struct entry *entry;
	uint64_t number;
	int order, result = lookup(name, value, &entry, &number, reterr);

	if (result < 0)
		return result;
	if (entry->offset == SETTING(defrag_mode) && !mem->decide.has_defrag_mode(&(struct fl_no_facts){ 0 }))
		return fl_error_input(reterr, "vm.defrag_mode: this kernel does not have it; 7.3 does");
	if (who)
		fl_charge(who->task, mem->cost->syscall);
	if (entry->offset == MIN_FREE) {
		fl_write_min_free_kbytes(mem, number);
		return 0;
	}
	if (entry->offset == PER_SIZE) {
		order = order_of_size(mem, size_in_name(name));
		if (order < 0)
			return fl_error_input(reterr, "%s: no such huge page size on a machine with pages of %u kB", name,
					      1u << (mem->page_shift - 10));
		mem->set.thp_size[order] = (uint32_t)number;
	} else {
		*member_of(mem, entry) = (uint32_t)number;
	}
	after_write(mem, who, entry->after);
	return 0;
}

bool fl_tunable_in(unsigned int i, const struct fl_settings *set, uint64_t *ret)
{
	if (entries[i].offset == MIN_FREE || entries[i].offset == PER_SIZE)
		return false;
	*ret = *(const uint32_t *)((const char *)set + entries[i].offset);
	return true;
}

uint64_t fl_tunable_read(const struct fl_mem *mem, const char *name)
{
	const struct entry *entry = find(name);
	int order;

	if (!entry)
		return UINT64_MAX;
	if (entry->offset == MIN_FREE)
		return mem->set.min_free_kbytes;
	if (entry->offset != PER_SIZE)
		return *(const uint32_t *)((const char *)&mem->set + entry->offset);
	order = order_of_size(mem, size_in_name(name));
	return order < 0 ? UINT64_MAX : mem->set.thp_size[order];
}
