"""Snug in its dedicated shape, with the admission policies and the packing policy that deploy/ installs."""

import collections
import json

from harness import manifests
from harness.controlplane import EXTENDER_USER
from harness.extender import Extender
from harness.objects import A100_MIB, gpu_node
from load import OWN_POD

from .system import System

LEFT_OUT = ("dedicated.yaml",)  # the programs run without a kubelet


class Snug(System):
    name, title = "snug", "Snug"

    def install(self):
        self.components[EXTENDER_USER] = "snug-extender"
        for file in self.installed():
            manifests.apply(self.admin, file)
        self.session.make_own_pod(OWN_POD)
        self._extender = Extender(
            self.plane, self.plane.extender_token_kubeconfig(),
            {"policy": manifests.ROOT / "policies/tight.yaml", "answer": "auto",
             "kubernetes-minor": self.plane.minor},
            {"POD_NAME": OWN_POD, "POD_NAMESPACE": "snug"})

    def installed(self):
        """The files of deploy/ for the API server."""
        [kustomization] = manifests.read("kustomization.yaml")
        return [file for file in kustomization["resources"] if file not in LEFT_OUT]

    def extender_port(self):
        self._extender.start(wait_ready=False)
        self.program(self._extender.process)
        return self._extender.port

    def node(self, name):
        return gpu_node(name, self.gpus)

    def pod(self, name, thousandths):
        fraction = "1" if thousandths == 1000 else f"{thousandths / 1000:g}"
        return self.base_pod(name, thousandths, {"gpu-fraction": fraction})

    def used(self, pods):
        taken = collections.Counter()
        for value in pods:
            text = value["metadata"].get("annotations", {}).get("snug.dev/reservation")
            if text is None:
                raise RuntimeError(f"{value['metadata']['name']} is bound without a reservation")
            reservation = json.loads(text)
            for container in reservation["containers"]:
                for device in container["devices"]:
                    taken[reservation["node"], device["index"]] += device["memoryMiB"]
        return taken, A100_MIB


class SnugWithoutPolicies(Snug):
    """Without what checks and completes pods at admission: what of the cost is Snug's own."""
    name, title = "snug-without-policies", "Snug without its admission policies"
    runs = ("burst",)

    def installed(self):
        return [file for file in super().installed() if not file.startswith(("admission-", "node-capacity"))]
