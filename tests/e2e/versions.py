#!/usr/bin/env python3
"""Runs all end-to-end scenarios against each version of Kubernetes that controlplane/ has.

    tests/e2e/versions.py                    all versions, the oldest first
    tests/e2e/versions.py 1.30 1.33          these
    tests/e2e/versions.py --jobs 2           two at a time; the scenarios mostly wait
    tests/e2e/versions.py --record           writes their sections of bench/results/kubernetes.md

The program under test is that of run.py. The last line is `N passed, N failed, N skipped`; exit code 1 if a
scenario failed or a version could not be tested.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from datetime import date
from pathlib import Path

HERE = Path(__file__).resolve().parent
RESULTS = HERE.parents[1] / "bench/results/kubernetes.md"
OF_CI = "ci"  # the module without a version in its name
LINE = re.compile(r"^(PASS|FAIL|SKIP) (\w+)\.(\w+)\.(\w+): .*?(?: \(([^()]*)\))?$", re.M)
HEAD = """# End-to-end scenarios by version of Kubernetes

    tests/e2e/versions.py --record

Unmodified kube-apiserver, kube-scheduler, kube-controller-manager and kubectl of each version.
[Kubernetes versions](../../docs/reference/kubernetes.md) says what differs.
"""
SUMMARY = re.compile(r"^(\d+) passed, (\d+) failed, (\d+) skipped$", re.M)


@dataclass(frozen=True)
class Outcome:
    version: str  # such as v1.33.13
    passes: list  # scenarios
    failures: list
    skipped: dict  # reason -> scenarios
    repeated: tuple = ()  # of those that passed: scenarios that had failed beside others


def modules():
    """{minor version, or OF_CI: whole version}, the oldest first."""
    found = {}
    for folder in (HERE / "controlplane").glob("kubernetes*"):
        version = re.search(r"^require k8s.io/kubernetes (\S+)$", (folder / "go.mod").read_text(), re.M)[1]
        found[folder.name.partition("-")[2] or OF_CI] = version
    return dict(sorted(found.items(), key=lambda each: [int(number) for number in re.findall(r"\d+", each[1])]))


def run(name, version, only):
    """The scenarios with this version. Those that fail are repeated by themselves, once."""
    outcome = run_once(name, version, only)
    if outcome.failures:
        outcome = with_repeated(outcome, run_once(name, version, [f"{each}:" for each in outcome.failures]))
    print(f"{version}: {counts(outcome)}", flush=True)
    for failure in outcome.failures:
        print(f"  failed: {failure}", flush=True)
    return outcome


def run_once(name, version, only):
    chosen = [] if name == OF_CI else ["--kubernetes", name]
    filters = [flag for text in only for flag in ("--only", text)]
    with tempfile.NamedTemporaryFile("w+", prefix=f"snug-e2e-{version}-", suffix=".log", delete=False) as log:
        print(f"{version}: the output is in {log.name}", flush=True)
        subprocess.run([sys.executable, HERE / "run.py", "--require", *chosen, *filters], check=False,
                       stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
        log.seek(0)
        return read_outcome(version, log.read())


def with_repeated(outcome, again):
    """What is known of a version if `again` are the scenarios that had failed."""
    passed = [name for name in outcome.failures if name in again.passes]
    return Outcome(outcome.version, outcome.passes + passed,
                   [name for name in outcome.failures if name not in passed], outcome.skipped, tuple(passed))


def read_outcome(version, output):
    """What run.py printed. An end without a summary that agrees with its lines counts as one failure."""
    passes, failures, skipped = [], [], {}
    for end, _, group, scenario, reason in LINE.findall(output):
        kept = {"PASS": passes, "FAIL": failures}.get(end)
        (skipped.setdefault(reason, []) if kept is None else kept).append(f"{group}.{scenario}")
    outcome = Outcome(version, passes, failures, skipped)
    summary = SUMMARY.search(output)
    counted = (len(passes), len(failures), count_skipped(outcome))
    if not summary or tuple(map(int, summary.groups())) != counted:
        failures.append(f"run.py: {summary[0] if summary else 'no summary'}")
    return outcome


def count_skipped(outcome):
    return sum(map(len, outcome.skipped.values()))


def counts(outcome):
    return f"{len(outcome.passes)} passed, {len(outcome.failures)} failed, {count_skipped(outcome)} skipped"


def page(outcomes, before=""):
    """The page, in which a version has one section; those of other versions in `before` stay."""
    sections = {section.split("\n")[0]: section for section in before.split("\n## ")[1:]}
    for each in outcomes:
        lines = [each.version, "", f"{date.today()}: {counts(each)}.", ""]
        lines += [f"- failed: `{name}`" for name in each.failures]
        lines += [f"- passed when it was repeated by itself: `{name}`" for name in each.repeated]
        lines += [f"- skipped ({reason}): " + ", ".join(f"`{name}`" for name in names)
                  for reason, names in each.skipped.items()]
        sections[each.version] = "\n".join(lines) + "\n"
    order = sorted(sections, key=lambda version: [int(number) for number in re.findall(r"\d+", version)])
    return HEAD + "".join(f"\n## {sections[version].rstrip()}\n" for version in order)


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
    outcomes = []
    with ThreadPoolExecutor(options.jobs) as pool:
        for each in as_completed([pool.submit(run, name, version, options.only) for name, version in chosen.items()]):
            outcomes.append(each.result())
            if options.record:
                RESULTS.write_text(page(outcomes[-1:], RESULTS.read_text() if RESULTS.exists() else ""))
    passed, failed = sum(len(each.passes) for each in outcomes), sum(len(each.failures) for each in outcomes)
    print(f"{passed} passed, {failed} failed, {sum(map(count_skipped, outcomes))} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
