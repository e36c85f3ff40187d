#!/usr/bin/env python3
"""Runs the end-to-end scenarios against an unmodified control plane.

    tests/e2e/run.py [--only TEXT]...

Prints one line for each scenario and last `N passed, N failed, N skipped`; exit code 0 if none
failed, 2 if there is nothing to test, otherwise 1. The program under test is
$SNUG_EXTENDER, else build/dev/snug-extender. If the control plane cannot be built because Go is missing,
the scenarios count as skipped, or with --require as failed.
"""

import argparse
import pathlib
import signal
import sys
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from harness import extender  # noqa: E402
from harness.controlplane import ControlPlane, build_programs  # noqa: E402
from harness.processes import TAIL_LINES  # noqa: E402
from harness.scenario import Scenario, Session  # noqa: E402


class Lines(unittest.TestResult):
    """One line for each scenario; for a failed one also the cause and the ends of the programs' logs."""

    def __init__(self, plane, first_process):
        super().__init__()
        self._plane = plane
        self._first = first_process
        self._started = 0.0
        self._bad = False
        self.passed = self.failed = 0

    def startTest(self, test):
        super().startTest(test)
        self._started = time.monotonic()
        self._bad = False
        self._first = len(self._plane.processes)

    def stopTest(self, test):
        super().stopTest(test)
        self.passed += not self._bad
        self.failed += self._bad
        took = time.monotonic() - self._started
        print(f"{'FAIL' if self._bad else 'PASS'} {title(test)} ({took:.1f} s)", flush=True)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self._report(test, self.failures[-1][1])

    def addError(self, test, err):
        super().addError(test, err)
        self._report(test, self.errors[-1][1])

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self._report(subtest, self._exc_info_to_string(err, test))

    def _report(self, test, text):
        self._bad = True
        print(f"---- {test}\n{text}", flush=True)
        for process in self._plane.processes[self._first:]:
            print(f"---- the last {TAIL_LINES} lines of {process.stderr}\n{process.tail()}")


def title(test):
    return f"{test.id()}: {test.shortDescription()}"


def scenarios(only):
    """All scenarios, or those whose name or sentence contains one of the texts."""
    found = []

    def collect(suite):
        for test in suite:
            if isinstance(test, unittest.TestSuite):
                collect(test)
            elif not only or any(text in title(test) for text in only):
                found.append(test)
    collect(unittest.defaultTestLoader.discover(str(HERE), "test_*.py", str(HERE)))
    return found


def summary(passed, failed, skipped):
    print(f"{passed} passed, {failed} failed, {skipped} skipped", flush=True)
    return 1 if failed else 0


def run(tests, programs):
    plane = ControlPlane(programs)
    lines = Lines(plane, 0)
    try:
        plane.start()
        Scenario.session = Session(plane)
        unittest.TestSuite(tests).run(lines)
    finally:
        bad = lines.failed or lines.testsRun < len(tests)
        plane.stop(keep_logs=bad)
        if bad:
            print(f"the logs of all programs are in {plane.folder}", flush=True)
    return summary(lines.passed, lines.failed, len(tests) - lines.testsRun)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", action="append", default=[], metavar="TEXT",
                        help="only scenarios whose name or sentence contains TEXT")
    parser.add_argument("--list", action="store_true", help="print the scenarios and end")
    parser.add_argument("--require", action="store_true",
                        help="count as failed, not as skipped, where there is no Go")
    arguments = parser.parse_args()
    tests = scenarios(arguments.only)
    if arguments.list:
        print("\n".join(map(title, tests)))
        return 0
    if not tests:
        print("no scenario has such a name", file=sys.stderr)
        return 2
    if not extender.program().exists():
        print(f"{extender.program()} is not there; build it or set SNUG_EXTENDER", file=sys.stderr)
        return 2
    programs = build_programs()
    if programs is None:
        print("end-to-end tests cannot run: Go 1.26 or later is missing and cannot be installed")
        return summary(0, len(tests), 0) if arguments.require else summary(0, 0, len(tests))
    # `kill` must end the control plane too. A SystemExit would only fail the running scenario.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    return run(tests, programs)


if __name__ == "__main__":
    sys.exit(main())
