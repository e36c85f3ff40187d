#!/usr/bin/env python3
"""What many pods that wait for one reason cost the API server in events.

    bench/e2e/pending_events.py [--pods 2000] [--nodes 10] [--minutes 10]

Fills all GPUs, posts the pods, and counts for some minutes at the API server's audit log what Snug and
kube-scheduler write, while a bound pod is changed every ten seconds, so that kube-scheduler tries the
waiting pods again and again. Prints one row for each minute. Exit code 1 if a pod has more than one
event GpuRefused in ten minutes.
"""

import argparse
import collections
import sys
import time

from measured_plane import ROOT, measured_plane
from harness.controlplane import EXTENDER_USER, SCHEDULER_USER
from harness.extender import Extender
from harness.objects import gpu_node, share
from harness.processes import wait_until
from harness.scenario import NODES, PODS, Session

OWN_POD = "snug-0"
POSTERS = 16


def snug_events(plane):
    """(uid, reason) -> number of Snug's events about pods."""
    counts = collections.Counter()
    token = ""
    while True:
        page = plane.admin.get(f"/apis/events.k8s.io/v1/events?limit=5000&continue={token}")
        for event in page["items"]:
            if event["reportingController"] == "snug.dev/extender":
                counts[event["regarding"].get("uid"), event["reason"]] += 1
        token = page["metadata"].get("continue", "")
        if not token:
            return counts


def measure(plane, arguments):
    session = Session(plane)
    session.make_own_pod(OWN_POD)
    nodes = [gpu_node(f"node-{number:04}", 8) for number in range(arguments.nodes)]
    plane.admin.create_all(NODES, nodes)
    extender = Extender(plane, session.extender_kubeconfig,
                        {"policy": ROOT / "policies/best-fit.yaml",
                         "kubernetes-minor": plane.minor},
                        {"POD_NAME": OWN_POD, "POD_NAMESPACE": "snug"})
    extender.start()
    scheduler = session.schedulers.start(extender_port=extender.port)
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
        most = 0
        for minute in range(1, arguments.minutes + 1):
            while time.monotonic() < started + 60 * minute:
                plane.admin.patch(f"{PODS}/holder-0000", {"metadata": {
                    "labels": {"touched": str(int(time.monotonic()))}}})
                time.sleep(10)
            events = snug_events(plane)
            refused = [count for key, count in events.items() if key[1] == "GpuRefused"]
            most = max(refused, default=0)
            own = plane.audit.calls_since(mark, EXTENDER_USER)
            theirs = plane.audit.calls_since(mark, SCHEDULER_USER)
            filters = extender.metric("snug_verb_total", verb="filter", result="ok")
            dropped = extender.metric("snug_events_dropped_total")
            print(f"{minute:6} | {filters:12.0f} | {own['create events']:14} | {len(refused):15} | "
                  f"{most:16} | {dropped:7.0f} | {theirs['patch pods/status']}", flush=True)
        return most
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
        most = measure(plane, arguments)
    # Two of ten minutes apart may both be seen after more than ten.
    return 0 if most <= 1 + (arguments.minutes - 1) // 10 else 1


if __name__ == "__main__":
    sys.exit(main())
