/*
 * sim/platform.h - the only door of the model (sim, mm, kernel) to the host: memory and stacks.
 *
 * platform.c is the one file of the model that may call the C library and the kernel; the gate test exempts it by name.
 * No address obtained here may reach the state, an order or a hash.
 */
#ifndef FL_SIM_PLATFORM_H
#define FL_SIM_PLATFORM_H

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

/* A coroutine stack: FL_STACK_BYTES usable above a guard page. */
#define FL_STACK_BYTES (256u * 1024)

struct fl_stack {
	void *low;            /* lowest usable byte; the guard page lies below */
	void *sp;             /* saved stack pointer of the suspended code */
	void *fake_stack;     /* AddressSanitizer's, while suspended */
	const char *owner;    /* name of the task, for the overflow message */
	unsigned int valgrind_id;
	struct fl_stack *next; /* free list */
};

struct fl_stack *fl_stack_new(void);
void fl_stack_free(struct fl_stack *stack);

/* Tells the overflow handler which stack is in use (NULL: main). The handler says "task NAME: stack overflow" and dies of
 * the signal. */
extern struct fl_stack *fl_stack_current;
/* Installs the handler once per process; keeps away when a sanitizer has its own. */
void fl_stack_catch_overflow(void);

#endif
