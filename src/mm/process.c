/*
 * mm/process.c - kernel memory of processes and threads. Mirrors copy_process() and alloc_thread_stack_node() of
 * kernel/fork.c, vm_area_alloc_pages() of mm/vmalloc.c.
 *
 * What the program's own image holds (text, stack, data) is not modelled but for its page tables.
 */
#include "mm/process.h"

#include "mm/page_alloc.h"
#include "mm/slab.h"
#include "sim/platform.h"

void fl_process_init(struct fl_mem *mem)
{
	mem->stacks = fl_host_alloc(mem->cpus * sizeof(*mem->stacks));
}

void fl_process_fini(struct fl_mem *mem)
{
	fl_host_free(mem->stacks);
	mem->stacks = NULL;
}

/* ---- Stacks ---- */

/* THREAD_SIZE is 16 KiB, at least one page. */
static unsigned int stack_pages(const struct fl_mem *mem)
{
	return mem->page_shift >= 14 ? 1 : FL_STACK_PAGES_MAX;
}

static bool stack_from_cache(struct fl_mem *mem, struct fl_caller *who, fl_pfn *page)
{
	struct fl_stack_cache *cache = &mem->stacks[fl_caller_cpu(who)];

	for (unsigned int i = 0; i < 2; i++)
		if (cache->slot[i].used) {
			cache->slot[i].used = false;
			__builtin_memcpy(page, cache->slot[i].page, sizeof(cache->slot[i].page));
			return true;
		}
	return false;
}

/* vm_area_alloc_pages() of 7.3: the largest orders first, without direct reclaim, cut into single pages. */
static unsigned int stack_high_order(struct fl_mem *mem, struct fl_caller *who, fl_gfp gfp, unsigned int want,
				     fl_pfn *page)
{
	unsigned int got = 0;

	for (unsigned int order = 31 - __builtin_clz(want); order && got < want; order--) {
		while (want - got >= 1u << order) {
			fl_pfn pfn = fl_page_alloc(mem, who, (gfp & ~FL_GFP_DIRECT_RECLAIM) | FL_GFP_NOWARN, order,
						   FL_KIND_STACK);

			if (pfn == FL_PFN_NONE)
				break;
			fl_page_split(mem, pfn, order);
			for (unsigned int i = 0; i < 1u << order; i++)
				page[got++] = pfn + i;
		}
	}
	return got;
}

static bool stack_alloc(struct fl_mem *mem, struct fl_caller *who, fl_pfn *page)
{
	fl_gfp gfp = FL_GFP_KERNEL | FL_GFP_ZERO | FL_GFP_NOWARN;
	unsigned int want = stack_pages(mem), got = 0;

	if (stack_from_cache(mem, who, page))
		return true;
	if (want > 1 && mem->decide.stack_tries_high_order(&(struct fl_no_facts){ 0 }))
		got = stack_high_order(mem, who, gfp, want, page);
	while (got < want) {
		unsigned int more = fl_page_alloc_bulk(mem, who, gfp, want - got, FL_KIND_STACK, page + got);

		if (!more)
			break;
		got += more;
	}
	if (got == want)
		return true;
	while (got)
		fl_page_free(mem, who, page[--got], 0);
	return false;
}

/* Two stacks a CPU are kept for the next thread (cached_stacks). */
static void stack_free(struct fl_mem *mem, struct fl_caller *who, const fl_pfn *page)
{
	struct fl_stack_cache *cache = &mem->stacks[fl_caller_cpu(who)];

	for (unsigned int i = 0; i < 2; i++)
		if (!cache->slot[i].used) {
			cache->slot[i].used = true;
			__builtin_memcpy(cache->slot[i].page, page, sizeof(cache->slot[i].page));
			return;
		}
	for (unsigned int i = 0; i < stack_pages(mem); i++)
		fl_page_free(mem, who, page[i], 0);
}

/* ---- Objects ---- */

static bool objects_alloc(struct fl_mem *mem, struct fl_caller *who, const enum fl_slab_cache *cache,
			  unsigned int count, fl_object *object)
{
	for (unsigned int i = 0; i < count; i++) {
		object[i] = fl_slab_alloc(mem, who, cache[i], FL_GFP_KERNEL | FL_GFP_ACCOUNT);
		if (object[i] != FL_OBJECT_NONE)
			continue;
		while (i)
			fl_slab_free(mem, who, object[--i]);
		return false;
	}
	return true;
}

static void objects_free(struct fl_mem *mem, struct fl_caller *who, unsigned int count, const fl_object *object)
{
	for (unsigned int i = 0; i < count; i++)
		fl_slab_free(mem, who, object[i]);
}

/* ---- Threads ---- */

static bool thread_alloc(struct fl_mem *mem, struct fl_caller *who, struct fl_thread *thread)
{
	static const enum fl_slab_cache cache[] = { FL_SLAB_task_struct, FL_SLAB_kmalloc_192, FL_SLAB_kmalloc_192 };

	if (!objects_alloc(mem, who, cache, 3, thread->object))
		return false;
	if (!stack_alloc(mem, who, thread->stack)) {
		objects_free(mem, who, 3, thread->object);
		return false;
	}
	thread->alive = true;
	return true;
}

int fl_thread_new(struct fl_mem *mem, struct fl_caller *who, struct fl_process *process)
{
	struct fl_thread thread;
	uint32_t slot = 0;

	fl_charge(who->task, mem->cost->thread_start);
	if (!thread_alloc(mem, who, &thread))
		return -1;
	while (slot < process->threads && process->thread[slot].alive)
		slot++;
	if (slot == process->threads_capacity) {
		process->threads_capacity = process->threads_capacity ? 2 * process->threads_capacity : 4;
		process->thread = fl_host_resize(process->thread,
						 process->threads_capacity * sizeof(*process->thread));
	}
	if (slot == process->threads)
		process->threads++;
	process->thread[slot] = thread;
	process->mm->users++;
	return slot;
}

void fl_thread_exit(struct fl_mem *mem, struct fl_caller *who, struct fl_process *process, int slot)
{
	struct fl_thread *thread = &process->thread[slot];

	FL_ASSERT(thread->alive);
	thread->alive = false;
	stack_free(mem, who, thread->stack);
	objects_free(mem, who, 3, thread->object);
	process->mm->users--;
}

/* ---- Processes ---- */

static bool image_alloc(struct fl_mem *mem, struct fl_caller *who, struct fl_process *p)
{
	for (unsigned int i = 0; i < FL_IMAGE_TABLES; i++) {
		p->image_table[i] = fl_pte_alloc_one(mem, who);
		if (p->image_table[i] == FL_PFN_NONE) {
			while (i)
				fl_page_free(mem, who, p->image_table[--i], 0);
			return false;
		}
		mem->frames.record[p->image_table[i]].owner = p->mm->id;
		mem->frames.record[p->image_table[i]].index = i;
	}
	return true;
}

static void image_free(struct fl_mem *mem, struct fl_caller *who, const struct fl_process *p)
{
	for (unsigned int i = 0; i < FL_IMAGE_TABLES; i++)
		fl_page_free(mem, who, p->image_table[i], 0);
}

struct fl_process *fl_process_new(struct fl_mem *mem, struct fl_caller *who)
{
	static const enum fl_slab_cache cache[] = { FL_SLAB_signal_cache, FL_SLAB_sighand_cache, FL_SLAB_files_cache,
						    FL_SLAB_kmalloc_64 };
	struct fl_process *p = fl_host_alloc(sizeof(*p));

	fl_charge(who->task, mem->cost->process_start);
	if (!objects_alloc(mem, who, cache, 4, p->object))
		goto out;
	p->mm = fl_mm_new(mem, who);
	if (!p->mm)
		goto out_objects;
	if (!image_alloc(mem, who, p))
		goto out_mm;
	if (fl_thread_new(mem, who, p) < 0)
		goto out_image;
	return p;
out_image:
	image_free(mem, who, p);
out_mm:
	fl_mm_exit(mem, who, p->mm);
out_objects:
	objects_free(mem, who, 4, p->object);
out:
	fl_host_free(p);
	return NULL;
}

void fl_process_exit(struct fl_mem *mem, struct fl_caller *who, struct fl_process *process)
{
	fl_charge(who->task, mem->cost->process_exit);
	image_free(mem, who, process);
	for (uint32_t slot = 0; slot < process->threads; slot++)
		if (process->thread[slot].alive)
			fl_thread_exit(mem, who, process, slot);
	fl_mm_exit(mem, who, process->mm);
	objects_free(mem, who, 4, process->object);
	fl_host_free(process->thread);
	fl_host_free(process);
}

void fl_process_forget(struct fl_process *process)
{
	fl_host_free(process->thread);
	fl_host_free(process);
}
