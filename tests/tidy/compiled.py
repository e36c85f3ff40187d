"""Checks that run a compiler on one file each, and remember what passed by the hash of all it read.

What passed is known from two sources: this machine's cache, and tests/tidy/last_green, which has a hash
for each file and so holds for any commit (clang_tidy.py --record writes it)."""

import functools
import hashlib
import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from cpp import includes
from tree import Finding

JOBS = 2
PACKAGES = ["cpp-httplib"]
LAST_GREEN = "tests/tidy/last_green"  # the beginning of a fingerprint in each line
RECORDED = 16  # characters of it


def cache_folder(name):
    base = os.environ.get("SNUG_CACHE") or os.path.expanduser("~/.cache/snug")
    folder = Path(base) / name
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def closure(tree, path, seen=None):
    """The file and every file of the tree that it includes, directly or not."""
    seen = set() if seen is None else seen
    if path in seen or not tree.has(path):
        return seen
    seen.add(path)
    beside = path.rsplit("/", 1)[0] + "/" if "/" in path else ""
    for _, name, quoted in includes(tree.text(path)):
        if quoted:
            for candidate in (beside + name, "include/" + name, "src/" + name, "tests/" + name,
                              "src/codec/" + name + ".in", "src/adapters/http/" + name + ".in"):
                closure(tree, candidate, seen)
    return seen


@functools.cache
def fingerprint(tree, path, *more):
    """Changes when the file, anything of ours that it includes, or `more` changes."""
    digest = hashlib.sha256()
    for name in sorted(closure(tree, path)):
        digest.update(name.encode() + b"\0" + tree.text(name).encode() + b"\0")
    for text in more:
        digest.update(text.encode() + b"\0")
    return digest.hexdigest()


def output_of(*command):
    """What the command prints; empty when it cannot be run."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return ""
    return done.stdout + done.stderr


def marks(tree, jobs):
    """{path: what LAST_GREEN has of a job that passed}; jobs as in run_cached."""
    return {path: fingerprint(tree, path, more)[:RECORDED] for path, (_, more) in jobs.items()}


def recorded(tree):
    return set(tree.text(LAST_GREEN).split()) if tree.has(LAST_GREEN) else set()


def run_cached(tree, folder, jobs):
    """{path: output of the failed run}; jobs: {path: (command, what else its result depends on)}.

    What passed is not run again."""
    store = cache_folder(folder)
    green = recorded(tree)

    def one(item):
        path, (command, more) = item
        whole = fingerprint(tree, path, more)
        if whole[:RECORDED] in green:
            return path, None
        mark = store / whole
        if mark.exists():
            mark.touch()
            return path, None
        done = subprocess.run(command, cwd=tree.root, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            mark.touch()
            return path, None
        return path, done.stdout + done.stderr or f"exit code {done.returncode}"

    with ThreadPoolExecutor(JOBS) as pool:
        return {path: text for path, text in pool.map(one, jobs.items()) if text is not None}


def first_included(tree):
    """The headers that some source includes before anything else: the build compiles these alone."""
    found = set()
    for path in tree.cpp("src", "tests", "bench"):
        names = [name for _, name, _ in includes(tree.text(path))] if path.endswith(".cpp") else []
        if names:
            beside = path.rsplit("/", 1)[0] + "/"
            found |= {folder + names[0] for folder in (beside, "include/", "src/", "tests/")}
    return found


def header_jobs(tree):
    """Jobs for run_cached that compile headers alone: all but those that a source includes first."""
    compiler = os.environ.get("CXX", "g++")
    flags = output_of("pkg-config", "--cflags", *PACKAGES).split()
    version = output_of(compiler, "--version").split("\n")[0]
    jobs = {}
    built = first_included(tree)
    for path in tree.cpp("include", "src", "tests", "bench"):
        if path.endswith(".hpp") and path not in built:
            command = [compiler, "-std=c++23", "-fsyntax-only", "-x", "c++", "-Wall", "-Wextra",
                       *flags, "-Iinclude", "-Isrc", "-Itests",
                       "-include", path, os.devnull]
            jobs[path] = (command, version + " ".join(command))
    return jobs


def headers_stand_alone(tree):
    """Each header compiles alone. Headers that a source includes first are checked by the build."""
    if not any(path.endswith(".hpp") for path in tree.cpp("include", "src", "tests", "bench")):
        yield Finding("include", 1, "there is no header to compile")
    for path, text in run_cached(tree, "headers", header_jobs(tree)).items():
        match = re.search(r"[^\n]*:\d+: (?:fatal )?error: .*", text)
        yield Finding(path, 1, "does not compile alone: " + (match or re.match(".*", text)).group(0))
