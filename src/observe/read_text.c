/*
 * observe/read_text.c - the core of the text reader: lines into tokens, tokens to whom they belong.
 *
 * Tables of /proc are tried line by line first; everything else is a stream of tokens in which the ends of lines do
 * not count, since mail programs and consoles break lines where they like.
 */
#include "observe/read_text.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text.h"
#include "observe/gfp.h"
#include "observe/text_internal.h"

struct fl_mem_state *fl_text_begin_state(struct fl_text_reader *reader, bool dump)
{
	struct fl_mem_state *state;

	fl_text_close_state(reader);
	state = reader->zones_closed < ZONES_TOTAL_MAX ? fl_mem_report_add_state(reader->report) : NULL;
	reader->report->states_dropped += reader->zones_closed >= ZONES_TOTAL_MAX;
	reader->state = state;
	reader->row_columns = 0;
	reader->blocks_header = false;
	reader->vmstat_active = false;
	reader->context = TEXT_NONE;
	reader->pending_key[0] = '\0';
	if (!state)
		return NULL;
	reader->state_index = (int)reader->report->states_count - 1;
	state->dump = dump;
	state->line_first = state->line_last = reader->line;
	memcpy(state->release, reader->release, sizeof(state->release));
	state->bits32 = reader->bits32;
	if (dump && reader->request && reader->request->state < 0)
		reader->request->state = reader->state_index;
	return state;
}

struct fl_mem_state *fl_text_state(struct fl_text_reader *reader, bool dump)
{
	if (!reader->state || reader->state->dump != dump) {
		if (reader->state && !reader->state->zones_count && !reader->state->vmstat.count &&
		    !reader->state->meminfo.count)
			reader->state->dump = dump; /* settings only so far: they belong to this state */
		else
			return fl_text_begin_state(reader, dump);
	}
	reader->state->line_last = reader->line;
	return reader->state;
}

void fl_text_use_line(struct fl_text_reader *reader, bool of_state)
{
	if (!reader->line_used)
		reader->report->lines_used++;
	reader->line_used = true;
	reader->busy = QUIET_AFTER;
	if (of_state && reader->state)
		reader->state->line_last = reader->line;
	if (reader->request)
		reader->request->line_last = reader->line;
}

void fl_text_unread(struct fl_text_reader *reader, unsigned int line, const struct fl_procline *why)
{
	char text[256];

	if (line == reader->unread_line)
		return;
	reader->unread_line = line;
	if (reader->unread_lines++ >= UNREAD_SAID)
		return;
	fl_procline_say(why, text, sizeof(text));
	fl_mem_report_warn(reader->report, line, "%s", text);
}

static void end_unread(struct fl_text_reader *reader)
{
	unsigned int more = reader->unread_lines > UNREAD_SAID ? reader->unread_lines - UNREAD_SAID : 0;
	const struct fl_mem_report *report = reader->report;

	if (more)
		fl_mem_report_warn(reader->report, 0, "%s%sand %u more lines that cannot be read",
				   report->files_count ? report->files[report->files_count - 1].name : "",
				   report->files_count ? ": " : "", more);
	reader->unread_lines = 0;
}

bool fl_text_number(const char **p, uint64_t *ret)
{
	const char *q = *p;
	uint64_t value = 0;

	if (!isdigit((unsigned char)*q))
		return false;
	for (; isdigit((unsigned char)*q); q++) {
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*q - '0'), &value))
			value = UINT64_MAX - 1; /* FL_MEM_NONE is taken */
	}
	*p = q;
	*ret = value == UINT64_MAX ? UINT64_MAX - 1 : value;
	return true;
}

bool fl_text_is_number(const char *token)
{
	if (!*token)
		return false;
	for (; *token; token++)
		if (!isdigit((unsigned char)*token))
			return false;
	return true;
}

bool fl_text_is_zone_name(const char *token, bool after_node)
{
	size_t length = strcspn(token, ":");
	char name[24];

	if (length < 2 || length >= sizeof(name) || (token[length] == ':' && token[length + 1]))
		return false;
	memcpy(name, token, length);
	name[length] = '\0';
	if (fl_mem_zone_kind_of(name) != FL_MEM_ZONE_OTHER)
		return true;
	if (!after_node || !isupper((unsigned char)name[0]))
		return false;
	for (size_t i = 0; i < length; i++)
		if (!isalnum((unsigned char)name[i]))
			return false;
	return true;
}

/* "[1443083.606896]", "[", "1443083.606896]": stamps in the middle of a line. */
static bool is_stamp(const char *token)
{
	const char *p = token;
	bool dot = false;

	if (*p == '[')
		p++;
	if (!*p)
		return token[0] == '[';
	for (; *p && *p != ']'; p++) {
		if (*p == '.')
			dot = true;
		else if (!isdigit((unsigned char)*p))
			return false;
	}
	return dot && p[0] == ']' && !p[1];
}

/* "... 5.19.0-1-amd64 #1": the word before the build number of a "CPU: ... Comm: ..." line. */
static void note_release(struct fl_text_reader *reader, const char *token)
{
	const char *release = reader->prev[0];

	if (token[0] != '#' || !isdigit((unsigned char)token[1]) || !fl_release_number(release) ||
	    strspn(release, "0123456789.-_+~abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") != strlen(release))
		return;
	snprintf(reader->release, sizeof(reader->release), "%.63s", release);
	if (reader->state && reader->state->dump && !reader->state->release[0])
		memcpy(reader->state->release, reader->release, sizeof(reader->release));
}

/* "[c0784b64]", "[<c0784b64>]", "HighMem": a 32-bit kernel */
static void note_bits(struct fl_text_reader *reader, const char *token)
{
	const char *p = token;

	if (strncmp(token, "HighMem", 7)) {
		if (*p++ != '[')
			return;
		p += *p == '<';
		if (strspn(p, "0123456789abcdef") != 8 || (p[8] != ']' && p[8] != '>') || strspn(p, "0123456789") == 8)
			return;
	} else if (!strncmp(token, "HighMem/MovableOnly", 19) && (reader->prev[1][0] == '0' || !reader->state)) {
		return; /* every kernel prints it, with 0 */
	}
	reader->bits32 = true;
	if (reader->state)
		reader->state->bits32 = true;
}

/* The buffer of the oldest token takes the newest. */
static void push_token(struct fl_text_reader *reader, const char *token, int offset)
{
	char *oldest = (char *)reader->prev[HISTORY - 1];
	size_t length = strlen(token);

	if (length >= TOKEN_MAX)
		length = TOKEN_MAX - 1;
	memcpy(oldest, token, length);
	oldest[length] = '\0';
	for (int i = HISTORY - 1; i > 0; i--) {
		reader->prev[i] = reader->prev[i - 1];
		reader->prev_offset[i] = reader->prev_offset[i - 1];
	}
	reader->prev[0] = oldest;
	reader->prev_offset[0] = offset;
}

static void take_token(struct fl_text_reader *reader, const char *token, int offset)
{
	bool used, of_request;

	if (is_stamp(token))
		return;
	if (!strstr(reader->line_text, "Linux version "))
		note_release(reader, token);
	note_bits(reader, token);
	used = of_request = fl_text_request_token(reader, token, offset);
	if (!used)
		used = fl_text_table_token(reader, token);
	if (!used)
		used = fl_text_dump_token(reader, token);
	if (used)
		fl_text_use_line(reader, !of_request);
	push_token(reader, token, offset);
}

/* A token that the end of a line may have cut, with the first token of the next line. True: both are done. */
static bool take_held(struct fl_text_reader *reader, const char *token)
{
	char held[TOKEN_MAX], joined[2 * TOKEN_MAX];

	memcpy(held, reader->held, sizeof(held));
	reader->held[0] = '\0';
	snprintf(joined, sizeof(joined), "%s%s", held, token);
	if (strlen(joined) < TOKEN_MAX && fl_text_dump_joins(reader, joined, token)) {
		take_token(reader, joined, 0);
		return true;
	}
	take_token(reader, held, -1);
	return false;
}

static void take_tokens(struct fl_text_reader *reader, const char *text)
{
	const char *p = text;
	char token[TOKEN_MAX];
	bool first = true;

	for (;;) {
		size_t length;
		int offset;

		while (*p == ' ')
			p++;
		if (!*p)
			return;
		offset = (int)(p - text);
		length = strcspn(p, " ");
		memcpy(token, p, length < TOKEN_MAX ? length : TOKEN_MAX - 1);
		token[length < TOKEN_MAX ? length : TOKEN_MAX - 1] = '\0';
		p += length;
		if (first && reader->held[0] && take_held(reader, token)) {
			first = false;
			continue;
		}
		first = false;
		if (!p[strspn(p, " ")] && fl_text_dump_should_hold(reader, token)) {
			memcpy(reader->held, token, sizeof(token));
			return;
		}
		take_token(reader, token, offset);
	}
}

/* "==> /proc/vmstat <==", "# cat /proc/vmstat", "$ cat ...". */
static bool marker_line(struct fl_text_reader *reader, const char *text)
{
	const char *path = strstr(text, "cat /");
	size_t length;

	if (!strncmp(text, "==> ", 4))
		path = text + 4;
	else if (path && (path == text || path[-1] == ' ' || path[-1] == '#' || path[-1] == '$') && path - text < 60)
		path += 4;
	else
		return false;
	length = strcspn(path, " ");
	if (length >= sizeof(reader->file))
		return false;
	fl_text_table_end_row(reader);
	reader->context = TEXT_NONE;
	reader->vmstat_active = false;
	reader->blocks_header = false;
	memcpy(reader->file, path, length);
	reader->file[length] = '\0';
	reader->file_kind = fl_procfile_of(reader->file);
	return true;
}

/* The longest part of a wrong line that can be used: the sound cells of a row. Empty when there is none. */
static void keep_sound_part(struct fl_text_reader *reader, char *line, const struct fl_procline *why)
{
	bool row = reader->file_kind == FL_PROCFILE_BUDDYINFO || reader->file_kind == FL_PROCFILE_PAGETYPEINFO ||
		   reader->file_kind == FL_PROCFILE_INDEX;

	line[row && why->cells ? why->word - line : 0] = '\0';
}

/* A line of a file of a host that such a file does not have. True: nothing of it can be used. */
static bool refuse_line(struct fl_text_reader *reader, char *line)
{
	struct fl_procline why;

	if (!reader->file_certain || reader->file_kind == FL_PROCFILE_ANY || !*line)
		return false;
	if (fl_procline_check(reader->file_kind, line, &why)) {
		reader->good_lines++;
		return false;
	}
	fl_text_unread(reader, reader->line, &why);
	keep_sound_part(reader, line, &why);
	reader->good_lines += *line != '\0';
	return !*line;
}

/* What kind of table an unused line of a text stands in. */
static enum fl_procfile table_of_text(const struct fl_text_reader *reader)
{
	if (reader->file_kind != FL_PROCFILE_ANY)
		return reader->file_kind;
	if (reader->vmstat_active)
		return FL_PROCFILE_VMSTAT;
	if (reader->meminfo_line && reader->meminfo_line + 1 == reader->line)
		return FL_PROCFILE_MEMINFO;
	return reader->context == TEXT_ZONEINFO ? FL_PROCFILE_ZONEINFO : FL_PROCFILE_ANY;
}

/* In somebody's text: a line that means to be one of the table around it, and is not. True: it was said. */
static bool broken_line(struct fl_text_reader *reader, const char *line)
{
	enum fl_procfile table = table_of_text(reader);
	struct fl_procline why;

	if (table != FL_PROCFILE_VMSTAT && table != FL_PROCFILE_MEMINFO && table != FL_PROCFILE_ZONEINFO)
		return false; /* rows may be wrapped: text_table.c says what is wrong with their cells */
	if (!fl_procline_resembles(table, line) || fl_procline_check(table, line, &why))
		return false;
	fl_text_unread(reader, reader->line, &why);
	if (table == FL_PROCFILE_MEMINFO)
		reader->meminfo_line = reader->line; /* the table goes on behind it */
	return true;
}

static void linux_version(struct fl_text_reader *reader, const char *text)
{
	const char *at = strstr(text, "Linux version ");

	if (!at)
		return;
	at += strlen("Linux version ");
	snprintf(reader->release, sizeof(reader->release), "%.*s", (int)strcspn(at, " "), at);
	if (reader->state && !reader->state->release[0])
		memcpy(reader->state->release, reader->release, sizeof(reader->release));
}

static bool is_within_something(const struct fl_text_reader *reader)
{
	return reader->context != TEXT_NONE || reader->pending_key[0] || reader->held[0] || reader->memcg_figure ||
	       reader->memcg_stats || reader->request_key[0] || (reader->file_certain && reader->file_kind != FL_PROCFILE_ANY);
}

/* A raw line that says nothing, far from everything that did: only its words stay, should the next line go on. */
static bool pass_over(const char *raw, size_t length, uint64_t *odd, void *data)
{
	struct fl_text_reader *reader = data;
	unsigned int at;

	if (reader->busy) {
		reader->busy--;
		return false;
	}
	if (is_within_something(reader))
		return false;
	if (!fl_quiet_line(&reader->quiet, raw, length, odd)) {
		reader->busy = 4; /* it may go on behind its end */
		return false;
	}
	at = reader->passed_count++ % PASSED_KEPT;
	memcpy(reader->passed[at].text, raw, length);
	reader->passed[at].length = length;
	reader->passed[at].line = reader->lines.number;
	reader->report->lines += !reader->lines.piece;
	return true;
}

static void take_clean_line(struct fl_text_reader *reader, const struct fl_line *line);

/* The last lines that were passed over, for their words. */
static void take_passed(struct fl_text_reader *reader)
{
	unsigned int count = reader->passed_count, first = count > PASSED_KEPT ? count - PASSED_KEPT : 0;

	reader->passed_count = 0;
	for (unsigned int i = first; i < count; i++) {
		struct fl_line line = { .number = reader->passed[i % PASSED_KEPT].line };
		char *text = reader->passed[i % PASSED_KEPT].text;
		size_t length = reader->passed[i % PASSED_KEPT].length;

		for (size_t k = 0; k < length; k++)
			if (reader->quiet.odd[(unsigned char)text[k]])
				text[k] = ' ';
		text[length] = '\0';
		line.text = fl_line_clean(text, &line.indented);
		reader->line_used = false;
		take_clean_line(reader, &line);
	}
}

static void take_line(const struct fl_line *line, void *data)
{
	struct fl_text_reader *reader = data;

	if (reader->passed_count)
		take_passed(reader);
	if (!line->piece) {
		reader->report->lines++;
		reader->line_used = false;
	}
	take_clean_line(reader, line);
}

static void take_clean_line(struct fl_text_reader *reader, const struct fl_line *line)
{
	reader->line = line->number;
	reader->indented = line->indented;
	reader->line_text = line->text;
	for (int i = 0; i < HISTORY; i++)
		reader->prev_offset[i] = -1;
	if (!reader->file_certain && marker_line(reader, line->text))
		return;
	if (refuse_line(reader, line->text))
		return;
	linux_version(reader, line->text);
	fl_text_table_new_line(reader, line->text);
	if (fl_text_setting_line(reader, line->text) || fl_text_trace_line(reader, line->text) ||
	    fl_text_table_line(reader, line->text))
		fl_text_use_line(reader, true);
	else if (!broken_line(reader, line->text))
		take_tokens(reader, line->text);
}

struct fl_text_reader *fl_text_reader_new(struct fl_mem_report *report)
{
	struct fl_text_reader *reader = fl_xcalloc(1, sizeof(*reader));

	reader->report = report;
	for (int i = 0; i < HISTORY; i++)
		reader->prev[i] = reader->tokens[i];
	fl_lines_init(&reader->lines, take_line, reader);
	fl_quiet_init(&reader->quiet);
	reader->lines.skip = pass_over;
	reader->busy = QUIET_AFTER;
	return reader;
}

static void end_file(struct fl_text_reader *reader)
{
	fl_lines_end(&reader->lines);
	if (reader->held[0]) {
		take_token(reader, reader->held, -1);
		reader->held[0] = '\0';
	}
	fl_text_table_end_row(reader);
	if (reader->context == TEXT_LIST)
		fl_text_dump_end_list(reader);
	reader->context = TEXT_NONE;
	end_unread(reader);
}

void fl_text_reader_file(struct fl_text_reader *reader, const char *path)
{
	end_file(reader);
	snprintf(reader->file, sizeof(reader->file), "%s", path);
	reader->file_kind = fl_procfile_of(path);
	reader->file_certain = true;
	reader->good_lines = 0;
	fl_mem_report_file(reader->report, path, reader->lines.number);
	reader->vmstat_active = false;
	reader->blocks_header = false;
	reader->memcg_stats = false;
}

/* Tables end with a newline. */
static bool is_cut(const struct fl_text_reader *reader)
{
	return reader->file_certain && reader->lines.length && reader->file_kind != FL_PROCFILE_ANY &&
	       reader->file_kind != FL_PROCFILE_NUMBERS && reader->file_kind != FL_PROCFILE_CHOICE;
}

uint64_t fl_text_reader_end_file(struct fl_text_reader *reader)
{
	bool cut = is_cut(reader);

	end_file(reader);
	if (cut)
		fl_mem_report_warn(reader->report, reader->lines.number - 1,
				   "the file ends without a newline: its last line was cut, and lines may be missing");
	return reader->good_lines;
}

void fl_text_reader_feed(struct fl_text_reader *reader, const char *bytes, size_t length)
{
	fl_lines_feed(&reader->lines, bytes, length);
}

void fl_text_reader_finish(struct fl_text_reader *reader)
{
	end_file(reader);
	fl_text_close_state(reader);
	if (reader->lines.long_line)
		fl_mem_report_warn(reader->report, reader->lines.long_line,
				   "a line of more than %d bytes was read in pieces", FL_LINE_MAX);
	if (reader->lines.odd_bytes && !fl_lines_look_binary(&reader->lines))
		fl_mem_report_warn(reader->report, 0, "%llu control characters were taken as blanks",
				   (unsigned long long)reader->lines.odd_bytes);
	if (reader->callbacks_suppressed)
		fl_mem_report_warn(reader->report, 0,
				   "the kernel suppressed %u further messages of the same kind (rate limit)",
				   reader->callbacks_suppressed);
	fl_mem_values_fini(&reader->node_kb);
	fl_text_finish_report(reader->report);
	free(reader);
}

/* Something that a diagnosis can start from. */
static bool report_has_anything(const struct fl_mem_report *report)
{
	return report->states_count || report->requests_count || report->events_extfrag || report->events_compaction ||
	       report->events_reclaim;
}

static int nothing_recognised(const struct fl_mem_report *report, bool binary, struct fl_error *reterr)
{
	const char *expected = "expected a kernel log with \"page allocation failure\", \"invoked oom-killer\" or "
			       "\"Mem-Info\", or the text of /proc/buddyinfo, pagetypeinfo, zoneinfo, vmstat or "
			       "meminfo";

	if (binary)
		return fl_error_input(reterr, "%s: this is a binary file, not text; %s", report->source, expected);
	return fl_error_input(reterr, "%s: nothing in its %llu lines is about memory; %s", report->source,
			      (unsigned long long)report->lines, expected);
}

int fl_mem_read_stream(FILE *file, struct fl_mem_report *report, struct fl_error *reterr)
{
	struct fl_text_reader *reader = fl_text_reader_new(report);
	char bytes[65536];
	bool binary = false, empty = true;
	int error = 0;
	size_t got;

	while (!binary && (got = fread(bytes, 1, sizeof(bytes), file)) > 0) {
		empty = false;
		fl_text_reader_feed(reader, bytes, got);
		binary = fl_lines_look_binary(&reader->lines);
	}
	if (ferror(file))
		error = errno ? errno : EIO;
	if (binary)
		fl_mem_report_warn(report, reader->line, "binary data from here on; the rest was not read");
	fl_text_reader_finish(reader);
	if (error)
		return fl_error_set(reterr, FL_ERROR_INPUT, -error, "%s: cannot be read: %s", report->source,
				    strerror(error));
	if (empty)
		return fl_error_input(reterr, "%s: the file is empty; expected a dump of the kernel or a file of /proc",
				      report->source);
	if (!report_has_anything(report))
		return nothing_recognised(report, binary, reterr);
	return 0;
}

int fl_mem_read_text_file(const char *path, struct fl_mem_report *report, struct fl_error *reterr)
{
	struct stat st;
	FILE *file;
	int ret;

	if (!strcmp(path, "-"))
		return fl_mem_read_stream(stdin, report, reterr);
	file = fopen(path, "r");
	if (!file)
		return fl_error_set(reterr, FL_ERROR_INPUT, -errno, "%s: cannot be opened: %s", path, strerror(errno));
	if (!fstat(fileno(file), &st) && S_ISDIR(st.st_mode)) {
		fclose(file);
		return fl_error_set(reterr, FL_ERROR_INPUT, -EISDIR, "%s: is a directory", path);
	}
	ret = fl_mem_read_stream(file, report, reterr);
	fclose(file);
	return ret;
}
