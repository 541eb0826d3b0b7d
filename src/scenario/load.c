/*
 * scenario/load.c - finding scenario files, reading them, and reading their declarations.
 *
 * Scenarios are looked for beside the program (../scenarios of its folder in a build, ../share/fraglab/scenarios when it is
 * installed), then where this build was made from, then where it would be installed. No environment is read.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/names.h"
#include "scenario/run.h"
#include "scenario/script.h"

#define SCRIPT_SIZE_MAX (1u << 20)
#define SUFFIX ".lua"

static bool is_directory(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

/* The folder of scenarios (free()), or NULL. */
static char *find_folder(void)
{
	char program[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", program, sizeof(program) - 1);
	char *candidates[4] = { NULL }, *found = NULL;

	if (n > 0) {
		program[n] = '\0';
		*strrchr(program, '/') = '\0';
		candidates[0] = fl_xasprintf("%s/../share/fraglab/scenarios", program);
		candidates[1] = fl_xasprintf("%s/../scenarios", program);
	}
	candidates[2] = fl_xstrdup(FL_SCENARIO_SOURCE_DIR);
	candidates[3] = fl_xstrdup(FL_SCENARIO_INSTALL_DIR);
	for (int i = 0; i < 4; i++) {
		if (!found && candidates[i] && is_directory(candidates[i]))
			found = candidates[i];
		else
			free(candidates[i]);
	}
	return found;
}

static int is_scenario(const struct dirent *entry)
{
	size_t n = strlen(entry->d_name);

	return n > strlen(SUFFIX) && entry->d_name[0] != '.' && !strcmp(entry->d_name + n - strlen(SUFFIX), SUFFIX);
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

/* Names of the scenarios in a folder, without suffix, in order; returns how many. */
static size_t list_names(const char *folder, char ***ret)
{
	struct dirent **entries = NULL;
	int n = folder ? scandir(folder, &entries, is_scenario, by_bytes) : 0;
	char **names = fl_xcalloc(n > 0 ? (size_t)n : 1, sizeof(*names));

	for (int i = 0; i < n; i++) {
		names[i] = fl_xstrdup(entries[i]->d_name);
		names[i][strlen(names[i]) - strlen(SUFFIX)] = '\0';
		free(entries[i]);
	}
	free(entries);
	*ret = names;
	return n > 0 ? (size_t)n : 0;
}

static void free_names(char **names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(names[i]);
	free(names);
}

static int unknown_name(const char *name, const char *folder, struct fl_error *reterr)
{
	char **names, hint[160];
	size_t count = list_names(folder, &names);

	fl_error_input(reterr, "there is no scenario \"%s\"%s; `fraglab list scenarios` shows all, and a path to a .lua "
		       "file works too", name, fl_names_hint(name, (const char *const *)names, count, hint, sizeof(hint)));
	free_names(names, count);
	return -ENOENT;
}

static bool is_path(const char *name)
{
	size_t n = strlen(name);

	return strchr(name, '/') || (n > strlen(SUFFIX) && !strcmp(name + n - strlen(SUFFIX), SUFFIX));
}

static int find_path(const char *name, char **ret, struct fl_error *reterr)
{
	char *folder, *path = NULL;
	int error = 0;

	folder = find_folder();
	if (folder)
		path = fl_xasprintf("%s/%s%s", folder, name, SUFFIX);
	if (is_path(name) && (!path || access(path, F_OK))) { /* "fidelity/faults" is a scenario in a folder below */
		free(folder);
		free(path);
		*ret = fl_xstrdup(name);
		return 0;
	}
	if (!path || access(path, F_OK)) {
		error = unknown_name(name, folder, reterr);
		free(path);
	} else {
		*ret = path;
	}
	free(folder);
	return error;
}

static int read_text(struct fl_scenario *s, struct fl_error *reterr)
{
	FILE *file = fopen(s->path, "rb");
	size_t n = 0;
	int failed;

	if (!file)
		return fl_error_set(reterr, FL_ERROR_INPUT, -errno, "%s: cannot be read: %s", s->path, strerror(errno));
	s->text = fl_xmalloc(SCRIPT_SIZE_MAX + 1);
	n = fread(s->text, 1, SCRIPT_SIZE_MAX + 1, file);
	failed = ferror(file) ? errno : 0;
	fclose(file);
	if (failed)
		return fl_error_set(reterr, FL_ERROR_INPUT, -failed, "%s: cannot be read: %s; expected a .lua file", s->path,
				    strerror(failed));
	if (n > SCRIPT_SIZE_MAX)
		return fl_error_input(reterr, "%s: longer than %u KiB: not a scenario", s->path, SCRIPT_SIZE_MAX >> 10);
	s->text = fl_xrealloc(s->text, n + 1);
	s->text[n] = '\0';
	s->text_length = n;
	return 0;
}

static void set_name(struct fl_scenario *s)
{
	const char *slash = strrchr(s->path, '/'), *base = slash ? slash + 1 : s->path;

	s->name = fl_xstrdup(base);
	if (is_path(s->name) && strlen(s->name) > strlen(SUFFIX))
		s->name[strlen(s->name) - strlen(SUFFIX)] = '\0';
}

static int read_declarations(struct fl_scenario *s, struct fl_error *reterr)
{
	struct fl_script *script = fl_script_new(s->path, NULL);
	int error;

	script->declare = s;
	error = fl_script_execute(script, s->text, s->text_length, reterr);
	fl_script_free(script);
	return error;
}

int fl_scenario_load(const char *name_or_path, struct fl_scenario **ret, struct fl_error *reterr)
{
	struct fl_scenario *s = fl_xcalloc(1, sizeof(*s));
	int error = find_path(name_or_path, &s->path, reterr);

	if (!error)
		set_name(s);
	if (!error)
		error = read_text(s, reterr);
	if (!error)
		error = read_declarations(s, reterr);
	if (error)
		fl_scenario_free(s);
	else
		*ret = s;
	return error;
}

static void free_option(struct fl_option *o)
{
	for (size_t i = 0; o->choices && o->choices[i]; i++)
		free((char *)(uintptr_t)o->choices[i]);
	free((void *)(uintptr_t)o->choices);
	free((char *)(uintptr_t)o->name);
	free((char *)(uintptr_t)o->default_text);
	free((char *)(uintptr_t)o->help);
}

void fl_scenario_free(struct fl_scenario *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->options_count; i++)
		free_option(&s->options[i]);
	for (size_t i = 0; i < s->settings_count; i++) {
		free(s->setting_names[i]);
		free(s->setting_values[i]);
	}
	free(s->setting_names);
	free(s->setting_values);
	free(s->options);
	free(s->metrics);
	free(s->published);
	free(s->name);
	free(s->summary);
	free(s->path);
	free(s->text);
	free(s);
}

int fl_scenario_list(struct fl_text *to, struct fl_error *reterr)
{
	char *folder = find_folder(), **names;
	size_t count = list_names(folder, &names);
	int error = 0;

	if (!folder)
		error = fl_error_set(reterr, FL_ERROR_LACKING, -ENOENT, "the folder of scenarios is missing: expected %s",
				     FL_SCENARIO_INSTALL_DIR);
	for (size_t i = 0; i < count && !error; i++) {
		struct fl_scenario *s;

		error = fl_scenario_load(names[i], &s, reterr);
		if (error)
			break;
		fl_text_add(to, "%s\t%s\n", s->name, s->summary);
		fl_scenario_free(s);
	}
	free_names(names, count);
	free(folder);
	return error;
}
