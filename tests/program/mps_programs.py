"""NVIDIA's own nvidia-cuda-mps-control, from a package of Debian's section non-free. It is downloaded once, from the mirror
that this machine's apt uses, and kept in ${SNUG_CACHE:-~/.cache/snug}; apt's own settings and lists are left alone."""

import functools
import os
import subprocess
import unittest
from pathlib import Path

CACHE = Path(os.environ.get("SNUG_CACHE") or Path.home() / ".cache/snug") / "mps"
STANDIN = Path(__file__).resolve().parents[1] / "standin/nvidia-cuda-mps-control"
PACKAGE = "nvidia-cuda-mps"
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
APT = """Dir::State::Lists "{0}/lists";
Dir::Cache "{0}/cache";
Dir::Etc::SourceList "{0}/sources.list";
Dir::Etc::SourceParts "/dev/null";
APT::Sandbox::User "root";
"""


def output_of(*command, folder=None, **variables):
    return subprocess.run(command, check=True, text=True, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=120, env={**os.environ, **variables}).stdout


def fetch(folder):
    """Unpacks the package into the folder."""
    sources = output_of("apt-get", "indextargets", "--format", "$(REPO_URI) $(CODENAME)", "Created-By: Packages",
                        "Origin: Debian", "Codename: bookworm").split("\n")
    for name in ("lists/partial", "cache/archives/partial"):
        (folder / name).mkdir(parents=True)
    (folder / "sources.list").write_text(f"deb [signed-by={KEYRING}] {sources[0]} non-free\n")
    (folder / "apt.conf").write_text(APT.format(folder))
    for arguments in (["update"], ["download", PACKAGE]):
        output_of("apt-get", "--quiet", *arguments, folder=folder, APT_CONFIG=str(folder / "apt.conf"))
    output_of("dpkg-deb", "--extract", str(next(folder.glob("*.deb"))), str(folder / "root"))


@functools.cache
def nvidia_control():
    """The path of NVIDIA's program; a test without it is skipped."""
    program = CACHE / "root/usr/bin/nvidia-cuda-mps-control"
    if not program.exists():
        partial = CACHE.with_name(f"{CACHE.name}.{os.getpid()}")
        try:
            fetch(partial)
            partial.rename(CACHE)
        except (OSError, StopIteration, subprocess.SubprocessError) as error:
            raise unittest.SkipTest(f"NVIDIA's program cannot be had: {error}") from error
    return program
