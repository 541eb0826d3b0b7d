/*
 * tests/fidelity/zoneinfo_test.c - the formulas of the model against the kernel that runs: managed pages, CPUs and
 * min_free_kbytes in; watermarks, lowmem reserves and sizes of per-CPU lists out, equal to /proc/zoneinfo to the page.
 *
 * Skips where the rules do not cover the kernel: before 6.7 (no high_min), several nodes, other page sizes, HighMem, or
 * managed pages that changed since the marks were computed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "mm/pcp.h"
#include "mm/watermark.h"

struct zone_found {
	unsigned long long managed, min, low, high, boost, protection[FL_ZONES];
	unsigned int cpus;
	int batch, high_min, high_max;
};

struct host {
	struct zone_found zone[FL_ZONES];
	unsigned long long min_free_kbytes;
	unsigned int scale_factor, high_fraction;
	const char *skip; /* why the rules do not cover this host */
};

static unsigned long long read_number(const char *path, unsigned long long otherwise)
{
	FILE *file = fopen(path, "r");
	unsigned long long value;

	if (!file)
		return otherwise;
	if (fscanf(file, "%llu", &value) != 1)
		value = otherwise;
	fclose(file);
	return value;
}

static int zone_by_name(const char *name)
{
	for (unsigned int z = 0; z < FL_ZONES; z++)
		if (!strcmp(name, fl_zone_name(z)))
			return (int)z;
	return -1;
}

static void read_zone_line(struct zone_found *zone, const char *line)
{
	unsigned long long value;
	unsigned long long *p = zone->protection;

	if (sscanf(line, " managed %llu", &value) == 1)
		zone->managed = value;
	else if (sscanf(line, " boost %llu", &value) == 1)
		zone->boost = value;
	else if (sscanf(line, " min %llu", &value) == 1)
		zone->min = value;
	else if (sscanf(line, " low %llu", &value) == 1)
		zone->low = value;
	else if (sscanf(line, " high %llu", &value) == 1)
		zone->high = value;
	else if (sscanf(line, " protection: (%llu, %llu, %llu, %llu", p, p + 1, p + 2, p + 3) == 4)
		return;
	else if (sscanf(line, " cpu: %llu", &value) == 1)
		zone->cpus++;
	else if (sscanf(line, " batch: %llu", &value) == 1)
		zone->batch = (int)value;
	else if (sscanf(line, " high_min: %llu", &value) == 1)
		zone->high_min = (int)value;
	else if (sscanf(line, " high_max: %llu", &value) == 1)
		zone->high_max = (int)value;
}

static struct host read_host(void)
{
	struct host host = { .min_free_kbytes = read_number("/proc/sys/vm/min_free_kbytes", 0),
			     .scale_factor = (unsigned int)read_number("/proc/sys/vm/watermark_scale_factor", 10),
			     .high_fraction = (unsigned int)read_number("/proc/sys/vm/percpu_pagelist_high_fraction", 0) };
	FILE *file = fopen("/proc/zoneinfo", "r");
	char line[256], name[32];
	int node, at = -1;
	bool new_enough = false;

	if (!file) {
		host.skip = "/proc/zoneinfo cannot be read";
		return host;
	}
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "Node %d, zone %31s", &node, name) == 2) {
			at = zone_by_name(name);
			if (node > 0)
				host.skip = "more than one node";
			else if (!strcmp(name, "HighMem"))
				host.skip = "a HighMem zone";
		} else if (at >= 0) {
			read_zone_line(&host.zone[at], line);
			new_enough |= strstr(line, "high_min:") != NULL;
		}
	}
	fclose(file);
	if (!new_enough)
		host.skip = "a kernel without adaptive per-CPU lists (before 6.7)";
	if (sysconf(_SC_PAGESIZE) != 4096)
		host.skip = "pages are not 4 KiB";
	return host;
}

static struct fl_watermark_input input_of(const struct host *host)
{
	struct fl_watermark_input in = { .page_shift = 12, .pageblock_order = 9, .scale_factor = host->scale_factor,
					 .reserve_ratio = { 256, 256, 32, 0 } };

	for (unsigned int z = 0; z < FL_ZONES; z++)
		in.managed[z] = host->zone[z].managed;
	return in;
}

static struct host host_or_skip(void)
{
	struct host host = read_host();
	uint64_t marks[FL_ZONES][FL_WMARKS];
	struct fl_watermark_input in = input_of(&host);
	unsigned long long real = 0, computed = 0;

	for (unsigned int z = 0; !host.skip && z <= FL_ZONE_NORMAL; z++) {
		fl_compute_wmarks(&in, host.min_free_kbytes, marks);
		real += host.zone[z].min - (host.zone[z].managed ? host.zone[z].boost : 0);
		computed += marks[z][FL_WMARK_MIN];
	}
	/* The marks of a settled machine add up to min_free_kbytes; while managed grows they lag behind it. */
	if (!host.skip && (real > computed + 3 || computed > real + 3))
		host.skip = "managed pages changed since the kernel computed its marks";
	if (host.skip) {
		print_message("SKIP: %s\n", host.skip);
		skip();
	}
	return host;
}

static void test_watermarks_of_this_kernel_follow_from_its_managed_pages(void **state)
{
	struct host host = host_or_skip();
	struct fl_watermark_input in = input_of(&host);
	uint64_t marks[FL_ZONES][FL_WMARKS];

	fl_compute_wmarks(&in, host.min_free_kbytes, marks);
	for (unsigned int z = 0; z < FL_ZONES; z++) {
		assert_int_equal(marks[z][FL_WMARK_MIN], host.zone[z].min - host.zone[z].boost);
		assert_int_equal(marks[z][FL_WMARK_LOW], host.zone[z].low - host.zone[z].boost);
		assert_int_equal(marks[z][FL_WMARK_HIGH], host.zone[z].high - host.zone[z].boost);
	}
}

static void test_protection_of_this_kernel_follows_from_its_managed_pages(void **state)
{
	struct host host = host_or_skip();
	struct fl_watermark_input in = input_of(&host);
	uint64_t reserve[FL_ZONES][FL_ZONES];

	fl_compute_lowmem_reserve(&in, reserve);
	for (unsigned int z = 0; z < FL_ZONES; z++)
		for (unsigned int class = 0; class < FL_ZONES; class++)
			assert_int_equal(reserve[z][class], host.zone[z].protection[class]);
}

static void test_percpu_sizes_of_this_kernel_follow_from_its_zones(void **state)
{
	struct host host = host_or_skip();

	for (unsigned int z = 0; z < FL_ZONES; z++) {
		const struct zone_found *zone = &host.zone[z];
		int batch = fl_pcp_batch((uint32_t)zone->managed, 12);
		uint64_t low = zone->low - zone->boost;

		if (!zone->cpus)
			continue;
		batch = batch < 1 ? 1 : batch;
		assert_int_equal(batch, zone->batch);
		assert_int_equal(fl_pcp_high((uint32_t)zone->managed, low, zone->cpus, host.high_fraction, batch, false),
				 zone->high_min);
		assert_int_equal(fl_pcp_high((uint32_t)zone->managed, low, zone->cpus, host.high_fraction, batch, true),
				 zone->high_max);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_watermarks_of_this_kernel_follow_from_its_managed_pages),
		cmocka_unit_test(test_protection_of_this_kernel_follows_from_its_managed_pages),
		cmocka_unit_test(test_percpu_sizes_of_this_kernel_follow_from_its_zones),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
