/*
 * mm/spinlock.h - who else holds a spinlock now: the zone lock and the LRU lock, as far as asynchronous compaction asks
 * (compact_lock_irqsave() gives up where a trylock fails).
 *
 * The model runs one task at a time, so a lock is never taken when somebody wants it. What it keeps is when the lock was
 * held, in the virtual time of the tasks, by which CPU: the last few holds. Tasks run ahead of each other by a quantum at
 * most (sim/sim.h), so a hold of another CPU that covers the moment of one's own trylock is among them. Nothing is kept
 * while nobody would ask. Nobody waits: the wait for a lock has no cost of its own.
 */
#ifndef FL_MM_SPINLOCK_H
#define FL_MM_SPINLOCK_H

#include "sim/sim.h"

#define FL_SPIN_HOLDS 16u

struct fl_spinlock {
	struct {
		fl_ns start, end;
		uint32_t cpu;
	} hold[FL_SPIN_HOLDS];
	uint32_t at, watchers; /* watchers: asynchronous compactors under way */
};

void fl_spin_remember(struct fl_spinlock *lock, const struct fl_task *task, fl_ns held_ns);

/* The task has held the lock for the last held_ns of its time. */
static inline void fl_spin_held(struct fl_spinlock *lock, const struct fl_task *task, fl_ns held_ns)
{
	if (FL_UNLIKELY(lock->watchers) && held_ns)
		fl_spin_remember(lock, task, held_ns);
}

/* Would a trylock of this task fail now? */
bool fl_spin_is_contended(const struct fl_spinlock *lock, const struct fl_task *task);

#endif
