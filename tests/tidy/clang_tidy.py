#!/usr/bin/env python3
"""clang-tidy over every translation unit of src/ in a build folder's compile_commands.json.

  python3 tests/tidy/clang_tidy.py BUILD-FOLDER [--record]

A unit that passed is not looked at again until it, a header of ours that it includes, its flags,
.clang-tidy or the tool's version change. What passed is known from two sources: this machine's cache,
and tests/tidy/last_green, which names the commit at which all units passed and the tool's version.
--record writes that file when all units pass on a tree without changes.
Ends with `N passed, N failed, N skipped`.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from compiled import closure, output_of, run_cached  # noqa: E402
from tree import Tree  # noqa: E402

TOOL = "clang-tidy-19"
SHOWN = 30  # lines for each unit
LAST_GREEN = "tests/tidy/last_green"  # COMMIT VERSION
# What decides on the flags and the checks of every unit.
FOR_ALL = re.compile(r"\.clang-tidy|CMakePresets\.json|(.*/)?CMakeLists\.txt|.*\.cmake|.*\.in")


def units(tree, build):
    """{path: flags} of the tree's own sources; tests are made of macros that are not ours."""
    found = {}
    for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        path = Path(entry["directory"], entry["file"]).resolve()
        if path.is_relative_to(tree.root):
            name = path.relative_to(tree.root).as_posix()
            if tree.has(name) and name.startswith("src/"):
                found[name] = entry["command"]
    return found


def tool_version():
    return " ".join(output_of(TOOL, "--version").split())


def git(tree, *arguments):
    """What git prints; None when it fails."""
    done = subprocess.run(["git", "-C", str(tree.root), *arguments], capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else None


def changed_since_green(tree):
    """The paths that differ from the last green commit; None when every unit has to be looked at."""
    commit, _, version = tree.text(LAST_GREEN).strip().partition(" ") if tree.has(LAST_GREEN) else ("", "", "")
    if not commit or version != tool_version() or git(tree, "merge-base", "--is-ancestor", commit, "HEAD") is None:
        return None
    names = git(tree, "diff", "--name-only", "-z", commit)
    untracked = git(tree, "ls-files", "-z", "-o", "--exclude-standard")
    if names is None or untracked is None:
        return None
    changed = set(names.split("\0") + untracked.split("\0")) - {""}
    return None if any(FOR_ALL.fullmatch(path) for path in changed) else changed


def record(tree):
    if git(tree, "status", "--porcelain") != "":
        sys.exit("--record: the tree has changes; commit them first")
    commit = git(tree, "rev-parse", "HEAD").strip()
    (tree.root / LAST_GREEN).write_text(f"{commit} {tool_version()}\n", encoding="utf-8")


def main():
    if len(sys.argv) not in (2, 3) or sys.argv[2:] not in ([], ["--record"]):
        sys.exit(__doc__)
    tree = Tree(Path(__file__).resolve().parents[2])
    build = Path(sys.argv[1]).resolve()
    found = units(tree, build)
    if not found:
        print(f"{build} compiles no file of this tree\n0 passed, 1 failed, 0 skipped")
        return 1
    changed = changed_since_green(tree)
    due = {path: flags for path, flags in found.items()
           if changed is None or not changed.isdisjoint(closure(tree, path))}
    tool = tool_version() + tree.text(".clang-tidy")
    jobs = {path: ([TOOL, "--quiet", "-p", str(build), path],
                   tool + flags.replace(str(build), "BUILD").replace(str(tree.root), "ROOT"))
            for path, flags in due.items()}
    failed = run_cached(tree, "clang-tidy", jobs)
    for path, text in sorted(failed.items()):
        print(f"FAIL {path}")
        print("\n".join(text.strip().splitlines()[:SHOWN]))
    print(f"{len(found) - len(due)} units have not changed since the last green commit")
    print(f"{len(found) - len(failed)} passed, {len(failed)} failed, 0 skipped")
    if sys.argv[2:] == ["--record"] and not failed:
        record(tree)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
