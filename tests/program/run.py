#!/usr/bin/env python3
"""Tests of whole programs: the demo, the benches' verdicts, signals, deploy/, the user guide,
the end-to-end tests' judge, a machine without Go.

    SNUG_PROGRAMS=FOLDER tests/program/run.py [TEXT]         only tests whose name contains TEXT
    SNUG_PROGRAMS=FOLDER tests/program/run.py --but TEXT     only those whose name does not

FOLDER holds the built programs (default: build/dev). Ends with `N passed, N failed, N skipped`.
"""

import argparse
import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent


def tests_of(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from tests_of(test)
        else:
            yield test


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("only", nargs="?", default="", metavar="TEXT")
    parser.add_argument("--but", metavar="TEXT")
    options = parser.parse_args()
    sys.path.insert(0, str(HERE))
    found = [test for test in tests_of(unittest.defaultTestLoader.discover(str(HERE), "*_test.py"))
             if options.only in test.id() and (options.but is None or options.but not in test.id())]
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=2).run(unittest.TestSuite(found))
    bad = {getattr(test, "test_case", test) for test, _ in result.failures + result.errors}
    print(f"{result.testsRun - len(bad)} passed, {len(bad)} failed, {len(found) - result.testsRun} skipped")
    return 0 if found and not bad else 1


if __name__ == "__main__":
    sys.exit(main())
