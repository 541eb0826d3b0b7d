/* mm/page_io.c - requests of pages to block devices, and waiting for a page. Mirrors mm/page_io.c and the wait table of mm/filemap.c. */
#include "mm/page_io.h"

#include "base/hash.h"
#include "base/text.h"
#include "mm/internal.h"
#include "mm/writeback_internal.h"

void fl_page_io_init(struct fl_page_io *io)
{
	io->bios.next = io->bios.prev = &io->bios;
}

void fl_page_io_fini(struct fl_page_io *io)
{
	while (io->bios.next != &io->bios) {
		struct fl_bio *bio = io->bios.next;

		io->bios.next = bio->next;
		fl_xfree(bio);
	}
}

static struct fl_page_io *page_io(const struct fl_mem *mem)
{
	return &mem->writeback->io;
}

/* sbitmap_queue_wake_up(): those who wait for a tag wait exclusively, so a free one wakes one of them (the kernel gathers
 * eight of them for eight). The last request wakes all, since nothing would wake those that are left. */
static void wake_for_slot(struct fl_waitqueue *slot_wait, const struct fl_device *device)
{
	if (!slot_wait)
		return;
	if (device && fl_device_in_flight(device))
		fl_wake_one(slot_wait);
	else
		fl_wake_all(slot_wait);
}

static void bio_done(void *arg)
{
	struct fl_bio *bio = arg;
	struct fl_waitqueue *slot_wait = bio->slot_wait;
	const struct fl_device *device = bio->device;

	bio->prev->next = bio->next;
	bio->next->prev = bio->prev;
	for (uint32_t i = 0; i < bio->count; i++)
		bio->end(bio->mem, &bio->mem->vmscan->irq, bio->folio[i]);
	if (device)
		fl_virtio_request_end(bio->mem, &bio->mem->vmscan->irq, &bio->virtio);
	fl_xfree(bio);
	wake_for_slot(slot_wait, device);
}

void fl_bio_submit(struct fl_mem *mem, struct fl_caller *who, struct fl_device *device, const fl_pfn *folio,
		   uint32_t count, bool write, struct fl_waitqueue *slot_wait,
		   void (*end)(struct fl_mem *mem, struct fl_caller *irq, fl_pfn folio))
{
	struct fl_page_io *io = page_io(mem);
	struct fl_bio *bio = fl_xmalloc(sizeof(*bio) + count * sizeof(*folio));
	uint64_t pages = 0;

	FL_ASSERT(count > 0 && count <= FL_BIO_PAGES);
	*bio = (struct fl_bio){ .mem = mem, .end = end, .slot_wait = slot_wait, .device = device, .count = count,
				.folio = (fl_pfn *)(bio + 1) };
	bio->next = &io->bios;
	bio->prev = io->bios.prev;
	bio->prev->next = bio->next->prev = bio;
	for (uint32_t i = 0; i < count; i++) {
		bio->folio[i] = folio[i];
		pages += fl_folio_pages(mem, folio[i]);
	}
	fl_count(mem, write ? FL_VM_pgpgout : FL_VM_pgpgin, pages << (mem->page_shift - 10));
	fl_charge(who->task, mem->cost->swap_io_submit);
	if (device) {
		fl_virtio_request_begin(mem, who, fl_virtio_segments(mem, folio, count), &bio->virtio);
		fl_device_submit(device, pages << mem->page_shift, write, bio_done, bio);
	} else {
		bio_done(bio);
	}
}

static struct fl_waitqueue *queue_of(const struct fl_mem *mem, fl_pfn folio)
{
	return &page_io(mem)->table[fl_hash_mix(folio) % FL_WAIT_TABLE];
}

void fl_folio_wait_bit(struct fl_mem *mem, struct fl_caller *who, fl_pfn folio, uint32_t flag)
{
	if (mem->frames.state[folio] & flag)
		fl_wait(queue_of(mem, folio), who->task);
}

void fl_folio_wait_busy(struct fl_mem *mem, struct fl_caller *who, fl_pfn folio)
{
	if (mem->frames.state[folio] & FL_MIGRATING)
		fl_wait(&mem->migration_wq, who->task);
	else
		fl_folio_wait_bit(mem, who, folio, FL_LOCKED);
}

void fl_folio_wake(struct fl_mem *mem, fl_pfn folio)
{
	fl_wake_all(queue_of(mem, folio));
}
