"""An agent that creates the reserved slices of a node, as docs/how-to/mig.md requires; in memory,
because there is no card.
"""

import collections

from . import slices, truth
from .objects import bare_node, gpu_uuid, with_inventory, P4D, P4D_GPUS
from .scenario import NODES

# A slice of a pod's reservation.
Reserved = collections.namedtuple("Reserved", "pod index profile start")


class Agent:
    """The agent of a node with `gpus` GPUs in MIG mode, followed by `whole` other GPUs. It works only
    when the scenario calls round(). `broken`: (GPU index, profile, start) that it cannot create."""

    def __init__(self, admin, name, gpus, whole=0):
        self._admin = admin
        self.name = name
        self._made = [{} for _ in range(gpus)]  # (profile, start) -> uuid
        self._whole = whole
        self._uuids = 0
        self._running = {}  # Reserved -> uuid
        self._failures = []
        self.broken = set()

    def node(self):
        """As it is before its first round, for the API server."""
        capacity = P4D if len(self._made) == P4D_GPUS else None
        return with_inventory(bare_node(self.name, None, None, capacity), self._inventory())

    def round(self):
        """Makes what is reserved, gives up only what is in its way, and publishes."""
        reserved = self._reserved()
        for gone in set(self._running) - set(reserved):
            del self._running[gone]
        self._failures = []
        for each in reserved:
            place = each.profile, each.start
            if place not in self._made[each.index] and not self._make(each):
                self._failures.append({"gpu": gpu_uuid(self.name, each.index),
                                       "profile": each.profile, "start": each.start,
                                       "pod": each.pod})
                continue
            uuid = self._made[each.index][place]
            if self._running.setdefault(each, uuid) != uuid:
                raise AssertionError(f"{each} runs in {self._running[each]}, not in {uuid}")
        self.publish()

    def publish(self):
        self._admin.patch(f"{NODES}/{self.name}", {"metadata": {"annotations": with_inventory(
            bare_node(self.name), self._inventory())["metadata"]["annotations"]}})

    def forget_failures(self):
        """Whatever could not be made could be now."""
        self.broken.clear()
        self._failures = []
        self.publish()

    def slices(self, index):
        """Of that GPU, running or idle: (profile, start) -> uuid."""
        return dict(self._made[index])

    def _make(self, wanted):
        """False: it cannot be."""
        if (wanted.index, wanted.profile, wanted.start) in self.broken:
            return False
        if not slices.is_placement(wanted.profile, wanted.start):
            raise AssertionError(f"no A100-40 can have {wanted}")
        gpu = self._made[wanted.index]
        cells = slices.cells(wanted.profile, wanted.start)
        for place in [each for each in gpu if cells & slices.cells(*each)]:
            users = [each for each in self._running
                     if (each.index, each.profile, each.start) == (wanted.index, *place)]
            if users:
                raise AssertionError(f"{wanted} would end the slice of {users}")
            del gpu[place]
        self._uuids += 1
        gpu[wanted.profile, wanted.start] = slices.slice_uuid(
            self.name, wanted.index, wanted.profile, wanted.start, self._uuids)
        return True

    def _reserved(self):
        found = []
        for pod in filter(truth.is_bound, self._admin.list("/api/v1/pods")):
            if pod["spec"]["nodeName"] != self.name:
                continue
            for container in (truth.reservation(pod) or {}).get("containers", ()):
                found += [Reserved(pod["metadata"]["uid"], device["index"],
                                   device["mig"]["profile"], device["mig"]["start"])
                          for device in container.get("devices", ()) if "mig" in device]
        return found

    def _inventory(self):
        found = [[slices.Slice(profile, start, uuid) for (profile, start), uuid in gpu.items()]
                 for gpu in self._made]
        return slices.mig_inventory(self.name, found + [None] * self._whole, True, self._failures)
