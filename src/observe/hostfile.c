/* observe/hostfile.c - opening and reading files under a root path. */
#include "observe/hostfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SIZE_MAX_BYTES (64u << 20)

char *fl_hostfile_path(const char *root, const char *name)
{
	if (!root || !*root || strcmp(root, "/") == 0)
		return fl_xasprintf("/%s", name);
	return fl_xasprintf("%s/%s", root, name);
}

int fl_hostfile_open(const char *root, const char *name, struct fl_error *reterr)
{
	char *path = fl_hostfile_path(root, name);
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC), code = -errno;
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && !S_ISREG(st.st_mode)) { /* a pipe would keep us waiting for ever */
		close(fd);
		code = S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
		fl_error_set(reterr, FL_ERROR_LACKING, code, "%s cannot be read: it is no plain file", path);
	} else if (fd >= 0)
		code = fd;
	else if (code == -EACCES || code == -EPERM)
		fl_error_set(reterr, FL_ERROR_LACKING, code, "%s may not be read: run this as root", path);
	else
		fl_error_set(reterr, FL_ERROR_LACKING, code, "%s cannot be opened: %s", path, strerror(-code));
	free(path);
	return code;
}

static int read_all(int fd, struct fl_text *to)
{
	char buffer[16384];

	for (size_t total = 0; total <= SIZE_MAX_BYTES;) {
		ssize_t n = read(fd, buffer, sizeof(buffer));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : 0;
		fl_text_add_bytes(to, buffer, (size_t)n);
		total += (size_t)n;
	}
	return -EFBIG;
}

int fl_hostfile_read(const char *root, const char *name, struct fl_text *to, struct fl_error *reterr)
{
	size_t length = to->length;
	int fd = fl_hostfile_open(root, name, reterr), code;

	if (fd < 0)
		return fd;
	code = read_all(fd, to);
	close(fd);
	if (code == 0)
		return 0;
	to->length = length;
	to->data[length] = '\0';
	return fl_error_set(reterr, FL_ERROR_FAILED, code, "reading %s failed: %s", name, strerror(-code));
}

uint64_t fl_hostfile_number(const char *root, const char *name, uint64_t missing)
{
	struct fl_text text;
	uint64_t value = missing;
	char *end;

	fl_text_init(&text);
	if (fl_hostfile_read(root, name, &text, NULL) == 0) {
		value = strtoull(text.data, &end, 10);
		if (end == text.data)
			value = missing;
	}
	fl_text_fini(&text);
	return value;
}
