"""Clusters for the dashboard's tests, pictures and benchmark, as files of the embedded mode. All pods
are bound, with reservations, so that nothing must be placed first."""

import json
import random

CARDS = {"A100": ("NVIDIA-A100-SXM4-80GB", 81920), "H100": ("NVIDIA-H100-80GB-HBM3", 81559),
         "L40S": ("NVIDIA-L40S", 46068), "T4": ("Tesla-T4", 16384), "A100-40": ("NVIDIA-A100-SXM4-40GB", 40960)}
NAMESPACES = ("research", "serving", "vision", "speech", "search", "ads", "notebooks", "batch", "team-a", "team-b")


def gpu(node, index, card, **more):
    model, memory = CARDS[card]
    return {"index": index, "uuid": f"GPU-{node}-{index}", "model": model, "memoryMiB": memory, "healthy": True, **more}


def node(name, gpus=None, labels=None, capacity=None, inventory=None, agent=None):
    """agent: what an agent says of itself in the inventory."""
    annotations = {}
    if gpus is not None:
        annotations["snug.dev/inventory"] = json.dumps({"version": 1, "dynamicMig": True, **(agent or {}), "gpus": gpus})
    if inventory is not None:
        annotations["snug.dev/inventory"] = inventory
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "annotations": annotations, "labels": labels or {}},
            "status": {"capacity": capacity or {}, "allocatable": capacity or {}}}


def pod(name, namespace="team", annotations=None, on=None, limits=None):
    return {"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": namespace, "uid": f"uid-{namespace}-{name}", "annotations": annotations or {}},
            "spec": {**({"nodeName": on} if on else {}),
                     "containers": [{"name": "main", **({"resources": {"limits": limits}} if limits else {})}]},
            "status": {"phase": "Running" if on else "Pending"}}


def holder(name, on, devices, request, namespace="team"):
    """A bound pod with a reservation. devices: [(GPU of the node, milli-GPU or MIG slice)]."""
    key, value = request
    made = pod(name, namespace, {key: value}, on)
    rows = []
    for card, part in devices:
        if isinstance(part, dict):
            amounts = {"mode": "mig", "mig": {name: part[name] for name in ("profile", "start", "size")},
                       "memoryMiB": part["memoryMiB"], "computeMilli": part["computeMilli"]}
        else:
            amounts = {"mode": "whole" if part == 1000 else "time-slicing",
                       "memoryMiB": part * card["memoryMiB"] // 1000, "computeMilli": part}
        rows.append({"index": card["index"], "uuid": card["uuid"], **amounts})
    made["metadata"]["annotations"]["snug.dev/reservation"] = json.dumps(
        {"version": 1, "uid": made["metadata"]["uid"], "node": on,
         "containers": [{"name": "main", "request": f"{key}={value}", "devices": rows}]})
    return made


def share(name, on, card, milli, namespace="team"):
    text = "1" if milli == 1000 else f"0.{milli:03d}".rstrip("0")
    return holder(name, on, [(card, milli)], ("gpu-fraction", text), namespace)


SLICES = {"1g.5gb": (1, 4864, 142), "2g.10gb": (2, 9856, 285), "3g.20gb": (4, 19968, 428)}


def piece(profile, start):
    size, memory, milli = SLICES[profile]
    return {"profile": profile, "start": start, "size": size, "memoryMiB": memory, "computeMilli": milli}


def mixed():
    """A small cluster with a node of every kind."""
    big = [gpu("a100", i, "A100") for i in range(8)]
    instances = [{**{key: piece("1g.5gb", 6)[key] for key in ("profile", "start", "size")}, "uuid": "MIG-spare"}]
    slices = [gpu("mig", 0, "A100-40", mig=True, migInstances=instances), gpu("mig", 1, "A100-40", mig=True)]
    small = [gpu("t4", 0, "T4"), gpu("t4", 1, "T4", healthy=False)]
    items = [
        node("a100", big), node("mig", slices), node("t4", small),
        node("empty", [gpu("empty", 0, "L40S"), gpu("empty", 1, "L40S")], agent={"enforcement": "fail-closed", "limits": "driver"}),
        node("kubelet", [gpu("kubelet", 0, "H100"), gpu("kubelet", 1, "H100")], {"snug.dev/pool": "whole"}, {"nvidia.com/gpu": "2"}),
        node("broken", inventory='{"version":1,"gpus":"many"}'), node("cpu-only"),
        pod("trainer", "batch", on="kubelet", limits={"nvidia.com/gpu": "1"}),
        holder("slice-a", "mig", [(slices[0], piece("3g.20gb", 0))], ("gpu-mig-profile", "3g.20gb"), "vision"),
        holder("slice-b", "mig", [(slices[0], piece("2g.10gb", 4))], ("gpu-mig-profile", "2g.10gb"), "vision"),
        holder("slice-c", "mig", [(slices[1], piece("1g.5gb", 3))], ("gpu-mig-profile", "1g.5gb"), "speech"),
        holder("two", "a100", [(big[2], 1000), (big[3], 1000)], ("gpu-fraction", "2"), "research"),
        share("whole", "a100", big[4], 1000, "research"), share("eighth", "t4", small[0], 125, "notebooks"),
    ]
    for index, parts in ((0, (250, 500, 250)), (1, (100,) * 9), (5, (300, 200))):
        items += [share(f"pod-{index}-{i}", "a100", big[index], part, NAMESPACES[(index + i) % 10]) for i, part in enumerate(parts)]
    return items


def large(nodes, seed=1, cards=("A100", "H100", "L40S", "T4"), gpus=8):
    """Nodes with shares, whole GPUs and free ones, and a few unhealthy ones."""
    chance = random.Random(seed)
    items, pods = [], []
    for n in range(nodes):
        name = f"gpu-{n:04d}"
        kind = cards[n % len(cards)]
        mig = kind == "A100" and n % 12 == 0
        rows = [gpu(name, i, kind, healthy=chance.random() > 0.004) for i in range(gpus)]
        if mig:
            rows = [gpu(name, i, "A100-40", mig=True) for i in range(gpus)]
        items.append(node(name, rows))
        for card in rows:
            pods += _pods_on(chance, name, card, len(pods))
    return items + pods


def _pods_on(chance, name, card, number):
    if not card["healthy"] or chance.random() < 0.12:
        return []
    names = ("notebook", "train", "serve", "eval", "embed")
    if card.get("mig"):
        parts = chance.choice([[("3g.20gb", 0), ("2g.10gb", 4)], [("2g.10gb", 0), ("1g.5gb", 3), ("3g.20gb", 4)],
                               [("1g.5gb", i) for i in (0, 1, 2, 5, 6)], [("3g.20gb", 4)]])
        return [holder(f"{chance.choice(names)}-{number + i}", name, [(card, piece(*part))], ("gpu-mig-profile", part[0]),
                       chance.choice(NAMESPACES)) for i, part in enumerate(parts)]
    if chance.random() < 0.3:
        return [share(f"train-{number}", name, card, 1000, chance.choice(NAMESPACES))]
    found, left = [], 1000
    while left >= 100 and chance.random() < 0.88:
        part = min(left, chance.choice([100, 125, 200, 250, 250, 300, 500]))
        found.append(share(f"{chance.choice(names)}-{number + len(found)}", name, card, part, chance.choice(NAMESPACES)))
        left -= part
    return found


def write(items, path):
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}), encoding="utf-8")
    return path
