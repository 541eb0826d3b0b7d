/* observe/host_census.c - the census of a host, and what is missing of it. */
#include "observe/host_census.h"

#include <inttypes.h>
#include <unistd.h>

#include "observe/hostfile.h"

static const struct {
	const char *path, *without;
} helpers[] = {
	{ "proc/kpagecount", "pages that the kernel has mapped cannot be told from free ones on per-CPU lists" },
	{ "proc/iomem", "holes between RAM may be taken for memory" },
};

static void check_helpers(const char *root, struct fl_mem_report *report)
{
	for (size_t i = 0; i < sizeof(helpers) / sizeof(helpers[0]); i++) {
		struct fl_error error;
		int fd = fl_hostfile_open(root, helpers[i].path, &error);

		if (fd < 0)
			fl_mem_report_warn(report, 0, "%s; without it, %s", error.text, helpers[i].without);
		else
			close(fd);
	}
}

/* Flags that end before the zone does. Memory may come into use meanwhile, so a little less is no fault. */
static void check_zones(const struct fl_census *census, struct fl_mem_report *report)
{
	for (unsigned int z = 0; z < census->zones_count; z++) {
		uint64_t present = census->zones[z].present, told = 0;
		struct fl_census_counts counts;

		fl_census_count(census, (int)z, &counts);
		for (int i = 0; i < FL_CENSUS_HOLE; i++)
			told += counts.class_pages[i];
		if (told + present / 64 < present)
			fl_mem_report_warn(report, 0,
					   "proc/kpageflags tells of %" PRIu64 " of the %" PRIu64 " pages of zone %s: it was "
					   "cut, or is of another moment; the census lacks the rest", told, present,
					   census->zone_names[z]);
	}
}

int fl_mem_read_census(const char *root, struct fl_mem_report *report, struct fl_census *ret, struct fl_error *reterr)
{
	int code = fl_census_read_live(root, ret, reterr);

	if (code < 0)
		return code;
	check_helpers(root, report);
	check_zones(ret, report);
	return 0;
}
