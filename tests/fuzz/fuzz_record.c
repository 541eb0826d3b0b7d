/* A record whose bytes were damaged on the way (pairs of place and value, then a cut): refused or sound. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void make(struct fl_text *wire)
{
	struct fl_record r;

	fl_record_init(&r);
	for (int i = 0; i < 3; i++)
		fl_record_add(&r, "pgfault", "end", i);
	fl_text_add(&r.log, "hello\n");
	r.has_census = true;
	r.census = (struct fl_census){ .page_size = 4096, .pages_per_block = 512, .zones_count = 1 };
	r.census.blocks_count = 2;
	r.census.blocks = calloc(2, sizeof(*r.census.blocks));
	fl_record_write(&r, wire);
	fl_record_fini(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fl_text wire, again;
	struct fl_record record;
	struct fl_error error = { 0 };
	size_t length;

	fl_text_init(&wire);
	make(&wire);
	length = wire.length;
	for (; size >= 3; data += 3, size -= 3)
		wire.data[(size_t)(data[0] << 8 | data[1]) % wire.length] = (char)data[2];
	if (size == 2)
		length = (size_t)(data[0] << 8 | data[1]) % (wire.length + 1);
	if (fl_record_read(wire.data, length, &record, &error) == 0) {
		fl_text_init(&again);
		fl_record_write(&record, &again);
		if (again.length != length)
			abort();
		fl_text_fini(&again);
		fl_record_fini(&record);
	} else if (!error.text[0]) {
		abort();
	}
	fl_text_fini(&wire);
	return 0;
}
