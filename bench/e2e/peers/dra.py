"""DRA with consumable capacity: ResourceSlices whose devices pods share by memory, and one ResourceClaimTemplate
for each size. kube-controller-manager makes the claims, kube-scheduler allocates."""

import collections

from harness.controllers import ControllerManagers
from harness.objects import A100, A100_MIB, gpu_uuid

from load import QPS

from .system import System, memory_of, size_of
from .workload import STEP

DRIVER = "gpu.nvidia.com"
RESOURCES = "/apis/resource.k8s.io/v1"
CLAIMS = f"{RESOURCES}/namespaces/default/resourceclaims"
TEMPLATES = f"{RESOURCES}/namespaces/default/resourceclaimtemplates"
CONTROLLER_USER = "system:serviceaccount:kube-system:resource-claim-controller"


class Dra(System):
    name, title = "dra", "DRA"

    def install(self):
        self.components[CONTROLLER_USER] = "kube-controller-manager"
        self.admin.create(f"{RESOURCES}/deviceclasses", {
            "metadata": {"name": DRIVER},
            "spec": {"selectors": [{"cel": {"expression": f"device.driver == '{DRIVER}'"}}]}})
        for thousandths in range(STEP, 1001, STEP):
            self.admin.create(TEMPLATES, self._template(thousandths))
        for name in self.nodes:
            self.admin.create(f"{RESOURCES}/resourceslices", self._slice(name))
        self._controllers = ControllerManagers(self.plane)

    def start_programs(self):
        super().start_programs()
        self.program(self._controllers.start(
            ("resourceclaim",), (f"--kube-api-qps={QPS}", f"--kube-api-burst={QPS}")))

    def pod(self, name, thousandths):
        value = self.base_pod(name, thousandths)
        value["spec"]["resourceClaims"] = [{
            "name": "gpu", "resourceClaimTemplateName": f"share-{thousandths}"}]
        value["spec"]["containers"][0]["resources"]["claims"] = [{"name": "gpu"}]
        return value

    def used(self, pods):
        claims = {claim["metadata"]["name"]: claim for claim in self.admin.list(CLAIMS)}
        taken = collections.Counter()
        for value in pods:
            [status] = value["status"]["resourceClaimStatuses"]
            [given] = claims[status["resourceClaimName"]]["status"]["allocation"]["devices"]["results"]
            mebibytes = _mebibytes(given["consumedCapacity"]["memory"])
            if mebibytes != memory_of(size_of(value)):
                raise RuntimeError(f"{value['metadata']['name']} has {mebibytes} MiB")
            taken[given["pool"], given["device"]] += mebibytes
        return taken, A100_MIB

    @staticmethod
    def _template(thousandths):
        request = {"deviceClassName": DRIVER, "allocationMode": "ExactCount", "count": 1,
                   "capacity": {"requests": {"memory": f"{memory_of(thousandths)}Mi"}}}
        return {"metadata": {"name": f"share-{thousandths}"},
                "spec": {"spec": {"devices": {"requests": [{"name": "gpu", "exactly": request}]}}}}

    def _slice(self, node):
        return {
            "metadata": {"name": f"{node}-{DRIVER}"},
            "spec": {
                "driver": DRIVER, "nodeName": node,
                "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
                "devices": [{
                    "name": f"gpu-{index}", "allowMultipleAllocations": True,
                    "attributes": {"type": {"string": "gpu"}, "productName": {"string": A100},
                                   "uuid": {"string": gpu_uuid(node, index)}},
                    "capacity": {"memory": {"value": f"{A100_MIB}Mi", "requestPolicy": {
                        "default": "1Mi", "validRange": {"min": "1Mi", "step": "1Mi",
                                                         "max": f"{A100_MIB}Mi"}}}},
                } for index in range(self.gpus)]}}


class DraSpread(Dra):
    """With the scores that kube-scheduler has without a configuration."""
    name, title = "dra-default-scores", "DRA, default scores"
    runs = ("mix",)

    def tune(self, config):
        for profile in config["profiles"]:
            profile.pop("pluginConfig", None)


def _mebibytes(quantity):
    """Of a quantity in one of the binary units that the API server writes here."""
    for unit, factor in (("Gi", 1024), ("Mi", 1)):
        if quantity.endswith(unit):
            return int(quantity.removesuffix(unit)) * factor
    raise ValueError(quantity)
