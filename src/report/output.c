/* report/output.c - output files that appear whole or not at all. */
#include "report/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"

/* Files that are being written: when the program ends in the middle (memory is out), they do not stay behind. */
static char *unfinished[8];
static pid_t unfinished_pid;

static void remove_unfinished(void)
{
	for (size_t i = 0; getpid() == unfinished_pid && i < sizeof(unfinished) / sizeof(unfinished[0]); i++)
		if (unfinished[i])
			unlink(unfinished[i]);
}

/* Replaces one entry by another; NULL is an empty one. More files than places are not remembered. */
static void remember_unfinished(const char *from, char *to)
{
	if (!unfinished_pid)
		atexit(remove_unfinished);
	unfinished_pid = getpid();
	for (size_t i = 0; i < sizeof(unfinished) / sizeof(unfinished[0]); i++) {
		if (unfinished[i] == from) {
			unfinished[i] = to;
			return;
		}
	}
}

static int refuse_open(const char *path, int code, struct fl_error *reterr)
{
	return fl_error_set(reterr, FL_ERROR_INPUT, -code, "%s cannot be written: %s", path, strerror(code));
}

/* A temporary file beside `path`, with the mode that a plain open() would give, or that of the file it replaces. */
static int open_beside(const char *path, const struct stat *old, struct fl_output *ret, struct fl_error *reterr)
{
	char *temporary = fl_xasprintf("%s.XXXXXX", path);
	int fd = mkostemp(temporary, O_CLOEXEC);
	mode_t mask;

	if (fd < 0) {
		int code = errno;

		free(temporary);
		return refuse_open(path, code, reterr);
	}
	remember_unfinished(NULL, temporary);
	mask = umask(0);
	umask(mask);
	/* a file system without modes may refuse: the file is then as mkostemp made it */
	if (fchmod(fd, old ? old->st_mode & 0777 : 0666 & ~mask) < 0)
		errno = 0;
	*ret = (struct fl_output){ fl_xstrdup(path), temporary, fd };
	return 0;
}

/* Renaming over a symbolic link would replace the link: write what it points at. */
static char *resolve(const char *path)
{
	char *real = realpath(path, NULL);

	return real ? real : fl_xstrdup(path);
}

static bool is_same_place(const char *a, const char *b)
{
	struct stat at_a, at_b;

	if (!strcmp(a, b))
		return true;
	return stat(a, &at_a) == 0 && stat(b, &at_b) == 0 && S_ISREG(at_a.st_mode) && at_a.st_dev == at_b.st_dev &&
	       at_a.st_ino == at_b.st_ino;
}

int fl_output_check_apart(const char *const *options, const char *const *paths, size_t count, struct fl_error *reterr)
{
	for (size_t a = 0; a < count; a++)
		for (size_t b = a + 1; b < count; b++)
			if (paths[a] && paths[b] && is_same_place(paths[a], paths[b]))
				return fl_error_input(reterr, "--%s and --%s both go to %s; expected two places", options[a],
						      options[b], strcmp(paths[a], "-") ? paths[a] : "standard output");
	return 0;
}

int fl_output_open(const char *path, struct fl_output *ret, struct fl_error *reterr)
{
	struct stat st;
	bool exists;
	char *real;
	int r, fd;

	if (!strcmp(path, "-")) {
		*ret = (struct fl_output){ fl_xstrdup("standard output"), NULL, STDOUT_FILENO };
		return 0;
	}
	if (!path[0])
		return refuse_open("\"\"", ENOENT, reterr);
	exists = stat(path, &st) == 0;
	if (exists && !S_ISREG(st.st_mode)) {
		fd = open(path, O_WRONLY | O_CLOEXEC);
		if (fd < 0)
			return refuse_open(path, errno, reterr);
		*ret = (struct fl_output){ fl_xstrdup(path), NULL, fd };
		return 0;
	}
	if (exists && access(path, W_OK) < 0)
		return refuse_open(path, errno, reterr);
	real = resolve(path);
	r = open_beside(real, exists ? &st : NULL, ret, reterr);
	free(real);
	return r;
}

int fl_output_write(int fd, const char *what, const char *bytes, size_t length, struct fl_error *reterr)
{
	while (length) {
		ssize_t n = write(fd, bytes, length);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return fl_error_set(reterr, FL_ERROR_FAILED, -errno, "writing to %s failed: %s", what,
					    strerror(errno));
		bytes += n;
		length -= (size_t)n;
	}
	return 0;
}

static void forget(struct fl_output *output)
{
	if (output->temporary)
		remember_unfinished(output->temporary, NULL);
	free(output->path);
	free(output->temporary);
	*output = (struct fl_output){ NULL, NULL, -1 };
}

/* close() may be the first to tell of a full disk (NFS, quotas); fsync() asks for it. */
static int close_and_rename(struct fl_output *output)
{
	if (output->temporary && fsync(output->fd) < 0 && errno != EINVAL && errno != EROFS)
		return -errno;
	if (output->fd != STDOUT_FILENO) {
		int r = close(output->fd);

		output->fd = -1;
		if (r < 0)
			return -errno;
	}
	if (output->temporary && rename(output->temporary, output->path) < 0)
		return -errno;
	return 0;
}

int fl_output_close(struct fl_output *output, struct fl_error *reterr)
{
	int r = close_and_rename(output);

	if (r < 0) {
		fl_error_set(reterr, FL_ERROR_FAILED, r, "writing to %s failed: %s", output->path, strerror(-r));
		fl_output_drop(output);
		return r;
	}
	forget(output);
	return 0;
}

int fl_output_commit(struct fl_output *output, const char *bytes, size_t length, struct fl_error *reterr)
{
	int r = fl_output_write(output->fd, output->path, bytes, length, reterr);

	if (r < 0) {
		fl_output_drop(output);
		return r;
	}
	return fl_output_close(output, reterr);
}

void fl_output_drop(struct fl_output *output)
{
	if (output->fd >= 0 && output->fd != STDOUT_FILENO && output->path)
		close(output->fd);
	if (output->temporary)
		unlink(output->temporary);
	forget(output);
}
