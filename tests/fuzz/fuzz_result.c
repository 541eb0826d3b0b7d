/* Any bytes as a result document: a sentence, or a result that can be printed in every form and read back. */
#include <stdint.h>
#include <stdlib.h>

#include "report/result_json.h"
#include "report/table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fl_result result, again;
	struct fl_error error = { 0 };
	struct fl_text text;

	if (fl_result_parse_json("input", (const char *)data, size, &result, &error) < 0) {
		if (error.class != FL_ERROR_INPUT || !error.text[0])
			abort();
		return 0;
	}
	fl_text_init(&text);
	fl_report_table(&result, true, &text);
	fl_report_csv(&result, &text);
	fl_report_mail(&result, &text);
	fl_text_clear(&text);
	fl_result_write_json(&result, &text);
	if (fl_result_parse_json("output", text.data, text.length, &again, &error) < 0)
		abort();
	fl_result_fini(&again);
	fl_result_fini(&result);
	fl_text_fini(&text);
	return 0;
}
