/*
 * live/counts.c - lists of named numbers.
 */
#include "live/counts.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

void fl_live_counts_add(struct fl_live_counts *counts, const char *name, uint64_t value)
{
	struct fl_live_count *item;

	if (counts->count == counts->capacity) {
		counts->capacity = counts->capacity ? 2 * counts->capacity : 256;
		counts->items = fl_xrealloc(counts->items, counts->capacity * sizeof(*counts->items));
	}
	item = &counts->items[counts->count++];
	snprintf(item->name, sizeof(item->name), "%s", name);
	item->value = value;
}

void fl_live_counts_addf(struct fl_live_counts *counts, uint64_t value, const char *fmt, ...)
{
	char name[72];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(name, sizeof(name), fmt, ap);
	va_end(ap);
	fl_live_counts_add(counts, name, value);
}

uint64_t fl_live_counts_get(const struct fl_live_counts *counts, const char *name, size_t hint, uint64_t missing)
{
	if (hint < counts->count && !strcmp(counts->items[hint].name, name))
		return counts->items[hint].value;
	for (size_t i = 0; i < counts->count; i++)
		if (!strcmp(counts->items[i].name, name))
			return counts->items[i].value;
	return missing;
}

void fl_live_counts_copy(struct fl_live_counts *to, const struct fl_live_counts *from)
{
	fl_live_counts_fini(to);
	for (size_t i = 0; i < from->count; i++)
		fl_live_counts_add(to, from->items[i].name, from->items[i].value);
}

void fl_live_counts_fini(struct fl_live_counts *counts)
{
	free(counts->items);
	*counts = (struct fl_live_counts){ 0 };
}
