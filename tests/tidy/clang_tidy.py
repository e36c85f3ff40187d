#!/usr/bin/env python3
"""clang-tidy over every translation unit of src/ in a build folder's compile_commands.json.

  python3 tests/tidy/clang_tidy.py BUILD-FOLDER [--record]

A unit that passed is not looked at again until it, a header of ours that it includes, its flags,
.clang-tidy or the tool's version change (see compiled.py).
--record also compiles the headers that tidy.py compiles alone, and writes tests/tidy/last_green when all pass.
Ends with `N passed, N failed, N skipped`.
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from compiled import LAST_GREEN, header_jobs, marks, output_of, recorded, run_cached  # noqa: E402
from tree import Tree  # noqa: E402

TOOL = "clang-tidy-19"
SHOWN = 30  # lines for each unit


def units(tree, build):
    """{path: flags} of the tree's own sources; tests are made of macros that are not ours."""
    found = {}
    for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        path = Path(entry["directory"], entry["file"]).resolve()
        if path.is_relative_to(tree.root):
            name = path.relative_to(tree.root).as_posix()
            if tree.has(name) and name.startswith("src/"):
                found[name] = found.get(name, "") + entry["command"]  # those of snug-gate are compiled twice
    return found


def tool_version():
    return " ".join(output_of(TOOL, "--version").split())


def main():
    if len(sys.argv) not in (2, 3) or sys.argv[2:] not in ([], ["--record"]):
        sys.exit(__doc__)
    records = len(sys.argv) == 3
    tree = Tree(Path(__file__).resolve().parents[2])
    build = Path(sys.argv[1]).resolve()
    flags_of = units(tree, build)
    if not flags_of:
        print(f"{build} compiles no file of this tree\n0 passed, 1 failed, 0 skipped")
        return 1
    tool = tool_version() + tree.text(".clang-tidy")
    jobs = {path: ([TOOL, "--quiet", "-p", str(build), path],
                   tool + flags.replace(str(build), "BUILD").replace(str(tree.root), "ROOT"))
            for path, flags in flags_of.items()}
    found = marks(tree, jobs)
    print(f"{len(set(found.values()) & recorded(tree))} units have not changed since the last recorded pass")
    failed = run_cached(tree, "clang-tidy", jobs)
    if records:
        headers = header_jobs(tree)
        failed |= run_cached(tree, "headers", headers)
        jobs |= headers
        found |= marks(tree, headers)
    for path, text in sorted(failed.items()):
        print(f"FAIL {path}")
        print("\n".join(text.strip().splitlines()[:SHOWN]))
    print(f"{len(jobs) - len(failed)} passed, {len(failed)} failed, 0 skipped")
    if records and not failed:
        if marks(Tree(tree.root), jobs) != found:
            sys.exit("--record: sources have changed since this run began, so it may not have read what would be recorded")
        (tree.root / LAST_GREEN).write_text("".join(f"{mark}\n" for mark in sorted(found.values())), encoding="utf-8")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
