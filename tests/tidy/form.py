"""Rules about the form of files: lengths, headers, words, tests that wait."""

import ast
import re

from cpp import code_only, functions
from tree import Finding

MAX_FUNCTION = 60
MAX_FILE = 500
CODE_ENDINGS = (".cpp", ".hpp", ".py", ".sh")
# Pieced together, so that this file does not break its own rules.
MACHINE_PATHS = r"(?<![\w.$}])/(?:" + "|".join(["wo" + "rk", "ro" + "ot", "ho" + "me"]) + r")/"
REGISTRY_HOSTS = "|".join(
    name.replace("~", r"\.") for name in (
        "(?:deb|security|snapshot)~debian~o" + "rg", "pyp" + "i~org", "pythonhosted~o" + "rg",
        "(?:proxy|sum)~golang~o" + "rg", "registry~npmjs~o" + "rg", "crates~i" + "o"))
TOP_LEVEL = {"CMakeLists.txt", "src", "include", "api", "policies", "deploy", "tests", "bench", "docs",
             "README.md", "LICENSE", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "CMakePresets.json"}
UNFINISHED = r"\b(?:TO" + r"DO|FIX" + r"ME|X" + r"XX)\b"
FUZZ_INPUTS = "tests/fuzz/corpus/"
WAITER = re.compile(r"(?:^|_)(?:wait|poll|eventually)")


def _python_functions(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name, node.lineno, node.end_lineno


def _shell_functions(text):
    name, first = None, 0
    for number, line in enumerate(text.split("\n"), 1):
        match = re.match(r"(?:function\s+)?([\w-]+)\s*\(\)\s*\{\s*$", line)
        if match:
            name, first = match.group(1), number
        elif name and re.match(r"\}", line):
            yield name, first, number
            name = None


def functions_of(path, text):
    """(name, first line, last line) of each function of a source file."""
    if path.endswith((".cpp", ".hpp")):
        return [(f.name, f.first, f.last) for f in functions(text)]
    if path.endswith(".py"):
        return list(_python_functions(text))
    return list(_shell_functions(text))


def function_length(tree):
    """No function is longer than 60 lines."""
    for path in tree.under([""], CODE_ENDINGS):
        for name, first, last in functions_of(path, tree.text(path)):
            if last - first + 1 > MAX_FUNCTION:
                yield Finding(path, first, f"{name} has {last - first + 1} lines; at most {MAX_FUNCTION}")


def file_length(tree):
    """No source file is longer than 500 lines."""
    for path in tree.under([""], CODE_ENDINGS):
        count = len(tree.text(path).splitlines())
        if count > MAX_FILE:
            yield Finding(path, count, f"{count} lines; at most {MAX_FILE}")


def top_level(tree):
    """The top folder has only the folders and files that the README names, and dot-files."""
    for name, path in {path.split("/")[0]: path for path in tree.files}.items():
        if name not in TOP_LEVEL and not name.startswith("."):
            yield Finding(path, 1, f"{name} has no place at the top level")


def header_form(tree):
    """Every header begins with a comment on its purpose, and has #pragma once."""
    for path in tree.under([""], (".hpp",)):
        text = tree.text(path)
        if not text.startswith("// "):
            yield Finding(path, 1, "a header opens with a comment: purpose, invariants, threads, errors")
        if not re.search(r"^#pragma once$", text, re.M):
            yield Finding(path, 1, "#pragma once is missing")


def no_machine_paths(tree):
    """No file names a folder of somebody's machine."""
    yield from tree.grep(tree.under([""]), MACHINE_PATHS, "'{0}' is a path of one machine")


def no_registry_hosts(tree):
    """No file names the host of a package registry: clients know theirs."""
    yield from tree.grep(tree.under([""]), REGISTRY_HOSTS, "'{0}' is a package registry's host")


def no_trailing_space(tree):
    """No line ends with blanks, and every text file ends with one newline."""
    written = [path for path in tree.files if not path.startswith(FUZZ_INPUTS)]
    # In a patch an empty line of the file is a line with one blank.
    yield from tree.grep([path for path in written if not path.endswith(".patch")],
                         r"[ \t]+\r?$", "blanks at the end of the line")
    for path in written:
        text = tree.text(path)
        if text and (not text.endswith("\n") or text.endswith("\n\n")):
            yield Finding(path, text.count("\n") + 1, "the file must end with exactly one newline")


def nothing_unfinished(tree):
    """No marks of unfinished work."""
    yield from tree.grep(tree.under([""]), UNFINISHED, "'{0}': do it, or write an issue")


def _python_sleeps(text):
    """Lines that sleep outside of a polling function."""
    parsed = ast.parse(text)
    polling = [(node.lineno, node.end_lineno) for node in ast.walk(parsed)
               if isinstance(node, ast.FunctionDef) and WAITER.search(node.name)]
    for node in ast.walk(parsed):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("time.sleep", "sleep"):
            if not any(first <= node.lineno <= last for first, last in polling):
                yield node.lineno


def _cpp_sleeps(text):
    polling = [(f.first, f.last) for f in functions(text) if WAITER.search(f.name)]
    for number, line in enumerate(code_only(text).split("\n"), 1):
        if re.search(r"\bsleep_(?:for|until)\s*\(|\bu?sleep\s*\(", line):
            if not any(first <= number <= last for first, last in polling):
                yield number


def no_sleeps_in_tests(tree):
    """Tests wait for what they can see; only a helper named wait…, poll… or eventually… sleeps."""
    for path in tree.under(["tests"], (".cpp", ".hpp", ".py")):
        finder = _python_sleeps if path.endswith(".py") else _cpp_sleeps
        for line in finder(tree.text(path)):
            yield Finding(path, line, "a test may not sleep: poll for what it waits for (wait_until…)")
