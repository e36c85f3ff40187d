#!/usr/bin/env python3
"""Tests of whole programs: the demo, the benches' verdicts, signals, deploy/, the user guide,
the end-to-end tests' judge, a machine without Go.

    SNUG_PROGRAMS=FOLDER tests/program/run.py [TEXT]         only tests whose name contains TEXT
    SNUG_PROGRAMS=FOLDER tests/program/run.py --but TEXT     only those whose name does not
    SNUG_PROGRAMS=FOLDER tests/program/run.py --jobs N       N files of tests at a time

FOLDER holds the built programs (default: build/dev). Ends with `N passed, N failed, N skipped`.
"""

import argparse
import re
import subprocess
import sys
import unittest
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

HERE = Path(__file__).resolve().parent
SUMMARY = re.compile(r"^(\d+) passed, (\d+) failed, (\d+) skipped$", re.M)


def tests_of(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from tests_of(test)
        else:
            yield test


def summary(passed, failed, skipped):
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 0 if passed + failed > 0 and failed == 0 else 1


def run_file(module, tests):
    """(passed, failed, skipped) and the output of a process that runs the tests of one file."""
    done = subprocess.run([sys.executable, __file__, f"{module}."], check=False, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    lines = SUMMARY.findall(done.stdout)
    counts = tuple(map(int, lines[-1])) if lines else (0, 0, 0)
    if sum(counts) != tests or (done.returncode != 0) != (counts[1] > 0):
        counts = (0, tests, 0)  # it crashed
    return counts, done.stdout


def run_files(found, jobs):
    """Each file of tests in a process of its own."""
    files = {}
    for test in found:
        module = type(test).__module__
        files[module] = files.get(module, 0) + 1
    totals = (0, 0, 0)
    with ThreadPoolExecutor(jobs) as pool:
        for done in as_completed(pool.submit(run_file, *item) for item in files.items()):
            counts, output = done.result()
            print(output, flush=True)
            totals = tuple(map(sum, zip(totals, counts)))
    return summary(*totals)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("only", nargs="?", default="", metavar="TEXT")
    parser.add_argument("--but", metavar="TEXT")
    parser.add_argument("--jobs", type=int, default=1, metavar="N")
    options = parser.parse_args()
    sys.path.insert(0, str(HERE))
    found = [test for test in tests_of(unittest.defaultTestLoader.discover(str(HERE), "*_test.py"))
             if options.only in test.id() and (options.but is None or options.but not in test.id())]
    if options.jobs > 1 and not options.only:
        return run_files(found, options.jobs)
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=2).run(unittest.TestSuite(found))
    bad = {getattr(test, "test_case", test) for test, _ in result.failures + result.errors}
    return summary(result.testsRun - len(bad), len(bad), len(found) - result.testsRun)


if __name__ == "__main__":
    sys.exit(main())
