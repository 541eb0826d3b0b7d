/*
 * live/agent_memory.c - verbs of memory with real system calls: mappings, touches, advice, locks.
 *
 * Each touch is timed; which of the accesses were faults is told by the thread's own count of faults (getrusage): so many of
 * the longest. Orders that are drawn come from the order's `draw`, as in the model.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/rng.h"
#include "base/text.h"
#include "live/wire.h"

/* Newer than the headers of Debian 12; numbers of include/uapi. */
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif
#ifndef MADV_DONTNEED_LOCKED
#define MADV_DONTNEED_LOCKED 24
#endif
#ifndef MAP_DROPPABLE
#define MAP_DROPPABLE 0x08
#endif


static uint64_t page_bytes(void)
{
	static uint64_t size;

	if (!size)
		size = (uint64_t)sysconf(_SC_PAGESIZE);
	return size;
}

/* A PMD maps page/8 pages. */
static uint64_t huge_bytes(void)
{
	return page_bytes() * page_bytes() / 8;
}

static uint64_t round_up(uint64_t bytes, uint64_t unit)
{
	return (bytes + unit - 1) / unit * unit;
}

/* ---- mapping ---- */

/* Address space at a boundary of huge pages (plus a page when `unaligned`), reserved and given back around. */
static void *aligned_place(uint64_t length, bool unaligned)
{
	uint64_t huge = huge_bytes(), space = length + 2 * huge, start;
	char *all = mmap(NULL, space, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (all == MAP_FAILED)
		return MAP_FAILED;
	start = round_up((uint64_t)(uintptr_t)all, huge) + (unaligned ? page_bytes() : 0);
	munmap(all, space);
	return (void *)(uintptr_t)start;
}

static int open_mapped(const struct fl_live_order *order)
{
	return order->flags & FL_OP_FILE ? open(order->path, O_RDWR | O_CLOEXEC) : -1;
}

static void advise_mapping(void *at, const struct fl_live_order *order)
{
	if (order->flags & FL_OP_HUGE)
		madvise(at, order->length, MADV_HUGEPAGE);
	if (order->flags & FL_OP_NOHUGE)
		madvise(at, order->length, MADV_NOHUGEPAGE);
	if (order->flags & FL_OP_LOCKED)
		syscall(SYS_mlock2, at, order->length, 1 /* MLOCK_ONFAULT */);
}

static int64_t map(const struct fl_live_order *order, struct fl_live_answer *answer)
{
	int kind = order->flags & (FL_OP_SHMEM | FL_OP_FILE) ? MAP_SHARED :
		   order->flags & FL_OP_DROPPABLE ? MAP_DROPPABLE : MAP_PRIVATE;
	int fd = open_mapped(order), flags = kind | MAP_NORESERVE | (fd < 0 ? MAP_ANONYMOUS : 0);
	bool aligned = order->length >= huge_bytes() || order->flags & FL_OP_UNALIGNED;
	void *place = aligned ? aligned_place(order->length, order->flags & FL_OP_UNALIGNED) : NULL, *at;

	if (order->flags & FL_OP_FILE && fd < 0)
		return -errno;
	at = place == MAP_FAILED ? MAP_FAILED : mmap(place, order->length, PROT_READ | PROT_WRITE, flags, fd, 0);
	if (at == MAP_FAILED) {
		int code = errno;

		if (fd >= 0)
			close(fd);
		return -code;
	}
	if (fd >= 0)
		close(fd);
	advise_mapping(at, order);
	answer->address = (uint64_t)(uintptr_t)at;
	return 0;
}

/* ---- touching ---- */

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static uint64_t faults_now(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return (uint64_t)(usage.ru_minflt + usage.ru_majflt);
}

static inline void access_page(volatile char *page, uint32_t flags)
{
	char was = 0;

	if (flags & (FL_OP_READ | FL_OP_MODIFY))
		was = *page;
	if (!(flags & FL_OP_READ))
		*page = (char)(was | 1);
}

struct places {
	volatile char *start;
	uint64_t stride;
	uint32_t count, *order; /* order NULL: as they lie */
};

static struct places places_of(const struct fl_live_order *o)
{
	struct places p = { (volatile char *)(uintptr_t)o->address, o->stride ? o->stride : page_bytes(), 0, NULL };

	p.count = (uint32_t)((o->length + p.stride - 1) / p.stride);
	if (o->flags & FL_OP_RANDOM)
		p.order = fl_rng_shuffled(p.count, p.count, o->draw);
	return p;
}

/* Accesses with a clock between them; faults are told by the kernel's count. */
static void touch_places(const struct places *p, uint32_t flags, struct fl_live_answer *answer)
{
	uint64_t faults = faults_now(), before = now_ns();

	for (uint32_t i = 0; i < p->count; i++) {
		uint64_t after;

		access_page(p->start + (p->order ? p->order[i] : i) * p->stride, flags);
		after = now_ns();
		answer->latency.counts[fl_live_latency_bucket(after - before)]++;
		before = after;
	}
	faults = faults_now() - faults;
	fl_live_latency_keep(&answer->latency, faults);
	answer->value = (int64_t)faults;
}

static void touch(const struct fl_live_order *o, struct fl_live_answer *answer)
{
	struct places p = places_of(o);

	touch_places(&p, o->flags, answer);
	free(p.order);
}

void fl_live_agent_warm_up(void)
{
	static volatile char page[64];
	struct places p = { page, 1, sizeof(page), NULL };
	struct fl_live_answer answer = { 0 };

	touch_places(&p, FL_OP_MODIFY, &answer);
}

static int64_t map_sparse(const struct fl_live_order *order, struct fl_live_answer *answer)
{
	struct fl_live_order all = *order, one = *order;
	int64_t error;

	all.length = order->count * order->stride;
	all.flags = FL_OP_NOHUGE;
	error = map(&all, answer);
	if (error)
		return error;
	one.address = answer->address;
	one.length = all.length;
	touch(&one, answer);
	return 0;
}

/* ---- what is mapped: /proc/self/pagemap ---- */

/* PAGEMAP_SCAN of Linux 6.7 (include/uapi/linux/fs.h). */
struct page_region {
	uint64_t start, end, categories;
};
struct scan_request {
	uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages, category_inverted, category_mask,
		category_anyof_mask, return_mask;
};
#define SCAN_IOCTL _IOWR('f', 16, struct scan_request)
#define IS_PFNZERO (1 << 5)
#define IS_HUGE (1 << 6)

/* Bytes of the range that are mapped by PMDs to something other than the huge zero page; -errno. */
static int64_t huge_mapped_bytes(uint64_t start, uint64_t length)
{
	struct page_region regions[256];
	struct scan_request r = { .size = sizeof(r), .start = start, .end = start + length,
				  .vec = (uint64_t)(uintptr_t)regions, .vec_len = 256, .category_inverted = IS_PFNZERO,
				  .category_mask = IS_HUGE | IS_PFNZERO, .return_mask = IS_HUGE };
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	int64_t sum = 0;
	long n = fd < 0 ? -1 : 0;

	while (fd >= 0 && r.start < r.end && (n = ioctl(fd, SCAN_IOCTL, &r)) >= 0) {
		for (long i = 0; i < n; i++)
			sum += (int64_t)(regions[i].end - regions[i].start);
		if (r.walk_end <= r.start)
			break;
		r.start = r.walk_end;
	}
	if (n < 0)
		sum = -errno;
	if (fd >= 0)
		close(fd);
	return sum;
}

/* The same from smaps, for kernels without the scan: AnonHugePages of the mappings inside the range, in bytes. */
static int64_t huge_by_smaps(uint64_t start, uint64_t length)
{
	FILE *file = fopen("/proc/self/smaps", "re");
	unsigned long from = 0, to = 0, kbytes;
	int64_t sum = 0;
	char line[512];

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
			continue;
		if (from >= start && to <= start + length && sscanf(line, "AnonHugePages: %lu", &kbytes) == 1)
			sum += (int64_t)kbytes * 1024;
	}
	if (!file)
		return -errno;
	fclose(file);
	return sum;
}

/* Pages of the range that are present (bit 63 of pagemap). */
static int64_t present_pages(uint64_t start, uint64_t length)
{
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	uint64_t entries[1024], page = page_bytes(), left = length / page;
	int64_t present = 0;
	off_t at = (off_t)(start / page * sizeof(uint64_t));

	if (fd < 0)
		return -errno;
	while (left) {
		size_t want = left < 1024 ? (size_t)left : 1024;
		ssize_t n = pread(fd, entries, want * sizeof(uint64_t), at);

		if (n <= 0)
			break;
		for (ssize_t i = 0; i < n / 8; i++)
			present += entries[i] >> 63;
		at += n;
		left -= (uint64_t)n / 8;
	}
	close(fd);
	return present;
}

static int64_t huge_pages(const struct fl_live_order *o)
{
	int64_t bytes = huge_mapped_bytes(o->address, o->length);

	if (bytes < 0)
		bytes = huge_by_smaps(o->address, o->length);
	return bytes < 0 ? bytes : bytes / (int64_t)huge_bytes();
}

/* ---- giving memory back, advice, locks ---- */

static int64_t discard(const struct fl_live_order *o, struct fl_live_answer *answer)
{
	uint64_t page = page_bytes(), run = o->size ? round_up(o->size, page) : page;
	uint32_t slots = (uint32_t)(o->length / run), *starts;
	int64_t freed = 0;

	if (o->count > slots)
		return (int64_t)fl_live_refuse(answer, "so many runs do not fit into the range");
	starts = fl_rng_shuffled(slots, (uint32_t)o->count, o->draw);
	for (uint32_t i = 0; i < o->count; i++) {
		uint64_t at = o->address + starts[i] * run;

		freed += present_pages(at, run);
		madvise((void *)(uintptr_t)at, run, MADV_DONTNEED);
	}
	free(starts);
	return freed;
}

static int64_t refault(const struct fl_live_order *o, struct fl_live_answer *answer)
{
	uint64_t page = page_bytes(), *pages = fl_xmalloc((o->count ? o->count : 1) * sizeof(*pages));
	uint32_t count = (uint32_t)o->count, *order = fl_rng_shuffled(count, count, o->draw);
	uint64_t faults, before;
	struct fl_rng rng;

	fl_rng_init(&rng, o->draw, "pages", 0);
	for (uint32_t i = 0; i < count; i++) {
		pages[i] = o->address + fl_rng_below(&rng, o->length / page) * page;
		madvise((void *)(uintptr_t)pages[i], page, MADV_DONTNEED);
	}
	faults = faults_now();
	before = now_ns();
	for (uint32_t i = 0; i < count; i++) {
		uint64_t after;

		access_page((volatile char *)(uintptr_t)pages[order[i]], 0);
		after = now_ns();
		answer->latency.counts[fl_live_latency_bucket(after - before)]++;
		before = after;
	}
	faults = faults_now() - faults;
	fl_live_latency_keep(&answer->latency, faults);
	free(order);
	free(pages);
	return (int64_t)faults;
}

static int64_t advise(const struct fl_live_order *o)
{
	static const int calls[FL_ADVICES] = {
		[FL_ADVICE_HUGEPAGE] = MADV_HUGEPAGE,	[FL_ADVICE_NOHUGEPAGE] = MADV_NOHUGEPAGE,
		[FL_ADVICE_FREE] = MADV_FREE,		[FL_ADVICE_DONTNEED] = MADV_DONTNEED,
		[FL_ADVICE_COLLAPSE] = MADV_COLLAPSE,	[FL_ADVICE_DONTNEED_LOCKED] = MADV_DONTNEED_LOCKED,
	};
	uint64_t page = page_bytes(), stride = o->stride ? o->stride : page;

	if (stride == page)
		return madvise((void *)(uintptr_t)o->address, round_up(o->length, page), calls[o->advice]) ? -errno : 0;
	for (uint64_t at = 0; at < o->length; at += stride)
		if (madvise((void *)(uintptr_t)(o->address + at), page, calls[o->advice]))
			return -errno;
	return 0;
}

static int64_t lock(const struct fl_live_order *o, bool on)
{
	void *at = (void *)(uintptr_t)o->address;

	if (on ? mlock(at, o->length) : munlock(at, o->length))
		return -errno;
	return (int64_t)(round_up(o->length, page_bytes()) / page_bytes());
}

void fl_live_agent_memory(const struct fl_live_order *o, struct fl_live_answer *answer)
{
	switch (o->verb) {
	case FL_VERB_MAP:
		answer->value = map(o, answer);
		break;
	case FL_VERB_MAP_SPARSE:
		answer->value = map_sparse(o, answer);
		break;
	case FL_VERB_UNMAP:
		answer->value = munmap((void *)(uintptr_t)o->address, o->length) ? -errno : 0;
		break;
	case FL_VERB_TOUCH:
		touch(o, answer);
		break;
	case FL_VERB_ACCESS:
		answer->value = fl_live_agent_access(o);
		break;
	case FL_VERB_DISCARD:
		answer->value = discard(o, answer);
		break;
	case FL_VERB_REFAULT:
		answer->value = refault(o, answer);
		break;
	case FL_VERB_ADVISE:
		answer->value = advise(o);
		break;
	case FL_VERB_MLOCK:
	case FL_VERB_MUNLOCK:
		answer->value = lock(o, o->verb == FL_VERB_MLOCK);
		break;
	case FL_VERB_HUGE_PAGES:
		answer->value = huge_pages(o);
		break;
	default:
		answer->value = present_pages(o->address, round_up(o->length, page_bytes())) * (int64_t)page_bytes();
	}
}
