"""The threat model and the list of vulnerabilities name only tests that exist."""

import re

from tree import Finding

PAGES = ("docs/threat-model.md", "docs/vulnerabilities.md")
PYTHON_TEST = re.compile(r"`([\w/]+\.py)::(\w+)`")
CPP_TEST = re.compile(r"`([A-Z]\w*Test)\.(\w+)`")


def threats_have_tests(tree):
    """Each test that docs/threat-model.md and docs/vulnerabilities.md name exists."""
    cpp_tests = set()
    for path in tree.cpp("tests"):
        cpp_tests |= set(re.findall(r"^TEST(?:_F|_P)?\((\w+), (\w+)\)", tree.text(path), re.M))
    for page in PAGES:
        if tree.has(page):
            yield from missing_tests(tree, page, cpp_tests)
        else:
            yield Finding(page, 1, "this file is missing")


def missing_tests(tree, page, cpp_tests):
    named = 0
    for number, line in tree.lines(page):
        for file, test in PYTHON_TEST.findall(line):
            named += 1
            path = f"tests/{file}"
            if not tree.has(path) or not re.search(rf"^    def {test}\(", tree.text(path), re.M):
                yield Finding(page, number, f"there is no test {test} in {path}")
        for suite, test in CPP_TEST.findall(line):
            named += 1
            if (suite, test) not in cpp_tests:
                yield Finding(page, number, f"there is no test {suite}.{test}")
    if named == 0:
        yield Finding(page, 1, "names no test")
