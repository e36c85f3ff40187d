#!/usr/bin/env python3
"""The cost of deploy/'s admission policies in the API server: each request with and without them, as a ratio.

    bench/e2e/admission.py [--rounds 10] [--policy FILE]... [--annotations 0 5000 20000 60000] [--record]

The policies are bound to one of two namespaces. Each round sends every request to a pod in each
namespace, in alternating order, so both are measured on the same API server at the same time.
The ratio is of the processor time that kube-apiserver uses, which other load of the machine hardly
changes. The pods are bound and have a reservation, and the annotations of a pod are 256 KiB in
total, the maximum. A stored pod is one of two containers with 15 variables each. Only etcd and
kube-apiserver run. `--policy` measures other files than deploy/'s, for example an older policy. Exit
code 1 if the ratio of a status patch or of storing a pod is above 1.5, or if a request is refused.
"""

import argparse
import collections
import itertools
import json
import pathlib
import shlex
import statistics
import string
import sys
import time

import report
from measured_plane import ROOT, measured_plane
from harness import manifests
from harness.api import MERGE_PATCH, ApiError
from harness.controlplane import EXTENDER_USER
from harness.objects import ANNOTATION_BYTES, many_annotations, pod
from harness.processes import wait_until
from harness.scenario import pods_of

RESULTS = ROOT / "bench/results/admission.md"
MOST_RATIO = 1.5
STATUS = "PATCH status"  # what kubelets send all the time; it leaves the annotations alone
STORED = "POST, stored"
JUDGED = (STATUS, STORED)
WITH, WITHOUT = "with-policy", "without-policy"
OURS = {"snug.dev/reservation": "{}", "snug.dev/visible-devices": "GPU-1", "gpu-fraction": "0.25"}
SMALL = 1024  # bytes for these, and for one that changes
# How much a sample is: so many requests for pods without annotations, and with each annotation fewer,
# so that none is lost in what the API server does besides, as collecting garbage.
AT_ONCE, FREE = 100, 400
HEADING = """| annotations | request | ratio | ms of processor with | without | ms to the answer (p50) with | without |
|---|---|---|---|---|---|---|"""
Cost = collections.namedtuple("Cost", ("processor", "walls"))


def ordinary_pod(name):
    value = pod(name, namespace=None, scheduler="default-scheduler", containers=("main", "side"))
    for container in value["spec"]["containers"]:
        container["env"] = [{"name": f"SERVICE_{index}", "value": "http://a.namespace.svc:8080"}
                            for index in range(15)]
    return value


class Bench:
    def __init__(self, plane, policies):
        self._admin = plane.admin
        self._plane = plane
        self._numbers = itertools.count()
        self._used = plane.cpu_clocks()["kube-apiserver"]
        for namespace in (WITH, WITHOUT):
            manifests.apply_object(self._admin, {
                "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        for policy in policies:
            self._apply(policy)
        wait_until("the policy is enforced", lambda: not self._may_forge(WITH))
        if not self._may_forge(WITHOUT):
            raise SystemExit("the policy is in force in both namespaces")

    def _apply(self, policy):
        for value in manifests.read(policy):
            if value["kind"] == "ValidatingAdmissionPolicyBinding":
                value["spec"]["matchResources"] = {"namespaceSelector": {"matchLabels": {
                    "kubernetes.io/metadata.name": WITH}}}
            manifests.apply_object(self._admin, value)

    def _may_forge(self, namespace):
        try:
            self._admin.create(f"{pods_of(namespace)}?dryRun=All",
                               pod("probe", {"snug.dev/reservation": "{}"}, namespace=namespace))
        except ApiError as error:
            if error.status != 422:
                raise
            return False
        return True

    def rows(self, count, rounds):
        """(what is sent, what it cost with and without in each round)"""
        made = many_annotations(count, ANNOTATION_BYTES - SMALL) if count else {}
        # One for each count: the API server ends a connection on which nothing is sent for long.
        snug = self._plane.client(f"snug-{count}", EXTENDER_USER, ["system:masters"])
        for namespace in (WITH, WITHOUT):
            value = pod("measured", {**OURS, **made}, namespace=namespace)
            value["spec"]["nodeName"] = "n1"
            snug.create(pods_of(namespace), value)
        try:
            for title, request in self._requests(made).items():
                self._pair(request, 0, 1)  # the first one finds nothing compiled
                repeats = max(1, AT_ONCE * FREE // (count + FREE))
                yield title, [self._pair(request, turn, repeats) for turn in range(rounds)]
        finally:
            for namespace in (WITH, WITHOUT):
                self._admin.delete(f"{pods_of(namespace)}/measured")

    def _requests(self, made):
        """What is sent -> makes (method, path below the namespace's pods, object)."""
        def number():
            return str(next(self._numbers))

        def changed():
            letter = string.ascii_letters[int(number()) % len(string.ascii_letters)]
            return {"metadata": {"annotations": {
                key: letter * len(value) for key, value in made.items()}}}
        requests = {
            STATUS: lambda: ("PATCH", "/measured/status", {"status": {"message": number()}}),
            "PATCH one annotation": lambda: (
                "PATCH", "/measured", {"metadata": {"annotations": {"other": number()}}}),
            "POST": lambda: ("POST", "?dryRun=All", pod(
                number(), made, namespace=None, scheduler="default-scheduler")),
        }
        if not made:
            requests[STORED] = lambda: ("POST", "", ordinary_pod(f"stored-{number()}"))
        if made:
            requests["PATCH all annotations"] = lambda: ("PATCH", "/measured", changed())
        return requests

    def _pair(self, request, turn, repeats):
        """(what the requests cost with the policies, and without)"""
        order = (WITH, WITHOUT) if turn % 2 == 0 else (WITHOUT, WITH)
        costs = {namespace: self._cost(namespace, request, repeats) for namespace in order}
        return costs[WITH], costs[WITHOUT]

    def _cost(self, namespace, request, repeats):
        """The API server's processor time for each request, and the times until the answers."""
        requests = [request() for _ in range(repeats)]
        used, walls = self._used(), []
        for method, path, value in requests:
            started = time.monotonic()
            self._send(namespace, method, path, value)
            walls.append(time.monotonic() - started)
        return Cost((self._used() - used) / repeats, walls)

    def _send(self, namespace, method, path, value):
        if method == "POST":
            value["metadata"]["namespace"] = namespace
        kind = MERGE_PATCH if method == "PATCH" else "application/json"
        self._admin.call(method, pods_of(namespace) + path, value, kind)


def row(count, title, pairs):
    """(the row's text, its ratio)"""
    used = [sum(cost.processor for cost in side) for side in zip(*pairs)]
    took = [statistics.median(wall for cost in side for wall in cost.walls) for side in zip(*pairs)]
    ratio = used[0] / max(used[1], 1e-9)
    each = [1000 * seconds / len(pairs) for seconds in used] + [1000 * seconds for seconds in took]
    return f"| {count} | {title} | {ratio:.2f} | " + " | ".join(f"{ms:.1f}" for ms in each) + " |", ratio


def measure(plane, arguments):
    """(the ratios that the verdict uses, the lines of the table); each line is printed when it is
    measured. A refused request counts as an infinite ratio."""
    bench = Bench(plane, arguments.policy)
    ratios, lines = [], []

    def say(line):
        lines.append(line)
        print(line, flush=True)
    say(HEADING)
    for count in arguments.annotations:
        try:
            for title, pairs in bench.rows(count, arguments.rounds):
                text, ratio = row(count, title, pairs)
                say(text)
                if title in JUDGED:
                    ratios.append(ratio)
        except (ApiError, OSError) as error:
            say(f"| {count} | {error} | | | | |")
            ratios.append(float("inf"))
    return ratios, lines


def page(lines, verdict):
    command = shlex.join(["bench/e2e/admission.py", *sys.argv[1:]])
    table = "\n".join(lines)
    heading = report.heading("What the admission policies cost the API server", command)
    return f"{heading} The ratio is of processor time.\n\n{table}\n\n{verdict}\n"


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--annotations", type=int, nargs="+", default=[0, 5000, 20000, 60000])
    parser.add_argument("--policy", action="append", metavar="FILE",
                        help="a file with policies; default: those of the dedicated shape")
    parser.add_argument("--record", action="store_true", help="write bench/results/admission.md")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    arguments.policy = [str(pathlib.Path(name).resolve()) for name in arguments.policy or []] or [
        "admission-policy.yaml", "admission-dedicated.yaml", "admission-pods.yaml", "admission-devices.yaml"]
    with measured_plane() as plane:
        ratios, lines = measure(plane, arguments)
    worst = max(ratios)
    good = worst <= MOST_RATIO
    verdict = (f"{'PASS' if good else 'FAIL'}: with the policies a status patch, or storing a pod, costs the API server "
               f"up to {worst:.2f} times as much; it may be at most {MOST_RATIO:.2f} times.")
    print(verdict)
    if arguments.record:
        RESULTS.write_text(page(lines, verdict))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
