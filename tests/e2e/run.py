#!/usr/bin/env python3
"""Runs the end-to-end scenarios against an unmodified control plane.

    tests/e2e/run.py [--only TEXT]... [--kubernetes MINOR]

Prints one line for each scenario and last `N passed, N failed, N skipped`; exit code 0 if none
failed, 2 if there is nothing to test, otherwise 1. The program under test is
$SNUG_EXTENDER, else build/dev/snug-extender. --kubernetes: the control plane is this version of those
that controlplane/build.sh has; scenarios that need a newer one are skipped. If the control plane cannot
be built because Go is missing, the scenarios count as skipped, or with --require as failed.
"""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from harness import runner  # noqa: E402
from harness.controlplane import ControlPlane, build_programs  # noqa: E402

OLDER = sorted(folder.name.partition("-")[2] for folder in (HERE / "controlplane").glob("kubernetes-*"))


def make_plane(arguments):
    programs = build_programs(version=arguments.kubernetes)
    if programs is None:
        raise runner.CannotRun(
            "end-to-end tests cannot run: Go 1.26 or later is missing and cannot be installed")
    return ControlPlane(programs)


if __name__ == "__main__":
    sys.exit(runner.main(__doc__.splitlines()[0], HERE, make_plane, {
        "--kubernetes": {"metavar": "MINOR", "help": f"{' or '.join(OLDER)}: test with this Kubernetes instead of that of CI"}}))
