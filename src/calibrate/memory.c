/*
 * calibrate/memory.c - contents of memory, page faults, advice, huge pages, and what a TLB miss takes.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "calibrate/bench.h"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 /* since Linux 6.1 */
#endif
#ifndef MADV_FREE
#define MADV_FREE 8
#endif

#define SPAN (16u << 20) /* bytes that one repetition of a fault measurement takes */

/* ---- contents ---- */

static char *random_page(struct fl_cal_bench *b, char *area)
{
	return area + (size_t)fl_cal_random(b, (uint32_t)(b->bytes / FL_CAL_PAGE)) * FL_CAL_PAGE;
}

static bool measure_zero(struct fl_cal_bench *b, double *ret_ns)
{
	double start = fl_cal_now();

	for (int i = 0; i < 20000; i++)
		memset(random_page(b, b->base), 0, FL_CAL_PAGE);
	*ret_ns = (fl_cal_now() - start) / 20000;
	return true;
}

static bool measure_copy(struct fl_cal_bench *b, double *ret_ns)
{
	char *other = b->huge ? b->huge : b->base;
	double start = fl_cal_now();

	for (int i = 0; i < 20000; i++)
		memmove(random_page(b, b->base), random_page(b, other), FL_CAL_PAGE);
	*ret_ns = (fl_cal_now() - start) / 20000;
	return true;
}

static bool measure_read(struct fl_cal_bench *b, double *ret_ns)
{
	static char buffer[FL_CAL_PAGE];
	double start = fl_cal_now();

	for (int i = 0; i < 20000; i++) {
		memcpy(buffer, random_page(b, b->base), FL_CAL_PAGE);
		__asm__ volatile("" : : "r"(buffer) : "memory");
	}
	*ret_ns = (fl_cal_now() - start) / 20000;
	return true;
}

/* ---- faults ---- */

static void touch(char *area, size_t bytes, size_t stride)
{
	for (size_t at = 0; at < bytes; at += stride)
		((volatile char *)area)[at] = 1;
}

static unsigned int read_all(char *area, size_t bytes, size_t stride)
{
	unsigned int sum = 0;

	for (size_t at = 0; at < bytes; at += stride)
		sum += (unsigned char)((volatile char *)area)[at];
	return sum;
}

static bool measure_fault(struct fl_cal_bench *b, double *ret_ns)
{
	double start;

	touch(b->base, SPAN, FL_CAL_PAGE);
	madvise(b->base, SPAN, MADV_DONTNEED);
	start = fl_cal_now();
	touch(b->base, SPAN, FL_CAL_PAGE);
	*ret_ns = (fl_cal_now() - start) / (SPAN / FL_CAL_PAGE);
	return true;
}

static bool measure_zap(struct fl_cal_bench *b, double *ret_ns)
{
	double start;

	touch(b->base, SPAN, FL_CAL_PAGE);
	start = fl_cal_now();
	madvise(b->base, SPAN, MADV_DONTNEED);
	*ret_ns = (fl_cal_now() - start) / (SPAN / FL_CAL_PAGE);
	touch(b->base, SPAN, FL_CAL_PAGE);
	return true;
}

/* A read of memory that was never written maps the zero page. */
static bool measure_zero_page(struct fl_cal_bench *b, double *ret_ns)
{
	double start;

	madvise(b->base, SPAN, MADV_DONTNEED);
	start = fl_cal_now();
	read_all(b->base, SPAN, FL_CAL_PAGE);
	*ret_ns = (fl_cal_now() - start) / (SPAN / FL_CAL_PAGE);
	touch(b->base, SPAN, FL_CAL_PAGE);
	return true;
}

/* One page in 2 MiB, each with a page table of its own. */
static bool measure_sparse(struct fl_cal_bench *b, double *ret_ns)
{
	const size_t tables = 2048;
	char *area = fl_cal_map(b, tables * FL_CAL_HUGE);
	double start;

	if (!area)
		return false;
	start = fl_cal_now();
	touch(area, tables * FL_CAL_HUGE, FL_CAL_HUGE);
	*ret_ns = (fl_cal_now() - start) / (double)tables;
	fl_cal_unmap(area, tables * FL_CAL_HUGE);
	return true;
}

static bool no_huge(struct fl_cal_bench *b)
{
	return fl_cal_cannot(b, "there are no huge pages by advice here (transparent_hugepage/enabled is never?)");
}

/* Is this range one huge page? A second look at smaps would cost more than it tells: a fault would have been slower. */
static size_t huge_kb(char *area)
{
	char line[256], start[40];
	FILE *file = fopen("/proc/self/smaps", "re");
	size_t kb = 0;
	bool inside = false;

	snprintf(start, sizeof(start), "%lx-", (unsigned long)area);
	while (file && fgets(line, sizeof(line), file)) {
		if (!strncmp(line, start, strlen(start)))
			inside = true;
		else if (inside && sscanf(line, "AnonHugePages: %zu", &kb) == 1)
			break;
	}
	if (file)
		fclose(file);
	return kb;
}

static bool measure_huge_fault(struct fl_cal_bench *b, double *ret_ns)
{
	size_t bytes = b->bytes / 2 & ~(size_t)(FL_CAL_HUGE - 1);
	double start;

	if (!b->huge)
		return no_huge(b);
	madvise(b->huge, bytes, MADV_DONTNEED);
	start = fl_cal_now();
	touch(b->huge, bytes, FL_CAL_HUGE);
	*ret_ns = (fl_cal_now() - start) / (double)(bytes / FL_CAL_HUGE);
	return huge_kb(b->huge) * 1024 >= bytes ? true : no_huge(b);
}

/* ---- advice and locks ---- */

static bool measure_free(struct fl_cal_bench *b, double *ret_ns)
{
	double start;

	touch(b->base, SPAN, FL_CAL_PAGE);
	start = fl_cal_now();
	if (madvise(b->base, SPAN, MADV_FREE))
		return fl_cal_cannot(b, "MADV_FREE: %s", strerror(errno));
	*ret_ns = (fl_cal_now() - start) / (SPAN / FL_CAL_PAGE);
	touch(b->base, SPAN, FL_CAL_PAGE);
	return true;
}

static bool measure_mincore(struct fl_cal_bench *b, double *ret_ns)
{
	static unsigned char there[SPAN / FL_CAL_PAGE];
	double start;

	touch(b->base, SPAN, FL_CAL_PAGE);
	start = fl_cal_now();
	for (int i = 0; i < 20; i++)
		if (mincore(b->base, SPAN, there))
			return fl_cal_cannot(b, "mincore: %s", strerror(errno));
	*ret_ns = (fl_cal_now() - start) / (20 * (SPAN / FL_CAL_PAGE));
	return true;
}

static bool measure_mlock(struct fl_cal_bench *b, double *ret_ns)
{
	const size_t bytes = 4 << 20;
	double start;

	touch(b->base, bytes, FL_CAL_PAGE);
	start = fl_cal_now();
	if (mlock(b->base, bytes))
		return fl_cal_cannot(b, "mlock of 4 MiB: %s", strerror(errno));
	*ret_ns = (fl_cal_now() - start) / (double)(bytes / FL_CAL_PAGE);
	munlock(b->base, bytes);
	return true;
}

/* MADV_FREE of a part of a huge page splits it at once. */
static bool measure_split(struct fl_cal_bench *b, double *ret_ns)
{
	const size_t bytes = 16 * (size_t)FL_CAL_HUGE;
	double start;

	if (!b->huge)
		return no_huge(b);
	madvise(b->huge, bytes, MADV_DONTNEED);
	touch(b->huge, bytes, FL_CAL_HUGE);
	start = fl_cal_now();
	for (size_t at = 0; at < bytes; at += FL_CAL_HUGE)
		madvise(b->huge + at, FL_CAL_PAGE, MADV_FREE);
	*ret_ns = (fl_cal_now() - start) / 16;
	madvise(b->huge, bytes, MADV_DONTNEED);
	touch(b->huge, bytes, FL_CAL_HUGE);
	return true;
}

static bool measure_collapse(struct fl_cal_bench *b, double *ret_ns)
{
	const size_t bytes = 8 * (size_t)FL_CAL_HUGE;
	char *area = fl_cal_map(b, bytes);
	double start;
	int failed;

	if (!area)
		return false;
	touch(area, bytes, FL_CAL_PAGE);
	madvise(area, bytes, MADV_HUGEPAGE);
	start = fl_cal_now();
	failed = madvise(area, bytes, MADV_COLLAPSE) ? errno : 0;
	*ret_ns = (fl_cal_now() - start) / 8;
	fl_cal_unmap(area, bytes);
	return failed ? fl_cal_cannot(b, "MADV_COLLAPSE: %s", strerror(failed)) : true;
}

/* ---- the TLB ---- */

/* ns of one access of the fastest of some passes over an area, one access a page, each at another line of its page. */
static double pass_ns(char *area, size_t bytes)
{
	size_t pages = bytes / FL_CAL_PAGE;
	unsigned int sum = 0;
	double best = 0;

	for (int pass = 0; pass < 10; pass++) {
		double start = fl_cal_now(), ns;

		for (size_t i = 0; i < pages; i++)
			sum += ((volatile unsigned char *)area)[i * FL_CAL_PAGE + i % 64 * 64];
		ns = (fl_cal_now() - start) / (double)pages;
		best = pass && best < ns ? best : ns;
	}
	(void)sum;
	return best;
}

/* The same pages through entries of 4K and of 2M; the difference is what the walks take. */
static bool measure_tlb(struct fl_cal_bench *b, double *ret_ns)
{
	size_t bytes = b->bytes < (64u << 20) ? b->bytes : 64u << 20;

	if (!b->huge || huge_kb(b->huge) * 1024 < bytes)
		return no_huge(b);
	*ret_ns = pass_ns(b->base, bytes) - pass_ns(b->huge, bytes);
	return *ret_ns > 0 ? true : fl_cal_cannot(b, "passes over base pages were not slower");
}

const struct fl_cal_measurement fl_cal_memory[] = {
	{ "zero_4k", "memset of random base pages", "zero_4k", measure_zero, { { 0 } } },
	{ "copy_4k", "memmove between random pages of two areas", "copy_4k", measure_copy, { { 0 } } },
	{ "read_copy_4k", "memcpy of random base pages to a warm buffer", "read_copy_4k", measure_read, { { 0 } } },
	{ "fault_4k", "first touch of a base page, of memory that was used before", "fault_base", measure_fault,
	  { { 1, "zero_4k" }, { 1, "alloc_pcp" }, { 1, "lru_add" }, { 1, "rmap" } } },
	{ "zero_page_fault", "read of memory that was never written", "fault_minor", measure_zero_page, { { 0 } } },
	{ "sparse_fault", "first touch of a page in 2 MiB, with its page table", "pte_table", measure_sparse, { { 1, "@fault_4k" } } },
	{ "zap", "MADV_DONTNEED of touched base pages, one of them", "zap_pte", measure_zap, { { 1, "rmap" }, { 1, "free" } } },
	{ "fault_2m", "first touch of 2 MiB", "zero_2m", measure_huge_fault, { { 1, "fault_base" }, { 1, "alloc_buddy" } } },
	{ "madv_free", "MADV_FREE of touched base pages, one of them", "madvise_page", measure_free, { { 1, "pte_scan" } } },
	{ "mincore", "mincore of mapped base pages, one of them", "pte_scan", measure_mincore, { { 0 } } },
	{ "mlock", "mlock of touched base pages, one of them", "mlock_page", measure_mlock, { { 1, "pte_scan" } } },
	{ "split", "MADV_FREE of one page of a huge page", "split_thp", measure_split, { { 1, "syscall" }, { 1, "madvise_page" } } },
	{ "collapse", "MADV_COLLAPSE of 512 base pages", "collapse_base", measure_collapse,
	  { { 512, "copy_4k" }, { 512, "pte_scan" }, { 512, "rmap" }, { 512, "free" }, { 1, "tlb_flush" }, { 1, "khugepaged_range" },
	    { 1, "alloc_buddy" } } },
	{ "tlb", "an access of passes over base pages less one of passes over huge pages", "tlb_miss", measure_tlb, { { 0 } } },
	{ 0 },
};
