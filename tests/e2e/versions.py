#!/usr/bin/env python3
"""Runs all end-to-end scenarios against each version of Kubernetes that controlplane/ has.

    tests/e2e/versions.py                    all versions, the oldest first
    tests/e2e/versions.py 1.30 1.33          these
    tests/e2e/versions.py --jobs 2           two at a time; the scenarios mostly wait
    tests/e2e/versions.py --record           writes bench/results/kubernetes.md

The program under test is that of run.py. The last line is `N passed, N failed, N skipped`; exit code 1 if a
scenario failed or a version could not be tested.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import date
from pathlib import Path

HERE = Path(__file__).resolve().parent
RESULTS = HERE.parents[1] / "bench/results/kubernetes.md"
OF_CI = "ci"  # the module without a version in its name
LINE = re.compile(r"^(PASS|FAIL|SKIP) (\w+)\.(\w+)\.(\w+): .*?(?: \(([^()]*)\))?$", re.M)
SUMMARY = re.compile(r"^(\d+) passed, (\d+) failed, (\d+) skipped$", re.M)


@dataclass(frozen=True)
class Outcome:
    version: str  # such as v1.33.13
    passed: int
    failed: int
    failures: list  # scenarios
    skipped: dict  # reason -> scenarios


def modules():
    """{minor version, or OF_CI: whole version}, the oldest first."""
    found = {}
    for folder in (HERE / "controlplane").glob("kubernetes*"):
        version = re.search(r"^require k8s.io/kubernetes (\S+)$", (folder / "go.mod").read_text(), re.M)[1]
        found[folder.name.partition("-")[2] or OF_CI] = version
    return dict(sorted(found.items(), key=lambda each: [int(number) for number in re.findall(r"\d+", each[1])]))


def run(name, version, only):
    """All scenarios with this version."""
    chosen = [] if name == OF_CI else ["--kubernetes", name]
    filters = [flag for text in only for flag in ("--only", text)]
    with tempfile.NamedTemporaryFile("w+", prefix=f"snug-e2e-{version}-", suffix=".log", delete=False) as log:
        print(f"{version}: the output is in {log.name}", flush=True)
        subprocess.run([sys.executable, HERE / "run.py", "--require", *chosen, *filters], check=False,
                       stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
        log.seek(0)
        outcome = read_outcome(version, log.read())
    print(f"{version}: {outcome.passed} passed, {outcome.failed} failed, {count_skipped(outcome)} skipped", flush=True)
    for failure in outcome.failures:
        print(f"  failed: {failure}", flush=True)
    return outcome


def read_outcome(version, output):
    """What run.py printed. An end without a summary counts as one failure."""
    failures, skipped = [], {}
    for end, _, group, scenario, reason in LINE.findall(output):
        if end == "FAIL":
            failures.append(f"{group}.{scenario}")
        elif end == "SKIP":
            skipped.setdefault(reason, []).append(f"{group}.{scenario}")
    summary = SUMMARY.search(output)
    if not summary:
        return Outcome(version, 0, 1, ["run.py gave no summary"], skipped)
    return Outcome(version, int(summary[1]), int(summary[2]), failures, skipped)


def count_skipped(outcome):
    return sum(map(len, outcome.skipped.values()))


def page(command, outcomes):
    lines = ["# End-to-end scenarios by version of Kubernetes", "", f"    {command}", "",
             f"{date.today()}. Unmodified kube-apiserver, kube-scheduler, kube-controller-manager and kubectl of each version. "
             "What differs is in [Kubernetes versions](../../docs/reference/kubernetes.md).", "",
             "| Kubernetes | passed | failed | skipped |", "|---|---|---|---|"]
    for each in outcomes:
        lines.append(f"| {each.version} | {each.passed} | {each.failed} | {count_skipped(each)} |")
    for each in outcomes:
        if each.failures or each.skipped:
            lines += ["", f"## {each.version}", ""]
            lines += [f"- failed: `{name}`" for name in each.failures]
            lines += [f"- skipped ({reason}): " + ", ".join(f"`{name}`" for name in names)
                      for reason, names in each.skipped.items()]
    return "\n".join(lines) + "\n"


def main():
    known = modules()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("versions", nargs="*", metavar="MINOR", help=f"of {', '.join(known)}; default: all")
    parser.add_argument("--jobs", type=int, default=1, help="versions at a time (1)")
    parser.add_argument("--only", action="append", default=[], metavar="TEXT", help="as of run.py")
    parser.add_argument("--record", action="store_true", help="write bench/results/kubernetes.md")
    options = parser.parse_args()
    if unknown := [name for name in options.versions if name not in known]:
        parser.error(f"there is no module of Kubernetes {unknown[0]}; there is {', '.join(known)}")
    chosen = {name: version for name, version in known.items() if name in (options.versions or known)}
    with ThreadPoolExecutor(options.jobs) as pool:
        outcomes = list(pool.map(lambda name: run(name, chosen[name], options.only), chosen))
    if options.record:
        RESULTS.write_text(page("tests/e2e/versions.py " + " ".join(sys.argv[1:]), outcomes))
    passed, failed = sum(each.passed for each in outcomes), sum(each.failed for each in outcomes)
    print(f"{passed} passed, {failed} failed, {sum(map(count_skipped, outcomes))} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
