/* observe/host_census.c - the census of a host, and what is missing of it. */
#include "observe/host_census.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "observe/hostfile.h"

static const struct {
	const char *path, *without;
} helpers[] = {
	{ "proc/kpagecount", "pages that the kernel has mapped cannot be told from free ones on per-CPU lists" },
	{ "proc/iomem", "holes between RAM may be taken for memory" },
};

/* Of these the census alone knows; the others are the reader's of the host too, who says that they are missing. */
static void check_helpers(const char *root, struct fl_mem_report *report)
{
	for (size_t i = 0; i < sizeof(helpers) / sizeof(helpers[0]); i++) {
		char *path = fl_hostfile_path(root, helpers[i].path);

		if (access(path, F_OK) < 0)
			fl_mem_report_warn(report, 0, "%s could not be read (%s); without it, %s", path, strerror(errno),
					   helpers[i].without);
		free(path);
	}
}

static void take_notes(struct fl_text *notes, struct fl_mem_report *report)
{
	for (char *line = notes->data, *next; *line; line = next) {
		size_t length = strcspn(line, "\n");

		next = line + length + (line[length] == '\n');
		fl_mem_report_warn(report, 0, "%.*s", (int)length, line);
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
	struct fl_text notes;
	int code;

	fl_text_init(&notes);
	code = fl_census_read_noted(root, ret, &notes, reterr);
	if (code == 0) {
		take_notes(&notes, report);
		check_helpers(root, report);
		check_zones(ret, report);
	}
	fl_text_fini(&notes);
	return code;
}
