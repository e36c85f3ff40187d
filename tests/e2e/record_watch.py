#!/usr/bin/env python3
"""Records the samples of tests/contract/watch: the same watch events of a real API server on both wires.

  python3 tests/e2e/record_watch.py
"""

import pathlib

from harness.controlplane import ControlPlane, build_programs
from harness.processes import wait_until

TARGET = pathlib.Path(__file__).resolve().parents[1] / "contract/watch"
PODS = "/api/v1/namespaces/default/pods"
WIRES = {"pods.json": "application/json", "pods.pb": "application/vnd.kubernetes.protobuf;stream=watch"}
SECONDS = "&timeoutSeconds=2"

PREFERRED = [{"weight": 1, "preference": {"matchExpressions": [{"key": "zone", "operator": "Exists"}]}}]
LABELS = {"app": "train"}


ANTI_AFFINITY = [{"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": LABELS}}]


def gpus(count):
    return {"limits": {"nvidia.com/gpu": count, "cpu": "1"}, "requests": {"cpu": "500m", "memory": "1Gi"}}


def amounts(cpu, memory):
    return {"requests": {"cpu": cpu, "memory": memory}}


def pod(name, annotations, **spec):
    return {"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "labels": LABELS, "annotations": annotations},
            "spec": {"containers": [{"name": "main", "image": "x", "resources": gpus("2")}], **spec}}


RICH = pod(
    "train-0",
    {"gpu-fraction": "0.25", "gpu-memory.side": "4G", "snug.dev/note": "ä ☃ 😀 \"\\\n\t\u0001<&>\u2028\x7f",
     "kubectl.kubernetes.io/default-container": "main", "other": "ignored but counted", "empty": ""},
    schedulerName="snug", priorityClassName="low",
    initContainers=[{"name": "fetch", "image": "x", "resources": amounts("2", "128974848000m")},
                    {"name": "side", "image": "x", "restartPolicy": "Always", "resources": gpus("1")}],
    affinity={"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": PREFERRED}})
SPREAD = pod("spread", {}, topologySpreadConstraints=[
    {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway",
     "labelSelector": {"matchLabels": LABELS}}])
HARD = pod("hard", {"note": "none"}, topologySpreadConstraints=[
    {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule",
     "labelSelector": {"matchLabels": LABELS}}])
# Each has one thing that ties it to what is on its node, and the last nothing.
TIES = {
    "host-port": {"containers": [{"name": "main", "image": "x", "ports": [{"containerPort": 80, "hostPort": 8080}]}]},
    "claim": {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]},
    "ephemeral": {"volumes": [{"name": "data", "ephemeral": {"volumeClaimTemplate": {"spec": {
        "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}}}]},
    "device": {"resourceClaims": [{"name": "nic", "resourceClaimName": "nic"}]},
    "apart": {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": ANTI_AFFINITY}}},
    "disk": {"containers": [{"name": "main", "image": "x",
                             "resources": {"limits": {"ephemeral-storage": "1Gi", "memory": "1.5Gi"}}}]},
    "free": {"volumes": [{"name": "data", "emptyDir": {}}],
             "containers": [{"name": "main", "image": "x", "ports": [{"containerPort": 80}]}]},
}
POD_LEVEL = pod("pod-level", {}, runtimeClassName="boxed",
                resources={"requests": {"cpu": "3"}, "limits": {"cpu": "4", "memory": "8Gi"}})


def make_events(api):
    """Pods of every kind, bound, ended, terminating and gone."""
    api.create("/apis/scheduling.k8s.io/v1/priorityclasses",
               {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "low"},
                "value": -5})
    api.create("/apis/node.k8s.io/v1/runtimeclasses",
               {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "boxed"},
                "handler": "boxed", "overhead": {"podFixed": {"cpu": "250m", "memory": "120Mi"}}})
    api.create("/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}})
    for value in (RICH, SPREAD, HARD):
        api.create(PODS, value)
    for value in (POD_LEVEL, *(pod(name, {}, **spec) for name, spec in TIES.items())):
        api.create(PODS, value)
    api.patch(f"{PODS}/spread/status", {"status": {"nominatedNodeName": "n1"}})
    for name in ("train-0", "hard"):
        api.create(f"{PODS}/{name}/binding",
                   {"apiVersion": "v1", "kind": "Binding",
                    "metadata": {"name": name, "annotations": {"snug.dev/reservation": "{}"}},
                    "target": {"apiVersion": "v1", "kind": "Node", "name": "n1"}})
    api.patch(f"{PODS}/hard/status", {"status": {"phase": "Succeeded"}})
    api.call("DELETE", f"{PODS}/train-0")  # with its grace period: it is only marked
    api.delete(f"{PODS}/hard")


def stream(api, query, accept):
    connection = api.connect()
    connection.request("GET", f"{PODS}?watch=1{query}", headers={"Accept": accept})
    answer = connection.getresponse()
    print(f"{answer.status} {answer.headers['Content-Type']} {query}")
    return answer.read()


class Recorder(ControlPlane):
    """A control plane whose API server can forget what it has cached."""

    def _start_etcd(self):
        self._etcd = super()._start_etcd()
        return self._etcd

    def restart_api_server(self):
        self.processes.pop().stop()
        self._start_api_server(self._etcd)
        wait_until("the API server is ready again", self._ready, 60)


def main():
    plane = Recorder(build_programs(), deployed=(), audited=False)
    bytes_of = dict.fromkeys(WIRES, b"")

    def record(query):
        for name, accept in WIRES.items():
            bytes_of[name] += stream(plane.admin, query, accept)

    try:
        plane.start()
        first = plane.admin.get(PODS)["metadata"]["resourceVersion"]
        make_events(plane.admin)
        record(f"&resourceVersion={first}{SECONDS}")
        record(f"&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true{SECONDS}")
        plane.restart_api_server()
        record(f"&resourceVersion={first}{SECONDS}")  # expired
    finally:
        plane.stop()
    for name, data in bytes_of.items():
        (TARGET / name).write_bytes(data)


if __name__ == "__main__":
    main()
