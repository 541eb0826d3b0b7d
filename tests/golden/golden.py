#!/usr/bin/env python3
"""Every scenario at a small size: its figures and the hash of its state, as they stood when somebody last looked.

usage: golden.py CASES FRAGLAB FOLDER

A case is a line of CASES (those of the determinism suite), its golden the file FOLDER/SCENARIO.txt. A change of the
model changes them: FL_UPDATE_GOLDEN=1 rewrites the files; the difference is read before it is committed. A pure
speed-up changes none.
"""
import difflib
import json
import os
import shlex
import subprocess
import sys
import tempfile

SEED, RUNS, COLUMNS = 1, 2, 80


def wrapped(words):
    line = ""
    for word in words:
        if line and len(line) + 1 + len(word) > COLUMNS:
            yield line
            line = "   "
        line = f"{line} {word}" if line else word
    yield line


def run(fraglab, arguments):
    """What the command prints, and the hashes below it; or None and what it says."""
    words = ["compare", *arguments, "--runs", str(RUNS), "--seed", str(SEED)]
    with tempfile.NamedTemporaryFile(suffix=".json") as result:
        done = subprocess.run([fraglab, *words, "--json", result.name], stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode:
            return None, done.stderr
        document = json.load(open(result.name))
    lines = list(wrapped(["fraglab", *map(shlex.quote, words)])) + [""] + done.stdout.splitlines() + [""]
    for kernel, hashes in zip(document["kernels"], document["state_hash"]):
        lines += wrapped([kernel + ":", "state", *hashes])
    return "\n".join(lines) + "\n", ""


def compare(path, text):
    """Lines that differ; none when the file is as it should be, or was made so."""
    if os.environ.get("FL_UPDATE_GOLDEN"):
        with open(path, "w") as f:
            f.write(text)
        return []
    if not os.path.exists(path):
        return [f"{path} is missing: FL_UPDATE_GOLDEN=1 makes it"]
    with open(path) as f:
        return list(difflib.unified_diff(f.read().splitlines(), text.splitlines(), "golden", "now", lineterm="", n=1))[:60]


def canary(text):
    """One digit of a state hash changed must be seen."""
    at = text.index("state ") + 6
    spoilt = text[:at] + ("0" if text[at] != "0" else "1") + text[at + 1:]
    return list(difflib.unified_diff(text.splitlines(), spoilt.splitlines(), lineterm="")) != []


def main():
    cases, fraglab, folder = sys.argv[1:]
    with open(cases) as lines:
        cases = [shlex.split(line) for line in lines if line.strip() and not line.startswith("#")]
    failed = 0
    print(f"1..{len(cases)}")
    for number, arguments in enumerate(cases, 1):
        text, problem = run(fraglab, arguments)
        notes = problem.splitlines() if text is None else compare(os.path.join(folder, arguments[0] + ".txt"), text)
        good = text is not None and not notes and canary(text)
        failed += not good
        print(f"{'ok' if good else 'not ok'} {number} - {arguments[0]} has the figures and the state that it had")
        for note in notes:
            print("# " + note, flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
