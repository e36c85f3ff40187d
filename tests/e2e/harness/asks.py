"""The request of each container of a pod, read from the pod, and its charge on one GPU.

Written from docs/how-to/request-gpus.md and not from Snug's code: if the two disagree, a scenario fails.
"""

import fnmatch
import fractions
import re

from . import slices

GPU = "nvidia.com/gpu"
SLICES = "nvidia.com/mig-"  # and the profile
# Keys that ask for something by themselves, and those that only say more about it.
ASKING = ("gpu-fraction", "gpu-memory", "gpu-mig-profile")
DETAILS = ("gpu-count", "gpu-compute", "gpu-isolation", "gpu-model")
DEFAULT_CONTAINER = "kubectl.kubernetes.io/default-container"
APP, INIT, SIDECAR = "app", "init", "sidecar"
_SUFFIXES = {"": 2**20, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12,
             "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}


def annotations(pod):
    return pod["metadata"].get("annotations") or {}


def kinds(pod):
    """Container name -> app, init or sidecar; init containers first, as Snug's lists have them."""
    spec = pod["spec"]
    found = {each["name"]: SIDECAR if each.get("restartPolicy") == "Always" else INIT
             for each in spec.get("initContainers", [])}
    return {**found, **{each["name"]: APP for each in spec["containers"]}}


def main_container(pod):
    """Who receives what the keys without a container's name ask."""
    own, names = annotations(pod), kinds(pod)
    for key in ("gpu-container", "gpu-fraction-container-name"):
        if key in own:
            return own[key]
    default = own.get(DEFAULT_CONTAINER)
    return default if default in names else pod["spec"]["containers"][0]["name"]


def of(pod):
    """Container name -> Ask, of the containers that ask by annotation."""
    own, main, found = annotations(pod), main_container(pod), {}
    for name in kinds(pod):
        keys = {key: own[f"{key}.{name}"] for key in ASKING + DETAILS if f"{key}.{name}" in own}
        if name == main:
            keys = {**{key: own[key] for key in ASKING + DETAILS if key in own}, **keys}
            if "gpu-fraction-num-devices" in own:
                keys["gpu-count"] = own["gpu-fraction-num-devices"]
        if any(key in keys for key in ASKING):
            found[name] = Ask(keys)
    return found


def is_kubelets(resource):
    """Whether the kubelet hands out GPUs, or parts of them, under this name."""
    return resource in (GPU, f"{GPU}.shared") or resource.startswith(SLICES)


def kubelet_units(container):
    """Resource name -> units, without resources with 0 units."""
    limits = container.get("resources", {}).get("limits", {})
    return {name: int(count) for name, count in limits.items()
            if is_kubelets(name) and int(count)}


def all_containers(pod):
    return [*pod["spec"].get("initContainers", []), *pod["spec"]["containers"]]


class Ask:
    def __init__(self, keys):
        self.keys = keys
        fraction = keys.get("gpu-fraction", "")
        self.whole = fraction.isdigit()
        self.devices = int(fraction) if self.whole else int(keys.get("gpu-count", "1"))

    def charge(self, memory_mib):
        """(MiB, milli) on each GPU of that size."""
        if self.whole:
            return memory_mib, 1000
        if "gpu-fraction" in self.keys:
            milli = int(self.keys["gpu-fraction"].partition(".")[2].ljust(3, "0"))
            mib = max(1, milli * memory_mib // 1000)
        else:
            mib = _mebibytes(self.keys["gpu-memory"])
            milli = max(1, 1000 * mib // memory_mib)
        if "gpu-compute" in self.keys:
            milli = 10 * int(self.keys["gpu-compute"])
        return mib, milli

    def profile(self, among):
        """The smallest of these MIG profiles that serves this, or the one that it names."""
        if "gpu-mig-profile" in self.keys:
            return self.keys["gpu-mig-profile"]
        percent = int(self.keys.get("gpu-compute", "0"))
        found = [(each.size, each.compute, name) for name, each in slices.PROFILES.items()
                 if name in among and "+" not in name and self._is_in(each)
                 and 100 * each.compute >= percent * slices.COMPUTE]
        return min(found)[-1] if found else None

    def _is_in(self, profile):
        if "gpu-fraction" in self.keys:
            milli = int(self.keys["gpu-fraction"].partition(".")[2].ljust(3, "0"))
            return 1000 * profile.size >= milli * slices.AXIS
        return profile.memory_mib >= _mebibytes(self.keys["gpu-memory"])

    def modes(self, allowed):
        """The modes of a GPU that may serve this, of those that its operator allows."""
        if self.whole:
            return {"whole"} & set(allowed)
        named = "gpu-mig-profile" in self.keys
        wanted = "mig" if named else self.keys.get("gpu-isolation", "any")
        return {mode for mode in allowed if mode != "whole" and wanted in ("any", mode)}

    def allows(self, model):
        bare = re.sub(r"-SHARED$|-MIG-.*$", "", model).lower()
        globs = [each.strip().lower() for each in self.keys.get("gpu-model", "*").split(",")]
        wanted = [each for each in globs if not each.startswith("!")] or ["*"]
        excluded = [each[1:] for each in globs if each.startswith("!")]
        return (any(fnmatch.fnmatchcase(bare, each) for each in wanted)
                and not any(fnmatch.fnmatchcase(bare, each) for each in excluded))


def largest_at_once(kind_of, uses):
    """What a pod takes of one thing, by (container, amount): the larger of what its apps and
    sidecars take together and of each plain init container with the sidecars started before it."""
    taken = dict(uses)
    running = sum(amount for name, amount in uses if kind_of.get(name, APP) != INIT)
    at_once, sidecars = [running], 0
    for name, kind in kind_of.items():
        if kind == SIDECAR:
            sidecars += taken.get(name, 0)
        elif kind == INIT and name in taken:
            at_once.append(taken[name] + sidecars)
    return max(at_once)


def _mebibytes(quantity):
    number, suffix = re.fullmatch(r"([\d.]+)(\w*)", quantity).groups()
    return -(-fractions.Fraction(number) * _SUFFIXES[suffix] // 2**20)
