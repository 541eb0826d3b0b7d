#!/usr/bin/env python3
"""Runs the commands that the documents show, as a reader types them, and compares what they print with what stands there.

usage: docs.py PROGRAM ROOT DOCUMENT...

In a ```console block a line "$ COMMAND" is a command, and the lines up to the next one are its output, both streams
together, as they are; a line "..." stands for any number of lines. "$ COMMAND   # exit 2" says that it ends with that
status. `build/fraglab` and `fraglab` at the start of a command are PROGRAM; `make` is left to CI, which runs it anyway.
Commands of one document run in one empty folder, in their order, with ROOT's scenarios/ in it. FL_UPDATE_GOLDEN=1
rewrites the outputs in the documents: read the diff before you commit it.
"""
import difflib
import os
import re
import shutil
import subprocess
import sys
import tempfile

LIMIT_S = 300


class Example:
    """One command of a document, with the lines of its expected output: lines[first:last]."""

    def __init__(self, document, number, command):
        self.document, self.number = document, number
        status = re.search(r'\s+# exit (\d+)$', command)
        self.status = int(status.group(1)) if status else 0
        self.command = command[:status.start()] if status else command
        self.first = self.last = number

    def title(self):
        return f'{self.document}:{self.number}: {self.command}'


def examples_of(name, lines):
    found, inside, current = [], False, None
    for number, line in enumerate(lines, 1):
        if line.startswith('```'):
            inside = line.strip() == '```console'
            current = None
        elif inside and line.startswith('$ '):
            current = Example(name, number, line[2:])
            found.append(current)
        elif inside and current:
            current.last = number
    return found


def matches(expected, printed):
    """Whether the printed lines are the expected ones, where "..." stands for any lines."""
    pattern = ''.join('(?:.*\n)*?' if line.strip() == '...' else re.escape(line) + '\n' for line in expected)
    return re.fullmatch(pattern, ''.join(line + '\n' for line in printed)) is not None


def run(example, program, folder):
    command = re.sub(r'^(build/)?fraglab\b', program, example.command)
    command = re.sub(r'\|\s*(build/)?fraglab\b', '| ' + program, command)
    environment = {k: v for k, v in os.environ.items() if k not in ('COLUMNS', 'MAKEFLAGS', 'MFLAGS')}
    try:
        done = subprocess.run(['sh', '-c', command], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        return None, [f'did not end within {LIMIT_S} s']
    return done.returncode, done.stdout.rstrip('\n').split('\n') if done.stdout.strip() else []


def check(example, lines, program, folder):
    """Returns (sentences of what is wrong, printed lines)."""
    status, printed = run(example, program, folder)
    if status != example.status:
        return [f'exit status {status}, the document says {example.status}'] + printed, printed
    expected = lines[example.first:example.last]
    while expected and not expected[-1].strip():
        expected.pop()
    if matches(expected, printed):
        return [], printed
    return list(difflib.unified_diff(expected, printed, 'in the document', 'printed', lineterm='', n=2)), printed


def folder_for(root):
    folder = tempfile.mkdtemp(prefix='fraglab-docs-')
    for name in ('scenarios', 'docs', 'tests'):
        if os.path.isdir(os.path.join(root, name)):
            os.symlink(os.path.join(root, name), os.path.join(folder, name))
    return folder


def update(path, lines, replaced):
    for example, printed in reversed(replaced):
        if '...' not in [line.strip() for line in lines[example.first:example.last]]:
            lines[example.first:example.last] = printed
    with open(path, 'w') as f:
        f.write('\n'.join(lines))


def main():
    if len(sys.argv) < 4:
        print(__doc__, file=sys.stderr)
        return 2
    program, root = os.path.abspath(sys.argv[1]), sys.argv[2]
    number = failed = 0
    for document in sys.argv[3:]:
        path = os.path.join(root, document)
        with open(path) as f:
            lines = f.read().split('\n')
        folder, replaced = folder_for(root), []
        try:
            for example in examples_of(document, lines):
                if re.match(r'(sudo |make\b|git\b|cd\b)', example.command):
                    continue
                wrong, printed = check(example, lines, program, folder)
                if wrong and os.environ.get('FL_UPDATE_GOLDEN'):
                    replaced.append((example, printed))
                number += 1
                failed += bool(wrong)
                print(f'{"not " if wrong else ""}ok {number} - {example.title()}')
                for line in wrong:
                    print('# ' + line)
        finally:
            shutil.rmtree(folder)
        if replaced:
            update(path, lines, replaced)
    print(f'1..{number}' if number else '1..0 # SKIP the documents show no command')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
