#!/usr/bin/env python3
"""khugepaged of this kernel beside the model's: in which of its wake-ups does each range of hot1, cold and hot2 become huge?

    khugepaged_order.py FRAGLAB ROOT

Real processes do what khugepaged_order.lua does in the model of base version 6.18, with scan_sleep shortened from 10 s to
a second. Others may be registered before ours, with any amount of memory: a runway of empty ranges, which cost 512 each, takes the
cursor in one wake-up of a long budget, and its end puts it on hot1. The settings are held by a child that writes them back when its pipe closes, so also when this program is
killed; the processes end with it. Skips, with its reason, where it cannot run: another kernel line, no permission, too little
memory, a khugepaged that is busy with something else.
"""
import ctypes
import ctypes.util
import mmap
import os
import signal
import socket
import struct
import subprocess
import sys
import time

SYS = '/sys/kernel/mm/transparent_hugepage/'
PAGE, HUGE = 4096, 2 << 20
RANGES = 16
SLEEP_MS = 1000
BUDGET = 4096
LONG_BUDGET = 8 << 20    # more than 32 GiB of huge pages of others cost
RUNWAY = 64 << 30        # twice that of empty ranges
MEMORY_MIN_KB = 512 << 10
KPF_THP = 1 << 22
PAGES = 'khugepaged/pages_to_scan'
SLEEP = 'khugepaged/scan_sleep_millisecs'
WANTED = [('enabled', 'madvise'), ('khugepaged/pages_to_scan', str(BUDGET)), ('khugepaged/alloc_sleep_millisecs', '60000'),
          ('khugepaged/defrag', '1'), ('khugepaged/max_ptes_none', '511'), ('khugepaged/scan_sleep_millisecs', '3600000')]
NUMBERS = {'freed': 0, 'read': 1}


class Skip(Exception):
    pass


# ---- settings and their guardian ----

def host_lock():
    """The lock that live runs of fraglab hold, so that nobody else changes settings meanwhile; children keep it too."""
    lock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    for _ in range(300):
        try:
            lock.bind('\0fraglab-live')
            return lock
        except OSError:
            time.sleep(0.1)
    raise Skip('another fraglab has a live run on this host')


def read(name):
    with open(SYS + name) as f:
        text = f.read().strip()
    return text[text.index('[') + 1:text.index(']')] if '[' in text else text


def write(name, value):
    with open(SYS + name, 'w') as f:
        f.write(value)


class Settings:
    """Sets; a guardian in a session of its own puts the old values back when the pipe closes. khugepaged runs before others
    meanwhile, so that a busy host does not spread one of its wake-ups over several."""

    def __init__(self, daemon):
        self.daemon = int(daemon)

    def __enter__(self):
        nice = os.getpriority(os.PRIO_PROCESS, self.daemon)
        old = [(name, read(name)) for name, _ in WANTED]
        ours, theirs = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.setsid()
            os.close(theirs)
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, signal.SIG_IGN)
            os.read(ours, 1)
            for name, value in reversed(old):
                write(name, value)
            os.setpriority(os.PRIO_PROCESS, self.daemon, nice)
            os._exit(0)
        os.close(ours)
        self.pipe = theirs
        os.setpriority(os.PRIO_PROCESS, self.daemon, -20)
        for name, value in WANTED:
            write(name, value)
        return self

    def __exit__(self, *unused):
        os.close(self.pipe)
        os.waitpid(self.pid, 0)


# ---- the processes ----

LIBC = ctypes.CDLL(None, use_errno=True)


MAP_NORESERVE = 0x4000


class Task:
    """A child that holds a mapping; it dies with us."""

    def __init__(self, body, size=(RANGES + 1) * HUGE):
        self.memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_NORESERVE)
        address = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))
        self.offset = -address % HUGE
        self.address = address + self.offset
        go, ready = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(go)
            LIBC.prctl(1, signal.SIGKILL, 0, 0, 0)  # PR_SET_PDEATHSIG
            try:
                body(self, ready)
            finally:
                os._exit(1)
        os.close(ready)
        if os.read(go, 1) != b'r':
            raise RuntimeError('a task died while it began')
        os.close(go)

    def touch(self):
        for at in range(self.offset, self.offset + RANGES * HUGE, PAGE):
            self.memory[at] = 1

    def advise(self, advice):
        self.memory.madvise(advice, self.offset, RANGES * HUGE)

    def huge(self):
        """Which ranges are huge pages now, from outside."""
        found = []
        with open(f'/proc/{self.pid}/pagemap', 'rb') as pages, open('/proc/kpageflags', 'rb', buffering=0) as flags:
            for i in range(RANGES):
                pages.seek((self.address + i * HUGE) // PAGE * 8)
                entry = struct.unpack('Q', pages.read(8))[0]
                if not entry >> 63:
                    found.append(False)
                    continue
                flags.seek((entry & (1 << 55) - 1) * 8)
                found.append(bool(struct.unpack('Q', flags.read(8))[0] & KPF_THP))
        return found

    def end(self):
        if self.pid == 0:
            return
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        self.pid = 0


def hot(task, ready):
    task.touch()
    task.advise(mmap.MADV_HUGEPAGE)
    os.write(ready, b'r')
    while True:
        task.touch()
        time.sleep(0.02)


def cold(is_read):
    def body(task, ready):
        task.touch()
        task.advise(mmap.MADV_HUGEPAGE)
        task.advise(mmap.MADV_FREE)
        if is_read:
            for i in range(RANGES):
                task.memory[task.offset + i * HUGE]
        os.write(ready, b'r')
        signal.pause()
    return body


def runway(task, ready):
    task.memory[0] = 1
    task.memory.madvise(mmap.MADV_HUGEPAGE)
    os.write(ready, b'r')
    signal.pause()


def daemon():
    """khugepaged's pid."""
    for name in os.listdir('/proc'):
        if name.isdigit():
            try:
                with open(f'/proc/{name}/comm') as f:
                    if f.read() == 'khugepaged\n':
                        return name
            except OSError:
                pass
    raise Skip('there is no khugepaged')


def wait_until_asleep(pid):
    """Until it used no CPU for a while."""
    quiet, last = 0, None
    for _ in range(300):
        with open(f'/proc/{pid}/schedstat') as f:
            now = f.read()
        quiet = quiet + 1 if now == last else 0
        if quiet == 5:
            return
        last = now
        time.sleep(0.1)
    raise Skip('khugepaged does not come to rest')


def put_cursor_on(pid, lane):
    write(PAGES, str(LONG_BUDGET))
    write(SLEEP, '3600000')  # a write of this wakes it
    time.sleep(0.2)
    wait_until_asleep(pid)
    lane.end()
    write(PAGES, str(BUDGET))


def measured(variant):
    """{ (task, range): seconds } of the real kernel. The lock comes first: a live run may stop khugepaged."""
    with host_lock():
        return measured_alone(daemon(), variant)


def measured_alone(pid, variant):
    with Settings(pid):
        wait_until_asleep(pid)
        lane = Task(runway, RUNWAY)
        wait_until_asleep(pid)
        tasks = {}
        try:
            for name, body in (('hot1', hot), ('cold', cold(variant == 'read')), ('hot2', hot)):
                tasks[name] = Task(body)
                if any(tasks[name].huge()):
                    raise Skip('memory became huge before it was registered')
            put_cursor_on(pid, lane)
            if any(any(task.huge()) for task in tasks.values()):
                raise Skip('the runway was too short')
            write(SLEEP, str(SLEEP_MS))
            os.setpriority(os.PRIO_PROCESS, 0, -20)
            seen = watch(tasks)
            if read(SLEEP) != str(SLEEP_MS) or read(PAGES) != str(BUDGET):
                raise Skip('somebody else wrote the settings meanwhile')
            return seen
        finally:
            os.setpriority(os.PRIO_PROCESS, 0, 0)
            for task in list(tasks.values()) + [lane]:
                task.end()


def watch(tasks):
    start, seen = time.monotonic(), {}
    while time.monotonic() < start + 30 * SLEEP_MS / 1000 and sum(task == 'hot2' for task, _ in seen) < RANGES:
        for name, task in tasks.items():
            for i, is_huge in enumerate(task.huge()):
                if is_huge:
                    seen.setdefault((name, i + 1), time.monotonic() - start)
        time.sleep(0.01)
    if not seen:
        raise Skip('khugepaged made nothing huge')
    return seen


# ---- the model ----

def modelled(program, root, variant):
    script = os.path.join(root, 'tests/fidelity/khugepaged_order.lua')
    command = [program, 'run', script, '--kernel', '6.18', '--set', f'cold={variant}', '--set', f'sleep_ms={SLEEP_MS}',
               '--set', f'size={RANGES * 2}M', '--json', '-', '--quiet']
    result = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    shown = subprocess.run([program, 'show', '-', '--csv'], input=result.stdout, check=True, stdout=subprocess.PIPE)
    seen = {}
    for line in shown.stdout.decode().split('\n'):
        fields = line.split(',')
        if len(fields) > 6 and fields[1] == 'huge_at_ms' and fields[6]:
            task, number = fields[2].split('_')
            seen[(task, int(number))] = float(fields[6]) / 1000
    return seen


# ---- the comparison ----

def wake_ups(seen):
    """{ task: [wake-up of each range, counted from that of hot1's first one] }; None: not huge."""
    begin = min(seen.values())
    return {task: [round((seen[(task, i)] - begin) * 1000 / SLEEP_MS) if (task, i) in seen else None
                   for i in range(1, RANGES + 1)] for task in ('hot1', 'cold', 'hot2')}


def check_host():
    release = os.uname().release
    if not release.startswith('6.18.'):
        raise Skip(f'this kernel is {release}, the model\'s base version is 6.18')
    if os.geteuid() != 0 or not os.access(SYS + SLEEP, os.W_OK):
        raise Skip('settings of khugepaged cannot be written (root?)')
    if os.sysconf('SC_PAGESIZE') != PAGE:
        raise Skip('base pages are not of 4K')
    with open('/proc/meminfo') as f:
        free = [int(line.split()[1]) for line in f if line.startswith('MemFree')][0]
    if free < MEMORY_MIN_KB:
        raise Skip(f'{free >> 10} MiB of free memory, {MEMORY_MIN_KB >> 10} are needed')


def main():
    program, root = sys.argv[1], sys.argv[2]
    failed = False
    print(f'1..{len(NUMBERS)}')
    for variant, number in NUMBERS.items():
        title = f'{number + 1} - the order of huge ranges, cold={variant}'
        try:
            check_host()
            model = wake_ups(modelled(program, root, variant))
            for _ in range(2):  # a wake-up that a busy host delayed is measured once more
                real = wake_ups(measured(variant))
                if real == model:
                    break
        except (Skip, OSError) as reason:
            print(f'ok {title} # SKIP {reason}')
            continue
        print(f'{"ok" if real == model else "not ok"} {title}')
        failed |= real != model
        for task in real:
            print(f'# {task}: real  {real[task]}\n# {task}: model {model[task]}')
    return failed


sys.exit(main())
