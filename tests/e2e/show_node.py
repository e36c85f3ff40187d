#!/usr/bin/env python3
"""Places the pods of one node of the demo with a real API server and kube-scheduler, and prints what
kubectl says of that node.

    SNUG_EXTENDER=PROGRAM tests/e2e/show_node.py FOLDER     with the programs of the control plane
"""

import re
import sys
from pathlib import Path

import yaml

from harness import manifests
from harness.admission import wait_mirrored
from harness.controlplane import ControlPlane
from harness.extender import Extender
from harness.kubectl import Kubectl
from harness.scheduler import Schedulers

ROOT = Path(__file__).resolve().parents[2]
DEMO = ROOT / "deploy/demo"

NODE, NODE_GPU_MIB = "t4", 16384
# What does not depend on the time.
SHOWN = re.compile(r"^(?:Capacity|Allocated resources):\n(?:  .+\n)+", re.M)


def listed(name):
    return yaml.safe_load((DEMO / name).read_text(encoding="utf-8"))["items"]


def node_and_pods():
    """The node, and the pods that the demo places on it."""
    ends = yaml.safe_load((DEMO / "expected.yaml").read_text(encoding="utf-8"))
    [node] = [each for each in listed("cluster.yaml") if each["metadata"]["name"] == NODE]
    return node, [pod for pod in listed("pods.yaml") if ends[pod["metadata"]["name"]].get("node") == NODE]


def start_snug(plane):
    """With the admission policies and the resources that mirror shares."""
    for name in ("mirror-parameters.yaml", "admission-gpu-pods.yaml"):
        manifests.apply(plane.admin, name)
    extender = Extender(plane, plane.extender_kubeconfig(), {
        "policy": ROOT / "policies/tight.yaml", "smallest-gpu-mib": str(NODE_GPU_MIB),
        "largest-gpu-mib": str(NODE_GPU_MIB)}, {"POD_NAME": "", "POD_NAMESPACE": ""})
    extender.start()
    Schedulers(plane).start(extender_port=extender.port)


def show(plane):
    kubectl = Kubectl(plane)
    node, pods = node_and_pods()
    start_snug(plane)
    print(kubectl.must("apply", "-f", "-", manifest=node), end="")
    wait_mirrored(plane.admin)
    print(kubectl.must("apply", "-f", "-", manifest={"apiVersion": "v1", "kind": "List", "items": pods}), end="")
    kubectl.must("wait", "--for=condition=PodScheduled", "pod", "--all", "--timeout=50s")
    print(f"\n$ kubectl describe node {NODE}\n…")
    print("…\n".join(SHOWN.findall(kubectl.must("describe", "node", NODE))), end="")


def run(programs):
    plane = ControlPlane(programs, audited=False)
    try:
        plane.start()
        show(plane)
    finally:
        plane.stop()


if __name__ == "__main__":
    run(sys.argv[1])
