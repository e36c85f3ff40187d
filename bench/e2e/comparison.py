#!/usr/bin/env python3
"""Snug beside other ways to share GPUs: the same pods on the same nodes, one system after the other.

    bench/e2e/comparison.py [--nodes 20] [--gpus 8] [--rounds 3] [--systems snug dra] [--gpushare PROGRAM] [--record]

Each run has a control plane of its own, an unmodified Kubernetes with one configuration of kube-scheduler (that
of deploy/, with the system's extender or none) and the same rate limits, and nodes that are posted:
no kubelet runs. Each round measures every system once, in an order that rotates. A run is one of
- burst: pods of a quarter of a GPU that fill all GPUs exactly. From the first POST until a watch has shown the
  last nodeName. Then one more pod is posted, and what it is told is kept.
- kill: the same, and when half of the pods are bound all programs that decide get SIGKILL, and start again.
- mix: pods of 0.05 to 1 GPU, posted one after the other, that fit exactly, but only if the packing is perfect.
  The same order for all systems, another one in each round.
20 pods are bound before a burst is measured. The calls are those of the audit log of the API server, without
watches, Leases and what the load generator and the API server itself send. What is over-committed is summed
from what the API server says. gpushare takes part if its program is given, which is built from its own repository:
`go build -o gpushare-sche-extender ./cmd`. Exit code 1 if a burst is not bound in time or Snug over-commits a GPU.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import shlex
import sys
import time

from measured_plane import ROOT, measured_plane
import comparison_report
from load import POSTERS, RUN_SECONDS, WARM_UP_PODS, post_all
from harness import extender as extender_module
from harness import truth
from harness.bound_counter import BoundCounter
from harness.processes import wait_until
from harness.scenario import PODS
from peers import GIVEN, SYSTEMS, workload
from peers.system import size_of

RESULTS = ROOT / "bench/results/comparison.md"
QUARTER = 250
QUIET_SECONDS = 3  # after which nothing more is expected to be written
SETTLED_SECONDS = 15
WRITERS = {"snug": "kube-scheduler"}  # it writes events as its profile, and has the same one in all systems
NOT_COUNTED_USERS = ("e2e-admin", "system:apiserver")
AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"],
    "rules": [{"level": "None", "users": list(NOT_COUNTED_USERS)},
              {"level": "None", "verbs": ["watch"]},
              {"level": "None", "resources": [{"group": "coordination.k8s.io", "resources": ["leases"]}]},
              {"level": "Metadata"}],
}


def bound_pods(admin):
    return [pod for pod in admin.list(PODS) if truth.is_bound(pod)]


class Run:
    """One system on a control plane of its own."""

    def __init__(self, plane, kind, arguments):
        self._plane = plane
        self._admin = plane.admin
        self._system = kind(plane, arguments.nodes, arguments.gpus)
        self._pods = arguments.nodes * arguments.gpus * 1000 // QUARTER
        self._system.start()

    def burst(self, kill):
        self._warm_up()
        bodies = [json.dumps(self._system.pod(f"pod-{number:05}", QUARTER)).encode()
                  for number in range(self._pods - WARM_UP_PODS)]
        mark = self._plane.audit.mark()
        clocks = self._system.clocks()
        used = {name: -clock() for name, clock in clocks.items()}
        counter = BoundCounter(self._admin, PODS, len(bodies))
        try:
            result = self._post(bodies, counter, kill)
        finally:
            counter.close()
        if not kill:
            self._wait_quiet()
            result["cpu_ms"] = {name: 1000 * (used[name] + clock()) / len(bodies)
                                for name, clock in clocks.items()}
            result["calls"] = self._calls(mark, len(bodies))
        result |= self._over_committed()
        if not kill:
            result["told"] = self._one_more()
        return result

    def mix(self, seed):
        sizes = workload.mix(len(self._system.nodes) * self._system.gpus, seed)
        for number, size in enumerate(sizes):
            self._admin.create(PODS, self._system.pod(f"pod-{number:05}", size))
        self._wait_settled()
        bound = bound_pods(self._admin)
        got = sum(map(size_of, bound))
        return {"pods": len(sizes), "bound": len(bound), "share": got / sum(sizes)} | self._over_committed()

    def _warm_up(self):
        """The programs have filled their caches and opened their connections when they have bound some pods."""
        self._admin.create_all(PODS, [self._system.pod(f"warm-up-{number}", QUARTER)
                                      for number in range(WARM_UP_PODS)], POSTERS)
        wait_until("the first pods are bound", lambda: len(bound_pods(self._admin)) == WARM_UP_PODS, 120)
        self._wait_quiet()

    def _post(self, bodies, counter, kill):
        """The times until all pods are bound, and with `kill` from the restart until the next one is."""
        gap = None
        with concurrent.futures.ThreadPoolExecutor(1) as background:
            posts = background.submit(lambda: (post_all(self._admin, bodies), time.monotonic()))
            if kill:
                wait_until("half of the pods are bound", lambda: counter.count >= len(bodies) // 2, RUN_SECONDS, 0.002)
                self._system.kill()
                before = self._bound_at_rest() - WARM_UP_PODS
                restarted = time.monotonic()
                self._system.start_programs()
                if before < len(bodies):  # else the last one was bound before the kill
                    wait_until("a pod is bound again", lambda: counter.count > before, RUN_SECONDS, 0.01)
                    gap = time.monotonic() - restarted
            started, posted = posts.result()
        counter.done.wait(RUN_SECONDS)
        done = counter.done_at or time.monotonic()
        return {"pods": len(bodies), "bound": counter.count, "seconds": done - started,
                "post_seconds": posted - started, "gap": gap}

    def _bound_at_rest(self):
        """How many pods are bound when the last call of a killed program has been carried out."""
        counts = [-1]

        def at_rest():
            counts.append(len(bound_pods(self._admin)))
            return counts[-1] == counts[-2]
        wait_until("no more pods are bound", at_rest, RUN_SECONDS, 0.2)
        return counts[-1]

    def _wait_quiet(self):
        """Until the API server has written down nothing for a while."""
        last = [self._plane.audit.mark(), time.monotonic()]

        def quiet():
            if self._plane.audit.mark() != last[0]:
                last[:] = self._plane.audit.mark(), time.monotonic()
            return time.monotonic() > last[1] + QUIET_SECONDS
        wait_until("the programs have nothing more to write", quiet, RUN_SECONDS, 0.2)

    def _calls(self, mark, pods):
        """(component, verb and resource) -> calls for each pod."""
        entries = self._plane.audit.entries_since(mark)
        calls = collections.Counter()
        for user in {entry["user"]["username"] for entry in entries}:
            for call, count in self._plane.audit.calls_of(entries, user).items():
                calls[self._system.components.get(user, user), call] += count
        return {key: count / pods for key, count in calls.items()}

    def _one_more(self):
        """What a pod is told for which there is no room: (who says it, reason, text)."""
        name = "one-more"
        self._admin.create(PODS, self._system.pod(name, QUARTER))

        def condition():
            pod = self._admin.get(f"{PODS}/{name}")
            return next((each for each in pod["status"].get("conditions", [])
                         if each["type"] == "PodScheduled" and each["status"] == "False"), None)
        said = wait_until("the pod is refused", condition, 60)
        self._wait_quiet()
        events = self._admin.list("/apis/events.k8s.io/v1/namespaces/default/events")
        return [("condition PodScheduled", said["reason"], said["message"])] + [
            (f"event of {WRITERS.get(event['reportingController'], event['reportingController'])}", event["reason"],
             event["note"])
            for event in events if event["regarding"].get("name") == name]

    def _over_committed(self):
        bound = bound_pods(self._admin)
        taken, room = self._system.used(bound)
        return {"over": sum(used > room for used in taken.values()), "place": self._system.place}

    def _wait_settled(self):
        """Until kube-scheduler has tried all pods, and no more is bound."""
        seen, since = None, time.monotonic()
        while time.monotonic() < since + SETTLED_SECONDS:
            time.sleep(0.5)
            pods = self._admin.list(PODS)
            state = (sum(map(truth.is_bound, pods)),
                     sum(bool(pod["status"].get("conditions")) for pod in pods))
            if state != seen or state[1] < len(pods):
                seen, since = state, time.monotonic()


def measure(name, what, number, arguments):
    """One run; returns what is known about it."""
    with measured_plane(audited=True, audit_policy=AUDIT_POLICY) as plane:
        version = plane.admin.get("/version")["gitVersion"]
        each = Run(plane, SYSTEMS[name], arguments)
        result = each.mix(number) if what == "mix" else each.burst(what == "kill")
    return {"system": name, "what": what, "round": number, "kubernetes": version,
            "load": os.getloadavg()[0], **result}


def all_runs(arguments):
    runs = []
    for number in range(1, arguments.rounds + 1):
        turn = number % len(arguments.systems)
        for what in arguments.runs:
            for name in arguments.systems[turn:] + arguments.systems[:turn]:
                if what in SYSTEMS[name].runs:
                    runs.append(measure(name, what, number, arguments))
                    print({key: value for key, value in runs[-1].items() if key not in ("calls", "told")},
                          flush=True)
    return runs


def parse_arguments(words=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=20)
    parser.add_argument("--gpus", type=int, default=8, help="GPUs of each node")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, help="all whose programs are there")
    for kind in GIVEN:
        parser.add_argument(f"--{kind.name}", dest=kind.name, type=pathlib.Path, metavar="PROGRAM",
                            help=kind.__doc__)
    parser.add_argument("--runs", nargs="+", choices=comparison_report.RUNS, default=list(comparison_report.RUNS))
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write every run")
    parser.add_argument("--record", action="store_true", help="write bench/results/comparison.md")
    arguments = parser.parse_args(words)
    missing = [kind.name for kind in GIVEN if not vars(arguments)[kind.name]]
    arguments.systems = arguments.systems or [name for name in SYSTEMS if name not in missing]
    for name in set(arguments.systems).intersection(missing):
        parser.error(f"{name} needs --{name} PROGRAM")
    return arguments


def without_places(words):
    """The words of a command, without where this machine has its files."""
    kept = list(words)
    if "--json" in kept:
        del kept[kept.index("--json"):kept.index("--json") + 2]
    for option in (f"--{kind.name}" for kind in GIVEN):
        if option in kept:
            kept[kept.index(option) + 1] = "PROGRAM"
    return kept


def main():
    arguments = parse_arguments()
    program = extender_module.program()
    if "snug" in arguments.systems and not program.exists():
        raise SystemExit(f"{program} does not exist; build it first")
    for kind in GIVEN:
        kind.program_file = vars(arguments)[kind.name]
    load = os.getloadavg()[0]
    runs = all_runs(arguments)
    good, sentence = comparison_report.verdict(runs)
    command = shlex.join(["bench/e2e/comparison.py", *without_places(sys.argv[1:])])
    text = comparison_report.page(command, vars(arguments), runs, load, sentence)
    print(text)
    if arguments.record:
        RESULTS.write_text(text)
    if arguments.json:
        arguments.json.write_text(json.dumps([
            {**each, "calls": [[*key, count] for key, count in each.get("calls", {}).items()]}
            for each in runs], indent=1) + "\n")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
