"""Rules about locks: Clang's thread-safety analysis must know every mutex, and what it guards."""

import re

from cpp import code_only
from tree import Finding

HOME = "include/snug/base/mutex.hpp"
STANDARD = re.compile(
    r"\bstd::(?:(?:shared_|recursive_|timed_)*mutex|condition_variable(?:_any)?|(?:lock_guard|unique_lock|scoped_lock"
    r"|shared_lock))\b")
MEMBER = re.compile(r"^\s+(?:mutable\s+)?(?:Fair)?Mutex (\w+);", re.M)


def mutexes_are_checked(tree):
    """Locks are those of base/mutex.hpp, and each Mutex member is named by a SNUG_GUARDED_BY."""
    for path in tree.cpp("include", "src"):
        if path == HOME:
            continue
        code = code_only(tree.text(path))
        for line, text in enumerate(code.split("\n"), 1):
            match = STANDARD.search(text)
            if match:
                yield Finding(path, line, f"{match.group(0)} is not checked: use {HOME}")
        for match in MEMBER.finditer(code):
            if f"GUARDED_BY({match.group(1)})" not in code:
                line = code.count("\n", 0, match.start(1)) + 1
                yield Finding(path, line, f"no member is SNUG_GUARDED_BY({match.group(1)})")
