/* Any bytes as a pasted dump: read, judged and printed without a crash, whatever they are. */
#include "inspected.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	inspected(NULL, size & 1, data, size);
	return 0;
}
