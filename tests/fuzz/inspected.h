/* tests/fuzz/inspected.h - a text through reader, diagnosis and both outputs; for the targets that fuzz observe. */
#ifndef FL_TESTS_FUZZ_INSPECTED_H
#define FL_TESTS_FUZZ_INSPECTED_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "observe/inspect.h"
#include "observe/read_text.h"

static void inspected_print(const struct fl_mem_report *report)
{
	struct fl_inspect inspect;
	struct fl_text text;
	json_t *document;

	fl_inspect_init(&inspect, report, NULL);
	fl_text_init(&text);
	fl_inspect_text(&inspect, true, &text);
	if (strlen(text.data) != text.length)
		abort();
	fl_text_clear(&text);
	document = fl_inspect_json(&inspect);
	fl_json_write(document, &text);
	json_decref(document);
	fl_text_fini(&text);
	fl_inspect_fini(&inspect);
}

/* Every figure that a request is judged by must be within its array. */
static void inspected_check(const struct fl_mem_report *report)
{
	for (size_t i = 0; i < report->requests_count; i++)
		if (report->requests[i]->state >= (int)report->states_count)
			abort();
	for (size_t i = 0; i < report->states_count; i++) {
		if (!report->states[i]->page_size)
			abort();
		for (size_t z = 0; z < report->states[i]->zones_count; z++)
			if (report->states[i]->zones[z].orders_count > FL_MEM_ORDERS_MAX)
				abort();
	}
}

/* `log`: behind so many lines that say nothing that the reader has begun to pass over them. */
static inline void inspected(const char *path, bool log, const uint8_t *data, size_t size)
{
	static const char dull[] = "[    1.000000] usb 1-1: new device found\n";
	struct fl_mem_report report;
	struct fl_text_reader *reader;

	fl_mem_report_init(&report, "fuzz");
	reader = fl_text_reader_new(&report);
	if (path)
		fl_text_reader_file(reader, path);
	for (int i = 0; log && i < 70; i++)
		fl_text_reader_feed(reader, dull, sizeof(dull) - 1);
	fl_text_reader_feed(reader, (const char *)data, size);
	fl_text_reader_finish(reader);
	inspected_check(&report);
	inspected_print(&report);
	fl_mem_report_fini(&report);
}

#endif
