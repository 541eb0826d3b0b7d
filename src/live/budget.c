/*
 * live/budget.c - /proc/meminfo to a budget; memory cgroups of version 1 and 2 by their files.
 */
#include "live/budget.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/size.h"
#include "base/text.h"
#include "live/lines.h"
#include "observe/hostfile.h"

#define MIB (UINT64_C(1) << 20)

/* The number behind "NAME:" of /proc/meminfo, in bytes. */
static uint64_t meminfo(const char *root, const char *name, uint64_t missing)
{
	struct fl_text text;
	const char *line;
	char key[40];
	unsigned long long kbytes;
	uint64_t value = missing;

	fl_text_init(&text);
	snprintf(key, sizeof(key), "\n%s:", name);
	fl_text_add_char(&text, '\n', 1);
	if (fl_hostfile_read(root, "proc/meminfo", &text, NULL) == 0 && (line = strstr(text.data, key)) &&
	    sscanf(line + strlen(key), "%llu", &kbytes) == 1)
		value = kbytes * 1024;
	fl_text_fini(&text);
	return value;
}

uint64_t fl_live_available(const char *root)
{
	return meminfo(root, "MemAvailable", UINT64_MAX);
}

uint64_t fl_live_total(const char *root)
{
	return meminfo(root, "MemTotal", 0);
}

uint64_t fl_live_free(const char *root)
{
	return meminfo(root, "MemFree", 0);
}

uint64_t fl_live_stalled_ns(const char *root)
{
	struct fl_text text;
	const char *line, *total;
	unsigned long long us = 0;

	fl_text_init(&text);
	if (fl_hostfile_read(root, "proc/pressure/memory", &text, NULL) == 0 && (line = strstr(text.data, "full ")) &&
	    (total = strstr(line, "total=")))
		us = strtoull(total + 6, NULL, 10);
	fl_text_fini(&text);
	return us * 1000;
}

static uint64_t between(uint64_t value, uint64_t least, uint64_t most)
{
	return value < least ? least : value > most ? most : value;
}

int fl_live_budget_make(const char *root, uint64_t wish, bool force, struct fl_live_budget *ret, struct fl_error *reterr)
{
	struct fl_live_budget b = { .total = meminfo(root, "MemTotal", 0), .available = fl_live_available(root),
				    .swap = meminfo(root, "SwapTotal", 0) };
	char asked[32], there[32];

	if (!b.total || b.available == UINT64_MAX)
		return fl_error_set(reterr, FL_ERROR_LACKING, -ENOENT, "/proc/meminfo does not tell MemTotal and MemAvailable, so no "
				    "budget can be set; is /proc mounted?");
	b.scale = wish ? wish : b.available / 4 / MIB * MIB;
	b.limit = b.scale + b.scale / 4 + 128 * MIB;
	b.low = between(b.total / 32, 48 * MIB, 512 * MIB);
	b.critical = b.low / 2;
	fl_size_format((int64_t)b.scale, asked, sizeof(asked));
	fl_size_format((int64_t)(b.available / MIB * MIB), there, sizeof(there));
	if (b.scale < 16 * MIB)
		return fl_error_input(reterr, "a load of %s is too small for a live kernel; expected --scale 16M or more (%s is available)",
				      asked, there);
	if (b.scale > b.available / 4 * 3 && !force)
		return fl_error_input(reterr, "--scale %s is more than three quarters of the memory that this host has available (%s); "
				      "--force takes it all the same", asked, there);
	*ret = b;
	return 0;
}

/* ---- cgroups ---- */

/* Calls back for each line of a file; true ends. */
static bool each_line(const char *root, const char *path, bool (*line_is_it)(char *line, void *arg), void *arg)
{
	struct fl_text text;
	bool found = false;

	fl_text_init(&text);
	if (fl_hostfile_read(root, path, &text, NULL) == 0)
		for (char *rest = text.data, *line; !found && (line = fl_live_next_line(&rest));)
			found = line_is_it(line, arg);
	fl_text_fini(&text);
	return found;
}

struct mounts {
	char v1[128], v2[128];
};

/* DEVICE POINT TYPE OPTIONS 0 0 */
static bool note_mount(char *line, void *arg)
{
	struct mounts *m = arg;
	char point[128], type[32], options[256];

	if (sscanf(line, "%*s %127s %31s %255s", point, type, options) != 3)
		return false;
	if (!strcmp(type, "cgroup") && strstr(options, "memory"))
		memcpy(m->v1, point, sizeof(point));
	if (!strcmp(type, "cgroup2"))
		memcpy(m->v2, point, sizeof(point));
	return false;
}

struct own_groups {
	char v1[160], v2[160];
};

/* "4:memory:/path" and "0::/path" */
static bool note_group(char *line, void *arg)
{
	struct own_groups *own = arg;
	char *controllers = strchr(line, ':'), *path = controllers ? strchr(controllers + 1, ':') : NULL;

	if (!path)
		return false;
	*path++ = '\0';
	controllers++;
	if (!*controllers)
		snprintf(own->v2, sizeof(own->v2), "%s", strcmp(path, "/") ? path : "");
	else if (strstr(controllers, "memory"))
		snprintf(own->v1, sizeof(own->v1), "%s", strcmp(path, "/") ? path : "");
	return false;
}

static bool is_dir(const char *path)
{
	return access(path, W_OK | X_OK) == 0;
}

/* Does this cgroup of version 2 hand the memory controller on to its children? */
static bool hands_memory_on(const char *path)
{
	char *file = fl_xasprintf("%s/cgroup.subtree_control", path);
	struct fl_text text;
	bool has;

	fl_text_init(&text);
	has = fl_hostfile_read("", file + 1, &text, NULL) == 0 && strstr(text.data, "memory");
	fl_text_fini(&text);
	free(file);
	return has;
}

void fl_live_group_find(const char *root, struct fl_live_group *ret, char why[256])
{
	struct mounts mounts = { 0 };
	struct own_groups own = { 0 };
	char *prefix = fl_hostfile_path(root, "");

	*ret = (struct fl_live_group){ 0 };
	why[0] = '\0';
	prefix[strlen(prefix) - 1] = '\0'; /* its slash: mount points begin with one */
	each_line(root, "proc/self/mounts", note_mount, &mounts);
	each_line(root, "proc/self/cgroup", note_group, &own);
	for (int inside = 1; mounts.v1[0] && !ret->version && inside >= 0; inside--) {
		snprintf(ret->path, sizeof(ret->path), "%.80s%.100s%.70s", prefix, mounts.v1, inside ? own.v1 : "");
		ret->version = is_dir(ret->path) ? 1 : 0;
	}
	for (int inside = 1; mounts.v2[0] && !ret->version && inside >= 0; inside--) {
		snprintf(ret->path, sizeof(ret->path), "%.80s%.100s%.70s", prefix, mounts.v2, inside ? own.v2 : "");
		ret->version = is_dir(ret->path) && hands_memory_on(ret->path) ? 2 : 0;
	}
	free(prefix);
	if (ret->version)
		return;
	ret->path[0] = '\0';
	snprintf(why, 256, "no memory cgroup can be made (%s)", !mounts.v1[0] && !mounts.v2[0] ? "none is mounted" :
		 "the mounted ones may not be written, or do not hand the memory controller on");
}

static bool write_file(const char *folder, const char *name, const char *value)
{
	char *path = fl_xasprintf("%s/%s", folder, name);
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool done = fd >= 0 && write(fd, value, strlen(value)) == (ssize_t)strlen(value);

	if (fd >= 0)
		close(fd);
	free(path);
	return done;
}

void fl_live_group_make(struct fl_live_group *group, const char *name, uint64_t limit, char why[256])
{
	char *path = fl_xasprintf("%s/%s", group->path, name), text[32];

	why[0] = '\0';
	snprintf(text, sizeof(text), "%llu", (unsigned long long)limit);
	if (strlen(path) < sizeof(group->path) && (mkdir(path, 0755) == 0 || errno == EEXIST)) {
		if (write_file(path, group->version == 1 ? "memory.limit_in_bytes" : "memory.max", text)) {
			snprintf(group->path, sizeof(group->path), "%s", path);
			free(path);
			return;
		}
		rmdir(path);
	}
	snprintf(why, 256, "no memory cgroup could be made at %.150s: %.60s", path, strerror(errno));
	*group = (struct fl_live_group){ 0 };
	free(path);
}

bool fl_live_group_join(const struct fl_live_group *group)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", (int)getpid());
	return write_file(group->path, "cgroup.procs", text);
}

void fl_live_group_kill(const char *path)
{
	char *file = fl_xasprintf("%s/cgroup.procs", path);
	struct fl_text text;

	fl_text_init(&text);
	if (fl_hostfile_read("", file + 1, &text, NULL) == 0)
		for (char *rest = text.data, *line; (line = fl_live_next_line(&rest));)
			if (strtol(line, NULL, 10) > 1)
				kill((pid_t)strtol(line, NULL, 10), SIGKILL);
	fl_text_fini(&text);
	free(file);
}
