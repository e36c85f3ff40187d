"""The threat model names only tests that exist."""

import re

from tree import Finding

THREATS = "docs/threat-model.md"
PYTHON_TEST = re.compile(r"`([\w/]+\.py)::(\w+)`")
CPP_TEST = re.compile(r"`([A-Z]\w*Test)\.(\w+)`")


def threats_have_tests(tree):
    """Each test that docs/threat-model.md names exists."""
    if not tree.has(THREATS):
        yield Finding(THREATS, 1, "this file is missing")
        return
    cpp_tests = set()
    for path in tree.cpp("tests"):
        cpp_tests |= set(re.findall(r"^TEST(?:_F|_P)?\((\w+), (\w+)\)", tree.text(path), re.M))
    named = 0
    for number, line in tree.lines(THREATS):
        for file, test in PYTHON_TEST.findall(line):
            named += 1
            path = f"tests/{file}"
            if not tree.has(path) or not re.search(rf"^    def {test}\(", tree.text(path), re.M):
                yield Finding(THREATS, number, f"there is no test {test} in {path}")
        for suite, test in CPP_TEST.findall(line):
            named += 1
            if (suite, test) not in cpp_tests:
                yield Finding(THREATS, number, f"there is no test {suite}.{test}")
    if named == 0:
        yield Finding(THREATS, 1, "names no test")
