/*
 * observe/text_internal.h - the state of the text reader, shared by its files; nobody else includes it.
 *
 * read_text.c cuts lines into tokens and asks in turn text_request.c (heads and fields of failed requests),
 * text_dump.c (Mem-Info) and text_table.c (rows of /proc). Each says whether the token was its own.
 */
#ifndef FL_OBSERVE_TEXT_INTERNAL_H
#define FL_OBSERVE_TEXT_INTERNAL_H

#include "observe/line.h"
#include "observe/procline.h"
#include "observe/quiet.h"
#include "observe/snapshot.h"

#define TOKEN_MAX 320
#define HISTORY 6
#define ROW_MAX 32
#define UNREAD_SAID 8 /* lines of one file that are said one by one */
#define QUIET_AFTER 64 /* lines behind the last one that told something */
#define PASSED_KEPT 2  /* lines that were passed over and may still hold the begin of what the next line goes on with */
#define ZONES_TOTAL_MAX 8192 /* over all states: no text of people comes near */

enum text_context {
	TEXT_NONE,
	TEXT_TOTALS,      /* "active_anon:123 ..." of a Mem-Info */
	TEXT_NODE,        /* "Node 0 active_anon:123kB ..." */
	TEXT_ZONE,        /* "Node 0 Normal free:123kB ..." */
	TEXT_RESERVE,     /* "lowmem_reserve[]: 0 0 0" */
	TEXT_LIST,        /* "Node 0 Normal: 1*4kB (U) ..." */
	TEXT_ROW_NAME,    /* after "Node 0, zone" */
	TEXT_ROW,         /* its figures */
	TEXT_ROW_TYPE,    /* after "type" */
	TEXT_TYPE_HEADER, /* after "Number of blocks type" */
	TEXT_ZONEINFO,
	TEXT_PROTECTION,  /* "protection: (0, 1, 2)" */
};

struct fl_text_reader {
	struct fl_mem_report *report;
	struct fl_lines lines;
	char file[160]; /* what the text says it comes from, as in "/proc/vmstat" */
	enum fl_procfile file_kind; /* of `file`; ANY where the text does not tell */
	bool file_certain;          /* a file of a host was opened, it is not somebody's text */
	unsigned int unread_lines;  /* of this file or text that were said or counted as unreadable */
	unsigned int unread_line;   /* the last of them */
	uint64_t good_lines;        /* of this file */

	struct fl_mem_state *state; /* being filled; NULL before the first */
	int state_index;
	size_t zones_closed; /* of finished states */
	char release[64];
	bool bits32; /* addresses of eight digits in a call trace */

	/* lines that are passed over */
	struct fl_quiet quiet;
	unsigned int busy; /* so many more lines are looked at whatever they say */
	struct {
		char text[FL_LINE_MAX + 1];
		size_t length;
		unsigned int line;
	} passed[PASSED_KEPT];
	unsigned int passed_count; /* since the last line that was not passed over; the newest is (count - 1) % KEPT */

	/* the line and the tokens */
	unsigned int line;
	bool indented, line_used;
	const char *line_text;
	const char *prev[HISTORY];     /* prev[0] is the last token; point into tokens */
	char tokens[HISTORY][TOKEN_MAX];
	int prev_offset[HISTORY];      /* where it began in line_text, -1: on an earlier line */
	char held[TOKEN_MAX];          /* last token of a line that looks cut in the middle */
	enum text_context context;

	/* Mem-Info */
	size_t zone_plus1; /* index of the current zone + 1; 0 none */
	char pending_key[48]; /* "min:" whose value is the next token */
	bool in_list_item; /* a "(UME)" may follow */
	uint64_t list_kb;  /* size of the item that was read last */
	unsigned int list_orders;
	uint64_t list_base_kb, dropped_kb;
	struct fl_mem_values node_kb; /* per-node amounts in kB, to tell the page size when no list is there */
	unsigned int nodes_seen;

	/* rows of /proc */
	int row_node;
	char row_zone[24], row_type[24];
	unsigned int row_line, row_count;
	bool row_has_type, row_decimal, row_negative_one;
	int row_sign[ROW_MAX];
	uint64_t row_values[ROW_MAX];
	uint32_t row_capped;
	bool blocks_header, mixed_header;
	char header_types[FL_MEM_TYPES_MAX][24];
	unsigned int header_types_count;
	unsigned int row_columns; /* of the first row of free lists in this state */
	bool zoneinfo_indented, vmstat_active, memcg_stats;
	bool in_pagesets, in_node_stats;
	unsigned int meminfo_line; /* the last line of meminfo */

	/* requests */
	struct fl_mem_request *request; /* the last head seen */
	struct fl_mem_request *oom;     /* the last OOM, until its victim is named */
	char request_key[24];           /* "order:" or "size" whose value is the next token */
	int memcg_figure;               /* 1: usage comes next, 2: limit */
	bool request_dropped;           /* the last head was one too many to keep */

	/* ftrace text: open begin events by task */
	struct {
		char task[40];
		uint64_t ns;
		bool reclaim;
	} begun[32];
	unsigned int begun_count;
	unsigned int callbacks_suppressed;
};

/* read_text.c */
struct fl_mem_state *fl_text_begin_state(struct fl_text_reader *reader, bool dump);
/* The state that a line of a Mem-Info (dump) or of a /proc file belongs to; NULL when there are too many. */
struct fl_mem_state *fl_text_state(struct fl_text_reader *reader, bool dump);
/* The current line told something, about the current state or about the request. */
void fl_text_use_line(struct fl_text_reader *reader, bool of_state);
/* This line cannot be read because of this word (`length` 0: something is missing). Said, or counted past UNREAD_SAID. */
void fl_text_unread(struct fl_text_reader *reader, unsigned int line, const struct fl_procline *why);
/* Unsigned number at *p (saturating), moves *p behind it; false if there is none. */
bool fl_text_number(const char **p, uint64_t *ret);
bool fl_text_is_number(const char *token);
/* Zone names that kernels have had; `after_node`: any capitalised word will do. */
bool fl_text_is_zone_name(const char *token, bool after_node);

/* text_request.c */
bool fl_text_request_token(struct fl_text_reader *reader, const char *token, int offset);
/* text_dump.c */
bool fl_text_dump_token(struct fl_text_reader *reader, const char *token);
bool fl_text_dump_should_hold(const struct fl_text_reader *reader, const char *token);
bool fl_text_dump_joins(const struct fl_text_reader *reader, const char *joined, const char *token);
void fl_text_dump_end_list(struct fl_text_reader *reader);
/* text_table.c */
bool fl_text_table_line(struct fl_text_reader *reader, char *line);
bool fl_text_table_token(struct fl_text_reader *reader, const char *token);
void fl_text_table_new_line(struct fl_text_reader *reader, const char *line);
void fl_text_table_end_row(struct fl_text_reader *reader);
/* text_setting.c */
bool fl_text_setting_line(struct fl_text_reader *reader, char *line);
bool fl_text_trace_line(struct fl_text_reader *reader, const char *line);
/* finish.c */
void fl_text_close_state(struct fl_text_reader *reader);
void fl_text_finish_report(struct fl_mem_report *report);

#endif
