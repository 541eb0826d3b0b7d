#!/usr/bin/env python3
"""An hour of pressure at 1 GiB for each kernel, by hand: too long for `make test`, a quarter of an hour of CPU in all.

    pressure_hours.py BUILD [--minutes 60] [--patch-minutes 10] [--busy 5] [--mib 1024] [--seed 1]

Runs the random load of pressure_test.c (several times the memory there is, swap, disk, kswapd, kcompactd, khugepaged) for
--minutes of virtual time on each base and on each base with every patch that it lacks, and for --patch-minutes on each
base with each of these patches alone. The full-state check aborts a run at the first broken invariant. In every minute
the load is busy for --busy seconds; then the kernel's threads have the machine. One line a run; the last line counts.
"""
import argparse
import os
import re
import subprocess
import sys


def listed(build, what):
    return subprocess.run([os.path.join(build, "fraglab"), "list", what], check=True, capture_output=True,
                          text=True).stdout


def bases(build):
    """Name of each base and the patches that it contains."""
    found = {}
    for line in re.sub(r"\n +", " ", listed(build, "kernels")).splitlines():
        contains = re.search(r"contains (.*)$", line)
        found[line.split()[0]] = contains.group(1).split(", ") if contains else []
    return found


def patches(build):
    """Sets left out: their members are there."""
    rows = [line.split() for line in listed(build, "patches").splitlines() if not line.startswith(" ")]
    return [row[0] for row in rows if row[1] != "set"]


def runs(build, minutes, patch_minutes):
    names = patches(build)
    for base, contained in bases(build).items():
        lacking = [name for name in names if name not in contained]
        yield base, minutes
        yield "+".join([base] + lacking), minutes
        for name in lacking:
            yield f"{base}+{name}", patch_minutes


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    for name, value in (("minutes", 60), ("patch-minutes", 10), ("busy", 5), ("mib", 1024), ("seed", 1)):
        parser.add_argument("--" + name, type=int, default=value)
    args = parser.parse_args()
    count = broken = 0
    for kernel, minutes in runs(args.build, args.minutes, args.patch_minutes):
        command = [os.path.join(args.build, "tests/mm/mm_pressure_test"), kernel, *map(str, (args.mib, minutes, args.seed, args.busy))]
        failed = subprocess.run(command).returncode != 0
        if failed:
            print("FAILED:", " ".join(command), flush=True)
        count += 1
        broken += failed
    print(f"{count} runs, {broken} with a broken invariant")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
