#!/usr/bin/env python3
"""Runs the scenarios that need a real node: kubelet and containerd, with an unmodified control plane.

    sudo tests/node/run.py [--only TEXT]... [--runtime RUNTIME]

Prints one line for each scenario and last `N passed, N failed, N skipped`; exit code 0 if none
failed, 2 if there is nothing to test, otherwise 1. The program under test is
$SNUG_EXTENDER, else build/dev/snug-extender. On a machine that cannot be a node the scenarios count as
skipped, or with --require as failed.
"""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]

from harness import runner  # noqa: E402
from harness.controlplane import ControlPlane, build_programs  # noqa: E402
from node import obstacle  # noqa: E402
from node_scenario import NodeScenario  # noqa: E402
from runtimes import DEFAULT, RUNTIMES  # noqa: E402

# As kubeadm sets them: a kubelet may write its own node only, and its host name need not be known.
FLAGS = ("--authorization-mode=Node", "--enable-admission-plugins=NodeRestriction",
         "--kubelet-preferred-address-types=InternalIP")


MORE_FLAGS = {"--runtime": {"choices": RUNTIMES, "default": DEFAULT, "help": f"the container runtime ({DEFAULT})"}}


def make_plane(arguments):
    reason = obstacle()
    if reason:
        raise runner.CannotRun(f"the node tests cannot run: {reason}")
    NodeScenario.runtime = RUNTIMES[arguments.runtime]
    programs, NodeScenario.programs = build_programs(), build_programs(HERE / "build.sh", arguments.runtime)
    NodeScenario.plugins = build_programs(HERE / "build.sh", "plugins")
    if None in (programs, NodeScenario.programs, NodeScenario.plugins):
        raise runner.CannotRun("the node tests cannot run: Go 1.26 or later, or one of Debian's "
                               "packages runc and busybox-static, is missing and cannot be had")
    NodeScenario.programs, NodeScenario.plugins = (
        pathlib.Path(each) for each in (NodeScenario.programs, NodeScenario.plugins))
    return ControlPlane(programs, flags=FLAGS)


if __name__ == "__main__":
    sys.exit(runner.main(__doc__.splitlines()[0], HERE, make_plane, MORE_FLAGS))
