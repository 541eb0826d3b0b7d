/*
 * live/place.c - where files of scenarios are made: a private folder on a disk, a private tmpfs; and the disk itself.
 *
 * As root the conductor has a mount namespace of its own, so its tmpfs goes with the last process of the run; else /dev/shm is
 * used, if it is a tmpfs, and the guardian removes the folder there.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/text.h"
#include "live/conduct.h"

static const struct {
	long magic;
	const char *name;
} kinds[] = { { 0xEF53, "ext4" }, { 0x58465342, "xfs" }, { 0x9123683E, "btrfs" }, { 0xF2F52010, "f2fs" } };

/* The name of a file system that keeps its files on a disk; NULL for others. */
static const char *disk_kind(const char *folder)
{
	struct statfs fs;

	if (statfs(folder, &fs) < 0 || access(folder, W_OK | X_OK) < 0)
		return NULL;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (fs.f_type == kinds[i].magic)
			return kinds[i].name;
	return NULL;
}

bool fl_live_disk_find(char folder[64], char type[16])
{
	static const char *const places[] = { "/var/tmp", "/tmp", "/var/lib", "/home", "/" };

	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		const char *kind = disk_kind(places[i]);

		if (!kind)
			continue;
		snprintf(folder, 64, "%s", places[i]);
		snprintf(type, 16, "%s", kind);
		return true;
	}
	return false;
}

bool fl_live_device_find(const char *path, char device[64])
{
	struct stat status;
	char link[64], target[PATH_MAX];
	const char *name;
	int fd;

	device[0] = '\0';
	if (stat(path, &status) < 0)
		return false;
	snprintf(link, sizeof(link), "/sys/dev/block/%u:%u", major(status.st_dev), minor(status.st_dev));
	if (!realpath(link, target) || !(name = strrchr(target, '/')))
		return false;
	snprintf(device, 64, "/dev/%.50s", name + 1);
	fd = open(device, O_RDONLY | O_CLOEXEC); /* access() knows nothing of the devices cgroup */
	if (fd < 0)
		device[0] = '\0';
	else
		close(fd);
	return fd >= 0;
}

static int make_folder(struct fl_backend *vm, const char *parent, const char *suffix, char to[96], struct fl_error *reterr)
{
	int error;

	snprintf(to, 96, "%s/" FL_LIVE_NAME "%d%s", strcmp(parent, "/") ? parent : "", (int)getpid(), suffix);
	error = fl_live_guardian_note(&vm->guardian, FL_LIVE_NOTE_FOLDER, to, "", reterr);
	if (!error && mkdir(to, 0700) < 0 && errno != EEXIST)
		error = fl_error_set(reterr, FL_ERROR_FAILED, -errno, "the folder %s cannot be made: %s", to, strerror(errno));
	if (error)
		to[0] = '\0';
	return error;
}

/* Where a tmpfs of our own may be mounted: a small guest has few folders. */
static const char *mount_place(void)
{
	static const char *const places[] = { "/tmp", "/run", "/var/tmp" };

	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++)
		if (access(places[i], W_OK | X_OK) == 0)
			return places[i];
	return "/";
}

static int make_tmpfs(struct fl_backend *vm, struct fl_error *reterr)
{
	struct statfs fs;
	int error = make_folder(vm, vm->has_namespace ? mount_place() : "/dev/shm", "-tmpfs", vm->tmpfs, reterr);

	if (error)
		return error;
	if (vm->has_namespace && mount("fraglab", vm->tmpfs, "tmpfs", MS_NOSUID | MS_NODEV, "nr_inodes=0") == 0)
		return 0;
	if (statfs(vm->tmpfs, &fs) == 0 && fs.f_type == 0x01021994 /* TMPFS_MAGIC */)
		return 0;
	return fl_error_set(reterr, FL_ERROR_LACKING, -ENODEV, "no tmpfs can be had on this host: root may mount one, others need one "
			    "at /dev/shm");
}

int fl_live_place_make(struct fl_backend *vm, bool is_tmpfs, struct fl_error *reterr)
{
	char folder[64], type[16];

	if (is_tmpfs)
		return vm->tmpfs[0] ? 0 : make_tmpfs(vm, reterr);
	if (vm->folder[0])
		return 0;
	if (!fl_live_disk_find(folder, type))
		return fl_error_set(reterr, FL_ERROR_LACKING, -ENODEV, "no folder on a disk may be written on this host (/var/tmp, /tmp, "
				    "/var/lib, /home)");
	return make_folder(vm, folder, "", vm->folder, reterr);
}
