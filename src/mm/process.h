/*
 * mm/process.h - what a process and a thread cost the kernel: task, signal, files objects, stack, PGD. Mirrors parts of
 * kernel/fork.c and mm/vmalloc.c.
 */
#ifndef FL_MM_PROCESS_H
#define FL_MM_PROCESS_H

#include "mm/mmap.h"

#define FL_STACK_PAGES_MAX 4 /* 16 KiB of 4K pages; one page where pages are larger */

#define FL_IMAGE_TABLES 4   /* facts: 3 to 4 table pages a process besides one per 2 MiB touched */

/* A thread: its task_struct, kernel stack, cred and pid. */
struct fl_thread {
	uint32_t object[3]; /* task_struct, cred, pid */
	fl_pfn stack[FL_STACK_PAGES_MAX];
	bool alive;
};

struct fl_process {
	struct fl_mm *mm;
	uint32_t object[4]; /* signal, sighand, files, fs */
	fl_pfn image_table[FL_IMAGE_TABLES]; /* page tables of text, libraries and stack, which are not mapped here */
	struct fl_thread *thread;
	uint32_t threads, threads_capacity; /* slots, dead ones included */
};

/* fork() and exec() of a small program: all its kernel allocations, first thread included. NULL: no memory (everything was given
 * back). May switch. */
struct fl_process *fl_process_new(struct fl_mem *mem, struct fl_caller *who);
/* clone(CLONE_THREAD): slot of the thread, or -1: no memory. May switch. */
int fl_thread_new(struct fl_mem *mem, struct fl_caller *who, struct fl_process *process);
void fl_thread_exit(struct fl_mem *mem, struct fl_caller *who, struct fl_process *process, int slot);
/* do_exit() of the last thread: address space, stacks, objects, and the struct itself. May switch. */
void fl_process_exit(struct fl_mem *mem, struct fl_caller *who, struct fl_process *process);

/* Frees the struct alone, when the machine that it lived on is thrown away. */
void fl_process_forget(struct fl_process *process);

/* Stacks kept by CPUs for the next thread (two each). */
struct fl_stack_cache {
	struct {
		bool used;
		fl_pfn page[FL_STACK_PAGES_MAX];
	} slot[2];
};

void fl_process_init(struct fl_mem *mem);
void fl_process_fini(struct fl_mem *mem);

#endif
