/*
 * live/request.c - the kernel notation of the live backend, and checking a request against this host.
 */
#include "live/request.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/size.h"
#include "base/text.h"
#include "live/budget.h"
#include "live/live.h"
#include "observe/hostfile.h"

/* "live", the release that runs, or the beginning of it up to a dot or a hyphen. */
static bool is_running(const char *base, size_t length, const char *release)
{
	if (length == 4 && !strncmp(base, "live", 4))
		return true;
	return length >= 3 && !strncmp(base, release, length) && !isdigit((unsigned char)release[length]) &&
	       memchr(base, '.', length);
}

static int check_base(const char *spec, size_t length, struct fl_error *reterr)
{
	size_t base = strcspn(spec, "+~,");
	struct utsname host;

	uname(&host);
	if (!is_running(spec, base, host.release))
		return fl_error_input(reterr, "--kernel: \"%.*s\" is not the kernel that runs here, which is %s; with --on live write "
				      "live (or %.*s), and settings behind it, as in live,vm.compaction_proactiveness=60",
				      (int)base, spec, host.release, (int)strcspn(host.release, "-"), host.release);
	if (base < length)
		return fl_error_input(reterr, "--kernel: \"%.*s\": patches cannot be laid over a kernel that runs; boot the patched "
				      "kernel, or use --on sim", (int)length, spec);
	return 0;
}

/* One ",name=value" at *spec; moves it behind. */
static int take_tunable(const char **spec, char name[64], char value[64], struct fl_error *reterr)
{
	const char *start = *spec + 1;
	size_t length = strcspn(start, ","), left = strcspn(start, "=,");

	*spec = start + length;
	if (left == length || !left || left > 63 || length - left - 1 > 63 || length == left + 1)
		return fl_error_input(reterr, "--kernel: \"%.*s\" is not TUNABLE=VALUE", (int)length, start);
	snprintf(name, 64, "%.*s", (int)left, start);
	snprintf(value, 64, "%.*s", (int)(length - left - 1), start + left + 1);
	return 0;
}

int fl_live_kernel_check(const char *spec, char **ret_canonical, struct fl_error *reterr)
{
	const char *at = spec + strcspn(spec, ",");
	int error = check_base(spec, (size_t)(at - spec), reterr);
	char name[64], value[64], *canonical;

	canonical = fl_xasprintf("live%s", at);
	while (!error && *at) {
		error = take_tunable(&at, name, value, reterr);
		if (!error)
			error = fl_live_setting_check("", name, value, NULL, reterr);
	}
	if (error)
		free(canonical);
	else
		*ret_canonical = canonical;
	return error;
}

static int add_setting(struct fl_live_settings *s, const char *name, const char *value, bool of_scenario,
		       struct fl_error *reterr)
{
	if (s->count == FL_LIVE_SETTINGS_MAX)
		return fl_error_input(reterr, "more than %d settings for one run", FL_LIVE_SETTINGS_MAX);
	snprintf(s->list[s->count].name, 64, "%s", name);
	snprintf(s->list[s->count].value, 64, "%s", value);
	s->list[s->count].of_scenario = of_scenario;
	s->list[s->count].is_model_only = !strncmp(name, "disk.", 5);
	s->count++;
	return 0;
}

int fl_live_settings_of(const struct fl_backend_request *request, struct fl_live_settings *ret, struct fl_error *reterr)
{
	const char *at = request->kernel ? request->kernel + strcspn(request->kernel, ",") : "";
	char name[64], value[64];
	int error = 0;

	ret->count = 0;
	for (unsigned int i = 0; i < request->settings_count && !error; i++)
		error = add_setting(ret, request->settings[i].name, request->settings[i].value, true, reterr);
	while (!error && *at) {
		error = take_tunable(&at, name, value, reterr);
		if (!error)
			error = add_setting(ret, name, value, false, reterr);
	}
	return error;
}

int fl_live_settings_check(const struct fl_live_settings *s, struct fl_error *reterr)
{
	char path[FL_LIVE_SETTING_PATH_MAX];

	for (unsigned int i = 0; i < s->count; i++) {
		char *full;
		bool is_set, may;
		int error;

		if (s->list[i].is_model_only)
			continue;
		error = fl_live_setting_check("", s->list[i].name, s->list[i].value, &is_set, reterr);
		if (error || is_set) {
			if (error)
				return error;
			continue;
		}
		fl_live_setting_path(s->list[i].name, path, NULL);
		full = fl_hostfile_path("", path);
		may = access(full, W_OK) == 0;
		free(full);
		if (!may)
			return fl_error_set(reterr, FL_ERROR_LACKING, -EACCES, "%s must be %s for this run%s, and /%s may not be written: "
					    "run this as root", s->list[i].name, s->list[i].value,
					    s->list[i].of_scenario ? " (the scenario asks for it)" : "", path);
	}
	return 0;
}

static uint64_t pageblock_order(uint64_t page)
{
	struct fl_text text;
	const char *line;
	uint64_t order = 0;

	fl_text_init(&text);
	if (fl_hostfile_read("", "proc/pagetypeinfo", &text, NULL) == 0 && (line = strstr(text.data, "Page block order:")))
		order = strtoul(line + strlen("Page block order:"), NULL, 10);
	fl_text_fini(&text);
	return order ? order : (uint64_t)__builtin_ctzll(page / 8);
}

static void describe_host(const struct fl_live_budget *budget, struct fl_backend_host *ret)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	*ret = (struct fl_backend_host){
		.memory_bytes = budget->total,
		.swap_bytes = budget->swap,
		.scale_bytes = budget->scale,
		.page_bytes = page,
		.huge_bytes = fl_hostfile_number("", "sys/kernel/mm/transparent_hugepage/hpage_pmd_size", page * page / 8),
		.cpus = (unsigned int)sysconf(_SC_NPROCESSORS_ONLN),
		.pageblock_order = (unsigned int)pageblock_order(page),
	};
}

int fl_live_check(const struct fl_backend_request *request, struct fl_backend_host *ret, struct fl_error *reterr)
{
	struct fl_live_settings settings;
	struct fl_live_budget budget;
	int error = fl_live_settings_of(request, &settings, reterr);

	if (!error)
		error = fl_live_settings_check(&settings, reterr);
	if (!error)
		error = fl_live_budget_make("", request->scale_bytes, request->force, &budget, reterr);
	if (!error)
		describe_host(&budget, ret);
	return error;
}
