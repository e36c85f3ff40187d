#!/usr/bin/env python3
"""What each way of giving pods their defaults adds to the creation of a pod.

    bench/e2e/admission_defaults.py [--rounds 40] [--batch 25] [--policies [NAME=]FILE]... [--record]

The ways are the rows of `ways()`. Each is in force in a namespace of its own, so all of them are measured
on one API server at the same time: each round sends a batch of each pod to each namespace, and each round
begins with another one. Only etcd, kube-apiserver and snug-extender ($SNUG_EXTENDER, build/dev by default)
run, and nothing is stored (dryRun). Other load of the machine changes the processor time of kube-apiserver
much less than the time to the answer. `--policies` measures other files than deploy/'s, for example an
older version. Exit code 1 if the median time to the answer for a pod of one container that asks for GPUs is
more than 5 ms longer than without any way.
"""

import argparse
import collections
import pathlib
import shlex
import statistics
import sys
import time

import admission
import report
from measured_plane import ROOT, measured_plane
from harness import manifests
from harness.api import ApiError
from harness.extender import Extender
from harness.mirror import MILLI, serve_parameters
from harness.objects import pod
from harness.processes import wait_until
from harness.scenario import pods_of

RESULTS = ROOT / "bench/results/admission-defaults.md"
POLICIES = "admission-gpu-pods.yaml"
WEBHOOK = "admission-webhook.yaml"
JUDGED = "asks for GPUs"
MOST_MS = 5.0
CARDS = {"smallestMib": 16384, "largestMib": 81920}
GPU = {"gpu-fraction": "0.25"}
HEADING = """| way | pod | ms to the answer (p50) | more than without | ms of processor | more than without |
|---|---|---|---|---|---|"""
# `install` puts it in force in the namespace and leaves the others alone. `mirrored`: whether containers
# then get the resources that mirror shares.
Way = collections.namedtuple("Way", ("name", "install", "mirrored"))
WITHOUT = Way("none", None, False)


def ways(files):
    """`files`: (prefix of the names, file) of each set of policies."""
    yield WITHOUT
    for prefix, file in files:
        yield Way(f"{prefix}policies", lambda *where, file=file: apply_policies(
            *where, file, "absent"), False)
        yield Way(f"{prefix}policies-mirrored", lambda *where, file=file: apply_policies(
            *where, file, "snug"), True)
    yield Way("webhook-mirrored", start_webhook, True)


def start_webhook(plane, namespace):
    """A Snug that the API server asks about the pods of the namespace alone."""
    values = manifests.read(WEBHOOK)
    for value in values:
        if "webhooks" not in value:
            manifests.apply_object(plane.admin, value)
    extender = Extender(plane, plane.extender_kubeconfig(), {
        "webhook-listen": "127.0.0.1:0", "scheduler-names": "snug",
        # With others it would delete the parameters that the policies use.
        "smallest-gpu-mib": str(CARDS["smallestMib"]), "largest-gpu-mib": str(CARDS["largestMib"])},
        {"POD_NAME": "", "POD_NAMESPACE": ""})
    extender.start(wait_ready=False)
    for value in values:
        for webhook in value.get("webhooks", []):
            path = webhook["clientConfig"]["service"]["path"]
            webhook["clientConfig"] = {"url": f"https://127.0.0.1:{extender.webhook_port}{path}"}
            webhook["namespaceSelector"] = {"matchLabels": {"kubernetes.io/metadata.name": namespace}}
        if "webhooks" in value:
            manifests.apply_object(plane.admin, value)


def apply_policies(plane, namespace, file, parameters):
    """A copy of the policies that is bound to the namespace alone."""
    for value in manifests.read(file):
        value["metadata"]["name"] += f"-{namespace}"
        spec = value["spec"]
        if value["kind"] == "MutatingAdmissionPolicyBinding":
            spec["policyName"] += f"-{namespace}"
            spec["matchResources"] = {"namespaceSelector": {"matchLabels": {
                "kubernetes.io/metadata.name": namespace}}}
            if "paramRef" in spec:
                spec["paramRef"]["name"] = parameters
        manifests.apply_object(plane.admin, value)


def small_pod(annotations):
    value = pod("measured", annotations, namespace=None)
    del value["spec"]["schedulerName"]
    return value


def pods():
    """Name -> the pod."""
    ordinary = admission.ordinary_pod("measured")
    ordinary["metadata"]["annotations"] = GPU
    return {"asks for nothing": small_pod({}), JUDGED: small_pod(GPU),
            "asks for GPUs, 2 containers with 15 variables": ordinary}


class Bench:
    def __init__(self, plane, rows):
        self._admin = plane.admin
        self._used = plane.cpu_clocks()["kube-apiserver"]
        serve_parameters(self._admin)
        manifests.apply_object(self._admin, {
            "apiVersion": "snug.dev/v1", "kind": "MirrorParameters", "metadata": {"name": "snug"},
            "spec": CARDS})
        self._rows = list(rows)
        for way in self._rows:
            manifests.apply_object(self._admin, {
                "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": way.name}})
            if way.install:
                way.install(plane, way.name)
        for way in self._rows:
            expected = ("snug" if way.install else "default-scheduler", way.mirrored)
            wait_until(f"{way.name} is in force", lambda: self._effect(way) == expected)

    def _effect(self, way):
        """(the scheduler of a pod that asks for a GPU, whether it has the mirrored resources)"""
        try:
            spec = self._create(way, small_pod(GPU))["spec"]
        except ApiError as error:
            if "failed calling webhook" not in error.message:
                raise
            return None  # the API server does not trust its certificate yet
        return spec["schedulerName"], MILLI in spec["containers"][0]["resources"].get("limits", {})

    def _create(self, way, value):
        return self._admin.create(f"{pods_of(way.name)}?dryRun=All", value)

    def rounds(self, count, batch):
        """(way, pod) -> (processor seconds, times to the answers) of each batch"""
        costs = collections.defaultdict(list)
        made = pods()
        for turn in range(count):
            first = turn % len(self._rows)
            for way in self._rows[first:] + self._rows[:first]:
                for title, value in made.items():
                    costs[way.name, title].append(self._batch(way, value, batch))
        return costs

    def _batch(self, way, value, size):
        used, walls = self._used(), []
        for _ in range(size):
            started = time.monotonic()
            self._create(way, value)
            walls.append(time.monotonic() - started)
        return self._used() - used, walls


def table(costs):
    """(the lines of the table, the most that a pod that asks for GPUs waits longer, in ms)"""
    def both(key):
        walls = [wall for _, each in costs[key] for wall in each]
        return 1000 * statistics.median(walls), 1000 * sum(used for used, _ in costs[key]) / len(walls)
    lines, most = [HEADING], 0.0
    for way, title in costs:
        wall, processor = both((way, title))
        wall_0, processor_0 = both((WITHOUT.name, title))
        lines.append(f"| {way} | {title} | {wall:.1f} | {wall - wall_0:+.1f} | {processor:.1f} | "
                     f"{processor - processor_0:+.1f} |")
        if title == JUDGED:
            most = max(most, wall - wall_0)
    return lines, most


def page(lines, verdict):
    command = shlex.join(["bench/e2e/admission_defaults.py", *sys.argv[1:]])
    table_text = "\n".join(lines)
    return (f"{report.heading('What the defaults of GPU pods add to the creation of a pod', command)}\n\n"
            f"{table_text}\n\n{verdict}\n")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--batch", type=int, default=25, help="pods of each kind in a round")
    parser.add_argument("--policies", action="append", metavar="[NAME=]FILE",
                        help=f"measure these policies; default: deploy/{POLICIES}")
    parser.add_argument("--record", action="store_true",
                        help="write bench/results/admission-defaults.md")
    arguments = parser.parse_args()
    named = [text.rpartition("=") for text in arguments.policies or [f"={POLICIES}"]]
    arguments.files = [(name and name + "-", str(manifests.DEPLOY / file) if not name else
                        str(pathlib.Path(file).resolve())) for name, _, file in named]
    return arguments


def main():
    arguments = parse_arguments()
    with measured_plane() as plane:
        bench = Bench(plane, ways(arguments.files))
        bench.rounds(1, arguments.batch)
        lines, most = table(bench.rounds(arguments.rounds, arguments.batch))
    good = most <= MOST_MS
    verdict = (f"{'PASS' if good else 'FAIL'}: a pod that asks for GPUs waits up to {most:.1f} ms longer; it may be "
               f"at most {MOST_MS:.1f} ms.")
    print(*lines, "", verdict, sep="\n")
    if arguments.record:
        RESULTS.write_text(page(lines, verdict))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
