/*
 * mm/sysctl.h - settings by name: vm.* sysctls and the files of /sys/kernel/mm/transparent_hugepage.
 *
 * A write goes through the rules of the kernel's handler (watermarks recomputed, kcompactd woken, ...).
 */
#ifndef FL_MM_SYSCTL_H
#define FL_MM_SYSCTL_H

#include "base/error.h"
#include "mm/mem.h"

/* THP settings as masks, for decisions. */
void fl_thp_orders_of(const struct fl_mem *mem, struct fl_thp_orders *ret);

/* One setting. Sizes of huge pages are the machine's, so "hugepages-16kB.enabled" is a name with a size in it. */
struct fl_tunable {
	const char *name; /* as in "vm.swappiness", "thp.defrag"; "<size>" stands for a number of kB */
	const char *line;
	uint64_t min, max;
	const char *const *words; /* NULL: a number; else the word at index i stands for i, NULL-terminated */
};

/* All settings, for listings; NULL past the end. */
const struct fl_tunable *fl_tunable_at(unsigned int i);

/* Checks name and value without a machine: -EINVAL with a sentence (nearest name, range). */
int fl_tunable_check(const char *name, const char *value, struct fl_error *reterr);

/* Writes a setting as the kernel's handler does. who may be NULL at boot. */
int fl_tunable_write(struct fl_mem *mem, struct fl_caller *who, const char *name, const char *value,
		     struct fl_error *reterr);

/* Reads a setting as a number (index of the word for words); UINT64_MAX for an unknown name. */
/* The value of tunable i in these settings. False for one that has no single value: min_free_kbytes and huge pages by size. */
bool fl_tunable_in(unsigned int i, const struct fl_settings *set, uint64_t *ret);

uint64_t fl_tunable_read(const struct fl_mem *mem, const char *name);

#endif
