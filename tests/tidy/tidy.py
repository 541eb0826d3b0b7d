#!/usr/bin/env python3
"""Our habits as a test: each rule is one TAP line, and a breach is named with file and line.

usage: tidy.py ROOT            checks the source tree ROOT
       tidy.py --canary        builds a tree with one breach of each rule and proves that each is found

Old breaches of the two length rules stand in ratchet.txt beside this file with their present length: they may shrink
but not grow, and an entry that is no longer needed must go.
"""
import os
import re
import sys
import tempfile

FUNCTION_MAX_LINES = 70
FILE_MAX_LINES = 900
FOLDERS = ['src', 'tests', 'scenarios', 'docs', '.ci']
TOP_FILES = ['Makefile', 'meson.build', 'meson_options.txt', 'README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md']

# call -> what to use instead; everywhere in src/
BANNED = {
    'strcpy': 'snprintf or base/text.h', 'strcat': 'base/text.h', 'sprintf': 'snprintf or base/text.h',
    'vsprintf': 'vsnprintf or base/text.h', 'gets': 'getline', 'strtok': 'strsep, or own loop',
    'atoi': 'strtol', 'atol': 'strtol', 'atof': 'strtod',
    'rand': 'base/rng.h', 'srand': 'base/rng.h', 'random': 'base/rng.h', 'drand48': 'base/rng.h',
    'setlocale': 'nothing: numbers and order of text would depend on the user', 'alloca': 'the heap',
    'tmpnam': 'mkstemp', 'mktemp': 'mkstemp', 'system': 'fork and exec', 'popen': 'fork and exec',
}
# Only cli ends the program or speaks to the user; base/bug.c prints and aborts, and base gives up without memory.
CLI_ONLY = {'exit', 'printf', 'puts', 'putchar'}
ASSERT = re.compile(r'(?<![\w.>])assert\s*\(')
UNFINISHED = re.compile(r'\b(TO' + r'DO|FIX' + r'ME|HA' + r'CK)\b')
MACHINE = re.compile(r'(?:^|[^\w./])/(?:work|farm|root|home)/|https?://(?:deb|registry|ftp)\.|/usr/local/bin/')
CALL = re.compile(r'(?<![\w.>])([a-z_]\w*)\s*\(')


class File:
    def __init__(self, root, path):
        self.root, self.path = root, path
        with open(os.path.join(root, path), encoding='utf-8', errors='replace') as f:
            self.lines = f.read().split('\n')
        if self.lines and self.lines[-1] == '':
            self.lines.pop()

    @property
    def is_c(self):
        return self.path.endswith(('.c', '.h'))

    @property
    def room(self):
        parts = self.path.split('/')
        return parts[1] if parts[0] == 'src' and len(parts) > 2 else None

    def code(self):
        """The lines without comments and string contents, same numbering."""
        text = '\n'.join(self.lines)
        keep_newlines = lambda m: '\n' * m.group(0).count('\n')
        pattern = r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''
        return re.sub(pattern, lambda m: '""' if m.group(0)[0] == '"' else keep_newlines(m), text, flags=re.S).split('\n')

    def functions(self):
        """(name, first line, length) of each function: its braces stand alone at the left edge."""
        start = name = None
        for number, line in enumerate(self.lines, 1):
            if line.startswith('{') and start is None:
                start, name = number, self.name_before(number)
            elif line.startswith('}') and start is not None:
                yield name, start, number - start + 1
                start = None

    def name_before(self, number):
        for line in reversed(self.lines[max(0, number - 8):number - 1]):
            match = re.match(r'^[\w].*?(\w+)\(', line)
            if match:
                return match.group(1)
        return '?'


def read_tree(root):
    found = []
    for folder in FOLDERS:
        for at, folders, names in os.walk(os.path.join(root, folder)):
            folders[:] = sorted(d for d in folders if d not in ('golden', 'fixtures', 'corpus', '__pycache__'))
            found += [os.path.relpath(os.path.join(at, n), root) for n in sorted(names)]
    found += [n for n in TOP_FILES if os.path.exists(os.path.join(root, n))]
    text = ('.c', '.h', '.S', '.lua', '.md', '.py', '.sh', '.build', '.txt')
    return [File(root, p) for p in found if p.endswith(text) or p.startswith('.ci/') or p in ('Makefile', 'tests/run')]


def read_ratchet(root):
    entries = {}
    path = os.path.join(root, 'tests/tidy/ratchet.txt')
    if os.path.exists(path):
        with open(path) as f:
            for line in f:
                if line.strip() and not line.startswith('#'):
                    what, length = line.split()
                    entries[what] = int(length)
    return entries


def held_to(limit, lengths, ratchet, is_entry):
    """Breaches of a length rule: lengths is {what: (where, length)}."""
    for what, (where, length) in lengths.items():
        allowed = max(limit, ratchet.get(what, 0))
        if length > allowed:
            yield f'{where}: {what} has {length} lines, at most {allowed}'
    for what in filter(is_entry, ratchet):
        length = lengths.get(what, ('', 0))[1]
        if length <= limit:
            yield f'tests/tidy/ratchet.txt: {what} is no longer needed'


def check_functions_have_at_most_70_lines(tree, ratchet):
    lengths = {}
    for f in tree:
        if f.path.endswith('.c'):
            for name, line, length in f.functions():
                lengths[f'{f.path}:{name}'] = (f'{f.path}:{line}', length)
    yield from held_to(FUNCTION_MAX_LINES, lengths, ratchet, lambda what: ':' in what)


def check_files_have_at_most_900_lines(tree, ratchet):
    lengths = {f.path: (f.path, len(f.lines)) for f in tree}
    yield from held_to(FILE_MAX_LINES, lengths, ratchet, lambda what: ':' not in what)


def check_nothing_is_left_unfinished(tree, ratchet):
    for f in tree:
        for number, line in enumerate(f.lines, 1):
            if UNFINISHED.search(line):
                yield f'{f.path}:{number}: {line.strip()}'


def check_no_path_or_host_of_a_workplace(tree, ratchet):
    for f in tree:
        if f.path.startswith('tests/tidy/'):
            continue
        for number, line in enumerate(f.lines, 1):
            if MACHINE.search(line):
                yield f'{f.path}:{number}: {line.strip()}'


def check_banned_calls_are_not_used(tree, ratchet):
    for f in tree:
        if not (f.is_c and f.room):
            continue
        for number, line in enumerate(f.code(), 1):
            for call in CALL.findall(line):
                if call in BANNED:
                    yield f'{f.path}:{number}: {call}(): use {BANNED[call]}'


def check_only_cli_prints_and_exits(tree, ratchet):
    for f in tree:
        if not (f.is_c and f.room) or f.room in ('cli', 'base'):
            continue
        for number, line in enumerate(f.code(), 1):
            for call in CALL.findall(line):
                if call in CLI_ONLY:
                    yield f'{f.path}:{number}: {call}()'


def check_assertions_are_those_of_base_bug(tree, ratchet):
    for f in tree:
        if f.is_c and f.room:
            for number, line in enumerate(f.code(), 1):
                if ASSERT.search(line):
                    yield f'{f.path}:{number}: assert() can be compiled out; use base/bug.h'


def check_structs_have_no_typedef(tree, ratchet):
    for f in tree:
        if f.is_c and f.room:
            for number, line in enumerate(f.code(), 1):
                if re.match(r'\s*typedef\s+(struct|union|enum)\b(?!.*\(\*)', line) or re.search(r'\btypedef\b.*\w_t;', line):
                    yield f'{f.path}:{number}: {line.strip()}'


def check_public_functions_begin_with_fl(tree, ratchet):
    declared = re.compile(r'^(?:extern )?(?!static|typedef|return|else)(?:const |unsigned )*(?:struct |enum )?\w[\w ]*[ *]+(\w+)\(')
    for f in tree:
        if f.path.endswith('.h') and f.room:
            for number, line in enumerate(f.code(), 1):
                match = declared.match(line)
                if match and not match.group(1).startswith(('fl_', 'FL_', '__')):
                    yield f'{f.path}:{number}: {match.group(1)}()'


def check_source_files_open_with_what_they_are_for(tree, ratchet):
    for f in tree:
        if f.is_c and f.room and not f.lines[0].startswith('/*'):
            yield f'{f.path}:1: no opening comment'


def check_headers_are_named_with_their_room(tree, ratchet):
    for f in tree:
        if f.is_c and f.room:
            for number, line in enumerate(f.lines, 1):
                if re.match(r'#\s*include\s+"(?![\w]+/)(?!version\.h")', line):
                    yield f'{f.path}:{number}: {line.strip()}'


def check_every_test_is_registered(tree, ratchet):
    builds = {os.path.dirname(f.path): '\n'.join(f.lines) for f in tree if f.path.endswith('meson.build')}
    for f in tree:
        if not f.path.startswith('tests/') or not f.path.endswith('_test.c'):
            continue
        stem = os.path.basename(f.path)[:-len('_test.c')]
        if not re.search(r"'" + re.escape(stem) + r"(_test\.c)?'", builds.get(os.path.dirname(f.path), '')):
            yield f'{f.path}: not in the meson.build beside it'


def check_documents_name_files_that_exist(tree, ratchet):
    exists = lambda path: os.path.exists(os.path.join(tree[0].root, path))
    for f in tree:
        if not f.path.endswith('.md'):
            continue
        for number, line in enumerate(f.lines, 1):
            for path in re.findall(r'`((?:src|tests|scenarios|docs|\.ci)/[\w./-]*[\w-])/?`', line):
                if not exists(path) and not re.search('NAME|_X|ROOM', path) and '<' not in line:
                    yield f'{f.path}:{number}: {path}'
            for target in re.findall(r'\]\(([\w./-]+\.md)\)', line):
                if not exists(os.path.join(os.path.dirname(f.path), target)):
                    yield f'{f.path}:{number}: {target}'


def check_source_quoted_in_documents_is_the_source(tree, ratchet):
    files = {f.path: f for f in tree}
    for f in tree:
        if not f.path.endswith('.md'):
            continue
        for number, line in enumerate(f.lines, 1):
            match = re.match(r'<!-- file: (\S+) -->$', line)
            if not match:
                continue
            start = number + 1
            quoted = f.lines[start:f.lines.index('```', start)]
            if match.group(1) not in files or quoted != files[match.group(1)].lines:
                yield f'{f.path}:{number}: not what {match.group(1)} holds'


RULES = [value for name, value in sorted(globals().items()) if name.startswith('check_')]


def report(number, rule, breaches):
    title = rule.__name__[len('check_'):]
    print(f'{"not " if breaches else ""}ok {number} - {title}')
    for breach in breaches:
        print(f'# {breach}')
    return bool(breaches)


def check_tree(root):
    tree, ratchet = read_tree(root), read_ratchet(root)
    print(f'1..{len(RULES)}')
    if not any(f.room for f in tree):
        print(f'Bail out! no sources in {root}')
        return 1
    return int(any([report(i, rule, list(rule(tree, ratchet))) for i, rule in enumerate(RULES, 1)]))


CANARIES = {
    check_functions_have_at_most_70_lines: ('src/mm/a.c', '/* */\nvoid fl_f(void)\n{\n' + '\t;\n' * 69 + '}\n'),
    check_files_have_at_most_900_lines: ('src/mm/a.c', '/* */\n' * 901),
    check_nothing_is_left_unfinished: ('docs/a.md', 'TO' + 'DO: write\n'),
    check_no_path_or_host_of_a_workplace: ('README.md', 'see /wo' + 'rk/notes\n'),
    check_banned_calls_are_not_used: ('src/report/a.c', '/* */\nint x = atoi("1");\n'),
    check_only_cli_prints_and_exits: ('src/stats/a.c', '/* */\nvoid fl_f(void)\n{\n\texit(1);\n}\n'),
    check_assertions_are_those_of_base_bug: ('src/mm/a.c', '/* */\nvoid fl_f(void)\n{\n\tassert(1);\n}\n'),
    check_structs_have_no_typedef: ('src/mm/a.h', '/* */\ntypedef struct fl_a fl_b;\n'),
    check_public_functions_begin_with_fl: ('src/mm/a.h', '/* */\nint zone_pages(int zone);\n'),
    check_source_files_open_with_what_they_are_for: ('src/mm/a.c', 'int fl_x;\n'),
    check_headers_are_named_with_their_room: ('src/mm/a.c', '/* */\n#include "a.h"\n'),
    check_documents_name_files_that_exist: ('docs/a.md', 'see `src/mm/lost.c`\n'),
    check_source_quoted_in_documents_is_the_source: ('docs/a.md', '<!-- file: src/base/sound.c -->\n```c\nint x;\n```\n'),
    check_every_test_is_registered: ('tests/mm/lost_test.c', '/* */\n'),
}


def write(root, path, text):
    os.makedirs(os.path.dirname(os.path.join(root, path)) or root, exist_ok=True)
    with open(os.path.join(root, path), 'w') as f:
        f.write(text)


def check_canaries():
    print(f'1..{len(RULES) + 1}')
    failed = 0
    for number, rule in enumerate(RULES, 1):
        with tempfile.TemporaryDirectory() as root:
            write(root, 'src/base/sound.c', '/* sound */\nint fl_sound;\n')
            write(root, 'tests/mm/meson.build', "['other']\n")
            sound = list(rule(read_tree(root), {}))
            write(root, *CANARIES[rule])
            found = list(rule(read_tree(root), {}))
        good = not sound and len(found) >= 1
        failed += not good
        print(f'{"" if good else "not "}ok {number} - breach is found: {rule.__name__[len("check_"):]}')
    stale = list(held_to(70, {'a.c:f': ('a.c:1', 60)}, {'a.c:f': 80}, lambda what: True))
    failed += not stale
    print(f'{"" if stale else "not "}ok {len(RULES) + 1} - entry of the ratchet that is no longer needed is found')
    return 1 if failed else 0


def main():
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    return check_canaries() if sys.argv[1] == '--canary' else check_tree(sys.argv[1])


if __name__ == '__main__':
    sys.exit(main())
