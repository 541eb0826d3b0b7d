/*
 * sim/event.c - timers in a binary heap ordered by (time, priority, sequence): the total order of all that happens.
 */
#include "base/hash.h"
#include "sim/internal.h"

static inline bool is_before(const struct fl_event *a, const struct fl_event *b)
{
	return a->when != b->when ? a->when < b->when : a->key < b->key;
}

static inline void heap_put(struct fl_sim *sim, uint32_t at, struct fl_event event)
{
	sim->heap[at] = event;
	event.timer->heap_index_plus_one = at + 1;
}

static void heap_up(struct fl_sim *sim, uint32_t at, struct fl_event event)
{
	while (at > 0 && is_before(&event, &sim->heap[(at - 1) / 2])) {
		heap_put(sim, at, sim->heap[(at - 1) / 2]);
		at = (at - 1) / 2;
	}
	heap_put(sim, at, event);
}

static void heap_down(struct fl_sim *sim, uint32_t at, struct fl_event event)
{
	for (;;) {
		uint32_t child = 2 * at + 1;

		if (child + 1 < sim->heap_count && is_before(&sim->heap[child + 1], &sim->heap[child]))
			child++;
		if (child >= sim->heap_count || !is_before(&sim->heap[child], &event))
			break;
		heap_put(sim, at, sim->heap[child]);
		at = child;
	}
	heap_put(sim, at, event);
}

static void heap_remove(struct fl_sim *sim, uint32_t at)
{
	struct fl_event moved = sim->heap[--sim->heap_count];

	sim->heap[at].timer->heap_index_plus_one = 0;
	if (at == sim->heap_count)
		return;
	if (at > 0 && is_before(&moved, &sim->heap[(at - 1) / 2]))
		heap_up(sim, at, moved);
	else
		heap_down(sim, at, moved);
}

static void heap_grow(struct fl_sim *sim)
{
	sim->heap_capacity = sim->heap_capacity ? 2 * sim->heap_capacity : 64;
	sim->heap = fl_host_resize(sim->heap, sim->heap_capacity * sizeof(*sim->heap));
}

void fl_timer_set(struct fl_sim *sim, struct fl_timer *timer, fl_ns when, void (*fn)(struct fl_timer *, void *),
                  void *arg)
{
	FL_ASSERT_MSG(when >= sim->now, "an event in the past");
	if (fl_timer_is_pending(timer))
		heap_remove(sim, timer->heap_index_plus_one - 1);
	if (sim->heap_count == sim->heap_capacity)
		heap_grow(sim);
	timer->when = when;
	timer->fn = fn;
	timer->arg = arg;
	sim->sequence++;
	heap_up(sim, sim->heap_count++,
	        (struct fl_event){when, (uint64_t)timer->priority << 56 | sim->sequence, timer});
}

bool fl_timer_cancel(struct fl_sim *sim, struct fl_timer *timer)
{
	if (!fl_timer_is_pending(timer))
		return false;
	heap_remove(sim, timer->heap_index_plus_one - 1);
	return true;
}

bool fl_event_next(struct fl_sim *sim)
{
	struct fl_event event;

	if (sim->heap_count == 0)
		return false;
	event = sim->heap[0];
	heap_remove(sim, 0);
	FL_ASSERT_MSG(event.when >= sim->now, "time runs backwards");
	FL_ASSERT_MSG(event.key != sim->last_key, "an event handled twice");
	FL_ASSERT_MSG(sim->heap_count == 0 || is_before(&event, &sim->heap[0]), "order of events is not total");
	sim->now = event.when;
	sim->last_key = event.key;
	sim->events++;
	event.timer->fn(event.timer, event.timer->arg);
	return true;
}

uint64_t fl_event_hash(const struct fl_sim *sim, uint64_t hash)
{
	hash = fl_hash_u64(hash, sim->heap_count);
	for (uint32_t i = 0; i < sim->heap_count; i++) {
		hash = fl_hash_u64(hash, sim->heap[i].when);
		hash = fl_hash_u64(hash, sim->heap[i].key);
	}
	return hash;
}
