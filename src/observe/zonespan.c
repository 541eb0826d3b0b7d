/* observe/zonespan.c - spans of zones from /proc/zoneinfo, RAM from /proc/iomem. */
#include "observe/zonespan.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "observe/procline.h"

static const char *next_line(const char *s)
{
	const char *end = strchr(s, '\n');

	return end ? end + 1 : s + strlen(s);
}

/*
 * "word value" or "word: value" at the start of the line, blanks before it skipped. *ret_wrong: the word is there, but
 * no number of 64 bits behind it.
 */
static bool line_value(const char *line, const char *word, uint64_t *ret, bool *ret_wrong)
{
	size_t length = strlen(word), digits;

	line += strspn(line, " \t");
	if (strncmp(line, word, length) != 0)
		return false;
	line += length;
	line += *line == ':';
	if (*line != ' ' && *line != '\t')
		return false;
	line += strspn(line, " \t");
	digits = strspn(line, "0123456789");
	*ret_wrong = !digits || !fl_procline_fits(line, digits);
	if (!*ret_wrong)
		*ret = strtoull(line, NULL, 10);
	return !*ret_wrong;
}

/* "high" is a mark, "high:" the limit of a per-CPU list. A census does without these figures, so a wrong one is no error. */
static void mark_line(struct fl_zonespan *zone, const char *line)
{
	bool wrong;
	uint64_t value, *p = zone->protection;

	if (!strncmp(line, "cpu: ", 5))
		zone->cpus++;
	else if (sscanf(line, "protection: (%" SCNu64 ", %" SCNu64 ", %" SCNu64 ", %" SCNu64, p, p + 1, p + 2, p + 3) > 0)
		return;
	else if (line_value(line, "high_min", &value, &wrong))
		zone->high_min = value;
	else if (line_value(line, "high_max", &value, &wrong))
		zone->high_max = value;
	else if (line_value(line, "batch", &value, &wrong))
		zone->batch = value;
	else if (line_value(line, "min", &value, &wrong))
		zone->min = value;
	else if (line_value(line, "low", &value, &wrong))
		zone->low = value;
	else if (strncmp(line, "high:", 5) && line_value(line, "high", &value, &wrong))
		zone->high = value;
	else if (line_value(line, "promo", &value, &wrong))
		zone->promo = value;
}

/* False: a figure that matters cannot be read. */
static bool zone_line(struct fl_zonespan *zone, const char *line)
{
	bool wrong = false;
	uint64_t value;

	if (line_value(line, "start_pfn", &value, &wrong))
		zone->start_pfn = value;
	else if (line_value(line, "spanned", &value, &wrong))
		zone->spanned = value;
	else if (line_value(line, "present", &value, &wrong))
		zone->present = value;
	else if (line_value(line, "managed", &value, &wrong))
		zone->managed = value;
	else if (line_value(line, "boost", &value, &wrong))
		zone->boost = value;
	else if (line_value(line, "count", &value, &wrong))
		zone->pcp += value;
	else
		mark_line(zone, line + strspn(line, " "));
	return !wrong;
}

/* Appends the zone that has just ended, if it has pages. */
static int zone_end(struct fl_zonespan *zones, unsigned int *count, const struct fl_zonespan *zone,
		    struct fl_error *reterr)
{
	if (!zone->spanned)
		return 0;
	if (*count == FL_CENSUS_ZONES_MAX)
		return fl_error_set(reterr, FL_ERROR_INPUT, -E2BIG, "zoneinfo: more than %d zones with memory",
				    FL_CENSUS_ZONES_MAX);
	zones[(*count)++] = *zone;
	return 0;
}

static void name_zones(struct fl_zonespan *zones, unsigned int count)
{
	bool several = false;
	char name[sizeof(zones->name)];

	for (unsigned int i = 1; i < count; i++)
		several |= zones[i].node != zones[0].node;
	for (unsigned int i = 0; several && i < count; i++) {
		memcpy(name, zones[i].name, sizeof(name));
		if (snprintf(zones[i].name, sizeof(zones[i].name), "%d/%.11s", zones[i].node, name) < 0)
			zones[i].name[0] = '\0';
	}
}

int fl_zonespan_parse(const char *zoneinfo, struct fl_zonespan *ret, unsigned int *ret_count, struct fl_error *reterr)
{
	struct fl_zonespan zones[FL_CENSUS_ZONES_MAX], zone = {0}, next;
	unsigned int count = 0, number = 0;
	int code;

	for (const char *line = zoneinfo; *line; line = next_line(line)) {
		memset(&next, 0, sizeof(next));
		number++;
		if (sscanf(line, "Node %d, zone %15s", &next.node, next.name) != 2) {
			if (!zone_line(&zone, line))
				return fl_error_input(reterr, "zoneinfo:%u: a figure of zone %s cannot be read; expected a "
							      "number", number, zone.name);
			continue;
		}
		code = zone_end(zones, &count, &zone, reterr);
		if (code < 0)
			return code;
		zone = next;
	}
	code = zone_end(zones, &count, &zone, reterr);
	if (code < 0)
		return code;
	if (!count)
		return fl_error_input(reterr, "zoneinfo: no zone with memory in it; expected the text of /proc/zoneinfo");
	name_zones(zones, count);
	memcpy(ret, zones, count * sizeof(*zones));
	*ret_count = count;
	return 0;
}

size_t fl_ram_ranges_parse(const char *iomem, uint32_t page_size, struct fl_ram_range **ret)
{
	struct fl_ram_range *ranges = NULL;
	size_t count = 0;

	for (const char *line = iomem; *line; line = next_line(line)) {
		uint64_t first, last;
		int text = 0;

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " : %n", &first, &last, &text) < 2 || !text || *line == ' ')
			continue;
		if (strncmp(line + text, "System RAM", 10) != 0 || last <= first)
			continue;
		ranges = fl_xrealloc(ranges, (count + 1) * sizeof(*ranges));
		ranges[count].start_pfn = (first + page_size - 1) / page_size;
		ranges[count].end_pfn = (last + 1) / page_size;
		count++;
	}
	*ret = ranges;
	return count;
}
