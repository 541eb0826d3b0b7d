/*
 * observe/text_setting.c - settings and events in a text: sysctl, THP files of sysfs, lines of ftrace.
 *
 * A setting stands as "vm.name = value" (sysctl -a), as "path:value" (grep -r), or alone in its file, whose path was
 * announced (fl_text_reader_file, "==> path <==").
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "observe/text_internal.h"

#define THP "transparent_hugepage/"
#define VM "sys/vm/"

/* "always [madvise] never" gives "madvise"; other text is kept as it is. */
static void chosen(char *to, size_t size, const char *value)
{
	const char *open = strchr(value, '['), *close = open ? strchr(open, ']') : NULL;

	if (close && close > open + 1)
		snprintf(to, size, "%.*s", (int)(close - open - 1), open + 1);
	else
		snprintf(to, size, "%s", value);
}

static struct fl_mem_thp_size *thp_size(struct fl_mem_state *state, uint64_t kb)
{
	struct fl_mem_thp_size *size;

	for (size_t i = 0; i < state->thp_sizes_count; i++)
		if (state->thp_sizes[i].size_kb == kb)
			return &state->thp_sizes[i];
	if (state->thp_sizes_count >= 64)
		return NULL;
	if (state->thp_sizes_count == state->thp_sizes_capacity) {
		state->thp_sizes_capacity = state->thp_sizes_capacity ? state->thp_sizes_capacity * 2 : 8;
		state->thp_sizes = fl_xrealloc(state->thp_sizes, state->thp_sizes_capacity * sizeof(*state->thp_sizes));
	}
	size = &state->thp_sizes[state->thp_sizes_count++];
	memset(size, 0, sizeof(*size));
	size->size_kb = kb;
	return size;
}

/* "hugepages-64kB/stats/anon_fault_alloc" below transparent_hugepage/ */
static void set_thp_size(struct fl_text_reader *reader, struct fl_mem_state *state, const char *name, const char *value)
{
	const char *p = name + strlen("hugepages-");
	struct fl_procline why;
	struct fl_mem_thp_size *size;
	uint64_t kb, number;

	if (!fl_text_number(&p, &kb) || strncmp(p, "kB/", 3))
		return;
	size = thp_size(state, kb);
	p += 3;
	if (!size)
		return;
	if (strncmp(p, "stats/", 6)) {
		fl_mem_settings_set(&size->settings, p, value);
		return;
	}
	p += 6;
	if (!fl_procline_check(FL_PROCFILE_NUMBERS, value, &why))
		fl_text_unread(reader, reader->line, &why);
	else if (fl_text_number(&value, &number))
		fl_mem_values_set(&size->stats, p, number);
}

/* The value of the file `path`, if it is one of ours. */
static bool set_file_value(struct fl_text_reader *reader, const char *path, const char *value)
{
	const char *thp = strstr(path, THP), *vm = strstr(path, VM);
	struct fl_mem_state *state;
	char text[128];

	if (!thp && !vm)
		return false;
	state = reader->state && !reader->state->dump ? reader->state : fl_text_state(reader, false);
	if (!state)
		return true;
	chosen(text, sizeof(text), value);
	if (vm) {
		char name[96];

		snprintf(name, sizeof(name), "vm.%.80s", vm + strlen(VM));
		fl_mem_settings_set(&state->sysctls, name, text);
	} else if (!strncmp(thp + strlen(THP), "hugepages-", 10)) {
		set_thp_size(reader, state, thp + strlen(THP), text);
	} else {
		fl_mem_settings_set(&state->thp, thp + strlen(THP), text);
	}
	return true;
}

/* "vm.min_free_kbytes = 67584" */
static bool sysctl_line(struct fl_text_reader *reader, const char *line)
{
	size_t length = strcspn(line, " =");
	const char *value = line + length;
	struct fl_mem_state *state;
	struct fl_procline why;
	char name[96];

	if (strncmp(line, "vm.", 3) || length >= sizeof(name))
		return false;
	value += strspn(value, " ");
	if (*value != '=')
		return false;
	value += 1 + strspn(value + 1, " ");
	if (!fl_procline_check(FL_PROCFILE_SYSCTL, line, &why)) {
		fl_text_unread(reader, reader->line, &why);
		return true;
	}
	state = reader->state ? reader->state : fl_text_state(reader, false);
	snprintf(name, sizeof(name), "%.*s", (int)length, line);
	if (state)
		fl_mem_settings_set(&state->sysctls, name, value);
	return true;
}

/* "/sys/kernel/mm/transparent_hugepage/enabled:always [madvise] never" */
static bool grep_line(struct fl_text_reader *reader, const char *line)
{
	const char *colon = strchr(line, ':');
	char path[200];

	if (!colon || (!strstr(line, THP) && !strstr(line, VM)) || (size_t)(colon - line) >= sizeof(path) ||
	    strcspn(line, " ") < (size_t)(colon - line))
		return false;
	snprintf(path, sizeof(path), "%.*s", (int)(colon - line), line);
	return set_file_value(reader, path, colon + 1 + strspn(colon + 1, " "));
}

bool fl_text_setting_line(struct fl_text_reader *reader, char *line)
{
	if (sysctl_line(reader, line) || grep_line(reader, line))
		return true;
	if (!*line || (!strstr(reader->file, THP) && !strstr(reader->file, VM)))
		return false;
	set_file_value(reader, reader->file, line);
	reader->file[0] = '\0'; /* one value; what follows in a pasted text is something else */
	return true;
}

/* --- ftrace ------------------------------------------------------------------------------------------------------- */

/* The stamp in front of an event, "7971.248176:", in ns; false if there is none. */
static bool event_time(const char *line, const char *event, uint64_t *ret_ns)
{
	const char *p = event;
	uint64_t seconds, micro;

	while (p > line && p[-1] == ' ')
		p--;
	if (p <= line || p[-1] != ':')
		return false;
	p--;
	while (p > line && (isdigit((unsigned char)p[-1]) || p[-1] == '.'))
		p--;
	if (!fl_text_number(&p, &seconds) || *p++ != '.' || !fl_text_number(&p, &micro) || seconds > 1u << 30 ||
	    micro > 999999)
		return false;
	*ret_ns = seconds * 1000000000ull + micro * 1000ull;
	return true;
}

static void event_begin(struct fl_text_reader *reader, const char *task, uint64_t ns, bool reclaim)
{
	unsigned int i = 0, limit = sizeof(reader->begun) / sizeof(reader->begun[0]);

	while (i < reader->begun_count && (strcmp(reader->begun[i].task, task) || reader->begun[i].reclaim != reclaim))
		i++;
	if (i == limit)
		return;
	if (i == reader->begun_count)
		reader->begun_count++;
	snprintf(reader->begun[i].task, sizeof(reader->begun[i].task), "%s", task);
	reader->begun[i].ns = ns;
	reader->begun[i].reclaim = reclaim;
}

static void event_end(struct fl_text_reader *reader, const char *task, uint64_t ns, bool reclaim)
{
	for (unsigned int i = 0; i < reader->begun_count; i++) {
		if (strcmp(reader->begun[i].task, task) || reader->begun[i].reclaim != reclaim)
			continue;
		if (ns >= reader->begun[i].ns && reclaim)
			reader->report->events_reclaim_ns += ns - reader->begun[i].ns;
		else if (ns >= reader->begun[i].ns)
			reader->report->events_compaction_ns += ns - reader->begun[i].ns;
		reader->begun[i] = reader->begun[--reader->begun_count];
		return;
	}
}

bool fl_text_trace_line(struct fl_text_reader *reader, const char *line)
{
	const char *event = strstr(line, "mm_");
	char task[40];
	uint64_t ns;
	bool reclaim, begin;

	if (!event)
		return false;
	if (!strncmp(event, "mm_page_alloc_extfrag:", 22)) {
		reader->report->events_extfrag++;
		reader->report->events_extfrag_claimed += strstr(event, "change_ownership=1") != NULL;
		return true;
	}
	reclaim = !strncmp(event, "mm_vmscan_direct_reclaim_", 25);
	if (!reclaim && strncmp(event, "mm_compaction_begin", 19) && strncmp(event, "mm_compaction_end", 17))
		return false;
	begin = !strncmp(event + (reclaim ? 25 : 14), "begin", 5);
	reader->report->events_reclaim += reclaim && begin;
	reader->report->events_compaction += !reclaim && begin;
	snprintf(task, sizeof(task), "%.*s", (int)strcspn(line, " "), line);
	if (!event_time(line, event, &ns))
		return true;
	if (begin)
		event_begin(reader, task, ns, reclaim);
	else
		event_end(reader, task, ns, reclaim);
	return true;
}
