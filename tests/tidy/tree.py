"""The files of a source tree, as the checks see them: every file that git tracks or would track."""

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

CPP = (".cpp", ".hpp")
SKIPPED_FOLDERS = {".git", "build", ".cache", "__pycache__"}


@dataclass(frozen=True)
class Finding:
    """One place that breaks a rule."""

    path: str
    line: int
    text: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.text}"


class Tree:
    """Reads each file once. Paths are relative to the root, with forward slashes."""

    def __init__(self, root):
        self.root = Path(root).resolve()
        self.files = sorted(self._listed())
        self._texts = {}

    def _listed(self):
        if (self.root / ".git").exists():
            command = ["git", "-C", str(self.root), "ls-files", "-z", "-co", "--exclude-standard"]
            names = subprocess.run(command, check=True, capture_output=True).stdout.decode()
            return {name for name in names.split("\0") if name and (self.root / name).is_file()}
        found = set()
        for path in self.root.rglob("*"):
            relative = path.relative_to(self.root)
            if path.is_file() and not SKIPPED_FOLDERS.intersection(relative.parts):
                found.add(relative.as_posix())
        return found

    def has(self, path):
        return path in self.files

    def text(self, path):
        """Empty for a file that is no text."""
        if path not in self._texts:
            data = (self.root / path).read_bytes()
            self._texts[path] = "" if b"\0" in data else data.decode("utf-8", "replace")
        return self._texts[path]

    def lines(self, path):
        """(number, line) from 1."""
        return enumerate(self.text(path).split("\n"), 1)

    def under(self, folders, endings=None):
        """Files below any of the folders (``""``: all) with one of the endings."""
        for path in self.files:
            if endings and not path.endswith(tuple(endings)):
                continue
            if any(not folder or path.startswith(folder.rstrip("/") + "/") for folder in folders):
                yield path

    def cpp(self, *folders):
        return self.under(folders or ("include", "src", "tests", "bench"), CPP)

    def grep(self, paths, pattern, why):
        """A finding for every line that matches; `why` may use the match as {0}."""
        regex = re.compile(pattern)
        for path in paths:
            for number, line in self.lines(path):
                match = regex.search(line)
                if match:
                    yield Finding(path, number, why.format(match.group(0).strip()))
