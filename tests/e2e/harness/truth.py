"""What is taken on each GPU by the API server's word alone, added up here and not by Snug.

From the inventories of the nodes and the reservations of the bound pods. problems() says what must
never be; ledger_of() brings the extender's own state into the same form, which must be equal: every
GPU with its size, its mode and its holders, the kubelet's units, and each pod's standing.
"""

import collections
import json
import re

RESERVATION = "snug.dev/reservation"
GPU = "nvidia.com/gpu"
REQUESTS = ("gpu-fraction", "gpu-memory")
# How a bound pod stands in the ledger.
RESERVED, COUNTED, UNPLACED = "reserved", "counted", "unplaced"
_SUFFIXES = {"": 2**20, "k": 10**3, "M": 10**6, "G": 10**9, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30}

# What one container has of one GPU.
Use = collections.namedtuple("Use", "namespace pod uid container memory_mib milli")
# What a kubelet gives one container.
Count = collections.namedtuple("Count", "namespace pod uid container resource count")


def is_bound(pod):
    return bool(pod["spec"].get("nodeName")) and pod["status"].get("phase") not in (
        "Succeeded", "Failed")


def annotations(pod):
    return pod["metadata"].get("annotations") or {}


def reservation(pod):
    text = annotations(pod).get(RESERVATION)
    return json.loads(text) if text else None


def kubelet_units(container):
    return int(container["resources"].get("limits", {}).get(GPU, "0"))


def asks_kubelet(pod):
    """A limit of 0 asks for nothing."""
    return any(map(kubelet_units, pod["spec"]["containers"]))


def memory_of_gpus(node):
    """GPU index -> MiB."""
    metadata = node["metadata"]
    text = (metadata.get("annotations") or {}).get("snug.dev/inventory")
    if text:
        return {gpu["index"]: gpu["memoryMiB"] for gpu in json.loads(text)["gpus"]}
    labels = metadata.get("labels", {})
    count = int(labels.get("nvidia.com/gpu.count", "0"))
    return {index: int(labels["nvidia.com/gpu.memory"]) for index in range(count)}


def expected_charge(pod, memory_mib):
    """(mode is whole, MiB, milli) that the pod's annotation asks of a GPU of that size."""
    fraction = annotations(pod).get("gpu-fraction")
    if fraction is not None:
        if fraction.isdigit():
            return True, memory_mib, 1000
        milli = int(fraction.partition(".")[2].ljust(3, "0"))
        return False, max(1, milli * memory_mib // 1000), milli
    number, suffix = re.fullmatch(r"(\d+)(\w*)", annotations(pod)["gpu-memory"]).groups()
    mib = -(-int(number) * _SUFFIXES[suffix] // 2**20)
    return False, mib, max(1, 1000 * mib // memory_mib)


class Truth:
    def __init__(self, nodes, pods):
        self.memory = {node["metadata"]["name"]: memory_of_gpus(node) for node in nodes}
        self.uses = collections.defaultdict(list)    # (node, index) -> uses
        self.modes = collections.defaultdict(set)    # (node, index) -> modes
        self.counts = collections.defaultdict(list)  # node -> counts
        self.pods = {}                               # uid -> (node, standing, reservation or None)
        self._problems = []
        for pod in pods:
            if is_bound(pod):
                self._add(pod)

    def problems(self):
        found = list(self._problems)
        for (node, index), uses in self.uses.items():
            where = f"GPU {index} of {node}"
            size = self.memory.get(node, {}).get(index)
            if size is None:
                found.append(f"{where} does not exist")
                continue
            memory = sum(use.memory_mib for use in uses)
            milli = sum(use.milli for use in uses)
            if memory > size or milli > 1000:
                found.append(f"{where} is over-committed: {memory} of {size} MiB, {milli} milli")
            if len(self.modes[node, index]) > 1:
                found.append(f"{where} is used in several modes: {self.modes[node, index]}")
            if "whole" in self.modes[node, index] and len(uses) > 1:
                found.append(f"{where} is whole and has {len(uses)} holders")
        for node, counts in self.counts.items():
            units, gpus = sum(count.count for count in counts), len(self.memory.get(node, {}))
            if units > gpus:
                found.append(f"the kubelet of {node} has {gpus} GPUs and must give {units}")
        return found

    def mixed_nodes(self):
        """Nodes that hold annotated and kubelet-assigned pods at once."""
        return {node for node, _ in self.uses} & set(self.counts)

    def used_gpus(self):
        return set(self.uses)

    def as_ledger(self):
        """The form of ledger_of()."""
        gpus = {place: (sorted(self.modes[place])[0], sorted(uses))
                for place, uses in self.uses.items()}
        return {"sizes": self.memory, "gpus": gpus, "pods": self.pods,
                "counts": {node: sorted(counts) for node, counts in self.counts.items()}}

    def reservations(self):
        """uid -> (node, reservation)"""
        return {uid: (node, held) for uid, (node, standing, held) in self.pods.items()
                if standing == RESERVED}

    def _add(self, pod):
        metadata, node = pod["metadata"], pod["spec"]["nodeName"]
        name = metadata["name"]
        held = reservation(pod)
        who = metadata["namespace"], name, metadata["uid"]
        if held is None:
            if asks_kubelet(pod):
                self.pods[metadata["uid"]] = node, COUNTED, None
                self._add_counts(pod, who, node)
            elif any(key in annotations(pod) for key in REQUESTS):
                self.pods[metadata["uid"]] = node, UNPLACED, None
            return
        if (held["version"], held["uid"], held["node"]) != (1, metadata["uid"], node):
            self._problems.append(f"the reservation of {name} is another's: {held}")
        self.pods[metadata["uid"]] = node, RESERVED, held
        for container in held["containers"]:
            if container.get("assignedBy") == "kubelet":
                self.counts[node].append(Count(*who, container["name"], container["resource"],
                                               container["count"]))
                continue
            for device in container["devices"]:
                self._add_device(pod, who, (node, device["index"]), container, device)

    def _add_counts(self, pod, who, node):
        for container in pod["spec"]["containers"]:
            count = kubelet_units(container)
            if count:
                self.counts[node].append(Count(*who, container["name"], GPU, count))

    def _add_device(self, pod, who, place, container, device):
        node, index = place
        self.uses[place].append(
            Use(*who, container["name"], device["memoryMiB"], device["computeMilli"]))
        self.modes[place].add(device["mode"])
        size = self.memory.get(node, {}).get(index, 0)
        given = device["mode"] == "whole", device["memoryMiB"], device["computeMilli"]
        if given != expected_charge(pod, size):
            self._problems.append(f"{who[1]} has {given} of GPU {index} of {node} and asked for "
                                  f"{expected_charge(pod, size)}")


def ledger_of(nodes, pods):
    """GET /v1/nodes and /v1/pods, in the form of Truth.as_ledger(); sums are checked on the way."""
    sizes, gpus, counts = {}, {}, {}
    for node in nodes:
        sizes[node["name"]] = {gpu["index"]: gpu["memoryMiB"] for gpu in node["gpus"]}
        for gpu in node["gpus"]:
            uses = sorted(Use(*_who(holder), holder["container"], holder["memoryMiB"],
                              holder["computeMilli"]) for holder in gpu["holders"])
            sums = sum(use.memory_mib for use in uses), sum(use.milli for use in uses)
            if sums != (gpu["usedMemoryMiB"], gpu["usedComputeMilli"]):
                raise AssertionError(f"{node['name']}: the holders do not add up: {gpu}")
            if uses:
                gpus[node["name"], gpu["index"]] = (gpu["mode"], uses)
        if node["kubeletAssigned"]:
            counts[node["name"]] = sorted(
                Count(*_who(held), held["container"], held["resource"], held["count"])
                for held in node["kubeletAssigned"])
    standings = {row["uid"]: (row["node"], _standing(row), row.get("reservation"))
                 for row in pods if row["state"] != "pending"}
    return {"sizes": sizes, "gpus": gpus, "pods": standings, "counts": counts}


def _who(holder):
    return holder["namespace"], holder["pod"], holder["uid"]


def _standing(row):
    if row["state"] not in ("bound", "terminating"):
        return row["state"]  # a bind under way, which no bound pod is
    if row.get("reason", "").startswith("bound without a reservation"):
        return UNPLACED
    return RESERVED if row.get("reservation") else COUNTED


def difference(ours, theirs):
    """One sentence for the first place where two ledgers differ; empty: they are equal."""
    for kind in ("sizes", "gpus", "counts", "pods"):
        for key in sorted(set(ours[kind]) | set(theirs[kind])):
            if ours[kind].get(key) != theirs[kind].get(key):
                return (f"{kind} {key}: by the API server {ours[kind].get(key)}, "
                        f"in the ledger {theirs[kind].get(key)}")
    return ""
