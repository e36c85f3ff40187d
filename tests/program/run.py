#!/usr/bin/env python3
"""Tests of whole programs: the demo, the benches' verdicts, signals, deploy/, the image, the Debian packages,
the files for a forge, the documents and their site, the dashboard, the end-to-end tests' judge, a machine without Go.

    SNUG_PROGRAMS=FOLDER tests/program/run.py [TEXT]         only tests whose name contains TEXT
    SNUG_PROGRAMS=FOLDER tests/program/run.py --but TEXT     only those whose name does not
    SNUG_PROGRAMS=FOLDER tests/program/run.py --jobs N       N files of tests at a time

FOLDER holds the built programs (default: build/dev). Ends with `N passed, N failed, N skipped`.
"""

import argparse
import re
import signal
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


def run_file(module, tests, but):
    """(passed, failed, skipped) and the output of a process that runs the tests of one file."""
    command = [sys.executable, __file__, "--file", module] + ([] if but is None else ["--but", but])
    done = subprocess.run(command, check=False, text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    lines = SUMMARY.findall(done.stdout)
    counts = tuple(map(int, lines[-1])) if lines else (0, 0, 0)
    if sum(counts) != tests or (done.returncode != 0) != (counts[1] > 0):
        counts = (0, tests, 0)  # it crashed
    return counts, done.stdout


def run_files(found, options):
    """Each file of tests in a process of its own. The outputs of files with a failure come last."""
    files = {}
    for test in found:
        module = type(test).__module__
        files[module] = files.get(module, 0) + 1
    totals, failed = (0, 0, 0), []
    with ThreadPoolExecutor(options.jobs) as pool:
        for done in as_completed(pool.submit(run_file, *item, options.but) for item in files.items()):
            counts, output = done.result()
            if counts[1] == 0:
                print(output, flush=True)
            else:
                failed.append(output)
            totals = tuple(map(sum, zip(totals, counts)))
    print("\n".join(failed))
    return summary(*totals)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("only", nargs="?", default="", metavar="TEXT")
    parser.add_argument("--but", metavar="TEXT")
    parser.add_argument("--jobs", type=int, default=1, metavar="N")
    parser.add_argument("--file", metavar="MODULE", help="only the tests of this file")
    options = parser.parse_args()
    sys.path.insert(0, str(HERE))
    # A shell starts its background jobs with these ignored, which the programs under test would inherit.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    found = [test for test in tests_of(unittest.defaultTestLoader.discover(str(HERE), "*_test.py"))
             if options.only in test.id() and (options.but is None or options.but not in test.id())
             and options.file in (None, type(test).__module__)]
    if options.jobs > 1 and not options.only:
        return run_files(found, options)
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=2).run(unittest.TestSuite(found))
    bad = {getattr(test, "test_case", test) for test, _ in result.failures + result.errors}
    return summary(result.testsRun - len(bad), len(bad), len(found) - result.testsRun)


if __name__ == "__main__":
    sys.exit(main())
