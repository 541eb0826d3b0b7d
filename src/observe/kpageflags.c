/*
 * observe/kpageflags.c - the census of a live kernel.
 *
 * Reads what fs/proc/page.c prints, one pageblock at a time, inside the spans of the zones. Owns the rules that turn
 * page flags into census classes (kernel-facts, allocator 10.2) and those that tell memory which the allocator does
 * not manage yet from kernel memory: both print as pages without any flag.
 */
#include "observe/kpageflags.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bug.h"
#include "base/text.h"
#include "observe/hostfile.h"
#include "observe/zonespan.h"

#define BIT(n) (1ull << (n))
#define BATCH_BYTES (1u << 20)

struct scan {
	struct fl_census census;
	struct fl_zonespan spans[FL_CENSUS_ZONES_MAX];
	struct fl_ram_range *ram;
	size_t ram_count;
	unsigned int block_order, pmd_order;
	uint32_t pages_per_block;
	int flags_fd, count_fd; /* count_fd -1: not there */

	uint64_t *batch;        /* flags of the pageblocks that were read together */
	uint64_t batch_start, batch_count, batch_room;

	/* Of the pageblock in work. */
	const uint64_t *flags;
	uint8_t *class;
	bool *unidentified;
	int32_t *slots;
	uint64_t *counts;
	size_t blocks_capacity;
	struct fl_census_pages *pages; /* NULL: not wanted */
	bool *all_zero;         /* by block: no page has any flag; candidates for memory that is not managed */

	struct fl_text *notes;  /* NULL: nobody wants them */
	bool counts_failed;     /* it was noted that kpagecount could not be read */
};

static void __attribute__((format(printf, 2, 3))) note(struct scan *scan, const char *fmt, ...)
{
	va_list ap;

	if (!scan->notes)
		return;
	va_start(ap, fmt);
	fl_text_vadd(scan->notes, fmt, ap);
	va_end(ap);
	fl_text_add_char(scan->notes, '\n', 1);
}

/* A file that helps the census; not being there is no news, since the reader of the host says that. */
static bool read_helper(struct scan *scan, const char *root, const char *name, const char *without, struct fl_text *to)
{
	struct fl_error error = { .text = "" };
	int code = fl_hostfile_read(root, name, to, &error);

	if (code < 0 && code != -ENOENT)
		note(scan, "%s; without it, %s", error.text, without);
	return code == 0;
}

/* ---- one page ---- */

enum fl_census_class fl_kpageflags_classify(uint64_t flags, bool *ret_unidentified)
{
	*ret_unidentified = false;
	if (flags & BIT(FL_KPF_NOPAGE))
		return FL_CENSUS_HOLE;
	if (flags & BIT(FL_KPF_HWPOISON))
		return FL_CENSUS_RESERVED;
	if (flags & BIT(FL_KPF_BUDDY))
		return FL_CENSUS_FREE;
	if (flags & BIT(FL_KPF_RESERVED))
		return FL_CENSUS_RESERVED;
	if (flags & BIT(FL_KPF_OFFLINE))
		return FL_CENSUS_DRIVER;
	if (flags & BIT(FL_KPF_HUGE))
		return FL_CENSUS_HUGETLB;
	if (flags & BIT(FL_KPF_PGTABLE))
		return FL_CENSUS_PGTABLE;
	/* Before ANON and KSM: since 6.17 these bits of a slab page are part of a pointer and mean nothing. */
	if (flags & BIT(FL_KPF_SLAB))
		return FL_CENSUS_SLAB;
	if (flags & (BIT(FL_KPF_LRU) | BIT(FL_KPF_ANON) | BIT(FL_KPF_SWAPCACHE) | BIT(FL_KPF_SWAPBACKED))) {
		if (flags & BIT(FL_KPF_UNEVICTABLE))
			return FL_CENSUS_MLOCKED;
		return flags & BIT(FL_KPF_ANON) ? FL_CENSUS_ANON : FL_CENSUS_FILE;
	}
	/*
	 * Page cache that waits for the LRU in a per-CPU batch, or that is isolated, is up to date. A page that is
	 * mapped but was never up to date was mapped by a driver and stays where it is.
	 */
	if (flags & BIT(FL_KPF_UPTODATE) && !(flags & (BIT(FL_KPF_HEAD) | BIT(FL_KPF_TAIL))))
		return FL_CENSUS_FILE;
	*ret_unidentified = flags == 0;
	return FL_CENSUS_KERNEL;
}

static bool is_ram(const struct scan *scan, uint64_t pfn)
{
	if (!scan->ram_count)
		return true;
	for (size_t i = 0; i < scan->ram_count; i++) {
		if (pfn < scan->ram[i].end_pfn)
			return pfn >= scan->ram[i].start_pfn;
	}
	return false;
}

/* ---- one pageblock ---- */

/* Turns a folio of PMD order that starts at page i into HUGE; returns its length, or 1 if there is none. */
static uint32_t mark_huge(struct scan *scan, uint32_t i)
{
	uint32_t length = 1u << scan->pmd_order, n = 1;

	if (!(scan->flags[i] & BIT(FL_KPF_HEAD)) || !(scan->flags[i] & BIT(FL_KPF_THP)))
		return 1;
	if (i % length || i + length > scan->pages_per_block)
		return 1;
	while (n < length && (scan->flags[i + n] & BIT(FL_KPF_TAIL)))
		n++;
	if (n < length)
		return 1;
	memset(scan->class + i, FL_CENSUS_HUGE, length);
	return length;
}

/* Classes of the pages [from, to) of the block at start_pfn; the others lie outside the zone. */
static void classify_block(struct scan *scan, uint64_t start_pfn, uint32_t from, uint32_t to, bool *ret_all_zero)
{
	bool zero = true;

	memset(scan->class, FL_CENSUS_HOLE, scan->pages_per_block);
	memset(scan->unidentified, 0, scan->pages_per_block * sizeof(bool));
	for (uint32_t i = from; i < to; i++) {
		zero &= scan->flags[i] == 0;
		scan->class[i] = (uint8_t)fl_kpageflags_classify(scan->flags[i], &scan->unidentified[i]);
		/* Gaps between RAM have page structs too, without flags or reserved. */
		if ((scan->unidentified[i] || scan->class[i] == FL_CENSUS_RESERVED) && !is_ram(scan, start_pfn + i)) {
			scan->unidentified[i] = false;
			scan->class[i] = FL_CENSUS_HOLE;
		}
	}
	for (uint32_t i = from; !zero && i < to;)
		i += mark_huge(scan, i);
	*ret_all_zero = zero;
}

/* A page without flags that is mapped somewhere is kernel memory for certain: pages on per-CPU lists are not mapped. */
static void identify_by_count(struct scan *scan, uint64_t start_pfn)
{
	size_t bytes = scan->pages_per_block * sizeof(uint64_t);
	ssize_t got;

	if (scan->count_fd < 0)
		return;
	got = pread(scan->count_fd, scan->counts, bytes, (off_t)(start_pfn * sizeof(uint64_t)));
	if (got != (ssize_t)bytes) {
		if (!scan->counts_failed)
			note(scan, "proc/kpagecount could not be read at pfn %" PRIu64 " (%s); without it, pages that the kernel "
				   "has mapped cannot be told from free ones on per-CPU lists", start_pfn,
			     got < 0 ? strerror(errno) : "it ends too early");
		scan->counts_failed = true;
		return;
	}
	for (uint32_t i = 0; i < scan->pages_per_block; i++)
		scan->unidentified[i] &= scan->counts[i] == 0;
}

/* Value of one page in the pyramid of slots: its free pages if it is clean, -1 if it is not. */
static int32_t slot_of_page(uint8_t class)
{
	switch (class) {
	case FL_CENSUS_FREE:
		return 1;
	case FL_CENSUS_ANON:
	case FL_CENSUS_HUGE:
	case FL_CENSUS_FILE:
	case FL_CENSUS_MLOCKED:
	case FL_CENSUS_DRIVER:
		return 0;
	default:
		return -1;
	}
}

static void count_slots_of_order(struct fl_census_zone *zone, const int32_t *slots, uint32_t n, unsigned int order)
{
	for (uint32_t i = 0; i < n; i++) {
		if (slots[i] < 0)
			continue;
		zone->clean_slots[order]++;
		zone->clean_free_pages[order] += (uint64_t)slots[i];
		zone->free_slots[order] += slots[i] == (int32_t)(1u << order);
	}
}

/* Counts the slots below the pageblock order and finds the largest free one. */
static void count_slots(struct scan *scan, struct fl_census_block *block)
{
	struct fl_census_zone *zone = &scan->census.zones[block->zone];
	uint32_t n = scan->pages_per_block;

	for (uint32_t i = 0; i < n; i++)
		scan->slots[i] = slot_of_page(scan->class[i]);
	for (unsigned int order = 0; order <= scan->block_order; order++, n /= 2) {
		if (order < scan->block_order && order < FL_CENSUS_ORDERS)
			count_slots_of_order(zone, scan->slots, n, order);
		for (uint32_t i = 0; i < n; i++) {
			if (scan->slots[i] == (int32_t)(1u << order))
				block->largest_free_order_plus_one = (uint16_t)(order + 1);
		}
		for (uint32_t i = 0; i < n / 2; i++) {
			int32_t a = scan->slots[2 * i], b = scan->slots[2 * i + 1];

			scan->slots[i] = a < 0 || b < 0 ? -1 : a + b;
		}
	}
}

static struct fl_census_block *add_block(struct scan *scan, uint64_t start_pfn, unsigned int zone, bool all_zero)
{
	struct fl_census_block *block;

	if (scan->census.blocks_count == scan->blocks_capacity) {
		scan->blocks_capacity = scan->blocks_capacity ? 2 * scan->blocks_capacity : 1024;
		scan->census.blocks = fl_xrealloc(scan->census.blocks,
						  scan->blocks_capacity * sizeof(*scan->census.blocks));
		scan->all_zero = fl_xrealloc(scan->all_zero, scan->blocks_capacity * sizeof(*scan->all_zero));
	}
	scan->all_zero[scan->census.blocks_count] = all_zero;
	block = &scan->census.blocks[scan->census.blocks_count++];
	memset(block, 0, sizeof(*block));
	block->start_pfn = start_pfn;
	block->zone = (uint8_t)zone;
	block->type = FL_CENSUS_TYPE_UNKNOWN;
	return block;
}

/* Orders of the folios in a pageblock: a head and its tails, aligned and a power of two, all of one class. */
static void keep_orders(const struct scan *scan, uint8_t *order, uint32_t from, uint32_t to)
{
	for (uint32_t i = from, n; i < to; i += n) {
		uint8_t class = scan->class[i];

		n = 1;
		if (class == FL_CENSUS_HUGE && !(scan->flags[i] & BIT(FL_KPF_ANON)))
			class = FL_CENSUS_FILE; /* the page cache has folios of this size too */
		if (!(scan->flags[i] & BIT(FL_KPF_HEAD)) ||
		    (class != FL_CENSUS_ANON && class != FL_CENSUS_FILE && class != FL_CENSUS_MLOCKED))
			continue;
		while (i + n < to && (scan->flags[i + n] & BIT(FL_KPF_TAIL)))
			n++;
		if ((n & (n - 1)) || (i & (n - 1)))
			continue;
		memset(order + i, __builtin_ctz(n), n);
		memset(scan->class + i, class, n);
	}
}

static void keep_pages(struct scan *scan, uint64_t start_pfn, uint32_t from, uint32_t to)
{
	uint64_t at = start_pfn - scan->pages->first_pfn;

	if (at + scan->pages_per_block > scan->pages->count)
		return;
	keep_orders(scan, scan->pages->order + at, from, to);
	memcpy(scan->pages->class + at + from, scan->class + from, to - from);
	memcpy(scan->pages->unsure + at + from, scan->unidentified + from, (to - from) * sizeof(bool));
}

/* What settle_zone() found out about pages that nothing identified. */
static void settle_pages(const struct scan *scan)
{
	for (size_t i = 0; i < scan->census.blocks_count; i++) {
		const struct fl_census_block *b = &scan->census.blocks[i];
		uint8_t class = b->pages[FL_CENSUS_NOT_MANAGED] ? FL_CENSUS_NOT_MANAGED : FL_CENSUS_HOLE;
		uint64_t at = b->start_pfn - scan->pages->first_pfn;

		for (uint32_t n = 0; !b->unidentified && n < scan->pages_per_block; n++)
			if (at + n < scan->pages->count && scan->pages->unsure[at + n]) {
				scan->pages->class[at + n] = class;
				scan->pages->unsure[at + n] = false;
			}
	}
}

static void make_pages(struct scan *scan)
{
	uint64_t first = UINT64_MAX, end = 0, mask = scan->pages_per_block - 1;

	for (unsigned int i = 0; i < scan->census.zones_count; i++) {
		const struct fl_zonespan *span = &scan->spans[i];

		first = span->start_pfn < first ? span->start_pfn : first;
		end = span->start_pfn + span->spanned > end ? span->start_pfn + span->spanned : end;
	}
	scan->pages->first_pfn = first & ~mask;
	scan->pages->count = ((end + mask) & ~mask) - scan->pages->first_pfn;
	scan->pages->class = fl_xmalloc(scan->pages->count);
	memset(scan->pages->class, FL_CENSUS_HOLE, scan->pages->count);
	scan->pages->order = fl_xcalloc(scan->pages->count, 1);
	scan->pages->unsure = fl_xcalloc(scan->pages->count, sizeof(bool));
}

/* Counts the pageblock at start_pfn, of which the zone has the pages [from, to). Blocks without memory are left out. */
static void scan_block(struct scan *scan, uint64_t start_pfn, unsigned int zone, uint32_t from, uint32_t to)
{
	struct fl_census_block *block;
	uint32_t pages[FL_CENSUS_CLASSES] = {0}, unidentified = 0;
	bool all_zero;

	classify_block(scan, start_pfn, from, to, &all_zero);
	if (!all_zero && memchr(scan->unidentified, true, scan->pages_per_block))
		identify_by_count(scan, start_pfn);
	for (uint32_t i = 0; i < scan->pages_per_block; i++) {
		pages[scan->class[i]]++;
		unidentified += scan->unidentified[i];
	}
	if (pages[FL_CENSUS_HOLE] == scan->pages_per_block)
		return;
	if (scan->pages)
		keep_pages(scan, start_pfn, from, to);
	block = add_block(scan, start_pfn, zone, all_zero);
	memcpy(block->pages, pages, sizeof(pages));
	block->unidentified = unidentified;
	if (!all_zero)
		count_slots(scan, block);
}

/* ---- reading ---- */

/*
 * Flags of the pageblock at start_pfn. What lies behind the end of the file reads as "no page"; 1 when all of it
 * does, so that a zone whose span is nonsense ends there.
 */
static int read_flags(struct scan *scan, uint64_t start_pfn, struct fl_error *reterr)
{
	size_t bytes = scan->batch_room * sizeof(uint64_t), got = 0;

	if (start_pfn >= scan->batch_start &&
	    start_pfn + scan->pages_per_block <= scan->batch_start + scan->batch_count) {
		scan->flags = scan->batch + (start_pfn - scan->batch_start);
		return 0;
	}
	while (got < bytes) {
		ssize_t n = pread(scan->flags_fd, (char *)scan->batch + got, bytes - got,
				  (off_t)(start_pfn * sizeof(uint64_t) + got));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return fl_error_set(reterr, FL_ERROR_FAILED, -errno, "reading kpageflags at pfn %" PRIu64
					    " failed: %s", start_pfn, strerror(errno));
		if (n == 0)
			break;
		got += (size_t)n;
	}
	if (got % sizeof(uint64_t))
		return fl_error_input(reterr, "kpageflags ends in the middle of an entry: expected 8 bytes for each page");
	if (!got)
		return 1;
	for (size_t i = got / sizeof(uint64_t); i < scan->batch_room; i++)
		scan->batch[i] = BIT(FL_KPF_NOPAGE);
	scan->batch_start = start_pfn;
	scan->batch_count = scan->batch_room;
	scan->flags = scan->batch;
	return 0;
}

static int scan_zone(struct scan *scan, unsigned int zone, struct fl_error *reterr)
{
	uint64_t first = scan->spans[zone].start_pfn, end = first + scan->spans[zone].spanned;
	uint64_t block = first - first % scan->pages_per_block;

	for (; block < end; block += scan->pages_per_block) {
		uint64_t from = first > block ? first - block : 0;
		uint64_t to = end - block < scan->pages_per_block ? end - block : scan->pages_per_block;
		int code = read_flags(scan, block, reterr);

		if (code)
			return code < 0 ? code : 0;
		scan_block(scan, block, zone, (uint32_t)from, (uint32_t)to);
	}
	return 0;
}

/* ---- memory that is not managed ---- */

struct zero_run {
	size_t first, count; /* blocks */
};

static int compare_runs(const void *a, const void *b)
{
	const struct zero_run *x = a, *y = b;

	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	return x->first < y->first ? 1 : -1;
}

/* Stretches of blocks without any flag in one zone, the longest first. */
static size_t find_zero_runs(const struct scan *scan, unsigned int zone, struct zero_run **ret)
{
	struct zero_run *runs = NULL;
	size_t count = 0;

	for (size_t i = 0; i < scan->census.blocks_count; i++) {
		const struct fl_census_block *b = &scan->census.blocks[i];

		if (b->zone != zone || !scan->all_zero[i])
			continue;
		if (count && runs[count - 1].first + runs[count - 1].count == i &&
		    b[-1].start_pfn + scan->pages_per_block == b->start_pfn) {
			runs[count - 1].count++;
			continue;
		}
		runs = fl_xrealloc(runs, (count + 1) * sizeof(*runs));
		runs[count++] = (struct zero_run){i, 1};
	}
	if (count)
		qsort(runs, count, sizeof(*runs), compare_runs);
	*ret = runs;
	return count;
}

/* Turns pages without flags of a block into `class`, as far as `budget` goes. */
static void reclass(struct fl_census_block *block, enum fl_census_class class, uint64_t *budget)
{
	uint32_t n = block->unidentified;

	if (!n || *budget < n)
		return;
	block->pages[FL_CENSUS_KERNEL] -= n;
	block->pages[class] += n;
	block->unidentified = 0;
	*budget -= n;
}

/* Pages of the zone in a class. */
static uint64_t zone_pages(const struct scan *scan, unsigned int zone, enum fl_census_class class)
{
	uint64_t n = 0;

	for (size_t i = 0; i < scan->census.blocks_count; i++)
		n += scan->census.blocks[i].zone == zone ? scan->census.blocks[i].pages[class] : 0;
	return n;
}

/*
 * Present pages that are neither managed nor reserved have no flags yet (memory that comes into use as it is needed,
 * deferred initialisation). Which ones is not printed: the longest stretches without flags are taken, from their ends,
 * until the zone's figure is reached, since such memory is handed over in rising order. Where /proc/iomem told
 * nothing, what is left over belongs to the holes of the zone.
 */
static void settle_zone(struct scan *scan, unsigned int zone)
{
	const struct fl_zonespan *span = &scan->spans[zone];
	uint64_t reserved = zone_pages(scan, zone, FL_CENSUS_RESERVED);
	uint64_t unmanaged = span->present > span->managed + reserved ? span->present - span->managed - reserved : 0;
	uint64_t holes = scan->ram_count || span->spanned < span->present ? 0 : span->spanned - span->present;
	struct zero_run *runs;
	size_t count = find_zero_runs(scan, zone, &runs);

	for (size_t r = 0; r < count; r++) {
		for (size_t i = runs[r].count; i-- > 0;)
			reclass(&scan->census.blocks[runs[r].first + i], FL_CENSUS_NOT_MANAGED, &unmanaged);
	}
	for (size_t r = 0; r < count; r++) {
		for (size_t i = runs[r].count; i-- > 0;)
			reclass(&scan->census.blocks[runs[r].first + i], FL_CENSUS_HOLE, &holes);
	}
	free(runs);
}

/* Drops blocks that turned out to be holes. */
static void drop_holes(struct fl_census *census)
{
	size_t n = 0;

	for (size_t i = 0; i < census->blocks_count; i++) {
		if (census->blocks[i].pages[FL_CENSUS_HOLE] < census->pages_per_block)
			census->blocks[n++] = census->blocks[i];
	}
	census->blocks_count = n;
}

static int compare_blocks(const void *a, const void *b)
{
	const struct fl_census_block *x = a, *y = b;

	if (x->start_pfn != y->start_pfn)
		return x->start_pfn < y->start_pfn ? -1 : 1;
	return (int)x->zone - (int)y->zone;
}

/* ---- set-up ---- */

static unsigned int order_of(uint64_t pages)
{
	unsigned int order = 0;

	while (pages >>= 1)
		order++;
	return order;
}

/* A PMD maps page_size / 8 pages, so its size tells the page size of the host that the files come from. */
static void read_geometry(struct scan *scan, const char *root)
{
	uint64_t pmd = 0, page_size = (uint64_t)sysconf(_SC_PAGESIZE);
	struct fl_text text;
	const char *line;

	fl_text_init(&text);
	if (read_helper(scan, root, "sys/kernel/mm/transparent_hugepage/hpage_pmd_size", "the page size of the program's own "
			"host is taken", &text))
		pmd = strtoull(text.data, NULL, 10);
	fl_text_clear(&text);
	for (uint64_t size = 4096; size <= 65536; size *= 2)
		page_size = pmd == size * size / 8 ? size : page_size;
	scan->census.page_size = (uint32_t)page_size;
	scan->pmd_order = order_of(page_size / 8);
	scan->block_order = scan->pmd_order;
	if (read_helper(scan, root, "proc/pagetypeinfo", "a pageblock is taken to be as large as a PMD", &text)) {
		line = strstr(text.data, "Page block order:");
		if (line && sscanf(line, "Page block order: %u", &scan->block_order) != 1)
			scan->block_order = scan->pmd_order;
	}
	fl_text_fini(&text);
	if (scan->block_order < 1 || scan->block_order > 15)
		scan->block_order = scan->pmd_order;
	scan->pages_per_block = 1u << scan->block_order;
	scan->census.pages_per_block = scan->pages_per_block;
}

static int read_zones(struct scan *scan, const char *root, struct fl_error *reterr)
{
	struct fl_text text;
	int code;

	fl_text_init(&text);
	code = fl_hostfile_read(root, "proc/zoneinfo", &text, reterr);
	if (code == 0)
		code = fl_zonespan_parse(text.data, scan->spans, &scan->census.zones_count, reterr);
	fl_text_fini(&text);
	if (code < 0)
		return code;
	scan->census.zones = fl_xcalloc(scan->census.zones_count, sizeof(*scan->census.zones));
	for (unsigned int i = 0; i < scan->census.zones_count; i++) {
		const struct fl_zonespan *span = &scan->spans[i];
		struct fl_census_zone *zone = &scan->census.zones[i];

		memcpy(scan->census.zone_names[i], span->name, sizeof(span->name));
		zone->start_pfn = span->start_pfn;
		zone->spanned = span->spanned;
		zone->present = span->present;
		zone->managed = span->managed;
		zone->pcp = span->pcp;
	}
	return 0;
}

static void read_ram(struct scan *scan, const char *root)
{
	struct fl_text text;

	fl_text_init(&text);
	if (read_helper(scan, root, "proc/iomem", "holes between RAM may be taken for memory", &text))
		scan->ram_count = fl_ram_ranges_parse(text.data, scan->census.page_size, &scan->ram);
	fl_text_fini(&text);
}

static int scan_init(struct scan *scan, const char *root, struct fl_text *notes, struct fl_error *reterr)
{
	struct fl_error error;
	int code;

	memset(scan, 0, sizeof(*scan));
	scan->notes = notes;
	scan->flags_fd = scan->count_fd = -1;
	read_geometry(scan, root);
	code = read_zones(scan, root, reterr);
	if (code < 0)
		return code;
	read_ram(scan, root);
	scan->flags_fd = fl_hostfile_open(root, "proc/kpageflags", reterr);
	if (scan->flags_fd < 0)
		return scan->flags_fd;
	scan->count_fd = fl_hostfile_open(root, "proc/kpagecount", &error);
	if (scan->count_fd < 0 && scan->count_fd != -ENOENT)
		note(scan, "%s; without it, pages that the kernel has mapped cannot be told from free ones on per-CPU lists",
		     error.text);
	scan->batch_room = BATCH_BYTES / sizeof(uint64_t);
	if (scan->batch_room < scan->pages_per_block)
		scan->batch_room = scan->pages_per_block;
	scan->batch = fl_xmalloc(scan->batch_room * sizeof(uint64_t));
	scan->class = fl_xmalloc(scan->pages_per_block);
	scan->unidentified = fl_xcalloc(scan->pages_per_block, sizeof(bool));
	scan->slots = fl_xcalloc(scan->pages_per_block, sizeof(int32_t));
	scan->counts = fl_xcalloc(scan->pages_per_block, sizeof(uint64_t));
	return 0;
}

static void scan_fini(struct scan *scan)
{
	if (scan->flags_fd >= 0)
		close(scan->flags_fd);
	if (scan->count_fd >= 0)
		close(scan->count_fd);
	free(scan->ram);
	free(scan->batch);
	free(scan->class);
	free(scan->unidentified);
	free(scan->slots);
	free(scan->counts);
	free(scan->all_zero);
	fl_census_free(&scan->census);
}

void fl_census_pages_free(struct fl_census_pages *pages)
{
	free(pages->class);
	free(pages->order);
	free(pages->unsure);
	memset(pages, 0, sizeof(*pages));
}

static int read_census(const char *root, struct fl_census *ret, struct fl_census_pages *pages, struct fl_text *notes,
		       struct fl_error *reterr)
{
	struct scan scan;
	int code = scan_init(&scan, root, notes, reterr);

	if (pages)
		memset(pages, 0, sizeof(*pages));
	scan.pages = pages;
	if (code == 0 && pages)
		make_pages(&scan);
	for (unsigned int i = 0; code == 0 && i < scan.census.zones_count; i++)
		code = scan_zone(&scan, i, reterr);
	if (code == 0) {
		for (unsigned int i = 0; i < scan.census.zones_count; i++)
			settle_zone(&scan, i);
		if (pages)
			settle_pages(&scan);
		drop_holes(&scan.census);
		if (scan.census.blocks_count)
			qsort(scan.census.blocks, scan.census.blocks_count, sizeof(*scan.census.blocks), compare_blocks);
		fl_census_fill_block_slots(&scan.census);
		*ret = scan.census;
		memset(&scan.census, 0, sizeof(scan.census));
	} else if (pages) {
		fl_census_pages_free(pages);
	}
	scan_fini(&scan);
	return code;
}

int fl_census_read_live(const char *root, struct fl_census *ret, struct fl_error *reterr)
{
	return read_census(root, ret, NULL, NULL, reterr);
}

int fl_census_read_pages(const char *root, struct fl_census *ret, struct fl_census_pages *pages, struct fl_error *reterr)
{
	return read_census(root, ret, pages, NULL, reterr);
}

int fl_census_read_noted(const char *root, struct fl_census *ret, struct fl_text *notes, struct fl_error *reterr)
{
	return read_census(root, ret, NULL, notes, reterr);
}
