#!/usr/bin/env python3
"""Pods per second of an unmodified kube-scheduler: without an extender, and with Snug in each mode.

    bench/e2e/run.py [--nodes 1000] [--pods 2000] [--rounds 3] [--json FILE]

Everything runs on this machine: etcd, kube-apiserver, kube-scheduler, snug-extender and the load
generator. Each round measures every variant once, in an order that turns from round to round, so
that each of Snug's figures stands beside a baseline of its own round. A run lasts from the first
POST of a pod to the moment when a watch has shown the last nodeName.
"""

import argparse
import json
import os
import pathlib
import platform
import statistics
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/e2e"))

from harness import extender as extender_module  # noqa: E402
from harness import truth  # noqa: E402
from harness.bound_counter import BoundCounter  # noqa: E402
from harness.controlplane import ControlPlane  # noqa: E402
from harness.objects import gpu_node, share  # noqa: E402
from harness.processes import wait_until  # noqa: E402
from harness.scenario import NODES, PODS, Session  # noqa: E402
import run as e2e  # noqa: E402

BASELINE = "none"
VARIANTS = (BASELINE, "winner", "all", "advise", "auto")
POSTERS = 8
QPS = 5000
RUN_SECONDS = 300
BIND_ENDS = ("bound", "repeated", "lost_race", "refused", "unknown", "unavailable")


def post_all(api, bodies):
    """Posts rendered pods from several threads; returns when the first POST was sent."""
    failures = []

    def post(part):
        for body in part:
            status, answer = api.send("POST", PODS, body)
            if status != 201:
                failures.append(answer)
                return
    threads = [threading.Thread(target=post, args=(bodies[start::POSTERS],))
               for start in range(POSTERS)]
    started = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise RuntimeError(f"a pod could not be posted: {failures[0][:300]!r}")
    return started


class Bench:
    def __init__(self, plane, arguments):
        self._plane = plane
        self._session = Session(plane)
        self._arguments = arguments
        self._bodies = [json.dumps(share(f"pod-{number:05}", arguments.fraction)).encode()
                        for number in range(arguments.pods)]

    def post_nodes(self):
        self._plane.admin.create_all(NODES, [
            gpu_node(f"n{number:05}", self._arguments.gpus)
            for number in range(self._arguments.nodes)], POSTERS)

    def measure(self, variant, percentage):
        """One run; returns what is known about it."""
        extender = scheduler = None
        try:
            if variant != BASELINE:
                extender = extender_module.Extender(
                    self._plane, self._session.extender_kubeconfig, {"answer": variant})
                extender.start()
            scheduler = self._session.schedulers.start(
                extender_port=extender and extender.port, answer=variant, percentage=percentage,
                qps=QPS)
            self._warm_up()
            result = self._timed(variant, percentage)
            if extender:
                result["binds"] = {end: int(extender.metric("snug_bind_total", end=end))
                                   for end in BIND_ENDS}
            self._check(variant)
            return result
        finally:
            for process in (scheduler, extender):
                if process:
                    process.stop()
            self._delete_pods()

    def _warm_up(self):
        """The scheduler works, and has filled its caches, when it has bound one pod."""
        self._plane.admin.create(PODS, share("warm-up", self._arguments.fraction))
        wait_until("the scheduler binds a pod", lambda: self._plane.admin.get(
            f"{PODS}/warm-up")["spec"].get("nodeName"), 120)

    def _timed(self, variant, percentage):
        counter = BoundCounter(self._plane.admin, PODS, len(self._bodies))
        try:
            started = post_all(self._plane.admin, self._bodies)
            posted = time.monotonic()
            if not counter.done.wait(RUN_SECONDS):
                raise RuntimeError(f"{variant}: only {counter.count} pods were bound")
        finally:
            counter.close()
        seconds = counter.done_at - started
        return {"variant": variant, "percentage": percentage, "seconds": round(seconds, 3),
                "load_average": round(os.getloadavg()[0], 1),
                "post_seconds": round(posted - started, 3), "watch_restarts": counter.restarts,
                "pods_per_second": round(len(self._bodies) / seconds, 1)}

    def _check(self, variant):
        """A fast run that over-commits is worth nothing."""
        admin = self._plane.admin
        seen = truth.Truth(admin.list(NODES), admin.list(PODS))
        if seen.problems():
            raise RuntimeError(f"{variant}: {seen.problems()[0]}")
        wanted = 0 if variant == BASELINE else len(self._bodies) + 1
        if len(seen.reserved) != wanted:
            raise RuntimeError(f"{variant}: {len(seen.reserved)} reservations, not {wanted}")

    def _delete_pods(self):
        self._plane.admin.delete(PODS)
        wait_until("the pods are gone", lambda: not self._plane.admin.list(PODS, limit=1), 120)


def all_runs(bench, arguments):
    runs = []
    for number in range(arguments.rounds):
        for percentage in arguments.percentages:
            turn = number % len(arguments.variants)
            for variant in arguments.variants[turn:] + arguments.variants[:turn]:
                result = {"round": number, **bench.measure(variant, percentage)}
                print(json.dumps(result), flush=True)
                runs.append(result)
    return runs


def summarize(runs):
    """Medians over the rounds; ratios are to the baseline of the same round."""
    rows = []
    for percentage, variant in dict.fromkeys((run["percentage"], run["variant"]) for run in runs):
        mine = [run for run in runs
                if (run["percentage"], run["variant"]) == (percentage, variant)]
        baselines = {run["round"]: run["pods_per_second"] for run in runs
                     if (run["percentage"], run["variant"]) == (percentage, BASELINE)}
        ratios = [run["pods_per_second"] / baselines[run["round"]] for run in mine
                  if run["round"] in baselines]
        rows.append({
            "percentage": percentage, "variant": variant,
            "pods_per_second": statistics.median(run["pods_per_second"] for run in mine),
            "ratio": round(statistics.median(ratios), 3) if ratios else None,
            "ratios": [round(ratio, 3) for ratio in ratios]})
    return sorted(rows, key=lambda row: (row["percentage"] == 0, VARIANTS.index(row["variant"])))


def print_table(rows):
    print(f"{'percentageOfNodesToScore':<26}{'answer':<14}{'pods/s':>8}{'ratio':>8}   each round")
    for row in rows:
        percentage = row["percentage"] or "0 (default)"
        name = "no extender" if row["variant"] == BASELINE else row["variant"]
        ratio = "-" if row["ratio"] is None else f"{row['ratio']:.2f}"
        each = " ".join(f"{value:.2f}" for value in row["ratios"])
        print(f"{percentage!s:<26}{name:<14}{row['pods_per_second']:>8.1f}{ratio:>8}   {each}")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--gpus", type=int, default=8, help="GPUs of each node")
    parser.add_argument("--pods", type=int, default=2000)
    parser.add_argument("--fraction", default="0.25", help="gpu-fraction of each pod")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--percentages", type=int, nargs="+", default=[100, 0],
                        help="percentageOfNodesToScore; 0 is kube-scheduler's default")
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=list(VARIANTS))
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    if arguments.variants != [BASELINE] and not extender_module.program().exists():
        raise SystemExit(f"{extender_module.program()} is not there; build it first")
    programs = e2e.build_control_plane()
    if programs is None:
        raise SystemExit("Go 1.26 or later is missing and cannot be installed")
    plane = ControlPlane(programs, deployed=("rbac.yaml",), audited=False)
    try:
        plane.start()
        bench = Bench(plane, arguments)
        bench.post_nodes()
        runs = all_runs(bench, arguments)
    finally:
        plane.stop()
    rows = summarize(runs)
    print_table(rows)
    if arguments.json:
        shape = {key: getattr(arguments, key)
                 for key in ("nodes", "gpus", "pods", "fraction", "rounds")}
        arguments.json.write_text(json.dumps({
            "shape": {**shape, "qps": QPS, "posters": POSTERS},
            "machine": {"cores": os.cpu_count(), "system": platform.platform()},
            "rows": rows, "runs": runs}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
