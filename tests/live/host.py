#!/usr/bin/env python3
"""The live backend on the kernel that runs: results of a small scenario, and that the host is as before afterwards, also after
SIGINT and after SIGKILL of any process.

usage: host.py FRAGLAB SOURCE

Prints TAP. Skips with its reason without root, without writable settings, or when another live run holds the host for long.
Only settings that nothing else touches are compared, since others may work on this host.
"""
import glob
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

FRAGLAB, SOURCE = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
SCENARIO = os.path.join(SOURCE, 'tests/live/small.lua')
THP = '/sys/kernel/mm/transparent_hugepage/'
SETTINGS = ['/proc/sys/vm/vfs_cache_pressure', THP + 'khugepaged/max_ptes_shared']
# Values of this process alone, so that another one's live runs are not taken for ours.
MINE = [str(101 + os.getpid() % 397), str(1 + os.getpid() % 251)]
COMMAND = [FRAGLAB, 'run', SCENARIO, '--on', 'live', '--scale', '64M', '--quiet', '--tunable', 'vm.vfs_cache_pressure=' + MINE[0],
           '--set', 'mark=' + MINE[1]]


class Skip(Exception):
    pass


def read(path):
    try:
        with open(path) as file:
            return file.read().strip()
    except OSError:
        return None


def processes():
    """Names of all processes that a run makes, by pid. Another fraglab's are not ours: those of the test descend from us."""
    found = {}
    for path in glob.glob('/proc/[0-9]*/comm'):
        name = read(path)
        if name and name.startswith('fl-'):
            found[int(path.split('/')[2])] = name
    return found


def leftovers():
    folders = [path for top in ('/tmp', '/var/tmp', '/var/lib', '/home', '/dev/shm', '')
               for path in glob.glob(top + '/fraglab-live-*')]
    groups = []
    for top in ('/sys/fs/cgroup/memory', '/sys/fs/cgroup'):
        for at, names, _ in os.walk(top):
            groups += [os.path.join(at, n) for n in names if n.startswith('fraglab-live-')]
    mounts = [line for line in (read('/proc/mounts') or '').splitlines() if 'fraglab' in line]
    # those of a run that another one has under way are not ours
    return sorted(path for path in set(folders + groups + mounts) if not is_alive(path.split('live-')[-1].split('-')[0], 'fraglab'))


def children_of(pid):
    found = []
    for path in glob.glob('/proc/[0-9]*/stat'):
        text = read(path)
        if text and int(text.rsplit(')', 1)[1].split()[1]) == pid:
            found.append(int(path.split('/')[2]))
    return found


def descendants(pid):
    found = {}
    for child in children_of(pid):
        found[child] = read(f'/proc/{child}/comm')
        found.update(descendants(child))
    return found


def state():
    """Which settings have our values: none, before and after."""
    return [path for path, mine in zip(SETTINGS, MINE) if read(path) == mine]


def is_alive(pid, name):
    text = read(f'/proc/{pid}/stat')
    return text is not None and f'({name})' in text and text.rsplit(')', 1)[1].split()[0] != 'Z'


def host_is_busy():
    return any(name == 'fl-guardian' for name in processes().values())


def wait_for_host(seconds=60):
    end = time.time() + seconds
    while host_is_busy():
        if time.time() > end:
            raise Skip('another live run holds this host')
        time.sleep(0.1)


def run(arguments, timeout=90):
    """A run that is tried again while another one holds the host."""
    for _ in range(5):
        wait_for_host()
        done = subprocess.run(arguments, capture_output=True, text=True, timeout=timeout)
        if 'another fraglab' not in done.stderr:
            return done
    raise Skip('another live run holds this host')


def start(stay='60s'):
    """A run that stands with everything held; returns it when its settings are set and its files are there."""
    for _ in range(5):
        wait_for_host()
        before = state(), leftovers()
        process = subprocess.Popen(COMMAND + ['--set', 'stay=' + stay, '--runs', '2', '--json', os.devnull], stderr=subprocess.PIPE, text=True)
        end = time.time() + 60
        while time.time() < end and process.poll() is None:
            ours = descendants(process.pid)
            if 'fl-holder' in ours.values() and state() == SETTINGS and \
                    'fl-memory' not in ours.values() and 'fl-files' not in ours.values():
                time.sleep(0.5)
                return process, (*before, descendants(process.pid))
            time.sleep(0.05)
        process.kill()
        if 'another fraglab' not in process.communicate()[1]:
            raise AssertionError('the run did not come to its rest')
    raise Skip('another live run holds this host')


def expect_as_before(before, seconds):
    """Settings, folders, cgroups, mounts and processes as before within that time."""
    end = time.time() + seconds
    while True:
        now = state(), leftovers()
        left = {pid: name for pid, name in (before[2] if len(before) > 2 else {}).items() if is_alive(pid, name)}
        if now == before[:2] and not left:
            return
        if time.time() > end:
            raise AssertionError(f'before {before}, now {now}, left {left}')
        time.sleep(0.02)


def metrics(document):
    return {(m['name'], m['phase']): m['values'][0][0] for m in document['metrics']}


def run_small(*more):
    with tempfile.NamedTemporaryFile(suffix='.json') as file:
        done = run(COMMAND + ['--json', file.name] + list(more))
        assert done.returncode == 0, (done.returncode, done.stderr)
        return json.load(open(file.name))


def test_verbs_give_what_the_model_gives():
    live = metrics(run_small())
    with tempfile.NamedTemporaryFile(suffix='.json') as file:
        subprocess.run([FRAGLAB, 'run', SCENARIO, '--memory', '1G', '--quiet', '--json', file.name], check=True)
        model = metrics(json.load(open(file.name)))
    keys = [key for key in model if key[0] in ('value', 'ended', 'died')]
    assert len(keys) > 20, keys
    near = {('value', 'touch'), ('value', 'refault'), ('value', 'again')}  # the kernel may take a fault of its own on the way
    for key in keys:
        assert live[key] == model[key] or (key in near and 0 <= live[key] - model[key] <= 3), (key, live[key], model[key])


def test_a_run_leaves_the_host_as_it_was():
    wait_for_host()
    before = state(), leftovers()
    document = run_small()
    expect_as_before(before, 2)
    assert document['backend'] == 'live' and document['kernels'][0].startswith('live')


def test_names_of_metrics_are_those_of_the_model():
    def family(name):
        return ''.join('#' if c.isdigit() else c for c in name)

    live = {family(m['name']) for m in run_small()['metrics']}
    with tempfile.NamedTemporaryFile(suffix='.json') as file:
        subprocess.run([FRAGLAB, 'run', SCENARIO, '--memory', '1G', '--quiet', '--json', file.name], check=True)
        model = {family(m['name']) for m in json.load(open(file.name))['metrics']}
    # zones that this host has not, what needs tracefs where there is none, and counters of other versions
    events = () if any(n.startswith('extfrag_') for n in live) else ('extfrag_', 'compaction_', 'nonmovable_steals')
    zones = ('nr_free_', 'nr_pcp_pages_', 'unusable_index_')
    missing = sorted(n for n in model - live if not n.startswith(events + zones))
    assert not missing, missing
    assert len(live & model) > 150, len(live & model)


def test_interrupt_puts_the_host_back_before_the_tool_ends():
    process, before = start()
    process.send_signal(signal.SIGINT)
    process.wait(timeout=20)
    assert process.returncode == 130, process.returncode
    expect_as_before(before, 0.2)


def test_runs_that_were_finished_before_the_interrupt_are_kept():
    wait_for_host()
    before = state(), leftovers()
    with tempfile.NamedTemporaryFile(suffix='.json') as file:
        process = subprocess.Popen(COMMAND + ['--set', 'stay=500ms', '--runs', '1000', '--json', file.name], stderr=subprocess.PIPE, text=True)
        first, end = None, time.time() + 120
        while time.time() < end and process.poll() is None:
            now = [child for child in children_of(process.pid)]
            first = first or now
            if first and now and now != first and 'fl-holder' in descendants(process.pid).values():
                break
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        error = process.communicate(timeout=30)[1]
        if 'another fraglab' in error:
            raise Skip('another live run holds this host')
        assert process.returncode == 130, (process.returncode, error)
        document = json.load(open(file.name))
    assert any(v is not None for m in document['metrics'] for v in m['values'][0]), 'no finished run'
    expect_as_before(before, 0.2)


def test_kill_of_the_tool_puts_everything_back_by_itself():
    process, before = start()
    process.kill()
    process.wait()
    expect_as_before(before, 4)


def test_kill_of_the_guardian_ends_the_run_which_puts_everything_back_itself():
    process, before = start(stay='4s')
    guardian = [pid for pid, name in before[2].items() if name == 'fl-guardian']
    assert len(guardian) == 1, guardian
    os.kill(guardian[0], signal.SIGKILL)
    error = process.communicate(timeout=60)[1]
    assert process.returncode == 1 and 'the guardian process' in error, (process.returncode, error)
    expect_as_before(before, 4)


def test_kill_of_the_conductor_loses_the_run_and_puts_everything_back():
    process, before = start(stay='4s')
    conductor = children_of(process.pid)
    assert len(conductor) == 1, conductor
    os.kill(conductor[0], signal.SIGKILL)
    process.wait(timeout=60)
    expect_as_before(before, 4)
    assert process.returncode == 1, process.returncode


def test_a_process_of_the_load_that_somebody_ends_fails_the_run():
    for number in (signal.SIGTERM, signal.SIGSEGV):
        process, before = start(stay='4s')
        holder = [pid for pid, name in before[2].items() if name == 'fl-holder']
        os.kill(holder[0], number)
        error = process.communicate(timeout=60)[1]
        assert process.returncode == 1 and f'"holder" of the load was ended from outside by signal {int(number)}' in error, \
            (process.returncode, error)
        expect_as_before(before, 4)


def test_a_wrong_verb_ends_the_run_with_its_line_and_puts_everything_back():
    wait_for_host()
    before = state(), leftovers()
    done = run(COMMAND + ['--set', 'broken=yes'])
    assert done.returncode == 2 and 'small.lua:' in done.stderr and '4711' in done.stderr, (done.returncode, done.stderr)
    expect_as_before(before, 2)


def test_settings_of_one_kernel_do_not_reach_the_other():
    wait_for_host()
    before = state(), leftovers()
    with tempfile.NamedTemporaryFile(suffix='.json') as file:
        done = run([FRAGLAB, 'compare', SCENARIO, '--on', 'live', '--scale', '64M', '--quiet', '--kernel', 'live', '--kernel',
                    'live,vm.watermark_scale_factor=11', '--runs', '2', '--json', file.name], timeout=200)
        assert done.returncode == 0, done.stderr
        document = json.load(open(file.name))
    assert document['kernels'] == ['live', 'live,vm.watermark_scale_factor=11'], document['kernels']
    assert all(None not in m['values'][0] for m in document['metrics'] if m['name'] == 'value')
    expect_as_before(before, 2)


def test_a_second_live_run_waits_or_says_so():
    process, before = start(stay='3s')
    second = subprocess.run(COMMAND, capture_output=True, text=True, timeout=120)
    assert second.returncode == 0 or 'another fraglab' in second.stderr, second.stderr
    process.wait(timeout=90)
    expect_as_before(before, 4)


def test_dry_run_says_what_it_would_do_and_does_nothing():
    before = state(), leftovers()
    done = subprocess.run(COMMAND + ['--dry-run'], capture_output=True, text=True, timeout=20)
    assert done.returncode == 0, done.stderr
    for word in ('kernel ', f'vfs_cache_pressure: {MINE[0]}, afterwards', 'budget ', '64M', 'folder ', 'guardian'):
        assert word in done.stdout, (word, done.stdout)
    assert (state(), leftovers()) == before or host_is_busy()


def test_without_root_a_setting_that_must_change_is_refused():
    done = subprocess.run(COMMAND, capture_output=True, text=True, timeout=60, user='nobody', cwd='/') if os.geteuid() == 0 else \
        subprocess.run(COMMAND, capture_output=True, text=True, timeout=60)
    if done.returncode != 3 and 'Permission' in done.stderr:
        raise Skip('the program cannot be run by nobody')
    assert done.returncode == 3 and 'root' in done.stderr, (done.returncode, done.stderr)


def main():
    tests = [(name, test) for name, test in globals().items() if name.startswith('test_')]
    print(f'1..{len(tests)}', flush=True)
    reason, bad = None, 0
    if os.geteuid() != 0:
        reason = 'needs root'
    elif not all(os.access(path, os.W_OK) and read(path) for path in SETTINGS):
        reason = 'settings of this kernel may not be written'
    for number, (name, test) in enumerate(tests, 1):
        why = reason
        if not why:
            try:
                test()
                print(f'ok {number} - {name}', flush=True)
                continue
            except Skip as skip:
                why = str(skip)
            except (AssertionError, subprocess.SubprocessError, KeyError, OSError) as error:
                bad += 1
                print(f'# {error!r}'.replace('\n', ' '))
                print(f'not ok {number} - {name}', flush=True)
                continue
        print(f'ok {number} - {name} # SKIP {why}', flush=True)
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main())
