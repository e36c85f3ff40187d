#!/usr/bin/env python3
"""clang-tidy over every translation unit of src/ in a build folder's compile_commands.json.

  python3 tests/tidy/clang_tidy.py BUILD-FOLDER

A unit that passed is not looked at again until it, a header of ours that it includes, its flags,
.clang-tidy or the tool's version change. Ends with `N passed, N failed, N skipped`.
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from compiled import output_of, run_cached  # noqa: E402
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
                found[name] = entry["command"]
    return found


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    tree = Tree(Path(__file__).resolve().parents[2])
    build = Path(sys.argv[1]).resolve()
    found = units(tree, build)
    if not found:
        print(f"{build} compiles no file of this tree\n0 passed, 1 failed, 0 skipped")
        return 1
    tool = output_of(TOOL, "--version") + tree.text(".clang-tidy")
    jobs = {path: ([TOOL, "--quiet", "-p", str(build), path], tool + flags)
            for path, flags in found.items()}
    failed = run_cached(tree, "clang-tidy", jobs)
    for path, text in sorted(failed.items()):
        print(f"FAIL {path}")
        print("\n".join(text.strip().splitlines()[:SHOWN]))
    print(f"{len(found) - len(failed)} passed, {len(failed)} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
