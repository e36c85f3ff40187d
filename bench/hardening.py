#!/usr/bin/env python3
"""What the flags of SNUG_HARDEN cost plan_bench, and http_bench with snug-extender.

Each is built with the flags and without, and both are run in turns.

Exit code 1 if the hardened programs take over 3 % longer in the geometric mean of all benchmarks. A benchmark's ratio
is that of its fastest runs, because other work on the machine can only make a run slower.
Run: python3 bench/hardening.py [--rounds 15] [--record]
"""

import argparse
import datetime
import json
import re
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULT = ROOT / "bench/results/hardening.md"
MOST_RATIO = 1.03
TARGETS = ("plan_bench", "http_bench", "snug-extender")
PLANS = "plan_all_nodes/5000|reserve_release_snapshot/5000|fit_containers|choose_victims|explain_each_node"


def build(name, harden):
    folder = ROOT / "build" / name
    subprocess.run(["cmake", "--preset", "release", "-B", folder, "-D", "SNUG_DEV=ON",
                    "-D", "CMAKE_UNITY_BUILD=ON", "-D", f"SNUG_HARDEN={harden}"],
                   cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", folder, "-j", "2", "--target", *TARGETS], cwd=ROOT, check=True,
                   stdout=subprocess.DEVNULL)
    return folder


def measure(folder):
    """{benchmark: time}, in the benchmark's own unit."""
    plans = subprocess.run([folder / "bench/plan_bench", f"--benchmark_filter={PLANS}", "--benchmark_format=json",
                            "--benchmark_min_time=0.1"], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    times = {row["name"]: row["cpu_time"] for row in json.loads(plans.stdout)["benchmarks"]}
    calls = subprocess.run([folder / "bench/http_bench", "--extender", folder / "snug-extender", "--filter-us", "1000000",
                            "--bind-us", "1000000"], check=True, stdout=subprocess.PIPE, text=True)
    for call, median in re.findall(r"the median of (\w+) is ([\d.]+) us", calls.stdout):
        times[f"{call} over HTTP"] = float(median)
    return times


def fastest(rounds, folder, name):
    return min(each[folder][name] for each in rounds)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15, help="how often each build is measured (15)")
    parser.add_argument("--record", action="store_true", help="write bench/results/hardening.md")
    options = parser.parse_args()
    hardened, plain = build("hardened", "ON"), build("plain", "OFF")
    rounds = []
    for number in range(options.rounds):
        order = (hardened, plain) if number % 2 else (plain, hardened)
        rounds.append({folder: measure(folder) for folder in order})
        print(f"round {number + 1} of {options.rounds}", flush=True)
    rows = {name: (fastest(rounds, hardened, name), fastest(rounds, plain, name)) for name in rounds[0][plain]}
    mean = statistics.geometric_mean(ours / theirs for ours, theirs in rows.values())
    passed = mean <= MOST_RATIO
    lines = ["# The cost of hardening", "", "    python3 bench/hardening.py --record", "",
             f"{datetime.date.today()}. The fastest of {options.rounds} runs of each benchmark with the flags of SNUG_HARDEN and "
             "without them, in turns, in the benchmark's own unit.", "", "| benchmark | with | without | ratio |", "|---|---|---|---|"]
    lines += [f"| {name} | {ours:.3g} | {theirs:.3g} | {ours / theirs:.3f} |" for name, (ours, theirs) in rows.items()]
    lines += ["", f"{'PASS' if passed else 'FAIL'}: {mean:.3f} in the geometric mean of the ratios (at most {MOST_RATIO})."]
    text = "\n".join(lines) + "\n"
    print(text)
    if options.record:
        RESULT.write_text(text)
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
