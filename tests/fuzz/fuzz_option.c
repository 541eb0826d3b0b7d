/* Words of any bytes, divided by newlines, as a command line: refused with a sentence, or values within their limits. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/option.h"
#include "base/size.h"
#include "base/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const choices[] = { "sim", "live", NULL };
static const struct fl_option table[] = {
	{ "kernel", 'k', FL_OPTION_LIST },
	{ "memory", 'm', FL_OPTION_SIZE, NULL, "2G", NULL, NULL, 1 << 20, INT64_C(1) << 44, 4096 },
	{ "runs", 'n', FL_OPTION_INT, NULL, "1", NULL, NULL, 1, 1000 },
	{ "wait", 0, FL_OPTION_DURATION },
	{ "on", 0, FL_OPTION_CHOICE, NULL, "sim", NULL, NULL, 0, 0, 0, choices },
	{ "quiet", 'q', FL_OPTION_FLAG },
};

static void check_values(const struct fl_option_set *set)
{
	int64_t memory = fl_option_number(set, "memory"), wait = fl_option_number(set, "wait"), back;
	char text[32];

	if (memory < 1 << 20 || memory > INT64_C(1) << 44 || memory % 4096 || wait < 0)
		abort();
	if (fl_option_number(set, "runs") < 1 || fl_option_number(set, "runs") > 1000)
		abort();
	if (fl_size_parse(fl_size_format(memory, text, sizeof(text)), &back, NULL) < 0 || back != memory)
		abort();
	if (fl_duration_parse(fl_duration_format(wait, text, sizeof(text)), &back, NULL) < 0 || back != wait)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *argv[34] = { "compare" }, *text = malloc(size + 1), *rest = text;
	struct fl_error error = { 0 };
	struct fl_option_set set;
	int argc = 1, operands;

	memcpy(text, data, size);
	text[size] = '\0';
	while (argc < 33 && rest)
		argv[argc++] = strsep(&rest, "\n");
	fl_option_set_init(&set, table, sizeof(table) / sizeof(table[0]));
	if (fl_option_parse(&set, argc, argv, &operands, &error) < 0) {
		if (error.class != FL_ERROR_INPUT || !error.text[0])
			abort();
	}
	check_values(&set);
	fl_option_set_fini(&set);
	free(text);
	return 0;
}
