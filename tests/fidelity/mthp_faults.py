#!/usr/bin/env python3
"""anon_fault_alloc and anon_fault_fallback of 16 kB, for the sequences of faults of mthp_faults.lua: this kernel beside the model of 6.18.

    mthp_faults.py FRAGLAB ROOT

The live run is fraglab's own, whose guardian writes all settings back, also when it is interrupted or killed; it maps 2 MiB at a
time. The counters are of the whole host, so others can only add to them: each sequence is tried twenty times and the least count
taken, in up to six runs. Skips, with its reason, where it cannot run: another kernel line, no permission, no such size, another live run on this host.
"""
import json
import os
import subprocess
import sys
import time

SIZE = '/sys/kernel/mm/transparent_hugepage/hugepages-16kB/'
RUNS = 6


class Skip(Exception):
    pass


def check_host():
    release = os.uname().release
    if not release.startswith('6.18.'):
        raise Skip(f'this kernel is {release}, the model\'s base version is 6.18')
    if not os.path.exists(SIZE + 'stats/anon_fault_alloc'):
        raise Skip('this kernel has no statistics of 16 kB pages')
    if not os.access(SIZE + 'enabled', os.W_OK):
        raise Skip('the settings of 16 kB pages cannot be written (root?)')


def counts(program, root, *options):
    """{ (metric, sequence): count } of one run."""
    script = os.path.join(root, 'tests/fidelity/mthp_faults.lua')
    command = [program, 'run', script, *options, '--json', '-', '--quiet']
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
    if result.returncode == 3 or b'another fraglab' in result.stderr:
        raise Skip(result.stderr.decode().strip().split('\n')[-1])
    if result.returncode:
        raise SystemExit(result.stderr.decode())
    metrics = json.loads(result.stdout)['metrics']
    return {(m['name'], m['phase']): int(m['values'][0][0]) for m in metrics if m['name'] in ('alloc', 'fallback')}


def measured(program, root, model):
    least, reason = {}, None
    for _ in range(RUNS):
        try:
            for key, count in counts(program, root, '--on', 'live', '--scale', '64M').items():
                least[key] = min(count, least.get(key, count))
        except Skip as busy:
            reason = busy
            time.sleep(5)
            continue
        if least == model:
            break
    if not least:
        raise reason
    return least


def settings():
    with open(SIZE + 'enabled') as f:
        return f.read()


def as_before(before):
    """Whether the setting is what it was; another live run of this host may hold it for a while."""
    for _ in range(30):
        if settings() == before:
            return True
        time.sleep(1)
    return False


def main():
    program, root = sys.argv[1], sys.argv[2]
    print('1..2')
    try:
        check_host()
        before = settings()
        model = counts(program, root, '--kernel', '6.18')
        real = measured(program, root, model)
    except Skip as reason:
        print(f'ok 1 - faults are counted alike # SKIP {reason}\nok 2 - the setting is as before # SKIP')
        return 0
    kept = as_before(before)
    print(f'{"ok" if real == model else "not ok"} 1 - faults are counted alike')
    for key in sorted(model):
        print(f'# {key[0]} {key[1]}: real {real.get(key)}, model {model[key]}')
    print(f'{"ok" if kept else "not ok"} 2 - the setting is as before')
    return 0 if real == model and kept else 1


sys.exit(main())
