#!/usr/bin/env python3
"""Proves that docs.py can fail: a document with a wrong figure, a wrong status and a missing line, and one that is right."""
import os
import subprocess
import sys
import tempfile

CASES = [
    ('what is printed passes', 'fraglab one', 'one', 0),
    ('three dots stand for any lines', 'fraglab "one\ntwo\nthree"'.replace('\n', r'\n'), 'one\n...\nthree', 0),
    ('a stale figure is found', 'fraglab 98.1', '97.9', 1),
    ('a line that is no longer printed is found', 'fraglab one', 'one\ntwo', 1),
    ('a line that the document lacks is found', r'fraglab "one\ntwo"', 'one', 1),
    ('another exit status is found', 'fraglab one   # exit 2', 'one', 1),
]


def main():
    docs = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'docs.py')
    environment = {k: v for k, v in os.environ.items() if k != 'FL_UPDATE_GOLDEN'}
    failed = 0
    print(f'1..{len(CASES)}')
    for number, (title, command, output, status) in enumerate(CASES, 1):
        with tempfile.TemporaryDirectory() as root:
            program = os.path.join(root, 'program')
            with open(program, 'w') as f:
                f.write('#!/bin/sh\nprintf "$1\\n"\n')
            os.chmod(program, 0o755)
            with open(os.path.join(root, 'README.md'), 'w') as f:
                f.write(f'# x\n```console\n$ {command}\n{output}\n```\n')
            done = subprocess.run([docs, program, root, 'README.md'], env=environment, stdout=subprocess.PIPE, text=True)
        good = done.returncode == status and ('not ok' in done.stdout) == bool(status)
        failed += not good
        print(f'{"" if good else "not "}ok {number} - {title}')
        if not good:
            print('\n'.join('# ' + line for line in done.stdout.split('\n')))
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
