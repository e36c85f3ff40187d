#!/usr/bin/env python3
"""Runs the fuzz targets of tests/fuzz, each over a copy of its corpus, and ends with
`N passed, N failed, N skipped`.

    tests/fuzz/run.py [TARGET…]                 30 seconds each; default: all targets
    tests/fuzz/run.py --minutes 10 --record     longer; writes bench/results/fuzz.md
    tests/fuzz/run.py --minutes 10 --grow       adds the inputs that reach new code to the corpus
    tests/fuzz/run.py TARGET --reproduce FILE   runs one input

A target fails if it crashes, hangs, leaks, or has run no input beyond its corpus. Its input is then
printed in base64 and is in build/asan/fuzz-findings. The target `planted` is a copy with a defect
in src/, and passes if the defect is found. Build first:

    cmake --preset asan -D SNUG_SANITIZE=address,undefined,fuzzer-no-link && ninja -C build/asan fuzz
"""

import argparse
import base64
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import date
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
CORPUS = ROOT / "tests/fuzz/corpus"
RESULTS = ROOT / "bench/results/fuzz.md"
PLANTED = "planted"
PLANTED_SECONDS = 600  # at most: it ends with the finding
LIMITS = ["-timeout=30", "-rss_limit_mb=1024", "-max_len=16384", "-print_final_stats=1"]
ENVIRONMENT = {"UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
               "ASAN_OPTIONS": "detect_stack_use_after_return=1:quarantine_size_mb=64"}
EXECUTED = re.compile(r"^stat::number_of_executed_units:\s*(\d+)$", re.M)
COVERED = re.compile(r"^#\d+\s.*\bcov: (\d+)", re.M)
SAVED = re.compile(r"Test unit written to (\S+)")


@dataclass(frozen=True)
class Outcome:
    target: str
    seconds: int
    corpus: int  # inputs in the tree
    executed: int
    edges: int
    problem: str  # empty: there is none


def targets(build):
    return sorted(path.name.removesuffix("_fuzz") for path in (build / "tests/fuzz").glob("*_fuzz"))


def corpus_of(target):
    folder = CORPUS / target
    return sorted(folder.iterdir()) if folder.is_dir() else []


def run(command, folder):
    """(exit code, output) of a target."""
    done = subprocess.run(command, check=False, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, cwd=folder, env=os.environ | ENVIRONMENT)
    return done.returncode, done.stdout.decode(errors="replace")


def describe_finding(target, output, findings):
    """Keeps the input of a finding. Returns what a person needs to reproduce it."""
    saved = SAVED.search(output)
    if not saved:
        return output[-8000:]
    findings.mkdir(parents=True, exist_ok=True)
    kept = Path(shutil.copy(saved.group(1), findings / f"{target}-{Path(saved.group(1)).name}"))
    text = base64.b64encode(kept.read_bytes()).decode()
    return f"{output[-8000:]}\n  {kept}, in base64:\n  {text}"


def outcome(target, seconds, done, findings):
    code, output = done
    last = {"executed": EXECUTED.findall(output), "edges": COVERED.findall(output)}
    counts = {key: int(found[-1]) if found else 0 for key, found in last.items()}
    inputs = len(corpus_of(target))
    problem = ""
    if code != 0:
        problem = f"exit code {code}:\n{describe_finding(target, output, findings)}"
    elif counts["executed"] <= inputs:
        problem = f"it ran only {counts['executed']} inputs:\n{output[-8000:]}"
    return Outcome(target, seconds, inputs, problem=problem, **counts)


def fuzz(target, options, scratch):
    """Runs one target. libFuzzer first runs the whole corpus, then changes its inputs."""
    found = scratch / target
    shutil.copytree(CORPUS / target, found) if corpus_of(target) else found.mkdir()
    crashes = scratch / f"{target}-findings"
    crashes.mkdir()
    command = [options.build / f"tests/fuzz/{target}_fuzz", *LIMITS, f"-max_total_time={options.seconds}",
               f"-artifact_prefix={crashes}/", *options.flags, found]
    return outcome(target, options.seconds, run(command, scratch), options.build / "fuzz-findings")


def find_planted(options, scratch):
    """The target with a defect must fail, though it begins without a corpus."""
    patient = argparse.Namespace(**{**vars(options), "seconds": max(options.seconds, PLANTED_SECONDS)})
    done = fuzz(PLANTED, patient, scratch)
    missed = "" if "not as required" in done.problem else f"the planted defect was not found: {done}"
    return Outcome(PLANTED, done.seconds, 0, done.executed, done.edges, missed)


def grow(target, options, scratch):
    """Replaces the corpus by the fewest inputs that reach all code that it and the run reached."""
    merged = scratch / f"{target}-merged"
    merged.mkdir()
    code, output = run([options.build / f"tests/fuzz/{target}_fuzz", *LIMITS, "-set_cover_merge=1",
                        "-use_counters=0", merged, scratch / target], scratch)
    if code != 0:
        sys.exit(f"{target}: the corpus cannot be merged:\n{output[-4000:]}")
    shutil.rmtree(CORPUS / target, ignore_errors=True)
    shutil.copytree(merged, CORPUS / target)


def record(done):
    """Replaces the row of the target in the table; the others stay."""
    rows = {}
    if RESULTS.exists():
        rows = {line.split(" | ")[0][2:]: line for line in RESULTS.read_text().splitlines()
                if line.startswith("| ") and not line.startswith("| target")}
    rate = done.executed // max(1, done.seconds)
    finding = "one" if done.problem else "none"
    rows[done.target] = (f"| {done.target} | {date.today()} | {done.seconds // 60} | {done.corpus} | "
                         f"{done.executed:,} | {rate:,} | {done.edges:,} | {finding} |")
    head = ("# Fuzz targets\n\n    /usr/bin/python3 tests/fuzz/run.py --minutes 10 --record\n\n"
            "Each [target](../../tests/fuzz) with AddressSanitizer and UndefinedBehaviorSanitizer. Edges: branches of the code\n"
            "that the inputs reached. Findings: of this run; [CHANGELOG](../../CHANGELOG.md) has what earlier ones found.\n\n"
            "| target | date | minutes | corpus | executions | per second | edges | findings |\n"
            "|---|---|---|---|---|---|---|---|\n")
    RESULTS.write_text(head + "".join(rows[name] + "\n" for name in sorted(rows)))


def read_options():
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("targets", nargs="*", metavar="TARGET")
    parser.add_argument("--build", type=Path, default=ROOT / "build/asan")
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--minutes", type=int)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--grow", action="store_true")
    parser.add_argument("--reproduce", type=Path, metavar="FILE")
    parser.add_argument("--flags", nargs="+", default=[], help="further flags of libFuzzer")
    options = parser.parse_args()
    options.build = options.build.resolve()
    if options.minutes is not None:
        options.seconds = 60 * options.minutes
    known = targets(options.build)
    if not known:
        sys.exit(f"tests/fuzz/run.py: there is no target in {options.build}; build the target fuzz first.")
    if unknown := set(options.targets) - set(known):
        sys.exit(f"tests/fuzz/run.py: there is no target {min(unknown)}; the targets are {' '.join(known)}")
    if options.reproduce and len(options.targets) != 1:
        sys.exit("tests/fuzz/run.py: --reproduce runs one input of one target; name the target.")
    options.targets = options.targets or known
    return options


def main():
    options = read_options()
    if options.reproduce:
        return subprocess.run([options.build / f"tests/fuzz/{options.targets[0]}_fuzz", options.reproduce],
                              check=False, env=os.environ | ENVIRONMENT).returncode
    outcomes = []
    with tempfile.TemporaryDirectory(prefix="snug-fuzz-") as scratch:
        def one(target):
            done = (find_planted(options, Path(scratch)) if target == PLANTED
                    else fuzz(target, options, Path(scratch)))
            verdict = "FAILED" if done.problem else "passed"
            print(f"{verdict} {target}: {done.corpus} inputs in the corpus, {done.executed:,} executions, "
                  f"{done.edges:,} edges", flush=True)
            return done
        with ThreadPoolExecutor(options.jobs) as pool:
            for done in pool.map(one, options.targets):
                outcomes.append(done)
                if options.record and done.target != PLANTED:
                    record(done)
                if options.grow and not done.problem and done.target != PLANTED:
                    grow(done.target, options, Path(scratch))
    for done in outcomes:
        if done.problem:
            print(f"\n{done.target}: {done.problem}")
    failed = sum(bool(done.problem) for done in outcomes)
    print(f"{len(outcomes) - failed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
