"""Nodes and pods as the scenarios write them. Plain dictionaries, nothing defaulted away."""

import itertools
import json
import string
import uuid

A100 = "NVIDIA-A100-SXM4-40GB"
A100_MIB = 40960
# A node like AWS's p4d.24xlarge.
P4D_GPUS = 8
P4D = {"cpu": "96", "memory": "1152Gi"}
HOSTNAME = "kubernetes.io/hostname"
ANNOTATION_BYTES = 256 * 1024  # what an object may have of them, keys and values


def gpu_uuid(node, index):
    return f"GPU-{uuid.uuid5(uuid.NAMESPACE_DNS, f'{node}/{index}')}"


def inventory(node, gpus, memory_mib, model):
    return {"version": 1, "gpus": [
        {"index": index, "uuid": gpu_uuid(node, index), "model": model, "memoryMiB": memory_mib,
         "healthy": True} for index in range(gpus)]}


def pairs(*linked, gpus=4):
    """The matrix `links` of an inventory in which only these pairs have NVLinks."""
    matrix = [[0] * gpus for _ in range(gpus)]
    for one, other in linked:
        matrix[one][other] = matrix[other][one] = 12
    return matrix


def bare_node(name, labels=None, annotations=None, capacity=None):
    resources = {"cpu": "96", "memory": "512Gi", "pods": "250", **(capacity or {})}
    return {
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": {HOSTNAME: name, **(labels or {})},
                     "annotations": annotations or {}},
        "status": {"capacity": resources, "allocatable": resources,
                   "conditions": [{"type": "Ready", "status": "True", "reason": "e2e"}]},
    }


def with_inventory(node, value):
    """Writes the annotation of a node, in its dictionary."""
    text = json.dumps(value, separators=(",", ":"))
    node["metadata"].setdefault("annotations", {})["snug.dev/inventory"] = text
    return node


def gpu_node(name, gpus=8, *, memory_mib=A100_MIB, model=A100, labels=None, kubelet=False,
             capacity=None, links=None, modes=None):
    """A node with an inventory annotation; `kubelet`: its device plug-in offers the GPUs too."""
    value = inventory(name, gpus, memory_mib, model)
    if links:
        value["links"] = links
    if modes:
        for gpu in value["gpus"]:
            gpu["modes"] = modes
    offered = {"nvidia.com/gpu": str(gpus)} if kubelet else {}
    return with_inventory(bare_node(name, labels, None, {**offered, **(capacity or {})}), value)


def labelled_node(name, gpus=4, *, memory_mib=A100_MIB, model=A100, replicas=1,
                  resource="nvidia.com/gpu"):
    """A node as GPU Feature Discovery and the device plug-in leave it; the plug-in offers each GPU
    `replicas` times, under that name."""
    labels = {"nvidia.com/gpu.product": model, "nvidia.com/gpu.count": str(gpus),
              "nvidia.com/gpu.memory": str(memory_mib), "nvidia.com/gpu.replicas": str(replicas)}
    if replicas > 1:
        labels["nvidia.com/gpu.sharing-strategy"] = "time-slicing"
        if resource == "nvidia.com/gpu":
            labels["nvidia.com/gpu.product"] += "-SHARED"
    return bare_node(name, labels, None, {resource: str(gpus * replicas)})


def pod(name, annotations=None, *, limits=None, node_selector=None, affinity=None,
        scheduler="snug", namespace="default", labels=None, cpu="10m", priority=None, grace=0,
        containers=("main",), init=()):
    """A pod of one container, `main`, or of `containers`, and of `init`: names of plain init
    containers, with a `+` in front of those that are sidecars. The first has the pod's limits and
    all of its CPU. `priority`: a PriorityClass; `grace`: seconds until a kubelet would kill it;
    `scheduler`: None if the pod does not say."""
    spec = {
        **({"schedulerName": scheduler} if scheduler else {}),
        "terminationGracePeriodSeconds": grace,
        "containers": [{"name": each, "image": "busy", "resources": {
            "requests": {"cpu": cpu} if each == containers[0] and cpu != "0" else {},
            "limits": (limits or {}) if each == containers[0] else {}}} for each in containers],
    }
    if init:
        spec["initContainers"] = [
            {"name": each.lstrip("+"), "image": "busy",
             **({"restartPolicy": "Always"} if each.startswith("+") else {})} for each in init]
    if priority:
        spec["priorityClassName"] = priority
    if node_selector:
        spec["nodeSelector"] = node_selector
    if affinity:
        spec["affinity"] = affinity
    return {"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": namespace, "annotations": annotations or {},
                         "labels": labels or {}},
            "spec": spec}


def share(name, fraction, **options):
    return pod(name, {"gpu-fraction": fraction}, **options)


def kubelet_pod(name, count=1, **options):
    return pod(name, limits={"nvidia.com/gpu": str(count)}, **options)


def on_node(name):
    return {"node_selector": {HOSTNAME: name}}


def prefers_node(name):
    return {"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
        {"weight": 100, "preference": {"matchExpressions": [
            {"key": HOSTNAME, "operator": "In", "values": [name]}]}}]}}}


def many_annotations(count, size=ANNOTATION_BYTES, fill="v"):
    """`count` annotations, of at most `size` bytes in total; `fill`: a letter for their values."""
    length = next(each for each in itertools.count(1) if len(string.ascii_letters) ** each >= count)
    keys = itertools.islice(itertools.product(string.ascii_letters, repeat=length), count)
    return {"".join(key): fill * (size // count - length) for key in keys}
