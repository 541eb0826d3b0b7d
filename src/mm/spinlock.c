/* mm/spinlock.c - see spinlock.h. */
#include "mm/spinlock.h"

void fl_spin_remember(struct fl_spinlock *lock, const struct fl_task *task, fl_ns held_ns)
{
	fl_ns now = fl_task_now(task), start = now > held_ns ? now - held_ns : 0;
	uint32_t last = (lock->at + FL_SPIN_HOLDS - 1) % FL_SPIN_HOLDS;

	if (lock->hold[last].cpu == task->cpu && lock->hold[last].end == start) { /* one hold, paid in pieces */
		lock->hold[last].end = now;
		return;
	}
	lock->hold[lock->at].start = start;
	lock->hold[lock->at].end = now;
	lock->hold[lock->at].cpu = task->cpu;
	lock->at = (lock->at + 1) % FL_SPIN_HOLDS;
}

bool fl_spin_is_contended(const struct fl_spinlock *lock, const struct fl_task *task)
{
	fl_ns now = fl_task_now(task);

	for (uint32_t i = 0; i < FL_SPIN_HOLDS; i++)
		if (lock->hold[i].cpu != task->cpu && lock->hold[i].start <= now && now < lock->hold[i].end)
			return true;
	return false;
}
