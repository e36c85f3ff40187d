#!/usr/bin/env python3
"""What many pods that wait for one reason cost the API server in events.

    bench/e2e/pending_events.py [--pods 2000] [--nodes 10] [--minutes 10]

Fills all GPUs, posts the pods, and counts for some minutes at the API server's audit log what Snug and
kube-scheduler write, while a bound pod is changed every ten seconds, so that kube-scheduler tries the
waiting pods again and again. Prints one row for each minute, and each criterion that is not met; exit
code 1 if there is one:
- Every pod that kube-scheduler has tried has its event GpuRefused as soon as Snug's rate of events
  allows it.
- No pod has more than one in ten minutes, and no event is dropped.
- kube-scheduler writes the status of each pod about once.
"""

import argparse
import bisect
import collections
import datetime
import itertools
import sys
import time

from measured_plane import ROOT, measured_plane
from load import OWN_POD
from harness.controlplane import EXTENDER_USER, SCHEDULER_USER
from harness.extender import Extender
from harness.objects import gpu_node, share
from harness.processes import wait_until
from harness.scenario import NODES, PODS, Session

POSTERS = 16
EVENTS_PER_S = 50  # pod_events_per_s of docs/reference/limits.md
# kube-scheduler's default of 50 would limit how many pods it tries.
SCHEDULER_CALLS_PER_S = 100
TOUCH_S = 10
REPEAT_S = 595  # refusal_event_repeat_ms, less what an event may wait until it is written
RATE_MARGIN = 0.95  # of the rate, which repeated calls use too
# A condition may change while the pods are posted, and a call may be repeated.
PATCHES_PER_POD = 1.1
MORE_PATCHES = 100


def refusal_times(plane):
    """uid -> when its events GpuRefused were made, sorted."""
    times = collections.defaultdict(list)
    token = ""
    while True:
        page = plane.admin.get(f"/apis/events.k8s.io/v1/events?limit=5000&continue={token}")
        for event in page["items"]:
            if (event["reportingController"], event["reason"]) == ("snug.dev/extender", "GpuRefused"):
                time_of = datetime.datetime.fromisoformat(event["eventTime"])
                bisect.insort(times[event["regarding"].get("uid")], time_of)
        token = page["metadata"].get("continue", "")
        if not token:
            return times


class DueEvents:
    """How many pods must have an event. Each minute adds as many as the rate allows, of the pods that
    kube-scheduler had tried a minute before."""

    def __init__(self, pods):
        self.pods = pods
        self.due = 0
        self.tried = 0
        self.seconds = 0.0

    def at(self, seconds, patches):
        """The number `seconds` after the first pod was posted. `patches`: of pods/status until now."""
        allowed = RATE_MARGIN * EVENTS_PER_S * (seconds - self.seconds)
        self.due = min(self.tried, int(self.due + allowed))
        self.tried = min(self.pods, int(patches / PATCHES_PER_POD))
        self.seconds = seconds
        return self.due


def unmet(arguments, due, refused, dropped, patches):
    """The criteria that are not met. `due`: how many pods must have an event. `refused`: as
    refusal_times() returns it."""
    gaps = [(later - earlier).total_seconds() for times in refused.values()
            for earlier, later in itertools.pairwise(times)]
    most_patches = PATCHES_PER_POD * arguments.pods + MORE_PATCHES
    sentences = []
    if len(refused) < due:
        sentences.append(f"{len(refused)} pods have an event GpuRefused; expected at least {due}")
    if min(gaps, default=REPEAT_S) < REPEAT_S:
        sentences.append(f"a pod has two events GpuRefused within {min(gaps):.0f} s; expected at most "
                         "one in ten minutes")
    if dropped > 0:
        sentences.append(f"{dropped:.0f} events were dropped; expected none")
    if patches > most_patches:
        sentences.append(f"{patches} patches of pods/status; expected at most {most_patches:.0f}")
    return sentences


def measure(plane, arguments):
    """The criteria that were not met, each with its minute."""
    session = Session(plane)
    session.make_own_pod(OWN_POD)
    nodes = [gpu_node(f"node-{number:04}", 8) for number in range(arguments.nodes)]
    plane.admin.create_all(NODES, nodes)
    extender = Extender(plane, session.extender_kubeconfig,
                        {"policy": ROOT / "policies/best-fit.yaml",
                         "kubernetes-minor": plane.minor},
                        {"POD_NAME": OWN_POD, "POD_NAMESPACE": "snug"})
    extender.start()
    scheduler = session.schedulers.start(extender_port=extender.port, qps=SCHEDULER_CALLS_PER_S)
    try:
        plane.admin.create_all(PODS, [share(f"holder-{number:04}", "8")
                                      for number in range(arguments.nodes)])
        wait_until("all GPUs are held", lambda: sum(
            row["state"] == "bound" for row in extender.pods()) == arguments.nodes, 60)
        mark = plane.audit.mark()
        started = time.monotonic()
        plane.admin.create_all(PODS, (share(f"wait-{number:06}", "0.5")
                                      for number in range(arguments.pods)), POSTERS)
        print(f"{arguments.pods} pods posted in {time.monotonic() - started:.0f} s")
        print("minute | filter calls | events by Snug | with GpuRefused | most for one pod | dropped "
              "| pods/status by kube-scheduler")
        problems = []
        due_events = DueEvents(arguments.pods)
        own, others = collections.Counter(), collections.Counter()
        for minute in range(1, arguments.minutes + 1):
            while time.monotonic() < started + 60 * minute:
                plane.admin.patch(f"{PODS}/holder-0000", {"metadata": {
                    "labels": {"touched": str(int(time.monotonic()))}}})
                time.sleep(TOUCH_S)
            seconds = time.monotonic() - started
            entries, mark = plane.audit.read_since(mark)
            own += plane.audit.calls_of(entries, EXTENDER_USER)
            others += plane.audit.calls_of(entries, SCHEDULER_USER)
            refused = refusal_times(plane)
            most = max(map(len, refused.values()), default=0)
            patches = others["patch pods/status"]
            filters = extender.metric("snug_verb_total", verb="filter", result="ok")
            dropped = extender.metric("snug_events_dropped_total")
            print(f"{minute:6} | {filters:12.0f} | {own['create events']:14} | {len(refused):15} | "
                  f"{most:16} | {dropped:7.0f} | {patches}", flush=True)
            problems += [f"minute {minute}: {sentence}" for sentence in
                         unmet(arguments, due_events.at(seconds, patches), refused, dropped, patches)]
        return problems
    finally:
        scheduler.stop()
        extender.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pods", type=int, default=2000)
    parser.add_argument("--nodes", type=int, default=10)
    parser.add_argument("--minutes", type=int, default=10)
    arguments = parser.parse_args()
    with measured_plane(audited=True) as plane:
        problems = measure(plane, arguments)
    for problem in problems:
        print(f"not met: {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
