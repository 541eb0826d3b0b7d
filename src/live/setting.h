/*
 * live/setting.h - settings of the running kernel by the names of tunables: vm.* in /proc/sys/vm, thp.*, khugepaged.* and
 * hugepages-<size>kB.* in /sys/kernel/mm/transparent_hugepage.
 *
 * Paths are relative to a root ("" is this host), as in observe/hostfile.h. Settings that choose a word print all of them
 * with the chosen one in brackets; here the value is that word alone.
 */
#ifndef FL_LIVE_SETTING_H
#define FL_LIVE_SETTING_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

#define FL_LIVE_SETTING_PATH_MAX 160
#define FL_LIVE_SETTING_VALUE_MAX 128

/* The file of a tunable. -EINVAL (class INPUT) for names that are none, and for files that are commands, not settings. */
int fl_live_setting_path(const char *name, char path[FL_LIVE_SETTING_PATH_MAX], struct fl_error *reterr);

/* The value now, without the newline. Class LACKING where the file is missing or may not be read. */
int fl_live_setting_read(const char *root, const char *path, char value[FL_LIVE_SETTING_VALUE_MAX], struct fl_error *reterr);

int fl_live_setting_write(const char *root, const char *path, const char *value, struct fl_error *reterr);

/*
 * Is there such a setting on this kernel, and would it take this value? Sentences name the tunable. Class INPUT for a bad
 * name or value, LACKING for a setting that this kernel does not have. *ret_is_set (may be NULL): it has this value already.
 */
int fl_live_setting_check(const char *root, const char *name, const char *value, bool *ret_is_set, struct fl_error *reterr);

/* May writing this file change vm.min_free_kbytes too? So for switches of THP: khugepaged's start raises it. */
bool fl_live_setting_moves_min_free(const char *path);

#endif
