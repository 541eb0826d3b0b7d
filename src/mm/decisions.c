/* mm/decisions.c - overlay and reflection of the table of decisions. */
#include "mm/decisions.h"

#include "base/bug.h"

void fl_decisions_overlay(struct fl_decisions *table, const struct fl_decisions *patch)
{
#define OVERLAY(name, verdict, facts, line) \
	if (patch->name) \
		table->name = patch->name;
	FL_DECISIONS(OVERLAY)
#undef OVERLAY
}

const char *fl_decisions_missing(const struct fl_decisions *table)
{
#define MISSING(name, verdict, facts, line) \
	if (!table->name) \
		return #name;
	FL_DECISIONS(MISSING)
#undef MISSING
	return NULL;
}

const char *fl_decision_name(unsigned int i)
{
#define NAME(name, verdict, facts, line) #name,
	static const char *const names[] = { FL_DECISIONS(NAME) };
#undef NAME

	FL_ASSERT(i < FL_DECISION_COUNT);
	return names[i];
}

const char *fl_decision_line(unsigned int i)
{
#define LINE(name, verdict, facts, line) line,
	static const char *const lines[] = { FL_DECISIONS(LINE) };
#undef LINE

	FL_ASSERT(i < FL_DECISION_COUNT);
	return lines[i];
}

bool fl_decisions_has(const struct fl_decisions *table, unsigned int i)
{
	unsigned int at = 0;

#define HAS(name, verdict, facts, line) \
	if (at++ == i) \
		return table->name;
	FL_DECISIONS(HAS)
#undef HAS
	return false;
}
