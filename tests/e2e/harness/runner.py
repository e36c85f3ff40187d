"""Finds scenarios, runs them against one control plane, and prints one line for each and a summary."""

import argparse
import pathlib
import signal
import sys
import time
import traceback
import unittest

from . import extender
from .processes import TAIL_LINES
from .scenario import Scenario, Session

MAX_REASON = 600  # characters


class CannotRun(Exception):
    """Why the scenarios cannot run on this machine, as a sentence."""


class Lines(unittest.TestResult):
    """One line for each scenario; for a failed one also the cause and the ends of the programs' logs."""

    def __init__(self, plane, first_process):
        super().__init__()
        self._plane = plane
        self._first = first_process
        self._started = 0.0
        self._bad = False
        self._skipped = None  # why
        self.passed = self.failed = 0
        self._reasons = []

    def startTest(self, test):
        super().startTest(test)
        self._started = time.monotonic()
        self._bad = False
        self._skipped = None
        self._first = len(self._plane.processes)

    def stopTest(self, test):
        super().stopTest(test)
        if sys.exc_info()[0] is KeyboardInterrupt:
            self._bad = True
            self._reasons.append(f"{test.id()} was cut short")
        if self._skipped and not self._bad:
            print(f"SKIP {title(test)} ({self._skipped})", flush=True)
            return
        self.passed += not self._bad
        self.failed += self._bad
        took = time.monotonic() - self._started
        print(f"{'FAIL' if self._bad else 'PASS'} {title(test)} ({took:.1f} s)", flush=True)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self._skipped = reason

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self._report(test, err, self.failures[-1][1])

    def addError(self, test, err):
        super().addError(test, err)
        self._report(test, err, self.errors[-1][1])

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self._report(subtest, err, self._exc_info_to_string(err, test))

    def print_reasons(self):
        """Prints the reasons again at the end, for readers who see only the end of a long log."""
        for reason in self._reasons:
            print(reason, flush=True)

    def _report(self, test, err, text):
        self._bad = True
        places = [f"{pathlib.Path(each.filename).name}:{each.lineno}" for each in reversed(traceback.extract_tb(err[2]))
                  if "/unittest/" not in each.filename]
        reason = " ".join(str(err[1]).split())[:MAX_REASON]
        self._reasons.append(f"{test.id()} failed in {' < '.join(places[:4])}: {reason}")
        print(f"---- {test}\n{text}", flush=True)
        for process in self._plane.processes[self._first:]:
            print(f"---- the last {TAIL_LINES} lines of {process.stderr}\n{process.tail()}")


def title(test):
    return f"{test.id()}: {test.shortDescription()}"


def scenarios(folder, only):
    """All scenarios of the folder, or those whose name or sentence contains one of the texts."""
    found = []

    def collect(suite):
        for test in suite:
            if isinstance(test, unittest.TestSuite):
                collect(test)
            elif not only or any(text in title(test) for text in only):
                found.append(test)
    collect(unittest.defaultTestLoader.discover(str(folder), "test_*.py", str(folder)))
    return found


def summary(passed, failed, skipped):
    print(f"{passed} passed, {failed} failed, {skipped} skipped", flush=True)
    return 1 if failed else 0


def run(tests, plane):
    """Starts the control plane and stops it."""
    lines = Lines(plane, 0)
    is_cut_short = False
    try:
        plane.start()
        Scenario.session = Session(plane)
        unittest.TestSuite(tests).run(lines)
    except KeyboardInterrupt:
        is_cut_short = True
        print("cut short: the other scenarios count as skipped", flush=True)
    finally:
        bad = lines.failed or lines.testsRun < len(tests)
        plane.stop(keep_logs=bad)
        if bad:
            lines.print_reasons()
            print(f"the logs of all programs are in {plane.folder}", flush=True)
    code = summary(lines.passed, lines.failed, len(tests) - lines.passed - lines.failed)
    return 1 if is_cut_short else code


def main(description, folder, make_plane, more_flags=None):
    """The command of a folder of scenarios; returns its exit code. `make_plane` gets the arguments and
    may raise CannotRun. `more_flags`: how argparse adds those that only this folder has."""
    arguments = _arguments(description, more_flags or {})
    tests = scenarios(folder, arguments.only)
    if arguments.list:
        print("\n".join(map(title, tests)))
        return 0
    if not tests:
        print("no scenario has such a name", file=sys.stderr)
        return 2
    if not extender.program().exists():
        print(f"{extender.program()} is not there; build it or set SNUG_EXTENDER", file=sys.stderr)
        return 2
    try:
        plane = make_plane(arguments)
    except CannotRun as reason:
        print(reason)
        return summary(0, len(tests), 0) if arguments.require else summary(0, 0, len(tests))
    # `kill` must end the programs too. A SystemExit would only fail the running scenario.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    return run(tests, plane)


def _arguments(description, more_flags):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--only", action="append", default=[], metavar="TEXT",
                        help="only scenarios whose name or sentence contains TEXT")
    parser.add_argument("--list", action="store_true", help="print the scenarios and end")
    parser.add_argument("--require", action="store_true",
                        help="count as failed, not as skipped, what cannot run on this machine")
    for flag, options in more_flags.items():
        parser.add_argument(flag, **options)
    return parser.parse_args()
