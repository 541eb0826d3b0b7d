#!/usr/bin/env python3
"""Same inputs, same bytes: every case of cases.txt on every program given and with 1 and 2 jobs must give one result.

usage: matrix.py CASES PROGRAM...

The programs are builds of the same source by other compilers, at other levels, with sanitizers. A result is the whole
document but for its provenance, state hashes included. That another seed gives another result is checked too: a
comparison that cannot fail proves nothing.
"""
import concurrent.futures
import json
import os
import shlex
import subprocess
import sys

LIMIT_S = 900


def result_of(program, arguments, seed, jobs):
    """The document without provenance as text, or None with a sentence."""
    command = [program, 'compare', *arguments, '--runs', '2', '--seed', str(seed), '--jobs', str(jobs), '--quiet',
               '--json', '-']
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        return None, f'{shlex.join(command)}: no end within {LIMIT_S} s'
    if done.returncode:
        return None, f'{shlex.join(command)}: exit status {done.returncode}\n{done.stderr}'
    document = json.loads(done.stdout)
    del document['provenance']
    return json.dumps(document, sort_keys=True), None


def difference(expected, got):
    """What differs, briefly: metrics by name, then hashes."""
    expected, got = json.loads(expected), json.loads(got)
    if expected['state_hash'] != got['state_hash']:
        yield f'state_hash {expected["state_hash"]} and {got["state_hash"]}'
    pairs = zip(expected['metrics'], got['metrics'])
    for a, b in [(a, b) for a, b in pairs if a != b][:5]:
        yield f'{a["name"]} ({a["phase"]}): {a["values"]} and {b["values"]}'


class Report:
    def __init__(self):
        self.number = self.failed = 0

    def line(self, good, title, notes=()):
        self.number += 1
        self.failed += not good
        print(f'{"" if good else "not "}ok {self.number} - {title}')
        for note in notes:
            print('\n'.join('# ' + line for line in str(note).splitlines()), flush=True)


def start_runs(pool, cases, programs):
    """Every run that is needed, by (case, program, seed, jobs). The slow builds come last in the list: they start first."""
    runs = {}
    for program in reversed(programs):
        for number, arguments in enumerate(cases):
            for jobs in (1, 2):
                runs[number, program, 11, jobs] = pool.submit(result_of, program, arguments, 11, jobs)
    for number, arguments in enumerate(cases):
        runs[number, programs[0], 12, 1] = pool.submit(result_of, programs[0], arguments, 12, 1)
    return runs


def report_case(number, arguments, programs, runs, report):
    name = shlex.join(arguments)
    expected, problem = runs[number, programs[0], 11, 1].result()
    if problem:
        report.line(False, name, [problem])
        return
    other, problem = runs[number, programs[0], 12, 1].result()
    differs = bool(other) and json.loads(other)['state_hash'] != json.loads(expected)['state_hash']
    report.line(differs, f'{name}: another seed gives another state', [problem] if problem else [])
    for program in programs:
        for jobs in (1, 2):
            if (program, jobs) == (programs[0], 1):  # what the others are held against
                continue
            got, problem = runs[number, program, 11, jobs].result()
            notes = [problem] if problem else ([] if got == expected else difference(expected, got))
            report.line(got == expected, f'{name}: {program} with {jobs} jobs', notes)


def main():
    if len(sys.argv) < 3:
        print(__doc__, file=sys.stderr)
        return 2
    report = Report()
    with open(sys.argv[1]) as lines:
        cases = [shlex.split(line) for line in lines if line.strip() and not line.startswith('#')]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = start_runs(pool, cases, sys.argv[2:])
        for number, arguments in enumerate(cases):
            report_case(number, arguments, sys.argv[2:], runs, report)
    print(f'1..{report.number}')
    return 1 if report.failed else 0


if __name__ == '__main__':
    sys.exit(main())
