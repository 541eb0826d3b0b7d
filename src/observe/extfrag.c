/* observe/extfrag.c - reading extfrag events as text from the pipe of a trace instance. */
#include "observe/extfrag.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"

#define BUFFER_KB "1024" /* per CPU: some 15 000 events between two looks */

const char *fl_extfrag_type_name(unsigned int type)
{
	static const char *const names[] = {"Unmovable", "Movable", "Reclaimable", "HighAtomic"};

	return type < sizeof(names) / sizeof(names[0]) ? names[type] : "other";
}

static bool field(const char *line, const char *name, unsigned int *ret)
{
	const char *at = strstr(line, name);

	return at && sscanf(at + strlen(name), "%u", ret) == 1;
}

bool fl_extfrag_parse_line(const char *line, struct fl_extfrag_counts *counts)
{
	unsigned int wanted, taken, changed, fragmenting = 1;
	uint64_t lost;
	const char *at = strstr(line, "[LOST ");

	if (at && sscanf(at, "[LOST %" SCNu64 " EVENTS]", &lost) == 1) {
		counts->lost += lost;
		return true;
	}
	if (!strstr(line, "mm_page_alloc_extfrag:") || !field(line, "alloc_migratetype=", &wanted) ||
	    !field(line, "fallback_migratetype=", &taken) || !field(line, "change_ownership=", &changed))
		return false;
	wanted = wanted < FL_EXTFRAG_TYPES ? wanted : FL_EXTFRAG_TYPES - 1;
	taken = taken < FL_EXTFRAG_TYPES ? taken : FL_EXTFRAG_TYPES - 1;
	field(line, "fragmenting=", &fragmenting);
	if (changed)
		counts->claimed[wanted][taken]++;
	else
		counts->stolen[wanted][taken]++;
	counts->whole_blocks += changed && !fragmenting;
	return true;
}

static int write_file(const char *folder, const char *name, const char *value)
{
	char *path = fl_xasprintf("%s/%s", folder, name);
	int fd = open(path, O_WRONLY | O_CLOEXEC), code = 0;

	free(path);
	if (fd < 0)
		return -errno;
	if (write(fd, value, strlen(value)) < 0)
		code = -errno;
	close(fd);
	return code;
}

static int open_pipe(struct fl_extfrag_reader *reader)
{
	char *path = fl_xasprintf("%s/trace_pipe", reader->instance);

	reader->pipe_fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	free(path);
	return reader->pipe_fd < 0 ? -errno : 0;
}

/*
 * Instances of watches that were killed keep their event on, which costs every allocation. The kernel refuses to remove
 * one that somebody still reads, so a process of another namespace, whose number we cannot see, keeps its own.
 */
static void remove_abandoned(const char *tracefs)
{
	char *folder = fl_xasprintf("%s/instances", tracefs);
	DIR *dir = opendir(folder);
	struct dirent *entry;
	int pid;

	while (dir && (entry = readdir(dir))) {
		char *path;

		if (sscanf(entry->d_name, "fraglab-%d", &pid) != 1 || pid <= 0 || kill(pid, 0) == 0 || errno != ESRCH)
			continue;
		path = fl_xasprintf("%s/%s", folder, entry->d_name);
		rmdir(path);
		free(path);
	}
	if (dir)
		closedir(dir);
	free(folder);
}

int fl_extfrag_open(const char *tracefs, struct fl_extfrag_reader *ret, struct fl_error *reterr)
{
	struct fl_extfrag_reader reader = {.pipe_fd = -1};
	int code;

	reader.instance = fl_xasprintf("%s/instances/fraglab-%d", tracefs, (int)getpid());
	if (mkdir(reader.instance, 0700) < 0) {
		code = -errno;
		free(reader.instance);
		if (code == -ENOENT)
			return fl_error_set(reterr, FL_ERROR_LACKING, code, "no tracefs at %s: "
					    "mount -t tracefs none /sys/kernel/tracing", tracefs);
		return fl_error_set(reterr, FL_ERROR_LACKING, code, "no trace instance could be made in %s: %s", tracefs,
				    code == -EACCES || code == -EPERM ? "run this as root" : strerror(-code));
	}
	remove_abandoned(tracefs);
	write_file(reader.instance, "buffer_size_kb", BUFFER_KB); /* the kernel's own size does too */
	code = open_pipe(&reader);
	if (code == 0)
		code = write_file(reader.instance, "events/kmem/mm_page_alloc_extfrag/enable", "1");
	if (code < 0) {
		fl_extfrag_close(&reader);
		return fl_error_set(reterr, FL_ERROR_LACKING, code,
				    "the event kmem:mm_page_alloc_extfrag could not be switched on in %s: %s", tracefs,
				    strerror(-code));
	}
	*ret = reader;
	return 0;
}

static void take_bytes(struct fl_extfrag_reader *reader, const char *bytes, size_t length,
		       struct fl_extfrag_counts *counts)
{
	for (size_t i = 0; i < length; i++) {
		if (bytes[i] == '\n') {
			reader->line[reader->line_length] = '\0';
			fl_extfrag_parse_line(reader->line, counts);
			reader->line_length = 0;
		} else if (reader->line_length < sizeof(reader->line) - 1) {
			reader->line[reader->line_length++] = bytes[i];
		}
	}
}

void fl_extfrag_drain(struct fl_extfrag_reader *reader, struct fl_extfrag_counts *counts)
{
	char buffer[8192];
	ssize_t n;

	if (!reader->instance)
		return;
	/* A kernel that makes events faster than we read them must not hold us here for ever. */
	for (int i = 0; i < 100000; i++) {
		n = read(reader->pipe_fd, buffer, sizeof(buffer));
		if (n <= 0)
			return;
		take_bytes(reader, buffer, (size_t)n, counts);
	}
}

void fl_extfrag_close(struct fl_extfrag_reader *reader)
{
	if (!reader->instance)
		return;
	write_file(reader->instance, "events/kmem/mm_page_alloc_extfrag/enable", "0");
	if (reader->pipe_fd >= 0)
		close(reader->pipe_fd);
	rmdir(reader->instance);
	free(reader->instance);
	reader->instance = NULL;
	reader->pipe_fd = -1;
}
