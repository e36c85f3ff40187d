"""The threat model and the list of vulnerabilities name only tests that exist; each attempt of the threat model has one."""

import re

from tree import Finding

MODEL = "docs/threat-model.md"
PAGES = (MODEL, "docs/vulnerabilities.md")
PYTHON_TEST = re.compile(r"`([\w/]+\.py)::(\w+)`")
CPP_TEST = re.compile(r"`([A-Z]\w*Test)\.(\w+)`")
COLUMNS = ["attempt", "what stops it", "test"]


def threats_have_tests(tree):
    """Each test that docs/threat-model.md and docs/vulnerabilities.md name exists, and each attempt in the former has one."""
    cpp_tests = set()
    for path in tree.cpp("tests"):
        cpp_tests |= set(re.findall(r"^TEST(?:_F|_P)?\((\w+), (\w+)\)", tree.text(path), re.M))
    for page in PAGES:
        if tree.has(page):
            yield from missing_tests(tree, page, cpp_tests)
        else:
            yield Finding(page, 1, "this file is missing")
    if tree.has(MODEL):
        yield from untested_attempts(tree)


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


def untested_attempts(tree):
    """Rows `attempt | what stops it | test` without a test, unless "nothing" stops the attempt."""
    inside = False
    for number, line in tree.lines(MODEL):
        cells = [cell.strip() for cell in line.strip().removeprefix("|").removesuffix("|").split("|")]
        inside = line.startswith("|") and (inside or cells == COLUMNS)
        if not inside or cells == COLUMNS or set(line) <= set("|- "):
            continue
        if len(cells) != len(COLUMNS):
            yield Finding(MODEL, number, f"a row of {len(cells)} cells")
        elif not (PYTHON_TEST.search(cells[2]) or CPP_TEST.search(cells[2]) or re.match(r"nothing\b", cells[1])):
            yield Finding(MODEL, number, "the row names no test, and does not begin with \"nothing\" what stops the attempt")
