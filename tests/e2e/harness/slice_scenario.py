"""The base of the scenarios in which Snug gives the slices itself."""

from . import slices, truth
from .objects import gpu_uuid, pod
from .processes import wait_until
from .scenario import PODS, Scenario


def sliced_pod(name, profile, **options):
    return pod(name, {"gpu-mig-profile": profile}, **options)


class SliceScenario(Scenario):
    def start_on(self, *nodes, **options):
        """Under the default policy, unless another is named."""
        self.start(**{"policy": "tight", **options})
        self.post_nodes(*nodes)

    def post_slices(self, profile, count, name=None):
        """Pods that ask for a slice of the profile each, as a ReplicaSet would make them."""
        name = name or f"pod-{profile.replace('.', '-')}"
        self.post_pods(*(sliced_pod(f"{name}-{number}", profile) for number in range(count)))

    def scale_to_0(self):
        self.admin.delete(PODS)
        wait_until("the pods are gone", lambda: not self.pods())
        wait_until("the ledger has none", lambda: not [
            row for row in self.extender.pods() if row["namespace"] == "default"])

    def finish(self, name):
        """Its containers have ended, and the pod object still exists."""
        self.admin.patch(f"{PODS}/{name}/status", {"status": {"phase": "Succeeded"}})
        wait_until(f"the ledger no longer has {name}", lambda: self.ledger_pod(name) is None)

    def held(self):
        """Name -> (node, GPU index, slices.Slice) of every bound pod with one slice."""
        found = {}
        for each in filter(truth.is_bound, self.pods()):
            [container] = truth.reservation(each)["containers"]
            for device in container.get("devices", ()):
                if "mig" in device:
                    mig = device["mig"]
                    one = slices.Slice(mig["profile"], mig["start"], mig.get("uuid", ""))
                    found[each["metadata"]["name"]] = (each["spec"]["nodeName"], device["index"],
                                                       one)
        return found

    def slice_of(self, name):
        return self.held()[name][-1]

    def check_slices(self, counts=None):
        """The cluster is as it must be; so many bound pods have a slice of each profile; and what
        Snug wrote of each is its slice, word by word."""
        self.check_cluster()
        held, by_profile = self.held(), {}
        for each in filter(truth.is_bound, self.pods()):
            name = each["metadata"]["name"]
            if name in held:
                self._check_written(each, *held[name])
                profile = held[name][-1].profile
                by_profile[profile] = by_profile.get(profile, 0) + 1
        if counts is not None:
            self.assertEqual(by_profile, counts)
        return held

    def _check_written(self, each, node, index, one):
        profile = slices.PROFILES[one.profile]
        mig = {"profile": one.profile, "start": one.start, "size": profile.size}
        if one.uuid:
            mig["uuid"] = one.uuid
        held = truth.reservation(each)
        request = held["containers"][0]["request"]
        asked = each["metadata"]["annotations"]
        for part in request.split(";"):
            key, _, value = part.partition("=")
            self.assertEqual(asked[key], value, request)
        self.assertEqual(held, {
            "version": 1, "uid": each["metadata"]["uid"], "node": node, "containers": [
                {"name": "main", "request": request, "devices": [
                    {"index": index, "uuid": gpu_uuid(node, index), "mode": "mig",
                     "memoryMiB": profile.memory_mib, "computeMilli": slices.milli(one.profile),
                     "mig": mig}]}]})
        flat = {"visible-devices": one.uuid or "void",
                "memory-limit": f"0={profile.memory_mib}M",
                "compute-percent": str(slices.milli(one.profile) // 10)}
        self.assertEqual(
            {key: value for key, value in asked.items()
             if key.startswith("snug.dev/") and key != truth.RESERVATION},
            {f"snug.dev/{key}{suffix}": value for key, value in flat.items()
             for suffix in ("", ".main")})
