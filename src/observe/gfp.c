/*
 * observe/gfp.c - tables of gfp names and of the bit layouts of old kernels.
 *
 * Sources: include/linux/gfp.h (before 5.19) and gfp_types.h, include/trace/events/mmflags.h; the layout before 4.4 is
 * that of include/linux/gfp.h in 2.6.32 to 4.3, which kept the low bits throughout.
 */
#include "observe/gfp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "observe/snapshot.h"

#define RECLAIM (FL_GFP_DIRECT_RECLAIM | FL_GFP_KSWAPD_RECLAIM)
#define KERNEL (RECLAIM | FL_GFP_IO | FL_GFP_FS)
#define USER (KERNEL | FL_GFP_HARDWALL)
#define LIGHT (((USER | FL_GFP_HIGHMEM | FL_GFP_MOVABLE | FL_GFP_COMP | FL_GFP_NOMEMALLOC | FL_GFP_NOWARN)) & ~RECLAIM)

static const struct {
	const char *name;
	uint32_t bits;
} names_table[] = {
	{ "GFP_KERNEL", KERNEL },
	{ "GFP_KERNEL_ACCOUNT", KERNEL | FL_GFP_ACCOUNT },
	{ "GFP_ATOMIC", FL_GFP_HIGH | FL_GFP_KSWAPD_RECLAIM | FL_GFP_ATOMIC },
	{ "GFP_NOWAIT", FL_GFP_KSWAPD_RECLAIM },
	{ "GFP_NOIO", RECLAIM },
	{ "GFP_NOFS", RECLAIM | FL_GFP_IO },
	{ "GFP_TEMPORARY", KERNEL | FL_GFP_RECLAIMABLE },
	{ "GFP_USER", USER },
	{ "GFP_HIGHUSER", USER | FL_GFP_HIGHMEM },
	{ "GFP_HIGHUSER_MOVABLE", USER | FL_GFP_HIGHMEM | FL_GFP_MOVABLE },
	{ "GFP_TRANSHUGE_LIGHT", LIGHT },
	{ "GFP_TRANSHUGE", LIGHT | FL_GFP_DIRECT_RECLAIM },
	{ "GFP_DMA", FL_GFP_DMA },
	{ "GFP_DMA32", FL_GFP_DMA32 },
	{ "__GFP_DMA", FL_GFP_DMA },
	{ "__GFP_DMA32", FL_GFP_DMA32 },
	{ "__GFP_HIGHMEM", FL_GFP_HIGHMEM },
	{ "__GFP_MOVABLE", FL_GFP_MOVABLE },
	{ "__GFP_RECLAIMABLE", FL_GFP_RECLAIMABLE },
	{ "__GFP_HIGH", FL_GFP_HIGH },
	{ "__GFP_ATOMIC", FL_GFP_ATOMIC },
	{ "__GFP_IO", FL_GFP_IO },
	{ "__GFP_FS", FL_GFP_FS },
	{ "__GFP_DIRECT_RECLAIM", FL_GFP_DIRECT_RECLAIM },
	{ "__GFP_KSWAPD_RECLAIM", FL_GFP_KSWAPD_RECLAIM },
	{ "__GFP_RECLAIM", RECLAIM },
	{ "__GFP_WAIT", RECLAIM },
	{ "__GFP_NOWARN", FL_GFP_NOWARN },
	{ "__GFP_RETRY_MAYFAIL", FL_GFP_RETRY_MAYFAIL },
	{ "__GFP_REPEAT", FL_GFP_RETRY_MAYFAIL },
	{ "__GFP_NOFAIL", FL_GFP_NOFAIL },
	{ "__GFP_NORETRY", FL_GFP_NORETRY },
	{ "__GFP_MEMALLOC", FL_GFP_MEMALLOC },
	{ "__GFP_NOMEMALLOC", FL_GFP_NOMEMALLOC },
	{ "__GFP_COMP", FL_GFP_COMP },
	{ "__GFP_ZERO", FL_GFP_ZERO },
	{ "__GFP_HARDWALL", FL_GFP_HARDWALL },
	{ "__GFP_THISNODE", FL_GFP_THISNODE },
	{ "__GFP_ACCOUNT", FL_GFP_ACCOUNT },
	{ "__GFP_WRITE", FL_GFP_WRITE },
	/* known, without a part in what we work out */
	{ "__GFP_COLD", 0 }, { "__GFP_NOTRACK", 0 }, { "__GFP_ZEROTAGS", 0 }, { "__GFP_SKIP_ZERO", 0 },
	{ "__GFP_SKIP_KASAN", 0 }, { "__GFP_SKIP_KASAN_POISON", 0 }, { "__GFP_SKIP_KASAN_UNPOISON", 0 },
	{ "__GFP_NOLOCKDEP", 0 }, { "__GFP_OTHER_NODE", 0 }, { "__GFP_NO_OBJ_EXT", 0 }, { "__GFP_CMA", 0 },
	{ "none", 0 },
};

static bool name_bits(const char *name, size_t length, uint32_t *bits)
{
	for (size_t i = 0; i < sizeof(names_table) / sizeof(names_table[0]); i++) {
		if (strlen(names_table[i].name) == length && !strncmp(names_table[i].name, name, length)) {
			*bits |= names_table[i].bits;
			return true;
		}
	}
	return false;
}

uint32_t fl_gfp_from_names(const char *names, char *ret_unknown, size_t unknown_size)
{
	uint32_t bits = 0;

	ret_unknown[0] = '\0';
	while (*names) {
		size_t length = strcspn(names, "|");

		if (length && !name_bits(names, length, &bits) && !ret_unknown[0])
			snprintf(ret_unknown, unknown_size, "%.*s", (int)length, names);
		names += length;
		names += *names == '|';
	}
	return bits;
}

struct raw_bit {
	uint64_t raw;
	uint32_t bits;
};

/* Kernels before 4.4: __GFP_WAIT is 0x10. */
static const struct raw_bit old_layout[] = {
	{ 0x01, FL_GFP_DMA }, { 0x02, FL_GFP_HIGHMEM }, { 0x04, FL_GFP_DMA32 }, { 0x08, FL_GFP_MOVABLE },
	{ 0x10, RECLAIM }, { 0x20, FL_GFP_HIGH }, { 0x40, FL_GFP_IO }, { 0x80, FL_GFP_FS },
	{ 0x200, FL_GFP_NOWARN }, { 0x400, FL_GFP_RETRY_MAYFAIL }, { 0x800, FL_GFP_NOFAIL },
	{ 0x1000, FL_GFP_NORETRY }, { 0x2000, FL_GFP_MEMALLOC }, { 0x4000, FL_GFP_COMP }, { 0x8000, FL_GFP_ZERO },
	{ 0x10000, FL_GFP_NOMEMALLOC }, { 0x20000, FL_GFP_HARDWALL }, { 0x40000, FL_GFP_THISNODE },
	{ 0x80000, FL_GFP_RECLAIMABLE },
};

/* Kernels 4.4 and 4.5. */
static const struct raw_bit layout_4_4[] = {
	{ 0x01, FL_GFP_DMA }, { 0x02, FL_GFP_HIGHMEM }, { 0x04, FL_GFP_DMA32 }, { 0x08, FL_GFP_MOVABLE },
	{ 0x10, FL_GFP_RECLAIMABLE }, { 0x20, FL_GFP_HIGH }, { 0x40, FL_GFP_IO }, { 0x80, FL_GFP_FS },
	{ 0x200, FL_GFP_NOWARN }, { 0x400, FL_GFP_RETRY_MAYFAIL }, { 0x800, FL_GFP_NOFAIL },
	{ 0x1000, FL_GFP_NORETRY }, { 0x2000, FL_GFP_MEMALLOC }, { 0x4000, FL_GFP_COMP }, { 0x8000, FL_GFP_ZERO },
	{ 0x10000, FL_GFP_NOMEMALLOC }, { 0x20000, FL_GFP_HARDWALL }, { 0x40000, FL_GFP_THISNODE },
	{ 0x80000, FL_GFP_ATOMIC }, { 0x400000, FL_GFP_DIRECT_RECLAIM }, { 0x2000000, FL_GFP_KSWAPD_RECLAIM },
};

uint32_t fl_gfp_from_raw(uint64_t raw, bool *ret_old)
{
	const struct raw_bit *layout = old_layout;
	size_t count = sizeof(old_layout) / sizeof(old_layout[0]);
	uint32_t bits = 0;

	*ret_old = !(raw & 0x2400000);
	if (!*ret_old) {
		layout = layout_4_4;
		count = sizeof(layout_4_4) / sizeof(layout_4_4[0]);
	}
	for (size_t i = 0; i < count; i++)
		if (raw & layout[i].raw)
			bits |= layout[i].bits;
	return bits;
}

unsigned int fl_release_number(const char *release)
{
	char *end;
	unsigned long major = strtoul(release, &end, 10), minor;

	if (end == release || *end != '.' || major > 99)
		return 0;
	release = end + 1;
	minor = strtoul(release, &end, 10);
	if (end == release || minor > 999)
		return 0;
	return (unsigned int)(major * 1000 + minor);
}
