"""What is taken on each GPU according to the API server, summed here and not by Snug.

From the inventories of the nodes, the reservations of the bound pods and what these pods ask
(asks.py). problems() lists violations; ledger_of() brings the extender's own state into the
same form, which must be equal: every GPU with its size, its mode and its holders, the kubelet's
units, every MIG slice, and each pod's standing.
"""

import collections
import json

from . import asks, slices
from .asks import annotations

RESERVATION = "snug.dev/reservation"
# The state of a bound pod in the ledger.
RESERVED, COUNTED, UNPLACED = "reserved", "counted", "unplaced"
DEFAULT_MODES = ("whole", "time-slicing")

# What one container has of one GPU.
Use = collections.namedtuple("Use", "namespace pod uid container memory_mib milli")
# What a kubelet gives one container.
Count = collections.namedtuple("Count", "namespace pod uid container resource count")
# `mig`: slices.Mig, or None if it is not in MIG mode.
Gpu = collections.namedtuple("Gpu", "memory_mib model modes mig")
VANISHED = Gpu(0, "", (), None)


def is_bound(pod):
    return bool(pod["spec"].get("nodeName")) and pod["status"].get("phase") not in (
        "Succeeded", "Failed")


def reservation(pod):
    text = annotations(pod).get(RESERVATION)
    return json.loads(text) if text else None


def asks_kubelet(pod):
    """A limit of 0 asks for nothing."""
    return any(map(asks.kubelet_units, asks.all_containers(pod)))


def gpus_of(node):
    """GPU index -> Gpu."""
    metadata = node["metadata"]
    text = (metadata.get("annotations") or {}).get("snug.dev/inventory")
    if text:
        value = json.loads(text)
        return {gpu["index"]: _gpu(gpu, slices.read(gpu, value.get("dynamicMig", False)))
                for gpu in value["gpus"]}
    labels = metadata.get("labels", {})
    # Under the MIG strategy single the labels count slices, and no label has the number of GPUs.
    sliced = "-MIG-" in labels.get("nvidia.com/gpu.product", "")
    count = 0 if sliced else int(labels.get("nvidia.com/gpu.count", "0"))
    return {index: Gpu(int(labels["nvidia.com/gpu.memory"]), labels["nvidia.com/gpu.product"],
                       DEFAULT_MODES, None) for index in range(count)}


def _gpu(gpu, mig):
    modes = gpu.get("modes", DEFAULT_MODES) if mig is None else ("mig",)
    return Gpu(gpu["memoryMiB"], gpu["model"], modes, mig)


def units_of(node):
    """Resource name -> how many units its kubelet has to give; of a node that states none, its
    GPUs outside MIG mode."""
    capacity = node["status"].get("capacity", {})
    stated = {name: int(count) for name, count in capacity.items() if asks.is_kubelets(name)}
    return stated or {asks.GPU: sum(gpu.mig is None for gpu in gpus_of(node).values())}


class Truth:
    """`vanished`: (node, index) of the GPUs that are no longer in an inventory while pods hold
    them; their size is unknown."""

    def __init__(self, nodes, pods, vanished=()):
        self._gpus = {node["metadata"]["name"]: gpus_of(node) for node in nodes}
        for node, index in vanished:
            self._gpus[node][index] = VANISHED
        self._units = {node["metadata"]["name"]: units_of(node) for node in nodes}
        self.memory = {node: {index: gpu.memory_mib for index, gpu in gpus.items()}
                       for node, gpus in self._gpus.items()}
        self.uses = collections.defaultdict(list)    # (node, index) -> uses
        self.modes = collections.defaultdict(set)    # (node, index) -> modes
        self.slices = collections.defaultdict(list)  # (node, index) -> (uid, slices.Slice)
        self.counts = collections.defaultdict(list)  # node -> counts
        self.pods = {}                               # uid -> (node, standing, reservation or None)
        self.kinds = {pod["metadata"]["uid"]: asks.kinds(pod) for pod in pods}
        self._problems = []
        for pod in pods:
            if is_bound(pod):
                self._add(pod)

    def problems(self):
        found = list(self._problems)
        for (node, index), uses in self.uses.items():
            where = f"GPU {index} of {node}"
            gpu = self._gpus.get(node, {}).get(index)
            if gpu is None:
                found.append(f"{where} does not exist")
                continue
            memory, milli = taken(uses, self.kinds)
            if (memory > gpu.memory_mib and gpu is not VANISHED) or milli > 1000:
                found.append(f"{where} is over-committed: {memory} of {gpu.memory_mib} MiB, "
                             f"{milli} milli")
            if len(self.modes[node, index]) > 1:
                found.append(f"{where} is used in several modes: {self.modes[node, index]}")
            if "whole" in self.modes[node, index] and len({use.uid for use in uses}) > 1:
                found.append(f"{where} is whole and has {len(uses)} holders")
            if gpu.mig:
                found += [f"{where}: {each}"
                          for each in slices.problems(gpu.mig, self.slices[node, index])]
        for node, counts in self.counts.items():
            for resource in {count.resource for count in counts}:
                given = sum(count.count for count in counts if count.resource == resource)
                have = self._units.get(node, {}).get(resource, 0)
                if given > have:
                    found.append(f"the kubelet of {node} has {have} {resource} and must give "
                                 f"{given}")
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
        sliced = {(node, index): slices.with_holders(gpu.mig, self.slices[node, index])
                  for node, each in self._gpus.items() for index, gpu in each.items() if gpu.mig}
        return {"sizes": self.memory, "gpus": gpus, "pods": self.pods, "slices": sliced,
                "counts": {node: sorted(counts) for node, counts in self.counts.items()}}

    def totals(self):
        """(MiB, milli) of all GPUs together."""
        each = [taken(uses, self.kinds) for uses in self.uses.values()]
        return tuple(sum(amounts) for amounts in zip(*each, strict=True)) if each else (0, 0)

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
            elif asks.of(pod):
                self.pods[metadata["uid"]] = node, UNPLACED, None
            return
        if (held["version"], held["uid"], held["node"]) != (1, metadata["uid"], node):
            self._problems.append(f"the reservation of {name} is another's: {held}")
        self.pods[metadata["uid"]] = node, RESERVED, held
        asked, given = asks.of(pod), {}
        for container in held["containers"]:
            if container.get("assignedBy") == "kubelet":
                self.counts[node].append(Count(*who, container["name"], container["resource"],
                                               container["count"]))
                continue
            given[container["name"]] = [device["index"] for device in container["devices"]]
            for device in container["devices"]:
                self._add_device(who, node, container["name"], device)
                self._compare(f"{container['name']} of {name}", asked.get(container["name"]),
                              node, device)
        if not asks_kubelet(pod):
            self._compare_devices(name, asked, asks.kinds(pod), given)

    def _add_counts(self, pod, who, node):
        for container in asks.all_containers(pod):
            for resource, count in asks.kubelet_units(container).items():
                self.counts[node].append(Count(*who, container["name"], resource, count))

    def _add_device(self, who, node, container, device):
        place = node, device["index"]
        self.uses[place].append(Use(*who, container, device["memoryMiB"], device["computeMilli"]))
        self.modes[place].add(device["mode"])
        if (device["mode"] == "mig") != ("mig" in device):
            self._problems.append(f"{container} of {who} has {device}")
        if "mig" in device:
            mig = device["mig"]
            self.slices[place].append((who[-1], slices.Slice(mig["profile"], mig["start"],
                                                             mig.get("uuid", ""))))

    def _compare(self, who, ask, node, device):
        """What was given on one device with what was asked."""
        gpu = self._gpus.get(node, {}).get(device["index"])
        if ask is None:
            self._problems.append(f"{who} has {device} and asked for nothing")
        if ask is None or gpu is None or gpu is VANISHED:
            return
        where = f"GPU {device['index']} of {node}"
        given, due = (device["memoryMiB"], device["computeMilli"]), _charge(ask, gpu, device)
        if given != due:
            self._problems.append(f"{who} has {given} of {where} and asked for {due}")
        if device["mode"] not in ask.modes(gpu.modes):
            self._problems.append(f"{who} has {where} in mode {device['mode']} and asked for "
                                  f"{sorted(ask.modes(gpu.modes))}")
        if not ask.allows(gpu.model):
            self._problems.append(f"{who} has {where}, a {gpu.model}, which it excludes")

    def _compare_devices(self, name, asked, kind_of, given):
        """Each asking container has as many different GPUs as it asks for, plain init containers
        those of the apps first."""
        apps = []
        for container, ask in asked.items():
            devices = given.get(container, [])
            if len(devices) != ask.devices or len(set(devices)) != len(devices):
                self._problems.append(f"{container} of {name} has the GPUs {devices} and asked for "
                                      f"{ask.devices}")
            if kind_of[container] == asks.APP:
                apps += [device for device in devices if device not in apps]
        for container, ask in asked.items():
            first = set(apps[:ask.devices])
            if kind_of[container] == asks.INIT and not first <= set(given.get(container, [])):
                self._problems.append(f"{container} of {name}, an init container, has the GPUs "
                                      f"{given.get(container)} and the apps have {apps}")


def _charge(ask, gpu, device):
    """(MiB, milli) of the share, or of the slice that serves it; None: the slice does not."""
    if not gpu.mig:
        return None if "gpu-mig-profile" in ask.keys else ask.charge(gpu.memory_mib)
    there = {one.profile for one in gpu.mig.instances}
    due = ask.profile(slices.PROFILES if gpu.mig.dynamic else there)
    mig = device.get("mig", {})
    if due is None or (mig.get("profile"), mig.get("size")) != (due, slices.size(due)):
        return None
    return slices.PROFILES[due].memory_mib, slices.milli(due)


def taken(uses, kinds):
    """(MiB, milli) that the uses of one GPU cost: for each pod what it takes at once."""
    by_pod = collections.defaultdict(list)
    for use in uses:
        by_pod[use.uid].append(use)
    return tuple(sum(asks.largest_at_once(kinds.get(uid, {}),
                                          [(use.container, use[field]) for use in held])
                     for uid, held in by_pod.items())
                 for field in (Use._fields.index("memory_mib"), Use._fields.index("milli")))


def ledger_of(nodes, pods, kinds=None):
    """GET /v1/nodes and /v1/pods, in the form of Truth.as_ledger(); sums are checked on the way.
    `kinds`: uid -> asks.kinds(); containers of other pods are apps."""
    sizes, gpus, counts, sliced = {}, {}, {}, {}
    for node in nodes:
        sizes[node["name"]] = {gpu["index"]: gpu["memoryMiB"] for gpu in node["gpus"]}
        for gpu in node["gpus"]:
            uses = sorted(Use(*_who(holder), holder["container"], holder["memoryMiB"],
                              holder["computeMilli"]) for holder in gpu["holders"])
            if taken(uses, kinds or {}) != (gpu["usedMemoryMiB"], gpu["usedComputeMilli"]):
                raise AssertionError(f"{node['name']}: the holders do not add up: {gpu}")
            if uses:
                gpus[node["name"], gpu["index"]] = (gpu["mode"], uses)
            if slices.rows_of(gpu) is not None:
                sliced[node["name"], gpu["index"]] = slices.rows_of(gpu)
        if node["kubeletAssigned"]:
            counts[node["name"]] = sorted(
                Count(*_who(held), held["container"], held["resource"], held["count"])
                for held in node["kubeletAssigned"])
    standings = {row["uid"]: (row["node"], _standing(row), row.get("reservation"))
                 for row in pods if row["state"] != "pending"}
    return {"sizes": sizes, "gpus": gpus, "pods": standings, "counts": counts, "slices": sliced}


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
    for kind in ("sizes", "gpus", "slices", "counts", "pods"):
        for key in sorted(set(ours[kind]) | set(theirs[kind])):
            if ours[kind].get(key) != theirs[kind].get(key):
                return (f"{kind} {key}: by the API server {ours[kind].get(key)}, "
                        f"in the ledger {theirs[kind].get(key)}")
    return ""
