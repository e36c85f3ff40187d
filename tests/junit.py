#!/usr/bin/env python3
"""Counts JUnit files, ctest's and GoogleTest's: prints `PASSED FAILED SKIPPED`, then each failed name.

A file that is missing, empty or broken counts as one failure: whoever should have written it crashed.
"""

import sys
import xml.etree.ElementTree as xml


def outcome(case):
    """passed, failed or skipped; a test that ctest could not start has failed."""
    status = case.get("status", "run")
    if case.find("failure") is not None or case.find("error") is not None or status == "fail":
        return "failed"
    if case.get("result") == "skipped" or status == "disabled":
        return "skipped"
    mark = case.find("skipped")
    if status == "notrun" or mark is not None:
        chosen = mark is not None and (mark.get("message") or "").startswith("SKIP_")
        return "skipped" if chosen else "failed"
    return "passed"


def count(path):
    """({outcome: number}, names of the failed tests)"""
    totals, names = {"passed": 0, "failed": 0, "skipped": 0}, []
    try:
        cases = list(xml.parse(path).getroot().iter("testcase"))
    except (OSError, xml.ParseError) as error:
        return {**totals, "failed": 1}, [f"{path}: {error}"]
    for case in cases:
        result = outcome(case)
        totals[result] += 1
        if result == "failed":
            suite, name = case.get("classname", ""), case.get("name", "?")
            names.append(name if suite in ("", name) else f"{suite}.{name}")
    return totals, names


def main():
    totals, names = {"passed": 0, "failed": 0, "skipped": 0}, []
    for path in sys.argv[1:]:
        counted, failed = count(path)
        names += failed
        for key, number in counted.items():
            totals[key] += number
    print(totals["passed"], totals["failed"], totals["skipped"])
    print("\n".join(names))


if __name__ == "__main__":
    main()
