/*
 * live/agent_files.c - verbs of files, devices and channels with real system calls.
 *
 * A set of files is a folder with files 0, 1, 2, ... Channels are descriptors of this process, so only it can close them.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/rng.h"
#include "base/text.h"
#include "live/wire.h"

#define STEP (UINT64_C(1) << 20) /* of one read() or write(), as dd bs=1M */

static void file_name(const struct fl_live_order *o, uint64_t number, char name[224])
{
	snprintf(name, 224, "%s/%llu", o->path, (unsigned long long)number);
}

/* ---- files ---- */

static bool write_range(int fd, uint64_t offset, uint64_t length, const char *buffer)
{
	while (length) {
		size_t part = length < STEP ? (size_t)length : STEP;
		ssize_t n = pwrite(fd, buffer, part, (off_t)offset);

		if (n <= 0)
			return false;
		offset += (uint64_t)n;
		length -= (uint64_t)n;
	}
	return true;
}

static uint64_t read_range(int fd, uint64_t offset, uint64_t length, char *buffer)
{
	uint64_t done = 0;

	while (done < length) {
		size_t part = length - done < STEP ? (size_t)(length - done) : STEP;
		ssize_t n = pread(fd, buffer, part, (off_t)(offset + done));

		if (n <= 0)
			break;
		done += (uint64_t)n;
	}
	return done;
}

/* Makes one file with its contents; on a disk these are written out and dropped from the cache. */
static bool create_file(const struct fl_live_order *o, uint64_t number, const char *buffer)
{
	char name[224];
	int fd;
	bool done;

	file_name(o, number, name);
	fd = open(name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
	if (fd < 0)
		return false;
	done = write_range(fd, 0, o->size, buffer);
	if (done && o->size && !(o->flags & FL_OP_TMPFS)) {
		fdatasync(fd);
		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	}
	close(fd);
	if (!done)
		unlink(name);
	return done;
}

/* Files that could be made. */
static int64_t create_files(const struct fl_live_order *o)
{
	char *buffer = fl_xcalloc(1, STEP);
	uint64_t n = 0;
	int code = 0;

	if (mkdir(o->path, 0700) < 0)
		code = errno;
	while (!code && n < o->count) {
		if (create_file(o, n, buffer))
			n++;
		else
			code = errno ? errno : EIO;
	}
	free(buffer);
	return n ? (int64_t)n : -(int64_t)code;
}

/* Tries to open names that are not there. */
static int64_t look_up(const struct fl_live_order *o)
{
	char name[64];

	for (uint64_t i = 0; i < o->count; i++) {
		int fd;

		snprintf(name, sizeof(name), "/fraglab-absent/%lu.h", (unsigned long)(i % 1000));
		fd = open(name, O_RDONLY | O_CLOEXEC);
		if (fd >= 0)
			close(fd);
	}
	return (int64_t)o->count;
}

static int64_t delete_files(const struct fl_live_order *o)
{
	char name[224];

	for (uint64_t i = 0; i < o->count; i++) {
		file_name(o, i, name);
		unlink(name);
	}
	rmdir(o->path);
	return (int64_t)o->count;
}

static void use_part(const struct fl_live_order *o, int fd, uint64_t offset, uint64_t length, char *buffer)
{
	if (o->verb == FL_VERB_READ_FILES)
		read_range(fd, offset, length, buffer);
	else
		write_range(fd, offset, length, buffer);
}

/* One page (`stride` of the order) a system call, in random order, without readahead. */
static void use_pages_at_random(const struct fl_live_order *o, int fd, char *buffer, struct fl_rng *rng)
{
	uint32_t pages = (uint32_t)((o->length + o->stride - 1) / o->stride);
	uint32_t *order = fl_xmalloc((pages ? pages : 1) * sizeof(*order));

	posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	fl_rng_order(rng, order, pages);
	for (uint32_t i = 0; i < pages; i++) {
		uint64_t at = order[i] * o->stride, left = o->length - at;

		use_part(o, fd, o->offset + at, left < o->stride ? left : o->stride, buffer);
	}
	free(order);
}

/* Each file of the set, or `size` files drawn from it. */
static int64_t use_files(const struct fl_live_order *o)
{
	char *buffer = fl_xcalloc(1, STEP), name[224];
	uint64_t uses = o->size ? o->size : o->count;
	int64_t opened = 0;
	struct fl_rng rng;

	fl_rng_init(&rng, o->draw, "files", 0);
	for (uint64_t i = 0; i < uses; i++) {
		int fd;

		file_name(o, o->size ? fl_rng_below(&rng, o->count) : i, name);
		fd = open(name, (o->verb == FL_VERB_READ_FILES ? O_RDONLY : O_WRONLY) | O_CLOEXEC);
		if (fd < 0)
			continue;
		opened++;
		if (o->flags & FL_OP_RANDOM)
			use_pages_at_random(o, fd, buffer, &rng);
		else
			use_part(o, fd, o->offset, o->length, buffer);
		close(fd);
	}
	free(buffer);
	return opened;
}

/* Descriptors that open_files() keeps, each with the folder of its set. */
static struct {
	pthread_mutex_t lock;
	struct {
		char path[192];
		int fd;
	} *file;
	size_t count, room;
} held = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void hold(const char *path, int fd)
{
	if (held.count == held.room) {
		held.room = held.room ? 2 * held.room : 64;
		held.file = fl_xrealloc(held.file, held.room * sizeof(*held.file));
	}
	snprintf(held.file[held.count].path, sizeof(held.file->path), "%s", path);
	held.file[held.count++].fd = fd;
}

/* As many as the limit of descriptors allows, which is raised as far as may be. */
static int64_t open_files(const struct fl_live_order *o)
{
	struct rlimit limit;
	char name[224];
	int64_t opened = 0;

	pthread_mutex_lock(&held.lock);
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
	for (uint64_t i = 0; i < o->count; i++) {
		int fd;

		file_name(o, i, name);
		fd = open(name, O_RDWR | O_CLOEXEC);
		if (fd < 0)
			break;
		hold(o->path, fd);
		opened++;
	}
	pthread_mutex_unlock(&held.lock);
	return opened;
}

static int64_t close_files(const struct fl_live_order *o)
{
	int64_t closed = 0;
	size_t kept = 0;

	pthread_mutex_lock(&held.lock);
	for (size_t i = 0; i < held.count; i++) {
		if (strcmp(held.file[i].path, o->path)) {
			held.file[kept++] = held.file[i];
			continue;
		}
		close(held.file[i].fd);
		closed++;
	}
	held.count = kept;
	pthread_mutex_unlock(&held.lock);
	return closed;
}

/* A file stands in for the device (FL_OP_FILE): as long as it is asked for, and without blocks on the disk. */
static int open_device(const struct fl_live_order *o)
{
	bool is_file = o->flags & FL_OP_FILE;
	int fd = open(o->path, (is_file ? O_RDWR | O_CREAT : O_RDONLY) | O_CLOEXEC, 0600);
	off_t end = (off_t)(o->offset + o->length);

	if (fd >= 0 && is_file && lseek(fd, 0, SEEK_END) < end && ftruncate(fd, end) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

static int64_t read_device(const struct fl_live_order *o)
{
	int fd = open_device(o), code = errno;
	char *buffer;
	uint64_t done;

	if (fd < 0)
		return -code;
	if (o->is_first)
		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	buffer = fl_xmalloc(STEP);
	done = read_range(fd, o->offset, o->length, buffer);
	free(buffer);
	close(fd);
	return (int64_t)done;
}

/* ---- channels ---- */

struct channels {
	int (*fds)[2];
	uint32_t count;
};

static struct {
	pthread_mutex_t lock;
	struct channels *sets;
	uint32_t count;
} all = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* Puts `size` bytes in, in messages of `stride`; what does not fit is left out. */
static void fill(int fd, const struct fl_live_order *o, const char *bytes)
{
	uint64_t message = o->stride ? o->stride : o->size;

	for (uint64_t left = o->size; left;) {
		size_t part = left < message ? (size_t)left : (size_t)message;
		ssize_t n = write(fd, bytes, part);

		if (n <= 0)
			break;
		left -= (uint64_t)n;
	}
}

static bool make_channel(const struct fl_live_order *o, const char *bytes, int fds[2])
{
	int end;

	if (o->verb == FL_VERB_PIPES ? pipe2(fds, O_CLOEXEC | O_NONBLOCK) :
				       socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds))
		return false;
	if (o->verb == FL_VERB_PIPES && o->size > 65536)
		fcntl(fds[1], F_SETPIPE_SZ, (int)o->size);
	end = fds[1];
	if (o->size)
		fill(end, o, bytes);
	return true;
}

static int64_t add_set(const struct channels *set)
{
	int64_t number;

	pthread_mutex_lock(&all.lock);
	all.sets = fl_xrealloc(all.sets, (all.count + 1) * sizeof(*all.sets));
	all.sets[all.count] = *set;
	number = all.count++;
	pthread_mutex_unlock(&all.lock);
	return number;
}

static int64_t make_channels(const struct fl_live_order *o)
{
	struct channels set = { .fds = fl_xmalloc(o->count * sizeof(*set.fds)) };
	char *bytes = fl_xcalloc(1, o->size ? o->size : 1);
	int code = 0;

	while (set.count < o->count && !code) {
		if (make_channel(o, bytes, set.fds[set.count]))
			set.count++;
		else
			code = errno;
	}
	free(bytes);
	if (set.count)
		return add_set(&set);
	free(set.fds);
	return -code;
}

static void draw_to_front(struct channels *set, uint32_t count, uint64_t draw)
{
	uint32_t *order = fl_rng_shuffled(set->count, count, draw);
	int (*drawn)[2] = fl_xmalloc(set->count * sizeof(*drawn));

	for (uint32_t i = 0; i < set->count; i++)
		memcpy(drawn[i], set->fds[order[i]], sizeof(*drawn));
	memcpy(set->fds, drawn, set->count * sizeof(*drawn));
	free(drawn);
	free(order);
}

static int64_t close_channels(const struct fl_live_order *o)
{
	struct channels *set;
	uint32_t count;

	pthread_mutex_lock(&all.lock);
	set = &all.sets[o->channels];
	count = o->count && o->count < set->count ? (uint32_t)o->count : set->count;
	if (o->flags & FL_OP_RANDOM && set->count)
		draw_to_front(set, count, o->draw);
	for (uint32_t i = 0; i < count; i++) {
		close(set->fds[i][0]);
		close(set->fds[i][1]);
	}
	set->count -= count;
	memmove(set->fds, set->fds + count, set->count * sizeof(*set->fds));
	pthread_mutex_unlock(&all.lock);
	return count;
}

void fl_live_agent_files(const struct fl_live_order *o, struct fl_live_answer *answer)
{
	switch (o->verb) {
	case FL_VERB_CREATE_FILES:
		answer->value = create_files(o);
		break;
	case FL_VERB_DELETE_FILES:
		answer->value = delete_files(o);
		break;
	case FL_VERB_READ_FILES:
	case FL_VERB_WRITE_FILES:
		answer->value = use_files(o);
		break;
	case FL_VERB_OPEN_FILES:
		answer->value = open_files(o);
		break;
	case FL_VERB_CLOSE_FILES:
		answer->value = close_files(o);
		break;
	case FL_VERB_LOOK_UP:
		answer->value = look_up(o);
		break;
	case FL_VERB_READ_DEVICE:
		answer->value = read_device(o);
		break;
	case FL_VERB_PIPES:
	case FL_VERB_SOCKETS:
		answer->value = make_channels(o);
		break;
	case FL_VERB_CLOSE:
		answer->value = close_channels(o);
		break;
	default:
		fl_live_refuse(answer, "a live kernel does not have this");
	}
}
