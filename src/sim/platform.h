/*
 * sim/platform.h - the only door of the model (sim, mm, kernel) to the host: memory and stacks.
 *
 * platform.c is the one file of the model that may call the C library and the kernel; the gate test exempts it by name.
 * No address obtained here may reach the state, an order or a hash.
 */
#ifndef FL_SIM_PLATFORM_H
#define FL_SIM_PLATFORM_H

#include <stdbool.h>
#include <stddef.h>

/* Zeroed memory for structs; out of memory ends the program with a sentence. Freed with fl_host_free (NULL allowed). */
void *fl_host_alloc(size_t size) __attribute__((malloc));
/* Like realloc; the new tail is NOT zeroed. */
void *fl_host_resize(void *p, size_t size);
void fl_host_free(void *p);

/* Zeroed address space for the large arrays of the model: costs nothing until touched (mmap, no reserve). Never clear or
 * checksum it at the start. */
void *fl_host_map(size_t bytes);
void fl_host_unmap(void *p, size_t bytes);

/* ---- Stacks of coroutines ---- */

/* Usable bytes above one guard page. 256 KiB of address space cost no more memory than 64; frames are several times
 * larger under AddressSanitizer. */
#define FL_STACK_BYTES ((size_t)256 * 1024)

struct fl_stack {
	void *low;         /* lowest usable byte; the guard page lies below */
	void *sp;          /* saved stack pointer of the suspended code */
	void *main_sp;     /* the same of the code that entered */
	const char *owner; /* name of the task, for the overflow message */
	void (*entry)(void *arg);
	void *arg;
	bool entered;      /* the entry function has begun */
	bool is_discarded; /* leave for good at the next entering */
	/* AddressSanitizer's view, while suspended / of the code that entered */
	void *fake_stack;
	const void *main_bottom;
	size_t main_size;
	unsigned int valgrind_id;
	struct fl_stack *next; /* free list of the pool */
};

struct fl_stack *fl_stack_new(void);
void fl_stack_free(struct fl_stack *stack);

/* The stack that code runs on, NULL on the main stack: tells the overflow handler whose guard page was hit. */
extern struct fl_stack *fl_stack_current;

/* Installs, once per process, a handler on a stack of its own that says "task NAME: stack overflow" and lets the signal
 * kill the process. Does nothing under AddressSanitizer, which reports overflows itself. */
void fl_stack_catch_overflow(void);

#endif
