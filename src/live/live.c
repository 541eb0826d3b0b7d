/*
 * live/live.c - the backend: makes the host ready, runs the scenario, takes everything back.
 *
 * Order of opening: the guardian first, then one thing after the other, each told to it before it is done. Closing ends the
 * processes; the guardian undoes the rest, as it does after a crash.
 */
#include "live/live.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "live/conduct.h"
#include "live/request.h"
#include "observe/kpageflags.h"

#define LOCK_WAIT_MS 15000

static void raise_limit(int resource, bool to_infinity)
{
	struct rlimit limit;

	if (getrlimit(resource, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	if (to_infinity && geteuid() == 0)
		limit.rlim_cur = limit.rlim_max = RLIM_INFINITY;
	setrlimit(resource, &limit);
}

/* Descriptors and locked memory as the load needs them; never a core file of it. */
static void set_limits(void)
{
	struct rlimit none = { 0, 0 }, many = { 1 << 20, 1 << 20 };

	raise_limit(RLIMIT_MEMLOCK, true);
	if (setrlimit(RLIMIT_NOFILE, &many) < 0) /* root, and fs.nr_open allows it */
		raise_limit(RLIMIT_NOFILE, false);
	setrlimit(RLIMIT_CORE, &none);
}

static int make_group(struct fl_backend *vm, struct fl_error *reterr)
{
	char why[256], name[48], *path;
	int error;

	fl_live_group_find("", &vm->group, why);
	if (!vm->group.version)
		return 0;
	snprintf(name, sizeof(name), FL_LIVE_NAME "%d", (int)getpid());
	path = fl_xasprintf("%s/%s", vm->group.path, name);
	error = fl_live_guardian_note(&vm->guardian, FL_LIVE_NOTE_GROUP, path, "", reterr);
	free(path);
	if (!error)
		fl_live_group_make(&vm->group, name, vm->budget.limit, why);
	return error;
}

static int write_settings(struct fl_backend *vm, const struct fl_backend_request *request, struct fl_error *reterr)
{
	char path[FL_LIVE_SETTING_PATH_MAX];
	struct fl_live_settings s;
	bool is_set;
	int error = fl_live_settings_of(request, &s, reterr);

	for (unsigned int i = 0; i < s.count && !error; i++) {
		if (s.list[i].is_model_only)
			continue;
		error = fl_live_setting_check("", s.list[i].name, s.list[i].value, &is_set, reterr);
		if (error || is_set)
			continue;
		fl_live_setting_path(s.list[i].name, path, NULL);
		error = fl_live_note_setting(vm, path, reterr);
		if (!error)
			error = fl_live_setting_write("", path, s.list[i].value, reterr);
	}
	return error;
}

/* Metrics more, where tracefs is there. */
static int open_events(struct fl_backend *vm, struct fl_error *reterr)
{
	struct fl_error why;
	int error;

	if (fl_live_events_probe(&why))
		return 0;
	error = fl_live_guardian_note(&vm->guardian, FL_LIVE_NOTE_EVENTS, "", "", reterr);
	if (error || fl_live_events_open(&vm->sampler.events, &why) == 0)
		return error;
	vm->sampler.events = NULL;
	fl_text_add(&vm->record->log, "not measured: %s (%s)\n", fl_live_events_names, why.text);
	return 0;
}

static void find_device(struct fl_backend *vm)
{
	char folder[64], type[16];

	if (!fl_live_disk_find(folder, type) || !fl_live_device_find(folder, vm->device))
		vm->device[0] = '\0';
}

static int watch_guardian(struct fl_backend *vm, struct fl_error *reterr)
{
	struct epoll_event event = { .events = EPOLLIN };

	vm->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (vm->epoll < 0 || epoll_ctl(vm->epoll, EPOLL_CTL_ADD, vm->guardian.from, &event) < 0)
		return fl_error_set(reterr, FL_ERROR_FAILED, -errno, "epoll: %s", strerror(errno));
	return 0;
}

static int make_ready(struct fl_backend *vm, const struct fl_backend_request *request, struct fl_error *reterr)
{
	int error = fl_live_guardian_start(&vm->guardian, &vm->budget, !request->force, LOCK_WAIT_MS, reterr);

	if (error)
		return error;
	vm->has_namespace = geteuid() == 0 && unshare(CLONE_NEWNS) == 0;
	if (vm->has_namespace) /* fails in a chroot: then the guardian unmounts */
		mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
	setpgid(0, 0); /* what is typed at the terminal is for the tool, which ends us */
	signal(SIGPIPE, SIG_IGN); /* a guardian that is gone is an error, not our end */
	set_limits();
	find_device(vm);
	if ((error = make_group(vm, reterr)) || (error = write_settings(vm, request, reterr)) ||
	    (error = open_events(vm, reterr)) || (error = watch_guardian(vm, reterr)))
		return error;
	return request->ballast ? fl_live_ballast_start(vm, reterr) : 0;
}

static void live_close(struct fl_backend *vm)
{
	fl_live_agents_free(vm);
	if (vm->ballast > 0) {
		kill(vm->ballast, SIGKILL);
		while (waitpid(vm->ballast, NULL, 0) < 0 && errno == EINTR)
			;
	}
	fl_live_events_close(vm->sampler.events);
	fl_live_sampler_fini(&vm->sampler);
	if (vm->epoll >= 0)
		close(vm->epoll);
	if (vm->tmpfs[0] && vm->has_namespace)
		umount2(vm->tmpfs, MNT_DETACH);
	fl_live_guardian_end(&vm->guardian);
	free(vm->things);
	free(vm);
}

static int live_open(const struct fl_backend_request *request, struct fl_record *record, struct fl_backend **ret,
		     struct fl_error *reterr)
{
	struct fl_backend *vm = fl_xcalloc(1, sizeof(*vm));
	int error = fl_live_check(request, &vm->host, reterr);

	vm->record = record;
	vm->epoll = -1;
	vm->sampler.root = "";
	vm->guardian = (struct fl_live_guardian){ .to = -1, .from = -1, .life = -1, .lock = -1 };
	if (!error)
		error = fl_live_budget_make("", vm->host.scale_bytes, request->force, &vm->budget, reterr);
	if (!error)
		error = make_ready(vm, request, reterr);
	if (error) {
		live_close(vm);
		return error;
	}
	vm->born_ns = fl_live_now_ns();
	fl_live_sampler_measure(&vm->sampler);
	*ret = vm;
	return 0;
}

static void end_record(struct fl_backend *vm)
{
	uint64_t lost = fl_live_events_lost(vm->sampler.events);

	if (lost)
		fl_text_add(&vm->record->log, "%llu trace events were lost: %s count too little\n", (unsigned long long)lost,
			    fl_live_events_names);
	vm->record->virtual_ns = fl_live_now_ns() - vm->born_ns;
	vm->record->has_census = fl_census_read_live("", &vm->record->census, NULL) == 0;
	if (vm->agents[0]->process->no_memory) {
		vm->record->died = true;
		snprintf(vm->record->died_where, sizeof(vm->record->died_where), "after %s: out of memory",
			 vm->phase[0] ? vm->phase : "the start");
	}
}

static int live_run(struct fl_backend *vm, const struct fl_program *program, struct fl_error *reterr)
{
	int64_t handle = fl_live_agent_start(vm, NULL, program, "main", false);

	if (handle < 0)
		return fl_error_set(reterr, FL_ERROR_FAILED, (int)handle, "the first process cannot be started: %s",
				    strerror((int)-handle));
	fl_live_conduct(vm);
	if (vm->error.class) {
		*reterr = vm->error;
		return vm->error.code;
	}
	if (!vm->stopped)
		end_record(vm);
	return 0;
}

static void live_stop(struct fl_backend *vm)
{
	vm->stopped = true;
}

int fl_live_settle(struct fl_error *reterr)
{
	int fd, error = fl_live_lock_try(LOCK_WAIT_MS, &fd, reterr);

	if (!error)
		close(fd);
	return error;
}

const struct fl_backend_ops fl_backend_live = {
	.name = "live",
	.summary = "the kernel that runs: real processes in real time",
	.host = fl_live_check,
	.open = live_open,
	.run = live_run,
	.stop = live_stop,
	.close = live_close,
};
