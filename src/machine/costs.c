/*
 * machine/costs.c - the table of costs of a machine: the defaults, a file of `fraglab calibrate` (or of a person) laid over them, and
 * the slowness of an emulated CPU.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine/geometry.h"

#define FILE_MAX_BYTES (1 << 20)

/* The file's text (free()), or NULL. */
static char *read_file(const char *path, size_t *ret_length, struct fl_error *reterr)
{
	char *text = malloc(FILE_MAX_BYTES + 1);
	FILE *file = fopen(path, "re");

	if (!text || !file) {
		fl_error_input(reterr, "%s: %s", path, strerror(errno));
		goto fail;
	}
	*ret_length = fread(text, 1, FILE_MAX_BYTES + 1, file);
	if (ferror(file)) {
		fl_error_input(reterr, "%s: %s", path, strerror(errno ? errno : EIO));
		goto fail;
	}
	if (*ret_length > FILE_MAX_BYTES) {
		fl_error_input(reterr, "%s: a file of costs has at most 1 MiB", path);
		goto fail;
	}
	fclose(file);
	return text;
fail:
	if (file)
		fclose(file);
	free(text);
	return NULL;
}

int fl_machine_set_costs(struct fl_machine *machine, const char *path, struct fl_error *reterr)
{
	size_t length;
	char *text;
	int error;

	machine->cost = fl_cost_default;
	machine->has_cost_file = path != NULL;
	if (path) {
		text = read_file(path, &length, reterr);
		if (!text)
			return -EINVAL;
		error = fl_cost_parse(&machine->cost, path, text, length, reterr);
		free(text);
		if (error)
			return error;
	}
	fl_cost_scale(&machine->cost, machine->slowness);
	return 0;
}
