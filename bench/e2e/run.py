#!/usr/bin/env python3
"""Pods per second of an unmodified kube-scheduler: without an extender, and with Snug in each mode.

    bench/e2e/run.py [--nodes 1000] [--pods 2000] [--rounds 3] [--record] [--json FILE]

Everything runs on this machine: etcd, kube-apiserver, kube-scheduler, snug-extender and the load
generator. Each round measures every variant once, in an order that rotates from round to round, with
a run without an extender before and after each: the machine's other load changes from minute to
minute, so a run is compared with the mean of the two runs around it. A run lasts from the first POST
of a pod until a watch has shown the last nodeName. Warm-up is not measured: some pods are bound
before each run, and one whole run precedes all others.
The programs authenticate as in a kubeadm cluster with the shared shape of deploy/:
kube-scheduler with a client certificate, in every variant, and Snug with its service account's
token. Exit code 1 if the verdict of report.py is FAIL.
"""

import argparse
import json
import os
import pathlib
import platform
import shlex
import sys
import time

import report
from measured_plane import ROOT, measured_plane
from load import OWN_POD, POSTERS, QPS, RUN_SECONDS, WARM_UP_PODS, post_all
from report import BASELINE, VARIANTS
from harness import extender as extender_module
from harness import truth
from harness.bound_counter import BoundCounter
from harness.objects import gpu_node, share
from harness.processes import wait_until
from harness.scenario import NODES, PODS, Session

RESULTS = ROOT / "bench/results/e2e.md"
BIND_ENDS = ("bound", "repeated", "lost_race", "refused", "unknown", "unavailable")


class Bench:
    def __init__(self, plane, arguments):
        self._plane = plane
        self._session = Session(plane)
        self._extender_kubeconfig = plane.extender_token_kubeconfig()
        self._arguments = arguments
        self._bodies = [json.dumps(share(f"pod-{number:05}", arguments.fraction)).encode()
                        for number in range(arguments.pods)]

    def post_nodes(self):
        self._session.make_own_pod(OWN_POD)
        self._plane.admin.create_all(NODES, [
            gpu_node(f"n{number:05}", self._arguments.gpus)
            for number in range(self._arguments.nodes)], POSTERS)

    def measure(self, variant, percentage):
        """One run; returns what is known about it."""
        extender = scheduler = None
        try:
            if variant != BASELINE:
                extender = extender_module.Extender(
                    self._plane, self._extender_kubeconfig, {"answer": variant},
                    {"POD_NAME": OWN_POD, "POD_NAMESPACE": "snug"})
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
        """The programs have filled their caches and opened their connections when they have bound
        some pods; the same ones in each variant."""
        self._plane.admin.create_all(PODS, [share(f"warm-up-{number}", self._arguments.fraction)
                                            for number in range(WARM_UP_PODS)], POSTERS)
        wait_until("the scheduler binds pods", lambda: all(
            map(truth.is_bound, self._plane.admin.list(PODS))), 120)

    def _timed(self, variant, percentage):
        counter = BoundCounter(self._plane.admin, PODS, len(self._bodies))
        clocks = {**self._plane.cpu_clocks(), "load generator": time.process_time}
        used = {name: -clock() for name, clock in clocks.items()}
        try:
            started = post_all(self._plane.admin, self._bodies)
            posted = time.monotonic()
            if not counter.done.wait(RUN_SECONDS):
                raise RuntimeError(f"{variant}: only {counter.count} pods were bound")
        finally:
            counter.close()
        seconds = counter.done_at - started
        used = {name: round(used[name] + clock(), 2) for name, clock in clocks.items()}
        return {"variant": variant, "percentage": percentage, "seconds": round(seconds, 3),
                "pods_per_second": round(len(self._bodies) / seconds, 1),
                "post_seconds": round(posted - started, 3), "watch_restarts": counter.restarts,
                "load_average": round(os.getloadavg()[0], 1), "cpu_seconds": used}

    def _check(self, variant):
        """A fast run that over-commits is worth nothing."""
        admin = self._plane.admin
        seen = truth.Truth(admin.list(NODES), admin.list(PODS))
        if seen.problems():
            raise RuntimeError(f"{variant}: {seen.problems()[0]}")
        wanted = 0 if variant == BASELINE else len(self._bodies) + WARM_UP_PODS
        if len(seen.reservations()) != wanted:
            raise RuntimeError(f"{variant}: {len(seen.reservations())} reservations, not {wanted}")

    def _delete_pods(self):
        self._plane.admin.delete(PODS)
        wait_until("the pods are gone", lambda: not self._plane.admin.list(PODS, limit=1), 120)


def all_runs(bench, arguments):
    """The first run is a warm-up of the API server and etcd, and is not counted."""
    bench.measure(arguments.variants[0], arguments.percentages[0])
    runs = []
    for number in range(arguments.rounds):
        for percentage in arguments.percentages:
            for variant in report.order(arguments.variants, number):
                result = {"round": number, **bench.measure(variant, percentage)}
                print(json.dumps(result), flush=True)
                runs.append(result)
    return runs


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
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write every run")
    parser.add_argument("--record", action="store_true", help="write bench/results/e2e.md")
    return parser.parse_args()


def measure_all(arguments):
    with measured_plane() as plane:
        bench = Bench(plane, arguments)
        bench.post_nodes()
        return all_runs(bench, arguments)


def main():
    arguments = parse_arguments()
    if arguments.variants != [BASELINE] and not extender_module.program().exists():
        raise SystemExit(f"{extender_module.program()} does not exist; build it first")
    keys = ("nodes", "gpus", "pods", "fraction", "rounds")
    shape = {key: getattr(arguments, key) for key in keys} | {"qps": QPS, "posters": POSTERS}
    runs = measure_all(arguments)
    rows = report.summarize(runs)
    good, verdict = report.judge(rows)
    print(report.table(rows), verdict, sep="\n")
    if arguments.record:
        command = shlex.join(["bench/e2e/run.py", *sys.argv[1:]])
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(report.page(command, shape, rows, verdict))
    if arguments.json:
        arguments.json.write_text(json.dumps({
            "shape": shape,
            "machine": {"cores": os.cpu_count(), "system": platform.platform()},
            "rows": rows, "runs": runs}, indent=1) + "\n")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
