#!/usr/bin/env python3
"""Model beside recordings of a real kernel, sample by sample, for the scenario type-pressure-3g.

    recordings.py FRAGLAB [--recordings DIR] [--set tight-base=6.12 ...] [--runs 5] [--all] [--json RESULT.json]
    recordings.py FRAGLAB --recordings DIR --summary FILE

DIR (or FL_RECORDINGS) holds one folder a run, <name>-1, <name>-2, ..., each with files <sample>.<what>: vmstat,
pagetypeinfo, pageblocks, extfrag, compactev (docs/FIDELITY.md says what is in them). Recordings are not part of the
project; figures derived from them are (recordings.json, made by --summary: sums over a run, gauges at its end, and
some figures of each round), and are what is compared without a DIR. A row is within the band when the mean of the
model lies within the scatter of the recordings, or within a factor of 1.5 of their mean; rows where both are small
(below 10) count as within. The last lines count rows by group. Exit status 1: a row that FIDELITY.md declares to be
within (MUST) is not.
"""
import argparse
import json
import os
import subprocess
import sys

FACTOR = 1.5
SMALL = 10
SUMMARY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "recordings.json")
TYPES = ("unmovable", "movable", "reclaimable")


def samples(rounds):
    names = ["s0", "s1_flood", "s2_base"]
    for r in range(1, rounds + 1):
        names += [f"r{r}.0start"] * (r > 1) + [f"r{r}.1drain", f"r{r}.2demand", f"r{r}.3probe"]
    return names + ["s9_end"]


# ---- the recordings: figures by (sample, name), names as the model has them ----

def lines(folder, sample, what):
    path = os.path.join(folder, f"{sample}.{what}")
    if not os.path.exists(path):
        return None
    with open(path) as f:
        return [line.split() for line in f]


def read_pageblocks(rows, put):
    total = dict.fromkeys(("polluted_pageblocks", "polluting_pages", "unmovable_pageblocks", "mixed_pageblocks",
                           "unmovable_pages", "pages_slab", "pages_pgtable", "pages_kernel", "stray_movable_pages",
                           "pages_lru", "pages_huge", "free_and_pcp") + tuple("pageblocks_" + t for t in TYPES), 0)
    for row in rows:
        kind = int(row[2])
        free, pcp, lru, thp, driver, _, slab, table, _, other = map(int, row[3:13])
        unmovable = slab + table + other
        if kind < 3:
            total["pageblocks_" + TYPES[kind]] += 1
        for name, value in (("unmovable_pages", unmovable), ("pages_slab", slab), ("pages_pgtable", table),
                            ("pages_kernel", other), ("pages_lru", lru), ("pages_huge", thp), ("free_and_pcp", free + pcp)):
            total[name] += value
        total["unmovable_pageblocks"] += unmovable > 0
        total["mixed_pageblocks"] += unmovable > 0 and lru + thp > 0
        if kind == 1:
            total["polluted_pageblocks"] += unmovable > 0
            total["polluting_pages"] += unmovable
        else:
            total["stray_movable_pages"] += lru + thp
    for name, value in total.items():
        put(name, value)


def read_pagetypeinfo(rows, put):
    for row in rows:
        if len(row) > 10 and row[0] == "Node" and row[4] == "type" and row[3] == "Normal,":
            kind = row[5].lower()
            if kind in TYPES:
                for order, value in enumerate(row[6:]):
                    put(f"nr_free_normal_{kind}_o{order}", int(value.lstrip(">")))


def read_extfrag(rows, put):
    total = {}
    for row in rows:
        if row[0].startswith("#"):
            continue
        _, _, want, taken, change, count = map(int, row)
        if want < 3 and taken < 3 and want != taken:
            name = f"extfrag_{TYPES[want]}_{TYPES[taken]}_{'claim' if change else 'steal'}"
            total[name] = total.get(name, 0) + count
    for want in TYPES:
        for taken in TYPES:
            for how in ("claim", "steal"):
                if want != taken:
                    name = f"extfrag_{want}_{taken}_{how}"
                    put(name, total.get(name, 0))


RESULTS = ("skipped", "deferred", "no_suitable_page", "continue", "complete", "partial_skipped", "contended", "success")


def read_compactev(rows, put):
    total = {}
    for row in rows:
        who, event, status, count = row[0], row[1].replace("mm_compaction_", ""), row[3], int(row[-1])
        if who not in ("direct", "kswapd", "kcompactd"):
            continue
        name = {"try_to_compact_pages": "try", "defer_compaction": "defer"}.get(event, event)
        if event == "end":
            name = f"end_{row[4]}"
        if event in ("end", "suitable", "finished"):
            name = f"compaction_{name}_{who}_{status}"
        else:
            name = f"compaction_{name}_{who}"
        total[name] = total.get(name, 0) + count
    for name in COMPACTION:
        put(name, total.get(name, 0))


COMPACTION = (["compaction_try_direct"] + [f"compaction_suitable_direct_{r}" for r in ("continue", "skipped", "success")] +
              ["compaction_deferred_direct", "compaction_defer_direct", "compaction_defer_reset_direct"] +
              [f"compaction_end_{m}_direct_{r}" for m in ("async", "sync")
               for r in ("contended", "success", "partial_skipped", "complete")] +
              [f"compaction_end_sync_kcompactd_{r}" for r in ("contended", "success", "partial_skipped", "complete")])

VMSTAT = ("pgscan_direct", "pgsteal_direct", "pgscan_kswapd", "pgsteal_kswapd", "pswpin", "pswpout", "allocstall_normal",
          "allocstall_movable", "compact_stall", "compact_success", "compact_fail", "compact_migrate_scanned",
          "compact_free_scanned", "compact_isolated", "pgmigrate_success", "pgmigrate_fail", "compact_daemon_wake",
          "compact_daemon_migrate_scanned", "thp_fault_alloc", "thp_fault_fallback", "pgfault", "pgmajfault",
          "kswapd_low_wmark_hit_quickly", "pageoutrun", "swap_ra", "pgactivate", "pgdeactivate", "pgrotated")
GAUGES = ("nr_free_pages", "nr_inactive_anon", "nr_active_anon", "nr_unevictable")


def read_run(folder, names):
    figures, before = {}, None
    for sample in names:
        def put(name, value, sample=sample):
            figures[sample, name] = value
        for what, reader in (("pageblocks", read_pageblocks), ("pagetypeinfo", read_pagetypeinfo),
                             ("extfrag", read_extfrag), ("compactev", read_compactev)):
            rows = lines(folder, sample, what)
            if rows is not None:
                reader(rows, put)
        rows = lines(folder, sample, "vmstat")
        if rows is None:
            continue
        now = {row[0]: int(row[1]) for row in rows}
        for name in VMSTAT:
            if name in now:
                put(name, now[name] - (before or now)[name])
        for name in GAUGES:
            put(name, now[name])
        before = now
    probe_success(figures, names)
    return figures


def probe_success(figures, names):
    for sample in names:
        if sample.endswith("3probe"):
            made, failed = (figures.get((sample, n), 0) for n in ("thp_fault_alloc", "thp_fault_fallback"))
            if made + failed:
                figures[sample, "thp_success_pct"] = 100 * made / (made + failed)


# ---- the model ----

def read_model(document, names):
    """One dictionary a run; extfrag events are summed over orders, as in the recordings."""
    runs = [{} for _ in range(document["runs"])]
    wanted = set(names)
    for metric in document["metrics"]:
        sample, name = metric["phase"], metric["name"]
        if sample not in wanted:
            continue
        if name.startswith("extfrag_"):
            parts = [p for p in name.split("_") if not (p[0] == "o" and p[1:].isdigit())]
            if "_".join(parts) == name:
                continue  # a total that the document carries beside its parts
            name = "_".join(parts)
        for run, value in zip(runs, metric["values"][0]):
            if value is not None:
                run[sample, name] = run.get((sample, name), 0) + value
    for run in runs:
        for sample in names:
            get = lambda n: run.get((sample, n), 0)
            if (sample, "pages_anon") in run:
                run[sample, "pages_lru"] = get("pages_anon") + get("pages_file") + get("pages_mlocked")
                run[sample, "free_and_pcp"] = get("pages_free") + get("pages_pcp")
        probe_success(run, names)
    return runs


# ---- side by side ----

GROUPS = (("placement", ("polluted_", "polluting_", "unmovable_", "mixed_", "pageblocks_", "stray_")),
          ("steals and claims", ("extfrag_",)), ("kinds of pages", ("pages_", "free_and")),
          ("free lists", ("nr_free_normal_",)), ("compaction", ("compact", "pgmigrate")), ("thp", ("thp_",)),
          ("reclaim and swap", ("pg", "pswp", "allocstall", "kswapd", "pageoutrun", "swap_ra", "nr_")))


def group_of(name):
    return next((group for group, starts in GROUPS if name.startswith(starts)), "other")


def is_within(real, model):
    mean, ours = sum(real) / len(real), sum(model) / len(model)
    if min(real) <= ours <= max(real) or max(mean, ours) < SMALL:
        return True
    return mean > 0 and ours > 0 and 1 / FACTOR <= ours / mean <= FACTOR


def compare(real_runs, model_runs, names, show_all, only):
    score, keys = {}, []
    for run in real_runs:
        keys += [key for key in run if key not in keys]
    order = {sample: i for i, sample in enumerate(names)}
    for sample, name in sorted(keys, key=lambda k: (group_of(k[1]), k[1], order[k[0]])):
        if only and only not in name:
            continue
        real = [run[sample, name] for run in real_runs if (sample, name) in run]
        model = [run[sample, name] for run in model_runs if (sample, name) in run]
        if not model:
            continue
        good = is_within(real, model)
        tally = score.setdefault(group_of(name), {}).setdefault(name, [0, 0])
        tally[0] += good
        tally[1] += 1
        if show_all or only:
            print(f"{name:42} {sample:11} {'within' if good else 'MISSED':6} real {' '.join(f'{v:.6g}' for v in real):24}"
                  f" model {' '.join(f'{v:.6g}' for v in model)}")
    return score


COUNTERS = list(VMSTAT) + COMPACTION + [f"extfrag_{a}_{b}_{h}" for a in TYPES for b in TYPES if a != b
                                       for h in ("claim", "steal")]
AT_END = ["polluted_pageblocks", "polluting_pages", "unmovable_pageblocks", "mixed_pageblocks", "unmovable_pages",
          "stray_movable_pages"] + ["pageblocks_" + t for t in TYPES]
BY_ROUND = ("polluted_pageblocks", "unmovable_pages", "pageblocks_unmovable", "thp_success_pct")
# What docs/FIDELITY.md declares to be within the band, for every set of recordings.
MUST = ("unmovable_pages", "polluted_pageblocks", "unmovable_pageblocks", "mixed_pageblocks", "pageblocks_unmovable",
        "pageblocks_movable", "extfrag_unmovable_movable_claim", "extfrag_unmovable_movable_steal", "pgscan_direct",
        "pgscan_kswapd", "pgsteal_kswapd", "pswpin", "pswpout", "pgfault", "thp_fault_alloc")


def summarise(run, names):
    """Sums over the run by name, gauges at its end, and figures of the rounds as "name r3"."""
    out = {}
    for name in COUNTERS:
        found = [run[s, name] for s in names if (s, name) in run]
        if found:
            out[name] = sum(found)
    for name in AT_END:
        if ("s9_end", name) in run:
            out[name] = run["s9_end", name]
    for sample in names:
        if sample.endswith(".3probe"):
            for name in BY_ROUND:
                if (sample, name) in run:
                    out[f"{name} {sample.split('.')[0]}"] = round(run[sample, name], 1)
    return out


def compare_summaries(real, model):
    """The table; names of MUST that were missed."""
    missed = []
    width = max(24, max(len(" ".join(f"{v:.0f}" for v in (m.get(n, 0) for m in model))) for n in real[0]))
    print(f"{'sum over the run; gauges at its end; of a round':46} {'real':>24}   {'model':>{width}}")
    for name in real[0]:
        a, b = [r[name] for r in real], [m[name] for m in model if name in m]
        if not b:
            continue
        good = is_within(a, b)
        missed += [name] if not good and name in MUST else []
        print(f"{name:46} {' '.join(f'{v:.0f}' for v in a):>24}   {' '.join(f'{v:.0f}' for v in b):>{width}}"
              f"  {'' if good else 'MISSED'}".rstrip())
    return missed


def run_model(fraglab, kernel, runs):
    command = [fraglab, "run", "type-pressure-3g", "--kernel", kernel, "--runs", str(runs), "--quiet", "--json", "-"]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    if done.returncode:
        sys.exit(f"recordings.py: {' '.join(command)} ended with {done.returncode}")
    return json.loads(done.stdout)


PATCHED = "6.12+mobility-claim+mobility-steal+mobility-capture"


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("fraglab")
    p.add_argument("--recordings", default=os.environ.get("FL_RECORDINGS"))
    p.add_argument("--set", action="append", metavar="NAME=KERNEL", help="recordings of that name against that kernel")
    p.add_argument("--runs", type=int, default=5)
    p.add_argument("--rounds", type=int, default=8)
    p.add_argument("--all", action="store_true", help="every row of every sample")
    p.add_argument("--only", help="only figures with this in their name, every sample")
    p.add_argument("--summary", metavar="FILE", help="write the figures of the recordings that the project keeps")
    p.add_argument("--json", help="a stored result of the model (then one --set)")
    a = p.parse_args()
    names = samples(a.rounds)
    pairs = [pair.partition("=")[::2] for pair in a.set or ["tight-base=6.12", f"tight-patched={PATCHED}"]]
    if a.recordings:
        real = {name: read_runs(a.recordings, name, names) for name, _ in pairs}
        summaries = {name: [summarise(run, names) for run in runs] for name, runs in real.items()}
    else:
        real = {}
        with open(SUMMARY) as f:
            summaries = json.load(f)
    if a.summary:
        with open(a.summary, "w") as f:
            json.dump(summaries, f, indent=0)
            f.write("\n")
        return
    missed = []
    for name, kernel in pairs:
        if a.json:
            with open(a.json) as f:
                document = json.load(f)
        else:
            document = run_model(a.fraglab, kernel, a.runs)
        print(f"\n== {name} ({len(summaries[name])} runs) against {kernel} ({document['runs']} seeds)")
        model = read_model(document, names)
        score = compare(real[name], model, names, a.all, a.only) if name in real else {}
        if not a.only:
            missed += [f"{name}: {row}" for row in
                       compare_summaries(summaries[name], [summarise(run, names) for run in model])]
        for group in sorted(score):
            good, rows = (sum(t[i] for t in score[group].values()) for i in (0, 1))
            print(f"{group:24} {good:5} of {rows:5} rows within")
    if missed:
        sys.exit("outside the declared band: " + ", ".join(missed))


def read_runs(recordings, name, names):
    folders = sorted(f for f in os.listdir(recordings) if f.startswith(name + "-"))
    if not folders:
        sys.exit(f"recordings.py: {recordings} has no recordings {name}-1, ...")
    return [read_run(os.path.join(recordings, f), names) for f in folders]


if __name__ == "__main__":
    main()
