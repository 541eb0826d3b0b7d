/*
 * live/setting.c - names of tunables to files, and reading, checking and writing these.
 */
#include "live/setting.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/size.h"
#include "base/text.h"
#include "live/budget.h"
#include "observe/hostfile.h"

#define THP_DIR "sys/kernel/mm/transparent_hugepage/"

static const struct {
	const char *prefix, *folder;
} families[] = {
	{ "vm.", "proc/sys/vm/" },
	{ "thp.", THP_DIR },
	{ "khugepaged.", THP_DIR "khugepaged/" },
};

/* Files that do something once, that end more than this experiment, or that take memory which no budget holds. */
static const char *const commands[] = { "vm.compact_memory", "vm.drop_caches", "vm.stat_refresh", "vm.panic_on_oom",
					"vm.memory_failure_recovery", "vm.nr_hugepages", "vm.nr_hugepages_mempolicy" };

static bool is_plain(const char *word)
{
	return *word && word[strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789_-")] == '\0';
}

/* hugepages-64kB.enabled is in the folder hugepages-64kB. */
static bool per_size_path(const char *name, char path[FL_LIVE_SETTING_PATH_MAX])
{
	unsigned int kbytes;
	int end = 0;

	if (sscanf(name, "hugepages-%9ukB.%n", &kbytes, &end) != 1 || !end || !is_plain(name + end))
		return false;
	snprintf(path, FL_LIVE_SETTING_PATH_MAX, THP_DIR "hugepages-%ukB/%.48s", kbytes, name + end);
	return true;
}

int fl_live_setting_path(const char *name, char path[FL_LIVE_SETTING_PATH_MAX], struct fl_error *reterr)
{
	for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++)
		if (!strcmp(name, commands[i]))
			return fl_error_input(reterr, "%s cannot be set for an experiment on a live kernel", name);
	for (size_t i = 0; i < sizeof(families) / sizeof(*families); i++) {
		size_t length = strlen(families[i].prefix);

		if (strncmp(name, families[i].prefix, length) || !is_plain(name + length))
			continue;
		snprintf(path, FL_LIVE_SETTING_PATH_MAX, "%s%.64s", families[i].folder, name + length);
		return 0;
	}
	if (per_size_path(name, path))
		return 0;
	return fl_error_input(reterr, "\"%s\" is no setting of a live kernel; expected vm.NAME, thp.NAME, khugepaged.NAME or "
			      "hugepages-SIZEkB.NAME", name);
}

/* Keeps the bracketed word, if there is one. */
static void keep_choice(char *value)
{
	char *open = strchr(value, '['), *close = open ? strchr(open, ']') : NULL;

	if (!close)
		return;
	*close = '\0';
	memmove(value, open + 1, strlen(open + 1) + 1);
}

static int read_raw(const char *root, const char *path, char value[FL_LIVE_SETTING_VALUE_MAX], struct fl_error *reterr)
{
	struct fl_text text;
	int error;

	fl_text_init(&text);
	error = fl_hostfile_read(root, path, &text, reterr);
	if (!error) {
		snprintf(value, FL_LIVE_SETTING_VALUE_MAX, "%s", text.data);
		value[strcspn(value, "\n")] = '\0';
	}
	fl_text_fini(&text);
	return error;
}

int fl_live_setting_read(const char *root, const char *path, char value[FL_LIVE_SETTING_VALUE_MAX], struct fl_error *reterr)
{
	int error = read_raw(root, path, value, reterr);

	if (!error)
		keep_choice(value);
	return error;
}

int fl_live_setting_write(const char *root, const char *path, const char *value, struct fl_error *reterr)
{
	char *full = fl_hostfile_path(root, path);
	int fd = open(full, O_WRONLY | O_CLOEXEC | O_TRUNC), error = 0;

	if (fd < 0 || write(fd, value, strlen(value)) != (ssize_t)strlen(value))
		error = fl_error_set(reterr, errno == EACCES || errno == EPERM || errno == EROFS ? FL_ERROR_LACKING : FL_ERROR_INPUT,
				     -errno, "writing \"%s\" to %s failed: %s", value, full, strerror(errno));
	if (fd >= 0)
		close(fd);
	free(full);
	return error;
}

/* Is the value one of the words that the file offers? */
static bool offers(const char *raw, const char *value)
{
	size_t length = strlen(value);

	for (const char *at = raw; *at;) {
		size_t word;

		at += strspn(at, " []");
		word = strcspn(at, " []");
		if (word == length && !strncmp(at, value, length))
			return true;
		at += word;
	}
	return false;
}

/* Whole numbers as /proc and /sys print them, perhaps several. */
static bool is_numbers(const char *value)
{
	return *value && value[strspn(value, "-0123456789 \t")] == '\0' && strpbrk(value, "0123456789");
}

/* Memory that nobody may use while the setting holds: at most a twentieth of the host's, as khugepaged's own raise of
 * min_free_kbytes (set_recommended_min_free_kbytes()). */
static bool keeps_too_much(const char *root, const char *name, const char *value)
{
	uint64_t total = fl_live_total(root);

	return !strcmp(name, "vm.min_free_kbytes") && total && strtoull(value, NULL, 10) > total / 1024 / 20;
}

int fl_live_setting_check(const char *root, const char *name, const char *value, bool *ret_is_set, struct fl_error *reterr)
{
	char path[FL_LIVE_SETTING_PATH_MAX], raw[FL_LIVE_SETTING_VALUE_MAX], now[FL_LIVE_SETTING_VALUE_MAX];
	struct fl_error why;
	int error = fl_live_setting_path(name, path, reterr);

	if (error)
		return error;
	if (read_raw(root, path, raw, &why))
		return fl_error_set(reterr, FL_ERROR_LACKING, why.code, "%s: this kernel has no such setting: %s", name, why.text);
	memcpy(now, raw, sizeof(now));
	keep_choice(now);
	if (strchr(raw, '[') ? !offers(raw, value) : is_numbers(raw) && !is_numbers(value))
		return fl_error_input(reterr, "%s: \"%s\" is not a value of it; /%s has: %s", name, value, path, raw);
	if (strcmp(now, value) && keeps_too_much(root, name, value))
		return fl_error_input(reterr, "%s: %s kB are more than a twentieth of this host's memory, which nobody could use meanwhile",
				      name, value);
	if (ret_is_set)
		*ret_is_set = !strcmp(now, value);
	return 0;
}

bool fl_live_setting_moves_min_free(const char *path)
{
	size_t length = strlen(path);

	return !strncmp(path, THP_DIR, strlen(THP_DIR)) && length > 7 && !strcmp(path + length - 7, "enabled");
}
