/*
 * mm/readahead.c - which pages of a file are read before they are asked for. Mirrors mm/readahead.c and the read-around of
 * faults in mm/filemap.c: a window that grows while reads are sequential, a mark in it whose use starts the next one.
 */
#include "mm/filemap_internal.h"
#include "mm/page_io.h"

#define MMAP_LOTSAMISS 100

static uint32_t max_pages(const struct fl_mem *mem)
{
	return (FL_RA_PAGES_KB << 10) >> mem->page_shift ? (FL_RA_PAGES_KB << 10) >> mem->page_shift : 1;
}

/* get_init_ra_size() */
uint32_t fl_readahead_init_size(uint32_t req, uint32_t max)
{
	uint32_t size = 1;

	while (size < req && size < max)
		size <<= 1;
	if (size <= max / 32)
		return size * 4;
	return size <= max / 4 ? size * 2 : max;
}

/* get_next_ra_size() */
uint32_t fl_readahead_next_size(uint32_t size, uint32_t max)
{
	if (size < max / 16)
		return 4 * size;
	return size <= max / 2 ? 2 * size : max;
}

bool fl_readahead_is_mark(const struct fl_mapping *m, uint32_t index)
{
	return m->ra.async_size && index == m->ra.start + m->ra.size - m->ra.async_size;
}

static void end_read(struct fl_mem *mem, struct fl_caller *irq, fl_pfn folio)
{
	(void)irq;
	mem->frames.state[folio] &= ~FL_LOCKED;
	fl_folio_wake(mem, folio);
}

static void submit(struct fl_mem *mem, struct fl_caller *who, struct fl_mapping *m, const fl_pfn *page, uint32_t *count)
{
	if (*count)
		fl_bio_submit(mem, who, m->type == FL_MAPPING_SHMEM ? NULL : m->device, page, *count, false, NULL,
			      end_read);
	*count = 0;
}

/* do_page_cache_ra(): requests for what is absent of [start, start + pages); a page that is there parts requests. May
 * switch. */
static void read_range(struct fl_mem *mem, struct fl_caller *who, struct fl_mapping *m, uint32_t start, uint32_t pages)
{
	fl_gfp gfp = fl_mapping_gfp(m) | FL_GFP_NORETRY | FL_GFP_NOWARN;
	fl_pfn page[FL_BIO_PAGES];
	uint32_t count = 0;

	for (uint32_t i = start; i - start < pages && i < m->pages && !m->dead; i++) {
		fl_pfn pfn;

		if (fl_mapping_page(m, i) != FL_PFN_NONE) {
			submit(mem, who, m, page, &count);
			continue;
		}
		pfn = fl_filemap_add_page(mem, who, m, i, gfp, FL_LOCKED);
		if (pfn == FL_PFN_NONE)
			break;
		page[count++] = pfn;
		if (count == FL_BIO_PAGES)
			submit(mem, who, m, page, &count);
	}
	submit(mem, who, m, page, &count);
}

/* One page with the full mask: what is left when readahead found no memory. May switch. */
static void read_one(struct fl_mem *mem, struct fl_caller *who, struct fl_mapping *m, uint32_t index)
{
	fl_pfn pfn;

	if (fl_mapping_page(m, index) != FL_PFN_NONE)
		return;
	pfn = fl_filemap_add_page(mem, who, m, index, fl_mapping_gfp(m), FL_LOCKED);
	if (pfn != FL_PFN_NONE)
		fl_bio_submit(mem, who, m->type == FL_MAPPING_SHMEM ? NULL : m->device, &pfn, 1, false, NULL,
			      end_read);
}

/* Cached pages that end right before `index`, at most max (page_cache_prev_miss). */
static uint32_t contiguous_before(const struct fl_mapping *m, uint32_t index, uint32_t max)
{
	uint32_t n = 0;

	while (n < max && n < index && fl_mapping_page(m, index - 1 - n) != FL_PFN_NONE)
		n++;
	return n;
}

void fl_readahead_sync(struct fl_mem *mem, struct fl_caller *who, struct fl_mapping *m, uint32_t index, uint32_t req)
{
	struct fl_readahead *ra = &m->ra;
	uint32_t max = max_pages(mem), contiguous;

	if (m->type == FL_MAPPING_SHMEM) {
		read_one(mem, who, m, index);
		return;
	}
	if (ra->random) { /* force_page_cache_ra() */
		read_range(mem, who, m, index, req < max ? req : max);
	} else if (index == 0 || req > max || index - ra->prev_index <= 1) {
		ra->start = index;
		ra->size = fl_readahead_init_size(req, max);
		ra->async_size = ra->size > req ? ra->size - req : ra->size >> 1;
		read_range(mem, who, m, ra->start, ra->size);
	} else if ((contiguous = contiguous_before(m, index, max)) <= req) {
		read_range(mem, who, m, index, req);
	} else {
		if (contiguous == index) /* cached from the beginning */
			contiguous *= 2;
		ra->start = index;
		ra->size = contiguous + req < max ? contiguous + req : max;
		ra->async_size = 1;
		read_range(mem, who, m, ra->start, ra->size);
	}
	read_one(mem, who, m, index);
}

void fl_readahead_async(struct fl_mem *mem, struct fl_caller *who, struct fl_mapping *m, uint32_t index, uint32_t req)
{
	struct fl_readahead *ra = &m->ra;

	(void)req;
	FL_ASSERT(fl_readahead_is_mark(m, index));
	ra->start += ra->size;
	ra->size = fl_readahead_next_size(ra->size, max_pages(mem));
	ra->async_size = ra->size;
	if (ra->start < m->pages)
		read_range(mem, who, m, ra->start, ra->size);
}

void fl_readahead_around(struct fl_mem *mem, struct fl_caller *who, struct fl_mapping *m, uint32_t index)
{
	struct fl_readahead *ra = &m->ra;
	uint32_t max = max_pages(mem);

	if (m->type != FL_MAPPING_SHMEM) {
		if (ra->mmap_miss < MMAP_LOTSAMISS * 10)
			ra->mmap_miss++;
		if (ra->mmap_miss <= MMAP_LOTSAMISS) {
			ra->start = index > max / 2 ? index - max / 2 : 0;
			ra->size = max;
			ra->async_size = max / 4;
			read_range(mem, who, m, ra->start, ra->size);
		}
	}
	read_one(mem, who, m, index);
}
