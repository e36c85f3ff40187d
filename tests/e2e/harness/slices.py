"""MIG slices as a node's inventory lists them, and what an A100-40 can be divided into.

The table is NVIDIA's (MIG user guide; `nvidia-smi mig -lgip` and `-lgipp`), and not taken from
Snug. A layout lists for each GPU its slices, as (profile, start); None: MIG mode is off.
"""

import collections
import uuid

from .objects import A100, A100_MIB, P4D, P4D_GPUS, bare_node, inventory, with_inventory

AXIS, COMPUTE = 8, 7
Profile = collections.namedtuple("Profile", "compute size memory_mib starts")
PROFILES = {
    "1g.5gb": Profile(1, 1, 4864, (0, 1, 2, 3, 4, 5, 6)),
    "1g.5gb+me": Profile(1, 1, 4864, (0, 1, 2, 3, 4, 5, 6)),
    "1g.10gb": Profile(1, 2, 9856, (0, 2, 4, 6)),
    "2g.10gb": Profile(2, 2, 9856, (0, 2, 4)),
    "3g.20gb": Profile(3, 4, 19968, (0, 4)),
    "4g.20gb": Profile(4, 4, 19968, (0,)),
    "7g.40gb": Profile(7, 8, 40192, (0,)),
}
ALL_SMALL = [("1g.5gb", start) for start in range(7)]
LAYOUTS = {
    "all-1g.5gb": ALL_SMALL,
    "all-2g.10gb": [("2g.10gb", start) for start in (0, 2, 4)],
    "all-3g.20gb": [("3g.20gb", start) for start in (0, 4)],
    "all-balanced": [("2g.10gb", 0), ("1g.5gb", 2), ("1g.5gb", 3), ("3g.20gb", 4)],
}

# One slice of a GPU; the uuid is empty until it exists.
Slice = collections.namedtuple("Slice", "profile start uuid")
# What a GPU in MIG mode has.
Mig = collections.namedtuple("Mig", "dynamic instances")


def size(profile):
    return PROFILES[profile].size


def milli(profile):
    return 1000 * PROFILES[profile].compute // COMPUTE


def cells(profile, start):
    """The memory slices that it covers."""
    return set(range(start, start + size(profile)))


def is_placement(profile, start):
    return profile in PROFILES and start in PROFILES[profile].starts


def slice_uuid(node, index, profile, start, again=0):
    text = f"{node}/{index}/{profile}/{start}/{again}"
    return f"MIG-{uuid.uuid5(uuid.NAMESPACE_DNS, text)}"


def instance(one):
    """As an inventory lists it."""
    return {"profile": one.profile, "start": one.start, "size": size(one.profile),
            "uuid": one.uuid}


def slices_of(node, layout, again=0):
    """For each GPU its slices; `again`: another number gives them other uuids."""
    return [None if gpu is None else [
        Slice(profile, start, slice_uuid(node, index, profile, start, again))
        for profile, start in gpu] for index, gpu in enumerate(layout)]


def mig_inventory(node, found, dynamic=False, failures=()):
    """With these slices for each GPU; None: that GPU is not in MIG mode."""
    value = inventory(node, len(found), A100_MIB, A100)
    value["dynamicMig"] = dynamic
    for gpu, present in zip(value["gpus"], found):
        if present is not None:
            gpu.update(mig=True, migInstances=[instance(each) for each in present])
    if failures:
        value["migFailures"] = list(failures)
    return value


def sliced_node(name, layout, dynamic=False):
    """A node without a device plug-in, whose slices Snug assigns; a p4d if it has as many GPUs."""
    capacity = P4D if len(layout) == P4D_GPUS else None
    return with_inventory(bare_node(name, None, None, capacity),
                          mig_inventory(name, slices_of(name, layout), dynamic))


def read(gpu, dynamic):
    """Mig of a GPU of an inventory, None if it is not in MIG mode."""
    if not gpu.get("mig"):
        return None
    return Mig(dynamic, tuple(Slice(each["profile"], each["start"], each.get("uuid", ""))
                              for each in gpu.get("migInstances", ())))


def problems(mig, held):
    """What is wrong with the slices that are held on one GPU: (holder, Slice) each."""
    found, taken = [], set()
    for holder, one in sorted(set(held)):
        if not is_placement(one.profile, one.start):
            found.append(f"{holder} has {one}, which no A100-40 can have")
            continue
        if taken & cells(one.profile, one.start):
            found.append(f"{holder} has {one}, which overlaps another's")
        taken |= cells(one.profile, one.start)
        if not mig.dynamic and one not in mig.instances:
            found.append(f"{holder} has {one}, which does not exist")
    return found


def with_holders(mig, held):
    """All slices of one GPU as GET /v1/nodes has them: (start, profile, size, uuid, holder)."""
    holders = {(one.profile, one.start): (holder, one) for holder, one in held}
    present = {(one.profile, one.start) for one in mig.instances}
    return sorted(
        [_row(one, holders.get((one.profile, one.start), ("",))[0]) for one in mig.instances]
        + [_row(one, holder) for place, (holder, one) in holders.items() if place not in present])


def rows_of(gpu):
    """The same of a GPU of GET /v1/nodes; None: it has no slices."""
    if "slices" not in gpu:
        return None
    return sorted((each["start"], each["profile"], each["size"], each.get("uuid", ""),
                   each.get("holder", {}).get("uid", "")) for each in gpu["slices"]["instances"])


def _row(one, holder):
    return one.start, one.profile, size(one.profile), one.uuid, holder
