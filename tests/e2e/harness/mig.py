"""Nodes with MIG slices as NVIDIA's components publish them: the device plug-in their status, GPU
Feature Discovery and mig-manager their labels.

A layout has a dict for each GPU, profile -> number of slices; empty: the GPU is not divided.
"""

import collections

from .objects import A100, A100_MIB, P4D, P4D_GPUS, bare_node
from .scenario import NODES

GPU = "nvidia.com/gpu"
# Of one A100-40, as mig-parted's own configurations of these names have them.
WHOLE = {}
A100_LAYOUTS = {
    "all-disabled": WHOLE,
    "all-1g.5gb": {"1g.5gb": 7},
    "all-2g.10gb": {"2g.10gb": 3},
    "all-3g.20gb": {"3g.20gb": 2},
    "all-7g.40gb": {"7g.40gb": 1},
    "all-balanced": {"1g.5gb": 2, "2g.10gb": 1, "3g.20gb": 1},
}
SLICE_MIB = {"1g.5gb": 4864, "2g.10gb": 9856, "3g.20gb": 19968, "4g.20gb": 19968, "7g.40gb": 40192}


def layout_of(name, gpus=P4D_GPUS):
    return [A100_LAYOUTS[name]] * gpus


def resource(profile):
    return f"nvidia.com/mig-{profile.replace('+', '.')}"


def slices(layout):
    """profile -> slices on the node."""
    return sum((collections.Counter(gpu) for gpu in layout), collections.Counter())


def units(layout, strategy):
    """Resource name -> units, as the device plug-in offers them."""
    whole, by_profile = layout.count(WHOLE), slices(layout)
    if strategy == "single":
        return {GPU: str(by_profile.total() if _one_profile(layout) else whole)}
    return {GPU: str(whole), **{resource(each): str(n) for each, n in by_profile.items()}}


def labels(layout, strategy):
    """As GPU Feature Discovery writes them."""
    whole, found = layout.count(WHOLE), {
        "nvidia.com/mig.capable": "true", "nvidia.com/mig.strategy": strategy,
        **_resource_labels(GPU, A100, len(layout), A100_MIB)}
    if not whole:
        found[f"{GPU}.replicas"] = "0"
    if strategy == "mixed":
        for profile, count in slices(layout).items():
            found.update(_slice_labels(resource(profile), profile, count))
    elif _one_profile(layout):
        [(profile, count)] = slices(layout).items()
        found.update(_slice_labels(GPU, profile, count))
    elif whole < len(layout):
        found.update(_resource_labels(GPU, f"{A100}-MIG-INVALID", 0, 0), **{f"{GPU}.replicas": "0"})
    return found


def p4d(name, layout, strategy="mixed", config="custom"):
    """A node like AWS's p4d.24xlarge: 8 A100-40, 96 CPUs, 1,152 GiB."""
    state = {"nvidia.com/mig.config": config, "nvidia.com/mig.config.state": "success"}
    return bare_node(name, {**labels(layout, strategy), **state}, None,
                     {**P4D, **units(layout, strategy)})


class Operator:
    """What NVIDIA's components write on one node while its layout changes. The scenario calls each
    step."""

    def __init__(self, admin, node, strategy="mixed"):
        self._admin = admin
        self._path = f"{NODES}/{node}"
        self._strategy = strategy

    def ask(self, config):
        """The administrator's part."""
        self._label({"nvidia.com/mig.config": config})

    def state(self, state):
        """mig-manager's."""
        self._label({"nvidia.com/mig.config.state": state})

    def stop_plugin(self):
        """The kubelet keeps the capacity of a plug-in that is gone for minutes."""
        self._offer(self._capacity(), {name: "0" for name in self._capacity()})

    def start_plugin(self, layout):
        offered = units(layout, self._strategy)
        gone = {name: "0" for name in self._capacity()}
        self._offer({**self._capacity(), **offered}, {**gone, **offered})

    def set_allocatable(self, name, count):
        """A slice turns unhealthy, or well again."""
        self._offer({}, {name: str(count)})

    def discover(self, layout):
        """GPU Feature Discovery's: labels that it no longer writes go."""
        kept = ("nvidia.com/mig.config", "nvidia.com/mig.config.state")
        old = self._admin.get(self._path)["metadata"]["labels"]
        gone = {key: None for key in old if key.startswith("nvidia.com/") and key not in kept}
        self._label({**gone, **labels(layout, self._strategy)})

    def relabel(self, config, layout):
        """A whole change of the layout; nothing watches it."""
        self.ask(config)
        self.state("pending")
        self.stop_plugin()
        self.state("success")
        self.start_plugin(layout)
        self.discover(layout)

    def _capacity(self):
        capacity = self._admin.get(self._path)["status"]["capacity"]
        return {key: value for key, value in capacity.items() if key.startswith("nvidia.com/")}

    def _label(self, values):
        self._admin.patch(self._path, {"metadata": {"labels": values}})

    def _offer(self, capacity, allocatable):
        self._admin.patch(f"{self._path}/status", {
            "status": {"capacity": capacity, "allocatable": allocatable}})


def _one_profile(layout):
    """Whether `single` can offer it as slices."""
    return all(layout) and len(slices(layout)) == 1


def _resource_labels(name, product, count, memory_mib):
    return {f"{name}.product": product, f"{name}.count": str(count), f"{name}.replicas": "1",
            f"{name}.memory": str(memory_mib)}


def _slice_labels(name, profile, count):
    return {**_resource_labels(name, f"{A100}-MIG-{profile}", count, SLICE_MIB[profile]),
            f"{name}.slices.gi": profile[0], f"{name}.slices.ci": profile[0]}
