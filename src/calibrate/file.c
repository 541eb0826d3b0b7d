/*
 * calibrate/file.c - the page cache: adding, finding and reading pages, mapping them, taking them back; opening files.
 *
 * Files of memory (memfd) where the disk does not matter, an unlinked file of the given folder where it does.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "calibrate/bench.h"

#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT 21 /* since Linux 5.4 */
#endif

#define SPAN (16u << 20)
#define PAGES (SPAN / FL_CAL_PAGE)

static int memory_file(struct fl_cal_bench *b)
{
	int fd = memfd_create("fraglab-calibrate", MFD_CLOEXEC);

	if (fd < 0)
		fl_cal_cannot(b, "memfd_create: %s", strerror(errno));
	return fd;
}

/* All pages of a new file, in large writes; true if all went well. */
static bool fill(struct fl_cal_bench *b, int fd)
{
	for (off_t at = 0; at < (off_t)SPAN; at += 1 << 20)
		if (pwrite(fd, b->base, 1 << 20, at) != 1 << 20)
			return fl_cal_cannot(b, "write: %s", strerror(errno));
	return true;
}

static bool measure_add(struct fl_cal_bench *b, double *ret_ns)
{
	int fd = memory_file(b);
	double start;
	bool done;

	if (fd < 0)
		return false;
	start = fl_cal_now();
	done = fill(b, fd);
	*ret_ns = (fl_cal_now() - start) / PAGES;
	close(fd);
	return done;
}

static bool measure_lookup(struct fl_cal_bench *b, double *ret_ns)
{
	static char buffer[FL_CAL_PAGE];
	int fd = memory_file(b);
	double start;
	bool done = fd >= 0 && fill(b, fd);

	start = fl_cal_now();
	for (int i = 0; done && i < 10000; i++)
		done = pread(fd, buffer, FL_CAL_PAGE, (off_t)fl_cal_random(b, PAGES) * FL_CAL_PAGE) == FL_CAL_PAGE ||
		       fl_cal_cannot(b, "read: %s", strerror(errno));
	*ret_ns = (fl_cal_now() - start) / 10000;
	if (fd >= 0)
		close(fd);
	return done;
}

static unsigned int read_mapped(const char *area)
{
	unsigned int sum = 0;

	for (size_t at = 0; at < SPAN; at += FL_CAL_PAGE)
		sum += (unsigned char)((const volatile char *)area)[at];
	return sum;
}

/* ns of a page when all cached pages of a file are read through a mapping; MADV_RANDOM: each with a fault of its own. */
static bool mapped_ns(struct fl_cal_bench *b, int fd, int advice, double *ret_ns)
{
	char *area = mmap(NULL, SPAN, PROT_READ, MAP_SHARED, fd, 0);
	double start;

	if (area == MAP_FAILED)
		return fl_cal_cannot(b, "a file cannot be mapped: %s", strerror(errno));
	madvise(area, SPAN, advice);
	start = fl_cal_now();
	read_mapped(area);
	*ret_ns = (fl_cal_now() - start) / PAGES;
	munmap(area, SPAN);
	return true;
}

/* 16 pages at a fault against one: a fault of 16 less one of 1 is 15 pages more. */
static bool measure_around(struct fl_cal_bench *b, double *ret_ns)
{
	int fd = memory_file(b);
	double alone, together;
	bool done = fd >= 0 && fill(b, fd) && mapped_ns(b, fd, MADV_RANDOM, &alone) &&
		    mapped_ns(b, fd, MADV_NORMAL, &together);

	if (fd >= 0)
		close(fd);
	if (!done)
		return false;
	*ret_ns = (16 * together - alone) / 15;
	return true;
}

/* A file on the disk, unlinked, with its pages in the cache and written back. -1 with why_not. */
static int disk_file(struct fl_cal_bench *b)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/fraglab-calibrate-XXXXXX", b->folder);
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0) {
		fl_cal_cannot(b, "no file can be made in %s: %s", b->folder, strerror(errno));
		return -1;
	}
	unlink(path);
	if (fill(b, fd) && fsync(fd) == 0)
		return fd;
	close(fd);
	return -1;
}

/* Clean pages of a file, single ones (read at random without readahead), mapped once: MADV_PAGEOUT takes them back. */
static bool measure_reclaim(struct fl_cal_bench *b, double *ret_ns)
{
	static unsigned char there[PAGES];
	int fd = disk_file(b);
	unsigned int left = 0;
	char *area, byte;
	double start;

	if (fd < 0)
		return false;
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	for (off_t at = 0; at < (off_t)SPAN; at += FL_CAL_PAGE)
		if (pread(fd, &byte, 1, at) != 1)
			left++;
	area = mmap(NULL, SPAN, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	if (area == MAP_FAILED || left)
		return fl_cal_cannot(b, "a file cannot be read and mapped");
	read_mapped(area);
	start = fl_cal_now();
	if (madvise(area, SPAN, MADV_PAGEOUT))
		fl_cal_cannot(b, "MADV_PAGEOUT: %s", strerror(errno));
	*ret_ns = (fl_cal_now() - start) / PAGES;
	mincore(area, SPAN, there);
	for (size_t i = 0; i < PAGES; i++)
		left += there[i] & 1;
	munmap(area, SPAN);
	return left < PAGES / 20 ? true : fl_cal_cannot(b, "MADV_PAGEOUT left %u of %u pages where they were", left, PAGES);
}

static bool measure_open(struct fl_cal_bench *b, double *ret_ns)
{
	char path[4096];
	double start;
	int fd;

	snprintf(path, sizeof(path), "%s/fraglab-calibrate-XXXXXX", b->folder);
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		return fl_cal_cannot(b, "no file can be made in %s: %s", b->folder, strerror(errno));
	close(fd);
	start = fl_cal_now();
	for (int i = 0; i < 2000; i++)
		close(open(path, O_RDONLY | O_CLOEXEC));
	*ret_ns = (fl_cal_now() - start) / 2000;
	unlink(path);
	return true;
}

const struct fl_cal_measurement fl_cal_file[] = {
	{ "tmpfs_write", "a new page of a tmpfs file, written; with the file system's part", "page_cache_add", measure_add,
	  { { 1, "copy_4k" }, { 1, "alloc_pcp" }, { 1, "lru_add" } } },
	{ "cached_read", "pread of a random page that is cached", "page_cache_lookup", measure_lookup,
	  { { 1, "syscall" }, { 1, "read_copy_4k" } } },
	{ "fault_around", "mapping cached pages: a fault with 16 less one with 1, by 15", "fault_around_page", measure_around, { { 0 } } },
	{ "file_pageout", "MADV_PAGEOUT of clean mapped pages of a file, one of them", "reclaim_folio", measure_reclaim,
	  { { 1, "scan_lru_folio" }, { 1, "unmap" }, { 1, "rmap" }, { 1, "free" }, { 1, "pte_scan" } } },
	{ "open_close", "open and close of a file", "file_open", measure_open, { { 2, "syscall" } } },
	{ 0 },
};
