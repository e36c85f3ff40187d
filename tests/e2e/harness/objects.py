"""Nodes and pods as the scenarios write them. Plain dictionaries, nothing defaulted away."""

import json
import uuid

A100 = "NVIDIA-A100-SXM4-40GB"
A100_MIB = 40960
HOSTNAME = "kubernetes.io/hostname"


def gpu_uuid(node, index):
    return f"GPU-{uuid.uuid5(uuid.NAMESPACE_DNS, f'{node}/{index}')}"


def inventory(node, gpus, memory_mib, model):
    return {"version": 1, "gpus": [
        {"index": index, "uuid": gpu_uuid(node, index), "model": model, "memoryMiB": memory_mib,
         "healthy": True} for index in range(gpus)]}


def bare_node(name, labels=None, annotations=None, capacity=None):
    resources = {"cpu": "96", "memory": "512Gi", "pods": "250", **(capacity or {})}
    return {
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": {HOSTNAME: name, **(labels or {})},
                     "annotations": annotations or {}},
        "status": {"capacity": resources, "allocatable": resources,
                   "conditions": [{"type": "Ready", "status": "True", "reason": "e2e"}]},
    }


def gpu_node(name, gpus=8, *, memory_mib=A100_MIB, model=A100, labels=None, kubelet=False):
    """A node with an inventory annotation; `kubelet`: its device plug-in offers the GPUs too."""
    text = json.dumps(inventory(name, gpus, memory_mib, model), separators=(",", ":"))
    return bare_node(name, labels, {"snug.dev/inventory": text},
                     {"nvidia.com/gpu": str(gpus)} if kubelet else None)


def labelled_node(name, gpus=4, *, memory_mib=A100_MIB, model=A100):
    """A node as GPU Feature Discovery and the device plug-in leave it."""
    labels = {"nvidia.com/gpu.product": model, "nvidia.com/gpu.count": str(gpus),
              "nvidia.com/gpu.memory": str(memory_mib), "nvidia.com/gpu.replicas": "1"}
    return bare_node(name, labels, None, {"nvidia.com/gpu": str(gpus)})


def pod(name, annotations=None, *, limits=None, node_selector=None, affinity=None,
        scheduler="snug", namespace="default"):
    """A pod of one container, `main`."""
    spec = {
        "schedulerName": scheduler,
        "terminationGracePeriodSeconds": 0,
        "containers": [{"name": "main", "image": "busy", "resources": {
            "requests": {"cpu": "10m"}, "limits": limits or {}}}],
    }
    if node_selector:
        spec["nodeSelector"] = node_selector
    if affinity:
        spec["affinity"] = affinity
    return {"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": namespace, "annotations": annotations or {}},
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
