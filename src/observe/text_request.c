/*
 * observe/text_request.c - heads and fields of failed requests in a text.
 *
 * Mirrors what warn_alloc() and dump_header() print (mm/page_alloc.c, mm/oom_kill.c) since 2.5, slab_out_of_memory()
 * of mm/slub.c, kmem_alloc() of XFS and cma_alloc(). A head opens a request; its fields may stand on later lines.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "observe/gfp.h"
#include "observe/text_internal.h"

#define FIELDS_LINES 14 /* fields stand within so many lines of the head */

static bool prev_is(const struct fl_text_reader *reader, int back, const char *word)
{
	return !strcmp(reader->prev[back], word);
}

/* The name in front of a head whose first word is `back` tokens ago: the rest of that line, or the token before. */
static void set_comm(struct fl_text_reader *reader, struct fl_mem_request *request, int back)
{
	char name[200];
	size_t length;

	name[0] = '\0';
	if (back >= 0 && reader->prev_offset[back] > 0)
		snprintf(name, sizeof(name), "%.*s", reader->prev_offset[back], reader->line_text);
	length = strlen(name);
	while (length && (name[length - 1] == ' ' || name[length - 1] == ':'))
		name[--length] = '\0';
	if (!length || length > 30 || strpbrk(name, "=*<(")) {
		snprintf(name, sizeof(name), "%s", back + 1 < HISTORY ? reader->prev[back + 1] : "");
		length = strlen(name);
		if (length < 2 || name[length - 1] != ':')
			return; /* not "comm:"; the line "Comm: x" will tell */
		name[length - 1] = '\0';
	}
	snprintf(request->comm, sizeof(request->comm), "%.39s", name);
}

static struct fl_mem_request *open_request(struct fl_text_reader *reader, enum fl_mem_request_kind kind)
{
	struct fl_mem_request *request = fl_mem_report_add_request(reader->report);

	if (reader->context != TEXT_LIST && reader->context != TEXT_ZONE)
		reader->context = TEXT_NONE;
	reader->request_key[0] = '\0';
	reader->request_dropped = !request;
	reader->request = request;
	if (!request)
		return NULL;
	request->kind = (uint8_t)kind;
	request->line_first = request->line_last = reader->line;
	if (kind == FL_MEM_REQUEST_OOM || kind == FL_MEM_REQUEST_MEMCG)
		reader->oom = request;
	return request;
}

/* Kernels before 4.10 print "vmalloc: allocation failure" and then "comm: page allocation failure" for one event. */
static bool continues_vmalloc(const struct fl_text_reader *reader)
{
	const struct fl_mem_request *last = reader->request;

	return last && last->kind == FL_MEM_REQUEST_VMALLOC && !last->has_gfp && last->state < 0 &&
	       reader->line - last->line_first <= 3;
}

static bool head_page(struct fl_text_reader *reader)
{
	struct fl_mem_request *request = continues_vmalloc(reader) ? reader->request
								   : open_request(reader, FL_MEM_REQUEST_PAGE);

	if (request)
		set_comm(reader, request, 1);
	return true;
}

static bool head_vmalloc(struct fl_text_reader *reader, int back)
{
	struct fl_mem_request *request = open_request(reader, FL_MEM_REQUEST_VMALLOC);

	if (request)
		set_comm(reader, request, back);
	return true;
}

static bool head_oom(struct fl_text_reader *reader)
{
	struct fl_mem_request *request = open_request(reader, FL_MEM_REQUEST_OOM);

	if (request && prev_is(reader, 0, "invoked")) {
		set_comm(reader, request, 0);
		if (!request->comm[0] && reader->prev_offset[0] != 0)
			snprintf(request->comm, sizeof(request->comm), "%.39s", reader->prev[1]);
	}
	return true;
}

/* "Out of memory: Killed process 12 (name)": without an OOM head before it, this line is all there is. */
static bool head_kill(struct fl_text_reader *reader)
{
	bool memcg = prev_is(reader, 3, "cgroup");
	struct fl_mem_request *request = reader->oom;

	if (!request) {
		request = open_request(reader, FL_MEM_REQUEST_OOM);
		if (request && reader->state && reader->state->dump) {
			request->state = reader->state_index;
			request->state_before = true;
		}
	}
	if (request && memcg)
		request->kind = FL_MEM_REQUEST_MEMCG;
	reader->oom = NULL;
	return true;
}

/* SLUB says so after the page allocator did: one event, unless that message is missing. */
static bool head_slub(struct fl_text_reader *reader)
{
	const struct fl_mem_request *last = reader->request;

	if (last && last->kind == FL_MEM_REQUEST_PAGE && last->state >= 0 && last->state == reader->state_index &&
	    reader->line - last->line_last < FIELDS_LINES)
		return true;
	open_request(reader, FL_MEM_REQUEST_SLUB);
	return true;
}

static bool head_kmem(struct fl_text_reader *reader)
{
	struct fl_mem_request *request = open_request(reader, FL_MEM_REQUEST_KMEM);

	if (request && reader->prev[3][0]) {
		size_t length = strcspn(reader->prev[3], "(");

		snprintf(request->comm, sizeof(request->comm), "%.*s", length < 39 ? (int)length : 39, reader->prev[3]);
	}
	return true;
}

static bool head_cma(struct fl_text_reader *reader)
{
	if (open_request(reader, FL_MEM_REQUEST_CMA))
		snprintf(reader->request_key, sizeof(reader->request_key), "req-size:");
	return true;
}

/* Does this token end the head of a request? Opens it and says so. */
static bool head_token(struct fl_text_reader *reader, const char *token)
{
	if ((!strncmp(token, "failure", 7) || !strcmp(token, "stalls")) && prev_is(reader, 0, "allocation")) {
		if (prev_is(reader, 1, "page")) {
			head_page(reader);
			if (reader->request && token[0] == 's')
				reader->request->kind = FL_MEM_REQUEST_STALL;
			return true;
		}
		if (prev_is(reader, 1, "vmalloc:"))
			return head_vmalloc(reader, 1);
	}
	if (!strcmp(token, "error:") && prev_is(reader, 0, "vmalloc"))
		return head_vmalloc(reader, 0);
	if (!strcmp(token, "allocation") && prev_is(reader, 0, "vmap")) {
		head_vmalloc(reader, 0);
		if (reader->request)
			reader->request->vm_struct = true;
		return true;
	}
	if (!strcmp(token, "oom-killer:"))
		return head_oom(reader);
	if (!strncasecmp(token, "kill", 4) && !strcasecmp(reader->prev[0], "memory:") && prev_is(reader, 1, "of"))
		return head_kill(reader);
	if (!strcmp(token, "allocate") && prev_is(reader, 1, "Unable") && prev_is(reader, 2, "SLUB:"))
		return head_slub(reader);
	if (!strcmp(token, "deadlock") && prev_is(reader, 0, "allocation") && prev_is(reader, 2, "possible"))
		return head_kmem(reader);
	if (!strncmp(token, "mm/page_alloc.c:", 16) && prev_is(reader, 0, "at"))
		return open_request(reader, FL_MEM_REQUEST_WARNING) || true;
	if (!strcmp(token, "req-size:"))
		return head_cma(reader);
	return false;
}

static void parse_gfp(struct fl_text_reader *reader, struct fl_mem_request *request, const char *text)
{
	char *end, unknown[60];

	request->gfp_raw = strtoull(text, &end, 0);
	if (end == text)
		return;
	request->has_gfp = true;
	if (*end != '(') {
		request->gfp = fl_gfp_from_raw(request->gfp_raw, &request->gfp_old_layout);
		return;
	}
	snprintf(request->gfp_names, sizeof(request->gfp_names), "%.*s", (int)strcspn(end + 1, ")"), end + 1);
	request->gfp = fl_gfp_from_names(request->gfp_names, unknown, sizeof(unknown));
	if (unknown[0])
		fl_mem_report_warn(reader->report, reader->line, "unknown gfp flag \"%s\" was left out", unknown);
}

/* "order:00*1024kB": another CPU wrote into the middle; the last digit in front of the star is not ours. */
static void parse_order(struct fl_text_reader *reader, struct fl_mem_request *request, const char *text)
{
	size_t digits = strspn(text, "0123456789");
	char number[16];

	if (!strcmp(text, "-1")) { /* SysRq-f */
		request->order = -1;
		request->has_order = true;
		return;
	}
	if (!digits || digits >= sizeof(number))
		return;
	memcpy(number, text, digits);
	number[digits] = '\0';
	if (text[digits] == '*' && digits > 1) {
		number[digits - 1] = '\0';
		fl_text_dump_token(reader, text + digits - 1);
	}
	request->order = (int)strtol(number, NULL, 10);
	request->has_order = true;
}

static void set_text(char *to, size_t size, const char *from)
{
	snprintf(to, size, "%.*s", (int)size - 1, from);
}

/* One "key=value" or "key:value" of a head; false if it is not one of ours. */
static bool field(struct fl_text_reader *reader, struct fl_mem_request *request, const char *text)
{
	if (*text == '(')
		text++;
	if (!strncmp(text, "order:", 6) || !strncmp(text, "order=", 6)) {
		if (!text[6])
			set_text(reader->request_key, sizeof(reader->request_key), "order:");
		else
			parse_order(reader, request, text + 6);
	} else if (!strncmp(text, "mode:", 5)) {
		parse_gfp(reader, request, text + 5);
	} else if (!strncmp(text, "gfp_mask=", 9)) {
		parse_gfp(reader, request, text + 9);
	} else if (!strncmp(text, "gfp=", 4)) {
		parse_gfp(reader, request, text + 4);
	} else if (!strncmp(text, "nodemask=", 9)) {
		set_text(request->nodemask, sizeof(request->nodemask), text + 9);
	} else if (!strncmp(text, "cpuset=", 7)) {
		set_text(request->cpuset, sizeof(request->cpuset), text + 7);
	} else if (!strncmp(text, "mems_allowed=", 13)) {
		set_text(request->mems_allowed, sizeof(request->mems_allowed), text + 13);
	} else {
		return false;
	}
	return true;
}

static void constraint_field(struct fl_mem_request *request, const char *text)
{
	if (!strncmp(text, "oom-kill:", 9))
		text += 9;
	if (!strncmp(text, "constraint=", 11))
		set_text(request->constraint, sizeof(request->constraint), text + 11);
	else if (!strncmp(text, "oom_memcg=", 10))
		set_text(request->memcg, sizeof(request->memcg), text + 10);
	else if (!strncmp(text, "nodemask=", 9) && !request->nodemask[0])
		set_text(request->nodemask, sizeof(request->nodemask), text + 9);
	if (!strcmp(request->constraint, "CONSTRAINT_MEMCG"))
		request->kind = FL_MEM_REQUEST_MEMCG;
}

/* A list of nodes goes on after a comma: "mems_allowed=0-1,3". */
static void append_nodes(struct fl_mem_request *request, const char *part, bool to_mems)
{
	char *list = to_mems ? request->mems_allowed : request->nodemask;
	size_t size = sizeof(request->nodemask), length = strlen(list);

	if (length && length + strlen(part) + 2 < size)
		snprintf(list + length, size - length, ",%s", part);
}

static bool fields(struct fl_text_reader *reader, struct fl_mem_request *request, const char *token)
{
	char copy[TOKEN_MAX], *part, *rest = copy;
	bool used = false, constraint = !strncmp(token, "oom-kill:", 9);
	int nodes = 0; /* 1 after nodemask, 2 after mems_allowed */

	set_text(copy, sizeof(copy), token);
	while ((part = strsep(&rest, ","))) {
		if (constraint) {
			constraint_field(request, part);
			used = true;
		} else if (field(reader, request, part)) {
			nodes = !strncmp(part, "nodemask=", 9) ? 1 : !strncmp(part, "mems_allowed=", 13) ? 2 : 0;
			used = true;
		} else if (nodes && isdigit((unsigned char)*part)) {
			append_nodes(request, part, nodes == 2);
		}
	}
	return used;
}

static void keyed_value(struct fl_text_reader *reader, struct fl_mem_request *request, const char *token)
{
	const char *p = token;
	uint64_t value;

	if (fl_text_number(&p, &value)) {
		if (!strcmp(reader->request_key, "order:")) {
			parse_order(reader, request, token);
		} else if (!strcmp(reader->request_key, "req-size:")) {
			request->size_bytes = value < (UINT64_MAX >> 12) ? value << 12 : FL_MEM_NONE;
		} else {
			request->size_bytes = value;
		}
	}
	reader->request_key[0] = '\0';
}

/* Words of a head that stand without "=": sizes, the page order of vmalloc, and why it failed. */
static bool word(struct fl_text_reader *reader, struct fl_mem_request *request, const char *token)
{
	if (reader->request_key[0]) {
		keyed_value(reader, request, token);
		return true;
	}
	if (!strcmp(token, "size") && (request->kind == FL_MEM_REQUEST_VMALLOC || request->kind == FL_MEM_REQUEST_KMEM)) {
		set_text(reader->request_key, sizeof(reader->request_key), "size");
		return true;
	}
	if (!strcmp(token, "of") && !strncmp(reader->prev[1], "allocated", 9) && request->kind == FL_MEM_REQUEST_VMALLOC) {
		set_text(reader->request_key, sizeof(reader->request_key), "size");
		return true;
	}
	if (prev_is(reader, 0, "order") && prev_is(reader, 1, "page") && isdigit((unsigned char)*token)) {
		parse_order(reader, request, token);
		return true;
	}
	if (!strcmp(token, "vm_struct") && request->kind == FL_MEM_REQUEST_VMALLOC)
		return request->vm_struct = true;
	return false;
}

/* "memory: usage 524268kB, limit 524288kB, failcnt 28608" of a memory cgroup. */
static bool memcg_figures(struct fl_text_reader *reader, const char *token)
{
	struct fl_mem_request *request = reader->oom ? reader->oom : reader->request;
	const char *p = token;
	uint64_t value;

	if (!request)
		return false;
	if (!strcmp(token, "usage") && prev_is(reader, 0, "memory:")) {
		reader->memcg_figure = 1;
	} else if (!strcmp(token, "limit") && reader->memcg_figure) {
		reader->memcg_figure = 2;
	} else if (reader->memcg_figure && fl_text_number(&p, &value)) {
		if (reader->memcg_figure == 1) {
			request->memcg_usage_kb = value;
		} else {
			request->memcg_limit_kb = value;
			reader->memcg_figure = 0;
		}
		request->kind = FL_MEM_REQUEST_MEMCG;
	} else {
		return false;
	}
	return true;
}

/* Functions that say nothing about who asked. */
static bool is_printer(const char *function)
{
	static const char *const printers[] = { "dump_stack", "show_stack", "unwind_backtrace", "dump_backtrace",
						"warn_alloc", "dump_header", "__dump_stack", "show_mem", "__show_mem" };

	for (size_t i = 0; i < sizeof(printers) / sizeof(printers[0]); i++)
		if (!strncmp(function, printers[i], strlen(printers[i])))
			return true;
	return false;
}

/* "mhi_prepare_channel+0x127/0x2d0" */
static bool trace_entry(struct fl_text_reader *reader, struct fl_mem_request *request, const char *token)
{
	const char *plus = strstr(token, "+0x");
	const char *start = token;

	if (!plus || !strchr(plus, '/'))
		return false;
	if (*start == '(')
		start++;
	if (plus - start < 2 || plus - start > 80 || prev_is(reader, 0, "?"))
		return true;
	if (!strncmp(start, "mem_cgroup_out_of_memory+", 25) || !strncmp(start, "mem_cgroup_oom", 14))
		request->kind = FL_MEM_REQUEST_MEMCG;
	if (!strncmp(start, "pagefault_out_of_memory+", 24))
		request->pagefault_oom = true;
	if (is_printer(start) || request->trace_count >= sizeof(request->trace) / sizeof(request->trace[0]))
		return true;
	request->trace[request->trace_count++] = fl_xasprintf("%.*s", (int)(plus - start), start);
	return true;
}

/* "warn_alloc: 6 callbacks suppressed" */
static bool suppressed(struct fl_text_reader *reader, const char *token)
{
	if (strcmp(token, "suppressed") || !prev_is(reader, 0, "callbacks") || strncmp(reader->prev[2], "warn_alloc", 10))
		return false;
	reader->callbacks_suppressed += (unsigned int)strtoul(reader->prev[1], NULL, 10);
	return true;
}

bool fl_text_request_token(struct fl_text_reader *reader, const char *token, int offset)
{
	struct fl_mem_request *request;

	(void)offset;
	if (head_token(reader, token) || suppressed(reader, token))
		return true;
	request = reader->request;
	if (!strncmp(token, "oom-kill:constraint=", 20)) {
		request = reader->oom ? reader->oom : request;
		return request && fields(reader, request, token);
	}
	if (memcg_figures(reader, token))
		return true;
	if (!request)
		return false;
	if (prev_is(reader, 0, "Comm:") && !request->comm[0] && request->line_first + FIELDS_LINES > reader->line) {
		set_text(request->comm, sizeof(request->comm), token);
		return true;
	}
	if (request->state < 0 && trace_entry(reader, request, token))
		return true;
	if (reader->line > request->line_first + FIELDS_LINES)
		return false;
	return word(reader, request, token) || fields(reader, request, token);
}
