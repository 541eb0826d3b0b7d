/* report/pngfile.c - the picture of a map as a file. */
#include "report/map.h"
#include "report/output.h"

int fl_map_write_png(const struct fl_census *census, const char *title, const char *path, struct fl_error *reterr)
{
	struct fl_map_picture picture = {census, title};
	struct fl_output output;
	struct fl_text bytes;
	int code = fl_output_open(path, &output, reterr);

	if (code < 0)
		return code;
	fl_text_init(&bytes);
	code = fl_map_encode_png(&picture, 1, &bytes, reterr);
	if (code == 0)
		code = fl_output_commit(&output, bytes.data, bytes.length, reterr);
	else
		fl_output_drop(&output);
	fl_text_fini(&bytes);
	return code;
}
