/* Any bytes as the content of one file of a host; the first byte chooses which. */
#include "inspected.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const paths[] = {
	"proc/buddyinfo",
	"proc/pagetypeinfo",
	"proc/zoneinfo",
	"proc/vmstat",
	"proc/meminfo",
	"proc/sys/vm/min_free_kbytes",
	"sys/kernel/debug/extfrag/unusable_index",
	"sys/kernel/debug/extfrag/extfrag_index",
	"sys/kernel/mm/transparent_hugepage/enabled",
	"sys/kernel/mm/transparent_hugepage/hugepages-64kB/stats/anon_fault_alloc",
	"sys/kernel/mm/transparent_hugepage/hugepages-64kB/enabled",
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size)
		inspected(paths[data[0] % (sizeof(paths) / sizeof(paths[0]))], false, data + 1, size - 1);
	return 0;
}
