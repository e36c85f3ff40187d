"""What is where on each GPU, from GET /v1/nodes: the parts of its bar, and the colours of the pods. A part
is a share in proportion to its memory, a slice at its place, or a whole GPU."""

from typing import NamedTuple


class Part(NamedTuple):
    start: float  # the bar is from 0 to 1
    end: float
    uid: str      # of the pod; "": nobody holds this slice
    pod: str
    text: str     # the MIG profile, or the resource of a unit that the kubelet assigns


class Row(NamedTuple):
    gpu: dict
    parts: list
    note: str


def _shares(gpu):
    used, parts = 0, []
    for holder in gpu["holders"]:
        start, used = used, used + holder["memoryMiB"]
        parts.append(Part(start / gpu["memoryMiB"], min(1, used / gpu["memoryMiB"]), holder["uid"], holder["pod"], ""))
    return parts


def _slices(slices):
    axis = slices["axis"]
    for slice_ in sorted(slices["instances"], key=lambda each: each["start"]):
        holder = slice_.get("holder", {"uid": "", "pod": ""})
        yield Part(slice_["start"] / axis, (slice_["start"] + slice_["size"]) / axis, holder["uid"], holder["pod"],
                   slice_["profile"])


def _is_empty(gpu):
    return gpu["healthy"] and not gpu["closed"] and not gpu["holders"] and "slices" not in gpu


def rows_of(node):
    """The GPUs of a node. The kubelet picks GPUs by itself and tells nobody which: its units are drawn on
    the first GPUs that are empty."""
    units = [unit for unit in node["kubeletAssigned"] for _ in range(unit["count"])]
    for gpu in node["gpus"]:
        note = "unhealthy" if not gpu["healthy"] else gpu["closed"] or ("" if gpu["mode"] == "none" else gpu["mode"])
        if "slices" in gpu:
            yield Row(gpu, list(_slices(gpu["slices"])), note or "mig")
        elif units and _is_empty(gpu):
            unit = units.pop(0)
            yield Row(gpu, [Part(0, 1, unit["uid"], unit["pod"], unit["resource"])],
                      f"{unit['resource']}: the kubelet picks the GPU")
        else:
            yield Row(gpu, _shares(gpu), note)


def _overlap(a, b):
    return a.start < b.end and b.start < a.end


def _neighbours(rows):
    """{uid: ({uids that touch it on a GPU}, {uids above or below it})} of one node."""
    touching, stacked = {}, {}
    for number, row in enumerate(rows):
        for place, part in enumerate(row.parts):
            touching.setdefault(part.uid, set()).update(
                other.uid for other in row.parts[max(0, place - 1):place + 2] if other.uid != part.uid)
            for next_row in rows[max(0, number - 1):number] + rows[number + 1:number + 2]:
                stacked.setdefault(part.uid, set()).update(
                    other.uid for other in next_row.parts if other.uid != part.uid and _overlap(part, other))
    return {uid: (touching[uid], stacked.get(uid, set())) for uid in touching}


def colours_of(nodes, count):
    """{uid: number below `count`}. Pods that touch each other on a GPU have different numbers; as far as
    there are enough, so have those above each other, and all of one node."""
    numbers = {}
    for node in nodes:
        neighbours = _neighbours(list(rows_of(node)))
        for uid, (touching, stacked) in neighbours.items():
            if not uid or uid in numbers:
                continue
            def cost(number):
                taken = {other for other, its in numbers.items() if its == number}
                return (len(touching & taken), len(stacked & taken), len(neighbours.keys() & taken), len(taken), number)
            numbers[uid] = min(range(count), key=cost)
    return numbers


def counts_of(nodes):
    """{what: number of GPUs}. Snug says which GPUs are free as a whole."""
    counts = dict.fromkeys(("in use", "free", "free in MIG mode", "closed", "empty, but not free"), 0)
    for node in nodes:
        for row in rows_of(node):
            if row.gpu["freeWhole"]:
                counts["free"] += 1
            elif any(part.uid for part in row.parts):
                counts["in use"] += 1
            elif not row.gpu["healthy"] or row.gpu["closed"]:
                counts["closed"] += 1
            else:
                counts["free in MIG mode" if "slices" in row.gpu else "empty, but not free"] += 1
    return counts
