/* mm/vmstat.c - names of counters and events, and the sink of trace events. */
#include "mm/vmstat.h"

#include "mm/mem.h"

#define NAME_ENTRY(name) #name,

const char *fl_vm_event_name(enum fl_vm_event event)
{
	static const char *const names[] = { FL_VM_EVENTS(NAME_ENTRY) };

	FL_ASSERT(event < FL_VM_COUNT);
	return names[event];
}

const char *fl_mthp_stat_name(enum fl_mthp_stat stat)
{
	static const char *const names[] = { FL_MTHP_STATS(NAME_ENTRY) };

	FL_ASSERT(stat < FL_MTHP_COUNT);
	return names[stat];
}

const char *fl_work_name(enum fl_work work)
{
	static const char *const names[] = { FL_WORK_KINDS(NAME_ENTRY) };

	FL_ASSERT(work < FL_WORK_COUNT);
	return names[work];
}

const char *fl_actor_name(enum fl_actor actor)
{
	static const char *const names[] = { "direct", "kswapd", "kcompactd", "khugepaged" };

	FL_ASSERT(actor < FL_ACTORS);
	return names[actor];
}

const char *fl_trigger_name(enum fl_trigger trigger)
{
	static const char *const names[] = { "slowpath", "kswapd_sleep", "boost", "timer", "sysctl", "atomic",
					     "scan" };

	FL_ASSERT(trigger < FL_TRIGGERS);
	return names[trigger];
}

const char *fl_migratetype_name(unsigned int type)
{
	static const char *const names[] = { "Unmovable", "Movable", "Reclaimable", "HighAtomic", "Isolate" };

	FL_ASSERT(type < FL_MIGRATETYPES);
	return names[type];
}

const char *fl_zone_name(unsigned int zone)
{
	static const char *const names[] = { "DMA", "DMA32", "Normal", "Movable" };

	FL_ASSERT(zone < FL_ZONES);
	return names[zone];
}

const char *fl_trace_name(enum fl_trace_id id)
{
#define EVENT_NAME(name, system) #name,
	static const char *const names[] = { FL_TRACE_EVENTS(EVENT_NAME) };
#undef EVENT_NAME

	FL_ASSERT(id < FL_TRACE_COUNT);
	return names[id];
}

const char *fl_trace_system(enum fl_trace_id id)
{
#define EVENT_SYSTEM(name, system) system,
	static const char *const systems[] = { FL_TRACE_EVENTS(EVENT_SYSTEM) };
#undef EVENT_SYSTEM

	FL_ASSERT(id < FL_TRACE_COUNT);
	return systems[id];
}

void fl_trace_emit(struct fl_mem *mem, const struct fl_caller *who, enum fl_trace_id id, const uint64_t arg[6])
{
	struct fl_trace_event event = {
		.time_ns = fl_task_now(who->task),
		.id = id,
		.cpu = who->task->cpu,
		.task_id = who->task->id,
		.task_name = who->task->name,
	};

	for (unsigned int i = 0; i < 6; i++)
		event.arg[i] = arg[i];
	mem->trace.emit(mem->trace.arg, &event);
}
